"""Attacks: how an adversary draws conclusions from reports, apart from the statistics of auditing.

Every attack has the methods of `Attack`. Attacks on gradients are in `ldpkit.attacks.gradient`.
"""

from .base import ATTACKS, Attack, Guess, Learned, TwoValueTest, make
from .poison import MaximalGain

__all__ = ["ATTACKS", "Attack", "Guess", "Learned", "MaximalGain", "TwoValueTest", "make"]

ATTACKS |= {attack.name: attack for attack in (Guess(), TwoValueTest())}
