"""Repeated collections of one value: exact laws and the strongest test.

Exact laws are compared with the specification's vectors (half a unit of the last of ten digits),
with the oracle tables (1e-8, which is their own rounding), with enumerations of all outcomes and
with adaptive quadrature. Where the oracle was itself simulated (subset selection), our count must
be a plausible one for some rate within the oracle's error: the normal quantile of `laws.P_MIN`
times its standard error. Together with the simulated comparisons these are fewer than 1,000
p-values, so a correct package fails this file with probability below 1e-4.
"""

import functools
import itertools
import math

import numpy as np
import pytest
from laws import (
    P_MIN,
    binomial_p,
    build,
    chi_square_p,
    estimation_p,
    least_p,
    mechanism_of,
    table,
    unit,
)
from scipy import integrate, stats

from ldpkit import attacks
from ldpkit.attacks import TwoValueTest
from ldpkit.auditors import audit, expected
from ldpkit.kinds.laws import count_wins, laplace_sum, laplace_sum_success, response_wins
from ldpkit.mechanisms import AGM, GRR, OUE, SS, SUE, Client, Repeated, make
from ldpkit.stats import epsilon_lower

GUESS, TIGHT = attacks.ATTACKS["guess"], attacks.ATTACKS["tight"]
TEN = ["GRR", "SS", "SUE", "OUE", "BLH", "OLH", "SHE", "THE", "GM", "AGM"]
ROWS = [row for row in table("exact_more") if row["tau"] != "1"]
EVENTS = [row for row in table("tight_more") if row["tau"] != "1"]
VECTORS = {
    (2, 10, 0.5): (
        "0.7785260617 0.7093094464 0.7077752100 0.7077752100 0.7045392388 "
        "0.6563250759 0.6985924025 0.5648111636 0.5889538197"
    ),
    (25, 50, 0.5): (
        "0.1711700453 0.4362083660 0.4351055017 0.4276432623 0.4278280201 "
        "0.2666282508 0.4019590616 0.1000816765 0.1347492219"
    ),
    (100, 100, 1): (
        "0.1795125818 0.9872718485 0.9831079105 0.9814723878 0.9808708822 "
        "0.8258085730 0.9622990148 0.1684443683 0.2892490054"
    ),
}
"""TPR by (k, tau, epsilon), in the order of `TEN` without SS; delta is 1e-5."""


def rng(*seed):
    return np.random.default_rng(seed or 1)


def repeated(label, k, epsilon, tau, memoise=False, delta=1e-3):
    return Repeated(build(label, k, epsilon, delta), tau, memoise)


# --- exact laws of the guess ----------------------------------------------------------------------


@pytest.mark.parametrize("case", VECTORS, ids=str)
def test_exact_rates_equal_the_test_vectors(case):
    k, tau, epsilon = case
    for label, printed in zip(
        [label for label in TEN if label != "SS"], VECTORS[case].split(), strict=True
    ):
        tpr, fpr = GUESS.rates(repeated(label, k, epsilon, tau, delta=1e-5))
        assert tpr == pytest.approx(float(printed), abs=0.501e-10), label
        assert tpr + (k - 1) * fpr == pytest.approx(1, rel=1e-14)


@pytest.mark.parametrize("label", TEN)
def test_exact_rates_of_the_guess_equal_the_oracle(label):
    rows = [row for row in ROWS if row["mechanism"] == label and row["method"] == "exact"]
    assert len(rows) == (32 if label == "SS" else 128)
    for row in rows[:: 3 if label == "SHE" else 1]:  # its integral takes a while
        tpr, fpr = GUESS.rates(mechanism_of(row))
        assert tpr == pytest.approx(float(row["TPR"]), rel=1e-8), row
        # a success next to 1 is known to a few roundings, here and in the oracle
        assert fpr == pytest.approx(float(row["FPR"]), rel=1e-8, abs=2e-13), row


SIMULATED = [row for row in ROWS if row["method"] == "mc"]


@pytest.mark.parametrize("row", SIMULATED, ids=lambda row: f"{row['k']}-{row['tau']}-{row['eps']}")
def test_sampled_success_of_subset_selection_equals_the_simulated_oracle(row):
    mechanism, error = mechanism_of(row), stats.norm.isf(P_MIN / 2) * float(row["TPR_se"])
    assert GUESS.rates(mechanism) is None and mechanism.mechanism.omega > 1
    trials = max(200, int(2e6 / (mechanism.tau * (mechanism.mechanism.omega + 2) + mechanism.k)))
    count = GUESS.sample(mechanism, trials, True, rng(1))
    tpr = float(row["TPR"])
    low = tpr - max(
        error, -math.log(P_MIN) / 1e5
    )  # 10^5 trials without a failure leave room for a small rate
    nearest = min(max(count / trials, low), tpr + error, 1.0)
    assert binomial_p(count, trials, nearest) > P_MIN


