"""Events to bet on: something that a report either shows or does not show.

Reports come as their mechanism makes them: arrays with one entry a user, or lists of such arrays.
Reports of type ``any`` are arrays of objects. A bet is valid only if the event depends on its own
report alone.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from .. import checks
from ..attacks import Attack
from ..mechanisms import LocalRandomizer
from ..types import Array, Pair, Rates, Reports, Rng

__all__ = ["Event", "Accepted", "Declared", "happened"]


class Event(ABC):
    """Base class of everything that can be bet on.

    A subclass has a text `words` and a method `holds`. It may override `rates`, `note` and `both`.

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
    def note(self) -> str:
        """A warning that the result repeats; empty if there is none."""
        return ""

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
        if not callable(self.function):
            raise ValueError(f"function must be callable, got {self.function!r}")
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


def happened(event: Event, reports: Reports, n: int, rng: Rng) -> Array:
    """Return whether each of n reports shows the event, after checking the answer."""
    answer = event.holds(reports, rng) if isinstance(event, Accepted) else event.holds(reports)
    shown = np.asarray(answer)
    if shown.shape != (n,) or shown.dtype != bool:
        raise ValueError(
            f"event {event.words!r} must return {n} booleans, one per report, got {shown.dtype} of"
            f" shape {shown.shape}"
        )
    return shown
