"""The base class of audits that tell two inputs apart."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any

from .. import checks, mechanisms
from ..mechanisms import LocalRandomizer, client
from ..types import Pair, Word
from .base import Auditor

__all__ = ["PairAudit", "makeable"]


@dataclass(frozen=True)
class PairAudit(Auditor):
    """Base of the audits that tell two inputs apart with one or several attacks."""

    mechanism: Any
    attack: Any = "guess"
    _: KW_ONLY
    delta: Annotated[float | None, checks.rule(checks.real, 0, 1, closed="[)")] = None
    faithful: Annotated[bool, checks.flag] = False
    pair: Pair | None = None
    both: Annotated[bool, checks.flag] = True

    @property
    def named(self) -> Sequence[Any]:
        """The attacks, at least one."""
        several = self.attack if isinstance(self.attack, (list, tuple)) else [self.attack]
        checks.need(several, f"attack must name at least one attack, got {self.attack!r}")
        return several

    @classmethod
    def target(cls, name: str, **parameters: Word) -> LocalRandomizer:
        """Return the mechanism of a name, or the client of a ``"module:function"``.

        The parameters are those of the mechanism or client.
        """
        if isinstance(name, str) and ":" in name:
            return client.named(name, **parameters)
        return mechanisms.make(name, **parameters)


_WIDEST = 2**26


def makeable(mechanism: LocalRandomizer) -> None:
    """Refuse a mechanism whose single report does not fit into memory."""
    checks.need(
        mechanism.width <= _WIDEST,
        f"real reports must have at most {_WIDEST:,} coordinates, got {mechanism.width:,} of"
        f" {mechanism.name}: sample from its exact distribution, or take fewer values",
    )
