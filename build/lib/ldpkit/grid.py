"""Tables of a function over a grid of parameters, computed in parallel; they can be resumed.

The seed of a cell is derived from its own parameters. Therefore neither the order nor the number
of workers nor the rest of the grid changes its result. A finished cell is stored at once, so that
a run that was killed continues where it stopped and gives the same table. A cell that fails, or
whose worker dies, stops no other cell.
"""

import functools
import hashlib
import itertools
import json
import math
import os
import pickle
import shutil
import sys
import time
import traceback
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, as_completed
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import cloudpickle
import numpy as np
from threadpoolctl import ThreadpoolController

from . import checks, digests, executors
from .progress import Progress
from .rng import derive
from .types import Row

if TYPE_CHECKING:
    # imported later when a table is made, because a worker makes none and starts faster without
    import pandas as pd

__all__ = ["GridError", "Store", "combinations", "grid"]

Func: TypeAlias = Callable[..., object]
Job: TypeAlias = tuple[Func, Row, int, dict[str, str]]
Outcome: TypeAlias = str | Exception
MAX_CELLS, _TASKS = 10**6, 10**4
_DROPPED = "dropped by the executor, as a Dask client does when its scheduler is gone"


def combinations(grid: Mapping[str, object] | Iterable[Mapping[str, object]]) -> list[Row]:
    """List the cells of a grid.

    Parameters
    ----------
    grid : mapping or iterable of mappings
        A mapping from parameters to lists of values means all combinations, of
        which the last parameter changes fastest. An iterable of mappings lists the cells.
    """
    if isinstance(grid, Mapping):
        lists = [
            v if isinstance(v, (list, tuple, range, np.ndarray)) else [v] for v in grid.values()
        ]
        names, count = list(grid), math.prod(map(len, lists))
        checks.need(count <= MAX_CELLS, f"grid must have at most {MAX_CELLS} cells, got {count}")
        grid = [dict(zip(names, combination)) for combination in itertools.product(*lists)]
    checks.instance(
        "grid", grid, Iterable, "a mapping from parameters to values, or a list of cells"
    )
    listed = [checks.instance("a cell of grid", cell, Mapping, "a mapping") for cell in grid]
    return [json.loads(json.dumps(dict(cell), default=_plain)) for cell in listed]


def _plain(x: object) -> object:
    if isinstance(x, np.generic):
        return x.item()
    raise TypeError(
        "cells and results must be plain numbers, strings, lists or dictionaries, got"
        f" {type(x).__name__}"
    )


class GridError(RuntimeError):
    """Error after a grid in which some cells failed.

    All other cells are computed, and stored if there is a store.

    Attributes
    ----------
    failures : list of (dict, Exception)
        Each failed cell and its error. If its worker died twice, the error is a `BrokenExecutor`
        or, on a Dask cluster, a ``KilledWorker``.
    table : pandas.DataFrame
        The rows of the other cells, in the order of the grid.
    """

    def __init__(
        self, failures: list[tuple[Row, Exception]], table: "pd.DataFrame", total: int
    ) -> None:
        self.failures, self.table = failures, table
        told = [f"cell {cell} failed: {type(e).__name__}: {e}" for cell, e in failures[:3]]
        more = [f"and {len(failures) - 3} more"] if len(failures) > 3 else []
        start = f"{len(failures)} of {total} cells failed, the others are finished"
        super().__init__("\n".join([start, *told, *more]))


# --- finished cells -------------------------------------------------------------------------------


class Store:
    """Store of finished cells, one file each.

    The name of a file is a digest of everything on which the result depends.
    """

    def __init__(
        self, folder: str | os.PathLike[str], func: Func, seed: int, identity: Callable[[Func], str]
    ) -> None:
        self.folder = Path(folder)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError, PermissionError) as error:
            raise ValueError(
                f"store must be a folder that can be written, got {str(folder)!r}: {error.strerror}"
            ) from error
        self.base = [f"{func.__module__}.{func.__qualname__}", identity(func), seed]
        self.source = f"{digests.digest(self.base[:1])[:8]}-{digests.digest(self.base[:2])[:8]}"

    def path(self, cell: Row) -> Path:
        """Return the path of the result of a cell.

        The name identifies the function, its source and the cell, so that results of old sources
        can be found.
        """
        return self.folder / f"{self.source}-{digests.digest([self.base, cell])[:32]}.json"

    @staticmethod
    def _check(path: Path, text: str) -> str:
        """Return the first line of a file, a digest of its name and of its content."""
        return hashlib.sha256(f"{path.stem}\n{text}".encode()).hexdigest()

    def read(self, cell: Row) -> str | None:
        """Return the stored text of a cell, or ``None``; report and remove a damaged file."""
        path = self.path(cell)
        try:
            check, _, text = path.read_text(encoding="utf-8").partition("\n")
        except FileNotFoundError:
            return None
        except (UnicodeDecodeError, IsADirectoryError):
            check, text = "", ""
        if check != self._check(path, text):
            digests.damaged(f"stored result {path.name} of {cell} is damaged; it is computed again")
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
            return None
        return text

    def write(self, cell: Row, text: str) -> None:
        """Store the result of a cell."""
        path = self.path(cell)
        digests.replace(path, f"{self._check(path, text)}\n{text}")


