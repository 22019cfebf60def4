"""Approximate guarantees: AGRR, ASUE, ABLH, AOLH and the Gaussian mechanisms GM and AGM.

The pairwise agreement and the estimators of AGRR, ASUE, ABLH and AOLH are tested with the pure
protocols (`test_attacks`, `test_mechanisms`). Printed numbers are met to half a unit of their last
digit, identities to rounding; an (epsilon, delta) guarantee is checked by summing the excess over
all reports. Counts and estimates are judged by fewer than 200 p-values with `laws.P_MIN`: a correct
package fails this file with probability below 1e-5.
"""

import itertools
import math

import numpy as np
import pytest
from laws import (
    APPROXIMATE,
    GAUSSIAN,
    P_MIN,
    build,
    chi_square_p,
    estimation_p,
    least_p,
    mechanism_of,
    table,
    unit,
)
from pytest import approx
from scipy import integrate, optimize, stats

from ldpkit import attacks
from ldpkit.attacks import TwoValueTest
from ldpkit.auditors import audit, expected
from ldpkit.exact import gaussian_success
from ldpkit.mechanisms import AGM, AGRR, ASUE, GM, OLH, make
from ldpkit.mechanisms.base import MAX_EPSILON, MIN_EPSILON
from ldpkit.mechanisms.histogram import gaussian_delta

GUESS, TIGHT = attacks.ATTACKS["guess"], attacks.ATTACKS["tight"]
SINGLE = [row for row in table("exact_more") if row["tau"] == row["d"] == "1"]
GAUSSIAN_EVENTS = [row for row in table("tight_more") if row["mechanism"] in GAUSSIAN]
DELTAS = [1e-12, 1e-9, 1e-5, 0.01, 0.5, 0.99]
BOTH = [*APPROXIMATE, *GAUSSIAN]


def rng(*seed):
    return np.random.default_rng(seed or 1)


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


def test_the_gaussian_delta_is_the_excess_of_one_density_over_the_other():
    for epsilon, delta in [(0.25, 0.01), (1, 1e-5), (4, 0.3)]:
        distance = math.sqrt(2) / AGM(10, epsilon, delta).scale
        start = epsilon / distance + distance / 2  # from there on the log ratio exceeds epsilon

        def more(x):
            return stats.norm.pdf(x, distance) - math.exp(epsilon) * stats.norm.pdf(x)

        ends = start, max(start, distance) + 12
        assert more(start) == approx(0, abs=1e-12), (epsilon, delta)
        total = integrate.quad(more, *ends, epsabs=0, epsrel=1e-11, limit=200)[0]
        assert total == approx(delta, rel=1e-8), (epsilon, delta)


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
    for delta in (0.1, 0.5, 0.99):  # its variance has no minimum
        with pytest.raises(ValueError, match="delta must be smaller for AOLH"):
            make("AOLH", k=5, epsilon=0.5, delta=delta)
        assert 0.5 < make("ABLH", k=5, epsilon=0.5, delta=delta).p < 1, delta


def excess(one, two, epsilon):
    """Largest ``P1(S) - e^epsilon P2(S)`` of all events S: the sum over the reports where it is
    positive."""
    return sum(max(0.0, p - math.exp(epsilon) * q) for p, q in zip(one, two))


