"""Figures: what is drawn can be seen, stands where its value is, and is explained."""

import ast
import itertools

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from test_book import NOTEBOOKS, PROJECT, cells_of

from ldpkit import plots

mpl.use("Agg")


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def curve(values, epsilon=(1, 2, 4)):
    return pd.DataFrame({"epsilon": epsilon, "k": 10, "epsilon_emp": values, "exact_epsilon_emp": values})


def said(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_panels_that_share_a_scale_show_the_points_of_all_of_them(order):
    tables = [curve([0.5, 0.7, 1.1]), curve([3.0, 5.0, 12.0])]
    _, axes = plots.panels(2)
    for axis, i in zip(axes, order):
        plots.epsilon_curves(axis, tables[i], claim=None, low=0.1)
    for axis in axes:
        low, high = axis.get_ylim()
        assert low == pytest.approx(0.09) and high > 12


def test_every_column_of_panels_has_its_ticks_labelled():
    figure, axes = plots.panels(5, columns=3)
    for axis in axes:
        axis.plot([1, 2], [3, 4])
    figure.canvas.draw()
    assert [any(label.get_visible() for label in axis.get_xticklabels()) for axis in axes] == [False, False, True, True, True]


@pytest.mark.parametrize("scale", [("log", "log"), ("linear", "linear")])
def test_a_claim_at_unequal_budgets_is_a_straight_line(scale):
    epsilon = [0.25, 0.5, 0.75, 1, 2, 4, 6, 10]
    figure, (axis,) = plots.panels(1)
    plots.epsilon_curves(axis, curve(epsilon, epsilon), scale=scale)
    figure.canvas.draw()
    (claim,) = [line for line in axis.lines if line.get_label() == plots.CLAIM]
    x, y = axis.transData.transform(np.column_stack(claim.get_data())).T
    assert np.ptp(np.diff(y) / np.diff(x)) < 1e-9
    ticks = np.union1d(axis.get_xticks(), axis.get_xticks(minor=True))
    assert list(ticks) == epsilon


@pytest.mark.parametrize("size", [(1.9, 2.2), (2.9, 2.5), (6.4, 3.4)])
@pytest.mark.parametrize("values, scale", [
    ([0.25, 0.5, 0.75, 1, 2, 4, 6, 10], "log"), ([0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 4.0, 6.0], "log"), ([1], "log"),
    ([0, 10, 30, 100, 300, 1000], "symlog"), ([0], "symlog"), ([0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 1.0, 1.25, 1.5], "linear"),
    ([5, 10, 25, 50, 75, 100, 250, 500], "log")])  # fmt: skip
def test_labels_of_ticks_do_not_touch(size, values, scale):
    figure, (axis,) = plots.panels(1, size=size)
    axis.plot(values, [1 for _ in values])
    plots.ticks_at(axis, values, scale)
    figure.canvas.draw()
    boxes = [label.get_window_extent() for label in axis.get_xticklabels() if label.get_text()]
    assert boxes and all(a.x1 < b.x0 for a, b in itertools.pairwise(boxes))
    assert {float(label.get_text()) for label in axis.get_xticklabels()} <= set(map(float, values))


def test_a_scale_with_zero_is_linear_up_to_the_smallest_value_above_it():
    _, (axis,) = plots.panels(1)
    axis.plot([0, 10, 100, 1000], [1, 2, 3, 4])
    plots.ticks_at(axis, [0, 10, 100, 1000], "symlog")
    zero, *rest = axis.xaxis.get_transform().transform(np.array([0, 10, 100, 1000]))
    assert zero == 0 and np.diff(rest) == pytest.approx(rest[1] - rest[0])


def test_panels_that_share_an_axis_keep_the_ticks_of_all_of_them():
    _, axes = plots.panels(2)
    for axis, values in zip(axes, ([1, 2, 10], [1, 4])):
        axis.plot(values, values)
        plots.ticks_at(axis, values)
    assert list(np.union1d(axes[0].get_xticks(), axes[0].get_xticks(minor=True))) == [1, 2, 4, 10]


def test_a_value_under_the_axis_stands_on_its_edge_and_keeps_its_number():
    figure, (axis,) = plots.panels(1)
    plots.epsilon_curves(axis, curve([0.001, 0.5, 1.0]), low=0.1)
    assert plots.data(figure).query("source == @plots.OURS")["y"].tolist() == [0.001, 0.5, 1.0]
    (edge,) = [line for line in axis.lines if line.get_label().startswith("_k = 10")]
    assert [v.tolist() for v in edge.get_data()] == [[1], [0.1]]


@pytest.mark.parametrize("low, high, expected", [(0.17, 0.22, "0.2"), (0.01, 0.1, "0.05"), (0.001, 100, "0.01")])
def test_a_logarithmic_axis_has_plain_labels(low, high, expected):
    figure, (axis,) = plots.panels(1)
    axis.loglog([low, high], [low, high])
    for which in ("x", "y"):
        plots.plain_log(axis, which)
    figure.canvas.draw()
    for labels in (axis.get_xticklabels(which="both"), axis.get_yticklabels(which="both")):
        texts = [label.get_text() for label in labels]
        assert expected in texts and all(text.replace(".", "").isdecimal() for text in texts if text)


def test_a_legend_names_every_series_and_every_source_once():
    figure, axes = plots.panels(2)
    for axis in axes:
        axis.errorbar([1, 2], [3, 4], yerr=[1, 1], fmt="o", color="C0", label="k = 2 | this run")
        axis.errorbar([1, 2], [5, 6], yerr=[1, 1], fmt="s", color="C1", label="k = 5 | this run")
        for i, k in enumerate((2, 5)):
            axis.plot([1, 2], [3, 4], color=f"C{i}", label=f"k = {k} | exact")
            axis.plot([1, 2], [3, 4], "x", color="black", label=f"k = {k} | read off the paper")
        axis.axhline(7, color="black", ls="--", label="claim")
        axis.plot([1, 2], [1, 1], label="_only to see better")
    plots.legend(figure)
    assert sorted(said(figure)) == ["claim", "exact", "k = 2", "k = 5", "read off the paper", "this run"]
    looks = {(line.get_marker(), mpl.colors.to_hex(line.get_color())) for line in figure.legends[0].findobj(mpl.lines.Line2D)}
    series = {(mark, mpl.colors.to_hex(colour)) for mark, colour in (("o", "C0"), ("s", "C1"))}
    sources = {(mark, mpl.colors.to_hex(colour)) for mark, colour in (("o", "0.35"), ("None", "0.35"), ("x", "black"))}
    assert series | sources <= looks and ("None", mpl.colors.to_hex("C0")) not in looks


@pytest.mark.parametrize("inches", [6.4, 8.4, 11.6])
def test_a_legend_fits_its_figure(inches):
    figure, (axis,) = plots.panels(1, size=(inches, 3))
    for i in range(9):
        axis.plot([1, 2], [i, i], label=f"series {i * 'long '}| {plots.EXACT}")
    plots.legend(figure)
    figure.canvas.draw()
    box = figure.legends[0].get_window_extent()
    assert box.width < figure.get_figwidth() * figure.dpi and box.width > box.height


def test_panels_may_have_legends_of_their_own_under_one_for_the_sources():
    figure, axes = plots.panels(2)
    for axis, name in zip(axes, "ab"):
        axis.plot([1, 2], [3, 4], label=f"{name} | exact")
        axis.plot([1, 2], [3, 4], "o", label=f"{name} | this run")
        axis.set_title(name.upper())
        plots.legend(axis, which="series")
    assert plots.unexplained(figure) == [
        f"{title}: no legend says {source}" for title in "AB" for source in ("exact", "this run")
    ]
    plots.legend(figure, which="sources")
    assert said(figure) == ["exact", "this run"] and not plots.unexplained(figure)
    assert [[text.get_text() for text in axis.get_legend().get_texts()] for axis in axes] == [["a"], ["b"]]


def test_what_a_figure_does_not_say_is_found():
    figure, axes = plots.panels(3)
    for axis, title in zip(axes, ("A", "A", "")):
        axis.set_title(title)
        axis.plot([1, 2], [3, 4], label="one")
        axis.plot([1, 2], [3, 4], label="one" if title else "two")
        axis.plot([1, 2], [5, 6], label=None if title else "three")
    axes[2].text(1, 3, "two: from the law")
    assert plots.unexplained(figure) == [
        "two panels are called A", "panel 3 has no title", "A shows 2 called one", "A shows 1 without a name",
        "panel 3: no legend says one", "panel 3: no legend says three"]  # fmt: skip


def test_a_panel_that_shows_one_thing_needs_no_legend():
    figure, (axis,) = plots.panels(1)
    axis.plot([1, 2], [3, 4], label="clients")
    assert not plots.unexplained(figure)


@pytest.mark.parametrize("draw", [
    lambda: plots.epsilon_curves(plots.panels(1)[1][0], curve([1, 2, 3])),
    lambda: plots.epsilon_bars(plots.panels(1)[1][0], curve([1, 2, 3]), category="k"),
    lambda: plots.delta_bars(pd.DataFrame([("AGRR", 2, e, d, e, 0.1, e) for e in (1, 2) for d in (0, 1e-5)], columns=[
        "protocol", "k", "epsilon", "delta", "mean", "spread", "exact"]), ["AGRR"], [2]),
])  # fmt: skip
def test_the_books_own_ways_to_draw_leave_nothing_unsaid(draw):
    draw()
    if not plt.gcf().legends:
        plots.legend(plt.gcf())
    assert not plots.unexplained(plt.gcf())
    table = plots.data(plt.gcf())
    assert plots.CLAIM.replace("$\\varepsilon$", "ε") in set(table["series"]) or plots.OURS in set(table["series"])
    assert not table["series"].str.contains("unnamed").any()


def calls(source):
    """Dotted names of everything that a cell calls."""
    return {ast.unparse(node.func) for node in ast.walk(ast.parse(source.rstrip(";"))) if isinstance(node, ast.Call)}


@pytest.mark.parametrize("page", NOTEBOOKS)
def test_every_figure_has_its_legend_from_the_names_of_its_marks(page):
    """Those of matplotlib know no sources; in three dimensions `plots.legend` knows no marks."""
    for cell in cells_of(page):
        source = "".join(cell["source"])
        if cell["cell_type"] == "code" and "projection" not in source:
            own = {name for name in calls(source) if name.endswith(".legend")}
            assert own <= {"plots.legend"}, (page, own)


@pytest.mark.parametrize("path", sorted((PROJECT.root / "book").glob("*/*.py")), ids=lambda path: path.name)
def test_helpers_of_pages_leave_legends_to_the_names_of_marks(path):
    assert {name for name in calls(path.read_text()) if name.endswith(".legend")} <= {"plots.legend"}
