"""Sources of reports, and events to bet on, which a report either shows or does not show.

Reports come as their mechanism makes them: arrays with one entry a user, or lists of such arrays.
Reports of type ``any`` are arrays of objects. A bet is valid only if the event depends on its own
report alone.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from ... import checks
from ...attacks import Attack
from ...mechanisms import Mechanism
from ...types import Array, Pair, Rates, Reports, Rng
from .columns import read
from .records import Records
from .table import ABSENT, BIT, EDGE, FIELDS, PAIR, PATH, VALUE, digit, joined

__all__ = ["Accepted", "Declared", "Entry", "Event", "Source", "happened"]


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
    mechanism: Mechanism
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
    """An event about one or two places of a report, which another audit can declare.

    Parameters
    ----------
    words : str
        The event in words.
    kind : int
        Type of the token, a constant of `ldpkit.blackbox.sequential.table`, plus ``ABSENT`` if the
        event is that its parent shows without it.
    keys : tuple of int
        Path of the place, or the keys of its values; two paths and the key of the token for an
        exclusive or of two places.
    value : float
        Binary digit or threshold.
    """

    words: str
    kind: int
    keys: tuple[int, ...]
    value: float = 0.0

    def holds(self, reports: Any) -> Array:
        """Return whether each report shows the event; bool array (n,)."""
        found, kind = read(reports), self.kind % ABSENT
        keys = np.array(self.keys, np.uint64)
        shown, up = (np.zeros(found.whole.size, bool) for _ in range(2))
        if kind in (VALUE, PAIR):
            each = [found.category_rows[found.keys == key] for key in keys]
            shown[each[0]] = True
            shown &= np.isin(np.arange(shown.size), each[-1])
            paths = np.unique(found.category_paths[np.isin(found.keys, keys)])
            up[found.category_rows[np.isin(found.category_paths, paths)]] = True
        else:
            at = np.flatnonzero(found.paths == keys[0])
            up[found.rows[at]] = True
            up[found.category_rows[found.category_paths == keys[0]]] = True
            if kind == BIT:
                at = at[digit(found.words[at], found.types[at], found.values[at], self.value)]
            elif kind == EDGE:
                at = at[found.values[at] >= self.value]
            elif kind == FIELDS:
                at = _joined(found, keys)
            shown[found.rows[at]] = True
            shown |= up & (kind == PATH)
        return up & ~shown if self.kind >= ABSENT else shown


def _joined(found: Records, keys: Array) -> Array:
    """Return the records of one place whose exclusive or with another place is that of a token."""
    one, other = (np.flatnonzero(found.paths == path) for path in keys[:2])
    one = one[np.isin(found.rows[one], found.rows[other])]
    other = other[np.isin(found.rows[other], found.rows[one])]
    tokens = joined(keys[:2], found.words[one] ^ found.words[other])
    return one[tokens == keys[2]]


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
