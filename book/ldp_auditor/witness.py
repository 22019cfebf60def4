"""Compare our audits of real reports with stored audits of the authors' own code at the same settings."""

import math

import numpy as np

from ldpbook import paper_values, plots
from ldpbook.paper_audits import ldp_auditor
from ldpbook.stored import sweep

KEYS = ["mechanism", "protocol", "k", "epsilon", "delta", "g", "d", "tau"]
"""Columns that identify a cell; each mechanism has some of them."""


def overlap(runs, cores):
    """Return the standard error of the mean of runs with consecutive seeds, in standard deviations of one run.

    Core c of the run with seed s draws from stream s + c. Therefore several runs share stream j, and the mean weights the stream
    by their number. With one run the result is 1. With five runs on two cores it is 0.6, while five independent runs would have
    0.447.
    """
    served = np.convolve(np.ones(runs), np.ones(cores))
    return math.sqrt((served**2).sum() / cores) / runs


def witness(experiments, *, trials, alpha, runs, seed, table="ldp_auditor", only=None):
    """Audit real reports at the settings at which the released code audited at most as many reports; return one row per cell.

    `table` names the file of `data/reference`, and `only` the values of some columns, if not all are wanted. The columns are those of `KEYS` that
    the cells have, ``trials``, ``released code`` and ``their se``, ``this run`` and ``se``, and ``exact``. The column ``z`` is
    the distance of the two runs in standard errors of their difference.
    """
    theirs = paper_values.load(table, "reference")
    theirs = theirs[theirs["experiment"].isin(experiments)].dropna(axis="columns", how="all")
    theirs = theirs[(theirs["trials"] <= trials) & (theirs["alpha"] == alpha)]
    if only:
        theirs = theirs[theirs[list(only)].isin(only).all(axis="columns")]
    theirs = theirs.astype({name: int for name in ("g", "d", "tau") if name in theirs})  # empty cells make them 2.0
    keys = [key for key in KEYS if key in theirs] + ["trials"]
    mean = {"released code": ("epsilon_emp", "mean"), "seeds": ("seed", "size"), "cores": ("cores", "first")}
    theirs = theirs.groupby(keys, sort=False, dropna=False).agg(**mean).reset_index()
    if theirs.empty:
        return theirs.reindex(columns=[*theirs, "their se", "this run", "se", "exact", "z"])
    grid = [{key: value for key, value in row.items() if value == value} for row in theirs[keys].to_dict("records")]
    grid = [cell | {"alpha": alpha, "runs": runs, "faithful": True} for cell in grid]
    table = sweep(ldp_auditor, grid, seed=seed, label="beside the released code")
    ours = plots.summary(table, keys).rename(columns={"mean": "this run"})  # in the order of the grid
    beside = theirs.join(ours.drop(columns=keys), validate="1:1")
    beside["their se"] = beside["se"] * runs**0.5 * [overlap(*shape) for shape in zip(beside["seeds"], beside["cores"])]
    beside["z"] = (beside["this run"] - beside["released code"]) / np.hypot(beside["se"], beside["their se"])
    return beside


def pluses(theirs, **names):
    """Return the rows of a figure for the results of the released code; `names` are as in `ldpbook.plots.tidy`."""
    return plots.tidy(theirs, sources={"released code": "released code"}, **names)


def judge(board, beside, series, x="epsilon"):
    """Compare the authors' runs and ours with the exact expectation; return them as a table, or a sentence if there are none."""
    for row in beside.to_dict("records"):
        name, exact = series.format_map(row), row["exact"]
        board.add(name, row[x], row["released code"], row["their se"], exact=exact, how="released code")
        board.add(f"{name}, ours", row[x], row["this run"], row["se"], exact=exact, how="real reports")
    if beside.empty:
        return "Nothing to compare: every run of the released code had more reports, or another significance, than this page."
    keys = [key for key in KEYS if key in beside]
    found = beside[[*keys, "trials", "released code", "their se", "this run", "se", "exact", "z"]]
    return plots.show(found.fillna({key: "" for key in keys} if found[keys].isna().any(axis=None) else {}))


def apart(beside):
    """Return number, standard deviation and largest size of the distances in words, or only the number if there are fewer than
    two.
    """
    if len(beside) < 2:
        return f"{len(beside)} comparisons"
    return f"{len(beside)} comparisons, deviation {beside['z'].std():.2f}, furthest {beside['z'].abs().max():.2f}"
