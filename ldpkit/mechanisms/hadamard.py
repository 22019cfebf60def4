"""Hadamard response: one index, and a row of a Hadamard matrix per value that says which indices
are likely."""

import functools
import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from .. import checks
from ..compiled import kernel
from ..kinds import Listed, Repeatable, Support
from ..kinds.base import log_ratio, shaped
from ..types import Array, ArrayLike, Pair, Rates, Reports, Rng
from .base import SupportOracle

__all__ = ["HR", "Index"]

MAX_ORDER = 2**20
"""Largest order of the matrix: laws are listed index by index."""


@kernel
def _even(value: int, index: int) -> bool:
    """Whether the row of a value has a plus at an index: whether they share an even number of
    binary ones."""
    shared = (value + 1) & index
    shared ^= shared >> 32
    shared ^= shared >> 16
    shared ^= shared >> 8
    shared ^= shared >> 4
    shared ^= shared >> 2
    shared ^= shared >> 1
    return shared & 1 == 0


@kernel
def _indices(values: Array, order: int, keep: float, rng: Rng) -> Array:
    """A uniform index out of the value's half with probability `keep`, otherwise out of the other
    half."""
    out = np.empty(values.size, np.int64)
    for i in range(values.size):
        index = int(rng.random() * order)
        if _even(values[i], index) != (rng.random() < keep):
            index ^= (values[i] + 1) & -(
                values[i] + 1
            )  # flip one shared place: a bijection between the two halves
        out[i] = index
    return out


@kernel
def _plus(values: Array, indices: Array) -> Array:
    out = np.empty((indices.size, values.size), np.bool_)
    for i in range(indices.size):
        for u in range(values.size):
            out[i, u] = _even(values[u], indices[i])
    return out


def _transform(sums: Array) -> Array:
    """Fast Walsh-Hadamard transform of an array whose length is a power of two."""
    step = 1
    while step < sums.size:
        pairs = sums.reshape(-1, 2, step)
        sums = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).ravel()
        step *= 2
    return sums


@functools.lru_cache(maxsize=16)
def _sizes(k: int, order: int) -> Array:
    """How many values each index supports."""
    rows = np.arange(order)
    return (k + _transform(((rows >= 1) & (rows <= k)).astype(np.int64))) // 2


@dataclass(frozen=True)
class Index(Support, Repeatable, Listed):
    """One index in ``0..order-1``, array (n,); it supports the values whose row has a plus there.

    Parameters
    ----------
    k, order : int
        Domain size and order of the Hadamard matrix, a power of two above k.
    p : float
        Probability that the index lies in the true value's half.
    """

    k: int
    order: int
    p: float
    name = "index"
    lawful = True
    guess_route = "enumerate"

    def read(self, reports: Reports, sender: str) -> Array:
        return checks.values(shaped(reports, (None,), sender), self.order, "reports")

    def supports(self, reports: Array, value: int) -> Array:
        return _plus(np.array([value]), reports)[:, 0]

    def tally(self, reports: Array) -> Array:
        return _plus(np.arange(self.k), reports)

    def support_counts(self, reports: Array) -> Array:
        seen = np.bincount(reports, minlength=self.order)
        return (len(reports) + _transform(seen)[1 : self.k + 1]) // 2

    def guess_rates(self, pair: Pair) -> Rates:
        plus, sizes = _plus(np.array(pair), np.arange(self.order)), _sizes(self.k, self.order)
        named = np.where(sizes > 0, plus[:, 0] / np.maximum(sizes, 1), 1 / self.k)
        first, second = (float(self.law(value) @ named) for value in pair)
        return first, second

    def score_rates(self, threshold: float, pair: Pair) -> Rates:
        return self.p / 2, (1 - self.p) / 2  # two rows agree at half of the indices

    def loss(self, pair: Pair) -> float:
        return log_ratio(self.p, 1 - self.p)

    @property
    def outputs(self) -> int:
        return self.order

    @property
    def reports(self) -> Array:
        return np.arange(self.order)

    def law(self, value: int, positions: Iterable[int] | None = None) -> Array:
        plus = self.supports(self.reports, value)
        return np.where(plus, self.p, 1 - self.p) * 2 / self.order


@dataclass(frozen=True)
class HR(SupportOracle):
    """Hadamard response: one index, likely where the value's row of a public matrix has a plus.

    Parameters
    ----------
    k : int
        Domain size, in [2, 2^20 - 1].
    epsilon : float
        Privacy budget, in [1e-6, 30].

    Notes
    -----
    The matrix has order ``K = 2^ceil(log2(k + 1))``; value x owns row ``x + 1``, with a plus at the
    indices y that share an even number of binary ones with it. A report lies in that half with ``p
    = e^eps / (1 + e^eps)`` and is uniform in either half, so any other value is supported with ``q
    = 1/2`` (Acharya, Sun and Zhang 2019, for one block). "A plus for the first value and not for
    the second" attains ``e^eps``.
    """

    k: int
    epsilon: float
    name = "HR"

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.integer("k", self.k, 2, MAX_ORDER - 1)

    @property
    def order(self) -> int:
        """Order of the matrix."""
        return 2 ** math.ceil(math.log2(self.k + 1))

    @property
    def p(self) -> float:
        """Probability of an index in the true value's half."""
        return 1 / (1 + math.exp(-self.epsilon))

    @property
    def q(self) -> float:
        """Probability of an index in the half of one given other value."""
        return 0.5

    @property
    def kind(self) -> Index:
        """One index."""
        return Index(self.k, self.order, self.p)

    def perturb(self, values: ArrayLike, rng: Rng) -> Array:
        """Return indices, int array (n,); see `Mechanism.perturb`."""
        return _indices(self._users(values, rng), self.order, self.p, rng)
