"""Repeated collections and several attributes: a user reports the same value again, or one of
several attributes (RS+FD)."""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import numpy as np

from .. import checks
from ..reports import Attributes, ExactSupport, Rounds
from ..types import Array, ArrayLike, Input, Numbers, Rates, Rng, Row
from .base import (
    MAX_DOMAIN,
    MAX_ROUNDS,
    FrequencyOracle,
    checked_frequency,
    exact_distribution,
    oracle,
    support_estimate,
    support_variance,
)
from .grr import GRR
from .unary import OUE, SUE, _bits

__all__ = ["Repeated", "RSFD", "BASES"]


@exact_distribution
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
    tau: Annotated[
        int, checks.rule(checks.integer, 1, MAX_ROUNDS), "Number of collections, in [1, 10^6]."
    ]
    memoise: Annotated[
        checks.Flag,
        "Sample the noise once and send the same report every time, instead of fresh noise in every"
        " collection.",
    ] = False

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
    def distribution_known(self) -> bool:
        """Whether the exact distribution of one collection, and that of all, is known."""
        return super().distribution_known and self.mechanism.distribution_known

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


BASES = ("GRR", "SUE-z", "SUE-r", "OUE-z", "OUE-r")


def _checked_sizes(name: str, given: Input) -> int | tuple[int, ...]:
    """Return one domain size for all attributes, or a tuple of one size for each."""
    checked_size = partial(checks.integer, name, low=2, high=MAX_DOMAIN)
    return tuple(map(checked_size, given)) if np.ndim(given) else checked_size(given)


@exact_distribution
@dataclass(frozen=True)
class RSFD(FrequencyOracle):
    """Random sampling plus fake data over d attributes.

    Parameters
    ----------
    k : int or sequence of int
        Domain size of every attribute, or a sequence of one size per attribute; at least 2 each.
    d : int
        Number of attributes, at least 2.
    epsilon : float
        Claimed budget, in [1e-6, 27]. For GRR and z the claim holds for records that differ in
        **one** attribute. For r and more than two values it does not hold even for these records.
    base : {"GRR", "SUE-z", "SUE-r", "OUE-z", "OUE-r"}
        Mechanism of the sampled attribute, and fake data of the others: a uniform value (GRR), the
        encoding of no value (z), or the encoding of a uniform value (r).

    Notes
    -----
    The sampled attribute is reported at ``amplified = ln(d (e^eps - 1) + 1)``. For records that
    differ in every attribute only this larger value holds (Arcolezi et al. 2021; LDP-Auditor,
    Algorithms 3 and 4, and the errata). A report is a list of d arrays, one per attribute.
    """

    k: Annotated[Any, _checked_sizes]  # attributes may differ in size
    d: Annotated[int, checks.rule(checks.integer, 2), "Number of attributes, at least 2."]
    epsilon: Annotated[float, checks.rule(checks.real, 1e-6, 27)]
    base: Annotated[str, checks.rule(checks.one_of, BASES)] = "GRR"

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.need(
            len(self.sizes) == self.d,
            f"k must be one integer or {self.d} integers, one per attribute, got {len(self.sizes)}",
        )

    @property
    def name(self) -> str:
        return f"RSFD[{self.base}]"

    @property
    def sizes(self) -> tuple[int, ...]:
        """Domain size of each attribute, a tuple of length d."""
        return self.k if isinstance(self.k, tuple) else (self.k,) * self.d

    @property
    def amplified(self) -> float:
        """Budget at which the sampled attribute is reported."""
        return math.log1p(self.d * math.expm1(self.epsilon))

    @property
    def scope(self) -> str:
        return (
            f"{self.name} claims {self.epsilon:g} for records that differ in one attribute; the"
            f" audited ones differ in all {self.d}, which may leak up to ln(d (e^epsilon - 1) + 1)"
            f" = {self.amplified:.4f}."
        )

    def attribute(self, j: int) -> GRR | SUE | OUE:
        """The mechanism of attribute `j` if this attribute is sampled."""
        return self._attributes[j]

    @functools.cached_property
    def _attributes(self) -> list[GRR | SUE | OUE]:
        family: dict[str, type[GRR | SUE | OUE]] = {"GRR": GRR, "SUE": SUE, "OUE": OUE}
        return [family[self.base[:3]](size, self.amplified) for size in self.sizes]

    @functools.cached_property
    def report_type(self) -> Attributes:
        """One report per attribute."""
        parts: tuple[ExactSupport, ...]
        parts = tuple(mechanism.report_type for mechanism in self._attributes)
        q, k = parts[0].q, min(self.sizes)
        first = parts[0].pair_distribution()
        fake = np.array([q * (1 - q), q * (1 - q), q * q, (1 - q) ** 2])  # of no value
        if self.base == "GRR":  # a fake value is sent as it is
            first, fake = np.eye(4)[[0, 3]]
        if not self.base.endswith("z"):  # it is one of the pair, or another value
            fake = (first + first[[1, 0, 2, 3]]) / k + (1 - 2 / k) * fake
        return Attributes(parts, tuple(fake.tolist()))

    def inputs(self, value: int, n: int) -> Array:
        """Return the records of n users who hold `value` in every attribute, array (n, d)."""
        return np.full((n, self.d), value)

    @checks.checked
    def perturb(self, values: ArrayLike, rng: checks.Generator) -> list[Array]:
        """Randomise records, int array (n, d); return a list of d arrays of reports."""
        values = checks.unmasked("values", values)
        checks.need(
            values.ndim == 2 and values.shape[1] == self.d,
            f"values must have shape (n, {self.d}), got {values.shape}",
        )
        sampled = rng.integers(0, self.d, len(values))
        out = []
        for j, size in enumerate(self.sizes):
            mechanism, own = self.attribute(j), checks.values(values[:, j], size)
            fake = rng.integers(0, size, len(own))
            if self.base == "GRR":
                out.append(np.where(sampled == j, mechanism.perturb(own, rng), fake))
                continue
            if self.base.endswith("z"):
                fake[:] = -1  # no value: its encoding has no bit with rate p
            sent = np.where(sampled == j, own, fake)
            out.append(_bits(sent, size, mechanism.p, mechanism.q, rng))
        return out

    def support(self, j: int) -> Rates:
        """Probabilities ``(p, q)`` that component `j` supports the true value, and that it supports
        one given other value."""
        mechanism, grr = self.attribute(j), self.base == "GRR"
        own, other = (1.0, 0.0) if grr else (mechanism.p, mechanism.q)  # of a fake value
        fake = other + (0.0 if self.base.endswith("z") else (own - other) / self.sizes[j])
        p, q = (rate / self.d + (1 - 1 / self.d) * fake for rate in (mechanism.p, mechanism.q))
        return p, q

    def estimate(self, reports: Sequence[Array]) -> list[Array]:  # type: ignore[override]  # one a part
        """Return a list of d arrays of unbiased frequency estimates."""
        return [
            support_estimate(self.attribute(j).support_counts(part), len(part), *self.support(j))
            for j, part in enumerate(self.read(reports))
        ]

    def variance(self, n: int, frequency: Numbers = 0.0) -> Numbers:
        """Return the variance of one estimated frequency of the first attribute."""
        return support_variance(*self.support(0), checked_frequency(frequency)) / checks.integer(
            "n", n, 1
        )
