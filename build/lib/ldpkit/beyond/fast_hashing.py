"""Local hashing as packages do it: a seed out of a stated number chooses one of their functions."""

import functools
import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from .. import checks
from ..jit import kernel
from ..mechanisms.base import Epsilon, exact_distribution
from ..mechanisms.grr import response_rates
from ..mechanisms.hashing import LocalHashing
from ..reports.base import Columns, Structured, log_ratio
from ..types import Array, Numbers, Pair, Rates

__all__ = ["FLH", "FAMILIES", "Seeded"]

FAMILIES = ("xxhash32", "carter-wegman")
"""Families of hash functions."""
_LOW = np.uint64(2**32 - 1)


@kernel
def _times(x: np.uint64, turn: int, factor: int) -> np.uint64:
    """A 32-bit word that is rotated to the left and then multiplied, modulo 2^32."""
    x &= _LOW
    return (((x << np.uint64(turn)) | (x >> np.uint64(32 - turn))) & _LOW) * np.uint64(
        factor
    ) & _LOW


@kernel
def xxhash32(text: Numbers, size: int, seed: np.uint64) -> np.uint64:
    """xxHash32 of a text of `size` bytes, at most 8, under a seed; the text is a number whose
    lowest byte is the first."""
    h = seed + np.uint64(0x165667B1) + np.uint64(size)
    while size >= 4:
        h = _times(h + (text & _LOW) * np.uint64(0xC2B2AE3D), 17, 0x27D4EB2F)
        text, size = text >> np.uint64(32), size - 4
    while size:
        h = _times(h + (text & np.uint64(255)) * np.uint64(0x165667B1), 11, 0x9E3779B1)
        text, size = text >> np.uint64(8), size - 1
    h = _times(h ^ (h >> np.uint64(15)), 0, 0x85EBCA77)
    h = _times(h ^ (h >> np.uint64(13)), 0, 0xC2B2AE3D)
    return h ^ (h >> np.uint64(16))


@kernel
def _cell(prime: int, text: Numbers, size: int, value: int, seed: np.uint64, g: int) -> np.int64:
    """Cell of a value under the function of a seed; xxHash32 of its text if the prime is 0."""
    if not prime:
        return np.int64(xxhash32(text, size, seed) % np.uint64(g))
    a, b = np.uint64(1) + seed // np.uint64(prime), seed % np.uint64(prime)
    return np.int64((a * np.uint64(value) + b) % np.uint64(prime) % np.uint64(g))


@kernel
def _cells(prime: int, texts: Array, sizes: Array, values: Array, seeds: Array, g: int) -> Array:
    """Cell of each value under the function of its seed, int array (n,)."""
    out = np.empty(values.size, np.int64)
    for i in range(values.size):
        u = values[i]
        out[i] = _cell(prime, texts[u], sizes[u], u, seeds[i], g)
    return out


@kernel
def _shared(prime: int, texts: Array, sizes: Array, one: int, two: int, seeds: int, g: int) -> int:
    """Number of the functions that put two values into one cell."""
    count = 0
    for i in range(seeds):
        first = _cell(prime, texts[one], sizes[one], one, np.uint64(i), g)
        count += first == _cell(prime, texts[two], sizes[two], two, np.uint64(i), g)
    return count


@functools.lru_cache(maxsize=8)
def _texts(k: int) -> tuple[Array, Array]:
    """The decimal digits of 0..k-1 as numbers for `xxhash32`, and the numbers of digits."""
    texts = np.arange(k).astype("S8")
    return texts.view("<u8"), np.char.str_len(texts)


