"""Compute the numbers that the claims of the LDP-Auditor paper are about; the tests are in `data/claims/ldp_auditor.csv`.

Every function takes tables of a page by name and returns a value for each cell. Where an exact distribution is known, the values
are exact expectations of the paper's statistic. Therefore no verdict depends on a single run.
"""

import numpy as np
import pandas as pd

from ldpkit import stats
from ldpkit.auditors import expected
from ldpkit.mechanisms import RSFD, make

PURE = ["GRR", "SS", "SUE", "OUE", "BLH", "OLH", "SHE", "THE"]
UNARY = ["SUE-z", "SUE-r", "OUE-z", "OUE-r"]


def wide(cell, *keys, column="exact"):
    """Return a table with a row for each setting and a column for each mechanism."""
    return cell.pivot_table(index=list(keys), columns="mechanism", values=column, dropna=False, sort=False)


def flat(table, *names):
    """Return the columns of a table as one series, labelled by mechanism and setting."""
    found = pd.concat({name: table[name] for name in names}).dropna()
    keys = [None, *table.index.names]
    labels = [
        ", ".join([f"{parts[0]}", *(f"{key} = {part:g}" for key, part in zip(keys[1:], parts[1:]))]) for parts in found.index
    ]
    return pd.Series(found.to_numpy(float), index=labels)


def between(table, low, high, key="epsilon"):
    """Return the rows whose `key` lies in a range."""
    at = table.index.get_level_values(key)
    return table[(at >= low) & (at <= high)]


def excess(table, upper, lower):
    """Return how far each mechanism of `upper` lies above the largest of `lower`."""
    return flat(table[upper].sub(table[lower].max(axis=1), axis=0), *upper)


def apart(table, one, other):
    """Return the relative difference of two columns."""
    return flat((table[[one]].div(table[other], axis=0) - 1).abs(), one)


def steps(table, key, names):
    """Return how much every column rises from each value of `key` to the next."""
    rest = [name for name in table.index.names if name != key]
    table = table.sort_index(level=[*rest, key])
    rise = table.groupby(level=rest).diff() if rest else table.diff()
    return flat(rise, *names)


def growth(table, key, low, high, names):
    """Return the relative growth of every column from the value `low` of `key` to `high`."""
    two = (table.xs(end, level=key) for end in (high, low))
    return flat(next(two) / next(two) - 1, *names)


def ratio(cell, name):
    rows = cell[cell["mechanism"] == name]
    return pd.Series((rows["epsilon"] / rows["exact"]).to_numpy(), index=[f"{name}, epsilon = {e:g}" for e in rows["epsilon"]])


# Figure 1: `guess`


def grr_close(guess):
    return 1 / ratio(guess, "GRR")


def sue_within_two(guess):
    return ratio(guess, "SUE")


def the_within_two(guess):
    return ratio(guess, "THE")


def she_within_two(guess):
    return ratio(guess, "SHE")


def blh_within_four(guess):
    return ratio(guess, "BLH")


def grr_tightest_at_two(guess):
    return excess(wide(guess, "k", "epsilon"), ["GRR"], PURE[1:])


# Figure 2: `cell`


def pure(cell):
    return wide(cell, "k", "epsilon")


def grr_tightest(cell):
    return excess(pure(cell), ["GRR"], PURE[1:])


def grr_tight(cell):
    table = pure(cell)
    return flat(table[["GRR"]].div(table.index.get_level_values("epsilon"), axis=0), "GRR")


def blh_worst(cell):
    table, names = between(pure(cell), 2, 10), [name for name in PURE if name != "BLH"]
    return flat(table[names].sub(table["BLH"], axis=0), *names)


def blh_below_one(cell):
    return flat(between(pure(cell), 2, 10), "BLH")


def blh_flat(cell):
    return growth(pure(cell), "epsilon", 2, 10, ["BLH"])


def hashing_lowest(cell):
    table = between(pure(cell), 0.25, 1)
    return flat(table[["SS", "SUE", "OUE", "SHE", "THE", "GRR"]].sub(table[["BLH", "OLH"]].max(axis=1), axis=0),
                "SS", "SUE", "OUE", "SHE", "THE", "GRR")  # fmt: skip


def hashing_alike(cell):
    return apart(between(pure(cell), 0.25, 1), "BLH", "OLH")


