"""Build the book twice, from two clones in folders with different names and with one and two notebooks at a time, and compare.

Every file that the two sites consist of, the executed notebooks and the tables of comparisons, claims and figures have to be
equal byte for byte; only the page that says when and how long may differ, and what the search says about it.
"""

import argparse
import filecmp
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

TIMES = ("html/book/execution.html", "html/_sources/book/execution.md")
"""What says when this build was made, and how long that took."""
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


def build(root: Path, place: Path, scale: str, jobs: int) -> Path:
    """Clone the last commit of `root` to `place` and build its book there, with stores and caches of its own."""
    subprocess.run(["git", "clone", "-q", "--no-hardlinks", str(root), str(place)], check=True)
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
    parser.add_argument("--scale", default="smoke", help="paper, or a file of book/scales")
    options = parser.parse_args()
    root = Path(__file__).resolve().parents[2]
    place = root / "_build" / "reproduce"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    first = build(root, place / "one", options.scale, 1)
    second = build(root, place / "another folder, with a longer name", options.scale, 2)
    common, unequal = differences(first, second)
    for name in unequal:
        print(f"{'may differ' if name in TIMES else 'DIFFERS   '}  {name}")
    wrong = [name for name in unequal if name not in TIMES]
    print(
        f"{common} files in both, {len(unequal)} unequal, {len(wrong)} of them should not be; they stay in {os.path.relpath(place)}"
    )
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
