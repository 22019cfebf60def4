"""What is indexed and asked alike: both spellings, figures by their number, THE. The same questions
are put in test_reading.py."""

from pathlib import Path

import pytest
import yaml

from ldpbook import execute, wording

ROOT = Path(__file__).parents[2]
LANGUAGE = wording.English({})


@pytest.mark.parametrize("american, ours", [
    ("memoization", "memoisation"), ("randomized", "randomised"), ("optimizers", "optimisers"),
    ("generalizes", "generalises"), ("analyzed", "analysed"), ("neighbors", "neighbours"),
    ("behavioral", "behavioural"), ("labeled", "labelled"), ("center", "centre"), ("size", "size"),
    ("prize", "prize"), ("seized", "seized"), ("color", "colour"), ("colony", "colony"), ("labs", "labs"),
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
    words = LANGUAGE.split("THE is not the other")
    assert words == ["THE_", "is", "not", "the", "other"]
    assert LANGUAGE.word_filter("the_") and not LANGUAGE.word_filter("the")


def test_what_readers_call_a_page_leads_to_a_page_and_is_no_word_of_the_glossary():
    asked = yaml.safe_load((ROOT / "book" / "search.yml").read_text())
    words = {word.lower() for word in wording.table("words")}
    phrases = [phrase for some in asked.values() for phrase in some]
    assert {f"book/{page}" for page in asked} <= set(execute.Project(ROOT).pages())
    assert len(phrases) == len(set(phrases)) and not words & set(phrases)
