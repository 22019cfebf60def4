"""Stakes on events, and the kernel that bets them.

In each round a fair coin chooses one of k inputs, and the client makes a report of it. Question d
is about events that are likelier with input d than with the others. Before a strategy sees the
report, it chooses for each question a set of reports S_d, a stake l_d, and weights w_d of the other
inputs. The weights sum to 1. With E = exp(epsilon) the strategy multiplies its wealth by

    factor(x) = (1 + l_x [report in S_x] - E sum_d w_d(x) l_d [report in S_d]) / D

if the report is of input x, where D = 1 + (sum_d l_d) delta/k.

*Proof that the bet is fair.* No factor is negative, because the stakes are such that
E sum_d w_d(x) l_d stays below 1 for all x. Given everything before, let p_d(x) be the probability
of S_d with input x. The coin is fair, so that D times the conditional mean of the factor is

    1 + sum_d l_d (p_d(d) - E sum_x w_d(x) p_d(x)) / k.

The claim implies p_d(d) <= E p_d(x) + delta for all x. The mean is therefore at most
1 + (sum_d l_d) delta/k = D. The proof assumes nothing of other reports, nor that the sets are
disjoint.

Recordings have no coin, because a round takes one report of each input. The mean of the k factors
is fair however the reports depend on each other. Their product is fair if the reports of a round
are independent. The reason is that the product of k means is at most the k-th power of their
average.

Sets, stakes, weights and shares of the strategies depend on earlier blocks only; the stakes on
unions also depend on earlier rounds. Each wealth is therefore a supermartingale, and so is the sum.
By Ville's inequality the sum ever reaches 1/alpha with probability at most alpha.
"""

import math
from collections import namedtuple

import numpy as np

from ..jit import kernel
from ..types import Array

__all__ = ["MOST", "Stakes", "bounded", "place", "play", "promise", "spread", "stake"]

MOST = 0.98
"""Largest stake, as a share of the stake with which one report could cost the whole wealth."""


class Stakes(namedtuple("Stakes", "active raw placed weights hits seen shown")):
    """Stakes of several strategies, which adapt to the reports.

    `active` (strategies, k) marks the questions of each strategy. `raw` and `placed` (strategies,
    k, claims) are the stakes before and after `bounded`. `weights` (strategies, k, k) holds the
    weights of the inputs in each question. `hits` (strategies, k, k) counts how often each input
    showed the set of a question in `seen` reports. Strategies that start with positive hits adapt
    their stakes to them. `shown` has the shape of `hits` and counts for all strategies.
    """

    __slots__ = ()

    @classmethod
    def none(cls, strategies: int, k: int, claims: int) -> "Stakes":
        """Return stakes of strategies that do not bet."""
        raw, counts = np.zeros((strategies, k, claims)), np.zeros((strategies, k, k))
        active = np.zeros((strategies, k), bool)
        return cls(active, raw, raw.copy(), counts, counts.copy(), np.zeros(1), counts.copy())

    def copied(self) -> "Stakes":
        """Return stakes that change on their own."""
        return Stakes(*(part.copy() for part in self))


