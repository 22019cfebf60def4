"""Key-value sets, PCKV, CPP and PrivKV: 300,000 real users each against exact laws, and estimators by
their exact variance; fewer than 200 p-values against `chance.P_MIN`."""

import itertools
import math

import numpy as np
import pytest
from chance import P_MIN, chi_square_p, estimation_p, rng

from ldpkit.mechanisms import CPPGRR, CPPUE, GRR, OUE, PCKVGRR, PCKVUE, KeyValues, PrivKV
from ldpkit.mechanisms.correlated import CPP
from ldpkit.reports.base import product_distribution

SETS = [[], [(1, 0.3)], [(0, -0.5), (2, 1.0)], [(0, -0.5), (2, 1.0), (1, 0.0)]]
GRID = [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 4.0, 6.0]


def alike(pairs, n, k):
    """Users who all hold the same pairs."""
    keys, values = ([pair[i] for pair in pairs] for i in (0, 1))
    repeated = np.tile(np.array(keys, int), n), np.tile(np.array(values, float), n)
    return KeyValues(np.arange(n + 1) * len(pairs), *repeated, k)


@pytest.mark.parametrize("cls", [PCKVUE, PCKVGRR, CPP])
def test_real_users_follow_the_law(cls):
    if cls is CPP:
        means = (None, [[-0.9, 0.1, 0.5], [-0.4, 0, 1]])
        cases = [(c(2, 3.0, 6, 2), [(1, -0.45)], m) for c in (CPPUE, CPPGRR) for m in means]
        cases += [(CPPUE(1, 1.6), pairs, None) for pairs in ([], [(0, -1.0)], [(0, 0.0)])]
        cases += [(PrivKV(3, 2.0), SETS[2], None), (PrivKV(1, 2.0, 5), [(0, 0.4)], [[-0.3]])]
    else:
        cases = [(cls(3, 1.2, 2, 0.9, e), s, None) for e in ("correct", "floor") for s in SETS[:3]]
        cases += [(cls(3, 2.0), SETS[3], None)]
    for case in cases:
        mechanism, pairs, means = case
        given = {} if means is None else {"means": means}
        law = mechanism.distribution(pairs, **given)
        reports = mechanism.perturb(alike(pairs, 300_000, mechanism.k), rng(11), **given)
        assert law.sum() == pytest.approx(1, abs=1e-12) and law.min() > 0, case
        seen = np.bincount(mechanism.encode(reports), minlength=law.size)
        assert chi_square_p(seen, law) > P_MIN, case


