"""Approximate guarantees: AGRR, ASUE, ABLH, AOLH and the Gaussian mechanisms GM and AGM. Printed
numbers are met to half a unit of their last digit, identities to rounding. Nothing here is
random."""

import itertools
import math

import numpy as np
from chance import APPROXIMATE, GAUSSIAN, build, mechanism_of, rng, table, unit
from pytest import approx
from scipy import integrate, optimize, stats

from ldpkit import attacks
from ldpkit.attacks import TwoValueTest
from ldpkit.auditors import expected
from ldpkit.guess_success import gaussian_success
from ldpkit.mechanisms import AGM, GM, OLH, make
from ldpkit.mechanisms.base import MAX_EPSILON, MIN_EPSILON
from ldpkit.mechanisms.histogram import gaussian_delta

GUESS, TIGHT = attacks.ATTACKS["guess"], attacks.ATTACKS["tight"]
SINGLE = [row for row in table("exact_more") if row["tau"] == row["d"] == "1"]
GAUSSIAN_EVENTS = [row for row in table("tight_more") if row["mechanism"] in GAUSSIAN]
DELTAS = [1e-12, 1e-9, 1e-5, 0.01, 0.5, 0.99]
BOTH = [*APPROXIMATE, *GAUSSIAN]


def test_noise_of_the_gaussian_mechanisms():
    rows = [(0.25, 18.78857, 5), (0.5, 9.944505, 6), (0.75, 6.859748, 6), (1, 5.275910, 6),
            (2, 2.819677, 6), (4, 1.528994, 6), (6, 1.079943, 6), (10, 0.706949, 6)]  # fmt: skip
    for epsilon, sigma, digits in rows:
        found = AGM(10, epsilon, 1e-5).scale
        assert found == approx(sigma, abs=0.501 * 10**-digits), epsilon
    rows = [(0.25, 27.406357, 0.1656), (0.5, 13.703179, 0.3526), (0.75, 9.135452, 0.5485), (1, 6.851589, 0.7510)]  # fmt: skip
    for epsilon, sigma, real in rows:  # the classical noise really gives a smaller epsilon
        scale = GM(10, epsilon, 1e-5).scale
        assert scale == approx(sigma, abs=0.501e-6), epsilon
        found = optimize.brentq(lambda e: gaussian_delta(e, scale) - 1e-5, 1e-3, 2, xtol=1e-12)
        assert found == approx(real, abs=0.501e-4), epsilon
    budgets = [MIN_EPSILON, 1e-3, 0.25, 1, 4, 10, 20, MAX_EPSILON]
    for delta, epsilon in itertools.product(DELTAS, budgets):
        low, scale, high = (AGM(10, epsilon, delta).scale * x for x in (0.99, 1, 1.01))
        # the equation is a difference of two numbers below 1: it is known to a few roundings only
        assert gaussian_delta(epsilon, scale) == approx(delta, rel=1e-9, abs=2e-15), epsilon
        assert gaussian_delta(epsilon, low) > delta > gaussian_delta(epsilon, high), epsilon
    for epsilon, delta in itertools.product([0.1, 0.5, 1], [1e-9, 1e-5, 0.02, 0.5]):
        scale = GM(10, epsilon, delta).scale
        assert scale > AGM(10, epsilon, delta).scale, (epsilon, delta)
        assert gaussian_delta(epsilon, scale) < delta, epsilon


def test_hash_range_of_aolh_is_the_published_expression_and_mostly_that_of_olh():
    budgets = [0.25, 0.5, 0.75, 1, 2, 4, 6, 10]
    for delta, epsilon in itertools.product([1e-7, 1e-6, 1e-5, 1e-4, 0.01], budgets):
        e = math.exp(epsilon)
        if delta * e >= 0.1:  # the root is not real
            continue
        # the expression of the specification as printed: it loses digits for small delta
        root = math.sqrt(e - 1) * math.sqrt((1 - delta) * (e + delta - 9 * e * delta - 1))
        real = (-3 * e * delta - root + e + 3 * delta - 1) / (2 * delta)
        g, rounding = make("AOLH", k=10, epsilon=epsilon, delta=delta).g, 1e-15 * e / delta
        ends = [max(2, round(real + sign * rounding)) for sign in (-1, 1)]
        assert ends[0] <= g <= ends[1], (delta, epsilon)
        if (delta <= 1e-4 and epsilon <= 1) or (delta == 1e-5 and epsilon < 10):
            assert g == OLH(10, epsilon).g, (delta, epsilon)
    for delta in (0.1, 0.5, 0.99):  # where the variance of AOLH has no minimum
        assert 0.5 < make("ABLH", k=5, epsilon=0.5, delta=delta).p < 1, delta


