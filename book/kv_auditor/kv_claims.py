"""Compute the numbers that the claims of the KV-Auditor paper are about; the tests are in `data/claims/kv_auditor.csv`.

The arguments are tables of `kv_pages.summary`. Their column ``limit`` is the result of the audit without sampling noise; ``mean``
and ``sd`` describe the results of the runs.
"""

import numpy as np
import pandas as pd


def limits(cell):
    """Return the results without sampling noise, with a row for each budget and a column for each series."""
    return cell.pivot_table(index="epsilon", columns="series", values="limit", sort=False)


def differences(cell, pairs):
    """Return by how much the first series of each pair exceeds the second without sampling noise; `pairs` has names of the pairs."""
    table = limits(cell)
    return pd.concat({name: table[one] - table[other] for name, (one, other) in pairs.items()})


def less(cell, one, other):
    """Return the mean result of one series minus that of another, with its standard error."""
    rows = [cell[cell["series"] == name].set_index("epsilon") for name in (one, other)]
    se = np.hypot(*(r["sd"] / r["runs"] ** 0.5 for r in rows))
    return pd.concat({f"{one} less {other}": pd.DataFrame({"value": rows[0]["mean"] - rows[1]["mean"], "se": se})})


def more(cell, *pairs):
    """Return by how much the mean result of the first series of each pair exceeds that of the second.

    An excess must be there in our own runs, because without noise no event can show more than all outputs. The error is set to zero,
    so that noise excuses no lack.
    """
    return pd.concat([less(cell, *pair) for pair in pairs]).assign(se=0.0)


def rises(cell):
    """Return how much the results rise from round to round, with a column for each rise."""
    return limits(cell).sort_index(axis=1).diff(axis=1).iloc[:, 1:]
