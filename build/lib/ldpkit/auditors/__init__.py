"""Auditors turn counts into statements about epsilon."""

from collections.abc import Sequence
from typing import Annotated

from .. import checks
from ..attacks import Attack
from ..mechanisms import Mechanism
from ..types import Rates, Word
from .base import Auditor
from .count_ratio import DistributionAudit
from .gradient import GradientAudit
from .kv import KVAudit
from .ldp import Audit
from .rad import RADAudit, calibrate, rad_result
from .result import AuditResult
from .result import PairResult as PairResult
from .shuffle import ShuffleAudit

# fmt: off
__all__ = [
    "AUDITS", "Audit", "KVAudit", "DistributionAudit", "RADAudit", "GradientAudit",
    "ShuffleAudit", "Auditor", "AuditResult", "audits",
    "expected", "rad_result", "calibrate"
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


@checks.checked
def audits(
    mechanism: Mechanism,
    attack: Annotated[
        Sequence[str | Attack], checks.rule(checks.instance, (list, tuple), "a list of attacks")
    ],
    *,
    seed: int = 1,
    **given: Word,
) -> list[AuditResult]:
    """Audit a mechanism or client with several attacks on the same reports.

    Parameters are those of `audit`, and there is one result per attack.
    """
    return Audit.of(mechanism=mechanism, attack=attack, **given).run(seed)


def expected(mechanism: Mechanism, attack: str | Attack = "guess", **given: Word) -> Rates | None:
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
    return Audit.of(mechanism=mechanism, attack=[attack], **given).expected[0]
