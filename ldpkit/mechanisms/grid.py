"""Noise on a grid, so that the digits of a report do not reveal the input.

The last digits of a sum of two doubles depend on the sizes of both summands. Therefore the last
digits of a noisy number reveal the number without noise (Mironov 2012). A grid that is coarser than
these digits removes them.
"""

import functools
import math
from decimal import Decimal, localcontext

import numpy as np

from .. import checks
from ..jit import kernel
from ..rng import State, next_word
from ..types import Array

__all__ = ["FINEST", "COARSEST", "SLACK", "histograms", "residue", "rounded", "spacing"]

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


def rounded(numbers: Array, grid: float | None, out: Array | None = None) -> Array:
    """Return the nearest whole multiples of `grid`, in the array `out` if given; without a grid,
    return the numbers unchanged."""
    if grid is None:
        return numbers
    steps = np.divide(numbers, grid, out=out)
    return np.multiply(np.rint(steps, out=steps), grid, out=steps)


def residue(grid: float | None, epsilon: float, scale: float, d: int = 2) -> float:
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
    epsilon, scale = checks.real("epsilon", epsilon, 0, 700), checks.real("scale", scale, 0.5)
    cells = math.inf if grid is None else scale / spacing("grid", grid)
    return min(1.0, (1 + math.exp(epsilon)) * checks.integer("d", d, 1) * cells * 2.0**-46)


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
