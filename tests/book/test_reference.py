"""The released code as a witness: stored outputs, how they are weighed, and that our laws give them."""

import io

import numpy as np
import pandas as pd
import pytest
import witness
from audited_clients import STORED
from repeat import compared as compare
from scipy.stats import binomtest
from statsmodels.stats.proportion import proportion_confint

from ldpbook import paper_values
from ldpkit import attacks
from ldpkit.auditors import Audit
from ldpkit.mechanisms import FaultyUE, make


def test_the_mean_of_runs_that_share_streams_has_its_own_error():
    assert witness.overlap(1, 1) == witness.overlap(1, 2) == witness.overlap(1, 16) == 1
    assert witness.overlap(5, 1) == pytest.approx(5**-0.5)  # one core: nothing is shared
    assert witness.overlap(5, 2) == pytest.approx(0.6)
    assert witness.overlap(5, 16) > 0.9  # five runs that are nearly one
    rng, cores, runs = np.random.default_rng(1), 4, 5
    streams = rng.standard_normal((100_000, runs + cores - 1)) * cores**0.5  # a run has deviation 1
    means = np.mean([streams[:, s : s + cores].mean(axis=1) for s in range(runs)], axis=0)
    # the deviation of 100,000 draws is off by 1 % with probability below 1e-5
    assert means.std() == pytest.approx(witness.overlap(runs, cores), rel=0.01)


def distances(table):
    """How far each released audit lies from its exact expectation, in exact standard deviations."""
    found = []
    for row in table.to_dict("records"):
        names = [*witness.KEYS, "trials", "alpha"]
        given = {key: row[key] for key in names if row.get(key) == row.get(key, 0)}
        given |= {key: int(given[key]) for key in ("g", "d", "tau") if key in given}
        mean, sd = Audit.of(both=False, **given).expected[0]
        found.append((row["epsilon_emp"] - mean) / sd)
    return np.array(found)


FIGURES = paper_values.load("ldp_auditor_figures", "reference")


def test_the_released_audits_follow_our_exact_laws():
    """Of hundreds of deviates one lies beyond five and a half with probability below 1e-4; SHE's attack breaks ties
    by rounding, which shifts it by up to four. Their deviation is off by a quarter with probability below 3e-4."""
    table, cells = paper_values.load("ldp_auditor", "reference"), FIGURES.groupby("seed")
    assert len(table) == 145 and (table["alpha"] == 0.01).all()
    assert FIGURES["seed"].nunique() >= 1 and (cells.size() == 8 * 8 + 5 * 8 + 4).all()
    assert (FIGURES["trials"] == 10**5).all() and (FIGURES["k"] == 25).all()
    for found in (distances(table), distances(FIGURES)):
        assert np.abs(found).max() < 5.5 and 0.75 < found.std() < 1.3


def test_the_estimates_of_the_repeated_figures_follow_from_their_counts():
    for row in FIGURES.to_dict("records"):
        n, delta = row["trials"], row["delta"] if row["delta"] == row["delta"] else 0.0
        low = proportion_confint(row["tp"], n, row["alpha"] / 2, "beta")[0]
        high = proportion_confint(row["fp"], n, row["alpha"] / 2, "beta")[1]
        assert row["epsilon_emp"] == pytest.approx(np.log((low - delta) / high), abs=1e-9)


def test_repeated_audits_are_held_against_the_stored_ones():
    some = paper_values.load("ldp_auditor", "reference").head(3)
    assert compare(some, some.assign(seconds=1.0)).loc["exp1_pure"].tolist() == [3, 3, 0.0, 3.0]
    read = pd.read_csv(io.StringIO(some.assign(seconds=1.0).to_csv()))  # no protocol is named in it
    assert compare(paper_values.load("ldp_auditor", "reference"), read)["same"].tolist() == [3]
    off = some.assign(seconds=1.0, epsilon_emp=some["epsilon_emp"] + [0, 0, 1])
    found = compare(some, off).loc["exp1_pure"]
    assert found["same"] == 2 and found["furthest"] > 5
    with pytest.raises(SystemExit, match="1 repeated audits are not among the stored ones"):
        compare(some, some.assign(seconds=1.0, seed=[0, 0, 7]))


def test_both_real_packages_follow_the_model_of_the_fault_at_every_budget():
    stored = pd.read_csv(STORED)
    assert len(stored) == 2 * 2 * 8 * 2 and (stored["trials"] >= 200_000).all()
    distances = []
    for row in stored.itertuples():
        mechanism = make(row.protocol, k=row.k, epsilon=row.epsilon)
        if row.release == "1.1.2":
            mechanism = FaultyUE(row.k, row.epsilon, row.protocol)
        for rate, count in zip(attacks.make(row.attack).rates(mechanism), (row.tp, row.fp)):
            distances.append(binomtest(count, row.trials, rate).pvalue)
    assert min(distances) > 1e-6  # 128 of them: a false alarm with probability below 2e-4
    assert not stored[(stored["release"] == "1.2.0") & stored["violated"]].shape[0]


def test_nothing_is_compared_with_runs_of_more_reports_or_another_significance():
    few = witness.witness(["exp1_pure"], trials=1000, alpha=0.01, runs=1, seed=1)
    other = witness.witness(["exp3_lho"], trials=10**6, alpha=0.05, runs=1, seed=1)
    for found in (few, other):
        assert found.empty and {"released code", "their se", "this run", "se", "z"} <= set(found)
    board = paper_values.Scoreboard("ldp_auditor/fig2")
    assert "Nothing to compare" in witness.judge(board, few, "{mechanism}") and not board.rows


def test_agreement_with_the_released_code_is_called_that():
    theirs = witness.witness(["exp3_lho"], trials=200_000, alpha=0.01, runs=2, seed=1)
    board = paper_values.Scoreboard("ldp_auditor/fig5")
    witness.judge(board, theirs, "released code, k={k}", x="g")
    table = board.table()
    ours = table[table["how"] == "real reports"]
    assert list(ours["x"]) == [2, 6, 10] and ours["series"].str.endswith(", ours").all()
    table = table.drop(ours.index)
    assert list(table["x"]) == [2, 6, 10] and (table["how"] == "released code").all()
    assert (table["verdict"] == "agrees with the authors' code").all()
    assert table["published"].isna().all()
    assert table["exact"].tolist() == theirs["exact"].tolist()  # and not the mean of our runs
    assert table["reproduced_se"].tolist() == theirs["their se"].tolist()
    off = paper_values.Scoreboard("ldp_auditor/fig5")
    witness.judge(off, theirs.assign(exact=2 * theirs["exact"]), "{k}", x="g")
    assert (off.table()["verdict"] == "differs").all()
