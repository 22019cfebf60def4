"""The papers' numbers, the judgement of ours, and the scoreboard. Nothing here is random."""

import math
from pathlib import Path

import pandas as pd
import pytest

from ldpbook import comparisons, paper_values, plots
from ldpbook.comparisons import AGREES, HOW, KINDS, VERDICTS, verdict
from ldpbook.paper_values import COLUMNS, Scoreboard, items, load, lookup

CASES = [
    # no published value: only exact mathematics can contradict
    (1.0, 0.1, {}, "no-published-value"),
    (1.0, 0.1, {"exact": 1.49}, "no-published-value"),
    (1.0, 0.1, {"exact": 1.51}, "differs"),
    (1.0, 0.1, {"exact": 0.49}, "differs"),
    (1.0, 0.0, {"exact": 1.0 + 1e-10}, "no-published-value"),
    (1.0, 0.0, {"exact": 1.0 + 1e-8}, "differs"),
    # equal: within the printed precision and five standard errors
    (1.0, 0.1, {"published": 1.49}, "reproduced"),
    (1.0, 0.1, {"published": 0.51}, "reproduced"),
    (1.0, 0.1, {"published": 1.51}, "differs"),
    (1.0, 0.1, {"published": 0.49}, "differs"),
    (1.0, 0.1, {"published": 1.7, "published_error": 0.25}, "reproduced"),
    (1.0, 0.1, {"published": 1.8, "published_error": 0.25}, "differs"),
    (12.025, 0.0, {"published": 12.0252, "published_error": 0.0005}, "reproduced"),
    (1.0, 0.0, {"published": 1.0}, "reproduced"),
    # at most
    (1.0, 0.1, {"published": 2.0, "relation": "<="}, "reproduced"),
    (1.0, 0.1, {"published": 0.51, "relation": "<="}, "reproduced"),
    (1.0, 0.1, {"published": 0.49, "relation": "<="}, "differs"),
    # at least
    (1.0, 0.1, {"published": 0.1, "relation": ">="}, "reproduced"),
    (1.0, 0.1, {"published": 1.49, "relation": ">="}, "reproduced"),
    (1.0, 0.1, {"published": 1.51, "relation": ">="}, "differs"),
    # a statement is judged by the exact value where there is one
    (1.0, 0.1, {"published": 0.9, "relation": "<=", "exact": 0.95}, "differs"),
    (1.0, 0.1, {"published": 0.9, "relation": "<=", "exact": 0.85}, "reproduced"),
    (
        1.0,
        0.1,
        {"published": 0.9, "relation": "<=", "exact": 0.95, "published_error": 0.05},
        "reproduced",
    ),
    (1.0, 0.1, {"published": 1.1, "relation": ">=", "exact": 1.05}, "differs"),
    (1.0, 0.1, {"published": 1.1, "relation": ">=", "exact": 1.15}, "reproduced"),
    # what is exact is judged by itself: a run that happens to lie near earns nothing
    (1.0, 0.1, {"published": 1.0, "exact": 1.2}, "differs"),
    (1.2, 0.1, {"published": 1.0, "exact": 1.0}, "reproduced"),
    (1.0, 0.1, {"published": 1.1, "published_error": 0.05, "exact": 1.04}, "differs"),
    (1.0, 0.1, {"published": 1.1, "published_error": 0.05, "exact": 1.06}, "reproduced"),
    # a sign or an order has to stand out of the noise, in words it need not
    (0.6, 0.1, {"published": 0.0, "relation": ">=", "kind": "sign or order"}, "reproduced"),
    (0.4, 0.1, {"published": 0.0, "relation": ">=", "kind": "sign or order"}, "differs"),
    (-0.6, 0.1, {"published": 0.0, "relation": "<=", "kind": "sign or order"}, "reproduced"),
    (-0.4, 0.1, {"published": 0.0, "relation": "<=", "kind": "sign or order"}, "differs"),
    (-0.4, 0.1, {"published": 0.0, "relation": ">=", "kind": "claim in words"}, "reproduced"),
    # other data neither agree nor differ, whatever they say
    (1.0, 0.1, {"published": 1.0, "kind": "own stand-in", "note": "others"}, "other-data"),
    (9.0, 0.1, {"published": 1.0, "kind": "own stand-in", "note": "others"}, "other-data"),
    (9.0, 0.1, {"exact": 1.0, "kind": "own stand-in"}, "differs"),
    # the authors' code is never the paper
    (1.0, 0.1, {"exact": 1.49, "how": "released code"}, AGREES),
    (1.0, 0.1, {"exact": 1.51, "how": "released code"}, "differs"),
    (1.0, 0.1, {"exact": 1.51, "how": "released code", "note": "why"}, "differs-explained"),
    (1.0, 0.1, {"how": "released code"}, "no-published-value"),
    (1.0, 0.0, {"published": 1.0, "how": "released code"}, AGREES),
    (1.0, 0.0, {"published": 1.1, "how": "released code"}, "differs"),
    # an explanation helps against the paper, never against mathematics
    (1.0, 0.1, {"published": 1.51, "note": "rounding"}, "differs-explained"),
    (1.0, 0.1, {"published": 1.49, "note": "rounding"}, "reproduced"),
    (1.0, 0.1, {"published": 1.0, "exact": 1.6, "note": "rounding"}, "differs"),
    # nothing computed
    (math.nan, 0.1, {"published": 1.0, "note": "lost"}, "differs"),
    (math.inf, 0.1, {}, "differs"),
    (-math.inf, 0.1, {"exact": -math.inf}, "differs"),
    # nothing computed, or nothing to compare it with
    *(
        (1.0, se, {"exact": exact} | printed, "differs")
        for se, exact in ((math.nan, 2.0), (0.0, math.nan), (0.0, math.inf), (0.1, -math.inf))
        for printed in ({}, {"published": 1.0})
    ),
]


