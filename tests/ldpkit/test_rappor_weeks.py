"""RAPPOR over weeks: every bit of every week listed one by one by the steps of the client, without
a formula of the report type, and 30 p-values of reports above `P_MIN`."""

import itertools
import math

import numpy as np
import pytest
from chance import P_MIN, binomial_p, chi_square_p
from pytest import approx

from ldpkit.attacks import ATTACKS, TwoValueTest
from ldpkit.mechanisms import RAPPOR, make

GUESS = ATTACKS["guess"]
TINY = [  # k, epsilon, m, h, cohorts, keep, flip, tau
    RAPPOR(4, 2.0, 3, 2, 2, 0.75, 0.5, 2), RAPPOR(3, 1.0, 4, 1, 3, 0.9, 0.05, 3), RAPPOR(5, 3.0, 3, 3, 1, 0.6, 0.2, 3),
    RAPPOR(3, 2.0, 3, 2, 2, tau=3), RAPPOR(3, 2.0, 3, 2, 2, 1.0, 0.5, 2), RAPPOR(3, 2.0, 3, 1, 2, 0.5, 0.0, 3),
]  # fmt: skip


def listed(m):
    """All reports (n,), and their probabilities for each value, (k, n)."""
    rows = np.array(list(itertools.product((0, 1), repeat=m.m)), np.uint8)
    sent = np.where(rows[:, None] == 1, m.keep, m.flip)  # of permanent bits, to weekly bits
    again = np.where(rows, sent, 1 - sent).prod(axis=2)
    weeks = np.array(list(itertools.product(range(len(rows)), repeat=m.tau)))
    given = again[:, weeks].prod(axis=2)  # of permanent bits, to all weeks
    reports = np.zeros((m.cohorts, len(weeks)), m.report_type.form)
    reports["cohort"], reports["bits"] = np.arange(m.cohorts)[:, None], rows[weeks]
    laws = np.empty((m.k, *reports.shape))
    for value, c in itertools.product(range(m.k), range(m.cohorts)):
        own = np.isin(np.arange(m.m), m.single.places[c, :, value])
        permanent = np.where(rows == own, 1 - m.f / 2, m.f / 2).prod(axis=1)
        laws[value, c] = permanent @ given / m.cohorts
    return reports.ravel(), laws.reshape(m.k, -1)


@pytest.mark.parametrize("m", TINY, ids=str)
def test_rates_and_loss_follow_from_all_bits_of_all_weeks(m):
    reports, laws = listed(m)
    kind = m.report_type
    assert laws.sum(axis=1) == approx(1, abs=1e-12)
    held = kind.tally(m.read(reports)).astype(float)
    held[held.sum(axis=1) == 0] = 1
    for pair in itertools.permutations(range(m.k), 2):
        one, two = laws[list(pair)]
        seen = one + two > 0
        ratio = np.log(one[seen] / two[seen])
        score = kind.score(reports, pair)
        assert score[seen] == approx(ratio, abs=1e-10) and np.isfinite(score).all()
        assert kind.loss(pair) == approx(ratio.max(), abs=1e-10) and ratio.max() < m.epsilon + 1e-9
        named = held[:, pair[0]] / held.sum(axis=1)
        assert GUESS.rates(m, pair) == approx((one @ named, two @ named), rel=1e-12)
        for threshold in [*np.unique(ratio.round(9)), *kind.thresholds()]:
            event = ratio >= threshold - 1e-8
            least = float(threshold) - 1e-8
            wanted = approx((one[seen] @ event, two[seen] @ event), rel=1e-10, abs=1e-15)
            assert kind.score_rates(least, pair) == wanted, threshold
        for threshold in [*np.unique(score), kind.loss(pair)]:  # ties count, the last one too
            event = score >= threshold
            wanted = approx((one @ event, two @ event), rel=1e-10, abs=1e-15)
            assert kind.score_rates(threshold, pair) == wanted and event.any(), threshold


@pytest.mark.parametrize("m", TINY, ids=str)
def test_a_bit_counts_as_set_if_its_weeks_are_likelier_from_a_permanent_one(m):
    """And all other reports of values count by their bits, as those of one week do."""
    reports, _ = listed(m)
    ones = reports["bits"].astype(int).sum(axis=1)
    kept, flipped = (np.where(reports["bits"], r, 1 - r).prod(axis=1) for r in (m.keep, m.flip))
    likelier = kept > flipped * (1 + 1e-9)
    own = enumerate(reports["cohort"])
    tally = [[likelier[i, m.single.places[c, :, v]].all() for v in range(m.k)] for i, c in own]
    assert (m.report_type.tally(reports) == tally).all() and ones.max() == m.tau
    for v in range(m.k):
        assert (m.report_type.supports(reports, v) == np.array(tally)[:, v]).all()


