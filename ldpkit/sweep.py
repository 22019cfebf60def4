"""Grids to tables: parallel, resumable, seeded, with a progress bar.

A sweep calls one function on every cell of a grid. Each cell gets a seed
derived from its own parameters, so neither the order nor the number of workers
nor the rest of the grid changes its result. A finished cell is stored at once;
a sweep that was killed continues where it stopped and gives the same table.
A cell that fails, or whose worker dies, stops no other cell.
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
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

from . import checks, digests, executors
from .progress import Progress
from .rng import derive
from .store import Store, replace
from .types import Row

if TYPE_CHECKING:
    # loaded when a table is made: a worker makes none, and starts in half the time
    import pandas as pd

__all__ = ["sweep", "SweepError", "cells", "progress"]

Func: TypeAlias = Callable[..., object]
Job: TypeAlias = tuple[Func, Row, int, dict[str, str]]
Each = TypeVar("Each")
MAX_CELLS = 10**6


def progress(
    iterable: Iterable[Each],
    total: int,
    label: str | None,
    *,
    start: int = 0,
    more: Callable[[], str] | None = None,
) -> Iterator[Each]:
    """Go through an iterable with a progress bar and the time left; silent unless a person is
    watching."""
    with Progress(total, "cells", label, start=start, notebook=True, more=more) as bar:
        for each in iterable:
            yield each
            bar.add()


def cells(grid: Mapping[str, object] | Iterable[Mapping[str, object]]) -> list[Row]:
    """List the cells of a grid.

    Parameters
    ----------
    grid : mapping or iterable of mappings
        A mapping from parameter to list of values means all combinations, the
        last parameter moving fastest; an iterable of mappings lists the cells.
    """
    if isinstance(grid, Mapping):
        lists = [
            v if isinstance(v, (list, tuple, range, np.ndarray)) else [v] for v in grid.values()
        ]
        names = list(grid)
        if (count := math.prod(map(len, lists))) > MAX_CELLS:
            raise ValueError(f"grid must have at most {MAX_CELLS} cells, got {count}")
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
    """The libraries with threads of their own; looking for them takes longer than many a cell."""
    import scipy.linalg  # noqa: F401  brings the last of them

    return ThreadpoolController()


def _run(func: Func, cell: Row, seed: int, wanted: dict[str, str]) -> str:
    executors.require(wanted)
    with _libraries().limit(
        limits=1, user_api="blas"
    ):  # sums are formed in the same order whatever the number of cores
        result = func(**cell, seed=seed)
    return json.dumps(result if isinstance(result, list) else [result], default=_plain)


class SweepError(RuntimeError):
    """Some cells failed; all others were computed, and stored if a store was given.

    Attributes
    ----------
    failures : list of (dict, Exception)
        Each failed cell and its error. A cell whose worker died twice carries a `BrokenExecutor`
        or, on a Dask cluster, a ``KilledWorker``.
    table : pandas.DataFrame
        The rows of the other cells, in the order of the grid.
    """

    def __init__(
        self, failures: list[tuple[Row, Exception]], table: "pd.DataFrame", total: int
    ) -> None:
        self.failures, self.table = failures, table
        lines = [
            f"cell {cell} failed: {type(error).__name__}: {error}" for cell, error in failures[:3]
        ]
        if len(failures) > len(lines):
            lines.append(f"and {len(failures) - len(lines)} more")
        super().__init__(
            f"{len(failures)} of {total} cells failed, the others are finished\n" + "\n".join(lines)
        )


class _Table:
    """The finished rows as one CSV file, always replaced as a whole: a reader sees whole rows and
    nothing else."""

    def __init__(self, path: str | os.PathLike[str], rows: "Callable[[], pd.DataFrame]") -> None:
        self.path, self.rows = Path(path), rows
        self.write()

    def write(self) -> None:
        start = time.monotonic()
        replace(self.path, self.rows().to_csv(index=False))
        end = time.monotonic()
        self.due = end + 9 * (end - start)

    def refresh(self) -> None:
        """Write again, unless that would take more than a tenth of the time."""
        if time.monotonic() >= self.due:
            self.write()


def _here(jobs: dict[int, Job]) -> Generator[tuple[int, Future[str]], None, None]:
    """Compute the jobs in this process, one after the other; yield number and outcome."""
    for i, job in jobs.items():
        future: Future[str] = Future()
        try:
            future.set_result(_run(*job))
        except Exception as error:
            future.set_exception(error)
        yield i, future


def _there(
    jobs: dict[int, Job], pool: Executor, limit: float | None
) -> Generator[tuple[int, Future[str]], None, None]:
    """Compute the jobs in a pool; yield number and outcome as they end.

    A job whose worker died is computed once more, alone, after all others: whatever kills a worker
    then is the job itself, not a neighbour that took the memory.
    """
    futures = {_submit(pool, job, limit): i for i, job in jobs.items()}
    suspects = []
    try:
        for future in as_completed(futures):
            if not future.cancelled() and isinstance(future.exception(), _deaths()):
                suspects.append(futures[future])
            else:
                yield futures[future], future
        for i in suspects:
            again = _submit(pool, jobs[i], limit)
            futures[again] = i
            yield from ((i, future) for future in as_completed([again]))
    finally:
        for future in futures:
            future.cancel()


def _submit(pool: Executor, job: Job, limit: float | None) -> Future[str]:
    """Submit a job; a pool that takes none any more fails it."""
    try:
        return (
            pool.within(limit, _run, *job)
            if isinstance(pool, executors.Processes)
            else pool.submit(_run, *job)
        )
    except BrokenExecutor as error:
        refused: Future[str] = Future()
        refused.set_exception(error)
        return refused


def _deaths() -> tuple[type[Exception], ...]:
    """Errors by which a pool says that a worker died."""
    return BrokenExecutor, getattr(sys.modules.get("distributed"), "KilledWorker", BrokenExecutor)


def sweep(
    func: Func,
    grid: Mapping[str, object] | Iterable[Mapping[str, object]],
    *,
    seed: int,
    workers: int | None = None,
    executor: Executor | None = None,
    store: str | os.PathLike[str] | None = None,
    table: str | os.PathLike[str] | None = None,
    label: str | None = None,
    limit: float | None = None,
    identity: Callable[[Func], str] = digests.identity,
) -> "pd.DataFrame":
    """Call ``func(**cell, seed=...)`` on every cell of `grid` and return one table.

    Parameters
    ----------
    func : callable
        Returns a flat dictionary, or a list of them (several rows), of plain
        numbers and strings. Importable by name if `workers` are processes on
        other machines.
    grid : mapping or iterable of mappings
        See `cells`.
    seed : int
        Non-negative. A cell's seed depends on this number and on the cell only.
    workers : int, optional
        Local processes; the number of cores by default. 1 computes in this process.
    executor : concurrent.futures.Executor, optional
        Used instead of local processes, for example ``client.get_executor(pure=False)`` of a
        client that `ldpkit.executors.connect` returns. It is left open.
    store : path, optional
        Folder of finished cells. Entries are keyed by cell, seed, function and its `identity`
        (not by the content of a file that a cell names), checked when read, and written whole or
        not at all.
    table : path, optional
        CSV file of the rows finished so far, in the order of the grid. It can be read at any
        moment: it is replaced as a whole, first before anything is computed and last when the
        sweep ends, whatever ends it; in between, as often as a tenth of the time allows.
    label : str, optional
        Text of the progress bar.
    limit : float, optional
        Seconds that a cell may take; one that takes longer fails with a `TimeoutError`.
        Only processes of this machine can be held to it, so each cell is computed in one then.
    identity : callable
        ``identity(func)``: a digest of all that the function's results depend on.

    Returns
    -------
    pandas.DataFrame
        The cell's parameters and what `func` returned, in the order of the grid.

    Raises
    ------
    SweepError
        After all other cells are finished, if some failed. A cell whose worker died is computed
        once more, alone, before it counts as failed (a Dask scheduler repeats it by itself
        before that, ``distributed.scheduler.allowed-failures`` times).
    ValueError
        If a parameter is out of range, before anything is computed.
    """
    try:
        import pandas as pd
    except ModuleNotFoundError as error:
        raise digests.missing(error) from error
    checks.instance("func", func, Callable, "callable")
    listed = cells(grid)
    seed = checks.integer("seed", seed, 0)
    workers = executors.count(workers)
    if limit is not None:
        limit = checks.real("limit", limit, 0, closed="()")
        if executor is not None:
            raise ValueError(
                f"limit must be left out where another executor computes, got {limit:g}"
            )
    place = None if table is None else Path(table)
    if place and (place.exists() > place.is_file() or not place.parent.is_dir()):
        raise ValueError(f"table must be a file in an existing folder, got {table}")
    kept = Store(store, func, seed, identity) if store is not None else None
    texts: dict[int, str | None] = {
        i: kept.read(cell) if kept else None for i, cell in enumerate(listed)
    }
    todo = [i for i, text in texts.items() if text is None]
    jobs = {
        i: (func, listed[i], derive(seed, "cell", listed[i]), executors.versions()) for i in todo
    }

    def finished() -> "pd.DataFrame":
        rows = [cell | row for i, cell in enumerate(listed) for row in json.loads(texts[i] or "[]")]
        return pd.DataFrame(
            rows,
            columns=None if rows else list(dict.fromkeys(name for cell in listed for name in cell)),
        )

    file = _Table(table, finished) if table is not None else None
    own = executors.local(workers) if executor is None and (workers > 1 or limit) and todo else None
    pool = executor or own
    outcomes = _there(jobs, pool, limit) if pool else _here(jobs)
    failures: dict[int, Exception] = {}

    def known() -> str:
        kept_in = f", kept in {kept.folder}: the next run goes on from there" if kept else ""
        return f"{kept_in}{f'; {len(failures)} failed' if failures else ''}"

    try:
        for i, future in progress(
            outcomes, len(listed), label, start=len(listed) - len(todo), more=known
        ):
            try:
                text = texts[i] = future.result()
            except CancelledError:
                failures[i] = CancelledError(
                    "dropped by the executor, as a Dask client does when its scheduler is gone"
                )
                continue
            except Exception as error:
                failures[i] = error
                continue
            if kept:
                kept.write(listed[i], text)
            if file:
                file.refresh()
    except BaseException:
        if own:
            own.shutdown(wait=False, kill=True)
            executors.local.cache_clear()
        raise
    finally:
        outcomes.close()
        if file:
            file.write()
    if failures:
        raise SweepError(
            [(listed[i], failures[i]) for i in sorted(failures)], finished(), len(listed)
        ) from failures[min(failures)]
    return finished()
