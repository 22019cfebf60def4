"""The papers, line by line: what every line names exists, and its state is that of the errata, the figures and the claims."""

import ast
import functools
import importlib
import re

import pandas as pd
import pytest

from ldpbook import claims, errata, figures, lines
from ldpbook.execute import Project
from ldpbook.paths import ROOT

PAPERS = {paper: lines.table(ROOT, paper) for paper in figures.PAPERS}
EVERY = pd.concat([rows.assign(paper=paper) for paper, rows in PAPERS.items()], ignore_index=True)
WRONG = ("corrected", "checked by counterexample")
THING = re.compile(
    r"\b(Theorem|Proposition|Corollary|Definition|Example|Algorithm|Equation)s? (\d+(?:\.\d+)?)(?:(?:,| and) (\d+(?:\.\d+)?)\b)?"
)


@functools.cache
def functions(path):
    return {
        node.name
        for node in ast.walk(ast.parse((ROOT / path).read_text()))
        if isinstance(node, ast.FunctionDef)
    }


def exists(function):
    module, _, name = function.partition(":")
    return hasattr(importlib.import_module(module), name)


@pytest.mark.parametrize("paper", PAPERS)
def test_every_page_function_and_test_exists_and_a_gap_has_its_reason(paper):
    rows, pages = PAPERS[paper], {page.removeprefix("book/") for page in Project(ROOT).pages()}
    assert list(rows) == lines.COLUMNS and set(rows["state"]) <= set(lines.STATES)
    assert not rows.duplicated(["kind", "number"]).any()
    wrong = []
    for row in rows.itertuples():
        path, _, test = row.test.partition("::")
        found = (
            row.where in pages and exists(row.function) and test in functions(path)
            if row.where
            else row.why != ""
        )
        reason = row.why != "" or row.state in ("reproduced", "computed", "proved")
        sentence = row.says.endswith(".") and len(row.says.split()) <= 25
        if not (found and reason and sentence and (row.where == "") == (row.state == "not here")):
            wrong.append((row.kind, row.number, row.where, row.function, row.test))
    assert wrong == []


def test_figures_and_tables_are_those_of_the_list_on_their_pages():
    shown = EVERY[EVERY["kind"].isin(("Figure", "Table"))]
    items = (
        shown["paper"]
        + "/"
        + shown["kind"].replace({"Figure": "fig", "Table": "table"})
        + shown["number"]
    )
    known = figures.items(ROOT).set_index("item")["page"]
    assert dict(zip(items, shown["where"])) == {item: known.get(item, "") for item in items}
    assert set(known.index) <= set(items)
    assert f"{len(known)} figures and tables" in (ROOT / "book" / "intro.md").read_text()


def test_what_an_erratum_names_says_so_and_nothing_else_does():
    """An erratum whose title names a thing is the reason of the state of that thing."""
    entries, missing = errata.entries(ROOT), []
    for row in EVERY.itertuples():
        cited = {*re.findall(r"\[([a-z-]+-\d+)\]", row.why)}
        assert (row.state in WRONG) == bool(cited), row
        assert cited <= {
            e.name for e in entries if e.name.startswith(row.paper.replace("_", "-"))
        }, row
    why = EVERY.set_index(["paper", "kind", "number"])["why"]
    for entry in entries:
        paper = entry.name.rpartition("-")[0].replace("-", "_")
        things = {(kind, n) for kind, *numbers in THING.findall(entry.title) for n in numbers if n}
        missing += [
            (entry.name, thing) for thing in things if f"[{entry.name}]" not in why[paper, *thing]
        ]
    assert missing == []


def test_a_thing_whose_claim_fails_is_not_called_right():
    found = claims.ledger(ROOT).merge(pd.read_csv(ROOT / "data" / "expected_claims.csv"), on="id")
    state = EVERY.set_index(["paper", "kind", "number"])["state"]
    failed = found[found["verdict"].str.startswith(("does not hold", "holds in part"))]
    told = [
        (claim.paper, *thing[:2])
        for claim in failed.itertuples()
        for thing in THING.findall(claim.place)
    ]
    assert told and [thing for thing in told if state[thing] not in WRONG] == []


def test_the_pages_show_every_line_and_its_place():
    project = Project(ROOT)
    shown = lines.page(project, "rad")
    assert shown.count("\n* - ") == len(PAPERS["rad"]) + 1
    assert '<span id="theorem-5-3"></span>**Theorem 5.3**' in shown
    assert (
        "([erratum](rad-5))" in shown and "{py:obj}`~ldpkit.attacks.reconstruct.rad_exact`" in shown
    )
    assert "{py:obj}`~ldpkit.auditors.rad.calibrate`" in shown  # where the reference has it
    assert "test: *no deterministic attack beats algorithm 1 and it is attained*" in shown
    counts = [int(n) for n in re.findall(r"^  - (\d+)$", lines.summary(project), flags=re.M)]
    assert sum(counts) == len(EVERY)
