"""Add the interactive twin of every figure that `plots.figure` drew, with data from the executed notebook.

The table and the options of the figure are stored in the notebook next to the picture, so that no page defines a figure twice.
Small data stand in the page itself. Large data have a script of their own, which also works on a page opened as a file. It is
loaded only when a reader comes near the figure.
"""

import csv
import html
import io
import json
import math
from collections.abc import Iterator

from docutils import nodes
from sphinx.application import Sphinx

from . import provenance
from .execute import Json, Project

SPEC = "application/vnd.ldpkit.figure+json"  # media type in which ldpbook.plots stores the options of a figure
CODED = ("panel", "series", "source")
INLINE = 60_000
"""Number of characters up to which data stand in the page."""


def _number(text: str) -> float | int | str | None:
    """Return a value for JSON with the digits of the table, or its text if JSON has no such number, for example infinity."""
    try:
        value = float(text)
    except ValueError:
        return text or None
    if not math.isfinite(value):
        return None if math.isnan(value) else text
    return int(value) if value.is_integer() and abs(value) < 1e15 else value


def data(spec: Json, table: str) -> Json:
    """Return the data that the script draws: the options, the names, and the rows of the table with indices for names."""
    rows = list(csv.reader(io.StringIO(table)))[1:]
    names = {column: list(dict.fromkeys(row[i] for row in rows)) for i, column in enumerate(CODED)}
    place = [{name: i for i, name in enumerate(known)} for known in names.values()]
    coded = [[*(place[i][row[i]] for i in range(3)), *map(_number, row[3:])] for row in rows]
    told = json.loads(json.dumps(spec), parse_constant=lambda _: None)  # an end of an axis may be NaN
    return {"spec": told, "names": names, "rows": coded}


def of(notebook: Json) -> Iterator[tuple[int, str, Json]]:
    """Yield ``(cell index, name, data)`` of every figure with a twin."""
    for figure in provenance.figures(notebook):
        if SPEC in figure.data and figure.table:
            yield figure.cell, figure.name, data(figure.data[SPEC], figure.table)


def called(page: str, name: str) -> str:
    """Return the name of a twin, which is unique in the whole book."""
    return f"{page.removeprefix('book/')}/{name}"


def written(found: Json) -> str:
    """Return data as text that may stand in a page and in a script."""
    return json.dumps(found, ensure_ascii=False, separators=(",", ":"), allow_nan=False).replace("</", "<\\/")


def element(page: str, name: str, found: Json) -> str:
    """Return the HTML of a twin that stands next to the picture in the page."""
    panels = len(found["names"]["panel"])  # number of rows that the script draws on a wide screen and on a phone
    room = f"--rows: {math.ceil(panels / min(panels, found['spec'].get('columns', panels)))}; --narrow: {math.ceil(panels / 2)}"
    where, text = f'data-twin="{html.escape(called(page, name))}" style="{room}"', written(found)
    if len(text) > INLINE:
        return f'<div {where} data-src="{"../" * page.count("/")}_figures/{name}.js"></div>'
    return f'<div {where}><script type="application/json">{text}</script></div>'


def _found(app: Sphinx, page: str) -> Iterator[tuple[int, str, Json]]:
    """Yield the twins of an HTML page; on a variant, yield the book's twins, which take the variant's values into their axes."""
    book, notebook = Project(app.srcdir), provenance.executed(Project.of(app), page)
    if notebook is None:
        return
    whole = provenance.executed(book, page) if app.config.ldpkit_variant and book.html(page).exists() else None
    books = {name: found for _, name, found in of(whole)} if whole else {}
    tables = {figure.name: figure.table for figure in provenance.figures(notebook)}
    for index, name, found in of(notebook):
        drawn = books.get(name)
        run = {"csv": tables[name], "label": app.config.ldpkit_variant}
        yield index, name, drawn | {"run": run} if drawn and drawn["rows"] and found["rows"] else found


def annotate(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Put every twin into the figure that holds its picture."""
    twins = {index: (name, found) for index, name, found in _found(app, page)}
    for cell in provenance.code_cells(doctree):
        if cell["cell_index"] in twins and (figure := next(cell.findall(nodes.figure), None)):
            figure.insert(1, provenance.raw(element(page, *twins[cell["cell_index"]])))


def files(app: Sphinx) -> Iterator[tuple[str, str]]:
    """Yield the scripts with data that are too large for a page."""
    for page in sorted(app.env.found_docs):
        for _, name, found in _found(app, page):
            if len(text := written(found)) > INLINE:
                yield f"_figures/{name}.js", f"ldpkit.twin.bring({json.dumps(called(page, name))}, {text});\n"
