"""Poisoning: fake users who send reports that promote chosen values.

The maximal gain attack of Cao, Jia and Gong (2021): every fake report supports
as many targets as the protocol lets it, and the estimates of the targets rise.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import checks
from ..mechanisms import FrequencyOracle, SupportOracle
from ..mechanisms.base import oracle, report_type_with
from ..reports import Crafted
from ..reports.vector import Noisy
from ..types import Array, Numbers, Rates, Rng

__all__ = ["MaximalGain"]


@dataclass(frozen=True)
class MaximalGain:
    """Fake users promote the values ``0..targets-1``.

    Parameters
    ----------
    share : float
        Share of fake users among all, in (0, 1).
    targets : int
        Number of promoted values, at least 1.
    frequency : float
        Total true frequency of the targets, in [0, 1].

    Notes
    -----
    The gain is the sum over the targets of the expected change of their
    estimates. A fake report that supports `c` of the `r` targets changes it by

    ``share * ((c - r q) / (p - q) - frequency)``

    (attack-aware refinement, section 5; Cao et al. 2021 for GRR, OUE and OLH).
    """

    share: float = 0.05
    targets: int = 10
    frequency: float = 0.01
    name = "maximal gain"

    def __post_init__(self) -> None:
        checks.fix(
            self,
            share=checks.real("share", self.share, 0, 1, closed="()"),
            targets=checks.integer("targets", self.targets, 1),
            frequency=checks.real("frequency", self.frequency, 0, 1),
        )

    def gain(self, p: Numbers, q: Numbers, supported: Numbers) -> Numbers:
        """Expected gain from support probabilities, if a fake report supports so many targets;
        numbers or arrays."""
        return self.share * ((supported - self.targets * q) / (p - q) - self.frequency)

    def supported(self, mechanism: FrequencyOracle) -> int:
        """How many targets one report can support at best.

        For local hashing all of them: the attacker is given a hash that sends
        them to one cell. `craft` searches for one and finds less.
        """
        r = checks.integer("targets", self.targets, 1, oracle(mechanism).k)
        return self._kind(mechanism).most(r)

    @staticmethod
    def _kind(mechanism: FrequencyOracle) -> Crafted:
        return report_type_with(mechanism, Crafted, "send reports that fake users can make up")

    def expected(self, mechanism: Any) -> float:
        """Expected gain; infinite for noisy vectors, whose coordinates have no bound."""
        if isinstance(oracle(mechanism).report_type, Noisy):
            return math.inf
        supported = self.supported(mechanism)
        return float(self.gain(mechanism.p, mechanism.q, supported))

    def craft(
        self, mechanism: FrequencyOracle, count: int, rng: Rng, tries: int = 1000
    ) -> tuple[Array, int]:
        """Return the reports of `count` fake users.

        Parameters
        ----------
        mechanism : SupportOracle
            Not smaller than the number of targets.
        count : int
        rng : numpy.random.Generator
        tries : int
            Hash seeds among which all fake users take the best one.

        Returns
        -------
        array, int
            The reports, and how many targets each of them supports.
        """
        checks.generator(rng)
        targets = checks.integer("targets", self.targets, 1, oracle(mechanism).k)
        return self._kind(mechanism).craft(targets, checks.integer("count", count, 1), rng, tries)

    def simulate(
        self, mechanism: SupportOracle, values: Sequence[int] | Array, rng: Rng, tries: int = 1000
    ) -> Rates:
        """Poison the real reports of users who hold `values`.

        Returns
        -------
        gain, expected : float
            What this run gained, and the expectation at the targets' true
            frequency, the whole number of fake users and what `craft` found.
        """
        genuine = mechanism.perturb(values, rng)
        fakes = round(len(values) * self.share / (1 - self.share))
        crafted, supported = self.craft(mechanism, fakes, rng, tries)
        before, after = (
            mechanism.estimate(genuine),
            mechanism.estimate(np.concatenate([genuine, crafted])),
        )
        own = MaximalGain(
            fakes / (fakes + len(values)),
            self.targets,
            float(np.mean(np.asarray(values) < self.targets)),
        )
        return float((after - before)[: self.targets].sum()), float(
            own.gain(mechanism.p, mechanism.q, supported)
        )
