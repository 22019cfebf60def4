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


def one(value):
    return pd.Series([float(value)])


# Figure 3. Arguments that a row of the table of claims gives are text.


def turned(e):
    return one(1 / (1 + math.exp(float(e))))


def cosines_shrink():
    found = {(e, d): LDPSGD(d, e).m for e in (0.5, 4.0) for d in (10, 100, 1000, 10_000)}
    return pd.Series({f"epsilon = {e:g}, {a} to {b}": found[e, a] - found[e, b]
                      for e in (0.5, 4.0) for a, b in ((10, 100), (100, 1000), (1000, 10_000))})  # fmt: skip


# Section 4.1


def lower_of_thousand():
    return one(stats.clopper_pearson(1000, 1000, 0.025)[0])


def budget(trials):
    low = stats.clopper_pearson(int(trials), int(trials), 0.025)[0]
    return one(math.log(low / (1 - low)))


def example_of_equation_3():
    return one(max(math.log(0.9 / 0.2), math.log(0.8 / 0.1)))


# Table 3


def theory(e, n):
    return one(audit_shuffle(float(e), int(n), delta=1e-6, trials=1).claim)


def clients(e):
    return one(least_clients(float(e)))


def measured_below_theory():
    found = {
        (e, n): audit_shuffle(e, n, delta=1e-6) for e, n in ((1, 432), (1, 1000), (2, 974), (2, 1000), (4, 6454), (4, 10_000))
    }
    return pd.Series({f"epsilon0 = {e}, n = {n}": r.exact / r.claim for (e, n), r in found.items()})


# Figures 4 and 8: `cells`


def wide(cells):
    return cells.pivot_table(index=["name", "epsilon"], columns="adversary", values="limit", sort=False)


def named(found):
    return pd.Series(found.to_numpy(float), index=[f"{name}, epsilon = {e:g}" for name, e in found.index])


def reached(cells, adversary):
    table = wide(cells)
    return named(table[adversary] / table.index.get_level_values("epsilon"))


def above(cells, one, other):
    return named(wide(cells)[one] - wide(cells)[other])


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
