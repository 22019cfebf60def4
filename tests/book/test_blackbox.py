"""The stored measurements of the auditor that bets and learns: complete, honest about what they
are, and repeated by one command; a small part of them is repeated here."""

import math
import os
import subprocess
import sys

import innocent
import leaks
import mechanisms
import numpy as np
import pandas as pd
import pytest
import series
import sniper
import suite
from chance import P_MIN
from scipy import stats

from ldpbook.paths import ROOT


def stored(name):
    return pd.read_csv(ROOT / "data" / "results" / f"blackbox_{name}.csv")


def test_nobody_who_keeps_the_claim_is_accused_too_often():
    for name in ("sound", "honest", "nulls", "suite"):
        table = stored(name)
        assert (table["accused"] <= table["allowed"] * table["runs"]).all()
    assert set(stored("sound")["client"]) == set(leaks.sound())
    assert len(suite.NAMES) == stored("suite")["tests"].item() == 50


LIE = """
import innocent, suite
clients = innocent.suite()
clients["GRR, 0.5"] = (lambda values, rng: [*values]), clients["GRR, 0.5"][1]
innocent.suite = lambda: clients
print(*suite.failed(1, 60))
"""


def test_a_run_of_the_suite_fails_by_the_client_that_breaks_its_claim():
    """In a process of its own, because pytest runs there."""
    where = os.environ | {"PYTHONPATH": str(ROOT / "benchmarks")}
    run = subprocess.run([sys.executable, "-c", LIE], env=where, capture_output=True, text=True)
    assert run.stdout.endswith("test_client_keeps_its_claim[GRR, 0.5]\n"), run.stderr
    assert run.stdout.count("::") == 1


def test_all_twelve_leaks_are_found_and_with_few_more_pairs_than_declared_events_need():
    """Two clients repeat one report for each input, the same for both in one of eighty audits: more than
    allowed with probability 1e-5 each."""
    table = stored("leaks")
    assert set(table["client"]) == set(leaks.leaks()) and (table["runs"] >= 20).all()
    assert (table["mean"] <= 5 * table["limit"]).all()
    repeat = table["client"].isin(["seeded per user", "memoised"])
    assert (
        table["found"] >= table["runs"] - repeat * stats.binom.isf(1e-5, table["runs"], 1 / 80)
    ).all()


def test_the_order_that_the_figure_of_mean_mechanisms_is_described_by():
    for _, case in stored("means").groupby(["mechanism", "epsilon"]):
        mean, known = case.set_index("way")["mean"], case.iloc[0]
        tests = [known["MMD"], mean["learned"], max(known["APT"], mean["event declared"])]
        order = [*tests, mean["rates declared"], known["limit"]]
        assert order == sorted(order, reverse=True)
        assert mean["event declared"] <= 1.1 * known["APT"]  # about as many, or fewer


def test_the_suite_is_whole_and_no_bound_claims_more_than_it_may():
    """At confidence .9 two of twenty bounds are wrong on average; more than seven with probability
    below 1e-3."""
    table = stored("sniper").set_index("mechanism")
    assert list(table.index) == list(mechanisms.SUITE)
    assert (table["draws"] <= 10**7).all() and (table["counted"] < table["draws"]).all()
    assert (table["lower"] > table["at most"]).sum() <= 7
    theirs = table[["DP-Sniper LR", "DP-Sniper MLP"]].max(axis=1)
    assert np.allclose(table["ratio"], table["lower"] / theirs, atol=1e-3)


def test_a_small_part_of_the_audits_at_the_edge(monkeypatch, tmp_path):
    """30 declared audits of 500 pairs, 10 of recordings, 5 learned; accusations at `P_MIN`."""
    monkeypatch.setattr(innocent, "STORE", tmp_path)
    for way, pairs, runs in (("declared", 500, 30), ("recordings", 500, 10), ("learned", 100, 5)):
        make = getattr(innocent, way)
        found = [make(pairs, run).run(run + 1)[0].violated for run in range(runs)]
        assert stats.binom.sf(sum(found) - 1, runs, innocent.ALPHA) > P_MIN


