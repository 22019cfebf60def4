"""Describe the clients of ldp-toolbox."""

import importlib
import math

from clients import Released

STATED = "docstring of the constructor: privacy budget"
E = math.e


def _client(module, name, *arguments):
    def make():
        return getattr(importlib.import_module(f"ldp_toolbox.protocols.frequency.{module}"), name)(*arguments).obfuscate

    return make


def entry(name, make, event, said, law=None, **more):
    return Released("ldp-toolbox", "0.1.3", name, make, (0, 1), event, said, 1.0, stated=STATED, law=law,
                    randomness="Numba's generator", **more)  # fmt: skip


ROOT = math.exp(0.5)
W, K = 27, 100
INSIDE = W * E / (W * E + K - W)
BITS = "bit of 0 set, bit of 1 clear (0 against 1)"
grr = entry("GeneralizedRandomizedResponse", _client("grr", "GeneralizedRandomizedResponse", 10, 1.0), lambda y: y == 0, "the report is the value",
            (E / (E + 9), 1 / (E + 9)), trials=40_000)  # fmt: skip
sue = entry("UnaryEncoding, SUE", _client("ue", "UnaryEncoding", 10, 1.0, False), lambda y: y[0] == 1 and y[1] == 0, BITS,
            ((ROOT / (ROOT + 1)) ** 2, (1 / (ROOT + 1)) ** 2))  # fmt: skip
oue = entry("UnaryEncoding, OUE", _client("ue", "UnaryEncoding", 10, 1.0, True), lambda y: y[0] == 1 and y[1] == 0, BITS,
            (0.5 * E / (E + 1), 0.5 / (E + 1)))  # fmt: skip
subset = entry("SubsetSelection", _client("ss", "SubsetSelection", K, 1.0), lambda y: 0 in y and 1 not in y, "holds 0 and not 1 (0 against 1)",
               (INSIDE * (K - W) / (K - 1), (1 - INSIDE) * W / (K - 1)))  # fmt: skip
thresholded = entry("HistogramEncoding, thresholded", _client("he", "HistogramEncoding", 10, 1.0, True), lambda y: 0 in y and 1 not in y,
                    "0 is sent and 1 is not (0 against 1)")  # fmt: skip
