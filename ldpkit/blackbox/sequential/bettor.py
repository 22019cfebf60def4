"""A bettor reads reports, bets on them, counts them, and chooses its experts after each block."""

from typing import Any

import numpy as np

from ... import checks
from ...types import Array
from .experts import CAUTION, CELLS, EVENT, GAPS, SCORE, cells_of, faces, gains, placed, smoothed
from .kept import packed, unpacked
from .records import Records
from .table import ABSENT, BIT, DIFFER, EDGE, EDGES, FIELDS, PAIR, VALUE, Table
from .wealth import Claims, Wealth, tallied

__all__ = ["EVENTS", "Bettor", "repeated"]

EVENTS = (("past", 0.3), ("past", 1.0), ("last", 1.0))
"""Experts on the best single event of the past or of the last block. The number tells how much the
event must promise, in logarithms of the number of tokens."""
SUMS = (("past", 0.5), ("past", 1.5), ("last", 2.4))
"""Experts that add up what all tokens say which promise more than so many nats."""
PLACES = (1.0, 4.0)
"""Experts that add up what all places say which deviate by so much more than by chance. Another one
follows the place alone that deviates most."""
RIDGE = 10.0
"""Penalty of the expert that weighs tokens by ridge regression."""

_ALONE = 1 - 1e-9
CLEARLY = 0.5  # logarithms of the number of tokens: couples that promise so much stay
FEWEST_EDGES = 3  # thresholds of a number whose intervals are counted
FADING = 0.97  # counts of a scored expert's cells lose the rest after each block
HEAVIEST = 4000  # tokens that one expert adds up
COLUMNS, REMEMBERED, ENTRIES = 64, 2048, 1 << 19  # of the regression: tokens, reports, their rows
SEARCHED = 64  # last reports that show a token, one of which is an example of it
COUPLES, FEWEST, MOST_VALUES = 48, 2, 40  # places that are coupled, and the number of their values
IDLE = 0.1
"""Share of the wealth that is never bet."""
_WAYS = np.repeat([EVENT, SCORE, EVENT], [len(EVENTS), len(SUMS) + len(PLACES) + 2, 1])
"""The last expert has a cell for each interval of the number that deviates most."""
_LEARNERS = _WAYS.size
_KEPT = (
    "hist", "played", "sides", "leaders", "buffer", "stops", "asked", "places", "weights", "bias",
    "tally", "wholes", "alike",
)  # fmt: skip
_PLAIN = np.array(
    [0.99 if kind in (BIT, EDGE) else 0.85 if kind >= DIFFER else 1 for kind in range(9)]
)
"""Events are preferred to relations and couples that promise hardly more."""
_LARGEST_COUNT = 1e15  # no audit has so many reports


