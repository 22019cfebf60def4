"""PCKV: sample one pair of a padded set, then perturb key and value together.

Source: Gu, Li, Cheng, Xiong and Cao, "PCKV: Locally Differentially Private
Correlated Key-Value Data Collection with Optimized Utility", USENIX Security
2020; as audited by KV-Auditor (sections 2.2 and 4).
"""

import math
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from .. import checks
from ..jit import kernel
from ..reports.listing import alphabet, chosen, listed_positions, product_distribution
from ..types import Array, ArrayLike, Held, Numbers, Rng
from .base import MAX_DOMAIN, Epsilon, Mechanism, checked_frequency, support_variance
from .grr import respond
from .keyvalue import KeyValues, fitting

__all__ = ["PCKV", "PCKVUE", "PCKVGRR"]


@kernel
def _ternary(
    keys: Array, signs: Array, d: int, own: float, flipped: float, other: float, rng: Rng
) -> Array:
    """Records in {-1, 0, 1}^d: the sampled position keeps or flips its sign or is cleared, others
    are set by chance."""
    out = np.empty((keys.size, d), np.int8)
    for i in range(keys.size):
        for u in range(d):
            r = rng.random()
            if u == keys[i]:
                out[i, u] = signs[i] if r < own else (-signs[i] if r < own + flipped else 0)
            else:
                out[i, u] = 1 if r < other else (-1 if r < 2 * other else 0)
    return out


@dataclass(frozen=True)
class PCKV(Mechanism):
    """Base of PCKV-UE and PCKV-GRR.

    A user with set S samples one of its pairs with probability
    ``|S| / max(|S|, padding)``, otherwise one of `padding` dummy keys with value 0,
    and rounds the value to a sign. The sampled key is reported with probability
    `a`, any other with `b`; a reported true key carries the wrong sign with
    probability `flip`, any other a random one.

    Parameters
    ----------
    k : int
        Number of keys, at least 1.
    epsilon : float
        Privacy budget, in [1e-6, 30].
    padding : int
        Length to which sets are padded, at least 1: the number of dummy keys.
    share : float
        Part of epsilon that is spent, in (0, 1]; KV-Auditor's numbers need 1/2.
    eta : {"correct", "floor"}
        ``floor`` divides ``|S|`` by the padding length in integers, so that a smaller set
        never sends a real pair; two columns of KV-Auditor's Table 1 need it.
    """

    k: Annotated[int, checks.rule(checks.integer, 1, MAX_DOMAIN)]
    epsilon: Epsilon
    padding: Annotated[int, checks.rule(checks.integer, 1, MAX_DOMAIN)] = 1
    share: Annotated[float, checks.rule(checks.real, 0, 1, closed="(]")] = 1.0
    eta: Annotated[str, checks.rule(checks.one_of, ("correct", "floor"))] = "correct"

    @property
    @abstractmethod
    def a(self) -> float:
        """Probability that the sampled key is reported."""

    @property
    @abstractmethod
    def b(self) -> float:
        """Probability that one given other key is reported."""

    @property
    @abstractmethod
    def flip(self) -> float:
        """Probability that a reported true key carries the wrong sign."""

    @abstractmethod
    def sign_counts(self, reports: ArrayLike) -> tuple[Array, Array]:
        """Return how many reports name each key with +1 and how many with -1, both (k,)."""

    @abstractmethod
    def distribution(self, pairs: Sequence[Held], positions: Iterable[int] | None = None) -> Array:
        """Return the exact law of one user's report, in the order of `encode`."""

    @property
    def budget(self) -> float:
        """What the report spends: `share` of epsilon."""
        return self.share * self.epsilon

    @property
    def d(self) -> int:
        """Number of keys with the dummies, which come last."""
        return self.k + self.padding

    def sample(self, sets: KeyValues, rng: Rng) -> tuple[Array, Array]:
        """Draw every user's pair; return keys in ``0..d-1`` and signs, both (n,)."""
        checks.generator(rng)
        size, n = np.diff(fitting(self, sets).indptr), len(sets)
        slot = rng.integers(0, np.maximum(size, self.padding))
        real = (slot < size) & ((size >= self.padding) | (self.eta == "correct"))
        keys, values = self.k + rng.integers(0, self.padding, n), np.zeros(n)
        at = (sets.indptr[:-1] + slot)[real]
        keys[real], values[real] = sets.keys[at], sets.values[at]
        return keys, np.where(rng.random(n) < (1 + values) / 2, 1, -1).astype(np.int8)

    def _components(self, pairs: Sequence[Held]) -> tuple[Array, Array, Array]:
        """The keys one user may sample: keys, their probabilities and the mean signs."""
        one = KeyValues.of([pairs], self.k)
        size = one.keys.size
        real = (
            min(1.0, size / self.padding) if self.eta == "correct" or size >= self.padding else 0.0
        )
        weights = np.append(
            np.full(size, real / max(size, 1)), np.full(self.padding, (1 - real) / self.padding)
        )
        return (
            np.append(one.keys, np.arange(self.k, self.d)),
            weights,
            np.append(one.values, np.zeros(self.padding)),
        )

    def collect(self, sets: KeyValues, rng: Rng) -> tuple[Array, Array]:
        """Draw what the server counts, without the reports: (positive, negative) reports of each
        key, both (k,)."""
        return self.sign_counts(self.perturb(sets, rng))

    def estimate(self, reports: Array) -> tuple[Array, Array]:
        """Estimate frequencies and means; see `estimate_counts`."""
        return self.estimate_counts(*self.sign_counts(reports), len(reports))

    def estimate_counts(self, positive: Array, negative: Array, n: int) -> tuple[Array, Array]:
        """Estimate from the numbers of positive and negative reports of each key.

        Returns
        -------
        frequencies : float array, shape (k,)
            Unbiased for users with at most `padding` pairs; larger sets are under-counted.
        means : float array, shape (k,)
            Cut to [-1, 1], as in the paper; NaN where the frequency is not positive.
        """
        frequency = self.padding * ((positive + negative) / n - self.b) / (self.a - self.b)
        signed = self.padding * (positive - negative) / n / (self.a * (1 - 2 * self.flip))
        with np.errstate(divide="ignore", invalid="ignore"):
            return frequency, np.where(frequency > 0, np.clip(signed / frequency, -1, 1), np.nan)

    def variance(self, n: int, frequency: Numbers = 0.0) -> Numbers:
        """Return the variance of one estimated frequency, for users with at most `padding`
        pairs."""
        held = (self.a + (self.padding - 1) * self.b) / self.padding
        return support_variance(held, self.b, checked_frequency(frequency)) / checks.integer(
            "n", n, 1
        )

    def mean_variance(self, n: int, frequency: Numbers, mean: Numbers) -> Numbers:
        """Return the leading term (delta method, n large) of the variance of one estimated mean,
        before it is cut."""
        n, frequency = (
            checks.integer("n", n, 1),
            checks.reals("frequency", frequency, 0, 1, closed="(]"),
        )
        mean = checks.reals("mean", mean, -1, 1)
        alpha, beta = (
            self.padding / (self.a * (1 - 2 * self.flip)),
            mean * self.padding / (self.a - self.b),
        )
        held = (self.a + (self.padding - 1) * self.b) / self.padding
        # the error of the ratio is alpha * sign - beta * [reported], averaged over users
        owner = (alpha**2 + beta**2) * held - 2 * beta * mean - (mean - beta * held) ** 2
        other = (alpha**2 + beta**2) * self.b - (beta * self.b) ** 2
        return (frequency * owner + (1 - frequency) * other) / (n * frequency**2)


