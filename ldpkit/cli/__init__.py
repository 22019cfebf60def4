"""The command line, one file per auditor: `base` holds what the commands share.

Exit status: 0, nothing was found; 1, an audit proves a violation, and nothing else;
2, bad input; 3, inconclusive (with ``--strict``); 4, it could not be done, or is no
valid audit; 130, interrupted. An error is one line on standard error.
"""

import sys
from collections.abc import Sequence
from typing import NoReturn

import click

from . import audit, data, gradient, kv, rad, refine, sweep  # noqa: F401  importing them registers their commands
from .base import BAD_INPUT, FAILED, Failed, cli

__all__ = ["cli", "main"]


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line; every error becomes one line, and status 2 or 4."""
    code = FAILED
    try:
        status = cli.main(arguments, prog_name="ldpkit", standalone_mode=False)
    except click.Abort:
        click.echo("ldpkit: interrupted", err=True)
        sys.exit(130)
    except SystemExit:  # click's answer to a closed pipe: not status 1, which is a violation's
        sys.exit(code)
    except click.ClickException as error:
        message, code = error.format_message(), FAILED if isinstance(error, Failed) else BAD_INPUT
    except ValueError as error:
        message, code = str(error), BAD_INPUT
    except MemoryError as error:
        message = str(error) or "out of memory"
    except Exception as error:
        message = f"{type(error).__name__}: {error}"
    else:
        sys.exit(status if isinstance(status, int) else 0)
    click.echo("ldpkit: " + " ".join(message.split()), err=True)
    sys.exit(code)
