"""Compute the numbers that the claims of the RAD paper are about; the tests are in `data/claims/rad.csv`."""

import math

import numpy as np
import pandas as pd

from ldpkit import stats
from ldpkit.attacks.reconstruct import finite_distribution, rad_exact
from ldpkit.auditors import calibrate, rad_bounds
from ldpkit.auditors.rad import rad_uniform
from ldpkit.mechanisms import GRR, OUE


def named(values, labels):
    return pd.Series(np.asarray(values, float), index=list(labels))


# Figure 1: `curves`, with the columns mechanism, epsilon, worst (Theorem 4.2), exact (Theorem 4.3)


def exact_below_worst(curves):
    return named(curves["exact"] - curves["worst"], [f"{r.mechanism}, epsilon = {r.epsilon:g}" for r in curves.itertuples()])


def oue_limit():
    return named([rad_uniform(OUE(m, 30.0)) - (m - 1) / (2 * m) for m in (4, 11, 100)], ["m = 4", "m = 11", "m = 100"])


def grr_reaches_worst():
    """Return how far GRR lies from the bound for a known record, over three priors."""
    found = {}
    for prior in ([0.25] * 4, [0.7, 0.1, 0.1, 0.1], [0.5, 0.5, 0, 0]):
        for e in (0.5, 2.0):
            law, prior = finite_distribution(GRR(4, e)), np.array(prior)
            tv = rad_bounds.total_variation(rad_bounds.tradeoff_support(GRR(4, e)))
            found[f"prior {prior[0]:g} ..., epsilon = {e:g}"] = rad_exact(law, prior, side=range(4)) - tv * (1 - (prior**2).sum())
    return pd.Series(found)


# Example 5.5 and Figure 2: `errors`


def printed_sigma():
    return named([calibrate("dpsgd", 0.1, 10, steps=100).printed], [""])


def advantage_gains(errors):
    known = errors.dropna()
    return named(known["success, Equation 3"] / known["advantage, exact"], [f"risk = {r:.3f}" for r in known["risk"]])


# Figure 3: `mnist`, one row for each noise multiplier and kind of knowledge


def over(mnist, knows, value, bound):
    rows = mnist[mnist["knows"] == knows]
    labels = [f"sigma = {s:g}" for s in rows["σ"]]
    return pd.DataFrame({"value": (rows[value] - rows[bound]).to_numpy(), "se": rows[f"{value}_se"].to_numpy()}, index=labels)


def beyond(mnist, knows):
    """Return how far the success exceeds the bound, without a standard error, because the paper claims that it does."""
    return over(mnist, knows, "rero", "ReRo bound").assign(se=0.0)


def member_success(mnist):
    rows = mnist[(mnist["knows"] == "the record") & (mnist["ε"] <= 4)]
    return named([rows["rero"].max()], [""]) if len(rows) else named([], [])


def more_knowledge_more_excess(mnist):
    wide = mnist.assign(excess=mnist["rero"] - mnist["posterior"]).pivot(index="σ", columns="knows", values="excess")
    steps = {"label": wide["the label"] - wide["nothing"], "record": wide["the record"] - wide["the label"]}
    return pd.concat([named(gap, [f"{name}, sigma = {s:g}" for s in gap.index]) for name, gap in steps.items()])


def success_above_advantage(mnist):
    return named(mnist["rero"] - mnist["posterior"], [f"knows {r.knows}, sigma = {r.σ:g}" for r in mnist.itertuples()])


# Figure 4: `laplace`


def cells(laplace):
    return [f"{r.prior}, eta = {r.eta:g}, epsilon = {r.epsilon:g}" for r in laplace.itertuples()]


def success_grows(laplace):
    wide = laplace.pivot(index=["prior", "epsilon"], columns="eta", values="exact_rero")
    rise = wide[sorted(wide)].diff(axis=1).iloc[:, 1:].stack()
    return named(rise, [f"{p}, epsilon = {e:g}, eta = {eta:g}" for p, e, eta in rise.index])


def advantage_largest_at_40(laplace):
    wide = laplace.pivot(index=["prior", "epsilon"], columns="eta", values="exact_rad")
    gap = wide[40] - wide.drop(columns=40).max(axis=1)
    return named(gap, [f"{p}, epsilon = {e:g}" for p, e in gap.index])


def by_prior(laplace):
    rows = laplace[laplace["eta"] < 100]
    return rows.pivot(index=["eta", "epsilon"], columns="prior", values="exact_rad")


def skewed_worst(laplace):
    wide = by_prior(laplace)
    gap = wide["two-point"] - wide[["empirical", "uniform"]].max(axis=1)
    return named(gap, [f"eta = {eta:g}, epsilon = {e:g}" for eta, e in gap.index])


def empirical_best(laplace):
    wide = by_prior(laplace)
    gap = wide[["two-point", "uniform"]].min(axis=1) - wide["empirical"]
    return named(gap, [f"eta = {eta:g}, epsilon = {e:g}" for eta, e in gap.index])


def attack_reaches_bound(laplace):
    rows = laplace[(laplace["eta"] < 100) & (laplace["rad_se"] > 0)]
    return pd.DataFrame(
        {"value": (rows["rad"] - rows["exact_rad"]).to_numpy(), "se": rows["rad_se"].to_numpy()}, index=cells(rows)
    )


# Figures 5 and 6: `audits`


def ceiling():
    return named([stats.epsilon_ceiling(10**6, tail=0.01 / 4)], [""])


def middle(audits):
    """Return the medians of five runs, because the inversion of a single run may be infinite."""
    return audits.groupby(["protocol", "m", "epsilon"], sort=False).median(numeric_only=True).reset_index()


def near(audits, *names):
    rows = middle(audits)
    rows = rows[rows["protocol"].isin(names)]
    return named(
        (rows["known"] / rows["epsilon"] - 1).abs(),
        [f"{r.protocol}, m = {r.m}, epsilon = {r.epsilon:g}" for r in rows.itertuples()],
    )


def better_than_ldp_auditor(audits):
    rows = middle(audits)
    gap = (rows["exact_ldp_auditor"] - rows["epsilon"]).abs() - (rows["known"] - rows["epsilon"]).abs()
    return named(gap, [f"{r.protocol}, m = {r.m}, epsilon = {r.epsilon:g}" for r in rows.itertuples()])


def oue_protects_more(audits):
    wide = middle(audits).pivot(index=["m", "epsilon"], columns="protocol", values="exact_rad")
    gap = wide[["GRR", "SS"]].min(axis=1) - wide["OUE"]
    return named(gap, [f"m = {m}, epsilon = {e:g}" for m, e in gap.index])


def grr_is_black_box(audits):
    rows = middle(audits)
    rows = rows[rows["protocol"] == "GRR"]
    bound = [math.expm1(e) / (math.exp(e) + m - 1) * (m - 1) / m for m, e in zip(rows["m"], rows["epsilon"])]
    return named(rows["exact_rad"] - bound, [f"m = {r.m}, epsilon = {r.epsilon:g}" for r in rows.itertuples()])


# Which bounds hold: `statements`


def one(statements, word):
    row = statements[statements["statement"].str.startswith(word)].iloc[0]
    return named([row["truth"] - row["printed"]], [row["statement"]])
