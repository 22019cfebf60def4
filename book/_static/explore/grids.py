"""Compute the grids of exact values that explorers show where a value takes longer than a slider may wait.

`python book/_static/explore/grids.py` writes the files beside this script; names of grids after it choose some. A test recomputes
a sample of their entries.
"""

import functools
import itertools
import json
import math
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from ldpkit.auditors import KVAudit, expected, shuffle
from ldpkit.auditors.kv import AUDITORS
from ldpkit.mechanisms import KEY_VALUE, make

HERE = Path(__file__).parent
CHAINS = {"SUE": "L-SUE", "OUE": "L-OSUE", "GRR": "L-GRR"}


def rounded(value):
    """Return a number in six digits, or None for NaN and infinity."""
    return float(f"{value:.6g}") if value is not None and math.isfinite(value) else None


def rounds(protocol, attack, noise, k, epsilon, tau):
    """Return the expected statistic of an audit of a million users whose value is collected `tau` times."""
    if noise == "chained":
        if protocol not in CHAINS:
            return None
        target = make(CHAINS[protocol], k=k, epsilon=epsilon, first=epsilon / 2, tau=tau)
    else:
        target = make(protocol, k=k, epsilon=epsilon, tau=tau)
    found = expected(target, attack, trials=10**6)
    return None if found is None else rounded(found[0])


def shuffled(epsilon, delta, clients):
    """Return three values of epsilon after shuffling: of one pair of batches, of all by the blanket, and in closed form."""
    laws = (shuffle.pair_delta, shuffle.blanket_delta)
    exact = [shuffle.solve(functools.partial(law, clients, epsilon), delta, epsilon) for law in laws]
    proved = clients >= shuffle.least_clients(epsilon, delta)
    return [*map(rounded, exact), rounded(shuffle.closed_bound(clients, epsilon, delta) if proved else None)]


def keyvalue(mechanism, auditor, epsilon, ownership):
    """Return what an auditor measures for a key-value mechanism without sampling noise, round by round."""
    own = {"k": 4, "share": 0.5} if mechanism.startswith("PCKV") else {"k": 1}
    try:
        audit = KVAudit.of(mechanism=mechanism, attack=auditor, epsilon=epsilon, ownership=ownership, **own)
        return list(map(rounded, audit.limits))
    except ValueError:  # an auditor that does not support this mechanism
        return None


GRIDS = {
    "rounds": (rounds, {
        "protocol": ["GRR", "SS", "SUE", "OUE", "BLH", "OLH", "SHE", "THE"],
        "attack": ["guess", "tight"],
        "noise": ["fresh", "chained"],
        "k": [10, 100],
        "epsilon": [0.25, 0.5, 1, 2, 4],
        "tau": [1, 2, 3, 5, 10, 20, 50, 100, 200, 500],
    }),
    "shuffle": (shuffled, {
        "epsilon": [0.5, 1, 1.5, 2, 3, 4, 5, 6],
        "delta": [1e-4, 1e-6, 1e-8],
        "clients": [100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000],
    }),
    "keyvalue": (keyvalue, {
        "mechanism": list(KEY_VALUE),
        "auditor": list(AUDITORS),
        "epsilon": [0.5, 1, 2, 4, 6, 8],
        "ownership": [0.25, 0.5, 0.75, 1],
    }),
}  # fmt: skip
"""A function for each grid, and the values of its parameters."""


def settings(name):
    """Return the settings of a grid in the order of the stored file: the last parameter changes fastest."""
    return list(itertools.product(*GRIDS[name][1].values()))


def written(name, values):
    """Return the script with a grid that a page loads, because a page that is opened as a file may not fetch data."""
    data = json.dumps({"axes": GRIDS[name][1], "values": values}, separators=(",", ":"))
    return f"globalThis.ldpkit = Object.assign(globalThis.ldpkit || {{}}, {{ {name}Grid: {data} }});\n"


if __name__ == "__main__":
    with ProcessPoolExecutor() as pool:
        for name in sys.argv[1:] or GRIDS:
            values = list(pool.map(GRIDS[name][0], *zip(*settings(name), strict=True), chunksize=4))
            (HERE / f"{name}.data.js").write_text(written(name, values), encoding="utf-8")
            print(f"{name}: {len(values)} settings")
