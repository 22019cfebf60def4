"""Executors for the cells of a sweep: processes of this machine, or workers of a Dask cluster."""

import atexit
import contextlib
import functools
import json
import os
import pickle
import platform
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from . import __version__, checks, digests, progress

if TYPE_CHECKING:
    from distributed import Client

Answer = TypeVar("Answer")

__all__ = ["Processes", "count", "local", "isolated", "versions", "require", "connect"]


# --- processes ------------------------------------------------------------------------------------

_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv.pop());"
    " from ldpkit import executors; executors.follow(); "
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


class Processes(ThreadPoolExecutor):
    """Executor of worker processes of this machine, of which a dying one fails only its own call.

    Every process is fed by a thread of its own, so that the call of a dead process is known. That
    call raises `concurrent.futures.BrokenExecutor`, and the next one gets a fresh process. A call
    that takes too long is ended in the same way and raises `TimeoutError`.

    Parameters
    ----------
    workers : int
        Number of processes, at least 1. They are started when needed.
    folders : sequence of str
        Folders from which the processes import first.
    """

    def __init__(self, workers: int, folders: Sequence[str] = ()) -> None:
        super().__init__(checks.integer("workers", workers, 1))
        self._folders = folders
        self._workers: dict[int, tuple[Any, list[Connection]]] = {}  # by the thread that feeds it
        atexit.register(self.shutdown, kill=True)

    def submit(  # type: ignore[override]  # it takes a limit, too
        self, fn: Callable[..., Answer], /, *args: Any, limit: float | None = None, **kwargs: Any
    ) -> Future[Answer]:
        """Schedule a call that can be pickled.

        It must end within `limit` seconds after a process has read it.
        """
        import cloudpickle  # imported here, because an audit does not need it

        return super().submit(self._compute, cloudpickle.dumps((fn, args, kwargs)), limit)

    def _compute(self, call: bytes, limit: float | None) -> Any:
        thread = threading.get_ident()
        if thread not in self._workers:
            self._workers[thread] = launch("executors.serve(*sys.argv[1:])", *self._folders)
        process, [pipe] = self._workers[thread]
        try:
            pipe.send_bytes(call)
            text = pipe.recv_bytes()
            if not text:  # the process has read the call, with all imports, and begins
                if not pipe.poll(limit):
                    kill(process.pid)
                    raise TimeoutError(f"not finished within {limit:g} s")
                text = pipe.recv_bytes()
        except (EOFError, OSError) as error:
            end(*self._workers.pop(thread))
            if isinstance(error, TimeoutError):
                raise
            raise BrokenExecutor(
                f"a worker process ended with status {process.returncode}"
            ) from error
        good, answer = pickle.loads(text)
        if good:
            return answer
        raise answer

    def shutdown(
        self, wait: bool = True, *, cancel_futures: bool = False, kill: bool = False
    ) -> None:
        """Accept no more calls, and end the processes when they have finished.

        With `kill`, processes that are computing are ended at once.
        """
        super().shutdown(False, cancel_futures=cancel_futures or kill)
        for process, _ in list(self._workers.values()) if kill else []:
            process.kill()  # then the thread that feeds it ends too
        if wait or kill:
            super().shutdown()
            atexit.unregister(self.shutdown)
            while self._workers:
                end(*self._workers.popitem()[1])


def serve(*given: str) -> None:
    """Answer calls in a process that imports from some folders first, until its pipe is closed."""
    import cloudpickle

    *folders, number = given
    sys.path[:0] = folders
    progress.running.append(progress.Progress(0, "calls"))  # so that no other one is shown
    pipe = Connection(int(number))
    while True:
        try:
            call = pipe.recv_bytes()
        except EOFError:
            return
        try:
            fn, args, kwargs = pickle.loads(call)
            pipe.send_bytes(b"")
            answer = cloudpickle.dumps((True, fn(*args, **kwargs)))
        except Exception as error:
            error.add_note("".join(traceback.format_exception(error)))  # the place in the worker
            try:
                answer = cloudpickle.dumps((False, error))
                pickle.loads(answer)
            except Exception:  # an error that cannot travel
                answer = cloudpickle.dumps(
                    (False, RuntimeError(f"{type(error).__name__}: {error}"))
                )
        pipe.send_bytes(answer)


