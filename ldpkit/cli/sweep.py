"""The command ``ldpkit sweep`` for a grid of audits, on this machine or on a Dask cluster."""

import contextlib
import functools
import hashlib
import inspect
import itertools
import os
import re
import sys
import time
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import yaml

from .. import checks, digests, executors
from .. import sweep as sweeps
from ..auditors import AUDITS
from ..digests import digest, replaceable
from ..mechanisms import MECHANISMS
from ..mechanisms.client import load
from ..types import Row
from .base import FAILED, Count, cli
from .messages import brief

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Plan", "parsed", "read", "sweep"]


class _Loader(yaml.SafeLoader):
    """Loader of YAML with two changes: ``1e6`` is a number, and a repeated key is an error."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        names = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        for i, name in enumerate(names):
            if name in names[:i]:
                raise yaml.constructor.ConstructorError(
                    None, None, f"key {name!r} is given twice", node.start_mark
                )
        return super().construct_mapping(node, deep=deep)


def _exponent(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> float:
    number = float(node.value)
    return int(number) if number.is_integer() else number


_Loader.add_implicit_resolver(
    "!exponent", re.compile(r"^[-+]?[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+$"), list("-+0123456789")
)
_Loader.add_constructor("!exponent", _exponent)


def parsed(text: bytes) -> Any:
    """Return the value of a YAML text.

    Raises
    ------
    ValueError
        If aliases would expand to more than `ldpkit.sweep.MAX_CELLS` values.
    """
    loader = _Loader(text)
    node = loader.get_single_node()
    size = 0 if node is None else _size(node, {})
    if size > sweeps.MAX_CELLS:
        raise ValueError(f"at most {sweeps.MAX_CELLS} values can be written out, got {size}")
    return None if node is None else loader.construct_document(node)


def _size(node: yaml.Node, known: dict[yaml.Node, int]) -> int:
    """Return the number of values of a node, where every alias counts again."""
    if node not in known:
        parts = [] if isinstance(node, yaml.ScalarNode) else node.value
        pairs = itertools.chain(*(part if isinstance(part, tuple) else (part,) for part in parts))
        known[node] = 1 + sum(_size(part, known) for part in pairs)
    return known[node]


_LONGEST = 2**18  # bytes of a file, because YAML needs a thousand times as much memory


class Plan:
    """A checked grid of audits.

    Parameters
    ----------
    audit : str
        A key of `ldpkit.auditors.AUDITS`.
    seed : int
        Non-negative.
    grid : mapping or list of mappings
        Parameters as in `ldpkit.sweep.cells`, with at least one cell.
    fixed : mapping
        Parameters that all cells share.
    out : str, optional
        File of the table.
    allow : collection of str
        Modules from which clients may be imported, including their submodules. Only the caller can
        name them, not the file.

    Attributes
    ----------
    cells : list of dict
        Parameters of every cell, those of the grid first.

    Raises
    ------
    ValueError
        If something is wrong. The message names it and the allowed range. Every audit is made,
        which checks its parameters, but no audit is run.
    """

    def __init__(
        self,
        audit: str,
        seed: int,
        grid: object,
        fixed: object = None,
        out: object = None,
        *,
        allow: Collection[str] = (),
    ) -> None:
        self.audit = checks.one_of("audit", audit, AUDITS)
        self.seed = checks.integer("seed", seed, 0)
        self.fixed = _names("fixed", {} if fixed is None else fixed)
        if not isinstance(grid, (dict, list)):
            raise ValueError(
                f"grid must map parameters to lists of values, or list cells, got {grid!r}"
            )
        for part in [grid] if isinstance(grid, dict) else grid:
            twice = sorted(self.fixed.keys() & _names("grid", part).keys())
            if twice:
                raise ValueError(f"{twice[0]} must be given in the grid or fixed, not in both")
        self.cells = (
            sweeps.cells([cell | self.fixed for cell in sweeps.cells(grid)]) if grid else []
        )
        if not self.cells:
            raise ValueError(f"grid must hold at least one cell, got {grid!r}")
        if out is not None and (not isinstance(out, str) or not out):
            raise ValueError(f"out must be the name of a file, got {out!r}")
        self.out = out
        for cell in self.cells:
            module, colon, _ = str(cell.get("mechanism")).partition(":")
            if colon and not any(f"{module}.".startswith(f"{each}.") for each in allow):
                raise ValueError(
                    f"cell {cell}: client {cell['mechanism']!r} would be imported and run as you:"
                    f" --allow {module} lets it"
                )
        if allow:
            sys.path.insert(0, os.getcwd())  # for clients, and workers inherit it
        for cell in sweeps.progress(self.cells, len(self.cells), "checking"):
            try:
                self._check(**cell)
            except Exception as error:
                raise ValueError(f"cell {cell}: {error}") from error

    def sources(self) -> str:
        """Return a digest of the code of all clients and of all files that the cells name.

        It is empty if the cells name neither.
        """
        named = sorted({str(cell.get("mechanism")) for cell in self.cells})
        parts = [digests.identity(load(name)) for name in named if ":" in name]
        for path in sorted({str(cell["pairs"]) for cell in self.cells if "pairs" in cell}):
            with open(path, "rb") as file:
                parts.append(hashlib.file_digest(file, "sha256").hexdigest())
        return digest(parts)[:16] if parts else ""

    def _check(self, **cell: object) -> None:
        """Make the audit of one cell, which checks its parameters."""
        if "seed" in cell:
            raise ValueError(
                "seed must stand outside the grid, because every cell derives its own seed from it"
            )
        checks.integer("runs", cell.pop("runs", 1), 1)
        AUDITS[self.audit].of(**cell)


def _names(where: str, value: object) -> Row:
    if not isinstance(value, dict) or not all(isinstance(name, str) for name in value):
        raise ValueError(f"{where} must map names of parameters to values, got {value!r}")
    return value


def read(path: str | Path, allow: Collection[str] = ()) -> Plan:
    """Read and check a file that describes a sweep.

    Parameters
    ----------
    path : path
        Regular file of at most 256 KiB. It is YAML with the keys ``audit``, ``seed`` and ``grid``,
        and optionally ``fixed`` and ``out``, see `Plan`.
    allow : collection of str
        As in `Plan`.

    Raises
    ------
    ValueError
        If the file is invalid. The message names the file and the error.
    """
    try:
        try:
            checks.need(Path(path).is_file(), "a sweep is described by a regular file")
            with Path(path).open("rb") as file:
                text = file.read(_LONGEST + 1)
            checks.need(len(text) <= _LONGEST, f"longer than {_LONGEST:,} bytes")
            content = parsed(text)
        except yaml.YAMLError as error:
            raise ValueError(f"not YAML: {error}") from error
        except RecursionError:
            raise ValueError("values are nested too deeply, or hold themselves") from None
        if not isinstance(content, dict):
            raise ValueError(f"a sweep is described by keys and values, got {content!r}")
        known = inspect.signature(Plan).parameters
        wanted = {name: p for name, p in known.items() if p.kind is not p.KEYWORD_ONLY}
        for name in content:
            checks.one_of("key", name, wanted)
        missing = [
            name for name, p in wanted.items() if p.default is p.empty and name not in content
        ]
        if missing:
            raise ValueError(f"key {missing[0]} is missing; the keys are {', '.join(wanted)}")
        return Plan(**content, allow=allow)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path}: {error}") from error


def _table(plan: Plan, text: str) -> bool:
    """Return whether a text begins like a table that a sweep wrote."""
    lines = text.splitlines()
    header = set(lines[0].split(","))
    classes: list[Any] = [*AUDITS.values(), *MECHANISMS.values()]
    parameters = {name for each in classes for name in inspect.signature(each).parameters}
    parameters |= {"runs"} | {name for cell in plan.cells for name in cell}
    # rows of every audit have these columns, but a new table has no rows
    return {"violated", "status", "run"} <= header or (header <= parameters and len(lines) < 2)


@cli.command()
@click.argument("config", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--scheduler", metavar="ADDRESS", help="A running Dask scheduler, such as tcp://127.0.0.1:8786."
)
@click.option("--workers", type=Count(), help="Processes of this machine.  [default: one per core]")
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The table (CSV).  [default: CONFIG's, else its name]",
)
@click.option(
    "--allow",
    metavar="MODULE",
    multiple=True,
    help="Module from which clients of the grid may be imported (may be repeated).",
)
@click.option("--limit", type=float, help="Seconds after which a cell fails.")
@click.option(
    "--store",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of finished cells.  [default: beside the table]",
)
@click.pass_context
def sweep(
    ctx: click.Context,
    config: Path,
    scheduler: str | None,
    workers: int | None,
    out: Path | None,
    allow: tuple[str, ...],
    limit: float | None,
    store: Path | None,
) -> None:
    """Run a grid of audits described by the file CONFIG (YAML).

    The table has all finished cells at any time. The same command continues a sweep that was
    stopped.

    Exit status: 0 if every cell is finished. 2 if the input is invalid, so that nothing was
    computed. 4 if there is no such cluster, or if some cells failed while all others are finished.
    Violations are rows of the table, not a status.
    """
    if scheduler is not None and workers is not None:
        raise click.UsageError(
            "--workers are processes of this machine; with --scheduler the cluster has its own"
        )
    workers = None if scheduler else executors.count(workers)
    plan, start = read(config, allow), time.monotonic()
    out = replaceable(
        "out",
        out or Path(plan.out or config.with_suffix(".csv").name),
        "a table that a sweep wrote",
        functools.partial(_table, plan),
    )
    # after an edit of a client or of a file, cells are stored in another folder
    store = (store or out.with_suffix(".cells")) / plan.sources()
    executor, failures = None, []
    with contextlib.ExitStack() as stack:
        if scheduler is not None:
            client = stack.enter_context(executors.connect(scheduler))
            if not client.scheduler_info()["workers"]:
                click.echo("ldpkit: the cluster has no worker yet; waiting for one", err=True)
            executor = client.get_executor(pure=False)
        try:
            table = sweeps.sweep(
                AUDITS[plan.audit].cell,
                plan.cells,
                seed=plan.seed,
                workers=workers,
                executor=executor,
                store=store,
                table=out,
                label=config.stem,
                limit=limit,
            )
        except sweeps.SweepError as error:
            table, failures = error.table, error.failures
    for cell, cause in failures:
        failed = f"cell {cell} failed: {type(cause).__name__}: {cause}"
        click.echo(f"ldpkit: {brief(failed)}", err=True)
    click.echo(_summary(plan, table, len(failures), out) + f"; {time.monotonic() - start:.1f} s")
    ctx.exit(FAILED if failures else 0)


def _summary(plan: Plan, table: "pd.DataFrame", failed: int, out: Path) -> str:
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
