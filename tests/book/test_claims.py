"""The ledger of claims: its rows, its verdicts, and that its tests can fail. Nothing here is random."""

import importlib.util
import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from ldpbook import claims, execute
from ldpbook import claims_page as tool
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


def functions(rows):
    """What evaluates the claims; some rows give it arguments."""
    return rows["code"].str.partition("(")[0]


def test_the_ledger_is_whole():
    assert list(LEDGER) == claims.COLUMNS and len(LEDGER) >= 150 and LEDGER["id"].is_unique
    assert tool.missing(ROOT) == []
    evaluated = LEDGER[LEDGER["code"] != ""]
    assert len(evaluated) >= 100
    assert (evaluated[["place", "claim", "cells", "version"]] != "").all(axis=None)
    assert evaluated["published"].notna().all() and (evaluated["tolerance"] >= 0).all()


def test_every_page_with_claims_judges_them_in_one_call():
    for page, rows in LEDGER[LEDGER["code"] != ""].groupby("page"):
        text = (ROOT / "book" / f"{page}.ipynb").read_text()
        assert text.count("claims.judge(") == 1, page
        known = tool.evaluators(ROOT, page.partition("/")[0])
        assert set(functions(rows)) <= known, page


def test_no_evaluator_is_left_without_a_claim():
    for paper in PAPERS:
        module = code(paper)
        named = set(functions(LEDGER[LEDGER["paper"] == paper]))
        source = Path(module.__file__).read_text()
        for name in tool.evaluators(ROOT, paper) - named:  # a helper of others
            assert source.count(f"{name}(") > 1, f"{paper}: {name}"


def test_a_ledger_that_names_no_function_or_gives_no_reason_is_refused(tmp_path):
    folder = tmp_path / "data" / "claims"
    folder.mkdir(parents=True)
    (tmp_path / "book" / "rad").mkdir(parents=True)
    (tmp_path / "book" / "rad" / "rad_claims.py").write_text("def known():\n    pass\n")
    (tmp_path / "book" / "rad" / "fig1.ipynb").write_text("{}")
    rows = ["rad/a,known,rad/fig1,", "rad/b,unknown,rad/fig1,", "rad/c,known,rad/fig9,", "rad/d,,,"]
    (folder / "rad.csv").write_text("\n".join(["id,code,page,why", *rows]))
    assert tool.missing(tmp_path) == [
        "rad/b: no function unknown in book/rad",
        "rad/c: no page rad/fig9",
        "rad/d: either code or why",
    ]


@pytest.mark.parametrize(
    "values, se, test, wanted",
    [
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
    ],
)  # fmt: skip
def test_verdicts_count_cells_and_tell_a_number_from_a_conclusion(values, se, test, wanted):
    found = claims.verdict(values, se, **({"tolerance": 0.0} | test))
    assert (found["verdict"], found["holding"], found["differs"]) == wanted


def test_what_is_printed_stands_for_an_interval():
    rows = LEDGER.set_index("id")["tolerance"]
    assert rows["ldp_auditor/ceiling_million"] == 0.0005
    assert rows["ldp_auditor/ceiling_ten_thousand"] == 0.005
    assert rows["ldp_sgd/theory_4_6454"] == 0.05
    assert rows["rad/printed_sigma"] == 0.5


def test_a_page_hands_its_verdicts_to_the_build(tmp_path, monkeypatch):
    monkeypatch.setenv("LDPKIT_SCOREBOARD", str(tmp_path / "page.csv"))
    sgd = code("ldp_sgd")
    shown = claims.judge("ldp_sgd/table3", sgd)
    assert set(shown["verdict"].str.partition(":")[0]) == {"holds", "does not hold"}
    assert set(shown["relation"]) <= {"=", "≤", "≥"}
    assert all((shown[name].notna() & (shown[name] != "")).any() for name in shown)
    claims.judge("ldp_sgd/fig3", sgd, comparable=False)
    found = pd.read_csv(tmp_path / "page.claims.csv").set_index("id")
    assert len(found) == (LEDGER["page"].isin(["ldp_sgd/table3", "ldp_sgd/fig3"])).sum()
    assert found.loc["ldp_sgd/clients_4", "verdict"] == "holds"
    assert found.loc["ldp_sgd/theory_1_1000", "verdict"] == "does not hold: the number differs"
    assert found.loc["ldp_sgd/turned_small", "verdict"].startswith("cannot be checked here: other")
    merged = tool.merged(ROOT, [found.reset_index()])
    assert list(merged)[:6] == ["paper", "place", "claim", "relation", "verdict", "page"]
    assert len(merged) == len(LEDGER) and sum(tool.counts(merged).values()) == len(LEDGER)