# --- cells that are computed ----------------------------------------------------------------------


@functools.cache
def _libraries() -> ThreadpoolController:
    """Return the libraries that start threads; cached, because the search for them is slow."""
    import scipy.linalg  # noqa: F401  loads the last of these libraries

    return ThreadpoolController()


def _run(func: Func, cell: Row, seed: int, wanted: dict[str, str]) -> str:
    executors.require(wanted)
    with _libraries().limit(limits=1, user_api="blas"):  # so that the order of sums is fixed
        result = func(**cell, seed=seed)
    text = json.dumps(result if isinstance(result, list) else [result], default=_plain)
    for row in json.loads(text):
        checks.instance("what a cell returns", row, dict, "a dictionary, or a list of dictionaries")
        for name in sorted(cell.keys() & row.keys()):  # the same value, one of a list, or a default
            given, found = cell[name], row[name]
            checks.need(
                found == given or given is None or (isinstance(given, list) and found in given),
                f"a row must not give the parameter {name} = {given!r} another value, got"
                f" {found!r}: choose another name for what is returned",
            )
    return text


def _outcome(job: Job) -> Outcome:
    """Return the rows of a cell as JSON, or its error."""
    try:
        return _run(*job)
    except Exception as error:
        return error


def _group(jobs: list[Job]) -> list[Outcome]:
    """Return the outcomes of some cells from another process; an error tells its place there."""
    outcomes = [_outcome(job) for job in jobs]
    for i, error in enumerate(outcomes):
        if isinstance(error, Exception):
            error.add_note("".join(traceback.format_exception(error)))
            try:
                pickle.loads(cloudpickle.dumps(error))
            except Exception:  # an error that cannot travel
                outcomes[i] = RuntimeError(f"{type(error).__name__}: {error}")
    return outcomes


