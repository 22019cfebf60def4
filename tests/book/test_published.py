"""The papers' numbers, the judgement of ours, and the scoreboard. Nothing here is random."""

import math
from types import SimpleNamespace

import kv_checks
import pandas as pd
import pytest
import sgd_checks
from ldp_checks import compare_statement as compare

from ldpbook import figures, paper_values, plots
from ldpbook.paper_values import AGREES, COLUMNS, HOW, KINDS, VERDICTS, Scoreboard, items, lookup
from ldpkit.auditors import ShuffleAudit

_ = None
CASES = [  # reproduced, its error, published, its half-width, exact, more, verdict
    # no published value: only exact mathematics can contradict
    (1.0, 0.1, _, _, _, {}, "no-published-value"),
    (1.0, 0.1, _, _, 1.49, {}, "no-published-value"),
    (1.0, 0.1, _, _, 1.51, {}, "differs"),
    (1.0, 0.1, _, _, 0.49, {}, "differs"),
    (1.0, 0.0, _, _, 1.0 + 1e-10, {}, "no-published-value"),
    (1.0, 0.0, _, _, 1.0 + 1e-8, {}, "differs"),
    # equal: within the printed precision and five standard errors
    (1.0, 0.1, 1.49, _, _, {}, "reproduced"),
    (1.0, 0.1, 0.51, _, _, {}, "reproduced"),
    (1.0, 0.1, 1.51, _, _, {}, "differs"),
    (1.0, 0.1, 0.49, _, _, {}, "differs"),
    (1.0, 0.1, 1.7, 0.25, _, {}, "reproduced"),
    (1.0, 0.1, 1.8, 0.25, _, {}, "differs"),
    (12.025, 0.0, 12.0252, 0.0005, _, {}, "reproduced"),
    (1.0, 0.0, 1.0, _, _, {}, "reproduced"),
    # at most, at least
    (1.0, 0.1, 2.0, _, _, {"relation": "<="}, "reproduced"),
    (1.0, 0.1, 0.51, _, _, {"relation": "<="}, "reproduced"),
    (1.0, 0.1, 0.49, _, _, {"relation": "<="}, "differs"),
    (1.0, 0.1, 0.1, _, _, {"relation": ">="}, "reproduced"),
    (1.0, 0.1, 1.49, _, _, {"relation": ">="}, "reproduced"),
    (1.0, 0.1, 1.51, _, _, {"relation": ">="}, "differs"),
    # a statement is judged by the exact value where there is one
    (1.0, 0.1, 0.9, _, 0.95, {"relation": "<="}, "differs"),
    (1.0, 0.1, 0.9, _, 0.85, {"relation": "<="}, "reproduced"),
    (1.0, 0.1, 0.9, 0.05, 0.95, {"relation": "<="}, "reproduced"),
    (1.0, 0.1, 1.1, _, 1.05, {"relation": ">="}, "differs"),
    (1.0, 0.1, 1.1, _, 1.15, {"relation": ">="}, "reproduced"),
    # what is exact is judged by itself: a run that happens to lie near earns nothing
    (1.0, 0.1, 1.0, _, 1.2, {}, "differs"),
    (1.2, 0.1, 1.0, _, 1.0, {}, "reproduced"),
    (1.0, 0.1, 1.1, 0.05, 1.04, {}, "differs"),
    (1.0, 0.1, 1.1, 0.05, 1.06, {}, "reproduced"),
    # a sign or an order has to stand out of the noise, in words it need not
    (0.6, 0.1, 0.0, _, _, {"relation": ">=", "kind": "sign or order"}, "reproduced"),
    (0.4, 0.1, 0.0, _, _, {"relation": ">=", "kind": "sign or order"}, "differs"),
    (-0.6, 0.1, 0.0, _, _, {"relation": "<=", "kind": "sign or order"}, "reproduced"),
    (-0.4, 0.1, 0.0, _, _, {"relation": "<=", "kind": "sign or order"}, "differs"),
    (-0.4, 0.1, 0.0, _, _, {"relation": ">=", "kind": "claim in words"}, "reproduced"),
    # other data neither agree nor differ, whatever they say
    (1.0, 0.1, 1.0, _, _, {"kind": "own stand-in", "note": "others"}, "other-data"),
    (9.0, 0.1, 1.0, _, _, {"kind": "own stand-in", "note": "others"}, "other-data"),
    (9.0, 0.1, _, _, 1.0, {"kind": "own stand-in"}, "differs"),
    # the authors' code is never the paper
    (1.0, 0.1, _, _, 1.49, {"how": "released code"}, AGREES),
    (1.0, 0.1, _, _, 1.51, {"how": "released code"}, "differs"),
    (1.0, 0.1, _, _, 1.51, {"how": "released code", "note": "why"}, "differs-explained"),
    (1.0, 0.1, _, _, _, {"how": "released code"}, "no-published-value"),
    (1.0, 0.0, 1.0, _, _, {"how": "released code"}, AGREES),
    (1.0, 0.0, 1.1, _, _, {"how": "released code"}, "differs"),
    # an explanation helps against the paper, never against mathematics
    (1.0, 0.1, 1.51, _, _, {"note": "rounding"}, "differs-explained"),
    (1.0, 0.1, 1.49, _, _, {"note": "rounding"}, "reproduced"),
    (1.0, 0.1, 1.0, _, 1.6, {"note": "rounding"}, "differs"),
    # a number that the paper leaves open: undecided unless every reading says the same
    (1.0, 0.1, 9.0, _, 1.0, {"readings": {"a": True, "b": False}}, "undecided"),
    (1.0, 0.1, 9.0, _, 1.0, {"readings": {"a": True, "b": True}}, "reproduced"),
    (1.0, 0.1, 9.0, _, 1.0, {"readings": {"a": False, "b": False}}, "differs"),
    (1.0, 0.1, 9.0, _, 1.6, {"readings": {"a": True, "b": False}}, "differs"),
    (1.0, 0.1, _, _, 1.0, {"readings": {"a": True, "b": False}}, "no-published-value"),
    # a definition excuses no number that misses it
    (1.0, 0.0, 1.0, _, _, {"definition": True}, "by definition"),
    (1.0, 0.0, 1.1, _, _, {"definition": True}, "differs"),
    # one rare event is judged by its probability
    (1.0, 0.1, _, _, 9.0, {"chance": 1e-3}, "no-published-value"),
    # nothing computed, or nothing to compare it with
    (math.nan, 0.1, 1.0, _, _, {"note": "lost"}, "differs"),
    (math.inf, 0.1, _, _, _, {}, "differs"),
    (-math.inf, 0.1, _, _, -math.inf, {}, "differs"),
    *(
        (1.0, se, published, _, exact, {}, "differs")
        for se, exact in ((math.nan, 2.0), (0.0, math.nan), (0.0, math.inf), (0.1, -math.inf))
        for published in (None, 1.0)
    ),
]


