"""Counts of everything that records show for each input, in bounded memory, and the events that
these counts promise most of.

Each report is counted with its input, which a coin has chosen. With k inputs there are k questions:
question d is about events that are likelier with input d than with the others.
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
    events : array (2, k, TOP, 4 + k)
        Of all events and of rare ones, by question: promise, type of event, slot or entry,
        parameter, and hits with each input.
    looked, rare : int
        How many events were seen at least twice; how many of them are rare categories.
    reports : int array (k,)
        How many reports of each input were counted.
    """

    events: Array
    looked: int
    rare: int
    reports: Array


@kernel
def stake(p: float, q: float, grown: float, delta: float, others: float) -> float:
    """Stake on an event of rates `p` with the likelier input and `q` with each of some others.

    A bet multiplies wealth by 1 + l where the event comes with the likelier input, and by
    1 - E l/others where it comes with another one, E = exp(epsilon). Reports, one of each input,
    then grow by p ln(1 + l) + others q ln(1 - E l/others) on average, without delta; see
    `ldpkit.sequential.bets`. The maximum is at l = (p - E q)/(E (p/others + q)). With delta, delta
    is taken from p - E q, which is the maximum up to terms of order delta l.
    """
    if p - grown * q - delta <= 0:
        return 0.0
    return min((p - grown * q - delta) / (grown * (p / others + q)), MOST * others / grown)


@kernel
def promise(
    p: float, q: float, reports: float, grown: float, delta: float, others: float = 1.0,
    inputs: int = 2,
) -> float:  # fmt: skip
    """Logarithm of the wealth that the best stake wins on average in so many reports.

    A coin gives each of k inputs some reports, which show the event at rates p of the likelier
    input and q of each of some others. A future report is of each input with probability 1/k, so
    that wealth grows by (p ln(1 + l) + others q ln(1 - E l/others))/k - ln(1 + l delta/k) a report.
    With two inputs of equally many reports, without delta, this is the wealth that the bet would
    have won on the counts themselves. If their numbers differ, the counts alone would promise a
    gain from an event that occurs in every report, although its rates are equal.
    """
    best = stake(p, q, grown, delta, others)
    if best == 0.0:
        return 0.0
    won = p * math.log1p(best) + others * q * math.log1p(-grown * best / others)
    return reports * (won / inputs - math.log1p(best * delta / inputs))


@kernel
def spread(rates: Array, sizes: Array, d: int, weights: Array) -> float:
    """Weights of the inputs that one is compared with: equal ones of all whose rates, in so many
    reports, may well be the least; returns how many these are."""
    k, least, size = rates.size, np.inf, 1.0
    for x in range(k):
        if x != d and rates[x] < least:
            least, size = rates[x], max(sizes[x], 1.0)
    edge, count = least, 0.0
    if k > 2:
        edge += math.sqrt((least + 1 / size) / size)
    for x in range(k):
        weights[x] = 1.0 if x != d and rates[x] <= edge else 0.0
        count += weights[x]
    for x in range(k):
        weights[x] /= count
    return count


# --- ranking --------------------------------------------------------------------------------------
@kernel
def _offer(
    best: Array, kind: int, place: int, value: float, hits: Array, reports: Array, grown: float,
    delta: float, scratch: Array,
) -> int:  # fmt: skip
    """List an event where it promises more than others; return 1 if it was seen twice. Two rows of
    `scratch` are written to."""
    k, every, total = hits.size, 0.0, 0.0
    for d in range(k):
        every, total = every + hits[d], total + reports[d]
    if every < 2:
        return 0
    rates, weights = scratch[0], scratch[1]
    for d in range(k):
        rates[d] = hits[d] / max(reports[d], 1)
    for d in range(k):
        if hits[d] < 2:
            continue
        others, q = spread(rates, reports, d, weights), 0.0
        for x in range(k):
            q += weights[x] * rates[x]
        score = promise(rates[d], q, total, grown, delta, others, k)
        for rare in range(2 if every < RARE * total else 1):
            listed = best[rare, d]
            i = listed.shape[0] - 1
            if score <= listed[i, 0]:
                continue
            while i > 0 and listed[i - 1, 0] < score:
                listed[i] = listed[i - 1]
                i -= 1
            listed[i, 0], listed[i, 1], listed[i, 2], listed[i, 3] = score, kind, place, value
            listed[i, 4:] = hits
    return 1


