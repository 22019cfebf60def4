"""Explain short names and words of the field on every page, and adapt Sphinx's search to the words of this book.

A short name has a hover everywhere. Where a page uses a short name first, its full words follow. A word has a hover where the
running text of a page uses it first.

The search finds both spellings, figures by their number, THE as a name, and pages before modules. ``book/search.yml`` names what
readers ask for in other words than those of the page that answers it. Sphinx's own search does the rest. The words of a question
get the same treatment in `search.js` as the words of a page here.
"""

import functools
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml
from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.search.en import SearchEnglish
from sphinx.util.nodes import traverse_parent

from . import paths
from .execute import Project

FILE = paths.ROOT / "book" / "acronyms.yml"
_VERBATIM = (nodes.literal, nodes.FixedTextElement, nodes.citation, nodes.math, nodes.math_block, nodes.raw, nodes.abbreviation,
             addnodes.desc_signature, nodes.term)  # fmt: skip
_BLOCKS = (nodes.paragraph, nodes.caption, nodes.row)  # where words may be added; headings only get the hover
_NO_WORDS = (*_VERBATIM, nodes.title, nodes.row, nodes.reference, addnodes.glossary)
_STYLES = (nodes.strong, nodes.emphasis, nodes.inline, nodes.reference)


# Parts of words in American spelling and words of readers, and what the book writes.
SPELLING = {
    r"(\w{3,})iz(e|ed|er|ers|es|ing|ation|ations|able)$": r"$1is$2",
    r"(\w+)yz(e|ed|er|es|ing)$": r"$1ys$2",
    r"^(behavi|col|fav|flav|harb|hon|lab|neighb)or": r"$1our",
    r"^(cancel|label|model|travel)(ed|ing)$": r"$1l$2",
    r"^cent(er|ers|ered)$": r"centre",
    r"^(de|of)fense": r"$1fence",
    r"^(bug|flaw)s?$": r"fault",
}
# Words of the glossary that are verbs, too (their entries mean the nouns), and what their neighbours show.
_VERBS = ("attack", "audit", "bound", "claim", "estimate", "guess", "report", "stake")
_NUMBER = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|fourteen"
_POINTING = f"an?|the|these|those|its|their|his|her|your|our|both|all|each|every|some|any|no|{_NUMBER}"
_ACTING = (
    "adversary|attack|attacker|audit|auditor|author|bettor|book|browser|class|client|code|collector|command|figure|function|guess|"
    "ldpkit|line|mechanism|method|package|page|paper|phone|program|protocol|script|server|store|table|test|tool|user|"
    "I|you|we|they|he|she|it|who|which|that|what|nobody|somebody|everybody|anybody"
)
_LEADING = "to|at|can|cannot|could|may|might|must|will|would|shall|should|does|do|did|not|never|let|then|therefore|also|please|and|or|but"
_FOLLOWING = (
    "this|whose|many|most|more|few|several|other|such|of|by|in|on|for|with|without|from|into|per|about|against|under|between|than|"
    "among|through|after"
)
_VERB_AFTER = re.compile(rf"(?:\b(?:{_ACTING}|{_LEADING}|(?:Table|Figure) \d+)|[\])])\s*$", re.I)
_NOUN_AFTER = re.compile(rf"(?:\b(?:{_POINTING}|{_FOLLOWING})|['’]s?|[\d%])\s*$", re.I)
_OBJECT = re.compile(rf"\s+(?:{_POINTING}|this|how|what|which|whether|why|that (?:{_POINTING})|it|them|to)\b|\s*[\d\\ε]", re.I)
_QUESTION = """
    an how what which who whom whose why when where do does did can could should would shall may might must am been being were have has had i me my we us
    our you your them from than so
"""
_NUMBERED = re.compile(r"\b(fig(?:ure)?|table)s?\.?\s+(\d+)((?:(?:,| and|, and| to)\s+\d+)*)", re.IGNORECASE)


@functools.cache
def table(part: str = "stands_for") -> dict[str, str]:
    """Return the meaning of every short name, or of every word of the glossary (`part` is ``words``), from ``acronyms.yml``."""
    found: dict[str, str] = yaml.safe_load(FILE.read_text())[part]
    return found


@functools.cache
def pattern() -> re.Pattern[str]:
    """Return a pattern that matches any short name as a whole word, and in a second group the s of a plural or a genitive."""
    longest = sorted(table(), key=len, reverse=True)
    return re.compile(rf"(?<![\w+])({'|'.join(map(re.escape, longest))})('?s|’s)?(?![\w+])")


@functools.cache
def word_pattern() -> re.Pattern[str]:
    """Return a pattern that matches any word of the glossary as a whole word, in any case, in the singular or plural."""
    longest = sorted(table("words"), key=len, reverse=True)
    return re.compile(rf"(?<![\w-])({'|'.join(map(re.escape, longest))})(?:e?s)?(?![\w-])", flags=re.I)


def meaning(used: str) -> tuple[str, str]:
    """Return the entry of the glossary that a text uses, and its meaning, or raise KeyError."""
    entries = {word.lower(): (word, said) for word, said in table("words").items()}
    return entries[word_pattern().sub(r"\1", used).lower()]


def acts(before: str, used: str, after: str) -> bool:
    """Return whether a text uses a word of the glossary as a verb, judged by its neighbours; where they leave it open, it is one."""
    if meaning(used)[0] not in _VERBS:
        return False
    start, plain = re.search(r"(?:^|[.:!?])\s*$", before), used.lower() in _VERBS
    if start or _VERB_AFTER.search(before):  # an imperative has no ending
        return plain or not start
    many = plain and re.search(r"\b(?!this|its|his|whose|various|previous)\w+s\s$", before, re.I)
    return bool(many or (_OBJECT.match(after) and not _NOUN_AFTER.search(before)))


