"""Bounds of the reconstruction advantage (RAD) and of the success (ReRo), as printed and corrected.

If the printed form of a bound is false or void, ``printed=True`` returns it for comparison. The
default form always holds.

A trade-off function is a callable f. Two neighbouring inputs give two output distributions. Then
``f(alpha)`` is the smallest type-II error of any test that distinguishes them at type-I error
alpha.

Source: Guerra-Balboa et al., "Understanding Disclosure Risk in Differential
Privacy", PVLDB 19(7), 2026, sections 2, 4 and 5; item numbers are theirs.
"""

import math
from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
import scipy
from numpy.typing import ArrayLike

from .. import checks
from ..attacks import TwoValueTest
from ..attacks.reconstruct import checked_prior, checked_success
from ..mechanisms.base import FrequencyOracle, oracle
from ..types import Array, Numbers

# fmt: off
__all__ = [
    "tradeoff_dp", "tradeoff_gdp", "tradeoff_laplace", "tradeoff_support", "total_variation",
    "tv_dp", "tv_composed", "rero_eq3", "rad_thm42", "rad_thm51", "rad_prop52", "rad_thm53",
    "rad_cor54", "grr_ex44", "oue_ex45", "laplace_ex47", "gaussian_ex48"
]
# fmt: on

Tradeoff = Callable[[Numbers], Numbers]
Curve = Annotated[Tradeoff, checks.rule(checks.instance, Callable, "a trade-off function")]
Chance = Annotated[float, checks.rule(checks.real, 0, 1 + 1e-9)]  # sums may be rounded up
Gaps = Annotated[Any, checks.rule(checks.reals, 0)]


def _three_lines(epsilon: float, delta: float, tv: float) -> Tradeoff:
    """Return the largest of the three lines with slopes ``-e^eps``, -1 and ``-e^-eps``."""

    return lambda alpha: np.maximum.reduce(
        [
            0 * alpha,
            1 - delta - math.exp(epsilon) * alpha,
            1 - tv - alpha,
            math.exp(-epsilon) * (1 - delta - alpha),
        ]
    )


@checks.checked
def tradeoff_dp(epsilon: checks.NonNegative, delta: checks.Share = 0.0) -> Tradeoff:
    """Return the trade-off function of (epsilon, delta)-DP."""
    return _three_lines(epsilon, delta, 1.0)


def tradeoff_support(mechanism: FrequencyOracle) -> Tradeoff:
    """Return the trade-off function of GRR, OUE or SS.

    Its middle line belongs to the likelihood-ratio event.

    Raises
    ------
    ValueError
        If the exact rates of this event are unknown.
    """
    tpr, fpr = TwoValueTest().rates(oracle(mechanism)) or (math.nan, 0.0)
    checks.need(tpr >= 0, f"mechanism must have exact rates of its own, got {mechanism!r}")
    return _three_lines(mechanism.epsilon, 0.0, tpr - fpr)


@checks.checked
def tradeoff_gdp(mu: checks.NonNegative) -> Tradeoff:
    """Return the trade-off function of mu-GDP."""
    return lambda alpha: scipy.special.ndtr(scipy.special.ndtri(1 - np.asarray(alpha)) - mu)


@checks.checked
def tradeoff_laplace(epsilon: checks.NonNegative) -> Tradeoff:
    """Return the trade-off function of Laplace noise of scale ``1 / epsilon`` at sensitivity 1."""
    up, down = math.exp(epsilon), math.exp(-epsilon)

    def f(alpha: Numbers) -> Numbers:
        alpha = np.asarray(alpha, float)
        middle = down / (4 * np.maximum(alpha, down / 4))
        return np.where(
            alpha < down / 2, 1 - up * alpha, np.where(alpha <= 0.5, middle, down * (1 - alpha))
        )[()]

    return f


def _peak(f: Tradeoff, low: float, high: float) -> float:
    """Return the largest ``1 - f(alpha) - alpha`` on ``[low, high]``.

    The function is concave, because f is convex.
    """
    optimum = scipy.optimize.minimize_scalar(
        lambda a: f(a) + a, bounds=(low, high), method="bounded", options={"xatol": 1e-14}
    )
    return float(max(1 - f(a) - a for a in (low, high, optimum.x)))


