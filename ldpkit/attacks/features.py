"""What can be seen in reports of any form: columns of numbers and of texts, one entry a report.

A column has a name that says where in the report it comes from and what of it: ``[3]`` is the
fourth entry of a list, ``.x`` the field x, ``.x#len`` its length, ``whole`` the text of it all.

An entry of a column depends on its own report alone, whatever the reports around it are: bets would
not be valid otherwise. The reports around it decide only which columns are worth having, and that
only where no names are asked for.
"""

import hashlib
import json
import math
import re
from collections.abc import Collection, Iterable
from typing import Any

import numpy as np

from ..kinds.anything import rows
from ..types import Array

__all__ = ["columns", "called", "TEXTS"]

TEXTS = ("whole", "#type", "#text", "#keys", "#first")
"""How the names of columns of texts end."""

_WIDEST, _LONGEST, _DEEPEST, _TEXT = 64, 4096, 4, 64
_ABSENT = object()
_NUMBERS = {int, float, bool}
_HUGE = 2**1000
_MARKS = re.compile(r"""[].#["]|^$""")  # what has a meaning in the name of a column


def columns(reports: Iterable[Any], only: Collection[str] | None = None) -> dict[str, Array]:
    """Take reports apart.

    Parameters
    ----------
    reports : sequence
        As `ldpkit.kinds.anything.plain` returns them, or in the form of any other kind.
    only : names, optional
        The columns that are wanted, by default all that vary in form.

    Returns
    -------
    dict of arrays (n,)
        Floats, of which NaN is missing, or texts (objects), of which the empty one is. A column
        that is missing everywhere may be left out.
    """
    look = _Look(only)
    given = rows(reports)
    if look.wants("whole"):
        look.found["whole"] = _texts(map(_whole, given))
    if only is None or set(only) - {"whole"}:
        look.at([list(v) if type(v) is tuple else v for v in given], "", 0)
    return look.found


def _whole(report: Any) -> str:
    text = repr(report)
    if len(text) <= _TEXT:
        return text
    return hashlib.blake2b(text.encode("utf8", "surrogatepass"), digest_size=8).hexdigest()


def _texts(entries: Iterable[Any]) -> Array:
    return np.array([*entries, None], object)[:-1]  # never an array of more dimensions


def _type(value: Any) -> str:
    if type(value) is float and value - value != 0:
        return str(value)
    return "" if value is _ABSENT else type(value).__name__


def _float(value: Any) -> float:
    if type(value) is int:
        value = min(max(value, -_HUGE), _HUGE)
    return float(value) if type(value) in _NUMBERS else np.nan


def _floats(rows: list[Any]) -> Array:
    """Numbers, or rows of them of one length, as floats, however large they are."""
    try:
        found = np.array(rows, float)
    except OverflowError:
        found = np.array(math.inf)
    if not (np.abs(found) < _HUGE).all():  # whole numbers end there, in any company
        found = np.array([[*map(_float, v)] if type(v) is list else _float(v) for v in rows])
    return found


def _key(name: str) -> str:
    """A key as a step of a path, which no other path can be taken for."""
    return f".{json.dumps(name)}" if _MARKS.search(name) else f".{name}"


