"""Reports of RAPPOR over weeks: the permanent bits of a user stay, the noise on them is fresh."""

import functools
import math
from dataclasses import dataclass, replace

import numpy as np
import scipy

from .. import checks
from ..exact import binomial
from ..reports import Bloom
from ..reports.base import Support, shaped
from ..reports.bloom import classes
from ..types import Array, Pair, Rates, Reports

__all__ = ["BloomWeeks"]

_STEP = 2.0**-40  # scores are multiples of a power of two, therefore their sums are exact
_FINE = 2**16  # most different sums of the bits of one value that are kept apart
_SURE = 64.0  # log likelihood ratio of a permanent bit that nothing can add to


@dataclass(frozen=True)
class BloomWeeks(Support):
    """A cohort and the bits of `tau` weeks, structured array (n,) with ``cohort`` and ``bits``
    (tau, m).

    Only the number of ones at each bit matters. Given the permanent bit, it is binomial. A report
    supports the values all of whose bits are set more likely than not. The score is the log
    likelihood ratio of two values, in multiples of 2^-40, or of about a 500th of the permanent
    step's if its sums are too many.

    Parameters
    ----------
    single : Bloom
        Report type of one week.
    tau : int
        Number of weeks.
    odds : float
        Log odds that the permanent step leaves a bit as it is, ``ln((2 - f) / f)``.
    keep, flip : float
        Probability that a one, and that a zero, of the permanent step is sent as a one.
    """

    single: Bloom
    tau: int
    odds: float
    keep: float
    flip: float
    name = "weeks"
    exact = True
    guess_route, score_route = "enumerate", "convolve"

    @property
    def k(self) -> int:  # type: ignore[override]  # follows from one week
        """Domain size."""
        return self.single.k

    @property
    def form(self) -> np.dtype[np.void]:
        """Type of one report."""
        return np.dtype([("cohort", "<i8"), ("bits", "u1", (self.tau, self.single.m))])

    @property
    def width(self) -> int:
        return self.tau * self.single.m + 1

    def read(self, reports: Reports, sender: str) -> Array:
        reports = shaped(reports, (None,), sender, self.form)
        checks.values(reports["cohort"], self.single.cohorts, f"cohorts of {sender}")
        checks.values(reports["bits"].ravel(), 2, f"bits of {sender}")
        return reports

    # --- one bit

    @functools.cached_property
    def ratios(self) -> Array:
        """Log likelihood ratio of 0..tau ones, for a bit of the value against another bit; float
        array (tau + 1,)."""
        ones = np.arange(self.tau + 1)
        with np.errstate(invalid="ignore"):  # a count that no permanent bit leads to says nothing
            kept, flipped = (
                scipy.special.xlogy(ones, rate) + scipy.special.xlog1py(self.tau - ones, -rate)
                for rate in (self.keep, self.flip)
            )
            permanent = np.clip(np.nan_to_num(kept - flipped), -_SURE, _SURE)
        own, other = (np.logaddexp(permanent + self.odds, 0), np.logaddexp(permanent, self.odds))
        return np.rint((own - other) / _STEP) * _STEP

    @functools.cached_property
    def levels(self) -> Array:
        """`ratios` as they are summed: coarser, if the sums would be too many."""
        step = 2.0 ** (math.frexp(self.odds)[1] - 8)
        few = math.comb(self.tau + self.single.h, self.single.h) <= _FINE
        return self.ratios if few else np.rint(self.ratios / step) * step

    @functools.cached_property
    def counts(self) -> Array:
        """Probabilities of 0..tau ones at a bit of the value, and at another bit; float array (2,
        tau + 1)."""
        kept, clear = scipy.special.expit([self.odds, -self.odds])
        sent = np.array([binomial(self.tau, rate) for rate in (self.keep, self.flip)])
        return np.array([[kept, clear], [clear, kept]]) @ sent

    @property
    def own(self) -> float:
        """Probability that a bit of the value counts as set."""
        return float(self.counts[0] @ (self.ratios > 0))

    @property
    def other(self) -> float:
        """Probability that another bit counts as set."""
        return float(self.counts[1] @ (self.ratios > 0))

    # --- all bits

    def _decided(self, reports: Array) -> Array:
        """Reports of one week, with the bits that count as set."""
        decided = np.empty(len(reports), self.single.form)
        decided["cohort"] = reports["cohort"]
        decided["bits"] = self.ratios[reports["bits"].sum(axis=1)] > 0
        return decided

    def supports(self, reports: Array, value: int) -> Array:
        return self.single.supports(self._decided(reports), value)

    def tally(self, reports: Array) -> Array:
        return self.single.tally(self._decided(reports))

    def guess_rates(self, pair: Pair) -> Rates | None:
        return replace(self.single, own=self.own, other=self.other).guess_rates(pair)

    def score(self, reports: Array, pair: Pair) -> Array:
        """Log likelihood ratio; float array (n,)."""
        one, two = (bits.astype(np.int8) for bits in self.single.apart(pair))
        bits = self.levels[reports["bits"].sum(axis=1)]
        return np.asarray((bits * (one - two)[reports["cohort"]]).sum(axis=1))

    def thresholds(self) -> Array:
        return np.linspace(0, self.single.h * (self.levels[-1] - self.levels[0]), 65)[1:]

    def score_rates(self, threshold: float, pair: Pair) -> Rates:
        rates, least = np.zeros(2), math.ceil(threshold / _STEP) * _STEP
        for a, b, share in classes(self.single, pair):
            (scores, (own, other)), (minus, less) = _sums(self, a), _sums(self, b)
            reached = np.searchsorted(minus, scores - least, side="right")
            below = np.pad(np.cumsum(less, axis=1), ((0, 0), (1, 0)))[:, reached]
            rates += share * np.array([own @ below[1], other @ below[0]])
        return min(1.0, float(rates[0])), min(1.0, float(rates[1]))  # sums may round up

    def loss(self, pair: Pair) -> float:
        """Loss of the cohorts in which the two values share the fewest bits: a one in all weeks at
        bits of the first value, and a zero in all weeks at bits of the second."""
        most, least = float(self.ratios[-1]), float(self.ratios[0])
        return max(a * most - b * least for a, b, _ in classes(self.single, pair))


@functools.lru_cache(maxsize=64)
def _sums(report_type: BloomWeeks, n: int) -> tuple[Array, Array]:
    """Sums of the levels of n bits, in order, and their probabilities if the bits are those of the
    value and if they are not, float array (2, sums)."""
    scores, chances = np.zeros(1), np.ones((2, 1))
    levels, at = np.unique(report_type.levels, return_inverse=True)
    single = [np.bincount(at, law) for law in report_type.counts]
    for _ in range(n):
        scores, at = np.unique(np.add.outer(scores, levels), return_inverse=True)
        joint = [np.multiply.outer(*laws).ravel() for laws in zip(chances, single)]
        chances = np.array([np.bincount(at.ravel(), weights) for weights in joint])
    return scores, chances
