"""Figures: the table that is drawn, where its points stand, how they look, and that all of it is
explained."""

import ast
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
from notebooks import NOTEBOOKS, PROJECT, cells_of

from ldpbook import plots

mpl.use("Agg")
SPEC = "application/vnd.ldpkit.figure+json"


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def table(*rows):
    """Rows of panel, series, source, x, y and, for some, error."""
    return pd.DataFrame([(*row, None)[:6] for row in rows], columns=plots.COLUMNS).astype(
        {"y": float, "error": float}
    )


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


def lines(axis, **wanted):
    """Lines of an axis whose properties are as wanted."""
    return [
        line
        for line in axis.lines
        if all(getattr(line, f"get_{name}")() == value for name, value in wanted.items())
    ]


# --- the table ------------------------------------------------------------------------------------


def test_the_table_that_is_drawn_stays_with_the_figure_and_is_its_csv():
    from IPython.core.interactiveshell import InteractiveShell

    rows = table(
        ("OUE", "k = 2", "this run", 0.5, 1e-9, 0.25),
        ("OUE", "", "claim", None, 2 / 3),
        ("SS", "k = 2", "paper", 4, 1),
    )
    shell = InteractiveShell.instance()
    try:
        plots.use()
        shown, _ = shell.display_formatter.format(draw(rows, yscale="log", floor=0.1))
        assert "text/csv" not in shell.display_formatter.format(plt.figure())[0]
        plain = plots.attach(plt.figure(), rows)  # which plots.figure could not draw again
        assert SPEC not in shell.display_formatter.format(plain)[0]
    finally:
        InteractiveShell.clear_instance()
    back = pd.read_csv(
        io.StringIO(shown["text/csv"]),
        keep_default_na=False,
        na_values={c: [""] for c in ("x", "y", "error")},
    )
    pd.testing.assert_frame_equal(back, rows, check_dtype=False, rtol=1e-9)
    pd.testing.assert_frame_equal(plots.data(draw(rows)), rows)
    told = shown[SPEC]
    assert (told["yscale"], told["floor"], told["columns"], told["own"]) == ("log", 0.1, 4, False)
    json.dumps(told)  # a notebook is JSON


def test_what_plain_matplotlib_draws_can_have_its_table_too():
    figure = plots.attach(plt.figure(), rows := pd.DataFrame({"asr": [0.5], "epg": [1.0]}))
    assert plots.data(figure) is rows


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
    {
        "protocol": ["SS", "SS", "OUE", "OUE"],
        "k": [2, 2, 25, 25],
        "epsilon": [4.0, 1.0, 2.0, 4.0],
        "mean": [3.0, 0.9, np.nan, 2.0],
        "spread": [0.1, 0.2, 0.3, 0.4],
        "exact": [3.1, 1.0, 1.5, np.nan],
    }
)


def test_cells_become_rows_from_left_to_right_and_what_is_missing_no_row():
    rows = plots.tidy(
        CELLS,
        panel="{protocol}",
        series="k = {k}",
        x="epsilon",
        claim={"claim": "epsilon", "ceiling": 12},
    )
    nan = None
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
        ("SS", "ceiling", "claim", nan, 12),
        ("OUE", "ceiling", "claim", nan, 12),
    )
    pd.testing.assert_frame_equal(rows, expected, check_dtype=False)


def test_a_path_runs_along_another_column_and_names_keep_their_order():
    path = plots.tidy(
        CELLS[:2].assign(turn=[1, 2]), x="mean", along="turn", sources={"exact": "exact"}
    )
    assert list(path["x"]) == [3.0, 0.9] and list(path["y"]) == [3.1, 1.0]
    turned = plots.tidy(
        CELLS.iloc[[1, 0]], x="exact", along="mean", sources={"this run": ("mean", "spread")}
    )
    assert list(turned["x"]) == [1.0, 3.1] and list(turned["error"]) == [0.2, 0.1]
    assert list(plots.tidy(CELLS, x="protocol", sources={"exact": "exact"})["x"]) == [
        "SS",
        "SS",
        "OUE",
    ]


# --- where things stand ---------------------------------------------------------------------------


