"""What the interactive figures are drawn from, and the cards at the head of their pages, without a browser."""

import csv
import io
import json
import math
import re
import types
from pathlib import Path

import pandas as pd
import pytest
import yaml

from ldpbook import cards, execute, plots, twins

ROOT = Path(__file__).parents[2]
PROJECT = execute.Project(ROOT)
ROWS = [
    ("OUE, </script>", "k = 2", "this run", 0.5, 1e-9, 0.25),
    ("OUE, </script>", "", "claim", None, 2 / 3, None),
    ("SS", 'k = "3"', "exact", 4, math.inf, None),
]
TOLD = {"x": "ε", "y": "rate", "kind": "lines", "ylim": (math.nan, None), "z": True}


def text(rows=ROWS):
    table = pd.DataFrame(rows, columns=plots.COLUMNS).astype({"x": float, "error": float})
    return table.to_csv(index=False, float_format="%.10g", lineterminator="\n")


def decoded(found):
    names = [found["names"][c] for c in ("panel", "series", "source")]
    return [[*(names[i][row[i]] for i in range(3)), *row[3:]] for row in found["rows"]]


def test_a_twin_holds_every_row_of_the_table_and_is_valid_json_inside_a_page():
    found = twins.data(TOLD, text())
    assert decoded(found) == [
        ["OUE, </script>", "k = 2", "this run", 0.5, 1e-9, 0.25],
        ["OUE, </script>", "", "claim", None, 0.6666666667, None],
        ["SS", 'k = "3"', "exact", 4, "inf", None],
    ]
    element = twins.element("book/p/fig1", "fig-one", found)
    inside = re.fullmatch(
        r'<div data-twin="p/fig1/fig-one"><script type="application/json">(.*)</script></div>',
        element,
    )
    assert "</script" not in inside[1]
    assert json.loads(inside[1]) == found and found["spec"]["ylim"] == [None, None]


def test_many_rows_come_in_a_script_of_their_own():
    found = twins.data(TOLD, text([("", "s", "exact", i, i / 7, None) for i in range(5000)]))
    assert len(twins.written(found)) > twins.INLINE
    element = twins.element("book/p/fig1", "fig-one", found)
    assert element == (
        '<div data-twin="p/fig1/fig-one" data-src="../../_figures/fig-one.js"></div>'
    )


def test_a_variant_is_drawn_into_the_axes_of_the_book_and_its_card_is_the_books(tmp_path):
    book, variant = execute.Project(tmp_path), execute.Project(tmp_path, "_build/page/one")
    mine, told = text([("SS", "k = 3", "exact", 4, 1.5, None)]), {"x": "mine"}
    figure = {"mystnb": {"figure": {"name": "fig-one"}}}
    for project, table, spec in ((book, text(), TOLD), (variant, mine, told)):
        data = {
            "image/svg+xml": "<svg/>",
            "text/csv": table,
            twins.SPEC: json.loads(json.dumps(spec)),
        }
        project.executed("book/p").parent.mkdir(parents=True)
        project.executed("book/p").write_text(
            json.dumps({"cells": [{"metadata": figure, "outputs": [{"data": data}]}]})
        )
    book.source("book/p").parent.mkdir()
    book.source("book/p").touch()
    app = types.SimpleNamespace(
        srcdir=tmp_path,
        builder=types.SimpleNamespace(format="html"),
        config=types.SimpleNamespace(ldpkit_build="_build/page/one", ldpkit_variant="k = 3"),
    )
    ((_, _, alone),) = twins._found(app, "book/p")
    assert alone == twins.data(told, mine)  # no book is built
    book.html("book/p").parent.mkdir(parents=True)
    book.html("book/p").touch()
    ((_, _, found),) = twins._found(app, "book/p")
    assert found == twins.data(TOLD, text()) | {"run": {"csv": mine, "label": "k = 3"}}

    name = next(iter(cards.load(ROOT)))
    words = [cards.card(PROJECT, f"book/{name}", {"cells": []}, v).astext() for v in (True, False)]
    assert [said.startswith("In the book: ") for said in words] == [True, False]


