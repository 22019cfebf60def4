"""LDP-SGD, PrivUnit and PrivUnitG: parameters, the exact privacy, the client against its law, and
the server.

Printed numbers are met to half a unit of their last digit, identities to rounding. Counts and
samples are judged by fewer than 500 p-values with `laws.P_MIN`: a correct package fails this file
with probability below 1e-4.
"""

import dataclasses
import math

import numpy as np
import pytest
from laws import P_MIN
from scipy import integrate, special, stats

from ldpkit import streams
from ldpkit.mechanisms import GRADIENT, LDPSGD, PrivUnit, PrivUnitG
from ldpkit.mechanisms.gradient import mean_axis
from ldpkit.mechanisms.ziggurat import _LAPLACE, _NORMAL, laplace, normals

ALL = list(GRADIENT.values())
N = 20_000


def rng(*seed):
    return np.random.default_rng(seed or 1)


def logit(x):
    return math.log(x) - math.log1p(-x)


def pair(d, theta):
    """Two unit vectors at angle theta that are no axes."""
    basis = np.linalg.qr(rng(d).normal(size=(d, 2)))[0].T
    return basis[0], math.cos(theta) * basis[0] + math.sin(theta) * basis[1]


# --- parameters -----------------------------------------------------------------------------------


def test_inverse_mean_axis_of_the_dimensions_of_the_stand_ins():
    found = [1 / mean_axis(d) for d in (650, 4810, 31594, 171902)]
    assert found == pytest.approx([31.94, 86.92, 222.77, 519.6], abs=0.05)
    for d in (2, 3, 10, 1000):
        law = integrate.quad(lambda t, d=d: math.sin(t) ** (d - 2) * abs(math.cos(t)), 0, math.pi)[
            0
        ]
        assert mean_axis(d) == pytest.approx(
            law / integrate.quad(lambda t, d=d: math.sin(t) ** (d - 2), 0, math.pi)[0]
        )
    assert mean_axis(10**9) == pytest.approx(math.sqrt(2 / math.pi / 1e9), rel=1e-8)


@pytest.mark.parametrize(
    "epsilon, unit, gauss, squares, weaker",
    [
        (0.5, (0.1993, 0.54527, 0.42106), (0.1993, 0.54522, 0.42101), (26.19, 25.17), 0.436),
        (1, (0.3975, 0.58940, 0.34559), (0.3975, 0.58931, 0.34550), (7.356, 6.327), 0.783),
        (2, (0.7866, 0.67047, 0.21591), (0.7865, 0.67032, 0.21579), (2.708, 1.616), 1.324),
        (4, (1.5151, 0.79121, 0.06490), (1.5156, 0.79096, 0.06481), (1.690, 0.4356), 2.074),
        (8, (2.7385, 0.90140, 0.00306), (2.7429, 0.90104, 0.00304), (1.573, 0.1333), 2.956),
    ],
)
def test_best_caps_and_their_noise(epsilon, unit, gauss, squares, weaker):
    m, g = PrivUnit(1000, epsilon), PrivUnitG(1000, epsilon)
    assert (m.gamma * math.sqrt(1000), m.p, m.q) == pytest.approx(unit, abs=1e-4)
    assert (g.gamma, g.p, g.q) == pytest.approx(gauss, abs=1e-4)
    # the column of LDP-SGD is the limit of large d; its relative distance from that is about 1/(2d)
    assert 1 / LDPSGD(10**6, epsilon).m ** 2 / 10**6 == pytest.approx(squares[0], rel=2e-4)
    assert 1 / m.m**2 / 1000 == pytest.approx(squares[1], rel=4e-4)
    error = (1 - m.p) / (2 * (1 - m.q))
    assert logit(1 - error) == pytest.approx(weaker, abs=5.01e-4)


