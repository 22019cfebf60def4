"""Figures of one look from tidy tables: readable in grey, safe for the colour-blind, every value at its true place.

`figure` draws a table whose rows are points: the `panel` and the `series` that a point belongs to, the `source`
that it comes from, `x`, `y` and the half-length of its `error` bar. Facets, shared scales, hues and palettes are
seaborn's; here is what the book wants beyond them: given error bars, one legend for series and sources, lines of
claims, the floor of a logarithmic axis. The table stays attached to the figure, and is what a reader downloads.
"""

import itertools
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from . import checks
from .marks import CLAIM, EXACT, OURS, PAPER, bundle, legend, unexplained
from .marks import data as _data

__all__ = [
    "COLOURS",
    "MARKERS",
    "COLUMNS",
    "SOURCES",
    "use",
    "tidy",
    "figure",
    "attach",
    "data",
    "summary",
    "show",
    "OURS",
    "EXACT",
    "CLAIM",
    "PAPER",
    "panels",
    "plain_log",
    "ticks_at",
    "epsilon_curves",
    "epsilon_bars",
    "delta_bars",
    "legend",
    "unexplained",
]

COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#8C6D31", "#7F7F7F", "#5E3C99"]
"""Okabe and Ito's palette, ordered so that neighbours also differ in lightness."""
MARKERS = ["o", "s", "^", "D", "v", "P", "X", "*", "<", ">"]
COLUMNS = ["panel", "series", "source", "x", "y", "error"]
SOURCES = ("paper", "released code", "exact", "this run", "this run, real reports", "claim")
"""Where a point comes from; *this run* alone is drawn from the exact law."""
_DASHES = ["--", ":", "-.", (0, (1, 3)), (0, (6, 1, 1, 1, 1, 1))]


def use() -> None:
    """Set the book's style for all figures that follow; in a notebook their tables travel with them."""
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
        shell.display_formatter.mimebundle_formatter.for_type(Figure, lambda figure, **_: _bundle(figure))


def attach(figure: Figure, table: pd.DataFrame, **said: Any) -> Figure:
    """Attach the table that a figure shows, and what else is `said` about it, to a figure that `figure` cannot draw."""
    checks.instance("figure", figure, Figure, "a matplotlib figure")
    figure.ldpkit = (table, said)  # type: ignore[attr-defined]  # travels with the figure, wherever it goes
    return figure


def data(figure: Figure) -> pd.DataFrame:
    """Return the table that a figure shows; an error if none is attached."""
    checks.instance("figure", figure, Figure, "a matplotlib figure")
    if not hasattr(figure, "ldpkit"):
        return _data(figure)
        raise ValueError("figure must have a table: draw it by plots.figure, or plots.attach one")
    table: pd.DataFrame = figure.ldpkit[0]
    return table


def _bundle(figure: Figure) -> Any:
    """What travels with a displayed figure."""
    if not hasattr(figure, "ldpkit"):
        return bundle(figure)
    return {"text/csv": data(figure).to_csv(index=False, float_format="%.10g", lineterminator="\n")}


def tidy(
    cells: pd.DataFrame, *, x: str, panel: str = "", series: str = "", along: str = "",
    sources: Mapping[str, str | tuple[str, str]] | None = None, claim: Mapping[str, str | float] | None = None,
) -> pd.DataFrame:  # fmt: skip
    """Return the rows for `figure` that stand beside each other in the columns of `cells`; what is missing is no row.

    Parameters
    ----------
    cells : pandas.DataFrame
        One row per place on the horizontal axis, for example from `summary`.
    x : str
        Column of the horizontal axis.
    panel, series : str
        Names with columns in braces, ``"k = {k}"``.
    along : str, optional
        Column by which a line runs, if it is not the one of `x`.
    sources : dict, optional
        For each source the column of its values, or the two of values and errors. By default those of `summary`.
    claim : dict, optional
        Lines of claims: a name, and the column (one value for each x of a panel) or the level.
    """
    sources = {"this run": ("mean", "spread"), "exact": "exact"} if sources is None else sources
    wanted = [c for given in sources.values() for c in ([given] if isinstance(given, str) else given)]
    wanted += [level for level in (claim or {}).values() if isinstance(level, str)]
    checks.columns(cells, [x, *wanted, *([along] if along else [])])
    rows, order, found = cells.to_dict("records"), along or x, []
    for source, given in sources.items():
        value, error = (given, "") if isinstance(given, str) else given
        found += [(panel.format_map(r), series.format_map(r), source, r[x], r[value], r[error] if error else None, r[order])
                  for r in rows]  # fmt: skip
    for name, level in (claim or {}).items():
        found += dict.fromkeys(
            (panel.format_map(r), name, "claim", r[x], r[level], None, r[order]) if isinstance(level, str)
            else (panel.format_map(r), name, "claim", None, level, None, None) for r in rows)  # fmt: skip
    table = pd.DataFrame(found, columns=[*COLUMNS, "order"]).astype({"y": float, "error": float})
    if pd.api.types.is_numeric_dtype(cells[order]):
        group = table.groupby(COLUMNS[:3], sort=False).ngroup()
        table = table.iloc[np.lexsort((table["order"].astype(float), group))].astype({"x": float})
    return table[COLUMNS].dropna(subset="y", ignore_index=True)


