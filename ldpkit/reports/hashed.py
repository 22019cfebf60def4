"""Reports of a hash function and a cell of it, and of the bits of a Bloom filter.

The hash family is xxHash64 of the value (eight bytes, little endian) under a fresh 64-bit seed per
user. The upper 32 bits are reduced to ``0..g-1`` by multiplication with ``g``, so the probabilities
of cells differ by at most ``g / 2^32``, relatively. The exact distribution of the support assumes a
fully random hash. Tests find no difference between this family and a fully random hash.
"""

import functools
import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from .. import checks
from ..jit import kernel
from ..types import Array, Numbers, Pair, Rates, Rng
from .base import Independent, Structured, alphabet, product_distribution

__all__ = ["Bloom", "Hashed", "HASH_REPORT", "cell_table", "cells", "classes", "hash_cell", "held"]

HASH_REPORT = np.dtype([("seed", "<u8"), ("cell", "<i8")])
"""Type of one report: the user's hash seed and the reported cell."""

# fmt: off
_P1, _P2, _P3, _P4, _P5 = map(np.uint64, (
    0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63,
    0x27D4EB2F165667C5,
))
# fmt: on


@functools.partial(kernel, inline="always")
def _rotl(x: np.uint64, bits: int) -> np.uint64:
    return (x << np.uint64(bits)) | (x >> np.uint64(64 - bits))


@kernel
def _mixed(value: int) -> np.uint64:
    """The part of a value's hash that does not depend on the seed."""
    return _rotl(np.uint64(value) * _P2, 31) * _P1


@kernel
def _cell(mixed: np.uint64, seed: int, g: int) -> np.int64:
    """Cell of a value: xxHash64 of its eight bytes without the last step, which does not change the
    upper half."""
    h = mixed ^ (np.uint64(seed) + _P5 + np.uint64(8))
    h = _rotl(h, 27) * _P1 + _P4
    h = (h ^ (h >> np.uint64(33))) * _P2
    h = (h ^ (h >> np.uint64(29))) * _P3
    return np.int64(((h >> np.uint64(32)) * np.uint64(g)) >> np.uint64(32))


@kernel
def hash_cell(value: int, seed: int, g: int) -> np.int64:
    """Cell in ``0..g-1`` of one value under one user's seed."""
    return _cell(_mixed(value), seed, g)


@kernel
def cells(values: Array, seeds: Array, g: int) -> Array:
    """Cell of each user's value under the user's own seed."""
    out = np.empty(values.size, np.int64)
    for i in range(values.size):
        out[i] = hash_cell(values[i], seeds[i], g)
    return out


@functools.lru_cache(maxsize=8)
def cell_table(k: int, hashes: int, m: int) -> Array:
    """Cell of every value under every hash function, int array (hashes, k); the functions are
    public and fixed."""
    return np.array([cells(np.arange(k), np.full(k, j, np.uint64), m) for j in range(hashes)])


@kernel
def _inside(seeds: Array, cells: Array, values: Array, g: int) -> Array:
    """Whether each value falls into each user's cell, bool array (n, values); the part of a hash
    that depends on the value only is computed once."""
    k = values.size
    out, mixed = np.empty((cells.size, k), np.bool_), np.empty(k, np.uint64)
    for u in range(k):
        mixed[u] = _mixed(values[u])
    for i in range(cells.size):
        for u in range(k):
            out[i, u] = _cell(mixed[u], seeds[i], g) == cells[i]
    return out


@kernel
def _fullest_cell(seeds: Array, r: int, g: int) -> tuple[int, np.uint64, np.int64]:
    """Find the seed and the cell with the most values of ``0..r-1``; return the number of values,
    the seed and the cell."""
    most, best, where = 0, seeds[0], np.int64(0)
    for seed in seeds:
        for v in range(r):
            cell = hash_cell(v, seed, g)
            count = 0
            for u in range(r):
                count += hash_cell(u, seed, g) == cell
            if count > most:
                most, best, where = count, seed, cell
    return most, best, where


