"""The command line: its output, its exit statuses, and one line for every bad input. Counts are
those of Python's audit of the same seed."""

import itertools
import json
import math
import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from commands import REST, one_line, python, refused

from ldpkit import audit, beyond
from ldpkit.attacks import TwoValueTest
from ldpkit.cli import commands
from ldpkit.cli.group import COMMANDS
from ldpkit.mechanisms import CMS, GRADIENT, GRR, HR, KEY_VALUE, LHO, MECHANISMS, OUE, PM
from ldpkit.reports.base import ROUTES

SCRIPT = Path(sys.executable).parent / "ldpkit"
CLIENTS = """
import numpy as np

def oue(values, rng):
    bits = rng.random((len(values), 10)) < 1 / (np.e + 1)
    bits[np.arange(len(values)), values] = rng.random(len(values)) < 0.5
    return bits

def identity(values, rng):
    return values

def raising(values, rng):
    raise RuntimeError("two\\nlines")

def exiting(values, rng):
    raise SystemExit(0)
"""
TALKING = """
import ctypes, os, subprocess
import clients_here

def talking(values, rng):
    print("one moment")
    os.write(1, b"past Python")
    subprocess.run(["echo", "from a program"])
    ctypes.CDLL(None).puts(b"from C")
    return clients_here.oue(values, rng)

print("imported")
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty working directory with a module of clients, forgotten afterwards."""
    (tmp_path / "clients_here.py").write_text(CLIENTS)
    (tmp_path / "broken_here.py").write_text("def f(values, rng)\n")
    (tmp_path / "exiting_here.py").write_text("import sys\nsys.exit(0)\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p])
    yield tmp_path
    for name in ("clients_here", "broken_here", "exiting_here"):
        sys.modules.pop(name, None)


def run(text, folder=None):
    found = subprocess.run([SCRIPT, *text.split()], capture_output=True, text=True, cwd=folder)
    return found.returncode, found.stdout, found.stderr


def test_every_option_reaches_the_audit(call):
    for text, mechanism, given in [
        ("GRR --epsilon 0.5", GRR(7, 0.5), {}),
        ("GRR --epsilon 0.5 --attack tight --delta 0.01", GRR(7, 0.5), {"attack": "tight", "delta": 0.01}),
        ("GRR --epsilon 2 --faithful --alpha 0.05", GRR(7, 2.0), {"faithful": True, "alpha": 0.05}),
        ("GRR --epsilon 2 --pair 3 1 --seed 99", GRR(7, 2.0), {"pair": (3, 1), "seed": 99}),
        ("GRR --epsilon 2 --threads 2", GRR(7, 2.0), {"threads": 1}),
        ("LHO --g 3 --attack tight", LHO(7, 3), {"attack": "tight"}),
        # a seed is taken digit by digit
        *((f"GRR --epsilon 1 --seed {s}", GRR(7, 1.0), {"seed": s}) for s in (0, 2**53 + 1, 10**30 + 7)),
    ]:  # fmt: skip
        status, out, _ = call(f"audit --mechanism {text} --k 7 --trials 2e4 --json")
        own = audit(mechanism, **{"trials": 20_000} | given).to_dict()
        assert status == 0 and json.loads(out) | {"seconds": 0} == own | {"seconds": 0}, text


def test_without_json_it_prints_a_table_and_one_sentence(call):
    status, out, err = call("audit --mechanism OUE --k 100 --epsilon 1 --trials 300000 --seed 5")
    own, lines = audit(OUE(100, 1.0), trials=300_000, seed=5), out.splitlines()
    assert (status, err) == (0, "") and lines[-1] == own.verdict
    table = {line.split()[0]: line for line in lines[:-1]}
    for row, part in [
        ("mechanism", "OUE (k = 100)"), ("claim", "epsilon = 1, delta = 0"),
        ("counts", f"tp = {own.counts['tp']:,}, fp = {own.counts['fp']:,}"),
        ("epsilon_emp", f"{own.epsilon_emp:.4f}"), ("exact", f"{own.exact:.4f}"),
        ("lower", f"{own.lower:.4f} at level 0.99"), ("attack", "300,000 reports per input"),
    ]:  # fmt: skip
        assert part in table[row]
    status, out, _ = call("audit --mechanism LHO --k 10 --g 2 --trials 1000 --attack tight")
    assert status == 0 and "none, delta = 0" in out
    assert out.splitlines()[-1].startswith("No epsilon is claimed")


def test_list_has_one_line_for_each_mechanism_under_its_family():
    status, out, err = run("list")
    assert (status, err) == (0, "") and max(map(len, out.splitlines())) <= 120
    command = [sys.executable, "-m", "ldpkit", "list"]
    module = subprocess.run(command, capture_output=True, text=True)
    assert (module.returncode, module.stdout) == (0, out)
    families, family, rooms = {}, "", []
    for line in out.splitlines():
        if line.startswith("--- "):
            rooms.append(len(sum(families.values(), [])))
        elif line.startswith("  "):
            assert len(line.split()) > 3 and line.endswith(".")
            families[family].append(line.split()[0])
        else:
            family = line
            assert families.setdefault(family, []) == []
    every = sum(families.values(), [])
    assert sorted(every) == sorted(MECHANISMS | KEY_VALUE | GRADIENT) and all(families.values())
    first, papers, last = rooms
    assert sorted(every[papers:]) == sorted(beyond.MECHANISMS) and (first, last) == (0, len(every))
    assert families["One bit per value"][:3] == ["SUE", "OUE", "THE"]
    assert families["Hadamard response and the Hadamard mechanism"] == ["HM", "HR"]
    assert families["Count mean sketches"] == ["CMS", "HCMS"]
    assert families["Mechanisms for one number"] == ["PM", "SW", "Duchi", "Hybrid"]


def test_rates_are_those_of_the_law_and_nothing_is_drawn(call, monkeypatch):
    monkeypatch.setattr("ldpkit.rng.sequence", None)  # no stream can be made
    for text, mechanism, pair in (
        ("OUE --k 100", OUE(100, 1.0), (3, 7)), ("HR --k 10", HR(10, 1.0), (0, 4)),
        ("PM", PM(1.0), (-1, 1)), ("CMS --k 9 --m 4 --hashes 3", CMS(9, 1.0, 4, 3), (8, 2)),
    ):  # fmt: skip
        given = f"{text} --epsilon 1 --attack tight --pair {pair[0]} {pair[1]} --json"
        status, out, err = call(f"rates --mechanism {given}")
        row, rates = json.loads(out), TwoValueTest().rates(mechanism, pair)
        assert (status, err, row["pair"]) == (0, "", list(pair)), text
        assert (row["tpr"], row["fpr"]) == rates, text
        assert (row["epsilon"], row["loss"], row["claim"]) == pytest.approx((1, 1, 1)), text
    for text, route in (("OUE", "formula"), ("SHE", "integrate"), ("OUE --tau 3", "convolve")):
        given = f"rates --mechanism {text} --k 9 --epsilon 1"
        assert json.loads(call(f"{given} --json")[1])["route"] == route
        assert ROUTES[route] in call(given)[1]
    out = call("rates --mechanism THE --k 10 --epsilon 1")[1]  # ln(p (1 - q) / (q (1 - p)))
    assert "0.8959889804 is the largest of any event, claimed 1" in out
    out = call("rates --mechanism LHO --k 10 --g 2 --attack tight --json")[1]
    assert json.loads(out)["loss"] is None


def test_the_list_of_commands_is_theirs_and_imports_none():
    every = commands().commands
    assert list(COMMANDS) == sorted(every)
    for name, (place, text) in COMMANDS.items():
        assert every[name].callback.__wrapped__ is pkgutil.resolve_name(place)
        assert every[name].get_short_help_str(10**3) == text
    code = ("import atexit, sys; from ldpkit.cli import main; atexit.register(lambda:"
            " print('numpy' in sys.modules)); main()")  # fmt: skip
    out, _ = python(code, "--help")
    assert out.endswith("False\n") and "Find the least noise" in out


def test_help_and_version_exit_with_status_zero(call):
    for text in ("--help", "audit --help", "list -h", "--version"):
        status, out, err = call(text)
        assert (status, err) == (0, "") and out, text


def test_commands_and_workers_start_without_what_only_tables_figures_and_solvers_need():
    code = ("import sys, ldpkit.cli, ldpkit.grid; ldpkit.cli.commands(); print({'pandas',"
            " 'matplotlib', 'sklearn', 'scipy.optimize'} & sys.modules.keys())")  # fmt: skip
    assert python(code)[0] == "set()\n"


def test_a_client_is_imported_from_the_working_directory_and_may_print(here):
    (here / "talking_here.py").write_text(TALKING)
    given = "--client talking_here:talking --report bits --k 10 --epsilon 1 --delta 0.05 --json"
    status, out, err = run(f"audit {given} --trials 100000 --independent", here)
    row = json.loads(out)
    assert status == 0 and out.count("\n") == 1 and list(row) == ["mechanism", "k", "report", *REST]
    wanted = {"mechanism": "talking_here:talking", "faithful": True, "exact_epsilon_emp": None}
    assert row | wanted | {"how": "real reports", "delta": 0.05} == row
    for words in ("imported", "one moment", "past Python", "from a program", "from C"):
        assert words in err


def test_a_violation_of_more_than_is_claimed_says_why(call):
    given = "audit --mechanism RSFD[GRR] --k 10 --d 3 --epsilon 1"
    said = call(f"{given} --attack tight")[1].splitlines()[-1]
    assert said.startswith("VIOLATION")
    assert "for records that differ in one attribute; the audited ones differ in all 3" in said
    assert f"ln(d (e^epsilon - 1) + 1) = {math.log1p(3 * math.expm1(1)):.4f}. The counts" in said
    said = call(f"{given} --trials 1000")[1].splitlines()[-1]
    assert said.startswith("No violation found") and "attribute" not in said


def test_no_level_is_rounded_to_certainty(call):
    levels = {"0.01": ("0.99", "99 %")} | {a: (f"1 - {a}",) * 2 for a in ("1e-12", "1e-100")}
    for alpha, (level, sure) in levels.items():
        out = call(f"audit --mechanism GRR --k 5 --epsilon 1 --alpha {alpha} --trials 100000")[1]
        assert f"at level {level}" in out and f"with {sure} confidence" in out, alpha


def test_an_output_that_nobody_reads_proves_nothing():
    ours, theirs = os.pipe()
    os.close(ours)
    found = subprocess.run([SCRIPT, "list"], stdout=theirs, stderr=subprocess.PIPE)
    os.close(theirs)
    assert (found.returncode, found.stderr) == (4, b"")


def test_a_result_that_could_not_be_written_is_a_failure():
    for command, said in (
        (f"{SCRIPT} list >&-", "standard output is closed"),
        (f"{SCRIPT} audit --mechanism GRR --k 5 --epsilon 1 >/dev/full", "No space left on device"),
    ):
        found = subprocess.run(command, shell=True, capture_output=True, text=True)
        assert (found.returncode, found.stdout) == (4, "") and one_line(found.stderr), command
        assert said in found.stderr


def test_what_is_kept_is_counted_and_removed(call, tmp_path, monkeypatch):
    code = tmp_path / "cache" / "numba"
    monkeypatch.setattr("ldpkit.jit.CACHE", tmp_path / "cache")
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    (code / "digest").mkdir(parents=True)
    (code / "digest" / "kernel.nbc").write_bytes(bytes(2_500_000))
    (tmp_path / "cache" / "data").mkdir()
    said = [f"machine code: 1 files, 2.5 MB in {code}\n"]
    said += [said[0].replace(" in ", " removed from ")]
    for text, out in zip(("cache", "cache --clear"), said):
        assert code.exists() and call(text) == (0, out, "")
    assert not code.exists() and (tmp_path / "cache" / "data").is_dir()
    assert call("cache")[1].startswith("machine code: 0 files")


def test_a_bad_client_gives_status_two_and_one_line(call, here):
    """What clients return is refused in `test_clients`."""
    asked = [(f"audit --client {name} --report bits --k 10 --epsilon 1 --trials 100", said) for name, said in [
        ("broken_here:f", "client 'broken_here:f' cannot be imported: SyntaxError"),
        ("exiting_here:f", "client 'exiting_here:f' cannot be imported: SystemExit"),
        ("clients_here:raising", "client clients_here:raising raised RuntimeError: two lines"),
        ("clients_here:exiting", "client clients_here:exiting raised SystemExit"),
        ("clients_here:identity", "client clients_here:identity must return 10 bits per user, got shape ("),
    ]]  # fmt: skip
    assert refused(call, asked) == []
    assert refused(lambda text: run(text, here), asked[3:4]) == []


def test_every_whole_number_is_read_in_one_way():
    """`1e6` is read wherever a whole number is: no option takes click's own integers."""
    every = [o.type for c in commands().commands.values() for o in c.params]
    assert not any(isinstance(kind, click.types.IntParamType) for kind in every)
    assert sum(kind.name == "integer" for kind in every) >= 60
    for kind in (k for k in every if k.name == "integer"):
        assert [kind.convert(said, None, None) for said in ("1e6", "2.E+1")] == [10**6, 20]
        for said in ("1.5e0", "1e-3"):
            with pytest.raises(click.BadParameter, match=f"^'{said}' is not a whole number$"):
                kind.convert(said, None, None)


def test_extreme_parameters_are_audited_or_refused_in_one_line(call):
    wrong = []
    ways = "--k 1e30 --epsilon 1", "--k 5 --epsilon 1e-20", "--k 1e30 --epsilon 1 --faithful"
    for name, options in itertools.product(sorted(set(MECHANISMS) - {"LHO"}), ways):
        status, _, err = call(f"audit --mechanism {name} {options} --trials 10")
        if not (status == 0 and err == "") and not (status == 2 and one_line(err)):
            wrong.append((name, options, status, err))
    assert wrong == []
