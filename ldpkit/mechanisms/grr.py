"""Generalised randomised response: report the own value, or sometimes another value."""

import math
from dataclasses import dataclass

import numpy as np

from ..reports import Response
from ..types import Array, ArrayLike, Numbers, Rng
from .base import Delta, Domain, Epsilon, SupportOracle

__all__ = ["GRR", "AGRR", "respond", "response_rates"]


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
class GRR(SupportOracle):
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
    name = "GRR"
    exact = True

    @property
    def report_type(self) -> Response:
        """One value."""
        return Response(self.k, self.p, self.q)

    @property
    def p(self) -> float:
        """Probability of reporting the true value."""
        return response_rates(self.k, self.epsilon, self.delta)[0]

    @property
    def q(self) -> float:
        """Probability of reporting one given other value."""
        return response_rates(self.k, self.epsilon, self.delta)[1]

    def perturb(self, values: ArrayLike, rng: Rng) -> Array:
        """Return reports, int array (n,); see `Mechanism.perturb`."""
        return respond(self._users(values, rng), self.k, self.p, rng)


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
    name = "AGRR"
    exact = True
