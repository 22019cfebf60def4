"""The strongest test between two values: the extreme event of the likelihood ratio.

For a pure protocol the reports that are ``e^eps`` times likelier under one
value than under another form one simple event. Testing for it is the
Neyman-Pearson test at the extreme point of the trade-off curve, so the
population value of ``ln(tpr / fpr)`` is the whole epsilon, which the guess of
`distinguish` usually misses by a wide margin. The event looks at two
coordinates of the report only and is fixed before any data are seen.
"""

import functools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
import scipy

from .. import checks
from ..mechanisms import Chained, FrequencyOracle, Mechanism
from ..mechanisms.base import lawful, oracle
from ..mechanisms.hashing import hash_cell
from ..stats import epsilon_lower, expected_epsilon
from ..types import Array, Numbers, Pair, Rates, Reports, Rng
from .base import audited_pair, known, read

__all__ = ["TwoValueTest"]

# Which fields a mechanism has follows from its `report`, which no type says: where they are read it is `Any`.


@numba.njit(cache=True, nogil=True)
def _hits(seeds: Array, cells: Array, value: int, g: int) -> Array:
    out = np.empty(cells.size, np.bool_)
    for i in range(cells.size):
        out[i] = hash_cell(value, seeds[i], g) == cells[i]
    return out


