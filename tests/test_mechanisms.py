"""Parameters, real clients and estimators of every mechanism.

Statistical tests: fixed seeds; counts are judged by exact binomial tails, joint laws by chi-square with at least 25
expected per cell, noise by Kolmogorov-Smirnov. The file compares fewer than 500 p-values with `laws.P_MIN`, so a
correct package fails it with probability below 1e-4 (see `laws`).

Parameters of the specification are compared to half a unit of their last printed digit.
"""

import dataclasses
import itertools
import math

import numpy as np
import pytest
import xxhash
from laws import EVERY, P_MIN, PURE, binomial_p, build, chi_square_p
from scipy import optimize, stats

from ldpkit.mechanisms import (
    BLH,
    GRR,
    LHO,
    MECHANISMS,
    OLH,
    OUE,
    SHE,
    SS,
    SUE,
    THE,
    FaultyUE,
    Mechanism,
    make,
)
from ldpkit.mechanisms.base import MAX_EPSILON
from ldpkit.mechanisms.hashing import HASH_REPORT, _cells, hash_cell, xxh64

GRID = [0.25, 0.5, 0.75, 1, 2, 4, 6, 10]
SUPPORT = [label for label in EVERY if label != "SHE"]
BITS = ["SUE", "OUE", "THE", "FaultySUE", "FaultyOUE"]
HASHES = ["BLH", "OLH", "LHO"]
N = 200_000


def rng(seed=1):
    return np.random.default_rng(seed)


# --- parameters -----------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon, g", list(zip(GRID, [2, 3, 3, 4, 8, 56, 404, 22027])))
def test_hash_range_of_olh(epsilon, g):
    assert OLH(100, epsilon).g == g
    assert BLH(100, epsilon).g == 2


@pytest.mark.parametrize(
    "k, sizes", [(200, [88, 76, 64, 54, 24, 4, 1, 1]), (25, [11, 9, 8, 7, 3, 1, 1, 1]), (2, [1] * 8)]
)
def test_subset_size_of_ss(k, sizes):
    assert [SS(k, epsilon).omega for epsilon in GRID] == sizes


@pytest.mark.parametrize(
    "epsilon, theta", list(zip(GRID, [0.53114, 0.56163, 0.59091, 0.61855, 0.70961, 0.81568, 0.86913, 0.91925]))
)
def test_threshold_of_the(epsilon, theta):
    # the search stops within 1e-5 of the minimum, the specification prints five digits of its own search
    assert THE(100, epsilon).theta == pytest.approx(theta, abs=1.5e-5)


@pytest.mark.parametrize("epsilon", GRID)
def test_threshold_of_the_minimises_the_variance_of_the_estimate(epsilon):
    def variance(t):
        p, q = 1 - math.exp(epsilon * (t - 1) / 2) / 2, math.exp(-epsilon * t / 2) / 2
        return q * (1 - q) / (p - q) ** 2

    best = optimize.minimize_scalar(variance, bounds=(0.5, 1), method="bounded", options={"xatol": 1e-10})
    assert THE(100, epsilon).theta == pytest.approx(best.x, abs=1e-5)
    assert THE(100, epsilon).variance(1) == pytest.approx(variance(THE(100, epsilon).theta), rel=1e-12)


@pytest.mark.parametrize("epsilon", GRID)
@pytest.mark.parametrize("k", [2, 3, 10, 200])
def test_pure_protocols_satisfy_exactly_their_epsilon(k, epsilon):
    grr, ss = GRR(k, epsilon), SS(k, epsilon)
    assert math.log(grr.p / grr.q) == pytest.approx(epsilon, rel=1e-12)
    assert grr.p + (k - 1) * grr.q == pytest.approx(1, rel=1e-14)
    w = ss.omega  # a set with the value against a set without it
    odds = (ss.p / math.comb(k - 1, w - 1)) / ((1 - ss.p) / math.comb(k - 1, w))
    assert math.log(odds) == pytest.approx(epsilon, rel=1e-9)
    for unary in (SUE(k, epsilon), OUE(k, epsilon)):
        ratio = unary.p * (1 - unary.q) / (unary.q * (1 - unary.p))
        assert math.log(ratio) == pytest.approx(epsilon, rel=1e-9)
    for hashing in (BLH(k, epsilon), OLH(k, epsilon)):
        ratio = hashing.p / ((1 - hashing.p) / (hashing.g - 1))
        assert math.log(ratio) == pytest.approx(epsilon, rel=1e-9)
        assert hashing.q == 1 / hashing.g
    assert SHE(k, epsilon).scale == pytest.approx(2 / epsilon, rel=1e-15)


