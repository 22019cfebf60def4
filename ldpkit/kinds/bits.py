"""Reports that are one bit per value: unary encodings and thresholded histograms."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ..compiled import kernel
from ..types import Array, Reports, Rng
from .base import Crafted, Independent, Listed, Repeatable, Support, shaped
from .listing import listed_positions, product_law
from .rounds import ChainedBits, Rounds

__all__ = ["Bits", "IndependentBits", "pick"]


@kernel
def pick(bits: Array, rng: Rng) -> Array:
    """A uniform place of a one in each row, or any place of a row without ones."""
    n, k = bits.shape
    guess, ones = np.empty(n, np.int64), np.empty(k + 1, np.int64)
    for i in range(n):
        count = 0
        for u in range(k):  # every index is written, only ones advance: no branch
            ones[count] = u
            count += bits[i, u] != 0
        guess[i] = ones[int(rng.random() * count)] if count else int(rng.random() * k)
    return guess


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

    def guess(self, reports: Array, rng: Rng) -> Array:
        return pick(reports, rng)

    def tally(self, reports: Array) -> Array:
        return reports

    def support_counts(self, reports: Array) -> Array:
        return reports.sum(axis=0, dtype=np.int64)


@dataclass(frozen=True)
class IndependentBits(Bits, Independent, Repeatable, Listed, Crafted):
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

    def law(self, value: int, positions: Iterable[int] | None = None) -> Array:
        kept = listed_positions(
            positions, self.k, 2, "look at a few `positions` of the record instead"
        )
        rates = np.where(np.equal(kept, value), self.p, self.q)
        return product_law(np.column_stack([1 - rates, rates]))

    def most(self, targets: int) -> int:
        return targets

    def craft(self, targets: int, count: int, rng: Rng, tries: int) -> tuple[Array, int]:
        return np.tile((np.arange(self.k) < targets).astype(np.uint8), (count, 1)), targets

    def repeated(self, tau: int) -> Rounds:
        return Rounds(self, tau)

    def chained(self, tau: int, keep: float, flip: float) -> Rounds:
        """The kind of `tau` noisy copies of one remembered report."""
        return ChainedBits(self, tau, keep, flip)
