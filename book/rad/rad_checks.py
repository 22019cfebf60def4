"""Comparisons of the pages of the reconstruction advantage with what the paper prints; each returns a scoreboard of its page."""

from ldpbook import paper_values

OTHER = "Other data: the paper's census and hospital records cannot be passed on."
COMPARED = {
    ("acs", "race"): "Census",
    ("acs with area", "race"): "Census",
    ("acs, Texas", "Hispanic"): "Texas",
    ("adult", "race"): "Census",
    ("adult", "sex"): "Texas",
}
"""The data set of the paper next to which a success is shown, for each of ours."""


def check_table1(table):
    """Show the successes of Table 1 next to ours, which are of other people."""
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
