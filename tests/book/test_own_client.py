"""What a reader is told about an own client that the real auditor judges in the browser; `tests/browser` tests the page around it."""

import importlib
import json
import math
import re
import sys
import types

import pytest

from ldpkit import progress
from ldpkit.mechanisms.base import ClientError


@pytest.fixture
def judged(monkeypatch):
    """Judge a client as the worker does, natively; return what the page gets: the verdict, words and facts."""
    told = []
    host = types.SimpleNamespace(call=lambda message: told.append(json.loads(message)) or b"null")
    monkeypatch.setitem(sys.modules, "_host", host)
    judge = importlib.import_module("ldpbook.engine.inside.judge")
    monkeypatch.setattr(judge.compiled, "_host", host)  # where another test imported it before
    monkeypatch.setattr(progress.Progress, "add", progress.Progress.add)  # the judge replaces it

    def run(code, values=(0, 1, 2, 3), trials=100):
        judge.judge(code, list(values), epsilon=1.0, trials=trials, alpha=0.01, seed=1)
        *_, shown = [one["content"]["data"] for one in told if one["type"] == "display_data"]
        return shown["text/plain"], *shown["application/json"].values()

    monkeypatch.setattr(judge, "LARGEST", 40)
    return run


@pytest.mark.parametrize("code, words", [
    ("def client(value):\n    return valeu", ["NameError", "'valeu'", "line 2"]),
    ("import numpyy\ndef client(value):\n    return value", ["No module named 'numpyy'", "line 1"]),
    ("def client(value):\n    return client(value)", ["RecursionError", "line 2"]),
    ("def client(value):\n    raise SystemExit(3)", ["SystemExit", "line 2"]),
    ("def client(value):\n    x = 1\n    return bytes(2**60)", ["MemoryError", "1 GB", "line 3"]),
    ("def client(values, rng):\n    values.sort()", ["must return 32 reports", "lack a return"]),
    ("def client(value):\n    return 'x' * 39", ["at most 40 characters", "got 41"]),
    ("def client(value):\n    return object()", ["what JSON can write"]),
    ("def client():\n    return 1", ["(values, rng) or (value)"]),
    ("def client(values, rng):\n    return list(values > 1)", ["np.array(values)", "line 2"]),
])  # fmt: skip
def test_a_fault_of_the_readers_code_is_named_with_its_line_and_without_options(
    judged, code, words
):
    with pytest.raises(ClientError) as raised:
        judged(code)
    said = str(raised.value)
    assert [word for word in words if word not in said] == [] and "--" not in said, said


def test_a_report_of_the_largest_size_is_judged(judged):
    verdict, _, facts = judged("def client(value):\n    return str(value) * 38")
    assert verdict.startswith("VIOLATION") and facts["verdict"]


def test_code_that_defines_no_function_or_is_no_python_is_named(judged):
    with pytest.raises(SyntaxError, match=r"line 1"):
        judged("def client(")
    with pytest.raises(ValueError, match="must define a function"):
        judged("x = 1")
    with pytest.raises(ValueError, match="values must differ"):  # no fault of the code
        judged("def client(value):\n    return value", values=(1, 1))


def test_a_client_without_a_return_is_judged_and_the_lack_is_named(judged):
    """None may be a report, and a client that sends it for one input only gives that input away."""
    verdict, *_ = judged("def client(value):\n    value + 1")
    assert "Inconclusive" in verdict and "lack a return" in verdict
    verdict, _, facts = judged("def client(value):\n    if value:\n        return 1")
    assert verdict.startswith("VIOLATION") and "return" not in verdict and facts["cause"]


def test_a_result_is_shown_in_words_and_its_cause_once(judged):
    """A leak of two inputs, and a client that is honest."""
    leaks = """def client(values, rng):
    return [{"is": v if rng.random() < 0.9 else "red", "t": int(rng.integers(99))} for v in values]"""
    verdict, words, facts = judged(leaks, ("red", "green", "blue"), 3000)
    assert verdict.startswith("VIOLATION") and "Cause" not in verdict
    assert words["Cause"] == facts["cause"] and words["Cause"].endswith("Cause: field is.")
    assert "reports of 'green', and in" in words["Event"] and "of the others." in words["Event"]
    assert "'green' against the others leads" in words["Inputs"]
    assert f"{facts['reports']:,} reports per input show it" in verdict
    assert words["In the auditor's words"].startswith("VIOLATION: epsilon = 1 is refuted")
    assert (
        words["Bound"].startswith("ε is above 1.") and "time of reports" in words["Not looked at"]
    )
    honest = "def client(values, rng):\n    return [int(rng.integers(2)) for _ in values]"
    verdict, words, _ = judged(honest, trials=3000)
    assert verdict.startswith("No violation found") and verdict.endswith(
        "does not prove the claim."
    )
    assert "which does not prove" in words["In one sentence"]
    assert list(words)[1:] == ["Bound", "Event", "It would have found", "Not looked at", "Inputs"]
    assert (
        words["Bound"] == "Nothing is proven about ε." and "refuted" in words["It would have found"]
    )


def test_how_much_more_often_an_event_was_seen_is_told_with_what_the_claim_allows(judged):
    _, words, _ = judged(
        "def client(value, rng):\n    return [v if rng.random() < 0.9 else 1 - v for v in value]",
        (0, 1),
        3000,
    )
    told = r"That is ([\d.]+) times as often, and a claim of ε = 1 allows 2.72 times"
    assert float(re.search(told, words["Event"])[1]) > math.e


def test_inputs_of_another_client_are_noticed(judged):
    strange = "No report is one of the inputs"
    verdict, *_ = judged("def client(value):\n    return 7 if value else 8")
    assert strange in verdict and "VIOLATION" in verdict
    verdict, *_ = judged("def client(value):\n    return [value]")  # of another type
    assert strange not in verdict and "VIOLATION" in verdict


def test_a_rare_leak_that_may_be_chance_is_called_so(judged):
    rare = """def client(values, rng):
    return [{"x": 0, **({"raw": v} if rng.random() < 0.01 else {})} for v in values]"""
    verdict, words, _ = judged(rare, ("yes", "no"), 1000)
    assert verdict.startswith("No violation found") and "More reports decide." in words["Event"]
    assert "field raw" in words["Event"]
