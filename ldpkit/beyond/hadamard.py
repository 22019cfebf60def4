"""Hadamard response and the Hadamard mechanism: each value has a row of a public matrix of signs.

It is the row's signs that decide which reports are likely, or the client sends some of the signs.
"""

import functools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, cast

import numpy as np

from .. import checks
from ..jit import kernel
from ..mechanisms.base import Epsilon, FrequencyOracle, exact_distribution
from ..mechanisms.grr import respond, response_rates
from ..reports.base import Columns, Structured, Support, log_ratio, ones, shaped, structured
from ..reports.values import cells
from ..types import Array, ArrayLike, Pair, Rates, Reports, Rng

__all__ = [
    "HM",
    "HR",
    "Index",
    "SignOracle",
    "Signs",
    "cell_table",
    "listed_guess_rates",
    "plus",
    "transform",
    "words",
]

MAX_ORDER = 2**20
"""Largest order of the matrix, because distributions are listed index by index."""


@functools.lru_cache(maxsize=8)
def cell_table(k: int, hashes: int, m: int) -> Array:
    """Cell of every value under every hash function, int array (hashes, k); the functions are
    public and fixed."""
    return np.array([cells(np.arange(k), np.full(k, j, np.uint64), m) for j in range(hashes)])


@kernel
def plus(row: int, index: int) -> bool:
    """Whether a row of the matrix has a plus at an index.

    The numbers of row and index then share an even number of binary ones.
    """
    return ones(np.uint64(row & index)) & 1 == 0


@kernel
def _pluses(values: Array, indices: Array) -> Array:
    out = np.empty((indices.size, values.size), np.bool_)
    for i in range(indices.size):
        for u in range(values.size):
            out[i, u] = plus(values[u] + 1, indices[i])
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
                out[i, u] = 2 * out[i, u] + (not plus(rows[i % len(rows), u], indices[i, j]))
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


def listed_guess_rates(form: Support, supported: Array, sizes: Array, pair: Pair) -> Rates:
    """Rates of a guess, by a sum over all reports of `form`.

    For each report, `supported` tells whether it supports the first value, and `sizes` how many
    values it supports; arrays (outputs,).
    """
    guessed = np.where(sizes > 0, supported / np.maximum(sizes, 1), 1 / form.k)
    return float(form.distribution(pair[0]) @ guessed), float(form.distribution(pair[1]) @ guessed)


@dataclass(frozen=True)
class Index(Support):
    """One index in ``0..order-1``, array (n,), which supports the values whose row has a plus at
    the index.

    Parameters
    ----------
    k, order : int
        Domain size and order of the Hadamard matrix, a power of two above k.
    p, absent : float
        Probabilities that the index lies in the true value's half, and in the other half.
    """

    k: int
    order: int
    p: float
    absent: float
    q = 0.5  # two rows agree at half of the indices
    name, guess_route = "index", "enumerate"
    exact, rounds_exact = True, False

    def read(self, reports: Reports, sender: str) -> Array:
        return checks.values(shaped(reports, (None,), sender), self.order, "reports")

    def supported(self, reports: Array, values: Array) -> Array:
        return _pluses(values, reports)

    def support_counts(self, reports: Array) -> Array:
        counts = np.bincount(reports, minlength=self.order)
        return (len(reports) + transform(counts)[1 : self.k + 1]) // 2

    def guess_rates(self, pair: Pair) -> Rates:
        plus = _pluses(np.array(pair), np.arange(self.order))[:, 0]
        return listed_guess_rates(self, plus, _sizes(self.k, self.order), pair)

    def score_rates(self, threshold: float, pair: Pair) -> Rates:
        return self.p * self.q, self.absent * self.q

    def loss(self, pair: Pair) -> float:
        return log_ratio(self.p, self.absent)

    @property
    def outputs(self) -> int:
        return self.order

    def distribution(self, value: int, positions: Iterable[int] | None = None) -> Array:
        plus = self.supports(self.reports, value)
        return np.where(plus, self.p, self.absent) * 2 / self.order


