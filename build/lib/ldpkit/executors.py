"""Executors for the cells of a grid: processes of this machine, or workers of a Dask cluster."""

import functools
import os
import platform
import signal
import sys
import threading
import time
import weakref
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from joblib.externals.loky import ProcessPoolExecutor, cpu_count

from . import __version__, checks, digests

if TYPE_CHECKING:
    from distributed import Client

Answer = TypeVar("Answer")

__all__ = ["Processes", "count", "local", "isolated", "versions", "require", "connect"]

_OFTEN = 0.2  # seconds between two looks whether the parent process is there

# --- processes of this machine --------------------------------------------------------------------


class Processes(ThreadPoolExecutor):
    """Executor of worker processes of this machine, of which a dying one fails only its own call.

    Every thread has a pool of its own of one process (loky), because the death of a worker fails
    all calls of its pool. That call raises `concurrent.futures.BrokenExecutor`, and the next one
    gets a fresh process. A call that takes too long is ended and raises `TimeoutError`.

    Parameters
    ----------
    workers : int
        Number of processes, at least 1. They are started when needed, and end with this process.
    folders : sequence of str
        Folders from which the processes import first.
    """

    def __init__(self, workers: int, folders: Sequence[str] = ()) -> None:
        super().__init__(checks.integer("workers", workers, 1))
        given = {"initializer": _begin, "initargs": (os.getpid(), folders)}
        # by the thread that feeds it
        self._pools = defaultdict[int, Any](functools.partial(ProcessPoolExecutor, 1, **given))
        self._end = weakref.finalize(self, _end, self._pools)

    def submit(  # type: ignore[override]  # it takes a limit, too
        self, fn: Callable[..., Answer], /, *args: Any, limit: float | None = None, **kwargs: Any
    ) -> Future[Answer]:
        """Schedule a call, which must end within `limit` seconds after its process is ready."""
        return super().submit(self._compute, limit, fn, args, kwargs)

    def _compute(self, limit: float | None, fn: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        pool = self._pools[threading.get_ident()]
        checks.need(self._end.alive, "the processes were ended", BrokenExecutor)
        try:
            if limit:  # the process starts, and imports what the call needs
                pool.submit(len, (fn, args, kwargs)).result()
            call = pool.submit(fn, *args, **kwargs)
            wait([call], limit)
            checks.need(call.done(), f"not finished within {limit} s", TimeoutError)
            return call.result()
        except (BrokenExecutor, TimeoutError):
            self._pools.pop(threading.get_ident()).shutdown(kill_workers=True)
            raise

    def shutdown(
        self, wait: bool = True, *, cancel_futures: bool = False, kill: bool = False
    ) -> None:
        """Accept no more calls, and end the processes when they have finished.

        With `kill`, processes that are computing are ended at once.
        """
        if kill:
            self._end()
        super().shutdown(wait or kill, cancel_futures=cancel_futures or kill)
        if wait:
            self._end()


def _end(pools: dict[int, Any]) -> None:
    for pool in list(pools.values()):
        pool.shutdown(kill_workers=True)


def _begin(parent: int, folders: Sequence[str]) -> None:
    """Let a worker import from folders first, and end with its children when the parent has ended.

    It leads a session of its own, so that it hears no interrupt of a terminal.
    """
    os.setsid()
    sys.path[:0] = folders

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_OFTEN)
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()


def count(workers: int | None) -> int:
    """Return a number of workers, by default the number of cores that this process may use.

    The affinity of the process, the quota of its container and ``LOKY_MAX_CPU_COUNT`` limit it.
    """
    if workers is None:
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
    One notebook can even audit two versions of one package. The processes have imported NumPy,
    joblib and cloudpickle before, and therefore have those of ldpkit.

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
        A context manager. Pass ``client.get_executor(pure=False)`` to `ldpkit.grid.grid` as
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
