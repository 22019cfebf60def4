"""Wealth against every claim of a grid at once, and what may be concluded from it at any time.

A *track* is an event with an ordered pair of inputs. On each of them several bets run side by
side, and all wealths together are one mixture. Rejecting a claim says that epsilon is larger; the
claims are rejected from 0 upwards, none before all smaller ones, so that the whole bound is wrong
only if the one claim next above the truth is rejected: with probability alpha, over all times.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy

from .. import betting, checks
from ..auditors.result import in_the_clear
from ..jit import kernel
from ..types import Array, Rates
from .scores import SHARES

__all__ = ["COINS", "IDLE", "MEAN", "PRODUCT", "SURE", "Wealth", "Tracks", "grid"]

IDLE = 4
"""Symbol of a round that is not bet on."""

COINS, PRODUCT, MEAN = "coins", "product", "mean"
"""How a round multiplies the wealth: by the factor of the one report whose input a coin chose, by
the product of the factors of independent reports, or by their mean."""

SURE = 0.9
"""Share of the bet on rates that were declared; the rest is for the case that they are wrong."""

_STEPS, _WIDEST, _TOP = 100, 0.02, 12.0
_LEAST = 1e-300  # factor of a bet: nothing is lost for ever
_MOST = 1e15  # logarithms of wealth that no audit reaches


def grid(claim: float) -> Array:
    """Return the values of epsilon that are rejected one after the other; the claim is one of
    them."""
    if not 0 < claim < math.inf:
        return np.arange(0, _TOP, _WIDEST)
    steps = max(_STEPS, math.ceil(claim / _WIDEST))
    values = np.arange(2 * steps + 1) * (claim / steps)
    values[steps] = claim  # to the last bit: a quotient times its divisor may miss it
    return values


@kernel
def _after(factors: Array, wealth: Array, symbols: Array) -> Array:
    """The wealth of all bets together after each round.

    `factors` (tracks, 5, bets), `wealth` (tracks, bets), `symbols` (tracks, n).
    """
    tracks, bets = wealth.shape
    totals = np.zeros(symbols.shape[1])
    for i in range(totals.size):
        for t in range(tracks):
            for b in range(bets):
                wealth[t, b] *= factors[t, symbols[t, i], b]
                totals[i] += wealth[t, b]
    return totals


class Tracks:
    """Wealth of bets on declared events, against every epsilon of a grid.

    Parameters
    ----------
    grid : float array (g,)
        Claims that are bet against.
    delta : float
    rates : sequence of (float, float) or None
        By track: rates that were declared.
    rule : {COINS, PRODUCT, MEAN}
        What a round is.

    Attributes
    ----------
    counts : int array (tracks, 5)
        How often each symbol was seen, see `ldpkit.betting`; the fifth is `IDLE`.
    believed : list of (float, float) or None
        By track: the rates that are bet on.
    """

    def __init__(
        self, grid: Array, delta: float, rates: Sequence[Rates | None], rule: str = MEAN
    ) -> None:
        self.grid, self.delta, self.coins = grid, delta, rule == COINS
        joint, lines = rule != MEAN, len(betting.STAKES)
        even, learned = np.full(len(SHARES), 1 / len(SHARES)), None in rates
        plain = np.append(np.full(lines, 1 / lines), learned * even if joint else [])
        sure = np.append((1 - SURE) * plain[:lines], [0.0, SURE] if joint else [])
        prior = np.array([plain if r is None or not joint else sure for r in rates])
        prior /= prior.sum(axis=1, keepdims=True) * len(prior)
        with np.errstate(divide="ignore"):
            self._prior = np.log(prior)
        self.counts, self.believed = np.zeros((len(rates), 5), np.int64), list(rates)
        size = (grid.size, *prior.shape)
        self.base, self.past, self.now = np.zeros(grid.size), np.zeros(size), np.zeros(size)
        self.shares = np.broadcast_to(self._prior, size)
        self._symbols = np.empty((len(rates), 0), np.uint8)
        self._gains = np.zeros((*size, 5))  # logarithms of factors
        linear = [betting.linear(betting.STAKES, g, delta, coins=self.coins) for g in grid]
        self._gains[:, :, :lines, :IDLE] = np.log(linear)[:, None]
        for track, pair in enumerate(rates):
            self.believe(track, pair)

    def believe(self, track: int, rates: Rates | None) -> None:
        """Bet on these rates from now on, where bets on rates are made."""
        lines, self.believed[track] = len(betting.STAKES), rates
        for bet, share in zip(range(lines, self._gains.shape[2]), SHARES):
            gains = self._gains[:, track, bet, :IDLE]
            gains[:] = 0.0
            if rates is not None:
                factors = betting.joint(*rates, self.grid, self.delta, share, coins=self.coins)
                gains[:] = np.log(np.maximum(factors, _LEAST))

    @property
    def log(self) -> Array:
        """Logarithm of the wealth against every claim."""
        each = self.shares + self.now
        top = each.max(axis=(1, 2), keepdims=True)
        return np.asarray(self.base + top[:, 0, 0] + np.log(np.exp(each - top).sum(axis=(1, 2))))

    def see(self, symbols: Array) -> None:
        """Take the symbols of more rounds, uint8 array (tracks, n)."""
        self._symbols = symbols

    def trace(self, at: int) -> Array:
        """The logarithm of the wealth against one claim after each round that was seen last."""
        start = self.base[at] + self.shares[at] + self.now[at]
        scale = float(start.max())
        factors = np.exp(np.ascontiguousarray(np.swapaxes(self._gains[at], 1, 2)))
        with np.errstate(divide="ignore"):
            return np.log(_after(factors, np.exp(start - scale), self._symbols)) + scale

    def play(self, used: int, at: int = 0, low: int = 0) -> None:
        """Bet on the first of the rounds that were seen last."""
        seen = np.array([np.bincount(row[:used], minlength=5) for row in self._symbols])
        self.counts += seen
        self.now += np.einsum("ts,gtbs->gtb", seen, self._gains)

    def settle(self) -> None:
        """End a block: bets get new shares of the wealth there is."""
        self.base, self.past = self.log, self.past + self.now
        shares = self._prior + self.past
        self.shares = shares - scipy.special.logsumexp(shares, axis=(1, 2), keepdims=True)
        self.now = np.zeros_like(self.now)

    def each(self, at: int) -> Array:
        """Logarithm of the own wealth of every track against one claim."""
        weights = self._prior - scipy.special.logsumexp(self._prior, axis=1, keepdims=True)
        return np.asarray(scipy.special.logsumexp(weights + (self.past + self.now)[at], axis=1))

    def sure(self, reports: int) -> Array:
        """Logarithm of the wealth against every claim that the first event would have won in so
        many reports per input, if it were the input in the clear in one of ten; see
        `in_the_clear`."""
        hits = in_the_clear(reports)
        none, shown = (2, 1) if self.coins else (0, 2)  # where delta > 0, waiting has a price
        lines = self._gains[:, 0, : len(betting.STAKES)]
        won = hits * lines[:, :, shown] + (reports - hits * (not self.coins)) * lines[:, :, none]
        return np.asarray(scipy.special.logsumexp(won, axis=1) - math.log(
            won.shape[1] * len(self.counts)))  # fmt: skip

    _KEPT = ("base", "past", "now", "shares", "counts")

    def state(self) -> dict[str, Any]:
        """Return what JSON can write and `restore` needs."""
        return {name: getattr(self, name).tolist() for name in self._KEPT} | {
            "believed": self.believed
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from the state of others."""
        for name in self._KEPT:
            old = getattr(self, name)
            new = np.array(state[name], old.dtype)
            if new.shape != old.shape:
                raise ValueError(f"state must hold {name} of shape {old.shape}, got {new.shape}")
            setattr(self, name, new)
        for name in ("base", "past", "now"):
            checks.reals(name, getattr(self, name), -_MOST, _MOST)
        for track, rates in enumerate(state["believed"]):
            self.believe(track, rates and (float(rates[0]), float(rates[1])))


