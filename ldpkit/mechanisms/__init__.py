"""Mechanisms of the five papers, one file per family with the same methods, and their names."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from .. import checks
from ..types import Word
from .base import FrequencyOracle, LocalRandomizer, Mechanism, SupportOracle, build
from .client import Client
from .cpp import CPP, CPPGRR, CPPUE, PrivKV
from .gaussian import AGM, GM
from .gradient import GRADIENT, LDPSGD, PrivUnit, PrivUnitG
from .grr import AGRR, GRR
from .hashing import ABLH, ALH, AOLH, BLH, LHO, OLH
from .histogram import ATHE, SHE, THE
from .keyvalue import KeyValues
from .longitudinal import Repeated
from .multidimensional import BASES, RSFD
from .pckv import PCKV, PCKVGRR, PCKVUE
from .process import ClientError, Program
from .recordings import recorded
from .subset import ASS, SS, FloorSS
from .unary import ASUE, AUE, OUE, SUE, FaultyUE

if TYPE_CHECKING:
    from ..beyond.discrete import DiscreteGaussian, DiscreteLaplace
    from ..beyond.fast_hashing import FLH
    from ..beyond.finite import FiniteMechanism
    from ..beyond.hadamard import HM, HR
    from ..beyond.longitudinal import BucketFlip, Chained
    from ..beyond.numeric import PM, SW, Duchi, Hybrid, NumberOracle
    from ..beyond.rappor import RAPPOR
    from ..beyond.sketch import CMS, HCMS

# fmt: off
__all__ = [
    "MECHANISMS", "KEY_VALUE", "make", "takes", "Mechanism", "LocalRandomizer", "FrequencyOracle",
    "SupportOracle", "NumberOracle", "GRR", "SS", "SUE", "OUE", "BLH", "OLH", "SHE", "THE", "LHO",
    "ASS", "AUE", "ALH", "ATHE", "HR", "HM", "CMS", "HCMS", "FLH", "RAPPOR", "PM", "Duchi",
    "Hybrid", "SW", "DiscreteLaplace", "DiscreteGaussian", "AGRR", "ASUE", "ABLH", "AOLH", "GM",
    "AGM", "RSFD", "Repeated", "Chained", "BucketFlip",
    "KeyValues", "PCKVUE", "PCKVGRR", "CPPUE", "CPPGRR", "PrivKV", "FaultyUE", "Client",
    "ClientError", "FloorSS", "GRADIENT", "LDPSGD", "PrivUnit", "PrivUnitG", "Program", "recorded",
    "FiniteMechanism"
]
# fmt: on

_OWN: dict[str, Callable[..., LocalRandomizer]] = {
    m.name: m
    for m in (GRR, SS, FloorSS, SUE, OUE, BLH, OLH, SHE, THE, LHO, ASS, AUE, ALH, ATHE,
              AGRR, ASUE, ABLH, AOLH, GM, AGM, FaultyUE)
}  # fmt: skip
_OWN |= {f"RSFD[{base}]": partial(RSFD, base=base) for base in BASES}

_BEYOND = ("HR", "HM", "CMS", "HCMS", "FLH", "RAPPOR", "PM", "Duchi", "Hybrid", "SW",
           "DiscreteLaplace", "DiscreteGaussian",
           "NumberOracle", "BucketFlip", "Chained", "FiniteMechanism")  # fmt: skip
_LATER: dict[str, tuple[str, dict[str, str]]] = {name: (name, {}) for name in _BEYOND[:-4]}
_LATER |= {"dBitFlipPM": ("BucketFlip", {})}
_LATER |= {f"L-{name}": ("Chained", {"protocol": name}) for name in ("SUE", "OSUE", "OUE", "GRR")}


def __getattr__(name: str) -> Any:
    if name not in _BEYOND:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .. import beyond

    return getattr(beyond, name)


class _Mechanisms(Mapping[str, Callable[..., LocalRandomizer]]):
    """The mechanisms by name; a file of `ldpkit.beyond` is imported when one of its mechanisms is
    first used."""

    def __getitem__(self, name: str) -> Callable[..., LocalRandomizer]:
        if name in _OWN:
            return _OWN[name]
        cls, fixed = _LATER[name]
        return partial(__getattr__(cls), **fixed) if fixed else __getattr__(cls)

    def __iter__(self) -> Iterator[str]:
        yield from (*_OWN, *_LATER)

    def __len__(self) -> int:
        return len(_OWN) + len(_LATER)


MECHANISMS = _Mechanisms()
"""The mechanisms by their names in the literature."""

KEY_VALUE: dict[str, type[PCKV | CPP]] = {
    m.name: m for m in (PCKVUE, PCKVGRR, CPPUE, CPPGRR, PrivKV)
}
"""The key-value mechanisms by name."""


def takes(name: str, parameter: str) -> bool:
    """Whether the mechanism called `name` has a field `parameter`."""
    cls = MECHANISMS[checks.one_of("mechanism", name, MECHANISMS)]
    return parameter in inspect.signature(cls).parameters


def make(name: str, /, **parameters: Word) -> Any:
    """Build a mechanism from its name and parameters.

    Parameters
    ----------
    name : str
        A key of `MECHANISMS`.
    **parameters
        Fields of the mechanism; ``None`` means not given. `tau` (and `memoise`) wrap a mechanism
        that has no such field in `Repeated`.

    Raises
    ------
    ValueError
        If the name is unknown, a parameter is missing or superfluous, or a value is out of range.
        For an unknown name the message suggests the nearest name.
    """
    cls = MECHANISMS[checks.one_of("mechanism", name, MECHANISMS)]
    wanted = inspect.signature(cls).parameters
    memoise = parameters.pop("memoise", None) or False
    tau = None if "tau" in wanted else parameters.pop("tau", None)
    if tau is None and not memoise:
        return build(name, cls, **parameters)
    one = build(name, cls, **parameters)
    if not isinstance(one, FrequencyOracle):
        raise ValueError(f"tau must not be given for {name}: its collections are not repeated")
    return Repeated(one, 1 if tau is None else tau, memoise)
