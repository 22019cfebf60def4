"""Auditors turn counts into statements about epsilon."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypedDict, Unpack, overload

from .. import attacks, checks, curve
from ..attacks import Attack
from ..mechanisms import Client, LocalRandomizer
from ..types import ArrayLike, Input, Rates, Word
from .base import Auditor
from .count_ratio import DistributionAudit, audit_distributions
from .gradient import GradientAudit, audit_gradient
from .kv import KVAudit, audit_kv
from .ldp import Audit
from .rad import RADAudit, calibrate, rad_audit, rad_result
from .result import AuditResult, PairResult
from .shuffle import ShuffleAudit, audit_shuffle

if TYPE_CHECKING:
    from ..sequential import SequentialResult

# fmt: off
__all__ = [
    "AUDITS", "Audit", "KVAudit", "DistributionAudit", "RADAudit", "GradientAudit",
    "ShuffleAudit", "Auditor", "AuditResult", "audit", "audits",
    "expected", "audit_kv", "audit_distributions", "audit_gradient", "audit_shuffle", "rad_audit",
    "rad_result", "calibrate"
]
# fmt: on

AUDITS: dict[str, type[Auditor]] = {
    "audit": Audit,
    "kv": KVAudit,
    "rad": RADAudit,
    "gradient": GradientAudit,
    "shuffle": ShuffleAudit,
}
"""The auditors by their names in grids. The method `cell` of each computes one cell."""

UNTIL = "counted", "sure"
"""When an audit ends: after a fixed number of reports, or as soon as the claim is refuted."""


class PairOptions(TypedDict, total=False):
    """Options of every audit that tells two inputs apart: fields of `PairAudit`."""

    trials: int
    alpha: float
    delta: float | None
    faithful: bool
    pair: tuple[Input, Input] | None
    both: bool


class CountedOptions(PairOptions, total=False):
    """Further options of a counted audit: fields of `Audit`."""

    questions: int
    threads: int


class SureOptions(PairOptions, total=False):
    """Further options of an audit that bets: fields of `ldpkit.sequential.SequentialAudit`."""

    inputs: Sequence[Input] | None
    curve: curve.Curve | None
    band: ArrayLike | None
    independent: bool | None
    within: float | None
    max_time: float | None


@overload
def audit(
    mechanism: LocalRandomizer,
    attack: str | Attack | None = None,
    *,
    seed: int = 1,
    until: Literal["sure"],
    **given: Unpack[SureOptions],
) -> "SequentialResult": ...


@overload
def audit(
    mechanism: LocalRandomizer,
    attack: str | Attack | None = None,
    *,
    seed: int = 1,
    until: Literal["counted"] | None = None,
    **given: Unpack[CountedOptions],
) -> PairResult: ...


@overload
def audit(
    mechanism: LocalRandomizer,
    attack: str | Attack | None = None,
    *,
    seed: int = 1,
    until: str | None = None,
    claim: Any = None,
    **given: Word,
) -> PairResult: ...


def audit(
    mechanism: LocalRandomizer,
    attack: str | Attack | None = None,
    *,
    seed: int = 1,
    until: str | None = None,
    claim: Any = None,
    **given: Word,
) -> PairResult:
    """Audit a mechanism or client with one attack.

    Parameters
    ----------
    mechanism, attack, **given
        The fields of `Audit` (``trials``, ``alpha``, ``delta``, ``faithful``, ``pair``, ``both``,
        ``questions``, ``threads``) or those of `SequentialAudit`. The default attack is ``guess``,
        and ``learned`` for a client whose reports may have any form.
    seed : int
        See `Audit.run`.
    until : {"counted", "sure"}
        ``counted`` runs an `Audit` of ``trials`` reports per input. ``sure`` runs a
        `SequentialAudit`, which stops earlier if the claim is refuted. By default an attack that
        learns runs until sure, and any other attack is counted.
    claim : str or Curve, optional
        A trade-off curve of `ldpkit.curve` that is audited instead of the claim that the mechanism
        states. Or its name, with its parameters: ``claim="gdp", mu=1.0``. The attack must be
        ``"learned"`` (the default then), and `until` must be ``"sure"``.

    Returns
    -------
    PairResult
        A `SequentialResult` if `until` is ``sure``.
    """
    if attack is None:
        free = isinstance(mechanism, Client) and mechanism.report == "any"
        attack = attacks.Learned.name if free or claim is not None else "guess"
    learns = isinstance(attack, attacks.Learned) or attack == attacks.Learned.name
    until = checks.one_of("until", until or UNTIL[learns], UNTIL)
    if claim is not None:
        checks.need(until == "sure", f"claim needs until='sure', got until={until!r}")
        given["curve"] = curve.claimed(claim, given)
    if until == "counted":
        return Audit(mechanism, [attack], **Audit.known(given)).run(seed)[0]
    from ..sequential import SequentialAudit

    return SequentialAudit(mechanism, attack, **SequentialAudit.known(given)).run(seed)[0]


@checks.checked
def audits(
    mechanism: LocalRandomizer,
    attack: Annotated[
        Sequence[str | Attack], checks.rule(checks.instance, (list, tuple), "a list of attacks")
    ],
    *,
    seed: int = 1,
    **given: Word,
) -> list[PairResult]:
    """Audit a mechanism or client with several attacks on the same reports.

    Parameters are those of `audit`, and there is one result per attack.
    """
    return Audit(mechanism, attack, **Audit.known(given)).run(seed)


def expected(
    mechanism: LocalRandomizer, attack: str | Attack = "guess", **given: Word
) -> Rates | None:
    """Return the exact mean and standard deviation of the published statistic.

    Parameters
    ----------
    mechanism, attack, **given
        The fields of `Audit`: ``trials``, ``alpha``, ``delta``, ``pair``.

    Returns
    -------
    (float, float) or None
        ``None`` if the exact rates are unknown, as for a client.
    """
    return Audit(mechanism, [attack], **given).expected[0]
