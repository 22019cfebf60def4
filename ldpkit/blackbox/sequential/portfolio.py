"""Bets on whole reports against claims that are trade-off curves.

A claim consists of lines: ``p <= E q + delta`` for every event, with probability p under the first
input and q under the second. The models of `Scores` give each report a score, and thresholds t_j
divide the scores into cells. The *asset* of threshold j and line k pays ``2 [score > t_j] / (E_k +
delta_k)`` on a report of the first input. On a report of the second input it pays ``2 E_k [score <=
t_j] / (E_k + delta_k)``. Two more assets pay 2 on every report of one input. A *portfolio* holds
shares of the assets, whose sum is at most 1. It pays f on a report of the first input, and g on one
of the second.

*Proof that the bet is fair.* The means of the two payments of an asset have a sum of at most
``2 (p + E (1 - q)) / (E + delta)``, which is at most 2 by the line. The same holds for a portfolio.
A fair coin chose the input, so that the mean of the factor is at most 1. The product of f and g is
fair for two independent reports, and half of their sum is fair for any two.

Thresholds and shares depend on earlier reports only. Cover's algorithm finds the shares that would
have won most. In every round it multiplies each share by what the asset won relative to the whole
portfolio.

Source: Cover, "An algorithm for maximizing expected log investment return", 1984.
"""

from collections.abc import Sequence

import numpy as np

from ...types import Array, Row
from ..curve import Curve
from .counts import Counts
from .players import SHARES
from .scores import Scores

__all__ = ["DELTAS", "LEVELS", "Portfolio", "best", "paid"]

LEVELS = np.array([0, *np.arange(1, 10) / 10, 0.98])
"""Thresholds, as quantiles of past scores."""

DELTAS = np.arange(0, 1, 0.01)
"""Values of delta that bound a band."""

_CASH, _FRESH = 0.05, 0.05  # first share of an asset that pays always; part that starts anew
_FEWEST, _MOST, _EACH = 40, 200, 10  # rounds of the algorithm; reports for one round more


def paid(shares: Array, up: Array, down: Array) -> Array:
    """Return the payments of portfolios by input and cell, float array (2, claims, cells).

    Parameters
    ----------
    shares : float array (claims, assets)
        One share by threshold and line, then those of the two assets that pay always.
    up, down : float arrays (claims, 1, lines)
        Payments of the lines above a threshold, and below.
    """
    each = shares[:, :-2].reshape(len(shares), -1, up.shape[-1])
    rise, fall, none = (each * up).sum(axis=-1), (each * down).sum(axis=-1), shares[:, :1] * 0
    f = np.hstack([none, np.cumsum(rise, axis=1)])
    g = np.hstack([np.cumsum(fall[:, ::-1], axis=1)[:, ::-1], none])
    return np.array([f, g]) + 2 * shares[:, -2:].T[:, :, None]


def best(shares: Array, up: Array, down: Array, counts: Array, rounds: int) -> Array:
    """Improve shares by so many rounds of Cover's algorithm.

    Parameters
    ----------
    shares, up, down
        As in `paid`.
    counts : float array (2, cells)
        Reports of the first and of the second input by cell.

    Returns
    -------
    float array (claims, assets)
        Their sum is at most 1 for every claim.
    """
    for _ in range(rounds):
        own, other = counts[:, None] / paid(shares, up, down)
        above = np.cumsum(own[:, ::-1], axis=1)[:, ::-1]
        below = np.cumsum(other, axis=1)
        won = up * above[:, 1:, None] + down * below[:, :-1, None]
        always = 2 * np.column_stack([above[:, 0], below[:, -1]])
        shares = shares * np.hstack([won.reshape(len(shares), -1), always]) / counts.sum()
    return shares / np.maximum(shares.sum(axis=1, keepdims=True), 1)  # rounding may lift the sum


