"""The scoreboard page: real titles, folded items, enough digits to see a difference, and the whole
table to take away."""

import itertools
import re
from pathlib import Path

import pandas as pd
import pytest
from board_rows import ROWS

from ldpbook import figures, scoreboard
from ldpbook.paper_values import AGREES, COLUMNS, HOW, KINDS, VERDICTS

ROOT = Path(__file__).parents[2]


@pytest.fixture
def shown(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "book" / "rad").mkdir(parents=True)
    (tmp_path / "book" / "rad" / "fig1.ipynb").touch()
    (tmp_path / "data" / "items.csv").write_text(
        "item,title,page\nkv_auditor/table2,Mean of rounds,kv_auditor/tables\n"
        "rad/fig1,Theorems,rad/fig1\nrad/fig2,Laplace,rad/fig2\n"
    )
    pd.DataFrame(ROWS, columns=COLUMNS).to_csv(tmp_path / "board.csv", index=False)
    return scoreboard.page(tmp_path, tmp_path / "board.csv")


def test_items_have_the_titles_and_counts_and_the_whole_table_can_be_taken_away(shown):
    folded = re.findall(r"\{dropdown\} (.*)", shown)
    assert folded[:3] == [
        "**Table 2** Mean of rounds. **✓ reproduced**; ✓ reproduced: 1",
        "**Figure 1** Theorems. **≠ differs, explained**; ✓ reproduced: 21; · statement holds: 1;"
        " ≈ agrees with the authors' code: 1; ≠ differs, explained: 1; · not printed: 1",
        "**Figure 2** Laplace. **– not in this build**",
    ]
    assert "](/book/rad/fig1.ipynb)" in shown and "kv_auditor/tables" not in shown
    assert f"All {len(ROWS)} comparisons: {{download}}`scoreboard.csv </board.csv>`" in shown


def test_numbers_that_differ_are_printed_with_as_few_digits_as_show_it(shown):
    row = shown[shown.index("* - one") :].splitlines()
    assert row[2:4] == ["  - 0.13378", "  - 0.13379"]
    assert row[5:7] == ["  - closed form; printed number", "  - ≠ differs, explained: misprint"]
    row = shown[shown.index("* - two") :].splitlines()
    assert row[2:4] == ["  - 0.1234", "  - 0.1234"]
    for values, printed in [
        ((0.0799963681705038, 0.07999636578653449), ["0.079996368", "0.079996366"]),
        ((2.5, 3.25), ["2.5", "3.25"]),
        ((1234.5678, 1234.5679), ["1234.5678", "1234.5679"]),
        ((1.0, 1.0), ["1", "1"]),
    ]:
        assert scoreboard._apart(*values) == printed


def test_simulated_numbers_are_set_beside_exact_ones_and_curves_take_one_row(shown):
    assert "beside exact ones: 1; the furthest is 2.50 standard errors away." in shown
    assert "code, run for this book, beside exact ones: 1; the furthest is 1.00 standard" in shown
    assert shown.count("* - curve") == 1 and "20 points" in shown and "furthest 4 %" in shown
    assert "✓ reproduced: fitted" in shown  # the note of the furthest point
    assert "* - most\n  - 1\n  - ≤ 2\n  - 1.5\n" in shown
    counted = shown[shown.index("## By how and kind") :]
    assert "* - closed form\n  - claim in words\n  - · statement holds: 1\n" in counted
    assert "* - closed form\n  - digitised curve\n  - ✓ reproduced: 20\n" in counted
    assert "* - released code\n  - own stand-in\n  - ≈ agrees with the authors' code: 1" in counted


def test_the_papers_numbers_are_missed_where_there_are_none(tmp_path, shown):
    pd.DataFrame(ROWS[2:3], columns=COLUMNS).to_csv(tmp_path / "board.csv", index=False)
    assert "belong to the papers' scale" in scoreboard.page(tmp_path, tmp_path / "board.csv")
    assert "make book" in scoreboard.page(tmp_path, tmp_path / "none.csv")


def rows_of(*said):
    """Rows of the scoreboard: verdict, kind, how, and whether something is published."""
    return pd.DataFrame(
        [("rad/fig1", v, k, h, 1.0 if p else None) for v, k, h, p in said],
        columns=["item", "verdict", "kind", "how", "published"],
    )


LAW = ("reproduced", "printed number", "closed form", True)
TICK = ("reproduced", "digitised curve", "drawn from the law", True)
EXACT = ("no-published-value", "own stand-in", "real reports", False)
CODE = (AGREES, "own stand-in", "released code", False)
WORDS = ("reproduced", "claim in words", "closed form", True)
OTHER = ("other-data", "own stand-in", "stored run", True)
GAP = ("differs-explained", "printed number", "closed form", True)

STATES = [
    ([], "not in this build"),
    ([EXACT], "nothing to compare"),
    ([TICK, TICK], "reproduced"),
    ([TICK, CODE], "reproduced"),
    ([TICK, EXACT], "reproduced where printed, rest exact"),
    ([TICK, CODE, EXACT], "reproduced where printed, rest exact"),
    ([LAW], "reproduced"),
    ([CODE, EXACT], AGREES),
    ([CODE, WORDS, EXACT], AGREES),
    # what speaks against an item decides
    ([TICK, GAP, OTHER, CODE], "differs, explained"),
    ([TICK, ("differs-explained", "claim in words", "closed form", True)], "differs, explained"),
    ([TICK, ("differs-explained", "own stand-in", "released code", False)], "differs, explained"),
    ([TICK, OTHER, CODE], "other data"),
    ([GAP, ("differs", "printed number", "closed form", True)], "differs, unexplained"),
    # what earns no tick: words (an example in the text is words), signs, timing, other data
    ([WORDS, EXACT], "nothing to compare"),
    ([("reproduced", "sign or order", "closed form", True)], "nothing to compare"),
    ([("reproduced", "printed number", "timing", True)], "nothing to compare"),
    ([(AGREES, "printed number", "released code", True)], AGREES),
    ([OTHER, WORDS], "other data"),
]


def test_the_state_of_an_item():
    wrong = [(rows, said) for rows, said in STATES if figures.state(rows_of(*rows)) != said]
    assert wrong == [] and {said for _, said in STATES} <= set(figures.SIGNS)


def test_only_a_printed_number_or_a_curve_on_its_own_setting_begins_with_reproduced():
    """Of all rows there can be, alone on an item."""
    for v, k, h in itertools.product(VERDICTS, KINDS, HOW):
        earned = v == "reproduced" and k in KINDS[:2] and h != "timing"
        state = figures.state(rows_of((v, k, h, True)))
        assert state.startswith("reproduced") == earned, (v, k, h)
