"""Poisoning: fake users send reports that promote chosen values.

The maximal gain attack is that of Cao, Jia and Gong (2021). Every fake report
supports as many targets as the protocol allows. Therefore their estimates rise.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from .. import checks
from ..mechanisms.base import FrequencyOracle, oracle
from ..reports import Noisy
from ..types import Array, Numbers, Rates, Rng

__all__ = ["MaximalGain"]


@dataclass(frozen=True)
class MaximalGain(checks.Checked):
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

    share: Annotated[
        float,
        checks.rule(checks.real, 0, 1, closed="()"),
        "Share of fake users among all, in (0, 1).",
    ] = 0.05
    targets: checks.Count = 10
    frequency: Annotated[checks.Share, "Total true frequency of the targets, in [0, 1]."] = 0.01
    name = "maximal gain"

    def gain(self, p: Numbers, q: Numbers, supported: Numbers) -> Numbers:
        """Return the expected gain if a fake report supports `supported` targets.

        All arguments are numbers or arrays of one shape; `p` and `q` are support probabilities.
        """
        return self.share * ((supported - self.targets * q) / (p - q) - self.frequency)

    def supported(self, mechanism: FrequencyOracle) -> int:
        """Return the largest number of targets that one report can support.

        For local hashing these are all targets, because the attacker is assumed to know a hash
        that maps them to one cell. `craft` searches for such a hash and finds a worse one.
        """
        return mechanism.report_type.most(self._checked(mechanism))

    def _checked(self, mechanism: FrequencyOracle) -> int:
        """Return the number of targets, after checking that the mechanism has as many values."""
        return checks.integer("targets", self.targets, 1, oracle(mechanism).k)

    def expected(self, mechanism: Any) -> float:
        """Return the expected gain.

        It is infinite for noisy vectors, because their coordinates are unbounded.
        """
        if isinstance(oracle(mechanism).report_type, Noisy):
            return math.inf
        supported = self.supported(mechanism)  # refuses a mechanism without p and q
        return float(self.gain(mechanism.p, mechanism.q, supported))

    @checks.checked
    def craft(
        self,
        mechanism: FrequencyOracle,
        count: checks.Count,
        rng: checks.Generator,
        tries: int = 1000,
    ) -> tuple[Array, int]:
        """Return the reports of `count` fake users.

        Parameters
        ----------
        mechanism : FrequencyOracle
            Its domain must not be smaller than the number of targets.
        count : int
        rng : numpy.random.Generator
        tries : int
            Number of hash seeds, of which all fake users take the best one.

        Returns
        -------
        array, int
            The reports, and how many targets each of them supports.
        """
        return mechanism.report_type.craft(self._checked(mechanism), count, rng, tries)

    def simulate(
        self, mechanism: FrequencyOracle, values: Sequence[int] | Array, rng: Rng, tries: int = 1000
    ) -> Rates:
        """Poison the real reports of users who hold `values`.

        Returns
        -------
        gain, expected : float
            Gain of this run, and its expectation. The expectation uses the true frequency of the
            targets, the whole number of fake users and the targets that `craft` found supported.
        """
        genuine = mechanism.perturb(values, rng)
        fakes = round(len(values) * self.share / (1 - self.share))
        crafted, supported = self.craft(mechanism, fakes, rng, tries)
        poisoned = mechanism.estimate(np.concatenate([genuine, crafted]))
        gain = (poisoned - mechanism.estimate(genuine))[: self.targets].sum()
        frequency = float(np.mean(np.asarray(values) < self.targets))
        actual = MaximalGain(fakes / (fakes + len(values)), self.targets, frequency)
        return float(gain), float(actual.gain(mechanism.p, mechanism.q, supported))
