"""``python -m ldpbook chaos``: all parts of the harness, and the table of what they found."""

import argparse
import csv
import functools
import platform
import shutil
import subprocess
import sys

import ldpkit

from . import ROOT, faults, flips, growth, kills, lines, scripts, served

TABLE = ROOT / "data" / "results" / "chaos.csv"
COLUMNS = ("what", "seed", "n", "noticed", "harmless", "wrong", "seconds", "version")
PARTS = {
    "installation": (kills.run_installation, 30),
    "kills": (kills.run, 50),
    "book": (kills.run_book, 20),
    "faults": (faults.run, 3),
    "runner": (faults.run_runner, 24),
    "site": (faults.run_site, 6),
    "flips": (flips.run, 100),
    "built": (flips.run_built, 100),
    "lines": (functools.partial(lines.run, told=True), 1200),
    "growth": (growth.run, 20),
    "memory": (served.run, 10_000),
    "scripts": (scripts.run, 40),
}
"""Every part, and how often it does harm."""


def main() -> None:
    """Run the parts that are named, or all."""
    parser = argparse.ArgumentParser(prog="python -m ldpbook chaos", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--seed", type=int, default=1, help="draws all harms")
    parser.add_argument("--size", type=float, default=1.0, help="share of the usual harms")
    parser.add_argument("--save", action="store_true", help="add rows to data/results/chaos.csv")
    options = parser.parse_args()
    if wrong := set(options.parts) - set(PARTS):
        parser.error(f"there is no part {', '.join(sorted(wrong))}")
    work, rows = ROOT / "_build" / "chaos", []
    commit = ["git", "describe", "--always", "--exclude=*"]
    found = subprocess.run(commit, cwd=ROOT, capture_output=True, text=True).stdout.strip()
    version = f"{ldpkit.__version__} ({found or 'no commit'}, Python {platform.python_version()})"
    for part in options.parts or PARTS:
        run, n = PARTS[part]
        folder = work / part
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for row in run(options.seed, max(1, round(n * options.size)), folder):
            rows.append(row | {"version": version})
            print(f"{row['what']:<45} {row['n']:6}: {row['noticed']} noticed, {row['harmless']} harmless,"
                  f" {row['wrong']} wrong; {row['seconds']} s", flush=True)  # fmt: skip
            if options.save:
                _save(rows[-1])
        if not sum(row["wrong"] for row in rows):
            shutil.rmtree(folder, ignore_errors=True)
    wrong = sum(row["wrong"] for row in rows)
    print(f"{sum(row['n'] for row in rows)} harms, seed {options.seed}: {wrong} went wrong")
    sys.exit(bool(wrong))


def _save(row: dict[str, object]) -> None:
    new = not TABLE.exists()
    with TABLE.open("a", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerow(row)


if __name__ == "__main__":
    main()