@checks.checked
def total_variation(f: Curve) -> float:
    """Return the total variation of two output distributions with trade-off function `f`.

    This is the left equality of Eq. 2.
    """
    return _peak(f, 0.0, 1.0)


@checks.checked
def tv_dp(epsilon: checks.NonNegative, delta: checks.Share = 0.0) -> float:
    """Return the largest total variation under (epsilon, delta)-DP (Eq. 2, right)."""
    return _gamma(2, epsilon, delta)


def tv_composed(tv: float, rounds: int) -> float:
    """Bound the total variation of `rounds` independent outputs.

    The bound ``1 - (1 - tv)^rounds`` holds, but it is loose.
    """
    return -math.expm1(
        checks.integer("rounds", rounds, 1) * math.log1p(-checks.real("tv", tv, 0, 1, closed="[)"))
    )


@checks.checked
def rero_eq3(f: Curve, kappa_plus: Chance) -> float:
    """Bound the success (ReRo) of any attack without side knowledge (Eq. 3).

    Parameters
    ----------
    f : callable
        Trade-off function. For DP-SGD, that of adding the record suffices.
    kappa_plus : float
        Largest prior probability that a fixed guess succeeds.
    """
    return float(1 - f(kappa_plus))


@checks.checked
def rad_thm42(tv: Chance, kappa: Chance) -> float:
    """Bound the RAD of any attack with any side knowledge (Theorem 4.2)."""
    return tv * (1 - kappa)


@checks.checked
def rad_thm51(
    f: Curve, kappa: Chance, kappa_plus: Chance, kappa_minus: Chance
) -> tuple[float, float]:
    """Bound the RAD without side knowledge by the two forms of Theorem 5.1.

    Both maximise over an interval. The interval of the second form must be cut at 1.

    Returns
    -------
    first, second : float
    """
    wide = min(1.0, kappa_plus / (1 - kappa)) if kappa < 1 else 1.0
    return _peak(f, kappa_minus, kappa_plus), (1 - kappa) * _peak(f, 0.0, wide)


@checks.checked
def rad_prop52(
    epsilon: checks.NonNegative,
    delta: checks.Share,
    kappa: Chance,
    kappa_plus: Chance,
    kappa_minus: Chance,
    *,
    printed: bool = False,
) -> float:
    """Bound the RAD without side knowledge under (epsilon, delta)-DP (Proposition 5.2).

    As printed, the second term has `kappa_plus` where `kappa_minus` is needed, and is false.
    """
    grow = math.expm1(epsilon)
    second = ((1 - (kappa_plus if printed else kappa_minus)) * grow + delta) * math.exp(-epsilon)
    return min(kappa_plus * grow + delta, second, tv_dp(epsilon, delta) * (1 - kappa))


def _gamma(m: int, epsilon: float, delta: float) -> float:
    """Return the sum over all records of the total variation from the uniform mixture (Eq. 11)."""
    small = math.exp(-epsilon)
    return (m - 1) * (1 - small + m * delta * small) / (1 + (m - 1) * small)


@checks.checked
def rad_thm53(
    prior: ArrayLike,
    epsilon: checks.NonNegative,
    delta: checks.Share = 0.0,
    *,
    printed: bool = False,
) -> float:
    """Bound the RAD of perfect reconstruction from an (epsilon, delta)-DP mechanism (Theorem 5.3).

    The bound holds for any side knowledge. As printed, the remainder has ``2 delta`` where
    ``m delta`` is needed, which is false for m > 2.

    Parameters
    ----------
    prior : float array, shape (m,)
        Probabilities of the records.
    epsilon, delta : float
        The guarantee.
    printed : bool
        Return the printed bound.
    """
    prior = np.sort(checked_prior(prior))[::-1]
    m, tv = prior.size, tv_dp(epsilon, delta)
    total = _gamma(m, epsilon, 2 * delta / m if printed else delta)
    rest = total - tv * (np.arange(m + 1) - np.append(0, np.cumsum(prior)))
    full = int(np.flatnonzero(rest >= -1e-15)[-1])
    last = rest[full] * prior[full] if full < m else 0.0
    return float(tv * (prior * (1 - prior))[:full].sum() + max(last, 0.0))