def test_every_case_has_its_verdict():
    for case in CASES:
        reproduced, se, published, error, exact, more, wanted = case
        given = {"published": published, "published_error": error, "exact": exact}
        given = {name: value for name, value in given.items() if value is not None}
        assert paper_values.verdict(reproduced, se, **given, **more) == wanted, case
    assert {case[-1] for case in CASES} == {*VERDICTS}


def test_the_scoreboard_records_what_it_is_given_and_the_half_width_that_judged():
    board = Scoreboard("ldp_auditor/fig2", how="sampled from exact rates")
    assert list(board.table().columns) == COLUMNS and board.table().empty
    board.add("GRR", 2, 2.4, 0.1, published=2.5, published_error=0.05, exact=2.45, setting="k = 3.")
    board.add("BLH", 4, 2.0, 0.1, published=4.0, note="rounding", how="real reports")
    board.add("OLH", "k=25", 3.0)
    board.add("GRR", 2, 3.0, published=4.0, setting="k = 3 is assumed.")  # which explains nothing
    rows = board.table().astype(object).where(board.table().notna(), None).values.tolist()
    law, real, words, own = *HOW[1::-1], *KINDS[2::2]
    assert rows == [
        ["ldp_auditor/fig2", "GRR", 2, 2.5, 0.05, 2.4, 0.1, 2.45, "reproduced", "k = 3.", "=", law, words],
        ["ldp_auditor/fig2", "BLH", 4, 4.0, 0.5, 2.0, 0.1, None, "differs-explained", "rounding", "=", real, words],
        ["ldp_auditor/fig2", "OLH", "k=25", None, None, 3.0, 0.0, None, "no-published-value", "", "=", law, own],
        ["ldp_auditor/fig2", "GRR", 2, 4.0, 0.0, 3.0, 0.0, None, "differs", "k = 3 is assumed.", "=", law, words],
    ]  # fmt: skip


