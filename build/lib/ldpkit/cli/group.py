"""The group of all commands, each of which is imported when it is called, and their messages."""

import pkgutil
import re

import click

from .. import __version__
from ..progress import shown

COMMANDS = {
    "audit": (
        "ldpkit.blackbox.commands:audit",
        "Audit a mechanism, or any client, with a distinguishability attack.",
    ),
    "audit-gradient": (
        "ldpkit.cli.papers:audit_gradient",
        "Audit a randomised gradient: can the server tell which of two gradients a client sent?",
    ),
    "audit-kv": ("ldpkit.cli.papers:audit_kv", "Audit a key-value mechanism with KV-Auditor."),
    "audit-shuffle": (
        "ldpkit.cli.papers:audit_shuffle",
        "Audit shuffled LDP-SGD: can the server tell apart two batches that differ in a gradient?",
    ),
    "bound": (
        "ldpkit.cli.tables:bound",
        "Bound epsilon by counts of your own, if event and n were chosen before the reports.",
    ),
    "cache": (
        "ldpkit.cli.tables:cache",
        "Print the size of the compiled machine code, which can be compiled again.",
    ),
    "calibrate": (
        "ldpkit.cli.papers:calibrate",
        "Find the least noise that keeps an accepted risk.",
    ),
    "exact": (
        "ldpkit.blackbox.commands:exact",
        "Compute the exact loss of a client by running every way through its code.",
    ),
    "list": (
        "ldpkit.cli.tables:list_mechanisms",
        "List the mechanisms by family, one line each, after what they come from.",
    ),
    "plan": (
        "ldpkit.blackbox.commands:plan",
        "Estimate how many reports, and how much time, the proof of a suspected leak would need.",
    ),
    "rad": (
        "ldpkit.cli.papers:rad",
        "Print the exact reconstruction advantage of a protocol, or bound epsilon by counts.",
    ),
    "rates": (
        "ldpkit.cli.tables:rates",
        "Print the exact rates of an attack's event, and the largest loss of any event.",
    ),
    "refine": (
        "ldpkit.cli.papers:refine",
        "Choose the parameter of an adaptive protocol and compare it with the classical ones.",
    ),
    "resume": (
        "ldpkit.blackbox.commands:resume",
        "Go on with an audit that --save has kept, after a violation too, to raise the bound.",
    ),
    "sweep": (
        "ldpkit.cli.sweep:sweep",
        "Run a grid of audits described by the file CONFIG (YAML).",
    ),
}
"""Function and first sentence of every command, so that a list of them imports none."""


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in COMMANDS:
            from .frame import command  # which is slow to import

            self.add_command(command(cmd_name, pkgutil.resolve_name(COMMANDS[cmd_name][0])))
        return super().get_command(ctx, cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="ldpkit")
def cli() -> None:
    """Audit local differential privacy."""


_VALUE, _MESSAGE = 200, 2000  # most characters of a value in a message, and of a message


def brief(message: str) -> str:
    """Return a message in one line that a terminal may show, with long values shortened."""
    line = re.sub(
        rf"""(?<!\w)'[^']{{{_VALUE},}}'|(?<!\w)"[^"]{{{_VALUE},}}"|\S{{{_VALUE},}}""",
        lambda value: _cut(value[0], _VALUE // 2),
        shown(" ".join(message.split())),
    )
    return _cut(line, _MESSAGE)


def _cut(text: str, most: int) -> str:
    """Return a text without its middle, if it is longer than so many characters."""
    cut = f" ...({len(text) - most:,} characters)... "
    return text if len(text) <= most else text[: most * 3 // 4] + cut + text[-most // 4 :]
