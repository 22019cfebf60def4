"""Auditors turn counts into statements about epsilon."""

from .base import Auditor
from .count_ratio import DistributionAudit, audit_distributions
from .gradient import GradientAudit, audit_gradient
from .kv import KVAudit, audit_kv
from .ldp import Audit, audit, audits, expected
from .rad import RADAudit, calibrate, rad_audit, rad_result
from .result import AuditResult
from .shuffle import ShuffleAudit, audit_shuffle

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
