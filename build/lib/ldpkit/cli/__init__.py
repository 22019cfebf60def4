"""The command line.

A command is a function with annotated parameters, which `frame` turns into options. `COMMANDS`
names the function of each command: `papers` has the auditors of the papers, `tables` what makes no
report, `sweep` grids, and `ldpkit.blackbox.commands` the audits of anybody's client.

Exit status of a command:

- 0: no violation was found;
- 1: an audit proves a violation (no other event has this status);
- 2: the input is invalid;
- 3: an audit is inconclusive (with ``--strict``);
- 4: the command failed, or an audit is not valid;
- 130: the command was interrupted.

An error is one line on standard error.
"""

import os
import signal
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    import click

__all__ = ["commands", "main"]

_INTERRUPTED = 130  # as shells give it


def commands() -> "click.Group":
    """Return all commands, imported."""
    import click

    from .group import COMMANDS, cli

    for name in COMMANDS:
        cli.get_command(click.Context(cli), name)
    return cli


def main(
    arguments: Sequence[str] | None = None,
    command: "click.Command | None" = None,
    name: str = "ldpkit",
) -> NoReturn:
    """Run the command line and exit with a status.

    Every error becomes one line on standard error.

    Parameters
    ----------
    arguments : sequence of str, optional
        Arguments of a caller in Python, who then also handles interrupts.
    command, name : click.Command, str
        Another command that is run by the same rules, and its name.
    """
    if arguments is None and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _interrupted)  # before anything that takes time
    import click

    from .group import brief, cli

    status = 4
    try:
        if sys.stdout is None:  # the result could not be read
            raise OSError("standard output is closed")
        result = (command or cli).main(arguments, prog_name=name, standalone_mode=False)
    except click.Abort:
        message, status = "interrupted", _INTERRUPTED
    except SystemExit:  # click exits with 1 if a pipe is closed, but 1 means a violation
        sys.exit(status)
    except click.NoSuchOption as error:
        known = [name for p in error.ctx.command.params for name in p.opts] if error.ctx else []
        whole = [name for name in known if name.startswith(error.option_name)]  # it was cut short
        meant = f"{error.message} Did you mean {' or '.join(whole)}?"
        message, status = meant if whole else error.format_message(), 2
    except (click.ClickException, ValueError) as error:
        told = error.format_message() if isinstance(error, click.ClickException) else str(error)
        message, status = told, 2
    except (ImportError, OSError, MemoryError) as error:
        message = str(error) or "out of memory"
    except Exception as error:
        message = f"{type(error).__name__}: {error}"
    else:
        sys.exit(result if isinstance(result, int) else 0)
    click.echo(f"ldpkit: {brief(message)}", err=True)
    sys.exit(status)


def _interrupted(*_: object) -> NoReturn:
    """Say what is known, and end this process with all that it started.

    An exception might be swallowed on its way, or wait for threads that compute.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a second interrupt ends even this
    try:
        if launch := sys.modules.get("ldpkit.blackbox.clients.launch"):
            for group in [*launch.running]:
                launch.kill(group)
        progress = sys.modules.get("ldpkit.progress")  # which is not there if nothing was begun
        known = progress.running[0] if progress and progress.running else None
        start = "\n" if known and os.isatty(2) else ""  # the bar stays where it was
        said = f"{start}ldpkit: interrupted{f' after {known}' if known else ''}\n"
        os.write(2, said.encode())  # not by the stream, which may be in use
    finally:
        os._exit(_INTERRUPTED)
