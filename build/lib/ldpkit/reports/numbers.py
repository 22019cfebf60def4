"""Reports of one noisy number per value."""

import math
from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
import scipy

from .. import checks
from ..guess_success import (
    gaussian_failure,
    gaussian_success,
    grid_failure,
    grid_success,
    laplace_failure,
    laplace_success,
    laplace_sum_failure,
    laplace_sum_success,
    rounded_tails,
)
from ..types import Array, Pair, Rates, Reports, Rng
from .base import ReportType, shaped
from .rounds import largest

__all__ = ["Noisy", "Laplace", "Gaussian"]


@dataclass(frozen=True)
class Noisy(ReportType):
    """One real number per value, float array (n, k), with independent noise of one scale on a
    one-hot vector.

    Parameters
    ----------
    k : int
        Domain size.
    scale : float
        Scale of Laplace noise, or standard deviation of Gaussian noise.
    grid : float, optional
        Step of the grid on which the numbers lie; divides 1.
    """

    k: int
    scale: float
    grid: float | None = None
    name, exact = "vector", True
    guess_route = rounds_route = "integrate"

    @property
    def rounds_exact(self) -> bool:  # type: ignore[override]  # depends on the grid
        """Whether the exact distribution of several reports is known, that is, without a grid."""
        return self.grid is None

    def read(self, reports: Reports, sender: str) -> Array:
        reports = checks.numeric(f"reports of {sender}", shaped(reports, (None, self.k), sender))
        checks.every(np.isfinite(reports), reports, f"reports of {sender} must be finite")
        if self.grid is not None:
            on_grid = reports % self.grid == 0
            wanted = f"reports of {sender} must be whole multiples of {self.grid:g}"
            checks.every(on_grid, reports, wanted)
        return reports

    def tally(self, reports: Array) -> Array:
        """The noisy vectors themselves."""
        return reports

    @property
    @abstractmethod
    def variance(self) -> float:
        """Variance of the noise on one number."""

    @abstractmethod
    def total(self, n: int, rng: Rng) -> Array:
        """Sample the sum of the noise of n users on every coordinate, shape (k,)."""


@dataclass(frozen=True)
class Laplace(Noisy):
    """Laplace noise: the likelihood ratio is constant outside [0, 1], therefore numbers beyond 0 or
    1 are no stronger evidence than 0 or 1.

    On a grid the noise is discrete: ``P(j grid)`` is proportional to ``e^(-|j| grid / scale)``.
    """

    @property
    def guess_route(self) -> str:  # type: ignore[override]  # depends on the grid
        return "integrate" if self.grid is None else "enumerate"

    @property
    def variance(self) -> float:
        return (
            2 * self.scale**2
            if self.grid is None
            else float(self.grid**2 / math.sinh(self.grid / self.scale / 2) ** 2 / 2)
        )

    def total(self, n: int, rng: Rng) -> Array:
        # a sum of Laplace variables is a difference of two Gamma variables, and a sum of discrete
        # Laplace variables is a difference of two negative binomial variables
        if self.grid is None:
            return self.scale * (rng.standard_gamma(n, self.k) - rng.standard_gamma(n, self.k))
        stop = -math.expm1(-self.grid / self.scale)
        one, two = (rng.negative_binomial(n, stop, self.k) for _ in range(2))
        return self.grid * (one - two)

    def guess(self, reports: Array, rng: Rng) -> Array:
        return largest(reports, 0.0, 1.0, rng.random(len(reports)))

    def score(self, reports: Array, pair: Pair) -> Array:
        """1 if the first value's number is at least 1 and the second value's at most 0, -1 if it is
        the reverse, else 0; int array (n,)."""
        one, two = (reports[:, value] for value in pair)
        return ((one >= 1) & (two <= 0)).astype(np.int8) - ((two >= 1) & (one <= 0))

    def success(self) -> float:
        known = self.scale, self.k
        return laplace_success(*known) if self.grid is None else grid_success(*known, self.grid)

    def failure(self) -> float:
        known = self.scale, self.k
        return laplace_failure(*known) if self.grid is None else grid_failure(*known, self.grid)

    def score_rates(self, threshold: float, pair: Pair) -> Rates:
        # noise at least 0 on one number and at most 0 on the other; on a grid it may be exactly 0
        half = 0.5 if self.grid is None else 1 / (1 + math.exp(-self.grid / self.scale))
        return half**2, math.exp(-2 / self.scale) * half**2

    def loss(self, pair: Pair) -> float:
        return 2 / self.scale

    def rounds_success(self, tau: int) -> float:
        return laplace_sum_success(tau, self.k, tau / self.scale)

    def rounds_failure(self, tau: int) -> float:
        return laplace_sum_failure(tau, self.k, tau / self.scale)


@dataclass(frozen=True)
class Gaussian(Noisy):
    """Gaussian noise: the likelihood ratio grows without bound, therefore a threshold of the score
    must be chosen."""

    @property
    def variance(self) -> float:
        return self.scale**2 + (self.grid or 0.0) ** 2 / 12  # rounding adds grid^2 / 12

    def total(self, n: int, rng: Rng) -> Array:
        return math.sqrt(self.variance * n) * rng.standard_normal(self.k)

    def guess(self, reports: Array, rng: Rng) -> Array:
        return largest(reports, -np.inf, np.inf, rng.random(len(reports)))

    def score(self, reports: Array, pair: Pair) -> Array:
        """Difference of the two values' numbers in standard deviations of this difference; float
        array (n,)."""
        return (reports[:, pair[0]] - reports[:, pair[1]]) / (math.sqrt(2) * self.scale)

    def success(self) -> float:
        return gaussian_success(self.scale, self.k, grid=self.grid or 0.0)

    def failure(self) -> float:
        return gaussian_failure(self.scale, self.k, grid=self.grid or 0.0)

    def thresholds(self) -> Array:
        return np.arange(0, 6.01, 0.05)

    def score_rates(self, threshold: float, pair: Pair) -> Rates:
        shift = 1 / (math.sqrt(2) * self.scale)
        if self.grid is not None:
            return rounded_tails(threshold, shift, self.grid)
        tpr, fpr = scipy.special.ndtr([shift - threshold, -shift - threshold])
        return float(tpr), float(fpr)

    def loss(self, pair: Pair) -> float:
        return math.inf  # every ratio occurs, with little probability

    def pooled(self, tau: int) -> "Gaussian":
        return Gaussian(self.k, self.scale / math.sqrt(tau))
