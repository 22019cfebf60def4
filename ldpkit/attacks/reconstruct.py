"""Reconstruction attacks: from the output of a mechanism, name the record behind it.

An attack is judged by its success probability (ReRo) and by its advantage (RAD):
the success minus that of the same attack on the output of an independent
record. The optimal attack maximises the advantage, not the success.

Throughout, records are ``0..m-1`` with prior `prior`; ``success[z, g]`` says
whether the guess g succeeds on record z (the identity by default: perfect
reconstruction); ``side[z]`` is the label the adversary knows of the target
(constant by default: nothing; ``arange(m)``: membership inference).

Source: Guerra-Balboa et al., "Understanding Disclosure Risk in Differential
Privacy", PVLDB 19(7), 2026, Definitions 2.3 and 4.1, Theorem 4.3, Algorithm 1.
"""

from collections.abc import Iterator

import numpy as np
import scipy

from .. import checks
from ..mechanisms import FrequencyOracle
from ..mechanisms.base import report_type_with
from ..reports import Listed
from ..types import Array, ArrayLike, Rates

__all__ = [
    "kappa",
    "finite_distribution",
    "rad_exact",
    "optimal_attack",
    "attack_value",
    "posterior_gain",
    "score_runs",
]

_TIE = 1e-12  # scores closer than this are equal but for rounding


def checked_prior(prior: ArrayLike) -> Array:
    """Return `prior` as a float array; it must have no negative mass and sum to one."""
    prior = checks.numeric("prior", prior).astype(float)
    checks.need(
        prior.ndim == 1 and prior.size >= 2 and np.isfinite(prior).all(),
        f"prior must be a list of at least two finite numbers, got shape {prior.shape}",
    )
    checks.need(
        (prior >= 0).all(),
        f"prior must have no negative mass, got {prior.min():g} at record {int(prior.argmin())}",
    )
    checks.need(abs(prior.sum() - 1) <= 1e-9, f"prior must sum to 1, got {prior.sum():.12g}")
    return prior


def checked_success(success: ArrayLike | None, m: int) -> Array:
    success = np.eye(m) if success is None else np.asarray(success)
    checks.need(
        success.shape == (m, m) and np.isin(success, (0, 1)).all(),
        f"success must be a matrix of 0 and 1 of shape {(m, m)}, got shape {success.shape}",
    )
    return success.astype(float)


def _checked_side(side: ArrayLike | None, m: int) -> Array:
    side = np.zeros(m, int) if side is None else np.asarray(side)
    checks.need(
        side.shape == (m,),
        f"side must hold one label for each of the {m} records, got shape {side.shape}",
    )
    return np.unique(side, return_inverse=True)[1]


def _game(
    law: ArrayLike, prior: ArrayLike, success: ArrayLike | None, side: ArrayLike | None
) -> tuple[Array, Array, Array, Array]:
    law, prior = checks.numeric("law", law).astype(float), checked_prior(prior)
    m = prior.size
    checks.need(
        law.ndim == 2
        and len(law) == m
        and (law >= 0).all()
        and np.allclose(law.sum(1), 1, atol=1e-9, rtol=0),
        f"law must have {m} rows of probabilities that sum to 1, one per record, got shape"
        f" {law.shape}",
    )
    return law, prior, checked_success(success, m), _checked_side(side, m)


def kappa(prior: ArrayLike, success: ArrayLike | None = None) -> tuple[float, float, float]:
    """Chance of success without looking: ``(kappa, largest, smallest)``.

    Returns
    -------
    kappa : float
        Probability that two independent records coincide, ``sum(prior**2)``.
    largest, smallest : float
        Success probability of the best and of the worst constant guess, over
        all records, those without prior mass included.
    """
    prior = checked_prior(prior)
    blind = prior @ checked_success(success, prior.size)
    return float((prior**2).sum()), float(blind.max()), float(blind.min())


def finite_distribution(mechanism: FrequencyOracle) -> Array:
    """Law of every possible report of GRR, a unary encoding or SS, one column per report, for small
    domains.

    Parameters
    ----------
    mechanism : FrequencyOracle
        Whose reports are values, at most 16 bits, or subsets.

    Returns
    -------
    float array, shape (k, reports)
        For `rad_exact` and `optimal_attack`.
    """
    kind = report_type_with(mechanism, Listed, "send reports that can be listed")
    checks.need(
        kind.outputs <= 2**16,
        f"mechanism must have at most 65,536 reports that can be listed, got {mechanism.name}"
        f" with k = {mechanism.k}",
    )
    return np.stack([kind.distribution(value) for value in range(mechanism.k)])


def _scores(
    law: Array, prior: Array, success: Array, side: Array, maximise: str
) -> Iterator[Array]:
    """For every known label the score of each guess on each output, shape (m, outputs)."""
    gain = (
        law if checks.one_of("maximise", maximise, ("rad", "rero")) == "rero" else law - prior @ law
    )
    for label in range(side.max() + 1):
        here = side == label
        yield success[here].T @ (prior[here, None] * gain[here])


