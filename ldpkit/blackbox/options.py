"""Options that name a client or a trade-off curve, and what they name."""

import csv
import inspect
from pathlib import Path
from typing import Annotated, Any

import click

from ..checks import need
from ..cli.frame import PARAMETERS, Name, mechanism_of
from ..mechanisms import Mechanism, takes
from ..types import Row, Word
from . import curve
from .clients import Client, Program, recorded
from .clients.anything import parsed
from .clients.client import FORMS, ON_ERROR, SeparateClient
from .edges import edges

__all__ = ["curve_of", "listed", "target_of"]

_FILE = {"type": click.Path(exists=True, dir_okay=False)}
_TWO = {"nargs": 2, "metavar": "FIRST SECOND"}


def listed(text: str | None) -> list[Any] | None:
    """Return the list of inputs of a JSON text, which may be a JSON schema."""
    wrong = f"--inputs must be a JSON list or schema, got {text!r}"
    try:
        values = None if text is None else parsed(text)
    except ValueError as error:
        raise click.UsageError(f"{wrong} ({error})") from None
    values = edges(values) if isinstance(values, dict) else values
    need(text is None or isinstance(values, list), wrong)
    return values


def target_of(
    mechanism: Name = None,
    client: Annotated[
        str | None,
        {"metavar": "MODULE:FUNCTION"},
        "An importable client f(values, rng) or f(value).",
    ] = None,
    command: Annotated[
        str | None,
        {"metavar": "PROGRAM"},
        "A client in any language, which reads one JSON input a line and writes one JSON report a"
        " line.",
    ] = None,
    limit: Annotated[
        float, "Seconds that one report may take, including the start of the program; above 0."
    ] = 10.0,
    skip_lines: Annotated[
        int, "Lines of a banner, which every start of the program writes before its first report."
    ] = 0,
    recordings: Annotated[
        tuple[str, str] | None,
        _TWO,
        "Reports of two inputs in two files: .jsonl, .csv (or .gz), .parquet.",
    ] = None,
    fields: Annotated[
        str | None,
        {"metavar": "NAMES"},
        "Fields of the --recordings that count, separated by commas.  [default: all]",
    ] = None,
    ignore: Annotated[
        str | None, {"metavar": "NAMES"}, "Fields of recordings or reports that do not count."
    ] = None,
    report: Annotated[
        str | None,
        {"type": click.Choice([*FORMS])},
        "Report type: one integer, k bits, a collection of distinct values, or anything that JSON"
        " can write.",
    ] = None,
    inputs: Annotated[
        str | None,
        {"metavar": "JSON"},
        "List of inputs, or a JSON schema whose edge is asked, of any type with --report any.",
    ] = None,
    on_error: Annotated[
        str,
        {"type": click.Choice(ON_ERROR)},
        'Treatment of a failed call: stop the audit, or count the error as a report of type "any".',
    ] = "stop",
    time: Annotated[
        bool, "Look also at the time and the number of a client's answers, one call at a time."
    ] = False,
    threads: Annotated[int, "Number of chunks that are counted at the same time, at least 1."] = 1,
    **words: Word,
) -> tuple[Mechanism, list[Any] | None, float | None]:
    """Return the target of an audit, with its inputs and its delta.

    The inputs are those to compare, if the options name them. They are ``None`` for a client whose
    reports have any form, because its inputs are named by their positions. Delta is that of the
    claim if the mechanism has none of its own, otherwise ``None``. A --client is asked for reports
    by so many `threads` at a time. The `words` have the parameters of mechanisms.
    """
    own = {name: words.get(name) for name in PARAMETERS}
    sources: Row = {
        "mechanism": mechanism,
        "client": client,
        "command": command,
        "recordings": recordings,
    }
    named = [name for name, given in sources.items() if given]
    need(len(named) == 1, "give either --mechanism or --client (or --command, or --recordings)")
    source, what = named[0], sources[named[0]]
    need(not time or client or command, "--time is that of a --client or a --command")
    lists = {"fields": fields, "ignore": ignore}
    kept: Row = {name: text.split(",") for name, text in lists.items() if text}
    wrong = [name for name in kept if mechanism or (name == "fields" and not recordings)]
    need(not wrong, f"--{''.join(wrong[:1])} names fields of --recordings, and --ignore of clients")
    values, delta = listed(inputs), own["delta"] or 0.0
    if mechanism:
        need(report is None, "--report describes the reports of a --client")
        own_delta = takes(mechanism, "delta")
        return mechanism_of(mechanism, own), values, None if own_delta else delta or None
    k, epsilon, _ = (own.pop(name) for name in ("k", "epsilon", "delta"))
    extra = [f"--{name}" for name, value in own.items() if value is not None and value is not False]
    free = report == "any" and (source == "recordings" or values is not None)
    wanted = {
        "--report": report,
        "--inputs" if report == "any" else "--k": free or k,
        "--epsilon": epsilon,
    }
    missing = [name for name, value in wanted.items() if value is None or value is False]
    needs = f"needs {', '.join(missing)}".replace(", --epsilon", " and --epsilon")
    told = [needs] * bool(missing) + [f"takes no {name}" for name in extra[:1]]
    need(not told, f"--{source} {', and '.join(told)}")
    need(source == "command" or not skip_lines, "--skip-lines are those of a --command")
    claimed: Row = {"k": k or 0, "report": report, "epsilon": epsilon, "delta": delta}
    if recordings:
        return recorded(what[0], what[1], **claimed, **kept), None, None
    claimed |= {"values": values if free else None, "on_error": on_error, "time": time} | kept
    made = (
        Client(Program(what, limit, skip_lines), name=what, **claimed)
        if command
        else SeparateClient.of(what, threads, **claimed)
    )
    return made, None if free else values, None


def curve_of(
    claim: Annotated[
        str | None,
        {"type": click.Choice([*curve.CURVES])},
        "Claim a whole trade-off curve; its numbers are --mu, or --epsilon, --delta and --k.",
    ] = None,
    mu: Annotated[float | None, "Claim mu-GDP, Gaussian differential privacy."] = None,
    claim_points: Annotated[
        str | None,
        _FILE,
        "Claim the trade-off curve through the points (alpha,beta) of a CSV file.",
    ] = None,
    claim_lines: Annotated[str | None, _FILE, "Claim all (epsilon,delta) of a CSV file."] = None,
    **words: Word,
) -> curve.Curve | None:
    """Return the trade-off curve that the options claim, or ``None`` if they claim epsilon."""
    named = claim or (None if mu is None else "gdp")
    files: list[tuple[Any, ...]] = [
        (claim_points, curve.points, ["alpha", "beta"]),
        (claim_lines, curve.lines, ["epsilon", "delta"]),
    ]
    given = [row for row in files if row[0]]
    need(len(given) + bool(named) < 2, "give one of --claim, --claim-points and --claim-lines")
    if named:
        words |= {"mu": mu}
        wanted = ["mu", *inspect.signature(curve.CURVES[named]).parameters]
        return curve.make(named, **{n: words[n] for n in wanted if words.get(n) is not None})
    for file, made, columns in given:
        return made(*_read(Path(file), columns))
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