def test_a_row_that_compares_nothing_is_refused():
    board = Scoreboard("ldp_auditor/fig2")
    stand_in = {"published": 4, "kind": "own stand-in"}
    for said, given in [
        ("how", {"how": None}),
        ("published", {"published": 2.6}),
        ("kind", {"kind": "printed number"}),
        ("kind", {"published": 4, "kind": "printed number"}),
        ("note", stand_in),
        # half of the published value, whether it comes from reading or from noise
        ("compares nothing", {"published": 4, "published_error": 2.1}),
        ("compares nothing", {"published": 4, "se": 0.42}),
        ("compares nothing", {"published": 4, "published_error": 2.1, "relation": "<="}),
    ]:
        with pytest.raises(ValueError, match=said):
            board.add("GRR", 2, 3.0, **{"how": "closed form"} | given)
    assert board.rows == []
    for given in (  # these compare something
        {"published": 4, "published_error": 2.0},
        {"published": 4, "se": 0.5, "exact": 3.0},  # exact values have no noise
        stand_in | {"published_error": 3.0},
    ):
        board.add("GRR", 2, 3.0, **{"note": "?", "how": "closed form"} | given)
    board = Scoreboard("kv_auditor/table4", how="closed form")
    zero = {"published": 0.0, "kind": "sign or order", "relation": ">="}
    board.add("a", 1, 0.1, **zero)
    with pytest.raises(ValueError, match="compares nothing"):
        board.add("a", 1, 0.1, published_error=0.1, **zero)


def test_a_statement_about_many_cells_counts_once():
    board = Scoreboard("kv_auditor/table4", how="closed form")
    trend = {
        "published": 0.0,
        "kind": "sign or order",
        "relation": ">=",
    }  # the text says so of four figures and tables
    for cell in range(4):
        board.add(f"cell {cell}", 1, 0.1, **trend)
    with pytest.raises(ValueError, match="only its furthest cell"):
        board.add("cell 4", 1, 0.1, **trend)
    budgets = [0.1, 0.2]
    four = [
        (e, f"c={c}", c, e * (1 - 0.5**c) - (c == 3) * 0.1, 1.0)
        for e in budgets
        for c in range(1, 6)
    ]
    four = pd.DataFrame(four, columns=["epsilon", "series", "round", "limit", "sd"]).assign(
        mean=1.0, runs=2
    )
    board, _ = kv_checks.check_table4(four, {"ownership": 0.5, "rounds": 5})
    said = board.table().dropna(subset="published")[["x", "verdict"]].values.tolist()
    assert said == [
        [0.1, "differs"],
        [0.1, "reproduced"],
    ]  # one sentence on rises, with its smallest, and one on the last round


def test_measurements_that_the_paper_leaves_open_are_compared_and_undecided():
    cells = ((1, 432), (1, 1000), (2, 974), (2, 1000), (4, 6454), (4, 10_000))
    runs = {(e, n): [ShuffleAudit(e, n, trials=500).run()[0]] * 10 for e, n in cells}
    shown = sgd_checks.rows_table3(runs, 10)
    given = {"delta": 1e-6, "trials": 1_000, "measurements": 10}
    found = figures.counted(sgd_checks.check_table3(shown, **given).table())
    assert (found["printed"], found["undecided"], found["printed differ"]) == (8, 6, 1)
    board = sgd_checks.check_table3(shown, **given).table()
    note = board[board["verdict"] == "undecided"]["note"].iloc[0]
    assert "agrees if the printed number is a single measurement" in note
    assert "differs if the printed number is the mean of ten measurements" in note
    for apart, agrees in ((0.0, True), (0.5, False)):  # from their expectation, under both readings
        printed = shown.assign(**{"measured, paper": shown["its expectation"] + apart})
        assert {*sgd_checks.readings_table3(printed, 10).values()} == {agrees}
    elsewhere = sgd_checks.check_table3(shown, **given | {"trials": 200}).table()
    assert "undecided" not in set(elsewhere["verdict"])


