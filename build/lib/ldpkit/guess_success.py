"""Exact success probabilities of the guess: closed forms and one-dimensional integrals.

Let A be the probability that the guess is the true value. If a mechanism treats all values alike,
the true-positive rate is A and the false-positive rate is (1 - A) / (k - 1). If A is near 1, the
difference 1 - A has few digits. Therefore each function for A has a counterpart that computes 1 - A
from positive terms.
"""

import functools
import math
from collections.abc import Callable
from typing import Annotated

import numpy as np
import scipy

from . import checks
from .stats import binomial_window
from .types import Array, Numbers

# fmt: off
__all__ = [
    "mean_reciprocal", "mean_fraction", "support_success", "support_failure", "laplace_success",
    "laplace_failure", "gaussian_success", "gaussian_failure", "binomial", "count_wins",
    "count_losses", "response_wins", "laplace_sum", "laplace_sum_success", "laplace_sum_failure",
    "grid_success", "grid_failure", "rounded_tails"
]
# fmt: on

Domain = Annotated[int, checks.rule(checks.integer, 2)]
Reports = Annotated[int, checks.rule(checks.integer, 1)]
Scale = Annotated[float, checks.rule(checks.real, 0, closed="()")]
Rates = Annotated[Numbers, checks.rule(checks.reals, 0, 1)]


