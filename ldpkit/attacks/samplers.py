"""Fast samplers of the guess: only the coordinates that decide the outcome are drawn.

Every kernel counts acceptances among `trials` fresh reports. Both inputs are one
situation: `own` is the law of the coordinate of the value the attack is asked
about, `other` that of the second audited value, and the true one of the two is
raised. Tests compare each of them with real reports and with the exact law.
"""

import math

import numba
import numpy as np

from ..mechanisms.histogram import laplace
from ..types import Array, Rng

__all__ = ["alias_table", "support", "subset", "laplace_noise", "gaussian_noise", "counts", "laplace_sum", "subset_rounds"]


@numba.njit(cache=True)
def alias_table(mass: Array) -> tuple[Array, Array]:
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
def support(trials: int, own: float, other: float, k: int, first: int, keep: Array, alias: Array, rng: Rng) -> int:
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
def subset(trials: int, k: int, omega: int, p: float, truth: bool, rng: Rng) -> int:
    hits = 0
    for _ in range(trials):
        member = rng.random() < p
        if not truth:  # the rest of the subset is uniform without replacement
            member = rng.random() * (k - 1) < omega - member
        hits += member & (rng.random() * omega < 1)
    return hits


@numba.njit(cache=True, nogil=True)
def laplace_noise(trials: int, own: float, other: float, k: int, rng: Rng) -> int:
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


@numba.njit(cache=True, nogil=True)
def gaussian_noise(trials: int, own: float, other: float, k: int, rng: Rng) -> int:
    """As `laplace_noise`, with unit Gaussian noise."""
    hits = 0
    for _ in range(trials):
        y = own + rng.standard_normal()
        if y <= other + rng.standard_normal():
            continue
        tail = -math.expm1(-rng.standard_exponential() / (k - 2)) if k > 2 else 1.0
        hits += 0.5 * math.erfc(y / math.sqrt(2.0)) < tail
    return hits


@numba.njit(cache=True, nogil=True)
def counts(trials: int, wins: Array, first: int, keep: Array, alias: Array, k: int, truth: bool, rng: Rng) -> int:
    """Draw the own count, win with its probability; a failed guess names each other value equally often."""
    hits = 0
    for _ in range(trials):
        x = rng.random() * keep.size
        i = int(x)
        won = rng.random() < wins[first + (i if x - i < keep[i] else alias[i])]
        hits += won if truth else (not won) & (rng.random() * (k - 1) < 1)
    return hits


@numba.njit(cache=True, nogil=True)
def laplace_sum(trials: int, tau: int, shift: float, step: float, log_survival: Array, k: int, truth: bool, rng: Rng) -> int:
    """As `counts`, with a sum of `tau` Laplace variables in place of the count."""
    hits = 0
    last = log_survival.size - 1
    for _ in range(trials):
        s = shift + rng.standard_gamma(tau) - rng.standard_gamma(tau)
        at = abs(s) / step
        i = min(int(at), last - 1)
        tail = math.exp(log_survival[i] + min(at - i, 1.0) * (log_survival[i + 1] - log_survival[i]))
        won = rng.random() < math.exp((k - 1) * (math.log1p(-tail) if s >= 0 else math.log(tail)))
        hits += won if truth else (not won) & (rng.random() * (k - 1) < 1)
    return hits


@numba.njit(cache=True, nogil=True)
def subset_rounds(trials: int, k: int, omega: int, p: float, tau: int, truth: bool, rng: Rng) -> int:
    """Subsets of all rounds in full: their counts have no law that is simple enough."""
    hits = 0.0
    deck, seen = np.arange(1, k), np.zeros(k, np.int64)
    for _ in range(trials):
        seen[:] = 0
        for _ in range(tau):
            member = rng.random() < p  # value 0 is the true one, 1 the other audited one
            seen[0] += member
            for j in range(omega - member):
                r = j + int(rng.random() * (k - 1 - j))
                deck[j], deck[r] = deck[r], deck[j]
                seen[deck[j]] += 1
        top, ties = np.int64(0), 0
        for c in seen:
            if c > top:
                top, ties = c, 0
            ties += c == top
        named = seen[0] if truth else seen[1]
        hits += named == top and rng.random() * ties < 1
    return int(hits)
