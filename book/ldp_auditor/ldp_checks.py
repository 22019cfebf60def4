"""Comparisons of the pages of LDP-Auditor with what the paper prints; each returns a scoreboard of its page."""

from ldpbook import paper_values
from ldpkit import stats

ERRATUM = "see the errata, LDP-Auditor 14."


def check_fig2(cell, *, trials, alpha):
    """Compare Figure 2: the limits that the paper prints for two numbers of reports, and its statements in numbers."""
    board = paper_values.Scoreboard("ldp_auditor/fig2")
    board.add_cells(cell)
    for size in (10**6, 10**4):
        printed = paper_values.lookup("ldp_auditor", "eps_OPT", x=size) if alpha == 0.01 else None
        ceiling = stats.epsilon_ceiling(size, tail=alpha / 4)
        board.add("eps_OPT, trials", size, ceiling, how="closed form", published=printed, published_error=0.005)
    blh = cell[(cell["mechanism"] == "BLH") & cell["epsilon"].between(2, 10) & cell["k"].between(25, 200)]  # as in the paper
    private = cell[(cell["mechanism"] != "GRR") & cell["epsilon"].between(0.25, 1)]
    above, high = "claim: eps/eps_emp up to", "claim: eps/eps_emp at most, high privacy"
    statements = [
        ("BLH, from 2 on, below", blh, "", "claim: eps_emp below", "BLH for eps>=2"),
        ("BLH, from 2 on: claimed / empirical, at most", blh, "epsilon", above, "BLH for eps>=2"),
    ]
    statements += [
        (f"k = {k}, up to 1: claimed / empirical, at most", private[private["k"] == k], "epsilon", high, f"all but GRR, k={k}")
        for k in (25, 200)
    ]
    for label, rows, over, item, series in statements:
        board.claim(
            label,
            rows,
            published=paper_values.lookup("ldp_auditor", item, series),
            over=over,
            where="{mechanism}, k = {k:g}, epsilon = {epsilon:g}",
            note=ERRATUM,
            comparable=(trials, alpha) == (1_000_000, 0.01),  # the paper states them for its own number of reports
        )
    return board
