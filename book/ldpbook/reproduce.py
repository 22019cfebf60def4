"""Build the book twice, from two clones in folders with different names and with one and two notebooks at a time, and compare.

Every file that the two sites consist of, the executed notebooks and the tables of comparisons, claims and figures have to be
equal byte for byte, but for the page that says when and how long, the figure whose subject is time, and the pages on which
released clients draw from the operating system, as they do for their users: there is no seed to give them.
"""

import argparse
import filecmp
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from . import paths

TIMES = ("html/book/execution.html", "html/_sources/book/execution.md")
"""What says when this build was made, and how long that took."""
MEASURED = ("book/ldp_sgd/fig7",)
"""Pages that measure times: that is what the paper's figure shows."""
SEEDLESS = tuple(f"book/released/{name}" for name in ("index", "pure_ldp", "opendp_bool", "opendp_bits", "diffprivlib"))
"""Pages whose clients draw from the operating system."""
FOLLOWING = ("html/_papers/ldp_sgd.zip", "released.csv", "html/searchindex.js")
"""What such pages are put into."""
WORK = ("executed/**/*.ipynb", "executed/**/*.csv", "*.csv", "html/**/*")


def files(build: Path) -> set[str]:
    """What a build delivers, by name."""
    return {path.relative_to(build).as_posix() for pattern in WORK for path in build.glob(pattern) if path.is_file()}


def differences(first: Path, second: Path) -> tuple[int, list[str]]:
    """How many files two builds have in common, and which of all differ or are in one of them alone."""
    both = files(first) & files(second)
    alone = files(first) ^ files(second)
    unequal = {name for name in both if not filecmp.cmp(first / name, second / name, shallow=False)}
    return len(both), sorted(alone | unequal)


def excused(builds: tuple[Path, ...], names: list[str]) -> set[str]:
    """Those of the unequal files that may be: the pages above, what they are put into, and what they alone show."""
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


def build(root: Path, commit: str, place: Path, scale: str, jobs: int) -> Path:
    """Clone one commit of `root` to `place` and build its book there, with stores and caches of its own."""
    subprocess.run(["git", "clone", "-q", "--no-hardlinks", str(root), str(place)], check=True)
    subprocess.run(["git", "checkout", "-q", "--detach", commit], cwd=place, check=True)
    own = {"XDG_CACHE_HOME": str(place / "_build" / "cache"), "NUMBA_CACHE_DIR": str(place / "_build" / "numba")}
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")} | own
    start = time.perf_counter()
    done = subprocess.run(
        ["make", "book", f"SCALE={scale}", f"JOBS={jobs}"], cwd=place, env=environment, capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(f"{done.stdout[-3000:]}{done.stderr[-3000:]}\nThe book could not be built in {place}")
    print(f"built     {place.name} with {jobs} at a time in {(time.perf_counter() - start) / 60:.1f} minutes", flush=True)
    return place / "_build"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--scale", default="paper", help="paper, or a file of book/scales")
    options = parser.parse_args()
    root = paths.ROOT
    place = root / "_build" / "reproduce"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, check=True, capture_output=True, text=True).stdout.strip()
    first = build(root, commit, place / "one", options.scale, 1)
    second = build(root, commit, place / "another folder, with a longer name", options.scale, 2)
    common, unequal = differences(first, second)
    allowed = excused((first, second), unequal)
    for name in unequal:
        print(f"{'may differ' if name in allowed else 'DIFFERS   '}  {name}")
    wrong = [name for name in unequal if name not in allowed]
    print(
        f"{common} files in both, {len(unequal)} unequal, {len(wrong)} of them should not be; they stay in {os.path.relpath(place)}"
    )
    sys.exit(bool(wrong))
