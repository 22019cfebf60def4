"""Auditors: from counts to statements about epsilon."""

from .ldp import audit, audit_cell, expected, rows
from .result import AuditResult

__all__ = ["audit", "audit_cell", "rows", "expected", "AuditResult"]
