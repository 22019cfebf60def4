"""Tables that hold all counts in bounded memory, and the kernels that fill and rank them.

Counts decide only which events are bet on. Collisions of hashes, forgotten values and paths without
a slot therefore cost wealth, but never make a bet invalid.
"""

import math
from collections import namedtuple
from typing import Any

import numpy as np

from ...jit import kernel
from ...types import Array
from .records import ODD, REAL, TYPES, mix

__all__ = [
    "AGREE", "BINS", "CATEGORY", "DIFFER", "IS", "KEPT", "MOST", "ONE", "PRESENT", "SIGNED",
    "SLOTS", "TYPE", "ZERO", "absorb", "count", "cut", "empty_tables", "enter", "happens", "offer",
    "promise", "rank", "spread", "stake",
]  # fmt: skip

SLOTS, WAYS, DOOR, MISSED = 1 << 15, 8, 1 << 21, 1 << 20
MOST = 0.98
"""Largest stake, as a share of the stake with which one report could cost the whole wealth."""
RARE = 0.05
"""Largest share of the reports in which a rare category is seen."""
BINS, KEPT, SIGNED = 16, 64, 2048
"""Intervals and kept values of each path; number of columns whose signs are returned."""
TYPE, PRESENT = 64 + BINS, 64 + BINS + len(TYPES)
"""Positions of the counts of types and of presence, after those of digits and of intervals."""
ONE, ZERO, ABOVE, BELOW, IS, THERE, CATEGORY, AGREE, DIFFER = range(9)
"""Types of events."""
_U1, _DOOR, _MISSED = np.uint64(1), np.uint64(DOOR - 1), np.uint64(MISSED - 1)
_MARK, _PLACE = np.uint64(40), np.uint64(16)


Paths = namedtuple(
    "Paths", "keys slots used missed hashes counts edges cuts kept seen start kinds values marks"
)
"""Counts of numbers by path; each path has a slot, which is found by open addressing.

Axis 1 of `counts` is the past and the last block, and axis 2 the input. Axis 3 holds 64 digits,
then intervals, types and presence. The events of slot i that are bet on have the positions from
``start[i]`` to ``start[i + 1]`` in `kinds`, `values` and `marks`.
"""

Values = namedtuple("Values", "keys counts marks last door")
"""Counts of categories, in buckets of `WAYS`.

A category is entered when it comes for the second time, of which `door` keeps a mark. `marks` holds
the numbers of the categories that are bet on, and 0 for others.
"""


def empty_tables(values: int, inputs: int) -> tuple[Any, Any]:
    """Return empty tables for paths, and for so many categories, a power of two."""
    none, n = np.empty(0, np.int64), 4 * SLOTS
    paths = Paths(
        np.zeros(n, np.uint64), np.full(n, -1, np.int32), np.zeros(1, np.int64),
        np.zeros(MISSED, np.uint8), np.zeros(SLOTS, np.uint64),
        np.zeros((SLOTS, 2, inputs, PRESENT + 1), np.int32), np.zeros((SLOTS, BINS)),
        np.zeros(SLOTS, np.int64), np.zeros((SLOTS, KEPT)), np.zeros(SLOTS, np.int64),
        np.zeros(SLOTS + 1, np.int64), none, none.astype(float), none,
    )  # fmt: skip
    return paths, Values(
        np.zeros(values, np.uint64), np.zeros((values, 2, inputs), np.int32),
        np.zeros(values, np.int32), np.zeros(values, np.int64), np.zeros(DOOR, np.uint8),
    )  # fmt: skip


@kernel
def enter(paths: Paths, path: Any) -> int:
    """Return the slot of a path, which may be new; -1 if there is no room."""
    i = np.int64(path % np.uint64(paths.keys.size))
    while paths.slots[i] >= 0:
        if paths.keys[i] == path:
            return paths.slots[i]
        i = (i + 1) % paths.keys.size
    slot = paths.used[0]
    if slot == paths.hashes.size:
        paths.missed[np.int64(path & _MISSED)] = 1
        return -1
    paths.keys[i], paths.slots[i], paths.hashes[slot] = path, slot, path
    paths.used[0] += 1
    return slot


