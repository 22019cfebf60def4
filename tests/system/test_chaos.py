"""The harness that breaks things on purpose, in short: `python -m ldpbook chaos` does the same at
length."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from chaos.hook import sitecustomize

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
    done = subprocess.run(
        [sys.executable, "-c", SHORT, tmp_path], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0 and "WRONG" not in done.stdout, done.stdout + done.stderr
    lines = [line.split("|") for line in done.stdout.splitlines()]
    rows = {what: tuple(map(int, found)) for what, *found in lines}
    assert sum(rows["hostile command line"]) == 25 and all(row[2] == 0 for row in rows.values())
    assert rows["flipped bit of stored cells"] == (8, 0, 0)  # no bit is without a meaning there
    assert sum(rows["fault at every write of a sweep"]) > 15
    assert sum(rows["fault at every write of an audit that is kept"]) > 8
    assert sum(rows["kill of the installation"]) == 3 and len(rows) == 7


WRITES = """
import os, sys
sys.path.insert(0, sys.argv[1])
from chaos.hook import sitecustomize  # another one of this name may have been imported at the start
sitecustomize.install(os.getcwd(), sys.argv[2], int(sys.argv[3]), sys.argv[4])
open("one", "w").write("whole")
os.replace("one", "two")
open("two").read()
os.remove("two")
open("three", "w").write("whole")
"""


@pytest.mark.parametrize("at, how, status, left", [
    (1, "end", -9, {}), (2, "end", -9, {"one": "whole"}), (3, "end", -9, {"two": "whole"}),
    (4, "torn", -9, {"three": '{"torn": [1, '}), (4, "all", -9, {}), (4, "full", 1, {}),
    (5, "end", 0, {"three": "whole"}),
])  # fmt: skip
def test_every_write_is_counted_and_the_harm_done_at_the_one_that_is_meant(
    tmp_path, at, how, status, left
):
    place = tmp_path / "place"
    place.mkdir()
    hook = Path(sitecustomize.__file__).parents[2]
    command = [sys.executable, "-c", WRITES, hook, tmp_path / "counter", str(at), how]
    done = subprocess.run(command, cwd=place, capture_output=True, start_new_session=True)
    assert done.returncode == status
    assert {path.name: path.read_text() for path in place.iterdir()} == left
    assert (tmp_path / "counter").stat().st_size == min(at, 4)