def figure(
    table: pd.DataFrame, *, x: str, y: str, kind: str = "lines", xscale: str = "linear", yscale: str = "linear",
    floor: float | None = None, ylim: tuple[float | None, float | None] = (None, None), columns: int = 4,
    size: tuple[float, float] = (2.9, 2.5), share: bool = True, own: bool = False, palette: str | None = None,
    error: str = "mean ± sd", z: bool = False,
) -> Figure:  # fmt: skip
    """Draw one figure from one table.

    Runs are markers (filled where they are real reports, hollow where they are drawn from the exact law), joined by a
    thin line where no exact one runs through them; exact values are lines, claims black broken ones. The paper's
    points are black crosses, or a broad grey line where they are many; those of released code black pluses.

    Parameters
    ----------
    table : pandas.DataFrame
        The columns `COLUMNS`, sources of `SOURCES`. Rows are joined in their order; a row without `x` is a line
        across its panel, one without `y` a line up.
    x, y : str
        What the axes are called.
    kind : {"lines", "bars"}
        ``"bars"`` groups by `x`, in order of appearance; exact values are dashes then.
    xscale, yscale : {"linear", "log", "symlog"}
        ``"symlog"`` is linear from 0 to the smallest value above it.
    floor : float, optional
        Lower edge of a logarithmic vertical axis; markers of smaller values stand on it, the table keeps the values.
    ylim : (float or None, float or None)
        Ends of the vertical axis, where the data do not decide.
    columns, size : int, (float, float)
        Panels in a row, and inches of one.
    share : bool
        Whether panels share both scales.
    own : bool
        Whether panels show different series: colours start anew in each, and each has a legend of its series.
    palette : str, optional
        Name of one of seaborn's palettes, for series that have an order.
    error : str
        What the markers of runs with an error bar are.
    z : bool
        Whether *exact* is the expectation of what the runs measure, so that deviations can be judged by it.
    """
    for name, value, allowed in (
        ("kind", kind, ("lines", "bars")), ("xscale", xscale, ("linear", "log", "symlog")),
        ("yscale", yscale, ("linear", "log", "symlog")),
    ):  # fmt: skip
        checks.one_of(name, value, allowed)
    checks.columns(table, COLUMNS)
    if list(table) != COLUMNS:
        raise ValueError(f"table must have the columns {', '.join(COLUMNS)} alone, got {', '.join(table)}")
    for source in table["source"].unique():
        checks.one_of("source", source, SOURCES)
    if kind == "bars" and yscale == "linear" and not (table["y"] < 0).any():
        ylim = (0 if ylim[0] is None else ylim[0], ylim[1])
    floor = None if floor is None else checks.real("floor", floor, 0, closed="()")
    spec = {"x": x, "y": y, "kind": kind, "xscale": xscale, "yscale": yscale, "floor": floor, "error": error, "z": z}
    looks = _looks(table, own, palette)
    shown = table if len(table) else pd.DataFrame([(_NOTHING, "", "exact", *[math.nan] * 3)], columns=COLUMNS)
    grid = sns.FacetGrid(
        shown, col="panel", hue="series", col_wrap=min(columns, shown["panel"].nunique()), sharex=share, sharey=share,
        height=size[1], aspect=size[0] / size[1], dropna=False,
    )  # fmt: skip
    grid.figure.set_layout_engine("constrained")
    places = {name: i for i, name in enumerate(table.loc[table["source"] != "claim", "x"].dropna().unique())}
    for (_, column, hue), rows in grid.facet_data():
        if len(rows):
            draw = _bars if kind == "bars" else _curves
            draw(grid.axes.flat[column], rows, looks[grid.hue_names[hue]], floor if yscale == "log" else None, places)
    grid.set_titles("{col_name}")
    for panel, axis in grid.axes_dict.items():
        own_rows = shown if share else shown[shown["panel"] == panel]
        _scale(axis, own_rows, yscale, floor, ylim)
        if kind == "bars":
            names = [name if isinstance(name, str) else f"{name:g}" for name in places]
            long = 0.1 * sum(map(len, names)) > size[0]
            axis.set_xticks(range(len(names)), names, **({"rotation": 35, "ha": "right"} if long else {}))
            axis.grid(axis="x", visible=False)
        else:
            _along(axis, own_rows, xscale)
    words = {"exact": "exact expectation" if z else "exact", "paper": "the paper", "released code": "the released code"}
    words |= {s: f"{s}, {error}" for s in table.loc[table["error"].notna(), "source"].unique()}
    _legends(grid, shown, looks, own, kind == "bars", words)
    grid.figure.supxlabel(x, fontsize=10)
    grid.figure.supylabel(y, fontsize=10)
    return attach(grid.figure, table, **spec)