def test_only_what_plots_figure_drew_has_a_twin():
    def cell(data):
        about = {"mystnb": {"figure": {"name": f"fig-{len(data)}"}}}
        return {"metadata": about, "outputs": [{"data": {"image/svg+xml": "<svg/>"} | data}]}

    plain, drawn = cell({"text/csv": text()}), cell({"text/csv": text(), twins.SPEC: TOLD})
    assert [(i, name) for i, name, _ in twins.of({"cells": [plain, drawn]})] == [(1, "fig-2")]


# --- cards ----------------------------------------------------------------------------------------

CARDS = yaml.safe_load((ROOT / "book" / "cards.yml").read_text())
LEDGER = pd.concat(pd.read_csv(path) for path in (ROOT / "data" / "claims").glob("*.csv"))


def named_figures(page):
    cells = json.loads(PROJECT.source(page).read_text())["cells"]
    return [
        c["metadata"]["mystnb"]["figure"]["name"]
        for c in cells
        if "figure" in c["metadata"].get("mystnb", {})
    ]


def test_every_page_of_a_papers_figure_has_a_card_and_every_card_a_page():
    papers = ("ldp_auditor", "refinement", "kv_auditor", "rad", "ldp_sgd")
    pages = [p.removeprefix("book/") for p in PROJECT.notebooks() if p.split("/")[1] in papers]
    assert sorted(CARDS) == sorted(pages)
    assert set(pd.read_csv(ROOT / "data" / "items.csv")["page"]) <= set(CARDS)


@pytest.mark.parametrize("page", CARDS)
def test_cards_type_no_number_and_name_what_is_there(page):
    told = CARDS[page]
    assert set(told) <= {"question", "answer", "claim", "says", "glance"}
    assert ("claim" in told) != ("says" in told)
    words = " ".join(told.get(part, "") for part in ("question", "answer", "says"))
    assert not re.search(r"\d", words.replace("LDP-Auditor", ""))
    assert told["question"].endswith("?") and told["answer"].endswith(".")
    if "claim" in told:
        assert LEDGER.set_index("id").loc[told["claim"], "page"] == page
    if "glance" in told:
        assert set(told["glance"]) == {"figure", "title", "keep", "by", "over"}
        assert told["glance"]["figure"] in named_figures(f"book/{page}")
        assert not re.search(r"\d", told["glance"]["title"])


def test_a_glance_takes_its_bars_from_the_figures_own_rows():
    table = text([
        ("GRR", "k = 2", "exact", 1, 0.9, 0.01), ("GRR", "k = 9", "exact", 1, 0.8, 0.01),
        ("GRR", "k = 9", "exact", 2, 1.8, None), ("GRR", "k = 9", "this run", 1, 0.7, None),
        ("GRR", "claim", "claim", 1, 1, None), ("GRR", "claim", "claim", 2, 2, None),
        ("BLH", "k = 9", "exact", 1, 0.25, 0.01), ("BLH", "claim", "claim", None, 0.5, None),
    ])  # fmt: skip
    told = {"title": "Share", "by": "panel", "keep": {"source": "exact", "series": "last", "x": 1}}
    title, bars = cards.glance(told, {"x": "ε"}, table)
    assert title == "Share (k = 9, ε 1)" and bars == [("GRR", 0.8), ("BLH", 0.5)]
    told["keep"]["x"] = 3
    assert cards.glance(told, {"x": "ε"}, table)[1] == []


def test_a_glance_over_a_named_series_and_one_of_plain_values():
    table = text([
        ("A", "found", "exact", 1, 0.3, None), ("A", "printed", "claim", 1, 0.2, None),
        ("A", "other", "claim", 1, 9, None), ("B", "found", "exact", 1, 4000, None),
    ])  # fmt: skip
    told = {"title": "Share", "by": "panel", "keep": {"source": "exact", "x": 1}, "over": "printed"}
    assert cards.glance(told, {"x": "ε"}, table) == ("Share (ε 1)", [("A", pytest.approx(1.5))])
    for plain in ("one", "largest"):
        found = cards.glance(told | {"over": plain}, {"x": "ε"}, table)[1]
        assert found == [("A", 0.3), ("B", 4000)]


