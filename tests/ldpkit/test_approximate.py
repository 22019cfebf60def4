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
from ldpkit.kinds.laws import gaussian_success
from ldpkit.mechanisms import AGM, AGRR, ASUE, GM, OLH, make
from ldpkit.mechanisms.base import MAX_EPSILON, MIN_EPSILON
from ldpkit.mechanisms.gaussian import gaussian_delta

GUESS, TIGHT = attacks.ATTACKS["guess"], attacks.ATTACKS["tight"]
SINGLE = [row for row in table("exact_more") if row["tau"] == row["d"] == "1"]
GAUSSIAN_EVENTS = [row for row in table("tight_more") if row["mechanism"] in GAUSSIAN]
DELTAS = [1e-12, 1e-9, 1e-5, 0.01, 0.5, 0.99]


def rng(*seed):
    return np.random.default_rng(seed or 1)


# --- parameters -----------------------------------------------------------------------------------


def test_noise_of_the_analytic_gaussian_mechanism():
    rows = [(0.25, 18.78857, 5), (0.5, 9.944505, 6), (0.75, 6.859748, 6), (1, 5.275910, 6), (2, 2.819677, 6),
        (4, 1.528994, 6), (6, 1.079943, 6), (10, 0.706949, 6)]  # fmt: skip
    for epsilon, sigma, digits in rows:
        assert AGM(10, epsilon, 1e-5).scale == approx(sigma, abs=0.501 * 10**-digits)


def test_the_classical_gaussian_noise_and_the_smaller_epsilon_it_really_gives():
    rows = [(0.25, 27.406357, 0.1656), (0.5, 13.703179, 0.3526), (0.75, 9.135452, 0.5485), (1, 6.851589, 0.7510)]  # fmt: skip
    for epsilon, sigma, real in rows:
        scale = GM(10, epsilon, 1e-5).scale
        assert scale == approx(sigma, abs=0.501e-6)
        found = optimize.brentq(lambda e: gaussian_delta(e, scale) - 1e-5, 1e-3, 2, xtol=1e-12)
        assert found == approx(real, abs=0.501e-4)


def test_the_analytic_noise_solves_its_equation():
    for delta, epsilon in itertools.product(
        DELTAS, [MIN_EPSILON, 1e-3, 0.25, 1, 4, 10, 20, MAX_EPSILON]
    ):
        scale = AGM(10, epsilon, delta).scale
        # the equation is a difference of two numbers below 1, and so is known to a few roundings only
        assert gaussian_delta(epsilon, scale) == approx(delta, rel=1e-9, abs=2e-15)
        assert gaussian_delta(epsilon, scale * 0.99) > delta > gaussian_delta(epsilon, scale * 1.01)


def test_the_classical_noise_is_enough_and_never_less_than_the_analytic_one():
    for epsilon, delta in itertools.product([0.1, 0.5, 1], [1e-9, 1e-5, 0.02, 0.5]):
        assert GM(10, epsilon, delta).scale > AGM(10, epsilon, delta).scale
        assert gaussian_delta(epsilon, GM(10, epsilon, delta).scale) < delta


def test_the_gaussian_delta_is_the_excess_of_one_density_over_the_other():
    for epsilon, delta in [(0.25, 0.01), (1, 1e-5), (4, 0.3)]:
        scale = AGM(10, epsilon, delta).scale
        distance, start = (math.sqrt(2) / scale, epsilon * scale / math.sqrt(2) + 1 / (math.sqrt(2) * scale))  # fmt: skip

        def excess(x):  # positive from `start` on, where the log ratio reaches epsilon
            return stats.norm.pdf(x, distance) - math.exp(epsilon) * stats.norm.pdf(x)

        assert excess(start) == approx(0, abs=1e-12), (epsilon, delta)
        total = integrate.quad(
            excess, start, max(start, distance) + 12, epsabs=0, epsrel=1e-11, limit=200
        )[0]
        assert total == approx(delta, rel=1e-8)


