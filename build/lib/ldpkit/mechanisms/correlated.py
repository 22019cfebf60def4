"""CPP: correlated perturbation of key and value in rounds, with values rounded to the boundaries of
buckets (PrivKV and its successors).
Source: Ye, Hu, Meng and Zheng, "PrivKV: Key-Value Data Collection with Local
Differential Privacy", IEEE S&P 2019, and its extensions; KV-Auditor, section
2.2.1, with the budgets and the symmetric bits of its released program.
"""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np

from .. import checks
from ..reports.base import alphabet
from ..types import Array, ArrayLike, Held, Numbers, Rates, Rng
from .base import MAX_DOMAIN, MAX_ROUNDS, Epsilon, Mechanism, checked_frequency
from .grr import respond, response_rates
from .keyvalue import KeyValues, fitting

__all__ = ["CPP", "CPPUE", "CPPGRR", "PrivKV", "bit_vectors"]


@functools.lru_cache(maxsize=4)
def bit_vectors(length: int) -> Array:
    """Return all bit vectors of this length, float array (2 ** length, length); the last bit moves
    fastest."""
    size = alphabet(2, checks.integer("length", length, 0), "take fewer buckets, or CPP-GRR")
    return ((np.arange(size)[:, None] >> np.arange(length)[::-1]) & 1).astype(float)


