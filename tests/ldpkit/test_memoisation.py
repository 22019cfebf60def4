"""Noise drawn once: two chained rounds of noise (L-SUE, L-OSUE, L-OUE, L-GRR) and flipped bits of
buckets (dBitFlipPM).

Exact rates are compared with the specification's vectors (half a unit of the last of ten digits)
and with enumerations of all permanent states and all reports. Simulated counts and estimates give
fewer than 600 p-values, each judged by `laws.P_MIN`: a correct package fails this file with
probability below 5e-5.
"""

import itertools
import math

import numpy as np
import pytest
from laws import P_MIN, binomial_p, build, chi_square_p, estimation_p, least_p
from pytest import approx

from ldpkit import attacks
from ldpkit.attacks import TwoValueTest
from ldpkit.auditors import audit, expected
from ldpkit.mechanisms import GRR, OUE, RSFD, SUE, BucketFlip, Chained, Repeated, make

GUESS, TIGHT = attacks.ATTACKS["guess"], attacks.ATTACKS["tight"]
PROTOCOLS = ["SUE", "OSUE", "OUE", "GRR"]


def rng(*seed):
    return np.random.default_rng(seed or 1)


def test_one_report_has_exactly_its_epsilon():
    budgets, shares = (0.1, 1, 2, 5, 10), (0.01, 0.5, 0.9, 0.999)
    permanent = {"SUE": SUE, "OSUE": OUE, "OUE": OUE, "GRR": GRR}
    for k, name, epsilon, share in itertools.product([2, 3, 25, 1000], PROTOCOLS, budgets, shares):
        most = math.log((2 * math.exp(epsilon) + 1) / 3) if name == "OUE" else epsilon
        m = Chained(k, epsilon, share * most, 1, name)
        odds = m.p / m.q if name == "GRR" else m.p * (1 - m.q) / ((1 - m.p) * m.q)
        assert math.log(odds) == approx(m.first, rel=1e-8, abs=1e-12), m
        keep, flip = m.second
        rest = {"GRR": (k - 1) * flip, "OUE": 0.5}.get(name, flip)
        assert 0 < flip < keep < 1 and keep + rest == approx(1), m
        assert m.permanent == permanent[name](k, epsilon)


def test_each_round_supports_every_value_as_often_as_p_and_q_say():
    for k, protocol in itertools.product([2, 5], PROTOCOLS):
        m, n = Chained(k, 2.0, 1.0, 3, protocol), 30_000
        for reports in m.perturb(np.full(n, 1), rng(k)):
            for value, count in enumerate(m.permanent.support_counts(reports)):
                assert binomial_p(count, n, m.p if value == 1 else m.q) > P_MIN, m
        with pytest.raises(ValueError, match=f"reports of L-{protocol} must have 3 rounds"):
            m.estimate(m.perturb([0, 1], rng())[:2])
    for tau in (0, 1.5):
        with pytest.raises(ValueError, match="tau"):
            Chained(5, 2.0, 1.0, tau)


def test_rates_run_from_those_of_the_first_report_to_those_of_the_permanent_round():
    for tau, tpr in ((1, 0.0659485538), (10, 0.1085986770), (100, 0.1086939476)):
        assert GUESS.rates(Chained(25, 2.0, 1.0, tau))[0] == approx(tpr, abs=0.501e-10)
    assert GUESS.rates(SUE(25, 2.0))[0] == approx(0.1086939476, abs=0.501e-10)
    for k, protocol in itertools.product([2, 25], PROTOCOLS):
        chain = [Chained(k, 2.0, 1.0, tau, protocol) for tau in (1, 4, 16, 64, 500)]
        found = [GUESS.rates(m)[0] for m in chain]
        assert found == sorted(found), (k, protocol)
        if protocol in ("SUE", "GRR"):  # with two such rounds, one report is again SUE or GRR
            single = {"SUE": SUE, "GRR": GRR}[protocol](k, 1.0)
            assert found[0] == approx(GUESS.rates(single)[0], rel=1e-10)
        assert found[-1] == approx(GUESS.rates(chain[0].permanent)[0], rel=1e-8), (k, protocol)


def enumerated(m):
    """Supports of all sequences of reports, array (sequences, tau, k), and their laws under either
    audited value."""
    k, (keep, flip), single = m.k, m.second, m.protocol == "GRR"
    states = np.eye(k, dtype=int) if single else np.array([*itertools.product([0, 1], repeat=k)])

    def law(chances):  # of every state, given the chance of a one at every value
        return chances if single else np.prod(np.where(states, chances, 1 - chances), axis=1)

    given = [law(np.where(state, keep, flip)) for state in states]
    sequences, laws = np.array([*itertools.product(range(len(states)), repeat=m.tau)]), []
    for value in (0, k - 1):
        weights = law(np.where(np.arange(k) == value, m.permanent.p, m.permanent.q))
        laws.append(sum(w * row[sequences].prod(axis=1) for w, row in zip(weights, given)))
    return states[sequences], laws


