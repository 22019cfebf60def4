"""Describe mechanisms of diffprivlib for one value: those with noise in double precision, and the discrete ones."""

import math
from dataclasses import replace

from clients import Released, lattice, made, rounded, value_law

KNOWN = {"package": "diffprivlib", "version": "0.6.6", "stated": "docstring of the class"}


def entry(name, event, said, inputs, delta, trials, arguments, **more):
    given = {"epsilon": 1.0} | ({"delta": delta} if delta else {}) | arguments
    return Released(name=name, make=made(f"diffprivlib.mechanisms:{name}", call="randomise", **given), event=event, said=said, inputs=inputs,
                    delta=delta, randomness="random.SystemRandom, of the operating system", trials=trials, **KNOWN, **more)  # fmt: skip


def model_laplace(value, rng, mended=False):
    """Return a number with Laplace noise in double precision; if mended, round the sum to whole multiples of 2^-20."""
    report = value + rng.laplace()
    return round(report * 2**20) / 2**20 if mended else report


def noisy(name, delta=0.0, **arguments):
    """Return a client that adds noise to a number in double precision."""
    return entry(
        name, lattice, "|y| < 1/4 and 2⁵³ y is not whole (0 against 1)", (0.0, 1.0), delta, 10_000, {"sensitivity": 1.0} | arguments,
        exact=math.inf, source="a double is added to a double: no report of 1 can lie in the event",
        thread="diffprivlib, issues 19 and 94", mend=rounded,
    )  # fmt: skip


ENDS = {"lower": -5, "upper": 5}
laplace = replace(noisy("Laplace"), model=model_laplace)
truncated = noisy("LaplaceTruncated", **ENDS)
folded = noisy("LaplaceFolded", **ENDS)
bounded = noisy("LaplaceBoundedDomain", **ENDS)
bounded_noise = noisy("LaplaceBoundedNoise", delta=0.01)
gaussian = noisy("Gaussian", delta=0.01)
analytic = noisy("GaussianAnalytic", delta=0.01)
staircase = noisy("Staircase")


def other(name, inputs, event, said, law=None, delta=0.0, trials=10_000, **arguments):
    return entry(name, event, said, inputs, delta, trials, arguments, law=law)


HALF = value_law(2)
ONE = "the report is at least 1 (1 against 0)"
snapping = other("Snapping", (1.0, 0.0), lambda y: y >= 1, ONE, sensitivity=1.0, trials=5000, **ENDS)
geometric = other("Geometric", (1, 0), lambda y: y >= 1, ONE, HALF, sensitivity=1, trials=20_000)
geometric_truncated = other(
    "GeometricTruncated", (1, 0), lambda y: y >= 1, ONE, HALF, sensitivity=1, lower=0, upper=10, trials=20_000
)
geometric_folded = other(
    "GeometricFolded", (0, 1), lambda y: y == 0, "the report is 0 (0 against 1)", sensitivity=1, lower=0, upper=10
)
binary = other("Binary", ("a", "b"), lambda y: y == "a", "the report is the value", HALF, value0="a", value1="b", trials=20_000)
discrete = other(
    "GaussianDiscrete", (1, 0), lambda y: y >= 3, "the report is at least 3 (1 against 0)", delta=0.01, sensitivity=1, trials=3000
)
categorical = other("ExponentialCategorical", ("a", "c"), lambda y: y == "a", "the report is the first value",
                    utility_list=[["a", "b", 1.0], ["a", "c", 2.0], ["b", "c", 1.0]])  # fmt: skip
hierarchical = other(
    "ExponentialHierarchical", ("a", "c"), lambda y: y == "a", "the report is the first value", hierarchy=[["a", "b"], ["c"]]
)
uniform = replace(
    noisy("Uniform", delta=0.4),
    make=made("diffprivlib.mechanisms:Uniform", call="randomise", delta=0.4, sensitivity=1.0),
    claim=0.0,
    event=lambda y: y < -0.25 or lattice(y),
    said="y < -1/4, or |y| < 1/4 and 2⁵³ y is not whole (0 against 1)",
    name="Uniform(delta=.4)",
)
matrices = Released(name="Bingham, Vector, Exponential, PermuteAndFlip",
                    source="they take a matrix, a function or fixed utilities: no value gives a report", **KNOWN)  # fmt: skip
