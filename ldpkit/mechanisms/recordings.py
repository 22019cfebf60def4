"""Reports that were recorded: two files, one report after the other."""

import csv
import itertools
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from .. import checks, digests
from ..reports.anything import parsed, repeated
from ..types import Array, Reports, Rng
from .client import Client, ClientError

__all__ = ["Recordings", "recorded"]

_LONGEST = 2**20  # bytes of a line
_BATCH = 2**12  # rows of a Parquet file that are read at once,
_HELD = 2**26  # and bytes that they may take
_EACH = 32  # bytes of a number in Python, with its place in a row


class Recordings(Client):
    """Reports of two inputs from two files, which are read once from the beginning to the end.

    They are paired in the order of the files. The files are streamed: memory does not grow with
    them. Made by `recorded`.
    """

    repeats, independent = False, False
    paths: tuple[Path, Path]

    def seek(self, position: int) -> None:
        """Go on after so many reports of each file."""
        at, rows = self.__dict__.get("_place", (-1, ()))
        if at != position:
            rows = tuple(READERS[path.suffix](path) for path in self.paths)
            first, second = (next(each) for each in rows)
            checks.need(
                None in (first, second) or first == second,
                f"recordings must have the same columns, got {', '.join(first or ()) or 'one'} in"
                f" {self.paths[0]} and {', '.join(second or ()) or 'one'} in {self.paths[1]}",
                ClientError,
            )
            for each in rows:
                next(itertools.islice(each, position, position), None)
            self.__dict__["_place"] = position, rows

    def draw(self, inputs: Sequence[Any], n: int, rng: Rng) -> list[Array]:
        """Return the next n reports of both files, or as many as both have."""
        at, rows = self.__dict__["_place"]
        got = [list(itertools.islice(each, n)) for each in rows]
        both = min(map(len, got))
        if at == both == 0:
            empty = self.paths[0 if not got[0] else 1]
            raise ClientError(f"recording {empty} holds no report")
        if both < n:
            left = [len(mine) - both + sum(1 for _ in each) for mine, each in zip(got, rows)]
            self.__dict__.setdefault("left", tuple(left))  # known when the first of them ends
        self.__dict__["_place"] = at + both, rows
        return [self._checked(path, at, mine[:both]) for path, mine in zip(self.paths, got)]

    def _checked(self, path: Path, at: int, rows: list[Any]) -> Reports:
        """The reports that follow the first `at` of a file; an error names the line."""
        try:
            return self._read(rows)
        except ClientError:
            for number, row in enumerate(rows, at + 1):
                try:
                    self._read([row])
                except ClientError as error:
                    raise ClientError(f"{_place(path, number)}: {error}") from None
            raise

    def _read(self, rows: list[Any]) -> Reports:
        if self.report != "any":  # a table's row of several columns is a list
            rows = [[*row.values()] if isinstance(row, dict) else row for row in rows]
        made: Array = getattr(self, f"_as_{self.report}")(rows) if rows else np.empty(0, object)
        return made

    @property
    def ending(self) -> str:
        """What there is to say at the end of the files."""
        for path, left in zip(self.paths, self.__dict__.get("left", ())):
            if left:
                return f"no more reports: {left:,} of {path} had no partner"
        return "no more reports"


def _none(value: Any) -> NoReturn:
    raise ClientError("recordings cannot be asked for more reports: audit them until sure")


def recorded(
    first: str | Path,
    second: str | Path,
    report: str,
    epsilon: float,
    delta: float = 0.0,
    k: int = 0,
) -> Recordings:
    """Return two recordings as something to audit.

    Parameters
    ----------
    first, second : path
        Reports of the first input and of the second: JSON lines (``.jsonl``), CSV with a header
        (``.csv``), or Parquet (``.parquet``, with ``pyarrow``). A table of one column holds values,
        one of several columns lists (``bits``, ``subset``) or objects (``any``). A row of a CSV
        file is one line of at most 1 MiB, as is a JSON text. A report is refused, with its line, if
        something of it would be lost: a name of a column or key that is given twice, for example.
        Two tables have the same columns, in one order; the name of a single column does not count.
    report, epsilon, delta, k
        As in `Client`; with ``"any"`` reports, `k` is not needed. The first file is of input 0, the
        second of the last input.
    """
    paths = Path(first), Path(second)
    for path in paths:
        checks.one_of("kind of recording", path.suffix, READERS)
        checks.need(path.is_file(), f"recording must be a file, got {path}")
    given: dict[str, Any] = {"values": [str(first), str(second)]} if report == "any" else {"k": k}
    checks.need(
        not os.path.samefile(*paths),
        f"recordings must be two files, got {first} and {second}, which are one",
    )
    made = Recordings(
        _none, report=report, epsilon=epsilon, delta=delta, name="recordings", **given
    )
    made.__dict__["paths"] = paths
    made.seek(0)
    return made


