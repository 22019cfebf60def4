"""Audit the clients of the installed multi-freq-ldpy release that send a single report.

The functions that call the package run in processes whose import path begins with the release's own folder. Nothing here imports
the package before that.
"""

import functools
import pkgutil

import numba
import numpy as np

from ldpkit import Client
from ldpkit.auditors import Audit
from ldpkit.mechanisms import SHE


@numba.njit
def _seed_compiled(seed):
    np.random.seed(seed)  # compiled code has a generator of its own, apart from NumPy's


ORACLES = "multi_freq_ldpy.pure_frequency_oracles"


def reports(protocol, values, rng, *arguments):
    """Return the list of reports of the package's client, called once per value with seeded generators."""
    client = pkgutil.resolve_name(f"{ORACLES}.{protocol}:{protocol}_Client")
    np.random.seed(rng.integers(2**32))  # local hashing draws from NumPy's generator, the other clients from Numba's
    _seed_compiled(rng.integers(2**32))
    return [client(value, *arguments) for value in values.tolist()]


def response(values, rng, k=25, epsilon=1.0):
    """Return reports of GRR: one value each."""
    return np.array(reports("GRR", values, rng, k, epsilon))


def subset(values, rng, k=25, epsilon=1.0):
    """Return reports of subset selection as the package does: an array of shape (n, size), whose rows an audit reads as sets."""
    return np.array(reports("SS", values, rng, k, epsilon))


def subset_first(values, rng, k=25, epsilon=1.0):
    """Return the first element of each array that subset selection returns."""
    return subset(values, rng, k, epsilon)[:, 0]


def subset_order(values, rng, k=25, epsilon=1.0):
    """Return for each report of subset selection k bits that encode the order of its array.

    Bit v is zero if v is in the array, but not its first element.
    """
    bits = np.ones((len(values), k), np.uint8)
    np.put_along_axis(bits, subset(values, rng, k, epsilon)[:, 1:], 0, axis=1)
    return bits


def unary(values, rng, k=25, epsilon=1.0, optimal=True):
    """Return reports of SUE or OUE: k bits each."""
    return np.array(reports("UE", values, rng, k, epsilon, optimal))


def hashing(values, rng, k=25, epsilon=1.0, optimal=True):
    """Return reports of BLH or OLH as k bits.

    Bit v tells whether v hashes to the reported cell, by the hash of the package's server.
    """
    import xxhash  # the version the package was installed with

    g = round(np.exp(epsilon)) + 1 if optimal else 2
    texts = [str(value) for value in range(k)]
    found = reports("LH", values, rng, k, epsilon, optimal)
    return np.array([[xxhash.xxh32_intdigest(text, seed) % g == cell for text in texts] for cell, seed in found])


def thresholded(values, rng, k=25, epsilon=1.0):
    """Return reports of histogram encoding, read as THE: bit v tells whether coordinate v exceeds the package's threshold."""
    from scipy.optimize import minimize_scalar

    find = pkgutil.resolve_name(f"{ORACLES}.HE:find_tresh")
    threshold = minimize_scalar(find, bounds=[0.5, 1], method="bounded", args=(epsilon,)).x
    return np.array(reports("HE", values, rng, k, epsilon)) > threshold


class NoisyHistogram(SHE):
    """Histogram encoding of the package, whose noisy vectors are read as SHE.

    Its reports come from the package, and only the attacks on them are ldpkit's.
    """

    def perturb(self, values, rng):
        return np.array(reports("HE", values, rng, self.k, self.epsilon))


CLIENTS = {
    "GRR": (response, "value"),
    "SS, first element": (subset_first, "value"),
    "SS, order": (subset_order, "bits"),
    "SS, set": (subset, "subset"),
    "SUE": (functools.partial(unary, optimal=False), "bits"),
    "OUE": (unary, "bits"),
    "BLH": (functools.partial(hashing, optimal=False), "bits"),
    "OLH": (hashing, "bits"),
    "SHE": (None, "vector"),
    "THE": (thresholded, "bits"),
}
"""Client function and report type of each client, by the client's name on the page."""


def audit_client(protocol, k, epsilon, trials, alpha, seed):
    """Audit one client, as one cell of a sweep.

    A reported value is only asked for its likelihood-ratio event, because the guess is the same event. The order of a subset is
    also asked for that event alone, because it supports nearly every value.
    """
    function, kind = CLIENTS[protocol]
    if kind == "vector":
        mechanism = NoisyHistogram(k, float(epsilon))
    else:
        call = functools.partial(function, k=k, epsilon=float(epsilon))
        mechanism = Client(call, k, kind, epsilon, name=f"multi-freq-ldpy {protocol}")
    asked = ["tight"] if kind == "value" or protocol == "SS, order" else ["guess", "tight"]
    given = {"trials": trials, "alpha": alpha, "faithful": True, "both": False, "independent": True, "seed": seed}
    return [row | {"report": kind} for row in Audit.cell(mechanism=mechanism, attack=asked, **given)]
