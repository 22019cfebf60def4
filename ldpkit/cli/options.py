"""Parts that commands share: types of options, options made from signatures, the mechanism that
they name, and the output of results."""

import functools
import inspect
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, TypeVar, get_args

import click

from ..auditors import AuditResult
from ..auditors.result import Row, json_line
from ..checks import bare
from ..mechanisms import GRR, MECHANISMS, Mechanism, Repeated, make, takes
from ..progress import shown
from .group import cli

__all__ = ["FAILED", "Line", "PARAMETERS", "as_json", "cli", "conclude", "integer", "mechanism_of",
           "mechanism_options", "number", "options", "strict", "together", "write"]  # fmt: skip

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


def mechanism_of(mechanism: str, own: Row) -> Mechanism:
    """Return the mechanism that the options describe."""
    delta = {"delta": own["delta"] or 0.0 if takes(mechanism, "delta") else None}
    return make(mechanism, **own | delta | {"memoise": own["memoise"] or None})


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


def conclude(results: Sequence[AuditResult], as_json: bool, strict: bool) -> int:
    """Print results with their tables, and return the gravest of their exit statuses."""
    for result in results:
        warnings = [("warning", text) for text in result.warnings]
        lines = [*result.lines().items(), *warnings]
        write(result.to_dict(), lines, result.verdict, as_json)
    known = {
        "none found": 0,
        "violation": 1,
        "inconclusive": 3 if strict else 0,
        "not valid": FAILED,
    }
    statuses = {known[result.status] for result in results}
    return next(status for status in (FAILED, 1, 3, 0) if status in statuses)