@pytest.mark.parametrize("k, epsilon", list(itertools.product([3, 25], GRID)))
def test_ss_membership_of_another_value_follows_from_the_subset_size(k, epsilon):
    ss = SS(k, epsilon)
    assert ss.p + (k - 1) * ss.q == pytest.approx(ss.omega, rel=1e-12)


@pytest.mark.parametrize("epsilon, real", list(zip(GRID, [0.243, 0.472, 0.689, 0.896, 1.636, 2.859, 3.937, 5.975])))
def test_bits_of_the_satisfy_the_smaller_epsilon_of_the_specification(epsilon, real):
    the = THE(10, epsilon)
    assert math.log(the.p * (1 - the.q) / (the.q * (1 - the.p))) == pytest.approx(real, abs=0.5e-3)


@pytest.mark.parametrize(
    "protocol, true",
    [
        ("SUE", [1.229, 1.369, 1.520, 1.680, 2.408, 4.143, 6.051]),
        ("OUE", [1.189, 1.294, 1.415, 1.551, 2.240, 4.036, 6.005]),
    ],
)
def test_true_epsilon_of_the_faulty_unary_encoding(protocol, true):
    for epsilon, wanted in zip(GRID, true):
        faulty, meant = FaultyUE(10, epsilon, protocol), make(protocol, k=10, epsilon=epsilon)
        assert faulty.true_epsilon == pytest.approx(wanted, abs=0.5e-3)
        assert faulty.p == pytest.approx(1 - (1 - meant.p) * (1 - meant.q), rel=1e-14)
        assert faulty.q == meant.q
    assert FaultyUE(10, 2, "OUE").true_epsilon == pytest.approx(math.log(math.exp(2) + 2), rel=1e-12)


@pytest.mark.parametrize("g", [2, 10, 2**32])
def test_lho_reports_the_true_cell_and_claims_nothing(g):
    lho = LHO(10, g)
    assert (lho.p, lho.q, lho.epsilon, lho.delta) == (1.0, 1 / g, math.inf, 0.0)


@pytest.mark.parametrize("label", SUPPORT)
@pytest.mark.parametrize("epsilon", [1e-300, 1e-12, 1e-6, 20, MAX_EPSILON])
def test_extreme_epsilons_give_probabilities_inside_the_unit_interval(label, epsilon):
    mechanism = build(label, 5, min(epsilon, 22) if label in ("OLH", "LHO") else epsilon)
    assert 0 < mechanism.q <= mechanism.p <= 1


@pytest.mark.parametrize("cls", [GRR, SS, OUE])
@pytest.mark.parametrize("epsilon", [10, 20, MAX_EPSILON])
def test_a_large_epsilon_leaves_another_value_a_support_of_exp_minus_epsilon(cls, epsilon):
    rounding = 2**-52 * math.exp(epsilon)  # of a p next to 1
    exact = math.exp(-epsilon) / (1 + (4 if cls is not OUE else 1) * math.exp(-epsilon))
    assert cls(5, epsilon).q == pytest.approx(exact, rel=1e-12 + rounding)


@pytest.mark.parametrize("epsilon", [1e-6, 10, 20, MAX_EPSILON])
@pytest.mark.parametrize("protocol", ["SUE", "OUE"])
def test_true_epsilon_of_the_faulty_encoding_is_never_below_the_claim(protocol, epsilon):
    assert epsilon < FaultyUE(5, epsilon, protocol).true_epsilon < epsilon + 1.2


@pytest.mark.parametrize("name", MECHANISMS)
def test_mechanisms_are_frozen_comparable_and_show_their_parameters(name):
    given = {"k": 7, "g": 3} if name == "LHO" else {"k": 7, "epsilon": 1.0}
    mechanism = make(name, **given)
    assert mechanism == make(name, **given) and hash(mechanism) == hash(make(name, **given))
    assert given.items() <= mechanism.parameters.items()
    assert mechanism.name == name and isinstance(mechanism, Mechanism)
    with pytest.raises(dataclasses.FrozenInstanceError):
        mechanism.k = 8


