"""Figures: the table that is drawn, where its points stand, how they look, and that all of it is
explained."""

import io
import itertools
import json
import math
import warnings

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from curves import because
from kv_pages import summary, triples

from ldpbook import plots

mpl.use("Agg")
SPEC = "application/vnd.ldpkit.figure+json"


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def table(*rows):
    """Rows of panel, series, source, x, y and, for some, error."""
    made = pd.DataFrame([(*row, None)[:6] for row in rows], columns=plots.COLUMNS)
    return made.astype({"y": float, "error": float})


def curve(source, ys, xs=(1, 2, 4), panel="", series=""):
    return table(*((panel, series, source, x, y) for x, y in zip(xs, ys)))


def both(*tables):
    return pd.concat(tables, ignore_index=True)


def draw(rows, **look):
    """The figure of a table, laid out; a warning is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = plots.figure(rows, **{"x": "claimed ε", "y": "empirical ε"} | look)
        figure.draw_without_rendering()
    return figure


def said(legend):
    return [text.get_text() for text in legend.get_texts()]


def test_the_table_that_is_drawn_stays_with_the_figure_and_is_its_csv():
    from IPython.core.interactiveshell import InteractiveShell

    run, paper = ("OUE", "k = 2", "this run", 0.5, 1e-9, 0.25), ("SS", "k = 2", "paper", 4, 1)
    rows = table(run, ("OUE", "", "claim", None, 2 / 3), paper)
    shell = InteractiveShell.instance()
    try:
        plots.use()
        shown, _ = shell.display_formatter.format(draw(rows, yscale="log", floor=0.1))
        assert "text/csv" not in shell.display_formatter.format(plt.figure())[0]
        plain = plots.attach(plt.figure(), rows)  # which plots.figure could not draw again
        assert SPEC not in shell.display_formatter.format(plain)[0] and plots.data(plain) is rows
    finally:
        InteractiveShell.clear_instance()
    missing = {c: [""] for c in ("x", "y", "error")}
    back = pd.read_csv(io.StringIO(shown["text/csv"]), keep_default_na=False, na_values=missing)
    pd.testing.assert_frame_equal(back, rows, check_dtype=False, rtol=1e-9)
    pd.testing.assert_frame_equal(plots.data(draw(rows)), rows)
    told = shown[SPEC]
    assert (told["yscale"], told["floor"], told["columns"], told["own"]) == ("log", 0.1, 4, False)
    json.dumps(told)  # a notebook is JSON


def test_exact_values_bring_the_standard_error_that_a_z_score_needs_but_not_of_rare_events():
    cells = CELLS.assign(se=0.05, chance=[np.nan, 0.3, np.nan, np.nan])
    rows = plots.tidy(cells, panel="{protocol}", x="epsilon")
    exact = rows[rows["source"] == "exact"].set_index(["panel", "x"])["error"]
    assert exact[("SS", 4.0)] == exact[("OUE", 2.0)] == 0.05 and np.isnan(exact[("SS", 1.0)])
    assert plots.tidy(CELLS, x="epsilon").query("source == 'exact'")["error"].isna().all()
    bars = draw(rows).axes[0].containers  # error bars of runs alone
    assert len(bars) == 1
    legend = said(draw(rows).legends[0])
    assert "exact" in legend and "this run, mean ± sd" in legend


CELLS = pd.DataFrame(
    [("SS", 2, 4.0, 3.0, 0.1, 3.1), ("SS", 2, 1.0, 0.9, 0.2, 1.0),
     ("OUE", 25, 2.0, np.nan, 0.3, 1.5), ("OUE", 25, 4.0, 2.0, 0.4, np.nan)],
    columns=["protocol", "k", "epsilon", "mean", "spread", "exact"],
)  # fmt: skip


def test_cells_become_rows_from_left_to_right_and_what_is_missing_no_row():
    named = {"panel": "{protocol}", "series": "k = {k}", "x": "epsilon"}
    rows = plots.tidy(CELLS, **named, claim={"claim": "epsilon", "ceiling": 12})
    expected = table(
        ("SS", "k = 2", "this run", 1, 0.9, 0.2),
        ("SS", "k = 2", "this run", 4, 3.0, 0.1),
        ("OUE", "k = 25", "this run", 4, 2.0, 0.4),
        ("SS", "k = 2", "exact", 1, 1.0),
        ("SS", "k = 2", "exact", 4, 3.1),
        ("OUE", "k = 25", "exact", 2, 1.5),
        ("SS", "claim", "claim", 1, 1),
        ("SS", "claim", "claim", 4, 4),
        ("OUE", "claim", "claim", 2, 2),
        ("OUE", "claim", "claim", 4, 4),
        ("SS", "ceiling", "claim", None, 12),
        ("OUE", "ceiling", "claim", None, 12),
    )
    pd.testing.assert_frame_equal(rows, expected, check_dtype=False)


def test_a_path_runs_along_another_column_and_names_keep_their_order():
    exact, turned = {"exact": "exact"}, CELLS[:2].assign(turn=[1, 2])
    path = plots.tidy(turned, x="mean", along="turn", sources=exact)
    assert list(path["x"]) == [3.0, 0.9] and list(path["y"]) == [3.1, 1.0]
    run = {"this run": ("mean", "spread")}
    turned = plots.tidy(CELLS.iloc[[1, 0]], x="exact", along="mean", sources=run)
    assert list(turned["x"]) == [1.0, 3.1] and list(turned["error"]) == [0.2, 0.1]
    assert list(plots.tidy(CELLS, x="protocol", sources=exact)["x"]) == ["SS", "SS", "OUE"]


def test_every_panel_is_titled_and_shows_its_own_rows():
    rows = both(*(curve("exact", [i, i, i], panel=name) for i, name in enumerate("ABCDE")))
    axes = (figure := draw(rows, columns=3)).axes
    assert [axis.get_title() for axis in axes] == list("ABCDE")
    assert [list(axis.lines[0].get_ydata()) for axis in axes] == [[i] * 3 for i in range(5)]
    labelled = [any(label.get_visible() for label in axis.get_xticklabels()) for axis in axes]
    assert labelled == [False, False, True, True, True]
    assert (figure.get_supxlabel(), figure.get_supylabel()) == ("claimed ε", "empirical ε")


def test_panels_that_share_a_scale_show_the_points_of_all_of_them():
    ys = {"A": [0.5, 0.7, 1.1], "B": [3.0, 5.0, 12.0]}
    tables = [curve("this run", ys[panel], panel=panel) for panel in ys]
    for order in (tables, tables[::-1]):
        for axis in draw(both(*order), yscale="log", floor=0.1).axes:
            low, high = axis.get_ylim()
            assert low == pytest.approx(0.09) and high > 12
    assert draw(both(*tables), share="x").axes[0].get_ylim()[1] < 3


def test_a_claim_at_unequal_budgets_is_a_straight_line_and_its_budgets_are_the_ticks():
    epsilon = [0.25, 0.5, 0.75, 1, 2, 4, 6, 10]
    rows = curve("claim", epsilon, epsilon, series="claim")
    for scale in ("log", "linear"):
        (axis,) = draw(rows, xscale=scale, yscale=scale).axes
        x, y = axis.transData.transform(np.column_stack(axis.lines[0].get_data())).T
        assert np.ptp(np.diff(y) / np.diff(x)) < 1e-9
        assert list(np.union1d(axis.get_xticks(), axis.get_xticks(minor=True))) == epsilon


AXES = [
    ([0.25, 0.5, 0.75, 1, 2, 4, 6, 10], "log"),
    ([0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 4.0, 6.0], "log"),
    ([1], "log"),
    ([0, 10, 30, 100, 300, 1000], "symlog"),
    ([0], "symlog"),
    ([0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 1.0, 1.25, 1.5], "linear"),
    ([5, 10, 25, 50, 75, 100, 250, 500], "log"),
]


def test_labels_of_ticks_do_not_touch():
    for size, (values, scale) in itertools.product([(1.9, 2.2), (2.9, 2.5)], AXES):
        (axis,) = draw(curve("exact", np.ones(len(values)), values), size=size, xscale=scale).axes
        labels = [label for label in axis.get_xticklabels() if label.get_text()]
        boxes = [label.get_window_extent() for label in labels]
        assert boxes and all(a.x1 < b.x0 for a, b in itertools.pairwise(boxes)), (size, values)
        assert {float(label.get_text()) for label in labels} <= set(map(float, values))
        plt.close("all")


def test_a_logarithmic_axis_has_plain_labels():
    for low, high, expected in [(0.17, 0.22, "0.2"), (0.01, 0.1, "0.05"), (0.001, 100, "0.01")]:
        many = np.geomspace(low, high, 40)
        (axis,) = draw(curve("exact", many, many), xscale="log", yscale="log").axes
        for labels in (axis.get_xticklabels(which="both"), axis.get_yticklabels(which="both")):
            texts = [label.get_text() for label in labels if label.get_text()]
            assert expected in texts and all(x.replace(".", "").isdecimal() for x in texts)


def test_a_marker_below_the_floor_stands_on_it_and_a_line_leaves_the_panel():
    for source in ("this run", "this run, real reports", "paper", "released code"):
        rows = both(curve(source, [0.0, 0.001, 0.5]), curve("this run", [1, 1, 1], series="other"))
        figure = draw(rows, yscale="log", floor=0.1)
        assert [0.1, 0.1, 0.5] in [list(line.get_ydata()) for line in figure.axes[0].lines], source
        assert figure.axes[0].get_ylim()[0] == pytest.approx(0.09)
        assert plots.data(figure)["y"].tolist()[:3] == [0.0, 0.001, 0.5]
    rows = both(curve("exact", [0.001, 0.5, 1.0]), curve("claim", [0.002, 1, 1], series="claim"))
    (axis,) = draw(rows, yscale="log", floor=0.1).axes
    assert [line.get_ydata().tolist() for line in axis.lines] == [[0.001, 0.5, 1.0], [0.002, 1, 1]]


def test_a_single_point_is_drawn_also_one_that_a_logarithmic_axis_does_not_have():
    looks = [("lines", "log", None), ("lines", "log", 0.02), ("bars", "linear", None)]
    for y, (kind, scale, floor) in itertools.product([10.0, 0.0, np.nan, np.inf], looks):
        measured = [curve(source, [y], [10], series="k = 2") for source in plots.SOURCES[:5]]
        rows = both(*measured, curve("claim", [y], [10], series="claim"))
        draw(rows, kind=kind, xscale=scale, yscale="log", floor=floor)
        plt.close("all")
    (axis,) = draw(both(curve("exact", [3], [10]), curve("claim", [4], [10], series="claim"))).axes
    assert [line.get_marker() for line in axis.lines] == ["_", "_"]
    assert draw(table()).axes[0].get_title()  # says that there is nothing


def test_rows_without_a_place_are_lines_across_and_up():
    placeless = table(("", "ceiling", "claim", None, 12), ("", "risk", "claim", 2.5, None))
    _, across, up = draw(both(curve("exact", [1, 2, 3]), placeless)).axes[0].lines
    assert list(across.get_ydata()) == [12, 12] and list(up.get_xdata()) == [2.5, 2.5]
    assert across.get_linestyle() != up.get_linestyle()


def test_bars_stand_beside_each_other_with_their_errors_exact_values_and_claims():
    rows = [("", "claim", "claim", "SS", 4.0)]
    for k, x, y in (("a", "GRR", 1.0), ("a", "SS", 2.0), ("b", "SS", 3.0)):
        rows += [("", k, "this run", x, y, 0.5), ("", k, "exact", x, y + 0.1)]
    (axis,) = draw(table(*rows), kind="bars").axes
    assert [label.get_text() for label in axis.get_xticklabels()] == ["GRR", "SS"]
    held = [c for c in axis.containers if isinstance(c, mpl.container.BarContainer)]
    bars = [bar for one in held for bar in one]
    assert [bar.get_height() for bar in bars] == [1, 2, 3] and axis.get_ylim()[0] == 0
    assert [round(bar.get_x() + bar.get_width() / 2, 6) for bar in bars] == [-0.2, 0.8, 1.2]
    segments = [np.round(part, 6).tolist() for c in axis.collections for part in c.get_segments()]
    claim, exact, error = [[0.55, 4.0], [1.45, 4.0]], [[-0.4, 1.1], [0, 1.1]], [[-0.2, 0.5], [-0.2, 1.5]]  # fmt: skip
    assert claim in segments and exact in segments and error in segments


def test_the_legend_names_every_series_source_and_claim_once():
    named = itertools.product("AB", ("k = 2", "k = 5"), ("this run", "exact", "paper"))
    rows = [curve(source, [1, 2, 3], panel=panel, series=k) for panel, k, source in named]
    figure = draw(both(*rows, curve("claim", [1, 2, 3], panel="A", series="claimed ε")), z=True)
    (legend,) = figure.legends
    sources = ["the paper", "exact expectation", "this run"]
    assert said(legend) == ["k = 2", "k = 5", *sources, "claimed ε"]
    handles = legend.get_lines()
    drawn = next(one for one in figure.axes[0].lines if one.get_marker() == "s")
    assert (handles[1].get_color(), handles[1].get_marker()) == (drawn.get_color(), "s")
    assert handles[5].get_linestyle() == "--"


def test_one_sign_means_one_series_also_where_panels_have_their_own():
    names = [f"series {i}" for i in range(12)]
    rows = both(
        *(
            curve("this run", [1, 2, 3], panel=f"panel {i % 4}", series=name)
            for i, name in enumerate(names)
        )
    )
    legends = [axis.get_legend() for axis in draw(rows, own=True).axes]
    signs = [line for legend in legends for line in legend.legend_handles]
    looks = {(line.get_color(), line.get_marker()) for line in signs}
    assert len(signs) == len(looks) == len(names)


def test_the_legend_says_what_error_bars_are_and_whether_exact_is_what_runs_tend_to():
    rows = both(table(("", "", "this run", 1, 1, 0.5)), curve("exact", [1, 2, 3]))
    shown = said(draw(rows, error="± 2 standard errors").legends[0])
    assert shown == ["exact", "this run, ± 2 standard errors"]
    assert said(draw(rows, z=True).legends[0]) == ["exact expectation", "this run, mean ± sd"]


def test_large_numbers_of_a_table_are_set_apart_and_none_is_rounded_to_nothing():
    table = pd.DataFrame({"reports": [100_000_000, 12], "mean": [1037.925, None], "name": "1000"})
    shown = plots.show(table, precision=1).to_html()
    assert all(f">{said}<" in shown for said in ("100,000,000", "12", "1,037.9", "", "1000"))
    for entry, said in [
        (1e-5, "10⁻⁵"), (-2.07e-7, "-2.1·10⁻⁷"), (4e-4, "4·10⁻⁴"), (6e-4, "0.001"), (0.0, "0.000"),
        (-0.0, "0.000"), (-1e-17, "0.000"), (1e-17, "10⁻¹⁷"), (-1.5, "-1.500"), (math.inf, "inf"),
        (np.float32(0.5), "0.500"), (True, "True"), (np.int64(1234), "1,234"), ("1e-9", "1e-9"),
    ]:  # fmt: skip
        shown = plots.show(pd.DataFrame({"x": [entry]}, dtype=object)).to_html()
        assert f">{said}</td>" in shown, entry


def test_a_number_in_a_sentence_says_when_it_is_none():
    assert plots.number(1.005, 1) == "1.0" and plots.number(np.float64(-0.25), 1, " %") == "-0.2 %"
    assert plots.number(pd.Series([2.0, 3.0], index=[7, 8])) == "2.00"
    assert plots.number([]) == "(not in this run)"
    for none in (math.nan, math.inf, -math.inf, pd.Series([math.nan, 1.0])):
        assert plots.number(none, 1, " %") == "(no number)"


def test_a_mean_is_no_number_if_a_run_has_none():
    runs = pd.DataFrame(
        {
            "series": ["a", "a", "b", "b"],
            "epsilon": 1.0,
            "round": 1,
            "run": [0, 1, 0, 1],
            "limit": 0.5,
            "lower": 0.0,
        }
    )
    cell = summary(runs.assign(epsilon_emp=[1.0, 2.0, 1.0, math.nan]))
    assert cell["mean"].tolist() == [1.5, pytest.approx(math.nan, nan_ok=True)]
    shown = triples(cell.assign(paper=math.nan)).to_html()
    assert "1.5000 ± 0.7071" in shown and "(no number)\n0.5000" in shown and "nan" not in shown


def notes(figure):
    """The words inside the panels of a figure, with the points that they are about."""
    return {
        text.get_text(): text.xy
        for axis in figure.axes
        for text in axis.texts
        if hasattr(text, "xy")
    }


def test_a_note_points_at_the_exact_value_and_is_off_where_it_is_false_or_has_no_point():
    rows = both(
        curve("this run", (1.1, 2.1, 4.1)),
        curve("exact", (1, 2, 4)),
        curve("exact", (7, 8), (1, 2), panel="other"),
    )
    said = plots.Note("because", "", 2, (0.5, 0.9))
    assert notes(draw(rows, notes=[said])) == {"because": (2, 2)}
    assert notes(draw(rows, notes=[said._replace(panel="other")])) == {"because": (2, 8)}
    for off in ({"when": False}, {"x": 3}, {"series": "OUE"}, {"panel": "OUE"}):
        assert notes(draw(rows, notes=[said._replace(**off)])) == {}


def test_a_note_points_at_its_own_bar():
    rows = table(
        *(("", series, "this run", x, 1.0) for series in ("SUE", "OUE") for x in ("a", "b"))
    )
    figure = draw(rows, kind="bars", notes=[plots.Note("because", "OUE", "b", (0.5, 0.9))])
    ((place, height),) = notes(figure).values()
    (bar,) = [
        bar for bar in figure.axes[0].patches if bar.get_x() < place < bar.get_x() + bar.get_width()
    ]
    assert height == 1 and bar.get_facecolor()[:3] == mpl.colors.to_rgb(plots.COLOURS[1])


def test_a_reason_is_given_for_the_cell_that_is_described_and_for_no_other():
    cells = pd.DataFrame({"mechanism": ["SS", "SS"], "epsilon": [2, 4], "mse": [0.5, 0.25]})
    given = {"series": "ε = {epsilon}", "mechanism": "SS"}
    note = plots.Note("because", "ε = 4", 0.25, (0.5, 0.9), "SS")
    assert because("because", cells, (0.5, 0.9), epsilon=4, **given) == [note]
    assert because("because", cells, (0.5, 0.9), epsilon=3, **given) == []
