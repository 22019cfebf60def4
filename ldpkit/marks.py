"""What the marks of a figure are called: its legend and its data, both read from what is drawn.

A mark's label is ``"series | source"``, or the one of the two that there is; what only helps the eye has a label that
begins with an underscore.
"""

import copy
import math
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from . import checks

__all__ = ["OURS", "EXACT", "CLAIM", "PAPER", "legend", "data", "unexplained", "bundle"]

OURS, EXACT, CLAIM = "this run, mean ± sd", "exact expectation", "claimed $\\varepsilon$"
PAPER = "read off the paper"
"""Sources, as legends and tables of data call them."""


def _shade(handle: Any) -> str:
    """One name for the colour of a mark however matplotlib holds it; of several, the first."""
    if isinstance(handle, mpl.container.Container):
        return _shade(handle[0])
    colour = handle.get_color() if hasattr(handle, "get_color") else handle.get_facecolor()
    return mpl.colors.to_hex(mpl.colors.to_rgba_array(colour)[0])


def _standing_for(handles: list[Any]) -> Any:
    """A legend's handle for a source: the first of its marks, in grey if they have several colours."""
    first = handles[0]
    if len({_shade(h) for h in handles}) == 1:
        return first
    grey = copy.copy(first[0] if isinstance(first, mpl.container.Container) else first)
    if hasattr(grey, "get_array"):
        grey.set_array(None)  # else its numbers give it colours again
    if hasattr(grey, "get_color"):
        grey.set_color("0.35")
    else:
        grey.set_facecolor("0.8")
    return grey


