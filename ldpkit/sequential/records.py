"""Records of the numbers and categories in reports.

A *path* is a chain of 64-bit hashes from the root of one report to a place in it. The place is, for
example, entry 3 of field x, or the length of that entry. A number is recorded with its path, its
value and its binary digits. A *category* is a path together with one value at this place.

The entries of a list also form a multiset. They therefore share a *star path*, which names no
position. The star path 0 means that there is none.
"""

import functools
import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..jit import kernel
from ..types import Array

__all__ = [
    "INTEGER", "REAL", "TRUTH", "ODD", "NONE", "ROOT", "TYPES", "Records", "chained", "mix", "token"
]  # fmt: skip

U = np.uint64
INTEGER, REAL, TRUTH, ODD = range(4)
TYPES = ("an integer", "a real number", "true or false", "infinite or no number")
"""Types of numbers in words."""
ROOT, NONE = U(0x1234567), U(0)
"""Path of a whole report, and no path."""

_GOLD, _ODD1, _ODD2 = U(0x9E3779B97F4A7C15), U(0xBF58476D1CE4E5B9), U(0x94D049BB133111EB)
_S27, _S30, _S31, _S48, _S52 = U(27), U(30), U(31), U(48), U(52)
_ONE, _TOP = U(1), U(2047)
_FEW, _TURN = 64, 16  # of reports with more numbers, last digits are read every 16th round
_TENS = 10.0 ** np.arange(9)
_FLAT = {"rows": ("paths", "types", "values", "words"), "category_rows": ("keys",)}
_FINE = (
    "the binary exponent", "the exponent of the last bit", "the zeros at the end of the mantissa",
    "the number of decimals", "the leading 16 bits",
)  # fmt: skip


# --- hashes ---------------------------------------------------------------------------------------
@kernel
def mix(state: Any, token: Any) -> Any:
    """Return the next hash of a chain, by the last step of splitmix64."""
    z = (state ^ (token * _GOLD)) + _GOLD
    z = (z ^ (z >> _S30)) * _ODD1
    z = (z ^ (z >> _S27)) * _ODD2
    return z ^ (z >> _S31)


@kernel
def _mix_all(states: Array, tokens: Array) -> Array:
    out = np.empty(states.size, np.uint64)
    for i in range(out.size):
        out[i] = mix(states[i], tokens[i])
    return out


@kernel
def chained(values: Array, ends: Array) -> Array:
    """Return the hash of each of several sequences, which are concatenated and end at `ends`."""
    out, start = np.empty(ends.size, np.uint64), 0
    for i in range(ends.size):
        state = np.uint64(ends[i] - start)
        for j in range(start, ends[i]):
            state = mix(state, values[j])
        out[i], start = state, ends[i]
    return out


@functools.lru_cache(1 << 15)
def token(text: str) -> int:
    """Return the hash of a short text, which is the same in every process."""
    small = hashlib.blake2b(text.encode("utf8", "surrogatepass"), digest_size=8)
    return int.from_bytes(small.digest(), "little")


def _filled(values: Any, size: int, kind: type) -> Array:
    """Return an array of this type; a single value is repeated."""
    return values.astype(kind, copy=False) if np.ndim(values) else np.full(size, values, kind)


