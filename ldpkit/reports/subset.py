"""Reports of a set of values: subset selection."""

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from .. import checks
from ..jit import kernel
from ..rng import State, first_state, next_uniform, next_word
from ..types import Array, Reports, Rng
from .base import ExactSupport, Support, alphabet, ones, shaped
from .values import Response

__all__ = ["Subset", "Selection"]


@kernel
def rounds_won(
    trials: int, k: int, omega: int, p: float, tau: int, truth: bool, state: State
) -> int:
    """Simulate all subsets of `tau` rounds for `trials` users who hold the first audited value
    (`truth`) or the second; return how many guesses are the first value.

    The counts of supports have no simple exact distribution, therefore the rounds are simulated,
    with 64 values in one word. A round starts with independent bits at about the right rate. Then
    random values leave or join until the size is right, so all subsets of that size are equally
    likely. ``digits[b]`` holds the b-th binary digits of all counts. The true value has its own
    count, and the other audited value is the first of the rest.
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
            u, state = next_uniform(state)
            member = u < p
            own += member
            wanted, found = omega - member, 0
            rate = min(31, (32 * wanted + others // 2) // others)
            for w in range(width):
                bits = np.uint64(0)
                # each step halves the rate and adds a digit of it
                for b in range(5 if rate else 0):
                    word, state = next_word(state)
                    bits = bits | word if (rate >> b) & 1 else bits & word
                members[w] = bits & valid[w]
                found += ones(members[w])
            while found != wanted:
                u, state = next_uniform(state)
                at = int(u * others)
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
        for b in range(depth - 1, -1, -1):  # keep the values whose next digit is one, if any
            kept = 0
            for w in range(width):
                kept += ones(members[w] & digits[b, w])
            if kept:
                top |= 1 << b
                for w in range(width):
                    members[w] &= digits[b, w]
        ties = 1 if own == top else 0
        for w in range(width):
            ties += ones(members[w])
        named = own >= top if truth else own <= top and (members[0] & one) != 0
        u, state = next_uniform(state)
        hits += named and (own > top or u * ties < 1)
    return hits


@dataclass(frozen=True)
class Subset(Support):
    """Distinct values, integer array (n, w) in the order in which they were sent, padded with -1; a
    report supports the values in it."""

    k: int
    name = "subset"
    ordered = True

    def read(self, reports: Reports, sender: str) -> Array:
        reports = shaped(reports, (None, None), sender)
        return checks.values(reports.ravel(), self.k, "reports").reshape(reports.shape)

    def supports(self, reports: Array, value: int) -> Array:
        return (reports == value).any(axis=1)

    def guess(self, reports: Array, rng: Rng) -> Array:
        sizes = (reports >= 0).sum(axis=1)  # shorter subsets are padded with -1
        at = (rng.random(len(reports)) * np.where(sizes, sizes, self.k)).astype(np.int64)
        held = np.take_along_axis(reports, np.minimum(at, reports.shape[1] - 1)[:, None], 1)[:, 0]
        return np.where(sizes, held, at)

    def tally(self, reports: Array) -> Array:
        out = np.zeros((len(reports), self.k))
        np.add.at(out, (np.arange(len(reports))[:, None], reports), 1)
        return out

    def support_counts(self, reports: Array) -> Array:
        return np.bincount(reports.ravel(), minlength=self.k)


@dataclass(frozen=True)
class Selection(Subset, ExactSupport):
    """Sets of `omega` values: the true value is a member with probability `p`, the rest is uniform.

    Parameters
    ----------
    k, omega : int
        Domain size and number of values in a set.
    p, absent : float
        Probability that the true value is a member, and that it is not. Both are given because
        ``1 - p`` would lose digits.
    """

    omega: int
    p: float
    absent: float

    @property
    def q(self) -> float:  # type: ignore[override]  # follows from the other fields
        """Probability that one given other value is a member."""
        return float(self.pair_distribution()[[1, 2]].sum())

    def read(self, reports: Reports, sender: str) -> Array:
        return super().read(shaped(reports, (None, self.omega), sender), sender)

    def pair_distribution(self) -> Array:
        k, omega = self.k, self.omega
        first, second = self.p * (k - omega) / (k - 1), self.absent * omega / (k - 1)
        return np.array(
            [
                first,
                second,
                self.p * (omega - 1) / (k - 1),
                max(0.0, self.absent * (k - 1 - omega) / (k - 1)),
            ]
        )

    def success(self) -> float:
        return self.p / self.omega

    @property
    def rounds_route(self) -> str:  # type: ignore[override]  # depends on the size of the sets
        """How `rounds_success` is computed; the counts of several values in one set have no simple
        exact distribution, therefore such rounds are simulated."""
        return "convolve" if self.omega == 1 else "simulate"

    def rounds_success(self, tau: int) -> float | None:
        alone = self.omega == 1  # the set is a response
        return Response(self.k, self.p, self.q).rounds_success(tau) if alone else None

    def simulated(self, trials: int, truth: bool, tau: int, rng: Rng) -> int:
        """Sample `Rounds.guess_count` of `tau` rounds."""
        state = first_state(rng)
        return rounds_won(trials, self.k, self.omega, self.p, tau, bool(truth), state)

    @property
    def outputs(self) -> int:
        return math.comb(self.k, self.omega)

    @property
    def reports(self) -> Array:
        return np.array(list(itertools.combinations(range(self.k), self.omega)))

    def distribution(self, value: int, positions: Iterable[int] | None = None) -> Array:
        k, omega = self.k, self.omega
        alphabet(self.outputs, 1, "take a smaller domain")
        member = self.supports(self.reports, value)
        return np.where(
            member, self.p / math.comb(k - 1, omega - 1), (1 - self.p) / math.comb(k - 1, omega)
        )

    def most(self, targets: int) -> int:
        return min(targets, self.omega)

    def craft(self, targets: int, count: int, rng: Rng, tries: int) -> tuple[Array, int]:
        supported = self.most(targets)
        rest = self.omega - supported
        subsets = [
            np.append(
                rng.choice(targets, supported, replace=False),
                targets + rng.choice(self.k - targets, rest, replace=False),
            )
            for _ in range(count)
        ]
        return rng.permuted(np.array(subsets), axis=1), supported