@pytest.mark.parametrize("reproduced, se, given, wanted", CASES)
def test_verdicts(reproduced, se, given, wanted):
    assert verdict(reproduced, se, **given) == wanted
    assert wanted in VERDICTS


MUTANTS = [
    ("if exact is None else (exact, 0.0)", "if exact is None else (reproduced, 0.0)"),
    ("if exact is not None or kind == SIGN", "if kind == SIGN"),
    ("if exact is not None or kind == SIGN", "if exact is not None"),
    ("if kind == SIGN:  # a sign", "if False:  # a sign"),
    ('found += noise if relation == "<=" else -noise', "found -= noise"),
    ('found += noise if relation == "<=" else -noise', "found += noise"),
    ("if kind == STAND_IN:", "if False:"),
    ('return "other-data"', 'return "reproduced"'),
    ('return AGREES if code else "reproduced"', 'return "reproduced"'),
    ("return explained if code", 'return "differs" if code'),
    ("return explained if code", "return explained if note"),
    ("AGREES if code and exact is not None else", "AGREES if code else"),
    ("code, explained = how == CODE", "code, explained = False"),
    ('"differs-explained" if note else "differs"', '"differs"'),
    ('"differs-explained" if note else "differs"', '"differs-explained"'),
    ("        and not likely\n", ""),
    ("_AGREE * se + 1e-9", "_AGREE * se + 1e-7"),
    ("_AGREE = 5", "_AGREE = 6"),
    ("_AGREE = 5", "_AGREE = 4"),
    ('"=": abs(gap)', '"=": gap'),
    ('"<=": gap', '"<=": -gap'),
    ('">=": -gap', '">=": abs(gap)'),
    ("error + _AGREE * se", "error"),
    ("error + _AGREE * se", "_AGREE * se"),
    ("math.isfinite(x) for x in (reproduced,", "math.isfinite(x) for x in ("),
]
RARE = (1.0, 0.1, {"exact": 9.0, "chance": 1e-3}, "no-published-value")


@pytest.mark.parametrize("old, new", MUTANTS)
def test_every_mutant_of_the_judgement_is_told_apart(old, new):
    """Each lets through, or holds up, what `CASES` says it must not."""
    source = Path(comparisons.__file__).read_text()
    assert source.count(old) == 1
    room = {"__name__": "ldpbook.comparisons", "__package__": "ldpkit"}
    exec(compile(source.replace(old, new), "mutant", "exec"), room)

    def judged(reproduced, se, given, _):
        try:
            return room["verdict"](reproduced, se, **given)
        except (ValueError, TypeError):
            return "refused"

    assert any(judged(*case) != case[3] for case in [*CASES, RARE])
    assert verdict(RARE[0], RARE[1], **RARE[2]) == RARE[3]


