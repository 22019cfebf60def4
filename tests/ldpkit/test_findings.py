"""Findings for other programs: SARIF, JUnit, a baseline, and results without values."""

import json
import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from ldpkit.cli import main

SHOP = '''"""A client that sends its value, one that lies often enough, and others."""

import random


def send(value):
    return {"answer": value, "size": [1, 2]}


def answer(value):
    return value if random.random() < 0.6 else {"tuna": "hake", "hake": "tuna"}[value]


def fails(value):
    raise RuntimeError(f"no such fish: {value}")
'''
PROGRAM = "import sys\nfor line in sys.stdin: print(line, end='', flush=True)\n"
ASKED = 'audit --epsilon 1 --inputs ["tuna","hake"] --trials 1000'
LEAK = f"{ASKED} --client shop:send"
ACCEPTED = {"client": "shop:send", "epsilon": 1, "reason": "until 2.0", "date": "2026-11-28"}


@pytest.fixture
def shop(tmp_path, monkeypatch, call):
    """Call a command in a folder with clients: status, standard output, standard error."""
    monkeypatch.chdir(tmp_path)
    Path("src").mkdir()
    Path("src/shop.py").write_text(SHOP)
    Path("src/program.py").write_text(PROGRAM)
    monkeypatch.syspath_prepend("src")
    return call


def log():
    return json.loads(Path("a.sarif").read_text())


def cases():
    """The parts of the tests in JUnit by client, and the numbers of the suite."""
    suite = ElementTree.parse("a.xml").getroot()[0]
    return {case.get("classname"): [*case] for case in suite}, suite.attrib


def test_a_log_has_what_code_scanning_needs(shop):
    assert shop(f"{LEAK} --sarif a.sarif")[0] == 1
    found = log()
    (run,) = found["runs"]
    (rule,) = run["tool"]["driver"]["rules"]
    (result,) = run["results"]
    (location,) = result["locations"]
    place = location["physicalLocation"]
    assert found["version"] == "2.1.0" and run["tool"]["driver"]["name"] == "ldpkit"
    assert result["ruleId"] == rule["id"] and rule["shortDescription"]["text"]
    assert result["level"] == "error" and "suppressions" not in result
    assert result["message"]["text"].startswith("shop:send: VIOLATION: epsilon = 1 is refuted")
    assert "\nevent: " in result["message"]["text"]
    assert place["artifactLocation"] == {"uri": "src/shop.py"}
    assert place["region"] == {"startLine": 1 + SHOP.splitlines().index("def send(value):")}
    assert result["partialFingerprints"]["claim/v1"]


def test_the_claim_decides_the_fingerprint_and_the_seed_does_not(shop):
    marks = []
    for more in ("", "--seed 2", "--epsilon 2"):
        assert shop(f"{LEAK} {more} --sarif a.sarif")[0] == 1
        marks.append(log()["runs"][0]["results"][0]["partialFingerprints"])
    assert marks[0] == marks[1] != marks[2]