@pytest.mark.parametrize("epsilon", [1e-6, 0.5, 4, 30])
@pytest.mark.parametrize("d", [2, 3, 20, 10**6])
@pytest.mark.parametrize("mechanism", ALL)
def test_the_two_levels_are_a_density_and_differ_by_exactly_epsilon(mechanism, d, epsilon):
    m = mechanism(d, epsilon)
    inside, outside = m.levels
    assert math.log(inside) - math.log(outside) == pytest.approx(epsilon, abs=1e-9)
    assert m.q * inside + (1 - m.q) * outside == pytest.approx(1, abs=1e-12)
    assert logit(m.p) - logit(m.q) == pytest.approx(epsilon, abs=1e-2 if epsilon == 30 else 1e-8)
    assert 0 < m.q <= 0.5 and 0 < m.m < 10


@pytest.mark.parametrize("epsilon", [0.5, 2, 8])
@pytest.mark.parametrize("mechanism", [PrivUnit, PrivUnitG])
def test_the_cap_chosen_is_the_best_and_m_equals_gamma_there(mechanism, epsilon):
    best = mechanism(50, epsilon)
    grid = np.linspace(0, 0.9 if mechanism is PrivUnit else 4, 50)
    assert all(best.m >= mechanism(50, epsilon, 1.0, g).m for g in grid)
    assert best.m == pytest.approx(best.gamma, rel=1e-4)


def test_privunit_with_half_a_cap_has_the_parameters_of_ldp_sgd():
    a, b = PrivUnit(30, 2.0, 1.0, 0.0), LDPSGD(30, 2.0)
    assert (a.p, a.q, a.m, *a.levels) == pytest.approx((b.p, b.q, b.m, *b.levels))
    assert b.p == pytest.approx(math.exp(2) / (1 + math.exp(2)))
    assert b.m == pytest.approx(math.tanh(1) * mean_axis(30))


@pytest.mark.parametrize("d", [3, 10, 1000])
def test_normaliser_of_privunit_is_the_published_one(d):
    m = PrivUnit(d, 3.0)
    a = (d - 1) / 2
    upper = special.betainc(
        a, a, (1 + m.gamma) / 2
    )  # regularised incomplete beta at tau = (1 + gamma) / 2
    front = (
        (1 - m.gamma**2) ** a / (2 ** (d - 2) * (d - 1) * special.beta(a, a))
        if d < 500
        else math.exp(
            a * math.log1p(-(m.gamma**2))
            - (d - 2) * math.log(2)
            - math.log(d - 1)
            - special.betaln(a, a)
        )
    )
    assert m.m == pytest.approx(front * (m.p / (1 - upper) - (1 - m.p) / upper), rel=1e-9)


@pytest.mark.parametrize("mechanism", ALL)
@pytest.mark.parametrize(
    "bad, message",
    [
        ({"d": 1}, "d must be an integer in"),
        ({"d": 2.0}, "d must be an integer in"),
        ({"epsilon": 0}, "epsilon must be a number in"),
        ({"epsilon": -1.0}, "epsilon must be a number in"),
        ({"epsilon": math.nan}, "epsilon must be a number in"),
        ({"epsilon": 31}, "epsilon must be a number in"),
        ({"clip": 0}, "clip must be a finite number > 0, got 0"),
        ({"clip": -1}, "clip must be a finite number > 0, got -1"),
        ({"clip": math.inf}, "clip must be a finite number > 0, got inf"),
    ],
)
def test_bad_parameters_are_refused(mechanism, bad, message):
    with pytest.raises(ValueError, match=message):
        mechanism(**{"d": 10, "epsilon": 1.0, "clip": 1.0} | bad)


def test_bad_caps_are_refused():
    for mechanism, gamma in (
        (PrivUnit, 1.0),
        (PrivUnit, -0.1),
        (PrivUnitG, -1.0),
        (PrivUnitG, math.nan),
    ):
        with pytest.raises(ValueError, match="gamma must be"):
            mechanism(10, 1.0, 1.0, gamma)
    with pytest.raises(
        ValueError, match="gamma must leave the cap a probability of at least 1e-300, got 0.9"
    ):
        PrivUnit(10**6, 1.0, 1.0, 0.9)


