"""Short names and words of the glossary: everyone is in the table, marked wherever it stands in prose, and said in
words where a page uses it first. What is indexed and asked alike: both spellings, figures by their number, THE."""

import json
import re

import pytest
import yaml
from docutils import nodes
from docutils.core import publish_doctree

from ldpbook import execute, wording
from ldpbook.paths import ROOT

PROJECT = execute.Project(ROOT)
NAMES = yaml.safe_load(wording.FILE.read_text())["names"]
VERBATIM = r"(?sm)^(```+)(?!\{).*?^\1`*$|\$\$.*?\$\$|\$[^$]*\$|(`+)[^`]+\2|\]\([^)]*\)|<!--.*?-->"


def explained(source):
    doctree = publish_doctree(source)
    wording.explain(None, doctree, "page")
    return doctree


def prose(page):
    """What a page's source says outside code and mathematics, figure captions included."""
    texts = [(ROOT / f"{page}.md").read_text()] if not PROJECT.source(page).exists() else []
    for c in [] if texts else json.loads(PROJECT.source(page).read_text())["cells"]:
        texts.append(c["metadata"].get("mystnb", {}).get("figure", {}).get("caption", ""))
        texts += ["".join(c["source"])] if c["cell_type"] == "markdown" else []
    unseen = r"^\s*% .*$|^ +```+(?:\{dropdown\}.*)?$"  # comments, and fences within a list
    shown = re.sub(unseen, " ", "\n\n".join(texts), flags=re.M)
    return re.sub(VERBATIM, " ", shown)


def test_every_word_in_capitals_is_in_the_table_or_a_known_name():
    known, unknown = wording.pattern(), set()
    for page in PROJECT.pages():
        if not page.startswith("book/developers/"):  # contributors know PDF and YAML
            words = re.findall(r"\b\w*[A-Z]{2}\w*\b", known.sub(" ", prose(page)))
            unknown |= {(page, word) for word in words if word not in NAMES}
    assert unknown == set()


def test_words_follow_the_first_use_in_running_text_only():
    said = {
        "OUE and SUE\n===========\n\nOUE (so also SUE) and OUE again.\n": (
            "OUE and SUE\n\nOUE (optimised unary encoding) (so also SUE [symmetric unary encoding])"
            " and OUE again."
        ),
        # after the style or the link that a short name ends
        "**OUE** and `the SS <https://example.org>`_ and the GRR's FPRs.\n": (
            "OUE (optimised unary encoding) and the SS (subset selection) and the GRR's "
            "(generalised randomised response) FPRs (false-positive rate)."
        ),
        # a title that is quoted as a link stays whole
        "`Two OUE and SUE <https://example.org>`_, then OUE.": (
            "Two OUE and SUE (symmetric unary encoding), then OUE (optimised unary encoding)."
        ),
        # nothing is said twice, and names made with a hyphen stay whole
        "Local differential\nprivacy (LDP).": "Local differential\nprivacy (LDP).",
        "LDP-Auditor": "LDP-Auditor",
        "An LDP-based one.": "An LDP-based one.",
        "DP-SGD": "DP-SGD (differentially private stochastic gradient descent)",
    }
    assert {text: explained(text).astext() for text in said} == said
    styled = explained(list(said)[1])
    assert next(styled.findall(nodes.strong)).astext() == "OUE"
    assert next(styled.findall(nodes.reference)).astext() == "the SS"
    table = explained("== ==\nSS OUE\n== ==\n\nThen SS.").astext()  # short where text says it
    assert "Then SS (subset selection)." in table and "SS\n" in table
    assert "OUE (optimised unary encoding)" in table


def test_code_and_mathematics_stay_and_everything_else_gets_the_hover():
    text = "``SS`` and :math:`SS`.\n\n::\n\n  SS\n\nTHE is not the, nor BATHE, nor SSE.\n"
    doctree = explained(f"SS\n==\n\n{text}")
    marked = [(n.astext(), n["explanation"]) for n in doctree.findall(nodes.abbreviation)]
    assert marked == [("SS", "subset selection"), ("THE", "thresholding with histogram encoding")]


def words_marked(source):
    found = explained(source).findall(nodes.abbreviation)
    return [(n.astext(), wording.meaning(n.astext())[0]) for n in found if "word" in n["classes"]]


def test_a_word_of_the_glossary_is_marked_once_where_the_running_text_uses_it_first():
    page = """
Reports
=======

== ==
A report in a table
== ==

``report`` and :math:`report`, a `report <https://example.org>`_. Two **reports** and one report.

::

  report

A likelihood-ratio event is an event. Reporters, a per-report rate and a Pareto front. OUE events.
"""
    marked = "likelihood-ratio event", "event", "Pareto front"
    assert words_marked(page) == [("reports", "report"), *zip(marked, marked)]
    said = explained(page).astext()
    assert "Two reports and one report." in said  # no word of the page changes
    assert "OUE (optimised unary encoding) events." in said


