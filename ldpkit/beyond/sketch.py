"""Count mean sketches: a client hashes the value with one of a few public functions. Then it
perturbs the signs of a one-hot row, or one sign of the row's Hadamard transform."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np

from .. import checks
from ..mechanisms.base import Domain, Epsilon, SupportOracle
from ..reports import HashedSigns, Sketch
from ..types import Array, ArrayLike, Rng
from .hadamard import answers

__all__ = ["CMS", "HCMS", "CountMeanSketch"]


class CountMeanSketch(SupportOracle):
    """Base of the protocols with public hash functions."""

    if TYPE_CHECKING:

        @property
        def m(self) -> int:
            """Number of cells of a hash function."""

        @property
        def hashes(self) -> int:
            """Number of hash functions."""

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.need(
            self.k * self.hashes <= 2**28,
            f"k times hashes must be at most 2^28, got {self.k} times {self.hashes}",
        )


@dataclass(frozen=True)
class CMS(CountMeanSketch):
    """Count mean sketch: a public hash function, and a one-hot row of independently flipped signs.

    Parameters
    ----------
    k : int
        Domain size, at least 2.
    epsilon : float
        Privacy budget, in [1e-6, 30].
    m : int
        Number of cells of a hash function, in [2, 2^16].
    hashes : int
        Number of hash functions, in [1, 2^16].

    Notes
    -----
    A user samples a hash function, and sets the sign of the value's cell to plus and all other
    signs to minus. Every sign is sent unchanged with probability ``s = 1 / (1 + e^(-eps/2))``
    (Apple's differential privacy team 2017). The event "plus in the first value's cell and minus in
    the second's" attains the ratio ``e^eps``, if the two cells differ. The functions are public and
    fixed. Exact distributions are for these functions, including their collisions. Estimates are
    unbiased over the choice of the functions. Apple uses 65,536 functions of 1,024 cells.
    """

    k: Domain
    epsilon: Epsilon
    m: Annotated[int, checks.rule(checks.integer, 2, 2**16)] = 64
    hashes: Annotated[int, checks.rule(checks.integer, 1, 2**16)] = 256
    name = "CMS"
    exact = True

    @property
    def p(self) -> float:
        """Probability of a plus in the true value's cell."""
        return 1 / (1 + math.exp(-self.epsilon / 2))

    @property
    def q(self) -> float:
        """Probability of a plus in the cell of another value under a random hash function."""
        return self.p / self.m + (1 - self.p) * (1 - 1 / self.m)

    @property
    def report_type(self) -> Sketch:
        """A hash function and signs."""
        return Sketch(self.k, self.hashes, self.m, self.p)

    def perturb(self, values: ArrayLike, rng: Rng) -> Array:
        """Return a structured array (n,) with ``hash`` and ``signs``; see `Mechanism.perturb`."""
        values, report_type = self._users(values, rng), self.report_type
        reports = np.empty(values.size, report_type.form)
        reports["hash"] = rng.integers(0, self.hashes, values.size)
        cell = report_type.table[reports["hash"], values]
        signs = np.where(np.arange(self.m) == cell[:, None], 1, -1)
        reports["signs"] = np.where(rng.random(signs.shape) < self.p, signs, -signs)
        return reports


@dataclass(frozen=True)
class HCMS(CountMeanSketch):
    """Hadamard count mean sketch: a public hash function, and one sign of the transformed one-hot
    row.

    Parameters
    ----------
    k : int
        Domain size, at least 2.
    epsilon : float
        Privacy budget, in [1e-6, 30].
    m : int
        Number of cells of a hash function, a power of two in [2, 2^16].
    hashes : int
        Number of hash functions, in [1, 2^16].

    Notes
    -----
    A user samples a hash function and an index. The value's cell is the number of a row of a
    Hadamard matrix; the row's sign at the index is sent unchanged with probability ``s = 1 / (1 +
    e^-eps)``. A report is one bit instead of the m bits of `CMS`, with twice the budget per bit
    (Apple's differential privacy team 2017). The event "the sign of the first value and not of the
    second" attains the ratio ``e^eps``, if the two cells differ. The functions are public and
    fixed, as in `CMS`.
    """

    k: Domain
    epsilon: Epsilon
    m: Annotated[int, checks.rule(checks.integer, 2, 2**16)] = 64
    hashes: Annotated[int, checks.rule(checks.integer, 1, 2**16)] = 256
    name = "HCMS"
    exact = True

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.need(self.m.bit_count() == 1, f"m must be a power of two, got {self.m}")

    @property
    def p(self) -> float:
        """Probability of the true value's sign."""
        return 1 / (1 + math.exp(-self.epsilon))

    @property
    def q(self) -> float:
        """Probability of the sign of another value under a random hash function."""
        return self.p / self.m + (1 - 1 / self.m) / 2

    @property
    def report_type(self) -> HashedSigns:
        """A hash function, an index and a sign."""
        return HashedSigns(self.k, self.m, 1, self.p, self.hashes)

    def perturb(self, values: ArrayLike, rng: Rng) -> Array:
        """Return a structured array (n,) with ``hash``, ``indices`` and ``signs``; see
        `Mechanism.perturb`."""
        values, report_type = self._users(values, rng), self.report_type
        reports = np.empty(values.size, report_type.form)
        reports["hash"] = rng.integers(0, self.hashes, values.size)
        reports["indices"] = rng.integers(0, self.m, (values.size, 1))
        cell = report_type.table[reports["hash"], values]
        reports["signs"] = answers(cell, reports["indices"], self.p, rng)
        return reports
