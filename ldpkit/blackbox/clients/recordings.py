"""Recorded reports of two inputs from two files, read one report after the other."""

import itertools
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from ... import checks
from ...mechanisms.base import ClientError
from ...types import Array, Reports, Rng, Row
from .client import Client
from .formats import READERS, rows_of, suffix
from .identity import file_digest

__all__ = ["Recordings", "recorded"]

_HEAD = 2**16  # first bytes of a recording, which identify it because it may grow
_FIRST = 2**12  # reports of a file that are examined in advance
_TICKS = 10  # least number of values of a clock


class Recordings(Client):
    """Reports of two inputs from two files, which are read once from the beginning to the end.

    Reports are paired in the order of the files. The files are streamed, therefore memory does not
    grow with their size. `recorded` makes an object of this class.
    """

    repeats, independent = False, False
    paths: tuple[Path, Path]
    fields: tuple[str, ...] = ()
    left: tuple[int, ...] = (0, 0)  # reports without a partner, after the end

    @property
    def parameters(self) -> Row:
        return super().parameters | ({"fields": [*self.fields]} if self.fields else {})

    def origin(self, known: Row | None = None) -> Row:
        begun = (known or {}).get("recordings") or [
            {"bytes": min(_HEAD, path.stat().st_size)} for path in self.paths
        ]
        sizes = [earlier["bytes"] for earlier in begun]
        return {
            "recordings": [
                {"bytes": size, "digest": file_digest(path, size)}
                for size, path in zip(sizes, self.paths)
            ]
        }

    def seek(self, position: int) -> None:
        """Continue after the first `position` reports of each file."""
        if self.__dict__.get("at") == position:
            return
        readers = [rows_of(path) for path in self.paths]
        first, second = (next(reader) for reader in readers)
        checks.need(
            None in (first, second) or first == second,
            f"recordings must have the same columns, got {', '.join(first or ()) or 'one'} in"
            f" {self.paths[0]} and {', '.join(second or ()) or 'one'} in {self.paths[1]}",
            ClientError,
        )
        for reader in readers:
            next(itertools.islice(reader, position, position), None)
        self.__dict__.update(at=position, readers=readers)

    def draw(self, inputs: Sequence[Any], n: int, rng: Rng) -> list[Array]:
        """Return the next n reports of each file, or as many as both files still have."""
        at, readers = self.__dict__["at"], self.__dict__["readers"]
        both_rows = [list(itertools.islice(reader, n)) for reader in readers]
        paired = min(map(len, both_rows))
        empty = self.paths[1 if both_rows[0] else 0]
        checks.need(at or paired, f"recording {empty} holds no report", ClientError)
        if paired < n and not any(self.left):  # the shorter file has ended
            rest = [len(rows) - paired + sum(1 for _ in r) for rows, r in zip(both_rows, readers)]
            self.__dict__["left"] = rest
        self.__dict__["at"] = at + paired
        return [self._read(rows[:paired]) for rows in both_rows]

    def _read(self, placed: list[Any]) -> Reports:
        """Return reports, which are given with their places in a file; an error names the place."""
        try:
            rows = [row for _, row in placed]
            if self.fields or self.ignore:
                rows = [self._named(row) for row in rows]
            if self.report != "any":  # a table's row of several columns is a list
                rows = [[*row.values()] if isinstance(row, dict) else row for row in rows]
            return self._checked_reports(rows) if rows else np.empty(0, object)
        except ClientError as error:
            if len(placed) == 1:
                raise ClientError(f"{placed[0][0]}: {error}") from None
            for one in placed:
                self._read([one])
            raise

    def _named(self, row: Any) -> Any:
        """Return a report without the fields that do not count."""
        checks.need(isinstance(row, dict), f"must have named fields, got {row!r:.80}", ClientError)
        kept = self.fields or row.keys() - {*self.ignore}
        return {name: row[name] for name in row if name in kept}

    def _begin(self, path: Path) -> list[dict[str, Any]]:
        """Return those of the first reports of a file that have named fields."""
        rows = itertools.islice(rows_of(path), 1, 1 + _FIRST)
        return [row for _, row in rows if isinstance(row, dict)]

    def clock(self, event: str) -> str:
        """Return a sentence if an event in words is about a field that looks like a clock.

        Such a field only rises or only falls, and takes many values. The first reports of each file
        are examined.
        """
        for path in self.paths:
            rows = self._begin(path)
            for name in dict.fromkeys(name for row in rows for name in row):
                values = [row[name] for row in rows if name in row]
                alike = {type(value) for value in values} in ({int}, {float}, {int, float}, {str})
                named = re.search(rf"\bfield {re.escape(name)}(?!\w)", event)
                many = named and alike and len(set(values)) >= _TICKS
                if many and values in (sorted(values), sorted(values, reverse=True)):
                    return (
                        f"Field {name} only rises or only falls in {path}, like a time or a"
                        f" counter, which differs between files for any client: --ignore {name}"
                        " leaves the field out."
                    )
        return ""

    @property
    def ending(self) -> str:
        """Message about the end of the files, with the number of reports without a partner."""
        alone = [f"{n:,} of {path} had no partner" for path, n in zip(self.paths, self.left) if n]
        return ": ".join(["no more reports", *alone])


def _none(value: Any) -> NoReturn:
    raise ClientError("recordings cannot be asked for more reports: audit them until sure")


def recorded(
    first: str | Path,
    second: str | Path,
    report: str,
    epsilon: float,
    delta: float = 0.0,
    k: int = 0,
    fields: Sequence[str] = (),
    ignore: Sequence[str] = (),
) -> Recordings:
    """Return two recordings as a client that can be audited.

    Parameters
    ----------
    first, second : path
        Reports of the first input and of the second: JSON lines (``.jsonl``), CSV with a header
        (``.csv``), or Parquet (``.parquet``, with ``pyarrow``). A table of one column holds values.
        A table of several columns holds lists (``bits``, ``subset``) or objects (``any``). A row of
        a CSV file is one line of at most 1 MiB, and so is a JSON text. A report that cannot be read
        without loss is refused with its line, for example if a column or a key has a name twice.
        Both tables have the same columns in the same order, but the name of a single column does
        not matter. Lines may be compressed by gzip (``.jsonl.gz``, ``.csv.gz``).
    report, epsilon, delta, k
        As in `Client`; with ``"any"`` reports, `k` is not needed. The first file holds reports of
        input 0, the second file those of the last input.
    fields, ignore : sequence of str
        Names of fields of the reports: the only ones that count, or those that do not count. Not
        both are given.
    """
    paths = Path(first), Path(second)
    for path in paths:
        checks.one_of("format of a recording", suffix(path), READERS)
        checks.need(path.is_file(), f"recording must be a file, got {path}")
    checks.need(
        not os.path.samefile(*paths),
        f"recordings must be two files, got {first} and {second}, which are one file",
    )
    given: Row = {"values": [str(first), str(second)]} if report == "any" else {"k": k}
    recordings = Recordings(
        _none, report=report, epsilon=epsilon, delta=delta, name="recordings", **given
    )
    checks.need(not (fields and ignore), "give fields or ignore, not both")
    recordings.__dict__.update(paths=paths, fields=(*fields,), ignore=(*ignore,))
    if fields or ignore:
        known = {name: 0 for path in paths for row in recordings._begin(path) for name in row}
        for name in (*fields, *ignore):
            checks.one_of("field of the recordings", name, known)
    recordings.seek(0)
    return recordings
