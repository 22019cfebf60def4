"""The unary-encoding client of the installed pure-ldp release, as an auditable client.

The functions that call the package are used in processes whose import path
begins with the release's own folder; nothing here imports it before that.
"""

import functools
import random

import numpy as np

from ldpkit.auditors import rows
from ldpkit.mechanisms import Client


@functools.cache
def package_client(k, epsilon, protocol):
    """Return the package's own client object, taking values from 0 on."""
    from pure_ldp.frequency_oracles.unary_encoding import UEClient

    return UEClient(epsilon, k, use_oue=protocol == "OUE", index_mapper=lambda value: value)


def unary(values, rng, k=100, epsilon=1.0, protocol="OUE"):
    """Call the real client once per value: bit vectors, array (n, k)."""
    package = package_client(k, epsilon, protocol)
    np.random.seed(rng.integers(2**32))  # the package draws from two global generators and seeds neither
    random.seed(int(rng.integers(2**63)))
    return np.array([package.privatise(value) for value in values.tolist()])


def audit_release(release, protocol, k, epsilon, attacks, trials, alpha, seed):
    """Audit one release's client with some attacks: one cell of a sweep. `release` only names the cell."""
    client = functools.partial(unary, k=k, epsilon=epsilon, protocol=protocol)
    return rows(Client(client, k, "bits", epsilon, name=f"pure-ldp {release} {protocol}"), attacks, trials, alpha, seed)
