"""What the papers say, and whether it holds: a ledger whose tests are fixed before a page runs.

A row of ``data/claims/<paper>.csv`` is a statement in our words and the test of it: the cells it is
about, what number each of them has to show, how that number has to stand to the paper's, and the
function that finds it. A page hands its tables to `judge`; nothing about the test is said there.
"""

import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from . import checks, published
from .verdicts import RELATIONS

__all__ = ["COLUMNS", "VERDICTS", "load", "verdict", "judge"]

COLUMNS = [
    "id", "paper", "version", "place", "claim", "relation", "published", "tolerance", "turns",
    "cells", "data", "page", "code", "why",
]  # fmt: skip
"""``turns``: how much further than the tolerance a number may go before another conclusion;
``data``: whether other data stand in for the paper's."""
VERDICTS = ("holds", "holds in part", "does not hold", "cannot be checked here")

_NOISE = 5  # standard errors, where a number is found by simulation


def load(paper: str) -> pd.DataFrame:
    """Return the claims of one paper: text but for the numbers ``published``, ``tolerance`` and
    ``turns``.

    What was printed stands for an interval: where a row has no tolerance, it is half a unit of the
    last printed digit.
    """
    table = published.load(paper, "claims", dtype=str).fillna("")
    printed = [10.0 ** -len(text.partition(".")[2]) / 2 for text in table["published"]]
    table["tolerance"] = pd.to_numeric(table["tolerance"]).fillna(pd.Series(printed))
    table["turns"] = pd.to_numeric(table["turns"]).fillna(0.0)
    table["published"] = pd.to_numeric(table["published"])
    return table


def verdict(
    values: Any, se: Any, *, relation: str, published: float, tolerance: float, turns: float = 0.0
) -> dict[str, Any]:
    """Judge the numbers of all cells of one claim.

    Parameters
    ----------
    values, se : array_like
        One number for each cell, and its standard error (0 where it is exact).
    relation : {"=", "<=", ">="}
        How each has to stand to `published`.
    published, tolerance, turns : float
        The paper's number, how far its printed form may be off, and how much further the conclusion
        stays the same.

    Returns
    -------
    dict
        ``verdict``, one of `VERDICTS`; ``holding`` and ``of`` (numbers of cells); ``differs``:
        ``"the number"``, or ``"the conclusion"`` if a cell goes further than `turns`;
        ``furthest``, the position of the cell that goes furthest.
    """
    checks.one_of("relation", relation, RELATIONS)
    found, noise = np.asarray(values, float), np.asarray(se, float)
    found, noise = np.broadcast_arrays(found, noise)
    if not len(found):
        return {"verdict": VERDICTS[3], "holding": 0, "of": 0, "differs": "", "furthest": None}
    gap = found - published
    beyond = {"=": np.abs(gap), "<=": gap, ">=": -gap}[relation] - tolerance - _NOISE * noise
    beyond = np.where(np.isnan(beyond), math.inf, beyond)
    rounding = 1e-9 * max(1.0, abs(published))
    holding = int((beyond <= rounding).sum())
    differs = "" if holding == len(found) else "the number"
    if differs and (beyond > turns + rounding).any():
        differs = "the conclusion"
    word = VERDICTS[0] if not differs else VERDICTS[1] if holding else VERDICTS[2]
    return {
        "verdict": word,
        "holding": holding,
        "of": len(found),
        "differs": differs,
        "furthest": int(np.argmax(beyond)),
    }


def judge(page: str, code: Any, *, comparable: bool = True, **tables: pd.DataFrame) -> pd.DataFrame:
    """Judge every claim of the ledger that belongs to a page; hand the verdicts to the build.

    Parameters
    ----------
    page : str
        The page, ``"ldp_auditor/fig2"``: the ledger is that of its folder.
    code : module
        Where the functions that the rows name are. Each takes tables by name and returns a value
        for every cell, a series labelled by what the cells are called or a table with the columns
        ``value`` and ``se``.
    comparable : bool
        Whether this run is what the paper speaks about; if not, nothing is judged.
    **tables : pandas.DataFrame
        What the functions take.

    Raises
    ------
    ValueError
        If the ledger knows no claim of the page, or names a function that is not there.
    """
    rows = load(page.partition("/")[0])
    rows = rows[(rows["page"] == page) & (rows["code"] != "")]
    checks.need(len(rows), f"page must be one that data/claims speaks about, got {page!r}")
    found = [row | _found(row, code, comparable, tables) for row in rows.to_dict("records")]
    published.hand(pd.DataFrame(found), "id", ".claims.csv")
    shown = ["place", "claim", "relation", "published", "found", "at", "verdict"]
    table = (
        pd.DataFrame(found)
        .reindex(columns=shown)
        .rename(columns={"published": "paper", "at": "furthest at"})
    )
    return table.dropna(axis="columns", how="all")


def _found(
    row: Mapping[str, Any], code: Any, comparable: bool, tables: Mapping[str, Any]
) -> dict[str, Any]:
    """What this run says about one claim."""
    evaluate: Callable[..., Any] | None = getattr(code, row["code"], None)
    if evaluate is None:
        raise ValueError(f"code must have the function {row['code']} of claim {row['id']}")
    if not comparable:
        return {"verdict": f"{VERDICTS[3]}: other parameters than the paper's"}
    asked = inspect.signature(evaluate).parameters
    values = evaluate(**{name: tables[name] for name in asked})
    if isinstance(values, pd.Series):
        values = pd.DataFrame({"value": values, "se": 0.0})
    test = {name: row[name] for name in ("relation", "published", "tolerance", "turns")}
    found = verdict(values["value"], values["se"], **test)
    if found["furthest"] is None:
        return {"verdict": f"{VERDICTS[3]}: no such cell in this run"}
    at = found.pop("furthest")
    word = found["verdict"]
    if found["differs"]:
        share = f"{found['holding']} of {found['of']} cells; elsewhere " if found["holding"] else ""
        word += f": {share}{found['differs']} differs"
    if row["data"]:
        word += f"{';' if ':' in word else ':'} on {row['data']} data than the paper's"
    return found | {
        "found": float(values["value"].iloc[at]),
        "at": str(values.index[at]) if found["of"] > 1 else "",
        "verdict": word,
    }
