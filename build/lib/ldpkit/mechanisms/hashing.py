"""Local hashing: each user hashes the value to a few cells with an own hash function, and perturbs
the cell by randomised response."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated

import numpy as np

from .. import checks
from ..reports import HASH_REPORT, Hashed
from ..reports.base import structured
from ..types import Array, ArrayLike, Rng
from .base import MIN_EPSILON, Delta, Domain, Epsilon, FrequencyOracle, exact_distribution
from .grr import respond, response_rates

__all__ = ["LocalHashing", "BLH", "OLH", "ALH", "ABLH", "AOLH", "LHO"]

MAX_CELLS = 2**32

HashRange = Annotated[int, checks.rule(checks.integer, 2, MAX_CELLS), "Hash range, in [2, 2^32]."]


@dataclass(frozen=True)
class LocalHashing(FrequencyOracle):
    """Base of the hashing protocols; subclasses define the hash range `g`.

    Notes
    -----
    A report supports every value that the user's hash function maps to the reported cell, therefore
    ``p = e^eps / (e^eps + g - 1)`` and ``q = 1 / g``. The exact distribution of the support set
    assumes a fully random hash function; see `ldpkit.reports.values` for the functions in use.
    """

    k: Domain

    if TYPE_CHECKING:

        @property
        def g(self) -> int:
            """Hash range."""

    @cached_property
    def report_type(self) -> Hashed:
        """A hash function and a cell."""
        p, other = response_rates(self.g, self.epsilon, self.delta)
        return Hashed(self.k, self.g, p, (self.g - 1) * other)

    def perturb(self, values: ArrayLike, rng: Rng) -> Array:
        """Return a structured array (n,) of type `HASH_REPORT`; see `Mechanism.perturb`."""
        values, form = self._users(values, rng), self.report_type
        seeds = rng.integers(0, form.seeds, values.size, dtype=np.uint64)
        true = form.cells(values, seeds)
        sent = respond(true, self.g, self.p, rng) if self.p < 1 else true
        return structured(HASH_REPORT, seed=seeds, cell=sent)


@exact_distribution
@dataclass(frozen=True)
class BLH(LocalHashing):
    """Binary local hashing: two cells.

    Parameters
    ----------
    k : int
        Domain size, at least 2.
    epsilon : float
        Privacy budget, in [1e-6, 30].

    Notes
    -----
    Bassily and Smith (2015) as rephrased by Wang et al. (2017).
    """

    epsilon: Epsilon

    g = 2
    """Hash range."""


@exact_distribution
@dataclass(frozen=True)
class OLH(LocalHashing):
    """Optimised local hashing: about ``e^eps + 1`` cells, which minimises the variance.

    Parameters
    ----------
    k : int
        Domain size, at least 2.
    epsilon : float
        Privacy budget, in [1e-6, 22], because the hash range must stay below 2^32.

    Notes
    -----
    ``g = rint(e^eps) + 1`` as in the audited code (Wang et al. 2017).
    """

    epsilon: Annotated[float, checks.rule(checks.real, MIN_EPSILON, 22)]

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.integer("g", self.g, 2, MAX_CELLS)

    @property
    def g(self) -> int:
        """Hash range."""
        return int(np.rint(math.exp(self.epsilon))) + 1


@exact_distribution
@dataclass(frozen=True)
class ALH(LocalHashing):
    """Adaptive local hashing with a free hash range, which `ldpkit.refine.refine`
    chooses.

    Parameters
    ----------
    k : int
        Domain size, at least 2.
    epsilon : float
        Privacy budget, in [1e-6, 30].
    g : int
        Hash range, in [2, 2^32].

    Notes
    -----
    Attack-aware refinement, section 4.
    """

    epsilon: Epsilon
    g: HashRange


@exact_distribution
@dataclass(frozen=True)
class ABLH(BLH):
    """Approximate binary local hashing: `BLH` with `AGRR` on the two cells.

    Parameters
    ----------
    k, epsilon
        As in `BLH`.
    delta : float
        Probability with which the guarantee may fail, in (0, 1).

    Notes
    -----
    Because of the hash, a report satisfies the guarantee with the smaller ``(1 - 1/g) delta``.
    """

    delta: Delta


@exact_distribution
@dataclass(frozen=True)
class AOLH(OLH):
    """Approximate optimised local hashing: AGRR on a number of cells that minimises the variance.

    Parameters
    ----------
    k, epsilon
        As in `OLH`.
    delta : float
        Probability with which the guarantee may fail, in (0, 1).

    Notes
    -----
    The variance is proportional to ``(E + g - 1)^2 / ((g - 1) (E - 1 + g delta)^2)`` with ``E =
    e^eps``. Its minimiser is the smaller root of a quadratic equation, which is rounded and is at
    least 2 (LDP-Auditor, appendix B).
    """

    delta: Delta

    @property
    def g(self) -> int:
        """Hash range."""
        grown = math.expm1(self.epsilon)
        b, c = grown * (1 - 3 * self.delta), grown * (grown + 2 - 2 * self.delta)
        inner = b * b - 4 * self.delta * c
        checks.need(
            inner >= 0,
            f"delta must be smaller for AOLH at epsilon = {self.epsilon:g}, got {self.delta:g}",
        )
        return max(2, int(np.rint(2 * c / (b + math.sqrt(inner)))))


@exact_distribution
@dataclass(frozen=True)
class LHO(LocalHashing):
    """Local hashing only: the report is the true cell without any perturbation, and no epsilon is
    claimed.

    Parameters
    ----------
    k : int
        Domain size, at least 2.
    g : int
        Hash range, in [2, 2^32].

    Notes
    -----
    LDP-Auditor, section 5.5, uses this client to show that hashing alone is not differentially
    private.
    """

    g: HashRange
    epsilon = math.inf
