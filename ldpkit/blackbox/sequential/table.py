"""One hashed table of everything that reports show, with counts for each input.

A *token* is a 64-bit hash of something that a report shows. It may be a place, a value there, a
binary digit, a threshold, a relation with an earlier report, or two values together.
Each token has a parent, without which it cannot show. A report therefore belongs to one of three
sets: its parent does not show, the parent shows and the token does not, or both show.

Values, relations and couples enter the table when they show for the second time. A byte for each
hash remembers the input of the first time, so that fresh values never take a row. The number of
rows is bounded. When they are used up, the rarest three quarters are forgotten.
"""

from collections import namedtuple
from typing import Any

import numpy as np

from ... import checks
from ...jit import deferred
from ...types import Array
from .records import ODD, REAL, Records, mix, mix_all

__all__ = ["ABSENT", "BIT", "DIFFER", "EDGE", "FIELDS", "PAIR", "PATH", "Table",
           "VALUE", "XOR", "digit", "joined"]  # fmt: skip

PATH, VALUE, BIT, EDGE, DIFFER, XOR, FIELDS, PAIR = range(8)
"""Types of tokens: a place, its value, a binary digit and a threshold. The others are the
difference and exclusive or with an earlier report, exclusive or of two places, and two values."""

ABSENT = 16
"""Added to the type of a token if its parent shows and the token does not."""

ROWS, MOST_ROWS = 1 << 12, 1 << 18  # of a new table, and of the largest one: some 20 MB
COLUMNS, MOST_COLUMNS = 1 << 6, 1 << 14  # places with numbers
DOORS = 1 << 22  # bytes that remember first appearances
HELD, EDGES = 32, 15  # values kept of a column, and thresholds at their quantiles
NEVER = 1 << 62  # when a column gets other thresholds: their counts would lack all reports before
FEW = 64  # relations are looked for in reports with at most so many numbers
JOINED = 12  # numbers of a report of which every two are compared
COUPLED = 40  # values of a report of which every two make a couple
EARLIER = 4  # with at most so many inputs, the last report of each is remembered
DECIMALS = 1e6  # differences of real numbers are rounded to six decimals

_ONE, _S40, _S59 = np.uint64(1), np.uint64(40), np.uint64(59)
_MANTISSA = np.uint64((1 << 52) - 1)
_SIGN = 64  # binary digit that stands for the sign of an integer
_KINDS = np.array([(2 * kind + 11) << 56 for kind in range(8)], np.uint64)
_TOGETHER = np.uint64(0xC0FFEE)  # parent of all couples

Rows = namedtuple("Rows", "index keys parents kinds left right stamps counts now coupled")
Columns = namedtuple("Columns", "index keys seen held edges edged due last known")


@deferred
def _order(rows: Array, n: int) -> tuple[Array, Array]:
    """Return the records in the order of their reports, and the end of each report."""
    ends = np.zeros(n + 1, np.int64)
    for r in rows:
        ends[r + 1] += 1
    for i in range(n):
        ends[i + 1] += ends[i]
    at, out = ends.copy(), np.empty(rows.size, np.int64)
    for i in range(rows.size):
        out[at[rows[i]]] = i
        at[rows[i]] += 1
    return out, ends


