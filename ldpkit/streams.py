"""Random streams: one integer seed, an independent stream for every purpose.

A stream is named by what it is for (mechanism, parameters, input, chunk, ...).
The name is hashed into the spawn key of a `numpy.random.SeedSequence`, so two
different names never share a stream, and the order or the worker in which the
streams are used cannot change a result. The auditing code of the LDP-Auditor
paper derives consecutive seeds instead, which makes its repeated runs overlap.
"""

import hashlib
import json

import numpy as np

from . import checks

__all__ = ["sequence", "generator", "derive", "REHEARSAL", "Rehearsed"]

REHEARSAL = object()
"""Stands for a seed where an audit is only to be checked: the first stream that is asked for raises `Rehearsed`.

Auditors look at all their parameters before they draw, so whoever gets that far has no bad parameter."""


class Rehearsed(Exception):
    """A rehearsal reached its first random number: every parameter was accepted."""


def sequence(seed, *name):
    """Return the `SeedSequence` of the stream called `name` under `seed`.

    Parameters
    ----------
    seed : int
        Non-negative integer of any size.
    *name
        Anything JSON can write: strings, numbers, lists, dictionaries with
        string keys. Dictionaries are sorted, so their order does not matter.
    """
    if seed is REHEARSAL:
        raise Rehearsed
    seed = checks.integer("seed", seed, 0)
    text = json.dumps(name, sort_keys=True, allow_nan=True)
    words = np.frombuffer(hashlib.sha256(text.encode()).digest(), dtype="<u4")
    return np.random.SeedSequence(seed, spawn_key=tuple(int(w) for w in words))


def generator(seed, *name):
    """Return a `numpy.random.Generator` on the stream called `name` (see `sequence`)."""
    return np.random.Generator(np.random.PCG64(sequence(seed, *name)))


def derive(seed, *name):
    """Return a 63-bit integer seed that belongs to `name` alone under `seed`."""
    return seed if seed is REHEARSAL else int(sequence(seed, *name).generate_state(1, np.uint64)[0] >> np.uint64(1))