# --- reports ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 3, 10])
@pytest.mark.parametrize("label", SUPPORT)
def test_each_value_is_supported_as_often_as_p_and_q_say(label, k):
    mechanism, own, n = build(label, k, 1.0), k // 2, 50_000
    counts = mechanism.support_counts(mechanism.perturb(np.full(n, own), rng(k)))
    for value, count in enumerate(counts):
        assert binomial_p(count, n, mechanism.p if value == own else mechanism.q) > P_MIN, value


@pytest.mark.parametrize("label", EVERY)
def test_a_report_depends_on_its_own_users_value_only(label):
    mechanism, n = build(label, 4, 2.0), 60_000
    reports = mechanism.perturb(np.tile([0, 3, 1], n // 3), rng(3))
    for start, own in enumerate((0, 3, 1)):
        part = reports[start::3]
        if label == "SHE":
            assert stats.kstest((part[:, own] - 1) / mechanism.scale, "laplace").pvalue > P_MIN
        else:
            assert binomial_p(mechanism.support_counts(part)[own], n // 3, mechanism.p) > P_MIN


@pytest.mark.parametrize(
    "label, shape, kind",
    [
        ("GRR", (6,), "i"),
        ("SS", (6, 3), "i"),
        ("SUE", (6, 8), "u"),
        ("OUE", (6, 8), "u"),
        ("THE", (6, 8), "u"),
        ("SHE", (6, 8), "f"),
        ("BLH", (6,), "V"),
        ("LHO", (6,), "V"),
    ],
)
def test_reports_have_the_promised_shape_and_type(label, shape, kind):
    mechanism = build(label, 8, 0.5)
    reports = mechanism.perturb([0, 1, 2, 3, 6, 7], rng())
    assert reports.shape == shape and reports.dtype.kind == kind


@pytest.mark.parametrize("label", EVERY)
def test_the_generator_alone_decides_the_reports(label):
    mechanism, values = build(label, 6, 1.0), np.arange(6).repeat(50)
    same = [mechanism.perturb(values, rng(5)).tobytes() for _ in range(2)]
    assert same[0] == same[1] != mechanism.perturb(values, rng(6)).tobytes()
    assert values.tolist() == np.arange(6).repeat(50).tolist()


@pytest.mark.parametrize("k, own", [(2, 0), (2, 1), (5, 0), (5, 3)])
def test_grr_reports_follow_their_whole_law(k, own):
    grr = GRR(k, 1.0)
    counts = np.bincount(grr.perturb(np.full(N, own), rng(7)), minlength=k)
    assert chi_square_p(counts, [grr.p if value == own else grr.q for value in range(k)]) > P_MIN


def subset_law(ss, own):
    """Probability of every ordered report: the set's probability, spread evenly over its orders."""
    w, inside, outside = ss.omega, math.comb(ss.k - 1, ss.omega - 1), math.comb(ss.k - 1, ss.omega)
    reports = list(itertools.permutations(range(ss.k), w))
    law = [(ss.p / inside if own in r else (1 - ss.p) / outside) / math.factorial(w) for r in reports]
    return reports, np.array(law)


@pytest.mark.parametrize("k, epsilon, own, size", [(2, 1.0, 1, 1), (5, 0.5, 0, 2), (5, 0.5, 4, 2), (6, 0.1, 2, 3)])
def test_ss_reports_follow_their_whole_law_in_every_order(k, epsilon, own, size):
    ss = SS(k, epsilon)
    assert ss.omega == size
    reports, law = subset_law(ss, own)
    assert law.sum() == pytest.approx(1, abs=1e-12)
    index = {report: i for i, report in enumerate(reports)}
    found = [index[tuple(report)] for report in ss.perturb(np.full(N, own), rng(8)).tolist()]
    assert chi_square_p(np.bincount(found, minlength=law.size), law) > P_MIN


def test_successive_ss_reports_are_independent():
    ss = SS(5, 0.5)
    reports, law = subset_law(ss, 2)
    code = np.array([5 * a + b for a, b in reports])
    found = np.searchsorted(np.sort(code), ss.perturb(np.full(2 * N, 2), rng(9)) @ [5, 1])
    law = law[np.argsort(code)]
    joint = np.bincount(found[0::2] * law.size + found[1::2], minlength=law.size**2)
    assert chi_square_p(joint, np.outer(law, law)) > P_MIN


def test_the_first_ss_report_of_a_call_follows_the_law_too():
    ss, generator = SS(5, 0.5), rng(10)
    reports, law = subset_law(ss, 0)
    found = [reports.index(tuple(ss.perturb([0], generator)[0].tolist())) for _ in range(20_000)]
    assert chi_square_p(np.bincount(found, minlength=law.size), law) > P_MIN


@pytest.mark.parametrize("k, epsilon", [(10, 0.5), (30, 1.0), (100, 0.25)])
def test_the_place_of_the_true_value_in_an_ss_report_is_uniform(k, epsilon):
    ss = SS(k, epsilon)
    reports = ss.perturb(np.full(100_000, 3), rng(11))
    places = np.nonzero(reports == 3)[1]
    assert chi_square_p(np.bincount(places, minlength=ss.omega), np.full(ss.omega, 1 / ss.omega)) > P_MIN
    assert (np.diff(np.sort(reports, axis=1)) > 0).all()


@pytest.mark.parametrize("label", BITS)
def test_bits_are_jointly_independent(label):
    mechanism, own = build(label, 3, 1.0), 1
    reports = mechanism.perturb(np.full(N, own), rng(12))
    rates = [mechanism.p if value == own else mechanism.q for value in range(3)]
    law = [
        math.prod(r if bit else 1 - r for r, bit in zip(rates, bits)) for bits in itertools.product([0, 1], repeat=3)
    ]
    assert chi_square_p(np.bincount(reports @ [4, 2, 1], minlength=8), law) > P_MIN


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
def test_she_noise_is_laplace_on_every_coordinate_and_independent(epsilon):
    she = SHE(3, epsilon)
    noise = (she.perturb(np.full(N, 1), rng(13)) - [0, 1, 0]) / she.scale
    for column in noise.T:
        assert stats.kstest(column, "laplace").pvalue > P_MIN
    quartiles = np.searchsorted([-math.log(2), 0, math.log(2)], noise)
    assert chi_square_p(np.bincount(quartiles @ [16, 4, 1], minlength=64), np.full(64, 1 / 64)) > P_MIN


def test_the_bits_are_the_thresholded_noisy_histogram():
    the = THE(4, 2.0)
    noisy = SHE(4, 2.0).perturb(np.full(N, 2), rng(14)) > the.theta
    for value, count in enumerate(noisy.sum(axis=0)):
        assert binomial_p(count, N, the.p if value == 2 else the.q) > P_MIN


# --- the hash family ----------------------------------------------------------------------------------


def test_xxh64_equals_the_reference_bit_for_bit():
    generator, edges = rng(15), [0, 1, 2**31 - 1, 2**32, 2**63 - 1, 2**63, 2**64 - 1]
    pairs = list(itertools.product([0, 1, 255, 2**32, 2**63 - 1], edges))
    pairs += zip(generator.integers(0, 2**63, 5000).tolist(), generator.integers(0, 2**64, 5000, np.uint64).tolist())
    for value, seed in pairs:
        wanted = xxhash.xxh64_intdigest(value.to_bytes(8, "little"), seed)
        assert int(xxh64(np.int64(value), np.uint64(seed))) == wanted, (value, seed)


@pytest.mark.parametrize("g", [2, 3, 56, 22027, 2**32])
def test_a_cell_is_the_scaled_upper_half_of_the_hash(g):
    for seed in rng(16).integers(0, 2**64, 200, np.uint64):
        upper = xxhash.xxh64_intdigest((7).to_bytes(8, "little"), int(seed)) >> 32
        assert hash_cell(np.int64(7), seed, g) == upper * g >> 32


@pytest.mark.parametrize("g", [2, 3, 10, 56])
def test_cells_are_uniform_and_pairwise_independent_like_a_random_hash(g):
    n = 400_000
    seeds = rng(17).integers(0, 2**64, n, np.uint64)
    cells = {value: _cells(np.full(n, value), seeds, g) for value in (0, 1, 2, 255, 256, 9999)}
    for found in cells.values():
        assert chi_square_p(np.bincount(found, minlength=g), np.full(g, 1 / g)) > P_MIN
    for one, two in itertools.combinations(cells, 2):
        joint = np.bincount(cells[one] * g + cells[two], minlength=g * g)
        assert chi_square_p(joint, np.full(g * g, 1 / g**2)) > P_MIN, (one, two)


def test_cells_of_three_values_are_jointly_independent():
    g, n = 4, 400_000
    seeds = rng(18).integers(0, 2**64, n, np.uint64)
    for values in itertools.combinations(range(5), 3):
        found = sum(_cells(np.full(n, value), seeds, g) * g**place for place, value in enumerate(values))
        assert chi_square_p(np.bincount(found, minlength=g**3), np.full(g**3, g**-3.0)) > P_MIN, values


@pytest.mark.parametrize("label", HASHES)
def test_the_support_set_follows_the_law_of_a_random_hash(label):
    mechanism, k, own = build(label, 10, 1.0), 10, 4
    reports = mechanism.perturb(np.full(N, own), rng(19))
    supported = np.array([_cells(np.full(N, u), reports["seed"], mechanism.g) == reports["cell"] for u in range(k)])
    others = supported.sum(axis=0) - supported[own]
    law = np.outer([1 - mechanism.p, mechanism.p], stats.binom.pmf(np.arange(k), k - 1, mechanism.q))
    assert chi_square_p(np.bincount(supported[own] * k + others, minlength=2 * k), law) > P_MIN
    assert mechanism.support_counts(reports).tolist() == supported.sum(axis=1).tolist()


def test_every_user_draws_a_hash_of_their_own():
    seeds = BLH(5, 1.0).perturb(np.zeros(N, int), rng(20))["seed"]
    assert np.unique(seeds).size == N
    for bit in range(64):
        assert binomial_p(np.count_nonzero(seeds >> np.uint64(bit) & np.uint64(1)), N, 0.5) > P_MIN


# --- the server ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("label", EVERY)
def test_estimates_are_unbiased_and_vary_as_their_formula_says(label):
    mechanism, n, repeats = build(label, 4, 1.0), 500, 2000
    composition = np.array([0.5, 0.3, 0.2, 0.0])
    values = np.tile(np.repeat(np.arange(4), (n * composition).astype(int)), repeats)
    reports = mechanism.perturb(values, rng(21))
    estimates = np.array([mechanism.estimate(part) for part in np.split(reports, repeats)])
    variance = mechanism.variance(n, composition)
    z = (estimates.mean(axis=0) - composition) / np.sqrt(variance / repeats)
    assert (2 * stats.norm.sf(abs(z)) > P_MIN).all()
    ratio = (repeats - 1) * estimates.var(axis=0, ddof=1) / variance  # sums of 500 reports are normal enough
    assert (2 * np.minimum(stats.chi2.cdf(ratio, repeats - 1), stats.chi2.sf(ratio, repeats - 1)) > P_MIN).all()


def test_variance_of_a_rare_value_is_the_default():
    oue = OUE(10, 1.0)
    assert oue.variance(100) == oue.variance(100, 0.0) == pytest.approx(4 * math.e / (math.e - 1) ** 2 / 100, rel=1e-12)


def test_estimates_of_a_noiseless_protocol_are_the_frequencies():
    values = np.repeat([0, 1, 4], [5, 3, 2])
    for mechanism in (GRR(5, MAX_EPSILON), SS(5, MAX_EPSILON)):
        assert mechanism.estimate(mechanism.perturb(values, rng())) == pytest.approx([0.5, 0.3, 0, 0, 0.2], abs=1e-9)


# --- bad input ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("label", EVERY)
@pytest.mark.parametrize("k", [1, 0, -3, 2.5, 10.0, True, "10", None, math.nan])
def test_a_domain_size_that_is_no_integer_from_2_is_refused(label, k):
    given = {"g": 2} if label == "LHO" else {"epsilon": 1.0}
    with pytest.raises(ValueError, match="k must be an integer >= 2, got"):
        type(build(label, 5, 1.0))(k, **given)


@pytest.mark.parametrize("label", [*PURE, "FaultySUE"])
@pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf, -math.inf, "1", None, True, MAX_EPSILON + 1])
def test_an_epsilon_that_is_no_positive_number_is_refused(label, epsilon):
    with pytest.raises(ValueError, match="epsilon must be a number in .0, "):
        type(build(label, 5, 1.0))(5, epsilon)


def test_olh_refuses_an_epsilon_whose_hash_range_exceeds_32_bits():
    assert OLH(5, 22).g < 2**32
    with pytest.raises(ValueError, match=r"epsilon must be a number in \(0, 22\], got 22.5"):
        OLH(5, 22.5)


@pytest.mark.parametrize("g", [1, 0, 2**32 + 1, 2.0, True, "2", math.nan])
def test_a_hash_range_outside_its_bounds_is_refused(g):
    with pytest.raises(ValueError, match=r"g must be an integer in \[2, 4294967296\], got"):
        LHO(5, g)


def test_an_unknown_protocol_of_the_faulty_encoding_is_refused():
    with pytest.raises(ValueError, match="protocol must be one of SUE, OUE, got 'RAPPOR'"):
        FaultyUE(5, 1.0, "RAPPOR")


@pytest.mark.parametrize("label", EVERY)
@pytest.mark.parametrize(
    "values, message",
    [
        ([0, 5], "values must lie in 0..4, got 5 at position 1"),
        ([-1, 0], "values must lie in 0..4, got -1 at position 0"),
        ([0.0, 1.0], "one-dimensional array of integers, got shape .2,. of float64"),
        ([[0, 1]], "one-dimensional array of integers, got shape .1, 2."),
        (3, "one-dimensional array of integers, got shape"),
        ([True, False], "one-dimensional array of integers"),
        (["a"], "one-dimensional array of integers"),
        ([math.nan], "one-dimensional array of integers"),
    ],
)
def test_values_outside_the_domain_are_refused(label, values, message):
    with pytest.raises(ValueError, match=message):
        build(label, 5, 1.0).perturb(values, rng())


HASHED = np.zeros(3, HASH_REPORT)


@pytest.mark.parametrize(
    "label, reports",
    [
        ("GRR", [[0, 1]]),
        ("GRR", []),
        ("GRR", [0.0, 1.0]),
        ("GRR", [0, 5]),
        ("SS", [0, 1]),
        ("SS", [[0, 1, 2]]),
        ("SS", [[0, 9]]),
        ("SS", [[0.0, 1.0]]),
        ("SUE", [0, 1, 0, 1, 0]),
        ("SUE", [[0, 1, 0, 1]]),
        ("OUE", np.zeros((0, 5), np.uint8)),
        ("OUE", [[0, 1, 2, 0, 0]]),
        ("OUE", [[0, 1, 0.5, 0, 0]]),
        ("THE", [[0, 1, math.nan, 0, 0]]),
        ("FaultySUE", [[0, 1, -1, 0, 0]]),
        ("SHE", [[0.0, 1.0]]),
        ("SHE", [[0.0, math.nan, 0, 0, 0]]),
        ("SHE", [[0.0, math.inf, 0, 0, 0]]),
        ("BLH", [0, 1]),
        ("OLH", HASHED.reshape(1, 3)),
        ("LHO", HASHED[:0]),
    ],
)
def test_reports_of_a_wrong_shape_type_or_range_are_refused(label, reports):
    with pytest.raises(ValueError, match="reports"):
        build(label, 5, 0.5).estimate(reports)


@pytest.mark.parametrize("n", [0, -1, 2.5, True])
@pytest.mark.parametrize("label", ["GRR", "SHE"])
def test_the_variance_for_no_users_is_refused(label, n):
    with pytest.raises(ValueError, match="n must be an integer >= 1"):
        build(label, 5, 1.0).variance(n)


@pytest.mark.parametrize("name, meant", [("OEU", "OUE"), ("grr", "GRR"), ("OLHH", "OLH"), ("faulty", "FaultyUE")])
def test_make_suggests_the_nearest_mechanism(name, meant):
    with pytest.raises(ValueError, match=f"got '{name}'; did you mean '{meant}'"):
        make(name, k=5, epsilon=1.0)


def test_make_suggests_nothing_if_nothing_is_near():
    with pytest.raises(ValueError, match="mechanism must be one of GRR, SS, .*, got 'xyzzy'$"):
        make("xyzzy", k=5, epsilon=1.0)


@pytest.mark.parametrize(
    "name, given, message",
    [
        ("OUE", {"k": 5}, "OUE needs epsilon; its parameters are k, epsilon"),
        ("OUE", {"k": 5, "epsilon": None}, "OUE needs epsilon"),
        ("LHO", {"k": 5}, "LHO needs g; its parameters are k, g"),
        ("LHO", {"k": 5, "g": 2, "epsilon": 1.0}, "LHO does not take epsilon"),
        ("GRR", {"k": 5, "epsilon": 1.0, "g": 3}, "GRR does not take g"),
        ("GRR", {}, "GRR needs k, epsilon"),
    ],
)
def test_make_names_missing_and_superfluous_parameters(name, given, message):
    with pytest.raises(ValueError, match=message):
        make(name, **given)