@dataclass(frozen=True)
class Seeded(Structured):
    """A seed and a cell, structured array (n,) of type `HASH_REPORT`; the report supports all
    values of the cell under the function of the seed.

    Parameters
    ----------
    k, g, seeds : int
        Domain size, number of cells, and number of seeds.
    p, other : float
        Probabilities of the true value's cell, and of one given other cell.
    prime : int
        Modulus of the family of Carter and Wegman; 0 for xxHash32.
    """

    k: int
    g: int
    seeds: int
    p: float
    other: float
    prime: int
    name, exact = "hash", True
    guess_route = score_route = "enumerate"

    def cells(self, values: Array, seeds: Array) -> Array:
        """Cell of each value under the function of its seed, int array (n,)."""
        return _cells(self.prime, *_texts(self.k), values, seeds.astype(np.uint64), self.g)

    @property
    def columns(self) -> Columns:
        return {"seed": ("<u8", (), self.seeds), "cell": ("<i8", (), self.g)}

    def supported(self, reports: Array, values: Array) -> Array:
        return self._table(values, reports["seed"]) == reports["cell"][:, None]

    def _table(self, values: Array, seeds: Array) -> Array:
        """Cells of some values under the functions of these seeds, int array (n, values)."""
        every = self.cells(np.tile(values, len(seeds)), np.repeat(seeds, len(values)))
        return every.reshape(len(seeds), -1)

    def score_rates(self, threshold: float, pair: Pair) -> Rates:
        apart = 1 - _collisions(self, min(pair), max(pair))
        return apart * self.p, apart * self.other

    def loss(self, pair: Pair) -> float:
        return log_ratio(self.p, self.other) if self.score_rates(1, pair)[0] else 0.0

    def guess_rates(self, pair: Pair) -> Rates | None:
        """Sum over all functions; ``None`` if their cells are too many. See
        `ReportType.guess_rates`."""
        if self.seeds * max(self.k, self.g) > 2**24:
            return None
        table = self._table(np.arange(self.k), np.arange(self.seeds))
        cells = (table + np.arange(self.seeds, dtype=np.int64)[:, None] * self.g).ravel()
        sizes = np.bincount(cells, minlength=self.seeds * self.g).reshape(self.seeds, self.g)
        own = 1 / np.take_along_axis(sizes, table[:, [pair[0]]], 1)[:, 0]
        empty = self.other * (sizes == 0).sum(axis=1) / self.k  # any guess from an empty cell
        rates = np.where(table[:, pair[0]] == table[:, pair[1]], self.p, self.other)
        return float(np.mean(self.p * own + empty)), float(np.mean(rates * own + empty))


@functools.lru_cache(maxsize=256)
def _collisions(form: Seeded, one: int, two: int) -> float:
    """Share of the functions that put two values into one cell."""
    return _shared(form.prime, *_texts(form.k), one, two, form.seeds, form.g) / form.seeds


@exact_distribution
@dataclass(frozen=True)
class FLH(LocalHashing):
    """Local hashing by the functions of packages; fast local hashing if the seeds are few.

    Parameters
    ----------
    k : int
        Domain size, in [2, 2^15].
    epsilon : float
        Privacy budget, in [1e-6, 30].
    g : int
        Hash range, in [2, 2^15].
    seeds : int, optional
        Number of seeds, in [1, 2^32], out of which each user draws one. By default 2^16, and the
        whole family for ``carter-wegman``.
    family : {"xxhash32", "carter-wegman"}
        xxHash32 of the decimal digits of a value modulo `g`, or ``((a x + b) mod P) mod g``.

    Notes
    -----
    The seed is public, so that epsilon does not depend on the family. But two values share a cell
    under a share c of the functions, which need not be ``1/g``. The strongest event has the rates
    ``(1 - c) p`` and ``(1 - c) (1 - p) / (g - 1)``, and c is counted over all seeds. The packages
    pure-ldp and multi-freq-ldpy use xxHash32 and all of its 2^32 seeds, over which counting takes
    about a minute for each pair. Few seeds are the fast local hashing of Cormode, Maddock and
    Maple (2021). P is the smallest prime that is at least `k` and `g`. All ``P (P -
    1)`` pairs ``a > 0`` and b are the family of Carter and Wegman (1979), in which c is the same
    for all pairs of values. Otherwise estimates assume ``c = 1/g``.
    """

    k: Annotated[int, checks.rule(checks.integer, 2, 2**15)]
    epsilon: Epsilon
    g: Annotated[int, checks.rule(checks.integer, 2, 2**15), "Hash range, in [2, 2^15]."]
    seeds: Annotated[
        int | None,
        checks.rule(checks.integer, 1, 2**32),
        "Number of seeds, in [1, 2^32], out of which each user draws one.",
    ] = None
    family: Annotated[str, checks.rule(checks.one_of, FAMILIES)] = FAMILIES[0]

    @property
    def q(self) -> float:
        """Probability that a report supports one given other value."""
        form, alike = self.report_type, self.seeds is None and self.family == FAMILIES[1]
        share = _collisions(form, 0, 1) if alike else 1 / self.g
        return share * self.p + (1 - share) * form.other

    @functools.cached_property
    def report_type(self) -> Seeded:  # type: ignore[override]  # is no report of random functions
        """A seed and a cell."""
        rates = response_rates(self.g, self.epsilon)
        if self.family == FAMILIES[0]:
            return Seeded(self.k, self.g, self.seeds or 2**16, *rates, 0)
        prime = max(self.k, self.g)
        while any(prime % d == 0 for d in range(2, math.isqrt(prime) + 1)):
            prime += 1
        return Seeded(self.k, self.g, self.seeds or prime * (prime - 1), *rates, prime)