@kernel
def _rank(
    paths: Paths, table: Values, window: int, best: Array, reports: Array, grown: float,
    delta: float,
) -> tuple[int, int]:  # fmt: skip
    """List the best of all events of the past or of the last block; return how many there are, and
    how many of them are rare categories."""
    looked, rare, k, total = 0, 0, reports.size, reports.sum()
    hits, under, scratch = np.zeros(k), np.zeros(k), np.zeros((2, k))
    for slot in range(paths.used[0]):
        seen = paths.counts[slot, window]
        for i in range(64):
            if seen[:, i].any():
                hits[:] = seen[:, i]
                looked += _offer(best, ONE, slot, i, hits, reports, grown, delta, scratch)
                hits[:] = seen[:, PRESENT] - seen[:, i]
                looked += _offer(best, ZERO, slot, i, hits, reports, grown, delta, scratch)
        under[:] = 0
        for i in range(paths.cuts[slot]):
            under += seen[:, 64 + i]
            edge = paths.edges[slot, i]
            looked += _offer(best, BELOW, slot, edge, under, reports, grown, delta, scratch)
            for d in range(k):
                hits[d] = seen[d, 64:TYPE].sum() - under[d]
            looked += _offer(best, ABOVE, slot, edge, hits, reports, grown, delta, scratch)
        for i in range(TYPE, PRESENT + 1):
            kind = THERE if i == PRESENT else IS
            hits[:] = seen[:, i]
            looked += _offer(best, kind, slot, i - TYPE, hits, reports, grown, delta, scratch)
    for place in range(table.keys.size):
        if table.keys[place] != 0:
            hits[:] = table.counts[place, window]
            twice = _offer(best, CATEGORY, place, 0.0, hits, reports, grown, delta, scratch)
            looked += twice
            rare += twice if hits.sum() < RARE * total else 0
    return looked, rare


