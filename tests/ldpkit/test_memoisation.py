"""Noise drawn once: two chained rounds of noise (L-SUE, L-OSUE, L-OUE, L-GRR) and flipped bits of
buckets (dBitFlipPM), by vectors (half a unit of the last digit); `test_properties` lists all
reports."""

import itertools
import math

from pytest import approx

from ldpkit import attacks
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
    printed = (0.0903041078, 0.0372450811)
    assert GUESS.rates(BucketFlip(24, 2.0, 12, 4)) == approx(printed, abs=0.501e-10)
