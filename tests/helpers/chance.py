"""Provide exact p-values, the tables of expected values, and the grid of mechanisms for the tests.

Seeds are fixed, so that a test that passes keeps passing until the code changes. When the code
changes, every p-value must stay above `P_MIN`. No file compares more than 2,000 of them. By the
union bound, correct code makes a file fail with probability at most 1e-4. Counts are judged by
exact binomial and hypergeometric tails, never by a normal approximation.
"""

import csv
import math
from pathlib import Path

import numpy as np
from scipy import stats

from ldpkit.mechanisms import LHO, OLH, FaultyUE, Repeated, make

P_MIN = 1e-4 / 2000
DATA = Path(__file__).parents[1] / "data"
PURE = ["GRR", "SS", "SUE", "OUE", "BLH", "OLH", "SHE", "THE"]
APPROXIMATE = ["AGRR", "ASUE", "ABLH", "AOLH"]
GAUSSIAN = ["GM", "AGM"]
ADAPTIVE = {
    "ASS": ("omega", lambda k: max(1, k // 3)),
    "AUE": ("p", lambda k: 0.7),
    "ALH": ("g", lambda k: 4),
    "ATHE": ("theta", lambda k: 0.65),
}
"""The adaptive protocols, each with a parameter that no classical protocol has, for a domain of
this size.
"""
EVERY = [*PURE, *ADAPTIVE, *APPROXIMATE, "LHO", "FaultySUE", "FaultyOUE"]
DELTA = 0.02  # of the approximate protocols: large enough to show in counts


def rng(*seed):
    return np.random.default_rng(seed or 1)


def build(label, k, epsilon, delta=DELTA):
    """Return the mechanism with this label; LHO takes the hash range of OLH at this epsilon."""
    if label == "LHO":
        return LHO(k, OLH(k, epsilon).g)
    if label in ADAPTIVE:
        name, parameter = ADAPTIVE[label]
        return make(label, k=k, epsilon=epsilon, **{name: parameter(k)})
    if label in (*APPROXIMATE, *GAUSSIAN):
        return make(label, k=k, epsilon=epsilon, delta=delta)
    protocol = label.removeprefix("Faulty").removesuffix("_bug")
    if protocol != label:
        return FaultyUE(k, epsilon, protocol)
    return make(label, k=k, epsilon=epsilon)


def table(name):
    """Return the rows of a table in `tests/data` as texts, because digits carry the precision."""
    with open(DATA / f"{name}.csv", newline="") as file:
        return list(csv.DictReader(file))


def mechanism_of(row):
    """Return the mechanism that a row of a table describes."""
    k = 25 if row["k"] == "any" else int(row["k"])
    if row["mechanism"] == "LHO":
        return LHO(k, int(row["g"]))
    mechanism = build(row["mechanism"], k, float(row["eps"]), float(row["delta"]))
    return mechanism if row.get("tau", "1") == "1" else Repeated(mechanism, int(row["tau"]))


def unit(number, digits):
    """Return the unit of the last of `digits` significant digits (tables drop trailing zeros)."""
    return 10.0 ** (math.floor(math.log10(abs(number))) - digits + 1)


def binomial_p(count, n, rate):
    """Return the exact two-sided p-value of `count` under Binomial(n, rate)."""
    return min(1.0, 2 * min(stats.binom.cdf(count, n, rate), stats.binom.sf(count - 1, n, rate)))


def same_rate_p(one, n_one, two, n_two):
    """Return Fisher's exact two-sided p-value of two counts with a common rate, tails doubled."""
    law = stats.hypergeom(n_one + n_two, one + two, n_one)
    return min(1.0, 2 * min(law.cdf(one), law.sf(one - 1)))


def least_p(attack, mechanism, seed, real=40_000, simulated=200_000):
    """Return the least p-value of real reports of both inputs, against exact or simulated rates."""
    pair, rates, found = (0, mechanism.report_type.k - 1), attack.rates(mechanism), []
    for side, value in enumerate(pair):
        rng = np.random.default_rng([seed, side])
        reports = mechanism.perturb(mechanism.inputs(value, real), rng)
        seen = np.count_nonzero(attack.accepts(mechanism, reports, pair, rng))
        if rates is not None:
            found.append(binomial_p(seen, real, rates[side]))
        else:
            drawn = attack.sample(mechanism, simulated, side == 0, rng)
            found.append(same_rate_p(drawn, simulated, seen, real))
    return min(found)


def estimation_p(estimates, truth, variance):
    """Return the least p-value of estimates of many reports (rows) with this mean and variance."""
    n, estimates = len(estimates), np.asarray(estimates)
    z = (estimates.mean(axis=0) - truth) / np.sqrt(variance / n)
    ratio = (n - 1) * estimates.var(axis=0, ddof=1) / variance
    spread = 2 * np.minimum(stats.chi2.cdf(ratio, n - 1), stats.chi2.sf(ratio, n - 1))
    return min(2 * stats.norm.sf(np.abs(z)).min(), spread.min())


def chi_square_p(counts, probabilities):
    """Return the chi-square p-value, neighbouring cells merged until each expects at least 25."""
    cells = [[0.0, 0.0]]
    for got, wanted in zip(np.ravel(counts), np.ravel(probabilities) * np.sum(counts)):
        if cells[-1][1] >= 25:
            cells.append([0.0, 0.0])
        cells[-1][0] += got
        cells[-1][1] += wanted
    if cells[-1][1] < 25:  # the rest joins the last full cell
        got, wanted = cells.pop()
        cells[-1][0] += got
        cells[-1][1] += wanted
    got, wanted = np.array(cells).T
    return stats.chi2.sf(((got - wanted) ** 2 / wanted).sum(), len(cells) - 1)


RAD = list(csv.DictReader((DATA / "expected_rad.csv").open()))
"""Numbers of reconstruction games that were computed in another way."""
