"""Reports of several rounds, each of which is read and scored by the report type of one round."""

import functools
import operator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy

from ..exact import binomial, count_wins, response_wins
from ..jit import kernel
from ..types import Array, Pair, Rates, Reports, Rng
from .base import ExactSupport, Named, ReportType, Scored, listed

__all__ = ["Rounds", "Remembered", "Repeatable", "ChainedValue", "ChainedBits", "largest"]


@kernel
def largest(vectors: Array, low: float, high: float, rng: Rng) -> Array:
    """Return a uniform place among the largest numbers of each row, after clipping the numbers to
    ``[low, high]``; int array (n,)."""
    n, k = vectors.shape
    guess, best = np.empty(n, np.int64), np.empty(k + 1, np.int64)
    for i in range(n):
        a = b = -np.inf  # two independent maxima, which the processor computes in parallel
        for u in range(0, k - 1, 2):
            a = max(a, vectors[i, u])
            b = max(b, vectors[i, u + 1])
        top = min(max(a, b, vectors[i, k - 1], low), high)
        count = 0
        for u in range(k):  # without a branch: every index is written, and kept for ties only
            best[count] = u
            count += min(max(vectors[i, u], low), high) == top
        guess[i] = best[int(rng.random() * count)]
    return guess


@dataclass(frozen=True)
class Rounds(Named, Scored):
    """`tau` reports about the same value, each with fresh noise: a list of arrays.

    The guess is the value that most rounds support. The score is the number of rounds that support
    the first value only, minus the number of rounds that support the second value only.
    """

    part: Any
    tau: int
    name = "rounds"
    extreme: ClassVar[float | None] = None
    guess_route: ClassVar[str] = "convolve"
    score_route: ClassVar[str] = "convolve"

    @property
    def k(self) -> int:  # type: ignore[override]  # follows from the part
        return self.part.k

    @property
    def exact(self) -> bool:  # type: ignore[override]  # depends on the part
        """Whether the exact distribution of the scores is known: for supports of independent
        rounds; other report types define their own rounds."""
        return isinstance(self.part, ExactSupport)

    @property
    def width(self) -> int:
        return self.tau * self.part.width

    def read(self, reports: Reports, sender: str) -> list[Array]:
        return listed(reports, [self.part] * self.tau, "rounds", sender)

    def guess(self, reports: list[Array], rng: Rng) -> Array:
        tally = np.zeros((len(reports[0]), self.k))
        for round_ in reports:
            tally += self.part.tally(round_)
        return largest(tally, -np.inf, np.inf, rng)

    def score(self, reports: list[Array], pair: Pair) -> Array:
        return sum(self.part.score(round_, pair).astype(int) for round_ in reports)

    # --- exact distributions

    def wins(self) -> tuple[Array, Array] | None:
        """Distribution of the number of rounds that support the own value, and for each number the
        probability that the guess is the own value; ``None`` if unknown."""
        return self.part.wins(self.tau)

    def success(self) -> float | None:
        """Probability that the guess is the true value."""
        if (known := self.wins()) is None:
            return None
        own, wins = known
        return min(1.0, float(own @ wins))  # the sum may round up

    def states(self, pair: Pair) -> list[tuple[float, float, float]]:
        """Hidden states that stay the same in all rounds: their probabilities under the first
        input, and in each state the probabilities that one round scores 1 and that it scores -1."""
        return [(1.0, *self.part.score_rates(self.part.extreme, pair))]

    def thresholds(self) -> Array | None:
        return np.arange(0, self.tau + 1)

    def score_rates(self, threshold: float, pair: Pair) -> Rates | None:
        scores, at = _difference_distribution(self, pair), int(threshold) + self.tau
        tpr, fpr = float(scores[at:].sum()), float(scores[::-1][at:].sum())
        return min(1.0, tpr), min(1.0, fpr)  # sums may round up

    def loss(self, pair: Pair) -> float | None:
        """Log likelihood ratio of the event that every round supports the first value only,
        averaged over the hidden states."""
        weight, up, down = np.array(self.states(pair)).T
        with np.errstate(divide="ignore"):
            one, two = (
                scipy.special.logsumexp(self.tau * np.log(rate), b=weight) for rate in (up, down)
            )
        return float(one - two)


