"""Parameters of every mechanism: the specification's numbers, the guarantee they give, and what is
refused.

Parameters of the specification are compared to half a unit of their last printed digit; identities
to rounding. Nothing here is random.
"""

import dataclasses
import math
from typing import Annotated

import numpy as np
import pytest
from laws import ADAPTIVE, APPROXIMATE, DELTA, EVERY, PURE, build
from scipy import optimize

from ldpkit import checks
from ldpkit.mechanisms import BLH, GRR, LHO, OLH, OUE, SHE, SS, SUE, THE, FaultyUE, Mechanism, make
from ldpkit.mechanisms.base import MAX_DOMAIN, MAX_EPSILON, MIN_EPSILON
from ldpkit.reports import HASH_REPORT

GRID = [0.25, 0.5, 0.75, 1, 2, 4, 6, 10]
SUPPORT = [label for label in EVERY if label != "SHE"]


def close(rel):
    return lambda got, wanted: math.isclose(got, wanted, rel_tol=rel)


# --- parameters -----------------------------------------------------------------------------------


def test_parameters_of_the_specification():
    assert [OLH(100, e).g for e in GRID] == [2, 3, 3, 4, 8, 56, 404, 22027]
    assert [build("AOLH", 100, e, 1e-5).g for e in GRID] == [2, 3, 3, 4, 8, 56, 404, 22028]
    assert [BLH(100, e).g for e in GRID] == [2] * 8
    for k, sizes in (
        (200, [88, 76, 64, 54, 24, 4, 1, 1]),
        (25, [11, 9, 8, 7, 3, 1, 1, 1]),
        (2, [1] * 8),
    ):
        assert [SS(k, e).omega for e in GRID] == sizes, k
    # the search stops within 1e-5 of the minimum, the specification prints five digits of its own
    # search
    theta = [0.53114, 0.56163, 0.59091, 0.61855, 0.70961, 0.81568, 0.86913, 0.91925]
    assert [THE(100, e).theta for e in GRID] == pytest.approx(theta, abs=1.5e-5)
    real = [0.243, 0.472, 0.689, 0.896, 1.636, 2.859, 3.937, 5.975]
    odds = [the.p * (1 - the.q) / (the.q * (1 - the.p)) for the in (THE(10, e) for e in GRID)]
    assert np.log(odds) == pytest.approx(real, abs=0.5e-3)
    for g in (2, 10, 2**32):
        lho = LHO(10, g)
        assert (lho.p, lho.q, lho.epsilon, lho.delta) == (1.0, 1 / g, math.inf, 0.0), g


def test_threshold_of_the_minimises_the_variance_of_the_estimate():
    for epsilon in GRID:

        def variance(t):
            p, q = 1 - math.exp(epsilon * (t - 1) / 2) / 2, math.exp(-epsilon * t / 2) / 2
            return q * (1 - q) / (p - q) ** 2

        the, options = THE(100, epsilon), {"xatol": 1e-10}
        best = optimize.minimize_scalar(
            variance, bounds=(0.5, 1), method="bounded", options=options
        )
        assert the.theta == pytest.approx(best.x, abs=1e-5)
        assert the.variance(1) == pytest.approx(variance(the.theta), rel=1e-12)


def test_hash_range_of_aolh_minimises_the_variance_of_the_estimate():
    for epsilon, delta in (0.5, 0.02), (1, 0.05), (4, 1e-3):
        grown = math.expm1(epsilon)

        def variance(g):
            return (grown + g) ** 2 / ((g - 1) * (grown + g * delta) ** 2)

        best = optimize.minimize_scalar(
            variance, bounds=(1 + 1e-9, 2 * grown + 4), method="bounded"
        ).x
        assert build("AOLH", 100, epsilon, delta).g == max(2, round(best)), epsilon


def test_pure_protocols_satisfy_exactly_their_epsilon():
    near = close(1e-9)
    for k, epsilon in ((k, epsilon) for k in (2, 3, 10, 25, 200) for epsilon in GRID):
        grr, ss = GRR(k, epsilon), SS(k, epsilon)
        assert close(1e-12)(math.log(grr.p / grr.q), epsilon), grr
        assert close(1e-14)(grr.p + (k - 1) * grr.q, 1), grr
        w = ss.omega  # a set with the value against a set without it
        odds = (ss.p / math.comb(k - 1, w - 1)) / ((1 - ss.p) / math.comb(k - 1, w))
        assert near(math.log(odds), epsilon), ss
        assert close(1e-12)(ss.p + (k - 1) * ss.q, w), ss
        for unary in (SUE(k, epsilon), OUE(k, epsilon)):
            assert near(math.log(unary.p * (1 - unary.q) / (unary.q * (1 - unary.p))), epsilon), (
                unary
            )
        for hashing in (BLH(k, epsilon), OLH(k, epsilon)):
            ratio = hashing.p / ((1 - hashing.p) / (hashing.g - 1))
            assert near(math.log(ratio), epsilon) and hashing.q == 1 / hashing.g, hashing
        assert close(1e-15)(SHE(k, epsilon).scale, 2 / epsilon), (k, epsilon)


