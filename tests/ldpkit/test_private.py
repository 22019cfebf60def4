"""`assert_private`, the plugin of pytest, and the action of a workflow. Seeds are fixed, and an
audit ends by a violation, by a number of reports, or at once, never by the speed of the machine."""

import json
import os
import random
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import yaml
from commands import python

import ldpkit
from ldpkit.blackbox.curve import laplace
from ldpkit.blackbox.page import page
from ldpkit.blackbox.sequential import Entry
from ldpkit.testing import assert_private, plugin

ROOT = Path(ldpkit.__file__).parents[1]
CLIENT = """
def send(values, rng):
    lies = rng.random(len(values)) < {lie}
    return [{{"answer": other(v) if lie else v}} for v, lie in zip(values, lies)]

def other(value):
    return "no" if value == "yes" else "yes"
"""
TEST = """
import pytest
from ldpkit.testing import assert_private
from client import send

@pytest.mark.ldp
def test_an_answer_is_private():
    assert_private(send, epsilon=1, inputs=["yes", "no"])

def test_something_else():
    assert send(["yes"], __import__("numpy").random.default_rng(1))
"""
AT_ONCE = "1e-9"  # seconds: the audit ends after its first reports, and is inconclusive


@pytest.fixture(autouse=True)
def clean(monkeypatch):
    """The plugin of this very run lists nothing of these tests."""
    monkeypatch.setattr(plugin, "audits", [])
    monkeypatch.setattr(plugin, "_now", {})


def answers(lie):
    def send(values, rng):
        return np.where(rng.random(len(values)) < lie, 1 - np.array(values), values).tolist()

    return send


def test_a_broken_client_fails_with_the_reason_first():
    with pytest.raises(AssertionError) as failed:
        assert_private(answers(0.05), 1, inputs=[0, 1], reports=2000, seconds=1e9)
    first, event, *_ = str(failed.value).splitlines()
    assert first.startswith("VIOLATION: epsilon = 1 is refuted")
    assert "event: the report is" in event
    assert "violation after" in plugin.audits[0]["text"]


def test_a_client_that_keeps_its_claim_passes_and_every_input_is_asked():
    few = {"reports": 1000, "seconds": 1e9}
    result = assert_private(answers(0.27), 1, inputs=[0, 1], **few)
    assert result.status == "none found" and result.reports == 1000
    leaks_one = lambda values, rng: [rng.random() < 0.5 if v != 40 else "x" for v in values]  # noqa: E731
    with pytest.raises(AssertionError, match="VIOLATION"):
        assert_private(leaks_one, 1, inputs=range(41), **few)
    with pytest.raises(AssertionError, match="VIOLATION"):  # the claim counts, and so does delta
        assert_private(answers(0.27), 0.5, inputs=[0, 1], **few)
    loose = few | {"delta": 0.3, "allow_inconclusive": True}
    assert not assert_private(answers(0.27), 0.5, inputs=[0, 1], **loose).violated


def test_an_inconclusive_audit_fails_unless_it_may():
    given = {"inputs": [0, 1], "seconds": float(AT_ONCE)}
    with pytest.raises(AssertionError, match="^Inconclusive: .* are needed"):
        assert_private(answers(0.27), 1, **given)
    found = assert_private(answers(0.27), 1, allow_inconclusive=True, **given)
    assert found.status == "inconclusive"


def test_three_inputs_that_are_too_few_reports_are_inconclusive():
    """The leading pair is an input against the others, which are none of the inputs."""
    given = {"inputs": ["a", "b", "c"], "seconds": float(AT_ONCE)}
    send = lambda values, rng: rng.random(len(values)).tolist()  # noqa: E731
    with pytest.raises(AssertionError, match="^Inconclusive: .* are needed") as failed:
        assert_private(send, 1, **given)
    assert "pair: 'a' against the others" in str(failed.value)
    found = assert_private(send, 1, allow_inconclusive=True, **given)
    assert "a&#x27; against the others" in page(found)


@pytest.mark.parametrize(
    "given, message",
    [({"seconds": 0}, "seconds must be"), ({"epsilon": -1}, "epsilon must be"),
     ({"inputs": [1]}, "k must be"), ({"inputs": [1, 1]}, "values must differ"),
     ({"allow_inconclusive": "no"}, "allow_inconclusive must be True or False")],
)  # fmt: skip
def test_bad_parameters_are_named(given, message):
    with pytest.raises(ValueError, match=message):
        assert_private(answers(0.3), **{"inputs": [0, 1]} | given)


