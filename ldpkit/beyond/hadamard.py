"""Hadamard response and Hadamard mechanism: each value has a row of a Hadamard matrix; its signs
decide which indices are likely, or the client sends some of the signs."""

import functools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from .. import checks
from ..jit import kernel
from ..mechanisms.base import Epsilon, SupportOracle
from ..mechanisms.grr import GRR, respond
from ..reports import Listed, Repeatable, Support
from ..reports.base import log_ratio, shaped
from ..types import Array, ArrayLike, Pair, Rates, Reports, Rng

__all__ = ["HM", "HR", "Index", "Signs"]

MAX_ORDER = 2**20
"""Largest order of the matrix, because distributions are listed index by index."""


@kernel
def _plus(row: int, index: int) -> bool:
    """Whether a row of the matrix has a plus at an index: the numbers of row and index then share
    an even number of binary ones."""
    shared = row & index
    shared ^= shared >> 32
    shared ^= shared >> 16
    shared ^= shared >> 8
    shared ^= shared >> 4
    shared ^= shared >> 2
    shared ^= shared >> 1
    return shared & 1 == 0


@kernel
def _indices(values: Array, order: int, keep: float, rng: Rng) -> Array:
    """Sample one index per user: uniform in the value's half with probability `keep`, otherwise
    uniform in the other half; int array (n,)."""
    out = np.empty(values.size, np.int64)
    for i in range(values.size):
        row, index = values[i] + 1, int(rng.random() * order)
        if _plus(row, index) != (rng.random() < keep):
            index ^= row & -row  # flipping the row's lowest one maps each half onto the other
        out[i] = index
    return out


@kernel
def _pluses(values: Array, indices: Array) -> Array:
    out = np.empty((indices.size, values.size), np.bool_)
    for i in range(indices.size):
        for u in range(values.size):
            out[i, u] = _plus(values[u] + 1, indices[i])
    return out


@kernel
def words(rows: Array, indices: Array) -> Array:
    """Signs of each row at each user's indices as the binary digits of a number, where a plus is a
    zero; int array (n, rows), for rows (n or 1, rows) and indices (n, t)."""
    n, t = indices.shape
    out = np.zeros((n, rows.shape[1]), np.int64)
    for i in range(n):
        for u in range(rows.shape[1]):
            for j in range(t):
                out[i, u] = 2 * out[i, u] + (not _plus(rows[i % len(rows), u], indices[i, j]))
    return out


def transform(sums: Array) -> Array:
    """Fast Walsh-Hadamard transform of an array whose length is a power of two."""
    step = 1
    while step < sums.size:
        pairs = sums.reshape(-1, 2, step)
        sums = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).ravel()
        step *= 2
    return sums


@functools.lru_cache(maxsize=16)
def _sizes(k: int, order: int) -> Array:
    """Number of values that each index supports."""
    rows = np.arange(order)
    return (k + transform(((rows >= 1) & (rows <= k)).astype(np.int64))) // 2


