"""What the interactive figures are drawn from, without a browser."""

import json
import math
import re
from types import SimpleNamespace

import pandas as pd

from ldpbook import execute, plots, provenance

ROWS = [
    ("OUE, </script>", "k = 2", "this run", 0.5, 1e-9, 0.25),
    ("OUE, </script>", "", "claim", None, 2 / 3, None),
    ("SS", 'k = "3"', "exact", 4, math.inf, None),
]
TOLD = {"x": "ε", "y": "rate", "kind": "lines", "ylim": (math.nan, None), "z": True}


def text(rows=ROWS):
    table = pd.DataFrame(rows, columns=plots.COLUMNS).astype({"x": float, "error": float})
    return table.to_csv(index=False, float_format="%.10g", lineterminator="\n")


def twin(spec, table):
    data = {"image/svg+xml": "<svg/>", "text/csv": table, provenance.SPEC: spec}
    return provenance.Drawn(0, "fig-one", data).twin


def test_a_twin_holds_every_row_of_the_table_and_is_valid_json_inside_a_page():
    found = twin(TOLD, text())
    names = [found["names"][column] for column in ("panel", "series", "source")]
    rows = [[*(names[i][row[i]] for i in range(3)), *row[3:]] for row in found["rows"]]
    assert rows == [
        ["OUE, </script>", "k = 2", "this run", 0.5, 1e-9, 0.25],
        ["OUE, </script>", "", "claim", None, 0.6666666667, None],
        ["SS", 'k = "3"', "exact", 4, "inf", None],
    ]
    element = provenance.element("book/p/fig1", "fig-one", found)
    script = r'="p/fig1/fig-one"[^>]*><script type="application/json">(.*)</script>'
    inside = re.search(script, element)[1]
    assert "</script" not in inside
    assert json.loads(inside) == found and found["spec"]["ylim"] == [None, None]
    # many rows come in a script of their own
    found = twin(TOLD, text([("", "s", "exact", i, i / 7, None) for i in range(5000)]))
    assert len(provenance.written(found)) > provenance.INLINE
    element = provenance.element("book/p/fig1", "fig-one", found)
    assert 'data-src="../../_figures/fig-one.js"' in element and len(element) < 150


def test_a_variant_is_drawn_into_the_axes_of_the_book_and_its_card_is_the_books(tmp_path):
    book, variant = execute.Project(tmp_path), execute.Project(tmp_path, "_build/page/one")
    mine, told = text([("SS", "k = 3", "exact", 4, 1.5, None)]), {"x": "mine"}
    figure = {"mystnb": {"figure": {"name": "fig-one"}}}
    for project, table, spec in ((book, text(), TOLD), (variant, mine, told)):
        data = {"image/svg+xml": "<svg/>", "text/csv": table, provenance.SPEC: spec}
        cells = [{"metadata": figure, "outputs": [{"data": data}]}]
        project.executed("book/p").parent.mkdir(parents=True)
        project.executed("book/p").write_text(json.dumps({"cells": cells}))
    config = SimpleNamespace(ldpkit_build="_build/page/one", ldpkit_variant="k = 3")
    app = SimpleNamespace(srcdir=tmp_path, builder=SimpleNamespace(format="html"), config=config)

    def found():
        return provenance.twins(app, "book/p")["fig-one"]

    for path in (book.source("book/p"), book.html("book/p")):
        path.parent.mkdir(parents=True)
        path.touch()
    assert found() == twin(TOLD, text()) | {"run": {"csv": mine, "label": "k = 3"}}
    book.html("book/p").unlink()
    assert found() == twin(told, mine)  # no book is built


def test_only_what_plots_figure_drew_has_a_twin():
    def cell(data):
        about = {"mystnb": {"figure": {"name": f"fig-{len(data)}"}}}
        return {"metadata": about, "outputs": [{"data": {"image/svg+xml": "<svg/>"} | data}]}

    plain, drawn = cell({"text/csv": text()}), cell({"text/csv": text(), provenance.SPEC: TOLD})
    shown = provenance.figures({"cells": [plain, drawn]})
    assert [figure.name for figure in shown if figure.twin] == ["fig-2"]
