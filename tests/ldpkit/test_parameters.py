"""Parameters of the specification, compared to half a unit of their last printed digit."""

import math
from typing import Annotated

import numpy as np
import pytest
from chance import build

from ldpkit import checks
from ldpkit.mechanisms import BLH, LHO, OLH, SS, THE, FaultyUE, make
from ldpkit.mechanisms.base import MAX_EPSILON, MIN_EPSILON

GRID = [0.25, 0.5, 0.75, 1, 2, 4, 6, 10]


def test_parameters_of_the_specification():
    assert [OLH(100, e).g for e in GRID] == [2, 3, 3, 4, 8, 56, 404, 22027]
    assert [build("AOLH", 100, e, 1e-5).g for e in GRID] == [2, 3, 3, 4, 8, 56, 404, 22028]
    assert [BLH(100, e).g for e in GRID] == [2] * 8
    sizes = {200: [88, 76, 64, 54, 24, 4, 1, 1], 25: [11, 9, 8, 7, 3, 1, 1, 1], 2: [1] * 8}
    assert {k: [SS(k, e).omega for e in GRID] for k in sizes} == sizes
    # the search stops within 1e-5 of the minimum; five digits are printed of another search
    theta = [0.53114, 0.56163, 0.59091, 0.61855, 0.70961, 0.81568, 0.86913, 0.91925]
    assert [THE(100, e).theta for e in GRID] == pytest.approx(theta, abs=1.5e-5)
    real = [0.243, 0.472, 0.689, 0.896, 1.636, 2.859, 3.937, 5.975]
    odds = [the.p * (1 - the.q) / (the.q * (1 - the.p)) for the in (THE(10, e) for e in GRID)]
    assert np.log(odds) == pytest.approx(real, abs=0.5e-3)
    for g in (2, 10, 2**32):
        lho = LHO(10, g)
        assert (lho.p, lho.q, lho.epsilon, lho.delta) == (1.0, 1 / g, math.inf, 0.0), g


def test_true_epsilon_of_the_faulty_unary_encoding():
    sue = [1.229, 1.369, 1.520, 1.680, 2.408, 4.143, 6.051]
    oue = [1.189, 1.294, 1.415, 1.551, 2.240, 4.036, 6.005]
    for protocol, true in (("SUE", sue), ("OUE", oue)):
        for epsilon, wanted in zip(GRID, true):
            faulty, meant = FaultyUE(10, epsilon, protocol), make(protocol, k=10, epsilon=epsilon)
            assert faulty.true_epsilon == pytest.approx(wanted, abs=0.5e-3)
            assert faulty.p == pytest.approx(1 - (1 - meant.p) * (1 - meant.q), rel=1e-14)
            assert faulty.q == meant.q
        for epsilon in (MIN_EPSILON, 10, 20, MAX_EPSILON):  # never below the claim
            assert epsilon < FaultyUE(5, epsilon, protocol).true_epsilon < epsilon + 1.2
    wanted = pytest.approx(math.log(math.exp(2) + 2), rel=1e-12)
    assert FaultyUE(10, 2, "OUE").true_epsilon == wanted


Share = Annotated[float, checks.rule(checks.real, 0, 1)]
Whole = Annotated[int | None, checks.rule(checks.integer, 1)]


@checks.checked
def part(share: Share, *, of: Whole = None):
    return share, of


def test_the_arguments_of_a_function_are_checked_by_their_types():
    assert part(1, of=None) == part(share=1) == (1.0, None) and part(1, of=2.0) == (1.0, 2)
    for wrong, named in (((2,), {}), ((1,), {"of": 0}), ((None,), {})):
        with pytest.raises(ValueError, match="share must|of must"):
            part(*wrong, **named)
    with pytest.raises(TypeError):
        part()
