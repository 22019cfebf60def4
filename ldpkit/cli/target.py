"""Options that name the audited mechanism, client, program or recordings, and the claim."""

import csv
import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from .. import curve
from ..auditors.result import Row
from ..checks import bare, need
from ..mechanisms import (
    GRR,
    MECHANISMS,
    Client,
    LocalRandomizer,
    Program,
    Repeated,
    make,
    recorded,
    takes,
)
from ..mechanisms.client import FORMS, ON_ERROR, SeparateClient
from ..reports.anything import parsed
from .base import described, options, together

__all__ = ["anything", "claims", "curve_of", "listed", "mechanism_of", "mechanism_options",
           "target_of"]  # fmt: skip


def _parameters() -> dict[str, tuple[Callable[..., object], list[str]]]:
    """Return all parameters of mechanisms by name.

    Each comes with the class that describes it, and with the names of the mechanisms that take it.
    """
    parameters: dict[str, tuple[Callable[..., object], list[str]]] = {
        name: (Repeated, []) for name in ("tau", "memoise")
    }
    for name, mechanism in MECHANISMS.items():
        # some names fix parameters of a class
        source = mechanism.func if isinstance(mechanism, functools.partial) else mechanism
        for parameter, p in inspect.signature(mechanism).parameters.items():
            if bare(p.annotation) is not str:  # the name of the mechanism implies a text
                parameters.setdefault(parameter, (source, []))[1].append(name)
    return parameters


PARAMETERS = _parameters()


def _option(parameter: str, source: Callable[..., object], takers: list[str]) -> Any:
    """Return the option for a parameter, whose help names the mechanisms that take it."""
    meaning = described(source).get(parameter, "").rstrip(".")
    named = f" ({', '.join(takers)})" if takers and source not in (Repeated, GRR) else ""
    return options(
        source, only=[parameter], own=True, **{parameter: {"help": f"{meaning}{named}."}}
    )


mechanism_options = together(
    click.option("--mechanism", metavar="NAME", help="A mechanism from `ldpkit list`."),
    *(_option(parameter, *described_by) for parameter, described_by in PARAMETERS.items()),
)
"""One option for every parameter of a mechanism."""

anything = together(
    mechanism_options,
    click.option("--client", metavar="MODULE:FUNCTION",
                 help="An importable client f(values, rng) or f(value)."),
    click.option("--command", metavar="PROGRAM", help="A client in any language, which reads"
                 " one JSON input a line and writes one JSON report a line."),
    options(Program, only=["limit"]),
    click.option("--recordings", nargs=2, metavar="FIRST SECOND",
                 help="Reports of two inputs in two files: .jsonl, .csv (or .gz), .parquet."),
    click.option("--fields", metavar="NAMES", help="Fields of the --recordings that count,"
                 " separated by commas.  [default: all]"),
    click.option("--ignore", metavar="NAMES", help="Fields of the --recordings that do not"
                 " count."),
    options(Client, only=["report"], own=True, report={"type": click.Choice([*FORMS])}),
    click.option("--inputs", metavar="JSON", help="List of inputs, which may have any type with"
                 " --report any."),
    options(Client, only=["on_error"], on_error={"type": click.Choice(ON_ERROR)}),
)  # fmt: skip
"""The options that name the target of an audit, which `target_of` reads."""

_FILE = click.Path(exists=True, dir_okay=False)
claims = together(
    click.option("--claim", type=click.Choice([*curve.CURVES]), help="Claim a whole trade-off"
                 " curve; its numbers are --mu, or --epsilon, --delta and --k."),
    click.option("--mu", type=float, help="Claim mu-GDP, Gaussian differential privacy."),
    click.option("--claim-points", type=_FILE, help="Claim the trade-off curve through the"
                 " points (alpha,beta) of a CSV file."),
    click.option("--claim-lines", type=_FILE, help="Claim all (epsilon,delta) of a CSV file."),
)  # fmt: skip
"""The options that state a claim which is a trade-off curve; `curve_of` reads them."""


def mechanism_of(mechanism: str, own: Row) -> LocalRandomizer:
    """Return the mechanism that the options describe."""
    delta = {"delta": own["delta"] or 0.0 if takes(mechanism, "delta") else None}
    return make(mechanism, **own | delta | {"memoise": own["memoise"] or None})


def listed(text: str | None) -> list[Any] | None:
    """Return the list of inputs of a JSON text."""
    wrong = f"--inputs must be a JSON list, got {text!r}"
    try:
        values = None if text is None else parsed(text)
    except ValueError as error:
        raise click.UsageError(f"{wrong} ({error})") from None
    need(text is None or isinstance(values, list), wrong)
    return values


def target_of(
    given: Row, threads: int = 1
) -> tuple[LocalRandomizer, list[Any] | None, float | None]:
    """Return the target that the options of `anything` name, with its inputs and its delta.

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
    anyhow = report == "any"
    free = anyhow and (source == "recordings" or inputs is not None)
    need(
        None not in (report, epsilon) and (k is not None or free) and not extra,
        f"--{source} needs --report, {'--inputs' if anyhow else '--k'} and"
        f" --epsilon{', and takes no ' + extra[0] if extra else ''}",
    )
    if source == "recordings":
        return recorded(what[0], what[1], report, epsilon, delta, k or 0, **kept), None, None
    claimed = {"k": k or 0, "report": report, "epsilon": epsilon, "delta": delta}
    claimed |= {"values": inputs if free else None, "on_error": given["on_error"]}
    client = (
        Client(Program(what, given["limit"]), name=what, **claimed)
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
