"""Reports that are one number: of two, from a density of two levels, or from either."""

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
    def width(self) -> int:
        return 1


@dataclass(frozen=True)
class Interval(Number):
    """One real number in ``[low, high]``, float array (n,): one density on an interval that the
    input moves from one end to the other, another density outside.

    Parameters
    ----------
    low, high : float
        Smallest and largest report.
    inputs : (float, float)
        Smallest and largest input, whose intervals begin at `low` and end at `high`.
    length : float
        Length of the interval.
    density, ratio : float
        Density inside the interval, and how many times it is the density outside.
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
        """1 in the first input's interval only, -1 in the second's only, else 0; int array (n,)."""
        one, two = (self.inside(reports, value).astype(np.int8) for value in pair)
        return one - two

    def score_rates(self, threshold: float, pair: tuple[float, float]) -> Rates:
        # of one interval outside the other
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
        The larger one.
    rare : float
        Probability of the larger one for the smallest input, and of the smaller for the largest.
    """

    bound: float
    rare: float

    def chance(self, value: Numbers) -> Numbers:
        """Probability of the larger number; that of the smaller is the chance of ``-value``."""
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
    """A number of one of two kinds, float array (n,): it is one of the ends or, with probability
    one, none of them, so a report betrays its kind.

    Parameters
    ----------
    part : Interval
        The kind of the numbers between.
    ends : Ends
        The kind of the others.
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
                f"reports of {sender} must be {-end!r} or {end!r} where they are an end, got"
                f" {float(reports[unclear][0])!r}: of which kind it is, its last digits must say"
            )
        return reports

    def told(self, pair: tuple[float, float]) -> bool:
        """Whether the ends tell two inputs apart as well as the numbers between do."""
        return math.isclose(self.ends.loss(pair), self.part.loss(pair), rel_tol=1e-9)

    def score(self, reports: Array, pair: tuple[float, float]) -> Array:
        """The score of the report's kind, 0 at ends that tell less; int array (n,)."""
        ends = self.ends.score(reports, pair) * self.told(pair)
        return np.where(np.abs(reports) == self.ends.bound, ends, self.part.score(reports, pair))

    def score_rates(self, threshold: float, pair: tuple[float, float]) -> Rates:
        first, second = (
            self.share * one + (1 - self.share) * end * self.told(pair)
            for one, end in zip(self.part.score_rates(1, pair), self.ends.score_rates(1, pair))
        )
        return first, second

    def loss(self, pair: tuple[float, float]) -> float:
        return self.part.loss(pair)
