"""Compare the pages on reconstruction advantage with the printed numbers of the paper, and draw Figure 3.

Each function ``check_...`` returns a scoreboard, or several.
"""

import math

import dpsgd
import numpy as np
import pandas as pd
import scipy
from gaussian_accounting import gaussian_epsilon, gaussian_sigma

from ldpbook import paper_values, plots
from ldpkit import stats
from ldpkit.attacks.base import success_rate
from ldpkit.attacks.reconstruct import attack_value, finite_distribution, rad_exact
from ldpkit.auditors import calibrate
from ldpkit.auditors.rad import PROTOCOLS, RADAudit, rad_uniform
from ldpkit.auditors.rad_bounds import rero_eq3, tradeoff_laplace
from ldpkit.mechanisms import ASS, GRR, OUE, FloorSS
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
    """Show the successes of Table 1 next to ours, which concern other people, and its advantages next to their definition."""
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
    law = finite_distribution(GRR(4, 1.0))
    # the side knowledge decides the guess, no output does
    blind = np.broadcast_to(np.eye(4)[[0, 0, 2, 2], :, None], (4, *law.shape))
    _, advantage = attack_value(blind, law, np.full(4, 0.25), side=range(4))
    for paper in ("Census", "Texas"):
        board.add(
            f"RAD, {paper}",
            "every run",
            round(advantage, 12),
            published=paper_values.lookup("rad", "table1", "RAD", paper),
            how="closed form",
            kind="printed number",
            definition=True,
            note="A guess that ignores the output has no advantage, whatever the data.",
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
            success = RADAudit(PROTOCOLS[name](m, e), trials=reports // m, faithful=True).run(seed)[0].rates["success_rate"]
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
        found = RADAudit(client, trials=reports // 10, faithful=True).run(seed)[0]
        s = found.rates["success_rate"]
        se = (s * (1 - s) / found.total) ** 0.5
        board.add(f"{name.upper()}, calibrated and attacked", g, s - 0.1, se, exact=g, how="real reports")
    return board, pd.DataFrame(rows)


def estimate_sd(mechanism, reports):
    """Return the standard deviation of `ldpkit.auditors.rad.invert_known` at so many reports, to first order.

    The derivative of SS is taken at a fixed subset size, that is, without the jumps.
    """
    own = [mechanism.omega] if isinstance(mechanism, FloorSS) else []
    make, ends = ASS if own else type(mechanism), [max(mechanism.epsilon - 1e-4, 1e-6), mechanism.epsilon + 1e-4]
    s, *near = (success_rate(m) for m in (mechanism, *(make(mechanism.k, epsilon, *own) for epsilon in ends)))
    return math.sqrt(s * (1 - s) / reports) / ((near[1] - near[0]) / (ends[1] - ends[0]))


def draw_fig3(found, panel):
    """Return the points of Figure 3: success, advantage and their bounds, for each noise multiplier and each adversary's
    knowledge.
    """
    look = {"panel": panel, "x": "ε"}
    said = {"bound of the success (Eq. 3)": "ReRo bound", "bound of the advantage, printed": "printed"}
    drawn = [plots.tidy(found, series="bound of the advantage, valid", sources={"exact": "valid"}, claim=said, **look)]
    for what, column in {"success": "rero", "advantage, posterior": "posterior", "advantage, counted": "counted"}.items():
        twice = found.assign(error=2 * found[f"{column}_se"])
        drawn.append(plots.tidy(twice, series=what, sources={"this run, real reports": (column, "error")}, **look))
    return pd.concat(drawn, ignore_index=True)


def check_fig3(mnist):
    """Compare Figure 3: the epsilons of the axis, and the success that the text mentions."""
    board = paper_values.Scoreboard("rad/fig3", how="stored run")
    for s in dpsgd.SIGMA:
        board.add(
            "epsilon of the axis, by Rényi orders",
            s,
            gaussian_epsilon(s, steps=100, delta=1e-5, accounting="rdp"),
            published_error=1e-7,
            published=paper_values.lookup("rad", "fig3", "noise_multiplier_to_eps", f"{s:g}"),
            how="released code",
            kind="printed number",
        )
    low = mnist[(mnist["knows"] == "the record") & (mnist["ε"] <= 4)]
    for rule, prefix in (("exact attack", ""), ("attack of the script", "dot ")) if len(low) else ():
        board.add(
            f"largest ReRo knowing the record, eps <= 4, {rule}",
            "MNIST",
            low[f"{prefix}rero"].max(),
            low[f"{prefix}rero_se"].max(),
            published=paper_values.lookup("rad", "fig3c_text", "MIA_ReRo above"),
            relation=">=",
            kind="own stand-in",
            note="Said of some budgets up to 4, and smaller where the noise is strong; the paper's eight images are not known.",
        )
    advantage = mnist.assign(mean=mnist["posterior"], se=mnist["posterior_se"], exact=np.nan)
    board.add_cells(advantage, "RAD, MNIST, knows {knows}", "σ")
    return board


def shown_fig3(board):
    """Return the comparisons of a board with published numbers, as a table for the page."""
    said = board.table().dropna(subset=["published"]).replace({"verdict": paper_values.SAID})
    said["x"] = [x if isinstance(x, str) else f"{x:g}" for x in said["x"]]
    return said[["series", "x", "published", "reproduced", "verdict", "note"]]


def check_fig4(table, priors, *, runs):
    """Compare Figure 4: simulated advantages with exact ones, and the paper's statements about two tolerances."""
    board = paper_values.Scoreboard("rad/fig4", how="real reports")
    one = {name: prior.max() / runs for name, prior in priors.items()}  # one outcome: the resolution of a run
    for row in table.to_dict("records"):
        se = np.hypot(row["rad_se"], one[row["prior"]]) if row["eta"] < 100 else 1e-12
        board.add(f"RAD, {row['prior']}, eta={row['eta']}", row["epsilon"], row["rad"], se, exact=row["exact_rad"])
    if (table["eta"] == 100).any():
        least, said = table[table["eta"] == 100]["exact_rero"].min(), paper_values.lookup("rad", "fig4_text", "ReRo")
        rounding = {"published_error": 1e-12}  # rounding error of a sum of a hundred numbers
        board.add(
            "ReRo at eta = 100",
            "every epsilon",
            least,
            published=said,
            how="closed form",
            kind="claim in words",
            definition=True,
            **rounding,
        )  # every guess is a success
    board.add(
        "eta of the largest RAD, of those plotted",
        "eta",
        int(table.groupby("eta")["exact_rad"].mean().idxmax()),
        published=paper_values.lookup("rad", "fig4_text", "eta_of_largest_RAD"),
        how="closed form",
        kind="claim in words",
        note="other tolerances were chosen on this page",
    )
    return board


def shown_fig4(table, epsilon):
    """Return the rows of the middle budget, as a table for the page."""
    middle = table[np.isclose(table["epsilon"], sorted(epsilon)[len(epsilon) // 2])]
    short = {"prior": "prior", "eta": "η", "epsilon": "ε", "rad": "advantage", "exact_rad": "exact", "rero": "success"}
    short |= {"exact_rero": "exact success", "bayes": "Bayes", "bound": "bound"}
    return middle.round(9).assign(epsilon=middle["epsilon"].map("{:g}".format)).rename(columns=short)[list(short.values())]


def check_fig5(table, *, sizes, epsilon, real, alpha, faithful, seed):
    """Compare Figures 5 and 6 with exact values, with further audits of real reports, and with the limit in the text."""
    boards = {
        item: paper_values.Scoreboard(f"rad/{item}", how="real reports" if faithful else "sampled from exact rates")
        for item in ("fig5", "fig6")
    }
    for (name, m, e), rows in table.groupby(["protocol", "m", "epsilon"], sort=False):
        s, n = rows["exact_rad"].iloc[0] + 1 / m, rows["trials"].sum()
        boards["fig6"].add(f"{name}, m={m}", e, rows["rad"].mean(), math.sqrt(s * (1 - s) / n), exact=s - 1 / m)
        if (sd := estimate_sd(PROTOCOLS[name](m, e), int(n))) < 0.05:  # where the first order suffices
            boards["fig5"].add(f"{name} known, m={m}", e, rows["known"].mean(), sd, exact=e)
    for name, e in [(name, e) for name in PROTOCOLS for e in sorted({min(epsilon), 8, 12})]:
        made = RADAudit(PROTOCOLS[name](sizes[0], e), trials=real // sizes[0], alpha=alpha, faithful=True).run(seed)[0]
        s = rad_uniform(PROTOCOLS[name](sizes[0], e)) + 1 / sizes[0]
        error = math.sqrt(s * (1 - s) / made.total)
        chance = scipy.stats.binomtest(made.counts["successes"], made.total, s).pvalue
        found = {"exact": s - 1 / sizes[0], "how": "real reports", "chance": chance}
        boards["fig6"].add(f"{name}, m={sizes[0]}, every report made", e, made.rates["advantage"], error, **found)
    boards["fig5"].add(
        "largest value of LDP-Auditor, GRR and SS",
        "T=1e6",
        stats.epsilon_ceiling(10**6, tail=0.01 / 4),
        how="closed form",
        kind="claim in words",
        published_error=0.005,
        published=paper_values.lookup("rad", "fig5_text", "LDP_Auditor_cap_GRR_SS"),
        note="LDP-Auditor prints 12.025; 12.25 may be a slip of our copy: see the errata, reconstruction advantage 12.",
    )
    return boards


def shown_fig5(table, epsilon):
    """Return the results of the audits of one domain size at a few budgets, as a table for the page."""
    columns = {"known": ("known", "mean"), "low": ("low", "first"), "high": ("high", "first"), "unknown": ("eq12", "mean")}
    columns |= {"limit": ("exact_blackbox", "first"), "valid": ("lower", "mean"), "LDP-Auditor": ("exact_ldp_auditor", "first")}
    shown = table.groupby(["protocol", "epsilon"], sort=False).agg(**columns).reset_index()
    shown = shown[shown["epsilon"].isin([e for e in (1, 5, 9, 12, 15, 19) if e in epsilon] or epsilon)]
    return shown.assign(epsilon=shown["epsilon"].map("{:g}".format)).rename(columns={"epsilon": "ε"})
