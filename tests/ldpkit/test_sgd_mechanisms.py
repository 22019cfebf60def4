"""LDP-SGD, PrivUnit and PrivUnitG: parameters, the exact privacy, the client against its law, and
the server. Printed numbers are met to half a unit of their last digit; fewer than 500 p-values are
judged by `chance.P_MIN`."""

import dataclasses
import itertools
import math

import numpy as np
import pytest
from chance import P_MIN, rng
from pytest import approx
from scipy import integrate, special, stats

from ldpkit.mechanisms import GRADIENT, LDPSGD, PrivUnit, PrivUnitG
from ldpkit.mechanisms.gradient import mean_axis
from ldpkit.rng import _LAPLACE, _NORMAL, first_state, laplace, next_word, normals

ALL = list(GRADIENT.values())
N = 20_000


def logit(x):
    return math.log(x) - math.log1p(-x)


def pair(d, theta):
    """Two unit vectors at angle theta that are no axes."""
    basis = np.linalg.qr(rng(d).normal(size=(d, 2)))[0].T
    return basis[0], math.cos(theta) * basis[0] + math.sin(theta) * basis[1]


def test_inverse_mean_axis_of_the_dimensions_of_the_stand_ins():
    found = [1 / mean_axis(d) for d in (650, 4810, 31594, 171902)]
    assert found == approx([31.94, 86.92, 222.77, 519.6], abs=0.05)
    for d in (2, 3, 10, 1000):
        law = [integrate.quad(lambda t: math.sin(t) ** (d - 2) * abs(math.cos(t)) ** power, 0, math.pi)[0]
               for power in (1, 0)]  # fmt: skip
        assert mean_axis(d) == approx(law[0] / law[1]), d
    assert mean_axis(10**9) == approx(math.sqrt(2 / math.pi / 1e9), rel=1e-8)


def test_best_caps_and_their_noise():
    rows = [(0.5, (0.1993, 0.54527, 0.42106), (0.1993, 0.54522, 0.42101), (26.19, 25.17), 0.436),
        (1, (0.3975, 0.58940, 0.34559), (0.3975, 0.58931, 0.34550), (7.356, 6.327), 0.783),
        (2, (0.7866, 0.67047, 0.21591), (0.7865, 0.67032, 0.21579), (2.708, 1.616), 1.324),
        (4, (1.5151, 0.79121, 0.06490), (1.5156, 0.79096, 0.06481), (1.690, 0.4356), 2.074),
        (8, (2.7385, 0.90140, 0.00306), (2.7429, 0.90104, 0.00304), (1.573, 0.1333), 2.956)]  # fmt: skip
    for epsilon, unit, gauss, squares, weaker in rows:
        m, g = PrivUnit(1000, epsilon), PrivUnitG(1000, epsilon)
        assert (m.gamma * math.sqrt(1000), m.p, m.q) == approx(unit, abs=1e-4)
        assert (g.gamma, g.p, g.q) == approx(gauss, abs=1e-4)
        # the column of LDP-SGD is the limit of large d; its relative distance from that is about 1/(2d)
        assert 1 / LDPSGD(10**6, epsilon).m ** 2 / 10**6 == approx(squares[0], rel=2e-4)
        assert 1 / m.m**2 / 1000 == approx(squares[1], rel=4e-4)
        error = (1 - m.p) / (2 * (1 - m.q))
        assert logit(1 - error) == approx(weaker, abs=5.01e-4)


def test_the_two_levels_differ_by_exactly_epsilon_and_the_cap_chosen_is_the_best():
    for epsilon, d, mechanism in itertools.product([1e-6, 0.5, 4, 30], [2, 3, 20, 10**6], ALL):
        m = mechanism(d, epsilon)
        inside, outside = m.levels
        assert math.log(inside) - math.log(outside) == approx(epsilon, abs=1e-9)
        assert m.q * inside + (1 - m.q) * outside == approx(1, abs=1e-12)
        assert logit(m.p) - logit(m.q) == approx(epsilon, abs=1e-2 if epsilon == 30 else 1e-8)
        assert 0 < m.q <= 0.5 and 0 < m.m < 10
    for epsilon, mechanism in itertools.product([0.5, 2, 8], [PrivUnit, PrivUnitG]):
        best = mechanism(50, epsilon)
        grid = np.linspace(0, 0.9 if mechanism is PrivUnit else 4, 50)
        assert all(best.m >= mechanism(50, epsilon, 1.0, g).m for g in grid)
        assert best.m == approx(best.gamma, rel=1e-4), (epsilon, mechanism)


