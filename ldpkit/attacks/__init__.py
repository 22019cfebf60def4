"""What an adversary concludes from reports: attacks, apart from the statistics of auditing.

Every attack offers the verbs of `Attack`. Attacks on gradients have the same
verbs and are in `ldpkit.attacks.gradient`.
"""

from typing import Any

from .. import checks
from .base import Attack
from .distinguish import Guess
from .learned import Learned
from .optimal import TwoValueTest
from .poison import MaximalGain

__all__ = ["ATTACKS", "Attack", "Guess", "Learned", "MaximalGain", "TwoValueTest", "make"]


ATTACKS: dict[str, Attack] = {attack.name: attack for attack in (Guess(), TwoValueTest())}
"""The attacks by name."""


def make(name: str | Attack | Learned) -> Any:
    """Return the attack called `name`; an attack is returned as it is."""
    if isinstance(name, (Attack, Learned)):
        return name
    checks.one_of("attack", name, [*ATTACKS, Learned.name])
    return Learned() if name == Learned.name else ATTACKS[name]
