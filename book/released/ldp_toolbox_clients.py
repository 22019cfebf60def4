"""Describe the clients of ldp-toolbox."""

from clients import BITS, SUBSET_LAW, VALUE, K, Released, bit, made, unary_law, value_law


def entry(name, place, arguments, event, said, law=None, **more):
    make = made(f"ldp_toolbox.protocols.frequency.{place}", *arguments, call="obfuscate")
    return Released("ldp-toolbox", "0.1.3", name, make, event, said, stated="docstring of the constructor: privacy budget", law=law,
                    randomness="Numba's generator", **more)  # fmt: skip


grr = entry(
    "GeneralizedRandomizedResponse",
    "grr:GeneralizedRandomizedResponse",
    (10, 1.0),
    lambda y: y == 0,
    VALUE,
    value_law(10),
    trials=40_000,
)
sue = entry("UnaryEncoding, SUE", "ue:UnaryEncoding", (10, 1.0, False), bit, BITS, unary_law(False))
oue = entry("UnaryEncoding, OUE", "ue:UnaryEncoding", (10, 1.0, True), bit, BITS, unary_law(True))
subset = entry(
    "SubsetSelection",
    "ss:SubsetSelection",
    (K, 1.0),
    lambda y: 0 in y and 1 not in y,
    "holds 0 and not 1 (0 against 1)",
    SUBSET_LAW,
)
thresholded = entry("HistogramEncoding, thresholded", "he:HistogramEncoding", (10, 1.0, True), lambda y: 0 in y and 1 not in y,
                    "0 is sent and 1 is not (0 against 1)")  # fmt: skip
