"""Compare the results of builds: of two folders with one commit (`release.twice`), and of a build with those of the release.

All files of the two sites, the executed notebooks and the tables of comparisons, claims and figures must be equal byte for byte.
Three sorts of pages are excepted. One page reports when and how long the build ran, and one figure has times as its subject. Some
pages audit released clients that draw from the operating system, as they do for their users, and therefore take no seed.

Other machines and versions should reach the same conclusions as the release.
``data/expected_scoreboard.csv`` holds every comparison of the release's book at the papers' own scale. Each row has its verdict,
our value, and a tolerance of five standard errors of the difference of two runs. Seeds are fixed, so that nothing changes on
equal machines. On another machine random numbers may differ. Then one row leaves its tolerance by chance once in two million
builds, and any of 15,000 rows once in a hundred builds. Values without a standard error are computed, and may change by a
millionth of themselves. Times are left out.
"""

import filecmp
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from ldpkit import digests

from . import execute, paths

TIMES = ("html/book/execution.html", "html/_sources/book/execution.md")
"""Pages that report when this build was made, and how long it took."""
MEASURED = ("book/ldp_sgd/fig7",)
"""Pages that measure times, because the paper's figure shows times."""
SEEDLESS = tuple(f"book/released/{name}" for name in ("index", "pure_ldp", "opendp_bool", "opendp_bits", "diffprivlib"))
"""Pages whose clients draw from the operating system, which takes no seed."""
FOLLOWING = ("html/_papers/ldp_sgd.zip", "released.csv", "html/searchindex.js")
"""Files that contain parts of such pages."""
WORK = ("executed/**/*.ipynb", "executed/**/*.csv", "*.csv", "html/**/*")


KEY = ["item", "series", "x"]
SIGMAS, EXACT = 5 * np.sqrt(2), 1e-6


def files(build: Path) -> set[str]:
    """Return the names of all files of a build that are compared."""
    return {path.relative_to(build).as_posix() for pattern in WORK for path in build.glob(pattern) if path.is_file()}


def differences(first: Path, second: Path) -> tuple[int, list[str]]:
    """Return how many files two builds share, and the names of the files that differ or exist in one build only."""
    both = files(first) & files(second)
    alone = files(first) ^ files(second)
    unequal = {name for name in both if not filecmp.cmp(first / name, second / name, shallow=False)}
    return len(both), sorted(alone | unequal)


def excused(builds: tuple[Path, ...], names: list[str]) -> set[str]:
    """Return the unequal files that are allowed to differ: the pages above, files that contain them, and their own figures."""
    pages = (*MEASURED, *SEEDLESS)
    parts = {f"{folder}{page}{suffix}" for page in pages for folder, suffix in
             (("executed/", ".ipynb"), ("html/_executed/", ".ipynb"), ("html/", ".html"))}  # fmt: skip
    shown = [path.read_text() for b in builds for page in pages if (path := b / "html" / f"{page}.html").exists()]
    own = {
        name
        for name in names
        if name.startswith(("html/_figures/", "html/_images/")) and any(Path(name).stem in s for s in shown)
    }
    return {name for name in names if name in {*TIMES, *FOLLOWING, *parts, *own}}


def stored(board: pd.DataFrame) -> pd.DataFrame:
    """Return the part of a scoreboard with which other builds are compared."""
    board = board[board["how"] != "timing"]
    drawn = board["reproduced_se"].fillna(0) * SIGMAS
    tolerance = np.maximum(drawn, EXACT * board["reproduced"].abs())
    return board[[*KEY, "verdict", "reproduced"]].assign(tolerance=tolerance)


def changes(board: pd.DataFrame, release: pd.DataFrame) -> dict[str, pd.DataFrame]:
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
    found = changes(pd.read_csv(here), pd.read_csv(path))
    if not any(map(len, found.values())):
        return ["release    every verdict and every value is as in the release"]
    counts = ", ".join(f"{len(rows):,} {what}" for what, rows in found.items() if len(rows))
    shown = [
        f"           {what}: {row.item} {row.series} {row.x}: {row.verdict} {row.reproduced} there, {row.verdict_here} {row.reproduced_here} here"
        for what, rows in found.items()
        for row in rows.head(3).itertuples()
    ]
    return [f"release    {counts} than in the release's book", *shown]


def expected() -> None:
    """Store the scoreboard and the claims of a whole build at the papers' own scale as the results to compare with."""
    project = execute.Project(paths.ROOT)
    if not execute.whole(project):
        sys.exit("Only a whole build at the papers' own scale can be held up to others: run `make book` before")
    execute.deliver(project)
    kept = {"scoreboard": stored(pd.read_csv(project.build / "scoreboard.csv")),
            "claims": pd.read_csv(project.build / "claims.csv")[["id", "verdict"]]}  # fmt: skip
    for name, table in kept.items():
        digests.replace(project.root / execute.EXPECTED[name], table.to_csv(index=False, float_format="%.7g"))
        print(f"{len(table):,} rows are kept in {execute.EXPECTED[name]}")
