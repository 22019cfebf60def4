"""Files of recorded reports: JSON lines, CSV and Parquet, each read without loss or refused."""

import csv
import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ... import checks, digests
from ...mechanisms.base import ClientError
from .anything import parsed

__all__ = ["READERS", "rows_of", "suffix"]

_LONGEST = 2**20  # largest number of bytes of a line
_BATCH = 2**12  # rows of a Parquet file that are read at once,
_BATCH_BYTES = 2**26  # and bytes that they may take
_NUMBER_BYTES = 32  # bytes of a number in Python, with its place in a row


def suffix(path: Path) -> str:
    """Return the suffix of a file's name, without that of its compression."""
    return path.suffixes[-2] if path.suffix == ".gz" and len(path.suffixes) > 1 else path.suffix


def rows_of(path: Path) -> Iterator[Any]:
    """Yield the names of a file's columns, and then each report with its place in words."""
    return READERS[suffix(path)](path)


def _text(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the lines of a file, each with its place in words."""
    opened: Any = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rb") as file:
            lines = iter(lambda: file.readline(_LONGEST + 1), b"")
            for number, line in enumerate(lines, 1):
                where = f"line {number} of {path}"
                short = len(line) <= _LONGEST
                checks.need(short, f"{where} is longer than {_LONGEST:,} bytes", ClientError)
                yield where, line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        raise ClientError(f"{where} is not text in UTF-8: {error}") from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ClientError(f"{path} cannot be unpacked: {error}") from None


def _lines(path: Path) -> Iterator[Any]:
    yield None
    for where, line in _text(path):
        try:
            yield where, parsed(line)
        except ValueError as error:
            problem = f"is not JSON ({error}): {line[:60]!r}" if line.strip() else "is empty"
            cut = "" if line.endswith("\n") else "; was the file cut off?"
            raise ClientError(f"{where} {problem}{cut}") from None


def _table(path: Path) -> Iterator[Any]:
    header: list[str] | None = None
    for where, line in _text(path):
        try:  # a reader for each line, because an open quote would swallow the following rows
            row = next(csv.reader([line], strict=True))
        except csv.Error as error:
            raise ClientError(f"{where} is not a row of CSV on one line: {error}") from None
        if header is None:
            header = row
            yield _columns(header, where)
            continue
        checks.need(
            len(row) == len(header),
            f"{where} must have {len(header)} entries, got {len(row)}",
            ClientError,
        )
        try:
            yield where, _row(header, [_entry(text) for text in row])
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
            header = file.schema_arrow.names
            yield _columns(header, str(path))
            for batch in file.iter_batches(_at_once(file.metadata, path)):
                for row in batch.to_pylist():
                    number += 1
                    yield f"row {number} of {path}", _row(header, [*row.values()])
    except ClientError:
        raise
    except (OSError, ValueError, ArrowException) as error:
        where = f" from row {number + 1} on" if number else ""
        raise ClientError(f"{path} is not a Parquet file{where}: {error}") from None


def _at_once(metadata: Any, path: Path) -> int:
    """Return how many rows of a Parquet file may be read at once within `_BATCH_BYTES`.

    This is necessary because a few bytes of such a file can represent any number of equal values,
    or repeat one long text.
    """
    groups = map(metadata.row_group, range(metadata.num_row_groups))
    rows = [
        sum(_bytes(group.column(i), metadata.schema.column(i)) for i in range(group.num_columns))
        for group in groups
    ]
    largest = max(rows, default=0)
    checks.need(
        largest <= _BATCH_BYTES,
        f"{path} may hold rows of {largest:,} bytes, and at most {_BATCH_BYTES:,} are read at once:"
        " write it with smaller row groups",
        ClientError,
    )
    return max(1, min(_BATCH, _BATCH_BYTES // max(largest, 1)))


def _bytes(column: Any, form: Any) -> int:
    """Return how many bytes of a row a column of a Parquet file may take."""
    text = column.physical_type == "BYTE_ARRAY"  # one text may take all bytes of the column
    several = form.max_repetition_level  # one row may hold all values
    size: int = _NUMBER_BYTES + (column.total_uncompressed_size if text else 0)
    return size * max(1, column.num_values) if several else size


def _columns(header: list[str], where: str) -> list[str]:
    """Return the names of columns that become part of a report, that is, of several columns.

    The names differ, because a report would lose one of two columns with the same name.
    """
    twice = checks.repeated(header)
    checks.need(twice is None, f"{where} names column {twice!r} twice", ClientError)
    return header if len(header) > 1 else []


def _row(header: list[str], entries: list[Any]) -> Any:
    return entries[0] if len(header) == 1 else dict(zip(header, entries))


def _entry(text: str) -> Any:
    try:
        return parsed(text)
    except json.JSONDecodeError:
        return text


READERS = {".jsonl": _lines, ".json": _lines, ".csv": _table, ".parquet": _parquet}
"""Readers of recordings by the suffix of the file's name; a reader yields the names of the columns
(``None`` if there are none), and then each report with its place in words."""