def glossary(terms: dict[str, str]) -> str:
    """Return terms as a Sphinx glossary, so that the search lists them first and pages can refer to them."""
    return "\n".join(["```{glossary}", ":sorted:", "", *(f"{term}\n  {said}\n" for term, said in terms.items()), "```"])


def _within(node: Any, kinds: type[nodes.Node] | tuple[type[nodes.Node], ...]) -> nodes.Node | None:
    return next(iter(traverse_parent(node, kinds)), None)


def _around(text: nodes.Text, block: nodes.Node) -> tuple[str, str]:
    """Return what a block says before and after one of its texts."""
    texts = list(block.findall(nodes.Text))
    at = next(i for i, one in enumerate(texts) if one is text)
    return "".join(texts[:at]), "".join(texts[at + 1 :])


def _part_of_a_name(text: str, use: re.Match[str]) -> bool:
    """Return whether a hyphen makes the short name a part of another name, as in LDP-Auditor."""
    return bool(re.search(r"\w-$", text[: use.start()]) or re.match(r"-\w", text[use.end() :]))


def _first_uses(texts: Sequence[nodes.Text]) -> dict[tuple[int, int], str]:
    """Return the words that follow the first use of each short name, by the index of its text and its place in that text.

    The first use is in running text rather than in a table if possible. A title is not changed, also not one that a link quotes.
    Within brackets the words stand in square ones.
    """
    best: dict[str, tuple[bool, int, int, nodes.Element]] = {}
    for index, text in enumerate(texts):
        block, row = _within(text, _BLOCKS), _within(text, nodes.row)
        if block is None or _within(text, nodes.title):
            continue
        late, link = row is not None, _within(text, nodes.reference)
        for use in pattern().finditer(text):
            quoted = link is not None and not link.astext().endswith(use.group())  # a title is not changed
            if not quoted and not _part_of_a_name(text, use) and (use[1] not in best or late < best[use[1]][0]):
                best[use[1]] = late, index, use.start(), row or block
    wanted = {}
    for name, (_, index, start, block) in best.items():
        if table()[name].lower() not in " ".join(block.astext().replace("’", "'").split()).lower():
            before = _around(texts[index], block)[0] + texts[index][:start]
            said = f"[{table()[name]}]" if before.count("(") > before.count(")") else f"({table()[name]})"
            wanted[index, start] = f" {said}"
    return wanted


def _replace(text: nodes.Text, parts: dict[tuple[int, int], list[nodes.Node]]) -> None:
    """Replace parts of a text, each given by its ends, by other nodes."""
    found: list[nodes.Node] = []
    at = 0
    for (start, end), made in parts.items():
        found += [nodes.Text(text[at:start]), *made]
        at = end
    text.parent.replace(text, [node for node in [*found, nodes.Text(text[at:])] if node.astext()])


def _hint_words(doctree: nodes.document) -> None:
    """Give each word of the glossary a hover where the running text uses it first, and not as a verb."""
    met: set[str] = set()
    for text in list(doctree.findall(nodes.Text)):
        block = _within(text, _BLOCKS)
        if block is None or _within(text, _NO_WORDS):
            continue
        parts: dict[tuple[int, int], list[nodes.Node]] = {}
        before, after = _around(text, block)
        for use in word_pattern().finditer(text):
            word, said = meaning(use.group())
            if word not in met and not acts(before + text[: use.start()], use.group(), text[use.end() :] + after):
                met.add(word)
                parts[use.span()] = [nodes.abbreviation(use.group(), use.group(), explanation=said, classes=["word"])]
        _replace(text, parts)


def explain(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Explain the short names and the words of one page."""
    texts = [t for t in doctree.findall(nodes.Text) if _within(t, _VERBATIM) is None and pattern().search(t)]
    wanted = _first_uses(texts)
    for index, text in enumerate(texts):
        parts: dict[tuple[int, int], list[nodes.Node]] = {}
        for use in pattern().finditer(text):
            name, ending = use.groups("")
            parts[use.span()] = [nodes.abbreviation(name, name, explanation=table()[name]), nodes.Text(ending)]
            if said := wanted.get((index, use.start())):
                outer = text  # the words stand behind the markup (bold, a link) that the name ends
                while use.end() == len(text) and isinstance(outer.parent, _STYLES) and outer is outer.parent[-1]:
                    outer = outer.parent
                if outer is text:
                    parts[use.span()].append(nodes.Text(said))
                else:
                    outer.parent.insert(outer.parent.index(outer) + 1, nodes.Text(said))
        _replace(text, parts)
    _hint_words(doctree)


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
    """Sphinx's English, with the book's own words and stems, and without the words that make a question."""

    stopwords = SearchEnglish.stopwords.union(_QUESTION.split())
    js_splitter_code = (Path(__file__).parent / "search.js").read_text().replace("SPELLING_TABLE", json.dumps(SPELLING))

    def split(self, text: str) -> list[str]:
        return [*super().split(re.sub(r"\bTHE\b", "THE_", text)), *numbers(text)]

    @functools.cache  # noqa: B019  there is one object
    def stem(self, word: str) -> str:
        """Return the stem that the browser also finds, where a word of two letters is its own stem (here RS would become r)."""
        return super().stem(british(word.lower())) if len(word) > 2 else word.lower()


def name_pages(app: Sphinx, env: BuildEnvironment) -> None:
    """Give each page with a question as its title its name from the contents, with its paper, in search results and window
    titles.
    """
    for page, title, above in Project.of(app).contents():
        if title and page in env.longtitles:
            env.longtitles[page] = nodes.title("", f"{above}, {title}")


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
