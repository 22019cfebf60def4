"""Clients that leak, found by what is learned of their reports alone, and clients that do not: two
of their audits at alpha = .01 both accuse by chance with probability 1e-4 at most."""

import importlib.util
import math
import sys
from pathlib import Path

import pytest

from ldpkit import audit
from ldpkit.blackbox import betting
from ldpkit.blackbox.sequential import SequentialAudit

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
spec = importlib.util.spec_from_file_location("leaks", BENCHMARKS / "leaks.py")
leaks = importlib.util.module_from_spec(spec)
sys.modules["leaks"] = leaks  # where its dataclass looks for its module
spec.loader.exec_module(leaks)
LEAKS = leaks.leaks()


def learned(name, trials=1000, seed=1, **given):
    client = leaks.audited(*leaks.fresh(name, 5))
    return audit(client, "learned", until="sure", trials=trials, seed=seed, **given)


@pytest.mark.parametrize("name, words", [
    ("last bit unnoised", "entry 16 is "),
    ("missing clipping", "the "),
    ("seeded per user", ""),
    ("memoised", ""),
    ("parity leak", "binary digit 0 of the sum of the report is 1"),
    ("two-bit correlation", "the exclusive or of entry 3 and entry 6 is a certain one"),
    ("JSON key order", "the "),
])  # fmt: skip
def test_a_leak_is_found_and_said_with_few_reports(name, words):
    result = learned(name)
    limit = math.log(100) / betting.joint_growth(*LEAKS[name].rates, 1.0)
    assert result.status == "violation" and result.stopped == "violation"
    assert result.event.startswith(words), result.event
    assert words or "reports of an input are the same" in result.warnings[0]
    assert result.reports <= 5 * limit


def test_what_was_found_is_declared_to_another_audit():
    client = leaks.audited(*leaks.fresh("missing clipping", 0))
    run = SequentialAudit(client, "learned", trials=1000).start(3)
    run.go()
    fresh = SequentialAudit(client, run.leading, trials=1000).run(seed=4)[0]
    assert fresh.status == "violation" and fresh.event == run.leading.words


@pytest.mark.parametrize("name", leaks.sound())
def test_a_client_that_keeps_its_claim_is_hardly_ever_accused(name):
    client, given = leaks.audited(*leaks.sound()[name]), {"until": "sure", "trials": 60}
    assert not all(audit(client, "learned", seed=seed, **given).violated for seed in range(2))
