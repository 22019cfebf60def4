"""What all commands share: the group, whole numbers, and how a result is printed."""

import json
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import click

from .. import __version__

__all__ = ["cli", "Count", "as_json", "write"]

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


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="ldpkit")
def cli() -> None:
    """Audit local differential privacy."""


def as_json(command: Command) -> Command:
    """Give a command the option ``--json``."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")(command)


def write(row: dict[str, Any], lines: Iterable[Line], verdict: str, as_json: bool) -> None:
    """Print `row` as one JSON object, or `lines` of (name, text) as a table with the sentence `verdict` below."""
    if as_json:
        click.echo(json.dumps(row, allow_nan=False))
    else:
        for key, text in lines:
            click.echo(f"{key:<12} {text}")
        click.echo(verdict)
