"""Gaussian noise: on a one-hot vector with the classical and with the analytic calibration, and the
privacy accounting of one release and of many.

Sources: Dwork and Roth (2014) and Balle and Wang (2018) for the calibrations; Dong, Roth and Su
(2022) for Gaussian differential privacy (GDP); Guerra-Balboa et al., "Understanding Disclosure Risk
in Differential Privacy", section 7.1, for its use.
"""

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

__all__ = [
    "GM", "AGM", "gaussian_delta", "ADJACENCY", "gdp_mu", "gdp_epsilon", "rdp_epsilon",
    "gaussian_epsilon", "gaussian_sigma",
]  # fmt: skip

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


# --- accounting

ADJACENCY = {"add_remove": 1.0, "replace": 2.0}
"""Largest distance of two neighbouring sums of clipped gradients, in units of the clipping norm, by
the name of the adjacency."""

_ORDERS = np.concatenate([np.arange(11, 110) / 10, np.arange(11, 64)])


def gdp_mu(sigma: float, steps: int = 1, adjacency: str = "add_remove") -> float:
    """Parameter mu of the Gaussian differential privacy of `steps` releases with noise multiplier
    `sigma`.

    Parameters
    ----------
    sigma : float
        Standard deviation of the noise, in units of the clipping norm, positive.
    steps : int
        Number of releases, at least 1.
    adjacency : {"add_remove", "replace"}
        Whether neighbouring data sets differ by one additional record, or by one replaced record.
    """
    sigma, steps = checks.real("sigma", sigma, 0, closed="()"), checks.integer("steps", steps, 1)
    return ADJACENCY[checks.one_of("adjacency", adjacency, ADJACENCY)] * math.sqrt(steps) / sigma


def gdp_epsilon(mu: float, delta: float) -> float:
    """Smallest epsilon for which mu-GDP is (epsilon, delta)-DP, exactly (Dong et al., Corollary
    2.13)."""
    mu = checks.real("mu", mu, 0, closed="()")
    delta = checks.real("delta", delta, 0, 1, closed="()")
    sigma = SENSITIVITY / mu  # of the noise on a one-hot vector
    if gaussian_delta(0.0, sigma) <= delta:
        return 0.0
    high = mu * (mu / 2 + math.sqrt(2 * math.log(1 / delta)))  # the tail bound of the privacy loss
    return scipy.optimize.brentq(lambda e: gaussian_delta(e, sigma) - delta, 0, high, xtol=1e-12)


def rdp_epsilon(mu: float, delta: float) -> float:
    """Epsilon of mu-GDP at `delta`, converted by Renyi orders 1.1 to 63 as in the paper's code;
    larger than `gdp_epsilon`."""
    mu = checks.real("mu", mu, 0, closed="()")
    delta = checks.real("delta", delta, 0, 1, closed="()")
    rest = np.log1p(-1 / _ORDERS) - np.log(_ORDERS * delta) / (_ORDERS - 1)
    return float((_ORDERS * mu**2 / 2 + rest).min())


def gaussian_epsilon(
    sigma: float,
    steps: int = 1,
    delta: float = 1e-5,
    *,
    accounting: str = "exact",
    adjacency: str = "add_remove",
) -> float:
    """Epsilon of `steps` Gaussian releases.

    Parameters
    ----------
    sigma, steps, adjacency
        As in `gdp_mu`.
    delta : float
        Probability with which the guarantee may fail, in (0, 1).
    accounting : {"exact", "rdp"}
        Conversion of mu to epsilon: `gdp_epsilon` or `rdp_epsilon`.
    """
    convert = {"exact": gdp_epsilon, "rdp": rdp_epsilon}[
        checks.one_of("accounting", accounting, ("exact", "rdp"))
    ]
    return convert(gdp_mu(sigma, steps, adjacency), delta)


def gaussian_sigma(
    epsilon: float,
    steps: int = 1,
    delta: float = 1e-5,
    *,
    accounting: str = "exact",
    adjacency: str = "add_remove",
) -> float:
    """Noise multiplier for which `gaussian_epsilon` is `epsilon`.

    Raises
    ------
    ValueError
        If no noise multiplier has so small an epsilon at this delta under this accounting.
    """
    epsilon = checks.real("epsilon", epsilon, 0, closed="()")

    def excess(log_sigma: float) -> float:
        return (
            gaussian_epsilon(
                math.exp(log_sigma), steps, delta, accounting=accounting, adjacency=adjacency
            )
            - epsilon
        )

    low, high = -4.0, 20.0
    checks.need(
        excess(high) < 0 < excess(low),
        f"epsilon must be one that {accounting} accounting reaches at delta = {delta:g}, got"
        f" {epsilon}",
    )
    return math.exp(scipy.optimize.brentq(excess, low, high, xtol=1e-13))