def law(grid, keys):
    """What a page's table holds where every run gives the exact expectation."""
    found = [
        {key: cell[key] for key in keys} | {"exact": Audit.of(**cell).expected[0][0]}
        for cell in grid
    ]
    return pd.DataFrame(found)


@pytest.fixture(scope="module")
def figure_2():
    names = ["GRR", "SS", "SUE", "OUE", "BLH", "OLH", "SHE", "THE"]
    grid = {
        "mechanism": names,
        "k": [25, 50, 100, 150, 200],
        "epsilon": [0.25, 0.5, 0.75, 1, 2, 4, 6, 10],
    }
    return law(cells(grid | {"trials": 10**6, "alpha": 0.01}), ["mechanism", "k", "epsilon"])


def words(table, module):
    return (
        claims.judge("ldp_auditor/fig2", module, cell=table)["verdict"]
        .str.partition(":")[0]
        .tolist()
    )


def test_claims_about_figure_2_notice_when_protocols_are_mixed_up(figure_2):
    """A mutant for every claim about a table: names turned by one, or the order of k or epsilon turned round."""
    ldp = code("ldp_auditor")
    rows = claims.load("ldp_auditor")
    rows = rows[rows["page"] == "ldp_auditor/fig2"].reset_index(drop=True)
    right = words(figure_2, ldp)
    names = list(figure_2["mechanism"].unique())
    mutants = [
        figure_2.assign(
            mechanism=figure_2["mechanism"].map(dict(zip(names, np.roll(names, shift))))
        )
        for shift in range(1, 8)
    ]
    for key in ("k", "epsilon"):
        values = sorted(figure_2[key].unique())
        mutants.append(figure_2.assign(**{key: figure_2[key].map(dict(zip(values, values[::-1])))}))
    seen = [words(mutant, ldp) for mutant in mutants]
    about = [
        i
        for i, name in enumerate(rows["code"])
        if "cell" in getattr(ldp, name).__code__.co_varnames
    ]
    asleep = [rows["code"][i] for i in about if all(found[i] == right[i] for found in seen)]
    assert len(about) >= 24 and asleep == []


def test_a_build_finds_a_table_under_the_negation_that_turns_each_verdict(
    figure_2, tmp_path, monkeypatch
):
    monkeypatch.setenv("LDPKIT_SCOREBOARD", str(tmp_path / "page.csv"))
    claims.judge("ldp_auditor/fig2", code("ldp_auditor"), cell=figure_2)
    claims.judge("ldp_sgd/table3", code("ldp_sgd"))
    claims.judge("ldp_sgd/fig3", code("ldp_sgd"), comparable=False)
    found = pd.read_csv(tmp_path / "page.claims.csv").set_index("id")
    judged = found[found["found"].notna()]
    assert len(judged) > 40 and judged["mutant"].notna().all()
    assert judged.loc["ldp_auditor/grr_tightest", "mutant"].startswith("cell, exact ")
    assert judged.loc["ldp_sgd/clients_4", "mutant"] == "its own numbers above"
    assert found["mutant"][found["found"].isna()].isna().all()  # nothing was judged there


def test_a_test_that_nothing_can_fail_stops_the_build(tmp_path, monkeypatch):
    project = execute.Project(tmp_path)
    (tmp_path / "data" / "claims").mkdir(parents=True)
    (tmp_path / "book" / "rad").mkdir(parents=True)
    (tmp_path / "_toc.yml").write_text("format: jb-book\nroot: book/rad/fig1\n")
    (tmp_path / "book" / "rad" / "fig1.ipynb").write_text("{}")
    sleepy = "def asleep(t):\n    pass\ndef awake(t):\n    pass\n"
    (tmp_path / "book" / "rad" / "rad_claims.py").write_text(sleepy)
    rows = [
        f"rad/{name},rad,v1,p,c,>=,0,0,0,cells,,rad/fig1,{name}," for name in ("asleep", "awake")
    ]
    (tmp_path / "data" / "claims" / "rad.csv").write_text(
        "\n".join([",".join(claims.COLUMNS), *rows])
    )
    known = claims.load("rad").iloc[0].to_dict()
    known = known | {"relation": ">=", "published": 0.0, "tolerance": 0.0, "turns": 0.0}
    tests = SimpleNamespace(asleep=lambda t: pd.Series([1.0]), awake=lambda t: t["x"].diff()[1:])
    table = pd.DataFrame({"x": [1.0, 2.0]})
    found = [
        {"id": f"rad/{name}", "verdict": "said", "found": 1.0}
        | {"mutant": claims._mutant(known | {"code": name, "id": name}, tests, {"t": table})}
        for name in ("asleep", "awake")
    ]
    assert [one["mutant"] for one in found] == ["", "t, x order reversed"]
    executed = project.executed("book/rad/fig1")
    executed.parent.mkdir(parents=True)
    executed.write_text("{}")
    pd.DataFrame(found).to_csv(project.executed("book/rad/fig1", ".claims.csv"), index=False)
    assert execute.merge_claims(project) == [
        "rad/asleep: no table under its negation turns its verdict"
    ]


