"""The kept benchmarks are complete, and a measurement measures what it says. Nothing here judges a
time."""

import importlib.util
import json
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "data" / "results"
spec = importlib.util.spec_from_file_location("bench", ROOT / "benchmarks" / "bench.py")
bench = importlib.util.module_from_spec(spec)
spec.loader.exec_module(bench)


def test_every_measurement_that_the_page_shows_is_in_the_table():
    table = pd.read_csv(RESULTS / "benchmarks.csv")
    assert list(table.columns) == bench.COLUMNS and (table["seconds"] > 0).all()
    found = set(zip(table["what"], table["protocol"], table["k"]))
    assert {
        (what, name, k)
        for what in ("reference", "faithful", "fast")
        for name in bench.PURE
        for k in bench.COMPARED
    } <= found
    assert {("fast", name, k) for name in bench.PURE for k in bench.WIDE} <= found
    assert {(what, name, 100) for what in ("doubles", "grid") for name in bench.NOISY} <= found
    assert set(table.loc[table["what"] == "kv", "n"]) == set(bench.USERS)
    assert set(table.loc[table["what"] == "rounds", "tau"]) == set(bench.TAU)
    assert set(table.loc[table["what"] == "sweep", "workers"]) == {1, 2}


def test_the_machine_and_all_versions_are_kept_with_the_table():
    said = json.loads((RESULTS / "benchmarks.json").read_text())
    assert set(bench.machine()) < set(said)
    pinned = [
        line.removesuffix(" \\").partition("==")
        for line in (ROOT / "benchmarks" / "reference.txt").read_text().splitlines()
        if "==" in line
    ]
    for name, version in said["versions of the reference"].items():
        assert name == "Python" or (name, "==", version) in pinned


def test_the_first_call_is_timed_apart_and_every_call_has_a_seed_of_its_own():
    seeds = []
    shortest, first = bench.best(3, lambda seed: seeds.append(seed))
    assert seeds == [0, 1, 2, 3] and shortest > 0 and first > 0
