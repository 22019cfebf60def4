"""Reports that were recorded: two files, one report after the other."""

import csv
import itertools
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, NoReturn

import numpy as np

from .. import checks, depends
from ..types import Array, Reports, Rng
from .client import Client, ClientError

__all__ = ["Recordings", "recorded"]

_BATCH = 2**12  # rows of a table in columns that are read at once


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
        return [self._read(mine[:both]) for mine in got]

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
        one of several columns lists (``bits``, ``subset``) or objects (``any``).
    report, epsilon, delta, k
        As in `Client`; with ``"any"`` reports, `k` is not needed. The first file is of input 0, the
        second of the last input.
    """
    paths = Path(first), Path(second)
    for path in paths:
        checks.one_of("kind of recording", path.suffix, READERS)
        checks.need(path.is_file(), f"recording must be a file, got {path}")
    given: dict[str, Any] = {"values": [str(first), str(second)]} if report == "any" else {"k": k}
    checks.need(paths[0] != paths[1], f"recordings must be two files, got {first} twice")
    made = Recordings(
        _none, report=report, epsilon=epsilon, delta=delta, name="recordings", **given
    )
    made.__dict__["paths"] = paths
    made.seek(0)
    return made


def _lines(path: Path) -> Iterator[Any]:
    with path.open(encoding="utf-8-sig") as file:
        for number, line in enumerate(_decoded(file, path), 1):
            try:
                yield json.loads(line)
            except ValueError as error:
                what = "is empty" if not line.strip() else f"is no JSON ({error}): {line[:60]!r}"
                cut = "" if line.endswith("\n") else "; was the file cut off?"
                raise ClientError(f"line {number} of {path} {what}{cut}") from None


def _decoded(file: IO[str], path: Path) -> Iterator[str]:
    try:
        yield from file
    except UnicodeDecodeError as error:
        raise ClientError(f"{path} is no text in UTF-8: {error}") from None


def _table(path: Path) -> Iterator[Any]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = csv.reader(_decoded(file, path))
        header = next(rows, [])
        for row in rows:
            if len(row) != len(header):
                wanted = f"must have {len(header)} entries, got {len(row)}"
                raise ClientError(f"line {rows.line_num} of {path} {wanted}")
            yield _row(header, [_entry(text) for text in row])


def _parquet(path: Path) -> Iterator[Any]:
    try:
        from pyarrow import parquet
    except ModuleNotFoundError as error:
        raise depends.missing(error) from None
    try:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(_BATCH):
                for row in batch.to_pylist():
                    yield _row([*row], [*row.values()])
    except (OSError, ValueError) as error:
        raise ClientError(f"{path} is no Parquet file: {error}") from None


def _row(header: list[str], entries: list[Any]) -> Any:
    return entries[0] if len(header) == 1 else dict(zip(header, entries))


def _entry(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


READERS = {".jsonl": _lines, ".json": _lines, ".csv": _table, ".parquet": _parquet}
"""How recordings are read, by the end of their name."""
