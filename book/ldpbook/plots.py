"""Draw figures of one look from tidy tables: readable in grey and for the colour-blind, every value at its true place.

`figure` draws a table whose rows are points. A row has the `panel` and the `series` of its point, the `source` of the value, `x`,
`y`, and the half-length of the `error` bar. Facets, shared scales, hues and palettes are seaborn's. This module adds given error
bars, one legend for series and sources, lines of claims, and the floor of a logarithmic axis. The table stays attached to the
figure, so that a reader can download it.
"""

import math
import numbers
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import scipy
import seaborn as sns
from cycler import cycler
from matplotlib.figure import Figure
from numpy.typing import ArrayLike
from pandas.api.typing import DataFrameGroupBy
from pandas.io.formats.style import Styler

from ldpkit import checks
from ldpkit.types import Array

from . import plot_style
from .paper_values import has_columns
from .plot_style import COLOURS, MARKERS, SOURCES

__all__ = ["COLOURS", "MARKERS", "COLUMNS", "SOURCES", "Note", "use", "tidy", "figure", "attach", "data", "delta_over_epsilon",
           "trade_off", "summary", "show", "number"]  # fmt: skip

_RARE = 25  # fewer events in all runs together have no bell-shaped distribution
_FORMS = (("svg+xml", "svg"), ("png", "png"))  # types of pictures, and their names in matplotlib
_SPEC = "application/vnd.ldpkit.figure+json"  # media type of the options of `figure`
_STORED = "%.10g"  # how a table is stored with its figure
_CURVE, _LEAST_DELTA = (4.6, 3.3), 1e-4  # size of a picture of a trade-off curve; smaller bounds of delta are left out
COLUMNS = ["panel", "series", "source", "x", "y", "error"]


class Note(NamedTuple):
    """Words inside a picture, with a line to the point that they are about.

    Parameters
    ----------
    says : str
        The words, which give the reason of what is seen.
    series : str
        The series of the point, ``""`` for one without a name, or the name of a claim.
    x : float or str
        Its place on the horizontal axis. A series without a point there has no note.
    at : (float, float)
        Where the middle of the words stands, as shares of the panel's width and height, from its lower left corner.
    panel : str
        The panel of the point.
    when : bool
        Whether the words are true in this run. Otherwise they are left out.
    """

    says: str
    series: str
    x: float | str
    at: tuple[float, float]
    panel: str = ""
    when: bool = True


def use() -> None:
    """Set the book's style for all figures that follow; in a notebook their tables are stored with them."""
    mpl.rcParams.update(
        {
            "figure.facecolor": "white",
            "savefig.facecolor": "white",
            "figure.dpi": 110,
            "axes.prop_cycle": cycler(color=COLOURS),
            "axes.grid": True,
            "grid.alpha": 0.35,
            "grid.linewidth": 0.6,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.titlesize": 10.5,
            "axes.labelsize": 10,
            "font.size": 9.5,
            "legend.frameon": False,
            "legend.fontsize": 9,
            "lines.linewidth": 1.1,
            "lines.markersize": 5,
            "svg.hashsalt": "ldpkit",
            "svg.fonttype": "path",
        }
    )
    # imported in the kernel, because the backend joins the shell that there is when it is imported
    from IPython import get_ipython
    from matplotlib_inline.backend_inline import set_matplotlib_formats

    plt.uninstall_repl_displayhook()  # it would draw every figure once more, before the pictures are made
    set_matplotlib_formats()  # type: ignore[no-untyped-call]  # it has no types; `_bundle` makes the pictures
    if shell := get_ipython():
        shell.display_formatter.mimebundle_formatter.for_type(Figure, lambda figure, **_: _bundle(figure))


def attach(figure: Figure, table: pd.DataFrame, **said: object) -> Figure:
    """Attach a table, and further facts `said`, to a figure that `figure` cannot draw; return the figure."""
    checks.instance("figure", figure, Figure, "a matplotlib figure")
    figure.ldpkit = (table, said)  # type: ignore[attr-defined]  # travels with the figure, wherever it goes
    return figure


