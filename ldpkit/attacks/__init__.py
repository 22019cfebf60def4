"""What an adversary concludes from reports: attacks, apart from the statistics of auditing.

Every attack offers the verbs of `Attack`. Attacks on gradients have the same
verbs and are in `ldpkit.attacks.gradient`.
"""

from .. import checks
from .base import Attack
from .distinguish import Guess
from .optimal import TwoValueTest
from .poison import MaximalGain

__all__ = ["ATTACKS", "Attack", "Guess", "MaximalGain", "TwoValueTest", "make"]


ATTACKS: dict[str, Attack] = {attack.name: attack for attack in (Guess(), TwoValueTest())}
"""The attacks by name."""


def make(name: str | Attack) -> Attack:
    """Return the attack called `name`; an attack is returned as it is."""
    if isinstance(name, Attack):
        return name
    return ATTACKS[checks.one_of("attack", name, ATTACKS)]
