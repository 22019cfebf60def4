"""Reports about several attributes: one attribute is sampled and reported truly, the others are
fake."""

import functools
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import scipy

from .. import checks
from ..types import Array, Pair, Rates, Reports, Rng
from .base import FIRST, SECOND, ExactSupport, ReportType, listed

__all__ = ["Attributes"]

_SWAP = [SECOND, FIRST, 2, 3]


@dataclass(frozen=True)
class Attributes(ReportType):
    """A list of arrays, one per attribute; the sampled attribute, which depends on the record, is
    secret.

    Parameters
    ----------
    parts : tuple of ExactSupport
        Report type of each attribute if it is the sampled one.
    fake : tuple of 4 floats
        Probabilities of the symbols of `ExactSupport.pair_distribution` in a fake report.
    """

    parts: tuple[ExactSupport, ...]
    fake: tuple[float, float, float, float]
    name = "tuple"
    exact = True
    score_route = "enumerate"

    @property
    def k(self) -> int:  # type: ignore[override]  # the values that every attribute has
        return min(self.sizes)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Domain size of each attribute."""
        return tuple(part.k for part in self.parts)

    @property
    def width(self) -> int:
        return sum(self.sizes)

    def read(self, reports: Reports, sender: str) -> list[Array]:
        return listed(reports, self.parts, "components", sender)

    def guess(self, reports: list[Array], rng: Rng) -> Array:
        """The guess from the report on one attribute, which is chosen uniformly for each user."""
        guesses = [part.guess(r, rng) for part, r in zip(self.parts, reports)]
        return np.choose(rng.integers(0, len(guesses), len(guesses[0])), guesses)

    def score(self, reports: list[Array], pair: Pair) -> Array:
        """Likelihood ratio of the whole report; float array (n,)."""
        symbols = np.stack([part.symbols(r, pair) for part, r in zip(self.parts, reports)])
        return _ratio(self, [(symbols == s).sum(axis=0) for s in range(4)])

    def guess_rates(self, pair: Pair) -> Rates:
        d = len(self.parts)
        successes = [part.success() / d + (1 - 1 / d) / part.k for part in self.parts]
        others = [(1 - success) / (size - 1) for success, size in zip(successes, self.sizes)]
        return float(np.mean(successes)), float(np.mean(others))

    def thresholds(self) -> Array:
        checks.need(
            len(set(self.sizes)) == 1,
            f"k must be the same for all attributes in the tight test, got k = {self.sizes}",
        )
        return np.unique(_ratio_distribution(self)[0])

    def score_rates(self, threshold: float, pair: Pair) -> Rates:
        ratio, one, two = _ratio_distribution(self)
        inside = ratio >= threshold
        return min(1.0, float(one[inside].sum())), min(1.0, float(two[inside].sum()))

    def loss(self, pair: Pair) -> float:
        return float(np.log(self.thresholds().max()))

    def _weights(self) -> Array:
        """Probabilities of the sampled report's symbols under either input, divided by those of a
        fake report, shape (2, 4)."""
        sampled, fake = np.asarray(self.parts[0].pair_distribution()), np.array(self.fake)
        base = np.array([sampled, sampled[_SWAP]])
        return np.divide(base, fake, out=np.zeros((2, 4)), where=fake > 0)


def _ratio(report_type: Attributes, counts: Iterable[Array]) -> Array:
    """Likelihood ratio of reports with these counts of each symbol, in the order of `fake`."""
    one, two = (sum(n * w for n, w in zip(counts, side)) for side in report_type._weights())
    return np.round(one / two, 12)  # makes ratios equal that differ by the order of summation only


@functools.lru_cache(maxsize=64)
def _fakes(report_type: Attributes, n: int) -> tuple[Array, Array]:
    """Possible counts of the symbols in n fake components, shape (counts, 4), and the multinomial
    probability of each."""
    fake = np.array(report_type.fake)
    counts = np.array([(a, b, c, n - a - b - c) for a in range(n + 1) for b in range(n + 1 - a)
                       for c in range(n + 1 - a - b)])  # fmt: skip
    counts = counts[((fake > 0) | (counts == 0)).all(axis=1)]
    ways = scipy.special.gammaln(n + 1) - scipy.special.gammaln(counts + 1).sum(axis=1)
    return counts, np.exp(ways + counts @ np.log(fake, out=np.zeros(4), where=fake > 0))


@functools.lru_cache(maxsize=64)
def _ratio_distribution(report_type: Attributes) -> tuple[Array, Array, Array]:
    """Likelihood ratios of all symbol counts, and their probabilities under either input."""
    d = len(report_type.parts)
    counts, mass = _fakes(report_type, d)
    one, two = (mass * (counts @ side) / d for side in report_type._weights())
    return _ratio(report_type, counts.T), one, two
