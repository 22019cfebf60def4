"""RAPPOR: the bits of a Bloom filter, flipped once for ever and again for every report."""

import functools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from .. import checks
from ..jit import kernel
from ..mechanisms.base import Domain, Epsilon, SupportOracle
from ..reports import Listed, Support
from ..reports.base import shaped
from ..reports.listing import alphabet, product_distribution
from ..types import Array, ArrayLike, Numbers, Pair, Rates, Reports, Rng
from .sketch import cell_table

__all__ = ["RAPPOR", "Bloom"]


@kernel
def _held(places: Array, cohorts: Array, bits: Array) -> Array:
    """Which values have all their bits set, bool array (n, values), for places (cohorts, h,
    values)."""
    out = np.ones((len(bits), places.shape[2]), np.bool_)
    for i in range(len(bits)):
        for j in range(places.shape[1]):
            for u in range(places.shape[2]):
                out[i, u] &= bits[i, places[cohorts[i], j, u]] != 0
    return out


def _sums(n: int, rate: float) -> Array:
    """Law of how many of n independent bits are set."""
    return np.array([math.comb(n, x) * rate**x * (1 - rate) ** (n - x) for x in range(n + 1)])


@functools.lru_cache(maxsize=256)
def _hit(h: int, m: int, covered: int) -> Array:
    """Law of how many covered places, and how many others, h draws from m places hit, (h + 1, h +
    1)."""
    law, (x, z) = np.zeros((h + 1, h + 1)), np.indices((h + 1, h + 1))
    law[0, 0] = 1
    for _ in range(h):
        again, one, other = (law * n / m for n in (x + z, covered - x, m - covered - z))
        law = again
        law[1:] += one[:-1]
        law[:, 1:] += other[:, :-1]
    return law


