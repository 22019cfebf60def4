"""Reports about rows of a Hadamard matrix, and sketches, whose rows belong to hashed values."""

import functools
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from .. import checks
from ..jit import kernel
from ..reports.base import Columns, Structured, Support, log_ratio, ones, shaped
from ..reports.values import cells
from ..stats import binomial_window
from ..types import Array, Pair, Rates, Reports

__all__ = ["Index", "Signs", "Sketch", "cell_table", "plus", "transform", "words"]


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
        plus, sizes = _pluses(np.array(pair), np.arange(self.order)), _sizes(self.k, self.order)
        guessed = np.where(sizes > 0, plus[:, 0] / np.maximum(sizes, 1), 1 / self.k)
        first, second = (float(self.distribution(value) @ guessed) for value in pair)
        return first, second

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
        tpr, fpr = rates / len(self.table)
        return float(tpr), float(fpr)


# cached by the sizes of cells, because many hash functions have cells of the same sizes
@functools.lru_cache(maxsize=2**12)
def _mean_share(occupied: tuple[int, ...], chance: float, own: int) -> tuple[float, float]:
    """Return ``E[1 / (own + size)]`` and the probability that ``size`` is 0, where each cell of
    `occupied` values contributes its values to ``size`` with probability `chance`."""
    distribution = np.ones(1)
    for values, repeats in zip(*np.unique(np.array(occupied, int), return_counts=True)):
        counts, mass = binomial_window(int(repeats), chance, width=12.0)
        spread = np.zeros(int(values * counts[-1]) + 1)
        spread[values * counts] = mass
        distribution = np.convolve(distribution, spread)
    sizes = own + np.arange(distribution.size)
    inverse = (distribution[sizes > 0] / sizes[sizes > 0]).sum()
    return float(inverse), float(distribution[0])


@dataclass(frozen=True)
class Sketch(Structured):
    """A hash function and m signs, structured array (n,) with ``hash`` and ``signs``; a plus
    supports the values of its cell.

    Parameters
    ----------
    k, hashes, m : int
        Domain size, number of hash functions, and number of cells of a hash function.
    p, absent : float
        Probabilities that a sign is sent unchanged, and that it is flipped.
    """

    k: int
    hashes: int
    m: int
    p: float
    absent: float
    name, exact, guess_route = "sketch", True, "convolve"

    @property
    def columns(self) -> Columns:
        return {"hash": ("<i8", (), self.hashes), "signs": ("i1", (self.m,), None)}

    @property
    def table(self) -> Array:
        """Cell of every value under every hash function, int array (hashes, k)."""
        return cell_table(self.k, self.hashes, self.m)

    @property
    def width(self) -> int:
        return self.m + 1

    @property
    def q(self) -> float:
        """Probability of a plus in the cell of another value under a random hash function."""
        return self.p / self.m + self.absent * (1 - 1 / self.m)

    def read(self, reports: Reports, sender: str) -> Array:
        reports = super().read(reports, sender)
        signs = reports["signs"]
        checks.every(np.abs(signs) == 1, signs, f"reports of {sender} must hold signs 1 and -1")
        return reports

    def supported(self, reports: Array, values: Array) -> Array:
        at = self.table[reports["hash"][:, None], values]
        return np.take_along_axis(reports["signs"], at, 1) > 0

    def apart(self, pair: Pair) -> float:
        """Share of the hash functions under which two values have different cells."""
        return float(np.mean(self.table[:, pair[0]] != self.table[:, pair[1]]))

    def score_rates(self, threshold: float, pair: Pair) -> Rates:
        return self.apart(pair) * self.p**2, self.apart(pair) * self.absent**2

    def loss(self, pair: Pair) -> float:
        return 2 * log_ratio(self.p, self.absent) if self.apart(pair) else 0.0

    def guess_rates(self, pair: Pair) -> Rates | None:
        """Sum over all hash functions; ``None`` if they have too many cells. See
        `ReportType.guess_rates`."""
        if self.hashes * (self.m + self.k) > 2**22:
            return None
        rates, (first, second) = np.zeros(2), pair

        def share(sizes: Array, own: int) -> tuple[float, float]:
            return _mean_share(tuple(np.sort(sizes[sizes > 0]).tolist()), self.absent, own)

        for row in self.table:
            sizes = np.bincount(row, minlength=self.m)  # number of values in each cell
            first_size, second_size = int(sizes[row[first]]), int(sizes[row[second]])
            sizes[row[first]] = 0
            own, empty = share(sizes, first_size)
            none = self.absent * empty / self.k  # no plus in any cell: any guess
            rates[0] += self.p * own + none
            if row[second] == row[first]:
                rates[1] += self.p * own + none
                continue
            sizes[row[second]] = 0
            with_other, _ = share(sizes, first_size + second_size)
            without, empty = share(sizes, first_size)
            rates[1] += self.absent * (self.p * with_other + self.absent * without)
            rates[1] += self.p * self.absent * empty / self.k
        return float(rates[0] / self.hashes), float(rates[1] / self.hashes)
