"""Adapt Sphinx's search to this book: both spellings, figures by their number, THE as a name, pages before modules.

``book/search.yml`` names what readers ask for in other words than those of the page that answers it. Sphinx's own search does the
rest. The words of a question get the same treatment in `search.js` as the words of a page here.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import yaml
from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.search.en import SearchEnglish

# Parts of words in American spelling, and what the book writes.
SPELLING = {
    r"(\w{3,})iz(e|ed|er|ers|es|ing|ation|ations|able)$": r"$1is$2",
    r"(\w+)yz(e|ed|er|es|ing)$": r"$1ys$2",
    r"^(behavi|col|fav|flav|harb|hon|lab|neighb)or": r"$1our",
    r"^(cancel|label|model|travel)(ed|ing)$": r"$1l$2",
    r"^cent(er|ers|ered)$": r"centre",
    r"^(de|of)fense": r"$1fence",
}
_NUMBERED = re.compile(r"\b(fig(?:ure)?|table)s?\.?\s+(\d+)((?:(?:,| and|, and| to)\s+\d+)*)", re.IGNORECASE)


def british(word: str) -> str:
    """Return a word in lower case and in British spelling, as the book writes it."""
    for american, ours in SPELLING.items():
        word = re.sub(american, ours.replace("$", "\\"), word)
    return word


def numbers(text: str) -> Iterator[str]:
    """Yield every figure and table that a text names as one word: "Figures 10 to 12" gives figure10, figure11, figure12."""
    for kind, first, others in _NUMBERED.findall(text):
        last = int(first)
        for word, number in [("and", first), *re.findall(r"(,|and|to)\s+(\d+)", others)]:
            start = last + 1 if word == "to" else int(number)
            last = int(number)
            yield from (f"{'table' if kind.lower() == 'table' else 'figure'}{n}" for n in range(start, last + 1))


class English(SearchEnglish):
    """Sphinx's English, with the book's own words and stems."""

    js_splitter_code = (Path(__file__).parent / "search.js").read_text().replace("SPELLING_TABLE", json.dumps(SPELLING))

    def split(self, text: str) -> list[str]:
        return [*super().split(re.sub(r"\bTHE\b", "THE_", text)), *numbers(text)]

    def stem(self, word: str) -> str:
        """Return the stem that the browser also finds, where a word of two letters is its own stem (here RS would become r)."""
        return super().stem(british(word.lower())) if len(word) > 2 else word.lower()


def name_pages(app: Sphinx, env: BuildEnvironment) -> None:
    """Give each page with a question as its title its name from the contents, with its paper, in search results and window
    titles.
    """
    for part in yaml.safe_load((Path(app.srcdir) / "_toc.yml").read_text(encoding="utf-8"))["parts"]:
        for entry in part["chapters"]:
            if "title" in entry and entry["file"] in env.longtitles:
                env.longtitles[entry["file"]] = nodes.title("", f"{part['caption']}, {entry['title']}")


def index_names(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Make the search index the name of a page instead of its title, and what else readers call its subject."""
    asked = yaml.safe_load((Path(app.srcdir) / "book" / "search.yml").read_text(encoding="utf-8"))
    title, name = next(iter(doctree.findall(nodes.title)), None), app.env.longtitles.get(page)
    shown = numbers(name.astext()) if name is not None else ()
    questions = [re.sub(r"(\d+)", r" \1", f"is {each} reproduced") for each in shown]
    texts = asked.get(page.removeprefix("book/"), []) + questions
    entries = [("single", text, "", "main", None) for text in texts]
    next(doctree.findall(nodes.section), doctree).insert(1, addnodes.index(entries=entries))
    if title is not None and name is not None:
        text = name.astext()
        setattr(title, "astext", lambda: text)  # noqa: B010