def test_every_panel_is_titled_and_shows_its_own_rows():
    figure = draw(
        both(*(curve("exact", [i, i, i], panel=name) for i, name in enumerate("ABCDE", 1))),
        columns=3,
    )
    assert [axis.get_title() for axis in figure.axes] == list("ABCDE")
    assert [list(lines(axis)[0].get_ydata()) for axis in figure.axes] == [
        [i] * 3 for i in range(1, 6)
    ]
    labelled = [
        any(label.get_visible() for label in axis.get_xticklabels()) for axis in figure.axes
    ]
    assert labelled == [False, False, True, True, True]
    assert (figure.get_supxlabel(), figure.get_supylabel()) == ("claimed ε", "empirical ε")


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_panels_that_share_a_scale_show_the_points_of_all_of_them(order):
    tables = [
        curve("this run", [0.5, 0.7, 1.1], panel="A"),
        curve("this run", [3.0, 5.0, 12.0], panel="B"),
    ]
    for axis in draw(both(*(tables[i] for i in order)), yscale="log", floor=0.1).axes:
        low, high = axis.get_ylim()
        assert low == pytest.approx(0.09) and high > 12
    alone = draw(both(*tables), share="x")
    assert alone.axes[0].get_ylim()[1] < 3


@pytest.mark.parametrize("scale", ["log", "linear"])
def test_a_claim_at_unequal_budgets_is_a_straight_line_and_its_budgets_are_the_ticks(scale):
    epsilon = [0.25, 0.5, 0.75, 1, 2, 4, 6, 10]
    (axis,) = draw(
        curve("claim", epsilon, epsilon, series="claim"), xscale=scale, yscale=scale
    ).axes
    x, y = axis.transData.transform(np.column_stack(axis.lines[0].get_data())).T
    assert np.ptp(np.diff(y) / np.diff(x)) < 1e-9
    assert list(np.union1d(axis.get_xticks(), axis.get_xticks(minor=True))) == epsilon


@pytest.mark.parametrize("size", [(1.9, 2.2), (2.9, 2.5), (6.4, 3.4)])
@pytest.mark.parametrize(
    "values, scale",
    [
        ([0.25, 0.5, 0.75, 1, 2, 4, 6, 10], "log"),
        ([0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 4.0, 6.0], "log"),
        ([1], "log"),
        ([0, 10, 30, 100, 300, 1000], "symlog"),
        ([0], "symlog"),
        ([0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 1.0, 1.25, 1.5], "linear"),
        ([5, 10, 25, 50, 75, 100, 250, 500], "log"),
    ],
)
def test_labels_of_ticks_do_not_touch(size, values, scale):
    (axis,) = draw(curve("exact", np.ones(len(values)), values), size=size, xscale=scale).axes
    boxes = [label.get_window_extent() for label in axis.get_xticklabels() if label.get_text()]
    assert boxes and all(a.x1 < b.x0 for a, b in itertools.pairwise(boxes))
    assert {float(label.get_text()) for label in axis.get_xticklabels()} <= set(map(float, values))


def test_a_scale_with_zero_is_linear_up_to_the_smallest_value_above_it():
    (axis,) = draw(curve("exact", [1, 2, 3, 4], [0, 10, 100, 1000]), xscale="symlog").axes
    zero, *rest = axis.xaxis.get_transform().transform(np.array([0, 10, 100, 1000]))
    assert zero == 0 and np.diff(rest) == pytest.approx(rest[1] - rest[0])
    assert axis.xaxis.get_transform().transform(np.array([5.0]))[0] == pytest.approx(rest[0] / 2)


@pytest.mark.parametrize(
    "low, high, expected", [(0.17, 0.22, "0.2"), (0.01, 0.1, "0.05"), (0.001, 100, "0.01")]
)
def test_a_logarithmic_axis_has_plain_labels(low, high, expected):
    many = np.geomspace(low, high, 40)
    (axis,) = draw(curve("exact", many, many), xscale="log", yscale="log").axes
    for labels in (axis.get_xticklabels(which="both"), axis.get_yticklabels(which="both")):
        texts = [label.get_text() for label in labels]
        assert expected in texts and all(
            text.replace(".", "").isdecimal() for text in texts if text
        )


