"""Events of a bettor in words, with their counts."""

import math
from collections.abc import Sequence

import numpy as np

from .bettor import EVENTS, Bettor
from .columns import read
from .events import Entry
from .experts import gains
from .table import ABSENT, BIT, DIFFER, EDGE, FIELDS, PAIR, PATH, VALUE, XOR

__all__ = ["ALMOST", "leader", "spoken"]

ALMOST = 0.6
"""A single event is named instead of a relation, or of all that was weighed, if what it promises or
its logarithm is so large a part of theirs."""
CLEARLY = 3.0
"""An event is named if its rates with two inputs differ by so many standard errors."""


def leader(bettor: Bettor) -> tuple[int, int] | None:
    """Return row and type of the single event that has won most, if its counts separate inputs."""
    won = bettor.wealth.each[bettor.d :][: len(EVENTS)] if bettor.learns else np.zeros(0)
    for e in np.argsort(-won, kind="stable").tolist():
        key, kind = bettor.leaders[e].tolist()
        rows = np.flatnonzero(bettor.table.part("keys") == np.uint64(key))
        if key and rows.size:
            (tp, fp, first, second), _ = counted(bettor, int(rows[0]), kind)
            rate = (tp + fp) / (first + second)
            error = math.sqrt(max(rate * (1 - rate), 1e-12) * (1 / first + 1 / second))
            if tp / first - fp / second > CLEARLY * error:
                return _plainer(bettor, int(rows[0]), kind)
    return None


def _plainer(bettor: Bettor, row: int, kind: int) -> tuple[int, int]:
    """Return the best event on one value or one place, if it promises nearly as much."""
    if kind % ABSENT in (PATH, VALUE):
        return row, kind
    table, wealth = bettor.table, bettor.wealth
    counts = table.part("counts") + table.part("now")
    claims, lines = wealth.claims, wealth.lines
    yes, no = gains(
        table.part("parents"), counts, table.totals.sum(axis=0),
        claims.grown[lines], claims.delta[lines], claims.ordered,
    )  # fmt: skip
    both, kinds = np.maximum(yes, no), table.part("kinds")
    plain = np.select([kinds == VALUE, kinds < DIFFER], [both, ALMOST * both], -1.0)
    s = int(plain.argmax())
    if both[s] < ALMOST * both[row]:
        return row, kind
    return s, int(kinds[s]) + ABSENT * bool(no[s] > yes[s])


def counted(bettor: Bettor, row: int, kind: int) -> tuple[list[int], int]:
    """Return how often an event showed with its input and with all others, the reports of each,
    and this input."""
    table = bettor.table
    counts, parent = table.rows.counts + table.rows.now, int(table.rows.parents[row])
    totals = table.totals.sum(axis=0)
    hits = counts[row]
    if kind >= ABSENT:
        hits = (counts[parent] if parent >= 0 else totals) - hits
    i = int(np.argmax(hits / np.maximum(totals, 1)))
    first, second = int(totals[i]), int(totals.sum() - totals[i])
    return [int(hits[i]), int(hits.sum() - hits[i]), max(first, 1), max(second, 1)], i


def spoken(bettor: Bettor, row: int, kind: int, inputs: Sequence[str]) -> Entry:
    """Return an event in words with these names of inputs, which another audit can declare."""
    table, plain = bettor.table, kind % ABSENT
    rows = table.rows
    left, right = rows.left[row], rows.right[row]
    own = {PAIR: [left, right], FIELDS: [left, right, rows.keys[row]]}.get(plain, [left])
    names, events = _names(bettor, row, int(rows.parents[row]))
    value, absent = 0.0, kind >= ABSENT
    place = names.get(int(left), "a place of the report")
    if plain == VALUE:
        known = events.get(int(left), "")
        words = known or f"{place} has one of its values"
        words = words.replace(" is ", " is not ", 1) if absent else words
    elif plain == PATH:
        words = f"{place} is {'missing' if absent else 'sent'}"
    elif plain == BIT:
        value = float(right)
        digit = "the sign" if value == 64 else f"binary digit {value:.0f}"
        words = f"{digit} of {place} is {int(not absent)}"
    elif plain == EDGE:
        value = float(right.view(float))
        words = f"{place} {'<' if absent else '>='} {value:.6g}"
    elif plain in (DIFFER, XOR):
        how = "the difference of" if plain == DIFFER else "the exclusive or of"
        last = f"last report of input {inputs[int(right) - 1]}" if right else "report before"
        words = f"{how} {place} and that of the {last} is {'not ' * absent}a certain one"
    elif plain == FIELDS:
        words = f"the exclusive or of {place} and {names.get(int(right), 'another place')}"
        words += f" is {'not ' * absent}a certain one"
    else:
        both = [events.get(int(key), "a place has one of its values") for key in own]
        words = f"{'not ' * absent}{both[0]} and {both[1]}"
    return Entry(words, kind, tuple(int(key) for key in own), value)


def _names(bettor: Bettor, row: int, parent: int) -> tuple[dict[int, str], dict[int, str]]:
    """Return the names of places and values in a report that shows an event, or its parent."""
    for wanted in (row, parent):
        if wanted >= 0 and (report := bettor.showing(wanted)) is not None:
            found = read([report], named=True)
            return found.names, found.events
    return {}, {}
