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

from .. import betting
from ..compiled import kernel
from ..types import Array, Rates
from .result import in_the_clear

__all__ = ["COINS", "IDLE", "MEAN", "PRODUCT", "SHARES", "SURE", "Purse", "grid"]

IDLE = 4
"""Symbol of a round that is not bet on."""

COINS, PRODUCT, MEAN = "coins", "product", "mean"
"""How a round multiplies the wealth: by the factor of the one report whose input a coin chose, by
the product of the factors of a pair of independent reports, or by their mean."""


SHARES = (0.5, 1.0)
"""How far bets on learned rates go from the null to them: where they err, half the way is safer."""

SURE = 0.9
"""Share of the bet on rates that were declared; the rest is for the case that they are wrong."""

_STEPS, _WIDEST, _TOP = 100, 0.02, 12.0
_LEAST = 1e-300  # factor of a bet: nothing is lost for ever
_TRIED, _AT_ONCE = 500, 2**10  # scores that a balance is chosen from, and that are bet on together
_BALANCES = np.linspace(0.1, 1.9, 19)


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
def _after(factors: Array, wealth: Array, symbols: Array, soft: Array, slot: int) -> Array:
    """The wealth of all bets together after each round.

    `factors` (tracks, 5, bets), `wealth` (tracks, bets), `symbols` (tracks, n), and `soft`
    (tracks, bets from `slot` on, n) factors by round.
    """
    tracks, bets = wealth.shape
    totals = np.zeros(symbols.shape[1])
    for i in range(totals.size):
        for t in range(tracks):
            symbol = symbols[t, i]
            for b in range(slot):
                wealth[t, b] *= factors[t, symbol, b]
                totals[i] += wealth[t, b]
            for b in range(slot, bets):
                wealth[t, b] *= soft[t, b - slot, i]
                totals[i] += wealth[t, b]
    return totals


