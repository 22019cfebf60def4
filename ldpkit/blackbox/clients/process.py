"""Processes of clients: one that calls a client in Python, so that the client can neither end nor
mislead what audits it, and programs in any language."""

import contextlib
import functools
import json
import mmap
import operator
import os
import pickle
import queue
import select
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from typing import IO, Any, NoReturn

from ... import checks, progress
from ...mechanisms.base import ClientError, NoClientError
from .anything import Line, parsed
from .launch import end, launch

__all__ = ["Process", "Program"]

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


# --- programs -------------------------------------------------------------------------------------

_TAIL = 400  # characters of standard error in a message
_ENDING = 1.0  # seconds in which a process ends that has closed its standard output
_AGAIN = 0.01  # seconds at most in which a program may write more lines
_LONGEST = 2**24  # largest number of bytes of a report


class Program:
    """A client ``f(value) -> report`` that runs as one process for all inputs.

    It reads one JSON input a line and writes one JSON report a line. A process that ended after a
    report is started again. A program that ends before it reports has failed.

    Parameters
    ----------
    command : str or sequence of str
        The program and its arguments, quoted as for a shell; but no shell runs it.
    limit : float
        Seconds that one report may take, including the start of the program; above 0.
    skip_lines : int
        Lines of a banner, which every start of the program writes before its first report.

    Attributes
    ----------
    starts : int
        How often the program was started.
    seconds : float
        From the end of the last question to the end of the first answer.
    late : int
        Number of the `lines` that had come before the question.
    """

    def __init__(
        self, command: str | Sequence[str], limit: float = 10.0, skip_lines: int = 0
    ) -> None:
        words = shlex.split(command) if isinstance(command, str) else list(command)
        checks.need(words, f"command must name a program, got {command!r}")
        self.words, self.limit = words, checks.real("limit", limit, 0, closed="()")
        self.skip_lines = checks.integer("skip_lines", skip_lines, 0)
        self.starts, self.seconds, self.late = 0, 0.0, 0
        # a process, its standard error, and both ends of its standard input
        self._running: tuple[Any, IO[bytes], int, int] | None = None

    def __repr__(self) -> str:
        return shlex.join(self.words)

    def __call__(self, value: Any) -> Any:
        """Return the report for one value, see `line`."""
        return self.line(value, False).value

    def line(self, value: Any, twice: bool = True) -> Line:
        """Return the line that the program writes for one value.

        Parameters
        ----------
        value : object
        twice : bool
            Whether an object in it may have a key several times.

        Raises
        ------
        ClientError
            If the program cannot be started, does not answer in time, or ends without an answer;
            also if it writes something else than one line of JSON. The message includes the end of
            the program's standard error.
        """
        return self.lines(value, twice, False)[0]

    def lines(self, value: Any, twice: bool = True, several: bool = True) -> list[Line]:
        """Return the lines that the program writes for one value, each as `line` does.

        A program that may write `several` has as long again for the others as for the first one,
        but 10 ms at most. Those that come later are the first lines of the next call.
        """
        line, until = json.dumps(value), time.monotonic() + self.limit
        started = self._running is None
        early, answer, unread = self._ask(line, until, several)
        if unread and not started:  # it ended after the report before, and nobody has seen the line
            started, (_, answer, _) = True, self._ask(line, until, several)
        skipped = self.skip_lines * started
        own, *more = answer.split(b"\n")[skipped:] or [b""]
        if not own and self._running is None:
            self._fail(line, "ended without a report")
        before, more = early.splitlines(), [*filter(None, more)]
        self.late, found = len(before), []
        for text in [*before, own, *more * several]:
            try:
                line_read = text.decode("utf-8-sig")
                found.append(Line(line_read, parsed(line_read, twice)))
            except ValueError as error:
                if started and isinstance(error, json.JSONDecodeError):  # it may be a banner
                    self._fail(
                        line,
                        f"wrote a first line on standard output{self._skipped} that is no report,"
                        f" {text[:80]!r} ({error})",
                        f"; --skip-lines {self.skip_lines + 1} (in Python skip_lines) skips a"
                        " banner",
                    )
                self._fail(
                    line, f"must write one report a line as JSON, got {text[:80]!r} ({error})"
                )
        if more and not several:
            self._fail(line, f"wrote more than one line for one input: {more[0][:80]!r} follows")
        return found

    def afresh(self) -> "Program":
        """Return the same program, which is not started yet."""
        return Program(self.words, self.limit, self.skip_lines)

    @property
    def _skipped(self) -> str:
        return f" after {self.skip_lines:,} that were skipped" if self.skip_lines else ""

    def _start(self) -> tuple[Any, IO[bytes], int, int]:
        errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  # open as long as it runs
        reading, writing = os.pipe()
        try:
            started: Any = subprocess.Popen(
                self.words, stdin=reading, stdout=subprocess.PIPE, stderr=errors
            )
        except OSError as error:
            os.close(reading)
            os.close(writing)
            raise NoClientError(f"program {self!r} cannot be started: {error}") from error
        os.set_blocking(writing, False)
        self._running, self.starts = (started, errors, reading, writing), self.starts + 1
        return self._running

    def _ask(self, line: str, until: float, several: bool) -> tuple[bytes, bytes, bool]:
        """Return what came before the question, the program's answer to one line, and whether it
        ended before it read the line."""
        started = self._running is None
        process, _, reading, writing = self._running or self._start()
        output = process.stdout.fileno()
        early, answer, data = b"", b"", f"{line}\n".encode()
        if not started and select.select([output], [], [], 0)[0]:
            early = os.read(output, 2**16)
            if early and not several:
                self._fail(line, f"wrote another line after its last report, {early[:80]!r}")
            if not early:
                self._end()
                return b"", b"", True
        while data:
            left = max(0.0, until - time.monotonic())
            if not select.select([], [writing], [], left)[1]:
                self._fail(line, f"did not read its input within {self.limit:g} seconds")
            data = data[os.write(writing, data) :]
        begun, unread = time.perf_counter(), False
        while self._running and answer.count(b"\n") <= self.skip_lines * started:
            left = max(0.0, until - time.monotonic())
            if not select.select([output], [], [], left)[0]:
                self._fail(
                    line,
                    f"did not report within {self.limit:g} seconds",
                    "; it must flush its output after every report",
                )
            part = os.read(output, 2**16)
            self.seconds = time.perf_counter() - begun
            answer += part
            if not part:  # the last line may lack its newline
                unread = not answer and bool(select.select([reading], [], [], 0)[0])
                self._end()
            if len(answer) > _LONGEST:
                self._fail(line, f"wrote a report of more than {_LONGEST:,} bytes")
        while several and self._running:
            if not select.select([output], [], [], min(self.seconds, _AGAIN))[0]:
                break
            part = os.read(output, 2**16)
            answer += part
            if not part:
                self._end()
        return early, answer, unread

    def _end(self) -> None:
        """End a process that has closed its standard output, perhaps because it has ended."""
        if self._running:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._running[0].wait(_ENDING)
        self.close()

    def close(self) -> None:
        """End the process, if it runs."""
        if self._running is None:
            return
        (process, errors, *pipe), self._running = self._running, None
        process.kill()
        for end_of_pipe in pipe:
            os.close(end_of_pipe)
        with process:  # its end closes its standard output, and waits
            pass
        with errors:
            errors.seek(max(0, errors.seek(0, os.SEEK_END) - _TAIL))
            self._ended = errors.read().decode(errors="replace").strip(), process.returncode

    def _fail(self, line: str, problem: str, advice: str = "") -> NoReturn:
        self.close()
        errors, status = self._ended
        tail = f"; its standard error ends with: {errors}" if errors else ""
        ended = f" (exit status {status})" if status >= 0 else ""
        error = ClientError(f"program {self!r} {problem}{ended}, input {line:.80}{advice}{tail}")
        error.said = f"program {self!r} {problem}{ended}{tail}"
        raise error

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.close()
