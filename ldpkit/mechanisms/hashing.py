"""Local hashing: hash the value to a few cells with a user's own hash, then respond.

The hash family is xxHash64 of the value (eight bytes, little endian) under a
fresh 64-bit seed per user, reduced to ``0..g-1`` by multiplying the upper 32
bits by ``g`` (so cells differ in probability by at most ``g / 2^32`` relative).
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numba
import numpy as np
from numpy.typing import ArrayLike

from .. import checks
from ..types import Array, Rng
from .base import MAX_DOMAIN, MIN_EPSILON, SupportOracle
from .grr import respond, response_rates

__all__ = ["LocalHashing", "BLH", "OLH", "ALH", "ABLH", "AOLH", "LHO", "hash_cell", "HASH_REPORT"]

HASH_REPORT = np.dtype([("seed", "<u8"), ("cell", "<i8")])
"""Type of one report: the user's hash seed and the reported cell."""

MAX_CELLS = 2**32
_P1 = np.uint64(0x9E3779B185EBCA87)
_P2 = np.uint64(0xC2B2AE3D27D4EB4F)
_P3 = np.uint64(0x165667B19E3779F9)
_P4 = np.uint64(0x85EBCA77C2B2AE63)
_P5 = np.uint64(0x27D4EB2F165667C5)


@numba.njit(cache=True, nogil=True, inline="always")
def _rotl(x: np.uint64, bits: int) -> np.uint64:
    return (x << np.uint64(bits)) | (x >> np.uint64(64 - bits))


@numba.njit(cache=True, nogil=True)
def xxh64(value: int, seed: int) -> np.uint64:
    """xxHash64 of one 64-bit integer, as the eight bytes of its little-endian form."""
    h = np.uint64(seed) + _P5 + np.uint64(8)
    h ^= _rotl(np.uint64(value) * _P2, 31) * _P1
    h = _rotl(h, 27) * _P1 + _P4
    h = (h ^ (h >> np.uint64(33))) * _P2
    h = (h ^ (h >> np.uint64(29))) * _P3
    return h ^ (h >> np.uint64(32))


@numba.njit(cache=True, nogil=True)
def hash_cell(value: int, seed: int, g: int) -> np.int64:
    """Cell in ``0..g-1`` of one value under one user's seed (compiled; used by the attacks too)."""
    return np.int64(((xxh64(value, seed) >> np.uint64(32)) * np.uint64(g)) >> np.uint64(32))


@numba.njit(cache=True, nogil=True)
def _cells(values: Array, seeds: Array, g: int) -> Array:
    out = np.empty(values.size, np.int64)
    for i in range(values.size):
        out[i] = hash_cell(values[i], seeds[i], g)
    return out


@numba.njit(cache=True, nogil=True)
def _support_counts(seeds: Array, cells: Array, k: int, g: int) -> Array:
    out = np.zeros(k, np.int64)
    for i in range(cells.size):
        for u in range(k):
            out[u] += hash_cell(u, seeds[i], g) == cells[i]
    return out


class LocalHashing(SupportOracle):
    """Base of the hashing protocols; subclasses give the hash range `g`.

    Notes
    -----
    A report supports every value that the user's hash sends to the reported
    cell: ``p = e^eps / (e^eps + g - 1)`` and ``q = 1 / g``. The law of the
    support set uses a fully random hash; tests show that the family above
    cannot be told from it.
    """

    report = "hash"
    independent = True
    if TYPE_CHECKING:

        @property
        def g(self) -> int: ...

    @property
    def p(self) -> float:
        """Probability of reporting the true value's cell."""
        return response_rates(self.g, self.epsilon, self.delta)[0]

    @property
    def q(self) -> float:
        """Probability that a report supports one given other value."""
        return 1 / self.g

    def perturb(self, values: ArrayLike, rng: Rng) -> Array:
        """Return a structured array (n,) of type `HASH_REPORT`; see `Mechanism.perturb`."""
        checks.generator(rng)
        values = checks.values(values, self.k)
        reports = np.empty(values.size, HASH_REPORT)
        reports["seed"] = rng.integers(0, 2**64, values.size, dtype=np.uint64)
        cells = _cells(values, reports["seed"], self.g)
        reports["cell"] = respond(cells, self.g, self.p, rng) if self.p < 1 else cells
        return reports

    def read(self, reports: ArrayLike) -> Array:
        reports = self._checked(reports, (None,), HASH_REPORT)
        checks.values(reports["cell"], self.g, f"cells of {self.name}")
        return reports

    def support_counts(self, reports: ArrayLike) -> Array:
        reports = self.read(reports)
        return _support_counts(reports["seed"], reports["cell"], self.k, self.g)


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

    k: int
    epsilon: float
    name = "BLH"

    @property
    def g(self) -> int:
        """Hash range."""
        return 2


