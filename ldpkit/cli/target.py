"""Options that name the audited mechanism, client, program or recordings."""

import functools
import inspect
from collections.abc import Callable
from typing import Any

import click

from .. import checks
from ..auditors.result import Row
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
from .base import Command, described, options

__all__ = ["anything", "mechanism_of", "mechanism_options", "target_of"]


def _parameters() -> dict[str, tuple[Callable[..., object], list[str]]]:
    """Return all parameters of mechanisms by name.

    Each comes with the class that describes it, and with the names of the mechanisms that take it.
    """
    parameters: dict[str, tuple[Callable[..., object], list[str]]] = {
        name: (Repeated, []) for name in ("tau", "memoise")
    }
    for name, mechanism in MECHANISMS.items():
        for parameter, p in inspect.signature(mechanism).parameters.items():
            if checks.bare(p.annotation) is not str:  # the name of the mechanism implies a text
                parameters.setdefault(parameter, (mechanism, []))[1].append(name)
    return parameters


PARAMETERS = _parameters()


def mechanism_options(command: Command) -> Command:
    """Give a command one option for every parameter of a mechanism."""
    for parameter, (source, takers) in reversed(PARAMETERS.items()):
        meaning = (
            described(source.func if isinstance(source, functools.partial) else source)
            .get(parameter, "")
            .rstrip(".")
        )
        named = f" ({', '.join(takers)})" if takers and source not in (Repeated, GRR) else ""
        command = options(
            source, only=[parameter], own=True, **{parameter: {"help": f"{meaning}{named}."}}
        )(command)
    return click.option("--mechanism", metavar="NAME", help="A mechanism from `ldpkit list`.")(
        command
    )


def anything(command: Command) -> Command:
    """Give a command the options that name the target of an audit, which `target_of` reads."""
    for option in reversed([
        click.option("--client", metavar="MODULE:FUNCTION",
                     help="An importable client f(values, rng) or f(value)."),
        click.option("--command", metavar="PROGRAM", help="A client in any language, which reads"
                     " one JSON input a line and writes one JSON report a line."),
        click.option("--limit", type=float, default=10.0, show_default=True,
                     help="Seconds that the --command may take for one report."),
        click.option("--recordings", nargs=2, metavar="FIRST SECOND",
                     help="Reports of two inputs in two files: .jsonl, .csv (or .gz), .parquet."),
        click.option("--fields", metavar="NAMES", help="Fields of the --recordings that count,"
                     " separated by commas.  [default: all]"),
        click.option("--ignore", metavar="NAMES", help="Fields of the --recordings that do not"
                     " count."),
        click.option("--report", type=click.Choice([*FORMS]), help="Type of the reports."),
        click.option("--inputs", metavar="JSON", help="List of inputs, which may have any type with"
                     " --report any."),
        click.option("--on-error", type=click.Choice(ON_ERROR), default="stop", show_default=True,
                     help="If a client fails, stop or count a failure as a report (--report any)."),
    ]):  # fmt: skip
        command = option(command)
    return mechanism_options(command)


def mechanism_of(mechanism: str, own: Row) -> LocalRandomizer:
    """Return the mechanism that the options describe."""
    delta = {"delta": own["delta"] or 0.0 if takes(mechanism, "delta") else None}
    return make(mechanism, **own | delta | {"memoise": own["memoise"] or None})


def listed(text: str | None) -> list[Any] | None:
    """Return the list of inputs of a JSON text."""
    if text is None:
        return None
    try:
        values = parsed(text)
    except ValueError as error:
        raise click.UsageError(f"--inputs must be a JSON list, got {text!r} ({error})") from None
    if not isinstance(values, list):
        raise click.UsageError(f"--inputs must be a JSON list, got {text!r}")
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
    ways = ("mechanism", "client", "command", "recordings")
    named = [name for name in ways if given[name]]
    if len(named) != 1:
        raise click.UsageError(
            "give either --mechanism or --client (or --command, or --recordings)"
        )
    source, what = named[0], given[named[0]]
    kept = {name: given[name].split(",") for name in ("fields", "ignore") if given[name]}
    if kept and source != "recordings":
        raise click.UsageError(f"--{next(iter(kept))} names fields of --recordings")
    report, inputs, delta = given["report"], listed(given["inputs"]), given["delta"] or 0.0
    if source == "mechanism":
        if report is not None:
            raise click.UsageError("--report describes the reports of a --client")
        return mechanism_of(what, own), inputs, None if takes(what, "delta") else delta or None
    k, epsilon, _ = (own.pop(name) for name in ("k", "epsilon", "delta"))
    extra = [f"--{name}" for name, value in own.items() if value is not None and value is not False]
    anyhow = report == "any"
    free = anyhow and (source == "recordings" or inputs is not None)
    if None in (report, epsilon) or (k is None and not free) or extra:
        raise click.UsageError(
            f"--{source} needs --report, {'--inputs' if anyhow else '--k'} and"
            f" --epsilon{', and takes no ' + extra[0] if extra else ''}"
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
