"""Bounds, the audit statistic and its expectation.

Tolerances: printed numbers are compared to half a unit of their last digit; sums computed twice in
floating point to 1e-9, far above rounding (about 1e-12) and far below any standard deviation of the
statistic.

The coverage tests count failures in many audits. The bounds promise a failure probability of at
most `tail`, so the accepted number is the quantile of the binomial law at that probability with an
excess probability of 1e-6: six such tests, hence a false alarm for a correct package with
probability below 1e-5.
"""

import itertools
import math

import numpy as np
import pytest
from laws import mechanism_of, table, unit
from pytest import approx
from scipy import special
from scipy import stats as law
from statsmodels.stats.proportion import proportion_confint

from ldpbook import paper_values
from ldpkit import attacks, stats

ALPHA = 0.01
TRIALS = 10**6
TAIL = ALPHA / 4


def test_clopper_pearson_equals_the_call_of_the_papers_code():
    for alpha, trials in itertools.product([0.2, 0.05, 0.01, 1e-4], [1, 2, 10, 1000, 10**6]):
        counts = np.unique(np.rint(np.linspace(0, trials, 13)).astype(int))
        lower, upper = stats.clopper_pearson(counts, trials, stats.tail_mass(alpha))
        for count, low, high in zip(counts, lower, upper):
            wanted = proportion_confint(count, trials, alpha / 2, "beta")
            assert (low, high) == approx(wanted, rel=1e-9, abs=1e-300), (alpha, trials)


def test_clopper_pearson_at_no_and_at_every_success():
    for trials in [1, 7, 10**6]:
        assert stats.clopper_pearson(0, trials, TAIL) == (
            0.0,
            approx(-math.expm1(math.log(TAIL) / trials), rel=1e-9),
        )
        assert stats.clopper_pearson(trials, trials, TAIL) == (
            approx(TAIL ** (1 / trials), rel=1e-12),
            1.0,
        )


def test_quantiles_of_the_beta_law_equal_those_of_forty_digits():
    """`tests/data/beta_quantiles.csv`: the density integrated by Gauss-Legendre panels with mpmath,
    and Newton's method.

    ``lower`` is the quantile of Beta(a, b), ``beyond`` its distance from 1: the upper quantile of
    Beta(b, a). One part in 10^12 is what the bounds promise; the numbers agree ten times better.
    """
    rows = [[float(v) for v in row.values()] for row in table("beta_quantiles")]
    assert len(rows) > 180
    for a, b, tail, lower, beyond in rows:
        ends = np.array([a]), np.array([b])
        assert stats._beta_quantile(*ends, tail, False) == approx(lower, rel=1e-12), (a, b, tail)
        assert stats._beta_quantile(*ends[::-1], tail, True) == approx(beyond, rel=1e-12), (
            a,
            b,
            tail,
        )


def test_bounds_run_smoothly_where_their_computation_changes():
    for tail, trials in itertools.product([1e-12, TAIL, 0.05], [10**6, 10**9, 10**12]):
        changes = [seam for seam in (stats._FEW, stats._MANY) if 2 * seam < trials]
        counts = np.concatenate(
            [np.arange(seam - 5, seam + 6) for seam in changes] + [trials - np.arange(105, 95, -1)]
        )
        for bound in stats.clopper_pearson(counts, trials, tail):
            steps = np.diff(bound * trials)[np.diff(counts) == 1]
            assert (steps > 0.3).all() and (steps < 3).all(), (
                tail,
                trials,
            )  # a step of one count moves a bound by about one count


def test_bounds_are_on_their_side_of_the_observed_rate_at_any_tail():
    rows = [(150, 10**4), (10**5, 10**6), (10**7, 10**10), (10**8, 10**12)]
    for tail, (count, trials) in itertools.product([1e-120, 1e-30, 1e-12, 0.25, 0.9], rows):
        lower, upper = stats.clopper_pearson(count, trials, tail)
        assert special.betainc(count, trials - count + 1, lower) == approx(tail, rel=1e-6)
        assert special.betaincc(count + 1, trials - count, upper) <= tail * (1 + 1e-6)
        assert (lower < count / trials < upper) == (tail < 0.5)


def test_clopper_pearson_bounds_solve_their_defining_equations():
    for count, trials in [(1, 5), (37, 100), (999, 1000)]:
        lower, upper = stats.clopper_pearson(count, trials, TAIL)
        assert law.binom.sf(count - 1, trials, lower) == approx(TAIL, rel=1e-9)
        assert law.binom.cdf(count, trials, upper) == approx(TAIL, rel=1e-9)


