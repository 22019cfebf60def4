"""Read how each figure and table of the papers compares: the tables of the last build, and counts of their verdicts."""

import functools
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from .paper_values import AGREES, COLUMNS, DEFINED, SAID, SIGN, STAND_IN, UNDECIDED
from .paper_values import items as items

PAPERS = {"ldp_auditor": "LDP-Auditor", "refinement": "Attack-aware refinement", "kv_auditor": "KV-Auditor",
          "rad": "Reconstruction advantage", "ldp_sgd": "LDP-SGD and shuffle"}  # fmt: skip
"""The five papers by their folder."""
COUNTED = ("reproduced", AGREES, "differs-explained", "differs")
"""The verdicts of numbers that agree or differ."""


@functools.cache
def _read(path: Path, stamp: int) -> pd.DataFrame:
    return pd.read_csv(path, dtype={"place": str})


def _table(path: Path, columns: Sequence[str]) -> pd.DataFrame:
    """Return a table of the last build, which is read once; it is empty if the book was not executed."""
    return _read(path, path.stat().st_mtime_ns).copy() if path.exists() else pd.DataFrame(columns=columns)


def board(root: Path) -> pd.DataFrame:
    """Return the comparisons of the last build; there are none if the book was not executed."""
    return _table(root / "_build" / "scoreboard.csv", COLUMNS)


def claims(root: Path) -> pd.DataFrame:
    """Return the claims with the verdicts of the last build; there are none if the book was not executed."""
    return _table(root / "_build" / "claims.csv", ["page", "verdict"])


def notes(root: Path, page: str) -> dict[str, Any]:
    """Return what ``book/figures.yml`` contains for a page: why its numbers differ, and which panel stands in the gallery."""
    path = root / "book" / "figures.yml"
    said = yaml.safe_load(path.read_text(encoding="utf-8")) if path.exists() else {}
    found: dict[str, Any] = said.get(page.removeprefix("book/"), {})
    return found


def short(item: str) -> str:
    """Return the name of a figure or table within its paper, for example "Figure 2"."""
    return item.rpartition("/")[2].replace("fig", "Figure ").replace("table", "Table ")


def listed(widths: Sequence[int], header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table in MyST, with relative column widths."""
    lines = ["```{list-table}", ":header-rows: 1", f":widths: {' '.join(map(str, widths))}", ""]
    for row in [header, *rows]:
        lines += [f"{'  - ' if i else '* - '}{cell}" for i, cell in enumerate(row)]
    return "\n".join([*lines, "```"])


def furthest(rows: pd.DataFrame) -> tuple[int, float]:
    """Return how many simulated numbers have an exact value, and the largest deviation among them in standard errors."""
    known = rows[rows["exact"].notna() & (rows["reproduced_se"] > 0)]
    deviation = (known["reproduced"] - known["exact"]).abs() / known["reproduced_se"]
    return len(known), float(np.max(deviation.to_numpy(), initial=0.0))


def counted(rows: pd.DataFrame) -> dict[str, int]:
    """Return how many numbers agree with the paper (`printed`) and with the authors' code (`code`), and how many `differ`.

    Numbers that are `undecided`, that stand next to `other data`, or that follow `by definition` count neither way. A sign is no number.
    """
    rows = rows[rows["kind"] != SIGN]
    n = rows["verdict"].value_counts()
    differ = rows["verdict"].isin(("differs", "differs-explained"))
    found = {"printed": n.get("reproduced", 0), "code": n.get(AGREES, 0), "differ": differ.sum()}
    found |= {SAID[word]: n.get(word, 0) for word in (UNDECIDED, DEFINED, "other-data")}
    printed = differ & rows["published"].notna() & (rows["kind"] != STAND_IN)
    return {name: int(value) for name, value in (found | {"printed differ": printed.sum()}).items()}
