"""Arrange pages of figures and tables for readers (answer, figure, how to read it, one point, evidence), and their gallery.

A notebook keeps the order in which it runs. On a page with an answer, the code of the first figure moves below that figure. A
page with the heading of `EVIDENCE` gets a line of status below its answer, and one fold around all its evidence.

The gallery of the front page shows a picture of every figure and table, its question, and a bar of its verdicts.
"""

import cmath
import html
import io
import itertools
import json
import math
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode
from PIL import Image, ImageDraw
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from . import errata, figures, lessons, provenance, takeaway
from .claims import NEVER
from .execute import Json, Project
from .paper_values import AGREES, SIGN, STAND_IN, WORDS

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
ABOVE = ("page-errata", "page-needs")
"""Lines that other pages have below their title; on these pages they stand with the evidence and at the foot."""


FOLDER, SIZE = "_thumbs", (320, 200)
LETTERS = 7.4
"""Height in pixels of the smallest letters that a tile shows."""
SHADES = {
    "agree": "agrees with the paper",
    "other": "not printed; agrees with exact values or the authors' code",
    "differ": "differs, explained",
    "none": "nothing to compare it with",
}
"""Parts of a bar in their order, each with its meaning."""
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


def compared(project: Project, page: str) -> pd.DataFrame:
    """Return the rows of the scoreboard that belong to a page's figures and tables; where it has none, those that it handed over."""
    items, board = figures.items(project.root), figures.board(project.root)
    own = items.loc[items["page"] == page.removeprefix("book/"), "item"]
    if own.empty and (handed := project.executed(page, ".csv")).exists():
        return pd.read_csv(handed)
    return board[board["item"].isin(own)]


def bar(rows: pd.DataFrame) -> str:
    """Return a bar whose parts are as long as the numbers of values that agree with the paper or with something else, or differ."""
    n, exact = figures.counted(rows), (rows["verdict"] == "no-published-value") & rows["exact"].notna()
    parts = {"agree": n["printed"], "other": n["code"] + int(exact.sum()), "differ": n["differ"]}
    parts["none"] = len(rows) - sum(parts.values())
    shades = "".join(f'<i class="{name}" style="flex-grow:{n}"></i>' for name, n in parts.items() if n)
    return f'<span class="bar" aria-hidden="true">{shades}</span>'


def agreeing(rows: pd.DataFrame) -> list[str]:
    """Return in words how many numbers agree with the paper and with the authors' code, one text for each of the two that there is."""
    n, kinds = figures.counted(rows), set(rows.loc[rows["verdict"].isin(("reproduced", "differs", "differs-explained")), "kind"])
    stated = "states in words" if kinds <= {SIGN, WORDS, STAND_IN} else "prints, draws or states"
    printed, all_code = n["printed"] + n["printed differ"], n["code"] + n["differ"] - n["printed differ"]
    parts = [f"{n['printed']:,} of {printed:,} with what the paper {stated}"] * bool(printed)
    return parts + [f"{n['code']:,} of {all_code:,} with the authors' code"] * bool(all_code)


def against_exact(rows: pd.DataFrame) -> str:
    """Return in words with what the numbers of an item were compared if none of them was printed."""
    simulated, deviation = figures.furthest(rows)
    exact = int((rows["exact"].notna() & ~(rows["reproduced_se"] > 0)).sum())
    if simulated:
        return f"{simulated:,} value{'s' * (simulated > 1)} within {max(0.1, math.ceil(10 * deviation) / 10):.1f} standard errors of the exact expectation"
    if exact:
        return f"{exact:,} value{'s' * (exact > 1)} computed exactly"
    closed = int((rows["how"] == "closed form").sum()) if "how" in rows else 0
    return f"{closed:,} values computed from closed forms" if closed else "nothing to compare with"


def status(rows: pd.DataFrame, differs: str) -> str:
    """Return the line below the answer: how many numbers agree, with what, and why some differ."""
    n, link = figures.counted(rows), f'<a href="#{EVIDENCE}">Evidence</a>'
    agree, differ = n["printed"] + n["code"], n["differ"]
    if not agree + differ:
        return f"{bar(rows)}The paper prints no number of this page that could be compared; {against_exact(rows)}. {link}"
    why = f" {differ:,} differ{'s' if differ == 1 else ''}, because {html.escape(differs)}." if differ and differs else ""
    told = f"<strong>{agree:,} of {agree + differ:,} compared numbers agree</strong>: {', '.join(agreeing(rows))}"
    return f"{bar(rows)}{told}.{why} {link}"


