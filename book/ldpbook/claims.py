"""Test the papers' claims by tests that are fixed in a table before a page runs.

A row of ``data/claims/<paper>.csv`` is a statement in our words and its test. The test names the cells (settings) that the claim
is about and the function that returns a number for each of them. It also fixes the relation in which these numbers must stand to
the paper's number. A page only passes its tables to `judge`, and states nothing about the test.

A test is worthless if it cannot fail. Therefore a build also judges each claim on tables with the same numbers in another order,
until one of these tables changes the verdict. If no table can contradict a statement, its verdict is "vacuous" and its row
explains why there is no test.
"""

import contextlib
import inspect
import math
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from ldpkit import checks
from ldpkit.types import Array

from . import paper_values
from .comparisons import RELATIONS

__all__ = ["COLUMNS", "VERDICTS", "load", "verdict", "judge"]

COLUMNS = [
    "id", "paper", "version", "place", "claim", "relation", "published", "tolerance", "turns",
    "cells", "data", "page", "code", "why",
]  # fmt: skip
"""Columns of a table of claims.

``turns`` is how much further than the tolerance a number may lie before the conclusion changes. ``data`` tells whether other data
stand in for the paper's.
"""
VERDICTS = ("holds", "holds in part", "does not hold", "cannot be checked here")

_NOISE = 5  # standard errors, where a number is found by simulation


_NEGATIONS: dict[str, Callable[[Array], Array]] = {
    "order reversed": lambda x: x[::-1],
    "effect removed": lambda x: np.full(len(x), np.nanmean(x)),
    "of the next cell": lambda x: np.roll(x, -1),
    "in rising order": np.sort,
    "in falling order": lambda x: np.sort(x)[::-1],
    "effect reversed": lambda x: 2 * np.nanmean(x) - x,
    "nothing found": np.zeros_like,
}
"""Changes to a table under which a claim should fail.

A cell gets the number of another cell, gets the mean, or is mirrored at the mean. The last change removes all numbers. No change
scales a number, because scaling changes nearly any verdict.
"""


def load(paper: str) -> pd.DataFrame:
    """Return the claims of one paper; all columns are text except ``published``, ``tolerance`` and ``turns``.

    A printed number represents an interval, because it is rounded. Therefore a row without a tolerance gets half a unit of the
    last printed digit.
    """
    table = paper_values.load(paper, "claims", dtype=str).fillna("")
    printed = [10.0 ** -len(text.partition(".")[2]) / 2 for text in table["published"]]
    table["tolerance"] = pd.to_numeric(table["tolerance"]).fillna(pd.Series(printed))
    table["turns"] = pd.to_numeric(table["turns"]).fillna(0.0)
    table["published"] = pd.to_numeric(table["published"])
    return table


