"""The maximal gain attack: its expectation, and real poisoned reports against it.

Simulations: fixed seeds. The gain of a run is a sum over independent reports, so its variance is
exact and its mean over many runs is judged by a normal tail with `laws.P_MIN`; the file holds fewer
than 100 such p-values, so a correct package fails it with probability below 1e-5.
"""

import itertools
import math

import numpy as np
import pytest
from laws import P_MIN, binomial_p, chi_square_p
from pytest import approx
from scipy import stats

from ldpkit.attacks import MaximalGain
from ldpkit.kinds import hash_cell
from ldpkit.kinds.hashed import _fullest_cell
from ldpkit.mechanisms import (
    AGM,
    AGRR,
    ALH,
    ASS,
    ATHE,
    AUE,
    BLH,
    GRR,
    LHO,
    OLH,
    OUE,
    RSFD,
    SHE,
    SS,
    SUE,
    THE,
    BucketFlip,
    Chained,  # fmt: skip
    Repeated,
)
from ldpkit.optimize import refine

N, K = 400, 12
REPORTS = [GRR(K, 2.0), AGRR(K, 2.0, 0.01), SUE(K, 1.0), OUE(K, 1.0), THE(K, 2.0), AUE(K, 1.0, 0.8),
    ATHE(K, 2.0, 0.6), ASS(K, 1.0, 2), ASS(K, 1.0, 4), ASS(K, 1.0, 7), SS(K, 0.1), BLH(K, 1.0), OLH(K, 2.0),
    ALH(K, 2.0, 5), LHO(K, 3)]  # fmt: skip


def rng(*seed):
    return np.random.default_rng(seed or 1)


# --- the expectation ------------------------------------------------------------------------------

# mechanism, epsilon, expected gain at k = 100 and the default attack; 4 decimals
GAINS = [
    (SUE, 1, 1.2702), (OUE, 1, 1.5815), (BLH, 1, 1.0815), (OLH, 1, 1.6635),
    (SUE, 4, 0.5778), (OUE, 4, 1.0182), (BLH, 4, 0.5182), (OLH, 4, 1.0219),
    (SUE, 8, 0.5088), (OUE, 8, 0.9998), (BLH, 8, 0.4998), (OLH, 8, 0.9998),
]  # fmt: skip


def test_gains_equal_the_test_vectors():
    for protocol, epsilon, gain in GAINS:
        assert MaximalGain().expected(protocol(100, epsilon)) == approx(gain, abs=0.501e-4)


def test_gains_of_the_refined_protocols_equal_the_test_vectors():
    for epsilon, unary, hashing in [(4, 0.6220, 0.6208), (8, 0.5022, 0.5013)]:
        chosen = (refine(family, 100, epsilon, grid="published") for family in ("ue", "lh"))
        assert [MaximalGain().expected(m) for m in chosen] == approx([unary, hashing], abs=0.501e-4)


def test_gains_at_one_digit_more():
    found = [MaximalGain().expected(m(100, 1)) for m in (SUE, OUE, BLH, OLH)]
    assert found == approx([1.27022, 1.58144, 1.08146, 1.66342], abs=5e-5)


def test_gains_equal_the_closed_forms():
    for share, targets, frequency in [(0.05, 10, 0.01), (0.2, 1, 0.0), (0.9, 100, 1.0)]:
        attack = MaximalGain(share, targets, frequency)
        for epsilon in (0.1, 1.0, 6.0):
            grown = math.exp(epsilon)
            for m in (BLH(100, epsilon), OLH(100, epsilon), ALH(100, epsilon, 9)):
                assert attack.expected(m) == approx(
                    share * (targets * (1 + m.g / (grown - 1)) - frequency), rel=1e-12
                )
            oue = share * (2 * targets - frequency) + 2 * share * targets / (grown - 1)
            assert attack.expected(OUE(100, epsilon)) == approx(oue, rel=1e-12), (
                share,
                targets,
                frequency,
            )
            m = GRR(100, epsilon)
            assert attack.expected(m) == approx(
                share * ((1 - targets * m.q) / (m.p - m.q) - frequency), rel=1e-12
            )
            for w in (1, 3, 60):
                m = ASS(100, epsilon, w)
                held = min(w, targets)
                assert attack.expected(m) == approx(
                    share * ((held - targets * m.q) / (m.p - m.q) - frequency), rel=1e-12
                )


def test_less_privacy_means_less_gain():
    for m in (SUE, OUE, BLH, OLH, GRR):
        gains = [MaximalGain().expected(m(100, epsilon)) for epsilon in (0.5, 1, 2, 4, 8)]
        assert gains == sorted(gains, reverse=True)


def test_the_defaults_are_those_of_the_paper_and_gains_take_arrays():
    attack = MaximalGain()
    assert (attack.share, attack.targets, attack.frequency, attack.name) == (
        0.05,
        10,
        0.01,
        "maximal gain",
    )
    p, q = np.array([0.5, 0.8]), np.array([0.1, 0.2])
    assert attack.gain(p, q, np.array([10, 3])).tolist() == [
        attack.gain(0.5, 0.1, 10),
        attack.gain(0.8, 0.2, 3),
    ]


