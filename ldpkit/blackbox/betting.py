"""Bets against a claim of local differential privacy, whose evidence is valid at every stopping
time.

If the claim holds, each bet multiplies the wealth by a factor whose mean is at most 1. Therefore
the wealth reaches ``1 / alpha`` at any time with probability at most alpha (Ville's inequality).
Wealth of at least ``1 / alpha`` refutes the claim at level alpha, no matter how often and how long
the wealth was watched.

A bet is on single reports or on pairs of reports. A live client makes one report about an input
that a fair coin chose. The report is of the first or of the second input, and lies in the event or
not. These are the four *symbols* of a report, numbered ``2 * second + shown``. Recordings have no
coin, therefore bets on recordings are on a *pair*, that is, on one report of each input. The event
happens in the first report, in the second, in both or in neither. These are the four symbols of a
pair, numbered ``2 * first + second``. A bet multiplies the wealth by one factor per symbol. Several
bets divide the initial stake among them and make a mixture.

Bets with one coin per report need no assumption of independence. The coin is fair regardless of all
previous reports. Therefore the factor's mean is at most 1, even for a client with a memory, if the
claim holds for each report given all previous reports.

Sources: Ville (1939); Ramdas, Grunwald, Vovk and Shafer, "Game-theoretic statistics and safe
anytime-valid inference", 2023; Turner, Ly and Grunwald, "Generic E-variables for exact sequential
k-sample tests", 2024; Gonzalez et al., "Sequentially auditing differential privacy", 2025.
"""

import math
from typing import Annotated

import numpy as np
import scipy

from .. import checks
from ..jit import deferred
from ..stats import Delta
from ..types import Array, Numbers, Rates

__all__ = ["linear", "linear_growth", "joint", "joint_growth", "soft", "STAKES"]

STAKES = np.geomspace(0.01, 0.999, 16)
"""Stakes of a mixture for unknown rates, as shares of the largest stake."""

_LEAST = 1e-12  # smallest distance of an alternative's rates from 0 and 1


Epsilon = Annotated[float, checks.rule(checks.real, 0, 700)]
Epsilons = Annotated[Numbers, checks.rule(checks.reals, 0, 700)]


@checks.checked
def linear(
    stakes: Annotated[Numbers, checks.rule(checks.reals, 0, 1, closed="[)")],
    epsilon: Epsilon,
    delta: Delta = 0.0,
    *,
    coins: bool = False,
) -> Array:
    """Factors of bets that need no independence of the two reports of a pair.

    Parameters
    ----------
    stakes : float array, shape (m,)
        Stakes in [0, 1), as shares of the largest stake ``1 / (e^epsilon + delta)``. With a larger
        stake one pair could make the wealth negative.
    epsilon, delta : float
        The claim, with epsilon in [0, 700] and delta in [0, 1).
    coins : bool
        Whether symbols are those of single reports, whose input a coin chose.

    Returns
    -------
    float array, shape (m, 4)
        For pairs, ``1 + stake (first - e^epsilon second - delta)`` by symbol. For single reports,
        ``1 + stake`` if a report of the first input lies in the event, and 1 if it does not;
        ``1 - stake (e^epsilon + delta)`` if a report of the second input lies in the event, and
        ``1 - stake delta`` if it does not.
    """
    grown = math.exp(epsilon)
    pairs = [-delta, -grown - delta, 1 - delta, 1 - grown - delta]
    won = np.array([0, 1, -delta, -grown - delta] if coins else pairs)
    return 1 + np.atleast_1d(stakes)[:, None] / (grown + delta) * won


def _symbols(p: Numbers, q: Numbers) -> Array:
    return np.array([(1 - p) * (1 - q), (1 - p) * q, p * (1 - q), p * q])


