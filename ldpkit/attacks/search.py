"""Which single thing tells two inputs apart best: events found in past reports of both.

A report shows many things. For each of them a set of its values, or a threshold, is an event, and
so are two of them together where each has two values. The event wanted is the one on which a bet
grows fastest, judged by reports that did not choose it, and a little against it.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..kinds.anything import rows
from ..types import Array, Rates, Reports
from .features import TEXTS, called, columns

__all__ = ["Finding", "Past"]

KEPT = 2**13
"""Pairs of reports that are learned from at most; more are thinned out evenly."""

_FEW, _COUPLES, _BINS = 16, 64, 8
_TAUS = np.array([0, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4])
_LEVELS = np.linspace(0, 1, 17)[1:-1]
_MISSING = -math.inf
_CELLS = {((0, 1), (1, 0)): "{} and {} differ", ((0, 0), (1, 1)): "{} and {} agree"}


@dataclass(frozen=True)
class Finding:
    """An event that was learned, and can be declared when fresh reports are audited.

    Parameters
    ----------
    names : tuple of str
        Columns of `ldpkit.attacks.features` that it is about: one, or two for ``"cells"``.
    test : {"in", ">", "<=", "cells"}
    values : tuple
        The values that show the event; a threshold; or pairs of 0 and 1, after the larger values of
        the two columns.
    rates : (float, float), optional
        How often it was seen with the first input and with the second.
    """

    names: tuple[str, ...]
    test: str
    values: tuple[Any, ...]
    rates: Rates | None = None

    @property
    def words(self) -> str:
        """The event as a reader is told of it."""
        things = [called(name) for name in self.names]
        if self.test == "cells":
            top, cells = self.values[0], self.values[1:]
            if cells in _CELLS:
                return _CELLS[cells].format(*things)
            parts = zip(things, top, cells[0])
            return " and ".join(f"{a} is{'' if on else ' not'} {_said(v)}" for a, v, on in parts)
        if self.test != "in":
            return f"{things[0]} {self.test} {self.values[0]:g}"
        if len(self.values) > 4:
            return f"{things[0]} is one of {len(self.values)} that were seen more often"
        return f"{things[0]} is {' or '.join(map(_said, self.values))}"

    def holds(self, reports: Reports) -> Array:
        """Whether each report shows the event; bool array (n,)."""
        given = rows(reports)
        return self.shown(columns(given, self.names), len(given))

    def shown(self, found: dict[str, Array], n: int) -> Array:
        """As `holds`, of columns that were looked up before."""
        one, *other = (filled(found, name, n) for name in self.names)
        if self.test == "cells":
            cells = 2 * (one == self.values[0][0]) + (other[0] == self.values[0][1])
            return np.isin(cells, [2 * a + b for a, b in self.values[1:]])
        if self.test == "in":
            if one.dtype == object:
                wanted = frozenset(self.values)
                return np.fromiter((v in wanted for v in one), bool, n)
            return np.isin(one, self.values)
        return one > self.values[0] if self.test == ">" else (one <= self.values[0])


def _said(value: Any) -> str:
    if isinstance(value, float):
        return "missing" if value == _MISSING else f"{value:g}"
    return repr(value) if value else "missing"


def filled(found: dict[str, Array], name: str, n: int) -> Array:
    """Return a column with what is missing in place."""
    if name not in found:
        return np.full(
            n, "" if name.endswith(TEXTS) else _MISSING, object if name.endswith(TEXTS) else float
        )
    column = found[name]
    return column if column.dtype == object else np.where(np.isnan(column), _MISSING, column)


def _grown(a: Array, b: Array, n: int, epsilon: float, delta: float) -> Array:
    """Growth of a bet on events with a and b hits of n, the rates drawn towards each other."""
    grown = math.exp(epsilon)
    p, q = (a + 0.5) / (n + 1), (b + 0.5) / (n + 1)
    p = p - 0.7 * np.sqrt(p * (1 - p) / n) - delta
    q = q + 0.7 * np.sqrt(q * (1 - q) / n)
    p = np.clip(p, 1e-9, 1 - 1e-9)
    q = np.clip(q, 1e-9, 1 - 1e-9)
    s = 1 + grown + p + grown * q  # the nearest null, in closed form without delta
    q0 = 2 * (p + q) / (s + np.sqrt(np.maximum(s * s - 8 * grown * (p + q), 0)))
    gain = _entropy(p, grown * q0) + _entropy(q, q0)
    return np.where(p > grown * q, gain, 0.0)


def _entropy(p: Array, p0: Array) -> Array:
    p0 = np.clip(p0, 1e-12, 1 - 1e-12)
    return p * np.log(p / p0) + (1 - p) * np.log((1 - p) / (1 - p0))


@dataclass(frozen=True)
class Coded:
    """A column with its values numbered.

    Attributes
    ----------
    name : tuple of str
    codes : int array (2 n,)
    values : array or list
        By code; of numbers cut into intervals, the cuts.
    cut : bool
    counts : int array (2, 2, k)
        By input, half and code.
    """

    names: tuple[str, ...]
    codes: Array
    values: Any
    cut: bool
    counts: Array

    @property
    def ratios(self) -> Array:
        """Logarithm of how much likelier each code is with the first input, by each half."""
        return np.log((self.counts[0] + 0.5) / (self.counts[1] + 0.5))

    @property
    def fit(self) -> float:
        """Log-likelihood of each half under what the other one says."""
        score = self.ratios[::-1]
        lost = self.counts[0] * np.logaddexp(0, -score) + self.counts[1] * np.logaddexp(0, score)
        return -float(lost.sum())

    def code(self, found: dict[str, Array], n: int) -> Array:
        """Number the values of other reports; -1 where they were not seen."""
        one, *other = (filled(found, name, n) for name in self.names)
        if other:
            return 2 * (one == self.values[0]) + (other[0] == self.values[1])
        if self.cut:
            return np.searchsorted(self.values, one)
        numbers = {value: code for code, value in enumerate(self.values)}
        return np.fromiter((numbers.get(v, -1) for v in one), np.int64, n)


class Past:
    """Reports of two inputs that were bet on before.

    Parameters
    ----------
    first, second : reports
        The same number of each.

    Attributes
    ----------
    found : dict of arrays (2 n,)
        Columns of the first reports, then of the second.
    half : int array (2 n,)
        In which half of the pairs each report is: 0 or 1.
    repeated : bool
        Whether all reports of one input are the same.
    """

    def __init__(self, first: Reports, second: Reports) -> None:
        sides = rows(first), rows(second)
        step = -(-len(sides[0]) // KEPT)
        pooled = [report for side in sides for report in side[::step]]
        self.n = n = len(pooled) // 2
        self.found = columns(pooled)
        self.half = np.tile(np.arange(n) % 2, 2)
        self.columns = [
            one for name in self.found if (one := self._coded(name)) and one.counts.shape[2] > 1
        ]
        whole = self.found["whole"]
        self.repeated = n > 1 and any(len(set(side)) == 1 for side in (whole[:n], whole[n:]))
        self.couples = self._couples()

    def _coded(self, name: str) -> Coded:
        column, cut = filled(self.found, name, 2 * self.n), False
        few = column.dtype == object or len(np.unique(column[:: max(1, self.n // 100)])) <= _FEW
        if few:
            values, codes = np.unique(column, return_inverse=True)
            few = column.dtype == object or len(values) <= 4 * _FEW
        if not few:
            levels = np.linspace(0, 1, _BINS + 1)[1:-1]
            values, cut = np.unique(np.quantile(column, levels, method="lower")), True
            codes = np.searchsorted(values, column)
        return self.coded((name,), codes, values, cut)

    def coded(self, names: tuple[str, ...], codes: Array, values: Any, cut: bool = False) -> Coded:
        """Count the codes of a column, by input and half."""
        side, k = np.repeat((0, 1), self.n), int(codes.max()) + 1
        counts = np.bincount((2 * side + self.half) * k + codes, minlength=4 * k)
        return Coded(names, codes, values, cut, counts.reshape(2, 2, k))

    def _couples(self) -> tuple[list[Coded], Array]:
        """Columns of two values, and how often two of them have their larger values: both, the
        first only, the second only, neither; array (inputs, 4, m, m)."""
        two = [
            c for c in self.columns
            if not c.cut and c.counts.shape[2] == 2 and (c.counts.sum(axis=1) > 0).any()
        ][:_COUPLES]  # fmt: skip
        on = np.array([c.codes for c in two], np.float32).reshape(len(two), 2 * self.n)
        found = []
        for side in (on[:, : self.n], on[:, self.n :]):
            both, each = side @ side.T, side.sum(axis=1)
            found.append([both, each[:, None] - both, each - both,
                          self.n - each[:, None] - each + both])  # fmt: skip
        return two, np.array(found, float)

    def couple(self, i: int, j: int) -> Coded:
        """Two columns of two values as one of four."""
        one, other = (self.couples[0][at] for at in (i, j))
        codes = 2 * one.codes + other.codes
        return self.coded(one.names + other.names, codes, (one.values[1], other.values[1]))

    def best(self, epsilon: float, delta: float, turned: bool) -> tuple[float, Finding | None]:
        """Search the event on which a bet against the claim grows fastest.

        Parameters
        ----------
        epsilon, delta : float
            The claim.
        turned : bool
            Whether the event is to be likelier with the second input.

        Returns
        -------
        growth : float
            In nats per pair, as far as the past tells; at most 0 if there is no event to bet on.
        finding : Finding or None
        """
        best: tuple[float, Finding | None] = (0.0, None)
        side = slice(None, None, -1) if turned else slice(None)
        n = self.n

        def offer(gains: Array, a: Array, b: Array, make: Any, tried: float = 1) -> None:
            nonlocal best
            at = np.unravel_index(int(np.argmax(gains)), gains.shape)
            gain = float(gains[at]) - math.log(tried) / n
            if gain > best[0]:
                low = 1 / (n + 2)
                p, q = (float(np.clip((x[at] + 0.5) / (n + 1), low, 1 - low)) for x in (a, b))
                best = gain, make(at, (p, q))

        def grown(a: Array, b: Array) -> Array:
            return _grown(a, b, n, epsilon, delta)

        for c in self.columns:
            if not c.cut:
                ratios = -c.ratios if turned else c.ratios
                on = ratios[::-1, :, None] > _TAUS  # what the other half says
                a, b = (on * c.counts[side][:, :, :, None]).sum(axis=(1, 2))
                chosen = ratios_of_all(c.counts[side])
                offer(grown(a, b), a, b, lambda at, rates, c=c, chosen=chosen: Finding(
                    c.names, "in", tuple(c.values[np.flatnonzero(chosen > _TAUS[at[0]])].tolist()),
                    rates), math.sqrt(len(c.values)))  # fmt: skip
            if c.cut or (len(c.values) > 2 and self.found[c.names[0]].dtype != object):
                x = filled(self.found, c.names[0], 2 * n)
                cuts = np.unique(np.quantile(x, _LEVELS, method="lower"))
                below = np.array([np.searchsorted(np.sort(half), cuts, "right")
                                  for half in (x[:n], x[n:])[side]])  # fmt: skip
                for test, (a, b) in ((">", n - below), ("<=", below)):
                    offer(grown(a, b), a, b, lambda at, rates, c=c, test=test, cuts=cuts:
                          Finding(c.names, test, (float(cuts[at[0]]),), rates),
                          math.sqrt(2 * len(cuts)))  # fmt: skip
        two, cells = self.couples
        if len(two) > 1:
            named = [(1, 1), (1, 0), (0, 1), (0, 0)]
            events = np.concatenate([cells, cells[:, [0]] + cells[:, [3]],
                                     cells[:, [1]] + cells[:, [2]]], axis=1)[side]  # fmt: skip
            shown = [(cell,) for cell in named] + [((0, 0), (1, 1)), ((0, 1), (1, 0))]
            upper = np.triu(np.ones((len(two), len(two)), bool), 1)
            a, b = events
            offer(np.where(upper, grown(a, b), 0), a, b, lambda at, rates: Finding(
                two[at[1]].names + two[at[2]].names, "cells",
                ((two[at[1]].values[1], two[at[2]].values[1]), *shown[at[0]]), rates),
                math.sqrt(len(two)))  # fmt: skip
        return best


def ratios_of_all(counts: Array) -> Array:
    """Logarithm of how much likelier each code is with the first input."""
    one, two = counts.sum(axis=1)
    return np.log((one + 0.5) / (two + 0.5))
