"""The scoreboard page, its explorer and the errata behind it: folded items, enough digits to see a difference,
every row to take away, and every erratum named on the pages that it touches."""

import itertools
import json
import math
import re
import shutil

import pandas as pd
import pytest

from ldpbook import claims, errata, scoreboard, states
from ldpbook.paper_values import AGREES, COLUMNS, HOW, KINDS, SIGN, VERDICTS
from ldpbook.paths import ROOT

SAID = ("=", "closed form", "printed number")
OWN = ("=", "real reports", "own stand-in")
CURVE = ("=", "closed form", "digitised curve")
ROWS = [
    ("rad/fig1", "one", 0.5, 0.13378, 5e-6, 0.13379, 0.0, None, "differs-explained", "misprint", *SAID),
    ("rad/fig1", "two", 0.5, 0.12341, 1e-3, 0.12342, 0.0, None, "reproduced", "", *SAID),
    ("rad/fig1", "three", 1.0, None, None, 2.0, 0.1, 2.25, "no-published-value", "", *OWN),
    *(("rad/fig1", "curve", x, 1.0, 0.1, 1.02, 0.0, None, "reproduced", f"k = {x}", *CURVE) for x in range(19)),
    ("rad/fig1", "curve", 19, 1.0, 0.1, 1.04, 0.0, None, "reproduced", "fitted", *CURVE),
    ("rad/fig1", "most", 1, 2.0, 0.0, 1.5, 0.0, 1.5, "reproduced", "", "<=", "closed form", "claim in words"),
    ("rad/fig1", "theirs", 1, None, None, 2.0, 0.1, 2.1, AGREES, "", "=", "released code", "own stand-in"),
    ("kv_auditor/table2", "mean", 3, 1234.0, 0.5, 1234.0, 1.5, None, "reproduced", "", *SAID),
]  # fmt: skip


@pytest.fixture
def shown(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "book" / "rad").mkdir(parents=True)
    (tmp_path / "book" / "rad" / "fig1.ipynb").touch()
    items = "item,title,page\nkv_auditor/table2,Mean of rounds,kv_auditor/tables\n"
    items += "rad/fig1,Theorems,rad/fig1\nrad/fig2,Laplace,rad/fig2\n"
    (tmp_path / "data" / "items.csv").write_text(items)
    (tmp_path / "_build").mkdir()
    pd.DataFrame(ROWS, columns=COLUMNS).to_csv(tmp_path / "_build" / "scoreboard.csv", index=False)
    return scoreboard.page(tmp_path, tmp_path / "_build" / "scoreboard.csv")


def test_items_have_the_titles_and_counts_and_the_whole_table_can_be_taken_away(shown):
    folded = re.findall(r"\{dropdown\} (.*)", shown)
    assert folded[:2] == [
        "**Table 2** Mean of rounds: 1 of 1 numbers agree with what the paper prints",
        "**Figure 1** Theorems: 23 of 24 numbers agree: 1 with the authors' code, 22 of 23 with what the paper prints, draws or states",
    ]
    assert " Nothing to compare: [Figure 2](/book/rad/fig2.ipynb)." in shown
    assert (
        "25 comparisons; ✓ reproduced: 21; · statement holds: 1; ≈ agrees with the authors' code: 1;"
        in shown
    )
    assert "](/book/rad/fig1.ipynb)" in shown and "kv_auditor/tables" not in shown
    assert (
        f"All {len(ROWS)} comparisons: {{download}}`scoreboard.csv </_build/scoreboard.csv>`"
        in shown
    )


def test_numbers_that_differ_are_printed_with_as_few_digits_as_show_it(shown):
    row = shown[shown.index("* - one") :].splitlines()
    assert row[2:4] == ["  - 0.13378", "  - 0.13379"]
    assert row[5:7] == ["  - closed form; printed number", "  - ≠ differs, explained: misprint"]
    row = shown[shown.index("* - two") :].splitlines()
    assert row[2:4] == ["  - 0.1234", "  - 0.1234"]
    near = ["0.079996368", "0.079996366"]
    assert scoreboard._apart(0.0799963681705038, 0.07999636578653449) == near
    assert scoreboard._apart(2.5, 3.25) == ["2.5", "3.25"]
    assert scoreboard._apart(1234.5678, 1234.5679) == ["1234.5678", "1234.5679"]
    assert scoreboard._apart(1.0, 1.0) == ["1", "1"]


def test_simulated_numbers_are_set_beside_exact_ones_and_curves_take_one_row(shown):
    assert "beside exact ones: 1; the furthest is 2.50 standard errors away." in shown
    assert "code, run for this book, beside exact ones: 1; the furthest is 1.00 standard" in shown
    assert shown.count("* - curve") == 1 and "20 points" in shown and "furthest 4 %" in shown
    assert "✓ reproduced: fitted" in shown  # the note of the furthest point
    assert "* - most\n  - 1\n  - ≤ 2\n  - 1.5\n" in shown
    counted = shown[shown.index("How many of each how and kind") :]
    assert "* - closed form\n  - claim in words\n  - · statement holds: 1\n" in counted
    assert "* - closed form\n  - digitised curve\n  - ✓ reproduced: 20\n" in counted
    assert "* - released code\n  - own stand-in\n  - ≈ agrees with the authors' code: 1" in counted