def test_no_event_exceeds_the_guarantee_and_one_reaches_it():
    budgets = itertools.product([MIN_EPSILON, 0.5, 1, 4, 10], [1e-9, 1e-5, 0.02, 0.5, 0.99])
    for (epsilon, delta), k in itertools.product(budgets, (2, 3, 5)):
        wanted = approx(delta, rel=1e-9, abs=1e-15 * math.exp(epsilon))
        m = AGRR(k, epsilon, delta)
        first, second = ([m.p if y == v else m.q for y in range(k)] for v in (0, 1))
        assert sum(first) == approx(1, rel=1e-14), m
        assert excess(first, second, epsilon) == excess(second, first, epsilon) == wanted, m
        own = approx(epsilon, rel=1e-9, abs=1e-14 / (1 - delta))
        assert math.log((m.p - delta) / m.q) == own
        if k < 5:
            m, space = ASUE(k, epsilon, delta), [*itertools.product([0, 1], repeat=k)]
            rates = [np.where(np.arange(k) == value, m.p, m.q) for value in (0, 1)]
            laws = [np.where(space, rate, 1 - rate).prod(axis=1) for rate in rates]
            assert excess(*laws, epsilon) == wanted, m
    # the hashing protocols have a smaller delta
    rows = [(0.5, 1e-5), (0.5, 0.02), (2, 0.02), (4, 1e-3)]
    for label, (epsilon, delta) in itertools.product(["ABLH", "AOLH"], rows):
        m = build(label, 10, epsilon, delta)
        one, two, seen = np.indices((m.g,) * 3)  # cells of the two values, and the reported one
        other = (1 - m.p) / (m.g - 1)
        laws = (np.where(own == seen, m.p, other).ravel() / m.g**2 for own in (one, two))
        assert excess(*laws, epsilon) == approx((1 - 1 / m.g) * delta, rel=1e-8), m


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
    rows = [
        [row for row in table("tight") if row["mechanism"] == label][::2] for label in APPROXIMATE
    ]
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


def test_fast_samples_real_reports_and_exact_rates_agree():
    rows = [("GM", 0.5), ("AGM", 0.5), ("AGM", 3.0)]
    for k, (label, epsilon) in itertools.product([2, 3, 10, 100], rows):
        mechanism = build(label, k, epsilon)
        for number, attack in enumerate((GUESS, TwoValueTest(0.0), TwoValueTest(1.0))):
            assert least_p(attack, mechanism, 100 + number) > P_MIN, (mechanism, attack)


def test_gaussian_noise_and_estimates_have_their_laws():
    n, repeats, truth = 100, 1000, np.array([0.5, 0.3, 0.2, 0.0])
    values = np.tile(np.repeat(np.arange(4), (n * truth).astype(int)), repeats)
    for label in GAUSSIAN:
        m, own = build(label, 3, 1.0), rng(1).integers(0, 3, 60_000)
        noise = (m.perturb(own, rng(2)) - np.eye(3)[own]) / m.scale
        for column in noise.T:
            assert stats.kstest(column, "norm").pvalue > P_MIN, label
        quartiles = np.searchsorted(stats.norm.ppf([0.25, 0.5, 0.75]), noise)
        counts = np.bincount(quartiles @ [16, 4, 1], minlength=64)  # coordinates are independent
        assert chi_square_p(counts, np.full(64, 1 / 64)) > P_MIN, label
        m = build(label, 4, 1.0)
        estimates = [m.estimate(part) for part in np.split(m.perturb(values, rng(3)), repeats)]
        assert estimation_p(estimates, truth, m.variance(n, truth)) > P_MIN, label
        assert m.variance(n) == approx(m.scale**2 / n, rel=1e-15), label


def test_an_honest_approximate_mechanism_is_not_flagged_but_would_be_without_its_delta():
    for label in BOTH:
        mechanism = build(label, 10, 0.5, 0.02)
        result = audit(mechanism, "tight", trials=200_000)
        assert result.delta == 0.02 and result.claim == 0.5 and not result.violated, label
        if label in ("AGRR", "ASUE"):
            assert audit(mechanism, "tight", trials=200_000, delta=0.0).violated, label
        mechanism = build(label, 7, 1.0)
        assert make(label, **mechanism.parameters) == mechanism
        assert mechanism.published_delta == mechanism.delta
        for bad in (0, 1.0, -1e-9, math.nan, True):
            with pytest.raises(ValueError, match="delta must"):
                type(mechanism)(5, 0.5, bad)
        with pytest.raises(ValueError, match="delta"):
            make(label, k=7, epsilon=1.0)
    for cls, epsilon in [(GM, 1.0001), (GM, 0), (GM, math.nan), (AGM, 30.1), (AGM, 0), (AGM, "1")]:
        with pytest.raises(ValueError, match="epsilon must"):
            cls(5, epsilon, 1e-5)
