"""Arrange pages of figures and tables for readers (answer, figure, how to read it, one point, evidence), and their gallery.

A notebook keeps the order in which it runs. On a page with an answer, the code of the first figure moves below that figure. A
page with the heading of `EVIDENCE` gets a line of status below its answer, and one fold around all its evidence.

The gallery of the front page shows a picture of every figure and table, its question, and a bar of its verdicts.
"""

import cmath
import functools
import html
import io
import itertools
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pandas as pd
from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode
from PIL import Image, ImageDraw
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from . import downloads, figures, lessons, provenance, states
from .execute import Json, Project

EVIDENCE = "does-it-agree-with-the-paper"
"""Identifier of the section of a page that holds all its evidence."""
PROMPTS = {
    "hide-cell": "The answer, computed",
    "parameters": "Parameters",
    "setup": "Computation",
    "first-figure": "Code and files of this figure",
    "figure": "Code of this figure",
    "": "Code of this table",
}
"""Titles of the fold of a cell; the first of these tags that the cell has decides."""
FOLDER, SIZE = "_thumbs", (320, 200)
LETTERS = 7.4
"""Height in pixels of the smallest letters that a tile shows."""
SHADES = {
    "agree": "agrees with the paper",
    "other": "not printed; agrees with exact values or the authors' code",
    "differ": "differs, explained",
    "none": "neither: undecided, other data, or nothing to compare it with",
}
"""Parts of a bar in their order, each with its meaning."""
SIGNS = {"agree": "✓", "exact": "=", "differ": "≠", "wrong": "✗", "none": "–"}
MEANINGS = {
    "agree": "all agree",
    "exact": "none printed, compared with exact values",
    "differ": "some differ, explained",
    "wrong": "one differs",
    "none": "nothing to compare",
}
"""The signs of the overview, and what they mean."""
_WHICH = (
    'see the <a href="claims.html#conclusions-that-differ">conclusions that differ</a> and the <a href="errata.html">errata</a>'
)
_GROUP = r'\n( *)<g id="{}_\d+">(.*?)\n\1</g>'
_PATH = re.compile(r'<path d="([^"]+)"')
_TEXT = re.compile(
    r'<g [^>]*transform="translate\(([\d.-]+) ([\d.-]+)\)(?: rotate\(([\d.-]+)\))? scale\(([\d.]+)[^>]*>(?:\s*<defs>.*?</defs>)?((?:\s*<use[^>]*/>)+)',
    flags=re.S,
)
_LETTER = re.compile(r"<use[^>]*translate\(([\d.]+)")
_WIDTH = re.compile(r'viewBox="0 0 ([\d.]+)')


def evidence(doctree: nodes.Node) -> nodes.section | None:
    """Return the section of a page that holds its evidence, or None."""
    return next((s for s in doctree.findall(nodes.section) if EVIDENCE in s["ids"]), None)


def bar(rows: pd.DataFrame) -> str:
    """Return a bar whose parts are as long as the numbers of values that agree with the paper or with something else, or differ."""
    n, exact = figures.counted(rows), (rows["verdict"] == "no-published-value") & rows["exact"].notna()
    parts = {"agree": n["printed"], "other": n["code"] + int(exact.sum()), "differ": n["differ"]}
    parts["none"] = len(rows) - sum(parts.values())
    shades = "".join(f'<i class="{name}" style="flex-grow:{n}"></i>' for name, n in parts.items() if n)
    return f'<span class="bar" aria-hidden="true">{shades}</span>'


def status(rows: pd.DataFrame, found: states.State, notes: Json, to: Callable[[str], str]) -> str:
    """Return the line below the answer: numbers, statements, and what differs, with the reason; what is not the gravest is folded."""
    told = [each.html(to) for each in found.differences]
    if n := figures.counted(rows)["differ"]:
        because = f", because {html.escape(notes['differs'], quote=False)}" if "differs" in notes else ""
        told.append(f"{n:,} number{'s differ' if n > 1 else ' differs'}{because}.")
    line = f'{bar(rows)}<span class="state">{found.html}</span>'
    before = "." if not found.differences else ":" if found.differences[0].conclusion else ", but"
    line += f"{before} {told[0]}" if told else "."
    line += f' <a href="#{EVIDENCE}">Evidence</a>'
    if point := notes.get("explore"):
        line += f' · <a href="{to("book/explore/" + point.partition(":")[0])}#{html.escape(point)}">Move a point yourself</a>'
    more = "".join(f"<li>{each}</li>" for each in told[1:])
    return f"{line} <details><summary>{len(told) - 1} more</summary><ul>{more}</ul></details>" if more else line


