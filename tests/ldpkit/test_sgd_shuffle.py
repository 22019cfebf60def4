"""Shuffled LDP-SGD: Table 3 and the exact columns beside it, small cases by enumeration, and the
command line.

Exact columns are met to half a unit of their last printed digit. Counts are judged by fewer than 10
p-values with `laws.P_MIN`.
"""

import itertools
import json
import math

import numpy as np
import pytest
from laws import P_MIN
from pytest import approx
from scipy import stats

from ldpbook import paper_values
from ldpkit import cli
from ldpkit.attacks.gradient import dummy
from ldpkit.auditors import audit_gradient, audit_shuffle
from ldpkit.auditors.shuffle import (
    _count,
    blanket_delta,
    closed_bound,
    least_clients,
    pair_delta,
    pmfs,
    solve,
    threshold_rates,
)
from ldpkit.mechanisms import LDPSGD

# eps0, n, Eq. 1, FPR, FNR, plug-in, mean of one run, tight, numerical, numerical of 2021, half of
# the others flipped
TABLE = [(1, 432, 0.6737, 0.48294, 0.49706, 0.0406, 0.042, 0.2034, 0.2333, 0.2868, 0.1885),
    (1, 1000, 0.4876, 0.51037, 0.47649, 0.0272, 0.028, 0.1266, 0.1487, 0.1824, 0.1208),
    (2, 974, 0.9498, 0.47937, 0.49059, 0.0608, 0.062, 0.3287, 0.4029, 0.5538, 0.2898),
    (2, 1000, 0.9416, 0.48350, 0.48685, 0.0595, 0.062, 0.3233, 0.3971, 0.5455, 0.2858),
    (4, 6454, 1.1008, 0.47843, 0.48556, 0.0726, 0.074, 0.4110, 0.5247, 0.7780, 0.3505),
    (4, 10000, 0.9581, 0.50604, 0.46502, 0.0604, 0.062, 0.3146, 0.4108, 0.6009, 0.2788)]  # fmt: skip
UNIT = 5.01e-5
DELTA = 1e-6


def test_exact_columns_of_table_3():
    for row in TABLE:
        epsilon, n, closed, fpr, fnr, plugin, mean, tight, upper, old, half = row
        result = audit_shuffle(epsilon, n, DELTA, trials=1000)
        assert result.claim == closed_bound(n, epsilon, DELTA) == approx(closed, abs=UNIT)
        assert threshold_rates(n, epsilon) == approx((fpr, fnr), abs=5.01e-6), row
        assert result.limit == approx(plugin, abs=UNIT)
        assert result.exact == approx(mean, abs=1.1e-3)
        assert result.exact_sd / math.sqrt(10) == approx(0.0205, abs=1e-3)
        assert result.estimates["tight"] == approx(tight, abs=UNIT)
        assert result.estimates["upper"] == approx(upper, abs=UNIT)
        assert solve(
            lambda e: blanket_delta(n, epsilon, e, math.exp(-epsilon)), DELTA, epsilon
        ) == approx(old, abs=UNIT), row
        p = 1 / (1 + math.exp(-epsilon))
        k = (n - 1) // 2
        others = np.convolve(
            stats.binom.pmf(np.arange(n - k), n - 1 - k, p),
            stats.binom.pmf(np.arange(k + 1), k, 1 - p),
        )
        assert solve(lambda e: pair_delta(n, epsilon, e, others), DELTA, epsilon) == approx(
            half, abs=1.01e-4
        ), row
        assert result.estimates["tight"] < result.estimates["upper"] < result.claim < epsilon


def test_printed_theory_follows_from_the_corrected_equation_only():
    table = paper_values.load("ldp_sgd")
    table = table[(table["item"] == "table3") & table["series"].str.startswith("theoretical")]
    assert len(table) == 6
    for row in table.itertuples():
        epsilon, n = float(row.series.split("=")[1]), int(row.x)
        value, digits = closed_bound(n, epsilon, DELTA), len(str(row.value).split(".")[1])
        assert float(row.value) in (
            round(value, digits),
            math.floor(value * 100) / 100,
        )  # 0.4876 is printed as 0.48
        as_printed = math.log1p(
            (math.exp(epsilon) - 1)
            * (
                4 * math.sqrt(2 * math.log(4 / DELTA)) / (math.sqrt(math.exp(epsilon) + 1) * n)
                + 4 / n
            )
        )
        assert as_printed < 0.08