def _entries(axes: Iterable[Axes]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Handles of all series, then of all sources and of marks that are one thing alone, by their names."""
    series: dict[str, dict[str, Any]] = {}
    sources: dict[str, list[Any]] = {}
    for axis in axes:
        for handle, label in zip(*axis.get_legend_handles_labels()):
            name, shared, source = label.partition(" | ")
            if shared:
                series.setdefault(name, {}).setdefault(source, handle)
            sources.setdefault(source or name, []).append(handle)

    def telling(named: tuple[str, Any]) -> tuple[bool, int]:
        """Order: a colour that tells the series apart before one that all have; bars and error bars, markers, bare lines."""
        source, handle = named
        bare = hasattr(handle, "get_marker") and handle.get_marker() in ("None", "", None)
        return len(set(map(_shade, sources[source]))) == 1, -1 if isinstance(handle, mpl.container.Container) else int(bare)

    return (
        {name: min(by_source.items(), key=telling)[1] for name, by_source in series.items()},
        {name: _standing_for(handles) for name, handles in sources.items()},
    )


def _columns(names: list[str], inches: float) -> int:
    """How many columns of a legend fit, all as long as each other if they can be."""
    for rows in range(1, len(names)):
        columns = math.ceil(len(names) / rows)
        if sum(0.6 + 0.07 * max(len(_plain(n)) for n in part) for part in np.array_split(names, columns)) < inches:
            return columns
    return 1


def legend(target: Figure | Axes, which: str = "all", **options: Any) -> None:
    """Explain every mark of a figure above its panels, or every mark of a panel inside it.

    A mark labelled ``"series | source"`` appears under both: the series by its
    colour and marker, the source by its shape, in grey if it has several colours.

    Parameters
    ----------
    target : matplotlib figure or axes
    which : {"all", "series", "sources"}
        Panels that show different series can have legends of their own under one of the figure for the sources.
    **options
        What matplotlib's ``legend`` takes.
    """
    checks.one_of("which", which, ("all", "series", "sources"))
    series, sources = _entries(target.axes if isinstance(target, Figure) else [target])
    shown = (series if which != "sources" else {}) | (sources if which != "series" else {})
    if isinstance(target, Figure):
        options = {"loc": "outside upper center", "ncols": _columns(list(shown), target.get_figwidth())} | options
    target.legend(list(shown.values()), list(shown), **options)


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


def _marks(axis: Axes) -> Iterator[tuple[str, Any, Any, Any, Any]]:
    """Yield label, x, y, half-lengths of error bars and values shown as colours (each or None) of all that an axis shows."""
    of_bars = [held.errorbar for held in axis.containers if isinstance(held, mpl.container.BarContainer)]
    parts: set[Any] = set()
    for held in axis.containers:
        label = str(held.get_label())
        if isinstance(held, mpl.container.BarContainer):
            if _UNNAMED.fullmatch(label) and len(held):  # a histogram names its first bar
                label = str(held[0].get_label())
            middles = [bar.get_x() + bar.get_width() / 2 for bar in held]
            yield label, middles, [bar.get_height() for bar in held], _halves(held.errorbar), None
        elif isinstance(held, mpl.container.ErrorbarContainer):
            line, caps, stems = held.lines
            parts |= {line, *caps, *stems}
            if line and held not in of_bars:
                yield label, *line.get_data(), _halves(held), None
    for line in axis.lines:
        if line in parts:
            continue
        along, up = line.get_transform().contains_branch_seperately(axis.transData)
        x, y = map(np.asarray, line.get_data())
        if along and up:
            yield str(line.get_label()), x, y, None, None
        else:  # a line across the panel
            yield str(line.get_label()), x[:1] if along else [None], y[:1] if up else [None], None, None
    for cloud in axis.collections:
        if isinstance(cloud, mpl.collections.PathCollection) and np.size(cloud.get_offsets()):
            yield str(cloud.get_label()), *np.asarray(cloud.get_offsets()).T, None, cloud.get_array()
        elif isinstance(cloud, mpl.collections.LineCollection) and cloud not in parts:
            ends: Any = [np.asarray(segment) for segment in cloud.get_segments()]
            yield str(cloud.get_label()), *np.mean(ends, axis=1).T, np.ptp(ends, axis=1)[:, 1] / 2, None


_UNNAMED = re.compile(r"_child\d+|_container\d+|_nolegend_|None|")  # what matplotlib calls an artist without a label
_SIGNS = {"varepsilon": "ε", "delta": "δ", "tau": "τ", "gamma": "γ", "mu": "μ", "sigma": "σ", "omega": "ω", "theta": "θ",
          "eta": "η", "infty": "∞", "pi": "π", "sqrt": "√"}  # fmt: skip


def _plain(text: str) -> str:
    """A label without the marks of mathematical typesetting."""
    signs = re.sub(r"\\([A-Za-z]+)", lambda sign: _SIGNS.get(sign[1], sign[1]), text.replace("\\,", " "))
    return re.sub(r"[${}]", "", signs)


def _panels(figure: Figure) -> list[tuple[str, Axes]]:
    """The panels in two dimensions and their names: the title, a label of an axis that no other panel has, or the number."""
    flat = [axis for axis in figure.axes if axis.name == "rectilinear" and axis.get_label() != "<colorbar>"]
    own = [(axis.get_title(), axis.get_xlabel(), axis.get_ylabel()) for axis in flat]
    if len(flat) == 1:
        return [(_plain(own[0][0]), flat[0])]
    labels = [label for texts in own for label in texts[1:]]
    chosen = [next((text for text in texts[1:] if text and labels.count(text) == 1), "") for texts in own]
    return [(_plain(texts[0] or other) or f"panel {i}", axis) for i, (texts, other, axis) in enumerate(zip(own, chosen, flat), 1)]


def _axis_names(figure: Figure, axis: Axes) -> tuple[str, str, str]:
    """What x, y and colours of a panel are called: beside it, beside a panel that shares the scale, or beside the figure."""
    names = []
    for which, whole in (("x", figure.get_supxlabel()), ("y", figure.get_supylabel())):
        shared = getattr(axis, f"get_shared_{which}_axes")().get_siblings(axis)
        near = [getattr(other, f"get_{which}label")() for other in (axis, *shared)]
        names.append(_plain(next(filter(None, [near[0], whole, *near]), "")))
    own = [cloud.colorbar.ax for cloud in axis.collections if cloud.colorbar]
    bars = own or [other for other in figure.axes if other.get_label() == "<colorbar>"]
    return names[0], names[1], _plain(bars[0].get_ylabel()) if len(bars) == 1 else ""


def data(figure: Figure) -> pd.DataFrame:
    """Return the points that a figure shows: its lines, markers and bars.

    Returns
    -------
    pandas.DataFrame
        Columns ``panel`` (its title, or what tells it apart), ``series`` and ``source``
        (from the label, see `legend`; a mark without one is unnamed and
        numbered), ``x``, ``y``, ``error`` (the half-length of an error bar),
        ``colour`` (the number it stands for, if any), and what the panel's axes
        are called: ``x_axis``, ``y_axis``, ``colour_axis``. A line across the panel has one of
        `x` and `y`. Shaded areas, axes in three dimensions and what only helps
        the eye (a label that begins with an underscore) are not included.
    """
    checks.instance("figure", figure, Figure, "a matplotlib figure")
    rows = []
    for name, axis in _panels(figure):
        category, axes, unnamed = _categories(axis), _axis_names(figure, axis), 0
        for label, xs, ys, errors, colours in _marks(axis):
            if _UNNAMED.fullmatch(label):
                unnamed += 1
                label = f"unnamed {unnamed}"
            elif label.startswith("_"):
                continue
            series, _, source = label.partition(" | ")
            for i, (x, y) in enumerate(zip(xs, ys)):
                error, colour = (None if values is None else values[i] for values in (errors, colours))
                rows.append((name, _plain(series), _plain(source), x if x is None else category(x), y, error, colour, *axes))
    table = pd.DataFrame(rows, columns=["panel", "series", "source", "x", "y", "error", "colour",
                                        "x_axis", "y_axis", "colour_axis"])  # fmt: skip
    return table if table["colour"].notna().any() else table.drop(columns=["colour", "colour_axis"])


def unexplained(figure: Figure) -> list[str]:
    """Return what a reader of the figure, or of its data, could not tell apart or name; empty where all is said.

    Every mark has a label, no two of a panel the same one and no two panels the
    same title; what a label says stands in a legend or in another text of the
    figure, except where a panel shows one thing only.
    """
    checks.instance("figure", figure, Figure, "a matplotlib figure")
    named, found = _panels(figure), []
    titles = [name for name, _ in named]
    found += [f"two panels are called {title}" for title in dict.fromkeys(titles) if titles.count(title) > 1]
    found += [f"{title} has no title" for title in titles if re.fullmatch(r"panel \d+", title)]
    legends = [*figure.legends, *(own for axis in figure.axes if (own := axis.get_legend()))]
    said = {text.get_text() for shown in legends for text in shown.get_texts()}
    for title, axis in named:
        labels = [label for label, *_ in _marks(axis) if not label.startswith("_") or _UNNAMED.fullmatch(label)]
        around = " ".join([axis.get_title(), *_axis_names(figure, axis), *(text.get_text() for text in axis.texts)])
        for label in dict.fromkeys(labels):
            if _UNNAMED.fullmatch(label):
                found.append(f"{title or 'the figure'} shows {labels.count(label)} without a name")
            elif labels.count(label) > 1:
                found.append(f"{title} shows {labels.count(label)} called {label}")
            elif len(labels) > 1:
                found += [
                    f"{title}: no legend says {part}" for part in label.split(" | ") if part not in said and part not in around
                ]
    return list(dict.fromkeys(found))


def bundle(figure: Figure) -> tuple[dict[str, str], dict[str, Any]] | None:
    """What travels with a displayed figure: its data, and what is not said about them."""
    table = data(figure)
    if table.empty:
        return None
    return (
        {"text/csv": table.to_csv(index=False, float_format="%.10g", lineterminator="\n")},
        {"text/csv": {"unexplained": unexplained(figure)}},
    )
