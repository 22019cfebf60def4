"""Statistics of auditing: bounds on rates, and what they say about epsilon.

An audit counts how often an event happens under two inputs. This file turns the
two counts into a number, in three ways that must not be confused:

* the **statistic** a paper reports (`epsilon_lower` with the paper's tail),
* a **bound** that holds with a stated confidence (`epsilon_lower` with ``tail =
  alpha / 2``),
* the **expectation** of the statistic when the true rates are known
  (`expected_epsilon`), against which simulations are tested.

All logarithms are natural. Sources: LDP-Auditor, Algorithm 1; Clopper and
Pearson (1934).
"""

import math

import numpy as np
import scipy  # its submodules load on first use, which keeps the command line quick

from . import checks

__all__ = ["TAILS", "tail_mass", "clopper_pearson", "epsilon_lower", "epsilon_ceiling", "binomial_window", "expected_epsilon"]

TAILS = {"published": 4, "valid": 2}
"""Divisor of alpha that gives the mass of one tail.

``published`` is what the LDP-Auditor code does (it hands ``alpha / 2`` to a
two-sided interval and keeps one side of it); ``valid`` is the largest tail for
which the union bound over the two rates still gives level ``1 - alpha``.
"""


def tail_mass(alpha, convention="published"):
    """One-sided tail mass used for each of the two Clopper-Pearson bounds.

    Parameters
    ----------
    alpha : float
        Significance in (0, 1); the statement may fail with at most this probability.
    convention : {"published", "valid"}
        ``alpha / 4`` as in the LDP-Auditor code, or ``alpha / 2``, which suffices.
    """
    alpha = checks.real("alpha", alpha, 0, 1, closed="()")
    return alpha / TAILS[checks.one_of("tail convention", convention, TAILS)]


def clopper_pearson(count, trials, tail):
    """One-sided Clopper-Pearson bounds of a rate, both sides.

    Parameters
    ----------
    count : int or array
        Successes, between 0 and `trials`.
    trials : int
        Number of independent trials, at least 1.
    tail : float
        Error probability of **each** bound taken alone, in (0, 1).

    Returns
    -------
    lower, upper : float or array
        ``lower`` exceeds the true rate with probability at most `tail`, and
        ``upper`` falls below it with probability at most `tail`.

    Raises
    ------
    ValueError
        If a count lies outside ``0..trials``, or `tail` outside (0, 1).
    """
    trials = checks.integer("trials", trials, 1)
    tail = checks.real("tail", tail, 0, 1, closed="()")
    count = np.asarray(count)
    if np.any(count < 0) or np.any(count > trials) or np.any(count != np.floor(count)):
        raise ValueError(f"count must be whole numbers in [0, {trials}], got {count}")
    count = count.astype(float)
    none, every = count == 0, count == trials
    lower = np.where(none, 0.0, scipy.special.betaincinv(np.where(none, 1.0, count), trials - count + 1, tail))
    upper = np.where(every, 1.0, scipy.special.betainccinv(count + 1, np.where(every, 1.0, trials - count), tail))
    return lower[()], upper[()]


def epsilon_lower(tp, fp, trials, delta=0.0, *, tail):
    """Audit statistic ``ln((L - delta) / U)`` (LDP-Auditor, Algorithm 1, last line).

    ``L`` is the lower bound of the true-positive rate and ``U`` the upper bound
    of the false-positive rate. By the union bound the value exceeds the true
    epsilon with probability at most ``2 * tail``.

    Parameters
    ----------
    tp, fp : int or array
        Number of trials, out of `trials` with each input, in which the attack
        named the first input.
    trials : int
        Trials per input.
    delta : float
        The delta of the audited guarantee, in [0, 1).
    tail : float
        Mass of each tail, see `tail_mass`.

    Returns
    -------
    float or array
        ``-inf`` where ``L <= delta``: the counts say nothing.
    """
    delta = checks.real("delta", delta, 0, 1, closed="[)")
    low, _ = clopper_pearson(tp, trials, tail)
    _, high = clopper_pearson(fp, trials, tail)
    return _log_excess(low, delta) - np.log(high)


