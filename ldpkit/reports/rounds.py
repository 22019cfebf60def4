"""Reports of several rounds: what each of them says is asked of its part."""

import functools
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
    """A uniform place among the largest numbers of each row, after moving them into ``[low,
    high]``."""
    n, k = vectors.shape
    guess, best = np.empty(n, np.int64), np.empty(k + 1, np.int64)
    for i in range(n):
        a = b = -np.inf  # two at a time: neither waits for the other
        for u in range(0, k - 1, 2):
            a = max(a, vectors[i, u])
            b = max(b, vectors[i, u + 1])
        top = min(max(a, b, vectors[i, k - 1], low), high)
        count = 0
        for u in range(k):  # every index is written, only ties advance: no branch
            best[count] = u
            count += min(max(vectors[i, u], low), high) == top
        guess[i] = best[int(rng.random() * count)]
    return guess


@dataclass(frozen=True)
class Rounds(Named, Scored):
    """`tau` reports about the same value, each with fresh noise: a list of arrays.

    The guess is the value that most rounds support; the score counts the rounds that support the
    first value only, minus those that support the second only.
    """

    part: Any
    tau: int
    name = "rounds"
    extreme: ClassVar[float | None] = None
    guess_route: ClassVar[str] = "convolve"
    score_route: ClassVar[str] = "convolve"

    @property
    def k(self) -> int:  # type: ignore[override]  # the part's
        return self.part.k

    @property
    def exact(self) -> bool:  # type: ignore[override]  # counts of supports have a law; other parts bring rounds of their own
        """Whether the law of the reports is known."""
        return isinstance(self.part, ExactSupport)

    @property
    def width(self) -> int:
        return self.tau * self.part.width

    def read(self, reports: Reports, sender: str) -> list[Array]:
        return listed(reports, [self.part] * self.tau, "rounds", sender)

    def guess(self, reports: list[Array], rng: Rng) -> Array:
        tally = np.zeros((len(reports[0]), self.k))
        for one in reports:
            tally += self.part.tally(one)
        return largest(tally, -np.inf, np.inf, rng)

    def score(self, reports: list[Array], pair: Pair) -> Array:
        return sum(self.part.score(one, pair).astype(int) for one in reports)

    # --- laws

    def wins(self) -> tuple[Array, Array] | None:
        """Law of the own value's count, and the chance of winning with each."""
        return self.part.wins(self.tau)

    def success(self) -> float | None:
        """Probability that the guess is the true value."""
        if (found := self.wins()) is None:
            return None
        own, wins = found
        return min(1.0, float(own @ wins))  # the sum may round up

    def states(self, pair: Pair) -> list[tuple[float, float, float]]:
        """States that last over all rounds, and in each the chances per round of a score of 1 and
        of -1."""
        return [(1.0, *self.part.score_rates(self.part.extreme, pair))]

    def thresholds(self) -> Array | None:
        return np.arange(0, self.tau + 1)

    def score_rates(self, threshold: float, pair: Pair) -> Rates | None:
        law, at = _difference_law(self, pair), int(threshold) + self.tau
        return min(1.0, float(law[at:].sum())), min(
            1.0, float(law[::-1][at:].sum())
        )  # sums may round up

    def loss(self, pair: Pair) -> float | None:
        """Of the event that every round supports the first value only; states that last are
        mixed."""
        weight, up, down = np.array(self.states(pair)).T
        with np.errstate(divide="ignore"):
            one, two = (
                scipy.special.logsumexp(self.tau * np.log(rate), b=weight) for rate in (up, down)
            )
        return float(one - two)


class Repeatable(ReportType):
    """A kind of which several reports make one."""

    def repeated(self, tau: int) -> Rounds:
        """The kind of `tau` reports about the same value, each with fresh noise."""
        return Rounds(self, tau)


@functools.lru_cache(maxsize=64)
def _difference_law(kind: Rounds, pair: Pair) -> Array:
    """Law of the score under the first input, on -tau..tau."""
    total = np.zeros(2 * kind.tau + 1)
    for weight, up, down in kind.states(pair):
        power, step, rounds = np.ones(1), np.array([down, 1 - up - down, up]), kind.tau
        while rounds:  # all terms are positive: no digits are lost
            if rounds & 1:
                power = np.convolve(power, step)
            step, rounds = np.convolve(step, step), rounds >> 1
        total += weight * power
    return total


@dataclass(frozen=True)
class ChainedValue(Rounds):
    """Rounds of randomised response on a remembered response: it stays with probability `keep`,
    else is any other."""

    keep: float
    flip: float

    def wins(self) -> tuple[Array, Array]:
        """As in `Rounds`, for the remembered value."""
        return binomial(self.tau, self.keep), response_wins(self.k, self.tau)

    def success(self) -> float:
        own, wins = self.wins()
        kept = min(1.0, float(own @ wins))
        return self.part.p * kept + (1 - self.part.p) * (1 - kept) / (self.k - 1)

    def states(self, pair: Pair) -> list[tuple[float, float, float]]:
        p, q = (
            self.part.p,
            self.part.q,
        )  # the remembered value is the first of the pair, the second, or a third
        return [
            (p, self.keep, self.flip),
            (q, self.flip, self.keep),
            (max(0.0, 1 - p - q), self.flip, self.flip),
        ]


@dataclass(frozen=True)
class ChainedBits(Rounds):
    """Rounds of flipped bits on remembered bits: a one stays with probability `keep`, a zero
    becomes one with `flip`."""

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
    """What the kind of the one report has by this name."""
    return property(lambda self: getattr(self.part, name))


@dataclass(frozen=True)
class Remembered(Rounds):
    """One report, drawn once and sent `tau` times: it says what one report says."""

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
