"""Longitudinal protocols with permanent noise: chains of two rounds of noise, and dBitFlipPM."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

import numpy as np

from .. import checks
from ..guess_success import binomial, count_losses, count_wins, mean_fraction, mean_reciprocal
from ..reports import IndependentBits, ReportType, Response, Rounds
from ..reports.base import log_ratio, pick, shaped, won
from ..types import Array, ArrayLike, Input, Numbers, Pair, Rates, Reports, Rng
from .base import (
    MAX_ROUNDS,
    MIN_EPSILON,
    Domain,
    Epsilon,
    FrequencyOracle,
    checked_frequency,
    exact_distribution,
    support_estimate,
    support_variance,
)
from .grr import GRR, respond, response_rates
from .unary import OUE, SUE

__all__ = ["Chained", "BucketFlip", "ChainedResponse", "ChainedBits", "Buckets"]


# --- report types


@dataclass(frozen=True)
class ChainedResponse(Response):
    """A response to a memoised response, which is the same in all rounds.

    Each round reports the memoised value with probability `keep`, and each other value with
    probability `flip`.

    Parameters
    ----------
    k, p, q
        As in `Response`, for one round.
    memo : Response
        The memoised response.
    """

    memo: Response
    keep: float
    flip: float

    def rounds_success(self, tau: int) -> float:
        kept = Response(self.k, self.keep, self.flip).rounds_success(tau)
        return self.memo.p * kept + (1 - self.memo.p) * (1 - kept) / (self.k - 1)

    def rounds_failure(self, tau: int) -> float:
        lost = Response(self.k, self.keep, self.flip).rounds_failure(tau)
        return self.memo.p * lost + self.memo.absent * (1 - lost / (self.k - 1))

    def states(self, pair: Pair) -> list[tuple[float, float, float, float]]:
        p, q, others, keep, flip = self.memo.p, self.memo.q, self.k - 2, self.keep, self.flip
        return [  # the memoised value is the first of the pair, the second, or a third value
            (p, keep, flip, others * flip),
            (q, flip, keep, others * flip),
            (others * q, flip, flip, keep + (others - 1) * flip),
        ]


@dataclass(frozen=True)
class ChainedBits(IndependentBits):
    """Flipped copies of memoised bits, which are the same in all rounds.

    A round reports a one for a memoised one with probability `keep` and a zero with probability
    `lost`. It reports a one for a memoised zero with probability `flip`.

    Parameters
    ----------
    k, p, q
        As in `IndependentBits`, for one round.
    memo : IndependentBits
        The memoised bits.
    """

    memo: IndependentBits
    keep: float
    flip: float
    lost: float

    def _counts(self, tau: int) -> tuple[Array, Array]:
        """Distributions of the number of ones at the true value, and at another value."""
        ones, zeros = binomial(tau, self.lost)[::-1], binomial(tau, self.flip)
        memo = self.memo
        return memo.p * ones + memo.absent * zeros, memo.q * ones + (1 - memo.q) * zeros

    def rounds_success(self, tau: int) -> float:
        own, other = self._counts(tau)
        return won(own, count_wins(other, self.k))

    def rounds_failure(self, tau: int) -> float:
        own, other = self._counts(tau)
        return won(own, count_losses(other, self.k))

    def states(self, pair: Pair) -> list[tuple[float, float, float, float]]:
        memo, sent = self.memo, ((self.keep, self.lost), (self.flip, 1 - self.flip))
        return [  # of a memoised one or zero, at the first value of the pair and at the second
            (pa * pb, a * not_b, b * not_a, a * b + not_a * not_b)
            for pa, (a, not_a) in zip((memo.p, memo.absent), sent)
            for pb, (b, not_b) in zip((memo.q, 1 - memo.q), sent)
        ]


@dataclass(frozen=True)
class Buckets(ReportType):
    """Bits of the sampled buckets, int8 array (n, buckets), -1 where a bucket was not sampled.

    Parameters
    ----------
    k, buckets, bits : int
        Domain size, number of buckets of equal size, and number of buckets that each user samples.
    p, q : float
        Probability of a one at the true bucket, and at any other, if sampled; each is one minus the
        other.
    """

    k: int
    buckets: int
    bits: int
    p: float
    q: float
    name, exact = "buckets", True

    @property
    def size(self) -> int:
        """Values per bucket."""
        return self.k // self.buckets

    @property
    def width(self) -> int:
        return self.buckets

    def read(self, reports: Reports, sender: str) -> Array:
        reports = shaped(reports, (None, self.buckets), sender)
        checks.need(
            np.isin(reports, (-1, 0, 1)).all() and ((reports >= 0).sum(axis=1) == self.bits).all(),
            f"reports of {sender} must each hold {self.bits} bits, and -1 in all other buckets",
        )
        return reports

    def guess(self, reports: Array, rng: Rng) -> Array:
        """A uniform value of a uniform bucket among those whose bit is one, or among all buckets if
        there is none; int array (n,)."""
        bucket = pick((reports == 1).astype(np.uint8), rng.random(len(reports)))
        return bucket * self.size + rng.integers(0, self.size, len(bucket))

    def score(self, reports: Array, pair: Pair) -> Array:
        """1 if only the first value's bucket shows a one, -1 if only the second's does, else 0; int
        array (n,)."""
        one, two = ((reports[:, value // self.size] == 1).astype(np.int8) for value in pair)
        return one - two

    def guess_rates(self, pair: Pair) -> Rates:
        share, p, q, bits = self.bits / self.buckets, self.p, self.q, self.bits
        inside = share * p * mean_reciprocal(bits - 1, q)
        empty = share * q * p ** (bits - 1) + (1 - share) * p**bits
        success = (inside + empty / self.buckets) / self.size
        lost = share * (p * mean_fraction(bits - 1, q) + q) + (1 - share) - empty / self.buckets
        return success, lost / ((self.buckets - 1) * self.size)

    def score_rates(self, threshold: float, pair: Pair) -> Rates:
        p, q, share = self.p, self.q, self.bits / self.buckets
        both = self.bits * (self.bits - 1) / (self.buckets * (self.buckets - 1))
        return (share - both) * p + both * p * p, (share - both) * q + both * q * q

    def loss(self, pair: Pair) -> float:
        # with two bits, both buckets of the pair may be sampled
        return log_ratio(self.p, self.q) * min(self.bits, 2)


# --- mechanisms


@exact_distribution
@dataclass(frozen=True)
class Chained(FrequencyOracle):
    """Two rounds of noise: a permanent round, and a second round that is fresh in every collection.

    Parameters
    ----------
    k : int
        Domain size, at least 2.
    epsilon : float
        Budget of the permanent round, in [1e-6, 30], which holds for any number of collections.
    first : float
        Budget of the first report, smaller than `epsilon`.
    tau : int
        Number of collections, in [1, 10^6].
    protocol : {"SUE", "OSUE", "OUE", "GRR"}
        Protocols of the two rounds: SUE on SUE (RAPPOR), SUE on OUE, OUE on OUE, or GRR on GRR.

    Notes
    -----
    The second round is chosen so that one report alone satisfies `first` exactly. A second round of
    OUE reports a permanent one as a one with probability 1/2 only, therefore `first` is below
    ``ln((2 e^eps + 1) / 3)``. The GRR chain of multi-freq-ldpy adds more noise than needed; see the
    errata. Sources: Erlingsson et al. (2014); Arcolezi et al. (2022); LDP-Auditor, Appendix F.
    """

    k: Domain
    epsilon: Epsilon
    first: Annotated[float, "Budget of the first report, smaller than epsilon."]
    tau: Annotated[int, checks.rule(checks.integer, 1, MAX_ROUNDS)] = 1
    protocol: Annotated[str, checks.rule(checks.one_of, ("SUE", "OSUE", "OUE", "GRR"))] = "SUE"

    def __post_init__(self) -> None:
        super().__post_init__()
        most = self.epsilon
        if self.protocol == "OUE":  # the limit for flip = 0
            most = math.log1p(2 / 3 * math.expm1(self.epsilon))
        checks.fix(self, first=checks.real("first", self.first, MIN_EPSILON, most, closed="[)"))

    @property
    def name(self) -> str:
        return f"L-{self.protocol}"

    @property
    def permanent(self) -> GRR | SUE | OUE:
        """The mechanism of the permanent round."""
        family: dict[str, type[GRR | SUE | OUE]] = {"SUE": SUE, "OSUE": OUE, "OUE": OUE, "GRR": GRR}
        return family[self.protocol](self.k, self.epsilon)

    @property
    def report_type(self) -> Rounds:
        """Noisy copies of a memoised report."""
        chained: Any = ChainedResponse if self.protocol == "GRR" else ChainedBits
        given = self.k, self.p, self.q, self.permanent.report_type, *self.second
        more = {} if self.protocol == "GRR" else {"lost": self._lost, "absent": self._absent}
        return Rounds(chained(*given, **more), self.tau)

    @cached_property
    def second(self) -> Rates:
        """Probabilities ``(keep, flip)`` of the second round: that a one stays a one, and that a
        zero becomes a one."""
        p1, q1 = self.permanent.p, self.permanent.q
        e1, e = math.exp(self.first), math.exp(self.epsilon)
        if self.protocol == "GRR":
            p, q = response_rates(self.k, self.first)
            return (p - q1) / (p1 - q1), (q - q1) / (p1 - q1)
        if self.protocol == "OUE":  # solve p (1 - q) = e1 q (1 - p) of one report for flip
            square, linear = (1 - q1) * (e1 - 1) / 2, (e1 * (3 - 4 * q1) - 1) / 4
            constant = (2 - q1 - 3 * e1 * q1) / 8
            return 0.5, 2 * constant / (linear + math.sqrt(linear**2 - 4 * square * constant))
        if self.protocol == "SUE":
            once = SUE(self.k, self.first)
            return (once.p + p1 - 1) / (2 * p1 - 1), (once.q - q1) / (p1 - q1)
        more = e1 * math.expm1(self.epsilon - self.first)
        return (1 - e1 * e) / (e1 - e - e1 * e + 1), more / (e1 + 1) / math.expm1(self.epsilon)

    @property
    def p(self) -> float:
        """Probability that one report supports the true value."""
        keep, flip = self.second
        return self.permanent.p * keep + (1 - self.permanent.p) * flip

    @property
    def q(self) -> float:
        """Probability that one report supports one given other value."""
        keep, flip = self.second
        return self.permanent.q * keep + (1 - self.permanent.q) * flip

    @property
    def _lost(self) -> float:
        """Probability that a one becomes a zero in the second round."""
        return 0.5 if self.protocol == "OUE" else self.second[1]

    @property
    def _absent(self) -> float:
        """Probability of a zero at the true value of one report of bits."""
        form, flip = self.permanent.report_type, self.second[1]
        return form.p * self._lost + form.absent * (1 - flip)

    def perturb(self, values: ArrayLike, rng: Rng) -> list[Array]:
        """Return a list of `tau` arrays of reports; see `Mechanism.perturb`."""
        kept = self.permanent.perturb(values, rng)
        keep, flip = self.second
        if self.protocol == "GRR":
            return [respond(kept, self.k, keep, rng) for _ in range(self.tau)]
        return [
            (rng.random(kept.shape) < np.where(kept, keep, flip)).astype(np.uint8)
            for _ in range(self.tau)
        ]

    def estimate(self, reports: Sequence[Array]) -> Array:
        """Return the mean of the estimates of all rounds, shape (k,)."""
        counts = np.mean([self.permanent.support_counts(r) for r in self.read(reports)], axis=0)
        return support_estimate(counts, len(reports[0]), self.p, self.q)

    def variance(self, n: int, frequency: Numbers = 0.0) -> Numbers:
        """Return the variance of one estimated frequency; more collections reduce only the noise of
        the second round."""
        frequency = checked_frequency(frequency)
        kept = support_variance(self.permanent.p, self.permanent.q, frequency)
        total = support_variance(self.p, self.q, frequency)
        return (kept + (total - kept) / self.tau) / checks.integer("n", n, 1)


@exact_distribution
@dataclass(frozen=True)
class BucketFlip(FrequencyOracle):
    """dBitFlipPM: perturbed bits of some buckets of the domain, sampled once and sent every time.

    Parameters
    ----------
    k : int
        Domain size, at least 2.
    epsilon : float
        Privacy budget, in [1e-6, 30], which holds for any number of collections.
    buckets : int
        Number of buckets of equal size, at least 2, which divides `k`.
    bits : int
        Number of buckets on which each user reports, in [1, buckets].

    Notes
    -----
    Each user samples own buckets, and the report shows which. Reports are an int8 array (n,
    buckets) with -1 for a bucket that was not sampled (Ding, Kulkarni and Yekhanin 2017;
    LDP-Auditor, Appendix F). Estimates are frequencies of buckets.
    """

    k: Domain
    epsilon: Epsilon
    buckets: Annotated[int, "Number of buckets of equal size, at least 2, which divides k."]
    bits: Annotated[int, "Number of buckets on which each user reports, in [1, buckets]."]
    name = "dBitFlipPM"

    def __post_init__(self) -> None:
        super().__post_init__()
        buckets = checks.integer("buckets", self.buckets, 2, self.k)
        checks.need(self.k % buckets == 0, f"buckets must divide k = {self.k}, got {buckets}")
        checks.fix(self, buckets=buckets, bits=checks.integer("bits", self.bits, 1, buckets))

    @cached_property
    def report_type(self) -> Buckets:
        """Bits of the sampled buckets."""
        two = SUE(2, self.epsilon)
        return Buckets(self.k, self.buckets, self.bits, two.p, two.q)

    @property
    def size(self) -> int:
        """Values per bucket."""
        return self.report_type.size

    def pair(self, pair: Input = None) -> Pair:
        """Return two values of different buckets, because those of one bucket have the same
        distribution; see `Mechanism.pair`."""
        first, second = super().pair(pair)
        checks.need(
            first // self.size != second // self.size,
            f"pair must lie in two different buckets of {self.size} values, got {(first, second)}",
        )
        return first, second

    def perturb(self, values: ArrayLike, rng: Rng) -> Array:
        """Return bits, int8 array (n, buckets), -1 where not sampled; see `Mechanism.perturb`."""
        own = self._users(values, rng) // self.size
        rate = np.where(np.arange(self.buckets) == own[:, None], self.p, self.q)
        bits = (rng.random(rate.shape) < rate).astype(np.int8)
        sampled = rng.random(rate.shape).argpartition(self.bits - 1, axis=1)[:, : self.bits]
        out = np.full(rate.shape, -1, np.int8)
        np.put_along_axis(out, sampled, np.take_along_axis(bits, sampled, 1), 1)
        return out

    def estimate(self, reports: Reports) -> Array:
        """Return estimated bucket frequencies, shape (buckets,)."""
        reports = self.read(reports)
        sampled = np.maximum((reports >= 0).sum(axis=0), 1)
        return support_estimate((reports == 1).sum(axis=0), sampled, self.p, self.q)

    def variance(self, n: int, frequency: Numbers = 0.0) -> Numbers:
        """Return the variance of one estimated bucket frequency, if every bucket is sampled by ``n
        bits / buckets`` users."""
        frequency, sampled = checked_frequency(frequency), self.bits / self.buckets
        within = support_variance(self.p, self.q, frequency)
        between = (1 - sampled) * frequency * (1 - frequency)  # random choice of the users
        return (within + between) / (checks.integer("n", n, 1) * sampled)
