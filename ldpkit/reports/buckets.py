"""Reports of flipped bits of a few sampled buckets: dBitFlipPM."""

from dataclasses import dataclass

import numpy as np

from .. import checks
from ..exact import mean_reciprocal
from ..types import Array, Pair, Rates, Reports, Rng
from .base import ReportType, log_ratio, pick, shaped

__all__ = ["Buckets"]


@dataclass(frozen=True)
class Buckets(ReportType):
    """Bits of the sampled buckets, int8 array (n, buckets), -1 where a bucket was not sampled.

    Parameters
    ----------
    k, buckets, bits : int
        Domain size, number of buckets of equal size, and number of buckets that each user samples.
    p, q : float
        Probability of a one at the true bucket, and at any other, if sampled.
    """

    k: int
    buckets: int
    bits: int
    p: float
    q: float
    name = "buckets"
    exact = True

    @property
    def size(self) -> int:
        """Values per bucket."""
        return self.k // self.buckets

    @property
    def width(self) -> int:
        return self.buckets

    def read(self, reports: Reports, sender: str) -> Array:
        reports = shaped(reports, (None, self.buckets), sender)
        checks.need(
            np.isin(reports, (-1, 0, 1)).all() and ((reports >= 0).sum(axis=1) == self.bits).all(),
            f"reports of {sender} must each hold {self.bits} bits, and -1 in all other buckets",
        )
        return reports

    def check(self, pair: Pair) -> None:
        """Raise ``ValueError`` for two values of one bucket, which have the same distribution."""
        checks.need(
            pair[0] // self.size != pair[1] // self.size,
            f"pair must lie in two different buckets of {self.size} values, got {pair}",
        )

    def guess(self, reports: Array, rng: Rng) -> Array:
        """A uniform value of a uniform bucket among those whose bit is one, or among all buckets if
        there is none; int array (n,)."""
        bucket = pick((reports == 1).astype(np.uint8), rng)
        return bucket * self.size + rng.integers(0, self.size, len(bucket))

    def score(self, reports: Array, pair: Pair) -> Array:
        """1 if only the first value's bucket shows a one, -1 if only the second's does, else 0; int
        array (n,)."""
        one, two = ((reports[:, value // self.size] == 1).astype(np.int8) for value in pair)
        return one - two

    def guess_rates(self, pair: Pair) -> Rates:
        share, p, q, bits = self.bits / self.buckets, self.p, self.q, self.bits
        inside = share * p * mean_reciprocal(bits - 1, q)
        empty = share * (1 - p) * (1 - q) ** (bits - 1) + (1 - share) * (1 - q) ** bits
        success = (inside + empty / self.buckets) / self.size
        return success, (1 - success * self.size) / ((self.buckets - 1) * self.size)

    def score_rates(self, threshold: float, pair: Pair) -> Rates:
        p, q, share = self.p, self.q, self.bits / self.buckets
        both = self.bits * (self.bits - 1) / (self.buckets * (self.buckets - 1))
        return share * p - both * p * q, share * q - both * p * q

    def loss(self, pair: Pair) -> float:
        own = log_ratio(self.p, self.q)  # with two bits, both buckets of the pair may be sampled
        return own if self.bits == 1 else own + log_ratio(1 - self.q, 1 - self.p)