@kernel
def stake(p: float, q: float, grown: float, delta: float, others: float) -> float:
    """Return the best stake on an event of rate `p` with one input and `q` with some others.

    Let E = exp(epsilon). A bet with stake l multiplies the wealth by 1 + l if the event comes with
    the likelier input, and by 1 - E l/others if it comes with another one. Without delta, one
    report of each input adds p ln(1 + l) + others q ln(1 - E l/others) to its logarithm on average.
    The maximum is at l = (p - E q)/(E (p/others + q)). With delta, delta is subtracted from
    p - E q. This is the maximum up to terms of order delta l.
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
def place(
    rates: Array, sizes: Array, caution: float, d: int, grown: Array, low: int, delta: float,
    weights: Array, raw: Array,
) -> None:  # fmt: skip
    """Set the weights and the stakes of a question on one event.

    The event has these rates in so many reports. They are moved towards each other by `caution`
    standard errors. Stakes are set against the claims from number `low` on.
    """
    others, p, q = spread(rates, sizes, d, weights), 0.0, 0.0
    for x in range(rates.size):
        error = math.sqrt(max(rates[x] * (1 - rates[x]), 0.0) / max(sizes[x], 1.0))
        q += weights[x] * (rates[x] + caution * error)
        if x == d:
            p = rates[x] - caution * error
    for c in range(low, grown.size):
        new = stake(p, q, grown[c], delta, others)
        if new == 0.0 and raw[c] == 0.0:  # then also against all larger claims
            break
        raw[c] = new


@kernel
def bounded(stakes: Stakes, s: int, grown: Array, low: int) -> int:
    """Lower the stakes of strategy s until no report can cost the whole wealth.

    This is done against the claims from number `low` on. Return the number of the first claim
    against which no stake is left.
    """
    raw, placed, weights = stakes.raw[s], stakes.placed[s], stakes.weights[s]
    k = weights.shape[0]
    for c in range(low, grown.size):
        most, total, before = 0.0, 0.0, 0.0
        for x in range(k):
            load = 0.0
            for d in range(k):
                load += weights[d, x] * raw[d, c]
            most = max(most, load)
            total += raw[x, c]
            before += placed[x, c]
        if total == 0.0 and before == 0.0:
            return c
        scale = min(1.0, MOST / max(grown[c] * most, MOST))
        for d in range(k):
            placed[d, c] = scale * raw[d, c]
    return grown.size


@kernel
def play(
    flags: Array, sides: Array, size: int, product: bool, low: int, at: int, grown: Array,
    delta: float, stakes: Stakes, start: Array, won: Array, total: Array,
) -> None:  # fmt: skip
    """Multiply the wealth `won` (strategies, claims) by the factors of rounds.

    A round has `size` reports, whose factors are a `product` or averaged. Bets are made against the
    claims from number `low` on. `stakes` adapt to the reports. `total` receives the wealth against
    claim `at` after every round, for strategies whose wealth was `start`.
    """
    raw, placed, weights, hits = stakes.raw, stakes.placed, stakes.weights, stakes.hits
    k = flags.shape[1]
    now, each, rates, sizes = np.empty(grown.size), np.empty(grown.size), np.empty(k), np.empty(k)
    ends = np.full(won.shape[0], grown.size)
    for s in range(won.shape[0]):
        ends[s] = bounded(stakes, s, grown, low)
    for n in range(total.size):
        first, last, bits, total[n] = n * size, n * size + size, np.uint16(0), start[-1]
        for i in range(first, last):
            for d in range(k):
                bits |= flags[i, d]
        stakes.seen[0] += size
        for s in range(won.shape[0]):
            bit, changed, end = np.uint16(1 << s), False, ends[s]
            if end > low and (bits & bit != 0 or delta > 0):
                now[low:end] = 1.0 if product else 0.0
                for i in range(first, last):
                    x, each[low:end] = sides[i], 1.0
                    for d in range(k):
                        if flags[i, d] & bit != 0:
                            for c in range(low, end):
                                change = 1.0 if d == x else -grown[c] * weights[s, d, x]
                                each[c] += change * placed[s, d, c]
                    for c in range(low, end):
                        if delta > 0:
                            each[c] /= 1 + placed[s, :, c].sum() * delta / k
                        now[c] = now[c] * each[c] if product else now[c] + each[c] / size
                for c in range(low, end):
                    won[s, c] *= now[c]
            total[n] += start[s] * won[s, at]
            for i in range(first, last if bits & bit != 0 else first):
                for d in range(k):
                    if flags[i, d] & bit != 0:
                        stakes.shown[s, d, sides[i]] += 1
                        if hits[s, d, d] > 0:
                            hits[s, d, sides[i]] += 1
                            changed = True
            if changed:
                for d in range(k):
                    if stakes.active[s, d]:
                        rates[:] = k * hits[s, d] / stakes.seen[0]
                        sizes[:] = stakes.seen[0] / k
                        place(rates, sizes, 0.0, d, grown, low, delta, weights[s, d], raw[s, d])
                ends[s] = bounded(stakes, s, grown, low)
