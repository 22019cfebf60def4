"""Counts of all records of reports by input, in bounded memory, and rankings of events by them.

Each report is counted with its input, which a coin has chosen. With k inputs there are k questions:
question d is about events that are likelier with input d than with the others.
Counts decide only which events are bet on. Collisions of hashes, forgotten values and paths without
a slot therefore cost wealth, but never make a bet invalid.
"""

import math
from collections import namedtuple
from collections.abc import Iterable
from typing import Any

import numpy as np

from ...types import Array
from .columns import read
from .events import Entry
from .records import INTEGER, TRUTH, TYPES, Records
from .tallies import (
    AGREE,
    CATEGORY,
    DIFFER,
    IS,
    ONE,
    SIGNED,
    SLOTS,
    ZERO,
    absorb,
    count,
    cut,
    empty_tables,
    offer,
    rank,
)

__all__ = ["NUMBER", "TOP", "VALUES", "Counts"]

VALUES, TOP = 1 << 19, 32  # categories in the table, events in a ranking
ROWS, LEAST = 512, 27  # reports of each input whose columns are coupled: at most, at least
_WORDS = (
    "binary digit {1:g} of {0} is 1", "binary digit {1:g} of {0} is 0", "{0} is greater than {1:g}",
    "{0} is at most {1:g}", "{0} is {2}", "{0} is a number that was sent",
)  # fmt: skip
_PARITY = "{0} is odd", "{0} is even"  # of digit 0 of an integer

NUMBER = np.dtype([("path", np.uint64), ("kind", np.int64), ("value", float)])
"""The path of a number, with the type and the parameter of an event."""


Ranking = namedtuple("Ranking", "events seen reports")
"""The most promising events.

`events` (2, k, TOP, 4 + k) are the best of all events, and of rare ones, by question. A row holds
promise, type of the event, slot or entry, parameter, and hits with each input. `seen` (2,) counts
the events that were seen at least twice, and rare categories among them. `reports` (k,) counts the
reports of each input.
"""