def test_an_unknown_relation_is_refused():
    with pytest.raises(ValueError, match="relation must be one of =, <=, >=, got '<'"):
        verdict(1.0, 0.1, published=1.0, relation="<")


@pytest.mark.parametrize(
    "given, said",
    [
        ({"how": "guessed"}, "how must be one of real reports, .*, got 'guessed'"),
        ({"kind": "rumour"}, "kind must be one of printed number, .*, got 'rumour'"),
    ],
)
def test_an_unknown_way_or_kind_is_refused(given, said):
    with pytest.raises(ValueError, match=said):
        verdict(1.0, 0.1, **given)


def test_the_scoreboard_has_exactly_the_agreed_columns():
    agreed = "item,series,x,published,published_error,reproduced,reproduced_se,exact,verdict,note"
    assert [*agreed.split(","), "relation", "how", "kind"] == COLUMNS
    assert set(VERDICTS) == {
        "reproduced",
        "differs-explained",
        "differs",
        "no-published-value",
        "other-data",
    } | {"agrees with the authors' code"}
    board = Scoreboard("ldp_auditor/fig2")
    assert list(board.table().columns) == COLUMNS and board.table().empty


def test_the_scoreboard_records_what_it_is_given_and_the_half_width_that_judged():
    board = Scoreboard("ldp_auditor/fig2", how="drawn from the law")
    board.add("GRR", 2, 2.4, 0.1, published=2.5, published_error=0.05, exact=2.45, setting="k = 3.")
    board.add("BLH", 4, 2.0, 0.1, published=4.0, note="rounding", how="real reports")
    board.add("OLH", "k=25", 3.0)
    rows = board.table().astype(object).where(board.table().notna(), None).values.tolist()
    law, real, words, own = *HOW[1::-1], *KINDS[2::2]
    assert rows == [
        ["ldp_auditor/fig2", "GRR", 2, 2.5, 0.05, 2.4, 0.1, 2.45, "reproduced", "k = 3.", "=", law, words],
        ["ldp_auditor/fig2", "BLH", 4, 4.0, 0.5, 2.0, 0.1, None, "differs-explained", "rounding", "=", real, words],
        ["ldp_auditor/fig2", "OLH", "k=25", None, None, 3.0, 0.0, None, "no-published-value", "", "=", law, own],
    ]  # fmt: skip


def test_what_was_assumed_explains_no_difference():
    board = Scoreboard("ldp_auditor/fig2", how="closed form")
    board.add("GRR", 2, 3.0, published=4.0, setting="k = 3 is assumed.")
    assert board.rows[0][8] == "differs"


@pytest.mark.parametrize(
    "given, said",
    [
        ({"how": None}, "how must be one of real reports, .*, got None"),
        ({"published": 2.6}, "published must be a number of data/published/ldp_auditor.csv, got 2.6"),
        ({"kind": "printed number"}, "kind must be one of own stand-in, got 'printed number'"),
        ({"published": 4, "kind": "printed number"}, "kind must be one of claim in words, own stand-in"),
        ({"published": 4, "kind": "own stand-in"}, "note must say what stands in for the paper's data"),
        # half of the published value, whether it comes from reading or from noise
        ({"published": 4, "published_error": 2.1}, "half-width of 2.1 compares nothing with = 4"),
        ({"published": 4, "se": 0.42}, "half-width of 2.1 compares nothing"),
        ({"published": 4, "published_error": 2.1, "relation": "<="}, "nothing with <= 4"),
        # everything that could have been found
        ({"published": 1, "published_error": 0.4, "plausible": (0.7, 1.3)}, "half-width of 0.4 .* all that is plausible"),
        ({"published": 4, "relation": "<=", "plausible": (0, 3)}, "nothing with <= 4"),
        ({"published": 4, "relation": ">=", "plausible": (5, 6)}, "nothing with >= 4"),
    ],
)  # fmt: skip
def test_a_row_that_compares_nothing_is_refused(given, said):
    board = Scoreboard("ldp_auditor/fig2")
    with pytest.raises(ValueError, match=said):
        board.add("GRR", 2, 3.0, **{"how": "closed form"} | given)
    assert board.rows == []


