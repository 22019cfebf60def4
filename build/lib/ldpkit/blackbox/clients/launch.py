"""Processes of Python that import as the one which starts them, and end with it."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any

__all__ = ["end", "follow", "kill", "launch", "running"]

_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv.pop());"
    " from ldpkit.blackbox.clients import launch; launch.follow(); "
)

running: set[int] = set()
"""Groups of processes that an interrupted command kills."""


def launch(
    code: str, *words: str, pipes: int = 1, files: Sequence[int] = (), stdout: int | None = None
) -> tuple[Any, list[Connection]]:
    """Start a process of Python that imports as this one does and ends with it.

    It leads a session of its own, so that a signal for its group reaches no other process.

    Parameters
    ----------
    code : str
        Statements of Python. Their arguments are `words`, and the numbers of all files and pipes.
    pipes : int
        Number of pipes to the process.
    files : sequence of int
        Files that it shares.
    stdout : int, optional
        Its standard output, by default that of this process.

    Returns
    -------
    subprocess.Popen, list of Connection
        The process, and the ends of the pipes that belong to this one.
    """
    pairs = [Pipe() for _ in range(pipes)]
    shared = [*files, *(there.fileno() for _, there in pairs)]
    words += (*map(str, shared), json.dumps(sys.path, default=str))
    process = subprocess.Popen(
        [sys.executable, "-P", "-u", "-c", _START + code, *words],
        stdin=subprocess.PIPE,
        stdout=stdout,
        pass_fds=shared,
        start_new_session=True,
    )
    running.add(process.pid)
    for _, there in pairs:
        there.close()
    return process, [here for here, _ in pairs]


def follow() -> None:
    """End this process and its group when the process that has launched it ends."""
    life = os.dup(0)  # nothing is ever written
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)

    def watch() -> None:
        os.read(life, 1)
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()


def kill(group: int) -> None:
    """End all processes of a group at once."""
    with contextlib.suppress(ProcessLookupError, PermissionError):  # macOS: of ended ones
        os.killpg(group, signal.SIGKILL)


def end(process: Any, pipes: Sequence[Connection]) -> None:
    """Let a launched process end by itself, and end at once whatever is left then."""
    for pipe in pipes:
        pipe.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(1.0)  # seconds, in which it may remove its files
    kill(process.pid)
    process.wait()
    process.stdin.close()
    running.discard(process.pid)
