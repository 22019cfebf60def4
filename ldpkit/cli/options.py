"""The options that name a mechanism and its parameters, and the mechanism that they name."""

import inspect
from typing import Annotated

from ..checks import bare
from ..mechanisms import GRR, MECHANISMS, Mechanism, Repeated, make, takes
from ..types import Row

__all__ = ["PARAMETERS", "Name", "mechanism_of"]

Name = Annotated[str | None, {"metavar": "NAME"}, "A mechanism from `ldpkit list`."]
"""The name of a mechanism, as the type of an option."""


def _parameters() -> dict[str, inspect.Parameter]:
    """Return all parameters of mechanisms by name, none of which is needed.

    The help of each names the mechanisms that take it, unless most of them do.
    """
    common = {
        name: parameter
        for source in (Repeated, GRR)
        for name, parameter in inspect.signature(source).parameters.items()
        if name != "mechanism"
    }
    takers: dict[str, list[str]] = {name: [] for name in common}
    found = dict(common)
    for mechanism, cls in MECHANISMS.items():
        for name, parameter in inspect.signature(cls).parameters.items():
            if bare(parameter.annotation) is not str:  # the name of the mechanism implies a text
                found.setdefault(name, parameter)
                takers.setdefault(name, []).append(mechanism)
    for name, parameter in found.items():
        *_, text = (note for note in parameter.annotation.__metadata__ if isinstance(note, str))
        named = "" if name in common else f" ({', '.join(takers[name])})"
        found[name] = inspect.Parameter(
            name,
            parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[parameter.annotation, f"{text.rstrip('.')}{named}."],
        )
    return found


PARAMETERS = _parameters()
"""All parameters of mechanisms, as options."""


def mechanism_of(mechanism: str, own: Row) -> Mechanism:
    """Return the mechanism that the options describe."""
    delta = {"delta": own.get("delta") or 0.0 if takes(mechanism, "delta") else None}
    return make(mechanism, **own | delta | {"memoise": own.get("memoise") or None})
