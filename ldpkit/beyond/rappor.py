"""RAPPOR: the bits of a Bloom filter with permanent noise, and fresh noise for every report."""

import functools
import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import scipy

from .. import checks
from ..guess_success import binomial
from ..jit import kernel
from ..mechanisms.base import MAX_ROUNDS, Domain, Epsilon, FrequencyOracle, exact_distribution
from ..reports.base import Columns, Structured, alphabet, product_distribution, structured
from ..types import Array, ArrayLike, Numbers, Pair, Rates, Rng
from .hadamard import cell_table, listed_guess_rates

__all__ = ["RAPPOR", "Bloom", "BloomWeeks"]

_STEP = 2.0**-40  # scores are multiples of a power of two, therefore their sums are exact
_FINE = 2**16  # most different sums of the bits of one value that are kept apart


# --- one report -----------------------------------------------------------------------------------


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


def _ones(n: int, one: float, zero: float) -> Array:
    """Distribution of the number of ones among n independent bits, from the probabilities of a one
    and of a zero."""
    return np.array([math.comb(n, x) * one**x * zero ** (n - x) for x in range(n + 1)])


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
    unset : float
        Probability of a zero at the true value's bits, because ``1 - own`` would lose digits.
    """

    k: int
    m: int
    h: int
    cohorts: int
    own: float
    other: float
    unset: float
    name, exact, guess_route = "bloom", True, "enumerate"

    @property
    def columns(self) -> Columns:
        return {"cohort": ("<i8", (), self.cohorts), "bits": ("u1", (self.m,), 2)}

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
        zero = math.log((1 - self.other) / self.unset)
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
        rates, own, other = np.zeros(2), (self.own, self.unset), (self.other, 1 - self.other)
        for a, b, share in classes(self, pair):
            strong = self.strength(np.arange(-b, a + 1), b - a) >= threshold
            for i, (one, two) in enumerate(((own, other), (other, own))):
                surplus = np.convolve(_ones(a, *one), _ones(b, *two)[::-1])
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
        own, other = (self.unset, self.own), (1 - self.other, self.other)
        rates = np.where(self.pattern(value)[:, :, None], own, other)
        return np.concatenate([product_distribution(row) for row in rates]) / self.cohorts

    def guess_rates(self, pair: Pair) -> Rates | None:
        """Sum over all reports; ``None`` if there are too many. See `ReportType.guess_rates`."""
        if self.m > 20 or self.outputs * max(self.k, self.m) > 2**24:
            return None
        held = self.tally(self.reports)
        return listed_guess_rates(self, held[:, pair[0]], held.sum(axis=1), pair)


@functools.lru_cache(maxsize=256)
def classes(report_type: Bloom, pair: Pair) -> list[tuple[int, int, float]]:
    """Numbers of bits of the first value only and of the second value only, with the share of the
    cohorts that have these numbers."""
    sizes = np.stack([own.sum(axis=1) for own in report_type.apart(pair)], axis=1)
    different, counts = np.unique(sizes, axis=0, return_counts=True)
    return [(int(a), int(b), n / report_type.cohorts) for (a, b), n in zip(different, counts)]


# --- reports over weeks ---------------------------------------------------------------------------


@functools.lru_cache(maxsize=256)
def _hit(h: int, m: int, covered: int) -> Array:
    """Joint distribution of two numbers, (h + 1, h + 1), if h independent uniform places are chosen
    out of m: different chosen places among `covered` places, and among the others."""
    hits, (x, z) = np.zeros((h + 1, h + 1)), np.indices((h + 1, h + 1))
    hits[0, 0] = 1
    for _ in range(h):
        again, one, other = (hits * n / m for n in (x + z, covered - x, m - covered - z))
        hits = again
        hits[1:] += one[:-1]
        hits[:, 1:] += other[:, :-1]
    return hits


@dataclass(frozen=True)
class BloomWeeks(Structured):
    """A cohort and the bits of `tau` weeks, structured array (n,) with ``cohort`` and ``bits``
    (tau, m).

    Only the number of ones at each bit matters. Given the permanent bit, it is binomial. A report
    supports the values all of whose bits count as set: so many ones are likelier from a permanent
    one than from a permanent zero. The score is the log likelihood ratio of two values. It is
    rounded to multiples of 2^-40, or of about a 200th of `odds` where its sums are too many. The
    exact rates are those of the rounded score.

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
    name, exact = "weeks", True
    guess_route, score_route = "enumerate", "convolve"

    @property
    def k(self) -> int:  # type: ignore[override]  # follows from one week
        """Domain size."""
        return self.single.k

    @property
    def columns(self) -> Columns:
        return self.single.columns | {"bits": ("u1", (self.tau, self.single.m), 2)}

    @property
    def width(self) -> int:
        return self.tau * self.single.m + 1

    # --- one bit

    @functools.cached_property
    def ratios(self) -> Array:
        """Log likelihood ratio of 0..tau ones, for a bit of the value against another bit; float
        array (tau + 1,)."""
        ones = np.arange(self.tau + 1)
        kept, flipped = (  # of a count that no permanent bit leads to, both are the least number
            np.nan_to_num(
                scipy.special.xlogy(ones, rate) + scipy.special.xlog1py(self.tau - ones, -rate)
            )
            for rate in (self.keep, self.flip)
        )
        permanent = np.clip(kept - flipped, -64, 64)  # nobody could be surer of a permanent bit
        found = np.logaddexp(permanent + self.odds, 0) - np.logaddexp(permanent, self.odds)
        return np.rint(found / _STEP) * _STEP

    @functools.cached_property
    def levels(self) -> Array:
        """`ratios` as they are summed: coarser, if the sums would be too many."""
        many = math.comb(self.tau + self.single.h, self.single.h) > _FINE
        step = 2.0 ** (math.frexp(self.odds)[1] - 8) if many else _STEP
        return np.rint(self.ratios / step) * step

    @functools.cached_property
    def counts(self) -> Array:
        """Probabilities of 0..tau ones at a bit of the value, and at another bit; float array (2,
        tau + 1)."""
        own = scipy.special.expit([self.odds, -self.odds])  # of a permanent one, and of a zero
        sent = [binomial(self.tau, rate) for rate in (self.keep, self.flip)]
        return np.array([own, own[::-1]]) @ sent

    @property
    def own(self) -> float:
        """Probability that a bit of the value counts as set."""
        return float(self.counts[0] @ (self.ratios > 0))

    @property
    def other(self) -> float:
        """Probability that another bit counts as set."""
        return float(self.counts[1] @ (self.ratios > 0))

    # --- all bits

    def _set(self, reports: Array) -> Array:
        """Whether each bit counts as set, 0 or 1, uint8 array (n, m)."""
        return (self.ratios[reports["bits"].sum(axis=1)] > 0).view(np.uint8)

    def supported(self, reports: Array, values: Array) -> Array:
        return held(self.single.places[:, :, values], reports["cohort"], self._set(reports))

    def guess_rates(self, pair: Pair) -> Rates | None:
        unset = float(self.counts[0] @ (self.ratios <= 0))
        return replace(self.single, own=self.own, other=self.other, unset=unset).guess_rates(pair)

    def score(self, reports: Array, pair: Pair) -> Array:
        """Log likelihood ratio; float array (n,)."""
        one, two = (bits[reports["cohort"]] for bits in self.single.apart(pair))
        return np.asarray((self.levels[reports["bits"].sum(axis=1)] * (one * 1 - two)).sum(axis=1))

    def thresholds(self) -> Array:
        return np.linspace(0, self.single.h * (self.levels[-1] - self.levels[0]), 65)[1:]

    def score_rates(self, threshold: float, pair: Pair) -> Rates:
        rates, least = np.zeros(2), np.ceil(threshold / _STEP) * _STEP
        for a, b, share in classes(self.single, pair):
            (scores, (own, other)), (minus, less) = _sums(self, a), _sums(self, b)
            reached = np.searchsorted(minus, scores - least, side="right")
            below = np.pad(np.cumsum(less, axis=1), ((0, 0), (1, 0)))[:, reached]
            rates += share * np.array([own @ below[1], other @ below[0]])
        return min(1.0, float(rates[0])), min(1.0, float(rates[1]))  # sums may round up

    def loss(self, pair: Pair) -> float:
        """Loss of the cohorts in which the two values share the fewest bits: a one in all weeks at
        bits of the first value, and a zero in all weeks at bits of the second."""
        return max(
            float(a * self.ratios[-1] - b * self.ratios[0])
            for a, b, _ in classes(self.single, pair)
        )


