"""What all commands share: the group, whole numbers, and how a result is printed."""

import inspect
import json
import re
from collections.abc import Callable, Collection, Iterable
from typing import Any, TypeVar, get_args

import click

from .. import checks
from ..auditors import AuditResult
from ..auditors.result import Row
from .group import cli

__all__ = [
    "cli",
    "FAILED",
    "Command",
    "Count",
    "Number",
    "as_json",
    "conclude",
    "described",
    "options",
    "strict",
    "write",
]

FAILED = 4
_STATUS = {"none found": 0, "violation": 1, "inconclusive": 0, "not valid": FAILED}
_STRICT = _STATUS | {"inconclusive": 3}

Line = tuple[str, str]  # name and text of one row of a table
Command = TypeVar("Command", bound=Callable[..., Any])


class Count(click.ParamType):  # type: ignore[type-arg]  # older releases of click take no argument
    """A whole number that may be written as ``1e6``."""

    name = "integer"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Read digit by digit where possible: 2**53 + 1 is not a float."""
        for read in (int, float):
            try:
                if read(value) == int(read(value)):
                    return int(read(value))
            except (ValueError, OverflowError):
                pass
        self.fail(f"{value!r} is not a whole number", param, ctx)


class Number(Count):
    """A number; a whole one stays whole."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read a whole number if it is one, any other as it is."""
        try:
            number = float(value)
        except (TypeError, ValueError):
            self.fail(f"{value!r} is not a number", param, ctx)
        return super().convert(value, param, ctx) if number.is_integer() else number


class Real(click.types.FloatParamType):
    """A number that may be written as a power of two, ``2^-20``."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read a power of two, or any number."""
        power = re.fullmatch(r"2(?:\^|\*\*)(-?\d\d?)", value) if isinstance(value, str) else None
        return 2.0 ** int(power[1]) if power else super().convert(value, param, ctx)


def described(*documents: object) -> dict[str, str]:
    """What parameters mean, by name: the first sentence that one of the docstrings says of each."""
    found: dict[str, str] = {}
    for document in documents:
        section = (
            (inspect.getdoc(document) or "")
            .partition("Parameters\n----------\n")[2]
            .partition("\n\n")[0]
        )
        for names, text in re.findall(r"^(\S.*)\n((?:    .*\n?)+)", section, re.M):
            sentence = re.split(r"(?<=\.) (?=[A-Z])", " ".join(text.replace("`", "").split()))[0]
            if not sentence.startswith(("See ", "As in ")):
                found |= {
                    name: sentence
                    for name in names.partition(" : ")[0].split(", ")
                    if name not in found
                }
    return found


_KINDS: dict[type, Row] = {
    bool: {"is_flag": True},
    int: {"type": Count()},
    float: {"type": Real()},
    str: {},
}


def options(
    source: Callable[..., object],
    *documents: object,
    only: Collection[str] = (),
    without: Collection[str] = (),
    own: bool = False,
    **changed: Row,
) -> Callable[[Command], Command]:
    """Give a command the options that the parameters of a callable are: their names, types,
    defaults and meaning.

    Parameters
    ----------
    source : callable
        A function, or a class with its fields.
    *documents
        Where else the parameters are described.
    only, without : names
        Which parameters, all by default.
    own : bool
        Whether the parameters belong to some choices only, so that none is required.
    **changed : dict
        What `click.option` is told of a parameter besides; ``flag`` is the option if it has another
        name.
    """
    meaning = described(source, *documents)

    def give(command: Command) -> Command:
        for name, p in reversed(list(inspect.signature(source).parameters.items())):
            wanted = checks.bare(p.annotation)
            kind = next((k for k in _KINDS if k in (wanted, *get_args(wanted))), None)
            if kind is None or name in without or (only and name not in only):
                continue
            free = p.default is p.empty
            more: Row = {"help": meaning.get(name), "required": free and not own, **_KINDS[kind]}
            more |= (
                {} if free or own else {"default": p.default, "show_default": True}
            ) | changed.get(name, {})
            flag = more.pop("flag", f"--{name.replace('_', '-')}")
            command = click.option(flag, name, **more)(command)
        return command

    return give


def as_json(command: Command) -> Command:
    """Give a command the option ``--json``."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")(command)


def strict(command: Command) -> Command:
    """Give a command the option ``--strict``."""
    return click.option(
        "--strict", is_flag=True, help="Exit with status 3 if the audit is inconclusive."
    )(command)


def write(row: Row, lines: Iterable[Line], verdict: str, as_json: bool) -> None:
    """Print `row` as one JSON object, or `lines` of (name, text) as a table with the sentence
    `verdict` below."""
    if as_json:
        click.echo(json.dumps(row, allow_nan=False))
    else:
        for key, text in lines:
            click.echo(f"{key:<12} {text}")
        click.echo(verdict)


def conclude(
    ctx: click.Context, shown: Iterable[tuple[AuditResult, list[Line]]], as_json: bool, strict: bool
) -> None:
    """Print results with their tables, and exit with the gravest of their statuses."""
    found = set()
    for result, lines in shown:
        write(
            result.row(),
            [*lines, *(("warning", text) for text in result.warnings)],
            result.verdict,
            as_json,
        )
        found.add((_STRICT if strict else _STATUS)[result.status])
    ctx.exit(next(status for status in (FAILED, 1, 3, 0) if status in found))
