"""List the sentences of pages that a parameter could make false, and name those that nothing keeps true.

A sentence is listed if it has a typed number or a superlative. It is *computed* if its numbers come from the run, *conditioned*,
*tested* or *reasoned* by the roles ``{when}`` and ``{always}``, or *quoted* if it states what a paper or its authors say. A line ``% always: reason`` marks the rest
of its section. Exercises, what a page suggests to try, and boxes and explorers with settings of their own are not read: no parameter
of the page reaches them. An alternative text describes the book's figure, and every other run says so.
"""

import collections
import dataclasses
import re
import sys
from collections.abc import Iterator

import click
import language
from notebooks import NOTEBOOKS, cells_of

from ldpbook import conditions, parameters

OWN = re.compile(
    r"^(`{3,4})\{(?:exercise|solution|raw|quiz\}(?=(?:(?!^\1$).)*?^:law:)).*?^\1$|^(?:\*\*Try it\*\*|## Try it).*?(?=^#|\Z)",
    flags=re.M | re.S,
)
"""Parts of a page that have settings of their own."""
NUMBER = re.compile(r"(?<![\w.])[-−]?\d[\d,.]*")
SUPERLATIVE = re.compile(
    r"\b(?:(?i:always|never|lowest|highest|largest|smallest|strongest|weakest|fewest|closest|best|worst|half|twice|thrice"
    r"|(?:nearly|almost) (?:all|none|every|no)|(?:a|one|two) (?:third|quarter|fifth|tenth|hundredth)s?"
    r"|(?:two|three|four|five|ten|hundred|many) times|most of|the most|the least)|(?i:only) (?!REF)[A-Z]\w+)\b"
)
NAMED = re.compile(
    r"(?:Figure|Table|Theorem|Definition|Proposition|Corollar(?:y|ie)|Lemma|Section|Appendi(?:x|ce)|Equation|Algorithm|Example|Lesson|Exercise"
    r"|Step|Phase|Remark)(?:s|es)?\s+[A-Z]?\.?\d[\d.]*(?:(?:,| and| to)\s+[A-Z]?\.?\d[\d.]*)*|LDP-\w+ \d|\(\d{4}\)|\b\d+\.\d+\.\d+",
    flags=re.I,
)
QUOTED = re.compile(r"\bpapers?\b|\bauthors\b|\{cite")
HEADINGS = re.compile(r"## (?:One (?:point|cell) of this|Does it agree with the paper)")
"""Sections that need no mark: a point with typed values, which an assertion compares with the figure, and comparisons with a paper."""
MARK = re.compile(r"^% always: (.+)$", flags=re.M)
FORMULA = re.compile(r"\$([^$]*)\$")
STATES = {"when": "conditioned", "always": "tested"}
TYPED = re.compile(r"(?:=|\\approx|<|>|\\leq?|\\geq?)\s*[-\d.]*\d(?![\w^])")


@dataclasses.dataclass(frozen=True)
class Listed:
    """A listed sentence: its page, its cell, its text, and what keeps it true, or an empty text."""

    page: str
    cell: int
    text: str
    state: str


def _spoken(text: str) -> str:
    """Return a sentence without code, names with numbers, and formulas that state no number."""
    text = FORMULA.sub(
        lambda found: " ".join(TYPED.findall(found[1])), re.sub(r"`[^`]*`", "`x`", text)
    )
    return NAMED.sub("REF", text)


def _state(text: str, marked: bool) -> str:
    if role := re.match(r"(?:.*\s)?WHEN(\w+)", text):
        return role[1].lower()
    numbers = NUMBER.search(_spoken(text))
    if "GLUED" in text and not numbers:
        return "computed"
    return "marked" if marked else "quoted" if QUOTED.search(text) else ""


def read(page: str) -> Iterator[Listed]:
    """Yield the listed sentences of one page."""
    level, mark = 0, 0  # of the last heading, and of the section that is marked
    for index, cell in enumerate(cells_of(page)):
        caption = cell["metadata"].get("mystnb", {}).get("figure", {}).get("caption", "")
        text = OWN.sub("", "".join(cell["source"])) if cell["cell_type"] == "markdown" else caption
        text = re.sub(r"\{glue:\w+\}`[^`]*`", "GLUED", text)
        text = conditions.ROLE.sub(
            lambda found: (
                "WHEN" + ("reasoned" if conditions.reason(found[3]) else STATES[found[1]])
            ),
            text,
        )
        for piece in re.split(r"(?m)^(?=#+ |% always: )", text):
            if heading := re.match(r"#+(?= )", piece):
                level = len(heading[0])
                mark = 0 if level <= mark else mark
            if MARK.match(piece) or HEADINGS.match(piece):
                mark = mark or level
            for block in language._page(MARK.sub("", piece)):
                for _, sentence in language._sentences(block):
                    sentence = re.sub(f"[{language._SPACE}{language._BREAK}]", " ", sentence)
                    spoken = _spoken(sentence)
                    said = NUMBER.search(spoken) or SUPERLATIVE.search(spoken) or "WHEN" in sentence
                    if said and not sentence.endswith("?"):
                        yield Listed(page, index, sentence, _state(sentence, bool(mark)))


def pages() -> list[str]:
    """Return the pages that have parameters."""
    return [page for page in NOTEBOOKS if parameters.of({"cells": cells_of(page)})]


@click.command()
@click.option("--list", "shown", is_flag=True, help="show every sentence that nothing keeps true")
@click.argument("names", nargs=-1)
def main(shown: bool, names: tuple[str, ...]) -> None:
    """Count the sentences of pages NAMES, or of all, that a parameter could make false, by what keeps them true."""
    found = [one for page in pages() if not names or page.startswith(names) for one in read(page)]
    bare = [one for one in found if not one.state]
    for one in bare if shown else ():
        click.echo(f"{one.page} [{one.cell}] {one.text}")
    counts = collections.Counter(one.state or "nothing" for one in found)
    click.echo(
        f"{len(found)} sentences: " + ", ".join(f"{n} {state}" for state, n in counts.most_common())
    )
    sys.exit(bool(bare))


if __name__ == "__main__":
    main()