@pytest.mark.parametrize(
    "given",
    [
        {"published": 4, "published_error": 2.0},
        {"published": 4, "se": 0.5, "exact": 3.0, "note": "exact values have no noise"},
        {"published": 1, "published_error": 0.4, "plausible": (0.5, 1.3)},
        {"published": 4, "published_error": 3.0, "kind": "own stand-in", "note": "other data"},
    ],
)
def test_a_row_that_compares_something_is_not(given):
    Scoreboard("ldp_auditor/fig2", how="closed form").add("GRR", 2, 3.0, **{"note": "?"} | given)


def test_a_published_zero_needs_a_range_or_no_tolerance():
    board = Scoreboard("kv_auditor/table4", how="closed form")
    zero = {"published": 0.0, "kind": "sign or order"}
    board.add("a", 1, 0.1, relation=">=", **zero)
    with pytest.raises(ValueError, match="compares nothing"):
        board.add("a", 1, 0.1, published_error=0.1, relation=">=", **zero)
    board.add("a", 1, 0.1, published_error=0.1, relation=">=", plausible=(-1, 1), **zero)


def test_every_published_number_has_a_source_that_says_what_it_is():
    for paper in items()["item"].str.partition("/")[0].unique():
        kinds = paper_values._kinds(paper)
        assert kinds and {kind for found in kinds.values() for kind in found} <= set(KINDS[:4])
    assert paper_values._kinds("kv_auditor")[0.0418] == ["printed number"]
    assert paper_values._kinds("kv_auditor")[0.0216] == ["digitised curve"]
    assert paper_values._kinds("kv_auditor")[0.0] == ["sign or order"]
    assert paper_values._kinds("ldp_auditor")[2.5] == ["claim in words"]
    annotated = load("refinement").query("item.str.contains('annotation|legend')")["source"]
    assert len(annotated) == 96 and annotated.str.contains("^annotation |^legend ").all()


@pytest.fixture
def loose(monkeypatch):
    """Let every number be one of the paper's words: these tests are about something else."""

    class Words(dict):
        def get(self, value, default):
            return ["claim in words"]

    monkeypatch.setattr(paper_values, "_kinds", lambda paper: Words())


def test_publishing_counts_the_verdicts_and_writes_nothing_outside_a_build(
    tmp_path, monkeypatch, loose
):
    monkeypatch.delenv("LDPKIT_SCOREBOARD", raising=False)
    monkeypatch.chdir(tmp_path)
    board = Scoreboard("ldp_auditor/fig1", how="closed form")
    for reproduced in (1.0, 1.0, 2.0):
        board.add("GRR", 2, reproduced, published=1.0)
    assert board.publish()["comparisons"].to_dict() == {"reproduced": 2, "differs": 1}
    board.add("GRR", 2, 1.0)
    assert "no published value" in board.publish().index  # words for readers
    assert "no-published-value" in set(board.table()["verdict"])  # the file keeps its own
    assert list(tmp_path.iterdir()) == []


def test_publishing_in_a_build_writes_the_table(tmp_path, monkeypatch, loose):
    target = tmp_path / "new" / "folder" / "board.csv"
    monkeypatch.setenv("LDPKIT_SCOREBOARD", str(target))
    board = Scoreboard("ldp_auditor/fig1", how="stored run")
    board.add('one, "two"', 2.5, 1.0, 0.25, published=1.0, exact=1.0, note="a, b")
    board.publish()
    pd.testing.assert_frame_equal(pd.read_csv(target), board.table())
    assert target.read_text().splitlines()[0] == ",".join(COLUMNS)


@pytest.mark.parametrize(
    "item, near",
    [("ldp_auditor/fig22", "ldp_auditor/fig2"), ("LDP_auditor/fig8", "ldp_auditor/fig8")],
)
def test_an_unknown_item_is_refused_with_the_nearest(item, near):
    with pytest.raises(
        ValueError, match=f"item must be one of .*, got '{item}'; did you mean '{near}'"
    ):
        Scoreboard(item)


