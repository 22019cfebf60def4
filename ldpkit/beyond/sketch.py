"""Count mean sketches: a client hashes the value with one of a few public functions. Then it
perturbs the signs of a one-hot row, or one sign of the row's Hadamard transform."""

import functools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np

from .. import checks
from ..mechanisms.base import Domain, Epsilon, SupportOracle
from ..reports import Support
from ..reports.base import log_ratio, shaped
from ..reports.hashed import cells
from ..stats import binomial_window
from ..types import Array, ArrayLike, Pair, Rates, Reports, Rng
from .hadamard import Signs, answers

__all__ = ["CMS", "HCMS", "CountMeanSketch", "HashedSigns", "Sketch"]


@functools.lru_cache(maxsize=8)
def cell_table(k: int, hashes: int, m: int) -> Array:
    """Cell of every value under every hash function, int array (hashes, k); the functions are
    public and fixed."""
    return np.array([cells(np.arange(k), np.full(k, j, np.uint64), m) for j in range(hashes)])


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
class Sketch(Support):
    """A hash function and m signs, structured array (n,) with ``hash`` and ``signs``; a plus
    supports the values of its cell.

    Parameters
    ----------
    k, hashes, m : int
        Domain size, number of hash functions, and number of cells of a hash function.
    keep : float
        Probability that a sign is sent unchanged.
    """

    k: int
    hashes: int
    m: int
    keep: float
    name = "sketch"
    exact = True
    guess_route = "convolve"

    @property
    def form(self) -> np.dtype[np.void]:
        """Type of one report."""
        return np.dtype([("hash", "<i8"), ("signs", "i1", (self.m,))])

    @property
    def table(self) -> Array:
        """Cell of every value under every hash function, int array (hashes, k)."""
        return cell_table(self.k, self.hashes, self.m)

    @property
    def width(self) -> int:
        return self.m + 1

    def read(self, reports: Reports, sender: str) -> Array:
        reports = shaped(reports, (None,), sender, self.form)
        checks.values(reports["hash"], self.hashes, f"hash functions of {sender}")
        if not (good := np.abs(reports["signs"]) == 1).all():
            raise ValueError(
                f"reports of {sender} must hold signs 1 and -1, got {reports['signs'][~good][0]}"
            )
        return reports

    def supports(self, reports: Array, value: int) -> Array:
        at = self.table[reports["hash"], value]
        return np.take_along_axis(reports["signs"], at[:, None], 1)[:, 0] > 0

    def tally(self, reports: Array) -> Array:
        return np.take_along_axis(reports["signs"], self.table[reports["hash"]], 1) > 0

    def apart(self, pair: Pair) -> float:
        """Share of the hash functions under which two values have different cells."""
        return float(np.mean(self.table[:, pair[0]] != self.table[:, pair[1]]))

    def score_rates(self, threshold: float, pair: Pair) -> Rates:
        return self.apart(pair) * self.keep**2, self.apart(pair) * (1 - self.keep) ** 2

    def loss(self, pair: Pair) -> float:
        return 2 * log_ratio(self.keep, 1 - self.keep) if self.apart(pair) else 0.0

    def guess_rates(self, pair: Pair) -> Rates | None:
        """Sum over all hash functions; ``None`` if they have too many cells. See
        `Named.guess_rates`."""
        if self.hashes * (self.m + self.k) > 2**22:
            return None
        rates, (first, second) = np.zeros(2), pair

        def share(sizes: Array, own: int) -> tuple[float, float]:
            return _mean_share(tuple(np.sort(sizes[sizes > 0]).tolist()), 1 - self.keep, own)

        for row in self.table:
            sizes = np.bincount(row, minlength=self.m)  # number of values in each cell
            first_size, second_size = int(sizes[row[first]]), int(sizes[row[second]])
            sizes[row[first]] = 0
            own, empty = share(sizes, first_size)
            none = (1 - self.keep) * empty / self.k  # no plus in any cell: any guess
            rates[0] += self.keep * own + none
            if row[second] == row[first]:
                rates[1] += self.keep * own + none
                continue
            sizes[row[second]] = 0
            with_other, _ = share(sizes, first_size + second_size)
            without, empty = share(sizes, first_size)
            rates[1] += (1 - self.keep) * (self.keep * with_other + (1 - self.keep) * without)
            rates[1] += self.keep * (1 - self.keep) * empty / self.k
        return float(rates[0] / self.hashes), float(rates[1] / self.hashes)


class CountMeanSketch(SupportOracle):
    """Base of the protocols with public hash functions."""

    if TYPE_CHECKING:

        @property
        def m(self) -> int:
            """Number of cells of a hash function."""

        @property
        def hashes(self) -> int:
            """Number of hash functions."""

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.need(
            self.k * self.hashes <= 2**28,
            f"k times hashes must be at most 2^28, got {self.k} times {self.hashes}",
        )


