"""Audits of randomised gradients: the paper's estimate, a nearly unbiased one, and bounds that hold.

Source: the LDP-SGD paper, Algorithm 2 and Equation 3. Its estimate is a plug-in of two
observed rates: biased upwards, infinite if one error never occurs, no bound.
"""

import contextlib
import functools
import math
import time
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike

from .. import checks, datasets, nets, stats, streams
from ..attacks import gradient as crafts
from ..attacks.gradient import RULES, Cosine, Lune, Pairs
from ..mechanisms import GRADIENT
from ..mechanisms.gradient import GradientMechanism
from ..progress import Progress
from ..types import Array, Numbers
from .result import AuditResult, repeat, too_few

__all__ = ["audit_gradient", "gradient_cell", "digit_pairs", "ADVERSARIES", "epsilon_from_errors", "plugin_expectation",
           "pooled", "lower_pooled", "lower_sides"]  # fmt: skip

ADVERSARIES = ("dummy", "flip", "label", "benign", "collusion")
"""Who crafts the pairs of `digit_pairs`; all but the first need a network."""

_DIMENSION = 4810  # parameters of the network of the digits

_CELLS = 2**21  # coordinates held in memory at once when real reports are made


def epsilon_from_errors(fpr: ArrayLike, fnr: ArrayLike) -> Numbers:
    """Epsilon at which the two error rates are as small as they can be (Equation 3); infinite if one of them is 0."""
    fpr, fnr = checks.reals("fpr", fpr, 0, 1), checks.reals("fnr", fnr, 0, 1)
    with np.errstate(divide="ignore", invalid="ignore"):  # a rule that never changes its answer gives 0/0 on one side
        return np.fmax(np.log1p(-fpr) - np.log(fnr), np.log1p(-fnr) - np.log(fpr))[()]


def plugin_expectation(fpr: float, fnr: float, first: int, second: int) -> tuple[float, float, float]:
    """Exact mean and standard deviation of Equation 3 at known rates, where it is finite.

    Parameters
    ----------
    fpr, fnr : float
    first, second : int
        Trials with the first and with the second gradient.

    Returns
    -------
    mean, sd, infinite : float
        Of the finite values, and the probability of an infinite one; the first two are NaN if there is none.
    """
    fpr, fnr = checks.real("fpr", fpr, 0, 1), checks.real("fnr", fnr, 0, 1)
    return _plugin_expectation(fpr, fnr, checks.integer("first", first, 1), checks.integer("second", second, 1))


@functools.lru_cache(maxsize=1024)
def _plugin_expectation(fpr: float, fnr: float, first: int, second: int) -> tuple[float, float, float]:
    (fp, at_fp), (fn, at_fn) = stats.binomial_window(first, fpr), stats.binomial_window(second, fnr)
    value, mass = epsilon_from_errors(fp[:, None] / first, fn / second), np.outer(at_fp, at_fn)
    finite = np.isfinite(value)
    value, kept = value[finite], mass[finite]
    if not kept.sum() > 0:
        return math.nan, math.nan, 1.0
    # no BLAS: its order of summation, hence the last digit, depends on the number of its threads
    mean = float((value * kept).sum() / kept.sum())
    return mean, math.sqrt(float(((value - mean) ** 2 * kept).sum() / kept.sum())), float(mass[~finite].sum())


def pooled(errors: Numbers, trials: int) -> Numbers:
    """Nearly unbiased estimate from all errors together, ``logit(1 - (X + 1/2) / (K + 1))``; always finite."""
    errors = stats.whole("errors", errors, checks.integer("trials", trials, 1))
    return np.log((trials - errors + 0.5) / (errors + 0.5))


