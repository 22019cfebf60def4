"""Options that name a client or a trade-off curve, and what they name."""

import csv
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import click

from .. import attacks
from ..auditors.base import Seed
from ..checks import need
from ..cli.frame import NUMBER
from ..cli.options import PARAMETERS, Name, mechanism_of
from ..mechanisms import Mechanism, takes
from ..types import Row
from . import curve
from .clients import Client, Program, recorded
from .clients.anything import parsed
from .clients.client import FORMS, ON_ERROR, SeparateClient

__all__ = ["Claims", "Target", "curve_of", "listed", "target_of"]

_FILE = {"type": click.Path(exists=True, dir_okay=False)}
_TWO = {"nargs": 2, "metavar": "FIRST SECOND"}


class Target(NamedTuple):
    """The options that name the target of an audit, which `target_of` reads, and its questions."""

    mechanism: Name = None
    client: Annotated[
        str | None,
        {"metavar": "MODULE:FUNCTION"},
        "An importable client f(values, rng) or f(value).",
    ] = None
    command: Annotated[
        str | None,
        {"metavar": "PROGRAM"},
        "A client in any language, which reads one JSON input a line and writes one JSON report a"
        " line.",
    ] = None
    limit: Annotated[
        float, "Seconds that one report may take, including the start of the program; above 0."
    ] = 10.0
    skip_lines: Annotated[
        int, "Lines of a banner, which every start of the program writes before its first report."
    ] = 0
    recordings: Annotated[
        tuple[str, str] | None,
        _TWO,
        "Reports of two inputs in two files: .jsonl, .csv (or .gz), .parquet.",
    ] = None
    fields: Annotated[
        str | None,
        {"metavar": "NAMES"},
        "Fields of the --recordings that count, separated by commas.  [default: all]",
    ] = None
    ignore: Annotated[
        str | None, {"metavar": "NAMES"}, "Fields of the --recordings that do not count."
    ] = None
    report: Annotated[
        str | None,
        {"type": click.Choice([*FORMS])},
        "Report type: one integer, k bits, a collection of distinct values, or anything that JSON"
        " can write.",
    ] = None
    inputs: Annotated[
        str | None,
        {"metavar": "JSON"},
        "List of inputs, which may have any type with --report any.",
    ] = None
    on_error: Annotated[
        str,
        {"type": click.Choice(ON_ERROR)},
        'Treatment of a failed call: stop the audit, or count the error as a report of type "any".',
    ] = "stop"
    attack: Annotated[
        tuple[str, ...],
        {"multiple": True},
        f"One of {', '.join(attacks.ATTACKS)}, or learned (may be repeated).  [default: guess]",
    ] = ()
    pair: Annotated[
        tuple[tuple[float, float], ...],
        {"type": NUMBER, "nargs": 2, "multiple": True},
        "The two audited inputs (may be repeated).  [default: those furthest apart]",
    ] = ()
    seed: Seed = 1


class Claims(NamedTuple):
    """The options that state a claim which is a trade-off curve; `curve_of` reads them."""

    claim: Annotated[
        str | None,
        {"type": click.Choice([*curve.CURVES])},
        "Claim a whole trade-off curve; its numbers are --mu, or --epsilon, --delta and --k.",
    ] = None
    mu: Annotated[float | None, "Claim mu-GDP, Gaussian differential privacy."] = None
    claim_points: Annotated[
        str | None,
        _FILE,
        "Claim the trade-off curve through the points (alpha,beta) of a CSV file.",
    ] = None
    claim_lines: Annotated[str | None, _FILE, "Claim all (epsilon,delta) of a CSV file."] = None


def listed(text: str | None) -> list[Any] | None:
    """Return the list of inputs of a JSON text."""
    wrong = f"--inputs must be a JSON list, got {text!r}"
    try:
        values = None if text is None else parsed(text)
    except ValueError as error:
        raise click.UsageError(f"{wrong} ({error})") from None
    need(text is None or isinstance(values, list), wrong)
    return values


