"""One look for all figures: readable in grey, safe for the colour-blind, every value at its true place."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from . import checks
from .marks import CLAIM, EXACT, OURS, PAPER, bundle, data, legend, unexplained

__all__ = ["COLOURS", "MARKERS", "OURS", "EXACT", "CLAIM", "PAPER", "use", "panels", "plain_log", "ticks_at", "epsilon_curves",
           "epsilon_bars", "delta_bars", "legend", "data", "unexplained", "summary", "show"]  # fmt: skip

COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#8C6D31", "#7F7F7F", "#5E3C99"]
"""Okabe and Ito's palette, ordered so that neighbours also differ in lightness."""
MARKERS = ["o", "s", "^", "D", "v", "P", "X", "*", "<", ">"]


def use() -> None:
    """Set the book's style for all figures that follow; in a notebook their data travel with them."""
    mpl.rcParams.update({
        "figure.facecolor": "white", "savefig.facecolor": "white", "figure.dpi": 110,
        "axes.prop_cycle": mpl.rcsetup.cycler(color=COLOURS), "axes.grid": True, "grid.alpha": 0.35, "grid.linewidth": 0.6,
        "axes.spines.top": False, "axes.spines.right": False, "axes.titlesize": 10.5, "axes.labelsize": 10,
        "font.size": 9.5, "legend.frameon": False, "legend.fontsize": 9, "lines.linewidth": 1.1, "lines.markersize": 5,
        "svg.hashsalt": "ldpkit", "svg.fonttype": "path",
    })  # fmt: skip
    try:
        from IPython import get_ipython
        from matplotlib_inline.backend_inline import set_matplotlib_formats
    except ImportError:
        return
    set_matplotlib_formats("svg", metadata={"Date": None})  # type: ignore[no-untyped-call]  # it has no types
    if shell := get_ipython():
        bundles = shell.display_formatter.mimebundle_formatter
        bundles.for_type(mpl.figure.Figure, lambda figure, **_: bundle(figure))


def panels(
    count: int, columns: int = 4, size: tuple[float, float] = (2.9, 2.5), sharey: bool = True
) -> tuple[Figure, list[Axes]]:
    """Return a figure with `count` axes that share both scales (the vertical one if `sharey`), and the list of axes."""
    count, columns = checks.integer("count", count, 1), checks.integer("columns", columns, 1)
    rows = math.ceil(count / columns)
    columns = min(columns, count)
    figure, axes = plt.subplots(
        rows, columns, figsize=(size[0] * columns, size[1] * rows), sharex=True, sharey=sharey,
        squeeze=False, layout="constrained",
    )  # fmt: skip
    flat = list(axes.flat)
    for unused in flat[count:]:
        unused.remove()
    for lowest in flat[max(0, count - columns) : count]:
        lowest.tick_params(labelbottom=True)  # also where the row below ends earlier
    return figure, flat[:count]


def plain_log(axis: Axes, which: str = "y") -> None:
    """Label a logarithmic axis, ``"x"`` or ``"y"``, at 1, 2 and 5 if it is short, with plain numbers unless it reaches far from 1."""
    checks.one_of("which", which, ("x", "y"))
    low, high = getattr(axis, f"get_{which}lim")()
    scale = getattr(axis, f"{which}axis")
    scale.set_major_locator(mpl.ticker.LogLocator(subs=(1, 2, 5) if high < 60 * low else (1,)))
    if low > 3e-5 and high < 3e5:
        scale.set_major_formatter(mpl.ticker.FuncFormatter(lambda v, _: f"{v:g}"))
    scale.set_minor_formatter(mpl.ticker.NullFormatter())


def ticks_at(axis: Axes, values: Iterable[float], scale: str = "log") -> None:
    """Set the scale of the x axis and put its ticks where `values` are; a label that would touch the one before is left out.

    Parameters
    ----------
    axis : matplotlib axes
        Panels that share this axis keep the ticks they have.
    values : list of float
        Above 0 if the scale is logarithmic.
    scale : {"log", "symlog", "linear"}
        ``"symlog"`` is linear from 0 to the smallest value above it, and logarithmic beyond.
    """
    checks.one_of("scale", scale, ("log", "symlog", "linear"))
    old = [t.locator() for t in (axis.xaxis.major, axis.xaxis.minor) if isinstance(t.locator, mpl.ticker.FixedLocator)]
    at = np.unique(np.concatenate([np.asarray(list(values), float), *old]))
    axis.set_xscale(scale, **({"linthresh": min(at[at > 0], default=1)} if scale == "symlog" else {}))
    place = axis.xaxis.get_transform().transform(at)
    inches = 0.85 * axis.get_window_extent().width / axis.figure.dpi / max(np.ptp(place), 1e-9)
    wide = [0.05 + 0.085 * (len(f"{v:g}") - 0.5 * (v % 1 > 0)) for v in at]  # inches
    kept = [len(at) - 1]
    for i in range(len(at) - 2, -1, -1):
        if (place[kept[-1]] - place[i]) * inches > (wide[i] + wide[kept[-1]]) / 2:
            kept.append(i)
    axis.set_xticks(at[kept[::-1]])
    axis.set_xticks(np.delete(at, kept), minor=True)
    axis.xaxis.set_major_formatter(mpl.ticker.StrMethodFormatter("{x:g}"))
    axis.xaxis.set_minor_formatter(mpl.ticker.NullFormatter())


