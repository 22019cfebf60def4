"""Compute the numbers that the claims of the KV-Auditor paper are about; the tests are in `data/claims/kv_auditor.csv`.

The arguments are tables of `kv_pages.summary`. Their column ``limit`` is the result of the audit without sampling noise; ``mean``
and ``sd`` describe the results of the runs.
"""

from itertools import pairwise

import numpy as np
import pandas as pd


def limits(cell, column="limit"):
    return cell.pivot_table(index="epsilon", columns="series", values=column, sort=False)


def named(found, name=""):
    return pd.Series(found.to_numpy(float), index=[f"{name}epsilon = {e:g}" for e in found.index])


def less(cell, one, other):
    """Return the mean result of one series minus that of another, with its standard error."""
    rows = [cell[cell["series"] == name].set_index("epsilon") for name in (one, other)]
    se = np.hypot(*(r["sd"] / r["runs"] ** 0.5 for r in rows))
    gap = rows[0]["mean"] - rows[1]["mean"]
    return pd.DataFrame(
        {"value": gap.to_numpy(), "se": se.to_numpy()}, index=[f"{one} less {other}, epsilon = {e:g}" for e in gap.index]
    )


def rounds(cell):
    """Return how much the results rise from round to round, with a column for each rise."""
    table = limits(cell)
    table = table[sorted(table.columns)]
    return table.diff(axis=1).iloc[:, 1:]


def stacked(table):
    return pd.concat([named(table[name], f"{name}, ") for name in table])


# Figure 6 and Table 1: `six_a`, `six_b`, `one`


def fewer_keys_less(one):
    table = limits(one)
    return pd.concat([named(table[f"N_key={k}"] - table[f"N_key={k - 1}"], f"{k} keys less {k - 1}, ") for k in (4, 3)])


def more_keys_more(six_b):
    found = less(six_b, "N_key=100", "N_key=2")
    return found[[float(at.rpartition("= ")[2]) <= 0.4 for at in found.index]]


def more_keys_leak(six_b):
    table = limits(six_b)
    return named(table["N_key=100"] / table["N_key=2"] - 1)


def record_tighter(six_a):
    table = limits(six_a)
    return named(table.iloc[:, 0] - table.iloc[:, 1])


# Figure 7: `key`, `hkv`, `parts`, `grr`


def key_tight(key):
    return pd.Series(
        (key["mean"] / (key["epsilon"] / 2) - 1).abs().to_numpy(), index=[f"epsilon = {e:g}" for e in key["epsilon"]]
    )


def eight_above_four(hkv):
    return less(hkv[hkv["epsilon"] == 0.1], "HKV b=8", "HKV b=4")


def falls_with_length(parts, auditor, lengths):
    table, lengths = limits(parts), lengths.split()
    return pd.concat(
        [named(table[f"{auditor} b={a}"] - table[f"{auditor} b={b}"], f"{a} to {b}, ") for a, b in pairwise(lengths)]
    )


def parts_above_guess(parts):
    table = limits(parts)
    return pd.concat([named(table[f"VKV b={b}"] - table[f"LDP-Auditor b={b}"], f"b = {b}, ") for b in (8, 16)])


def record_above_parts(hkv, parts):
    return named(limits(hkv)["HKV b=8"] - limits(parts)["VKV b=8"], "b = 8, ")


def grr_below_stated(grr):
    return pd.Series(
        (grr["mean"] - grr["epsilon"]).to_numpy(), index=[f"{r.series}, epsilon = {r.epsilon:g}" for r in grr.itertuples()]
    )


# Tables 2 to 4: `two`, `three`, `four`


def rises(table):
    return stacked(rounds(table))


def first_round_largest(three):
    table = limits(three)
    return named(table["c=1"] - table.drop(columns="c=1").max(axis=1))


def grr_grows_slower(four):
    rise = rounds(four)
    return stacked(rise.diff(axis=1).iloc[:, 1:])


def grr_mostly_first(four):
    table = limits(four)
    return named(table["c=1"] / table[max(table.columns)])


# Figure 8: `the`, `oue`


def above(cell, word):
    table = limits(cell)
    names = [name for name in table if name.startswith("HKV") and name.replace("HKV", word) in table]
    return pd.concat([named(table[name] - table[name.replace("HKV", word)], f"{name}, ") for name in names])
