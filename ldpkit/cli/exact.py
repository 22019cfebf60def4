"""The command ``ldpkit exact`` for the exact distribution of a client's own code."""

from typing import Any

import click

from ..mechanisms.process import ClientError
from ..mechanisms.separate import SeparateClient
from ..replay import exact_client
from .base import FAILED, Count, Line, as_json, cli, options, write
from .target import listed

__all__ = ["exact"]


@cli.command()
@click.option("--client", required=True, metavar="MODULE:FUNCTION",
              help="An importable client f(values, rng) or f(value).")  # fmt: skip
@click.option("--inputs", required=True, metavar="JSON", help="List of inputs of any type.")
@click.option("--epsilon", type=float, required=True, help="The claim.")
@click.option("--delta", type=float, default=0.0, show_default=True, help="Delta of the claim.")
@options(exact_client, only=("ways", "tapes"))
@as_json
@click.pass_context
def exact(
    ctx: click.Context, client: str, inputs: str, epsilon: float, delta: float, as_json: bool,
    **limits: Any,
) -> None:  # fmt: skip
    """Compute the exact loss of a client by running every way through its code.

    Exit status: 0 if the exact loss keeps the claim. 1 if it exceeds the claim by more than 1e-9. 2
    if the input is invalid. 4 if the distribution cannot be computed, so that an audit of reports
    is next.
    """
    claimed = {"values": listed(inputs), "report": "any", "epsilon": epsilon, "delta": delta}
    separate = SeparateClient.of(client, **claimed)
    result = separate.function(exact_client, None, **limits)