def test_every_published_number_has_a_source_that_says_what_it_is():
    for paper in items()["item"].str.partition("/")[0].unique():
        kinds = paper_values._kinds(paper)
        assert kinds and {kind for found in kinds.values() for kind in found} <= set(KINDS[:4])
    found = paper_values._kinds("kv_auditor")
    assert found[0.0418] == ["printed number"] and found[0.0216] == ["digitised curve"]
    assert found[0.0] == ["sign or order"]
    assert paper_values._kinds("ldp_auditor")[2.5] == ["claim in words"]


@pytest.fixture
def loose(monkeypatch):
    """Let every number be one of the paper's words: these tests are about something else."""
    words = SimpleNamespace(get=lambda value, default: ["claim in words"])
    monkeypatch.setattr(paper_values, "_kinds", lambda paper: words)
    monkeypatch.setattr(
        paper_values, "_stated", lambda paper: SimpleNamespace(get=lambda value, default: math.inf)
    )


def test_publishing_counts_the_verdicts_and_writes_only_in_a_build(tmp_path, monkeypatch, loose):
    monkeypatch.delenv("LDPKIT_SCOREBOARD", raising=False)
    monkeypatch.chdir(tmp_path)
    board = Scoreboard("ldp_auditor/fig1", how="closed form")
    for reproduced in (1.0, 1.0, 2.0):
        board.add("GRR", 2, reproduced, published=1.0)
    assert board.publish()["comparisons"].to_dict() == {"reproduced": 2, "differs": 1}
    board.add('one, "two"', 2.5, 1.0, 0.25, exact=1.0, note="a, b")
    assert "no published value" in board.publish().index  # words for readers
    assert "no-published-value" in set(board.table()["verdict"])  # the file keeps its own
    assert list(tmp_path.iterdir()) == []
    target = tmp_path / "new" / "folder" / "board.csv"
    monkeypatch.setenv("LDPKIT_SCOREBOARD", str(target))
    board.publish()
    frames = (pd.read_csv(target), board.table())
    written, table = (frame.astype(object).fillna("").astype(str) for frame in frames)
    pd.testing.assert_frame_equal(written, table)


def test_the_list_of_items_is_complete():
    found = items()
    assert found["item"].is_unique and found.notna().all(axis=None)
    counts = {"ldp_auditor": 13, "refinement": 15, "kv_auditor": 12, "rad": 7, "ldp_sgd": 12}
    assert found["item"].str.partition("/")[0].value_counts().to_dict() == counts
    assert set(figures.PAPERS) == set(counts)
    assert set(found["page"]) <= set(found["item"]) | {"kv_auditor/tables"}


def test_a_published_number_is_looked_up_by_item_series_and_x():
    found = lookup("ldp_auditor", "eps_OPT", x=10**6)
    assert isinstance(found, float)
    assert found == lookup("ldp_auditor", "eps_OPT", "alpha=0.01", 10**6)


def cells(*rows):
    found = pd.DataFrame(rows, columns=["mechanism", "k", "mean", "exact", "se"])
    return found.astype({"exact": float})


BLH, OLH, SS = (25, 0.71, 0.72, 0.01), (200, 0.9, 0.5, 1.0), (25, 9.0, None, None)
CELLS = cells(("BLH", *BLH), ("OLH", *OLH), ("SS", *SS))
NAMED = {"x": "k", "where": "{mechanism}, k = {k:g}"}


def test_cells_are_recorded_under_the_names_of_their_columns_and_say_how_they_were_made():
    board = paper_values.Scoreboard("ldp_auditor/fig2", how="closed form")
    board.add_cells(CELLS, "{mechanism} of {k:g}", x="k")
    found = board.table()[["series", "x", "reproduced", "reproduced_se", "exact"]].values.tolist()
    assert found == [["BLH of 25", 25, 0.71, 0.01, 0.72], ["OLH of 200", 200, 0.9, 1.0, 0.5]]
    board = paper_values.Scoreboard("ldp_auditor/fig2")
    board.add_cells(CELLS.assign(faithful=[True, False, True], se=0.1), x="k")
    found = board.table()
    assert list(found["how"]) == ["real reports", "sampled from exact rates", "real reports"]
    assert found["exact"].isna().tolist() == [False, False, True]  # without a law, too
    with pytest.raises(ValueError, match="how"):
        board.add_cells(CELLS, x="k")
    board.add_cells(CELLS.assign(faithful=True, mean=-math.inf), x="k")  # where a law is known
    assert list(board.table()["verdict"])[3:] == ["differs", "differs"]


