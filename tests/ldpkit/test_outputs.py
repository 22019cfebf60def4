"""Files that commands write: new ones or their own, never somebody else's; and what a message
repeats of what was given."""

import dataclasses
import json
import os
import re
import stat
import sys
import unicodedata
from pathlib import Path

import click
import numpy as np
import pytest

from ldpkit import Client, audit
from ldpkit.blackbox.clients import ClientError, Program
from ldpkit.cli import commands, main
from ldpkit.cli.group import brief
from ldpkit.digests import damaged, replace
from ldpkit.mechanisms import GRR
from ldpkit.progress import Progress

AUDIT = "audit --mechanism GRR --k 5 --epsilon 1 --attack tight --until-sure --trials 40"
LINES = {
    ("audit", "--save"): AUDIT,
    ("audit", "--html"): AUDIT,
    ("audit", "--sarif"): AUDIT,
    ("audit", "--junit"): AUDIT,
    ("resume", "--html"): "resume kept.state --trials 40",
    ("resume", "--sarif"): "resume kept.state --trials 40",
    ("resume", "--junit"): "resume kept.state --trials 40",
    ("sweep", "--out"): "sweep grid.yml --workers 1",
}
GRID = "audit: rad\nseed: 1\ngrid: {mechanism: GRR, k: 5, epsilon: 1, trials: 6}\n"


@pytest.fixture
def here(tmp_path, monkeypatch, call):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "grid.yml").write_text(GRID)
    assert call(f"{AUDIT} --trials 20 --save kept.state")[0] == 0
    return tmp_path


def test_every_option_that_names_an_output_is_here():
    found = {
        (name, option.opts[0])
        for name, command in commands().commands.items()
        for option in command.params
        if isinstance(option.type, click.Path) and not option.type.exists and option.type.file_okay
    }
    assert found == set(LINES)


def strangers():
    Path("thesis.txt").write_text("three years of work\n")
    Path("thesis.txt").chmod(0o600)
    Path("link").symlink_to("thesis.txt")
    Path("broken").symlink_to("nothing")
    os.mkfifo("pipe")
    Path("folder").mkdir()
    return ["thesis.txt", "link", "broken", "pipe", "folder", "missing/file", "grid.yml"]


def looks():
    """What lies in this folder, links not followed."""
    return {
        path.name: (path.lstat().st_mode, path.read_bytes() if path.is_file() else None)
        for path in Path().iterdir()
        if path.name != "kept.state"
    }


@pytest.mark.parametrize("option", LINES, ids=" ".join)
def test_nothing_else_is_replaced(here, call, option):
    names = strangers()
    before = looks()
    for name in names:
        status, out, err = call(f"{LINES[option]} {option[1]} {name}")
        assert (status, out, err.count("\n")) == (2, "", 1), (name, err)
        assert name in err and looks() == before


@pytest.mark.parametrize("option", LINES, ids=" ".join)
def test_a_file_of_its_own_is_replaced_and_keeps_its_mode(here, call, option):
    line = f"{LINES[option]} {option[1]} own"
    Path("own").touch()  # as mktemp makes one
    Path("own").chmod(0o640)
    assert call(line)[0] == 0
    text = Path("own").read_text()
    assert stat.S_IMODE(Path("own").stat().st_mode) == 0o640 and text
    Path("own").chmod(0o600)
    assert call(line)[0] == 0
    assert stat.S_IMODE(Path("own").stat().st_mode) == 0o600
    assert Path("own").read_text()[:40] == text[:40]


def test_an_audit_that_is_kept_behind_a_link_is_not_replaced(here, call):
    Path("link").symlink_to("kept.state")
    before = Path("kept.state").read_bytes()
    assert call("resume link --trials 40")[0] == 2
    assert Path("link").is_symlink() and Path("kept.state").read_bytes() == before


