"""Compute the numbers that the claims of the LDP-Auditor paper are about; the tests are in `data/claims/ldp_auditor.csv`.

Every function takes tables of a page by name and returns a value for each cell. Where an exact distribution is known, the values
are exact expectations of the paper's statistic. Therefore no verdict depends on a single run. A row of the table of claims
gives further arguments as text. Two numbers are the ends of a range, and names of mechanisms are separated by blanks.
"""

import numpy as np
import pandas as pd

from ldpkit import stats
from ldpkit.auditors import expected
from ldpkit.mechanisms import RSFD, make

PURE = ["GRR", "SS", "SUE", "OUE", "BLH", "OLH", "SHE", "THE"]
NOISY = ["GM", "AGM"]
FINITE = ["AGRR", "ASUE", "ABLH", "AOLH"]


def wide(cell, *keys):
    """Return a table with a row for each setting and a column for each mechanism."""
    return cell.pivot_table(index=list(keys), columns="mechanism", values="exact", dropna=False, sort=False)


def flat(table, *names):
    """Return the columns of a table as one series, whose index has mechanism and setting."""
    return pd.concat({name: table[name] for name in names}).dropna()


def between(table, low, high, key="epsilon"):
    """Return the rows whose `key` lies in a range."""
    at = table.index.get_level_values(key)
    return table[(at >= float(low)) & (at <= float(high))]


def per_claim(table):
    """Return a table divided by the claimed epsilon."""
    return table.div(table.index.get_level_values("epsilon"), axis=0)


def over_claim(table):
    """Return by how much a table exceeds the claimed epsilon."""
    return table.sub(table.index.get_level_values("epsilon"), axis=0)


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


def growth(table, key, low, high, *names):
    """Return the relative growth of every column from the value `low` of `key` to `high`."""
    return flat(table.xs(float(high), level=key) / table.xs(float(low), level=key) - 1, *names)


def ratio(cell, name):
    rows = cell[cell["mechanism"] == name].set_index(["mechanism", "epsilon"], drop=False)
    return rows["epsilon"] / rows["exact"]


# Figure 1: `guess`


def grr_close(guess):
    return 1 / ratio(guess, "GRR")


# Figures 2 and 3: `cell`


def pure(cell):
    return wide(cell, "k", "epsilon")


def above(cell, low, high, upper, lower):
    return excess(between(pure(cell), low, high), upper.split(), lower.split())


def alike(cell, low, high, one, other):
    return apart(between(pure(cell), low, high), one, other)


def grown(cell, key, low, high, name):
    return growth(pure(cell), key, low, high, name)


def lost(cell, key, low, high, name):
    return -grown(cell, key, low, high, name)


def rise_with_k(cell, low, high, names):
    return steps(between(pure(cell), low, high), "k", names.split())


def within(cell, least, most, low, high, names):
    table = between(between(pure(cell), least, most, "k"), low, high)
    return flat(1 / per_claim(table), *names.split())


def grr_tight(cell):
    return flat(per_claim(pure(cell)), "GRR")


def blh_below_one(cell):
    return flat(between(pure(cell), 2, 10), "BLH")


def ss_like_others(cell):
    table = between(pure(cell), 0.25, 1)
    return apart(table.assign(others=table[["SUE", "OUE", "SHE", "THE"]].mean(axis=1)), "SS", "others")


def gap_widens(cell):
    share = per_claim(pure(cell))
    return flat(share.xs(1, level="epsilon") - share.xs(0.25, level="epsilon"), *PURE[1:])


def below_claim(cell):
    return flat(over_claim(pure(cell)), *PURE)


def ceiling(trials):
    return stats.epsilon_ceiling(int(trials), tail=0.01 / 4)


def end(hits, side):
    return stats.clopper_pearson(int(hits), 10**4, 0.01 / 4)[int(side)]


def any_pair():
    found = {}
    for name in PURE:
        mechanism = make(name, k=25, epsilon=1.0)
        first, second = (expected(mechanism, trials=10**6, pair=pair)[0] for pair in ((0, 1), (0, 24)))
        found[name] = first - second
    return found


def asue_is_sue(cell):
    table = pure(cell)
    plain = [expected(make("SUE", k=int(k), epsilon=e), trials=10**6)[0] for k, e in table.index]
    return apart(table.assign(SUE=plain), "ASUE", "SUE")


# Figures 4 and 10: `cell`, with the pure counterpart at delta 0


def by_delta(cell):
    return wide(cell.assign(mechanism=cell["protocol"]), "k", "epsilon", "delta")


def delta_does_nothing(cell):
    groups = by_delta(cell)[FINITE].groupby(level=["k", "epsilon"])
    return flat(groups.max() / groups.min() - 1, *FINITE)


