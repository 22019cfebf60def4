"""Comparisons of the pages of LDP-SGD with what the paper prints; each returns a scoreboard of its figure."""

from ldpbook import paper_values


def check_fig3(reversals, *, draws):
    """Compare Figure 3: the shares of reports that point away from the gradient."""
    board = paper_values.Scoreboard("ldp_sgd/fig3", how="real reports")
    for row in reversals.to_dict("records"):
        e, exact = row["epsilon"], row["exact"]
        known = e in (0.5, 4)
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
    for row in rates.to_dict("records"):
        error = (row["exact"] * (1 - row["exact"]) / row["trials"]) ** 0.5
        board.add(f"{row['adversary']}, {row['rate']}", row["epsilon"], float(row["found"]), error, exact=row["exact"])
    return board
