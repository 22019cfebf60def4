"""Screens, which count every entry of every report and bet on the entries that promise most.

A screen is a player with eleven strategies. After each block of reports every strategy chooses the
events of the next block, by what the counts promise.

In each round a fair coin chooses one of k inputs, and the client makes a report of it. Question d
is about events that are likelier with input d than with the others. Before a strategy sees the
report, it chooses for each question a set of reports S_d, a stake l_d, and weights w_d of the other
inputs. The weights sum to 1. With E = exp(epsilon) the strategy multiplies its wealth by

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
from collections import namedtuple
from collections.abc import Iterator, Mapping
from dataclasses import astuple
from typing import Any

import numpy as np

from ...jit import kernel
from ...types import Array
from .counts import TOP, VALUES, Counts, Ranking
from .events import Entry
from .players import Player
from .records import Records
from .tallies import AGREE, BINS, CATEGORY, DIFFER, MOST, SIGNED, enter, spread, stake

__all__ = ["PRIOR", "STRATEGIES", "Screen", "block_end", "play"]

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

_KEEP, _CAUTION = 0.9, 0.7
_FIRST, _SHORTEST, _LONGEST = 16, 8, 4096  # reports
_SAME = [1, 2, 3, -2, -1]  # entries of a chosen event that tell whether it was chosen before
_NEW = np.array([1.0, 0.1])  # prior hits of a union: with its input, and with each other input
_COUNTED = (
    "blocks", "rare", "records", "_offered", "reports", "repeated", "first", "_signs",
    "_coupled.events", "_coupled.seen", "_coupled.reports", "table.keys", "table.counts",
    "table.last", "table.door", "paths.missed", "paths.used",
)  # fmt: skip
_PATHS = (  # with a row for each path
    "paths.hashes", "paths.counts", "paths.edges", "paths.cuts", "paths.kept", "paths.seen",
)  # fmt: skip


def block_end(reports: int) -> int:
    """Return the number of reports after which the block ends that begins after `reports`.

    The first block has 16 reports. Any other has half as many as all before, but 8 to 4,096.
    """
    return max(_FIRST, min(max(reports + _SHORTEST, 3 * reports // 2), reports + _LONGEST))


Stakes = namedtuple("Stakes", "active raw placed weights hits seen shown")
"""Stakes of several strategies, which adapt to the reports.

