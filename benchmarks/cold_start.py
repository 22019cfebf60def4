"""Measure a first verdict where there is only Python: seconds by part, written to two files.

The file needs no other one, so that a new system without this project can run it::

    python3 cold_start.py ldpkit-0.4.0-py3-none-any.whl cold_start.csv

A client sends its value. Each audit of it begins without machine code, except the one that says
otherwise. Each part after the installation is the fastest of three, because a machine may have
other users.
"""

import csv
import datetime
import importlib.metadata
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CLIENT = """
def send(value):
    return {"answer": value, "version": 3}
"""
TEST = """
from client import send
from ldpkit.testing import assert_private


def test_an_answer_stays_private():
    assert_private(send, epsilon=1, inputs=["yes", "no"])
"""


def timed(command, folder, status, first=None):
    """Return the seconds of a command, and those of its processors; it must end with a status.

    The command `first` runs before it.
    """
    if first:
        subprocess.run(first, cwd=folder, check=True)
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    spent, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != status:
        raise SystemExit(f"{command} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return spent, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def parts(wheel, folder):
    """Yield each part, and its seconds of time and of processors."""

    def best(*asked):
        return min(timed(*asked) for _ in range(3))

    (folder / "client.py").write_text(CLIENT)
    (folder / "test_client.py").write_text(TEST)
    os.environ["NUMBA_CACHE_DIR"] = str(folder / "code")
    env, empty = folder / "env" / "bin", ["rm", "-rf", "code"]
    fetch = [env / "pip", "download", "-q", "-d", "wheels", wheel, "pytest"]
    install = [env / "pip", "install", "-q", "--no-index", "--find-links", "wheels"]
    load = [env / "python", "-c", "from ldpkit import audit; import numba, scipy"]
    ask = [env / "ldpkit", "audit", "--client", "client:send", "--epsilon", "1"]
    ask += ["--inputs", '["yes", "no"]']
    test = [env / "python", "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    yield "new environment", *timed([sys.executable, "-m", "venv", "env"], folder, 0)
    yield "download", *timed(fetch, folder, 0)
    yield "installation", *timed([*install, "ldpkit"], folder, 0)
    yield "installation of pytest", *timed([*install, "pytest"], folder, 0)
    yield "imports", *best(load, folder, 0)
    yield "first verdict", *best(ask, folder, 1, empty)
    yield "first verdict by pytest", *best(test, folder, 1, empty)
    os.environ["LDPKIT_COMPILE"] = "1"
    yield "verdict that compiles everything", *timed(ask, folder, 1, empty)
    yield "verdict with machine code", *best(ask, folder, 1)


def main(wheel, path):
    """Write the table, and a file with machine and versions."""
    with tempfile.TemporaryDirectory() as folder:
        found = [*parts(Path(wheel).resolve(), Path(folder))]
        rows = [(part, *(round(x, 2) for x in spent)) for part, *spent in found]
        (site,) = Path(folder).glob("env/lib/python3*/site-packages")
        installed = importlib.metadata.distributions(path=[str(site)])
        versions = {one.name: one.version for one in installed}
    with open(path, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([("part", "seconds", "processor seconds"), *rows])
    said = {
        "command": "python3 " + " ".join([Path(__file__).name, Path(wheel).name, Path(path).name]),
        "date": datetime.date.today().isoformat(),
        "system": Path("/etc/os-release")
        .read_text()
        .partition('PRETTY_NAME="')[2]
        .partition('"')[0],
        "cores": len(os.sched_getaffinity(0)),
        "load at the end": round(os.getloadavg()[0], 1),
        "versions": {"Python": platform.python_version(), **versions},
    }
    Path(path).with_suffix(".json").write_text(json.dumps(said, indent=1) + "\n")
    for row in rows:
        print(*row, sep="\t")


if __name__ == "__main__":
    main(*sys.argv[1:])
