"""Reports of a hash function and a cell of it.

The hash family is xxHash64 of the value (eight bytes, little endian) under a fresh 64-bit seed per
user. The upper 32 bits are reduced to ``0..g-1`` by multiplication with ``g``, so the probabilities
of cells differ by at most ``g / 2^32``, relatively. The exact distribution of the support assumes a
fully random hash. Tests find no difference between this family and a fully random hash.
"""

import functools
from dataclasses import dataclass

import numpy as np

from .. import checks
from ..jit import kernel
from ..types import Array, Rng
from .base import Independent, Structured

__all__ = ["Hashed", "HASH_REPORT", "cell_table", "cells", "hash_cell"]

HASH_REPORT = np.dtype([("seed", "<u8"), ("cell", "<i8")])
"""Type of one report: the user's hash seed and the reported cell."""

# fmt: off
_P1, _P2, _P3, _P4, _P5 = map(np.uint64, (
    0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63,
    0x27D4EB2F165667C5,
))
# fmt: on


@functools.partial(kernel, inline="always")
def _rotl(x: np.uint64, bits: int) -> np.uint64:
    return (x << np.uint64(bits)) | (x >> np.uint64(64 - bits))


@kernel
def _mixed(value: int) -> np.uint64:
    """The part of a value's hash that does not depend on the seed."""
    return _rotl(np.uint64(value) * _P2, 31) * _P1


@kernel
def _cell(mixed: np.uint64, seed: int, g: int) -> np.int64:
    """Cell of a value: xxHash64 of its eight bytes without the last step, which does not change the
    upper half."""
    h = mixed ^ (np.uint64(seed) + _P5 + np.uint64(8))
    h = _rotl(h, 27) * _P1 + _P4
    h = (h ^ (h >> np.uint64(33))) * _P2
    h = (h ^ (h >> np.uint64(29))) * _P3
    return np.int64(((h >> np.uint64(32)) * np.uint64(g)) >> np.uint64(32))


@kernel
def hash_cell(value: int, seed: int, g: int) -> np.int64:
    """Cell in ``0..g-1`` of one value under one user's seed."""
    return _cell(_mixed(value), seed, g)


@kernel
def cells(values: Array, seeds: Array, g: int) -> Array:
    """Cell of each user's value under the user's own seed."""
    out = np.empty(values.size, np.int64)
    for i in range(values.size):
        out[i] = hash_cell(values[i], seeds[i], g)
    return out


@functools.lru_cache(maxsize=8)
def cell_table(k: int, hashes: int, m: int) -> Array:
    """Cell of every value under every hash function, int array (hashes, k); the functions are
    public and fixed."""
    return np.array([cells(np.arange(k), np.full(k, j, np.uint64), m) for j in range(hashes)])


@kernel
def _inside(seeds: Array, cells: Array, values: Array, g: int) -> Array:
    """Whether each value falls into each user's cell, bool array (n, values); the part of a hash
    that depends on the value only is computed once."""
    k = values.size
    out, mixed = np.empty((cells.size, k), np.bool_), np.empty(k, np.uint64)
    for u in range(k):
        mixed[u] = _mixed(values[u])
    for i in range(cells.size):
        for u in range(k):
            out[i, u] = _cell(mixed[u], seeds[i], g) == cells[i]
    return out


@kernel
def _fullest_cell(seeds: Array, r: int, g: int) -> tuple[int, np.uint64, np.int64]:
    """Find the seed and the cell with the most values of ``0..r-1``; return the number of values,
    the seed and the cell."""
    most, best, where = 0, seeds[0], np.int64(0)
    for seed in seeds:
        for v in range(r):
            cell = hash_cell(v, seed, g)
            count = 0
            for u in range(r):
                count += hash_cell(u, seed, g) == cell
            if count > most:
                most, best, where = count, seed, cell
    return most, best, where


@dataclass(frozen=True)
class Hashed(Structured, Independent):
    """A user's hash seed and a cell, structured array (n,) of type `HASH_REPORT`; the report
    supports all values of the cell.

    Parameters
    ----------
    k, g : int
        Domain size and number of cells.
    p : float
        Probability of the true value's cell.
    """

    k: int
    g: int
    p: float
    name, form = "hash", HASH_REPORT

    @property
    def q(self) -> float:  # type: ignore[override]  # follows from the hash range
        """Probability that a report supports one given other value."""
        return 1 / self.g

    @property
    def limits(self) -> dict[str, int]:  # type: ignore[override]  # follows from the other fields
        return {"cell": self.g}

    def supported(self, reports: Array, values: Array) -> Array:
        return _inside(reports["seed"], reports["cell"], values, self.g)

    def most(self, targets: int) -> int:
        return targets  # a hash that sends all of them to one cell; `craft` searches for one

    def craft(self, targets: int, count: int, rng: Rng, tries: int) -> tuple[Array, int]:
        seeds = rng.integers(0, 2**64, checks.integer("tries", tries, 1), dtype=np.uint64)
        supported, seed, cell = _fullest_cell(seeds, targets, self.g)
        reports = np.empty(count, HASH_REPORT)
        reports["seed"], reports["cell"] = seed, cell
        return reports, supported
