"""Attack people who report twice: find the second report of a person among many, and detect whether the value has changed.

All reports are real. A report is ``R`` times likelier under a value that it supports than under a value that it does not support.
R is e^epsilon, or less where a protocol does not spend its whole budget, as with thresholds.
"""

import math

import numpy as np
import scipy
from adult import ages

from ldpkit import refine
from ldpkit.rng import generator


def evidence(mechanism, reports):
    """Return the likelihood of each report for every value, up to a factor for each report, as an array (n, k)."""
    supported = np.asarray(mechanism.report_type.tally(reports)) > 0
    return np.where(supported, math.exp(mechanism.report_type.loss((0, 1))), 1.0)


def protocol(name, k, epsilon):
    """Return a protocol by its name, with the parameter that the paper's choice gives."""
    return refine.build(name, k, epsilon, grid="published", asr="published")


def linked(name, k, epsilon, people, trials, seed):
    """Return how often the second report of a person is found among those of so many people, whose ages are those of Adult."""
    mechanism, rng = protocol(name, k, epsilon), generator(seed, "linked")
    prior = ages(k) / ages(k).sum()
    values = rng.choice(k, (trials, people), p=prior)
    target = rng.integers(0, people, trials)
    first = evidence(mechanism, mechanism.perturb(values[np.arange(trials), target], rng))
    second = evidence(mechanism, mechanism.perturb(values.ravel(), rng)).reshape(trials, people, k)
    fit = np.einsum("tpv,tv->tp", second, first * prior) / (second @ prior)
    fit = np.round(fit, 12)  # equal evidence must compare as equal, whatever the order of its sum
    best = fit == fit.max(axis=1, keepdims=True)
    hit = best[np.arange(trials), target] / best.sum(axis=1)  # the expectation under a fair draw among ties
    same = values == values[np.arange(trials), target, None]
    return {"linked": hit.mean(), "linked_se": hit.std(ddof=1) / trials**0.5, "ceiling": (1 / same.sum(axis=1)).mean()}


def odds(one, two):
    """Return how much likelier two reports are for one common value than for two different values, if all values are equally
    frequent.
    """
    k, both = one.shape[1], (one * two).sum(axis=1)
    return (k - 1) * both / (one.sum(axis=1) * two.sum(axis=1) - both)


def changed(name, k, epsilon, trials, seed):
    """Return how much more often the best test decides *unchanged* for an unchanged value than for a changed one."""
    mechanism, rng = protocol(name, k, epsilon), generator(seed, "changed")
    said = []
    for move in (0, 1):
        values = rng.integers(0, k, trials)
        later = (values + move * rng.integers(1, k, trials)) % k
        said.append(odds(*(evidence(mechanism, mechanism.perturb(v, rng)) for v in (values, later))) > 1)
    same, other = (float(np.mean(s)) for s in said)
    error = math.sqrt((same * (1 - same) + other * (1 - other)) / trials)
    return {"advantage": same - other, "advantage_se": error}


def changed_exact(mechanism):
    """Return the same advantage for subset selection, from the exact distribution of how many values two subsets share."""
    k, size, p = mechanism.k, mechanism.omega, mechanism.report_type.p
    shared, law = np.arange(size + 1), 0.0
    for one, two in ((1, 1), (1, 0), (0, 1), (0, 0)):  # whether each subset holds the true value
        weight = (p if one else 1 - p) * (p if two else 1 - p)
        law = law + weight * scipy.stats.hypergeom(k - 1, size - one, size - two).pmf(shared - (one and two))
    ratio = math.exp(mechanism.epsilon)
    both = ratio**2 * shared + ratio * 2 * (size - shared) + k - 2 * size + shared
    likelier = (k - 1) * both / ((ratio * size + k - size) ** 2 - both)
    return float((law * np.maximum(1 - 1 / likelier, 0)).sum())


def cell(name, k, epsilon, people, trials, seed):
    """Return the results of both attacks on one protocol, with its success rate and variance, which the paper weighs."""
    mechanism = protocol(name, k, epsilon)
    known = {"exact": changed_exact(mechanism) if name in ("SS", "ASS") else None}
    return (
        linked(name, k, epsilon, people, trials, seed)
        | changed(name, k, epsilon, trials, seed)
        | refine.scores(mechanism)
        | known
    )
