"""Kinds of report: one file each, with how it is read, what it supports, and its law where that is
known.

A mechanism names its kind; attacks ask the kind. Kinds of several rounds,
attributes or buckets ask their parts.
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