def target_of(given: Row, threads: int = 1) -> tuple[Mechanism, list[Any] | None, float | None]:
    """Return the target that the options of `Target` name, with its inputs and its delta.

    The inputs are those to compare, if the options name them. They are ``None`` for a client whose
    reports have any form, because its inputs are named by their positions. Delta is that of the
    claim if the mechanism has none of its own, otherwise ``None``. A --client may be asked for
    reports by so many `threads` at a time.
    """
    own = {name: given[name] for name in PARAMETERS}
    named = [n for n in ("mechanism", "client", "command", "recordings") if given[n]]
    need(len(named) == 1, "give either --mechanism or --client (or --command, or --recordings)")
    source, what = named[0], given[named[0]]
    kept = {name: given[name].split(",") for name in ("fields", "ignore") if given[name]}
    need(
        source == "recordings" or not kept, f"--{''.join([*kept][:1])} names fields of --recordings"
    )
    report, inputs, delta = given["report"], listed(given["inputs"]), given["delta"] or 0.0
    if source == "mechanism":
        need(report is None, "--report describes the reports of a --client")
        return mechanism_of(what, own), inputs, None if takes(what, "delta") else delta or None
    k, epsilon, _ = (own.pop(name) for name in ("k", "epsilon", "delta"))
    extra = [f"--{name}" for name, value in own.items() if value is not None and value is not False]
    free = report == "any" and (source == "recordings" or inputs is not None)
    wanted = {
        "--report": report,
        "--inputs" if report == "any" else "--k": free or k,
        "--epsilon": epsilon,
    }
    missing = [name for name, value in wanted.items() if value is None or value is False]
    needs = f"needs {', '.join(missing)}".replace(", --epsilon", " and --epsilon")
    told = [needs] * bool(missing) + [f"takes no {name}" for name in extra[:1]]
    need(not told, f"--{source} {', and '.join(told)}")
    need(source == "command" or not given["skip_lines"], "--skip-lines are those of a --command")
    if source == "recordings":
        return recorded(what[0], what[1], report, epsilon, delta, k or 0, **kept), None, None
    claimed = {"k": k or 0, "report": report, "epsilon": epsilon, "delta": delta}
    claimed |= {"values": inputs if free else None, "on_error": given["on_error"]}
    client = (
        Client(Program(what, given["limit"], given["skip_lines"]), name=what, **claimed)
        if source == "command"
        else SeparateClient.of(what, threads, **claimed)
    )
    return client, None if free else inputs, None


_FILES: dict[str, tuple[Callable[..., curve.Curve], list[str]]] = {
    "claim_points": (curve.points, ["alpha", "beta"]),
    "claim_lines": (curve.lines, ["epsilon", "delta"]),
}


def curve_of(words: Row) -> curve.Curve | None:
    """Return the trade-off curve that the options claim, or ``None`` if they claim epsilon."""
    named = words["claim"] or (None if words["mu"] is None else "gdp")
    files = [name for name in _FILES if words[name]]
    need(len(files) + bool(named) < 2, "give one of --claim, --claim-points and --claim-lines")
    if named:
        wanted = ["mu", *inspect.signature(curve.CURVES[named]).parameters]
        given = {n: words[n] for n in curve.PARAMETERS if n in wanted and words[n] is not None}
        return curve.make(named, **given)
    for name in files:
        made, columns = _FILES[name]
        return made(*_read(Path(words[name]), columns))
    return None


def _read(path: Path, columns: list[str]) -> list[list[float]]:
    """Return the columns of a CSV file, whose first line names them."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.reader(file) if row]
    try:
        need(len(rows) > 1 and rows[0] == columns, f"got {rows[:1]}")
        return [[float(cell) for cell in column] for column in zip(*rows[1:], strict=True)]
    except ValueError as error:
        raise click.UsageError(
            f"{path} must begin with {','.join(columns)} and hold two numbers a line: {error}"
        ) from None
