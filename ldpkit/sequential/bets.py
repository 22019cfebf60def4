"""Bets on what counts of the past promise, report by report, against every claim of a grid.

A fair coin chooses the input of each report. A strategy names two sets of reports before it sees
the report: S1, likelier with the first input, and S2, likelier with the second. With stakes l1, l2
in [0, .98/E] and E = exp(epsilon) it multiplies its wealth by

- f = (1 + l1 [report in S1] - E l2 [report in S2]) / D if the report is of the first input,
- g = (1 - E l1 [report in S1] + l2 [report in S2]) / D if it is of the second,

where D = 1 + (l1 + l2) delta/2.

*Proof that the bet is fair.* Neither f nor g is negative, because E l1 and E l2 stay below 1. Given
everything before, let p1, q1 be the probabilities of S1 with the first input and with the second,
and p2, q2 those of S2. The coin is fair, so that D times the conditional mean of the factor is

    1 + (l1 (p1 - E q1) + l2 (q2 - E p2)) / 2.

The claim implies p1 <= E q1 + delta and q2 <= E p2 + delta. The mean is therefore at most
1 + (l1 + l2) delta/2 = D. Nothing was assumed of other reports, nor that S1 and S2 are disjoint.
Without stakes D = 1, and D is at most 1 + delta/E, because l1 and l2 are below 1/E.

Sets, stakes and shares of the strategies depend on earlier blocks; the stakes on unions depend on
earlier reports, too. Each wealth is a supermartingale, and so is the sum. By Ville's inequality the
sum exceeds 1/alpha at any time with probability at most alpha.
"""

import math
from collections.abc import Iterator

import numpy as np

from ..compiled import kernel
from ..types import Array
from .counts import Ranking, stake

__all__ = ["Bets", "PRIOR", "STRATEGIES", "block_end"]

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
_NEW = np.array([1.0, 0.1])  # hits of a union with the likelier input and with the other


