"""The paper's distinguishability attack: name one value that the report supports.

The guess is a uniform element of the report's support set, or a uniform value
if the set is empty; for a noisy vector it is a uniform element among the most
likely values. Ties are always broken at random: a rule such as "the first
index" favours one input and changes the audit.

Sources: LDP-Auditor, section 4.2 and Algorithm 1; Arcolezi et al. (2023).
"""

import functools
import math
from dataclasses import dataclass

import numba
import numpy as np

from ..mechanisms import FrequencyOracle
from ..mechanisms.hashing import hash_cell
from ..mechanisms.histogram import laplace
from ..stats import binomial_window

__all__ = ["Guess", "support_success", "laplace_success"]


# --- the guess on real reports -------------------------------------------------------------------


@numba.njit(cache=True, nogil=True)
def _guess_bits(bits, rng):
    n, k = bits.shape
    guess, ones = np.empty(n, np.int64), np.empty(k + 1, np.int64)
    for i in range(n):
        count = 0
        for u in range(k):  # every index is written, only ones advance: no branch
            ones[count] = u
            count += bits[i, u] != 0
        guess[i] = ones[int(rng.random() * count)] if count else int(rng.random() * k)
    return guess


@numba.njit(cache=True, nogil=True)
def _guess_subset(subsets, k, rng):
    n, width = subsets.shape
    guess = np.empty(n, np.int64)
    for i in range(n):
        count = 0
        while count < width and subsets[i, count] >= 0:
            count += 1
        guess[i] = subsets[i, int(rng.random() * count)] if count else int(rng.random() * k)
    return guess


@numba.njit(cache=True, nogil=True)
def _guess_hash(seeds, cells, k, g, rng):
    n = cells.size
    guess, hits = np.empty(n, np.int64), np.empty(k + 1, np.int64)
    for i in range(n):
        count = 0
        for u in range(k):
            hits[count] = u
            count += hash_cell(u, seeds[i], g) == cells[i]
        guess[i] = hits[int(rng.random() * count)] if count else int(rng.random() * k)
    return guess


@numba.njit(cache=True, nogil=True)
def _guess_vector(vectors, low, high, rng):
    n, k = vectors.shape
    guess, best = np.empty(n, np.int64), np.empty(k + 1, np.int64)
    for i in range(n):
        top, count = -np.inf, 0
        for u in range(k):
            score = min(max(vectors[i, u], low), high)
            if score > top:
                top, count = score, 0
            best[count] = u
            count += score == top
        guess[i] = best[int(rng.random() * count)]
    return guess


# --- exact law -----------------------------------------------------------------------------------


def _mean_reciprocal(n, q):
    """``E[1 / (1 + Binomial(n, q))]``, stable for tiny q."""
    return 1.0 if q == 0 else -math.expm1((n + 1) * math.log1p(-q)) / ((n + 1) * q)


def support_success(p, q, k):
    """Probability that a uniform element of the support set is the true value.

    The true value is supported with probability `p`, each of the other ``k - 1``
    independently with probability `q`; an empty set gives a uniform guess.
    Holds for unary encodings and, with ``q = 1/g``, exactly for local hashing
    with a fully random hash.

    Parameters
    ----------
    p, q : float
        Support probabilities, ``0 <= q < 1``.
    k : int
        Domain size.
    """
    return p * _mean_reciprocal(k - 1, q) + (1 - p) * math.exp((k - 1) * math.log1p(-q)) / k


@functools.cache
def _legendre():
    return np.polynomial.legendre.leggauss(200)


def laplace_success(scale, k, shift=1.0):
    """Probability that one Laplace variable raised by `shift` is the largest of k.

    Parameters
    ----------
    scale : float
        Scale of the Laplace noise, positive.
    k : int
        Number of variables.
    shift : float
        How far the true coordinate lies above the others.

    Notes
    -----
    With ``c = exp(-shift / scale)`` the three parts are a shifted variable above
    `shift`, between 0 and `shift`, and below 0. The middle one is integrated in
    the logarithm of the survival function by Gauss-Legendre panels.
    """
    c = math.exp(-shift / scale)
    nodes, weights = _legendre()
    edges = np.linspace(math.log(c / 2), math.log(0.5), 9)
    half = np.diff(edges)[:, None] / 2
    u = np.exp(edges[:-1, None] + half * (nodes + 1))
    middle = (half * weights * np.exp((k - 1) * np.log1p(-u)) / u).sum()
    return _mean_reciprocal(k - 1, c / 2) / 2 + c * middle / 4 + c * 2.0**-k / k


# --- fast samplers: only the coordinates that decide the outcome ------------------------------------
# Both inputs are one situation: `own` is the law of the coordinate of the value the attack is
# asked about, `other` that of the second audited value; the true one of the two is raised.


@numba.njit(cache=True)
def _alias_table(mass):
    """Vose's alias table of a probability vector."""
    n = mass.size
    keep, alias = mass * n / mass.sum(), np.arange(n)
    order = np.empty(n, np.int64)
    small, large = 0, n
    for i in range(n):
        if keep[i] < 1:
            order[small] = i
            small += 1
        else:
            large -= 1
            order[large] = i
    while small > 0 and large < n:
        small -= 1
        i, j = order[small], order[large]
        alias[i] = j
        keep[j] -= 1 - keep[i]
        if keep[j] < 1:
            large += 1
            order[small] = j
            small += 1
    for i in range(small):  # rounding leftovers
        keep[order[i]] = 1
    for i in range(large, n):
        keep[order[i]] = 1
    return keep, alias