def test_a_measurement_that_was_interrupted_goes_on(monkeypatch, tmp_path):
    monkeypatch.setattr(series, "STORE", tmp_path)

    def audit(run):
        return innocent.declared(30, run)

    def planned(runs, paused):
        return series.Series({"pairs": 30}, runs, audit, {}, paused)

    first = series.measured("x", [planned(3, True)])
    assert sorted(row["run"] for row in first[0][1]) == [0, 1, 2]
    kept = (tmp_path / "x.jsonl").read_text()
    again = series.measured("x", [planned(5, False)])
    assert (tmp_path / "x.jsonl").read_text().startswith(kept)
    assert sorted(row["run"] for row in again[0][1]) == [0, 1, 2, 3, 4]
    row = series.accused(*again[0], 0.01)
    assert row["runs"] == 5 and row["accused"] <= 5
    assert series.found(*again[0])["runs"] == 5


@pytest.mark.parametrize("name", ["RAPPOR", "PrefixSum", "NumericalSVT", "SVT5"])
def test_features_and_events_are_seen_alike_in_pieces_and_at_once(name):
    made = sniper.Made(name, 1)
    first, second = map(tuple, made.pairs[-1])
    seen = sniper.Features(made.past(first)[:4000], first, second)
    weights = np.linspace(-1, 1, seen.size)
    score = sniper.Score("", seen, weights)
    whole = score(made.past(first)[:100])
    assert np.allclose(whole, [score(one[None])[0] for one in made.past(first)[:100]])
    event = sniper.Candidate(0.0, first, second, 1, score, float(np.median(whole)))
    hits = made.hits(first, 5000, "count", event)
    assert hits == made.hits(first, 5000, "count", event) and 0 < hits < 5000


def test_the_smooth_curve_is_the_truth_of_a_flat_ratio():
    rng = np.random.default_rng(1)
    sides = rng.laplace(0, 1, 200_000) + 0.1, rng.laplace(0, 1, 200_000)
    promise, level = sniper.cut([np.clip(side, -9, 9) for side in sides], 10**7)
    assert 0.08 < promise < 0.1 and level < 1.5


@pytest.mark.parametrize(
    "name, rho, noise, t", [("SVT1", 20, 40, 0.5), ("SVT2", 20, 40, 1.0), ("SVT4", 40, 40 / 3, 1.0)]
)
def test_the_sparse_vector_technique_has_its_exact_law(name, rho, noise, t):
    """The place of the only answer "above", by quadrature; 50,000 reports at `P_MIN`."""
    made, x = sniper.Made(name, 3), (2.0,) * 5 + (0.0,) * 5
    r, step = np.linspace(-30 * rho, 30 * rho, 60_001, retstep=True)
    alive, law = np.exp(-np.abs(r) / rho) / (2 * rho) * step, []
    for value in x:
        below = stats.laplace.cdf((r + t - value) / noise)
        law.append((alive * (1 - below)).sum())
        alive = alive * below
    reports = made.past(x)
    above = (reports == 1).any(axis=1)
    place = np.where(above, (reports == 1).argmax(axis=1), 10)
    seen = np.bincount(place, minlength=11)
    assert stats.chisquare(seen, np.array([*law, 1 - sum(law)]) * len(reports)).pvalue > P_MIN


def test_the_bounds_that_no_loss_exceeds():
    table = {name: row[5] for name, row in mechanisms.SUITE.items()}
    assert table["TruncGeometric"] == pytest.approx(math.log1p(2**-3), rel=1e-9)
    for name in ("SVT1", "SVT2", "NumericalSVT", "NoisyMax1", "NoisyMax2"):
        assert table[name] == mechanisms.EPSILON
    bits = mechanisms.filters()
    most = max(int((bits[int(x[0])] ^ bits[int(y[0])]).sum()) for x, y in mechanisms.BLOOM)
    assert table["RAPPOR"] == pytest.approx(most * math.log(0.5125 / 0.4875))
