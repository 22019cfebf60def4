"""Reports of one number, and of one noisy number per value."""

import math
from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
import scipy

from .. import checks
from ..exact import (
    gaussian_success,
    grid_success,
    laplace_success,
    laplace_sum_success,
    rounded_tails,
)
from ..types import Array, Numbers, Pair, Rates, Reports, Rng
from .base import ReportType, log_ratio, shaped
from .rounds import largest

__all__ = ["Interval", "Ends", "Mixed", "Noisy", "Laplace", "Gaussian"]


@dataclass(frozen=True)
class Interval(ReportType):
    """One real number in ``[low, high]``, float array (n,), with one density inside an interval
    that moves with the input, and another density outside.

    Parameters
    ----------
    low, high : float
        Smallest and largest report.
    inputs : (float, float)
        Smallest and largest input: the interval of the smallest begins at `low`, the interval of
        the largest ends at `high`.
    length : float
        Length of the interval.
    density, ratio : float
        Density inside the interval, and the ratio of this density to the density outside.
    """

    low: float
    high: float
    inputs: tuple[float, float]
    length: float
    density: float
    ratio: float
    name, exact, width = "number", True, 1

    def left(self, value: Numbers) -> Numbers:
        """Left end of the interval of an input."""
        first, last = self.inputs
        return self.low + (self.high - self.low - self.length) * (value - first) / (last - first)

    def inside(self, reports: Array, value: float) -> Array:
        """Whether each report lies in the interval of an input; bool array (n,)."""
        left = self.left(value)
        return (reports >= left) & (reports <= left + self.length)

    def read(self, reports: Reports, sender: str) -> Array:
        return checks.reals(
            f"reports of {sender}", shaped(reports, (None,), sender), self.low, self.high
        )

    def score(self, reports: Array, pair: tuple[float, float]) -> Array:
        """1 in the first input's interval only, -1 in the second input's only, else 0; int array
        (n,)."""
        one, two = (self.inside(reports, value).astype(np.int8) for value in pair)
        return one - two

    def score_rates(self, threshold: float, pair: tuple[float, float]) -> Rates:
        # length of the part of one interval that lies outside the other
        apart = min(self.length, abs(self.left(pair[0]) - self.left(pair[1])))
        return self.density * apart, self.density / self.ratio * apart

    def loss(self, pair: tuple[float, float]) -> float:
        return math.log(self.ratio)


@dataclass(frozen=True)
class Ends(ReportType):
    """One of the two numbers ``-bound`` and ``bound``, float array (n,), for an input in [-1, 1].

    Parameters
    ----------
    bound : float
        The larger number.
    rare : float
        Probability of the larger number for the input -1, and of the smaller for the input 1.
    """

    bound: float
    rare: float
    name, exact, width = "number", True, 1

    def chance(self, value: Numbers) -> Numbers:
        """Probability of the larger number; the smaller number has the probability
        ``chance(-value)``."""
        return self.rare + (1 - 2 * self.rare) * (1 + value) / 2

    def read(self, reports: Reports, sender: str) -> Array:
        reports = checks.reals(f"reports of {sender}", shaped(reports, (None,), sender))
        if not (good := np.abs(reports) == self.bound).all():
            raise ValueError(
                f"reports of {sender} must be {-self.bound!r} or {self.bound!r}, got"
                f" {float(reports[~good][0])!r}"
            )
        return reports

    def score(self, reports: Array, pair: tuple[float, float]) -> Array:
        """1 at the end nearer to the first input than to the second, else -1; int array (n,)."""
        return np.where((reports > 0) == (pair[0] > pair[1]), 1, -1)

    def score_rates(self, threshold: float, pair: tuple[float, float]) -> Rates:
        side = 1 if pair[0] > pair[1] else -1
        return self.chance(side * pair[0]), self.chance(side * pair[1])

    def loss(self, pair: tuple[float, float]) -> float:
        return log_ratio(*self.score_rates(1, pair))


