"""Sentences that hold at some parameters only, and the list of those that a parameter could make false."""

import json

import pytest
import sentences
from docutils import nodes
from docutils.utils import new_document
from notebooks import NOTEBOOKS, cells_of

from ldpbook import conditions, struck


def markdown(*texts):
    cells = [{"cell_type": "markdown", "metadata": {}, "source": text} for text in texts]
    return {"cells": [*cells, {"cell_type": "code", "metadata": {}, "source": "k = 2"}]}


def test_the_last_cell_of_a_page_judges_its_conditions():
    text = '{when}`k > 2` Some. {always}`k < 9` Other. {when}``"`" in str(k)`` Code. {always}`"reason"` Sure. {when}`k > 2` Again.'
    page = markdown(text, "No condition.")
    assert conditions.of(page) == ["k > 2", "k < 9", '"`" in str(k)']
    assert conditions.of(page, "always") == ["k < 9"]
    cell = conditions.judged(page)["cells"][-1]
    assert repr(conditions.of(page)) in cell["source"] and "remove-cell" in cell["metadata"]["tags"]
    assert conditions.judged(markdown("No condition.")) == markdown("No condition.")


def test_a_condition_is_true_false_or_open():
    names = {"k": 2, "table": {}}
    asked = ["k == 2", "k > 2", "table['GRR'] > 1", "all(k < n for n in (3, 4))"]
    assert list(conditions.verdicts(asked, names).values()) == [True, False, None, True]
    assert set(names) == {"k", "table"}


@pytest.mark.parametrize(
    "after, sentence",
    [
        (["One is 0.5 at most, e.g. here. Two."], "One is 0.5 at most, e.g. here."),
        (["One ", nodes.strong("", "is not. Two"), " all. Three."], "One is not. Two all."),
        ([nodes.strong("", "One."), " Two."], "One."),
        (["One of ", nodes.math("", "x")], "One of x"),
        (["One ", nodes.inline(condition="k"), "two."], "One "),
    ],
)
def test_a_sentence_ends_where_readers_see_its_end(after, sentence):
    start = nodes.inline(condition="k > 2")
    place = nodes.paragraph(
        "", "", start, *(nodes.Text(x) if isinstance(x, str) else x for x in after)
    )
    whole = place.astext()
    stop = struck._stop(start)
    assert "".join(node.astext() for node in place[1:stop]) == sentence
    assert place.astext() == whole


def test_a_break_within_a_sentence_leaves_the_others(monkeypatch):
    """Breaks of lines are nodes with equal texts."""
    monkeypatch.setattr(struck.execute.Project, "of", lambda app: None)
    monkeypatch.setattr(struck.provenance, "executed", lambda project, page: None)
    texts = [
        nodes.Text(x) for x in ("One", "\n", "two. ", "Three", "\n", "four. Five", "\n", "six.")
    ]
    start = nodes.inline(condition="k > 2")
    place = nodes.paragraph("", "", *texts[:3], start, *texts[3:])
    document = new_document("")
    document += place
    struck.strike(None, document, "page")
    said = [node.astext() for node in place if not isinstance(node, nodes.raw)]
    assert "".join(said) == "One\ntwo. Three\nfour. Five\nsix."
    first, last = (i for i, node in enumerate(place) if isinstance(node, nodes.raw))
    assert "".join(node.astext() for node in place[first + 1 : last]) == "Three\nfour."


def test_a_remark_names_the_book_s_values_of_changed_parameters():
    own = {
        "cell_type": "code",
        "metadata": {"tags": ["parameters"]},
        "source": "k = 25  # values, at least 2\nrun = 1  # seed",
    }
    changed = {
        "cell_type": "code",
        "metadata": {"tags": ["injected-parameters"]},
        "source": "k = 2\nrun = 1\n",
    }
    assert (
        struck.remark({"cells": [own, changed]})
        == "true for the book's parameters (k = 25), not for the values that this site was built with (k = 2)"
    )
    assert struck.remark({"cells": [own]}) == (
        "true for the book's parameters, not for the values that this site was built with"
    )


@pytest.mark.parametrize("page", NOTEBOOKS)
def test_a_condition_is_an_expression(page):
    for condition in conditions.of({"cells": cells_of(page)}):
        compile(condition, page, "eval")


@pytest.mark.parametrize("page", sentences.pages())
def test_nothing_that_a_parameter_could_make_false_is_left_alone(page):
    assert [one.text for one in sentences.read(page) if not one.state] == []


def test_a_typed_number_and_a_superlative_are_listed(monkeypatch):
    """Each sentence with what keeps it true; the others are not listed."""
    text = """# Title
The audit proves 1.4 here. It proves {glue:text}`x`. OLH is the lowest. The lowest is {glue:text}`x`.
{when}`k > 2` BLH is the lowest. {always}`"Theorem 2"` No bound is 3. {always}`k > 1` It is never 2.
Figure 3 has $x^2$ and `k = 3`. Is it always 5? The paper prints 7. All of them follow $x = 3$.

## Marked
% always: a definition

It is 9.

### Below
It is 8.

## After
It is 6.
````{exercise} Own
It is 4.
````
"""
    made = markdown(text)
    made["cells"][-1]["metadata"] = {"mystnb": {"figure": {"caption": "Half of it. One."}}}
    monkeypatch.setattr(sentences, "cells_of", lambda _: made["cells"])
    found = [(one.text.split(" ", 1)[-1][-12:], one.state) for one in sentences.read("page")]
    assert found == [
        ("proves 1.4 here."[-12:], ""),
        ("is the lowest."[-12:], ""),
        ("lowest is GLUED."[-12:], "computed"),
        ("is the lowest."[-12:], "conditioned"),
        ("No bound is 3."[-12:], "reasoned"),
        ("It is never 2."[-12:], "tested"),
        ("paper prints 7."[-12:], "quoted"),
        ("follow $x = 3$."[-12:], ""),
        ("is 9.", "marked"),
        ("is 8.", "marked"),
        ("is 6.", ""),
        ("of it.", ""),
    ]


def test_the_verdicts_of_a_run_are_read_from_its_outputs():
    output = {
        "output_type": "display_data",
        "data": {conditions.MIME: {"k > 2": False}},
        "metadata": {},
    }
    made = markdown("{when}`k > 2` Some.")
    made["cells"][-1]["outputs"] = [output]
    assert conditions.shown(json.loads(json.dumps(made))) == {"k > 2": False}
    assert conditions.shown(markdown("Text.")) == {}
