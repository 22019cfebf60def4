"""Clients of this book's own package that send real numbers in double precision."""

import math
import random

import numpy as np
from hall import Released, lattice, rounded

import ldpkit


def _noisy(name, **arguments):
    def make():
        from ldpkit.mechanisms import make as made

        mechanism, rng = made(name, k=2, epsilon=1.0, **arguments), np.random.default_rng(random.getrandbits(63))
        return lambda value: mechanism.perturb(np.array([value]), rng)[0]

    return make


def entry(name, delta=0.0):
    return Released(
        "ldpkit", ldpkit.__version__, f"{name}, k = 2", _noisy(name, **({"delta": delta} if delta else {})), (1, 0), lambda y: lattice(y[0]),
        "|y0| < 1/4 and y0 2^53 is not whole (1 against 0)", 1.0, delta, "docstring of the class", exact=math.inf,
        source="a double is added to a double: no report of 0 can lie in the event", thread="this page", randomness="numpy.random.Generator", mend=rounded,
    )  # fmt: skip


histogram, gaussian, analytic = entry("SHE"), entry("GM", 1e-5), entry("AGM", 1e-5)
