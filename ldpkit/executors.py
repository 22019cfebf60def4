"""Executors for the cells of a sweep: processes of this machine, or workers of a Dask cluster."""

import atexit
import contextlib
import functools
import multiprocessing
import multiprocessing.resource_tracker
import os
import pickle
import platform
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from . import __version__, checks, digests

if TYPE_CHECKING:
    from distributed import Client

Given = ParamSpec("Given")
Answer = TypeVar("Answer")

__all__ = ["Processes", "count", "local", "isolated", "versions", "require", "connect"]


class _Own(threading.local):
    """The worker process of a thread, with two ends of pipes."""

    worker: tuple[Any, Connection, Connection] | None = None


class Processes(ThreadPoolExecutor):
    """Executor of worker processes of this machine, of which a dying one fails only its own call.

    Every process is fed by a thread of its own, so that the call of a dead process is known. That
    call raises `concurrent.futures.BrokenExecutor`, and the next one gets a fresh process. A call
    that takes too long is ended in the same way and raises `TimeoutError`.

    Parameters
    ----------
    workers : int
        Number of processes, at least 1. They are started when needed.
    initializer, initargs
        Function, and its arguments, that is called first in every process.
    """

    def __init__(
        self,
        workers: int,
        initializer: Callable[..., object] | None = None,
        initargs: tuple[object, ...] = (),
    ) -> None:
        super().__init__(checks.integer("workers", workers, 1))
        self._first = initializer, initargs
        self._own = _Own()
        self._made: list[tuple[BaseProcess, Connection, Connection]] = []
        atexit.register(self.shutdown, kill=True)

    def submit(
        self, fn: Callable[Given, Answer], /, *args: Given.args, **kwargs: Given.kwargs
    ) -> Future[Answer]:
        """Schedule a call that can be pickled."""
        return self.within(None, fn, *args, **kwargs)

    def within(
        self,
        limit: float | None,
        fn: Callable[Given, Answer],
        /,
        *args: Given.args,
        **kwargs: Given.kwargs,
    ) -> Future[Answer]:
        """Schedule a call that must end within `limit` seconds after a process has read it."""
        import cloudpickle  # imported here, like loky, because an audit needs neither

        return super().submit(self._compute, cloudpickle.dumps((fn, args, kwargs)), limit)

    def _compute(self, call: bytes, limit: float | None) -> Any:
        if self._own.worker is None:
            from loky.backend import get_context

            here, there = multiprocessing.Pipe()
            ended, life = multiprocessing.Pipe(duplex=False)
            # processes of loky do not run the caller's script again
            process = get_context("loky").Process(target=_serve, args=(there, ended, *self._first))
            _start(process)
            there.close()
            ended.close()
            self._own.worker = process, here, life
            self._made.append(self._own.worker)
        process, pipe, _ = self._own.worker
        late = False
        try:
            pipe.send_bytes(call)
            text = pipe.recv_bytes()
            if not text:  # the process has read the call, with all imports, and begins
                if late := not pipe.poll(limit):
                    os.kill(process.pid, signal.SIGKILL)
                text = pipe.recv_bytes()
            good, answer = pickle.loads(text)
        except (EOFError, OSError) as error:
            self._made.remove(self._own.worker)
            self._own.worker = None
            process.join()
            if late:
                raise TimeoutError(f"not finished within {limit:g} s") from error
            raise BrokenExecutor(
                f"a worker process ended with status {process.exitcode}"
            ) from error
        if good:
            return answer
        raise answer

    def shutdown(
        self, wait: bool = True, *, cancel_futures: bool = False, kill: bool = False
    ) -> None:
        """Accept no more calls, and end the processes when they have finished.

        With `kill`, processes that are computing are ended at once.
        """
        super().shutdown(wait=wait and not kill, cancel_futures=cancel_futures or kill)
        if kill:  # then the threads that feed the processes end too
            for process, *_ in list(self._made):
                process.terminate()
            super().shutdown(wait=True)
        if wait or kill:
            atexit.unregister(self.shutdown)
            while self._made:
                process, pipe, life = self._made.pop()
                pipe.close()
                process.join()
                life.close()


starting = threading.Lock()
"""Held while a process starts, because it cannot be ended yet."""


def _start(process: BaseProcess) -> None:
    """Start a process that ignores interrupts, also while it imports; the caller handles them."""
    from loky.backend import resource_tracker

    multiprocessing.resource_tracker.ensure_running()  # first, as it unblocks SIGINT
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        with starting:
            process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _watch(ended: Connection) -> None:
    """Exit when the parent process has ended."""
    with contextlib.suppress(EOFError, OSError):
        ended.recv_bytes()  # nothing is ever sent
    os._exit(1)


def _serve(
    pipe: Connection,
    ended: Connection,
    initializer: Callable[..., object] | None,
    initargs: tuple[object, ...],
) -> None:
    """Answer calls until the pipe is closed."""
    import cloudpickle

    threading.Thread(target=_watch, args=(ended,), daemon=True).start()
    if initializer:
        initializer(*initargs)
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
        from loky import cpu_count  # imported here, because an audit does not need it

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


def _prepend(paths: list[str]) -> None:
    """Import from these folders first."""
    sys.path[:0] = paths


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
    return Processes(count(workers), _prepend, ([str(path) for path in paths],))


# --- the same environment everywhere --------------------------------------------------------------


@functools.cache
def versions() -> dict[str, str]:
    """Return the versions on which a result depends: Python, numerical libraries, this package."""
    return digests.versions() | {"ldpkit": f"{__version__} (source {digests.code_digest()})"}


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


def connect(address: str, *, timeout: float = 5) -> "Client":
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

    timeout = checks.real("timeout", timeout, 0, closed="()")

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
    answers = client.run(require, versions(), on_error="return")
    for worker, answer in answers.items():
        if answer is not None:
            client.close()
            raise RuntimeError(
                f"worker {worker} cannot take part: {type(answer).__name__}: {answer}"
            )
    return client
