"""Audit the unary-encoding client of the installed pure-ldp release, and make Figure 8 from the packages' own reports.

Run it as a command::

    python book/ldp_auditor/audited_clients.py [--trials 200000]

The command writes data/results/fig8_packages.csv, in three minutes on one quiet core. Finished parts are not computed again.

The functions that call the package run in processes whose import path begins with the release's own folder. Nothing here imports
the package before that.
"""

import argparse
import functools
import random

import numpy as np
import pandas as pd

from ldpbook import paths
from ldpkit import Client
from ldpkit.auditors import Audit
from ldpkit.executors import isolated
from ldpkit.grid import grid

RELEASES = ("1.1.2", "1.2.0")
STORED = paths.ROOT / "data" / "results" / "fig8_packages.csv"
KEPT = ["release", "protocol", "attack", "k", "epsilon", "trials", "alpha", "tp", "fp", "tpr", "fpr", "claim", "epsilon_emp",
        "lower", "violated"]  # fmt: skip


@functools.cache
def package_client(k, epsilon, protocol):
    """Return the package's own client object, which takes values from 0 on."""
    from pure_ldp.frequency_oracles.unary_encoding import UEClient

    return UEClient(epsilon, k, use_oue=protocol == "OUE", index_mapper=lambda value: value)


def unary(values, rng, k=100, epsilon=1.0, protocol="OUE"):
    """Return the bit vectors of the real client, called once per value, as an array (n, k)."""
    package = package_client(k, epsilon, protocol)
    np.random.seed(rng.integers(2**32))  # the package draws from two global generators and seeds neither
    random.seed(int(rng.integers(2**63)))
    return np.array([package.privatise(value) for value in values.tolist()])


def audit_release(release, protocol, k, epsilon, attacks, trials, alpha, seed):
    """Audit one release's client with some attacks, as one cell of a sweep; `release` only labels the cell."""
    client = functools.partial(unary, k=k, epsilon=epsilon, protocol=protocol)
    named = Client(client, k, "bits", epsilon, name=f"pure-ldp {release} {protocol}")
    given = {"trials": trials, "alpha": alpha, "both": False, "independent": True, "seed": seed}
    return Audit.cell(mechanism=named, attack=attacks, **given)


def audit_releases(seed, workers=None, **given):
    """Audit both real releases in processes that import each from its own folder, where finished cells are stored."""
    tables = []
    for release in RELEASES:
        package = paths.PACKAGES / f"pure-ldp-{release}"
        with isolated(package, paths.ROOT / "book" / "ldp_auditor", workers=workers) as pool:
            cells = {"release": release} | given
            tables.append(grid(audit_release, cells, pool, package / ".sweeps", seed=seed, label=package.name))
    return pd.concat(tables, ignore_index=True)


if __name__ == "__main__":
    import audited_clients  # under the name by which the other processes know it

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=200_000, help="reports per input (the paper: 1,000,000)")
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    given = {"attacks": [["guess", "tight"]], "protocol": ["SUE", "OUE"], "k": 100,
            "epsilon": [0.25, 0.5, 0.75, 1, 2, 4, 6, 10], "trials": chosen.trials, "alpha": 0.01}  # fmt: skip
    audited_clients.audit_releases(chosen.seed, workers=1, **given)[KEPT].to_csv(STORED, index=False)
    print(f"wrote {STORED}")
