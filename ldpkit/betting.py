"""Bets against a claim of local differential privacy: evidence that may be watched, stopped and
continued at will.

Whoever bets on an event with a report of either input keeps, on average, no more than the stake
while the claim holds. So a wealth that has grown to ``1 / alpha`` at any time, however it was
waited for, refutes the claim at level alpha (Ville's inequality), and wealth never has to be
corrected for how often it was looked at.

A *pair* is one report of each input. An event happens in the first, in the second, in both or in
neither: the four *symbols*, numbered ``2 * first + second``. A bet multiplies the wealth by one
factor per symbol; several bets share the first stake and make a mixture.

Sources: Ville (1939); Ramdas, Grunwald, Vovk and Shafer, "Game-theoretic statistics and safe
anytime-valid inference", 2023; Turner, Ly and Grunwald, "Generic E-variables for exact sequential
k-sample tests", 2024; Gonzalez et al., "Sequentially auditing differential privacy", 2025.
"""

import functools
import math
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import scipy
from numpy.typing import ArrayLike

from . import checks, stats
from .compiled import kernel
from .types import Array, Numbers, Rates

__all__ = ["greatest_stake", "linear", "linear_growth", "nearest", "joint", "joint_growth",
           "soft", "expected_pairs", "Wealth", "STAKES"]  # fmt: skip

STAKES = np.geomspace(0.01, 0.999, 16)
"""Stakes of a mixture where nothing is known of the rates, as shares of the greatest one."""

_LEAST = 1e-12  # rates of an alternative stay this far from 0 and 1


def _claim(epsilon: float, delta: float) -> tuple[float, float]:
    epsilon = checks.real("epsilon", epsilon, 0, 700)
    return math.exp(epsilon), checks.real("delta", delta, 0, 1, closed="[)")


def _rates(p: float, q: float) -> Rates:
    return checks.real("p", p, 0, 1), checks.real("q", q, 0, 1)


def greatest_stake(epsilon: float, delta: float = 0.0) -> float:
    """Stake from which on one pair could cost more than there is, ``1 / (e^epsilon + delta)``."""
    grown, delta = _claim(epsilon, delta)
    return 1 / (grown + delta)


def linear(stakes: ArrayLike, epsilon: float, delta: float = 0.0) -> Array:
    """Factors of bets that need no independence of the two reports of a pair.

    Parameters
    ----------
    stakes : float array, shape (m,)
        As shares of `greatest_stake`, in [0, 1).
    epsilon, delta : float
        The claim.

    Returns
    -------
    float array, shape (m, 4)
        ``1 + stake (first - e^epsilon second - delta)`` by symbol.
    """
    grown, delta = _claim(epsilon, delta)
    shares = np.atleast_1d(checks.reals("stakes", stakes, 0, 1, closed="[)"))
    won = np.array([-delta, -grown - delta, 1 - delta, 1 - grown - delta])
    return 1 + shares[:, None] / (grown + delta) * won


def _symbols(p: Numbers, q: Numbers) -> Array:
    return np.array([(1 - p) * (1 - q), (1 - p) * q, p * (1 - q), p * q])


def linear_growth(p: float, q: float, epsilon: float, delta: float = 0.0) -> Rates:
    """Largest mean log factor of a linear bet on an event with rates `p` and `q`, and its stake.

    Returns
    -------
    growth, stake : float
        In nats per pair of independent reports, and as a share of `greatest_stake`; both 0 where
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


def nearest(p: float, q: float, epsilon: float, delta: float = 0.0) -> Rates:
    """Rates that keep the claim and are the hardest to tell from `p` and `q`, which do not.

    They lie on the edge ``p0 = e^epsilon q0 + delta`` where the sum of the two relative entropies
    is least; the condition for that has one root, as the sum is convex.
    """
    (p, q), (grown, delta) = _rates(p, q), _claim(epsilon, delta)
    if p <= grown * q + delta:
        raise ValueError(f"p must exceed e^epsilon q + delta = {grown * q + delta:g}, got {p:g}")

    p0, q0 = _nearest(np.array(p), np.array(q), np.array(grown), delta)
    return float(p0), float(q0)


def _nearest(p: Array, q: Array, grown: Array, delta: float) -> tuple[Array, Array]:
    """`nearest` for many claims and rates at once: 100 bisections."""
    # beyond q the slope is positive, where p0 meets p it is negative; without delta, 0 is another
    # root
    low, high = np.broadcast_arrays(np.maximum(q, 1e-300), (p - delta) / grown)
    for _ in range(100):
        q0 = (low + high) / 2
        p0 = grown * q0 + delta
        up = grown * (p - p0) * q0 * (1 - q0) + (q - q0) * p0 * (1 - p0) > 0
        low, high = np.where(up, q0, low), np.where(up, high, q0)
    return grown * low + delta, low


def _entropy(p: float, p0: float) -> float:
    return float(scipy.special.rel_entr(p, p0) + scipy.special.rel_entr(1 - p, 1 - p0))


def joint_growth(p: float, q: float, epsilon: float, delta: float = 0.0) -> float:
    """Largest mean log factor of any bet on one event with rates `p` and `q`, in nats per pair.

    The two reports of a pair must be independent; 0 where the rates keep the claim.
    """
    (p, q), (grown, delta) = _rates(p, q), _claim(epsilon, delta)
    if p <= grown * q + delta:
        return 0.0
    p0, q0 = nearest(p, q, epsilon, delta)
    return _entropy(p, p0) + _entropy(q, q0)


def joint(p: float, q: float, epsilon: ArrayLike, delta: float = 0.0, share: float = 1.0) -> Array:
    """Factors of the bet that grows fastest if the event has the rates `p` and `q`.

    It is the likelihood ratio to `nearest`; its mean is at most 1 under every pair of rates that
    keeps the claim, if the two reports of a pair are independent.

    Parameters
    ----------
    epsilon : float or array
        One claim, or several.
    share : float
        In (0, 1]: how far to go from the nearest rates to those given; where these are not certain,
        half the way is safer.

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
    near, far = _nearest(np.array(p), np.array(q), grown, delta)
    p1, q1 = near + share * (p - near), far + share * (q - far)
    p0, q0 = (near, far) if share == 1 else _nearest(p1, q1, grown, delta)
    ratio = _symbols(p1, q1) / _symbols(p0, q0)
    # along the edge the mean is 1 + (up e^epsilon - down) t - up down e^epsilon t^2 at q0 + t:
    # rounding must not lift it
    up, down = (p1 - p0) / (p0 * (1 - p0)), (q0 - q1) / (q0 * (1 - q0))
    with np.errstate(divide="ignore", invalid="ignore"):
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
        A pair multiplies the wealth by ``first[report of first] * second[report of second]``, if
        its reports are independent, or by the mean of the two numbers if they may not be.

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
    kappa, slack = 2 - mu, 1 + delta / grown
    up = (1 - c) * mu < grown * kappa * c
    first = np.where(up, np.maximum(mu, c * (grown * mu + kappa) / grown), c * (mu + grown * kappa))
    second = np.where(up, np.minimum(kappa, (1 - c) * (grown * mu + kappa)),
                      (1 - c) * (mu + grown * kappa) / grown)  # fmt: skip
    return first / slack, second / slack