def published_hash_range(epsilon, delta):
    """The expression of the specification as printed: it loses digits for small delta."""
    e = math.exp(epsilon)
    root = math.sqrt(e - 1) * math.sqrt((1 - delta) * (e + delta - 9 * e * delta - 1))
    return (-3 * e * delta - root + e + 3 * delta - 1) / (2 * delta)


def test_hash_range_of_aolh_is_the_published_expression_and_mostly_that_of_olh():
    for delta, epsilon in itertools.product(
        [1e-7, 1e-6, 1e-5, 1e-4, 0.01], [0.25, 0.5, 0.75, 1, 2, 4, 6, 10]
    ):
        if delta * math.exp(epsilon) < 0.1:  # beyond, the root is not real
            real, g = (published_hash_range(epsilon, delta), make("AOLH", k=10, epsilon=epsilon, delta=delta).g)  # fmt: skip
            rounding = 1e-15 * math.exp(epsilon) / delta
            assert max(2, round(real - rounding)) <= g <= max(2, round(real + rounding)), (
                delta,
                epsilon,
            )
            if (delta <= 1e-4 and epsilon <= 1) or (delta == 1e-5 and epsilon < 10):
                assert g == OLH(10, epsilon).g


# --- the guarantee, by enumeration ----------------------------------------------------------------


def excess(one, two, epsilon):
    """Largest ``P1(S) - e^epsilon P2(S)`` of all events S: the sum over the reports where it is
    positive."""
    return sum(max(0.0, p - math.exp(epsilon) * q) for p, q in zip(one, two))


def test_no_event_exceeds_the_guarantee_of_agrr_and_asue_and_one_reaches_it():
    for epsilon, delta in itertools.product(
        [MIN_EPSILON, 0.5, 1, 4, 10], [1e-9, 1e-5, 0.02, 0.5, 0.99]
    ):
        rounding = approx(delta, rel=1e-9, abs=1e-15 * math.exp(epsilon))
        for k in (2, 3, 5):
            agrr = AGRR(k, epsilon, delta)
            first, second = ([agrr.p if y == v else agrr.q for y in range(k)] for v in (0, 1))
            assert sum(first) == approx(1, rel=1e-14), (epsilon, delta)
            assert excess(first, second, epsilon) == excess(second, first, epsilon) == rounding
            assert math.log((agrr.p - delta) / agrr.q) == approx(
                epsilon, rel=1e-9, abs=1e-14 / (1 - delta)
            )
        for k in (2, 3):
            asue = ASUE(k, epsilon, delta)
            laws = []
            for value in (0, 1):
                rates = [asue.p if u == value else asue.q for u in range(k)]
                laws.append([math.prod(r if bit else 1 - r for r, bit in zip(rates, bits))
                             for bits in itertools.product([0, 1], repeat=k)])  # fmt: skip
            assert excess(*laws, epsilon) == rounding


def test_no_event_exceeds_the_smaller_delta_of_the_hashing_protocols_and_one_reaches_it():
    for label, (epsilon, delta) in itertools.product(
        ["ABLH", "AOLH"], [(0.5, 1e-5), (0.5, 0.02), (2, 0.02), (4, 1e-3)]
    ):
        hashing = build(label, 10, epsilon, delta)
        g, p, other = hashing.g, hashing.p, (1 - hashing.p) / (hashing.g - 1)
        cells = list(
            itertools.product(range(g), repeat=3)
        )  # of the two values, and the reported one
        first, second = (
            [(p if cell[value] == cell[2] else other) / g**2 for cell in cells] for value in (0, 1)
        )
        assert excess(first, second, epsilon) == approx((1 - 1 / g) * delta, rel=1e-8)


# --- exact laws and the oracle --------------------------------------------------------------------


