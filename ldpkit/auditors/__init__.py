"""Auditors: from counts to statements about epsilon."""

from .calibrate import calibrate
from .ldp import audit, audit_cell, audits, expected, rows
from .rad import rad_audit, rad_result
from .result import AuditResult

__all__ = ["audit", "audits", "audit_cell", "rows", "expected", "rad_audit", "rad_result", "calibrate", "AuditResult"]
