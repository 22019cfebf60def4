"""Noise on a one-hot vector: Laplace noise, and Gaussian noise with the classical and the analytic
calibration.

Sources: Dwork and Roth (2014) and Balle and Wang (2018) for the calibrations.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated

import numpy as np
import scipy

from .. import checks
from ..reports import Gaussian, Laplace, Noisy
from ..rng import first_state, laplace
from ..types import Array, ArrayLike, Numbers, Rng
from .base import Delta, Domain, Epsilon, FrequencyOracle, checked_frequency
from .grid import SLACK, histograms, residue, rounded, spacing

__all__ = ["NoisyHistogram", "SHE", "GM", "AGM", "gaussian_delta"]


class NoisyHistogram(FrequencyOracle):
    """Base of the mechanisms that send a one-hot vector with noise.

    Attributes
    ----------
    report_type : Laplace or Gaussian
        A noisy vector, with the distribution of the independent noise on every coordinate.
    scale : float
        Scale of Laplace noise, or standard deviation of Gaussian noise.
    grid : float or None
        Step of the grid on which reports lie; ``None`` sends sums of doubles unchanged.
    """

    if TYPE_CHECKING:  # defined by the subclasses

        @property
        def grid(self) -> float | None:
            """Step of the grid on which reports lie."""

        @property
        def scale(self) -> float:
            """Scale or standard deviation of the noise."""

        @property
        def report_type(self) -> Noisy:
            """A noisy vector."""

    def estimate(self, reports: ArrayLike) -> Array:
        return self.read(reports).mean(axis=0)

    def sample_estimate(self, counts: ArrayLike, rng: Rng) -> Array:
        """Sample the estimates for a whole population, which are the true frequencies plus the mean
        noise of n users; see `SupportOracle.sample_estimate`."""
        checks.generator(rng)
        counts = checks.counts(counts, self.k)
        n = counts.sum()
        return (counts + self.report_type.total(n, rng)) / n

    def variance(self, n: int, frequency: Numbers = 0.0) -> Numbers:
        return self.report_type.variance / checks.integer("n", n, 1) + 0.0 * checked_frequency(
            frequency
        )


@dataclass(frozen=True)
class SHE(NoisyHistogram, exact=True):
    """Summation with histogram encoding: the one-hot vector plus Laplace noise.

    Parameters
    ----------
    k : int
        Domain size, at least 2.
    epsilon : float
        Privacy budget, in [1e-6, 30].
    grid : float, optional
        Step of the grid on which reports lie, a power of two in [2^-20, 2^-10]. Without a grid the
        noise is a double that is added to a double, as in the papers' code.

    Notes
    -----
    Every coordinate has independent Laplace noise of scale ``2 / eps`` (Dwork et al. 2006; Wang et
    al. 2017), so the variance of an estimate is ``8 / (n eps^2)``.

    .. warning::
       Without a grid the epsilon holds for real numbers, but not for the doubles that are sent:
       their last digits reveal values, see the book's page on floating point. Use ``grid = 2**-20``
       for reports that other people can read. Then the noise is discrete Laplace noise on the grid,
       and the ratio of its neighbouring probabilities is at most what `epsilon` allows.
    """

    k: Domain
    epsilon: Epsilon
    grid: Annotated[float | None, spacing] = None

    @property
    def report_type(self) -> Laplace:
        """A vector with Laplace noise."""
        return Laplace(self.k, self.scale, self.grid)

    @property
    def scale(self) -> float:
        """Scale of the Laplace noise."""
        return 2 / self.epsilon if self.grid is None else 1 / (self.epsilon / 2 - SLACK)

    def perturb(self, values: ArrayLike, rng: Rng) -> Array:
        """Return noisy histograms, float array (n, k); see `Mechanism.perturb`."""
        users, state = self._users(values, rng), first_state(rng)
        if self.grid is None:
            reports = np.empty((users.size, self.k))
            laplace(reports.reshape(-1), self.scale, state)
            reports[np.arange(users.size), users] += 1
            return reports
        return histograms(users, self.k, self.grid, self.scale, state)


# --- Gaussian noise

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


@dataclass(frozen=True)
class GM(NoisyHistogram, exact=True):
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

    @property
    def scale(self) -> float:
        """Standard deviation of the noise."""
        return SENSITIVITY / self.epsilon * math.sqrt(2 * math.log(1.25 / self.delta))

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
class AGM(GM, exact=True):
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

    epsilon: Epsilon

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
