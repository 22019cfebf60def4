"""The frame of all commands: options, the mechanism that they name, output and exit status.

Options are made from the types of a function's parameters.
"""

import collections
import functools
import inspect
import operator
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any, NamedTuple, get_args

import click

from ..auditors import AuditResult
from ..auditors.result import Row, json_line
from ..checks import bare
from ..mechanisms import GRR, MECHANISMS, Mechanism, Repeated, make, takes
from ..progress import shown

__all__ = [
    "FAILED", "NUMBER", "PARAMETERS", "Name", "Table", "command", "mechanism_of", "number",
    "options",
]  # fmt: skip

FAILED = 4
STATUS = {"none found": 0, "violation": 1, "inconclusive": 3, "not valid": FAILED}
"""Exit status by the status of a result; that of an inconclusive one is 0 without ``--strict``."""


class Table(NamedTuple):
    """An answer that is no result of an audit.

    Attributes
    ----------
    row : dict
        The object that ``--json`` prints.
    lines : sequence of (str, str)
        Name and text of the lines that are printed otherwise.
    verdict : str
        The sentence below them.
    status : int
        Exit status.
    """

    row: Row
    lines: Iterable[tuple[str, str]]
    verdict: str
    status: int = 0


# --- options --------------------------------------------------------------------------------------


def real(value: Any) -> float:
    """Read a number that may be written as ``2^-20``."""
    power = re.fullmatch(r"2(?:\^|\*\*)(-?\d\d?)", str(value))
    return 2.0 ** int(power[1]) if power else float(value)


def number(value: Any) -> Any:
    """Read a number as `real` does; a whole one becomes an exact integer, also beyond 2**53."""
    try:
        return int(str(value))
    except ValueError:
        read = real(value)
        return int(read) if read.is_integer() else read


