"""Randomised gradients: LDP-SGD and the two mechanisms that generalise it, PrivUnit and PrivUnitG.

All three mechanisms have the same two steps. The gradient is clipped to the norm L. It is projected
at random to one of the points ``+u L`` and ``-u L`` on its own line, which keeps its mean. Then the
client sends a random vector. Its density is high on the cap of vectors whose component towards the
projected point is at least `gamma`, and low elsewhere. The two densities differ by the factor
``e^epsilon``. The cap of LDP-SGD is a hemisphere.

The information about a pair of gradients lies in their plane only. There a report without a
gradient has a uniform angle and a radius of known distribution, see `overlap`. PrivUnit and
PrivUnitG send sums of doubles, whose last digits reveal more, unless reports lie on a grid (see the
book's page on floating point).

Sources: the LDP-SGD paper, Algorithm 1 (after Duchi, Jordan and Wainwright 2018);
Bhowmick et al. (2018), PrivUnit; Asi, Feldman and Talwar (2022), PrivUnitG.
"""

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import scipy

from .. import checks
from ..guess_success import legendre
from ..rng import first_state, normals
from ..types import Array, ArrayLike, Numbers, Rates, Rng
from .base import MAX_DOMAIN, Epsilon, Mechanism
from .histogram import rounded, spacing

__all__ = ["GRADIENT", "GradientMechanism", "LDPSGD", "PrivUnit", "PrivUnitG", "mean_axis"]


def mean_axis(d: int) -> float:
    """Mean absolute value of one coordinate of a uniform unit vector, ``Gamma(d/2) / (sqrt(pi)
    Gamma((d+1)/2))``, for d >= 2."""
    return 1 / (math.sqrt(math.pi) * float(scipy.special.poch(checks.integer("d", d, 2) / 2, 0.5)))


