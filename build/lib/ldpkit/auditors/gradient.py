"""Audits of randomised gradients, and what follows from the errors of a rule under two inputs.

Source: the LDP-SGD paper, Algorithm 2 and Equation 3. The paper's estimate inserts two observed
error rates into a formula. Therefore it is biased upwards, it is infinite if one error never
occurs, and it is no bound. This module also has a nearly unbiased estimate, and bounds with a
stated level.
"""

import functools
import math
import time
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, ClassVar, Self

import numpy as np

from .. import checks, stats
from ..attacks.gradient import RULES, Pairs, named
from ..mechanisms import GRADIENT
from ..mechanisms.base import Epsilon
from ..mechanisms.gradient import GradientMechanism
from ..progress import Progress
from ..rng import generator
from ..types import Numbers, Rates, Word
from .base import ALPHA, Auditor
from .result import AuditResult, too_few

# fmt: off
__all__ = [
    "GradientAudit", "epsilon_from_errors", "plugin_expectation", "pooled", "lower_pooled",
    "lower_sides"
]
# fmt: on

Trials = Annotated[
    int,
    checks.rule(checks.integer, 1, 10**9 // 2),
    "Reports of each gradient, at least 1 (the paper makes 1000 of both together, with a coin for"
    " each).",
]
Faithful = Annotated[
    checks.Flag,
    "Make every report in full, in d dimensions, instead of sampling the counts at the exact error"
    " rates.",
]

_CELLS = 2**21  # coordinates held in memory at once when real reports are made


@checks.checked
def epsilon_from_errors(
    fpr: Annotated[Any, checks.rule(checks.reals, 0, 1)],
    fnr: Annotated[Any, checks.rule(checks.reals, 0, 1)],
) -> Numbers:
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
    # a rule that always gives the same answer leads to 0/0 in one of the quotients
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.fmax(np.log1p(-fpr) - np.log(fnr), np.log1p(-fnr) - np.log(fpr))[()]


@checks.checked
@functools.lru_cache(maxsize=1024)
def plugin_expectation(
    fpr: checks.Share, fnr: checks.Share, first: checks.Count, second: checks.Count
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
    (fp, at_fp), (fn, at_fn) = stats.binomial_window(first, fpr), stats.binomial_window(second, fnr)
    value, mass = epsilon_from_errors(fp[:, None] / first, fn / second), np.outer(at_fp, at_fn)
    finite = np.isfinite(value)
    value, kept = value[finite], mass[finite]
    if not kept.sum() > 0:
        return math.nan, math.nan, 1.0
    # without BLAS, whose order of summation depends on the number of threads
    mean = float((value * kept).sum() / kept.sum())
    variance = float(((value - mean) ** 2 * kept).sum() / kept.sum())
    return mean, math.sqrt(variance), float(mass[~finite].sum())


@checks.checked
def pooled(errors: Numbers, trials: checks.Count) -> Numbers:
    """Estimate epsilon from all errors together, nearly without bias.

    The estimate ``logit(1 - (X + 1/2) / (K + 1))`` of X errors in K trials is always finite.

    Parameters
    ----------
    errors : int or array
        Errors with both inputs together.
    trials : int
        Trials with both inputs together, at least 1.
    """
    errors = stats.whole("errors", errors, trials)
    return np.log((trials - errors + 0.5) / (errors + 0.5))


@checks.checked
def lower_pooled(
    fp: Numbers, fn: Numbers, trials: checks.Count, alpha: float, delta: stats.Delta = 0.0
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
    errors = stats.whole("fp", fp, trials) + stats.whole("fn", fn, trials)
    high = stats.clopper_pearson(errors, 2 * trials, stats.significance(alpha, 0.25))[1]
    with np.errstate(divide="ignore"):
        return np.log(np.maximum((1 - delta) / high - 1, 0))


@checks.checked
def lower_sides(
    fp: Numbers, fn: Numbers, trials: checks.Count, alpha: float, delta: float = 0.0
) -> Numbers:
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
    fp, fn = stats.whole("fp", fp, trials), stats.whole("fn", fn, trials)
    first, second = (
        stats.epsilon_lower(trials - a, b, trials, delta, tail=stats.significance(alpha) / 2)
        for a, b in ((fp, fn), (fn, fp))
    )
    return np.maximum(first, second)


BOUNDS = {"pooled": lower_pooled, "sides": lower_sides}
"""The valid bounds by the names that `ldpkit.attacks.gradient.RULES` refer to."""


@dataclass(frozen=True)
class ErrorsAudit(Auditor):
    """Base of the audits by the error rates of a rule."""

    _: KW_ONLY
    trials: Trials = 500
    faithful: Faithful = False

    def judged(
        self,
        fp: int,
        fn: int,
        rates: Rates,
        bound: Callable[..., Numbers],
        *,
        claim: float,
        delta: float = 0.0,
        estimates: dict[str, tuple[float, str]] | None = None,
        **fields: Word,
    ) -> AuditResult:
        """Return the result of so many errors with the first and with the second input.

        `rates` are the exact error rates, and `bound` is one of `BOUNDS`. Further `estimates` come
        with their meaning. Without them, the evidence has the probability that the paper's estimate
        is infinite.
        """
        trials, total = self.trials, 2 * self.trials
        exact, exact_sd, infinite = plugin_expectation(*rates, trials, trials)
        emp = float(epsilon_from_errors(fp / trials, fn / trials))
        nearly = float(pooled(fp + fn, total)), "epsilon of the accuracy, nearly unbiased"
        told = {"pooled": nearly} | (estimates or {})
        found = {name: number for name, (number, _) in told.items()}
        fields["words"] = {
            "epsilon_emp": f"{emp:.4f} as the paper computes it",
            **{name: f"{number:.4f} {meaning}" for name, (number, meaning) in told.items()},
            **fields.get("words", {}),
        }
        return AuditResult(
            trials=trials,
            total=total,
            alpha=self.alpha,
            faithful=self.faithful,
            counts={"fp": fp, "fn": fn},
            rates={"fpr": fp / trials, "fnr": fn / trials},
            epsilon_emp=emp,
            lower=max(0.0, float(bound(fp, fn, trials, self.alpha, delta))),
            exact=exact,
            exact_sd=exact_sd,
            claim=claim,
            delta=delta,
            limit=float(epsilon_from_errors(*rates)),
            evidence=found if estimates else found | {"infinite": infinite},
            inconclusive=too_few(
                lambda n: float(bound(0, 0, n // 2, self.alpha, delta)), total, claim, "trials"
            ),
            **fields,
        )


@dataclass(frozen=True)
class GradientAudit(ErrorsAudit):
    """Tell two crafted gradients apart by a rule that reads the randomised gradient.

    Parameters
    ----------
    mechanism : GradientMechanism
        The audited randomiser.
    pairs : Pairs
        Crafted pairs of gradients, one of which is drawn at random in every trial.
    attack : {"cosine", "lune"}
        The paper's rule, or the likelihood-ratio event, see `ldpkit.attacks.gradient`.
    trials : int
        Reports of each gradient, at least 1 (the paper makes 1000 of both together, with a coin for
        each).
    alpha : float
        Significance, in [1e-100, 1/4]. The dummy audit is tight, so that its bound exceeds a true
        claim with about this probability.
    faithful : bool
        Make every report in full, in d dimensions, instead of sampling the counts at the exact
        error rates.

    Raises
    ------
    ValueError
        If a parameter is out of range. The message names it.
    """

    mechanism: Annotated[
        GradientMechanism,
        checks.rule(checks.instance, GradientMechanism, "a randomiser of gradients"),
    ]
    pairs: Annotated[Pairs, checks.rule(checks.instance, Pairs, "Pairs of gradients")]
    attack: Annotated[str, checks.rule(checks.one_of, RULES)] = "cosine"
    _: KW_ONLY
    alpha: Annotated[
        float, lambda _, alpha: stats.significance(alpha, 0.25), "Significance, in [1e-100, 1/4]."
    ] = ALPHA
    names: ClassVar = GRADIENT

    def __post_init__(self) -> None:
        super().__post_init__()
        _, d = self.pairs.first.shape
        checks.need(
            d == self.mechanism.d,
            f"gradients must have the mechanism's dimension {self.mechanism.d}, got {d}",
        )
        checks.need(
            self.faithful or self.mechanism.grid is None,
            "faithful must be True for a mechanism with a grid: its exact rates are those before"
            " rounding",
        )

    @classmethod
    def of(  # type: ignore[override]  # it also takes the parameters of an adversary
        cls,
        adversary: str,
        epsilon: Annotated[Epsilon, "Budget of one report, in [1e-6, 30]."],
        mechanism: str = "LDP-SGD",
        dimension: Annotated[
            int | None,
            "Dimension of the dummy gradient (by default 4810, the parameters of a small network).",
        ] = None,
        norm: Annotated[float, "Norm of the dummy gradient."] = 1.0,
        clip: Annotated[float, "Clipping norm."] = 1.0,
        pairs: Annotated[
            str | None, "File of the adversary file, an archive of NumPy (.npz)."
        ] = None,
        **fields: Word,
    ) -> Self:
        """Return the audit of a randomiser given by name with an adversary given by name.

        Parameters
        ----------
        adversary : str
            Adversary who crafts the gradients, one of `ldpkit.attacks.gradient.ADVERSARIES`.
        epsilon : float
            Budget of one report.
        mechanism : str
            A name of `ldpkit.mechanisms.GRADIENT`.
        dimension : int, optional
            Dimension of the dummy gradient (by default 4810, the parameters of a small network).
        norm : float
            Norm of the dummy gradient.
        clip : float
            Clipping norm.
        pairs : str, optional
            File of the adversary ``file``, see `ldpkit.attacks.gradient.read`.
        **fields
            Other fields of `GradientAudit`.
        """
        crafted = named(adversary, dimension, norm, pairs)
        target = cls.target(mechanism, d=crafted.first.shape[1], epsilon=epsilon, clip=clip)
        return super().of(mechanism=target, pairs=crafted, **fields)

    @functools.cached_property
    def rates(self) -> Rates:
        """Exact false-positive and false-negative rate of the rule."""
        return RULES[self.attack].rates(self.mechanism, self.pairs)

    def run(self, seed: int = 1) -> list[AuditResult]:
        """Count the errors of the rule, and bound epsilon by them.

        Parameters
        ----------
        seed : int
            Seed of all random numbers, non-negative.

        Returns
        -------
        list of one AuditResult
            ``epsilon_emp`` is Equation 3, ``exact`` is its expectation given that it is finite, and
            ``limit`` is Equation 3 at the exact rates. ``evidence`` has the `pooled` estimate.
            ``lower`` is `lower_pooled` for the cosine rule. It is `lower_sides` for the lune rule,
            because the two error rates of this rule differ much.
        """
        mechanism, rule, start = self.mechanism, RULES[self.attack], time.perf_counter()
        own, crafted = mechanism.parameters, self.pairs
        name = "gradient", mechanism.name, own, crafted.name, rule.name, self.faithful
        with Progress(2 * self.trials, "reports", mechanism.name) as progress:
            kept, missed = (
                self._count(side, seed, (*name, side), progress)
                if self.faithful
                else rule.sample(
                    mechanism, self.trials, crafted, side, generator(seed, *name, side)
                )
                for side in (True, False)
            )
        return [
            self.judged(
                self.trials - kept,
                missed,
                self.rates,
                BOUNDS[rule.bound],
                seed=seed,
                attack=self.attack,
                seconds=time.perf_counter() - start,
                mechanism=mechanism.name,
                parameters=own | {"adversary": crafted.name},
                claim=mechanism.epsilon,
            )
        ]

    def _count(self, first: bool, seed: int, name: tuple[object, ...], progress: Progress) -> int:
        """Return how often the rule answers *first* on real reports of one input."""
        mechanism, pairs, rule = self.mechanism, self.pairs, RULES[self.attack]
        answers, size = 0, max(1, _CELLS // mechanism.d)
        for start in range(0, self.trials, size):
            rng = generator(seed, *name, start)
            at = rng.integers(0, len(pairs.first), min(size, self.trials - start))
            pair = pairs.first[at], pairs.second[at]
            reports = mechanism.perturb(pair[0] if first else pair[1], rng)
            hits = int(np.count_nonzero(rule.accepts(mechanism, reports, pair, rng)))
            progress.add(at.size, *(("fp", at.size - hits) if first else ("fn", hits)))
            answers += hits
        return answers
