"""The commands ``ldpkit audit``, ``rates``, ``exact``, ``list`` and ``cache``."""

import functools
import shutil
import sys
from typing import Any

import click

from .. import attacks, checks, jit, stats
from ..auditors import Audit
from ..auditors.report_html import titled
from ..auditors.result import finite
from ..mechanisms import MECHANISMS, takes
from ..mechanisms.client import SeparateClient
from ..replay import ExactResult, exact_client
from ..reports.base import ROUTES, log_ratio
from ..types import Pair, Word
from .options import (
    FAILED,
    anything,
    as_json,
    cli,
    conclude,
    integer,
    listed,
    mechanism_of,
    mechanism_options,
    number,
    options,
    strict,
    target_of,
    write,
)
from .sure import bets, refuse, show, sure, writable


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
@click.option("--clear", is_flag=True, help="Remove the machine code.")
def cache(clear: bool) -> None:
    """Print the size of the compiled machine code, which can be compiled again.

    The finished cells of `ldpkit sweep` are not changed.
    """
    used = jit.folder()
    if used is None:
        click.echo("machine code: it is not kept")
        return
    folder = used.parent  # of all versions
    sizes = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
    if clear and folder.exists():
        shutil.rmtree(folder)
    place = "removed from" if clear else "in"
    click.echo(f"machine code: {len(sizes)} files, {sum(sizes) / 1e6:.1f} MB {place} {folder}")


@cli.command()
@anything
@click.option(
    "--attack",
    multiple=True,
    help=f"One of {', '.join(attacks.ATTACKS)}, or learned (may be repeated).  [default: guess]",
)
@click.option(
    "--pair",
    type=number,
    nargs=2,
    multiple=True,
    help="The two audited inputs (may be repeated).  [default: those furthest apart]",
)
@options(Audit, only=("trials", "alpha", "faithful", "threads"))
@options(Audit.run)
@bets
@strict
@as_json
def audit(until_sure: bool, threads: int, strict: bool, as_json: bool, **words: Any) -> int:
    """Audit a mechanism, or any client, with a distinguishability attack.

    Every attack audits both directions of every pair, and alpha is divided among these questions.
    With --until-sure they share one wealth. Without --report and --attack, a --client, --command or
    --recordings is audited until sure: the audit learns from reports of any form and compares all
    inputs.
    """
    names, pairs = list(words["attack"]) or ["guess"], words["pair"] or (None,)
    checks.need(
        len(set(names)) == len(names) and len(set(pairs)) == len(pairs),
        "--attack and --pair may be repeated, but not with the same value twice",
    )
    if not (words["mechanism"] or words["report"] or words["attack"]):
        words |= {"report": "any", "attack": (attacks.Learned.name,)}
        until_sure = True  # nothing is known about the reports, so the audit learns
    if until_sure:
        checks.need(threads == 1, f"--threads do not speed up --until-sure, got {threads}")
        return sure(words, as_json, strict)
    refuse(words)
    checks.need(not words["recordings"], "--recordings need --until-sure")
    checks.need(
        len(names) * len(pairs) == 1 or not words["html"],
        "--html shows one result: give one --attack and one --pair",
    )
    writable(words)
    target, inputs, delta = target_of(words, threads)
    checks.need(
        inputs is None,
        "--inputs name those of a client with --report any; a mechanism takes --pair",
    )
    planned = [
        Audit(
            target,
            names,
            trials=words["trials"],
            alpha=words["alpha"],
            delta=delta,
            faithful=words["faithful"],
            pair=pair,
            questions=len(pairs) * len(names),
            threads=threads,
        )
        for pair in pairs
    ]
    results = [result for plan in planned for result in plan.run(words["seed"])]
    status = conclude(results, as_json, strict)
    show(results[0], words)
    return status


# --- nothing is drawn -----------------------------------------------------------------------------