def test_the_list_of_items_is_complete():
    found = items()
    assert list(found.columns) == ["item", "title", "page"]
    assert len(found) == found["item"].nunique() == 48
    assert found["item"].str.partition("/")[0].value_counts().to_dict() == {
        "ldp_auditor": 11, "refinement": 15, "kv_auditor": 7, "rad": 7, "ldp_sgd": 8,
    }  # fmt: skip
    assert set(found["page"]) <= set(found["item"]) | {"kv_auditor/tables"}
    assert found.notna().all(axis=None) and (found["title"].str.strip() != "").all()


def test_a_published_number_is_looked_up_by_item_series_and_x():
    assert lookup("ldp_auditor", "eps_OPT", x=10**6) == lookup(
        "ldp_auditor", "eps_OPT", "alpha=0.01", 10**6
    )
    assert isinstance(lookup("ldp_auditor", "eps_OPT", x=10**4), float)
    assert list(load("ldp_auditor").columns) == ["item", "series", "x", "value", "source"]


@pytest.mark.parametrize(
    "item, given, count",
    [
        ("no such item", {}, 0),
        ("eps_OPT", {}, 2),
        ("eps_OPT", {"x": 7}, 0),
        ("eps_OPT", {"series": "?"}, 0),
    ],
)
def test_a_lookup_that_does_not_match_exactly_one_number_fails(item, given, count):
    with pytest.raises(
        KeyError, match=f"{count} published numbers of ldp_auditor match item='{item}'"
    ):
        lookup("ldp_auditor", item, **given)


def test_an_unknown_paper_is_named():
    with pytest.raises(FileNotFoundError, match="no published numbers at .*no_such_paper.csv"):
        load("no_such_paper")


def cells(*rows):
    return pd.DataFrame(rows, columns=["mechanism", "k", "mean", "exact", "se"]).astype(
        {"exact": float}
    )


CELLS = cells(
    ("BLH", 25, 0.71, 0.72, 0.01), ("OLH", 200, 0.9, 0.5, 1.0), ("SS", 25, 9.0, None, None)
)
NAMED = {"x": "k", "where": "{mechanism}, k = {k:g}"}


def test_cells_are_recorded_under_the_names_that_their_columns_give():
    board = paper_values.Scoreboard("ldp_auditor/fig2", how="closed form")
    board.add_cells(CELLS, "{mechanism} of {k:g}", x="k")
    assert board.table()[
        ["series", "x", "reproduced", "reproduced_se", "exact"]
    ].values.tolist() == [["BLH of 25", 25, 0.71, 0.01, 0.72], ["OLH of 200", 200, 0.9, 1.0, 0.5]]


def test_cells_say_how_they_were_made_and_those_without_a_law_are_recorded_too():
    board = paper_values.Scoreboard("ldp_auditor/fig2")
    board.add_cells(CELLS.assign(faithful=[True, False, True], se=0.1), x="k")
    found = board.table()
    assert list(found["how"]) == ["real reports", "drawn from the law", "real reports"]
    assert found["exact"].isna().tolist() == [False, False, True]
    with pytest.raises(ValueError, match="how must be one of"):
        board.add_cells(CELLS, x="k")
    board.add_cells(CELLS.assign(faithful=True, mean=-math.inf), x="k")  # where a law is known
    assert list(board.table()["verdict"])[3:] == ["differs", "differs"]


def test_a_claim_about_many_cells_is_held_against_the_one_that_goes_furthest(loose):
    board = paper_values.Scoreboard("ldp_auditor/fig2", how="closed form")
    board.claim("below", CELLS, published=0.7, note="see there.", **NAMED)
    board.claim("below", CELLS, published=0.75, series="all", **NAMED)
    board.claim("above", CELLS, published=0.6, relation=">=", note="see there.", **NAMED)
    board.claim("above", CELLS, published=0.6, published_error=0.1, relation=">=", x="k")
    shown = board.summary().fillna("")
    assert shown.to_dict("records")[0] == {
        "the paper says": "below",
        "paper": 0.7,
        "this run": 0.71,
        "exact": 0.72,
        "furthest at": "BLH, k = 25",
        "verdict": "differs, explained",
    }
    assert list(shown["verdict"]) == [
        "differs, explained",
        "reproduced",
        "differs, explained",
        "reproduced",
    ]
    assert list(shown["furthest at"]) == ["BLH, k = 25", "BLH, k = 25", "OLH, k = 200", ""]
    table = board.table()
    assert list(table["note"]) == [
        "Largest at BLH, k = 25: see there.",
        "",
        "Smallest at OLH, k = 200: see there.",
        "",
    ]
    assert list(table["series"]) == ["below", "all", "above", "above"] and list(table["x"]) == [
        25,
        25,
        200,
        200,
    ]


