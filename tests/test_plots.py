"""Figures: what is drawn can be seen."""

import matplotlib
import pandas as pd
import pytest

from ldpkit import plots

matplotlib.use("Agg")


def curve(values):
    return pd.DataFrame({"epsilon": [1, 2, 4], "k": 10, "epsilon_emp": values, "exact_epsilon_emp": values})


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_panels_that_share_a_scale_show_the_points_of_all_of_them(order):
    tables = [curve([0.5, 0.7, 1.1]), curve([3.0, 5.0, 12.0])]
    _, axes = plots.panels(2)
    for axis, i in zip(axes, order):
        plots.epsilon_curves(axis, tables[i], claim=None, low=0.1)
    for axis in axes:
        low, high = axis.get_ylim()
        assert low == pytest.approx(0.09) and high > 12


def test_plain_labels_on_either_axis():
    figure, (axis,) = plots.panels(1)
    axis.loglog([1, 10], [0.01, 0.1])
    plots.plain_log(axis)
    plots.plain_log(axis, "x")
    figure.canvas.draw()
    assert "0.05" in [label.get_text() for label in axis.get_yticklabels()]
    assert "5" in [label.get_text() for label in axis.get_xticklabels()]
