"""Integer noise: discrete Laplace and discrete Gaussian noise, sampled exactly by integers."""

import functools
import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

import numpy as np
import scipy

from .. import checks
from ..jit import kernel
from ..mechanisms.base import MIN_EPSILON, Epsilon, Mechanism, exact_distribution
from ..reports.base import ReportType, shaped
from ..rng import State, first_state, next_word
from ..types import Array, ArrayLike, Numbers, Pair, Rates, Reports, Rng

__all__ = ["DiscreteGaussian", "DiscreteLaplace", "Integers", "LaplaceIntegers", "GaussianIntegers"]

FARTHEST = 2**62
"""Largest absolute report that is read. Noise beyond it has a probability below e^-(10^6)."""
STEEPEST = 8.0
"""Largest quotient of sensitivity and sigma of discrete Gaussian noise."""
LEAST = 1e-290
"""Smallest delta at which an epsilon can be stated."""
_FINE, _FINER = 2**40, 2**32  # denominators of a rate and of a standard deviation
_WIDTH = 40  # standard deviations in the table; noise beyond has a probability below e^-799


# --- coins and noise, by integers only


@kernel
def below(n: Numbers, state: State) -> tuple[np.int64, State]:
    """A uniform integer in ``0..n-1``, exactly, and the next state; n is below 2^63."""
    size = np.uint64(n)
    rest = (np.uint64(0) - size) % size  # 2^64 modulo n: so many words are rejected
    word, state = next_word(state)
    while word < rest:
        word, state = next_word(state)
    return np.int64(word % size), state


@kernel
def lasts(top: Numbers, bottom: int, half: bool, state: State) -> tuple[bool, State]:
    """A coin that is true with probability ``e^-x`` for ``x = top / bottom``, or with ``e^(-x^2 /
    2)`` if `half`, and the next state; x is in [0, 1]."""
    k = 1
    while True:  # the k-th coin is true with probability x / k, or x^2 / 2k
        goes, factor = True, 0
        while goes and factor <= half:  # x / k, then x / 2
            draw, state = below(bottom, state)
            more, state = below(2 if factor else k, state)
            goes, factor = draw < top and more == 0, factor + 1
        if not goes:
            return k % 2 == 1, state
        k += 1


@kernel
def laplace_noise(n: int, top: int, bottom: int, state: State) -> Array:
    """Discrete Laplace noise of n users, int array (n,): ``P(j)`` is proportional to ``e^(-|j|
    bottom / top)``."""
    out = np.empty(n, np.int64)
    whole, rest = top // bottom, top % bottom
    for i in range(n):
        while True:
            part, state = below(top, state)
            keep, state = lasts(part, top, False, state)
            if not keep:
                continue
            blocks, more = -1, True
            while more:
                blocks += 1
                more, state = lasts(1, 1, False, state)
            size = blocks * whole + (blocks * rest + part) // bottom
            sign, state = below(2, state)
            if size or sign:  # otherwise 0 would occur twice as often
                break
        out[i] = size if sign else -size
    return out


