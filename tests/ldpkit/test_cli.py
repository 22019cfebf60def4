"""The command line: its output, its exit statuses, and one line for every bad input.

A few calls run the installed `ldpkit` script in a process of its own; the many cases of bad input
call the same entry point inside this process. Nothing here is judged by chance: counts are compared
with Python's audit of the same seed.
"""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from ldpkit import streams
from ldpkit.attacks import TwoValueTest
from ldpkit.auditors import audit
from ldpkit.cli import commands
from ldpkit.kinds.base import ROUTES
from ldpkit.mechanisms import CMS, GRR, HR, LHO, MECHANISMS, OUE, PM, FaultyUE
from ldpkit.mechanisms.base import MAX_DOMAIN, MAX_EPSILON, MIN_EPSILON

SCRIPT = Path(sys.executable).parent / "ldpkit"
KEYS = (
    "mechanism k epsilon delta trials alpha seed attack faithful how pair questions tp fp tpr fpr"
    " epsilon_emp lower exact_epsilon_emp exact_sd claim violated status verdict warnings"
    " directions seconds"
).split()
CLIENTS = """
import numpy as np

def oue(values, rng):
    bits = rng.random((len(values), 10)) < 1 / (np.e + 1)
    bits[np.arange(len(values)), values] = rng.random(len(values)) < 0.5
    return bits

def identity(values, rng):
    return values

def one(value):
    return {value}

def raising(values, rng):
    raise RuntimeError("two\\nlines")

def nan(values, rng):
    return np.full((len(values), 10), np.nan)

def short(values, rng):
    return oue(values, rng)[1:]

def narrow(values, rng):
    return oue(values, rng)[:, 1:]

def outside(values, rng):
    return values + 10

def mutating(values, rng):
    values[0] = 1
    return values

def repeating(values, rng):
    return [[1, 1]] * len(values)

def exiting(values, rng):
    raise SystemExit(0)

def three(a, b, c):
    return a

number = 3
"""
TALKING = """
import ctypes, os, subprocess

def talking(values, rng):
    print("one moment")
    os.write(1, b"past Python")
    subprocess.run(["echo", "from a program"])
    ctypes.CDLL(None).puts(b"from C")
    return values

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


def one_line(err):
    return (
        err.startswith("ldpkit: ")
        and err.count("\n") == 1
        and err.endswith("\n")
        and "Traceback" not in err
    )


# --- what it prints -------------------------------------------------------------------------------


def test_json_has_the_agreed_keys_in_order_and_the_numbers_of_python():
    status, out, err = run(
        "audit --mechanism OUE --k 100 --epsilon 1 --trials 300000 --seed 5 --json"
    )
    assert (status, err) == (0, "") and out.count("\n") == 1
    printed, own = json.loads(out), audit(OUE(100, 1.0), trials=300_000, seed=5).row()
    assert list(printed) == KEYS
    assert printed | {"seconds": 0} == own | {"seconds": 0}


@pytest.mark.parametrize(
    "text, mechanism, given",
    [
        ("--mechanism GRR --k 7 --epsilon 0.5", GRR(7, 0.5), {}),
        (
            "--mechanism GRR --k 7 --epsilon 0.5 --attack tight --delta 0.01",
            GRR(7, 0.5),
            {"attack": "tight", "delta": 0.01},
        ),
        (
            "--mechanism GRR --k 7 --epsilon 2 --faithful --alpha 0.05",
            GRR(7, 2.0),
            {"faithful": True, "alpha": 0.05},
        ),
        (
            "--mechanism GRR --k 7 --epsilon 2 --pair 3 1 --seed 99",
            GRR(7, 2.0),
            {"pair": (3, 1), "seed": 99},
        ),
        ("--mechanism GRR --k 7 --epsilon 2 --threads 2", GRR(7, 2.0), {"threads": 1}),
        ("--mechanism LHO --k 7 --g 3 --attack tight", LHO(7, 3), {"attack": "tight"}),
    ],
)
def test_every_option_reaches_the_audit(call, text, mechanism, given):
    status, out, _ = call(f"audit {text} --trials 2e4 --json")
    assert status == 0
    assert json.loads(out) | {"seconds": 0} == audit(
        mechanism, **{"trials": 20_000} | given
    ).row() | {"seconds": 0}


@pytest.mark.parametrize("seed", [0, 2**53 + 1, 10**30 + 7])
def test_a_seed_is_taken_digit_by_digit(call, seed):
    status, out, _ = call(
        f"audit --mechanism GRR --k 5 --epsilon 1 --trials 10 --seed {seed} --json"
    )
    assert (status, json.loads(out)["seed"]) == (0, seed)


def test_without_json_it_prints_a_table_and_one_sentence(call):
    status, out, err = call("audit --mechanism OUE --k 100 --epsilon 1 --trials 300000 --seed 5")
    own, lines = audit(OUE(100, 1.0), trials=300_000, seed=5), out.splitlines()
    assert (status, err) == (0, "") and lines[-1] == own.verdict
    table = {line.split()[0]: line for line in lines[:-1]}
    assert "OUE (k = 100)" in table["mechanism"] and "epsilon = 1, delta = 0" in table["claim"]
    assert f"tp = {own.counts['tp']:,}, fp = {own.counts['fp']:,}" in table["counts"]
    assert f"{own.epsilon_emp:.4f}" in table["epsilon_emp"] and f"{own.exact:.4f}" in table["exact"]
    assert (
        f"{own.lower:.4f} at level 0.99" in table["lower"]
        and "300,000 reports per input" in table["attack"]
    )


def test_a_mechanism_without_a_claim_prints_none(call):
    status, out, _ = call("audit --mechanism LHO --k 10 --g 2 --trials 1000 --attack tight")
    assert (
        status == 0
        and "none, delta = 0" in out
        and out.splitlines()[-1].startswith("No epsilon is claimed")
    )


def test_list_has_one_line_for_each_mechanism():
    status, out, err = run("list")
    assert (status, err) == (0, "")
    lines = [line for line in out.splitlines() if line.startswith("  ")]
    assert sorted(line.split()[0] for line in lines) == sorted(MECHANISMS)
    assert all(len(line.split()) > 3 and line.endswith(".") for line in lines)
    assert max(map(len, out.splitlines())) <= 120


def test_list_names_a_family_above_its_members():
    families, family = {}, ""
    for line in run("list")[1].splitlines():
        if line.startswith("  "):
            families[family].append(line.split()[0])
        else:
            family = line
            assert family not in families
            families[family] = []
    assert families["Unary encoding"] == ["SUE", "OUE", "AUE", "ASUE", "FaultyUE"]
    assert families["Count mean sketches"] == ["CMS", "HCMS"]
    assert families["Mechanisms for one number"] == ["PM", "Duchi", "Hybrid", "SW"]
    assert all(families.values())


def test_rates_are_those_of_the_law_and_nothing_is_drawn(call, monkeypatch):
    monkeypatch.setattr(streams, "sequence", None)  # no stream can be made
    for text, mechanism, pair in (
        ("OUE --k 100", OUE(100, 1.0), (3, 7)),
        ("HR --k 10", HR(10, 1.0), (0, 4)),
        ("PM", PM(1.0), (-1, 1)),
        ("CMS --k 9 --m 4 --hashes 3", CMS(9, 1.0, 4, 3), (8, 2)),
    ):
        one, two = pair
        status, out, err = call(
            f"rates --mechanism {text} --epsilon 1 --attack tight --pair {one} {two} --json"
        )
        row, (tpr, fpr) = json.loads(out), TwoValueTest().rates(mechanism, pair)
        assert (status, err, row["pair"], row["tpr"], row["fpr"]) == (0, "", [one, two], tpr, fpr)
        assert (
            row["epsilon"] == pytest.approx(1)
            and row["loss"] == pytest.approx(1)
            and row["claim"] == 1
        )
    for text, route in (("OUE", "formula"), ("SHE", "integrate"), ("OUE --tau 3", "convolve")):
        row = json.loads(call(f"rates --mechanism {text} --k 9 --epsilon 1 --json")[1])
        assert row["route"] == route
        assert ROUTES[route] in call(f"rates --mechanism {text} --k 9 --epsilon 1")[1]
    out = call("rates --mechanism THE --k 10 --epsilon 1")[1]
    assert (
        "0.8959889804 of the event that tells most, claimed 1" in out
    )  # ln(p (1 - q) / (q (1 - p))) of the bits
    assert (
        json.loads(call("rates --mechanism LHO --k 10 --g 2 --attack tight --json")[1])["loss"]
        is None
    )


def test_a_mechanism_for_numbers_is_audited_without_a_domain(call):
    status, out, err = call(
        "audit --mechanism PM --epsilon 1 --attack tight --trials 20000 --pair -0.5 1 --json"
    )
    row = json.loads(out)
    assert (status, err, row["pair"], "k" in row) == (0, "", [-0.5, 1], False)
    assert row["exact_epsilon_emp"] is not None and 0.8 < row["lower"] < 1.1


def test_help_and_version_exit_with_status_zero(call):
    for text in ("--help", "audit --help", "list -h", "--version"):
        status, out, err = call(text)
        assert (status, err) == (0, "") and out


def test_the_module_is_the_command():
    found = subprocess.run([sys.executable, "-m", "ldpkit", "list"], capture_output=True, text=True)
    listed = [line for line in found.stdout.splitlines() if line.startswith("  ")]
    assert found.returncode == 0 and len(listed) == len(MECHANISMS)


# --- violations and clients -----------------------------------------------------------------------


def test_commands_and_workers_start_without_what_only_tables_figures_and_solvers_need():
    code = (
        "import sys, ldpkit.cli, ldpkit.sweep; ldpkit.cli.commands(); print({'pandas',"
        " 'matplotlib', 'sklearn', 'scipy.optimize'} & sys.modules.keys())"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout
        == "set()\n"
    )


def test_a_proven_violation_exits_with_status_one():
    text = "audit --mechanism FaultyUE --k 25 --epsilon 1 --trials 200000"
    status, out, err = run(f"{text} --attack tight")
    own = audit(FaultyUE(25, 1.0), "tight", trials=200_000)
    assert (
        (status, err) == (1, "")
        and out.splitlines()[-1] == own.verdict
        and own.verdict.startswith("VIOLATION")
    )
    assert run(text)[0] == 0  # the paper's attack does not see it


def test_a_client_is_imported_from_the_working_directory(here):
    given = (
        "audit --client clients_here:oue --report bits --k 10 --epsilon 1 --trials 100000 --json"
    )
    status, out, err = run(given, here)
    row = json.loads(out)
    assert (status, err) == (0, "") and list(row) == [*KEYS[:2], "report", *KEYS[2:]]
    assert (row["mechanism"], row["faithful"], row["exact_epsilon_emp"]) == (
        "clients_here:oue",
        True,
        None,
    )
    assert row["how"] == "real reports"
    for more, how in (("", "law"), ("--faithful", "real reports")):
        row = json.loads(
            run(f"audit --mechanism GRR --k 4 --epsilon 1 --trials 99 --json {more}")[1]
        )
        assert (row["how"], row["faithful"]) == (how, how != "law")


def test_a_client_that_leaks_exits_with_status_one(here, call):
    for name, report in (("identity", "value"), ("one", "subset")):
        status, out, err = call(
            f"audit --client clients_here:{name} --report {report} --k 10 --epsilon 3 --trials 5000"
        )
        assert (status, err) == (1, "") and out.splitlines()[-1].startswith(
            "VIOLATION: with 99 % confidence"
        )


def test_a_client_carries_its_claimed_delta(here, call):
    text = (
        "audit --client clients_here:oue --report bits --k 10 --epsilon 1 --delta 0.05 --trials"
        " 1000 --json"
    )
    assert json.loads(call(text)[1])["delta"] == 0.05


def test_what_a_client_prints_is_no_part_of_the_result(here):
    (here / "talking_here.py").write_text(TALKING)
    _, out, err = run(
        "audit --client talking_here:talking --report value --k 10 --epsilon 1 --trials 1000"
        " --json",
        here,
    )
    assert json.loads(out)["mechanism"] == "talking_here:talking" and out.count("\n") == 1
    assert all(
        words in err
        for words in ("imported", "one moment", "past Python", "from a program", "from C")
    )


def test_a_violation_of_more_than_is_claimed_says_why(call):
    out = call("audit --mechanism RSFD[GRR] --k 10 --d 3 --epsilon 1 --attack tight")[
        1
    ].splitlines()[-1]
    assert out.startswith("VIOLATION") and out.endswith(
        "RSFD[GRR] claims 1 for records that differ in one attribute; the audited ones differ in"
        " all 3, which may leak up to ln(d (e^epsilon - 1) + 1) ="
        f" {math.log1p(3 * math.expm1(1)):.4f}. The counts were drawn from the law of RSFD[GRR]: no"
        " report was made."
    )
    out = call("audit --mechanism RSFD[GRR] --k 10 --d 3 --epsilon 1 --trials 1000")[
        1
    ].splitlines()[-1]
    assert out.startswith("No violation found") and "attribute" not in out


@pytest.mark.parametrize(
    "alpha, level, sure",
    [
        ("0.01", "0.99", "99 %"),
        ("1e-12", "1 - 1e-12", "1 - 1e-12"),
        ("1e-100",) + ("1 - 1e-100",) * 2,
    ],
)
def test_no_level_is_rounded_to_certainty(call, alpha, level, sure):
    out = call(f"audit --mechanism GRR --k 5 --epsilon 1 --alpha {alpha} --trials 100000")[1]
    assert f"at level {level}" in out and f"with {sure} confidence" in out


def test_an_output_that_nobody_reads_proves_nothing():
    ours, theirs = os.pipe()
    os.close(ours)
    found = subprocess.run([SCRIPT, "list"], stdout=theirs, stderr=subprocess.PIPE)
    os.close(theirs)
    assert (found.returncode, found.stderr) == (4, b"")


@pytest.mark.parametrize("text", ["list", "audit --mechanism GRR --k 5 --epsilon 1 --trials 100"])
@pytest.mark.parametrize("where", [">/dev/full", ">&-"])
def test_a_result_that_could_not_be_written_is_a_failure(text, where):
    found = subprocess.run(f"{SCRIPT} {text} {where}", shell=True, capture_output=True, text=True)
    assert (found.returncode, found.stdout) == (4, "") and one_line(found.stderr)
    wanted = "No space left on device" if "full" in where else "standard output is closed"
    assert wanted in found.stderr


def test_what_is_kept_is_counted_and_removed(call, tmp_path, monkeypatch):
    code = tmp_path / "cache" / "numba"
    monkeypatch.setattr("ldpkit.cli.stored.CACHE", tmp_path / "cache")
    (code / "digest").mkdir(parents=True)
    (code / "digest" / "kernel.nbc").write_bytes(bytes(2_500_000))
    (tmp_path / "cache" / "data").mkdir()
    said = [f"machine code: 1 files, 2.5 MB in {code}\n"]
    said += [said[0].replace(" in ", " removed from ")]
    for text, out in zip(("cache", "cache --clear"), said):
        assert code.exists() and call(text) == (0, out, "")
    assert not code.exists() and (tmp_path / "cache" / "data").is_dir()
    assert call("cache")[1].startswith("machine code: 0 files")


LEAVING = """
import multiprocessing, os
from os import _exit