@checks.checked
def linear_growth(p: checks.Share, q: checks.Share, epsilon: Epsilon, delta: Delta = 0.0) -> Rates:
    """Largest mean logarithm of the factor of a linear bet on an event with rates `p` and `q`, and
    the stake of this bet.

    Returns
    -------
    growth, stake : float
        Growth in nats per pair of independent reports, and stake as a share of the largest stake;
        both are 0 if the rates satisfy the claim.
    """
    if p <= math.exp(epsilon) * q + delta:
        return 0.0, 0.0
    symbols = _symbols(p, q)

    def lost(share: float) -> float:
        return -float(symbols @ np.log(linear(share, epsilon, delta)[0]))

    best = scipy.optimize.minimize_scalar(lost, bounds=(0, 1 - 1e-9), method="bounded",
                                          options={"xatol": 1e-10})  # fmt: skip
    return -float(best.fun), float(best.x)


def _nearest(p: Numbers, q: Numbers, grown: Numbers, delta: float) -> tuple[Array, Array]:
    """Rates that satisfy the claim and are the hardest to distinguish from `p` and `q`, which do
    not satisfy it.

    These rates lie on the edge ``p0 = e^epsilon q0 + delta`` and minimise the sum of the two
    relative entropies. The sum is convex, therefore its derivative has one root. Without delta it
    is the smaller root of a quadratic equation; with delta it is found by 60 bisections.
    """
    if not delta:
        total, line = 2 * (p + q), 1 + grown + p + grown * q
        q0 = total / (line + np.sqrt(np.maximum(line * line - 4 * grown * total, 0)))
        q0 = np.clip(q0, q, p / grown)  # removes rounding errors
        return np.minimum(grown * q0, p), q0
    # the slope is positive just above q, and negative at the q0 with p0 = p
    low, high = np.broadcast_arrays(np.maximum(q, 1e-300), (p - delta) / grown)
    for _ in range(60):
        q0 = (low + high) / 2
        p0 = grown * q0 + delta
        up = grown * (p - p0) * q0 * (1 - q0) + (q - q0) * p0 * (1 - p0) > 0
        low, high = np.where(up, q0, low), np.where(up, high, q0)
    return grown * low + delta, low


@checks.checked
def joint_growth(p: checks.Share, q: checks.Share, epsilon: Epsilon, delta: Delta = 0.0) -> float:
    """Largest mean logarithm of the factor of any bet on one event with rates `p` and `q`, in nats
    per pair.

    The two reports of a pair must be independent. The result is 0 if the rates satisfy the claim.
    """
    grown = math.exp(epsilon)
    if p <= grown * q + delta:
        return 0.0
    p0, q0 = _nearest(p, q, grown, delta)
    entropies = scipy.special.rel_entr([p, 1 - p, q, 1 - q], [p0, 1 - p0, q0, 1 - q0])
    return float(entropies.sum())


