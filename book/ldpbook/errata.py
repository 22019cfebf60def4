"""Read the errata as data (which figures each one touches, and how gravely), and link them from the pages of those figures."""

import functools
import html
import re
from dataclasses import dataclass
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

from . import figures
from .provenance import raw

FOLDER = "book/errata"
EFFECTS = ("wording", "number", "figure", "conclusion")
"""Effects that an erratum may have on the paper, from the least to the gravest."""
_ENTRY = re.compile(r"^\(([a-z-]+-\d+)\)=\n## (.*?)\n(.*?)(?=^\([a-z-]+-\d+\)=\n|^# |\Z)", flags=re.M | re.S)
_EFFECT = re.compile(r"^- \*\*Effect\*\*: (\w+); (.*?)\.$", flags=re.M | re.S)
_SIGNS = {r"\omega": "ω", r"\varepsilon": "ε", "10^8": "10⁸", "$": ""}


@dataclass(frozen=True)
class Entry:
    """One erratum: its label, its title without TeX, its effect, and the items that it touches."""

    name: str
    title: str
    effect: str
    affects: tuple[str, ...]

    @property
    def page(self) -> str:
        """The page of the paper's errata."""
        return page(self.name)


def page(name: str) -> str:
    """Return the page on which an erratum stands, by its label."""
    return f"{FOLDER}/{name.rpartition('-')[0].replace('-', '_')}"


def text(root: Path) -> str:
    """Return the sources of all pages of errata, in the order of the papers, that of packages last."""
    sources = (root / FOLDER / f"{name}.md" for name in (*figures.PAPERS, "packages"))
    return "\n".join(source.read_text(encoding="utf-8") for source in sources if source.exists())


@functools.cache
def entries(root: Path) -> tuple[Entry, ...]:
    """Return all errata in their order, except those that were withdrawn and therefore have no effect."""
    found = []
    for name, title, body in _ENTRY.findall(text(root)):
        if effect := _EFFECT.search(body):
            for tex, sign in _SIGNS.items():
                title = title.replace(tex, sign)
            found.append(Entry(name, title, effect[1], tuple(re.findall(r"\w+/\w+", effect[2]))))
    return tuple(found)


def index(root: Path) -> str:
    """Return the errata as MyST: a list for each effect, the gravest first and open."""
    parts = []
    for effect in reversed(EFFECTS):
        some = [entry for entry in entries(root) if entry.effect == effect]
        lines = []
        for e in some:
            paper = e.page.rpartition("/")[2]
            where = ", ".join(map(figures.short, e.affects)) or "no figure"
            old = f'<a id="{e.name}"></a>'  # once all entries stood on this page, and links to them still lead here
            lines.append(f"* {old}[{figures.PAPERS.get(paper, 'Packages')} {e.title}]({e.name}): {where}")
        head = f"**{effect}** ({len(some)})"
        parts.append("\n".join([head, "", *lines] if effect == EFFECTS[-1] else [f"```{{dropdown}} {head}", *lines, "```"]))
    return "\n\n".join(parts)


def linked(root: Path, text: str) -> str:
    """Return the source of a page of errata, in which the items of every effect are links."""
    pages = figures.items(root).set_index("item")["page"]

    def links(match: re.Match[str]) -> str:
        items = re.sub(r"\w+/\w+", lambda item: f"[{figures.short(item[0])}](/book/{pages[item[0]]})", match[2])
        return f"- **Effect**: **{match[1]}**; {items}."

    return _EFFECT.sub(links, text)


def mark(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Show every erratum as a card with folded lines of code, and name at the head of a figure's page the errata that touch it."""
    root = Path(app.srcdir)
    if page.startswith(f"{FOLDER}/"):
        for code in list(doctree.findall(nodes.literal_block)):
            code.replace_self([raw('<details class="lines"><summary>The lines that show it</summary>'), code, raw("</details>")])
        effects = {entry.name: entry.effect for entry in entries(root)}
        for section in doctree.findall(nodes.section):
            for name in section["ids"] + section["names"]:
                if name in effects:
                    section["classes"] += ["erratum", f"erratum-{effects[name]}"]
    items = figures.items(root)
    own = {*items.loc[items["page"] == page.removeprefix("book/"), "item"]}
    if touching := [e for e in entries(root) if own & {*e.affects}]:
        to = functools.partial(app.builder.get_relative_uri, page)
        links = "; ".join(
            f'<a href="{to(e.page)}#{e.name}">{html.escape(e.title.partition(". ")[2])}</a> ({e.effect})' for e in touching
        )
        line = f'<p class="page-errata"><strong>Errata</strong> that touch this page: {links}.</p>'
        section = next(doctree.findall(nodes.section))
        section.insert(2, raw(line))