def _named_folds(doctree: nodes.document) -> Iterator[tuple[nodes.Element, HideCodeCellNode]]:
    """Give the fold of each cell a title that says what is folded, and yield the cells with their folds."""
    for cell in provenance.code_cells(doctree):
        for fold in cell.children[:1]:
            if isinstance(fold, HideCodeCellNode):
                tags = [name.removeprefix("tag_") for name in cell["classes"]]
                shown = "figure" if any(cell.findall(nodes.figure)) else "" if len(cell.children) > 1 else "setup"
                prompt = next(text for tag, text in PROMPTS.items() if tag in (*tags, shown, ""))
                imports = prompt == PROMPTS["setup"] and fold.astext().lstrip().startswith(("import ", "from "))
                fold["prompt_show"] = fold["prompt_hide"] = "Imports" if imports else prompt
                yield cell, fold


def arrange(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Name the folds of a page, and move the parts of a page with an answer into the order of its readers."""
    folded = list(_named_folds(doctree))
    top = next(doctree.findall(nodes.section), doctree)
    answer = next((n for n in top.children if isinstance(n, nodes.Element) and "answer" in n["classes"]), None)
    if answer is None:
        return
    project, section, variant = Project.of(app), evidence(doctree), bool(app.config.ldpkit_variant)
    touching = [n for n in top.children if isinstance(n, nodes.raw) and "page-errata" in n.astext()]
    top.children = [n for n in top.children if n not in touching]
    for cell, fold in folded:
        if "tag_first-figure" in cell["classes"]:  # the code stands behind its figure, with the files
            made = [n for n in cell.children if isinstance(n, nodes.raw) and "made-by" in n.astext()]
            cell.children = [n for n in cell.children if n is not fold and n not in made] + [fold]
            fold += made
    if section:
        rows, found = states.compared(project, page), states.of_page(project, page)
        to = functools.partial(app.builder.get_relative_uri, page)
        items = figures.items(project.root)
        own = [figures.short(item) for item in items.loc[items["page"] == page.removeprefix("book/"), "item"]]
        line = status(rows, found, figures.notes(project.root, page), to)
        line = line.replace('<span class="state">', f'{", ".join(own)}: <span class="state">') if len(own) > 1 else line
        line = "Your variant is not compared with the paper." if variant else line
        top.insert(top.index(answer) + 1, provenance.raw(f'<div class="page-status">{line}</div>'))
        told = "What this run computed" if variant else html.escape(str(found), quote=False)
        head = [section.children[0], provenance.raw(f'<details class="evidence"><summary>{told}</summary>'), *touching]
        section.children = [*head, *section.children[1:], provenance.raw("</details>")]
    else:
        top.children[-1:-1] = touching


class Drawing(SphinxDirective):
    """A diagram of ``book/_static/drawings`` inside the page, so that it follows the theme; the content is its caption."""

    has_content, required_arguments = True, 1

    def run(self) -> list[nodes.Node]:
        path = Path(self.env.app.srcdir) / "book" / "_static" / "drawings" / f"{self.arguments[0]}.svg"
        if not path.exists():
            raise self.error(
                f"there is no drawing {path.name}; drawn are {', '.join(p.stem for p in sorted(path.parent.glob('*.svg')))}"
            )
        self.env.note_dependency(str(path))
        caption = nodes.container(classes=["drawn-caption"])
        self.state.nested_parse(self.content, self.content_offset, caption)
        return [
            provenance.raw(f'<div class="drawn"><div>{path.read_text(encoding="utf-8")}</div>'),
            caption,
            provenance.raw("</div>"),
        ]


def _texts(svg: str) -> list[tuple[float, list[complex]]]:
    """Return the size and the corners of each text of a figure; matplotlib draws the letters as paths, below the words."""
    found = []
    for x, y, angle, scale, letters in _TEXT.findall(svg):
        size, turn = 100 * float(scale), cmath.rect(1, math.radians(float(angle or 0)))
        end = (float(max(_LETTER.findall(letters), key=float, default=0)) / 100 + 1) * size
        corners = (complex(-0.3, -1) * size, complex(end, -size), complex(end, 0.4 * size), complex(-0.3, 0.4) * size)
        found.append((size, [complex(float(x), float(y)) + turn * corner for corner in corners]))
    return found


def _ends(points: Iterable[complex]) -> tuple[float, float, float, float]:
    """Return how far points reach: to the left, to the top, to the right and to the bottom."""
    x, y = zip(*((point.real, point.imag) for point in points), strict=True)
    return min(x), min(y), max(x), max(y)


def _within(frame: tuple[float, float, float, float], points: Iterable[complex]) -> bool:
    x1, y1, x2, y2 = _ends(points)
    return frame[0] <= x1 and frame[1] <= y1 and x2 <= frame[2] and y2 <= frame[3]


def panel(svg: str, png: bytes, number: int) -> Image.Image:
    """Return one panel of a figure as a tile, with its ticks and title on white; without panels, return the whole figure.

    A tile has no legend, and no text that it would cut or show in letters too small to read; these are painted over.
    """
    picture, width = Image.open(io.BytesIO(png)).convert("RGB"), _WIDTH.search(svg)
    panels = re.findall(_GROUP.format("axes"), svg, flags=re.S)
    if panels and width:
        inside = panels[min(number, len(panels)) - 1][1]
        numbers = [float(n) for n in re.findall(r"[\d.]+", _PATH.findall(inside)[0])]
        left, top, right, bottom = _ends(map(complex, numbers[::2], numbers[1::2]))
        legends = [_texts(legend) for _, legend in re.findall(_GROUP.format("legend"), svg, flags=re.S)]
        near = [corners for _, corners in _texts(inside) if _within((left - 48, top - 22, right + 20, bottom + 22), corners)]
        edges = _ends([complex(left - 5, top - 3), complex(right + 5, bottom + 4), *itertools.chain(*near)])
        scale = picture.width / float(width[1])
        least = LETTERS * max((edges[2] - edges[0]) / SIZE[0], (edges[3] - edges[1]) / SIZE[1])
        cut = [corners for size, corners in _texts(svg) if size < least or not _within(edges, corners)]
        for texts in filter(None, legends):  # with the signs before the words
            x1, y1, x2, y2 = _ends(itertools.chain(*(corners for _, corners in texts)))
            cut.append([complex(x1 - 30, y1), complex(x2, y1), complex(x2, y2), complex(x1 - 30, y2)])
        for corners in cut:
            ImageDraw.Draw(picture).polygon([(scale * c.real, scale * c.imag) for c in corners], fill="white")
        x1, y1, x2, y2 = (round(edge * scale) for edge in edges)
        picture = picture.crop((max(0, x1), max(0, y1), min(x2, picture.width), min(y2, picture.height)))
    picture.thumbnail(SIZE)
    tile = Image.new("RGB", SIZE, "white")
    tile.paste(picture, ((SIZE[0] - picture.width) // 2, (SIZE[1] - picture.height) // 2))
    return tile


def named(notebook: Json | None, item: str) -> str:
    """Return the name of the figure of an item in its page, or an empty text.

    The figure is the one that has the item's number, or else the first one of the page.
    """
    names = [figure.name for figure in provenance.figures(notebook)]
    number = item.rpartition("/")[2].removeprefix("fig")
    own = [name for name in names if re.search(rf"-{number}a?$", name)]
    return next(iter([*own, *names]), "")


def question(project: Project, page: str, item: str) -> str:
    """Return the question of an item that is not the first of its page, or an empty text if no section asks one.

    It is the heading above the item's own figure, or the first one whose section names the item.
    """
    heading, number = "", item.rpartition("/")[2].removeprefix("fig")
    for cell in json.loads(project.source(page).read_text(encoding="utf-8"))["cells"]:
        text = "".join(cell["source"]) if cell["cell_type"] == "markdown" else ""
        heading = next(iter(re.findall(r"^## (.*\?)$", text, flags=re.M)), heading)
        name = cell["metadata"].get("mystnb", {}).get("figure", {}).get("name", "")
        if heading and (re.search(rf"-{number}$", name) or re.search(rf"\b{figures.short(item)}\b", text)):
            return heading
    return ""


def overview(project: Project) -> str:
    """Return a table of HTML with a row for each paper: all its figures and tables with their numbers, statements and conclusions."""
    items, board, rows = figures.items(project.root), figures.board(project.root), []
    for paper, group in items.groupby(items["item"].str.split("/").str[0], sort=False):
        cells = []
        for row in group.itertuples():
            own = board[board["item"] == row.item]
            found, n = states.of_items(project.root, [row.item]), figures.counted(own)
            rest = "exact" if own["exact"][own["verdict"] == "no-published-value"].notna().any() else "none"
            signs = (
                "differ" if n["differ"] else "agree" if n["printed"] + n["code"] else rest,
                "differ" if any(each.fails for each in found.differences) else "agree" if found.statements else "none",
                "wrong" if any(each.conclusion for each in found.differences) else "agree" if found.statements else "none",
            )
            told = html.escape(f"{figures.short(row.item)}: {found}")
            causes = html.escape("".join(f"\n✗ {each.what}" for each in found.differences if each.conclusion))
            drawn = "".join(f'<i class="{sign}">{SIGNS[sign]}</i>' for sign in signs)
            name = figures.short(row.item).replace("Figure ", "").replace("Table ", "T")
            there = f' href="{row.page}.html"' if project.source(f"book/{row.page}").exists() else ""
            cells.append(f'<li><a{there} title="{told}{causes}" aria-label="{told}"><b>{name}</b>{drawn}</a></li>')
        link = f'<a href="{paper}/index.html">{figures.PAPERS[paper]}</a>'
        rows.append(f'<tr><th scope="row">{link}</th><td><ul>{"".join(cells)}</ul></td></tr>')
    head = '<tr><th scope="col">paper</th><th scope="col">figures and tables (T): numbers, statements, conclusions</th></tr>'
    told = " ".join(f'<span><i class="{name}">{SIGNS[name]}</i> {text}</span>' for name, text in MEANINGS.items())
    key = f'<p class="verdicts-key">Three signs for each, in this order: its numbers, its statements, its conclusions. {told} <span>For {SIGNS["wrong"]} {_WHICH}</span></p>'
    table = f'<table class="verdicts"><thead>{head}</thead><tbody>{"".join(rows)}</tbody></table>'
    return f"```{{raw}} html\n{key}{table}\n```"


def bars(project: Project) -> str:
    """Return as HTML how the numbers and statements of all papers fared, in one sentence, and one bar for each paper."""
    board = figures.board(project.root)
    paper = board["item"].str.split("/").str[0]
    lines = [
        f'<li><a href="{name}/index.html">{title}</a>{bar(board[paper == name])}<small>{states.of_papers(project.root, [name]).brief}</small></li>'
        for name, title in figures.PAPERS.items()
    ]
    told = states.of_papers(project.root, figures.PAPERS).html
    return f'```{{raw}} html\n<p>{told}.</p><ul class="gallery papers">{"".join(lines)}</ul>\n```'


def gallery(project: Project) -> str:
    """Return the gallery as HTML, with one list for each paper."""
    items, board = figures.items(project.root), figures.board(project.root)
    key = " ".join(f'<span><i class="{name}"></i> {text}</span>' for name, text in SHADES.items())
    key += f" <span><b>a conclusion differs</b>: {_WHICH}</span>"
    key += " <span>A statement about several figures counts at each of them, and once in a sum.</span>"
    parts = [f'<p class="gallery-key">{states.of_papers(project.root, figures.PAPERS).html}. {key}</p>']
    for paper, group in items.groupby(items["item"].str.split("/").str[0], sort=False):
        asked: set[str] = set()
        told = f'<p class="gallery-key">{states.of_papers(project.root, [paper]).html}.</p>'
        parts.append(f'<h3>{figures.PAPERS[paper]}</h3>\n{told}<ul class="gallery">')
        for row in group.itertuples():
            rows, where = board[board["item"] == row.item], f"book/{row.page}"
            there = project.source(where).exists()
            asks = (
                lessons.title(project, where) if there and row.page not in asked else there and question(project, where, row.item)
            )
            asked.add(row.page)  # the first item of a page shows the question of the page
            name = named(provenance.executed(project, where), row.item)
            picture = (
                f'<img src="../{FOLDER}/{name}.webp" alt="" width="{SIZE[0]}" height="{SIZE[1]}" loading="lazy">' if name else ""
            )
            text = (
                f"{picture}<strong>{figures.short(row.item)}</strong> <span>{html.escape(asks or row.title)}</span>"
                f"{bar(rows)}<small>{states.of_items(project.root, [row.item]).html}</small>"
            )
            parts.append(f'<li><a href="{row.page}.html">{text}</a></li>' if there else f"<li><span>{text}</span></li>")
        parts.append("</ul>")
    return "```{raw} html\n" + "\n".join(parts) + "\n```"


def files(project: Project) -> Iterator[tuple[str, bytes]]:
    """Yield the pictures of the tiles, which stand next to the pages; ``tile`` in ``figures.yml`` chooses the panel."""
    for where in {f"book/{name}" for name in figures.items(project.root)["page"]}:
        notebook = provenance.executed(project, where)
        pictures, tile = downloads.pictures(notebook), figures.notes(project.root, where).get("tile", 1)
        for figure in provenance.figures(notebook):
            if figure.name in pictures:
                picture = panel(figure.svg, pictures[figure.name], tile)
                yield f"{FOLDER}/{figure.name}.webp", downloads.encoded(picture, "webp", quality=72, method=6)
