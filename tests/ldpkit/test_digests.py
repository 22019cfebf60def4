"""What a stored cell depends on, as far as ldpkit looks by itself."""

import os
import subprocess
import sys

import pytest

from ldpkit import digests
from ldpkit.auditors import Audit, KVAudit

CELL = """import helper

def cell(x, seed):
    return {"y": helper.FACTOR * x * (x in {"a", "b", 3})}
"""
# a notebook keeps the source of its cells where this lies
NOTEBOOK = f"""
import linecache
source = {CELL!r}
linecache.cache["<cell>"] = len(source), None, source.splitlines(True), "<cell>"
exec(compile(source, "<cell>", "exec"))
from ldpkit.digests import identity
print(identity(cell))
"""


def of_notebook(folder, hashes=0):
    """Identity of the function of a notebook in a folder, in a process of its own."""
    environment = os.environ | {"PYTHONHASHSEED": str(hashes)}
    command = [sys.executable, "-c", NOTEBOOK]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_notebook_counts_with_the_files_beside_it_and_is_the_same_in_every_process(tmp_path):
    (tmp_path / "helper.py").write_text("FACTOR = 2")
    before = of_notebook(tmp_path)
    assert {of_notebook(tmp_path, hashes) for hashes in (1, 2, 3)} == {before}
    (tmp_path / "helper.py").write_text("FACTOR = 3")
    assert of_notebook(tmp_path) != before


def test_a_function_of_a_file_counts_with_the_files_beside_it(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "counted_here.py").write_text(CELL)
    (tmp_path / "helper.py").write_text("FACTOR = 2")
    import counted_here

    before = digests.identity(counted_here.cell)
    assert digests.identity(counted_here.cell) == before
    (tmp_path / "helper.py").write_text("FACTOR = 3")
    assert digests.identity(counted_here.cell) != before


def test_functions_of_the_package_are_told_apart_and_others_refused():
    assert digests.identity(Audit.cell) != digests.identity(KVAudit.cell)
    for thing in (len, 3, Audit):
        with pytest.raises(TypeError, match="func must be a function"):
            digests.identity(thing)
