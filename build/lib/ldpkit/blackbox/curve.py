"""Claims that are trade-off curves: how much an event may tell for every rate of false alarms.

Let q and p be the probabilities of an event with the second and with the first input. A claim
bounds p by a concave function F of q. In the words of hypothesis testing q is the rate of false
alarms, and ``1 - F(q)`` is the least rate of misses. A claim is stored as lines ``p <= e^epsilon q
+ delta``. One line is (epsilon, delta)-LDP, and the smallest of all lines is F.

The lines of a smooth curve are its tangents. Finitely many tangents allow a little more than the
curve. Therefore an audit of the lines is valid for the curve.

Sources: Dong, Roth and Su, "Gaussian differential privacy", 2022; Wasserman and Zhou, "A
statistical framework for differential privacy", 2010.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import scipy
from numpy.typing import ArrayLike

from .. import checks
from ..stats import Delta
from ..types import Array, Numbers, Pair, Rates, Row, Word

if TYPE_CHECKING:
    from ..beyond.finite import FiniteMechanism

__all__ = [
    "Curve", "CURVES", "approx", "gdp", "gdp_delta", "grr", "laplace", "laws", "lines", "make",
    "of", "oue", "points",
]  # fmt: skip

_UP = 1e-12  # every delta is rounded up by so much, because rounding must not make a claim stronger
_NEAR = 1e-9

Mu = Annotated[float, checks.rule(checks.real, 0, 20, closed="(]")]
Epsilon = Annotated[float, checks.rule(checks.real, 0, 700, closed="(]")]


@dataclass(frozen=True, eq=False)
class Curve:
    """A claim, stored as the lines ``p <= grown q + delta``; the functions below make it.

    Attributes
    ----------
    kind : str
        Name of the function that made it.
    parameters : dict
        The numbers given to this function.
    grown : float array (m,)
        Slopes ``e^epsilon`` of the lines, in ascending order.
    deltas : float array (m,)
        Their intercepts, rounded up.
    """

    kind: str
    parameters: Row
    grown: Array
    deltas: Array = field(repr=False)

    @classmethod
    def of(
        cls, kind: str, parameters: Row, grown: Array, deltas: Array, both: bool = True
    ) -> "Curve":
        """Return the claim of lines, without those that follow from others.

        Parameters
        ----------
        both : bool
            Whether the claim also holds with the two inputs exchanged, as in local differential
            privacy. Then the mirrored lines are added: ``1 - q <= grown (1 - p) + delta``.
        """
        if both:
            with np.errstate(divide="ignore", invalid="ignore"):
                grown, deltas = np.r_[grown, 1 / grown], np.r_[deltas, 1 - (1 - deltas) / grown]
        sound = np.isfinite(grown) & (grown > 0)
        grown, deltas = grown[sound], np.maximum(deltas[sound], np.maximum(0, 1 - grown[sound]))
        # the smallest delta is convex in grown: lines above the hull follow from others
        hull = [(0.0, 1.0)]
        for e, d in sorted(zip(grown.tolist(), (deltas + _UP).tolist())):
            while len(hull) > 1 and (
                (d - hull[-2][1]) * (hull[-1][0] - hull[-2][0])
                <= (hull[-1][1] - hull[-2][1]) * (e - hull[-2][0])
            ):
                hull.pop()
            if d < hull[-1][1]:
                hull.append((e, d))
        rest = np.array(hull[1:] or [(1.0, 1.0)])
        return cls(kind, parameters, rest[:, 0], rest[:, 1])

    @property
    def lines(self) -> list[list[float]]:
        """Slopes ``e^epsilon`` of the lines, and their deltas."""
        return [self.grown.tolist(), self.deltas.tolist()]

    def __str__(self) -> str:
        given = ", ".join(f"{name} = {value:g}" for name, value in self.parameters.items())
        return f"{self.kind}({given})" if given else f"{self.kind} of {self.grown.size} lines"

    @checks.checked
    def F(self, q: Annotated[Numbers, checks.rule(checks.reals, 0, 1)]) -> Array:
        """Return the largest probability that the claim allows at false alarm rates `q`."""
        return np.minimum(1.0, (self.grown * q[..., None] + self.deltas).min(axis=-1))

    def delta(self, epsilon: ArrayLike) -> Array:
        """Return the smallest delta with which the claim implies (epsilon, delta)-LDP."""
        grown = np.exp(checks.reals("epsilon", epsilon, -700, 700))
        return np.interp(grown, np.r_[0.0, self.grown], np.r_[1.0, self.deltas])

    @checks.checked
    def epsilon(self, delta: Annotated[float, checks.rule(checks.real, 0, 1)]) -> float:
        """Return the smallest epsilon >= 0 with which the claim implies (epsilon, delta)-LDP.

        It is infinite if there is none.
        """
        known = np.r_[self.deltas[::-1], 1.0], np.r_[self.grown[::-1], 0.0]
        return math.log(max(1.0, float(np.interp(delta, *known, left=math.inf))))

    @property
    def implied(self) -> Rates:
        """Epsilon and delta of a claim that follows, with the smallest delta from 1e-4 on."""
        delta = max(1e-4, float(self.F(0)))
        return self.epsilon(delta), delta

    def drawn(self) -> tuple[Array, Array]:
        """Return the corners of the trade-off curve: false alarm rates and least miss rates."""
        breaks = -np.diff(np.r_[1.0, self.deltas]) / np.diff(np.r_[0.0, self.grown])
        alphas = np.unique(np.clip(np.r_[0.0, breaks, 1.0], 0, 1))
        return alphas, 1 - self.F(alphas)


@checks.checked
def gdp_delta(mu: Mu, epsilon: Annotated[Numbers, checks.rule(checks.reals, -700, 700)]) -> Array:
    """Return the smallest delta with which mu-GDP implies (epsilon, delta)-LDP.

    Parameters
    ----------
    mu : float
        Distance of two normal distributions in standard deviations, in (0, 20].
    epsilon : float or array
        In [-700, 700].
    """
    far = epsilon / mu
    # the second factor underflows long before the product does
    second = np.exp(epsilon + scipy.special.log_ndtr(-mu / 2 - far))
    return np.asarray(scipy.special.ndtr(mu / 2 - far) - second)


@checks.checked
def gdp(mu: Mu, *, tangents: Annotated[int, checks.rule(checks.integer, 8)] = 27) -> Curve:
    """Gaussian differential privacy: as hard to tell apart as N(0, 1) and N(mu, 1).

    Parameters
    ----------
    mu : float
        In (0, 20].
    tangents : int
        Number of tangents on each side, at least 8.
    """
    near = np.linspace(mu / 2, mu + 2.5, tangents - 6)
    epsilon = mu * (np.r_[near, mu + np.arange(3, 6, 0.5)] - mu / 2)  # up to both corners
    return Curve.of("gdp", {"mu": mu}, np.exp(epsilon), gdp_delta(mu, epsilon))


@checks.checked
def approx(
    epsilon: Annotated[float, checks.rule(checks.real, 0, 700)], delta: Delta = 0.0
) -> Curve:
    """(epsilon, delta)-LDP, with epsilon in [0, 700] and delta in [0, 1)."""
    lines = np.array([[math.exp(epsilon)], [delta]])
    return Curve.of("approx", {"epsilon": epsilon, "delta": delta}, *lines)


@checks.checked
def laplace(
    epsilon: Epsilon, *, tangents: Annotated[int, checks.rule(checks.integer, 2)] = 12
) -> Curve:
    """Laplace noise whose scale is the distance of the inputs divided by `epsilon`, in (0, 700]."""
    each = np.linspace(0, epsilon, tangents)
    deltas = -np.expm1((each - epsilon) / 2)
    return Curve.of("laplace", {"epsilon": epsilon}, np.exp(each), deltas)


@checks.checked
def grr(k: Annotated[int, checks.rule(checks.integer, 2)], epsilon: Epsilon) -> Curve:
    """Randomised response with `k` values (at least 2), and epsilon in (0, 700]."""
    law = np.array([1, math.exp(-epsilon), (k - 2) * math.exp(-epsilon)])
    law /= law.sum()
    return _laws("grr", {"k": k, "epsilon": epsilon}, law[[1, 0, 2]], law)


@checks.checked
def oue(epsilon: Epsilon) -> Curve:
    """Optimised unary encoding with epsilon in (0, 700]; the bits of two inputs differ."""
    q = 1 / (math.exp(epsilon) + 1)
    own, other = np.array([0.5, 0.5]), np.array([1 - q, q])
    p0, p1 = np.outer(other, own).ravel(), np.outer(own, other).ravel()
    return _laws("oue", {"epsilon": epsilon}, p0, p1)


def points(alphas: ArrayLike, betas: ArrayLike, *, both: bool = True) -> Curve:
    """A trade-off curve through points that straight lines join; the point (1, 0) is added.

    The polygon itself is the claim. It is a stronger claim than the smooth curve on which the
    points may lie.

    Parameters
    ----------
    alphas : float array (m,)
        False alarm rates, in [0, 1), in ascending order.
    betas : float array (m,)
        Least miss rate at each, at most ``1 - alpha``.
    both : bool
        As in `lines`.
    """
    alphas, betas = _columns("alphas", alphas, "betas", betas)
    a, b = np.r_[alphas, 1.0], np.r_[betas, 0.0]
    checks.need((np.diff(a) > 0).all(), f"alphas must rise and stay below 1, got {alphas.tolist()}")
    slopes = np.diff(b) / np.diff(a)
    checks.need(
        (np.diff(slopes) > -_NEAR).all() and (slopes <= 0).all() and b[0] <= 1 - a[0],
        f"betas must lie on a convex, falling curve below 1 - alpha, got {betas.tolist()}",
    )
    return Curve.of("points", {}, -slopes, 1 - b[:-1] + slopes * a[:-1], both)


def lines(epsilons: ArrayLike, deltas: ArrayLike, *, both: bool = True) -> Curve:
    """All of several claims (epsilon, delta) together, such as an accountant lists them.

    Parameters
    ----------
    epsilons : float array (m,)
        In [-700, 700].
    deltas : float array (m,)
        In [0, 1], and at least ``1 - e^epsilon``.
    both : bool
        Whether the claim also holds with the two inputs exchanged, as in local differential
        privacy. Choose false for ordered inputs only, such as "add a user" in a central model.
    """
    epsilons, deltas = _columns("epsilons", epsilons, "deltas", deltas, -700, 700)
    grown = np.exp(epsilons)
    checks.need(
        (grown + deltas >= 1 - _NEAR).all(),
        f"deltas must be at least 1 - e^epsilon, got {deltas.tolist()}",
    )
    return Curve.of("lines", {}, grown, deltas, both)


def laws(p0: ArrayLike, p1: ArrayLike, *, both: bool = True) -> Curve:
    """The exact curve of two distributions of finitely many reports.

    Parameters
    ----------
    p0, p1 : float array (m,)
        Probability of each report with the second and with the first input, with sum 1.
    both : bool
        As in `lines`.
    """
    p0, p1 = _columns("p0", p0, "p1", p1)
    for name, law in (("p0", p0), ("p1", p1)):
        checks.need(
            abs(law.sum() - 1) <= _NEAR, f"{name} must have the sum 1, got {law.sum():.12g}"
        )
    return _laws("laws", {}, p0, p1, both)


def of(mechanism: "FiniteMechanism", pair: Pair | None = None) -> Curve:
    """The exact curve of two values of a mechanism with finitely many reports, by default of the
    worst pair."""
    return laws(*mechanism.report_type.laws[list(mechanism.pair(pair))[::-1]])


def _laws(kind: str, parameters: Row, p0: Array, p1: Array, both: bool = True) -> Curve:
    """Return the curve of two distributions: reports are sorted by their ratio, and cumulated."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = p1 / p0
    order = np.argsort(-ratios, kind="stable")  # a report that never comes has no ratio, the last
    before = [np.cumsum(law[order]) - law[order] for law in (p0, p1)]
    real = (p0[order] > 0) & (p1[order] > 0)
    grown = ratios[order][real]
    return Curve.of(kind, parameters, grown, before[1][real] - grown * before[0][real], both)


