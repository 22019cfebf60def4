"""``ldpkit audit-kv``: key-value mechanisms."""

import dataclasses
from typing import Any

import click

from ..auditors import kv, ratio
from ..mechanisms import KEY_VALUE
from .base import Count, as_json, cli, conclude, strict

__all__ = ["audit_kv"]

NAMES = {name.lower(): cls for name, cls in KEY_VALUE.items()}


@cli.command("audit-kv")
@click.option("--mechanism", type=click.Choice(list(NAMES)), required=True)
@click.option("--epsilon", type=float, required=True, help="Claimed epsilon of all rounds.")
@click.option("--users", type=Count(), default=10**8, show_default=True, help="Users per group.")
@click.option("--keys", "k", type=Count(), help="Keys of PCKV.  [default: 4]")
@click.option("--padding", type=Count(), help="Length to which sets are padded (PCKV).  [default: 1]")
@click.option("--share", type=float, help="Part of epsilon that PCKV spends.  [default: 0.5, as the paper's numbers need]")
@click.option("--eta", type=click.Choice(["correct", "floor"]), help="Sampling rate of PCKV's real pairs.  [default: correct]")
@click.option("--buckets", type=Count(), help="Boundary points of the value range (CPP), even.  [default: 4]")
@click.option("--rounds", type=Count(), help="Rounds (CPP, PrivKV); the last is shown.  [default: 5, PrivKV: 1]")
@click.option("--ownership", type=float, default=0.5, show_default=True, help="Probability that a user really holds the pair.")
@click.option("--auditor", default="hkv", show_default=True, help=f"One of {', '.join(kv.AUDITORS)}.")
@click.option("--estimator", default="released", show_default=True, help=f"One of {', '.join(ratio.ESTIMATORS)}.")
@click.option("--minimum", type=Count(), default=5, show_default=True, help="Smallest count that `released` looks at.")
@click.option("--alpha", type=float, default=0.05, show_default=True, help="Significance.")
@click.option("--seed", type=Count(), default=1, show_default=True)
@strict
@as_json
@click.pass_context
def audit_kv(
    ctx: click.Context,
    /,
    mechanism: str,
    epsilon: float,
    users: int,
    ownership: float,
    auditor: str,
    estimator: str,
    minimum: int,
    alpha: float,
    seed: int,
    strict: bool,
    as_json: bool,
    **own: Any,
) -> None:
    """Audit a key-value mechanism with KV-Auditor."""
    cls = NAMES[mechanism]
    fields = {f.name for f in dataclasses.fields(cls) if f.init}
    defaults = {"k": 4, "share": 0.5} if "padding" in fields else {"k": 1}
    given = {name: value for name, value in own.items() if value is not None}
    extra = [name for name in given if name not in fields or (name == "k" and "padding" not in fields)]
    if extra:
        raise click.UsageError(f"--{'keys' if extra[0] == 'k' else extra[0]} does not belong to {mechanism}")
    result = kv.audit_kv(
        cls(epsilon=epsilon, **defaults | given), auditor, users=users, ownership=ownership, estimator=estimator,
        minimum=minimum, alpha=alpha, seed=seed, last=True,
    )[-1]  # fmt: skip
    named = ", ".join(f"{key} = {value}" for key, value in result.parameters.items() if key != "epsilon")
    lines = [
        ("mechanism", f"{result.mechanism} ({named})"),
        ("claim", f"epsilon = {result.claim:g}"),
        ("auditor", f"{auditor}: {kv.AUDITORS[auditor]}; {result.trials:,} users per group"),
        ("counts", ", ".join(f"{key} = {value:,}" for key, value in result.counts.items())),
        ("epsilon_emp", f"{result.epsilon_emp:.4f} by the estimator '{estimator}'"),
        ("limit", f"{result.limit:.4f} is its value without noise"),
        ("lower", f"{result.lower:.4f} at level {result.level}"),
        ("seconds", f"{result.seconds:.2f}"),
    ]
    conclude(ctx, [(result, lines)], as_json, strict)
