"""Gaussian noise on a one-hot vector: (epsilon, delta)-LDP with the classical and with the analytic
calibration."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np
import scipy

from .. import checks
from ..reports import Gaussian
from ..types import Array, ArrayLike, Rng
from .base import Delta, Domain, Epsilon
from .grid import residue, rounded, spacing
from .histogram import NoisyHistogram

__all__ = ["GM", "AGM", "gaussian_delta"]

SENSITIVITY = math.sqrt(2)
"""Euclidean distance of two one-hot vectors."""


def gaussian_delta(epsilon: float, sigma: float) -> float:
    """Smallest delta with which Gaussian noise on a one-hot vector is (epsilon, delta)-LDP.

    Parameters
    ----------
    epsilon : float
        Privacy budget, at least 0.
    sigma : float
        Standard deviation of the noise on every coordinate, above 0.

    Notes
    -----
    ``Phi(D/(2 sigma) - eps sigma/D) - e^eps Phi(-D/(2 sigma) - eps sigma/D)``, ``D = sqrt 2``
    (Balle and Wang 2018, Theorem 8).
    """
    epsilon, sigma = checks.real("epsilon", epsilon, 0), checks.real("sigma", sigma, 0, closed="()")
    near, far = SENSITIVITY / (2 * sigma), epsilon * sigma / SENSITIVITY
    return scipy.special.ndtr(near - far) - math.exp(epsilon + scipy.special.log_ndtr(-near - far))


class _Gaussian(NoisyHistogram):
    @property
    def report_type(self) -> Gaussian:
        """A vector with Gaussian noise."""
        return Gaussian(self.k, self.scale, self.grid)

    @property
    def residue(self) -> float:
        """Delta to be added to `delta`, because the grid does not hide all of the doubles; see
        `ldpkit.mechanisms.grid.residue`."""
        return residue(self.grid, self.epsilon, self.scale)

    def perturb(self, values: ArrayLike, rng: Rng) -> Array:
        """Return noisy histograms, float array (n, k); see `Mechanism.perturb`."""
        values = self._users(values, rng)
        reports = rng.normal(0, self.scale, (values.size, self.k))
        reports[np.arange(values.size), values] += 1
        return rounded(reports, self.grid, reports)


@dataclass(frozen=True)
class GM(_Gaussian):
    """Gaussian mechanism with the classical noise scale.

    Parameters
    ----------
    k : int
        Domain size, at least 2.
    epsilon : float
        Privacy budget, in [1e-6, 1], because the classical calibration holds only there.
    delta : float
        Probability with which the guarantee may fail, in (0, 1).
    grid : float, optional
        Step of the grid to which reports are rounded, a power of two in [2^-20, 2^-10].

    Notes
    -----
    ``sigma = (sqrt 2 / eps) sqrt(2 ln(1.25 / delta))`` (Dwork and Roth 2014, Theorem A.1). This is
    more noise than needed, see `AGM`.

    .. warning::
       Without a grid the guarantee holds for real numbers, but not for the doubles that are sent;
       see the book's page on floating point. On a grid the guarantee holds with `residue` added to
       delta.
    """

    k: Domain
    epsilon: Annotated[float, checks.rule(checks.real, 1e-6, 1)]
    delta: Delta
    grid: Annotated[float | None, spacing] = None
    name = "GM"
    exact = True

    @property
    def scale(self) -> float:
        """Standard deviation of the noise."""
        return SENSITIVITY / self.epsilon * math.sqrt(2 * math.log(1.25 / self.delta))


@dataclass(frozen=True)
class AGM(_Gaussian):
    """Analytic Gaussian mechanism: the smallest noise with which the guarantee holds.

    Parameters
    ----------
    k : int
        Domain size, at least 2.
    epsilon : float
        Privacy budget, in [1e-6, 30].
    delta : float
        Probability with which the guarantee may fail, in (0, 1).
    grid : float, optional
        Step of the grid to which reports are rounded, as in `GM`, whose warning applies here too.

    Notes
    -----
    Solves ``gaussian_delta(epsilon, sigma) = delta`` for sigma (Balle and Wang 2018, Algorithm 1).
    """

    k: Domain
    epsilon: Epsilon
    delta: Delta
    grid: Annotated[float | None, spacing] = None
    name = "AGM"
    exact = True

    @cached_property
    def scale(self) -> float:
        """Standard deviation of the noise."""
        # as a function of ln sigma the excess falls from 1 - delta to -delta, so a root exists
        return math.exp(
            scipy.optimize.brentq(
                lambda s: gaussian_delta(self.epsilon, math.exp(s)) - self.delta,
                -10,
                40,
                xtol=1e-13,
                rtol=1e-14,
            )
        )
