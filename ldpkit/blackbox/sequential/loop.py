"""The sequential audit loop: choose inputs, draw reports, read them, bet, learn.

Read `Run._piece` and the methods after it, which are one round from its coin to what is learned.
"""

import functools
import itertools
import math
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ... import checks
from ...auditors.base import makeable
from ...auditors.result import Row, finite
from ...mechanisms.base import distribution_known
from ...progress import Progress
from ...reports.base import picked
from ...rng import generator
from ...stats import down
from ...types import Array, Rates, Reports, Rng
from ..clients import Client, Program
from ..clients.anything import rows
from ..clients.client import identity
from ..clients.recordings import Recordings
from ..clients.seeds import Seed
from .columns import read
from .events import IDLE, SHARE, Accepted, Declared, Event, Source, Tracks, happened
from .players import Kept, Wealth, grid
from .portfolio import Portfolio
from .result import SequentialResult, bets, clear, result
from .scores import Scores
from .screen import Screen

__all__ = ["Run"]

_FIRST = 8  # reports per input after which the audit learns for the first time
_CELLS = 2**20  # largest number of entries in the reports that are made at once
_SEEN, _ENTRIES = 4096, 100_000  # largest number of rounds, and of entries, screened at once
_ENTRY = 0.1  # share of the stake for bets on single entries, if the claim is a curve
_LATE = 0.1  # share of the stake for bets on the input of the report before
_PIECE = 0.5  # seconds that one piece of reports from a slow client should take
_TRIED = 400  # reports of the short audit that compiles


