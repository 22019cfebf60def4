"""Laws over alphabets that are small enough to be listed."""

import math
from collections.abc import Iterable

import numpy as np

from .. import checks
from ..types import Array, ArrayLike

__all__ = ["MAX_OUTPUTS", "alphabet", "chosen", "listed_positions", "product_distribution"]

MAX_OUTPUTS = 2**20
"""Largest alphabet whose law is enumerated."""


def alphabet(base: int, length: int, instead: str) -> int:
    """Return ``base ** length``, the number of outputs; too many to enumerate are refused, saying
    what to do `instead`."""
    most = int(math.log(MAX_OUTPUTS) / math.log(base) + 1e-9)
    if length <= most:
        return base**length
    size = (
        f"{base}^{length} = {base**length}"
        if 1 < length <= 30
        else f"{base}^{length}"
        if length > 1
        else f"{base}"
    )
    limit = f"at most {MAX_OUTPUTS}" + (f", a length of {most}" if length > 1 else "")
    raise ValueError(
        f"an alphabet of {size} outputs is too large to enumerate ({limit}); {instead}"
    )


def chosen(positions: Iterable[int] | None, length: int) -> list[int]:
    """Return the positions of a record that are looked at as a list, all if ``None``; they must be
    in it and differ."""
    checks.instance("positions", positions, (Iterable, type(None)), "a list of positions")
    kept = [
        checks.integer("positions", p, 0, length - 1)
        for p in (range(length) if positions is None else positions)
    ]
    checks.need(len(set(kept)) == len(kept), f"positions must differ, got {kept}")
    return kept


def listed_positions(
    positions: Iterable[int] | None, length: int, base: int, instead: str
) -> list[int]:
    """Return `chosen` positions whose symbols, of `base` each, are few enough to be listed; see
    `alphabet`."""
    if positions is None:
        alphabet(base, length, instead)  # before all of them are counted up
    kept = chosen(positions, length)
    alphabet(base, len(kept), instead)
    return kept


def product_distribution(rates: Iterable[ArrayLike]) -> Array:
    """Law of independent symbols, one distribution per position; the last position moves
    fastest."""
    law = np.ones(1)
    for rate in rates:
        law = np.multiply.outer(law, rate).ravel()
    return law
