"""From the errors of a rule under two inputs to epsilon: the paper's estimate, a nearly unbiased
one, and bounds that hold.

Source: the LDP-SGD paper, Equation 3. Its estimate is a plug-in of two observed rates: biased
upwards, infinite if one error never occurs, no bound.
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
"""Most trials in all."""

Bound = Callable[..., Numbers]


def epsilon_from_errors(fpr: ArrayLike, fnr: ArrayLike) -> Numbers:
    """Epsilon at which the two error rates are as small as they can be (Equation 3); infinite if
    one of them is 0."""
    fpr, fnr = checks.reals("fpr", fpr, 0, 1), checks.reals("fnr", fnr, 0, 1)
    with np.errstate(
        divide="ignore", invalid="ignore"
    ):  # a rule that never changes its answer gives 0/0 on one side
        return np.fmax(np.log1p(-fpr) - np.log(fnr), np.log1p(-fnr) - np.log(fpr))[()]


def plugin_expectation(
    fpr: float, fnr: float, first: int, second: int
) -> tuple[float, float, float]:
    """Exact mean and standard deviation of Equation 3 at known rates, where it is finite.

    Parameters
    ----------
    fpr, fnr : float
    first, second : int
        Trials with the first and with the second gradient.

    Returns
    -------
    mean, sd, infinite : float
        Of the finite values, and the probability of an infinite one; the first two are NaN if there
        is none.
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
    # no BLAS: its order of summation, hence the last digit, depends on the number of its threads
    mean = float((value * kept).sum() / kept.sum())
    return (
        mean,
        math.sqrt(float(((value - mean) ** 2 * kept).sum() / kept.sum())),
        float(mass[~finite].sum()),
    )


def pooled(errors: Numbers, trials: int) -> Numbers:
    """Nearly unbiased estimate from all errors together, ``logit(1 - (X + 1/2) / (K + 1))``; always
    finite."""
    errors = stats.whole("errors", errors, checks.integer("trials", trials, 1))
    return np.log((trials - errors + 0.5) / (errors + 0.5))


def _errors(fp: Numbers, fn: Numbers, trials: int) -> tuple[Array, Array]:
    trials = checks.integer("trials", trials, 1)
    return stats.whole("fp", fp, trials), stats.whole("fn", fn, trials)


def lower_pooled(
    fp: Numbers, fn: Numbers, trials: int, alpha: float, delta: float = 0.0
) -> Numbers:
    """Lower bound of epsilon from all errors together, valid at level ``1 - alpha``.

    With epsilon-LDP no rule errs less often than ``1 / (1 + e^eps)``. A sum of two binomials is no
    more likely than one binomial of the same mean to fall as far below it as matters here
    (Hoeffding 1956).

    Parameters
    ----------
    fp, fn : int
        Errors, each in `trials` trials.
    alpha : float
        In [1e-100, 1/4].
    delta : float
        Of the guarantee, in [0, 1); the least error rate is then ``(1 - delta) / (1 + e^eps)``.
    """
    errors = _errors(fp, fn, trials)
    high = stats.clopper_pearson(sum(errors), 2 * trials, stats.significance(alpha, 0.25))[1]
    with np.errstate(divide="ignore"):
        return np.log(
            np.maximum((1 - checks.real("delta", delta, 0, 1, closed="[)")) / high - 1, 0)
        )


def lower_sides(fp: Numbers, fn: Numbers, trials: int, alpha: float, delta: float = 0.0) -> Numbers:
    """Lower bound of epsilon from Equation 3 with two Clopper-Pearson bounds, each at ``alpha /
    2``.

    Parameters
    ----------
    fp, fn, trials, alpha, delta
        As in `lower_pooled`.
    """
    fp, fn = _errors(fp, fn, trials)
    one, two = (
        stats.epsilon_lower(trials - a, b, trials, delta, tail=stats.significance(alpha) / 2)
        for a, b in ((fp, fn), (fn, fp))
    )
    return np.maximum(one, two)


BOUNDS = {"pooled": lower_pooled, "sides": lower_sides}
"""The valid bounds by name; a rule says which suits it."""


class ErrorsResult(AuditResult):
    """What an audit by error rates returns; the papers count its trials with both inputs."""

    @property
    def total(self) -> int:
        """Trials in all: what `row` calls ``trials``."""
        return 2 * self.trials

    def row(self) -> Row:
        """Flatten as `AuditResult.row` does."""
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
    **said: Word,
) -> ErrorsResult:
    """State what the errors of an audit show.

    Parameters
    ----------
    audit, seed
        What was run.
    fp, fn : int
        Its errors, each in `trials` of the audit.
    rates : (float, float)
        Their exact rates.
    bound : callable
        One of `BOUNDS`.
    claim, delta
        The claimed guarantee.
    estimates : dict, optional
        Further estimates; by default the probability that the paper's is infinite.
    **said
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
        **said,
    )
