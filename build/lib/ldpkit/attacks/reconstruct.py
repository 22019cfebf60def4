"""Reconstruction attacks, which guess the record behind an output of a mechanism.

An attack is measured by its success probability (ReRo) and by its advantage
(RAD). The advantage is the success minus that of the same attack on the output of
an independent record. The optimal attack maximises the advantage, not the success.

Throughout, records are ``0..m-1`` with prior `prior`. ``success[z, g]`` is 1 if
the guess g succeeds on record z; the default is the identity, that is, perfect
reconstruction. ``side[z]`` is the label of record z that the adversary knows. It
is constant by default (the adversary knows nothing); ``arange(m)`` gives
membership inference.

Source: Guerra-Balboa et al., "Understanding Disclosure Risk in Differential
Privacy", PVLDB 19(7), 2026, Definitions 2.3 and 4.1, Theorem 4.3, Algorithm 1.
"""

import math
from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np

from .. import checks
from ..jit import kernel
from ..mechanisms.base import FrequencyOracle, oracle
from ..types import Array, ArrayLike, Rates

# fmt: off
__all__ = [
    "kappa", "finite_distribution", "rad_exact", "optimal_attack", "attack_value",
    "laplace_sum_exact", "windows",
]
# fmt: on


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


Prior = Annotated[Any, lambda _, prior: checked_prior(prior)]
Maximise = Annotated[str, checks.rule(checks.one_of, ("rad", "rero"))]


def checked_success(success: ArrayLike | None, m: int) -> Array:
    """Return `success` as a float matrix of 0 and 1, of shape (m, m); the identity by default."""
    success = np.eye(m) if success is None else np.asarray(success)
    checks.need(
        success.shape == (m, m) and np.isin(success, (0, 1)).all(),
        f"success must be a matrix of 0 and 1 of shape {(m, m)}, got shape {success.shape}",
    )
    return success.astype(float)


def _checked_side(side: ArrayLike | None, m: int) -> Array:
    """Return `side` as labels 0, 1, 2, ..., int array (m,)."""
    side = np.zeros(m, int) if side is None else np.asarray(side)
    checks.need(
        side.shape == (m,),
        f"side must hold one label for each of the {m} records, got shape {side.shape}",
    )
    return np.unique(side, return_inverse=True)[1]


def _game(
    likelihood: ArrayLike, prior: ArrayLike, success: ArrayLike | None, side: ArrayLike | None
) -> tuple[Array, Array, Array, Array]:
    """Return the arguments of `rad_exact` as checked arrays."""
    likelihood, prior = checks.numeric("likelihood", likelihood).astype(float), checked_prior(prior)
    m = prior.size
    checks.need(
        likelihood.ndim == 2
        and len(likelihood) == m
        and (likelihood >= 0).all()
        and np.allclose(likelihood.sum(1), 1, atol=1e-9, rtol=0),
        f"likelihood must have {m} rows of probabilities that sum to 1, one per record, got shape"
        f" {likelihood.shape}",
    )
    return likelihood, prior, checked_success(success, m), _checked_side(side, m)


@checks.checked
def kappa(prior: Prior, success: ArrayLike | None = None) -> tuple[float, float, float]:
    """Return the success probabilities without the output: ``(kappa, largest, smallest)``.

    Returns
    -------
    kappa : float
        Probability that two independent records coincide, ``sum(prior**2)``.
    largest, smallest : float
        Success probability of the best and of the worst constant guess. A guess
        may also be a record without prior mass.
    """
    blind = prior @ checked_success(success, prior.size)
    return float((prior**2).sum()), float(blind.max()), float(blind.min())


def finite_distribution(mechanism: FrequencyOracle) -> Array:
    """Return the exact distribution of the reports of GRR, a unary encoding or SS.

    Parameters
    ----------
    mechanism : FrequencyOracle
        Its reports are values, bits or subsets, of which there are at most 65,536.

    Returns
    -------
    float array, shape (k, reports)
        One column per possible report, as `rad_exact` and `optimal_attack` take it.
    """
    report_type = oracle(mechanism).report_type
    checks.need(
        report_type.outputs <= 2**16,
        f"mechanism must have at most 65,536 reports that can be listed, got {mechanism.name}"
        f" with k = {mechanism.k}",
    )
    return np.stack([report_type.distribution(value) for value in range(mechanism.k)])


def _scores(
    likelihood: Array, prior: Array, success: Array, side: Array, maximise: str
) -> Iterator[Array]:
    """Yield for every label the score of each guess on each output, shape (m, outputs)."""
    gain = likelihood if maximise == "rero" else likelihood - prior @ likelihood
    for label in range(side.max() + 1):
        here = side == label
        yield success[here].T @ (prior[here, None] * gain[here])


def rad_exact(
    likelihood: ArrayLike,
    prior: ArrayLike,
    success: ArrayLike | None = None,
    side: ArrayLike | None = None,
) -> float:
    """Return the largest advantage of any attack on a finite mechanism (Theorem 4.3).

    Parameters
    ----------
    likelihood : float array, shape (m, outputs)
        Row z is the exact distribution of the output for record z.
    prior : float array, shape (m,)
    success : 0/1 array, shape (m, m), optional
    side : array, shape (m,), optional
        See the docstring of the module.

    Raises
    ------
    ValueError
        If a shape does not fit, or a row or the prior is no probability vector.
    """
    scores = _scores(*_game(likelihood, prior, success, side), "rad")
    return float(sum(score.max(0).sum() for score in scores))


