"""Report types, one file each: how to read a report, which values it supports, and the exact
distribution of reports where it is known.

A mechanism states its report type, and attacks use only the report type. Report types of several
rounds or attributes combine the results of their parts.
"""

from .anything import Anything
from .attributes import Attributes
from .base import ExactSupport, Independent, ReportType, Support
from .bits import Bits, ChainedBits, IndependentBits
from .bloom import Bloom
from .buckets import Buckets
from .hadamard import Index, Signs
from .hashed import HASH_REPORT, Hashed, hash_cell
from .number import Ends, Interval, Mixed
from .rounds import Rounds
from .sketch import HashedSigns, Sketch
from .subset import Selection, Subset
from .value import ChainedResponse, Response, Value
from .vector import Gaussian, Laplace, Noisy

# fmt: off
__all__ = [
    "ReportType", "Support", "ExactSupport", "Independent", "Value", "Response", "ChainedResponse",
    "Bits", "IndependentBits", "ChainedBits", "Subset", "Selection", "Hashed", "HASH_REPORT",
    "hash_cell", "Noisy", "Laplace", "Gaussian", "Buckets", "Rounds", "Ends", "Interval", "Mixed",
    "Attributes", "Index", "Signs", "Sketch", "HashedSigns", "Bloom", "Anything"
]
# fmt: on
