"""Fast sampler of the guess: of every report only the rank of what decides the attack is drawn, and the attack's coin.

What decides is one coordinate or count of the report (the own bit with the size
of the support set, the own noise, the own count over several rounds). Given
that, the attack accepts with a known probability. Tests compare the outcome
with real reports and with the exact law.
"""

from collections.abc import Callable

import numba
import numpy as np
import numpy.typing as npt

from .. import streams
from ..types import Array, Rng

__all__ = ["Trials", "steps", "subset_rounds"]

_CELL_BITS, _COIN_BITS = 10, 22


@numba.njit(cache=True, nogil=True)
def _decide(words: npt.NDArray[np.uint32], sure: Array, never: Array) -> tuple[int, Array]:
    """How many words are accepted whatever their further digits, and those whose further digits matter."""
    hits, left = 0, 0
    open_words = np.empty(words.size, np.uint32)
    for word in words:
        cell, coin = word >> np.uint32(_COIN_BITS), word & np.uint32(2**_COIN_BITS - 1)
        hits += coin < sure[cell]
        if (coin >= sure[cell]) & (coin < never[cell]):
            open_words[left] = word
            left += 1
    return hits, open_words[:left]


class Trials:
    """Independent trials: one of rank u, uniform on [0, 1], is accepted with probability ``chance(u)``.

    Parameters
    ----------
    chance : callable
        Maps an array of ranks to probabilities and must not decrease.

    Notes
    -----
    A trial takes 32 random bits: ten say in which of 1024 cells the rank lies,
    the rest are the first digits of the coin. The values of `chance` at the ends
    of the cell decide all but about one trial in a thousand; those are given
    more digits of both numbers, so that nothing is rounded.
    """

    def __init__(self, chance: Callable[[Array], Array]) -> None:
        self.chance = chance
        # a probability that is 0 up to rounding may come out below it
        ends = np.clip(chance(np.linspace(0, 1, 2**_CELL_BITS + 1)), 0.0, 1.0) * 2**_COIN_BITS
        self.sure, self.never = np.floor(ends[:-1]).astype(np.uint32), np.ceil(ends[1:]).astype(np.uint32)

    def count(self, trials: int, rng: Rng) -> int:
        """Number of accepted trials."""
        hits, left = _decide(streams.words(rng, trials, _CELL_BITS + _COIN_BITS), self.sure, self.never)
        rank = ((left >> _COIN_BITS) + rng.random(left.size)) / 2**_CELL_BITS
        coin = ((left & (2**_COIN_BITS - 1)) + rng.random(left.size)) / 2**_COIN_BITS
        return int(hits + np.count_nonzero(coin < self.chance(rank)))


def steps(mass: Array, chance: Array) -> Callable[[Array], Array]:
    """Chance by rank of a discrete variable whose values have probabilities `mass` and are accepted with `chance`."""
    order = np.argsort(chance, kind="stable")
    chance, ends = chance[order], np.cumsum(mass[order])
    return lambda rank: chance[np.searchsorted(ends[:-1], rank * ends[-1], side="right")]


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
        top, ties = 0, 0
        for c in seen:
            if c > top:
                top, ties = int(c), 0
            ties += c == top
        named = seen[0] if truth else seen[1]
        hits += named == top and rng.random() * ties < 1
    return int(hits)
