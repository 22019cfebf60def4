"""The course of an audit that bets: reports are drawn, bet on, and learned from, in this order."""

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import streams
from ..progress import Progress
from ..types import Array, Reports
from .events import Accepted, Event, happened
from .pair import makeable
from .purse import IDLE, Purse
from .result import AuditResult, Row, finite, too_few
from .shown import Drawing, drawing
from .sources import Made, Source, joined, packed, picked, unpacked

__all__ = ["AnytimeResult", "Course"]

_KEPT = 10**5  # pairs that learners see: more would hardly teach them anything
_CELLS = 2**20  # numbers in the reports that are made at once
_PIECE = 0.5  # seconds after which a client that makes one report at a time is looked at again
_LEARNED = 2.0  # power of wealth by which learned bets get their shares
_FIRST = 8  # pairs after which something is learned for the first time


@dataclass(frozen=True, kw_only=True)
class AnytimeResult(AuditResult):
    """What an audit has found when it stopped, or until now.

    Attributes
    ----------
    event : str
        What was bet on, in words: the event that has won most.
    e_value : float or None
        Wealth against the claim, from a stake of 1; ``1 / e_value`` is a p-value. ``None`` if
        nothing is claimed.
    stopped : str
        Why the audit stopped.
    trajectory : tuple of (int, float, float)
        Reports per input, logarithm of the wealth, and `lower`, at the times of
        `ldpkit.auditors.events`.
    """

    event: str = ""
    e_value: float | None = None
    stopped: str = ""
    trajectory: tuple[tuple[int, float, float], ...] = field(default=(), compare=False)

    @property
    def reports(self) -> int:
        """Reports that were used, per input."""
        return self.trials

    @property
    def status(self) -> str:
        """As in `AuditResult`; a bound that has reached the claim has rejected it."""
        return "violation" if self.lower >= self.claim else super().status

    @property
    def _found(self) -> str:
        if not self.violated:
            return super()._found
        sure = f"wrong with probability at most {self.alpha:g}"
        return (
            f"VIOLATION: the reports leak more than epsilon = {self.lower:.4g} and {self.claim:g}"
            f" is claimed, found with {self.reports:,} reports per input ({sure})."
            f"{' ' * bool(self.scope)}{self.scope}"
        )

    def plot(self) -> Drawing:
        """Draw wealth and bound over reports."""
        return drawing(self.trajectory, self.claim, self.alpha)

    def row(self) -> Row:
        """Flatten as `AuditResult.row` does."""
        return super().row() | {
            "event": self.event,
            "e_value": None if self.e_value is None else finite(self.e_value),
            "reports": self.reports,
            "stopped": self.stopped,
        }


