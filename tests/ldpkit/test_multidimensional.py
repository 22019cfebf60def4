"""Several attributes (RS+FD) over GRR and over unary encodings: oracle tables (half a unit of their
last digit, or 1e-8). Simulated counts are judged by `chance.P_MIN`, certified bounds fail with probability 0.01: seeds are fixed."""

import itertools
import math

import numpy as np
from chance import P_MIN, least_p, rng, table, unit
from pytest import approx

from ldpkit import attacks, audit
from ldpkit.attacks import TwoValueTest
from ldpkit.auditors import expected
from ldpkit.mechanisms import RSFD
from ldpkit.mechanisms.composite import BASES

GUESS = attacks.ATTACKS["guess"]
ROWS = [row for row in table("exact_more") if row["mechanism"].startswith("RS+FD")]
EVENTS = [row for row in table("tight_more") if row["mechanism"].startswith("RS+FD")]
MIXED = (3, 2, 7)


def variants(row):
    """The mechanisms that a row of a table is about: `RS+FD[SUE-z|-r]` means both ways to fake."""
    name = row["mechanism"].removeprefix("RS+FD[").removesuffix("]")
    bases = [name.split("|")[0], name.split("-")[0] + "-r"] if "|" in name else [name]
    return [RSFD(int(row["k"]), int(row["d"]), float(row["eps"]), base) for base in bases]


def test_rates_and_the_expected_statistic_of_the_guess_equal_the_oracle():
    assert len(ROWS) == 192
    for row in ROWS:
        for mechanism in variants(row):
            found = GUESS.rates(mechanism)
            assert found == approx((float(row["TPR"]), float(row["FPR"])), rel=1e-8), row
    for row in ROWS[::4]:
        found, printed = expected(variants(row)[0])[0], float(row["eps_emp_mean"])
        assert found == approx(printed, abs=0.51 * unit(printed, 5)), row


def test_the_guess_knows_neither_the_attribute_nor_how_the_others_are_faked():
    rows = [(2, 2, 1.0986), (2, 10, 0.2007), (100, 2, 4.6151), (100, 10, 2.4941)]
    for k, d, printed in rows:  # so on GRR it levels off
        plateau = math.log(1 + k / (d - 1))
        rates = [GUESS.rates(RSFD(k, d, e)) for e in (1, 4, 10, 20, 27)]
        found = [math.log(one / two) for one, two in rates]
        assert found == sorted(found) and found[-1] == approx(plateau, abs=1e-8), (k, d)
        assert plateau == approx(printed, abs=0.501e-4), (k, d)
    sizes, budgets = [(2, 2), (7, 3), (100, 10), (MIXED, 3)], (0.1, 1, 10)
    for base, size, epsilon in itertools.product(["SUE", "OUE"], sizes, budgets):
        rates = [GUESS.rates(RSFD(*size, epsilon, base + fake)) for fake in ("-z", "-r")]
        assert rates[0] == rates[1], (base, size, epsilon)


def test_rates_and_the_chosen_threshold_of_the_strongest_test_equal_the_oracle():
    assert len(EVENTS) == 320
    for row in EVENTS:
        threshold = float(row["event"].split(">= ")[1])
        threshold -= 0.501 * unit(threshold, 5)  # printed with five digits
        mechanism = variants(row)[0]
        for found, side in zip(TwoValueTest(threshold).rates(mechanism), ("P1", "P2")):
            printed = float(row[side])
            assert found == approx(printed, abs=0.501 * unit(printed, 6)), row
        if row["k"] in ("2", "100") and row["eps"] in ("1", "4"):
            found, printed = expected(mechanism, "tight")[0], float(row["eps_emp_mean_T1e6"])
            assert printed - 3e-3 < found < printed + 1e-3, row


def test_the_certified_bound_exceeds_the_claim_and_never_the_amplified_budget():
    for base, size, epsilon in itertools.product(BASES, [(2, 2), (100, 10)], (0.5, 1.0)):
        m = RSFD(*size, epsilon, base)
        tight, guess = (audit(m, attack, trials=300_000) for attack in ("tight", "guess"))
        assert tight.claim == epsilon and tight.violated, m
        assert epsilon < tight.lower < m.amplified and guess.lower < m.amplified, m


def test_domains_of_different_sizes_are_perturbed_and_guessed_as_their_laws_say():
    for base in BASES:
        m = RSFD(MIXED, 3, 0.9, base)
        reports = m.perturb(np.array([[0, 1, 6], [2, 0, 3]]), rng(3))
        assert [r.shape for r in reports] == [(2,) if base == "GRR" else (2, k) for k in MIXED], m
        assert (m.sizes, m.report_type.k, m.width) == (MIXED, 2, 12)
        assert least_p(GUESS, m, 4, real=60_000) > P_MIN, m
        real, fast = (audit(m, trials=5000, faithful=faithful) for faithful in (True, False))
        assert real.exact == fast.exact, m
        same = RSFD((4, 4), 2, 1.0, base)
        assert expected(same, "tight") == expected(RSFD(4, 2, 1.0, base), "tight")
