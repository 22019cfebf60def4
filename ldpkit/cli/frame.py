"""The frame of all commands: options from the types of a function's parameters, and output and exit
status from its answer."""

import inspect
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, NamedTuple, get_args

import click

from ..auditors import AuditResult
from ..auditors.result import Row, json_line
from ..checks import bare
from ..progress import shown

__all__ = ["FAILED", "Table", "command", "number", "options", "taken"]

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


def number(value: Any) -> float:
    """Read a number that may be written as ``1e6`` or ``2^-20``; a whole one becomes an exact
    integer, also beyond 2**53."""
    try:
        return int(str(value))
    except ValueError:
        power = re.fullmatch(r"2(?:\^|\*\*)(-?\d\d?)", str(value))
        read = 2.0 ** int(power[1]) if power else float(value)
        return int(read) if read.is_integer() else read


class Number(click.ParamType):
    """A number of an option, as `number` reads it."""

    def __init__(self, name: str, said: str, kind: Callable[[Any], float]) -> None:
        self.name, self.said, self.kind = name, said, kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number, or refuse the text."""
        try:
            return self.kind(number(value))
        except (ValueError, TypeError, OverflowError):
            self.fail(f"{value!r} is not {self.said}", param, ctx)


NUMBER = Number("number", "a number", number)
_OPTIONS: dict[type, Row] = {
    bool: {"is_flag": True},
    int: {"type": Number("integer", "a whole number", operator.index)},
    float: {"type": Number("float", "a valid float", float)},
    str: {},
    object: {},
}


def options(source: Callable[..., Any], *names: str, **help: str) -> dict[str, inspect.Parameter]:
    """Return the named parameters of a function or class, all by default, as those of a command.

    A text by name replaces the help of a parameter.
    """
    found = inspect.signature(source).parameters
    return {
        name: found[name].replace(annotation=Annotated[found[name].annotation, help[name]])
        if name in help
        else found[name]
        for name in names or found
    }


def taken(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """Return the parameters of a command, including those that the type of its ``**`` names."""
    found: dict[str, inspect.Parameter] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        several = parameter.kind is parameter.VAR_KEYWORD
        for named in parameter.annotation.__metadata__ if several else [{name: parameter}]:
            found |= named
    return found


def _option(name: str, parameter: inspect.Parameter) -> click.Parameter:
    """Return the option for a parameter.

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
    if parameter.kind is parameter.POSITIONAL_ONLY:
        return click.Argument([name], **more)
    texts = [note for note in notes if isinstance(note, str)]
    flag = f"--{name.replace('_', '-')}"
    return click.Option([flag, name], help=texts[-1], show_default=True, **more)


# --- commands -------------------------------------------------------------------------------------


class _Command(click.Command):
    """A command that prints what its function answers, and returns the exit status."""

    def invoke(self, ctx: click.Context) -> int:
        as_json, strict = (ctx.params.pop(name, False) for name in ("as_json", "strict"))
        arguments = [ctx.params.pop(p.name) for p in self.params if isinstance(p, click.Argument)]
        found: Any = ctx.invoke(self.callback, *arguments, **ctx.params)  # type: ignore[arg-type]
        several = [found] if isinstance(found, (str, Table, AuditResult)) else found
        statuses = {_show(one, as_json) for one in several}
        statuses -= set() if strict else {3}
        return next((status for status in (FAILED, 1, 3) if status in statuses), 0)


def _show(answer: str | Table | AuditResult, as_json: bool) -> int:
    """Print an answer, and return its exit status."""
    if isinstance(answer, str):
        click.echo(answer)
        return 0
    if isinstance(answer, AuditResult):
        lines = [*answer.lines().items(), *(("warning", text) for text in answer.warnings)]
        answer = Table(answer.to_dict(), lines, answer.verdict, STATUS[answer.status])
    texts = [*(f"{name:<12} {text}" for name, text in answer.lines), answer.verdict]
    click.echo(json_line(answer.row) if as_json else "\n".join(map(shown, texts)))
    return answer.status


def command(name: str, function: Callable[..., Any]) -> click.Command:
    """Return a function as the command called `name`.

    It returns a text, a `Table`, an `AuditResult` or several of them. An iterator is asked for the
    next result after the one before was printed.
    """
    made: Mapping[str, inspect.Parameter] = taken(function)
    parameters = [_option(*each) for each in made.items()]
    answer = inspect.signature(function).return_annotation
    kinds = {answer, *get_args(answer)}
    if AuditResult in kinds:
        said = "Exit with status 3 if the audit is inconclusive."
        parameters.append(click.Option(["--strict"], is_flag=True, help=said))
    if kinds & {AuditResult, Table}:
        said = "Print one JSON object."
        parameters.append(click.Option(["--json", "as_json"], is_flag=True, help=said))
    return _Command(name, callback=function, params=parameters, help=inspect.getdoc(function))
