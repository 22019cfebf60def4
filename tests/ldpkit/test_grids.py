"""Grids: the same table from any worker, a store that survives damage and failure, and isolated
packages. What was computed is counted by files that the cells leave behind."""

import itertools
import linecache
import os
import random
import sys
import types
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.linalg  # noqa: F401  brings the last of the libraries with threads
from commands import python
from grid_cells import (
    backwards,
    fragile,
    interrupting,
    odd,
    of_toy,
    several,
    square,
    stuck,
    threads,
)
from threadpoolctl import threadpool_limits

from ldpkit import digests, executors
from ldpkit.auditors import AUDITS, Audit, KVAudit
from ldpkit.executors import isolated
from ldpkit.grid import GridError, combinations, grid

GRID = {"mechanism": ["GRR", "OUE", "OLH"], "k": [5, 12], "epsilon": [0.5, 2.0], "trials": 5000, "runs": 2}  # fmt: skip


def traced(folder):
    """How often each cell was computed."""
    return sorted(path.name.partition("-")[0] for path in Path(folder).iterdir())


@pytest.fixture
def trace(tmp_path):
    (tmp_path / "trace").mkdir()
    return tmp_path / "trace"


@pytest.fixture(scope="module")
def table():
    return grid(Audit.cell, GRID, seed=1, workers=1).to_csv()


def one(func, asked, **given):
    """A table made by this process."""
    return grid(func, asked, **{"seed": 1, "workers": 1} | given)


def test_rows_come_in_the_order_of_the_grid_with_the_last_parameter_fastest():
    wanted = [{"a": a, "b": b, "c": 5} for a, b in itertools.product([1, 2], ["x", "y"])]
    assert combinations({"a": [1, 2], "b": ["x", "y"], "c": 5}) == wanted
    found = grid(Audit.cell, GRID, seed=1, workers=2)[["mechanism", "k", "epsilon", "run"]]
    wanted = itertools.product(GRID["mechanism"], GRID["k"], GRID["epsilon"], range(2))
    assert list(found.itertuples(index=False, name=None)) == list(wanted)
    listed = [{"x": 3}, {"x": 1}, {"x": 2}]  # a list keeps its order
    for asked, workers in ((listed, 2), (iter(listed), 1)):
        assert grid(square, asked, seed=1, workers=workers)["x"].tolist() == [3, 1, 2]
    numbers = [{"x": np.int64(1)}, {"x": np.int32(2)}]  # of NumPy, become plain
    for asked in ({"x": np.array([1, 2])}, numbers, {"x": range(1, 3)}, {"x": (1, 2)}):
        pd.testing.assert_frame_equal(one(square, asked), one(square, {"x": [1, 2]}))
    found = one(several, {"n": [2, 1]})  # a cell may give several rows
    assert found.values.tolist() == [[2, 0, 0.0, "a,b"], [2, 1, 0.5, "a,b"], [1, 0, 0.0, "a,b"]]
    assert grid(square, {"x": []}, seed=1).empty and grid(square, [], seed=1).empty


def test_sums_of_a_cell_are_formed_by_one_thread_and_only_there():
    with threadpool_limits(2, user_api="blas"):
        assert threads(1) == {"threads": "[2]"}
        assert one(threads, [{}])["threads"].tolist() == ["[1]"]
        assert threads(1) == {"threads": "[2]"}


@pytest.fixture(params=[10**4, 2, 1])
def groups(request, monkeypatch):
    """Most tasks that an executor gets: each cell is one, or cells go in two groups or in one."""
    monkeypatch.setattr(sys.modules["ldpkit.grid"], "_TASKS", request.param)
    return request.param


@pytest.mark.parametrize("workers", [1, 2, None])
def test_any_number_of_workers_gives_the_same_bytes(workers, table, groups):
    assert grid(Audit.cell, GRID, seed=1, workers=workers).to_csv() == table


