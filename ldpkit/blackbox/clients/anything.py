"""Reports of any form that JSON can write, and their form in Python."""

import itertools
import json
import re
from collections.abc import Iterable, Sized
from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import checks
from ...reports.base import ReportType
from ...types import Array

__all__ = ["Anything", "parsed", "plain", "rows"]

_DEEPEST, _MUST = 64, "report must be "


@dataclass(frozen=True)
class Line:
    """A line that a program wrote, and the value that it stands for."""

    text: str
    value: Any


_SIMPLE = {int, float, str, bool, Line, type(None)}


def plain(report: Any, where: str = "", depth: int = 0) -> Any:
    """Return a report as text, numbers, booleans, ``None``, lists, and dictionaries of those, in
    the order in which it was sent.

    Arrays, tuples and bytes become lists. Sets have no order, so they become lists in ascending
    order. NumPy's numbers become Python's numbers. NaN and the infinities are kept, although JSON
    has no notation for them.

    Raises
    ------
    ValueError
        If a part of the report cannot be written as JSON; the message names the part and its place
        in the report.
    """
    cls = type(report)
    if cls in _SIMPLE:
        return report
    if depth == _DEEPEST:
        raise ValueError(f"{_MUST}no more than {_DEEPEST} levels, or what contains itself")
    if isinstance(report, dict):
        names = [key if isinstance(key, str) else str(plain(key, where)) for key in report]
        if len(set(names)) < len(names):
            raise ValueError(f"{_MUST}keys that differ as text{_at(where)}, got {list(report)!r}")
        return {
            name: value if type(value) in _SIMPLE else plain(value, f"{where}.{name}", depth + 1)
            for name, value in zip(names, report.values())
        }
    if isinstance(report, np.ma.MaskedArray):
        raise ValueError(f"{_MUST}a report without a mask{_at(where)}, got {report!r}")
    if isinstance(report, (np.ndarray, np.generic)) and report.dtype.kind in "biufU":
        return report.tolist() if cls is not np.longdouble else float(report)
    if isinstance(report, (bytes, bytearray)):
        return list(report)
    if isinstance(report, (set, frozenset)):
        try:
            report = sorted(report)
        except TypeError:
            report = sorted(report, key=repr)
    if isinstance(report, (list, tuple, np.ndarray)):
        simple = {float, int, bool, str}.issuperset(map(type, report))
        return (
            list(report)
            if simple
            else [plain(entry, f"{where}[{i}]", depth + 1) for i, entry in enumerate(report)]
        )
    for base in (bool, int, float, str):  # an enumeration, or a subclass
        if isinstance(report, base):
            return base(report)
    raise ValueError(f"{_MUST}what JSON can write{_at(where)}, got {cls.__name__} {report!r:.80}")


def rows(reports: Iterable[Any]) -> list[Any]:
    """Return one object per user, made of numbers, texts, lists and dictionaries, from reports of
    any type; the object depends neither on the number of reports nor on the form of the array."""
    if isinstance(reports, np.ndarray) and reports.dtype.names:
        names = reports.dtype.names
        return [dict(zip(names, row)) for row in zip(*(rows(reports[name]) for name in names))]
    if isinstance(reports, np.ndarray):
        return reports.tolist()
    parts = list(reports)
    several = parts and all(isinstance(part, np.ndarray) for part in parts)  # one per collection
    return [list(row) for row in zip(*map(rows, parts))] if several else parts


def parsed(text: str, twice: bool = False) -> Any:
    """Return the value of one JSON text without any loss.

    Parameters
    ----------
    text : str
    twice : bool
        Whether an object may have a key several times. Later ones then get a longer name.

    Raises
    ------
    ValueError
        If the text is not JSON, if an object has a key twice and may not, or if the text has more
        than 64 levels.
    """
    if text.count("[") + text.count("{") > _DEEPEST:  # json's own limit depends on Python's version
        brackets = re.sub(r'"(?:[^"\\]|\\.)*"|[^][{}"]', "", text)
        levels = itertools.accumulate(1 if bracket in "[{" else -1 for bracket in brackets)
        if max(levels, default=0) > _DEEPEST:
            raise ValueError(f"more than {_DEEPEST} levels")
    return json.loads(text, object_pairs_hook=_longer if twice else _pairs)


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    twice = checks.repeated(name for name, _ in pairs)
    if twice is not None:
        raise ValueError(f"key {twice!r} is given twice")
    return dict(pairs)


def _longer(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        while name in found:
            name += " again"
        found[name] = value
    return found


def _at(where: str) -> str:
    return f" at {where.lstrip('.')}" if where else ""


@dataclass(frozen=True)
class Anything(ReportType):
    """An object that JSON can write, one for each user: object array (n,), see `plain`.

    The meaning of such a report is unknown, therefore only the ``learned`` attack applies to it.
    """

    k: int
    name, width = "any", 64  # a guess of the width, which only decides how many are held in memory

    def read(self, reports: Any, sender: str) -> Array:
        sized = isinstance(reports, Sized) and not isinstance(reports, (str, bytes, dict))
        if not sized or not len(reports):
            raise ValueError(f"{sender} must return a list of reports, got {reports!r:.80}")
        out = np.empty(len(reports), object)
        for i, report in enumerate(reports):
            try:
                out[i] = plain(report)
            except ValueError as error:
                raise ValueError(f"{sender} must return {str(error).removeprefix(_MUST)}") from None
        return out