def olh_above_blh(cell):
    return excess(between(pure(cell), 2, 10), ["OLH"], ["BLH"])


def ss_like_others(cell):
    table = between(pure(cell), 0.25, 1)
    return flat((table[["SS"]].div(table[["SUE", "OUE", "SHE", "THE"]].mean(axis=1), axis=0) - 1).abs(), "SS")


def ss_is_grr(cell):
    table = between(pure(cell), 6, 10)
    return flat(table[["SS"]].sub(table["GRR"], axis=0), "SS")


def unary_alike(cell):
    return apart(between(pure(cell), 0.25, 1), "SUE", "OUE")


def oue_above_sue(cell):
    return excess(between(pure(cell), 2, 4), ["OUE"], ["SUE"])


def oue_plateau(cell):
    return growth(pure(cell), "epsilon", 6, 10, ["OUE"])


def olh_plateau(cell):
    return growth(pure(cell), "epsilon", 6, 10, ["OLH"])


def histogram_alike(cell):
    return apart(pure(cell), "SHE", "THE")


def falls_with_k(cell):
    table = between(pure(cell), 0.25, 2)
    return steps(table, "k", PURE)


def grr_little_k(cell):
    return -growth(pure(cell), "k", 25, 200, ["GRR"])


def within_at_25(cell):
    table = between(pure(cell).xs(25, level="k", drop_level=False), 0.25, 1)
    return flat(1 / table.div(table.index.get_level_values("epsilon"), axis=0), *PURE[1:])


def within_at_200(cell):
    table = between(pure(cell).xs(200, level="k", drop_level=False), 0.25, 1)
    return flat(1 / table.div(table.index.get_level_values("epsilon"), axis=0), *PURE[1:])


def oue_rises_with_k(cell):
    return steps(between(pure(cell), 4, 10), "k", ["OUE"])


def olh_rises_with_k(cell):
    return steps(between(pure(cell), 4, 10), "k", ["OLH"])


def the_rises_with_k(cell):
    return steps(between(pure(cell), 10, 10), "k", ["THE"])


def gap_widens(cell):
    table = pure(cell)
    share = table.div(table.index.get_level_values("epsilon"), axis=0)
    return flat(share.xs(1, level="epsilon") - share.xs(0.25, level="epsilon"), *PURE[1:])


def blh_within_ten(cell):
    table = between(pure(cell), 2, 10)
    return flat(1 / table.div(table.index.get_level_values("epsilon"), axis=0), "BLH")


def below_claim(cell):
    table = pure(cell)
    return flat(table.sub(table.index.get_level_values("epsilon"), axis=0), *PURE)


def one(value):
    return pd.Series([float(value)])


def ceiling_million():
    return one(stats.epsilon_ceiling(10**6, tail=0.01 / 4))


def ceiling_ten_thousand():
    return one(stats.epsilon_ceiling(10**4, tail=0.01 / 4))


def lower_end():
    return one(stats.clopper_pearson(10**4, 10**4, 0.01 / 4)[0])


def upper_end():
    return one(stats.clopper_pearson(0, 10**4, 0.01 / 4)[1])


def any_pair():
    found = {}
    for name in PURE:
        mechanism = make(name, k=25, epsilon=1.0)
        first, second = (expected(mechanism, trials=10**6, pair=pair)[0] for pair in ((0, 1), (0, 24)))
        found[name] = first - second
    return pd.Series(found)


# Figure 3: `cell`

NOISY = ["GM", "AGM"]


def agrr_tightest(cell):
    return excess(pure(cell), ["AGRR"], ["ASUE", "ABLH", "AOLH", "AGM"])


def aolh_above_ablh(cell):
    return excess(between(pure(cell), 2, 10), ["AOLH"], ["ABLH"])


def approximate_hashing_alike(cell):
    return apart(between(pure(cell), 0.25, 1), "ABLH", "AOLH")


def gm_worst(cell):
    table = between(pure(cell), 0.25, 1)
    return flat(table[["AGRR", "ASUE", "ABLH", "AOLH", "AGM"]].sub(table["GM"], axis=0), "AGRR", "ASUE", "ABLH", "AOLH", "AGM")


def agm_above_gm(cell):
    return excess(between(pure(cell), 0.25, 1), ["AGM"], ["GM"])


