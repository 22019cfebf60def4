"""Compute lower bounds of epsilon for the twenty mechanisms of the DP-Sniper suite.

For every pair of inputs, events are learned from 50,000 reports of each. An event is a threshold on
a single feature, on the likelihood of a report by a table of frequencies, or on a linear
discriminant. The most promising events are tried twice on fresh reports, by which their thresholds
are chosen again. The best event is declared, and counted in all remaining reports of the budget.
The bound at confidence .9 uses both counts together (`epsilon_buehler`). All of alpha = .1 is spent
on this single event, which was declared before the reports that test it were drawn.

Compiled code draws and counts the reports, in chunks and by two threads.
"""

import json
import math
import os
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy
from mechanisms import SUITE
from numba import njit
from series import STORE

from ldpkit import stats
from ldpkit.rng import generator
from ldpkit.stats import epsilon_buehler

ALPHA = 0.1
LEARN, CHUNK, PIECE = 50_000, 2**17, 2**11
TRIED = ((24, 0.02), (8, 0.1))
"""Number of candidates and share of the budget, in the first and second round of trials."""
LUCK, WARY, STEP, BINS = 4.5, 1.5, 0.015, 60
"""Numbers by which `cut` chooses thresholds."""
FITTED = 8  # pairs of inputs of which every place is weighed
WORKERS = min(2, os.cpu_count() or 1)


@njit(nogil=True)
def look(reports, atoms, low, high, sign, cuts, out):
    """Write one row of features for each report.

    The features of single places come first. They tell which of the recurring values stands there,
    and hold other numbers between those of the two inputs. Features of all places together follow.
    The first one counts how often such a value stands where the first input is larger, minus where
    it is smaller. Others are the number and the sums of other numbers, with the same signs. There
    are also their minimum (in pieces between `cuts`), their maximum, and their first and last
    place. Without recurring values, differences of neighbours are added.
    """
    n, d = reports.shape
    m = atoms.size
    for i in range(n):
        at, count, total, apart, plain = 0, 0.0, 0.0, 0.0, 0.0
        least, most, first, last, before = 1e9, -1e9, -1.0, -1.0, 0.0
        end = d * (m + 1) if m else 2 * d
        for a in range(m):
            out[i, end + a] = 0.0
        for j in range(d):
            y, free = reports[i, j], True
            for a in range(m):
                here = y == atoms[a]
                out[i, at] = here
                at += 1
                if here:
                    free = False
                    out[i, end + a] += sign[j]
            bounded = min(max(y, low[j]), high[j]) if free else 0.0
            out[i, at] = bounded
            at += 1
            if free:
                count += sign[j]
                total += sign[j] * bounded
                plain += bounded
                least, most = min(least, y), max(most, y)
                first = j if first < 0 else first
                last = j
            if m == 0:
                step = min(max(y - before, low[j]), high[j])
                before = y
                out[i, at] = step
                at += 1
                apart += sign[j] * step
        at = end + m
        for value in (count, total, plain, apart, least, most, first, last):
            out[i, at] = value
            at += 1
        for c in range(cuts.size - 1):
            out[i, at] = min(max(least, cuts[c]), cuts[c + 1])
            at += 1


@njit(nogil=True)
def coded(reports, atoms, out):
    """Write a number for each report whose entries are all among a few values."""
    for i in range(reports.shape[0]):
        code = 0
        for j in range(reports.shape[1]):
            a = 0
            while a < atoms.size - 1 and reports[i, j] != atoms[a]:
                a += 1
            code = code * atoms.size + a
        out[i] = code