class Run(Kept):
    """A running sequential audit.

    The audit proceeds in rounds. In a round of a live client a coin chooses one of the inputs, and
    the client makes one report of it. A round of recordings takes one report of every input.

    Parameters
    ----------
    audit : SequentialAudit
    seed : int
    state : dict, optional
        An earlier return value of `state`, from which the audit continues. If its reports can be
        repeated, the result is the same as without the interruption.

    Attributes
    ----------
    asked : int array (k,)
        Number of reports of each input in these rounds.
    restarts : int
        How often a program was started again.
    """

    _KEPT = ("asked", "seed", "seconds", "restarts")

    def __init__(self, audit: Any, seed: int = 1, state: Row | None = None) -> None:
        mechanism: Any = audit.mechanism
        self.audit, self.mechanism, self.seed = audit, mechanism, seed
        self.live, inputs = not isinstance(mechanism, Source), len(audit.inputs)
        self.events: list[Event] = [event for event, _, _ in audit.tracks]
        self.rates: list[Any] = [event.rates for event in self.events]
        exact = self.live and distribution_known(mechanism)
        self.sampled = (  # from the exact distribution, so that no report is made
            exact
            and not audit.faithful
            and not audit.learning
            and all(isinstance(event, Accepted) for event in self.events)
            and None not in self.rates
        )
        if self.live and not self.sampled:
            makeable(mechanism)
        batched = not isinstance(mechanism, Client) or mechanism.batched
        self.repeats = batched if self.live else mechanism.repeats  # reports, from the same seed
        self.ahead = batched and self.live and not exact  # many inputs at a time
        self.program = isinstance(getattr(mechanism, "function", None), Program)
        self.seeded: Seed | None = None  # how the coins of the program are known
        self.cycle = inputs if self.live else 1  # rounds for one report of each input
        self.asked, self.stopped, self.seconds = np.zeros(inputs, int), "", 0.0
        self.restarts = 0
        self.trajectory: list[tuple[int, float, float]] = []
        self.tracks: Tracks | None = None
        self.screens: list[Screen] = []
        self.claimed, values = mechanism.epsilon, grid(mechanism.epsilon)
        if audit.curve is not None:
            self.claimed = audit.curve.parameters.get("mu", 0.0)
            values = np.array([c.parameters.get("mu", 0.0) for c in audit.curves])
        self.wealth = Wealth(self.claimed, audit.alpha, [*self._players(values)], values)
        self._name = "bets", [repr(value) for value in audit.inputs], *audit.claim
        width = mechanism.width if self.live else 1
        self._most = max(1, min(2**16, _CELLS // width)) * self.cycle
        self._speed = 100.0  # rounds a second of a client whose reports cannot be repeated
        if state is not None:
            self.restore(state)

    def _players(self, values: Array) -> Iterator[tuple[float, Any]]:
        """Yield the players, each with its share of the stake.

        `Tracks` bet on given events. If an attack learns, a `Screen` and `Scores` bet too. For a
        live client a second screen then bets on the input of the report before.
        """
        audit, inputs = self.audit, len(self.audit.inputs)
        (epsilon, delta), curve = audit.claim, audit.curve
        product = False if self.live else audit.independent
        product = self.mechanism.independent if product is None else product
        late = _LATE * (self.live and audit.learning)
        share = (1 - late - SHARE * self.program) / (bool(self.events) + 2 * audit.learning)
        if self.events:
            self.tracks = Tracks(values, audit.delta, self.rates, self.live, product)
            yield share, self.tracks
        if not audit.learning:
            return
        entries = share if curve is None else _ENTRY
        if curve is not None:  # against lines that follow; at 700 there is no bet
            values = np.array([min(c.epsilon(delta), 700.0) for c in audit.curves])
        size, claim = 1 if self.live else inputs, (1.0 if epsilon == math.inf else epsilon, delta)
        self.screens = [
            Screen(values, *claim, inputs, size, product, of_before)
            for of_before in ([False, True] if self.live else [False])
        ]
        counts = self.screens[0].counts
        scores = (
            Scores(counts, values, audit.delta, product)
            if curve is None
            else Portfolio(counts, audit.curves, product)
        )
        shares = entries, 2 * share - entries, late
        yield from zip(shares, (self.screens[0], scores, *self.screens[1:]))

    @property
    def rounds(self) -> int:
        """Number of rounds so far."""
        return self.wealth.rounds

    # --- the run ----------------------------------------------------------------------------------

    def go(self, trials: int | None = None) -> str:
        """Bet until the audit stops; a second call continues it.

        Parameters
        ----------
        trials
            As in `SequentialAudit`, which has the default.

        Returns
        -------
        str
            Why it stopped. An audit that stopped because of a violation continues to raise the
            bound when it is called again.
        """
        for _ in self.pieces(trials):
            pass
        return self.stopped

    def pieces(self, trials: int | None = None) -> Iterator[int]:
        """Bet until the audit stops, as `go` does; yield the number of rounds after each piece."""
        if self.audit.max_time is not None:
            _compile(self.audit)
        audit, begun = self.audit, time.perf_counter()
        trials = audit.trials if trials is None else trials
        watched, before = not self.wealth.refuted, self.seconds
        restarted = self.restarts - self.mechanism.restarts
        budget, size = trials * self.cycle, len(audit.inputs) // self.cycle
        recordings = self.mechanism if isinstance(self.mechanism, Recordings) else None
        if recordings:
            recordings.seek(self.rounds)
        if self.program and not self.rounds and watched:
            goal = self.wealth.goal - math.log(SHARE)
            won, self.seeded = self.mechanism.known_seed(audit.inputs, goal)
            if won >= goal:
                self.wealth.refute(won + math.log(SHARE))
        self.stopped = self._why(budget, watched) or ("not valid" if self.seeded else "")
        limit = math.inf if audit.max_time is None else audit.max_time
        with Progress(
            budget * size, "reports", self.mechanism.name, start=self.rounds * size
        ) as progress:
            while not self.stopped:
                used = self._piece(budget - self.rounds, watched)
                self.seconds = before + time.perf_counter() - begun
                self.restarts = restarted + self.mechanism.restarts
                if not used:
                    self.stopped = recordings.ending if recordings else "no more reports"
                    return
                progress.say(self.summary())  # an interrupt may print it at any moment
                progress.add(used * size)
                yield self.rounds
                spent = time.perf_counter() - begun
                late = spent >= limit and (spent >= 2 * limit or clear(self))
                self.stopped = self._why(budget, watched) or ("time is up" if late else "")

    def summary(self) -> str:
        """Return bound and e-value so far, in a few words."""
        wealth, alpha = self.wealth, self.audit.alpha
        name = "epsilon" if self.audit.curve is None else "mu"
        sure = f"{name} at least {down(wealth.lower)}" if wealth.reached else f"no bound of {name}"
        worth = "" if wealth.e_value is None else f", e-value {wealth.e_value:.4g}"
        return f"{sure} at level {1 - alpha:g}{worth}"

    def _why(self, budget: int, watched: bool) -> str:
        """Return why the audit stops here; an empty text if it does not."""
        wealth, within = self.wealth, self.audit.within
        if watched and wealth.refuted:
            return "violation"
        if within is not None and wealth.reached and wealth.lower >= self.claimed - within:
            return f"the bound is within {within:g} of the claim"
        return "budget spent" if self.rounds >= budget else ""

    def _piece(self, left: int, watched: bool) -> int:
        """Draw, observe, bet and learn for some rounds of one block; return how many were used.

        If `watched`, the bets end when the claim is refuted.
        """
        begin, end = (self.cycle * at for at in block(self.rounds // self.cycle))
        start = begin + (self.rounds - begin) // self._most * self._most  # the same in every run
        size = self._most
        if not (self.sampled or self.repeats):  # no report may be made that is not used
            start, size = self.rounds, min(left, max(self.cycle, int(self._speed * _PIECE)))
        rng = generator(self.seed, *self._name, start)
        chosen, reports = self._draw(min(end - start, size), start, rng)
        first = self.rounds - start  # earlier rounds of this piece were used before a stop
        if len(chosen) <= first:
            return 0
        symbols = self._observe(chosen, reports, rng)
        at, last = first, min(len(chosen), first + left)
        watched = watched and not self.wealth.refuted
        while at < last and not (watched and self.wealth.refuted):
            part = slice(at, min(last, at + self._room))
            if self.tracks:
                self.tracks.see(np.ascontiguousarray(symbols[:, part]))
            if self.screens:
                self._screen(chosen, reports, part)
            at += self.wealth.bet(part.stop - at, watched)
        self.asked += np.bincount(chosen[first:at].ravel(), minlength=self.asked.size)
        if self.rounds == end:
            self.trajectory.append((self.rounds // self.cycle, self.wealth.log, self.wealth.lower))
            if self.tracks:
                self.tracks.share()
                for track in [t for t, known in enumerate(self.rates) if known is None]:
                    self.tracks.believe(track, careful(*self.tracks.hits(track)))
        return at - first

    def _draw(self, n: int, start: int, rng: np.random.Generator) -> tuple[Array, Any]:
        """Choose the inputs of n rounds, by coins that the client never sees, and draw reports.

        Returns
        -------
        chosen : int array (n, inputs a round)
            Positions of inputs.
        reports
            ``None`` if events are sampled with their exact rates.
        """
        inputs = self.audit.inputs
        if not self.live:
            reports = self.mechanism.draw(inputs, n, rng)
            n = min(n, *(_size(own) for own in reports))
            return np.tile(np.arange(len(inputs)), (n, 1)), reports
        chosen = generator(self.seed, *self._name, "coins", start).integers(0, len(inputs), n)
        if self.sampled:
            return chosen[:, None], None
        begun, values = time.perf_counter(), np.stack([self.mechanism.inputs(x, n) for x in inputs])
        reports = self.mechanism.perturb(values[chosen, np.arange(n)], rng)
        self._speed = n / max(time.perf_counter() - begun, 1e-6)
        return chosen[:, None], reports

    def _observe(self, chosen: Array, reports: Any, rng: np.random.Generator) -> Array:
        """Return the symbol (see `ldpkit.blackbox.betting`) of every round on every track."""
        n = len(chosen)
        symbols = np.full((len(self.events), n), IDLE, np.uint8)
        for track, (event, i, j) in enumerate(self.audit.tracks):
            if not self.live:
                own = (picked(reports[x], np.arange(n)) for x in (i, j))
                first, second = (happened(event, some, n, rng) for some in own)
                symbols[track] = 2 * first.view(np.uint8) + second.view(np.uint8)
                continue
            where = np.flatnonzero((chosen[:, 0] == i) | (chosen[:, 0] == j))
            second = chosen[where, 0] != i
            if self.sampled:
                p, q = self.rates[track]
                shown = rng.random(where.size) < np.where(second, q, p)
            else:
                shown = happened(event, picked(reports, where), where.size, rng)
            symbols[track, where] = 2 * second + shown
        return symbols

    @property
    def _room(self) -> int:
        """Largest number of rounds that may be bet on at once."""
        if not self.screens:
            return self._most
        counts, inputs = self.screens[0].counts, self.asked.size
        entries = max(1.0, counts.records / max(int(counts.reports.sum()), 1))  # of a report
        most = max(self.cycle, int(min(_SEEN, _ENTRIES / entries)) * self.cycle // inputs)
        return min(most, *(screen.room for screen in self.screens))

    def _screen(self, chosen: Array, reports: Any, part: slice) -> None:
        """Read the reports of some rounds, and show their records to the players that learn."""
        at, size = np.arange(part.start, part.stop), chosen.shape[1]
        own = [rows(picked(some, at)) for some in ([reports] if self.live else reports)]
        given = own[0] if self.live else [*itertools.chain.from_iterable(zip(*own))]
        records = read(given, self.rounds * size, size=size)
        for player in self.wealth.players:
            if player is not self.tracks:
                player.see(records, given, chosen[part].ravel())

    # --- what is known ----------------------------------------------------------------------------

    @property
    def result(self) -> SequentialResult:
        """The result so far."""
        return result(self)

    @property
    def leading(self) -> Event | None:
        """The event that has won most so far; another audit can declare it.

        If the bets on all entries together have won most, it is the best single entry. It is
        ``None`` if nothing was bet on yet.
        """
        return bets(self)[int(np.argmax(self.wealth.each))][0]

    # --- to be continued --------------------------------------------------------------------------

    def about(self, known: Row | None = None) -> Row:
        """Return what identifies the audit, because only the same audit may use its state.

        `known` is the same record of the audit that kept the state, see `identity`.
        """
        audit = self.audit
        return {
            **identity(audit.mechanism, known),
            "inputs": [repr(value) for value in audit.inputs],
            "epsilon": finite(audit.claim[0]),
            "delta": audit.delta,
            "alpha": audit.alpha,
            "attack": list(audit.called),
            **({} if audit.curve is None else {"curve": audit.curve.lines}),
        }

    def state(self) -> Row:
        """Return the state from which another process can continue; JSON can hold it."""
        return super().state() | {
            "about": self.about(),
            "rounds": self.rounds,
            "trajectory": [list(row) for row in self.trajectory],
            "wealth": self.wealth.state(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from the `state` of another run of the same audit, see `Kept.restore`."""
        before = state["about"]
        now = self.about(before)
        changed = [
            f"{name} was {before.get(name)!r} and is {now.get(name)!r}"
            for name in dict.fromkeys([*before, *now])
            if before.get(name) != now.get(name)
        ]
        checks.need(not changed, f"state must be of the same audit: {'; '.join(changed)}")
        super().restore(state)
        self.trajectory = [(int(a), float(b), float(c)) for a, b, c in state["trajectory"]]
        with np.errstate(all="ignore"):  # numbers out of range are refused afterwards
            self.wealth.restore(state["wealth"])

    def _sound(self) -> bool:
        return min(self.seed, self.seconds, self.restarts, self.asked.min()) >= 0


# --- to compile before the clock starts -----------------------------------------------------------


def _compile(audit: Any) -> None:
    """Compile the kernels of an audit by a short audit like it, so that they cost it no time.

    A client is asked for no report that does not count. Therefore made-up reports stand for it.
    """
    mechanism, attack, inputs = audit.mechanism, audit.attack, audit.inputs
    if isinstance(mechanism, Client | Source):
        k, report = getattr(mechanism, "k", len(inputs)), getattr(mechanism, "report", "any")
        mechanism = Client(functools.partial(_made_up, report, k), k, report, 1.0)
        attack = [_HALF if isinstance(a, Event) else a for a in attack]
        inputs = range(len(inputs))
    limits: Any = {"within": None, "max_time": None}
    run = Run(
        replace(audit, mechanism=mechanism, attack=attack, pair=None, inputs=inputs, **limits)
    )
    while run.rounds < _TRIED:
        run._piece(_TRIED - run.rounds, False)
    result(run)


_HALF = Declared(lambda reports: np.arange(len(reports)) % 2 == 0, "every second report")


def _made_up(report: str, k: int, values: Array, rng: Rng) -> Any:
    """Return reports that show the value every other time, so that all kinds of bets are made."""
    n = len(values)
    shown = np.where(rng.random(n) < 0.5, values, rng.integers(k, size=n))
    if report == "any":  # entries of all types
        words = "a 1", 1, [1, 0, 0.5], [0, 1, 1], {"b": None}
        return [[int(value), *words, *rng.random(3)] for value in shown]
    bits = shown[:, None] == np.arange(k)
    return {"value": shown, "bits": bits, "subset": shown[:, None]}[report]


def _size(reports: Reports) -> int:
    """Return the number of users, also of a list of arrays."""
    return _size(reports[0]) if isinstance(reports, (list, tuple)) else len(reports)


def careful(tp: int, fp: int, first: int, second: int) -> Rates:
    """Return cautious rates to bet on after `tp` of `first` and `fp` of `second` reports.

    They are moved towards each other by .7 standard errors, and are never 0 or 1.
    """
    p, q = (tp + 0.5) / (first + 1), (fp + 0.5) / (second + 1)
    p -= 0.7 * math.sqrt(p * (1 - p) / (first + 1))
    q += 0.7 * math.sqrt(q * (1 - q) / (second + 1))
    least, most = 1 / (first + 2), 1 - 1 / (second + 2)
    return max(p, least), min(q, most)


def block(t: int) -> tuple[int, int]:
    """Return begin and end of the block of report number t of an input.

    The audit learns between blocks only.
    """
    begin, end = 0, _FIRST
    while end <= t:
        begin, end = end, max(end + 4, end * 3 // 2)
    return begin, end
