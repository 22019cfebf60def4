"""Sources of reports, and events to bet on, which a report either shows or does not show.

Reports come as their mechanism makes them: arrays with one entry a user, or lists of such arrays.
Reports of type ``any`` are arrays of objects. A bet is valid only if the event depends on its own
report alone. A *track* is an event with an ordered pair of inputs, and several bets run on each.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from ... import checks
from ...attacks import Attack
from ...auditors.result import in_the_clear
from ...jit import kernel
from ...mechanisms import LocalRandomizer
from ...types import Array, Pair, Rates, Reports, Rng
from .. import betting
from . import tallies
from .columns import read
from .players import SHARES, Player
from .records import Records
from .tallies import CATEGORY, happens

__all__ = [
    "AGREE", "IDLE", "SHARE", "Event", "Accepted", "Declared", "Entry",
    "Source", "Tracks", "happened",
]  # fmt: skip

IDLE = 4
"""Symbol of a round on which no bet is made."""

SURE = 0.9
"""Share of the stake that is bet on declared rates; the rest insures against wrong rates."""

_LEAST = 1e-300  # smallest factor of a bet, because a bet never recovers from a factor of 0
SHARE = 0.01
"""Share of the stake that is bet on the seed of a program."""
AGREE = "answers of two starts agree, and those of a third one with other inputs differ"
"""The event in words, if the seed of a program decides."""


@runtime_checkable
class Source(Protocol):
    """Reports of several inputs that cannot be asked for one by one, such as recordings.

    Attributes
    ----------
    name : str
    parameters : dict
    epsilon, delta : float
        The claim.
    repeats : bool
        Whether the same generator gives the same reports.
    independent : bool
        Whether reports of different inputs are known to be independent.
    """

    name: str
    parameters: dict[str, Any]
    epsilon: float
    delta: float
    repeats: bool
    independent: bool

    def draw(self, inputs: Sequence[Any], n: int, rng: Rng) -> list[Reports]:
        """Return n reports of every input; fewer of each if there are no more."""


class Event(ABC):
    """Base class of everything that can be bet on.

    A subclass has a text `words` and a method `holds`. It may override `rates`.

    Attributes
    ----------
    words : str
        The event in words.
    """

    words: str

    @property
    def rates(self) -> Rates | None:
        """Probabilities of the event with the first and with the second input, or ``None``.

        One bet is made for just these rates, unless the factors of a round are averaged. Without
        rates the event is also bet on with the two inputs exchanged. Rates tell which input the
        event supports.
        """
        return None

    @abstractmethod
    def holds(self, reports: Reports) -> Array:
        """Return whether each report shows the event; bool array (n,)."""


def _two(name: str, rates: Any) -> Rates:
    """Return two checked rates."""
    p, q = checks.reals(name, rates, 0, 1).tolist()
    return p, q


@dataclass(frozen=True)
class Declared(checks.Checked, Event):
    """An event that the user defines.

    Parameters
    ----------
    function : callable
        ``f(reports)``, a bool array with one entry a report.
    words : str
        The event in words, such as ``"y < 0.25"``.
    rates : (float, float), optional
        Probabilities of the event with the first and with the second input, in [0, 1], if they are
        known. The bet is valid even if they are wrong.
    """

    function: Annotated[
        Callable[[Reports], ArrayLike], checks.rule(checks.instance, Callable, "callable")
    ]
    words: Annotated[str, checks.rule(checks.instance, str, "a text")]
    rates: Annotated[Rates | None, _two] = None

    def holds(self, reports: Reports) -> Array:
        """Return whether each report shows the event; bool array (n,)."""
        return np.asarray(self.function(reports))


@dataclass(frozen=True)
class Accepted(Event):
    """The event that an attack names the first input of a pair."""

    attack: Attack
    mechanism: LocalRandomizer
    pair: Pair

    @property
    def words(self) -> str:  # type: ignore[override]  # follows from the other fields
        """The event in words."""
        return f"{self.attack.name} names {self.pair[0]}, not {self.pair[1]}"

    @property
    def rates(self) -> Rates | None:
        """Exact rates, or ``None`` if the exact distribution is unknown."""
        return self.attack.rates(self.mechanism, self.pair)

    def holds(self, reports: Reports, rng: Rng | None = None) -> Array:
        """Return whether the attack accepts each report; `rng` breaks ties."""
        rng = np.random.default_rng() if rng is None else rng
        return self.attack.accepts(self.mechanism, reports, self.pair, rng)


@dataclass(frozen=True)
class Entry(Event):
    """An event about one or two entries of a report, which another audit can declare.

    Parameters
    ----------
    words : str
        The event in words.
    kind : int
        Type of the event, a constant of `ldpkit.blackbox.sequential.tallies`.
    paths : tuple of int
        The key of a category; the hashes of both paths of a couple; otherwise the hash of the path.
    value : float
        Binary digit, threshold or type of a number.
    rates : (float, float), optional
        Share of reports that show the event, with the first and with the second input.
    """

    words: str
    kind: int
    paths: tuple[int, ...]
    value: float = 0.0
    rates: Rates | None = None

    def holds(self, reports: Any) -> Array:
        """Return whether each report shows the event; bool array (n,)."""
        return self.among(read(reports))

    def among(self, found: Records) -> Array:
        """Return whether each report with these records shows the event; bool array (n,)."""
        path = np.uint64(self.paths[0])
        shown = np.zeros(found.whole.size, bool)
        if self.kind == CATEGORY:
            shown[found.category_rows[found.keys == path]] = True
        elif self.kind < CATEGORY:
            at = found.paths == path
            numbers = zip(*(part[at] for part in (found.rows, *found[2:5])))
            shown[[row for row, *x in numbers if happens(self.kind, self.value, *x)]] = True
        else:
            signs = np.zeros((2, found.whole.size))
            for sign, own in zip(signs, self.paths):
                at = (found.paths == np.uint64(own)) & np.isin(found.values, (0, 1))
                sign[found.rows[at]] = 2 * found.values[at] - 1
            shown = signs.prod(axis=0) == (1 if self.kind == tallies.AGREE else -1)
        return shown


def happened(event: Event, reports: Reports, n: int, rng: Rng) -> Array:
    """Return whether each of n reports shows the event, after checking the answer."""
    answer = event.holds(reports, rng) if isinstance(event, Accepted) else event.holds(reports)
    shown = np.asarray(answer)
    checks.need(
        shown.shape == (n,) and shown.dtype == bool,
        f"event {event.words!r} must return {n} booleans, one per report, got {shown.dtype} of"
        f" shape {shown.shape}",
    )
    return shown


# --- wealth of bets on given events ---------------------------------------------------------------
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
        How often each symbol was seen, see `ldpkit.blackbox.betting`; the fifth is `IDLE`.
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
        linear = [betting.linear(betting.STAKES, g, delta, coins=coins) for g in grid]
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
        symbols = np.ascontiguousarray(self._symbols[:, : reports.size])  # one type to compile
        self._shown = np.array([np.bincount(row, minlength=5) for row in symbols])
        start = (self.shares + self.now)[:, :, at]
        scale = float(start.max())
        factors = np.exp(np.ascontiguousarray(self._gains[:, :, at].swapaxes(1, 2)))
        with np.errstate(divide="ignore"):
            trace = np.log(_after(factors, np.exp(start - scale), symbols)) + scale
        return np.einsum("ts,tbgs->tbg", self._shown, self._gains), trace

    def keep(self) -> int:
        """Keep the last bet, and count its symbols."""
        self.counts += self._shown
        return super().keep()

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
