"""Estimates and bounds of epsilon from the errors of a rule under two inputs.

Source: the LDP-SGD paper, Equation 3. Its estimate inserts two observed error rates into a formula.
Therefore it is biased upwards, it is infinite if one error never occurs, and it is no bound. This
module also has a nearly unbiased estimate, and bounds with a stated level.
"""

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import checks, stats
from ..types import Array, Numbers, Rates, Row, Word
from .result import AuditResult, too_few

__all__ = ["epsilon_from_errors", "plugin_expectation", "pooled", "lower_pooled", "lower_sides"]

MAX_TRIALS = 10**9
"""Largest number of trials with both inputs together."""

Bound = Callable[..., Numbers]


def epsilon_from_errors(fpr: ArrayLike, fnr: ArrayLike) -> Numbers:
    """Return the smallest epsilon that allows two error rates (Equation 3).

    Parameters
    ----------
    fpr, fnr : float or array
        False-positive and false-negative rate, in [0, 1].

    Returns
    -------
    float or array
        Infinite if one of the rates is 0.
    """
    fpr, fnr = checks.reals("fpr", fpr, 0, 1), checks.reals("fnr", fnr, 0, 1)
    # a rule that always gives the same answer leads to 0/0 in one of the quotients
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.fmax(np.log1p(-fpr) - np.log(fnr), np.log1p(-fnr) - np.log(fpr))[()]


def plugin_expectation(
    fpr: float, fnr: float, first: int, second: int
) -> tuple[float, float, float]:
    """Return the exact mean and standard deviation of Equation 3 at known rates.

    Parameters
    ----------
    fpr, fnr : float
        Error rates, in [0, 1].
    first, second : int
        Trials with the first and with the second gradient, at least 1.

    Returns
    -------
    mean, sd, infinite : float
        Mean and standard deviation given that the estimate is finite, and the probability that it
        is infinite. The first two are NaN if the estimate is never finite.
    """
    fpr, fnr = checks.real("fpr", fpr, 0, 1), checks.real("fnr", fnr, 0, 1)
    return _plugin_expectation(
        fpr, fnr, checks.integer("first", first, 1), checks.integer("second", second, 1)
    )


@functools.lru_cache(maxsize=1024)
def _plugin_expectation(
    fpr: float, fnr: float, first: int, second: int
) -> tuple[float, float, float]:
    (fp, at_fp), (fn, at_fn) = stats.binomial_window(first, fpr), stats.binomial_window(second, fnr)
    value, mass = epsilon_from_errors(fp[:, None] / first, fn / second), np.outer(at_fp, at_fn)
    finite = np.isfinite(value)
    value, kept = value[finite], mass[finite]
    if not kept.sum() > 0:
        return math.nan, math.nan, 1.0
    # without BLAS, whose order of summation depends on the number of threads
    mean = float((value * kept).sum() / kept.sum())
    return (
        mean,
        math.sqrt(float(((value - mean) ** 2 * kept).sum() / kept.sum())),
        float(mass[~finite].sum()),
    )


def pooled(errors: Numbers, trials: int) -> Numbers:
    """Estimate epsilon from all errors together, nearly without bias.

    The estimate ``logit(1 - (X + 1/2) / (K + 1))`` of X errors in K trials is always finite.

    Parameters
    ----------
    errors : int or array
        Errors with both inputs together.
    trials : int
        Trials with both inputs together, at least 1.
    """
    errors = stats.whole("errors", errors, checks.integer("trials", trials, 1))
    return np.log((trials - errors + 0.5) / (errors + 0.5))


def _errors(fp: Numbers, fn: Numbers, trials: int) -> tuple[Array, Array]:
    trials = checks.integer("trials", trials, 1)
    return stats.whole("fp", fp, trials), stats.whole("fn", fn, trials)


