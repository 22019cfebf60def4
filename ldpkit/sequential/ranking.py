"""Ranking of events by the wealth that they promise, from how often each input showed them."""

import math

import numpy as np

from ..jit import kernel
from ..types import Array
from .tallies import (  # fmt: skip
    ABOVE,
    BELOW,
    CATEGORY,
    IS,
    ONE,
    PRESENT,
    THERE,
    TYPE,
    ZERO,
    Paths,
    Values,
)

__all__ = ["MOST", "informative", "offer", "promise", "rank", "spread", "stake"]

MOST = 0.98
"""Largest stake, as a share of the stake with which one report could cost the whole wealth."""

RARE = 0.05
"""Largest share of the reports in which a rare category is seen."""


@kernel
def stake(p: float, q: float, grown: float, delta: float, others: float) -> float:
    """Return the best stake on an event of rate `p` with one input and `q` with some others.

    Let E = exp(epsilon). A bet with stake l multiplies the wealth by 1 + l if the event comes with
    the likelier input, and by 1 - E l/others if it comes with another one. Without delta, one
    report of each input adds p ln(1 + l) + others q ln(1 - E l/others) to its logarithm on average.
    `ldpkit.sequential.bets` has the proof. The maximum is at l = (p - E q)/(E (p/others + q)).
    With delta, delta is subtracted from p - E q. This is the maximum up to terms of order delta l.
    """
    if p - grown * q - delta <= 0:
        return 0.0
    return min((p - grown * q - delta) / (grown * (p / others + q)), MOST * others / grown)


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
    if best == 0.0:
        return 0.0
    won = p * math.log1p(best) + others * q * math.log1p(-grown * best / others)
    return reports * (won / inputs - math.log1p(best * delta / inputs))


@kernel
def spread(rates: Array, sizes: Array, d: int, weights: Array) -> float:
    """Set the weights of the inputs with which input d is compared; return how many these are.

    The weights are equal, for all inputs whose rate may be the smallest. `sizes` are the numbers of
    reports behind the rates.
    """
    k, least, size = rates.size, np.inf, 1.0
    for x in range(k):
        if x != d and rates[x] < least:
            least, size = rates[x], max(sizes[x], 1.0)
    edge, count = least, 0.0
    if k > 2:
        edge += math.sqrt((least + 1 / size) / size)
    for x in range(k):
        weights[x] = 1.0 if x != d and rates[x] <= edge else 0.0
        count += weights[x]
    for x in range(k):
        weights[x] /= count
    return count


@kernel
def offer(
    best: Array, kind: int, place: int, value: float, hits: Array, reports: Array, grown: float,
    delta: float, scratch: Array,
) -> int:  # fmt: skip
    """List an event in `best` if it promises enough; return 1 if it was seen twice.

    Two rows of `scratch` are overwritten.
    """
    k, every, total = hits.size, 0.0, 0.0
    for d in range(k):
        every, total = every + hits[d], total + reports[d]
    if every < 2:
        return 0
    rates, weights = scratch[0], scratch[1]
    for d in range(k):
        rates[d] = hits[d] / max(reports[d], 1)
    for d in range(k):
        if hits[d] < 2:
            continue
        others, q = spread(rates, reports, d, weights), 0.0
        for x in range(k):
            q += weights[x] * rates[x]
        score = promise(rates[d], q, total, grown, delta, others, k)
        for rare in range(2 if every < RARE * total else 1):
            listed = best[rare, d]
            i = listed.shape[0] - 1
            if score <= listed[i, 0]:
                continue
            while i > 0 and listed[i - 1, 0] < score:
                listed[i] = listed[i - 1]
                i -= 1
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
    looked, hits, under = 0, scratch[2], scratch[3]
    seen = paths.counts[slot, window]
    for i in range(64):
        if seen[:, i].any():
            hits[:] = seen[:, i]
            looked += offer(best, ONE, slot, i, hits, reports, grown, delta, scratch)
            hits[:] = seen[:, PRESENT] - seen[:, i]
            looked += offer(best, ZERO, slot, i, hits, reports, grown, delta, scratch)
    under[:] = 0
    for i in range(paths.cuts[slot]):
        under += seen[:, 64 + i]
        edge = paths.edges[slot, i]
        looked += offer(best, BELOW, slot, edge, under, reports, grown, delta, scratch)
        for d in range(hits.size):
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
    delta: float,
) -> tuple[int, int]:  # fmt: skip
    """List the best events of the past (window 0) or of the last block (1) in `best`.

    Return how many events were seen twice, and how many of them are rare categories.
    """
    looked, rare, total = 0, 0, reports.sum()
    scratch = np.zeros((4, reports.size))
    for slot in range(paths.used[0]):
        looked += _offer_slot(paths, slot, window, best, reports, grown, delta, scratch)
    hits = scratch[2]
    for place in range(table.keys.size):
        if table.keys[place] != 0:
            hits[:] = table.counts[place, window]
            twice = offer(best, CATEGORY, place, 0.0, hits, reports, grown, delta, scratch)
            looked += twice
            rare += twice if hits.sum() < RARE * total else 0
    return looked, rare


@kernel
def informative(paths: Paths, table: Values, reports: Array, best: Array, found: Array) -> None:
    """List the events that tell the inputs apart best, whatever epsilon is claimed.

    `found[0]` receives the best event of each path, and `found[1]` categories. `best` is
    overwritten.
    """
    scratch = np.zeros((4, reports.size))
    for of in range(2):
        for place in range(paths.used[0] if of == 0 else table.keys.size):
            if of == 1 and table.keys[place] == 0:
                continue
            best[:] = 0.0
            if of == 0:
                _offer_slot(paths, place, 0, best, reports, 1.0, 0.0, scratch)
            else:
                scratch[2] = table.counts[place, 0]
                offer(best, CATEGORY, place, 0.0, scratch[2], reports, 1.0, 0.0, scratch)
            row = best[0, np.argmax(best[0, :, 0, 0]), 0]
            i = found.shape[1] - 1
            if row[0] <= found[of, i, 0]:
                continue
            while i > 0 and found[of, i - 1, 0] < row[0]:
                found[of, i] = found[of, i - 1]
                i -= 1
            found[of, i] = row[:4]
