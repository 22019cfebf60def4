"""What a build found beside what the release found: other machines and other versions should come to the same conclusions.

``data/expected_scoreboard.csv`` has every comparison of the release's book at the papers' own scale: its verdict, our value, and
a tolerance of five standard errors of the difference of two runs. Seeds are fixed, so that on equal machines nothing moves at all;
on another one, where draws may part, a row leaves its tolerance by chance once in two million, and any of 15,000 rows once in a
hundred builds. Values without a standard error are computed, not drawn, and may move by a millionth of themselves. Times are left out.
"""

import sys

import numpy as np
import pandas as pd

from . import execute, paths

KEY = ["item", "series", "x"]
SIGMAS, EXACT = 5 * np.sqrt(2), 1e-6


def stored(board: pd.DataFrame) -> pd.DataFrame:
    """The part of a scoreboard that another build is held to."""
    board = board[board["how"] != "timing"]
    drawn = board["reproduced_se"].fillna(0) * SIGMAS
    tolerance = np.maximum(drawn, EXACT * board["reproduced"].abs())
    return board[[*KEY, "verdict", "reproduced"]].assign(tolerance=tolerance)


def differences(board: pd.DataFrame, release: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Rows of a scoreboard that are not as in the release's: by what is different."""
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
    """Lines that say how the scoreboard of this build compares with the release's."""
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
    """Keep the scoreboard and the claims of a whole build at the papers' own scale as what other builds are held to."""
    project = execute.Project(paths.ROOT)
    if not execute.whole(project):
        sys.exit("Only a whole build at the papers' own scale can be held up to others: run `make book` before")
    execute.deliver(project)
    kept = {"scoreboard": stored(pd.read_csv(project.build / "scoreboard.csv")),
            "claims": pd.read_csv(project.build / "claims.csv")[["id", "verdict"]]}  # fmt: skip
    for name, table in kept.items():
        execute._write(project.root / execute.EXPECTED[name], table.to_csv(index=False, float_format="%.7g").encode())
        print(f"{len(table):,} rows are kept in {execute.EXPECTED[name]}")