@dataclass(frozen=True)
class PCKVUE(PCKV):
    """PCKV with unary encoding: one ternary symbol per key; parameters as in `PCKV`.

    Notes
    -----
    ``a = 1/2``, ``b = 2 / (e^X + 3)``, ``flip = 1 / (e^X + 1)`` at budget X; the loss is exactly X.
    """

    name = "PCKV-UE"
    a = 0.5

    @property
    def b(self) -> float:
        return 2 / (math.exp(self.budget) + 3)

    @property
    def flip(self) -> float:
        return 1 / (math.exp(self.budget) + 1)

    def perturb(self, sets: KeyValues, rng: Rng) -> Array:
        """Return records, int8 array (n, d) of -1, 0, 1; `sets` are `KeyValues`."""
        own = self.a * (1 - self.flip)
        return _ternary(*self.sample(sets, rng), self.d, own, self.a * self.flip, self.b / 2, rng)

    def sign_counts(self, reports: ArrayLike) -> tuple[Array, Array]:
        reports = checks.unmasked(f"reports of {self.name}", reports)
        checks.need(
            reports.ndim == 2
            and reports.shape[1] == self.d
            and len(reports)
            and np.isin(reports, (-1, 0, 1)).all(),
            f"reports of {self.name} must be an (n, {self.d}) array of -1, 0, 1, got shape"
            f" {reports.shape}",
        )
        return (reports[:, : self.k] == 1).sum(axis=0), (reports[:, : self.k] == -1).sum(axis=0)

    def collect(self, sets: KeyValues, rng: Rng) -> tuple[Array, Array]:
        keys, signs = self.sample(sets, rng)
        plus, minus = (np.bincount(keys[signs == s], minlength=self.d)[: self.k] for s in (1, -1))
        own, flipped, other = self.a * (1 - self.flip), self.a * self.flip, self.b / 2
        drawn = (
            rng.multinomial(plus, [own, flipped, 1 - self.a])
            + rng.multinomial(minus, [flipped, own, 1 - self.a])
            + rng.multinomial(len(sets) - plus - minus, [other, other, 1 - self.b])
        )
        return drawn[:, 0], drawn[:, 1]

    def distribution(self, pairs: Sequence[Held], positions: Iterable[int] | None = None) -> Array:
        """Return the exact law of one user's record.

        Parameters
        ----------
        pairs : sequence of (key, value)
            The user's set.
        positions : sequence of int, optional
            Which symbols of the record to look at, all d by default.

        Returns
        -------
        float array, shape (3 ** len(positions),)
            In the order of `encode`.
        """
        positions = listed_positions(
            positions,
            self.d,
            3,
            "look at a few `positions` of the record instead, as auditor 'vkv' does",
        )
        other = np.array([self.b / 2, 1 - self.b, self.b / 2])
        keys, weights, means = self._components(pairs)
        without = product_distribution([other] * len(positions))
        law = weights[~np.isin(keys, positions)].sum() * without
        for key, weight, mean in zip(keys, weights, means):
            if key in positions and weight > 0:
                tilt = self.a * (1 - 2 * self.flip) * mean / 2
                own = np.array([self.a / 2 - tilt, 1 - self.a, self.a / 2 + tilt])
                parts = [own if u == key else other for u in positions]
                law = law + weight * product_distribution(parts)
        return law

    def encode(self, reports: Array, positions: Iterable[int] | None = None) -> Array:
        """Return the number of each report in the order of `law`: symbols -1, 0, 1 as digits, the
        last moving fastest."""
        seen = reports[:, chosen(positions, self.d)]
        return (seen + 1).astype(np.int64) @ 3 ** np.arange(seen.shape[1])[::-1]