def approximate_is_pure(cell):
    table = by_delta(cell)
    plain = table.xs(0, level="delta")
    found = {d: table.xs(d, level="delta") / plain - 1 for d in table.index.get_level_values("delta").unique() if d}
    return flat(pd.concat(found, names=["delta"]).abs(), *FINITE)


def rise_from_delta(cell, least, key, names):
    return steps(between(by_delta(cell), least, 1, "delta"), key, names.split())


# Figure 5: `guess`


def hashed(guess):
    return wide(guess.assign(mechanism="LHO"), "k", "g")


def hashed_to(guess, low, high):
    return flat(between(hashed(guess), low, high, "g"), "LHO")


def rise_of_hashed(guess, key):
    return steps(hashed(guess), key, ["LHO"])


# Figures 6 and 11: `cell`. For SS with larger subsets only the success rate was simulated.


def repeated(cell, sizes="2 25 50 100"):
    return wide(cell[cell["k"].isin(map(int, sizes.split()))], "k", "epsilon", "tau")


def above_repeated(cell, sizes, upper, lower):
    return excess(repeated(cell, sizes), upper.split(), lower.split())


def middle_for_two(cell):
    table = repeated(cell, "2")
    names = ["SUE", "OUE", "BLH", "OLH"]
    low, high = table[names].sub(table[NOISY].max(axis=1), axis=0), -table[names].sub(table["GRR"], axis=0)
    return flat(low.where(low < high, high), *names)


def collected(cell, sizes, low, high, tau):
    """Return the estimates of budgets in a range, after so many collections or more."""
    return between(between(repeated(cell, sizes), low, high), tau, 500, "tau")


def share_of_ceiling(cell, sizes, low, high, tau, names):
    return flat(collected(cell, sizes, low, high, tau) / ceiling(10**6), *names.split())


def all_reach_ceiling(cell):
    return flat(collected(cell, "2 25 50 100", 0.75, 1, 250), "SUE", "OUE", "BLH", "OLH", "SHE", "THE")


def below_composition(cell):
    table = repeated(cell)
    composed = table.index.get_level_values("tau") * table.index.get_level_values("epsilon")
    return flat(table.sub(composed, axis=0), *[n for n in PURE if n != "SS"], *NOISY)


def rises_with_tau(cell):
    return steps(repeated(cell), "tau", [n for n in PURE if n != "SS"])


# Figures 7 and 12: `cell`


def fakes(cell, sizes):
    return wide(cell[cell["k"].isin(map(int, sizes.split()))].assign(mechanism=cell["base"]), "k", "d", "epsilon")


def above_fakes(cell, sizes, upper, lower):
    return excess(fakes(cell, sizes), upper.split(), lower.split())


def rsfd_grr_plateau(cell):
    return growth(fakes(cell, "2 25 50 100"), "epsilon", 4, 10, "GRR")


def lower_for_two(cell):
    table = fakes(cell, "2 100")
    return flat(table.xs(100, level="k") - table.xs(2, level="k"), "GRR", "SUE-z", "SUE-r", "OUE-z", "OUE-r")


def loss_of_one(d, budget):
    """Return the loss of two records that differ in one of `d` binary attributes.

    One attribute is answered by GRR with `budget`, and the others are fair coins.
    """
    p, q = np.exp(budget) / (np.exp(budget) + 1), 1 / (np.exp(budget) + 1)
    # the likeliest report for the first record repeats its own value and contradicts it in all others
    others = (d - 1) * q
    return np.log((p + others) / (q + others))


def amplified():
    cases = pd.MultiIndex.from_product([(2, 10), (0.25, 1.0, 4.0, 10.0)], names=["d", "epsilon"])
    return pd.Series([loss_of_one(d, RSFD(2, d, e).amplified) - e for d, e in cases], cases)


# Figure 8: `cell` and `live`


def found_by_guess(cell, low, high):
    table = wide(cell[cell["attack"] == "guess"].assign(mechanism=cell["protocol"]), "k", "epsilon")
    return flat(over_claim(between(table, low, high)), "SUE", "OUE")


def mended(live):
    rows = live[live["release"] == "1.2.0"].set_index(["protocol", "epsilon", "attack"])
    return rows["lower"] - rows["claim"]


def bit_sent_too_often():
    cases = pd.MultiIndex.from_product([("SUE", "OUE"), (0.25, 1.0, 4.0)], names=["protocol", "epsilon"])
    rates = [make("FaultyUE", k=100, epsilon=e, protocol=name).p - make(name, k=100, epsilon=e).p for name, e in cases]
    return pd.Series(rates, cases)
