"""Fast sampler of the guess: of every report only the rank of what decides the attack is drawn, and the attack's coin.

What decides is one coordinate or count of the report (the own bit with the size
of the support set, the own noise, the own count over several rounds). Given
that, the attack accepts with a known probability. Tests compare the outcome
with real reports and with the exact law.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from .. import streams
from ..compiled import kernel
from ..types import Array, Rng

__all__ = ["Trials", "steps", "subset_rounds"]

_CELL_BITS, _COIN_BITS = 10, 22


@kernel
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


@kernel
def _ones(word: np.uint64) -> int:
    """Number of ones of a word, a standard trick that compilers know."""
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int(np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56)))


@kernel
def _uniform(word: np.uint64) -> float:
    return np.int64(word >> np.uint64(11)) * 2.0**-53


@kernel
def subset_rounds(trials: int, k: int, omega: int, p: float, tau: int, truth: bool, state: streams.State) -> int:
    """Subsets of all rounds in full, as their counts have no law that is simple enough: 64 values in one word.

    A round starts with independent bits at about the right rate; then values at random leave or join until the size is
    right, so all subsets of that size are equally likely. ``digits[b]`` holds the b-th binary digits of all counts. The
    true value is counted apart, the other audited one is the first of the rest.
    """
    one, others, hits = np.uint64(1), k - 1, 0
    width, depth = (others + 63) // 64, 1
    while tau >> depth:
        depth += 1
    members, digits = np.empty(width, np.uint64), np.empty((depth, width), np.uint64)
    valid = np.full(width, ~np.uint64(0))
    valid[-1] >>= np.uint64(64 * width - others)
    for _ in range(trials):
        own = 0
        digits[:] = 0
        for _ in range(tau):
            word, state = streams.step(state)
            member = _uniform(word) < p
            own += member
            wanted, found = omega - member, 0
            rate = min(31, (32 * wanted + others // 2) // others)
            for w in range(width):
                bits = np.uint64(0)
                for b in range(5 if rate else 0):  # each step halves the rate and adds a digit of it
                    word, state = streams.step(state)
                    bits = bits | word if (rate >> b) & 1 else bits & word
                members[w] = bits & valid[w]
                found += _ones(members[w])
            while found != wanted:
                word, state = streams.step(state)
                at = int(_uniform(word) * others)
                bit = one << np.uint64(at & 63)
                if ((members[at >> 6] & bit) != 0) == (found > wanted):
                    members[at >> 6] ^= bit
                    found += 1 if found < wanted else -1
            for w in range(width):
                carry, b = members[w], 0
                while carry:
                    digits[b, w], carry, b = digits[b, w] ^ carry, digits[b, w] & carry, b + 1
        top = 0
        members[:] = valid
        for b in range(depth - 1, -1, -1):  # keep those whose next digit is one, if there are any
            kept = 0
            for w in range(width):
                kept += _ones(members[w] & digits[b, w])
            if kept:
                top |= 1 << b
                for w in range(width):
                    members[w] &= digits[b, w]
        ties = 1 if own == top else 0
        for w in range(width):
            ties += _ones(members[w])
        named = own >= top if truth else own <= top and (members[0] & one) != 0
        word, state = streams.step(state)
        hits += named and (own > top or _uniform(word) * ties < 1)
    return hits
