"""How each figure and table of the papers fares: a state in words, and the counts behind it."""

from pathlib import Path

import pandas as pd

from ldpbook.comparisons import AGREES, CURVE, PRINTED

PAPERS = {"ldp_auditor": "LDP-Auditor", "refinement": "Attack-aware refinement", "kv_auditor": "KV-Auditor",
          "rad": "Reconstruction advantage", "ldp_sgd": "LDP-SGD and shuffle"}  # fmt: skip
"""The five papers by their folder."""
SIGNS = {
    "reproduced": "✓",
    "reproduced where printed, rest exact": "✓",
    AGREES: "≈",
    "differs, explained": "≠",
    "differs, unexplained": "✗",
    "other data": "◇",
    "nothing to compare": "·",
    "not in this build": "–",
}
"""Every state with its sign. A tick needs a printed number or a digitised curve that the paper's own setting gives again."""
COUNTED = [state for state in SIGNS if state.startswith(("reproduced", "agrees", "differs"))]
"""States of items whose numbers were compared with the paper's or its code's."""


def short(item: str) -> str:
    """A figure's or table's name within its paper."""
    return item.rpartition("/")[2].replace("fig", "Figure ").replace("table", "Table ")


def state(rows: pd.DataFrame) -> str:
    """The state of an item, from its rows of the scoreboard; what speaks against it decides."""
    found = set(rows["verdict"])
    shown = rows[rows["kind"].isin((PRINTED, CURVE)) & (rows["verdict"] == "reproduced") & (rows["how"] != "timing")]
    if rows.empty:
        return "not in this build"
    if "differs" in found:
        return "differs, unexplained"
    if "differs-explained" in found:
        return "differs, explained"
    if "other-data" in found:
        return "other data"
    if len(shown):
        held = rows["published"].notna() | (rows["verdict"] == AGREES)
        return "reproduced" if held.all() else "reproduced where printed, rest exact"
    return AGREES if AGREES in found else "nothing to compare"


def table(root: Path, board: pd.DataFrame) -> pd.DataFrame:
    """One row per item: its state, how many numbers were compared with the paper's or its code's on its own setting, and how they fared."""
    rows = []
    for item in pd.read_csv(root / "data" / "items.csv").itertuples():
        ours = board[board["item"] == item.item]
        agree, differ = (
            ours["verdict"].isin(verdicts).sum() for verdicts in (("reproduced", AGREES), ("differs-explained", "differs"))
        )
        rows.append((item.item, state(ours), agree + differ, agree, differ, item.page))
    return pd.DataFrame(rows, columns=["item", "state", "compared", "agree", "differ", "page"])