def _place(path: Path, number: int) -> str:
    """Where the report with this number stands."""
    if path.suffix == ".parquet":
        return f"row {number} of {path}"
    return f"line {number + (path.suffix == '.csv')} of {path}"


def _text(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file with their numbers."""
    with path.open("rb") as file:
        for number in itertools.count(1):
            line = file.readline(_LONGEST + 1)
            if not line:
                return
            where = f"line {number} of {path}"
            checks.need(
                len(line) <= _LONGEST, f"{where} is longer than {_LONGEST:,} bytes", ClientError
            )
            try:
                yield number, line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                raise ClientError(f"{where} is no text in UTF-8: {error}") from None


def _lines(path: Path) -> Iterator[Any]:
    yield None
    for number, line in _text(path):
        try:
            yield parsed(line)
        except ValueError as error:
            what = "is empty" if not line.strip() else f"is no JSON ({error}): {line[:60]!r}"
            cut = "" if line.endswith("\n") else "; was the file cut off?"
            raise ClientError(f"line {number} of {path} {what}{cut}") from None


def _table(path: Path) -> Iterator[Any]:
    header: list[str] | None = None
    for number, line in _text(path):
        where = f"line {number} of {path}"
        try:  # each line alone: an open quote would take the rows after it
            row = next(csv.reader([line], strict=True))
        except csv.Error as error:
            raise ClientError(f"{where} is no row of CSV on one line: {error}") from None
        if header is None:
            header = _differing(row, where)
            yield _several(header)
            continue
        wanted = f"must have {len(header)} entries, got {len(row)}"
        checks.need(len(row) == len(header), f"{where} {wanted}", ClientError)
        try:
            yield _row(header, [_entry(text) for text in row])
        except ValueError as error:
            raise ClientError(f"{where} cannot be read: {error}") from None
    if header is None:
        yield None


def _parquet(path: Path) -> Iterator[Any]:
    try:
        from pyarrow import ArrowException, parquet
    except ModuleNotFoundError as error:
        raise digests.missing(error) from None
    number = 0
    try:
        with parquet.ParquetFile(path) as file:
            header = _differing(file.schema_arrow.names, str(path))
            yield _several(header)
            for batch in file.iter_batches(_at_once(file.metadata, path)):
                for row in batch.to_pylist():
                    number += 1
                    yield _row(header, [*row.values()])
    except ClientError:
        raise
    except (OSError, ValueError, ArrowException) as error:
        where = f" from row {number + 1} on" if number else ""
        raise ClientError(f"{path} is no Parquet file{where}: {error}") from None


def _at_once(metadata: Any, path: Path) -> int:
    """How many rows of a Parquet file are read at once, so that they take little memory.

    A few bytes of it may stand for any number of equal values, or repeat one long text.
    """
    most = _BATCH
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        row = 0
        for i in range(group.num_columns):
            column, size = group.column(i), _EACH
            if column.physical_type == "BYTE_ARRAY":  # none is longer than all of them
                size += column.total_uncompressed_size
            if metadata.schema.column(i).max_repetition_level:  # a row may hold all of them
                size *= max(1, column.num_values)
            row += size
        checks.need(
            row <= _HELD,
            f"{path} may hold rows of {row:,} bytes, and at most {_HELD:,} are read at once: write"
            " it with smaller row groups",
            ClientError,
        )
        most = min(most, max(1, _HELD // max(row, 1)))
    return most


def _differing(header: list[str], where: str) -> list[str]:
    """Names of columns; of two with one name the first would be lost."""
    twice = repeated(header)
    checks.need(twice is None, f"{where} names column {twice!r} twice", ClientError)
    return header


def _several(header: list[str]) -> list[str]:
    """Names that are part of a report: that of a single column is none."""
    return header if len(header) > 1 else []


def _row(header: list[str], entries: list[Any]) -> Any:
    return entries[0] if len(header) == 1 else dict(zip(header, entries))


def _entry(text: str) -> Any:
    try:
        return parsed(text)
    except json.JSONDecodeError:
        return text


READERS = {".jsonl": _lines, ".json": _lines, ".csv": _table, ".parquet": _parquet}
"""How recordings are read, by the end of their name: names of columns (``None`` where there are
none), then the reports."""