def test_a_statement_about_many_cells_is_compared_by_the_one_that_goes_furthest(loose):
    board = paper_values.Scoreboard("ldp_auditor/fig2", how="closed form")
    shown = [
        compare(board, "below", CELLS, published=0.7, note="see there.", **NAMED),
        compare(board, "below", CELLS, published=0.75, series="all", **NAMED),
        compare(board, "above", CELLS, published=0.6, relation=">=", note="see there.", **NAMED),
        compare(board, "above", CELLS, published=0.6, published_error=0.1, relation=">=", x="k"),
    ]
    first = ["below", 0.7, 0.71, 0.72, "BLH, k = 25", "differs, explained"]
    assert list(shown[0].values()) == first
    assert [line["verdict"] for line in shown] == ["differs, explained", "holds"] * 2
    places = ["BLH, k = 25", "BLH, k = 25", "OLH, k = 200", ""]
    assert [line["furthest at"] for line in shown] == places
    table = board.table()
    notes = ["Largest at BLH, k = 25: see there.", "", "Smallest at OLH, k = 200: see there.", ""]
    assert list(table["note"]) == notes
    assert list(table["series"]) == ["below", "all", "above", "above"]
    assert list(table["x"]) == [25, 25, 200, 200]


def test_a_statement_about_ratios_divides_by_the_value_of_the_cell():
    board = paper_values.Scoreboard("ldp_auditor/fig2", how="closed form")
    compare(board, "at most", CELLS.assign(epsilon=2.0), published=4.0, over="epsilon")
    (line,) = board.table().to_dict("records")
    assert (line["exact"], line["x"], line["verdict"]) == (4.0, 2.0, "reproduced")
    assert line["reproduced"] == pytest.approx(2 / 0.9)
    assert line["reproduced_se"] == pytest.approx(1.0 * 2 / 0.9**2)


def test_a_statement_about_cells_that_are_not_there_or_not_the_papers_records_nothing():
    board = paper_values.Scoreboard("ldp_auditor/fig2")
    unknown = cells(("BLH", 25, 1.0, math.nan, math.nan))
    said = {True: "no such cell", False: "other parameters"}
    for table, comparable in ((cells(), True), (unknown, True), (CELLS, False)):
        line = compare(board, "below", table, published=0.7, x="k", comparable=comparable)
        assert said[comparable] in line["verdict"]
        assert line["paper"] == 0.7 and board.table().empty
    known = cells(("BLH", 25, 1.0, 0.9, 0.05), ("SS", 25, 1.0, 1.0, 0.0))
    assert paper_values.furthest(known) == "2.0"
    assert paper_values.furthest(unknown) == "an unknown number of"


def test_one_rare_event_is_judged_by_its_probability_and_not_by_standard_errors():
    """One error in five runs of 10^6 reports is 8 standard errors off, and likely enough."""
    run = {
        "mechanism": "BLH", "k": 2, "epsilon": 1.0, "trials": 10**6, "exact_tpr": 1 - 6e-9,
        "exact_fpr": 6e-9, "exact_epsilon_emp": 12.02, "exact_sd": 0.017, "tp": 10**6,
    }  # fmt: skip
    for errors, wanted in ((1, "no-published-value"), (50, "differs")):
        table = pd.DataFrame([run] * 5).assign(fp=[0] * 4 + [errors])
        table = table.assign(epsilon_emp=[12.02] * 4 + [11.7])
        board = paper_values.Scoreboard("ldp_auditor/fig6", how="sampled from exact rates")
        cell = plots.summary(table)
        assert (cell["mean"] - cell["exact"]).abs().item() > 8 * cell["se"].item()
        board.add_cells(cell)
        assert board.rows[0][8] == wanted
    often = plots.summary(table.assign(exact_tpr=0.4, exact_fpr=0.1))
    assert math.isnan(often["chance"].item())  # there standard errors say it
