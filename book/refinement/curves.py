"""What the pages on refinement share: the protocols, the papers' grids, and curves by domain size."""

import functools

import matplotlib as mpl
import numpy as np

from ldpkit import plots, published

PROTOCOLS = ["GRR", "SUE", "BLH", "SHE", "SS", "OUE", "OLH", "THE", "ASS", "AUE", "ALH", "ATHE"]
"""Row by row: basic, optimised, adaptive."""


@functools.cache
def digitised(item):
    """The paper's curves of one figure: ``mechanism``, ``k`` (empty if the curve holds for all), ``x``, ``value``."""
    table = published.load("refinement")
    table = table[table["item"].str.startswith(item)].reset_index(drop=True)
    parts = table["series"].str.extract(r"(?P<mechanism>\w+)(?:\[k=(?P<k>\d+)\])?")
    return parts.assign(k=parts["k"].astype(float), x=table["x"].astype(float), value=table["value"])


def shades(sizes):
    """A colour for each domain size, dark to light."""
    return dict(zip(sizes, mpl.colormaps["viridis"](np.linspace(0, 0.88, len(sizes)))))


def by_size(axis, rows, value, paper):
    """One line per domain size, over the paper's own curve as a broad grey one."""
    for k, colour in shades(sorted(rows["k"].unique())).items():
        seen = paper[(paper["k"] == k) | paper["k"].isna()]
        if len(seen):
            axis.plot(seen["x"], seen["value"], color="0.82", lw=3.5, zorder=1, label=f"$k$ = {k:,} | {plots.PAPER}")
        own = rows[rows["k"] == k]
        axis.plot(own["epsilon"], own[value], color=colour, label=f"$k$ = {k:,} | exact", zorder=2)


def path(axis, series, name, k, epsilon):
    """The paper's path of one protocol between success rate and variance, as a broad grey line; it prints none for GRR."""
    rate, error = (digitised(f"fig_{m}_vs_epsilon") for m in ("asr", "mse"))
    error = error[error["k"].isna() | (error["k"] == k)]
    both = rate[rate["k"] == k].merge(error, on=["mechanism", "x"])
    both = both[(both["mechanism"] == name) & both["x"].isin(epsilon)].sort_values("x")
    if len(both):
        axis.plot(both["value_y"], both["value_x"], color="0.85", lw=4, zorder=0, label=f"{series} | {plots.PAPER}")


def plane(table, sizes):
    """Success rate against variance for all protocols: one panel per protocol, one line per size, the budget as colour."""
    figure, axes = plots.panels(len(PROTOCOLS), columns=4, size=(2.7, 2.2))
    lowest = table.loc[table["k"].isin(sizes), "asr"].min() / 1.5
    for axis, name in zip(axes, PROTOCOLS):
        for marker, k in zip(plots.MARKERS, sizes):
            rows = table[(table["mechanism"] == name) & (table["k"] == k)]
            path(axis, f"$k$ = {k:,}", name, k, rows["epsilon"])
            axis.plot(rows["mse"], rows["asr"], color="0.7", lw=0.7, zorder=1, label=f"_{k}")
            dots = axis.scatter(rows["mse"], rows["asr"], c=rows["epsilon"], cmap="viridis", marker=marker, s=16, zorder=2,
                                edgecolors="0.3", linewidths=0.3, label=f"$k$ = {k:,} | exact")  # fmt: skip
        axis.set(title=name, xscale="log", yscale="log", ylim=(lowest, None))
        plots.plain_log(axis)
    figure.colorbar(dots, ax=axes, label="$\\varepsilon$", shrink=0.6)
    figure.supxlabel("MSE (variance of one frequency, one user)", fontsize=10)
    figure.supylabel("attacker's success rate", fontsize=10)
    plots.legend(figure)
