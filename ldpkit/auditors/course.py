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
from .events import Accepted, Event, happened
from .pair import makeable
from .purse import COINS, IDLE, MEAN, PRODUCT, Purse, cut
from .result import Row, finite, too_few
from .sources import Live, Source, identity, joined, packed, picked, unpacked
from .stopped import (
    AHEAD,
    COUNTS,
    LEAST,
    NO_PAIRS,
    OTHERS,
    PAIRED,
    AnytimeResult,
    block,
    careful,
)  # fmt: skip

__all__ = ["Course"]

_KEPT = 2**13  # last reports per input that learners see, fewer if they are wide
_CELLS = 2**20  # numbers in the reports that are made at once
_SEEN, _ENTRIES = 1024, 200_000  # rounds that are screened at once, and their numbers at most
_SPENT, _SPENT_RARE = 2.5, 0.85  # nats lost before bets are on the right event, as measured
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
        most = max(2, int(min(_SEEN, _ENTRIES / self._entries)) // self.asked.size * self.each)
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
                sides = self._sides(reports, n, i, j)
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

    def _sides(self, reports: Any, n: int, i: int, j: int | None) -> list[Reports]:
        """Reports of n rounds of recordings, of one input and of another, or of any other one."""
        if j is not None:
            return [picked(reports[side], np.arange(n)) for side in (i, j)]
        others = [side for side in range(len(reports)) if side != i]
        one = streams.generator(self.seed, *self._name, "others", self.rounds, i)
        turn = one.integers(0, len(others), n)
        second = [picked(reports[side], np.flatnonzero(turn == o)) for o, side in enumerate(others)]
        order = np.argsort(np.argsort(turn, kind="stable"), kind="stable")
        return [picked(reports[i], np.arange(n)), picked(joined(second), order)]

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
                purse.believe(track, careful(*self._counts(track)))
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
            second = past[j] if j is not None else self._mixed(past, i)
            held_out = learner.learn(past[i], second)
            self.purse.believe(track, getattr(learner, "rates", None))
            if held_out is not None and not tuned:
                self.purse.tune(track, *held_out)

    def _mixed(self, past: list[Reports], i: int) -> Reports:
        """As many reports of the other inputs, in turn, as there are of one."""
        others = [one for side, one in enumerate(past) if side != i]
        rows = [np.arange(o, self.taught, len(others)) for o in range(len(others))]
        order = np.argsort(np.concatenate(rows))
        return picked(joined([picked(one, at) for one, at in zip(others, rows)]), order)

    # --- what is known ----------------------------------------------------------------------------

    @property
    def result(self) -> AnytimeResult:
        """What is known by now."""
        audit, purse, made = self.audit, self.purse, self.source
        best = int(np.argmax(purse.each))
        turns = [self._turn(track) for track in range(len(self.events))]
        turns += [self._screened(number) for number in range(len(purse.screens))]
        found, notes = turns[best], [getattr(event, "note", "") for event in self.events]
        n = -(-self.rounds // self.each)
        if self.live and audit.independent:
            notes.append(NO_PAIRS)
        weak = "" if purse.refuted else self._weak(n)
        ahead = self.live and not self.drawn and not made.lawful and made.repeats
        return AnytimeResult(
            mechanism=made.name,
            parameters=made.parameters,
            attack=", ".join(dict.fromkeys(audit.called)),
            trials=n,
            asked=tuple(self.asked.tolist()),
            alpha=audit.alpha,
            seed=self.seed,
            faithful=not self.drawn,
            counts={key: found[key] for key in COUNTS if key in found},
            rates={key: found[key] for key in ("tpr", "fpr") if key in found},
            epsilon_emp=math.nan,
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
            about=AHEAD if ahead else "" if self.live else PAIRED,
            one_in=self.one_in,
            seconds=self.seconds,
            event=found["event"],
            e_value=purse.e_value,
            stopped=self.stopped or "under way",
            trajectory=(*self.trajectory, (n, purse.log, purse.lower)),
        )

    @property
    def found(self) -> Event | None:
        """What has won most, to be declared to another audit; ``None`` if that is no event."""
        best = int(np.argmax(self.purse.each)) - len(self.events)
        if best < 0:
            return getattr(self.events[best], "found", self.events[best])
        found = self.purse.screens[best].found()
        return None if found is None else found[0]

    def _weak(self, n: int) -> str:
        """Why the audit could hardly have refuted the claim; empty if it could."""
        counts = [screen.counts for screen in self.purse.screens[:1]]
        if not counts:
            return too_few(self.purse.most, max(n, 1), self.source.epsilon)
        if counts[0].missed:
            return f"{counts[0].missed:,} places of the reports were not looked at"
        if n and counts[0].constant:
            return "all reports are the same"
        needed = math.ceil(LEAST * self._occurrences)
        if self.one_in < LEAST and self.source.epsilon < math.inf:
            return (
                f"{n:,} reports per input are too few to refute a client that sends its input in"
                f" the clear in one report of {LEAST}; about {needed:,} are needed"
            )
        return ""

    @property
    def _occurrences(self) -> float:
        """How often an input has to be in the clear for a refutation with probability .9."""
        claim, rare = self.source.epsilon, self.purse.screens[0].counts.rare
        spent = _SPENT - float(self.purse.dealt[1]) + _SPENT_RARE * math.log1p(rare)
        least = (spent - math.log(self.audit.alpha)) / math.log1p(math.exp(-min(claim, 700)))
        return least + 2 * math.sqrt(least)

    @property
    def one_in(self) -> int:
        """A client that sends its input in the clear in one report of so many would have been
        refuted with probability .9; 0 if everything in the clear may have been missed, or where
        nothing was screened."""
        return int(self.asked.min() / self._occurrences) if self.purse.screens else 0

    def _turn(self, track: int) -> Row:
        """One question: the wealth of its bets, and where the bet is on a yes or no, how often that
        was seen in the reports on which it was bet."""
        _, i, j = self.audit.tracks[track]
        row: Row = {
            "pair": (self.audit.inputs[i], OTHERS if j is None else self.audit.inputs[j]),
            "event": self.words[track],
            "e_value": math.exp(min(float(self.purse.each[track]), 700)),
        }
        tp, fp, first, second = self._counts(track)
        if getattr(self.events[track], "counted", True):
            row |= {"tp": tp, "fp": fp, "first": first, "second": second}
            row |= {"tpr": tp / first} if first else {}
            row |= {"fpr": fp / second} if second else {}
        return row

    def _screened(self, number: int) -> Row:
        """The wealth of a screen's bets, and what won most."""
        screen, inputs, each = self.purse.screens[number], self.audit.inputs, self.purse.each
        row: Row = {
            "pair": (inputs[0], inputs[1] if len(inputs) == 2 else OTHERS),
            "event": "every entry of the reports",
            "e_value": math.exp(min(float(each[len(self.events) + number]), 700)),
        }
        found = screen.found()
        if found is None:
            return row
        entry, one, shown, asked = found
        rates = shown / np.maximum(asked, 1)
        rates[one] = math.inf
        other = int(np.argmin(rates))
        row |= {
            "pair": (inputs[one], inputs[other]),
            "event": screen.late * "one report late: " + entry.words,
        }
        row |= {"tp": int(shown[one]), "fp": int(shown[other])}
        row |= {"first": int(asked[one]), "second": int(asked[other])}
        row |= {"tpr": shown[one] / asked[one]} if asked[one] else {}
        return row | ({"fpr": float(rates[other])} if asked[other] else {})

    def _counts(self, track: int) -> tuple[int, int, int, int]:
        """How often the event was seen with the first input and with the second, and how many
        reports of each it was bet on."""
        seen = self.purse.counts[track].tolist()
        if self.live:
            return seen[1], seen[3], seen[0] + seen[1], seen[2] + seen[3]
        pairs = sum(seen[:IDLE])
        return seen[2] + seen[3], seen[1] + seen[3], pairs, pairs

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
