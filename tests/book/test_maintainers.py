"""The page for maintainers: its lines and its workflow, as they stand, against a client that leaks
and one that does not (found guilty with probability 1e-4 at most in each of seven runs)."""

import contextlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from ldpkit.cli.group import COMMANDS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "book" / "released" / "maintainers.md").read_text()
WORKFLOW = yaml.safe_load((ROOT / "book" / "released" / "workflow.yml").read_text())
PACKAGES = {
    "python": ("mypackage.py", """
import math, random

class Client:
    def __init__(self, epsilon):
        self.kept = math.exp({factor} * epsilon) / (math.exp({factor} * epsilon) + 1)

    def report(self, value):
        if value not in ("yes", "no"):
            raise KeyError(value)
        other = "no" if value == "yes" else "yes"
        return value if random.random() < self.kept else other
"""),
    "javascript": ("mypackage.js", """
const kept = Math.exp({factor}) / (Math.exp({factor}) + 1);
exports.report = value => (Math.random() < kept) === (value === "yes") ? "yes" : "no";
"""),
}  # fmt: skip


def blocks(language):
    """The listings of the page in one language."""
    found = re.findall(rf"^( *)```{language}\n(.*?)^ *```$", PAGE, flags=re.M | re.S)
    return [re.sub(f"^{indent}", "", code, flags=re.M) for indent, code in found]


def steps():
    """The commands of the workflow, and the variables that they read on a push."""
    default = re.compile(r"\|\| '([^']+)'")
    given = {name: default.search(str(said))[1] for name, said in WORKFLOW["env"].items()}
    return [step["run"] for step in WORKFLOW["jobs"]["audit"]["steps"] if "run" in step], given


def commands(language):
    """Every audit that the page shows for clients in one language, as a shell reads it."""
    word = "--command" if language == "javascript" else "--client"
    shown = [line for text in blocks("bash") for line in re.split(r"(?<!\\)\n", text)]
    return [line for line in [*shown, *steps()[0]] if word in line]


NODE = shutil.which("node")  # it may be missing
LANGUAGES = ["python", "javascript"] if NODE else ["python"]
ASKED = [(language, line) for language in LANGUAGES for line in commands(language)]


@pytest.fixture
def status(tmp_path):
    """Run a line of a shell beside a package whose client keeps its claim times a factor."""
    (tmp_path / "privacy_audit.py").write_text(blocks("python")[0])
    (tmp_path / "client.js").write_text(blocks("javascript")[0])

    def run(line, factor, **variables):
        for name, source in PACKAGES.values():
            (tmp_path / name).write_text(source.replace("{factor}", str(factor)))
        path = f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin"
        path += f":{Path(NODE).parent}" if NODE else ""
        given = {"cwd": tmp_path, "env": {"PATH": path, **variables}}
        done = subprocess.run(["bash", "-euc", line], capture_output=True, text=True, **given)
        return done.returncode, done.stdout + done.stderr

    run.folder = tmp_path
    return run


@pytest.mark.parametrize(
    "language, line", ASKED, ids=[f"{a}-{i}" for i, (a, _) in enumerate(ASKED)]
)
def test_every_audit_of_the_page_is_red_for_a_leak_and_green_without(language, line, status):
    given = steps()[1]
    assert given == {"TRIALS": "1e5", "BUDGET": "120", "SEED": "1"}
    code, said = status(line, 1.5, **given)
    assert code == 1 and "VIOLATION" in said, said
    quick = line.replace("1e5", "2e3")  # a budget is no part of what is tested
    code, said = status(quick, 1.0, **given | {"TRIALS": "2e3"})
    assert code == 0 and "No violation found" in said, said
    if "--html" in line:
        assert "No violation found" in (status.folder / "audit.html").read_text()


def test_the_other_statuses_are_those_of_the_table(status):
    line = commands("python")[0]
    rows = dict(re.findall(r"^\| (\d) \| (\w+)", PAGE, flags=re.M))
    assert rows == {"0": "green", "1": "red", "2": "red", "3": "red", "4": "red"}
    code, said = status(line.replace('"no"]', '"perhaps"]'), 1.0)
    assert code == 2 and "KeyError" in said and "Traceback" not in said
    code, said = status(line.replace("1e5", "5"), 1.0)
    assert code == 3 and "nconclusive" in said
    readme = (ROOT / "book" / "command_line.md").read_text()
    assert set(re.findall(r"^\| (\d+) \|", readme, flags=re.M)) == {*rows, "130"}


def test_every_command_stands_on_the_page_of_the_command_line():
    page = (ROOT / "book" / "command_line.md").read_text()
    missing = [name for name in COMMANDS if f"ldpkit {name}" not in page]
    assert missing == [], "show these commands on book/command_line.md"


def test_the_plans_of_the_page_say_what_it_says(status):
    plan = next(text for text in blocks("bash") if "ldpkit plan" in text)
    assert "about 1,758 per input" in PAGE and "about 1,758 per input" in status(plan, 1.0)[1]
    event = re.search(r"`(--tpr [^`]+)` says (\d+)", PAGE)
    said = status(f"ldpkit plan --epsilon 1 --alpha 1e-4 {event.group(1)}", 1.0)[1]
    assert f"about {event.group(2)} per input" in said


def test_the_declared_event_is_a_test_that_fails_for_a_leak(status, monkeypatch):
    monkeypatch.syspath_prepend(status.folder)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    for factor, found in ((1.0, contextlib.nullcontext()), (1.5, pytest.raises(AssertionError))):
        status(":", factor)  # writes the package
        for name in ("privacy_audit", "mypackage"):
            monkeypatch.delitem(sys.modules, name, raising=False)
        names = {"__name__": "test_privacy"}
        exec(blocks("python")[1], names)
        with found:
            names["test_the_report_is_not_the_answer"]()
    for name in ("privacy_audit", "mypackage"):
        del sys.modules[name]
