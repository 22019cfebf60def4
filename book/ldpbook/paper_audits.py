"""Cells of grids as LDP-Auditor counts them."""

from typing import Any

from ldpkit.auditors import Audit
from ldpkit.types import Row

__all__ = ["ldp_auditor"]


def ldp_auditor(**cell: Any) -> list[Row]:
    """Audit one cell with LDP-Auditor: only the event of the first input is counted."""
    return Audit.cell(both=False, **cell)