@checks.checked
def optimal_attack(
    likelihood: ArrayLike,
    prior: ArrayLike,
    success: ArrayLike | None = None,
    side: ArrayLike | None = None,
    *,
    maximise: Maximise = "rad",
) -> Array:
    """Return the best guesses for every label and output (Algorithm 1).

    Parameters
    ----------
    likelihood, prior, success, side
        As in `rad_exact`.
    maximise : {"rad", "rero"}
        The advantage, or the success. The latter gives the Bayes attack, whose advantage may be 0.

    Returns
    -------
    float array, shape (labels, m, outputs)
        Probability that each record is guessed, uniform among ties. Labels are in
        sorted order. A guess outside the class of the label means to abstain.
    """
    scores = _scores(*_game(likelihood, prior, success, side), maximise)
    best = np.array([score >= score.max(0) - 1e-12 for score in scores])  # ties but for rounding
    return best / best.sum(1, keepdims=True)


@checks.checked
def attack_value(
    attack: Annotated[Any, checks.numeric],
    likelihood: ArrayLike,
    prior: ArrayLike,
    success: ArrayLike | None = None,
    side: ArrayLike | None = None,
) -> Rates:
    """Return the exact ``(rero, rad)`` of an attack.

    `attack` holds probabilities of guesses, as `optimal_attack` returns them.
    """
    likelihood, prior, success, side = _game(likelihood, prior, success, side)
    shape = (int(side.max()) + 1, *likelihood.shape)
    checks.need(
        attack.shape == shape and np.allclose(attack.sum(1), 1),
        f"attack must hold probabilities of shape {shape}, got {attack.shape}",
    )
    hit = np.array([success[z] @ attack[side[z]] for z in range(prior.size)])  # (m, outputs)
    rero = float(prior @ (likelihood * hit).sum(1))
    return rero, rero - float(prior @ (hit @ (prior @ likelihood)))


# --- one value behind a Laplace-noised sum --------------------------------------------------------
#
# The values are ``0..m-1``, and the guess z' succeeds if ``|z - z'| <= eta``. All other values of
# the sum are known, so that the output is z plus noise. The likelihood ratios do not change outside
# of ``[0, m-1]``. Therefore nothing is lost if the output is truncated to an interval that contains
# this one. Inside one unit cell the score of a guess is a straight line in an exponential of the
# output. The optimal attack therefore follows the upper envelope of m lines, whose breaks are
# computed one after the other (section 7.2 and Figure 4).


@kernel
def windows(weight: Array, eta: int) -> tuple[Array, float]:
    """Return the sum of the weights within `eta` of each value, and the total."""
    m = weight.size
    out, total = np.empty(m), np.zeros(m + 1)
    for z in range(m):
        total[z + 1] = total[z] + weight[z]
    for z in range(m):
        out[z] = total[min(m, z + eta + 1)] - total[max(0, z - eta)]
    return out, total[m]


@kernel
def _exact(prior: Array, eta: int, scale: float, baseline: float) -> Rates:
    """Return the success of the optimal attack, and that of the same attack on another output.

    The other output is independent of the record. `baseline` is 1 to maximise RAD and 0 for ReRo.
    """
    m = prior.size
    values, (blind, _) = np.arange(m), windows(prior, eta)
    first, second = 0.0, 0.0
    for edge in (0, m - 1):  # outputs at or beyond an end of the range
        up, total = windows(prior * np.exp(-np.abs(values - edge) / scale) / 2, eta)
        j = np.argmax(up - baseline * blind * total)
        first += up[j]
        second += blind[j] * total
    for k in range(m - 1):
        weight = prior * np.exp(-np.abs(values - k) / scale)
        up, total_up = windows(np.where(values > k, weight, 0), eta)
        down, total_down = windows(np.where(values > k, 0, weight), eta)
        slope, level = up - baseline * blind * total_up, down - baseline * blind * total_down
        x, end = 1.0, math.exp(2 / scale)
        while x < end:
            probe = x * (1 + 1e-9)  # lines often meet at the start of a cell: compare right of it
            j = np.argmax(slope * probe + level)
            stop = end
            for i in range(m):
                if slope[i] > slope[j]:
                    cross = (level[j] - level[i]) / (slope[i] - slope[j])
                    if probe < cross < stop:
                        stop = cross
            rise = (math.sqrt(stop) - math.sqrt(x)) / 2
            fall = (1 / math.sqrt(x) - 1 / math.sqrt(stop)) / 2
            first += up[j] * rise + down[j] * fall
            second += blind[j] * (total_up * rise + total_down * fall)
            x = stop
    return first, second


@checks.checked
def laplace_sum_exact(
    prior: Prior,
    eta: Annotated[int, checks.rule(checks.integer, 0)],
    epsilon: checks.Positive,
    *,
    maximise: Maximise = "rad",
) -> Rates:
    """Return the exact ``(rero, rad)`` of the attack that maximises one of them.

    Parameters
    ----------
    prior : float array, shape (m,)
        Prior of the values ``0..m-1``.
    eta : int
        Largest distance of a successful guess from the value.
    epsilon : float
        Budget of the sum, whose sensitivity is ``m - 1``.
    maximise : {"rad", "rero"}
        ``"rad"`` is Algorithm 1, and ``"rero"`` the Bayes attack.
    """
    rero, second = _exact(prior, eta, (prior.size - 1) / epsilon, float(maximise == "rad"))
    return rero, rero - second
