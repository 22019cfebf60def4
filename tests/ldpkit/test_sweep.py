"""Sweeps: the same table from any worker, a store that survives damage and failure, and isolated
packages.

Nothing here is statistical: results are compared byte for byte. What was computed is counted by
files that the cells leave behind, since cells may run in other processes.
"""

import itertools
import linecache
import os
import random
import subprocess
import sys
import types
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.linalg  # noqa: F401  brings the last of the libraries with threads
from sweep_cells import (
    fragile,
    interrupting,
    reversed_several,
    several,
    square,
    stuck,
    threads,
    unplain,
    version_of_toy,
)
from threadpoolctl import threadpool_limits

from ldpkit import pools
from ldpkit.auditors import Audit
from ldpkit.pools import isolated
from ldpkit.sweep import SweepError, cells, sweep

GRID = {
    "mechanism": ["GRR", "OUE", "OLH"],
    "k": [5, 12],
    "epsilon": [0.5, 2.0],
    "trials": 5000,
    "runs": 2,
}


def traced(folder):
    """How often each cell was computed."""
    return sorted(path.name.partition("-")[0] for path in Path(folder).iterdir())


@pytest.fixture
def trace(tmp_path):
    (tmp_path / "trace").mkdir()
    return tmp_path / "trace"


@pytest.fixture(scope="module")
def table():
    return sweep(Audit.cell, GRID, seed=1, workers=1).to_csv()


# --- the same table -------------------------------------------------------------------------------


def test_rows_come_in_the_order_of_the_grid_with_the_last_parameter_fastest():
    assert cells({"a": [1, 2], "b": ["x", "y"], "c": 5}) == [
        {"a": a, "b": b, "c": 5} for a, b in itertools.product([1, 2], ["x", "y"])
    ]
    found = sweep(Audit.cell, GRID, seed=1, workers=2)
    wanted = itertools.product(GRID["mechanism"], GRID["k"], GRID["epsilon"], range(2))
    assert list(
        found[["mechanism", "k", "epsilon", "run"]].itertuples(index=False, name=None)
    ) == list(wanted)


def test_a_list_of_cells_keeps_its_order_even_if_the_cells_differ():
    listed = [{"x": 3}, {"x": 1}, {"x": 2}]
    assert sweep(square, listed, seed=1, workers=2)["x"].tolist() == [3, 1, 2]
    assert sweep(square, iter(listed), seed=1, workers=1)["x"].tolist() == [3, 1, 2]


def test_numpy_values_in_grid_and_results_become_plain():
    plain = sweep(square, {"x": [1, 2]}, seed=1, workers=1)
    for grid in (
        {"x": np.array([1, 2])},
        [{"x": np.int64(1)}, {"x": np.int32(2)}],
        {"x": range(1, 3)},
        {"x": (1, 2)},
    ):
        pd.testing.assert_frame_equal(sweep(square, grid, seed=1, workers=1), plain)


def test_a_cell_may_give_several_rows():
    found = sweep(several, {"n": [2, 1]}, seed=1, workers=1)
    assert found.values.tolist() == [[2, 0, 0.0, "a,b"], [2, 1, 0.5, "a,b"], [1, 0, 0.0, "a,b"]]


def test_sums_of_a_cell_are_formed_by_one_thread_and_only_there():
    with threadpool_limits(2, user_api="blas"):
        assert threads(1) == {"threads": "[2]"}
        assert sweep(threads, [{}], seed=1, workers=1)["threads"].tolist() == ["[1]"]
        assert threads(1) == {"threads": "[2]"}


@pytest.mark.parametrize("workers", [1, 2, None])
def test_any_number_of_workers_gives_the_same_bytes(workers, table):
    assert sweep(Audit.cell, GRID, seed=1, workers=workers).to_csv() == table


def test_a_thread_pool_gives_the_same_bytes_and_stays_open(table):
    with ThreadPoolExecutor(2) as pool:
        assert sweep(Audit.cell, GRID, seed=1, executor=pool).to_csv() == table
        assert pool.submit(abs, -1).result() == 1


def test_another_seed_gives_another_table(table):
    assert sweep(Audit.cell, GRID, seed=2, workers=1).to_csv() != table


def test_a_cell_does_not_depend_on_the_rest_of_the_grid():
    whole = sweep(square, {"x": range(6)}, seed=1, workers=2)
    alone = sweep(square, [{"x": 4}], seed=1, workers=1)
    assert whole[whole["x"] == 4].reset_index(drop=True).to_csv() == alone.to_csv()
    assert whole["seed"].nunique() == whole["drawn"].nunique() == 6


