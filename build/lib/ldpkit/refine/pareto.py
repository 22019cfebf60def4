"""Pareto fronts, and rules that select one point of them.

Source: Arcolezi and Gambs, "Revisiting Locally Differentially Private
Protocols: Towards Better Trade-offs in Privacy, Utility, and Attack Resistance".
"""

from collections.abc import Callable, Sequence
from typing import Annotated, Any

import numpy as np

from .. import checks
from ..jit import kernel
from ..types import Array

__all__ = ["STRATEGIES", "nondominated", "select"]


@kernel
def _unbeaten(rank: Array, third: Array) -> Array:
    """Return for each point whether no earlier one has at most its rank and its third objective.

    The minima are kept in a Fenwick tree.
    """
    least, kept = np.full(rank.size + 1, np.inf), np.empty(rank.size, np.bool_)
    for i in range(rank.size):
        best, at = np.inf, rank[i] + 1
        while at > 0:
            best, at = min(best, least[at]), at - (at & -at)
        kept[i] = third[i] < best
        at = rank[i] + 1
        while at <= rank.size:
            least[at], at = min(least[at], third[i]), at + (at & -at)
    return kept


@checks.checked
def nondominated(points: Annotated[Array, checks.reals]) -> Array:
    """Return the indices of the points on the Pareto front, in ascending order.

    A point is not on the front if another point differs from it and has no larger
    objective. Of equal points the first one is kept.

    Parameters
    ----------
    points : float array, shape (n, 2) or (n, 3)
        Objectives to minimise.
    """
    checks.need(
        points.ndim == 2 and points.shape[1] in (2, 3),
        f"points must have 2 or 3 columns, got shape {points.shape}",
    )
    order = np.lexsort(points.T[::-1])  # only an earlier point can dominate a point
    rank = np.unique(points[order, 1], return_inverse=True)[1]
    third = points[order, 2] if points.shape[1] == 3 else np.zeros(len(points))
    return np.sort(order[_unbeaten(rank, third)])


def _utopia(points: Array, weights: Array, limit: float) -> Array:
    return np.linalg.norm(points, axis=1)


def _elbow(points: Array, weights: Array, limit: float) -> Array:
    order = np.argsort(points[:, 0], kind="stable")
    start, chord = points[order[0]], points[order[-1]] - points[order[0]]
    if len(points) <= 2:
        return _utopia(points, weights, limit)
    away = points - start
    along = (away @ chord / (chord @ chord))[:, None] * chord
    return -np.linalg.norm(away - along, axis=1)


def _epsilon_constraint(points: Array, weights: Array, limit: float) -> Array:
    rest = points[:, 1:] @ np.ones(points.shape[1] - 1)
    allowed = points[:, 0] <= limit
    return np.where(allowed, rest, np.inf) if allowed.any() else _utopia(points, weights, limit)


STRATEGIES: dict[str, Callable[[Array, Array, float], Array]] = {
    "weighted": lambda points, weights, limit: points @ weights,
    "utopia": _utopia,
    "elbow": _elbow,
    "epsilon-constraint": _epsilon_constraint,
    "hypervolume": lambda points, weights, limit: -np.prod(np.maximum(0, 1 - points), axis=1),
    "chebyshev": lambda points, weights, limit: (
        (points * weights).max(axis=1) + 1e-6 * (points @ weights)
    ),
}
"""The function that each strategy minimises over the Pareto front, see `select`."""


@checks.checked
def select(
    points: Annotated[Any, checks.numeric],
    strategy: Annotated[str, checks.rule(checks.one_of, STRATEGIES)] = "weighted",
    weights: Sequence[float] | Array | None = None,
    limit: checks.Share = 0.1,
) -> int:
    """Select one point of a Pareto front, the first one among equals.

    Parameters
    ----------
    points : float array, shape (n, 2) or (n, 3)
        Objectives to minimise, the success rate first.
    strategy : str
        ``weighted``: smallest weighted sum. ``utopia``: nearest to zero.
        ``elbow``: furthest from the chord between the ends of the front.
        ``epsilon-constraint``: smallest sum of the other objectives among the
        points whose first objective is at most `limit`; nearest to zero if there is none.
        ``hypervolume``: largest product of ``1 - objective``, which is 0 if an
        objective exceeds 1; the first point of the front if all products are 0.
        ``chebyshev``: smallest maximum of the weighted objectives.
    weights : sequence of float, optional
        Non-negative, not all zero; equal by default. Only their ratios matter.
    limit : float
        In [0, 1].

    Returns
    -------
    int
        Index into `points`.
    """
    points = points.astype(float)
    checks.need(
        points.ndim == 2 and points.size and np.isfinite(points).all(),
        f"points must be a non-empty table of finite numbers, got shape {points.shape}",
    )
    weights = ratios(np.ones(points.shape[1]) if weights is None else weights, points.shape[1])
    if strategy == "weighted":  # without a front, as in the paper
        return int(np.argmin(points @ weights))
    kept = nondominated(points)
    return int(kept[np.argmin(STRATEGIES[strategy](points[kept], weights, limit))])


def ratios(weights: object, count: int) -> Array:
    """Return `count` weights as shares of 1, after checking them."""
    listed = weights if np.iterable(weights) else [weights]
    weights = np.array([checks.real(f"weights[{i}]", w, 0) for i, w in enumerate(listed)])
    checks.need(
        len(weights) == count and weights.any(),
        f"weights must be {count} numbers >= 0, not all zero, got {weights.tolist()}",
    )
    weights /= weights.max()  # the sum of large weights may overflow
    return weights / weights.sum()
