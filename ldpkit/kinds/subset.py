"""Reports that are a set of values: subset selection."""

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import checks, streams
from ..compiled import kernel
from ..types import Array, Pair, Rng
from . import laws, samplers
from .base import Crafted, Listed, Repeatable, Support, SupportLaw, shaped
from .listing import alphabet
from .rounds import Rounds

__all__ = ["Subset", "Selection"]


@kernel
def _pick(subsets: Array, k: int, rng: Rng) -> Array:
    n, width = subsets.shape
    guess = np.empty(n, np.int64)
    for i in range(n):
        count = width  # clients may fill up with -1
        while count > 0 and subsets[i, count - 1] < 0:
            count -= 1
        guess[i] = subsets[i, int(rng.random() * count)] if count else int(rng.random() * k)
    return guess


@dataclass(frozen=True)
class Subset(Support):
    """Distinct values, integer array (n, w) in the order they were sent, filled up with -1; they support themselves."""

    k: int
    name = "subset"

    def read(self, reports: Any, sender: str) -> Array:
        reports = shaped(reports, (None, None), sender)
        return checks.values(reports.ravel(), self.k, "reports").reshape(reports.shape)

    def supports(self, reports: Array, value: int) -> Array:
        return (reports == value).any(axis=1)

    def guess(self, reports: Array, rng: Rng) -> Array:
        return _pick(reports, self.k, rng)

    def tally(self, reports: Array) -> Array:
        out = np.zeros((len(reports), self.k))
        np.add.at(out, (np.arange(len(reports))[:, None], reports), 1)
        return out

    def support_counts(self, reports: Array) -> Array:
        return np.bincount(reports.ravel(), minlength=self.k)


@dataclass(frozen=True)
class Selection(Subset, SupportLaw, Repeatable, Listed, Crafted):
    """Sets of `omega` values: the true one is a member with probability `p`, the rest is uniform.

    Parameters
    ----------
    k, omega : int
    p, absent : float
        Probability that the true value is a member, and that it is not: ``1 - p`` with all its digits.
    """

    omega: int
    p: float
    absent: float

    @property
    def q(self) -> float:  # type: ignore[override]  # follows from the other fields
        """Probability that one given other value is a member."""
        return self.pair_law()[[1, 2]].sum()

    def read(self, reports: Any, sender: str) -> Array:
        return super().read(shaped(reports, (None, self.omega), sender), sender)

    def pair_law(self) -> Array:
        k, omega = self.k, self.omega
        first, second = self.p * (k - omega) / (k - 1), self.absent * omega / (k - 1)
        return np.array([first, second, self.p * (omega - 1) / (k - 1), max(0.0, self.absent * (k - 1 - omega) / (k - 1))])

    def success(self) -> float:
        return self.p / self.omega

    def sizes(self, other: float) -> tuple[Array, Array, Array]:
        return np.array([self.omega]), np.ones(1), np.zeros(1)

    def score_count(self, trials: int, truth: bool, threshold: float, pair: Pair, rng: Rng) -> int:
        true = rng.random(trials) < self.p
        rest = rng.random(trials) * (self.k - 1) < self.omega - true  # is one given other value a member
        return int(np.count_nonzero(true & ~rest if truth else rest & ~true))

    def wins(self, tau: int) -> tuple[Array, Array] | None:
        return (laws.binomial(tau, self.p), laws.response_wins(self.k, tau)) if self.omega == 1 else None

    def repeated(self, tau: int) -> "Rounds":
        return SelectionRounds(self, tau)

    @property
    def outputs(self) -> int:
        return math.comb(self.k, self.omega)

    @property
    def reports(self) -> Array:
        return np.array(list(itertools.combinations(range(self.k), self.omega)))

    def law(self, value: int, positions: Iterable[int] | None = None) -> Array:
        k, omega = self.k, self.omega
        alphabet(self.outputs, 1, "take a smaller domain")
        member = self.supports(self.reports, value)
        return np.where(member, self.p / math.comb(k - 1, omega - 1), (1 - self.p) / math.comb(k - 1, omega))

    def most(self, targets: int) -> int:
        return min(targets, self.omega)

    def craft(self, targets: int, count: int, rng: Rng, tries: int) -> tuple[Array, int]:
        supported, r = self.most(targets), targets
        rest = self.omega - supported
        draws = [np.append(rng.choice(r, supported, replace=False), r + rng.choice(self.k - r, rest, replace=False))
                 for _ in range(count)]  # fmt: skip
        return rng.permuted(np.array(draws), axis=1), supported


@dataclass(frozen=True)
class SelectionRounds(Rounds):
    """Several sets of more than one value: no law of their counts is simple enough, so rounds are made in full."""

    part: Selection

    def guess_count(self, trials: int, truth: bool, pair: Pair, rng: Rng) -> int:
        if self.part.omega == 1:
            return super().guess_count(trials, truth, pair, rng)
        state = streams.state(rng)
        return samplers.subset_rounds(trials, self.k, self.part.omega, self.part.p, self.tau, bool(truth), state)
