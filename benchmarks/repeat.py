"""Repeat a part of the results in `data/reference` with the code that made them, and compare.

The command takes options::

    python -m ldpbook reference         # at most two seconds each; one run at one budget
    python -m ldpbook reference --all   # everything: two hours
    SOURCE=~/ldp-audit python -m ldpbook reference   # from a clone, without the network

The exit status is 1 if something differs by more than five standard errors.
"""

import argparse
import subprocess
import sys

import pandas as pd

from ldpbook.paths import BUILD, ROOT
from ldpkit.auditors import Audit

HERE, NEW = ROOT / "benchmarks", BUILD / "reference"
STORED = ROOT / "data" / "reference"
KEYS = ["mechanism", "protocol", "k", "epsilon", "delta", "g", "d", "tau", "trials", "alpha"]
SECONDS, EPSILON = 2.0, 1.0
"""Longest time of a repeated audit, and its budget, unless everything is repeated."""


def deviation(row):
    """Return the standard deviation of one audit, from the exact distribution."""
    given = {key: row[key] for key in KEYS if row.get(key) == row.get(key) and row.get(key)}
    given |= {key: int(given[key]) for key in ("k", "g", "d", "tau", "trials") if key in given}
    return Audit.of(both=False, **given).expected[0][1]


def compared(stored, new):
    """Return one row per experiment: how many audits of `new` give the stored number, and
    deviations.
    """
    keys = [key for key in [*KEYS, "seed"] if key in new]
    new = new.astype({key: stored[key].dtype for key in keys})  # a part may lack columns
    both = stored.merge(new, on=["experiment", *keys], suffixes=("", " now"), validate="1:1")
    if len(both) != len(new):
        raise SystemExit(f"{len(new) - len(both)} repeated audits are not among the stored ones")
    gap = (both["epsilon_emp now"] - both["epsilon_emp"]).abs()
    both["same"] = gap <= 1e-12
    rest = both[~both["same"]]
    both["apart"] = 0.0
    both.loc[rest.index, "apart"] = [
        gap[i] / (2**0.5 * deviation(row)) for i, row in rest.iterrows()
    ]
    return both.groupby("experiment", sort=False).agg(
        repeated=("same", "size"),
        same=("same", "sum"),
        furthest=("apart", "max"),
        seconds=("seconds now", "sum"),
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--all", action="store_true", help="repeat everything")
    given = parser.parse_args()
    python, source = NEW / "venv" / "bin" / "python", ["--source", NEW / "ldp-audit"]
    stored, again = STORED / "ldp_auditor.csv", NEW / "ldp_auditor.csv"
    figures, drawn = STORED / "ldp_auditor_figures.csv", NEW / "figures.csv"
    drawn.unlink(missing_ok=True)
    some = [] if given.all else ["--longest", SECONDS]
    one = [] if given.all else ["--runs", 1, "--epsilon", EPSILON]
    for command in (
        [python, HERE / "repeat_figures.py", drawn, *source, *one],
        [python, HERE / "repeat_audits.py", stored, again, *source, *some],
    ):
        subprocess.run([*map(str, command)], check=True)
    pairs = (stored, again), (figures, drawn)
    found = pd.concat(compared(*map(pd.read_csv, pair)) for pair in pairs)
    print(found.to_string())
    return int((found["furthest"] > 5).any())


if __name__ == "__main__":
    sys.exit(main())
