"""Extend Sphinx to show executed notebooks in place of their sources, and to fill in all generated parts of pages."""

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

from . import (
    acronyms,
    board,
    claims,
    errata,
    front,
    gallery,
    lessons,
    provenance,
    reading,
    scoreboard,
    searching,
    takeaway,
    trust,
    twins,
)
from .execute import Project

SCOREBOARD, CLAIMS, TRUST = "book/scoreboard", "book/claims", "book/trust"
FRONT = ("book/intro", "book/execution", "book/which_auditor", "book/notation", "book/faq")
_PHONE = 30  # length in characters of TeX
_WORD = 24  # length of a piece of code that always fits on one line
_STOP = re.compile(r"[,.;:!?)\]]+")
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


def _swap(app: Sphinx, docname: str, source: list[str]) -> None:
    root = Path(app.srcdir)
    if str(app.env.doc2path(docname, base=False)).endswith(".ipynb"):
        copy = root / app.config.ldpkit_build / "executed" / f"{docname}.ipynb"
        app.env.note_dependency(str(copy))
        if copy.exists():
            source[0] = copy.read_text(encoding="utf-8")
    elif docname == SCOREBOARD:
        path = root / "_build" / "scoreboard.csv"
        app.env.note_dependency(str(path))
        source[0] = source[0].replace("<!-- scoreboard -->", scoreboard.page(root, path))
    elif docname == CLAIMS:
        table = root / "_build" / "claims.csv"
        app.env.note_dependency(str(table))
        source[0] = source[0].replace("<!-- claims -->", claims.page(root))
    elif docname == TRUST:
        app.env.note_dependency(str(root / trust.TABLE))
        source[0] = source[0].replace("<!-- kills -->", trust.page(root))
    elif docname in FRONT:
        source[0] = front.fill(root, Project(root, app.config.ldpkit_build), docname, source[0])


def _distinct(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Remove the identifiers that sphinx-exercise gives to the contents of all exercises and solutions alike."""
    for section in doctree.findall(nodes.section):
        section["ids"] = [i for i in section["ids"] if i not in ("exercise-content", "solution-content")]


def _long(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Mark formulas within a line that are wider than a phone, and code whose words all fit on a line."""
    for formula in doctree.findall(nodes.math):
        formula["classes"] += ["long"] if len(formula.astext()) > _PHONE else []
    for code in doctree.findall(nodes.literal):
        code["classes"] += ["short"] if max(map(len, code.astext().split()), default=0) <= _WORD else []


def _glued(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Keep a formula within a line together with the stop after it and the bracket before it."""
    for formula in list(doctree.findall(nodes.math)):
        parent, place = formula.parent, formula.parent.index(formula)
        before, behind = (parent[at] if 0 <= at < len(parent) else None for at in (place - 1, place + 1))
        whole = nodes.inline(classes=["glued"])
        if isinstance(before, nodes.Text) and before.endswith("("):
            whole += nodes.Text("(")
            parent.replace(before, nodes.Text(before[:-1]))
        parent.replace(formula, whole)
        whole += formula
        if isinstance(behind, nodes.Text) and (stop := _STOP.match(behind)):
            whole += nodes.Text(stop.group())
            parent.replace(behind, nodes.Text(behind[stop.end() :]))


def _anywhere(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Remove values of constants that tell a reader nothing: paths of the building machine, functions without a name."""
    for value in list(doctree.findall(addnodes.desc_annotation)):
        if "Path('" in value.astext() or "<function" in value.astext():
            value.parent.remove(value)


def _whole(app: Sphinx, what: str, name: str, thing: object, options: object, lines: list[str]) -> None:
    """Break a property's docstring after its first colon, because Sphinx would read the text before the colon as a type."""
    if what in ("property", "attribute", "data") and lines and ": " in lines[0]:
        lines[:1] = [part.lstrip() for part in re.split(r"(?<=:) ", lines[0], maxsplit=1)]


def _shared(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
    """Load `base.js` before the scripts that need it, and at once if a page has a twin, which is drawn before the text."""
    parts = set(re.findall("data-(twin|explorer|board|package)", context.get("body", "")))
    if parts:
        app.add_js_file("base.js", priority=400, loading_method=None if "twin" in parts else "defer")


def _explorers(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
    """Load style, scripts and data of each explorer on the pages that contain it, and on no other page."""
    for name in dict.fromkeys(re.findall(r'data-explorer="(\w+)"', context.get("body", ""))):
        app.add_css_file("explore.css")
        for script in ("laws.js", "explore.js", f"explore/{name}.data.js", f"explore/{name}.js"):
            if any((Path(app.confdir) / folder / script).exists() for folder in app.config.html_static_path):
                app.add_js_file(script, loading_method="defer")


def _parts(app: Sphinx, config: Any) -> None:
    """Fold the parts of the contents, except for the one of the page at hand."""
    config.html_theme_options["show_navbar_depth"] = 0


def _entrance(app: Sphinx, failure: Exception | None) -> None:
    """Write the page at the site's address that leads to the first page of the book.

    The page that Jupyter Book writes names no icon, so that a browser would ask the server for one that does not exist.
    """
    if not failure and app.builder.format == "html":
        about = {"first": app.builder.get_target_uri(app.config.master_doc), "title": app.config.html_title}
        (app.outdir / "index.html").write_text(_ENTRANCE.format(icon=Path(app.config.html_favicon).name, **about))


def setup(app: Sphinx) -> dict[str, str | bool]:
    for part in (provenance, twins, acronyms, searching, lessons, errata, board, takeaway, reading, gallery):
        part.setup(app)
    app.add_js_file("sidebar.js", loading_method="defer")
    app.connect("config-inited", _parts)
    app.connect("source-read", _swap)
    app.connect("autodoc-process-docstring", _whole, priority=400)  # before napoleon
    app.connect("doctree-resolved", _distinct)
    app.connect("doctree-resolved", _long)
    app.connect("doctree-resolved", _glued)
    app.connect("doctree-resolved", _anywhere)
    app.connect("html-page-context", _shared)
    app.connect("html-page-context", _explorers)
    app.connect("build-finished", _entrance)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
