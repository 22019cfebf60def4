"""Report types that are made of others: several rounds about one value, and several attributes."""

import functools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from .. import checks
from ..jit import kernel
from ..rng import State, first_state, next_uniform, next_word
from ..types import Array, Pair, Rates, Reports, Rng
from .base import BOTH, FIRST, NEITHER, SECOND, ExactSupport, ReportType, listed, ones

__all__ = ["Attributes", "Rounds", "largest"]


@kernel
def largest(vectors: Array, low: float, high: float, uniforms: Array) -> Array:
    """Return a uniform place among the largest numbers of each row, after clipping the numbers to
    ``[low, high]``; int array (n,). Each row has a uniform number in [0, 1) that chooses."""
    n, k = vectors.shape
    guess, best = np.empty(n, np.int64), np.empty(k + 1, np.int64)
    for i in range(n):
        a = b = -np.inf  # two independent maxima, which the processor computes in parallel
        for u in range(0, k - 1, 2):
            a = max(a, vectors[i, u])
            b = max(b, vectors[i, u + 1])
        top, count = min(max(a, b, vectors[i, k - 1], low), high), 0
        for u in range(k):  # without a branch: every index is written, and kept for ties only
            best[count] = u
            count += min(max(vectors[i, u], low), high) == top
        guess[i] = best[int(uniforms[i] * count)]
    return guess


