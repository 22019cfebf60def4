"""Real clients of subset selection and of noisy histograms: joint laws by chi-square, noise by
Kolmogorov-Smirnov, fewer than 1,000 p-values against `chance.P_MIN`."""

import importlib
import itertools
import math
import pkgutil

import numpy as np
from chance import P_MIN, chi_square_p, rng
from pytest import approx
from scipy import stats

import ldpkit
from ldpkit.mechanisms import SHE, SS, Mechanism

N = 200_000


def subset_law(ss, own):
    """Probability of every ordered report: the set's probability, spread evenly over its orders."""
    w, orders = ss.omega, math.factorial(ss.omega)
    inside, outside = math.comb(ss.k - 1, w - 1) * orders, math.comb(ss.k - 1, w) * orders
    reports = list(itertools.permutations(range(ss.k), w))
    return reports, np.array([ss.p / inside if own in r else (1 - ss.p) / outside for r in reports])


def test_ss_reports_follow_their_whole_law_in_every_order():
    """The first report of a call follows it too."""
    rows = [(2, 1.0, 1, 1), (5, 0.5, 0, 2), (5, 0.5, 4, 2), (6, 0.1, 2, 3)]
    for k, epsilon, own, size in rows:
        ss = SS(k, epsilon)
        reports, law = subset_law(ss, own)
        assert ss.omega == size and law.sum() == approx(1, abs=1e-12), (k, epsilon, own)
        index = {report: i for i, report in enumerate(reports)}
        drawn = [ss.perturb(np.full(N, own), rng(8))]
        if own == 0:
            draws = rng(10)
            drawn.append(np.concatenate([ss.perturb([0], draws) for _ in range(20_000)]))
        for found in drawn:
            counts = np.bincount([index[tuple(r)] for r in found.tolist()], minlength=law.size)
            assert chi_square_p(counts, law) > P_MIN, (k, epsilon, own, len(found))


def test_successive_ss_reports_are_independent_and_the_place_of_the_true_value_is_uniform():
    ss = SS(5, 0.5)
    reports, law = subset_law(ss, 2)
    code = np.array([5 * a + b for a, b in reports])
    found = np.searchsorted(np.sort(code), ss.perturb(np.full(2 * N, 2), rng(9)) @ [5, 1])
    law = law[np.argsort(code)]
    joint = np.bincount(found[0::2] * law.size + found[1::2], minlength=law.size**2)
    assert chi_square_p(joint, np.outer(law, law)) > P_MIN
    for k, epsilon in [(10, 0.5), (30, 1.0), (100, 0.25)]:
        ss = SS(k, epsilon)
        reports = ss.perturb(np.full(100_000, 3), rng(11))
        places = np.bincount(np.nonzero(reports == 3)[1], minlength=ss.omega)
        assert chi_square_p(places, np.full(ss.omega, 1 / ss.omega)) > P_MIN, (k, epsilon)
        assert (np.diff(np.sort(reports, axis=1)) > 0).all(), (k, epsilon)


def test_she_noise_is_laplace_on_every_coordinate_and_independent():
    for epsilon in [0.1, 1.0, 10.0]:
        she = SHE(3, epsilon)
        noise = (she.perturb(np.full(N, 1), rng(13)) - [0, 1, 0]) / she.scale
        for column in noise.T:
            assert stats.kstest(column, "laplace").pvalue > P_MIN, epsilon
        quartiles = np.searchsorted([-math.log(2), 0, math.log(2)], noise)
        counts = np.bincount(quartiles @ [16, 4, 1], minlength=64)
        assert chi_square_p(counts, np.full(64, 1 / 64)) > P_MIN, epsilon


def test_a_mechanism_has_at_most_three_ancestors_of_ours():
    classes = {
        cls
        for module in pkgutil.walk_packages(ldpkit.__path__, "ldpkit.")
        if module.name.startswith(("ldpkit.mechanisms.", "ldpkit.beyond."))
        for cls in vars(importlib.import_module(module.name)).values()
        if isinstance(cls, type) and issubclass(cls, Mechanism)
    }
    ours = {c: [b for b in c.__mro__[1:] if b.__module__.startswith("ldpkit")] for c in classes}
    assert len(classes) > 50 and max(map(len, ours.values())) == 4
    many = {cls.__name__ for cls, ancestors in ours.items() if len(ancestors) == 4}
    assert many == {"ABLH", "AGM", "AOLH", "FloorSS", "HCMS"}