@dataclass(frozen=True)
class Mixed(ReportType):
    """A number of one of two report types, float array (n,); a report shows its type, because a
    number of `part` equals an end with probability 0.

    Parameters
    ----------
    part : Interval
        Report type of the numbers between the ends.
    ends : Ends
        Report type of the ends.
    share : float
        Probability of `part`.
    """

    part: Interval
    ends: Ends
    share: float
    name, exact, width = "number", True, 1

    def read(self, reports: Reports, sender: str) -> Array:
        reports, end = self.part.read(reports, sender), self.ends.bound
        near = np.abs(np.abs(reports) - end) <= 8 * np.spacing(end)
        if (unclear := near & (np.abs(reports) != end)).any():
            raise ValueError(
                f"reports of {sender} must be exactly {-end!r} or {end!r} where they are an end,"
                f" got {float(reports[unclear][0])!r}, which differs in its last digits only"
            )
        return reports

    def ends_count(self, pair: tuple[float, float]) -> bool:
        """Whether the ends have the same likelihood ratio for two inputs as the numbers between, so
        that the score counts them."""
        return math.isclose(self.ends.loss(pair), self.part.loss(pair), rel_tol=1e-9)

    def score(self, reports: Array, pair: tuple[float, float]) -> Array:
        """The score of the report's own type, but 0 at ends that `ends_count` excludes; int array
        (n,)."""
        between = self.part.score(reports, pair)
        ends = self.ends.score(reports, pair) if self.ends_count(pair) else 0
        return np.where(np.abs(reports) == self.ends.bound, ends, between)

    def score_rates(self, threshold: float, pair: tuple[float, float]) -> Rates:
        end_rates = self.ends.score_rates(1, pair) if self.ends_count(pair) else (0.0, 0.0)
        first, second = (
            self.share * inside + (1 - self.share) * end
            for inside, end in zip(self.part.score_rates(1, pair), end_rates)
        )
        return first, second

    def loss(self, pair: tuple[float, float]) -> float:
        return self.part.loss(pair)


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
        if not (good := np.isfinite(reports)).all():
            raise ValueError(f"reports of {sender} must be finite, got {reports[~good][0]}")
        if self.grid is not None:
            steps = reports / self.grid
            if not (good := steps == np.rint(steps)).all():
                raise ValueError(
                    f"reports of {sender} must be whole multiples of {self.grid:g}, got"
                    f" {reports[~good][0]}"
                )
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
        if self.grid is None:
            return 2 * self.scale**2
        return float(self.grid**2 / math.sinh(self.grid / self.scale / 2) ** 2 / 2)

    def total(self, n: int, rng: Rng) -> Array:
        # a sum of Laplace variables is a difference of two Gamma variables, and a sum of discrete
        # Laplace variables is a difference of two negative binomial variables
        if self.grid is None:
            return self.scale * (rng.standard_gamma(n, self.k) - rng.standard_gamma(n, self.k))
        stop = -math.expm1(-self.grid / self.scale)
        one, two = (rng.negative_binomial(n, stop, self.k) for _ in range(2))
        return self.grid * (one - two)

    def guess(self, reports: Array, rng: Rng) -> Array:
        return largest(reports, 0.0, 1.0, rng)

    def score(self, reports: Array, pair: Pair) -> Array:
        """1 if the first value's number is at least 1 and the second value's at most 0, -1 if it is
        the reverse, else 0; int array (n,)."""
        one, two = (reports[:, value] for value in pair)
        return ((one >= 1) & (two <= 0)).astype(np.int8) - ((two >= 1) & (one <= 0))

    def success(self) -> float:
        if self.grid is None:
            return laplace_success(self.scale, self.k)
        return grid_success(self.scale, self.k, self.grid)

    def score_rates(self, threshold: float, pair: Pair) -> Rates:
        # noise at least 0 on one number and at most 0 on the other; on a grid it may be exactly 0
        half = 0.5 if self.grid is None else 1 / (1 + math.exp(-self.grid / self.scale))
        return half**2, math.exp(-2 / self.scale) * half**2

    def loss(self, pair: Pair) -> float:
        return 2 / self.scale

    def rounds_success(self, tau: int) -> float:
        return laplace_sum_success(tau, self.k, tau / self.scale)


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
        return largest(reports, -np.inf, np.inf, rng)

    def score(self, reports: Array, pair: Pair) -> Array:
        """Difference of the two values' numbers in standard deviations of this difference; float
        array (n,)."""
        return (reports[:, pair[0]] - reports[:, pair[1]]) / (math.sqrt(2) * self.scale)

    def success(self) -> float:
        return gaussian_success(self.scale, self.k, grid=self.grid or 0.0)

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
