"""Count mean sketches: a public hash function maps each value to a cell.

A report has noisy signs of all cells, or one sign of the row that a Hadamard matrix has for the
value's cell.
"""

import functools
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np

from .. import checks
from ..mechanisms.base import Domain, Epsilon, FrequencyOracle, exact_distribution
from ..mechanisms.grr import response_rates
from ..reports.base import Columns, Structured, log_ratio, structured
from ..stats import binomial_window
from ..types import Array, ArrayLike, Pair, Rates, Reports, Rng
from .hadamard import SignOracle, Signs, cell_table

__all__ = ["CMS", "HCMS", "CountMeanSketch", "Sketch"]


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


# --- mechanisms


@dataclass(frozen=True)
class CountMeanSketch(FrequencyOracle):
    """Base of the protocols with public hash functions, whose parameters are those of `CMS`."""

    k: Domain
    epsilon: Epsilon
    m: Annotated[
        int, checks.rule(checks.integer, 2, 2**16), "Length of a report, in [2, 2^16]."
    ] = 64
    hashes: Annotated[
        int, checks.rule(checks.integer, 1, 2**16), "Number of hash functions, in [1, 2^16]."
    ] = 256

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.need(
            self.k * self.hashes <= 2**28,
            f"k times hashes must be at most 2^28, got {self.k} times {self.hashes}",
        )


@exact_distribution
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

    @cached_property
    def report_type(self) -> Sketch:
        """A hash function and signs."""
        return Sketch(self.k, self.hashes, self.m, *response_rates(2, self.epsilon / 2))

    def perturb(self, values: ArrayLike, rng: Rng) -> Array:
        """Return a structured array (n,) with ``hash`` and ``signs``; see `Mechanism.perturb`."""
        values, report_type = self._users(values, rng), self.report_type
        chosen = rng.integers(0, self.hashes, values.size)
        cells = report_type.table[chosen, values, None]
        signs = np.where(np.arange(self.m) == cells, 1, -1)
        sent = np.where(rng.random(signs.shape) < self.p, signs, -signs)
        return structured(report_type.form, hash=chosen, signs=sent)


@exact_distribution
@dataclass(frozen=True)
class HCMS(CountMeanSketch, SignOracle):
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

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.need(self.m.bit_count() == 1, f"m must be a power of two, got {self.m}")

    @cached_property
    def report_type(self) -> Signs:
        """A hash function, an index and a sign."""
        return Signs(self.k, self.m, 1, *response_rates(2, self.epsilon), self.hashes)
