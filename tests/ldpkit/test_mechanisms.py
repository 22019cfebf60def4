"""Real clients and estimators of every mechanism.

Statistical tests: fixed seeds; counts are judged by exact binomial tails, joint laws by chi-square
with at least 25 expected per cell, noise by Kolmogorov-Smirnov. The file compares fewer than 1,000
p-values with `laws.P_MIN`, so a correct package fails it with probability below 1e-4 (see `laws`).
"""

import itertools
import math

import numpy as np
from laws import EVERY, P_MIN, binomial_p, build, chi_square_p
from pytest import approx
from scipy import stats

from ldpkit.mechanisms import GRR, OUE, SHE, SS, THE
from ldpkit.mechanisms.base import MAX_EPSILON

SUPPORT = [label for label in EVERY if label != "SHE"]
BITS = ["SUE", "OUE", "THE", "ASUE", "FaultySUE", "FaultyOUE"]
N = 200_000


def rng(seed=1):
    return np.random.default_rng(seed)


# --- reports --------------------------------------------------------------------------------------


def test_each_value_is_supported_as_often_as_p_and_q_say():
    for k, label in itertools.product([2, 3, 10], SUPPORT):
        mechanism, own, n = build(label, k, 1.0), k // 2, 50_000
        counts = mechanism.support_counts(mechanism.perturb(np.full(n, own), rng(k)))
        for value, count in enumerate(counts):
            assert binomial_p(count, n, mechanism.p if value == own else mechanism.q) > P_MIN, value


def test_reports_have_the_promised_shape_and_type():
    rows = [("GRR", (6,), "i"), ("SS", (6, 3), "i"), ("SUE", (6, 8), "u"), ("OUE", (6, 8), "u"), ("THE", (6, 8), "u"),
        ("SHE", (6, 8), "f"), ("BLH", (6,), "V"), ("LHO", (6,), "V")]  # fmt: skip
    for label, shape, kind in rows:
        mechanism = build(label, 8, 0.5)
        reports = mechanism.perturb([0, 1, 2, 3, 6, 7], rng())
        assert reports.shape == shape and reports.dtype.kind == kind


def test_grr_reports_follow_their_whole_law():
    for k, own in [(2, 0), (2, 1), (5, 0), (5, 3)]:
        grr = GRR(k, 1.0)
        counts = np.bincount(grr.perturb(np.full(N, own), rng(7)), minlength=k)
        assert (
            chi_square_p(counts, [grr.p if value == own else grr.q for value in range(k)]) > P_MIN
        )


def subset_law(ss, own):
    """Probability of every ordered report: the set's probability, spread evenly over its orders."""
    w, inside, outside = ss.omega, math.comb(ss.k - 1, ss.omega - 1), math.comb(ss.k - 1, ss.omega)
    reports = list(itertools.permutations(range(ss.k), w))
    law = [
        (ss.p / inside if own in r else (1 - ss.p) / outside) / math.factorial(w) for r in reports
    ]
    return reports, np.array(law)


def test_ss_reports_follow_their_whole_law_in_every_order():
    rows = [(2, 1.0, 1, 1), (5, 0.5, 0, 2), (5, 0.5, 4, 2), (6, 0.1, 2, 3)]
    for k, epsilon, own, size in rows:
        ss = SS(k, epsilon)
        assert ss.omega == size
        reports, law = subset_law(ss, own)
        assert law.sum() == approx(1, abs=1e-12), (k, epsilon, own)
        index = {report: i for i, report in enumerate(reports)}
        found = [index[tuple(report)] for report in ss.perturb(np.full(N, own), rng(8)).tolist()]
        assert chi_square_p(np.bincount(found, minlength=law.size), law) > P_MIN, (k, epsilon, own)


def test_successive_ss_reports_are_independent():
    ss = SS(5, 0.5)
    reports, law = subset_law(ss, 2)
    code = np.array([5 * a + b for a, b in reports])
    found = np.searchsorted(np.sort(code), ss.perturb(np.full(2 * N, 2), rng(9)) @ [5, 1])
    law = law[np.argsort(code)]
    joint = np.bincount(found[0::2] * law.size + found[1::2], minlength=law.size**2)
    assert chi_square_p(joint, np.outer(law, law)) > P_MIN


def test_the_first_ss_report_of_a_call_follows_the_law_too():
    ss, generator = SS(5, 0.5), rng(10)
    reports, law = subset_law(ss, 0)
    found = [reports.index(tuple(ss.perturb([0], generator)[0].tolist())) for _ in range(20_000)]
    assert chi_square_p(np.bincount(found, minlength=law.size), law) > P_MIN


def test_the_place_of_the_true_value_in_an_ss_report_is_uniform():
    for k, epsilon in [(10, 0.5), (30, 1.0), (100, 0.25)]:
        ss = SS(k, epsilon)
        reports = ss.perturb(np.full(100_000, 3), rng(11))
        places = np.nonzero(reports == 3)[1]
        assert (
            chi_square_p(np.bincount(places, minlength=ss.omega), np.full(ss.omega, 1 / ss.omega))
            > P_MIN
        ), (k, epsilon)
        assert (np.diff(np.sort(reports, axis=1)) > 0).all(), (k, epsilon)


def test_bits_are_jointly_independent():
    for label in BITS:
        mechanism, own = build(label, 3, 1.0), 1
        reports = mechanism.perturb(np.full(N, own), rng(12))
        rates = [mechanism.p if value == own else mechanism.q for value in range(3)]
        law = [
            math.prod(r if bit else 1 - r for r, bit in zip(rates, bits))
            for bits in itertools.product([0, 1], repeat=3)
        ]
        assert chi_square_p(np.bincount(reports @ [4, 2, 1], minlength=8), law) > P_MIN, label


def test_she_noise_is_laplace_on_every_coordinate_and_independent():
    for epsilon in [0.1, 1.0, 10.0]:
        she = SHE(3, epsilon)
        noise = (she.perturb(np.full(N, 1), rng(13)) - [0, 1, 0]) / she.scale
        for column in noise.T:
            assert stats.kstest(column, "laplace").pvalue > P_MIN, epsilon
        quartiles = np.searchsorted([-math.log(2), 0, math.log(2)], noise)
        assert (
            chi_square_p(np.bincount(quartiles @ [16, 4, 1], minlength=64), np.full(64, 1 / 64))
            > P_MIN
        ), epsilon


def test_the_bits_are_the_thresholded_noisy_histogram():
    the = THE(4, 2.0)
    noisy = SHE(4, 2.0).perturb(np.full(N, 2), rng(14)) > the.theta
    for value, count in enumerate(noisy.sum(axis=0)):
        assert binomial_p(count, N, the.p if value == 2 else the.q) > P_MIN


# --- the server -----------------------------------------------------------------------------------


def test_variance_of_a_rare_value_is_the_default():
    oue = OUE(10, 1.0)
    assert (
        oue.variance(100)
        == oue.variance(100, 0.0)
        == approx(4 * math.e / (math.e - 1) ** 2 / 100, rel=1e-12)
    )


def test_estimates_of_a_noiseless_protocol_are_the_frequencies():
    values = np.repeat([0, 1, 4], [5, 3, 2])
    for mechanism in (GRR(5, MAX_EPSILON), SS(5, MAX_EPSILON)):
        assert mechanism.estimate(mechanism.perturb(values, rng())) == approx(
            [0.5, 0.3, 0, 0, 0.2], abs=1e-9
        )
