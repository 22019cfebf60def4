"""Auditors: from counts to statements about epsilon."""

from .calibrate import calibrate
from .gradient import audit_gradient
from .kv import audit_kv, audit_laws, kv_cell
from .ldp import audit, audit_cell, audits, expected, rows
from .rad import rad_audit, rad_result
from .result import AuditResult
from .shuffle import audit_shuffle

__all__ = ["audit", "audits", "audit_cell", "rows", "expected", "audit_kv", "audit_laws", "kv_cell", "audit_gradient",
           "audit_shuffle", "rad_audit", "rad_result", "calibrate", "AuditResult"]  # fmt: skip
