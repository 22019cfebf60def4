"""Noise on a one-hot vector: Laplace noise, and Gaussian noise with the classical and the analytic
calibration; and a grid for noise, so that the digits of a report do not reveal the input.

The last digits of a sum of two doubles depend on the sizes of both summands. Therefore the last
digits of a noisy number reveal the number without noise (Mironov 2012). A grid that is coarser than
these digits removes them.

Sources: Dwork and Roth (2014) and Balle and Wang (2018) for the calibrations.
"""

import functools
import math
from dataclasses import dataclass
from decimal import Decimal, localcontext
from typing import TYPE_CHECKING, Annotated

import numpy as np
import scipy

from .. import checks
from ..jit import kernel
from ..reports import Gaussian, Laplace, Noisy
from ..rng import State, first_state, laplace, next_word
from ..types import Array, ArrayLike, Numbers, Rng
from .base import Delta, Domain, Epsilon, FrequencyOracle, checked_frequency, exact_distribution

# fmt: off
__all__ = [
    "NoisyHistogram", "SHE", "GM", "AGM", "gaussian_delta", "FINEST", "COARSEST", "SLACK",
    "histograms", "residue", "rounded", "spacing",
]
# fmt: on

# --- noise on a grid

FINEST, COARSEST = 2.0**-20, 2.0**-10
"""Smallest and largest step of a grid."""

SLACK = 2.0**-46
"""Reserve of privacy loss: over a distance of 1, the logarithm of a probability of `histograms`
falls by this much less than allowed. It exceeds the rounding errors of the table and of one
exponential, so that the sampler keeps the whole claim."""

_BLOCKS = 64


def spacing(name: str, value: object) -> float:
    """Return the step of a grid after checking that it is a power of two in [2^-20, 2^-10]."""
    step = checks.real(name, value, FINEST, COARSEST)
    checks.need(
        math.frexp(step)[0] == 0.5,
        f"{name} must be a power of two in [2^-20, 2^-10], got {value!r}",
    )
    return step


Grid = Annotated[
    float | None,
    spacing,
    "Step of the grid on which reports lie, a power of two in [2^-20, 2^-10].",
]


def rounded(numbers: Array, grid: float | None, out: Array | None = None) -> Array:
    """Return the nearest whole multiples of `grid`, in the array `out` if given; without a grid,
    return the numbers unchanged."""
    if grid is None:
        return numbers
    steps = np.divide(numbers, grid, out=out)
    return np.multiply(np.rint(steps, out=steps), grid, out=steps)


@checks.checked
def residue(
    grid: float | None,
    epsilon: Annotated[float, checks.rule(checks.real, 0, 700)],
    scale: Annotated[float, checks.rule(checks.real, 0.5)],
    d: checks.Count = 2,
) -> float:
    """Delta that must be added to the claim, because rounded Gaussian noise does not hide all of
    the doubles below the grid.

    Parameters
    ----------
    grid : float or None
        Step of the grid; without a grid the result is 1.
    epsilon : float
        Epsilon of the claim, in [0, 700].
    scale : float
        Standard deviation of the noise, at least 1/2.
    d : int
        Number of numbers in which two reports may differ, at least 1.

    Notes
    -----
    The ziggurat method samples one of equally likely doubles in each of 256 layers. A cell of the
    grid contains its share of every layer, except for a few doubles. Therefore the error of its
    probability is at most ``2^-50``. The result is the sum over all cells within nine standard
    deviations, for both inputs. It is only an estimate if the numbers depend on each other, as in a
    randomised gradient.
    """
    cells = math.inf if grid is None else scale / spacing("grid", grid)
    return min(1.0, (1 + math.exp(epsilon)) * d * cells * 2.0**-46)


@functools.lru_cache(maxsize=64)
def _table(fall: float) -> tuple[Array, Array]:
    """Return tables that invert the distribution ``(1 - e^-fall) e^(-fall j)`` for 64-bit words.

    The first table holds the upper ends of the first 64 values. The second table holds, for the
    first eight bits of a word, the smallest value that the word can have.
    """
    with localcontext(prec=40):
        mass = [1 - (-Decimal(fall) * (j + 1)).exp() for j in range(_BLOCKS)]
        ends = np.array([int(m * 2**64) for m in mass], np.uint64)
    return ends, np.searchsorted(ends, np.arange(256, dtype=np.uint64) << np.uint64(56), "right")


