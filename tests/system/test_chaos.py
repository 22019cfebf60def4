"""The harness that breaks things on purpose, in short: `python -m ldpbook chaos` does the same at
length."""

import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parent
SHORT = """
import sys
from pathlib import Path
from chaos import faults, flips, growth, kills, lines

folder = Path(sys.argv[1])
for name, run, n in (("lines", lines.run, 25), ("faults", faults.run, 1), ("flips", flips.run, 8),
                     ("installation", kills.run_installation, 3)):
    (folder / name).mkdir()
    for row in run(1, n, folder / name):
        print(row["what"], row["noticed"], row["harmless"], row["wrong"], sep="|")
"""


def test_lines_faults_flips_and_kills_in_short(tmp_path):
    """In a process of its own, which forks: this one may have threads."""
    environment = os.environ | {"PYTHONPATH": str(TESTS), "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", SHORT, tmp_path]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0 and "WRONG" not in done.stdout, done.stdout + done.stderr
    lines = [line.split("|") for line in done.stdout.splitlines()]
    rows = {what: tuple(map(int, found)) for what, *found in lines}
    assert sum(rows["hostile command line"]) == 25 and all(row[2] == 0 for row in rows.values())
    assert rows["flipped bit of stored cells"] == (8, 0, 0)  # no bit is without a meaning there
    assert sum(rows["fault at every write of a sweep"]) > 15
    assert sum(rows["fault at every write of an audit that is kept"]) > 8
    assert sum(rows["kill of the installation"]) == 3 and len(rows) == 7
