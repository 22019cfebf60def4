"""The sequential audit loop: choose inputs, draw reports, read them, bet, learn.

Read `Run._piece` and the methods after it, which are one round from its coin to what is learned.
"""

import itertools
import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ... import checks
from ...auditors.base import makeable
from ...auditors.result import AuditResult, Row, finite
from ...jit import clock
from ...progress import Progress
from ...reports.base import picked
from ...rng import generator
from ...stats import down
from ...types import Array, Reports
from ..clients import Client, Program
from ..clients.anything import Line, rows
from ..clients.identity import identity
from ..clients.recordings import Recordings
from ..clients.seeds import Seed, known_seed
from .bettor import Bettor
from .causes import Cause, found
from .columns import read
from .events import Accepted, Event, Source, happened
from .pristine import Pristine
from .result import leading, result
from .sentence import clear
from .wealth import Claims

__all__ = ["IDLE", "LATE", "SEED", "Run"]

FIRST, LONGEST = 8, 4096
"""Reports per input after which the audit learns for the first time, and the longest block."""
CELLS = 2**20
"""Largest number of coordinates of the reports that are made at once."""
TOKENS, AT_ONCE = 2**20, 4096
"""Largest number of tokens, and of rounds, that are read at once."""
PIECE = 0.5
"""Seconds that one piece of reports from a slow client should take."""
LATE, SEED = 0.1, 0.01
"""Shares of the stake for bets on the input of the report before, and on the seed of a program."""
OFTEN, RARELY = 4096, 8
"""So many first rounds are bet on for the input before, and one of so many later."""
IDLE = 2
"""Symbol of a report on which a declared event is not bet."""