def test_parameters_are_plain_and_frozen():
    assert LDPSGD(5, 1, 2).parameters == {"d": 5, "epsilon": 1.0, "clip": 2.0}
    assert PrivUnit(5, 1, 2, 0.25).parameters == {
        "d": 5,
        "epsilon": 1.0,
        "clip": 2.0,
        "gamma": 0.25,
    }
    with pytest.raises(dataclasses.FrozenInstanceError):
        LDPSGD(5, 1).d = 6


# --- the client -----------------------------------------------------------------------------------


def test_kernel_draws_normals_and_returns_their_sums():
    gradients, out = rng(2).normal(size=(2000, 101)), np.empty((2000, 101))
    dots, squares = normals(gradients, tuple(rng(3).integers(0, 2**64, 4, dtype=np.uint64)), out)
    assert dots == pytest.approx((gradients * out).sum(axis=1)) and squares == pytest.approx(
        (out**2).sum(axis=1)
    )
    assert stats.kstest(out.ravel(), "norm").pvalue > P_MIN
    for lag in (1, 2, 101):
        z = np.sum(out.ravel()[lag:] * out.ravel()[:-lag]) / math.sqrt(out.size - lag)
        assert 2 * stats.norm.sf(abs(z)) > P_MIN
    assert len(np.unique(out)) == out.size


def test_the_generator_is_xoshiro256_plus_plus():
    """Words from the published recurrence in Python integers."""
    state, full = [1, 2, 3, 4], 2**64 - 1

    def rotated(x, k):
        return ((x << k) | (x >> (64 - k))) & full

    def following():
        word = (rotated((state[0] + state[3]) & full, 23) + state[0]) & full
        shifted = (state[1] << 17) & full
        state[2] ^= state[0]
        state[3] ^= state[1]
        state[1] ^= state[2]
        state[0] ^= state[3]
        state[2] ^= shifted
        state[3] = rotated(state[3], 45)
        return word

    compiled = [1, 2, 3, 4]
    for _ in range(100):
        word, compiled = streams.step(tuple(np.array(compiled, np.uint64)))
        assert word == following() and list(compiled) == state


ZIGGURATS = {
    "normal": (stats.norm, math.sqrt(2 * math.pi), _NORMAL),
    "laplace": (stats.laplace, 2, _LAPLACE),
}


@pytest.mark.parametrize("law, mass, edges", ZIGGURATS.values(), ids=ZIGGURATS)
def test_layers_of_the_ziggurat_have_one_area_and_end_at_the_top(law, mass, edges):
    assert len(edges) == 257 and (np.diff(edges) < 0).all() and edges[-1] == 0
    heights = law.pdf(edges) * mass
    lowest = edges[1] * heights[1] + mass * law.sf(edges[1])
    assert edges[1:-1] * np.diff(heights[1:]) == pytest.approx(lowest, rel=1e-11)
    assert edges[0] * heights[1] == pytest.approx(lowest, rel=1e-12)


@pytest.mark.parametrize("name", ZIGGURATS)
def test_the_ziggurat_draws_into_every_corner(name):
    """Chi-square over cells that end at every edge of a layer and in the tail; 20 million draws."""
    law, _, layers = ZIGGURATS[name]
    tail = law.isf([1e-4, 3e-5, 1e-5, 1e-6])
    edges, out, seen = (
        np.unique(np.concatenate([layers[1:], -layers[1:], tail, -tail])),
        np.empty((100, 10_000)),
        0,
    )
    for part in range(20):
        if name == "normal":
            normals(np.zeros_like(out), streams.state(rng(part)), out)
        else:
            laplace(out.reshape(-1), streams.state(rng(part)))
        seen = seen + np.histogram(out, np.concatenate([[-np.inf], edges, [np.inf]]))[0]
    expected = np.diff(law.cdf(edges), prepend=0, append=1) * 20 * out.size
    assert expected.min() > 5 and stats.chisquare(seen, expected).pvalue > P_MIN


