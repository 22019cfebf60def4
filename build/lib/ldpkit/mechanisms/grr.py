"""Generalised randomised response and subset selection: a report is one value, or a set of values
of fixed size."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated

import numpy as np

from .. import checks
from ..jit import kernel
from ..reports import Response, Selection
from ..rng import State, first_state, next_uniform
from ..types import Array, ArrayLike, Numbers, Rng
from .base import Delta, Domain, Epsilon, FrequencyOracle, exact_distribution

__all__ = [
    "GRR", "AGRR", "respond", "response_rates", "SubsetSelection", "SS", "FloorSS", "ASS",
    "inclusion_rates",
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


@exact_distribution
@dataclass(frozen=True)
class GRR(FrequencyOracle):
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


@exact_distribution
@dataclass(frozen=True)
class AGRR(GRR):
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
class SubsetSelection(FrequencyOracle):
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


@exact_distribution
@dataclass(frozen=True)
class SS(SubsetSelection):
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


@exact_distribution
@dataclass(frozen=True)
class FloorSS(SS):
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


@exact_distribution
@dataclass(frozen=True)
class ASS(SubsetSelection):
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

    omega: Annotated[int, "Subset size, in [1, k - 1]."]

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.fix(self, omega=checks.integer("omega", self.omega, 1, self.k - 1))
