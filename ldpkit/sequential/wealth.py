"""Wealth of the bets against every claim of a grid, and the bound of epsilon that follows from it.

A *track* is an event with an ordered pair of inputs. Several bets run on each track, and the wealth
of all bets is one mixture. To reject a claim is to conclude that epsilon is larger. Claims are
rejected in ascending order, each only after all smaller ones. The bound is therefore wrong only if
the smallest claim that is true is rejected. The probability that this happens at any time is at
most alpha.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .. import betting
from ..auditors.result import in_the_clear
from ..jit import kernel
from ..types import Array, Rates
from .players import MOST, SHARES, Kept, Player

__all__ = ["IDLE", "SURE", "Wealth", "Tracks", "grid"]

IDLE = 4
"""Symbol of a round on which no bet is made."""

SURE = 0.9
"""Share of the stake that is bet on declared rates; the rest insures against wrong rates."""

_STEPS, _WIDEST, _TOP = 100, 0.02, 12.0
_LEAST = 1e-300  # smallest factor of a bet, because a bet never recovers from a factor of 0


def grid(claim: float) -> Array:
    """Return the values of epsilon to reject, in ascending order; a finite claim is one of them."""
    if not 0 < claim < math.inf:
        return np.arange(0, _TOP, _WIDEST)
    steps = max(_STEPS, math.ceil(claim / _WIDEST))
    values = np.arange(2 * steps + 1) * (claim / steps)
    values[steps] = claim  # exactly, because the product may be rounded
    return values


@kernel
def _after(factors: Array, wealth: Array, symbols: Array) -> Array:
    """Return the sum of the wealth of all bets after each round.

    `factors` has shape (tracks, 5, bets), `wealth` (tracks, bets) and `symbols` (tracks, n).
    """
    tracks, bets = wealth.shape
    totals = np.zeros(symbols.shape[1])
    for i in range(totals.size):
        for t in range(tracks):
            for b in range(bets):
                wealth[t, b] *= factors[t, symbols[t, i], b]
                totals[i] += wealth[t, b]
    return totals


class Tracks(Player):
    """Wealth of the bets on given events, against every epsilon of a grid.

    Parameters
    ----------
    grid : float array (g,)
        Claims to bet against.
    delta : float
    rates : sequence of (float, float) or None
        Known rates of every track.
    coins : bool
        Whether a round is one report, whose input a coin chose; otherwise it is a pair of reports.
    product : bool
        Whether the reports of a pair are independent. Then a round multiplies the wealth by the
        product of their factors, and otherwise by the mean of these factors.

    Attributes
    ----------
    counts : int array (tracks, 5)
        How often each symbol was seen, see `ldpkit.betting`; the fifth is `IDLE`.
    believed : float array (tracks, 2)
        The rates of every track that the bets assume; NaN if they assume none.
    """

    _KEPT = (*Player._KEPT, "counts", "believed")
    _POWER, _AGAIN = 1.0, 0.0

    def __init__(
        self, grid: Array, delta: float, rates: Sequence[Rates | None], coins: bool = False,
        product: bool = False,
    ) -> None:  # fmt: skip
        self.grid, self.delta, self.coins = grid, delta, coins
        joint, lines = coins or product, len(betting.STAKES)
        even, learned = np.full(len(SHARES), 1 / len(SHARES)), None in rates
        plain = np.append(np.full(lines, 1 / lines), learned * even if joint else [])
        sure = np.append((1 - SURE) * plain[:lines], [0.0, SURE] if joint else [])
        prior = np.array([plain if r is None or not joint else sure for r in rates])
        super().__init__(prior / prior.sum(axis=1, keepdims=True) / len(prior), grid.size, 1, True)
        self.counts = np.zeros((len(rates), 5), np.int64)
        self.believed = np.full((len(rates), 2), np.nan)
        self._gains = np.zeros((*self.now.shape, 5))  # logarithms of factors
        linear = [betting.linear(betting.STAKES, g, delta, coins=self.coins) for g in grid]
        self._gains[:, :lines, :, :IDLE] = np.log(linear).swapaxes(0, 1)
        for track, pair in enumerate(rates):
            if pair is not None:
                self.believe(track, pair)

    def believe(self, track: int, rates: Rates) -> None:
        """Assume these rates in the bets of a track from now on, if any of its bets use rates."""
        lines, self.believed[track] = len(betting.STAKES), rates
        for bet, share in zip(range(lines, self._gains.shape[1]), SHARES):
            factors = betting.joint(*rates, self.grid, self.delta, share, coins=self.coins)
            self._gains[track, bet, :, :IDLE] = np.log(np.maximum(factors, _LEAST))

    def hits(self, track: int) -> tuple[int, int, int, int]:
        """Return how often an event was seen with the first and with the second input, and the
        reports of each input that it was bet on."""
        seen = self.counts[track].tolist()
        if self.coins:
            return seen[1], seen[3], seen[0] + seen[1], seen[2] + seen[3]
        pairs = sum(seen[:IDLE])
        return seen[2] + seen[3], seen[1] + seen[3], pairs, pairs

    def see(self, symbols: Array) -> None:
        """Take the symbols of the next rounds, uint8 array (tracks, n)."""
        self._watch(symbols.shape[1])
        self._fresh[:], self._symbols = True, symbols  # no event was chosen by counted reports

    def _win(self, reports: Array, at: int, low: int) -> tuple[Array, Array]:
        symbols = self._symbols[:, : reports.size]
        seen = np.array([np.bincount(row, minlength=5) for row in symbols])
        start = (self.shares + self.now)[:, :, at]
        scale = float(start.max())
        factors = np.exp(np.ascontiguousarray(self._gains[:, :, at].swapaxes(1, 2)))
        with np.errstate(divide="ignore"):
            trace = np.log(_after(factors, np.exp(start - scale), symbols)) + scale
        return np.einsum("ts,tbgs->tbg", seen, self._gains), trace

    def keep(self) -> int:
        """Keep the last bet, and count its symbols."""
        n = super().keep()
        self.counts += [np.bincount(row[:n], minlength=5) for row in self._symbols]
        return n

    def each(self, at: int) -> Array:
        """Return the logarithm of the wealth of every track against one claim."""
        own = self._prior[:, :, 0] - np.logaddexp.reduce(self._prior[:, :, 0], axis=1)[:, None]
        return np.logaddexp.reduce(own + (self.own + self.now)[:, :, at], axis=1)

    def sure(self, reports: int) -> Array:
        """Return the logarithm of the wealth that a gross leak would have won, float array (g,).

        The first event is taken for a client that sends its input in the clear in one report of
        ten; see `in_the_clear`. `reports` are those of each input.
        """
        hits = in_the_clear(reports)
        none, shown = (2, 1) if self.coins else (0, 2)  # if delta > 0, `none` costs wealth too
        lines = self._gains[0, : len(betting.STAKES)]
        won = hits * lines[..., shown] + (reports - hits * (not self.coins)) * lines[..., none]
        return np.logaddexp.reduce(won, axis=0) - math.log(len(won) * len(self.counts))

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from the `state` of other tracks, see `Kept.restore`."""
        super().restore(state)
        for track in np.flatnonzero(~np.isnan(self.believed[:, 0])).tolist():
            p, q = self.believed[track].tolist()
            self.believe(track, (p, q))


