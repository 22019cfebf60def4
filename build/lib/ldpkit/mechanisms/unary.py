"""One bit per value: unary encodings, which flip each bit independently, and histograms with noise
that are thresholded to bits."""

import functools
import math
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
import scipy

from .. import checks
from ..jit import kernel
from ..reports import IndependentBits
from ..rng import State, first_state, next_uniform, next_word
from ..types import Array, ArrayLike, Numbers, Rng
from .base import Delta, Domain, Epsilon, FrequencyOracle, exact_distribution

__all__ = [
    "UnaryEncoding", "SUE", "OUE", "AUE", "ASUE", "FaultyUE", "other_rate",
    "THE", "ATHE", "threshold_rates", "thresholded",
]  # fmt: skip


@functools.lru_cache(maxsize=64)
def _digits(rate: float) -> Array:
    """All binary digits of a rate in [0, 1); a double has finitely many."""
    numerator, denominator = rate.as_integer_ratio()  # the denominator is a power of two
    digits = f"{numerator:b}".zfill(denominator.bit_length() - 1)
    return np.array([digit == "1" for digit in digits], np.bool_)


@kernel
def _ones(values: Array, k: int, own: float, digits: Array, state: State) -> Array:
    """Sample bits for 64 places at a time, uint8 array (n, k).

    Each place compares the binary digits of a uniform number with `digits`, those of the rate. One
    random word holds one digit of 64 uniform numbers. A place stays undecided while all digits so
    far are equal.
    """
    n, lowest, every = values.size, np.uint64(0x0101010101010101), ~np.uint64(0)
    out = np.empty((n * k + 63) // 64 * 8, np.uint64)
    all_places = np.where(digits, every, np.uint64(0))  # avoids a branch on a digit
    for w in range(0, out.size, 8):
        ones, undecided = np.uint64(0), every
        for digit in all_places:
            word, state = next_word(state)
            ones |= undecided & digit & ~word
            undecided &= ~(digit ^ word)
            if undecided == 0:
                break
        for place in range(8):  # one bit per byte, in any order, because all places are alike
            out[w + place] = (ones >> np.uint64(place)) & lowest
    bits = out.view(np.uint8)[: n * k].reshape(n, k)
    for i in range(n):
        if values[i] >= 0:
            u, state = next_uniform(state)
            bits[i, values[i]] = u < own
    return bits


def _bits(values: Array, k: int, own: float, other: float, rng: Rng) -> Array:
    """Sample independent bits, uint8 array (n, k): the probability of a one is `own` at the user's
    value, and `other` elsewhere; a user with the value -1 has only other bits."""
    return _ones(values, k, own, _digits(other), first_state(rng))


@dataclass(frozen=True)
class UnaryEncoding(FrequencyOracle):
    """Base of all protocols whose report is a vector of independent bits with rates `p` and `q`."""

    k: Domain
    epsilon: Epsilon

    def perturb(self, values: ArrayLike, rng: Rng) -> Array:
        """Return bit vectors, uint8 array (n, k); see `Mechanism.perturb`."""
        return _bits(self._users(values, rng), self.k, self.p, self.q, rng)


@exact_distribution
@dataclass(frozen=True)
class SUE(UnaryEncoding):
    """Symmetric unary encoding (basic RAPPOR): every bit is kept with the same probability.

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

    @functools.cached_property
    def report_type(self) -> IndependentBits:
        """Independent bits."""
        p = 1 / (1 + math.exp(-self.epsilon / 2))
        q = math.exp(-self.epsilon / 2) * p
        return IndependentBits(self.k, p, q, absent=q)


@exact_distribution
@dataclass(frozen=True)
class OUE(UnaryEncoding):
    """Optimised unary encoding: a fair coin at the true value, and few ones elsewhere.

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

    @functools.cached_property
    def report_type(self) -> IndependentBits:
        """Independent bits."""
        return IndependentBits(self.k, 0.5, math.exp(-self.epsilon) / (1 + math.exp(-self.epsilon)))


def other_rate(p: Numbers, epsilon: float) -> Numbers:
    """Probability of a one at any other value for which bits with rate `p` at the true value are
    exactly epsilon-LDP."""
    return p / (p + math.exp(epsilon) * (1 - p))


@exact_distribution
@dataclass(frozen=True)
class AUE(UnaryEncoding):
    """Adaptive unary encoding with a free rate of the true bit, which `ldpkit.refine` chooses.

    Parameters
    ----------
    k : int
        Domain size, at least 2.
    epsilon : float
        Privacy budget, in [1e-6, 30].
    p : float
        Probability of a one at the true value, in (0, 1); 1/2 gives OUE. It must exceed `q` by at
        least 1e-12, because smaller differences are rounding errors.

    Notes
    -----
    ``q = p / (p + e^eps (1 - p))``, so that ``eps = ln(p (1 - q) / (q (1 - p)))``
    (attack-aware refinement, section 4).
    """

    p: Annotated[
        float,
        checks.rule(checks.real, 0, 1, closed="()"),
        "Probability of a one at the true value, in (0, 1); 1/2 gives OUE.",
    ] = field()  # no default

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.need(
            self.p - self.q >= 1e-12,
            f"p must exceed q = {self.q:g} by at least 1e-12 at epsilon = {self.epsilon:g}, got"
            f" {self.p!r}",
        )

    @functools.cached_property
    def report_type(self) -> IndependentBits:
        """Independent bits."""
        return IndependentBits(self.k, self.p, other_rate(self.p, self.epsilon))


@exact_distribution
@dataclass(frozen=True)
class ASUE(UnaryEncoding):
    """Approximate symmetric unary encoding: `SUE` for (epsilon, delta)-LDP.

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

    delta: Delta

    @functools.cached_property
    def report_type(self) -> IndependentBits:
        """Independent bits."""
        # (R - 1) / (E - 1) with R^2 - 1 = (E - 1)(1 - delta) avoids a difference of near numbers
        kept = 1 - self.delta
        q = kept / (1 + math.sqrt(math.exp(self.epsilon) * kept + self.delta))
        return IndependentBits(self.k, 1 - q, q, absent=q)


@exact_distribution
@dataclass(frozen=True)
class FaultyUE(UnaryEncoding):
    """Unary encoding of pure-ldp 1.1.2, which leaks more than it claims, because the own bit is
    sampled twice.

    Its client first perturbs all bits as if they were zero, including the own bit. Then it sets the
    own bit with probability `p`, without clearing it. Therefore the own bit is the OR of two random
    bits, and a report leaks more than the claimed epsilon.

    Parameters
    ----------
    k, epsilon
        As in `SUE`; epsilon is the **claimed** budget.
    protocol : {"SUE", "OUE"}
        Protocol whose probabilities the client intends to use.

    Notes
    -----
    The true loss is ``ln(p' (1 - q) / (q (1 - p')))`` with ``p' = p + q - p q``.
    """

    protocol: Annotated[str, checks.rule(checks.one_of, ("SUE", "OUE"))] = "SUE"

    @functools.cached_property
    def report_type(self) -> IndependentBits:
        """Independent bits, of which the own bit is sampled twice."""
        family: dict[str, type[SUE | OUE]] = {"SUE": SUE, "OUE": OUE}
        intended = family[self.protocol](self.k, self.epsilon).report_type
        p, q = intended.p, intended.q
        return IndependentBits(self.k, p + q - p * q, q, absent=intended.absent * (1 - q))

    @property
    def true_epsilon(self) -> float:
        """The true privacy loss of the reports."""
        return self.report_type.loss((0, 1))


# --- thresholded histograms


def threshold_rates(epsilon: float, theta: Numbers) -> tuple[Numbers, Numbers]:
    """Probabilities that the noisy coordinate of the true value, and that of any other value,
    exceeds `theta`, which lies in [0, 1]."""
    return 1 - np.exp(epsilon * (theta - 1) / 2) / 2, np.exp(-epsilon * theta / 2) / 2


def thresholded(mechanism: "THE | ATHE") -> IndependentBits:
    """Which noisy coordinates exceed the threshold `theta`: independent bits.

    The coordinates are independent, therefore independent bits with the probabilities of exceeding
    the threshold have the same distribution. The client samples such bits. Tests compare them with
    bits that are made from the noise of `SHE`.
    """
    epsilon, theta = mechanism.epsilon, mechanism.theta
    p, q = map(float, threshold_rates(epsilon, theta))
    return IndependentBits(mechanism.k, p, q, absent=math.exp(epsilon * (theta - 1) / 2) / 2)


@exact_distribution
@dataclass(frozen=True)
class THE(UnaryEncoding):
    """Thresholding with histogram encoding: which noisy coordinates exceed a threshold.

    Parameters
    ----------
    k : int
        Domain size, at least 2.
    epsilon : float
        Privacy budget, in [1e-6, 30], of the noisy vector. The bits alone satisfy the smaller
        ``ln(p (1 - q) / (q (1 - p)))``.

    Notes
    -----
    The threshold minimises the estimator's variance over [1/2, 1] (Wang et al. 2017). It is found
    by bounded Brent search with SciPy's default tolerance, as in the audited code.
    """

    report_type = functools.cached_property(thresholded)

    @functools.cached_property
    def theta(self) -> float:
        """Threshold."""
        half = self.epsilon / 2

        def variance(t: float) -> float:
            # Wang et al.'s expression, expanded so that nothing overflows
            low = math.exp(-half * t)
            return low * (2 - low) / (low + math.exp(half * (t - 1)) - 2) ** 2

        return float(scipy.optimize.minimize_scalar(variance, bounds=(0.5, 1), method="bounded").x)


@exact_distribution
@dataclass(frozen=True)
class ATHE(UnaryEncoding):
    """Adaptive thresholding with a free threshold, which `ldpkit.refine.refine` chooses.

    Parameters
    ----------
    k : int
        Domain size, at least 2.
    epsilon : float
        Privacy budget, in [1e-6, 30], of the noisy vector; see `THE`.
    theta : float
        Threshold, in [0, 1]; the paper searches it in [1/2, 1].

    Notes
    -----
    Attack-aware refinement, section 4.
    """

    theta: Annotated[checks.Share, "Threshold, in [0, 1]; the paper searches it in [1/2, 1]."]
    report_type = functools.cached_property(thresholded)
