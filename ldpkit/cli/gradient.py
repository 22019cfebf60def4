"""``ldpkit audit-gradient`` and ``ldpkit audit-shuffle``: randomised gradients, alone and shuffled."""

import click

from .. import auditors
from ..attacks import gradient as crafts
from ..auditors import AuditResult
from ..auditors.gradient import ADVERSARIES, digit_pairs
from ..mechanisms import GRADIENT
from .base import Count, as_json, cli, conclude, strict

__all__ = ["audit_gradient", "audit_shuffle"]

MECHANISMS = {name.lower(): mechanism for name, mechanism in GRADIENT.items()}


@cli.command("audit-gradient")
@click.option("--adversary", type=click.Choice(ADVERSARIES), required=True)
@click.option("--epsilon", type=float, required=True, help="Budget of one report.")
@click.option("--mechanism", type=click.Choice(list(MECHANISMS)), default="ldp-sgd", show_default=True)
@click.option("--rule", type=click.Choice(list(crafts.RULES)), default="cosine", show_default=True, help="The test.")
@click.option("--dimension", type=Count(), help="Of the dummy gradient.  [default: 4810]")
@click.option("--norm", type=float, default=1.0, show_default=True, help="Of the dummy gradient.")
@click.option("--clip", type=float, default=1.0, show_default=True, help="Clipping norm.")
@click.option("--iterations", type=Count(), default=100, show_default=True, help="Training before, 100 records each.")
@click.option("--flip", type=click.Choice(crafts.FLIPS), default="random", show_default=True, help="Wrong label (label).")
@click.option("--trials", type=Count(), default=1000, show_default=True, help="Even; half with each gradient.")
@click.option("--alpha", type=float, default=0.01, show_default=True, help="Significance.")
@click.option("--seed", type=Count(), default=1, show_default=True)
@click.option("--faithful", is_flag=True, help="Make every report in full.")
@strict
@as_json
@click.pass_context
def audit_gradient(ctx: click.Context, /, adversary: str, epsilon: float, mechanism: str, rule: str, dimension: int | None,
                   norm: float, clip: float, iterations: int, flip: str, trials: int, alpha: float, seed: int, faithful: bool,
                   strict: bool, as_json: bool) -> None:  # fmt: skip
    """Audit a randomised gradient: can the server tell which of two gradients a client sent?"""
    pairs = digit_pairs(adversary, dimension, norm, iterations, flip, seed)
    target = MECHANISMS[mechanism](pairs.first.shape[1], epsilon, clip)
    result = auditors.audit_gradient(target, pairs, rule, trials=trials, alpha=alpha, seed=seed, faithful=faithful)
    _write(ctx, result, f"{pairs.name}, {rule} rule", as_json, strict)


@cli.command("audit-shuffle")
@click.option("--epsilon", type=float, required=True, help="Budget of one report.")
@click.option("--clients", type=Count(), required=True, help="Reports that are shuffled together.")
@click.option("--delta", type=float, default=1e-6, show_default=True)
@click.option("--trials", type=Count(), default=1000, show_default=True, help="Even; half with each batch.")
@click.option("--alpha", type=float, default=0.01, show_default=True, help="Significance.")
@click.option("--seed", type=Count(), default=1, show_default=True)
@click.option("--faithful", is_flag=True, help="Randomise and permute real gradients.")
@strict
@as_json
@click.pass_context
def audit_shuffle(
    ctx: click.Context,
    /,
    epsilon: float,
    clients: int,
    delta: float,
    trials: int,
    alpha: float,
    seed: int,
    faithful: bool,
    strict: bool,
    as_json: bool,
) -> None:
    """Audit shuffled LDP-SGD: can the server tell two batches apart that differ in one gradient?"""
    result = auditors.audit_shuffle(epsilon, clients, delta, trials=trials, alpha=alpha, seed=seed, faithful=faithful)
    _write(ctx, result, "two batches, threshold rule", as_json, strict)


def _write(ctx: click.Context, result: AuditResult, attack: str, as_json: bool, strict: bool) -> None:
    more = {"tight": "exact epsilon of the two batches", "upper": "numerical bound for all batches",
            "pooled": "epsilon of the accuracy, nearly unbiased"}  # fmt: skip

    def number(value: float | None) -> str:
        return "unknown" if value is None else f"{value:.4f}"

    row = result.row()
    lines = [
        ("mechanism", ", ".join([result.mechanism, *(f"{key} = {value}" for key, value in result.parameters.items())])),
        ("claim", f"epsilon = {result.claim:.4f}, delta = {result.delta:g}"),
        ("attack", f"{attack}, {result.total:,} trials" + (", all real" if result.faithful else "")),
        ("counts", ", ".join(f"{key} = {value:,} ({result.rates[key + 'r']:.4f})" for key, value in result.counts.items())),
        ("epsilon_emp", f"{number(row['epsilon_emp'])} as the paper computes it"),
        ("exact", f"{number(row['exact_epsilon_emp'])} (sd {number(row['exact_sd'])}) is its expectation"),
        ("limit", f"{number(row['limit'])} without sampling noise"),
        *((key, f"{number(row[key])} {text}") for key, text in more.items() if key in row),
        ("lower", f"{result.lower:.4f} at level {result.level}"),
        ("seconds", f"{result.seconds:.2f}"),
    ]
    conclude(ctx, [(result, lines)], as_json, strict)
