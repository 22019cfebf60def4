"""Reports about several attributes, of which one was sampled and the others are made up."""

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy

from .. import checks
from ..types import Array, Pair, Rates, Reports, Rng
from .base import FIRST, SECOND, ExactSupport, Named, Scored, listed

__all__ = ["Attributes"]

_SWAP = [SECOND, FIRST, 2, 3]


@dataclass(frozen=True)
class Attributes(Named, Scored):
    """A list of arrays, one per attribute: one of them is about the record, nobody knows which.

    Parameters
    ----------
    parts : tuple of ExactSupport
        ReportType of each attribute's report if it is the sampled one.
    fake : tuple of 4 floats
        Probabilities of the symbols of `ExactSupport.pair_law` that a made-up report shows.
    """

    parts: tuple[ExactSupport, ...]
    fake: tuple[float, float, float, float]
    name = "tuple"
    exact = True
    extreme: ClassVar[float | None] = None
    score_route: ClassVar[str] = "enumerate"

    @property
    def k(self) -> int:  # type: ignore[override]  # values below it exist in every attribute
        return self.domain

    @property
    def sizes(self) -> tuple[int, ...]:
        """Domain size of each attribute."""
        return tuple(part.k for part in self.parts)

    @property
    def domain(self) -> int:
        return min(self.sizes)

    @property
    def width(self) -> int:
        return sum(self.sizes)

    def read(self, reports: Reports, sender: str) -> list[Array]:
        return listed(reports, self.parts, "components", sender)

    def guess(self, reports: list[Array], rng: Rng) -> Array:
        """The guess from the report on an attribute that is picked at random."""
        guesses = [part.guess(r, rng) for part, r in zip(self.parts, reports)]
        return np.choose(rng.integers(0, len(guesses), len(guesses[0])), guesses)

    def score(self, reports: list[Array], pair: Pair) -> Array:
        """Likelihood ratio of the whole report; float array (n,)."""
        symbols = np.stack([part.symbols(r, pair) for part, r in zip(self.parts, reports)])
        return _ratio(self, [(symbols == s).sum(axis=0) for s in range(4)])

    def guess_rates(self, pair: Pair) -> Rates:
        d = len(self.parts)
        shares = [part.success() / d + (1 - 1 / d) / part.k for part in self.parts]
        return float(np.mean(shares)), float(
            np.mean([(1 - a) / (size - 1) for a, size in zip(shares, self.sizes)])
        )

    def thresholds(self) -> Array:
        checks.need(
            len(set(self.sizes)) == 1,
            f"the tight test needs equal domain sizes of all attributes, got k = {self.sizes}",
        )
        return np.unique(_law(self)[0])

    def score_rates(self, threshold: float, pair: Pair) -> Rates:
        ratio, one, two = _law(self)
        inside = ratio >= threshold
        return min(1.0, float(one[inside].sum())), min(1.0, float(two[inside].sum()))

    def loss(self, pair: Pair) -> float:
        return float(np.log(self.thresholds().max()))

    def _weights(self) -> Array:
        """Laws of the sampled report's symbol under either input, in units of that of a made-up
        one, shape (2, 4)."""
        law, fake = np.asarray(self.parts[0].pair_law()), np.array(self.fake)
        base = np.array([law, law[_SWAP]])
        return np.divide(base, fake, out=np.zeros((2, 4)), where=fake > 0)


def _ratio(kind: Attributes, counts: Iterable[Array] | Sequence[Array]) -> Array:
    """Likelihood ratio of tuples with so many components of each symbol."""
    one, two = (sum(n * w for n, w in zip(counts, side)) for side in kind._weights())
    return np.round(one / two, 12)  # equal ratios must compare equal, however they were summed


@functools.lru_cache(maxsize=64)
def _fakes(kind: Attributes, n: int) -> tuple[Array, Array]:
    """How many of n fake components can show each symbol, and the multinomial probability of every
    such count."""
    law = np.array(kind.fake)
    counts = np.array([(a, b, c, n - a - b - c) for a in range(n + 1) for b in range(n + 1 - a)
                       for c in range(n + 1 - a - b)])  # fmt: skip
    counts = counts[((law > 0) | (counts == 0)).all(axis=1)]
    ways = scipy.special.gammaln(n + 1) - scipy.special.gammaln(counts + 1).sum(axis=1)
    return counts, np.exp(ways + counts @ np.log(law, out=np.zeros(4), where=law > 0))


@functools.lru_cache(maxsize=64)
def _law(kind: Attributes) -> tuple[Array, Array, Array]:
    """Ratios of all symbol counts, and their probabilities under either input."""
    counts, mass = _fakes(kind, len(kind.parts))
    one, two = (mass * (counts @ side) / len(kind.parts) for side in kind._weights())
    return _ratio(kind, counts.T), one, two