@dataclass(frozen=True)
class CPP(Mechanism):
    """Base of CPP-UE and CPP-GRR; it perturbs slots by GRR, which `CPPUE` replaces.

    In each round a user chooses one key uniformly and reports by randomised response whether the
    set contains it. Only after the answer yes, the report also contains a perturbed value. This is
    the user's own value, if the user holds the key. Otherwise it is a uniform choice among the
    bucket means that the server broadcast after the previous round. The value is rounded to a
    boundary of its bucket (a slot), without bias, and the slot is perturbed.

    Parameters
    ----------
    k : int
        Number of keys, at least 1; audits use one key.
    epsilon : float
        Budget of all rounds, in [1e-6, 30]. Half of it is for the key, in the first round, because
        later rounds answer at random. The other half is for the values, in equal parts.
    buckets : int
        Number of boundary points of the value range, even, in [2, 64]: two per bucket, therefore
        inner points occur twice.
    rounds : int
        Planned number of rounds, in [1, 10^6].

    Notes
    -----
    Methods take the broadcast `means`, float array (k, buckets / 2). Without them they refer to the
    first round, whose means are the middles of the buckets.
    """

    k: Annotated[int, checks.rule(checks.integer, 1, MAX_DOMAIN)]
    epsilon: Epsilon
    buckets: Annotated[int, checks.rule(checks.integer, 2, 64)] = 4
    rounds: Annotated[int, checks.rule(checks.integer, 1, MAX_ROUNDS)] = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.need(
            self.buckets % 2 == 0,
            "buckets must be an even number of boundary points, two per bucket, got"
            f" {self.buckets}",
        )

    @property
    def _rates(self) -> Rates:
        """Probabilities that a record supports its slot, and that it supports one given other
        slot."""
        return response_rates(self.buckets, self.value_epsilon)

    @property
    def _slots(self) -> Array:
        """Slots that each different record supports, float array (records, buckets)."""
        return np.eye(self.buckets)

    def _respond(self, slot: Array, rng: Rng) -> Array:
        """Perturb slots; return one record for each."""
        return respond(slot, self.buckets, self._rates[0], rng)

    def _symbols(self, record: Array) -> Array:
        """Number of each record, which is its row in `_slots`."""
        return record

    def _record_distribution(self, slot: Array) -> Array:
        """Distribution of the record, given the distribution of the slot."""
        own, other = self._rates
        return other + (own - other) * slot

    @property
    def value_epsilon(self) -> float:
        """Budget of the value's perturbation in each round."""
        return self.epsilon / (2 * self.rounds)

    def key_rate(self, means: ArrayLike | None = None) -> float:
        """Probability that the answer about the key is true; 1/2 after the first round."""
        return 1 / (1 + math.exp(-self.epsilon / 2)) if means is None else 0.5

    @property
    def points(self) -> Array:
        """Values of the slots, shape (buckets,): the left and right boundary of each bucket."""
        edges = np.linspace(-1, 1, self.buckets // 2 + 1)
        return np.column_stack([edges[:-1], edges[1:]]).ravel()

    def started(self, means: ArrayLike | None) -> Array:
        """Return the broadcast means after checking them, or the middles of the buckets for
        ``None``."""
        if means is None:
            means = self.points.reshape(-1, 2).mean(axis=1) * np.ones((self.k, 1))
        means = checks.reals("means", means, -1, 1)
        checks.need(
            means.shape == (self.k, self.buckets // 2),
            f"means must be a ({self.k}, {self.buckets // 2}) array, got shape {means.shape}",
        )
        return means

    def place(self, values: ArrayLike) -> tuple[Array, Array]:
        """Return the bucket of each value and the probability that the value is rounded to the left
        slot. A boundary between two buckets belongs to the left one."""
        values, width = checks.reals("values", values, -1, 1), 4 / self.buckets
        at = np.ceil((values + 1) / width).astype(np.int64) - 1
        bucket = np.clip(at, 0, self.buckets // 2 - 1)
        return bucket, np.clip((self.points[2 * bucket + 1] - values) / width, 0, 1)

    def slot_distribution(self, values: ArrayLike) -> Array:
        """Return the distribution of the slot, shape (buckets,), for a uniform choice among
        `values`."""
        bucket, left = self.place(np.atleast_1d(values))
        left_slots = np.bincount(2 * bucket, left, self.buckets)
        return (left_slots + np.bincount(2 * bucket + 1, 1 - left, self.buckets)) / bucket.size

    @checks.checked
    def perturb(
        self, sets: KeyValues, rng: checks.Generator, means: ArrayLike | None = None
    ) -> Array:
        """Return reports of one round, structured array (n,) with the chosen `key`, the `bit` about
        it, and the `record`."""
        fitting(self, sets)
        rate, n = self.key_rate(means), len(sets)
        means, key = self.started(means), rng.integers(0, self.k, n)
        held, value = sets.find(key)
        substitute = means[key, rng.integers(0, self.buckets // 2, n)]
        bucket, left = self.place(np.where(held, value, substitute))
        bit = rng.random(n) < np.where(held, rate, 1 - rate)
        record = self._respond(2 * bucket + (rng.random(n) >= left), rng)
        reports = np.zeros(
            n, [("key", np.int64), ("bit", np.uint8), ("record", record.dtype, record.shape[1:])]
        )
        reports["key"], reports["bit"] = key, bit
        reports["record"][bit] = record[bit]  # 0 after a no, where the record has no meaning
        return reports

    def distribution(self, pairs: Sequence[Held], means: ArrayLike | None = None) -> Array:
        """Return the exact distribution of one user's report in one round.

        Parameters
        ----------
        pairs : sequence of (key, value)
            The user's set.
        means : float array, shape (k, buckets / 2), optional
            Broadcast means; left out in the first round.

        Returns
        -------
        float array, shape (k * (1 + records),)
            For each key: the answer no, then yes with each record, in the order of `encode`.
        """
        rate, means = self.key_rate(means), self.started(means)
        held, value = KeyValues.of([pairs] * self.k, self.k).find(np.arange(self.k))
        parts: list[ArrayLike] = []
        for key in range(self.k):
            yes, source = (rate, value[key]) if held[key] else (1 - rate, means[key])
            parts += [[1 - yes], yes * self._record_distribution(self.slot_distribution(source))]
        return np.concatenate(parts) / self.k

    def encode(self, reports: Array) -> Array:
        """Return the number of each report in the order of `distribution`."""
        code = np.where(reports["bit"] == 1, 1 + self._symbols(reports["record"]), 0)
        return reports["key"] * (1 + len(self._slots)) + code

    def tally_counts(self, counts: Array) -> tuple[Array, Array]:
        """Return the second and third result of `tally` for k = 1, from counts of outputs in the
        order of `distribution`."""
        return counts[1:].sum()[None], np.einsum("i,ij->j", counts[1:], self._slots)[None]

    def tally(self, reports: Array) -> tuple[Array, Array, Array]:
        """Return how many users chose each key (k,), how many of them answered yes (k,), and how
        many reports support each slot (k, buckets)."""
        reports = checks.unmasked(f"reports of {self.name}", reports)
        checks.need(
            reports.ndim == 1 and len(reports) and reports.dtype.names == ("key", "bit", "record"),
            f"reports of {self.name} must be what perturb returns, got shape {reports.shape} of"
            f" {reports.dtype}",
        )
        checks.values(reports["key"], self.k, "reported keys")
        users = np.bincount(reports["key"], minlength=self.k)
        yes = np.bincount(reports["key"], reports["bit"], self.k)
        slots = self._slots[self._symbols(reports["record"])].T * reports["bit"]
        counts = [np.bincount(reports["key"], supports, self.k) for supports in slots]
        return users, yes, np.column_stack(counts)

    def calibrate(self, yes: Array, slots: Array) -> Array:
        """Estimate how many of the users who answered yes have each slot, (k, buckets), clipped to
        the possible range from 0 to `yes`."""
        own, other = self._rates
        return np.clip((slots - yes[:, None] * other) / (own - other), 0, yes[:, None])

    def broadcast(self, yes: Array, slots: Array, means: ArrayLike | None = None) -> Array:
        """Return the bucket means for the next round; a bucket with a calibrated count of 0 keeps
        its mean."""
        calibrated = self.calibrate(yes, slots).reshape(self.k, -1, 2)
        total = calibrated.sum(axis=2)
        moment = (calibrated * self.points.reshape(-1, 2)).sum(axis=2)
        return np.where(total > 0, moment / np.where(total > 0, total, 1), self.started(means))

    def estimate(self, reports: Array) -> tuple[Array, Array]:
        """Estimate from the first round.

        Returns
        -------
        frequencies : float array, shape (k,)
            Unbiased; NaN for a key that no user chose.
        means : float array, shape (k,)
            Biased towards 0 by users who do not hold the key but answer yes; NaN for a key with a
            calibrated count of 0.
        """
        users, yes, slots = self.tally(reports)
        calibrated, rate = self.calibrate(yes, slots), self.key_rate()
        with np.errstate(divide="ignore", invalid="ignore"):
            frequencies = (yes / users - (1 - rate)) / (2 * rate - 1)
            return frequencies, calibrated @ self.points / calibrated.sum(axis=1)

    def variance(self, n: int, frequency: Numbers = 0.0) -> Numbers:
        """Return the variance of one estimated frequency, up to terms of relative order k / n.

        It has two parts: the noise of the answers, and the random choice of the users who report on
        the key.
        """
        n, rate = checks.integer("n", n, 1), self.key_rate()
        frequency = checked_frequency(frequency)
        sampled = (1 - 1 / self.k) * frequency * (1 - frequency)
        return (rate * (1 - rate) / (2 * rate - 1) ** 2 + sampled) * self.k / n


@dataclass(frozen=True)
class CPPUE(CPP):
    """CPP with unary encoding of the slot.

    Parameters are those of `CPP`.

    Notes
    -----
    Every bit is kept with probability ``e^x / (e^x + 1)`` at ``x = value_epsilon``, as in the
    released program; therefore the privacy loss of two slots is ``2x``. The paper's text states
    OUE instead.
    """

    name = "CPP-UE"

    @property
    def _rates(self) -> Rates:
        keep = 1 / (1 + math.exp(-self.value_epsilon))
        return keep, 1 - keep

    def _respond(self, slot: Array, rng: Rng) -> Array:
        rates = np.where(slot[:, None] == np.arange(self.buckets), *self._rates)
        return (rng.random(rates.shape) < rates).astype(np.uint8)

    def _symbols(self, record: Array) -> Array:
        return record @ (len(self._slots) >> np.arange(1, self.buckets + 1))

    @property
    def _slots(self) -> Array:
        return bit_vectors(self.buckets)

    @functools.cached_property
    def _unset(self) -> Array:
        """Probability of all bits of each record if no slot were set."""
        (own, other), size = self._rates, self._slots.sum(axis=1)
        return np.asarray(other**size * own ** (self.buckets - size))

    def _record_distribution(self, slot: Array) -> Array:
        # times the effect of the slot's bit; einsum, because the threads of BLAS only wait for such
        # small arrays
        own, other = self._rates
        hit = np.einsum("ij,j->i", self._slots, slot)
        return self._unset * (other / own + (own / other - other / own) * hit)


@dataclass(frozen=True)
class CPPGRR(CPP):
    """CPP with generalised randomised response over the slots.

    Parameters are those of `CPP`.
    """

    name = "CPP-GRR"


@dataclass(frozen=True)
class PrivKV(CPPGRR):
    """PrivKV, and PrivKVM with several rounds: CPP-GRR on the two ends of the value range.

    Parameters are those of `CPP`.
    """

    name = "PrivKV"
    buckets: int = field(default=2, init=False)
    rounds: Annotated[int, checks.rule(checks.integer, 1, MAX_ROUNDS)] = 1
