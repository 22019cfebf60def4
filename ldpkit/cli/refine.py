"""The command ``ldpkit refine``, which chooses a protocol's parameter against attacks."""

import math

import click

from .. import refine as refinement
from ..attacks import MaximalGain
from ..auditors.result import Row, finite
from ..mechanisms import FrequencyOracle
from .base import Count, Line, as_json, cli, write

__all__ = ["refine"]


@cli.command()
@click.option("--family", required=True, help=f"One of {', '.join(refinement.FAMILIES)}.")
@click.option("--k", type=Count(), required=True, help="Domain size.")
@click.option("--epsilon", type=float, required=True, help="Privacy budget.")
@click.option(
    "--w-asr",
    type=float,
    default=0.5,
    show_default=True,
    help="Weight of the attacker's success rate.",
)
@click.option(
    "--w-mse", type=float, default=0.5, show_default=True, help="Weight of the variance per user."
)
@click.option(
    "--w-epg",
    type=float,
    default=0.0,
    show_default=True,
    help="Weight of the expected poisoning gain.",
)
@click.option(
    "--strategy",
    default="weighted",
    show_default=True,
    help=f"One of {', '.join(refinement.STRATEGIES)}.",
)
@click.option(
    "--limit",
    type=float,
    default=0.1,
    show_default=True,
    help="Largest success rate (epsilon-constraint).",
)
@click.option(
    "--published", is_flag=True, help="The paper's grid of p and its success rate of local hashing."
)
@click.option("--share", type=float, default=0.05, show_default=True, help="Share of fake users.")
@click.option(
    "--targets",
    type=Count(),
    help="Number of values that fake users promote.  [default: 10, or k if smaller]",
)
@click.option(
    "--frequency",
    type=float,
    default=0.01,
    show_default=True,
    help="True frequency of the promoted values together.",
)
@as_json
def refine(
    family: str,
    k: int,
    epsilon: float,
    w_asr: float,
    w_mse: float,
    w_epg: float,
    strategy: str,
    limit: float,
    published: bool,
    share: float,
    targets: int | None,
    frequency: float,
    as_json: bool,
) -> None:
    """Choose the parameter of an adaptive protocol and compare it with the classical ones."""
    attack = MaximalGain(share, min(10, max(k, 1)) if targets is None else targets, frequency)
    law, grid = ("published", "published") if published else ("exact", None)
    weights = (w_asr, w_mse, w_epg)
    chosen = refinement.refine(
        family,
        k,
        epsilon,
        weights=weights,
        strategy=strategy,
        limit=limit,
        grid=grid,
        law=law,
        poisoning=attack,
    )
    adaptive = refinement.FAMILIES[family]
    protocols = [chosen, *(classical(k, epsilon) for classical in adaptive.classical)]
    rows = [_row(m, adaptive.parameter) | refinement.scores(m, law, attack) for m in protocols]
    plain = [{key: finite(value) for key, value in row.items()} for row in rows]
    empty = strategy == "hypervolume" and (
        rows[0]["mse"] >= 1 or (w_epg > 0 and rows[0]["epg"] >= 1)
    )
    write(
        {
            "family": family,
            "k": k,
            "epsilon": epsilon,
            "strategy": strategy,
            "weights": weights,
            **plain[0],
            "classical": plain[1:],
        },
        [
            ("protocol", f"{adaptive.parameter:<12}{'ASR':<12}{'MSE':<12}EPG"),
            *(_line(row, adaptive.parameter) for row in rows),
        ],
        f"{rows[0]['mechanism']} is refined by strategy {strategy}; "
        "MSE is the variance per user, EPG the gain of "
        f"{share:g} fake users on {attack.targets} targets."
        + (
            " Some objective is always at least 1: every hypervolume is 0 "
            "and the front's first point was taken."
            if empty
            else ""
        ),
        as_json,
    )


def _row(mechanism: FrequencyOracle, parameter: str) -> Row:
    return {"mechanism": mechanism.name, parameter: getattr(mechanism, parameter, None)}


def _line(row: Row, parameter: str) -> Line:
    own = "-" if row[parameter] is None else f"{row[parameter]:.6g}"
    gain = f"{row['epg']:.6f}" if math.isfinite(row["epg"]) else "unlimited"
    return row["mechanism"], f"{own:<12}{row['asr']:<12.6f}{row['mse']:<12.6g}{gain}"
