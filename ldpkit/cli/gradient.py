"""The commands ``ldpkit audit-gradient`` and ``ldpkit audit-shuffle``."""

import click

from ..attacks import gradient as crafts
from ..auditors import GradientAudit, ShuffleAudit
from ..auditors.gradient import ADVERSARIES, ErrorsResult
from ..mechanisms import GRADIENT
from ..types import Word
from .base import as_json, cli, conclude, options, strict

__all__ = ["audit_gradient", "audit_shuffle"]

MECHANISMS = {name.lower(): name for name in GRADIENT}


@cli.command("audit-gradient")
@options(
    GradientAudit.of,
    GradientAudit,
    adversary={"type": click.Choice(ADVERSARIES)},
    mechanism={"type": click.Choice(list(MECHANISMS)), "default": "ldp-sgd"},
    attack={"flag": "--rule", "type": click.Choice(list(crafts.RULES))},
)
@options(GradientAudit.run)
@strict
@as_json
@click.pass_context
def audit_gradient(
    ctx: click.Context, /, mechanism: str, seed: int, strict: bool, as_json: bool, **words: Word
) -> None:
    """Audit a randomised gradient: can the server tell which of two gradients a client sent?"""
    result = GradientAudit.of(mechanism=MECHANISMS[mechanism], **words).run(seed)[0]
    _write(ctx, result, f"{result.parameters['adversary']}, {result.attack} rule", as_json, strict)


@cli.command("audit-shuffle")
@options(ShuffleAudit, only=("epsilon", "clients", "delta", "trials", "alpha", "faithful"))
@options(ShuffleAudit.run)
@strict
@as_json
@click.pass_context
def audit_shuffle(
    ctx: click.Context, /, seed: int, strict: bool, as_json: bool, **words: Word
) -> None:
    """Audit shuffled LDP-SGD: can the server tell apart two batches that differ in a gradient?"""
    _write(ctx, ShuffleAudit(**words).run(seed)[0], "two batches, threshold rule", as_json, strict)


def _write(
    ctx: click.Context, result: ErrorsResult, attack: str, as_json: bool, strict: bool
) -> None:
    more = {"tight": "exact epsilon of the two batches", "upper": "numerical bound for all batches",
            "pooled": "epsilon of the accuracy, nearly unbiased"}  # fmt: skip

    def number(value: float | None) -> str:
        return "unknown" if value is None else f"{value:.4f}"

    row = result.row()
    lines = [
        (
            "mechanism",
            ", ".join(
                [
                    result.mechanism,
                    *(f"{key} = {value}" for key, value in result.parameters.items()),
                ]
            ),
        ),
        ("claim", f"epsilon = {result.claim:.4f}, delta = {result.delta:g}"),
        (
            "attack",
            f"{attack}, {result.total:,} trials"
            + (", all real" if result.faithful else ", sampled from the exact distribution"),
        ),
        (
            "counts",
            ", ".join(
                f"{key} = {value:,} ({result.rates[key + 'r']:.4f})"
                for key, value in result.counts.items()
            ),
        ),
        ("epsilon_emp", f"{number(row['epsilon_emp'])} as the paper computes it"),
        (
            "exact",
            f"{number(row['exact_epsilon_emp'])} (sd {number(row['exact_sd'])}) is its expectation",
        ),
        ("limit", f"{number(row['limit'])} without sampling noise"),
        *((key, f"{number(row[key])} {text}") for key, text in more.items() if key in row),
        ("lower", f"{result.lower:.4f} at level {result.level}"),
        ("seconds", f"{result.seconds:.2f}"),
    ]
    conclude(ctx, [(result, lines)], as_json, strict)
