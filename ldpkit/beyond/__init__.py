"""Protocols that none of the five papers studies, one file per family."""

from .finite import FiniteMechanism
from .hadamard import HM, HR
from .longitudinal import BucketFlip, Chained
from .numeric import PM, SW, Duchi, Hybrid, NumberOracle
from .rappor import RAPPOR
from .sketch import CMS, HCMS

__all__ = ["HR", "HM", "CMS", "HCMS", "RAPPOR", "PM", "Duchi", "Hybrid", "SW", "NumberOracle",
           "BucketFlip", "Chained", "FiniteMechanism"]  # fmt: skip
