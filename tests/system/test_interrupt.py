"""One Ctrl-C ends every command at once: status 130, what is known, no traceback, and no process is
left behind. A test waits for what a process says of itself, never for time; what is computed here
would run for days."""

import contextlib
import fcntl
import json
import os
import pty
import re
import signal
import socket
import subprocess
import sys
import termios
from pathlib import Path

import psutil
import pytest
from processes import LIMIT, heard, interrupted, started, until

SCRIPT = Path(sys.executable).parent / "ldpkit"
CLIENTS = """
import sys, threading

calls = 0

def stuck(here):
    sys.stderr.write(f"stuck in {here}\\n")  # in one piece: other threads write, too
    threading.Event().wait()

def slow(value):
    global calls
    calls += 1
    if calls >= 5000:
        stuck("a call")
    return value

def many(values, rng):
    if len(values) > 10_000:
        stuck("a chunk")
    return values

def spinning(values, rng):
    print("spinning", file=sys.stderr, flush=True)
    spin(10**18)
    return values

def steady(value):
    return value
"""
KERNEL = """
import numba, sys

@numba.njit(nogil=True)
def spin(turns):
    x = 1
    for _ in range(turns):
        x ^= x << 13
        x ^= x >> 7
        x ^= x << 17
    return x

"""


def client(folder, name, *options, before=""):
    (folder / "clients_here.py").write_text(before + CLIENTS)
    given = f"audit --client clients_here:{name} --report value --k 10 --epsilon 5 --trials 100000"
    given += " --independent"
    return started(SCRIPT, *given.split(), *options, cwd=folder)


@pytest.mark.parametrize("threads", ["1", "2"])
def test_a_client_of_one_value_is_interrupted_within_a_call(tmp_path, threads):
    with client(tmp_path, "slow", "--threads", threads) as process:
        until(process, "stuck in a call")
        found = interrupted(process)
    # another thread may have got stuck as well, and have said so
    said = next(line for line in found.splitlines() if line.startswith("ldpkit"))
    counts = r"ldpkit: interrupted after ([\d,]+) of 200,000 reports: tp = ([\d,]+) of ([\d,]+)"
    numbers = re.fullmatch(counts, said).groups()
    begun, hits, counted = (int(number.replace(",", "")) for number in numbers)
    assert 1000 <= hits == counted <= begun <= 5000


@pytest.mark.parametrize("threads", ["1", "2"])
def test_a_client_is_interrupted_within_a_chunk(tmp_path, threads):
    with client(tmp_path, "many", "--threads", threads) as process:
        until(process, "stuck in a chunk")
        found = interrupted(process).splitlines()  # another thread may say that it is stuck
        assert "ldpkit: interrupted after 0 of 200,000 reports" in found


def test_a_kernel_is_interrupted_in_a_thread_and_in_the_main_thread(tmp_path):
    at_once = "spin(1)\nprint('spinning', file=sys.stderr)\nspin(10**18)\n"
    for name, before in (("spinning", KERNEL), ("steady", KERNEL + at_once)):
        with client(tmp_path, name, before=before) as process:
            until(process, "spinning")
            said = interrupted(process)
        assert said.startswith("ldpkit: interrupted")
        assert name == "spinning" or said == "ldpkit: interrupted\n"


@pytest.mark.parametrize("command, stuck", [
    ("audit --mechanism OUE --k 5 --epsilon 1", "ldpkit.attacks.Guess.rates"),
    ("audit-kv --mechanism pckv-ue --epsilon 1", "ldpkit.auditors.KVAudit.run"),
    ("audit-gradient --adversary dummy --epsilon 1 --faithful", "ldpkit.mechanisms.LDPSGD.perturb"),
    ("audit-shuffle --epsilon 1 --clients 1000 --faithful", "ldpkit.mechanisms.LDPSGD.perturb"),
    ("refine --family ue --k 10 --epsilon 1", "ldpkit.refine.refine"),
    ("rad --mechanism GRR --m 10 --epsilon 1", "ldpkit.auditors.rad.rad_uniform"),
    ("calibrate --mechanism grr --m 2 --risk 0.1", "ldpkit.auditors.rad.calibrate"),
])  # fmt: skip
def test_every_command_is_interrupted_in_its_work(command, stuck):
    owner, _, name = stuck.rpartition(".")
    code = f"""
import sys, pkgutil, ldpkit.cli
ldpkit.cli.commands()
def spin(*given, **named):
    print("stuck", file=sys.stderr, flush=True)
    while True:
        pass
setattr(pkgutil.resolve_name({owner!r}), {name!r}, spin)
sys.argv[1:] = {command.split()!r}
ldpkit.cli.main()
"""
    said = r"ldpkit: interrupted( after 0 of [\d,]+ (reports|trials|data sets).*)?\n"
    with started(sys.executable, "-c", code) as process:
        until(process, "stuck")
        assert re.fullmatch(said, interrupted(process))


