"""The command line, one file per auditor: `base` holds what the commands share.

Exit status: 0, nothing was found; 1, an audit proves a violation, and nothing else;
2, bad input; 3, inconclusive (with ``--strict``); 4, it could not be done, or is no
valid audit; 130, interrupted. An error is one line on standard error.
"""

import multiprocessing
import os
import signal
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

from .messages import brief

if TYPE_CHECKING:
    import click

__all__ = ["commands", "main"]

_INTERRUPTED = 130  # as shells give it


def commands() -> "click.Group":
    """Return all commands, imported."""
    from . import audit, gradient, kv, rad, refine, stored, sure, sweep  # noqa: F401
    from .group import cli

    return cli


def main(
    arguments: Sequence[str] | None = None,
    command: "click.Command | None" = None,
    name: str = "ldpkit",
) -> NoReturn:
    """Run the command line; every error becomes one line and a status.

    Parameters
    ----------
    arguments : sequence of str, optional
        Given by a caller in Python, who then handles interrupts too.
    command, name : click.Command, str
        Another command that keeps these rules, and how it is called.
    """
    if arguments is None and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _interrupted)  # before anything that takes time
    import click

    status = 4
    try:
        if sys.stdout is None:  # a result that nobody can get is none
            raise OSError("standard output is closed")
        from .group import cli

        result = (command or cli).main(arguments, prog_name=name, standalone_mode=False)
    except click.Abort:
        message, status = "interrupted", _INTERRUPTED
    except SystemExit:  # click's answer to a pipe that was closed: status 1 is a violation's
        sys.exit(status)
    except click.ClickException as error:
        message, status = error.format_message(), 2
    except ValueError as error:
        message, status = str(error), 2
    except ModuleNotFoundError as error:
        from ..digests import missing

        message = str(missing(error))
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
        if clients := sys.modules.get("ldpkit.mechanisms.process"):
            for group in [*clients.running]:
                clients.kill(group)
        if pools := sys.modules.get("ldpkit.executors"):
            pools.starting.acquire(timeout=0.5)  # no other process starts
        for child in multiprocessing.active_children():
            if child.pid:
                os.kill(child.pid, signal.SIGKILL)
        progress = sys.modules.get("ldpkit.progress")  # which is not there if nothing was begun
        known = progress.running[0] if progress and progress.running else None
        start = "\n" if known and known.shown else ""  # the bar stays where it was
        said = f"{start}ldpkit: interrupted{f' after {known}' if known else ''}\n"
        os.write(2, said.encode())  # not by the stream, which may be in use
    finally:
        os._exit(_INTERRUPTED)
