"""Provide clients with broken or shared randomness, in a module that another process can import."""

import numpy as np

P, Q = np.e / (np.e + 9), 1 / (np.e + 1)  # GRR and OUE for ten values at epsilon = 1
MEMORY = {}


def respond(values, rng):
    """Return reports of a correct GRR."""
    keep = rng.random(len(values)) < P
    return np.where(keep, values, (values + rng.integers(1, 10, len(values))) % 10)


def encode(values, rng):
    """Return reports of a correct OUE."""
    bits = rng.random((len(values), 10)) < Q
    bits[np.arange(len(values)), values] = rng.random(len(values)) < 0.5
    return bits


def seeded_inside(values, rng):
    return respond(values, np.random.default_rng(0))


def seeded_inside_bits(values, rng):
    return encode(values, np.random.default_rng(0))


def seeded_by_value(values, rng):
    return respond(values, np.random.default_rng(int(values[0])))


def seeded_per_call(value):
    return int(respond(np.array([value]), np.random.default_rng(0))[0])


def seeded_per_call_bits(value):
    return encode(np.array([value]), np.random.default_rng(0))[0]


def remembered(values, rng):
    for value in set(values.tolist()) - MEMORY.keys():
        MEMORY[value] = int(respond(np.array([value]), np.random.default_rng())[0])
    return np.array([MEMORY[value] for value in values.tolist()])


def one_coin(values, rng):
    lie = (values + rng.integers(1, 10, len(values))) % 10
    return values if rng.random() < P else lie


def one_report(values, rng):
    return np.full(len(values), respond(values[:1], rng)[0])


def sticky(values, rng):
    """Return reports of GRR in which every second report repeats the one before it."""
    fresh = respond(values, rng)
    fresh[1::2] = fresh[: len(fresh) // 2 * 2 : 2]
    return fresh


def identity(value):
    return value