def data(figure: Figure) -> pd.DataFrame:
    """Return the table that a figure shows, or raise ValueError if none is attached."""
    checks.instance("figure", figure, Figure, "a matplotlib figure")
    if not hasattr(figure, "ldpkit"):
        raise ValueError("figure must have a table: draw it by plots.figure, or plots.attach one")
    table: pd.DataFrame = figure.ldpkit[0]
    return table


def _bundle(figure: Figure) -> dict[str, object]:
    """Return the data that are stored with a displayed figure: its pictures, its table, and the options of `figure`.

    The parts of the figure are placed once. IPython would place them anew and draw the figure twice for each picture.
    """
    from IPython.core.pylabtools import print_figure

    if layout := figure.get_layout_engine():
        layout.execute(figure)
        figure.set_layout_engine(None)
    edges = figure.get_tightbbox().padded(mpl.rcParams["savefig.pad_inches"])
    pictures = {
        f"image/{name}": print_figure(figure, form, edges, base64=True, metadata={"Date": None})  # type: ignore[no-untyped-call]
        for name, form in _FORMS
        if figure.axes
    }
    figure.set_layout_engine(layout)
    if not hasattr(figure, "ldpkit"):
        return pictures
    table, said = figure.ldpkit
    text = table.to_csv(index=False, float_format=_STORED, lineterminator="\n")
    return pictures | {"text/csv": text} | ({_SPEC: said} if "kind" in said else {})


def tidy(
    cells: pd.DataFrame,
    *,
    x: str,
    panel: str = "",
    series: str = "",
    along: str = "",
    sources: Mapping[str, str | tuple[str, str]] | None = None,
    claim: Mapping[str, str | float] | None = None,
) -> pd.DataFrame:
    """Return the rows for `figure` from a table that has several sources in one row; missing values give no row.

    Parameters
    ----------
    cells : pandas.DataFrame
        One row per place on the horizontal axis, for example from `summary`. Where a column ``faithful`` is true, the values of
        this run come from real reports.
    x : str
        Column of the horizontal axis.
    panel, series : str
        Names with columns in braces, ``"k = {k}"``.
    along : str, optional
        Column that orders the points of a line, if it is not the one of `x`.
    sources : dict, optional
        For each source the column of its values, or the two columns of values and errors. By default those of `summary`, with the
        standard error of *exact* where no event is rare.
    claim : dict, optional
        Lines of claims: a name, and the column (one value for each x of a panel) or the level.
    """
    if {"chance", "se"} <= set(cells):  # for few events a standard error does not describe the deviations
        cells = cells.assign(se=cells["se"].where(cells["chance"].isna()))
    law = ("exact", "se") if "se" in cells else "exact"
    sources = {"this run": ("mean", "spread"), "exact": law} if sources is None else sources
    wanted = [c for given in sources.values() for c in ([given] if isinstance(given, str) else given)]
    wanted += [level for level in (claim or {}).values() if isinstance(level, str)]
    has_columns(cells, [x, *wanted, *([along] if along else [])])
    rows, order, found = cells.to_dict("records"), along or x, []
    for source, given in sources.items():
        value, error = (given, "") if isinstance(given, str) else given
        real = f"{source}, real reports"
        found += [
            (
                panel.format_map(r),
                series.format_map(r),
                real if source == "this run" and r.get("faithful") else source,
                r[x],
                r[value],
                r[error] if error else None,
                r[order],
            )
            for r in rows
        ]
    for name, level in (claim or {}).items():
        found += dict.fromkeys(
            (panel.format_map(r), name, "claim", r[x], r[level], None, r[order])
            if isinstance(level, str)
            else (panel.format_map(r), name, "claim", None, level, None, None)
            for r in rows
        )
    table = pd.DataFrame(found, columns=[*COLUMNS, "order"]).astype({"y": float, "error": float})
    if pd.api.types.is_numeric_dtype(cells[order]):
        group = table.groupby(COLUMNS[:3], sort=False).ngroup()
        table = table.iloc[np.lexsort((table["order"].astype(float), group))].astype({"x": float})
    return table[COLUMNS].dropna(subset="y", ignore_index=True)


