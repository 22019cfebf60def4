"""What is stored is whole, says how it was made and agrees with the laws; the command that makes it again goes on where it stopped.

False alarms: comparisons with a law allow five standard errors, 6e-7 each, unless they say otherwise.
"""

import itertools
import json
import math
from pathlib import Path

import adult
import bench
import dpsgd
import imputation
import numpy as np
import other_priors
import pandas as pd
import pytest
import scipy
import seen_twice
import standins
import stored as repeated
from curves import PROTOCOLS

from ldpbook import paths
from ldpkit import refine
from ldpkit.attacks.reconstruct import finite_distribution, rad_exact
from ldpkit.mechanisms import ASS, GRR
from ldpkit.rng import generator

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "data" / "results"


def stored(name):
    return pd.read_csv(RESULTS / f"{name}.csv")


def test_every_record_of_a_stored_run_names_a_command_that_is_there():
    found = [json.loads(path.read_text()) for path in RESULTS.glob("*.json")]
    ours = [said for said in found if "stored.py" in said.get("command", "")]
    assert len(ours) >= 3
    assert all(said["seconds"] > 0 and "numpy" in said["versions"] for said in ours)
    assert {said["command"].split()[2] for said in ours} <= set(repeated.cli.commands)
    readme = (ROOT / "data" / "README.md").read_text()
    assert all(f"stored.py {name}" in readme for name in repeated.cli.commands)


def test_the_first_call_is_timed_apart_and_every_call_has_a_seed_of_its_own():
    seeds = []
    shortest, first = bench.best(3, lambda seed: seeds.append(seed))
    assert seeds == [0, 1, 2, 3] and shortest > 0 and first > 0


def test_stored_exact_losses_of_released_clients_are_those_that_are_known():
    found = stored("exact_released")
    done = found[found["status"] != "not exact"]
    assert len(done) >= 30 and done["package"].nunique() >= 4
    known = done[done["exact"].notna()]
    assert len(known) >= 20
    assert (known["loss"] - known["exact"]).abs().max() < 1e-8  # ten digits are stored
    # bounds hold with probability 0.99 each
    assert (done["lower"] <= done["loss"]).sum() >= len(done) - 3
    assert ((done["loss"] > done["claim"] + 1e-8) == (done["status"] == "violation")).all()
    assert found.loc[found["status"] == "not exact", "reason"].notna().all()


@pytest.fixture
def few(monkeypatch, tmp_path):
    """Parts of eight runs, kept in a folder of this test."""
    monkeypatch.setattr(dpsgd, "RUNS_PER_CELL", 8)
    monkeypatch.setattr(paths, "STORE", tmp_path)
    return lambda runs: dpsgd.train("digits", runs, 1, [75, 5], 1)


def test_fewer_runs_are_the_first_of_more(few):
    whole, first = few(24), few(8)
    assert list(first) == list(whole)
    for name in ("sigma", "truth", "loglik", "dot"):
        assert (whole[name].reshape(2, 24, -1)[:, :8] == first[name].reshape(2, 8, -1)).all()


def test_stored_populations_are_all_there_and_their_rates_follow_the_law():
    table = stored("refinement_adult")
    cells = {*zip(table["protocol"], table["epsilon"])}
    assert cells == {*itertools.product(PROTOCOLS, adult.BUDGETS)}
    assert len(table) == 396 and (table["runs"] == 100).all() and (table["k"] == 100).all()
    how = {"grid": "published", "asr": "published"}
    for row in table[table["epsilon"].isin([2, 6, 10])].itertuples():
        law = refine.success(refine.build(row.protocol, 100, row.epsilon, **how))
        assert abs(row.asr - law) <= 5 * math.sqrt(law * (1 - law) / 48_842 / row.runs), row


def test_populations_made_now_look_like_the_stored_ones():
    table = stored("refinement_adult").set_index(["protocol", "epsilon"])
    for name in ("OUE", "ASS"):
        now, kept = adult.made(name, 100, 4.0, 4, seed=9), table.loc[(name, 4.0)]
        noise = kept["mse_sd"] * math.sqrt(1 / 4 + 1 / kept["runs"])
        assert abs(now["mse"] - kept["mse"]) <= 5 * noise


def test_stored_imputation_is_whole_and_its_baseline_is_that_of_the_counts():
    counts = pd.read_csv(ROOT / "data" / "acs_counts.csv")
    assert counts.groupby("data")["people"].sum().to_dict() == {"acs": 54_364, "acs, Texas": 18_051}
    people = counts.groupby("data")["people"]
    common = (people.max() / people.sum()).to_dict()
    for name, asked in imputation.STORED.items():
        table = stored(f"rad_table1_{name}")
        assert [*dict.fromkeys(zip(table["data"], table["sensitive"]))] == asked
        for data, rows in table.groupby("data"):
            assert len(rows) == 5 * rows["sensitive"].nunique()
            if share := common.get(data):
                noise = math.sqrt(share * (1 - share) / 5000)
                assert abs(rows["majority"].mean() - share) <= 5 * noise
                assert (rows["rero"] > rows["majority"]).all()


