"""The imputation attack of Table 1; as a command, on Adult, which is fetched by `make data` before.

    python book/rad/imputation.py

writes data/results/rad_table1_adult.csv.
"""

import warnings

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder

from ldpkit import datasets, paths, streams
from ldpkit.sweep import sweep

KNOWN = {"fair": 5_000, "adult": 40_000}
UNIVERSE = 1_000


def table_of(data):
    """The survey as the attack sees it; sampling weights and a second coding of education are left out."""
    return datasets.fair() if data == "fair" else datasets.adult().drop(columns=["fnlwgt", "education-num"])


def impute(known, targets, sensitive):
    """Guess a sensitive attribute from the public ones, without looking at any output of a
    mechanism.

    Parameters
    ----------
    known, targets : pandas.DataFrame
        The records the adversary has in full, and those of which the column
        `sensitive` is to be guessed (it is not read).

    Returns
    -------
    array, shape (len(targets),)
        Guesses of a multinomial logistic regression (ridge 1) on one-hot data,
        numbers cut at the ten-quantiles of the known records.
    """
    public = known.drop(columns=sensitive)
    numbers = public.select_dtypes("number").columns
    others = public.columns.difference(numbers)
    encode = make_column_transformer((KBinsDiscretizer(10), numbers), (OneHotEncoder(handle_unknown="ignore"), others))
    model = make_pipeline(encode, LogisticRegression(max_iter=1000))
    labels, classes = np.unique(known[sensitive], return_inverse=True)  # a label may be any number, such as an age in halves
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Bins whose width are too small")  # few distinct values: fewer bins
        return labels[model.fit(public, classes).predict(targets[public.columns])]


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