def judged(name, **tables):
    """The verdict on one claim about tables, and how many cells hold."""
    row = LEDGER.set_index("id").loc[name].to_dict() | {"id": name}
    found = claims._found(row, code(name.partition("/")[0]), True, tables)
    return found["verdict"].partition(":")[0], found["holding"]


def rounds(values):
    """A table of key-value audits with these values in rounds or for numbers of keys."""
    rows = [{"series": name, "epsilon": e, "limit": x} for name, x in values for e in (0.1, 4)]
    noise = np.linspace(-0.01, 0.01, len(rows))
    return pd.DataFrame(rows).assign(mean=lambda t: t["limit"] + noise, sd=0.05, runs=20)


def test_fewer_keys_show_less_only_where_noise_is_not_all_there_is():
    keys = [f"N_key={k}" for k in (4, 3, 2)]
    verdicts = [
        judged("kv_auditor/fewer_keys_less", one=rounds(zip(keys, values)))
        for values in ([0.3, 0.2, 0.1], [0.1, 0.2, 0.3], [0.0, 0.0, 0.0], [0.3, 0.0, 0.0])
    ]
    assert verdicts == [
        ("holds", 4),
        ("does not hold", 0),
        ("does not hold", 0),
        ("holds in part", 2),
    ]


def test_the_means_give_away_less_only_if_the_estimate_falls():
    names = [f"c={c}" for c in range(1, 6)]
    slower = [0.1, 0.2, 0.25, 0.27, 0.28]  # rises, by less and less
    verdicts = [
        judged("kv_auditor/means_say_less", two=rounds(zip(names, values)))
        for values in (slower[::-1], slower)
    ]
    assert verdicts == [("holds", 8), ("does not hold", 0)]


def test_a_tie_with_grr_is_not_the_only_tight_audit(figure_2):
    exact, names = figure_2["exact"], figure_2["mechanism"]
    grr = figure_2[names == "GRR"].set_index(["k", "epsilon"])["exact"]
    tied = figure_2.set_index(["k", "epsilon"]).index.map(grr)
    first = figure_2.assign(exact=exact.where(names == "GRR", 0.5 * np.minimum(exact, tied)))
    tie = figure_2.assign(exact=exact.where(names != "SS", tied))
    found = [judged("ldp_auditor/grr_tightest", cell=table) for table in (first, figure_2, tie)]
    assert found == [("holds", 40), ("holds in part", 28), ("does not hold", 0)]


def test_the_guess_sees_the_fault_in_all_of_high_privacy_or_in_part():
    def table(excess):
        rows = [(name, k, e) for name in ("SUE", "OUE") for k in (25, 200) for e in (0.25, 0.5, 1)]
        cell = pd.DataFrame(rows, columns=["protocol", "k", "epsilon"]).assign(attack="guess")
        return cell.assign(exact=cell["epsilon"] + cell["epsilon"].map(excess))

    found = [
        judged("ldp_auditor/guess_sees_fault", cell=table(dict(zip((0.25, 0.5, 1), excess))))
        for excess in ((0.1, 0.1, -0.1), (0.1, -0.1, -0.1), (-0.1, -0.1, 0.1))
    ]
    assert found == [("holds", 8), ("holds in part", 4), ("does not hold", 0)]


