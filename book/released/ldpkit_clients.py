"""Describe the clients of this book's own package that send real numbers: in double precision, and on a grid."""

import math
import random

import numpy as np
from clients import Released, lattice, rounded

import ldpkit


def _noisy(name, **arguments):
    def make():
        from ldpkit.mechanisms import make as made

        mechanism, rng = made(name, k=2, epsilon=1.0, **arguments), np.random.default_rng(random.getrandbits(63))
        return lambda value: mechanism.perturb(np.array([value]), rng)[0]

    return make


def entry(name, delta=0.0):
    """Return a client that sends sums of doubles, audited by their last digits."""
    return Released(
        "ldpkit", ldpkit.__version__, f"{name}, k = 2", _noisy(name, **({"delta": delta} if delta else {})), lambda y: lattice(y[0]),
        "|y0| < 1/4 and 2⁵³ y0 is not whole (1 against 0)", (1, 0), 1.0, delta, "docstring of the class", exact=math.inf,
        source="a double is added to a double: no report of 0 can lie in the event", thread="this page", randomness="numpy.random.Generator", mend=rounded,
    )  # fmt: skip


histogram, gaussian, analytic = entry("SHE"), entry("GM", 1e-5), entry("AGM", 1e-5)
HALF = 1 / (1 + math.exp(-(2.0**-20) / 2))  # noise of scale 2 is at least 0
mended = Released("ldpkit", ldpkit.__version__, "SHE, k = 2, grid = 2^-20", _noisy("SHE", grid=2.0**-20), lambda y: y[0] >= 1 and y[1] <= 0,
                  "y0 >= 1 and y1 <= 0 (0 against 1)", stated="docstring of the class", law=(HALF**2, HALF**2 / math.e),
                  randomness="numpy.random.Generator")  # fmt: skip
