"""Bounds, the audit statistic and its expectation. Printed numbers are met to half a unit of their
last digit, sums computed twice to 1e-9. Six counts of failures are held to binomial quantiles with
an excess probability of 1e-6."""

import itertools
import math

import numpy as np
import pytest
from chance import mechanism_of, table, unit
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
        none, every = (stats.clopper_pearson(count, trials, TAIL) for count in (0, trials))
        assert none[0] == 0 and every[1] == 1, trials
        assert none[1] == approx(-math.expm1(math.log(TAIL) / trials), rel=1e-9), trials
        assert every[0] == approx(TAIL ** (1 / trials), rel=1e-12), trials
    assert stats.tail_mass(0.01) == stats.tail_mass(0.01, "published") == 0.0025
    assert stats.tail_mass(0.01, "valid") == 0.005
    for count, trials in [(1, 5), (37, 100), (999, 1000)]:  # they solve their equations
        lower, upper = stats.clopper_pearson(count, trials, TAIL)
        assert law.binom.sf(count - 1, trials, lower) == approx(TAIL, rel=1e-9)
        assert law.binom.cdf(count, trials, upper) == approx(TAIL, rel=1e-9)


def test_quantiles_of_the_beta_law_equal_those_of_forty_digits():
    """Those of Beta(a, b), and their distances from 1, were found by Gauss-Legendre panels and
    Newton's method with mpmath. Bounds promise 1e-12; the numbers agree ten times better."""
    rows = [[float(v) for v in row.values()] for row in table("beta_quantiles")]
    assert len(rows) > 180
    for a, b, tail, lower, beyond in rows:
        ends, label = (np.array([a]), np.array([b])), (a, b, tail)
        assert stats._beta_quantile(*ends, tail, False) == approx(lower, rel=1e-12), label
        assert stats._beta_quantile(*ends[::-1], tail, True) == approx(beyond, rel=1e-12), label


def test_bounds_run_smoothly_where_their_computation_changes():
    """A step of one count moves a bound by about one count."""
    for tail, trials in itertools.product([1e-12, TAIL, 0.05], [10**6, 10**9, 10**12]):
        changes = [seam for seam in (stats._FEW, stats._MANY) if 2 * seam < trials]
        near = [np.arange(seam - 5, seam + 6) for seam in changes]
        counts = np.concatenate([*near, trials - np.arange(105, 95, -1)])
        for bound in stats.clopper_pearson(counts, trials, tail):
            steps = np.diff(bound * trials)[np.diff(counts) == 1]
            assert (steps > 0.3).all() and (steps < 3).all(), (tail, trials)
    rows = [(150, 10**4), (10**5, 10**6), (10**7, 10**10), (10**8, 10**12)]
    for tail, (count, trials) in itertools.product([1e-120, 1e-30, 1e-12, 0.25, 0.9], rows):
        lower, upper = stats.clopper_pearson(count, trials, tail)
        assert special.betainc(count, trials - count + 1, lower) == approx(tail, rel=1e-6)
        assert special.betaincc(count + 1, trials - count, upper) <= tail * (1 + 1e-6)
        assert (lower < count / trials < upper) == (tail < 0.5), (tail, count, trials)


def test_the_ceiling_and_its_bounds_are_those_printed_in_the_paper():
    for trials, digits in [(10**6, 5), (10**4, 3)]:
        printed = paper_values.lookup("ldp_auditor", "eps_OPT", x=trials)
        found = stats.epsilon_ceiling(trials, tail=TAIL)
        assert found == approx(printed, abs=unit(printed, digits) / 2), trials
    low, high = stats.clopper_pearson([10**4, 0], 10**4, TAIL)
    rows = (("CP lower bound of TPR at TP=T", low[0]), ("CP upper bound of FPR at FP=0", high[1]))
    for item, bound in rows:
        printed = paper_values.lookup("ldp_auditor", item, x=10**4)
        assert bound == approx(printed, abs=0.5e-4), item
    rows = [("valid", 10**6, 12.14812), ("published", 10**6, 12.02517), ("valid", 10**4, 7.54269),
            ("published", 10**4, 7.41970)]  # fmt: skip
    for convention, trials, printed in rows:
        tail = stats.tail_mass(ALPHA, convention)
        found = stats.epsilon_ceiling(trials, tail=tail)
        assert found == approx(printed, abs=0.5e-5), (convention, trials)
        assert found == approx(-math.log(tail ** (-1 / trials) - 1), abs=1e-9), (convention, trials)


