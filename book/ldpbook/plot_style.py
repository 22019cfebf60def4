"""Choose how figures look: points by series and source, the legend, the scales of axes, and the numbers of tables."""

import numbers
from collections.abc import Collection, Iterator, Mapping
from typing import Any, TypeAlias

import matplotlib as mpl
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ldpkit.types import Array

__all__ = ["COLOURS", "MARKERS", "SOURCES", "looks", "curves", "bars", "legends", "note", "upright", "along", "written", "power"]

Look: TypeAlias = dict[str, Any]
"""Options by which matplotlib draws something."""
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#8C6D31", "#7F7F7F", "#5E3C99"]
"""Okabe and Ito's palette, ordered so that neighbours also differ in lightness."""
MARKERS = ["o", "s", "^", "D", "v", "P", "X", "*", "<", ">"]
SOURCES = ("paper", "released code", "exact", "this run", "this run, real reports", "claim")
"""Sources of a point; ``"this run"`` without an addition means sampled from the exact distribution."""
ROUNDING = 1e-12  # a number closer to zero may be a rounding error of doubles
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_DASHES = ["--", ":", "-.", (0, (1, 3)), (0, (6, 1, 1, 1, 1, 1))]


def looks(table: pd.DataFrame, palette: str | None) -> dict[str, Look]:
    """Return colour, marker and number of every series, and the dashes of claims; no two series of a figure look alike."""
    claims = table["source"] == "claim"
    names = table.loc[~claims, "series"].unique()
    colours = sns.color_palette(palette or COLOURS, count := max(1, len(names)))
    looks: dict[str, Look] = {name: {"ls": _DASHES[i % 5]} for i, name in enumerate(table[claims]["series"].unique())}
    for i, name in enumerate(names):
        looks.setdefault(name, {}).update(color=colours[i], marker=MARKERS[(i + i // 10) % 10], number=i, count=count)
    return looks


def _style(source: str, look: Look, beside: Collection[str] = ("exact",)) -> Look:
    """Return how points of a source are drawn for a series with this look, next to points of the other sources."""
    runs = any(other.startswith("this run") for other in beside)
    if source == "paper" and not runs:
        return {"color": "0.82", "lw": 3.5, "zorder": 1}
    if source in ("paper", "released code"):
        return {"color": "black", "marker": "x" if source == "paper" else "+", "ls": "none", "mew": 1, "zorder": 4}
    if source == "claim":
        return {"color": "black", "ls": look["ls"], "lw": 1, "zorder": 2}
    if source == "exact":  # if lines coincide, the lower ones are broader
        broad = 0 if runs or look["count"] > 6 else 0.4 * (look["count"] - 1 - look["number"])
        return {"color": look["color"], "lw": 1.1 + broad, "zorder": 2}
    face, joined = (look["color"] if source == "this run, real reports" else "white", "exact" not in beside)
    return {
        "color": look["color"],
        "marker": look["marker"],
        "mfc": face,
        "lw": 0.7,
        "ls": "-" if joined else "none",
        "zorder": 3,
    }


def _lined(axis: Axes, series: pd.DataFrame, look: Look, beside: Collection[str]) -> Iterator[tuple[str, pd.DataFrame, Look]]:
    """Draw the lines that cross a panel, and yield each source with its points and how they are drawn."""
    for source, rows in series.groupby("source", sort=False):
        style = _style(source, look, beside)
        for level in rows.loc[rows["x"].isna(), "y"]:
            axis.axhline(level, **style)
        for place in rows.loc[rows["y"].isna() & (source == "claim"), "x"]:
            axis.axvline(place, **style)
        yield source, rows.dropna(subset=["x", "y"]), style


def curves(axis: Axes, series: pd.DataFrame, look: Look, beside: Collection[str], floor: float | None, _: object) -> None:
    """Draw one series of a panel as lines and markers."""
    for source, rows, style in _lined(axis, series, look, beside):
        if rows.empty:
            continue
        at, height = rows["x"].astype(float), rows["y"]
        if source != "exact" and rows["error"].notna().any():
            axis.errorbar(at, height, yerr=rows["error"], fmt="none", ecolor=style["color"], capsize=2)
        marker = "marker" in style and floor is not None
        if len(rows) == 1 and "marker" not in style:  # a line of one point would be invisible
            style |= {"marker": "_", "ms": 14}
        axis.plot(at, height.clip(lower=floor) if marker else height, **style)


def aside(look: Look) -> float:
    """Return how far the bar of a series stands from the middle of its group."""
    return (look["number"] - (look["count"] - 1) / 2) * 0.8 / look["count"] if "count" in look else 0.0


def bars(axis: Axes, series: pd.DataFrame, look: Look, beside: Collection[str], _: object, places: Mapping[object, int]) -> None:
    """Draw one series of a panel as bars next to those of the other series."""
    width = 0.8 / look.get("count", 1)
    for source, rows, style in _lined(axis, series, look, beside):
        rows = rows[np.isfinite(rows["y"])]
        half, middle = 0.45, rows["x"].map(places).astype(float)
        if source != "claim":
            half, middle = width / 2, middle + aside(look)
        if source in ("exact", "claim"):
            axis.hlines(
                rows["y"],
                middle - half,
                middle + half,
                **style | {"color": "black", "lw": 1.6 if source == "exact" else 1, "zorder": 3},
            )
        elif "mfc" in style:
            strength = 1.0 if source == "this run, real reports" else 0.55
            errors = rows["error"] if rows["error"].notna().any() else None
            axis.bar(
                middle,
                rows["y"],
                width,
                yerr=errors,
                capsize=2,
                error_kw={"lw": 0.7},
                lw=0.6,
                zorder=2,
                facecolor=(*mpl.colors.to_rgb(look["color"]), strength),
                edgecolor="black",
            )
        else:
            axis.plot(middle, rows["y"], **style)


def legends(
    grid: sns.FacetGrid, table: pd.DataFrame, looks: Mapping[str, Look], own: bool, bars: bool, words: Mapping[str, str]
) -> None:
    """Add legends above the panels: colours for series, shapes for sources, and lines for claims."""

    def of_series(rows: pd.DataFrame) -> Look:
        """Return a legend entry for every series with a name, with its marker if it has one."""
        found = {}
        for name, part in rows[rows["series"] != ""].groupby("series", sort=False):
            if "color" in (look := looks[name]):
                runs = part["source"].str.startswith("this run").any()
                style = _style("this run" if runs else "exact", look, set(rows["source"]))
                found[name] = Patch(facecolor=look["color"]) if bars else Line2D([], [], **style)
        return found

    sources: Look = {}
    for source in [s for s in SOURCES if (table["source"] == s).any() and s != "claim"]:
        beside = set(table["source"])
        style = _style(source, {"color": "0.35", "marker": "o", "number": 0, "count": 1}, {*beside, "exact"})
        block = bars and source.startswith("this run")
        grey = "0.45" if source == "this run, real reports" else "0.75"
        sources[words.get(source, source)] = Patch(facecolor=grey, edgecolor="black") if block else Line2D([], [], **style)
    sources |= {name: Line2D([], [], **_style("claim", look)) for name, look in looks.items() if "ls" in look}
    if own:
        for panel, axis in grid.axes_dict.items():
            handles = of_series(table[table["panel"] == panel])
            legend = axis.legend(handles.values(), handles.keys(), fontsize=7.5, ncols=1 + len(handles) // 14)
            legend.set_in_layout(False)  # the panel keeps its size, however many series there are
    handles = sources if own else of_series(table) | sources
    for n in range(len(handles), 0, -1):
        legend = grid.figure.legend(handles.values(), handles.keys(), loc="outside upper center", ncols=n)
        if n == 1 or legend.get_window_extent().width < 0.97 * grid.figure.bbox.width:
            break
        legend.remove()
    # panels keep their size, however long the legend is
    high = legend.get_window_extent().height / grid.figure.dpi
    grid.figure.set_figheight(grid.figure.get_figheight() + high)


def note(axis: Axes, says: str, point: tuple[float, float], at: tuple[float, float]) -> None:
    """Write words into a panel, centred `at` shares of its width and height, with a line to a point of the data."""
    axis.annotate(
        says,
        point,
        at,
        textcoords="axes fraction",
        fontsize=8,
        ha="center",
        va="center",
        zorder=4,
        bbox={"boxstyle": "square,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.85},
        arrowprops={"arrowstyle": "-", "color": "0.3", "lw": 0.7, "shrinkB": 3},
    ).set_in_layout(False)


def upright(axis: Axes, rows: pd.DataFrame, scale: str, floor: float | None, ends: tuple[float | None, float | None]) -> None:
    """Set the scale and the ends of the vertical axis."""
    seen = rows["y"][np.isfinite(rows["y"])]
    low, high = ends
    if scale == "log" and not (seen > 0).any():  # a logarithmic axis needs numbers above zero
        axis.set_ylim(low := floor or 0.1, high := 10 * low)
    _set(axis, "y", scale, seen)
    if high is None:
        axis.autoscale(axis="y")
    if scale == "log":
        low = low if floor is None else 0.9 * floor
    axis.set_ylim(low, high)
    if scale == "log":
        _plain(axis.yaxis, *axis.get_ylim())


def _set(axis: Axes, which: str, scale: str, seen: Array) -> None:
    options = {"linthresh": min(seen[seen > 0], default=1)} if scale == "symlog" else {}
    getattr(axis, f"set_{which}scale")(scale, **options)


def _plain(axis: Axis, low: float, high: float) -> None:
    """Label a logarithmic axis at 1, 2 and 5 if it is short, with plain numbers unless it reaches far from 1."""
    axis.set_major_locator(mpl.ticker.LogLocator(subs=(1, 2, 5) if high < 60 * low else (1,)))
    if low > 3e-5 and high < 3e5:
        axis.set_major_formatter(mpl.ticker.FuncFormatter(lambda v, _: f"{v:g}"))
    axis.set_minor_formatter(mpl.ticker.NullFormatter())


def along(axis: Axes, rows: pd.DataFrame, scale: str) -> None:
    """Set the scale of the horizontal axis, with ticks at the values if these are few and their labels do not touch."""
    at = np.unique(rows.loc[rows["y"].notna(), "x"].dropna().astype(float))
    _set(axis, "x", scale, at)
    if not 0 < len(at) <= 12 or any(len(f"{v:g}") > 6 or v >= 1e6 for v in at):
        if scale == "log":
            _plain(axis.xaxis, *axis.get_xlim())
        return
    axis.autoscale(axis="x")
    turned = axis.xaxis.get_transform().transform
    place, ends = turned(at), turned(np.array(axis.get_xlim()))
    inches = 0.8 * axis.get_window_extent().width / axis.figure.dpi / np.ptp(ends)
    wide = [0.05 + 0.085 * (len(f"{v:g}") - 0.5 * (v % 1 > 0)) for v in at]  # inches
    kept = [len(at) - 1]
    for i in range(len(at) - 2, -1, -1):
        if (place[kept[-1]] - place[i]) * inches > (wide[i] + wide[kept[-1]]) / 2:
            kept.append(i)
    axis.set_xticks(at[kept[::-1]])
    axis.set_xticks(np.delete(at, kept), minor=True)
    axis.xaxis.set_major_formatter(mpl.ticker.StrMethodFormatter("{x:g}"))
    axis.xaxis.set_minor_formatter(mpl.ticker.NullFormatter())


def written(entry: object, precision: int) -> object:
    """Return an entry of a table as text.

    Thousands are separated by commas. A number that would be rounded to zero has a power of ten. A difference in the last digit
    of a double is zero.
    """
    if isinstance(entry, bool) or not isinstance(entry, numbers.Real):
        return entry
    if isinstance(entry, numbers.Integral):
        return f"{entry:,}"
    x = float(entry)
    text = f"{x:,.{precision}f}"
    if text.strip("-0.") or -ROUNDING < x <= 0:
        return text if text.strip("-0.") else text.lstrip("-")
    mantissa, exponent = f"{x:.1e}".split("e")
    ten = power(10, int(exponent))
    return ten if mantissa == "1.0" else f"{float(mantissa):g}·{ten}"


def power(base: int, exponent: int) -> str:
    """Return a power with a raised exponent, as people write it."""
    return f"{base}{str(exponent).translate(_RAISED)}"
