"""The numbers that the claims of the refinement paper are about; the ledger, `data/claims/refinement.csv`, says what they must be.

Tables: `asr` and `mse` have a row for each domain size and budget and a column for each protocol (exact rates; variances as
published); the others are those of their pages.
"""

import numpy as np
import pandas as pd

ADAPTIVE = {"ASS": "SS", "AUE": "OUE", "ALH": "OLH", "ATHE": "THE"}


def label(found):
    """A series labelled by what its cells are called."""
    names = ["" if name in (None, "mechanism") else f"{name} = " for name in found.index.names]
    parts = [at if isinstance(at, tuple) else (at,) for at in found.index]
    return pd.Series(
        found.to_numpy(float), index=[", ".join(f"{n}{p:g}" if n else str(p) for n, p in zip(names, part)) for part in parts]
    )


def steps(table, key):
    """From each value of `key` to the next: by how much every column rises, as a share."""
    other = next(name for name in table.index.names if name != key)
    rise = table.sort_index(level=[other, key]).groupby(level=other).pct_change()
    rise.columns.name = "mechanism"
    return label(rise.stack().dropna())


def quotient(table, one, other):
    return label(table[one] / table[other])


# Figure 2: `asr`


def rises_with_budget(asr):
    rise = asr.sort_index(level=["k", "epsilon"]).groupby(level="k").diff().dropna()
    return (rise > -1e-12).mean()


def falls_with_k(asr):
    rise = asr.sort_index(level=["epsilon", "k"]).groupby(level="epsilon").diff().dropna()
    return (rise < 1e-12).mean()


def ass_capped(asr):
    return label(asr["ASS"])


def ss_reaches_one(asr):
    return label(asr["SS"].xs(10, level="epsilon"))


def ass_below_ss(asr):
    return quotient(asr, "ASS", "SS")


def aue_below_oue(asr):
    return quotient(asr, "AUE", "OUE")


def alh_above_blh(asr):
    return quotient(asr, "ALH", "BLH")


def alh_below_olh(asr):
    return quotient(asr, "ALH", "OLH")


def athe_below_the(asr):
    return quotient(asr, "ATHE", "THE")


def orders_lower(asr):
    return pd.Series([np.log10(max((asr[old] / asr[new]).max() for new, old in ADAPTIVE.items()))])


def oue_half(asr):
    return pd.Series([asr["OUE"].max()])


def olh_half(asr):
    return pd.Series([asr["OLH"].max()])


def blh_low(asr):
    return pd.concat([quotient(asr, "BLH", name) for name in asr.columns if name != "BLH"])


# Figures 3 and 4: `mse`


def classical_without_k(mse):
    names = ["SUE", "OUE", "BLH", "OLH", "SHE", "THE"]
    groups = mse[names].groupby(level="epsilon")
    spread = groups.max() / groups.min() - 1
    spread.columns.name = "mechanism"
    return label(spread.stack())


def orders_more(mse, new):
    return label(np.log10(mse[new] / mse[ADAPTIVE[new]]))


def ass_two_orders(mse):
    return orders_more(mse, "ASS")


def aue_above_oue(mse):
    return quotient(mse, "AUE", "OUE")


def aue_gap_grows(mse):
    return steps((mse[["AUE"]].div(mse["OUE"], axis=0)), "epsilon")


def aue_like_sue(mse):
    two = mse[mse.index.get_level_values("epsilon") <= 2]
    return (quotient(two, "AUE", "SUE") - 1).abs()


def aue_one_order(mse):
    return orders_more(mse, "AUE")


def alh_mse_below_blh(mse):
    return quotient(mse, "ALH", "BLH")


def alh_mse_above_olh(mse):
    return quotient(mse, "ALH", "OLH")


def athe_mse_below_she(mse):
    return quotient(mse, "ATHE", "SHE")


def athe_mse_above_the(mse):
    return quotient(mse, "ATHE", "THE")


def two_orders(mse):
    return pd.concat([orders_more(mse, new).rename(lambda at, new=new: f"{new}, {at}") for new in ADAPTIVE])


# Figure 1: `adult`


def rate_follows_formula(adult):
    return pd.Series((adult["asr"] / adult["law_asr"] - 1).abs().to_numpy(), index=at(adult))


def error_follows_formula(adult):
    value = (adult["mse"] / adult["law_mse"] - 1).abs()
    return pd.DataFrame({"value": value.to_numpy(), "se": (adult["mse_sd"] / 10 / adult["law_mse"]).to_numpy()}, index=at(adult))


def at(adult):
    return [f"{r.protocol}, epsilon = {r.epsilon:g}" for r in adult.itertuples()]


# Figure 5: `family`, columns (measure, mechanism), one row for each budget


def dominates(family, new, old):
    """Orders of magnitude of additional variance; endless where the success rate is no lower."""
    orders = np.log10(family["mse", new] / family["mse", old])
    return label(orders.where(family["asr", new] <= family["asr", old] * (1 + 1e-9), np.inf))


def alh_dominates(family):
    return dominates(family, "ALH", "OLH")


def athe_dominates(family):
    return dominates(family, "ATHE", "THE")


def aue_less_success(family):
    return label(family["asr", "AUE"] / family["asr", "OUE"])


def ass_less_success(family):
    return label(family["asr", "ASS"] / family["asr", "SS"])


def alh_less_success(family):
    return label(family["asr", "ALH"] / family["asr", "OLH"])


def athe_less_success(family):
    return label(family["asr", "ATHE"] / family["asr", "THE"])


def blh_success(family):
    return label(family["asr", "BLH"])


def blh_error(family):
    return label(family["mse", "BLH"] / family["mse", "OLH"])


def sue_less_success(family):
    return pd.Series([(family["asr", "SUE"] < family["asr", "OUE"]).mean()])


# Figure 6: `poison`, with the columns mechanism, epsilon, asr, mse, epg


def moved(poison, column):
    wide = poison.pivot(index="epsilon", columns="mechanism", values=column).sort_index(ascending=False).pct_change()
    return label(wide.stack().dropna())


def less_budget_more_error(poison):
    return moved(poison, "mse")


def less_budget_more_gain(poison):
    return moved(poison, "epg")


def less_budget_less_success(poison):
    return moved(poison, "asr")


def beside(poison, column, one, other):
    wide = poison.pivot(index="epsilon", columns="mechanism", values=column)
    return label(wide[one] / wide[other])


def alh_less_gain(poison):
    return beside(poison, "epg", "ALH", "OLH")


def aue_less_error(poison):
    return beside(poison, "mse", "AUE", "SUE")


def aue_success_like_sue(poison):
    return (beside(poison, "asr", "AUE", "SUE") - 1).abs()


def alh_less_error(poison):
    return beside(poison, "mse", "ALH", "BLH")


# Figure 7: `agree`, one row for each strategy


def share(agree, odd):
    rows = agree[agree["strategy"].str.contains("elbow|knee|constraint") == odd].set_index("strategy")["within"]
    return rows


def strategies_alike(agree):
    return share(agree, False)


def strategies_apart(agree):
    return share(agree, True)


# Figures 8 and 9: one row for each adaptive protocol


def error_alone(weights):
    return (weights["variance"] / weights["its variance"]).set_axis(weights["protocol"])


def adaptive_objective(choices):
    return (choices["objective"] / choices["objective of the classical"]).set_axis(choices["protocol"])
