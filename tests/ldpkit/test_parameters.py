"""Parameters of every mechanism: the specification's numbers, the guarantee they give, and what is
refused.

Parameters of the specification are compared to half a unit of their last printed digit; identities
to rounding. Nothing here is random.
"""

import dataclasses
import itertools
import math

import numpy as np
import pytest
from laws import ADAPTIVE, APPROXIMATE, DELTA, EVERY, PURE, build
from scipy import optimize

from ldpkit.kinds import HASH_REPORT
from ldpkit.mechanisms import BLH, GRR, LHO, OLH, OUE, SHE, SS, SUE, THE, FaultyUE, Mechanism, make
from ldpkit.mechanisms.base import MAX_DOMAIN, MAX_EPSILON, MIN_EPSILON

GRID = [0.25, 0.5, 0.75, 1, 2, 4, 6, 10]
SUPPORT = [label for label in EVERY if label != "SHE"]


def rng(seed=1):
    return np.random.default_rng(seed)


# --- parameters -----------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon, g", list(zip(GRID, [2, 3, 3, 4, 8, 56, 404, 22027])))
def test_hash_range_of_olh(epsilon, g):
    assert OLH(100, epsilon).g == g
    assert BLH(100, epsilon).g == 2


@pytest.mark.parametrize(
    "k, sizes",
    [(200, [88, 76, 64, 54, 24, 4, 1, 1]), (25, [11, 9, 8, 7, 3, 1, 1, 1]), (2, [1] * 8)],
)
def test_subset_size_of_ss(k, sizes):
    assert [SS(k, epsilon).omega for epsilon in GRID] == sizes


@pytest.mark.parametrize(
    "epsilon, theta",
    list(zip(GRID, [0.53114, 0.56163, 0.59091, 0.61855, 0.70961, 0.81568, 0.86913, 0.91925])),
)
def test_threshold_of_the(epsilon, theta):
    # the search stops within 1e-5 of the minimum, the specification prints five digits of its own
    # search
    assert THE(100, epsilon).theta == pytest.approx(theta, abs=1.5e-5)


@pytest.mark.parametrize("epsilon", GRID)
def test_threshold_of_the_minimises_the_variance_of_the_estimate(epsilon):
    def variance(t):
        p, q = 1 - math.exp(epsilon * (t - 1) / 2) / 2, math.exp(-epsilon * t / 2) / 2
        return q * (1 - q) / (p - q) ** 2

    best = optimize.minimize_scalar(
        variance, bounds=(0.5, 1), method="bounded", options={"xatol": 1e-10}
    )
    assert THE(100, epsilon).theta == pytest.approx(best.x, abs=1e-5)
    assert THE(100, epsilon).variance(1) == pytest.approx(
        variance(THE(100, epsilon).theta), rel=1e-12
    )


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


@pytest.mark.parametrize("k", [2, 10])
@pytest.mark.parametrize("delta", [1e-9, 1e-5, DELTA])
def test_approximate_protocols_satisfy_exactly_their_guarantee(k, delta):
    for epsilon in (0.5, 1, 4, 10):
        agrr, asue = build("AGRR", k, epsilon, delta), build("ASUE", k, epsilon, delta)
        assert agrr.p + (k - 1) * agrr.q == pytest.approx(1, rel=1e-14)
        assert math.log((agrr.p - delta) / agrr.q) == pytest.approx(epsilon, rel=1e-10)
        assert asue.p + asue.q == pytest.approx(1, rel=1e-14)
        assert math.log((asue.p * (1 - asue.q) - delta) / (asue.q * (1 - asue.p))) == pytest.approx(
            epsilon, rel=1e-9
        )
        for label in ("ABLH", "AOLH"):
            hashing = build(label, k, epsilon, delta)
            other = (1 - hashing.p) / (hashing.g - 1)
            assert (
                math.log((hashing.p - delta) / other) == pytest.approx(epsilon, rel=1e-9)
                and hashing.delta == delta
            )


@pytest.mark.parametrize("epsilon, g", list(zip(GRID, [2, 3, 3, 4, 8, 56, 404, 22028])))
def test_hash_range_of_aolh(epsilon, g):
    assert build("AOLH", 100, epsilon, 1e-5).g == g


@pytest.mark.parametrize("epsilon, delta", [(0.5, 0.02), (1, 0.05), (4, 1e-3)])
def test_hash_range_of_aolh_minimises_the_variance_of_the_estimate(epsilon, delta):
    grown = math.expm1(epsilon)

    def variance(g):
        return (grown + g) ** 2 / ((g - 1) * (grown + g * delta) ** 2)

    best = optimize.minimize_scalar(variance, bounds=(1 + 1e-9, 2 * grown + 4), method="bounded").x
    assert build("AOLH", 100, epsilon, delta).g == max(2, round(best))


@pytest.mark.parametrize("k, epsilon", list(itertools.product([3, 25], GRID)))
def test_ss_membership_of_another_value_follows_from_the_subset_size(k, epsilon):
    ss = SS(k, epsilon)
    assert ss.p + (k - 1) * ss.q == pytest.approx(ss.omega, rel=1e-12)