def _parallel(
    jobs: dict[int, Job], pool: Executor, limit: float | None
) -> Generator[tuple[int, Outcome], None, None]:
    """Submit the jobs to an executor; yield number and outcome of each as it ends.

    Many jobs go in groups, because an executor takes longer for a task than for a short job. If the
    worker of a group dies, its jobs are computed once more, each as a task of its own. A job whose
    worker died is computed once more, alone, after all others. If its worker dies again, the cause
    is the job itself, and not another job that took the memory.
    """
    # only `executors.Processes` has a limit
    limited: dict[str, Any] = {} if limit is None else {"limit": limit}
    died = getattr(sys.modules.get("distributed"), "KilledWorker", BrokenExecutor)
    size = 1 if limit else max(1, -(-len(jobs) // _TASKS))
    futures: dict[Future[list[Outcome]], list[int]] = {}

    def ended(left: list[int], size: int) -> Iterator[tuple[list[int], list[Outcome]]]:
        for group in (left[i : i + size] for i in range(0, len(left), size)):
            try:
                future = pool.submit(_group, [jobs[i] for i in group], **limited)
            except BrokenExecutor as error:  # it accepts none any more, so that the jobs fail
                future = Future()
                future.set_exception(error)
            futures[future] = group
        for future in as_completed(list(futures)):
            group = futures.pop(future)
            try:
                outcomes = future.result()
            except CancelledError:
                outcomes = [CancelledError(_DROPPED)] * len(group)
            except Exception as error:
                outcomes = [error] * len(group)
            yield group, outcomes

    left = list(jobs)
    try:
        for each in dict.fromkeys((size, 1)):
            lost = []
            for group, outcomes in ended(left, each):
                if isinstance(outcomes[0], (BrokenExecutor, died)):
                    lost += group
                else:
                    yield from zip(group, outcomes)
            left = lost
        for i in left:
            for _, outcomes in ended([i], 1):
                yield i, outcomes[0]
    finally:
        for future in futures:
            future.cancel()


@checks.checked
def grid(
    func: Annotated[Func, checks.rule(checks.instance, Callable, "callable")],
    cells: Mapping[str, object] | Iterable[Mapping[str, object]],
    executor: Executor | None = None,
    store: str | os.PathLike[str] | None = None,
    *,
    seed: Annotated[int, checks.rule(checks.integer, 0)],
    workers: int | None = None,
    table: str | os.PathLike[str] | None = None,
    label: str | None = None,
    limit: Annotated[float | None, checks.rule(checks.real, 0, closed="()")] = None,
    identity: Callable[[Func], str] = digests.identity,
) -> "pd.DataFrame":
    """Call ``func(**cell, seed=...)`` on every cell of a grid and return one table.

    Parameters
    ----------
    func : callable
        Returns a flat dictionary, or a list of them (several rows), of plain
        numbers and strings. A cell fails if it returns anything else, or another
        value of one of its parameters. It must be importable by name for workers
        on other machines.
    cells : mapping or iterable of mappings
        See `combinations`.
    executor : concurrent.futures.Executor, optional
        Used instead of local processes, for example ``client.get_executor(pure=False)`` of a
        client that `ldpkit.executors.connect` returns. It is not shut down.
    store : path, optional
        Folder of finished cells. An entry is identified by cell, seed, function and its
        `identity`, but not by the content of a file that a cell names. Entries are checked when
        read, and written atomically.
    seed : int
        Non-negative. The seed of a cell depends on this number and on the cell only.
    workers : int, optional
        Local processes; the number of cores by default. 1 computes in this process.
    table : path, optional
        CSV file of the rows finished so far, in the order of the grid. It can be read at any
        moment, because it is replaced atomically. It is written before anything is computed, when
        the run ends for any reason, and in between for at most a tenth of the time.
    label : str, optional
        Text of the progress bar.
    limit : float, optional
        Seconds that a cell may take; one that takes longer fails with a `TimeoutError`. Every
        cell is then computed in a process of this machine, because only such a process can be
        ended.
    identity : callable
        ``identity(func)`` returns a digest of everything on which the function's results depend.

    Returns
    -------
    pandas.DataFrame
        The cell's parameters and what `func` returned, in the order of the grid.

    Raises
    ------
    GridError
        After all other cells are finished, if some failed. A cell whose worker died is computed
        once more, alone, before it counts as failed. Before that, a Dask scheduler repeats it
        ``distributed.scheduler.allowed-failures`` times.
    ValueError
        If a parameter is out of range, before anything is computed.
    """
    try:
        import pandas as pd
    except ModuleNotFoundError as error:
        raise digests.missing(error) from error
    listed, workers = combinations(cells), executors.count(workers)
    checks.need(
        limit is None or executor is None,
        f"limit must be left out where another executor computes, got {limit}",
    )
    place = None if table is None else Path(table)
    checks.need(
        place is None or (place.parent.is_dir() and place.exists() == place.is_file()),
        f"table must be a file in an existing folder, got {table}",
    )
    kept = Store(store, func, seed, identity) if store is not None else None
    texts = {i: text for i, cell in enumerate(listed) if kept and (text := kept.read(cell))}
    jobs = {
        i: (func, cell, derive(seed, "cell", cell), executors.versions())
        for i, cell in enumerate(listed)
        if i not in texts
    }
    failures: dict[int, Exception] = {}

    def finished() -> "pd.DataFrame":
        rows = [
            cell | row for i, cell in enumerate(listed) for row in json.loads(texts.get(i, "[]"))
        ]
        return pd.DataFrame(
            rows,
            columns=None if rows else list(dict.fromkeys(name for cell in listed for name in cell)),
        )

    def known() -> str:
        kept_in = f", kept in {kept.folder}: the next run goes on from there" if kept else ""
        return f"{kept_in}{f'; {len(failures)} failed' if failures else ''}"

    due = 0.0

    def save(now: bool) -> None:
        """Write the table, unless it may wait and would then take more than a tenth of the time."""
        nonlocal due
        start = time.monotonic()
        if place and (now or start >= due):
            digests.replace(place, finished().to_csv(index=False))
            end = time.monotonic()
            due = end + 9 * (end - start)

    save(True)
    own = executors.local(workers) if executor is None and (workers > 1 or limit) and jobs else None
    pool = executor or own
    outcomes = _parallel(jobs, pool, limit) if pool else ((i, _outcome(jobs[i])) for i in jobs)
    try:
        with Progress(
            len(listed), "cells", label, start=len(texts), notebook=True, more=known
        ) as bar:
            for i, outcome in outcomes:
                if isinstance(outcome, str):
                    texts[i] = outcome
                    if kept:
                        kept.write(listed[i], outcome)
                    save(False)
                else:
                    failures[i] = outcome
                bar.add()
    except BaseException:
        if own:
            own.shutdown(wait=False, kill=True)
            executors.local.cache_clear()
        raise
    finally:
        outcomes.close()
        save(True)
    if failures:
        raise GridError(
            [(listed[i], failures[i]) for i in sorted(failures)], finished(), len(listed)
        ) from failures[min(failures)]
    return finished()
