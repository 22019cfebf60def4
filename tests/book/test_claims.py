"""The ledger of claims: its rows, its verdicts, and that its tests can fail. Nothing here is random."""

import importlib.util
import math
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from ldpbook import claims, execute
from ldpkit.auditors import Audit
from ldpkit.mechanisms import RSFD
from ldpkit.sweep import cells

ROOT = Path(__file__).parents[2]

PAPERS = ["ldp_auditor", "refinement", "kv_auditor", "rad", "ldp_sgd"]
LEDGER = pd.concat([claims.load(paper) for paper in PAPERS], ignore_index=True)


def code(paper):
    """The module that evaluates a paper's claims."""
    path = next((ROOT / "book" / paper).glob("*_claims.py"))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_ledger_is_whole_and_every_page_judges_its_claims_in_one_call():
    assert list(LEDGER) == claims.COLUMNS and LEDGER["id"].is_unique
    assert ((LEDGER["code"] == "") != (LEDGER["why"] == "")).all()  # a test, or why there is none
    evaluated = LEDGER[LEDGER["code"] != ""]
    assert len(evaluated) >= 100
    assert (evaluated[["place", "claim", "cells", "version"]] != "").all(axis=None)
    assert evaluated["published"].notna().all() and (evaluated["tolerance"] >= 0).all()
    wrong = []
    for page, rows in evaluated.groupby("page"):
        text = (ROOT / "book" / f"{page}.ipynb").read_text()
        if text.count("claims.judge(") != 1:
            wrong.append(page)
    for paper, rows in evaluated.groupby("paper"):
        source = Path(code(paper).__file__).read_text() + "\n".join(rows["code"])
        # no function and no import is left without a claim or another function
        found = re.findall(r"^def (\w+)|^(?:from .*)?import (.*)", source, re.M)
        names = [name for one in found for name in re.split(r", |.* as ", one[0] or one[1]) if name]
        wrong += [(paper, name) for name in names if len(re.findall(rf"\b{name}\b", source)) < 2]
    assert wrong == []


VERDICTS = [
    ([1.0, 2.0], 0, {"relation": "<=", "published": 2}, ("holds", 2, "")),
    ([1.0, 2.1], 0, {"relation": "<=", "published": 2}, ("holds in part", 1, "the conclusion")),
    ([1.0, 2.1], 0, {"relation": "<=", "published": 2, "turns": 0.5}, ("holds in part", 1, "the number")),
    ([2.1], 0, {"relation": "<=", "published": 2, "turns": 0.5}, ("does not hold", 0, "the number")),
    ([2.6], 0, {"relation": "<=", "published": 2, "turns": 0.5}, ("does not hold", 0, "the conclusion")),
    ([2.6], 0.2, {"relation": "<=", "published": 2}, ("holds", 1, "")),
    ([0.48], 0, {"relation": "=", "published": 0.48, "tolerance": 0.005}, ("holds", 1, "")),
    ([0.4876], 0, {"relation": "=", "published": 0.48, "tolerance": 0.005}, ("does not hold", 0, "the conclusion")),
    ([-1e-12], 0, {"relation": ">=", "published": 0}, ("holds", 1, "")),
    ([-1e-3, 1], 0, {"relation": ">=", "published": 0}, ("holds in part", 1, "the conclusion")),
    ([math.nan], 0, {"relation": ">=", "published": 0}, ("does not hold", 0, "the conclusion")),
    ([], 0, {"relation": ">=", "published": 0}, ("cannot be checked here", 0, "")),
]  # fmt: skip


def test_verdicts_count_cells_and_tell_a_number_from_a_conclusion():
    for values, se, test, wanted in VERDICTS:
        found = claims.verdict(values, se, **({"tolerance": 0.0} | test))
        assert (found["verdict"], found["holding"], found["differs"]) == wanted, (values, test)


def test_what_is_printed_stands_for_an_interval_and_what_nothing_contradicts_has_no_test():
    rows = LEDGER.set_index("id")
    intervals = {
        "ldp_auditor/ceiling_million": 0.0005, "ldp_auditor/ceiling_ten_thousand": 0.005,
        "ldp_sgd/theory_4_6454": 0.05, "rad/printed_sigma": 0.5,
    }  # fmt: skip
    assert rows["tolerance"][list(intervals)].to_dict() == intervals
    vacuous = rows[rows["why"].str.startswith("vacuous: ")]
    assert len(vacuous) and (vacuous["code"] == "").all()


def test_a_page_hands_verdicts_and_what_turns_them_to_the_build(figure_2, tmp_path, monkeypatch):
    monkeypatch.setenv("LDPKIT_SCOREBOARD", str(tmp_path / "page.csv"))
    sgd = code("ldp_sgd")
    shown = claims.judge("ldp_sgd/table3", sgd)
    assert set(shown["verdict"].str.partition(":")[0]) == {"holds", "does not hold"}
    claims.judge("ldp_sgd/fig3", sgd, comparable=False)
    claims.judge("ldp_auditor/fig2", code("ldp_auditor"), cell=figure_2)
    found = pd.read_csv(tmp_path / "page.claims.csv").set_index("id")
    pages = ["ldp_sgd/table3", "ldp_sgd/fig3", "ldp_auditor/fig2"]
    assert len(found) == LEDGER["page"].isin(pages).sum()
    assert found.loc["ldp_sgd/clients_4", "verdict"] == "holds"
    assert found.loc["ldp_sgd/theory_1_1000", "verdict"] == "does not hold: the number differs"
    assert found.loc["ldp_sgd/turned_small", "verdict"].startswith("cannot be checked here: other")
    # a table under the negation
    judged = found["found"].notna()
    assert judged.sum() > 40 and (found["mutant"].notna() == judged).all()
    assert found.loc["ldp_auditor/grr_tightest", "mutant"].startswith("cell, exact ")
    assert found.loc["ldp_sgd/clients_4", "mutant"] == "its own numbers above"
    merged = claims.merged(ROOT, [found.reset_index()])
    assert len(merged) == len(LEDGER) == sum(claims.counts(merged).values())


