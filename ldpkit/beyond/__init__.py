# ruff: noqa: F401 # an import is an entry of the registry
"""Protocols that none of the five papers studies, one file per family.

Every class that is imported here is offered by `ldpkit.mechanisms`, and all but two have a name in
`MECHANISMS`, and therefore on the command line.
"""

from .discrete import DiscreteGaussian, DiscreteLaplace
from .fast_hashing import FLH
from .finite import FiniteMechanism
from .hadamard import HM, HR
from .numeric import PM, SW, Duchi, Hybrid, NumberOracle
from .rappor import RAPPOR
from .sketch import CMS, HCMS

_CLASSES = {name: cls for name, cls in globals().items() if isinstance(cls, type)}
# the first has a matrix for its parameter, and the second is a base
MECHANISMS = {n: cls for n, cls in _CLASSES.items() if cls not in (FiniteMechanism, NumberOracle)}
"""The protocols by name, which `ldpkit.mechanisms.MECHANISMS` offers, too."""

__all__ = ["MECHANISMS", *_CLASSES]
