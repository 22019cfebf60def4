"""The explorer of the scoreboard and the errata behind it: every row is there, digits tell different
numbers apart, every figure's page names the errata that touch it."""

import json
import re
from pathlib import Path

import pandas as pd
import pytest
from board_rows import ROWS

from ldpbook import board, claims_page, errata
from ldpbook.paper_values import COLUMNS

ROOT = Path(__file__).parents[2]


ENTRIES = errata.entries(ROOT)
ITEMS = pd.read_csv(ROOT / "data" / "items.csv").set_index("item")


@pytest.fixture
def shown(tmp_path):
    (tmp_path / "_build").mkdir()
    (tmp_path / "book").mkdir()
    (tmp_path / "data").mkdir()
    (tmp_path / "book" / "errata.md").write_text((ROOT / "book" / "errata.md").read_text())
    (tmp_path / "data" / "items.csv").write_text((ROOT / "data" / "items.csv").read_text())
    pd.DataFrame(ROWS, columns=COLUMNS).to_csv(tmp_path / "_build" / "scoreboard.csv", index=False)
    return board.data(tmp_path)


def column(shown, name):
    words, codes = shown["words"][name]
    return [words[i] for i in codes]


def test_every_comparison_is_there_with_its_words_and_numbers(shown):
    for name in ("item", "series", "verdict", "note", "relation", "how", "kind"):
        told = [str(row[COLUMNS.index(name)]) for row in ROWS]
        if name == "verdict":  # words earn no tick
            told = ["holds" if row[1] == "most" else v for row, v in zip(ROWS, told, strict=True)]
        assert column(shown, name) == told
    for name in board.NUMBERS:
        told = [row[COLUMNS.index(name)] for row in ROWS]
        assert shown["numbers"][name] == [v if v is None else pytest.approx(v) for v in told]
    assert json.loads(json.dumps(shown, allow_nan=False)) == json.loads(json.dumps(shown))


@pytest.mark.parametrize(
    "given, told",
    [
        ((1 / 3, 2 / 3), [0.333333, 0.666667]),
        ((0.0799963681705038, 0.07999636578653449), [0.0799963681705038, 0.07999636578653449]),
        ((2.0, 2.0, float("nan")), [2.0, 2.0, None]),
        ((float("inf"), 1.23456789), [None, 1.23457]),
    ],
)
def test_six_digits_or_all_where_six_would_hide_a_difference(given, told):
    assert board.digits(*given) == told


def test_a_place_on_the_axis_is_a_number_or_words():
    told = [board.place(x) for x in (2.5, "2.5", "m=10, risk=0.1", float("nan"))]
    assert told == [2.5, 2.5, "m=10, risk=0.1", None]


@pytest.mark.parametrize(
    "series, name",
    [
        ("epsilon_emp, SS", "SS"),
        ("OLH, k=25", "OLH"),
        ("ASR of RS+FD with OUE", "RS+FD"),
        ("L-SUE after 3 rounds", "L-SUE"),
        ("TPR at alpha", ""),
        (2.5, ""),
    ],
)
def test_the_protocol_of_a_series_is_the_first_that_it_names(series, name):
    assert board.protocol(series) == name


def test_without_a_build_there_are_only_errata(tmp_path):
    (tmp_path / "book").mkdir()
    (tmp_path / "data").mkdir()
    for name in ("book/errata.md", "data/items.csv"):
        (tmp_path / name).write_text((ROOT / name).read_text())
    found = board.data(tmp_path)
    assert len(found["errata"]) == len(ENTRIES) and found["claims"] == []
    assert found["numbers"]["x"] == []


# --- errata ---------------------------------------------------------------------------------------


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


def test_the_effects_are_explained_where_they_are_used():
    text = (ROOT / "book" / "errata.md").read_text()
    assert tuple(re.findall(r"^\| (\w+) \| [^|]*\|$", text, flags=re.M)[-4:]) == errata.EFFECTS


def test_the_source_names_items_and_the_page_links_them():
    text = "- **Effect**: figure; ldp_auditor/fig7,\n  ldp_auditor/fig12.\n"
    assert errata.linked(ROOT, text) == (
        "- **Effect**: **figure**; [Figure 7](/book/ldp_auditor/fig7),\n"
        "  [Figure 12](/book/ldp_auditor/fig7).\n"
    )
    none = "- **Effect**: wording; no figure.\n"
    assert errata.linked(ROOT, none) == "- **Effect**: **wording**; no figure.\n"


def test_every_claim_has_a_place_that_can_be_linked():
    names = pd.concat(
        pd.read_csv(p)["id"] for p in sorted((ROOT / "data" / "claims").glob("*.csv"))
    )
    anchors = [claims_page.anchor(name) for name in names]
    assert len(set(anchors)) == len(anchors) and all(re.fullmatch(r"[\w.-]+", a) for a in anchors)
