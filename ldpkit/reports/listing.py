"""Distributions over alphabets that are small enough to be listed."""

import math
from collections.abc import Iterable

import numpy as np

from .. import checks
from ..types import Array, ArrayLike

__all__ = ["MAX_OUTPUTS", "alphabet", "chosen", "listed_positions", "product_distribution"]

MAX_OUTPUTS = 2**20
"""Largest alphabet whose distribution is enumerated."""


def alphabet(base: int, length: int, instead: str) -> int:
    """Return ``base ** length``, the number of outputs.

    Raises
    ------
    ValueError
        If there are more than `MAX_OUTPUTS`; the message ends with the advice `instead`.
    """
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
    """Return different positions of a record of `length` symbols as a list, all positions if
    ``None``."""
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
    """Return `chosen` positions, after checking that the symbols there, of `base` values each, are
    few enough to be listed; see `alphabet`."""
    if positions is None:
        alphabet(base, length, instead)  # before a list of all positions is built
    kept = chosen(positions, length)
    alphabet(base, len(kept), instead)
    return kept


def product_distribution(rates: Iterable[ArrayLike]) -> Array:
    """Joint distribution of independent symbols from one distribution per position; the last
    position moves fastest."""
    joint = np.ones(1)
    for rate in rates:
        joint = np.multiply.outer(joint, rate).ravel()
    return joint
