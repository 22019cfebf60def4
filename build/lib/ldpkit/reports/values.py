"""Reports of one value, of a bit per value, of a set of values, and of a hash function and a cell
of it."""

import functools
import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from .. import checks
from ..guess_success import binomial, response_wins
from ..jit import kernel
from ..types import Array, Reports, Rng
from .base import (
    Columns,
    ExactSupport,
    Independent,
    Structured,
    Support,
    alphabet,
    listed_positions,
    product_distribution,
    shaped,
    won,
)

__all__ = [
    "Value", "Response", "Bits", "IndependentBits", "Subset", "Selection", "Hashed", "HASH_REPORT",
    "cells", "hash_cell",
]  # fmt: skip


@dataclass(frozen=True)
class Value(Support):
    """One integer in ``0..k-1``, array (n,); a report supports itself only."""

    k: int
    name = "value"

    def read(self, reports: Reports, sender: str) -> Array:
        return checks.values(shaped(reports, (None,), sender), self.k, "reports")

    def supported(self, reports: Array, values: Array) -> Array:
        return reports[:, None] == values

    def guess(self, reports: Array, rng: Rng) -> Array:
        return reports

    def support_counts(self, reports: Array) -> Array:
        return np.bincount(reports, minlength=self.k)


@dataclass(frozen=True)
class Response(Value, ExactSupport):
    """The true value with probability `p`, each other value with probability `q`."""

    p: float
    q: float

    @property
    def absent(self) -> float:  # type: ignore[override]  # follows from the rate of other values
        """Probability of another value."""
        return (self.k - 1) * self.q

    def pair_distribution(self) -> Array:
        return np.array([self.p, self.q, 0, (self.k - 2) * self.q])

    def success(self) -> float:
        return self.p

    def failure(self) -> float:
        return self.absent

    def rounds_success(self, tau: int) -> float:
        return won(binomial(tau, self.p), response_wins(self.k, tau))

    def rounds_failure(self, tau: int) -> float:
        return won(binomial(tau, self.absent)[::-1], 1 - response_wins(self.k, tau))

    @property
    def outputs(self) -> int:
        return self.k

    def distribution(self, value: int, positions: Iterable[int] | None = None) -> Array:
        return np.where(self.reports == value, self.p, self.q)

    def most(self, targets: int) -> int:
        return 1

    def craft(self, targets: int, count: int, rng: Rng, tries: int) -> tuple[Array, int]:
        return rng.integers(0, targets, count), 1


@dataclass(frozen=True)
class Bits(Support):
    """One bit per value, uint8 array (n, k); a one supports its value."""

    k: int
    name = "bits"

    def read(self, reports: Reports, sender: str) -> Array:
        reports = shaped(reports, (None, self.k), sender)
        if reports.dtype.kind not in "bu" or reports.max() > 1:
            good = np.isin(reports, (0, 1))
            checks.every(good, reports, f"reports of {sender} must hold only 0 and 1")
        return reports

    def supported(self, reports: Array, values: Array) -> Array:
        return reports[:, values] != 0

    def tally(self, reports: Array) -> Array:
        return reports  # without a copy


@dataclass(frozen=True)
class IndependentBits(Bits, Independent):
    """Independent bits: a one at the true value with probability `p`, at any other with probability
    `q`; a zero at the true value with probability `absent`."""

    p: float
    q: float
    absent: float = field(default=math.nan, kw_only=True)

    @property
    def outputs(self) -> int:
        return 2**self.k

    @property
    def reports(self) -> Array:
        return (np.arange(self.outputs)[:, None] >> np.arange(self.k)[::-1] & 1).astype(np.uint8)

    def distribution(self, value: int, positions: Iterable[int] | None = None) -> Array:
        kept = listed_positions(
            positions, self.k, 2, "look at a few `positions` of the record instead"
        )
        own = np.equal(kept, value)[:, None]
        rates = np.where(own, (self.absent, self.p), (1 - self.q, self.q))
        return product_distribution(rates)

    def most(self, targets: int) -> int:
        return targets

    def craft(self, targets: int, count: int, rng: Rng, tries: int) -> tuple[Array, int]:
        return np.tile((np.arange(self.k) < targets).astype(np.uint8), (count, 1)), targets


