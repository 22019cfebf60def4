"""The paper's distinguishability attack: name one value that the report supports.

The guess is a uniform element of the report's support set, or a uniform value
if the set is empty; for a noisy vector it is a uniform element among the most
likely values. Ties are always broken at random: a rule such as "the first
index" favours one input and changes the audit.

Sources: LDP-Auditor, section 4.2 and Algorithm 1; Arcolezi et al. (2023).
"""

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numba
import numpy as np
import numpy.typing as npt

from .. import checks, streams
from ..mechanisms import Chained, Mechanism
from ..mechanisms.base import lawful, oracle
from ..mechanisms.hashing import hash_cell
from ..stats import binomial_window
from ..types import Array, Pair, Rates, Reports, Rng
from . import laws, samplers
from .base import audited_pair, known, read

__all__ = ["Guess", "success_rate"]

# Which fields a mechanism has follows from its `report`, which no type says: where they are read it is `Any`.


# --- the guess on real reports -------------------------------------------------------------------


@numba.njit(cache=True, nogil=True)
def _guess_bits(bits: Array, rng: Rng) -> Array:
    n, k = bits.shape
    guess, ones = np.empty(n, np.int64), np.empty(k + 1, np.int64)
    for i in range(n):
        count = 0
        for u in range(k):  # every index is written, only ones advance: no branch
            ones[count] = u
            count += bits[i, u] != 0
        guess[i] = ones[int(rng.random() * count)] if count else int(rng.random() * k)
    return guess


@numba.njit(cache=True, nogil=True)
def _guess_subset(subsets: Array, k: int, rng: Rng) -> Array:
    n, width = subsets.shape
    guess = np.empty(n, np.int64)
    for i in range(n):
        count = width  # clients may fill up with -1
        while count > 0 and subsets[i, count - 1] < 0:
            count -= 1
        guess[i] = subsets[i, int(rng.random() * count)] if count else int(rng.random() * k)
    return guess


@numba.njit(cache=True, nogil=True)
def _guess_hash(seeds: Array, cells: Array, k: int, g: int, rng: Rng) -> Array:
    n = cells.size
    guess, hits = np.empty(n, np.int64), np.empty(k + 1, np.int64)
    for i in range(n):
        count = 0
        for u in range(k):
            hits[count] = u
            count += hash_cell(u, seeds[i], g) == cells[i]
        guess[i] = hits[int(rng.random() * count)] if count else int(rng.random() * k)
    return guess


@numba.njit(cache=True, nogil=True)
def _guess_vector(vectors: Array, low: float, high: float, rng: Rng) -> Array:
    n, k = vectors.shape
    guess, best = np.empty(n, np.int64), np.empty(k + 1, np.int64)
    for i in range(n):
        top, count = -np.inf, 0
        for u in range(k):
            score = min(max(vectors[i, u], low), high)
            if score > top:
                top, count = score, 0
            best[count] = u
            count += score == top
        guess[i] = best[int(rng.random() * count)]
    return guess


@numba.njit(cache=True, nogil=True)
def _tally_hash(tally: Array, seeds: Array, cells: Array, g: int) -> None:
    n, k = tally.shape
    for i in range(n):
        for u in range(k):
            tally[i, u] += hash_cell(u, seeds[i], g) == cells[i]


def _tally(mechanism: Any, rounds: Sequence[Array]) -> Array:
    """How much all rounds of each user support each value, float array (n, k)."""
    tally = np.zeros((len(rounds[0]), mechanism.k))
    users = np.arange(len(tally))
    for reports in rounds:
        if mechanism.report == "value":
            tally[users, reports] += 1
        elif mechanism.report == "subset":
            np.add.at(tally, (users[:, None], reports), 1)
        elif mechanism.report == "hash":
            _tally_hash(tally, reports["seed"], reports["cell"], mechanism.g)
        else:
            tally += reports
    return tally


def _guess_buckets(mechanism: Any, reports: Array, rng: Rng) -> Array:
    """A uniform sampled bucket with a one, or any bucket if there is none; then a uniform value inside."""
    bucket = _guess_bits((reports == 1).astype(np.uint8), rng)
    return bucket * mechanism.size + rng.integers(0, mechanism.size, len(bucket))


