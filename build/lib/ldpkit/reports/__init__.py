"""Report types: how to read a report, which values it supports, and the exact distribution of
reports where it is known.

A mechanism states its report type, and attacks use only the report type. Report types of several
rounds or attributes combine the results of their parts. A report type that a single family of
`ldpkit.beyond` uses stands in the file of that family.
"""

from .base import ExactSupport, Independent, ReportType, Support
from .numbers import Gaussian, Laplace, Noisy
from .rounds import Attributes, Rounds
from .values import (
    HASH_REPORT,
    Bits,
    Hashed,
    IndependentBits,
    Response,
    Selection,
    Subset,
    Value,
    hash_cell,
)

# fmt: off
__all__ = [
    "ReportType", "Support", "ExactSupport", "Independent", "Value", "Response", "Bits",
    "IndependentBits", "Subset", "Selection", "Hashed", "HASH_REPORT", "hash_cell", "Noisy",
    "Laplace", "Gaussian", "Rounds", "Attributes"
]
# fmt: on
