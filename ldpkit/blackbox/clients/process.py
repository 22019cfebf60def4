"""A process that calls a client in Python, so that the client can neither end nor mislead what
audits it."""

import functools
import mmap
import operator
import os
import pickle
import queue
import signal
import sys
import tempfile
import threading
import weakref
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from ... import checks, progress
from ...mechanisms.base import ClientError, NoClientError
from .launch import end, launch

__all__ = ["Process"]

_START = (
    "from ldpkit.blackbox.clients.process import serve; serve(sys.argv[1], *map(int, sys.argv[2:]))"
)
_MOST_CALLS = 256  # at the same time
_NUMBER = 8  # bytes of the number of reports that were begun
_OFTEN = 0.1  # seconds between two looks at the number of reports that were begun


class Process:
    """A process that makes a client and answers calls about it.

    It leads a session of its own, so that a signal for its group reaches no other process. Its
    standard output is standard error. The processes that it starts end with it.

    Parameters
    ----------
    called : str
        Name of the client in error messages.
    make : callable
        Returns the client; it is pickled. Modules are imported as here, and then from the working
        directory.
    threads : int
        Largest number of calls at the same time, each in a thread of its own; 256 at most.

    Attributes
    ----------
    batched : bool
        Whether one call of the client makes the reports of many users.

    Raises
    ------
    ClientError
        If the client cannot be made.
    """

    def __init__(self, called: str, make: Callable[[], object], threads: int = 1) -> None:
        calls = min(checks.integer("threads", threads, 1), _MOST_CALLS)
        with tempfile.TemporaryFile(buffering=0) as file:
            file.write(bytes(_NUMBER) + pickle.dumps(make))
            files = [file.fileno()]
            self._process, pipes = launch(_START, called, pipes=calls, files=files, stdout=2)
            self._begun, self._seen = _number(mmap.mmap(file.fileno(), 0)), 0
        self._end = weakref.finalize(self, end, self._process, pipes)
        self.called, self._free = called, queue.SimpleQueue[Connection]()
        for pipe in pipes:
            self._free.put(pipe)
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
            while not pipe.poll(_OFTEN):
                before, self._seen = self._seen, self._begun[0]
                progress.count_begun(self._seen - before)
            good, found = pipe.recv()
        except BaseException as error:  # then the pipe is of no use, as an answer may still come
            self._end()
            if not isinstance(error, Exception):
                raise
            raise NoClientError(f"{self.called} {_how(self._process.returncode)}") from error
        finally:
            self._free.put(pipe)
        if not good:
            raise ClientError(found)
        return found


def _number(shared: mmap.mmap) -> "memoryview[int]":
    """Return the whole number with which a file begins, as an array."""
    return memoryview(shared)[:_NUMBER].cast("Q")


def _how(status: int) -> str:
    """Return how a process ended that was still needed."""
    if status == -signal.SIGKILL:
        return "was killed, or closed the files of its process"
    if status < 0:
        return f"ended its process by signal {-status} ({signal.strsignal(-status)})"
    return f"ended its process with exit status {status}"


# --- in the process -------------------------------------------------------------------------------


class _Begun(progress.Progress):
    """Number of reports that were begun, which the audit can see."""

    def __init__(self, shared: mmap.mmap) -> None:
        super().__init__(0, "reports")
        self.number = _number(shared)

    def begin(self, count: int = 1) -> None:
        self.number[0] += count


def serve(called: str, file: int, *fds: int) -> None:
    """Make a client, and answer the calls about it on every pipe."""
    shared = mmap.mmap(file, 0)
    progress.running.append(_Begun(shared))
    first, *others = (Connection(fd) for fd in fds)
    sys.path.insert(0, os.getcwd())
    client = functools.cache(lambda: pickle.loads(shared[_NUMBER:])())
    for pipe in others:
        threading.Thread(target=_answer, args=(called, pipe, client), daemon=True).start()
    _answer(called, first, client)


def _answer(called: str, pipe: Connection, client: Callable[[], object]) -> None:
    own = os.getpid()
    try:
        while True:
            function, given = pipe.recv()
            try:
                answer = True, function(client(), *given)
            except BaseException as error:
                raised = f"{called} raised {type(error).__name__}: "
                answer = False, f"{'' if isinstance(error, ValueError) else raised}{error}"
            if os.getpid() != own:  # a copy that the client made of its process
                os._exit(0)
            pipe.send(answer)
    except EOFError:  # the audit needs no more reports
        pass
    except BaseException:  # a traceback helps nobody
        os._exit(1)
