"""Auditors: from counts to statements about epsilon."""

from .base import Auditor
from .calibrate import calibrate
from .compared import DistributionAudit, audit_distributions
from .gradient import GradientAudit, audit_gradient
from .kv import KVAudit, audit_kv
from .ldp import Audit, audit, audits, expected
from .rad import RADAudit, rad_audit, rad_result
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
"""Every auditor by the name that grids give it; its `cell` is the function of one cell."""
