"""Records of the numbers and categories in reports.

A *path* is a chain of 64-bit hashes from the root of one report to a place in it. The place is, for
example, entry 3 of field x, or the length of that entry. A number is recorded with its path, its
value and its binary digits. A *category* is a path together with one value at this place.

The entries of a list also form a multiset. They therefore share a *star path*, which names no
position. The star path 0 means that there is none.
"""

import functools
import hashlib
from collections import namedtuple
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..jit import kernel
from ..types import Array

__all__ = [
    "INTEGER", "REAL", "TRUTH", "ODD", "NONE", "ROOT", "TYPES", "Places", "Records", "Writer",
    "alone", "chained", "mix", "token",
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


# --- records --------------------------------------------------------------------------------------
class Records(
    namedtuple(
        "Records",
        "rows paths types values words category_rows keys whole sides names events",
        defaults=({}, {}),
    )
):
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
    sides : int array (reports,)
        The input of each report, if it is known.
    names, events : dict
        Words for paths and for categories; empty if they are not kept.
    """

    @property
    def sound(self) -> bool:
        """Whether all arrays fit together, because those of a file may not."""
        rows = np.append(self.rows, self.category_rows)
        sizes = [{x.size for x in part} for part in (self[:5], self[5:7], self[7:9])]
        return max(map(len, sizes)) == 1 and bool(((rows >= 0) & (rows < self.whole.size)).all())

    def between(self, first: int, last: int) -> "Records":
        """Return the records of the reports `first` to `last`, without words."""
        if first == 0 and last >= self.whole.size:
            return self
        parts: list[Array] = []
        for rows, *others in (self[:5], self[5:7]):
            at = np.flatnonzero((rows >= first) & (rows < last))
            parts += [rows[at] - first, *(other[at] for other in others)]
        return Records(*parts, *(part[first:last] for part in self[7:9]))

    @classmethod
    def joined(cls, parts: Sequence["Records"]) -> "Records":
        """Return the records of all reports of several parts."""
        before = np.cumsum([0, *(part.whole.size for part in parts)])
        moved = [
            part._replace(rows=part.rows + at, category_rows=part.category_rows + at)[:9]
            for part, at in zip(parts, before.tolist())
        ]
        return cls(*map(np.concatenate, zip(*moved)))


class Places(namedtuple("Places", "of paths stars")):
    """Places in reports.

    Attributes
    ----------
    of, paths, stars : arrays (m,)
        Report, path and star path of each.
    """

    def at(self, some: Array) -> "Places":
        """Return some of the places."""
        return Places(*(part[some] for part in self))


def alone(of: Array, paths: Array) -> Places:
    """Return places that share no star path."""
    return Places(of, paths, np.full(of.size, NONE))


class Writer:
    """Writer of the records of so many reports; a single one may have a `name` in words."""

    def __init__(self, reports: int, name: str | None = None) -> None:
        self.reports = reports
        self._numbers: list[tuple[Array, ...]] = []
        self._categories: list[tuple[Array, Array]] = []
        self.names = None if name is None else {int(ROOT): name, 0: "nothing"}
        self.events: dict[int, str] = {}

    def step(self, paths: Array, tokens: Any, what: Callable[[int], str]) -> Array:
        """Return paths that are longer by one token each; `what` names the part."""
        longer: Array = _mix_all(paths, np.full(paths.shape, tokens, U))
        if self.names is not None:
            for i, (old, new) in enumerate(zip(paths.tolist(), longer.tolist())):
                whole = self.names[old]
                top = old == int(ROOT) and what(i).startswith(("entry ", "field "))
                self.names[new] = what(i) if top else f"{what(i)} of {whole}"
        return longer

    def part(self, paths: Array, what: str) -> Array:
        """Return paths that are longer by the name of a part."""
        return self.step(paths, token("\0" + what), lambda i: what)

    def category(self, of: Array, paths: Array, values: Array, shown: Callable[[int], str]) -> None:
        """Record categories; `shown` returns a value in words."""
        keys = _mix_all(paths, values)
        self._categories.append((of, keys))
        if self.names is not None:
            for i, (path, key) in enumerate(zip(paths.tolist(), keys.tolist())):
                self.events[key] = f"{self.names[path]} is {shown(i)}"

    def number(self, at: Places, types: Any, values: Array, words: Array) -> None:
        """Record numbers."""
        self._numbers.append((*at, np.broadcast_to(types, values.shape), values, words))

    def real(self, of: Array, paths: Array, values: Array) -> None:
        """Record computed numbers that are not entries of a list, as integers if they are whole."""
        x = values.astype(float)
        whole = (x == np.floor(x)) & (abs(x) < 2**62)
        types = np.where(whole, INTEGER, np.where(np.isfinite(x), REAL, ODD))
        words = np.where(whole, np.where(whole, x, 0).astype(np.int64).view(U), x.view(U))
        self.number(alone(of, paths), types, x, words)

    def finished(self, first: int, size: int) -> Records:
        """Return all records, with those that are derived from the numbers."""
        every, root = np.arange(self.reports), np.full(self.reports, ROOT)
        rows, paths, stars, types, values, words = self._joined()
        few = np.bincount(rows, minlength=self.reports) <= _FEW
        few |= (first + every) // size % _TURN == 0  # the same for all inputs of a round
        reals = np.flatnonzero((types == REAL) & (values != 0))
        at, marks, fine, short = _fine(reals, values, words, few[rows])
        tokens = np.array([token("\0" + what) for what in _FINE], U)
        longer = self.step(paths[at], tokens[marks], lambda i: _FINE[marks[i]])
        ends = (marks < 2) & few[rows[at]]
        self.real(rows[at[ends]], longer[ends], fine[ends])
        other = np.flatnonzero(~ends)
        self.category(
            rows[at[other]], longer[other], fine[other].view(U), lambda i: str(fine[other[i]])
        )
        rows, paths, stars, types, values, words = self._joined()

        def shown(i: int) -> str:
            if types[i] in (REAL, ODD):
                return repr(float(values[i]))
            if self.names and self.names[int(paths[i])].startswith("character "):
                return repr(chr(int(words[i])))
            return str(bool(words[i]) if types[i] == TRUTH else int(words[i].view(np.int64)))

        exact = _mix_all(words, types.astype(U))
        self.category(rows, paths, exact, shown)
        some = np.flatnonzero(stars[: short.size] * short != 0)
        self.category(rows[some], stars[some], exact[some], lambda i: shown(some[i]))
        whole = np.zeros(self.reports, U)
        for of, keys in self._categories:  # a sum, because it does not depend on their order
            _add(of, keys, whole)
        self.category(every, self.part(root, "the whole"), whole, lambda i: "this very report")
        category_rows, keys = map(np.concatenate, zip(*self._categories))
        own = rows, paths, types, values, words, category_rows, keys, whole, every
        return Records(*own, self.names or {}, self.events)

    def _joined(self) -> list[Array]:
        empty = [np.empty(0, kind) for kind in (int, U, U, int, float, U)]
        return [np.concatenate(part) for part in zip(empty, *self._numbers)]


@kernel
def _add(rows: Array, keys: Array, whole: Array) -> None:
    for i in range(rows.size):  # several times as fast as `numpy.add.at`
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
        every = (exponent, exponent - 52 + zeros, zeros, decimals, np.int64(words[i] >> _S48))
        for mark in range(5 if few[i] else 2):
            at[n], marks[n], found[n], n = i, mark, every[mark], n + 1
    return at[:n], marks[:n], found[:n], short