def test_exact_rates_of_the_guess_equal_the_oracle_for_every_delta():
    assert {row["mechanism"] for row in SINGLE} == {*APPROXIMATE, *GAUSSIAN} and len(SINGLE) > 400
    for row in SINGLE:
        assert GUESS.rates(mechanism_of(row)) == approx(
            (float(row["TPR"]), float(row["FPR"])), rel=1e-8
        ), row


def test_the_expected_statistic_of_the_guess_equals_the_oracle():
    for label in [*APPROXIMATE, *GAUSSIAN]:
        for row in [row for row in SINGLE if row["mechanism"] == label][::3]:
            for found, printed, digits in zip(
                expected(mechanism_of(row)), (row["eps_emp_mean"], row["eps_emp_sd"]), (5, 3)
            ):
                assert found == approx(float(printed), abs=0.51 * unit(float(printed), digits)), row


def test_the_expected_statistic_of_the_tight_event_equals_the_oracle():
    for label in APPROXIMATE:
        for row in [row for row in table("tight") if row["mechanism"] == label][::2]:
            printed = float(row["eps_emp_mean_T1e6"])
            assert expected(mechanism_of(row), "tight")[0] == approx(
                printed, abs=0.51 * unit(printed, 5)
            ), row


def test_the_tight_event_on_gaussian_noise_is_that_of_the_oracle():
    for row in GAUSSIAN_EVENTS:
        mechanism, printed = mechanism_of(row), float(row["eps_emp_mean_T1e6"])
        test = TIGHT.declare(mechanism, 10**6, 0.0025)
        assert test.threshold == approx(float(row["event"].split(">")[1]), abs=1e-9)
        for found, rate in zip(test.rates(mechanism), (float(row["P1"]), float(row["P2"]))):
            assert found == approx(rate, abs=0.501 * unit(rate, 6)), row
        assert expected(mechanism, "tight")[0] == approx(printed, abs=0.51 * unit(printed, 5))


def test_the_gaussian_event_is_a_threshold_on_the_difference_of_two_coordinates():
    for label, threshold in itertools.product(GAUSSIAN, [0.0, 1.5, 3.0]):
        mechanism = build(label, 5, 1.0)
        assert TwoValueTest(threshold).rates(mechanism) == approx(
            [stats.norm.sf(threshold, s / (math.sqrt(2) * mechanism.scale)) for s in (1, -1)],
            rel=1e-12,
        )
        step = math.sqrt(2) * mechanism.scale * threshold
        reports = np.array(
            [[0.0, 0.3 + step + 1e-9, 0.0, 0.3, 9.0], [0.0, 0.3 + step - 1e-9, 0.0, 0.3, 9.0]]
        )
        assert TwoValueTest(threshold).accepts(mechanism, reports, (1, 3)).tolist() == [True, False]


def test_the_success_on_gaussian_noise_equals_adaptive_quadrature():
    for k, sigma in itertools.product([2, 3, 10, 1000], [0.1, 1.0, 5.0, 100.0]):

        def density(z):
            return stats.norm.pdf(z) * math.exp((k - 1) * stats.norm.logcdf(z + 1 / sigma))

        total = integrate.quad(
            density, -12, 12, epsabs=0, epsrel=1e-11, limit=200, points=[-1 / sigma, 0, 3]
        )[0]
        assert gaussian_success(sigma, k) == approx(total, rel=1e-9)
        assert gaussian_success(sigma, 2) == approx(
            stats.norm.cdf(1 / (sigma * math.sqrt(2))), rel=1e-12
        )


# --- simulation -----------------------------------------------------------------------------------


def test_fast_samples_real_reports_and_exact_rates_agree():
    for k, (label, epsilon) in itertools.product(
        [2, 3, 10, 100], [("GM", 0.5), ("AGM", 0.5), ("AGM", 3.0)]
    ):
        mechanism = build(label, k, epsilon)
        for number, attack in enumerate((GUESS, TwoValueTest(0.0), TwoValueTest(1.0))):
            assert least_p(attack, mechanism, 100 + number) > P_MIN, attack


