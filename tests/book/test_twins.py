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
    inside = re.search(
        r'="p/fig1/fig-one"[^>]*><script type="application/json">(.*)</script>', element
    )
    assert "</script" not in inside[1]
    assert json.loads(inside[1]) == found and found["spec"]["ylim"] == [None, None]
    # many rows come in a script of their own
    found = twins.data(TOLD, text([("", "s", "exact", i, i / 7, None) for i in range(5000)]))
    assert len(twins.written(found)) > twins.INLINE
    element = twins.element("book/p/fig1", "fig-one", found)
    assert 'data-src="../../_figures/fig-one.js"' in element and len(element) < 150


def test_a_variant_is_drawn_into_the_axes_of_the_book_and_its_card_is_the_books(tmp_path):
    book, variant = execute.Project(tmp_path), execute.Project(tmp_path, "_build/page/one")
    mine, told = text([("SS", "k = 3", "exact", 4, 1.5, None)]), {"x": "mine"}
    figure = {"mystnb": {"figure": {"name": "fig-one"}}}
    for project, table, spec in ((book, text(), TOLD), (variant, mine, told)):
        data = {"image/svg+xml": "<svg/>", "text/csv": table, twins.SPEC: spec}
        cells = [{"metadata": figure, "outputs": [{"data": data}]}]
        project.executed("book/p").parent.mkdir(parents=True)
        project.executed("book/p").write_text(json.dumps({"cells": cells}))
    app = types.SimpleNamespace(
        srcdir=tmp_path,
        builder=types.SimpleNamespace(format="html"),
        config=types.SimpleNamespace(ldpkit_build="_build/page/one", ldpkit_variant="k = 3"),
    )

    def found():
        ((_, _, data),) = twins._found(app, "book/p")
        return data

    for path in (book.source("book/p"), book.html("book/p")):
        path.parent.mkdir(parents=True)
        path.touch()
    assert found() == twins.data(TOLD, text()) | {"run": {"csv": mine, "label": "k = 3"}}
    book.html("book/p").unlink()
    assert found() == twins.data(told, mine)  # no book is built

    name = next(iter(CARDS))
    words = [cards.card(PROJECT, f"book/{name}", {"cells": []}, v).astext() for v in (True, False)]
    assert [said.startswith("In the book: ") for said in words] == [True, False]


def test_only_what_plots_figure_drew_has_a_twin():
    def cell(data):
        about = {"mystnb": {"figure": {"name": f"fig-{len(data)}"}}}
        return {"metadata": about, "outputs": [{"data": {"image/svg+xml": "<svg/>"} | data}]}

    plain, drawn = cell({"text/csv": text()}), cell({"text/csv": text(), twins.SPEC: TOLD})
    assert [(i, name) for i, name, _ in twins.of({"cells": [plain, drawn]})] == [(1, "fig-2")]


# --- cards ----------------------------------------------------------------------------------------

ANSWER = ":::{div} answer"
"""Pages with this part answer their question themselves, see `ldpbook.reading`."""
CARDS = {page: told for page, told in cards.load(ROOT).items() if "question" in told}
LEDGER = pd.concat(pd.read_csv(path) for path in (ROOT / "data" / "claims").glob("*.csv"))


def test_every_page_of_a_papers_figure_has_a_card_and_every_card_a_page():
    papers = ("ldp_auditor", "refinement", "kv_auditor", "rad", "ldp_sgd")
    pages = [p for p in PROJECT.notebooks() if p.split("/")[1] in papers]
    others = [p for p in pages if ANSWER not in PROJECT.source(p).read_text()]
    assert sorted(CARDS) == sorted(p.removeprefix("book/") for p in others)
    known = {"differs", "tile"}
    assert all(set(told) <= known for told in cards.load(ROOT).values() if "question" not in told)


def lacks(page, told):
    """What is wrong about a card, which types no number and names what is there."""
    if ("claim" in told) == ("says" in told):
        yield "a claim or words, and not both"
    words = " ".join(told.get(part, "") for part in ("question", "answer", "says"))
    if re.search(r"\d", words.replace("LDP-Auditor", "") + told.get("glance", {}).get("title", "")):
        yield "words without a number"
    if "claim" in told and LEDGER.set_index("id").loc[told["claim"], "page"] != page:
        yield "a claim of this page"
    if "glance" in told:
        cells = json.loads(PROJECT.source(f"book/{page}").read_text())["cells"]
        about = [c["metadata"].get("mystnb", {}).get("figure", {}) for c in cells]
        if told["glance"]["figure"] not in [figure.get("name") for figure in about]:
            yield "a figure of this page"
        if set(told["glance"]) != {"figure", "title", "keep", "by", "over"}:
            yield "a whole glance"


def test_cards_type_no_number_and_name_what_is_there():
    assert [(page, lack) for page, told in CARDS.items() for lack in lacks(page, told)] == []


