"""Reports of several rounds, each of which is read and scored by the report type of one round."""

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from ..jit import kernel
from ..types import Array, Pair, Rates, Reports, Rng
from .base import ReportType, listed

__all__ = ["Rounds", "largest"]


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
class Rounds(ReportType):
    """`tau` reports about the same value: a list of arrays.

    The guess is the value that most rounds support. The score is the number of rounds that support
    the first value only, minus the number of rounds that support the second value only. If one
    report is as much evidence as all rounds (`whole`), guess and score are those of this report.

    Parameters
    ----------
    part : ReportType
        Report type of one round. It states what several rounds add up to, by `rounds_exact`,
        `rounds_route`, `rounds_success`, `states` and `pooled`.
    tau : int
        Number of rounds.
    memoised : bool
        Whether all rounds send the same report, instead of a report with fresh noise each.
    """

    part: Any
    tau: int
    memoised: bool = False
    name = "rounds"

    @property
    def k(self) -> int:  # type: ignore[override]  # follows from the part
        return self.part.k

    @property
    def exact(self) -> bool:  # type: ignore[override]  # depends on the part
        """Whether the exact distribution of the scores is known."""
        return bool(self.part.exact if self.memoised else self.part.rounds_exact)

    @property
    def width(self) -> int:
        return self.tau * self.part.width

    @property
    def whole(self) -> ReportType | None:
        """Type of one report that is as much evidence as all rounds; ``None`` if the rounds are
        counted."""
        return self.part if self.memoised else self.part.pooled(self.tau)

    def read(self, reports: Reports, sender: str) -> list[Array]:
        return listed(reports, [self.part] * self.tau, "rounds", sender)

    def _tally(self, reports: list[Array]) -> Array:
        tally = np.zeros((len(reports[0]), self.k))
        for round_ in reports:
            tally += self.part.tally(round_)
        return tally

    def _pooled(self, reports: list[Array]) -> Array:
        """The reports of type `whole`."""
        return reports[0] if self.memoised else self._tally(reports) / self.tau

    def guess(self, reports: list[Array], rng: Rng) -> Array:
        if self.whole:
            return self.whole.guess(self._pooled(reports), rng)
        return largest(self._tally(reports), -np.inf, np.inf, rng)

    def score(self, reports: list[Array], pair: Pair) -> Array:
        if self.whole:
            return self.whole.score(self._pooled(reports), pair)
        return sum(self.part.score(round_, pair).astype(int) for round_ in reports)

    # --- exact distributions

    @property
    def guess_route(self) -> str:  # type: ignore[override]  # depends on the part
        """How `guess_rates` are computed."""
        return self.whole.guess_route if self.whole else self.part.rounds_route

    @property
    def score_route(self) -> str:  # type: ignore[override]  # depends on the part
        """How `score_rates` are computed."""
        return self.whole.score_route if self.whole else "convolve"

    def success(self) -> float | None:
        return self.whole.success() if self.whole else self.part.rounds_success(self.tau)

    def guess_rates(self, pair: Pair) -> Rates | None:
        return self.whole.guess_rates(pair) if self.whole else super().guess_rates(pair)

    def guess_count(self, trials: int, truth: bool, pair: Pair, rng: Rng) -> int:
        if self.guess_route == "simulate":
            return self.part.simulated(trials, truth, self.tau, rng)
        return super().guess_count(trials, truth, pair, rng)

    def thresholds(self) -> Array:
        return self.whole.thresholds() if self.whole else np.arange(0, self.tau + 1)

    def score_rates(self, threshold: float, pair: Pair) -> Rates | None:
        if self.whole:
            return self.whole.score_rates(threshold, pair)
        scores, at = _difference_distribution(self, pair), int(threshold) + self.tau
        tpr, fpr = float(scores[at:].sum()), float(scores[::-1][at:].sum())
        return min(1.0, tpr), min(1.0, fpr)  # sums may round up

    def loss(self, pair: Pair) -> float | None:
        """Log likelihood ratio of the event that every round supports the first value only,
        averaged over the hidden states."""
        if self.whole:
            return self.whole.loss(pair)
        weight, up, down = np.array(self.part.states(pair)).T
        with np.errstate(divide="ignore"):
            one, two = (
                scipy.special.logsumexp(self.tau * np.log(rate), b=weight) for rate in (up, down)
            )
        return float(one - two)


@functools.lru_cache(maxsize=64)
def _difference_distribution(report_type: Rounds, pair: Pair) -> Array:
    """Distribution of the score under the first input, on -tau..tau."""
    total = np.zeros(2 * report_type.tau + 1)
    for weight, up, down in report_type.part.states(pair):
        power, step, rounds = np.ones(1), np.array([down, 1 - up - down, up]), report_type.tau
        while rounds:  # all terms are positive, therefore no digits are lost
            if rounds & 1:
                power = np.convolve(power, step)
            step, rounds = np.convolve(step, step), rounds >> 1
        total += weight * power
    return total
