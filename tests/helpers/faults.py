"""Make one small fault in the code at a time, and see whether the tests of its module fail.

The fault is named by its row in the table::

    python -m ldpbook faults              # all of tests/data/faults.csv: more than an hour
    python -m ldpbook faults 3 17 250     # these rows

The faults were drawn with a fixed seed from the mutations of cosmic-ray, a hundred from each of
four parts of ldpkit. Each fault replaces some lines. If these lines are no longer in their file,
the row is skipped and named. Only a copy of the checkout is changed. The column `killed` tells
whether the tests failed when the table was written.
"""

import csv
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "tests" / "data" / "faults.csv"
LIMIT = 900  # seconds: a test that does not end also notices the fault
TESTS = {
    "stats": "ldpkit/stats ldpkit/verdicts ldpkit/buehler ldpkit/hostile",
    "betting": "ldpkit/blackbox/betting ldpkit/sequential_bets ldpkit/blackbox/sequential",
    "kinds": "ldpkit/reports ldpkit/attacks ldpkit/approximate ldpkit/longitudinal ldpkit/multidimensional ldpkit/any_reports"
    " ldpkit/hashing ldpkit/mechanisms ldpkit/properties ldpkit/bits ldpkit/testing",
    "attacks": "ldpkit/attacks ldpkit/rad_game book/rad_dpsgd ldpkit/poison ldpkit/sgd_attacks ldpkit/hostile",
}
"""Test files that judge the faults of each part."""


def judged(row, copy):
    """Return whether the tests fail with a fault, or None if its lines no longer exist."""
    path = copy / row["module"]
    text = path.read_text() if path.exists() else ""
    lines, old, new = text.splitlines(), row["before"].splitlines(), row["after"].splitlines()
    places = [i for i in range(len(lines)) if lines[i : i + len(old)] == old]
    if not places:
        return None
    at = min(places, key=lambda i: abs(i + 1 - int(row["line"])))
    path.write_text("\n".join([*lines[:at], *new, *lines[at + len(old) :]]) + "\n")
    names = [name.replace("/", "/test_") for name in TESTS[row["group"]].split()]
    files = [f"tests/{name}.py" for name in names]
    own = {"PYTHONPATH": f"{copy}:{copy / 'book'}", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *files]
    with tempfile.TemporaryDirectory() as cache:  # machine code of other sources would hide a fault
        env = os.environ | own | ({"NUMBA_CACHE_DIR": cache} if "@kernel" in text else {})
        try:
            done = subprocess.run(command, cwd=copy, env=env, timeout=LIMIT, capture_output=True)
            return done.returncode != 0
        except subprocess.TimeoutExpired:
            return True
        finally:
            path.write_text(text)


def main():
    """Judge the named rows, or all rows, and compare the results with the table."""
    with TABLE.open() as file:
        rows = list(csv.DictReader(file))
    wanted = [int(word) for word in sys.argv[1:]] or range(len(rows))
    lost = []
    with tempfile.TemporaryDirectory() as folder:
        for name in ("ldpkit", "book", "data", "tests", "benchmarks"):
            shutil.copytree(ROOT / name, Path(folder, name))
        shutil.copy(ROOT / "pyproject.toml", folder)
        for number in wanted:
            found = judged(rows[number], Path(folder))
            said = {None: "not there any more", True: "killed", False: "survived"}[found]
            print(number, rows[number]["module"], rows[number]["line"], said, flush=True)
            if found is False and rows[number]["killed"] == "yes":
                lost.append(number)
    sys.exit(f"killed before and not now: {lost}" if lost else 0)


if __name__ == "__main__":
    main()
