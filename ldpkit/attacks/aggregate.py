"""Reconstruction of one value behind a Laplace-noised sum: exact success and advantage.

The values are ``0..m-1``, and the guess z' succeeds if ``|z - z'| <= eta``. All
other values of the sum are known, so that the output is z plus noise. The
likelihood ratios do not change outside of ``[0, m-1]``. Therefore nothing is
lost if the output is truncated to an interval that contains this one.

Inside one unit cell the score of a guess is a straight line in an exponential of
the output. The optimal attack therefore follows the upper envelope of m lines,
whose breaks are computed one after the other.

Source: Guerra-Balboa et al., PVLDB 19(7), 2026, section 7.2 (Figure 4).
"""

import math
from typing import Annotated

import numpy as np

from .. import checks
from ..jit import kernel
from ..types import Array, ArrayLike, Rates, Rng
from .reconstruct import checked_prior

__all__ = ["laplace_sum_exact", "laplace_sum_runs"]


@kernel
def _windows(weight: Array, eta: int) -> tuple[Array, float]:
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
    values, (blind, _) = np.arange(m), _windows(prior, eta)
    first, second = 0.0, 0.0
    for edge in (0, m - 1):  # outputs at or beyond an end of the range
        up, total = _windows(prior * np.exp(-np.abs(values - edge) / scale) / 2, eta)
        j = np.argmax(up - baseline * blind * total)
        first += up[j]
        second += blind[j] * total
    for k in range(m - 1):
        weight = prior * np.exp(-np.abs(values - k) / scale)
        up, total_up = _windows(np.where(values > k, weight, 0), eta)
        down, total_down = _windows(np.where(values > k, 0, weight), eta)
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


@kernel
def _runs(
    prior: Array, eta: int, scale: float, z: int, runs: int, rng: Rng, hits: Array, blinds: Array
) -> None:
    """Simulate Algorithm 1 on outputs of record z.

    `hits` receives the successes, and `blinds` the probability that the same guess succeeds on an
    independent record.
    """
    m = prior.size
    weight, decay = np.empty(m), np.exp(-np.arange(m) / scale)
    blind, _ = _windows(prior, eta)
    for r in range(runs):
        noise = math.copysign(rng.standard_exponential(), rng.random() - 0.5)
        y = min(max(z + scale * noise, 0.0), m - 1.0)
        k = min(int(y), m - 2)
        left, right = math.exp((k - y) / scale), math.exp((y - k - 1) / scale)
        for i in range(m):
            weight[i] = prior[i] * (decay[k - i] * left if i <= k else decay[i - k - 1] * right)
        score, total = _windows(weight, eta)
        g = np.argmax(score - blind * total)
        hits[r] = abs(z - g) <= eta
        blinds[r] = blind[g]


def _checked(prior: ArrayLike, eta: int, epsilon: float) -> tuple[Array, int, float]:
    """Return prior, eta and the scale of the noise; the sensitivity is the largest value."""
    prior, eta = checked_prior(prior), checks.integer("eta", eta, 0)
    return prior, eta, (prior.size - 1) / checks.real("epsilon", epsilon, 0, closed="()")


def laplace_sum_exact(
    prior: ArrayLike, eta: int, epsilon: float, *, maximise: str = "rad"
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
    baseline = float(checks.one_of("maximise", maximise, ("rad", "rero")) == "rad")
    rero, second = _exact(*_checked(prior, eta, epsilon), baseline)
    return rero, rero - second


@checks.checked
def laplace_sum_runs(
    prior: ArrayLike,
    eta: int,
    epsilon: float,
    *,
    runs: Annotated[int, checks.rule(checks.integer, 2)],
    rng: checks.Generator,
) -> dict[str, float]:
    """Estimate ReRo and RAD of Algorithm 1 from simulated outputs.

    Parameters
    ----------
    prior, eta, epsilon
        As in `laplace_sum_exact`.
    runs : int
        Outputs for each value that has prior mass, at least 2 (the paper: 1,000).
    rng : numpy.random.Generator

    Returns
    -------
    dict
        ``rero``, ``rad`` and their standard errors ``*_se``.
    """
    prior, eta, scale = _checked(prior, eta, epsilon)
    hits, blinds = np.empty(runs), np.empty(runs)
    mean, variance = np.zeros(2), np.zeros(2)
    for z in np.flatnonzero(prior):
        _runs(prior, eta, scale, int(z), runs, rng, hits, blinds)
        for i, values in enumerate((hits, hits - blinds)):
            mean[i] += prior[z] * values.mean()
            variance[i] += prior[z] ** 2 * values.var(ddof=1) / runs
    return {
        "rero": mean[0],
        "rad": mean[1],
        "rero_se": variance[0] ** 0.5,
        "rad_se": variance[1] ** 0.5,
    }
