"""What is bet on: something that a report shows or does not show, said in words.

An event needs two things only, `words` and `holds`. Whatever else it offers is used:

``rates``
    ``(p, q)``, how likely it is thought to be with the first input and with the second, or
    ``None``. Where the two reports of a pair are independent, a bet is made for just these rates.
``note``
    A text that a reader must know besides, or nothing.
``both``
    True if it finds out by itself which input it speaks for; otherwise a copy of it is asked about
    the inputs exchanged.

Reports come as their mechanism makes them: arrays with one entry a user (of objects, where reports
are of any kind), or lists of such arrays. An event must depend on its own report alone.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from .. import checks
from ..attacks import Attack
from ..mechanisms import LocalRandomizer
from ..types import Array, Pair, Rates, Reports, Rng

__all__ = ["Event", "Accepted", "Declared", "happened"]


@runtime_checkable
class Event(Protocol):
    """Anything that can be bet on."""

    @property
    def words(self) -> str:
        """The event as a reader is told of it."""

    def holds(self, reports: Reports) -> Array:
        """Whether each report shows it; bool array (n,)."""


@dataclass(frozen=True)
class Declared:
    """An event that somebody knows.

    Parameters
    ----------
    function : callable
        ``f(reports)``, a bool array with one entry a report.
    words : str
        What it is, such as ``"y < 0.25"``.
    rates : (float, float), optional
        How likely it is with the first input and with the second, if that is known; the bet is
        valid whether they are right or wrong.
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
            object.__setattr__(self, "rates", (float(p), float(q)))

    @property
    def both(self) -> bool:
        """Whether it is one input's alone, as its rates say."""
        return self.rates is not None

    def holds(self, reports: Reports) -> Array:
        """Whether each report shows the event."""
        return np.asarray(self.function(reports))


@dataclass(frozen=True)
class Accepted:
    """The event that an attack names the first input of a pair."""

    attack: Attack
    mechanism: LocalRandomizer
    pair: Pair

    @property
    def words(self) -> str:
        """The event as a reader is told of it."""
        return f"{self.attack.name} names {self.pair[0]}, not {self.pair[1]}"

    @property
    def rates(self) -> Rates | None:
        """Exact rates, where the mechanism has a law."""
        return self.attack.rates(self.mechanism, self.pair)

    def holds(self, reports: Reports, rng: Rng | None = None) -> Array:
        """Whether the attack accepts; ties are broken with `rng`."""
        rng = np.random.default_rng() if rng is None else rng
        return self.attack.accepts(self.mechanism, reports, self.pair, rng)


def happened(event: Event, reports: Reports, n: int, rng: Rng) -> Array:
    """Return whether each of n reports shows the event, after checking the answer."""
    more = (rng,) if isinstance(event, Accepted) else ()
    found = np.asarray(event.holds(reports, *more))
    if found.shape != (n,) or found.dtype != bool:
        raise ValueError(
            f"event {event.words!r} must say true or false of each of {n} reports, got"
            f" {found.dtype} of shape {found.shape}"
        )
    return found