def epsilon_curves(axis: Axes, table: pd.DataFrame, *, x: str = "epsilon", lines: str = "k", value: str = "epsilon_emp",
                   exact: str = "exact_epsilon_emp", claim: str | None = "epsilon", low: float = 0.02,
                   scale: tuple[str, str] = ("log", "log")) -> None:  # fmt: skip
    """Draw empirical epsilon against `x`, one series per value of `lines`.

    Markers are the mean of this run's repetitions with one standard deviation,
    solid lines the exact expectation, the dashed line the claim. Every x stands
    at its true place, so that a claim that grows with `x` is a straight line.

    Parameters
    ----------
    axis : matplotlib axes
    table : pandas.DataFrame
        One row per repetition, with the columns named by the other parameters.
    claim : str or None
        Column of the claim; None draws none.
    low : float
        Lower edge of a logarithmic axis; markers of smaller values stand on it, their data stay what they are.
    scale : (str, str)
        Of the x axis, as in `ticks_at`, and of the y axis, ``"log"`` or ``"linear"`` (from 0).
    """
    checks.columns(table, [x, lines, value, exact, *([claim] if claim else [])])
    low = checks.real("low", low, 0, closed="()")
    if claim:
        levels = table.groupby(x)[claim].first()
        axis.plot(levels.index, levels, "k--", lw=1, label=CLAIM)
    for i, (name, rows) in enumerate(table.groupby(lines)):
        runs, law = rows.groupby(x)[value], rows.groupby(x)[exact].first().astype(float)
        mean, sd = runs.mean().astype(float), runs.std().astype(float).fillna(0)
        series = str(name) if isinstance(name, str) else f"{lines} = {name}"
        look: dict[str, Any] = {"color": COLOURS[i % len(COLOURS)], "mfc": "white", "zorder": 3}
        axis.plot(law.index, law, color=COLOURS[i % len(COLOURS)], label=f"{series} | {EXACT}")
        axis.errorbar(mean.index, mean, yerr=sd, fmt=MARKERS[i % len(MARKERS)], capsize=2, label=f"{series} | {OURS}", **look)
        if scale[1] == "log":
            under = mean[mean < low]
            axis.plot(under.index, [low] * len(under), MARKERS[i % len(MARKERS)], label=f"_{series} on the edge", **look)
    axis.set_yscale(scale[1])
    axis.autoscale(axis="y")  # an earlier panel on the same scale has fixed it; this one may reach further
    axis.set_ylim(bottom=low * 0.9 if scale[1] == "log" else 0)
    ticks_at(axis, table[x].unique(), scale[0])
    if scale[1] == "log":
        plain_log(axis)


def epsilon_bars(
    axis: Axes, table: pd.DataFrame, *, category: str = "mechanism", value: str = "epsilon_emp", exact: str = "exact_epsilon_emp"
) -> None:
    """Draw the mean of `value` per category as bars, its standard deviation and the exact expectation."""
    checks.columns(table, [category, value, exact])
    runs = table.groupby(category, sort=False)
    mean, sd, law = runs[value].mean(), runs[value].std().fillna(0), runs[exact].first().astype(float)
    at = range(len(mean))
    axis.bar(at, mean, yerr=sd, capsize=3, color=COLOURS[4], edgecolor="black", lw=0.8, label=OURS, zorder=2)
    axis.plot(at, law, ls="none", marker="_", ms=26, mew=2, color=COLOURS[1], label=EXACT, zorder=3)
    for x, height in zip(at, mean):  # at the foot, where no error bar reaches
        axis.annotate(f"{height:.2f}", (x, 0), xytext=(0, 3), textcoords="offset points", ha="center", fontsize=8.5)
    axis.set_xticks(at, mean.index)


