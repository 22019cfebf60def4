"""A build that is killed goes on where it was: nothing finished is computed again, nothing half
written is read. A real build and a script with the same sweep are killed in turn at moments from a
fixed seed, each alone or with its process group."""

import hashlib
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time

import pytest
from notebooks import notebook

from ldpkit.grid import grid

KILLS = 6
THERE = "os.chdir(os.path.join(sys.argv[1], 'book')); sys.path.insert(0, os.getcwd())"
SWEEP = f"import sys, os; {THERE}; cells = 24\n"
RUN = "import sys; from ldpbook import execute; sys.exit(execute.run(sys.argv[1], jobs=1))"
HELPER = """
import uuid
from pathlib import Path
import numpy as np
from ldpkit.rng import generator

def cell(x, seed):
    (Path(__file__).parents[1] / "trace" / f"{x}-{uuid.uuid4().hex}").touch()
    total = float(np.linalg.svd(generator(seed).random((300, 300)), compute_uv=False).sum())
    return {"again": x, "total": round(total, 6)}
"""
PAGE = """
import helper
from ldpkit.grid import grid
table = grid(helper.cell, {"x": list(range(cells))}, seed=1, workers=2, store="../_build/sweeps")
print(table.to_csv())
"""


@pytest.fixture
def checkout(tmp_path):
    def make(name):
        root = tmp_path / name
        (root / "book").mkdir(parents=True)
        (root / "trace").mkdir()
        (root / "_toc.yml").write_text("format: jb-book\nroot: book/one\n")
        (root / "book" / "helper.py").write_text(HELPER)
        text = notebook("cells = 24  # of the grid, at least 1", PAGE)
        (root / "book" / "one.ipynb").write_text(text)
        return root

    return make


def start(root, code=RUN):
    command = [sys.executable, "-c", code, str(root)]
    return subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL)


def results(root):
    """Everything that a later build may read, apart from records of times."""
    wanted = [*root.glob("_build/executed/book/*.ipynb"), *root.glob("_build/sweeps/*.json")]
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in wanted}


def finished(root):
    """The cells whose results are stored; every file under a final name has to be whole."""
    found = set()
    for path in root.glob("_build/sweeps/*.json"):
        check, _, text = path.read_text().partition("\n")
        assert check == hashlib.sha256(f"{path.stem}\n{text}".encode()).hexdigest(), path
        found.add(json.loads(text)[0]["again"])
    for path in root.glob("_build/executed/book/*.json"):
        json.loads(path.read_text())
    return found


def computed(root):
    """How often each cell was begun."""
    names = [int(path.name.partition("-")[0]) for path in (root / "trace").iterdir()]
    return {x: names.count(x) for x in set(names)}


def test_a_build_killed_at_random_moments_ends_with_the_bytes_of_one_that_was_not(checkout):
    whole, durations = checkout("whole"), {}
    for code in (SWEEP + PAGE, RUN):  # the second takes the cells of the first from the store
        begin = time.monotonic()
        assert start(whole, code).wait() == 0
        durations[code] = time.monotonic() - begin
    wanted = results(whole)
    assert len(wanted) == 25 and computed(whole) == dict.fromkeys(range(24), 1)

    root = checkout("killed")
    draw = random.Random(1)
    done: set[int] = set()
    for turn in range(KILLS):
        before, code = computed(root), RUN if turn % 2 else SWEEP + PAGE
        process = start(root, code)
        try:
            process.wait(timeout=durations[code] * draw.uniform(0.1, 1.0))
        except subprocess.TimeoutExpired:
            if draw.random() < 0.5:
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
            process.wait()
        after = computed(root)
        assert [x for x in done if after[x] != before[x]] == []
        assert results(root).items() <= wanted.items()
        done = finished(root)
        if turn == KILLS // 2:  # begin again, or all is finished long before the last kill
            shutil.rmtree(root / "_build", ignore_errors=True)
            done = set()
    assert start(root).wait() == 0
    assert results(root) == wanted


def test_a_full_disk_stops_a_sweep_and_loses_nothing(tmp_path, checkout, monkeypatch):
    monkeypatch.syspath_prepend(checkout("full") / "book")
    import helper

    store = tmp_path / "store"
    cells = {"x": list(range(6))}
    whole = grid(helper.cell, cells, seed=1, workers=1)
    grid(helper.cell, {"x": [0, 1]}, seed=1, workers=1, store=store)
    kept = {path.name: path.read_bytes() for path in store.iterdir()}
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    previous = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        # no file may grow beyond 40 bytes
        resource.setrlimit(resource.RLIMIT_FSIZE, (40, limits[1]))
        with pytest.raises(OSError, match="File too large"):
            grid(helper.cell, cells, seed=1, workers=1, store=store)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, previous)
    assert {path.name: path.read_bytes() for path in store.iterdir()} == kept
    assert grid(helper.cell, cells, seed=1, workers=1, store=store).equals(whole)
