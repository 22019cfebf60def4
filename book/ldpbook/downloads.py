"""Write what a reader may take away: a zip of each paper, and text and picture for links to a page.

The zips have the same bytes for the same book, because entries are in order and have one fixed date.
"""

import base64
import functools
import html
import io
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
from docutils import nodes
from PIL import Image
from sphinx.application import Sphinx

from . import execute, figures, parameters, provenance, release

FOLDER, _PNG = "_papers", "image/png"
_DATE = (1980, 1, 1, 0, 0, 0)  # the earliest date that a zip can store
_LONG = 180  # number of characters of a description
COLUMNS = {
    "panel": "facet of the figure",
    "series": "what is joined by one line or has one hue",
    "source": "paper, released code, this run (by real reports where it says so), exact, or claim",
    "x": "place on the horizontal axis",
    "y": "value; NaN and infinities are left out",
    "error": "half-length of the error bar, in the units of y",
    "ε": "claimed budget, the colour of the dot",
    "poisoning gain": "expected poisoning gain, the colour of the dot",
    "family": "family of mechanisms, see the page of the figure",
    "mechanism": "name of the mechanism",
    "epsilon": "claimed budget",
    "parameter": "the parameter that was chosen",
    "symbol": "what it is called",
    "asr": "attacker's success rate",
    "mse": "mean squared error of one user",
    "epg": "expected poisoning gain",
    "row": "protocol of a drawing of steps, and its round",
    "step": "name of the step",
    "shows": "what a user or collector holds at this step",
}
"""Columns of all tables of figures, with their meaning."""
BOARD = {
    "item": "figure or table of the paper",
    "series": "which of its numbers",
    "x": "at which place of the horizontal axis, or which row",
    "published": "what the paper gives; empty if it prints nothing",
    "published_error": "how far the printed or digitised form may be off",
    "reproduced": "this run; of released code what that gave",
    "reproduced_se": "its standard error, 0 if it was computed exactly",
    "exact": "exact mathematics, where known",
    "verdict": "see the scoreboard",
    "note": "what explains a difference, or was assumed",
    "relation": "how ours should stand to the published value",
    "how": "how our number was made",
    "kind": "what it is compared with",
}
README = """\
{title}: figures, data and notebooks
====================================

Made by ldpkit {version}; how the numbers came about is in the book.

figures/       every figure as SVG (and PNG), and the table that it shows as CSV
notebooks/     executed notebooks, with their outputs; they need ldpkit of this version
parameters.csv every parameter of every notebook: value in this book, and meaning with range and the paper's value
dictionary.csv every column of every table, with its meaning
comparisons.csv this paper's rows of the scoreboard
CITATION.cff   how to cite
"""


def pictures(notebook: execute.Json | None) -> dict[str, bytes]:
    """Return the PNG of every figure with a name that has one."""
    return {
        figure.name: _lighter(base64.b64decode("".join(figure.data[_PNG])))
        for figure in provenance.figures(notebook)
        if _PNG in figure.data
    }


@functools.cache
def _lighter(png: bytes) -> bytes:
    """Return a picture with at most 256 colours, which makes its file about three times smaller."""
    return encoded(Image.open(io.BytesIO(png)).convert("RGB").quantize(256, dither=Image.Dither.NONE), "png", optimize=True)


def encoded(picture: Image.Image, form: str, **options: Any) -> bytes:
    """Return the content of the file of a picture."""
    made = io.BytesIO()
    picture.save(made, form, **options)
    return made.getvalue()


def entries(project: execute.Project, paper: str) -> Iterator[tuple[str, bytes]]:
    """Yield names and contents of a paper's zip."""
    version = re.search(r'^version = "(.*)"', (project.root / "pyproject.toml").read_text(), flags=re.M)
    yield "README.txt", README.format(title=figures.PAPERS[paper], version=version[1] if version else "").encode()
    yield "CITATION.cff", (project.root / "CITATION.cff").read_bytes()
    board = project.root / "_build" / "scoreboard.csv"
    if board.exists():
        rows = pd.read_csv(board, dtype=str, keep_default_na=False)
        yield "comparisons.csv", rows[rows["item"].str.startswith(f"{paper}/")].to_csv(index=False).encode()
    used: list[tuple[str, ...]] = []
    columns: list[tuple[str, ...]] = []
    for page in project.notebooks():
        if not page.startswith(f"book/{paper}/") or (notebook := provenance.executed(project, page)) is None:
            continue
        name, changed = page.rpartition("/")[2], provenance.built_with(notebook)
        yield f"notebooks/{name}.ipynb", project.executed(page).read_bytes()
        used += [(name, p.name, changed.get(p.name, p.literal), p.meaning) for p in parameters.of(notebook).values()]
        for figure, png in pictures(notebook).items():
            yield f"figures/{figure}.png", png
        for drawn in provenance.figures(notebook):
            yield f"figures/{drawn.name}.svg", drawn.svg.encode()
            if drawn.table:
                yield f"figures/{drawn.name}.csv", drawn.table.encode()
                columns += [(f"figures/{drawn.name}.csv", c, COLUMNS[c]) for c in drawn.table.partition("\n")[0].split(",")]
    if board.exists():
        columns += [("comparisons.csv", c, BOARD[c]) for c in rows]
    for name, head, lines in (
        ("parameters", "notebook parameter value meaning", used),
        ("dictionary", "table column meaning", columns),
    ):
        yield f"{name}.csv", pd.DataFrame(lines, columns=head.split()).to_csv(index=False).encode()


