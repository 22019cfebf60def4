"""Compare the pages of LDP-SGD with the printed numbers of the paper; each function returns a scoreboard of its figure."""

import numpy as np
import pandas as pd

from ldpbook import paper_values
from ldpkit.auditors.shuffle import least_clients


def check_fig3(reversals, *, draws):
    """Compare Figure 3: the shares of reports that point away from the gradient, which do not depend on the dimension."""
    board = paper_values.Scoreboard("ldp_sgd/fig3", how="real reports")
    for row in reversals.assign(first=~reversals.duplicated("epsilon")).to_dict("records"):
        e, exact = row["epsilon"], row["exact"]
        known = row["first"] and row["epsilon"] in (0.5, 4)
        paper = paper_values.lookup("ldp_sgd", "fig3", "sign reversal probability (approx.)", f"eps={e:g}") if known else None
        board.add(
            f"sign reversal, d={row['d']}",
            e,
            row["turned"],
            (exact * (1 - exact) / draws) ** 0.5,
            published=paper,
            published_error=0.005 if e < 1 else 0.0005,
            exact=exact,
        )
    return board


def check_fig9(rates):
    """Compare Figure 9: the error rates of the cosine rule with their exact values."""
    board = paper_values.Scoreboard("ldp_sgd/fig9", how="real reports")
    error = (rates["exact"] * (1 - rates["exact"]) / rates["trials"]) ** 0.5
    board.add_cells(rates.assign(mean=rates["found"].astype(float), se=error), "{adversary}, {rate}")
    return board


def said_fig8(names, epsilon):
    """Return the paper's statements about cells of Figure 8: item, series, adversary, stand-in, budget and rounding."""
    said = [
        ("fig8a", "CIFAR-10 benign eps_emp", "benign", names[0], 4, 0.005),
        ("fig8b", "Sent140 label flip eps_emp", "random", names[3], 4, 0.005),
        ("fig8c", "FEMNIST gradient flip eps_emp", "gradient flip", names[1], 4, 0.005),
    ]
    said += [("fig8d", "collusion reaches eps0 (all data sets)", "collusion", name, e, 0) for name in names for e in epsilon]
    return said + [("fig8e", "dummy reaches eps0", "dummy", name, e, 0) for name in names for e in epsilon]


def compared_fig8(cells, names, epsilon):
    """Return each statement about a cell of this run: its series, the row of the cell, the rounding, and the published value.

    That the dummy gradient reaches the guarantee is one statement about all cells, and is compared at the furthest of them.
    """
    found = []
    for item, series, adversary, name, budget, error in said_fig8(names, epsilon):
        here = cells[
            (cells["adversary"] == adversary) & (cells["name"] == name) & (cells["epsilon"] == budget) & cells["mean"].notna()
        ]
        if len(here) and budget in (0.5, 1, 2, 4):
            found.append((series, here.iloc[0], error, paper_values.lookup("ldp_sgd", item, series, f"eps0={budget:g}")))
    others, reach = ([one for one in found if (one[1]["adversary"] == "dummy") == dummy] for dummy in (False, True))
    return others + sorted(reach, key=lambda one: one[1]["exact"] / one[1]["epsilon"])[:1]


def check_fig8(cells, names, epsilon, *, trials):
    """Compare Figure 8: means with their exact expectations, and a few of them with the paper's numbers."""
    board = paper_values.Scoreboard("ldp_sgd/fig8", how="real reports")
    board.add_cells(finite(cells), "{adversary}, {name}")
    other = "A stand-in for the paper's data: another network, another stage of training."
    for series, row, error, value in compared_fig8(cells, names, epsilon):
        dummy = row["adversary"] == "dummy"
        board.add(
            f"{series}: {row['name']}",
            row["epsilon"],
            row["mean"],
            row["se"],
            published=value if trials == 1_000 else None,
            published_error=error,
            exact=row["exact"],
            relation="=" if error else ">=",
            note="" if dummy else other,  # two fixed vectors: no data, and the distribution is the same in any dimension
            kind="own stand-in" if not dummy and trials == 1_000 else None,
        )
    return board


def shown_fig8(board, cells, names, epsilon):
    """Return the comparisons at a budget of 4, and that of the dummy gradient, as a table for the page."""
    verdicts = {(row.series, row.x): paper_values.SAID[row.verdict] for row in board.table().itertuples()}
    lines = [
        {
            "the paper": series,
            "here": row["name"],
            "budget": f"{row['epsilon']:g}",
            "paper": value,
            "this run": row["mean"],
            "exact expectation": row["exact"],
            "without sampling noise": row["limit"],
            "verdict": verdicts[f"{series}: {row['name']}", row["epsilon"]],
        }
        for series, row, _, value in compared_fig8(cells, names, epsilon)
        if row["epsilon"] == 4 or row["adversary"] == "dummy"
    ]
    return pd.DataFrame(lines)


def finite(cells):
    """Return the cells with a mean and an expectation, that is, those whose measurements were not all infinite."""
    return cells.dropna(subset=["mean", "exact"])


def check_means(figure, cells, series, x="epsilon"):
    """Compare the means of a figure with their exact expectations."""
    board = paper_values.Scoreboard(f"ldp_sgd/{figure}", how="real reports")
    board.add_cells(finite(cells), series, x)
    return board


def check_fig7(seconds, *, trials):
    """Compare Figure 7: the seconds of the dummy adversary with those of the paper, which used another machine."""
    board = paper_values.Scoreboard("ldp_sgd/fig7", how="timing")
    if trials == 1000:
        board.add(
            "dummy, seconds for 1000 trials",
            1000,
            seconds,
            published=paper_values.lookup("ldp_sgd", "fig7a", "dummy seconds for K trials"),
            relation="<=",
            kind="own stand-in",
            note="Another machine and another network.",
        )
    return board


