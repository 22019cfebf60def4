"""Noise drawn once: two chained rounds of noise (L-SUE, L-OSUE, L-OUE, L-GRR) and flipped bits of
buckets (dBitFlipPM), by vectors (half a unit of the last digit) and enumerations of all permanent
states and reports."""

import itertools
import math

import numpy as np
from pytest import approx

from ldpkit import attacks
from ldpkit.attacks import TwoValueTest
from ldpkit.mechanisms import GRR, OUE, SUE, BucketFlip, Chained

GUESS, TIGHT = attacks.ATTACKS["guess"], attacks.ATTACKS["tight"]
PROTOCOLS = ["SUE", "OSUE", "OUE", "GRR"]


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
    """Supports of all sequences of reports, (sequences, tau, k), and their laws."""
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