@dataclass(frozen=True)
class PCKVGRR(PCKV):
    """PCKV with generalised randomised response over (key, sign); parameters as in `PCKV`.

    Notes
    -----
    With ``D = padding (e^X - 1)``: ``a = (D + 2) / (D + 2d)``, ``b = 2 / (D + 2d)``, ``flip = 1 /
    (D + 2)``.
    """

    name = "PCKV-GRR"

    @property
    def _gain(self) -> float:
        return self.padding * math.expm1(self.budget)

    @property
    def a(self) -> float:
        return (self._gain + 2) / (self._gain + 2 * self.d)

    @property
    def b(self) -> float:
        return 2 / (self._gain + 2 * self.d)

    @property
    def flip(self) -> float:
        return 1 / (self._gain + 2)

    def perturb(self, sets: KeyValues, rng: Rng) -> Array:
        """Return reports, int array (n, 2) of key in ``0..d-1`` and sign; `sets` are
        `KeyValues`."""
        keys, signs = self.sample(sets, rng)
        found = respond(keys, self.d, self.a, rng)
        wrong = rng.random(keys.size) < np.where(found == keys, self.flip, 0.5)
        return np.column_stack([found, np.where(wrong, -signs, signs)])

    def sign_counts(self, reports: ArrayLike) -> tuple[Array, Array]:
        code = np.bincount(self.encode(reports), minlength=2 * self.d).reshape(self.d, 2)[: self.k]
        return code[:, 1], code[:, 0]

    def distribution(self, pairs: Sequence[Held], positions: Iterable[int] | None = None) -> Array:
        """Return the exact law of one user's report, shape (2d,): (0, -1), (0, +1), (1, -1), ...;
        it has no positions."""
        checks.need(
            positions is None,
            f"positions must be left out: a report of {self.name} is one key and one sign, got"
            f" {positions!r}",
        )
        alphabet(2 * self.d, 1, "take fewer keys")
        law = np.full((self.d, 2), self.b / 2)
        keys, weights, means = self._components(pairs)
        tilt = self.a * (1 - 2 * self.flip) * means / 2
        np.add.at(
            law, keys, weights[:, None] * (self.a / 2 - self.b / 2 + np.column_stack([-tilt, tilt]))
        )
        return law.ravel()

    def encode(self, reports: ArrayLike) -> Array:
        """Return the number of each report in the order of `law`."""
        reports = checks.unmasked(f"reports of {self.name}", reports)
        checks.need(
            reports.ndim == 2
            and reports.shape[1] == 2
            and len(reports)
            and np.isin(reports[:, 1], (-1, 1)).all(),
            f"reports of {self.name} must be an (n, 2) array of key and sign, got shape"
            f" {reports.shape}",
        )
        return 2 * checks.values(reports[:, 0], self.d, "reported keys") + (reports[:, 1] > 0)
