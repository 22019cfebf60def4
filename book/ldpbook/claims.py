"""Test the papers' claims by tests that are fixed in a table before a page runs, and write the page of all claims.

A row of ``data/claims/<paper>.csv`` is a statement in our words and its test. The test names the cells (settings) that the claim
is about, and has the expression that gives a number for each of them. It also fixes the relation in which these numbers must stand
to the paper's number. A page only passes its tables to `judge`, and states nothing about the test.

A test is worthless if it cannot fail. Therefore a build also judges each claim on tables with the same numbers in another order,
until one of these tables changes the verdict. If no table can contradict a statement, its verdict is "vacuous" and its row
explains why there is no test.
"""

import ast
import contextlib
import math
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ldpkit import checks
from ldpkit.types import Array

from . import figures, paper_values, plot_style

__all__ = ["COLUMNS", "VERDICTS", "load", "verdict", "judge"]

COLUMNS = [
    "id", "paper", "version", "place", "claim", "relation", "published", "tolerance", "turns",
    "cells", "data", "page", "code", "why",
]  # fmt: skip
"""Columns of a table of claims.

``turns`` is how much further than the tolerance a number may lie before the conclusion changes. ``data`` tells whether other data
stand in for the paper's.
"""
NEVER = "cannot be checked here"
VERDICTS = ("holds", "holds in part", "does not hold", NEVER)
SIGNS = {"=": "=", "<=": "≤", ">=": "≥"}
FIRST = ["paper", "place", "claim", "relation", "verdict", "page"]
"""First columns of the table of all claims."""

