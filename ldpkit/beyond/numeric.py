"""Mechanisms for one number: the mean of a population is estimated."""

import math
from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
import scipy

from .. import checks
from ..mechanisms.base import Epsilon, LocalRandomizer
from ..mechanisms.grr import GRR
from ..reports import Ends, Interval, Mixed
from ..types import Array, ArrayLike, Input, Numbers, Rng

__all__ = ["PM", "SW", "Duchi", "Hybrid", "NumberOracle"]


class NumberOracle(LocalRandomizer):
    """A mechanism for a number in ``[low, high]``, from whose reports the mean is estimated."""

    low, high = -1, 1

    def _numbers(self, values: ArrayLike, rng: Rng) -> Array:
        """The numbers that users hold, after checking them and the generator."""
        checks.generator(rng)
        values = checks.reals("values", values, self.low, self.high)
        checks.need(
            values.ndim == 1,
            f"values must be a one-dimensional array of numbers in [{self.low}, {self.high}], got"
            f" shape {values.shape}",
        )
        return values

    def pair(self, pair: Input = None) -> tuple[float, float]:
        """Return the two audited inputs, the smallest and the largest unless given; see
        `LocalRandomizer.pair`."""
        pair = (float(self.low), float(self.high)) if pair is None else pair
        checks.need(
            np.shape(pair) == (2,) and pair[0] != pair[1],
            f"pair must hold two different numbers in [{self.low}, {self.high}], got {pair}",
        )
        first, second = (checks.real("pair", value, self.low, self.high) for value in pair)
        return first, second

    def estimate(self, reports: ArrayLike) -> float:
        """Return the unbiased estimate of the mean input from reports of n >= 1 users."""
        return float(self.read(reports).mean())

    def variance(self, n: int, value: Numbers = 0.0) -> Numbers:
        """Return the variance of the estimate if all n users hold `value`, a number or an array of
        them."""
        spread = self._spread(checks.reals("value", value, self.low, self.high)[()])
        return spread / checks.integer("n", n, 1)

    @abstractmethod
    def _spread(self, value: Numbers) -> Numbers:
        """Variance of the estimate from one report."""


def _reports(kind: Interval, values: Array, rng: Rng) -> Array:
    """Numbers in the intervals of values, or outside."""
    left, place = kind.left(values), rng.random(values.size)
    # outside: what lies left and right of the interval, laid end to end
    out = kind.low + (kind.high - kind.low - kind.length) * place
    out = np.where(out < left, out, out + kind.length)
    within = rng.random(values.size) < kind.density * kind.length
    out = np.where(within, left + kind.length * place, out)
    return np.clip(out, kind.low, kind.high)  # the last digit may have been rounded over the end


@dataclass(frozen=True)
class PM(NumberOracle):
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

    epsilon: Epsilon
    name = "PM"
    exact = True

    @property
    def bound(self) -> float:
        """Largest report, C."""
        return 1 / math.tanh(self.epsilon / 4)

    @property
    def p(self) -> float:
        """Probability of a report inside the interval."""
        return 1 / (1 + math.exp(-self.epsilon / 2))

    @property
    def report_type(self) -> Interval:
        """One real number."""
        bound, length = self.bound, self.bound - 1
        return Interval(-bound, bound, (-1, 1), length, self.p / length, math.exp(self.epsilon))

    def perturb(self, values: ArrayLike, rng: Rng) -> Array:
        """Return real numbers, float array (n,), for values in [-1, 1]; see `Mechanism.perturb`."""
        return _reports(self.report_type, self._numbers(values, rng), rng)

    def _spread(self, value: Numbers) -> Numbers:
        root = math.expm1(self.epsilon / 2)
        return value**2 / root + (root + 4) / (3 * root**2)


@dataclass(frozen=True)
class Duchi(NumberOracle):
    """Duchi's mechanism: one of two numbers, the nearer one more often.

    Parameters
    ----------
    epsilon : float
        Privacy budget, in [1e-6, 30].

    Notes
    -----
    With ``t = (e^eps + 1) / (e^eps - 1)`` an input x in [-1, 1] is reported as t with probability
    ``1/2 + x / (2 t)`` and as -t otherwise, so that reports are unbiased (Duchi, Jordan and
    Wainwright 2018). The report t attains ``e^eps`` for the inputs 1 and -1, and for no others.
    """

    epsilon: Epsilon
    name = "Duchi"
    exact = True

    @property
    def bound(self) -> float:
        """The larger report, t."""
        return 1 / math.tanh(self.epsilon / 2)

    @property
    def report_type(self) -> Ends:
        """One of two numbers."""
        return Ends(self.bound, GRR(2, self.epsilon).q)

    def perturb(self, values: ArrayLike, rng: Rng) -> Array:
        """Return t or -t, float array (n,), for values in [-1, 1]; see `Mechanism.perturb`."""
        values, kind = self._numbers(values, rng), self.report_type
        return np.where(rng.random(values.size) < kind.chance(values), kind.bound, -kind.bound)

    def _spread(self, value: Numbers) -> Numbers:
        return self.bound**2 - value**2