@dataclass(frozen=True)
class Hashed(Structured, Independent):
    """A user's hash seed and a cell, structured array (n,) of type `HASH_REPORT`; the report
    supports all values of the cell.

    Parameters
    ----------
    k, g : int
        Domain size and number of cells.
    p : float
        Probability of the true value's cell.
    """

    k: int
    g: int
    p: float
    name, form = "hash", HASH_REPORT

    @property
    def q(self) -> float:  # type: ignore[override]  # follows from the hash range
        """Probability that a report supports one given other value."""
        return 1 / self.g

    @property
    def limits(self) -> dict[str, int]:  # type: ignore[override]  # follows from the other fields
        return {"cell": self.g}

    def supported(self, reports: Array, values: Array) -> Array:
        return _inside(reports["seed"], reports["cell"], values, self.g)

    def most(self, targets: int) -> int:
        return targets  # a hash that sends all of them to one cell; `craft` searches for one

    def craft(self, targets: int, count: int, rng: Rng, tries: int) -> tuple[Array, int]:
        seeds = rng.integers(0, 2**64, checks.integer("tries", tries, 1), dtype=np.uint64)
        supported, seed, cell = _fullest_cell(seeds, targets, self.g)
        reports = np.empty(count, HASH_REPORT)
        reports["seed"], reports["cell"] = seed, cell
        return reports, supported


@kernel
def held(places: Array, cohorts: Array, bits: Array) -> Array:
    """Whether all bits of each value are set in each report, bool array (n, values), for the places
    of the values' bits (cohorts, h, values)."""
    out = np.ones((len(bits), places.shape[2]), np.bool_)
    for i in range(len(bits)):
        for j in range(places.shape[1]):
            for u in range(places.shape[2]):
                out[i, u] &= bits[i, places[cohorts[i], j, u]] != 0
    return out


def _sums(n: int, rate: float) -> Array:
    """Distribution of the number of ones among n independent bits."""
    return np.array([math.comb(n, x) * rate**x * (1 - rate) ** (n - x) for x in range(n + 1)])


