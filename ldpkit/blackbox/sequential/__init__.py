"""Sequential audits, which bet against the claim after every report until the claim is refuted.

An audit may be stopped and continued at any time. The guarantee holds at all times together:
with probability at most alpha, `lower` ever exceeds the true epsilon or a true claim is refuted.
Therefore no correction is needed for
how often you look, and the number of reports need not be known beforehand. `experts` has the proof.

The audit tests the claim for each report, given all reports before. A client that remembers its
reports is therefore refuted if later reports reveal earlier ones, even if its first reports keep
the claim. For a live client the input of every report is chosen by a coin of its own, so that the
audit does not assume independence.

Reports flow through these modules: `loop` draws them, `columns` reads places and values, and
`table` counts them as tokens for each input. Between two blocks of reports the module `bettor`
chooses experts on tokens, and `wealth` adds up what they win. After a refutation `causes` takes
suspects away and audits again. `sentence` states what the audit could not have seen.
"""

import itertools
from dataclasses import KW_ONLY, dataclass, field
from typing import Annotated, Any

import numpy as np

from ... import attacks, checks, stats
from ...auditors.base import PairAudit
from ...auditors.result import AuditResult, Row
from ...mechanisms import Mechanism
from ..clients import Client
from ..curve import Curve
from .causes import SECONDS
from .columns import read
from .events import Accepted, Declared, Entry, Event, Source
from .loop import Run

__all__ = ["Declared", "Entry", "Event", "SequentialAudit", "read"]

MOST = 32
"""Inputs that an attack which learns compares at most if the user names none."""


@dataclass(frozen=True)
class SequentialAudit(PairAudit):
    """Bet against a claim until it is refuted or the budget of reports is spent.

    Parameters
    ----------
    mechanism : Mechanism, such as a Client, or a Source
        The audited mechanism, which states the claim.
    attack : str, attack or event, or several
        As in `Audit`, or an `ldpkit.blackbox.sequential.Event`. All of them share one wealth.
    trials : int
        Largest number of reports per input.
    alpha : float
        Upper bound of the probability that a correct claim is refuted.
    delta : float, optional
        Delta of the claim, by default the mechanism's own.
    faithful : bool
        As in `Audit`.
    pair : (input, input), optional
        The two audited inputs; those furthest apart by default.
    both : bool
        Also bet on the event of the second input; otherwise on that of the first only.
    inputs : sequence, optional
        More than two inputs, instead of `pair`. An attack that learns compares each of them with a
        mixture of the others. Any other attack bets on every ordered pair. If neither `inputs` nor
        `pair` is given, an attack that learns compares all inputs of a client, or `MOST` of them
        that are spread evenly.
    curve : ldpkit.blackbox.curve.Curve, optional
        A claim that is a trade-off curve. It is bet against instead of the claim that the mechanism
        states, and every attack has to learn. The claim (epsilon, delta) of the audit is then one
        that follows from the curve, see `Curve.implied`.
    band : sequence of float, optional
        Values of epsilon, in [0, 20], for each of which delta is bounded from below, together with
        a `curve`. All of these bounds hold together.
    independent : bool, optional
        Whether recordings of different inputs are independent, because then faster bets are
        possible. It changes nothing for a live client.
    within : float, optional
        Stop when the bound is this close to the claim.
    max_time : float, optional
        Seconds after which to stop. The clock stands still while kernels are compiled. An audit
        that could not yet have refuted a client without noise goes on, for twice as long at most.
    explain : float
        Seconds in which the cause of a refutation is looked for; 0 for none.
    """

    _: KW_ONLY
    inputs: Any = None
    curve: Annotated[Curve | None, checks.rule(checks.instance, Curve, "a Curve")] = None
    band: Annotated[Any, checks.rule(checks.reals, 0, 20)] = None
    independent: Annotated[bool | None, checks.flag] = None
    within: Annotated[float | None, checks.rule(checks.real, 0)] = None
    max_time: Annotated[float | None, checks.rule(checks.real, 0)] = None
    explain: Annotated[float, checks.rule(checks.real, 0)] = SECONDS
    learning: bool = field(init=False, repr=False, compare=False)
    tracks: tuple[tuple[Event, int, int], ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        mechanism: Any = checks.instance(
            "mechanism", self.mechanism, (Mechanism, Source), "a mechanism, client or source"
        )
        named = [a if isinstance(a, Event) else attacks.make(a) for a in self.named]
        checks.fix(self, learning=any(isinstance(a, attacks.Learned) for a in named))
        delta = mechanism.delta if self.delta is None else self.delta
        if self.curve is not None:
            delta = self.curve.implied[1]
            checks.need(self.delta in (None, delta), f"delta is that of curve, got {self.delta}")
        checks.need(
            (self.curve is None and self.band is None)
            or (self.curve is not None and {*map(type, named)} == {attacks.Learned}),
            f"attack must be learned for a curve, and band needs one, got {self.attack!r}",
        )
        inputs, tail = self._compared(mechanism), stats.tail_mass(self.alpha)
        chosen = [
            a if isinstance(a, Event | attacks.Learned) else a.choose(mechanism, self.trials, tail)
            for a in named
        ]
        places, both = range(len(inputs)), self.both or len(inputs) > 2
        pairs = [(i, j) for i in places for j in places if i < j or (i > j and both)]
        checks.fix(
            self,
            attack=tuple(chosen),
            delta=checks.real("delta", delta, 0, 1, closed="[)"),
            pair=(inputs[0], inputs[1]),
            inputs=inputs,
            tracks=tuple(
                (a, i, j)
                if isinstance(a, Event)
                else (Accepted(a, mechanism, (inputs[i], inputs[j])), i, j)
                for a in chosen
                if not isinstance(a, attacks.Learned)
                for i, j in pairs
                if i < j or not (isinstance(a, Event) and a.rates is not None)
            ),
        )

    def _compared(self, mechanism: Any) -> tuple[Any, ...]:
        """Return the inputs to compare, after the mechanism has checked every pair of them."""
        checked = isinstance(mechanism, Mechanism)
        if self.inputs is None:
            if self.pair is None and self.learning and isinstance(mechanism, Client):
                spread = np.linspace(0, mechanism.k - 1, min(mechanism.k, MOST))
                return tuple(spread.round().astype(int).tolist())
            return tuple(mechanism.pair(self.pair) if checked else self.pair or (0, 1))
        given, inputs = f"got {self.inputs!r}", tuple(self.inputs)
        checks.need(self.pair is None, f"inputs must not be given together with a pair, {given}")
        checks.need(len(inputs) >= 2, f"inputs must be at least two, {given}")
        for pair in itertools.combinations(inputs, 2) if checked else ():
            mechanism.pair(pair)
        return inputs

    @property
    def claim(self) -> tuple[float, float]:
        """Epsilon and delta of the claim, or of one that follows from its curve."""
        own: Any = self.mechanism.epsilon, self.delta
        return self.curve.implied if self.curve else own

    @property
    def called(self) -> list[str]:
        """Names of the attacks, and the words of the events."""
        return [a.words if isinstance(a, Event) else a.name for a in self.attack]

    def start(self, seed: int = 1, state: Row | None = None) -> Run:
        """Return a `Run` of this audit, from its beginning or from a kept `Run.state`."""
        return Run(self, seed, state)

    def run(self, seed: int = 1) -> list[AuditResult]:
        """Bet until the audit stops.

        Parameters
        ----------
        seed : int
            Non-negative.

        Returns
        -------
        list of one AuditResult
        """
        run = self.start(seed)
        run.go()
        run.explain()
        return [run.result]
