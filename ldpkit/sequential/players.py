"""Players, which bet on the same rounds: the wealth of their bets, and how it is kept.

A player holds several bets. Its wealth is one mixture of them, against every claim of a list. After
each block of reports the wealth is shared anew among the bets, by what each has won.

One bet has no player, because it comes before the first round: that a program draws the same coins
at every start. The program is started three times. The first two starts get the same inputs, and
the third one gets other inputs. Let A, B and C be the answers to one question, let p be the
distribution of A and of B, and q that of C. The claim implies 1 - q(y) <= exp(epsilon) (1 - p(y)) +
delta for every answer y. Therefore, for every set S of answers,

    P(A = B != C, A in S) = sum over S of p(y)^2 (1 - q(y))
                         <= exp(epsilon) P(A != B) + delta P(A = B in S).

Here S are the answers that differ from the previous one to the same input. Therefore a program that
always repeats its answer, for example because it needs no coins, is not taken for one that repeats
its coins. The bet multiplies its wealth by 1 + l (1 - delta) if A = B != C, by 1 - l delta if
A = B = C, and by 1 - l exp(epsilon) if A != B, where l = exp(-epsilon). This wins nothing on
average if the coins of the starts are independent, and an answer does not depend on earlier ones.
"""

import base64
import io
import math
import time
import zipfile
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from .. import checks
from ..mechanisms import Client, ClientError, Program
from ..types import Array

__all__ = [
    "AGREE", "KNOWN", "SAME", "SHARE", "SHARES", "UNSEEDED", "Kept", "Player", "gains",
    "same_seed",
]  # fmt: skip

SHARES = (0.5, 1.0)
"""How far bets go from even odds to those of what was learned, which errs."""

SHARE = 0.01
"""Share of the stake that is bet on the seed of a program."""
SAME = "the same seed at every start"
"""The cause in words."""
AGREE = "answers of two starts agree, and those of a third one with other inputs differ"
"""The event in words."""
KNOWN = (
    "The program has the same seed at every start: two starts gave the same answers to the same"
    " inputs, and a third one gave other answers to other inputs. Therefore anybody who knows the"
    " program knows its coins."
)
"""Sentence about a violation."""
UNSEEDED = (
    "the program has the same seed at every start, so that its coins are known, and counts of its"
    " reports prove nothing"
)
"""Why an audit is not valid if these answers do not differ enough between inputs."""

_QUESTIONS, _PATIENCE = 2000, 5.0  # questions, and seconds for all of them
_FRESH = 20  # so many changing answers repeat by chance with probability 2^-20 at most
_AT_ONCE = 128  # reports
MOST = 1e15  # no audit reaches such a logarithm of wealth
_LARGEST = 2**29  # largest number of bytes of all arrays of a state


class Kept:
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
        sentence = f"state must hold {type(self).__name__}, got numbers that are out of range"
        checks.need(self._sound(), sentence)

    def _part(self, name: str) -> Any:
        """Return an array or number of the state."""
        return attrgetter(name)(self)

    def _sound(self) -> bool:
        """Return whether all numbers of the state are in range."""
        return True


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
        reports = np.flatnonzero(np.repeat(fresh, self.size))
        gained, won = self._win(reports, at, low)
        self._tried = n, at, gained
        return np.append(self.log[at], won + self.base[at])[np.cumsum(fresh)]

    def _win(self, reports: Array, at: int, low: int) -> tuple[Array, Array]:
        """Return what each bet wins by some of the reports seen, as `_in_parts` does."""
        raise NotImplementedError

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
        shares = np.exp(powers - np.logaddexp.reduce(powers, axis=axes))
        with np.errstate(divide="ignore"):
            self.shares = np.log((1 - self._AGAIN) * shares + self._AGAIN * np.exp(self._prior))
        self.now = np.zeros_like(self.now)

    def _sound(self) -> bool:
        logs = np.concatenate([x.ravel() for x in (self.base, self.now, self.own)])
        return bool((abs(logs) <= MOST).all()) and 0 <= self.rounds <= self.counted

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


def gains(epsilon: float, delta: float) -> tuple[float, float]:
    """Return what the logarithm of the wealth gains if the third answer differs, and if not."""
    stake = math.exp(-min(epsilon, 700))
    return math.log1p((1 - delta) * stake), math.log1p(-delta * stake)


def same_seed(client: Client, inputs: Sequence[int], goal: float) -> tuple[float, bool]:
    """Return the logarithm of the wealth, and whether the program seems to repeat its coins.

    Parameters
    ----------
    client : Client
        A client whose function is a `Program`.
    inputs : sequence of int
        The audited inputs, by their positions.
    goal : float
        Logarithm of the wealth at which to stop.
    """
    program: Any = client.function
    starts = [Program(program.words, program.limit) for _ in range(3)]
    values = [i if client.values is None else client.values[i] for i in inputs]
    won, lost = gains(client.epsilon, client.delta)
    last: dict[int, Any] = {}
    wealth, fresh, end = 0.0, 0, time.monotonic() + _PATIENCE
    for question in range(_QUESTIONS):
        at = question % len(values)
        try:
            first, again = [start(values[at]) for start in starts[:2]]
            other = starts[2](values[at - 1]) if first == again else None
        except ClientError:  # the audit will meet it, too
            return -math.inf, False
        if first != again:
            return -math.inf, False
        if last.get(at, first) != first:
            fresh, wealth = fresh + 1, wealth + (won if other != first else lost)
        last[at] = first
        if wealth >= goal or time.monotonic() > end:
            break
    return wealth, fresh >= _FRESH