MOST = [(GRR(K, 1.0), 1), (OUE(K, 1.0), 5), (THE(K, 1.0), 5), (BLH(K, 1.0), 5), (SS(K, 1.0), 3), (ASS(K, 1.0, 1), 1),
    (ASS(K, 1.0, 4), 4), (ASS(K, 1.0, 5), 5), (ASS(K, 1.0, 11), 5)]  # fmt: skip


def test_targets_that_one_report_supports():
    for m, most in MOST:
        assert MaximalGain(targets=5).supported(m) == most


def test_noisy_vectors_have_no_bound():
    assert (
        MaximalGain().expected(SHE(100, 1.0))
        == MaximalGain().expected(AGM(100, 1.0, 1e-5))
        == math.inf
    )


# --- crafted reports ------------------------------------------------------------------------------


def test_crafted_reports_are_valid_and_support_as_many_targets_as_stated():
    for m, r in itertools.product(REPORTS, [1, 5, 12]):
        attack = MaximalGain(targets=r)
        reports, supported = attack.craft(m, 300, rng(2, r))
        assert len(reports) == 300 and reports.dtype == m.perturb(np.array([0]), rng()).dtype
        each = np.array(
            [m.support_counts(reports[i : i + 1]) for i in range(300)]
        )  # refuses what no client sends
        assert (each[:, :r].sum(axis=1) == supported).all() and supported >= 1
        if m.report == "hash":
            assert supported <= attack.supported(m) and (each == each[0]).all()
        else:
            assert supported == attack.supported(m)
        if m.report == "bits":
            assert (each[:, :r] == 1).all() and (each[:, r:] == 0).all()
        if m.report == "subset":
            assert (np.diff(np.sort(reports, axis=1)) > 0).all(), (m, r)


def test_crafted_subsets_spread_evenly_over_targets_others_and_places():
    for omega, r in [(1, 5), (3, 5), (5, 5), (8, 5), (8, 1)]:
        m, n = ASS(K, 1.0, omega), 6000
        reports, supported = MaximalGain(targets=r).craft(m, n, rng(3))
        assert supported == min(omega, r)
        counts = m.support_counts(reports)
        for value, count in enumerate(counts):
            rate = supported / r if value < r else (omega - supported) / (K - r)
            assert count == n * rate if rate in (0, 1) else binomial_p(count, n, rate) > P_MIN, (
                omega,
                r,
            )
        places = (reports < r).sum(axis=0)  # a place tells nothing: the reports are in random order
        for count in places:
            rate = supported / omega
            assert count == n if rate == 1 else binomial_p(count, n, rate) > P_MIN, (omega, r)


def test_crafted_values_spread_evenly_over_the_targets():
    reports, supported = MaximalGain(targets=5).craft(GRR(K, 1.0), 20_000, rng(4))
    assert supported == 1 and reports.max() == 4
    assert chi_square_p(np.bincount(reports), np.full(5, 0.2)) > P_MIN


def test_the_search_finds_the_fullest_cell_of_all_seeds():
    for g, r in ((2, 6), (5, 10), (40, 7)):
        seeds = rng(5, g).integers(0, 2**64, 200, dtype=np.uint64)
        fullest = [
            np.bincount([hash_cell(v, seed, g) for v in range(r)], minlength=g) for seed in seeds
        ]
        most, seed, cell = _fullest_cell(seeds, r, g)
        assert most == max(cells.max() for cells in fullest)
        found = [hash_cell(v, np.uint64(seed), g) for v in range(r)]
        assert found.count(cell) == most and seed in seeds


def test_more_tries_find_more_targets_and_enough_tries_all_of_them():
    m, attack = BLH(K, 1.0), MaximalGain(targets=6)
    few, many = (attack.craft(m, 1, rng(6), tries=tries)[1] for tries in (1, 3000))
    assert few < many == 6  # one hash in 32 sends six values to one of two cells
    one = [attack.craft(ALH(K, 1.0, 4), 1, rng(7, i), tries=1)[1] for i in range(200)]
    assert 2 <= min(one) < max(one)


def test_the_generator_alone_decides_crafted_reports():
    for m in [GRR(K, 1.0), ASS(K, 1.0, 4), BLH(K, 1.0)]:
        one, two, other = (
            MaximalGain(targets=5).craft(m, 50, rng(seed))[0].tobytes() for seed in (8, 8, 9)
        )
        assert one == two != other, m


# --- poisoned estimates ---------------------------------------------------------------------------


