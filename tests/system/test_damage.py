"""Damage that a build mends is told to the person who builds, and is in no executed notebook."""

import json
import multiprocessing
import re
from pathlib import Path

from notebooks import notebook

from ldpbook import execute

ROOT = Path(__file__).parents[2]

HELPER = """
from ldpkit import grid

def one(x, seed):
    return {"y": x}

def half(x):
    return x / 2

def table():
    return grid.grid(one, {"x": [1]}, seed=1, workers=1, store="kept")
"""
STORED = """
from pathlib import Path
import helper
helper.table()
for path in Path("kept").iterdir():
    path.write_text("[]")
print(len(helper.table()))
"""
COMPILED = """
from ldpkit import jit
jit.CACHE = Path("code").resolve()
jit.kernel(helper.half)(1.0)
for path in Path("code").rglob("*.nbi"):
    path.write_bytes(b"no code")
print(jit.kernel(helper.half)(1.0))
"""


def test_damage_is_told_to_whoever_builds_and_is_in_no_notebook(tmp_path, monkeypatch, capfd):
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "helper.py").write_text(HELPER)
    (tmp_path / "book" / "one.ipynb").write_text(notebook(STORED, COMPILED))
    project, given = execute.Project(tmp_path), (tmp_path, "book/one", {}, "any")
    # as a build does: later kernels of that process would be copies of the first
    runner = multiprocessing.get_context("spawn").Process(target=execute.execute, args=given)
    runner.start()
    runner.join()
    assert runner.exitcode == 0
    told = capfd.readouterr().err
    assert re.search(r"^damaged   book/one: stored result \S+ of {'x': 1} is damaged;", told, re.M)
    assert re.search(r"^damaged   book/one: compiled code in \S+ is damaged \(\S+\);", told, re.M)
    found = project.executed("book/one").read_text()
    assert not re.search(f"damaged|Warning|{ROOT}|{tmp_path}", found)
    cells = json.loads(found)["cells"]
    assert [[out["text"] for out in cell["outputs"]] for cell in cells] == [["1\n"], ["0.5\n"]]