def test_rates_of_both_attacks_equal_the_enumeration_of_all_reports():
    rows = [(name, k, tau) for name in PROTOCOLS[:3] for k, tau in ((2, 3), (3, 2))]
    for name, k, tau in [*rows, ("GRR", 2, 4), ("GRR", 3, 3), ("GRR", 4, 4)]:
        m = Chained(k, 1.5, 0.8, tau, name)
        supports, laws = enumerated(m)
        assert [law.sum() for law in laws] == approx([1, 1], rel=1e-12), m
        tally = supports.sum(axis=1)
        best = tally == tally.max(axis=1, keepdims=True)
        named = best[:, 0] / best.sum(axis=1)
        assert GUESS.rates(m) == approx([law @ named for law in laws], rel=1e-11)
        rounds = [r.argmax(axis=1) if name == "GRR" else r for r in supports.swapaxes(0, 1)]
        for threshold in range(-1, tau + 1):
            test = TwoValueTest(threshold)
            seen = test.accepts(m, rounds, (0, k - 1))
            assert test.rates(m) == approx([law[seen].sum() for law in laws], rel=1e-11), test


def test_fast_samples_real_reports_and_exact_rates_agree():
    for tau, k, protocol in itertools.product([1, 3, 6], [2, 3, 10], PROTOCOLS):
        m = Chained(k, 1.7, 0.9, tau, protocol)
        for number, attack in enumerate((GUESS, TwoValueTest(1.0 + tau // 4))):
            assert least_p(attack, m, 10 * tau + number, real=15_000) > P_MIN, (m, attack)
    for epsilon in np.arange(0.1, 10, 0.1):  # with k = 2 there is no third value, up to rounding
        m = make("L-GRR", k=2, epsilon=epsilon, first=epsilon / 2, tau=3)
        assert 0 <= TwoValueTest(1.0).sample(m, 10, True, rng(2)) <= 10
    for label in ["LHO", "FaultySUE", "AGRR", "ASUE", "ABLH", "AOLH"]:  # they can be repeated too
        m = Repeated(build(label, 5, 1.0), 3)
        assert expected(m) is not None
        for number, attack in enumerate((GUESS, TwoValueTest(1.0))):
            assert least_p(attack, m, 8 + number, real=15_000) > P_MIN, (m, attack)
    for m in [*TINY, BucketFlip(24, 2.0, 12, 4), BucketFlip(100, 1.0, 100, 30)]:
        for number, attack in enumerate((GUESS, TIGHT)):
            assert least_p(attack, m, 90 + number, real=30_000) > P_MIN, (m, attack)


def test_estimates_of_two_rounds_are_unbiased_and_the_permanent_noise_does_not_average_out():
    n, repeats, truth = 100, 1000, np.array([0.5, 0.3, 0.2, 0.0])
    values = np.tile(np.repeat(np.arange(4), (n * truth).astype(int)), repeats)
    for protocol in PROTOCOLS:
        for tau in (1, 8):
            m = Chained(4, 2.0, 1.0, tau, protocol)
            parts = zip(*(np.split(r, repeats) for r in m.perturb(values, rng(3))))
            estimates = [m.estimate(list(part)) for part in parts]
            assert estimation_p(estimates, truth, m.variance(n, truth)) > P_MIN, m
        many = Chained(4, 2.0, 1.0, 10**6, protocol)
        for frequency in (0.0, 0.3):
            limit = m.permanent.variance(n, frequency)
            assert limit < m.variance(n, frequency)
            assert many.variance(n, frequency) == approx(limit, rel=1e-4)


def test_an_honest_chain_is_not_flagged_however_often_it_is_observed():
    for protocol, tau in itertools.product(PROTOCOLS, (1, 100)):
        result = audit(Chained(10, 1.0, 0.5, tau, protocol), "tight", trials=100_000)
        assert result.claim == 1.0 and not result.violated, (protocol, tau)
        # the permanent round shows through
        assert tau == 1 or protocol == "GRR" or result.lower > 0.8, (protocol, tau)
        m = make(f"L-{protocol}", k=5, epsilon=2.0, first=1.0, tau=3)
        assert m == Chained(5, 2.0, 1.0, 3, protocol) and m.name == f"L-{protocol}"
        assert make(m.name, k=5, epsilon=2.0, first=1.0).tau == 1 and m.parameters["first"] == 1.0


def bucket_reports(m):
    """All reports, and their laws under the first and the last value."""
    reports, laws = [], [[], []]
    for chosen in map(list, itertools.combinations(range(m.buckets), m.bits)):
        for bits in itertools.product([0, 1], repeat=m.bits):
            reports.append(np.full(m.buckets, -1))
            reports[-1][chosen] = bits
            for law, own in zip(laws, (0, m.buckets - 1)):
                rates = np.where(np.equal(chosen, own), m.p, m.q)
                law.append(np.where(bits, rates, 1 - rates).prod() / math.comb(m.buckets, m.bits))
    return np.array(reports), np.array(laws)


TINY = [(2, 1.0, 2, 1), (2, 1.0, 2, 2), (6, 0.7, 3, 2), (4, 2.0, 4, 3), (12, 3.0, 4, 1), (9, 1.5, 3, 3)]  # fmt: skip
TINY = [BucketFlip(*given) for given in TINY]


def test_rates_on_buckets_equal_the_enumeration_of_all_reports():
    printed = (0.0903041078, 0.0372450811)
    assert GUESS.rates(BucketFlip(24, 2.0, 12, 4)) == approx(printed, abs=0.501e-10)
    for m in TINY:
        reports, laws = bucket_reports(m)
        ones = reports == 1
        chosen = np.where(ones.any(axis=1, keepdims=True), ones, True)
        named = chosen[:, 0] / chosen.sum(axis=1) / m.size
        assert GUESS.rates(m) == approx(laws @ named, rel=1e-12)
        seen = TIGHT.accepts(m, reports, (0, m.k - 1))
        assert TIGHT.rates(m) == approx(laws @ seen, rel=1e-12)
        loss = np.abs(np.log(laws[0] / laws[1])).max()
        assert loss == approx(m.epsilon * (1 if m.bits > 1 else 0.5), rel=1e-12), m


def test_two_values_of_one_bucket_are_refused_because_nothing_tells_them_apart():
    for attack in ["guess", "tight"]:
        m = BucketFlip(24, 2.0, 12, 4)
        for pair in ((0, 1), (23, 22)):
            with pytest.raises(ValueError, match="pair must"):
                audit(m, attack, pair=pair, trials=1000)
        near = audit(m, attack, pair=(1, 2), trials=20_000, faithful=True)
        for side, rate in zip(("tp", "fp"), attacks.make(attack).rates(m)):
            assert binomial_p(near.counts[side], 20_000, rate) > P_MIN, attack


def test_bucket_reports_follow_their_whole_law():
    m, n = BucketFlip(6, 1.0, 3, 2), 60_000
    reports, laws = bucket_reports(m)
    found = (m.perturb(np.full(n, 1), rng(5)) + 1) @ [9, 3, 1]
    codes = (reports + 1) @ [9, 3, 1]
    counts = [np.count_nonzero(found == code) for code in codes]
    assert sum(counts) == n and chi_square_p(counts, laws[0]) > P_MIN


def test_bucket_estimates_are_unbiased_and_vary_as_their_formula_says():
    n, repeats, truth = 400, 1000, np.array([0.5, 0.3, 0.2, 0.0])
    users = np.repeat(np.arange(8), np.rint(np.repeat(truth / 2, 2) * n).astype(int))
    values = np.tile(users, repeats)  # the same users every time
    for bits, epsilon in itertools.product([1, 2, 4], [1.0, 4.0]):
        m = BucketFlip(8, epsilon, 4, bits)
        estimates = [m.estimate(part) for part in np.split(m.perturb(values, rng(7)), repeats)]
        assert estimation_p(estimates, truth, m.variance(n, truth)) > P_MIN, m
    # if all buckets are sent, each is a bit of SUE on two values: same variance for the same users
    m, sue = BucketFlip(4, 4.0, 4, 4), SUE(4, 4.0)
    for given in ((100,), (100, 0.5)):
        assert m.variance(*given) == approx(sue.variance(*given), rel=1e-12)


def test_bad_buckets_their_reports_and_collections_of_collections_are_refused():
    for buckets, bits, name in [
        (1, 4, "buckets"),
        (25, 4, "buckets"),
        (12.5, 4, "buckets"),
        (12, 0, "bits"),
    ]:
        with pytest.raises(ValueError, match=name):
            BucketFlip(24, 2.0, buckets, bits)
    m, empty = BucketFlip(6, 1.0, 3, 2), np.zeros((0, 3), np.int8)
    for reports in [[0, 1]], [0, 1, 0], empty, [[0, 1, 7]], [[0, 1, -2]], [[-1, -1, 1]]:
        with pytest.raises(ValueError, match="reports of dBitFlipPM"):
            m.estimate(reports)
    for inner in [m, RSFD(6, 2, 1.0), Chained(6, 2.0, 1.0, 2), Repeated(SUE(6, 1.0), 2)]:
        for memoise in (False, True):
            with pytest.raises(ValueError, match="mechanism must send one report"):
                Repeated(inner, 2, memoise)