@kernel
def happens(kind: int, value: float, of: int, x: float, word: Any) -> bool:
    """Return whether a number `x` of type `of` with these binary digits shows an event."""
    if kind in (ONE, ZERO):
        return np.int64((word >> np.uint64(np.int64(value))) & _U1) == (kind == ONE)
    if kind in (ABOVE, BELOW):
        return x > value if kind == ABOVE else x <= value
    return kind == THERE or of == value


@kernel
def absorb(
    paths: Paths, sides: Array, rows: Array, hashes: Array, types: Array, xs: Array, words: Array,
    masks: Array, flags: Array, signs: Array,
) -> None:  # fmt: skip
    """Find in each number the events that are bet on, then count the number.

    Reports of input -1 are passed over.
    """
    for i in range(rows.size):
        if sides[rows[i]] < 0:
            continue
        slot, row, x, word, of = enter(paths, hashes[i]), rows[i], xs[i], words[i], types[i]
        if slot < 0:
            continue
        for j in range(paths.start[slot], paths.start[slot + 1]):
            if happens(paths.kinds[j], paths.values[j], of, x, word):
                flags[row] |= masks[paths.marks[j]]
        counts = paths.counts[slot, 1, sides[row]]
        counts[TYPE + of] += 1
        counts[PRESENT] += 1
        place: Any = 0
        while word:
            counts[place] += np.int32(word & _U1)
            word, place = word >> _U1, place + 1
        if of == ODD:
            continue
        place = 0
        while place < paths.cuts[slot] and x > paths.edges[slot, place]:
            place += 1
        counts[64 + place] += 1
        place, paths.seen[slot] = paths.seen[slot], paths.seen[slot] + 1
        if place >= KEPT:  # each value is kept with the same probability
            place = np.int64(mix(hashes[i], np.uint64(place)) % np.uint64(place + 1))
        if place < KEPT:
            paths.kept[slot, place] = x
        if slot < signs.shape[1] and of != REAL and (x == 0 or x == 1):
            signs[row, slot] = np.int8(2 * x - 1)


@kernel
def _entered(table: Values, key: Any, start: int) -> int:
    """Enter a category into its bucket if it came before; return its place, -1 if it has none.

    This rare work stands apart, so that the loop over categories is compiled into faster code.
    """
    at, mark = np.int64((key >> _PLACE) & _DOOR), np.uint8(key >> _MARK)
    if table.door[at] != mark:
        table.door[at] = mark
        return -1
    place = start
    for j in range(start + 1, start + WAYS):
        if table.counts[j].sum() < table.counts[place].sum():
            place = j
    if table.marks[place] != 0:
        return -1  # a category that is bet on stays
    table.keys[place], table.last[place], table.counts[place] = key, 0, 0
    return place