def rows_table3(runs, measurements):
    """Return Table 3 with the paper's numbers, this run and exact values, in one row for each budget and number of clients."""
    said, rows = paper_values.load("ldp_sgd").query("item == 'table3'").set_index(["series", "x"])["value"], []
    for (e, n), found in runs.items():
        one = found[0]
        theory, measured = (said.get((f"{kind}_eps eps0={e}", str(n))) for kind in ("theoretical", "measured"))
        rows.append(
            {
                "ε₀": e,
                "n": n,
                "theory, paper": theory,
                "theory": one.claim,
                "measured, paper": measured,
                "measured here": np.mean([r.epsilon_emp for r in found]),
                "its expectation": one.exact,
                "its sd": one.exact_sd / measurements**0.5,
                "without sampling noise": one.limit,
                "tight, this pair": one.evidence["tight"],
                "upper bound, all pairs": one.evidence["upper"],
            }
        )
    return pd.DataFrame(rows).astype({"theory, paper": float, "measured, paper": float})


def readings_table3(shown, measurements):
    """Return for each thing that a printed measurement may be whether the six agree with their expectations.

    They are judged by their sum, because a single one scatters as widely as it is large.
    """
    apart = abs((shown["measured, paper"] - shown["its expectation"]).sum()) - 0.005 * len(shown)  # all rounded the same way
    error = ((shown["its sd"] ** 2).sum() * measurements) ** 0.5
    return {
        what: bool(apart <= 5 * error / n**0.5) for what, n in (("a single measurement", 1), ("the mean of ten measurements", 10))
    }


def check_table3(shown, *, delta, trials, measurements):
    """Compare Table 3: the theory and the required clients with the printed numbers, the measurement with its expectation.

    The paper leaves open what its measurements are. They are compared under both readings, if this run has all six.
    """
    board = paper_values.Scoreboard("ldp_sgd/table3", how="closed form")
    same = trials == 1_000 and shown["measured, paper"].notna().sum() == 6
    readings = readings_table3(shown.dropna(subset="measured, paper"), measurements)
    for row in shown.dropna(subset="theory, paper").to_dict("records") if delta == 1e-6 else ():
        e, n, theory = row["ε₀"], row["n"], row["theory, paper"]
        board.add(
            f"theory, n={n}",
            e,
            row["theory"],
            kind="printed number",
            published=theory,
            published_error=0.05 if theory > 1 else 0.005,
            note="Cut off, not rounded: see the errata, LDP-SGD 1." if (e, n) == (1, 1000) else "",
        )
        board.add(
            f"measured, n={n}",
            e,
            row["measured here"],
            row["its sd"],
            exact=row["its expectation"],
            how="sampled from exact rates",
            kind="printed number" if same else None,
            published=row["measured, paper"] if same else None,
            published_error=0.005,
            readings=readings,
            note="All six are judged together, because one alone scatters as widely as it is large." if same else "",
        )
    for e in (1, 2, 4):
        printed = paper_values.lookup("ldp_sgd", "table3", "required_clients", f"eps0={e}")
        board.add("clients required", e, least_clients(e), published=printed, kind="printed number")
    return board


def add_real_batches(board, real, exact, *, budget, clients, half):
    """Add the error rates of one cell with real reports to a board, each with its exact rate."""
    for (what, k), r in zip(real.counts.items(), exact):
        error = np.sqrt(r * (1 - r) / half)
        board.add(f"real batches, {what}, n={clients}", budget, k / half, error, exact=r, how="real reports")


def shown_table3(board):
    """Return the rows of a board that compare with a printed number, as a table for the page."""
    said = board.table().dropna(subset=["published"])
    numbers = {name: said[name].map("{:,.4g}".format) for name in ("published", "reproduced")}
    said = said.assign(**numbers, verdict=said["verdict"].map(paper_values.SAID))
    return said[["series", "x", "published", "reproduced", "verdict", "note"]]


def check_cifar10(cells):
    """Compare the stored run on photographs with what the paper prints of Figure 8 for CIFAR-10; also return the comparisons in words."""
    board = paper_values.Scoreboard("ldp_sgd/fig8", how="stored run")
    other = "4,000 real images of the paper's 60,000, and a smaller network with its own course of training."
    said = [("fig8a", "CIFAR-10 benign eps_emp", "benign", 4, 0.005)]
    said += [("fig8d", "collusion reaches eps0 (all data sets)", "collusion", e, 0) for e in (0.5, 1, 2, 4)]
    lines = []
    for item, series, adversary, e, error in said:
        row = cells[(cells["adversary"] == adversary) & (cells["epsilon"] == e)].iloc[0]
        value = paper_values.lookup("ldp_sgd", item, series, f"eps0={e:g}")
        board.add(
            f"{series}: 4,000 real images",
            e,
            row["mean"],
            row["se"],
            published=value,
            published_error=error,
            exact=row["exact"],
            relation="=" if error else ">=",
            note=other,
            kind="own stand-in",
        )
        lines.append(
            {
                "the paper": series,
                "budget": f"{e:g}",
                "paper": value,
                "stored run": row["mean"],
                "exact expectation": row["exact"],
                "without sampling noise": row["limit"],
                "verdict": paper_values.SAID[board.table()["verdict"].iloc[-1]],
            }
        )
    rest = cells[~cells["adversary"].isin(["benign", "collusion"])].drop(columns="faithful")  # of a stored run
    board.add_cells(finite(rest), "{adversary}")
    return board, pd.DataFrame(lines)
