"""Counts of everything that records show for either input, in bounded memory, and the events that
these counts promise most of.

Each report is counted with its input, the first (0) or the second (1), which a coin has chosen.
Counts decide only which events are bet on. Collisions of hashes, forgotten values and paths without
a slot therefore cost wealth, but never make a bet invalid.
"""

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from ..compiled import kernel
from ..types import Array
from .columns import read
from .records import TYPES
from .tallies import (
    ABOVE,
    AGREE,
    BELOW,
    CATEGORY,
    DIFFER,
    IS,
    ONE,
    PRESENT,
    SIGNED,
    THERE,
    TYPE,
    ZERO,
    Paths,
    Values,
    absorb,
    count,
    cut,
    merge,
)  # fmt: skip

__all__ = ["Counts", "Ranking", "MOST", "promise", "stake"]

MOST = 0.98
"""Largest share of the stake that could lose everything."""

VALUES, TOP, RARE = 1 << 19, 32, 0.05  # categories, listed events, share of reports of rare ones
ROWS, LEAST = 512, 27  # reports of each input whose columns are coupled
_SAID = (
    "binary digit {1:g} of {0} is 1", "binary digit {1:g} of {0} is 0", "{0} is greater than {1:g}",
    "{0} is at most {1:g}", "{0} is {2}", "{0} is a number that was sent",
)  # fmt: skip


class Ranking(NamedTuple):
    """The most promising events.

    Attributes
    ----------
    events : array (2, 2, TOP, 6)
        Of all events and of rare ones, likelier with the first input or with the second: promise,
        type of event, slot or entry, parameter, hits with the likelier input and with the other.
    looked : int
        How many events were seen at least twice.
    reports : int array (2,)
        How many reports of either input were counted.
    """

    events: Array
    looked: int
    reports: Array


@kernel
def stake(p: float, q: float, grown: float, delta: float) -> float:
    """Stake on an event of rates `p` with the likelier input and `q` with the other.

    A bet multiplies wealth by 1 + l where the event comes with the likelier input, and by 1 - E l
    where it comes with the other, E = exp(epsilon). Two reports, one of each input, then grow by
    p ln(1 + l) + q ln(1 - E l) - 2 ln(1 + l delta/2) on average, see `ldpkit.sequential.bets`.
    Without delta the maximum is at l = (p - E q)/(E (p + q)). With it, delta is taken from p - E q,
    which is the maximum up to terms of order delta l.
    """
    if p - grown * q - delta <= 0:
        return 0.0
    return min((p - grown * q - delta) / (grown * (p + q)), MOST / grown)


@kernel
def promise(p: float, q: float, reports: float, grown: float, delta: float) -> float:
    """Logarithm of the wealth that the best stake wins on average in so many reports.

    Coins give n1 reports of one input and n2 of the other; a and b of them show the event. The
    rates are p = a/n1 and q = b/n2, and a future report is of either input with probability 1/2.
    Wealth therefore grows by n/2 (p ln(1 + l) + q ln(1 - E l)) - n ln(1 + l delta/2) in n = n1 + n2
    reports. For n1 = n2 and delta = 0 this is a ln(1 + l) + b ln(1 - E l), the wealth that the
    bet would have won on the counts themselves. For n1 > n2 the counts alone would promise
    a gain from an event that occurs in every report, although its rates are equal.
    """
    best = stake(p, q, grown, delta)
    if best == 0.0:
        return 0.0
    won = p * math.log1p(best) + q * math.log1p(-grown * best)
    return reports * (won / 2 - math.log1p(best * delta / 2))


# --- ranking --------------------------------------------------------------------------------------
@kernel
def _offer(
    best: Array, kind: int, place: int, value: float, hits: tuple[int, int], reports: Array,
    grown: float, delta: float,
) -> int:  # fmt: skip
    """List an event where it promises more than others; return 1 if it was seen twice."""
    total, both = reports[0] + reports[1], hits[0] + hits[1]
    for d in range(2 if both >= 2 else 0):
        if hits[d] < 2:
            continue
        p, q = hits[d] / max(reports[d], 1), hits[1 - d] / max(reports[1 - d], 1)
        score = promise(p, q, total, grown, delta)
        for rare in range(2 if both < RARE * total else 1):
            listed = best[rare, d]
            i = listed.shape[0] - 1
            if score <= listed[i, 0]:
                continue
            while i > 0 and listed[i - 1, 0] < score:
                listed[i] = listed[i - 1]
                i -= 1
            listed[i, 0], listed[i, 1], listed[i, 2], listed[i, 3] = score, kind, place, value
            listed[i, 4], listed[i, 5] = hits[d], hits[1 - d]
    return 1 if both >= 2 else 0


