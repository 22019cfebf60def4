"""What an audit asks of an attack."""

from typing import Protocol, runtime_checkable

from ..mechanisms.base import Mechanism
from ..types import Array, Pair, Rates, Reports, Rng

__all__ = ["Attack"]


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
