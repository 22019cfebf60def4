"""An attack that needs to know nothing about reports: it learns, while an audit bets, what tells
two inputs apart.

All that it concludes is concluded from reports that were bet on before, so whatever it concludes,
well or badly, the bet on the next report is valid.
"""

import math
from typing import Any

import numpy as np

from .. import checks
from ..kinds.anything import rows
from ..types import Array, Rates, Reports
from . import scores, search
from .features import columns

__all__ = ["Learned", "Learner"]

_ENOUGH = 0.5  # nats that an event must have won on the past before it is bet on
_PAIRS = 15  # of inputs that are remembered together


class Learned:
    """The attack ``"learned"``, for audits that bet."""

    name = "learned"
    learning = True

    def declare(self, mechanism: Any, trials: int, tail: float) -> "Learner":
        """Return a learner that knows the claim, and nothing else yet."""
        return Learner(mechanism.epsilon, mechanism.delta)


class Learner:
    """An event that is learned, and a score; see `ldpkit.auditors.events`.

    Parameters
    ----------
    epsilon, delta : float
        The claim.
    """

    name, learning = Learned.name, True

    def __init__(self, epsilon: float, delta: float = 0.0) -> None:
        # where nothing is claimed, an event is wanted that shows more than epsilon = 1
        self.epsilon = checks.real("epsilon", 1.0 if epsilon == math.inf else epsilon, 0)
        self.delta = checks.real("delta", delta, 0, 1, closed="[)")
        self.found: search.Finding | None = None
        self._score: scores.Score | None = None
        self._turned = self._repeated = False
        self._taught = 0  # reports per input
        self._memory = _Memory()

    @property
    def words(self) -> str:
        """What was found, in words."""
        if self._repeated:
            return (
                f"the whole report: all of the first {self._taught:,} reports of an input are the"
                " same"
            )
        if self.found is not None:
            return self.found.words
        return "everything that can be seen, weighed together"

    @property
    def counted(self) -> bool:
        """Whether a report shows the event or does not; a score is neither."""
        return self.found is not None

    @property
    def note(self) -> str:
        """What has to be said of how it was learned; mostly nothing."""
        if self._repeated:
            return f"all of the first {self._taught:,} reports of an input are the same"
        return ""

    @property
    def rates(self) -> Rates | None:
        """How often the event was seen; ``None`` if none is worth a bet made for its rates."""
        return None if self.found is None or self._repeated else self.found.rates

    def learn(self, first: Reports, second: Reports) -> tuple[Array, Array]:
        """Learn from past reports; return the scores that halves of them give the other half."""
        past, score, turned = self._memory.of(first, second)
        self._taught = len(rows(first))
        gain, found = past.best(self.epsilon, self.delta, turned)
        self.found = found if gain * past.n >= _ENOUGH else None
        self._score, self._turned, self._repeated = score, turned, past.repeated
        held_out = np.full(2 * past.n, 0.5) if past.repeated else score.past
        sides = self._way(held_out[: past.n]), self._way(held_out[past.n :])
        return sides[::-1] if turned else sides

    def _way(self, likelihood: Array) -> Array:
        return 1 - likelihood if self._turned else likelihood

    def holds(self, reports: Reports) -> Array:
        """Whether each report shows the event; bool array (n,)."""
        if self.found is None:
            return np.zeros(len(rows(reports)), bool)
        return self.found.holds(reports)

    def score(self, reports: Reports) -> Array:
        """Probability that each report is of the first input, as far as is known."""
        given = rows(reports)
        if self._score is None or self._repeated or not self._score.models:
            return np.full(len(given), 0.5)
        bound = 1 / (len(self._score.past) // 2 + 2)
        found = columns(given, self._score.names)
        return np.clip(self._way(self._score(found, len(given))), bound, 1 - bound)


class _Memory:
    """What was last learned, for all copies of a learner: they are shown the same reports."""

    def __init__(self) -> None:
        self.kept: list[tuple[Reports, Reports, search.Past, scores.Score]] = []

    def __deepcopy__(self, memo: dict[int, Any]) -> "_Memory":
        return self

    def of(self, first: Reports, second: Reports) -> tuple[search.Past, scores.Score, bool]:
        """Return the past, its score, and whether the inputs are exchanged in it."""
        for one, two, past, score in self.kept:
            if (one is first and two is second) or (one is second and two is first):
                return past, score, one is second
        past = search.Past(first, second)
        score = scores.fitted(past)
        same = [kept for kept in self.kept if len(kept[0]) == len(first)]
        self.kept = [*same[-_PAIRS:], (first, second, past, score)]
        return past, score, False
