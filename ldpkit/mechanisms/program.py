"""A program in any language as a client, which reads one JSON input per line and writes one JSON
report per line."""

import contextlib
import json
import os
import select
import shlex
import subprocess
import tempfile
import time
from collections.abc import Sequence
from typing import IO, Any

from .. import checks
from ..reports.anything import parsed
from .process import ClientError, NoClientError

__all__ = ["Program"]

_TAIL = 400  # characters of standard error in a message
_LONGEST = 2**24  # largest number of bytes of a report


class Program:
    """A client ``f(value) -> report`` that runs as one process for all inputs.

    A process that has ended is started again. A program that ends twice in a row without a report
    has failed.

    Parameters
    ----------
    command : str or sequence of str
        The program and its arguments, quoted as for a shell; but no shell runs it.
    limit : float
        Seconds that one report may take, including the start of the program; above 0.
    """

    def __init__(self, command: str | Sequence[str], limit: float = 10.0) -> None:
        words = shlex.split(command) if isinstance(command, str) else list(command)
        checks.need(words, f"command must name a program, got {command!r}")
        self.words, self.limit = words, checks.real("limit", limit, 0, closed="()")
        self._running: tuple[subprocess.Popen[bytes], IO[bytes]] | None = None

    def __repr__(self) -> str:
        return shlex.join(self.words)

    def __call__(self, value: Any) -> Any:
        """Return the report for one value.

        Raises
        ------
        ClientError
            If the program cannot be started, does not answer in time, or ends twice without an
            answer; also if it writes something else than one line of JSON. The message includes the
            end of the program's standard error.
        """
        line, until = json.dumps(value), time.monotonic() + self.limit
        answer = self._ask(line, until)
        if answer is None:  # the program ended after the previous report
            answer = self._ask(line, until)
        if answer is None:
            self._fail(line, "ended without a report")
        text, _, more = (answer or b"").partition(b"\n")
        if more:
            self._fail(line, f"wrote more than one line for one input: {more[:80]!r} follows")
        try:
            return parsed(text.decode("utf-8-sig"))
        except ValueError as error:
            self._fail(line, f"must write one report a line as JSON, got {text[:80]!r} ({error})")

    def _ask(self, line: str, until: float) -> bytes | None:
        """Return the program's answer to one line, ``None`` if the program has ended."""
        if self._running is None:
            errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  # open as long as it runs
            try:
                process = subprocess.Popen(
                    self.words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors
                )
            except OSError as error:
                raise NoClientError(f"program {self!r} cannot be started: {error}") from error
            self._running = process, errors
        process, _ = self._running
        assert process.stdin is not None and process.stdout is not None
        answer = b""
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(f"{line}\n".encode())
            process.stdin.flush()
        while b"\n" not in answer:
            ready = select.select([process.stdout], [], [], max(0.0, until - time.monotonic()))[0]
            if not ready:
                self._fail(line, f"did not report within {self.limit:g} seconds")
            part = os.read(process.stdout.fileno(), 2**16)
            if not part:
                if answer:  # the last line may lack its newline
                    return answer
                process.wait()
                self.close()
                return None
            answer += part
            if len(answer) > _LONGEST:
                self._fail(line, f"wrote a report of more than {_LONGEST:,} bytes")
        return answer[:-1] if answer.count(b"\n") == 1 and answer.endswith(b"\n") else answer

    def close(self) -> None:
        """End the process, if it runs."""
        if self._running is None:
            return
        (process, errors), self._running = self._running, None
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):
                if stream is not None:
                    stream.close()
        errors.seek(max(0, errors.seek(0, os.SEEK_END) - _TAIL))
        self._ended = errors.read().decode(errors="replace").strip(), process.returncode
        errors.close()

    def _fail(self, line: str, problem: str) -> Any:
        self.close()
        errors, status = self._ended
        tail = f"; its standard error ends with: {errors}" if errors else ""
        ended = f" (exit status {status})" if status >= 0 else ""
        raise ClientError(f"program {self!r} {problem}{ended}, input {line:.80}{tail}")

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.close()