@dataclass(frozen=True)
class OLH(LocalHashing):
    """Optimised local hashing: about ``e^eps + 1`` cells.

    Parameters
    ----------
    k : int
        Domain size, at least 2.
    epsilon : float
        Privacy budget, in [1e-6, 22]: the hash range must stay below 2^32.

    Notes
    -----
    ``g = rint(e^eps) + 1`` as in the audited code (Wang et al. 2017).
    """

    k: int
    epsilon: float
    name = "OLH"

    def __post_init__(self) -> None:
        checks.real("epsilon", self.epsilon, MIN_EPSILON, 22)
        super().__post_init__()
        checks.integer("g", self.g, 2, MAX_CELLS)

    @property
    def g(self) -> int:
        """Hash range."""
        return int(np.rint(math.exp(self.epsilon))) + 1


@dataclass(frozen=True)
class ALH(LocalHashing):
    """Adaptive local hashing: the hash range is chosen, see `ldpkit.optimize.refine`.

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

    k: int
    epsilon: float
    g: int
    name = "ALH"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "g", checks.integer("g", self.g, 2, MAX_CELLS))


@dataclass(frozen=True)
class ABLH(BLH):
    """Approximate binary local hashing: `BLH` with AGRR on the two cells.

    Parameters
    ----------
    k, epsilon
        As in `BLH`.
    delta : float
        Probability with which the guarantee may fail, in (0, 1).

    Notes
    -----
    The hashed report satisfies the smaller ``(1 - 1/g) delta``.
    """

    delta: float
    name = "ABLH"


@dataclass(frozen=True)
class AOLH(OLH):
    """Approximate optimised local hashing: AGRR on the cells, whose number minimises the variance.

    Parameters
    ----------
    k, epsilon
        As in `OLH`.
    delta : float
        Probability with which the guarantee may fail, in (0, 1).

    Notes
    -----
    The variance is proportional to ``(E + g - 1)^2 / ((g - 1) (E - 1 + g delta)^2)``
    with ``E = e^eps``; its minimiser is the smaller root of a quadratic, rounded,
    and at least 2 (LDP-Auditor, section 2; the errata say which root).
    """

    delta: float
    name = "AOLH"

    @property
    def g(self) -> int:
        """Hash range."""
        grown = math.expm1(self.epsilon)
        b, c = grown * (1 - 3 * self.delta), grown * (grown + 2 - 2 * self.delta)
        inner = b * b - 4 * self.delta * c
        if inner < 0:
            raise ValueError(f"delta must be smaller for AOLH at epsilon = {self.epsilon:g}, got {self.delta:g}")
        return max(2, int(np.rint(2 * c / (b + math.sqrt(inner)))))


@dataclass(frozen=True)
class LHO(LocalHashing):
    """Local hashing only: the true cell, without any perturbation; no epsilon is claimed.

    Parameters
    ----------
    k : int
        Domain size, at least 2.
    g : int
        Hash range, in [2, 2^32].

    Notes
    -----
    LDP-Auditor, section 5.5: shows that hashing alone is not differentially private.
    """

    k: int
    g: int
    name = "LHO"
    epsilon = math.inf

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", checks.integer("k", self.k, 2, MAX_DOMAIN))
        object.__setattr__(self, "g", checks.integer("g", self.g, 2, MAX_CELLS))

    @property
    def p(self) -> float:
        """Probability of reporting the true value's cell: always."""
        return 1.0
