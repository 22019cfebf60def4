"""Wealth of a mixture of experts against many claims, and the bound that follows.

A claim is one line (epsilon, delta), or several lines of a trade-off curve, all of which it
implies. The claim is refuted if the mixture of the bets against its lines has ever reached 1/alpha.
The bound is the largest claim of the grid that is refuted. The claim under audit is one of them, so
that a refuted claim never stands above its own bound.

After each block of reports every bet gives a small part of its wealth to the other bets. Which
expert is best may therefore change.
"""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from ...jit import deferred
from ...types import Array
from ..curve import Curve, approx, gdp
from .experts import CELLS, stakes

__all__ = ["DELTAS", "Claims", "Wealth", "play", "tallied"]

STEPS, WIDEST, TOP = 50, 0.02, 12.0  # of the grid of epsilons: up to the claim, and without one
MUS = 40
"""Values of mu up to the claimed one; as many follow above."""
DELTAS = np.arange(0, 1, 0.01)
"""Values of delta that bound a band."""
TANGENTS = 8  # lines of a curve that are bet against
SHARED, CALM = 0.1, 10  # part of the wealth that is shared after block t: .1 / (1 + t / 10)
_LARGEST = 700.0  # nats; exp would overflow


class Claims:
    """The claims to bet against, in ascending order, and then those that bound a band.

    Parameters
    ----------
    claim : (float, float)
        Epsilon (infinite if none is claimed) and delta.
    curve : Curve, optional
        A trade-off curve, which is claimed instead.
    band : float array
        Values of epsilon for which delta is bounded.

    Attributes
    ----------
    values : float array
        Epsilon or mu of each claim of the first kind.
    at : int or None
        Number of the claim under audit.
    grown, delta, of : arrays (lines,)
        Each line and the number of its claim.
    ordered : bool
        Whether the claim holds for the first input against the second only.
    """

    def __init__(self, claim: tuple[float, float], curve: Curve | None, band: Array) -> None:
        epsilon, delta = claim
        self.at: int | None = None
        self.ordered = False
        if curve is None:
            self.values, lines = grid(epsilon), []
            if epsilon < math.inf:
                self.at = int(np.argmin(abs(self.values - epsilon)))
            grown = np.exp(np.minimum(self.values, _LARGEST))
            self.grown, self.delta = grown, np.full(grown.size, delta)
            self.of = np.arange(grown.size)
            return
        family = [curve]
        if curve.kind == "gdp":
            family = [gdp(curve.parameters["mu"] * i / MUS) for i in range(1, 2 * MUS + 1)]
            family[MUS - 1] = curve
        self.values = np.array([c.parameters.get("mu", 0.0) for c in family])
        self.at, self.ordered = family.index(curve), not _mirrored(curve)
        family += [approx(e, d) for e in band for d in DELTAS]
        lines = [self._lines(c) for c in family]
        self.grown, self.delta = np.ascontiguousarray(np.concatenate(lines, axis=1))
        self.of = np.repeat(np.arange(len(lines)), [line.shape[1] for line in lines])

    def _lines(self, curve: Curve) -> Array:
        """Return some lines of a curve; those below 1 follow from others if it is symmetric."""
        some = np.flatnonzero(np.full(curve.grown.size, self.ordered) | (curve.grown >= 1))
        spread = np.linspace(0, some.size - 1, min(TANGENTS, some.size)).round().astype(int)
        return np.array([curve.grown, curve.deltas])[:, some[spread]]


def grid(claim: float) -> Array:
    """Return the values of epsilon to reject, in ascending order; a finite claim is one of them."""
    if not 0 < claim < math.inf:
        return np.arange(0, TOP, WIDEST)
    steps = max(STEPS, math.ceil(claim / WIDEST))
    values = np.arange(2 * steps + 1) * (claim / steps)
    values[steps] = claim  # exactly, because the product may be rounded
    return values


def tallied(cells: Array, sides: Array, shape: Any) -> Array:
    """Return how many reports of each input lie in each cell, int array (cells, inputs)."""
    places = np.ravel_multi_index((cells, sides), shape)
    return np.bincount(places, minlength=math.prod(shape)).reshape(shape)


def _mirrored(curve: Curve) -> bool:
    """Return whether a curve is the same with the two inputs exchanged."""
    again, q = Curve.of("lines", {}, curve.grown, curve.deltas), np.linspace(0, 1, 101)
    return bool(np.allclose(again.F(q), curve.F(q), atol=1e-9))


