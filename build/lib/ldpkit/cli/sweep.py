"""The command ``ldpkit sweep`` for a grid of audits, on this machine or on a Dask cluster."""

import contextlib
import hashlib
import itertools
import os
import re
import sys
import time
from collections.abc import Collection
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import click
import yaml

from .. import digests, executors
from .. import grid as grids
from ..auditors import AUDITS
from ..checks import integer, need, one_of, repeated
from ..digests import digest, replaceable
from ..progress import Progress
from ..types import Row
from .frame import FAILED, Table, number
from .group import brief


class _Loader(yaml.SafeLoader):
    """Loader of YAML with two changes: ``1e6`` is a number, and a repeated key is an error."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        twice = repeated(key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode))
        if twice is not None:
            raise yaml.constructor.ConstructorError(
                problem=f"key {twice!r} is given twice", problem_mark=node.start_mark
            )
        return super().construct_mapping(node, deep=deep)


_Loader.add_implicit_resolver(
    "!exponent", re.compile(r"^[-+]?[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+$"), list("-+0123456789")
)
_Loader.add_constructor("!exponent", lambda _, node: number(node.value))


def parsed(text: bytes) -> Any:
    """Return the value of a YAML text.

    Raises
    ------
    ValueError
        If aliases would expand to more than `ldpkit.grid.MAX_CELLS` values.
    """
    loader = _Loader(text)
    node = loader.get_single_node()
    size = _size(node, {})
    need(
        size <= grids.MAX_CELLS, f"at most {grids.MAX_CELLS} values can be written out, got {size}"
    )
    return None if node is None else loader.construct_document(node)


def _size(node: Any, known: dict[Any, int]) -> int:
    """Return the number of values of a node, where every alias counts again."""
    if node not in known:
        parts = node.value if isinstance(node, yaml.CollectionNode) else []
        pairs = itertools.chain(*(part if isinstance(part, tuple) else (part,) for part in parts))
        known[node] = 1 + sum(_size(part, known) for part in pairs)
    return known[node]


_LONGEST = 2**18  # bytes of a file, because YAML needs a thousand times as much memory


class Plan(NamedTuple):
    """A checked grid of audits.

    Attributes
    ----------
    audit : str
        A key of `ldpkit.auditors.AUDITS`.
    seed : int
        Non-negative.
    cells : list of dict
        Parameters of every cell, those of the grid first.
    out : str or None
        File of the table.
    """

    audit: str
    seed: int
    cells: list[Row]
    out: str | None

    def sources(self) -> str:
        """Return a digest of the code of all clients and of all files that the cells name.

        It is empty if the cells name neither.
        """
        clients, files = (
            sorted({str(cell[name]) for cell in self.cells if name in cell})
            for name in ("mechanism", "pairs")
        )
        parts = [digests.identity(digests.load(name)) for name in clients if ":" in name]
        parts += [hashlib.sha256(Path(name).read_bytes()).hexdigest() for name in files]
        return digest(parts)[:16] if parts else ""


def read(path: str | Path, allow: Collection[str] = ()) -> Plan:
    """Read and check a file that describes a sweep.

    Parameters
    ----------
    path : path
        Regular file of at most 256 KiB. It is YAML with the keys ``audit`` (a key of
        `ldpkit.auditors.AUDITS`), ``seed`` (non-negative) and ``grid`` (parameters as in
        `ldpkit.grid.combinations`, with at least one cell). It may have ``fixed``, parameters that
        all cells share, and ``out``, the file of the table.
    allow : collection of str
        Modules from which clients may be imported, including their submodules. Only the caller can
        name them, not the file.

    Raises
    ------
    ValueError
        If the file is invalid. The message names the file, the error and the allowed range. Every
        audit is made, which checks its parameters, but no audit is run.
    """
    try:
        need(Path(path).is_file(), "a sweep is described by a regular file")
        with Path(path).open("rb") as file:
            text = file.read(_LONGEST + 1)  # a file may grow, or state no size
        need(len(text) <= _LONGEST, f"longer than {_LONGEST:,} bytes")
        content = parsed(text)
        need(isinstance(content, dict), f"a sweep is described by keys and values, got {content!r}")
        for name in content:
            one_of("key", name, _KEYS)
        for name in _KEYS[:3]:
            need(name in content, f"key {name} is missing; the keys are {', '.join(_KEYS)}")
        return _planned(**content, allow=allow)
    except yaml.YAMLError as error:
        raise ValueError(f"{path}: not YAML: {error}") from error
    except RecursionError:
        raise ValueError(f"{path}: values are nested too deeply, or hold themselves") from None
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path}: {error}") from error


_KEYS = ("audit", "seed", "grid", "fixed", "out")  # the first three are needed


def _planned(
    audit: str, seed: int, grid: Any, fixed: Any = None, out: Any = None, *, allow: Collection[str]
) -> Plan:
    """Return the grid that the values of a file describe."""
    audit, seed = one_of("audit", audit, AUDITS), integer("seed", seed, 0)
    fixed = _names("fixed", {} if fixed is None else fixed)
    need(
        isinstance(grid, (dict, list)),
        f"grid must map parameters to lists of values, or list cells, got {grid!r}",
    )
    for part in [grid] if isinstance(grid, dict) else grid:
        for twice in sorted(fixed.keys() & _names("grid", part).keys()):
            raise ValueError(f"{twice} must be given in the grid or fixed, not in both")
    cells = grids.combinations([cell | fixed for cell in grids.combinations(grid)]) if grid else []
    need(cells, f"grid must hold at least one cell, got {grid!r}")
    need(
        out is None or (isinstance(out, str) and out),
        f"out must be the name of a file, got {out!r}",
    )
    for cell in cells:  # all of them before anything is imported
        client = str(cell.get("mechanism"))
        module, colon, _ = client.partition(":")
        need(
            not colon or any(f"{module}.".startswith(f"{each}.") for each in allow),
            f"cell {cell}: client {client!r} would be imported and run as you: --allow {module}"
            " lets it",
        )
    if allow:
        sys.path.insert(0, os.getcwd())  # for clients, and workers inherit it
    with Progress(len(cells), "cells", "checking") as bar:
        for cell in cells:
            try:
                need(
                    "seed" not in cell,
                    "seed must stand outside the grid, because every cell derives its own seed"
                    " from it",
                )
                integer("runs", cell.get("runs", 1), 1)
                AUDITS[audit].of(**{name: x for name, x in cell.items() if name != "runs"})
            except Exception as error:
                raise ValueError(f"cell {cell}: {error}") from error
            bar.add()
    return Plan(audit, seed, cells, out)


def _names(where: str, value: Any) -> Row:
    named = isinstance(value, dict) and all(isinstance(name, str) for name in value)
    need(named, f"{where} must map names of parameters to values, got {value!r}")
    return value


def _table(text: str) -> bool:
    """Return whether a text begins like a table that a sweep wrote."""
    lines = text.splitlines()
    columns = set(lines[0].split(","))
    # rows of every audit have these columns, but a new table has no rows
    fresh = len(lines) < 2 and not columns.isdisjoint(("mechanism", "epsilon"))
    return fresh or columns >= {"violated", "status", "run"}


def sweep(
    config: Annotated[Path, {"type": click.Path(exists=True, dir_okay=False, path_type=Path)}],
    scheduler: Annotated[
        str | None,
        {"metavar": "ADDRESS"},
        "A running Dask scheduler, such as tcp://127.0.0.1:8786.",
    ] = None,
    out: Annotated[
        Path | None,
        {"type": click.Path(dir_okay=False, path_type=Path)},
        "The table (CSV).  [default: CONFIG's, else its name]",
    ] = None,
    allow: Annotated[
        tuple[str, ...],
        {"metavar": "MODULE", "multiple": True},
        "Module from which clients of the grid may be imported (may be repeated).",
    ] = (),
    workers: Annotated[int | None, "Processes of this machine.  [default: one per core]"] = None,
    store: Annotated[
        Path | None,
        {"type": click.Path(file_okay=False, path_type=Path)},
        "Folder of finished cells.  [default: beside the table]",
    ] = None,
    limit: Annotated[float | None, "Seconds after which a cell fails."] = None,
) -> Table:
    """Run a grid of audits described by the file CONFIG (YAML).

    The table has all finished cells at any time. The same command continues a sweep that was
    stopped.

    Exit status: 0 if every cell is finished. 2 if the input is invalid, so that nothing was
    computed. 4 if there is no such cluster, or if some cells failed while all others are finished.
    Violations are rows of the table, not a status.
    """
    need(
        scheduler is None or workers is None,
        "--workers are processes of this machine; with --scheduler the cluster has its own",
    )
    plan, start, failures = read(config, allow), time.monotonic(), []
    out = out or Path(plan.out or config.with_suffix(".csv").name)
    replaceable("out", out, "a table that a sweep wrote", _table)
    # after an edit of a client or of a file, cells are stored in another folder
    store = (store or out.with_suffix(".cells")) / plan.sources()
    # an interrupt leaves semaphores, which Python's resource tracker removes: it need not say so
    sys.warnoptions.append("ignore:resource_tracker")
    with contextlib.nullcontext() if scheduler is None else executors.connect(scheduler) as cluster:
        if cluster and not cluster.scheduler_info()["workers"]:
            click.echo("ldpkit: the cluster has no worker yet; waiting for one", err=True)
        try:
            table = grids.grid(
                AUDITS[plan.audit].cell, plan.cells, seed=plan.seed, workers=workers,
                executor=cluster and cluster.get_executor(pure=False), store=store, table=out,
                label=config.stem, limit=limit,
            )  # fmt: skip
        except grids.GridError as error:
            table, failures = error.table, error.failures
    for cell, cause in failures:
        click.echo(brief(f"ldpkit: cell {cell} failed: {type(cause).__name__}: {cause}"), err=True)
    summary = _summary(plan, table, len(failures), out)
    seconds = time.monotonic() - start
    row = {"cells": len(plan.cells), "failed": len(failures), "rows": len(table), "table": str(out)}
    status = FAILED if failures else 0
    return Table(row | {"seconds": seconds}, [], f"{summary}; {seconds:.1f} s", status)


def _summary(plan: Plan, table: Any, failed: int, out: Path) -> str:
    proofs = int(table["violated"].sum()) if "violated" in table else 0
    parts = [
        f"{len(plan.cells) - failed} of {len(plan.cells)} cells finished",
        f"{len(table)} rows in {out}",
    ]
    if proofs:
        parts.append(f"{proofs} of them prove a violation")
    if proofs and "alpha" in table:  # of all together: the mean number is bounded by the sum
        wrong = f"{table['alpha'].sum():.3g} rows would prove one wrongly on average"
        parts.append(f"each at its own alpha (were all claims true, at most {wrong})")
    if "round" in table:  # as `AuditResult.about` says of one result
        groups = table["violated"] & (table["round"] > 1) & (table["attack"] != "skv")
        if n := int(groups.sum()):
            parts.append(f"{n} of these of two groups that heard different means, not of one user")
    return ", ".join(parts)