def figure(
    table: pd.DataFrame,
    *,
    x: str,
    y: str,
    kind: str = "lines",
    xscale: str = "linear",
    yscale: str = "linear",
    floor: float | None = None,
    ylim: tuple[float | None, float | None] = (None, None),
    columns: int = 4,
    size: tuple[float, float] = (2.9, 2.5),
    share: str = "xy",
    own: bool = False,
    palette: str | None = None,
    error: str = "mean ± sd",
    z: bool = False,
    notes: Iterable[Note] = (),
) -> Figure:
    """Draw one figure from one table.

    Runs are markers: filled for real reports, hollow for reports sampled from the exact distribution. A thin line joins them in a
    panel without exact values. Exact values are lines, and claims are black broken lines. The paper's points are black crosses
    next to runs, else a broad grey line. Points of released code are black pluses.

    Parameters
    ----------
    table : pandas.DataFrame
        The columns `COLUMNS`, with sources of `SOURCES`. Rows are joined in their order. A row without `x` is a horizontal line
        across its panel, and one without `y` a vertical line. The error of *exact* is the standard error of the runs, and is not
        drawn.
    x, y : str
        Labels of the axes.
    kind : {"lines", "bars"}
        ``"bars"`` groups by `x`, in order of appearance; exact values are dashes then.
    xscale, yscale : {"linear", "log", "symlog"}
        ``"symlog"`` is linear from 0 to the smallest value above it.
    floor : float, optional
        Lower edge of a logarithmic vertical axis. Markers of smaller values stand on it; the table keeps the values.
    ylim : (float or None, float or None)
        Ends of the vertical axis; None leaves an end to the data.
    columns, size : int, (float, float)
        Number of panels in a row, and the size of one in inches.
    share : {"xy", "x", "y", ""}
        The scales that panels share.
    own : bool
        Whether panels show different series. Then each panel has a legend of its series.
    palette : str, optional
        Name of one of seaborn's palettes, for series that have an order.
    error : str
        Meaning of a marker with its error bar.
    z : bool
        Whether *exact* is the expectation of the runs, so that their deviations can be judged by it.
    notes : iterable of Note
        Words inside the panels. The exact value of a point is preferred to that of a run.
    """
    for name, value, allowed in (
        ("kind", kind, ("lines", "bars")), ("xscale", xscale, ("linear", "log", "symlog")),
        ("yscale", yscale, ("linear", "log", "symlog")), ("share", share, ("xy", "x", "y", "")),
    ):  # fmt: skip
        checks.one_of(name, value, allowed)
    has_columns(table, COLUMNS)
    checks.need(list(table) == COLUMNS, f"table must have the columns {', '.join(COLUMNS)} alone, got {', '.join(table)}")
    for source in table["source"].unique():
        checks.one_of("source", source, SOURCES)
    if kind == "lines":
        for place in table["x"]:
            checks.instance("x", place, numbers.Real | None, "a number where lines are drawn")
    if kind == "bars" and yscale == "linear" and not (table["y"] < 0).any():
        ylim = (0 if ylim[0] is None else ylim[0], ylim[1])
    columns = checks.integer("columns", columns, 1)
    floor = None if floor is None else checks.real("floor", floor, 0, closed="()")
    spec: dict[str, Any] = {
        "x": x, "y": y, "kind": kind, "xscale": xscale, "yscale": yscale, "floor": floor,
        "ylim": ylim, "columns": columns, "size": size, "share": share, "own": own,
        "palette": palette, "error": error, "z": z,
    }  # fmt: skip
    shown = (
        table
        if len(table)
        else pd.DataFrame([("nothing to draw at these parameters", "", "exact", *[math.nan] * 3)], columns=COLUMNS)
    )
    looks = plot_style.looks(shown, palette)
    grid = sns.FacetGrid(
        shown,
        col="panel",
        hue="series",
        col_wrap=min(columns, shown["panel"].nunique()),
        sharex="x" in share,
        sharey="y" in share,
        height=size[1],
        aspect=size[0] / size[1],
        dropna=False,
    )
    grid.figure.set_layout_engine("constrained")
    places = {name: i for i, name in enumerate(table.loc[table["source"] != "claim", "x"].dropna().unique())}
    for (_, column, hue), rows in grid.facet_data():
        if len(rows):
            draw = plot_style.bars if kind == "bars" else plot_style.curves
            beside = set(shown.loc[shown["panel"] == rows["panel"].iloc[0], "source"])
            draw(grid.axes.flat[column], rows, looks[grid.hue_names[hue]], beside, floor if yscale == "log" else None, places)
    grid.set_titles("{col_name}")
    for panel, axis in grid.axes_dict.items():
        here = shown[shown["panel"] == panel]
        plot_style.upright(axis, shown if "y" in share else here, yscale, floor, ylim)
        if kind == "bars":
            names = [name if isinstance(name, str) else f"{name:g}" for name in places]
            long = 0.1 * sum(map(len, names)) > size[0]
            axis.set_xticks(range(len(names)), names, **({"rotation": 35, "ha": "right"} if long else {}))
            axis.grid(axis="x", visible=False)
        else:
            plot_style.along(axis, shown if "x" in share else here, xscale)
    told = spec["notes"] = list[dict[str, Any]]()
    for note in (one for one in notes if one.when):
        points = table[(table["panel"] == note.panel) & (table["series"] == note.series) & (table["x"] == note.x)]
        for _, point in points.sort_values("source", key=lambda names: names != "exact", kind="stable")[:1].iterrows():
            axis = grid.axes_dict[note.panel]
            middle: Any = places[note.x] + plot_style.aside(looks[note.series]) if kind == "bars" else note.x
            plot_style.note(axis, note.says, (middle, max(point["y"], axis.get_ylim()[0])), note.at)
            told.append(note._replace(x=note.x if isinstance(note.x, str) else float(_STORED % note.x), when=True)._asdict())
    words = {"paper": "the paper", "released code": "the released code"}
    words["exact"] = "exact expectation" if z else "exact"
    barred = table["error"].notna() & (table["source"] != "exact")
    words |= {s: f"{s}, {error}" for s in table.loc[barred, "source"].unique()}
    plot_style.legends(grid, shown, looks, own, kind == "bars", words)
    grid.figure.supxlabel(x, fontsize=10)
    grid.figure.supylabel(y, fontsize=10)
    return attach(grid.figure, table, **spec)


