"""Bets against a claim of local differential privacy: evidence that may be watched, stopped and
continued at will.

Whoever bets on an event with a report of either input keeps, on average, no more than the stake
while the claim holds. So a wealth that has grown to ``1 / alpha`` at any time, however it was
waited for, refutes the claim at level alpha (Ville's inequality), and wealth never has to be
corrected for how often it was looked at.

A bet is on single reports or on pairs. A live client is asked for one report of an input that a
fair coin chose. The report is of the first input or of the second, and shows the event or not: the
four *symbols* of a report, numbered ``2 * second + shown``. Recordings have no coin, so that a
*pair*, one report of each input, is bet on. The event happens in the first, in the second, in both
or in neither: the four symbols of a pair, numbered ``2 * first + second``. A bet multiplies the
wealth by one factor per symbol; several bets share the first stake and make a mixture.

A coin for every report needs no assumption of independence: whatever the client remembers, the
factor's mean is at most 1 if the claim holds for the report given all reports before, because the
coin is fair whatever was sent before.

Sources: Ville (1939); Ramdas, Grunwald, Vovk and Shafer, "Game-theoretic statistics and safe
anytime-valid inference", 2023; Turner, Ly and Grunwald, "Generic E-variables for exact sequential
k-sample tests", 2024; Gonzalez et al., "Sequentially auditing differential privacy", 2025.
"""

import math
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike

from . import checks, stats
from .jit import kernel
from .types import Array, Numbers, Rates

__all__ = ["linear", "linear_growth", "joint", "joint_growth", "soft", "expected_pairs", "STAKES"]

STAKES = np.geomspace(0.01, 0.999, 16)
"""Stakes of a mixture where nothing is known of the rates, as shares of the greatest one."""

_LEAST = 1e-12  # rates of an alternative stay this far from 0 and 1


def _claim(epsilon: float, delta: float) -> tuple[float, float]:
    epsilon = checks.real("epsilon", epsilon, 0, 700)
    return math.exp(epsilon), checks.real("delta", delta, 0, 1, closed="[)")


def _rates(p: float, q: float) -> Rates:
    return checks.real("p", p, 0, 1), checks.real("q", q, 0, 1)


def linear(stakes: ArrayLike, epsilon: float, delta: float = 0.0, *, coins: bool = False) -> Array:
    """Factors of bets that need no independence of the two reports of a pair.

    Parameters
    ----------
    stakes : float array, shape (m,)
        In [0, 1), as shares of the greatest one, ``1 / (e^epsilon + delta)``: with more, one pair
        could cost more than there is.
    epsilon, delta : float
        The claim.
    coins : bool
        Whether a symbol is that of one report, whose input a coin chose.

    Returns
    -------
    float array, shape (m, 4)
        ``1 + stake (first - e^epsilon second - delta)`` by symbol of a pair. By symbol of a report
        it is ``1 + stake`` for the first input's event, ``1 - stake (e^epsilon + delta)`` for the
        second's, and ``1 - stake delta`` for a report of the second without the event.
    """
    grown, delta = _claim(epsilon, delta)
    shares = np.atleast_1d(checks.reals("stakes", stakes, 0, 1, closed="[)"))
    pairs = [-delta, -grown - delta, 1 - delta, 1 - grown - delta]
    won = np.array([0, 1, -delta, -grown - delta] if coins else pairs)
    return 1 + shares[:, None] / (grown + delta) * won


def _symbols(p: Numbers, q: Numbers) -> Array:
    return np.array([(1 - p) * (1 - q), (1 - p) * q, p * (1 - q), p * q])


def linear_growth(p: float, q: float, epsilon: float, delta: float = 0.0) -> Rates:
    """Largest mean log factor of a linear bet on an event with rates `p` and `q`, and its stake.

    Returns
    -------
    growth, stake : float
        In nats per pair of independent reports, and as a share of the greatest one; both 0 where
        the rates keep the claim.
    """
    law, (grown, delta) = _symbols(*_rates(p, q)), _claim(epsilon, delta)
    if p <= grown * q + delta:
        return 0.0, 0.0

    def lost(share: float) -> float:
        return -float(law @ np.log(linear(share, epsilon, delta)[0]))

    best = scipy.optimize.minimize_scalar(lost, bounds=(0, 1 - 1e-9), method="bounded",
                                          options={"xatol": 1e-10})  # fmt: skip
    return -float(best.fun), float(best.x)


