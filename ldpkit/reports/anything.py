"""Reports of any form: whatever JSON can write, and what stands for it in Python."""

import itertools
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..types import Array
from .base import ReportType

__all__ = ["Anything", "parsed", "plain", "repeated", "rows"]

_DEEPEST, _MUST = 64, "report must be "


def plain(report: Any, where: str = "", depth: int = 0) -> Any:
    """Return a report as text, numbers, booleans, ``None``, lists, and dictionaries of those, in
    the order in which it was sent.

    Arrays, tuples and bytes become lists, sets (which have no order) lists in ascending order, and
    numbers of NumPy those of Python. NaN and the infinities stay what they are: reports of their
    own, although JSON has no word for them.

    Raises
    ------
    ValueError
        Saying what JSON cannot write, and where in the report it stands.
    """
    kind = type(report)
    if kind in (int, float, str, bool) or report is None:
        return report
    if depth == _DEEPEST:
        raise ValueError(f"{_MUST}no more than {_DEEPEST} levels, or what contains itself")
    if isinstance(report, dict):
        names = [key if isinstance(key, str) else str(plain(key, where)) for key in report]
        if len(set(names)) < len(names):
            raise ValueError(f"{_MUST}keys that differ as text{_at(where)}, got {list(report)!r}")
        return {
            name: plain(value, f"{where}.{name}", depth + 1)
            for name, value in zip(names, report.values())
        }
    if isinstance(report, np.ma.MaskedArray):
        raise ValueError(f"{_MUST}a report without a mask{_at(where)}, got {report!r}")
    if isinstance(report, (np.ndarray, np.generic)) and report.dtype.kind in "biufU":
        return report.tolist() if kind is not np.longdouble else float(report)
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
    raise ValueError(f"{_MUST}what JSON can write{_at(where)}, got {kind.__name__} {report!r:.80}")


def rows(reports: Iterable[Any]) -> list[Any]:
    """Reports of any kind as numbers, texts, lists and dictionaries, one a user: the same however
    many there are, and in whatever array they come."""
    if isinstance(reports, np.ndarray) and reports.dtype.names:
        names = reports.dtype.names
        return [dict(zip(names, one)) for one in zip(*(rows(reports[name]) for name in names))]
    if isinstance(reports, np.ndarray):
        return reports.tolist()
    given = list(reports)
    if given and all(isinstance(part, np.ndarray) for part in given):  # of several collections
        return [list(one) for one in zip(*map(rows, given))]
    return given


def parsed(text: str) -> Any:
    """Return what one JSON text holds; nothing of the text is dropped.

    Raises
    ------
    ValueError
        If the text is no JSON, names a key of an object twice, or has too many levels.
    """
    if text.count("[") + text.count("{") > _DEEPEST:  # how deep json can go differs among Pythons
        brackets = re.sub(r'"(?:[^"\\]|\\.)*"|[^][{}"]', "", text)
        levels = itertools.accumulate(1 if each in "[{" else -1 for each in brackets)
        if max(levels, default=0) > _DEEPEST:
            raise ValueError(f"more than {_DEEPEST} levels")
    return json.loads(text, object_pairs_hook=_pairs)


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    twice = repeated(name for name, _ in pairs)
    if twice is not None:
        raise ValueError(f"key {twice!r} is given twice")
    return dict(pairs)


def repeated(names: Iterable[str]) -> str | None:
    """Return the first name that comes a second time."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def _at(where: str) -> str:
    return f" at {where.lstrip('.')}" if where else ""


@dataclass(frozen=True)
class Anything(ReportType):
    """An object that JSON can write, one for each user: object array (n,), see `plain`.

    Nothing is known about what a report means; the ``learned`` attack finds out.
    """

    k: int
    name = "any"

    @property
    def width(self) -> int:
        return 64  # a guess: it only says how many reports are made at once

    def read(self, reports: Any, sender: str) -> Array:
        got = len(reports) if hasattr(reports, "__len__") else -1
        if got < 1 or isinstance(reports, (str, bytes, dict)):
            raise ValueError(f"{sender} must return a list of reports, got {reports!r:.80}")
        out = np.empty(got, object)
        for i, report in enumerate(reports):
            try:
                out[i] = plain(report)
            except ValueError as error:
                raise ValueError(f"{sender} must return {str(error).removeprefix(_MUST)}") from None
        return out
