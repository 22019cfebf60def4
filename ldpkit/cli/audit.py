"""``ldpkit audit``, ``rates`` and ``list``: mechanisms and any client."""

import inspect
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

import click

from .. import attacks, checks, stats
from ..auditors import Audit, AuditResult
from ..auditors.result import Row, finite
from ..kinds.base import ROUTES, log_ratio
from ..mechanisms import GRR, MECHANISMS, Client, LocalRandomizer, Repeated, make, takes
from ..mechanisms.client import load
from ..types import Pair, Word
from .base import (
    Command,
    Count,
    Line,
    Number,
    as_json,
    aside,
    cli,
    conclude,
    described,
    options,
    strict,
    write,
)

__all__ = ["audit", "list_mechanisms", "rates"]


def of_mechanism(command: Command) -> Command:
    """Give a command the options that make a mechanism: whatever some mechanism takes."""
    found: dict[str, tuple[Callable[..., object], list[str]]] = {
        name: (Repeated, []) for name in ("tau", "memoise")
    }
    for name, mechanism in MECHANISMS.items():
        for parameter, p in inspect.signature(mechanism).parameters.items():
            if p.annotation is not str:  # whose name says it
                found.setdefault(parameter, (mechanism, []))[1].append(name)
    for parameter, (source, takers) in reversed(found.items()):
        meaning = described(getattr(source, "func", source)).get(parameter, "").rstrip(".")
        named = f" ({', '.join(takers)})" if takers and source not in (Repeated, GRR) else ""
        command = options(
            source, only=[parameter], own=True, **{parameter: {"help": f"{meaning}{named}."}}
        )(command)
    return click.option("--mechanism", metavar="NAME", help="A mechanism from `ldpkit list`.")(
        command
    )


def made(mechanism: str, own: Row) -> LocalRandomizer:
    """The mechanism that the options describe."""
    delta = {"delta": own["delta"] or 0.0 if takes(mechanism, "delta") else None}
    return make(mechanism, **own | delta | {"memoise": own["memoise"] or None})


@cli.command("list")
def list_mechanisms() -> None:
    """List the mechanisms, one line each."""
    for name, mechanism in MECHANISMS.items():
        described = getattr(mechanism, "func", mechanism)  # some names fix a parameter of a class
        click.echo(f"{name:<13}{str(described.__doc__).splitlines()[0]}")


@cli.command()
@of_mechanism
@click.option(
    "--client", metavar="MODULE:FUNCTION", help="An importable client f(values, rng) or f(value)."
)
@click.option(
    "--report",
    type=click.Choice(["bits", "value", "subset"]),
    help="What the client's reports are.",
)
@click.option(
    "--attack",
    multiple=True,
    help=f"One of {', '.join(attacks.ATTACKS)}; may be repeated.  [default: guess]",
)
@click.option(
    "--pair",
    type=Number(),
    nargs=2,
    multiple=True,
    help="The two audited inputs; may be repeated.  [default: those furthest apart]",
)
@options(Audit, only=("trials", "alpha", "faithful", "threads"))
@options(Audit.run)
@strict
@as_json
@click.pass_context
def audit(
    ctx: click.Context,
    /,
    mechanism: str | None,
    client: str | None,
    report: str | None,
    trials: int,
    alpha: float,
    seed: int,
    attack: tuple[str, ...],
    pair: tuple[Pair, ...],
    faithful: bool,
    threads: int,
    strict: bool,
    as_json: bool,
    **own: Word,
) -> None:
    """Audit a mechanism, or any client, with a distinguishability attack.

    Both directions of every pair are audited with every attack, and alpha is divided among all
    these questions.
    """
    delta: float = own["delta"] or 0.0
    target: LocalRandomizer
    if mechanism is not None and client is None:
        if report is not None:
            raise click.UsageError("--report describes the reports of a --client")
        takes_delta, target = takes(mechanism, "delta"), made(mechanism, own)
    elif client is not None and mechanism is None:
        k, epsilon, _ = (own.pop(name) for name in ("k", "epsilon", "delta"))
        given = [
            f"--{name}" for name, value in own.items() if value is not None and value is not False
        ]
        if None in (report, k, epsilon) or given:
            raise click.UsageError(
                "--client needs --report, --k and"
                f" --epsilon{', and takes no ' + given[0] if given else ''}"
            )
        takes_delta = True
        sys.path.insert(0, os.getcwd())
        with aside():
            target = Client(load(client), k, str(report), epsilon, delta, client)
    else:
        raise click.UsageError("give either --mechanism or --client")
    names, pairs = list(attack) or ["guess"], pair or (None,)
    if len(set(names)) < len(names) or len(set(pairs)) < len(pairs):
        raise click.UsageError(
            "--attack and --pair may be repeated, but not with the same value twice"
        )
    with aside():
        planned = [
            Audit(
                target,
                names,
                trials=trials,
                alpha=alpha,
                delta=None if takes_delta else delta or None,
                faithful=faithful,
                pair=one,
                questions=len(pairs) * len(names),
                threads=threads,
            )
            for one in pairs
        ]
        results = [result for one in planned for result in one.run(seed)]
    conclude(ctx, [(result, _table(result)) for result in results], as_json, strict)


