"""Bets on whole reports: models of past reports estimate how likely a report is with each input.

The counts of a screen choose the columns of the models. They are the columns that tell the inputs
apart best, whatever epsilon is claimed. The models are fitted after every block until 512 reports
were counted. After that they are fitted when the number of reports has doubled, or after 65,536
more. The bet is valid even if the models are wrong, because it depends on earlier reports only.

Question d compares input d with an even mixture of the others. One question is enough for two
inputs. A bet multiplies its wealth by the factor of `ldpkit.blackbox.betting.soft`; the change by a
report of another input counts by 1/(k - 1). A round of recordings multiplies the wealth by the
product of its factors or by their mean, see `ldpkit.blackbox.sequential.screen`.
"""

import math
from collections import namedtuple
from collections.abc import Mapping
from typing import Any

import numpy as np

from ...jit import kernel
from ...types import Array
from ..betting import soft_factor
from .counts import NUMBER, Counts
from .models import Odds, fitted, likely
from .players import SHARES, Player
from .records import Records
from .tallies import ONE, ZERO

__all__ = ["Scores"]

Columns = namedtuple("Columns", "numbers keys")
"""Paths of numbers, as `Counts.informative` lists them, and keys of categories."""
_PRIOR = np.array([0.49, 0.49, 0.02])  # shares of a question's wealth; the last one never bets
_COLUMNS, _HELD, _CELLS = 16, 2**13, 2**20  # most columns of each type, reports, and records
_FIRST, _OFTEN, _SELDOM = 16, 2**9, 2**16  # reports
_TRIED = 512  # reports on which a balance is tried
_EVERY, _LEAST = 10, 1.0  # claims that share a balance; nats that it must have won
_BALANCES = np.linspace(0.1, 1.9, 19)
_NEAR = np.uint64(2**10 - 1)


@kernel
def _gather(
    rows: Array, paths: Array, values: Array, words: Array, known: Array, digits: Array, out: Array
) -> None:
    """Write the numbers at known paths, or one of their digits, into the columns of these paths.

    A digit of -1 stands for the number itself.
    """
    near = np.zeros(2**10, np.bool_)  # most paths are not known, which is seen here at once
    for path in known:
        near[path & _NEAR] = True
    for i in range(rows.size):
        if not near[paths[i] & _NEAR]:
            continue
        for column in range(known.size):
            if known[column] == paths[i]:
                out[rows[i], column] = values[i]
                if digits[column] >= 0:
                    out[rows[i], column] = (words[i] >> np.uint64(digits[column])) & np.uint64(1)


@kernel
def _play(
    scores: Array, sides: Array, size: int, product: bool, low: int, at: int, grown: Array,
    delta: float, balance: Array, start: Array, won: Array, total: Array,
) -> None:  # fmt: skip
    """Multiply the wealth `won` (questions, shares, claims) by the factors of rounds.

    `scores` (n, questions, shares) are probabilities of input d. A round has `size` reports, whose
    factors are a `product` or averaged. Bets are made against the claims from number `low` on.
    `total` receives the wealth against claim `at` after every round, for bets whose wealth was
    `start` (questions, shares + 1).
    """
    questions, many = scores.shape[1], scores.shape[2]
    others = max(questions - 1, 1)
    for r in range(total.size):
        total[r] = 0.0
        for d in range(questions):
            total[r] += start[d, many]
            for s in range(many):
                for c in range(low, grown.size):
                    mu = balance[d, c]
                    if np.isnan(mu):
                        continue
                    now = 1.0 if product else 0.0
                    for i in range(r * size, r * size + size):
                        second = sides[i] != d
                        one = soft_factor(scores[i, d, s], mu, grown[c], delta, second)
                        one = 1 + (one - 1) / others if second else one
                        now = now * one if product else now + one / size
                    won[d, s, c] *= max(now, 1e-300)
                total[r] += start[d, s] * won[d, s, at]


