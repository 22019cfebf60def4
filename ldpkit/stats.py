"""Statistics of auditing: bounds of rates, and bounds of epsilon that follow from them.

An audit counts how often an event happens under two inputs. This file turns the two counts into a
number, in three different ways:

* the **statistic** that a paper reports (`epsilon_lower` with the paper's tail),
* a **bound** that holds with a stated confidence (`epsilon_lower` with ``tail = alpha / 2``),
* the **expected value** of the statistic at known rates (`expected_epsilon`), with which
  simulations are compared.

All logarithms are natural. Sources: LDP-Auditor, Algorithm 1; Clopper and
Pearson (1934).
"""

import math
from collections.abc import Callable
from decimal import ROUND_FLOOR, Decimal

import numpy as np
import scipy  # its submodules load on first use, which keeps the command line quick

from . import checks
from .types import Array, ArrayLike, Numbers, Rates

__all__ = [
    "TAILS",
    "confidence",
    "down",
    "significance",
    "tail_mass",
    "whole",
    "clopper_pearson",
    "epsilon_lower",
    "epsilon_ceiling",
    "binomial_window",
    "expected_epsilon",
]

TAILS = {"published": 4, "valid": 2}
"""Divisor of alpha that gives the mass of one tail, by convention.

``published`` is the convention of the LDP-Auditor code, which computes a two-sided interval at
``alpha / 2`` and uses one side of it. ``valid`` is the largest tail for which the union bound over
the two rates still gives level ``1 - alpha``.
"""


def significance(alpha: object, high: float = 1.0) -> float:
    """Return a significance in ``[1e-100, 1)``, or in ``[1e-100, high]`` for a smaller `high`;
    bounds at much smaller significances are NaN."""
    return checks.real("alpha", alpha, 1e-100, high, closed="[)" if high == 1 else "[]")


def confidence(alpha: float, share: bool = True) -> str:
    """Write ``1 - alpha`` as a percentage (`share`) or as a number, so that no alpha is rounded to
    0."""
    if alpha < 1e-4:
        return f"1 - {alpha:g}"
    return f"{100 * (1 - alpha):g} %" if share else f"{1 - alpha:g}"


def tail_mass(alpha: float, convention: str = "published") -> float:
    """One-sided tail mass used for each of the two Clopper-Pearson bounds.

    Parameters
    ----------
    alpha : float
        Significance, in [1e-100, 1), which is the largest probability that the statement fails.
    convention : {"published", "valid"}
        Tail mass ``alpha / 4`` as in the LDP-Auditor code, or ``alpha / 2``, which suffices.
    """
    return significance(alpha) / TAILS[checks.one_of("tail convention", convention, TAILS)]


def clopper_pearson(count: ArrayLike, trials: int, tail: float) -> tuple[Numbers, Numbers]:
    """Lower and upper one-sided Clopper-Pearson bounds of a rate.

    Parameters
    ----------
    count : int or array
        Number of successes, in [0, trials].
    trials : int
        Number of independent trials, at least 1.
    tail : float
        Error probability of **each** single bound, in [1e-120, 1); bounds at much smaller tails are
        NaN.

    Returns
    -------
    lower, upper : float or array
        ``lower`` exceeds the true rate with probability at most `tail`, and
        ``upper`` falls below it with probability at most `tail`.

    Raises
    ------
    ValueError
        If a count lies outside ``0..trials``, or `tail` outside its range.
    """
    lower, upper = (_bound("count", count, trials, tail, upper=side) for side in (False, True))
    return lower, upper


def _bound(name: str, count: ArrayLike, trials: int, tail: float, *, upper: bool) -> Numbers:
    """One side of `clopper_pearson`, for counts that error messages call `name`."""
    trials = checks.integer("trials", trials, 1)
    tail = checks.real("tail", tail, 1e-120, 1, closed="[)")
    counts = whole(name, count, trials)
    trivial = counts == (trials if upper else 0)
    first, second = (counts + 1, trials - counts) if upper else (counts, trials - counts + 1)
    point = _beta_quantile(
        np.where(trivial, 1.0, first), np.where(trivial, 1.0, second), tail, upper
    )
    return np.where(trivial, float(upper), point)[()]


_FEW, _MANY = 100, 10**7


