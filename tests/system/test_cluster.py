"""Sweeps from a file, on this machine and on a Dask cluster of real processes, which all tests
share: the same bytes from every way. The scheduler gives up on a task when one worker died of it,
and never on a worker that is slow to start again."""

import importlib.metadata
import itertools
import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import dask
import pandas as pd
import pytest
from distributed import KilledWorker, LocalCluster
from grid_cells import failing, fragile

import ldpkit.executors
from ldpkit import executors
from ldpkit.auditors import AUDITS, RADAudit
from ldpkit.cli import sweep as command
from ldpkit.grid import GridError, grid

pytestmark = pytest.mark.xdist_group("cluster")  # one cluster serves all tests of this file

ROOT = Path(__file__).parents[2]
GRIDS = {
    "audit": {"mechanism": ["GRR", "OUE", "OLH"], "k": [5], "epsilon": [0.5, 2.0], "trials": [500], "faithful": [False, True]},
    "kv": {"mechanism": ["PCKV-UE", "PCKV-GRR"], "k": [2, 3], "epsilon": [1.0], "trials": [10000], "runs": [2]},
    "rad": {"mechanism": ["GRR", "SS", "OUE"], "k": [4, 8], "epsilon": [1.0], "trials": [100], "faithful": [False, True]},
    "gradient": {"adversary": ["dummy"], "epsilon": [1.0, 4.0], "dimension": [60, 80], "trials": [50]},
    "shuffle": {"epsilon": [1.0, 2.0], "clients": [1000], "trials": [50, 100]},
}  # fmt: skip


