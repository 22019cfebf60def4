"""Summary of the audits of a run of pytest, in lines and files."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

from ..auditors.result import Row
from ..blackbox.findings import Finding, sarif_of
from ..digests import replace
from ..progress import shown

__all__ = ["summary"]


def summary(rows: list[Row], options: Any) -> list[str]:
    """Return the lines that list audits, and write the files that the options of pytest name."""
    counts, seconds = Counter(row["status"] for row in rows), sum(row["seconds"] for row in rows)
    total: Row = {
        "audits": len(rows),
        **{status: counts[status] for status in ("none found", "violation", "inconclusive")},
        "alpha": options.ldp_alpha,
        "alpha_used": sum(row["alpha"] for row in rows),
        "seconds": seconds,
    }
    findings = [Finding(**{name: row[name] for name in Finding._fields}) for row in rows]
    if options.ldp_file:
        replace(Path(options.ldp_file), json.dumps({"suite": total, "audits": rows}, indent=1))
    if options.ldp_sarif:
        replace(Path(options.ldp_sarif), sarif_of(findings))
    unseeded = sum(not row["repeats"] for row in rows)
    each = ", ".join(f"{n} {status}" for status, n in counts.items())
    last = (
        f"{len(rows)} audits in {seconds:.1f} s: {each};"
        f" false alarms of the whole suite at most {options.ldp_alpha:g}, of these audits"
        f" {total['alpha_used']:.3g}; {unseeded} without a seed"
    )
    return [*(shown(f"{row['test']}: {row['text']}") for row in rows), last]
