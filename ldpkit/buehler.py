"""A bound of epsilon from both counts together, which is sharper than the bound from two separate
bounds of rates.

The event and the number of reports must be chosen beforehand, and the counts are evaluated once.
All pairs of counts are ordered by the strength of their evidence against small values of epsilon.
The bound is the smallest epsilon with the following property: under some rates with this epsilon,
counts at least as extreme as the observed counts have a probability above alpha. The bound is valid
for every order, but the order decides how sharp the bound is.

The supremum over rates needs no search on a grid. Larger counts of the first input and smaller
counts of the second are more extreme. Suppose that the second rate lies in an interval. Then the
probability of extreme counts is at most that for two rates: the smaller end of the interval, and
the largest first rate that the claim allows at the larger end.

Sources: Buehler, "Confidence intervals for the product of two binomial parameters", 1957; Berger
and Boos, "P values maximized over a confidence set for the nuisance parameter", 1994.
"""

import math

import numpy as np
import scipy

from . import checks, stats
from .types import Array, Numbers

__all__ = ["LEAST", "MOST", "epsilon_buehler"]

MOST, LEAST = 10**10, 1e-12
"""Largest number of reports and smallest alpha that `epsilon_buehler` accepts."""

_SPENT = 1e-3  # share of alpha for the confidence interval of the second rate
_CELLS, _BLOCKS = 48, 400  # number of intervals of the second rate, and of blocks of second counts
_HALVINGS = 4  # rounds in which intervals of the second rate are halved
_WIDE = 8.0  # standard deviations within which probabilities of counts are computed


def _order(a: Numbers, b: Numbers, n: int, delta: float, z: float) -> Numbers:
    """Statistic that orders pairs of counts: an approximation of the bound itself, with 1/2 added
    to each count."""
    p, q = (a + 0.5) / (n + 1), (b + 0.5) / (n + 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = p * (1 - p) / n / (p - delta) ** 2 + (1 - q) / (b + 1)
        value = np.log((p - delta) / q) - z * np.sqrt(spread)
    return np.where(p > delta, value, -math.inf)


def _least(b: Array, wanted: float, n: int, delta: float, z: float) -> Array:
    """Smallest first counts for which the statistic is at least `wanted` with second counts b;
    n + 1 if there is none."""
    low, high = np.zeros(b.shape), np.full(b.shape, n + 1.0)
    while (low < high).any():
        middle = np.floor((low + high) / 2)
        extreme = _order(middle, b, n, delta, z) >= wanted
        low = np.where(extreme | (low >= high), low, middle + 1)
        high = np.where(extreme, middle, high)
    return high


def epsilon_buehler(tp: int, fp: int, trials: int, alpha: float, delta: float = 0.0) -> float:
    """Bound that exceeds the true epsilon with probability at most alpha.

    Parameters
    ----------
    tp, fp : int
        Numbers of reports of the first input, and of the second input, that lie in an event which
        was chosen beforehand.
    trials : int
        Number of reports per input, in [1, 10^10].
    alpha : float
        Significance, in [1e-12, 1).
    delta : float
        Delta of the claim, in [0, 1).

    Returns
    -------
    float
        Bound, at least 0. It needs about a third fewer reports than `ldpkit.stats.epsilon_lower` to
        exceed the same value.
    """
    n = checks.integer("trials", trials, 1, MOST)
    a = checks.integer("tp", tp, 0, n)
    b = checks.integer("fp", fp, 0, n)
    delta = checks.real("delta", delta, 0, 1, closed="[)")
    alpha = checks.real("alpha", alpha, LEAST, 1, closed="[)")
    z = -float(scipy.special.ndtri(min(alpha, 0.49)))
    near = b + np.arange(min(n - b, math.ceil(z * z) + 10) + 1)  # larger ones are less extreme
    observed = float(_order(np.float64(a), near, n, delta, z).max())
    if observed == -math.inf:
        return 0.0
    spent = alpha * _SPENT
    low, high = (float(x) for x in (stats.clopper_pearson(b, n, spent / 2)))
    edges, ends = _edges(n, low, high), np.linspace(low, high, _CELLS + 1)
    least = np.minimum.accumulate(_least(edges, observed, n, delta, z)[::-1])[::-1]

    def tail(p: Array, q: Array) -> Array:
        """Probability, rounded up to blocks of counts, of counts at least as extreme as the
        observed counts, for first rates p and second rates q."""
        far = (edges - n * q[:, None]) / np.sqrt(n * q * (1 - q) + 1)[:, None]
        below, close = (far > 0).astype(float), (np.abs(far) < _WIDE) & (edges > 0)
        cell, block = np.nonzero(close)
        below[close] = scipy.special.betaincc(edges[block], n - edges[block] + 1, q[cell])
        mass = np.diff(below, axis=1, append=1.0)  # of the second counts of each block
        extreme = np.where((least <= 0) | (mass <= 0), 1.0, 0.0)  # first counts of at least `least`
        cell, block = np.nonzero((mass > 0) & (least > 0) & (least <= n))
        extreme[cell, block] = scipy.special.betainc(least[block], n - least[block] + 1, p[cell])
        return below[:, 0] + (mass * extreme).sum(axis=1)

    def possible(epsilon: float) -> bool:
        """Whether, for some rates that satisfy the claim with this epsilon, the probability of such
        counts may exceed alpha."""
        grown, begin, end = math.exp(epsilon), ends[:-1], ends[1:]
        for _ in range(_HALVINGS):
            open_ = tail(np.minimum(grown * end + delta, 1), begin) > alpha - spent
            begin, end = begin[open_], end[open_]
            if not begin.size:
                return False
            middle = (begin + end) / 2
            begin, end = np.r_[begin, middle], np.r_[middle, end]
        return True

    few = ends if len(edges) <= _BLOCKS // 2 else ends[:: _CELLS // 4]

    def quickly_possible(epsilon: float) -> bool:
        """Faster version of `possible` for a few rates only."""
        tails = tail(np.minimum(math.exp(epsilon) * few + delta, 1), few)
        return bool(tails.max() > alpha)

    under, over = 0.0, 0.5
    while over < 700 and not quickly_possible(over):
        under, over = over, min(2 * over, 700.0)  # the exponential of more overflows
    while over - under > 1e-4 * max(over, 1e-3):
        middle = (under + over) / 2
        under, over = (under, middle) if quickly_possible(middle) else (middle, over)
    spread = math.sqrt(1 / (a + 0.5) + 1 / (b + 0.5))
    for step in (0.01, 0.03, 0.06, 0.12, 0.25, 0.5, 1.0, 2.0, 4.0):
        if under > step * spread and not possible(under - step * spread):
            return under - step * spread
    return 0.0


def _edges(n: int, low: float, high: float) -> Array:
    """First counts of blocks of second counts, which cover all counts that are likely for a second
    rate in [low, high]."""
    first = n * low - _WIDE * math.sqrt(n * low * (1 - low)) - 60
    last = n * high + _WIDE * math.sqrt(n * high * (1 - high)) + 60
    begin, end = math.floor(max(first, 0)), math.ceil(min(last, n))
    if end - begin <= 2 * _BLOCKS:
        return np.arange(begin, end + 1, dtype=float)
    return np.unique(np.linspace(begin, end, _BLOCKS + 1).astype(np.int64)).astype(float)
