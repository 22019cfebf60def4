"""What a figure shows can be had as a table."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from ldpkit import plots

mpl.use("Agg")


@pytest.fixture
def axis():
    figure, axis = plt.subplots()
    axis.set_title("OUE")
    yield axis
    plt.close(figure)


def test_lines_without_a_label_are_named_after_the_series_of_their_colour(axis):
    axis.errorbar([1, 2], [3.0, 4.0], yerr=[0.5, 0.25], fmt="o", color="#0072B2", capsize=2, label="k = 2")
    axis.plot([1, 2], [3.1, 4.1], color="#0072B2")
    axis.plot([1, 2], [7, 8], "k--")
    axis.axvline(5)
    table = plots.data(axis.figure)
    assert list(table["series"]) == ["k = 2"] * 2 + ["k = 2, line"] * 2 + ["line"] * 2
    assert list(table["y"]) == [3.0, 4.0, 3.1, 4.1, 7, 8]
    assert list(table["spread"][:2]) == pytest.approx([0.5, 0.25]) and table["spread"][2:].isna().all()
    assert set(table["panel"]) == {"OUE"}


def test_bars_points_and_categories_are_named(axis):
    axis.bar([-0.2, 0.8], [5, 6], 0.4, yerr=[1, 2], label="this run")
    axis.scatter([0, 1], [9, 8], label="exact")
    axis.set_xticks([0, 1], ["GRR", "SS"])
    table = plots.data(axis.figure)
    assert table[["series", "x", "y"]].values.tolist() == [
        ["this run", "GRR", 5], ["this run", "SS", 6], ["exact", "GRR", 9], ["exact", "SS", 8]]  # fmt: skip
    assert list(table["spread"][:2]) == pytest.approx([1, 2])


def test_the_curves_of_the_book_give_back_their_table(axis):
    cells = [(e, k, r, e / k + r / 10) for e in (0.5, 2) for k in (2, 5) for r in (0, 1)]
    table = pd.DataFrame(cells, columns=["epsilon", "k", "run", "epsilon_emp"])
    table["exact_epsilon_emp"] = table["epsilon"] / table["k"]
    plots.epsilon_curves(axis, table)
    shown = plots.data(axis.figure)
    marks = shown[shown["series"] == "k = 5"]
    assert list(marks["x"]) == ["0.5", "2"] and list(marks["y"]) == pytest.approx([0.15, 0.45])
    assert list(marks["spread"]) == pytest.approx([np.std([0, 0.1], ddof=1)] * 2)
    assert list(shown[shown["series"] == "k = 5, line"]["y"]) == pytest.approx([0.1, 0.4])
    assert list(shown[shown["series"] == "claimed $\\varepsilon$"]["y"]) == [0.5, 2]


def test_panels_that_share_their_ticks_all_name_them():
    figure, axes = plots.panels(4, columns=2)
    for axis in axes:
        axis.plot([0, 1], [1, 2], label="a")
        axis.set_xticks([0, 1], ["low", "high"])
    table = plots.data(figure)
    plt.close(figure)
    assert list(table["x"]) == ["low", "high"] * 4 and table["panel"].nunique() == 4


def test_an_empty_figure_has_no_data(axis):
    assert plots.data(axis.figure).empty


@pytest.mark.parametrize("y, spread", [(np.nan, 0.5), (2.0, np.nan), (np.inf, 0.5)])
def test_a_point_without_a_finite_error_bar_keeps_its_place(axis, y, spread):
    axis.errorbar([1, 2, 3], [3.0, y, 4.0], yerr=[0.5, spread, 0.25], fmt="o", label="k = 2")
    table = plots.data(axis.figure)
    assert list(table["x"]) == [1, 2, 3] and list(table["spread"].iloc[[0, 2]]) == pytest.approx([0.5, 0.25])
    assert not np.isfinite(table["spread"].iloc[1])