class Run:
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
    main, late : Bettor
        It bets on the input of each report, and the other one on that of the report before. The
        latter is fair for every second report, because their coins differ. ``None`` if there is no
        coin, or nothing is learned.
    shares : list of float
        Logarithms of their shares of the stake.
    asked : int array (k,)
        Number of reports of each input in these rounds.
    before : int
        Input of the last report, -1 at the start.
    restarts : int
        How often a program was started again.
    won : float
        Logarithm of the wealth with which the seed of a program refuted the claim.
    """

    def __init__(self, audit: Any, seed: int = 1, state: Row | None = None) -> None:
        mechanism: Any = audit.mechanism
        self.audit, self.mechanism, self.seed = audit, mechanism, seed
        self.live, inputs = not isinstance(mechanism, Source), len(audit.inputs)
        self.events: list[Event] = [event for event, _, _ in audit.tracks]
        exact = self.live and mechanism.distribution_known
        self.sampled = (  # from the exact distribution, so that no report is made
            exact
            and not audit.faithful
            and not audit.learning
            and all(isinstance(e, Accepted) and e.rates is not None for e in self.events)
        )
        if self.live and not self.sampled:
            makeable(mechanism)
        self.timed = isinstance(mechanism, Client) and mechanism.time
        batched = not isinstance(mechanism, Client) or (mechanism.batched and not self.timed)
        self.repeats = batched if self.live else mechanism.repeats  # reports, from the same seed
        self.ahead = batched and self.live and not exact  # many inputs at a time
        self.program = isinstance(getattr(mechanism, "function", None), Program)
        explained = self.live and audit.learning and audit.explain > 0
        self.pristine = Pristine(mechanism) if explained else None
        self.cause = Cause()
        self.seeded: Seed | None = None  # how the coins of the program are known
        self.cycle = inputs if self.live else 1  # rounds for one report of each input
        self.size = inputs // self.cycle  # reports of a round
        self.asked, self.stopped, self.seconds = np.zeros(inputs, int), "", 0.0
        self.restarts, self.before, self.won = 0, -1, -math.inf
        self.trajectory: list[tuple[int, float, float]] = []
        self.goal = -math.log(audit.alpha)
        band = np.zeros(0) if audit.band is None else audit.band
        self.claims = Claims(audit.claim, audit.curve, band)
        product = False if self.live else audit.independent
        product = mechanism.independent if product is None else product
        pairs = [(i, j, event.rates) for event, i, j in audit.tracks]
        late = LATE * (self.live and audit.learning)
        self.shares = [math.log(1 - late - SEED * self.program)]
        given: Any = inputs, pairs, audit.learning, self.size, product
        self.main = Bettor(self.claims, self.goal - self.shares[0], *given)
        self.late: Bettor | None = None
        if late:
            self.shares.append(math.log(late))
            self.late = Bettor(self.claims, self.goal - self.shares[1], inputs)
        self._name = "bets", [repr(value) for value in audit.inputs], *audit.claim
        width = mechanism.width if self.live else 1
        self._most = max(1, min(2**16, CELLS // width)) * self.cycle
        self._speed = 100.0  # rounds a second of a client whose reports cannot be repeated
        if state is not None:
            self.restore(state)

    @property
    def bettors(self) -> list[tuple[float, Bettor]]:
        """The bettors, each with the logarithm of its share of the stake."""
        return [*zip(self.shares, filter(None, [self.main, self.late]))]

    @property
    def rounds(self) -> int:
        """Number of rounds so far."""
        return self.main.rounds

    # --- what is known ----------------------------------------------------------------------------

    @property
    def log(self) -> float:
        """Logarithm of the wealth against the claim; never below the wealth that refuted it."""
        known = [self.won]
        for share, bettor in self.bettors:
            wealth = bettor.wealth
            refuted = wealth.best >= wealth.goal
            known.append(share + (max(wealth.best, wealth.log) if refuted else wealth.log))
        return max(known)

    @property
    def refuted(self) -> bool:
        """Whether the wealth against the claim has ever reached ``1 / alpha``."""
        if self.claims.at is None:
            return False
        return self.won >= self.goal or any(b.wealth.best >= b.wealth.goal for _, b in self.bettors)

    @property
    def e_value(self) -> float | None:
        """Wealth against the claim, ``None`` if nothing is claimed."""
        if self.claims.at is None:
            return None
        least = 1 / self.audit.alpha if self.refuted else 0.0  # of the rounded logarithm
        return max(math.exp(min(self.log, 700)), least)

    def most(self) -> Array:
        """Return the largest wealth against each claim so far, as logarithms."""
        return np.max([share + b.settled()[1] for share, b in self.bettors], axis=0)

    def _known(self) -> Array:
        return np.asarray(np.max([share + b.wealth.most for share, b in self.bettors], axis=0))

    def lower(self, most: Array | None = None) -> float:
        """Return the bound: the largest claim that is refuted together with all smaller ones.

        A refuted claim refutes all smaller ones, because they imply it. Otherwise the bound would
        be wrong whenever any of the larger claims is refuted by chance.
        """
        known = self.most() if most is None else most
        refuted = known[: self.claims.values.size] >= self.goal
        if self.refuted and self.claims.at is not None:
            refuted[: self.claims.at + 1] = True
        return float(np.append(0.0, self.claims.values)[np.argmin(np.append(refuted, False))])

    @property
    def result(self) -> AuditResult:
        """The result so far."""
        return result(self)

    @property
    def leading(self) -> Event | None:
        """The event that has won most so far, which another audit can declare; ``None`` if there is
        none."""
        return leading(self)

    def explain(self, seconds: float | None = None) -> None:
        """Look for the cause of a refutation, by default as long as the audit says."""
        seconds = self.audit.explain if seconds is None else seconds
        if self.refuted and self.audit.learning and self.rounds and seconds > 0:
            self.cause = found(self, seconds)

    def summary(self) -> str:
        """Return e-value so far and bound at the end of the last block, in a few words."""
        alpha, name = self.audit.alpha, "epsilon" if self.audit.curve is None else "mu"
        lower, e_value = self.lower(self._known()), self.e_value
        sure = f"{name} at least {down(lower)}" if lower else f"no bound of {name}"
        worth = "" if e_value is None else f", e-value {e_value:.4g}"
        return f"{sure} at level {1 - alpha:g}{worth}"

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
        audit, begun = self.audit, clock()
        trials = audit.trials if trials is None else trials
        watched, before = not self.refuted, self.seconds
        restarted = self.restarts - getattr(self.mechanism, "restarts", 0)
        budget = trials * self.cycle
        recordings = self.mechanism if isinstance(self.mechanism, Recordings) else None
        if recordings:
            recordings.seek(self.rounds)
        if self.program and not self.rounds and watched:
            goal = self.goal - math.log(SEED)
            won, self.seeded = known_seed(self.mechanism, audit.inputs, goal)
            self.won = won + math.log(SEED) if won >= goal else self.won
        self.stopped = self._why(budget, watched) or ("not valid" if self.seeded else "")
        limit = math.inf if audit.max_time is None else audit.max_time
        name, start = self.mechanism.name, self.rounds * self.size
        with Progress(budget * self.size, "reports", name, start=start) as progress:
            while not self.stopped:
                used = self._piece(budget - self.rounds, watched)
                self.seconds = before + clock() - begun
                self.restarts = restarted + getattr(self.mechanism, "restarts", 0)
                if not used:
                    self.stopped = recordings.ending if recordings else "no more reports"
                    return
                progress.say(self.summary())  # an interrupt may print it at any moment
                progress.add(used * self.size)
                yield self.rounds
                spent = clock() - begun
                late = spent >= limit and (spent >= 2 * limit or clear(self))
                self.stopped = self._why(budget, watched) or ("time is up" if late else "")

    def _why(self, budget: int, watched: bool) -> str:
        """Return why the audit stops here; an empty text if it does not."""
        within = self.audit.within
        if watched and self.refuted:
            return "violation"
        if within is not None and 0 < self.lower() >= self._claimed - within:
            return f"the bound is within {within:g} of the claim"
        return "budget spent" if self.rounds >= budget else ""

    @property
    def _claimed(self) -> float:
        curve = self.audit.curve
        return float(self.audit.claim[0] if curve is None else curve.parameters.get("mu", 0.0))

    def _piece(self, left: int, watched: bool) -> int:
        """Draw, observe, bet and learn for some rounds of one block; return how many were used.

        If `watched`, the bets end when the claim is refuted.
        """
        begin, end = (self.cycle * at for at in block(self.rounds // self.cycle))
        start = begin + (self.rounds - begin) // self._most * self._most  # the same in every run
        size = self._most
        if not (self.sampled or self.repeats):  # no report may be made that is not used
            start, size = self.rounds, min(left, max(self.cycle, int(self._speed * PIECE)))
        rng = generator(self.seed, *self._name, start)
        chosen, reports = self._draw(min(end - start, size), start, rng)
        first = self.rounds - start  # earlier rounds of this piece were used before a stop
        if len(chosen) <= first:
            return 0
        symbols = self._observe(chosen, reports, rng)
        at, last = first, min(len(chosen), first + left)
        while at < last and not (watched and self.refuted):
            stop = min(last, at + self._room)
            at += self._bet(chosen, reports, symbols, slice(at, stop), watched)
        self.asked += np.bincount(chosen[first:at].ravel(), minlength=self.asked.size)
        if self.rounds == end:
            for _, bettor in self.bettors:
                bettor.end_block()
            now = self.rounds // self.cycle, self.log, self.lower(self._known())
            self.trajectory.append(now)
        return at - first

    def _draw(self, n: int, start: int, rng: np.random.Generator) -> tuple[Array, Any]:
        """Choose the inputs of n rounds, by coins that the client never sees, and draw reports.

        Returns
        -------
        chosen : int array (n, reports of a round)
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
        begun, values = clock(), np.stack([self.mechanism.inputs(x, n) for x in inputs])
        reports = self.mechanism.perturb(values[chosen, np.arange(n)], rng)
        self._speed = n / max(clock() - begun, 1e-6)
        return chosen[:, None], reports

    def _observe(self, chosen: Array, reports: Any, rng: np.random.Generator) -> Array:
        """Return whether each report shows each declared event, and `IDLE` for other inputs; int
        array (n, reports of a round, events)."""
        symbols = np.full((*chosen.shape, len(self.events)), IDLE, np.int64)
        for track, (event, i, j) in enumerate(self.audit.tracks):
            if not self.live:
                for x in (i, j):
                    own = picked(reports[x], np.arange(len(chosen)))
                    symbols[:, x, track] = happened(event, own, len(chosen), rng)
                continue
            at = np.flatnonzero((chosen[:, 0] == i) | (chosen[:, 0] == j))
            if self.sampled:
                shown = rng.random(at.size) < np.where(chosen[at, 0] == i, *event.rates)
            else:
                shown = happened(event, _values(picked(reports, at)), at.size, rng)
            symbols[at, 0, track] = shown
        return symbols

    @property
    def _room(self) -> int:
        """Largest number of rounds that may be bet on at once."""
        if not self.audit.learning:
            return self._most
        each = max(1.0, self.main.buffer.size / max(self.main.stops.size, 1))  # tokens of a report
        return max(1, int(min(AT_ONCE, TOKENS / each)) // self.size)

    def _bet(self, chosen: Array, reports: Any, symbols: Array, part: slice, watched: bool) -> int:
        """Read the reports of some rounds, and bet on them; return how many rounds were used."""
        at, main, late, size = np.arange(part.start, part.stop), self.main, self.late, self.size
        sides, numbers = chosen[part].ravel(), np.repeat(self.rounds + np.arange(at.size), size)
        symbols = symbols[part].reshape(sides.size, -1)
        given: Any = []
        records = None
        if self.audit.learning:
            own = [picked(some, at) for some in ([reports] if self.live else reports)]
            if not self.live:
                own = [[*itertools.chain.from_iterable(zip(*map(rows, own)))]]
            records = read(own[0], self.rounds * size, size=size)
            given = own[0] if isinstance(own[0], np.ndarray) else rows(own[0])
        used = main.see(records, given, sides, symbols, watched)
        if late is None or records is None:
            return used
        numbers, earlier = numbers[:used], np.append(self.before, sides[: used - 1])
        self.before = int(sides[used - 1])
        apart = np.where(numbers < OFTEN, numbers % 2 == 1, numbers % RARELY == 1)
        if apart.any() and not (watched and self.refuted):
            which = np.append(apart, np.zeros(at.size - used, bool))
            some = [given[i] for i in np.flatnonzero(which)]
            none = np.zeros((len(some), 0), np.int64)
            late.see(records.some(which), some, earlier[apart], none, False)
        return used

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
        return {
            "about": self.about(),
            "rounds": self.rounds,
            "asked": self.asked.tolist(),
            "seed": self.seed,
            "seconds": self.seconds,
            "restarts": self.restarts,
            "before": self.before,
            "won": finite(self.won),
            "trajectory": [list(row) for row in self.trajectory],
            "bettors": [bettor.state() for _, bettor in self.bettors],
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from the `state` of another run of the same audit, which is not trusted."""
        before = state["about"]
        now = self.about(before)
        changed = [
            f"{name} was {before.get(name)!r} and is {now.get(name)!r}"
            for name in dict.fromkeys([*before, *now])
            if before.get(name) != now.get(name)
        ]
        checks.need(not changed, f"state must be of the same audit: {'; '.join(changed)}")
        self.asked = np.array(state["asked"], int)
        self.seed, self.restarts = int(state["seed"]), int(state["restarts"])
        self.seconds, self.before = float(state["seconds"]), int(state["before"])
        self.won = -math.inf if state["won"] is None else float(state["won"])
        self.trajectory = [(int(a), float(b), float(c)) for a, b, c in state["trajectory"]]
        for (_, bettor), kept in zip(self.bettors, state["bettors"], strict=True):
            bettor.restore(kept)
        checks.need(
            self.asked.shape == (len(self.audit.inputs),)
            and min(self.seed, self.seconds, self.restarts, self.asked.min()) >= 0
            and -1 <= self.before < self.asked.size,
            "state must hold a run, got numbers that are out of range",
        )


def _values(reports: Reports) -> Reports:
    """Return reports as declared events see them: the values of a program's lines."""
    if not (isinstance(reports, np.ndarray) and reports.dtype == object):
        return reports
    out = reports.copy()
    out[:] = [x.value if isinstance(x, Line) else x for x in reports]
    return out


def _size(reports: Reports) -> int:
    """Return the number of users, also of a list of arrays."""
    return _size(reports[0]) if isinstance(reports, (list, tuple)) else len(reports)


def block(t: int) -> tuple[int, int]:
    """Return begin and end of the block of report number t of an input.

    The audit learns between blocks only.
    """
    begin, end = 0, FIRST
    while end <= t:
        begin, end = end, end + min(max(4, end // 2), LONGEST)
    return begin, end
