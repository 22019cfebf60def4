"""Options that state a claim which is a trade-off curve."""

import csv
import inspect
from collections.abc import Callable
from pathlib import Path

import click

from .. import curve
from ..auditors.result import Row
from ..curve import Curve
from .base import Command

__all__ = ["claims", "curve_of"]

_FILES: dict[str, tuple[Callable[..., Curve], list[str]]] = {
    "claim_points": (curve.points, ["alpha", "beta"]),
    "claim_lines": (curve.lines, ["epsilon", "delta"]),
}


def claims(command: Command) -> Command:
    """Give a command the options of `curve_of`."""
    file = click.Path(exists=True, dir_okay=False, path_type=Path)
    for option in (
        click.option("--claim-lines", type=file, help="Claim all (epsilon,delta) of a CSV file."),
        click.option("--claim-points", type=file, help="Claim the trade-off curve through the"
                     " points (alpha,beta) of a CSV file."),
        click.option("--mu", type=float, help="Claim mu-GDP, Gaussian differential privacy."),
        click.option("--claim", type=click.Choice([*curve.CURVES]), help="Claim a whole trade-off"
                     " curve; its numbers are --mu, or --epsilon, --delta and --k."),
    ):  # fmt: skip
        command = option(command)
    return command


def curve_of(words: Row) -> Curve | None:
    """Return the trade-off curve that the options claim, or ``None`` if they claim epsilon."""
    words = words if words["claim"] or words["mu"] is None else words | {"claim": "gdp"}
    given = [name for name in ("claim", *_FILES) if words[name]]
    if len(given) > 1 or (words["mu"] is not None and given != ["claim"]):
        raise click.UsageError("give one of --claim, --claim-points and --claim-lines")
    if given == ["claim"]:
        takes = ["mu", *inspect.signature(curve.CURVES[words["claim"]]).parameters]
        named = {n: words[n] for n in curve.PARAMETERS if n in takes and words[n] is not None}
        return curve.make(words["claim"], **named)
    for name in given:
        made, columns = _FILES[name]
        return made(*_read(Path(words[name]), columns))
    return None


def _read(path: Path, columns: list[str]) -> list[list[float]]:
    """Return the columns of a CSV file, whose first line names them."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.reader(file) if row]
    try:
        if len(rows) < 2 or rows[0] != columns:
            raise ValueError(f"got {rows[:1]}")
        return [[float(cell) for cell in column] for column in zip(*rows[1:], strict=True)]
    except ValueError as error:
        raise click.UsageError(
            f"{path} must begin with {','.join(columns)} and hold two numbers a line: {error}"
        ) from None
