"""Random streams: one integer seed, and an independent stream for every purpose.

The name of a stream states its purpose (mechanism, parameters, input, chunk, ...). The name is
hashed into the spawn key of a `numpy.random.SeedSequence`. Therefore two different names never
share a stream, and a result depends neither on the order of the streams nor on the number of
workers. The auditing code of the LDP-Auditor paper uses consecutive seeds instead, so that its
repeated runs overlap.
"""

import hashlib
import json

import numpy as np

from . import checks
from .jit import kernel
from .types import Rng

__all__ = ["sequence", "generator", "derive", "first_state", "next_word", "next_uniform"]


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
