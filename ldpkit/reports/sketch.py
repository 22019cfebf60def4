"""Reports of a public hash function, and signs that depend on the value's cell: sketches."""

import functools
from dataclasses import dataclass

import numpy as np

from .. import checks
from ..stats import binomial_window
from ..types import Array, Pair, Rates, Reports
from .base import Support, log_ratio, shaped
from .hadamard import Signs
from .hashed import cell_table

__all__ = ["HashedSigns", "Sketch"]


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
        `ReportType.guess_rates`."""
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
