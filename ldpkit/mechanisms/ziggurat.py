"""Compiled normal and Laplace noise by the ziggurat method, and normals together with their
products with gradients.

The density is covered by layers of equal area. A random place in a layer almost always lies under
the next layer too; then the sample costs one random word and one comparison. Layer and place come
from different bits of the word (Doornik 2005).

Source: Marsaglia and Tsang, "The ziggurat method for generating random variables", 2000.
"""

import math
from collections.abc import Callable

import numpy as np

from ..jit import kernel
from ..rng import State, next_uniform, next_word
from ..types import Array

__all__ = ["normals", "combine", "laplace"]

_LAYERS = 256


def _edges(
    density: Callable[[float], float],
    inverse: Callable[[float], float],
    beyond: Callable[[float], float],
) -> Array:
    """Right edges of layers of equal area, from the lowest layer, which includes the tail, to the
    top.

    The `density` on x >= 0 falls from 1; `inverse` is its inverse function, and `beyond` the mass
    beyond a point.
    """

    def stack(tail: float) -> tuple[list[float], float]:
        """Edges for a tail that begins at `tail`, and the height at which the last layer ends."""
        height = density(tail)
        area = tail * height + beyond(tail)
        edges = [area / height, tail]
        for _ in range(_LAYERS - 1):
            height += area / max(edges[-1], 1e-300)
            edges.append(inverse(min(height, 1.0)))
        return edges[:-1], height

    # find the tail for which the last layer ends at height 1; for a smaller one it ends above 1
    low, high = 3.0, 9.0
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (middle, high) if stack(middle)[1] > 1 else (low, middle)
    return np.array([*stack(high)[0], 0.0])


_NORMAL = _edges(lambda x: math.exp(-x * x / 2), lambda h: math.sqrt(-2 * math.log(h)),
                 lambda x: math.sqrt(math.pi / 2) * math.erfc(x / math.sqrt(2)))  # fmt: skip
_NORMAL_HEIGHTS = np.exp(-(_NORMAL**2) / 2)
_LAPLACE = _edges(lambda x: math.exp(-x), lambda h: -math.log(h), lambda x: math.exp(-x))
_LAPLACE_HEIGHTS = np.exp(-_LAPLACE)


@kernel
def _place(edges: Array, state: State) -> tuple[np.int64, float, State]:
    """Return a random layer, a uniform place in this layer on either side of 0, and the state."""
    word, state = next_word(state)
    layer = np.int64(word & np.uint64(_LAYERS - 1))
    return layer, (np.int64(word) >> np.int64(11)) * 2.0**-52 * edges[layer], state


@kernel
def _rare_normal(layer: np.int64, x: float, state: State) -> tuple[float, State]:
    """Decide about a place x outside the next layer; return x, a value of the tail, or 0 for
    another attempt, and the state."""
    u, state = next_uniform(state)
    if layer:
        height = _NORMAL_HEIGHTS[layer] + u * (_NORMAL_HEIGHTS[layer + 1] - _NORMAL_HEIGHTS[layer])
        return (x if height < math.exp(-x * x / 2) else 0.0), state
    while True:
        v, state = next_uniform(state)
        past = -math.log(1 - u) / _NORMAL[1]
        if -2 * math.log(1 - v) >= past * past:
            return math.copysign(_NORMAL[1] + past, x), state
        u, state = next_uniform(state)


@kernel
def _rare_laplace(layer: np.int64, x: float, state: State) -> tuple[float, State]:
    """As `_rare_normal`, for Laplace noise."""
    u, state = next_uniform(state)
    if layer:
        height = _LAPLACE_HEIGHTS[layer] + u * (
            _LAPLACE_HEIGHTS[layer + 1] - _LAPLACE_HEIGHTS[layer]
        )
        return (x if height < math.exp(-abs(x)) else 0.0), state
    return math.copysign(_LAPLACE[1] - math.log(1 - u), x), state  # the tail is exponential again


@kernel
def laplace(out: Array, state: State) -> State:
    """Fill a row with Laplace noise of scale 1; return the next state."""
    for j in range(out.size):
        x = 0.0
        while x == 0.0:
            layer, x, state = _place(_LAPLACE, state)
            if abs(x) >= _LAPLACE[layer + 1]:
                x, state = _rare_laplace(layer, x, state)
        out[j] = x
    return state


@kernel
def normals(gradients: Array, state: State, out: Array) -> tuple[Array, Array]:
    """Fill `out` with normals; return each row's inner product with its gradient, and each row's
    squared length."""
    n, d = gradients.shape
    dots, squares = np.empty(n), np.empty(n)
    for i in range(n):
        dot, square = 0.0, 0.0
        for j in range(d):
            x = 0.0
            while x == 0.0:
                layer, x, state = _place(_NORMAL, state)
                if abs(x) >= _NORMAL[layer + 1]:
                    x, state = _rare_normal(layer, x, state)
            out[i, j] = x
            dot += x * gradients[i, j]
            square += x * x
        dots[i], squares[i] = dot, square
    return dots, squares


@kernel
def combine(reports: Array, scale: Array, gradients: Array, shift: Array) -> None:
    """Turn each row of `reports` into ``scale * report + shift * gradient``."""
    for i in range(len(reports)):
        for j in range(reports.shape[1]):
            reports[i, j] = scale[i] * reports[i, j] + shift[i] * gradients[i, j]