@pytest.mark.parametrize("sentence", [
    "The audit reports 0.44, about a quarter.", "A program claims that it keeps ε.", "You claim 1.",
    "Table 3 audits the same statement.", "Memoisation audits all of this.", "Ask, and estimate the share.",
    "The two coins claim 1.10.", "Xu et al. [2025] audit mechanisms.", "The audience can guess.",
    "Guess before you look.", "It is easy to attack.", "The server guesses from the report.",
    "Nobody's data are at stake here.", "Therefore report this baseline.", "Three panels audit different parts.",
    "A user with many attributes reports one of them.", "SS (subset selection) estimates frequencies.",
    "It is a function, which bounds how likely it is.", "The wealth is 1, and she stakes a share.",
])  # fmt: skip
def test_a_verb_has_no_tip_for_the_noun(sentence):
    entries = {entry for _, entry in words_marked(sentence)}
    assert not entries & {"claim", "estimate", "guess", "attack", "stake", "bound"}
    assert "audit" not in entries or "The audit" in sentence
    assert "report" not in entries or "the report" in sentence


@pytest.mark.parametrize("sentence, entry", [
    ("The audit is short.", "audit"), ("Reports arrive in any order.", "report"), ("A lower bound of ε.", "bound"),
    ("It needs a few hundred reports, not more.", "report"), ("The dashed claim.", "claim"), ("The paper's guess proves it.", "guess"),
    ("This bound is zero.", "bound"), ("The advantage of a blind guess.", "guess"), ("Whose reports it may see.", "report"),
    ("Estimates do not change.", "estimate"), ("Simulated attacks with two errors.", "attack"), ("An unbiased estimate.", "estimate"),
    ("We audit it. Then the audit ends.", "audit"), ("A smaller stake.", "stake"),
])  # fmt: skip
def test_a_noun_has_its_tip(sentence, entry):
    assert entry in {found for _, found in words_marked(sentence)}


def test_a_word_means_what_its_longest_name_in_the_glossary_means():
    words = {"Clients": "client", "Real report": "real report", "E-values": "e-value", "ε": "ε"}
    assert {use: wording.meaning(use)[0] for use in words} == words


LANGUAGE = wording.English({})


@pytest.mark.parametrize("american, ours", [
    ("memoization", "memoisation"), ("randomized", "randomised"), ("optimizers", "optimisers"),
    ("generalizes", "generalises"), ("analyzed", "analysed"), ("neighbors", "neighbours"),
    ("behavioral", "behavioural"), ("labeled", "labelled"), ("center", "centre"), ("size", "size"),
    ("prize", "prize"), ("seized", "seized"), ("color", "colour"), ("colony", "colony"), ("labs", "labs"),
    ("bugs", "fault"), ("flaw", "fault"),
])  # fmt: skip
def test_american_words_are_found_under_the_spelling_of_the_book(american, ours):
    assert wording.british(american) == ours
    assert LANGUAGE.stem(american.upper()) == LANGUAGE.stem(ours)


@pytest.mark.parametrize("text, found", [
    ("Figure 8", ["figure8"]),
    ("Figures 4 and 8: five", ["figure4", "figure8"]),
    ("Figures 10 to 12, see", ["figure10", "figure11", "figure12"]),
    ("Tables 2, 3 and 4 of 5", ["table2", "table3", "table4"]),
    ("fig. 7 or Table 1", ["figure7", "table1"]),
    ("Figures 1, 3 to 5, and 9", ["figure1", "figure3", "figure4", "figure5", "figure9"]),
    ("a table 10 wide", ["table10"]),
    ("configure 8 things", []),
    ("table of 10", []),
])  # fmt: skip
def test_every_numbered_figure_is_a_word_of_its_own(text, found):
    assert list(wording.numbers(text)) == found


def test_the_protocol_is_a_word_and_the_article_is_none():
    assert LANGUAGE.split("THE is not the other") == ["THE_", "is", "not", "the", "other"]
    assert LANGUAGE.word_filter("the_") and not LANGUAGE.word_filter("the")


def test_words_that_make_a_question_are_not_indexed():
    kept = [word for word in "how many reports do i need".split() if LANGUAGE.word_filter(word)]
    assert kept == ["many", "reports", "need"]


def test_what_readers_call_a_page_leads_to_a_page_and_is_no_word_of_the_glossary():
    asked = yaml.safe_load((ROOT / "book" / "search.yml").read_text())
    words = {word.lower() for word in wording.table("words")}
    phrases = [phrase for some in asked.values() for phrase in some]
    assert {f"book/{page}" for page in asked} <= set(execute.Project(ROOT).pages())
    assert all(len(some) == len(set(some)) for some in asked.values()) and not words & set(phrases)
