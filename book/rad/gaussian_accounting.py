"""Account for Gaussian noise as the chapter needs it: epsilon of many releases, and the noise that keeps an epsilon.

Sources: Dong, Roth and Su (2022) for Gaussian differential privacy (GDP); Guerra-Balboa et al., "Understanding Disclosure Risk in
Differential Privacy", section 7.1, for the conversion by Renyi orders.
"""

import math

import numpy as np
import scipy

from ldpkit import checks
from ldpkit.mechanisms.histogram import SENSITIVITY, gaussian_delta

ADJACENCY = {"add_remove": 1.0, "replace": 2.0}
"""Largest distance of two neighbouring sums of clipped gradients, in clipping norms, by the name of the adjacency."""

_ORDERS = np.concatenate([np.arange(11, 110) / 10, np.arange(11, 64)])


def gdp_mu(sigma, steps=1, adjacency="add_remove"):
    """Return mu of the Gaussian differential privacy of `steps` releases with noise multiplier `sigma`."""
    return ADJACENCY[adjacency] * math.sqrt(steps) / sigma


def gdp_epsilon(mu, delta):
    """Return the smallest epsilon for which mu-GDP is (epsilon, delta)-DP, exactly (Dong et al., Corollary 2.13)."""
    sigma = SENSITIVITY / mu  # of the noise on a one-hot vector
    if gaussian_delta(0.0, sigma) <= delta:
        return 0.0
    high = mu * (mu / 2 + math.sqrt(2 * math.log(1 / delta)))  # the tail bound of the privacy loss
    return scipy.optimize.brentq(lambda e: gaussian_delta(e, sigma) - delta, 0, high, xtol=1e-12)


def rdp_epsilon(mu, delta):
    """Return epsilon of mu-GDP by Renyi orders 1.1 to 63 as in the paper's code, which is larger than `gdp_epsilon`."""
    rest = np.log1p(-1 / _ORDERS) - np.log(_ORDERS * delta) / (_ORDERS - 1)
    return float((_ORDERS * mu**2 / 2 + rest).min())


def gaussian_epsilon(sigma, steps=1, delta=1e-5, *, accounting="exact", adjacency="add_remove"):
    """Return epsilon of `steps` releases; `accounting` is "exact" (`gdp_epsilon`) or "rdp" (`rdp_epsilon`)."""
    convert = {"exact": gdp_epsilon, "rdp": rdp_epsilon}[accounting]
    return convert(gdp_mu(sigma, steps, adjacency), delta)


def gaussian_sigma(epsilon, steps=1, delta=1e-5, **how):
    """Return the noise multiplier whose `gaussian_epsilon` is `epsilon`, or refuse an epsilon that no multiplier reaches."""
    low, high = -4.0, 20.0

    def excess(log_sigma):
        return gaussian_epsilon(math.exp(log_sigma), steps, delta, **how) - epsilon

    checks.need(
        excess(high) < 0 < excess(low), f"epsilon must be one that the accounting reaches at delta = {delta:g}, got {epsilon}"
    )
    return math.exp(scipy.optimize.brentq(excess, low, high, xtol=1e-13))