@pytest.mark.parametrize("mechanism", [LDPSGD, PrivUnit])
@pytest.mark.parametrize("d", [2, 3, 51])
def test_reports_lie_on_the_unit_sphere(mechanism, d):
    reports = mechanism(d, 2.0).perturb(rng().normal(size=(500, d)) * 7, rng())
    assert np.linalg.norm(reports, axis=1) == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("rho", [0.0, 0.4, 1.0, 5.0])
@pytest.mark.parametrize("d", [2, 3, 20])
@pytest.mark.parametrize("mechanism", ALL)
def test_real_reports_fill_the_caps(mechanism, d, rho):
    m, theta = mechanism(d, 2.0, 3.0), 1.2
    u1, u2 = pair(d, theta)
    reports = m.perturb(np.tile(u1 * rho * m.clip, (N, 1)), rng(4, d))
    # the cap, and its negative, hold what the two levels say
    inside, outside = m.levels
    leaning = np.count_nonzero(reports @ u1 >= m.gamma)
    share = (
        (1 + min(1, rho)) / 2 * inside * m.q + (1 - min(1, rho)) / 2 * outside * m.q if rho else m.q
    )
    assert stats.binomtest(leaning, N, share).pvalue > P_MIN
    # what is orthogonal to the plane of the report's own axis knows no direction
    if d > 2:
        third = np.linalg.qr(np.column_stack([u1, u2, rng(6).normal(size=d)]))[0][:, 2]
        assert stats.binomtest(np.count_nonzero(reports @ third > 0), N, 0.5).pvalue > P_MIN


@pytest.mark.parametrize("theta", [0.0, 1.0, math.pi])
@pytest.mark.parametrize("mechanism", [LDPSGD, PrivUnit])
def test_density_of_the_cosine(mechanism, theta):
    m, rho = mechanism(20, 4.0), 0.7
    one, two = pair(20, theta)
    other = m.perturb(np.tile(one * rho, (N, 1)), rng(7)) @ two
    edges = np.linspace(-0.6, 0.6, 25)
    grid = np.linspace(-0.6, 0.6, 24 * 200 + 1)
    values = m.density(grid, rho, theta)
    mass = np.array(
        [
            integrate.simpson(values[i * 200 : i * 200 + 201], x=grid[i * 200 : i * 200 + 201])
            for i in range(24)
        ]
    )
    # the density jumps at the cap's edges, within one bin: allow half a grid step of its height
    everywhere = np.linspace(-0.99999, 0.99999, 200_001)
    assert integrate.trapezoid(m.density(everywhere, rho, theta), everywhere) == pytest.approx(
        1, abs=1e-4
    )
    counts = np.histogram(other, edges)[0]
    rest = N - counts.sum()
    p = stats.chisquare([*counts, rest], [*(N * mass / mass.sum() * (1 - rest / N)), rest]).pvalue
    assert p > P_MIN


def test_density_needs_more_than_a_plane():
    with pytest.raises(ValueError, match="d must be an integer >= 3, got 2"):
        LDPSGD(2, 1.0).density(np.zeros(1), 1.0)


@pytest.mark.parametrize("mechanism", ALL)
def test_a_zero_gradient_gives_a_report_without_direction(mechanism):
    m = mechanism(5, 4.0)
    reports = m.perturb(np.zeros((N, 5)), rng(8))
    assert np.isfinite(reports).all()
    for axis in np.eye(5)[:2]:
        assert stats.binomtest(np.count_nonzero(reports @ axis > 0), N, 0.5).pvalue > P_MIN
    mixed = m.perturb(np.vstack([np.zeros(5), np.ones(5)]), rng())
    assert np.isfinite(mixed).all()


@pytest.mark.parametrize("mechanism", ALL)
@pytest.mark.parametrize(
    "gradients, message",
    [
        (np.zeros((3, 4)), r"gradients must have shape \(n, 5\) with n >= 1, got \(3, 4\)"),
        (np.zeros(5), "gradients must have shape"),
        (np.zeros((0, 5)), "gradients must have shape"),
        (np.full((2, 5), np.nan), "gradients must be finite, got a norm of nan"),
        (np.full((2, 5), np.inf), "gradients must be finite, got a norm of inf"),
        (np.full((2, 5), 1e200), "gradients must be finite, got a norm of inf"),
    ],
)
@pytest.mark.filterwarnings("ignore:overflow")
def test_bad_gradients_are_refused(mechanism, gradients, message):
    with pytest.raises(ValueError, match=message):
        mechanism(5, 1.0).perturb(gradients, rng())