class Made:
    """Reports of one mechanism, which are the same for one input and purpose in all comparisons.

    Therefore every report that is drawn counts in the budget of its input.
    """

    def __init__(self, name, seed):
        self.name, self.seed = name, seed
        self.fill, self.given, self.width, self.pairs, self.published, self.most = SUITE[name]
        self.kept = {}

    def past(self, x):
        """Return the reports of one input from which events are learned."""
        if x not in self.kept:
            self.kept[x] = np.empty((LEARN, self.width))
            rng = generator(self.seed, self.name, list(x), "learn")
            self.pour(np.array(x), rng, self.kept[x])
        return self.kept[x]

    def pour(self, x, rng, out):
        self.fill(x, rng, out, *self.given)

    def pieces(self, x, n, purpose, seen):
        """Return the results of `seen` for n reports, which are made in pieces."""

        def chunk(job):
            number, size = job
            rng = generator(self.seed, self.name, list(x), purpose, number)
            out, found, inputs = np.empty((PIECE, self.width)), [], np.array(x)
            for start in range(0, size, PIECE):
                here = out[: min(PIECE, size - start)]
                self.pour(inputs, rng, here)
                found.append(seen(here))
            return found

        sizes = [min(CHUNK, n - start) for start in range(0, n, CHUNK)]
        with ThreadPoolExecutor(WORKERS) as pool:
            return [one for found in pool.map(chunk, enumerate(sizes)) for one in found]

    def hits(self, x, n, purpose, event):
        """Return how many of n reports show an event."""
        return sum(
            self.pieces(x, n, purpose, lambda reports: np.count_nonzero(event.holds(reports)))
        )


class Features:
    """Features of the reports of one pair of inputs, chosen from a few reports."""

    def __init__(self, reports, first, second):
        values, counts = np.unique(reports[::4], return_counts=True)
        self.atoms = values[counts > reports[::4].size / 400]
        self.discrete = bool(np.isin(reports, self.atoms).all())
        self.codes = len(self.atoms) ** reports.shape[1] if self.discrete else math.inf
        flags = self.atoms[1:] if self.discrete else self.atoms  # one follows from the others
        x, y = np.array(first), np.array(second)
        if reports.shape[1] % x.size:  # a report of other things than places
            x, y = np.array([max(first + second)]), np.array([min(first + second)])
        times = reports.shape[1] // x.size
        ways = np.minimum(x, y), np.maximum(x, y), np.sign(x - y)
        low, high, sign = (np.tile(v, times) for v in ways)
        free = np.where(np.isin(reports, self.atoms), np.nan, reports)
        free = np.nanmin(np.where(np.isnan(free), 1e9, free), axis=1)
        free = free[free < 1e9]
        levels = np.quantile(free, (0, 0.02, 0.1, 0.3, 0.6, 1)) if len(free) else np.zeros(1)
        self.given = flags, low, high, sign.astype(float), levels
        d, m = reports.shape[1], len(flags)
        self.single = d * (m + 1) if m else 2 * d  # where features of all places begin
        self.size = self.single + m + 8 + len(levels) - 1

    def __call__(self, reports):
        out = np.empty((len(reports), self.size))
        look(reports, *self.given, out)
        return out

    def numbers(self, reports):
        out = np.empty(len(reports), np.int64)
        coded(reports, self.atoms, out)
        return out


@dataclass(frozen=True)
class Score:
    """A number on which events are thresholds: weighted features, or a table of reports."""

    words: str
    features: Features
    weights: Any = None
    table: Any = None

    def __call__(self, reports):
        if self.table is not None:
            return self.table[self.features.numbers(reports)]
        return self.features(reports) @ self.weights


@dataclass(frozen=True)
class Candidate:
    """An event that a score is at least so large, which supports the first input."""

    promise: float
    first: tuple
    second: tuple
    way: int
    score: Score
    level: float = 0.0

    def holds(self, reports):
        return self.way * self.score(reports) >= self.level


def promised(known, p, q, draws):
    """Return the expected bound of an event with the assumed log ratio `known`."""
    spread = np.sqrt(((1 - p) / p + (1 - q) / q) / draws)
    return known + scipy.special.ndtri(ALPHA) * spread


