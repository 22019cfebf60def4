"""The commands ``ldpkit audit``, ``rates`` and ``list`` for mechanisms and clients."""

import functools
import sys
from collections.abc import Mapping
from typing import Any

import click

from .. import attacks, checks, stats
from ..auditors import Audit
from ..auditors.result import PairResult, Row, finite
from ..mechanisms import MECHANISMS, takes
from ..reports.base import ROUTES, log_ratio
from ..types import Pair, Word
from .base import Count, Line, Number, as_json, cli, conclude, options, strict, write
from .sure import bets, refuse, show, sure, writable
from .target import anything, mechanism_of, mechanism_options, target_of

__all__ = ["audit", "list_mechanisms", "rates"]


@cli.command("list")
def list_mechanisms() -> None:
    """List the mechanisms by family, one line each."""
    families: dict[str, list[str]] = {}
    for name, mechanism in MECHANISMS.items():
        # some names fix parameters of a class
        described = mechanism.func if isinstance(mechanism, functools.partial) else mechanism
        family = str(sys.modules[described.__module__].__doc__).partition(":")[0]
        first = str(described.__doc__).partition("\n\n")[0]
        families.setdefault(family, []).append(f"  {name:<12} {' '.join(first.split())}")
    for family, lines in families.items():
        click.echo("\n".join([family, *lines]))


@cli.command()
@anything
@click.option(
    "--attack",
    multiple=True,
    help=f"One of {', '.join(attacks.ATTACKS)}, or learned (may be repeated).  [default: guess]",
)
@click.option(
    "--pair",
    type=Number(),
    nargs=2,
    multiple=True,
    help="The two audited inputs (may be repeated).  [default: those furthest apart]",
)
@options(Audit, only=("trials", "alpha", "faithful", "threads"))
@options(Audit.run)
@bets
@strict
@as_json
@click.pass_context
def audit(
    ctx: click.Context, /, until_sure: bool, threads: int, strict: bool, as_json: bool, **words: Any
) -> None:
    """Audit a mechanism, or any client, with a distinguishability attack.

    Every attack audits both directions of every pair, and alpha is divided among these questions.
    With --until-sure they share one wealth. Without --report and --attack, a --client, --command or
    --recordings is audited until sure: the audit learns from reports of any form and compares all
    inputs.
    """
    names, pairs = list(words["attack"]) or ["guess"], words["pair"] or (None,)
    if len(set(names)) < len(names) or len(set(pairs)) < len(pairs):
        raise click.UsageError(
            "--attack and --pair may be repeated, but not with the same value twice"
        )
    if not (words["mechanism"] or words["report"] or words["attack"]):
        words |= {"report": "any", "attack": (attacks.Learned.name,)}
        until_sure = True  # nothing is known about the reports, so the audit learns
    if until_sure:
        if threads != 1:
            raise click.UsageError(f"--threads do not speed up --until-sure, got {threads}")
        sure(ctx, words, as_json, strict)
        return
    refuse(words)
    if words["recordings"]:
        raise click.UsageError("--recordings need --until-sure")
    if words["html"] and len(names) * len(pairs) > 1:
        raise click.UsageError("--html shows one result: give one --attack and one --pair")
    writable(words)
    target, inputs, delta = target_of(words, threads)
    if inputs is not None:
        raise click.UsageError("--inputs name those of a client with --report any")
    counted = {name: words[name] for name in ("trials", "alpha", "faithful")}
    shared: Row = {"delta": delta, "questions": len(pairs) * len(names), "threads": threads}
    planned = [Audit(target, names, pair=pair, **counted, **shared) for pair in pairs]
    results = [result for plan in planned for result in plan.run(words["seed"])]
    show(results[0], words)
    conclude(ctx, [(result, _table(result)) for result in results], as_json, strict)