@dataclass(frozen=True)
class Bloom(Support, Listed):
    """A cohort and the m bits of a Bloom filter, structured array (n,) with ``cohort`` and
    ``bits``; a value whose bits are all set is supported.

    The score is the log likelihood ratio of two values, to twelve decimals: of a set bit that only
    the first has or a clear one that only the second has, and the reverse.

    Parameters
    ----------
    k, m, h, cohorts : int
        Domain size, bits, hash functions of a cohort, and cohorts.
    own, other : float
        Probability of a one at the true value's bits, and at all others.
    """

    k: int
    m: int
    h: int
    cohorts: int
    own: float
    other: float
    name = "bloom"
    exact = True
    extreme = None
    guess_route = "enumerate"

    @property
    def form(self) -> np.dtype[np.void]:
        """Type of one report."""
        return np.dtype([("cohort", "<i8"), ("bits", "u1", (self.m,))])

    @property
    def places(self) -> Array:
        """The bits of every value in every cohort, int array (cohorts, h, k)."""
        table = cell_table(self.k, self.cohorts * self.h, self.m)
        return table.reshape(self.cohorts, self.h, self.k)

    def pattern(self, value: int) -> Array:
        """Which bits are the value's in every cohort, bool array (cohorts, m)."""
        found = np.zeros((self.cohorts, self.m), np.bool_)
        np.put_along_axis(found, self.places[:, :, value], True, 1)
        return found

    @property
    def width(self) -> int:
        return self.m + 1

    def read(self, reports: Reports, sender: str) -> Array:
        reports = shaped(reports, (None,), sender, self.form)
        checks.values(reports["cohort"], self.cohorts, f"cohorts of {sender}")
        checks.values(reports["bits"].ravel(), 2, f"bits of {sender}")
        return reports

    def supports(self, reports: Array, value: int) -> Array:
        return _held(self.places[:, :, [value]], reports["cohort"], reports["bits"])[:, 0]

    def tally(self, reports: Array) -> Array:
        return _held(self.places, reports["cohort"], reports["bits"])

    def apart(self, pair: Pair) -> tuple[Array, Array]:
        """Bits that only the first value has in every cohort, and those of the second."""
        one, two = (self.pattern(value) for value in pair)
        return one & ~two, two & ~one

    def strength(self, ones: Numbers, more: Numbers) -> Numbers:
        """Log likelihood ratio of a surplus of ones at the first value's own bits over those at
        the second's, of which there are `more`."""
        one = math.log(self.own / self.other)
        none = math.log((1 - self.other) / (1 - self.own))
        return np.round((one + none) * ones + none * more, 12)

    def score(self, reports: Array, pair: Pair) -> Array:
        """Log likelihood ratio; float array (n,)."""
        (one, two), cohort, bits = self.apart(pair), reports["cohort"], reports["bits"]
        ones = (bits & one[cohort]).sum(axis=1) - (bits & two[cohort]).sum(axis=1, dtype=int)
        return np.asarray(self.strength(ones, (two.sum(axis=1) - one.sum(axis=1))[cohort]))

    def thresholds(self) -> Array:
        span = np.arange(-self.h, self.h + 1)
        found = np.unique(self.strength(span[:, None], span))
        return found[found > 0]

    def score_rates(self, threshold: float, pair: Pair) -> Rates:
        rates = np.zeros(2)
        for a, b, share in _classes(self, pair):
            strong = self.strength(np.arange(-b, a + 1), b - a) >= threshold
            for i, (one, two) in enumerate(((self.own, self.other), (self.other, self.own))):
                law = np.convolve(_sums(a, one), _sums(b, two)[::-1])
                rates[i] += share * law[strong].sum()
        return float(rates[0]), float(rates[1])

    def loss(self, pair: Pair) -> float:
        """Of the cohorts in which the two share fewest bits; an event "score of at least the loss"
        attains it."""
        return max(float(self.strength(a, b - a)) for a, b, _ in _classes(self, pair))

    @property
    def outputs(self) -> int:
        return self.cohorts * 2**self.m

    @property
    def reports(self) -> Array:
        size = alphabet(2, self.m, "make reports instead")
        found = np.empty((self.cohorts, size), self.form)
        found["cohort"] = np.arange(self.cohorts)[:, None]
        found["bits"] = np.arange(size)[:, None] >> np.arange(self.m)[::-1] & 1
        return found.ravel()

    def distribution(self, value: int, positions: Iterable[int] | None = None) -> Array:
        alphabet(2, self.m, "make reports instead")
        rates = np.where(self.pattern(value), self.own, self.other) / 1.0
        laws = [product_distribution(np.column_stack([1 - row, row])) for row in rates]
        return np.concatenate(laws) / self.cohorts

    def guess_rates(self, pair: Pair) -> Rates | None:
        """Exact over all reports; ``None`` where they are too many to be gone through."""
        if self.m > 20 or self.outputs * max(self.k, self.m) > 2**24:
            return None
        held = self.tally(self.reports)
        sizes = held.sum(axis=1)
        named = np.where(sizes > 0, held[:, pair[0]] / np.maximum(sizes, 1), 1 / self.k)
        first, second = (float(self.distribution(value) @ named) for value in pair)
        return first, second


@functools.lru_cache(maxsize=256)
def _classes(kind: Bloom, pair: Pair) -> list[tuple[int, int, float]]:
    """How many bits each of two values has for itself, and the share of the cohorts where it is
    so."""
    sizes = np.stack([own.sum(axis=1) for own in kind.apart(pair)], axis=1)
    found, counts = np.unique(sizes, axis=0, return_counts=True)
    return [(int(a), int(b), n / kind.cohorts) for (a, b), n in zip(found, counts)]


