"""Provide the protocols, the papers' grids and the curves by domain size for the pages on refinement."""

import functools

import matplotlib.pyplot as plt
import pandas as pd

from ldpbook import paper_values, plot_style, plots
from ldpkit import refine

PROTOCOLS = ["GRR", "SUE", "BLH", "SHE", "SS", "OUE", "OLH", "THE", "ASS", "AUE", "ALH", "ATHE"]
"""The protocols in three rows: basic, optimised, adaptive."""


@functools.cache
def digitised(item):
    """Return the paper's curves of one figure: ``mechanism``, ``k`` (empty if the curve holds for all), ``x``, ``value``."""
    table = paper_values.load("refinement")
    table = table[table["item"].str.startswith(item)].reset_index(drop=True)
    parts = table["series"].str.extract(r"(?P<mechanism>\w+)(?:\[k=(?P<k>\d+)\])?")
    return parts.assign(k=parts["k"].astype(float), x=table["x"].astype(float), value=table["value"])


def hashed(laws):
    """Return the exact rates of local hashing, row by row; the paper's formula only holds for the mean number of collisions."""
    rows = laws[laws["mechanism"].isin(["BLH", "OLH", "ALH"])]
    exact = [
        refine.success(refine.build(r.mechanism, r.k, r.epsilon, grid="published", asr="published")) for r in rows.itertuples()
    ]
    return pd.Series(exact, rows.index)


def released(cells, value):
    """Return the results of the released code for the settings of `cells`, next to ``here``, our values in `cells`."""
    theirs = paper_values.load("refinement", "reference")[["mechanism", "k", "epsilon", value]]
    return theirs.merge(cells[["mechanism", "k", "epsilon", value]].rename(columns={value: "here"}))


def judge(boards, theirs, value):
    """Compare the results of the released code with ours, and return the largest relative deviation.

    `boards` returns the scoreboard of a mechanism.
    """
    for r in theirs.itertuples():
        boards(r.mechanism).add(
            f"released code, {r.mechanism}, k={r.k}", r.epsilon, getattr(r, value), exact=r.here, how="released code"
        )
    return (theirs[value] / theirs["here"] - 1).abs().max() if len(theirs) else 0.0


def power(x, digits=0):
    """Return a very large or small number as text with so many digits and a power of ten."""
    mantissa, _, exponent = f"{x:.{digits}e}".partition("e")
    return f"{mantissa}·{plot_style.power(10, int(exponent))}" if x else "0"


def because(says, cells, at, panel="{mechanism}", series="", x="mse", when=True, **of):
    """Return the note about the cell of a table that `of` describes, in a list; none if the table has no such cell."""
    found = cells[(cells[list(of)] == list(of.values())).all(axis=1)].to_dict("records")
    return [plots.Note(says, series.format_map(r), r[x], at, panel.format_map(r), when) for r in found[:1]]


def by_size(cells, value, item, *more, panel="{mechanism}", series="k = {k:,.0f}", **look):
    """Draw one line per domain size over the paper's own curve, and the points of the tables in `more`."""
    seen = digitised(item)
    seen = pd.concat([seen[seen["k"].notna()], *(seen[seen["k"].isna()].assign(k=k) for k in cells["k"].unique())])
    seen = seen.merge(cells.drop(columns=["epsilon", value]).drop_duplicates(["mechanism", "k"]), on=["mechanism", "k"])
    given = {"panel": panel, "series": series}
    drawn = [plots.tidy(cells, x="epsilon", sources={"exact": value}, **given),
             plots.tidy(seen, x="x", sources={"paper": "value"}, **given),
             plots.tidy(released(cells, value).merge(cells[[c for c in cells if c != value]]), x="epsilon",
                        sources={"released code": value}, **given), *more]  # fmt: skip
    return plots.figure(pd.concat(drawn, ignore_index=True), x="ε", yscale="log", palette="viridis", **look)