def test_parameters_of_privunit_are_those_of_ldp_sgd_for_half_a_cap_and_the_published_ones():
    a, b = PrivUnit(30, 2.0, 1.0, 0.0), LDPSGD(30, 2.0)
    assert (a.p, a.q, a.m, *a.levels) == approx((b.p, b.q, b.m, *b.levels))
    assert b.p == approx(math.exp(2) / (1 + math.exp(2)))
    assert b.m == approx(math.tanh(1) * mean_axis(30))
    for d in [3, 10, 1000]:
        m, a = PrivUnit(d, 3.0), (d - 1) / 2
        # regularised incomplete beta at tau = (1 + gamma) / 2
        upper = special.betainc(a, a, (1 + m.gamma) / 2)
        log = a * math.log1p(-(m.gamma**2)) - (d - 2) * math.log(2) - math.log(d - 1)
        front = math.exp(log - special.betaln(a, a))
        assert m.m == approx(front * (m.p / (1 - upper) - (1 - m.p) / upper), rel=1e-9)
    wrong = (PrivUnit, 10, -0.1), (PrivUnitG, 10, math.nan), (PrivUnit, 10**6, 0.9)
    for mechanism, d, gamma in wrong:
        with pytest.raises(ValueError, match="gamma must"):
            mechanism(d, 1.0, 1.0, gamma)
    assert LDPSGD(5, 1, 2).parameters == {"d": 5, "epsilon": 1.0, "clip": 2.0}
    wanted = {"d": 5, "epsilon": 1.0, "clip": 2.0, "gamma": 0.25}
    assert PrivUnit(5, 1, 2, 0.25).parameters == wanted
    with pytest.raises(dataclasses.FrozenInstanceError):
        LDPSGD(5, 1).d = 6


def test_kernel_draws_normals_and_returns_their_sums():
    gradients, out = rng(2).normal(size=(2000, 101)), np.empty((2000, 101))
    dots, squares = normals(gradients, tuple(rng(3).integers(0, 2**64, 4, dtype=np.uint64)), out)
    assert dots == approx((gradients * out).sum(axis=1))
    assert squares == approx((out**2).sum(axis=1))
    assert stats.kstest(out.ravel(), "norm").pvalue > P_MIN
    for lag in (1, 2, 101):
        z = np.sum(out.ravel()[lag:] * out.ravel()[:-lag]) / math.sqrt(out.size - lag)
        assert 2 * stats.norm.sf(abs(z)) > P_MIN
    assert len(np.unique(out)) == out.size


def test_the_generator_is_xoshiro256_plus_plus():
    """Words from the published recurrence in Python integers."""
    state, compiled, full = [1, 2, 3, 4], [1, 2, 3, 4], 2**64 - 1

    def rotated(x, k):
        return ((x << k) | (x >> (64 - k))) & full

    for _ in range(100):
        wanted = (rotated((state[0] + state[3]) & full, 23) + state[0]) & full
        shifted = (state[1] << 17) & full
        for to, by in ((2, 0), (3, 1), (1, 2), (0, 3)):
            state[to] ^= state[by]
        state[2] ^= shifted
        state[3] = rotated(state[3], 45)
        word, compiled = next_word(tuple(np.array(compiled, np.uint64)))
        assert word == wanted and list(compiled) == state