class Counts:
    """Everything that was counted of the reports of k inputs, and what is looked for in new ones.

    Parameters
    ----------
    inputs : int
        How many there are.
    values : int
        How many categories are counted at once, a power of two.
    size : int
        Reports of a round: 1 where a coin chose the input, as many as inputs in recordings.

    Attributes
    ----------
    reports : int array (2, k)
        Counted reports: in all ended blocks and in this one, of each input.
    rare : int
        How many rare categories were seen at least twice.
    records : int
        How many numbers and categories were counted.
    constant : bool
        Whether all reports are the same.
    """

    def __init__(self, inputs: int = 2, values: int = VALUES, size: int = 1) -> None:
        self.inputs, self.size, self.rare, self.records = inputs, size, 0, 0
        self.constant, self._first = True, 0
        self.paths, self.table = Paths.new(inputs), Values.new(values, inputs)
        self.reports = np.zeros((2, inputs), np.int64)
        self._signs = np.zeros((inputs, ROWS, SIGNED), np.int8)
        self._blocks, none = 0, np.zeros((2, inputs, 1, 4 + inputs))
        self._coupled = Ranking(none, 0, 0, np.ones(inputs, np.int64))
        self._masks = np.zeros((1, inputs), np.uint16)
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
            Which input each is of.

        Returns
        -------
        uint16 array (n, k)
            By question, the strategies that bet on an event that a report shows, one bit each.
        """
        first = int(self.reports.sum())
        found = read(reports, first, size=self.size)
        flags = np.zeros((sides.size, self.inputs), np.uint16)
        columns = min(int(self.paths.used[0]) or SIGNED, SIGNED)
        signs = np.zeros((sides.size, columns), np.int8)
        records = found.rows, found.paths, found.types, found.values, found.words
        absorb(self.paths, sides, *records, self._masks, flags, signs)
        categories = found.category_rows, found.keys
        self.records += found.rows.size + found.keys.size
        self._first = self._first if first else int(found.whole[0])
        self.constant &= bool((found.whole == np.uint64(self._first)).all())
        count(self.table, first + 1, sides, *categories, self._masks, flags)
        for i, j, product, mark in self._couples:
            flags[signs[:, i] * signs[:, j] == product] |= self._masks[mark]
        for side, before in enumerate(self.reports.sum(axis=0)):
            own = signs[sides == side][-ROWS:]
            last = before + np.count_nonzero(sides == side)
            self._signs[side, np.arange(last - len(own), last) % ROWS, :columns] = own
        self.reports[1] += np.bincount(sides, minlength=self.inputs)
        return flags

    def end_block(self, epsilon: float, delta: float) -> tuple[Ranking, Ranking, Ranking]:
        """Rank the events of all the past, those of the last block, and couples of columns."""
        before, recent = int(self.reports[0].sum()), self._rank(1, epsilon, delta)
        merge(self.table)
        for counts in (self.paths.counts[: self.paths.used[0]], self.reports[None]):
            counts[:, 0] += counts[:, 1]
            counts[:, 1] = 0
        past, now = self._rank(0, epsilon, delta), int(self.reports[0].sum())
        self.rare = past.rare
        doubled = now.bit_length() > before.bit_length()
        if doubled or self._blocks % 16 == 15:
            self._coupled = self._couple(epsilon, delta)
        cut(self.paths, doubled if now > 10_000 else self._blocks % 3 == 0)
        self._blocks += 1
        return past, recent, self._coupled

    def _rank(self, window: int, epsilon: float, delta: float) -> Ranking:
        best = np.zeros((2, self.inputs, TOP, 4 + self.inputs))
        reports, grown = self.reports[window].copy(), math.exp(epsilon)
        found = _rank(self.paths, self.table, window, best, reports, grown, delta)
        return Ranking(best, *found, reports)

    def _couple(self, epsilon: float, delta: float) -> Ranking:
        """By question the two columns of 0 and 1 whose agreement is most unlike that of the other
        inputs, of the last `ROWS` reports of each, and of the first `SIGNED` columns."""
        best = np.zeros((2, self.inputs, 1, 4 + self.inputs))
        seen = np.minimum(self.reports[0], ROWS)
        used = min(int(self.paths.used[0]), SIGNED)
        if used < 2 or seen.min() < LEAST:
            return Ranking(best, 0, 0, np.maximum(seen, 1))
        own = [signs[:n, :used].astype(np.float32) for signs, n in zip(self._signs, seen.tolist())]
        products, scratch = [x.T @ x / len(x) for x in own], np.zeros((2, self.inputs))
        for one in products[: self.inputs if self.inputs > 2 else 1]:
            others = (sum(products) - one) / (self.inputs - 1)
            between = np.triu(one - others, 1)
            i, j = (int(k) for k in np.unravel_index(np.argmax(abs(between)), between.shape))
            for kind, product in ((AGREE, 1), (DIFFER, -1)):
                hits = np.array([(x[:, i] * x[:, j] == product).sum() for x in own], float)
                _offer(best, kind, i, float(j), hits, seen, math.exp(epsilon), delta, scratch)
        return Ranking(best, 2 * used**2, 0, seen)

    def choose(self, chosen: Iterable[tuple[Array, int, int]]) -> None:
        """Look for these events from now on: rows of `Ranking.events`, each with the question and
        the number of the strategy that bets on it."""
        merged: dict[tuple[int, int, float], Array] = {}
        for row, question, strategy in chosen:
            key = int(row[1]), int(row[2]), float(row[3])
            merged.setdefault(key, np.zeros(self.inputs, np.uint16))[question] |= 1 << strategy
        self._masks = np.array([np.zeros(self.inputs), *merged.values()], np.uint16)
        self.table.marks[self._bet_on] = 0
        self._bet_on = [place for kind, place, _ in merged if kind == CATEGORY]
        self._couples, numbers = [], []
        for mark, (kind, place, value) in enumerate(merged, 1):
            if kind == CATEGORY:
                self.table.marks[place] = mark
            elif kind > CATEGORY:
                self._couples.append((place, int(value), 1 if kind == AGREE else -1, mark))
            else:
                numbers.append((place, kind, value, mark))
        self.paths = self.paths.watch(numbers)

    def key(self, event: Array) -> int:
        """The hash that tells a category from all others, 0 for other events."""
        return int(self.table.keys[int(event[2])]) if event[1] == CATEGORY else 0

    def words(self, event: Array, report: Any, key: int = 0) -> str:
        """Say an event, a row of `Ranking.events`, in words, from a report that shows it; return
        nothing if this report does not. `key` is what `key` returned when it was bet on."""
        row = isinstance(report, (np.ndarray, np.void))  # which alone would be a collection
        found = read(np.array([report]) if row else [report], named=True)
        kind, place, value = int(event[1]), int(event[2]), float(event[3])
        if kind == CATEGORY:
            return found.events.get(key or self.key(event), "")
        names = found.names or {}
        name = names.get(int(self.paths.hashes[place]), "")
        if kind > CATEGORY:
            other = names.get(int(self.paths.hashes[int(value)]), "")
            return f"{name} and {other} {'agree' if kind == AGREE else 'differ'}"
        of = TYPES[int(value)] if kind == IS else ""
        return name and _SAID[kind].format(name, value, of)
