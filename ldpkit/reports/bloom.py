"""Reports of the bits of a Bloom filter: RAPPOR."""

import functools
import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from .. import checks
from ..jit import kernel
from ..types import Array, Numbers, Pair, Rates, Reports
from .base import Support, shaped
from .hashed import cell_table
from .listing import alphabet, product_distribution

__all__ = ["Bloom", "classes", "held"]


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
class Bloom(Support):
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
    name = "bloom"
    exact = True
    guess_route = "enumerate"

    @property
    def form(self) -> np.dtype[np.void]:
        """Type of one report."""
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

    def read(self, reports: Reports, sender: str) -> Array:
        reports = shaped(reports, (None,), sender, self.form)
        checks.values(reports["cohort"], self.cohorts, f"cohorts of {sender}")
        checks.values(reports["bits"].ravel(), 2, f"bits of {sender}")
        return reports

    def supports(self, reports: Array, value: int) -> Array:
        return held(self.places[:, :, [value]], reports["cohort"], reports["bits"])[:, 0]

    def tally(self, reports: Array) -> Array:
        return held(self.places, reports["cohort"], reports["bits"])

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