def test_rates_and_the_expected_statistic_equal_the_oracle_for_every_delta():
    assert {row["mechanism"] for row in SINGLE} == set(BOTH) and len(SINGLE) > 400
    for row in SINGLE:
        printed = float(row["TPR"]), float(row["FPR"])
        assert GUESS.rates(mechanism_of(row)) == approx(printed, rel=1e-8), row
    for label in BOTH:
        for row in [row for row in SINGLE if row["mechanism"] == label][::3]:
            columns = (("eps_emp_mean", 5), ("eps_emp_sd", 3))
            for found, (name, digits) in zip(expected(mechanism_of(row)), columns):
                printed = float(row[name])
                assert found == approx(printed, abs=0.51 * unit(printed, digits)), row
    rows = [[r for r in table("tight") if r["mechanism"] == label][::2] for label in APPROXIMATE]
    for row in [*itertools.chain(*rows), *GAUSSIAN_EVENTS]:
        mechanism, printed = mechanism_of(row), float(row["eps_emp_mean_T1e6"])
        found = expected(mechanism, "tight")[0]
        assert found == approx(printed, abs=0.51 * unit(printed, 5)), row
        if row["mechanism"] in GAUSSIAN:
            test = TIGHT.choose(mechanism, 10**6, 0.0025)
            assert test.threshold == approx(float(row["event"].split(">")[1]), abs=1e-9), row
            for found, rate in zip(test.rates(mechanism), (float(row["P1"]), float(row["P2"]))):
                assert found == approx(rate, abs=0.501 * unit(rate, 6)), row


def test_the_gaussian_event_is_a_threshold_on_the_difference_of_two_coordinates():
    for label, threshold in itertools.product(GAUSSIAN, [0.0, 1.5, 3.0]):
        m, test = build(label, 5, 1.0), TwoValueTest(threshold)
        spread = math.sqrt(2) * m.scale
        wanted = [stats.norm.sf(threshold, s / spread) for s in (1, -1)]
        assert test.rates(m) == approx(wanted, rel=1e-12)
        edge = [0.3 + spread * threshold + end for end in (1e-9, -1e-9)]
        reports = np.array([[0.0, at, 0.0, 0.3, 9.0] for at in edge])
        assert test.accepts(m, reports, (1, 3)).tolist() == [True, False], (m, threshold)
        # the guess is the largest coordinate, however large
        reports = np.array([[5.0, 7.0, 6.0], [-3.0, -2.0, -1.0], [0.1, 0.0, 0.05]])
        assert GUESS.predict(build(label, 3, 1.0), reports, rng()).tolist() == [1, 2, 0], label


def test_the_success_on_gaussian_noise_equals_adaptive_quadrature():
    for k, sigma in itertools.product([2, 3, 10, 1000], [0.1, 1.0, 5.0, 100.0]):

        def density(z):
            return stats.norm.pdf(z) * math.exp((k - 1) * stats.norm.logcdf(z + 1 / sigma))

        given = {"epsabs": 0, "epsrel": 1e-11, "limit": 200, "points": [-1 / sigma, 0, 3]}
        total = integrate.quad(density, -12, 12, **given)[0]
        assert gaussian_success(sigma, k) == approx(total, rel=1e-9), (k, sigma)
        closed = stats.norm.cdf(1 / (sigma * math.sqrt(2)))
        assert gaussian_success(sigma, 2) == approx(closed, rel=1e-12), sigma