@dataclass(frozen=True)
class TwoValueTest:
    """Accept if the report supports the first value of the pair and not the second.

    For a single reported value this is equality; for Laplace vectors, a first
    coordinate of at least 1 and a second of at most 0. For bits, hashes and
    subsets the event is "first supported, second not". Where the likelihood
    ratio takes many values, the event is "ratio above a threshold":

    - Gaussian vectors: ``(y1 - y2) / (sqrt(2) sigma)``, over all rounds together;
    - several rounds: the event counted per round, minus its mirror image;
    - several attributes: the likelihood ratio of the whole tuple.

    Parameters
    ----------
    threshold : float, optional
        Where one is needed; `declare` chooses it before any data are seen.

    Notes
    -----
    THE is tested on the bits that are sent. They satisfy a smaller epsilon than
    the noisy vector, so the test stays below the claim there.
    """

    threshold: float | None = None
    name = "tight"

    def __post_init__(self) -> None:
        if self.threshold is not None:
            checks.real("threshold", self.threshold)

    def declare(self, mechanism: Mechanism, trials: int, tail: float) -> "TwoValueTest":
        """Return the test with its threshold fixed: the one with the best statistic to expect from the law.

        Parameters
        ----------
        mechanism : FrequencyOracle
        trials : int
            Reports per input that will be made.
        tail : float
            Tail mass of each bound, see `ldpkit.stats.tail_mass`.
        """
        known(self, mechanism)
        if self.threshold is not None or not isinstance(mechanism, FrequencyOracle):
            return self
        threshold = _best_threshold(mechanism, trials, tail)
        return self if threshold is None else TwoValueTest(threshold)

    def accepts(self, mechanism: Any, reports: Reports, pair: Pair, rng: Rng | None = None) -> Array:
        """Whether each report lies in the event; bool array (n,)."""
        reports = read(mechanism, reports)
        self._ready(mechanism)
        return self._accepts(mechanism, reports, audited_pair(mechanism, pair))

    def _accepts(self, mechanism: Any, reports: Reports, pair: Pair) -> Array:
        first, second = pair
        if mechanism.report == "rounds":
            if mechanism.memoise:
                return self._accepts(mechanism.inner, reports[0], pair)
            return self._score(mechanism, reports, pair) >= self.threshold
        if mechanism.report == "value":
            return reports == first
        if mechanism.report == "bits":
            return (reports[:, first] != 0) & (reports[:, second] == 0)
        if mechanism.report == "subset":
            return (reports == first).any(axis=1) & ~(reports == second).any(axis=1)
        if mechanism.report == "hash":
            one, two = (_hits(reports["seed"], reports["cell"], v, mechanism.g) for v in pair)
            return one & ~two
        if mechanism.report == "tuple":
            symbols = np.stack([_symbols(mechanism, r, pair) for r in reports])
            return _ratio(mechanism, [(symbols == s).sum(axis=0) for s in range(4)]) >= self.threshold
        if mechanism.report == "buckets":
            one, two = (reports[:, v // mechanism.size] for v in pair)
            return (one == 1) & (two != 1)
        if mechanism.noise == "gaussian":
            return (reports[:, first] - reports[:, second]) / (math.sqrt(2) * mechanism.scale) >= self.threshold
        return (reports[:, first] >= 1) & (reports[:, second] <= 0)

    def _ready(self, mechanism: Any) -> None:
        """Refuse a kind of report that it does not know, or to decide by a threshold that nobody has set."""
        known(self, mechanism)
        m = mechanism.inner if mechanism.report == "rounds" and mechanism.memoise else mechanism
        if m.report in ("rounds", "tuple") or getattr(m, "noise", None) == "gaussian":
            checks.real("threshold", self.threshold)

    def _score(self, mechanism: Any, rounds: Sequence[Array], pair: Pair) -> Numbers:
        """Statistic of several rounds that is compared with the threshold."""
        base = mechanism.inner
        if base.report == "vector" and base.noise == "gaussian":
            total = sum(r[:, pair[0]] - r[:, pair[1]] for r in rounds)
            return total / (math.sqrt(2 * mechanism.tau) * base.scale)
        one = TwoValueTest()
        return sum(one._accepts(base, r, pair).astype(int) - one._accepts(base, r, pair[::-1]) for r in rounds)

    def rates(self, mechanism: Mechanism) -> Rates | None:
        """Exact ``(tpr, fpr)``; ``None`` for a client whose law is unknown."""
        checks.instance("mechanism", mechanism, Mechanism, "a mechanism")
        known(self, mechanism)
        if not lawful(mechanism):
            return None
        self._ready(mechanism)
        return _rates(mechanism, self.threshold)

    def sample(self, mechanism: Any, trials: int, truth: bool, rng: Rng) -> int:
        """Number of reports in the event among `trials`, drawn from its two coordinates; see `Guess.sample`."""
        checks.generator(rng)
        trials, m = checks.integer("trials", trials, 0), oracle(mechanism)
        self._ready(m)
        if m.report == "vector":
            if m.noise == "gaussian":
                shift = (1 if truth else -1) / (math.sqrt(2) * m.scale)
                return int(np.count_nonzero(rng.standard_normal(trials) + shift >= self.threshold))
            one, two = (s / m.scale + rng.laplace(size=trials) for s in (truth, not truth))
            return int(np.count_nonzero((one >= 1 / m.scale) & (two <= 0)))
        if m.report == "rounds":
            return self._sample_rounds(m, trials, truth, rng)
        if m.report == "tuple":
            return self._sample_tuple(m, trials, truth, rng)
        first = rng.random(trials)
        if m.report == "value":
            return int(np.count_nonzero(first < (m.p if truth else m.q)))
        second = rng.random(trials)
        if m.report == "subset":
            true = first < m.p
            rest = second * (m.k - 1) < m.omega - true  # is one given other value a member
            return int(np.count_nonzero(true & ~rest if truth else rest & ~true))
        own, other = (m.p, m.q) if truth else (m.q, m.p)
        if m.report == "buckets":
            one = rng.random(trials) * m.buckets < m.bits
            two = rng.random(trials) * (m.buckets - 1) < m.bits - one
            return int(np.count_nonzero(one & (first < own) & ~(two & (second < other))))
        return int(np.count_nonzero((first < own) & (second >= other)))

    def _sample_rounds(self, m: Any, trials: int, truth: bool, rng: Rng) -> int:
        base = m.inner
        if m.memoise:
            return self.sample(base, trials, truth, rng)
        if base.report == "vector" and base.noise == "gaussian":
            shift = (1 if truth else -1) * math.sqrt(m.tau / 2) / base.scale
            return int(np.count_nonzero(rng.standard_normal(trials) + shift >= self.threshold))
        weight, up, down = np.array(_states(m)).T
        if not truth:
            up, down = down, up
        state = rng.choice(len(weight), size=trials, p=weight) if len(weight) > 1 else np.zeros(trials, int)
        ups = rng.binomial(m.tau, up[state])
        downs = rng.binomial(m.tau - ups, np.minimum(1.0, down / (1 - up))[state])  # the quotient may round up
        return int(np.count_nonzero(ups - downs >= self.threshold))

    def _sample_tuple(self, m: Any, trials: int, truth: bool, rng: Rng) -> int:
        (base, _), (fakes, mass), hits = _symbol_laws(m), _fakes(m, m.d - 1), 0
        for symbol, users in enumerate(rng.multinomial(trials, base[0] if truth else base[1])):
            tuples = rng.multinomial(users, mass / mass.sum())  # how many users have these fakes beside their own symbol
            seen = np.flatnonzero(tuples)
            hits += tuples[seen][_ratio(m, (fakes[seen] + np.eye(4, dtype=int)[symbol]).T) >= self.threshold].sum()
        return int(hits)


def _rates(m: Any, threshold: Any) -> Rates:
    """Exact rates of the event at a threshold; see `TwoValueTest` for the events."""
    if m.report == "vector" and m.noise == "gaussian":
        shift = 1 / (math.sqrt(2) * m.scale)
        return float(scipy.special.ndtr(shift - threshold)), float(scipy.special.ndtr(-shift - threshold))
    if m.report == "vector":
        return 0.25, math.exp(-2 / m.scale) / 4
    if m.report == "rounds":
        base = m.inner
        if m.memoise:
            return _rates(base, threshold)
        if base.report == "vector" and base.noise == "gaussian":
            shift = math.sqrt(m.tau / 2) / base.scale
            return float(scipy.special.ndtr(shift - threshold)), float(scipy.special.ndtr(-shift - threshold))
        law = _difference_law(m)
        at = int(threshold) + m.tau
        return min(1.0, float(law[at:].sum())), min(1.0, float(law[::-1][at:].sum()))  # sums may round up
    if m.report == "tuple":
        ratio, one, two = _tuple_law(m)
        inside = ratio >= threshold
        return min(1.0, float(one[inside].sum())), min(1.0, float(two[inside].sum()))
    k, p, q = m.k, m.p, m.q
    if m.report == "value":
        return p, q
    if m.report == "subset":
        first = p * (k - m.omega) / (k - 1)
        return first, first * math.exp(-m.epsilon)  # (1 - p) omega / (k - 1), had 1 - p its digits
    if m.report == "buckets":
        share, both = m.bits / m.buckets, m.bits * (m.bits - 1) / (m.buckets * (m.buckets - 1))
        return share * p - both * p * q, share * q - both * p * q
    # bits; and hashes, where another value shares the reported cell with probability q = 1/g
    return p * (1 - q), q * (1 - p)


def _thresholds(m: Any) -> Array | None:
    """Candidates for the threshold, or ``None`` if the event needs none."""
    if m.report == "tuple":
        if len(set(m.sizes)) > 1:
            raise ValueError(f"the tight test of {m.name} needs equal domain sizes, got k = {m.k}")
        return np.unique(_tuple_law(m)[0])
    if m.report == "rounds" and m.memoise:
        return _thresholds(m.inner)
    base = m.inner if m.report == "rounds" else m
    if base.report == "vector" and base.noise == "gaussian":
        return np.arange(0, 6.01, 0.05)
    return np.arange(0, m.tau + 1) if m.report == "rounds" else None


@functools.lru_cache(maxsize=256)
def _best_threshold(m: Any, trials: int, tail: float) -> float | None:
    """Threshold with the largest expected statistic; a quick estimate picks those worth the exact sum."""
    grid = _thresholds(m)
    if grid is None:
        return None
    rates = np.array([_rates(m, t) for t in grid])
    counts = np.rint(trials * rates).astype(np.int64)
    quick = epsilon_lower(counts[:, 0], counts[:, 1], trials, m.published_delta, tail=tail)
    near = np.argsort(-quick, kind="stable")[:16]
    exact = [expected_epsilon(tpr, fpr, trials, m.published_delta, tail=tail)[0] for tpr, fpr in rates[near]]
    return float(grid[near[int(np.argmax(exact))]])


def _states(m: Any) -> list[tuple[float, float, float]]:
    """States of the permanent round, if any, and in each the chances per round of the event and its mirror image."""
    if not isinstance(m, Chained):
        return [(1.0, *_rates(m.inner, None))]
    keep, flip = m.second
    p, q = m.permanent.p, m.permanent.q
    if m.protocol == "GRR":  # the permanent value is the first of the pair, the second, or a third
        return [(p, keep, flip), (q, flip, keep), (max(0.0, 1 - p - q), flip, flip)]
    rate = {1: keep, 0: flip}
    return [(pa * pb, rate[a] * (1 - rate[b]), rate[b] * (1 - rate[a]))
            for a, pa in ((1, p), (0, 1 - p)) for b, pb in ((1, q), (0, 1 - q))]  # fmt: skip


@functools.lru_cache(maxsize=64)
def _difference_law(m: Any) -> Array:
    """Law of (events - mirror images) over all rounds under the first input, on -tau..tau."""
    total = np.zeros(2 * m.tau + 1)
    for weight, up, down in _states(m):
        power, step, rounds = np.ones(1), np.array([down, 1 - up - down, up]), m.tau
        while rounds:  # all terms are positive: no digits are lost
            if rounds & 1:
                power = np.convolve(power, step)
            step, rounds = np.convolve(step, step), rounds >> 1
        total += weight * power
    return total


def _symbol_laws(m: Any) -> tuple[Array, Array]:
    """Laws of what one component says about the pair: under either value if sampled, and if fake.

    Symbols: 0 the first only, 1 the second only, 2 both, 3 neither.
    """
    base = m.attribute(0)
    p, q, k = base.p, base.q, m.smallest
    if m.base == "GRR":
        one, fake = np.array([p, q, 0, max(0.0, 1 - p - q)]), np.array([1 / k, 1 / k, 0, 1 - 2 / k])
    else:
        one = np.array([p * (1 - q), q * (1 - p), p * q, (1 - p) * (1 - q)])
        none = np.array([q * (1 - q), q * (1 - q), q * q, (1 - q) ** 2])
        hot = (one + one[[1, 0, 2, 3]]) / k + (1 - 2 / k) * none
        fake = none if m.base.endswith("z") else hot
    return np.array([one, one[[1, 0, 2, 3]]]), fake


def _ratio(m: Any, counts: Iterable[Array]) -> Array:
    """Likelihood ratio of tuples with so many components of each symbol."""
    base, fake = _symbol_laws(m)
    weight = np.divide(base, fake, out=np.zeros_like(base), where=fake > 0)
    one, two = (sum(n * w for n, w in zip(counts, side)) for side in weight)
    return np.round(one / two, 12)  # equal ratios must compare equal, however they were summed


def _symbols(m: Any, component: Array, pair: Pair) -> Array:
    """Symbol of each user's report on one attribute."""
    one, two = ((component == v) if m.base == "GRR" else (component[:, v] != 0) for v in pair)
    return np.where(one & two, 2, np.where(one, 0, np.where(two, 1, 3)))


@functools.lru_cache(maxsize=64)
def _fakes(m: Any, n: int) -> tuple[Array, Array]:
    """How many of n fake components can show each symbol, and the multinomial probability of every such count."""
    law = _symbol_laws(m)[1]
    counts = np.array([(a, b, c, n - a - b - c) for a in range(n + 1) for b in range(n + 1 - a)
                       for c in range(n + 1 - a - b)])  # fmt: skip
    counts = counts[((law > 0) | (counts == 0)).all(axis=1)]
    ways = scipy.special.gammaln(n + 1) - scipy.special.gammaln(counts + 1).sum(axis=1)
    return counts, np.exp(ways + counts @ np.log(law, out=np.zeros(4), where=law > 0))


@functools.lru_cache(maxsize=64)
def _tuple_law(m: Any) -> tuple[Array, Array, Array]:
    """Ratios of all symbol counts, and their probabilities under either input."""
    base, fake = _symbol_laws(m)
    counts, mass = _fakes(m, m.d)
    weight = np.divide(base, fake, out=np.zeros_like(base), where=fake > 0)
    one, two = (mass * (counts @ side) / m.d for side in weight)
    return _ratio(m, counts.T), one, two