class Purse:
    """Wealth of a mixture of bets on several tracks, against every epsilon of a grid.

    Parameters
    ----------
    claim : float
        Claimed epsilon; infinite if none is claimed.
    delta, alpha : float
    rates : sequence of (float, float) or None
        By track: rates that were declared.
    learned, scored : bool
        Whether there are bets on rates, and on scores, that are learned.
    rule : {COINS, PRODUCT, MEAN}
        What a round is.
    eta : float
        Power of its wealth that a bet's share is proportional to, whenever a block of bets ends; 1
        is the plain mixture.
    weights : float array (tracks,), optional
        Weight of each second input: 1 for a pair of inputs, 1/(k - 1) where k - 1 others are held
        against one.
    screens : sequence of (float, callable)
        Shares of the stake for bets of another kind, each made by ``f(grid)``, see
        `ldpkit.sequential.Screen`; the rest is for the tracks.

    Attributes
    ----------
    counts : int array (tracks, 5)
        How often each symbol was seen, see `ldpkit.betting`; the fifth is `IDLE`.
    reached : int
        How many values of the grid are rejected.
    rounds, couple : int
        Rounds that were bet on, and after how many of them the wealth is looked at: after two where
        a screen is about the input of the report before, because its bet is fair given all couples
        of rounds before, and not given the first round of a couple.
    total : float array
        Logarithm of the wealth against every epsilon of the grid, when it was looked at last.
    believed : list of (float, float) or None
        By track: the rates that are bet on.
    dealt : float array
        Logarithms of the shares of the stake: of all tracks together, and of every screen.
    won : float
        Logarithm of the wealth with which the claim was refuted; minus infinity if it was not.
    """

    def __init__(
        self, claim: float, delta: float, alpha: float, rates: Sequence[Rates | None],
        *, learned: bool = False, scored: bool = False, rule: str = MEAN, eta: float = 1.0,
        weights: Any = None, screens: Sequence[tuple[float, Any]] = (),
    ) -> None:  # fmt: skip
        self.grid, self.delta, self.goal = grid(claim), delta, -math.log(alpha)
        self.enough = 1 / alpha
        at = np.flatnonzero(self.grid == claim).tolist()
        self.at: int | None = at[0] if at else None
        self.rule, self.eta, self.coins = rule, eta, rule == COINS
        joint = rule != MEAN and (learned or any(r is not None for r in rates))
        lines, even = len(betting.STAKES), np.full(len(SHARES), 1 / len(SHARES))
        self.slot = lines + joint * len(SHARES)
        plain = [np.full(lines, 1 / lines), *joint * [learned * even], *scored * [even]]
        sure = [(1 - SURE) * plain[0], np.array([0.0, SURE]), *scored * [0 * even]]
        prior = np.array([np.concatenate(plain if r is None or not joint else sure) for r in rates])
        prior /= prior.sum(axis=1, keepdims=True) * len(prior)
        with np.errstate(divide="ignore"):
            self._prior = np.log(prior)
        self.counts = np.zeros((len(rates), 5), np.int64)
        self.reached, self.won = 0, -math.inf
        self.believed = list(rates)
        self._weights = np.ones(len(rates)) if weights is None else weights
        self.screens = [make(self.grid) for _, make in screens]
        shares = [share for share, _ in screens]
        self.dealt = np.log([1 - sum(shares), *shares])
        self.couple, self.rounds = 1 + any(screen.late for screen in self.screens), 0
        size = (self.grid.size, *prior.shape)
        self.base, self.past, self.now = np.zeros(self.grid.size), np.zeros(size), np.zeros(size)
        self.shares = np.broadcast_to(self._prior, size)
        self._weigh()
        self.balance = np.full((len(rates), self.grid.size), math.nan)  # nan: not bet
        self._gains = np.zeros((*size, 5))  # logarithms of factors
        linear = [betting.linear(betting.STAKES, g, delta, coins=self.coins) for g in self.grid]
        for track in range(len(rates)):
            self._gains[:, track, :lines, :IDLE] = np.log(self._weighed(np.array(linear), track))
        for track, pair in enumerate(rates):
            self.believe(track, pair)

    # --- before bets are made ---------------------------------------------------------------------

    def believe(self, track: int, rates: Rates | None) -> None:
        """Bet on these rates from now on, where bets on rates are made."""
        lines, self.believed[track] = len(betting.STAKES), rates
        for bet, share in zip(range(lines, self.slot), SHARES):
            gains = self._gains[:, track, bet, :IDLE]
            gains[:] = 0.0
            if rates is not None:
                factors = betting.joint(*rates, self.grid, self.delta, share, coins=self.coins)
                gains[:] = np.log(np.maximum(self._weighed(factors, track), _LEAST))

    def _weighed(self, factors: Array, track: int) -> Array:
        """Factors by symbol, of which those of the second input count by its weight."""
        if self.coins:
            factors[..., 2:] = 1 + self._weights[track] * (factors[..., 2:] - 1)
        return factors

    def tune(self, track: int, first: Array, second: Array) -> None:
        """Choose the balance of bets on scores from scores of past reports."""
        tried = self.grid[:: self.grid.size // 20]
        gains = np.log(self._pair(
            (first[-_TRIED:], second[-_TRIED:]), _BALANCES[:, None, None], tried[:, None]
        )).mean(axis=2)  # fmt: skip
        enough = gains.max(axis=0) * min(len(first), _TRIED) >= 1
        found = np.where(enough, _BALANCES[gains.argmax(axis=0)], math.nan)
        near = np.minimum(np.arange(self.grid.size) // (self.grid.size // 20), tried.size - 1)
        self.balance[track] = found[near]

    def _pair(self, scores: tuple[Array, Array], balance: Array, epsilon: Array) -> Array:
        """Factors of pairs."""
        one = betting.soft(scores[0], balance, epsilon, self.delta)[0]
        two = betting.soft(scores[1], balance, epsilon, self.delta)[1]
        return np.maximum((one + two) / 2 if self.rule == MEAN else one * two, _LEAST)

    def _single(
        self, scores: Array, second: Array, weight: float, balance: Array, epsilon: Array
    ) -> Array:
        """Factors of reports of the first input or, where so marked, of the second."""
        one, two = betting.soft(scores, balance, epsilon, self.delta)
        return np.maximum(np.where(second, 1 + weight * (two - 1), one), _LEAST)

    def _scored(self, symbols: Array, scores: Sequence[Any], claims: slice) -> Array:
        """Gains of bets on scores against some claims, (claims, tracks, bets, n)."""
        size, n = self.grid[claims].size, symbols.shape[1]
        found = np.zeros((size, len(scores), self.now.shape[2] - self.slot, n))
        for track, given in enumerate(scores):
            balance = self.balance[track, claims, None]
            bet = ~np.isnan(balance[:, 0])
            if given is None or not bet.any():
                continue
            where = np.flatnonzero(symbols[track] != IDLE)
            against = balance[bet], self.grid[claims, None][bet]
            for number, share in enumerate(SHARES):
                if self.coins:
                    second = symbols[track, where] >= 2
                    likely, weight = _drawn_in(given[where], share), self._weights[track]
                    factors = self._single(likely, second, weight, *against)
                else:
                    sides = _drawn_in(given[0][where], share), _drawn_in(given[1][where], share)
                    factors = self._pair(sides, *against)
                one = found[:, track, number]
                one[np.ix_(np.flatnonzero(bet), where)] = np.log(factors)
        return found

    # --- bets -------------------------------------------------------------------------------------

    def bet(self, symbols: Array, scores: Sequence[Any], watched: bool = True) -> int:
        """Bet on n more rounds, one after the other, until the claim is rejected.

        Parameters
        ----------
        symbols : uint8 array (tracks, n)
        scores : sequence
            By track ``None``, or the scores of reports, float array (n,); of pairs a tuple of two
            arrays, for the first reports and for the second.
        watched : bool
            Whether to stop at the claim.

        Returns
        -------
        int
            Rounds that were used.
        """
        used = symbols.shape[1]
        if watched and self.at is not None:
            trace = self._trace(symbols, scores)
            looked = (self.rounds + 1 + np.arange(used)) % self.couple == 0
            won = np.flatnonzero(looked & (trace >= self.goal + 1e-9))
            used = int(won[0]) + 1 if won.size else used
        seen = np.array([np.bincount(row[:used], minlength=5) for row in symbols])
        self.counts += seen
        gained = np.einsum("ts,gtbs->gtb", seen, self._gains)
        for i in range(0, used if self.slot < gained.shape[2] else 0, _AT_ONCE):
            part = slice(i, min(i + _AT_ONCE, used))
            some = [cut(s, part) for s in scores]
            gained[:, :, self.slot :] += self._scored(symbols[:, part], some, slice(None)).sum(
                axis=3
            )
        self.now += gained
        for screen in self.screens:
            screen.play(used, self._target)
        self.rounds += used
        self._weigh()
        if self.rounds % self.couple:
            return used
        now = float(self.total[self.at]) if self.at is not None else -math.inf
        if not self.refuted and math.exp(min(now, 700)) >= self.enough:
            self.won = now
        refuted = self.total[self.reached :] >= self.goal
        self.reached += len(refuted) if refuted.all() else int(np.argmin(refuted))
        return used

    def _trace(self, symbols: Array, scores: Sequence[Any]) -> Array:
        """Logarithm of the wealth against the claim after each round."""
        at = self.at or 0
        start = self.base[at] + self.shares[at] + self.now[at]
        scale = float(start.max())
        factors = np.exp(np.ascontiguousarray(np.swapaxes(self._gains[at], 1, 2)))
        soft = np.exp(self._scored(symbols, scores, slice(at, at + 1))[0])
        with np.errstate(divide="ignore"):
            own = np.log(_after(factors, np.exp(start - scale), symbols, soft, self.slot)) + scale
        parts = [own, *(screen.trace(at) for screen in self.screens)]
        return np.logaddexp.reduce(self.dealt[:, None] + parts, axis=0)

    def settle(self) -> None:
        """End a block: bets get new shares of the wealth there is."""
        self.base, self.past = self._own.copy(), self.past + self.now
        shares = self._prior + self.eta * self.past
        self.shares = shares - scipy.special.logsumexp(shares, axis=(1, 2), keepdims=True)
        self.now = np.zeros_like(self.now)

    # --- what is known ----------------------------------------------------------------------------

    def _weigh(self) -> None:
        each = self.shares + self.now
        top = each.max(axis=(1, 2), keepdims=True)
        self._own = self.base + top[:, 0, 0] + np.log(np.exp(each - top).sum(axis=(1, 2)))
        if self.rounds % self.couple == 0:
            parts = [self._own, *(screen.log for screen in self.screens)]
            self.total = np.logaddexp.reduce(self.dealt[:, None] + parts, axis=0)

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
        """Logarithm of the own wealth of every track, then of every screen, against the claim."""
        weights = self._prior - scipy.special.logsumexp(self._prior, axis=1, keepdims=True)
        at = self._target
        tracks = scipy.special.logsumexp(weights + (self.past + self.now)[at], axis=1)
        return np.append(tracks, [screen.log[at] for screen in self.screens])

    def most(self, reports: int) -> float:
        """Return the largest epsilon that so many reports per input would refute, if the event is
        the input in the clear in one report of ten, see `in_the_clear`."""
        hits = in_the_clear(reports)
        none, shown = (2, 1) if self.coins else (0, 2)  # where delta > 0, waiting has a price
        lines = self._gains[:, 0, : len(betting.STAKES)]
        won = hits * lines[:, :, shown] + (reports - hits * (not self.coins)) * lines[:, :, none]
        spent = math.log(won.shape[1] * len(self.counts)) - float(self.dealt[0])
        refuted = scipy.special.logsumexp(won, axis=1) - spent >= self.goal
        return float(self.grid[refuted].max(initial=0.0))

    # --- to be continued --------------------------------------------------------------------------

    _KEPT = ("base", "past", "now", "shares", "counts", "balance")

    def state(self) -> dict[str, Any]:
        """Return what JSON can write and `restore` needs."""
        return {name: getattr(self, name).tolist() for name in self._KEPT} | {
            "reached": self.reached,
            "won": self.won if self.refuted else None,
            "believed": self.believed,
            "total": self.total.tolist(),
            "screens": [screen.state() for screen in self.screens],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from another purse's `state`."""
        for name in self._KEPT:
            old = getattr(self, name)
            new = np.array(state[name], old.dtype)
            if new.shape != old.shape:
                raise ValueError(f"state must hold {name} of shape {old.shape}, got {new.shape}")
            setattr(self, name, new)
        self.reached = int(state["reached"])
        for screen, kept in zip(self.screens, state["screens"], strict=True):
            screen.restore(kept)
        self.rounds = int(state["rounds"])
        total = np.array(state["total"], float)
        if total.shape != self.grid.shape:
            raise ValueError(f"state must hold total of shape {self.grid.shape}, got {total.shape}")
        self.total = total
        self._weigh()
        self.won = -math.inf if state["won"] is None else float(state["won"])
        for track, rates in enumerate(state["believed"]):
            self.believe(track, rates and (float(rates[0]), float(rates[1])))


def cut(scores: Any, part: slice) -> Any:
    """The scores of some rounds."""
    if isinstance(scores, tuple):
        return scores[0][part], scores[1][part]
    return None if scores is None else scores[part]


def _drawn_in(scores: Array, share: float) -> Array:
    odds = scipy.special.logit(scores)
    return scipy.special.expit(share * odds)