@deferred
def play(
    cells: Array, sides: Array, size: int, product: bool, logs: Array, wealth: Array, goal: float
) -> tuple[int, float]:
    """Bet on rounds until the wealth reaches the goal; return their number and the last wealth.

    ``logs`` are the logarithms of the factors (experts, cells, inputs, lines). `wealth` is that of
    all bets (experts + 1, lines), and the last expert never bets.
    """
    experts, _, _, lines = logs.shape
    total = -np.inf
    for t in range(sides.size // size):
        first = t * size
        for e in range(experts):
            for c in range(lines):
                if product or size == 1:
                    for i in range(first, first + size):
                        wealth[e, c] += logs[e, cells[i, e], sides[i], c]
                else:
                    mean = 0.0
                    for i in range(first, first + size):
                        mean += math.exp(logs[e, cells[i, e], sides[i], c]) / size
                    wealth[e, c] += math.log(mean)
        top, total = wealth.max(), 0.0
        for e in range(experts + 1):
            for c in range(lines):
                total += math.exp(wealth[e, c] - top)
        total = top + math.log(total)
        if total >= goal:
            return t + 1, total
    return sides.size // size, total


class Wealth:
    """Wealth of experts against claims.

    Parameters
    ----------
    claims : Claims
    shares : float array (experts + 1,)
        Shares of the experts at the start; the last expert never bets.
    goal : float
        Logarithm of the wealth that refutes the claim.
    size : int
        Reports of a round.
    product : bool
        Whether the factors of a round are multiplied, because its reports are independent.
    shared : bool
        Whether wealth is shared after each block.

    Attributes
    ----------
    logs : float array (experts + 1, lines)
        Logarithms of the wealth of all bets at the end of the last block.
    now : float array (experts + 1, lines of the target)
        The same for the claim under audit, after the last round.
    most : float array (claims,)
        The largest logarithm of the wealth against each claim, at the end of a block.
    won : float array (experts,)
        The gains that the bets of each expert against the claim would have, with a stake of 1.
    """

    def __init__(
        self, claims: Claims, shares: Array, goal: float, size: int, product: bool, shared: bool
    ) -> None:
        self.claims, self.goal, self.size, self.product = claims, goal, size, product
        self.shared = shared
        lines = np.bincount(claims.of)
        with np.errstate(divide="ignore"):
            self.prior = np.log(shares)[:, None] - np.log(lines[claims.of])
        self.logs, self.blocks = self.prior.copy(), 0
        self.most, self.best = np.full(lines.size, -math.inf), -math.inf
        self.won = np.zeros(shares.size - 1)
        self.aim()

    def aim(self, keep: bool = False) -> None:
        """Choose the claim to watch: the one under audit, or the smallest that was not refuted.

        Its wealth is that of the last block, or the one that is known already.
        """
        claims = self.claims
        self.target = claims.at if claims.at is not None else int(np.argmax(self.most < self.goal))
        self.lines = np.flatnonzero(claims.of == self.target)
        if not keep:
            self.now = self.logs[:, self.lines].copy()

    @property
    def log(self) -> float:
        """Logarithm of the wealth against the claim that is watched."""
        return float(np.logaddexp.reduce(self.now, axis=None))

    def bet(self, cells: Array, sides: Array, logs: Array, watched: bool) -> int:
        """Bet on rounds, if watched until the claim is refuted; return the number of rounds."""
        goal = self.goal if watched and self.claims.at is not None else math.inf
        used, log = play(cells, sides, self.size, self.product, logs, self.now, goal)
        self.best = max(self.best, log)
        return used

    def staked(self, hist: Array, caution: float, both: Array, lines: Any = None) -> Array:
        """Return the logarithms of the factors (cells, inputs, lines) of an expert.

        It may be one on `both` inputs only. Then its third cell is that of all other reports. The
        lines are by default those of the claim that is watched.
        """
        claims, lines = self.claims, self.lines if lines is None else lines
        grown, delta = claims.grown[lines], claims.delta[lines]
        out = np.zeros((*hist.shape, grown.size))
        if both[0] < 0:
            stakes(hist, grown, delta, caution, claims.ordered, out)
            return out
        small = np.zeros((CELLS, 2, grown.size))
        counts = np.ascontiguousarray(np.vstack([hist[: CELLS - 1, both], np.zeros(2)]))
        stakes(counts, grown, delta, caution, claims.ordered, small)
        out[:] = np.log(np.exp(small[-1]).mean(axis=0))
        out[: CELLS - 1, both] = small[: CELLS - 1]
        return out

    @property
    def each(self) -> Array:
        """Gains of the bets of each expert against the claim with a stake of 1, as logarithms."""
        start = self.prior[:-1, self.lines]
        gained = self.now[:-1] - self.logs[:-1, self.lines]
        none = np.logaddexp.reduce(start, axis=1)
        return np.asarray(self.won + np.logaddexp.reduce(start + gained, axis=1) - none)

    def settled(
        self, experts: Iterable[tuple[Array, float, Array]], cells: Array, sides: Array
    ) -> tuple[Array, Array]:
        """Return the wealth of all bets after the rounds of a block, and the largest ones.

        `experts` have what `staked` takes.
        """
        claims, logs = self.claims, self.logs.copy()
        for e, expert in enumerate(experts if sides.size else ()):
            factors = self.staked(*expert, slice(None))
            if self.product or self.size == 1:
                counts = tallied(cells[:, e], sides, factors.shape[:2])
                logs[e] += np.tensordot(counts, factors, 2)
            else:
                rounds = cells[:, e].reshape(-1, self.size)
                some, times = np.unique(rounds, axis=0, return_counts=True)
                means = np.exp(factors[some, sides[: self.size]]).mean(axis=1)
                logs[e] += times @ np.log(means)
        logs[:, self.lines] = self.now
        most = np.maximum(self.most, self._sums(logs))
        if claims.at is not None:
            most[claims.at] = max(most[claims.at], self.best)
        return logs, most

    def _sums(self, logs: Array) -> Array:
        """Return the logarithm of the wealth against each claim."""
        of = self.claims.of
        top = np.maximum.reduceat(logs.max(axis=0), np.flatnonzero(np.diff(of, prepend=-1)))
        return top + np.log(np.bincount(of, np.exp(logs - top[of]).sum(axis=0)))

    def end_block(
        self, experts: Iterable[tuple[Array, float, Array]], cells: Array, sides: Array
    ) -> None:
        """Share the wealth among the bets."""
        self.won = self.each
        logs, self.most = self.settled(experts, cells, sides)
        part = SHARED * self.shared / (1 + self.blocks / CALM)
        if part > 0:
            given = self._sums(logs)[self.claims.of] + math.log(part) + self.prior
            logs = np.logaddexp(logs + math.log1p(-part), given)
        self.logs, self.blocks = logs, self.blocks + 1
        self.aim()
