"""A client that runs in a process of its own, so that it can neither end nor mislead an audit."""

import contextlib
import functools
import json
import operator
import os
import queue
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any

from .. import checks, progress
from ..types import Array, ArrayLike, Rng, Word
from .client import Client, ClientError, NoClientError, named

__all__ = ["Process", "SeparateClient"]

_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv.pop());"
    " from ldpkit.mechanisms.separate import serve; serve(*map(int, sys.argv[1:]))"
)
_PATIENCE = 1.0  # seconds in which a process may end by itself, and remove its files
_MOST_CALLS = 256  # at the same time
_OFTEN = 0.1  # seconds between two messages about the reports that were begun

running: set[int] = set()
"""Groups of processes that an interrupted command kills."""


class Process:
    """A process that imports a client, also from the working directory, and answers calls about it.

    It leads a session of its own, so that a signal for its group reaches no other process. What it
    writes to standard output goes to standard error. The processes that it starts end with it.

    Parameters
    ----------
    path : str
        ``"module:function"``.
    threads : int
        Largest number of calls at the same time, each in a thread of its own; 256 at most.
    **fields
        The other fields of `Client`.

    Attributes
    ----------
    batched : bool
        Whether one call makes the reports of many users.

    Raises
    ------
    ClientError
        If the client cannot be imported.
    """

    def __init__(self, path: str, threads: int = 1, **fields: Word) -> None:
        threads = min(checks.integer("threads", threads, 1), _MOST_CALLS)
        pairs, (ended, life) = [Pipe() for _ in range(threads)], os.pipe()
        given = [ended, *(there.fileno() for _, there in pairs)]
        self.path, self._free = path, queue.SimpleQueue[Connection]()
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-u", "-c", _START, *map(str, given), json.dumps(sys.path)],
            stdin=subprocess.DEVNULL,
            stdout=2,
            pass_fds=given,
            start_new_session=True,
        )
        running.add(self._process.pid)
        self.end = weakref.finalize(self, _end, self._process, [here for here, _ in pairs], life)
        os.close(ended)
        for here, there in pairs:
            there.close()
            self._free.put(here)
        with contextlib.suppress(OSError):  # then the first call says so
            pairs[0][0].send((path, fields))
        self.batched: bool = self(operator.attrgetter("batched"))

    def __call__(self, function: Callable[..., Any], *given: Any) -> Any:
        """Return ``function(client, *given)``, as the process computes it.

        Raises
        ------
        ClientError
            If the call fails, or if the process ends.
        """
        pipe = self._free.get()
        try:
            pipe.send((function, given))
            while isinstance(answer := pipe.recv(), int):
                progress.count_begun(answer)
            good, found = answer
        except BaseException as error:  # then the pipe is of no use, as an answer may still come
            self.end()
            if not isinstance(error, Exception):
                raise
            how = _how(self._process.returncode)
            raise NoClientError(f"client {self.path} {how}") from error
        finally:
            self._free.put(pipe)
        if not good:
            raise ClientError(found)
        return found


def kill(group: int) -> None:
    """End all processes of a group at once."""
    with contextlib.suppress(ProcessLookupError, PermissionError):  # macOS: of ended ones
        os.killpg(group, signal.SIGKILL)


def _end(process: subprocess.Popen[bytes], pipes: Sequence[Connection], life: int) -> None:
    """Let a process end by itself, and end at once whatever is left then."""
    for pipe in pipes:
        pipe.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_PATIENCE)
    kill(process.pid)
    process.wait()
    running.discard(process.pid)
    os.close(life)


def _how(status: int) -> str:
    """Return how a process ended that was still needed."""
    if status == -signal.SIGKILL:
        return "was killed, or closed the files of its process"
    if status < 0:
        return f"ended its process by signal {-status} ({signal.strsignal(-status)})"
    return f"ended its process with exit status {status}"


@dataclass(frozen=True)
class SeparateClient(Client):
    """A client whose `function` is the process that imports and calls it."""

    function: Process

    @classmethod
    def of(cls, path: str, threads: int = 1, **fields: Word) -> "SeparateClient":
        """Return the client ``"module:function"``; see `Process`."""
        return cls(Process(path, threads, **fields), name=path, **fields)

    @functools.cached_property
    def batched(self) -> bool:
        return self.function.batched

    def perturb(self, values: ArrayLike, rng: Rng) -> Array:
        """Return the client's reports; the generator goes on from where the client left it."""
        reports, rng.bit_generator.state = self.function(_perturb, values, rng)
        return reports

    def afresh(self, values: Array, seed: int) -> Array | None:
        return self.function(Client.afresh, values, seed)  # type: ignore[no-any-return]


# --- in the process -------------------------------------------------------------------------------


class _Begun(progress.Progress):
    """Reports that were begun, of which the audit is told from time to time."""

    def __init__(self) -> None:
        super().__init__(0, "reports")
        self.own = threading.local()

    def tell(self, pipe: Connection) -> None:
        """Use this pipe for what the calling thread begins."""
        self.own.pipe, self.own.count, self.own.told = pipe, 0, time.monotonic()

    def begin(self, count: int = 1) -> None:
        own, now = self.own, time.monotonic()
        own.count += count
        if now - own.told > _OFTEN:
            own.pipe.send(own.count)
            own.count, own.told = 0, now


def serve(ended: int, *fds: int) -> None:
    """Import a client, and answer the calls about it on every pipe."""
    threading.Thread(target=_watch, args=(ended,), daemon=True).start()
    progress.running.append(begun := _Begun())
    first, *others = (Connection(fd) for fd in fds)
    path, fields = first.recv()
    sys.path.insert(0, os.getcwd())  # where the client may lie
    client = functools.cache(functools.partial(named, path, **fields))
    for pipe in others:
        threading.Thread(target=_answer, args=(pipe, client, begun), daemon=True).start()
    _answer(first, client, begun)


def _watch(ended: int) -> None:
    """End when the audit has ended."""
    os.read(ended, 1)  # nothing is ever written
    os.killpg(0, signal.SIGKILL)


def _answer(pipe: Connection, client: Callable[[], Client], begun: _Begun) -> None:
    own = os.getpid()
    begun.tell(pipe)
    try:
        while True:
            function, given = pipe.recv()
            try:
                answer = True, function(client(), *given)
            except ValueError as error:
                answer = False, str(error)
            except BaseException as error:
                answer = False, f"{client().called} raised {type(error).__name__}: {error}"
            if os.getpid() != own:  # a copy that the client made of its process
                os._exit(0)
            pipe.send(answer)
    except EOFError:  # the audit needs no more reports
        pass
    except BaseException:  # a traceback helps nobody
        os._exit(1)


def _perturb(client: Client, values: ArrayLike, rng: Rng) -> tuple[Array, Any]:
    return client.perturb(values, rng), rng.bit_generator.state