@dataclass(frozen=True)
class RAPPOR(SupportOracle):
    """RAPPOR with a Bloom filter: several bits of a value, each flipped for ever and then again.

    Parameters
    ----------
    k : int
        Domain size, at least 2.
    epsilon : float
        Privacy budget of the permanent step, in [1e-6, 30]; holds for any number of reports.
    m : int
        Bits of the Bloom filter, in [2, 2^16].
    h : int
        Number of hash functions of a cohort, in [1, 16].
    cohorts : int
        Number of cohorts, in [1, 2^16].
    keep, flip : float
        Probability that a one, and a zero, of the permanent step is sent as one; 1 and 0 send it as
        it is.

    Notes
    -----
    A user is of a random cohort, whose `h` public hash functions say which bits are the value's.
    The permanent step keeps every bit with ``1 - f/2``, where ``epsilon = 2 h ln((2 - f) / f)`` is
    the loss of two values that share no bit; the instantaneous step sends it by `keep` and `flip`,
    which the paper calls q and p (Erlingsson et al. 2014). Values that share bits lose less, see
    `Bloom.loss`. Here every report draws its cohort and its permanent bits anew. A frequency is
    estimated from the reports with all of the value's bits set, unbiased over the choice of the
    functions; the paper fits a regression instead.
    """

    k: Domain
    epsilon: Epsilon
    m: Annotated[int, checks.rule(checks.integer, 2, 2**16)] = 128
    h: Annotated[int, checks.rule(checks.integer, 1, 16)] = 2
    cohorts: Annotated[int, checks.rule(checks.integer, 1, 2**16)] = 64
    keep: Annotated[float, checks.rule(checks.real, 0, 1)] = 1.0
    flip: Annotated[float, checks.rule(checks.real, 0, 1)] = 0.0
    name = "RAPPOR"
    exact = True

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.need(
            self.k * self.cohorts * self.h <= 2**28,
            f"k times cohorts times h must be at most 2^28, got {self.k} times {self.cohorts} times"
            f" {self.h}",
        )
        checks.need(
            self.keep - self.flip >= 1e-3,
            f"keep must exceed flip = {self.flip:g} by at least 0.001, got {self.keep!r}",
        )

    @property
    def f(self) -> float:
        """Probability that the permanent step replaces a bit by a coin."""
        return 2 / (1 + math.exp(self.epsilon / (2 * self.h)))

    @property
    def report_type(self) -> Bloom:
        """A cohort and bits."""
        clear, kept = self.f / 2, 1 / (1 + math.exp(-self.epsilon / (2 * self.h)))
        own, other = (
            one * self.keep + none * self.flip for one, none in ((kept, clear), (clear, kept))
        )
        return Bloom(self.k, self.m, self.h, self.cohorts, own, other)

    @property
    def first(self) -> float:
        """Largest loss of one report: that of two values that share no bit."""
        return float(self.report_type.strength(self.h, 0))

    @property
    def p(self) -> float:
        """Probability that all bits of the true value are set, under random hash functions."""
        return self._all_set(self.m)

    @property
    def q(self) -> float:
        """Probability that all bits of another value are set, under random hash functions."""
        ones = _hit(self.h, self.m, self.m)[:, 0]  # law of how many bits the true value has
        return float(sum(n * self._all_set(covered) for covered, n in enumerate(ones) if n))

    def _all_set(self, covered: int) -> float:
        """Probability that all bits of a value are set, if `covered` bits are the true value's."""
        x, z = np.indices((self.h + 1, self.h + 1))
        own, other = self.report_type.own**x, self.report_type.other**z
        return float((_hit(self.h, self.m, covered) * own * other).sum())

    def perturb(self, values: ArrayLike, rng: Rng) -> Array:
        """Return a structured array (n,) with ``cohort`` and ``bits``; see `Mechanism.perturb`."""
        values, kind = self._users(values, rng), self.report_type
        reports = np.zeros(values.size, kind.form)
        reports["cohort"] = rng.integers(0, self.cohorts, values.size)
        places = kind.places[reports["cohort"], :, values]
        np.put_along_axis(reports["bits"], places, 1, 1)
        coins = rng.integers(0, 2, reports["bits"].shape, np.uint8)
        permanent = np.where(rng.random(coins.shape) < self.f, coins, reports["bits"])
        reports["bits"] = rng.random(coins.shape) < np.where(permanent, self.keep, self.flip)
        return reports
