"""The maximal gain attack: its expectation, and real poisoned reports against it. The variance of a
run is exact; fewer than 100 p-values against `chance.P_MIN`."""

import itertools
import math

import numpy as np
from chance import P_MIN, binomial_p, build, chi_square_p, rng
from pytest import approx
from scipy import stats

from ldpkit.attacks import MaximalGain
from ldpkit.mechanisms import AGM, ALH, ASS, ATHE, AUE, BLH, GRR, LHO, OLH, OUE, SHE, SS, SUE, THE
from ldpkit.reports import hash_cell
from ldpkit.reports.values import _fullest_cell

N, K = 400, 12
REPORTS = [GRR(K, 2.0), build("AGRR", K, 2.0, 0.01), SUE(K, 1.0), OUE(K, 1.0), THE(K, 2.0), AUE(K, 1.0, 0.8),
    ATHE(K, 2.0, 0.6), ASS(K, 1.0, 2), ASS(K, 1.0, 4), ASS(K, 1.0, 7), SS(K, 0.1), BLH(K, 1.0), OLH(K, 2.0),
    ALH(K, 2.0, 5), LHO(K, 3)]  # fmt: skip


def test_gains_equal_the_closed_forms():
    attacks = [(0.05, 10, 0.01), (0.2, 1, 0.0), (0.9, 100, 1.0)]
    for (share, targets, frequency), epsilon in itertools.product(attacks, (0.1, 1.0, 6.0)):
        lift = math.exp(epsilon) - 1
        closed = {OUE(100, epsilon): 2 * targets + 2 * targets / lift}
        for m in (BLH(100, epsilon), OLH(100, epsilon), ALH(100, epsilon, 9)):
            closed[m] = targets * (1 + m.g / lift)
        for m, held in [(GRR(100, epsilon), 1), *((ASS(100, epsilon, w), w) for w in (1, 3, 60))]:
            closed[m] = (min(held, targets) - targets * m.q) / (m.p - m.q)
        for m, gain in closed.items():
            found = MaximalGain(share, targets, frequency).expected(m)
            assert found == approx(share * (gain - frequency), rel=1e-12), (m, share)
    attack = MaximalGain()
    for m in (SUE, OUE, BLH, OLH, GRR):  # less privacy means less gain
        gains = [attack.expected(m(100, epsilon)) for epsilon in (0.5, 1, 2, 4, 8)]
        assert gains == sorted(gains, reverse=True), m
    # the defaults are those of the paper
    assert (attack.share, attack.targets, attack.frequency) == (0.05, 10, 0.01)
    assert attack.name == "maximal gain"
    found = attack.gain(np.array([0.5, 0.8]), np.array([0.1, 0.2]), np.array([10, 3]))
    assert found.tolist() == [attack.gain(0.5, 0.1, 10), attack.gain(0.8, 0.2, 3)]
    for m in (SHE(100, 1.0), AGM(100, 1.0, 1e-5)):  # noisy vectors have no bound
        assert attack.expected(m) == math.inf


MOST = [(GRR(K, 1.0), 1), (OUE(K, 1.0), 5), (THE(K, 1.0), 5), (BLH(K, 1.0), 5), (SS(K, 1.0), 3)]
MOST += [(ASS(K, 1.0, w), min(w, 5)) for w in (1, 4, 5, 11)]


def test_crafted_reports_are_valid_and_support_as_many_targets_as_stated():
    for m, most in MOST:
        assert MaximalGain(targets=5).supported(m) == most
    for m, r in itertools.product(REPORTS, [1, 5, 12]):
        attack = MaximalGain(targets=r)
        reports, supported = attack.craft(m, 300, rng(2, r))
        assert len(reports) == 300 and reports.dtype == m.perturb(np.array([0]), rng()).dtype
        # refuses what no client sends
        each = np.array([m.support_counts(reports[i : i + 1]) for i in range(300)])
        assert (each[:, :r].sum(axis=1) == supported).all() and supported >= 1, (m, r)
        if m.report == "hash":
            assert supported <= attack.supported(m) and (each == each[0]).all(), (m, r)
        else:
            assert supported == attack.supported(m), (m, r)
        if m.report == "bits":
            assert (each[:, :r] == 1).all() and (each[:, r:] == 0).all(), (m, r)
        if m.report == "subset":
            assert (np.diff(np.sort(reports, axis=1)) > 0).all(), (m, r)


def test_crafted_subsets_spread_evenly_over_targets_others_and_places():
    for omega, r in [(1, 5), (3, 5), (5, 5), (8, 5), (8, 1)]:
        m, n = ASS(K, 1.0, omega), 6000
        reports, supported = MaximalGain(targets=r).craft(m, n, rng(3))
        assert supported == min(omega, r), (omega, r)
        rates = [supported / r] * r + [(omega - supported) / (K - r)] * (K - r)
        rates += [supported / omega] * omega  # a place tells nothing: they are in random order
        counts = [*m.support_counts(reports), *(reports < r).sum(axis=0)]
        for at, (count, rate) in enumerate(zip(counts, rates, strict=True)):
            fits = count == n * rate if rate in (0, 1) else binomial_p(count, n, rate) > P_MIN
            assert fits, (omega, r, at)
    reports, supported = MaximalGain(targets=5).craft(GRR(K, 1.0), 20_000, rng(4))
    assert supported == 1 and reports.max() == 4
    assert chi_square_p(np.bincount(reports), np.full(5, 0.2)) > P_MIN


