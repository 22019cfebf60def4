"""The sequential audit loop: choose inputs, draw reports, read them, bet, learn."""

import functools
import math
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import checks
from ..auditors.pair import makeable
from ..auditors.result import Row, finite
from ..progress import Progress
from ..reports.anything import rows
from ..reports.base import picked
from ..rng import generator
from ..stats import down
from ..types import Array, Reports
from . import findings
from .columns import read
from .events import Accepted, Event, happened
from .result import SequentialResult, block, careful
from .scores import Scores
from .screen import Screen
from .sources import Live, Source, identity
from .wealth import COINS, IDLE, MEAN, PRODUCT, Tracks, Wealth

__all__ = ["Run"]

_CELLS = 2**20  # numbers in the reports that are made at once
_SEEN, _ENTRIES = 4096, 100_000  # rounds that are screened at once, and their numbers at most
_LATE = 0.1  # share of the stake for bets on the input that was asked for one report before
_PIECE = 0.5  # seconds after which a client that makes one report at a time is looked at again


class Run:
    """An audit under way.

    It proceeds in rounds. In a round of a live client a coin chooses one of the inputs, and the
    client makes one report of it. A round of recordings takes one report of every input.

    Parameters
    ----------
    audit : SequentialAudit
    seed : int
    state : dict, optional
        What `state` returned before: the audit goes on from there, and comes to the same result as
        if it had never stopped, if its reports can be repeated.

    Attributes
    ----------
    rounds : int
        Rounds that were bet on.
    asked : int array
        Reports of every input in these rounds.
    """

    def __init__(self, audit: Any, seed: int = 1, state: Row | None = None) -> None:
        mechanism: Any = audit.mechanism
        self.audit, self.seed, self.live = audit, seed, not isinstance(mechanism, Source)
        self.source: Any = mechanism
        if self.live:
            self.source = Live(mechanism)
        self.events: list[Event] = audit.events()
        self.drawn = (
            self.live
            and not audit.faithful
            and not audit.learning
            and self.source.exact
            and all(isinstance(e, Accepted) and e.rates is not None for e in self.events)
        )  # from the exact distribution
        if self.live and not self.drawn:
            makeable(mechanism)
        declared, inputs = audit.independent, len(audit.inputs)
        independent = not self.live and (self.source.independent if declared is None else declared)
        self.rule = COINS if self.live else PRODUCT if independent else MEAN
        self.tracks: Tracks | None = None
        self.screens: list[Screen] = []
        players = [*self._players(inputs, independent)]
        self.wealth = Wealth(self.source.epsilon, audit.alpha, players)
        self.each = inputs if self.live else 1  # rounds for one report of every input
        self.rounds, self.asked, self.stopped, self.seconds = 0, np.zeros(inputs, int), "", 0.0
        self.trajectory: list[tuple[int, float, float]] = []
        self._name = "bets", [repr(value) for value in audit.inputs], *audit.claim
        width = mechanism.width * inputs // self.each if self.live else 1
        self._most = max(1, min(2**16, _CELLS // width)) * self.each
        self._speed = 100.0  # rounds a second, where reports cannot be repeated
        if state is not None:
            self._restore(state)

    def _players(self, inputs: int, independent: bool) -> Iterator[tuple[float, Any]]:
        """Who bets, and with what share of the stake: tracks of declared events, and where an
        attack learns, a screen, scores, and a screen for the input that was asked for before."""
        claim = 1.0 if self.source.epsilon == math.inf else self.source.epsilon, self.audit.delta
        late = _LATE * (self.live and self.audit.learning)
        share = (1 - late) / (bool(self.events) + 2 * self.audit.learning)

        def tracks(grid: Array) -> Tracks:
            self.tracks = Tracks(grid, self.audit.delta, self.audit.rates, self.rule)
            return self.tracks

        def screen(grid: Array, late: bool = False) -> Screen:
            size = 1 if self.live else inputs
            self.screens.append(Screen(grid, *claim, inputs, size, independent, late))
            return self.screens[-1]

        def scores(grid: Array) -> Scores:
            return Scores(self.screens[0].counts, grid, self.audit.delta, independent)

        if self.events:
            yield share, tracks
        if self.audit.learning:
            yield from ((share, screen), (share, scores))
        if late:
            yield late, functools.partial(screen, late=True)

    # --- the run ----------------------------------------------------------------------------------

    def go(self, trials: int | None = None, max_time: float | None = None) -> str:
        """Bet until the audit stops; called again, it goes on.

        Parameters
        ----------
        trials, max_time
            As in `SequentialAudit`, which has the default.

        Returns
        -------
        str
            Why it stopped. An audit that had stopped because of a violation goes on to raise the
            bound.
        """
        for _ in self.pieces(trials, max_time):
            pass
        return self.stopped

    def pieces(self, trials: int | None = None, max_time: float | None = None) -> Iterator[int]:
        """Do what `go` does, and yield the number of rounds whenever it is looked at."""
        audit, begun = self.audit, time.perf_counter()
        trials = audit.trials if trials is None else trials
        max_time = audit.max_time if max_time is None else max_time
        watched, before = not self.wealth.refuted, self.seconds
        budget, size = trials * self.each, len(audit.inputs) // self.each
        if hasattr(self.source, "seek"):
            self.source.seek(self.rounds)
        self.stopped = self._why(budget, watched)
        with Progress(
            budget * size, "reports", self.source.name, start=self.rounds * size
        ) as progress:
            while not self.stopped:
                used = self._piece(budget - self.rounds, watched)
                self.seconds = before + time.perf_counter() - begun
                if not used:
                    self.stopped = getattr(self.source, "ending", "no more reports")
                    return
                progress.say(self.known())  # whoever interrupts reads it while wealth changes
                progress.add(used * size)
                yield self.rounds
                late = max_time is not None and time.perf_counter() - begun >= max_time
                self.stopped = self._why(budget, watched) or late * "time is up"

    def known(self) -> str:
        """Return what is known by now, in a few words."""
        wealth, alpha = self.wealth, self.audit.alpha
        sure = f"epsilon at least {down(wealth.lower)}" if wealth.reached else "no bound of epsilon"
        worth = "" if wealth.e_value is None else f", e-value {wealth.e_value:.4g}"
        return f"{sure} at level {1 - alpha:g}{worth}"

    def _why(self, budget: int, watched: bool) -> str:
        wealth, within = self.wealth, self.audit.within
        if watched and wealth.refuted:
            return "violation"
        if within is not None and wealth.reached and wealth.lower >= self.source.epsilon - within:
            return f"the bound is within {within:g} of the claim"
        return "budget spent" if self.rounds >= budget else ""

    def _piece(self, left: int, watched: bool) -> int:
        """Go through some rounds of one block; return how many."""
        begin, end = (self.each * at for at in block(self.rounds // self.each))
        first, size = self.rounds, self._most
        start = begin + (first - begin) // size * size  # where a piece begins in every run
        if not (self.drawn or self.source.repeats):  # drawn afresh, and never more than are used
            start, size = first, min(left, max(self.each, int(self._speed * _PIECE)))
        n, skip = min(end - start, size), first - start
        rng = generator(self.seed, *self._name, start)
        chosen, reports = self._draw(n, start, rng)
        n = min(n, len(chosen))
        if n <= skip:
            return 0
        symbols = self._observe(chosen, reports, rng)
        used, end_of_part = 0, min(n, skip + left)
        watched = watched and not self.wealth.refuted
        while skip + used < end_of_part and not (watched and self.wealth.refuted):
            part = slice(skip + used, min(end_of_part, skip + used + self._room))
            if self.tracks:
                self.tracks.see(np.ascontiguousarray(symbols[:, part]))
            if self.screens:
                self._read(chosen, reports, part, first + used)
            used += self.wealth.bet(part.stop - part.start, watched)
        self.asked += np.bincount(chosen[skip : skip + used].ravel(), minlength=self.asked.size)
        self.rounds += used
        if self.rounds == end:
            self._settle()
        return used

    @property
    def _room(self) -> int:
        """How many rounds may be bet on at once."""
        if not self.screens:
            return self._most
        most = max(
            self.each, int(min(_SEEN, _ENTRIES / self._entries)) * self.each // self.asked.size
        )
        return min(most, *(screen.room for screen in self.screens))

    def _read(self, chosen: Array, reports: Any, part: slice, first: int) -> None:
        """Take the reports of some rounds apart, one round after the other, for all who look."""
        at, size = np.arange(part.start, part.stop), chosen.shape[1]
        if self.live:
            given = _each(picked(reports, at))
        else:
            sides = [_each(picked(one, at)) for one in reports]
            given = [report for one in zip(*sides) for report in one]
        found = read(given, first * size, size=size)
        for one in self.wealth.players:
            if one is not self.tracks:
                one.see(found, given, chosen[part].ravel())

    def _draw(self, n: int, start: int, rng: np.random.Generator) -> tuple[Array, Any]:
        """Choose the inputs of n rounds by coins that the client never sees, and draw reports.

        Returns
        -------
        chosen : int array (n, inputs a round)
            Positions of inputs.
        reports
            ``None`` if events are drawn from their exact rates.
        """
        inputs = self.audit.inputs
        if not self.live:
            reports = self.source.draw(inputs, n, rng)
            n = min(n, *(_size(r) for r in reports))
            return np.tile(np.arange(len(inputs)), (n, 1)), reports
        coins = generator(self.seed, *self._name, "coins", start)
        chosen, tick = coins.integers(0, len(inputs), n), time.perf_counter()
        reports = None if self.drawn else self.source.ask(inputs, chosen, rng)
        self._speed = n / max(time.perf_counter() - tick, 1e-6)
        return chosen[:, None], reports

    def _observe(self, chosen: Array, reports: Any, rng: np.random.Generator) -> Array:
        """The symbol of every round on every track; see `ldpkit.betting` for symbols."""
        n = len(chosen)
        symbols = np.full((len(self.events), n), IDLE, np.uint8)
        for track, (event, (_, i, j)) in enumerate(zip(self.events, self.audit.tracks)):
            if not self.live:
                sides = (picked(reports[one], np.arange(n)) for one in (i, j))
                one, two = (happened(event, side, n, rng) for side in sides)
                symbols[track] = 2 * one.view(np.uint8) + two.view(np.uint8)
                continue
            where = np.flatnonzero((chosen[:, 0] == i) | (chosen[:, 0] == j))
            second = chosen[where, 0] != i
            if self.drawn:
                p, q = self.audit.rates[track]
                shown = rng.random(where.size) < np.where(second, q, p)
            else:
                shown = happened(event, picked(reports, where), where.size, rng)
            symbols[track, where] = 2 * second + shown
        return symbols

    def _settle(self) -> None:
        """End a block of tracks: divide their wealth again, and learn rates."""
        self.trajectory.append((self.rounds // self.each, self.wealth.log, self.wealth.lower))
        if self.tracks:
            self.tracks.settle()
            for track, known in enumerate(self.audit.rates):
                if known is None:
                    self.tracks.believe(track, careful(*findings.counts(self, track)))

    @property
    def _entries(self) -> float:
        """Numbers and categories of a report, as far as they are counted."""
        counts = self.screens[0].counts
        return max(1.0, counts.records / max(int(counts.reports.sum()), 1))

    # --- what is known ----------------------------------------------------------------------------

    @property
    def result(self) -> SequentialResult:
        """What is known by now."""
        return findings.result(self)

    @property
    def found(self) -> Event | None:
        """What has won most, to be declared to another audit; of all entries together, the one that
        has won most alone."""
        best = int(np.argmax(self.wealth.each)) - len(self.events)
        if best < 0:
            return self.events[best]
        leading = self.wealth.players[best + bool(self.events)]
        found = (leading if leading in self.screens else self.screens[0]).found()
        return None if found is None else found[0]

    # --- to be continued --------------------------------------------------------------------------

    def about(self, known: Row | None = None) -> Row:
        """What the audit is about: a state of it is of no use to any other. `known` is what another
        one was about."""
        audit = self.audit
        return {
            **identity(audit.mechanism, known),
            "inputs": [repr(value) for value in audit.inputs],
            "epsilon": finite(self.source.epsilon),
            "delta": audit.delta,
            "alpha": audit.alpha,
            "attack": list(audit.called),
        }

    def state(self) -> Row:
        """Return what is needed to go on another day, as JSON can write it."""
        return {
            "about": self.about(),
            "seed": self.seed,
            "rounds": self.rounds,
            "asked": self.asked.tolist(),
            "seconds": self.seconds,
            "trajectory": [list(row) for row in self.trajectory],
            **self.wealth.state(),
        }

    def _restore(self, state: Row) -> None:
        before = state["about"]
        now = self.about(before)
        other = [
            f"{name} was {before.get(name)!r} and is {now.get(name)!r}"
            for name in dict.fromkeys([*before, *now])
            if before.get(name) != now.get(name)
        ]
        if other:
            raise ValueError(f"state must be of the same audit: {'; '.join(other)}")
        self.seed = checks.integer("seed", state["seed"], 0)
        self.rounds = checks.integer("rounds", state["rounds"], 0)
        self.seconds = checks.real("seconds", state["seconds"], 0)
        asked = [checks.integer("asked", number, 0) for number in state["asked"]]
        checks.need(len(asked) == len(self.audit.inputs), "asked must be of all inputs")
        self.asked = np.array(asked)
        self.trajectory = [(int(a), float(b), float(c)) for a, b, c in state["trajectory"]]
        with np.errstate(all="ignore"):  # what becomes of odd numbers is looked at
            self.wealth.restore(state)


def _each(reports: Reports) -> Any:
    """Reports one by one; tables of numbers as they are."""
    table = isinstance(reports, np.ndarray) and reports.ndim == 2 and reports.dtype.kind in "biuf"
    return reports if table else rows(reports)


def _size(reports: Reports) -> int:
    return _size(reports[0]) if isinstance(reports, (list, tuple)) else len(reports)
