"""Screens, which count every entry of every report and bet on the entries that promise most."""

import math
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np

from ..types import Array, Rates
from .bets import Bets, block_end
from .columns import read
from .counts import TOP, VALUES, Counts, Ranking
from .events import Event
from .kept import packed, taken, unpacked
from .records import Records
from .tallies import AGREE, BINS, CATEGORY, DOOR, MISSED, SIGNED, SLOTS, happens

__all__ = ["Entry", "Screen"]

_FLAT = ("reports", "repeated", "_first", "_signs")
_PATHS = ("hashes", "counts", "edges", "cuts", "kept", "seen")
_TABLE = ("keys", "counts", "last")
_WEALTH = (
    "base", "now", "own", "shares", "asked", "_active", "_raw", "_placed", "_weights", "_hits",
    "_seen", "_shown", "_since",
)  # fmt: skip


@dataclass(frozen=True)
class Entry(Event):
    """An event about one or two entries of a report, which another audit can declare.

    Parameters
    ----------
    words : str
        The event in words.
    kind : int
        Type of the event, a constant of `ldpkit.sequential.tallies`.
    paths : tuple of int
        The key of a category; the hashes of both paths of a couple; otherwise the hash of the path.
    value : float
        Binary digit, threshold or type of a number.
    rates : (float, float), optional
        Share of reports that show the event, with the first and with the second input.
    """

    words: str
    kind: int
    paths: tuple[int, ...]
    value: float = 0.0
    rates: Rates | None = None

    def holds(self, reports: Any) -> Array:
        """Return whether each report shows the event; bool array (n,)."""
        found, path = read(reports), np.uint64(self.paths[0])
        shown = np.zeros(found.reports, bool)
        if self.kind == CATEGORY:
            shown[found.category_rows[found.keys == path]] = True
        elif self.kind < CATEGORY:
            at = found.paths == path
            numbers = found.types[at], found.values[at], found.words[at]
            shown[found.rows[at][happens(self.kind, self.value, *numbers)]] = True
        else:
            signs = np.zeros((2, found.reports))
            for sign, own in zip(signs, self.paths):
                at = (found.paths == np.uint64(own)) & np.isin(found.values, (0, 1))
                sign[found.rows[at]] = 2 * found.values[at] - 1
            shown = signs.prod(axis=0) == (1 if self.kind == AGREE else -1)
        return shown


