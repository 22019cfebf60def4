"""Sphinx extension: show executed notebooks in place of their sources, say how each was made, write the scoreboard page."""

from pathlib import Path

import front
import pandas as pd
import provenance
from docutils import nodes
from execute import Project

SCOREBOARD = "book/scoreboard"
FRONT = ("book/intro", "book/execution", "book/which_auditor", "book/notation", "book/faq")
_ENTRANCE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="refresh" content="0; url={first}">
<title>{title}</title>
<link rel="icon" href="_static/{icon}">
</head>
<body><p><a href="{first}">{title}</a></p></body>
</html>
"""
_CURVE = 12  # a series of more points than this is shown as one row
_MARK = {"reproduced": "✓ reproduced", "differs-explained": "≠ differs, explained", "differs": "✗ differs",
         "no-published-value": "· without a published number"}  # fmt: skip


def _swap(app, docname, source):
    root = Path(app.srcdir)
    if str(app.env.doc2path(docname, base=False)).endswith(".ipynb"):
        copy = root / app.config.ldpkit_build / "executed" / f"{docname}.ipynb"
        app.env.note_dependency(str(copy))
        if copy.exists():
            source[0] = copy.read_text(encoding="utf-8")
    elif docname == SCOREBOARD:
        board = root / "_build" / "scoreboard.csv"
        app.env.note_dependency(str(board))
        source[0] = source[0].replace("<!-- scoreboard -->", _scoreboard(root, board))
    elif docname in FRONT:
        source[0] = front.fill(root, Project(root, app.config.ldpkit_build), docname, source[0])


def _number(x):
    """Four digits of a number, all of a whole one; other text as it is."""
    try:
        x = float(x)
    except ValueError:
        return str(x)
    return "" if pd.isna(x) else f"{x:,.0f}" if x.is_integer() and abs(x) < 1e15 else f"{x:.4g}"


def _table(widths, header, rows):
    """A list table in MyST, with relative column widths."""
    lines = ["```{list-table}", ":header-rows: 1", ":widths: " + " ".join(map(str, widths)), ""]
    for row in [header, *rows]:
        lines += [("* - " if i == 0 else "  - ") + str(cell) for i, cell in enumerate(row)]
    return "\n".join([*lines, "```"])


def _glance(root, items, counts):
    """One table per paper: which items are there, and how their numbers fared."""
    for paper, group in items.groupby(items["item"].str.split("/").str[0], sort=False):
        rows = []
        for item in group.itertuples():
            name = item.item.split("/")[1]
            page = f"[{name}](/book/{item.page}.ipynb)" if (root / "book" / f"{item.page}.ipynb").exists() else name
            row = counts.loc[item.item] if item.item in counts.index else {}
            found = ", ".join(f"{row[v]} {text}" for v, text in _MARK.items() if row.get(v, 0))
            rows.append((page, item.title, found or "not yet"))
        yield f"### {paper}\n\n" + _table((1, 5, 6), ("item", "title", "comparisons"), rows)


def _printed_rows(printed):
    """One row per number; a digitised curve of many points with one verdict takes one row."""
    for (item, series, verdict), group in printed.groupby(["item", "series", "verdict"], sort=False):
        item = item.split("/")[1]
        if len(group) > _CURVE:
            apart = ((group["reproduced"] - group["published"]).abs() / group["published"].abs().clip(lower=1e-12)).max()
            cells = [f"{len(group)} points", "curve", f"furthest {100 * apart:.2g} %", ""]
            yield item, series, *cells, _MARK[verdict] + "".join(f": {n}" for n in group["note"].dropna().unique()[:1])
            continue
        for r in group.itertuples():
            spread = f" ± {r.reproduced_se:.2g}" if r.reproduced_se else ""
            note = f": {r.note}" if verdict == "differs-explained" else ""
            yield (item, series, _number(r.x), _number(r.published), _number(r.reproduced) + spread, _number(r.exact),
                   _MARK[verdict] + note)  # fmt: skip


def _scoreboard(root, path):
    """The page's tables as MyST: items at a glance, then what papers print, then every comparison."""
    if not path.exists():
        return "The book has not been executed yet: run `make book`."
    board = pd.read_csv(path)
    items = pd.read_csv(root / "data" / "items.csv")
    counts = board.groupby(["item", "verdict"]).size().unstack(fill_value=0)
    parts = [*_glance(root, items, counts), "## What the papers print"]
    printed = board[board["published"].notna()]
    if printed.empty:
        parts.append("Nothing was compared: the papers' numbers belong to the papers' scale, `make book`.")
    else:
        header = ("item", "series", "x", "published", "this run ± se", "exact", "verdict")
        for paper, group in printed.groupby(printed["item"].str.split("/").str[0], sort=False):
            parts += [f"### {paper}", _table((2, 5, 3, 3, 4, 2, 8), header, list(_printed_rows(group)))]
    parts.append("## This run against exact mathematics")
    judged = board[board["exact"].notna() & (board["reproduced_se"] > 0)]
    z = (judged["reproduced"] - judged["exact"]).abs() / judged["reproduced_se"]
    far = z.groupby(judged["item"]).agg(["size", "max"])
    parts.append(_table(
        (2, 2, 3),
        ("item", "simulated numbers", "largest distance in standard errors"),
        [(i, int(r["size"]), f"{r['max']:.2f}") for i, r in far.iterrows()],
    ))  # fmt: skip
    return "\n\n".join(parts)


def _distinct(app, doctree, page):
    """Take away the identifiers that sphinx-exercise gives to the contents of every exercise and solution alike."""
    for section in doctree.findall(nodes.section):
        section["ids"] = [i for i in section["ids"] if i not in ("exercise-content", "solution-content")]


def _entrance(app, failure):
    """The site's address without a page leads to the first one.

    The page that Jupyter Book writes names no icon, so that a browser may ask the host for one that is not there.
    """
    if not failure and app.builder.format == "html":
        about = {"first": app.builder.get_target_uri(app.config.master_doc), "title": app.config.html_title}
        (app.outdir / "index.html").write_text(_ENTRANCE.format(icon=Path(app.config.html_favicon).name, **about))


def setup(app):
    provenance.setup(app)
    app.connect("source-read", _swap)
    app.connect("doctree-resolved", _distinct)
    app.connect("build-finished", _entrance)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