def test_gaussian_noise_has_its_law_on_every_coordinate_and_is_independent():
    for label in GAUSSIAN:
        mechanism, values = build(label, 3, 1.0), rng(1).integers(0, 3, 60_000)
        noise = (mechanism.perturb(values, rng(2)) - np.eye(3)[values]) / mechanism.scale
        for column in noise.T:
            assert stats.kstest(column, "norm").pvalue > P_MIN, label
        quartiles = np.searchsorted(stats.norm.ppf([0.25, 0.5, 0.75]), noise)
        assert (
            chi_square_p(np.bincount(quartiles @ [16, 4, 1], minlength=64), np.full(64, 1 / 64))
            > P_MIN
        ), label


def test_estimates_are_unbiased_and_vary_as_their_formula_says():
    for label in GAUSSIAN:
        mechanism, n, repeats = build(label, 4, 1.0), 100, 1000
        truth = np.array([0.5, 0.3, 0.2, 0.0])
        values = np.tile(np.repeat(np.arange(4), (n * truth).astype(int)), repeats)
        estimates = [
            mechanism.estimate(part)
            for part in np.split(mechanism.perturb(values, rng(3)), repeats)
        ]
        assert estimation_p(estimates, truth, mechanism.variance(n, truth)) > P_MIN
        assert mechanism.variance(n) == approx(mechanism.scale**2 / n, rel=1e-15)


def test_the_gaussian_guess_is_the_largest_coordinate_however_large():
    for label in GAUSSIAN:
        reports = np.array([[5.0, 7.0, 6.0], [-3.0, -2.0, -1.0], [0.1, 0.0, 0.05]])
        assert GUESS.predict(build(label, 3, 1.0), reports, rng()).tolist() == [1, 2, 0]


def test_an_honest_approximate_mechanism_is_not_flagged_but_would_be_without_its_delta():
    for label in [*APPROXIMATE, *GAUSSIAN]:
        mechanism = build(label, 10, 0.5, 0.02)
        result = audit(mechanism, "tight", trials=200_000)
        assert result.delta == 0.02 and result.claim == 0.5 and not result.violated
        if label in ("AGRR", "ASUE"):
            assert audit(mechanism, "tight", trials=200_000, delta=0.0).violated


# --- bad input ------------------------------------------------------------------------------------


def test_an_epsilon_for_which_the_calibration_does_not_hold_is_refused():
    rows = [(GM, 1.0001, 1), (GM, 2, 1), (GM, 0, 1), (GM, math.nan, 1), (AGM, 30.1, 30), (AGM, 0, 30), (AGM, "1", 30)]  # fmt: skip
    for cls, epsilon, high in rows:
        with pytest.raises(
            ValueError, match=rf"epsilon must be a number in \[1e-06, {high}\], got"
        ):
            cls(5, epsilon, 1e-5)


def test_aolh_refuses_a_delta_for_which_its_variance_has_no_minimum_and_blh_does_not():
    for delta in (0.1, 0.5, 0.99):
        with pytest.raises(
            ValueError, match=f"delta must be smaller for AOLH at epsilon = 0.5, got {delta}"
        ):
            make("AOLH", k=5, epsilon=0.5, delta=delta)
        assert 0.5 < make("ABLH", k=5, epsilon=0.5, delta=delta).p < 1


def test_an_approximate_mechanism_is_made_again_from_its_parameters_and_needs_its_delta():
    for label in [*APPROXIMATE, *GAUSSIAN]:
        mechanism = build(label, 7, 1.0)
        assert make(label, **mechanism.parameters) == mechanism
        assert mechanism.published_delta == mechanism.delta
        with pytest.raises(ValueError, match="delta"):
            make(label, k=7, epsilon=1.0)