def test_the_ziggurat_has_layers_of_one_area_and_draws_into_every_corner():
    """Chi-square over cells that end at every edge of a layer and in the tail; 20 million draws."""
    laws = (stats.norm, math.sqrt(2 * math.pi), _NORMAL), (stats.laplace, 2, _LAPLACE)
    for law, mass, layers in laws:
        assert len(layers) == 257 and (np.diff(layers) < 0).all() and layers[-1] == 0, law
        heights = law.pdf(layers) * mass
        lowest = layers[1] * heights[1] + mass * law.sf(layers[1])
        assert layers[1:-1] * np.diff(heights[1:]) == approx(lowest, rel=1e-11), law
        assert layers[0] * heights[1] == approx(lowest, rel=1e-12), law
        tail, out, seen = law.isf([1e-4, 3e-5, 1e-5, 1e-6]), np.empty((100, 10_000)), 0
        edges = np.unique(np.concatenate([layers[1:], -layers[1:], tail, -tail]))
        for part in range(20):
            if law is stats.norm:
                normals(np.zeros_like(out), first_state(rng(part)), out)
            else:
                laplace(out.reshape(-1), 1.0, first_state(rng(part)))
            seen = seen + np.histogram(out, np.concatenate([[-np.inf], edges, [np.inf]]))[0]
        expected = np.diff(law.cdf(edges), prepend=0, append=1) * 20 * out.size
        assert expected.min() > 5 and stats.chisquare(seen, expected).pvalue > P_MIN, law


def test_real_reports_lie_on_the_unit_sphere_and_fill_the_caps():
    for mechanism, d in itertools.product([LDPSGD, PrivUnit], [2, 3, 51]):
        reports = mechanism(d, 2.0).perturb(rng().normal(size=(500, d)) * 7, rng())
        assert np.linalg.norm(reports, axis=1) == approx(1, abs=1e-9), (mechanism, d)
    for rho, d, mechanism in itertools.product([0.0, 0.4, 1.0, 5.0], [2, 3, 20], ALL):
        m, (u1, u2) = mechanism(d, 2.0, 3.0), pair(d, 1.2)
        reports = m.perturb(np.tile(u1 * rho * m.clip, (N, 1)), rng(4, d))
        # the cap, and its negative, hold what the two levels say
        (inside, outside), long = m.levels, min(1, rho)
        share = m.q * ((1 + long) / 2 * inside + (1 - long) / 2 * outside) if rho else m.q
        cases = [(reports @ u1 >= m.gamma, share)]
        # what is orthogonal to the plane of the report's own axis knows no direction
        if d > 2:
            third = np.linalg.qr(np.column_stack([u1, u2, rng(6).normal(size=d)]))[0][:, 2]
            cases.append((reports @ third > 0, 0.5))
        for hits, rate in cases:
            assert stats.binomtest(np.count_nonzero(hits), N, rate).pvalue > P_MIN, (m, rho)


def test_density_of_the_cosine():
    edges, grid = np.linspace(-0.6, 0.6, 25), np.linspace(-0.6, 0.6, 24 * 200 + 1)
    everywhere = np.linspace(-0.99999, 0.99999, 200_001)
    for theta, mechanism in itertools.product([0.0, 1.0, math.pi], [LDPSGD, PrivUnit]):
        m, rho, (one, two) = mechanism(20, 4.0), 0.7, pair(20, theta)
        other = m.perturb(np.tile(one * rho, (N, 1)), rng(7)) @ two
        values = m.density(grid, rho, theta)
        parts = [slice(200 * i, 200 * i + 201) for i in range(24)]
        mass = np.array([integrate.simpson(values[part], x=grid[part]) for part in parts])
        # the density jumps at the cap's edges, within one bin: allow half a grid step of its height
        whole = integrate.trapezoid(m.density(everywhere, rho, theta), everywhere)
        assert whole == approx(1, abs=1e-4), (m, theta)
        counts = np.histogram(other, edges)[0]
        rest = N - counts.sum()
        wanted = [*(N * mass / mass.sum() * (1 - rest / N)), rest]
        assert stats.chisquare([*counts, rest], wanted).pvalue > P_MIN, (m, theta)
    with pytest.raises(ValueError, match="d must be an integer >= 3"):
        LDPSGD(2, 1.0).density(np.zeros(1), 1.0)