def _errors(fp: Any, fn: Any, trials: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    trials = checks.integer("trials", trials, 1)
    return stats.whole("fp", fp, trials), stats.whole("fn", fn, trials)


def lower_pooled(fp: Numbers, fn: Numbers, trials: int, alpha: float, delta: float = 0.0) -> Numbers:
    """Lower bound of epsilon from all errors together, valid at level ``1 - alpha``.

    With epsilon-LDP no rule errs less often than ``1 / (1 + e^eps)``. A sum of two binomials is no more likely
    than one binomial of the same mean to fall as far below it as matters here (Hoeffding 1956).

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
        return np.log(np.maximum((1 - checks.real("delta", delta, 0, 1, closed="[)")) / high - 1, 0))


def lower_sides(fp: Numbers, fn: Numbers, trials: int, alpha: float, delta: float = 0.0) -> Numbers:
    """Lower bound of epsilon from Equation 3 with two Clopper-Pearson bounds, each at ``alpha / 2``.

    Parameters
    ----------
    fp, fn, trials, alpha, delta
        As in `lower_pooled`.
    """
    fp, fn = _errors(fp, fn, trials)
    one, two = (stats.epsilon_lower(trials - a, b, trials, delta, tail=stats.significance(alpha) / 2)
                for a, b in ((fp, fn), (fn, fp)))  # fmt: skip
    return np.maximum(one, two)


BOUNDS = {"pooled": lower_pooled, "sides": lower_sides}
"""The valid bounds by name; a rule says which suits it."""


def _count(
    mechanism: GradientMechanism, rule: Cosine | Lune, pairs: Pairs, trials: int, first: bool, seed: int, name: tuple[Any, ...],
    progress: Progress,
) -> int:  # fmt: skip
    """Answers *first* on real reports of one input."""
    found, size = 0, max(1, _CELLS // mechanism.d)
    for start in range(0, trials, size):
        rng = streams.generator(seed, *name, start)
        at = rng.integers(0, len(pairs.first), min(size, trials - start))
        pair = pairs.first[at], pairs.second[at]
        reports = mechanism.perturb(pair[0] if first else pair[1], rng)
        hits = int(np.count_nonzero(rule.accepts(mechanism, reports, pair, rng)))
        progress.add(at.size, *(("fp", at.size - hits) if first else ("fn", hits)))
        found += hits
    return found


def audit_gradient(
    mechanism: GradientMechanism,
    pairs: Pairs,
    rule: str = "cosine",
    *,
    trials: int = 1000,
    alpha: float = 0.01,
    seed: int = 1,
    faithful: bool = False,
) -> AuditResult:
    """Audit a randomised gradient with crafted pairs and a rule that tells them apart.

    Parameters
    ----------
    mechanism : GradientMechanism
    pairs : Pairs
        A fresh one is drawn in every trial.
    rule : {"cosine", "lune"}
        The paper's rule, or the strongest event; see `ldpkit.attacks.gradient`.
    trials : int
        Even, at least 2: half of them with each gradient (the paper: 1000, with a coin for each).
    alpha : float
        Significance, in [1e-100, 1/4]. The dummy audit is tight: about so often its bound exceeds the claim by chance.
    seed : int
    faithful : bool
        Make every report with the real client in d dimensions instead of drawing the counts from the exact error rates.

    Returns
    -------
    AuditResult
        ``epsilon_emp`` is Equation 3, ``exact`` its expectation (given that it is finite), ``limit`` Equation 3 at the
        exact rates, ``estimates`` the pooled one. ``lower`` is the pooled bound for the cosine rule and the
        two-sided one for the lune rule, whose errors differ much.

    Raises
    ------
    ValueError
        Naming the parameter that is out of range.
    """
    checks.instance("mechanism", mechanism, GradientMechanism, "a randomiser of gradients")
    checks.instance("pairs", pairs, Pairs, "Pairs of gradients")
    chosen, faithful = RULES[checks.one_of("rule", rule, RULES)], checks.flag("faithful", faithful)
    trials, alpha = checks.integer("trials", trials, 2, 10**9), stats.significance(alpha, 0.25)
    if trials % 2:
        raise ValueError(f"trials must be even, half with each gradient, got {trials}")
    if pairs.first.shape[1] != mechanism.d:
        raise ValueError(f"gradients must have the mechanism's dimension {mechanism.d}, got {pairs.first.shape[1]}")
    name = ("gradient", mechanism.name, mechanism.parameters, pairs.name, chosen.name, bool(faithful))
    half, start = trials // 2, time.perf_counter()
    if faithful:
        with Progress(trials, "reports", mechanism.name) as progress:
            kept, missed = (_count(mechanism, chosen, pairs, half, side, seed, (*name, side), progress) for side in (True, False))
    else:
        kept, missed = (
            chosen.sample(mechanism, half, pairs, side, streams.generator(seed, *name, side)) for side in (True, False)
        )
    seconds = time.perf_counter() - start
    fp, fn, rates, bound = half - kept, missed, chosen.rates(mechanism, pairs), BOUNDS[chosen.bound]
    exact, exact_sd, infinite = plugin_expectation(*rates, half, half)
    return AuditResult(
        mechanism=mechanism.name,
        parameters=mechanism.parameters | {"adversary": pairs.name},
        attack=chosen.name,
        trials=trials,
        alpha=alpha,
        seed=seed,
        faithful=bool(faithful),
        counts={"fp": fp, "fn": fn},
        rates={"fpr": fp / half, "fnr": fn / half},
        epsilon_emp=float(epsilon_from_errors(fp / half, fn / half)),
        lower=max(0.0, float(bound(fp, fn, half, alpha))),
        exact=exact,
        exact_sd=exact_sd,
        claim=mechanism.epsilon,
        limit=float(epsilon_from_errors(*rates)),
        estimates={"pooled": float(pooled(fp + fn, trials)), "infinite": infinite},
        inconclusive=too_few(lambda n: float(bound(0, 0, n // 2, alpha)), trials, mechanism.epsilon, "trials"),
        seconds=seconds,
    )


@functools.lru_cache(maxsize=2)  # the cells of a grid share it
def digit_pairs(
    adversary: str, dimension: int | None = None, norm: float = 1.0, iterations: int = 100, flip: str = "random", seed: int = 1
) -> crafts.Pairs:
    """Craft an adversary's pairs of gradients; all but the dummy train a small network on handwritten digits first.

    Parameters
    ----------
    adversary : str
        One of `ADVERSARIES`.
    dimension, norm
        Of the dummy gradient; the network of the digits has 4810 parameters.
    iterations : int
        Training before, 100 records each, in [0, 10^6].
    flip : str
        Wrong label of the adversary ``label``, one of `ldpkit.attacks.gradient.FLIPS`.
    seed : int

    Raises
    ------
    ValueError
        Naming the parameter that is out of range or does not belong to the adversary.
    ModuleNotFoundError
        If the digits are not installed.
    """
    if checks.one_of("adversary", adversary, ADVERSARIES) == "dummy":
        return crafts.dummy(_DIMENSION if dimension is None else dimension, norm)
    if dimension is not None:
        raise ValueError(f"dimension belongs to the adversary dummy; the network of the digits has {_DIMENSION} parameters")
    iterations = checks.integer("iterations", iterations, 0, 10**6)
    checks.one_of("flip", flip, crafts.FLIPS)
    x, y = datasets.digits()
    rng = streams.generator(seed, "audit-gradient", adversary)

    def teach(net: nets.Net, x: Array, y: Array, rounds: int = 20) -> nets.Net:
        return nets.train(net, x, y, rounds=rounds, lr=0.2, rng=rng)

    net = teach(nets.mlp([64, 64, 10], rng), x, y, iterations)
    if adversary == "collusion":
        return crafts.collude(net, x, y, 1000, rng, teach)
    if adversary == "label":
        return crafts.label_flip(net, x, y, 1000, rng, flip)
    return {"benign": crafts.benign, "flip": crafts.gradient_flip}[adversary](net, x, y, 1000, rng)


def gradient_cell(
    adversary: str, epsilon: float, mechanism: str = "LDP-SGD", rule: str = "cosine", dimension: int | None = None,
    norm: float = 1.0, clip: float = 1.0, iterations: int = 100, flip: str = "random", start: int = 1, trials: int = 1000,
    alpha: float = 0.01, faithful: bool = False, runs: int = 1, seed: int = 1,
) -> list[dict[str, Any]]:  # fmt: skip
    """Audit a randomised gradient, several times: one cell of a grid, as flat dictionaries.

    Parameters
    ----------
    adversary, dimension, norm, iterations, flip
        See `digit_pairs`.
    epsilon, clip
        Budget of one report and clipping norm.
    mechanism : str
        A name of `ldpkit.mechanisms.GRADIENT`.
    start : int
        Seed of training and pairs: cells with the same one audit the same gradients.
    rule, trials, alpha, seed, faithful
        As in `audit_gradient`.
    runs : int
        Independent repetitions, each on its own stream.

    Returns
    -------
    list of dict
        See `ldpkit.auditors.result.repeat`.
    """
    make = GRADIENT[checks.one_of("mechanism", mechanism, GRADIENT)]
    crafted = adversary, dimension, norm, iterations, flip
    start = checks.integer("start", start, 0)
    if seed is streams.REHEARSAL:  # nothing is trained: any gradients of the right dimension will do
        pairs = crafts.dummy(_DIMENSION)
        with contextlib.suppress(streams.Rehearsed):
            pairs = digit_pairs(*crafted, streams.REHEARSAL)
    else:
        pairs = digit_pairs(*crafted, start)
    target = make(pairs.first.shape[1], epsilon, clip)
    given: dict[str, Any] = {"trials": trials, "alpha": alpha, "faithful": faithful}
    return repeat(lambda own: [audit_gradient(target, pairs, rule, seed=own, **given)], runs, seed)