@dataclass(frozen=True)
class GradientMechanism(Mechanism):
    """Base of the three mechanisms; without a given `gamma` the cap is the one with the smallest
    variance.

    The properties and methods that depend on the distribution without a gradient are those of
    normal vectors, as in `PrivUnitG`. They are defined together, and `_Sphere` replaces all.

    Attributes
    ----------
    d, epsilon, clip
        The parameters of `LDPSGD`.
    grid : float, optional
        Step of the grid to which reports are rounded; exact distributions are those before
        rounding.
    """

    d: Annotated[int, checks.rule(checks.integer, 2, MAX_DOMAIN)]
    epsilon: Epsilon
    clip: checks.Positive = 1.0
    grid: Annotated[float | None, spacing] = field(default=None, kw_only=True)

    if TYPE_CHECKING:  # a field of some mechanisms

        @property
        def gamma(self) -> float:
            """Smallest component along the projected direction of the vectors in the cap."""

    _limit = math.inf
    """Upper limit of gamma."""
    _units = 1.0
    """Standard deviation of a coordinate."""
    _last = math.pi
    """Largest angle of two directions whose caps intersect."""

    @cached_property
    def q(self) -> float:
        """Probability of the cap under the distribution without a gradient."""
        return float(scipy.special.ndtr(-self.gamma))

    @property
    def mean_square(self) -> float:
        """Mean squared length of a report."""
        return self.d + self.gamma * self.m

    def _edge(self) -> float:
        """Mean component along the axis of the cap without a gradient, where vectors outside the
        cap count as 0."""
        return math.exp(-(self.gamma**2) / 2) / math.sqrt(2 * math.pi)

    def _beyond(self, radius: Array) -> Array:
        """Probability that a report's projection to a plane is longer than a radius."""
        return np.exp(-(radius**2) / 2)

    def _upper(self, mass: Array) -> Array:
        """Coordinates that a random coordinate exceeds with probability `mass`."""
        return -scipy.special.ndtri(mass)

    def _stretch(self, axis: Array, square: Array) -> Array:
        """Factor of the part across the axis, whose squared length is `square`, for reports with
        the component `axis` along it."""
        return np.ones(len(axis))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.gamma is None:
            # the cap with the longest mean report, whose gamma is at most `top`
            top = self._units * (2 + math.sqrt(2 * self.epsilon))
            best = scipy.optimize.minimize_scalar(
                lambda gamma: -replace(self, gamma=gamma).m,
                bounds=(0, min(top, self._limit)),
                method="bounded",
                options={"xatol": 1e-9 * top},
            )
            # it names streams: five digits of its distance to either end are equal on all machines
            last = math.floor(math.log10(min(best.x, self._limit - best.x)))
            checks.fix(self, gamma=round(float(best.x), 4 - last))
        checks.fix(self, gamma=checks.real("gamma", self.gamma, 0, self._limit, closed="[)"))
        checks.need(
            self.q >= 1e-300,
            f"gamma must leave the cap a probability of at least 1e-300, got {self.gamma}",
        )

    @property
    def p(self) -> float:
        """Probability of the cap for a report."""
        return self.levels[0] * self.q

    @cached_property
    def levels(self) -> Rates:
        """Densities inside and outside the cap, relative to the distribution without a gradient;
        their ratio is ``e^epsilon``."""
        odds = self.epsilon + math.log(self.q) - math.log1p(-self.q)
        return float(scipy.special.expit(odds)) / self.q, float(scipy.special.expit(-odds)) / (
            1 - self.q
        )

    @cached_property
    def m(self) -> float:
        """Mean component of a report along the projected direction."""
        inside, outside = self.levels
        return (inside - outside) * self._edge()

    # --- client and server ------------------------------------------------------------------------

    @checks.checked
    def perturb(self, gradients: ArrayLike, rng: checks.Generator) -> Array:
        """Randomise one gradient per user with the real client.

        Parameters
        ----------
        gradients : float array, shape (n, d)
            Finite numbers. A gradient of length 0 has no direction, therefore its report comes from
            the distribution without a gradient.
        rng : numpy.random.Generator

        Returns
        -------
        float array, shape (n, d)
            The random vectors before the server rescales them; their length is 1 for LDP-SGD and
            PrivUnit.

        Raises
        ------
        ValueError
            If the shape is wrong or a gradient is not finite.
        """
        gradients = self.rows("gradients", gradients)
        norms = np.sqrt(np.einsum("ij,ij->i", gradients, gradients))
        checks.need(
            np.isfinite(norms).all(), f"gradients must be finite, got a norm of {norms.max()}"
        )
        rho = np.minimum(1, norms / self.clip)
        towards = np.where(rng.random(len(rho)) < (1 + rho) / 2, 1.0, -1.0)
        p = np.where(zero := norms == 0, self.q, self.p)
        if zero.any():
            gradients = gradients.copy()
            gradients[zero] = rng.standard_normal((np.count_nonzero(zero), self.d))
            norms[zero] = np.linalg.norm(gradients[zero], axis=1)
        reports = np.empty_like(gradients)
        dots, squares = normals(gradients, first_state(rng), reports)
        scale, axis = self._place(p, towards, dots / norms, squares, rng)
        reports *= scale[:, None]
        if axis is not None:
            reports += ((axis - scale * dots / norms) / norms)[:, None] * gradients
        return rounded(reports, self.grid, reports)

    def _place(
        self, p: Array, towards: Array, along: Array, squares: Array, rng: Rng
    ) -> tuple[Array, Array | None]:
        """Return the factors that turn normal vectors into reports, and the reports' components
        along the gradients; ``None`` instead of the components if the factors suffice."""
        inside = rng.random(len(p)) < p
        level = 1 - rng.random(len(p))  # above 0, because 0 would be an infinite quantile
        high, low = self._upper(level * self.q), -self._upper(level * (1 - self.q))
        axis = towards * np.where(inside, high, low)
        return self._stretch(axis, squares - along**2), axis

    def rows(self, name: str, array: ArrayLike) -> Array:
        """Return reports or gradients, called `name`, as a float array (n, d) with n >= 1."""
        array = np.ascontiguousarray(checks.numeric(name, array), dtype=float)
        checks.need(
            array.ndim == 2 and array.shape[1] == self.d and len(array),
            f"{name} must have shape (n, {self.d}) with n >= 1, got {array.shape}",
        )
        return array

    def estimate(self, reports: ArrayLike) -> Array:
        """Return the unbiased estimate of the mean clipped gradient, shape (d,), from reports of
        n >= 1 users."""
        return self.rows("reports", reports).mean(axis=0) * (self.clip / self.m)

    def variance(self, n: int, norm: float = 0.0) -> float:
        """Expected squared distance of the estimate from the mean of `n` gradients of length
        `norm`; it is largest for the length 0."""
        n, norm = checks.integer("n", n, 1), min(checks.real("norm", norm, 0), self.clip)
        return (self.mean_square * (self.clip / self.m) ** 2 - norm**2) / n

    # --- the plane of two gradients ---------------------------------------------------------------

    @checks.checked
    def overlap(self, theta: Annotated[Any, checks.rule(checks.reals, 0, math.pi)]) -> Numbers:
        """Probability, without a gradient, that a report lies in the caps of both of two directions
        at angle `theta`, in [0, pi].

        Every error rate is a combination of values of this function. In the plane of the two
        directions a report has a uniform angle. Let ``S(r)`` be the probability of a radius above
        r. Then the function is ``1/(2 pi)`` times the integral of ``S(gamma / cos(t/2))`` from
        theta to the largest angle of two caps that intersect. At ``theta = 0`` it is `q`. For
        LDP-SGD it is ``(pi - theta) / (2 pi)``.
        """
        rest = np.maximum(self._last - theta, 0) / 2
        nodes, weights = legendre(128)
        t = theta[..., None] + rest[..., None] * (nodes + 1)
        return rest * (self._beyond(self.gamma / np.cos(t / 2)) @ weights) / (2 * math.pi)