_ROOT = math.sqrt(241)
_TURN = math.log(
    (2 * (6353 - 405 * _ROOT) ** (1 / 3) + 2 * (6353 + 405 * _ROOT) ** (1 / 3) - 5) / 27
)


@dataclass(frozen=True)
class Hybrid(NumberOracle):
    """Hybrid mechanism: the piecewise one or Duchi's, by a coin that keeps the variance small.

    Parameters
    ----------
    epsilon : float
        Privacy budget, in [1e-6, 30].

    Notes
    -----
    The report is that of `PM` with probability ``1 - e^(-eps/2)`` and that of `Duchi` otherwise,
    which makes the variance of all inputs equal; up to ``eps = 0.61`` it is always Duchi's (Wang et
    al. 2019, who abbreviate the name as `HM` is here). Duchi's two reports are never sent by `PM`,
    so the coin is no secret. "What either mechanism's event accepts" attains ``e^eps`` for -1 and
    1; for other inputs only a piecewise report does.
    """

    epsilon: Epsilon
    name = "Hybrid"
    exact = True

    @property
    def share(self) -> float:
        """Probability of the piecewise mechanism."""
        return -math.expm1(-self.epsilon / 2) if self.epsilon > _TURN else 0.0

    @property
    def report_type(self) -> Mixed | Ends:
        """A number of one of two kinds, where both are used."""
        ends = Duchi(self.epsilon).report_type
        return Mixed(PM(self.epsilon).report_type, ends, self.share) if self.share else ends

    def perturb(self, values: ArrayLike, rng: Rng) -> Array:
        """Return real numbers, float array (n,), for values in [-1, 1]; see `Mechanism.perturb`."""
        values = self._numbers(values, rng)
        piecewise = rng.random(values.size) < self.share
        ends = Duchi(self.epsilon).perturb(values, rng)
        return np.where(piecewise, PM(self.epsilon).perturb(values, rng), ends)

    def _spread(self, value: Numbers) -> Numbers:
        one, two = (m(self.epsilon)._spread(value) for m in (PM, Duchi))
        return self.share * one + (1 - self.share) * two


@dataclass(frozen=True)
class SW(NumberOracle):
    """Square wave: a real number, likelier within a fixed distance of the input than farther away.

    Parameters
    ----------
    epsilon : float
        Privacy budget, in [1e-6, 30].

    Notes
    -----
    An input x in [0, 1] is reported as a number in ``[-b, 1 + b]``, with ``e^eps`` times the
    density where ``|y - x| <= b``; ``b = (eps e^eps - e^eps + 1) / (2 e^eps (e^eps - 1 - eps))`` is
    below 1/2 (Li et al. 2020, who find the whole distribution from the reports; here the mean is
    estimated, without bias). "Within b of the first input and not of the second" attains
    ``e^eps``; for 0 and 1 nothing is within b of both.
    """

    epsilon: Epsilon
    name = "SW"
    exact = True
    low, high = 0, 1

    @property
    def b(self) -> float:
        """Half of the interval's length."""
        # both terms as integrals of e^t from 0 to eps: no difference of near numbers
        above, below = (scipy.special.hyp1f1(1, 3, x) for x in (-self.epsilon, self.epsilon))
        return float(above / below / 2)

    @property
    def p(self) -> float:
        """Density inside the interval."""
        return 1 / (2 * self.b + math.exp(-self.epsilon))

    @property
    def q(self) -> float:
        """Density outside."""
        return math.exp(-self.epsilon) * self.p

    @property
    def report_type(self) -> Interval:
        """One real number."""
        b = self.b
        return Interval(-b, 1 + b, (0, 1), 2 * b, self.p, math.exp(self.epsilon))

    @property
    def _slope(self) -> float:
        """How much the mean report grows from the input 0 to the input 1."""
        return 2 * self.b * self.p * -math.expm1(-self.epsilon)

    def perturb(self, values: ArrayLike, rng: Rng) -> Array:
        """Return real numbers, float array (n,), for values in [0, 1]; see `Mechanism.perturb`."""
        return _reports(self.report_type, self._numbers(values, rng), rng)

    def estimate(self, reports: ArrayLike) -> float:
        """Return the unbiased estimate of the mean input; see `NumberOracle.estimate`."""
        return 0.5 + (super().estimate(reports) - 0.5) / self._slope

    def _spread(self, value: Numbers) -> Numbers:
        b, away = self.b, value - 0.5  # moments about the middle
        square = self.q * (1 + 2 * b) ** 3 / 12
        square = square + self._slope * (away**2 + b**2 / 3)
        return square / self._slope**2 - away**2