@cli.command()
@mechanism_options
@click.option(
    "--attack", default="guess", show_default=True, help=f"One of {', '.join(attacks.ATTACKS)}."
)
@click.option(
    "--pair", type=number, nargs=2, help="The two inputs.  [default: those furthest apart]"
)
@click.option(
    "--trials",
    type=integer,
    default=10**6,
    show_default=True,
    help="Reports per input for which a threshold is chosen, if the event has one.",
)
@as_json
def rates(
    mechanism: Any, attack: str, pair: Pair | None, trials: int, as_json: bool, **own: Word
) -> int:
    """Print the exact rates of an attack's event, and the largest loss of any event.

    Nothing is drawn at random.
    """
    checks.need(mechanism is not None, "give a --mechanism")
    checks.need(
        not own["delta"] or takes(mechanism, "delta"),
        f"mechanism {mechanism} does not take delta, got {own['delta'] or 0:g}",
    )
    target: Any = mechanism_of(mechanism, own)
    chosen = attacks.make(attack).choose(
        target, checks.integer("trials", trials, 1, 10**12), stats.tail_mass(0.01)
    )
    inputs, exact = target.pair(pair), chosen.rates(target, pair)
    checks.need(
        exact is not None,
        f"mechanism must have known rates of the attack {chosen.name}, got {target!r}: audit its"
        " reports",
    )
    row = {
        "mechanism": target.name,
        **target.parameters,
        "attack": chosen.name,
        "pair": list(inputs),
        "tpr": exact[0],
        "fpr": exact[1],
        "epsilon": log_ratio(*exact),
        "loss": target.report_type.loss(inputs),
        "claim": target.epsilon,
        "route": chosen.route(target),
    }
    lines = [
        ("mechanism", titled(target.name, target.parameters)),
        ("attack", f"{chosen.name}, {inputs[0]} against {inputs[1]}"),
        ("rates", f"tpr = {exact[0]:.10g}, fpr = {exact[1]:.10g}"),
        ("epsilon", f"{row['epsilon']:.10g} is ln(tpr / fpr)"),
        ("loss", f"{row['loss']:.10g} is the largest of any event, claimed {target.epsilon:g}"),
        ("route", ROUTES.get(row["route"], row["route"])),
    ]
    verdict = "Exact: nothing was drawn."
    return write({key: finite(x) for key, x in row.items()}, lines, verdict, as_json)


@cli.command()
@click.option("--client", required=True, metavar="MODULE:FUNCTION",
              help="An importable client f(values, rng) or f(value).")  # fmt: skip
@click.option("--inputs", required=True, metavar="JSON", help="List of inputs of any type.")
@click.option("--epsilon", type=float, required=True, help="The claim.")
@click.option("--delta", type=float, default=0.0, show_default=True, help="Delta of the claim.")
@options(exact_client, only=("ways", "tapes"))
@as_json
def exact(client: str, inputs: str, as_json: bool, ways: int, tapes: int, **claim: Any) -> int:
    """Compute the exact loss of a client by running every way through its code.

    Exit status: 0 if the exact loss keeps the claim. 1 if it exceeds the claim by more than 1e-9. 2
    if the input is invalid. 4 if the distribution cannot be computed, so that an audit of reports
    is next.
    """

    def start() -> ExactResult:
        separate = SeparateClient.of(client, values=listed(inputs), report="any", **claim)
        return separate.function(functools.partial(exact_client, ways=ways, tapes=tapes))

    result = start()
    # a client with a secret that it drew at its start seems to draw no coins
    undrawn = result.status == "violation" and min(map(len, result.ways)) == 1
    if undrawn and any(start().ways != result.ways for _ in range(10)):
        result = result._replace(
            reason="another start of the client has another distribution", ways=(), findings=[]
        )
    lines = [
        ("client", client),
        ("claim", f"epsilon = {result.epsilon:g}, delta = {result.delta:g}"),
        (
            "ways",
            f"{sum(map(len, result.ways)):,} for {len(result.inputs)} inputs, in"
            f" {result.seconds:.2f} s",
        ),
        *(("for", text.removeprefix("for ")) for text in result.leading()),
        *result.findings,
    ]
    write(result.row(), lines, result.verdict, as_json)
    return {"none found": 0, "violation": 1, "not exact": FAILED}[result.status]