@numba.njit(cache=True, nogil=True)
def _sample_support(trials, own, other, k, first, keep, alias, rng):
    """Two draws a trial and no branch on random bits: a mispredicted jump costs more than a draw."""
    hits = 0
    both, third = own * other, own + (1 - own) * other
    for _ in range(trials):
        r = rng.random()  # decides both bits: [both | own only | other only | none]
        b1 = r < own
        b2 = (r < both) | ((r >= own) & (r < third))
        x = rng.random() * keep.size  # decides the rest: cell, side of the alias table, and, given those, the guess
        i = int(x)
        stay = x - i < keep[i]
        left = x - i if stay else x - i - keep[i]
        width = keep[i] if stay else 1 - keep[i]  # left / width is uniform, whichever side it is
        size = b1 + b2 + first + (i if stay else alias[i])
        hits += (b1 | (size == 0)) & (left * (size if size else k) < width)
    return hits


@numba.njit(cache=True, nogil=True)
def _sample_subset(trials, k, omega, p, truth, rng):
    hits = 0
    for _ in range(trials):
        member = rng.random() < p
        if not truth:  # the rest of the subset is uniform without replacement
            member = rng.random() * (k - 1) < omega - member
        hits += member & (rng.random() * omega < 1)
    return hits


@numba.njit(cache=True, nogil=True)
def _sample_laplace(trials, own, other, k, rng):
    """Is noise raised by `own` (in units of the scale) above noise raised by `other` and k-2 plain ones."""
    hits = 0
    for _ in range(trials):
        y = own + laplace(rng)
        if y <= other + laplace(rng):
            continue
        # survival of the largest of k-2: 1 - U^(1/(k-2)), compared with the survival of y
        tail = -math.expm1(-rng.standard_exponential() / (k - 2)) if k > 2 else 1.0
        hits += (0.5 * math.exp(-y) if y >= 0 else 1 - 0.5 * math.exp(y)) < tail
    return hits


@dataclass(frozen=True)
class Guess:
    """Name a value that the report supports; accept if it is the first of the pair.

    Notes
    -----
    All values are treated alike, so with ``A`` the probability that the guess is
    the true value the false-positive rate is ``(1 - A) / (k - 1)``.
    """

    name = "guess"

    def predict(self, mechanism, reports, rng):
        """Guess the value behind each report.

        Parameters
        ----------
        mechanism : Mechanism
            Whose `report` kind says how to read the reports.
        reports : array
            As returned by ``mechanism.perturb``.
        rng : numpy.random.Generator
            Breaks ties.

        Returns
        -------
        int array, shape (n,)
        """
        if mechanism.report == "value":
            return reports
        if mechanism.report == "bits":
            return _guess_bits(reports, rng)
        if mechanism.report == "subset":
            return _guess_subset(reports, mechanism.k, rng)
        if mechanism.report == "hash":
            return _guess_hash(reports["seed"], reports["cell"], mechanism.k, mechanism.g, rng)
        return _guess_vector(reports, 0.0, 1.0, rng)  # Laplace likelihood is flat outside [0, 1]

    def accepts(self, mechanism, reports, pair, rng):
        """Whether each guess is the first value of `pair`; bool array (n,)."""
        return self.predict(mechanism, reports, rng) == pair[0]

    def success(self, mechanism):
        """Exact probability that the guess is the true value (attacker success rate)."""
        if mechanism.report == "value":
            return mechanism.p
        if mechanism.report == "subset":
            return mechanism.p / mechanism.omega
        if mechanism.report == "vector":
            return laplace_success(mechanism.scale, mechanism.k)
        return support_success(mechanism.p, mechanism.q, mechanism.k)

    def rates(self, mechanism):
        """Exact ``(tpr, fpr)``; ``None`` for a client whose law is unknown."""
        if not isinstance(mechanism, FrequencyOracle):
            return None
        success = self.success(mechanism)
        return success, (1 - success) / (mechanism.k - 1)

    def sample(self, mechanism, trials, truth, rng):
        """Number of acceptances among `trials` reports, without building the reports.

        Parameters
        ----------
        mechanism : FrequencyOracle
        trials : int
        truth : bool
            Whether the input is the first value of the pair or the second.
        rng : numpy.random.Generator
        """
        k = mechanism.k
        if mechanism.report == "value":
            return int(np.count_nonzero(rng.random(trials) < (mechanism.p if truth else mechanism.q)))
        if mechanism.report == "subset":
            return _sample_subset(trials, k, mechanism.omega, mechanism.p, truth, rng)
        if mechanism.report == "vector":
            shift = 1 / mechanism.scale
            return _sample_laplace(trials, shift * truth, shift * (not truth), k, rng)
        own, other = (mechanism.p, mechanism.q) if truth else (mechanism.q, mechanism.p)
        counts, mass = binomial_window(k - 2, mechanism.q)
        return _sample_support(trials, own, other, k, counts[0], *_alias_table(mass), rng)