def test_the_amplified_budget_is_what_keeps_the_claim(monkeypatch):
    assert judged("ldp_auditor/amplified") == ("holds", 8)
    for budget in (lambda m: m.epsilon, lambda m: m.d * m.epsilon):
        monkeypatch.setattr(RSFD, "amplified", property(budget))
        assert judged("ldp_auditor/amplified") == ("does not hold", 0)


def test_forty_has_the_largest_advantage_only_for_priors_where_it_has():
    def table(one, other):
        rows = [
            {"prior": prior, "epsilon": 1, "eta": eta, "exact_rad": rad}
            for prior, rads in (("uniform", one), ("two-point", other))
            for eta, rad in zip((0, 40, 80), rads)
        ]
        return pd.DataFrame(rows)

    peak, level, fall = (0.1, 0.2, 0.1), (0.2, 0.2, 0.2), (0.3, 0.2, 0.1)
    found = [
        judged("rad/advantage_largest_at_40", laplace=table(*both))
        for both in ((peak, peak), (peak, level), (fall, level))
    ]
    assert found == [("holds", 2), ("holds in part", 1), ("does not hold", 0)]


def test_five_orders_are_claimed_in_the_abstract_and_a_factor_of_a_hundred_is_not_that():
    row = LEDGER.set_index("id").loc["refinement/orders_lower"]
    assert (row["place"], row["version"]) == ("abstract", "arXiv v1, March 2025")
    pairs = {"ASS": "SS", "AUE": "OUE", "ALH": "OLH", "ATHE": "THE"}
    found = []
    for lower in (1e-5, 1e-2, 1.0):
        asr = pd.DataFrame({old: [0.5] for old in pairs.values()} | {new: [0.5] for new in pairs})
        found.append(judged("refinement/orders_lower", asr=asr.assign(ALH=0.5 * lower))[0])
    assert found == ["holds", "does not hold", "does not hold"]


def test_what_no_paper_says_is_no_claim_and_what_nothing_contradicts_has_no_test():
    rows = LEDGER.set_index("id")
    assert not {"kv_auditor/pckv_below_stated", "ldp_sgd/benign_far_below"} & set(rows.index)
    vacuous = rows[rows["why"].str.startswith("vacuous: ")]
    assert {"ldp_auditor/fakes_alike", "rad/33", "rad/trivial_success"} <= set(vacuous.index)
    assert (vacuous["code"] == "").all()


def test_a_row_may_call_a_function_with_arguments():
    row = {"code": "quotient(asr, ASS, SS)", "id": "x"}
    tests = SimpleNamespace(quotient=lambda table, one, other: table[one] / table[other])
    asr = pd.DataFrame({"ASS": [1.0], "SS": [4.0]})
    evaluate, given = claims._evaluator(row, tests, {"asr": asr, "mse": asr})
    assert list(given) == ["asr"] and evaluate(given).tolist() == [0.25]
    with pytest.raises(ValueError, match="code must have the function quotient of claim x"):
        claims._evaluator(row, SimpleNamespace(), {})


def test_a_claim_that_needs_what_a_page_does_not_have_says_so():
    nothing = pd.Series([], dtype=float)
    empty = SimpleNamespace()
    for row in LEDGER["code"]:
        name, _, called = row.partition("(")
        setattr(empty, name, (lambda *_: nothing) if called else lambda: nothing)
    found = claims.judge("ldp_sgd/table3", empty)
    assert set(found["verdict"]) == {"cannot be checked here: no such cell in this run"}


def test_the_page_lists_every_claim_with_its_verdict(tmp_path):
    path = tmp_path / "_build" / "claims.csv"
    path.parent.mkdir()
    found = pd.DataFrame(
        {"id": ["rad/ceiling"], "verdict": ["does not hold: the number differs"], "found": [12.025]}
    )
    tool.merged(ROOT, [found]).to_csv(path, index=False)
    text = tool.page(tmp_path, path, {"rad": "RAD", "ldp_sgd": "LDP-SGD"})
    assert text.startswith(f"{len(LEDGER)} claims: holds: 0; holds in part: 0; does not hold: 1;")
    assert "- **does not hold**: the number differs (furthest 12.03)" in text
    assert "\n  - = 12.25 ± 0.005: trials 10^6, alpha 0.01" in text
    assert "\n  - ≥ 0.6: MNIST" in text and "\n  - >" not in text  # that would be a quotation
    assert text.count("* - ") == 2 + LEDGER["paper"].isin(["rad", "ldp_sgd"]).sum()
    assert "cannot be checked here**: the records cannot be had" in text
