"""Experts cut reports into cells, and stakes on these cells make a bet against a claim.

*Formula.* There are k inputs, and the claim is (epsilon, delta) with E = exp(epsilon). A fair coin
picks the input x of each report. An expert cuts all possible reports into disjoint cells b. A cell
has a stake l >= 0, an input i that it names, and m opponents J, to each of which w gives 1/m. With
numbers a whose sum over the inputs is 0, the factor of a report of input x in cell b is

    F(b, x) = (1 + a(x) + l ([x = i] - E w(x))) / D,
    D = 1 + (delta / k) (sum over i and j of the largest l w(j) of all cells that name i).

*Proof.* Let p_x(b) be the probability of cell b with input x, given everything before. The numbers
a add 0 to the mean of F, because the coin is fair. So D times this mean is 1 + 1/k times the sum
over cells of l (p_i(b) - E sum_j w(j) p_j(b)). The weights of a cell have the sum 1. So this is the
sum over i, j and cells that name i of l w(j) (p_i(b) - E p_j(b)). Replace each difference by
its positive part, and l w(j) by its largest value. The claim holds for the event that consists of
the cells whose difference is positive. Therefore the positive parts have a sum of at most delta,
and the mean of F is at most 1. No factor is negative, because every l is small enough.

Cells, stakes, opponents and a depend on earlier reports only. The product of the factors is then a
supermartingale, and so is every mixture of such products. By Ville's inequality it ever reaches
1/alpha with probability at most alpha. If a round has one report of each input, the mean of its k
factors is fair. Their product is fair if the reports are independent.
"""

import math

import numpy as np
from scipy.special import expit, xlogy

from ...jit import deferred
from ...types import Array
from .table import EDGE, VALUE

__all__ = [
    "CELLS",
    "EVENT",
    "GAPS",
    "SCORE",
    "cells_of",
    "faces",
    "gains",
    "placed",
    "smoothed",
    "stakes",
]

GAPS = np.array([0.0, 0.15, 0.35, 0.7, 1.2, 2.0, 3.5])
"""A scored report lies in a cell by how far its largest score is above its smallest one."""

EVENT, SCORE = range(2)
"""Ways to find the cell of a report, see `cells_of`."""

CELLS = 3
"""Cells of a single event: its parent does not show, it does not show, and it shows."""

CAUTION = 0.7  # standard errors by which counts are moved towards each other
MOST = 0.999  # of the stake with which one report could cost everything
DRIFTS = np.array([0.0, 0.05, 0.12, 0.25])  # sizes of a; 0 comes first
SMALLER, SIZES = 2.5, 4  # with delta > 0, so many stakes are tried, each smaller by this factor
PAIRS = 6  # with at most so many inputs, a cell is also of the input with the smallest score
SMOOTH = 2.0  # reports of each bin that the rate of all inputs together is taken for
BENDING, NEWTON = 0.3, 8  # penalty of slope and bend of a smooth ratio of counts, and steps
TINY = 1e-3  # keeps logarithms finite, and equations solvable
_SPREAD = 2.0  # a weight is halved if its column deviates by so much more than chance


def faces(inputs: int) -> int:
    """Return how many cells a scored report may lie in for each gap."""
    return inputs * (inputs - 1) if inputs <= PAIRS else inputs


@deferred
def _promise(
    n: Array, grown: float, delta: float, total: float, caution: float, ordered: bool, who: Array
) -> tuple[float, int]:
    """Return the growth in nats of the best bet on a cell with counts n, and its opponents' number.

    `who` receives the named input, then all others, those with the smallest counts first. If the
    claim is `ordered`, only input 0 may be named.
    """
    k, i = n.size, 0
    for x in range(k):
        if n[x] > n[i] and not ordered:
            i = x
    who[0] = i
    if n[i] <= 0:
        return 0.0, 0
    m = 0
    for x in range(k):
        if x != i:
            at = m
            while at > 0 and n[who[at]] > n[x]:
                who[at + 1] = who[at]
                at -= 1
            who[at + 1] = x
            m += 1
    best, many, w, step = 0.0, 0, 0.0, 1
    for m in range(1, k):
        w += n[who[m]]
        if m != step and m != k - 1:
            continue
        step *= 2
        both, g = n[i] + w, grown / m
        r = max(n[i] - caution * math.sqrt(n[i] * w / both + 0.25), 0.0)
        lost = both - r
        stake = min((r - lost * g) / (g * both), MOST / g)
        for _ in range(SIZES if delta > 0 else 1):
            if stake <= 0:
                break
            new = r * math.log1p(stake) + lost * math.log1p(-stake * g)
            if delta > 0:
                new -= total * math.log1p(stake * delta / k)
            if new > best:
                best, many = new, m
            stake /= SMALLER
    return best, many