def test_a_program_is_found_by_its_file_and_a_file_elsewhere_by_its_whole_name(shop, tmp_path):
    with pytest.raises(SystemExit):
        main([*f"{ASKED} --sarif a.sarif --command".split(), f"{sys.executable} src/program.py"])
    place = log()["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "src/program.py"
    assert shop(f"{ASKED} --epsilon 1 --client json:dumps --sarif a.sarif")[0] == 1
    place = log()["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"].startswith("file:///")


def test_every_claim_is_a_test_of_junit(shop):
    assert shop(f"{LEAK} --junit a.xml")[0] == 1
    tests, numbers = cases()
    assert [part.tag for part in tests["shop:send"]] == ["failure"]
    assert "VIOLATION" in tests["shop:send"][0].get("message")
    assert (numbers["tests"], numbers["failures"], numbers["skipped"]) == ("1", "1", "0")
    fine = f"{ASKED} --client shop:answer --junit a.xml --sarif a.sarif"
    assert shop(fine)[0] == 0
    tests, numbers = cases()
    assert tests == {"shop:answer": []} and numbers["failures"] == "0"
    assert log()["runs"][0]["results"] == []  # which closes what an earlier log has opened
    assert shop(f"{fine} --trials 3")[0] == 0
    tests, numbers = cases()
    assert [part.tag for part in tests["shop:answer"]] == ["skipped"] and numbers["skipped"] == "1"
    assert log()["runs"][0]["results"] == []


def test_questions_that_are_counted_are_tests_of_their_own(shop):
    counted = "audit --mechanism RSFD[GRR] --k 10 --d 3 --epsilon 1 --attack tight --trials 20000"
    assert shop(f"{counted} --pair 0 1 --pair 2 3 --junit a.xml --sarif a.sarif")[0] == 1
    suite = ElementTree.parse("a.xml").getroot()[0]
    assert len({case.get("name") for case in suite}) == 2 and suite.get("failures") == "2"
    assert len(log()["runs"][0]["results"]) == 2


@pytest.mark.parametrize("change, accepted", [
    ({}, True), ({"delta": 0}, True), ({"client": "shop:answer"}, False), ({"epsilon": 2}, False),
    ({"delta": 0.1}, False), ({"digest": "0" * 16}, False),
])  # fmt: skip
def test_a_finding_is_accepted_for_one_client_and_claim(shop, change, accepted):
    Path("known.json").write_text(json.dumps([ACCEPTED | change]))
    status, out, _ = shop(f"{LEAK} --baseline known.json --json --sarif a.sarif --junit a.xml")
    row = json.loads(out)
    assert status == (not accepted) and row["status"] == "violation"
    assert row.get("accepted") == ("until 2.0 (2026-11-28)" if accepted else None)
    (result,) = log()["runs"][0]["results"]
    suppressed = [{"kind": "external", "justification": "until 2.0 (2026-11-28)"}]
    assert result.get("suppressions") == (suppressed if accepted else None)
    assert cases()[0]["shop:send"][0].tag == ("skipped" if accepted else "failure")


def test_a_digest_accepts_the_code_as_it_is(shop):
    row = json.loads(shop(f"{LEAK} --json")[1])
    Path("known.json").write_text(json.dumps([ACCEPTED | {"digest": row["digest"]}]))
    assert shop(f"{LEAK} --baseline known.json")[0] == 0
    Path("src/shop.py").write_text(SHOP + "\n")
    assert shop(f"{LEAK} --baseline known.json")[0] == 1


@pytest.mark.parametrize("change", [{"reason": " "}, {"date": "soon"}, {"date": 1}, {"epsilon": -1},
                                    {"epsilon": "x"}, {"client": 1}, {"until": "2027"}])  # fmt: skip
def test_a_baseline_needs_a_reason_and_a_date(shop, change):
    for entries in ([ACCEPTED | change], ACCEPTED, [1], "x"):
        Path("known.json").write_text(json.dumps(entries))
        status, out, err = shop(f"{LEAK} --baseline known.json")
        assert (status, out) == (2, "") and "known.json must be a JSON list" in err


def test_values_stay_out_of_all_that_is_written(shop):
    Path("known.json").write_text(json.dumps([ACCEPTED]))
    files = "--sarif a.sarif --junit a.xml --html a.html --baseline known.json"
    for more in ("", "--json"):
        plain = shop(f"{LEAK} {files} {more}")
        texts = [*map(str, plain), *(Path(f"a.{x}").read_text() for x in ("sarif", "xml", "html"))]
        assert all("tuna" in text or "hake" in text for text in [texts[1], *texts[3:]])
        status, *said = shop(f"{LEAK} {files} {more} --no-values")
        said += [Path(f"a.{x}").read_text() for x in ("sarif", "xml", "html")]
        assert status == 0 and not any(word in text for word in ("tuna", "hake") for text in said)
        assert "VIOLATION" in said[0] and "input 0" in said[2]


def test_values_stay_out_of_messages(shop):
    for client in (
        "shop:fails",
        """shop:send --inputs '["tuna","tuna"]'""",
        "shop:send --inputs tuna",
    ):
        assert re.search("tuna|hake", shop(f"{ASKED} --client {client}")[2])
        status, out, err = shop(f"{ASKED} --client {client} --no-values")
        assert (status, out) == (2, "") and not re.search("tuna|hake", err)
        assert "--no-values" in err


def test_an_audit_that_is_resumed_writes_the_files_that_it_is_told(shop):
    kept = f"{LEAK} --save kept.state --sarif first.sarif --no-values"
    assert shop(kept)[0] == 1
    Path("first.sarif").unlink()
    status, out, _ = shop("resume kept.state --client shop:send --trials 500 --sarif a.sarif")
    assert status == 1 and "'tuna'" in out and not Path("first.sarif").exists()
    assert len(log()["runs"][0]["results"]) == 1