@kernel
def _rank(
    paths: Paths, table: Values, window: int, best: Array, reports: Array, grown: float,
    delta: float,
) -> int:  # fmt: skip
    """List the best of all events of the past or of the last block; return how many there are."""
    looked = 0
    for slot in range(paths.used[0]):
        one, two = paths.counts[slot, window, 0], paths.counts[slot, window, 1]
        for i in range(64):
            if one[i] + two[i] > 0:
                off = one[PRESENT] - one[i], two[PRESENT] - two[i]
                looked += _offer(best, ONE, slot, i, (one[i], two[i]), reports, grown, delta)
                looked += _offer(best, ZERO, slot, i, off, reports, grown, delta)
        all_one, all_two = one[64:TYPE].sum(), two[64:TYPE].sum()
        below_one, below_two = np.int64(0), np.int64(0)
        for i in range(paths.cuts[slot]):
            below_one, below_two = below_one + one[64 + i], below_two + two[64 + i]
            above, edge = (all_one - below_one, all_two - below_two), paths.edges[slot, i]
            looked += _offer(best, ABOVE, slot, edge, above, reports, grown, delta)
            looked += _offer(best, BELOW, slot, edge, (below_one, below_two), reports, grown, delta)
        for i in range(TYPE, PRESENT + 1):
            kind = THERE if i == PRESENT else IS
            looked += _offer(best, kind, slot, i - TYPE, (one[i], two[i]), reports, grown, delta)
    for place in range(table.keys.size):
        if table.keys[place] != 0:
            hits = table.counts[place, window, 0], table.counts[place, window, 1]
            looked += _offer(best, CATEGORY, place, 0.0, hits, reports, grown, delta)
    return looked