def test_a_claim_about_ratios_divides_by_the_value_of_the_cell():
    board = paper_values.Scoreboard("ldp_auditor/fig2", how="closed form")
    board.claim("at most", CELLS.assign(epsilon=2.0), published=4.0, over="epsilon")
    (line,) = board.table().to_dict("records")
    assert (line["reproduced"], line["exact"], line["x"]) == (pytest.approx(2 / 0.9), 4.0, 2.0)
    assert (
        line["reproduced_se"] == pytest.approx(1.0 * 2 / 0.9**2) and line["verdict"] == "reproduced"
    )


def test_a_claim_about_cells_that_are_not_there_or_not_the_papers_says_so_and_records_nothing():
    board = paper_values.Scoreboard("ldp_auditor/fig2")
    for given in (cells(), cells(("BLH", 25, 0.7, math.nan, math.nan))):
        board.claim("below", given, published=0.7, x="k")
    board.claim("below", CELLS, published=0.7, x="k", comparable=False)
    here, there = (
        "not compared: no such cell in this run",
        "not compared: other parameters than the paper's",
    )
    assert list(board.summary()["verdict"]) == [here, here, there]
    assert list(board.summary()["paper"]) == [0.7] * 3 and board.table().empty


def test_a_summary_hands_the_comparisons_to_the_build(tmp_path, monkeypatch):
    monkeypatch.setenv("LDPKIT_SCOREBOARD", str(tmp_path / "board.csv"))
    board = paper_values.Scoreboard("ldp_auditor/fig2", how="closed form")
    board.claim("below", CELLS, published=1.0, x="k")
    board.summary()
    assert list(pd.read_csv(tmp_path / "board.csv")["verdict"]) == ["reproduced"]


def test_the_furthest_cell_is_named_only_if_there_is_one():
    assert (
        paper_values.furthest(cells(("BLH", 25, 1.0, 0.9, 0.05), ("SS", 25, 1.0, 1.0, 0.0)))
        == "2.0"
    )
    assert (
        paper_values.furthest(cells(("BLH", 25, 1.0, math.nan, math.nan))) == "an unknown number of"
    )


def test_one_rare_event_is_judged_by_its_probability_and_not_by_standard_errors():
    """Five runs of 10^6 reports of which one in 10^8 errs: a single error is 8 standard errors off,
    and likely enough."""
    rate = 6e-9
    runs = [
        {
            "mechanism": "BLH",
            "k": 2,
            "epsilon": 1.0,
            "trials": 10**6,
            "exact_tpr": 1 - rate,
            "exact_fpr": rate,
            "epsilon_emp": 11.7 if one else 12.02,
            "exact_epsilon_emp": 12.02,
            "exact_sd": 0.017,
            "tp": 10**6,
            "fp": one,
        }
        for one in (0, 0, 0, 0, 1)
    ]
    for errors, wanted in ((1, "no-published-value"), (50, "differs")):
        table = pd.DataFrame([*runs[:4], runs[4] | {"fp": errors}])
        board = paper_values.Scoreboard("ldp_auditor/fig6", how="drawn from the law")
        cell = plots.summary(table)
        assert (cell["mean"] - cell["exact"]).abs().item() > 8 * cell["se"].item()
        board.add_cells(cell)
        assert board.rows[0][8] == wanted
    often = plots.summary(
        pd.DataFrame([row | {"exact_tpr": 0.4, "exact_fpr": 0.1} for row in runs])
    )
    assert math.isnan(often["chance"].item())  # there standard errors say it