@deferred
def gains(
    parents: Array, counts: Array, totals: Array, grown: Array, delta: Array, ordered: bool
) -> tuple[Array, Array]:
    """Return how much each token promises, and how much its absence beside its parent promises.

    Reports of all inputs count as if they were equally many.
    """
    n, k = counts.shape
    yes, no, who = np.zeros(n), np.zeros(n), np.empty(k + 1, np.int64)
    shown, rest, total = np.empty(k), np.empty(k), totals.sum()
    scale = np.empty(k)
    for x in range(k):
        scale[x] = total / (k * max(totals[x], 1.0))
    for s in range(n):
        p, some, others = parents[s], 0.0, 0.0
        for x in range(k):
            shown[x] = counts[s, x] * scale[x]
            up = counts[p, x] if p >= 0 else totals[x]
            rest[x] = max(up - counts[s, x], 0.0) * scale[x]
            some, others = some + shown[x], others + rest[x]
        for c in range(grown.size):
            if some > 0:
                found, _ = _promise(shown, grown[c], delta[c], total, CAUTION, ordered, who)
                yes[s] = max(yes[s], found)
            if others > 0:
                found, _ = _promise(rest, grown[c], delta[c], total, CAUTION, ordered, who)
                no[s] = max(no[s], found)
    return yes, no


