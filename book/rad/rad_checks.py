"""Compare the pages on reconstruction advantage with the printed numbers of the paper; each function returns a scoreboard."""

import math

import numpy as np
import pandas as pd
import scipy
from gaussian_accounting import gaussian_sigma

from ldpbook import paper_values
from ldpkit.attacks.reconstruct import finite_distribution, rad_exact
from ldpkit.auditors import calibrate
from ldpkit.auditors.rad import PROTOCOLS, rad_audit, rad_uniform
from ldpkit.auditors.rad_bounds import rero_eq3, tradeoff_laplace
from ldpkit.mechanisms import OUE
from ldpkit.rng import generator

OTHER = "Other data: the paper's census and hospital records cannot be passed on."
COMPARED = {
    ("acs", "race"): "Census",
    ("acs with area", "race"): "Census",
    ("acs, Texas", "Hispanic"): "Texas",
    ("adult", "race"): "Census",
    ("adult", "sex"): "Texas",
}
"""The data set of the paper next to which the success on each of our data sets is shown."""


def check_table1(table):
    """Show the successes of Table 1 next to ours, which concern other people."""
    board = paper_values.Scoreboard("rad/table1", how="stored run")
    for (data, sensitive), paper in COMPARED.items():
        runs = table[(table["data"] == data) & (table["sensitive"] == sensitive)]["rero"]
        board.add(
            f"ReRo, {data} {sensitive}, beside {paper}",
            "mean",
            runs.mean(),
            runs.std() / len(runs) ** 0.5,
            published=paper_values.lookup("rad", "table1", "ReRo", paper),
            published_error=0.005,
            kind="own stand-in",
            note=OTHER,
        )
    return board


def check_fig1(both, names, *, m, delta, accounting, reports, seed):
    """Compare the closed forms of Figure 1 with sums over all reports, and both with attacks on real outputs.

    `both` returns Theorem 4.2 and Theorem 4.3 for a mechanism and an epsilon. The result is the scoreboard and two tables to
    show.
    """
    board, uniform, shown, found = paper_values.Scoreboard("rad/fig1", how="closed form"), np.full(m, 1 / m), [], []
    for e in (0.5, 1, 2, 5, 10):
        for name in PROTOCOLS:
            exact = rad_exact(finite_distribution(PROTOCOLS[name](m, e)), uniform)
            worst, ours = both(name, e)
            board.add(f"{name}, Theorem 4.3", e, ours, exact=exact)
            shown.append({"mechanism": name, "ε": f"{e:g}", "Theorem 4.2": worst, "this run": ours, "exact": exact})
    board.add("OUE at epsilon 30 against its limit (m-1)/(2m)", m, rad_uniform(OUE(m, 30.0)), exact=(m - 1) / (2 * m))
    for name, e in [(name, e) for name in names for e in (1.0, 5.0)]:
        if name in PROTOCOLS:
            success = rad_audit(PROTOCOLS[name](m, e), trials=reports // m, seed=seed, faithful=True).rates["success_rate"]
        else:
            rng, truth = generator(seed, "figure 1", name, e), np.arange(reports) % m
            scale = 1 / e if name == "Laplace" else gaussian_sigma(e, 1, delta, accounting=accounting)
            noise = rng.laplace(0, scale, reports) if name == "Laplace" else rng.normal(0, scale, reports)
            success = np.mean(np.rint(truth + (m - 1) * noise).clip(0, m - 1) == truth)
        exact = rad_exact(finite_distribution(PROTOCOLS[name](m, e)), uniform) if name in PROTOCOLS else both(name, e)[1]
        se = (success * (1 - success) / reports) ** 0.5
        board.add(f"{name}, attacked", e, success - 1 / m, se, exact=exact, how="real reports")
        found.append({"mechanism": name, "ε": f"{e:g}", "this run": success - 1 / m, "± se": se, "exact": exact})
    return board, pd.DataFrame(shown), pd.DataFrame(found)


def rero_epsilon(risk, m):
    """Return the budget of the Laplace mechanism by the bound of the success (Equation 3, Figure 2) for a success in (1/m, 1)."""
    return scipy.optimize.brentq(lambda e: rero_eq3(tradeoff_laplace(e), 1 / m) - risk, 0, 700, xtol=1e-13)


def check_fig2(*, reports, seed):
    """Compare Example 5.5, and Equation 3 with its closed form; attack calibrated protocols and compare their risk with the
    accepted one.

    Return the scoreboard and a table of the errors by three rules, for ten candidates.
    """
    board, rows = paper_values.Scoreboard("rad/fig2", how="closed form"), []
    board.add(
        "Example 5.5, sigma by the printed rule",
        "m=10, risk=0.1, T=100",
        calibrate("dpsgd", 0.1, 10, steps=100).printed,
        published_error=0.5,
        published=paper_values.lookup("rad", "ex5.5", "sigma"),
        kind="claim in words",  # a number of an example, not of the figure
    )
    for g in (0.15, 0.2, 0.3, 0.5, 0.8):
        exact = [calibrate("laplace", x, 10).epsilon for x in (g - 0.1, g)]
        by = [math.log(20) / e for e in (rero_epsilon(g, 10), *exact)]
        closed = math.log(20) / math.log(10 * g) if g < 0.5 else -math.log(20) / math.log(0.4 * (1 - g))
        board.add("error by Equation 3", g, by[0], exact=closed)
        names = ("success, Eq. 3", "success, exact", "advantage, exact")
        gains = {"gain": by[0] / by[2], "of it: geometry": by[0] / by[1], "of it: baseline": by[1] / by[2]}
        rows.append({"risk": g} | dict(zip(names, by)) | gains)
    for name, g in [(name, g) for name in ("grr", "oue") for g in (0.05, 0.2, 0.4)]:
        client = PROTOCOLS[name.upper()](10, calibrate(name, g, 10).epsilon)
        found = rad_audit(client, trials=reports // 10, seed=seed, faithful=True)
        s = found.rates["success_rate"]
        se = (s * (1 - s) / found.total) ** 0.5
        board.add(f"{name.upper()}, calibrated and attacked", g, s - 0.1, se, exact=g, how="real reports")
    return board, pd.DataFrame(rows)
