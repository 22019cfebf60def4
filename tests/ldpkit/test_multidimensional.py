"""Several attributes (RS+FD) over GRR and over unary encodings: vectors, oracle tables (half a unit
of their last digit, or 1e-8) and an enumeration of all tuples. Simulated counts are judged by
`laws.P_MIN`, certified bounds fail with probability 0.01: seeds are fixed."""

import functools
import itertools
import math

import numpy as np
import pytest
from laws import P_MIN, least_p, rng, table, unit
from pytest import approx

from ldpkit import attacks
from ldpkit.attacks import TwoValueTest
from ldpkit.auditors import audit, expected
from ldpkit.mechanisms import GRR, OUE, RSFD, SUE
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


def test_exact_rates_equal_the_test_vectors():
    rows = [(2, 2, 1, "GRR", 0.6580301397, 0.654528), (2, 2, 1, "SUE", 0.5890375830, 0.359988),
        (2, 2, 1, "OUE", 0.5790150699, 0.318731), (100, 10, 4, "GRR", 0.0934335095, 2.322706),
        (100, 10, 4, "SUE", 0.0318345392, 1.180269), (100, 10, 4, "OUE", 0.0550825504, 1.752855)]  # fmt: skip
    for k, d, epsilon, base, tpr, population in rows:
        for fake in [""] if base == "GRR" else ["-z", "-r"]:
            one, two = GUESS.rates(RSFD(k, d, epsilon, base + fake))
            assert one == approx(tpr, abs=0.501e-10)
            assert two == approx((1 - one) / (k - 1), rel=1e-12)
            assert math.log(one / two) == approx(population, abs=0.501e-6)


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
        plateau, rates = (
            math.log(1 + k / (d - 1)),
            [GUESS.rates(RSFD(k, d, e)) for e in (1, 4, 10, 20, 27)],
        )
        found = [math.log(one / two) for one, two in rates]
        assert found == sorted(found) and found[-1] == approx(plateau, abs=1e-8), (k, d)
        assert plateau == approx(printed, abs=0.501e-4), (k, d)
    sizes, budgets = [(2, 2), (7, 3), (100, 10), (MIXED, 3)], (0.1, 1, 10)
    for base, size, epsilon in itertools.product(["SUE", "OUE"], sizes, budgets):
        rates = [GUESS.rates(RSFD(*size, epsilon, base + fake)) for fake in ("-z", "-r")]
        assert rates[0] == rates[1], (base, size, epsilon)


def test_the_sampled_attribute_is_reported_at_the_amplified_budget():
    for epsilon, d in itertools.product([1e-6, 0.5, 1, 10, 27], [2, 10]):
        m = RSFD(5, d, epsilon, "SUE-z")
        assert math.expm1(m.amplified) == approx(d * math.expm1(epsilon), rel=1e-12), m
        assert m.attribute(1) == SUE(5, m.amplified)
        assert RSFD(5, d, epsilon, "OUE-r").attribute(0) == OUE(5, m.amplified)
    mixed = RSFD(MIXED, 3, 1.0)
    assert mixed.attribute(2) == GRR(7, mixed.amplified)


def components(mechanism, j):
    """Reports of attribute j as rows of bits, their law for every value, and if fake."""
    size, base = mechanism.sizes[j], mechanism.attribute(j)
    if mechanism.base == "GRR":
        reports = np.eye(size, dtype=int)
        real = np.where(reports, base.p, base.q)  # row: value, column: report
        return reports, real, np.full(size, 1 / size)
    reports = np.array(list(itertools.product([0, 1], repeat=size)))
    chances = np.where(np.eye(size, dtype=bool), base.p, base.q)
    real = np.array([np.prod(np.where(reports, row, 1 - row), axis=1) for row in chances])
    empty = np.prod(np.where(reports, base.q, 1 - base.q), axis=1)
    return reports, real, empty if mechanism.base.endswith("z") else real.mean(axis=0)


def law_of(mechanism, record):
    """Probability of every tuple of reports for one record."""
    parts, total = [components(mechanism, j) for j in range(mechanism.d)], 0.0
    for sampled in range(mechanism.d):
        laws = [part[1][record[j]] if j == sampled else part[2] for j, part in enumerate(parts)]
        total = total + functools.reduce(np.multiply.outer, laws) / mechanism.d
    return total.ravel()


SMALL = [RSFD(k, d, 1.0) for k in (2, 3) for d in (2, 3)]
SIZES = ((2, 2, 1.0), (3, 2, 0.5), (2, 3, 2.0), (3, 3, 1.0))
SMALL += [RSFD(*size, base) for size in SIZES for base in BASES[1:]]


def test_the_strongest_test_equals_the_enumeration_of_all_tuples():
    for m in SMALL:
        k, d = m.k, m.d
        one, two = law_of(m, [0] * d), law_of(m, [k - 1] * d)
        parts = [components(m, j)[0] for j in range(d)]
        index = np.array([*itertools.product(*(range(len(p)) for p in parts))])
        bits = np.stack([p[index[:, j]] for j, p in enumerate(parts)])
        reports = [r.argmax(axis=1) for r in bits] if m.base == "GRR" else list(bits)
        # it reads the two audited values of every attribute: add up the tuples that agree there
        seen = bits[:, :, [0, k - 1]].swapaxes(0, 1).reshape(len(one), -1)
        view = np.unique(seen, axis=0, return_inverse=True)[1].ravel()
        ratio = (np.bincount(view, one) / np.bincount(view, two))[view]
        for level in np.unique(np.round(ratio, 9)):
            inside, test = ratio >= level - 1e-8, TwoValueTest(float(level) - 1e-8)
            assert test.rates(m) == approx((one[inside].sum(), two[inside].sum()), rel=1e-10)
            assert (test.accepts(m, reports, (0, k - 1)) == inside).all(), (m, level)


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
        with pytest.raises(ValueError, match="k must be the same for all attributes"):
            audit(m, "tight", trials=1000)
        same = RSFD((4, 4), 2, 1.0, base)
        assert expected(same, "tight") == expected(RSFD(4, 2, 1.0, base), "tight")