class _Sphere(GradientMechanism):
    """Reports of length 1, whose distribution without a gradient is uniform on the sphere."""

    mean_square = _limit = 1.0
    _units = property(lambda self: 1 / math.sqrt(self.d))
    _last = property(lambda self: 2 * math.acos(self.gamma))

    @cached_property
    def q(self) -> float:
        return 0.5 * float(scipy.special.betainc((self.d - 1) / 2, 0.5, 1 - self.gamma**2))

    def _edge(self) -> float:
        # mean of a uniform vector's coordinate above gamma, times the probability of exceeding it
        return math.exp((self.d - 1) / 2 * math.log1p(-(self.gamma**2))) * mean_axis(self.d) / 2

    def _beyond(self, radius: Array) -> Array:
        return (1 - np.minimum(radius, 1) ** 2) ** (self.d / 2 - 1)

    def _upper(self, mass: Array) -> Array:
        half = (self.d - 1) / 2
        return 1 - 2 * scipy.special.betaincinv(half, half, mass)

    def _stretch(self, axis: Array, square: Array) -> Array:
        return np.sqrt((1 - axis**2) / square)  # for length 1

    def density(self, c: Array, rho: float, theta: float = 0.0) -> Array:
        """Density of the component `c` of a report along a direction at angle `theta` to the
        randomised gradient.

        Parameters
        ----------
        c : float array, shape (n,)
            Components, inside (-1, 1).
        rho, theta : float
            ``min(1, norm / clip)`` of this gradient, and the angle, in [0, pi]; the angle 0 is the
            gradient's own direction.
        """
        d = checks.integer("d", self.d, 3)  # the density is unbounded for d = 2
        inside, outside = self.levels
        uniform = np.exp((d - 3) / 2 * np.log1p(-(c**2)) - scipy.special.betaln(0.5, (d - 1) / 2))
        covered = 0.0  # mean share of the slice at c that lies in the cap
        for sign in (1, -1):
            start = (self.gamma - sign * c * math.cos(theta)) / np.maximum(
                math.sin(theta) * np.sqrt(1 - c**2), 1e-300
            )
            start = np.clip(start, -1, 1)
            above = 0.5 - np.sign(start) / 2 * scipy.special.betainc(0.5, d / 2 - 1, start**2)
            covered = covered + (1 + sign * rho) / 2 * above
        return uniform * (outside + (inside - outside) * covered)


@dataclass(frozen=True)
class LDPSGD(_Sphere):
    """LDP-SGD: a uniform direction, which lies on the side of the projected gradient with
    probability p.

    Parameters
    ----------
    d : int
        Dimension of the gradients, at least 2.
    epsilon : float
        Privacy budget of one report (the paper's epsilon_0), in [1e-6, 30].
    clip : float
        Clipping norm L, above 0.

    Notes
    -----
    ``p = e^eps / (1 + e^eps)``. For a gradient of norm r below L and its negative, the privacy loss
    is only ``2 artanh(tanh(eps/2) r / clip)``. Source: the LDP-SGD paper, Algorithm 1.
    """

    name = "LDP-SGD"
    gamma = 0.0

    def _place(
        self, p: Array, towards: Array, along: Array, squares: Array, rng: Rng
    ) -> tuple[Array, Array | None]:
        kept = np.where(rng.random(len(p)) < p, 1.0, -1.0)
        return kept * towards * np.where(along >= 0, 1.0, -1.0) / np.sqrt(squares), None


@dataclass(frozen=True)
class PrivUnit(_Sphere):
    """PrivUnit: a uniform point of a cap around the projected gradient, or one outside the cap.

    The point lies in the cap with probability p.

    Parameters
    ----------
    d, epsilon, clip
        As in `LDPSGD`.
    gamma : float, optional
        Smallest component of the cap along the projected direction, in [0, 1); by default the one
        with the smallest variance. 0 gives LDP-SGD.

    Notes
    -----
    Source: Bhowmick et al. (2018), Algorithm 1. But here ``epsilon = logit(p) - logit(q)`` instead
    of their sufficient conditions, which spend only a part of the budget.
    """

    gamma: float = None  # type: ignore[assignment]  # a number after construction


@dataclass(frozen=True)
class PrivUnitG(GradientMechanism):
    """PrivUnitG: PrivUnit with Gaussian instead of uniform directions.

    Parameters
    ----------
    d, epsilon, clip
        As in `PrivUnit`.
    gamma : float, optional
        Smallest component of the cap along the projected direction, at least 0, in standard
        deviations; by default the one with the smallest variance.

    Notes
    -----
    Source: Asi, Feldman and Talwar (2022).
    """

    gamma: float = None  # type: ignore[assignment]  # a number after construction


GRADIENT: dict[str, type[GradientMechanism]] = {
    "LDP-SGD": LDPSGD,
    "PrivUnit": PrivUnit,
    "PrivUnitG": PrivUnitG,
}
"""The mechanisms for gradients by name."""
