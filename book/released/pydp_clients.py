"""Describe the noise of PyDP, the Python package of a library in C++."""

import math

from clients import Released, made

_laplace = made("pydp.algorithms.numerical_mechanisms:LaplaceMechanism", epsilon=1.0, sensitivity=1.0, call="add_noise")
laplace = Released("python-dp", "1.1.5", "LaplaceMechanism", _laplace, lambda y: y <= 0, "the report is at most 0 (0 against 1)", (0.0, 1.0),
                   stated="constructor", law=(0.5, 0.5 / math.e), randomness="compiled C++, cannot be seeded")  # fmt: skip