def environment():
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return os.environ | {"PYTHONPATH": str(ROOT), "PATH": path}


def pytest_in(folder, *options):
    """Run pytest in a folder, with this plugin alone."""
    plugins = "-m pytest -p no:cacheprovider -p ldpkit.testing.plugin".split()
    command = [sys.executable, *plugins, *options]
    alone = environment() | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    ended = subprocess.run(command, cwd=folder, env=alone, text=True, capture_output=True)
    return ended.returncode, ended.stdout + ended.stderr


@pytest.fixture
def project(tmp_path):
    """A folder with a client and its tests."""
    (tmp_path / "client.py").write_text(CLIENT.format(lie=0.05))
    (tmp_path / "test_client.py").write_text(TEST)
    return tmp_path


def test_the_plugin_takes_the_seconds_of_audits_and_lists_nothing_without_them(project):
    (project / "client.py").write_text(CLIENT.format(lie=0.27))
    status, said = pytest_in(project, "--ldp-seconds", AT_ONCE)
    assert status == 1 and "E       AssertionError: Inconclusive" in said
    status, said = pytest_in(project, "-m", "not ldp", "--strict-markers")
    assert status == 0 and "1 deselected" in said and "audits of privacy" not in said


def test_pytest_starts_as_fast_with_the_plugin(project):
    named = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert named["entry-points"]["pytest11"] == {"ldpkit": "ldpkit.testing.plugin"}
    assert not any(wanted.startswith("pytest") for wanted in named["dependencies"])
    code = "import sys; before = set(sys.modules); import ldpkit.testing.plugin; print(*set(sys.modules) - before)"
    known = {"ldpkit", "typing", "_typing", "collections"}
    new = python(code, env=environment())[0].split()
    assert {name.partition(".")[0] for name in new} <= known


def test_the_steps_of_the_action_run(project):
    """Every line that is `run` in the action, with its own defaults but for packages and seconds."""
    action = yaml.safe_load((ROOT / "book/ci/action.yml").read_text())
    inputs = {name: e.get("default", "ldpkit pytest") for name, e in action["inputs"].items()}
    lines = [step for step in action["runs"]["steps"] if "run" in step]
    assert action["runs"]["using"] == "composite" and len(lines) == 2
    ends = []
    for step in lines:
        pattern, given = r"\$\{\{ inputs\.(\w+) \}\}", step["env"].items()
        given = {name: re.sub(pattern, lambda m: inputs[m[1]], value) for name, value in given}
        assert "${{" not in step["run"]  # what an input holds is never read as a program
        given |= {"PIP_NO_INDEX": "1", "PYTEST_ADDOPTS": "-p no:cacheprovider"}
        given["NUMBA_CPU_NAME"] = ""  # as other tests, whose machine code is kept
        own = environment() | given
        # as GitHub runs `shell: bash`
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        ended = subprocess.run(command, cwd=project, env=own, text=True, capture_output=True)
        ends.append((ended.returncode, ended.stdout + ended.stderr))
    assert ends[0][0] == 0 and "already satisfied: ldpkit" in ends[0][1], ends[0]
    status, said = ends[1]
    listed = "test_client.py::test_an_answer_is_private: send, epsilon = 1: violation after"
    assert status == 1 and "1 deselected" in said and "audits of privacy" in said, said
    assert listed in said and said.count("violation after") == 1
    assert re.search(r"E +AssertionError: VIOLATION: epsilon = 1 is refuted", said)
    kept = (project / "ldp.xml").read_text()
    assert 'name="ldp"' in kept and "violation after" in kept


def test_the_commands_of_gitlab_and_of_jenkins_run_and_write_their_files(project):
    job = yaml.safe_load((ROOT / "book/ci/gitlab.yml").read_text())["privacy"]
    pipeline = (ROOT / "book/ci/Jenkinsfile").read_text()
    steps = [step.replace(r"\'", "'") for step in re.findall(r"sh '(.*)'", pipeline)]
    assert job["script"][1] == steps[1].removeprefix("env/bin/")  # the lines before install
    ended = subprocess.run(job["script"][1], shell=True, cwd=project, env=environment(), text=True,
                           capture_output=True)  # fmt: skip
    assert ended.returncode == 1 and "VIOLATION" in ended.stdout, ended
    kept = (project / job["artifacts"]["reports"]["junit"]).read_text()
    found = json.loads((project / job["artifacts"]["paths"][0]).read_text())
    assert "<failure" in kept and found["runs"][0]["results"]
    assert "pattern: 'ldp.sarif'" in pipeline and "junit 'ldp.xml'" in pipeline