@pytest.fixture(scope="module")
def figure_2():
    """What the page's table holds where every run gives the exact expectation."""
    grid = {
        "mechanism": ["GRR", "SS", "SUE", "OUE", "BLH", "OLH", "SHE", "THE"],
        "k": [25, 50, 100, 150, 200],
        "epsilon": [0.25, 0.5, 0.75, 1, 2, 4, 6, 10],
    }
    every = cells(grid | {"trials": 10**6, "alpha": 0.01})
    exact = [Audit.of(both=False, **cell).expected[0][0] for cell in every]
    return pd.DataFrame(every)[list(grid)].assign(exact=exact)


def test_a_test_that_nothing_can_fail_stops_the_build(tmp_path, monkeypatch):
    names, project = ("rad/asleep", "rad/awake"), execute.Project(tmp_path)
    (tmp_path / "_toc.yml").write_text("format: jb-book\nroot: book/rad/fig1\n")
    rows = [f"{name},rad,v1,p,c,>=,0,0,0,cells,,rad/fig1,code," for name in names]
    for folder in ("data/claims", "book/rad"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "book" / "rad" / "fig1.ipynb").write_text("{}")
    table = "\n".join([",".join(claims.COLUMNS), *rows])
    (tmp_path / "data" / "claims" / "rad.csv").write_text(table)
    known = claims.load("rad").iloc[0].to_dict() | {"id": "x"}
    known |= {"relation": ">=", "published": 0.0, "tolerance": 0.0, "turns": 0.0}
    tests, tables = ("t['x'] ** 0", "t['x'].diff()[1:]"), {"t": pd.DataFrame({"x": [1.0, 2.0]})}
    mutants = [claims._mutant(known | {"code": test}, pd, tables) for test in tests]
    assert mutants == ["", "t, x order reversed"]
    found = pd.DataFrame({"id": names, "verdict": "said", "found": 1.0})
    project.executed("book/rad/fig1").parent.mkdir(parents=True)
    project.executed("book/rad/fig1").write_text("{}")
    path = project.executed("book/rad/fig1", ".claims.csv")
    found.assign(mutant=mutants).to_csv(path, index=False)
    assert [said.split()[0] for said in execute.merge_claims(project)] == ["rad/asleep:"]


def judged(name, **tables):
    """The verdict on one claim about tables, and how many cells hold."""
    row = LEDGER.set_index("id").loc[name].to_dict() | {"id": name}
    found = claims._found(row, code(name.partition("/")[0]), True, tables)
    return found["verdict"].partition(":")[0], found["holding"]


def test_the_amplified_budget_is_what_keeps_the_claim(monkeypatch):
    assert judged("ldp_auditor/amplified") == ("holds", 8)
    for budget in (lambda m: m.epsilon, lambda m: m.d * m.epsilon):
        monkeypatch.setattr(RSFD, "amplified", property(budget))
        assert judged("ldp_auditor/amplified") == ("does not hold", 0)


def test_an_expression_sees_the_tables_that_it_names_and_the_module_of_its_chapter():
    asr = pd.DataFrame({"ASS": [1.0], "SS": [4.0]})
    row = {"code": "np.sqrt([asr['SS'][0] for _ in (1, 2)])", "id": "x"}
    evaluate, given = claims._evaluator(row, SimpleNamespace(np=np), {"asr": asr, "mse": asr})
    assert list(given) == ["asr"] and evaluate(given)["value"].tolist() == [2.0, 2.0]


def test_a_claim_that_needs_what_a_page_does_not_have_says_so():
    nothing = pd.DataFrame({name: [] for name in ("knows", "ε", "rero")})
    row = claims.load("rad").set_index("id").loc["rad/member_success"].to_dict() | {"id": "x"}
    found = claims._found(row, pd, True, {"mnist": nothing})
    assert found["verdict"] == "cannot be checked here: no such cell in this run"


def test_the_page_lists_every_claim_with_its_verdict(tmp_path):
    path = tmp_path / "_build" / "claims.csv"
    path.parent.mkdir()
    row = {"id": "rad/ceiling", "verdict": "does not hold: the number differs", "found": 12.025}
    claims.merged(ROOT, [pd.DataFrame([row])]).to_csv(path, index=False)
    text = claims.page(tmp_path)
    assert text.startswith(f"{len(LEDGER)} claims: holds: 0; holds in part: 0; does not hold: 1;")
    assert "- **does not hold**: the number differs (furthest 12.03)" in text
    assert "\n  - ≥ 0.6: MNIST" in text and "\n  - >" not in text  # that would be a quotation
    assert text.count('<span id="claim-') == len(LEDGER)
    failed, _, every = text.partition("### All claims")
    # the only one that fails, and all, below the heads of the tables
    assert failed.count("* - ") == 2 and "does not hold" in failed
    assert every.count("* - ") == len(LEDGER) + len(PAPERS)