def test_the_same_cell_twice_gives_the_same_row_twice():
    found = sweep(square, {"x": [7, 7]}, seed=1, workers=2)
    assert found.iloc[0].tolist() == found.iloc[1].tolist()


def test_an_empty_grid_gives_an_empty_table():
    assert sweep(square, {"x": []}, seed=1).empty and sweep(square, [], seed=1).empty


@pytest.mark.parametrize("seed", [-1, 1.5, "1", None, True])
def test_a_seed_that_is_no_natural_number_is_refused(seed):
    with pytest.raises(ValueError, match="seed must be an integer >= 0"):
        sweep(square, {"x": [1]}, seed=seed)


@pytest.mark.parametrize("workers", [0, -1, 1.5, "2", True])
def test_workers_that_are_no_positive_integer_are_refused(workers):
    with pytest.raises(ValueError, match="workers must be an integer >= 1"):
        sweep(square, {"x": [1]}, seed=1, workers=workers)


def test_cells_and_results_must_be_plain():
    with pytest.raises(
        TypeError, match="must be plain numbers, strings, lists or dictionaries, got object"
    ):
        sweep(square, {"x": [object()]}, seed=1)
    with pytest.raises(
        RuntimeError, match="cell {} failed: TypeError: cells and results must be plain"
    ):
        sweep(unplain, [{}], seed=1, workers=1)


# --- the store ------------------------------------------------------------------------------------


def stored(tmp_path, trace, workers=1, seed=1, xs=range(6)):
    return sweep(
        square, {"x": xs, "trace": str(trace)}, seed=seed, workers=workers, store=tmp_path / "store"
    ).to_csv()


@pytest.mark.parametrize("workers", [1, 2])
def test_a_second_call_computes_nothing_and_gives_the_same_bytes(tmp_path, trace, workers):
    first = stored(tmp_path, trace, workers)
    assert traced(trace) == list("012345")
    assert stored(tmp_path, trace, workers) == first == stored(tmp_path, trace, 3 - workers)
    assert traced(trace) == list("012345")
    assert first == sweep(square, {"x": range(6), "trace": str(trace)}, seed=1, workers=1).to_csv()


def test_a_larger_grid_computes_only_what_is_new_and_another_seed_everything(tmp_path, trace):
    stored(tmp_path, trace, xs=[1, 2])
    stored(tmp_path, trace, xs=[0, 1, 2, 3])
    assert traced(trace) == list("0123")
    stored(tmp_path, trace, seed=2, xs=[0, 1])
    assert traced(trace) == list("001123")


@pytest.mark.parametrize("workers", [1, 2])
def test_the_store_holds_one_whole_file_per_cell_and_no_temporary_one(tmp_path, trace, workers):
    stored(tmp_path, trace, workers)
    assert len(list((tmp_path / "store").iterdir())) == 6
    assert {path.suffix for path in (tmp_path / "store").iterdir()} == {".json"}


def flip(data):
    place = random.Random(1).randrange(70, len(data))  # beyond the check sum and its line end
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]


