"""The released code as a witness: stored outputs, how they are weighed, and that our laws give them."""

import sys
from pathlib import Path

import numpy as np
import pytest

from ldpkit import optimize, published
from ldpkit.auditors import Audit

BOOK = Path(__file__).parents[1] / "book"
sys.path.insert(0, str(BOOK / "ldp_auditor"))
import witness  # noqa: E402  # a helper of pages

KEYS = witness.KEYS


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


def test_the_released_audits_follow_our_exact_laws():
    table = published.load("ldp_auditor", "reference")
    assert len(table) == 145 and (table["alpha"] == 0.01).all()
    distances = []
    for row in table.to_dict("records"):
        given = {key: row[key] for key in (*KEYS, "trials", "alpha") if row[key] == row[key]}
        given |= {key: int(given[key]) for key in ("g", "d", "tau") if key in given}
        mean, sd = Audit.of(**given).expected[0]
        distances.append((row["epsilon_emp"] - mean) / sd)
    distances = np.array(distances)
    # 145 deviates: beyond five with probability below 1e-4; SHE's attack is known to break ties
    # by rounding, which shifts it by up to four
    assert np.abs(distances).max() < 5
    # the deviation of 145 is off by a quarter with probability below 3e-5 (the five runs that share
    # streams widen this little)
    assert 0.75 < distances.std() < 1.3


def test_the_released_refinement_is_what_the_formulas_give():
    theirs = published.load("refinement", "reference")
    ours = optimize.table(
        sorted(theirs["mechanism"].unique()),
        [25, 1000],
        sorted(theirs["epsilon"].unique()),
        grid="published",
        law="published",
    )
    both = theirs.merge(ours, on=["mechanism", "k", "epsilon"], suffixes=("", "_ours"))
    assert len(both) == len(theirs) == 144
    for value in ("asr", "mse"):  # SHE's rate is integrated numerically by both
        assert both[value].to_numpy() == pytest.approx(both[f"{value}_ours"].to_numpy(), rel=1e-9)


def test_nothing_is_compared_with_runs_of_more_reports_or_another_significance():
    few = witness.witness(["exp1_pure"], trials=1000, alpha=0.01, runs=1, seed=1)
    other = witness.witness(["exp3_lho"], trials=10**6, alpha=0.05, runs=1, seed=1)
    for found in (few, other):
        assert found.empty and {"released code", "their se", "this run", "se", "z"} <= set(found)
    board = published.Scoreboard("ldp_auditor/fig2")
    assert "Nothing to compare" in witness.judge(board, few, "{mechanism}") and not board.rows


def test_agreement_with_the_released_code_is_called_that():
    theirs = witness.witness(["exp3_lho"], trials=200_000, alpha=0.01, runs=2, seed=1)
    board = published.Scoreboard("ldp_auditor/fig5")
    witness.judge(board, theirs, "released code, k={k}", x="g")
    table = board.table()
    assert list(table["x"]) == [2, 6, 10] and (table["how"] == "released code").all()
    assert (table["verdict"] == "agrees with the authors' code").all()
    assert table["published"].isna().all()
    off = published.Scoreboard("ldp_auditor/fig5")
    witness.judge(off, theirs.assign(**{"this run": 2 * theirs["this run"]}), "{k}", x="g")
    assert (off.table()["verdict"] == "differs").all()