@kernel
def _histograms(
    values: Array,
    k: int,
    grid: float,
    rate: float,
    shift: int,
    ends: Array,
    starts: Array,
    state: State,
) -> Array:
    out, steps_of_one = np.empty((values.size, k)), np.int64(1 / grid)
    mask, top = (np.uint64(1) << np.uint64(shift)) - np.uint64(1), ends[-1]
    for i in range(values.size):
        for j in range(k):
            while True:
                block = np.int64(0)
                word, state = next_word(state)
                while word >= top:  # beyond the table the distribution repeats itself
                    block += ends.size
                    word, state = next_word(state)
                at = starts[word >> np.uint64(56)]
                while word >= ends[at]:
                    at += 1
                while True:  # keep a uniform place in the block with probability e^-x, x < 1/8
                    word, state = next_word(state)
                    place = np.int64(word & mask)
                    x, u = place * rate, np.int64(word << np.uint64(1) >> np.uint64(40)) * 2.0**-24
                    if u + 2.0**-24 <= 1 - x:
                        break
                    more, state = next_word(state)  # 53 further bits, if 24 do not decide
                    if u + np.int64(more >> np.uint64(11)) * 2.0**-77 < math.exp(-x):
                        break
                steps, negative = ((block + at) << shift) + place, np.int64(word) < 0
                if steps or not negative:  # otherwise 0 would occur twice as often
                    break
            steps = -steps if negative else steps
            # the sum of whole numbers is exact
            out[i, j] = (steps + steps_of_one * (j == values[i])) * grid
    return out


def histograms(values: Array, k: int, grid: float, scale: float, state: State) -> Array:
    """One-hot vectors plus discrete Laplace noise on a grid, float array (n, k).

    Parameters
    ----------
    values : int array, shape (n,)
        The users' values.
    k : int
        Domain size.
    grid : float
        Step of the grid, see `spacing`.
    scale : float
        Scale of the noise, in [1/16, 2^22]: ``P(noise = j grid)`` is proportional to ``e^(-|j| grid
        / scale)``.
    state : tuple
        State of the random words, see `ldpkit.rng.first_state`.

    Notes
    -----
    The absolute noise in steps has a geometric distribution. Its range is divided into blocks whose
    length is a power of two. Within a block, probabilities fall by a factor of ``e^(-1/8)`` at
    most. The sampler chooses the block by a table of 64-bit counts. Then it proposes a
    uniform place in the block and accepts the place with a probability near 1. It computes no
    logarithm, it can reach every number of steps, and each probability is exact up to a factor
    within ``1 +- 2^-48``.
    """
    fall, exponent = math.frexp(grid / scale)
    ends, starts = _table(fall / 8)
    return _histograms(values, k, grid, grid / scale, -3 - exponent, ends, starts, state)


# --- Laplace noise on a one-hot vector


class NoisyHistogram(FrequencyOracle):
    """Base of the mechanisms that send a one-hot vector with noise.

    Attributes
    ----------
    report_type : Laplace or Gaussian
        A noisy vector, with the distribution of the independent noise on every coordinate.
    scale : float
        Scale of Laplace noise, or standard deviation of Gaussian noise.
    grid : float or None
        Step of the grid on which reports lie; ``None`` sends sums of doubles unchanged.
    """

    if TYPE_CHECKING:  # defined by the subclasses

        @property
        def grid(self) -> float | None:
            """Step of the grid on which reports lie."""

        @property
        def scale(self) -> float:
            """Scale or standard deviation of the noise."""

        @property
        def report_type(self) -> Noisy:
            """A noisy vector."""

    def estimate(self, reports: ArrayLike) -> Array:
        return self.read(reports).mean(axis=0)

    @checks.checked
    def sample_estimate(self, counts: ArrayLike, rng: checks.Generator) -> Array:
        """Sample the estimates for a whole population, which are the true frequencies plus the mean
        noise of n users; see `FrequencyOracle.sample_estimate`."""
        counts = checks.counts(counts, self.k)
        n = counts.sum()
        return (counts + self.report_type.total(n, rng)) / n

    def variance(self, n: int, frequency: Numbers = 0.0) -> Numbers:
        return self.report_type.variance / checks.integer("n", n, 1) + 0.0 * checked_frequency(
            frequency
        )


@exact_distribution
@dataclass(frozen=True)
class SHE(NoisyHistogram):
    """Summation with histogram encoding: the one-hot vector plus Laplace noise.

    Parameters
    ----------
    k : int
        Domain size, at least 2.
    epsilon : float
        Privacy budget, in [1e-6, 30].
    grid : float, optional
        Step of the grid on which reports lie, a power of two in [2^-20, 2^-10]. Without a grid the
        noise is a double that is added to a double, as in the papers' code.

    Notes
    -----
    Every coordinate has independent Laplace noise of scale ``2 / eps`` (Dwork et al. 2006; Wang et
    al. 2017), so the variance of an estimate is ``8 / (n eps^2)``.

    .. warning::
       Without a grid the epsilon holds for real numbers, but not for the doubles that are sent:
       their last digits reveal values, see the book's page on floating point. Use ``grid = 2**-20``
       for reports that other people can read. Then the noise is discrete Laplace noise on the grid,
       and the ratio of its neighbouring probabilities is at most what `epsilon` allows.
    """

    k: Domain
    epsilon: Epsilon
    grid: Grid = None

    @property
    def report_type(self) -> Laplace:
        """A vector with Laplace noise."""
        return Laplace(self.k, self.scale, self.grid)

    @property
    def scale(self) -> float:
        """Scale of the Laplace noise."""
        return 2 / self.epsilon if self.grid is None else 1 / (self.epsilon / 2 - SLACK)

    def perturb(self, values: ArrayLike, rng: Rng) -> Array:
        """Return noisy histograms, float array (n, k); see `Mechanism.perturb`."""
        users, state = self._users(values, rng), first_state(rng)
        if self.grid is None:
            reports = np.empty((users.size, self.k))
            laplace(reports.reshape(-1), self.scale, state)
            reports[np.arange(users.size), users] += 1
            return reports
        return histograms(users, self.k, self.grid, self.scale, state)