def _beta_quantile(a: Array, b: Array, tail: float, upper: bool) -> Array:
    """Point that a Beta(a, b) variable falls below (with `upper`, exceeds) with probability `tail`.

    SciPy's inverse gives the first approximation if one parameter is below `_FEW`; for larger
    parameters it is slow or wrong. There a Cornish-Fisher expansion takes its place. Its time does
    not depend on the parameters, because the cumulants of the logarithmic odds are sums of
    polygamma values. Its relative error grows with the fourth power of the normal quantile of
    `tail`, and falls with the square of the smaller parameter. For tails down to 1e-12 and
    parameters from `_MANY` on, the error is below 1e-12. For smaller parameters an iteration
    improves the result.
    """
    odds, least = np.empty(a.shape), np.minimum(a, b)
    few, some = least < _FEW, least < _MANY * max(1.0, (scipy.special.ndtri(tail) / 7) ** 2)
    inverse = scipy.special.betainccinv if upper else scipy.special.betaincinv
    odds[few] = scipy.special.logit(inverse(a[few], b[few], tail))
    if not few.all():
        odds[~few] = _expanded_odds(a[~few], b[~few], tail, upper)
    if some.any():
        odds[some] = _improved_odds(odds[some], a[some], b[some], tail, upper)
    return scipy.special.expit(odds)


def _expanded_odds(a: Array, b: Array, tail: float, upper: bool) -> Array:
    """Quantile of ``ln(X / (1 - X))`` for ``X ~ Beta(a, b)``, from its first four cumulants."""
    mean = scipy.special.psi(a) - scipy.special.psi(b)
    zeta = scipy.special.zeta  # `polygamma` is the same but slower
    variance, third, fourth = (
        zeta(2, a) + zeta(2, b),
        2 * (zeta(3, b) - zeta(3, a)),
        6 * (zeta(4, a) + zeta(4, b)),
    )
    skew, excess = third / variance**1.5, fourth / variance**2
    z = scipy.special.ndtri(tail) * (-1 if upper else 1)
    bend = skew * (z * z - 1) / 6 + excess * (z**3 - 3 * z) / 24 - skew**2 * (2 * z**3 - 5 * z) / 36
    return mean + np.sqrt(variance) * (z + bend)


def _improved_odds(odds: Array, a: Array, b: Array, tail: float, upper: bool) -> Array:
    """Improve logarithmic odds by Halley's iteration for the root of ``ln(probability / tail)``;
    each step triples the number of correct digits."""
    special, sign = scipy.special, -1 if upper else 1
    for _ in range(8):
        x = special.expit(odds)
        with np.errstate(all="ignore"):  # odds with x = 0 or 1 are not changed
            mass = (special.betaincc if upper else special.betainc)(a, b, x)
            slope = (
                sign
                * np.exp(
                    a * special.log_expit(odds)
                    + b * special.log_expit(-odds)
                    - special.betaln(a, b)
                )
                / mass
            )
            newton = np.log(mass / tail) / slope
            step = newton / (1 - newton * (a * special.expit(-odds) - b * x - slope) / 2)
        step = np.where(np.isfinite(step), step, 0.0)
        odds = odds - step
        if np.all(np.abs(step) * np.sqrt(np.minimum(a, b)) < 1e-5):  # in standard deviations
            break
    return odds


def whole(name: str, count: Numbers, trials: int) -> Array:
    """Return counts as a float array, after checking that all are integers in ``0..trials``."""
    counts = checks.unmasked(name, count)
    if counts.dtype.kind not in "iuf" or not np.all(
        (counts >= 0) & (counts <= trials) & (counts == np.floor(counts))
    ):
        raise ValueError(f"{name} must be whole numbers in [0, {trials}], got {count}")
    return counts.astype(float)


def epsilon_lower(
    tp: ArrayLike, fp: ArrayLike, trials: int, delta: float = 0.0, *, tail: float
) -> Numbers:
    """Audit statistic ``ln((L - delta) / U)`` (LDP-Auditor, Algorithm 1, last line).

    ``L`` is the lower bound of the true-positive rate, and ``U`` the upper bound of the
    false-positive rate. By the union bound the value exceeds the true epsilon with probability at
    most ``2 * tail``.

    Parameters
    ----------
    tp, fp : int or array
        Number of trials with the first input, and with the second input, in which the attack named
        the first input.
    trials : int
        Number of trials per input, at least 1.
    delta : float
        Delta of the audited guarantee, in [0, 1).
    tail : float
        Mass of each tail, see `tail_mass`.

    Returns
    -------
    float or array
        ``-inf`` if ``L <= delta``, because such counts imply no bound.
    """
    delta = checks.real("delta", delta, 0, 1, closed="[)")
    trials = checks.integer("trials", trials, 1)
    low = _bound("tp", tp, trials, tail, upper=False)
    high = _bound("fp", fp, trials, tail, upper=True)
    return _log_excess(low, delta) - np.log(high)


def _log_excess(low: ArrayLike, delta: float) -> Numbers:
    """``ln(low - delta)``, or ``-inf`` if ``low <= delta``."""
    low = np.asarray(low, float)
    excess = np.maximum(low - delta, 0.0)
    return np.log(excess, out=np.full(low.shape, -np.inf), where=low > delta)[()]


def epsilon_ceiling(trials: int, *, tail: float) -> float:
    """Largest possible value of `epsilon_lower`, for all true positives and no false positives
    (eps_OPT)."""
    return float(epsilon_lower(checks.integer("trials", trials, 1), 0, trials, tail=tail))