def test_approximate_protocols_satisfy_exactly_their_guarantee():
    near, cases = (
        close(1e-9),
        [(k, d, e) for k in (2, 10) for d in (1e-9, 1e-5, DELTA) for e in (0.5, 1, 4, 10)],
    )
    for k, delta, epsilon in cases:
        agrr, asue = build("AGRR", k, epsilon, delta), build("ASUE", k, epsilon, delta)
        assert close(1e-14)(agrr.p + (k - 1) * agrr.q, 1), agrr
        assert close(1e-10)(math.log((agrr.p - delta) / agrr.q), epsilon), agrr
        assert close(1e-14)(asue.p + asue.q, 1), asue
        odds = (asue.p * (1 - asue.q) - delta) / (asue.q * (1 - asue.p))
        assert near(math.log(odds), epsilon), asue
        for hashing in (build(label, k, epsilon, delta) for label in ("ABLH", "AOLH")):
            other = (1 - hashing.p) / (hashing.g - 1)
            assert near(math.log((hashing.p - delta) / other), epsilon), hashing
            assert hashing.delta == delta, hashing


def test_true_epsilon_of_the_faulty_unary_encoding():
    printed = {
        "SUE": [1.229, 1.369, 1.520, 1.680, 2.408, 4.143, 6.051],
        "OUE": [1.189, 1.294, 1.415, 1.551, 2.240, 4.036, 6.005],
    }
    for protocol, true in printed.items():
        for epsilon, wanted in zip(GRID, true):
            faulty, meant = FaultyUE(10, epsilon, protocol), make(protocol, k=10, epsilon=epsilon)
            assert faulty.true_epsilon == pytest.approx(wanted, abs=0.5e-3)
            assert faulty.p == pytest.approx(1 - (1 - meant.p) * (1 - meant.q), rel=1e-14)
            assert faulty.q == meant.q
        for epsilon in (MIN_EPSILON, 10, 20, MAX_EPSILON):  # never below the claim
            assert epsilon < FaultyUE(5, epsilon, protocol).true_epsilon < epsilon + 1.2
    assert FaultyUE(10, 2, "OUE").true_epsilon == pytest.approx(
        math.log(math.exp(2) + 2), rel=1e-12
    )


def test_extreme_epsilons_give_probabilities_inside_the_unit_interval():
    for label in SUPPORT:
        for epsilon in (MIN_EPSILON, 0.01, 20, MAX_EPSILON):
            epsilon = min(epsilon, 22) if label in ("OLH", "AOLH", "LHO") else epsilon
            mechanism = build(label, 5, epsilon, delta=1e-9)
            assert 0 < mechanism.q < mechanism.p <= 1, mechanism
    for cls in (GRR, SS, OUE):  # a large epsilon leaves another value a support of exp(-epsilon)
        for epsilon in (10, 20, MAX_EPSILON):
            rounding = 2**-52 * math.exp(epsilon)  # of a p next to 1
            exact = math.exp(-epsilon) / (1 + (4 if cls is not OUE else 1) * math.exp(-epsilon))
            assert close(1e-12 + rounding)(cls(5, epsilon).q, exact), (cls, epsilon)


def test_mechanisms_are_frozen_and_made_again_from_their_name_and_parameters():
    for label in EVERY:
        mechanism = build(label, 7, 1.0)
        again = make(mechanism.name, **mechanism.parameters)
        assert again == mechanism and hash(again) == hash(mechanism) and again is not mechanism
        assert isinstance(mechanism, Mechanism) and mechanism.parameters["k"] == 7
        with pytest.raises(dataclasses.FrozenInstanceError):
            mechanism.k = 8


# --- bad input ------------------------------------------------------------------------------------


