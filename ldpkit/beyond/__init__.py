"""Protocols that none of the five papers studies, one file per family."""

from .discrete import DiscreteGaussian, DiscreteLaplace
from .fast_hashing import FLH
from .finite import FiniteMechanism
from .numeric import PM, SW, Duchi, Hybrid, NumberOracle
from .rappor import RAPPOR
from .sketch import CMS, HCMS, HM, HR

__all__ = ["FiniteMechanism", "MECHANISMS", "NumberOracle"]

MECHANISMS = {
    m.__name__: m
    for m in (HR, HM, CMS, HCMS, FLH, RAPPOR, PM, Duchi, Hybrid, SW,
              DiscreteLaplace, DiscreteGaussian)
}  # fmt: skip
"""The protocols by name, which `ldpkit.mechanisms.MECHANISMS` offers, too."""

__all__ += MECHANISMS
