"""Run one cell of the poisoning experiment: real reports, crafted reports, one estimate."""

import numpy as np

from ldpkit import refine
from ldpkit.attacks import MaximalGain
from ldpkit.rng import generator


def poisoned(protocol, k, epsilon, users, share, targets, frequency, runs, seed):
    """Return the mean gain over `runs` populations, its expectation, and a standard error from the variance of the estimates."""
    attack, gains, expected = MaximalGain(share, targets, frequency), [], []
    mechanism = refine.build(protocol, k, epsilon, grid="published", asr="published", poisoning=attack)
    for run in range(runs):
        rng = generator(seed, run)
        promoted = rng.random(users) < frequency
        values = np.where(promoted, rng.integers(0, targets, users), rng.integers(min(targets, k - 1), k, users))
        gain, mean = attack.simulate(mechanism, values, rng)
        gains.append(gain)
        expected.append(mean)
    # fake reports add no noise; genuine ones do, through the estimates that the fakes push down. Estimates of different
    # values are uncorrelated or negatively correlated, so the sum of variances bounds the variance of the sum.
    noise = share * np.sqrt(targets * mechanism.variance(users, frequency / targets) / runs)
    supported = attack.craft(mechanism, 1, generator(seed, "supported"))[1]
    return {"gain": np.mean(gains), "expected": np.mean(expected), "se": float(noise), "supported": supported}