class Counts:
    """Everything that was counted of the reports of two inputs, and what is looked for in new ones.

    Parameters
    ----------
    values : int
        How many categories are counted at once, a power of two.

    Attributes
    ----------
    reports : int array (2, 2)
        Counted reports: in all ended blocks and in this one, of either input.
    """

    def __init__(self, values: int = VALUES) -> None:
        self.paths, self.table = Paths.new(), Values.new(values)
        self.reports = np.zeros((2, 2), np.int64)
        self._signs = np.zeros((2, ROWS, SIGNED), np.int8)
        self._blocks, self._coupled = 0, Ranking(np.zeros((2, 2, 1, 6)), 0, np.ones(2, np.int64))
        self._couples: list[tuple[int, int, int, int]] = []
        self._bet_on: list[int] = []

    @property
    def missed(self) -> int:
        """How many paths found no slot, of which nothing but whole values is counted: at least so
        many, because some may share a mark."""
        return int(self.paths.missed.sum())

    def see(self, reports: Iterable[Any], sides: Array) -> Array:
        """Find in reports what is bet on, then count them.

        Parameters
        ----------
        reports : sequence
        sides : int array (n,)
            Which input each is of, 0 or 1.

        Returns
        -------
        uint64 array (n,)
            The flags of all chosen events that a report shows.
        """
        first = int(self.reports.sum())
        found = read(reports, first)
        flags, columns = (
            np.zeros(sides.size, np.uint64),
            min(int(self.paths.used[0]) or SIGNED, SIGNED),
        )
        signs = np.zeros((sides.size, columns), np.int8)
        records = found.rows, found.paths, found.types, found.values, found.words
        absorb(self.paths, sides, *records, flags, signs)
        count(self.table, first + 1, sides, found.category_rows, found.keys, flags)
        for i, j, product, flag in self._couples:
            flags[signs[:, i] * signs[:, j] == product] |= np.uint64(flag)
        for side, before in enumerate(self.reports.sum(axis=0)):
            own = signs[sides == side][-ROWS:]
            last = before + np.count_nonzero(sides == side)
            self._signs[side, np.arange(last - len(own), last) % ROWS, :columns] = own
        self.reports[1] += np.bincount(sides, minlength=2)
        return flags

    def end_block(self, epsilon: float, delta: float) -> tuple[Ranking, Ranking, Ranking]:
        """Rank the events of all the past, those of the last block, and couples of columns."""
        before, recent = int(self.reports[0].sum()), self._rank(1, epsilon, delta)
        merge(self.table)
        for counts in (self.paths.counts[: self.paths.used[0]], self.reports[None]):
            counts[:, 0] += counts[:, 1]
            counts[:, 1] = 0
        past, now = self._rank(0, epsilon, delta), int(self.reports[0].sum())
        doubled = now.bit_length() > before.bit_length()
        if doubled or self._blocks % 16 == 15:
            self._coupled = self._couple(epsilon, delta)
        cut(self.paths, doubled if now > 10_000 else self._blocks % 3 == 0)
        self._blocks += 1
        return past, recent, self._coupled

    def _rank(self, window: int, epsilon: float, delta: float) -> Ranking:
        best, reports = np.zeros((2, 2, TOP, 6)), self.reports[window].copy()
        grown = math.exp(epsilon)
        looked = _rank(self.paths, self.table, window, best, reports, grown, delta)
        return Ranking(best, looked, reports)

    def _couple(self, epsilon: float, delta: float) -> Ranking:
        """The two columns of 0 and 1 whose agreement differs most between the inputs, of the last
        `ROWS` reports of each, and of the first `SIGNED` columns."""
        best, seen = np.zeros((2, 2, 1, 6)), np.minimum(self.reports[0], ROWS)
        used = min(int(self.paths.used[0]), SIGNED)
        if used < 2 or seen.min() < LEAST:
            return Ranking(best, 0, np.maximum(seen, 1))
        one, two = (
            signs[:n, :used].astype(np.float32) for signs, n in zip(self._signs, seen.tolist())
        )
        between = np.triu(one.T @ one / seen[0] - two.T @ two / seen[1], 1)
        i, j = (int(k) for k in np.unravel_index(np.argmax(abs(between)), between.shape))
        for kind, product in ((AGREE, 1), (DIFFER, -1)):
            a, b = (int((x[:, i] * x[:, j] == product).sum()) for x in (one, two))
            _offer(best, kind, i, float(j), (a, b), seen, math.exp(epsilon), delta)
        return Ranking(best, 2 * used**2, seen)

    def choose(self, chosen: Iterable[tuple[Array, int]]) -> None:
        """Look for these events from now on: rows of `Ranking.events`, each with its flags."""
        merged: dict[tuple[int, int, float], int] = {}
        for row, flag in chosen:
            key = int(row[1]), int(row[2]), float(row[3])
            merged[key] = merged.get(key, 0) | flag
        self.table.flags[self._bet_on] = 0
        self._bet_on = [place for kind, place, _ in merged if kind == CATEGORY]
        self._couples, numbers = [], []
        for (kind, place, value), flag in merged.items():
            if kind == CATEGORY:
                self.table.flags[place] = flag
            elif kind > CATEGORY:
                self._couples.append((place, int(value), 1 if kind == AGREE else -1, flag))
            else:
                numbers.append((place, kind, value, flag))
        self.paths = self.paths.watch(numbers)

    def words(self, event: Array, report: Any) -> str:
        """Say an event, a row of `Ranking.events`, in words, from a report that shows it; return
        nothing if this report does not."""
        row = isinstance(report, (np.ndarray, np.void))  # which alone would be a collection
        found = read(np.array([report]) if row else [report], named=True)
        kind, place, value = int(event[1]), int(event[2]), float(event[3])
        if kind == CATEGORY:
            return found.events.get(int(self.table.keys[place]), "")
        names = found.names or {}
        name = names.get(int(self.paths.hashes[place]), "")
        if kind > CATEGORY:
            other = names.get(int(self.paths.hashes[int(value)]), "")
            return f"{name} and {other} {'agree' if kind == AGREE else 'differ'}"
        of = TYPES[int(value)] if kind == IS else ""
        return name and _SAID[kind].format(name, value, of)