@deferred
def _take(
    start: int, numbers: Any, categories: Any, sides: Array, size: int,
    rows: Any, columns: Any, doors: Array, state: Array,
) -> tuple[int, Array, Array]:  # fmt: skip
    """Find the tokens of reports from number `start` on, and enter new ones.

    Return how many reports were read before the rows or columns became scarce, the rows of all
    tokens, and their end for each report. A report adds a row once.
    """
    of, paths, types, values, words = numbers
    c_of, c_paths, c_keys = categories
    n, k = sides.size, rows.now.shape[1]
    n_order, n_ends = _order(of, n)
    c_order, c_ends = _order(c_of, n)
    out, used, ends = np.empty(1 << 14, np.int32), 0, np.zeros(n + 1, np.int64)
    keys, above = np.empty(1 << 10, np.uint64), np.empty(1 << 10, np.int64)
    kinds, found = np.empty(1 << 10, np.uint8), np.empty(1 << 10, np.int64)
    left, right = np.empty(1 << 10, np.uint64), np.empty(1 << 10, np.uint64)
    r_mask, c_mask = np.uint64(rows.index.size - 1), np.uint64(columns.index.size - 1)
    w_paths, w_words = np.empty(JOINED, np.uint64), np.empty(JOINED, np.uint64)
    couple, touched = np.empty(COUPLED, np.int64), np.empty(1 << 10, np.int64)
    changed, soon = 0, columns.last.copy() if size > 1 else columns.last[:1]
    relations = columns.last.shape[1]
    for r in range(start, n):
        report, x, together = state[4], sides[r], 0
        many = n_ends[r + 1] - n_ends[r]
        need = 2 * (c_ends[r + 1] - c_ends[r]) + many * (70 + EDGES + 2 * relations) + 900
        if keys.size < need:
            keys, above = np.empty(need, np.uint64), np.empty(need, np.int64)
            kinds, found = np.empty(need, np.uint8), np.empty(need, np.int64)
            left, right = np.empty(need, np.uint64), np.empty(need, np.uint64)
        if out.size < used + need:
            longer = np.empty(2 * (used + need), np.int32)
            longer[:used] = out[:used]
            out = longer
        if touched.size < changed + many:
            more = np.empty(2 * (changed + many), np.int64)
            more[:changed] = touched[:changed]
            touched = more
        scarce = state[0] + 30 * many + 1000 > rows.keys.size
        if (scarce and rows.keys.size < MOST_ROWS) or (
            state[2] + many > columns.keys.size and columns.keys.size < MOST_COLUMNS
        ):
            return r, out[:used], ends
        # --- the tokens of categories, then those of numbers
        m = 0
        for j in range(c_ends[r], c_ends[r + 1]):
            i = c_order[j]
            keys[m], above[m], kinds[m], left[m] = c_paths[i], -1, PATH, c_paths[i]
            keys[m + 1], above[m + 1], kinds[m + 1], left[m + 1] = c_keys[i], m, VALUE, c_keys[i]
            m += 2
        whole = 0
        for j in range(n_ends[r], n_ends[r + 1]):
            i = n_order[j]
            path, word, value, integer = paths[i], words[i], values[i], types[i] != REAL
            q: Any = np.int64(-1)
            slot = path & c_mask
            while columns.index[slot] > 0 and columns.keys[columns.index[slot] - 1] != path:
                slot = (slot + _ONE) & c_mask
            if columns.index[slot] > 0:
                q = np.int64(columns.index[slot] - 1)
            elif state[2] < columns.keys.size:
                q = state[2]
                columns.keys[q], columns.index[slot], state[2] = path, q + 1, q + 1
            keys[m], above[m], kinds[m], left[m] = path, -1, PATH, path
            parent = m
            m += 1
            if many <= FEW or integer:
                negative = integer and value < 0
                digits = (~word + _ONE) if negative else word if integer else word & _MANTISSA
                b = _SIGN if negative else 0
                while negative or (digits and (not integer or value != 1)):
                    if negative or digits & _ONE:
                        place = np.uint64(b)
                        keys[m], above[m] = mix(path, _KINDS[BIT] + place), parent
                        kinds[m], left[m], right[m] = BIT, path, place
                        m += 1
                    if negative:
                        negative, b = False, 0
                    else:
                        digits, b = digits >> _ONE, b + 1
            if q < 0:
                state[1] += 1
                continue
            seen = columns.seen[q]
            columns.seen[q] = seen + 1
            if not np.isfinite(value):
                continue
            if seen < HELD:
                columns.held[q, seen] = value
            else:  # in place of another value, as a hash decides
                columns.held[q, np.int64(mix(path, np.uint64(seen)) >> _S59)] = value
            for e in range(columns.edged[q]):
                if value < columns.edges[q, e]:
                    break
                edge = np.float64(columns.edges[q, e]).view(np.uint64)
                keys[m], above[m] = mix(path, _KINDS[EDGE] ^ edge), parent
                kinds[m], left[m], right[m] = EDGE, path, edge
                m += 1
            if many > FEW or types[i] == ODD:
                continue
            for j2 in range(relations):
                if not columns.known[q, j2]:
                    continue
                last = columns.last[q, j2]
                which = np.uint64(j2) << np.uint64(48)
                if integer:
                    step = word - last
                    keys[m], above[m] = mix(path, (_KINDS[XOR] + which) ^ (word ^ last)), parent
                    kinds[m], left[m], right[m] = XOR, path, np.uint64(j2)
                    m += 1
                else:
                    apart = (value - np.uint64(last).view(np.float64)) * DECIMALS
                    if abs(apart) > 1e15:
                        continue
                    step = np.uint64(np.int64(np.rint(apart)))
                keys[m], above[m] = mix(path, (_KINDS[DIFFER] + which) ^ step), parent
                kinds[m], left[m], right[m] = DIFFER, path, np.uint64(j2)
                m += 1
            touched[changed] = q
            changed += 1
            if size > 1:
                soon[q, 0] = word
                if relations > 1:
                    soon[q, 1 + x] = word
            else:
                columns.last[q, 0], columns.known[q, 0] = word, True
                if relations > 1:
                    columns.last[q, 1 + x], columns.known[q, 1 + x] = word, True
            if integer and whole < JOINED:
                for a in range(whole):
                    both = mix(w_paths[a] + path, _KINDS[FIELDS])
                    keys[m], above[m] = mix(both, w_words[a] ^ word), parent
                    kinds[m], left[m], right[m] = FIELDS, w_paths[a], path
                    m += 1
                w_paths[whole], w_words[whole], whole = path, word, whole + 1
        if size > 1 and (report + 1) % size == 0:  # a round has ended
            for a in range(changed):
                q = touched[a]
                columns.last[q] = soon[q]
                columns.known[q] = True
            changed = 0
        elif size == 1:
            changed = 0
        # --- their rows, then those of couples
        begin = 0
        for phase in range(2):
            for a in range(begin, m):
                key, up = keys[a], np.int64(-1)
                if above[a] >= 0:
                    up = found[above[a]]
                    if up < 0:
                        found[a] = -1
                        continue
                at = (key ^ (key >> _S40)) & r_mask
                while rows.index[at] > 0 and rows.keys[rows.index[at] - 1] != key:
                    at = (at + _ONE) & r_mask
                s = np.int64(rows.index[at]) - 1
                if s < 0:
                    earlier: Any = np.int64(-1)
                    straight = kinds[a] != VALUE and kinds[a] < DIFFER
                    if not straight:
                        door = np.int64(key >> _S40) ^ np.int64(key & np.uint64(DOORS - 1))
                        door &= DOORS - 1
                        if doors[door] == 0:
                            doors[door] = x + 1
                            state[3] += 1
                            found[a] = -1
                            continue
                        earlier = np.int64(doors[door]) - 1
                    if state[0] >= rows.keys.size:
                        state[1] += 1
                        found[a] = -1
                        continue
                    s = state[0]
                    state[0] += 1
                    rows.index[at] = s + 1
                    rows.keys[s], rows.parents[s], rows.kinds[s] = key, up, kinds[a]
                    rows.left[s], rows.stamps[s] = left[a], -1
                    rows.right[s] = right[a] if kinds[a] >= BIT else np.uint64(0)
                    if 0 <= earlier < k:
                        rows.now[s, earlier] += 1
                found[a] = s
                if rows.stamps[s] != report:
                    rows.stamps[s] = report
                    out[used] = s
                    used += 1
                    if kinds[a] == VALUE and up >= 0 and rows.coupled[up] and together < COUPLED:
                        couple[together] = s
                        together += 1
            begin = m
            if phase or together < 2:
                break
            keys[m], above[m], kinds[m], left[m] = _TOGETHER, -1, PATH, _TOGETHER
            top = m
            m += 1
            for a in range(together):
                for b2 in range(a + 1, together):
                    one, two = rows.keys[couple[a]], rows.keys[couple[b2]]
                    if rows.parents[couple[a]] == rows.parents[couple[b2]]:
                        continue
                    keys[m], above[m] = mix(one + two, _KINDS[PAIR]), top
                    kinds[m], left[m], right[m] = PAIR, one, two
                    m += 1
        ends[r + 1] = used
        state[4] += 1
    return n, out[:used], ends