@dataclass(frozen=True)
class Bloom(Structured):
    """A cohort and the m bits of a Bloom filter, structured array (n,) with ``cohort`` and
    ``bits``; a report supports the values whose bits are all set.

    The score is the log likelihood ratio of two values, rounded to twelve decimals. It depends only
    on bits that belong to one of the two values. A set bit of the first value and a clear bit of
    the second value increase it; the reverse decreases it.

    Parameters
    ----------
    k, m, h, cohorts : int
        Domain size, number of bits, number of hash functions of a cohort, and number of cohorts.
    own, other : float
        Probability of a one at the true value's bits, and at all other bits.
    """

    k: int
    m: int
    h: int
    cohorts: int
    own: float
    other: float
    name, exact, guess_route = "bloom", True, "enumerate"

    @property
    def form(self) -> np.dtype[np.void]:  # type: ignore[override]  # follows from the other fields
        return np.dtype([("cohort", "<i8"), ("bits", "u1", (self.m,))])

    @property
    def places(self) -> Array:
        """Places of every value's bits in every cohort, int array (cohorts, h, k)."""
        table = cell_table(self.k, self.cohorts * self.h, self.m)
        return table.reshape(self.cohorts, self.h, self.k)

    def pattern(self, value: int) -> Array:
        """Whether each bit of each cohort belongs to the value, bool array (cohorts, m)."""
        belongs = np.zeros((self.cohorts, self.m), np.bool_)
        np.put_along_axis(belongs, self.places[:, :, value], True, 1)
        return belongs

    @property
    def width(self) -> int:
        return self.m + 1

    @property
    def limits(self) -> dict[str, int]:  # type: ignore[override]  # follows from the other fields
        return {"cohort": self.cohorts, "bits": 2}

    def supported(self, reports: Array, values: Array) -> Array:
        return held(self.places[:, :, values], reports["cohort"], reports["bits"])

    def apart(self, pair: Pair) -> tuple[Array, Array]:
        """Bits of every cohort that belong to the first value only, and those that belong to the
        second value only, both bool arrays (cohorts, m)."""
        one, two = (self.pattern(value) for value in pair)
        return one & ~two, two & ~one

    def strength(self, ones: Numbers, more: Numbers) -> Numbers:
        """Log likelihood ratio of a report.

        Parameters
        ----------
        ones : int or array
            Number of ones at bits of the first value only, minus those at bits of the second only.
        more : int or array
            Number of bits of the second value only, minus number of bits of the first value only.
        """
        one = math.log(self.own / self.other)
        zero = math.log((1 - self.other) / (1 - self.own))
        return np.round((one + zero) * ones + zero * more, 12)

    def score(self, reports: Array, pair: Pair) -> Array:
        """Log likelihood ratio; float array (n,)."""
        (one, two), cohort, bits = self.apart(pair), reports["cohort"], reports["bits"]
        ones = (bits & one[cohort]).sum(axis=1) - (bits & two[cohort]).sum(axis=1, dtype=int)
        return np.asarray(self.strength(ones, (two.sum(axis=1) - one.sum(axis=1))[cohort]))

    def thresholds(self) -> Array:
        span = np.arange(-self.h, self.h + 1)
        scores = np.unique(self.strength(span[:, None], span))
        return scores[scores > 0]

    def score_rates(self, threshold: float, pair: Pair) -> Rates:
        rates = np.zeros(2)
        for a, b, share in classes(self, pair):
            strong = self.strength(np.arange(-b, a + 1), b - a) >= threshold
            for i, (one, two) in enumerate(((self.own, self.other), (self.other, self.own))):
                surplus = np.convolve(_sums(a, one), _sums(b, two)[::-1])
                rates[i] += share * surplus[strong].sum()
        return float(rates[0]), float(rates[1])

    def loss(self, pair: Pair) -> float:
        """Loss of the cohorts in which the two values share the fewest bits; the event "score of at
        least the loss" attains it."""
        return max(float(self.strength(a, b - a)) for a, b, _ in classes(self, pair))

    @property
    def outputs(self) -> int:
        return self.cohorts * 2**self.m

    @property
    def reports(self) -> Array:
        size = alphabet(2, self.m, "make reports instead")
        reports = np.empty((self.cohorts, size), self.form)
        reports["cohort"] = np.arange(self.cohorts)[:, None]
        reports["bits"] = np.arange(size)[:, None] >> np.arange(self.m)[::-1] & 1
        return reports.ravel()

    def distribution(self, value: int, positions: Iterable[int] | None = None) -> Array:
        alphabet(2, self.m, "make reports instead")
        rates = np.where(self.pattern(value), self.own, self.other) / 1.0
        parts = [product_distribution(np.column_stack([1 - row, row])) for row in rates]
        return np.concatenate(parts) / self.cohorts

    def guess_rates(self, pair: Pair) -> Rates | None:
        """Sum over all reports; ``None`` if there are too many. See `ReportType.guess_rates`."""
        if self.m > 20 or self.outputs * max(self.k, self.m) > 2**24:
            return None
        held = self.tally(self.reports)
        sizes = held.sum(axis=1)
        guessed = np.where(sizes > 0, held[:, pair[0]] / np.maximum(sizes, 1), 1 / self.k)
        first, second = (float(self.distribution(value) @ guessed) for value in pair)
        return first, second


@functools.lru_cache(maxsize=256)
def classes(report_type: Bloom, pair: Pair) -> list[tuple[int, int, float]]:
    """Numbers of bits of the first value only and of the second value only, with the share of the
    cohorts that have these numbers."""
    sizes = np.stack([own.sum(axis=1) for own in report_type.apart(pair)], axis=1)
    different, counts = np.unique(sizes, axis=0, return_counts=True)
    return [(int(a), int(b), n / report_type.cohorts) for (a, b), n in zip(different, counts)]