@checks.checked
def joint(
    p: checks.Share,
    q: checks.Share,
    epsilon: Epsilons,
    delta: Delta = 0.0,
    share: Annotated[float, checks.rule(checks.real, 0, 1, closed="(]")] = 1.0,
    *,
    coins: bool = False,
) -> Array:
    """Factors of the bet whose wealth grows fastest if the event has the rates `p` and `q`.

    A factor is the likelihood ratio of these rates and the nearest rates that satisfy the claim.
    Its mean is at most 1 under every pair of rates that satisfies the claim, if the two reports of
    a pair are independent. Bets on single reports need no independence.

    Parameters
    ----------
    p, q : float
        Rates of the event under the first input and under the second, in [0, 1].
    epsilon : float or array
        Claimed epsilon, or several claims, in [0, 700].
    delta : float
        Claimed delta, in [0, 1).
    share : float
        Position of the rates bet on, in (0, 1], between the nearest rates (0) and `p` and `q` (1);
        1/2 is safer for uncertain rates.
    coins : bool
        Whether symbols are those of single reports, whose input a coin chose.

    Returns
    -------
    float array, shape (..., 4)
        Factors by symbol; 1 for claims that the rates satisfy.

    Raises
    ------
    ValueError
        If the rates satisfy the only claim, or a parameter is out of range.
    """
    p, q = (min(max(rate, _LEAST), 1 - _LEAST) for rate in (p, q))
    grown = np.exp(epsilon)
    broken = p > grown * q + delta
    if not broken.all() and broken.ndim == 0:
        raise ValueError(f"p must exceed e^epsilon q + delta = {grown * q + delta:g}, got {p:g}")
    factors = np.ones((*grown.shape, 4))
    grown = grown[broken]
    near, far = _nearest(p, q, grown, delta)
    p1, q1 = near + share * (p - near), far + share * (q - far)
    p0, q0 = (near, far) if share == 1 else _nearest(p1, q1, grown, delta)
    up, down = (p1 - p0) / (p0 * (1 - p0)), (q0 - q1) / (q0 * (1 - q0))
    # along the edge the mean is 1 + (up e^epsilon - down) t - up down e^epsilon t^2 at q0 + t, and
    # that of a single report is 1 + (up e^epsilon - down) t / 2; rounding must not lift it above 1
    with np.errstate(divide="ignore", invalid="ignore"):
        if coins:
            ratio = np.array([(1 - p1) / (1 - p0), p1 / p0, (1 - q1) / (1 - q0), q1 / q0])
            lifted = abs(up * grown - down) / 2
        else:
            ratio = _symbols(p1, q1) / _symbols(p0, q0)
            lifted = (up * grown - down) ** 2 / (4 * up * down * grown)
    sound = (up > 0) & (down > 0)
    factors[broken] = np.where(sound, ratio / (1 + lifted), 1.0 if share < 1 else ratio).T
    return factors


@checks.checked
def soft(
    likelihood: Annotated[Numbers, checks.rule(checks.reals, 0, 1)],
    balance: Annotated[Numbers, checks.rule(checks.reals, 0, 2, closed="()")],
    epsilon: Epsilons,
    delta: Delta = 0.0,
) -> tuple[Array, Array]:
    """Factors of the bet on a whole likelihood, for a report of the first input and for a report of
    the second.

    Parameters
    ----------
    likelihood : float array
        Probability, in [0, 1], that a report is of the first input, if both inputs are equally
        likely. It may be learned, even badly, because the bet is valid for any function that was
        chosen from the past only.
    balance : float or array
        Balance of the two factors, in (0, 2), which decides how fast the wealth grows; it must also
        be chosen from the past only.
    epsilon, delta : float
        The claim, with epsilon in [0, 700] and delta in [0, 1); `epsilon`, `likelihood` and
        `balance` are broadcast.

    Returns
    -------
    first, second : float arrays
        A report whose input a coin chose multiplies the wealth by ``first`` or ``second``. A pair
        multiplies the wealth by ``first[report of first] * second[report of second]`` if its
        reports are independent, and otherwise by the mean of the two numbers.

    Notes
    -----
    With ``n1, n2 >= 0`` the factors are ``balance + n1 - e^epsilon n2`` and ``2 - balance -
    e^epsilon n1 + n2``. Under the claim the mean of n1 for the first input is at most e^epsilon
    times its mean for the second input; the same holds for n2 with the inputs exchanged. Therefore
    the means of the two factors have a sum of at most 2, and a product of at most 1. With delta
    both factors are divided by ``1 + delta / e^epsilon``.
    """
    factors, given = np.vectorize(soft_factor, otypes=[float]), (likelihood, balance)
    first, second = (factors(*given, np.exp(epsilon), delta, of) for of in (False, True))
    return first, second


@deferred
def soft_factor(c: float, mu: float, grown: float, delta: float, second: bool) -> float:
    """Factor of one report of the first input, or of the `second`, with likelihood `c` and balance
    `mu`; see `soft`."""
    kappa = 2 - mu
    if (1 - c) * mu < grown * kappa * c:
        one = max(mu, c * (grown * mu + kappa) / grown)
        two = min(kappa, (1 - c) * (grown * mu + kappa))
    else:
        one = c * (mu + grown * kappa)
        two = (1 - c) * (mu + grown * kappa) / grown
    return (two if second else one) / (1 + delta / grown)
