"""Noise on a grid: reports of which no digit is finer than under any other input.

A sum of two doubles has digits that depend on how large its parts were, so the
last digits of a noisy number tell what was added to it (Mironov 2012). On a grid
that is coarser than all of these digits there is nothing to tell.
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
"""By how much less than allowed the logarithm of a probability of `histograms` falls over a
distance of 1: more than its table and one exponential round, so that the sampler keeps the whole
claim."""

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
    """Return the nearest whole multiples of `grid`, in the array `out` if given; or the numbers as
    they are without a grid."""
    if grid is None:
        return numbers
    steps = np.divide(numbers, grid, out=out)
    return np.multiply(np.rint(steps, out=steps), grid, out=steps)


def residue(grid: float | None, epsilon: float, scale: float, d: int = 2) -> float:
    """What rounded Gaussian noise keeps of the doubles below the grid: a delta to be added.

    Parameters
    ----------
    grid : float or None
        Step of the grid. Without one all is left, 1.
    epsilon : float
        Of the claim.
    scale : float
        Standard deviation of the noise, at least 1/2.
    d : int
        In how many numbers two reports may differ.

    Notes
    -----
    A draw by the ziggurat method is one of equally likely doubles in each of 256 layers; a cell of
    the grid has its share of every layer but for a few of these, its probability therefore to
    within ``2^-50``. Counted are all cells within nine standard deviations, and both inputs. Where
    the numbers depend on each other, as in a randomised gradient, this is an estimate.
    """
    epsilon, scale = checks.real("epsilon", epsilon, 0, 700), checks.real("scale", scale, 0.5)
    cells = math.inf if grid is None else scale / spacing("grid", grid)
    return min(1.0, (1 + math.exp(epsilon)) * checks.integer("d", d, 1) * cells * 2.0**-46)


@functools.lru_cache(maxsize=64)
def _table(fall: float) -> tuple[Array, Array]:
    """What inverts the law ``(1 - e^-fall) e^(-fall j)`` on 64-bit words: ends of the first 64
    values, and which of them a word may have by its first eight bits."""
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
    out, one = np.empty((values.size, k)), np.int64(1 / grid)
    mask, top = (np.uint64(1) << np.uint64(shift)) - np.uint64(1), ends[-1]
    for i in range(values.size):
        for j in range(k):
            while True:
                block = np.int64(0)
                word, state = next_word(state)
                while word >= top:  # what lies beyond the table has the same law again
                    block += ends.size
                    word, state = next_word(state)
                at = starts[word >> np.uint64(56)]
                while word >= ends[at]:
                    at += 1
                while True:  # a uniform place in the block is kept with probability e^-x, x < 1/8
                    word, state = next_word(state)
                    place = np.int64(word & mask)
                    x, u = place * rate, np.int64(word << np.uint64(1) >> np.uint64(40)) * 2.0**-24
                    if u + 2.0**-24 <= 1 - x:
                        break
                    more, state = next_word(state)  # 53 bits more where 24 do not decide
                    if u + np.int64(more >> np.uint64(11)) * 2.0**-77 < math.exp(-x):
                        break
                steps, negative = ((block + at) << shift) + place, np.int64(word) < 0
                if steps or not negative:  # or 0 would come twice as often
                    break
            steps = -steps if negative else steps
            out[i, j] = (steps + one * (j == values[i])) * grid  # added as whole numbers
    return out


def histograms(values: Array, k: int, grid: float, scale: float, state: State) -> Array:
    """One-hot vectors plus discrete Laplace noise on a grid, float array (n, k).

    Parameters
    ----------
    values : int array, shape (n,)
    k : int
    grid : float
        See `spacing`.
    scale : float
        ``P(noise = j grid)`` is proportional to ``e^(-|j| grid / scale)``; in [1/16, 2^22].
    state : tuple
        See `ldpkit.rng.state`.

    Notes
    -----
    The size of the noise in steps is geometric. It is cut into blocks of a power of two, over which
    the law falls by ``e^(-1/8)`` at most. Which block, a table of 64-bit counts tells; the place in
    it is uniform, kept with a probability near 1. No logarithm is taken, no number of steps is out
    of reach, and each has its probability but for a factor within ``1 +- 2^-48``.
    """
    fall, exponent = math.frexp(grid / scale)
    ends, starts = _table(fall / 8)
    return _histograms(values, k, grid, grid / scale, -3 - exponent, ends, starts, state)