@pytest.mark.parametrize(
    "epsilon, real", list(zip(GRID, [0.243, 0.472, 0.689, 0.896, 1.636, 2.859, 3.937, 5.975]))
)
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
    assert FaultyUE(10, 2, "OUE").true_epsilon == pytest.approx(
        math.log(math.exp(2) + 2), rel=1e-12
    )


@pytest.mark.parametrize("g", [2, 10, 2**32])
def test_lho_reports_the_true_cell_and_claims_nothing(g):
    lho = LHO(10, g)
    assert (lho.p, lho.q, lho.epsilon, lho.delta) == (1.0, 1 / g, math.inf, 0.0)


@pytest.mark.parametrize("label", SUPPORT)
@pytest.mark.parametrize("epsilon", [MIN_EPSILON, 0.01, 20, MAX_EPSILON])
def test_extreme_epsilons_give_probabilities_inside_the_unit_interval(label, epsilon):
    mechanism = build(
        label, 5, min(epsilon, 22) if label in ("OLH", "AOLH", "LHO") else epsilon, delta=1e-9
    )
    assert 0 < mechanism.q < mechanism.p <= 1


@pytest.mark.parametrize("cls", [GRR, SS, OUE])
@pytest.mark.parametrize("epsilon", [10, 20, MAX_EPSILON])
def test_a_large_epsilon_leaves_another_value_a_support_of_exp_minus_epsilon(cls, epsilon):
    rounding = 2**-52 * math.exp(epsilon)  # of a p next to 1
    exact = math.exp(-epsilon) / (1 + (4 if cls is not OUE else 1) * math.exp(-epsilon))
    assert cls(5, epsilon).q == pytest.approx(exact, rel=1e-12 + rounding)


@pytest.mark.parametrize("epsilon", [MIN_EPSILON, 10, 20, MAX_EPSILON])
@pytest.mark.parametrize("protocol", ["SUE", "OUE"])
def test_true_epsilon_of_the_faulty_encoding_is_never_below_the_claim(protocol, epsilon):
    assert epsilon < FaultyUE(5, epsilon, protocol).true_epsilon < epsilon + 1.2


@pytest.mark.parametrize("label", EVERY)
def test_mechanisms_are_frozen_and_made_again_from_their_name_and_parameters(label):
    mechanism = build(label, 7, 1.0)
    again = make(mechanism.name, **mechanism.parameters)
    assert again == mechanism and hash(again) == hash(mechanism) and again is not mechanism
    assert isinstance(mechanism, Mechanism) and mechanism.parameters["k"] == 7
    with pytest.raises(dataclasses.FrozenInstanceError):
        mechanism.k = 8


# --- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize("label", EVERY)
@pytest.mark.parametrize(
    "k", [1, 0, -3, 2.5, 10.0, True, "10", None, math.nan, MAX_DOMAIN + 1, 10**30]
)
def test_a_domain_size_that_is_no_integer_in_its_range_is_refused(label, k):
    with pytest.raises(ValueError, match=rf"k must be an integer in \[2, {MAX_DOMAIN}\], got"):
        dataclasses.replace(build(label, 5, 1.0), k=k)


@pytest.mark.parametrize("label", [*PURE, *ADAPTIVE, *APPROXIMATE, "FaultySUE"])
@pytest.mark.parametrize(
    "epsilon",
    [0, -1, MIN_EPSILON / 2, math.nan, math.inf, -math.inf, "1", None, True, MAX_EPSILON + 1],
)
def test_an_epsilon_outside_its_range_is_refused(label, epsilon):
    with pytest.raises(ValueError, match=r"epsilon must be a number in \[1e-06, "):
        dataclasses.replace(build(label, 5, 1.0), epsilon=epsilon)


@pytest.mark.parametrize("label", APPROXIMATE)
@pytest.mark.parametrize("delta", [0, 1, -0.1, math.nan, math.inf, "0.1", None, True])
def test_a_delta_outside_the_open_unit_interval_is_refused(label, delta):
    with pytest.raises(ValueError, match=r"delta must be a number in \(0, 1\), got"):
        APPROXIMATE[label](5, 1.0, delta)


def test_aolh_refuses_a_delta_for_which_its_variance_has_no_minimum():
    with pytest.raises(
        ValueError, match="delta must be smaller for AOLH at epsilon = 0.5, got 0.2"
    ):
        APPROXIMATE["AOLH"](5, 0.5, 0.2)


def test_olh_refuses_an_epsilon_whose_hash_range_exceeds_32_bits():
    assert OLH(5, 22).g < 2**32
    with pytest.raises(ValueError, match=r"epsilon must be a number in \[1e-06, 22\], got 22.5"):
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


@pytest.mark.parametrize(
    "name, meant", [("OEU", "OUE"), ("grr", "GRR"), ("OLHH", "OLH"), ("faulty", "FaultyUE")]
)
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
