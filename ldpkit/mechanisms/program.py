"""A program in any language as a client: it reads one JSON input a line and writes one JSON report
a line."""

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
from .client import ClientError, NoClientError

__all__ = ["Program"]

_TAIL = 400  # characters of standard error that are shown
_LONGEST = 2**24  # bytes of a report


class Program:
    """A client ``f(value) -> report`` that runs as one process for all inputs.

    A process that has ended is started again; one that ends without a word twice in a row has
    failed.

    Parameters
    ----------
    command : str or sequence of str
        As a shell reads it, but no shell runs it.
    limit : float
        Seconds that one report may take, the start of the program included.
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
            If the program cannot be started, does not answer in time, ends twice without an answer,
            or writes what is not one line of JSON; with the end of what it wrote to standard error.
        """
        line, until = json.dumps(value), time.monotonic() + self.limit
        answer = self._ask(line, until)
        if answer is None:  # it ended after the report before
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
        """Return what the program answers, ``None`` if it has ended."""
        if self._running is None:
            said: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  # open as long as it runs
            try:
                process = subprocess.Popen(
                    self.words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said
                )
            except OSError as error:
                raise NoClientError(f"program {self!r} cannot be started: {error}") from error
            self._running = process, said
        process, said = self._running
        assert process.stdin is not None and process.stdout is not None
        got = b""
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(f"{line}\n".encode())
            process.stdin.flush()
        while b"\n" not in got:
            ready = select.select([process.stdout], [], [], max(0.0, until - time.monotonic()))[0]
            if not ready:
                self._fail(line, f"did not report within {self.limit:g} seconds")
            part = os.read(process.stdout.fileno(), 2**16)
            if not part:
                if got:  # a last line without its end
                    return got
                process.wait()
                self.close()
                return None
            got += part
            if len(got) > _LONGEST:
                self._fail(line, f"wrote a report of more than {_LONGEST:,} bytes")
        return got[:-1] if got.count(b"\n") == 1 and got.endswith(b"\n") else got

    def close(self) -> None:
        """End the process, if it runs."""
        if self._running is None:
            return
        (process, said), self._running = self._running, None
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):
                if stream is not None:
                    stream.close()
        said.seek(max(0, said.seek(0, os.SEEK_END) - _TAIL))
        self._ended = f"{said.read().decode(errors='replace').strip()}", process.returncode
        said.close()

    def _fail(self, line: str, what: str) -> Any:
        self.close()
        said, status = self._ended
        told = f"; its standard error ends with: {said}" if said else ""
        ended = f" (exit status {status})" if status >= 0 else ""
        raise ClientError(f"program {self!r} {what}{ended}, input {line:.80}{told}")

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.close()