@pytest.mark.parametrize("command", [[SCRIPT], [sys.executable, "-m", "ldpkit"]])
def test_a_command_is_interrupted_while_it_is_imported(command, monkeypatch):
    monkeypatch.setenv("PYTHONPROFILEIMPORTTIME", "1")
    with started(*command, "list") as process:
        until(process, "numpy._core")  # far from all, and after the handler was set
        said = interrupted(process).splitlines()
    assert [line for line in said if "import time" not in line] == ["ldpkit: interrupted"]


def test_a_download_is_interrupted():
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        base = f"http://127.0.0.1:{silent.getsockname()[1]}"
        asked = "-m ldpbook datasets mnist adult --base".split()
        with started(sys.executable, *asked, base) as process, silent.accept()[0]:
            said = interrupted(process)
    assert said.startswith("ldpkit: interrupted after 0 of 2 data sets, in ")


def test_an_interrupt_that_the_shell_wants_ignored_is_ignored():
    code = """
import click, signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
from ldpkit import cli
sys.argv[1:] = []
cli.main(command=click.Command("c", callback=lambda: print(signal.raise_signal(signal.SIGINT))))
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (found.returncode, found.stdout, found.stderr) == (0, "None\n", "")


def test_a_caller_in_python_handles_interrupts_itself():
    code = "import signal, ldpkit.cli\nfrom ldpkit.attacks import Guess\n"
    code += "Guess.rates = lambda *given: signal.raise_signal(signal.SIGINT)\n"
    code += "ldpkit.cli.main('audit --mechanism OUE --k 5 --epsilon 1 --trials 10'.split())"
    with started(sys.executable, "-c", code) as process:
        out, err = process.communicate()
    assert (process.returncode, out, err.strip()) == (130, "", "ldpkit: interrupted")


def test_a_client_in_the_process_of_its_audit_cannot_catch_an_interrupt():
    code = "import contextlib, signal\nfrom ldpkit import audit\nfrom ldpkit import Client\n"
    code += "def catching(value):\n with contextlib.suppress(KeyboardInterrupt):\n"
    code += "  signal.raise_signal(signal.SIGINT)\n return value\n"
    code += "audit(Client(catching, 3, 'value', 1.0), 'tight', trials=300, independent=True)\nprint('not heard')"
    with started(sys.executable, "-c", code) as process:
        out, err = process.communicate()
    assert (process.returncode, out, err.splitlines()[-1]) == (-2, "", "KeyboardInterrupt")


@contextlib.contextmanager
def terminal(*command, cwd):
    """A process in a terminal, and a function that reads it until a pattern or the end."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 100))

    def own():
        heard()
        fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)

    streams = dict.fromkeys(("stdin", "stdout", "stderr"), theirs)
    given = {"cwd": cwd, "start_new_session": True, "preexec_fn": own}
    process = subprocess.Popen([*map(str, command)], **streams, **given)
    os.close(theirs)
    seen = ""

    def read(pattern=None):
        nonlocal seen
        while pattern is None or not re.search(pattern, seen):
            try:
                more = os.read(ours, 4096).decode()
            except OSError:  # nobody holds the other end any more
                more = ""
            if not more:
                assert pattern is None, f"{pattern!r} was never written: {seen!r}"
                break
            seen += more
        return seen

    try:
        yield ours, process, read
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        os.close(ours)


def test_a_terminal_shows_reports_per_second_and_the_time_left_and_a_pipe_nothing(tmp_path):
    (tmp_path / "clients_here.py").write_text(CLIENTS.replace("calls >= 5000", "False"))
    given = "audit --client clients_here:slow --report value --k 10 --epsilon 20 --independent --trials".split()
    with terminal(SCRIPT, *given, "1e9", cwd=tmp_path) as (keyboard, process, read):
        read(r"/2\.00G \[\d\d:\d\d<[\d:]+, [\d.]+k? reports/s\]")
        os.write(keyboard, b"\x03")
        said = read().splitlines()[-1]
        assert process.wait(LIMIT) == 130
    counted = r"ldpkit: interrupted after [\d,]+ of 2,000,000,000 reports(: tp = .*)?"
    assert re.fullmatch(counted, said)
    command = [SCRIPT, *given, "1e4", "--json"]
    piped = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert piped.stderr == "" and json.loads(piped.stdout)["trials"] == 10_000