class Portfolio(Scores):
    """Wealth of the bets on scores of reports, against every curve of a list.

    Parameters
    ----------
    counts, product
        As in `Scores`.
    curves : sequence of Curve
        Claims to bet against.

    Attributes
    ----------
    balance : float array (questions, claims, 2, cells)
        Payments of the portfolio by input and cell; NaN if there is no bet.
    stakes : float array (questions, claims, assets)
        Shares of the assets, see `paid`.
    cuts : float array (questions, thresholds)
        The thresholds.
    tally : float array (questions, 2, cells)
        How many scores of the question's input, and of the others, lay in each cell.
    """

    _KEPT = (*Scores._KEPT, "stakes", "cuts", "tally")
    _MOST = np.inf

    def __init__(self, counts: Counts, curves: Sequence[Curve], product: bool = False) -> None:
        super().__init__(counts, np.zeros(len(curves)), 0.0, product)
        questions, most = len(self.balance), max(c.grown.size for c in curves)
        pairs = [np.array([c.grown, c.deltas]) for c in curves]
        self.lines = np.array([np.pad(p, [(0, 0), (0, most - p.shape[1])], "edge") for p in pairs])
        assets = LEVELS.size * most
        self._first = np.r_[np.full(assets, (1 - 2 * _CASH) / assets), _CASH, _CASH]
        self.stakes = np.tile(self._first, (questions, len(curves), 1))
        self.cuts = np.zeros((questions, LEVELS.size))
        self.tally = np.zeros((questions, 2, LEVELS.size + 1))
        self.balance = np.full((questions, len(curves), *self.tally.shape[1:]), np.nan)

    def keep(self) -> int:
        """Keep the last bet as `Scores.keep` does, and count the cells of the reports."""
        n = self._tried[0]
        reports = np.flatnonzero(np.repeat(self._fresh[:n], self.size))
        if (self._scores[: n * self.size] != 0.5).any():
            self._count(self._scores[reports], self._seen.sides[reports])
        return super().keep()

    def _settle(self) -> None:
        super()._settle()
        self._fit()

    def _tune(self, held_out: Array, sides: Array) -> None:
        """Choose thresholds for new models, and count the scores of the past."""
        scores = self._drawn_in(held_out)
        self.cuts = np.quantile(scores[:, :, -1], LEVELS, axis=0, method="lower").T
        self.tally[:] = 0
        self._count(scores, sides)

    def _cells(self, scores: Array) -> Array:
        """Return how many thresholds lie below each score, int array (n, questions)."""
        return np.asarray((scores[:, :, -1:] > self.cuts).sum(axis=-1))

    def _count(self, scores: Array, sides: Array) -> None:
        d = np.arange(len(self.cuts))
        np.add.at(self.tally, (d, (sides[:, None] != d).astype(int), self._cells(scores)), 1)

    def _fit(self) -> None:
        """Choose the shares against every claim that the counts break."""
        self.balance[:] = np.nan
        grown, delta = self.lines[:, 0, None], self.lines[:, 1, None]
        for d, tally in enumerate(self.tally / np.array([[1], [self.others]])):
            if not tally.any(axis=1).all():
                continue
            counts = tally + tally.sum(axis=0) / tally.sum()  # one report more of each told nothing
            p, q = 1 - np.cumsum(counts, axis=1)[:, :-1, None] / counts.sum(axis=1)[:, None, None]
            claims = np.flatnonzero((p > grown * q + delta).any(axis=(1, 2)))
            claims = claims[claims >= self._low]
            if not claims.size:
                continue
            paying = 2 / (grown + delta)[claims], (2 * grown / (grown + delta))[claims]
            shares = (1 - _FRESH) * self.stakes[d, claims] + _FRESH * self._first
            rounds = min(_FEWEST + int(counts.sum()) // _EACH, _MOST)
            self.stakes[d, claims] = shares = best(shares, *paying, counts, rounds)
            self.balance[d, claims] = np.swapaxes(paid(shares, *paying), 0, 1)

    def _multiply(
        self, scores: Array, sides: Array, grid: Array, balance: Array, low: int, at: int,
        *wealth: Array,
    ) -> None:  # fmt: skip
        (start, won, total), d = wealth, np.arange(len(balance))
        second = sides[:, None] != d
        pays = np.nan_to_num(balance[:, low:], nan=1.0)[
            d, :, second.astype(int), self._cells(scores)
        ]
        weight = np.where(second, 1 / self.others, 1.0)
        changes = (weight[:, :, None] * (pays - 1))[:, :, None] * np.array(SHARES)[:, None]
        rounds = 1 + changes.reshape(-1, self.size, *changes.shape[1:])
        now = rounds.prod(axis=1) if self.product else rounds.mean(axis=1)
        course = won[:, :, low:] * np.cumprod(np.maximum(now, 1e-300), axis=0)
        won[:, :, low:] = course[-1]
        total[:] = start[:, -1].sum() + (start[:, :-1] * course[..., at - low]).sum(axis=(1, 2))

    def tangent(self, at: int) -> Row | None:
        """Return the line against which most is staked; ``None`` if nothing is.

        Returns
        -------
        dict
            ``epsilon`` and ``delta`` of the line. ``p`` and ``q`` are the shares of reports with
            the event, and ``shown`` is ``p - e^epsilon q``, which the line bounds by delta.
        """
        d = int(np.argmax((self.own + self.now)[:, -2, at]))
        if np.isnan(self.balance[d, at]).any():
            return None
        j, k = divmod(int(np.argmax(self.stakes[d, at, :-2])), self.lines.shape[2])
        p, q = self.tally[d, :, j + 1 :].sum(axis=1) / self.tally[d].sum(axis=1)
        grown, delta = self.lines[at, :, k]
        if grown < 1:  # the other event, with the inputs exchanged
            p, q, grown, delta = 1 - q, 1 - p, 1 / grown, 1 - (1 - delta) / grown
        numbers = np.log(grown), delta, p, q, p - grown * q
        return dict(zip(("epsilon", "delta", "p", "q", "shown"), map(float, numbers)))