class Wealth(Kept):
    """Wealth of all players, against every epsilon of a grid.

    Parameters
    ----------
    claim : float
        Claimed epsilon; infinite if none is claimed.
    alpha : float
    players : sequence of (float, player)
        The players, `Tracks`, `ldpkit.sequential.Screen` or `ldpkit.sequential.Scores`, each with
        its share of the stake.
    values : float array (g,)
        Values of the claims to bet against, such as a `grid`.

    Attributes
    ----------
    at : int or None
        Number of the claim; ``None`` if nothing is claimed.
    reached : int
        How many values of the grid are rejected.
    rounds : int
        Number of rounds so far.
    couple : int
        The wealth is read after every `couple` rounds. It is 2 if a screen bets on the input of the
        report before, because that bet is fair given all earlier couples of rounds, but not given
        the first round of its own couple.
    total : float array (g,)
        Logarithm of the wealth against every epsilon of the grid, when it was last read.
    most_won : float array (g,)
        The largest of these logarithms so far.
    dealt : float array
        Logarithms of the shares of the players.
    won : float
        Logarithm of the wealth with which the claim was refuted; minus infinity if it was not.
    """

    _KEPT = ("total", "most_won", "reached", "rounds", "won")

    def __init__(
        self, claim: float, alpha: float, players: Sequence[tuple[float, Any]], values: Array
    ) -> None:
        self.grid, self.goal, self.enough = values, -math.log(alpha), 1 / alpha
        self.at: int | None = next(iter(np.flatnonzero(values == claim).tolist()), None)
        self.reached, self.won, self.rounds = 0, -math.inf, 0
        self.players = [player for _, player in players]
        self.dealt = np.log([share for share, _ in players])
        self.couple = 2 if any(player.late for player in self.players) else 1
        self.most_won = np.full(self.grid.size, -math.inf)
        self._weigh()

    def bet(self, n: int, watched: bool = True) -> int:
        """Bet on the next n rounds, which all players have seen, until the claim is rejected.

        Parameters
        ----------
        n : int
        watched : bool
            Whether to stop when the claim is refuted.

        Returns
        -------
        int
            Number of rounds that were used.
        """
        at, low, used = self._target, min(self.reached, self._target), n
        trace = self._mixed([player.bet(n, at, low) for player in self.players])
        if watched and self.at is not None:
            read = (self.rounds + 1 + np.arange(n)) % self.couple == 0
            won = np.flatnonzero(read & (trace >= self.goal + 1e-9))
            used = int(won[0]) + 1 if won.size else n
        for player in self.players:
            if used < n:
                player.bet(used, at, low)
            player.keep()
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
        """Return the logarithm of the wealth of all players from those of each."""
        return np.asarray(np.logaddexp.reduce(self.dealt[:, None] + parts, axis=0))

    def _weigh(self) -> None:
        self.total = self._mixed([player.log for player in self.players])
        self.most_won = np.maximum(self.most_won, self.total)

    # --- conclusions ------------------------------------------------------------------------------

    @property
    def lower(self) -> float:
        """Lower bound of epsilon that holds at all times."""
        return float(self.grid[self.reached - 1]) if self.reached else 0.0

    @property
    def log(self) -> float:
        """Logarithm of the wealth against the claim; never below the wealth that refuted it."""
        return max(float(self.total[self._target]), self.won)

    @property
    def e_value(self) -> float | None:
        """Wealth against the claim, ``None`` if nothing is claimed."""
        return None if self.at is None else math.exp(min(self.log, 700))

    @property
    def _target(self) -> int:
        """Number of the claim; if nothing is claimed, of the smallest value not yet rejected."""
        return min(self.reached, self.grid.size - 1) if self.at is None else self.at

    @property
    def refuted(self) -> bool:
        """Whether the wealth against the claim has reached ``1 / alpha``."""
        return self.won > -math.inf

    @property
    def each(self) -> Array:
        """Logarithm of the wealth of every track, then of every other player, against the claim."""
        return np.hstack([player.each(self._target) for player in self.players])

    def most(self, reports: int) -> float:
        """Return the largest epsilon that the tracks would refute for a gross leak.

        The leak is that of `Tracks.sure` in so many reports per input.
        """
        refuted = self.players[0].sure(reports) + self.dealt[0] >= self.goal
        return float(self.grid[refuted].max(initial=0.0))

    # --- to stop and continue ---------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Return the state, for `restore`; JSON can hold it."""
        return super().state() | {"players": [player.state() for player in self.players]}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from the `state` of another wealth, see `Kept.restore`."""
        for player, kept in zip(self.players, state["players"], strict=True):
            player.restore(kept)
        super().restore(state)

    def _sound(self) -> bool:
        wealth = np.array([*self.total, *self.most_won, self.log, *self.each])
        counts = 0 <= self.reached <= self.grid.size and self.rounds >= 0
        return counts and bool((abs(wealth) <= MOST).all())