def delta_over_epsilon(result: Any, claimed: Callable[[Array], Array]) -> Figure:
    """Draw the delta that a claim allows over epsilon, and lower bounds of the `band` of a sequential audit.

    The function `claimed` returns the delta of the exact claim, because a curve that is stored as a few lines would show corners.
    The claim is refuted where a point lies above its line. A stem shows that a bound means "at least".
    """
    epsilons = np.linspace(0, 4, 81)
    band = pd.DataFrame(result.band, columns=["epsilon", "bound", "allowed"])
    allowed = pd.DataFrame({"epsilon": epsilons, "allowed": claimed(epsilons)})
    figure, axis = plt.subplots(figsize=_CURVE, layout="constrained")
    axis.plot(allowed["epsilon"], allowed["allowed"], "k--", label="the claim allows")
    shown = band[band["bound"] > 0]
    axis.vlines(shown["epsilon"], _LEAST_DELTA, shown["bound"], colors="C0", linewidth=1)
    axis.plot(shown["epsilon"], shown["bound"], "C0o", label="delta is at least")
    axis.set(xlabel="ε", ylabel="δ", yscale="log", ylim=(_LEAST_DELTA, 1), xlim=(-0.1, 4.1))
    axis.legend()
    return attach(figure, pd.concat([allowed, band], ignore_index=True))


def trade_off(result: Any, claim: Any) -> Figure:
    """Draw the trade-off curve of a claim, and for each bound of the `band` of a sequential audit the line that it implies.

    The true curve reaches or passes below each of these lines somewhere; nobody knows where.
    """
    alphas, betas = claim.drawn()
    rows = [pd.DataFrame({"line": "claim", "alpha": alphas, "beta": betas})]
    figure, axis = plt.subplots(figsize=_CURVE, layout="constrained")
    axis.plot([0, 1], [1, 0], color="0.7", linewidth=0.8)
    axis.plot(alphas, betas, "k--", label="claimed least miss rate")
    for epsilon, bound, _ in result.band:
        ends = np.array([0, (1 - bound) * np.exp(-epsilon)])
        line = pd.DataFrame({"line": f"{epsilon:g}", "alpha": ends, "beta": 1 - bound - np.exp(epsilon) * ends})
        if bound > 0:
            rows.append(line)
            axis.plot(line["alpha"], line["beta"], "C0", label="reached somewhere" if len(rows) == 2 else None)
    axis.set(xlabel="false alarm rate", ylabel="miss rate", xlim=(0, 1), ylim=(0, 1))
    axis.legend()
    return attach(figure, pd.concat(rows, ignore_index=True))