@kernel
def rounds_won(
    trials: int, k: int, omega: int, p: float, tau: int, truth: bool, state: State
) -> int:
    """Simulate all subsets of `tau` rounds for `trials` users who hold the first audited value
    (`truth`) or the second; return how many guesses are the first value.

    The counts of supports have no simple exact distribution, therefore the rounds are simulated,
    with 64 values in one word. A round starts with independent bits at about the right rate. Then
    random values leave or join until the size is right, so all subsets of that size are equally
    likely. ``digits[b]`` holds the b-th binary digits of all counts. The true value has its own
    count, and the other audited value is the first of the rest.
    """
    one, others, hits = np.uint64(1), k - 1, 0
    width, depth = (others + 63) // 64, int(math.log2(tau)) + 1
    members, digits = np.empty(width, np.uint64), np.empty((depth, width), np.uint64)
    valid = np.full(width, ~np.uint64(0))
    valid[-1] >>= np.uint64(64 * width - others)
    for _ in range(trials):
        own = 0
        digits[:] = 0
        for _ in range(tau):
            u, state = next_uniform(state)
            member = u < p
            own += member
            wanted, found = omega - member, 0
            rate = min(31, (32 * wanted + others // 2) // others)
            for w in range(width):
                bits = np.uint64(0)
                # each step halves the rate and adds a digit of it
                for b in range(5 if rate else 0):
                    word, state = next_word(state)
                    bits = bits | word if (rate >> b) & 1 else bits & word
                members[w] = bits & valid[w]
                found += ones(members[w])
            leave, step = (one, -1) if found > wanted else (one ^ one, 1)
            while found != wanted:  # without branches, because half of them would be unforeseen
                u, state = next_uniform(state)
                at = np.uint64(np.int64(u * others))
                slot, place = at >> np.uint64(6), at & np.uint64(63)
                moves = one ^ leave ^ ((members[slot] >> place) & one)
                members[slot] ^= moves << place
                found += step * int(moves)
            for w in range(width):
                carry = members[w]
                for b in range(depth):
                    digits[b, w], carry = digits[b, w] ^ carry, digits[b, w] & carry
        top = 0
        members[:] = valid
        for b in range(depth - 1, -1, -1):  # keep the values whose next digit is one, if any
            kept = 0
            for w in range(width):
                kept += ones(members[w] & digits[b, w])
            if kept:
                top |= 1 << b
                for w in range(width):
                    members[w] &= digits[b, w]
        ties = 1 if own == top else 0
        for w in range(width):
            ties += ones(members[w])
        named = own >= top if truth else own <= top and (members[0] & one) != 0
        u, state = next_uniform(state)
        hits += named and (own > top or u * ties < 1)
    return hits


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
        `rounds_route`, `rounds_success`, `rounds_failure`, `states` and `pooled`.
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
        total = np.zeros((len(reports[0]), self.k))
        for round_ in reports:
            total += self.part.tally(round_)  # in place: new memory costs more than the addition
        return total

    def _pooled(self, reports: list[Array]) -> Array:
        """The reports of type `whole`."""
        return reports[0] if self.memoised else self._tally(reports) / self.tau

    def guess(self, reports: list[Array], rng: Rng) -> Array:
        if self.whole:
            return self.whole.guess(self._pooled(reports), rng)
        total = self._tally(reports)
        return largest(total, -np.inf, np.inf, rng.random(len(total)))

    def score(self, reports: list[Array], pair: Pair) -> Array:
        return (
            self.whole.score(self._pooled(reports), pair)
            if self.whole
            else sum(self.part.score(round_, pair).astype(int) for round_ in reports)
        )

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

    def failure(self) -> float | None:
        return self.whole.failure() if self.whole else self.part.rounds_failure(self.tau)

    def guess_rates(self, pair: Pair) -> Rates | None:
        return self.whole.guess_rates(pair) if self.whole else super().guess_rates(pair)

    def count(self, trials: int, truth: bool, rates: Rates | None, rng: Rng) -> int:
        if rates is None and self.guess_route == "simulate":
            k, omega, p = self.part.k, self.part.omega, self.part.p  # of a `Selection`
            return rounds_won(trials, k, omega, p, self.tau, bool(truth), first_state(rng))
        return super().count(trials, truth, rates, rng)

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
        weight, up, down, _ = np.array(self.part.states(pair)).T
        with np.errstate(divide="ignore"):
            one, two = (
                scipy.special.logsumexp(self.tau * np.log(rate), b=weight) for rate in (up, down)
            )
        return float(one - two)


@functools.lru_cache(maxsize=64)
def _difference_distribution(report_type: Rounds, pair: Pair) -> Array:
    """Distribution of the score under the first input, on -tau..tau."""
    total = np.zeros(2 * report_type.tau + 1)
    for weight, up, down, neither in report_type.part.states(pair):
        power, step, rounds = np.ones(1), np.array([down, neither, up]), report_type.tau
        while rounds:  # all terms are positive, therefore no digits are lost
            if rounds & 1:
                power = np.convolve(power, step)
            step, rounds = np.convolve(step, step), rounds >> 1
        total += weight * power
    return total


@dataclass(frozen=True)
class Attributes(ReportType):
    """A list of arrays, one per attribute; the sampled attribute, which depends on the record, is
    secret.

    Parameters
    ----------
    parts : tuple of ExactSupport
        Report type of each attribute if it is the sampled one.
    fake : tuple of 4 floats
        Probabilities of the symbols of `ExactSupport.pair_distribution` in a fake report.
    """

    parts: tuple[ExactSupport, ...]
    fake: tuple[float, float, float, float]
    name, exact, score_route = "tuple", True, "enumerate"

    @property
    def k(self) -> int:  # type: ignore[override]  # the values that every attribute has
        return min(self.sizes)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Domain size of each attribute."""
        return tuple(part.k for part in self.parts)

    @property
    def width(self) -> int:
        return sum(self.sizes)

    def read(self, reports: Reports, sender: str) -> list[Array]:
        return listed(reports, self.parts, "components", sender)

    def guess(self, reports: list[Array], rng: Rng) -> Array:
        """The guess from the report on one attribute, which is chosen uniformly for each user."""
        guesses = [part.guess(r, rng) for part, r in zip(self.parts, reports)]
        chosen = rng.integers(0, len(guesses), len(guesses[0]))
        return np.choose(chosen.astype(np.intp), guesses)

    def score(self, reports: list[Array], pair: Pair) -> Array:
        """Likelihood ratio of the whole report; float array (n,)."""
        one, two = (
            np.stack([part.supports(r, value) for part, r in zip(self.parts, reports)])
            for value in pair
        )
        symbols = one & ~two, two & ~one, one & two, ~(one | two)  # in the order of `fake`
        return _ratio(self, [symbol.sum(axis=0) for symbol in symbols])

    def guess_rates(self, pair: Pair) -> Rates:
        d = len(self.parts)
        successes = [part.success() / d + (1 - 1 / d) / part.k for part in self.parts]
        others = [(1 - success) / (size - 1) for success, size in zip(successes, self.sizes)]
        return float(np.mean(successes)), float(np.mean(others))

    def thresholds(self) -> Array:
        checks.need(
            len(set(self.sizes)) == 1,
            f"k must be the same for all attributes in the tight test, got k = {self.sizes}",
        )
        return np.unique(_ratio_distribution(self)[0])

    def score_rates(self, threshold: float, pair: Pair) -> Rates:
        ratio, one, two = _ratio_distribution(self)
        inside = ratio >= threshold
        return min(1.0, float(one[inside].sum())), min(1.0, float(two[inside].sum()))

    def loss(self, pair: Pair) -> float:
        return float(np.log(self.thresholds().max()))

    def _weights(self) -> Array:
        """Probabilities of the sampled report's symbols under either input, divided by those of a
        fake report, shape (2, 4)."""
        sampled, fake = np.asarray(self.parts[0].pair_distribution()), np.array(self.fake)
        base = np.array([sampled, sampled[[SECOND, FIRST, BOTH, NEITHER]]])
        return np.divide(base, fake, out=np.zeros((2, 4)), where=fake > 0)


def _ratio(report_type: Attributes, counts: Iterable[Array]) -> Array:
    """Likelihood ratio of reports with these counts of each symbol, in the order of `fake`."""
    one, two = (sum(n * w for n, w in zip(counts, side)) for side in report_type._weights())
    return np.round(one / two, 12)  # makes ratios equal that differ by the order of summation only


@functools.lru_cache(maxsize=64)
def _ratio_distribution(report_type: Attributes) -> tuple[Array, Array, Array]:
    """Likelihood ratios of all possible counts of the symbols, and their probabilities under either
    input."""
    fake, d = np.array(report_type.fake), len(report_type.parts)
    counts = np.array([(a, b, c, d - a - b - c) for a in range(d + 1) for b in range(d + 1 - a)
                       for c in range(d + 1 - a - b)])  # fmt: skip
    counts = counts[((fake > 0) | (counts == 0)).all(axis=1)]
    ways = scipy.special.gammaln(d + 1) - scipy.special.gammaln(counts + 1).sum(axis=1)
    # multinomial probability if all components were fake
    mass = np.exp(ways + counts @ np.log(fake, out=np.zeros(4), where=fake > 0))
    one, two = (mass * (counts @ side) / d for side in report_type._weights())
    return _ratio(report_type, counts.T), one, two
