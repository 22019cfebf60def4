"""Put a card at the head of a figure's page: question, answer, small bars of the figure, the paper's claim, and the verdict.

Questions and answers stand in ``book/cards.yml``. Verdicts, counts, bars and times come from the results of the build. The tiles
of the front page ask the same questions.
"""

import csv
import functools
import html
import io
import math
from pathlib import Path
from typing import Any

import pandas as pd
import yaml
from docutils import nodes
from sphinx.application import Sphinx

from . import acronyms, claims_page, execute, figures, provenance, twins
from .execute import Json, Project

_ROUNDING = 1e-12  # smaller numbers are rounding errors of doubles


@functools.cache
def _read(path: Path, stamp: int) -> Json:
    found: Json = yaml.safe_load(path.read_text(encoding="utf-8"))
    return found


def load(root: Path) -> Json:
    """Return all cards, keyed by page without the folder ``book``; the result is empty if the book has no cards."""
    path = root / "book" / "cards.yml"
    return _read(path, path.stat().st_mtime_ns) if path.exists() else {}


WHOLE = {"largest", "one"}
"""Divisors that only set the length of the bars, because the digits next to them show the undivided values."""


def glance(told: Json, spec: Json, table: str) -> tuple[str, list[tuple[str, float]]]:
    """Return the title of a card's bars, and a name and a value for each bar.

    The bars are rows of the figure's own table, mostly divided by the claim. Both results are empty if this run has no such rows.
    """
    rows = [row | {"x": row["x"] or None} for row in csv.DictReader(io.StringIO(table)) if row["y"]]
    places: dict[str, str] = {}
    kept = [row for row in rows if row["source"] != "claim"]
    for column, wanted in told["keep"].items():
        known = list(dict.fromkeys(row[column] for row in kept if row[column]))
        if wanted in ("first", "last") and known:
            wanted = known[0 if wanted == "first" else -1]
        kept = [row for row in kept if row[column] and (row[column] == wanted or _equal(row[column], wanted))]
        places[column] = f"{float(str(wanted)):g}" if _equal(str(wanted), wanted) else str(wanted)
    over, bars = told.get("over", "claim"), []
    for row in kept:
        claim = next(
            (r for r in rows if over in (r["source"], r["series"]) and r["panel"] == row["panel"] and r["x"] in (row["x"], None)),
            None,
        )
        if over in WHOLE or (claim and float(claim["y"]) > 0):
            bars.append((row[told["by"]], float(row["y"]) / (1 if over in WHOLE or not claim else float(claim["y"]))))
    at = [f"{spec['x']} {places[c]}" if c == "x" else places[c] for c in ("panel", "series", "x") if places.get(c)]
    return f"{told['title']} ({', '.join(at)})" if at else told["title"], bars


def _equal(text: str, wanted: object) -> bool:
    try:
        return float(text) == float(str(wanted))
    except ValueError:
        return False


def drawn(told: Json, notebook: Json) -> str:
    """Return the bars of a card in HTML, with names, lengths and digits; a line marks the claim if a bar is longer."""
    spec = {name: found["spec"] for _, name, found in twins.of(notebook)}.get(told["figure"])
    table = next((table for _, name, _, table in provenance.figures(notebook) if name == told["figure"]), None)
    title, bars = glance(told, spec, table) if spec and table else ("", [])
    if not bars:
        return ""
    over, most = told.get("over", "claim"), max(value for _, value in bars)
    full = (most if over == "largest" else max(1.0, most)) or 1.0
    mark = f'<span class="limit" style="left:{100 / full:.1f}%"></span>' if over not in WHOLE and most > 1 else ""
    items = "".join(f'<li><span>{html.escape(name)}</span><span class="bar"><span style="width:{100 * max(0, value) / full:.1f}%"></span>{mark}</span>'
                    f"<span>{_digits(value, over)}</span></li>" for name, value in bars)  # fmt: skip
    return f'<div class="glance"><p>{html.escape(title)}</p><ul>{items}</ul></div>'


