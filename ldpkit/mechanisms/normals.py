"""Normal vectors in the place of gradients: drawn and multiplied in one pass over the memory."""

import math

import numba
import numpy as np

from .. import streams
from ..types import Array

__all__ = ["normals", "combine"]


@numba.njit(cache=True, nogil=True)
def normals(gradients: Array, state: streams.State, out: Array) -> tuple[Array, Array]:
    """Fill `out` with normals (polar method); return their products with the gradients and their squared lengths."""
    n, d = gradients.shape
    dots, squares = np.empty(n), np.empty(n)
    for i in range(n):
        dot, square = 0.0, 0.0
        for j in range(0, d, 2):
            a, b, r = 0.0, 0.0, 2.0
            while r >= 1.0 or r == 0.0:
                for _ in range(2):  # two uniform numbers in [-1, 1)
                    word, state = streams.step(state)
                    a, b = b, np.int64(word >> np.uint64(11)) * 2.0**-52 - 1.0
                r = a * a + b * b
            scale = math.sqrt(-2.0 * math.log(r) / r)
            a *= scale
            out[i, j] = a
            dot += a * gradients[i, j]
            square += a * a
            if j + 1 < d:
                b *= scale
                out[i, j + 1] = b
                dot += b * gradients[i, j + 1]
                square += b * b
        dots[i], squares[i] = dot, square
    return dots, squares


@numba.njit(cache=True, nogil=True)
def combine(reports: Array, scale: Array, gradients: Array, shift: Array) -> None:
    """Turn each row of `reports` into ``scale * report + shift * gradient``."""
    for i in range(len(reports)):
        for j in range(reports.shape[1]):
            reports[i, j] = scale[i] * reports[i, j] + shift[i] * gradients[i, j]
