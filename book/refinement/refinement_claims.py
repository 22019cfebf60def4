"""Compute the numbers that the claims of the refinement paper are about; the tests are in `data/claims/refinement.csv`.

The tables `asr` (exact rates) and `mse` (variances as published) have a row for each domain size and budget and a column for each
protocol. The other tables are those of their pages. A claim names a function, or a call: `quotient(asr, ASS, SS)`.
"""

import numpy as np
import pandas as pd

ADAPTIVE = {"ASS": "SS", "AUE": "OUE", "ALH": "OLH", "ATHE": "THE"}


def steps(table, key):
    """Return the relative rise of every column from each value of `key` to the next."""
    other = next(name for name in table.index.names if name != key)
    rise = table.sort_index(level=[other, key]).groupby(level=other).pct_change()
    return rise.stack().dropna()


def column(table, name):
    return table[name]


def quotient(table, one, other):
    return table[one] / table[other]


def largest(table, name):
    return table[name].max()


# Figure 2: `asr`


def rises_with_budget(asr):
    rise = asr.sort_index(level=["k", "epsilon"]).groupby(level="k").diff().dropna()
    return (rise > -1e-12).mean()


def falls_with_k(asr):
    rise = asr.sort_index(level=["epsilon", "k"]).groupby(level="epsilon").diff().dropna()
    return (rise < 1e-12).mean()


def ss_reaches_one(asr):
    return asr["SS"].xs(10, level="epsilon")


def orders_lower(asr):
    return np.log10(max((asr[old] / asr[new]).max() for new, old in ADAPTIVE.items()))


def blh_low(asr):
    return pd.concat([quotient(asr, "BLH", name) for name in asr.columns if name != "BLH"])


# Figures 3 and 4: `mse`


def classical_without_k(mse):
    names = ["SUE", "OUE", "BLH", "OLH", "SHE", "THE"]
    groups = mse[names].groupby(level="epsilon")
    return (groups.max() / groups.min() - 1).stack()


def orders_more(mse, new):
    return np.log10(mse[new] / mse[ADAPTIVE[new]])


def aue_gap_grows(mse):
    return steps((mse[["AUE"]].div(mse["OUE"], axis=0)), "epsilon")


def aue_like_sue(mse):
    two = mse[mse.index.get_level_values("epsilon") <= 2]
    return (quotient(two, "AUE", "SUE") - 1).abs()


def two_orders(mse):
    return pd.concat({new: orders_more(mse, new) for new in ADAPTIVE})


# Figure 1: `adult`


def rate_follows_formula(adult):
    rows = adult.set_index(["protocol", "epsilon"])
    return (rows["asr"] / rows["law_asr"] - 1).abs()


def error_follows_formula(adult):
    rows = adult.set_index(["protocol", "epsilon"])
    return pd.DataFrame({"value": (rows["mse"] / rows["law_mse"] - 1).abs(), "se": rows["mse_sd"] / 10 / rows["law_mse"]})


# Figure 5: `family`, columns (measure, mechanism), one row for each budget


def dominates(family, new, old):
    """Return the additional variance in orders of magnitude, or infinity where the success rate is no lower."""
    orders = np.log10(family["mse", new] / family["mse", old])
    return orders.where(family["asr", new] <= family["asr", old] * (1 + 1e-9), np.inf)


def part(family, measure, one, other):
    return family[measure, one] / family[measure, other]


def blh_success(family):
    return family["asr", "BLH"]


def sue_less_success(family):
    return (family["asr", "SUE"] < family["asr", "OUE"]).mean()


# Figure 6: `poison`, with the columns mechanism, epsilon, asr, mse, epg


def moved(poison, column):
    wide = poison.pivot(index="epsilon", columns="mechanism", values=column)
    return wide.sort_index(ascending=False).pct_change().stack().dropna()


def beside(poison, column, one, other):
    return quotient(poison.pivot(index="epsilon", columns="mechanism", values=column), one, other)


def aue_success_like_sue(poison):
    return (beside(poison, "asr", "AUE", "SUE") - 1).abs()


# Figure 7: `agree`, one row for each strategy


def share(agree, sort):
    """Return the share of cells in which each strategy is near the weighted sum, for those of one sort (alike or apart)."""
    apart = agree["strategy"].str.contains("elbow|knee|constraint")
    return agree[apart == (sort == "apart")].set_index("strategy")["within"]


# Figures 8 and 9: one row for each adaptive protocol


def error_alone(weights):
    return (weights["variance"] / weights["its variance"]).set_axis(weights["protocol"])


def adaptive_objective(choices):
    return (choices["objective"] / choices["objective of the classical"]).set_axis(choices["protocol"])
