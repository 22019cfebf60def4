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
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...jit import deferred
from ...types import Array

__all__ = [
    "FINE", "INTEGER", "REAL", "TRUTH", "ODD", "NONE", "ROOT", "TYPES",
    "WHOLE", "Places", "Records", "alone", "chained", "listed", "mix", "mix_all",
    "parts_of_reals", "sum_by_report", "token",
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
_TENS = 10.0 ** np.arange(9)
FINE = (
    "the binary exponent", "the exponent of the last bit", "the zeros at the end of the mantissa",
    "the number of decimals", "the leading 16 bits",
)  # fmt: skip
"""Parts of a real number."""
WHOLE = (
    "the sum", "the maximum", "the place of the maximum", "the minimum", "the place of the minimum",
    "the number of zeros at the end", "the number of ascents",
)  # fmt: skip
"""Parts of a list of numbers."""


# --- hashes ---------------------------------------------------------------------------------------
@deferred
def mix(state: Any, token: Any) -> Any:
    """Return the next hash of a chain, by the last step of splitmix64."""
    z = (state ^ (token * _GOLD)) + _GOLD
    z = (z ^ (z >> _S30)) * _ODD1
    z = (z ^ (z >> _S27)) * _ODD2
    return z ^ (z >> _S31)


@deferred
def mix_all(states: Array, tokens: Array) -> Array:
    """Return the next hash of several chains."""
    out = np.empty(states.size, np.uint64)
    for i in range(out.size):
        out[i] = mix(states[i], tokens[i])
    return out


@deferred
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
        "rows paths types values words category_rows category_paths keys whole names events",
        defaults=({}, {}),
    )
):
    """Records of several reports.

    Attributes
    ----------
    rows, paths, types, values, words : arrays (m,)
        Report, path, type, value and 64 binary digits of each number. The digits are the two's
        complement of an integer or the IEEE pattern of a real number.
    category_rows, category_paths, keys : arrays (c,)
        Report and path of each category, and the hash of its path and value.
    whole : uint64 array (reports,)
        Hashes of whole reports.
    names, events : dict
        Words for paths and for categories; empty if they are not kept.
    """

    def some(self, which: Array) -> "Records":
        """Return the records of some reports, bool array (reports,), without words."""
        new, parts = np.cumsum(which) - 1, []
        for rows, *others in (self[:5], self[5:8]):
            at = np.flatnonzero(which[rows])
            parts += [new[rows[at]], *(other[at] for other in others)]
        return Records._make([*parts, self.whole[which], {}, {}])

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


@deferred
def sum_by_report(rows: Array, keys: Array, whole: Array) -> None:
    """Add hashes to those of the reports of which they are a part."""
    for i in range(rows.size):  # several times as fast as `numpy.add.at`
        whole[rows[i]] += keys[i]


@deferred
def parts_of_reals(reals: Array, values: Array, words: Array, few: Array) -> tuple[Array, ...]:
    """Return magnitudes and last digits of real numbers, and which numbers are short.

    The first three arrays are the number, the index into `FINE`, and the value. The last one has
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


@deferred
def listed(x: Array, ends: Array, sizes: Array, lists: Array) -> Array:
    """Return the seven numbers of `WHOLE` for some lists, float array (7, lists)."""
    out = np.zeros((7, lists.size))
    for i in range(lists.size):
        b = ends[lists[i]]
        a = b - sizes[lists[i]]
        high, low, last = a, a, a - 1
        for j in range(a, b):
            out[0, i] += x[j]
            high = j if x[j] > x[high] else high
            low = j if x[j] < x[low] else low
            last = j if x[j] != 0 else last
            out[6, i] += j > a and x[j] > x[j - 1]
        out[1, i], out[2, i], out[3, i], out[4, i] = x[high], high - a, x[low], low - a
        out[5, i] = b - 1 - last
    return out
