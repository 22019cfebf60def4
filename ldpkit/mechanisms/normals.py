"""Normal vectors in the place of gradients: drawn and multiplied in one pass over the memory."""

import math

import numba
import numpy as np

from .. import streams
from ..types import Array

__all__ = ["normals", "combine"]


_LAYERS = 256


def _edges() -> Array:
    """Right edges of layers of one area under ``exp(-x^2 / 2)``, from the lowest, which holds the tail as well, to the top."""

    def stack(tail: float) -> tuple[list[float], float]:
        """Edges if the tail begins there, and the height at which the last layer ends."""
        height = math.exp(-tail * tail / 2)
        area = tail * height + math.sqrt(math.pi / 2) * math.erfc(tail / math.sqrt(2))
        edges = [area / height, tail]
        for _ in range(_LAYERS - 1):
            height += area / edges[-1]
            edges.append(math.sqrt(max(-2 * math.log(height), 1e-300)))
        return edges[:-1], height

    low, high = 3.0, 5.0  # the tail begins where the last layer ends at height 1; it ends above for an early tail
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (middle, high) if stack(middle)[1] > 1 else (low, middle)
    return np.array([*stack(high)[0], 0.0])


_EDGES = _edges()
_HEIGHTS = np.exp(-(_EDGES**2) / 2)


@numba.njit(cache=True, nogil=True)
def _uniform(state: streams.State) -> tuple[float, streams.State]:
    word, state = streams.step(state)
    return np.int64(word >> np.uint64(11)) * 2.0**-53, state


@numba.njit(cache=True, nogil=True)
def _edge_of(layer: np.int64, x: float, state: streams.State) -> tuple[float, streams.State]:
    """Decide what fell outside the sure part of its layer; return x, a value of the tail, or 0 for another try."""
    u, state = _uniform(state)
    if layer:
        below = _HEIGHTS[layer] + u * (_HEIGHTS[layer + 1] - _HEIGHTS[layer]) < math.exp(-x * x / 2)
        return (x if below else 0.0), state
    while True:
        v, state = _uniform(state)
        beyond = -math.log(1 - u) / _EDGES[1]
        if -2 * math.log(1 - v) >= beyond * beyond:
            return math.copysign(_EDGES[1] + beyond, x), state
        u, state = _uniform(state)


@numba.njit(cache=True, nogil=True)
def normals(gradients: Array, state: streams.State, out: Array) -> tuple[Array, Array]:
    """Fill `out` with normals (ziggurat); return their products with the gradients and their squared lengths.

    Source: Marsaglia and Tsang, "The ziggurat method for generating random variables", 2000; layer and place come from
    different bits of a word (Doornik 2005).
    """
    n, d = gradients.shape
    dots, squares = np.empty(n), np.empty(n)
    for i in range(n):
        dot, square = 0.0, 0.0
        for j in range(d):
            x = 0.0
            while x == 0.0:
                word, state = streams.step(state)
                layer = np.int64(word & np.uint64(_LAYERS - 1))
                x = (np.int64(word) >> np.int64(11)) * 2.0**-52 * _EDGES[layer]  # uniform in the layer, to both sides
                if abs(x) >= _EDGES[layer + 1]:
                    x, state = _edge_of(layer, x, state)
            out[i, j] = x
            dot += x * gradients[i, j]
            square += x * x
        dots[i], squares[i] = dot, square
    return dots, squares


@numba.njit(cache=True, nogil=True)
def combine(reports: Array, scale: Array, gradients: Array, shift: Array) -> None:
    """Turn each row of `reports` into ``scale * report + shift * gradient``."""
    for i in range(len(reports)):
        for j in range(reports.shape[1]):
            reports[i, j] = scale[i] * reports[i, j] + shift[i] * gradients[i, j]
