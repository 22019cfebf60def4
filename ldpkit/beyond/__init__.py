"""Protocols that none of the five papers studies, one file per family."""

from .discrete import DiscreteGaussian, DiscreteLaplace
from .fast_hashing import FLH
from .finite import FiniteMechanism
from .numeric import PM, SW, Duchi, Hybrid, NumberOracle
from .rappor import RAPPOR
from .sketch import CMS, HCMS, HM, HR

__all__ = ["HR", "HM", "CMS", "HCMS", "FLH", "RAPPOR", "PM", "Duchi", "Hybrid", "SW",
           "DiscreteLaplace", "DiscreteGaussian", "NumberOracle", "FiniteMechanism"]  # fmt: skip
