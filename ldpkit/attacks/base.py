"""What an audit asks of an attack."""

from typing import Any, Protocol, runtime_checkable

import numpy as np

from .. import checks
from ..mechanisms import BucketFlip, Client, FrequencyOracle, Mechanism
from ..mechanisms.base import KINDS
from ..types import Array, Pair, Rates, Reports, Rng

__all__ = ["Attack", "audited", "audited_pair", "known", "read"]


def audited(mechanism: Any) -> Any:
    """Return `mechanism` if an attack on values can be made on it: a `FrequencyOracle` or a `Client`."""
    return checks.instance("mechanism", mechanism, (FrequencyOracle, Client), "a frequency oracle or a Client")


def audited_pair(mechanism: Any, pair: Pair | None = None) -> Pair:
    """Return the two audited values, ``(0, k - 1)`` unless given, after checking that every attribute has them."""
    k = getattr(mechanism, "smallest", mechanism.k)
    pair = (0, k - 1) if pair is None else pair
    if np.shape(pair) != (2,) or pair[0] == pair[1]:
        raise ValueError(f"pair must hold two different values, got {pair}")
    first, second = (checks.integer("pair", v, 0, k - 1) for v in pair)
    if isinstance(mechanism, BucketFlip) and first // mechanism.size == second // mechanism.size:
        raise ValueError(f"pair must lie in two different buckets of {mechanism.size} values, got {pair}")
    return first, second


def known(attack: "Attack", mechanism: Any) -> None:
    """Refuse reports of a kind that the attacks of this package do not know, rather than read them as another kind."""
    if isinstance(mechanism, FrequencyOracle) and mechanism.report not in KINDS:
        raise ValueError(
            f"attack {attack.name} does not know reports of the kind {mechanism.report!r}, which {mechanism.name} sends; "
            f"give it an attack of its own (it knows {', '.join(KINDS)})"
        )


def read(mechanism: Any, reports: Reports) -> Reports:
    """Return reports as `mechanism` sends them, checked; those of a client were checked when it made them."""
    return mechanism.read(reports) if isinstance(audited(mechanism), FrequencyOracle) else np.asarray(reports)


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

    def rates(self, mechanism: Mechanism) -> Rates | None:
        """Return the exact true- and false-positive rate, or ``None`` where no law is known."""

    def sample(self, mechanism: Mechanism, trials: int, truth: bool, rng: Rng) -> int:
        """Return the number of acceptances in `trials` fresh reports, drawn from the few coordinates that decide it."""
