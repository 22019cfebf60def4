"""The explorer of the scoreboard and the errata behind it: every row is there, digits tell different
numbers apart, every figure's page names the errata that touch it."""

import json
import math
import re
from pathlib import Path

import pandas as pd
import pytest
from board_rows import ROWS

from ldpbook import claims, errata, scoreboard
from ldpbook.paper_values import COLUMNS

ROOT = Path(__file__).parents[2]

ENTRIES = errata.entries(ROOT)
ITEMS = pd.read_csv(ROOT / "data" / "items.csv").set_index("item")


@pytest.fixture
def root(tmp_path):
    for name in ("book/errata.md", "data/items.csv", "_build/scoreboard.csv"):
        (tmp_path / name).parent.mkdir()
        if not name.startswith("_build"):
            (tmp_path / name).write_text((ROOT / name).read_text())
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
    assert (
        scoreboard.digits(1 / 3, 2 / 3) == [0.333333, 0.666667] and scoreboard.digits(*near) == near
    )
    assert scoreboard.digits(2.0, 2.0, math.nan) == [2.0, 2.0, None]
    assert scoreboard.digits(math.inf, 1.23456789) == [None, 1.23457]
    told = [scoreboard.place(x) for x in (2.5, "2.5", "m=10, risk=0.1", math.nan)]
    assert told == [2.5, 2.5, "m=10, risk=0.1", None]


def test_the_protocol_of_a_series_is_the_first_that_it_names():
    named = {
        "epsilon_emp, SS": "SS", "OLH, k=25": "OLH", "ASR of RS+FD with OUE": "RS+FD",
        "L-SUE after 3 rounds": "L-SUE", "TPR at alpha": "", 2.5: "",
    }  # fmt: skip
    assert {series: scoreboard.protocol(series) for series in named} == named


def test_every_erratum_that_stands_has_one_effect_on_known_figures():
    text = (ROOT / "book" / "errata.md").read_text()
    labels = re.findall(r"^\(([a-z-]+-\d+)\)=$", text, flags=re.M)
    withdrawn = re.findall(r"^\(([a-z-]+-\d+)\)=\n### [^\n]*\n\nWithdrawn", text, flags=re.M)
    assert [e.name for e in ENTRIES] == [name for name in labels if name not in withdrawn]
    assert text.count("- **Effect**: ") == len(ENTRIES)
    for e in ENTRIES:
        assert e.effect in errata.EFFECTS and set(e.affects) <= set(ITEMS.index), e.name
        assert e.effect == "wording" or e.affects or e.name in (
            "rad-7", "ldp-sgd-3", "ldp-sgd-4", "ldp-sgd-8", "packages-2"), e.name  # fmt: skip
        assert not re.search(r"[$\\]", e.title)
    assert all(re.search(rf"^\| {effect} \| ", text, flags=re.M) for effect in errata.EFFECTS)


def test_the_source_names_items_and_the_page_links_them():
    text = "- **Effect**: figure; ldp_auditor/fig7,\n  ldp_auditor/fig12.\n"
    assert errata.linked(ROOT, text) == (
        "- **Effect**: **figure**; [Figure 7](/book/ldp_auditor/fig7),\n"
        "  [Figure 12](/book/ldp_auditor/fig7).\n"
    )
    assert "no figure.\n" in errata.linked(ROOT, "- **Effect**: wording; no figure.\n")


def test_every_claim_has_a_place_that_can_be_linked():
    names = pd.concat(pd.read_csv(p)["id"] for p in (ROOT / "data" / "claims").glob("*.csv"))
    anchors = [claims.anchor(name) for name in names]
    assert len(set(anchors)) == len(anchors) and all(re.fullmatch(r"[\w.-]+", a) for a in anchors)