def test_a_glance_takes_its_bars_from_the_figures_own_rows():
    table = text([
        ("GRR", "k = 2", "exact", 1, 0.9, 0.01), ("GRR", "k = 9", "exact", 1, 0.8, 0.01),
        ("GRR", "k = 9", "exact", 2, 1.8, None), ("GRR", "k = 9", "this run", 1, 0.7, None),
        ("GRR", "claim", "claim", 1, 1, None), ("GRR", "claim", "claim", 2, 2, None),
        ("BLH", "k = 9", "exact", 1, 0.25, 0.01), ("BLH", "claim", "claim", None, 0.5, None),
    ])  # fmt: skip
    told = {"title": "Share", "by": "panel", "keep": {"source": "exact", "series": "last", "x": 1}}
    bars = [("GRR", 0.8), ("BLH", 0.5)]
    assert cards.glance(told, {"x": "ε"}, table) == ("Share (k = 9, ε 1)", bars)
    told["keep"]["x"] = 3
    assert cards.glance(told, {"x": "ε"}, table)[1] == []
    table = text([
        ("A", "found", "exact", 1, 0.3, None), ("A", "printed", "claim", 1, 0.2, None),
        ("A", "other", "claim", 1, 9, None), ("B", "found", "exact", 1, 4000, None),
    ])  # fmt: skip
    told["keep"] = {"source": "exact", "x": 1}
    for over, bars in (
        ("printed", [("A", pytest.approx(1.5))]),
        *((plain, [("A", 0.3), ("B", 4000)]) for plain in ("one", "largest")),
    ):
        assert cards.glance(told | {"over": over}, {"x": "ε"}, table) == ("Share (ε 1)", bars)


def test_a_bar_is_as_long_as_its_share_and_a_line_marks_the_claim_beyond_which_it_goes(monkeypatch):
    monkeypatch.setattr(cards.twins, "of", lambda _: [(0, "fig", {"spec": {"x": "ε"}})])
    told = {"figure": "fig", "title": "<T>", "by": "panel", "keep": {"source": "exact"}}
    for over, values, widths, digits, marked in [
        ("claim", [0.5, 0.25], ["50.0", "25.0"], ["0.50", "0.25"], []),
        ("claim", [2.0, 0.5], ["100.0", "25.0"], ["2.00", "0.50"], ["50.0"]),
        ("one", [0.5, -1e-17], ["50.0", "0.0"], ["0.50", "0.00"], []),
        ("largest", [4000.0, 1e-5], ["100.0", "0.0"], ["4,000", "1e-05"], []),
    ]:
        rows = [(f"p{i}", "s", "exact", 1, y, None) for i, y in enumerate(values)]
        rows += [(f"p{i}", "claim", "claim", 1, 1, None) for i in range(len(values))]
        figure = (0, "fig", "", text(rows))
        monkeypatch.setattr(cards.provenance, "figures", lambda _: [figure])
        made = cards.drawn(told | {"over": over}, {})
        assert "&lt;T&gt;" in made and re.findall(r"width:([\d.]+)%", made) == widths
        assert re.findall(r"<span>([^<]+)</span></li>", made) == digits
        assert sorted(set(re.findall(r"left:([\d.]+)%", made))) == marked


def test_every_glance_shows_something_where_the_page_was_executed():
    """At the papers' own scale; a first look may lack the rows, and then shows none."""
    wrong = []
    for page in [page for page, told in CARDS.items() if "glance" in told]:
        place = PROJECT.executed(f"book/{page}", ".json")
        if place.exists() and not json.loads(place.read_text()).get("parameters"):
            notebook = json.loads(PROJECT.executed(f"book/{page}").read_text())
            count = cards.drawn(CARDS[page]["glance"], notebook).count("<li>")
            wrong += [] if 2 <= count <= 16 else [(page, count)]
    assert wrong == []


def test_a_verdict_says_what_was_found_and_what_the_test_is():
    row = {"verdict": "holds in part: BLH", "found": 0.91234, "relation": ">=", "published": "0.9"}
    assert "0.9123 where the test is ≥ 0.9" in cards.verdict(row)
    row |= {"verdict": "cannot be checked here: other data", "found": None}
    assert cards.verdict(row) == "Cannot be checked here: other data."


def test_a_card_counts_what_the_build_found_and_is_silent_where_it_found_nothing(tmp_path):
    project = execute.Project(tmp_path)
    project.build.mkdir()
    verdicts = ["holds", "holds", "does not hold", "cannot be checked here: other data"]
    pd.DataFrame({"page": "p/a", "verdict": verdicts}).to_csv(project.build / "claims.csv")
    items = [("p/fig1", "p/a", "reproduced", 1200, 1100), ("p/fig2", "p/b", "other data", 0, 0)]
    items = pd.DataFrame(items, columns=["item", "page", "state", "compared", "agree"])
    items.to_csv(project.build / "figures.csv")
    claims, numbers = cards.counted(project, "book/p/a")
    assert "holds: 2; does not hold: 1." in claims
    assert "1,100 of 1,200 compared numbers of Figure 1 agree" in numbers
    assert cards.counted(project, "book/p/b") == cards.counted(project, "book/p/c") == []


def test_built_pages_hold_the_rows_of_their_tables():
    """Where this checkout has been built: every specification's rows are the figure's CSV."""

    def same(a, b):
        return str(a) == b or (a is None and b in ("", "nan")) or float(a) == float(b)

    wrong = []
    for page in PROJECT.notebooks():
        path = PROJECT.executed(page)
        notebook = json.loads(path.read_text()) if path.exists() else {"cells": []}
        tables = {name: table for _, name, _, table in twins.provenance.figures(notebook)}
        for _, name, found in twins.of(notebook):
            rows, held = list(csv.reader(io.StringIO(tables[name])))[1:], decoded(found)
            good = len(rows) == len(held)
            good = good and len(found["spec"].get("along", {"values": rows})["values"]) == len(rows)
            pairs = [pair for row, given in zip(held, rows) for pair in zip(row[3:], given[3:])]
            good = good and [row[:3] for row in held] == [given[:3] for given in rows]
            wrong += [] if good and all(same(*pair) for pair in pairs) else [(page, name)]
    assert wrong == []
