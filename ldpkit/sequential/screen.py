"""Screens, which count every entry of every report and bet on the entries that promise most.

A screen is a player with eleven strategies. After each block of reports every strategy chooses the
events of the next block, by what the counts promise; `ldpkit.sequential.stakes` has the proof that
its bets are fair.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import astuple
from typing import Any

import numpy as np

from .. import checks
from ..types import Array
from .counts import TOP, VALUES, Counts, Ranking
from .events import Entry
from .players import Player, taken
from .records import Records
from .stakes import Stakes, place, play
from .tallies import AGREE, BINS, CATEGORY, DIFFER, SIGNED, SLOTS

__all__ = ["PRIOR", "STRATEGIES", "Screen", "block_end"]

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
_NEW = np.array([1.0, 0.1])  # prior hits of a union: with its input, and with each other input
_PATHS = ("hashes", "counts", "edges", "cuts", "kept", "seen")  # arrays with a row for each path


def block_end(reports: int) -> int:
    """Return the number of reports after which the block ends that begins after `reports`.

    The first block has 16 reports. Any other has half as many as all before, but 8 to 4,096.
    """
    return max(_FIRST, min(max(reports + _SHORTEST, 3 * reports // 2), reports + _LONGEST))


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
    chosen : list of (array, int, int)
        The events that are bet on, rows of `Ranking.events`, with the question and the number of
        the strategy of each.
    report : object
        A report that shows the event which has won most, ``None`` if it was not kept.
    """

    words = "every entry of the reports"
    _ARRAYS = (
        *Player._ARRAYS, *(f"stakes.{name}" for name in Stakes._fields), "asked", "_since",
        "counts.reports", "counts.repeated", "counts._first", "counts._signs",
        "counts._coupled.events", "counts._coupled.reports", "counts.table.keys",
        "counts.table.counts", "counts.table.last", "counts.table.door", "counts.paths.missed",
    )  # fmt: skip
    _NUMBERS = (
        *Player._NUMBERS, "_before", "_end", "counts.blocks", "counts.rare", "counts.records",
        "counts._offered",
    )  # fmt: skip

    def __init__(
        self, grid: Array, epsilon: float, delta: float, inputs: int = 2, size: int = 1,
        product: bool = False, late: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(PRIOR, grid.size, size, product)
        values = max(1 << 12, VALUES >> max(0, (inputs - 1).bit_length() - 1))
        self.counts = Counts(inputs, values, size)
        self.grown, self.claim, self.late = np.exp(grid), (epsilon, delta), late
        bets, k = PRIOR.size - 1, inputs
        self.stakes = Stakes.none(bets, k, grid.size)
        self.stakes.hits[len(_TOPS) :] = np.where(np.eye(k, dtype=bool), *_NEW)
        self._since, self.asked = np.zeros((bets, k, k)), np.zeros(k)
        self.chosen: list[tuple[Array, int, int]] = []
        self.report: Any = None
        self._before, self._end = 0, block_end(0)
        self._next = self.stakes
        self._evidence: tuple[int, list[tuple[Array, int, int]]] = 0, []
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
        self._next = self.stakes.copied()

        def played(part: slice, *wealth: Array) -> None:
            rounds: Any = flags[part], sides[part], self.size, self.product, low, at
            play(*rounds, self.grown, self.claim[1], self._next, *wealth)

        return self._in_parts(self.shares + self.now, at, sides.size, played)

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
            self._evidence = best, [(row, d, self.counts.key(row)) for row, d in events]
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
        before = [(*row[1:4], d, s) for row, d, s in self.chosen if s < len(_TOPS)]
        self.chosen = [*self._choose(rankings)]
        for row, d, s in self.chosen:
            if s < len(_TOPS) and (*row[1:4], d, s) not in before:
                stakes.shown[s, d], self._since[s, d] = 0, self.asked
            stakes.active[s, d] = True
        self.counts.choose(self.chosen)

    def _choose(self, rankings: tuple[Ranking, ...]) -> Iterator[tuple[Array, int, int]]:
        """Yield the events of every strategy, after placing its stakes."""
        k = self.asked.size
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
                    sizes = np.full(k, float(self.stakes.seen[0]) / k)
                    self._place(s, d, self.stakes.hits[s, d] / sizes, sizes, 0.0)
                yield from ((row, d, s) for row in rows)

    def _place(self, s: int, d: int, rates: Array, sizes: Array, caution: float) -> None:
        own = self.stakes.weights[s, d], self.stakes.raw[s, d]
        place(rates, sizes, caution, d, self.grown, 0, self.claim[1], *own)

    # --- what has won -----------------------------------------------------------------------------

    def leader(self, at: int) -> tuple[int, list[tuple[Array, int]]]:
        """Return the strategy that has won most against one claim, and its events.

        The events come with their questions, the most promising first.
        """
        best = int(np.argmax((self.own + self.now)[:-1, at]))
        events = [(row, d) for row, d, strategy in self.chosen if strategy == best]
        return best, sorted(events, key=lambda event: -event[0][0])

    def leading(self) -> tuple[Entry, int, Array, Array] | None:
        """Return the event that has won most; ``None`` if no bet was made.

        Reports count from when the strategy chose its event. A union changes all the time, so that
        its reports count from the beginning.

        Returns
        -------
        entry : Entry
        question : int
            The input with which the event is likelier.
        shown, reports : arrays (k,)
            How many reports of each input show the event, and of how many.
        """
        best, events = self._evidence
        for row, question, key in events:
            words = self.counts.words(row, self.report, key)
            if words:
                kind, hashes = int(row[1]), self.counts.paths.hashes
                places = (int(row[2]), int(row[3])) if kind > CATEGORY else (int(row[2]),)
                paths = (key,) if kind == CATEGORY else tuple(int(hashes[i]) for i in places)
                self._leading = Entry(words, kind, paths, float(row[3])), question, best
                break
        if self._leading is None:
            return None
        entry, question, best = self._leading
        shown, asked = (
            self.stakes.shown[best, question].copy(),
            self.asked - self._since[best, question],
        )
        return entry, question, shown, asked

    # --- to stop and continue ---------------------------------------------------------------------

    def _kept(self) -> dict[str, Array]:
        paths = self.counts.paths
        n = int(paths.used[0])
        return super()._kept() | {f"paths.{name}": getattr(paths, name)[:n] for name in _PATHS}

    def state(self, **more: Array) -> dict[str, Any]:
        """Return the state, for `restore`; JSON can hold it."""
        rows = [[*row, d, s] for row, d, s in self.chosen]
        chosen = np.array(rows, float).reshape(len(rows), 6 + self.asked.size)
        self.leading()
        entry, *of = self._leading or (None, 0, 0)
        return super().state(chosen=chosen) | {
            "found": None if entry is None else [*astuple(entry)[:4], *of],
            "looked": self.counts._coupled.looked,
            "paths": int(self.counts.paths.used[0]),
        }

    def restore(self, state: Mapping[str, Any]) -> dict[str, Array]:
        """Continue from the `state` of another screen, see `Kept.restore`."""
        counts, k, bets = self.counts, self.asked.size, len(self.stakes.raw)
        n = checks.integer("paths of the state", state["paths"], 0, SLOTS)
        counts.paths.used[0] = n
        arrays = super().restore(state)
        counts.paths.fill(n)
        counts._coupled = counts._coupled._replace(looked=int(state["looked"]))
        if state["found"] is not None:
            words, kind, paths, value, question, best = state["found"]
            entry = Entry(str(words), int(kind), tuple(map(int, paths)), float(value))
            self._leading = entry, range(k)[question], range(bets)[best]
        rows = taken(arrays, "chosen", np.empty((0, 6 + k)), len(arrays["chosen"]))
        cuts, strategies = counts.paths.cuts, rows[:, -2:]
        checks.need(
            0 <= self._before < k
            and ((cuts >= 0) & (cuts <= BINS)).all()
            and ((strategies >= 0) & (strategies < [k, bets])).all()
            and all(map(self._sound, (rows[:, :-2], counts._coupled.events.reshape(-1, 4 + k)))),
            "state must hold a screen, got numbers that are out of range",
        )
        self.chosen = [(row[:-2], int(row[-2]), int(row[-1])) for row in rows]
        counts.choose(self.chosen)
        return arrays

    def _sound(self, rows: Array) -> bool:
        """Return whether rows of events point into the tables only."""
        kind, place, value = rows[:, 1], rows[:, 2], rows[:, 3]
        used, couple = max(int(self.counts.paths.used[0]), 1), kind >= AGREE
        places = np.where(kind == CATEGORY, len(self.counts.table.keys), used)
        places = np.where(couple, min(used, SIGNED), places)
        most = np.where(couple, places, np.where(kind < 2, 64, math.inf))
        sound = (kind >= 0) & (kind <= DIFFER) & (place >= 0) & (place < places)
        sound &= ((value >= 0) | (kind > 1) & (kind < AGREE)) & (value < most) & ~np.isnan(value)
        return bool(sound.all()) and len(rows) <= 64 * TOP * self.asked.size