def lower_pooled(
    fp: Numbers, fn: Numbers, trials: int, alpha: float, delta: float = 0.0
) -> Numbers:
    """Return a lower bound of epsilon from all errors together, valid at level ``1 - alpha``.

    Under epsilon-LDP every rule has an error rate of at least ``1 / (1 + e^eps)``. The number of
    errors is a sum of two binomial variables. In the tail that matters here, such a sum is at most
    as likely as one binomial variable with the same mean (Hoeffding 1956).

    Parameters
    ----------
    fp, fn : int or array
        Errors with the first and with the second input, each in `trials` trials.
    trials : int
        Trials per input, at least 1.
    alpha : float
        Significance, in [1e-100, 1/4].
    delta : float
        Delta of the guarantee, in [0, 1). The least error rate is ``(1 - delta) / (1 + e^eps)``.

    Returns
    -------
    float or array
        ``-inf`` if the counts imply no bound.
    """
    errors = _errors(fp, fn, trials)
    high = stats.clopper_pearson(sum(errors), 2 * trials, stats.significance(alpha, 0.25))[1]
    with np.errstate(divide="ignore"):
        return np.log(
            np.maximum((1 - checks.real("delta", delta, 0, 1, closed="[)")) / high - 1, 0)
        )


def lower_sides(fp: Numbers, fn: Numbers, trials: int, alpha: float, delta: float = 0.0) -> Numbers:
    """Return a lower bound of epsilon from both error rates, valid at level ``1 - alpha``.

    The bound is Equation 3 at two Clopper-Pearson bounds, for each of which it spends
    ``alpha / 2``.

    Parameters
    ----------
    fp, fn, trials, alpha, delta
        As in `lower_pooled`, but `alpha` is in [1e-100, 1).

    Returns
    -------
    float or array
        ``-inf`` if the counts imply no bound.
    """
    fp, fn = _errors(fp, fn, trials)
    first, second = (
        stats.epsilon_lower(trials - a, b, trials, delta, tail=stats.significance(alpha) / 2)
        for a, b in ((fp, fn), (fn, fp))
    )
    return np.maximum(first, second)


BOUNDS = {"pooled": lower_pooled, "sides": lower_sides}
"""The valid bounds by the names that `ldpkit.attacks.gradient.RULES` refer to."""


class ErrorsResult(AuditResult):
    """Result of an audit by error rates.

    The papers count the trials with both inputs together, and so does the ``trials`` of `row`.
    """

    @property
    def total(self) -> int:
        """Number of trials with both inputs together."""
        return 2 * self.trials

    def row(self) -> Row:
        """Flatten as `AuditResult.row` does; ``per_input`` is the number of trials per input."""
        return super().row() | {"trials": self.total, "per_input": self.trials}


def judged(
    audit: Any,
    seed: int,
    fp: int,
    fn: int,
    rates: Rates,
    bound: Bound,
    *,
    claim: float,
    delta: float = 0.0,
    estimates: dict[str, float] | None = None,
    **fields: Word,
) -> ErrorsResult:
    """Return the result of an audit with these errors.

    Parameters
    ----------
    audit, seed
        The audit, and the seed of its run.
    fp, fn : int
        Errors with the first and with the second input, each in `trials` of the audit.
    rates : (float, float)
        Exact false-positive and false-negative rate.
    bound : callable
        One of `BOUNDS`.
    claim, delta : float
        The claimed guarantee.
    estimates : dict, optional
        Further estimates. By default the probability that the paper's estimate is infinite.
    **fields
        Other fields of the result.
    """
    trials, total = audit.trials, 2 * audit.trials
    exact, exact_sd, infinite = plugin_expectation(*rates, trials, trials)
    return ErrorsResult(
        attack=audit.attack,
        trials=trials,
        alpha=audit.alpha,
        seed=seed,
        faithful=audit.faithful,
        counts={"fp": fp, "fn": fn},
        rates={"fpr": fp / trials, "fnr": fn / trials},
        epsilon_emp=float(epsilon_from_errors(fp / trials, fn / trials)),
        lower=max(0.0, float(bound(fp, fn, trials, audit.alpha, delta))),
        exact=exact,
        exact_sd=exact_sd,
        claim=claim,
        delta=delta,
        limit=float(epsilon_from_errors(*rates)),
        estimates={"pooled": float(pooled(fp + fn, total))} | (estimates or {"infinite": infinite}),
        inconclusive=too_few(
            lambda n: float(bound(0, 0, n // 2, audit.alpha, delta)), total, claim, "trials"
        ),
        **fields,
    )