def count(workers: int | None) -> int:
    """Return a number of workers, by default the number of cores that this process may use.

    The affinity of the process, the quota of its container and ``LOKY_MAX_CPU_COUNT`` limit it.
    """
    if workers is None:
        from joblib import cpu_count  # imported here, because an audit does not need it

        try:
            return cpu_count()
        except ValueError:
            given = os.environ["LOKY_MAX_CPU_COUNT"]
            raise ValueError(f"LOKY_MAX_CPU_COUNT must be an integer >= 1, got {given!r}") from None
    return checks.integer("workers", workers, 1)


@functools.cache
def local(workers: int) -> Processes:
    """Return this machine's executor of so many workers, whose processes later sweeps use too."""
    return Processes(workers)


def isolated(*folders: str | os.PathLike[str], workers: int | None = None) -> Processes:
    """Return an executor whose processes import from `folders` first.

    A third-party package can therefore be audited without installing it next to
    ldpkit. Its own folder comes first in the import path of fresh processes.
    One notebook can even audit two versions of one package.

    Parameters
    ----------
    *folders : path
        Existing folders, in order of preference.
    workers : int, optional
        Number of processes; the number of cores by default.

    Raises
    ------
    FileNotFoundError
        If a folder does not exist.
    """
    paths = [Path(folder).resolve() for folder in folders]
    for path in paths:
        checks.need(
            path.is_dir(),
            f"folder {path} does not exist; `make packages` installs the packages under audit",
            FileNotFoundError,
        )
    return Processes(count(workers), [str(path) for path in paths])


# --- the same environment everywhere --------------------------------------------------------------


@functools.cache
def versions() -> dict[str, str]:
    """Return the versions on which a result depends: Python, numerical libraries, this package."""
    return digests.versions() | {"ldpkit": f"{__version__} (source {digests.CODE})"}


def require(wanted: dict[str, str]) -> None:
    """Raise an error unless this environment is that of the caller.

    Parameters
    ----------
    wanted : dict
        The caller's `versions`.

    Raises
    ------
    RuntimeError
        Naming the machine, and both versions of everything that differs.
    """
    own = versions()
    other = [
        f"{name} {own.get(name)} instead of {wanted[name]}"
        for name in wanted
        if own.get(name) != wanted[name]
    ]
    checks.need(
        not other,
        f"the worker on {platform.node()} has {', '.join(other)}: give it the same environment",
        RuntimeError,
    )


@checks.checked
def connect(address: str, *, timeout: checks.Positive = 5) -> "Client":
    """Return a client of a running Dask cluster, after checking the environment of its workers.

    Parameters
    ----------
    address : str
        Address of the scheduler, such as ``tcp://127.0.0.1:8786``.
    timeout : float
        Seconds to wait for an answer.

    Returns
    -------
    distributed.Client
        A context manager. Pass ``client.get_executor(pure=False)`` to `ldpkit.sweep.sweep` as
        `executor`.

    Raises
    ------
    ModuleNotFoundError
        Naming the extra that installs `distributed`.
    ConnectionError
        If no scheduler answers.
    RuntimeError
        If a worker's environment differs; see `require`.
    """
    try:
        from distributed import Client, Security
        from distributed.comm.core import connect as reach
    except ModuleNotFoundError as error:
        raise digests.missing(error) from error
    import asyncio

    async def knock() -> None:
        call = reach(address, timeout=timeout, **Security().get_connection_args("client"))
        await (await asyncio.wait_for(call, timeout)).close()

    try:
        with ThreadPoolExecutor(1) as thread:  # the thread of a notebook already runs an event loop
            thread.submit(asyncio.run, knock()).result()
    # another program at this address may send anything or nothing, and a client would wait for it
    except Exception as error:
        why = f" ({error})" if str(error) else ""
        raise ConnectionError(
            f"no Dask scheduler answers at {address} within {timeout:g} s{why}"
        ) from error
    client = Client(address, timeout=timeout, set_as_default=False)
    for worker, answer in client.run(require, versions(), on_error="return").items():
        if answer is not None:
            client.close()
            raise RuntimeError(
                f"worker {worker} cannot take part: {type(answer).__name__}: {answer}"
            )
    return client
