"""Run the Adult experiment: a protocol estimates everybody's age while an attacker guesses the age of each person."""

import numpy as np

from ldpbook import datasets
from ldpkit import refine
from ldpkit.attacks import Guess
from ldpkit.rng import generator

BUDGETS = [2 + i / 4 for i in range(33)]
"""Budgets of the paper's figure."""


def ages(k):
    """Return how many people hold each of k values: all ages 0 to 99, or (k = 74) only those that occur, 17 to 90."""
    counts = datasets.adult_ages().reindex(range(17, 91) if k == 74 else range(k), fill_value=0).to_numpy()
    if counts.sum() != 48_842:
        raise ValueError(f"k must be 74, or at least 91 to hold every age, got {k}")
    return counts


def squared_error(estimate, truth):
    """Return the mean squared error after the paper's repair: negative estimates become 0, the rest is scaled to sum to 1."""
    repaired = np.maximum(estimate, 0)
    return float(np.mean((repaired / repaired.sum() - truth) ** 2))


def adult(protocol, k, epsilon, runs, real_runs, seed):
    """Return error and success rate over `runs` samples from the exact distributions and `real_runs` with real reports."""
    counts = ages(k)
    n, truth = counts.sum(), counts / counts.sum()
    mechanism = refine.build(protocol, k, epsilon, grid="published", asr="published")
    drawn = [squared_error(mechanism.sample_estimate(counts, generator(seed, "drawn", run)), truth) for run in range(runs)]
    errors, hits = populations(mechanism, k, real_runs, seed)
    return {
        "mse": np.mean(drawn), "mse_sd": np.std(drawn, ddof=1), "real_mse": np.mean(errors), "real_asr": np.mean(hits),
        "law_mse": mechanism.variance(n), "full_mse": float(mechanism.variance(n, 1 / k)),
        "asr": refine.success(mechanism), "law_asr": refine.success(mechanism, "published"), "n": n,
    }  # fmt: skip


def populations(mechanism, k, runs, seed):
    """Return two lists, the errors and the success rates of populations all of whose reports are made and attacked."""
    counts = ages(k)
    truth, values, errors, hits = counts / counts.sum(), np.repeat(np.arange(k), counts), [], []
    for run in range(runs):
        rng = generator(seed, "real", run)
        reports = mechanism.perturb(values, rng)
        errors.append(squared_error(mechanism.estimate(reports), truth))
        hits.append(float(np.mean(Guess().predict(mechanism, reports, rng) == values)))
    return errors, hits


def made(protocol, k, epsilon, runs, seed):
    """Return mean and deviation of the error and of the success rate over `runs` populations (at least 2) with real reports."""
    errors, hits = populations(refine.build(protocol, k, epsilon, grid="published", asr="published"), k, runs, seed)
    return {"mse": np.mean(errors), "mse_sd": np.std(errors, ddof=1), "asr": np.mean(hits), "asr_sd": np.std(hits, ddof=1)}