@pytest.fixture(scope="module")
def address():
    patience = {"distributed.scheduler.allowed-failures": 0}
    patience["distributed.deploy.lost-worker-timeout"] = "1h"
    given = {"threads_per_worker": 1, "host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
    with dask.config.set(patience), LocalCluster(n_workers=2, **given) as cluster:
        yield cluster.scheduler_address


@pytest.fixture
def executor(address):
    with executors.connect(address) as client:
        yield client.get_executor(pure=False)


def swept(audit, **given):
    """The table of a grid as text."""
    return grid(AUDITS[audit].cell, GRIDS[audit], seed=3, **given).to_csv(index=False)


@pytest.fixture(scope="module")
def tables():
    return {audit: swept(audit, workers=1) for audit in GRIDS}


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_cell_of_every_auditor_is_tested_here():
    assert GRIDS.keys() == AUDITS.keys()


@pytest.mark.parametrize("audit", GRIDS)
def test_any_number_of_processes_gives_the_same_bytes(audit, tables):
    assert swept(audit, workers=2) == swept(audit, workers=4) == tables[audit]


def test_a_dask_cluster_gives_the_same_bytes(executor, tables, tmp_path):
    table = tmp_path / "table.csv"
    for audit in GRIDS:
        found = swept(audit, executor=executor, store=tmp_path, table=table)
        assert found == tables[audit] == table.read_text()
        assert swept(audit, workers=1, store=tmp_path) == tables[audit]


@pytest.mark.parametrize("where", ["--workers 1", "--scheduler {}"])
def test_the_command_gives_the_same_bytes(where, call, here, tables, address):
    for audit, cells in GRIDS.items():
        (here / f"{audit}.yml").write_text(json.dumps({"audit": audit, "seed": 3, "grid": cells}))
        status, out, err = call(f"sweep {audit}.yml {where.format(address)}")
        rows = tables[audit].count("\n") - 1
        said = rf"(\d+) of \1 cells finished, {rows} rows in {audit}\.csv"
        assert (status, err) == (0, "") and re.match(said, out)
        assert (here / f"{audit}.csv").read_text() == tables[audit]


def test_a_killed_worker_of_a_cluster_costs_only_its_cell(executor, tmp_path):
    cells = {"x": range(8), "marks": str(tmp_path), "fatal": [[2]]}
    found = grid(fragile, cells, seed=1, executor=executor, table=tmp_path / "table.csv")
    assert (tmp_path / "2").exists()  # it did die
    undisturbed = grid(fragile, cells, seed=1, workers=1).to_csv(index=False)
    assert found.to_csv(index=False) == (tmp_path / "table.csv").read_text() == undisturbed


def test_a_cell_that_always_kills_its_worker_is_reported_and_the_others_finish(executor, tmp_path):
    cells = {"x": range(4), "marks": str(tmp_path), "fatal": [[0]], "always": True}
    said = "1 of 4 .*\ncell {'x': 0, .* failed: KilledWorker"
    with pytest.raises(GridError, match=said) as caught:
        grid(fragile, cells, seed=1, executor=executor)
    assert caught.value.table["x"].tolist() == [1, 2, 3]
    assert isinstance(caught.value.failures[0][1], KilledWorker)
    assert executor.submit(abs, -1).result() == 1


def test_a_failing_cell_of_a_cluster_is_reported_while_the_others_finish(executor):
    said = "2 of 5 .*\ncell {'x': 1} failed: ArithmeticError: no half of 1\ncell {'x': 3}"
    with pytest.raises(GridError, match=said) as caught:
        grid(failing, {"x": range(5)}, seed=1, executor=executor)
    assert caught.value.table["half"].tolist() == [0, 1, 2]


def test_workers_with_other_versions_are_refused_naming_both(call, here, address):
    config(here, GOOD)
    own, other = executors.versions(), executors.versions() | {"numba": "0.1"}

    def pretend(versions):
        ldpkit.executors.versions = lambda: versions

    with executors.connect(address) as client:
        client.run(pretend, other)
        known = re.escape(own["numba"])
        message = rf"has numba 0\.1 instead of {known}: give it the same environment"
        try:
            refused = f"worker tcp://.* cannot take part: .*{message}"
            with pytest.raises(RuntimeError, match=refused):
                executors.connect(address)
            status, out, err = call(f"sweep sweep.yml --scheduler {address}")
            assert (status, out, err.count("\n")) == (4, "", 1) and re.search(message, err)
            assert [path.name for path in here.iterdir()] == ["sweep.yml"]
            with pytest.raises(GridError, match=message):  # a worker that joined after the check
                grid(failing, {"x": [2, 4]}, seed=1, executor=client.get_executor(pure=False))
        finally:
            client.run(pretend, own)


def test_an_address_without_a_scheduler_is_refused(call, here):
    config(here, GOOD)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        nobody = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        said = f"no Dask scheduler answers at {nobody} within 0.5 s"
        with pytest.raises(ConnectionError, match=said):
            executors.connect(nobody, timeout=0.5)
    with pytest.raises(ConnectionError, match="within 0.5 s"):
        executors.connect(nobody, timeout=0.5)
    status, out, err = call("sweep sweep.yml --scheduler nonsense")
    assert (status, out) == (4, "")
    assert "no Dask scheduler answers at nonsense within 5 s (missing port number" in err
    assert [path.name for path in here.iterdir()] == ["sweep.yml"]


def test_without_distributed_the_extra_is_named(call, here, monkeypatch):
    config(here, GOOD)
    monkeypatch.setitem(sys.modules, "distributed", None)
    status, out, err = call("sweep sweep.yml --scheduler tcp://127.0.0.1:8786")
    assert (status, out) == (4, "") and "pip install 'ldpkit[cluster]'" in err
    assert "cluster" in importlib.metadata.metadata("ldpkit").get_all("Provides-Extra")


GOOD = {"audit": "rad", "seed": 1, "fixed": {"trials": 1000},
        "grid": {"mechanism": ["GRR", "OUE"], "k": [4], "epsilon": [1]}}  # fmt: skip


def config(folder, found):
    (folder / "sweep.yml").write_text(found if isinstance(found, str) else json.dumps(found))


def test_out_and_store_come_from_the_command_or_the_file_or_its_name(call, here):
    config(here, GOOD)
    assert call("sweep sweep.yml --workers 1")[0] == 0
    config(here, GOOD | {"out": "named.csv"})
    assert call("sweep sweep.yml --workers 1")[0] == 0
    assert call("sweep sweep.yml --workers 1 --out given.csv --store kept")[0] == 0
    wanted = "sweep.yml sweep.csv sweep.cells named.csv named.cells given.csv kept".split()
    assert {path.name for path in here.iterdir()} == {*wanted}
    assert len({(here / f"{name}.csv").read_text() for name in ("sweep", "given", "named")}) == 1


def test_a_sweep_takes_clients_and_pairs_and_knows_them_edited(here):
    """In processes of its own: workers find the client where the command was given."""
    source = "import numpy as np\ndef loud(values, rng):\n    kept = rng.random(len(values)) < {}\n"
    source += "    return np.where(kept, values, 2)\n"
    (here / "grown.py").write_text(source.format(0.9))
    cell = {
        "mechanism": "grown:loud",
        "report": "value",
        "k": 3,
        "epsilon": 1.0,
        "independent": True,
    }
    other = {"mechanism": "GRR", "k": 3, "epsilon": 1.0}
    cells = [cell, cell | {"epsilon": 9.0, "pair": [1, 2]}, other]
    config(here, {"audit": "audit", "seed": 3, "grid": cells, "fixed": {"trials": 2000}})
    command = [sys.executable, "-P", "-m", "ldpkit", "sweep", "sweep.yml", "--workers", "2",
               "--allow", "grown"]  # fmt: skip

    given = {"env": os.environ | {"PYTHONPATH": str(ROOT)}, "capture_output": True, "text": True}

    def table_now():
        done = subprocess.run(command, **given)
        assert (done.returncode, done.stderr) == (0, "")
        return pd.read_csv("sweep.csv")

    table = table_now()
    # value 0 is sent or replaced by 2: epsilon is infinite; 1 000 reports show more than 1
    assert table["violated"].tolist() == [True, False, False]
    assert table["faithful"].tolist() == [True, True, False] and table["pair"][1] == "[1, 2]"
    (here / "grown.py").write_text(source.format(0.01))
    assert not table_now()["violated"].any()
    config(here, {"audit": "audit", "seed": 3, "grid": [cell | {"tau": 3}]})
    done = subprocess.run(command, **given)
    assert done.returncode == 2 and "parameter of a client must be one of k, report" in done.stderr


OWN = "ldpkit.blackbox.clients.client"


@pytest.mark.parametrize("mechanism, values, allow, asked", [
    ("spy:report", None, "", "spy"),
    ("spy:report", None, "--allow sp --allow spy.inner --allow grid", "spy"),
    (f"{OWN}:load", ["spy:report", "x:y"], "", OWN),
    (f"{OWN}:os.system", ["touch ran", "true"], "", OWN),
    ("spy:report", None, "--allow spy", None),
    ("deep.spy:report", None, "--allow deep", None),
])  # fmt: skip
def test_only_what_is_allowed_is_imported(call, here, monkeypatch, mechanism, values, allow, asked):
    """What lies beside it is imported, and a program run, by nobody else's word."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    for name in ("spy", "deep", "deep.spy"):
        sys.modules.pop(name, None)
    (here / "deep").mkdir()
    for name in ("spy.py", "deep/spy.py"):
        (here / name).write_text("open('ran', 'w')\ndef report(values, rng): return values\n")
    cell = {"mechanism": mechanism, "epsilon": 9.0, "trials": 20}
    cell |= {"report": "any", "values": values} if values else {"report": "value", "k": 3}
    first = {"mechanism": "GRR", "k": 3, "epsilon": 1}
    config(here, {"audit": "audit", "seed": 1, "grid": [first, cell]})
    status, out, err = call(f"sweep sweep.yml --workers 1 {allow}")
    if asked is None:
        assert (status, err) == (0, "") and (here / "ran").exists()
    else:
        assert (status, out, err.count("\n")) == (2, "", 1) and not (here / "ran").exists()
        said = f"client '{mechanism}' would be imported and run as you: --allow {asked} lets it"
        assert said in err and str(here) not in sys.path and "spy" not in sys.modules


def test_failed_cells_give_status_4_and_the_others_are_kept(call, here, monkeypatch):
    monkeypatch.setattr(RADAudit, "cell", failing)
    config(here, GOOD | {"grid": {"x": [0, 1, 2]}, "fixed": None})
    monkeypatch.setattr(RADAudit, "of", lambda **cell: None)
    status, out, err = call("sweep sweep.yml --workers 1")
    assert (status, err) == (4, "ldpkit: cell {'x': 1} failed: ArithmeticError: no half of 1\n")
    assert out.startswith("2 of 3 cells finished, 2 rows in sweep.csv")
    assert pd.read_csv("sweep.csv")["x"].tolist() == [0, 2]
    assert len(list(Path("sweep.cells").iterdir())) == 2


def test_numbers_in_scientific_notation_are_numbers(call, here):
    epsilons = "mechanism: GRR, k: [4], epsilon: [1e-1, 2.5e0, 1E0]"
    config(here, f"audit: rad\nseed: 1e0\ngrid: {{{epsilons}}}\nfixed: {{trials: 1e3}}\n")
    plan = command.read("sweep.yml")
    assert [cell["epsilon"] for cell in plan.cells] == [0.1, 2.5, 1] and plan.seed == 1
    assert all(cell["trials"] == 1000 and isinstance(cell["trials"], int) for cell in plan.cells)


BOMB = "audit: rad\nseed: 1\ngrid:\n  a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n" + "".join(
    f"  {b}: &{b} [{', '.join([f'*{a}'] * 10)}]\n" for a, b in itertools.pairwise("abcdefg")
)
RAD = "audit: rad\nseed: 1\ngrid: {mechanism: [GRR], k: [4], epsilon: [1]}\n"


@pytest.mark.parametrize("text, message", [
    ("audit: rad\nseed: 1\ngird: {k: [4]}\n", "key must be one of audit, seed, grid, fixed, out, got 'gird'; did you mean 'grid'?"),
    (json.dumps(GOOD | {"allow": ["spy"]}), "key must be one of audit, seed, grid, fixed, out, got 'allow'"),
    ("audit: rad\nseed: 1\n", "key grid is missing; the keys are audit, seed, grid, fixed, out"),
    ("audit: rad\nseed: -1\ngrid: {k: [4]}\n", "seed must be an integer >= 0, got -1"),
    ("audit: rad\nseed: 1\nseed: 2\n", "key 'seed' is given twice"),
    ("audit: rad\nseed: 1\ngrid: {k: []}\n", "grid must hold at least one cell, got {'k': []}"),
    ("audit: rad\nseed: 1\ngrid: 4\n", "grid must map parameters to lists of values, or list cells, got 4"),
    ("audit: rad\nseed: 1\ngrid: [4]\n", "grid must map names of parameters to values, got 4"),
    ("audit: rad\nseed: 1\ngrid: {k: [2020-01-01]}\n", "must be plain numbers, strings, lists or dictionaries, got date"),
    (RAD + "fixed: {k: 4}\n", "k must be given in the grid or fixed, not in both"),
    (RAD + "fixed: {seed: 4}\n", "seed must stand outside the grid, because every cell derives its own seed from it"),
    (RAD + "fixed: {trails: 4}\n", "mechanism GRR does not take trails; its parameters are k, epsilon"),
    (RAD + "fixed: {alpha: 2}\n", "cell {'mechanism': 'GRR', 'k': 4, 'epsilon': 1, 'alpha': 2}: alpha must be a number in [1e-100, 1), got 2"),
    (RAD + "out: 4\n", "out must be the name of a file, got 4"),
    ("audit: rad\nseed: 1\ngrid: {k: [4]}\n", "cell {'k': 4}: audit needs mechanism; its parameters are trials, alpha, mechanism,"),
    ("audit: audit\nseed: 1\ngrid: {mechanism: [OEU], k: [4], epsilon: [1]}\n", "got 'OEU'; did you mean 'OUE'?"),
    ("audit: kv\nseed: 1\ngrid: {mechanism: [PCKV-UE], k: [4], epsilon: [1], user: [9]}\n", "mechanism PCKV-UE does not take user; its parameters are k, epsilon, padding, share, eta"),
    ("audit: kv\nseed: 1\ngrid: {mechanism: [CPP-UE], k: [1], epsilon: [1], attack: [skv], squads: [[-1, 1]]}\n", "squads must"),
    ("audit: gradient\nseed: 1\ngrid: {adversary: [file], epsilon: [1], pairs: [a.npz], dimension: [3]}\n", "dimension belongs to the adversary"),
    ("audit: shuffle\nseed: 1\ngrid: {epsilon: [2], clients: [10]}\n", "must be an integer >= 974, got 10"),
    ("audit: [\n", "not YAML"),
    (f"{RAD}fixed: {'[' * 5000}{']' * 5000}", "values are nested too deeply, or hold themselves"),
    (f"{RAD}fixed: &a [*a]", "values are nested too deeply, or hold themselves"),
    (BOMB, "at most 1000000 values can be written out, got 12345691"),
    (json.dumps(GOOD | {"grid": {name: [*range(10)] for name in "abcdefghi"}}), "grid must have at most 1000000 cells, got 1000000000"),
    ("- 4\n", "a sweep is described by keys and values, got [4]"),
])  # fmt: skip
def test_a_bad_file_is_one_line_and_leaves_nothing(call, here, text, message, given=""):
    config(here, text)
    status, out, err = call(f"sweep sweep.yml {given}")
    assert (status, out, err.count("\n")) == (2, "", 1) and message in err
    assert given or err.startswith("ldpkit: sweep.yml: ")
    assert [path.name for path in here.iterdir()] == ["sweep.yml"]


@pytest.mark.parametrize("given, message", [
    ("--workers 0", "workers must be an integer >= 1, got 0"),
    ("--out missing/table.csv", "out must be a file in an existing folder, got missing/table.csv"),
])  # fmt: skip
def test_bad_options_are_one_line_and_status_2(call, here, given, message):
    test_a_bad_file_is_one_line_and_leaves_nothing(call, here, GOOD, message, given)


FOREIGN = {
    "sweep.yml": None, "grid.csv": b"k,epsilon\n1,2\n", "notes.txt": b"one line\n",
    "picture.png": b"\x89PNG\r\n\x1a\n\xff\xfe", "device": "a pipe",
}  # fmt: skip


@pytest.mark.parametrize("way", ["relative", "absolute", "option"])
@pytest.mark.parametrize("name", FOREIGN)
def test_what_no_sweep_wrote_is_never_overwritten(call, here, name, way):
    place = here / name
    outs = {"relative": {"out": name}, "absolute": {"out": str(place)}, "option": {}}
    config(here, GOOD | outs[way])
    if name == "device":
        os.mkfifo(place)
    elif FOREIGN[name] is not None:
        place.write_bytes(FOREIGN[name])
    before = None if name == "device" else place.read_bytes()
    status, out, err = call("sweep sweep.yml --workers 1" + f" --out {name}" * (way == "option"))
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "out must be a new file or a table that a sweep wrote, got " in err
    assert place.is_fifo() if before is None else place.read_bytes() == before
    assert {path.name for path in here.iterdir()} == {"sweep.yml", name}


def test_a_description_called_as_its_table_is_not_overwritten(call, here):
    (here / "grid.csv").write_text(json.dumps(GOOD))
    assert call("sweep grid.csv")[0] == 2
    assert json.loads((here / "grid.csv").read_text()) == GOOD


def test_a_table_of_another_sweep_finished_or_not_is_replaced(call, here):
    config(here, {"audit": "audit", "seed": 1, "grid": GRIDS["audit"], "out": "one.csv"})
    assert call("sweep sweep.yml --workers 1")[0] == 0
    config(here, GOOD | {"out": "one.csv"})
    assert call("sweep sweep.yml --workers 1")[0] == 0
    (here / "one.csv").write_text("mechanism,k,epsilon,trials,faithful\n")  # no cell was finished
    assert call("sweep sweep.yml --workers 1")[0] == 0
    assert len(pd.read_csv("one.csv")) == 2


def test_the_example_of_the_page_runs(call, here):
    page = (ROOT / "book" / "sweeps.md").read_text()
    example = re.search(r"```\{?(?:code-block)?\}? ?ya?ml\n(.*?)```", page, re.S)[1]
    config(here, example)
    assert call("sweep sweep.yml --workers 1")[0] == 0
    plan = command.read("sweep.yml")
    assert {*pd.read_csv(plan.out)["mechanism"]} == {cell["mechanism"] for cell in plan.cells}