@deferred
def stakes(
    hist: Array, grown: Array, delta: Array, caution: float, ordered: bool, out: Array
) -> None:
    """Set the logarithms of the factors (cells, k, lines) of an expert with counts `hist`."""
    cells, k = hist.shape
    n, who, many = np.zeros((cells, k)), np.zeros((cells, k + 1), np.int64), np.zeros(cells)
    r, lost, tried = np.zeros(cells), np.zeros(cells), np.zeros(cells)
    most, lean, gain, total = np.zeros((k, k)), np.zeros(k), np.zeros(k), 0.0
    for b in range(cells):
        for x in range(k):
            total += hist[b, x]
            for c in range(grown.size):
                out[b, x, c] = 0.0
    for x in range(k):  # as if the inputs had equally many reports
        own = 0.0
        for b in range(cells):
            own += hist[b, x]
        for b in range(cells):
            n[b, x] = hist[b, x] * total / (k * own) if own > 0 else 0.0
    for c in range(grown.size):
        some = False
        for x in range(k):
            lean[x] = 0.0
        for b in range(cells):
            _, m = _promise(n[b], grown[c], 0.0, total, caution, ordered, who[b])
            many[b], some = m, some or m > 0
            if m > 0:
                i, w = who[b, 0], 0.0
                for j in range(1, m + 1):
                    w += n[b, who[b, j]]
                both, g = n[b, i] + w, grown[c] / m
                r[b] = max(n[b, i] - caution * math.sqrt(n[b, i] * w / both + 0.25), 0.0)
                lost[b] = both - r[b]
                stake = min((r[b] - lost[b] * g) / (g * both), MOST / g)
                lean[i] += stake * both
                for j in range(1, m + 1):
                    lean[who[b, j]] -= stake * both / m
        if not some:
            continue
        largest = 1e-300
        for x in range(k):
            largest = max(largest, abs(lean[x]))
        best = 0.0
        for trial in range(SIZES * DRIFTS.size if delta[c] > 0 else DRIFTS.size):
            h, won, sums = DRIFTS[trial % DRIFTS.size], 0.0, 0.0
            small = SMALLER ** -(trial // DRIFTS.size)
            for i in range(k):
                gain[i] = 0.0
                for j in range(k):
                    most[i, j] = 0.0
            for b in range(cells):
                m, i = int(many[b]), who[b, 0]
                tried[b] = 0.0
                if m > 0:
                    mean, least, g = 0.0, 1.0, grown[c] / m
                    for j in range(1, m + 1):
                        a = 1 - h * lean[who[b, j]] / largest
                        mean, least = mean + a / m, min(least, a)
                    own = 1 - h * lean[i] / largest
                    stake = (r[b] * mean - lost[b] * g * own) / (g * (r[b] + lost[b]))
                    tried[b] = stake = max(min(stake, small * MOST * least / g), 0.0)
                    gain[i] += r[b] * math.log1p(stake)
                    gain[i] += lost[b] * math.log1p(-min(stake * g, MOST))
                    for j in range(1, m + 1):
                        most[i, who[b, j]] = max(most[i, who[b, j]], stake / m)
            for i in range(k):  # stakes on an input that delta makes too dear win nothing
                cost = 0.0
                for j in range(k):
                    cost += most[i, j]
                if gain[i] > total * math.log1p(cost * delta[c] / k):
                    sums += cost
                else:
                    gain[i] = -1.0
            for b in range(cells):
                m, i, w = int(many[b]), who[b, 0], 0.0
                g = grown[c] / max(m, 1)
                if gain[i] < 0:
                    tried[b] = 0.0
                for j in range(1, m + 1):
                    w += n[b, who[b, j]]
                for at in range(k):
                    x = who[b, at] if m > 0 else at
                    a, weight = 1 - h * lean[x] / largest, n[b, x]
                    if tried[b] > 0 and at == 0:
                        a, weight = a + tried[b], r[b]
                    elif tried[b] > 0 and at <= m:
                        a -= tried[b] * g
                        weight = lost[b] * (n[b, x] / w if w > 0 else 1.0 / m)
                    if weight > 0 and a != 1:
                        won += weight * math.log(a)
            divisor = math.log1p(sums * delta[c] / k)
            won -= total * divisor
            if won > best:
                best = won
                for b in range(cells):
                    m, stake = int(many[b]), tried[b]
                    for at in range(k):
                        x = who[b, at] if m > 0 else at
                        a = 1 - h * lean[x] / largest
                        if stake > 0 and at <= m:
                            a += stake if at == 0 else -stake * grown[c] / m
                        out[b, x, c] = math.log(a) - divisor


@deferred
def cells_of(
    rows: Array, ends: Array, places: Array, weights: Array, bias: Array, ways: Array,
    gaps: Array, out: Array,
) -> None:  # fmt: skip
    """Set the cell of each report for each expert, by the weights of its tokens.

    A token has the weights ``weights[places[row]]``. For `EVENT` the cell is the sum of the
    weights. For `SCORE` each input has a score, the sum of its weights. The cell says which
    input has the largest one, and by how much.
    """
    n, (_, experts, k) = ends.size - 1, weights.shape
    z, many = np.zeros((experts, k), np.float32), gaps.size
    for report in range(n):
        for e in range(experts):
            for x in range(k):
                z[e, x] = bias[e, x]
        for a in range(ends[report], ends[report + 1]):
            c = places[rows[a]]
            if c > 0:
                for e in range(experts):
                    for x in range(k):
                        z[e, x] += weights[c, e, x]
        for e in range(experts):
            if ways[e] != SCORE:
                out[report, e] = np.int64(z[e, 0])
                continue
            high, low = 0, 0
            for x in range(1, k):
                high = x if z[e, x] > z[e, high] else high
                low = x if z[e, x] < z[e, low] else low
            gap, b = z[e, high] - z[e, low], 0
            while b + 1 < many and gap > gaps[b + 1]:
                b += 1
            face = high
            if k <= PAIRS:
                face = high * (k - 1) + (low - (low > high)) if low != high else 0
            out[report, e] = face * many + b


@deferred
def placed(
    order: Array, kinds: Array, parents: Array, counts: Array, least: float,
    weights: Array,
) -> float:  # fmt: skip
    """Add the weights of places, as naive Bayes gives them; return the largest deviation.

    A place is weighed by the intervals of its number, by its values, or by one other token. Those
    are taken that deviate most from what all inputs have in common. Tokens come in the `order`
    of their places, and those of one place by type and by threshold. `least` is the smallest
    deviation beyond that by chance.
    """
    n, k, most, a = order.size, counts.shape[1], 0.0, 0
    bins, pooled = np.empty(k), np.empty(k)
    while a < n:
        b = a
        while b < n and parents[order[b]] == parents[order[a]]:
            b += 1
        best, first, last = least, 0, 0
        c = a
        while c < b:  # runs: all values, all thresholds, or one other token
            kind, d = kinds[order[c]], c + 1
            while d < b and kinds[order[d]] == kind and kind in (VALUE, EDGE):
                d += 1
            up, z, dof = parents[order[c]], 0.0, (d - c) * (k - 1)
            every = counts[up].sum()
            for i in range(c, d + 1):
                for x in range(k):
                    if kind == VALUE:
                        inside = counts[order[i], x] if i < d else counts[up, x]
                        if i == d:
                            for j in range(c, d):
                                inside -= counts[order[j], x]
                    else:
                        inside = counts[up, x] if i == c else counts[order[i - 1], x]
                        inside -= counts[order[i], x] if i < d else 0
                    bins[x] = max(inside, 0.0)
                rate = bins.sum() / max(every, 1.0)
                for x in range(k):
                    wanted = rate * counts[up, x]
                    if wanted > 0:
                        z += (bins[x] - wanted) ** 2 / wanted
            z -= 2 * dof  # as Akaike's criterion
            if z > best:
                best, first, last = z, c, d
            c = d
        if last > first:
            most = max(most, best)
            kind, up = kinds[order[first]], parents[order[first]]
            every, shrink = counts[up].sum(), best / (best + _SPREAD)
            pooled[:] = 0.0
            for i in range(first, last + 1):
                at = first + last - i if kind == VALUE else i  # the rest of the values comes first
                mean = 0.0
                for x in range(k):
                    if kind == VALUE:
                        inside = counts[order[at], x] if at < last else counts[up, x]
                        if at == last:
                            for j in range(first, last):
                                inside -= counts[order[j], x]
                    else:
                        inside = counts[up, x] if i == first else counts[order[i - 1], x]
                        inside -= counts[order[i], x] if i < last else 0
                    bins[x] = max(inside, 0.0)
                rate = bins.sum() / max(every, 1.0)
                for x in range(k):
                    wanted = rate * counts[up, x]
                    bins[x] = math.log((bins[x] + SMOOTH) / (wanted + SMOOTH)) * shrink
                    mean += bins[x] / k
                row = up if i == first else order[at] if kind == VALUE else order[i - 1]
                for x in range(k):
                    new = bins[x] - mean
                    weights[row, x] += new if i == first else new - pooled[x]
                    if kind != VALUE or i == first:
                        pooled[x] = new
        a = b
    return most


def smoothed(bins: Array) -> tuple[Array, Array]:
    """Return counts in neighbouring bins whose ratios change smoothly, and what that gains in nats.

    The logarithm of the odds of each input is a quadratic function of the bin's place, as logistic
    regression gives it.

    Parameters
    ----------
    bins : float array (numbers, bins, inputs)
        Each input has reports with each number.

    Returns
    -------
    counts : float array (numbers, bins, inputs)
    gains : float array (numbers,)
    """
    n, totals = bins.sum(axis=2), bins.sum(axis=1)
    whole = n.sum(axis=1, keepdims=True)
    place = (2 * np.cumsum(n, axis=1) - n) / whole - 1
    x, penalty = np.stack([place**0, place, place**2], axis=1), np.array([0.0, BENDING, BENDING])
    out = np.empty_like(bins)
    for i in range(bins.shape[2]):
        w = np.zeros((len(bins), 3))
        w[:, 0] = np.log(totals[:, i] / (whole[:, 0] - totals[:, i]))
        for _ in range(NEWTON):
            rate = expit(np.einsum("nd,ndb->nb", w, x))
            curved = np.einsum("ndb,nb,neb->nde", x, n * rate * (1 - rate), x)
            slope = np.einsum("ndb,nb->nd", x, bins[:, :, i] - n * rate) - penalty * w
            w += np.linalg.solve(curved + np.diag(penalty + TINY), slope[:, :, None])[:, :, 0]
        out[:, :, i] = n * expit(np.einsum("nd,ndb->nb", w, x))
    even = n[:, :, None] * (totals / whole)[:, None]
    return out, xlogy(bins, (out + TINY) / (even + TINY)).sum(axis=(1, 2))
