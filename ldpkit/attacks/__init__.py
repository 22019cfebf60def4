"""Attacks: how an adversary draws conclusions from reports, apart from the statistics of auditing.

Every attack has the methods of `Attack`. Attacks on gradients are in `ldpkit.attacks.gradient`.
"""

from typing import Any

from .. import checks
from .base import Attack, Guess, Learned, TwoValueTest
from .poison import MaximalGain

__all__ = ["ATTACKS", "Attack", "Guess", "Learned", "MaximalGain", "TwoValueTest", "make"]


ATTACKS: dict[str, Attack] = {attack.name: attack for attack in (Guess(), TwoValueTest())}
"""The attacks by name."""


def make(name: str | Attack | Learned) -> Any:
    """Return the attack called `name`, or the attack that is given."""
    if isinstance(name, (Attack, Learned)):
        return name
    checks.one_of("attack", name, [*ATTACKS, Learned.name])
    return Learned() if name == Learned.name else ATTACKS[name]