# --- Gaussian noise

SENSITIVITY = math.sqrt(2)
"""Euclidean distance of two one-hot vectors."""


def gaussian_delta(epsilon: float, sigma: float) -> float:
    """Smallest delta with which Gaussian noise on a one-hot vector is (epsilon, delta)-LDP.

    Parameters
    ----------
    epsilon : float
        Privacy budget, at least 0.
    sigma : float
        Standard deviation of the noise on every coordinate, above 0.

    Notes
    -----
    ``Phi(D/(2 sigma) - eps sigma/D) - e^eps Phi(-D/(2 sigma) - eps sigma/D)``, ``D = sqrt 2``
    (Balle and Wang 2018, Theorem 8).
    """
    epsilon, sigma = checks.real("epsilon", epsilon, 0), checks.real("sigma", sigma, 0, closed="()")
    near, far = SENSITIVITY / (2 * sigma), epsilon * sigma / SENSITIVITY
    return scipy.special.ndtr(near - far) - math.exp(epsilon + scipy.special.log_ndtr(-near - far))


@exact_distribution
@dataclass(frozen=True)
class GM(NoisyHistogram):
    """Gaussian mechanism with the classical noise scale.

    Parameters
    ----------
    k : int
        Domain size, at least 2.
    epsilon : float
        Privacy budget, in [1e-6, 1], because the classical calibration holds only there.
    delta : float
        Probability with which the guarantee may fail, in (0, 1).
    grid : float, optional
        Step of the grid to which reports are rounded, a power of two in [2^-20, 2^-10].

    Notes
    -----
    ``sigma = (sqrt 2 / eps) sqrt(2 ln(1.25 / delta))`` (Dwork and Roth 2014, Theorem A.1). This is
    more noise than needed, see `AGM`.

    .. warning::
       Without a grid the guarantee holds for real numbers, but not for the doubles that are sent;
       see the book's page on floating point. On a grid the guarantee holds with `residue` added to
       delta.
    """

    k: Domain
    epsilon: Annotated[float, checks.rule(checks.real, 1e-6, 1)]
    delta: Delta
    grid: Grid = None

    @property
    def scale(self) -> float:
        """Standard deviation of the noise."""
        return SENSITIVITY / self.epsilon * math.sqrt(2 * math.log(1.25 / self.delta))

    @property
    def report_type(self) -> Gaussian:
        """A vector with Gaussian noise."""
        return Gaussian(self.k, self.scale, self.grid)

    @property
    def residue(self) -> float:
        """Delta to be added to `delta`, because the grid does not hide all of the doubles; see
        `residue`."""
        return residue(self.grid, self.epsilon, self.scale)

    def perturb(self, values: ArrayLike, rng: Rng) -> Array:
        """Return noisy histograms, float array (n, k); see `Mechanism.perturb`."""
        values = self._users(values, rng)
        reports = self.scale * rng.standard_normal((values.size, self.k))
        reports[np.arange(values.size), values] += 1
        return rounded(reports, self.grid, reports)


@exact_distribution
@dataclass(frozen=True)
class AGM(GM):
    """Analytic Gaussian mechanism: the smallest noise with which the guarantee holds.

    Parameters
    ----------
    k : int
        Domain size, at least 2.
    epsilon : float
        Privacy budget, in [1e-6, 30].
    delta : float
        Probability with which the guarantee may fail, in (0, 1).
    grid : float, optional
        Step of the grid to which reports are rounded, as in `GM`, whose warning applies here too.

    Notes
    -----
    Solves ``gaussian_delta(epsilon, sigma) = delta`` for sigma (Balle and Wang 2018, Algorithm 1).
    """

    epsilon: Epsilon

    @functools.cached_property
    def scale(self) -> float:
        """Standard deviation of the noise."""
        # as a function of ln sigma the excess falls from 1 - delta to -delta, so a root exists
        return math.exp(
            scipy.optimize.brentq(
                lambda s: gaussian_delta(self.epsilon, math.exp(s)) - self.delta,
                -10,
                40,
                xtol=1e-13,
                rtol=1e-14,
            )
        )