def test_first_direction_of_the_pair():
    one, two = pmfs(432, 1.0)
    e = math.exp(0.2034)
    assert np.maximum(one - e * two, 0).sum() > np.maximum(two - e * one, 0).sum()
    assert solve(
        lambda t: float(np.maximum(two - math.exp(t) * one, 0).sum()), DELTA, 1.0
    ) == approx(0.1776, abs=UNIT)


def test_required_clients():
    assert [least_clients(e) for e in (1, 2, 4)] == [432, 974, 6454]
    assert 8 * math.log(2e6) * (math.exp(2) + 1) == approx(973.71, abs=0.005)


def test_laws_of_small_batches_by_enumeration():
    """All outcomes of four clients who lean towards the gradient or not."""
    n, epsilon = 4, 1.3
    p = 1 / (1 + math.exp(-epsilon))
    for last, law in zip((p, 1 - p), pmfs(n, epsilon)):
        wanted = np.zeros(n + 1)
        for leaning in itertools.product((0, 1), repeat=n):
            chances = [p if b else 1 - p for b in leaning[:-1]] + [
                last if leaning[-1] else 1 - last
            ]
            wanted[sum(leaning)] += math.prod(chances)
        assert law == approx(wanted)
    # without delta nothing is gained by shuffling: one outcome has the ratio of a single report
    one, two = pmfs(n, epsilon)
    assert math.log(one[n] / two[n]) == approx(epsilon)
    assert pair_delta(n, epsilon, epsilon) < 1e-15
    assert pair_delta(n, epsilon, epsilon - 1e-3) > 0


def test_numerical_bound_by_enumeration():
    n, epsilon, shuffled = 6, 1.0, 0.3
    p, e = 1 / (1 + math.exp(-epsilon)), math.exp(shuffled)
    total = 0.0
    for c in range(n):
        coins = stats.binom.pmf(np.arange(c + 1), c, 0.5)
        up, stay = np.append(0, coins), np.append(coins, 0)
        excess = np.maximum(p * up + (1 - p) * stay - e * ((1 - p) * up + p * stay), 0).sum()
        total += stats.binom.pmf(c, n - 1, 2 / (math.exp(epsilon) + 1)) * excess
    assert blanket_delta(n, epsilon, shuffled) == approx(total, rel=1e-12)
    assert blanket_delta(n, epsilon, epsilon) == approx(0, abs=1e-12)
    assert blanket_delta(n, epsilon, 1.5) == 0


def test_the_numerical_bound_covers_every_pair_tried():
    for epsilon, n in [(0.5, 30), (2, 200), (4, 3000)]:
        p = 1 / (1 + math.exp(-epsilon))
        laws = [stats.binom.pmf(np.arange(n), n - 1, rate) for rate in (p, 1 - p, 0.5)]
        for shuffled in (0.05, 0.2, 0.45):
            bound = blanket_delta(n, epsilon, shuffled)
            assert all(
                pair_delta(n, epsilon, shuffled, others) <= bound * (1 + 1e-9) for others in laws
            )


def test_a_million_clients():
    result = audit_shuffle(4, 10**6, trials=2)
    assert 0 < result.estimates["tight"] < result.estimates["upper"] < result.claim < 0.2
    assert pmfs(10**6, 4.0)[0].sum() == approx(1)
    # the tight value approaches that of a Gaussian pair with the same signal
    p = 1 / (1 + math.exp(-4))
    mu, eps = (2 * p - 1) / math.sqrt(10**6 * p * (1 - p)), result.estimates["tight"]
    delta = stats.norm.cdf(-eps / mu + mu / 2) - math.exp(eps) * stats.norm.cdf(-eps / mu - mu / 2)
    assert delta == approx(DELTA, rel=0.15)