def block(t: int) -> tuple[int, int]:
    """Return the block of pairs that pair number t is in: what is learned, is learned between
    blocks."""
    begin, end = 0, _FIRST
    while end <= t:
        begin, end = end, max(end + 4, end * 3 // 2)
    return begin, end


class Course:
    """An audit under way.

    Parameters
    ----------
    audit : AnytimeAudit
    seed : int
    state : dict, optional
        What `state` returned before: the audit goes on from there, and comes to the same result as
        if it had never stopped, if its reports can be repeated.

    Attributes
    ----------
    pairs : int
        Reports per input that were bet on.
    """

    def __init__(self, audit: Any, seed: int = 1, state: Row | None = None) -> None:
        mechanism: Any = audit.mechanism
        exact = not isinstance(mechanism, Source)
        self.audit, self.seed = audit, seed
        self.source: Source = Made(mechanism) if exact else mechanism
        self.events: list[Event] = audit.events()
        self.learners = [hasattr(event, "learn") for event in self.events]
        self.drawn = (
            exact
            and not audit.faithful
            and self.source.independent
            and all(isinstance(e, Accepted) and e.rates is not None for e in self.events)
        )  # from the law
        if exact and not self.drawn:
            makeable(mechanism)
        independent = self.drawn or (
            self.source.independent if audit.independent is None else audit.independent
        )
        self.purse = Purse(
            self.source.epsilon, audit.delta, audit.alpha, audit.rates,
            learned=any(hasattr(e, "learn") and hasattr(e, "rates") for e in self.events),
            scored=any(hasattr(e, "score") for e in self.events),
            independent=independent, eta=_LEARNED if any(self.learners) else 1.0,
        )  # fmt: skip
        self.pairs, self.stopped, self.seconds = 0, "", 0.0
        self.trajectory: list[tuple[int, float, float]] = []
        self.kept: list[list[Reports]] = [[] for _ in audit.inputs]
        self._name = (
            "bets",
            self.source.name,
            self.source.parameters,
            [event.words for event in self.events],
            self.drawn,
            [repr(value) for value in audit.inputs],
        )
        width = mechanism.width * len(audit.inputs) if exact else 1
        self._most = max(1, min(2**16, _CELLS // width))
        self._speed = 100.0  # reports a second, where they cannot be repeated
        if state is not None:
            self._restore(state)

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
        """Do what `go` does, and yield the reports per input whenever it is looked at."""
        audit, begun = self.audit, time.perf_counter()
        trials = audit.trials if trials is None else trials
        max_time = audit.max_time if max_time is None else max_time
        watched, before = not self.purse.refuted, self.seconds
        inputs, begin = len(audit.inputs), self.pairs * len(audit.inputs)
        if hasattr(self.source, "seek"):
            self.source.seek(self.pairs)
        self.stopped = self._why(trials, watched)
        with Progress(trials * inputs, "reports", self.source.name, start=begin) as progress:
            while not self.stopped:
                used = self._piece(trials - self.pairs, watched)
                self.seconds = before + time.perf_counter() - begun
                if not used:
                    self.stopped = getattr(self.source, "ending", "no more reports")
                    return
                progress.say(self.known())  # whoever interrupts reads it while wealth changes
                progress.add(used * inputs)
                yield self.pairs
                late = max_time is not None and time.perf_counter() - begun >= max_time
                self.stopped = self._why(trials, watched) or late * "time is up"

    def known(self) -> str:
        """Return what is known by now, in a few words."""
        purse, alpha = self.purse, self.audit.alpha
        sure = f"epsilon > {purse.lower:.4g}" if purse.reached else "no bound of epsilon"
        worth = f", e-value {math.exp(min(purse.log, 700)):.4g}" if purse.at is not None else ""
        return f"{sure} at level {1 - alpha:g}{worth}"

    def _why(self, trials: int, watched: bool) -> str:
        purse, within = self.purse, self.audit.within
        if watched and purse.refuted:
            return "violation"
        if within is not None and purse.reached and purse.lower >= self.source.epsilon - within:
            return f"the bound is within {within:g} of the claim"
        return "budget spent" if self.pairs >= trials else ""

    def _piece(self, left: int, watched: bool) -> int:
        """Draw and bet on some pairs; return how many."""
        begin, end = block(self.pairs)
        start, first = begin + (self.pairs - begin) // self._most * self._most, self.pairs
        repeats = self.drawn or self.source.repeats
        if not repeats:  # drawn afresh, and never more than are used
            start = first
            end = min(end, first + min(left, max(1, int(self._speed * _PIECE))))
        n, skip = min(end - start, self._most), first - start
        rng, tick = streams.generator(self.seed, *self._name, start), time.perf_counter()
        reports = [] if self.drawn else self.source.draw(self.audit.inputs, n, rng)
        self._speed = n / max(time.perf_counter() - tick, 1e-6)
        if not self.drawn:
            n = min(n, *(_size(r) for r in reports))
        keep = slice(skip, min(n, skip + left))
        if n <= skip:
            return 0
        symbols, scores = self._seen(reports, n, rng)
        watched = watched and not self.purse.refuted
        scored = [s and (s[0][keep], s[1][keep]) for s in scores]
        used = self.purse.bet(np.ascontiguousarray(symbols[:, keep]), scored, watched)
        if any(self.learners) and first < _KEPT:
            rows = np.arange(skip, skip + used)
            for kept, made in zip(self.kept, reports):
                kept.append(picked(made, rows))
        self.pairs += used
        if self.pairs == block(first)[1]:
            self._settle()
        return used

    def _seen(
        self, reports: list[Reports], n: int, rng: np.random.Generator
    ) -> tuple[Array, list[tuple[Array, Array] | None]]:
        """The symbol of every pair on every track, and the scores of its reports."""
        symbols = np.full((len(self.events), n), IDLE, np.uint8)
        scores: list[tuple[Array, Array] | None] = [None] * len(self.events)
        for track, (event, (_, i, j)) in enumerate(zip(self.events, self.audit.tracks)):
            if self.learners[track] and self.pairs < _FIRST:
                continue
            if self.drawn:
                one, two = (rng.random(n) < rate for rate in self.audit.rates[track])
            else:
                sides = [picked(reports[side], np.arange(n)) for side in (i, j)]
                one, two = (happened(event, side, n, rng) for side in sides)
                if hasattr(event, "score"):
                    scores[track] = (event.score(sides[0]), event.score(sides[1]))
            symbols[track] = 2 * one.view(np.uint8) + two.view(np.uint8)
        return symbols, scores

    def _settle(self) -> None:
        """End a block: divide the wealth again, and learn."""
        purse = self.purse
        self.trajectory.append((self.pairs, purse.log, purse.lower))
        purse.settle()
        self._learn(self.pairs)

    def _learn(self, pairs: int, tuned: bool = False) -> None:
        """Teach all learners the first pairs."""
        if not any(self.learners) or pairs > _KEPT * 3 // 2:
            return
        past = [picked(joined(kept), np.arange(min(pairs, _KEPT))) for kept in self.kept]
        for track, (event, (_, i, j)) in enumerate(zip(self.events, self.audit.tracks)):
            if not self.learners[track]:
                continue
            learner: Any = event
            held_out = learner.learn(past[i], past[j])
            self.purse.believe(track, getattr(learner, "rates", None))
            if held_out is not None and not tuned:
                self.purse.tune(track, *held_out)

    # --- what is known ----------------------------------------------------------------------------

    @property
    def result(self) -> AnytimeResult:
        """What is known by now."""
        audit, purse, made = self.audit, self.purse, self.source
        best = int(np.argmax(purse.each))
        pairs = [(audit.inputs[i], audit.inputs[j]) for _, i, j in audit.tracks]
        n = self.pairs
        turns: list[Row] = [
            {
                "pair": pair,
                "event": event.words,
                "tp": int(seen[2] + seen[3]),
                "fp": int(seen[1] + seen[3]),
                "tpr": int(seen[2] + seen[3]) / max(n, 1),
                "fpr": int(seen[1] + seen[3]) / max(n, 1),
                "epsilon_emp": -math.inf,  # no paper stops when it is sure
                "e_value": math.exp(min(float(own), 700)),
            }
            for pair, event, seen, own in zip(pairs, self.events, purse.counts, purse.each)
        ]
        found, notes = turns[best], [getattr(event, "note", "") for event in self.events]
        learned = all(hasattr(event, "learn") for event in self.events)
        if learned and n and purse.at is not None and np.allclose(purse.each, 0, atol=1e-9):
            notes.append("no bet was made: nothing that was learned promised to win")
        weak = too_few(purse.most, max(n, 1), made.epsilon) if not purse.refuted else ""
        return AnytimeResult(
            mechanism=made.name,
            parameters=made.parameters,
            attack=", ".join(
                dict.fromkeys(getattr(a, "name", "") or a.words for a in audit.attack)
            ),
            trials=n,
            alpha=audit.alpha,
            seed=self.seed,
            faithful=not self.drawn,
            counts={key: found[key] for key in ("tp", "fp")},
            rates={key: found[key] for key in ("tpr", "fpr")},
            epsilon_emp=-math.inf,
            exact=None,
            exact_sd=None,
            claim=made.epsilon,
            delta=audit.delta,
            pair=found["pair"],
            questions=len(turns),
            directions=tuple(turns),
            lower=purse.lower,
            inconclusive=weak,
            warnings=tuple(dict.fromkeys(filter(None, notes))),
            scope=getattr(audit.mechanism, "scope", ""),
            seconds=self.seconds,
            event=found["event"],
            e_value=math.exp(min(purse.log, 700)) if purse.at is not None else None,
            stopped=self.stopped or "under way",
            trajectory=(*self.trajectory, (n, purse.log, purse.lower)),
        )

    # --- to be continued --------------------------------------------------------------------------

    def state(self) -> Row:
        """Return what is needed to go on another day, as JSON can write it."""
        return {
            "seed": self.seed,
            "pairs": self.pairs,
            "seconds": self.seconds,
            "trajectory": [list(row) for row in self.trajectory],
            "kept": [packed(joined(kept)) if kept else None for kept in self.kept],
            **self.purse.state(),
        }

    def _restore(self, state: Row) -> None:
        self.purse.restore(state)
        self.seed, self.pairs, self.seconds = state["seed"], state["pairs"], state["seconds"]
        self.trajectory = [(int(a), b, c) for a, b, c in state["trajectory"]]
        self.kept = [[unpacked(kept)] if kept else [] for kept in state["kept"]]
        if self.pairs >= _FIRST:
            self._learn(block(self.pairs)[0], tuned=True)


def _size(reports: Reports) -> int:
    return _size(reports[0]) if isinstance(reports, (list, tuple)) else len(reports)