def test_parameters_outside_their_range_are_refused():
    """The tables of `test_hostile` have one bad value per class; here is every class with each."""
    for label in EVERY:
        for k in (1, 0, -3, 2.5, "10", None, math.nan, MAX_DOMAIN + 1):
            with pytest.raises(ValueError, match="^k must be an integer"):
                dataclasses.replace(build(label, 5, 1.0), k=k)
    for label in [*PURE, *ADAPTIVE, *APPROXIMATE, "FaultySUE"]:
        for epsilon in (
            0,
            -1,
            MIN_EPSILON / 2,
            math.nan,
            math.inf,
            "1",
            None,
            True,
            MAX_EPSILON + 1,
        ):
            with pytest.raises(ValueError, match="^epsilon must be a number"):
                dataclasses.replace(build(label, 5, 1.0), epsilon=epsilon)
    for label, cls in APPROXIMATE.items():
        for delta in (0, 1, -0.1, math.nan, math.inf, "0.1", None, True):
            with pytest.raises(ValueError, match="^delta must be a number"):
                cls(5, 1.0, delta)
    for g in (0, 2**32 + 1, True, "2", math.nan):
        with pytest.raises(ValueError, match="^g must be an integer"):
            LHO(5, g)
    with pytest.raises(ValueError, match="delta must be smaller for AOLH"):
        APPROXIMATE["AOLH"](5, 0.5, 0.2)  # its variance has no minimum
    assert OLH(5, 22).g < 2**32
    with pytest.raises(ValueError, match="epsilon"):
        OLH(5, 22.5)


def test_values_outside_the_domain_are_refused():
    for label in EVERY:
        for values in ([0, 5], [-1, 0], [0.0, 1.0], [[0, 1]], 3, [True, False], ["a"], [math.nan]):
            with pytest.raises(ValueError, match="^values must"):
                build(label, 5, 1.0).perturb(values, np.random.default_rng(1))


def test_reports_of_a_wrong_shape_type_or_range_are_refused():
    hashed, nan = np.zeros(3, HASH_REPORT), math.nan
    rows = {
        "GRR": [[[0, 1]], [0.0, 1.0], [0, 5]],
        "SS": [[0, 1], [[0, 1, 2]], [[0, 9]], [[0.0, 1.0]]],
        "SUE": [[0, 1, 0, 1, 0], [[0, 1, 0, 1]]],
        "OUE": [np.zeros((0, 5), np.uint8), [[0, 1, 0.5, 0, 0]]],
        "THE": [[[0, 1, nan, 0, 0]]],
        "FaultySUE": [[[0, 1, -1, 0, 0]]],
        "SHE": [[[0.0, 1.0]], [[0.0, math.inf, 0, 0, 0]]],
        "BLH": [[0, 1]],
        "OLH": [hashed.reshape(1, 3)],
        "LHO": [hashed[:0]],
    }
    for label, wrong in rows.items():
        for reports in wrong:
            with pytest.raises(ValueError, match="reports"):
                build(label, 5, 0.5).estimate(reports)


def test_make_suggests_the_nearest_mechanism_or_nothing():
    for name, meant in ("grr", "GRR"), ("OLHH", "OLH"), ("faulty", "FaultyUE"):
        with pytest.raises(ValueError, match=f"got '{name}'; did you mean '{meant}'"):
            make(name, k=5, epsilon=1.0)
    with pytest.raises(ValueError, match="mechanism must be one of GRR, SS, .*, got 'xyzzy'$"):
        make("xyzzy", k=5, epsilon=1.0)


def test_make_names_missing_and_superfluous_parameters():
    for name, given, message in [
        ("OUE", {"k": 5, "epsilon": None}, "OUE needs epsilon"),
        ("LHO", {"k": 5}, "LHO needs g; its parameters are k, g"),
        ("LHO", {"k": 5, "g": 2, "epsilon": 1.0}, "LHO does not take epsilon"),
        ("GRR", {}, "GRR needs k, epsilon"),
    ]:
        with pytest.raises(ValueError, match=message):
            make(name, **given)


@checks.checked
def part(
    share: Annotated[float, checks.rule(checks.real, 0, 1)],
    *,
    of: Annotated[int | None, checks.rule(checks.integer, 1)] = None,
):
    return share, of


def test_the_arguments_of_a_function_are_checked_by_their_types():
    assert part(1, of=None) == part(share=1) == (1.0, None) and part(1, of=2.0) == (1.0, 2)
    for wrong, named in (((2,), {}), ((1,), {"of": 0}), ((None,), {})):
        with pytest.raises(ValueError, match="share must|of must"):
            part(*wrong, **named)
    with pytest.raises(TypeError):
        part()