DAMAGE = {
    "truncated": lambda data: data[: len(data) // 2],
    "cut by one byte": lambda data: data[:-1],
    "emptied": lambda data: b"",
    "bit flipped": flip,
    "bit flipped in the check sum": lambda data: bytes([data[0] ^ 1]) + data[1:],
    "not UTF-8": lambda data: data[:80] + b"\xff\xfe" + data[80:],
    "something else": lambda data: b"[1, 2, 3]\n",
    "two entries": lambda data: data + data,
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_entry_is_reported_and_computed_again_to_the_same_bytes(tmp_path, trace, damage):
    first = stored(tmp_path, trace)
    entry = next(
        path
        for path in sorted((tmp_path / "store").iterdir())
        if '"square": 16' in path.read_text()
    )
    whole = entry.read_bytes()
    entry.write_bytes(DAMAGE[damage](whole))
    with pytest.warns(
        UserWarning,
        match=rf"stored result {entry.name} of .*'x': 4.* is damaged; it is computed again",
    ):
        again = stored(tmp_path, trace)
    assert again == first and entry.read_bytes() == whole
    assert traced(trace) == list("0123445")


def test_a_folder_in_the_place_of_an_entry_is_damage_too(tmp_path, trace):
    first = stored(tmp_path, trace)
    entry = sorted((tmp_path / "store").iterdir())[0]
    entry.unlink()
    (entry / "inner").mkdir(parents=True)
    with pytest.warns(UserWarning, match=f"stored result {entry.name} of .* is damaged"):
        assert stored(tmp_path, trace) == first
    assert entry.is_file() and len(traced(trace)) == 7


@pytest.mark.parametrize("workers", [1, 2])
def test_a_failing_cell_is_named_and_all_others_are_finished_and_not_computed_again(
    tmp_path, trace, workers
):
    forbidden, file = tmp_path / "forbidden", tmp_path / "table.csv"
    forbidden.write_text("4")
    grid = {"x": range(6), "trace": str(trace), "forbidden": str(forbidden)}
    given = {"seed": 1, "workers": workers, "store": tmp_path / "store", "table": file}
    with pytest.raises(
        SweepError, match=r"1 of 6 .*\ncell \{'x': 4, .*\} failed: ArithmeticError: no square of 4"
    ) as caught:
        sweep(square, grid, **given)
    (cell, error), table = caught.value.failures[0], caught.value.table
    assert (
        cell == cells(grid)[4]
        and isinstance(error, ArithmeticError)
        and caught.value.__cause__ is error
    )
    assert table["x"].tolist() == [0, 1, 2, 3, 5] and table.to_csv(index=False) == file.read_text()
    assert traced(trace) == list("01235")
    forbidden.unlink()
    found = sweep(square, grid, **given)
    assert traced(trace) == list("012345")
    assert (
        found.to_csv(index=False)
        == file.read_text()
        == sweep(square, grid, seed=1, workers=1).to_csv(index=False)
    )


def test_an_error_that_every_cell_has_is_told_three_times_and_counted():
    with pytest.raises(SweepError) as caught:
        sweep(square, {"x": ["a", "b", "c", "d", "e"]}, seed=1, workers=1)
    assert str(caught.value).startswith("5 of 5 cells failed") and str(caught.value).endswith(
        "and 2 more"
    )
    assert len(caught.value.failures) == 5 and caught.value.table.empty


# --- workers that die, and interrupts -------------------------------------------------------------


def test_a_dying_worker_costs_only_its_own_cell_which_is_computed_again(tmp_path):
    grid = {"x": range(5), "marks": str(tmp_path), "fatal": [[1, 3]]}
    found = sweep(fragile, grid, seed=1, workers=2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1", "3"]  # both did die
    assert found.to_csv() == sweep(fragile, grid, seed=1, workers=1).to_csv()


def test_a_cell_that_always_kills_its_worker_is_reported_and_all_others_are_finished(tmp_path):
    grid = {"x": range(4), "marks": str(tmp_path), "fatal": [[0]], "always": True}
    with pytest.raises(
        SweepError,
        match="cell {'x': 0, .*failed: BrokenExecutor: a worker process ended with status -9",
    ) as caught:
        sweep(fragile, grid, seed=1, workers=2)
    assert caught.value.table["x"].tolist() == [1, 2, 3] and isinstance(
        caught.value.failures[0][1], BrokenExecutor
    )


def test_an_interrupt_ends_running_cells_and_keeps_what_is_finished(tmp_path):
    store, file = tmp_path / "store", tmp_path / "table.csv"
    grid = {"x": range(4), "store": str(store)}
    with pytest.raises(KeyboardInterrupt):
        sweep(interrupting, grid, seed=1, workers=2, store=store, table=file)
    assert pd.read_csv(file)["x"].tolist() == [0, 1, 2] and len(list(store.iterdir())) == 3
    assert sweep(square, {"x": [1, 2]}, seed=1, workers=2)["square"].tolist() == [
        1,
        4,
    ]  # with fresh processes


def test_a_pool_that_takes_no_more_calls_fails_the_cells_it_refuses():
    class Broken(Executor):
        def submit(self, *call):
            raise BrokenExecutor("out of order")

    with pytest.raises(SweepError, match="2 of 2 cells failed(.|\n)*BrokenExecutor: out of order"):
        sweep(square, {"x": [1, 2]}, seed=1, executor=Broken())


def test_cells_that_an_executor_drops_are_reported():
    class Dropping(Executor):
        def submit(self, *call):
            future = Future()
            future.cancel()
            future.set_running_or_notify_cancel()
            return future

    with pytest.raises(
        SweepError, match="2 of 2 cells failed(.|\n)*CancelledError: dropped by the executor"
    ):
        sweep(square, {"x": [1, 2]}, seed=1, executor=Dropping())


def test_a_worker_with_other_versions_is_refused_naming_both(monkeypatch):
    wanted = pools.versions() | {"numpy": "0.1"}
    monkeypatch.setattr(pools, "versions", lambda: wanted)
    with pytest.raises(
        SweepError,
        match=rf"has numpy {np.__version__} instead of 0\.1: give it the same environment",
    ):
        sweep(square, {"x": [1, 2]}, seed=1, workers=2)


# --- the table while a sweep runs -----------------------------------------------------------------


def watching(x, seed, table):
    return {"seen": len(pd.read_csv(table))}


def test_the_table_can_be_read_at_any_moment_and_grows_by_whole_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "ldpkit.sweep.time", types.SimpleNamespace(monotonic=lambda: 0.0)
    )  # writing costs no time
    file = tmp_path / "table.csv"
    found = sweep(watching, {"x": range(5), "table": str(file)}, seed=1, workers=1, table=file)
    assert found["seen"].tolist() == [0, 1, 2, 3, 4] and file.read_text() == found.to_csv(
        index=False
    )
    assert [path.name for path in tmp_path.iterdir()] == ["table.csv"]


def test_writing_the_table_may_take_a_tenth_of_the_time(tmp_path, monkeypatch):
    clock = itertools.count()  # every look at the clock takes a second, so does every writing
    monkeypatch.setattr(
        "ldpkit.sweep.time", types.SimpleNamespace(monotonic=lambda: float(next(clock)))
    )
    file = tmp_path / "table.csv"
    found = sweep(watching, {"x": range(14), "table": str(file)}, seed=1, workers=1, table=file)
    assert found["seen"].tolist() == [0] * 9 + [9] * 5 and file.read_text() == found.to_csv(
        index=False
    )


def test_a_resumed_table_starts_with_what_is_stored(tmp_path):
    file = tmp_path / "table.csv"
    sweep(
        watching,
        {"x": [0, 1], "table": str(file)},
        seed=1,
        workers=1,
        table=file,
        store=tmp_path / "store",
    )
    found = sweep(
        watching,
        {"x": [0, 1, 2], "table": str(file)},
        seed=1,
        workers=1,
        table=file,
        store=tmp_path / "store",
    )
    assert found["seen"].tolist()[2] == 2


@pytest.mark.parametrize("name", [".", "missing/table.csv"])
def test_a_table_that_cannot_be_written_is_refused_before_anything_is_computed(
    tmp_path, trace, name
):
    with pytest.raises(ValueError, match="table must be a file in an existing folder"):
        sweep(square, {"x": [1], "trace": str(trace)}, seed=1, workers=1, table=tmp_path / name)
    assert not traced(trace)


def test_a_failing_cell_leaves_a_given_executor_usable(tmp_path):
    forbidden = tmp_path / "forbidden"
    forbidden.write_text("1")
    with ThreadPoolExecutor(1) as pool:
        with pytest.raises(RuntimeError, match="no square of 1"):
            sweep(square, {"x": range(4), "forbidden": str(forbidden)}, seed=1, executor=pool)
        assert pool.submit(abs, -1).result() == 1


def test_the_store_distinguishes_functions(tmp_path):
    found = [
        sweep(func, {"n": [2]}, seed=1, workers=1, store=tmp_path).to_csv()
        for func in (several, reversed_several)
    ]
    assert found[0] != found[1] and len(list(tmp_path.iterdir())) == 2


@pytest.fixture
def edited(monkeypatch):
    """The function of a notebook, which is a module without a file, as somebody edits it."""

    def edited(factor):
        notebook = types.ModuleType("notebook")
        monkeypatch.setitem(sys.modules, "notebook", notebook)
        source, name = f"def cell(x, seed):\n    return {{'y': {factor} * x}}\n", f"<cell {factor}>"
        linecache.cache[name] = (
            len(source),
            None,
            source.splitlines(keepends=True),
            name,
        )  # as notebooks do
        exec(compile(source, name, "exec"), notebook.__dict__)
        return notebook.cell

    return edited


def test_the_store_does_not_believe_results_of_a_function_edited_since_in_its_notebook(
    tmp_path, edited
):
    found = []
    for factor in (2, 3):
        table = sweep(edited(factor), {"x": [1]}, seed=1, workers=1, store=tmp_path)
        found += table["y"].tolist()
    assert found == [2, 3]


def test_cells_of_one_function_and_of_one_source_of_it_can_be_told(tmp_path, edited):
    for function in (edited(1), edited(2), several):
        sweep(
            function,
            {"n" if function is several else "x": [1, 2]},
            seed=1,
            workers=1,
            store=tmp_path,
        )
    names = [path.name.split("-") for path in tmp_path.iterdir()]
    assert len({name for name, _, _ in names}) == 2 and len({tuple(n[:2]) for n in names}) == 3
    assert len({cell for _, _, cell in names}) == len(names) == 6


def test_a_full_disk_is_no_bad_input(tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "mkdir", full)
    with pytest.raises(OSError, match="No space left"):
        sweep(square, {"x": [1]}, seed=1, workers=1, store=tmp_path / "store")


# --- isolated packages ----------------------------------------------------------------------------


def test_isolated_pools_import_each_their_own_version_of_a_package(tmp_path, monkeypatch):
    for version in ("1", "2", "installed"):
        (tmp_path / version).mkdir()
        (tmp_path / version / "toy.py").write_text(f"VERSION = {version!r}\n")
    monkeypatch.syspath_prepend(tmp_path / "installed")
    for version in ("1", "2"):
        with isolated(tmp_path / version, workers=1) as pool:
            found = sweep(version_of_toy, [{}], seed=1, executor=pool)
        assert found["version"].tolist() == [version]
        assert Path(found["file"][0]) == (tmp_path / version / "toy.py").resolve()
    assert "toy" not in sys.modules


def test_the_first_of_several_folders_wins(tmp_path):
    for version in ("1", "2"):
        (tmp_path / version).mkdir()
        (tmp_path / version / "toy.py").write_text(f"VERSION = {version!r}\n")
    with isolated(tmp_path / "2", tmp_path / "1", workers=1) as pool:
        assert pool.submit(version_of_toy, 1).result()["version"] == "2"


def test_isolated_folders_may_be_relative(tmp_path, monkeypatch):
    (tmp_path / "toy.py").write_text("VERSION = 'here'\n")
    monkeypatch.chdir(tmp_path)
    with isolated(os.curdir, workers=1) as pool:
        assert pool.submit(version_of_toy, 1).result()["version"] == "here"


def test_a_missing_folder_is_named():
    with pytest.raises(
        FileNotFoundError, match=r"folder .*no_such_folder does not exist; `make packages` installs"
    ):
        isolated("no_such_folder")


# --- progress -------------------------------------------------------------------------------------

BAR = "from ldpkit.sweep import progress\nfor _ in progress(range(3), 3, 'three things'): pass"


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
    done = subprocess.run(
        [sys.executable, "-c", "import ipykernel\n" + BAR],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == "" and done.stdout == ""


# --- a limit of time ------------------------------------------------------------------------------


def test_a_cell_that_takes_too_long_is_ended_once_and_all_others_are_finished(tmp_path):
    grid = {
        "x": [0, 2, 3, 1],
        "marks": str(tmp_path),
    }  # the one process that computes them has started when time begins to count
    sweep(stuck, grid | {"x": [4]}, seed=1, workers=1, limit=600)
    message = (
        r"1 of 4 cells failed.*\ncell {'x': 1, .*} failed: TimeoutError: not finished within 2 s"
    )
    with pytest.raises(SweepError, match=message) as caught:
        sweep(stuck, grid, seed=1, workers=1, limit=2)
    assert caught.value.table["twice"].tolist() == [0, 4, 6]
    assert sorted(path.name[0] for path in tmp_path.iterdir()) == [
        "0",
        "1",
        "2",
        "3",
        "4",
    ]  # it is not tried again
    assert sweep(stuck, grid | {"x": [5]}, seed=1, workers=1, limit=600)["twice"].tolist() == [10]


def test_a_limit_is_a_positive_time_of_our_own_processes(table):
    for bad in (0, -1, "1", np.nan):
        with pytest.raises(ValueError, match=r"limit must be a finite number > 0, got"):
            sweep(Audit.cell, GRID, seed=1, limit=bad)
    with (
        ThreadPoolExecutor(1) as pool,
        pytest.raises(ValueError, match="limit must be left out where another executor"),
    ):
        sweep(Audit.cell, GRID, seed=1, executor=pool, limit=60)
    assert sweep(Audit.cell, GRID, seed=1, workers=2, limit=60).to_csv() == table
