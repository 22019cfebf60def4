"""The strongest test between two values: the extreme event of the likelihood ratio.

For a pure protocol the reports that are ``e^eps`` times likelier under one
value than under another form one simple event. Testing for it is the
Neyman-Pearson test at the extreme point of the trade-off curve, so the
population value of ``ln(tpr / fpr)`` is the whole epsilon, which the guess of
`distinguish` usually misses by a wide margin. The event looks at two
coordinates of the report only and is fixed before any data are seen.
"""

import math
from dataclasses import dataclass

import numba
import numpy as np

from ..mechanisms import FrequencyOracle
from ..mechanisms.hashing import hash_cell

__all__ = ["TwoValueTest"]


@numba.njit(cache=True, nogil=True)
def _hits(seeds, cells, value, g):
    out = np.empty(cells.size, np.bool_)
    for i in range(cells.size):
        out[i] = hash_cell(value, seeds[i], g) == cells[i]
    return out


@dataclass(frozen=True)
class TwoValueTest:
    """Accept if the report supports the first value of the pair and not the second.

    For a single reported value this is equality; for a noisy vector, a first
    coordinate of at least 1 and a second of at most 0. For bits, hashes and
    subsets the event is "first supported, second not".

    Notes
    -----
    THE is tested on the bits that are sent. They satisfy a smaller epsilon than
    the noisy vector, so the test stays below the claim there.
    """

    name = "tight"

    def accepts(self, mechanism, reports, pair, rng=None):
        """Whether each report lies in the event; bool array (n,)."""
        first, second = pair
        if mechanism.report == "value":
            return reports == first
        if mechanism.report == "bits":
            return (reports[:, first] != 0) & (reports[:, second] == 0)
        if mechanism.report == "subset":
            return (reports == first).any(axis=1) & ~(reports == second).any(axis=1)
        if mechanism.report == "hash":
            one, two = (_hits(reports["seed"], reports["cell"], v, mechanism.g) for v in pair)
            return one & ~two
        return (reports[:, first] >= 1) & (reports[:, second] <= 0)

    def rates(self, mechanism):
        """Exact ``(tpr, fpr)``; ``None`` for a client whose law is unknown."""
        if not isinstance(mechanism, FrequencyOracle):
            return None
        if mechanism.report == "vector":
            return 0.25, math.exp(-2 / mechanism.scale) / 4
        k, p, q = mechanism.k, mechanism.p, mechanism.q
        if mechanism.report == "value":
            return p, q
        if mechanism.report == "subset":
            return p * (k - mechanism.omega) / (k - 1), (1 - p) * mechanism.omega / (k - 1)
        # bits; and hashes, where another value shares the reported cell with probability q = 1/g
        return p * (1 - q), q * (1 - p)

    def sample(self, mechanism, trials, truth, rng):
        """Number of reports in the event among `trials`, drawn from its two coordinates; see `Guess.sample`."""
        if mechanism.report == "vector":
            shift = 1 / mechanism.scale
            one, two = (s * shift + rng.laplace(size=trials) for s in (truth, not truth))
            return int(np.count_nonzero((one >= shift) & (two <= 0)))
        p, q = mechanism.p, mechanism.q
        first = rng.random(trials)
        if mechanism.report == "value":
            return int(np.count_nonzero(first < (p if truth else q)))
        second = rng.random(trials)
        if mechanism.report == "subset":
            true = first < p
            rest = second * (mechanism.k - 1) < mechanism.omega - true  # is one given other value a member
            return int(np.count_nonzero(true & ~rest if truth else rest & ~true))
        own, other = (p, q) if truth else (q, p)
        return int(np.count_nonzero((first < own) & (second >= other)))
