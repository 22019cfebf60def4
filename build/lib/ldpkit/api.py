"""The audit of one mechanism or client, counted or until sure."""

from collections.abc import Sequence
from typing import Any, TypedDict, Unpack

from . import attacks, checks
from .attacks import Attack
from .auditors import Audit, AuditResult
from .blackbox import curve
from .blackbox.clients import Client
from .blackbox.sequential import SequentialAudit
from .mechanisms import Mechanism
from .types import ArrayLike, Input, Row

__all__ = ["audit"]

UNTIL = "counted", "sure"
"""When an audit ends: after a fixed number of reports, or as soon as the claim is refuted."""


class Options(TypedDict, total=False):
    """Options of `audit`: the fields of `Audit` and of `SequentialAudit`, and those of a claim."""

    trials: int
    alpha: float
    delta: float | None
    faithful: bool
    pair: tuple[Input, Input] | None
    both: bool
    independent: bool | None
    questions: int
    threads: int
    inputs: Sequence[Input] | None
    curve: curve.Curve | None
    band: ArrayLike | None
    within: float | None
    max_time: float | None
    explain: float
    epsilon: float
    k: int
    mu: float


def audit(
    mechanism: Mechanism,
    attack: str | Attack | None = None,
    *,
    seed: int = 1,
    until: str | None = None,
    claim: Any = None,
    **options: Unpack[Options],
) -> AuditResult:
    """Audit a mechanism or client with one attack.

    Parameters
    ----------
    mechanism, attack, **options
        The fields of `Audit` (``trials``, ``alpha``, ``delta``, ``faithful``, ``pair``, ``both``,
        ``questions``, ``independent``, ``threads``) or those of `SequentialAudit`. The default
        attack is ``guess``, and ``learned`` for a client whose reports may have any form.
    seed : int
        See `Audit.run`.
    until : {"counted", "sure"}
        ``counted`` runs an `Audit` of ``trials`` reports per input. ``sure`` runs a
        `SequentialAudit`, which stops earlier if the claim is refuted. By default a client is
        audited until sure, unless ``independent=True`` states that its reports are independent. So
        is an attack that learns. Any other audit of a mechanism is counted.
    claim : str or Curve, optional
        A trade-off curve of `ldpkit.blackbox.curve` that is audited instead of the claim that the
        mechanism states. Or its name, with its parameters: ``claim="gdp", mu=1.0``. The attack must
        be ``"learned"`` (the default then), and `until` must be ``"sure"``.

    Returns
    -------
    AuditResult
        If `until` is ``sure``, its `evidence` is that of `ldpkit.blackbox.sequential.result`.
    """
    given: Row = {**options}
    if attack is None:
        free = isinstance(mechanism, Client) and mechanism.report == "any"
        attack = attacks.Learned.name if free or claim is not None else "guess"
    learns = isinstance(attack, attacks.Learned) or attack == attacks.Learned.name
    bet = learns or (getattr(mechanism, "foreign", False) and not given.get("independent"))
    until = checks.one_of("until", until or UNTIL[bet], UNTIL)
    if claim is not None:
        checks.need(until == "sure", f"claim needs until='sure', got until={until!r}")
        given["curve"] = curve.claimed(claim, given)
    if until == "counted":
        return Audit.of(mechanism=mechanism, attack=[attack], **given).run(seed)[0]
    return SequentialAudit.of(mechanism=mechanism, attack=attack, **given).run(seed)[0]
