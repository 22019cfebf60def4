"""Mechanisms of the five papers, one file per family with the same methods, and their names."""

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

from .. import checks
from ..types import Word
from .base import FrequencyOracle, Mechanism, build
from .composite import BASES, RSFD, Repeated
from .correlated import CPP, CPPGRR, CPPUE, PrivKV
from .gradient import GRADIENT, LDPSGD, PrivUnit, PrivUnitG
from .grr import AGRR, ASS, GRR, SS, FloorSS
from .hashing import ABLH, ALH, AOLH, BLH, LHO, OLH
from .histogram import AGM, GM, SHE
from .keyvalue import PCKV, PCKVGRR, PCKVUE, KeyValues
from .longitudinal import BucketFlip, Chained
from .unary import ASUE, ATHE, AUE, OUE, SUE, THE, FaultyUE

# fmt: off
__all__ = [
    "MECHANISMS", "KEY_VALUE", "make", "takes", "Mechanism", "FrequencyOracle",
    "GRR", "SS", "SUE", "OUE", "BLH", "OLH", "SHE", "THE", "LHO",
    "ASS", "AUE", "ALH", "ATHE", "AGRR", "ASUE", "ABLH", "AOLH", "GM",
    "AGM", "RSFD", "Repeated", "Chained", "BucketFlip",
    "KeyValues", "PCKVUE", "PCKVGRR", "CPPUE", "CPPGRR", "PrivKV", "FaultyUE", "FloorSS",
    "GRADIENT", "LDPSGD", "PrivUnit", "PrivUnitG"
]
# fmt: on

_OWN: dict[str, Callable[..., Mechanism]] = {
    m.__name__: m
    for m in (GRR, SS, FloorSS, SUE, OUE, BLH, OLH, SHE, THE, LHO, ASS, AUE, ALH, ATHE,
              AGRR, ASUE, ABLH, AOLH, GM, AGM, FaultyUE)
} | {
    **{f"RSFD[{base}]": partial(RSFD, base=base) for base in BASES},
    "dBitFlipPM": BucketFlip,
    **{f"L-{name}": partial(Chained, protocol=name) for name in ("SUE", "OSUE", "OUE", "GRR")},
}  # fmt: skip

MECHANISMS: dict[str, Callable[..., Mechanism]]
"""The mechanisms by their names in the literature."""


def __getattr__(name: str) -> Any:  # `beyond` is imported when one of its names is first used
    from .. import beyond

    known = {cls: getattr(beyond, cls) for cls in beyond.__all__}
    known["MECHANISMS"] = _OWN | beyond.MECHANISMS
    if name not in known:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return globals().setdefault(name, known[name])


KEY_VALUE: dict[str, type[PCKV | CPP]] = {
    m.name: m for m in (PCKVUE, PCKVGRR, CPPUE, CPPGRR, PrivKV)
}
"""The key-value mechanisms by name."""


def _named(name: str) -> Callable[..., Mechanism]:
    from . import MECHANISMS  # of `beyond` too, which is therefore imported here

    return MECHANISMS[checks.one_of("mechanism", name, MECHANISMS)]


def takes(name: str, parameter: str) -> bool:
    """Whether the mechanism called `name` has a field `parameter`."""
    cls = _named(name)
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
    cls = _named(name)
    wanted = inspect.signature(cls).parameters
    memoise = parameters.pop("memoise", None) or False
    tau = None if "tau" in wanted else parameters.pop("tau", None)
    one = build(name, cls, **parameters)
    if tau is None and not memoise:
        return one
    checks.need(
        isinstance(one, FrequencyOracle),
        f"tau must not be given for {name}: its collections are not repeated",
    )
    return Repeated(one, 1 if tau is None else tau, memoise)
