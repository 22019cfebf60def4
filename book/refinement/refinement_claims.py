"""Compute the numbers that the claims of the refinement paper are about; the tests are in `data/claims/refinement.csv`.

The tables `asr` (exact rates) and `mse` (variances as published) have a row for each domain size and budget and a column for each
protocol. The other tables are those of their pages.
"""

import numpy as np
import pandas as pd
from refinement_checks import CLASSICAL


def along(table, key):
    """Return the groups of a table in which only `key` changes, from its smallest value to its largest."""
    other = next(name for name in table.index.names if name != key)
    return table.sort_index(level=[other, key]).groupby(level=other)


def error_follows_formula(adult):
    rows = adult.set_index(["protocol", "epsilon"])
    return pd.DataFrame({"value": (rows["mse"] / rows["law_mse"] - 1).abs(), "se": rows["mse_sd"] / 10 / rows["law_mse"]})


def of(poison, column):
    """Return one number of a poisoning, with a row for each budget and a column for each mechanism."""
    return poison.pivot(index="epsilon", columns="mechanism", values=column)


def share(agree, sort):
    """Return the share of cells in which each strategy is near the weighted sum, for those of one sort (alike or apart)."""
    apart = agree["strategy"].str.contains("elbow|knee|constraint")
    return agree[apart == (sort == "apart")].set_index("strategy")["within"]
