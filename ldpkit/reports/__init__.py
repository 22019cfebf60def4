"""Report types, one file each: how to read a report, which values it supports, and the exact
distribution of reports where it is known.

A mechanism states its report type, and attacks use only the report type. Report types of several
rounds or attributes combine the results of their parts.
"""

from .anything import Anything
from .attributes import Attributes
from .base import Crafted, ExactSupport, Listed, Named, ReportType, Scored, Support
from .bits import Bits, IndependentBits
from .buckets import Buckets
from .hashed import HASH_REPORT, Hashed, hash_cell
from .number import Ends, Interval, Mixed
from .rounds import Remembered, Repeatable, Rounds
from .subset import Selection, Subset
from .value import Response, Value
from .vector import Gaussian, Laplace

# fmt: off
__all__ = [
    "ReportType", "Named", "Scored", "Repeatable", "Listed", "Crafted", "Support", "ExactSupport",
    "Value", "Response", "Bits", "IndependentBits", "Subset", "Selection", "Hashed",
    "HASH_REPORT", "hash_cell", "Laplace", "Gaussian", "Buckets", "Rounds", "Remembered",
    "Ends", "Interval", "Mixed", "Attributes", "Anything"
]
# fmt: on