class Counts:
    """Counts of the reports of k inputs, and the events to find in new reports.

    Parameters
    ----------
    inputs : int
        Number of inputs.
    values : int
        Largest number of categories that are counted at once, a power of two.
    size : int
        Reports of a round: 1 if a coin chose the input, the number of inputs in recordings.

    Attributes
    ----------
    reports : int array (2, k)
        Counted reports of each input, in all ended blocks and in the current one.
    rare : int
        Number of rare categories that were seen at least twice.
    records, blocks : int
        Number of counted numbers and categories, and of ended blocks.
    first, repeated : uint64 and bool array (k,)
        Hash of the first report of each input, and whether all its reports were the same.
    """

    def __init__(self, inputs: int = 2, values: int = VALUES, size: int = 1) -> None:
        self.inputs, self.size, self.rare, self.records = inputs, size, 0, 0
        self.repeated, self.first = np.ones(inputs, bool), np.zeros(inputs, np.uint64)
        self._offered = 0  # number of reports, also of those that were not counted
        self.paths, self.table = empty_tables(values, inputs)
        self.reports = np.zeros((2, inputs), np.int64)
        self._signs = np.zeros((inputs, ROWS, SIGNED), np.int8)
        self.blocks, none = 0, np.zeros((2, inputs, 1, 4 + inputs))
        self._coupled = Ranking(none, np.zeros(2, int), np.ones(inputs, np.int64))
        self._masks = np.zeros((1, inputs), np.uint16)
        self._couples: list[tuple[int, int, int, int]] = []
        self._bet_on: list[int] = []

    def see(self, found: Records, sides: Array) -> Array:
        """Find in reports the events that are bet on, then count the reports.

        Parameters
        ----------
        found : Records
            Records of the reports.
        sides : int array (n,)
            The input of each report; reports of input -1 are passed over.

        Returns
        -------
        uint16 array (n, k)
            By report and question, one bit for each strategy with an event that the report shows.
        """
        flags = np.zeros((sides.size, self.inputs), np.uint16)
        columns = min(int(self.paths.used[0]) or SIGNED, SIGNED)
        signs = np.zeros((sides.size, columns), np.int8)
        absorb(self.paths, sides, *found[:5], self._masks, flags, signs)
        count(self.table, self._offered + 1, sides, *found[5:7], self._masks, flags)
        self._offered += sides.size
        self.records += found.rows.size + found.keys.size
        for i, j, product, mark in self._couples:
            flags[signs[:, i] * signs[:, j] == product] |= self._masks[mark]
        for side, before in enumerate(self.reports.sum(axis=0)):
            mine = sides == side
            whole = found.whole[mine]
            if whole.size:
                self.first[side] = self.first[side] if before else whole[0]
                self.repeated[side] &= bool((whole == self.first[side]).all())
            own = signs[mine][-ROWS:]
            last = before + whole.size
            self._signs[side, np.arange(last - len(own), last) % ROWS, :columns] = own
        self.reports[1] += np.bincount(sides[sides >= 0], minlength=self.inputs)
        return flags

    def end_block(self, epsilon: float, delta: float) -> tuple[Ranking, Ranking, Ranking]:
        """Rank the events of all past blocks, those of the last block, and couples of columns."""
        before, recent = int(self.reports[0].sum()), self._rank(1, epsilon, delta)
        used = slice(int(self.paths.used[0])), np.flatnonzero(self.table.keys != 0), slice(1)
        counted = self.paths.counts, self.table.counts, self.reports[None]
        for some, counts in zip(used, counted):
            counts[some, 0] += counts[some, 1]
            counts[some, 1] = 0
        past, now = self._rank(0, epsilon, delta), int(self.reports[0].sum())
        self.rare = int(past.seen[1])
        doubled = now.bit_length() > before.bit_length()
        if doubled or self.blocks % 16 == 15:
            self._coupled = self._couple(epsilon, delta)
        cut(self.paths, doubled if now > 10_000 else self.blocks % 3 == 0)
        self.blocks += 1
        return past, recent, self._coupled

    def _rank(self, window: int, epsilon: float, delta: float) -> Ranking:
        best = np.zeros((2, self.inputs, TOP, 4 + self.inputs))
        reports, none = self.reports[window].copy(), np.zeros((2, 0, 4))
        given = self.paths, self.table, window, best, reports
        return Ranking(best, np.array(rank(*given, math.exp(epsilon), delta, none)), reports)

    def informative(self, most: int) -> tuple[Array, Array]:
        """Return what tells the inputs apart best, whatever epsilon is claimed, the best first.

        Parameters
        ----------
        most : int
            Largest number of paths, and of categories.

        Returns
        -------
        numbers : array (m,) of fields path, kind, value
            Paths of numbers, each with the type and the parameter of its best event.
        keys : uint64 array (c,)
            Keys of categories.
        """
        best, found = np.zeros((2, self.inputs, 1, 4 + self.inputs)), np.zeros((2, most, 4))
        rank(self.paths, self.table, 0, best, self.reports[0].copy(), 1.0, 0.0, found)
        rows, categories = (listed[listed[:, 0] > 0] for listed in found)
        numbers = np.zeros(len(rows), NUMBER)
        numbers["path"] = self.paths.hashes[rows[:, 2].astype(int)]
        numbers["kind"], numbers["value"] = rows[:, 1], rows[:, 3]
        return numbers, self.table.keys[categories[:, 2].astype(int)]

    def _couple(self, epsilon: float, delta: float) -> Ranking:
        """Rank the agreement of couples of columns of 0 and 1.

        For each question it is the couple whose agreement differs most from that with the other
        inputs. The last `ROWS` reports of each input and the first `SIGNED` columns count.
        """
        best = np.zeros((2, self.inputs, 1, 4 + self.inputs))
        seen = np.minimum(self.reports[0], ROWS)
        used = min(int(self.paths.used[0]), SIGNED)
        if used < 2 or seen.min() < LEAST:
            return Ranking(best, np.zeros(2, int), np.maximum(seen, 1))
        own = [signs[:n, :used].astype(np.float32) for signs, n in zip(self._signs, seen.tolist())]
        products, scratch = [x.T @ x / len(x) for x in own], np.zeros((2, self.inputs))
        for product in products[: self.inputs if self.inputs > 2 else 1]:
            others = (sum(products) - product) / (self.inputs - 1)
            between = np.triu(product - others, 1)
            i, j = (int(k) for k in np.unravel_index(np.argmax(abs(between)), between.shape))
            for kind, sign in ((AGREE, 1), (DIFFER, -1)):
                hits = np.array([(x[:, i] * x[:, j] == sign).sum() for x in own], float)
                offer(best, kind, i, float(j), hits, seen, math.exp(epsilon), delta, scratch)
        return Ranking(best, np.array([2 * used**2, 0]), seen)

    def choose(self, chosen: Iterable[Array]) -> None:
        """Set the events to find in the next reports.

        They are rows of `Ranking.events`, to which the question and the number of the strategy that
        bets on it are added.
        """
        merged: dict[tuple[int, int, float], Array] = {}
        for row in chosen:
            key, question = (int(row[1]), int(row[2]), float(row[3])), int(row[-2])
            bits = merged.setdefault(key, np.zeros(self.inputs, np.uint16))
            bits[question] |= 1 << int(row[-1])
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
        slots, kinds, values, marks = np.array(sorted(numbers), float).reshape(-1, 4).T
        start = np.searchsorted(slots, np.arange(SLOTS + 1)).astype(np.int64)
        # a copy lies in one piece, as before: a kernel is compiled for each layout of its tables
        self.paths = self.paths._replace(
            start=start,
            kinds=kinds.astype(np.int64),
            values=values.copy(),
            marks=marks.astype(np.int64),
        )

    def key(self, event: Array) -> int:
        """Return the hash of a category, a row of `Ranking.events`; 0 for any other event."""
        return int(self.table.keys[int(event[2])]) if event[1] == CATEGORY else 0

    def entry(self, event: Array, report: Any, key: int = 0) -> Entry | None:
        """Return an event, a row of `Ranking.events`, in words.

        The words are taken from a report that shows the event; ``None`` if it does not. `key` is
        the earlier return value of `key` for this event.
        """
        found, key = read([report], named=True), key or self.key(event)
        kind, place, value = int(event[1]), int(event[2]), float(event[3])
        places = [] if kind == CATEGORY else [place, int(value)][: 1 + (kind > CATEGORY)]
        paths = [int(self.paths.hashes[i]) for i in places] or [key]
        name, *other = [found.names.get(path, found.events.get(path, "")) for path in paths]
        words = name
        if kind > CATEGORY:
            words = f"{name} and {other[0]} {'agree' if kind == AGREE else 'differ'}"
        elif kind < CATEGORY:
            types = found.types[found.paths == self.paths.hashes[place]]
            whole = np.isin(types, (INTEGER, TRUTH)).all() and " character " not in f" {name}"
            odd = kind in (ONE, ZERO) and value == 0 and whole
            form = _PARITY[kind] if odd else _WORDS[kind]
            words = form.format(name, value, TYPES[int(value)] if kind == IS else "")
        return Entry(words, kind, tuple(paths), value) if name else None
