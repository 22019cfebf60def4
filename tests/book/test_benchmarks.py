"""The kept benchmarks are complete, and a measurement measures what it says. Nothing here judges a
time."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "data" / "results"
spec = importlib.util.spec_from_file_location("bench", ROOT / "benchmarks" / "bench.py")
bench = importlib.util.module_from_spec(spec)
spec.loader.exec_module(bench)


def test_the_first_call_is_timed_apart_and_every_call_has_a_seed_of_its_own():
    seeds = []
    shortest, first = bench.best(3, lambda seed: seeds.append(seed))
    assert seeds == [0, 1, 2, 3] and shortest > 0 and first > 0