def archive(project: execute.Project, paper: str) -> bytes:
    """Return the zip of a paper, with the same bytes for the same contents."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as zipped:
        for name, content in sorted(entries(project, paper)):
            about = zipfile.ZipInfo(f"{paper}/{name}", _DATE)
            about.compress_type, about.external_attr, about.create_system = zipfile.ZIP_DEFLATED, 0o644 << 16, 3
            zipped.writestr(about, content, compresslevel=9)
    return out.getvalue()


def offer(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Add a link to a paper's zip on the first page of the paper."""
    paper = page.removeprefix("book/").removesuffix("/index")
    if paper in figures.PAPERS:
        line = (f'<p class="take-away">Take it with you: <a href="../../{FOLDER}/{paper}.zip" download>figures, data with a dictionary, '
                "executed notebooks, parameters and citation</a> in one zip.</p>")  # fmt: skip
        next(doctree.findall(nodes.section)).append(provenance.raw(line))


def _first(project: execute.Project, page: str) -> str:
    """Return the picture for links to a page: its first figure, else its chapter's, else the book's, else an empty text."""
    near = [page, *(p for p in project.notebooks() if p.rpartition("/")[0] == page.rpartition("/")[0]), *project.notebooks()]
    for other in near:
        for figure in provenance.figures(provenance.executed(project, other)):
            if _PNG in figure.data:
                return figure.name
    return ""


def described(doctree: nodes.document) -> str:
    """Return the first sentences of a page, without formulas."""
    for paragraph in doctree.findall(nodes.paragraph):
        if isinstance(paragraph.parent, (nodes.section, nodes.document)):
            said = "".join(part for part in paragraph.findall(nodes.Text) if not isinstance(part.parent, nodes.raw))
            text = " ".join(said.replace("\\varepsilon", "ε").replace("\\", "").split())
            if len(text) > 40:
                return text if len(text) <= _LONG else text[: _LONG - 1].rpartition(" ")[0] + "…"
    return ""


def heads(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
    """Add title, description and picture of a page for previews of links, with full addresses if the host is known
    (html_baseurl).
    """
    if doctree is None or app.config.ldpkit_variant:
        return
    base = app.config.html_baseurl.rstrip("/") + "/" if app.config.html_baseurl else ""
    project, said = execute.Project.of(app), described(doctree)
    tags = {
        "og:type": "article",
        "og:site_name": app.config.project or app.config.html_title,
        "og:title": re.sub(r"<[^>]+>", "", context["title"]),
    }
    if said:
        tags["og:description"] = said
    if picture := _first(project, page):
        tags["og:image"] = (base or "../" * page.count("/")) + f"_figures/{picture}.png"
    lines = [f'<meta property="{name}" content="{html.escape(text)}">' for name, text in tags.items()]
    if said:
        lines.append(f'<meta name="description" content="{html.escape(said)}">')
    context["metatags"] = context.get("metatags", "") + "\n".join(lines)


def files(project: execute.Project) -> Iterator[tuple[str, bytes]]:
    """Yield the zips and pictures, which stand next to the pages, and the wheel of the auditor, which no package index has."""
    name, content = release.wheel(project.root)
    yield f"_wheel/{name}", content
    yield from ((f"{FOLDER}/{paper}.zip", archive(project, paper)) for paper in figures.PAPERS)
    for page in project.notebooks():
        yield from ((f"_figures/{name}.png", png) for name, png in pictures(provenance.executed(project, page)).items())


def lighten(out: Path) -> None:
    """Remove files of the theme that no page needs, and name its arrows at sections, which have no name for a screen reader.

    These are the icons as a script, since the style sheet has the same icons as a font. They are also the fonts in their second
    format, and the maps for developers of the theme. Pages other than the search page no longer load the index of the search.
    """
    for path in out.rglob("*.html"):
        text = path.read_text(encoding="utf-8").replace("<summary><span", '<summary aria-label="Pages of this section"><span')
        unused = r"scripts/fontawesome\.js" + r"|searchtools\.js|language_data\.js|searchindex\.js" * (
            path != out / "search.html"
        )
        path.write_text(re.sub(rf'[ \t]*<script[^>]* src="[^"]*(?:{unused})[^"]*"></script>\n?', "", text), encoding="utf-8")
    for pattern in ("*.map", "fontawesome.js*", "webfonts/*.ttf"):
        for path in (out / "_static").rglob(pattern):
            path.unlink(missing_ok=True)