@dataclass(frozen=True)
class CMS(CountMeanSketch):
    """Count mean sketch: a public hash function, and a one-hot row of independently flipped signs.

    Parameters
    ----------
    k : int
        Domain size, at least 2.
    epsilon : float
        Privacy budget, in [1e-6, 30].
    m : int
        Number of cells of a hash function, in [2, 2^16].
    hashes : int
        Number of hash functions, in [1, 2^16].

    Notes
    -----
    A user samples a hash function, and sets the sign of the value's cell to plus and all other
    signs to minus. Every sign is sent unchanged with probability ``s = 1 / (1 + e^(-eps/2))``
    (Apple's differential privacy team 2017). The event "plus in the first value's cell and minus in
    the second's" attains the ratio ``e^eps``, if the two cells differ. The functions are public and
    fixed. Exact distributions are for these functions, including their collisions. Estimates are
    unbiased over the choice of the functions. Apple uses 65,536 functions of 1,024 cells.
    """

    k: Domain
    epsilon: Epsilon
    m: Annotated[int, checks.rule(checks.integer, 2, 2**16)] = 64
    hashes: Annotated[int, checks.rule(checks.integer, 1, 2**16)] = 256
    name = "CMS"
    exact = True

    @property
    def p(self) -> float:
        """Probability of a plus in the true value's cell."""
        return 1 / (1 + math.exp(-self.epsilon / 2))

    @property
    def q(self) -> float:
        """Probability of a plus in the cell of another value under a random hash function."""
        return self.p / self.m + (1 - self.p) * (1 - 1 / self.m)

    @property
    def report_type(self) -> Sketch:
        """A hash function and signs."""
        return Sketch(self.k, self.hashes, self.m, self.p)

    def perturb(self, values: ArrayLike, rng: Rng) -> Array:
        """Return a structured array (n,) with ``hash`` and ``signs``; see `Mechanism.perturb`."""
        values, report_type = self._users(values, rng), self.report_type
        reports = np.empty(values.size, report_type.form)
        reports["hash"] = rng.integers(0, self.hashes, values.size)
        cell = report_type.table[reports["hash"], values]
        signs = np.where(np.arange(self.m) == cell[:, None], 1, -1)
        reports["signs"] = np.where(rng.random(signs.shape) < self.p, signs, -signs)
        return reports


@dataclass(frozen=True)
class HashedSigns(Signs):
    """A hash function, one index, and the sign at this index of the Hadamard row that belongs to
    the value's cell; structured array (n,) with ``hash``, ``indices`` and ``signs``.

    Parameters
    ----------
    hashes : int
        Number of hash functions.
    """

    hashes: int

    @property
    def form(self) -> np.dtype[np.void]:
        """Type of one report."""
        return np.dtype([("hash", "<i8"), *super().form.descr])

    @property
    def table(self) -> Array:
        """Cell of every value under every hash function, int array (hashes, k)."""
        return cell_table(self.k, self.hashes, self.order)

    def rows(self, reports: Array) -> Array:
        return self.table[reports["hash"]]

    def read(self, reports: Reports, sender: str) -> Array:
        reports = super().read(reports, sender)
        checks.values(reports["hash"], self.hashes, f"hash functions of {sender}")
        return reports


@dataclass(frozen=True)
class HCMS(CountMeanSketch):
    """Hadamard count mean sketch: a public hash function, and one sign of the transformed one-hot
    row.

    Parameters
    ----------
    k : int
        Domain size, at least 2.
    epsilon : float
        Privacy budget, in [1e-6, 30].
    m : int
        Number of cells of a hash function, a power of two in [2, 2^16].
    hashes : int
        Number of hash functions, in [1, 2^16].

    Notes
    -----
    A user samples a hash function and an index. The value's cell is the number of a row of a
    Hadamard matrix; the row's sign at the index is sent unchanged with probability ``s = 1 / (1 +
    e^-eps)``. A report is one bit instead of the m bits of `CMS`, with twice the budget per bit
    (Apple's differential privacy team 2017). The event "the sign of the first value and not of the
    second" attains the ratio ``e^eps``, if the two cells differ. The functions are public and
    fixed, as in `CMS`.
    """

    k: Domain
    epsilon: Epsilon
    m: Annotated[int, checks.rule(checks.integer, 2, 2**16)] = 64
    hashes: Annotated[int, checks.rule(checks.integer, 1, 2**16)] = 256
    name = "HCMS"
    exact = True

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.need(self.m.bit_count() == 1, f"m must be a power of two, got {self.m}")

    @property
    def p(self) -> float:
        """Probability of the true value's sign."""
        return 1 / (1 + math.exp(-self.epsilon))

    @property
    def q(self) -> float:
        """Probability of the sign of another value under a random hash function."""
        return self.p / self.m + (1 - 1 / self.m) / 2

    @property
    def report_type(self) -> HashedSigns:
        """A hash function, an index and a sign."""
        return HashedSigns(self.k, self.m, 1, self.p, self.hashes)

    def perturb(self, values: ArrayLike, rng: Rng) -> Array:
        """Return a structured array (n,) with ``hash``, ``indices`` and ``signs``; see
        `Mechanism.perturb`."""
        values, report_type = self._users(values, rng), self.report_type
        reports = np.empty(values.size, report_type.form)
        reports["hash"] = rng.integers(0, self.hashes, values.size)
        reports["indices"] = rng.integers(0, self.m, (values.size, 1))
        cell = report_type.table[reports["hash"], values]
        reports["signs"] = answers(cell, reports["indices"], self.p, rng)
        return reports