def _columns(
    one: str, first: ArrayLike, other: str, second: ArrayLike, low: float = 0, high: float = 1
) -> tuple[Array, Array]:
    """Return two lists of numbers of one length; those of the second lie in [0, 1]."""
    a, b = checks.reals(one, first, low, high), checks.reals(other, second, 0, 1)
    checks.need(
        a.ndim == 1 and a.shape == b.shape and a.size,
        f"{one} and {other} must be lists of one length, got shapes {a.shape} and {b.shape}",
    )
    return a, b


CURVES: dict[str, Callable[..., Curve]] = {
    made.__name__: made for made in (gdp, approx, laplace, grr, oue)
}
"""The claims that a name and numbers describe."""

PARAMETERS = ("mu", "k", "epsilon", "delta")
"""Names of these numbers."""


def claimed(claim: Any, given: Row) -> Curve:
    """Return a claim, or the one of a name; its parameters are taken out of `given`."""
    return (
        claim
        if isinstance(claim, Curve)
        else make(claim, **{n: given.pop(n) for n in PARAMETERS if given.get(n) is not None})
    )


def make(name: Any, /, **parameters: Word) -> Curve:
    """Return the claim of a name and its parameters, such as ``make("gdp", mu=1.0)``.

    Raises
    ------
    ValueError
        If the name is unknown, a parameter is missing or superfluous, or a value is out of range.
    """
    made = CURVES[checks.one_of("claim", name, CURVES)]
    try:
        return made(**parameters)
    except TypeError as error:
        raise ValueError(f"claim {name} must get its own parameters: {error}") from None
