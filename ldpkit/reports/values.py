"""Reports of one value, of a bit per value, and of a set of values."""

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from .. import checks
from ..exact import binomial, response_wins
from ..types import Array, Reports, Rng
from .base import (
    ExactSupport,
    Independent,
    Support,
    alphabet,
    listed_positions,
    product_distribution,
    shaped,
    won,
)

__all__ = ["Value", "Response", "Bits", "IndependentBits", "Subset", "Selection"]


@dataclass(frozen=True)
class Value(Support):
    """One integer in ``0..k-1``, array (n,); a report supports itself only."""

    k: int
    name = "value"

    def read(self, reports: Reports, sender: str) -> Array:
        return checks.values(shaped(reports, (None,), sender), self.k, "reports")

    def supported(self, reports: Array, values: Array) -> Array:
        return reports[:, None] == values

    def guess(self, reports: Array, rng: Rng) -> Array:
        return reports

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

    def distribution(self, value: int, positions: Iterable[int] | None = None) -> Array:
        return np.where(self.reports == value, self.p, self.q)

    def most(self, targets: int) -> int:
        return 1

    def craft(self, targets: int, count: int, rng: Rng, tries: int) -> tuple[Array, int]:
        return rng.integers(0, targets, count), 1


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

    def supported(self, reports: Array, values: Array) -> Array:
        return reports[:, values] != 0

    def tally(self, reports: Array) -> Array:
        return reports  # without a copy


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
class Subset(Support):
    """Distinct values, integer array (n, w) in the order in which they were sent, padded with -1; a
    report supports the values in it."""

    k: int
    name, ordered = "subset", True

    def read(self, reports: Reports, sender: str) -> Array:
        reports = shaped(reports, (None, None), sender)
        return checks.values(reports.ravel(), self.k, "reports").reshape(reports.shape)

    def supported(self, reports: Array, values: Array) -> Array:
        return np.stack([(reports == value).any(axis=1) for value in values], axis=1)

    def guess(self, reports: Array, rng: Rng) -> Array:
        sizes = (reports >= 0).sum(axis=1)  # shorter subsets are padded with -1
        at = (rng.random(len(reports)) * np.where(sizes, sizes, self.k)).astype(np.int64)
        member = reports[np.arange(len(reports)), np.where(sizes, at, 0)]
        return np.where(sizes, member, at)  # a uniform value for an empty subset

    def tally(self, reports: Array) -> Array:
        out = np.zeros((len(reports), self.k))
        np.add.at(out, (np.arange(len(reports))[:, None], reports), 1)
        return out

    def support_counts(self, reports: Array) -> Array:
        return np.bincount(reports.ravel(), minlength=self.k)


@dataclass(frozen=True)
class Selection(Subset, ExactSupport):
    """Sets of `omega` values: the true value is a member with probability `p`, the rest is uniform.

    Parameters
    ----------
    k, omega : int
        Domain size and number of values in a set.
    p, absent : float
        Probability that the true value is a member, and that it is not. Both are given because
        ``1 - p`` would lose digits.
    """

    omega: int
    p: float
    absent: float

    @property
    def q(self) -> float:  # type: ignore[override]  # follows from the other fields
        """Probability that one given other value is a member."""
        return float(self.pair_distribution()[[1, 2]].sum())

    def read(self, reports: Reports, sender: str) -> Array:
        return super().read(shaped(reports, (None, self.omega), sender), sender)

    def pair_distribution(self) -> Array:
        k, omega = self.k, self.omega
        first, second = self.p * (k - omega) / (k - 1), self.absent * omega / (k - 1)
        return np.array(
            [
                first,
                second,
                self.p * (omega - 1) / (k - 1),
                max(0.0, self.absent * (k - 1 - omega) / (k - 1)),
            ]
        )

    def success(self) -> float:
        return self.p / self.omega

    @property
    def rounds_route(self) -> str:  # type: ignore[override]  # depends on the size of the sets
        """How `rounds_success` is computed; the counts of several values in one set have no simple
        exact distribution, therefore such rounds are simulated."""
        return "convolve" if self.omega == 1 else "simulate"

    def rounds_success(self, tau: int) -> float | None:
        alone = self.omega == 1  # the set is a response
        return Response(self.k, self.p, self.q).rounds_success(tau) if alone else None

    @property
    def outputs(self) -> int:
        return math.comb(self.k, self.omega)

    @property
    def reports(self) -> Array:
        return np.array(list(itertools.combinations(range(self.k), self.omega)))

    def distribution(self, value: int, positions: Iterable[int] | None = None) -> Array:
        k, omega = self.k, self.omega
        alphabet(self.outputs, 1, "take a smaller domain")
        member = self.supports(self.reports, value)
        return np.where(
            member, self.p / math.comb(k - 1, omega - 1), (1 - self.p) / math.comb(k - 1, omega)
        )

    def most(self, targets: int) -> int:
        return min(targets, self.omega)

    def craft(self, targets: int, count: int, rng: Rng, tries: int) -> tuple[Array, int]:
        supported = self.most(targets)
        rest = self.omega - supported
        subsets = [
            np.append(
                rng.choice(targets, supported, replace=False),
                targets + rng.choice(self.k - targets, rest, replace=False),
            )
            for _ in range(count)
        ]
        return rng.permuted(np.array(subsets), axis=1), supported
