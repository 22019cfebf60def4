"""Grids to tables: parallel, resumable, seeded, with a progress bar.

A sweep calls one function on every cell of a grid. Each cell gets a seed
derived from its own parameters, so neither the order nor the number of workers
nor the rest of the grid changes its result. A finished cell is stored at once;
a sweep that was killed continues where it stopped and gives the same table.
"""

import hashlib
import itertools
import json
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import as_completed
from pathlib import Path

import loky
import numpy as np
import pandas as pd
from tqdm import tqdm

from . import checks, depends, streams

__all__ = ["sweep", "cells", "isolated", "progress"]


def progress(iterable, total, label):
    """Wrap an iterable in a progress bar with the time left; silent unless a person is watching."""
    watching = sys.stderr.isatty() or "ipykernel" in sys.modules
    return tqdm(iterable, total=total, desc=label, leave=False, disable=None if watching else True)


def cells(grid):
    """List the cells of a grid.

    Parameters
    ----------
    grid : mapping or iterable of mappings
        A mapping from parameter to list of values means all combinations, the
        last parameter moving fastest; an iterable of mappings lists the cells.
    """
    if isinstance(grid, Mapping):
        lists = [v if isinstance(v, (list, tuple, range, np.ndarray)) else [v] for v in grid.values()]
        names = list(grid)
        grid = [dict(zip(names, combination)) for combination in itertools.product(*lists)]
    checks.instance("grid", grid, Iterable, "a mapping from parameters to values, or a list of cells")
    return [
        json.loads(json.dumps(dict(checks.instance("a cell of grid", c, Mapping, "a mapping")), default=_plain)) for c in grid
    ]


def _plain(x):
    if isinstance(x, np.generic):
        return x.item()
    raise TypeError(f"cells and results must be plain numbers, strings, lists or dictionaries, got {type(x).__name__}")


def _run(func, cell, seed):
    result = func(**cell, seed=seed)
    return json.dumps(result if isinstance(result, list) else [result], default=_plain)


class _Store:
    """Finished cells as files: name = digest of everything the result depends on."""

    def __init__(self, folder, func, seed):
        self.folder = Path(folder)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ValueError(f"store must be a folder that can be written, got {str(folder)!r}: {error.strerror}") from error
        self.base = [f"{func.__module__}.{func.__qualname__}", depends.identity(func), seed]

    def path(self, cell):
        key = json.dumps([self.base, cell], sort_keys=True)
        return self.folder / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"

    @staticmethod
    def _check(path, text):
        """First line of a file: vouches for the content and for the name it is stored under."""
        return hashlib.sha256(f"{path.stem}\n{text}".encode()).hexdigest()

    def read(self, cell):
        """Return the stored text, or ``None``; a damaged file is reported and removed."""
        path = self.path(cell)
        try:
            check, _, text = path.read_text(encoding="utf-8").partition("\n")
        except FileNotFoundError:
            return None
        except UnicodeDecodeError:
            check, text = "", ""
        if check != self._check(path, text):
            warnings.warn(f"stored result {path.name} of {cell} is damaged; it is computed again", stacklevel=3)
            path.unlink()
            return None
        return text

    def write(self, cell, text):
        path = self.path(cell)
        with tempfile.NamedTemporaryFile("w", dir=self.folder, suffix=".tmp", delete=False, encoding="utf-8") as file:
            file.write(self._check(path, text) + "\n" + text)
        os.replace(file.name, path)


def sweep(func, grid, *, seed, workers=None, executor=None, store=None, label=None):
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
        Used instead of local processes, for example
        ``distributed.Client(...).get_executor(pure=False)``. It is left open.
    store : path, optional
        Folder of finished cells. Entries are keyed by cell, seed, function and
        what the function depends on (`depends`; not the content of a file that
        a cell names), checked when read, and written whole or not at all.
    label : str, optional
        Text of the progress bar.

    Returns
    -------
    pandas.DataFrame
        The cell's parameters and what `func` returned, in the order of the grid.

    Raises
    ------
    RuntimeError
        If a cell fails; names the cell. Cells finished before are stored.
    """
    checks.instance("func", func, Callable, "callable")
    grid = cells(grid)
    seed = checks.integer("seed", seed, 0)
    workers = _workers(workers)
    kept = _Store(store, func, seed) if store is not None else None
    texts = {i: kept.read(cell) if kept else None for i, cell in enumerate(grid)}
    todo = [i for i, text in texts.items() if text is None]
    jobs = {i: (func, grid[i], streams.derive(seed, "cell", grid[i])) for i in todo}

    def finish(i, text):
        texts[i] = text
        if kept:
            kept.write(grid[i], text)

    def failed(i, error):
        return RuntimeError(f"cell {grid[i]} failed: {type(error).__name__}: {error}")

    if executor is None and (workers == 1 or len(todo) <= 1):
        for i in progress(todo, len(todo), label):
            try:
                text = _run(*jobs[i])
            except Exception as error:
                raise failed(i, error) from error
            finish(i, text)
    elif todo:
        pool = executor or loky.get_reusable_executor(workers)
        futures = {pool.submit(_run, *jobs[i]): i for i in todo}
        try:
            for future in progress(as_completed(futures), len(todo), label):
                i = futures[future]
                try:
                    text = future.result()
                except Exception as error:
                    raise failed(i, error) from error
                finish(i, text)
        finally:
            for future in futures:
                future.cancel()
    return pd.DataFrame([cell | row for i, cell in enumerate(grid) for row in json.loads(texts[i])])


def _workers(workers: int | None) -> int:
    return checks.integer("workers", (os.cpu_count() or 1) if workers is None else workers, 1)


def _prepend(paths):
    sys.path[:0] = paths


def isolated(*folders, workers=None):
    """Return a process pool whose workers import from `folders` first.

    This is how a third-party package is audited without installing it next to
    ldpkit: its own folder is put in front of the import path of fresh processes,
    so two versions of one package can be audited by one notebook.

    Parameters
    ----------
    *folders : path
        Existing folders, in order of preference.
    workers : int, optional
        Number of processes; the number of cores by default.

    Raises
    ------
    FileNotFoundError
        If a folder does not exist.
    """
    paths = [Path(folder).resolve() for folder in folders]
    for path in paths:
        if not path.is_dir():
            raise FileNotFoundError(f"folder {path} does not exist; `make packages` installs the packages under audit")
    return loky.ProcessPoolExecutor(_workers(workers), initializer=_prepend, initargs=([str(p) for p in paths],))
