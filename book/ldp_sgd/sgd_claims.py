"""Compute the numbers that the claims of the LDP-SGD paper are about; the tests are in `data/claims/ldp_sgd.csv`.

The arguments are tables of `standins.summary`. Their column ``limit`` is the result of a test without sampling noise, for our
stand-ins of the paper's data.
"""

import math

import pandas as pd

from ldpkit import stats
from ldpkit.auditors import audit_shuffle
from ldpkit.auditors.shuffle import least_clients
from ldpkit.mechanisms import LDPSGD

# Figure 3. Arguments that a row of the table of claims gives are text.


def turned(e):
    return 1 / (1 + math.exp(float(e)))


def cosines_shrink():
    steps = [(e, d) for e in (0.5, 4.0) for d in (10, 100, 1000)]
    return {f"epsilon = {e:g}, {d} to {10 * d}": LDPSGD(d, e).m - LDPSGD(10 * d, e).m for e, d in steps}


# Section 4.1


def lower_of_thousand():
    return stats.clopper_pearson(1000, 1000, 0.025)[0]


def budget(trials):
    low = stats.clopper_pearson(int(trials), int(trials), 0.025)[0]
    return math.log(low / (1 - low))


def example_of_equation_3():
    return max(math.log(0.9 / 0.2), math.log(0.8 / 0.1))


# Table 3


def theory(e, n):
    return audit_shuffle(float(e), int(n), delta=1e-6, trials=1).claim


def clients(e):
    return least_clients(float(e))


def measured_below_theory():
    cells = ((1, 432), (1, 1000), (2, 974), (2, 1000), (4, 6454), (4, 10_000))
    found = {f"epsilon0 = {e}, n = {n}": audit_shuffle(e, n, delta=1e-6) for e, n in cells}
    return {cell: result.exact / result.claim for cell, result in found.items()}


# Figures 4 and 8: `cells`


def wide(cells):
    return cells.pivot_table(index=["name", "epsilon"], columns="adversary", values="limit", sort=False)


def reached(cells, adversary):
    found = wide(cells)[adversary]
    return found / found.index.get_level_values("epsilon")


def above(cells, one, other):
    return wide(cells)[one] - wide(cells)[other]


def flip_misses(cells):
    found = wide(cells)["gradient flip"]
    return found - found.index.get_level_values("epsilon")


def dummy_accuracy():
    return 1 / (1 + math.exp(-4))


# Figure 5: `training`; Figure 6: `by_norm`


def by_size(by_norm):
    """Return the rows by norm and budget."""
    cells = pd.MultiIndex.from_arrays([by_norm["norm"].map("norm {:g}".format), by_norm["epsilon"]])
    return by_norm.set_index(cells)


def training_helps(training):
    rows = training[training["flip"] == "random"].sort_values("iteration")
    ends = rows.groupby("name", sort=False)["limit"].agg(["first", "last"])
    return ends["last"] - ends["first"]


def short_falls_behind(by_norm):
    rows = by_size(by_norm[by_norm["norm"] < 1])
    return rows["limit"] / rows["epsilon"]


def shorter_is_worse(by_norm):
    return by_size(by_norm)["limit"].unstack().sort_index().diff().dropna().stack()


def long_reaches(by_norm):
    rows = by_size(by_norm[by_norm["norm"] >= 1])
    return rows["limit"] - rows["epsilon"]
