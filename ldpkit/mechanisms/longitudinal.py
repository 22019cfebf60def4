"""Repeated collections: the same value is reported several times, with fresh or memoised noise."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from .. import checks
from ..reports import Rounds
from ..types import Array, ArrayLike, Numbers, Rng, Row
from .base import MAX_ROUNDS, FrequencyOracle, distribution_known, oracle

__all__ = ["Repeated"]


@dataclass(frozen=True)
class Repeated(FrequencyOracle):
    """The same value reported `tau` times.

    Parameters
    ----------
    mechanism : FrequencyOracle
        The client of one collection.
    tau : int
        Number of collections, in [1, 10^6].
    memoise : bool
        Sample the noise once and send the same report every time, instead of fresh noise in every
        collection.

    Notes
    -----
    Fresh noise costs ``tau epsilon`` and ``tau delta`` in total. A memoised report costs as much as
    one report. The audited code subtracts the delta of one report also for `tau` reports
    (`published_delta`); but only a bound with `delta` is valid. Source: LDP-Auditor, Algorithm 2
    and Appendix F.
    """

    mechanism: FrequencyOracle
    tau: Annotated[int, checks.rule(checks.integer, 1, MAX_ROUNDS)]
    memoise: Annotated[bool, checks.flag] = False

    def __post_init__(self) -> None:
        checks.need(
            oracle(self.mechanism).report_type.rounds_exact is not None,
            "mechanism must send one report about one attribute to be repeated, got"
            f" {self.mechanism!r}",
        )
        super().__post_init__()

    @property
    def name(self) -> str:
        return self.mechanism.name

    @property
    def parameters(self) -> Row:
        return self.mechanism.parameters | {"tau": self.tau, "memoise": self.memoise}

    @property
    def exact(self) -> bool:  # type: ignore[override]  # that of the client of one collection
        """Whether the exact distribution of one collection is known."""
        return distribution_known(self.mechanism)

    @property
    def report_type(self) -> Rounds:
        """Several reports, or one memoised report."""
        return Rounds(self.mechanism.report_type, self.tau, self.memoise)

    @property
    def k(self) -> int:
        return self.mechanism.k

    @property
    def epsilon(self) -> float:
        return self.mechanism.epsilon * (1 if self.memoise else self.tau)

    @property
    def delta(self) -> float:
        return self.mechanism.delta * (1 if self.memoise else self.tau)

    @property
    def published_delta(self) -> float:
        """The delta that the audited code subtracts, which is that of a single report."""
        return self.mechanism.delta

    def perturb(self, values: ArrayLike, rng: Rng) -> list[Array]:
        """Return a list of `tau` arrays of reports; see `Mechanism.perturb`."""
        if self.memoise:
            return [self.mechanism.perturb(values, rng)] * self.tau
        return [self.mechanism.perturb(values, rng) for _ in range(self.tau)]

    def estimate(self, reports: Sequence[Array]) -> Array:
        """Return the mean of the estimates of all rounds, shape (k,)."""
        return np.mean([self.mechanism.estimate(r) for r in self.read(reports)], axis=0)

    def variance(self, n: int, frequency: Numbers = 0.0) -> Numbers:
        return self.mechanism.variance(n, frequency) / (1 if self.memoise else self.tau)
