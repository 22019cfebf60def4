"""Players, which bet on the same rounds, their wealth, and the bound of epsilon that follows.

A player holds several bets. Its wealth is one mixture of them, against every claim of a list. After
each block of reports the wealth is shared anew among the bets, by what each has won. The wealth of
all players is one mixture, too.

To reject a claim is to conclude that epsilon is larger. Claims are rejected in ascending order,
each only after all smaller ones. The bound is therefore wrong only if the smallest claim that is
true is rejected. The probability that this happens at any time is at most alpha. There is one
exception: the claim under audit is refuted by its own wealth, and then all smaller ones are
rejected with it. If this claim is true, that also happens with probability at most alpha.
"""

import base64
import io
import math
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from ... import checks
from ...types import Array

__all__ = ["SHARES", "Kept", "Player", "Wealth", "grid"]

SHARES = (0.5, 1.0)
"""How far bets go from even odds to those of what was learned, which errs."""

_STEPS, _WIDEST, _TOP = 100, 0.02, 12.0
_AT_ONCE = 128  # reports
_MOST = 1e15  # no audit reaches such a logarithm of wealth
_LARGEST = 2**29  # largest number of bytes of all arrays of a state


class Kept(ABC):
    """An object whose state JSON can hold, so that another process continues from it.

    A subclass names its arrays and numbers; an array in `_GROWN` may have any number of rows.
    """

    _KEPT: tuple[str, ...] = ()
    _GROWN: tuple[str, ...] = ()

    def state(self) -> dict[str, Any]:
        """Return the state, for `restore`; JSON can hold it."""
        file = io.BytesIO()
        parts: Any = {name: self._part(name) for name in (*self._KEPT, *self._GROWN)}
        np.savez_compressed(file, **parts)
        return {"arrays": base64.b64encode(file.getvalue()).decode()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from the `state` of another object of the same kind, which is not trusted.

        Raises
        ------
        ValueError
            If the state has another form, or holds numbers that are out of range.
        """
        arrays = _unpacked(state["arrays"])
        for name in (*self._KEPT, *self._GROWN):
            old, new = np.asarray(self._part(name)), arrays[name]
            shape = (*new.shape[:1], *old.shape[1:]) if name in self._GROWN else old.shape
            checks.need(
                new.shape == shape and new.dtype == old.dtype,
                f"state must hold {name} of shape {shape}, got {new.dtype} of {new.shape}",
            )
            owner, _, last = name.rpartition(".")
            if name in self._GROWN and owner:
                setattr(self, owner, getattr(self, owner)._replace(**{last: new}))
            elif name in self._GROWN or not shape:
                holder = attrgetter(owner)(self) if owner else self
                setattr(holder, last, new if shape else new.item())
            else:
                old[...] = new
        checks.need(
            self._sound(),
            f"state must hold {type(self).__name__}, got numbers that are out of range",
        )

    def _part(self, name: str) -> Any:
        """Return an array or number of the state."""
        return attrgetter(name)(self)

    @abstractmethod
    def _sound(self) -> bool:
        """Return whether all numbers of the state are in range."""


def _unpacked(text: str) -> dict[str, Array]:
    file = io.BytesIO(base64.b64decode(text, validate=True))
    try:
        with zipfile.ZipFile(file) as parts:
            size = sum(part.file_size for part in parts.infolist())
        checks.need(size <= _LARGEST, f"state must hold at most {_LARGEST:,} bytes, got {size:,}")
        return dict(np.load(file, allow_pickle=False))
    except zipfile.BadZipFile as error:
        raise ValueError(f"state must hold arrays, got {error}") from None


class Player(Kept):
    """Wealth of several bets against every claim of a list.

    A player sees the next rounds, bets on them, and keeps the bet. Instead of keeping a bet it may
    bet again on fewer of the rounds. A subclass has a method `_win` that plays the rounds.

    Parameters
    ----------
    prior : float array (..., bets)
        Shares of the wealth at the start.
    claims : int
        Number of claims.
    size : int
        Reports of a round: 1 if a coin chose the input, the number of inputs in recordings.
    product : bool
        Whether the factors of a round's reports are multiplied, because they are independent;
        otherwise they are averaged.

    Attributes
    ----------
    base : float array (claims,)
        Logarithm of the wealth at the start of the block.
    shares, now, own : float arrays (..., bets, claims)
        Logarithms by bet: shares of the wealth at the start of the block, what each has won since,
        and what each has won before.
    counted, rounds : int
        Rounds whose reports were counted, and rounds that were played. No bet is made on a round
        that was counted earlier, because such a bet would not be fair.
    """

    late = False
    _KEPT: tuple[str, ...] = ("base", "now", "own", "shares", "counted", "rounds")
    _POWER, _AGAIN = 2.0, 0.01

    def __init__(self, prior: Array, claims: int, size: int, product: bool) -> None:
        self.size, self.product = size, size == 1 or product
        with np.errstate(divide="ignore"):
            self._prior = np.log(prior)[..., None]
        shape = (*prior.shape, claims)
        self.base, self.now, self.own = np.zeros(claims), np.zeros(shape), np.zeros(shape)
        self.shares = np.broadcast_to(self._prior, shape).copy()
        self.counted = self.rounds = 0
        self._fresh = np.empty(0, bool)  # of the rounds seen: whether a bet is made on each
        self._tried: tuple[int, int, Any] = 0, 0, 0.0

    @property
    def log(self) -> Array:
        """Logarithm of the wealth against every claim, float array (claims,)."""
        axes = tuple(range(self.now.ndim - 1))
        return np.asarray(self.base + np.logaddexp.reduce(self.shares + self.now, axis=axes))

    def each(self, at: int) -> Array:
        """Return the logarithms of the wealth against one claim that a result lists."""
        return self.log[[at]]

    def bet(self, n: int, at: int = 0, low: int = 0) -> Array:
        """Bet on the first n of the rounds seen, against the claims from number `low` on.

        Returns
        -------
        float array (n,)
            Logarithm of the wealth against claim number `at`, after each of these rounds.
        """
        fresh = self._fresh[:n]
        gained, won = self._win(np.flatnonzero(np.repeat(fresh, self.size)), at, low)
        self._tried = n, at, gained
        start = np.logaddexp.reduce(self.shares[..., at] + self.now[..., at], axis=None)
        return self.base[at] + np.append(start, won)[np.cumsum(fresh)]

    @abstractmethod
    def _win(self, reports: Array, at: int, low: int) -> tuple[Array, Array]:
        """Return what each bet wins by some of the reports seen, as `_in_parts` does."""

    def keep(self) -> int:
        """Keep the last bet; return its number of rounds."""
        n, _, gained = self._tried
        self.now += gained
        self.rounds += n
        return n

    def share(self) -> None:
        """End a block: share the wealth anew among the bets.

        Shares are proportional to the prior times a power of what a bet has won. A part of the
        wealth is shared by the prior instead, so that no bet is ever without wealth.
        """
        self.base, self.own = self.log, self.own + self.now
        powers, axes = self._prior + self._POWER * self.own, tuple(range(self.own.ndim - 1))
        shares = (1 - self._AGAIN) * np.exp(powers - np.logaddexp.reduce(powers, axis=axes))
        with np.errstate(divide="ignore"):
            self.shares = np.log(shares + self._AGAIN * np.exp(self._prior))
        self.now = np.zeros_like(self.now)

    def _sound(self) -> bool:
        logs = np.concatenate([x.ravel() for x in (self.base, self.now, self.own)])
        return bool((abs(logs) <= _MOST).all()) and 0 <= self.rounds <= self.counted

    def _watch(self, rounds: int) -> None:
        """Count the next rounds, and bet on those of them that were not counted earlier."""
        self._fresh = np.arange(self.rounds, self.rounds + rounds) >= self.counted
        self.counted = max(self.counted, self.rounds + rounds)

    def _in_parts(
        self, log: Array, at: int, reports: int, play: Callable[[slice, Array, Array, Array], Any]
    ) -> tuple[Array, Array]:
        """Play rounds in parts that are so short that no product of factors overflows.

        Parameters
        ----------
        log : float array (..., bets + 1, g)
            Logarithms of the wealth of bets; the last one of each row never changes.
        at : int
            Number of the claim whose wealth is traced.
        reports : int
            Number of reports in all.
        play : callable
            ``play(part, start, won, total)`` plays the reports of a slice. `start` is the wealth of
            the bets against claim `at`. `won` is multiplied by their factors, and `total` receives
            the wealth after each round.

        Returns
        -------
        gained : float array (..., bets + 1, g)
            Logarithms of what the bets won.
        trace : float array (rounds,)
            Logarithm of the wealth of all bets against claim `at`, after each round.
        """
        gained, trace = np.zeros_like(log), [np.empty(0)]
        bets, step = gained[..., :-1, :], max(_AT_ONCE // self.size, 1) * self.size
        for first in range(0, reports, step):
            part = slice(first, min(first + step, reports))
            won, total = np.ones_like(bets), np.empty((part.stop - first) // self.size)
            start = log[..., at] + gained[..., at]
            scale = start.max()
            play(part, np.exp(start - scale), won, total)
            bets += np.log(won)
            trace.append(np.log(total) + scale)
        return gained, np.concatenate(trace)


def grid(claim: float) -> Array:
    """Return the values of epsilon to reject, in ascending order; a finite claim is one of them."""
    if not 0 < claim < math.inf:
        return np.arange(0, _TOP, _WIDEST)
    steps = max(_STEPS, math.ceil(claim / _WIDEST))
    values = np.arange(2 * steps + 1) * (claim / steps)
    values[steps] = claim  # exactly, because the product may be rounded
    return values


class Wealth(Kept):
    """Wealth of all players, against every epsilon of a grid.

    Parameters
    ----------
    claim : float
        Claimed epsilon; infinite if none is claimed.
    alpha : float
    players : sequence of (float, player)
        The players, `Tracks`, `Screen` or `Scores`, each with its share of the stake.
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
        self.total = self._mixed([player.log for player in self.players])
        self.most_won = self.total.copy()

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
        # a rejected claim stays rejected, so no bet on it is needed
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
        self.total = self._mixed([player.log for player in self.players])
        self.most_won = np.maximum(self.most_won, self.total)
        now = float(self.total[self.at]) if self.at is not None else -math.inf
        if not self.refuted and math.exp(min(now, 700)) >= self.enough:
            self.refute(now)
        self.reached += int(np.argmin(np.append(self.total[self.reached :] >= self.goal, False)))
        return used

    def refute(self, won: float) -> None:
        """Refute the claim with this logarithm of the wealth, and so every smaller claim."""
        self.won, self.reached = won, max(self.reached, self._target + 1)

    def _mixed(self, parts: Any) -> Array:
        """Return the logarithm of the wealth of all players from those of each."""
        return np.asarray(np.logaddexp.reduce(self.dealt[:, None] + parts, axis=0))

    # --- conclusions ------------------------------------------------------------------------------

    @property
    def lower(self) -> float:
        """Lower bound of epsilon that holds at all times; at least the claim, if it is refuted."""
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
        return counts and bool((abs(wealth) <= _MOST).all())
