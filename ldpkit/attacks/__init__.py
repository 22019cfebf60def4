"""What an adversary concludes from reports: attacks, apart from the statistics of auditing.

Every attack offers the same four verbs:

- ``accepts(mechanism, reports, pair, rng)``: did the attack answer the first
  value of the pair, on real reports of any mechanism or client;
- ``rates(mechanism)``: the exact true- and false-positive rate, or ``None``
  where no law is known;
- ``sample(mechanism, trials, truth, rng)``: the number of acceptances in `trials`
  fresh reports, drawn directly from the few coordinates that decide it;
- ``name``: what it is called in results.

Attacks on gradients have the same verbs and are in `ldpkit.attacks.gradient`.
"""

from .. import checks
from .distinguish import Guess
from .optimal import TwoValueTest
from .poison import MaximalGain

__all__ = ["ATTACKS", "Guess", "MaximalGain", "TwoValueTest", "make"]

ATTACKS = {attack.name: attack for attack in (Guess(), TwoValueTest())}
"""The attacks by name."""


def make(name):
    """Return the attack called `name`; an attack is returned as it is."""
    if not isinstance(name, str) and all(callable(getattr(name, v, None)) for v in ("declare", "accepts", "rates", "sample")):
        return name
    return ATTACKS[checks.one_of("attack", name, ATTACKS)]