def test_counts_follow_the_exact_rates():
    for faithful in [False, True]:
        trials = 600 if faithful else 200_000
        result = audit_shuffle(1.0, 432, trials=trials, faithful=faithful, seed=3)
        for found, rate in zip(result.counts.values(), threshold_rates(432, 1.0)):
            assert stats.binomtest(found, trials // 2, rate).pvalue > P_MIN, faithful
        assert result.lower <= result.estimates["tight"] and not result.violated
        assert result == audit_shuffle(1.0, 432, trials=trials, faithful=faithful, seed=3)


def test_real_batches_differ_in_one_report():
    """At a budget of 20 a report leans away with probability 2e-9."""
    for changed, leaning in ((False, 5), (True, 4)):
        found = _count(LDPSGD(8, 20.0), 5, changed, 200, np.random.default_rng(1))
        assert found.tolist() == [leaning] * 200


def test_the_solver_stops_at_both_ends():
    assert solve(lambda e: 0.0, 1e-6, 1.0) == 0.0
    assert solve(lambda e: 0.5 * (1 - e), 0.25, 1.0) == approx(0.5)


# --- the command line -----------------------------------------------------------------------------


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as stop:
        cli.main([str(a) for a in arguments])
    return stop.value.code, *capsys.readouterr()


def test_command_for_the_dummy_prints_what_python_returns(capsys):
    code, out, err = run(
        capsys, "audit-gradient", "--adversary", "dummy", "--epsilon", 4, "--seed", 5, "--json"
    )
    wanted = audit_gradient(LDPSGD(4810, 4.0), dummy(4810), trials=1000, seed=5).row()
    found = json.loads(out)
    del wanted["seconds"], found["seconds"]
    assert (code, err) == (0, "") and found == wanted


def test_command_reads_pairs_of_gradients_from_a_file(tmp_path, capsys):
    first = np.random.default_rng(1).normal(size=(20, 30))
    np.savez(tmp_path / "pairs.npz", first=first, second=-first)
    given = ("audit-gradient", "--adversary", "file", "--pairs", tmp_path / "pairs.npz", "--epsilon", 4)  # fmt: skip
    code, out, err = run(capsys, *given, "--rule", "lune", "--json")
    found = json.loads(out)
    assert (code, err) == (0, "") and found["d"] == 30 and found["limit"] == approx(4)


def test_command_takes_every_mechanism_and_rule(capsys):
    for mechanism, cosine in [("privunit", 2.07), ("privunitg", 2.07), ("ldp-sgd", 4.0)]:
        for rule, limit in (("cosine", cosine), ("lune", 4.0)):
            code, out, _ = run(
                capsys,
                "audit-gradient",
                "--adversary",
                "dummy",
                "--dimension",
                1000,
                "--epsilon",
                4,
                "--mechanism",
                mechanism,
                "--rule",
                rule,
                "--faithful",
                "--trials",
                "200",
                "--json",
            )
            assert code == 0 and json.loads(out)["limit"] == approx(limit, abs=5e-3), (
                mechanism,
                cosine,
            )


def test_commands_print_tables_with_a_verdict(capsys):
    code, out, _ = run(
        capsys, "audit-gradient", "--adversary", "dummy", "--norm", 0.5, "--epsilon", 1
    )
    assert code == 0
    assert "dummy, cosine rule, 1,000 trials" in out
    assert "0.4706 without sampling noise" in out
    assert out.rstrip().splitlines()[-1].startswith("No violation found")
    code, out, _ = run(capsys, "audit-shuffle", "--epsilon", 2, "--clients", 974)
    assert code == 0
    assert "0.3287 exact epsilon of the two batches" in out
    assert "epsilon = 0.9498, delta = 1e-06" in out
    code, out, _ = run(capsys, "audit-gradient", "--adversary", "dummy", "--epsilon", 12)
    assert code == 0 and "unknown as the paper computes it" in out  # no errors: infinite
