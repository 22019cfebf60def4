"""Local hashing by the functions of packages: against xxhash, enumerations of all functions, a
closed form, and fewer than 10 p-values of reports against `chance.P_MIN`."""

import itertools
import math

import numpy as np
import pytest
import xxhash
from chance import P_MIN, binomial_p
from pytest import approx

from ldpkit.attacks import Guess, TwoValueTest
from ldpkit.mechanisms import FLH

GUESS, TIGHT = Guess(), TwoValueTest()
FEW = [FLH(6, 1.0, 3, 40), FLH(4, 0.5, 7, 25), FLH(3, 2.0, 2, 1), FLH(7, 1.0, 3, None, "carter-wegman"),
       FLH(5, 1.0, 8, None, "carter-wegman"), FLH(6, 1.0, 4, 30, "carter-wegman")]  # fmt: skip


def cell(m, value, seed):
    """Cell of a value, in the words of the packages and of Carter and Wegman."""
    if m.family == "xxhash32":
        return xxhash.xxh32(str(value).encode(), seed=seed).intdigest() % m.g
    prime = next(n for n in itertools.count(max(m.k, m.g)) if all(n % d for d in range(2, n)))
    return ((1 + seed // prime) * value + seed % prime) % prime % m.g


def test_cells_are_those_of_the_package_for_texts_of_every_length():
    m, rng = FLH(2**15, 1.0, 1009), np.random.default_rng(36)
    ends = [0, 9, 10, 99, 100, 999, 1000, 9999, 10_000, 2**15 - 1]
    values = np.append(ends, rng.integers(0, 2**15, 2000))
    seeds = rng.integers(0, 2**32, values.size, dtype=np.uint64)
    seeds[:4] = 0, 2**32 - 1, 2**31, 1
    found = m.report_type.cells(values, seeds)
    assert found.tolist() == [cell(m, v, s) for v, s in zip(values.tolist(), seeds.tolist())]


@pytest.mark.parametrize("m", FEW, ids=str)
def test_rates_are_sums_over_all_functions_and_cells(m):
    form, other = m.report_type, (1 - m.p) / (m.g - 1)
    table = np.array([[cell(m, v, s) for v in range(m.k)] for s in range(form.seeds)])
    first = np.array([(s, 0) for s in range(form.seeds)], [("seed", "<u8"), ("cell", "<i8")])
    assert (form.tally(first) == (table == 0)).all()
    for one, two in itertools.permutations(range(m.k), 2):
        tight, guess, top = np.zeros(2), np.zeros(2), 0.0
        for row, reported in itertools.product(table, range(m.g)):
            supported = np.flatnonzero(row == reported)
            law = np.array([m.p if row[v] == reported else other for v in (one, two)]) / len(table)
            tight += law * (one in supported and two not in supported)
            guess += law * ((one in supported) / supported.size if supported.size else 1 / m.k)
            top = max(top, math.log(law[0] / law[1]))
        assert TIGHT.rates(m, (one, two)) == approx(tuple(tight), rel=1e-9, abs=1e-15)
        assert GUESS.rates(m, (one, two)) == approx(tuple(guess), rel=1e-9)
        assert form.loss((one, two)) == approx(top, rel=1e-9, abs=1e-12)


def test_the_family_of_carter_and_wegman_has_one_share_for_all_pairs_and_estimates_use_it():
    for k, g in ((5, 3), (7, 3), (11, 4), (6, 8)):
        m = FLH(k, 1.0, g, None, "carter-wegman")
        prime = m.report_type.prime
        sizes = [len(range(j, prime, g)) for j in range(g)]
        share = sum(n * (n - 1) for n in sizes) / (prime * (prime - 1))
        for pair in itertools.combinations(range(k), 2):
            assert TIGHT.rates(m, pair)[0] == approx((1 - share) * m.p, rel=1e-12)
        assert m.q == approx(share * m.p + (1 - share) * (1 - m.p) / (g - 1), rel=1e-12)
    assert FLH(5, 1.0, 3).q == approx(1 / 3, rel=1e-12)


def test_real_reports_have_the_rates_of_few_seeds_and_not_of_random_functions():
    m, n = FLH(6, 1.0, 3, 40), 200_000
    pair = min(itertools.permutations(range(6), 2), key=lambda pair: TIGHT.rates(m, pair)[0])
    rates = TIGHT.rates(m, pair)
    for i, value in enumerate(pair):
        rng = np.random.default_rng([37, i])
        hits = np.count_nonzero(TIGHT.accepts(m, m.perturb(np.full(n, value), rng), pair))
        assert binomial_p(hits, n, rates[i]) > P_MIN
        assert binomial_p(hits, n, (2 / 3) * (m.p, (1 - m.p) / 2)[i]) < P_MIN


def test_many_seeds_leave_the_guess_to_real_reports():
    m = FLH(1000, 1.0, 4, 2**16)
    assert GUESS.rates(m) is None and TIGHT.rates(m)[0] == approx(0.75 * m.p, rel=0.02)