@pytest.mark.filterwarnings("ignore:overflow")
def test_a_zero_gradient_gives_a_report_without_direction_and_an_endless_one_is_refused():
    for mechanism in ALL:
        m = mechanism(5, 4.0)
        reports = m.perturb(np.zeros((N, 5)), rng(8))
        assert np.isfinite(reports).all(), m
        for axis in np.eye(5)[:2]:
            count = np.count_nonzero(reports @ axis > 0)
            assert stats.binomtest(count, N, 0.5).pvalue > P_MIN, m
        mixed = m.perturb(np.vstack([np.zeros(5), np.ones(5)]), rng())
        assert np.isfinite(mixed).all(), m
        for bad in (np.zeros(5), np.zeros((0, 5)), *(np.full((2, 5), x) for x in (np.inf, 1e200))):
            with pytest.raises(ValueError, match="gradients must"):
                m.perturb(bad, rng())


def test_input_is_not_changed_and_equal_streams_give_equal_reports():
    gradients = rng().normal(size=(4, 7)).astype(np.float32)
    gradients[1] = 0
    copy = gradients.copy()
    first = LDPSGD(7, 1.0).perturb(gradients, rng(1))
    assert np.array_equal(gradients, copy) and first.dtype == float
    assert np.array_equal(first, LDPSGD(7, 1.0).perturb(gradients.astype(float), rng(1)))
    assert not np.array_equal(first, LDPSGD(7, 1.0).perturb(gradients, rng(2)))


def test_the_estimate_is_unbiased_with_the_stated_variance():
    for norm, mechanism in itertools.product([0.8, 2.0, 9.0], ALL):
        m, u = mechanism(10, 2.0, 2.0), np.linalg.qr(rng().normal(size=(10, 1)))[0][:, 0]
        reports = m.perturb(np.tile(norm * u, (N, 1)), rng(9))
        wanted, one = min(norm, 2.0) * u, reports * (m.clip / m.m)
        z = (m.estimate(reports) - wanted) / (one.std(axis=0) / math.sqrt(N))
        assert 2 * stats.norm.sf(np.abs(z)).min() > P_MIN, (norm, mechanism)
        errors = ((one - wanted) ** 2).sum(axis=1)
        z = (errors.mean() - m.variance(1, norm)) / (errors.std() / math.sqrt(N))
        assert 2 * stats.norm.sf(abs(z)) > P_MIN, (norm, mechanism)
        assert m.variance(100, norm) == approx(m.variance(1, norm) / 100)
        assert m.variance(1) == approx(m.variance(1, norm) + min(norm, 2.0) ** 2)


def test_overlap_of_two_caps():
    for mechanism in ALL:
        m = mechanism(6, 2.0)
        assert m.overlap(0.0) == approx(m.q, abs=1e-9)
        assert m.overlap(math.pi) == approx(0, abs=1e-9)
        draws = rng(10).normal(size=(100_000, 6))
        if mechanism is not PrivUnitG:
            draws /= np.linalg.norm(draws, axis=1, keepdims=True)
        for theta in (0.5, 1.5, 2.5):
            u1, u2 = pair(6, theta)
            both = np.count_nonzero((draws @ u1 >= m.gamma) & (draws @ u2 >= m.gamma))
            assert stats.binomtest(both, len(draws), float(m.overlap(theta))).pvalue > P_MIN, m
    theta = np.linspace(0, math.pi, 7)  # hemispheres: linear
    assert LDPSGD(9, 1.0).overlap(theta) == approx((math.pi - theta) / (2 * math.pi), abs=1e-14)
    m = PrivUnitG(9, 2.0)  # Gaussian caps: bivariate normal
    for angle in (0.5, 1.5, 2.5):
        law = stats.multivariate_normal([0, 0], [[1, math.cos(angle)], [math.cos(angle), 1]])
        assert m.overlap(angle) == approx(law.cdf([-m.gamma, -m.gamma]), abs=1e-6)
    flat = PrivUnit(2, 2.0)
    assert flat.overlap(0.3) == approx((2 * math.acos(flat.gamma) - 0.3) / (2 * math.pi))