def asue_is_sue(cell):
    table = pure(cell)
    plain = [expected(make("SUE", k=int(k), epsilon=e), trials=10**6)[0] for k, e in table.index]
    return flat((table[["ASUE"]].div(plain, axis=0) - 1).abs(), "ASUE")


def approximate_falls_with_k(cell):
    return steps(between(pure(cell), 0.25, 2), "k", ["AGRR", "ASUE", "ABLH", "AOLH", "AGM"])


def agrr_little_k(cell):
    return -growth(pure(cell), "k", 25, 200, ["AGRR"])


def aolh_plateau(cell):
    return growth(pure(cell), "epsilon", 6, 10, ["AOLH"])


# Figures 4 and 10: `cell`, with the pure counterpart at delta 0


def by_delta(cell):
    return wide(cell.assign(mechanism=cell["protocol"]), "k", "epsilon", "delta")


def delta_spread(table, names):
    groups = table[names].groupby(level=["k", "epsilon"])
    return flat(groups.max() / groups.min() - 1, *names)


def delta_does_nothing(cell):
    return delta_spread(by_delta(cell), ["AGRR", "ASUE", "ABLH", "AOLH"])


def approximate_is_pure(cell):
    table = by_delta(cell)
    plain = table.xs(0, level="delta")
    found = {d: table.xs(d, level="delta") / plain - 1 for d in table.index.get_level_values("delta").unique() if d}
    return flat(pd.concat(found, names=["delta"]).abs(), "AGRR", "ASUE", "ABLH", "AOLH")


def gm_rises_with_delta(cell):
    return steps(between(by_delta(cell), 1e-9, 1, "delta"), "delta", ["GM"])


def agm_rises_with_delta(cell):
    return steps(between(by_delta(cell), 1e-9, 1, "delta"), "delta", ["AGM"])


def finite_falls_with_k(cell):
    return steps(by_delta(cell), "k", ["AGRR", "ASUE", "ABLH", "AOLH"])


def noisy_rises_with_k(cell):
    return steps(between(by_delta(cell), 1e-9, 1, "delta"), "k", NOISY)


# Figure 5: `guess`


def hashed(guess):
    return wide(guess.assign(mechanism="LHO"), "k", "g")


def one_bit_below_one(guess):
    return flat(between(hashed(guess), 2, 2, "g"), "LHO")


def hashing_at_most(guess):
    return flat(between(hashed(guess), 2, 10, "g"), "LHO")


def hashing_at_least(guess):
    return flat(between(hashed(guess), 3, 10, "g"), "LHO")


def rises_with_g(guess):
    return steps(hashed(guess), "g", ["LHO"])


def hashing_falls_with_k(guess):
    return steps(hashed(guess), "k", ["LHO"])


# Figures 6 and 11: `cell`. For SS with larger subsets only the success rate was simulated.


def repeated(cell, *sizes):
    return wide(cell[cell["k"].isin(sizes)], "k", "epsilon", "tau")


def ss_is_grr_for_two(cell):
    table = repeated(cell, 2)
    return flat(table[["SS"]].sub(table["GRR"], axis=0), "SS")


def grr_tightest_for_two(cell):
    return excess(repeated(cell, 2), ["GRR"], ["SUE", "OUE", "BLH", "OLH", "SHE", "THE", *NOISY])


def noisy_lowest_for_two(cell):
    table = repeated(cell, 2)
    return flat(table[PURE].sub(table[NOISY].max(axis=1), axis=0), *PURE)


def middle_for_two(cell):
    table = repeated(cell, 2)
    names = ["SUE", "OUE", "BLH", "OLH"]
    low, high = table[names].sub(table[NOISY].max(axis=1), axis=0), -table[names].sub(table["GRR"], axis=0)
    return flat(low.where(low < high, high), *names)


def grr_lowest_for_hundred(cell):
    table, names = repeated(cell, 100), ["SUE", "OUE", "BLH", "OLH", "SHE", "THE"]
    return flat(table[names].sub(table["GRR"], axis=0), *names)


def she_second_lowest(cell):
    table, names = repeated(cell, 100), ["SUE", "OUE", "BLH", "OLH", "THE"]
    return flat(table[names].sub(table["SHE"], axis=0), *names)


