"""What an audit asks of an attack."""

from dataclasses import is_dataclass
from typing import Protocol, runtime_checkable

from .. import checks
from ..mechanisms import LocalRandomizer
from ..mechanisms.base import Verbs, distribution_known
from ..reports import Named, ReportType, Scored
from ..types import Array, Pair, Rates, Reports, Rng

__all__ = ["Attack", "able", "audited", "drawable", "handled"]


def able(kind: ReportType) -> list[str]:
    """Names of the attacks of a fixed event that can read this kind of report."""
    return [n for n, verbs in (("guess", Named), ("tight", Scored)) if isinstance(kind, verbs)]


def audited(mechanism: LocalRandomizer) -> LocalRandomizer:
    """Return `mechanism` if reports of its inputs can be told apart: a `LocalRandomizer`, such as a
    `Client`."""
    checks.instance(
        "mechanism",
        mechanism,
        LocalRandomizer,
        "a mechanism whose reports can be read, or a Client",
    )
    checks.need(is_dataclass(mechanism), f"mechanism must be a frozen dataclass, got {mechanism!r}")
    return mechanism


def handled(attack: "Attack", mechanism: LocalRandomizer, verbs: type[Verbs]) -> Verbs:
    """Return the kind of the mechanism's reports if it has the `verbs` that the attack needs.

    Raises
    ------
    ValueError
        Naming the attack, the mechanism and its kind of report.
    """
    kind = audited(mechanism).report_type
    if not isinstance(kind, verbs):
        own = "an attack of your own that can, see the page on your own mechanism"
        others = [f"attack {name}, which can" for name in able(kind)]
        raise ValueError(
            f"attack {attack.name} cannot read the {kind.name} reports of {mechanism.name}: "
            f"audit it with {', or '.join(others) or own}"
        )
    return kind


def drawable(attack: "Attack", mechanism: LocalRandomizer, verbs: type[Verbs]) -> Verbs:
    """Return `handled` kind after checking that its law speaks for the mechanism's client."""
    kind = handled(attack, mechanism, verbs)
    checks.need(
        distribution_known(mechanism),
        f"mechanism must have a law of its own to draw from, got {mechanism!r}: make reports"
        " instead",
    )
    return kind


@runtime_checkable
class Attack(Protocol):
    """An attack on reports: whatever offers these verbs can be audited with."""

    @property
    def name(self) -> str:
        """What it is called in results."""

    def declare(self, mechanism: LocalRandomizer, trials: int, tail: float) -> "Attack":
        """Return the attack as it will be used; what it has to choose, it chooses before any data
        are seen."""

    def accepts(self, mechanism: LocalRandomizer, reports: Reports, pair: Pair, rng: Rng) -> Array:
        """Did the attack answer the first value of the pair, on real reports of any mechanism or
        client; bool array (n,)."""

    def rates(self, mechanism: LocalRandomizer, pair: Pair | None = None) -> Rates | None:
        """Return the exact true- and false-positive rate for a pair, or ``None`` where no law is
        known."""

    def sample(
        self,
        mechanism: LocalRandomizer,
        trials: int,
        truth: bool,
        rng: Rng,
        pair: Pair | None = None,
    ) -> int:
        """Return the number of acceptances among `trials` reports, drawn from the exact law and not
        from reports."""
