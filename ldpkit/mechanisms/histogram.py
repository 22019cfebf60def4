"""Histogram encoding: a one-hot vector with noise, which is sent unchanged or thresholded to
bits."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated

import numpy as np
import scipy

from .. import checks
from ..jit import kernel
from ..reports import Laplace, Noisy
from ..rng import State, first_state
from ..types import Array, ArrayLike, Numbers, Rng
from .base import Domain, Epsilon, FrequencyOracle, checked_frequency
from .grid import SLACK, histograms, spacing
from .unary import UnaryEncoding
from .ziggurat import laplace

__all__ = ["NoisyHistogram", "SHE", "ThresholdedHistogram", "THE", "ATHE", "threshold_rates"]


@kernel
def _noisy(values: Array, k: int, scale: float, state: State) -> Array:
    out = np.empty((values.size, k))
    for i in range(values.size):
        state = laplace(out[i], state)
        for u in range(k):
            out[i, u] *= scale
        out[i, values[i]] += 1
    return out


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
class SHE(NoisyHistogram):
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
    exact = True

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
            return _noisy(users, self.k, self.scale, state)
        return histograms(users, self.k, self.grid, self.scale, state)


def threshold_rates(epsilon: float, theta: Numbers) -> tuple[Numbers, Numbers]:
    """Probabilities that the noisy coordinate of the true value, and that of any other value,
    exceeds `theta`, which lies in [0, 1]."""
    return 1 - np.exp(epsilon * (theta - 1) / 2) / 2, np.exp(-epsilon * theta / 2) / 2


class ThresholdedHistogram(UnaryEncoding):
    """Base of the protocols that send which noisy coordinates exceed a threshold; subclasses define
    the threshold `theta`.

    The coordinates are independent, therefore independent bits with the probabilities of exceeding
    the threshold have the same distribution. The client samples such bits. Tests compare them with
    bits that are made from the noise of `SHE`.
    """

    if TYPE_CHECKING:

        @property
        def theta(self) -> float:
            """Threshold."""

    @property
    def p(self) -> float:
        """Probability of a one at the true value."""
        return float(threshold_rates(self.epsilon, self.theta)[0])

    @property
    def q(self) -> float:
        """Probability of a one at any other value."""
        return float(threshold_rates(self.epsilon, self.theta)[1])


@dataclass(frozen=True)
class THE(ThresholdedHistogram):
    """Thresholding with histogram encoding: which noisy coordinates exceed a threshold.

    Parameters
    ----------
    k : int
        Domain size, at least 2.
    epsilon : float
        Privacy budget, in [1e-6, 30], of the noisy vector. The bits alone satisfy the smaller
        ``ln(p (1 - q) / (q (1 - p)))``.

    Notes
    -----
    The threshold minimises the estimator's variance over [1/2, 1] (Wang et al. 2017). It is found
    by bounded Brent search with SciPy's default tolerance, as in the audited code.
    """

    k: Domain
    epsilon: Epsilon
    exact = True

    @cached_property
    def theta(self) -> float:
        """Threshold."""
        half = self.epsilon / 2

        def variance(t: float) -> float:
            # Wang et al.'s expression, expanded so that nothing overflows
            low = math.exp(-half * t)
            return low * (2 - low) / (low + math.exp(half * (t - 1)) - 2) ** 2

        return float(scipy.optimize.minimize_scalar(variance, bounds=(0.5, 1), method="bounded").x)


@dataclass(frozen=True)
class ATHE(ThresholdedHistogram):
    """Adaptive thresholding with a free threshold, which `ldpkit.refine.protocols.refine` chooses.

    Parameters
    ----------
    k : int
        Domain size, at least 2.
    epsilon : float
        Privacy budget, in [1e-6, 30], of the noisy vector; see `THE`.
    theta : float
        Threshold, in [0, 1]; the paper searches it in [1/2, 1].

    Notes
    -----
    Attack-aware refinement, section 4.
    """

    k: Domain
    epsilon: Epsilon
    theta: Annotated[float, checks.rule(checks.real, 0, 1)]
    exact = True
