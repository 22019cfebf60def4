"""Statistics of auditing: bounds of rates, and bounds of epsilon that follow from them.

An audit counts how often an event happens under two inputs. This file turns the two counts into a
number, in four different ways:

* the **statistic** that a paper reports (`epsilon_lower` with the paper's tail),
* a **bound** that holds with a stated confidence (`epsilon_lower` with ``tail = alpha / 2``),
* a sharper bound from both counts together (`epsilon_buehler`),
* the **expected value** of the statistic at known rates (`expected_epsilon`), with which
  simulations are compared.

All logarithms are natural. Sources: LDP-Auditor, Algorithm 1; Clopper and
Pearson (1934).
"""

import math
from collections.abc import Callable
from decimal import ROUND_FLOOR, Decimal
from typing import Annotated

import numpy as np
import scipy  # its submodules load on first use, which keeps the command line quick

from . import checks
from .types import Array, ArrayLike, Numbers, Rates

# fmt: off
__all__ = [
    "TAILS", "confidence", "down", "significance", "tail_mass", "whole", "clopper_pearson",
    "epsilon_lower", "epsilon_ceiling", "binomial_window", "expected_epsilon", "epsilon_buehler",
]
# fmt: on

Delta = Annotated[
    float, checks.rule(checks.real, 0, 1, closed="[)"), "Delta of the claim, in [0, 1)."
]
Tail = Annotated[float, checks.rule(checks.real, 1e-120, 1, closed="[)")]

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
    return (
        _bound("count", count, trials, tail, upper=False),
        _bound("count", count, trials, tail, upper=True),
    )


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
    special, sign = scipy.special, -1 if upper else 1
    normal, least = special.ndtri(tail), np.minimum(a, b)
    few, some = least < _FEW, least < _MANY * max(1.0, (normal / 7) ** 2)
    odds = np.empty(a.shape)
    inverse = special.betainccinv if upper else special.betaincinv
    odds[few] = special.logit(inverse(a[few], b[few], tail))
    if not few.all():
        odds[~few] = _expanded_odds(a[~few], b[~few], normal * sign)
    a, b, found = a[some], b[some], odds[some]
    done = np.zeros(a.shape, bool)
    # Halley's iteration for the root of ln(probability / tail) triples the correct digits
    for _ in range(8):
        if done.all():
            break
        x = special.expit(found)
        with np.errstate(all="ignore"):  # odds with x = 0 or 1 are not changed
            mass = (special.betaincc if upper else special.betainc)(a, b, x)
            density = np.exp(
                a * special.log_expit(found) + b * special.log_expit(-found) - special.betaln(a, b)
            )
            slope = sign * density / mass
            newton = np.log(mass / tail) / slope
            step = newton / (1 - newton * (a * special.expit(-found) - b * x - slope) / 2)
        step = np.where(np.isfinite(step) & ~done, step, 0.0)
        found = found - step
        # in standard deviations; a point does not depend on others that are computed with it
        done |= np.abs(step) * np.sqrt(np.minimum(a, b)) < 1e-5
    odds[some] = found
    return special.expit(odds)


def _expanded_odds(a: Array, b: Array, z: float) -> Array:
    """Quantile of ``ln(X / (1 - X))`` for ``X ~ Beta(a, b)``, from its first four cumulants and
    the normal quantile z."""
    mean = scipy.special.psi(a) - scipy.special.psi(b)
    zeta = scipy.special.zeta  # `polygamma` is the same but slower
    variance, third = zeta(2, a) + zeta(2, b), 2 * (zeta(3, b) - zeta(3, a))
    skew, excess = third / variance**1.5, 6 * (zeta(4, a) + zeta(4, b)) / variance**2
    bend = skew * (z * z - 1) / 6 + excess * (z**3 - 3 * z) / 24 - skew**2 * (2 * z**3 - 5 * z) / 36
    return mean + np.sqrt(variance) * (z + bend)


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
    low = _bound("tp", tp, trials, tail, upper=False)
    high = _bound("fp", fp, trials, tail, upper=True)
    with np.errstate(divide="ignore"):
        return np.log(np.maximum(low - delta, 0.0)) - np.log(high)


@checks.checked
def epsilon_ceiling(trials: checks.Count, *, tail: Tail) -> float:
    """Largest possible value of `epsilon_lower`, for all true positives and no false positives
    (eps_OPT).

    Then the bounds are ``L = tail ** (1 / trials)`` and ``U = 1 - L``; trials and tail are those
    of `epsilon_lower`.
    """
    return -math.log(math.expm1(-math.log(tail) / trials))


