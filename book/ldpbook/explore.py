"""Compute the grids of exact values that explorers show where a value takes longer than a slider may wait.

Run this module as a script to write the grids anew. A test recomputes a sample of their entries with the package.
"""

import functools
import itertools
import json
import math
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from ldpkit.auditors import KVAudit, expected, shuffle
from ldpkit.auditors.kv import AUDITORS
from ldpkit.mechanisms import KEY_VALUE, make

from . import paths

STATIC = paths.ROOT / "book" / "_static" / "explore"
CHAINS = {"SUE": "L-SUE", "OUE": "L-OSUE", "GRR": "L-GRR"}
Entry = float | list[float | None] | None


def rounded(value: float | None) -> float | None:
    """Return a number in six digits, or None for NaN and infinity."""
    return float(f"{value:.6g}") if value is not None and math.isfinite(value) else None


def rounds(protocol: str, attack: str, noise: str, k: int, epsilon: float, tau: int) -> Entry:
    """Return the expected statistic of an audit of a million users whose value is collected `tau` times."""
    if noise == "chained":
        if protocol not in CHAINS:
            return None
        target = make(CHAINS[protocol], k=k, epsilon=epsilon, first=epsilon / 2, tau=tau)
    else:
        target = make(protocol, k=k, epsilon=epsilon, tau=tau)
    found = expected(target, attack, trials=10**6)
    return None if found is None else rounded(found[0])


def shuffled(epsilon: float, delta: float, clients: int) -> Entry:
    """Return three values of epsilon after shuffling: of one pair of batches, of all by the blanket, and in closed form."""
    laws = (shuffle.pair_delta, shuffle.blanket_delta)
    exact = [shuffle.solve(functools.partial(law, clients, epsilon), delta, epsilon) for law in laws]
    proved = clients >= shuffle.least_clients(epsilon, delta)
    return [*map(rounded, exact), rounded(shuffle.closed_bound(clients, epsilon, delta) if proved else None)]


def keyvalue(mechanism: str, auditor: str, epsilon: float, ownership: float) -> Entry:
    """Return what an auditor measures for a key-value mechanism without sampling noise, round by round."""
    own = {"k": 4, "share": 0.5} if mechanism.startswith("PCKV") else {"k": 1}
    try:
        return [
            float(f"{v:.6g}")
            for v in KVAudit.of(mechanism=mechanism, attack=auditor, epsilon=epsilon, ownership=ownership, **own).limits
        ]
    except ValueError:  # an auditor that does not support this mechanism
        return None


GRIDS: dict[str, tuple[Callable[..., Entry], dict[str, list[Any]]]] = {
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


def settings(name: str) -> list[tuple[Any, ...]]:
    """Return the settings of a grid in the order of the stored file: the last parameter changes fastest."""
    return list(itertools.product(*GRIDS[name][1].values()))


def written(name: str, values: list[Entry]) -> str:
    """Return the script with a grid that a page loads, because a page that is opened as a file may not fetch data."""
    data = json.dumps({"axes": GRIDS[name][1], "values": values}, separators=(",", ":"))
    return f"globalThis.ldpkit = Object.assign(globalThis.ldpkit || {{}}, {{ {name}Grid: {data} }});\n"


def read(name: str) -> dict[str, Any]:
    """Return the axes and values that the script of a grid stores."""
    text = (STATIC / f"{name}.data.js").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text[text.index("Grid: ") + 6 : text.rindex(" });")])
    return found


def main() -> None:
    with ProcessPoolExecutor() as pool:
        for name in sys.argv[1:] or GRIDS:
            asked = settings(name)
            values = list(pool.map(GRIDS[name][0], *zip(*asked, strict=True), chunksize=4))
            (STATIC / f"{name}.data.js").write_text(written(name, values), encoding="utf-8")
            print(f"{name}: {len(asked)} settings")