def _digits(value: float, over: str) -> str:
    return f"{value:.2f}".replace("-0.00", "0.00") if over != "largest" else f"{value:,.0f}" if value >= 1e3 else f"{value:.3g}"


def verdict(row: Any) -> str:
    """Return the verdict on a claim in words, with the number on which the verdict rests."""
    if row is None:
        return ""
    found, number = float(row["found"] or math.nan), ""
    if math.isfinite(found):
        shown = "0" if abs(found) < _ROUNDING else f"{found:.4g}"
        number = f" ({shown} where the test is {claims_page.SIGNS[row['relation']]} {row['published']})"
    word, colon, why = row["verdict"].partition(":")
    return f"{word[0].upper()}{word[1:]}{colon}{why}{number}."


def counted(project: Project, page: str) -> list[str]:
    """Return one sentence each on the claims and on the compared numbers of a page."""
    said, name = [], page.removeprefix("book/")
    if (path := project.root / "_build" / "claims.csv").exists():
        table = pd.read_csv(path, dtype=str)
        ours = table[table["page"] == name]
        counts = {word: n for word, n in claims_page.counts(ours).items() if n and word != claims_page.NEVER} if len(ours) else {}
        if counts:
            said.append(
                "Claims of the paper tested on this page: " + "; ".join(f"{word}: {n}" for word, n in counts.items()) + "."
            )
    if (path := project.root / "_build" / "figures.csv").exists():
        items = pd.read_csv(path)
        for row in items[items["page"] == name].itertuples():
            if row.state in figures.COUNTED:
                said.append(
                    f"{row.agree:,} of {row.compared:,} compared numbers of {figures.short(row.item)} agree; the figure: {row.state}."
                )
    return said


def card(project: Project, page: str, notebook: Json, variant: bool = False) -> nodes.container | None:
    """Return the card of a page, or None if the page has no card.

    The card of a variant (a page that was run with other parameters) states that its results are those of the book.
    """
    told = load(project.root).get(page.removeprefix("book/"))
    if told is None or "question" not in told:
        return None
    says, row = told.get("says"), None
    if "claim" in told:
        path = project.root / "_build" / "claims.csv"
        ledger = pd.read_csv(path, dtype={"published": str}) if path.exists() else claims_page.merged(project.root, [])
        row = ledger.set_index("id").loc[told["claim"]]
        says = f"{row['claim']} ({row['place']})."
    terms = [("The paper says", says), ("We found", " ".join(filter(None, [verdict(row), *counted(project, page)])))]
    seconds = execute.expected(project).get(page)
    if seconds:
        terms.append(("Time to run", f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} minutes"))
    box = nodes.container(classes=["in-short"])
    if variant:
        box += nodes.paragraph("", "In the book: this card describes the book's run, not yours.", classes=["whose"])
    box += nodes.paragraph("", told["question"], classes=["question"])
    box += nodes.paragraph("", told["answer"], classes=["answer"])
    if bars := "glance" in told and drawn(told["glance"], notebook):
        box += nodes.raw("", bars, format="html")
    listed = nodes.definition_list()
    for term, text in terms:
        if text:
            listed += nodes.definition_list_item("", nodes.term("", term), nodes.definition("", nodes.paragraph("", text)))
    box += listed
    return box


def annotate(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Put the card under the title of a page, with hovers on its short names."""
    project, variant = Project(app.srcdir), bool(app.config.ldpkit_variant)
    notebook = provenance.load(project.executed(page)) or ({"cells": []} if variant else None)
    top = next(doctree.findall(nodes.section), None)
    if (
        notebook is not None
        and top is not None
        and app.builder.format == "html"
        and (box := card(project, page, notebook, variant))
    ):
        for text in list(box.findall(nodes.Text)):
            text.parent.replace(text, acronyms.hinted(text))
        top.insert(1 + variant, box)  # after the box that describes a variant


def setup(app: Sphinx) -> None:
    app.connect("doctree-resolved", annotate)
