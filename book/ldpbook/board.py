"""Write the data of the scoreboard's explorer: every comparison, claim and erratum, as one classic script.

A page that is opened as a file may not fetch data, but may load a script. To keep the script small, each word is stored as its
index in a list. Numbers have six digits, or all of them where six would hide a difference.
"""

import json
import math
from pathlib import Path
from typing import Any

import pandas as pd
from sphinx.application import Sphinx

from . import acronyms, errata, figures, scoreboard

WORDS = ("item", "series", "protocol", "verdict", "note", "relation", "how", "kind")
NUMBERS = ("x", "published", "published_error", "reproduced", "reproduced_se", "exact")
_TOLD = ("published", "reproduced", "exact")  # columns that stand next to each other in the table
SCRIPT = "_static/board.data.js"
_MEASURES = {"LDP", "DP", "GDP", "RAD", "ReRo", "TV", "ASR", "MSE", "EPG", "TPR", "FPR", "FNR", "KV", "HKV", "VKV", "SKV", "SHKV",
             "LSTM"}  # fmt: skip


def protocol(series: str) -> str:
    """Return the first protocol that the name of a series mentions, or an empty text."""
    named = (use.group(1) for use in acronyms.pattern().finditer(str(series)))
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


def data(root: Path) -> dict[str, Any]:
    """Return all data that the explorer shows; the tables are empty if the book was not executed."""
    board, claims = (
        pd.read_csv(path) if (path := root / "_build" / name).exists() else pd.DataFrame()
        for name in ("scoreboard.csv", "claims.csv")
    )
    items = pd.read_csv(root / "data" / "items.csv")
    words: dict[str, Any] = {name: [[], []] for name in WORDS}
    numbers: dict[str, list[Any]] = {name: [] for name in NUMBERS}
    if len(board):
        board["protocol"], board["verdict"] = board["series"].map(protocol), scoreboard.held(board)
        words = {name: _coded(board[name]) for name in WORDS}
        told = [digits(*row) for row in board[list(_TOLD)].astype(float).to_numpy().tolist()]
        numbers = {name: [digits(value)[0] for value in board[name].astype(float)] for name in NUMBERS if name != "x"}
        numbers["x"] = [place(value) for value in board["x"]]
        numbers |= {name: [row[i] for row in told] for i, name in enumerate(_TOLD)}
    return {
        "words": words,
        "numbers": numbers,
        "papers": figures.PAPERS,
        "items": {row.item: [figures.short(row.item), row.title, row.page] for row in items.itertuples()},
        "claims": claims.reindex(columns=["id", "paper", "place", "claim", "relation", "published", "found", "verdict", "page"])
        .astype(object).where(lambda t: t.notna(), None).values.tolist(),
        "errata": [[e.name, e.title, e.effect, e.affects] for e in errata.entries(root)],
    }  # fmt: skip


def _scripts(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Load the style and scripts of the explorer on the page that shows it, and on no other page."""
    if "data-board" in context.get("body", ""):
        app.add_css_file("board.css")
        for script in ("board.data.js", "board.js"):
            app.add_js_file(script, loading_method="defer")


def _write(app: Sphinx, failure: Exception | None) -> None:
    if not failure and app.builder.format == "html" and not app.config.ldpkit_variant:
        text = json.dumps(data(Path(app.srcdir)), separators=(",", ":"), ensure_ascii=False)
        (Path(app.outdir) / SCRIPT).write_text(f"globalThis.ldpkitBoard={text};\n", encoding="utf-8")


def setup(app: Sphinx) -> None:
    app.connect("html-page-context", _scripts)
    app.connect("build-finished", _write)
