"""The command ``ldpkit exact`` for the exact distribution of a client's own code."""

import functools
from typing import Any

import click

from ..mechanisms.client import SeparateClient
from ..replay import ExactResult, exact_client
from .base import FAILED, Line, as_json, cli, options, write
from .target import listed

__all__ = ["exact"]

_STARTS = 10
_STATUS = {"none found": 0, "violation": 1, "not exact": FAILED}


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
    ctx: click.Context,
    /,
    client: str,
    inputs: str,
    as_json: bool,
    ways: int,
    tapes: int,
    **claim: Any,
) -> None:
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
    if undrawn and any(start().ways != result.ways for _ in range(_STARTS)):
        result = result._replace(
            reason="another start of the client has another distribution", ways=(), findings=[]
        )
    write(result.row(), _table(client, result), result.verdict, as_json)
    ctx.exit(_STATUS[result.status])


def _table(client: str, result: ExactResult) -> list[Line]:
    ways = sum(map(len, result.ways))
    return [
        ("client", client),
        ("claim", f"epsilon = {result.epsilon:g}, delta = {result.delta:g}"),
        ("ways", f"{ways:,} for {len(result.inputs)} inputs, in {result.seconds:.2f} s"),
        *(("for", text.removeprefix("for ")) for text in result.leading()),
        *result.findings,
    ]
