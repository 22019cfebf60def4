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

import numpy as np

from .. import checks
from ..jit import kernel
from ..types import Array, ArrayLike, Rates
from .reconstruct import checked_prior

__all__ = ["laplace_sum_exact", "windows"]


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
    prior, eta = checked_prior(prior), checks.integer("eta", eta, 0)
    scale = (prior.size - 1) / checks.real("epsilon", epsilon, 0, closed="()")
    baseline = float(checks.one_of("maximise", maximise, ("rad", "rero")) == "rad")
    rero, second = _exact(prior, eta, scale, baseline)
    return rero, rero - second
