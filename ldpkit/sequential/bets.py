"""Bets on what counts of the past promise, round by round, against every claim of a grid.

In each round a fair coin chooses one of k inputs, and the client makes a report of it. Question d
is about events that are likelier with input d than with the others. A strategy names a set of
reports S_d for each question before it sees the report, stakes l_d, and weights w_d of the other
inputs, which sum to 1. With E = exp(epsilon) it multiplies its wealth by

    factor(x) = (1 + l_x [report in S_x] - E sum_d w_d(x) l_d [report in S_d]) / D

if the report is of input x, where D = 1 + (sum_d l_d) delta/k.

*Proof that the bet is fair.* No factor is negative, because the stakes are such that
E sum_d w_d(x) l_d stays below 1 for all x. Given everything before, let p_d(x) be the probability
of S_d with input x. The coin is fair, so that D times the conditional mean of the factor is

    1 + sum_d l_d (p_d(d) - E sum_x w_d(x) p_d(x)) / k.

The claim implies p_d(d) <= E p_d(x) + delta for all x. The mean is therefore at most
1 + (sum_d l_d) delta/k = D. Nothing was assumed of other reports, nor that the sets are disjoint.

Recordings have no coin: a round takes one report of each input. The mean of the k factors is fair
whatever the reports depend on. Their product is fair if the reports of a round are independent,
because the product of k means is at most the k-th power of their average.

Sets, stakes, weights and shares of the strategies depend on earlier blocks; the stakes on unions
depend on earlier rounds, too. Each wealth is a supermartingale, and so is the sum. By Ville's
inequality the sum exceeds 1/alpha at any time with probability at most alpha.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..jit import kernel
from ..types import Array
from .counts import Ranking
from .ranking import MOST, spread, stake

__all__ = ["Bets", "PRIOR", "STRATEGIES", "block_end", "dealt"]

_TOPS = ((0, 0.4), (0, 1.0), (1, 1.0), (2, 1.0))
"""The best event: of the past, of the last block, or a couple; nats times log(events) it needs."""
_UNIONS = ((0, 0.6), (0, 1.2), (0, 2.4), (0, 4.8), (0, 9.6), (1, 2.4), (1, 6.8))
"""All rare events that promise at least so many nats: of the past, or of the last block."""

STRATEGIES = (
    "the best event", "the best event that promises much", "the best event of the last block",
    "the best couple of columns", *(f"rare events from {nats} nats on" for _, nats in _UNIONS[:5]),
    *(f"rare events of the last block from {nats} nats on" for _, nats in _UNIONS[5:]), "no bet",
)  # fmt: skip
"""The strategies in words."""

PRIOR = np.array([*[0.8 / 11] * 11, 0.2])
"""Shares of the strategies at the start; the last one keeps its wealth."""

_POWER, _AGAIN, _KEEP, _CAUTION = 2.0, 0.01, 0.9, 0.7
_FIRST, _SHORTEST, _LONGEST, _AT_ONCE = 16, 8, 4096, 128  # reports
_NEW = np.array([1.0, 0.1])  # hits of a union with the likelier input and with each other


def block_end(reports: int) -> int:
    """Return when the block ends that begins after so many reports: it is half as long as all
    before, but of 8 to 4,096 reports, and the first one of 16."""
    return max(_FIRST, min(max(reports + _SHORTEST, 3 * reports // 2), reports + _LONGEST))


def dealt(prior: Array, own: Array) -> Array:
    """Return logarithms of the shares of bets, of which the last axis is the claims, from those at
    the start and from what each has won: see `Bets.settle`."""
    powers, axes = prior + _POWER * own, tuple(range(own.ndim - 1))
    shares = np.exp(powers - np.logaddexp.reduce(powers, axis=axes))
    return np.asarray(np.log((1 - _AGAIN) * shares + _AGAIN * np.exp(prior)))


@kernel
def place(
    rates: Array, sizes: Array, caution: float, d: int, grown: Array, low: int, delta: float,
    weights: Array, raw: Array,
) -> None:  # fmt: skip
    """Weights and stakes of a question on an event that has these rates in so many reports, drawn
    towards each other by so many standard errors; stakes against claims from number `low` on."""
    others, p, q = spread(rates, sizes, d, weights), 0.0, 0.0
    for x in range(rates.size):
        error = math.sqrt(max(rates[x] * (1 - rates[x]), 0.0) / max(sizes[x], 1.0))
        q += weights[x] * (rates[x] + caution * error)
        if x == d:
            p = rates[x] - caution * error
    for c in range(low, grown.size):
        new = stake(p, q, grown[c], delta, others)
        if new == 0.0 and raw[c] == 0.0:  # and so against all larger claims
            break
        raw[c] = new


@kernel
def bounded(raw: Array, weights: Array, grown: Array, low: int, placed: Array) -> int:
    """Lower the stakes of all questions (k, claims) until no report could cost everything, against
    claims from number `low` on; return the number of the first claim against which none is left."""
    k = weights.shape[0]
    for c in range(low, grown.size):
        most, total, before = 0.0, 0.0, 0.0
        for x in range(k):
            load = 0.0
            for d in range(k):
                load += weights[d, x] * raw[d, c]
            most = max(most, load)
            total += raw[x, c]
            before += placed[x, c]
        if total == 0.0 and before == 0.0:
            return c
        scale = min(1.0, MOST / max(grown[c] * most, MOST))
        for d in range(k):
            placed[d, c] = scale * raw[d, c]
    return grown.size


@kernel
def play(
    flags: Array, sides: Array, rounds: Array, grown: Array, delta: float, active: Array,
    raw: Array, weights: Array, placed: Array, hits: Array, seen: Array, shown: Array, start: Array,
    won: Array, total: Array,
) -> None:  # fmt: skip
    """Multiply the wealth `won` (strategies, claims) by the factors of rounds.

    `rounds` holds the number of reports of a round, whether their factors are multiplied, and the
    number of the first claim that is still bet against. `active` (strategies, k) says which
    questions are bet on, `raw` and `placed` (strategies, k, claims) are stakes before and after
    they were bounded, `weights` (strategies, k, k) those of the inputs in each question, `hits`
    (strategies, k, k) how often each input showed its set in `seen` reports. Strategies that start
    with a positive record of hits adapt their stakes to it. `shown` (strategies, k, k) counts as
    `hits` does, of all strategies. `total` receives the wealth against the first of these claims
    after every round, of strategies that began with `start`.
    """
    k, size, product, low = flags.shape[1], rounds[0], rounds[1] == 1, rounds[2]
    now, each, rates, sizes = np.empty(grown.size), np.empty(grown.size), np.empty(k), np.empty(k)
    ends = np.full(won.shape[0], grown.size)
    for s in range(won.shape[0]):
        ends[s] = bounded(raw[s], weights[s], grown, low, placed[s])
    for n in range(total.size):
        total[n] = start[-1]
        for s in range(won.shape[0]):
            bit, any_shown, end = np.uint16(1 << s), False, ends[s]
            for i in range(n * size, n * size + size):
                for d in range(k):
                    any_shown |= flags[i, d] & bit != 0
            if end > low and (any_shown or delta > 0):
                now[low:end] = 1.0 if product else 0.0
                for i in range(n * size, n * size + size):
                    x, each[low:end] = sides[i], 1.0
                    for d in range(k):
                        if flags[i, d] & bit != 0:
                            for c in range(low, end):
                                change = 1.0 if d == x else -grown[c] * weights[s, d, x]
                                each[c] += change * placed[s, d, c]
                    for c in range(low, end):
                        if delta > 0:
                            each[c] /= 1 + placed[s, :, c].sum() * delta / k
                        now[c] = now[c] * each[c] if product else now[c] + each[c] / size
                for c in range(low, end):
                    won[s, c] *= now[c]
            total[n] += start[s] * won[s, low]
        seen[0] += size
        for s in range(won.shape[0]):
            bit, changed = np.uint16(1 << s), False
            for i in range(n * size, n * size + size):
                for d in range(k):
                    if flags[i, d] & bit != 0:
                        shown[s, d, sides[i]] += 1
                        if hits[s, d, d] > 0:
                            hits[s, d, sides[i]] += 1
                            changed = True
            if changed:
                for d in range(k):
                    if active[s, d]:
                        rates[:] = k * hits[s, d] / seen[0]
                        sizes[:] = seen[0] / k
                        place(rates, sizes, 0.0, d, grown, low, delta, weights[s, d], raw[s, d])
                ends[s] = bounded(raw[s], weights[s], grown, low, placed[s])


class Bets:
    """Wealth of all strategies against every epsilon of a grid.

    Parameters
    ----------
    grid : float array (g,)
        Claims that are bet against.
    delta : float
    inputs : int
        How many there are.
    size : int
        Reports of a round: 1 where a coin chose the input, as many as inputs in recordings.
    product : bool
        Whether the factors of a round's reports are multiplied; otherwise they are averaged.

    Attributes
    ----------
    shares, now, own : arrays (12, g)
        Logarithms by strategy: shares of the wealth at the start of the block, what each has won
        since, and what each has won before.
    asked : float array (k,)
        Reports of each input that were bet on.
    """

    def __init__(
        self, grid: Array, delta: float, inputs: int = 2, size: int = 1, product: bool = False
    ) -> None:
        self.grown, self.delta = np.exp(grid), delta
        self._rounds = np.array([size, size == 1 or product])
        shape, bets = (PRIOR.size, grid.size), PRIOR.size - 1
        self.base, self.now, self.own = np.zeros(grid.size), np.zeros(shape), np.zeros(shape)
        self.shares = np.repeat(np.log(PRIOR)[:, None], grid.size, axis=1)
        self._raw, self._placed = (np.zeros((bets, inputs, grid.size)) for _ in range(2))
        self._weights, self._hits = (np.zeros((bets, inputs, inputs)) for _ in range(2))
        self._new = np.where(np.eye(inputs, dtype=bool), *_NEW)
        self._hits[len(_TOPS) :] = self._new
        self._seen, self.asked = np.zeros(1), np.zeros(inputs)
        self._shown, self._since = (np.zeros((bets, inputs, inputs)) for _ in range(2))
        self._active = np.zeros((bets, inputs), bool)
        self.chosen: list[tuple[Array, int, int]] = []

    @property
    def log(self) -> Array:
        """Logarithm of the wealth against every claim."""
        return self.base + np.logaddexp.reduce(self.shares + self.now, axis=0)

    def leader(self, at: int) -> tuple[int, list[tuple[Array, int]]]:
        """Return the number of the strategy that has won most against one claim, and the events
        that it bets on now with their questions, the most promising first."""
        best = int(np.argmax((self.own + self.now)[:-1, at]))
        events = [(row, d) for row, d, strategy in self.chosen if strategy == best]
        return best, sorted(events, key=lambda event: -event[0][0])

    def seen(self, strategy: int, question: int) -> tuple[Array, Array]:
        """How many reports of each input showed what a strategy bets on, and of how many, since it
        chose that event; of unions, which change all the time, since the beginning."""
        asked = self.asked - self._since[strategy, question]
        return self._shown[strategy, question].copy(), asked

    def trace(self, flags: Array, sides: Array, at: int) -> Array:
        """The logarithm of the wealth against one claim after each round that could be played."""
        one = slice(at, at + 1)
        placed = (self._raw[:, :, one], self._weights, self._placed[:, :, one])
        copies = [array.copy() for array in (*placed, self._hits, self._seen, self._shown)]
        log = (self.shares + self.now)[:, one]
        return self._played(flags, sides, self.grown[one], copies, log)[1] + self.base[at]

    def play(self, flags: Array, sides: Array, low: int = 0) -> None:
        """Bet on rounds, one after the other.

        Parameters
        ----------
        flags : uint16 array (n, k)
            As `Counts.see` returns them.
        sides : int array (n,)
            The input of each report.
        low : int
            The number of the first claim of the grid that is still bet against.
        """
        state = self._raw, self._weights, self._placed, self._hits, self._seen, self._shown
        log = self.shares + self.now
        self.now[:-1] += self._played(flags, sides, self.grown, state, log, low)[0]
        self.asked += np.bincount(sides, minlength=self.asked.size)

    def _played(
        self, flags: Array, sides: Array, grown: Array, state: Any, log: Array, low: int = 0
    ) -> tuple[Array, Array]:
        """What strategies win, and the wealth of all of them after each round against claim number
        `low`."""
        size, gained, totals = int(self._rounds[0]), np.zeros(log[:-1].shape), []
        rounds = np.append(self._rounds, low)
        step = max(_AT_ONCE // size, 1) * size  # so few that nothing overflows
        for first in range(0, sides.size, step):
            part = slice(first, first + step)
            won, total = np.ones_like(gained), np.empty(sides[part].size // size)
            start = log[:, low] + np.append(gained[:, low], 0)
            scale = start.max()
            given: Any = flags[part], sides[part], rounds, grown, self.delta, self._active
            play(*(*given, *state, np.exp(start - scale), won, total))
            gained += np.log(won)
            totals.append(np.log(total) + scale)
        return gained, np.concatenate(totals) if totals else np.empty(0)

    def settle(self, *rankings: Ranking) -> list[tuple[Array, int, int]]:
        """End a block: share the wealth anew, and choose what to bet on in the next one.

        Shares are proportional to the prior times the square of what a strategy has won; 1 % of the
        wealth is dealt by the prior again, so that no strategy is ever without wealth.

        Parameters
        ----------
        rankings : Ranking
            As `Counts.end_block` returns them.

        Returns
        -------
        list of (array, int, int)
            Events, their questions, and the numbers of strategies, for `Counts.choose`.
        """
        self.base, self.own = self.log, self.own + self.now
        self.shares = dealt(np.log(PRIOR)[:, None], self.own)
        self.now = np.zeros_like(self.now)
        unions = self._hits[len(_TOPS) :]
        unions *= _KEEP
        unions += (1 - _KEEP) * self._new
        self._seen *= _KEEP
        self._raw[:], self._active[:] = 0.0, False
        before = [(*row[1:4], d, s) for row, d, s in self.chosen if s < len(_TOPS)]
        self.chosen = [*self._choose(rankings)]
        for row, d, s in self.chosen:
            if s < len(_TOPS) and (*row[1:4], d, s) not in before:
                self._shown[s, d], self._since[s, d] = 0, self.asked
            self._active[s, d] = True
        return self.chosen

    def _choose(self, rankings: tuple[Ranking, ...]) -> Iterator[tuple[Array, int, int]]:
        k = self._weights.shape[1]
        for s, (which, least) in enumerate(_TOPS):
            events, looked, _, reports = rankings[which]
            sizes = np.maximum(reports, 1).astype(float)
            for d in range(k):
                row = events[0, d, 0]
                if row[0] >= least * math.log(max(looked * (k - 1), 2)) + 0.5:
                    self._place(s, d, (row[4:] + 0.5) / (sizes + 1), sizes, _CAUTION)
                    yield row, d, s
        for s, (which, least) in enumerate(_UNIONS, len(_TOPS)):
            for d in range(k):
                rows = [row for row in rankings[which].events[1, d] if row[0] >= least]
                if rows:
                    sizes = np.full(k, float(self._seen[0]) / k)
                    self._place(s, d, self._hits[s, d] / sizes, sizes, 0.0)
                yield from ((row, d, s) for row in rows)

    def _place(self, s: int, d: int, rates: Array, sizes: Array, caution: float) -> None:
        own = self._weights[s, d], self._raw[s, d]
        place(rates, sizes, caution, d, self.grown, 0, self.delta, *own)