def rad_exact(
    law: ArrayLike,
    prior: ArrayLike,
    success: ArrayLike | None = None,
    side: ArrayLike | None = None,
) -> float:
    """Largest reconstruction advantage that any attack on a finite mechanism has (Theorem 4.3).

    Parameters
    ----------
    law : float array, shape (m, outputs)
        Row z is the law of the output for record z.
    prior : float array, shape (m,)
    success : 0/1 array, shape (m, m), optional
    side : array, shape (m,), optional
        See the module's text.

    Raises
    ------
    ValueError
        If a shape does not fit, or a row or the prior is no probability vector.
    """
    return float(
        sum(score.max(0).sum() for score in _scores(*_game(law, prior, success, side), "rad"))
    )


def optimal_attack(
    law: ArrayLike,
    prior: ArrayLike,
    success: ArrayLike | None = None,
    side: ArrayLike | None = None,
    *,
    maximise: str = "rad",
) -> Array:
    """The best guesses for every known label and output (Algorithm 1).

    Parameters
    ----------
    law, prior, success, side
        As in `rad_exact`.
    maximise : {"rad", "rero"}
        The advantage, or the success (the Bayes attack, which need not have any advantage).

    Returns
    -------
    float array, shape (labels, m, outputs)
        With which probability each record is named, uniform among ties; labels
        in sorted order. A guess outside the class of the label is the way to abstain.
    """
    best = np.array(
        [
            score >= score.max(0) - _TIE
            for score in _scores(*_game(law, prior, success, side), maximise)
        ]
    )
    return best / best.sum(1, keepdims=True)


def attack_value(
    attack: ArrayLike,
    law: ArrayLike,
    prior: ArrayLike,
    success: ArrayLike | None = None,
    side: ArrayLike | None = None,
) -> Rates:
    """Exact ``(rero, rad)`` of any attack, given as probabilities of guesses (see
    `optimal_attack`)."""
    law, prior, success, side = _game(law, prior, success, side)
    attack = checks.numeric("attack", attack)
    shape = (int(side.max()) + 1, *law.shape)
    checks.need(
        attack.shape == shape and np.allclose(attack.sum(1), 1),
        f"attack must hold probabilities of shape {shape}, got {attack.shape}",
    )
    hit = np.array([success[z] @ attack[side[z]] for z in range(prior.size)])  # (m, outputs)
    rero = float(prior @ (law * hit).sum(1))
    return rero, rero - float(prior @ (hit @ (prior @ law)))


def posterior_gain(loglik: ArrayLike, prior: ArrayLike) -> Array:
    """Posterior minus prior of every record: what Algorithm 1 ranks at perfect reconstruction.

    Parameters
    ----------
    loglik : float array, shape (n, m)
        Log-likelihoods of the records for n outputs, up to a constant per output.
    """
    prior, loglik = checked_prior(prior), checks.reals("loglik", loglik)
    checks.need(
        loglik.ndim == 2 and loglik.shape[1] == prior.size,
        f"loglik must have shape (n, {prior.size}), one column per record, got {loglik.shape}",
    )
    with np.errstate(divide="ignore"):
        return scipy.special.softmax(loglik + np.log(prior), axis=1) - prior


def score_runs(
    gain: ArrayLike, truth: ArrayLike, prior: ArrayLike, side: ArrayLike | None = None
) -> dict[str, float]:
    """ReRo and RAD at perfect reconstruction from simulated outputs.

    In every class of `side` the record with the largest gain is named if its
    gain is positive; otherwise the attack abstains. The second term of RAD is
    computed for each output over all targets, not simulated.

    Parameters
    ----------
    gain : float array, shape (n, m)
        From `posterior_gain` for the optimal attack, or any other score.
    truth : int array, shape (n,)
        The record behind each output.
    prior, side
        As in `rad_exact`.

    Returns
    -------
    dict
        ``rero`` and ``counted`` (RAD) from counted successes, and ``posterior``:
        the mean of the gain that was named, an estimate of the optimal attack's
        RAD with a far smaller variance, meaningful for `posterior_gain` only.
        Each with its standard error ``*_se``.
    """
    prior, gain = checked_prior(prior), checks.reals("gain", gain)
    truth = checks.values(truth, prior.size, "truth")
    checks.need(
        gain.shape == (truth.size, prior.size) and truth.size >= 2,
        f"gain must have shape (n, {prior.size}) with n >= 2 rows, one per truth, got {gain.shape}",
    )
    rows, side = np.arange(truth.size), _checked_side(side, prior.size)
    named, kept = np.zeros(gain.shape), np.zeros(truth.size)
    for label in range(side.max() + 1):
        members = np.flatnonzero(side == label)
        best = members[gain[:, members].argmax(1)]  # scores are continuous: no ties
        won = np.maximum(gain[rows, best], 0)
        named[rows, best] = won > 0
        kept += won
    samples = {
        "rero": named[rows, truth],
        "counted": named[rows, truth] - named @ prior,
        "posterior": kept,
    }
    found = {name: float(values.mean()) for name, values in samples.items()}
    return found | {
        f"{name}_se": float(v.std(ddof=1) / truth.size**0.5) for name, v in samples.items()
    }
