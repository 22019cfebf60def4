"""Privacy accounting of Gaussian noise for one release and for many.

Sources: Dong, Roth and Su (2022) for Gaussian differential privacy (GDP); Guerra-Balboa et al.,
"Understanding Disclosure Risk in Differential Privacy", section 7.1, for its use.
"""

import math

import numpy as np
import scipy

from .. import checks
from .gaussian import SENSITIVITY, gaussian_delta

__all__ = [
    "ADJACENCY",
    "gdp_mu",
    "gdp_epsilon",
    "rdp_epsilon",
    "gaussian_epsilon",
    "gaussian_sigma",
]

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