def noisy_lowest(cell):
    table, names = repeated(cell, 25, 50), [n for n in PURE if n != "SS"]
    return flat(table[names].sub(table[NOISY].max(axis=1), axis=0), *names)


def small_budget_never(cell):
    table = repeated(cell, 2, 25, 50, 100)
    table = between(between(table, 0.25, 0.25), 500, 500, "tau")
    return flat(table / stats.epsilon_ceiling(10**6, tail=0.01 / 4), *PURE, *NOISY)


def all_reach_ceiling(cell):
    table = between(between(repeated(cell, 2, 25, 50, 100), 0.75, 1), 250, 500, "tau")
    return flat(table, "SUE", "OUE", "BLH", "OLH", "SHE", "THE")


def grr_misses_ceiling(cell):
    table = between(between(repeated(cell, 2, 25, 50, 100), 0.75, 1), 250, 500, "tau")
    return flat(table / stats.epsilon_ceiling(10**6, tail=0.01 / 4), "GRR")


def below_composition(cell):
    table = repeated(cell, 2, 25, 50, 100)
    composed = table.index.get_level_values("tau") * table.index.get_level_values("epsilon")
    return flat(table.sub(composed, axis=0), *[n for n in PURE if n != "SS"], *NOISY)


def rises_with_tau(cell):
    return steps(repeated(cell, 2, 25, 50, 100), "tau", [n for n in PURE if n != "SS"])


# Figures 7 and 12: `cell`


def fakes(cell, *sizes):
    return wide(cell[cell["k"].isin(sizes)].assign(mechanism=cell["base"]), "k", "d", "epsilon")


def rsfd_grr_tightest(cell):
    return excess(fakes(cell, 2, 100), ["GRR"], UNARY)


def rsfd_grr_plateau(cell):
    return growth(fakes(cell, 2, 25, 50, 100), "epsilon", 4, 10, ["GRR"])


def sue_above_oue_for_two(cell):
    return excess(fakes(cell, 2), ["SUE-z", "SUE-r"], ["OUE-z", "OUE-r"])


def sue_below_oue_for_hundred(cell):
    return excess(fakes(cell, 100), ["OUE-z", "OUE-r"], ["SUE-z", "SUE-r"])


def lower_for_two(cell):
    table = fakes(cell, 2, 100)
    return flat(table.xs(100, level="k") - table.xs(2, level="k"), "GRR", *UNARY)


def loss_of_one(d, budget):
    """Return the loss of two records that differ in one of `d` binary attributes.

    One attribute is answered by GRR with `budget`, and the others are fair coins.
    """
    p, q = np.exp(budget) / (np.exp(budget) + 1), 1 / (np.exp(budget) + 1)
    # the likeliest report for the first record repeats its own value and contradicts it in all others
    others = (d - 1) * q
    return np.log((p + others) / (q + others))


def amplified():
    found = {(d, e): loss_of_one(d, RSFD(2, d, e).amplified) - e for d in (2, 10) for e in (0.25, 1.0, 4.0, 10.0)}
    return pd.Series(list(found.values()), index=[f"d = {d}, epsilon = {e:g}" for d, e in found])


# Figure 8: `cell` and `live`


def faulty(cell):
    return wide(cell[cell["attack"] == "guess"].assign(mechanism=cell["protocol"]), "k", "epsilon")


def guess_sees_fault(cell):
    table = between(faulty(cell), 0.25, 0.75)
    return flat(table.sub(table.index.get_level_values("epsilon"), axis=0), "SUE", "OUE")


def guess_blind(cell):
    table = between(faulty(cell), 1, 10)
    return flat(table.sub(table.index.get_level_values("epsilon"), axis=0), "SUE", "OUE")


def mended(live):
    rows = live[live["release"] == "1.2.0"]
    labels = [f"{r.protocol}, epsilon = {r.epsilon:g}, {r.attack}" for r in rows.itertuples()]
    return pd.Series((rows["lower"] - rows["claim"]).to_numpy(), index=labels)


def bit_sent_too_often():
    found = {}
    for name in ("SUE", "OUE"):
        for e in (0.25, 1.0, 4.0):
            found[f"{name}, epsilon = {e:g}"] = (
                make("FaultyUE", k=100, epsilon=e, protocol=name).p - make(name, k=100, epsilon=e).p
            )
    return pd.Series(found)