def test_what_the_server_counts_has_one_law_drawn_or_counted():
    def signed(mechanism, output, key):
        """What output number `output` says about `key`."""
        if mechanism.name == "PCKV-GRR":
            return (output // 2 == key) * (2 * (output % 2) - 1)
        return output // 3 ** (mechanism.d - 1 - key) % 3 - 1

    for m in (PCKVUE(3, 1.5, 2), PCKVGRR(3, 1.5, 2)):
        sets, laws = KeyValues.of(SETS * 2500, 3), [m.distribution(pairs) for pairs in SETS]
        drawn = np.array([m.collect(sets, rng([s, 5])) for s in range(150)])
        counted = np.array([m.sign_counts(m.perturb(sets, rng([s, 5]))) for s in range(150)])
        for (symbol, sign), key in itertools.product(enumerate((1, -1)), range(3)):
            at = np.array([signed(m, o, key) == sign for o in range(laws[0].size)])
            rates = [law[at].sum() for law in laws]
            mean, variance = 2500 * sum(rates), 2500 * sum(r * (1 - r) for r in rates)
            for found in (drawn, counted):
                own = found.reshape(150, 6)[:, [symbol * 3 + key]]
                assert estimation_p(own, mean, variance) > P_MIN, (m, sign, key)


def test_the_law_at_positions_is_the_marginal_of_the_whole_law():
    mechanism = PCKVUE(3, 1.0, 2)
    whole = mechanism.distribution(SETS[2]).reshape([3] * 5)
    two, one = whole.sum(axis=(1, 3, 4)).T.ravel(), whole.sum(axis=(0, 1, 2, 4))
    assert mechanism.distribution(SETS[2], [2, 0]) == pytest.approx(two, abs=1e-15)
    assert mechanism.distribution(SETS[2], [3]) == pytest.approx(one, abs=1e-15)
    record = np.array([[1, 0, -1, 1], [-1, -1, -1, -1]])  # numbered by the symbols that are seen
    assert PCKVUE(3, 1.0).encode(record).tolist() == [2 * 27 + 9 + 0 + 2, 0]
    assert PCKVUE(3, 1.0).encode(record, [2, 0]).tolist() == [2, 0]
    # the last position moves fastest
    assert product_distribution([[0.1, 0.9], [0.3, 0.7]]) == pytest.approx([0.03, 0.07, 0.27, 0.63])


def test_pckv_golden_values():
    ue = PCKVUE(4, 1.6, share=0.5)
    assert (ue.a, ue.b, 1 - ue.flip) == pytest.approx((0.5, 0.3827355, 0.6899745), abs=5e-8)
    mixed = [0.5 * (ue.distribution([p]) + ue.distribution([])) for p in ((0, 1.0), (1, -1.0))]
    first, second = mixed
    for record, one, two in (
        ((1, 0, 0, 0, 0), 0.03629320, 0.02250363), ((0, -1, 0, 0, 0), 0.02250363, 0.03629320),
        ((0, 0, 0, 0, 0), 0.07258639, 0.07258639), ((1, 0, 0, 0, 1), 0.01338938, 0.00911426),
    ):  # fmt: skip
        at = ue.encode(np.array([record]))[0]
        assert (first[at], second[at]) == pytest.approx((one, two), abs=5e-9), record
    assert np.abs(np.log(first / second)).max() == pytest.approx(0.4779535, abs=5e-8)
    grr = PCKVGRR(2, 1.6, share=0.5)
    mixed = 0.5 * grr.distribution([(0, 1.0)]) + 0.5 * grr.distribution([])
    wanted = [0.138398, 0.223204, 0.138398, 0.138398, 0.180801, 0.180801]
    assert mixed == pytest.approx(wanted, abs=5e-7)


def test_pckv_mixed_with_those_who_hold_nothing_has_its_closed_form():
    for epsilon in GRID:
        m = PCKVUE(4, epsilon, share=0.5)
        laws = [0.5 * (m.distribution([p]) + m.distribution([])) for p in ((0, 1.0), (1, -1.0))]
        wanted = math.log(1 + 0.5 * math.expm1(epsilon / 2))
        assert np.log(laws[0] / laws[1]).max() == pytest.approx(wanted, rel=1e-12), m


def test_floor_division_never_sends_a_small_set():
    for cls in (PCKVUE, PCKVGRR):
        faulty = cls(3, 2.0, 2, eta="floor")
        assert (faulty.distribution([(0, 1.0)]) == faulty.distribution([])).all()
        correct = cls(3, 2.0, 2).distribution(SETS[2])
        assert faulty.distribution(SETS[2]) == pytest.approx(correct, abs=1e-15)


def test_cpp_golden_values():
    m, means, seen = CPPUE(1, 1.6), None, []
    assert (m.key_rate(), m.key_rate([[0, 0]])) == (pytest.approx(0.6899745, abs=5e-8), 0.5)
    assert m._rates[0] == pytest.approx(0.5399149, abs=5e-8)
    for _ in range(5):
        law = 0.5 * m.distribution([(0, -1.0)], means) + 0.5 * m.distribution([], means)
        assert (law[0] + law[1], law[16]) == pytest.approx((0.53620630, 0.02629117), abs=5e-9)
        means = m.broadcast(*m.tally_counts(law), means)
        assert means[0, 1] == pytest.approx(0.5, abs=1e-12)
        seen.append((law[9], law[2], means[0, 0]))
    nine, two, mean = zip(*seen)
    wanted = [0.03978300, 0.03931279, 0.03949066, 0.03954996, 0.03956972]
    assert nine == pytest.approx(wanted, abs=5e-9)
    assert two == pytest.approx([0.03175480] + [0.03230741] * 4, abs=5e-9)
    assert mean[:4] == pytest.approx([-0.908, -0.969, -0.990, -0.997], abs=5e-4)
    for one, other in itertools.pairwise(mean):
        assert other == pytest.approx(-2 / 3 + one / 3, abs=1e-9)


def test_privkv_is_cpp_grr_with_two_slots_and_flips_the_sign():
    m = PrivKV(1, 1.6, 5)
    assert m.buckets == 2
    assert (m.distribution([(0, 0.2)]) == CPPGRR(1, 1.6, 2, 5).distribution([(0, 0.2)])).all()
    keep = 1 / (1 + math.exp(-0.16))
    values = m.distribution([(0, 1.0)])[1:] / m.key_rate()
    assert values == pytest.approx([1 - keep, keep], abs=1e-12)
    means, found = None, []
    for _ in range(5):
        law = 0.5 * m.distribution([(0, -1.0)], means) + 0.5 * m.distribution([], means)
        means = m.broadcast(*m.tally_counts(law), means)
        found.append(means[0, 0])
    assert found == pytest.approx([-0.689974, -0.844987, -0.922494, -0.961247, -0.980623], abs=5e-7)


def test_values_go_to_the_boundaries_of_their_bucket_without_bias():
    for buckets, value, law in [
        (4, -1.0, [1, 0, 0, 0]), (4, 1.0, [0, 0, 0, 1]), (4, 0.0, [0, 1, 0, 0]), (4, -0.25, [0.25, 0.75, 0, 0]),
        (4, 0.25, [0, 0, 0.75, 0.25]), (2, 0.5, [0.25, 0.75]), (8, 0.6, [0, 0, 0, 0, 0, 0, 0.8, 0.2]),
    ]:  # fmt: skip
        mechanism = CPPUE(1, 1.0, buckets)
        found = mechanism.slot_distribution(value)
        assert found == pytest.approx(law, abs=1e-12), (buckets, value)
        assert found @ mechanism.points == pytest.approx(value, abs=1e-12), (buckets, value)


def test_a_bucket_without_reports_keeps_its_mean():
    mechanism = CPPUE(1, 1.0)
    own, other = mechanism._rates
    slots = np.array([[100 * own, 100 * other, 100 * other, 100 * other]])
    assert mechanism.broadcast(np.array([100.0]), slots, [[0.0, 0.7]]).tolist() == [[-1.0, 0.7]]


def test_pckv_estimates_are_unbiased_with_the_stated_variance():
    n = 20_000
    for cls, padding in itertools.product((PCKVUE, PCKVGRR), (1, 2)):
        m, held = cls(4, 2.0, padding), [(1, -0.5), (2, 0.5)][:padding]
        sets = KeyValues.of([[(0, 1.0)], held, [], [(0, 1.0)]] * (n // 4), 4)
        truth, means = sets.truth()
        found = [m.estimate_counts(*m.collect(sets, rng([s, 3])), n) for s in range(150)]
        assert estimation_p([f[0] for f in found], truth, m.variance(n, truth)) > P_MIN, m
        signs = np.array([f[1][0] for f in found])  # key 0: half of the users, mean 1
        assert means[0] == 1 and m.estimate(m.perturb(sets, rng()))[0].shape == (4,)
        assert ((signs <= 1) & (signs > 0.5)).all(), m


def test_the_variance_of_a_mean_is_right_to_leading_order():
    n = 100_000
    sets = KeyValues.of([[(0, 0.2), (1, -0.6)], []] * (n // 2), 3)
    for m in (PCKVUE(3, 2.0, 2), PCKVGRR(3, 2.0, 2)):
        found = [m.estimate_counts(*m.collect(sets, rng([s, 4])), n)[1] for s in range(100)]
        for key, mean in ((0, 0.2), (1, -0.6)):
            own, variance = np.array(found)[:, [key]], m.mean_variance(n, 0.5, mean)
            assert estimation_p(own, mean, variance) > P_MIN, (m, key)


def test_cpp_frequencies_are_unbiased_and_means_are_drawn_to_the_middle():
    n, truth = 20_000, np.array([0.5, 0.25])
    sets = KeyValues.of([[(0, 0.8)], [(1, -0.4)], [(0, 0.8)], []] * (n // 4), 2)
    for m in (CPPUE(2, 8.0, 4, 1), CPPGRR(2, 8.0, 4, 1), PrivKV(2, 8.0)):
        found = np.array([m.estimate(m.perturb(sets, rng([s, 6]))) for s in range(150)])
        # users who look at a key are sampled: the variance is the stated one to order k / n
        assert estimation_p(found[:, 0], truth, m.variance(n, truth)) > P_MIN, m
        rate, means = m.key_rate(), found[:, 1]
        for key, (share, mean) in enumerate(((0.5, 0.8), (0.25, -0.4))):
            pulled = share * rate * mean / (share * rate + (1 - share) * (1 - rate))
            own = means[:, key]
            assert abs(own.mean() - pulled) < 5 * own.std() / math.sqrt(150), (m, key)


def test_nobody_looks_and_nobody_holds_give_nan():
    frequency, mean = PrivKV(5, 1.0).estimate(PrivKV(5, 1.0).perturb(KeyValues.of([[]], 5), rng()))
    assert np.isnan(frequency).sum() == 4 and np.isnan(mean).sum() >= 4
    frequency, mean = PCKVUE(2, 1.0).estimate_counts(np.array([0, 9]), np.array([0, 0]), 10)
    assert frequency[0] < 0 and np.isnan(mean[0]) and mean[1] == 1


def test_sets_are_looked_up_and_summarised():
    sets = KeyValues.of([[(2, 0.5), (0, -1.0)], [], [(2, 1.0)]], 4)
    held, values = sets.find(np.array([0, 2, 2]))
    assert held.tolist() == [True, False, True] and values.tolist() == [-1.0, 0.0, 1.0]
    assert len(sets) == 3 and sets.find(np.array([3, 0, 3]))[0].tolist() == [False] * 3
    frequency, mean = sets.truth()
    assert frequency.tolist() == pytest.approx([1 / 3, 0, 2 / 3, 0])
    assert mean.tolist()[:3:2] == [-1.0, 0.75] and np.isnan(mean[[1, 3]]).all()


def test_the_rule_of_gvpp_chooses_the_smaller_variance_from_its_budget_on_and_not_just_below():
    """Randomised response and unary encoding of L slots are equal at ln((L - 2) / 3); the rule says ln(L / 2)."""
    for slots in (8, 16, 64):
        equal, rule = math.log((slots - 2) / 3), math.log(slots / 2)
        for epsilon, sign in (
            (equal - 0.01, 1),
            (equal + 0.01, -1),
            (rule - 0.01, -1),
            (rule, -1),
            (rule + 3, -1),
        ):
            assert sign * (GRR(slots, epsilon).variance(1) - OUE(slots, epsilon).variance(1)) > 0
