"""Reports of one number: one of two numbers, a number from a density with two levels, or either."""

import math
from dataclasses import dataclass

import numpy as np

from .. import checks
from ..types import Array, Numbers, Rates, Reports
from .base import Scored, log_ratio, shaped

__all__ = ["Ends", "Interval", "Mixed", "Number"]


class Number(Scored):
    """One real number, float array (n,)."""

    name = "number"
    exact = True

    @property
    def domain(self) -> int:
        return 0  # inputs are numbers, which nobody can list

    @property
    def width(self) -> int:
        return 1


@dataclass(frozen=True)
class Interval(Number):
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
class Ends(Number):
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
class Mixed(Number):
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
