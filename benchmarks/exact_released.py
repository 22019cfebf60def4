"""Compute the exact loss of the released clients in Python, next to the verdict on their reports.

Run it after `make packages`, and after `make heavy` for all releases::

    python benchmarks/exact_released.py   # writes data/results/exact_released.csv and .json

It takes about ten minutes on one idle core. Code that its package compiles by Numba runs
uncompiled, because compiled code has its own generator.
"""

import json
import os
import sys
import time

os.environ["NUMBA_DISABLE_JIT"] = "1"

import bench
import pandas as pd

from ldpbook.paths import PACKAGES, ROOT

sys.path.insert(0, str(ROOT / "book" / "released"))
import table
from clients import ALPHA, audit_released

from ldpkit.blackbox.clients import ClientError
from ldpkit.blackbox.exact import exact_client
from ldpkit.digests import load
from ldpkit.executors import isolated

WAYS = 50_000
SHOWN = "path package version client claim exact status loss ways seconds reason leading".split()


def exact(path):
    """Return the exact verdict on the client at a path, in the process that imports its release."""
    client = load(path)
    start = time.perf_counter()
    try:
        found = exact_client(
            lambda value: client.real(value), client.claim, inputs=list(client.inputs),
            delta=client.delta, ways=WAYS,
        )  # fmt: skip
        row = found.row() | {"leading": next(iter(found.leading()), "")}
    except ClientError as error:
        row = {"status": "not exact", "reason": str(error).partition(", got")[0]}
    about = {"path": path, "package": client.package, "version": client.version,
             "client": client.name, "claim": client.claim, "exact": client.true}  # fmt: skip
    row |= about | {"seconds": round(time.perf_counter() - start, 2)}
    return {name: row.get(name) for name in SHOWN}


def main():
    kept = table.stored()
    clients = {
        path: client
        for path, client in table.clients().items()
        if client.make and client.package != "ldpkit" and table.installed(client.folder)
    }
    rows = []
    for folder in dict.fromkeys(client.folder for client in clients.values()):
        mine = [path for path, client in clients.items() if client.folder == folder]
        with isolated(PACKAGES / folder, table.HERE, ROOT / "benchmarks", workers=1) as pool:
            for path in mine:
                row = pool.submit(exact, path).result()
                audit = kept.get(path) or pool.submit(
                    audit_released, path, clients[path].trials, ALPHA, 1
                ).result()  # fmt: skip
                rows.append(row | {name: audit[name] for name in ("verdict", "lower", "reports")})
                print(
                    path,
                    row["status"],
                    row["loss"],
                    row["ways"],
                    row["seconds"],
                    row["reason"],
                    flush=True,
                )
    found = pd.DataFrame(rows)
    out = ROOT / "data" / "results" / "exact_released.csv"
    found.to_csv(out, index=False, lineterminator="\n", float_format="%.10g")
    said = {
        "command": "python benchmarks/exact_released.py",
        "seconds": round(found["seconds"].sum(), 1),
        **bench.machine(),
    }
    out.with_suffix(".json").write_text(json.dumps(said, indent=1) + "\n")


if __name__ == "__main__":
    sys.modules["exact_released"] = sys.modules["__main__"]
    main()