@pytest.mark.parametrize("source", ["this run", "this run, real reports", "paper", "released code"])
def test_a_marker_below_the_floor_stands_on_it_and_its_row_keeps_the_value(source):
    rows = both(curve(source, [0.0, 0.001, 0.5]), curve("this run", [1, 1, 1], series="other"))
    figure = draw(rows, yscale="log", floor=0.1)
    assert [0.1, 0.1, 0.5] in [list(line.get_ydata()) for line in figure.axes[0].lines]
    assert figure.axes[0].get_ylim()[0] == pytest.approx(0.09)
    assert plots.data(figure)["y"].tolist()[:3] == [0.0, 0.001, 0.5]


def test_a_line_below_the_floor_leaves_the_panel():
    (axis,) = draw(
        both(curve("exact", [0.001, 0.5, 1.0]), curve("claim", [0.002, 1, 1], series="claim")),
        yscale="log",
        floor=0.1,
    ).axes
    assert [line.get_ydata().tolist() for line in axis.lines] == [[0.001, 0.5, 1.0], [0.002, 1, 1]]


@pytest.mark.parametrize("kind", ["lines", "bars"])
@pytest.mark.parametrize("ys", [[10.0], [0.0], [np.nan], [np.inf]])
def test_a_single_point_is_drawn_also_one_that_a_logarithmic_axis_does_not_have(kind, ys):
    rows = both(
        *(curve(source, ys, [10], series="k = 2") for source in plots.SOURCES[:5]),
        curve("claim", ys, [10], series="claim"),
    )
    for floor in (None, 0.02):
        draw(
            rows,
            kind=kind,
            xscale="log" if kind == "lines" else "linear",
            yscale="log",
            floor=floor,
        )


def test_a_line_of_one_point_is_seen():
    (axis,) = draw(both(curve("exact", [3], [10]), curve("claim", [4], [10], series="claim"))).axes
    assert [line.get_marker() for line in axis.lines] == ["_", "_"]


def test_no_row_is_a_panel_that_says_so():
    (axis,) = draw(table()).axes
    assert axis.get_title() == "nothing to draw at these parameters"


def test_rows_without_a_place_are_lines_across_and_up():
    rows = both(
        curve("exact", [1, 2, 3]),
        table(("", "ceiling", "claim", None, 12), ("", "risk", "claim", 2.5, None)),
    )
    _, across, up = draw(rows).axes[0].lines
    assert list(across.get_ydata()) == [12, 12] and list(up.get_xdata()) == [2.5, 2.5]
    assert across.get_linestyle() != up.get_linestyle()


# --- how things look ------------------------------------------------------------------------------


def test_error_bars_are_those_of_the_table():
    rows = table(
        ("", "", "this run", 1, 3, 0.5),
        ("", "", "this run", 2, 4, 0.25),
        ("", "", "this run", 3, 4),
    )
    (axis,) = draw(rows).axes
    (stems,) = (c for c in axis.collections if isinstance(c, mpl.collections.LineCollection))
    assert [np.ptp(part[:, 1]) for part in stems.get_segments()[:2]] == [1.0, 0.5]


def test_real_reports_are_filled_and_draws_from_the_law_are_hollow():
    rows = both(
        curve("this run", [1, 2, 3], series="a"),
        curve("this run, real reports", [2, 3, 4], series="a"),
    )
    hollow, filled = draw(rows).axes[0].lines
    assert (
        hollow.get_markerfacecolor() == "white"
        and filled.get_markerfacecolor() == filled.get_color() == hollow.get_color()
    )
    bars = draw(rows, kind="bars").axes[0].containers
    assert [bar[0].get_facecolor()[3] for bar in bars] == [0.55, 1.0]


def test_markers_are_joined_only_where_the_panel_has_no_exact_line():
    for exact, style in ((False, "-"), (True, "None")):
        rows = both(
            curve("this run", [1, 2, 3], series="a"),
            *([curve("exact", [1, 2, 3], series="b")] if exact else []),
        )
        (marks,) = lines(draw(rows).axes[0], marker="o")
        assert marks.get_linestyle() == style