def test_two_outputs_are_two_files(here, call):
    for one, other in (("save", "html"), ("html", "sarif"), ("sarif", "junit")):
        status, out, err = call(f"{AUDIT} --{one} both --{other} both")
        assert (status, out) == (2, "") and f"--{one} and --{other} must name two files" in err
        assert not Path("both").exists()


def test_what_lies_where_an_unfinished_file_goes_is_not_written_through(here):
    Path("thesis.txt").write_text("three years of work\n")
    Path(f"page.{os.getpid()}.tmp").symlink_to("thesis.txt")
    replace(Path("page"), "new")
    assert Path("thesis.txt").read_text() == "three years of work\n"
    assert Path("page").read_text() == "new" and not Path("page").is_symlink()
    Path("link").symlink_to("thesis.txt")
    with pytest.raises(ValueError, match="output must be a new or a regular file, got link"):
        replace(Path("link"), "new")


def test_a_sweep_is_described_by_a_file_of_moderate_size(here, call):
    os.mkfifo("pipe.yml")
    Path("huge.yml").touch()
    os.truncate("huge.yml", 2**33)  # a file of holes
    Path("endless.yml").symlink_to("huge.yml")
    for name, why in (
        ("pipe.yml", "a sweep is described by a regular file"),
        ("huge.yml", "longer than 262,144 bytes"),
        ("endless.yml", "longer than 262,144 bytes"),
    ):
        status, out, err = call(f"sweep {name} --workers 1")
        assert (status, out, err) == (2, "", f"ldpkit: {name}: {why}\n")


@pytest.mark.parametrize("given, shown", [
    ("k must be an integer, got 'five'", "k must be an integer, got 'five'"),
    ("a\n  b\tc", "a b c"),
    ("got " + "x" * 100_000 + ", not y", None),
    ("got '" + "x y " * 25_000 + "', not y", None),
    ('got "' + "x y " * 25_000 + '", not y', None),
    ("got [" + "1, " * 33_000 + "1], not y", None),
    ("the client's word " + "and " * 100 + "the user's", None),
])  # fmt: skip
def test_a_message_repeats_little_of_a_long_value(given, shown):
    found = brief(given)
    assert found == shown if shown else len(found) < 2100
    if shown is None:
        assert found[:4] == given[:4] and found[-5:] == given[-5:]
        assert (" characters)... " in found) == (len(given) > 2000)


@pytest.mark.parametrize("line", ["audit --mechanism {}", "{}", "audit --{}", "sweep {}", "data {}",
                                  "audit --mechanism GRR --k {}", "plan --rate {}"])  # fmt: skip
def test_every_error_is_short(here, call, line):
    status, out, err = call(line.format("x" * 100_000))
    assert status in (2, 4) and out == "" and err.count("\n") == 1 and 20 < len(err) < 2500


