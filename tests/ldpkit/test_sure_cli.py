"""Audits until sure at the command line: what they print, keep and write, and how they end."""

import contextlib
import json
import re
import resource
import shlex
import sys
from pathlib import Path

import pytest
from processes import interrupted, started, until

from ldpkit.blackbox.page import page
from ldpkit.blackbox.sequential import SequentialAudit
from ldpkit.cli import main
from ldpkit.digests import digest
from ldpkit.mechanisms import GRR
from ldpkit.stats import down, epsilon_buehler

SCRIPT = Path(sys.executable).parent / "ldpkit"
LOUD = """
import threading, sys

calls = 0

def slow(value):
    global calls
    calls += 1
    if calls >= 3000:
        print("stuck", file=sys.stderr, flush=True)
        threading.Event().wait()
    return value

def open_book(values, rng):
    return values

def shut_book(values, rng):
    return values

class Keeper:
    def __call__(self, values, rng):
        return values

keeper = Keeper()
"""
KEPT = "audit --mechanism GRR --k 5 --epsilon 1 --attack tight --until-sure --trials 5000"
LEAK = "audit --client loud:open_book --report value --k 5 --epsilon 1 --attack tight --until-sure"


@pytest.fixture
def call(call, tmp_path, monkeypatch):
    """Run a command in a folder of its own, beside clients."""
    (tmp_path / "loud.py").write_text(LOUD)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "loud", raising=False)
    return call


def test_json_says_what_was_found_and_why_it_stopped(call):
    status, out, err = call(f"{LEAK} --json")
    found = json.loads(out)
    assert status == 1 and err == ""
    assert found["stopped"] == "violation" and found["e_value"] >= 100 and found["lower"] >= 1
    assert found["reports"] == found["trials"] < 60 and found["event"].startswith("tight names ")
    status, out, _ = call(f"{KEPT} --json")
    same = SequentialAudit(GRR(5, 1.0), "tight", trials=5000).run()[0].to_dict()
    assert status == 0
    assert json.loads(out) | {"seconds": 0} == json.loads(json.dumps(same)) | {"seconds": 0}


def test_the_table_and_other_ways_to_ask(call):
    status, out, _ = call("audit --client loud:keeper --report value --k 3 --epsilon 1 --until-sure"
                          " --all-pairs --attack tight")  # fmt: skip
    assert "the worst of 3 pairs, one of 6 bets" in out
    assert status == 1 and "e-value" in out and "violation" in out
    status, out, _ = call(f"{KEPT} --within 0.3")
    assert status == 0 and "the bound is within 0.3 of the claim" in out and "worst" not in out
    status, out, _ = call(f"{KEPT} --max-time 0 --trials 1000000000")
    assert status == 0 and "time is up" in out
    assert call(f"{KEPT} --trials 4 --strict")[0] == 3


def test_an_audit_goes_on_tomorrow(call):
    whole = call(f"{KEPT} --json")[1]
    assert call(f"{KEPT} --trials 700 --save kept.state")[0] == 0
    status, out, _ = call("resume kept.state --trials 5000 --json")
    timeless = [json.loads(text) | {"seconds": 0} for text in (out, whole)]
    for found in timeless:
        for each in (found, *found["directions"]):  # sums of logarithms in another order
            each["e_value"] = pytest.approx(each["e_value"], rel=1e-9)
    assert status == 0 and timeless[0] == timeless[1]
    assert json.loads(Path("kept.state").read_text())["run"]["rounds"] == 10_000
    assert [f.name for f in Path(".").iterdir() if f.name.startswith(".")] == []


def test_a_changed_digit_of_what_was_kept_is_refused(call):
    """It would be believed, and might prove a violation that is none."""
    assert call(f"{KEPT} --trials 700 --save kept.state")[0] == 0
    text = Path("kept.state").read_text()
    assert text.count('"rounds": 1400') == 1
    for bad in (text.replace('"rounds": 1400', '"rounds": 1401'), "", "{}", "[1]", text[:-9]):
        Path("kept.state").write_text(bad)
        status, out, err = call("resume kept.state")
        assert (status, out, err.count("\n")) == (2, "", 1), bad
        assert err.startswith("ldpkit: kept.state is no audit that was kept: "), bad
        assert err.endswith("it was changed\n") == ("1401" in bad), bad
    Path("kept.state").write_text(text)
    assert call("resume kept.state")[0] == 0


def test_a_file_names_no_client_that_is_run(call):
    """The client is named again, and compared with the one that was audited."""
    assert call(f"{LEAK} --epsilon 9 --trials 50 --save kept.state")[0] == 0
    status, out, err = call("resume kept.state --trials 90")
    assert (status, out) == (2, "") and "--client must name" in err and err.count("\n") == 1
    status, _, err = call("resume kept.state --trials 90 --client loud:shut_book")
    assert status == 2 and "state must be of the same audit: " in err and err.count("\n") == 1
    assert call("resume kept.state --trials 90 --client loud:open_book")[0] == 0
    with Path("loud.py").open("a") as file:
        file.write("\n")
    status, _, err = call("resume kept.state --trials 99 --client loud:open_book")
    assert status == 2 and "client was 'loud:open_book " in err
    assert call(f"{KEPT} --trials 50 --save own.state")[0] == 0
    status, _, err = call("resume own.state --client loud:open_book")
    assert status == 2 and "--client must be left out" in err


