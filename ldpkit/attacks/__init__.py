"""What an adversary concludes from reports: attacks, apart from the statistics of auditing.

Every attack offers the verbs of `Attack`. Attacks on gradients have the same
verbs and are in `ldpkit.attacks.gradient`.
"""

from typing import Protocol

from .. import checks
from ..mechanisms import Mechanism
from ..types import Array, Pair, Rates, Reports, Rng
from .distinguish import Guess
from .optimal import TwoValueTest
from .poison import MaximalGain

__all__ = ["ATTACKS", "Attack", "Guess", "MaximalGain", "TwoValueTest", "make"]


class Attack(Protocol):
    """What an audit asks of an attack."""

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


ATTACKS: dict[str, Attack] = {attack.name: attack for attack in (Guess(), TwoValueTest())}
"""The attacks by name."""


def make(name: str) -> Attack:
    """Return the attack called `name`."""
    return ATTACKS[checks.one_of("attack", name, ATTACKS)]