_NOISE = 5  # standard errors, where a number is found by simulation
_BUILTINS = {function.__name__: function for function in (abs, max, min, sum)}  # an expression imports nothing


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
    checks.one_of("relation", relation, paper_values.RELATIONS)
    found, noise = np.broadcast_arrays(np.asarray(values, float), np.asarray(se, float))
    if not len(found):
        return {"verdict": NEVER, "holding": 0, "of": 0, "differs": "", "furthest": None}
    beyond = paper_values.gap(found, published, relation) - tolerance - _NOISE * noise
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
        Module with the names that the expressions of the rows use besides `tables`. An expression has one value for every cell.
        It gives a number, a mapping, a series whose index names the cells, or a table with the columns ``value`` and ``se``.
    comparable : bool
        Whether this run has the paper's settings; if not, nothing is judged.
    **tables : pandas.DataFrame
        Tables of the page, by the names that the expressions have for them.

    Returns
    -------
    pandas.DataFrame
        One row for each claim, with its test and verdict.

    Raises
    ------
    ValueError
        If the page has no claim, or if an expression has a name that neither `code` nor `tables` have.
    """
    rows = load(page.partition("/")[0])
    rows = rows[(rows["page"] == page) & (rows["code"] != "")]
    checks.need(len(rows), f"page must be one that data/claims speaks about, got {page!r}")
    found = [row | _found(row, code, comparable, tables) for row in rows.to_dict("records")]
    if os.environ.get(paper_values.TARGET):
        for row in found:
            row["mutant"] = _mutant(row, code, tables) if "found" in row else ""
        paper_values.hand(pd.DataFrame(found), "id", ".claims.csv")
    table = pd.DataFrame(
        [row | {"the paper says": row["claim"], "the test": _test(row), "furthest": _furthest(row)} for row in found]
    )
    return table[["place", "the paper says", "the test", "furthest", "verdict"]]


def _test(row: Mapping[str, Any]) -> str:
    """Return in words how a claim is tested."""
    allowed = f" ± {float(row['tolerance']):g}" if row["tolerance"] not in ("", "0", 0) else ""
    return f"{SIGNS[row['relation']]} {_number(row['published'], 6)}{allowed}: {row['cells']}"


def _furthest(row: Mapping[str, Any]) -> str:
    """Return the number of a run on which the verdict on a claim rests, and its cell, if there is one."""
    found = row.get("found", "")
    return "" if found == "" else _number(found) + (f" at {row['at']}" if row["at"] else "")


def _number(x: float, digits: int = 4) -> str:
    """Return a number as a claim has it; what a paper prints has six digits at most."""
    value = 0.0 if abs(float(x)) < plot_style.ROUNDING else float(x)
    if 0 < abs(value) < 1e-4:
        return str(plot_style.written(value, 4))
    return f"{value:,.0f}" if 1000 <= abs(value) < math.inf else f"{value:.{digits}g}"


def _evaluator(
    row: Mapping[str, Any], code: Any, tables: Mapping[str, Any]
) -> tuple[Callable[[Mapping[str, Any]], pd.DataFrame], dict[str, Any]]:
    """Return a function that evaluates the expression of a row on other tables, and those of `tables` that the expression names.

    The function gives its result as a table with the columns value and se.
    """
    tree = ast.parse(row["code"], row["id"], "eval")
    expression = compile(tree, row["id"], "eval")
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    used = {node.id for node in names} - {node.id for node in names if isinstance(node.ctx, ast.Store)}
    unknown = ", ".join(sorted(used - {*vars(code), *tables, *_BUILTINS}))
    checks.need(not unknown, f"code and tables must have {unknown} of claim {row['id']}")

    def evaluate(found: Mapping[str, Any]) -> pd.DataFrame:
        values = eval(expression, {**vars(code), **found, "__builtins__": _BUILTINS})  # the book's own source, no reader's input
        return values if isinstance(values, pd.DataFrame) else pd.DataFrame({"value": pd.Series(values, dtype=float), "se": 0.0})

    return evaluate, {name: table for name, table in tables.items() if name in used}


def _tested(row: Mapping[str, Any], values: pd.DataFrame) -> dict[str, Any]:
    """Return the verdict on the numbers of all cells."""
    test = {name: row[name] for name in ("relation", "published", "tolerance", "turns")}
    return verdict(values["value"], values["se"], **test)


def _cell(cells: pd.Index, at: int) -> str:
    """Return the name of a cell, in which a number has the name of its level: ``GRR, epsilon = 1``."""
    parts = cells[at] if isinstance(cells, pd.MultiIndex) else [cells[at]]
    return ", ".join(
        part if isinstance(part, str) else f"{name} = {part:g}" for name, part in zip(cells.names, parts, strict=True)
    )


def _found(row: Mapping[str, Any], code: Any, comparable: bool, tables: Mapping[str, Any]) -> dict[str, Any]:
    """Return the verdict of this run on one claim, with the number and the cell on which it rests."""
    evaluate, given = _evaluator(row, code, tables)
    if not comparable:
        return {"verdict": f"{NEVER}: other parameters than the paper's"}
    values = evaluate(given)
    found = _tested(row, values)
    if found["furthest"] is None:
        return {"verdict": f"{NEVER}: no such cell in this run"}
    at = found.pop("furthest")
    word = found["verdict"]
    if found["differs"]:
        share = f"{found['holding']} of {found['of']} cells; elsewhere " if found["holding"] else ""
        word += f": {share}{found['differs']} differs"
    if row["data"]:
        word += f"{';' if ':' in word else ':'} on {row['data']} data than the paper's"
    return found | {
        "found": float(values["value"].iloc[at]),
        "at": _cell(values.index, at) if found["of"] > 1 else "",
        "verdict": word,
    }


def _mutant(row: Mapping[str, Any], code: Any, tables: Mapping[str, Any]) -> str:
    """Return the first change of the tables that changes the verdict or the number of cells for which the claim holds.

    The text names the columns and what was done to them, or the other number if the expression names no table. It is empty if no
    change has an effect.
    """
    evaluate, given = _evaluator(row, code, tables)

    def said(values: pd.DataFrame) -> tuple[str, int]:
        found = _tested(row, values)
        return found["verdict"], found["holding"]

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # numbers of other cells may have no logarithm
        found = evaluate(given)
        right = said(found)
        for what, how, values in _negated(evaluate, given, found, row["published"]):
            if (other := said(values)) != right and other[0] != NEVER:
                return f"{what} {how}"
    return ""


def _negated(
    evaluate: Callable[[Mapping[str, Any]], pd.DataFrame],
    given: Mapping[str, pd.DataFrame],
    found: pd.DataFrame,
    published: float,
) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Yield changes of the tables: what was changed, how, and the value of the expression on the changed tables.

    If the expression names no tables, other numbers replace its value.
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
            yield "its own numbers", how, found.assign(value=published + number, se=0.0)


def ledger(root: Path) -> pd.DataFrame:
    """Return the claims of all papers as text, as their tables have them; an empty entry is missing."""
    return pd.concat([pd.read_csv(path, dtype=str) for path in sorted((root / "data" / "claims").glob("*.csv"))])


def merged(root: Path, found: list[pd.DataFrame]) -> pd.DataFrame:
    """Return all claims with the verdicts of this build."""
    seen = pd.concat(found).set_index("id") if found else pd.DataFrame(columns=["verdict"])
    table = ledger(root).merge(seen.reindex(columns=["verdict", "found", "at", "holding", "of", "differs", "mutant"]),
                               left_on="id", right_index=True, how="left")  # fmt: skip
    here = table["verdict"].fillna(NEVER + ": its page was not executed")
    table["verdict"] = here.where(table["why"].isna(), NEVER + ": " + table["why"].fillna(""))
    return table[FIRST + [name for name in table if name not in FIRST]].reset_index(drop=True)


def counts(table: pd.DataFrame) -> dict[str, int]:
    """Return how many claims have each verdict."""
    words = table["verdict"].str.partition(":")[0]
    return {word: int((words == word).sum()) for word in VERDICTS}


def anchor(name: str) -> str:
    """Return the address of a claim within the page of claims."""
    return "claim-" + name.replace("/", "-")


def _table(rows: pd.DataFrame, marked: bool) -> str:
    """Return a table of claims; each claim has a place for links if it is `marked`."""
    lines = []
    for r in rows.itertuples():
        named = f"[{r.place}](/book/{r.page}.ipynb)" if r.page else r.place
        place = f'<span id="{anchor(r.id)}"></span>' * marked + named
        word, far = r.verdict.partition(":")[0], _furthest(r._asdict())
        value = f" (furthest {far})" if far else ""
        lines.append((place, r.claim, _test(r._asdict()) if r.relation else "–", f"**{word}**{r.verdict[len(word) :]}{value}"))
    return figures.listed((3, 9, 8, 6), ("place", "the paper says", "the test", "verdict"), lines)


def page(root: Path) -> str:
    """Return the generated part of the page as MyST: counts, the claims that fail, and all claims of each paper."""
    path = root / "_build" / "claims.csv"
    if not path.exists():
        return "The book has not been executed yet: run `make book`."
    table = pd.read_csv(path, dtype=str).fillna("")
    parts = [
        f"{len(table)} claims: " + "; ".join(f"{word}: {n}" for word, n in counts(table).items())
        + f". All of them: {{download}}`claims.csv </{path.relative_to(root)}>`."
    ]  # fmt: skip
    changed = table["differs"] == "the conclusion"
    failed = (table["verdict"].str.partition(":")[0] == VERDICTS[2]) & ~changed
    more = "Some [errata](errata.md) also change a conclusion."
    for title, those in ((f"Conclusions that differ\n\n{more}", changed), ("Other claims that do not hold", failed)):
        parts += [f"### {title}"] * bool(those.any())
        for paper, name in figures.PAPERS.items():
            if len(rows := table[those & (table["paper"] == paper)]):
                parts.append(f"````{{dropdown}} **{name}** ({len(rows)})\n\n{_table(rows, marked=False)}\n````")
    parts.append("### All claims")
    for paper, name in figures.PAPERS.items():
        rows = table[table["paper"] == paper]
        said = "; ".join(f"{word}: {n}" for word, n in counts(rows).items())
        head = f"````{{dropdown}} **{name}** {len(rows)} claims. {said}"
        parts.append("\n".join([head, "", _table(rows, marked=True), "````"]))
    return "\n\n".join(parts)