@checks.checked
def mean_reciprocal(n: Annotated[Numbers, checks.rule(checks.reals, 0)], q: Rates) -> Numbers:
    """``E[1 / (1 + Binomial(n, q))]`` for n >= 0 and q in [0, 1], accurate for tiny q."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(
            np.equal(q, 0),
            1.0,
            -np.expm1((n + 1) * np.log1p(np.negative(q))) / np.multiply(n + 1, q),
        )[()]


@checks.checked
def mean_fraction(n: Annotated[Numbers, checks.rule(checks.reals, 0)], q: Rates) -> Numbers:
    """``E[B / (1 + B)]`` for ``B ~ Binomial(n, q)``, which is 1 - `mean_reciprocal`, accurate for
    tiny q."""
    term: Numbers = np.multiply(n, q) / 2
    total = term
    for j in range(2, 20):  # a series in q, whose terms fall faster than 1 / j! where it is used
        term = term * (j - 1 - np.asarray(n)) * q / (j + 1)
        total = total + term
    return np.where(np.multiply(n + 1, q) > 1, 1 - mean_reciprocal(n, q), total)[()]


@checks.checked
def support_success(
    p: Rates, q: Annotated[Numbers, checks.rule(checks.reals, 0, 1, closed="[)")], k: Domain
) -> Numbers:
    """Probability that a uniform element of the support set is the true value.

    The set contains the true value with probability `p`, and each of the other ``k - 1`` values
    independently with probability `q`. For an empty set the guess is uniform over the domain. This
    holds for unary encodings and, with ``q = 1/g``, for local hashing with a fully random hash.

    Parameters
    ----------
    p, q : float or array
        Support probabilities, ``0 <= p <= 1`` and ``0 <= q < 1``.
    k : int
        Domain size, at least 2.
    """
    return p * mean_reciprocal(k - 1, q) + (1 - p) * np.exp((k - 1) * np.log1p(-q)) / k


@checks.checked
def support_failure(
    p: Rates, q: Annotated[Numbers, checks.rule(checks.reals, 0, 1, closed="[)")], k: Domain,
    absent: Rates,
) -> Numbers:  # fmt: skip
    """Probability that a uniform element of the support set is not the true value.

    The set contains the true value with probability `p`, and does not with probability `absent`;
    otherwise as in `support_success`.
    """
    return p * mean_fraction(k - 1, q) + absent * (1 - np.exp((k - 1) * np.log1p(-q)) / k)


legendre = functools.cache(np.polynomial.legendre.leggauss)
"""Nodes and weights of a Gauss-Legendre rule on [-1, 1] of a given order."""


def _panels(low: float, high: float, count: int, order: int = 64) -> tuple[Array, Array]:
    """Nodes and weights of Gauss-Legendre quadrature on panels of equal length, both (count,
    order)."""
    nodes, weights = legendre(order)
    edges = np.linspace(low, high, count + 1)
    half = np.diff(edges)[:, None] / 2
    return edges[:-1, None] + half * (nodes + 1), half * weights


@checks.checked
def laplace_success(scale: Scale, k: Domain) -> float:
    """Probability that one Laplace variable plus 1 is the largest of k Laplace variables.

    Parameters
    ----------
    scale : float
        Scale of the Laplace noise, positive.
    k : int
        Number of variables, at least 2.

    Notes
    -----
    The sum has three parts: the shifted variable lies above 1, between 0 and 1, or below 0. The
    middle part is integrated over the logarithm of the survival function by Gauss-Legendre panels.
    In the code ``c = exp(-1 / scale)``.
    """
    c, u, weights = _shifted(scale)
    middle = (weights * np.exp((k - 1) * np.log1p(-u)) / u).sum()
    return mean_reciprocal(k - 1, c / 2) / 2 + c * middle / 4 + c * 2.0**-k / k


@checks.checked
def laplace_failure(scale: Scale, k: Domain) -> float:
    """Probability that one of k - 1 Laplace variables is larger than another one plus 1; see
    `laplace_success`."""
    c, u, weights = _shifted(scale)
    middle = (weights * -np.expm1((k - 1) * np.log1p(-u)) / u).sum()
    return mean_fraction(k - 1, c / 2) / 2 + c * middle / 4 + c * (0.5 - 2.0**-k / k)


def _shifted(scale: float) -> tuple[float, Array, Array]:
    """``exp(-1 / scale)``, and the survival function at nodes between 0 and 1 with weights."""
    c = math.exp(-1 / scale)
    log_u, weights = _panels(math.log(c / 2), math.log(0.5), 8, order=200)
    return c, np.exp(log_u), weights


Grid = Annotated[float, checks.rule(checks.real, 0)]


@checks.checked
def gaussian_success(sigma: Scale, k: Domain, grid: Grid = 0.0) -> float:
    """Probability that one Gaussian variable plus 1 is the largest of k Gaussian variables with
    standard deviation `sigma`.

    Parameters
    ----------
    sigma, k
        As in `laplace_success`.
    grid : float
        Step of the grid to which all variables are rounded, at least 0; 0 means no rounding. A
        positive step divides 1, and ties are broken uniformly.

    Notes
    -----
    The sum over the grid is computed as an integral. For a smooth density the two differ by less
    than ``e^-(2 pi sigma / grid)^2``.
    """
    return _gaussian(sigma, k, grid, _wins)


@checks.checked
def gaussian_failure(sigma: Scale, k: Domain, grid: Grid = 0.0) -> float:
    """Probability that one Gaussian variable plus 1 is not the largest; see `gaussian_success`."""
    return _gaussian(sigma, k, grid, _losses)


def _gaussian(sigma: float, k: int, grid: float, chances: Callable[..., Array]) -> float:
    cell, (z, weights) = grid / sigma, _panels(-12, 12, 40)
    density, mass = np.exp(-z * z / 2) / math.sqrt(2 * math.pi), np.zeros_like(z)
    if cell:
        density, mass = (_cell_mean(at, cell) for at in (z, z + 1 / sigma))
    log_cdf = scipy.special.log_ndtr(z + 1 / sigma + cell / 2)
    return float((weights * density * chances(log_cdf, cell * mass, k)).sum())


def _cell_mean(z: Array, cell: float) -> Array:
    """Mean of the normal density over cells of length `cell` around the places z."""
    nodes, weights = legendre(4)
    places = z[..., None] + cell / 2 * nodes
    return np.exp(-(places**2) / 2) @ weights / math.sqrt(8 * math.pi)


@checks.checked
def rounded_tails(
    threshold: Annotated[float, checks.rule(checks.real)],
    shift: Annotated[float, checks.rule(checks.real, 0)],
    grid: Scale,
) -> tuple[float, float]:
    """Probabilities that the difference of two Gaussian variables on a grid reaches a threshold,
    first with mean 1 and then with mean -1.

    Parameters
    ----------
    threshold : float
        Threshold in standard deviations of the difference before rounding.
    shift : float
        The mean 1 in these units.
    grid : float
        Step of the grid to which both variables are rounded; divides 1.

    Notes
    -----
    The rounded difference reaches a step of the grid with a mean probability: the mean, over all
    places between the step below and this step, of the probability that a difference without
    rounding exceeds the place.
    """
    step, (nodes, weights) = grid * shift, legendre(4)
    at = step * (math.ceil(threshold / step) - 0.5 + nodes / 2)
    one, two = (float(scipy.special.ndtr(s - at) @ weights / 2) for s in (shift, -shift))
    return one, two


@functools.lru_cache(maxsize=64)
@checks.checked
def grid_success(
    scale: Scale, k: Domain, grid: Annotated[float, checks.rule(checks.real, 2.0**-24, 1)]
) -> float:
    """Probability that the true value's number is the largest of a one-hot vector with discrete
    Laplace noise, after all numbers are clipped to [0, 1]; ties are broken uniformly.

    Parameters
    ----------
    scale, k
        As in `laplace_success`.
    grid : float
        Step of the grid, in [2^-24, 1], which divides 1. The noise is ``j grid`` with probability
        proportional to ``e^(-|j| grid / scale)``.
    """
    mass = _clipped(scale, grid)
    return float(mass[::-1] @ count_wins(mass, k))  # by symmetry the true value's mass is reversed


@functools.lru_cache(maxsize=64)
@checks.checked
def grid_failure(
    scale: Scale, k: Domain, grid: Annotated[float, checks.rule(checks.real, 2.0**-24, 1)]
) -> float:
    """Probability that the true value's number is not the largest, or loses a tie; see
    `grid_success`."""
    mass = _clipped(scale, grid)
    return float(mass[::-1] @ count_losses(mass, k))


def _clipped(scale: float, grid: float) -> Array:
    """Distribution of a number of another value after clipping, on 0, grid, ..., 1."""
    steps, fall = round(1 / grid), grid / scale
    mass = np.exp(-fall * np.arange(steps + 1)) / (1 + math.exp(-fall))
    mass[1:-1] *= -math.expm1(-fall)  # the ends keep the mass of everything beyond
    mass[0] = 1 / (1 + math.exp(-fall))
    return mass


# --- repeated collections: the guess is the value that most reports support -----------------------


@checks.checked
def binomial(tau: Reports, rate: float) -> Array:
    """Distribution ``Binomial(tau, rate)`` on 0..tau, float array (tau + 1,); probabilities beyond
    12 standard deviations are set to 0."""
    counts, mass = binomial_window(tau, rate, width=12.0)
    full = np.zeros(tau + 1)
    full[counts] = mass
    return full


@checks.checked
def count_wins(mass: Annotated[Array, checks.rule(checks.reals, 0)], k: Domain) -> Array:
    """Probability that the own value wins with each count, if the other ``k - 1`` counts are
    independent and have the distribution `mass`.

    The value with the largest count wins, and ties are broken uniformly.

    Parameters
    ----------
    mass : float array, shape (tau + 1,)
        Probabilities of the counts 0..tau of one other value.
    k : int
        Domain size, at least 2.
    """
    return _wins(_log_cdf(mass), mass, k)


@checks.checked
def count_losses(mass: Annotated[Array, checks.rule(checks.reals, 0)], k: Domain) -> Array:
    """Probability that the own value loses with each count; parameters as in `count_wins`."""
    return _losses(_log_cdf(mass), mass, k)


def _log_cdf(mass: Array) -> Array:
    """Logarithm of the distribution function of a count with probabilities `mass`."""
    checks.need(
        mass.ndim == 1 and abs(mass.sum() - 1) <= 1e-9,
        f"mass must sum to 1, got {mass.sum():g} in shape {mass.shape}",
    )
    above = np.append(np.cumsum(mass[:0:-1])[::-1], 0.0)  # adds small terms first: exact tails
    return np.where(
        above < 0.5, np.log1p(-np.minimum(above, 0.5)), np.log(np.maximum(np.cumsum(mass), 1e-320))
    )


def _wins(log_cdf: Array, mass: Array, k: int) -> Array:
    """Probability of winning with values at which the distribution of each other value has the
    logarithmic distribution function `log_cdf` and the mass `mass`."""
    share = np.clip(mass / np.exp(log_cdf), 0, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ties = np.where(share > 0, -np.expm1(k * np.log1p(-share)) / (k * share), 1.0)
    return np.exp((k - 1) * log_cdf) * ties


def _losses(log_cdf: Array, mass: Array, k: int) -> Array:
    """The opposite of `_wins`: another value is larger, or ties and is chosen."""
    share = np.clip(mass / np.exp(log_cdf), 0, 1)
    none_above = np.exp((k - 1) * log_cdf)
    return -np.expm1((k - 1) * log_cdf) + none_above * mean_fraction(k - 1, share)


@functools.lru_cache(maxsize=64)
@checks.checked
def response_wins(k: Domain, tau: Reports) -> Array:
    """Probability that the own value wins with each count 0..tau, if the rest of tau reports is
    uniform on the other k - 1 values.

    This is the case of GRR. The other counts are multinomial, therefore the sum over them is
    computed by generating functions with Poisson weights, whose terms are all positive. A doubling
    rule adds the terms for all numbers of tied values in ``log2(k)`` steps. The result depends on
    `k` and `tau` only.
    """
    if k == 2:  # a majority, without rounding: at the ceiling of an audit all protocols are equal
        return np.sign(2 * np.arange(tau + 1) - tau) / 2 + 0.5
    wins = np.zeros(tau + 1)
    wins[tau] = 1.0
    for c in range(-(-tau // k), tau):
        m = tau - c
        # from here on no other value reaches the own count
        if (k - 1) * scipy.special.bdtrc(c - 1, m, 1 / (k - 1)) < 1e-17:
            wins[c:] = 1.0
            break
        counts, mean = np.arange(m + 1), m / (k - 1)
        weights = np.exp(
            scipy.special.xlogy(counts, mean) - mean - scipy.special.gammaln(counts + 1)
        )
        a, b = np.where(counts <= c, weights, 0), np.where(counts < c, weights, 0)
        one, total = np.append(1.0, np.zeros(m)), np.zeros(m + 1)
        power_a, power_b = one, one  # a^n and b^n at n = 0, and total = sum of a^i b^(n-1-i)
        for bit in bin(k)[2:]:
            total = np.convolve(total, power_a + power_b)[: m + 1]
            power_a, power_b = (np.convolve(x, x)[: m + 1] for x in (power_a, power_b))
            if bit == "1":
                total = np.convolve(a, total)[: m + 1] + power_b
                power_a, power_b = (
                    np.convolve(a, power_a)[: m + 1],
                    np.convolve(b, power_b)[: m + 1],
                )
        poisson = math.exp(m * math.log(m) - m - math.lgamma(m + 1))
        wins[c] = total[m] / (k * poisson)
    return np.minimum(wins, 1.0)  # the ratio may round up


@functools.lru_cache(maxsize=16)
@checks.checked
def laplace_sum(tau: Reports) -> tuple[Array, Array, Array]:
    """Logarithms of the survival function and the density of the sum of `tau` unit Laplace
    variables, on a grid of numbers x >= 0.

    Returns
    -------
    x, log_survival, log_density : float arrays
        ``x`` ends where the survival function is about 1e-40.

    Notes
    -----
    The sum is a difference of two Gamma(tau) variables. For ``x >= 0`` its survival function is a
    mixture of Gamma(tau - j) tails with negative binomial weights.
    """
    x = np.linspace(0, 14 * math.sqrt(2 * tau) + 20, 4001)
    j = np.arange(tau)
    log_w = (
        scipy.special.gammaln(tau + j)
        - scipy.special.gammaln(tau)
        - scipy.special.gammaln(j + 1)
        - (tau + j) * math.log(2)
    )
    survival, density, tail = np.zeros_like(x), np.zeros_like(x), np.zeros_like(x)
    # from the smallest shape, because each tail is the previous tail plus one term
    for weight, shape in zip(np.exp(log_w)[::-1], tau - j[::-1]):
        term = np.exp(scipy.special.xlogy(shape - 1, x) - x - scipy.special.gammaln(shape))
        tail += term
        survival += weight * tail
        density += weight * term
    return x, np.log(survival), np.log(density)


@checks.checked
def laplace_sum_success(
    tau: Reports, k: Domain, shift: Annotated[float, checks.rule(checks.real, 0)]
) -> float:
    """Probability that a sum of `tau` unit Laplace variables plus `shift` is the largest of k such
    sums."""
    # the sum may round up
    return min(1.0, _laplace_sum(tau, k, shift, lambda log_cdf: np.exp((k - 1) * log_cdf)))


@checks.checked
def laplace_sum_failure(
    tau: Reports, k: Domain, shift: Annotated[float, checks.rule(checks.real, 0)]
) -> float:
    """Probability that a sum of `tau` unit Laplace variables plus `shift` is not the largest of k
    such sums."""
    return _laplace_sum(tau, k, shift, lambda log_cdf: -np.expm1((k - 1) * log_cdf))


def _laplace_sum(tau: int, k: int, shift: float, chances: Callable[[Array], Array]) -> float:
    x, log_survival, log_density = laplace_sum(tau)
    survival, density = (scipy.interpolate.CubicSpline(x, y) for y in (log_survival, log_density))
    total = 0.0
    for low, high in ((-x[-1], -shift), (-shift, 0.0), (0.0, x[-1])):
        if high <= low:
            continue
        s, weights = _panels(low, high, 24)
        at = s + shift
        tail = np.where(np.abs(at) <= x[-1], np.exp(survival(np.minimum(np.abs(at), x[-1]))), 0.0)
        log_cdf = np.where(at >= 0, np.log1p(-tail), np.log(np.maximum(tail, 1e-300)))
        total += (weights * np.exp(density(np.abs(s))) * chances(log_cdf)).sum()
    return float(total)