@checks.checked
def rad_cor54(
    m: Annotated[int, checks.rule(checks.integer, 2)],
    epsilon: checks.NonNegative,
    delta: checks.Share = 0.0,
) -> float:
    """Return the largest RAD of any (epsilon, delta)-DP mechanism (Corollary 5.4).

    The m records are equally likely, and reconstruction is perfect. Some mechanism attains this
    value.
    """
    return _gamma(m, epsilon, delta) / m


def _fitting(prior: ArrayLike, mechanism: FrequencyOracle) -> tuple[Array, FrequencyOracle]:
    """Return prior and mechanism, after checking that the mechanism has one value per record."""
    prior = checked_prior(prior)
    checks.instance("mechanism", mechanism, FrequencyOracle, "a GRR or OUE")
    checks.need(
        mechanism.k == prior.size,
        f"prior must have the mechanism's k = {mechanism.k} records, got {prior.size}",
    )
    return prior, mechanism


def grr_ex44(
    mechanism: FrequencyOracle,
    prior: ArrayLike,
    success: ArrayLike | None = None,
    *,
    printed: bool = False,
) -> float:
    """Return the exact RAD of GRR without side knowledge (Example 4.4).

    Parameters
    ----------
    mechanism : FrequencyOracle
        A GRR with one value per record.
    prior : float array, shape (m,)
        Probabilities of the records.
    success : array, shape (m, m), optional
        Gain of each guess for each record, by default the identity (perfect reconstruction).
    printed : bool
        Return the printed value, whose bracket vanishes for every prior.
    """
    prior, _ = _fitting(prior, mechanism)
    success = checked_success(success, prior.size)
    # for each record, the most specific guess that names it
    blind = np.where(success > 0, prior @ success, np.inf).min(1)
    kept = (1 - prior.sum()) * blind.min() if printed else 1 - prior @ blind
    return float((mechanism.p - mechanism.q) * kept)


def oue_ex45(mechanism: FrequencyOracle, prior: ArrayLike, *, printed: bool = False) -> float:
    """Return the exact RAD of OUE without side knowledge (Example 4.5).

    Parameters
    ----------
    mechanism : FrequencyOracle
        An OUE with one value per record.
    prior : float array, shape (m,)
        Probabilities of the records.
    printed : bool
        Return the printed value, which lacks the ascending order of the prior that it needs.
    """
    prior, mechanism = _fitting(prior, mechanism)
    prior = prior if printed else np.sort(prior)
    q, m = mechanism.q, prior.size
    weight = (1 - q) ** np.arange(m - 1, -1, -1) * prior
    before = np.cumsum(prior) - prior
    return float((1 - 2 * q) / (2 * (1 - q)) * (weight @ (1 - prior) - q * weight @ before))


@checks.checked
def laplace_ex47(gaps: Gaps, scale: checks.Positive) -> float:
    """Return the exact RAD of Laplace noise (Example 4.7).

    The prior is uniform, and there is no side knowledge.

    Parameters
    ----------
    gaps : float array, shape (m - 1,)
        Distances between the sorted query values. In the printed value all gaps are equal and span
        the sensitivity. The paper does not state this assumption, which is the worst case.
    scale : float
        Scale of the noise, above 0.
    """
    return float(-np.expm1(-gaps / (2 * scale)).sum() / (gaps.size + 1))


@checks.checked
def gaussian_ex48(gaps: Gaps, sigma: checks.Positive) -> float:
    """Return the exact RAD of Gaussian noise (Example 4.8).

    The prior is uniform, and there is no side knowledge.

    Parameters
    ----------
    gaps : float array, shape (m - 1,)
        As in `laplace_ex47`.
    sigma : float
        Standard deviation of the noise, above 0.
    """
    return float(scipy.special.erf(gaps / (8**0.5 * sigma)).sum() / (gaps.size + 1))