def test_a_thread_pool_gives_the_same_bytes_and_stays_open(table, tmp_path):
    forbidden = tmp_path / "forbidden"
    forbidden.write_text("1")
    with ThreadPoolExecutor(2) as pool:
        assert grid(Audit.cell, GRID, seed=1, executor=pool).to_csv() == table
        assert pool.submit(abs, -1).result() == 1
        with pytest.raises(RuntimeError, match="no square of 1"):
            grid(square, {"x": range(4), "forbidden": str(forbidden)}, seed=1, executor=pool)
        assert pool.submit(abs, -1).result() == 1
    assert one(Audit.cell, GRID, seed=2).to_csv() != table


def test_a_cell_does_not_depend_on_the_rest_of_the_grid():
    whole, alone = grid(square, {"x": range(6)}, seed=1, workers=2), one(square, [{"x": 4}])
    assert whole[whole["x"] == 4].reset_index(drop=True).to_csv() == alone.to_csv()
    assert whole["seed"].nunique() == whole["drawn"].nunique() == 6
    twice = grid(square, {"x": [7, 7]}, seed=1, workers=2)
    assert twice.iloc[0].tolist() == twice.iloc[1].tolist()
    with pytest.raises(RuntimeError, match="cell {} failed: TypeError: cells and results must"):
        one(lambda seed: {"value": object()}, [{}])
    with pytest.raises(TypeError, match="must be plain"):
        one(square, {"x": [object()]})


def stored(tmp_path, trace, workers=1, seed=1, xs=range(6)):
    asked = {"x": xs, "trace": str(trace)}
    return grid(square, asked, seed=seed, workers=workers, store=tmp_path / "store").to_csv()


@pytest.mark.parametrize("workers", [1, 2])
def test_a_second_call_computes_nothing_and_gives_the_same_bytes(tmp_path, trace, workers):
    first = stored(tmp_path, trace, workers)
    assert traced(trace) == list("012345")
    # one whole file for each cell and no temporary one
    assert [path.suffix for path in (tmp_path / "store").iterdir()] == [".json"] * 6
    assert stored(tmp_path, trace, workers) == first == stored(tmp_path, trace, 3 - workers)
    assert traced(trace) == list("012345")
    assert first == one(square, {"x": range(6), "trace": str(trace)}).to_csv()


def test_a_larger_grid_computes_only_what_is_new_and_another_seed_everything(tmp_path, trace):
    stored(tmp_path, trace, xs=[1, 2])
    stored(tmp_path, trace, xs=[0, 1, 2, 3])
    assert traced(trace) == list("0123")
    stored(tmp_path, trace, seed=2, xs=[0, 1])
    assert traced(trace) == list("001123")


def flip(data):
    place = random.Random(1).randrange(70, len(data))  # beyond the check sum and its line end
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]


