"""Compute what the best event gives for five mechanisms of the DP-Sniper suite, by exact
probabilities.

The report of these mechanisms is one of a few outcomes, or one number: the place of the first
number above the threshold, the place of the largest number, or that number (which is divided into
narrow intervals). By Neyman and Pearson, the best event collects the outcomes with the largest
ratio of probabilities. The expected bound falls below the logarithm of the ratio by a quantile of
its error.
"""

import numpy as np
import scipy
from mechanisms import SUITE
from sniper import ALPHA, LEARN, TRIED

COUNTED = 1 - sum(share for _, share in TRIED)
"""Share of the budget that counts the declared event."""


def below(y, scale):
    """Return the distribution function of Laplace noise."""
    return scipy.stats.laplace.cdf(y, scale=scale)


def sparse(x, rho, noise, t):
    """Return the probability of each place at which the sparse vector technique stops, or of none.

    Given the noisy threshold, the comparisons are independent.
    """
    threshold, step = np.linspace(-900, 900, 360_001, retstep=True)
    left = scipy.stats.laplace.pdf(threshold - t, scale=rho) * step
    found = []
    for number in x:
        stays = below(threshold - number, noise)
        found.append((left * (1 - stays)).sum())
        left = left * stays
    return np.array([*found, left.sum()])


def place(x, scale):
    """Return the probability of each place to hold the largest number with exponential noise."""
    noise = np.linspace(0, 900, 360_001)
    found = []
    for i, number in enumerate(x):
        others = [
            1 - np.exp(-np.maximum(number + noise - y, 0) / scale)
            for j, y in enumerate(x)
            if j != i
        ]
        found.append(np.trapezoid(np.exp(-noise / scale) / scale * np.prod(others, axis=0), noise))
    return np.array(found)


def largest(x, scale):
    """Return the probability that the largest number with Laplace noise lies in each interval."""
    edges = np.linspace(-400, 1500, 40_001)
    return np.diff(np.prod([below(edges - number, scale) for number in x], axis=0))


EXACT = {
    "NoisyMax2": lambda x: place(x, 20.0),
    "NoisyMax3": lambda x: largest(x, 20.0),
    "SVT1": lambda x: sparse(x, 20.0, 40.0, 0.5),
    "SVT2": lambda x: sparse(x, 20.0, 40.0, 1.0),
    "SVT4": lambda x: sparse(x, 40.0, 40 / 3, 1.0),
}
"""Exact probabilities of the outcomes of a mechanism with input x; its noise as in `SUITE`."""


def best(p, q, n):
    """Return the largest expected bound by n reports of either input, its error, and the event's
    probability and log ratio."""
    order = np.argsort(-p / np.maximum(q, 1e-300))
    ends = np.cumsum(p[order])[:-1], np.cumsum(q[order])[:-1]
    clear = (ends[0] > 1e-6) & (ends[1] > 0) & (ends[0] < 1 - 1e-12)
    p, q = (end[clear] for end in ends)
    error = np.sqrt(((1 - p) / p + (1 - q) / q) / n)
    expected = np.log(p / q) + scipy.special.ndtri(ALPHA) * error
    at = int(expected.argmax())
    return expected[at], error[at], p[at], np.log(p / q)[at]


def rows(draws, ours):
    """Yield one row per mechanism; `ours` are the measured bounds by name."""
    for name, exact in EXACT.items():
        *_, pairs, published, _ = SUITE[name]
        laws = [(exact(x), exact(y), x, y) for x, y in pairs]
        both = laws + [(q, p, y, x) for p, q, x, y in laws]
        n = (draws - LEARN) * COUNTED
        (bound, error, p, ratio), x, y = max(
            ((best(p, q, n), x, y) for p, q, x, y in both), key=lambda row: row[0][0]
        )
        theirs = max(published[:2])
        yield {
            "mechanism": name,
            "first": " ".join(f"{v:g}" for v in x),
            "second": " ".join(f"{v:g}" for v in y),
            "probability": p,
            "log ratio": ratio,
            "expected bound": bound,
            "standard error": error,
            "DP-Sniper": theirs,
            "chance to reach it": scipy.special.ndtr((bound - theirs) / error),
            "lower": ours[name],
        }
