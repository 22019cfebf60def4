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
from ldpkit.grid import combinations
from ldpkit.mechanisms import GRR, SUE

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
    printed = LEDGER["published"].astype(str)
    told = [claims._test(row) for row in LEDGER[LEDGER["relation"] != ""].to_dict("records")]
    numbers = [
        float(text.split(maxsplit=2)[1].rstrip(":").replace(",", ""))
        for text in told
        if "⁻" not in text
    ]
    assert set(numbers) <= set(
        pd.to_numeric(printed[printed != ""])
    )  # no printed number is rounded
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
    every = combinations(grid | {"trials": 10**6, "alpha": 0.01})
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


def less_sure(stats):
    """Bounds that spend twice as much of alpha as they should."""
    return SimpleNamespace(
        clopper_pearson=lambda *counts_and_tail: stats.clopper_pearson(
            *counts_and_tail[:-1], 2 * counts_and_tail[-1]
        ),
        epsilon_ceiling=lambda n, tail: stats.epsilon_ceiling(n, tail=2 * tail),
    )


def in_larger_crowds(audit):
    return lambda epsilon, clients, **given: audit(epsilon, 3 * clients, **given)


def exchanged(audit):
    def run(*given, delta):
        (result,) = audit(*given, delta=delta).run()
        return [SimpleNamespace(exact=result.claim, claim=result.exact)]

    return lambda *given, delta: SimpleNamespace(run=lambda: run(*given, delta=delta))


THEORY = ("1_432", "1_1000", "2_974", "2_1000", "4_6454", "4_10000")
WRONG = {
    # the test of these claims rests on no table of a page: the name that it rests on, and what is wrong in its place
    **dict.fromkeys((f"ldp_auditor/{n}" for n in ("ceiling_million", "ceiling_ten_thousand", "lower_end", "upper_end")), ("stats", less_sure)),
    "ldp_auditor/amplified": ("RSFD", lambda _: lambda k, d, epsilon: SimpleNamespace(amplified=epsilon)),
    "ldp_auditor/ss_is_grr": ("SS", lambda _: lambda k, epsilon: SimpleNamespace(omega=max(1, round(k / (math.exp(epsilon / 2) + 1))))),
    "rad/oue_limit": ("OUE", lambda _: SUE),
    "rad/grr_reaches_worst": ("finite_distribution", lambda f: lambda m: f(GRR(m.k, m.epsilon / 2))),
    "rad/printed_sigma": ("calibrate", lambda f: lambda *given, steps: f(*given, steps=4 * steps)),
    "rad/ceiling": ("stats", lambda _: SimpleNamespace(epsilon_ceiling=lambda n, tail: 12.25)),
    "ldp_sgd/cosines_shrink": ("LDPSGD", lambda f: lambda d, epsilon: f(100_000 // d, epsilon)),
    **dict.fromkeys(
        (f"ldp_sgd/{n}" for n in ("turned_small", "turned_large", "dummy_accuracy")),
        ("LDPSGD", lambda f: lambda d, epsilon: f(d, epsilon / 2)),
    ),
    "ldp_sgd/lower_of_thousand": ("stats", less_sure),
    **dict.fromkeys(
        ("ldp_sgd/budget_of_thousand", "ldp_sgd/budget_of_million"),
        ("lower_pooled", lambda f: lambda *counts, alpha: f(*counts, alpha=2 * alpha)),
    ),
    "ldp_sgd/example_of_equation_3": ("epsilon_from_errors", lambda _: lambda fpr, fnr: math.log((1 - fpr) / fnr)),
    **dict.fromkeys((f"ldp_sgd/theory_{cell}" for cell in THEORY), ("ShuffleAudit", in_larger_crowds)),
    **dict.fromkeys((f"ldp_sgd/clients_{e}" for e in (1, 2, 4)), ("least_clients", lambda f: lambda epsilon: f(epsilon, delta=1e-5))),
    "ldp_sgd/measured_below_theory": ("ShuffleAudit", exchanged),
}  # fmt: skip


def test_a_claim_whose_test_rests_on_no_table_fails_if_the_function_that_it_rests_on_is_wrong():
    free = set()
    for row in LEDGER[LEDGER["code"] != ""].to_dict("records"):
        module = code(row["paper"])
        try:
            right = claims._found(row, module, True, {})
        except ValueError:  # a table is missing
            continue
        free.add(row["id"])
        name, wrong = WRONG[row["id"]]
        setattr(module, name, wrong(getattr(module, name)))
        assert claims._found(row, module, True, {})["verdict"] != right["verdict"], row["id"]
    assert free == {*WRONG}


def test_what_a_paper_excepts_is_no_part_of_the_claim(figure_2):
    assert judged("ldp_auditor/grr_tightest", cell=figure_2) == ("holds", 40)
    worse = figure_2.assign(exact=figure_2["exact"].mask(figure_2["mechanism"] == "SS", 100.0))
    single = 12  # cells in which the subset of SS has one value
    assert judged("ldp_auditor/grr_tightest", cell=worse) == ("holds in part", single)


def test_about_means_a_unit_of_the_last_digit_and_a_plain_number_half_a_unit():
    rows = pd.concat(
        [pd.read_csv(path, dtype=str) for path in sorted((ROOT / "data" / "claims").glob("*.csv"))]
    )
    about = rows[rows["claim"].str.contains(r"\b(?:about|almost)\b") & rows["code"].notna()]
    unit = [10.0 ** -len(text.partition(".")[2]) for text in about["published"]]
    assert len(about) >= 5 and about["tolerance"].astype(float).tolist() == unit


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
    assert failed.count("### ") == 1 and "### Other claims that do not hold" in failed
    row |= {"verdict": "holds in part: the conclusion differs", "differs": "the conclusion"}
    claims.merged(ROOT, [pd.DataFrame([row])]).to_csv(path, index=False)
    failed = claims.page(tmp_path).partition("### All claims")[0]
    assert failed.count("### ") == 1 and "### Conclusions that differ" in failed
