"""The single-report clients of the installed multi-freq-ldpy release, as auditable clients.

The functions that call the package are used in processes whose import path
begins with the release's own folder; nothing here imports it before that.
"""

import functools
import importlib

import numba
import numpy as np

from ldpkit.auditors import Audit
from ldpkit.mechanisms import SHE, Client


@numba.njit
def _seed_compiled(seed):
    np.random.seed(seed)  # compiled code has a generator of its own, apart from NumPy's


def _part(module, name):
    """A function of the package."""
    return getattr(importlib.import_module(f"multi_freq_ldpy.pure_frequency_oracles.{module}"), name)


def reports(protocol, values, rng, *arguments):
    """Call the package's client once per value, its generators seeded before: list of reports."""
    client = _part(protocol, f"{protocol}_Client")
    np.random.seed(rng.integers(2**32))  # local hashing draws from NumPy's generator, the other clients from Numba's
    _seed_compiled(rng.integers(2**32))
    return [client(value, *arguments) for value in values.tolist()]


def response(values, rng, k=25, epsilon=1.0):
    """GRR: one value."""
    return np.array(reports("GRR", values, rng, k, epsilon))


def subset(values, rng, k=25, epsilon=1.0):
    """Subset selection: the array as the package returns it, shape (n, size). An audit reads it as a set."""
    return np.array(reports("SS", values, rng, k, epsilon))


def subset_first(values, rng, k=25, epsilon=1.0):
    """Subset selection: the first element of the returned array."""
    return subset(values, rng, k, epsilon)[:, 0]


def subset_order(values, rng, k=25, epsilon=1.0):
    """Subset selection: bit v is zero if v is in the returned array, but not as its first element."""
    bits = np.ones((len(values), k), np.uint8)
    np.put_along_axis(bits, subset(values, rng, k, epsilon)[:, 1:], 0, axis=1)
    return bits


def unary(values, rng, k=25, epsilon=1.0, optimal=True):
    """SUE or OUE: k bits."""
    return np.array(reports("UE", values, rng, k, epsilon, optimal))


def hashing(values, rng, k=25, epsilon=1.0, optimal=True):
    """BLH or OLH: bit v says whether v hashes to the reported cell, as the package's server finds it."""
    import xxhash  # the version the package was installed with

    g = round(np.exp(epsilon)) + 1 if optimal else 2
    texts = [str(value) for value in range(k)]
    found = reports("LH", values, rng, k, epsilon, optimal)
    return np.array([[xxhash.xxh32_intdigest(text, seed) % g == cell for text in texts] for cell, seed in found])


def thresholded(values, rng, k=25, epsilon=1.0):
    """Histogram encoding, read as THE: bit v says whether coordinate v exceeds the package's threshold."""
    from scipy.optimize import minimize_scalar

    threshold = minimize_scalar(_part("HE", "find_tresh"), bounds=[0.5, 1], method="bounded", args=(epsilon,)).x
    return np.array(reports("HE", values, rng, k, epsilon)) > threshold


class NoisyHistogram(SHE):
    """Histogram encoding, read as SHE: the noisy vector. Only the questions asked about it are ldpkit's."""

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
"""Client function and kind of report, by the name the page calls it."""


def audit_client(protocol, k, epsilon, trials, alpha, seed):
    """Audit one client: one cell of a sweep.

    A reported value is asked about with the tight event only, the guess being
    the same event; so is the order, which supports nearly every value.
    """
    function, kind = CLIENTS[protocol]
    if kind == "vector":
        mechanism = NoisyHistogram(k, float(epsilon))
    else:
        call = functools.partial(function, k=k, epsilon=float(epsilon))
        mechanism = Client(call, k, kind, epsilon, name=f"multi-freq-ldpy {protocol}")
    asked = ["tight"] if kind == "value" or protocol == "SS, order" else ["guess", "tight"]
    audit = Audit(mechanism, asked, trials=trials, alpha=alpha, faithful=True, both=False)
    return [row | {"report": kind} for row in audit.rows(seed=seed)]