def test_the_tails_are_a_quarter_and_a_half_of_alpha():
    assert stats.tail_mass(0.01) == stats.tail_mass(0.01, "published") == 0.0025
    assert stats.tail_mass(0.01, "valid") == 0.005


def test_the_ceiling_is_the_papers_eps_opt():
    for trials, digits in [(10**6, 5), (10**4, 3)]:
        printed = paper_values.lookup("ldp_auditor", "eps_OPT", x=trials)
        assert stats.epsilon_ceiling(trials, tail=TAIL) == approx(
            printed, abs=unit(printed, digits) / 2
        )


def test_the_bounds_at_the_ceiling_are_those_printed_in_the_paper():
    low, high = (stats.clopper_pearson(10**4, 10**4, TAIL)[0], stats.clopper_pearson(0, 10**4, TAIL)[1])  # fmt: skip
    for item, bound in (
        ("CP lower bound of TPR at TP=T", low),
        ("CP upper bound of FPR at FP=0", high),
    ):
        assert bound == approx(paper_values.lookup("ldp_auditor", item, x=10**4), abs=0.5e-4)


def test_the_ceiling_of_both_tails():
    rows = [("valid", 10**6, 12.14812), ("published", 10**6, 12.02517), ("valid", 10**4, 7.54269),
        ("published", 10**4, 7.41970)]  # fmt: skip
    for convention, trials, printed in rows:
        tail = stats.tail_mass(ALPHA, convention)
        assert stats.epsilon_ceiling(trials, tail=tail) == approx(printed, abs=0.5e-5)
        assert stats.epsilon_ceiling(trials, tail=tail) == approx(
            -math.log(tail ** (-1 / trials) - 1), abs=1e-9
        )


def test_the_statistic_is_the_log_ratio_of_the_two_bounds():
    tp, fp, delta = np.array([900, 500]), np.array([100, 400]), 0.05
    low, high = stats.clopper_pearson(tp, 1000, TAIL)[0], stats.clopper_pearson(fp, 1000, TAIL)[1]
    assert stats.epsilon_lower(tp, fp, 1000, delta, tail=TAIL) == approx(
        np.log((low - delta) / high), abs=1e-12
    )
    assert stats.epsilon_lower(900, 100, 1000, delta, tail=TAIL) == approx(
        math.log((low[0] - delta) / high[0])
    )


def test_the_statistic_is_minus_infinity_when_the_lower_bound_does_not_exceed_delta():
    for tp, delta in [(0, 0.0), (3, 0.5), (10, 0.9)]:
        assert stats.epsilon_lower(tp, 0, 10, delta, tail=TAIL) == -math.inf


@pytest.mark.filterwarnings("error")
def test_arrays_with_and_without_information_mix_without_warning():
    found = stats.epsilon_lower(np.array([0, 10]), np.array([0, 0]), 10, tail=TAIL)
    assert found[0] == -math.inf and math.isfinite(found[1])


def test_the_expected_statistic_equals_the_oracle():
    for figure, cells in [("1+2", 8), ("2", 312), ("8", 80), ("5", 45), ("3", 160)]:
        rows = [row for row in table("exact") if row["figure"] == figure]
        assert len(rows) == cells
        for row in rows:
            mean, sd = stats.expected_epsilon(
                *(float(row[name]) for name in ("TPR", "FPR")),
                TRIALS,
                float(row["delta"]),
                tail=TAIL,
            )
            assert mean == approx(
                float(row["eps_emp_mean"]), abs=0.5001 * unit(float(row["eps_emp_mean"]), 5)
            ), row
            assert sd == approx(
                float(row["eps_emp_sd"]), abs=0.5001 * unit(float(row["eps_emp_sd"]), 3)
            ), row


def test_the_expected_statistic_of_the_tight_event_equals_the_oracle():
    assert len(table("tight")) == 569
    for row in table("tight"):
        # the table's rates have eight digits, too few at epsilon = 10: the rates come from the
        # mechanism's law
        rates = attacks.make("tight").rates(mechanism_of(row))
        mean, _ = stats.expected_epsilon(*rates, TRIALS, float(row["delta"]), tail=TAIL)
        printed = float(row["eps_emp_mean_T1e6"])
        assert mean == approx(printed, abs=0.5001 * unit(printed, 5)), row