# --- wealth -------------------------------------------------------------------------------------


@kernel
def _play(
    factors: Array, wealth: Array, first: Array, second: Array, goal: float
) -> tuple[int, float]:
    """Pairs until the wealths together reach `goal` (all of them if they do not), and their
    peak."""
    peak = 0.0
    for i in range(first.size):
        symbol, total = 2 * first[i] + second[i], 0.0
        for b in range(wealth.size):
            wealth[b] *= factors[symbol, b]
            total += wealth[b]
        peak = max(peak, total)
        if total >= goal:
            return i + 1, peak
    return first.size, peak


@dataclass
class Wealth:
    """Wealth of a mixture of bets on one event; what it has become depends on the counts only.

    Parameters
    ----------
    factors : float array, shape (m, 4)
        Of `linear` or `joint` bets; each starts with the same share.

    Attributes
    ----------
    counts : int array, shape (4,)
        How often each symbol was seen.
    peak : float
        Logarithm of the largest wealth so far; ``exp(-peak)`` is a p-value that holds at any time.
    """

    factors: npt.NDArray[np.float64]
    counts: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(4, np.int64))
    peak: float = 0.0

    def __post_init__(self) -> None:
        self.factors = np.atleast_2d(checks.reals("factors", self.factors, 0))
        if self.factors.shape[1] != 4:
            raise ValueError(f"factors must have shape (m, 4), got {self.factors.shape}")

    @property
    def log(self) -> float:
        """Logarithm of the wealth, the e-value."""
        with np.errstate(divide="ignore"):
            each = scipy.special.xlogy(self.counts, self.factors).sum(axis=1)
        return float(scipy.special.logsumexp(each) - math.log(len(each)))

    def add(self, first: ArrayLike, second: ArrayLike, alpha: float) -> int:
        """Bet on more pairs, one after the other, until the wealth has reached ``1 / alpha``.

        Parameters
        ----------
        first, second : bool array, shape (n,)
            Whether the event happened with the first input, and with the second.
        alpha : float

        Returns
        -------
        int
            Pairs that were used: fewer than n if the claim was refuted before.
        """
        one, two = (np.asarray(x, np.int64) for x in (first, second))
        if one.shape != two.shape or one.ndim != 1:
            raise ValueError(
                f"first and second must have one shape (n,), got {one.shape} and {two.shape}"
            )
        goal = -math.log(stats.significance(alpha))
        start = scipy.special.xlogy(self.counts, self.factors).sum(axis=1) - math.log(
            len(self.factors)
        )
        scale = min(0.0, -float(start.max()))  # so that nothing overflows
        wealth = np.exp(start + scale)
        used, peak = _play(
            np.ascontiguousarray(self.factors.T), wealth, one, two, math.exp(min(goal + scale, 700))
        )
        self.counts += np.bincount(2 * one[:used] + two[:used], minlength=4)
        self.peak = max(self.peak, math.log(max(peak, 1e-300)) - scale)
        return used


def expected_pairs(
    p: float, q: float, epsilon: float, alpha: float, delta: float = 0.0, step: float = 1e-3
) -> Rates:
    """Bounds of the mean number of pairs after which the `joint` bet for these rates refutes a
    claim.

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
    if growth == 0:
        return math.inf, math.inf
    return _expected_pairs(
        _rates(p, q),
        tuple(np.log(joint(p, q, epsilon, delta))),
        goal,
        checks.real("step", step, 1e-6, 1),
    )


@functools.lru_cache(maxsize=256)
def _expected_pairs(rates: Rates, gains: tuple[float, ...], goal: float, step: float) -> Rates:
    law, found = _symbols(*rates), []
    for rounded in (np.ceil, np.floor):
        moves = rounded(np.array(gains) / step).astype(int)
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
        found.append(mean)
    return found[0], found[1]