@pytest.mark.filterwarnings("error")
def test_the_statistic_is_the_log_ratio_of_the_two_bounds():
    tp, fp, delta = np.array([900, 500]), np.array([100, 400]), 0.05
    low, high = stats.clopper_pearson(tp, 1000, TAIL)[0], stats.clopper_pearson(fp, 1000, TAIL)[1]
    wanted = np.log((low - delta) / high)
    assert stats.epsilon_lower(tp, fp, 1000, delta, tail=TAIL) == approx(wanted, abs=1e-12)
    assert stats.epsilon_lower(900, 100, 1000, delta, tail=TAIL) == approx(wanted[0])
    for tp, delta in [(0, 0.0), (3, 0.5), (10, 0.9)]:  # the lower bound does not exceed delta
        assert stats.epsilon_lower(tp, 0, 10, delta, tail=TAIL) == -math.inf
    found = stats.epsilon_lower(np.array([0, 10]), np.array([0, 0]), 10, tail=TAIL)
    assert found[0] == -math.inf and math.isfinite(found[1])


def test_the_expected_statistic_needs_few_bounds_whatever_the_trials(monkeypatch):
    sizes, quantile = [], stats._beta_quantile
    monkeypatch.setattr(
        stats, "_beta_quantile", lambda a, *b: sizes.append(a.size) or quantile(a, *b)
    )
    stats.expected_epsilon(0.5, 0.3, 10**8, tail=TAIL)
    assert sum(sizes) < 1000


def test_the_expected_statistic_equals_the_oracle():
    rows = [row for row in table("exact") if row["figure"] in ("1+2", "2", "8", "5", "3")]
    assert len(rows) == 8 + 312 + 80 + 45 + 160
    for row in rows[::2]:
        rates, delta = (float(row["TPR"]), float(row["FPR"])), float(row["delta"])
        found = stats.expected_epsilon(*rates, TRIALS, delta, tail=TAIL)
        for value, (name, digits) in zip(found, (("eps_emp_mean", 5), ("eps_emp_sd", 3))):
            printed = float(row[name])
            assert value == approx(printed, abs=0.5001 * unit(printed, digits)), row
    assert len(table("tight")) == 569
    for row in table("tight")[::2]:
        # the mechanism's rates, because the table's eight digits are too few at epsilon = 10
        rates = attacks.make("tight").rates(mechanism_of(row))
        mean, _ = stats.expected_epsilon(*rates, TRIALS, float(row["delta"]), tail=TAIL)
        printed = float(row["eps_emp_mean_T1e6"])
        assert mean == approx(printed, abs=0.5001 * unit(printed, 5)), row


def test_the_expected_statistic_equals_the_sum_over_all_counts():
    rows = [(0.999999, 0.3, 3, 0.0), (0.9, 0.2, 40, 0.0), (0.8, 0.01, 200, 0.01), (1.0, 0.0, 10, 0.0),
            (0.5, 0.3, 20_000, 0.0), (0.5, 0.2, 20_000, 0.3), (0.05, 0.01, 100_000, 0.03)]  # fmt: skip
    for tpr, fpr, trials, delta in rows:
        counts = np.arange(trials + 1)
        up, down = law.binom.pmf(counts, trials, tpr), law.binom.pmf(counts, trials, fpr)
        low, high = stats.clopper_pearson(counts, trials, TAIL)
        kept = low > delta  # in these rows the rest has no probability to speak of
        low, high, up = np.log(low[kept] - delta), np.log(high), up[kept] / up[kept].sum()
        ends = up @ low, down @ high
        sd = math.sqrt(up @ (low - ends[0]) ** 2 + down @ (high - ends[1]) ** 2)
        found = stats.expected_epsilon(tpr, fpr, trials, delta, tail=TAIL)
        assert found == approx((ends[0] - ends[1], sd), abs=1e-9), (tpr, fpr, trials)
    mean, sd = stats.expected_epsilon(0.5, 0.1, 20, tail=TAIL)  # the counts may say nothing
    assert mean == -math.inf and math.isnan(sd)
    assert stats.expected_epsilon(0.5, 0.1, 1000, 0.6, tail=TAIL)[0] == -math.inf