@dataclass(frozen=True)
class Guess:
    """Name a value that the report supports; accept if it is the first of the pair.

    Of several rounds, the value that most of them support is named (for noisy
    vectors, the largest sum); of several attributes, one is picked at random.

    Notes
    -----
    All values are treated alike, so with ``A`` the probability that the guess is
    the true value the false-positive rate is ``(1 - A) / (k - 1)``.
    Sources: LDP-Auditor, Algorithms 1, 2 and 4.
    """

    name = "guess"

    def declare(self, mechanism: Mechanism, trials: int, tail: float) -> Self:
        """Return the attack as it will be used; there is nothing to choose."""
        known(self, mechanism)
        return self

    def predict(self, mechanism: Any, reports: Reports, rng: Rng) -> Array:
        """Guess the value behind each report.

        Parameters
        ----------
        mechanism : Mechanism
            Whose `report` kind says how to read the reports.
        reports : array or list of arrays
            As returned by ``mechanism.perturb``.
        rng : numpy.random.Generator
            Breaks ties.

        Returns
        -------
        int array, shape (n,)
        """
        checks.generator(rng)
        known(self, mechanism)
        return self._predict(mechanism, read(mechanism, reports), rng)

    def _predict(self, mechanism: Any, reports: Reports, rng: Rng) -> Array:
        if mechanism.report == "value":
            return reports
        if mechanism.report == "bits":
            return _guess_bits(reports, rng)
        if mechanism.report == "subset":
            return _guess_subset(reports, mechanism.k, rng)
        if mechanism.report == "hash":
            return _guess_hash(reports["seed"], reports["cell"], mechanism.k, mechanism.g, rng)
        if mechanism.report == "buckets":
            return _guess_buckets(mechanism, reports, rng)
        if mechanism.report == "rounds":
            if mechanism.memoise:
                return self._predict(mechanism.inner, reports[0], rng)
            return _guess_vector(_tally(mechanism.inner, reports), -np.inf, np.inf, rng)
        if mechanism.report == "tuple":
            guesses = [self._predict(mechanism.attribute(j), r, rng) for j, r in enumerate(reports)]
            return np.choose(rng.integers(0, mechanism.d, len(guesses[0])), guesses)
        # a Laplace likelihood is flat outside [0, 1]; a Gaussian one is not
        low, high = (0.0, 1.0) if mechanism.noise == "laplace" else (-np.inf, np.inf)
        return _guess_vector(reports, low, high, rng)

    def accepts(self, mechanism: Mechanism, reports: Reports, pair: Pair, rng: Rng) -> Array:
        """Whether each guess is the first value of `pair`; bool array (n,)."""
        return self.predict(mechanism, reports, rng) == audited_pair(mechanism, pair)[0]

    def success(self, mechanism: Any) -> float | None:
        """Exact probability that the guess is the true value (attacker success rate); ``None`` if unknown."""
        known(self, m := oracle(mechanism))
        if m.report == "value":
            return m.p
        if m.report == "subset":
            return m.p / m.omega
        if m.report == "vector":
            return {"laplace": laws.laplace_success, "gaussian": laws.gaussian_success}[m.noise](m.scale, m.k)
        if m.report == "buckets":
            share = m.bits / m.buckets
            inside = share * m.p * laws.mean_reciprocal(m.bits - 1, m.q)
            empty = share * (1 - m.p) * (1 - m.q) ** (m.bits - 1) + (1 - share) * (1 - m.q) ** m.bits
            return (inside + empty / m.buckets) / m.size
        if m.report == "rounds":
            return _rounds_success(self, m)
        return float(laws.support_success(m.p, m.q, m.k))

    def rates(self, mechanism: Mechanism) -> Rates | None:
        """Exact ``(tpr, fpr)``; ``None`` where no law is known (a client; subsets of size > 1 in several rounds)."""
        checks.instance("mechanism", mechanism, Mechanism, "a mechanism")
        known(self, mechanism)
        if not lawful(mechanism):
            return None
        m: Any = mechanism
        if m.report == "tuple":
            shares = [self.success(m.attribute(j)) / m.d + (1 - 1 / m.d) / size for j, size in enumerate(m.sizes)]
            return float(np.mean(shares)), float(np.mean([(1 - a) / (size - 1) for a, size in zip(shares, m.sizes)]))
        success = self.success(m)
        if success is None:
            return None
        if m.report == "buckets":  # the two values lie in different buckets
            return success, (1 - success * m.size) / ((m.buckets - 1) * m.size)
        return success, (1 - success) / (m.k - 1)

    def sample(self, mechanism: Any, trials: int, truth: bool, rng: Rng) -> int:
        """Number of acceptances among `trials` reports, without building the reports.

        Parameters
        ----------
        mechanism : FrequencyOracle
        trials : int
        truth : bool
            Whether the input is the first value of the pair or the second.
        rng : numpy.random.Generator
        """
        checks.generator(rng)
        trials, mechanism = checks.integer("trials", trials, 0), oracle(mechanism)
        known(self, mechanism)
        if mechanism.report == "tuple":
            return _sample_tuple(self, mechanism, trials, truth, rng)
        if mechanism.report == "buckets":
            return _sample_buckets(mechanism, trials, truth, rng)
        if mechanism.report == "rounds":
            return _sample_rounds(self, mechanism, trials, truth, rng)
        return _trials(mechanism, bool(truth)).count(trials, rng)


