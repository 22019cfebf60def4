"""The sequential audit loop: choose inputs, draw reports, observe events, bet, learn."""

import functools
import math
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import streams
from ..kinds.anything import rows
from ..progress import Progress
from ..sequential import Screen
from ..stats import down
from ..types import Array, Reports
from . import told
from .events import Accepted, Event, happened
from .pair import makeable
from .purse import COINS, IDLE, MEAN, PRODUCT, Purse, cut
from .result import Row, finite
from .sources import Live, Source, identity, in_turn, joined, packed, picked, unpacked
from .stopped import AnytimeResult, block, careful

__all__ = ["Course"]

_KEPT = 2**13  # last reports per input that learners see, fewer if they are wide
_CELLS = 2**20  # numbers in the reports that are made at once
_SEEN, _ENTRIES = 1024, 100_000  # rounds that are screened at once, and their numbers at most
_LATE = 0.1  # share of the stake for bets on the input that was asked for one report before
_PIECE = 0.5  # seconds after which a client that makes one report at a time is looked at again
_LEARNED = 2.0  # power of wealth by which learned bets get their shares


class Course:
    """An audit under way.

    It proceeds in rounds. In a round of a live client a coin chooses one of the inputs, and the
    client makes one report of it. A round of recordings takes one report of every input.

    Parameters
    ----------
    audit : AnytimeAudit
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
        self.learners = [hasattr(event, "learn") for event in self.events]
        self.drawn = (
            self.live
            and not audit.faithful
            and self.source.lawful
            and all(isinstance(e, Accepted) and e.rates is not None for e in self.events)
        )  # from the exact distribution
        if self.live and not self.drawn:
            makeable(mechanism)
        declared, inputs = audit.independent, len(audit.inputs)
        independent = not self.live and (self.source.independent if declared is None else declared)
        self.purse = Purse(
            self.source.epsilon, audit.delta, audit.alpha, audit.rates,
            learned=None in audit.rates,
            scored=any(hasattr(e, "score") for e in self.events),
            rule=COINS if self.live else PRODUCT if independent else MEAN,
            eta=_LEARNED if any(self.learners) else 1.0,
            weights=[1.0 if j is not None else 1 / (inputs - 1) for _, _, j in audit.tracks],
            screens=self._screens(inputs, independent) if audit.learning else (),
        )  # fmt: skip
        self.each = inputs if self.live else 1  # rounds for one report of every input
        self.rounds, self.asked, self.stopped, self.seconds = 0, np.zeros(inputs, int), "", 0.0
        self.trajectory: list[tuple[int, float, float]] = []
        self.kept: list[list[Reports]] = [[] for _ in audit.inputs]
        self.words = [event.words for event in self.events]  # of what was bet on last
        self.taught = 0  # reports per input that were learned from
        self._name = "bets", [repr(value) for value in audit.inputs], *audit.claim
        width = mechanism.width * inputs // self.each if self.live else 1
        self._most = max(1, min(2**16, _CELLS // width)) * self.each
        self._speed = 100.0  # rounds a second, where reports cannot be repeated
        if state is not None:
            self._restore(state)

    def _screens(self, inputs: int, independent: bool) -> list[tuple[float, Any]]:
        """Bets on everything that reports show, and on the input that was asked for before."""
        claim = 1.0 if self.source.epsilon == math.inf else self.source.epsilon, self.audit.delta
        size, late = (1, _LATE) if self.live else (inputs, 0.0)

        def screen(grid: Array, late: bool = False) -> Screen:
            return Screen(grid, *claim, inputs, size, independent, late)

        made: list[tuple[float, Any]] = [((1 - late) / 2, screen)]
        return made + ([(late, functools.partial(screen, late=True))] if late else [])

    # --- the run ----------------------------------------------------------------------------------

    def go(self, trials: int | None = None, max_time: float | None = None) -> str:
        """Bet until the audit stops; called again, it goes on.

        Parameters
        ----------
        trials, max_time
            As in `AnytimeAudit`, which has the default.

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
        watched, before = not self.purse.refuted, self.seconds
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
        purse, alpha = self.purse, self.audit.alpha
        sure = f"epsilon at least {down(purse.lower)}" if purse.reached else "no bound of epsilon"
        worth = "" if purse.e_value is None else f", e-value {purse.e_value:.4g}"
        return f"{sure} at level {1 - alpha:g}{worth}"

    def _why(self, budget: int, watched: bool) -> str:
        purse, within = self.purse, self.audit.within
        if watched and purse.refuted:
            return "violation"
        if within is not None and purse.reached and purse.lower >= self.source.epsilon - within:
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
        rng = streams.generator(self.seed, *self._name, start)
        chosen, reports = self._draw(n, start, rng)
        n = min(n, len(chosen))
        if n <= skip:
            return 0
        symbols, scores = self._observe(chosen, reports, rng)
        used, end_of_part = 0, min(n, skip + left)
        watched = watched and not self.purse.refuted
        while skip + used < end_of_part and not (watched and self.purse.refuted):
            part = slice(skip + used, min(end_of_part, skip + used + self._room))
            for screen in self.purse.screens:
                screen.see(*self._in_turn(chosen[part], reports, part))
            these = [cut(one, part) for one in scores]
            used += self.purse.bet(np.ascontiguousarray(symbols[:, part]), these, watched)
        self._keep(chosen, reports, np.arange(skip, skip + used))
        self.rounds += used
        if self.rounds == end:
            self._settle()
        return used

    @property
    def _room(self) -> int:
        """How many rounds may be bet on at once."""
        if not self.purse.screens:
            return self._most
        most = max(
            self.each, int(min(_SEEN, _ENTRIES / self._entries)) * self.each // self.asked.size
        )
        return min(most, *(screen.room for screen in self.purse.screens))

    def _in_turn(self, chosen: Array, reports: Any, part: slice) -> tuple[Any, Array]:
        """Reports of one round after the other, and their inputs."""
        at = np.arange(part.start, part.stop)
        if self.live:
            return _each(picked(reports, at)), chosen[:, 0]
        sides = [_each(picked(one, at)) for one in reports]
        return [report for one in zip(*sides) for report in one], chosen.ravel()

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
        coins = streams.generator(self.seed, *self._name, "coins", start)
        chosen, tick = coins.integers(0, len(inputs), n), time.perf_counter()
        reports = None if self.drawn else self.source.ask(inputs, chosen, rng)
        self._speed = n / max(time.perf_counter() - tick, 1e-6)
        return chosen[:, None], reports

    def _observe(
        self, chosen: Array, reports: Any, rng: np.random.Generator
    ) -> tuple[Array, list[Any]]:
        """The symbol of every round on every track, and the scores of its reports; see
        `ldpkit.betting` for symbols."""
        n = len(chosen)
        symbols = np.full((len(self.events), n), IDLE, np.uint8)
        scores: list[Any] = [None] * len(self.events)
        events: list[Any] = self.events
        for track, (event, (_, i, j)) in enumerate(zip(events, self.audit.tracks)):
            if self.learners[track] and not self.taught:
                continue
            if event.words != self.words[track]:  # counts are of one event
                self.words[track], self.purse.counts[track] = event.words, 0
            scored = hasattr(event, "score")
            if not self.live:
                other = (
                    picked(reports[j], np.arange(n)) if j is not None else in_turn(reports, i, n)
                )
                sides = picked(reports[i], np.arange(n)), other
                one, two = (happened(event, side, n, rng) for side in sides)
                symbols[track] = 2 * one.view(np.uint8) + two.view(np.uint8)
                scores[track] = (event.score(sides[0]), event.score(sides[1])) if scored else None
                continue
            where = np.flatnonzero((chosen[:, 0] == i) | (chosen[:, 0] == j) | (j is None))
            second = chosen[where, 0] != i
            if self.drawn:
                p, q = self.audit.rates[track]
                shown = rng.random(where.size) < np.where(second, q, p)
            else:
                these = picked(reports, where)
                shown = happened(event, these, where.size, rng)
                if scored:
                    scores[track] = np.full(n, 0.5)
                    scores[track][where] = event.score(these)
            symbols[track, where] = 2 * second + shown
        return symbols, scores

    def _keep(self, chosen: Array, reports: Any, rows: Array) -> None:
        """Count the inputs of rounds that were bet on, and keep their reports for learners."""
        self.asked += np.bincount(chosen[rows].ravel(), minlength=self.asked.size)
        if reports is None or not any(self.learners):
            return
        for side, kept in enumerate(self.kept):
            if self.live:
                kept.append(picked(reports, rows[chosen[rows, 0] == side]))
            else:
                kept.append(picked(reports[side], rows))

    def _settle(self) -> None:
        """End a block: divide the wealth again, and learn."""
        purse = self.purse
        self.trajectory.append((self.rounds // self.each, purse.log, purse.lower))
        purse.settle()
        for track, known in enumerate(self.audit.rates):
            if known is None and not self.learners[track]:
                purse.believe(track, careful(*told.counts(self, track)))
        if any(self.learners):
            past = [joined(kept) for kept in self.kept if kept]
            if len(past) < len(self.kept):
                return  # an input was not asked for yet
            few = max(64, min(_KEPT, int(100 * _KEPT / self._entries)))
            self.taught = min(few, *map(_size, past))
            last = [np.arange(_size(one) - self.taught, _size(one)) for one in past]
            self.kept = [[picked(one, at)] for one, at in zip(past, last)]
            self._learn()

    @property
    def _entries(self) -> float:
        """Numbers and categories of a report, as far as they are counted."""
        counts = [screen.counts for screen in self.purse.screens[:1]]
        return max(1.0, *(one.records / max(int(one.reports.sum()), 1) for one in counts), 1.0)

    def _learn(self, tuned: bool = False) -> None:
        """Teach all learners the same number of reports of every input."""
        past = [picked(joined(kept), np.arange(self.taught)) for kept in self.kept]
        for track, (event, (_, i, j)) in enumerate(zip(self.events, self.audit.tracks)):
            if not self.learners[track]:
                continue
            learner: Any = event
            second = past[j] if j is not None else in_turn(past, i, self.taught)
            held_out = learner.learn(past[i], second)
            self.purse.believe(track, getattr(learner, "rates", None))
            if held_out is not None and not tuned:
                self.purse.tune(track, *held_out)

    # --- what is known ----------------------------------------------------------------------------

    @property
    def result(self) -> AnytimeResult:
        """What is known by now."""
        return told.result(self)

    @property
    def found(self) -> Event | None:
        """What has won most, to be declared to another audit; ``None`` if that is no event."""
        best = int(np.argmax(self.purse.each)) - len(self.events)
        if best < 0:
            return getattr(self.events[best], "found", self.events[best])
        found = self.purse.screens[best].found()
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
            "taught": self.taught,
            "words": self.words,
            "seconds": self.seconds,
            "trajectory": [list(row) for row in self.trajectory],
            "kept": [packed(joined(kept)) if kept else None for kept in self.kept],
            **self.purse.state(),
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
        self.purse.restore(state)
        self.seed, self.rounds, self.taught = state["seed"], state["rounds"], state["taught"]
        self.asked, self.words = np.array(state["asked"], int), list(state["words"])
        self.seconds = state["seconds"]
        self.trajectory = [(int(a), b, c) for a, b, c in state["trajectory"]]
        self.kept = [[unpacked(kept)] if kept else [] for kept in state["kept"]]
        if any(self.learners) and self.taught:
            self._learn(tuned=True)


def _each(reports: Reports) -> Any:
    """Reports one by one; tables of numbers as they are."""
    table = isinstance(reports, np.ndarray) and reports.ndim == 2 and reports.dtype.kind in "biuf"
    return reports if table else rows(reports)


def _size(reports: Reports) -> int:
    return _size(reports[0]) if isinstance(reports, (list, tuple)) else len(reports)