@pytest.mark.parametrize(
    "over, values, widths, digits, marked",
    [
        ("claim", [0.5, 0.25], ["50.0", "25.0"], ["0.50", "0.25"], None),
        ("claim", [2.0, 0.5], ["100.0", "25.0"], ["2.00", "0.50"], "50.0"),
        ("one", [0.5, -1e-17], ["50.0", "0.0"], ["0.50", "0.00"], None),
        ("largest", [4000.0, 1e-5], ["100.0", "0.0"], ["4,000", "1e-05"], None),
    ],
)
def test_a_bar_is_as_long_as_its_share_and_a_line_marks_the_claim_beyond_which_it_goes(
    over, values, widths, digits, marked, monkeypatch
):
    rows = [(f"p{i}", "s", "exact", 1, y, None) for i, y in enumerate(values)]
    rows += [(f"p{i}", "claim", "claim", 1, 1, None) for i in range(len(values))]
    monkeypatch.setattr(cards.twins, "of", lambda _: [(0, "fig", {"spec": {"x": "ε"}})])
    monkeypatch.setattr(cards.provenance, "figures", lambda _: [(0, "fig", "", text(rows))])
    told = {"figure": "fig", "title": "<T>", "by": "panel", "keep": {"source": "exact"}}
    made = cards.drawn(told | {"over": over}, {})
    assert "&lt;T&gt;" in made
    assert re.findall(r"width:([\d.]+)%", made) == widths
    assert re.findall(r"<span>([^<]+)</span></li>", made) == digits
    assert set(re.findall(r"left:([\d.]+)%", made)) == ({marked} if marked else set())


def test_most_cards_have_a_glance_and_every_one_shows_something_where_the_page_was_executed():
    """At the papers' own scale; a first look may lack the rows, and then shows none."""
    assert sum("glance" in told for told in CARDS.values()) >= 0.7 * len(CARDS)
    for page, told in CARDS.items():
        place = PROJECT.executed(f"book/{page}", ".json")
        if (
            "glance" not in told
            or not place.exists()
            or json.loads(place.read_text()).get("parameters")
        ):
            continue
        made = cards.drawn(told["glance"], json.loads(PROJECT.executed(f"book/{page}").read_text()))
        assert 2 <= made.count("<li>") <= 16, page


def test_a_verdict_says_what_was_found_and_what_the_test_is():
    row = {"verdict": "holds in part: BLH", "found": 0.91234, "relation": ">=", "published": "0.9"}
    assert cards.verdict(row) == "Holds in part: BLH (0.9123 where the test is ≥ 0.9)."
    row |= {"verdict": "cannot be checked here: other data", "found": None}
    assert cards.verdict(row) == "Cannot be checked here: other data."


def test_a_card_counts_what_the_build_found_and_is_silent_where_it_found_nothing(tmp_path):
    project = execute.Project(tmp_path)
    project.build.mkdir()
    verdicts = ["holds", "holds", "does not hold", "cannot be checked here: other data"]
    pd.DataFrame({"page": "p/a", "verdict": verdicts}).to_csv(project.build / "claims.csv")
    items = [("p/fig1", "p/a", "reproduced", 1200, 1100), ("p/fig2", "p/b", "other data", 0, 0)]
    pd.DataFrame(items, columns=["item", "page", "state", "compared", "agree"]).to_csv(
        project.build / "figures.csv"
    )
    assert cards.counted(project, "book/p/a") == [
        "Claims of the paper tested on this page: holds: 2; does not hold: 1.",
        "1,100 of 1,200 compared numbers of Figure 1 agree; the figure: reproduced.",
    ]
    assert cards.counted(project, "book/p/b") == cards.counted(project, "book/p/c") == []


def test_built_pages_hold_the_rows_of_their_tables():
    """Where this checkout has been built: every specification's rows are the figure's CSV."""
    for page in PROJECT.notebooks():
        if not PROJECT.executed(page).exists():
            continue
        notebook = json.loads(PROJECT.executed(page).read_text())
        tables = {name: csv_ for _, name, _, csv_ in twins.provenance.figures(notebook)}
        for _, name, found in twins.of(notebook):
            rows = list(csv.reader(io.StringIO(tables[name])))[1:]
            assert len(rows) == len(found["rows"])
            assert len(found["spec"].get("along", {"values": rows})["values"]) == len(rows)
            for row, given in zip(decoded(found), rows, strict=True):
                assert row[:3] == given[:3]
                assert all(
                    str(a) == b or (a is None and b in ("", "nan")) or float(a) == float(b)
                    for a, b in zip(row[3:], given[3:], strict=True)
                )
