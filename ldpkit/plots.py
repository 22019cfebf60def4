"""One look for all figures: readable in grey, safe for the colour-blind, the same axes as the papers."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from . import checks

__all__ = ["COLOURS", "MARKERS", "use", "panels", "plain_log", "epsilon_curves", "epsilon_bars", "delta_bars", "shared_legend",
           "data", "summary", "show"]  # fmt: skip

Legend = tuple[list[Any], list[str]]  # handles and labels

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
        bundles.for_type(mpl.figure.Figure, lambda figure, **_: {"text/csv": _csv(figure)} if len(data(figure)) else None)


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
    return figure, flat[:count]


def _floor(values: Iterable[float], low: float) -> list[float]:
    """The papers plot on a logarithmic axis: values at or below `low` are drawn on its lower edge."""
    return [max(v, low) for v in values]


def plain_log(axis: Axes, which: str = "y") -> None:
    """Label a logarithmic axis, ``"x"`` or ``"y"``, with plain numbers, at 1, 2 and 5 if it is short."""
    checks.one_of("which", which, ("x", "y"))
    low, high = getattr(axis, f"get_{which}lim")()
    scale = getattr(axis, f"{which}axis")
    scale.set_major_locator(mpl.ticker.LogLocator(subs=(1, 2, 5) if high < 60 * low else (1,)))
    scale.set_major_formatter(mpl.ticker.FuncFormatter(lambda v, _: f"{v:g}"))
    scale.set_minor_formatter(mpl.ticker.NullFormatter())


def epsilon_curves(axis: Axes, table: pd.DataFrame, *, x: str = "epsilon", lines: str = "k", value: str = "epsilon_emp",
                   exact: str = "exact_epsilon_emp", claim: str = "epsilon", low: float = 0.02) -> Legend:  # fmt: skip
    """Draw empirical epsilon against `x`, one series per value of `lines`.

    Markers are the mean of this run's repetitions with one standard deviation,
    solid lines the exact expectation, the dashed line the claim. Categories are
    evenly spaced, as in the papers.

    Parameters
    ----------
    axis : matplotlib axes
    table : pandas.DataFrame
        One row per repetition, with the columns named by the other parameters.
    low : float
        Lower edge of the axis; smaller values are drawn on it.

    Returns
    -------
    list
        Handles for a legend.
    """
    checks.columns(table, [x, lines, value, exact, *([claim] if claim else [])])
    low = checks.real("low", low, 0, closed="()")
    ticks = sorted(table[x].unique())
    place = {tick: i for i, tick in enumerate(ticks)}
    if claim:
        levels = table.groupby(x)[claim].first()
        axis.plot([place[t] for t in levels.index], levels, "k--", lw=1, label="claimed $\\varepsilon$")
    for i, (name, rows) in enumerate(table.groupby(lines)):
        runs = rows.groupby(x)[value]
        mean, sd = runs.mean().astype(float), runs.std().astype(float).fillna(0)
        at, colour = [place[t] for t in mean.index], COLOURS[i % len(COLOURS)]
        axis.plot(at, _floor(rows.groupby(x)[exact].first().astype(float), low), color=colour)
        axis.errorbar(at, _floor(mean, low), yerr=sd, fmt=MARKERS[i % len(MARKERS)], color=colour, mfc="white", capsize=2,
                      label=str(name) if isinstance(name, str) else f"{lines} = {name}", zorder=3)  # fmt: skip
    axis.set_yscale("log")
    axis.autoscale(axis="y")  # an earlier panel on the same scale has fixed it; this one may reach further
    axis.set_ylim(bottom=low * 0.9)
    axis.set_xticks(range(len(ticks)), [f"{t:g}" for t in ticks])
    plain_log(axis)
    return axis.get_legend_handles_labels()


def epsilon_bars(
    axis: Axes, table: pd.DataFrame, *, category: str = "mechanism", value: str = "epsilon_emp", exact: str = "exact_epsilon_emp"
) -> Legend:
    """Draw the mean of `value` per category as bars, its standard deviation and the exact expectation."""
    checks.columns(table, [category, value, exact])
    runs = table.groupby(category, sort=False)
    mean, sd, law = runs[value].mean(), runs[value].std().fillna(0), runs[exact].first().astype(float)
    at = range(len(mean))
    bars = axis.bar(at, mean, yerr=sd, capsize=3, color=COLOURS[4], edgecolor="black", lw=0.8, label="this run", zorder=2)
    axis.plot(at, law, ls="none", marker="_", ms=26, mew=2, color=COLOURS[1], label="exact expectation", zorder=3)
    axis.bar_label(bars, [f"{m:.2f}" for m in mean], label_type="center")
    axis.set_xticks(at, mean.index)
    return axis.get_legend_handles_labels()


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
    handles: dict[str, Any] = {}
    for i, axis in enumerate(axes):
        size, name = sizes[i // len(protocols)], protocols[i % len(protocols)]
        rows = cell[(cell["protocol"] == name) & (cell["k"] == size)]
        for j, delta in enumerate(deltas):
            here = rows[rows["delta"] == delta].sort_values("epsilon")
            at = np.array([budgets.index(e) for e in here["epsilon"]]) + (j - (len(deltas) - 1) / 2) * width
            if len(here):
                bar = axis.bar(at, here["mean"], width, yerr=here["spread"], color=COLOURS[j % len(COLOURS)], edgecolor="black", lw=0.4,
                               error_kw={"lw": 0.7})  # fmt: skip
                handles.setdefault(f"$\\delta$ = {delta:g}", bar)
                axis.plot(at, here["exact"], "_", color="black", ms=6, mew=1.5, zorder=3)
        for x, budget in enumerate(budgets):
            axis.plot([x - 0.45, x + 0.45], [budget, budget], ":", color="black", lw=1)
        axis.set_title(f"{name}, $k$ = {size}", fontsize=9)
        axis.set_yscale("log")
        axis.set_ylim(bottom=0.01)
        axis.set_xticks(range(len(budgets)), [f"{b:g}" for b in budgets], fontsize=8)
        plain_log(axis)
    figure.supxlabel("claimed $\\varepsilon$", fontsize=10)
    figure.supylabel("empirical $\\varepsilon$", fontsize=10)
    shared_legend(figure, (list(handles.values()), list(handles)))


def _categories(axis: Axes) -> Callable[[Any], Any]:
    """A function that names the tick nearest to an x where ticks stand for categories, and returns x elsewhere."""
    locator, formatter = axis.xaxis.get_major_locator(), axis.xaxis.get_major_formatter()
    if not (isinstance(locator, mpl.ticker.FixedLocator) and isinstance(formatter, mpl.ticker.FuncFormatter)):
        return lambda x: x
    ticks, labels = locator(), formatter.format_ticks(list(locator()))
    return lambda x: labels[int(np.argmin(np.abs(ticks - x)))]


def _halves(errorbar: Any) -> list[float | None] | None:
    """Half-lengths of vertical error bars, or None."""
    stems = errorbar.lines[2] if errorbar else ()
    # the bar of a point that is not finite has no ends
    return [np.ptp(stem[:, 1]) / 2 if len(stem) == 2 else None for stem in stems[-1].get_segments()] if stems else None


def _series(axis: Axes) -> Iterator[tuple[Any, Any, Any, Any, Any]]:
    """Yield label, colour, x, y and half-lengths of error bars (or None) of all that an axis shows."""
    caps, spread = set(), {}
    for held in axis.containers:
        if isinstance(held, mpl.container.BarContainer):
            middles = [bar.get_x() + bar.get_width() / 2 for bar in held]
            yield (
                held.get_label(),
                held[0].get_facecolor(),
                middles,
                [b.get_y() + b.get_height() for b in held],
                _halves(held.errorbar),
            )
        elif isinstance(held, mpl.container.ErrorbarContainer):
            caps |= set(held.lines[1])
            spread[held.lines[0]] = held.get_label(), _halves(held)
    for line in axis.lines:
        if line not in caps and line.get_transform() == axis.transData:  # not a line across the panel
            label, lengths = spread.get(line, (line.get_label(), None))
            yield label, line.get_color(), line.get_xdata(), line.get_ydata(), lengths
    for cloud in axis.collections:
        if isinstance(cloud, mpl.collections.PathCollection) and np.size(cloud.get_offsets()):
            yield cloud.get_label(), cloud.get_facecolor(), *np.asarray(cloud.get_offsets()).T, None


def _hex(colour: Any) -> str:
    """One name for a colour however matplotlib holds it; of several, the first."""
    return mpl.colors.to_hex(mpl.colors.to_rgba_array(colour)[0])


def data(figure: Figure) -> pd.DataFrame:
    """Return the points that a figure shows: its lines, markers and bars.

    Returns
    -------
    pandas.DataFrame
        Columns ``panel`` (its title, or its number), ``series`` (the label; a
        line without one is named after the series of its colour), ``x``, ``y``
        and ``spread``, the half-length of an error bar. Shaded areas, lines
        across the panel and axes in three dimensions are not included.
    """
    checks.instance("figure", figure, mpl.figure.Figure, "a matplotlib figure")
    rows = []
    flat = [axis for axis in figure.axes if axis.name == "rectilinear"]
    for number, axis in enumerate(flat, 1):
        name, category = axis.get_title() or f"panel {number}", _categories(axis)
        shown = list(_series(axis))
        named = {_hex(colour): label for label, colour, *_ in shown if not label.startswith("_")}
        for label, colour, xs, ys, lengths in shown:
            if label.startswith("_"):
                label = f"{named[_hex(colour)]}, line" if _hex(colour) in named else "line"
            for i, (x, y) in enumerate(zip(xs, ys)):
                rows.append((name, label, category(x), y, lengths[i] if lengths is not None else None))
    return pd.DataFrame(rows, columns=["panel", "series", "x", "y", "spread"])


def _csv(figure: Figure) -> str:
    return data(figure).to_csv(index=False, float_format="%.10g", lineterminator="\n")


def shared_legend(figure: Figure, handles_labels: Legend, columns: int = 6) -> None:
    """Put one legend above all panels."""
    columns = checks.integer("columns", columns, 1)
    figure.legend(*handles_labels, loc="outside upper center", ncols=columns)


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