def leaky(values, rng):
    """Randomised response that keeps epsilon = 1, and a field that shows the value."""
    noisy = answers(0.27)([value % 2 for value in values], rng)
    return [{"answer": x, "value": v} for v, x in zip(values, noisy)]


KINDS = "gdp", "laplace"


def safe(value):
    return {"answer": value if random.random() < 0.7 else 1 - value}


def test_the_message_is_one_screen_whose_code_runs_and_repeats():
    for inputs in ([0, 1], [5, 0, 1, 7]):
        with pytest.raises(AssertionError) as failed:
            assert_private(leaky, 1, inputs=inputs, reports=2000, seconds=1e9)
        first, *lines = str(failed.value).splitlines()
        told = dict(line.strip().split(": ", 1) for line in lines)
        assert first.startswith("VIOLATION") and len(lines) < 10
        assert "field value" in told["cause"] and "against" in told["pair"]
        event = eval(told["in code"], {"Entry": Entry})
        pair = re.search(r"inputs=(\[.*?\])", told["repeat"])[1]
        reports = np.array([{"answer": 1, "value": v} for v in eval(pair)] * 4, object)
        shown = event.holds(reports).tolist()
        assert len(eval(pair)) == 2 and len({*shown[:2]}) == 2  # which the event tells apart
        with pytest.raises(AssertionError, match="^VIOLATION"):
            eval(told["repeat"], {"assert_private": assert_private, "leaky": leaky})


def test_a_line_of_a_test_takes_what_the_command_line_takes(tmp_path, monkeypatch):
    two = {"inputs": [0, 1], "reports": 1000, "seconds": 1e9}
    assert not assert_private(leaky, 1, ignore=["value"], **two).violated
    assert assert_private(safe, 1, alpha=1e-6, **two).alpha == 1e-6
    for claim in ({"mu": 1.5}, {"curve": laplace(1)}):
        assert assert_private(safe, allow_inconclusive=True, **claim, **two).curve["kind"] in KINDS
    for claim in ({"mu": 0.3}, {"curve": laplace(0.3)}):
        with pytest.raises(AssertionError, match="^VIOLATION: (gdp|laplace)"):
            assert_private(safe, **claim, **two | {"reports": 4000})

    def fails(value):
        return 1 / value

    with pytest.raises(ValueError, match="ZeroDivisionError"):
        assert_private(fails, 1, **two)
    with pytest.raises(AssertionError, match="^VIOLATION"):
        assert_private(fails, 1, on_error="report", **two)
    program = tmp_path / "program.py"
    program.write_text(
        "import sys\nprint('hello', flush=True)\nfor x in sys.stdin: print(x, end='', flush=True)"
    )
    with pytest.raises(AssertionError, match="^VIOLATION") as failed:
        assert_private(command=f"{sys.executable} {program}", skip_lines=1, **two)
    assert "repeat: assert_private(epsilon=1.0, command=" in str(failed.value)
    (tmp_path / "processes_apart.py").write_text(APART)
    monkeypatch.syspath_prepend(tmp_path)
    import processes_apart

    assert not assert_private(processes_apart.process, 1, fresh_process=True, **two).violated
    with pytest.raises(AssertionError, match="^VIOLATION"):
        assert_private(processes_apart.process, 1, **two)


APART = f"""import os, random
def process(value):
    return value if os.getpid() == {os.getpid()} else random.random()
"""


@pytest.mark.parametrize("given, message", [
    ({}, "give either a client or a command"), ({"command": "cat", "client": safe}, "give either"),
    ({"client": safe, "mu": 1, "curve": laplace(1)}, "give mu or curve, not both"),
    ({"client": safe, "fresh_process": 1}, "fresh_process must be True or False"),
])  # fmt: skip
def test_one_client_and_one_claim(given, message):
    with pytest.raises(ValueError, match=message):
        assert_private(inputs=[0, 1], **given)


SUITE = """
import pytest
from ldpkit.testing import assert_private
from client import send
few = {"inputs": ["yes", "no"], "reports": 100, "allow_inconclusive": True}

@pytest.mark.ldp
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_marked(seed):
    assert_private(send, seed=seed, **few)
    assert_private(send, seed=seed + 10, **few)

def test_other():
    assert_private(send, **few)

def test_another():
    pass
"""


