"""What a command audits: the options that name a mechanism, a client, a program or recordings."""

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
from ..mechanisms.client import FORMS, ON_ERROR
from ..mechanisms.separate import SeparateClient
from ..reports.anything import parsed
from .base import Command, described, options

__all__ = ["anything", "found", "made", "mechanism_options"]


def _parameters() -> dict[str, tuple[Callable[..., object], list[str]]]:
    """Whatever some mechanism takes: whose docstring says what it is, and who takes it."""
    given: dict[str, tuple[Callable[..., object], list[str]]] = {
        name: (Repeated, []) for name in ("tau", "memoise")
    }
    for name, mechanism in MECHANISMS.items():
        for parameter, p in inspect.signature(mechanism).parameters.items():
            if checks.bare(p.annotation) is not str:  # whose name says it
                given.setdefault(parameter, (mechanism, []))[1].append(name)
    return given


PARAMETERS = _parameters()


def mechanism_options(command: Command) -> Command:
    """Give a command the options that make a mechanism: whatever some mechanism takes."""
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
    """Give a command the options that name whatever can be audited; `found` reads them."""
    for option in reversed([
        click.option("--client", metavar="MODULE:FUNCTION",
                     help="An importable client f(values, rng) or f(value)."),
        click.option("--command", metavar="PROGRAM", help="A client in any language: it reads one"
                     " JSON input a line and writes one JSON report a line."),
        click.option("--limit", type=float, default=10.0, show_default=True,
                     help="Seconds that the --command may take for one report."),
        click.option("--recordings", nargs=2, metavar="FIRST SECOND",
                     help="Reports of two inputs in two files: .jsonl, .csv or .parquet."),
        click.option("--report", type=click.Choice([*FORMS]), help="What the reports are."),
        click.option("--inputs", metavar="JSON", help="A list of inputs; of any type, with --report"
                     " any."),
        click.option("--on-error", type=click.Choice(ON_ERROR), default="stop", show_default=True,
                     help="Where a client fails: stop, or take that for a report (--report any)."),
    ]):  # fmt: skip
        command = option(command)
    return mechanism_options(command)


def made(mechanism: str, own: Row) -> LocalRandomizer:
    """Return the mechanism that the options describe."""
    delta = {"delta": own["delta"] or 0.0 if takes(mechanism, "delta") else None}
    return make(mechanism, **own | delta | {"memoise": own["memoise"] or None})


def listed(text: str | None) -> list[Any] | None:
    """Read a list of inputs."""
    if text is None:
        return None
    try:
        values = parsed(text)
    except ValueError as error:
        raise click.UsageError(f"--inputs must be a JSON list, got {text!r} ({error})") from None
    if not isinstance(values, list):
        raise click.UsageError(f"--inputs must be a JSON list, got {text!r}")
    return values


def found(given: Row, threads: int = 1) -> tuple[LocalRandomizer, list[Any] | None, float | None]:
    """Return what the options of `anything` name, the inputs that are compared, and the delta of
    the claim where the mechanism has none.

    The inputs of a client whose reports are of any form are named by their positions. A --client
    may be asked for reports by so many `threads` at a time.
    """
    own = {name: given[name] for name in PARAMETERS}
    ways = ("mechanism", "client", "command", "recordings")
    named = [name for name in ways if given[name]]
    if len(named) != 1:
        raise click.UsageError(
            "give either --mechanism or --client (or --command, or --recordings)"
        )
    source, what = named[0], given[named[0]]
    report, inputs, delta = given["report"], listed(given["inputs"]), given["delta"] or 0.0
    if source == "mechanism":
        if report is not None:
            raise click.UsageError("--report describes the reports of a --client")
        return made(what, own), inputs, None if takes(what, "delta") else delta or None
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
        return recorded(what[0], what[1], report, epsilon, delta, k or 0), None, None
    claimed = {"k": k or 0, "report": report, "epsilon": epsilon, "delta": delta}
    claimed |= {"values": inputs if free else None, "on_error": given["on_error"]}
    client = (
        Client(Program(what, given["limit"]), name=what, **claimed)
        if source == "command"
        else SeparateClient.of(what, threads, **claimed)
    )
    return client, None if free else inputs, None