def binomial_window(n: int, rate: float, width: float = 10.0) -> tuple[Array, Array]:
    """Counts and probabilities of ``Binomial(n, rate)`` in a window around the mean.

    Returns
    -------
    counts : int array
        Consecutive counts, `width` standard deviations (and a few counts more) on each side of the
        mean.
    mass : float array
        Their probabilities, normalised to the sum 1; at the default width counts of total
        probability below 1e-20 are left out.
    """
    n, rate = checks.integer("n", n, 0), checks.real("rate", rate, 0, 1)
    checks.real("width", width, 0, closed="()")
    spread = width * math.sqrt(n * rate * (1 - rate)) + 2 * width
    counts = np.arange(
        max(0, math.floor(n * rate - spread)), min(n, math.ceil(n * rate + spread)) + 1
    )
    mass = np.exp(
        scipy.special.xlogy(counts, rate)
        + scipy.special.xlog1py(n - counts, -rate)
        - scipy.special.betaln(n - counts + 1, counts + 1)
    )
    return counts, mass / mass.sum()


_KNOTS = 257


def _cubic(x: Array, y: Array, at: Array) -> Array:
    """Interpolate y by cubics through the four nearest knots; importing a spline would take a third
    of a second."""
    first, total = np.clip(np.searchsorted(x, at) - 2, 0, x.size - 4), np.zeros(at.size)
    for i in range(4):
        term = y[first + i]
        for j in {0, 1, 2, 3} - {i}:
            term = term * (at - x[first + j]) / (x[first + i] - x[first + j])
        total += term
    return total


def _log_moments(rate: float, trials: int, log_bound: Callable[[Array], Array]) -> Rates:
    """Mean and variance of ``log_bound(count)`` for ``count ~ Binomial(trials, rate)``.

    Counts whose logarithm is ``-inf`` are left out if their total probability is below 1e-12;
    otherwise the mean is ``-inf`` and the variance NaN. Windows of more than ``4 * _KNOTS`` counts
    are evaluated at `_KNOTS` Chebyshev points and interpolated (relative error below 1e-9).
    """
    counts, mass = binomial_window(trials, rate)
    if counts.size <= 4 * _KNOTS or not np.isfinite(log_bound(counts[:1])[0]):
        logs = log_bound(counts)
    else:
        x = (np.cos(np.pi * (2 * np.arange(_KNOTS) + 1) / (2 * _KNOTS)) + 1) / 2
        knots = np.unique(np.rint(counts[0] + x * (counts[-1] - counts[0])).astype(np.int64))
        # the logarithms are almost linear in ln(count), so cubics are exact up to rounding
        logs = _cubic(np.log(knots + 1.0), log_bound(knots), np.log(counts + 1.0))
    kept = np.isfinite(logs)
    if mass[~kept].sum() > 1e-12:
        return -math.inf, math.nan
    mass, logs = mass[kept] / mass[kept].sum(), logs[kept]
    # without BLAS, whose order of summation depends on the number of threads
    mean = float((mass * logs).sum())
    return mean, float((mass * (logs - mean) ** 2).sum())


def expected_epsilon(
    tpr: float, fpr: float, trials: int, delta: float = 0.0, *, tail: float
) -> Rates:
    """Exact mean and standard deviation of the audit statistic at known rates.

    The counts are ``Binomial(trials, tpr)`` and ``Binomial(trials, fpr)``. The standard deviation
    assumes that they are independent; the mean does not depend on this assumption.

    Parameters
    ----------
    tpr, fpr : float
        Probabilities that the attack names the first input, under the first input and under the
        second.
    trials, delta, tail
        As in `epsilon_lower`.

    Returns
    -------
    mean, sd : float
        ``(-inf, nan)`` if the counts imply no bound (``L <= delta``) with a probability above
        1e-12.
    """
    tpr, fpr = checks.real("tpr", tpr, 0, 1), checks.real("fpr", fpr, 0, 1)
    delta = checks.real("delta", delta, 0, 1, closed="[)")
    trials = checks.integer("trials", trials, 1)
    up, var_up = _log_moments(
        tpr, trials, lambda t: _log_excess(_bound("count", t, trials, tail, upper=False), delta)
    )
    down, var_down = _log_moments(
        fpr, trials, lambda f: np.log(_bound("count", f, trials, tail, upper=True))
    )
    return up - down, math.sqrt(var_up + var_down)


def down(x: float, places: int = 4) -> str:
    """Write a lower bound with `places` decimals, rounded down so that it remains a bound."""
    step = Decimal(1).scaleb(-places)
    if not math.isfinite(x) or abs(x) >= 1e15:  # too large for decimals
        return f"{x:g}"
    return f"{Decimal(x).quantize(step, ROUND_FLOOR):f}"