`active` (strategies, k) marks the questions of each strategy. `raw` and `placed` (strategies, k,
claims) are the stakes before and after `bounded`. `weights` (strategies, k, k) holds the weights of
the inputs in each question. `hits` (strategies, k, k) counts how often each input showed the set of
a question in `seen` reports. Strategies that start with positive hits adapt their stakes to them.
`shown` has the shape of `hits` and counts for all strategies.
"""


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
def bounded(stakes: Stakes, s: int, grown: Array, low: int) -> int:
    """Lower the stakes of strategy s until no report can cost the whole wealth.

    This is done against the claims from number `low` on. Return the number of the first claim
    against which no stake is left.
    """
    raw, placed, weights = stakes.raw[s], stakes.placed[s], stakes.weights[s]
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
    flags: Array, sides: Array, size: int, product: bool, low: int, at: int, grown: Array,
    delta: float, stakes: Stakes, start: Array, won: Array, total: Array,
) -> None:  # fmt: skip
    """Multiply the wealth `won` (strategies, claims) by the factors of rounds.

    A round has `size` reports, whose factors are a `product` or averaged. Bets are made against the
    claims from number `low` on. `stakes` adapt to the reports. `total` receives the wealth against
    claim `at` after every round, for strategies whose wealth was `start`.
    """
    raw, placed, weights, hits = stakes.raw, stakes.placed, stakes.weights, stakes.hits
    k = flags.shape[1]
    now, each, rates, sizes = np.empty(grown.size), np.empty(grown.size), np.empty(k), np.empty(k)
    ends = np.full(won.shape[0], grown.size)
    for s in range(won.shape[0]):
        ends[s] = bounded(stakes, s, grown, low)
    for n in range(total.size):
        first, last, bits, total[n] = n * size, n * size + size, np.uint16(0), start[-1]
        for i in range(first, last):
            for d in range(k):
                bits |= flags[i, d]
        stakes.seen[0] += size
        for s in range(won.shape[0]):
            bit, changed, end = np.uint16(1 << s), False, ends[s]
            if end > low and (bits & bit != 0 or delta > 0):
                now[low:end] = 1.0 if product else 0.0
                for i in range(first, last):
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
            total[n] += start[s] * won[s, at]
            for i in range(first, last if bits & bit != 0 else first):
                for d in range(k):
                    if flags[i, d] & bit != 0:
                        stakes.shown[s, d, sides[i]] += 1
                        if hits[s, d, d] > 0:
                            hits[s, d, sides[i]] += 1
                            changed = True
            if changed:
                for d in range(k):
                    if stakes.active[s, d]:
                        rates[:] = k * hits[s, d] / stakes.seen[0]
                        sizes[:] = stakes.seen[0] / k
                        place(rates, sizes, 0.0, d, grown, low, delta, weights[s, d], raw[s, d])
                ends[s] = bounded(stakes, s, grown, low)


class Screen(Player):
    """Counts of reports, and bets on the events that these counts promise most of.

    Parameters
    ----------
    grid : float array (g,)
        Claims to bet against.
    epsilon, delta : float
        The claim by which events are ranked.
    inputs : int
        Number of inputs.
    size, product
        As in `Player`.
    late : bool
        Whether the bets are on the input of the report before. Rounds are taken in couples, and the
        second report of a couple is compared with the coin of the first one. That coin is fair
        given all earlier couples and the second coin.

    Attributes
    ----------
    asked : float array (k,)
        Number of reports of each input that were bet on.
    report : object
        A report that shows the event which has won most, ``None`` if it was not kept.
    """

    words = "every entry of the reports"
    _KEPT = (
        *Player._KEPT, *(f"stakes.{name}" for name in Stakes._fields), "asked", "_since", "_before",
        "_end", *(f"counts.{name}" for name in (*_COUNTED, *_PATHS)),
    )  # fmt: skip
    _GROWN = ("_rows",)

    def __init__(
        self, grid: Array, epsilon: float, delta: float, inputs: int = 2, size: int = 1,
        product: bool = False, late: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(PRIOR, grid.size, size, product)
        values = max(1 << 12, VALUES >> max(0, (inputs - 1).bit_length() - 1))
        self.counts = Counts(inputs, values, size)
        self.grown, self.claim, self.late = np.exp(grid), (epsilon, delta), late
        bets, k = PRIOR.size - 1, inputs
        raw, placed = np.zeros((2, bets, k, grid.size))
        weights, hits, shown, self._since = np.zeros((4, bets, k, k))
        hits[len(_TOPS) :] = np.where(np.eye(k, dtype=bool), *_NEW)
        active, self.asked = np.zeros((bets, k), bool), np.zeros(k)
        self.stakes = Stakes(active, raw, placed, weights, hits, np.zeros(1), shown)
        self._rows = np.empty((0, 6 + k))
        self.report: Any = None
        self._before, self._end = 0, block_end(0)
        self._next = self.stakes
        self._evidence: tuple[int, list[tuple[Array, int]]] = 0, []
        self._leading: tuple[Entry, int, int] | None = None

    @property
    def room(self) -> int:
        """Rounds until the block ends, because `see` must not take more at once."""
        left = -(-(self._end - int(self.counts.reports.sum())) // self.size)
        idle = max(self.counted - self.rounds, 0)
        return idle + (2 * left - self.counted % 2 if self.late else left)

    # --- a round ----------------------------------------------------------------------------------

    def see(self, found: Records, reports: Any, sides: Array) -> None:
        """Find in the reports of rounds the events that are bet on, then count the reports.

        Parameters
        ----------
        found : Records
            Records of the reports.
        reports : sequence
            The reports, round after round.
        sides : int array (n,)
            The input of each report.
        """
        self._watch(len(sides) // self.size)
        compared = sides
        if self.late:
            compared = np.append(self._before, sides[:-1])
            self._fresh &= (self.rounds + np.arange(sides.size)) % 2 == 1
        compared = np.where(np.repeat(self._fresh, self.size), compared, -1)
        self._seen = self.counts.see(found, compared), compared, sides, reports

    def _win(self, reports: Array, at: int, low: int) -> tuple[Array, Array]:
        flags, sides = (part[reports] for part in self._seen[:2])
        self._next = Stakes(*map(np.copy, self.stakes))
        rule = self.size, self.product, low, at, self.grown
        return self._in_parts(self.shares + self.now, at, sides.size, lambda part, *wealth: play(
            flags[part], sides[part], *rule, self.claim[1], self._next, *wealth
        ))  # fmt: skip

    def keep(self) -> int:
        """Keep the last bet, and end a block that is full.

        The events that have won most against the claim of the bet are kept for `leading`, with a
        report that shows one of them.
        """
        n, (flags, compared, sides, reports) = super().keep() * self.size, self._seen
        self.stakes, at = self._next, self._tried[1]
        self.asked += np.bincount(compared[:n][compared[:n] >= 0], minlength=self.asked.size)
        best, events = self.leader(at)
        showing = np.flatnonzero((flags[:n] >> best & 1).any(axis=1))
        if showing.size:
            self._evidence = best, [(row, self.counts.key(row)) for row in events]
            self.report = reports[showing[-1]]
        if n:
            self._before = int(sides[n - 1])
        seen = int(self.counts.reports.sum())
        if seen >= self._end:
            self._settle()
            self._end = block_end(seen)
        return n // self.size

    def _settle(self) -> None:
        """End a block: share the wealth anew, and choose the events of the next block."""
        rankings = self.counts.end_block(*self.claim)
        self.share()
        stakes, k = self.stakes, self.asked.size
        unions = stakes.hits[len(_TOPS) :]
        unions *= _KEEP
        unions += (1 - _KEEP) * np.where(np.eye(k, dtype=bool), *_NEW)
        stakes.seen[0] *= _KEEP
        stakes.raw[:], stakes.active[:] = 0.0, False
        before = {tuple(row[_SAME]) for row in self._rows}
        self._rows = np.array([*self._choose(rankings)], float).reshape(-1, 6 + k)
        for row in self._rows:
            d, s = int(row[-2]), int(row[-1])
            if s < len(_TOPS) and tuple(row[_SAME]) not in before:
                stakes.shown[s, d], self._since[s, d] = 0, self.asked
            stakes.active[s, d] = True
        self.counts.choose(self._rows)

    def _choose(self, rankings: tuple[Ranking, ...]) -> Iterator[Array]:
        """Yield the events of every strategy, after placing its stakes.

        An event is a row of `Ranking.events`, to which question and strategy are added.
        """
        k = self.asked.size
        for s, (which, least) in enumerate((*_TOPS, *_UNIONS)):
            events, (looked, _), reports = rankings[which]
            for d in range(k):
                if s < len(_TOPS):
                    sizes, caution = np.maximum(reports, 1).astype(float), _CAUTION
                    needed = least * math.log(max(looked * (k - 1), 2)) + 0.5
                    rows = [row for row in events[0, d, :1] if row[0] >= needed]
                    rates = (events[0, d, 0, 4:] + 0.5) / (sizes + 1)
                else:
                    sizes, caution = np.full(k, float(self.stakes.seen[0]) / k), 0.0
                    rows = [row for row in events[1, d] if row[0] >= least]
                    rates = self.stakes.hits[s, d] / sizes
                if rows:
                    own = self.stakes.weights[s, d], self.stakes.raw[s, d]
                    place(rates, sizes, caution, d, self.grown, 0, self.claim[1], *own)
                yield from (np.append(row, [d, s]) for row in rows)

    # --- what has won -----------------------------------------------------------------------------

    def leader(self, at: int) -> tuple[int, Array]:
        """Return the strategy that has won most against one claim, and its events.

        The most promising event comes first, see `_choose`.
        """
        best = int(np.argmax((self.own + self.now)[:-1, at]))
        events = self._rows[self._rows[:, -1] == best]
        return best, events[np.argsort(-events[:, 0], kind="stable")]

    def leading(self) -> tuple[Entry | None, tuple[int, int], list[int]]:
        """Return the event that has won most; ``None`` if no bet was made.

        Reports count from when the strategy chose its event. A union changes all the time, so that
        its reports count from the beginning.

        Returns
        -------
        entry : Entry
        pair : (int, int)
            The input with which the event is likeliest, and the one with which it is least likely.
        hits : list of int
            How many reports of each of both inputs show the event, then of how many.
        """
        best, events = self._evidence
        for row, key in events:
            found = self.counts.entry(row, self.report, key)
            if found is not None:
                self._leading = found, int(row[-2]), best
                break
        if self._leading is None:
            return None, (0, 1), []
        entry, question, best = self._leading
        shown, asked = self.stakes.shown[best, question], self.asked - self._since[best, question]
        rates = shown / np.maximum(asked, 1)
        rates[question] = math.inf
        pair = question, int(np.argmin(rates))
        return entry, pair, [int(counts[x]) for counts in (shown, asked) for x in pair]

    # --- to stop and continue ---------------------------------------------------------------------

    def _part(self, name: str) -> Any:
        part, rows = super()._part(name), int(self.counts.paths.used[0])
        return part[:rows] if name.removeprefix("counts.") in _PATHS else part

    def state(self) -> dict[str, Any]:
        """Return the state, for `restore`; JSON can hold it."""
        self.leading()
        entry, *of = self._leading or (None, 0, 0)
        return super().state() | {"found": None if entry is None else [*astuple(entry)[:4], *of]}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from the `state` of another screen, see `Kept.restore`."""
        super().restore(state)
        paths = self.counts.paths
        hashes, paths.used[0] = paths.hashes[: paths.used[0]].copy(), 0
        for path in hashes:
            enter(paths, path)
        if state["found"] is not None:
            words, kind, paths, value, question, best = state["found"]
            entry = Entry(str(words), int(kind), tuple(map(int, paths)), float(value))
            shape = self.asked.size, len(self.stakes.raw)
            self._leading = entry, range(shape[0])[question], range(shape[1])[best]
        self.counts.choose(self._rows)

    def _sound(self) -> bool:
        rows, counts, k = self._rows, self.counts, self.asked.size
        cuts, strategies, bets = counts.paths.cuts, rows[:, -2:], len(self.stakes.raw)
        # events must point into the tables only
        events = np.vstack([rows[:, :-2], counts._coupled.events.reshape(-1, 4 + k)])
        kind, place, value = events.T[1:4]
        used, couple = max(int(counts.paths.used[0]), 1), kind >= AGREE
        places = np.where(kind == CATEGORY, len(counts.table.keys), used)
        places = np.where(couple, min(used, SIGNED), places)
        most = np.where(couple, places, np.where(kind < 2, 64, math.inf))
        sound = (kind >= 0) & (kind <= DIFFER) & (place >= 0) & (place < places)
        sound &= ((value >= 0) | (kind > 1) & (kind < AGREE)) & (value < most) & ~np.isnan(value)
        return (
            super()._sound()
            and 0 <= self._before < k
            and bool(((cuts >= 0) & (cuts <= BINS)).all())
            and bool(((strategies >= 0) & (strategies < [k, bets])).all())
            and bool(sound.all())
            and len(rows) <= 64 * TOP * k
        )