NASTY = "a\x1b]0;b\x07\r\n\x7f\x9b[2J\u061c\u200f\u202e\u2066\u2028\u2029c"
CLIENTS = f"""
NASTY = {NASTY!r}

def field(value):
    return {{NASTY: value}}

def text(value):
    return NASTY

def fails(value):
    raise RuntimeError(NASTY)
"""
PROGRAM = "import sys\nfor line in sys.stdin: "
LEAKS = ["audit", "--epsilon", "1", "--trials", "300"]
TWO = ["--inputs", "[0,1]"]
CLIENT, RECORDED = [*LEAKS, *TWO, "--client"], [*LEAKS, "--recordings"]
COMMAND = [*LEAKS, *TWO, "--command"]
EXACT = ["exact", "--epsilon", "1", *TWO, "--client"]
MECHANISM = ["--mechanism", "GRR", "--k", "3", "--epsilon", "1"]
PLACES = {
    "field of a report": [*CLIENT, "nasty:field"],
    "field of a report, as JSON": [*CLIENT, "nasty:field", "--json"],
    "input": [*LEAKS, "--inputs", json.dumps([NASTY, "b"]), "--client", "nasty:field"],
    "exception": [*CLIENT, "nasty:fails"],
    "name of a client": [*CLIENT, f"nasty:{NASTY}"],
    "field of a recording": [*RECORDED, "field.jsonl", "other.jsonl"],
    "column of a recording": [*RECORDED, "column.csv", "columns.csv"],
    "name of a recording that ends": [*RECORDED, f"{NASTY}.jsonl", "other.jsonl"],
    "name of a recording that is none": [*RECORDED, f"a.{NASTY}", "other.jsonl"],
    "field to ignore": [*RECORDED, "field.jsonl", "other.jsonl", "--ignore", NASTY],
    "standard error of a program": [*COMMAND, f"{sys.executable} errors.py"],
    "output of a program": [*COMMAND, f"{sys.executable} output.py"],
    "name of a program": [*COMMAND, f"'{NASTY}'"],
    "exact: report": [*EXACT, "nasty:text"],
    "exact: report, as JSON": [*EXACT, "nasty:text", "--json"],
    "exact: exception": [*EXACT, "nasty:fails"],
    "plan: attack": ["plan", *MECHANISM, "--suspected", "2", "--attack", NASTY],
    "rates: mechanism": ["rates", "--mechanism", NASTY],
    "resume: file": ["resume", f"{NASTY}.jsonl"],
    "resume: no file": ["resume", NASTY],
    "sweep: table": ["sweep", "grid.yml", "--workers", "1", "--out", f"{NASTY}.csv"],
    "sweep: cell that fails": ["sweep", "fails.yml", "--workers", "1", "--allow", "nasty"],
    "sweep: key": ["sweep", "keys.yml"],
    "option": ["audit", f"--{NASTY}"],
    "command": [NASTY],
}  # fmt: skip


@pytest.mark.parametrize("place", PLACES)
def test_no_control_character_of_somebody_else_reaches_the_terminal(
    tmp_path, monkeypatch, capfd, place
):
    monkeypatch.chdir(tmp_path)
    line, cell = (
        NASTY.partition("\r")[0],
        {"mechanism": "nasty:fails", "report": "value", "independent": True},
    )
    fails = {"audit": "audit", "seed": 1, "grid": {"k": 3, "epsilon": 1, "trials": 9, **cell}}
    reports = {"field": {NASTY: 0}, "other": {NASTY: 1}, NASTY: {NASTY: 0}}
    files = {
        "nasty.py": CLIENTS, "grid.yml": GRID, "keys.yml": json.dumps({NASTY: 1}),
        "fails.yml": json.dumps(fails), "errors.py": f"{PROGRAM}sys.exit({NASTY!r})",
        "output.py": f"{PROGRAM}print({NASTY!r}, flush=True)",
        "column.csv": f"{line},y\n1,2\n", "columns.csv": "x,y\n1,2\n",
    } | {f"{name}.jsonl": f"{json.dumps(report)}\n" * (60 + len(name)) for name, report in reports.items()}  # fmt: skip
    for name, text in files.items():
        Path(name).write_text(text)
    with pytest.raises(SystemExit):
        main(PLACES[place])
    said = "".join(capfd.readouterr())
    controls = {c for c in said if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")}
    assert controls <= {"\n"} and re.search(r"\\x1b|\\u001b|\\x7f", said), said


def test_no_control_character_of_somebody_else_is_in_what_python_prints(recwarn):
    result = dataclasses.replace(audit(GRR(3, 1.0), trials=10), about=NASTY, mechanism=NASTY)
    bar = Progress(1, "cells", more=lambda: NASTY)
    damaged(NASTY)
    client = Client(Program([sys.executable, "-c", f"import sys; sys.exit({NASTY!r})"]), k=2,
                    report="value", epsilon=1.0)  # fmt: skip
    with pytest.raises(ClientError) as caught:
        client.perturb([0], np.random.default_rng(1))
    said = [str(result), str(bar), str(recwarn[0].message), str(caught.value), result.to_json()]
    for text in said:
        assert re.search(r"\\x1b|\\u001b", text) and "\x1b" not in text
        assert text.replace("\n", "").isprintable(), text
