"""Auditors: from counts to statements about epsilon."""

from collections.abc import Callable
from typing import Any

from .calibrate import calibrate
from .gradient import audit_gradient, gradient_cell
from .kv import audit_kv, audit_laws, kv_cell
from .ldp import audit, audit_cell, audits, expected, rows
from .rad import rad_audit, rad_cell, rad_result
from .result import AuditResult
from .shuffle import audit_shuffle, shuffle_cell

__all__ = ["audit", "audits", "audit_cell", "rows", "expected", "audit_kv", "audit_laws", "kv_cell", "audit_gradient",
           "gradient_cell", "audit_shuffle", "shuffle_cell", "rad_audit", "rad_cell", "rad_result", "calibrate", "CELLS",
           "AuditResult"]  # fmt: skip

CELLS: dict[str, Callable[..., list[dict[str, Any]]]] = {
    "audit": audit_cell,
    "kv": kv_cell,
    "rad": rad_cell,
    "gradient": gradient_cell,
    "shuffle": shuffle_cell,
}
"""Every auditor as the function of one cell of a grid."""
