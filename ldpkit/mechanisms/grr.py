"""Generalised randomised response, subset selection, and local hashing: a report is one value, a
set of values of fixed size, or a hash function and a cell of it.

In local hashing each user hashes the value to a few cells with an own hash function, and perturbs
the cell by randomised response.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated

import numpy as np

from .. import checks
from ..jit import kernel
from ..reports import HASH_REPORT, Hashed, Response, Selection
from ..reports.base import structured
from ..rng import State, first_state, next_uniform
from ..types import Array, ArrayLike, Numbers, Rng
from .base import MIN_EPSILON, Delta, Domain, Epsilon, SupportOracle

__all__ = [
    "GRR", "AGRR", "respond", "response_rates", "SubsetSelection", "SS", "FloorSS", "ASS",
    "inclusion_rates", "LocalHashing", "BLH", "OLH", "ALH", "ABLH", "AOLH", "LHO",
]  # fmt: skip


def respond(values: Array, k: int, keep: float, rng: Rng) -> Array:
    """k-ary randomised response on an int array: keep each value with probability `keep`, otherwise
    replace it by a uniform other value."""
    kept = rng.random(values.shape) < keep
    out = rng.integers(0, k - 1, values.shape)
    out += out >= values  # in place, because new memory costs more time than the addition
    np.copyto(out, values, where=kept)
    return out


def response_rates(k: Numbers, epsilon: float, delta: float = 0.0) -> tuple[Numbers, Numbers]:
    """Probabilities of the true value and of one given other value under GRR on k values, or under
    AGRR if `delta` is positive."""
    small = math.exp(-epsilon)
    total = 1 + (k - 1) * small
    return (1 + (k - 1) * delta * small) / total, (1 - delta) * small / total


@dataclass(frozen=True)
class GRR(SupportOracle, exact=True):
    """Generalised randomised response (k-RR): the own value, or a uniform other value.

    Parameters
    ----------
    k : int
        Domain size, at least 2.
    epsilon : float
        Privacy budget, in [1e-6, 30].

    Notes
    -----
    ``p = e^eps / (e^eps + k - 1)``, ``q = 1 / (e^eps + k - 1)``
    (Kairouz, Bonawitz and Ramage 2016; LDP-Auditor, section 2).
    """

    k: Domain
    epsilon: Epsilon

    @cached_property
    def report_type(self) -> Response:
        """One value."""
        return Response(self.k, *response_rates(self.k, self.epsilon, self.delta))

    def perturb(self, values: ArrayLike, rng: Rng) -> Array:
        """Return reports, int array (n,); see `Mechanism.perturb`."""
        return respond(self._users(values, rng), self.k, self.p, rng)


@dataclass(frozen=True)
class AGRR(GRR, exact=True):
    """Approximate GRR, which keeps the value a little more often than GRR, in exchange for a delta.

    Parameters
    ----------
    k, epsilon
        As in `GRR`.
    delta : float
        Probability with which the guarantee may fail, in (0, 1).

    Notes
    -----
    ``p = (e^eps + (k - 1) delta) / (e^eps + k - 1)``, ``q = (1 - delta) / (e^eps + k - 1)``
    (LDP-Auditor, appendix B).
    """

    delta: Delta


# --- subset selection


@kernel
def _subsets(values: Array, k: int, size: int, keep: float, state: State) -> Array:
    """Sample uniformly ordered subsets, int array (n, size); each contains the user's value with
    probability `keep`."""
    out = np.empty((values.size, size), np.int64)
    deck = np.arange(k)  # never reset, because any permutation may be the next start
    for i in range(values.size):
        own = values[i]
        # move the true value to the end, so that it is not sampled; the search begins at the end,
        # where it often still is from the previous user
        j = k - 1
        while deck[j] != own:
            j -= 1
        deck[j], deck[k - 1] = deck[k - 1], deck[j]
        u, state = next_uniform(state)
        include = u < keep
        for j in range(size - include):
            u, state = next_uniform(state)
            r = j + int(u * (k - 1 - j))
            deck[j], deck[r] = deck[r], deck[j]
            out[i, j] = deck[j]
        if include:  # at a random place, because a fixed place would reveal the true value
            u, state = next_uniform(state)
            r = int(u * size)
            out[i, size - 1] = out[i, r]
            out[i, r] = own
    return out


def inclusion_rates(k: int, epsilon: float, omega: Numbers) -> tuple[Numbers, Numbers]:
    """Probabilities that a subset of `omega` values contains the true value, and that it contains
    one given other value."""
    small = math.exp(-epsilon)
    total = omega + (k - omega) * small
    # q without the difference of nearly equal numbers
    return omega / total, omega * (omega - 1 + (k - omega) * small) / (k - 1) / total


def _best_size(k: int, epsilon: float) -> float:
    """Subset size with the smallest variance, ``k / (e^eps + 1)``, before rounding."""
    return k * (math.exp(-epsilon) / (1 + math.exp(-epsilon)))


@dataclass(frozen=True)
class SubsetSelection(SupportOracle):
    """Base of the protocols whose report is a set of `omega` values; subclasses define `omega`."""

    k: Domain
    epsilon: Epsilon

    if TYPE_CHECKING:  # defined by the subclasses

        @property
        def omega(self) -> int:
            """Subset size."""

    @cached_property
    def report_type(self) -> Selection:
        """A set of fixed size."""
        k, omega = self.k, self.omega
        absent = (k - omega) / (omega * math.exp(self.epsilon) + k - omega)
        return Selection(k, omega, *inclusion_rates(k, self.epsilon, omega), absent)

    def perturb(self, values: ArrayLike, rng: Rng) -> Array:
        """Return subsets, int array (n, omega); see `Mechanism.perturb`."""
        return _subsets(self._users(values, rng), self.k, self.omega, self.p, first_state(rng))


@dataclass(frozen=True)
class SS(SubsetSelection, exact=True):
    """Subset selection: ``omega`` distinct values, of which the true value is the likeliest member.

    Parameters
    ----------
    k : int
        Domain size, at least 2.
    epsilon : float
        Privacy budget, in [1e-6, 30].

    Notes
    -----
    ``omega = max(1, rint(k / (e^eps + 1)))``. The subset contains the true value with ``p = omega
    e^eps / (omega e^eps + k - omega)``, and the rest is uniform without replacement (Ye and Barg
    2018; Wang et al. 2016). A report is an array of ``omega`` values in uniformly random order.
    """

    @property
    def omega(self) -> int:
        """Subset size."""
        return max(1, int(np.rint(_best_size(self.k, self.epsilon))))


@dataclass(frozen=True)
class FloorSS(SS, exact=True):
    """Subset selection with a subset size that is rounded down, as in the paper on reconstruction
    advantage.

    Parameters
    ----------
    k, epsilon
        As in `SS`.

    Notes
    -----
    ``omega = max(1, floor(k / (e^eps + 1)))``.
    """

    @property
    def omega(self) -> int:
        """Subset size."""
        return max(1, math.floor(_best_size(self.k, self.epsilon)))


@dataclass(frozen=True)
class ASS(SubsetSelection, exact=True):
    """Adaptive subset selection with a free subset size, which `ldpkit.refine.refine`
    chooses.

    Parameters
    ----------
    k : int
        Domain size, at least 2.
    epsilon : float
        Privacy budget, in [1e-6, 30].
    omega : int
        Subset size, in [1, k - 1].

    Notes
    -----
    Every size satisfies epsilon-LDP. A larger subset hides the true value among more other values
    (attack-aware refinement, section 4).
    """

    omega: int

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.fix(self, omega=checks.integer("omega", self.omega, 1, self.k - 1))


# --- local hashing

MAX_CELLS = 2**32


@dataclass(frozen=True)
class LocalHashing(SupportOracle):
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
        return Hashed(self.k, self.g, response_rates(self.g, self.epsilon, self.delta)[0])

    def perturb(self, values: ArrayLike, rng: Rng) -> Array:
        """Return a structured array (n,) of type `HASH_REPORT`; see `Mechanism.perturb`."""
        values, form = self._users(values, rng), self.report_type
        seeds = rng.integers(0, form.seeds, values.size, dtype=np.uint64)
        true = form.cells(values, seeds)
        sent = respond(true, self.g, self.p, rng) if self.p < 1 else true
        return structured(HASH_REPORT, seed=seeds, cell=sent)


@dataclass(frozen=True)
class BLH(LocalHashing, exact=True):
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


@dataclass(frozen=True)
class OLH(LocalHashing, exact=True):
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


@dataclass(frozen=True)
class ALH(LocalHashing, exact=True):
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
    g: Annotated[int, checks.rule(checks.integer, 2, MAX_CELLS)]


@dataclass(frozen=True)
class ABLH(BLH, exact=True):
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


@dataclass(frozen=True)
class AOLH(OLH, exact=True):
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


@dataclass(frozen=True)
class LHO(LocalHashing, exact=True):
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

    g: Annotated[int, checks.rule(checks.integer, 2, MAX_CELLS)]
    epsilon = math.inf
