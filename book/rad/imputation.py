"""The imputation attack of Table 1; as a command, on Adult, which is fetched by `make data` before.

    python book/rad/imputation.py

writes data/results/rad_table1_adult.csv.
"""

import numpy as np

from ldpkit import datasets, paths, streams
from ldpkit.attacks.reconstruct import impute
from ldpkit.sweep import sweep

KNOWN = {"fair": 5_000, "adult": 40_000}
UNIVERSE = 1_000


def table_of(data):
    """The survey as the attack sees it; sampling weights and a second coding of education are left out."""
    return datasets.fair() if data == "fair" else datasets.adult().drop(columns=["fnlwgt", "education-num"])


def cell(data, sensitive, run, seed):
    """Train on the known records, guess the attribute of a universe of others."""
    table = table_of(data)
    order = streams.generator(seed, "split").permutation(len(table))
    known = table.iloc[order[: KNOWN[data]]]
    universe = table.iloc[order[KNOWN[data] : KNOWN[data] + UNIVERSE]]
    truth = universe[sensitive].to_numpy()
    return {"classes": int(table[sensitive].nunique()), "rero": float(np.mean(impute(known, universe, sensitive) == truth)),
            "majority": float(np.mean(truth == known[sensitive].mode()[0]))}  # fmt: skip


def attack(data, sensitive, runs, seed, workers=None):
    """One row per sensitive attribute and run."""
    grid = {"data": data, "sensitive": sensitive, "run": range(runs)}
    return sweep(cell, grid, seed=seed, workers=workers, store=paths.STORE, label="imputation")


if __name__ == "__main__":
    target = paths.ROOT / "data" / "results" / "rad_table1_adult.csv"
    target.parent.mkdir(parents=True, exist_ok=True)
    attack("adult", ["race", "sex"], runs=5, seed=1, workers=1).to_csv(target, index=False)
    print(f"wrote {target}")