def _nearest(p: Numbers, q: Numbers, grown: Numbers, delta: float) -> tuple[Array, Array]:
    """Rates that keep the claim and are the hardest to tell from `p` and `q`, which do not.

    They lie on the edge ``p0 = e^epsilon q0 + delta`` where the sum of the two relative entropies
    is least. The condition for that has one root, because the sum is convex: the lesser one of a
    quadratic equation without delta, found by 60 bisections with delta.
    """
    if not delta:
        total, line = 2 * (p + q), 1 + grown + p + grown * q
        q0 = total / (line + np.sqrt(np.maximum(line * line - 4 * grown * total, 0)))
        q0 = np.clip(q0, q, p / grown)  # where rounding would leave the range
        return np.minimum(grown * q0, p), q0
    # beyond q the slope is positive, where p0 meets p it is negative
    low, high = np.broadcast_arrays(np.maximum(q, 1e-300), (p - delta) / grown)
    for _ in range(60):
        q0 = (low + high) / 2
        p0 = grown * q0 + delta
        up = grown * (p - p0) * q0 * (1 - q0) + (q - q0) * p0 * (1 - p0) > 0
        low, high = np.where(up, q0, low), np.where(up, high, q0)
    return grown * low + delta, low


def joint_growth(p: float, q: float, epsilon: float, delta: float = 0.0) -> float:
    """Largest mean log factor of any bet on one event with rates `p` and `q`, in nats per pair.

    The two reports of a pair must be independent; 0 where the rates keep the claim.
    """
    (p, q), (grown, delta) = _rates(p, q), _claim(epsilon, delta)
    if p <= grown * q + delta:
        return 0.0
    p0, q0 = _nearest(p, q, grown, delta)
    entropies = scipy.special.rel_entr([p, 1 - p, q, 1 - q], [p0, 1 - p0, q0, 1 - q0])
    return float(entropies.sum())


def joint(
    p: float, q: float, epsilon: ArrayLike, delta: float = 0.0, share: float = 1.0,
    *, coins: bool = False,
) -> Array:  # fmt: skip
    """Factors of the bet that grows fastest if the event has the rates `p` and `q`.

    It is the likelihood ratio to the nearest rates that keep the claim. Its mean is at most 1 under
    every pair of rates that keeps the claim, if the two reports of a pair are independent. Bets on
    single reports need no independence.

    Parameters
    ----------
    epsilon : float or array
        One claim, or several.
    share : float
        In (0, 1]: how far to go from the nearest rates to those given; where these are not certain,
        half the way is safer.
    coins : bool
        Whether a symbol is that of one report, whose input a coin chose.

    Returns
    -------
    float array, shape (..., 4)
        By symbol; 1 for claims that the rates keep.
    """
    p, q = (min(max(rate, _LEAST), 1 - _LEAST) for rate in _rates(p, q))
    grown = np.exp(checks.reals("epsilon", epsilon, 0, 700))
    delta = checks.real("delta", delta, 0, 1, closed="[)")
    share = checks.real("share", share, 0, 1, closed="(]")
    broken = p > grown * q + delta
    if not broken.all() and broken.ndim == 0:
        raise ValueError(f"p must exceed e^epsilon q + delta = {grown * q + delta:g}, got {p:g}")
    factors = np.ones((*grown.shape, 4))
    grown = grown[broken]
    near, far = _nearest(p, q, grown, delta)
    p1, q1 = near + share * (p - near), far + share * (q - far)
    p0, q0 = (near, far) if share == 1 else _nearest(p1, q1, grown, delta)
    up, down = (p1 - p0) / (p0 * (1 - p0)), (q0 - q1) / (q0 * (1 - q0))
    # along the edge the mean is 1 + (up e^epsilon - down) t - up down e^epsilon t^2 at q0 + t, and
    # of a single report 1 + (up e^epsilon - down) t / 2: rounding must not lift it
    with np.errstate(divide="ignore", invalid="ignore"):
        if coins:
            ratio = np.array([(1 - p1) / (1 - p0), p1 / p0, (1 - q1) / (1 - q0), q1 / q0])
            lifted = abs(up * grown - down) / 2
        else:
            ratio = _symbols(p1, q1) / _symbols(p0, q0)
            lifted = (up * grown - down) ** 2 / (4 * up * down * grown)
    fine = (up > 0) & (down > 0)
    factors[broken] = np.where(fine, ratio / (1 + lifted), 1.0 if share < 1 else ratio).T
    return factors


