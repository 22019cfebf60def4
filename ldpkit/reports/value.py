"""Reports of one value: generalised randomised response."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from .. import checks
from ..exact import binomial, response_wins
from ..types import Array, Pair, Reports, Rng
from .base import ExactSupport, Support, shaped, won

__all__ = ["Value", "Response", "ChainedResponse"]


@dataclass(frozen=True)
class Value(Support):
    """One integer in ``0..k-1``, array (n,); a report supports itself only."""

    k: int
    name = "value"

    def read(self, reports: Reports, sender: str) -> Array:
        return checks.values(shaped(reports, (None,), sender), self.k, "reports")

    def supports(self, reports: Array, value: int) -> Array:
        return reports == value

    def guess(self, reports: Array, rng: Rng) -> Array:
        return reports

    def tally(self, reports: Array) -> Array:
        return reports[:, None] == np.arange(self.k)

    def support_counts(self, reports: Array) -> Array:
        return np.bincount(reports, minlength=self.k)


@dataclass(frozen=True)
class Response(Value, ExactSupport):
    """The true value with probability `p`, each other value with probability `q`."""

    p: float
    q: float

    def pair_distribution(self) -> Array:
        return np.array([self.p, self.q, 0, max(0.0, 1 - self.p - self.q)])

    def success(self) -> float:
        return self.p

    def rounds_success(self, tau: int) -> float:
        return won(binomial(tau, self.p), response_wins(self.k, tau))

    @property
    def outputs(self) -> int:
        return self.k

    @property
    def reports(self) -> Array:
        return np.arange(self.k)

    def distribution(self, value: int, positions: Iterable[int] | None = None) -> Array:
        return np.where(self.reports == value, self.p, self.q)

    def most(self, targets: int) -> int:
        return 1

    def craft(self, targets: int, count: int, rng: Rng, tries: int) -> tuple[Array, int]:
        return rng.integers(0, targets, count), 1


@dataclass(frozen=True)
class ChainedResponse(Response):
    """A response to a memoised response, which is the same in all rounds: each round reports the
    memoised value with probability `keep`, and each other value with probability `flip`.

    Parameters
    ----------
    k, p, q
        As in `Response`, for one round.
    memo : Response
        The memoised response.
    """

    memo: Response
    keep: float
    flip: float

    def rounds_success(self, tau: int) -> float:
        kept = Response(self.k, self.keep, self.flip).rounds_success(tau)
        return self.memo.p * kept + (1 - self.memo.p) * (1 - kept) / (self.k - 1)

    def states(self, pair: Pair) -> list[tuple[float, float, float]]:
        p, q = self.memo.p, self.memo.q
        return [  # the memoised value is the first of the pair, the second, or a third value
            (p, self.keep, self.flip),
            (q, self.flip, self.keep),
            (max(0.0, 1 - p - q), self.flip, self.flip),
        ]