@dataclass(frozen=True)
class Signs(Structured):
    """A few indices and the signs of a row of the matrix at these indices, structured array (n,)
    with ``indices`` and ``signs``.

    The signs are the binary digits of a number, where a plus is a zero. A report supports the
    values whose rows have exactly these signs.

    Parameters
    ----------
    k, order, t : int
        Domain size, order of the matrix, a power of two, and number of indices.
    p, other : float
        Probability that the signs are those of the true value, and of any other given signs.
    hashes : int
        Number of public hash functions that map a value to its row. Reports then have a field
        ``hash``. Without them, every value has its own row.
    """

    k: int
    order: int
    t: int
    p: float
    other: float
    hashes: int = 0
    name, guess_route = "signs", "enumerate"
    exact, rounds_exact = True, False

    @property
    def columns(self) -> Columns:
        hashes: Columns = {"hash": ("<i8", (), self.hashes)} if self.hashes else {}
        return hashes | {"indices": ("<i8", (self.t,), self.order), "signs": ("<i8", (), 2**self.t)}

    @property
    def table(self) -> Array:
        """Row of every value under every public hash function, int array (functions, k)."""
        if self.hashes:
            return cell_table(self.k, self.hashes, self.order)
        return np.arange(self.k)[None]

    @property
    def width(self) -> int:
        return self.t + 1

    def supported(self, reports: Array, values: Array) -> Array:
        rows = self.table[reports["hash"]] if self.hashes else self.table
        return words(rows[:, values], reports["indices"]) == reports["signs"][:, None]

    @property
    def q(self) -> float:
        """Probability of the signs of another value, under random hash functions if there are
        any."""
        same = 1 / self.order if self.hashes else 0.0  # probability of one row
        return same * self.p + (1 - same) * 0.5**self.t

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
        them. See `ReportType.guess_rates`."""
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
        return float(rates[0] / len(self.table)), float(rates[1] / len(self.table))


# --- mechanisms


@kernel
def _indices(values: Array, order: int, keep: float, uniforms: Array) -> Array:
    """Turn two uniform numbers per user, (n, 2), into an index; int array (n,).

    The index is uniform in the value's half with probability `keep`, otherwise in the other half.
    """
    out = np.empty(values.size, np.int64)
    for i in range(values.size):
        row, index = values[i] + 1, int(uniforms[i, 0] * order)
        if plus(row, index) != (uniforms[i, 1] < keep):
            index ^= row & -row  # flipping the row's lowest one maps each half onto the other
        out[i] = index
    return out


@exact_distribution
@dataclass(frozen=True)
class HR(FrequencyOracle):
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

    @property
    def order(self) -> int:
        """Order of the matrix."""
        return 2 ** math.ceil(math.log2(self.k + 1))

    @cached_property
    def report_type(self) -> Index:
        """One index."""
        return Index(self.k, self.order, *response_rates(2, self.epsilon))

    def perturb(self, values: ArrayLike, rng: Rng) -> Array:
        """Return indices, int array (n,); see `Mechanism.perturb`."""
        values = self._users(values, rng)
        return _indices(values, self.order, self.p, rng.random((values.size, 2)))


class SignOracle(FrequencyOracle):
    """Base of the protocols whose reports are `Signs`."""

    def perturb(self, values: ArrayLike, rng: Rng) -> Array:
        """Return a structured array (n,) with ``indices`` and ``signs``, and with ``hash`` if there
        are hash functions; see `Mechanism.perturb`."""
        values, form = self._users(values, rng), cast(Signs, self.report_type)
        chosen = {"hash": rng.integers(0, form.hashes, values.size)} if form.hashes else {}
        rows = form.table[chosen.get("hash", 0), values]
        indices = rng.integers(0, form.order, (values.size, form.t))
        signs = respond(words(rows[:, None], indices)[:, 0], 2**form.t, form.p, rng)
        return structured(form.form, **chosen, indices=indices, signs=signs)


@exact_distribution
@dataclass(frozen=True)
class HM(SignOracle):
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
    t: Annotated[int, checks.rule(checks.integer, 1, 16), "Number of indices, in [1, 16]."] = 1

    @property
    def order(self) -> int:
        """Order of the matrix."""
        return 2 ** math.ceil(math.log2(self.k))

    @cached_property
    def report_type(self) -> Signs:
        """Indices and signs."""
        return Signs(self.k, self.order, self.t, *response_rates(2**self.t, self.epsilon))