def test_the_papers_points_are_crosses_beside_runs_and_a_broad_line_under_exact_values():
    paper = curve("paper", [1, 2, 3])
    (cross,) = lines(draw(both(paper, curve("this run", [1, 2, 3]))).axes[0], marker="x")
    assert cross.get_linestyle() == "None" and cross.get_color() == "black"
    broad, thin = draw(both(paper, curve("exact", [1, 2, 3]))).axes[0].lines
    assert (
        broad.get_linewidth() > 3 * thin.get_linewidth() and broad.get_zorder() < thin.get_zorder()
    )


def test_exact_lines_that_coincide_are_all_seen():
    rows = both(*(curve("exact", [1, 2, 3], series=name) for name in "abc"))
    widths = [line.get_linewidth() for line in draw(rows).axes[0].lines]
    assert widths == sorted(set(widths), reverse=True)


def test_more_series_than_colours_differ_in_their_markers():
    axis = draw(both(*(curve("this run", [i, i, i], series=str(i)) for i in range(23)))).axes[0]
    assert len({(line.get_color(), line.get_marker()) for line in axis.lines}) == 23


def test_bars_stand_beside_each_other_with_their_errors_exact_values_and_claims():
    rows = both(
        *(
            table(("", k, "this run", x, y, 0.5), ("", k, "exact", x, y + 0.1))
            for k, x, y in (("a", "GRR", 1.0), ("a", "SS", 2.0), ("b", "SS", 3.0))
        ),
        table(("", "claim", "claim", "SS", 4.0)),
    )
    (axis,) = draw(rows, kind="bars").axes
    assert [label.get_text() for label in axis.get_xticklabels()] == ["GRR", "SS"]
    bars = [
        bar
        for held in axis.containers
        if isinstance(held, mpl.container.BarContainer)
        for bar in held
    ]
    assert [bar.get_height() for bar in bars] == [1, 2, 3] and axis.get_ylim()[0] == 0
    assert [round(bar.get_x() + bar.get_width() / 2, 6) for bar in bars] == [-0.2, 0.8, 1.2]
    segments = [part.tolist() for c in axis.collections for part in c.get_segments()]
    assert [[0.55, 4.0], [1.45, 4.0]] in [np.round(part, 6).tolist() for part in segments]
    assert [[-0.4, 1.1], [0.0, 1.1]] in [np.round(part, 6).tolist() for part in segments]
    assert [[-0.2, 0.5], [-0.2, 1.5]] in [np.round(part, 6).tolist() for part in segments]


# --- what is said ---------------------------------------------------------------------------------


def test_the_legend_names_every_series_source_and_claim_once():
    rows = [
        curve(source, [1, 2, 3], panel=panel, series=k)
        for panel in "AB"
        for k in ("k = 2", "k = 5")
        for source in ("this run", "exact", "paper")
    ]
    figure = draw(both(*rows, curve("claim", [1, 2, 3], panel="A", series="claimed ε")), z=True)
    (legend,) = figure.legends
    assert said(legend) == [
        "k = 2",
        "k = 5",
        "the paper",
        "exact expectation",
        "this run",
        "claimed ε",
    ]
    handles = legend.get_lines()
    drawn = lines(figure.axes[0], marker="s")[0]
    assert (handles[1].get_color(), handles[1].get_marker()) == (drawn.get_color(), "s")
    assert [h.get_color() for h in handles[3:5]] == ["0.35"] * 2 and handles[
        5
    ].get_linestyle() == "--"


def test_the_legend_says_what_error_bars_are_and_whether_exact_is_what_runs_tend_to():
    rows = both(table(("", "", "this run", 1, 1, 0.5)), curve("exact", [1, 2, 3]))
    assert said(draw(rows, error="± 2 standard errors").legends[0]) == [
        "exact",
        "this run, ± 2 standard errors",
    ]
    assert said(draw(rows, z=True).legends[0]) == ["exact expectation", "this run, mean ± sd"]