def block_end(reports: int) -> int:
    """Return when the block ends that begins after so many reports: it is half as long as all
    before, but of 8 to 4,096 reports, and the first one of 16."""
    return max(_FIRST, min(max(reports + _SHORTEST, 3 * reports // 2), reports + _LONGEST))


@kernel
def stakes(p: float, q: float, grown: Array, delta: float, out: Array) -> None:
    """Stakes on an event of these rates against every claim of a grid."""
    for i in range(grown.size):
        out[i] = stake(p, q, grown[i], delta)


@kernel
def _adapt(hits: Array, seen: float, grown: Array, delta: float, out: Array) -> None:
    """Stakes on a union, half of whose reports were of either input."""
    stakes(2 * hits[0] / seen, 2 * hits[1] / seen, grown, delta, out)


@kernel
def play(
    flags: Array, sides: Array, grown: Array, delta: float, placed: Array, hits: Array,
    seen: Array, start: Array, won: Array, at: int, limit: float,
) -> int:  # fmt: skip
    """Multiply the wealth `won` (strategies, claims) by the factors of reports, until that against
    the claim number `at` is `limit`. Returns how many reports were used, one more than there are if
    the limit was not reached.

    `placed` (strategies, 2, claims) are stakes, `hits` (strategies, 2, 2) how often S1 and S2 came
    with the likelier input and with the other in `seen` reports. Strategies that start with a
    positive record of hits adapt their stakes to it.
    """
    for i in range(flags.size):
        side, total = sides[i], start[-1]
        seen[0] += 1
        for s in range(won.shape[0]):
            one = float((flags[i] >> np.uint64(2 * s)) & np.uint64(1))
            two = float((flags[i] >> np.uint64(2 * s + 1)) & np.uint64(1))
            if one + two > 0 or delta > 0:
                for c in range(grown.size):
                    first, second = placed[s, 0, c], placed[s, 1, c]
                    if side == 0:
                        factor = 1 + first * one - grown[c] * second * two
                    else:
                        factor = 1 - grown[c] * first * one + second * two
                    won[s, c] *= factor / (1 + (first + second) * delta / 2)
            if one + two > 0 and hits[s, 0, 0] > 0:
                hits[s, 0, side] += one
                hits[s, 1, 1 - side] += two
                for d in range(2):
                    if (one, two)[d] > 0:
                        _adapt(hits[s, d], seen[0], grown, delta, placed[s, d])
            total += start[s] * won[s, at]
        if total >= limit:
            return i + 1
    return flags.size + 1


class Bets:
    """Wealth of all strategies against every epsilon of a grid.

    Parameters
    ----------
    grid : float array (g,)
        Claims that are bet against.
    delta : float

    Attributes
    ----------
    shares, now, own : arrays (12, g)
        Logarithms by strategy: shares of the wealth at the start of the block, what each has won
        since, and what each has won before.
    """

    def __init__(self, grid: Array, delta: float) -> None:
        self.grown, self.delta = np.exp(grid), delta
        size, bets = (PRIOR.size, grid.size), PRIOR.size - 1
        self.base, self.now, self.own = np.zeros(grid.size), np.zeros(size), np.zeros(size)
        self.shares = np.repeat(np.log(PRIOR)[:, None], grid.size, axis=1)
        self._placed, self._seen = np.zeros((bets, 2, grid.size)), np.zeros(1)
        self._hits = np.zeros((bets, 2, 2))
        self._hits[len(_TOPS) :] = _NEW
        self.chosen: list[tuple[Array, int]] = []

    @property
    def log(self) -> Array:
        """Logarithm of the wealth against every claim."""
        return self.base + np.logaddexp.reduce(self.shares + self.now, axis=0)

    def leader(self, at: int) -> tuple[str, list[Array]]:
        """Return the strategy that has won most against one claim, and the events that it bets on
        now, the most promising first."""
        best = int(np.argmax((self.own + self.now)[:, at]))
        events = [row for row, flag in self.chosen if flag >> 2 * best & 3]
        return STRATEGIES[best], sorted(events, key=lambda row: -row[0])

    def play(self, flags: Array, sides: Array, at: int = 0, goal: float = math.inf) -> int:
        """Bet on reports, one after the other.

        Parameters
        ----------
        flags : uint64 array (n,)
            As `Counts.see` returns them.
        sides : int array (n,)
            The input of each report, 0 or 1, from fair coins.
        at : int
            The claim whose wealth is watched.
        goal : float
            The logarithm of the wealth at which to stop.

        Returns
        -------
        int
            Reports that were used.
        """
        for first in range(0, flags.size, _AT_ONCE):  # so few that nothing overflows
            part = slice(first, first + _AT_ONCE)
            won = np.ones((PRIOR.size - 1, self.grown.size))
            before = (self.shares + self.now)[:, at]
            scale = before.max()
            limit = math.exp(min(goal - self.base[at] - scale, 700.0))
            used = play(
                flags[part], sides[part], self.grown, self.delta, self._placed, self._hits,
                self._seen, np.exp(before - scale), won, at, limit,
            )  # fmt: skip
            self.now[:-1] += np.log(won)
            if used <= flags[part].size:
                return first + used
        return flags.size

    def settle(self, *rankings: Ranking) -> list[tuple[Array, int]]:
        """End a block: share the wealth anew, and choose what to bet on in the next one.

        Shares are proportional to the prior times the square of what a strategy has won; 1 % of the
        wealth is dealt by the prior again, so that no strategy is ever without wealth.

        Parameters
        ----------
        rankings : Ranking
            As `Counts.end_block` returns them.

        Returns
        -------
        list of (array, int)
            Events and their flags, for `Counts.choose`.
        """
        self.base, self.own = self.log, self.own + self.now
        powers = np.log(PRIOR)[:, None] + _POWER * self.own
        dealt = np.exp(powers - np.logaddexp.reduce(powers, axis=0))
        self.shares = np.log((1 - _AGAIN) * dealt + _AGAIN * PRIOR[:, None])
        self.now = np.zeros_like(self.now)
        unions = self._hits[len(_TOPS) :]
        unions *= _KEEP
        unions += (1 - _KEEP) * _NEW
        self._seen *= _KEEP
        self.chosen = [*self._choose(rankings)]
        return self.chosen

    def _choose(self, rankings: tuple[Ranking, ...]) -> Iterator[tuple[Array, int]]:
        for s, (which, least) in enumerate(_TOPS):
            events, looked, reports = rankings[which]
            for d in range(2):
                row, flag = events[0, d, 0], 1 << (2 * s + d)
                self._placed[s, d] = 0.0
                if row[0] >= least * math.log(max(looked, 2)) + 0.5:
                    sizes = np.maximum(reports[[d, 1 - d]], 1)
                    p, q = (row[4:6] + 0.5) / (sizes + 1)
                    p -= _CAUTION * math.sqrt(p * (1 - p) / sizes[0])
                    q += _CAUTION * math.sqrt(q * (1 - q) / sizes[1])
                    stakes(p, q, self.grown, self.delta, self._placed[s, d])
                    yield row, flag
        for s, (which, least) in enumerate(_UNIONS, len(_TOPS)):
            for d in range(2):
                rows = [row for row in rankings[which].events[1, d] if row[0] >= least]
                self._placed[s, d] = 0.0
                if rows:
                    placed = self.grown, self.delta, self._placed[s, d]
                    _adapt(self._hits[s, d], float(self._seen[0]), *placed)
                yield from ((row, 1 << (2 * s + d)) for row in rows)
