"""The scoreboard page: real titles, folded items, enough digits to see a difference, and the whole
table to take away."""

import re
import sys
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "book" / "_tools"))

import scoreboard  # noqa: E402

from ldpkit.published import COLUMNS  # noqa: E402

ROWS = [
    ("rad/fig1", "one", 0.5, 0.13378, 5e-6, 0.13379, 0.0, None, "differs-explained", "a misprint"),
    ("rad/fig1", "two", 0.5, 0.12341, 1e-3, 0.12342, 0.0, None, "reproduced", ""),
    ("rad/fig1", "three", 1.0, None, None, 2.0, 0.1, 2.25, "no-published-value", ""),
    *(("rad/fig1", "curve", x, 1.0, 0.1, 1.02, 0.0, None, "reproduced", "") for x in range(20)),
    ("kv_auditor/table2", "mean", 3, 1234.0, 0.5, 1234.0, 1.5, None, "reproduced", ""),
]


@pytest.fixture
def shown(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "book" / "rad").mkdir(parents=True)
    (tmp_path / "book" / "rad" / "fig1.ipynb").touch()
    (tmp_path / "data" / "items.csv").write_text(
        "item,title,page\nkv_auditor/table2,Mean of rounds,kv_auditor/tables\nrad/fig1,Theorems,rad/fig1\nrad/fig2,Laplace,rad/fig2\n"
    )
    pd.DataFrame(ROWS, columns=COLUMNS).to_csv(tmp_path / "board.csv", index=False)
    return scoreboard.page(tmp_path, tmp_path / "board.csv")


def test_headings_are_the_papers_names_and_the_items_titles(shown):
    assert re.findall(r"^## (.*)", shown, re.M) == ["KV-Auditor", "Reconstruction advantage"]
    assert re.findall(r"\{dropdown\} (.*)", shown) == [
        "**Table 2** Mean of rounds. ✓ reproduced: 1",
        "**Figure 1** Theorems. ✓ reproduced: 21; ≠ differs, explained: 1; · without a published number: 1",
        "**Figure 2** Laplace. – not in this build",
    ]
    assert (
        "[The page with this figure](/book/rad/fig1.ipynb)" in shown
        and "kv_auditor/tables" not in shown
    )


def test_numbers_that_differ_are_printed_with_digits_that_show_it(shown):
    row = shown[shown.index("* - one") :].splitlines()
    assert row[2:4] == ["  - 0.13378", "  - 0.13379"]
    row = shown[shown.index("* - two") :].splitlines()
    assert row[2:4] == ["  - 0.1234", "  - 0.1234"]


@pytest.mark.parametrize(
    "values, printed",
    [
        ((0.0799963681705038, 0.07999636578653449), ["0.079996368", "0.079996366"]),
        ((2.5, 3.25), ["2.5", "3.25"]),
        ((1234.5678, 1234.5679), ["1234.5678", "1234.5679"]),
        ((1.0, 1.0), ["1", "1"]),
    ],
)
def test_as_few_digits_as_tell_two_numbers_apart(values, printed):
    assert scoreboard._apart(*values) == printed


def test_simulated_numbers_are_set_beside_exact_ones_and_curves_take_one_row(shown):
    assert (
        "Simulated numbers beside exact ones: 1; the furthest is 2.50 standard errors away."
        in shown
    )
    assert shown.count("* - curve") == 1 and "20 points" in shown and "furthest 2 %" in shown


def test_the_whole_table_can_be_taken_away(shown):
    assert "All 24 comparisons: {download}`scoreboard.csv </board.csv>`" in shown


def test_the_papers_numbers_are_missed_where_there_are_none(tmp_path, shown):
    pd.DataFrame(ROWS[2:3], columns=COLUMNS).to_csv(tmp_path / "board.csv", index=False)
    assert "belong to the papers' scale" in scoreboard.page(tmp_path, tmp_path / "board.csv")
    assert "make book" in scoreboard.page(tmp_path, tmp_path / "none.csv")
