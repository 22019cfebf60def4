"""Report types: how to read a report, which values it supports, and the exact distribution of
reports where it is known.

A mechanism states its report type, and attacks use only the report type. Report types of several
rounds or attributes combine the results of their parts.
"""

from .anything import Anything
from .base import ExactSupport, Independent, ReportType, Support
from .hadamard import Index, Signs, Sketch
from .hashed import HASH_REPORT, Bloom, Hashed, hash_cell
from .numbers import Ends, Gaussian, Interval, Laplace, Mixed, Noisy
from .rounds import Attributes, Rounds
from .values import (
    Bits,
    Buckets,
    ChainedBits,
    ChainedResponse,
    IndependentBits,
    Response,
    Selection,
    Subset,
    Value,
)

# fmt: off
__all__ = [
    "ReportType", "Support", "ExactSupport", "Independent", "Value", "Response", "ChainedResponse",
    "Bits", "IndependentBits", "ChainedBits", "Subset", "Selection", "Hashed", "HASH_REPORT",
    "hash_cell", "Noisy", "Laplace", "Gaussian", "Buckets", "Rounds", "Ends", "Interval", "Mixed",
    "Attributes", "Index", "Signs", "Sketch", "Bloom", "Anything"
]
# fmt: on
