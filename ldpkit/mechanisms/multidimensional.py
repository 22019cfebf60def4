"""Several attributes: a user reports one attribute at an amplified budget, and fake data for the
others (RS+FD)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import numpy as np

from .. import checks
from ..reports import Attributes, ExactSupport
from ..types import Array, ArrayLike, Input, Numbers, Rates, Rng
from .base import MAX_DOMAIN, FrequencyOracle, checked_frequency, support_variance
from .grr import GRR
from .unary import OUE, SUE, _bits

__all__ = ["RSFD"]

BASES = ("GRR", "SUE-z", "SUE-r", "OUE-z", "OUE-r")


def _checked_sizes(name: str, given: Input) -> int | tuple[int, ...]:
    """Return one domain size for all attributes, or a tuple of one size for each."""
    checked_size = partial(checks.integer, name, low=2, high=MAX_DOMAIN)
    return tuple(map(checked_size, given)) if np.ndim(given) else checked_size(given)


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
    d: Annotated[int, checks.rule(checks.integer, 2)]
    epsilon: Annotated[float, checks.rule(checks.real, 1e-6, 27)]
    base: Annotated[str, checks.rule(checks.one_of, BASES)] = "GRR"
    exact = True

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
        family: dict[str, type[GRR | SUE | OUE]] = {"GRR": GRR, "SUE": SUE, "OUE": OUE}
        return family[self.base[:3]](self.sizes[j], self.amplified)

    @property
    def report_type(self) -> Attributes:
        """One report per attribute."""
        parts: tuple[ExactSupport, ...]
        parts = tuple(self.attribute(j).report_type for j in range(self.d))
        q, k = parts[0].q, min(self.sizes)
        sampled = np.asarray(parts[0].pair_distribution())
        none = np.array([q * (1 - q), q * (1 - q), q * q, (1 - q) ** 2])
        if self.base == "GRR":
            fake = np.array([1 / k, 1 / k, 0, 1 - 2 / k])
        elif self.base.endswith("z"):
            fake = none
        else:
            fake = (sampled + sampled[[1, 0, 2, 3]]) / k + (1 - 2 / k) * none
        return Attributes(parts, tuple(fake.tolist()))

    def inputs(self, value: int, n: int) -> Array:
        """Return the records of n users who hold `value` in every attribute, array (n, d)."""
        return np.full((n, self.d), value)

    def perturb(self, values: ArrayLike, rng: Rng) -> list[Array]:
        """Randomise records, int array (n, d); return a list of d arrays of reports."""
        checks.generator(rng)
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
            else:  # -1 is no value: its encoding has no bit with rate p
                none = np.full_like(own, -1) if self.base.endswith("z") else fake
                out.append(
                    _bits(np.where(sampled == j, own, none), size, mechanism.p, mechanism.q, rng)
                )
        return out

    def support(self, j: int) -> Rates:
        """Probabilities ``(p, q)`` that component `j` supports the true value, and that it supports
        one given other value."""
        mechanism, size = self.attribute(j), self.sizes[j]
        if self.base == "GRR":
            fake = 1 / size
        elif self.base.endswith("z"):
            fake = mechanism.q
        else:
            fake = mechanism.q + (mechanism.p - mechanism.q) / size
        p, q = (rate / self.d + (1 - 1 / self.d) * fake for rate in (mechanism.p, mechanism.q))
        return p, q

    def estimate(self, reports: Sequence[Array]) -> list[Array]:
        """Return a list of d arrays of unbiased frequency estimates."""
        out = []
        for j, component in enumerate(self.read(reports)):
            p, q = self.support(j)
            out.append((self.attribute(j).support_counts(component) / len(component) - q) / (p - q))
        return out

    def variance(self, n: int, frequency: Numbers = 0.0) -> Numbers:
        """Return the variance of one estimated frequency of the first attribute."""
        return support_variance(*self.support(0), checked_frequency(frequency)) / checks.integer(
            "n", n, 1
        )