@dataclass(frozen=True)
class Subset(Support):
    """Distinct values, integer array (n, w) in the order in which they were sent, padded with -1; a
    report supports the values in it."""

    k: int
    name = "subset"

    def read(self, reports: Reports, sender: str) -> Array:
        reports = shaped(reports, (None, None), sender)
        return checks.values(reports.ravel(), self.k, "reports").reshape(reports.shape)

    def supported(self, reports: Array, values: Array) -> Array:
        return np.stack([(reports == value).any(axis=1) for value in values], axis=1)

    def guess(self, reports: Array, rng: Rng) -> Array:
        n, sizes = reports.shape
        if (reports[:, -1] < 0).any():  # shorter subsets are padded with -1
            sizes = (reports >= 0).sum(axis=1)
        at = (rng.random(n) * np.where(sizes, sizes, self.k)).astype(np.int64)
        # a uniform value for an empty subset
        return np.where(sizes, reports[np.arange(n), np.where(sizes, at, 0)], at)

    def tally(self, reports: Array) -> Array:
        out = np.zeros((len(reports), self.k))
        np.add.at(out, (np.arange(len(reports))[:, None], reports), 1)
        return out

    def support_counts(self, reports: Array) -> Array:
        return np.bincount(reports.ravel(), minlength=self.k)


@dataclass(frozen=True)
class Selection(Subset, ExactSupport):
    """Sets of `omega` values: the true value is a member with probability `p`, the rest is uniform.

    Parameters
    ----------
    k, omega : int
        Domain size and number of values in a set.
    p, q : float
        Probability that the true value is a member, and that one given other value is.
    absent : float
        Probability that the true value is no member, because ``1 - p`` would lose digits.
    """

    omega: int
    p: float
    q: float
    absent: float

    def read(self, reports: Reports, sender: str) -> Array:
        return super().read(shaped(reports, (None, self.omega), sender), sender)

    def pair_distribution(self) -> Array:
        k, omega = self.k, self.omega
        first, second = self.p * (k - omega) / (k - 1), self.absent * omega / (k - 1)
        return np.array(
            [
                first,
                second,
                self.p * (omega - 1) / (k - 1),
                max(0.0, self.absent * (k - 1 - omega) / (k - 1)),
            ]
        )

    def success(self) -> float:
        return self.p / self.omega

    def failure(self) -> float:
        return self.absent + self.p * (1 - 1 / self.omega)

    @property
    def rounds_route(self) -> str:  # type: ignore[override]  # depends on the size of the sets
        """How `rounds_success` is computed; the counts of several values in one set have no simple
        exact distribution, therefore such rounds are simulated."""
        return "convolve" if self.omega == 1 else "simulate"

    def rounds_success(self, tau: int) -> float | None:
        if self.omega > 1:
            return None
        return Response(self.k, self.p, self.q).rounds_success(tau)

    def rounds_failure(self, tau: int) -> float | None:
        if self.omega > 1:
            return None
        return Response(self.k, self.p, self.q).rounds_failure(tau)

    @property
    def outputs(self) -> int:
        return math.comb(self.k, self.omega)

    @property
    def reports(self) -> Array:
        return np.array(list(itertools.combinations(range(self.k), self.omega)))

    def distribution(self, value: int, positions: Iterable[int] | None = None) -> Array:
        alphabet(self.outputs, 1, "take a smaller domain")
        one, other = (math.comb(self.k - 1, size) for size in (self.omega - 1, self.omega))
        return np.where(self.supports(self.reports, value), self.p / one, self.absent / other)

    def most(self, targets: int) -> int:
        return min(targets, self.omega)

    def craft(self, targets: int, count: int, rng: Rng, tries: int) -> tuple[Array, int]:
        supported, others = self.most(targets), self.k - targets
        subsets = [
            np.append(
                rng.choice(targets, supported, replace=False),
                targets + rng.choice(others, self.omega - supported, replace=False),
            )
            for _ in range(count)
        ]
        return rng.permuted(np.array(subsets), axis=1), supported


# --- a hash function and a cell of it -------------------------------------------------------------
#
# The hash family is xxHash64 of the value (eight bytes, little endian) under a fresh 64-bit seed
# per user. The upper 32 bits are reduced to 0..g-1 by multiplication with g, so the probabilities
# of cells differ by at most g / 2^32, relatively. The exact distribution of the support assumes a
# fully random hash. Tests find no difference between this family and a fully random hash.

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
    absent : float, optional
        Probability of another cell, because ``1 - p`` would lose digits.
    """

    k: int
    g: int
    p: float
    absent: float = math.nan
    name = "hash"
    seeds = 2**64
    """Number of hash functions."""

    def cells(self, values: Array, seeds: Array) -> Array:
        """Cell of each value under the function of its seed, int array (n,)."""
        return cells(values, seeds, self.g)

    @property
    def q(self) -> float:  # type: ignore[override]  # follows from the hash range
        """Probability that a report supports one given other value."""
        return 1 / self.g

    @property
    def columns(self) -> Columns:
        return {"seed": ("<u8", (), None), "cell": ("<i8", (), self.g)}

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