def summary(project: Project, page: str, rows: pd.DataFrame) -> str:
    """Return the title of the fold around the evidence."""
    n, claims = figures.counted(rows), figures.claims(project.root)
    agree = n["printed"] + n["code"]
    parts = [f"{agree:,} of {agree + n['differ']:,} compared numbers agree"] * bool(agree + n["differ"])
    parts += [] if parts or rows.empty else [against_exact(rows)]
    verdicts = claims.loc[claims["page"] == page.removeprefix("book/"), "verdict"].str.split(":").str[0]
    tested = verdicts[verdicts != NEVER]
    parts += [f"{(tested == 'holds').sum()} of {len(tested)} tested statements hold"] * bool(len(tested))
    return " · ".join(parts) or "nothing to compare with"


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
    moved = {name: [n for n in top.children if isinstance(n, nodes.raw) and name in n.astext()] for name in ABOVE}
    top.children = [n for n in top.children if n not in [*moved["page-errata"], *moved["page-needs"]]]
    for cell, fold in folded:
        if "tag_first-figure" in cell["classes"]:  # the code stands behind its figure, with the files
            made = [n for n in cell.children if isinstance(n, nodes.raw) and "made-by" in n.astext()]
            cell.children = [n for n in cell.children if n is not fold and n not in made] + [fold]
            fold += made
    foot = moved["page-needs"]
    if section:
        rows, differs = compared(project, page), figures.notes(project.root, page).get("differs", "")
        told = summary(project, page, rows)
        line = status(rows, differs) if len(rows) else f'{told}. <a href="#{EVIDENCE}">Evidence</a>'
        line = "Your variant is not compared with the paper." if variant else line
        top.insert(top.index(answer) + 1, provenance.raw(f'<p class="page-status">{line}</p>'))
        told = "What this run computed" if variant else told
        head = [
            section.children[0],
            provenance.raw(f'<details class="evidence"><summary>{told}</summary>'),
            *moved["page-errata"],
        ]
        section.children = [*head, *section.children[1:], provenance.raw("</details>")]
    else:
        foot = moved["page-errata"] + foot
    top.children[-1:-1] = foot


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


def words(rows: pd.DataFrame, conclusion: bool) -> str:
    """Return the line below a bar; an item without printed numbers is never called reproduced."""
    n, parts = figures.counted(rows), agreeing(rows)
    explained = f"; {n['differ']:,} differ{'s' if n['differ'] == 1 else ''}, explained" if n["differ"] else ""
    text = f"agree: {', '.join(parts)}{explained}" if parts else against_exact(rows)
    text = f"no printed value compared; {text}" if not n["printed"] + n["printed differ"] and len(rows) else text
    return f"{text}. <b>A conclusion differs</b>" if conclusion else text


def _conclusions(root: Path, items: pd.DataFrame) -> set[str]:
    """Return the items for which an erratum or a claim states that a conclusion of the paper changes.

    A claim that fails everywhere, and names no figure, concerns all items of its page.
    """
    found = {item for entry in errata.entries(root) if entry.effect == "conclusion" for item in entry.affects}
    claims = figures.claims(root)
    if len(claims):
        claims = claims[claims["differs"] == "the conclusion"].merge(items, on="page")
        fails = ~claims["place"].str.contains(r"(?:Figure|Table) \d") & claims["verdict"].str.startswith("does not hold")
        named = [re.search(rf"\b{figures.short(row.item)}\b", str(row.place)) is not None for row in claims.itertuples()]
        found |= set(claims.loc[np.array(named, bool) | fails, "item"])
    return found


def overall(board: pd.DataFrame) -> str:
    """Return in one line how many of the values that the papers print, draw or state agree."""
    printed = board[(board["kind"] != STAND_IN) & board["published"].notna() & (board["verdict"] != AGREES)]
    printed = printed[printed["verdict"].isin(("reproduced", "differs", "differs-explained"))]
    good = int((printed["verdict"] == "reproduced").sum())
    if printed.empty:
        return "No value of this build can be compared with the papers, because it was made with other parameters."
    return f"{good:,} of {len(printed):,} values that the papers print, draw or state agree ({100 * good / len(printed):.0f} %)."


def gallery(project: Project) -> str:
    """Return the gallery as HTML, with one list for each paper."""
    items, board = figures.items(project.root), figures.board(project.root)
    wrong = _conclusions(project.root, items)
    key = "".join(f'<span><i class="{name}"></i> {text}</span>' for name, text in SHADES.items())
    key += '<span><b>A conclusion differs</b>: see <a href="claims.html">claims</a> and <a href="errata.html">errata</a></span>'
    parts = [f'<p class="gallery-key"><strong>{overall(board)}</strong> {key}</p>']
    for paper, group in items.groupby(items["item"].str.split("/").str[0], sort=False):
        asked: set[str] = set()
        agree = ", ".join(agreeing(board[board["item"].isin(group["item"])]))
        told = f'<p class="gallery-key">Agree: {agree}.</p>' if agree else ""
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
                f"{bar(rows)}<small>{words(rows, row.item in wrong)}</small>"
            )
            parts.append(f'<li><a href="{row.page}.html">{text}</a></li>' if there else f"<li><span>{text}</span></li>")
        parts.append("</ul>")
    return "```{raw} html\n" + "\n".join(parts) + "\n```"


def files(project: Project) -> Iterator[tuple[str, bytes]]:
    """Yield the pictures of the tiles, which stand next to the pages; ``tile`` in ``figures.yml`` chooses the panel."""
    for where in {f"book/{name}" for name in figures.items(project.root)["page"]}:
        notebook = provenance.executed(project, where)
        pictures, tile = takeaway.pictures(notebook), figures.notes(project.root, where).get("tile", 1)
        for figure in provenance.figures(notebook):
            if figure.name in pictures:
                picture = panel(figure.svg, pictures[figure.name], tile)
                yield f"{FOLDER}/{figure.name}.webp", takeaway.encoded(picture, "webp", quality=72, method=6)
