"""The commands ``ldpkit list``, ``rates`` and ``cache``, which make no report."""

import functools
import shutil
import sys
from typing import Any

import click

from .. import attacks, checks, jit, stats
from ..auditors.result import finite, titled
from ..mechanisms import MECHANISMS, takes
from ..reports.base import ROUTES, log_ratio
from ..stats import epsilon_buehler
from ..types import Pair, Word
from .options import as_json, cli, integer, mechanism_of, mechanism_options, number, options, write


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
@options(
    epsilon_buehler,
    tp={"help": "Reports of the first input with the event."},
    fp={"help": "Reports of the second with the event."},
    trials={"flag": "--n", "help": "Reports of each input."},
    alpha={"required": False, "default": 0.01, "show_default": True, "help": "Significance."},
    delta={"help": "Delta of the claim."},
)
@as_json
def bound(tp: int, fp: int, trials: int, alpha: float, delta: float, as_json: bool) -> int:
    """Bound epsilon by counts of your own, if event and n were chosen before the reports."""
    n, tail = checks.integer("n", trials, 1), stats.tail_mass(alpha, "valid")
    lower = max(0.0, float(stats.epsilon_lower(tp, fp, n, delta, tail=tail)))
    low, high = stats.clopper_pearson(tp, n, tail)[0], stats.clopper_pearson(fp, n, tail)[1]
    # the choice of the bound does not depend on the counts
    able = n <= stats.MOST_TRIALS and alpha >= stats.LEAST_ALPHA
    sharper = epsilon_buehler(tp, fp, n, alpha, delta) if able else None
    level, best = stats.confidence(alpha, share=False), lower if sharper is None else sharper
    row = {"tp": tp, "fp": fp, "n": n, "alpha": alpha, "delta": delta, "tpr_low": float(low),
           "fpr_high": float(high), "lower": lower, "sharper": sharper}  # fmt: skip
    lines = [
        ("counts", f"{tp:,} and {fp:,} of {n:,}"),
        ("rates", f"first at least {low:.6g}, second at most {high:.6g}"),
        (
            "lower",
            f"{stats.down(lower, 6)} at level {level}, delta = {delta:g}, from two intervals",
        ),
    ]
    if sharper is not None:
        lines.append(
            ("sharper", f"{stats.down(sharper, 6)} at the same level, from both counts together")
        )
    verdict = f"With {stats.confidence(alpha)} confidence epsilon is at least {stats.down(best)}."
    return write(row, lines, verdict, as_json)