def _log_excess(low, delta):
    """``ln(low - delta)``, ``-inf`` where it is not positive."""
    low = np.asarray(low, float)
    return np.log(np.maximum(low - delta, 0.0), out=np.full(low.shape, -np.inf), where=low > delta)[()]


def epsilon_ceiling(trials, *, tail):
    """Largest value `epsilon_lower` can take: all true positives, no false ones (eps_OPT)."""
    return float(epsilon_lower(checks.integer("trials", trials, 1), 0, trials, tail=tail))


def binomial_window(n, rate, width=10.0):
    """Counts and probabilities of ``Binomial(n, rate)`` where it has any mass to speak of.

    Returns
    -------
    counts : int array
        A run of consecutive counts, `width` standard deviations (and a few
        counts more) on each side of the mean.
    mass : float array
        Their probabilities, normalised; less than 1e-20 is left out.
    """
    spread = width * math.sqrt(n * rate * (1 - rate)) + 2 * width
    counts = np.arange(max(0, math.floor(n * rate - spread)), min(n, math.ceil(n * rate + spread)) + 1)
    mass = np.exp(
        scipy.special.xlogy(counts, rate)
        + scipy.special.xlog1py(n - counts, -rate)
        - scipy.special.betaln(n - counts + 1, counts + 1)
    )
    return counts, mass / mass.sum()


_KNOTS = 257


def _log_moments(rate, trials, log_bound):
    """Mean and variance of ``log_bound(count)`` for ``count ~ Binomial(trials, rate)``.

    Counts at which the logarithm is ``-inf`` are left out if together they have
    probability below 1e-12; otherwise the mean is ``-inf`` and the variance NaN.
    Windows of more than a few hundred counts are evaluated at `_KNOTS`
    Chebyshev points and interpolated there (relative error below 1e-9).
    """
    counts, mass = binomial_window(trials, rate)
    if counts.size <= 4 * _KNOTS or not np.isfinite(log_bound(counts[:1])[0]):
        logs = log_bound(counts)
    else:
        x = (np.cos(np.pi * (2 * np.arange(_KNOTS) + 1) / (2 * _KNOTS)) + 1) / 2
        knots = np.unique(np.rint(counts[0] + x * (counts[-1] - counts[0])).astype(np.int64))
        # The logs run almost linearly in ln(count): a cubic spline there is exact to rounding.
        logs = scipy.interpolate.CubicSpline(np.log(knots + 1.0), log_bound(knots))(np.log(counts + 1.0))
    kept = np.isfinite(logs)
    if mass[~kept].sum() > 1e-12:
        return -math.inf, math.nan
    mass, logs = mass[kept] / mass[kept].sum(), logs[kept]
    mean = float((mass * logs).sum())  # no BLAS: its order of summation depends on the number of its threads
    return mean, float((mass * (logs - mean) ** 2).sum())


def expected_epsilon(tpr, fpr, trials, delta=0.0, *, tail):
    """Exact mean and standard deviation of the audit statistic at known rates.

    The counts are ``Binomial(trials, tpr)`` and ``Binomial(trials, fpr)``; the
    mean does not depend on whether they are independent, the standard deviation
    assumes that they are.

    Parameters
    ----------
    tpr, fpr : float
        Probabilities that the attack names the first input, under each input.
    trials, delta, tail
        As in `epsilon_lower`.

    Returns
    -------
    mean, sd : float
        ``(-inf, nan)`` if the counts say nothing (``L <= delta``) with a
        probability above 1e-12.
    """
    tpr, fpr = (checks.real(n, r, 0, 1) for n, r in (("tpr", tpr), ("fpr", fpr)))
    delta = checks.real("delta", delta, 0, 1, closed="[)")
    up, var_up = _log_moments(tpr, trials, lambda t: _log_excess(clopper_pearson(t, trials, tail)[0], delta))
    down, var_down = _log_moments(fpr, trials, lambda f: np.log(clopper_pearson(f, trials, tail)[1]))
    return up - down, math.sqrt(var_up + var_down)