def test_panels_may_have_legends_and_colours_of_their_own_under_one_for_the_sources():
    rows = both(
        *(
            curve("exact", [1, 2, 3], panel=panel, series=name)
            for panel, names in (("A", "ab"), ("B", "cd"))
            for name in names
        )
    )
    figure = draw(rows, own=True)
    assert said(figure.legends[0]) == ["exact"] and [
        said(axis.get_legend()) for axis in figure.axes
    ] == [["a", "b"], ["c", "d"]]
    colours = [[line.get_color() for line in axis.lines] for axis in figure.axes]
    assert colours[0] == colours[1] and len(set(colours[0])) == 2
    apart = [line.get_color() for axis in draw(rows).axes for line in axis.lines]
    assert len(set(apart)) == 4


@pytest.mark.parametrize("inches", [2.9, 6.4, 11.6])
def test_a_legend_fits_its_figure_and_is_no_higher_than_it_must(inches):
    figure = draw(
        both(*(curve("exact", [i, i, i], series=f"series {i * 'long '}") for i in range(4))),
        size=(inches, 3),
    )
    box = figure.legends[0].get_window_extent()
    assert box.width <= figure.bbox.width and (inches < 6 or box.width > box.height)


# --- the pages ------------------------------------------------------------------------------------


def hidden(cell):
    return any(tag.startswith(("hide", "remove")) for tag in cell["metadata"].get("tags", []))


def named(source):
    """Dotted names that a cell uses."""
    return {
        ast.unparse(node) for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Attribute)
    }


@pytest.mark.parametrize("page", NOTEBOOKS)
def test_a_page_hides_at_most_25_lines_of_plotting(page):
    """Lines that are not empty, in hidden cells that show a figure or prepare one: name it,
    matplotlib or what draws here."""
    draws = {"plots.figure", "plots.tidy", "plots.attach", "plots.COLUMNS", "plots.data"}
    count = 0
    for cell in cells_of(page):
        source = "".join(cell["source"])
        if cell["cell_type"] == "code" and hidden(cell):
            names = named(source)
            if (
                "figure" in cell["metadata"].get("mystnb", {})
                or names & draws
                or any(n.startswith("plt.") for n in names)
            ):
                count += sum(bool(line.strip()) for line in source.splitlines())
    assert count <= 25


@pytest.mark.parametrize("page", NOTEBOOKS)
def test_every_figure_is_drawn_by_the_one_call_or_has_its_table_attached(page):
    """A page has no legends and no axes of its own, but where matplotlib draws three dimensions or
    colours."""
    for cell in cells_of(page):
        source = "".join(cell["source"])
        if cell["cell_type"] == "code" and "plots.figure(" in source:
            assert not any(
                name.endswith((".legend", ".subplots", ".errorbar")) for name in named(source)
            ), page
        if cell["cell_type"] == "code" and "plt.subplots(" in source:
            assert "plots.attach(figure, " in source, page


def test_helpers_of_pages_draw_by_the_one_call():
    for path in (PROJECT.root / "book").glob("*/*.py"):
        source = path.read_text()
        own = path.parent.name == "ldpbook"
        assert own or "import matplotlib" not in source or "plots.attach(figure" in source, path


def test_large_numbers_of_a_table_are_set_apart_in_thousands():
    table = pd.DataFrame({"reports": [100_000_000, 12], "mean": [1037.925, None], "name": "1000"})
    shown = plots.show(table, precision=1).to_html()
    assert all(f">{said}<" in shown for said in ("100,000,000", "12", "1,037.9", "", "1000"))


@pytest.mark.parametrize("entry, said", [
    (1e-5, "10⁻⁵"), (-2.07e-7, "-2.1·10⁻⁷"), (4e-4, "4·10⁻⁴"), (6e-4, "0.001"), (0.0, "0.000"),
    (-0.0, "0.000"), (-1e-17, "0.000"), (1e-17, "10⁻¹⁷"), (-1.5, "-1.500"), (math.inf, "inf"),
    (np.float32(0.5), "0.500"), (True, "True"), (np.int64(1234), "1,234"), ("1e-9", "1e-9"),
])  # fmt: skip
def test_no_number_of_a_table_is_rounded_to_nothing(entry, said):
    shown = plots.show(pd.DataFrame({"x": [entry]}, dtype=object)).to_html()
    assert f">{said}</td>" in shown