DAMAGE = {"truncated": lambda data: data[: len(data) // 2], "cut by one byte": lambda data: data[:-1],
          "emptied": lambda data: b"", "bit flipped": flip,
          "bit flipped in the check sum": lambda data: bytes([data[0] ^ 1]) + data[1:],
          "not UTF-8": lambda data: data[:80] + b"\xff\xfe" + data[80:],
          "something else": lambda data: b"[1, 2, 3]\n", "two entries": lambda data: data + data}  # fmt: skip


def test_a_damaged_entry_is_reported_and_computed_again_to_the_same_bytes(tmp_path, trace):
    first, computed = stored(tmp_path, trace), "012345"
    entries = sorted((tmp_path / "store").iterdir())
    entry = next(path for path in entries if '"square": 16' in path.read_text())
    whole = entry.read_bytes()
    message = rf"stored result {entry.name} of .*'x': 4.* is damaged; it is computed again"
    for name, damage in [*DAMAGE.items(), ("a folder in its place", None)]:
        if damage:
            entry.write_bytes(damage(whole))
        else:
            entry.unlink()
            (entry / "inner").mkdir(parents=True)
        with pytest.warns(UserWarning, match=message if damage else "is damaged"):
            again = stored(tmp_path, trace)
        computed += "4"
        assert again == first and entry.read_bytes() == whole, name
        assert traced(trace) == sorted(computed), name


@pytest.mark.parametrize("workers", [1, 2])
def test_a_failing_cell_is_named_and_the_others_are_finished_for_good(
    tmp_path, trace, workers, groups
):
    def computed():  # the cells of a group that fails are computed again
        return traced(trace) if groups > 2 else sorted({*traced(trace)})

    forbidden, file = tmp_path / "forbidden", tmp_path / "table.csv"
    forbidden.write_text("4")
    asked = {"x": range(6), "trace": str(trace), "forbidden": str(forbidden)}
    given = {"seed": 1, "workers": workers, "store": tmp_path / "store", "table": file}
    message = r"1 of 6 .*\ncell \{'x': 4, .*\} failed: ArithmeticError: no square of 4"
    with pytest.raises(GridError, match=message) as caught:
        grid(square, asked, **given)
    (cell, error), table = caught.value.failures[0], caught.value.table
    assert cell == combinations(asked)[4] and isinstance(error, ArithmeticError)
    assert caught.value.__cause__ is error
    assert table["x"].tolist() == [0, 1, 2, 3, 5] and table.to_csv(index=False) == file.read_text()
    assert computed() == list("01235")
    forbidden.unlink()
    found = grid(square, asked, **given).to_csv(index=False)
    assert computed() == list("012345")
    assert found == file.read_text() == one(square, asked).to_csv(index=False)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_cell_that_returns_no_row_or_its_parameter_fails_by_name_and_the_next_run_goes_on(
    tmp_path, workers
):
    wrong = {
        1: "got None",
        3: "got 'text'",
        5: "got 1",
        7: "parameter x = 7 another value, got 0",
        9: "got None",
    }
    given = {
        "seed": 1,
        "workers": workers,
        "store": tmp_path / "store",
        "table": tmp_path / "table.csv",
    }
    for _ in range(2):  # the second run finds the good cells in the store
        with pytest.raises(GridError) as failed:
            grid(odd, {"x": range(10)}, **given)
        causes = {cell["x"]: str(cause) for cell, cause in failed.value.failures}
        assert causes.keys() == wrong.keys() and all(wrong[x] in said for x, said in causes.items())
        assert (
            failed.value.table["y"].tolist()
            == [0, 2, 4, 6, 8]
            == pd.read_csv(given["table"])["y"].tolist()
        )
        assert len([*given["store"].rglob("*.json")]) == 5
    assert one(odd, {"x": [2, 4]})["y"].tolist() == [2, 4]


def test_a_row_may_repeat_a_parameter_or_name_one_of_a_list():
    found = one(
        Audit.cell,
        {
            "mechanism": ["GRR"],
            "k": 5,
            "epsilon": 1,
            "delta": [None],
            "trials": 100,
            "attack": [["guess", "tight"]],
        },
    )
    assert found["attack"].tolist() == ["guess", "tight"] and found["trials"].tolist() == [100, 100]
    assert one(AUDITS["rad"].cell, {"mechanism": "GRR", "k": 5, "epsilon": 1, "trials": 100})[
        "trials"
    ].tolist() == [100]


def test_an_error_that_every_cell_has_is_told_three_times_and_counted():
    with pytest.raises(GridError, match="^5 of 5 cells failed(.|\n)*and 2 more$") as caught:
        one(square, {"x": ["a", "b", "c", "d", "e"]})
    assert len(caught.value.failures) == 5 and caught.value.table.empty


def test_a_dying_worker_costs_only_its_own_cell_which_is_computed_again(tmp_path, groups):
    asked = {"x": range(5), "marks": str(tmp_path), "fatal": [[1, 3]]}
    found = grid(fragile, asked, seed=1, workers=2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1", "3"]  # both did die
    assert found.to_csv() == one(fragile, asked).to_csv()
    asked = {"x": range(4), "marks": str(tmp_path), "fatal": [[0]], "always": True}
    message = r"cell {'x': 0, .*failed: TerminatedWorkerError(.|\n)*SIGKILL"
    with pytest.raises(GridError, match=message) as caught:
        grid(fragile, asked, seed=1, workers=2)
    assert caught.value.table["x"].tolist() == [1, 2, 3]
    assert isinstance(caught.value.failures[0][1], BrokenExecutor)


def test_an_interrupt_ends_running_cells_and_keeps_what_is_finished(tmp_path):
    store, file = tmp_path / "store", tmp_path / "table.csv"
    asked = {"x": range(4), "store": str(store)}
    with pytest.raises(KeyboardInterrupt):
        grid(interrupting, asked, seed=1, workers=2, store=store, table=file)
    assert pd.read_csv(file)["x"].tolist() == [0, 1, 2] and len(list(store.iterdir())) == 3
    found = grid(square, {"x": [1, 2]}, seed=1, workers=2)  # with fresh processes
    assert found["square"].tolist() == [1, 4]


def test_cells_that_an_executor_refuses_or_drops_are_reported(groups):
    class Broken(Executor):
        def submit(self, *call):
            raise BrokenExecutor("out of order")

    class Dropping(Executor):
        def submit(self, *call):
            dropped.append(future := Future())
            future.cancel()
            future.set_running_or_notify_cancel()
            return future

    dropped = []
    for executor, error in (Broken(), "BrokenExecutor: out of order"), (
        Dropping(), "CancelledError: dropped by the executor"):  # fmt: skip
        with pytest.raises(GridError, match=f"2 of 2 cells failed(.|\n)*{error}"):
            grid(square, {"x": [1, 2]}, seed=1, executor=executor)
    assert len(dropped) == min(groups, 2)


def test_a_worker_with_other_versions_is_refused_naming_both(monkeypatch):
    wanted = executors.versions() | {"numpy": "0.1"}
    monkeypatch.setattr(executors, "versions", lambda: wanted)
    with pytest.raises(GridError, match=rf"has numpy {np.__version__} instead of 0\.1"):
        grid(square, {"x": [1, 2]}, seed=1, workers=2)


def watching(x, seed, table):
    return {"seen": len(pd.read_csv(table))}


def test_the_table_can_be_read_at_any_moment_and_grows_by_whole_rows(tmp_path, monkeypatch):
    """Writing costs no time, or a second, and may take a tenth of the time."""
    file, asked = tmp_path / "table.csv", {"table": str(tmp_path / "table.csv")}
    for step, seen in ((0.0, [0, 1, 2, 3, 4]), (1.0, [0] * 9 + [9] * 5)):
        clock = types.SimpleNamespace(monotonic=itertools.count(0.0, step).__next__)
        with monkeypatch.context() as patch:
            patch.setattr("ldpkit.grid.time", clock)
            found = one(watching, asked | {"x": range(len(seen))}, table=file)
        assert found["seen"].tolist() == seen and file.read_text() == found.to_csv(index=False)
        assert [path.name for path in tmp_path.iterdir()] == ["table.csv"], step
        file.unlink()
    given = {"table": file, "store": tmp_path / "store"}
    one(watching, asked | {"x": [0, 1]}, **given)
    found = one(watching, asked | {"x": [0, 1, 2]}, **given)
    assert found["seen"].tolist()[2] == 2  # a resumed table starts with what is stored


def test_a_table_that_cannot_be_written_is_refused_before_anything_is_computed(tmp_path, trace):
    for name in [".", "missing/table.csv"]:
        with pytest.raises(ValueError, match="table must be a file in an existing folder"):
            one(square, {"x": [1], "trace": str(trace)}, table=tmp_path / name)
        assert not traced(trace), name


@pytest.fixture
def edited(monkeypatch):
    """The function of a notebook, which is a module without a file, as somebody edits it."""

    def edited(factor):
        notebook = types.ModuleType("notebook")
        monkeypatch.setitem(sys.modules, "notebook", notebook)
        source, name = f"def cell(x, seed):\n    return {{'y': {factor} * x}}\n", f"<cell {factor}>"
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
        exec(compile(source, name, "exec"), notebook.__dict__)
        return notebook.cell

    return edited


def test_the_store_tells_functions_and_their_sources_apart(tmp_path, edited):
    """It does not believe results of a function edited since in its notebook."""
    for factor in (1, 2):
        found = one(edited(factor), {"x": [1, 2]}, store=tmp_path)
        assert found["y"].tolist() == [factor, 2 * factor]
    found = [one(func, {"n": [1, 2]}, store=tmp_path).to_csv() for func in (several, backwards)]
    assert found[0] != found[1]
    names = [path.name.split("-") for path in tmp_path.iterdir()]
    assert len({name for name, _, _ in names}) == 3 and len({tuple(n[:2]) for n in names}) == 4
    assert len({cell for _, _, cell in names}) == len(names) == 8


def test_a_full_disk_is_no_bad_input(tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "mkdir", full)
    with pytest.raises(OSError, match="No space left"):
        one(square, {"x": [1]}, store=tmp_path / "store")


def test_isolated_pools_import_each_their_own_version_of_a_package(tmp_path, monkeypatch):
    for version in ("1", "2", "installed"):
        (tmp_path / version).mkdir()
        (tmp_path / version / "toy.py").write_text(f"VERSION = {version!r}\n")
    monkeypatch.syspath_prepend(tmp_path / "installed")
    monkeypatch.chdir(tmp_path / "1")
    # the first of several folders wins, and one may be relative
    one, two = tmp_path / "1", tmp_path / "2"
    for folders, version in (([one], "1"), ([two, one], "2"), ([os.curdir], "1")):
        with isolated(*folders, workers=1) as pool:
            found = grid(of_toy, [{}], seed=1, executor=pool)
        assert found["version"].tolist() == [version], folders
        assert Path(found["file"][0]) == (tmp_path / version / "toy.py").resolve(), folders
    assert "toy" not in sys.modules
    with pytest.raises(FileNotFoundError, match="no_such_folder does not exist; `make packages`"):
        isolated("no_such_folder")


BAR = "from ldpkit.progress import Progress\nwith Progress(3, 'cells', 'three things', notebook=True) as bar: bar.add(3)"


@pytest.mark.parametrize("switch, shown", [({}, True), ({"TQDM_DISABLE": "1"}, False)])
def test_a_notebook_shows_progress_unless_its_runner_wants_none(switch, shown, monkeypatch):
    """A live page and JupyterLab set nothing; `make book` sets the switch."""
    monkeypatch.delenv("TQDM_DISABLE", raising=False)
    for name, value in switch.items():
        monkeypatch.setenv(name, value)
    import nbclient
    import nbformat

    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(BAR)])
    nbclient.execute(book, kernel_name="python3")
    said = "".join(output["text"] for output in book.cells[0].outputs)
    assert ("three things:" in said) == shown and (shown or not said)


