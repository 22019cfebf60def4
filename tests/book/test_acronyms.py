"""Short names: everyone is in the table, marked wherever it stands in prose, and said in words
where a page uses it first."""

import json
import re
from pathlib import Path

import pytest
import yaml
from docutils import nodes
from docutils.core import publish_doctree

from ldpbook import acronyms, execute

ROOT = Path(__file__).parents[2]


PROJECT = execute.Project(ROOT)
NAMES = yaml.safe_load(acronyms.FILE.read_text())["names"]
VERBATIM = re.compile(
    r"^(```+)(?!\{).*?^\1`*$|\$\$.*?\$\$|\$[^$]*\$|(`+)[^`]+\2|\]\([^)]*\)|<!--.*?-->", re.S | re.M
)


def explained(source):
    doctree = publish_doctree(source)
    acronyms.explain(None, doctree, "page")
    return doctree


def prose(page):
    """What a page's source says outside code and mathematics, figure captions included."""
    if PROJECT.source(page).exists():
        cells = json.loads(PROJECT.source(page).read_text())["cells"]
        texts = ["".join(c["source"]) for c in cells if c["cell_type"] == "markdown"]
        texts += [
            c["metadata"].get("mystnb", {}).get("figure", {}).get("caption", "") for c in cells
        ]
    else:
        texts = [(ROOT / f"{page}.md").read_text()]
    return VERBATIM.sub(" ", "\n\n".join(texts))


@pytest.mark.parametrize("page", PROJECT.pages())
def test_every_word_in_capitals_is_in_the_table_or_a_known_name(page):
    words = re.findall(r"\b\w*[A-Z]{2}\w*\b", acronyms.pattern().sub(" ", prose(page)))
    assert sorted(set(words) - set(NAMES)) == []


def test_the_table_has_no_name_that_is_used_nowhere():
    """Legends, tables and docstrings count too."""
    sources = [
        p
        for kind in ("*.md", "*.ipynb", "*.py")
        for top in ("book", "ldpkit")
        for p in (ROOT / top).rglob(kind)
    ]
    everything = "\n".join(path.read_text() for path in sources)
    used = {use.group(1) for use in acronyms.pattern().finditer(everything)}
    assert [n for n in acronyms.table() if n not in used] == []
    assert [n for n in NAMES if not re.search(rf"\b{n}\b", everything)] == []


def test_words_follow_the_first_use_in_running_text_only():
    text = explained("OUE and SUE\n===========\n\nOUE (so also SUE) and OUE again.\n").astext()
    assert (
        text
        == "OUE and SUE\n\nOUE (optimised unary encoding) (so also SUE [symmetric unary encoding])"
        " and OUE again."
    )


def test_words_follow_the_style_or_the_link_that_a_short_name_ends():
    doctree = explained("**OUE** and `the SS <https://example.org>`_ and the GRR's FPRs.\n")
    assert doctree.astext().startswith(
        "OUE (optimised unary encoding) and the SS (subset selection)"
    )
    assert doctree.astext().endswith(
        "the GRR's (generalised randomised response) FPRs (false-positive rate)."
    )
    assert next(doctree.findall(nodes.strong)).astext() == "OUE"
    assert next(doctree.findall(nodes.reference)).astext() == "the SS"


def test_nothing_is_said_twice_and_names_made_with_a_hyphen_stay_whole():
    for text in ("Local differential\nprivacy (LDP).", "LDP-Auditor", "An LDP-based one."):
        assert explained(text).astext() == text
    assert (
        explained("DP-SGD").astext()
        == "DP-SGD (differentially private stochastic gradient descent)"
    )


def test_a_table_is_left_short_where_running_text_says_it():
    table = "== ==\nSS OUE\n== ==\n\nThen SS."
    assert "Then SS (subset selection)." in explained(table).astext()
    assert (
        "OUE (optimised unary encoding)" in explained(table).astext()
        and "SS\n" in explained(table).astext()
    )


def test_code_and_mathematics_stay_and_everything_else_gets_the_hover():
    doctree = explained(
        "SS\n==\n\n``SS`` and :math:`SS`.\n\n::\n\n  SS\n\nTHE is not the, nor BATHE, nor SSE.\n"
    )
    marked = [(n.astext(), n["explanation"]) for n in doctree.findall(nodes.abbreviation)]
    assert marked == [("SS", "subset selection"), ("THE", "thresholding with histogram encoding")]