def gain_variance(m, r, counts, fakes):
    """Exact variance of one run's gain; every crafted report supports equally many targets, so the
    genuine ones alone vary.

    The gain is ``share / (p - q)`` times the difference of the mean number of supported targets,
    fake less genuine.
    """
    n = counts.sum()
    if m.report == "value":
        hit = np.array([m.p + (r - 1) * m.q if v < r else r * m.q for v in range(m.k)])
        variance = counts @ (hit * (1 - hit))
    elif m.report == "subset":
        w, k = m.omega, m.k
        variance = 0.0
        for v, count in enumerate(
            counts
        ):  # the rest is uniform without replacement, so the number is hypergeometric
            others, hits = k - 1, r - (v < r)
            parts = [(m.p, stats.hypergeom(others, hits, w - 1), v < r),
                (1 - m.p, stats.hypergeom(others, hits, w), False)]  # fmt: skip
            mean = sum(chance * (law.mean() + plus) for chance, law, plus in parts)
            square = sum(
                chance * (law.var() + (law.mean() + plus) ** 2) for chance, law, plus in parts
            )
            variance += count * (square - mean**2)
    else:
        inside = counts[:r].sum()
        variance = inside * m.p * (1 - m.p) + (n * r - inside) * m.q * (1 - m.q)
    share = fakes / (n + fakes)
    return (share / (m.p - m.q)) ** 2 * variance / n**2


def test_simulated_gains_have_the_expected_mean_and_variance():
    for m, (share, r) in itertools.product(REPORTS, [(0.05, 4), (0.3, 10)]):
        attack, runs, generator = (MaximalGain(share, r), 200 if m.report == "subset" else 400, rng(10, r))  # fmt: skip
        counts = np.array([60, 40, 0, 100, 50, 50, 20, 20, 20, 20, 10, 10])
        values, fakes = np.repeat(np.arange(K), counts), round(N * share / (1 - share))
        found = np.array([attack.simulate(m, values, generator, tries=30) for _ in range(runs)])
        own = MaximalGain(fakes / (N + fakes), r, counts[:r].sum() / N)
        possible = {own.gain(m.p, m.q, c) for c in range(1, r + 1)}
        assert all(
            any(math.isclose(e, x, rel_tol=1e-12) for x in possible) for e in set(found[:, 1])
        ), (m, share, r)
        if m.report != "hash":
            assert found[:, 1] == approx(own.expected(m), rel=1e-12)
        variance = gain_variance(m, r, counts, fakes)
        apart = found[:, 0] - found[:, 1]
        assert 2 * stats.norm.sf(abs(apart.mean()) / math.sqrt(variance / runs)) > P_MIN, (
            m,
            share,
            r,
        )
        ratio = (runs - 1) * apart.var(ddof=1) / variance
        assert 2 * min(stats.chi2.cdf(ratio, runs - 1), stats.chi2.sf(ratio, runs - 1)) > P_MIN, (
            m,
            share,
            r,
        )


def test_the_expected_gain_of_a_run_is_that_of_the_attack_when_the_counts_fit():
    values = np.repeat(
        np.arange(K), [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 50, 49]
    )  # one user in a hundred holds a target
    for m in (SUE(K, 1.0), GRR(K, 1.0), ASS(K, 1.0, 3)):
        assert MaximalGain(1 / 5, 10, 0.01).simulate(m, values, rng())[1] == approx(
            MaximalGain(1 / 5, 10, 0.01).expected(m), rel=1e-12
        )


def test_only_the_targets_gain():
    values = np.repeat(np.arange(K), 3000)
    m, attack = OUE(K, 3.0), MaximalGain(0.2, 3)
    genuine, (crafted, _) = m.perturb(values, rng(11)), attack.craft(m, 9000, rng(12))
    change = m.estimate(np.concatenate([genuine, crafted])) - m.estimate(genuine)
    assert (change[:3] > 0.2).all() and (change[3:] < 0).all()


# --- bad input ------------------------------------------------------------------------------------


def test_what_cannot_be_poisoned_is_refused_by_name():
    rows = [SHE(K, 1.0), BucketFlip(24, 1.0, 12, 4), Chained(K, 2.0, 1.0), Repeated(OUE(K, 1.0), 2),
        RSFD(K, 2, 1.0, "GRR")]  # fmt: skip
    for m in rows:
        attack, message = (
            MaximalGain(targets=3),
            "must send reports that fake users can make up, got ",
        )
        calls = [lambda: attack.supported(m), lambda: attack.craft(m, 5, rng())]
        for call in calls if m.report == "vector" else [*calls, lambda: attack.expected(m)]:
            with pytest.raises(ValueError, match=message):
                call()


def test_more_targets_than_values_no_fake_users_and_no_tries_are_refused():
    for m in [GRR(5, 1.0), OUE(5, 1.0), ASS(5, 1.0, 2), BLH(5, 1.0)]:
        attack = MaximalGain(targets=6)
        for call in (
            attack.supported,
            attack.expected,
            lambda m: attack.craft(m, 5, rng()),
            lambda m: attack.simulate(m, np.zeros(99, int), rng()),
        ):
            with pytest.raises(ValueError, match=r"targets must be an integer in \[1, 5\], got 6"):
                call(m)
        for count in (0, -1, 2.5):
            with pytest.raises(ValueError, match="count must be an integer >= 1"):
                MaximalGain(targets=2).craft(m, count, rng())
        with pytest.raises(ValueError, match="count must be an integer >= 1, got 0"):
            MaximalGain(0.01, 2).simulate(m, [0, 1, 2], rng())  # too few users for one fake
        if m.report == "hash":
            with pytest.raises(ValueError, match="tries must be an integer >= 1, got 0"):
                MaximalGain(targets=2).craft(m, 5, rng(), tries=0)
