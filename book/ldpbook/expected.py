"""Compare the results of a build with those of the release, because other machines and versions should reach the same
conclusions.

``data/expected_scoreboard.csv`` holds every comparison of the release's book at the papers' own scale. Each row has its verdict,
our value, and a tolerance of five standard errors of the difference of two runs. Seeds are fixed, so that nothing changes on
equal machines. On another machine random numbers may differ. Then one row leaves its tolerance by chance once in two million
builds, and any of 15,000 rows once in a hundred builds. Values without a standard error are computed, and may change by a
millionth of themselves. Times are left out.
"""

import sys

import numpy as np
import pandas as pd

from . import execute, paths

KEY = ["item", "series", "x"]
SIGMAS, EXACT = 5 * np.sqrt(2), 1e-6


def stored(board: pd.DataFrame) -> pd.DataFrame:
    """Return the part of a scoreboard with which other builds are compared."""
    board = board[board["how"] != "timing"]
    drawn = board["reproduced_se"].fillna(0) * SIGMAS
    tolerance = np.maximum(drawn, EXACT * board["reproduced"].abs())
    return board[[*KEY, "verdict", "reproduced"]].assign(tolerance=tolerance)


def differences(board: pd.DataFrame, release: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the rows of a scoreboard that differ from the release's, grouped by what is different."""
    both = release.merge(
        board.loc[board["how"] != "timing", [*KEY, "verdict", "reproduced"]],
        on=KEY,
        how="outer",
        suffixes=("", "_here"),
        indicator=True,
    )
    there = both[both["_merge"] == "both"]
    near = (there["reproduced"] - there["reproduced_here"]).abs() <= there["tolerance"]
    same = there["reproduced"].isna() & there["reproduced_here"].isna()
    return {
        "another verdict": there[there["verdict"] != there["verdict_here"]],
        "a value outside its tolerance": there[~(near | same)],
        "missing here": both[both["_merge"] == "left_only"],
        "new here": both[both["_merge"] == "right_only"],
    }


def report(project: execute.Project) -> list[str]:
    """Return lines that report how the scoreboard of this build compares with the release's."""
    path, here = project.root / execute.EXPECTED["scoreboard"], project.build / "scoreboard.csv"
    if not (path.exists() and here.exists()):
        return []
    found = differences(pd.read_csv(here), pd.read_csv(path))
    if not any(map(len, found.values())):
        return ["release    every verdict and every value is as in the release"]
    counts = ", ".join(f"{len(rows):,} {what}" for what, rows in found.items() if len(rows))
    shown = [
        f"           {what}: {row.item} {row.series} {row.x}: {row.verdict} {row.reproduced} there, {row.verdict_here} {row.reproduced_here} here"
        for what, rows in found.items()
        for row in rows.head(3).itertuples()
    ]
    return [f"release    {counts} than in the release's book", *shown]


def main() -> None:
    """Store the scoreboard and the claims of a whole build at the papers' own scale as the results to compare with."""
    project = execute.Project(paths.ROOT)
    if not execute.whole(project):
        sys.exit("Only a whole build at the papers' own scale can be held up to others: run `make book` before")
    execute.deliver(project)
    kept = {"scoreboard": stored(pd.read_csv(project.build / "scoreboard.csv")),
            "claims": pd.read_csv(project.build / "claims.csv")[["id", "verdict"]]}  # fmt: skip
    for name, table in kept.items():
        execute._write(project.root / execute.EXPECTED[name], table.to_csv(index=False, float_format="%.7g").encode())
        print(f"{len(table):,} rows are kept in {execute.EXPECTED[name]}")