@functools.lru_cache(maxsize=64)
def _trials(m: Any, truth: bool) -> samplers.Trials:
    """What decides the guess on one report, when the input is the value asked about or another one."""
    if m.report == "vector":
        return _noisy_trials(laws.noise(m.noise), 1 / m.scale, m.k, truth)
    own, other = (m.p, m.q) if truth else (m.q, m.p)
    if m.report == "value":
        sizes, size_mass = np.ones(1), np.ones(1)
    elif m.report == "subset":
        sizes, size_mass = np.array([m.omega]), np.ones(1)
    else:  # how many other values are supported: k - 2 alike, and the second audited one
        counts, mass = binomial_window(m.k - 2, m.q)
        sizes = np.append(counts, counts[-1] + 1) + 1
        size_mass = np.append((1 - other) * mass, 0) + np.append(0, other * mass)
    empty = np.where(sizes > 1, 0.0, 1 / m.k) * (m.report not in ("value", "subset"))  # nothing is supported: any value
    return samplers.Trials(samplers.steps(np.append((1 - own) * size_mass, own * size_mass), np.append(empty, 1 / sizes)))


def _noisy_trials(noise: tuple[Callable[..., Any], ...], shift: float, k: int, truth: bool) -> samplers.Trials:
    """Is the noise on the value asked about the largest of k, of which the true one is raised by `shift`; see `laws.noise`."""
    quantile, log_cdf = noise
    own, other = (shift, 0.0) if truth else (0.0, shift)

    def chance(rank: npt.NDArray[Any]) -> npt.NDArray[Any]:
        noisy = own + quantile(rank)
        return np.exp(log_cdf(noisy - other) + (k - 2) * log_cdf(noisy))

    return samplers.Trials(chance)


def success_rate(mechanism: Mechanism) -> float:
    """Return the exact probability that the guess is the true value.

    Raises
    ------
    ValueError
        If no law is known, see `Guess.rates`.
    """
    rates = Guess().rates(mechanism)
    if rates is None:
        raise ValueError(f"mechanism must have a known success rate of the guess, got {mechanism!r}")
    return float(rates[0])


# --- several rounds, several attributes, buckets ----------------------------------------------------


def _binomial(tau: int, rate: float) -> Array:
    """Law of ``Binomial(tau, rate)`` on 0..tau; what lies outside its window is zero."""
    counts, mass = binomial_window(tau, rate, width=12.0)
    full = np.zeros(tau + 1)
    full[counts] = mass
    return full


