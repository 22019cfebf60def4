"""Count mean sketches: hash the value with one of a few public functions, and flip the signs of a
one-hot row, or one sign of its Hadamard transform."""

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


@functools.lru_cache(
    maxsize=2**12
)  # hash functions differ in which values share a cell, less in how many do
def _mean_share(crowds: tuple[int, ...], chance: float, own: int) -> tuple[float, float]:
    """``E[1 / (own + size)]`` and the chance that the rest is empty, where cells of `crowds` values
    count with a chance."""
    law = np.ones(1)
    for crowd, many in zip(*np.unique(np.array(crowds, int), return_counts=True)):
        counts, mass = binomial_window(int(many), chance, width=12.0)
        spread = np.zeros(int(crowd * counts[-1]) + 1)
        spread[crowd * counts] = mass
        law = np.convolve(law, spread)
    sizes = own + np.arange(law.size)
    return float((law[sizes > 0] / sizes[sizes > 0]).sum()), float(law[0])


@dataclass(frozen=True)
class Sketch(Support):
    """A hash function and m signs, structured array (n,) with ``hash`` and ``signs``; a plus
    supports the values of its cell.

    Parameters
    ----------
    k, hashes, m : int
        Domain size, number of hash functions, and of their cells.
    keep : float
        Probability that a sign is sent as it is.
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
        """Share of the hash functions that tell two values apart."""
        return float(np.mean(self.table[:, pair[0]] != self.table[:, pair[1]]))

    def score_rates(self, threshold: float, pair: Pair) -> Rates:
        return self.apart(pair) * self.keep**2, self.apart(pair) * (1 - self.keep) ** 2

    def loss(self, pair: Pair) -> float:
        return 2 * log_ratio(self.keep, 1 - self.keep) if self.apart(pair) else 0.0

    def guess_rates(self, pair: Pair) -> Rates | None:
        """Exact over all hash functions; ``None`` where their cells are too many to be gone
        through."""
        if self.hashes * (self.m + self.k) > 2**22:
            return None
        rates, (first, second) = np.zeros(2), pair

        def share(crowds: Array, own: int) -> tuple[float, float]:
            return _mean_share(tuple(np.sort(crowds[crowds > 0]).tolist()), 1 - self.keep, own)

        for row in self.table:
            crowds = np.bincount(row, minlength=self.m)
            here, there, one = int(crowds[row[first]]), int(crowds[row[second]]), row[first]
            crowds[row[first]] = 0
            own, empty = share(crowds, here)
            none = (1 - self.keep) * empty / self.k  # no plus anywhere: any value
            rates[0] += self.keep * own + none
            if row[second] == one:
                rates[1] += self.keep * own + none
                continue
            crowds[row[second]] = 0
            with_other, _ = share(crowds, here + there)
            without, empty = share(crowds, here)
            rates[1] += (1 - self.keep) * (self.keep * with_other + (1 - self.keep) * without)
            rates[1] += self.keep * (1 - self.keep) * empty / self.k
        return float(rates[0] / self.hashes), float(rates[1] / self.hashes)


class CountMeanSketch(SupportOracle):
    """Base of the protocols with public hash functions."""

    if TYPE_CHECKING:

        @property
        def m(self) -> int:
            """Cells of a hash function."""

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
    """Count mean sketch: a public hash function, and a one-hot row of signs, each flipped
    independently.

    Parameters
    ----------
    k : int
        Domain size, at least 2.
    epsilon : float
        Privacy budget, in [1e-6, 30].
    m : int
        Cells of a hash function, in [2, 2^16].
    hashes : int
        Number of hash functions, in [1, 2^16].

    Notes
    -----
    A user draws a function, sets the sign of the value's cell to plus and all others to minus, and
    sends every sign as it is with probability ``s = 1 / (1 + e^(-eps/2))``. "Plus in the first
    value's cell and minus in the second's" attains ``e^eps`` where the function tells them apart
    (Apple's differential privacy team 2017). The functions are public and fixed: laws are for just
    these, their collisions included; estimates are unbiased over the choice of the functions. Apple
    takes 65,536 functions of 1,024 cells.
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
        values, kind = self._users(values, rng), self.report_type
        reports = np.empty(values.size, kind.form)
        reports["hash"] = rng.integers(0, self.hashes, values.size)
        signs = np.where(np.arange(self.m) == kind.table[reports["hash"], values][:, None], 1, -1)
        reports["signs"] = np.where(rng.random(signs.shape) < self.p, signs, -signs)
        return reports


@dataclass(frozen=True)
class HashedSigns(Signs):
    """A hash function, one index, and the sign there of the Hadamard row of the value's cell:
    structured array (n,) with ``hash`` too.

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
        Cells of a hash function, a power of two in [2, 2^16].
    hashes : int
        Number of hash functions, in [1, 2^16].

    Notes
    -----
    A user draws a function and an index, takes the sign there of the row of a Hadamard matrix that
    the value's cell names, and sends it as it is with probability ``s = 1 / (1 + e^-eps)``: one bit
    where `CMS` sends m, at twice the budget a bit (Apple's differential privacy team 2017). "The
    sign of the first value and not of the second" attains ``e^eps`` where the function tells them
    apart. The functions are public and fixed, as in `CMS`.
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
        values, kind = self._users(values, rng), self.report_type
        reports = np.empty(values.size, kind.form)
        reports["hash"] = rng.integers(0, self.hashes, values.size)
        reports["indices"] = rng.integers(0, self.m, (values.size, 1))
        cell = kind.table[reports["hash"], values]
        reports["signs"] = answers(cell, reports["indices"], self.p, rng)
        return reports