@dataclass(frozen=True)
class Index(Support, Repeatable, Listed):
    """One index in ``0..order-1``, array (n,), which supports the values whose row has a plus at
    the index.

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
    exact = True
    guess_route = "enumerate"

    def read(self, reports: Reports, sender: str) -> Array:
        return checks.values(shaped(reports, (None,), sender), self.order, "reports")

    def supports(self, reports: Array, value: int) -> Array:
        return _pluses(np.array([value]), reports)[:, 0]

    def tally(self, reports: Array) -> Array:
        return _pluses(np.arange(self.k), reports)

    def support_counts(self, reports: Array) -> Array:
        counts = np.bincount(reports, minlength=self.order)
        return (len(reports) + transform(counts)[1 : self.k + 1]) // 2

    def guess_rates(self, pair: Pair) -> Rates:
        plus, sizes = _pluses(np.array(pair), np.arange(self.order)), _sizes(self.k, self.order)
        guessed = np.where(sizes > 0, plus[:, 0] / np.maximum(sizes, 1), 1 / self.k)
        first, second = (float(self.distribution(value) @ guessed) for value in pair)
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

    def distribution(self, value: int, positions: Iterable[int] | None = None) -> Array:
        plus = self.supports(self.reports, value)
        return np.where(plus, self.p, 1 - self.p) * 2 / self.order


@dataclass(frozen=True)
class HR(SupportOracle):
    """Hadamard response: one index, which is likely if the value's row of a public matrix has a
    plus there.

    Parameters
    ----------
    k : int
        Domain size, in [2, 2^20 - 1].
    epsilon : float
        Privacy budget, in [1e-6, 30].

    Notes
    -----
    The matrix has order ``K = 2^ceil(log2(k + 1))``. Value x has row ``x + 1``, with a plus at the
    indices y that share an even number of binary ones with ``x + 1``. A report lies in this half
    with ``p = e^eps / (1 + e^eps)`` and is uniform in either half (Acharya, Sun and Zhang 2019, for
    one block). Therefore any other value is supported with ``q = 1/2``. The event "a plus for the
    first value and not for the second" attains the ratio ``e^eps``.
    """

    k: Annotated[int, checks.rule(checks.integer, 2, MAX_ORDER - 1)]
    epsilon: Epsilon
    name = "HR"
    exact = True

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
    def report_type(self) -> Index:
        """One index."""
        return Index(self.k, self.order, self.p)

    def perturb(self, values: ArrayLike, rng: Rng) -> Array:
        """Return indices, int array (n,); see `Mechanism.perturb`."""
        return _indices(self._users(values, rng), self.order, self.p, rng)


@dataclass(frozen=True)
class Signs(Support, Repeatable):
    """A few indices and the signs of a row of the matrix at these indices, structured array (n,)
    with ``indices`` and ``signs``.

    The signs are the binary digits of a number, where a plus is a zero. A report supports the
    values whose rows have exactly these signs.

    Parameters
    ----------
    k, order, t : int
        Domain size, order of the matrix, a power of two, and number of indices.
    p : float
        Probability that the signs are those of the true value.
    """

    k: int
    order: int
    t: int
    p: float
    name = "signs"
    exact = True
    guess_route = "enumerate"

    @property
    def form(self) -> np.dtype[np.void]:
        """Type of one report."""
        return np.dtype([("indices", "<i8", (self.t,)), ("signs", "<i8")])

    @property
    def table(self) -> Array:
        """Row of every value under every public hash function, int array (functions, k); here the
        only function maps a value to its own row."""
        return np.arange(self.k)[None]

    def rows(self, reports: Array) -> Array:
        """Row of every value under the hash function of each report, int array (n or 1, k)."""
        return self.table

    @property
    def width(self) -> int:
        return self.t + 1

    def read(self, reports: Reports, sender: str) -> Array:
        reports = shaped(reports, (None,), sender, self.form)
        checks.values(reports["indices"].ravel(), self.order, f"indices of {sender}")
        checks.values(reports["signs"], 2**self.t, f"signs of {sender}")
        return reports

    def supports(self, reports: Array, value: int) -> Array:
        rows = self.rows(reports)[:, [value]]
        return words(rows, reports["indices"])[:, 0] == reports["signs"]

    def tally(self, reports: Array) -> Array:
        return words(self.rows(reports), reports["indices"]) == reports["signs"][:, None]

    @property
    def other(self) -> float:
        """Probability of any other given signs."""
        return (1 - self.p) / (2**self.t - 1)

    def apart(self, pair: Pair) -> float:
        """Probability that two values have different signs."""
        rows = float(np.mean(self.table[:, pair[0]] != self.table[:, pair[1]]))
        return rows * (1 - 0.5**self.t)  # two rows of the matrix agree at half of the indices

    def score_rates(self, threshold: float, pair: Pair) -> Rates:
        return self.apart(pair) * self.p, self.apart(pair) * self.other

    def loss(self, pair: Pair) -> float:
        return log_ratio(self.p, self.other) if self.apart(pair) else 0.0

    def guess_rates(self, pair: Pair) -> Rates | None:
        """Sum over all hash functions, indices and signs; ``None`` if there are too many of
        them. See `Named.guess_rates`."""
        signs, rates = 2**self.t, np.zeros(2)
        if len(self.table) * self.order**self.t * signs > 2**22:
            return None
        indices = np.indices((self.order,) * self.t).reshape(self.t, -1)
        sums = np.zeros((1, indices.shape[1]), np.int64)  # exclusive or of each subset of indices
        for index in indices:
            sums = np.stack([sums, sums ^ index], axis=1).reshape(-1, indices.shape[1])
        characters = 1 - 2 * words(np.arange(signs)[None], np.arange(signs)[:, None])
        for row in self.table:
            spectrum = transform(np.bincount(row, minlength=self.order))
            sizes = characters @ spectrum[sums] // signs  # number of values with each of the signs
            first, second = words(row[None, pair], indices.T).T
            picked = 1 / np.take_along_axis(sizes, first[None], 0)[0]
            none = self.other * (sizes == 0).sum(axis=0) / self.k  # no value supported: any guess
            rates += (
                (self.p * picked + none).mean(),
                (np.where(first == second, self.p, self.other) * picked + none).mean(),
            )
        tpr, fpr = rates / len(self.table)
        return float(tpr), float(fpr)


@dataclass(frozen=True)
class HM(SupportOracle):
    """Hadamard mechanism: a few random indices, and jointly perturbed signs of the value's row.

    Parameters
    ----------
    k : int
        Domain size, in [2, 2^20].
    epsilon : float
        Privacy budget, in [1e-6, 30].
    t : int
        Number of indices, in [1, 16].

    Notes
    -----
    Value x has row x of the matrix of order ``2^ceil(log2(k))``. The indices are independent and
    public. Of the ``2^t`` vectors of signs the true one is sent with probability ``p = e^eps /
    (e^eps + 2^t - 1)``, as in `GRR`. This is local hashing with ``g = 2^t`` cells, in which two
    values share a cell with probability exactly ``1/g`` (Cormode, Maddock and Maple 2021). The
    event "signs of the first value and not of the second" attains the ratio ``e^eps``.
    """

    k: Annotated[int, checks.rule(checks.integer, 2, MAX_ORDER)]
    epsilon: Epsilon
    t: Annotated[int, checks.rule(checks.integer, 1, 16)] = 1
    name = "HM"
    exact = True

    @property
    def order(self) -> int:
        """Order of the matrix."""
        return 2 ** math.ceil(math.log2(self.k))

    @property
    def p(self) -> float:
        """Probability of the true value's signs."""
        return GRR(2**self.t, self.epsilon).p

    @property
    def q(self) -> float:
        """Probability of the signs of one given other value."""
        return 0.5**self.t

    @property
    def report_type(self) -> Signs:
        """Indices and signs."""
        return Signs(self.k, self.order, self.t, self.p)

    def perturb(self, values: ArrayLike, rng: Rng) -> Array:
        """Return a structured array (n,) with ``indices`` and ``signs``; see
        `Mechanism.perturb`."""
        values = self._users(values, rng)
        reports = np.empty(values.size, self.report_type.form)
        reports["indices"] = rng.integers(0, self.order, (values.size, self.t))
        reports["signs"] = answers(values, reports["indices"], self.p, rng)
        return reports


def answers(rows: Array, indices: Array, p: float, rng: Rng) -> Array:
    """Return the signs of each user's row at the indices with probability `p`, otherwise uniform
    other signs; int array (n,)."""
    truth = words(rows[:, None], indices)[:, 0]
    return respond(truth, 2 ** indices.shape[1], p, rng)
