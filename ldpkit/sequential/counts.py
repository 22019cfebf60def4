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

from ..types import Array
from .columns import read
from .ranking import offer, rank, tell
from .records import INTEGER, TRUTH, TYPES, Records
from .tallies import (  # fmt: skip
    AGREE,
    CATEGORY,
    DIFFER,
    IS,
    ONE,
    SIGNED,
    ZERO,
    Paths,
    Values,
    absorb,
    count,
    cut,
    merge,
)

__all__ = ["Counts", "Ranking"]

VALUES, TOP = 1 << 19, 32  # categories, listed events
ROWS, LEAST = 512, 27  # reports of each input whose columns are coupled
_SAID = (
    "binary digit {1:g} of {0} is 1", "binary digit {1:g} of {0} is 0", "{0} is greater than {1:g}",
    "{0} is at most {1:g}", "{0} is {2}", "{0} is a number that was sent",
)  # fmt: skip


NUMBER = np.dtype([("path", np.uint64), ("kind", np.int64), ("value", float)])
"""A path of numbers, with the type and parameter of an event."""


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
    records, blocks : int
        How many numbers and categories were counted, and how many blocks have ended.
    repeated : bool array (k,)
        Whether all reports of an input were the same as its first one.
    """

    def __init__(self, inputs: int = 2, values: int = VALUES, size: int = 1) -> None:
        self.inputs, self.size, self.rare, self.records = inputs, size, 0, 0
        self.repeated, self._first = np.ones(inputs, bool), np.zeros(inputs, np.uint64)
        self._offered = 0  # reports, among them those that were not counted
        self.paths, self.table = Paths.new(inputs), Values.new(values, inputs)
        self.reports = np.zeros((2, inputs), np.int64)
        self._signs = np.zeros((inputs, ROWS, SIGNED), np.int8)
        self.blocks, none = 0, np.zeros((2, inputs, 1, 4 + inputs))
        self._coupled = Ranking(none, 0, 0, np.ones(inputs, np.int64))
        self._masks = np.zeros((1, inputs), np.uint16)
        self._couples: list[tuple[int, int, int, int]] = []
        self._bet_on: list[int] = []

    @property
    def missed(self) -> int:
        """How many paths found no slot, of which nothing but whole values is counted: at least so
        many, because some may share a mark."""
        return int(self.paths.missed.sum())

    @property
    def constant(self) -> bool:
        """Whether all reports are the same."""
        return bool(self.repeated.all() and (self._first == self._first[0]).all())

    def see(self, found: Records, sides: Array) -> Array:
        """Find in reports what is bet on, then count them.

        Parameters
        ----------
        found : Records
            Of the reports.
        sides : int array (n,)
            Which input each is of; reports of input -1 are passed over.

        Returns
        -------
        uint16 array (n, k)
            By question, the strategies that bet on an event that a report shows, one bit each.
        """
        flags = np.zeros((sides.size, self.inputs), np.uint16)
        columns = min(int(self.paths.used[0]) or SIGNED, SIGNED)
        signs = np.zeros((sides.size, columns), np.int8)
        records = found.rows, found.paths, found.types, found.values, found.words
        absorb(self.paths, sides, *records, self._masks, flags, signs)
        categories = found.category_rows, found.keys
        count(self.table, self._offered + 1, sides, *categories, self._masks, flags)
        self._offered += sides.size
        self.records += found.rows.size + found.keys.size
        for i, j, product, mark in self._couples:
            flags[signs[:, i] * signs[:, j] == product] |= self._masks[mark]
        for side, before in enumerate(self.reports.sum(axis=0)):
            mine = sides == side
            whole = found.whole[mine]
            if whole.size:
                self._first[side] = self._first[side] if before else whole[0]
                self.repeated[side] &= bool((whole == self._first[side]).all())
            own = signs[mine][-ROWS:]
            last = before + whole.size
            self._signs[side, np.arange(last - len(own), last) % ROWS, :columns] = own
        self.reports[1] += np.bincount(sides[sides >= 0], minlength=self.inputs)
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
        if doubled or self.blocks % 16 == 15:
            self._coupled = self._couple(epsilon, delta)
        cut(self.paths, doubled if now > 10_000 else self.blocks % 3 == 0)
        self.blocks += 1
        return past, recent, self._coupled

    def _rank(self, window: int, epsilon: float, delta: float) -> Ranking:
        best = np.zeros((2, self.inputs, TOP, 4 + self.inputs))
        reports, grown = self.reports[window].copy(), math.exp(epsilon)
        found = rank(self.paths, self.table, window, best, reports, grown, delta)
        return Ranking(best, *found, reports)

    def telling(self, most: int) -> tuple[Array, Array]:
        """Return what tells the inputs apart best, whatever is claimed, the best first: for paths
        of numbers the path, the type and the parameter of its best event, and keys of categories.

        Returns
        -------
        numbers : array (m,) of fields path, kind, value
        keys : uint64 array (c,)
        """
        best, found = np.zeros((2, self.inputs, 1, 4 + self.inputs)), np.zeros((2, most, 4))
        tell(self.paths, self.table, self.reports[0].copy(), best, found)
        rows, categories = (one[one[:, 0] > 0] for one in found)
        numbers = np.zeros(len(rows), NUMBER)
        numbers["path"] = self.paths.hashes[rows[:, 2].astype(int)]
        numbers["kind"], numbers["value"] = rows[:, 1], rows[:, 3]
        return numbers, self.table.keys[categories[:, 2].astype(int)]

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
                offer(best, kind, i, float(j), hits, seen, math.exp(epsilon), delta, scratch)
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
        if kind in (ONE, ZERO) and value == 0:
            types = found.types[found.paths == self.paths.hashes[place]]
            if np.isin(types, (INTEGER, TRUTH)).all() and " character " not in f" {name}":
                return name and f"{name} is {('odd', 'even')[kind]}"
        of = TYPES[int(value)] if kind == IS else ""
        return name and _SAID[kind].format(name, value, of)