def test_input_is_not_changed_and_equal_streams_give_equal_reports():
    gradients = rng().normal(size=(4, 7)).astype(np.float32)
    gradients[1] = 0
    copy = gradients.copy()
    first = LDPSGD(7, 1.0).perturb(gradients, rng(1))
    assert np.array_equal(gradients, copy) and first.dtype == float
    assert np.array_equal(first, LDPSGD(7, 1.0).perturb(gradients.astype(float), rng(1)))
    assert not np.array_equal(first, LDPSGD(7, 1.0).perturb(gradients, rng(2)))


# --- the server -----------------------------------------------------------------------------------


@pytest.mark.parametrize("norm", [0.8, 2.0, 9.0])
@pytest.mark.parametrize("mechanism", ALL)
def test_the_estimate_is_unbiased_with_the_stated_variance(mechanism, norm):
    m, u = mechanism(10, 2.0, 2.0), np.linalg.qr(rng().normal(size=(10, 1)))[0][:, 0]
    reports = m.perturb(np.tile(norm * u, (N, 1)), rng(9))
    wanted, one = min(norm, 2.0) * u, reports * (m.clip / m.m)
    z = (m.estimate(reports) - wanted) / (one.std(axis=0) / math.sqrt(N))
    assert 2 * stats.norm.sf(np.abs(z)).min() > P_MIN
    errors = ((one - wanted) ** 2).sum(axis=1)
    z = (errors.mean() - m.variance(1, norm)) / (errors.std() / math.sqrt(N))
    assert 2 * stats.norm.sf(abs(z)) > P_MIN
    assert m.variance(100, norm) == pytest.approx(m.variance(1, norm) / 100)
    assert m.variance(1) == pytest.approx(m.variance(1, norm) + min(norm, 2.0) ** 2)


def test_the_server_refuses_reports_of_another_dimension():
    with pytest.raises(
        ValueError, match=r"reports must have shape \(n, 5\) with n >= 1, got \(2, 4\)"
    ):
        LDPSGD(5, 1.0).estimate(np.zeros((2, 4)))


# --- two caps -------------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", ALL)
def test_overlap_of_two_caps(mechanism):
    m = mechanism(6, 2.0)
    assert m.overlap(0.0) == pytest.approx(m.q, abs=1e-9)
    assert m.overlap(math.pi) == pytest.approx(0, abs=1e-9)
    draws = rng(10).normal(size=(100_000, 6))
    if mechanism is not PrivUnitG:
        draws /= np.linalg.norm(draws, axis=1, keepdims=True)
    for theta in (0.5, 1.5, 2.5):
        u1, u2 = pair(6, theta)
        both = np.count_nonzero((draws @ u1 >= m.gamma) & (draws @ u2 >= m.gamma))
        assert stats.binomtest(both, len(draws), float(m.overlap(theta))).pvalue > P_MIN


def test_overlap_of_hemispheres_is_linear_and_of_gaussian_caps_bivariate_normal():
    theta = np.linspace(0, math.pi, 7)
    assert LDPSGD(9, 1.0).overlap(theta) == pytest.approx(
        (math.pi - theta) / (2 * math.pi), abs=1e-14
    )
    m = PrivUnitG(9, 2.0)
    for angle in (0.5, 1.5, 2.5):
        law = stats.multivariate_normal([0, 0], [[1, math.cos(angle)], [math.cos(angle), 1]])
        assert m.overlap(angle) == pytest.approx(law.cdf([-m.gamma, -m.gamma]), abs=1e-6)
    flat = PrivUnit(2, 2.0)
    arc = math.acos(flat.gamma)
    assert flat.overlap(0.3) == pytest.approx((2 * arc - 0.3) / (2 * math.pi))