def brute_force(tpr, fpr, trials, delta, tail):
    counts = np.arange(trials + 1)
    up, down = law.binom.pmf(counts, trials, tpr), law.binom.pmf(counts, trials, fpr)
    low, high = stats.clopper_pearson(counts, trials, tail)
    kept = low > delta  # what the caller chose so that the rest has no probability to speak of
    low, up = np.log(low[kept] - delta), up[kept] / up[kept].sum()
    high = np.log(high)
    mean = up @ low - down @ high
    return mean, math.sqrt(up @ (low - up @ low) ** 2 + down @ (high - down @ high) ** 2)


def test_the_expected_statistic_equals_the_sum_over_all_counts():
    rows = [(0.999999, 0.3, 3, 0.0), (0.9, 0.2, 40, 0.0), (0.8, 0.01, 200, 0.01), (1.0, 0.0, 10, 0.0),
        (0.5, 0.3, 20_000, 0.0), (0.5, 0.2, 20_000, 0.3), (0.05, 0.01, 100_000, 0.03)]  # fmt: skip
    for tpr, fpr, trials, delta in rows:
        found = stats.expected_epsilon(tpr, fpr, trials, delta, tail=TAIL)
        assert found == approx(brute_force(tpr, fpr, trials, delta, TAIL), abs=1e-9)


def test_the_expected_statistic_is_minus_infinity_if_the_counts_may_say_nothing():
    mean, sd = stats.expected_epsilon(0.5, 0.1, 20, tail=TAIL)
    assert mean == -math.inf and math.isnan(sd)
    assert stats.expected_epsilon(0.5, 0.1, 1000, 0.6, tail=TAIL)[0] == -math.inf


def test_the_binomial_window_is_the_binomial_law():
    rows = [(0, 0.3), (1, 0.0), (5, 1.0), (1000, 0.2), (10**6, 1e-6), (10**6, 0.5)]
    for n, rate in rows:
        counts, mass = stats.binomial_window(n, rate)
        assert mass == approx(law.binom.pmf(counts, n, rate), rel=1e-8, abs=1e-18)
        assert mass.sum() == approx(1, abs=1e-12), (n, rate)
        assert counts[0] >= 0 and counts[-1] <= n


def test_the_valid_bound_fails_no_more_often_than_alpha():
    for tpr, fpr in [(0.5, 0.25), (0.09, 0.03), (0.4, 0.4), (0.02, 0.02)]:
        audits, trials, alpha = 20_000, 2000, 0.05
        rng = np.random.default_rng(11)
        tail = stats.tail_mass(alpha, "valid")
        found = stats.epsilon_lower(
            rng.binomial(trials, tpr, audits), rng.binomial(trials, fpr, audits), trials, tail=tail
        )
        failures = np.count_nonzero(found > math.log(tpr / fpr))
        assert failures <= law.binom.isf(1e-6, audits, alpha), (tpr, fpr)


def test_each_clopper_pearson_bound_fails_no_more_often_than_its_tail():
    for rate in [0.3, 0.01]:
        audits, trials = 100_000, 1000
        lower, upper = stats.clopper_pearson(
            np.random.default_rng(12).binomial(trials, rate, audits), trials, 0.01
        )
        allowed = law.binom.isf(1e-6, audits, 0.01)
        assert max(np.count_nonzero(lower > rate), np.count_nonzero(upper < rate)) <= allowed


def test_counts_outside_the_trials_are_refused():
    for count in [-1, 11, 2.5, math.nan, [3, 12]]:
        with pytest.raises(ValueError, match=r"count must be whole numbers in \[0, 10\]"):
            stats.clopper_pearson(count, 10, TAIL)


def test_trials_that_are_no_positive_integer_are_refused():
    for trials in [0, -5, 10.0, True, "10", None]:
        for call in (stats.clopper_pearson, lambda c, t, tail: stats.epsilon_ceiling(t, tail=tail)):
            with pytest.raises(ValueError, match="trials must be an integer >= 1"):
                call(0, trials, TAIL)


def test_delta_outside_its_interval_is_refused():
    for delta in [-0.1, 1, math.nan, "0"]:
        for call in (stats.epsilon_lower, stats.expected_epsilon):
            with pytest.raises(ValueError, match=r"delta must be a number in \[0, 1\)"):
                call(1, 0, 10, delta, tail=TAIL)


def test_tails_at_which_bounds_are_no_numbers_are_refused():
    for tail in (1e-300, 1e-200, 0.0, 1.0):
        with pytest.raises(ValueError, match=r"tail must be a number in \[1e-120, 1\), got"):
            stats.clopper_pearson(2, 10, tail)
    for count, trials in ((0, 10), (2, 10), (10, 10), (5, 10**6), (10**6, 10**12)):
        low, high = stats.clopper_pearson(count, trials, 1e-120)
        assert 0 <= low <= count / trials <= high <= 1