class Bettor:
    """Experts on declared events and on everything in the reports, and their wealth.

    Parameters
    ----------
    claims : Claims
    goal : float
        Logarithm of the wealth that refutes the claim.
    inputs : int
    pairs : list of (int, int, rates)
        The two inputs of each declared event, and its rates with them if they are known.
    learns : bool
        Whether it also looks for events itself.
    size, product
        See `Wealth`.

    Attributes
    ----------
    rounds : int
        Rounds so far.
    hist : float array (experts, cells, inputs)
        Counts behind the stakes of each expert: those of the blocks on which a scored expert has
        bet, those of the past for single events.
    played, sides : int arrays (reports, experts) and (reports,)
        Cells and inputs of the reports of this block.
    leaders : uint64 array (3, 2)
        Key and type of the event of each expert on single events, 0 if there is none. `ABSENT` is
        added to the type if the event is the absence of a token.
    tally : int array (declared events, 3, inputs)
        How often each declared event did not show, showed, and was not bet on.
    memory : list
        The last reports, whose rows are in `buffer` and end at `stops`.
    """

    def __init__(
        self, claims: Claims, goal: float, inputs: int, pairs: Any = (), learns: bool = True,
        size: int = 1, product: bool = False,
    ) -> None:  # fmt: skip
        self.k, self.size, self.learns, self.pairs = inputs, size, learns, list(pairs)
        self.d = len(self.pairs)
        experts, parts = self.d + _LEARNERS * learns, (self.d > 0) + learns
        fixed = not learns and all(rates is not None for *_, rates in self.pairs)
        each = (1 - IDLE * (not fixed)) / parts
        shares = np.repeat([each / max(self.d, 1), each / _LEARNERS], [self.d, experts - self.d])
        shares = np.append(shares, IDLE * (not fixed))
        self.wealth = Wealth(claims, shares, goal, size, product, not fixed)
        cells = max(faces(inputs) * GAPS.size, EDGES + 2) if learns else CELLS
        self.hist, self.caution = np.zeros((experts, cells, inputs)), np.full(experts, CAUTION)
        self.caution[experts - learns :] = 0.0  # counts of intervals are smooth already
        self.both = np.full((experts, 2), -1)
        for e, (i, j, rates) in enumerate(self.pairs):
            self.both[e] = i, j
            if rates is not None:
                self.caution[e], shown = 0.0, np.array(rates)
                self.hist[e, :2, [i, j]] = np.stack([1 - shown, shown], axis=1)
        self.wholes, self.alike = np.zeros(inputs, np.uint64), np.ones(inputs, bool)
        self.tally = np.zeros((self.d, CELLS, inputs), np.int64)
        self.rounds, self.taken = 0, 0
        self.table = Table(inputs, size, learns)
        self.leaders = np.zeros((len(EVENTS), 2), np.uint64)
        self.memory: list[Any] = []
        self.examples: dict[int, Any] = {}  # one report for each leader, which may be rare
        self.buffer, self.stops = np.zeros(0, np.int32), np.zeros(0, np.int64)
        self.asked = np.zeros(0, np.int64)  # inputs of the reports in memory
        self.early: list[Any] | None = []
        self._begin_block({})

    def _begin_block(self, weights: dict[int, Array], bias: Array | None = None) -> None:
        """Set the stakes of the next block, and the weights of tokens by their rows."""
        learners = (len(self.hist) - self.d, self.k)
        self.played = np.zeros((0, len(self.hist)), np.int16)
        self.sides = np.zeros(0, np.int64)
        self.logs = np.array([self.wealth.staked(*expert) for expert in self._experts])
        self.places = np.zeros(max(self.table.used, 1), np.int32)
        self.places[list(weights)] = np.arange(1, len(weights) + 1, dtype=np.int32)
        self.weights = np.array([np.zeros(learners), *weights.values()], np.float32)
        self.bias = np.zeros(learners, np.float32) if bias is None else bias

    def see(
        self, records: Records | None, given: list[Any], sides: Array,
        symbols: Array, watched: bool,
    ) -> int:  # fmt: skip
        """Bet on the reports of some rounds, then count those that were bet on.

        Parameters
        ----------
        records, given
            The records of the reports, and the reports themselves. ``None`` if nothing is learned.
        sides : int array (reports,)
            Input of each report.
        symbols : int array (reports, declared events)
            Whether each report shows each declared event; 2 if no bet is made on it.
        watched : bool
            Whether to stop when the claim is refuted.

        Returns
        -------
        int
            Number of rounds that were used.
        """
        skipped = min(self.taken - self.rounds, sides.size // self.size)
        if skipped > 0:  # read before a refutation that came earlier: no bet on these is fair
            self.rounds += skipped
            return skipped
        cells = symbols
        if records is not None:
            rows, ends = self.table.take(records, sides)
            grown = max(self.table.used - self.places.size, 0)
            self.places = np.append(self.places, np.zeros(grown, np.int32))
            learned = np.zeros((sides.size, _LEARNERS), np.int64)
            cells_of(rows, ends, self.places, self.weights, self.bias, _WAYS, GAPS, learned)
            cells = np.hstack([symbols, learned])
            self.taken += sides.size // self.size
        used = self.wealth.bet(cells, sides, self.logs, watched)
        n = used * self.size
        self.played = np.concatenate([self.played, cells[:n].astype(np.int16)])
        self.sides = np.append(self.sides, sides[:n])
        self.rounds += used
        for e, shown in enumerate(symbols[:n].T):
            self.tally[e] += tallied(shown, sides[:n], self.tally[e].shape)
        if records is not None:
            for x in np.unique(sides[:n]).tolist():
                own = records.whole[:n][sides[:n] == x]
                self.wholes[x] = self.wholes[x] or own[0]
                self.alike[x] &= (own == self.wholes[x]).all()
            self._count(rows, ends[: n + 1], given[:n], sides[:n])
            if self.early is not None:
                used_ones = np.arange(sides.size) < n
                self.early.append((records.some(used_ones), given[:n], sides[:n]))
        return used

    def _count(self, rows: Array, ends: Array, given: list[Any], sides: Array) -> None:
        """Count reports, and keep the last ones."""
        self.table.commit(rows, ends, sides)
        rows, ends = rows[: ends[-1]], ends[1:]
        self.stops = np.append(self.stops, ends + self.buffer.size)
        self.buffer, self.memory = np.append(self.buffer, rows), [*self.memory, *given]
        self.asked = np.append(self.asked, sides)
        old = max(
            self.stops.size - REMEMBERED,
            int(np.searchsorted(self.stops, self.buffer.size - ENTRIES)),
        )
        if old > 0:
            cut = self.stops[old - 1]
            self.buffer, self.stops = self.buffer[cut:], self.stops[old:] - cut
            self.memory, self.asked = self.memory[old:], self.asked[old:]

    @property
    def _experts(self) -> Any:
        return zip(self.hist, self.caution, self.both)

    def settled(self) -> tuple[Array, Array]:
        """Return the wealth of all bets after the last round, and the largest ones so far."""
        return self.wealth.settled(self._experts, self.played, self.sides)

    # --- between two blocks -----------------------------------------------------------------------

    def end_block(self) -> None:
        """Share the wealth, count what the experts have seen, and choose new ones."""
        self.wealth.end_block(self._experts, self.played, self.sides)
        own = np.append(self.caution[: self.d] > 0, _WAYS == SCORE)[: len(self.hist)]
        for e in np.flatnonzero(own).tolist():
            new = tallied(self.played[:, e], self.sides, self.hist[e].shape)
            self.hist[e] = (1 if e < self.d else FADING) * self.hist[e] + new
        self._begin_block(*(self._learn() if self.learns else ({},)))

    def showing(self, row: int) -> Any:
        """Return one of the last reports that shows a token, or one that was kept for it."""
        at = np.flatnonzero(self.buffer == row)[-SEARCHED:][::-1]
        of = np.searchsorted(np.append(0, self.stops), at, side="right") - 1
        kept = self.examples.get(int(self.table.rows.keys[row]))
        return next((self.memory[i] for i in of.tolist() if self.memory[i] is not None), kept)

    def _learn(self) -> tuple[dict[int, Array], Array]:
        """Choose experts; return the weights of tokens by their rows, and those of no token."""
        table, claims = self.table, self.wealth.claims
        table.end_block()
        if self.early:
            self._count_again()
        table_now, totals_now = table.part("now").copy(), table.totals[1].copy()
        table.forget_block()
        moved = table.prune()
        if moved is not None:
            table_now = table_now[moved >= 0]
            kept = moved[self.buffer]
            count = np.r_[0, np.cumsum(kept >= 0)]
            self.buffer, self.stops = kept[kept >= 0].astype(np.int32), count[self.stops]
        parents, counts = table.part("parents"), table.part("counts")
        lines = self.wealth.lines
        given: Any = claims.grown[lines], claims.delta[lines], claims.ordered
        seen = {"past": (counts, table.totals[0]), "last": (table_now, totals_now)}
        found = {name: gains(parents, *pair, *given) for name, pair in seen.items()}
        need = np.log(max(table.used, 2))
        weights: dict[int, Array] = {}

        def row(s: int) -> Array:
            return weights.setdefault(int(s), np.zeros(self.hist[self.d :, 0].shape, np.float32))

        self.leaders[:], examples = 0, {}
        for e, (name, nats) in enumerate(EVENTS):
            (yes, no), (n, totals) = found[name], seen[name]
            both, self.hist[self.d + e] = np.maximum(yes, no), 0.0
            s = int((both * _PLAIN[table.part("kinds")]).argmax()) if both.size else -1
            if s < 0 or both[s] <= nats * need:
                continue
            p = parents[s]
            top = n[p] if p >= 0 else totals
            counts_of = totals - top, np.maximum(top - n[s], 0), n[s]  # a hash may be shared
            self.hist[self.d + e, :CELLS] = counts_of
            row(s)[e, 0] += 1
            row(p)[e, 0] += p >= 0
            if p < 0:
                self.hist[self.d + e, :CELLS] = [totals - n[s], n[s], 0 * totals]
            absent = int(no[s] > yes[s])
            self.leaders[e] = table.rows.keys[s], table.rows.kinds[s] + ABSENT * absent
            examples[int(table.rows.keys[s])] = self.showing(s)
        self.examples = examples
        e = len(EVENTS)
        for name, nats in SUMS:
            (yes, _), (n, totals) = found[name], seen[name]
            some = np.flatnonzero(yes > nats)
            some = some[np.argsort(-yes[some], kind="stable")[:HEAVIEST]]
            each = np.log((n[some] + 0.5) / (totals + 1))
            for s, w in zip(some.tolist(), each - each.mean(axis=1, keepdims=True)):
                row(s)[e] += w
            e += 1
        for w in self._weighed(parents, counts):
            for s in np.flatnonzero(w.any(axis=1)).tolist():
                row(s)[e] += w[s]
            e += 1
        bias = np.zeros((len(self.hist) - self.d, self.k), np.float32)
        best = np.maximum(*found["past"])
        some = _best(best, counts, 0.1, COLUMNS)
        if some.size > 1 and np.bincount(self.asked, minlength=self.k).min() > 3:
            columns = np.full(table.used, -1)
            columns[some] = np.arange(some.size)
            of = np.repeat(np.arange(self.stops.size), np.diff(self.stops, prepend=0))
            shown = columns[self.buffer]
            x = np.zeros((self.stops.size, some.size + 1))
            x[:, -1] = 1.0
            x[of[shown >= 0], shown[shown >= 0]] = 1.0
            y = 2 * self.k * (np.eye(self.k)[self.asked] - 1 / self.k)
            w = np.linalg.solve(x.T @ x + RIDGE * np.eye(some.size + 1), x.T @ y)
            for s, own in zip(some.tolist(), w):
                row(s)[e] += own
            bias[e] = w[-1]
        for s in self._intervals(parents, counts):
            row(s)[-1, 0] += 1
        self._couple(best, need)
        return weights, bias

    def _weighed(self, parents: Array, counts: Array) -> Any:
        """Yield the weights of all tokens for each expert on places."""
        kinds, up = self.table.part("kinds"), parents
        some = np.flatnonzero((kinds >= VALUE) & (kinds < FIELDS) & (up >= 0))
        edges = np.where(kinds[some] == EDGE, self.table.part("right")[some].view(float), 0.0)
        order = some[np.lexsort((edges, kinds[some], up[some]))]
        most = 0.0
        for least in (*PLACES, PLACES[-1]):
            weights = np.zeros((parents.size, self.k))
            least = max(least, most * _ALONE)
            found = placed(order, kinds, parents, counts, least, weights)
            most = found * (least == PLACES[-1])
            yield weights

    def _intervals(self, parents: Array, counts: Array) -> list[int]:
        """Count the intervals of the number whose smooth ratios gain most.

        Return the rows of which a report shows as many as its interval says, none if there is no
        such number.
        """
        self.hist[-1] = 0.0
        some = np.flatnonzero((self.table.part("kinds") == EDGE) & (parents >= 0))
        some = some[np.lexsort((self.table.part("right")[some].view(float), parents[some]))]
        up, start, many = np.unique(parents[some], return_index=True, return_counts=True)
        above = np.zeros((up.size, EDGES + 2, self.k))
        above[:, 0] = counts[up]
        of = np.repeat(np.arange(up.size), many)
        above[of, 1 + np.arange(some.size) - start[of]] = counts[some]
        bins = np.maximum(above[:, :-1] - above[:, 1:], 0.0)
        enough = np.flatnonzero((many >= FEWEST_EDGES) & (bins.sum(axis=1).min(axis=1) > 0))
        if not enough.size:
            return []
        smooth, gained = smoothed(bins[enough])
        best = int(gained.argmax())
        at = enough[best]
        self.hist[-1, 0] = self.table.totals[0] - counts[up[at]]
        self.hist[-1, 1 : EDGES + 2] = smooth[best]
        return [up[at], *some[start[at] : start[at] + many[at]]]

    def _couple(self, best: Array, need: float) -> None:
        """Choose places with few values, of which every two are counted together."""
        table = self.table
        kinds, parents = table.part("kinds"), table.part("parents")
        if best[kinds == PAIR].max(initial=0.0) > CLEARLY * need:
            return  # the couples stay as they are
        values = np.bincount(parents[(kinds == VALUE) & (parents >= 0)], minlength=table.used)
        often = table.part("counts").sum(axis=1) > table.totals[0].sum() / 2
        some = np.flatnonzero((values >= FEWEST) & (values <= MOST_VALUES) & often & (parents < 0))
        if some.size > COUPLES:
            some = np.random.default_rng(self.rounds).permutation(some)[:COUPLES]
        table.part("coupled")[:] = False
        table.rows.coupled[some] = True

    def _count_again(self) -> None:
        """Count the first block again, because only now its columns have thresholds and couples."""
        table = self.table
        table.rows.counts[: table.used] = table.part("now")
        table.totals[0] = table.totals[1]
        self._couple(np.zeros(table.used), 0.0)
        table.clear(table.part("keys")[table.part("coupled")])
        early, self.early, self.memory = self.early, None, []
        self.buffer, self.stops, self.asked = self.buffer[:0], self.stops[:0], self.asked[:0]
        for records, given, sides in early or ():
            rows, ends = table.take(records, sides)
            self._count(rows, ends, given, sides)

    # --- to be continued --------------------------------------------------------------------------

    def _arrays(self) -> dict[str, Array]:
        wealth, table, early = self.wealth, self.table, self.early
        numbers = [self.rounds, self.taken, wealth.blocks, early is None]
        numbers += [table.rows.keys.size, table.columns.keys.size]
        parts = [Records.joined([r for r, *_ in early])] if early else []
        return {
            **{name: getattr(self, name) for name in _KEPT},
            **{name: getattr(wealth, name) for name in ("logs", "now", "most", "won")},
            "numbers": np.array(numbers, np.int64),
            "best": np.array([wealth.best]),
            **table.kept(),
            **{f"early.{name}": part for r in parts for name, part in zip(Records._fields, r[:9])},
            **{f"early.{i}": np.concatenate(e) for i, e in enumerate(zip(*early or ())) if i > 1},
        }

    def state(self) -> str:
        """Return all arrays as text, for `restore`."""
        return packed(self._arrays())

    def restore(self, state: str) -> None:
        """Continue from the `state` of another bettor with the same parameters."""
        new = unpacked(state, self._arrays())
        self.rounds, self.taken, self.wealth.blocks, late, *room = new["numbers"].tolist()
        self.wealth.best = float(new["best"][0])
        self.table.restore(new, *room)
        for name in _KEPT:
            setattr(self, name, new[name])
        for name in ("logs", "now", "most", "won"):
            setattr(self.wealth, name, new[name])
        self.wealth.aim(keep=True)
        self.logs = np.array([self.wealth.staked(*expert) for expert in self._experts])
        self.memory, self.early = [None] * self.stops.size, None if late else []
        if "early.2" in new:
            parts = [new[f"early.{name}"] for name in Records._fields[:9]]
            sides = new["early.2"]
            self.early = [(Records(*parts), [None] * sides.size, sides)]
        n, rows = self.table.used, len(self.weights)
        sound = (
            0 <= self.rounds <= self.taken or not self.learns,
            (self.buffer >= 0).all() and (self.buffer < n).all(),
            (self.places >= 0).all()
            and (self.places < rows).all()
            and self.places.size <= max(n, 1),
            (self.played >= 0).all() and (self.played < self.hist.shape[1]).all(),
            (self.sides >= 0).all() and (self.sides < self.k).all(),
            (np.diff(self.stops, prepend=0) >= 0).all() and self.stops.size == self.asked.size,
            not self.stops.size or self.stops[-1] == self.buffer.size,
            (self.asked >= 0).all() and (self.asked < self.k).all(),
            not np.isnan(self.wealth.logs).any() and (abs(self.hist) < _LARGEST_COUNT).all(),
        )
        checks.need(all(map(bool, sound)), "state must hold a bettor, got numbers out of range")


def _best(promise: Array, counts: Array, least: float, many: int) -> Array:
    """Return the rows that promise most and more than `least`; of those with equal counts, one."""
    some = np.flatnonzero(promise > least)
    some = some[np.argsort(-promise[some], kind="stable")[: 8 * many]]
    _, first = np.unique(counts[some], axis=0, return_index=True)
    return some[np.sort(first)][:many]


def repeated(bettor: Bettor) -> int:
    """Return how many reports an input has if all of its reports are the same; 0 if they differ."""
    return int(bettor.table.totals.sum(axis=0)[bettor.alike].max(initial=0))
