"""The command line, one file per auditor: `base` holds what the commands share.

Exit status: 0, the command ran and found no violation; 1, it proves one; 2, bad
input, with one line on standard error. For ``sweep``, 1 means that a cell failed.
"""

import sys
from collections.abc import Sequence
from typing import NoReturn

import click

from . import audit, data, gradient, kv, rad, refine, sweep  # noqa: F401  importing them registers their commands
from .base import cli

__all__ = ["cli", "main"]


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line; every foreseeable error becomes one line and status 2."""
    try:
        status = cli.main(arguments, prog_name="ldpkit", standalone_mode=False)
    except click.Abort:
        click.echo("ldpkit: interrupted", err=True)
        sys.exit(130)
    except click.ClickException as error:
        message = error.format_message()
    except (ValueError, MemoryError) as error:
        message = str(error) or "out of memory"
    else:
        sys.exit(status if isinstance(status, int) else 0)
    click.echo("ldpkit: " + " ".join(message.split()), err=True)
    sys.exit(2)