@cli.command()
@mechanism_options
@click.option(
    "--attack", default="guess", show_default=True, help=f"One of {', '.join(attacks.ATTACKS)}."
)
@click.option(
    "--pair", type=Number(), nargs=2, help="The two inputs.  [default: those furthest apart]"
)
@click.option(
    "--trials",
    type=Count(),
    default=10**6,
    show_default=True,
    help="Reports per input for which a threshold is chosen, if the event has one.",
)
@as_json
def rates(
    mechanism: str | None, attack: str, pair: Pair | None, trials: int, as_json: bool, **own: Word
) -> None:
    """Print the exact rates of an attack's event, and the largest loss of any event.

    Nothing is drawn at random.
    """
    if mechanism is None:
        raise click.UsageError("give a --mechanism")
    if own["delta"] and not takes(mechanism, "delta"):
        raise click.UsageError(f"mechanism {mechanism} does not take delta, got {own['delta']:g}")
    target = mechanism_of(mechanism, own)
    chosen = attacks.make(attack).choose(
        target, checks.integer("trials", trials, 1, 10**12), stats.tail_mass(0.01)
    )
    inputs, exact = target.pair(pair), chosen.rates(target, pair)
    if exact is None:
        raise ValueError(
            f"mechanism must have known rates of the attack {chosen.name}, got {target!r}: audit"
            " its reports"
        )
    report_type: Any = target.report_type
    route = "unknown"
    if isinstance(chosen, attacks.Guess | attacks.TwoValueTest):
        route = chosen.route(target)
    row = {
        "mechanism": target.name,
        **target.parameters,
        "attack": chosen.name,
        "pair": list(inputs),
        "tpr": exact[0],
        "fpr": exact[1],
        "epsilon": log_ratio(*exact),
        "loss": report_type.loss(inputs),
        "claim": target.epsilon,
        "route": route,
    }
    lines = [
        ("mechanism", titled(target.name, target.parameters)),
        ("attack", f"{chosen.name}, {inputs[0]} against {inputs[1]}"),
        ("rates", f"tpr = {exact[0]:.10g}, fpr = {exact[1]:.10g}"),
        ("epsilon", f"{row['epsilon']:.10g} is ln(tpr / fpr)"),
        ("loss", f"{row['loss']:.10g} is the largest of any event, claimed {target.epsilon:g}"),
        ("route", ROUTES.get(route, route)),
    ]
    write(
        {key: finite(value) for key, value in row.items()},
        lines,
        "Exact: nothing was drawn.",
        as_json,
    )


def titled(name: str, parameters: Mapping[str, object]) -> str:
    """Return a mechanism with its parameters in one line."""
    named = ", ".join(
        f"{key} = {value}" for key, value in parameters.items() if key not in ("epsilon", "delta")
    )
    return f"{name} ({named})" if named else name


def _table(result: PairResult) -> list[Line]:
    row = result.row()
    exact = (
        "unknown, like the exact distribution of these reports"
        if result.exact is None
        else f"{result.exact:.4f} (sd {result.exact_sd:.4f}) is its expectation"
    )
    return [
        ("mechanism", titled(result.mechanism, result.parameters)),
        (
            "claim",
            ("none" if row["claim"] is None else f"epsilon = {row['claim']:g}")
            + f", delta = {result.delta:g}",
        ),
        (
            "attack",
            f"{result.attack}, {result.trials:,} reports per input"
            + (", all real" if result.faithful else ", sampled from the exact distribution"),
        ),
        (
            "pair",
            ", and ".join(
                f"{row['pair'][0]} against {row['pair'][1]}" for row in result.directions
            ),
        ),
        ("counts", ", ".join(f"{key} = {value:,}" for key, value in result.counts.items())),
        ("rates", ", ".join(f"{key} = {value:.6f}" for key, value in result.rates.items())),
        ("epsilon_emp", f"{result.epsilon_emp:.4f} as the paper computes it"),
        ("exact", exact),
        *(
            ("reverse", f"tp = {row['tp']:,}, fp = {row['fp']:,}, lower = {row['lower']:.4f}")
            for row in result.directions[1:]
        ),
        (
            "lower",
            f"{result.lower:.4f} at level {result.level}, shared by {result.questions} questions",
        ),
        ("seconds", f"{result.seconds:.2f}"),
    ]
