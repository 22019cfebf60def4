"""Parts that commands share: types of options, options made from signatures, the target that they
name, and the output of results."""

import csv
import functools
import inspect
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar, get_args

import click

from .. import curve
from ..auditors import AuditResult
from ..auditors.report_html import facts
from ..auditors.result import Row, json_line
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
from ..progress import shown
from ..reports.anything import parsed
from .group import cli

__all__ = ["FAILED", "Line", "anything", "as_json", "claims", "cli", "conclude", "curve_of",
           "integer", "listed", "mechanism_of", "mechanism_options", "number", "options", "strict",
           "target_of", "together", "write"]  # fmt: skip

FAILED = 4

Line = tuple[str, str]  # name and text of one row of a table
Command = TypeVar("Command", bound=Callable[..., Any])


def integer(value: Any) -> int:
    """Read a whole number that may be written as ``1e6``, exactly; 2**53 + 1 is no float."""
    for read in (int, float):
        try:
            if read(value) == int(read(value)):
                return int(read(value))
        except (ValueError, OverflowError):
            pass
    raise click.BadParameter(f"{value!r} is not a whole number")


def number(value: Any) -> float:
    """Read a number, which becomes an integer if it is whole."""
    try:
        read = float(value)
    except (TypeError, ValueError):
        raise click.BadParameter(f"{value!r} is not a number") from None
    return integer(value) if read.is_integer() else read


class Real(click.types.FloatParamType):
    """A number that may be written as a power of two, ``2^-20``."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read a power of two, or any number."""
        power = re.fullmatch(r"2(?:\^|\*\*)(-?\d\d?)", value) if isinstance(value, str) else None
        return 2.0 ** int(power[1]) if power else super().convert(value, param, ctx)


def described(*documents: object) -> dict[str, str]:
    """Return the meaning of parameters by name.

    It is the first sentence about the parameter in the first docstring that describes it.
    """
    meanings: dict[str, str] = {}
    for text in map(inspect.getdoc, documents):
        section = (text or "").partition("Parameters\n----------\n")[2].partition("\n\n")[0]
        for names, meaning in re.findall(r"^(\S.*)\n((?:    .*\n?)+)", section, re.M):
            sentence = re.split(r"(?<=\.) (?=[A-Z])", " ".join(meaning.replace("`", "").split()))[0]
            if not sentence.startswith(("See ", "As in ")):
                meanings = dict.fromkeys(names.partition(" : ")[0].split(", "), sentence) | meanings
    return meanings


_OPTION_TYPES: dict[type, Row] = {
    bool: {"is_flag": True},
    int: {"type": integer},
    float: {"type": Real()},
    str: {},
}


def together(*decorators: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Return one decorator in the place of several, which stand in the order of the help."""
    return lambda command: functools.reduce(
        lambda made, decorator: decorator(made), reversed(decorators), command
    )


def options(
    source: Callable[..., object],
    *documents: object,
    only: Collection[str] = (),
    own: bool = False,
    **changed: Row,
) -> Callable[[Command], Command]:
    """Return a decorator that gives a command one option for every parameter of a callable.

    Names, types, defaults and meanings of the options are those of the parameters.

    Parameters
    ----------
    source : callable
        A function, or a class with its fields.
    *documents
        Further objects whose docstrings describe the parameters.
    only : collection of str
        Names of the parameters to take. By default all are taken.
    own : bool
        Whether the parameters belong to some choices only, so that none is required.
    **changed : dict
        Further arguments of `click.option` by parameter. The argument ``flag`` renames the option.
    """
    meaning, made = described(source, *documents), []
    for name, p in inspect.signature(source).parameters.items():
        wanted = bare(p.annotation)
        plain = next((t for t in _OPTION_TYPES if t in (wanted, *get_args(wanted))), None)
        if plain is None or (only and name not in only):
            continue
        free = p.default is p.empty
        option: Row = {"help": meaning.get(name), "required": free and not own}
        if not (free or own):
            option |= {"default": p.default, "show_default": True}
        option |= _OPTION_TYPES[plain] | changed.get(name, {})
        flag = option.pop("flag", f"--{name.replace('_', '-')}")
        made.append(click.option(flag, name, **option))
    return together(*made)


as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
strict = click.option(
    "--strict", is_flag=True, help="Exit with status 3 if the audit is inconclusive."
)


# --- the target -----------------------------------------------------------------------------------


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
    options(Program, only=["limit", "skip_lines"]),
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


# --- output ---------------------------------------------------------------------------------------


def write(row: Row, lines: Iterable[Line], verdict: str, as_json: bool) -> int:
    """Print a result as one JSON object, or as a table, and return the exit status 0.

    Parameters
    ----------
    row : dict
        The JSON object.
    lines : iterable of (name, text)
        Rows of the table.
    verdict : str
        Sentence below the table.
    as_json : bool
        Whether to print the JSON object.
    """
    if as_json:
        click.echo(json_line(row))
    else:
        for key, text in lines:
            click.echo(shown(f"{key:<12} {text}"))
        click.echo(shown(verdict))
    return 0


def conclude(results: Sequence[AuditResult], as_json: bool, strict: bool, **changed: str) -> int:
    """Print results with their tables, and return the gravest of their exit statuses.

    The lines `changed` stand in the place of those of `facts`.
    """
    for result in results:
        warnings = [("warning", text) for text in result.warnings]
        lines = [*(facts(result) | changed).items(), *warnings]
        write(result.to_dict(), lines, result.verdict, as_json)
    known = {
        "none found": 0,
        "violation": 1,
        "inconclusive": 3 if strict else 0,
        "not valid": FAILED,
    }
    statuses = {known[result.status] for result in results}
    return next(status for status in (FAILED, 1, 3, 0) if status in statuses)
