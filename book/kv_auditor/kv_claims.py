"""Compute the numbers that the claims of the KV-Auditor paper are about; the tests are in `data/claims/kv_auditor.csv`.

The arguments are tables of `kv_pages.summary`. Their column ``limit`` is the result of the audit without sampling noise; ``mean``
and ``sd`` describe the results of the runs.
"""

from itertools import pairwise

import numpy as np
import pandas as pd


def limits(cell):
    return cell.pivot_table(index="epsilon", columns="series", values="limit", sort=False)


def less(cell, one, other):
    """Return the mean result of one series minus that of another, with its standard error."""
    rows = [cell[cell["series"] == name].set_index("epsilon") for name in (one, other)]
    se = np.hypot(*(r["sd"] / r["runs"] ** 0.5 for r in rows))
    return pd.concat({f"{one} less {other}": pd.DataFrame({"value": rows[0]["mean"] - rows[1]["mean"], "se": se})})


def rounds(cell):
    """Return how much the results rise from round to round, with a column for each rise."""
    return limits(cell).sort_index(axis=1).diff(axis=1).iloc[:, 1:]


# Figure 6 and Table 1: `six_a`, `six_b`, `one`


def fewer_keys_less(one):
    table = limits(one)
    return pd.concat({f"{k} keys less {k - 1}": table[f"N_key={k}"] - table[f"N_key={k - 1}"] for k in (4, 3)})


def more_keys_more(six_b):
    return less(six_b[six_b["epsilon"] <= 0.4], "N_key=100", "N_key=2")


def more_keys_leak(six_b):
    table = limits(six_b)
    return table["N_key=100"] / table["N_key=2"] - 1


def record_tighter(six_a):
    table = limits(six_a)
    return table.iloc[:, 0] - table.iloc[:, 1]


# Figure 7: `key`, `hkv`, `parts`, `grr`


def key_tight(key):
    return (key["mean"] / (key["epsilon"] / 2) - 1).abs().set_axis(pd.Index(key["epsilon"]))


def eight_above_four(hkv):
    return less(hkv[hkv["epsilon"] == 0.1], "HKV b=8", "HKV b=4")


def falls_with_length(parts, auditor, lengths):
    table = limits(parts)
    return pd.concat({f"{a} to {b}": table[f"{auditor} b={a}"] - table[f"{auditor} b={b}"] for a, b in pairwise(lengths.split())})


def parts_above_guess(parts):
    table = limits(parts)
    return pd.concat({b: table[f"VKV b={b}"] - table[f"LDP-Auditor b={b}"] for b in (8, 16)}, names=["b"])


def record_above_parts(hkv, parts):
    return pd.concat({8: limits(hkv)["HKV b=8"] - limits(parts)["VKV b=8"]}, names=["b"])


def grr_below_stated(grr):
    rows = grr.set_index(["series", "epsilon"], drop=False)
    return rows["mean"] - rows["epsilon"]


# Tables 2 to 4: `two`, `three`, `four`


def rises(table):
    return rounds(table).unstack()


def first_round_largest(three):
    table = limits(three)
    return table["c=1"] - table.drop(columns="c=1").max(axis=1)


def grr_grows_slower(four):
    return rounds(four).diff(axis=1).iloc[:, 1:].unstack()


def grr_mostly_first(four):
    table = limits(four)
    return table["c=1"] / table[max(table.columns)]


# Figure 8: `the`, `oue`


def above(cell, word):
    table = limits(cell)
    names = [name for name in table if name.startswith("HKV") and name.replace("HKV", word) in table]
    return pd.concat({name: table[name] - table[name.replace("HKV", word)] for name in names})
