"""Bets on the events that counts of past reports promise most of, against every claim of a grid.

In each round a fair coin chooses one of k inputs, and the client makes a report of it. Question d
is about events that are likelier with input d than with the others. Before a
strategy sees the report, it chooses for each question a set of reports S_d, a stake l_d, and
weights w_d of the other inputs. The weights sum to 1. With E = exp(epsilon) the strategy multiplies
its wealth by

    factor(x) = (1 + l_x [report in S_x] - E sum_d w_d(x) l_d [report in S_d]) / D

if the report is of input x, where D = 1 + (sum_d l_d) delta/k.

*Proof that the bet is fair.* No factor is negative, because the stakes are such that
E sum_d w_d(x) l_d stays below 1 for all x. Given everything before, let p_d(x) be the probability
of S_d with input x. The coin is fair, so that D times the conditional mean of the factor is

    1 + sum_d l_d (p_d(d) - E sum_x w_d(x) p_d(x)) / k.

The claim implies p_d(d) <= E p_d(x) + delta for all x. The mean is therefore at most
1 + (sum_d l_d) delta/k = D. The proof assumes nothing of other reports, nor that the sets are
disjoint.

Recordings have no coin, because a round takes one report of each input. The mean of the k factors
is fair however the reports depend on each other. Their product is fair if the reports of a round
are independent. The reason is that the product of k means is at most the k-th power of their
average.

Sets, stakes, weights and shares of the strategies depend on earlier blocks only; the stakes on
unions also depend on earlier rounds. Each wealth is therefore a supermartingale, and so is the sum.
By Ville's inequality the sum ever reaches 1/alpha with probability at most alpha.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..jit import kernel
from ..types import Array
from .counts import Ranking
from .ranking import MOST, spread, stake

__all__ = ["Bets", "PRIOR", "STRATEGIES", "block_end", "dealt", "in_parts"]

_TOPS = ((0, 0.4), (0, 1.0), (1, 1.0), (2, 1.0))
"""Best event of a ranking (0 past, 1 last block, 2 couples); nats it needs, times log(events)."""
_UNIONS = ((0, 0.6), (0, 1.2), (0, 2.4), (0, 4.8), (0, 9.6), (1, 2.4), (1, 6.8))
"""All rare events of a ranking (0 past, 1 last block); nats that each must promise."""

STRATEGIES = (
    "the best event", "the best event that promises much", "the best event of the last block",
    "the best couple of columns", *(f"rare events from {nats} nats on" for _, nats in _UNIONS[:5]),
    *(f"rare events of the last block from {nats} nats on" for _, nats in _UNIONS[5:]), "no bet",
)  # fmt: skip
"""The strategies in words."""

PRIOR = np.array([*[0.8 / 11] * 11, 0.2])
"""Shares of the strategies at the start; the last one never bets."""

_POWER, _AGAIN, _KEEP, _CAUTION = 2.0, 0.01, 0.9, 0.7
_FIRST, _SHORTEST, _LONGEST, _AT_ONCE = 16, 8, 4096, 128  # reports
_NEW = np.array([1.0, 0.1])  # prior hits of a union: with its input, and with each other input


def block_end(reports: int) -> int:
    """Return the number of reports after which the block ends that begins after `reports`.

    The first block has 16 reports. Any other has half as many as all before, but 8 to 4,096.
    """
    return max(_FIRST, min(max(reports + _SHORTEST, 3 * reports // 2), reports + _LONGEST))


def dealt(prior: Array, own: Array) -> Array:
    """Return logarithms of the shares of bets, as `Bets.settle` describes them.

    Parameters
    ----------
    prior, own : float arrays (..., g)
        Logarithms of the shares at the start, and of what each bet has won, by claim.
    """
    powers, axes = prior + _POWER * own, tuple(range(own.ndim - 1))
    shares = np.exp(powers - np.logaddexp.reduce(powers, axis=axes))
    return np.asarray(np.log((1 - _AGAIN) * shares + _AGAIN * np.exp(prior)))


def in_parts(
    log: Array, low: int, reports: int, size: int, play: Callable[[slice, Array, Array, Array], Any]
) -> tuple[Array, Array]:
    """Play rounds in parts that are so short that no product of factors overflows.

    Parameters
    ----------
    log : float array (..., bets + 1, g)
        Logarithms of the wealth of bets; the last one of each row never changes.
    low : int
        Number of the claim whose wealth is traced.
    reports, size : int
        Number of reports in all and of a round.
    play : callable
        ``play(part, start, won, total)`` plays the reports of a slice. `start` is the wealth of the
        bets against claim `low`. `won` is multiplied by their factors, and `total` receives the
        wealth after each round.

    Returns
    -------
    gained : float array (..., bets, g)
        Logarithms of what the bets won.
    trace : float array (rounds,)
        Logarithm of the wealth of all bets against claim `low`, after each round.
    """
    gained, trace = np.zeros_like(log[..., :-1, :]), [np.empty(0)]
    step = max(_AT_ONCE // size, 1) * size
    for first in range(0, reports, step):
        part = slice(first, min(first + step, reports))
        won, total = np.ones_like(gained), np.empty((part.stop - first) // size)
        start = log[..., low].copy()
        start[..., :-1] += gained[..., low]
        scale = start.max()
        play(part, np.exp(start - scale), won, total)
        gained += np.log(won)
        trace.append(np.log(total) + scale)
    return gained, np.concatenate(trace)


@kernel
def place(
    rates: Array, sizes: Array, caution: float, d: int, grown: Array, low: int, delta: float,
    weights: Array, raw: Array,
) -> None:  # fmt: skip
    """Set the weights and the stakes of a question on one event.

    The event has these rates in so many reports. They are moved towards each other by `caution`
    standard errors. Stakes are set against the claims from number `low` on.
    """
    others, p, q = spread(rates, sizes, d, weights), 0.0, 0.0
    for x in range(rates.size):
        error = math.sqrt(max(rates[x] * (1 - rates[x]), 0.0) / max(sizes[x], 1.0))
        q += weights[x] * (rates[x] + caution * error)
        if x == d:
            p = rates[x] - caution * error
    for c in range(low, grown.size):
        new = stake(p, q, grown[c], delta, others)
        if new == 0.0 and raw[c] == 0.0:  # then also against all larger claims
            break
        raw[c] = new


@kernel
def bounded(raw: Array, weights: Array, grown: Array, low: int, placed: Array) -> int:
    """Lower the stakes of all questions (k, claims) until no report can cost the whole wealth.

    This is done against the claims from number `low` on. Return the number of the first claim
    against which no stake is left.
    """
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
    number of the first claim to bet against. `active` (strategies, k) marks the questions of each
    strategy. `raw` and `placed` (strategies, k, claims) are the stakes before and after `bounded`.
    `weights` (strategies, k, k) holds the weights of the inputs in each question. `hits`
    (strategies, k, k) counts how often each input showed the set of a question in `seen` reports.
    Strategies that start with positive hits adapt their stakes to them. `shown` has the shape of
    `hits` and counts for all strategies. `total` receives the wealth against the first of the
    claims after every round, for strategies whose wealth was `start`.
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
        Claims to bet against.
    delta : float
    inputs : int
        Number of inputs.
    size : int
        Reports of a round: 1 if a coin chose the input, the number of inputs in recordings.
    product : bool
        Whether the factors of a round's reports are multiplied; otherwise they are averaged.

    Attributes
    ----------
    shares, now, own : arrays (12, g)
        Logarithms by strategy: shares of the wealth at the start of the block, what each has won
        since, and what each has won before.
    asked : float array (k,)
        Number of reports of each input so far.
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
        """Logarithm of the wealth against every claim, float array (g,)."""
        return self.base + np.logaddexp.reduce(self.shares + self.now, axis=0)

    def leader(self, at: int) -> tuple[int, list[tuple[Array, int]]]:
        """Return the strategy that has won most against one claim, and its events.

        The events come with their questions, the most promising first.
        """
        best = int(np.argmax((self.own + self.now)[:-1, at]))
        events = [(row, d) for row, d, strategy in self.chosen if strategy == best]
        return best, sorted(events, key=lambda event: -event[0][0])

    def seen(self, strategy: int, question: int) -> tuple[Array, Array]:
        """Return how many reports of each input showed the set of a strategy, and of how many.

        Reports count from when the strategy chose its event. A union changes all the time, so that
        its reports count from the beginning.
        """
        asked = self.asked - self._since[strategy, question]
        return self._shown[strategy, question].copy(), asked

    def trace(self, flags: Array, sides: Array, at: int) -> Array:
        """Return the logarithm of the wealth against one claim after each round."""
        claim = slice(at, at + 1)
        placed = (self._raw[:, :, claim], self._weights, self._placed[:, :, claim])
        copies = [array.copy() for array in (*placed, self._hits, self._seen, self._shown)]
        log = (self.shares + self.now)[:, claim]
        return self._played(flags, sides, self.grown[claim], copies, log)[1] + self.base[at]

    def play(self, flags: Array, sides: Array, low: int = 0) -> None:
        """Bet on rounds, one after the other.

        Parameters
        ----------
        flags : uint16 array (n, k)
            As `Counts.see` returns them.
        sides : int array (n,)
            The input of each report.
        low : int
            Number of the first claim of the grid to bet against.
        """
        state = self._raw, self._weights, self._placed, self._hits, self._seen, self._shown
        log = self.shares + self.now
        self.now[:-1] += self._played(flags, sides, self.grown, state, log, low)[0]
        self.asked += np.bincount(sides, minlength=self.asked.size)

    def _played(
        self, flags: Array, sides: Array, grown: Array, state: Any, log: Array, low: int = 0
    ) -> tuple[Array, Array]:
        """Return what the strategies win, and the wealth after each round, as `in_parts` does."""
        rounds = np.append(self._rounds, low)

        def part_played(part: slice, *wealth: Array) -> None:
            given: Any = flags[part], sides[part], rounds, grown, self.delta, self._active
            play(*given, *state, *wealth)

        return in_parts(log, low, sides.size, int(self._rounds[0]), part_played)

    def settle(self, *rankings: Ranking) -> list[tuple[Array, int, int]]:
        """End a block: share the wealth anew, and choose the events of the next block.

        Shares are proportional to the prior times the square of what a strategy has won. Of the
        wealth 1 % is shared by the prior instead, so that no strategy is ever without wealth.

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