# --- records --------------------------------------------------------------------------------------
class Records:
    """Records of several reports.

    Attributes
    ----------
    rows, paths, types, values, words : arrays (m,)
        Report, path, type, value and 64 binary digits of each number. The digits are the two's
        complement of an integer or the IEEE pattern of a real number.
    category_rows, keys : arrays (c,)
        Report of each category, and the hash of its path and value.
    whole : uint64 array (reports,)
        Hashes of whole reports.
    names, events : dict or None
        Words for paths and for categories, if they are kept.
    """

    def __init__(self, reports: int, name: str | None = None) -> None:
        self.reports = reports
        self._numbers: list[tuple[Array, ...]] = []
        self._categories: list[tuple[Array, Array]] = []
        self.names = None if name is None else {int(ROOT): name, 0: "nothing"}
        self.events: dict[int, str] = {}

    def step(self, paths: Array, tokens: Any, what: Callable[[int], str]) -> Array:
        """Return paths that are longer by one token each; `what` names the part."""
        longer: Array = _mix_all(paths, _filled(tokens, paths.size, U))
        if self.names is not None:
            for i, (old, new) in enumerate(zip(paths.tolist(), longer.tolist())):
                whole = self.names[old]
                top = old == int(ROOT) and what(i).startswith(("entry ", "field "))
                self.names[new] = what(i) if top else f"{what(i)} of {whole}"
        return longer

    def part(self, paths: Array, what: str) -> Array:
        """Return paths that are longer by the name of a part."""
        return self.step(paths, token("\0" + what), lambda i: what)

    def category(
        self, rows: Array, paths: Array, values: Array, shown: Callable[[int], str]
    ) -> None:
        """Record categories; `shown` returns a value in words."""
        keys = _mix_all(paths, values)
        self._categories.append((rows, keys))
        if self.names is not None:
            for i, (path, key) in enumerate(zip(paths.tolist(), keys.tolist())):
                self.events[key] = f"{self.names[path]} is {shown(i)}"

    def number(
        self, rows: Array, paths: Array, stars: Any, types: Any, values: Array, words: Array
    ) -> None:
        """Record numbers."""
        stars, types = _filled(stars, rows.size, U), _filled(types, rows.size, np.int64)
        self._numbers.append((rows, paths, stars, types, values, words))

    def integer(self, rows: Array, paths: Array, values: Array) -> None:
        """Record integers below 2^63 that are not entries of a list."""
        whole = values.astype(np.int64)
        self.number(rows, paths, NONE, INTEGER, whole.astype(float), whole.view(U))

    def real(self, rows: Array, paths: Array, values: Array) -> None:
        """Record computed floating-point numbers, as integers if they are whole."""
        whole = (values == np.floor(values)) & (abs(values) < 2**62)
        types = np.where(whole, INTEGER, np.where(np.isfinite(values), REAL, ODD))
        words = np.where(whole, np.where(whole, values, 0).astype(np.int64).view(U), values.view(U))
        self.number(rows, paths, NONE, types, values, words)

    def finished(self) -> "Records":
        """Return these records without any content, but finished."""
        self.finish(0, 1)
        return self

    def sound(self) -> bool:
        """Return whether all arrays fit together, because those of a file may not."""
        for of, names in _FLAT.items():
            rows = getattr(self, of)
            fits = all(getattr(self, name).size == rows.size for name in names)
            if not (fits and ((rows >= 0) & (rows < self.reports)).all()):
                return False
        return self.whole.size == self.reports

    def between(self, first: int, last: int) -> "Records":
        """Return the records of the reports `first` to `last`, without words."""
        if first == 0 and last >= self.reports:
            return self
        out = Records(last - first)
        for of, names in _FLAT.items():
            rows = getattr(self, of)
            at = np.flatnonzero((rows >= first) & (rows < last))
            setattr(out, of, rows[at] - first)
            for name in names:
                setattr(out, name, getattr(self, name)[at])
        out.whole = self.whole[first:last]
        return out

    @classmethod
    def joined(cls, parts: Sequence["Records"]) -> "Records":
        """Return the records of all reports of several parts."""
        sizes = [part.reports for part in parts]
        out, before = cls(sum(sizes)), np.cumsum([0, *sizes[:-1]])
        for of, names in _FLAT.items():
            rows = [getattr(part, of) + at for part, at in zip(parts, before)]
            setattr(out, of, np.concatenate(rows))
            for name in names:
                setattr(out, name, np.concatenate([getattr(part, name) for part in parts]))
        out.whole = np.concatenate([part.whole for part in parts])
        return out

    def finish(self, first: int, size: int) -> None:
        """Add records that are derived from the numbers, and join all records."""
        every, root = np.arange(self.reports), np.full(self.reports, ROOT)
        rows, paths, _, types, values, words = self._joined()
        few = np.bincount(rows, minlength=self.reports) <= _FEW
        few |= (first + every) // size % _TURN == 0  # the same for all inputs of a round
        reals = np.flatnonzero((types == REAL) & (values != 0))
        at, marks, fine, short = _fine(reals, values, words, few[rows])
        tokens = np.array([token("\0" + what) for what in _FINE], U)
        longer = self.step(paths[at], tokens[marks], lambda i: _FINE[marks[i]])
        ends = (marks < 2) & few[rows[at]]
        self.integer(rows[at[ends]], longer[ends], fine[ends])
        of = np.flatnonzero(~ends)
        self.category(rows[at[of]], longer[of], fine[of].view(U), lambda i: str(fine[of[i]]))
        self.rows, self.paths, stars, self.types, self.values, self.words = self._joined()
        exact = _mix_all(self.words, self.types.astype(U))
        self.category(self.rows, self.paths, exact, self._text)
        of = np.flatnonzero(stars[: short.size] * short != 0)
        self.category(rows[of], stars[of], exact[of], lambda i: self._text(of[i]))
        self.whole = whole = np.zeros(self.reports, U)
        for some in self._categories:  # a sum, because it does not depend on their order
            _add(*some, whole)
        self.category(every, self.part(root, "the whole"), whole, lambda i: "this very report")
        self.category_rows, self.keys = (np.concatenate(part) for part in zip(*self._categories))

    def _joined(self) -> list[Array]:
        empty = [np.empty(0, kind) for kind in (int, U, U, int, float, U)]
        return [np.concatenate(part) for part in zip(empty, *self._numbers)]

    def _text(self, i: int) -> str:
        word, path = self.words[i], int(self.paths[i])
        if self.types[i] in (REAL, ODD):
            return repr(float(self.values[i]))
        if self.names and self.names[path].startswith("character "):
            return repr(chr(int(word)))
        return str(bool(word) if self.types[i] == TRUTH else int(word.view(np.int64)))


@kernel
def _add(rows: Array, keys: Array, whole: Array) -> None:
    for i in range(rows.size):
        whole[rows[i]] += keys[i]


@kernel
def _fine(reals: Array, values: Array, words: Array, few: Array) -> tuple[Array, ...]:
    """Return magnitudes and last digits of real numbers, and which numbers are short.

    The first three arrays are the number, the index into `_FINE`, and the value. The last one has
    one truth for each number: whether it has so few digits that the same number may occur again.
    """
    at, marks = np.empty(5 * reals.size, np.int64), np.empty(5 * reals.size, np.int64)
    found, short, n = np.empty(5 * reals.size, np.int64), np.ones(values.size, np.bool_), 0
    for i in reals:
        exponent = np.int64((words[i] >> _S52) & _TOP) - 1023
        zeros, digits = 0, words[i] | (_ONE << _S52)
        while digits & _ONE == 0:
            digits, zeros = digits >> _ONE, zeros + 1
        decimals = 0
        while few[i] and decimals < 8:
            if np.rint(values[i] * _TENS[decimals]) / _TENS[decimals] == values[i]:
                break
            decimals += 1
        short[i] = zeros > 20 or (few[i] and decimals < 8)
        leading = np.int64(words[i] >> _S48)
        every = (exponent, exponent - 52 + zeros, zeros, decimals, leading)
        for mark in range(5 if few[i] else 2):
            at[n], marks[n], found[n], n = i, mark, every[mark], n + 1
    return at[:n], marks[:n], found[:n], short
