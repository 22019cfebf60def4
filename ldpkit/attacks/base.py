"""The methods of an attack, and checks that an attack suits a mechanism."""

from dataclasses import is_dataclass
from typing import Protocol, runtime_checkable

from .. import checks
from ..mechanisms import LocalRandomizer
from ..mechanisms.base import distribution_known
from ..reports import ReportType
from ..types import Array, Pair, Rates, Reports, Rng

__all__ = ["Attack", "able", "audited", "drawable", "handled"]


def able(report_type: ReportType) -> list[str]:
    """Return the names of the attacks with a fixed event that can read a report type."""
    readers = {"guess": "guess", "tight": "score"}
    return [name for name, needed in readers.items() if report_type.offers(needed)]


def audited(mechanism: LocalRandomizer) -> LocalRandomizer:
    """Return `mechanism`, after checking that it is a frozen `LocalRandomizer`."""
    checks.instance(
        "mechanism",
        mechanism,
        LocalRandomizer,
        "a mechanism whose reports can be read, or a Client",
    )
    checks.need(is_dataclass(mechanism), f"mechanism must be a frozen dataclass, got {mechanism!r}")
    return mechanism


def handled(attack: "Attack", mechanism: LocalRandomizer, method: str) -> ReportType:
    """Return the mechanism's report type if it has the method that the attack needs.

    Raises
    ------
    ValueError
        Naming the attack, the mechanism and its report type.
    """
    report_type = audited(mechanism).report_type
    if not report_type.offers(method):
        own = "an attack of your own that can, see the page on your own mechanism"
        others = [f"attack {name}, which can" for name in able(report_type)]
        raise ValueError(
            f"attack {attack.name} cannot read the {report_type.name} reports of {mechanism.name}: "
            f"audit it with {', or '.join(others) or own}"
        )
    return report_type


def drawable(attack: "Attack", mechanism: LocalRandomizer, method: str) -> ReportType:
    """Return the report type as `handled` does, if its distribution is that of the client."""
    report_type = handled(attack, mechanism, method)
    checks.need(
        distribution_known(mechanism),
        f"mechanism must have an exact distribution to sample from, got {mechanism!r}: make reports"
        " instead",
    )
    return report_type


@runtime_checkable
class Attack(Protocol):
    """An attack on reports; any object with these methods can be used in an audit."""

    @property
    def name(self) -> str:
        """Name of the attack in results."""

    def choose(self, mechanism: LocalRandomizer, trials: int, tail: float) -> "Attack":
        """Return the attack with its event chosen, before any report is made.

        Parameters
        ----------
        mechanism : LocalRandomizer
        trials : int
            Reports per input that will be made.
        tail : float
            Tail mass of each bound, see `ldpkit.stats.tail_mass`.
        """

    def accepts(self, mechanism: LocalRandomizer, reports: Reports, pair: Pair, rng: Rng) -> Array:
        """Return whether the attack names the first input of the pair, for each real report; bool
        array (n,)."""

    def rates(self, mechanism: LocalRandomizer, pair: Pair | None = None) -> Rates | None:
        """Return the exact true- and false-positive rate for a pair, or ``None`` if the exact
        distribution is unknown."""

    def sample(
        self,
        mechanism: LocalRandomizer,
        trials: int,
        truth: bool,
        rng: Rng,
        pair: Pair | None = None,
    ) -> int:
        """Return the number of acceptances among `trials` reports, sampled from the exact
        distribution without making reports."""
