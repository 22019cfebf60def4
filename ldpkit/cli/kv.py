"""The command ``ldpkit audit-kv`` for key-value mechanisms."""

import dataclasses

import click

from .. import checks
from ..auditors import KVAudit, count_ratio, kv
from ..mechanisms import KEY_VALUE, PCKVUE, PrivKV
from ..mechanisms.cpp import CPP
from ..types import Word
from .base import as_json, cli, conclude, options, strict

__all__ = ["audit_kv"]

NAMES = {name.lower(): name for name in KEY_VALUE}
_PCKV = {"k": 4, "share": 0.5}  # as in the paper


@cli.command("audit-kv")
@click.option("--mechanism", type=click.Choice(list(NAMES)), required=True)
@click.option("--epsilon", type=float, required=True, help="Claimed epsilon of all rounds.")
@options(
    PCKVUE,
    without=("epsilon",),
    own=True,
    k={"flag": "--keys", "help": "Keys of PCKV.  [default: 4]"},
    padding={"help": "Length to which sets are padded (PCKV).  [default: 1]"},
    share={
        "help": "Part of epsilon that PCKV spends.  [default: 0.5, as the paper's numbers need]"
    },
    eta={
        "type": click.Choice(["correct", "floor"]),
        "help": "Sampling rate of PCKV's real pairs.  [default: correct]",
    },
)
@options(
    CPP,
    only=("buckets", "rounds"),
    own=True,
    buckets={"help": "Boundary points of the value range (CPP), even.  [default: 4]"},
    rounds={
        "help": (
            f"Rounds (CPP, PrivKV), of which the last is shown.  [default: {CPP.rounds}, PrivKV:"
            f" {PrivKV.rounds}]"
        )
    },
)
@options(
    KVAudit,
    count_ratio.statistic,
    only=("attack", "trials", "alpha", "ownership", "estimator", "minimum"),
    attack={"flag": "--auditor", "help": f"One of {', '.join(kv.AUDITORS)}."},
    trials={"flag": "--users", "help": "Users per group, half of whom are imitators under skv."},
    alpha={"default": 0.05},
    estimator={"help": f"One of {', '.join(count_ratio.ESTIMATORS)}."},
)
@options(KVAudit.run)
@strict
@as_json
@click.pass_context
def audit_kv(
    ctx: click.Context,
    /,
    mechanism: str,
    attack: str,
    trials: int,
    estimator: str,
    seed: int,
    strict: bool,
    as_json: bool,
    **words: Word,
) -> None:
    """Audit a key-value mechanism with KV-Auditor."""
    own = {f.name for f in dataclasses.fields(KEY_VALUE[NAMES[mechanism]]) if f.init}
    pckv, given = (
        "padding" in own,
        {name: value for name, value in words.items() if value is not None},
    )
    for name in ("k", "padding", "share", "eta", "buckets", "rounds"):
        if name in given and (name not in own or (name == "k" and not pckv)):
            raise click.UsageError(
                f"--{'keys' if name == 'k' else name} does not belong to {mechanism}"
            )
    given = (_PCKV if pckv else {"k": 1}) | given | {"estimator": estimator, "last": True}
    sides = 2 if attack == "skv" else 1
    least = 2 * sides if estimator in count_ratio.HALVED else sides
    trials = checks.integer("users", trials, least, 10**12) // sides
    given |= {"mechanism": NAMES[mechanism], "attack": attack, "trials": trials}
    result = KVAudit.of(**given).run(seed)[-1]
    named = ", ".join(
        f"{key} = {value}" for key, value in result.parameters.items() if key != "epsilon"
    )
    lines = [
        ("mechanism", f"{result.mechanism} ({named})"),
        ("claim", f"epsilon = {result.claim:g}"),
        ("auditor", f"{attack}: {kv.AUDITORS[attack]}; {result.trials:,} users per group"),
        ("counts", ", ".join(f"{key} = {value:,}" for key, value in result.counts.items())),
        ("epsilon_emp", f"{result.epsilon_emp:.4f} by the estimator '{estimator}'"),
        ("limit", f"{result.limit:.4f} is its value without noise"),
        ("lower", f"{result.lower:.4f} at level {result.level}"),
        ("seconds", f"{result.seconds:.2f}"),
    ]
    conclude(ctx, [(result, lines)], as_json, strict)