def delta_bars(cell: pd.DataFrame, protocols: Sequence[str], sizes: Sequence[int]) -> None:
    """Draw grouped bars of empirical epsilon: one row per domain size, one panel per protocol, one bar per delta.

    Parameters
    ----------
    cell : pandas.DataFrame
        Columns ``protocol``, ``k``, ``epsilon``, ``delta``, ``mean``, ``spread`` and ``exact``.
    protocols, sizes : list
        Columns and rows of panels.
    """
    checks.columns(cell, ["protocol", "k", "epsilon", "delta", "mean", "spread", "exact"])
    figure, axes = panels(len(protocols) * len(sizes), columns=len(protocols), size=(1.9, 2.2))
    budgets, deltas = sorted(cell["epsilon"].unique()), sorted(cell["delta"].unique())
    width = 0.8 / len(deltas)
    for i, axis in enumerate(axes):
        size, name = sizes[i // len(protocols)], protocols[i % len(protocols)]
        rows = cell[(cell["protocol"] == name) & (cell["k"] == size)]
        for j, delta in enumerate(deltas):
            here = rows[rows["delta"] == delta].sort_values("epsilon")
            at = np.array([budgets.index(e) for e in here["epsilon"]]) + (j - (len(deltas) - 1) / 2) * width
            if len(here):
                axis.bar(at, here["mean"], width, yerr=here["spread"], color=COLOURS[j % len(COLOURS)], edgecolor="black", lw=0.4,
                         error_kw={"lw": 0.7}, label=rf"$\delta$ = {delta:g} | {OURS}")  # fmt: skip
                axis.plot(
                    at, here["exact"], "_", color="black", ms=6, mew=1.5, zorder=3, label=rf"$\delta$ = {delta:g} | {EXACT}"
                )
        middle = np.arange(len(budgets))
        axis.hlines(budgets, middle - 0.45, middle + 0.45, color="black", ls=":", lw=1, label=CLAIM)
        axis.set_title(f"{name}, $k$ = {size}", fontsize=9)
        axis.set_yscale("log")
        axis.set_ylim(bottom=0.01)
        axis.set_xticks(range(len(budgets)), [f"{b:g}" for b in budgets], fontsize=8)
        plain_log(axis)
    figure.supxlabel("claimed $\\varepsilon$", fontsize=10)
    figure.supylabel("empirical $\\varepsilon$", fontsize=10)
    legend(figure)


def summary(table: pd.DataFrame, by: Iterable[str] = ("mechanism", "k", "epsilon")) -> pd.DataFrame:
    """Collapse the runs of each cell.

    Returns
    -------
    pandas.DataFrame
        The columns of `by`, and ``mean`` and ``spread`` (standard deviation) of
        the statistic over the runs, its ``exact`` expectation, and the exact
        standard error ``se`` of the mean; ``exact`` and ``se`` are empty where
        no law is known.
    """
    checks.columns(table, [*by, "epsilon_emp", "exact_epsilon_emp", "exact_sd"])
    cell = table.groupby(list(by), sort=False, dropna=False).agg(
        mean=("epsilon_emp", "mean"), spread=("epsilon_emp", "std"), exact=("exact_epsilon_emp", "first"),
        sd=("exact_sd", "first"), runs=("epsilon_emp", "size")).reset_index()  # fmt: skip
    cell["spread"] = cell["spread"].fillna(0.0)
    cell[["exact", "sd"]] = cell[["exact", "sd"]].astype(float)
    cell["se"] = cell.pop("sd") / cell.pop("runs") ** 0.5
    return cell


def show(table: pd.DataFrame, precision: int = 3, index: bool = False, bold: str | None = None) -> Any:
    """Return a table in the book's look.

    Parameters
    ----------
    table : pandas.DataFrame
    precision : int
        Decimals of floating-point columns; missing values stay empty.
    index : bool
        Whether to show the row labels.
    bold : str, optional
        A boolean column: rows where it is true are set in bold.
    """
    checks.columns(table, [bold] if bold else [])
    precision = checks.integer("precision", precision, 0)
    style = table.style.format(precision=precision, na_rep="").set_table_attributes('class="dataframe"')
    for axis in (0, 1):
        style = style.format_index(lambda label: f"{label:g}" if isinstance(label, float) else label, axis=axis)
    if bold:
        style = style.apply(lambda row: ["font-weight: bold" if row[bold] else ""] * len(row), axis=1)
    return style if index else style.hide(axis="index")