def paths(cells, panel, series, **look):
    """Draw success rate against variance as the budget grows, over the paper's own paths; a dot's colour shows the budget."""
    rate, error = (digitised(f"fig_{m}_vs_epsilon") for m in ("asr", "mse"))
    seen = rate.merge(error, on=["mechanism", "x"], suffixes=("", "_mse"))
    seen = seen[seen["k_mse"].isna() | (seen["k_mse"] == seen["k"])].rename(columns={"x": "epsilon"})
    seen = cells.merge(seen[["mechanism", "k", "epsilon", "value", "value_mse"]], on=["mechanism", "k", "epsilon"])
    given = {"panel": panel, "series": series, "along": "epsilon"}
    drawn = pd.concat([plots.tidy(cells, x="mse", sources={"exact": "asr"}, **given),
                       plots.tidy(seen, x="value_mse", sources={"paper": "value"}, **given)], ignore_index=True)  # fmt: skip
    along = [plots.tidy(rows, x=x, sources={source: "epsilon"}, **given)["y"]  # row by row, because the values are read one by one
             for rows, x, source in ((cells, "mse", "exact"), (seen, "value_mse", "paper"))]  # fmt: skip
    return tinted(drawn, cells, panel, "epsilon", "ε", pd.concat(along).tolist(), **look)


def tinted(drawn, cells, panel, column, name, values, **look):
    """Draw success rate against variance, with dots coloured by a third column, whose `values` belong to the rows of `drawn`."""
    figure = plots.figure(drawn, x="MSE (variance of one frequency, one user)", y="attacker's success rate", xscale="log",
                          yscale="log", ylim=(cells["asr"].min() / 1.5, None), **look)  # fmt: skip
    titles = [panel.format_map(row) for row in cells.to_dict("records")]
    for axis in figure.axes:
        rows = cells[[title == axis.get_title() for title in titles]]
        dots = axis.scatter(rows["mse"], rows["asr"], c=rows[column], cmap="viridis", s=14, zorder=3, edgecolors="0.3",
                            linewidths=0.3, vmin=cells[column].min(), vmax=cells[column].max())  # fmt: skip
    figure.colorbar(dots, ax=figure.axes, label=name, shrink=0.6)
    return plots.attach(figure, drawn.assign(**{name: values}), **figure.ldpkit[1], along=name)


def plane(table, sizes, *notes):
    """Draw `paths` of all protocols: one panel per protocol, one line per size.

    A note is given by its words, protocol, size, budget, place, and whether it is true.
    """
    cells, series = table[table["k"].isin(sizes)], "k = {k:,}"
    said = [
        note
        for says, protocol, k, epsilon, at, when in notes
        for note in because(says, cells, at, series=series, when=when, mechanism=protocol, k=k, epsilon=epsilon)
    ]
    return paths(cells, "{mechanism}", series, size=(2.7, 2.2), notes=said)


def triangles(chosen):
    """Draw the parameter chosen for every mixture of three weights, as colours in a triangle for each family."""
    figure, axes = plt.subplots(2, 2, figsize=(5, 5.4), layout="constrained")
    for axis, (title, rows) in zip(axes.flat, chosen.groupby("panel", sort=False)):
        dots = axis.scatter(rows["x"], rows["y"], c=rows["parameter"], norm=rows["norm"].iloc[0], marker="h", s=17)
        low = rows["parameter"].min()  # rates near 1 need powers of ten, counts of values or cells are whole numbers
        ticks, form = [1, 2, 5, 10, 20, 50, 100] if low >= 1 else None, "{x:g}" if low > 1e-3 else None
        bar = figure.colorbar(dots, ax=axis, label=rows["symbol"].iloc[0], shrink=0.8, ticks=ticks, format=form)
        bar.minorticks_off()
        look = {"color": "white", "mec": "black", "ms": 7, "ls": "none"}
        axis.plot(0.5, 3**0.5 / 6, "X", label="equal weights", **look)
        axis.plot(0.5, 0, "o", label="no poisoning, the paper's choice", **look)
        axis.set_title(title)
        axis.axis("off")
        for place, text in (((0, -0.1), "ASR"), ((1, -0.1), "MSE"), ((0.68, 0.82), "EPG")):
            axis.text(*place, text, fontsize=9, ha="center")
    figure.legend(*axis.get_legend_handles_labels(), loc="outside upper center")
    return plots.attach(figure, chosen.drop(columns="norm"))
