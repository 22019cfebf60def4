"""An audit that stops when it is sure: it bets against the claim, and may be watched, stopped and
continued at will.

The one statement about all times is: with probability at most alpha, `lower` ever exceeds the true
epsilon. So nothing has to be corrected for how often it was looked at, and the number of reports
need not be known beforehand. See `ldpkit.betting` for why.

What is tested is the claim for each report, given all reports before: a client that remembers what
it sent is convicted if its reports betray that, although its first reports may keep the claim.
"""

import copy
import functools
import math
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Self

from .. import attacks, betting, checks, stats
from ..mechanisms import LocalRandomizer
from ..mechanisms import make as make_mechanism
from ..types import Pair, Rates
from .base import ALPHA, Auditor, fix
from .course import AnytimeResult, Course
from .events import Accepted, Event
from .purse import SURE
from .result import Row
from .sources import Source

__all__ = ["AnytimeAudit"]


@dataclass(frozen=True)
class AnytimeAudit(Auditor):
    """Bet against a claim until it is refuted, or until there is no more to spend.

    Parameters
    ----------
    mechanism : LocalRandomizer, such as a Client, or a Source
        What is audited; it carries the claim.
    attack : str, attack or event, or several
        As in `Audit`, or an object as described in `ldpkit.auditors.events`; all of them share one
        wealth.
    trials : int
        Reports per input that may be spent.
    alpha : float
        Probability at most that the claim is called violated although it holds.
    delta : float, optional
        Delta of the claim, by default the mechanism's own.
    faithful : bool
        As in `Audit`.
    pair : (input, input), optional
        The two audited inputs; those furthest apart by default.
    both : bool
        Ask for the event of the second input, too; otherwise for that of the first only.
    inputs : sequence, optional
        More than two inputs: every ordered pair of them is bet on, instead of `pair`.
    independent : bool, optional
        Whether the reports of different inputs are independent, which makes faster bets possible.
        By default that is taken for granted of mechanisms of this package only.
    within : float, optional
        Stop when the bound is this close to the claim.
    max_time : float, optional
        Seconds after which to stop.
    """

    mechanism: Any
    attack: Any = "guess"
    _: KW_ONLY
    trials: int = 10**6
    alpha: float = ALPHA
    delta: float | None = None
    faithful: bool = False
    pair: Pair | None = None
    both: bool = True
    inputs: Any = None
    independent: bool | None = None
    within: float | None = None
    max_time: float | None = None
    tracks: tuple[tuple[Any, int, int], ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        several = isinstance(self.attack, (list, tuple))
        named = self.attack if several else [self.attack]
        if not named:
            raise ValueError(f"attack must name at least one attack, got {self.attack!r}")
        mechanism: Any = checks.instance(
            "mechanism", self.mechanism, (LocalRandomizer, Source), "a mechanism, client or source"
        )
        chosen = [a if isinstance(a, Event) else attacks.make(a) for a in named]
        both, tail = checks.flag("both", self.both), stats.tail_mass(self.alpha)
        trials = checks.integer("trials", self.trials, 1, 10**12)
        inputs = self._asked(mechanism)
        chosen = [a if isinstance(a, Event) else a.declare(mechanism, trials, tail) for a in chosen]
        delta = mechanism.delta if self.delta is None else self.delta
        for name in ("within", "max_time"):
            if getattr(self, name) is not None:
                checks.real(name, getattr(self, name), 0)
        if self.independent is not None:
            checks.flag("independent", self.independent)
        fix(
            self,
            attack=tuple(chosen),
            trials=trials,
            alpha=float(self.alpha),
            delta=checks.real("delta", delta, 0, 1, closed="[)"),
            faithful=checks.flag("faithful", self.faithful),
            pair=(inputs[0], inputs[1]),
            inputs=inputs,
            both=both,
            tracks=tuple(
                (a, i, j)
                for a in chosen
                for i in range(len(inputs))
                for j in range(len(inputs))
                if i < j or (i > j and (both or len(inputs) > 2) and not getattr(a, "both", False))
            ),
        )

    def _asked(self, mechanism: Any) -> tuple[Any, ...]:
        if self.inputs is None:
            made = isinstance(mechanism, LocalRandomizer)
            return tuple(mechanism.pair(self.pair) if made else self.pair or (0, 1))
        if self.pair is not None:
            raise ValueError(f"inputs must not be given together with a pair, got {self.inputs!r}")
        inputs = tuple(self.inputs)
        if len(inputs) < 2:
            raise ValueError(f"inputs must be at least two, got {self.inputs!r}")
        for i, one in enumerate(inputs):
            for other in inputs[:i]:
                if isinstance(mechanism, LocalRandomizer):
                    mechanism.pair((other, one))
        return inputs

    @classmethod
    def of(
        cls,
        mechanism: str,
        attack: str | list[str] = "guess",
        trials: int = 10**6,
        alpha: float = ALPHA,
        faithful: bool = False,
        both: bool = True,
        pair: Pair | None = None,
        **parameters: Any,
    ) -> Self:
        """Return the audit of a mechanism given by name; as `Audit.of`."""
        target = make_mechanism(mechanism, **parameters)
        return cls(
            target, attack, trials=trials, alpha=alpha, faithful=faithful, both=both, pair=pair
        )

    def events(self) -> list[Event]:
        """Return a fresh event for every track."""
        found: list[Event] = []
        for one, i, j in self.tracks:
            if not isinstance(one, Event):
                found.append(Accepted(one, self.mechanism, (self.inputs[i], self.inputs[j])))
            else:
                found.append(copy.deepcopy(one) if hasattr(one, "learn") else one)
        return found

    @functools.cached_property
    def rates(self) -> list[Rates | None]:
        """Rates of every track that are known before it is bet on: exact, or declared."""
        return [None if hasattr(e, "learn") else getattr(e, "rates", None) for e in self.events()]

    @functools.cached_property
    def expected(self) -> Rates | None:
        """Bounds of the mean number of reports per input until the claim is refuted, if the known
        rates are true; infinite if they keep the claim, ``None`` if no rates are known.

        The lower one holds for whatever is bet on the one event; with several tracks, for whatever
        is bet on one of them.
        """
        known = [r for r in self.rates if r is not None]
        if not known or self.mechanism.epsilon == math.inf or self.delta is None:
            return None
        claim = self.mechanism.epsilon, self.delta
        growth = max(betting.joint_growth(*r, *claim) for r in known)
        if growth < 1e-12:  # as much as rounding can make of an event that meets the claim
            return math.inf, math.inf
        stake = self.alpha * SURE / len(self.tracks)
        most = min(betting.expected_pairs(*r, claim[0], stake, claim[1])[1] for r in known)
        return -math.log(self.alpha) / growth, most

    def start(self, seed: int = 1, state: Row | None = None) -> Course:
        """Return the audit as it runs: at its beginning, or where `Course.state` was kept."""
        return Course(self, seed, state)

    def run(self, seed: int = 1) -> list[AnytimeResult]:  # type: ignore[override]  # lists of results
        """Bet until the audit stops.

        Parameters
        ----------
        seed : int
            Non-negative.

        Returns
        -------
        list of one AnytimeResult
        """
        course = self.start(seed)
        course.go()
        return [course.result]
