"""Compute the numbers that the claims of the LDP-Auditor paper are about; the tests are in `data/claims/ldp_auditor.csv`.

A table `cell` or `guess` is that of the claim's page. Where an exact distribution is known, its values are exact expectations of
the paper's statistic. Therefore no verdict depends on a single run. Names of mechanisms are separated by blanks.
"""

import numpy as np
import pandas as pd

from ldpkit import stats
from ldpkit.auditors import expected
from ldpkit.mechanisms import RSFD, SS, make

FINITE = "AGRR ASUE ABLH AOLH"
"""The approximate protocols whose reports are no real numbers."""


def wide(cell, *keys, names="mechanism"):
    """Return a table with a row for each setting and a column for each mechanism, whose names are in the column `names`."""
    return cell.pivot_table(index=list(keys), columns=names, values="exact", dropna=False, sort=False)


def flat(table, names):
    """Return the columns of a table as one series, whose index has mechanism and setting."""
    return pd.concat({name: table[name] for name in names.split()}).dropna()


def between(table, low, high, key="epsilon"):
    """Return the rows whose `key` lies in a range."""
    at = table.index.get_level_values(key)
    return table[(at >= low) & (at <= high)]


def per_claim(table):
    """Return a table divided by the claimed epsilon."""
    return table.div(table.index.get_level_values("epsilon"), axis=0)


def over_claim(table):
    """Return by how much a table exceeds the claimed epsilon."""
    return table.sub(table.index.get_level_values("epsilon"), axis=0)


def excess(table, upper, lower):
    """Return how far each mechanism of `upper` lies above the largest of `lower`."""
    return flat(table.sub(table[lower.split()].max(axis=1), axis=0), upper)


def apart(table, one, other):
    """Return the relative difference of two columns."""
    return flat((table[[one]].div(table[other], axis=0) - 1).abs(), one)


def steps(table, key, names):
    """Return how much every column rises from each value of `key` to the next."""
    rest = [name for name in table.index.names if name != key]
    table = table.sort_index(level=[*rest, key])
    return flat(table.groupby(level=rest).diff(), names)


def rise(table, key, low, high, names):
    """Return how much every column rises from the value `low` of `key` to `high`."""
    return flat(table.xs(high, level=key) - table.xs(low, level=key), names)


def growth(table, key, low, high, names):
    """Return the relative growth of every column from the value `low` of `key` to `high`."""
    return flat(table.xs(high, level=key) / table.xs(low, level=key) - 1, names)


def ceiling(trials):
    """Return the largest value of the paper's statistic."""
    return stats.epsilon_ceiling(trials, tail=0.01 / 4)


# Figures 1 to 3: `guess` and `cell`


def pure(cell):
    return wide(cell, "k", "epsilon")


def ss_like_others(cell):
    table = between(pure(cell), 0.25, 1)
    return apart(table.assign(others=table[["SUE", "OUE", "SHE", "THE"]].mean(axis=1)), "SS", "others")


def but_single_subsets(table):
    """Return a table without the values of SS where its subset has one value, as in GRR."""
    return table.assign(SS=table["SS"].mask([SS(int(k), e).omega == 1 for k, e in table.index]))


def single_subsets():
    """Return how many values a report of SS has in low privacy."""
    cells = pd.MultiIndex.from_product([(25, 50, 100, 150, 200), (6.0, 10.0)], names=["k", "epsilon"])
    return pd.Series([SS(*cell).omega for cell in cells], cells)


def asue_is_sue(cell):
    table = pure(cell)
    plain = [expected(make("SUE", k=int(k), epsilon=e), trials=10**6)[0] for k, e in table.index]
    return apart(table.assign(SUE=plain), "ASUE", "SUE")


# Figures 4 and 10: `cell`, with the pure counterpart at delta 0


def by_delta(cell):
    return wide(cell, "k", "epsilon", "delta", names="protocol")


def delta_does_nothing(cell):
    groups = by_delta(cell)[FINITE.split()].groupby(level=["k", "epsilon"])
    return flat(groups.max() / groups.min() - 1, FINITE)


def approximate_is_pure(cell):
    table = by_delta(cell)
    plain = table.xs(0, level="delta")
    found = {d: table.xs(d, level="delta") / plain - 1 for d in table.index.get_level_values("delta").unique() if d}
    return flat(pd.concat(found, names=["delta"]).abs(), FINITE)


# Figure 5: `guess`


def hashed(guess):
    return wide(guess.assign(mechanism="LHO"), "k", "g")


# Figures 6 and 11: `cell`. For SS with larger subsets only the success rate was simulated.


def repeated(cell):
    return wide(cell, "k", "epsilon", "tau")


def collected(cell, low, high, tau):
    """Return the estimates of budgets in a range, after so many collections or more."""
    return between(between(repeated(cell), low, high), tau, 500, "tau")


def middle_for_two(cell):
    table = repeated(cell[cell["k"] == 2])
    low, high = table.sub(table[["GM", "AGM"]].max(axis=1), axis=0), -table.sub(table["GRR"], axis=0)
    return flat(low.where(low < high, high), "SUE OUE BLH OLH")


def below_composition(cell):
    table = repeated(cell)
    composed = table.index.get_level_values("tau") * table.index.get_level_values("epsilon")
    return flat(table.sub(composed, axis=0), "GRR SUE OUE BLH OLH SHE THE GM AGM")


# Figures 7 and 12: `cell`


def fakes(cell):
    return wide(cell, "k", "d", "epsilon", names="base")


def amplified():
    """Return by how much the loss of two records that differ in one of d binary attributes exceeds the claim."""
    cases = pd.MultiIndex.from_product([(2, 10), (0.25, 1.0, 4.0, 10.0)], names=["d", "epsilon"])
    d, epsilon = (cases.get_level_values(name).to_numpy() for name in cases.names)
    budget = np.array([RSFD(2, *case).amplified for case in cases])
    # GRR answers one attribute with this budget, and the others are fair coins; the likeliest report for the first
    # record repeats its own value and contradicts it in all others
    p, q = np.exp(budget) / (np.exp(budget) + 1), 1 / (np.exp(budget) + 1)
    others = (d - 1) * q
    return pd.Series(np.log((p + others) / (q + others)) - epsilon, cases)


# Figure 8: `cell` and `live`


def guessed(cell):
    return wide(cell[cell["attack"] == "guess"], "k", "epsilon", names="protocol")


def bit_sent_too_often(live):
    """Return by how much the faulty release sets the user's own bit, and not the other one, more often than the mended release."""
    rows = live[(live["attack"] == "tight") & (live["epsilon"] <= 4)]
    rates = rows.pivot_table(index=["protocol", "epsilon"], columns="release", values="tpr")
    return rates["1.1.2"] - rates["1.2.0"]