def cut(scores, draws):
    """Return the promise and the level of the best threshold on scores of the first and second
    input.

    Rare events win by luck if many are compared. Therefore a log ratio is reduced: that of the
    counts by `LUCK` standard errors, or that of a smooth curve through all thresholds by `WARY`.
    """
    one, two = (np.sort(side) for side in scores)
    n, pooled = len(one), np.sort(np.concatenate([one, two]))
    shares = np.geomspace(10 / len(pooled), 0.98, BINS)
    levels = np.unique(pooled[(len(pooled) * (1 - shares)).astype(int)])
    a, b = (n - np.searchsorted(side, levels, "left") for side in (one, two))
    p, q = np.maximum(a, 0.5) / n, np.minimum((b + 1) / n, 1)
    counted = np.log(p / q) - LUCK * np.sqrt((1 - p) / (n * p) + (1 - q) / (n * q))
    likely = np.maximum(promised(counted, p, q, draws), promised(smoothed(a, b), p, p, draws))
    bounds = np.where(a >= 10, likely, -np.inf)
    best = int(np.argmax(bounds))
    return float(bounds[best]), float(levels[best])


def smoothed(a, b):
    """Return log ratios of two falling counts, minus some standard errors.

    Log odds between neighbouring thresholds are assumed to differ by about `STEP`.
    """
    one, two = (-np.diff(side, append=0) for side in (a, b))
    n, m = one + two, len(a)
    apart = np.diff(np.eye(m), axis=0) / STEP
    prior, odds = apart.T @ apart + np.eye(m) / 4, np.zeros(m)
    for _ in range(8):
        c = scipy.special.expit(odds)
        curved = np.diag(n * c * (1 - c)) + prior
        odds += np.clip(np.linalg.solve(curved, one - n * c - prior @ odds), -2, 2)
    c = scipy.special.expit(odds)
    up, down = (np.cumsum((n * side)[::-1])[::-1] for side in (c, 1 - c))
    slope = np.triu(np.ones((m, m))) * (n * c * (1 - c)) * (1 / up + 1 / down)[:, None]
    error = np.sqrt(np.einsum("ij,jk,ik->i", slope, np.linalg.inv(curved), slope))
    return np.log(up / down) - WARY * error


def weighed(squares, sums):
    """Return weights of features by a linear discriminant, refitted without useless features."""

    def solved(used):
        inverse = np.linalg.inv(squares[np.ix_(used, used)] + 1e-6 * np.eye(len(used)))
        return inverse @ sums[used], np.sqrt(np.diag(inverse)) / 2

    used = np.flatnonzero(np.diag(squares) > 0)
    w, error = solved(used)
    clear = np.abs(w) > 3 * error
    if clear.any():
        used = used[clear]
        w, _ = solved(used)
    weights = np.zeros(len(sums))
    weights[used] = w
    return weights


def both_ways(first, second, score, sides, draws, signs=(1,)):
    """Yield the candidates of one score, for each input."""
    for sign in signs:
        one, two = (sign * side for side in sides)
        promise, level = cut((one, two), draws)
        yield Candidate(promise, first, second, sign, score, level)
        promise, level = cut((-two, -one), draws)
        yield Candidate(promise, second, first, -sign, score, level)


def simple(made, first, second, draws):
    """Yield candidates by single features of all places, by their odds, and by frequencies of
    reports.
    """
    reports = [made.past(x) for x in (first, second)]
    seen = Features(np.concatenate([side[:4000] for side in reports]), first, second)
    sides = [seen(side) for side in reports]
    for j in range(seen.single, seen.size):
        if sides[0][:, j].std() + sides[1][:, j].std() > 0:
            score = Score(f"feature {j - seen.single}", seen, np.eye(seen.size)[j])
            yield from both_ways(first, second, score, [s[:, j] for s in sides], draws, (1, -1))
    yield from odds(first, second, seen, sides, draws, seen.single)
    if seen.codes <= 70_000:
        half = LEARN // 2
        counts = [np.bincount(seen.numbers(side[:half]), minlength=seen.codes) for side in reports]
        table = np.log((counts[0] + 2) / (counts[1] + 2))
        score = Score("frequencies", seen, table=table)
        yield from both_ways(first, second, score, [score(side[half:]) for side in reports], draws)


def fitted(made, first, second, draws):
    """Yield candidates by the features of every place."""
    reports = [made.past(x) for x in (first, second)]
    seen = Features(np.concatenate([side[:4000] for side in reports]), first, second)
    yield from odds(first, second, seen, [seen(side) for side in reports], draws, 0)


