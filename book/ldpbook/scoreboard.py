"""Write the scoreboard page: every number next to the paper's and the exact one, in one folded table for each item.

The data of the page's explorer are every comparison, claim and erratum, as one classic script. A page that is opened as a file may
not fetch data, but may load a script. To keep the script small, each word is stored as its index in a list. Numbers have six
digits, or all of them where six would hide a difference.
"""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from . import errata, figures, page_layout, provenance, states, wording
from .execute import Project
from .paper_values import AGREES, DEFINED, SIGN, UNDECIDED, WORDS

CODED = ("item", "series", "protocol", "verdict", "note", "relation", "how", "kind")
NUMBERS = ("x", "published", "published_error", "reproduced", "reproduced_se", "exact")
_TOLD = ("published", "reproduced", "exact")  # columns that stand next to each other in the table
SCRIPT = "_static/board.data.js"
_MEASURES = {"LDP", "DP", "GDP", "RAD", "ReRo", "TV", "ASR", "MSE", "EPG", "TPR", "FPR", "FNR", "KV", "HKV", "VKV", "SKV", "SHKV",
             "LSTM"}  # fmt: skip
_CURVE = 12  # a series of more points than this is shown as one row
_MARK = {"reproduced": "✓ reproduced", "holds": "· statement holds", AGREES: f"≈ {AGREES}", "differs-explained": "≠ differs, explained", "differs": "✗ differs",
         UNDECIDED: f"? {UNDECIDED}", DEFINED: f"· {DEFINED}", "other-data": "◇ on other data", "no-published-value": "· not printed"}  # fmt: skip


def _number(x: str | float, digits: int = 4) -> str:
    """Return a number with so many digits, and a whole number with all of them; return other text unchanged."""
    try:
        x = float(x)
    except ValueError:
        return str(x)
    return "" if math.isnan(x) else f"{x:,.0f}" if x.is_integer() and abs(x) < 1e15 else f"{x:.{digits}g}"


def _apart(*values: float) -> list[str]:
    """Return numbers with the fewest digits, at least four, that keep different numbers different."""
    for digits in range(4, 18):
        shown = [_number(x, digits) for x in values]
        if len(set(shown)) == len({float(x) for x in values}):
            break
    return shown


def _counted(rows: pd.DataFrame) -> str:
    """Return in words how many comparisons have each verdict."""
    counts = rows["verdict"].value_counts()
    return "".join(f"; {text}: {counts[v]:,}" for v, text in _MARK.items() if v in counts)


def _rows(printed: pd.DataFrame) -> Iterator[tuple[str, ...]]:
    """Yield one row for each number; a digitised curve of many points with one verdict takes one row."""
    for (series, verdict, how, kind), group in printed.fillna({"note": ""}).groupby(
        ["series", "verdict", "how", "kind"], sort=False
    ):
        made = f"{how}; {kind}"
        if len(group) > _CURVE:
            apart = (group["reproduced"] - group["published"]).abs() / group["published"].abs().clip(lower=1e-12)
            note = group["note"][apart.idxmax()]
            yield series, f"{len(group)} points", "curve", f"furthest {100 * apart.max():.2g} %", "", made, _said(verdict, note)
            continue
        for r in group.itertuples():
            both = (r.published, r.reproduced)
            published, reproduced = _apart(*both) if "differs" in verdict else map(_number, both)
            published = {"=": "", "<=": "≤ ", ">=": "≥ "}[r.relation] + published
            spread = f" ± {r.reproduced_se:.2g}" if r.reproduced_se else ""
            yield series, _number(r.x), published, reproduced + spread, _number(r.exact), made, _said(verdict, r.note)


def _said(verdict: str, note: str) -> str:
    """Return a verdict in words, with its assumption or explanation."""
    return _MARK[verdict] + (f": {note}" if note else "")


def _furthest(rows: pd.DataFrame, what: str) -> list[str]:
    """Return a line on the largest deviation of numbers with an error from their exact values, if there are any."""
    n, deviation = figures.furthest(rows)
    return [f"{what} beside exact ones: {n:,}; the furthest is {deviation:.2f} standard errors away."] * bool(n)


def _item(root: Path, item: Any, rows: pd.DataFrame) -> str:
    """Return the part of one item: a visible line of name and state, and its folded counts and comparisons."""
    page, state = root / "book" / f"{item.page}.ipynb", states.of_items(root, [item.item])
    parts = [f"````{{dropdown}} **{figures.short(item.item)}** {item.title}: {state}"]
    parts += [f"{len(rows):,} comparisons{_counted(rows)}."] * bool(len(rows))
    if page.exists():
        parts.append(f"[The page with this {figures.short(item.item).split()[0].lower()}](/book/{item.page}.ipynb).")
    code = rows["how"] == "released code"
    parts += [
        *_furthest(rows[~code], "Simulated numbers"),
        *_furthest(rows[code], "Numbers of the authors' code, run for this book,"),
    ]
    printed = rows[rows["published"].notna()]
    if len(printed):
        header = ("series", "x", "published", "this run ± se", "exact", "how; against", "verdict")
        parts.append(figures.listed((5, 2, 3, 4, 2, 4, 7), header, _rows(printed)))
    return "\n\n".join([*parts, "````"])


