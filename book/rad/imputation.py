"""Run the imputation attack of Table 1 on a survey from a dependency; `benchmarks/stored.py` runs it on larger surveys."""

import functools
import warnings

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder

from ldpbook import datasets
from ldpbook.stored import sweep
from ldpkit.rng import generator

KNOWN = {"fair": 5_000, "adult": 40_000, "acs": 49_000, "acs with area": 49_000, "acs, Texas": 16_000}
UNIVERSE = 1_000
STORED = {
    "adult": [("adult", "race"), ("adult", "sex")],
    "acs": [("acs", "race"), ("acs with area", "race"), ("acs, Texas", "Hispanic")],
}
ACS = "acs_pums_excerpts_2018_2019.csv.gz"
"""NIST's excerpts of the American Community Survey in one table: `region` (national, ma, tx), `year`, and their columns."""


@functools.cache
def table_of(data):
    """Return the survey for the attack, without sampling weights and without columns that code another column again."""
    if data == "fair":
        return datasets.fair()
    if data == "adult":
        return datasets.adult().drop(columns=["fnlwgt", "education-num"])
    table = pd.read_csv(datasets.folder() / ACS, dtype=str, keep_default_na=False)
    table = table[table["region"] == ("tx" if "Texas" in data else "national")].reset_index(drop=True)
    twice = ["region", "year", "PINCP", "INDP", "PWGTP", "WGTP"]  # an income has its decile, an industry its group
    table = table.drop(columns=twice if "area" in data else [*twice, "PUMA"])
    numbers = {name: pd.to_numeric(table[name].replace("N", "-1")) for name in ("AGEP", "DENSITY", "POVPIP")}
    table = table.assign(**numbers).rename(columns={"RAC1P": "race"})
    return table.assign(Hispanic=table["HISP"] != "0").drop(columns="HISP") if "Texas" in data else table


def impute(known, targets, sensitive):
    """Guess a sensitive attribute from the public ones, without any output of a mechanism.

    Parameters
    ----------
    known, targets : pandas.DataFrame
        The records that the adversary has in full, and those whose column `sensitive` is guessed (and not read).

    Returns
    -------
    array, shape (len(targets),)
        Guesses of a multinomial logistic regression (ridge 1) on one-hot data, with numbers cut at the ten-quantiles of the known
        records.
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
    """Train on the known records, guess the attribute of other records, and return the success rates."""
    table = table_of(data)
    order = generator(seed, "split").permutation(len(table))
    known = table.iloc[order[: KNOWN[data]]]
    universe = table.iloc[order[KNOWN[data] : KNOWN[data] + UNIVERSE]]
    truth = universe[sensitive].to_numpy()
    return {"classes": int(table[sensitive].nunique()), "rero": float(np.mean(impute(known, universe, sensitive) == truth)),
            "majority": float(np.mean(truth == known[sensitive].mode()[0]))}  # fmt: skip


def attack(asked, runs, seed, workers=None):
    """Return one row for each run and each pair of data and sensitive attribute."""
    grid = [{"data": data, "sensitive": sensitive, "run": run} for data, sensitive in asked for run in range(runs)]
    return sweep(cell, grid, seed=seed, workers=workers, label="imputation")
