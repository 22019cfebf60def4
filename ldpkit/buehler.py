"""A bound of epsilon from two counts together, sharper than two bounds of one count each.

The event, the number of reports and the one look are chosen beforehand. All pairs of counts are
ordered by how much they speak against small values of epsilon; the bound is the least epsilon
whose rates show the observed counts, or any that speak as loudly, with probability above alpha.
Only what is as loud has to be an order; that it is a good one decides how sharp the bound is.

The supremum over rates is no search on a grid: counts that are as loud are more of the first and
fewer of the second, so that between two rates of the second nothing is likelier than with the
larger rate of the first and the smaller rate of the second.

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
"""Largest number of reports and smallest alpha that `epsilon_buehler` takes."""

_SPENT = 1e-3  # share of alpha for the interval in which the second rate is sought
_CELLS, _BLOCKS, _FINE = 48, 400, 4  # rates and counts taken together, and halvings of the former
_WIDE = 8.0  # standard deviations of counts that are looked at one by one


def _order(a: Numbers, b: Numbers, n: int, delta: float, z: float) -> Numbers:
    """How loudly counts speak: nearly the bound itself, with a little added to them."""
    p, q = (a + 0.5) / (n + 1), (b + 0.5) / (n + 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = p * (1 - p) / n / (p - delta) ** 2 + (1 - q) / (b + 1)
        value = np.log((p - delta) / q) - z * np.sqrt(spread)
    return np.where(p > delta, value, -math.inf)


def _least(b: Array, wanted: float, n: int, delta: float, z: float) -> Array:
    """Smallest first counts that are as loud as `wanted` with second counts b; n + 1 if none is."""
    low, high = np.zeros(b.shape), np.full(b.shape, n + 1.0)
    while (low < high).any():
        middle = np.floor((low + high) / 2)
        loud = _order(middle, b, n, delta, z) >= wanted
        low, high = np.where(loud | (low >= high), low, middle + 1), np.where(loud, middle, high)
    return high


def epsilon_buehler(tp: int, fp: int, trials: int, alpha: float, delta: float = 0.0) -> float:
    """Bound that exceeds the true epsilon with probability at most alpha.

    Parameters
    ----------
    tp, fp : int
        How often an event that was chosen beforehand happened with the first input and with the
        second, in `trials` reports of each.
    trials : int
        At least 1, and at most 10^10.
    alpha : float
        In [1e-12, 1).
    delta : float
        Of the claim, in [0, 1).

    Returns
    -------
    float
        At least 0. It needs about a third fewer reports than `ldpkit.stats.epsilon_lower` to
        exceed the same value.
    """
    n = checks.integer("trials", trials, 1, MOST)
    a = checks.integer("tp", tp, 0, n)
    b = checks.integer("fp", fp, 0, n)
    delta = checks.real("delta", delta, 0, 1, closed="[)")
    alpha = checks.real("alpha", alpha, LEAST, 1, closed="[)")
    z = -float(scipy.special.ndtri(min(alpha, 0.49)))
    near = b + np.arange(min(n - b, math.ceil(z * z) + 10) + 1)  # later ones are quieter
    loudness = float(_order(np.float64(a), near, n, delta, z).max())
    if loudness == -math.inf:
        return 0.0
    spent = alpha * _SPENT
    low, high = (float(x) for x in (stats.clopper_pearson(b, n, spent / 2)))
    edges, ends = _edges(n, low, high), np.linspace(low, high, _CELLS + 1)
    least = np.minimum.accumulate(_least(edges, loudness, n, delta, z)[::-1])[::-1]

    def loud(p: Array, q: Array) -> Array:
        """Probability, or a little more, of counts that are as loud: the first rate p, the second
        q."""
        far = (edges - n * q[:, None]) / np.sqrt(n * q * (1 - q) + 1)[:, None]
        below, seen = (far > 0).astype(float), (np.abs(far) < _WIDE) & (edges > 0)
        cell, block = np.nonzero(seen)
        below[seen] = scipy.special.betaincc(edges[block], n - edges[block] + 1, q[cell])
        each = np.diff(below, axis=1, append=1.0)
        shown = np.where((least <= 0) | (each <= 0), 1.0, 0.0)
        cell, block = np.nonzero((each > 0) & (least > 0) & (least <= n))
        shown[cell, block] = scipy.special.betainc(least[block], n - least[block] + 1, p[cell])
        return below[:, 0] + (each * shown).sum(axis=1)

    def kept(epsilon: float) -> bool:
        """Whether some rates that keep epsilon could have been as loud."""
        grown, begin, end = math.exp(epsilon), ends[:-1], ends[1:]
        for _ in range(_FINE):
            open_ = loud(np.minimum(grown * end + delta, 1), begin) > alpha - spent
            begin, end = begin[open_], end[open_]
            if not begin.size:
                return False
            middle = (begin + end) / 2
            begin, end = np.r_[begin, middle], np.r_[middle, end]
        return True

    few = ends if len(edges) <= _BLOCKS // 2 else ends[:: _CELLS // 4]

    def shown(epsilon: float) -> bool:
        """The same of a few rates alone, quickly."""
        found = loud(np.minimum(math.exp(epsilon) * few + delta, 1), few)
        return bool(found.max() > alpha)

    under, over = 0.0, 0.5
    while over < 700 and not shown(over):
        under, over = over, min(2 * over, 700.0)  # exp of more is no number
    while over - under > 1e-4 * max(over, 1e-3):
        middle = (under + over) / 2
        under, over = (under, middle) if shown(middle) else (middle, over)
    spread = math.sqrt(1 / (a + 0.5) + 1 / (b + 0.5))
    for step in (0.01, 0.03, 0.06, 0.12, 0.25, 0.5, 1.0, 2.0, 4.0):
        if under > step * spread and not kept(under - step * spread):
            return under - step * spread
    return 0.0


def _edges(n: int, low: float, high: float) -> Array:
    """Second counts at which blocks of them begin: all that may be seen with rates in between."""
    first, last = (
        max(n * rate - _WIDE * math.sqrt(n * rate * (1 - rate)) - 60, 0)
        if side == 0
        else min(n * rate + _WIDE * math.sqrt(n * rate * (1 - rate)) + 60, n)
        for side, rate in enumerate((low, high))
    )
    begin, end = math.floor(first), math.ceil(last)
    if end - begin <= 2 * _BLOCKS:
        return np.arange(begin, end + 1, dtype=float)
    return np.unique(np.linspace(begin, end, _BLOCKS + 1).astype(np.int64)).astype(float)
