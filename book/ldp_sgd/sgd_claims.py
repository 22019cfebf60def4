"""Compute the numbers that the claims of the LDP-SGD paper are about; the tests are in `data/claims/ldp_sgd.csv`.

The tables `cells`, `training` and `by_norm` are those of `standins.summary`. Their column ``limit`` is the result of a test
without sampling noise, for our stand-ins of the paper's data.
"""

from ldpkit import stats
from ldpkit.attacks.gradient import RULES, dummy
from ldpkit.auditors import ShuffleAudit
from ldpkit.auditors.gradient import epsilon_from_errors, lower_pooled
from ldpkit.auditors.shuffle import least_clients
from ldpkit.mechanisms import LDPSGD


def accuracy(epsilon):
    """Return the share of right guesses by the cosine rule with the dummy gradient, if both gradients are equally frequent."""
    return 1 - sum(RULES["cosine"].rates(LDPSGD(10, epsilon), dummy(10))) / 2


def cosines_shrink():
    steps = [(e, d) for e in (0.5, 4.0) for d in (10, 100, 1000)]
    return {f"epsilon = {e:g}, {d} to {10 * d}": LDPSGD(d, e).m - LDPSGD(10 * d, e).m for e, d in steps}


def lower(trials):
    """Return the lower end of the rate if every trial is a success."""
    return stats.clopper_pearson(trials, trials, 0.025)[0]


def measured_below_theory():
    cells = ((1, 432), (1, 1000), (2, 974), (2, 1000), (4, 6454), (4, 10_000))
    found = {f"epsilon0 = {e}, n = {n}": ShuffleAudit(e, n, delta=1e-6).run()[0] for e, n in cells}
    return {cell: result.exact / result.claim for cell, result in found.items()}


def wide(cells):
    """Return the limits of Figures 4 and 8, with a column for each adversary."""
    return cells.pivot_table(index=["name", "epsilon"], columns="adversary", values="limit", sort=False)


def training_helps(training):
    rows = training[training["flip"] == "random"].sort_values("iteration")
    ends = rows.groupby("name", sort=False)["limit"].agg(["first", "last"])
    return ends["last"] - ends["first"]


def by_size(by_norm):
    """Return the rows of Figure 6 by norm and budget."""
    return by_norm.set_index([by_norm["norm"].map("norm {:g}".format), by_norm["epsilon"]])
