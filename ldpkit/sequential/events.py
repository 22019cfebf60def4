"""Sources of reports, and events to bet on, which a report either shows or does not show.

Reports come as their mechanism makes them: arrays with one entry a user, or lists of such arrays.
Reports of type ``any`` are arrays of objects. A bet is valid only if the event depends on its own
report alone.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from .. import checks
from ..attacks import Attack
from ..mechanisms import LocalRandomizer
from ..types import Array, Pair, Rates, Reports, Rng
from .columns import read
from .tallies import AGREE, CATEGORY, happens

__all__ = ["Event", "Accepted", "Declared", "Entry", "Source", "happened"]


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

    A subclass has a text `words` and a method `holds`. It may override `rates` and `both`.

    Attributes
    ----------
    words : str
        The event in words.
    """

    words: str

    @property
    def rates(self) -> Rates | None:
        """Probabilities of the event with the first and with the second input, or ``None``.

        One bet is made for just these rates, unless the factors of a round are averaged.
        """
        return None

    @property
    def both(self) -> bool:
        """Whether one bet on this event is enough.

        If false, the same event is also bet on with the two inputs exchanged. By default an event
        with known rates is bet on once, because its rates tell which input it supports.
        """
        return self.rates is not None

    @abstractmethod
    def holds(self, reports: Reports) -> Array:
        """Return whether each report shows the event; bool array (n,)."""


@dataclass(frozen=True)
class Declared(Event):
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

    function: Callable[[Reports], ArrayLike]
    words: str
    rates: Rates | None = None

    def __post_init__(self) -> None:
        checks.need(callable(self.function), f"function must be callable, got {self.function!r}")
        checks.instance("words", self.words, str, "a text")
        if self.rates is not None:
            p, q = checks.reals("rates", self.rates, 0, 1)
            checks.fix(self, rates=(float(p), float(q)))

    def holds(self, reports: Reports) -> Array:
        """Return whether each report shows the event; bool array (n,)."""
        return np.asarray(self.function(reports))


@dataclass(frozen=True)
class Accepted(Event):
    """The event that an attack names the first input of a pair."""

    attack: Attack
    mechanism: LocalRandomizer
    pair: Pair
    words: str = field(init=False, repr=False)

    def __post_init__(self) -> None:
        checks.fix(self, words=f"{self.attack.name} names {self.pair[0]}, not {self.pair[1]}")

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
        Type of the event, a constant of `ldpkit.sequential.tallies`.
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
        found, path = read(reports), np.uint64(self.paths[0])
        shown = np.zeros(found.whole.size, bool)
        if self.kind == CATEGORY:
            shown[found.category_rows[found.keys == path]] = True
        elif self.kind < CATEGORY:
            at = found.paths == path
            numbers = found.types[at], found.values[at], found.words[at]
            shown[found.rows[at][happens(self.kind, self.value, *numbers)]] = True
        else:
            signs = np.zeros((2, found.whole.size))
            for sign, own in zip(signs, self.paths):
                at = (found.paths == np.uint64(own)) & np.isin(found.values, (0, 1))
                sign[found.rows[at]] = 2 * found.values[at] - 1
            shown = signs.prod(axis=0) == (1 if self.kind == AGREE else -1)
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