@checks.checked
def binomial_window(
    n: Annotated[int, checks.rule(checks.integer, 0)],
    rate: checks.Share,
    width: checks.Positive = 10.0,
) -> tuple[Array, Array]:
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
    spread = width * math.sqrt(n * rate * (1 - rate)) + 2 * width
    counts = np.arange(
        max(0, math.floor(n * rate - spread)),
        min(n, math.ceil(n * rate + spread)) + 1,
        dtype=np.int64,
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


@checks.checked
def expected_epsilon(
    tpr: checks.Share, fpr: checks.Share, trials: checks.Count, delta: Delta = 0.0, *, tail: float
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

    def shown(count: Array) -> Array:
        with np.errstate(divide="ignore"):
            low = _bound("count", count, trials, tail, upper=False)
            return np.asarray(np.log(np.maximum(low - delta, 0.0)))

    up, var_up = _log_moments(tpr, trials, shown)
    down, var_down = _log_moments(
        fpr, trials, lambda f: np.log(_bound("count", f, trials, tail, upper=True))
    )
    return up - down, math.sqrt(var_up + var_down)


def down(x: float, places: int = 4, claim: float = math.inf) -> str:
    """Write a lower bound with `places` decimals, rounded down so that it remains a bound.

    If the bound reaches a `claim`, it is written with as many more decimals as are needed to show
    this. A bound that is the claim itself is written like the claim.
    """
    if not math.isfinite(x) or abs(x) >= 1e15 or x == claim:  # too large for decimals
        return f"{x:g}"
    if x > claim:
        shown = (down(x, more) for more in range(places, 18))
        return next((text for text in shown if float(text) > float(f"{claim:g}")), repr(x))
    return f"{Decimal(x).quantize(Decimal(1).scaleb(-places), ROUND_FLOOR):f}"


# --- the bound from both counts together ----------------------------------------------------------
#
# All pairs of counts are ordered by the strength of their evidence against small values of epsilon.
# The bound is the smallest epsilon with the following property: under some rates with this epsilon,
# counts at least as extreme as the observed counts have a probability above alpha. The bound is
# valid for every order, but the order decides how sharp the bound is.
#
# The supremum over rates needs no search on a grid. Larger counts of the first input and smaller
# counts of the second are more extreme. Suppose that the second rate lies in an interval. Then the
# probability of extreme counts is at most that for two rates: the smaller end of the interval, and
# the largest first rate that the claim allows at the larger end.

MOST_TRIALS, LEAST_ALPHA = 10**10, 1e-12
"""Largest number of reports and smallest alpha that `epsilon_buehler` accepts."""

_SPENT = 1e-3  # share of alpha for the confidence interval of the second rate
_INTERVALS, _BLOCKS = 48, 400  # of the second rate, and of second counts
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


@checks.checked
def epsilon_buehler(
    tp: int,
    fp: int,
    trials: Annotated[int, checks.rule(checks.integer, 1, MOST_TRIALS)],
    alpha: Annotated[float, checks.rule(checks.real, LEAST_ALPHA, 1, closed="[)")],
    delta: Delta = 0.0,
) -> float:
    """Bound that exceeds the true epsilon with probability at most alpha, and is sharper than the
    bound from two separate bounds of rates.

    The event and the number of reports must be chosen beforehand, and the counts are evaluated
    once. Sources: Buehler, "Confidence intervals for the product of two binomial parameters", 1957;
    Berger and Boos, "P values maximized over a confidence set for the nuisance parameter", 1994.

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
        Bound, at least 0. It needs about a third fewer reports than `epsilon_lower` to
        exceed the same value.
    """
    n, a, b = trials, checks.integer("tp", tp, 0, trials), checks.integer("fp", fp, 0, trials)
    z = -float(scipy.special.ndtri(min(alpha, 0.49)))
    most = min(n - b, math.ceil(z * z) + 10)  # larger ones are less extreme
    near = b + np.arange(most + 1, dtype=np.int64)
    observed = float(_order(np.float64(a), near, n, delta, z).max())
    if observed == -math.inf:
        return 0.0
    spent = alpha * _SPENT
    low, high = (float(x) for x in (clopper_pearson(b, n, spent / 2)))
    edges, ends = _edges(n, low, high), np.linspace(low, high, _INTERVALS + 1)
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

    few = ends if len(edges) <= _BLOCKS // 2 else ends[:: _INTERVALS // 4]

    def quickly_possible(epsilon: float) -> bool:
        """Faster version of `possible` for a few rates only."""
        return bool(tail(np.minimum(math.exp(epsilon) * few + delta, 1), few).max() > alpha)

    under, over = 0.0, 0.5
    while over < 700 and not quickly_possible(over):
        under, over = over, min(2 * over, 700.0)  # the exponential of more overflows
    while over - under > 1e-4 * max(over, 1e-3):
        middle = (under + over) / 2
        under, over = (under, middle) if quickly_possible(middle) else (middle, over)
    spread = math.sqrt(1 / (a + 0.5) + 1 / (b + 0.5))
    steps = (0.01, 0.03, 0.06, 0.12, 0.25, 0.5, 1.0, 2.0, 4.0)
    lower = (under - step * spread for step in steps if under > step * spread)
    return next((epsilon for epsilon in lower if not possible(epsilon)), 0.0)


def _edges(n: int, low: float, high: float) -> Array:
    """First counts of blocks of second counts, which cover all counts that are likely for a second
    rate in [low, high]."""
    first = n * low - _WIDE * math.sqrt(n * low * (1 - low)) - 60
    last = n * high + _WIDE * math.sqrt(n * high * (1 - high)) + 60
    begin, end = math.floor(max(first, 0)), math.ceil(min(last, n))
    if end - begin <= 2 * _BLOCKS:
        return np.arange(begin, end + 1, dtype=float)
    return np.unique(np.linspace(begin, end, _BLOCKS + 1).astype(np.int64)).astype(float)
