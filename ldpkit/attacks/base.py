"""What an audit asks of an attack."""

from typing import Any, Protocol, runtime_checkable

import numpy as np

from .. import checks
from ..kinds import checked_pair
from ..mechanisms import Client, FrequencyOracle, Mechanism
from ..types import Array, Pair, Rates, Reports, Rng

__all__ = ["Attack", "audited", "audited_pair", "read", "handled"]


def audited(mechanism: Any) -> Any:
    """Return `mechanism` if an attack on values can be made on it: a `FrequencyOracle` or a `Client`."""
    return checks.instance("mechanism", mechanism, (FrequencyOracle, Client), "a frequency oracle or a Client")


def audited_pair(mechanism: Any, pair: Pair | None = None) -> Pair:
    """Return the two audited values, the first and the last unless given, after checking that they can be told apart."""
    return checked_pair(mechanism.kind, pair)


def read(mechanism: Any, reports: Reports) -> Reports:
    """Return reports as `mechanism` sends them, checked; those of a client were checked when it made them."""
    return mechanism.read(reports) if isinstance(audited(mechanism), FrequencyOracle) else np.asarray(reports)


def handled(attack: "Attack", mechanism: Any, verbs: type) -> Any:
    """Return the kind of the mechanism's reports if it has the `verbs` that the attack needs.

    Raises
    ------
    ValueError
        Naming the attack, the mechanism and its kind of report.
    """
    kind = audited(mechanism).kind
    if not isinstance(kind, verbs):
        raise ValueError(
            f"attack {attack.name} cannot read the {kind.name} reports of {mechanism.name}: "
            "audit it with an attack of your own that can, see the page on your own mechanism"
        )
    return kind


@runtime_checkable
class Attack(Protocol):
    """An attack on reports: whatever offers these verbs can be audited with."""

    @property
    def name(self) -> str:
        """What it is called in results."""

    def declare(self, mechanism: Mechanism, trials: int, tail: float) -> "Attack":
        """Return the attack as it will be used; what it has to choose, it chooses before any data are seen."""

    def accepts(self, mechanism: Mechanism, reports: Reports, pair: Pair, rng: Rng) -> Array:
        """Did the attack answer the first value of the pair, on real reports of any mechanism or client; bool array (n,)."""

    def rates(self, mechanism: Mechanism, pair: Pair | None = None) -> Rates | None:
        """Return the exact true- and false-positive rate for a pair, or ``None`` where no law is known."""

    def sample(self, mechanism: Mechanism, trials: int, truth: bool, rng: Rng) -> int:
        """Return the number of acceptances in `trials` fresh reports, drawn from the few coordinates that decide it."""