def summary(table: pd.DataFrame, by: Iterable[str] = ("mechanism", "k", "epsilon")) -> pd.DataFrame:
    """Collapse the runs of each cell into one row.

    Returns
    -------
    pandas.DataFrame
        The columns of `by`, and ``mean`` and ``spread`` (standard deviation) of the statistic over the runs. ``exact`` is its
        expectation, and ``se`` the exact standard error of the mean. Both are empty where no exact distribution is known.
        ``faithful``, if the table has it, tells whether all reports are real. ``chance`` is given if the table has counts and
        exact rates, and an event or its opposite is rare. It is the exact two-sided probability of counts that deviate at least
        as far. A single rare event moves such a statistic by many standard errors.
    """
    has_columns(table, [*by, "epsilon_emp", "exact_epsilon_emp", "exact_sd"])
    cell = (
        table.groupby(list(by), sort=False, dropna=False)
        .agg(
            mean=("epsilon_emp", "mean"),
            spread=("epsilon_emp", "std"),
            exact=("exact_epsilon_emp", "first"),
            sd=("exact_sd", "first"),
            runs=("epsilon_emp", "size"),
        )
        .reset_index()
    )
    if "faithful" in table:
        cell["faithful"] = table.groupby(list(by), sort=False, dropna=False)["faithful"].all().to_numpy()
    if {"tp", "fp", "trials", "exact_tpr", "exact_fpr"} <= set(table):
        cell["chance"] = _chance(table.groupby(list(by), sort=False, dropna=False))
    cell["spread"] = cell["spread"].fillna(0.0)
    cell[["exact", "sd"]] = cell[["exact", "sd"]].astype(float)
    cell["se"] = cell.pop("sd") / cell.pop("runs") ** 0.5
    return cell


def _chance(cells: DataFrameGroupBy) -> Array:
    """Return the smaller probability of counts that deviate at least as far from the exact rates, doubled for two counts.

    The probability is NaN where no event is rare.
    """
    trials, found, rare = cells["trials"].sum().to_numpy(), [], []
    for count, rate in (("tp", "exact_tpr"), ("fp", "exact_fpr")):
        hits, share = cells[count].sum().to_numpy(), cells[rate].first().to_numpy(float)
        law = scipy.stats.binom(trials, share)
        found.append(2 * np.minimum(law.cdf(hits), law.sf(hits - 1)))
        rare.append(trials * np.minimum(share, 1 - share) < _RARE)
    return np.where(np.any(rare, axis=0), np.minimum(1, 2 * np.min(found, axis=0)), np.nan)


def show(table: pd.DataFrame, precision: int = 3, index: bool = False, bold: str | None = None) -> Styler:
    """Return a table in the book's look.

    Parameters
    ----------
    table : pandas.DataFrame
    precision : int
        Decimals of floating-point numbers. Missing values stay empty, and thousands are separated by commas. A number that these
        decimals would show as zero has a power of ten.
    index : bool
        Whether to show the row labels.
    bold : str, optional
        A boolean column: rows where it is true are set in bold.
    """
    has_columns(table, [bold] if bold else [])
    precision = checks.integer("precision", precision, 0)
    style = table.style.format(lambda entry: plot_style.written(entry, precision), na_rep="")
    style = style.set_table_attributes('class="dataframe"')
    for axis in (0, 1):
        style = style.format_index(lambda label: f"{label:g}" if isinstance(label, float) else label, axis=axis)
    if bold:
        style = style.apply(lambda row: ["font-weight: bold" if row[bold] else ""] * len(row), axis=1)
    return style if index else style.hide(axis="index")


def number(found: ArrayLike, digits: int = 2, unit: str = "") -> str:
    """Write a number, or the first of a column, in a sentence of a page, with so many decimals.

    A column without entries is not in this run, and what is not finite is no number.
    """
    for x in np.atleast_1d(found)[:1]:
        return f"{x:.{digits}f}{unit}" if math.isfinite(x) else "(no number)"
    return "(not in this run)"
