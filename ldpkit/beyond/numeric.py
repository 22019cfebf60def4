"""Mechanisms for one number: the reports estimate the mean of a population."""

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import cast

import numpy as np
import scipy

from .. import checks
from ..mechanisms.base import Epsilon, Mechanism, exact_distribution
from ..mechanisms.grr import GRR
from ..reports import ReportType
from ..reports.base import log_ratio, shaped
from ..types import Array, ArrayLike, Input, Numbers, Rates, Reports, Rng

__all__ = ["PM", "SW", "Duchi", "Hybrid", "NumberOracle", "Interval", "Ends", "Mixed"]


# --- report types


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
        return self.inside(reports, pair[0]).astype(np.int8) - self.inside(reports, pair[1])

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
        wanted = f"reports of {sender} must be {-self.bound!r} or {self.bound!r}"
        checks.every(np.abs(reports) == self.bound, reports, wanted)
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
    """A number of one of two report types, float array (n,).

    A report shows its type, because a number of `part` equals an end with probability 0.

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


# --- mechanisms


class NumberOracle(Mechanism):
    """A mechanism for a number in ``[low, high]``, whose reports estimate the mean."""

    low, high = -1, 1

    @checks.checked
    def _numbers(self, values: ArrayLike, rng: checks.Generator) -> Array:
        """The users' numbers, after checking them and the generator."""
        values = checks.reals("values", values, self.low, self.high)
        checks.need(
            values.ndim == 1,
            f"values must be a one-dimensional array of numbers in [{self.low}, {self.high}], got"
            f" shape {values.shape}",
        )
        return values

    def pair(self, pair: Input = None) -> tuple[float, float]:
        """Return the two audited inputs, by default the smallest and the largest; see
        `Mechanism.pair`."""
        pair = (float(self.low), float(self.high)) if pair is None else pair
        checks.need(
            np.shape(pair) == (2,) and pair[0] != pair[1],
            f"pair must hold two different numbers in [{self.low}, {self.high}], got {pair}",
        )
        return (
            checks.real("pair", pair[0], self.low, self.high),
            checks.real("pair", pair[1], self.low, self.high),
        )

    def perturb(self, values: ArrayLike, rng: Rng) -> Array:
        """Return real numbers, float array (n,), if a report is an `Interval`; see
        `Mechanism.perturb`."""
        values, form = self._numbers(values, rng), cast(Interval, self.report_type)
        left, place = form.left(values), rng.random(values.size)
        # outside: uniform on the parts left and right of the interval, joined to one
        out = form.low + (form.high - form.low - form.length) * place
        out = np.where(out < left, out, out + form.length)
        within = rng.random(values.size) < form.density * form.length
        # rounding may exceed an end by one digit
        return np.clip(np.where(within, left + form.length * place, out), form.low, form.high)

    def estimate(self, reports: ArrayLike) -> float:
        """Return the unbiased estimate of the mean input from reports of n >= 1 users."""
        return float(self.read(reports).mean())

    def variance(self, n: int, value: Numbers = 0.0) -> Numbers:
        """Return the variance of the estimate if all n users hold `value`, which is a number or an
        array of numbers."""
        value = checks.reals("value", value, self.low, self.high)[()]
        return self._spread(value) / checks.integer("n", n, 1)

    @abstractmethod
    def _spread(self, value: Numbers) -> Numbers:
        """Variance of the estimate from one report."""


@exact_distribution
@dataclass(frozen=True)
class PM(NumberOracle):
    """Piecewise mechanism: a real number, which is likelier in an interval around the input than
    elsewhere.

    Parameters
    ----------
    epsilon : float
        Privacy budget, in [1e-6, 30].

    Notes
    -----
    Let ``C = (e^(eps/2) + 1) / (e^(eps/2) - 1)``. An input x in [-1, 1] is reported as a number in
    [-C, C]. The density is ``(e^eps - e^(eps/2)) / (2 e^(eps/2) + 2)`` on an interval of length ``C
    - 1`` that begins at ``(C + 1) x / 2 - (C - 1) / 2``, and ``e^eps`` times less outside (Wang et
    al. 2019). Reports are unbiased. The event "in the interval of the first input and not in that
    of the second" attains the ratio ``e^eps``. The intervals of -1 and 1 are disjoint.

    .. warning::
       This holds for real numbers. The last digits of doubles reveal more, see the book's page on
       floating point. Therefore round reports by `rounded` of `ldpkit.mechanisms.histogram` before
       you send them.
    """

    epsilon: Epsilon

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

    def _spread(self, value: Numbers) -> Numbers:
        root = math.expm1(self.epsilon / 2)
        return value**2 / root + (root + 4) / (3 * root**2)


