"""Explain short names and words of the field on every page, with the explanations of the glossary.

A short name has a hover everywhere. Where a page uses a short name first, its full words follow. A word has a hover where the
running text of a page uses it first.
"""

import functools
import itertools
import re
from collections.abc import Sequence
from typing import Any

import yaml
from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util.nodes import traverse_parent

from . import paths

Wanted = dict[tuple[int, int], str]
"""Full words to add behind short names, keyed by the index of a text and by the start of the short name in that text."""

FILE = paths.ROOT / "book" / "acronyms.yml"
_VERBATIM = (nodes.literal, nodes.FixedTextElement, nodes.citation, nodes.math, nodes.math_block, nodes.raw, nodes.abbreviation,
             addnodes.desc_signature, nodes.term)  # fmt: skip
_BLOCKS = (nodes.paragraph, nodes.caption, nodes.row)  # where words may be added; headings only get the hover
_NO_WORDS = (*_VERBATIM, nodes.title, nodes.row, nodes.reference, addnodes.glossary)
_STYLES = (nodes.strong, nodes.emphasis, nodes.inline, nodes.reference)


@functools.cache
def _read() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = yaml.safe_load(FILE.read_text())
    return found


def table() -> dict[str, str]:
    """Return the meaning of every short name, read from ``acronyms.yml``."""
    return _read()["stands_for"]


def words() -> dict[str, str]:
    """Return the meaning of every word of the glossary, read from ``acronyms.yml``."""
    return _read()["words"]


@functools.cache
def pattern() -> re.Pattern[str]:
    """Return a pattern that matches any short name as a whole word, with or without a plural s."""
    longest = sorted(table(), key=len, reverse=True)
    return re.compile(r"(?<![\w+])(" + "|".join(map(re.escape, longest)) + r")(?=(?:'?s|’s)?(?![\w+]))")


@functools.cache
def word_pattern() -> re.Pattern[str]:
    """Return a pattern that matches any word of the glossary as a whole word, in any case, in the singular or plural."""
    longest = sorted(words(), key=len, reverse=True)
    return re.compile(rf"(?<![\w-])({'|'.join(map(re.escape, longest))})(?:e?s)?(?![\w-])", flags=re.I)


def meaning(used: str) -> tuple[str, str]:
    """Return the entry of the glossary that a text uses, and its meaning."""
    found = word_pattern().fullmatch(used)
    if found is None:
        raise KeyError(used)
    return next((word, said) for word, said in words().items() if word.lower() == found.group(1).lower())


def glossary(terms: dict[str, str]) -> str:
    """Return terms as a Sphinx glossary, so that the search lists them first and pages can refer to them."""
    return "\n".join(["```{glossary}", ":sorted:", "", *(f"{term}\n  {said}\n" for term, said in terms.items()), "```"])


def _within(node: Any, kinds: type[nodes.Node] | tuple[type[nodes.Node], ...]) -> nodes.Node | None:
    return next(iter(traverse_parent(node, kinds)), None)


def _says(block: nodes.Element, words: str) -> bool:
    return words.lower() in " ".join(block.astext().replace("’", "'").split()).lower()


def _part_of_a_name(text: str, use: re.Match[str]) -> bool:
    """Return whether a hyphen makes the short name a part of another name, as in LDP-Auditor."""
    return bool(re.search(r"\w-$", text[: use.start()]) or re.match(r"-\w", text[use.end() :]))


def _first_uses(texts: Sequence[nodes.Text]) -> Wanted:
    """Return the place where each short name is written in full, which is in running text rather than in a table if possible."""
    best: dict[str, tuple[bool, int, int, nodes.Element]] = {}
    for index, text in enumerate(texts):
        block, row = _within(text, _BLOCKS), _within(text, nodes.row)
        if block is None or _within(text, nodes.title):
            continue
        late = row is not None
        for use in pattern().finditer(text):
            if not _part_of_a_name(text, use) and (use.group() not in best or late < best[use.group()][0]):
                best[use.group()] = late, index, use.start(), row or block
    return {(index, start): table()[name] for name, (_, index, start, block) in best.items() if not _says(block, table()[name])}


def _marked(text: nodes.Text, index: int, wanted: Wanted) -> tuple[list[nodes.Node], str]:
    """Return the nodes that replace one text, and the words to add after the markup (bold, a link) that this text ends."""
    found, behind, at = [], "", 0
    depth = _open_brackets(text)
    for use in pattern().finditer(text):
        name = use.group(1)
        found += [nodes.Text(text[at : use.start()]), nodes.abbreviation(name, name, explanation=table()[name])]
        at = use.end()
        if (index, use.start()) in wanted:
            ending = re.sub(r"^('?s|’s)?.*", r"\1", text[at:], flags=re.S)
            at += len(ending)
            inside = depth + text.count("(", 0, at) - text.count(")", 0, at) > 0
            said = f" [{table()[name]}]" if inside else f" ({table()[name]})"
            found.append(nodes.Text(ending))
            if at == len(text) and isinstance(text.parent, _STYLES):
                behind = said
            else:
                found.append(nodes.Text(said))
    return [n for n in [*found, nodes.Text(text[at:])] if n.astext()], behind


def _open_brackets(text: nodes.Text) -> int:
    """Return how many brackets of the same block are open where this text begins."""
    block = _within(text, _BLOCKS)
    before = "".join(itertools.takewhile(lambda other: other is not text, block.findall(nodes.Text) if block else ()))
    return before.count("(") - before.count(")")


def _hint_words(doctree: nodes.document) -> None:
    """Give each word of the glossary a hover where the running text uses it first."""
    met: set[str] = set()
    for text in list(doctree.findall(nodes.Text)):
        if _within(text, _BLOCKS) is None or _within(text, _NO_WORDS):
            continue
        found: list[nodes.Node] = []
        at = 0
        for use in word_pattern().finditer(text):
            word, said = meaning(use.group())
            if word not in met:
                met.add(word)
                found += [nodes.Text(text[at : use.start()])]
                found += [nodes.abbreviation(use.group(), use.group(), explanation=said, classes=["word"])]
                at = use.end()
        if found:
            text.parent.replace(text, [n for n in [*found, nodes.Text(text[at:])] if n.astext()])


def explain(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Explain the short names and the words of one page."""
    texts = [t for t in doctree.findall(nodes.Text) if _within(t, _VERBATIM) is None and pattern().search(t)]
    wanted = _first_uses(texts)
    marked = [_marked(text, index, wanted) for index, text in enumerate(texts)]
    for text, (found, behind) in zip(texts, marked, strict=True):
        outer = text.parent
        text.parent.replace(text, found)
        while behind and isinstance(outer.parent, _STYLES) and outer is outer.parent[-1]:
            outer = outer.parent
        if behind:
            outer.parent.insert(outer.parent.index(outer) + 1, nodes.Text(behind))
    _hint_words(doctree)