class Repeatable(ReportType):
    """A report type that can be collected several times about the same value."""

    def repeated(self, tau: int) -> Rounds:
        """Report type of `tau` reports about the same value, each with fresh noise."""
        return Rounds(self, tau)


@functools.lru_cache(maxsize=64)
def _difference_distribution(report_type: Rounds, pair: Pair) -> Array:
    """Distribution of the score under the first input, on -tau..tau."""
    total = np.zeros(2 * report_type.tau + 1)
    for weight, up, down in report_type.states(pair):
        power, step, rounds = np.ones(1), np.array([down, 1 - up - down, up]), report_type.tau
        while rounds:  # all terms are positive, therefore no digits are lost
            if rounds & 1:
                power = np.convolve(power, step)
            step, rounds = np.convolve(step, step), rounds >> 1
        total += weight * power
    return total


@dataclass(frozen=True)
class ChainedValue(Rounds):
    """Rounds of randomised response on a memoised response: each round reports the memoised value
    with probability `keep`, and each other value with probability `flip`."""

    keep: float
    flip: float

    def wins(self) -> tuple[Array, Array]:
        """As in `Rounds`, with the memoised value instead of the own value."""
        return binomial(self.tau, self.keep), response_wins(self.k, self.tau)

    def success(self) -> float:
        own, wins = self.wins()
        kept = min(1.0, float(own @ wins))
        return self.part.p * kept + (1 - self.part.p) * (1 - kept) / (self.k - 1)

    def states(self, pair: Pair) -> list[tuple[float, float, float]]:
        p, q = self.part.p, self.part.q
        return [  # the memoised value is the first of the pair, the second, or a third value
            (p, self.keep, self.flip),
            (q, self.flip, self.keep),
            (max(0.0, 1 - p - q), self.flip, self.flip),
        ]


@dataclass(frozen=True)
class ChainedBits(Rounds):
    """Rounds of flipped bits on memoised bits: a round reports a one for a memoised one with
    probability `keep`, and for a memoised zero with probability `flip`."""

    keep: float
    flip: float

    def wins(self) -> tuple[Array, Array]:
        ones, zeros = binomial(self.tau, self.keep), binomial(self.tau, self.flip)
        own, other = (rate * ones + (1 - rate) * zeros for rate in (self.part.p, self.part.q))
        return own, count_wins(other, self.k)

    def states(self, pair: Pair) -> list[tuple[float, float, float]]:
        p, q, rate = self.part.p, self.part.q, {1: self.keep, 0: self.flip}
        return [(pa * pb, rate[a] * (1 - rate[b]), rate[b] * (1 - rate[a]))
                for a, pa in ((1, p), (0, 1 - p)) for b, pb in ((1, q), (0, 1 - q))]  # fmt: skip


def _of_part(name: str) -> Any:
    """Property with the value of the same attribute of the report type of one report."""
    return property(operator.attrgetter(f"part.{name}"))


@dataclass(frozen=True)
class Remembered(Rounds):
    """One memoised report that is sent `tau` times, and therefore is as much evidence as one
    report."""

    name = "remembered"
    exact = _of_part("exact")
    extreme = _of_part("extreme")
    guess_route = _of_part("guess_route")
    score_route = _of_part("score_route")
    guess_rates = _of_part("guess_rates")
    score_rates = _of_part("score_rates")
    thresholds = _of_part("thresholds")
    loss = _of_part("loss")

    def guess(self, reports: list[Array], rng: Rng) -> Array:
        return self.part.guess(reports[0], rng)

    def score(self, reports: list[Array], pair: Pair) -> Array:
        return self.part.score(reports[0], pair)