@exact_distribution
@dataclass(frozen=True)
class Duchi(NumberOracle):
    """Duchi's mechanism: one of two numbers; the number nearer to the input is sent more often.

    Parameters
    ----------
    epsilon : float
        Privacy budget, in [1e-6, 30].

    Notes
    -----
    Let ``t = (e^eps + 1) / (e^eps - 1)``. An input x in [-1, 1] is reported as t with probability
    ``1/2 + x / (2 t)``, and as -t otherwise (Duchi, Jordan and Wainwright 2018). Therefore reports
    are unbiased. The report t attains the ratio ``e^eps`` for the inputs 1 and -1 only.
    """

    epsilon: Epsilon

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
        values = self._numbers(values, rng)
        high = rng.random(values.size) < self.report_type.chance(values)
        return np.where(high, self.bound, -self.bound)

    def _spread(self, value: Numbers) -> Numbers:
        return self.bound**2 - value**2


_ROOT = math.sqrt(241)
_TURN = math.log(
    (2 * (6353 - 405 * _ROOT) ** (1 / 3) + 2 * (6353 + 405 * _ROOT) ** (1 / 3) - 5) / 27
)


@exact_distribution
@dataclass(frozen=True)
class Hybrid(NumberOracle):
    """Hybrid mechanism: the piecewise mechanism or Duchi's, chosen at random for a small variance.

    Parameters
    ----------
    epsilon : float
        Privacy budget, in [1e-6, 30].

    Notes
    -----
    The report is that of `PM` with probability ``1 - e^(-eps/2)`` and that of `Duchi` otherwise,
    which makes the variance equal for all inputs. Up to ``eps = 0.61`` it is always Duchi's (Wang
    et al. 2019, who abbreviate the name as HM, which is another mechanism here). `PM` sends Duchi's
    two reports with probability 0, so a report reveals which mechanism was chosen. For the inputs
    -1 and 1, the union of both mechanisms' events attains the ratio ``e^eps``. For other inputs
    only the event of `PM` attains it.
    """

    epsilon: Epsilon

    @property
    def share(self) -> float:
        """Probability of the piecewise mechanism."""
        return -math.expm1(-self.epsilon / 2) if self.epsilon > _TURN else 0.0

    @property
    def report_type(self) -> Mixed | Ends:
        """A number of one of two report types, or only `Ends` if `share` is 0."""
        ends = Duchi(self.epsilon).report_type
        return Mixed(PM(self.epsilon).report_type, ends, self.share) if self.share else ends

    def perturb(self, values: ArrayLike, rng: Rng) -> Array:
        """Return real numbers, float array (n,), for values in [-1, 1]; see `Mechanism.perturb`."""
        values = self._numbers(values, rng)
        piecewise = rng.random(values.size) < self.share
        ends = Duchi(self.epsilon).perturb(values, rng)
        return np.where(piecewise, PM(self.epsilon).perturb(values, rng), ends)

    def _spread(self, value: Numbers) -> Numbers:
        piecewise, ends = (m(self.epsilon)._spread(value) for m in (PM, Duchi))
        return self.share * piecewise + (1 - self.share) * ends


@exact_distribution
@dataclass(frozen=True)
class SW(NumberOracle):
    """Square wave: a real number, which is likelier within a fixed distance of the input than
    farther away.

    Parameters
    ----------
    epsilon : float
        Privacy budget, in [1e-6, 30].

    Notes
    -----
    An input x in [0, 1] is reported as a number y in ``[-b, 1 + b]``. The density is ``e^eps``
    times larger for ``|y - x| <= b``, where ``b = (eps e^eps - e^eps + 1) / (2 e^eps (e^eps - 1 -
    eps))`` is below 1/2 (Li et al. 2020). Li et al. estimate the whole distribution of the inputs.
    Here only the mean is estimated, without bias. The event "within b of the first input and not of
    the second" attains the ratio ``e^eps``. No report is within b of both 0 and 1.
    """

    epsilon: Epsilon
    low, high = 0, 1

    @property
    def b(self) -> float:
        """Half of the interval's length."""
        # both terms as integrals of e^t from 0 to eps avoid a difference of near numbers
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
        """Difference of the mean reports of the inputs 1 and 0."""
        return 2 * self.b * self.p * -math.expm1(-self.epsilon)

    def estimate(self, reports: ArrayLike) -> float:
        """Return the unbiased estimate of the mean input; see `NumberOracle.estimate`."""
        return 0.5 + (super().estimate(reports) - 0.5) / self._slope

    def _spread(self, value: Numbers) -> Numbers:
        b, away = self.b, value - 0.5
        square = self.q * (1 + 2 * b) ** 3 / 12 + self._slope * (away**2 + b**2 / 3)  # about 1/2
        return square / self._slope**2 - away**2