def test_stored_measurements_of_photographs_follow_their_law():
    five, training = stored("sgd_cifar10_five"), stored("sgd_cifar10_training")
    assert set(five["adversary"]) == set(standins.ADVERSARIES) and len(five) == 200
    assert set(training["iteration"]) == {0, 10, 30, 100, 300, 1000} and len(training) == 120
    for table in (five, training):
        z = (table["epsilon_emp"] - table["exact_epsilon_emp"]) / table["exact_sd"]
        assert abs(z.mean()) <= 5 / math.sqrt(len(z)) and 0.6 < z.std() < 1.4
    rates = [(1 - training[name] * np.tanh(2)) / 2 for name in ("A1", "A2")]
    limit = np.maximum(*(np.log((1 - a) / b) for a, b in (rates, rates[::-1])))
    assert limit.to_numpy() == pytest.approx(training["limit"].to_numpy(), abs=1e-6)


def test_the_exponential_mechanism_publishes_by_its_density():
    z = np.full(20_000, 0.3)
    theta = other_priors.publish(5.0, z, generator(1, "exponential"))
    edges = np.linspace(0, 1, 2001)
    middle = (edges[1:] + edges[:-1]) / 2
    law = np.cumsum(other_priors.density(5.0, middle, 0.3)) / 2000
    assert law[-1] == pytest.approx(1, abs=1e-6)
    gap = np.abs(np.searchsorted(np.sort(theta), edges[1:]) / len(z) - law).max()
    assert gap <= scipy.stats.kstwo(len(z)).isf(1e-6)


@pytest.mark.parametrize("shape, epsilon", [((1, 1), 2.0), ((2, 5), 8.0)])
def test_the_integral_is_the_limit_of_theorem_43_on_finitely_many_records(shape, epsilon):
    prior, found = scipy.stats.beta(*shape), []
    for m in (100, 200):
        edges = np.linspace(0, 1, m + 1)
        z = (edges[1:] + edges[:-1]) / 2
        law = other_priors.density(epsilon, z, z[:, None])
        near = np.abs(z[:, None] - z) < 0.2
        found.append(rad_exact(law / law.sum(1, keepdims=True), np.diff(prior.cdf(edges)), near))
    limit = 2 * found[1] - found[0]  # the error of a finite list is first order in 1 / m
    assert other_priors.exact(prior, epsilon, 0.2) == pytest.approx(limit, rel=0.01)
    mean, se = other_priors.nested(prior, epsilon, 0.2, 500, 500, seed=1)
    assert abs(mean - limit) <= 5 * se + 0.02 * limit  # its bias


def test_counted_reports_have_the_law_of_all_reports():
    mechanism, uniform = GRR(3, 1.0), np.full(3, 1 / 3)
    one, whole = finite_distribution(mechanism), np.ones((3, 1))
    for _ in range(3):
        whole = (whole[:, :, None] * one[:, None, :]).reshape(3, -1)
    counted = other_priors.counts_law(mechanism, 3)
    assert counted.sum(1) == pytest.approx(np.ones(3), abs=1e-12)
    exact = rad_exact(whole, uniform, side=range(3))
    assert rad_exact(counted, uniform, side=range(3)) == pytest.approx(exact, abs=1e-12)
    found = other_priors.composed(3, 1.0, 3, 6000, seed=1)
    assert abs(found["mean"] - found["exact"]) <= 5 * found["se"]
    assert found["exact"] < found["bound"]


def test_runs_are_taken_as_often_as_the_prior_says():
    table = {"truth": np.arange(80) % 4}
    kept = other_priors.as_drawn(table, np.arange(80) < 40, np.array([0.5, 0.25, 0.25, 0]))
    assert np.bincount(table["truth"][kept], minlength=4).tolist() == [10, 5, 5, 0]
    assert kept.max() < 40


def test_the_advantage_against_a_change_is_that_of_all_pairs_of_subsets():
    for k, epsilon, omega in ((5, 1.0, 2), (6, 2.5, 3), (5, 3.0, 1)):
        mechanism = ASS(k, epsilon, omega)
        law = finite_distribution(mechanism)
        same = np.einsum("vi,vj->ij", law, law) / k
        other = (np.outer(law.sum(0), law.sum(0)) - k * same) / (k * (k - 1))
        exact = np.maximum(same - other, 0).sum()
        assert seen_twice.changed_exact(mechanism) == pytest.approx(exact, abs=1e-12)
        weights = seen_twice.evidence(mechanism, mechanism.report_type.reports)
        one, two = (np.repeat(weights, len(weights), axis=0), np.tile(weights, (len(weights), 1)))
        assert seen_twice.odds(one, two) == pytest.approx((same / other).ravel())


def test_linkage_without_evidence_is_a_draw_and_with_all_of_it_reaches_the_ceiling():
    given = {"people": 5, "trials": 3000, "seed": 1}
    blind, sure = (seen_twice.linked("GRR", 100, epsilon, **given) for epsilon in (1e-3, 14))
    assert abs(blind["linked"] - 1 / 5) <= 5 * max(blind["linked_se"], 1e-3)
    # a report is false once in 10^4
    assert sure["linked"] == pytest.approx(sure["ceiling"], abs=0.01)
    found = seen_twice.cell("ASS", 100, 4.0, **given)
    assert abs(found["advantage"] - found["exact"]) <= 5 * found["advantage_se"]
