"""Cells of grids as the papers count them, in the papers' own parameters."""

from typing import Any

from ldpkit.auditors import Audit, KVAudit
from ldpkit.types import Row

__all__ = ["kv_auditor", "ldp_auditor"]


def ldp_auditor(**cell: Any) -> list[Row]:
    """Audit one cell with LDP-Auditor: only the event of the first input is counted."""
    return Audit.cell(both=False, **cell)


def kv_auditor(*, auditor: str = "hkv", users: int = 10**8, alpha: float = 0.05, **cell: Any) -> list[Row]:
    """Audit one cell with KV-Auditor.

    Parameters
    ----------
    auditor : str
        The audit's `attack`.
    users : int
        Users per group; ``skv`` makes half of them imitators.
    alpha : float
        Significance; the paper's is 0.05.
    **cell
        See `ldpkit.auditors.base.Auditor.cell`.
    """
    trials = users // 2 if auditor == "skv" else users
    return KVAudit.cell(attack=auditor, trials=trials, alpha=alpha, **cell)
