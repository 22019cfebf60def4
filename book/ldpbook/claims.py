"""What the papers say, and whether it holds: a ledger whose tests are fixed before a page runs.

A row of ``data/claims/<paper>.csv`` is a statement in our words and the test of it: the cells it is
about, what number each of them has to show, how that number has to stand to the paper's, and the
function that finds it. A page hands its tables to `judge`; nothing about the test is said there.
A test that nothing can fail is none: a build judges each claim on tables made under its negation,
with the same numbers in another order, until one of them turns the verdict. A statement that no
table can contradict is called vacuous where its row says why it has no test.
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
"""``turns``: how much further than the tolerance a number may go before another conclusion;
``data``: whether other data stand in for the paper's."""
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
"""Tables under the negation of a claim. A cell has the number of another one or the mean, or lies
as far on the other side of the mean; at last nothing is found at all. No number is scaled, since
that turns nearly any verdict."""


def load(paper: str) -> pd.DataFrame:
    """Return the claims of one paper: text but for the numbers ``published``, ``tolerance`` and
    ``turns``.

    What was printed stands for an interval: where a row has no tolerance, it is half a unit of the
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
    return {"verdict": word, "holding": holding, "of": len(found), "differs": differs, "furthest": int(np.argmax(beyond))}


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
    """The function of tables that a row names, and those that it takes.

    ``rises`` takes the tables that its parameters are called after, ``quotient(asr, ASS, SS)`` what
    stands in the brackets: tables by name, other words as they are.
    """
    name, _, words = row["code"].partition("(")
    function: Callable[..., Any] | None = getattr(code, name, None)
    if function is None:
        raise ValueError(f"code must have the function {name} of claim {row['id']}")
    asked = words[:-1].split(", ") if words else list(inspect.signature(function).parameters)
    given = {word: tables[word] for word in asked if word in tables or not words}
    return lambda found: function(*(found.get(word, word) for word in asked)), given


def _tested(row: Mapping[str, Any], values: Any) -> tuple[pd.DataFrame, dict[str, Any]]:
    """What a function found as a table with the columns value and se, and the verdict on it."""
    if not isinstance(values, pd.DataFrame):
        values = pd.DataFrame({"value": values, "se": 0.0})
    test = {name: row[name] for name in ("relation", "published", "tolerance", "turns")}
    return values, verdict(values["value"], values["se"], **test)


def _found(row: Mapping[str, Any], code: Any, comparable: bool, tables: Mapping[str, Any]) -> dict[str, Any]:
    """What this run says about one claim."""
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
    """The first table under the negation of a claim that turns the verdict or the cells that hold:
    the columns of a table that its function takes, and what was done to them, or the other number
    if it takes none; empty if none does."""
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
    """What a function finds in tables under the negation of its claim; other numbers in the place
    of its own if it takes none."""
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