def test_a_program_named_by_a_changed_file_is_not_run(call):
    Path("program.py").write_text("import sys\nfor v in sys.stdin: print(v, end='', flush=True)")
    asked = "audit --report any --inputs [0,1] --epsilon 9 --attack learned --until-sure"
    given = f"{asked} --trials 20 --save kept.state --command".split()
    with pytest.raises(SystemExit):
        main([*given, shlex.join([sys.executable, "program.py"])])
    kept = json.loads(Path("kept.state").read_text())
    kept["audit"]["command"] = "touch ran"
    del kept["check"]
    kept["check"] = digest(kept)
    Path("kept.state").write_text(json.dumps(kept))
    assert call("resume kept.state")[0] == 2 and not Path("ran").exists()


@pytest.mark.parametrize("n", [1, 2, 5, 10])
@pytest.mark.parametrize("alpha", [0.5, 0.9, 0.99])
def test_a_bound_of_few_counts_is_a_number_at_any_level(call, n, alpha):
    for tp in range(n + 1):
        status, out, err = call(f"bound --tp {tp} --fp 0 --n {n} --alpha {alpha} --json")
        assert (status, err) == (0, "") and json.loads(out)["sharper"] >= 0


def test_the_report_for_others_is_one_file(call):
    assert call(f"{LEAK} --html audit.html")[0] == 1
    text = Path("audit.html").read_text()
    outside = re.findall(r"""(?:src|href|url)\s*[=(]|https?://[^"]+""", text)
    assert outside == ["http://www.w3.org/2000/svg"]
    for words in ("VIOLATION", "Lower bound", "<svg", "To repeat it", "loud:open_book", "ldpkit 0"):
        assert words in text


def test_the_page_and_the_notebook_say_the_same_and_escape():
    result = SequentialAudit(GRR(5, 1.0), "tight", trials=300).run()[0]
    shown = result._repr_html_()
    assert result.verdict in shown and result.lines()["e-value"] in shown
    assert result.verdict in page(result)
    assert "<b>" not in page(result, "ldpkit <b>") and "&lt;b&gt;" in page(result, "ldpkit <b>")


def test_a_plan_and_a_bound(call):
    status, out, _ = call("plan --mechanism OUE --k 10 --epsilon 1 --suspected 2 --json")
    found = json.loads(out)
    assert status == 0 and found["least"] < found["reports"] < 3 * found["least"]
    assert found["seconds"] == pytest.approx(2 * found["reports"] / 10**4, rel=0.01)
    assert "no number of reports" in call("plan --tpr 0.2 --fpr 0.1 --epsilon 1")[1]
    found = json.loads(call("bound --tp 4100 --fp 1500 --n 1e4 --alpha 0.01 --json")[1])
    assert found["lower"] == pytest.approx(0.9132519, abs=1e-6)
    assert found["sharper"] == epsilon_buehler(4100, 1500, 10**4, 0.01) > found["lower"]
    told = call("bound --tp 4100 --fp 1500 --n 1e4 --alpha 0.01")[1]
    assert told.endswith(f"at least {down(found['sharper'])}.\n")
    far = call("bound --tp 4100 --fp 1500 --n 1e4 --alpha 1e-20")[1]  # only the other bound is told
    assert "sharper" not in far and "With 1 - 1e-20 confidence epsilon is at least 0.6765" in far
    assert json.loads(call("bound --tp 0 --fp 0 --n 10 --json")[1])["lower"] == 0.0


def test_an_interrupt_tells_the_bound_that_holds(tmp_path):
    (tmp_path / "loud.py").write_text(LOUD)
    given = f"{LEAK} --epsilon 30".replace("open_book", "slow").split()
    with started(SCRIPT, *given, cwd=tmp_path) as process:
        until(process, "stuck")
        err = interrupted(process)
    told = r"interrupted after [\d,]+ of 2,000,000 reports, epsilon at least ([\d.]+) at level"
    said = re.search(told, err)
    assert said and 3 < float(said[1]) < 30


@contextlib.contextmanager
def full_disk():
    """No file of this process can get any contents, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("options", ["--save kept.state", "--html page.html",
                                     "--save kept.state --html page.html", "counted"])  # fmt: skip
def test_a_full_disk_takes_no_verdict(call, options):
    counted = options == "counted"
    leak = "audit --mechanism RSFD[GRR] --k 10 --d 3 --epsilon 1 --attack tight --until-sure"
    fine = "audit --mechanism GRR --k 5 --epsilon 1 --html page.html"
    command = fine if counted else f"{leak} {options}"
    with full_disk():
        status, out, err = call(command)
    assert status == 4 and ("No violation" if counted else "VIOLATION: ") in out.splitlines()[-1]
    for path in {"kept.state", "page.html"}:
        assert (f"{path} could not be written: File too large" in err) == (path in command)
        assert not Path(path).exists()
    assert err.startswith("ldpkit: ") and err.count("\n") == 1
    assert call(command)[0] == (not counted)