class Wealth:
    """Wealth that several players share, against every epsilon of a grid.

    Parameters
    ----------
    claim : float
        Claimed epsilon; infinite if none is claimed.
    alpha : float
    players : sequence of (float, callable)
        Shares of the stake, and functions of the grid that make a player: `Tracks`,
        `ldpkit.sequential.Screen` or `ldpkit.sequential.Scores`.

    Attributes
    ----------
    reached : int
        How many values of the grid are rejected.
    rounds, couple : int
        Rounds that were bet on, and after how many of them the wealth is looked at: after two where
        a screen is about the input of the report before, because its bet is fair given all couples
        of rounds before, and not given the first round of a couple.
    total : float array
        Logarithm of the wealth against every epsilon of the grid, when it was looked at last.
    dealt : float array
        Logarithms of the shares of the players.
    won : float
        Logarithm of the wealth with which the claim was refuted; minus infinity if it was not.
    """

    def __init__(self, claim: float, alpha: float, players: Sequence[tuple[float, Any]]) -> None:
        self.grid, self.goal, self.enough = grid(claim), -math.log(alpha), 1 / alpha
        at = np.flatnonzero(self.grid == claim).tolist()
        self.at: int | None = at[0] if at else None
        self.reached, self.won, self.rounds = 0, -math.inf, 0
        self.players = [make(self.grid) for _, make in players]
        self.dealt = np.log([share for share, _ in players])
        self.couple = 1 + any(getattr(one, "late", False) for one in self.players)
        self._weigh()

    def bet(self, n: int, watched: bool = True) -> int:
        """Bet on n more rounds that all players have seen, one after the other, until the claim is
        rejected.

        Parameters
        ----------
        n : int
        watched : bool
            Whether to stop at the claim.

        Returns
        -------
        int
            Rounds that were used.
        """
        used = n
        if watched and self.at is not None:
            trace = self._mixed([one.trace(self.at) for one in self.players])
            looked = (self.rounds + 1 + np.arange(used)) % self.couple == 0
            won = np.flatnonzero(looked & (trace >= self.goal + 1e-9))
            used = int(won[0]) + 1 if won.size else used
        for one in self.players:  # what is rejected is rejected for ever
            one.play(used, self._target, min(self.reached, self._target))
        self.rounds += used
        if self.rounds % self.couple:
            return used
        self._weigh()
        now = float(self.total[self.at]) if self.at is not None else -math.inf
        if not self.refuted and math.exp(min(now, 700)) >= self.enough:
            self.won = now
        refuted = self.total[self.reached :] >= self.goal
        self.reached += len(refuted) if refuted.all() else int(np.argmin(refuted))
        return used

    def _mixed(self, parts: Any) -> Array:
        return np.asarray(np.logaddexp.reduce(self.dealt[:, None] + parts, axis=0))

    def _weigh(self) -> None:
        self.total = self._mixed([one.log for one in self.players])

    # --- what is known ----------------------------------------------------------------------------

    @property
    def lower(self) -> float:
        """Bound of epsilon that holds at all times."""
        return float(self.grid[self.reached - 1]) if self.reached else 0.0

    @property
    def log(self) -> float:
        """Logarithm of the wealth against the claim; once the claim is refuted, no less than the
        wealth that refuted it."""
        return max(float(self.total[self._target]), self.won)

    @property
    def e_value(self) -> float | None:
        """Wealth against the claim, ``None`` if nothing is claimed."""
        return None if self.at is None else math.exp(min(self.log, 700))

    @property
    def _target(self) -> int:
        return min(self.reached, self.grid.size - 1) if self.at is None else self.at

    @property
    def refuted(self) -> bool:
        """Whether the wealth against the claim has reached ``1 / alpha``."""
        return self.won > -math.inf

    @property
    def each(self) -> Array:
        """Logarithm of the own wealth of every track, then of every other player, against the
        claim."""
        at = self._target
        own = [one.each(at) if isinstance(one, Tracks) else one.log[at] for one in self.players]
        return np.hstack(own)

    def most(self, reports: int) -> float:
        """Return the largest epsilon that tracks would refute in so many reports per input, if the
        event is the input in the clear in one report of ten."""
        refuted = self.players[0].sure(reports) + self.dealt[0] >= self.goal
        return float(self.grid[refuted].max(initial=0.0))

    # --- to be continued --------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Return what JSON can write and `restore` needs."""
        return {
            "reached": self.reached,
            "won": self.won if self.refuted else None,
            "total": self.total.tolist(),
            "players": [one.state() for one in self.players],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from another wealth's `state`."""
        self.reached = checks.integer("reached", state["reached"], 0, self.grid.size)
        self.rounds = checks.integer("rounds", state["rounds"], 0)
        for one, kept in zip(self.players, state["players"], strict=True):
            one.restore(kept)
        total = np.array(state["total"], float)
        if total.shape != self.grid.shape:
            raise ValueError(f"state must hold total of shape {self.grid.shape}, got {total.shape}")
        self.total = total
        self.won = -math.inf if state["won"] is None else float(state["won"])
        checks.reals("wealth", [*total, self.log, *self.each], -_MOST, _MOST)
