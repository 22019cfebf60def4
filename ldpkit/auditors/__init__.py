"""Auditors: from counts to statements about epsilon."""

from .ldp import audit, audit_cell, audits, expected, rows
from .result import AuditResult

__all__ = ["audit", "audits", "audit_cell", "rows", "expected", "AuditResult"]
