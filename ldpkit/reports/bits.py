"""Reports of one bit per value: unary encodings and thresholded histograms."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ..exact import binomial, count_wins
from ..types import Array, Pair, Reports, Rng
from .base import Independent, Support, shaped, won
from .listing import listed_positions, product_distribution

__all__ = ["Bits", "IndependentBits", "ChainedBits"]


@dataclass(frozen=True)
class Bits(Support):
    """One bit per value, uint8 array (n, k); a one supports its value."""

    k: int
    name = "bits"

    def read(self, reports: Reports, sender: str) -> Array:
        reports = shaped(reports, (None, self.k), sender)
        if (reports.dtype.kind not in "bu" or reports.max() > 1) and not (
            good := np.isin(reports, (0, 1))
        ).all():
            raise ValueError(f"reports of {sender} must hold only 0 and 1, got {reports[~good][0]}")
        return reports

    def supports(self, reports: Array, value: int) -> Array:
        return reports[:, value] != 0

    def tally(self, reports: Array) -> Array:
        return reports


@dataclass(frozen=True)
class IndependentBits(Bits, Independent):
    """Independent bits: a one at the true value with probability `p`, at any other with probability
    `q`."""

    p: float
    q: float

    @property
    def outputs(self) -> int:
        return 2**self.k

    @property
    def reports(self) -> Array:
        return (np.arange(self.outputs)[:, None] >> np.arange(self.k)[::-1] & 1).astype(np.uint8)

    def distribution(self, value: int, positions: Iterable[int] | None = None) -> Array:
        kept = listed_positions(
            positions, self.k, 2, "look at a few `positions` of the record instead"
        )
        rates = np.where(np.equal(kept, value), self.p, self.q)
        return product_distribution(np.column_stack([1 - rates, rates]))

    def most(self, targets: int) -> int:
        return targets

    def craft(self, targets: int, count: int, rng: Rng, tries: int) -> tuple[Array, int]:
        return np.tile((np.arange(self.k) < targets).astype(np.uint8), (count, 1)), targets


@dataclass(frozen=True)
class ChainedBits(IndependentBits):
    """Flipped copies of memoised bits, which are the same in all rounds: a round reports a one for
    a memoised one with probability `keep`, and for a memoised zero with probability `flip`.

    Parameters
    ----------
    k, p, q
        As in `IndependentBits`, for one round.
    memo : IndependentBits
        The memoised bits.
    """

    memo: IndependentBits
    keep: float
    flip: float

    def rounds_success(self, tau: int) -> float:
        ones, zeros = binomial(tau, self.keep), binomial(tau, self.flip)
        own, other = (rate * ones + (1 - rate) * zeros for rate in (self.memo.p, self.memo.q))
        return won(own, count_wins(other, self.k))

    def states(self, pair: Pair) -> list[tuple[float, float, float]]:
        p, q, rate = self.memo.p, self.memo.q, {1: self.keep, 0: self.flip}
        return [(pa * pb, rate[a] * (1 - rate[b]), rate[b] * (1 - rate[a]))
                for a, pa in ((1, p), (0, 1 - p)) for b, pb in ((1, q), (0, 1 - q))]  # fmt: skip