@functools.lru_cache(maxsize=64)
def _sums(report_type: BloomWeeks, n: int) -> tuple[Array, Array]:
    """Sums of the levels of n bits, in order, and their probabilities if the bits are those of the
    value and if they are not, float array (2, sums)."""
    scores, chances = np.zeros(1), np.ones((2, 1))
    levels, at = np.unique(report_type.levels, return_inverse=True)
    single = [np.bincount(at, law) for law in report_type.counts]
    for _ in range(n):
        scores, at = np.unique(np.add.outer(scores, levels), return_inverse=True)
        chances = np.array(
            [
                np.bincount(at.ravel(), np.multiply.outer(*laws).ravel())
                for laws in zip(chances, single)
            ]
        )
    return scores, chances


@exact_distribution
@dataclass(frozen=True)
class RAPPOR(FrequencyOracle):
    """RAPPOR with a Bloom filter: a value has several bits, which get permanent noise and then
    fresh noise.

    Parameters
    ----------
    k : int
        Domain size, at least 2.
    epsilon : float
        Privacy budget of the permanent step, in [1e-6, 30], which holds for any number of reports;
        the paper calls it epsilon_infinity.
    m : int
        Number of bits of the Bloom filter, in [2, 2^16].
    h : int
        Number of hash functions of a cohort, in [1, 16].
    cohorts : int
        Number of cohorts, in [1, 2^16].
    keep, flip : float
        Probability that a one, and that a zero, of the permanent step is sent as a one, in [0, 1];
        1 and 0 send the permanent bits unchanged.
    tau : int, optional
        Number of reports of one user over weeks, in [1, 10^6], which are audited together; without
        it, a user sends one report.

    Notes
    -----
    A user belongs to a random cohort, whose `h` public hash functions determine the value's bits.
    The permanent step keeps every bit with probability ``1 - f/2``. Here ``epsilon = 2 h ln((2 - f)
    / f)`` is the loss of two values that share no bit; values that share bits have a smaller loss,
    see `Bloom.loss`. The instantaneous step sends a bit by `keep` and `flip`, which the paper calls
    q and p (Erlingsson et al. 2014). One report alone satisfies `first`, the epsilon_1 of the
    paper.

    Every user has one cohort and, for the value, permanent bits that are sampled once. With `tau`,
    one report of this client is all that a user sends in `tau` weeks about one value, ``bits`` of
    the shape (tau, m). Their loss grows with `tau` towards `epsilon`, see `BloomWeeks.loss`.

    A frequency is estimated from the reports in which all of the value's bits are set. Over weeks a
    bit counts as set if so many ones are likelier from a one of the permanent step. The estimate is
    unbiased over the choice of the functions. The paper fits a regression instead.
    """

    k: Domain
    epsilon: Epsilon
    m: Annotated[
        int,
        checks.rule(checks.integer, 2, 2**16),
        "Number of bits of the Bloom filter, in [2, 2^16].",
    ] = 128
    h: Annotated[
        int, checks.rule(checks.integer, 1, 16), "Number of hash functions of a cohort, in [1, 16]."
    ] = 2
    cohorts: Annotated[
        int, checks.rule(checks.integer, 1, 2**16), "Number of cohorts, in [1, 2^16]."
    ] = 64
    keep: Annotated[
        checks.Share,
        "Probability that a one of the permanent step is sent as a one, in [0, 1]; 1, with flip 0,"
        " sends the permanent bits unchanged.",
    ] = 1.0
    flip: Annotated[
        checks.Share, "Probability that a zero of the permanent step is sent as a one, in [0, 1]."
    ] = 0.0
    tau: Annotated[int | None, checks.rule(checks.integer, 1, MAX_ROUNDS)] = None

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
        checks.need(
            (self.tau or 1) * self.m <= 2**24,
            f"tau times m must be at most 2^24, got {self.tau} times {self.m}",
        )

    @property
    def f(self) -> float:
        """Probability that the permanent step replaces a bit by a fair coin."""
        return 2 / (1 + math.exp(self.epsilon / (2 * self.h)))

    @property
    def report_type(self) -> Bloom | BloomWeeks:
        """A cohort and bits, of one report or of all."""
        if self.tau is None:
            return self.single
        return BloomWeeks(self.single, self.tau, self.epsilon / (2 * self.h), self.keep, self.flip)

    @property
    def single(self) -> Bloom:
        """Report type of one report."""
        clear, kept = self.f / 2, 1 / (1 + math.exp(-self.epsilon / (2 * self.h)))
        own, other = (
            one * self.keep + none * self.flip for one, none in ((kept, clear), (clear, kept))
        )
        unset = kept * (1 - self.keep) + clear * (1 - self.flip)
        return Bloom(self.k, self.m, self.h, self.cohorts, own, other, unset)

    @property
    def first(self) -> float:
        """Largest loss of one report, which is that of two values that share no bit."""
        return float(self.single.strength(self.h, 0))

    @property
    def p(self) -> float:
        """Probability that all bits of the true value are set, under random hash functions."""
        return self._all_set(self.m)

    @property
    def q(self) -> float:
        """Probability that all bits of another value are set, under random hash functions."""
        sizes = _hit(self.h, self.m, self.m)[:, 0]  # distribution of the true value's bits
        return float(sum(n * self._all_set(covered) for covered, n in enumerate(sizes) if n))

    def _all_set(self, covered: int) -> float:
        """Probability that all bits of a value are set, if the true value has `covered` bits."""
        x, z = np.indices((self.h + 1, self.h + 1))
        own, other = self.report_type.own**x, self.report_type.other**z
        return float((_hit(self.h, self.m, covered) * own * other).sum())

    def perturb(self, values: ArrayLike, rng: Rng) -> Array:
        """Return a structured array (n,) with ``cohort`` and ``bits``; see `Mechanism.perturb`."""
        values, form = self._users(values, rng), self.report_type.form
        cohorts = rng.integers(0, self.cohorts, values.size)
        own = np.zeros((values.size, self.m), np.uint8)
        np.put_along_axis(own, self.single.places[cohorts, :, values], 1, 1)
        fair = rng.integers(0, 2, own.shape, np.uint8)
        permanent = np.where(rng.random(own.shape) < self.f, fair, own)
        rates = np.where(permanent, self.keep, self.flip)[:, None]  # the same rates every week
        bits = rng.random((values.size, self.tau or 1, self.m)) < rates
        return structured(form, cohort=cohorts, bits=bits.reshape(-1, *form["bits"].shape))