@cli.command()
@of_mechanism
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
    help="Reports for which an event is chosen, if one is.",
)
@as_json
def rates(
    mechanism: str | None, attack: str, pair: Pair | None, trials: int, as_json: bool, **own: Word
) -> None:
    """Print the exact rates of an attack's event, and the largest loss of any event; nothing is
    drawn."""
    if mechanism is None:
        raise click.UsageError("give a --mechanism")
    if own["delta"] and not takes(mechanism, "delta"):
        raise click.UsageError(f"mechanism {mechanism} does not take delta, got {own['delta']:g}")
    target = made(mechanism, own)
    chosen = attacks.make(attack).declare(
        target, checks.integer("trials", trials, 1, 10**12), stats.tail_mass(0.01)
    )
    inputs, found = target.pair(pair), chosen.rates(target, pair)
    if found is None:
        raise ValueError(
            f"mechanism must have a known law for the attack {chosen.name}, got {target!r}: audit"
            " its reports"
        )
    kind: Any = target.kind
    route = "unknown"
    if isinstance(chosen, attacks.Guess | attacks.TwoValueTest):
        route = chosen.route(target)
    row = {
        "mechanism": target.name,
        **target.parameters,
        "attack": chosen.name,
        "pair": list(inputs),
        "tpr": found[0],
        "fpr": found[1],
        "epsilon": log_ratio(*found),
        "loss": kind.loss(inputs),
        "claim": target.epsilon,
        "route": route,
    }
    lines = [
        ("mechanism", titled(target.name, target.parameters)),
        ("attack", f"{chosen.name}, {inputs[0]} against {inputs[1]}"),
        ("rates", f"tpr = {found[0]:.10g}, fpr = {found[1]:.10g}"),
        ("epsilon", f"{row['epsilon']:.10g} is ln(tpr / fpr)"),
        ("loss", f"{row['loss']:.10g} of the likeliest event, claimed {target.epsilon:g}"),
        ("route", ROUTES.get(route, route)),
    ]
    write(
        {key: finite(value) for key, value in row.items()},
        lines,
        "Exact: nothing was drawn.",
        as_json,
    )


def titled(name: str, parameters: Mapping[str, object]) -> str:
    """A mechanism with its parameters, in one line."""
    named = ", ".join(
        f"{key} = {value}" for key, value in parameters.items() if key not in ("epsilon", "delta")
    )
    return f"{name} ({named})" if named else name


def _table(result: AuditResult) -> list[Line]:
    row = result.row()
    exact = "unknown" if result.exact is None else f"{result.exact:.4f} (sd {result.exact_sd:.4f})"
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
            + (", all real" if result.faithful else ""),
        ),
        (
            "pair",
            ", and ".join(
                f"{one['pair'][0]} against {one['pair'][1]}" for one in result.directions
            ),
        ),
        ("counts", ", ".join(f"{key} = {value:,}" for key, value in result.counts.items())),
        ("rates", ", ".join(f"{key} = {value:.6f}" for key, value in result.rates.items())),
        ("epsilon_emp", f"{result.epsilon_emp:.4f} as the paper computes it"),
        ("exact", f"{exact} is its expectation"),
        *(
            ("reverse", f"tp = {one['tp']:,}, fp = {one['fp']:,}, lower = {one['lower']:.4f}")
            for one in result.directions[1:]
        ),
        (
            "lower",
            f"{result.lower:.4f} at level {result.level}, shared by {result.questions} questions",
        ),
        ("seconds", f"{result.seconds:.2f}"),
    ]