_NOTHING = "nothing to draw at these parameters"


def _looks(table: pd.DataFrame, own: bool, palette: str | None) -> dict[str, dict[str, Any]]:
    """Colour, marker and number of every series, dashes of those that are claims; `own` counts anew in each panel."""
    claims, numbers = table["source"] == "claim", dict[str, int]()
    for name, rows in table[~claims].groupby("series", sort=False):
        rivals = table.loc[table["panel"].isin(rows["panel"]), "series"].unique() if own else list(numbers)
        taken = {numbers[rival] for rival in rivals if rival in numbers}
        numbers[name] = next(i for i in itertools.count() if i not in taken)
    count = max(numbers.values(), default=0) + 1
    colours = sns.color_palette(palette or COLOURS, count)
    looks: dict[str, dict[str, Any]] = {name: {"ls": _DASHES[i % 5]} for i, name in enumerate(table[claims]["series"].unique())}
    for name, i in numbers.items():
        looks.setdefault(name, {}).update(color=colours[i], marker=MARKERS[(i + i // 10) % 10], number=i, count=count)
    return looks


def _style(source: str, look: Mapping[str, Any], beside: Collection[str] = ("exact",)) -> dict[str, Any]:
    """How the points of a source are drawn in a series of this look, beside those of other sources."""
    runs = any(other.startswith("this run") for other in beside)
    if source == "paper" and not runs:
        return {"color": "0.82", "lw": 3.5, "zorder": 1}
    if source in ("paper", "released code"):
        return {"color": "black", "marker": "x" if source == "paper" else "+", "ls": "none", "mew": 1, "zorder": 4}
    if source == "claim":
        return {"color": "black", "ls": look["ls"], "lw": 1, "zorder": 2}
    if source == "exact":  # of lines that coincide the lower ones are broader
        broad = 0 if runs or look["count"] > 6 else 0.4 * (look["count"] - 1 - look["number"])
        return {"color": look["color"], "lw": 1.1 + broad, "zorder": 2}
    face, joined = look["color"] if source == "this run, real reports" else "white", "exact" not in beside
    return {
        "color": look["color"],
        "marker": look["marker"],
        "mfc": face,
        "lw": 0.7,
        "ls": "-" if joined else "none",
        "zorder": 3,
    }


def _curves(axis: Axes, series: pd.DataFrame, look: Mapping[str, Any], floor: float | None, _: Any) -> None:
    """Draw one series of a panel as lines and markers."""
    for source, rows in series.groupby("source", sort=False):
        style = _style(source, look, set(series["source"]))
        for level in rows.loc[rows["x"].isna(), "y"]:
            axis.axhline(level, **style)
        for place in rows.loc[rows["y"].isna() & (source == "claim"), "x"]:
            axis.axvline(place, **style)
        rows = rows.dropna(subset="x")
        at, height = rows["x"].astype(float), rows["y"]
        if rows["error"].notna().any():
            axis.errorbar(at, height, yerr=rows["error"], fmt="none", ecolor=style["color"], capsize=2)
        marker = "marker" in style and floor is not None
        if len(rows) == 1 and "marker" not in style:  # a line of one point would not be seen
            style |= {"marker": "_", "ms": 14}
        axis.plot(at, height.clip(lower=floor) if marker else height, **style)


def _bars(axis: Axes, series: pd.DataFrame, look: Mapping[str, Any], _: Any, places: Mapping[Any, int]) -> None:
    """Draw one series of a panel as bars beside those of the others."""
    width = 0.8 / look.get("count", 1)
    for source, rows in series.groupby("source", sort=False):
        style = _style(source, look, set(series["source"]))
        for level in rows.loc[rows["x"].isna(), "y"]:
            axis.axhline(level, **style)
        rows = rows.dropna(subset="x")
        half, middle = 0.45, rows["x"].map(places).astype(float)
        if source != "claim":
            half, middle = width / 2, middle + (look["number"] - (look["count"] - 1) / 2) * width
        if source in ("exact", "claim"):
            axis.hlines(
                rows["y"],
                middle - half,
                middle + half,
                **style | {"color": "black", "lw": 1.6 if source == "exact" else 1, "zorder": 3},
            )
        elif "mfc" in style:
            strength = 1.0 if source == "this run, real reports" else 0.55
            axis.bar(middle, rows["y"], width, yerr=rows["error"], capsize=2, error_kw={"lw": 0.7}, lw=0.6, zorder=2,
                     facecolor=(*mpl.colors.to_rgb(look["color"]), strength), edgecolor="black")  # fmt: skip
        else:
            axis.plot(middle, rows["y"], **style)


def _scale(axis: Axes, rows: pd.DataFrame, scale: str, floor: float | None, ends: tuple[float | None, float | None]) -> None:
    """Give the vertical axis its scale and its ends."""
    seen = rows["y"][np.isfinite(rows["y"])]
    if scale == "log" and not (seen > 0).any():
        axis.set_ylim((floor or 1) / 10, floor or 1)  # a logarithmic axis needs a number above zero
    _set(axis, "y", scale, seen)
    axis.autoscale(axis="y")
    low, high = ends
    if scale == "log":
        low = low if floor is None else 0.9 * floor
    axis.set_ylim(low, high)
    if scale == "log":
        _plain(axis.yaxis, *axis.get_ylim())


def _set(axis: Axes, which: str, scale: str, seen: Any) -> None:
    options = {"linthresh": min(seen[seen > 0], default=1)} if scale == "symlog" else {}
    getattr(axis, f"set_{which}scale")(scale, **options)


def _plain(axis: Any, low: float, high: float) -> None:
    """Label a logarithmic axis at 1, 2 and 5 if it is short, with plain numbers unless it reaches far from 1."""
    axis.set_major_locator(mpl.ticker.LogLocator(subs=(1, 2, 5) if high < 60 * low else (1,)))
    if low > 3e-5 and high < 3e5:
        axis.set_major_formatter(mpl.ticker.FuncFormatter(lambda v, _: f"{v:g}"))
    axis.set_minor_formatter(mpl.ticker.NullFormatter())


def _along(axis: Axes, rows: pd.DataFrame, scale: str) -> None:
    """Give the horizontal axis its scale, and ticks where the values are if they are few; labels never touch."""
    at = np.unique(rows.loc[rows["y"].notna(), "x"].dropna().astype(float))
    _set(axis, "x", scale, at)
    if not 0 < len(at) <= 12 or any(len(f"{v:g}") > 6 or v >= 1e6 for v in at):
        if scale == "log":
            _plain(axis.xaxis, *axis.get_xlim())
        return
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


def _legends(
    grid: sns.FacetGrid, table: pd.DataFrame, looks: Mapping[str, Any], own: bool, bars: bool, words: Mapping[str, str]
) -> None:
    """Explain series by their colours, sources by their shapes and claims by their lines, above the panels."""

    def of_series(rows: pd.DataFrame) -> dict[str, Any]:
        """A handle for every series with a name; the marker where there is one."""
        found = {}
        for name, part in rows[rows["series"] != ""].groupby("series", sort=False):
            if "color" in (look := looks[name]):
                runs = part["source"].str.startswith("this run").any()
                style = _style("this run" if runs else "exact", look, set(part["source"]))
                found[name] = Patch(facecolor=look["color"]) if bars else Line2D([], [], **style)
        return found

    sources: dict[str, Any] = {}
    for source in [s for s in SOURCES if (table["source"] == s).any() and s != "claim"]:
        beside = set(table["source"])
        style = _style(source, {"color": "0.35", "marker": "o", "number": 0, "count": 1}, {*beside, "exact"})
        block = bars and source.startswith("this run")
        sources[words.get(source, source)] = Patch(facecolor="0.7", edgecolor="black") if block else Line2D([], [], **style)
    sources |= {name: Line2D([], [], **_style("claim", look)) for name, look in looks.items() if "ls" in look}
    if own:
        for panel, axis in grid.axes_dict.items():
            axis.legend(
                handles=(handles := of_series(table[table["panel"] == panel])).values(), labels=list(handles), fontsize=7.5
            )
    handles = sources if own else of_series(table) | sources
    for n in range(len(handles), 0, -1):
        legend = grid.figure.legend(handles.values(), handles.keys(), loc="outside upper center", ncols=n)
        if n == 1 or legend.get_window_extent().width < 0.97 * grid.figure.bbox.width:
            break
        legend.remove()


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
