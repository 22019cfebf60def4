"""Random streams: one integer seed, and an independent stream for every purpose; and random
numbers for compiled loops.

The name of a stream states its purpose (mechanism, parameters, input, chunk, ...). The name is
hashed into the spawn key of a `numpy.random.SeedSequence`. Therefore two different names never
share a stream, and a result depends neither on the order of the streams nor on the number of
workers. The auditing code of the LDP-Auditor paper uses consecutive seeds instead, so that its
repeated runs overlap.
"""

import functools
import hashlib
import json
import math
from collections.abc import Callable

import numpy as np

from . import checks
from .jit import kernel
from .types import Array, Rng

__all__ = [
    "sequence", "generator", "derive", "first_state", "next_word", "next_uniform", "normals",
    "laplace",
]  # fmt: skip


def sequence(seed: int, *name: object) -> np.random.SeedSequence:
    """Return the `SeedSequence` of the stream called `name` under `seed`.

    Parameters
    ----------
    seed : int
        Non-negative integer of any size.
    *name
        Objects that JSON can write: strings, numbers, lists, dictionaries with string keys.
        Dictionaries are sorted, therefore the order of their keys does not matter.

    Raises
    ------
    TypeError
        If JSON cannot write a part of the name.
    """
    seed = checks.integer("seed", seed, 0)
    try:
        text = json.dumps(name, sort_keys=True, allow_nan=True)
    except TypeError as error:
        raise TypeError(
            f"the name of a stream must be made of objects that JSON can write, got {name!r}"
        ) from error
    words = np.frombuffer(hashlib.sha256(text.encode()).digest(), dtype="<u4")
    return np.random.SeedSequence(seed, spawn_key=tuple(int(w) for w in words))


def generator(seed: int, *name: object) -> Rng:
    """Return a `numpy.random.Generator` on the stream called `name` (see `sequence`)."""
    return np.random.Generator(np.random.PCG64(sequence(seed, *name)))


def derive(seed: int, *name: object) -> int:
    """Return the 63-bit integer seed of the stream called `name` under `seed`."""
    return int(sequence(seed, *name).generate_state(1, np.uint64)[0] >> np.uint64(1))


State = tuple[np.uint64, np.uint64, np.uint64, np.uint64]


def first_state(rng: np.random.Generator) -> State:
    """Sample a first state for `next_word`."""
    return tuple(rng.integers(0, 2**64, 4, dtype=np.uint64))


@kernel
def next_word(state: State) -> tuple[np.uint64, State]:
    """Return a random word of xoshiro256++ and the next state; a compiled loop keeps the state in
    registers.

    Source: Blackman and Vigna, "Scrambled linear pseudorandom number generators", 2021.
    """
    s0, s1, s2, s3 = state
    word = s0 + s3
    word = ((word << np.uint64(23)) | (word >> np.uint64(41))) + s0
    shifted = s1 << np.uint64(17)
    s2 ^= s0
    s3 ^= s1
    s1 ^= s2
    s0 ^= s3
    s2 ^= shifted
    s3 = (s3 << np.uint64(45)) | (s3 >> np.uint64(19))
    return word, (s0, s1, s2, s3)


@kernel
def next_uniform(state: State) -> tuple[float, State]:
    """Return a uniform multiple of 2^-53 in [0, 1), and the next state."""
    word, state = next_word(state)
    return np.int64(word >> np.uint64(11)) * 2.0**-53, state


# --- normal and Laplace numbers by the ziggurat method --------------------------------------------
#
# The density is covered by layers of equal area. A random place in a layer almost always lies under
# the next layer too; then the sample costs one random word and one comparison. Layer and place come
# from different bits of the word (Doornik 2005). Source: Marsaglia and Tsang, "The ziggurat method
# for generating random variables", 2000.

_LAYERS = 256


def _edges(tail: float, density: Callable[[float], float], inverse: Callable[[float], float],
           beyond: Callable[[float], float]) -> Array:  # fmt: skip
    """Right edges of layers of equal area, from the lowest layer, which includes the tail, to the
    top.

    The `density` on x >= 0 falls from 1; `inverse` is its inverse function, and `beyond` the mass
    beyond a point. The last layer ends at height 1 only for one number `tail`, where the tail
    begins.
    """
    height = density(tail)
    area = tail * height + beyond(tail)
    edges = [area / height, tail]
    for _ in range(_LAYERS - 2):
        height += area / edges[-1]
        edges.append(inverse(height))
    return np.array([*edges, 0.0])


_NORMAL = _edges(3.6541528853610092, lambda x: math.exp(-x * x / 2),
                 lambda h: math.sqrt(-2 * math.log(h)),
                 lambda x: math.sqrt(math.pi / 2) * math.erfc(x / math.sqrt(2)))  # fmt: skip
_LAPLACE = _edges(7.69711747013105, lambda x: math.exp(-x), lambda h: -math.log(h),
                  lambda x: math.exp(-x))  # fmt: skip
_NORMAL_HEIGHTS = np.exp(-(_NORMAL**2) / 2)
_LAPLACE_HEIGHTS = np.exp(-_LAPLACE)


@kernel
def _place(edges: Array, state: State) -> tuple[np.int64, float, State]:
    """Sample a layer, and a place in it on either side of 0."""
    word, state = next_word(state)
    layer = np.int64(word & np.uint64(_LAYERS - 1))
    return layer, (np.int64(word) >> np.int64(11)) * 2.0**-52 * edges[layer], state


@kernel
def _rare(normal: bool, layer: np.int64, x: float, state: State) -> tuple[float, State]:
    """Decide about a place x outside the next layer, and about others until one is accepted."""
    edges, heights = (_NORMAL, _NORMAL_HEIGHTS) if normal else (_LAPLACE, _LAPLACE_HEIGHTS)
    while abs(x) >= edges[layer + 1]:
        u, state = next_uniform(state)
        if layer:
            height = heights[layer] + u * (heights[layer + 1] - heights[layer])
            if height < math.exp(-x * x / 2 if normal else -abs(x)):
                break
        elif not normal:  # the tail is exponential again
            return math.copysign(edges[1] - math.log(1 - u), x), state
        else:
            while True:
                v, state = next_uniform(state)
                past = -math.log(1 - u) / edges[1]
                if -2 * math.log(1 - v) >= past * past:
                    return math.copysign(edges[1] + past, x), state
                u, state = next_uniform(state)
        layer, x, state = _place(edges, state)
    return x, state


@functools.partial(kernel, inline="always")
def _sample(normal: bool, edges: Array, state: State) -> tuple[float, State]:
    """Sample a normal or a Laplace number; return it and the next state."""
    layer, x, state = _place(edges, state)
    if abs(x) >= edges[layer + 1]:  # the rest stands apart, so that this part stays in registers
        x, state = _rare(normal, layer, x, state)
    return x, state


@kernel
def laplace(out: Array, scale: float, state: State) -> None:
    """Fill a row with Laplace noise."""
    for j in range(out.size):
        x, state = _sample(False, _LAPLACE, state)
        out[j] = scale * x


@kernel
def normals(gradients: Array, state: State, out: Array) -> tuple[Array, Array]:
    """Fill `out` with normals; return each row's inner product with its gradient, and each row's
    squared length."""
    n, d = gradients.shape
    dots, squares = np.empty(n), np.empty(n)
    for i in range(n):
        dot, square = 0.0, 0.0
        for j in range(d):
            x, state = _sample(True, _NORMAL, state)
            out[i, j] = x
            dot += x * gradients[i, j]
            square += x * x
        dots[i], squares[i] = dot, square
    return dots, squares
