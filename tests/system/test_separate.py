"""Clients that would end or mislead an audit: it ends with status 2 and names the client, or it
finds what it finds of an honest client."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from commands import one_line
from processes import LIMIT, heard

SCRIPT = Path(sys.executable).parent / "ldpkit"
HEAD = """
import ctypes, os, signal, stat, subprocess, sys, threading
from os import _exit

"""
ENDING = {  # what a client of one value does, and what is said of it
    "os._exit(0)": "ended its process with exit status 0",
    "_exit(1)": "ended its process with exit status 1",
    "threading.Thread(target=os._exit, args=(3,)).start(); threading.Event().wait()":
        "ended its process with exit status 3",
    "sys.exit(0)": "raised SystemExit: 0",
    "raise KeyboardInterrupt": "raised KeyboardInterrupt",
    "raise GeneratorExit": "raised GeneratorExit",
    "ctypes.string_at(0)": "ended its process by signal 11",
    "os.abort()": "ended its process by signal 6",
    "os.kill(os.getpid(), signal.SIGTERM)": "ended its process by signal 15",
    "os.kill(0, signal.SIGKILL)": "was killed",
    "os.killpg(os.getpgrp(), signal.SIGINT)": "raised KeyboardInterrupt",
    "os.closerange(0, 256)": "ended its process with exit status 1",
    "[os.write(fd, bytes(64)) for fd in range(3, 64) if os.path.exists(f'/dev/fd/{fd}') and"
    " stat.S_ISSOCK(os.fstat(fd).st_mode)]": "",
    "input()": "raised EOFError",
}  # fmt: skip
HARMLESS = {  # what a client of many values does before it reports
    "nothing": "pass",
    "its output": "print('noise'); os.write(1, b'noise'); subprocess.run(['echo', 'noise'])",
    "its streams": "os.closerange(0, 2)",
    "its folder": "os.chdir('/')",
    "its signals": "[signal.signal(s, signal.SIG_IGN) for s in (2, 13, 15)]; signal.set_wakeup_fd(-1)",
    "a thread": "threading.Thread(target=threading.Event().wait).start()",
    "a process": "subprocess.Popen(['sleep', '1000'])",
    "a copy of its process": "os.fork() and os.wait()",
    "a caught interrupt": """
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt:
        pass""",
    "os._exit": "os._exit = os.kill = sys.exit = None",
    "the audit": "import ldpkit.stats, numpy; ldpkit.stats.epsilon_lower = numpy.mean = None",
}  # fmt: skip


def audited(folder, *options):
    """Audit the client `bad_here:client`: status, output, errors."""
    command = [SCRIPT, "audit", "--client", "bad_here:client", "--report", "value", "--k", "5"]
    done = subprocess.run(
        [*map(str, command), "--epsilon", "30", *options],
        capture_output=True, text=True, cwd=folder, timeout=LIMIT, preexec_fn=heard,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("how", [("--trials", "20", "--independent"), ("--trials", "20")])
@pytest.mark.parametrize("deed", ENDING)
def test_a_client_that_ends_its_process_ends_the_audit_with_status_two(tmp_path, deed, how):
    (tmp_path / "bad_here.py").write_text(f"{HEAD}def client(value):\n    {deed}\n    return value")
    status, out, err = audited(tmp_path, *how)
    assert (status, out) == (2, "") and one_line(err)
    assert err.startswith(f"ldpkit: client bad_here:client {ENDING[deed]}")


@pytest.mark.parametrize("deed", ["os._exit(0)", "sys.exit(0)", "raise KeyboardInterrupt"])
def test_a_client_that_ends_when_it_is_imported_is_refused(tmp_path, deed):
    (tmp_path / "bad_here.py").write_text(f"{HEAD}{deed}")
    status, out, err = audited(tmp_path)
    assert (status, out) == (2, "") and one_line(err) and "bad_here:client" in err


def test_whatever_a_client_does_in_its_process_the_result_is_the_same(tmp_path):
    rows = {}
    for name, deed in HARMLESS.items():
        (tmp_path / "bad_here.py").write_text(
            f"{HEAD}def client(values, rng):\n    {deed}\n    return rng.integers(0, 5, len(values))"
        )
        given = "--until-sure --trials 300 --save kept.state --json".split()
        status, out, err = audited(tmp_path, *given)
        assert status == 0 and "Traceback" not in err, name
        rows[name] = json.loads(out) | {"seconds": 0, "digest": ""}
        assert (tmp_path / "kept.state").exists(), name
        (tmp_path / "kept.state").unlink()
    assert [name for name in rows if rows[name] != rows["nothing"]] == []
