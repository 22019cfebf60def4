"""Programs in any language as clients."""

import contextlib
import json
import os
import select
import shlex
import subprocess
import tempfile
import time
from collections.abc import Sequence
from typing import IO, Any, NoReturn

from ... import checks
from ...mechanisms.base import ClientError, NoClientError
from .anything import Line, parsed

__all__ = ["Program"]

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
