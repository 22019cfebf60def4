"""An audit that stops when it is sure: it bets against the claim, and may be watched, stopped and
continued at will.

The one statement about all times is: with probability at most alpha, `lower` ever exceeds the true
epsilon. So nothing has to be corrected for how often it was looked at, and the number of reports
need not be known beforehand. See `ldpkit.betting` for why.

What is tested is the claim for each report, given all reports before: a client that remembers what
it sent is refuted if its reports betray that, although its first reports may keep the claim. A live
client gets every input by a coin of its own, so that nothing is assumed of independence.
"""

import functools
import itertools
import math
from dataclasses import KW_ONLY, dataclass, field
from typing import Annotated, Any

import numpy as np

from .. import attacks, betting, checks, stats
from ..auditors.pair import PairAudit
from ..auditors.result import Row
from ..mechanisms import Client, LocalRandomizer
from ..types import Rates
from .events import Accepted, Event
from .loop import Run
from .result import SequentialResult
from .sources import Source
from .wealth import SURE

__all__ = ["MOST", "SequentialAudit"]

MOST = 32
"""Inputs that are asked about where none are named."""


@dataclass(frozen=True)
class SequentialAudit(PairAudit):
    """Bet against a claim until it is refuted, or until there is no more to spend.

    Parameters
    ----------
    mechanism : LocalRandomizer, such as a Client, or a Source
        What is audited; it carries the claim.
    attack : str, attack or event, or several
        As in `Audit`, or an object as described in `ldpkit.sequential.events`; all of them share
        one wealth.
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
        More than two inputs, instead of `pair`. Each is held against a mixture of the others where
        an attack learns; otherwise every ordered pair of them is bet on. An attack that learns asks
        a client about all its inputs unless told otherwise, about `MOST` of them at most, which are
        spread evenly.
    independent : bool, optional
        Whether recordings of different inputs are independent, which makes faster bets possible. It
        changes nothing where a client is asked live.
    within : float, optional
        Stop when the bound is this close to the claim.
    max_time : float, optional
        Seconds after which to stop.
    """

    _: KW_ONLY
    inputs: Any = None
    independent: Annotated[bool | None, checks.flag] = None
    within: Annotated[float | None, checks.rule(checks.real, 0)] = None
    max_time: Annotated[float | None, checks.rule(checks.real, 0)] = None
    learning: bool = field(init=False, repr=False, compare=False)
    tracks: tuple[tuple[Any, int, int], ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        mechanism: Any = checks.instance(
            "mechanism", self.mechanism, (LocalRandomizer, Source), "a mechanism, client or source"
        )
        chosen = [a if isinstance(a, Event) else attacks.make(a) for a in self.named]
        checks.fix(self, learning=any(isinstance(a, attacks.Learned) for a in chosen))
        inputs, tail = self._compared(mechanism), stats.tail_mass(self.alpha)
        known = Event, attacks.Learned
        chosen = [
            a if isinstance(a, known) else a.declare(mechanism, self.trials, tail) for a in chosen
        ]
        places, both = range(len(inputs)), self.both or len(inputs) > 2
        checks.fix(
            self,
            attack=tuple(chosen),
            delta=checks.real(
                "delta", mechanism.delta if self.delta is None else self.delta, 0, 1, closed="[)"
            ),
            pair=(inputs[0], inputs[1]),
            inputs=inputs,
            tracks=tuple(
                (a, i, j)
                for a in chosen
                if not isinstance(a, attacks.Learned)
                for i in places
                for j in places
                if i < j or (i > j and both and not getattr(a, "both", False))
            ),
        )

    def _compared(self, mechanism: Any) -> tuple[Any, ...]:
        """The inputs, checked two by two if a mechanism knows them."""
        checked = isinstance(mechanism, LocalRandomizer)
        if (
            self.inputs is None
            and self.pair is None
            and self.learning
            and isinstance(mechanism, Client)
        ):
            spread = np.linspace(0, mechanism.k - 1, min(mechanism.k, MOST)).round().astype(int)
            return tuple(spread.tolist())
        if self.inputs is None:
            return tuple(mechanism.pair(self.pair) if checked else self.pair or (0, 1))
        if self.pair is not None:
            raise ValueError(f"inputs must not be given together with a pair, got {self.inputs!r}")
        inputs = tuple(self.inputs)
        if len(inputs) < 2:
            raise ValueError(f"inputs must be at least two, got {self.inputs!r}")
        for pair in itertools.combinations(inputs, 2) if checked else ():
            mechanism.pair(pair)
        return inputs

    def events(self) -> list[Event]:
        """Return the event of every track."""
        return [
            one
            if isinstance(one, Event)
            else Accepted(one, self.mechanism, (self.inputs[i], self.inputs[j]))
            for one, i, j in self.tracks
        ]

    @property
    def claim(self) -> tuple[float, float]:
        """Epsilon and delta of the claim."""
        return self.mechanism.epsilon, self.delta or 0.0

    @property
    def called(self) -> list[str]:
        """Names of the attacks; of an event that has none, its words."""
        return [getattr(a, "name", "") or a.words for a in self.attack]

    @functools.cached_property
    def rates(self) -> list[Rates | None]:
        """Rates of every track that are known before it is bet on: exact, or declared."""
        return [getattr(event, "rates", None) for event in self.events()]

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

    def start(self, seed: int = 1, state: Row | None = None) -> Run:
        """Return the audit as it runs: at its beginning, or where `Run.state` was kept."""
        return Run(self, seed, state)

    def run(self, seed: int = 1) -> list[SequentialResult]:  # type: ignore[override]  # lists of results
        """Bet until the audit stops.

        Parameters
        ----------
        seed : int
            Non-negative.

        Returns
        -------
        list of one SequentialResult
        """
        run = self.start(seed)
        run.go()
        return [run.result]