@deferred
def _cut(columns: Any, used: int) -> None:
    """Choose thresholds for the columns that are due, at quantiles of their kept values."""
    for q in range(used):
        if columns.seen[q] < columns.due[q]:
            continue
        some, n, k = columns.held[q], min(columns.seen[q], HELD), 0
        for a in range(1, n):  # in ascending order
            v, b = some[a], a
            while b > 0 and some[b - 1] > v:
                some[b] = some[b - 1]
                b -= 1
            some[b] = v
        for e in range(EDGES):
            v = some[(e + 1) * (n - 1) // EDGES]
            if v > some[0] and (k == 0 or v > columns.edges[q, k - 1]):
                columns.edges[q, k] = v
                k += 1
        columns.edged[q], columns.due[q] = k, NEVER


@deferred
def _commit(rows: Array, ends: Array, sides: Array, now: Array) -> None:
    """Count the tokens of reports."""
    for r in range(sides.size):
        for a in range(ends[r], ends[r + 1]):
            now[rows[a], sides[r]] += 1


@deferred
def _indexed(keys: Array, n: int, index: Array, fold: bool) -> None:
    """Enter keys into an empty index."""
    mask = np.uint64(index.size - 1)
    for s in range(n):
        key = keys[s]
        at = (key ^ (key >> _S40)) & mask if fold else key & mask
        while index[at] > 0:
            at = (at + _ONE) & mask
        index[at] = s + 1


class Table:
    """Counts of the tokens of all reports, for each input.

    Parameters
    ----------
    inputs : int
    size : int
        Reports of a round, see `ldpkit.blackbox.sequential.loop`.
    used : bool
        Whether it will hold anything.

    Attributes
    ----------
    state : int array (5,)
        Number of rows, tokens that found no free row, columns, remembered first times, and reports.
    totals : float array (2, inputs)
        Reports of each input before the last block, and in it.
    """

    def __init__(self, inputs: int, size: int = 1, used: bool = True) -> None:
        self.inputs, self.size = inputs, size
        self.state, self.totals = np.zeros(5, np.int64), np.zeros((2, inputs))
        self.rows = self._rows(ROWS)
        self.columns = self._columns(COLUMNS)
        self.doors = np.zeros(DOORS * used, np.uint8)

    def _rows(self, room: int) -> Rows:
        k = self.inputs
        keys, left, right = (np.zeros(room, np.uint64) for _ in range(3))
        return Rows(
            np.zeros(4 * room, np.int32), keys, np.full(room, -1, np.int32),
            np.zeros(room, np.uint8), left, right, np.full(room, -1, np.int64),
            np.zeros((room, k), np.float32), np.zeros((room, k), np.float32),
            np.zeros(room, np.bool_),
        )  # fmt: skip

    def _columns(self, room: int) -> Columns:
        many = 1 + (self.inputs if self.inputs <= EARLIER else 0)
        return Columns(
            np.zeros(4 * room, np.int32), np.zeros(room, np.uint64), np.zeros(room, np.int64),
            np.zeros((room, HELD)), np.zeros((room, EDGES)), np.zeros(room, np.int64),
            np.full(room, EDGES // 2, np.int64), np.zeros((room, many), np.uint64),
            np.zeros((room, many), np.bool_),
        )  # fmt: skip

    @property
    def used(self) -> int:
        """Number of rows."""
        return int(self.state[0])

    def part(self, name: str) -> Array:
        """Return the used rows of an array."""
        array: Array = getattr(self.rows, name)
        return array[: self.used]

    def take(self, records: Records, sides: Array) -> tuple[Array, Array]:
        """Return the rows of the tokens of reports, and their ends; new tokens are entered."""
        parts, ends, start = [], np.zeros(sides.size + 1, np.int64), 0
        while start < sides.size:
            done, some, new = _take(
                start, records[:5], records[5:8], sides, self.size, self.rows,
                self.columns, self.doors, self.state,
            )  # fmt: skip
            before = ends[start]
            ends[start + 1 : done + 1] = before + new[start + 1 : done + 1]
            parts.append(some[: new[done] if done > start else 0])
            if done == start:
                self._grow()
            start = done
        return np.concatenate(parts), ends

    def commit(self, rows: Array, ends: Array, sides: Array) -> None:
        """Count the first reports that `take` has read."""
        _commit(rows, ends, sides, self.rows.now)
        self.totals[1] += np.bincount(sides, minlength=self.inputs)

    def end_block(self) -> None:
        """Choose thresholds for the columns that are due."""
        _cut(self.columns, int(self.state[2]))
        if self.state[3] > DOORS // 2:
            self.doors[:], self.state[3] = 0, 0

    def forget_block(self) -> None:
        """Add the counts of the last block to those of the past."""
        n = self.used
        self.rows.counts[:n] += self.rows.now[:n]
        self.rows.now[:n] = 0
        self.totals[0] += self.totals[1]
        self.totals[1] = 0

    def clear(self, kept: Array) -> None:
        """Forget all counts, but not the columns; places with these hashes are coupled."""
        self.rows, self.totals[:] = self._rows(self.rows.keys.size), 0
        self.state[[0, 1, 3]], self.doors[:] = (kept.size, 0, 0), 0
        self.columns.known[:] = False
        self.rows.keys[: kept.size] = self.rows.left[: kept.size] = kept
        self.rows.coupled[: kept.size] = True
        _indexed(self.rows.keys, kept.size, self.rows.index, True)

    def prune(self) -> Array | None:
        """Forget rare tokens if the rows are used up, and return the new number of each row.

        Rows without a parent stay.
        """
        n = self.used
        if n < MOST_ROWS * 3 // 4:
            return None
        size = self.rows.counts[:n].sum(axis=1)
        roots = self.rows.parents[:n] < 0
        least = np.partition(size, n * 3 // 4)[n * 3 // 4]
        stay = roots | (size > max(least, 3))
        for _ in range(2):  # tokens that have lost their parent go, too
            stay &= roots | stay[self.rows.parents[:n]]
        self._moved(np.flatnonzero(stay), self.rows.keys.size)
        return np.where(stay, np.cumsum(stay) - 1, -1)

    def _grow(self) -> None:
        """Double the rows and the columns, up to the largest number of them."""
        if self.rows.keys.size < MOST_ROWS:
            self._moved(np.arange(self.used), 2 * self.rows.keys.size)
        old, n = self.columns, int(self.state[2])
        if old.keys.size < MOST_COLUMNS:
            self.columns = self._columns(2 * old.keys.size)
            for name in Columns._fields[1:]:
                getattr(self.columns, name)[:n] = getattr(old, name)[:n]
            _indexed(self.columns.keys, n, self.columns.index, False)

    def _moved(self, some: Array, size: int) -> None:
        """Keep some rows, in a table of so many rows."""
        old, self.rows = self.rows, self._rows(size)
        for name in Rows._fields[1:]:
            getattr(self.rows, name)[: some.size] = getattr(old, name)[some]
        new = np.full(old.keys.size + 1, -1, np.int32)  # a parent of -1 is the last entry
        new[some] = np.arange(some.size)
        self.rows.parents[: some.size] = new[old.parents[some]]
        self.state[0] = some.size
        _indexed(self.rows.keys, some.size, self.rows.index, True)

    # --- to be continued

    def kept(self) -> dict[str, Array]:
        """Return all arrays, as far as they are used."""
        n, m = self.used, int(self.state[2])
        rows = {f"rows.{name}": getattr(self.rows, name)[:n] for name in Rows._fields[1:]}
        columns = {
            f"columns.{name}": getattr(self.columns, name)[:m] for name in Columns._fields[1:]
        }
        return {"state": self.state, "totals": self.totals, "doors": self.doors, **rows, **columns}

    def restore(self, new: dict[str, Array], room: int, columns: int) -> None:
        """Continue from the arrays of `kept`, which are not trusted."""
        self.state, self.totals, self.doors = (new[name] for name in ("state", "totals", "doors"))
        n, m = int(self.state[0]), int(self.state[2])
        checks.need(
            0 <= n <= room <= MOST_ROWS and 0 <= m <= columns <= MOST_COLUMNS
            and room % ROWS == 0 and columns % COLUMNS == 0 and self.doors.size in (0, DOORS)
            and self.state.size == 5 and len(self.totals) == 2,
            "state must hold a table, got numbers out of range",
        )  # fmt: skip
        self.rows, self.columns = self._rows(room), self._columns(columns)
        for name in Rows._fields[1:]:
            getattr(self.rows, name)[:n] = new[f"rows.{name}"]
        for name in Columns._fields[1:]:
            getattr(self.columns, name)[:m] = new[f"columns.{name}"]
        parents, edged = self.rows.parents[:n], self.columns.edged[:m]
        checks.need(
            (parents >= -1).all() and (parents < n).all() and (self.columns.seen[:m] >= 0).all()
            and (edged >= 0).all() and (edged <= EDGES).all(),
            "state must hold a table, got numbers out of range",
        )  # fmt: skip
        _indexed(self.rows.keys, n, self.rows.index, True)
        _indexed(self.columns.keys, m, self.columns.index, False)


def joined(paths: Array, words: Array) -> Array:
    """Return the hashes of exclusive ors of the digits of two places, as the table counts them."""
    both = mix_all(paths.sum(keepdims=True), _KINDS[FIELDS : FIELDS + 1])
    return mix_all(both.repeat(words.size), words)


def digit(words: Array, types: Array, values: Array, place: float) -> Array:
    """Return whether a binary digit of each number is 1, as the table counts them."""
    integer = types != REAL
    negative = integer & (values < 0)
    if place == _SIGN:
        return negative
    digits = np.where(negative, ~words + _ONE, np.where(integer, words, words & _MANTISSA))
    return (digits >> np.uint64(place)) & _ONE == 1