@pytest.mark.parametrize("label", TEN)
def test_the_expected_statistic_of_the_guess_equals_the_oracle(label):
    for row in [row for row in ROWS if row["mechanism"] == label and row["method"] == "exact"][::8]:
        found, printed = expected(mechanism_of(row))[0], float(row["eps_emp_mean"])
        assert found == pytest.approx(printed, abs=0.51 * unit(printed, 5)), row


@pytest.mark.parametrize(
    "k, tau", [(2, 1), (2, 5), (2, 6), (3, 1), (3, 4), (3, 7), (4, 5), (5, 5), (7, 3)]
)
def test_wins_against_a_multinomial_rest_equal_the_enumeration(k, tau):
    for own, found in enumerate(response_wins(k, tau)):
        total, places = 0.0, tau - own
        for others in itertools.product(range(k - 1), repeat=places):
            counts = np.bincount(np.array(others, int), minlength=k - 1)
            total += (
                (own >= counts.max()) / (1 + np.count_nonzero(counts == own)) / (k - 1) ** places
            )
        assert found == pytest.approx(total, rel=1e-12, abs=1e-15), own


@pytest.mark.parametrize("tau", [1, 2, 7, 50, 501])
def test_wins_among_two_values_are_a_majority(tau):
    wanted = [1.0 if 2 * own > tau else 0.5 if 2 * own == tau else 0.0 for own in range(tau + 1)]
    assert response_wins(2, tau) == pytest.approx(wanted, abs=1e-12)
    p = GRR(2, 0.3).p
    majority = stats.binom.sf(tau // 2, tau, p) + (
        0 if tau % 2 else stats.binom.pmf(tau // 2, tau, p) / 2
    )
    assert GUESS.rates(Repeated(GRR(2, 0.3), tau))[0] == pytest.approx(majority, rel=1e-12)


@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize(
    "mass", [[0.5, 0.3, 0.2], [0.0, 1.0], [0.9, 0.0, 0.1, 0.0], [1 - 1e-12, 1e-12], [0.25] * 4]
)
def test_wins_against_independent_counts_equal_the_enumeration(k, mass):
    found = count_wins(np.array(mass), k)
    for own in range(len(mass)):
        total = 0.0
        for others in itertools.product(range(len(mass)), repeat=k - 1):
            won = (own >= max(others)) / (1 + others.count(own))
            total += won * math.prod(mass[c] for c in others)
        assert found[own] == pytest.approx(total, rel=1e-11, abs=1e-300), own
    alike = np.array(mass) @ found
    assert alike == pytest.approx(1 / k, rel=1e-11)  # nobody is favoured


# --- the sum of Laplace variables -----------------------------------------------------------------


def test_one_and_two_laplace_variables_have_their_closed_forms():
    for tau, survival, density in (
        (1, lambda x: np.exp(-x) / 2, lambda x: np.exp(-x) / 2),
        (2, lambda x: (2 + x) * np.exp(-x) / 4, lambda x: (1 + x) * np.exp(-x) / 4),
    ):
        x, log_survival, log_density = laplace_sum(tau)
        assert log_survival == pytest.approx(np.log(survival(x)), abs=1e-12)
        assert log_density == pytest.approx(np.log(density(x)), abs=1e-12)


@pytest.mark.parametrize("tau", [3, 10, 40])
def test_the_density_of_a_laplace_sum_is_the_inverse_transform_and_integrates_to_its_survival(tau):
    x, log_survival, log_density = laplace_sum(tau)
    for at in (0, 50, 200, 400):  # |characteristic function| = (1 + t^2)^-tau
        transform = integrate.quad(
            lambda t: (1 + t**2) ** -tau * math.cos(t * x[at]), 0, 200, limit=2000, epsabs=1e-12
        )
        found = transform[0] / math.pi
        assert math.exp(log_density[at]) == pytest.approx(found, rel=1e-7, abs=1e-9)
    assert math.exp(log_survival[0]) == pytest.approx(0.5, rel=1e-13)
    lost = integrate.simpson(np.exp(log_density[:401]), x=x[:401])
    assert 0.5 - lost == pytest.approx(math.exp(log_survival[400]), abs=1e-7)


@pytest.mark.parametrize("tau", [1, 5, 60])
def test_a_laplace_sum_is_distributed_as_its_table_says(tau):
    x, log_survival, _ = laplace_sum(tau)
    drawn = rng(2, tau).laplace(size=(20_000, tau)).sum(axis=1)
    tail = np.exp(np.interp(np.abs(drawn), x, log_survival))
    assert stats.kstest(np.where(drawn > 0, 1 - tail, tail), "uniform").pvalue > P_MIN


@pytest.mark.parametrize("k", [2, 3, 100])
@pytest.mark.parametrize("shift", [0.1, 1.0, 5.0])
def test_the_success_of_a_laplace_sum_equals_adaptive_quadrature(k, shift):
    def below(x):
        return 1 - (2 + x) * math.exp(-x) / 4 if x >= 0 else (2 - x) * math.exp(x) / 4

    def density(s):
        return (1 + abs(s)) * math.exp(-abs(s)) / 4 * below(s + shift) ** (k - 1)

    knots = sorted({-50.0, -shift, 0.0, 5.0, 60.0})
    total = sum(
        integrate.quad(density, *ends, epsabs=0, epsrel=1e-11)[0]
        for ends in itertools.pairwise(knots)
    )
    assert laplace_sum_success(2, k, shift) == pytest.approx(total, rel=1e-8)


@pytest.mark.parametrize("label", ["GM", "AGM"])
@pytest.mark.parametrize("tau", [1, 4, 100])
def test_repeated_gaussian_reports_among_two_values_have_their_closed_form(label, tau):
    mechanism = repeated(label, 2, 0.5, tau)
    wanted = stats.norm.cdf(math.sqrt(tau / 2) / mechanism.mechanism.scale)
    assert GUESS.rates(mechanism)[0] == pytest.approx(wanted, rel=1e-12)
    assert TwoValueTest(0.0).rates(mechanism) == pytest.approx((wanted, 1 - wanted), rel=1e-12)


# --- the strongest test ---------------------------------------------------------------------------


@functools.cache
def single(label, k, epsilon):
    """One report's chances of the event, of its mirror image and of neither, given the first value
    of the pair."""
    mechanism = build(label, k, epsilon)
    up, down = TIGHT.rates(mechanism)
    return {1: up, -1: down, 0: 1 - up - down}


@pytest.mark.parametrize(
    "label, k",
    [("GRR", 2), ("GRR", 5), ("SS", 6), ("SUE", 2), ("OUE", 4), ("OLH", 4), ("SHE", 3), ("THE", 3)],
)
def test_the_law_of_the_difference_equals_the_enumeration_of_three_rounds(label, k):
    steps, mechanism = single(label, k, 0.7), repeated(label, k, 0.7, 3)
    for threshold in range(-2, 4):
        one = two = 0.0
        for rounds in itertools.product((1, 0, -1), repeat=3):
            if sum(rounds) >= threshold:
                one += math.prod(steps[r] for r in rounds)
                two += math.prod(steps[-r] for r in rounds)
        assert TwoValueTest(threshold).rates(mechanism) == pytest.approx((one, two), rel=1e-11)


@pytest.mark.parametrize(
    "mechanism", [GRR(3, 0.8), SUE(3, 0.8), OUE(2, 1.5)], ids=["GRR", "SUE", "OUE"]
)
def test_a_larger_difference_means_a_likelihood_ratio_larger_by_a_power_of_e_epsilon(mechanism):
    # enumerates the real reports of two rounds, and reads them with the attack itself
    k = mechanism.k
    reports = (
        np.arange(k)
        if mechanism.report == "value"
        else np.array(list(itertools.product([0, 1], repeat=k)))
    )
    laws = []
    for v in (0, k - 1):
        rates = np.where(np.arange(k) == v, mechanism.p, mechanism.q)
        laws.append(
            rates
            if mechanism.report == "value"
            else np.prod(np.where(reports, rates, 1 - rates), axis=1)
        )
    both = np.array(list(itertools.product(range(len(reports)), repeat=2)))
    rounds = [reports[both[:, 0]], reports[both[:, 1]]]
    one, two = (law[both].prod(axis=1) for law in laws)
    twice = Repeated(mechanism, 2)
    for threshold in (-1, 0, 1, 2):
        seen = TwoValueTest(threshold).accepts(twice, rounds, (0, k - 1))
        assert (seen == (np.log(one / two) >= threshold * mechanism.epsilon - 1e-9)).all()
        assert TwoValueTest(threshold).rates(twice) == pytest.approx(
            (one[seen].sum(), two[seen].sum()), rel=1e-12
        )


def test_exact_rates_of_the_tight_event_equal_the_oracle_at_its_threshold():
    assert len(EVENTS) == 416
    for row in EVENTS:
        test = TwoValueTest(float(row["event"].removeprefix("D>=")))
        for found, printed in zip(
            test.rates(mechanism_of(row)), (float(row["P1"]), float(row["P2"]))
        ):
            assert found == pytest.approx(printed, abs=0.501 * unit(printed, 6)), row


@pytest.mark.parametrize(
    "tau, epsilon", [("5", "0.25"), ("25", "1"), ("50", "0.5"), ("100", "0.25")]
)
def test_the_chosen_threshold_is_as_good_as_that_of_the_oracle(tau, epsilon):
    rows = [
        row
        for row in EVENTS
        if row["tau"] == tau and row["eps"] == epsilon and row["k"] in ("any", "100")
    ]
    assert len(rows) == 7
    for row in rows:
        mechanism, printed = mechanism_of(row), float(row["eps_emp_mean_T1e6"])
        test = TIGHT.declare(mechanism, 10**6, 0.0025)
        found = expected(mechanism, test)[0]
        assert printed - 3e-3 < found < printed + 1e-3, row
        if test.threshold == float(row["event"].removeprefix("D>=")):
            assert found == pytest.approx(printed, abs=0.51 * unit(printed, 5))


# --- simulation -----------------------------------------------------------------------------------


@pytest.mark.parametrize("tau", [1, 3, 6])
@pytest.mark.parametrize("k", [2, 3, 10])
@pytest.mark.parametrize("label", TEN)
def test_fast_samples_real_reports_and_exact_rates_agree(label, k, tau):
    mechanism = repeated(label, k, 0.7, tau)
    for number, attack in enumerate((GUESS, TwoValueTest(1.0 + tau // 4))):
        assert (
            least_p(attack, mechanism, 10 * tau + number, real=15_000, simulated=60_000) > P_MIN
        ), attack


@pytest.mark.parametrize("label", ["GRR", "SS", "SHE"])
def test_the_strongest_test_between_two_values_is_sampled_at_every_epsilon(label):
    for epsilon in np.arange(
        0.1, 10, 0.1
    ):  # with k = 2 the two events share the whole probability, up to rounding
        mechanism = repeated(label, 2, epsilon, 3)
        for truth in (True, False):
            assert 0 <= TwoValueTest(1.0).sample(mechanism, 10, truth, rng(11)) <= 10


@pytest.mark.parametrize("label", TEN)
def test_a_remembered_report_is_worth_one_report(label):
    base, kept = build(label, 10, 0.7), repeated(label, 10, 0.7, 6, memoise=True, delta=0.02)
    assert (kept.epsilon, kept.delta, kept.published_delta) == (
        base.epsilon,
        base.delta,
        base.delta,
    )
    rounds = kept.perturb(np.zeros(50, int), rng(3))
    assert len(rounds) == 6 and all((r == rounds[0]).all() for r in rounds)
    assert kept.estimate(rounds) == pytest.approx(base.estimate(rounds[0]), rel=1e-12)
    assert kept.variance(50, 0.3) == base.variance(50, 0.3)
    for attack in (GUESS, TIGHT.declare(base, 10**4, 0.0025)):
        assert attack.rates(kept) == attack.rates(base)
        assert [a.threshold for a in (TIGHT.declare(m, 10**4, 0.0025) for m in (base, kept))].count(
            None
        ) in (0, 2)
        for truth in (True, False):
            assert attack.sample(kept, 1000, truth, rng(4)) == attack.sample(
                base, 1000, truth, rng(4)
            )
        seen = [
            attack.accepts(m, r, (0, 9), rng(5)).tolist()
            for m, r in ((kept, rounds), (base, rounds[0]))
        ]
        assert seen[0] == seen[1]


def test_the_audited_code_subtracts_one_delta_and_a_bound_must_subtract_all_of_them():
    mechanism, tail = Repeated(AGM(10, 1.0, 0.01), 5), {"published": 0.0025, "valid": 0.005}
    assert (mechanism.epsilon, mechanism.delta, mechanism.published_delta) == (5.0, 0.05, 0.01)
    result = audit(mechanism, "tight", trials=50_000)
    counts = result.counts["tp"], result.counts["fp"], 50_000
    assert result.epsilon_emp == float(epsilon_lower(*counts, 0.01, tail=tail["published"]))
    assert result.lower == max(0.0, float(epsilon_lower(*counts, 0.05, tail=tail["valid"])))
    assert (result.delta, result.claim, result.violated) == (0.05, 5.0, False)
    assert expected(mechanism, trials=50_000) == expected(mechanism, trials=50_000, delta=0.01)


def test_ties_are_broken_at_random_and_not_by_the_first_index():
    # with the first index among the largest, value 0 of 100 would be named with chance 0.0616
    # instead of 0.0183
    mechanism, n = Repeated(SUE(100, 0.25), 5), 40_000
    rates = GUESS.rates(mechanism)
    assert rates == pytest.approx((0.0183, 0.0099), abs=0.5e-4)
    for own, pair in itertools.product((0, 99), ((0, 99), (99, 0))):
        reports = mechanism.perturb(np.full(n, own), rng(6, own))
        count = np.count_nonzero(GUESS.accepts(mechanism, reports, pair, rng(7)))
        assert binomial_p(count, n, rates[0] if own == pair[0] else rates[1]) > P_MIN


@pytest.mark.parametrize("label", TEN)
def test_wrong_guesses_are_spread_evenly_over_the_other_values(label):
    mechanism, n = repeated(label, 5, 0.7, 3), 30_000
    guesses = GUESS.predict(mechanism, mechanism.perturb(np.full(n, 2), rng(8)), rng(9))
    wrong = np.bincount(guesses, minlength=5)[[0, 1, 3, 4]]
    assert chi_square_p(wrong, np.full(4, 0.25)) > P_MIN


@pytest.mark.parametrize("label", TEN)
def test_estimates_are_unbiased_and_vary_as_their_formula_says(label):
    mechanism, n, repeats = repeated(label, 4, 0.7, 3), 100, 1000
    truth = np.array([0.5, 0.3, 0.2, 0.0])
    values = np.tile(np.repeat(np.arange(4), (n * truth).astype(int)), repeats)
    parts = zip(*(np.split(r, repeats) for r in mechanism.perturb(values, rng(10))))
    estimates = [mechanism.estimate(list(rounds)) for rounds in parts]
    assert estimation_p(estimates, truth, mechanism.variance(n, truth)) > P_MIN


# --- making one, and bad input --------------------------------------------------------------------


def test_make_wraps_a_mechanism_when_a_number_of_collections_is_given():
    assert make("SUE", k=5, epsilon=1.0, tau=3) == Repeated(SUE(5, 1.0), 3)
    assert make("SUE", k=5, epsilon=1.0, tau=3, memoise=True) == Repeated(SUE(5, 1.0), 3, True)
    assert make("SUE", k=5, epsilon=1.0, memoise=True) == Repeated(SUE(5, 1.0), 1, True)
    assert make("SUE", k=5, epsilon=1.0, memoise=False) == SUE(5, 1.0)
    mechanism = Repeated(SS(5, 1.0), 3)
    assert mechanism.name == "SS" and make("SS", **mechanism.parameters) == mechanism
    assert mechanism.parameters == {"k": 5, "epsilon": 1.0, "tau": 3, "memoise": False}


@pytest.mark.parametrize("tau", [0, -1, 2.5, 1.0, True, "3", None, math.nan])
def test_a_number_of_collections_that_is_no_positive_integer_is_refused(tau):
    with pytest.raises(ValueError, match=r"tau must be an integer in \[1, 1000000\], got"):
        Repeated(SUE(5, 1.0), tau)


@pytest.mark.parametrize("inner", [None, "SUE", SUE, Client(len, 5, "bits", 1.0)])
def test_only_frequency_oracles_are_repeated(inner):
    with pytest.raises(ValueError, match="mechanism must be a frequency oracle, got"):
        Repeated(inner, 3)


def test_a_wrong_number_of_rounds_is_refused():
    mechanism = Repeated(SUE(5, 1.0), 3)
    with pytest.raises(ValueError, match="reports of SUE must have 3 rounds, got 2"):
        mechanism.estimate(mechanism.perturb([0, 1], rng())[:2])
    with pytest.raises(ValueError, match="values must lie in 0..4, got 5 at position 1"):
        mechanism.perturb([0, 5], rng())
