"""The commands ``ldpkit rad`` and ``ldpkit calibrate`` about the reconstruction advantage."""

import dataclasses
import math

import click

from ..auditors.rad import CALIBRATED, PROTOCOLS, rad_result, rad_uniform
from ..auditors.rad import calibrate as run_calibrate
from ..checks import integer, one_of
from .base import Count, as_json, cli, conclude, options, strict, write

__all__ = ["rad", "calibrate"]


@cli.command()
@click.option(
    "--mechanism",
    metavar="NAME",
    help=f"The protocol that makes the reports, one of {', '.join(PROTOCOLS)}.",
)
@click.option("--m", type=Count(), required=True, help="Number of equally likely records.")
@click.option("--epsilon", type=float, help="Budget, or with counts the claimed epsilon.")
@click.option(
    "--delta", type=float, default=0.0, show_default=True, help="Delta of the claim (counts only)."
)
@click.option("--successes", type=Count(), help="Number of reports whose record was named.")
@click.option("--reports", type=Count(), help="Number of reports, equal for all records.")
@click.option(
    "--alpha", type=float, default=0.02, show_default=True, help="Significance (counts only)."
)
@strict
@as_json
@click.pass_context
def rad(
    ctx: click.Context,
    /,
    mechanism: str | None,
    m: int,
    epsilon: float | None,
    delta: float,
    successes: int | None,
    reports: int | None,
    alpha: float,
    strict: bool,
    as_json: bool,
) -> None:
    """Print the exact reconstruction advantage of a protocol, or bound epsilon by counts."""
    if (successes is None) != (reports is None):
        raise click.UsageError("--successes and --reports belong together")
    m = integer("m", m, 2)
    if successes is None or reports is None:
        if mechanism is None or epsilon is None:
            raise click.UsageError("give --mechanism and --epsilon, or --successes and --reports")
        protocol = PROTOCOLS[one_of("mechanism", mechanism, PROTOCOLS)](m, epsilon)
        exact = rad_uniform(protocol)
        row = {
            "mechanism": mechanism,
            "m": m,
            "epsilon": protocol.epsilon,
            "rad": exact,
            "success_rate": exact + 1 / m,
        }
        lines = [
            ("mechanism", f"{mechanism} (m = {m}, epsilon = {protocol.epsilon:g})"),
            ("RAD", f"{exact:.8f}"),
            ("success", f"{exact + 1 / m:.8f}, of which {1 / m:.8f} by chance"),
        ]
        return write(
            row,
            lines,
            "No attack has a larger advantage at a uniform prior without side knowledge.",
            as_json,
        )
    claim = math.inf if epsilon is None else epsilon
    result = rad_result(successes, reports, m, mechanism, claim=claim, delta=delta, alpha=alpha)
    level = f"at level {result.level}"
    lines = [
        ("counts", f"{successes:,} of {reports:,} reports reconstructed"),
        ("RAD", f"{result.rates['advantage']:.6f}"),
        ("epsilon_emp", f"{result.epsilon_emp:.4f}"),
        ("lower", f"{result.lower:.4f} for any mechanism, {level}"),
    ]
    if result.interval:
        lines.append(
            (
                "interval",
                (
                    f"[{result.interval[0]:.4f}, {result.interval[1]:.4f}] if it is {mechanism},"
                    f" {level}"
                ),
            )
        )
    conclude(ctx, [(result, lines)], as_json, strict)


@cli.command()
@options(run_calibrate, mechanism={"metavar": "NAME", "help": f"One of {', '.join(CALIBRATED)}."})
@as_json
def calibrate(
    risk: float,
    mechanism: str,
    m: int,
    steps: int,
    sensitivity: float,
    knowledge: str,
    as_json: bool,
) -> None:
    """Find the least noise that keeps an accepted risk."""
    calibration = run_calibrate(
        mechanism, risk, m, sensitivity=sensitivity, steps=steps, knowledge=knowledge
    )
    unit = "clipping norms on the summed gradients" if mechanism == "dpsgd" else "the query's unit"
    texts = {
        "epsilon": lambda x: "any: the risk is never reached" if x == math.inf else f"{x:.6f}",
        "noise": lambda x: f"{x:.6f} in {unit}",
        "printed": lambda x: f"{x:.6f} by the paper's rule, too little",
    }
    given = {
        name: value
        for name, value in dataclasses.asdict(calibration).items()
        if name in texts and value is not None
    }
    lines = [
        ("mechanism", f"{mechanism}, {m} candidates"),
        *((name, texts[name](value)) for name, value in given.items()),
    ]
    who = "who knows nothing else" if knowledge == "none" else "with any side knowledge"
    write(
        calibration.row(),
        lines,
        f"No adversary {who} has a reconstruction advantage above {risk:g}.",
        as_json,
    )