class Scores(Player):
    """Wealth of the bets on scores of reports, against every epsilon of a grid.

    On each question there are two bets, and a share that never bets.

    Parameters
    ----------
    counts : Counts
        Counts of the same reports, which choose the columns.
    grid : float array (g,)
        Claims to bet against.
    delta : float
    product : bool
        As in `Player`.

    Attributes
    ----------
    balance : float array (questions, g)
        Balances of the bets, see `ldpkit.blackbox.betting.soft`; NaN if there is no bet.
    learned : int
        Number of reports to which the models were fitted.
    """

    words = "everything that can be seen, weighed together"
    _KEPT: tuple[str, ...] = (*Player._KEPT, "balance", "learned", "_blocks", "_next", "_low")
    _GROWN = (
        *(f"memory.{name}" for name in Records._fields[:9]),
        "columns.numbers",
        "columns.keys",
    )
    _MOST = 2.0  # balances are smaller

    def __init__(self, counts: Counts, grid: Array, delta: float, product: bool = False) -> None:
        questions = 1 if counts.inputs == 2 else counts.inputs
        super().__init__(
            np.tile(_PRIOR / questions, (questions, 1)), grid.size, counts.size, product
        )
        self.counts, self.grid, self.delta, self.others = counts, grid, delta, counts.inputs - 1
        self.balance = np.full((questions, grid.size), math.nan)
        self.columns = Columns(np.empty(0, NUMBER), np.empty(0, np.uint64))
        self.models: list[tuple[float, Odds]] = []
        self.learned, self._blocks, self._next, self._low = 0, 0, _FIRST, 0
        kinds: Any = int, np.uint64, int, float, np.uint64, int, np.uint64, np.uint64, int
        self.memory = Records(*(np.empty(0, kind) for kind in kinds))
        self._parts = [self.memory]  # the first part was learned
        self._scores = np.empty((0, questions, len(SHARES)))
        self._seen = self.memory

    # --- a round ----------------------------------------------------------------------------------

    def see(self, found: Records, reports: Any, sides: Array) -> None:
        """Score the reports of rounds, of which `found` are the records."""
        self._watch(sides.size // self.size)
        self._seen = found._replace(sides=sides)
        if self.models and not np.isnan(self.balance[:, self._low :]).all():
            table = self._table(found)
            likelihood = np.asarray(sum(w * likely(odds(table)) for w, odds in self.models))
            self._scores = self._drawn_in(likelihood)
        else:
            self._scores = np.full((sides.size, *self._scores.shape[1:]), 0.5)

    def _win(self, reports: Array, at: int, low: int) -> tuple[Array, Array]:
        self._low, own = low, (self._scores[reports], self._seen.sides[reports])
        return self._played(*own, self.grid, self.balance, self.shares + self.now, at, low)

    def keep(self) -> int:
        """Keep the last bet; if a block of the counts has ended, share the wealth and learn."""
        rounds = super().keep()
        self._parts.append(self._seen.between(0, rounds * self.size))
        if self.counts.blocks > self._blocks:
            self._blocks = self.counts.blocks
            self._settle()
        return rounds

    def _played(
        self, scores: Array, sides: Array, grid: Array, balance: Array, log: Array, at: int = 0,
        low: int = 0,
    ) -> tuple[Array, Array]:  # fmt: skip
        """Return what the bets win, and the wealth after each round, as `_in_parts` does."""
        if np.isnan(balance[:, low:]).all():
            total = np.logaddexp.reduce(log[:, :, at], axis=None)
            return np.zeros_like(log), np.full(sides.size // self.size, total)

        return self._in_parts(log, at, sides.size, lambda part, *wealth: self._multiply(
            scores[part], sides[part], grid, balance, low, at, *wealth
        ))  # fmt: skip

    def _multiply(
        self, scores: Array, sides: Array, grid: Array, balance: Array, low: int, at: int,
        *wealth: Array,
    ) -> None:  # fmt: skip
        """Play a part of the rounds, as `_in_parts` describes it."""
        given = scores, sides, self.size, self.product, low, at, np.exp(grid), self.delta
        _play(*given, balance, *wealth)

    def _settle(self) -> None:
        """End a block: share the wealth anew, and learn if enough is new."""
        self.share()
        seen = int(self.counts.reports.sum())
        if seen >= self._next:
            self._next = seen + (1 if seen < _OFTEN else min(seen, _SELDOM))
            self.columns = Columns(*self.counts.informative(_COLUMNS))
            self._parts = [self._last(self._parts)]
            self.learned = self._parts[0].sides.size
            self._learn()
        elif sum(part.sides.size for part in self._parts[1:]) > 2 * _HELD:
            self._parts[1:] = [self._last(self._parts[1:])]

    # --- learning ---------------------------------------------------------------------------------

    def _learn(self, tuned: bool = False) -> None:
        """Fit the models to the first part of the memory; choose balances, unless `tuned`."""
        found, sides = self._parts[0], self._parts[0].sides
        half = np.arange(sides.size) // self.size % 2
        if any(len(np.unique(sides[half == part])) < self.counts.inputs for part in (0, 1)):
            return  # a half has no report of some input
        self.models, held_out = fitted(self._table(found), sides, half, self.counts.inputs)
        if not tuned:
            self._tune(held_out, sides)

    def _tune(self, held_out: Array, sides: Array) -> None:
        """Choose balances, by what they would have won on reports that the models did not see."""
        size = self.size
        recent = slice(-_TRIED // size * size, None)
        given = self._drawn_in(held_out[recent])[:, :, -1:], sides[recent]
        tried = np.unique(np.append(np.arange(0, self.grid.size, _EVERY), self.grid.size - 1))
        shape, claims = (len(self.balance), tried.size), self.grid[tried]
        none = np.zeros((shape[0], 2, shape[1]))
        gains = np.array(
            [self._played(*given, claims, np.full(shape, mu), none)[0][:, 0] for mu in _BALANCES]
        )
        chosen = np.where(gains.max(axis=0) >= _LEAST, _BALANCES[gains.argmax(axis=0)], math.nan)
        self.balance = chosen[:, np.minimum(np.arange(self.grid.size) // _EVERY, tried.size - 1)]

    def _last(self, parts: list[Records]) -> Records:
        """Return the last reports of some parts; fewer of them if they have many records."""
        sizes = [part.sides.size for part in parts]
        records = sum(part.rows.size + part.keys.size for part in parts)
        most = max(self.size, int(min(_HELD, _CELLS / max(records / max(sum(sizes), 1), 1))))
        while sum(sizes[1:]) >= most:
            sizes, parts = sizes[1:], parts[1:]
        first = max(0, sum(sizes) - most + most % self.size)
        return Records.joined(parts).between(first, sum(sizes))

    def _table(self, found: Records) -> Array:
        """Return the columns of reports, float array (n, m + 1).

        Missing numbers are NaN. The last column is a hash of the whole report.
        """
        numbers, keys = self.columns
        digit = (numbers["kind"] == ONE) | (numbers["kind"] == ZERO)
        digit &= (numbers["value"] > 0) & (numbers["value"] < 64)
        paths = np.concatenate([numbers["path"], numbers["path"][digit]])
        digits = np.append(np.full(len(numbers), -1), numbers["value"][digit]).astype(int)
        out = np.full((found.whole.size, paths.size + keys.size + 1), math.nan)
        out[:, paths.size : -1], out[:, -1] = 0.0, found.whole
        _gather(found.rows, found.paths, found.values, found.words, paths, digits, out)
        given = found.category_rows, found.keys, np.ones(found.keys.size), found.keys
        _gather(*given, keys, np.full(keys.size, -1), out[:, paths.size :])
        return out

    def _drawn_in(self, likelihood: Array) -> Array:
        """Return the scores of every question, moved towards even odds, (n, questions, shares)."""
        least = 1 / (self.learned // 2 + 2)
        own = likelihood[:, : self.balance.shape[0]]
        other = (1 - own) / self.others
        c = np.clip(own / np.maximum(own + other, 1e-300), least, 1 - least)[:, :, None]
        up, down = c ** np.array(SHARES), (1 - c) ** np.array(SHARES)
        return np.asarray(up / (up + down))

    # --- to stop and continue ---------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Return the state, for `restore`; JSON can hold it."""
        self.memory = Records.joined(self._parts)
        return super().state()

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from the `state` of other scores, see `Kept.restore`."""
        super().restore(state)
        n, size = self.learned, self.memory.sides.size
        self._parts = [self.memory.between(0, n), self.memory.between(n, size)]
        if self.learned:
            self._learn(tuned=True)

    def _sound(self) -> bool:
        memory, bets = self.memory, self.balance[~np.isnan(self.balance)]
        rows, sides = np.append(memory.rows, memory.category_rows), memory.sides
        sizes = [{x.size for x in part} for part in (memory[:5], memory[5:7], memory[7:9])]
        return (
            super()._sound()
            and max(map(len, sizes)) == 1
            and bool(((rows >= 0) & (rows < sides.size)).all())
            and 0 <= self.learned <= sides.size
            and 0 <= self._low < self.grid.size
            and max(map(len, self.columns)) <= _COLUMNS
            and bool(((sides >= 0) & (sides < self.counts.inputs)).all())
            and bool(((bets > 0) & (bets < self._MOST)).all())
        )