def test_one_week_is_one_report():
    for given in [(4, 2.0, 8, 2, 4, 0.75, 0.5), (3, 1.0, 5, 3, 2, 0.9, 0.1)]:
        one, many = RAPPOR(*given), RAPPOR(*given, tau=1)
        assert (many.first, many.p, many.q) == approx((one.first, one.p, one.q), rel=1e-12)
        for pair in itertools.permutations(range(one.k), 2):
            assert many.report_type.loss(pair) == approx(one.report_type.loss(pair), abs=1e-11)
            assert GUESS.rates(many, pair) == approx(GUESS.rates(one, pair), rel=1e-12)
            for level in one.report_type.thresholds():
                wanted = one.report_type.score_rates(level, pair)
                assert many.report_type.score_rates(level - 1e-9, pair) == approx(wanted, rel=1e-10)
        values = np.arange(one.k).repeat(50)
        reports = [m.perturb(values, np.random.default_rng(3)) for m in (one, many)]
        assert (reports[0]["bits"] == reports[1]["bits"][:, 0]).all()


def test_the_two_losses_are_those_of_the_paper():
    """epsilon_1 = h ln(q* (1 - p*) / (p* (1 - q*))) and epsilon_infinity = 2 h ln((1 - f/2) / (f/2)),
    from f = 1/2, q = 3/4, p = 1/2 and h = 2; many weeks approach the latter from below."""
    f, q, p, h = 0.5, 0.75, 0.5, 2
    seen, unseen = f / 2 * (p + q) + (1 - f) * q, f / 2 * (p + q) + (1 - f) * p
    least = h * math.log(seen * (1 - unseen) / (unseen * (1 - seen)))
    most = 2 * h * math.log((1 - f / 2) / (f / 2))
    weeks = [RAPPOR(10, most, 1024, h, 1, q, p, tau) for tau in (1, 2, 4, 13, 52, 5000)]
    losses = [m.report_type.loss((0, 9)) for m in weeks]
    assert losses[0] == approx(least, abs=1e-11) == approx(weeks[0].first, abs=1e-11)
    assert losses == sorted(losses) and losses[-2] == approx(most, abs=1e-6)
    assert {m.epsilon for m in weeks} == {most} and losses[-1] <= most + 1e-11
    assert [m.f for m in weeks] == [approx(f)] * 6
    assert {m.first for m in weeks} == {weeks[0].first}


def test_the_client_draws_permanent_bits_once_and_weekly_bits_afresh():
    m, n = RAPPOR(4, 2.0, 3, 2, 2, 0.8, 0.3, 2), 40_000
    reports, laws = listed(m)
    index = {(int(r["cohort"]), r["bits"].tobytes()): i for i, r in enumerate(reports)}
    for value in range(m.k):
        drawn = m.perturb(np.full(n, value), np.random.default_rng([5, value]))
        at = [index[int(r["cohort"]), r["bits"].tobytes()] for r in drawn]
        assert chi_square_p(np.bincount(at, minlength=len(reports)), laws[value]) > P_MIN, value


@pytest.mark.parametrize(("h", "tau"), [(2, 52), (4, 52), (2, 1000), (16, 9)])
def test_exact_rates_are_those_of_real_reports_for_few_sums_and_for_many(h, tau):
    m, n = RAPPOR(10, 3.0, 32, h, 2, 0.55, 0.45, tau), 800
    few = math.comb(tau + h, h) <= 2**16
    assert (m.report_type.levels == m.report_type.ratios).all() == few
    chosen, pair = TwoValueTest().choose(m, n, 0.005), (0, 9)
    for i, value in enumerate(pair):
        reports = m.perturb(np.full(n, value), np.random.default_rng([7, h, tau, value]))
        for event in (chosen, TwoValueTest(0.5), TwoValueTest(1.5)):
            hits = int(event.accepts(m, reports, pair).sum())
            assert binomial_p(hits, n, event.rates(m, pair)[i]) > P_MIN, (event, value)


def test_rounded_scores_keep_nearly_all_power():
    """Sums of 4 bits of 20 weeks are kept apart, those of 90 weeks are not; their scores differ by
    less than 2 h roundings of a 256th of the permanent step's, and no rate exceeds the claim."""
    m = RAPPOR(10, 2.0, 64, 4, 1, 0.75, 0.5, 90)
    kind, step = m.report_type, 2.0 ** (math.frexp(m.epsilon / 8)[1] - 8)
    assert 0 < np.abs(kind.levels - kind.ratios).max() <= step / 2 <= m.epsilon / 8 / 256
    for threshold in kind.thresholds():
        tpr, fpr = kind.score_rates(threshold, (0, 9))
        assert tpr >= fpr * math.exp(threshold - 8 * step / 2) * (1 - 1e-9), threshold
        assert tpr <= fpr * math.exp(m.epsilon) + 1e-15


def test_the_name_with_weeks_is_the_mechanism():
    m = make("RAPPOR", k=5, epsilon=2.0, m=16, cohorts=512, keep=0.75, flip=0.5, tau=13)
    assert m == RAPPOR(5, 2.0, 16, 2, 512, 0.75, 0.5, 13) and m.parameters["tau"] == 13
    assert "tau" not in RAPPOR(5, 2.0).parameters