def odds(first, second, seen, sides, draws, start):
    """Yield candidates by a linear discriminant of the features from `start` on.

    Each half of the reports is predicted from the other half.
    """
    features = np.concatenate([side[:, start:] for side in sides])
    truth = np.repeat((0.5, -0.5), LEARN)
    middle, spread = features.mean(axis=0), features.std(axis=0) + 1e-12
    halves = [((features - middle) / spread)[half::2] for half in (0, 1)]
    squares = [one.T @ one for one in halves]
    sums = [one.T @ truth[half::2] for half, one in enumerate(halves)]
    foretold = np.empty(2 * LEARN)
    for half, one in enumerate(halves):
        foretold[half::2] = one @ weighed(squares[1 - half], sums[1 - half])
    weights = np.zeros(seen.size)
    weights[start:] = weighed(sum(squares), sum(sums)) / spread
    score = Score(f"odds, {'all places together' if start else 'place by place'}", seen, weights)
    yield from both_ways(first, second, score, (foretold[:LEARN], foretold[LEARN:]), draws)


def learned(made, draws):
    """Return the events of all pairs of inputs, the most promising first."""
    by_pair = [list(simple(made, tuple(x), tuple(y), draws)) for x, y in made.pairs]
    by_pair.sort(key=lambda found: -max(one.promise for one in found))
    found = [one for some in by_pair for one in sorted(some, key=lambda one: -one.promise)[:3]]
    for some in by_pair[:FITTED]:
        first, second = sorted((some[0].first, some[0].second))
        found += fitted(made, first, second, draws)
    return sorted(found, key=lambda one: -one.promise)


def tried(made, candidates, draws, trial, purpose):
    """Return the candidates with thresholds chosen by fresh reports, the best one first."""
    again = []
    for one in candidates:

        def seen(reports, one=one):
            return one.way * one.score(reports)

        sides = [
            np.concatenate(made.pieces(x, trial, purpose, seen)) for x in (one.first, one.second)
        ]
        promise, level = cut(sides, draws)
        again.append(replace(one, promise=promise, level=level))
    return sorted(again, key=lambda one: -one.promise)


def rows(draws, only, seed=1):
    """Yield one row per mechanism; stored rows are not measured again."""
    STORE.mkdir(parents=True, exist_ok=True)
    for name in only or SUITE:
        path = STORE / f"sniper-{name}-{draws}-{seed}.json"
        if not path.exists():
            path.write_text(json.dumps(measured(Made(name, seed), draws, seed)))
        yield json.loads(path.read_text())


def measured(made, draws, seed):
    """Return the bound of one mechanism."""
    start, work = time.perf_counter(), time.process_time()
    candidates, rest = learned(made, draws), draws - LEARN
    for number, (many, share) in enumerate(TRIED):
        trial = int(draws * share)
        candidates = tried(made, candidates[:many], draws, trial, f"try {number}")
        rest -= trial
    best, tick = candidates[0], time.perf_counter()
    a, b = (made.hits(x, rest, "count", best) for x in (best.first, best.second))
    lower = epsilon_buehler(int(a), int(b), rest, ALPHA)
    theirs = max(made.published[:2])
    return {
        "mechanism": made.name, "first": " ".join(f"{v:g}" for v in best.first),
        "second": " ".join(f"{v:g}" for v in best.second), "event": best.score.words,
        "tp": int(a), "fp": int(b), "counted": rest, "lower": round(lower, 5),
        "two bounds": round(float(stats.epsilon_lower(a, b, rest, tail=ALPHA / 2)), 5),
        "DP-Sniper LR": made.published[0], "DP-Sniper MLP": made.published[1],
        "StatDP": made.published[2], "ratio": round(lower / theirs, 3), "at most": made.most,
        "draws": draws, "seed": seed, "learning seconds": round(tick - start, 1),
        "counting seconds": round(time.perf_counter() - tick, 1),
        "processor seconds": round(time.process_time() - work, 1),
    }  # fmt: skip