def _round_counts(mechanism: Any) -> tuple[Array, Array]:
    """Laws of the own and of one other value's count over the rounds, and the win probability per own count."""
    m = mechanism
    if isinstance(m, Chained):
        keep, flip = m.second
        if m.protocol == "GRR":  # the permanent value wins or loses as in fresh GRR
            return _binomial(m.tau, keep), laws.response_wins(m.k, m.tau)
        p, q = m.permanent.p, m.permanent.q
        own, other = (r * _binomial(m.tau, keep) + (1 - r) * _binomial(m.tau, flip) for r in (p, q))
        return own, laws.count_wins(other, m.k)
    base = m.mechanism
    own = _binomial(m.tau, base.p)
    if base.report == "value" or base.report == "subset":
        return own, laws.response_wins(m.k, m.tau)
    return own, laws.count_wins(_binomial(m.tau, base.q), m.k)


def _rounds_success(attack: Guess, mechanism: Any) -> float | None:
    m, base = mechanism, mechanism.inner
    if m.memoise:
        return attack.success(base)
    if base.report == "subset" and base.omega > 1:
        return None
    if base.report == "vector":
        if base.noise == "gaussian":
            return laws.gaussian_success(base.scale / math.sqrt(m.tau), m.k)
        return laws.laplace_sum_success(m.tau, m.k, m.tau / base.scale)
    own, wins = _round_counts(m)
    success = min(1.0, float(own @ wins))  # the sum may round up
    if isinstance(m, Chained) and m.protocol == "GRR":
        return base.p * success + (1 - base.p) * (1 - success) / (m.k - 1)
    return success


def _sample_rounds(attack: Guess, mechanism: Any, trials: int, truth: bool, rng: Rng) -> int:
    m = mechanism
    if m.memoise:
        return attack.sample(m.inner, trials, truth, rng)
    if m.inner.report == "subset" and m.inner.omega > 1:
        return samplers.subset_rounds(trials, m.k, m.inner.omega, m.inner.p, m.tau, truth, streams.state(rng))
    if isinstance(m, Chained) and m.protocol == "GRR":
        # the permanent round turns the input into the audited value, the other one, or a third
        here = rng.binomial(trials, mechanism.inner.p if truth else mechanism.inner.q)
        return _round_trials(m, True).count(here, rng) + _round_trials(m, False).count(trials - here, rng)
    return _round_trials(m, bool(truth)).count(trials, rng)


@functools.lru_cache(maxsize=64)
def _round_trials(m: Any, truth: bool) -> samplers.Trials:
    """What decides the guess on several reports; a guess that fails names each other value equally often."""
    base = m.inner
    if base.report != "vector":
        mass, wins = _round_counts(m)
        return samplers.Trials(samplers.steps(mass, wins if truth else (1 - wins) / (m.k - 1)))
    if base.noise == "gaussian":
        return _noisy_trials(laws.noise("gaussian"), math.sqrt(m.tau) / base.scale, m.k, truth)
    return _noisy_trials(laws.noise("laplace", m.tau), m.tau / base.scale, m.k, truth)


def _sample_tuple(attack: Guess, mechanism: Any, trials: int, truth: bool, rng: Rng) -> int:
    """The attribute looked at is the sampled one with chance 1/d; a fake one names each value equally often."""
    hits = 0
    for j, looked in enumerate(rng.multinomial(trials, np.full(mechanism.d, 1 / mechanism.d))):
        real = rng.binomial(looked, 1 / mechanism.d)
        hits += attack.sample(mechanism.attribute(j), int(real), truth, rng)
        hits += rng.binomial(looked - real, 1 / mechanism.sizes[j])
    return int(hits)


def _sample_buckets(mechanism: Any, trials: int, truth: bool, rng: Rng) -> int:
    m = mechanism
    sampled = rng.random(trials) < m.bits / m.buckets
    own = sampled & (rng.random(trials) < m.p)
    size = own + rng.binomial(np.where(sampled, m.bits - 1, m.bits), m.q)
    won = np.where(size > 0, own & (rng.random(trials) * size < 1), rng.random(trials) * m.buckets < 1)
    if not truth:
        won = ~won & (rng.random(trials) * (m.buckets - 1) < 1)
    return int(np.count_nonzero(won & (rng.random(trials) * m.size < 1)))