def test_the_binomial_window_is_the_binomial_law():
    rows = [(0, 0.3), (1, 0.0), (5, 1.0), (1000, 0.2), (10**6, 1e-6), (10**6, 0.5)]
    for n, rate in rows:
        counts, mass = stats.binomial_window(n, rate)
        assert mass == approx(law.binom.pmf(counts, n, rate), rel=1e-8, abs=1e-18)
        assert mass.sum() == approx(1, abs=1e-12), (n, rate)
        assert counts[0] >= 0 and counts[-1] <= n


def test_the_bounds_fail_no_more_often_than_promised():
    audits, trials, alpha = 20_000, 2000, 0.05
    for tpr, fpr in [(0.5, 0.25), (0.09, 0.03), (0.4, 0.4), (0.02, 0.02)]:
        rng = np.random.default_rng(11)
        counts = [rng.binomial(trials, rate, audits) for rate in (tpr, fpr)]
        found = stats.epsilon_lower(*counts, trials, tail=stats.tail_mass(alpha, "valid"))
        failures = np.count_nonzero(found > math.log(tpr / fpr))
        assert failures <= law.binom.isf(1e-6, audits, alpha), (tpr, fpr)
    for rate in [0.3, 0.01]:
        counts = np.random.default_rng(12).binomial(1000, rate, 100_000)
        lower, upper = stats.clopper_pearson(counts, 1000, 0.01)
        failures = max(np.count_nonzero(lower > rate), np.count_nonzero(upper < rate))
        assert failures <= law.binom.isf(1e-6, 100_000, 0.01), rate


def test_extreme_tails_give_bounds():
    for count, trials in ((0, 10), (2, 10), (10, 10), (5, 10**6), (10**6, 10**12)):
        low, high = stats.clopper_pearson(count, trials, 1e-120)
        assert 0 <= low <= count / trials <= high <= 1, (count, trials)


@pytest.mark.parametrize(
    "alpha, epsilon, delta", [(0.01, 1.0, 0.0), (0.05, 4.0, 0.0), (0.2, 0.5, 0.01)]
)
def test_the_steps_of_theorem_1_of_ldp_auditor_in_exact_probabilities(alpha, epsilon, delta):
    """An attack that uses all of epsilon and delta: the theorem's proof, appendix E, step by step."""
    n, fpr = 1_000, 0.01
    tpr = math.exp(epsilon) * fpr + delta
    (tp, at_tp), (fp, at_fp) = stats.binomial_window(n, tpr), stats.binomial_window(n, fpr)
    low, high = (
        stats.clopper_pearson(tp, n, alpha / 2)[0],
        stats.clopper_pearson(fp, n, alpha / 2)[1],
    )
    chance, hold = np.outer(at_tp, at_fp), np.outer(low <= tpr, high >= fpr)
    assert 1 - alpha <= chance[hold].sum() <= 1 - alpha / 4  # the limits are not idle
    found = stats.epsilon_lower(tp[:, None], fp, n, delta, tail=alpha / 2)
    assert (found[hold] <= math.log((tpr - delta) / fpr) + 1e-12).all()
    assert math.log((tpr - delta) / fpr) == approx(epsilon, abs=1e-12)
    assert 0 < chance[found > epsilon].sum() <= alpha
