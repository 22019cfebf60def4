"""Build the gallery of the front page: a picture of every figure and table, its question, and a bar of its verdicts."""

import html
import io
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image

from . import errata, figures, lessons, provenance, reading, takeaway
from .execute import Json, Project
from .paper_values import AGREES, STAND_IN

FOLDER, SIZE = "_thumbs", (320, 200)
SHADES = {
    "agree": "agrees with the paper",
    "other": "not printed; agrees with exact values or the authors' code",
    "differ": "differs, explained",
    "none": "nothing to compare it with",
}
"""Parts of a bar in their order, each with its meaning."""
_PANEL = re.compile(r'<g id="axes_\d+">\s*<g id="patch_\d+">\s*<path d="([^"]+)"')
_WIDTH = re.compile(r'viewBox="0 0 ([\d.]+)')


def panel(svg: str, png: bytes, number: int) -> Image.Image:
    """Return one panel of a figure as a tile, with its ticks and title on white; without panels, return the whole figure."""
    picture, width = Image.open(io.BytesIO(png)).convert("RGB"), _WIDTH.search(svg)
    boxes = [[float(n) for n in re.findall(r"[\d.]+", path)] for path in _PANEL.findall(svg)]
    if boxes and width:
        corners = [(min(b[::2]), min(b[1::2]), max(b[::2]), max(b[1::2])) for b in boxes]
        left, top, right, bottom = corners[min(number, len(corners)) - 1]
        beside = [left - c[2] - 1 for c in corners if c[2] < left]
        below = [c[1] - bottom - 16 for c in corners if c[1] > bottom]  # the next row begins with its title
        scale = picture.width / float(width[1])
        edges = left - min([24.0, *beside]), top - 17, right + 5, bottom + min([15.0, *below])
        x1, y1, x2, y2 = (max(0, round(edge * scale)) for edge in edges)
        picture = picture.crop((x1, y1, x2, y2))
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


def words(rows: pd.DataFrame, conclusion: bool) -> str:
    """Return the line below a bar; an item without printed numbers is never called reproduced."""
    n, parts = figures.counted(rows), reading.agreeing(rows)
    explained = f"; {n['differ']:,} differ{'s' if n['differ'] == 1 else ''}, explained" if n["differ"] else ""
    text = f"agree: {', '.join(parts)}{explained}" if parts else reading.against_exact(rows)
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


def page(project: Project) -> str:
    """Return the gallery as HTML, with one list for each paper."""
    items, board = figures.items(project.root), figures.board(project.root)
    wrong = _conclusions(project.root, items)
    key = "".join(f'<span><i class="{name}"></i> {text}</span>' for name, text in SHADES.items())
    key += '<span><b>A conclusion differs</b>: see <a href="claims.html">claims</a> and <a href="errata.html">errata</a></span>'
    parts = [f'<p class="gallery-key"><strong>{overall(board)}</strong> {key}</p>']
    for paper, group in items.groupby(items["item"].str.split("/").str[0], sort=False):
        asked: set[str] = set()
        agree = ", ".join(reading.agreeing(board[board["item"].isin(group["item"])]))
        told = f'<p class="gallery-key">Agree: {agree}.</p>' if agree else ""
        parts.append(f'<h3>{figures.PAPERS[paper]}</h3>\n{told}<ul class="gallery">')
        for row in group.itertuples():
            rows, where = board[board["item"] == row.item], f"book/{row.page}"
            there = project.source(where).exists()
            question = lessons.title(project, where) if there and row.page not in asked else row.title
            asked.add(row.page)  # the first item of a page shows the question
            name = named(provenance.executed(project, where), row.item)
            picture = (
                f'<img src="../{FOLDER}/{name}.webp" alt="" width="{SIZE[0]}" height="{SIZE[1]}" loading="lazy">' if name else ""
            )
            text = (
                f"{picture}<strong>{figures.short(row.item)}</strong> <span>{html.escape(question)}</span>"
                f"{reading.bar(rows)}<small>{words(rows, row.item in wrong)}</small>"
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
