"""Sweeps, which compute a table from a grid of parameters in parallel, and can be resumed.

A sweep calls one function on every cell of a grid. The seed of a cell is
derived from its own parameters. Therefore neither the order nor the number of
workers nor the rest of the grid changes its result. A finished cell is stored at
once, so that a sweep that was killed continues where it stopped and gives the
same table. A cell that fails, or whose worker dies, stops no other cell.
"""

import functools
import itertools
import json
import math
import os
import sys
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, as_completed
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

from . import checks, digests, executors
from .digests import Store, replace
from .progress import Progress
from .rng import derive
from .types import Row

if TYPE_CHECKING:
    # imported later when a table is made, because a worker makes none and starts faster without
    import pandas as pd

__all__ = ["sweep", "SweepError", "cells", "progress"]

Func: TypeAlias = Callable[..., object]
Job: TypeAlias = tuple[Func, Row, int, dict[str, str]]
Each = TypeVar("Each")
MAX_CELLS, _TASKS = 10**6, 10**4


def progress(
    iterable: Iterable[Each],
    total: int,
    label: str | None,
    *,
    start: int = 0,
    more: Callable[[], str] | None = None,
) -> Iterator[Each]:
    """Yield the items of an iterable, with a progress bar if a terminal or notebook shows it."""
    with Progress(total, "cells", label, start=start, notebook=True, more=more) as bar:
        for each in iterable:
            yield each
            bar.add()


def cells(grid: Mapping[str, object] | Iterable[Mapping[str, object]]) -> list[Row]:
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


def _group(jobs: list[Job]) -> list[str]:
    return [_run(*job) for job in jobs]


def _result(future: "Future[list[str]]", number: int) -> str:
    return future.result()[number]


class SweepError(RuntimeError):
    """Error after a sweep in which some cells failed.

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


def _there(
    jobs: dict[int, Job], pool: Executor, limit: float | None
) -> Generator[tuple[int, Callable[[], str]], None, None]:
    """Submit the jobs to an executor; yield number and result of each as it ends.

    Many jobs go in groups, because an executor takes longer for a task than for a short job. The
    jobs of a group that fails are computed once more, each as a task of its own. A job whose worker
    died is computed once more, alone, after all others. If its worker dies again, the cause is the
    job itself, and not another job that took the memory.
    """
    futures: dict[Future[list[str]], list[int]] = {}
    # only `executors.Processes` has a limit
    limited: dict[str, Any] = {} if limit is None else {"limit": limit}
    numbers, size = list(jobs), 1 if limit or not jobs else -(-len(jobs) // _TASKS)
    groups = [numbers[i : i + size] for i in range(0, len(numbers), size)]

    def begun(group: list[int]) -> Future[list[str]]:
        try:
            future = pool.submit(_group, [jobs[i] for i in group], **limited)
        except BrokenExecutor as error:  # it accepts none any more, so that the jobs fail
            future = Future()
            future.set_exception(error)
        futures[future] = group
        return future

    lost = getattr(sys.modules.get("distributed"), "KilledWorker", BrokenExecutor)
    suspects: list[int] = []
    try:
        while groups:
            apart = []
            for future in as_completed([begun(group) for group in groups]):
                group = futures[future]
                error = None if future.cancelled() else future.exception()
                if error and len(group) > 1:
                    apart += [[i] for i in group]
                elif isinstance(error, (BrokenExecutor, lost)):
                    suspects += group
                else:
                    yield from (
                        (i, functools.partial(_result, future, number))
                        for number, i in enumerate(group)
                    )
            groups = apart
        for i in suspects:
            yield i, functools.partial(_result, begun([i]), 0)
    finally:
        for future in futures:
            future.cancel()


@checks.checked
def sweep(
    func: Annotated[Func, checks.rule(checks.instance, Callable, "callable")],
    grid: Mapping[str, object] | Iterable[Mapping[str, object]],
    *,
    seed: Annotated[int, checks.rule(checks.integer, 0)],
    workers: int | None = None,
    executor: Executor | None = None,
    store: str | os.PathLike[str] | None = None,
    table: str | os.PathLike[str] | None = None,
    label: str | None = None,
    limit: Annotated[float | None, checks.rule(checks.real, 0, closed="()")] = None,
    identity: Callable[[Func], str] = digests.identity,
) -> "pd.DataFrame":
    """Call ``func(**cell, seed=...)`` on every cell of `grid` and return one table.

    Parameters
    ----------
    func : callable
        Returns a flat dictionary, or a list of them (several rows), of plain
        numbers and strings. A cell fails if it returns anything else, or another
        value of one of its parameters. It must be importable by name for workers
        on other machines.
    grid : mapping or iterable of mappings
        See `cells`.
    seed : int
        Non-negative. The seed of a cell depends on this number and on the cell only.
    workers : int, optional
        Local processes; the number of cores by default. 1 computes in this process.
    executor : concurrent.futures.Executor, optional
        Used instead of local processes, for example ``client.get_executor(pure=False)`` of a
        client that `ldpkit.executors.connect` returns. It is not shut down.
    store : path, optional
        Folder of finished cells. An entry is identified by cell, seed, function and its
        `identity`, but not by the content of a file that a cell names. Entries are checked when
        read, and written atomically.
    table : path, optional
        CSV file of the rows finished so far, in the order of the grid. It can be read at any
        moment, because it is replaced atomically. It is written before anything is computed, when
        the sweep ends for any reason, and in between for at most a tenth of the time.
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
    SweepError
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
    listed = cells(grid)
    workers = executors.count(workers)
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
    texts = {i: kept.read(cell) if kept else None for i, cell in enumerate(listed)}
    jobs = {
        i: (func, cell, derive(seed, "cell", cell), executors.versions())
        for i, cell in enumerate(listed)
        if texts[i] is None
    }

    def finished() -> "pd.DataFrame":
        rows = [cell | row for i, cell in enumerate(listed) for row in json.loads(texts[i] or "[]")]
        return pd.DataFrame(
            rows,
            columns=None if rows else list(dict.fromkeys(name for cell in listed for name in cell)),
        )

    due = 0.0

    def save(now: bool) -> None:
        """Write the table, unless it may wait and would then take more than a tenth of the time."""
        nonlocal due
        start = time.monotonic()
        if place and (now or start >= due):
            replace(place, finished().to_csv(index=False))
            end = time.monotonic()
            due = end + 9 * (end - start)

    save(True)
    own = executors.local(workers) if executor is None and (workers > 1 or limit) and jobs else None
    pool = executor or own
    here = ((i, functools.partial(_run, *job)) for i, job in jobs.items())
    outcomes = _there(jobs, pool, limit) if pool else here
    failures: dict[int, Exception] = {}

    def known() -> str:
        kept_in = f", kept in {kept.folder}: the next run goes on from there" if kept else ""
        return f"{kept_in}{f'; {len(failures)} failed' if failures else ''}"

    try:
        for i, result in progress(
            outcomes, len(listed), label, start=len(listed) - len(jobs), more=known
        ):
            try:
                text = texts[i] = result()
            except CancelledError:
                failures[i] = CancelledError(
                    "dropped by the executor, as a Dask client does when its scheduler is gone"
                )
            except Exception as error:
                failures[i] = error
            else:
                if kept:
                    kept.write(listed[i], text)
                save(False)
    except BaseException:
        if own:
            own.shutdown(wait=False, kill=True)
            executors.local.cache_clear()
        raise
    finally:
        outcomes.close()
        save(True)
    if failures:
        raise SweepError(
            [(listed[i], failures[i]) for i in sorted(failures)], finished(), len(listed)
        ) from failures[min(failures)]
    return finished()
