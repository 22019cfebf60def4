"""What a figure shows can be had as a table."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from ldpkit import plots
from ldpkit.marks import bundle

mpl.use("Agg")


@pytest.fixture
def axis():
    _, axis = plt.subplots()
    axis.set_title("OUE")
    yield axis
    plt.close("all")


def test_rows_carry_panel_series_source_and_what_the_axes_are_called(axis):
    axis.errorbar([1, 2], [3.0, 4.0], yerr=[0.5, 0.25], fmt="o", color="#0072B2", capsize=2, label="$k$ = 2 | this run")
    axis.plot([1, 2], [3.1, 4.1], color="#0072B2", label="$k$ = 2 | exact")
    axis.axvline(5, label="chosen")
    axis.axhline(6, label="claim")
    axis.plot([1, 2], [7, 8], label="_for the eye")
    axis.set(xlabel="claimed $\\varepsilon_{0}$", ylabel="empirical $\\varepsilon$")
    table = plots.data(axis.figure)
    assert list(table) == ["panel", "series", "source", "x", "y", "error", "x_axis", "y_axis"]
    assert list(table["series"]) == ["k = 2"] * 4 + ["chosen", "claim"]
    assert list(table["source"]) == ["this run"] * 2 + ["exact"] * 2 + [""] * 2
    assert list(table["y"][:4]) == [3.0, 4.0, 3.1, 4.1]
    assert table["x"][4] == 5 and np.isnan(table["y"][4]) and table["x"].isna()[5] and table["y"][5] == 6
    assert list(table["error"][:2]) == pytest.approx([0.5, 0.25]) and table["error"][2:].isna().all()
    assert set(table["panel"]) == {"OUE"} and set(table["x_axis"]) == {"claimed ε_0"} and set(table["y_axis"]) == {"empirical ε"}


def test_what_has_no_label_is_numbered_and_not_guessed(axis):
    axis.plot([1, 2], [3, 4], color="#0072B2", label="k = 2")
    for _ in range(2):
        axis.plot([1, 2], [3, 4], color="#0072B2")
    axis.errorbar([1, 2], [3, 4], yerr=1, fmt="o")
    axis.bar([1, 2], [3, 4])
    table = plots.data(axis.figure)
    assert set(table["series"]) == {"k = 2", "unnamed 1", "unnamed 2", "unnamed 3", "unnamed 4"}


def test_a_histogram_is_named_by_its_label(axis):
    axis.hist([1, 2, 2], bins=[0.5, 1.5, 2.5], label="of $g$ | real reports")
    table = plots.data(axis.figure)
    assert table[["series", "source", "x", "y"]].values.tolist() == [
        ["of g", "real reports", 1, 1],
        ["of g", "real reports", 2, 2],
    ]


def test_axes_without_a_label_are_called_like_those_beside_them():
    figure, axes = plots.panels(4, columns=2)
    for axis, title in zip(axes, "ABCD"):
        axis.plot([1, 2], [3, 4], label="a")
        axis.set_title(title)
    axes[0].set_ylabel("RAD")
    figure.supxlabel("claim")
    assert set(map(tuple, plots.data(figure)[["x_axis", "y_axis"]].values)) == {("claim", "RAD")}
    axes[2].set_xlabel("users")
    named = plots.data(figure).drop_duplicates("panel").set_index("panel")["x_axis"]
    assert named.to_dict() == {"A": "claim", "B": "claim", "C": "users", "D": "claim"}


def test_panels_without_a_title_are_called_by_the_axis_that_tells_them_apart():
    figure, axes = plots.panels(3)
    for axis, along in zip(axes, ("users", "rounds", "")):
        axis.plot([1, 2], [3, 4], label="a")
        axis.set_xlabel(along)
    assert list(plots.data(figure)["panel"].unique()) == ["users", "rounds", "panel 3"]


def test_colours_that_stand_for_numbers_are_a_column(axis):
    dots = axis.scatter([1, 2], [3, 4], c=[0.5, 8], label="GRR")
    axis.figure.colorbar(dots, ax=axis, label="$\\varepsilon$")
    table = plots.data(axis.figure)
    assert list(table["colour"]) == [0.5, 8] and list(table["panel"]) == ["OUE"] * 2 and set(table["colour_axis"]) == {"ε"}


def test_levels_of_groups_of_bars_belong_to_their_group(axis):
    axis.bar([0, 1], [5, 6], label="this run")
    axis.hlines([1, 2], [-0.4, 0.6], [0.4, 1.4], label="claim")
    axis.set_xticks([0, 1], ["GRR", "SS"])
    table = plots.data(axis.figure).query("series == 'claim'")
    assert table[["x", "y"]].values.tolist() == [["GRR", 1], ["SS", 2]]


def test_what_stands_on_another_bar_has_its_own_height(axis):
    axis.bar(["a", "b"], [5, 6], label="reports")
    axis.bar(["a", "b"], [1, 2], bottom=[5, 6], label="gradients")
    assert list(plots.data(axis.figure).query("series == 'gradients'")["y"]) == [1, 2]


def test_a_displayed_figure_brings_its_data_and_what_they_do_not_say(axis):
    axis.plot([1, 2], [3, 4], label="a")
    axis.plot([1, 2], [3, 4])
    axis.set_xlabel("users")
    data, about = bundle(axis.figure)
    assert data["text/csv"].splitlines()[:2] == ["panel,series,source,x,y,error,x_axis,y_axis", "OUE,a,,1,3,,users,"]
    assert about["text/csv"]["unexplained"] == ["OUE: no legend says a", "OUE shows 1 without a name"]
    assert bundle(plt.figure()) is None


def test_bars_points_and_categories_are_named(axis):
    axis.bar([-0.2, 0.8], [5, 6], 0.4, yerr=[1, 2], label="this run")
    axis.scatter([0, 1], [9, 8], label="exact")
    axis.set_xticks([0, 1], ["GRR", "SS"])
    table = plots.data(axis.figure)
    assert table[["series", "x", "y"]].values.tolist() == [
        ["this run", "GRR", 5], ["this run", "SS", 6], ["exact", "GRR", 9], ["exact", "SS", 8]]  # fmt: skip
    assert list(table["error"][:2]) == pytest.approx([1, 2])


def test_the_curves_of_the_book_give_back_their_table(axis):
    cells = [(e, k, r, e / k + r / 10) for e in (0.5, 2) for k in (2, 5) for r in (0, 1)]
    table = pd.DataFrame(cells, columns=["epsilon", "k", "run", "epsilon_emp"])
    table["exact_epsilon_emp"] = table["epsilon"] / table["k"]
    plots.epsilon_curves(axis, table)
    shown = plots.data(axis.figure)
    marks = shown[(shown["series"] == "k = 5") & (shown["source"] == plots.OURS)]
    assert list(marks["x"]) == [0.5, 2] and list(marks["y"]) == pytest.approx([0.15, 0.45])
    assert list(marks["error"]) == pytest.approx([np.std([0, 0.1], ddof=1)] * 2)
    assert list(shown[(shown["series"] == "k = 5") & (shown["source"] == plots.EXACT)]["y"]) == pytest.approx([0.1, 0.4])
    assert list(shown[shown["series"] == "claimed ε"]["y"]) == [0.5, 2]


def test_panels_that_share_their_ticks_all_name_them():
    figure, axes = plots.panels(4, columns=2)
    for axis in axes:
        axis.plot([0, 1], [1, 2], label="a")
        axis.set_xticks([0, 1], ["low", "high"])
    assert list(plots.data(figure)["x"]) == ["low", "high"] * 4


def test_an_empty_figure_has_no_data(axis):
    assert plots.data(axis.figure).empty


@pytest.mark.parametrize("y, error", [(np.nan, 0.5), (2.0, np.nan), (np.inf, 0.5)])
def test_a_point_without_a_finite_error_bar_keeps_its_place(axis, y, error):
    axis.errorbar([1, 2, 3], [3.0, y, 4.0], yerr=[0.5, error, 0.25], fmt="o", label="k = 2")
    table = plots.data(axis.figure)
    assert list(table["x"]) == [1, 2, 3] and list(table["error"].iloc[[0, 2]]) == pytest.approx([0.5, 0.25])
    assert not np.isfinite(table["error"].iloc[1])
