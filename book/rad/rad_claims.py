"""Compute the numbers that the claims of the RAD paper are about; the tests are in `data/claims/rad.csv`."""

import math

import numpy as np
import pandas as pd

from ldpkit import stats
from ldpkit.attacks.reconstruct import finite_distribution, rad_exact
from ldpkit.auditors import calibrate, rad_bounds
from ldpkit.auditors.rad import rad_uniform
from ldpkit.mechanisms import GRR, OUE

# Figure 1: `curves`, with the columns mechanism, epsilon, worst (Theorem 4.2), exact (Theorem 4.3)


def exact_below_worst(curves):
    rows = curves.set_index(["mechanism", "epsilon"])
    return rows["exact"] - rows["worst"]


def oue_limit():
    return {f"m = {m}": rad_uniform(OUE(m, 30.0)) - (m - 1) / (2 * m) for m in (4, 11, 100)}


def grr_reaches_worst():
    """Return how far GRR lies from the bound for a known record, over three priors."""
    found = {}
    for prior in ([0.25] * 4, [0.7, 0.1, 0.1, 0.1], [0.5, 0.5, 0, 0]):
        for e in (0.5, 2.0):
            law, prior = finite_distribution(GRR(4, e)), np.array(prior)
            tv = rad_bounds.total_variation(rad_bounds.tradeoff_support(GRR(4, e)))
            found[f"prior {prior[0]:g} ..., epsilon = {e:g}"] = rad_exact(law, prior, side=range(4)) - tv * (1 - (prior**2).sum())
    return found


# Example 5.5 and Figure 2: `errors`


def printed_sigma():
    return calibrate("dpsgd", 0.1, 10, steps=100).printed


def advantage_gains(errors):
    known = errors.dropna()
    return (known["success, Equation 3"] / known["advantage, exact"]).set_axis([f"risk = {r:.3f}" for r in known["risk"]])


# Figure 3: `mnist`, one row for each noise multiplier and kind of knowledge


def over(mnist, knows, value, bound):
    rows = mnist[mnist["knows"] == knows].rename(columns={"σ": "sigma"}).set_index("sigma")
    return pd.DataFrame({"value": rows[value] - rows[bound], "se": rows[f"{value}_se"]})


def beyond(mnist, knows):
    """Return how far the success exceeds the bound, without a standard error, because the paper claims that it does."""
    return over(mnist, knows, "rero", "ReRo bound").assign(se=0.0)


def member_success(mnist):
    rows = mnist[(mnist["knows"] == "the record") & (mnist["ε"] <= 4)]
    return rows["rero"].nlargest(1)


def more_knowledge_more_excess(mnist):
    wide = mnist.assign(excess=mnist["rero"] - mnist["posterior"]).pivot(index="σ", columns="knows", values="excess")
    steps = {"label": wide["the label"] - wide["nothing"], "record": wide["the record"] - wide["the label"]}
    return pd.concat(steps, names=[None, "sigma"])


def success_above_advantage(mnist):
    cells = pd.MultiIndex.from_arrays(["knows " + mnist["knows"], mnist["σ"]], names=[None, "sigma"])
    return (mnist["rero"] - mnist["posterior"]).set_axis(cells)


# Figure 4: `laplace`


def success_grows(laplace):
    wide = laplace.pivot(index=["prior", "epsilon"], columns="eta", values="exact_rero")
    return wide.sort_index(axis=1).diff(axis=1).iloc[:, 1:].stack()


def advantage_largest_at_40(laplace):
    wide = laplace.pivot(index=["prior", "epsilon"], columns="eta", values="exact_rad")
    return wide[40] - wide.drop(columns=40).max(axis=1)


def by_prior(laplace):
    rows = laplace[laplace["eta"] < 100]
    return rows.pivot(index=["eta", "epsilon"], columns="prior", values="exact_rad")


def skewed_worst(laplace):
    wide = by_prior(laplace)
    return wide["two-point"] - wide[["empirical", "uniform"]].max(axis=1)


def empirical_best(laplace):
    wide = by_prior(laplace)
    return wide[["two-point", "uniform"]].min(axis=1) - wide["empirical"]


def attack_reaches_bound(laplace):
    rows = laplace[(laplace["eta"] < 100) & (laplace["rad_se"] > 0)].set_index(["prior", "eta", "epsilon"])
    return pd.DataFrame({"value": rows["rad"] - rows["exact_rad"], "se": rows["rad_se"]})


# Figures 5 and 6: `audits`


def ceiling():
    return stats.epsilon_ceiling(10**6, tail=0.01 / 4)


def middle(audits):
    """Return the medians of five runs, because the inversion of a single run may be infinite."""
    return audits.groupby(["protocol", "m", "epsilon"], sort=False).median(numeric_only=True)


def near(audits, name):
    known = middle(audits)["known"]
    return (known / known.index.get_level_values("epsilon") - 1).abs()[[name]]


def better_than_ldp_auditor(audits):
    rows = middle(audits)
    off = rows[["exact_ldp_auditor", "known"]].sub(rows.index.get_level_values("epsilon"), axis=0).abs()
    return off["exact_ldp_auditor"] - off["known"]


def oue_protects_more(audits):
    wide = middle(audits)["exact_rad"].unstack("protocol")
    return wide[["GRR", "SS"]].min(axis=1) - wide["OUE"]


def grr_is_black_box(audits):
    found = middle(audits)["exact_rad"]["GRR"]
    return found - [math.expm1(e) / (math.exp(e) + m - 1) * (m - 1) / m for m, e in found.index]


# Which bounds hold: `statements`


def one(statements, word):
    row = statements[statements["statement"].str.startswith(word)].iloc[0]
    return row["truth"] - row["printed"]