class _Look:
    """The columns found, and which are wanted."""

    def __init__(self, only: Collection[str] | None) -> None:
        self.only, self.found = only, dict[str, Array]()

    def wants(self, name: str, else_if: bool = True) -> bool:
        return else_if if self.only is None else name in self.only

    def inside(self, path: str) -> bool:
        return self.only is None or any(name.startswith(path) for name in self.only)

    def keep(self, name: str, column: Any, where: Any = True, else_if: bool = True) -> None:
        if self.wants(name, else_if):
            self.found[name] = np.where(where, column, np.nan)

    def at(self, values: list[Any], path: str, depth: int) -> None:
        """Add the columns of what stands at one place of every report."""
        kinds = set(map(type, values))
        mixed = len(kinds) > 1 or (float in kinds and not np.isfinite(values).all())
        if self.wants(path + "#type", mixed):
            self.found[path + "#type"] = _texts(map(_type, values))
        if kinds & _NUMBERS:
            numbers = values if kinds <= _NUMBERS else [*map(_float, values)]
            low = [v & 15 if type(v) is int else np.nan for v in values] if int in kinds else None
            self.number(_floats(numbers), path, low, float in kinds)
        if str in kinds:
            text = _texts(v if type(v) is str else "" for v in values)
            if self.wants(path + "#text"):
                self.found[path + "#text"] = text
            is_text = np.array([type(v) is str for v in values])
            self.keep(path + "#chars", [len(v) for v in text], is_text)
            self.keep(path + "#blank", [len(v) - len(v.strip()) for v in text], is_text)
        if depth < _DEEPEST and dict in kinds:
            rows = [v if type(v) is dict else {} for v in values]
            for what, texts in (("keys", map(",".join, rows)),
                                ("first", (next(iter(row), "") for row in rows))):  # fmt: skip
                if self.wants(f"{path}#{what}"):
                    self.found[f"{path}#{what}"] = _texts(texts)
            names = dict.fromkeys(name for row in rows for name in row)
            for name in [*names][: _WIDEST if self.only is None else None]:
                if self.inside(path + _key(name)):
                    entries = [row.get(name, _ABSENT) for row in rows]
                    self.at(entries, path + _key(name), depth + 1)
        if depth < _DEEPEST and list in kinds:
            self.lists(values, path, depth)

    def number(self, x: Array, path: str, low: Any, real: bool) -> None:
        """Add a number, its magnitude and its low-order bits."""
        name, there = path or ".", np.isfinite(x)
        self.keep(name, x, there)
        if low is not None:
            large = bool((there & (x != 0) & (x != 1)).any())
            for bit in range(4):
                self.keep(f"{path}#bit{bit}", np.floor(np.array(low, float) / 2**bit) % 2,
                          else_if=large)  # fmt: skip
        parts = [f"{path}#{what}" for what in ("mag", "low", "single", "decimals")]
        if not any(self.wants(part, real) for part in parts):
            return
        fine = np.where(there, x, 0)
        mantissa, exponent = np.frexp(fine)
        digits = (mantissa * 2.0**53).astype(np.int64)
        lowest = np.frexp((digits & -digits).astype(float))[1] - 1
        with np.errstate(over="ignore"):
            exact = np.array([np.round(fine, places) == fine for places in range(8)])
            single = fine.astype(np.float32).astype(float) == fine
        decimals = np.where(exact.any(axis=0), exact.argmax(axis=0), 8)
        ends = [np.where(digits == 0, -2000, e) for e in (exponent, exponent - 53 + lowest)]
        for part, column in zip(parts, (*ends, single, decimals)):
            self.keep(part, column, there, real)

    def lists(self, values: list[Any], path: str, depth: int) -> None:
        """Add what is known of lists: entries, lengths, sums, places and order."""
        rows = [v if type(v) is list else [] for v in values]
        sizes = np.array([len(v) for v in rows])
        self.keep(path + "#len", sizes, [type(v) is list for v in values])
        longest = min(int(sizes.max(initial=0)), _LONGEST)
        numeric = np.array([bool(v) and _NUMBERS.issuperset(map(type, v)) for v in rows])
        if not numeric.any():
            self.entries(rows, longest, path, depth)
            return
        if numeric.all() and (sizes == longest).all():
            table = _floats(rows)
        else:
            table = np.full((len(rows), longest), np.nan)
            for row, v, good in zip(table, rows, numeric):
                if good:
                    row[: len(v)] = _floats(v[:longest])
        real = any(type(entry) is float for v in rows[:_WIDEST] for entry in v)
        fine = np.where(np.isfinite(table), table, 0)
        bits = bool(((fine == 0) | (fine == 1)).all())
        if self.only is None and numeric.all() and (bits or real):  # the same, but sooner
            for i in range(min(longest, _WIDEST)):
                self.number(table[:, i], f"{path}[{i}]", None, real and not bits)
        else:
            self.entries(rows, longest, path, depth)
        places = np.arange(1, longest + 1)
        self.keep(path + "#pad", sizes - np.where(fine != 0, places, 0).max(axis=1), numeric)
        with np.errstate(over="ignore"):  # one after the other: the same in any company
            total = np.cumsum(fine, axis=1)[:, -1]
        self.number(np.where(numeric, total, np.nan), path + "#sum", None, real and not bits)
        with np.errstate(invalid="ignore"):
            self.keep(path + "#parity", total % 2, numeric, not real)
        if longest:
            own = np.where(np.arange(longest) < sizes[:, None], fine, -math.inf)
            self.keep(path + "#max", own.max(axis=1), numeric, not bits)
            self.keep(path + "#arg", own.argmax(axis=1), numeric, not bits)
        rising = ~(table[:, :-1] > table[:, 1:]).any(axis=1)
        self.keep(path + "#sorted", rising, numeric, not bits)
        start = f"{path}#has "
        if self.only is not None:
            members = [float(name[len(start) :]) for name in self.only if name.startswith(start)]
        else:
            members = np.unique(fine[:_WIDEST]).tolist()
            if bits or len(members) > _WIDEST or not all(v == int(v) for v in members):
                members = []
        for value in members:
            self.keep(f"{start}{value:.17g}", (table == value).any(axis=1), numeric)

    def entries(self, rows: list[Any], longest: int, path: str, depth: int) -> None:
        """Add the columns of every entry of lists."""
        for i in range(min(longest, _WIDEST)):
            if self.inside(f"{path}[{i}]"):
                entries = [v[i] if i < len(v) else _ABSENT for v in rows]
                self.at(entries, f"{path}[{i}]", depth + 1)


_ORDER = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth"]
_PARTS = {
    "text": "{}", "len": "the length of {}", "pad": "the zeros at the end of {}",
    "chars": "the length of {}", "blank": "the blanks around {}", "type": "the type of {}",
    "keys": "the order of the keys of {}", "first": "the first key of {}",
    "mag": "the binary magnitude of {}", "low": "the exponent of the lowest bit of {}",
    "single": "{} in single precision", "decimals": "the number of decimals of {}",
    "sum": "the sum of {}", "parity": "the parity of the sum of {}", "max": "the maximum of {}",
    "arg": "the place of the maximum of {}", "sorted": "the ascending order of {}",
    **{f"bit{i}": f"binary digit {i} of {{}}" for i in range(4)},
}  # fmt: skip


def called(name: str) -> str:
    """What a column shows, in words."""
    if name == "whole":
        return "the whole report"
    path, mark, last = name.rpartition("#")
    if mark and last.startswith("has "):
        return f"the membership of {last[4:]} in {called(path)}"
    if mark and last in _PARTS:
        return _PARTS[last].format(called(path))
    if name.endswith("]"):
        path, _, index = name[:-1].rpartition("[")
        place = int(index)
        ordinal = f"the {_ORDER[place]} entry" if place < len(_ORDER) else f"entry {place + 1}"
        return ordinal + (f" of {called(path)}" if path else "")
    return "the report" if name in ("", ".") else name.lstrip(".")