class Number(click.ParamType):  # type: ignore[type-arg]  # click 8.2 has no arguments
    """A number of an option, which `kind` reads."""

    def __init__(self, name: str, said: str, kind: Callable[[Any], Any]) -> None:
        self.name, self.said, self.kind = name, said, kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number, or refuse the text."""
        try:
            return self.kind(value)
        except (ValueError, TypeError, OverflowError):
            self.fail(f"{value!r} is not {self.said}", param, ctx)


NUMBER = Number("number", "a number", number)
_OPTIONS: dict[type, Row] = {
    bool: {"is_flag": True},
    int: {"type": Number("integer", "a whole number", lambda x: operator.index(number(x)))},
    float: {"type": Number("float", "a number", real)},
    str: {},
    object: {},
}


def options(source: Callable[..., Any], *names: str, **help: str) -> dict[str, inspect.Parameter]:
    """Return parameters of a function or class, all or the named ones, as those of a command.

    The type of a ``**`` names further parameters. A text by name replaces the help of a parameter.
    """
    found: dict[str, inspect.Parameter] = {}
    for name, parameter in inspect.signature(source).parameters.items():
        several = parameter.kind is parameter.VAR_KEYWORD
        notes = getattr(parameter.annotation, "__metadata__", ())
        for named in notes if several else [{name: parameter}]:
            found |= named
    for name, text in help.items():
        found[name] = found[name].replace(annotation=Annotated[found[name].annotation, text])
    return {name: found[name] for name in names or found}


def _option(name: str, parameter: inspect.Parameter) -> click.Parameter:
    """Return the option for a parameter, or the argument for one that is a path.

    Its type is that of the parameter. Items in ``Annotated`` are its help (the last text) and
    further arguments of click (a dictionary).
    """
    kind, notes = bare(parameter.annotation), getattr(parameter.annotation, "__metadata__", ())
    needed = parameter.default is parameter.empty
    plain = next(t for t in _OPTIONS if t in (kind, *get_args(kind), object))
    more: Row = {"required": needed} | _OPTIONS[plain]
    more |= {} if needed or parameter.default is None else {"default": parameter.default}
    for note in notes:
        more |= note if isinstance(note, dict) else {}
    if kind is Path:
        return click.Argument([name], **more)
    texts = [note for note in notes if isinstance(note, str)]
    flag = f"--{name.replace('_', '-')}"
    return click.Option([flag, name], help=texts[-1], show_default=True, **more)


# --- the mechanism --------------------------------------------------------------------------------

Name = Annotated[str | None, {"metavar": "NAME"}, "A mechanism from `ldpkit list`."]
"""The name of a mechanism, as the type of an option."""


def _parameters() -> dict[str, inspect.Parameter]:
    """Return all parameters of mechanisms by name, none of which is needed.

    The help of each names the mechanisms that take it, unless most of them do.
    """
    found = options(Repeated, "tau", "memoise") | options(GRR)
    common, takers = [*found], collections.defaultdict(list)
    for mechanism, cls in MECHANISMS.items():
        for name, parameter in options(cls).items():
            if bare(parameter.annotation) is not str:  # the name of the mechanism implies a text
                found.setdefault(name, parameter)
                takers[name].append(mechanism)
    for name, parameter in found.items():
        *_, text = (note for note in parameter.annotation.__metadata__ if isinstance(note, str))
        named = "" if name in common else f" ({', '.join(takers[name])})"
        told: Any = Annotated[parameter.annotation, f"{text.rstrip('.')}{named}."]
        found[name] = parameter.replace(default=None, annotation=told)
    return found


PARAMETERS = _parameters()
"""All parameters of mechanisms, as options."""


def mechanism_of(mechanism: str, own: Row) -> Mechanism:
    """Return the mechanism that the options describe."""
    delta = {"delta": own.get("delta") or 0.0 if takes(mechanism, "delta") else None}
    return make(mechanism, **own | delta | {"memoise": own.get("memoise") or None})


# --- commands -------------------------------------------------------------------------------------


def command(name: str, function: Callable[..., Any]) -> click.Command:
    """Return a function as the command called `name`, which prints answers and returns a status.

    The function answers a text, a `Table`, an `AuditResult` or several results. An iterator is
    asked for the next result after the one before was printed.
    """
    made = options(function)

    @functools.wraps(function)
    def run(as_json: bool = False, as_strict: bool = False, **given: Any) -> int:
        try:
            answers = function(**given)
            single = isinstance(answers, (str, Table, AuditResult))
            statuses = {_print(answer, as_json) for answer in ([answers] if single else answers)}
        except (ValueError, click.UsageError):
            if given.get("no_values"):  # the message may repeat them
                raise ValueError("the command failed: without --no-values it says why") from None
            raise
        statuses -= set() if as_strict else {3}
        return next((status for status in (FAILED, 1, 3) if status in statuses), 0)

    answer = inspect.signature(function).return_annotation
    kinds = {answer, *get_args(answer)}
    flags: list[tuple[str, str, set[type]]] = [
        ("strict", "Exit with status 3 if the audit is inconclusive.", {AuditResult}),
        ("json", "Print one JSON object.", {AuditResult, Table}),
    ]
    parameters = [_option(*each) for each in made.items()]
    parameters += [
        click.Option([f"--{flag}", f"as_{flag}"], is_flag=True, help=text)
        for flag, text, those in flags
        if kinds & those
    ]
    return click.Command(name, callback=run, params=parameters, help=inspect.getdoc(function))


def _print(answer: str | Table | AuditResult, as_json: bool) -> int:
    """Print an answer, and return its exit status."""
    if isinstance(answer, str):
        click.echo(answer)
        return 0
    if isinstance(answer, AuditResult):
        lines = [*answer.lines().items(), *(("warning", text) for text in answer.warnings)]
        status = 0 if answer.evidence.get("accepted") else STATUS[answer.status]
        answer = Table(answer.to_dict(), lines, answer.verdict, status)
    texts = [*(f"{name:<12} {text}" for name, text in answer.lines), answer.verdict]
    click.echo(json_line(answer.row) if as_json else "\n".join(map(shown, texts)))
    return answer.status