def now(value):
    os._exit(0)

def kept(values, rng):
    _exit(1)

def forks(value):
    if (child := os.fork()) == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return value
"""


@pytest.mark.parametrize("name, status", [("now", 2), ("kept", 2), ("forks", 0)])
@pytest.mark.filterwarnings("ignore:This process")
def test_a_client_cannot_end_the_audit_as_if_nothing_had_been_found(here, name, status):
    (here / "leaving_here.py").write_text(LEAVING)
    text = f"audit --client leaving_here:{name} --report value --k 3 --epsilon 30 --trials 5"
    found, out, err = run(text, here)
    assert found == status
    if status:
        assert out == "" and one_line(err)
        assert f"client leaving_here:{name} raised SystemExit: os._exit(" in err


# --- bad input: status 2 and one line -------------------------------------------------------------


OUE_5 = "audit --mechanism OUE --k 5 --epsilon 1 --trials 10"
BAD = [
    (
        "audit --mechanism OUE --k 1 --epsilon 1",
        f"k must be an integer in [2, {MAX_DOMAIN}], got 1",
    ),
    (
        "audit --mechanism OUE --k 0 --epsilon 1",
        f"k must be an integer in [2, {MAX_DOMAIN}], got 0",
    ),
    ("audit --mechanism OUE --k 2.5 --epsilon 1", "'--k': '2.5' is not a whole number"),
    ("audit --mechanism OUE --k ten --epsilon 1", "'--k': 'ten' is not a whole number"),
    ("audit --mechanism OUE --k nan --epsilon 1", "'--k': 'nan' is not a whole number"),
    ("audit --mechanism OUE --k inf --epsilon 1", "'--k': 'inf' is not a whole number"),
    ("audit --mechanism OUE --epsilon 1", "mechanism OUE needs k"),
    ("audit --mechanism OUE --k 5", "mechanism OUE needs epsilon; its parameters are k, epsilon"),
    (
        "audit --mechanism OUE --k 5 --epsilon 0",
        f"epsilon must be a number in [{MIN_EPSILON:g}, {MAX_EPSILON:g}], got 0",
    ),
    (
        "audit --mechanism OUE --k 5 --epsilon -1",
        f"epsilon must be a number in [{MIN_EPSILON:g}, {MAX_EPSILON:g}], got -1",
    ),
    (
        "audit --mechanism OUE --k 5 --epsilon nan",
        f"epsilon must be a number in [{MIN_EPSILON:g}, {MAX_EPSILON:g}], got nan",
    ),
    (
        "audit --mechanism OUE --k 5 --epsilon inf",
        f"epsilon must be a number in [{MIN_EPSILON:g}, {MAX_EPSILON:g}], got inf",
    ),
    ("audit --mechanism OUE --k 5 --epsilon one", "'--epsilon': 'one' is not a valid float"),
    ("audit --mechanism OLH --k 5 --epsilon 23", "epsilon must be a number in [1e-06, 22], got 23"),
    ("audit --mechanism LHO --k 5", "mechanism LHO needs g; its parameters are k, g"),
    ("audit --mechanism LHO --k 5 --g 1", "g must be an integer in [2, 4294967296], got 1"),
    ("audit --mechanism LHO --k 5 --g 2 --epsilon 1", "mechanism LHO does not take epsilon"),
    ("audit --mechanism OUE --k 5 --g 2 --epsilon 1", "mechanism OUE does not take g"),
    ("audit --mechanism OEU --k 5 --epsilon 1", "got 'OEU'; did you mean 'OUE'?"),
    ("audit --mechanism oue --k 5 --epsilon 1", "got 'oue'; did you mean 'OUE'?"),
    (f"{OUE_5} --delta -0.1", "delta must be a number in [0, 1), got -0.1"),
    (f"{OUE_5} --delta 1", "delta must be a number in [0, 1), got 1"),
    (f"{OUE_5} --delta nan", "delta must be a number in [0, 1), got nan"),
    (f"{OUE_5} --trials 0", "trials must be an integer in [1, 1000000000000], got 0"),
    (f"{OUE_5} --trials -3", "trials must be an integer in [1, 1000000000000], got -3"),
    (f"{OUE_5} --trials 1.5", "'--trials': '1.5' is not a whole number"),
    (f"{OUE_5} --alpha 0", "alpha must be a number in [1e-100, 1), got 0"),
    (f"{OUE_5} --alpha 1", "alpha must be a number in [1e-100, 1), got 1"),
    (f"{OUE_5} --alpha nan", "alpha must be a number in [1e-100, 1), got nan"),
    (f"{OUE_5} --seed -1", "seed must be an integer >= 0, got -1"),
    (f"{OUE_5} --seed x", "'--seed': 'x' is not a whole number"),
    (
        f"{OUE_5} --attack gues",
        "attack must be one of guess, tight, learned, got 'gues'; did you mean 'guess'?",
    ),
    (f"{OUE_5} --pair 0 5", "pair must be an integer in [0, 4], got 5"),
    (f"{OUE_5} --pair -1 3", "pair must be an integer in [0, 4], got -1"),
    (f"{OUE_5} --pair 2 2", "pair must hold two different values, got (2, 2)"),
    (f"{OUE_5} --threads 0", "threads must be an integer >= 1, got 0"),
    (f"{OUE_5} --report bits", "--report describes the reports of a --client"),
    (f"{OUE_5} --client clients_here:oue", "give either --mechanism or --client"),
    ("audit --k 5 --epsilon 1", "give either --mechanism or --client"),
    (f"{OUE_5} --colour red", "No such option"),
    ("audits", "No such command 'audits'"),
    (
        "audit --client clients_here:oue --k 10 --epsilon 1",
        "--client needs --report, --k and --epsilon",
    ),
    (
        "audit --client clients_here:oue --k 10 --report bits",
        "--client needs --report, --k and --epsilon",
    ),
]


@pytest.mark.parametrize("text, message", BAD, ids=[text.removeprefix("audit ") for text, _ in BAD])
def test_bad_input_gives_status_two_and_one_line(call, here, text, message):
    status, out, err = call(text)
    assert (status, out) == (2, "") and one_line(err), err
    assert message in err


@pytest.mark.parametrize(
    "client, report, message",
    [
        ("nonsense", "bits", "client must be given as module:function, got 'nonsense'"),
        (
            "no_such_module:f",
            "bits",
            "client 'no_such_module:f' cannot be imported: ModuleNotFoundError",
        ),
        (
            "clients_here:no_such",
            "bits",
            "client 'clients_here:no_such' cannot be imported: AttributeError",
        ),
        ("clients_here:number", "bits", "client 'clients_here:number' is not callable but a int"),
        ("broken_here:f", "bits", "client 'broken_here:f' cannot be imported: SyntaxError"),
        ("exiting_here:f", "bits", "client 'exiting_here:f' cannot be imported: SystemExit"),
        ("clients_here:three", "bits", "client must take (values, rng) or (value)"),
        ("clients_here:oue", "vector", "'vector' is not one of 'value', 'bits', 'subset', 'any'"),
        (
            "clients_here:raising",
            "bits",
            "client clients_here:raising raised RuntimeError: two lines",
        ),
        ("clients_here:exiting", "bits", "client clients_here:exiting raised SystemExit"),
        (
            "clients_here:nan",
            "bits",
            "client clients_here:nan must return 10 bits per user that are 0 or 1",
        ),
        ("clients_here:short", "bits", "client clients_here:short must return 100 reports, got 99"),
        ("clients_here:narrow", "bits", "must return 10 bits per user, got shape (100, 9)"),
        ("clients_here:identity", "bits", "must return 10 bits per user, got shape (100,)"),
        (
            "clients_here:identity",
            "subset",
            "must return a collection of distinct values in 0..9 per user",
        ),
        ("clients_here:outside", "value", "must return one integer in 0..9 per user, got 10"),
        ("clients_here:mutating", "value", "client clients_here:mutating changed its input array"),
        (
            "clients_here:repeating",
            "subset",
            "distinct values in 0..9 per user, got a repeated value",
        ),
    ],
)
def test_a_bad_client_gives_status_two_and_one_line(call, here, client, report, message):
    status, out, err = call(
        f"audit --client {client} --report {report} --k 10 --epsilon 1 --trials 100"
    )
    assert (status, out) == (2, "") and one_line(err), err
    assert message in err


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


@pytest.mark.parametrize("name", sorted(set(MECHANISMS) - {"LHO"}))
@pytest.mark.parametrize(
    "options", ["--k 1e30 --epsilon 1", "--k 5 --epsilon 1e-20", "--k 1e30 --epsilon 1 --faithful"]
)
def test_extreme_parameters_are_audited_or_refused_in_one_line(call, name, options):
    status, _, err = call(f"audit --mechanism {name} {options} --trials 10")
    assert (status == 0 and err == "") or (status == 2 and one_line(err))


@pytest.mark.parametrize(
    "text",
    [
        "audit --mechanism OUE --k 2.5 --epsilon 1",
        "audit --mechanism OEU --k 5 --epsilon 1",
        "audit --client clients_here:raising --report bits --k 10 --epsilon 1",
        "audit --client clients_here:nan --report bits --k 10 --epsilon 1",
        "audit --client clients_here:exiting --report bits --k 10 --epsilon 1",
    ],
)
def test_the_installed_command_gives_status_two_and_one_line(here, text):
    status, out, err = run(text, here)
    assert (status, out) == (2, "") and one_line(err), err


def test_the_command_is_installed_beside_its_interpreter():
    assert os.access(SCRIPT, os.X_OK)
    assert math.isfinite(
        json.loads(run("audit --mechanism GRR --k 5 --epsilon 1 --trials 1000 --json")[1])["lower"]
    )