def test_the_search_finds_the_fullest_cell_of_all_seeds():
    for g, r in ((2, 6), (5, 10), (40, 7)):
        seeds = rng(5, g).integers(0, 2**64, 200, dtype=np.uint64)
        cells = [[hash_cell(v, seed, g) for v in range(r)] for seed in seeds]
        most, seed, cell = _fullest_cell(seeds, r, g)
        assert most == max(np.bincount(own).max() for own in cells), (g, r)
        found = [hash_cell(v, np.uint64(seed), g) for v in range(r)]
        assert found.count(cell) == most and seed in seeds, (g, r)
    m, attack = BLH(K, 1.0), MaximalGain(targets=6)
    few, many = (attack.craft(m, 1, rng(6), tries=tries)[1] for tries in (1, 3000))
    assert few < many == 6  # one hash in 32 sends six values to one of two cells
    one = [attack.craft(ALH(K, 1.0, 4), 1, rng(7, i), tries=1)[1] for i in range(200)]
    assert 2 <= min(one) < max(one)
    for m in [GRR(K, 1.0), ASS(K, 1.0, 4), BLH(K, 1.0)]:  # the generator alone decides
        found = [MaximalGain(targets=5).craft(m, 50, rng(seed))[0].tobytes() for seed in (8, 8, 9)]
        assert found[0] == found[1] != found[2], m


def gain_variance(m, r, counts, fakes):
    """Exact variance of one run's gain, ``share / (p - q)`` times the mean number of targets that
    fake reports support less that of genuine ones, which alone vary."""
    n = counts.sum()
    if m.report == "value":
        hit = np.array([m.p + (r - 1) * m.q if v < r else r * m.q for v in range(m.k)])
        variance = counts @ (hit * (1 - hit))
    elif m.report == "subset":
        variance = 0.0
        for v, count in enumerate(counts):
            # the rest is uniform without replacement, so the number is hypergeometric
            own, rest = (stats.hypergeom(m.k - 1, r - (v < r), m.omega - i) for i in (1, 0))
            parts = [(m.p, own, v < r), (1 - m.p, rest, False)]
            mean = sum(p * (law.mean() + plus) for p, law, plus in parts)
            square = sum(p * (law.var() + (law.mean() + plus) ** 2) for p, law, plus in parts)
            variance += count * (square - mean**2)
    else:
        inside = counts[:r].sum()
        variance = inside * m.p * (1 - m.p) + (n * r - inside) * m.q * (1 - m.q)
    share = fakes / (n + fakes)
    return (share / (m.p - m.q)) ** 2 * variance / n**2


def test_simulated_gains_have_the_expected_mean_and_variance():
    counts = np.array([60, 40, 0, 100, 50, 50, 20, 20, 20, 20, 10, 10])
    values = np.repeat(np.arange(K), counts)
    for m, (share, r) in itertools.product(REPORTS, [(0.05, 4), (0.3, 10)]):
        attack, draws = MaximalGain(share, r), rng(10, r)
        runs = 100 if m.report == "subset" else 200
        fakes = round(N * share / (1 - share))
        found = np.array([attack.simulate(m, values, draws, tries=30) for _ in range(runs)])
        own = MaximalGain(fakes / (N + fakes), r, counts[:r].sum() / N)
        possible = np.array([own.gain(m.p, m.q, c) for c in range(1, r + 1)])
        assert np.isclose(found[:, 1:], possible, rtol=1e-12, atol=0).any(axis=1).all(), (m, r)
        if m.report != "hash":
            assert found[:, 1] == approx(own.expected(m), rel=1e-12), (m, r)
        variance, apart = gain_variance(m, r, counts, fakes), found[:, 0] - found[:, 1]
        z = apart.mean() / math.sqrt(variance / runs)
        assert 2 * stats.norm.sf(abs(z)) > P_MIN, (m, r)
        law, ratio = stats.chi2(runs - 1), (runs - 1) * apart.var(ddof=1) / variance
        assert 2 * min(law.cdf(ratio), law.sf(ratio)) > P_MIN, (m, r)
    # if one user in a hundred holds a target, the expected gain of a run is that of the attack
    values, attack = np.repeat([0, 10, 11], [1, 50, 49]), MaximalGain(1 / 5, 10, 0.01)
    for m in (SUE(K, 1.0), GRR(K, 1.0), ASS(K, 1.0, 3)):
        assert attack.simulate(m, values, rng())[1] == approx(attack.expected(m), rel=1e-12)