@kernel
def gaussian_noise(n: int, top: int, bottom: int, state: State) -> Array:
    """Discrete Gaussian noise of n users, int array (n,): ``P(j)`` is proportional to ``e^(-j^2 / 2
    s^2)`` with ``s = top / bottom``."""
    out = np.empty(n, np.int64)
    cells = -(-top // bottom)
    for i in range(n):
        while True:
            k, more, coins = -1, True, 0  # the noise is in the k-th interval of length s
            while more:
                k += 1
                more, state = lasts(1, 2, False, state)
            place, state = below(cells, state)
            sign, state = below(2, state)
            size = -(-k * top // bottom) + place
            part = size * bottom - k * top  # of the interval, in units of 1 / (s bottom)
            keep = part < top and (size > 0 or sign == 1)
            while keep and coins <= k * k:  # e^-((k + x)^2 - k) / 2, for the place x = part / top
                early = coins < k * (k - 1)
                keep, state = lasts(
                    1 if early else part, 2 if early else top, coins == k * k, state
                )
                coins += 1
            if keep:
                break
        out[i] = size if sign else -size
    return out


# --- report types


@dataclass(frozen=True)
class Integers(ReportType):
    """One integer, int array (n,): an input of ``0..k-1`` plus symmetric noise.

    The guess is the input that is nearest to the report. The score is the distance from the middle
    of two inputs towards the first of them.

    Parameters
    ----------
    k : int
        Number of inputs.
    """

    k: int
    name, exact, width = "integer", True, 1

    @abstractmethod
    def tail(self, distance: float) -> float:
        """Probability that the noise is at least `distance`, which is a whole number above 0 or
        infinite."""

    def between(self, low: float, high: float) -> float:
        """Probability that the noise is at least `low` and below `high`, both whole or infinite."""
        if low > 0:
            return self.tail(low) - self.tail(high)
        if high <= 0:
            return self.between(1 - high, 1 - low)
        return 1 - self.tail(1 - low) - self.tail(high)

    def read(self, reports: Reports, sender: str) -> Array:
        reports = shaped(reports, (None,), sender)
        checks.need(
            reports.dtype.kind in "iu" and (abs(reports.astype(float)) < FARTHEST).all(),
            f"reports of {sender} must be integers in [-2^62, 2^62], got {reports.dtype} up to"
            f" {reports.max() if reports.dtype.kind in 'iuf' else reports[0]}",
        )
        return reports.astype(np.int64, copy=False)

    def guess(self, reports: Array, rng: Rng) -> Array:
        return np.clip(reports, 0, self.k - 1)

    def guess_rates(self, pair: Pair) -> Rates:
        low = -math.inf if pair[0] == 0 else pair[0]
        high = math.inf if pair[0] == self.k - 1 else pair[0] + 1
        return self.between(low - pair[0], high - pair[0]), self.between(
            low - pair[1], high - pair[1]
        )

    def score(self, reports: Array, pair: Pair) -> Array:
        return (reports - (pair[0] + pair[1]) / 2) * (1 if pair[0] > pair[1] else -1)

    def score_rates(self, threshold: float, pair: Pair) -> Rates:
        least = [math.ceil(threshold + abs(pair[0] - pair[1]) / 2 * side) for side in (-1, 1)]
        return self.between(least[0], math.inf), self.between(least[1], math.inf)


@dataclass(frozen=True)
class LaplaceIntegers(Integers):
    """Discrete Laplace noise: ``P(j)`` is proportional to ``e^(-|j| rate)``. The likelihood ratio
    is constant beyond both inputs, so the score is 1 at the first input and beyond.

    Parameters
    ----------
    rate : float
        Logarithm of the ratio of neighbouring probabilities.
    """

    rate: float

    def tail(self, distance: float) -> float:
        return math.exp(-self.rate * distance) / (1 + math.exp(-self.rate))

    def score(self, reports: Array, pair: Pair) -> Array:
        return np.clip(2 * super().score(reports, pair) / abs(pair[0] - pair[1]), -1, 1)

    def score_rates(self, threshold: float, pair: Pair) -> Rates:
        return super().score_rates(abs(pair[0] - pair[1]) / 2, pair)

    def loss(self, pair: Pair) -> float:
        return self.rate * abs(pair[0] - pair[1])


@functools.lru_cache(maxsize=4)
def _tails(sigma: float) -> Array:
    """Probabilities that discrete Gaussian noise is at least 0, 1, 2, ..., up to `_WIDTH` standard
    deviations."""
    mass = np.exp(-0.5 * (np.arange(math.ceil(_WIDTH * sigma) + 1) / sigma) ** 2)
    sums = mass[::-1].cumsum()[::-1]  # adds small terms first
    return sums / (2 * sums[0] - 1)  # mass[0] is 1


@dataclass(frozen=True)
class GaussianIntegers(Integers):
    """Discrete Gaussian noise: ``P(j)`` is proportional to ``e^(-j^2 / 2 sigma^2)``. The likelihood
    ratio grows without bound, therefore a threshold of the score must be chosen.

    Parameters
    ----------
    sigma : float
        Standard deviation of the Gaussian.
    """

    sigma: float
    score_route = guess_route = "enumerate"

    def tail(self, distance: float) -> float:
        tails = _tails(self.sigma)
        return float(tails[int(distance)]) if distance < tails.size else 0.0

    def thresholds(self) -> Array:
        return np.unique(np.rint(np.linspace(0, STEEPEST * self.sigma, 129)))

    def loss(self, pair: Pair) -> float:
        return math.inf  # every ratio occurs, with little probability


# --- mechanisms


class IntegerNoise(Mechanism):
    """Base of the mechanisms that add integer noise to an integer of ``0..sensitivity``; reports
    estimate the mean."""

    sensitivity: int

    @checks.checked
    def _users(self, values: ArrayLike, rng: checks.Generator) -> tuple[Array, State]:
        """The users' values and a first state, after checking the values and the generator."""
        return checks.values(values, self.sensitivity + 1), first_state(rng)

    def estimate(self, reports: ArrayLike) -> float:
        """Return the unbiased estimate of the mean input from reports of n >= 1 users."""
        return float(self.read(reports).mean())

    def variance(self, n: int, value: Numbers = 0) -> Numbers:
        """Return the variance of the estimate if all n users hold `value`, which does not change
        the variance."""
        same = 0.0 * checks.reals("value", value, 0, self.sensitivity)[()]
        return self._spread / checks.integer("n", n, 1) + same

    @property
    @abstractmethod
    def _spread(self) -> float:
        """Variance of the noise."""


@exact_distribution
@dataclass(frozen=True)
class DiscreteLaplace(IntegerNoise):
    """Discrete Laplace (geometric) mechanism: an integer plus two-sided geometric noise.

    Parameters
    ----------
    epsilon : float
        Privacy budget, in [1e-6, 30].
    sensitivity : int
        Largest input, in [1, 2^20]. Inputs are the integers from 0 to `sensitivity`.

    Notes
    -----
    ``P(noise = j)`` is proportional to ``e^(-|j| eps / sensitivity)`` (Ghosh, Roughgarden and
    Sundararajan 2009). The client samples it by integers only, without a rounded logarithm or
    exponential (Canonne, Kamath and Steinke 2020). For this purpose epsilon is rounded down to a
    whole multiple of ``2^-40``, and the exact distribution is that of the rounded number. Every
    report from the first input onwards, seen from the second, attains the ratio.
    """

    epsilon: Epsilon
    sensitivity: Annotated[
        int, checks.rule(checks.integer, 1, 2**20), "Largest input, at most 2^20."
    ] = 1

    @property
    def rate(self) -> Fraction:
        """Logarithm of the ratio of neighbouring probabilities, the inverse of the noise's
        scale."""
        return Fraction(math.floor(self.epsilon * _FINE), _FINE * self.sensitivity)

    @property
    def report_type(self) -> LaplaceIntegers:
        """One integer."""
        return LaplaceIntegers(self.sensitivity + 1, float(self.rate))

    def perturb(self, values: ArrayLike, rng: Rng) -> Array:
        """Return integers, int array (n,); see `Mechanism.perturb`."""
        (values, state), rate = self._users(values, rng), self.rate
        return values + laplace_noise(values.size, rate.denominator, rate.numerator, state)

    @property
    def _spread(self) -> float:
        return 1 / (2 * math.sinh(self.rate / 2) ** 2)


@exact_distribution
@dataclass(frozen=True)
class DiscreteGaussian(IntegerNoise):
    """Discrete Gaussian mechanism: an integer plus integer noise with the weights of a Gaussian.

    Parameters
    ----------
    sigma : float
        Standard deviation of the Gaussian, in [1/8, 2^16].
    sensitivity : int
        Largest input, at most ``8 sigma``. Inputs are the integers from 0 to `sensitivity`.
    delta : float
        Delta at which `epsilon` is stated, in [1e-290, 1); `curve` is never below 1e-300.

    Notes
    -----
    ``P(noise = j)`` is proportional to ``e^(-j^2 / 2 sigma^2)`` (Canonne, Kamath and Steinke 2020).
    No finite epsilon holds with delta 0. The guarantee is the whole curve `curve`, of which
    `epsilon` and `delta` are one point. Inputs that are closer have a lower curve. Sigma is rounded
    up to a whole multiple of ``2^-32``; the exact distribution is that of the rounded number. The
    client samples it by integers only. It chooses an interval of length sigma, and a place in the
    interval (Karney 2016). Then it accepts by exact coins of probability ``e^-x``.
    """

    sigma: Annotated[
        float,
        checks.rule(checks.real, 0.125, 2**16),
        "Standard deviation of the Gaussian, in [1/8, 2^16].",
    ]
    sensitivity: Annotated[checks.Count, "Largest input, at most 8 sigma."] = 1
    delta: Annotated[float, checks.rule(checks.real, LEAST, 1, closed="[)")] = 1e-5

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.integer("sensitivity", self.sensitivity, 1, int(STEEPEST * self.sigma))

    @property
    def ratio(self) -> Fraction:
        """Sigma, rounded up to a whole multiple of 2^-32."""
        return Fraction(math.ceil(self.sigma * _FINER), _FINER)

    @property
    def report_type(self) -> GaussianIntegers:
        """One integer."""
        return GaussianIntegers(self.sensitivity + 1, float(self.ratio))

    def curve(self, epsilon: float) -> float:
        """Return the smallest delta with which the mechanism is (epsilon, delta)-LDP, rounded up.

        Parameters
        ----------
        epsilon : float
            Privacy budget, at least 0.

        Notes
        -----
        The result is the sum of ``P(j - D) - e^eps P(j)`` over all j where this difference is
        positive, for sensitivity D. Noise beyond 40 sigma is left out. Its probability is below
        ``e^-799``. The result is increased by more than all rounding errors.
        """
        epsilon, s, d = checks.real("epsilon", epsilon, 0), float(self.ratio), self.sensitivity
        tails = _tails(s)
        # noise of the likelier input; the loss exceeds epsilon from here on
        first = math.floor(epsilon * s * s / d - d / 2) + 1
        noise = np.arange(max(first, 1 - tails.size), tails.size)
        mass = tails[0] * 2 - 1  # of the noise 0
        loss = (noise + d / 2) * (d / (s * s))
        terms = mass * np.exp(-0.5 * (noise / s) ** 2) * -np.expm1(np.minimum(epsilon - loss, 0))
        slack = 1e-12 * self.report_type.between(first, math.inf)
        return min(1.0, float(terms.sum()) * (1 + 1e-9) + slack + 1e-300)

    @functools.cached_property
    def epsilon(self) -> float:
        """Smallest epsilon that the `curve` allows at `delta`, rounded up; at least 1e-6."""
        if self.curve(MIN_EPSILON) <= self.delta:
            return MIN_EPSILON
        mu = self.sensitivity / float(self.ratio)
        high = mu * (mu / 2 + math.sqrt(2 * math.log(1 / self.delta))) + 1
        root = scipy.optimize.brentq(
            lambda e: self.curve(e) - self.delta, MIN_EPSILON, high, xtol=1e-12
        )
        return root + 1e-9

    def perturb(self, values: ArrayLike, rng: Rng) -> Array:
        """Return integers, int array (n,); see `Mechanism.perturb`."""
        (values, state), ratio = self._users(values, rng), self.ratio
        return values + gaussian_noise(values.size, ratio.numerator, ratio.denominator, state)

    @property
    def _spread(self) -> float:
        tails = _tails(float(self.ratio))
        # the sum of j^2 P(j) over both signs, from the tails: j^2 is a sum of odd numbers
        return float(2 * (tails[1:] * (2 * np.arange(1, tails.size) - 1)).sum())
