"""Client side of every audited protocol: one file per family, the same verbs everywhere."""

import inspect

from .. import checks
from .base import FrequencyOracle, Mechanism, SupportOracle
from .client import Client, ClientError
from .grr import GRR
from .hashing import BLH, LHO, OLH
from .histogram import SHE, THE
from .subset import SS
from .unary import OUE, SUE, FaultyUE

__all__ = [
    "MECHANISMS", "make",
    "Mechanism", "FrequencyOracle", "SupportOracle",
    "GRR", "SS", "SUE", "OUE", "BLH", "OLH", "SHE", "THE", "LHO",
    "FaultyUE", "Client", "ClientError",
]  # fmt: skip

MECHANISMS = {m.name: m for m in (GRR, SS, SUE, OUE, BLH, OLH, SHE, THE, LHO, FaultyUE)}
"""The mechanisms by the names the literature gives them."""


def make(name, **parameters):
    """Build a mechanism from its name and parameters.

    Parameters
    ----------
    name : str
        A key of `MECHANISMS`.
    **parameters
        Its fields; ``None`` means not given.

    Raises
    ------
    ValueError
        If the name is unknown (the nearest one is suggested), a parameter is
        missing or superfluous, or a value is out of range.
    """
    cls = MECHANISMS[checks.one_of("mechanism", name, MECHANISMS)]
    given = {key: value for key, value in parameters.items() if value is not None}
    wanted = inspect.signature(cls).parameters
    missing = [p for p, spec in wanted.items() if p not in given and spec.default is spec.empty]
    extra = [p for p in given if p not in wanted]
    if missing or extra:
        problem = f"needs {', '.join(missing)}" if missing else f"does not take {', '.join(extra)}"
        raise ValueError(f"mechanism {name} {problem}; its parameters are {', '.join(wanted)}")
    return cls(**given)
