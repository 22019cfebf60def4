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


def advantage_gains(errors):
    known = errors.dropna()
    return (known["success, Equation 3"] / known["advantage, exact"]).set_axis([f"risk = {r:.3f}" for r in known["risk"]])


# Figure 3: `mnist`, one row for each noise multiplier and kind of knowledge


def over(mnist, knows, value, bound):
    """Return by how much a number exceeds its bound, with its standard error.

    Where the paper claims an excess, the row of the claim sets this error to zero.
    """
    rows = mnist[mnist["knows"] == knows].rename(columns={"σ": "sigma"}).set_index("sigma")
    return pd.DataFrame({"value": rows[value] - rows[bound], "se": rows[f"{value}_se"]})


def more_knowledge_more_excess(mnist):
    wide = mnist.assign(excess=mnist["rero"] - mnist["posterior"]).pivot(index="σ", columns="knows", values="excess")
    steps = {"label": wide["the label"] - wide["nothing"], "record": wide["the record"] - wide["the label"]}
    return pd.concat(steps, names=[None, "sigma"])


# Figure 4: `laplace`


def by_eta(laplace, values):
    return laplace.pivot(index=["prior", "epsilon"], columns="eta", values=values)


def by_prior(laplace):
    rows = laplace[laplace["eta"] < 100]
    return rows.pivot(index=["eta", "epsilon"], columns="prior", values="exact_rad")


def attack_reaches_bound(laplace):
    rows = laplace[(laplace["eta"] < 100) & (laplace["rad_se"] > 0)].set_index(["prior", "eta", "epsilon"])
    return pd.DataFrame({"value": rows["rad"] - rows["exact_rad"], "se": rows["rad_se"]})


# Figures 5 and 6: `audits`


def middle(audits):
    """Return the medians of five runs, because the inversion of a single run may be infinite."""
    return audits.groupby(["protocol", "m", "epsilon"], sort=False).median(numeric_only=True)


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
