"""Mechanisms for one number in [-1, 1]: the mean of a population is estimated."""

import math
from dataclasses import dataclass

import numpy as np

from .. import checks
from ..kinds import Scored
from ..kinds.base import shaped
from ..types import Array, ArrayLike, Input, Numbers, Rates, Reports, Rng
from .base import LocalRandomizer

__all__ = ["PM", "Interval"]


@dataclass(frozen=True)
class Interval(Scored):
    """One real number in ``[-bound, bound]``, float array (n,): one density on an interval that the
    input moves, another outside.

    Parameters
    ----------
    bound : float
        Largest report.
    density, ratio : float
        Density inside the interval, and how many times it is the density outside.
    """

    bound: float
    density: float
    ratio: float
    name = "real"
    lawful = True

    @property
    def width(self) -> int:
        return 1

    def left(self, value: Numbers) -> Numbers:
        """Left end of the interval of an input; it is ``bound - 1`` long."""
        return (self.bound + 1) / 2 * (value - 1) + 1

    def inside(self, reports: Array, value: float) -> Array:
        """Whether each report lies in the interval of an input; bool array (n,)."""
        left = self.left(value)
        return (reports >= left) & (reports <= left + (self.bound - 1))

    def read(self, reports: Reports, sender: str) -> Array:
        return checks.reals(
            f"reports of {sender}", shaped(reports, (None,), sender), -self.bound, self.bound
        )

    def score(self, reports: Array, pair: tuple[float, float]) -> Array:
        """1 in the first input's interval only, -1 in the second's only, else 0; int array (n,)."""
        one, two = (self.inside(reports, value).astype(np.int8) for value in pair)
        return one - two

    def score_rates(self, threshold: float, pair: tuple[float, float]) -> Rates:
        apart = min(
            self.bound - 1, abs(self.left(pair[0]) - self.left(pair[1]))
        )  # of one interval outside the other
        return self.density * apart, self.density / self.ratio * apart

    def loss(self, pair: tuple[float, float]) -> float:
        return math.log(self.ratio)


@dataclass(frozen=True)
class PM(LocalRandomizer):
    """Piecewise mechanism: a real number, likelier in an interval around the input than elsewhere.

    Parameters
    ----------
    epsilon : float
        Privacy budget, in [1e-6, 30].

    Notes
    -----
    With ``C = (e^(eps/2) + 1) / (e^(eps/2) - 1)`` an input x in [-1, 1] is reported as a number in
    [-C, C], with density ``(e^eps - e^(eps/2)) / (2 e^(eps/2) + 2)`` on an interval of length ``C -
    1`` that begins at ``(C + 1) x / 2 - (C - 1) / 2``, and ``e^eps`` times less outside (Wang et
    al. 2019). Reports are unbiased. "In the interval of the first input and not in that of the
    second" attains ``e^eps``; for -1 and 1 the intervals do not meet.

    .. warning::
       This holds for real numbers. The last digits of doubles tell more, see the book's page on
       floating point: round what is sent, by `ldpkit.mechanisms.grid.rounded`.
    """

    epsilon: float
    name = "PM"

    @property
    def bound(self) -> float:
        """Largest report, C."""
        return 1 / math.tanh(self.epsilon / 4)

    @property
    def p(self) -> float:
        """Probability of a report inside the interval."""
        return 1 / (1 + math.exp(-self.epsilon / 2))

    @property
    def kind(self) -> Interval:
        """One real number."""
        return Interval(self.bound, self.p / (self.bound - 1), math.exp(self.epsilon))

    def pair(self, pair: Input = None) -> tuple[float, float]:
        """Return the two audited inputs, -1 and 1 unless given; see `LocalRandomizer.pair`."""
        pair = (-1.0, 1.0) if pair is None else pair
        checks.need(
            np.shape(pair) == (2,) and pair[0] != pair[1],
            f"pair must hold two different numbers in [-1, 1], got {pair}",
        )
        return checks.real("pair", pair[0], -1, 1), checks.real("pair", pair[1], -1, 1)

    def perturb(self, values: ArrayLike, rng: Rng) -> Array:
        """Return real numbers, float array (n,), for values in [-1, 1]; see `Mechanism.perturb`."""
        checks.generator(rng)
        values = checks.reals("values", values, -1, 1)
        checks.need(
            values.ndim == 1,
            "values must be a one-dimensional array of numbers in [-1, 1], got shape"
            f" {values.shape}",
        )
        kind, bound = self.kind, self.bound
        left, place = kind.left(values), rng.random(values.size)
        out = (
            bound + 1
        ) * place - bound  # outside: what lies left and right of the interval, laid end to end
        out = np.where(out < left, out, out + (bound - 1))
        out = np.where(rng.random(values.size) < self.p, left + (bound - 1) * place, out)
        return np.clip(out, -bound, bound)  # the last digit may have been rounded over the end

    def estimate(self, reports: ArrayLike) -> float:
        """Return the unbiased estimate of the mean input from reports of n >= 1 users."""
        return float(self.read(reports).mean())

    def variance(self, n: int, value: Numbers = 0.0) -> Numbers:
        """Return the variance of the estimate if all n users hold `value`, a number or an array of
        them."""
        value, root = checks.reals("value", value, -1, 1)[()], math.expm1(self.epsilon / 2)
        return (value**2 / root + (root + 4) / (3 * root**2)) / checks.integer("n", n, 1)