def soft(
    likelihood: ArrayLike, balance: ArrayLike, epsilon: ArrayLike, delta: float = 0.0
) -> tuple[Array, Array]:
    """Factors of the bet on a whole likelihood: of a report of the first input, and of the second.

    Parameters
    ----------
    likelihood : float array
        Probability in [0, 1] that a report is of the first input, if both were equally likely. It
        may be learned, and badly: the bet is valid for any numbers that depend on the past only.
    balance : float or array
        In (0, 2); chosen from the past, too. What it decides is how fast wealth grows.
    epsilon, delta : float
        The claim; several values of epsilon, and of the others, are broadcast together.

    Returns
    -------
    first, second : float arrays
        A report whose input a coin chose multiplies the wealth by ``first`` or ``second``. A pair
        multiplies it by ``first[report of first] * second[report of second]`` if its reports are
        independent, and by the mean of the two numbers if they may not be.

    Notes
    -----
    With ``n1, n2 >= 0`` the factors are ``balance + n1 - e^epsilon n2`` and ``2 - balance -
    e^epsilon n1 + n2``. Under the claim the first mean of n1 is at most e^epsilon times the
    second, and so for n2 with the inputs exchanged: the two means sum to 2 at most, and their
    product to 1. With delta both are divided by ``1 + delta / e^epsilon``.
    """
    grown = np.exp(checks.reals("epsilon", epsilon, 0, 700))
    delta = checks.real("delta", delta, 0, 1, closed="[)")
    c = checks.reals("likelihood", likelihood, 0, 1)
    mu = checks.reals("balance", balance, 0, 2, closed="()")
    shape = np.broadcast_shapes(c.shape, mu.shape, grown.shape)
    flat: Any = [np.broadcast_to(one, shape).ravel() for one in (c, mu, grown)]
    first, second = _soft(*(*flat, delta))
    return first.reshape(shape), second.reshape(shape)


@kernel
def soft_factor(c: float, mu: float, grown: float, delta: float, second: bool) -> float:
    """Factor of one report, of the first input or of the second, see `soft`; `c` is its likelihood,
    `mu` the balance."""
    kappa = 2 - mu
    if (1 - c) * mu < grown * kappa * c:
        one = max(mu, c * (grown * mu + kappa) / grown)
        two = min(kappa, (1 - c) * (grown * mu + kappa))
    else:
        one = c * (mu + grown * kappa)
        two = (1 - c) * (mu + grown * kappa) / grown
    return (two if second else one) / (1 + delta / grown)


@kernel
def _soft(c: Array, mu: Array, grown: Array, delta: float) -> tuple[Array, Array]:
    first, second = np.empty(c.size), np.empty(c.size)
    for i in range(c.size):
        first[i] = soft_factor(c[i], mu[i], grown[i], delta, False)
        second[i] = soft_factor(c[i], mu[i], grown[i], delta, True)
    return first, second


def expected_pairs(
    p: float, q: float, epsilon: float, alpha: float, delta: float = 0.0, step: float = 1e-3
) -> Rates:
    """Bounds of the mean number of reports per input after which the `joint` bet for these rates
    refutes a claim, if a coin chooses the input of every report.

    Parameters
    ----------
    p, q : float
        Rates of the event, which are also those bet on.
    step : float
        Of the grid on which log wealth is rounded, up for the lower bound and down for the upper.

    Returns
    -------
    low, high : float
        Infinite if the rates keep the claim.
    """
    growth, goal = joint_growth(p, q, epsilon, delta), -math.log(stats.significance(alpha))
    step = checks.real("step", step, 1e-6, 1)
    if growth == 0:
        return math.inf, math.inf
    gains = np.log(joint(p, q, epsilon, delta, coins=True))
    law, found = np.array([1 - p, p, 1 - q, q]) / 2, []
    for rounded in (np.ceil, np.floor):
        moves = rounded(gains / step).astype(int)
        top, floor = math.ceil(goal / step), -math.ceil(60 / step)  # deeper wealth never returns
        now, mean, alive = np.zeros(top - floor), 0.0, 1.0
        now[-floor] = 1.0
        while alive > 1e-12:
            mean += alive
            after = np.zeros_like(now)
            for move, chance in zip(moves, law):
                if move >= 0:
                    after[move:] += chance * now[: now.size - move]
                else:
                    after[:move] += chance * now[-move:]
                    after[0] += chance * now[:-move].sum()
            now, alive = after, float(after.sum())
        found.append(mean / 2)
    return found[0], found[1]
