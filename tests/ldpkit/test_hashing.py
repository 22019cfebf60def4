"""The hash family of local hashing: xxHash64 bit for bit, and its law against that of a fully
random hash, by fewer than 200 p-values against `chance.P_MIN`."""

import itertools

import numpy as np
import pytest
import xxhash
from chance import P_MIN, binomial_p, build, chi_square_p, rng
from scipy import stats

from ldpkit.mechanisms import BLH
from ldpkit.reports.values import HASH_REPORT, Hashed, cells, hash_cell

HASHES = ["BLH", "OLH", "ABLH", "AOLH", "LHO"]
N = 200_000


def test_a_cell_is_the_scaled_upper_half_of_the_hash_of_the_reference():
    generator, edges = rng(15), [0, 1, 2**31 - 1, 2**32, 2**63 - 1, 2**63, 2**64 - 1]
    pairs = list(itertools.product([0, 1, 255, 2**32, 2**63 - 1], edges))
    pairs += zip(*(generator.integers(0, 2**n, 5000, np.uint64).tolist() for n in (63, 64)))
    for value, seed in pairs:
        upper = xxhash.xxh64_intdigest(value.to_bytes(8, "little"), seed) >> 32
        for g in (2, 3, 56, 22027, 2**32):
            wanted = upper * g >> 32
            assert hash_cell(np.int64(value), np.uint64(seed), g) == wanted, (value, seed, g)


@pytest.mark.parametrize("g", [2, 3, 56, 22027, 2**32 - 1, 2**32])
def test_a_report_supports_the_values_of_its_cell(g):
    """In every cell that is hit, in the first and the last, and in the one beside each."""
    k = 60
    for seed in rng(23).integers(0, 2**64, 40, np.uint64):
        mine = np.array([hash_cell(np.int64(v), seed, g) for v in range(k)])
        asked = np.unique(np.concatenate([mine, (mine + 1) % g, (mine - 1) % g, [0, g - 1]]))
        reports = np.empty(asked.size, HASH_REPORT)
        reports["seed"], reports["cell"] = seed, asked
        kind = Hashed(k, g, 0.5)
        assert (kind.tally(reports) == (mine == asked[:, None])).all()
        counts = kind.support_counts(reports)
        assert counts.dtype == np.int64 and (counts == 1).all()  # each value's own cell was asked


@pytest.mark.parametrize("g", [2, 3, 10, 56])
def test_cells_are_uniform_and_pairwise_independent_like_a_random_hash(g):
    n = 400_000
    seeds = rng(17).integers(0, 2**64, n, np.uint64)
    found_cells = {value: cells(np.full(n, value), seeds, g) for value in (0, 1, 2, 255, 256, 9999)}
    for found in found_cells.values():
        assert chi_square_p(np.bincount(found, minlength=g), np.full(g, 1 / g)) > P_MIN
    for one, two in itertools.combinations(found_cells, 2):
        joint = np.bincount(found_cells[one] * g + found_cells[two], minlength=g * g)
        assert chi_square_p(joint, np.full(g * g, 1 / g**2)) > P_MIN, (one, two)


@pytest.mark.parametrize("label", HASHES)
def test_the_support_set_follows_the_law_of_a_random_hash(label):
    mechanism, k, own = build(label, 10, 1.0), 10, 4
    reports = mechanism.perturb(np.full(N, own), rng(19))
    hashed = [cells(np.full(N, u), reports["seed"], mechanism.g) for u in range(k)]
    supported = np.array(hashed) == reports["cell"]
    others = supported.sum(axis=0) - supported[own]
    binomial = stats.binom.pmf(np.arange(k), k - 1, mechanism.q)
    law = np.outer([1 - mechanism.p, mechanism.p], binomial)
    assert chi_square_p(np.bincount(supported[own] * k + others, minlength=2 * k), law) > P_MIN
    assert mechanism.support_counts(reports).tolist() == supported.sum(axis=1).tolist()


def test_every_user_draws_a_hash_of_their_own():
    seeds = BLH(5, 1.0).perturb(np.zeros(N, int), rng(20))["seed"]
    assert np.unique(seeds).size == N
    for bit in range(64):
        assert binomial_p(np.count_nonzero(seeds >> np.uint64(bit) & np.uint64(1)), N, 0.5) > P_MIN