class Screen:
    """Counts of reports, and bets on the events that these counts promise most of.

    Parameters
    ----------
    grid : float array (g,)
        Claims to bet against.
    epsilon, delta : float
        The claim by which events are ranked.
    inputs : int
        Number of inputs.
    size : int
        Reports of a round: 1 if a coin chose the input, the number of inputs in recordings.
    product : bool
        Whether the reports of a round are independent.
    late : bool
        Whether the bets are on the input of the report before. Rounds are taken in couples, and the
        second report of a couple is compared with the coin of the first one. That coin is fair
        given all earlier couples and the second coin.

    Attributes
    ----------
    counted, rounds : int
        Rounds whose reports were counted, and rounds that were played. No bet is made on a round
        that was counted earlier, because such a bet would not be fair.
    """

    def __init__(
        self, grid: Array, epsilon: float, delta: float, inputs: int = 2, size: int = 1,
        product: bool = False, late: bool = False,
    ) -> None:  # fmt: skip
        values = max(1 << 12, VALUES >> max(0, (inputs - 1).bit_length() - 1))
        self.counts = Counts(inputs, values, size)
        self.bets = Bets(grid, delta, inputs, size, product)
        self.claim, self.size, self.late = (epsilon, delta), size, late
        self.counted = self.rounds = self._before = 0
        self._end = block_end(0)
        none = np.empty(0, int)
        self._waiting: tuple[int, Array, Array, Array] = (0, none, none, none)
        self._reports: Any = None
        self._evidence: tuple[int, list[tuple[Array, int, int]], Any] = (0, [], None)
        self._leading: tuple[Entry, int, int] | None = None

    @property
    def room(self) -> int:
        """Rounds until the block ends, because `see` must not take more at once."""
        left = -(-(self._end - int(self.counts.reports.sum())) // self.size)
        idle = max(self.counted - self.rounds, 0)
        return idle + (2 * left - self.counted % 2 if self.late else left)

    @property
    def log(self) -> Array:
        """Logarithm of the wealth against every claim, float array (g,)."""
        return self.bets.log

    @property
    def report(self) -> Any:
        """A report that shows the event which has won most, ``None`` if it was not kept."""
        return self._evidence[2]

    @property
    def words(self) -> str:
        """The event in words, before anything has won."""
        return "every entry of the reports"

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
        rounds = len(sides) // self.size
        idle = min(max(self.counted - self.rounds, 0), rounds)
        played, compared, fresh = np.arange(idle, rounds), sides, np.zeros(rounds, bool)
        if self.late:
            compared = np.append(self._before, sides[:-1])
            played = played[(self.rounds + played) % 2 == 1]
        fresh[played] = True
        compared = np.where(np.repeat(fresh, self.size), compared, -1)
        self._waiting = rounds, played, self.counts.see(found, compared), compared
        self.counted = max(self.counted, self.rounds + rounds)
        self._last, self._reports = sides, reports

    def trace(self, at: int) -> Array:
        """Return the logarithm of the wealth against one claim after each of the rounds seen."""
        rounds, played, flags, sides = self._waiting
        fresh = sides >= 0
        wealth = np.append(self.log[at], self.bets.trace(flags[fresh], sides[fresh], at))
        return wealth[np.searchsorted(played, np.arange(rounds), "right")]

    def play(self, used: int, at: int = 0, low: int = 0) -> None:
        """Bet on the first `used` of the rounds seen, and end a block that is full.

        Bets are made against the claims from number `low` on. The events that have won most against
        claim number `at` are kept for `leading`, with a report that shows one of them.
        """
        flags, sides = (array[: used * self.size] for array in self._waiting[2:])
        fresh = sides >= 0
        self.bets.play(flags[fresh], sides[fresh], low)
        best, events = self.bets.leader(at)
        showing = np.flatnonzero((flags >> best & 1).any(axis=1))
        if showing.size:
            keyed = [(row, d, self.counts.key(row)) for row, d in events]
            self._evidence = best, keyed, self._reports[showing[-1]]
        self.rounds += used
        if used:
            self._before = int(self._last[used * self.size - 1])
        seen = int(self.counts.reports.sum())
        if seen >= self._end:
            self.counts.choose(self.bets.settle(*self.counts.end_block(*self.claim)))
            self._end = block_end(seen)

    def leading(self) -> tuple[Entry, int, Array, Array] | None:
        """Return the event that has won most; ``None`` if no bet was made.

        Returns
        -------
        entry : Entry
        question : int
            The input with which the event is likelier.
        shown, reports : arrays (k,)
            How many reports of each input show the event, and of how many.
        """
        best, events, report = self._evidence
        for row, question, key in events:
            words = self.counts.words(row, report, key)
            if words:
                kind, hashes = int(row[1]), self.counts.paths.hashes
                places = (int(row[2]), int(row[3])) if kind > CATEGORY else (int(row[2]),)
                paths = (key,) if kind == CATEGORY else tuple(int(hashes[i]) for i in places)
                self._leading = Entry(words, kind, paths, float(row[3])), question, best
                break
        if self._leading is None:
            return None
        entry, question, best = self._leading
        return entry, question, *self.bets.seen(best, question)

    # --- to stop and continue ---------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Return the state, for `restore`; JSON can hold it."""
        counts, bets = self.counts, self.bets
        n = int(counts.paths.used[0])
        arrays = {f"counts{name}": getattr(counts, name) for name in _FLAT}
        arrays |= {f"paths_{name}": getattr(counts.paths, name)[:n] for name in _PATHS}
        used = np.flatnonzero(counts.table.keys)
        arrays |= {f"table_{name}": getattr(counts.table, name)[used] for name in _TABLE}
        arrays["table"], arrays["door"] = used, np.flatnonzero(counts.table.door)
        arrays["marks"] = counts.table.door[arrays["door"]]
        arrays |= {f"bets{name}": getattr(bets, name) for name in _WEALTH}
        arrays["missed"] = np.flatnonzero(counts.paths.missed)
        arrays["coupled"] = counts._coupled.events
        arrays["coupled_reports"] = counts._coupled.reports
        arrays["chosen"] = np.array([[*row, d, s] for row, d, s in bets.chosen], float).reshape(
            len(bets.chosen), 6 + counts.inputs
        )
        self.leading()
        entry, *of = self._leading or (None, 0, 0)
        return {
            "found": None if entry is None else [*astuple(entry)[:4], *of],
            "numbers": [
                self.counted, self.rounds, self._before, self._end, counts.blocks,
                counts._coupled.looked, counts.rare, counts.records, counts._offered,
            ],
            "arrays": packed(arrays),
        }  # fmt: skip

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from the `state` of another screen.

        Raises
        ------
        ValueError
            If the state has another form, or holds indices outside of the tables.
        """
        counts, bets = self.counts, self.bets
        arrays, numbers = unpacked(state["arrays"]), [int(number) for number in state["numbers"]]
        self.counted, self.rounds, self._before, self._end, counts.blocks, looked, *rest = numbers
        counts.rare, counts.records, counts._offered = rest

        def given(name: str, old: Array, rows: int | None = None) -> Array:
            return taken(arrays, name, old, rows)

        if state["found"] is not None:
            words, kind, paths, value, question, best = state["found"]
            entry = Entry(str(words), int(kind), tuple(map(int, paths)), float(value))
            self._leading = entry, range(counts.inputs)[question], range(len(bets._raw))[best]
        n, none = len(arrays["paths_hashes"]), np.empty(0, np.int64)
        if n > SLOTS or not 0 <= self._before < counts.inputs or self.rounds < 0:
            raise ValueError("state must hold a screen, got numbers that are out of range")
        for name in _FLAT:
            setattr(counts, name, given(f"counts{name}", getattr(counts, name)))
        for name in _WEALTH:
            setattr(bets, name, given(f"bets{name}", getattr(bets, name)))
        for name in _PATHS:
            getattr(counts.paths, name)[:n] = given(f"paths_{name}", getattr(counts.paths, name), n)
        table = counts.table
        for name, size in (("table", table.keys.size), ("door", DOOR), ("missed", MISSED)):
            if not ((given(name, none, len(arrays[name])) >= 0) & (arrays[name] < size)).all():
                raise ValueError(f"state must hold {name} below {size:,}, got other places")
        for name in _TABLE:
            old = getattr(table, name)
            old[arrays["table"]] = given(f"table_{name}", old, len(arrays["table"]))
        table.door[arrays["door"]] = given("marks", table.door, len(arrays["door"]))
        counts.paths.missed[arrays["missed"]] = 1
        if not ((counts.paths.cuts >= 0) & (counts.paths.cuts <= BINS)).all():
            raise ValueError("state must hold a screen, got cuts that are out of range")
        counts.paths.fill(n)
        events = given("coupled", counts._coupled.events)
        counts._coupled = Ranking(events, looked, 0, given("coupled_reports", counts.reports[0]))
        self._check(events.reshape(-1, 4 + counts.inputs))
        rows = given("chosen", np.empty((0, 6 + counts.inputs)), len(arrays["chosen"]))
        self._check(rows[:, :-2])
        if not ((rows[:, -2:] >= 0) & (rows[:, -2:] < [counts.inputs, len(bets._raw)])).all():
            raise ValueError("state must hold a screen, got strategies that are out of range")
        bets.chosen = [(row[:-2], int(row[-2]), int(row[-1])) for row in rows]
        counts.choose(bets.chosen)

    def _check(self, rows: Array) -> None:
        """Refuse rows of events that point outside of the tables."""
        kind, place, value = rows[:, 1], rows[:, 2], rows[:, 3]
        used, couple = max(int(self.counts.paths.used[0]), 1), kind >= AGREE
        places = np.where(kind == CATEGORY, len(self.counts.table.keys), used)
        places = np.where(couple, min(used, SIGNED), places)
        most = np.where(couple, places, np.where(kind < 2, 64, math.inf))
        sound = (kind >= 0) & (kind <= AGREE + 1) & (place >= 0) & (place < places)
        sound &= ((value >= 0) | (kind > 1) & (kind < AGREE)) & (value < most) & ~np.isnan(value)
        if not sound.all() or len(rows) > 64 * TOP * self.counts.inputs:
            raise ValueError("state must hold a screen, got events that are out of range")
