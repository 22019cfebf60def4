"""The numbers that the claims of the LDP-SGD paper are about; the ledger, `data/claims/ldp_sgd.csv`, says what they must be.

Tables are those of `standins.summary`: ``limit`` is what a test finds without sampling noise, for our stand-ins of the paper's data.
"""

import math

import pandas as pd

from ldpkit import stats
from ldpkit.auditors import audit_shuffle
from ldpkit.auditors.shuffle import least_clients
from ldpkit.mechanisms import LDPSGD


def one(value):
    return pd.Series([float(value)])


# Figure 3


def turned_small():
    return one(1 / (1 + math.exp(0.5)))


def turned_large():
    return one(1 / (1 + math.exp(4)))


def cosines_shrink():
    found = {(e, d): LDPSGD(d, e).m for e in (0.5, 4.0) for d in (10, 100, 1000, 10_000)}
    return pd.Series({f"epsilon = {e:g}, {a} to {b}": found[e, a] - found[e, b]
                      for e in (0.5, 4.0) for a, b in ((10, 100), (100, 1000), (1000, 10_000))})  # fmt: skip


# Section 4.1


def lower_of_thousand():
    return one(stats.clopper_pearson(1000, 1000, 0.025)[0])


def budget_of_thousand():
    low = stats.clopper_pearson(1000, 1000, 0.025)[0]
    return one(math.log(low / (1 - low)))


def budget_of_million():
    low = stats.clopper_pearson(10**6, 10**6, 0.025)[0]
    return one(math.log(low / (1 - low)))


def example_of_equation_3():
    return one(max(math.log(0.9 / 0.2), math.log(0.8 / 0.1)))


# Table 3


def theory(e, n):
    return one(audit_shuffle(e, n, 1e-6, trials=2).claim)


def theory_1_432():
    return theory(1, 432)


def theory_1_1000():
    return theory(1, 1000)


def theory_2_974():
    return theory(2, 974)


def theory_2_1000():
    return theory(2, 1000)


def theory_4_6454():
    return theory(4, 6454)


def theory_4_10000():
    return theory(4, 10_000)


def clients_1():
    return one(least_clients(1))


def clients_2():
    return one(least_clients(2))


def clients_4():
    return one(least_clients(4))


def measured_below_theory():
    found = {
        (e, n): audit_shuffle(e, n, 1e-6, trials=1000)
        for e, n in ((1, 432), (1, 1000), (2, 974), (2, 1000), (4, 6454), (4, 10_000))
    }
    return pd.Series({f"epsilon0 = {e}, n = {n}": r.exact / r.claim for (e, n), r in found.items()})


# Figures 4 and 8: `cells`


def wide(cells):
    return cells.pivot_table(index=["name", "epsilon"], columns="adversary", values="limit", sort=False)


def named(found):
    return pd.Series(found.to_numpy(float), index=[f"{name}, epsilon = {e:g}" for name, e in found.index])


def dummy_reaches(cells):
    table = wide(cells)
    return named(table["dummy"] / table.index.get_level_values("epsilon"))


def collusion_reaches(cells):
    table = wide(cells)
    return named(table["collusion"] / table.index.get_level_values("epsilon"))


def benign_far_below(cells):
    table = wide(cells)
    return named(table["benign"] / table.index.get_level_values("epsilon"))


def label_above_benign(cells):
    return named(wide(cells)["random"] - wide(cells)["benign"])


def flip_above_label(cells):
    return named(wide(cells)["gradient flip"] - wide(cells)["random"])


def collusion_above_flip(cells):
    return named(wide(cells)["collusion"] - wide(cells)["gradient flip"])


def dummy_above_collusion(cells):
    return named(wide(cells)["dummy"] - wide(cells)["collusion"])


def flip_misses(cells):
    table = wide(cells)
    return named(table["gradient flip"] - table.index.get_level_values("epsilon"))


def dummy_accuracy():
    return one(1 / (1 + math.exp(-4)))


# Figure 5: `training`; Figure 6: `by_norm`


def training_helps(training):
    rows = training[training["flip"] == "random"].sort_values("iteration")
    ends = rows.groupby("name", sort=False)["limit"].agg(["first", "last"])
    return ends["last"] - ends["first"]


def short_falls_behind(by_norm):
    rows = by_norm[by_norm["norm"] < 1]
    return pd.Series(
        (rows["limit"] / rows["epsilon"]).to_numpy(),
        index=[f"norm {r.norm:g}, epsilon = {r.epsilon:g}" for r in rows.itertuples()],
    )


def shorter_is_worse(by_norm):
    table = by_norm.pivot(index="norm", columns="epsilon", values="limit").sort_index().diff().dropna()
    return pd.Series({f"norm {n:g}, epsilon = {e:g}": table.loc[n, e] for n in table.index for e in table})


def long_reaches(by_norm):
    rows = by_norm[by_norm["norm"] >= 1]
    return pd.Series(
        (rows["limit"] - rows["epsilon"]).to_numpy(),
        index=[f"norm {r.norm:g}, epsilon = {r.epsilon:g}" for r in rows.itertuples()],
    )