def test_an_interrupted_sweep_says_what_is_kept_and_goes_on(tmp_path):
    sizes = (10, 20, 10**12, 10**12, 10**12)
    grid = [{"trials": n, "mechanism": "GRR", "k": 5, "epsilon": 1} for n in sizes]
    (tmp_path / "grid.yml").write_text(json.dumps({"audit": "audit", "seed": 1, "grid": grid}))
    command = SCRIPT, "sweep", "grid.yml", "--workers"
    with terminal(*command, "2", cwd=tmp_path) as (keyboard, process, read):
        read(r"grid: +40%.* 2/5 \[")
        os.write(keyboard, b"\x03")
        said = read().replace("\r", "").splitlines()
        assert process.wait(LIMIT) == 130
    kept = "kept in grid.cells: the next run goes on from there"
    assert said[-1] == f"ldpkit: interrupted after 2 of 5 cells, {kept}"
    assert "Traceback" not in "".join(said)
    assert len([*(tmp_path / "grid.cells").glob("*.json")]) == 2
    with terminal(*command, "1", cwd=tmp_path) as (keyboard, process, read):
        read(r"grid: +40%.* 2/5 \[")
        os.write(keyboard, b"\x03")
        assert "interrupted after 2 of 5 cells" in read()
        assert process.wait(LIMIT) == 130


def test_workers_hear_no_interrupt_while_they_start(tmp_path):
    (tmp_path / "grid.yml").write_text(json.dumps({
        "audit": "audit", "seed": 1, "fixed": {"mechanism": "GRR", "k": 5, "epsilon": 1},
        "grid": {"trials": [10**12, 10**12 - 1]},
    }))  # fmt: skip
    with started(SCRIPT, "sweep", "grid.yml", "--workers", "2", cwd=tmp_path) as process:
        lines = [""]
        while not any("loky" in line for line in lines):
            assert process.poll() is None
            lines = [" ".join(child.cmdline()) for child in psutil.Process(process.pid).children()]
        said = interrupted(process)
    assert said.startswith("ldpkit: interrupted after 0 of 2 cells, kept in grid.cells")


ENDLESS = """
import sys
from pathlib import Path
from ldpkit import Client
from ldpkit.blackbox.clients.client import SeparateClient
from ldpkit.grid import grid

def cell(x, seed):
    print("computing", file=sys.stderr, flush=True)
    while True:
        pass

def report(value):
    print("computing", file=sys.stderr, flush=True)
    while True:
        pass

def setup(app):  # of an extension of Sphinx, as the book's own
    from sphinx.util.parallel import ParallelTasks
    app.connect("builder-inited", lambda app: ParallelTasks(1).add_task(report, 0))

def site():
    from ldpbook import execute
    Path("_toc.yml").write_text("format: jb-book\\nroot: one\\n")
    Path("_config.yml").write_text("sphinx: {extra_extensions: [endless_here]}")
    Path("one.md").write_text("# One")
    execute.jupyter_book(["."], Path.cwd())
"""
SEPARATE = "SeparateClient.of('endless_here:report', k=3, report='value', epsilon=1.0)"
KILLED = {
    "workers": "grid(endless_here.cell, {'x': [1, 2, 3]}, seed=1, workers=2)",
    "a site's process": "site()",
    "a client's own process": f"{SEPARATE}.perturb(numpy.zeros(9, int), None)",
}


@pytest.mark.parametrize("what", KILLED)
def test_nobody_computes_on_when_the_first_process_was_killed(tmp_path, what):
    (tmp_path / "endless_here.py").write_text(ENDLESS)
    code = f"import numpy, endless_here; from endless_here import *; {KILLED[what]}"
    with started(sys.executable, "-c", code, cwd=tmp_path) as process:
        until(process, "computing")
        left = psutil.Process(process.pid).children(recursive=True)
        process.kill()
        assert left and not psutil.wait_procs(left, timeout=LIMIT)[1]
