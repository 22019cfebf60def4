"""Compute the values of the page on other priors: continuous records under the exponential mechanism, several reports per record.

Source: Guerra-Balboa et al., "Understanding Disclosure Risk in Differential Privacy", Theorems 4.2 and 4.3. The artefact of the
paper has a nested Monte Carlo estimate of Theorem 4.3 for continuous priors. We do not know its settings, so the settings here
are ours.
"""

import itertools
import math

import numpy as np
import scipy
from simulated import posterior_gain, score_runs

from ldpkit.attacks.reconstruct import rad_exact
from ldpkit.auditors import rad_bounds as bounds
from ldpkit.mechanisms import GRR
from ldpkit.rng import generator

_CHUNK = 250  # outputs that are scored at once


def mass(epsilon, z):
    """Return the integral of ``exp(-epsilon |theta - z| / 2)`` over the outputs theta in [0, 1]."""
    return 2 / epsilon * (2 - np.exp(-epsilon * z / 2) - np.exp(-epsilon * (1 - z) / 2))


def density(epsilon, theta, z):
    """Return the density of the exponential mechanism: its output is a number in [0, 1], more likely close to the record z in [0,
    1].
    """
    return np.exp(-epsilon * np.abs(theta - z) / 2) / mass(epsilon, z)


def publish(epsilon, z, rng):
    """Return real outputs of the exponential mechanism, sampled by the inverse of its distribution function."""
    half, u = epsilon / 2, rng.random(z.shape)
    below = -np.expm1(-half * z) / half  # mass of the outputs below the record
    at = u * mass(epsilon, z)
    left = np.log(np.maximum(at * half + np.exp(-half * z), 1e-300)) / half + z
    right = z - np.log1p(-np.minimum((at - below) * half, 1 - 1e-16)) / half
    return np.clip(np.where(at <= below, left, right), 0, 1)


def exact(prior, epsilon, eta, cells=1000):
    """Return Theorem 4.3 for a continuous prior on [0, 1] and guesses within `eta`.

    The integral uses the midpoint rule, and the guesses lie at the ends of its cells.
    """
    edges = np.linspace(0, 1, cells + 1)
    z, weight, total = (edges[1:] + edges[:-1]) / 2, np.diff(prior.cdf(edges)), 0.0
    ends = [np.clip((edges + way * eta) * cells, 0, cells) for way in (-1, 1)]
    places = [(end.astype(int), np.minimum(end.astype(int) + 1, cells), end % 1) for end in ends]
    for theta in np.array_split(z, cells // _CHUNK):
        law = density(epsilon, theta[:, None], z) * weight
        gain = np.pad(np.cumsum(law - law.sum(1, keepdims=True) * weight, axis=1), ((0, 0), (1, 0)))
        low, high = (gain[:, i] * (1 - part) + gain[:, j] * part for i, j, part in places)
        total += (high - low).max(1).sum()
    return float(total / cells)


def nested(prior, epsilon, eta, outer, inner, seed):
    """Return the same value by nested Monte Carlo, with its standard error over `outer` real outputs.

    For each output, `inner` records of the prior replace the inner integral, and as many replace the guesses.
    """
    rng = generator(seed, "nested", epsilon, outer, inner)
    theta = publish(epsilon, prior.rvs(outer, random_state=rng), rng)
    best = []
    for part in np.array_split(theta, max(1, outer * inner // 250_000)):
        z = np.sort(prior.rvs((len(part), inner), random_state=rng), axis=1)
        law = density(epsilon, part[:, None], z)
        gain = np.pad(np.cumsum(law / law.mean(1, keepdims=True) - 1, axis=1), ((0, 0), (1, 0))) / inner
        guesses = prior.rvs((len(part), inner), random_state=rng)
        best += [(sums[np.searchsorted(row, guess + eta, "right")] - sums[np.searchsorted(row, guess - eta)]).max()
                 for row, sums, guess in zip(z, gain, guesses)]  # fmt: skip
    return float(np.mean(best)), float(np.std(best, ddof=1) / outer**0.5)


def counts_law(mechanism, rounds):
    """Return the distribution of how often each value is reported in so many rounds of GRR, for each true value: array (m,
    outcomes).
    """
    m = mechanism.k
    cuts = np.array(list(itertools.combinations(range(rounds + m - 1), m - 1))).reshape(-1, m - 1)
    counts = np.diff(np.column_stack([np.full(len(cuts), -1), cuts, np.full(len(cuts), rounds + m - 1)]), axis=1) - 1
    ways = scipy.special.gammaln(rounds + 1) - scipy.special.gammaln(counts + 1).sum(1)
    return np.exp(ways + rounds * math.log(mechanism.q) + counts.T * math.log(mechanism.p / mechanism.q))


def composed(m, epsilon, rounds, runs, seed):
    """Return the advantage of an adversary who knows the record, after several reports of it: bound, exact, and from real
    reports.
    """
    mechanism, uniform = GRR(m, epsilon), np.full(m, 1 / m)
    tv = bounds.total_variation(bounds.tradeoff_support(mechanism))
    rng = generator(seed, "composed")
    truth = np.arange(runs) % m
    seen = sum((mechanism.perturb(truth, rng)[:, None] == np.arange(m)).astype(float) for _ in range(rounds))
    found = score_runs(posterior_gain(seen * math.log(mechanism.p / mechanism.q), uniform), truth, uniform, range(m))
    return {
        "bound": bounds.rad_thm42(bounds.tv_composed(tv, rounds), 1 / m),
        "exact": rad_exact(counts_law(mechanism, rounds), uniform, side=range(m)),
        "mean": found["counted"], "se": found["counted_se"],
    }  # fmt: skip


def as_drawn(table, here, prior):
    """Return the positions of runs whose records have the frequencies of `prior`, namely the first runs of each record."""
    of = [np.flatnonzero(here & (table["truth"] == z)) for z in range(len(prior))]
    most = min(len(own) / share for own, share in zip(of, prior) if share)
    return np.concatenate([own[: math.floor(most * share + 1e-9)] for own, share in zip(of, prior)])
