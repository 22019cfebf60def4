"""Unary encoding: one bit per value, each flipped independently."""

import functools
import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from .. import checks
from ..jit import kernel
from ..reports import IndependentBits
from ..rng import State, first_state, next_uniform, next_word
from ..types import Array, ArrayLike, Numbers, Rng
from .base import Delta, Domain, Epsilon, SupportOracle

__all__ = ["UnaryEncoding", "SUE", "OUE", "AUE", "ASUE", "FaultyUE", "other_rate"]


@functools.lru_cache(maxsize=64)
def _digits(rate: float) -> Array:
    """All binary digits of a rate in [0, 1); there are finitely many, since doubling loses none."""
    found = []
    while rate > 0:
        rate *= 2
        found.append(rate >= 1)
        rate -= rate >= 1
    return np.array(found, np.bool_)


@kernel
def _ones(values: Array, k: int, own: float, digits: Array, state: State) -> Array:
    """Bits of 64 places at a time: digit by digit, a random word leaves the places undecided whose
    digits are equal so far."""
    n, lowest, every = values.size, np.uint64(0x0101010101010101), ~np.uint64(0)
    out = np.empty((n * k + 63) // 64 * 8, np.uint64)
    all_places = np.where(digits, every, np.uint64(0))  # no branch on a digit
    for w in range(0, out.size, 8):
        ones, undecided = np.uint64(0), every
        for digit in all_places:
            word, state = next_word(state)
            ones |= undecided & digit & ~word
            undecided &= ~(digit ^ word)
            if undecided == 0:
                break
        for place in range(8):  # one bit to a byte; all are alike, so any order will do
            out[w + place] = (ones >> np.uint64(place)) & lowest
    bits = out.view(np.uint8)[: n * k].reshape(n, k)
    for i in range(n):
        if values[i] >= 0:
            u, state = next_uniform(state)
            bits[i, values[i]] = u < own
    return bits


def _bits(values: Array, k: int, own: float, other: float, rng: Rng) -> Array:
    """Independent bits: `own` is the chance of a one at the user's value, if it is not -1, and
    `other` elsewhere."""
    return _ones(values, k, own, _digits(other), first_state(rng))


class UnaryEncoding(SupportOracle):
    """Base of all protocols whose report is a vector of independent bits with rates `p` and `q`."""

    @property
    def report_type(self) -> IndependentBits:
        """Independent bits."""
        return IndependentBits(self.k, self.p, self.q)

    def perturb(self, values: ArrayLike, rng: Rng) -> Array:
        """Return bit vectors, uint8 array (n, k); see `Mechanism.perturb`."""
        return _bits(self._users(values, rng), self.k, self.p, self.q, rng)


@dataclass(frozen=True)
class SUE(UnaryEncoding):
    """Symmetric unary encoding: keep every bit with the same probability (basic RAPPOR).

    Parameters
    ----------
    k : int
        Domain size, at least 2.
    epsilon : float
        Privacy budget, in [1e-6, 30].

    Notes
    -----
    ``p = e^(eps/2) / (e^(eps/2) + 1)``, ``q = 1 - p`` (Erlingsson et al. 2014).
    """

    k: Domain
    epsilon: Epsilon
    name = "SUE"
    exact = True

    @property
    def p(self) -> float:
        """Probability of a one at the true value."""
        return 1 / (1 + math.exp(-self.epsilon / 2))

    @property
    def q(self) -> float:
        """Probability of a one at any other value."""
        return math.exp(-self.epsilon / 2) * self.p


@dataclass(frozen=True)
class OUE(UnaryEncoding):
    """Optimised unary encoding: a fair coin at the true value, few ones elsewhere.

    Parameters
    ----------
    k : int
        Domain size, at least 2.
    epsilon : float
        Privacy budget, in [1e-6, 30].

    Notes
    -----
    ``p = 1/2``, ``q = 1 / (e^eps + 1)`` (Wang et al. 2017).
    """

    k: Domain
    epsilon: Epsilon
    name = "OUE"
    exact = True

    @property
    def p(self) -> float:
        """Probability of a one at the true value."""
        return 0.5

    @property
    def q(self) -> float:
        """Probability of a one at any other value."""
        return math.exp(-self.epsilon) / (1 + math.exp(-self.epsilon))


def other_rate(p: Numbers, epsilon: float) -> Numbers:
    """Probability of a one at any other value that makes bits with rate `p` at the true one exactly
    epsilon-LDP."""
    return p / (p + math.exp(epsilon) * (1 - p))


@dataclass(frozen=True)
class AUE(UnaryEncoding):
    """Adaptive unary encoding: the rate of the true bit is chosen, see `ldpkit.refine`.

    Parameters
    ----------
    k : int
        Domain size, at least 2.
    epsilon : float
        Privacy budget, in [1e-6, 30].
    p : float
        Probability of a one at the true value, in (0, 1); 1/2 gives OUE. It
        must differ from `q` by 1e-12 or more: nearer rates are rounding.

    Notes
    -----
    ``q = p / (p + e^eps (1 - p))``, so that ``eps = ln(p (1 - q) / (q (1 - p)))``
    (attack-aware refinement, section 4).
    """

    k: Domain
    epsilon: Epsilon
    p: Annotated[float, checks.rule(checks.real, 0, 1, closed="()")]
    name = "AUE"
    exact = True

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.need(
            self.p - self.q >= 1e-12,
            f"p must exceed q = {self.q:g} by at least 1e-12 at epsilon = {self.epsilon:g}, got"
            f" {self.p!r}",
        )

    @property
    def q(self) -> float:
        """Probability of a one at any other value."""
        return other_rate(self.p, self.epsilon)


@dataclass(frozen=True)
class ASUE(UnaryEncoding):
    """Approximate symmetric unary encoding.

    Parameters
    ----------
    k, epsilon
        As in `SUE`.
    delta : float
        Probability with which the guarantee may fail, in (0, 1).

    Notes
    -----
    With ``R = sqrt(e^eps (1 - delta) + delta)``: ``p = (e^eps - R) / (e^eps - 1)`` and
    ``q = (R - 1) / (e^eps - 1) = 1 - p`` (LDP-Auditor, section 2).
    """

    k: Domain
    epsilon: Epsilon
    delta: Delta
    name = "ASUE"
    exact = True

    @property
    def p(self) -> float:
        """Probability of a one at the true value."""
        return 1 - self.q

    @property
    def q(self) -> float:
        """Probability of a one at any other value."""
        # (R - 1) / (E - 1) with R^2 - 1 = (E - 1)(1 - delta): no difference of near numbers
        return (1 - self.delta) / (
            1 + math.sqrt(math.exp(self.epsilon) * (1 - self.delta) + self.delta)
        )


@dataclass(frozen=True)
class FaultyUE(UnaryEncoding):
    """Unary encoding as shipped by pure-ldp 1.1.2, which leaks more than it claims: the own bit is
    drawn twice.

    Its client first flips all bits, the own one included, as if they were zero
    and then sets the own bit again with probability `p`, without clearing it.
    The own bit is therefore the OR of two draws, and the report leaks more than
    the claimed epsilon.

    Parameters
    ----------
    k, epsilon
        As in `SUE`; epsilon is the **claimed** budget.
    protocol : {"SUE", "OUE"}
        Which probabilities the client meant to use.

    Notes
    -----
    True loss ``ln(p' (1 - q) / (q (1 - p')))`` with ``p' = p + q - p q``.
    """

    k: Domain
    epsilon: Epsilon
    protocol: Annotated[str, checks.rule(checks.one_of, ("SUE", "OUE"))] = "SUE"
    name = "FaultyUE"
    exact = True

    @property
    def _meant(self) -> UnaryEncoding:
        return {"SUE": SUE, "OUE": OUE}[self.protocol](self.k, self.epsilon)

    @property
    def p(self) -> float:
        """Probability of a one at the true value, after the double draw."""
        return self._meant.p + self.q - self._meant.p * self.q

    @property
    def q(self) -> float:
        """Probability of a one at any other value."""
        return self._meant.q

    @property
    def true_epsilon(self) -> float:
        """The privacy loss of the reports as they are."""
        return math.log(self.p * (1 - self.q) / (self.q * (1 - self.p)))