@kernel
def count(
    table: Values, first: int, sides: Array, rows: Array, keys: Array, masks: Array, flags: Array
) -> None:
    """Find in each category the events that are bet on, then count the category once a report.

    Reports of input -1 are passed over.
    """
    buckets = np.uint64(table.keys.size // WAYS - 1)
    for i in range(rows.size):
        row, key = rows[i], keys[i]
        if sides[row] < 0:
            continue
        start: Any = np.int64(key & buckets) * WAYS
        place = start
        while place < start + WAYS and table.keys[place] != key:
            place += 1
        if place == start + WAYS:
            place = _entered(table, key, start)
            if place < 0:
                continue
        if table.marks[place] != 0:
            flags[row] |= masks[table.marks[place]]
        if table.last[place] != first + row:
            table.last[place] = first + row
            table.counts[place, 1, sides[row]] += 1


@kernel
def cut(paths: Paths, everything: bool) -> None:
    """Choose new intervals for paths, at quantiles of the kept values, and reset their counts.

    Paths that have intervals keep them unless `everything` is set.
    """
    for slot in range(paths.used[0]):
        if paths.seen[slot] == 0 or (paths.cuts[slot] > 0 and not everything):
            continue
        values = np.sort(paths.kept[slot, : min(paths.seen[slot], KEPT)])
        paths.edges[slot, 0], cuts = np.nextafter(values[0], -np.inf), 1
        for j in range(BINS - 2):
            value = values[(values.size - 1) * j // (BINS - 3)]
            if value > paths.edges[slot, cuts - 1]:
                paths.edges[slot, cuts] = value
                cuts += 1
        paths.cuts[slot], paths.seen[slot] = cuts, 0
        paths.counts[slot, :, :, 64:TYPE] = 0


# --- rankings -------------------------------------------------------------------------------------
@kernel
def stake(p: float, q: float, grown: float, delta: float, others: float) -> float:
    """Return the best stake on an event of rate `p` with one input and `q` with some others.

    Let E = exp(epsilon). A bet with stake l multiplies the wealth by 1 + l if the event comes with
    the likelier input, and by 1 - E l/others if it comes with another one. Without delta, one
    report of each input adds p ln(1 + l) + others q ln(1 - E l/others) to its logarithm on average.
    The maximum is at l = (p - E q)/(E (p/others + q)). With delta, delta is subtracted from
    p - E q. This is the maximum up to terms of order delta l.
    """
    won = p - grown * q - delta
    return min(won / (grown * (p / others + q)), MOST * others / grown) if won > 0 else 0.0


@kernel
def promise(
    p: float, q: float, reports: float, grown: float, delta: float, others: float = 1.0,
    inputs: int = 2,
) -> float:  # fmt: skip
    """Return the logarithm of the wealth that the best stake wins on average in so many reports.

    A coin gives each of k inputs some reports. They show the event with rate p for the likelier
    input and q for each of some others. A future report is of each input with probability 1/k. The
    logarithm of the wealth therefore grows by
    (p ln(1 + l) + others q ln(1 - E l/others))/k - ln(1 + l delta/k) a report.

    For two inputs with equally many reports and without delta, this is what the bet would have won
    on the counted reports. The rates are used because the numbers of reports may differ. In that
    case the counts alone would promise a gain from an event that occurs in every report.
    """
    best = stake(p, q, grown, delta, others)
    won = p * math.log1p(best) + others * q * math.log1p(-grown * best / others)
    return reports * (won / inputs - math.log1p(best * delta / inputs))


@kernel
def spread(rates: Array, sizes: Array, d: int, weights: Array) -> float:
    """Set the weights of the inputs with which input d is compared; return how many these are.

    The weights are equal, for all inputs whose rate may be the smallest. `sizes` are the numbers of
    reports behind the rates.
    """
    k, least, size, count = rates.size, np.inf, 1.0, 0.0
    for x in range(k):
        if x != d and rates[x] < least:
            least, size = rates[x], max(sizes[x], 1.0)
    edge = least + (math.sqrt((least + 1 / size) / size) if k > 2 else 0.0)
    for x in range(k):
        weights[x] = 1.0 if x != d and rates[x] <= edge else 0.0
        count += weights[x]
    weights /= count
    return count


@kernel
def _room(listed: Array, score: float) -> int:
    """Make room for a score in a list, the best first; return its place, -1 if it is too low."""
    i = listed.shape[0] - 1
    if score <= listed[i, 0]:
        return -1
    while i > 0 and listed[i - 1, 0] < score:
        listed[i] = listed[i - 1]
        i -= 1
    return i


@kernel
def offer(
    best: Array, kind: int, place: int, value: float, hits: Array, reports: Array, grown: float,
    delta: float, scratch: Array,
) -> int:  # fmt: skip
    """List an event in `best` if it promises enough; return 1 if it was seen twice.

    Two rows of `scratch` are overwritten.
    """
    k, every, total = hits.size, 0.0, 0.0
    for d in range(k):  # faster than the sums of so short arrays
        every, total = every + hits[d], total + reports[d]
    if every < 2:
        return 0
    rates, weights, least = scratch[0], scratch[1], np.inf
    for d in range(k):
        rates[d] = hits[d] / max(reports[d], 1)
        least = min(least, rates[d])
    for d in range(k):
        if hits[d] < 2 or rates[d] <= grown * least + delta:  # no stake wins
            continue
        others, q = spread(rates, reports, d, weights), 0.0
        for x in range(k):
            q += weights[x] * rates[x]
        score = promise(rates[d], q, total, grown, delta, others, k)
        for rare in range(2 if every < RARE * total else 1):
            listed = best[rare, d]
            i = _room(listed, score)
            if i >= 0:
                listed[i, 0], listed[i, 1], listed[i, 2], listed[i, 3] = score, kind, place, value
                listed[i, 4:] = hits
    return 1


@kernel
def _offer_slot(
    paths: Paths, slot: int, window: int, best: Array, reports: Array, grown: float, delta: float,
    scratch: Array,
) -> int:  # fmt: skip
    """Offer all events of a path; return how many were seen twice.

    Four rows of `scratch` are overwritten.
    """
    looked, hits, under, k = 0, scratch[2], scratch[3], reports.size
    seen = paths.counts[slot, window]
    for i in range(64):
        ones = 0
        for d in range(k):
            hits[d] = seen[d, i]
            ones += seen[d, i]
        if ones:
            looked += offer(best, ONE, slot, i, hits, reports, grown, delta, scratch)
            for d in range(k):
                hits[d] = seen[d, PRESENT] - seen[d, i]
            looked += offer(best, ZERO, slot, i, hits, reports, grown, delta, scratch)
    under[:] = 0
    for i in range(paths.cuts[slot]):
        edge = paths.edges[slot, i]
        for d in range(k):
            under[d] += seen[d, 64 + i]
        looked += offer(best, BELOW, slot, edge, under, reports, grown, delta, scratch)
        for d in range(k):
            hits[d] = seen[d, 64:TYPE].sum() - under[d]
        looked += offer(best, ABOVE, slot, edge, hits, reports, grown, delta, scratch)
    for i in range(TYPE, PRESENT + 1):
        kind = THERE if i == PRESENT else IS
        hits[:] = seen[:, i]
        looked += offer(best, kind, slot, i - TYPE, hits, reports, grown, delta, scratch)
    return looked


@kernel
def rank(
    paths: Paths, table: Values, window: int, best: Array, reports: Array, grown: float,
    delta: float, found: Array,
) -> tuple[int, int]:  # fmt: skip
    """List the best events of the past (window 0) or of the last block (1) in `best`.

    If `found` has columns, it receives the best event of each path (0), and categories (1).
    Return how many events were seen twice, and how many of them are rare categories.
    """
    looked, rare, total = 0, 0, reports.sum()
    scratch = np.zeros((4, reports.size))
    hits = scratch[2]
    for of in range(2):
        for place in range(table.keys.size if of else paths.used[0]):
            if of == 0:
                looked += _offer_slot(paths, place, window, best, reports, grown, delta, scratch)
            elif table.keys[place] != 0:
                hits[:] = table.counts[place, window]
                twice = offer(best, CATEGORY, place, 0.0, hits, reports, grown, delta, scratch)
                looked += twice
                rare += twice if hits.sum() < RARE * total else 0
            else:
                continue
            if found.shape[1]:
                row = best[0, np.argmax(best[0, :, 0, 0]), 0]
                i = _room(found[of], row[0])
                if i >= 0:
                    found[of, i] = row[:4]
                best[:] = 0.0
    return looked, rare