def audited(project, *options):
    """The audits of a run by test and place in the test, and what the file says of the suite."""
    status, said = pytest_in(project, "--ldp-file", "audits.json", *options)
    kept = json.loads((project / "audits.json").read_text())
    rows = {}
    for row in kept["audits"]:
        rows.setdefault(row["test"].rpartition("::")[2], []).append(row)
    return rows, kept["suite"], status, said


@pytest.fixture
def suite(project):
    (project / "client.py").write_text(CLIENT.format(lie=0.27))
    (project / "test_client.py").write_text(SUITE)
    return project


def test_a_suite_has_one_rate_whose_shares_follow_from_the_collected_tests(suite):
    rows, whole, status, said = audited(suite, "--ldp-alpha", "0.04")
    assert status == 0 and whole["audits"] == 7 and whole["alpha"] == 0.04
    # three marked tests and all others have a share each, of which the first audit has a half
    for seed in (1, 2, 3):
        assert [row["alpha"] for row in rows[f"test_marked[{seed}]"]] == pytest.approx(
            [5e-3, 1e-2 / 6]
        )
    assert [row["alpha"] for row in rows["test_other"]] == pytest.approx([2.5e-3])
    assert whole["alpha_used"] == pytest.approx(sum(r["alpha"] for rs in rows.values() for r in rs))
    assert whole["alpha_used"] <= 0.04 and "false alarms of the whole suite at most 0.04" in said
    for options in (["-k", "other"], ["-m", "not ldp"], ["-p", "xdist", "-n", "2"]):
        some, *_ = audited(suite, "--ldp-alpha", "0.04", *options)
        assert some["test_other"][0]["alpha"] == rows["test_other"][0]["alpha"]


def test_the_file_repeats_a_verdict_and_a_log_names_the_client(suite, monkeypatch):
    (suite / "client.py").write_text(CLIENT.format(lie=0.1))
    rows, whole, status, said = audited(suite, "-k", "other", "--ldp-sarif", "a.sarif")
    (row,) = rows["test_other"]
    assert (
        status == 1 and row["status"] == "violation" and row["repeats"] and whole["violation"] == 1
    )
    (result,) = json.loads((suite / "a.sarif").read_text())["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "client.py"
    monkeypatch.syspath_prepend(suite)
    monkeypatch.delitem(sys.modules, "client", raising=False)
    import client

    given = {name: row[name] for name in ("seed", "alpha", "reports")}
    with pytest.raises(AssertionError) as failed:
        assert_private(client.send, inputs=["yes", "no"], **given)
    monkeypatch.delitem(sys.modules, "client")
    assert str(failed.value).partition("Epsilon")[0] == row["verdict"].partition("Epsilon")[0]
    said = audited(suite, "-k", "other", "--ldp-no-values", "--tb=short")[3]
    assert "input 0" in said and "is 'yes'" not in said and "in code" not in said


def test_time_of_a_suite_goes_to_the_tests_that_are_left(monkeypatch):
    options = SimpleNamespace(ldp_alpha=0.01, ldp_suite_seconds=100.0, ldp_seconds=None)
    monkeypatch.setattr(plugin, "_options", options)
    monkeypatch.setattr(plugin, "_spent", 10.0)
    monkeypatch.setattr(plugin, "_now", {"alpha": 0.01, "audits": 0, "left": 9})
    assert plugin.shared(5.0, 0.01) == (10.0, 0.005)
    assert plugin.shared(5.0, 0.001)[1] == 0.001  # less than the share of the second audit
    options.ldp_seconds = 3.0  # of one audit
    assert plugin.shared(5.0, 0.01)[0] == 3.0
    monkeypatch.setattr(plugin, "_spent", 200.0)
    assert 0 < plugin.shared(5.0, 0.01)[0] < 1e-6


def test_a_test_that_time_cuts_short_is_no_pass(suite):
    text = SUITE.replace('"reports": 100, "allow_inconclusive": True', '"seconds": 60')
    (suite / "test_client.py").write_text(text)
    rows, whole, status, _ = audited(suite, "-k", "other", "--ldp-suite-seconds", AT_ONCE)
    assert status == 1 and whole["inconclusive"] == 1 and rows["test_other"][0]["seconds"] < 60