def verdict(values: Any, se: Any, *, relation: str, published: float, tolerance: float, turns: float = 0.0) -> dict[str, Any]:
    """Judge the numbers of all cells of one claim.

    Parameters
    ----------
    values, se : array_like
        One number for each cell, and its standard error (0 where the number is exact).
    relation : {"=", "<=", ">="}
        Relation in which each number must stand to `published`.
    published, tolerance, turns : float
        The paper's number, how far its printed form may be off, and how much further a number may lie before the conclusion
        changes.

    Returns
    -------
    dict
        ``verdict`` is one of `VERDICTS`. ``holding`` and ``of`` are numbers of cells. ``differs`` is ``"the number"``, or ``"the
        conclusion"`` if a cell lies further away than `turns`. ``furthest`` is the position of the cell with the largest
        deviation.
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
    return {"verdict": word, "holding": holding, "of": len(found), "differs": differs, "furthest": int(np.argmax(beyond))}


def judge(page: str, code: Any, *, comparable: bool = True, **tables: pd.DataFrame) -> pd.DataFrame:
    """Judge every claim that belongs to a page, and pass the verdicts on to the build.

    Parameters
    ----------
    page : str
        The page, ``"ldp_auditor/fig2"``. Its claims are those of the paper in its folder.
    code : module
        Module with the functions that the rows name. Each function takes tables by name. It returns one value for every cell: a
        series labelled by the cells, or a table with the columns ``value`` and ``se``.
    comparable : bool
        Whether this run has the paper's settings; if not, nothing is judged.
    **tables : pandas.DataFrame
        Arguments of the functions.

    Returns
    -------
    pandas.DataFrame
        One row for each claim, with its test and verdict.

    Raises
    ------
    ValueError
        If the page has no claim, or if a claim names a function that does not exist.
    """
    rows = load(page.partition("/")[0])
    rows = rows[(rows["page"] == page) & (rows["code"] != "")]
    checks.need(len(rows), f"page must be one that data/claims speaks about, got {page!r}")
    found = [row | _found(row, code, comparable, tables) for row in rows.to_dict("records")]
    if os.environ.get(paper_values.TARGET):
        for row in found:
            row["mutant"] = _mutant(row, code, tables) if "found" in row else ""
        paper_values.hand(pd.DataFrame(found), "id", ".claims.csv")
    shown = ["place", "claim", "relation", "published", "found", "at", "verdict"]
    table = pd.DataFrame(found).reindex(columns=shown).rename(columns={"published": "paper", "at": "furthest at"})
    table = table.replace({"relation": {"<=": "≤", ">=": "≥"}})
    return table.loc[:, (table.notna() & (table != "")).any()]


def _evaluator(
    row: Mapping[str, Any], code: Any, tables: Mapping[str, Any]
) -> tuple[Callable[[Mapping[str, Any]], Any], dict[str, Any]]:
    """Return the function that a row names, and the tables that the function takes.

    ``rises`` takes the tables whose names are those of its parameters. ``quotient(asr, ASS, SS)`` takes what stands in the
    brackets: a word that names a table is that table, any other word is passed as text.
    """
    name, _, words = row["code"].partition("(")
    function: Callable[..., Any] | None = getattr(code, name, None)
    if function is None:
        raise ValueError(f"code must have the function {name} of claim {row['id']}")
    asked = words[:-1].split(", ") if words else list(inspect.signature(function).parameters)
    given = {word: tables[word] for word in asked if word in tables or not words}
    return lambda found: function(*(found.get(word, word) for word in asked)), given


def _tested(row: Mapping[str, Any], values: Any) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return the result of a function as a table with the columns value and se, and the verdict on it."""
    if not isinstance(values, pd.DataFrame):
        values = pd.DataFrame({"value": values, "se": 0.0})
    test = {name: row[name] for name in ("relation", "published", "tolerance", "turns")}
    return values, verdict(values["value"], values["se"], **test)


def _found(row: Mapping[str, Any], code: Any, comparable: bool, tables: Mapping[str, Any]) -> dict[str, Any]:
    """Return the verdict of this run on one claim, with the number and the cell on which it rests."""
    evaluate, given = _evaluator(row, code, tables)
    if not comparable:
        return {"verdict": f"{VERDICTS[3]}: other parameters than the paper's"}
    values, found = _tested(row, evaluate(given))
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


def _mutant(row: Mapping[str, Any], code: Any, tables: Mapping[str, Any]) -> str:
    """Return the first change of the tables that changes the verdict or the number of cells for which the claim holds.

    The text names the columns and what was done to them, or the other number if the function takes no table. It is empty if no
    change has an effect.
    """
    evaluate, given = _evaluator(row, code, tables)

    def said(values: Any) -> tuple[str, int]:
        found = _tested(row, values)[1]
        return found["verdict"], found["holding"]

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # numbers of other cells may have no logarithm
        found = evaluate(given)
        right = said(found)
        for what, how, values in _negated(evaluate, given, found, row["published"]):
            if (other := said(values)) != right and other[0] != VERDICTS[3]:
                return f"{what} {how}"
    return ""


def _negated(
    evaluate: Callable[[Mapping[str, Any]], Any], given: Mapping[str, pd.DataFrame], found: Any, published: float
) -> Iterator[tuple[str, str, Any]]:
    """Yield changes of the tables: what was changed, how, and the result of the function on the changed tables.

    If the function takes no tables, other numbers replace its result.
    """
    for name, table in given.items():
        columns = [i for i in reversed(range(table.shape[1])) if table.dtypes.iloc[i].kind == "f"]
        for places in [*([i] for i in columns), columns]:
            what = table.columns[places[0]] if len(places) == 1 else "all numbers"
            others = {how: [negate(table.iloc[:, i].to_numpy()) for i in places] for how, negate in _NEGATIONS.items()}
            if len(places) > 1:
                others["of the next column"] = [table.iloc[:, i] for i in np.roll(places, -1)]
            for how, values in others.items():
                other = table.copy()
                for i, value in zip(places, values, strict=True):
                    other.isetitem(i, value)
                with contextlib.suppress(LookupError, ValueError):  # a setting that no table has
                    yield f"{name}, {what}", how, evaluate({**given, name: other})
    if not given:
        for how, number in (("as printed", 0), ("above", 4), ("below", -4)):
            yield "its own numbers", how, np.full(len(found), published + number)