def test_progress_is_silent_where_nobody_watches():
    """Standard error is a pipe; that a kernel's library is loaded makes it no notebook."""
    assert python("import ipykernel\n" + BAR) == ("", "")


def test_a_cell_that_takes_too_long_is_ended_once_and_all_others_are_finished(tmp_path):
    asked = {"x": [0, 2, 3, 1], "marks": str(tmp_path)}
    # the one process that computes them has started when time begins to count
    one(stuck, asked | {"x": [4]}, limit=600)
    message = r"1 of 4 cells failed.*\ncell {'x': 1, .*} failed: TimeoutError: not finished within"
    with pytest.raises(GridError, match=message) as caught:
        one(stuck, asked, limit=2)
    assert caught.value.table["twice"].tolist() == [0, 4, 6]
    # it is not tried again
    assert sorted(path.name[0] for path in tmp_path.iterdir()) == ["0", "1", "2", "3", "4"]
    assert one(stuck, asked | {"x": [5]}, limit=600)["twice"].tolist() == [10]


def test_a_limit_is_a_positive_time_of_our_own_processes(table):
    with ThreadPoolExecutor(1) as pool:
        given = [{"limit": bad} for bad in (0, -1, "1", np.nan)]
        for bad in [*given, {"limit": 60, "executor": pool}]:
            with pytest.raises(ValueError, match="limit must"):
                grid(Audit.cell, GRID, seed=1, **bad)
    assert grid(Audit.cell, GRID, seed=1, workers=2, limit=60).to_csv() == table


# --- what a stored cell depends on, as far as ldpkit looks by itself ---------------------------------

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
    return python(NOTEBOOK, cwd=folder, env=os.environ | {"PYTHONHASHSEED": str(hashes)})[0]


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
