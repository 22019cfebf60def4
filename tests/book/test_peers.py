"""The table of audits by other tools is whole, has a reason where it has no number, and the part of
it that this auditor makes is repeated."""

import json
import subprocess

import numpy as np
import pandas as pd
import peer_tools
import peers
import pytest
import scipy

from ldpbook.paths import ROOT

TABLE = pd.read_csv(ROOT / "data" / "results" / "peers.csv")
COLUMNS = ["client", "tool", "version", "runs", "found", "reports", "seconds", "says", "why"]


def test_every_client_has_a_row_with_every_tool_and_a_reason_where_there_is_no_number():
    assert [*TABLE.columns] == COLUMNS
    asked = [(client, tool) for client in peer_tools.CASES for tool in peer_tools.TOOLS]
    assert [*zip(TABLE["client"], TABLE["tool"])] == asked
    done = TABLE["runs"] > 0
    assert (done | TABLE["why"].notna()).all()
    assert (
        TABLE.loc[done, ["version", "found", "reports", "seconds", "says"]].notna().to_numpy().all()
    )
    assert (
        TABLE.loc[~done, ["version", "found", "reports", "seconds", "says"]].isna().to_numpy().all()
    )
    assert (TABLE.loc[done, "found"] <= TABLE.loc[done, "runs"]).all()
    said = json.loads((ROOT / "data" / "results" / "peers.json").read_text())
    assert [*said["settings"]] == [*peer_tools.TOOLS] and said["alpha"] == peer_tools.ALPHA
    assert said["command"].startswith("python benchmarks/peers.py")


def test_this_auditor_refutes_the_five_that_leak_and_not_the_one_that_keeps_its_claim():
    ours = TABLE[TABLE["tool"] == "ldpkit"].set_index("client")
    assert (ours["runs"] >= 3).all()
    for name, case in peer_tools.CASES.items():
        assert ours["found"][name] == (0 if case.keeps else ours["runs"][name]), name


def test_our_adapter_repeats_a_run_and_counts_its_reports():
    once, again = (
        peer_tools.measured("ldpkit", "parity3_bits", 1, begin=lambda: None) for _ in range(2)
    )
    assert once["found"] and 0 < once["reports"] < 1000
    assert {**once, "seconds": 0} == {**again, "seconds": 0}


def test_clients_leak_what_their_words_say():
    """Each comparison with a rate allows five standard errors."""
    n, rng = 100_000, np.random.default_rng(1)
    rates = {  # of an event, for the inputs 0 and 1
        "parity3_bits": (lambda r: r.sum(1) % 2 == 1, 0, 1),
        "towards_zero2638": (lambda r: r == 0, 1 - np.exp(-1), (np.exp(-1) - np.exp(-2)) / 2),
        "floor2638": (lambda r: r == 0, (1 - np.exp(-1)) / 2, (1 - np.exp(-1)) / 2),
        "eps_005_009": (lambda r: r == 1, 1 / (1 + np.exp(0.09)), 1 / (1 + np.exp(-0.09))),
        "vector_l2": (lambda r: r[:, 0] > 1, 1 / 2, np.exp(-1 / np.sqrt(2)) / 2),
        "gauss316": (lambda r: r > 0.5, *scipy.stats.norm.cdf([-0.5, 0.5], scale=1.85)),
    }
    assert set(rates) == set(peer_tools.CASES)
    for name, (event, *expected) in rates.items():
        for x, rate in enumerate(expected):
            seen = event(peer_tools.CASES[name].send(x, n, rng)).mean()
            assert abs(seen - rate) <= 5 * np.sqrt(rate * (1 - rate) / n) + 1e-4, (name, x)


RUN = {"found": True, "number": 0.02, "reports": 10.0, "seconds": 1.0, "version": "1"}


def test_a_row_has_the_middle_of_its_runs_and_says_what_kept_others_from_a_verdict():
    runs = [RUN, RUN | {"reports": 30.0, "number": 0.4}, RUN | {"reports": 20.0, "found": False}]
    row = peers.row("StatDP", "vector_l2", runs)
    assert [row[name] for name in ("runs", "found", "reports")] == [3, 2, 20.0]
    assert row["says"] == "violation in 2 of 3 runs; p = 0.02" and not row["why"]
    cut = peers.row("ldpkit", "vector_l2", [RUN, {"why": "no verdict within 120 s"}])
    assert [cut[name] for name in ("runs", "says", "why")] == [
        1, "violation", "no verdict within 120 s",
    ]  # fmt: skip


def test_a_tool_that_is_absent_fails_or_takes_too_long_says_so(tmp_path, monkeypatch):
    why = peers.run("StatDP", "vector_l2", 1, tmp_path)["why"]
    assert why == "not installed where this was made"
    assert peers.row("StatDP", "vector_l2", [{"why": why}])["why"] == why
    assert peers.reason("StatDP", "gauss316") and not peers.reason("ldpkit", "gauss316")
    for status, error, words in (
        (-9, "", "no verdict within 120 s"),
        (1, "Traceback\nImportError: no torch\n", "ImportError: no torch"),
    ):
        ended = subprocess.CompletedProcess([], status, "", error)
        monkeypatch.setattr(subprocess, "run", lambda *_, ended=ended, **__: ended)
        assert peers.run("ldpkit", "vector_l2", 1, tmp_path) == {"why": words}


def test_peers_are_installed_at_a_fixed_commit_of_their_authors():
    assert {tool.package for tool in peer_tools.TOOLS.values()} == {"ldpkit", *peers.PEERS}
    assert all("git+https://github.com/" in wanted[-1] for wanted in peers.PEERS.values())


@pytest.mark.parametrize("tool", peer_tools.TOOLS)
def test_the_table_names_the_commit_of_what_was_run(tool):
    package, versions = peer_tools.TOOLS[tool].package, TABLE.loc[TABLE["tool"] == tool, "version"]
    for version in versions.dropna() if package != "ldpkit" else ():
        assert version.partition("(")[2].rstrip(")") in peers.PEERS[package][-1]