def test_the_papers_numbers_are_missed_where_there_are_none(tmp_path, shown):
    pd.DataFrame(ROWS[2:3], columns=COLUMNS).to_csv(tmp_path / "board.csv", index=False)
    assert "belong to the papers' scale" in scoreboard.page(tmp_path, tmp_path / "board.csv")
    assert "make book" in scoreboard.page(tmp_path, tmp_path / "none.csv")


def test_no_row_but_one_that_agrees_counts_as_agreeing():
    """Of all rows there can be, alone on an item; a sign is no number."""
    for v, k, h in itertools.product(VERDICTS, KINDS, HOW):
        row = pd.DataFrame(
            [("rad/fig1", "s", 1, 1.0, 0.0, 1.0, 0.0, 1.0, v, "", "=", h, k)], columns=COLUMNS
        )
        said = states.numbers(row)
        assert said.startswith("1 of 1 ") == (v in ("reproduced", AGREES) and k != SIGN), (v, k, h)
        assert said.startswith("0 of 1 ") == (v.startswith("differs") and k != SIGN), (v, k, h)


ENTRIES = errata.entries(ROOT)
ITEMS = pd.read_csv(ROOT / "data" / "items.csv").set_index("item")


@pytest.fixture
def root(tmp_path):
    for folder in ("data", "_build"):
        (tmp_path / folder).mkdir()
    shutil.copytree(ROOT / "book" / "errata", tmp_path / "book" / "errata")
    shutil.copy(ROOT / "data" / "items.csv", tmp_path / "data")
    return tmp_path


def test_every_comparison_is_there_with_its_words_and_numbers(root):
    found = scoreboard.data(root)  # without a build
    assert len(found["errata"]) == len(ENTRIES)
    assert found["claims"] == found["numbers"]["x"] == []
    pd.DataFrame(ROWS, columns=COLUMNS).to_csv(root / "_build" / "scoreboard.csv", index=False)
    shown = scoreboard.data(root)
    for name in ("item", "series", "verdict", "note", "relation", "how", "kind"):
        told = [str(row[COLUMNS.index(name)]) for row in ROWS]
        if name == "verdict":  # words earn no tick
            told = ["holds" if row[1] == "most" else v for row, v in zip(ROWS, told, strict=True)]
        words, codes = shown["words"][name]
        assert [words[i] for i in codes] == told
    for name in scoreboard.NUMBERS:
        told = [row[COLUMNS.index(name)] for row in ROWS]
        assert shown["numbers"][name] == [v if v is None else pytest.approx(v) for v in told]
    json.dumps(shown, allow_nan=False)


def test_six_digits_or_all_where_six_would_hide_a_difference():
    near = [0.0799963681705038, 0.07999636578653449]
    assert scoreboard.digits(1 / 3, 2 / 3) == [0.333333, 0.666667]
    assert scoreboard.digits(*near) == near
    assert scoreboard.digits(2.0, 2.0, math.nan) == [2.0, 2.0, None]
    assert scoreboard.digits(math.inf, 1.23456789) == [None, 1.23457]
    told = [scoreboard.place(x) for x in (2.5, "2.5", "m=10, risk=0.1", math.nan)]
    assert told == [2.5, 2.5, "m=10, risk=0.1", None]


def test_the_protocol_of_a_series_is_the_first_that_it_names():
    named = {"epsilon_emp, SS": "SS", "OLH, k=25": "OLH", "ASR of RS+FD with OUE": "RS+FD"}
    named |= {"L-SUE after 3 rounds": "L-SUE", "TPR at alpha": "", 2.5: ""}
    assert {series: scoreboard.protocol(series) for series in named} == named


def test_every_erratum_that_stands_has_one_effect_on_known_figures():
    text = errata.text(ROOT)
    labels = re.findall(r"^\(([a-z-]+-\d+)\)=$", text, flags=re.M)
    withdrawn = re.findall(r"^\(([a-z-]+-\d+)\)=\n## [^\n]*\n\nWithdrawn", text, flags=re.M)
    assert [e.name for e in ENTRIES] == [name for name in labels if name not in withdrawn]
    assert text.count("- **Effect**: ") == len(ENTRIES)
    for e in ENTRIES:
        assert e.effect in errata.EFFECTS and set(e.affects) <= set(ITEMS.index), e.name
        assert e.effect == "wording" or e.affects or e.name in (
            "rad-7", "ldp-sgd-3", "ldp-sgd-4", "ldp-sgd-8", "packages-2"), e.name  # fmt: skip
        assert not re.search(r"[$\\]", e.title)
    told = (ROOT / "book" / "errata.md").read_text()
    assert all(re.search(rf"^\| {effect} \| ", told, flags=re.M) for effect in errata.EFFECTS)


def test_the_source_names_items_and_the_page_links_them():
    text = "- **Effect**: figure; ldp_auditor/fig7,\n  ldp_auditor/fig12.\n"
    links = "[Figure 7](/book/ldp_auditor/fig7),\n  [Figure 12](/book/ldp_auditor/fig7).\n"
    assert errata.linked(ROOT, text) == f"- **Effect**: **figure**; {links}"
    assert "no figure.\n" in errata.linked(ROOT, "- **Effect**: wording; no figure.\n")


def test_every_claim_has_a_place_that_can_be_linked():
    names = pd.concat(pd.read_csv(p)["id"] for p in (ROOT / "data" / "claims").glob("*.csv"))
    anchors = [claims.anchor(name) for name in names]
    assert len(set(anchors)) == len(anchors) and all(re.fullmatch(r"[\w.-]+", a) for a in anchors)
