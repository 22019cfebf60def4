"""Audit cells of grids in the way of LDP-Auditor."""

from typing import Any

from ldpkit.auditors import Audit
from ldpkit.types import Row

__all__ = ["ldp_auditor"]


def ldp_auditor(**cell: Any) -> list[Row]:
    """Audit one cell in the way of LDP-Auditor, which only counts the event of the first input."""
    return Audit.cell(both=False, **cell)