def held(board: pd.DataFrame) -> pd.Series:
    """Return the verdicts of a board as they are shown: a statement in words, or a sign, that agrees "holds", without a tick."""
    words = board["kind"].isin((WORDS, SIGN)) & (board["verdict"] == "reproduced")
    return board["verdict"].mask(words, "holds")


def page(root: Path, path: Path) -> str:
    """Return the generated part of the page as MyST: a summary of each paper, then its items."""
    if not path.exists():
        return "The book has not been executed yet: run `make book`."
    board, items = pd.read_csv(path), figures.items(root)
    board["verdict"] = held(board)
    parts = [f"All {len(board):,} comparisons: {{download}}`scoreboard.csv </{path.relative_to(root)}>`."]
    if board["published"].isna().all():
        parts.append("Nothing was compared with a paper: the papers' numbers belong to the papers' scale, `make book`.")
    for paper, group in items.groupby(items["item"].str.split("/").str[0], sort=False):
        ours = board[board["item"].isin(group["item"])]
        compared = group["item"].map(lambda item: states.of_items(root, [item]).parts != [states.NOTHING])
        others = ", ".join(f"[{figures.short(item.item)}](/book/{item.page}.ipynb)" for item in group[~compared].itertuples())
        none = f" Nothing to compare: {others}." if others else ""
        parts += [f"## {figures.PAPERS[paper]}", f"{len(group)} items, {len(ours):,} comparisons{_counted(ours)}.{none}"]
        parts += [_item(root, item, board[board["item"] == item.item]) for item in group[compared].itertuples()]
    crossed = [(how, kind, _counted(rows).removeprefix("; ")) for (how, kind), rows in board.groupby(["how", "kind"])]
    table = figures.listed((4, 4, 7), ("how", "compared with", "verdicts"), crossed)
    parts.append(f"````{{dropdown}} How many of each how and kind, and how they ended\n\n{table}\n\n````")
    return "\n\n".join(parts)


def protocol(series: str) -> str:
    """Return the first protocol that the name of a series mentions, or an empty text."""
    named = (use.group(1) for use in wording.pattern().finditer(str(series)))
    return next((name for name in named if name not in _MEASURES), "")


def digits(*values: float) -> list[float | None]:
    """Return numbers in six digits, or unrounded if rounding makes two of them equal; NaN and infinity become None."""
    told = {value for value in values if math.isfinite(value)}
    short = {value: float(f"{value:.6g}") for value in told}
    if len(set(short.values())) < len(told):
        short = {value: value for value in told}
    return [short.get(value) for value in values]


def place(x: float | str) -> float | str | None:
    """Return the place of a comparison on the axis, which is a rounded number or a word."""
    try:
        return digits(float(x))[0]
    except ValueError:
        return str(x)


def _coded(column: pd.Series) -> tuple[list[str], list[int]]:
    """Return the distinct words of a column, and for every row the index of its word."""
    codes, words = pd.factorize(column.fillna("").astype(str))
    return list(words), codes.tolist()


def _items(root: Path) -> dict[str, list[str]]:
    """Return the name, the title and the page of every item, and its figure there unless it is the first item of its page."""
    items, project = figures.items(root), Project(root)
    again = items["page"].duplicated()
    return {
        row.item: [figures.short(row.item), row.title, row.page,
                   page_layout.named(provenance.executed(project, f"book/{row.page}"), row.item) if again[row.Index] else ""]
        for row in items.itertuples()
    }  # fmt: skip


def data(root: Path) -> dict[str, Any]:
    """Return all data that the explorer shows; the tables are empty if the book was not executed."""
    board, claims = figures.board(root), figures.claims(root)
    words: dict[str, Any] = {name: [[], []] for name in CODED}
    numbers: dict[str, list[Any]] = {name: [] for name in NUMBERS}
    if len(board):
        board["protocol"], board["verdict"] = board["series"].map(protocol), held(board)
        words = {name: _coded(board[name]) for name in CODED}
        told = [digits(*row) for row in board[list(_TOLD)].astype(float).to_numpy().tolist()]
        numbers = {name: [digits(value)[0] for value in board[name].astype(float)] for name in NUMBERS if name != "x"}
        numbers["x"] = [place(value) for value in board["x"]]
        numbers |= {name: [row[i] for row in told] for i, name in enumerate(_TOLD)}
    return {
        "words": words,
        "numbers": numbers,
        "papers": figures.PAPERS,
        "items": _items(root),
        "claims": claims.reindex(columns=["id", "paper", "place", "claim", "relation", "published", "found", "verdict", "page"])
        .astype(object).where(lambda t: t.notna(), None).values.tolist(),
        "errata": [[e.name, e.title, e.effect, e.affects] for e in errata.entries(root)],
    }  # fmt: skip


def script(root: Path) -> str:
    """Return the script with the data of the explorer."""
    return f"globalThis.ldpkitBoard={json.dumps(data(root), separators=(',', ':'), ensure_ascii=False)};\n"
