"""Any finite protocol, given by the probabilities of its reports: its privacy is exact."""

import functools
import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import checks
from ..mechanisms.base import Mechanism, exact_distribution
from ..reports.base import ReportType, shaped
from ..types import Array, ArrayLike, Input, Pair, Rates, Reports, Rng, Row

__all__ = ["FiniteMechanism"]

_SUM = 1e-9  # largest distance of a row's sum from 1
_NEVER = 1e3  # score of a report that the second value never leads to; no logarithm is as large


@dataclass(frozen=True)
class Finite(ReportType):
    """One of finitely many reports, the number of a column: int array (n,)."""

    matrix: tuple[tuple[float, ...], ...]
    name, exact = "finite", True
    guess_route = score_route = "enumerate"

    @functools.cached_property
    def laws(self) -> Array:
        """Probabilities of the reports, float array (k, m)."""
        return np.array(self.matrix)

    @property
    def k(self) -> int:  # type: ignore[override]  # the rows determine it
        """Domain size."""
        return len(self.matrix)

    @property
    def width(self) -> int:
        """Number of different reports, because `FiniteMechanism.perturb` holds as many numbers."""
        return len(self.matrix[0])

    def read(self, reports: Reports, sender: str) -> Array:
        return checks.values(shaped(reports, (None,), sender), self.width, "reports")

    def guess(self, reports: Array, rng: Rng) -> Array:
        ties = self.laws.max(axis=0)[reports][:, None] == self.laws[:, reports].T
        return np.argmax(ties * (1 + rng.random(ties.shape)), axis=1)

    def guess_rates(self, pair: Pair) -> Rates:
        ties = self.laws == self.laws.max(axis=0)
        named = ties[pair[0]] / ties.sum(axis=0)
        return float(self.laws[pair[0]] @ named), float(self.laws[pair[1]] @ named)

    def score(self, reports: Array, pair: Pair) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.log(self.laws[pair[0]] / self.laws[pair[1]])
        return np.nan_to_num(ratios, nan=0.0, posinf=_NEVER, neginf=-_NEVER)[reports]

    @functools.cached_property
    def worst(self) -> Pair:
        """The two inputs with the largest loss."""
        return max(itertools.permutations(range(self.k), 2), key=self.loss)

    def thresholds(self) -> Array:
        """Logarithms of the likelihood ratios above 1 of the worst pair."""
        scores = np.unique(self.score(np.arange(self.width), self.worst))
        return scores[scores > 0]

    def score_rates(self, threshold: float, pair: Pair) -> Rates:
        event = self.score(np.arange(self.width), pair) >= threshold
        return float(self.laws[pair[0]] @ event), float(self.laws[pair[1]] @ event)

    def loss(self, pair: Pair) -> float:
        largest = float(self.score(np.arange(self.width), pair).max())
        return math.inf if largest == _NEVER else largest


@exact_distribution
@dataclass(frozen=True)
class FiniteMechanism(Mechanism):
    """A protocol with finitely many values and reports, given by its probabilities.

    Parameters
    ----------
    matrix : float array (k, m)
        Probability of each of m reports, one row per value. Every row has the sum 1.

    Raises
    ------
    ValueError
        If a row is no distribution; the message names the row and its sum.

    Notes
    -----
    Nothing is estimated: `epsilon` is the largest logarithm of a ratio of two probabilities of one
    report, and it is infinite if only one of two values can lead to a report.
    """

    matrix: Any

    def __post_init__(self) -> None:
        laws = checks.reals("matrix", self.matrix)
        checks.need(
            laws.ndim == 2 and min(laws.shape) > 1,
            f"matrix must have at least two rows and two columns, got shape {laws.shape}",
        )
        for row, law in enumerate(laws):
            checks.need(
                (law >= 0).all() and abs(law.sum() - 1) <= _SUM,
                f"matrix must have distributions as rows, got row {row} with the sum"
                f" {law.sum():.12g} and the smallest entry {law.min():g}",
            )
        checks.need((laws != laws[0]).any(), "matrix must have two different rows, got equal ones")
        laws = laws / laws.sum(axis=1, keepdims=True)
        checks.fix(self, matrix=tuple(map(tuple, laws.tolist())))

    @functools.cached_property
    def report_type(self) -> Finite:
        """The number of a report."""
        return Finite(self.matrix)

    @property
    def k(self) -> int:
        """Number of values."""
        return self.report_type.k

    @property
    def epsilon(self) -> float:
        """The exact loss of the worst pair of values."""
        return self.report_type.loss(self.report_type.worst)

    @property
    def parameters(self) -> Row:
        """The matrix."""
        return {"matrix": [list(row) for row in self.matrix]}

    def pair(self, pair: Input = None) -> Input:
        pair = super().pair(self.report_type.worst if pair is None else pair)
        one, two = self.report_type.laws[list(pair)]
        checks.need((one != two).any(), f"pair must have two different distributions, got {pair}")
        return pair

    @checks.checked
    def perturb(self, values: ArrayLike, rng: checks.Generator) -> Array:
        """Return numbers of reports, int array (n,); see `Mechanism.perturb`."""
        sums, values = np.cumsum(self.report_type.laws, axis=1), checks.values(values, self.k)
        return np.sum((sums / sums[:, -1:])[values] <= rng.random((len(values), 1)), axis=1)
