"""Estimate success (ReRo) and advantage (RAD) from simulated outputs; `ldpkit.attacks.reconstruct` computes them where outputs can
be listed.
"""

import math

import numpy as np
import scipy

from ldpkit.attacks.reconstruct import windows
from ldpkit.jit import kernel


def posterior_gain(loglik, prior):
    """Return posterior minus prior of every record, by which Algorithm 1 ranks the records for perfect reconstruction.

    Parameters
    ----------
    loglik : float array, shape (n, m)
        Log-likelihoods of the records for n outputs, up to a constant per output.
    prior : float array, shape (m,)
    """
    with np.errstate(divide="ignore"):
        return scipy.special.softmax(np.asarray(loglik, float) + np.log(prior), axis=1) - prior


def score_runs(gain, truth, prior, side=None):
    """Estimate ReRo and RAD at perfect reconstruction from simulated outputs.

    In every class of `side` the attack guesses the record with the largest gain if this gain is positive; otherwise it abstains.
    The second term of RAD is computed for each output over all targets, not simulated.

    Parameters
    ----------
    gain : float array, shape (n, m)
        From `posterior_gain` for the optimal attack, or any other score.
    truth : int array, shape (n,)
        The record behind each output.
    prior, side
        As in `ldpkit.attacks.reconstruct.rad_exact`.

    Returns
    -------
    dict
        ``rero`` and ``counted`` (RAD) from counted successes, and ``posterior``, the mean gain of the guesses. For gains of
        `posterior_gain` the latter estimates the RAD of the optimal attack with a far smaller variance; for other scores it has no
        meaning. Each has its standard error ``*_se``.
    """
    rows, labels = np.arange(len(truth)), np.zeros(len(prior), int) if side is None else np.asarray(side)
    guessed, total = np.zeros(gain.shape), np.zeros(len(truth))
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        best = members[gain[:, members].argmax(1)]  # no ties, because scores are continuous
        won = np.maximum(gain[rows, best], 0)
        guessed[rows, best] = won > 0
        total += won
    hits = guessed[rows, truth]
    samples = {"rero": hits, "counted": hits - guessed @ prior, "posterior": total}
    return {name: float(values.mean()) for name, values in samples.items()} | {
        f"{name}_se": float(v.std(ddof=1) / len(truth) ** 0.5) for name, v in samples.items()
    }


# --- sums with Laplace noise


@kernel
def _runs(prior, eta, scale, z, noise, hits, blinds):
    """Run Algorithm 1 on outputs of record z, one for each number of Laplace noise of scale 1.

    `hits` receives the successes, and `blinds` the probability that the same guess succeeds on an independent record.
    """
    m = prior.size
    weight, decay = np.empty(m), np.exp(-np.arange(m) / scale)
    blind, _ = windows(prior, eta)
    for r in range(noise.size):
        y = min(max(z + scale * noise[r], 0.0), m - 1.0)
        k = min(int(y), m - 2)
        left, right = math.exp((k - y) / scale), math.exp((y - k - 1) / scale)
        for i in range(m):
            weight[i] = prior[i] * (decay[k - i] * left if i <= k else decay[i - k - 1] * right)
        score, total = windows(weight, eta)
        g = np.argmax(score - blind * total)
        hits[r] = abs(z - g) <= eta
        blinds[r] = blind[g]


def laplace_sum_runs(prior, eta, epsilon, *, runs, rng):
    """Estimate ReRo and RAD of Algorithm 1, with standard errors ``*_se``, from `runs` outputs for each value with prior mass.

    `prior`, `eta` and `epsilon` are those of `ldpkit.attacks.reconstruct.laplace_sum_exact`.
    """
    scale, hits, blinds = (prior.size - 1) / epsilon, np.empty(runs), np.empty(runs)
    mean, variance = np.zeros(2), np.zeros(2)
    for z in np.flatnonzero(prior):
        noise = np.array([math.copysign(rng.standard_exponential(), rng.random() - 0.5) for _ in range(runs)])
        _runs(prior, eta, scale, int(z), noise, hits, blinds)
        for i, values in enumerate((hits, hits - blinds)):
            mean[i] += prior[z] * values.mean()
            variance[i] += prior[z] ** 2 * values.var(ddof=1) / runs
    return {"rero": mean[0], "rad": mean[1], "rero_se": variance[0] ** 0.5, "rad_se": variance[1] ** 0.5}
