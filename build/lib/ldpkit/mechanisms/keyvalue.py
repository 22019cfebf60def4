"""Sets of key-value pairs, one set per user, and PCKV: each user samples one pair of a padded set
and perturbs key and value together.

Source: Gu, Li, Cheng, Xiong and Cao, "PCKV: Locally Differentially Private Correlated Key-Value
Data Collection with Optimized Utility", USENIX Security 2020; as audited by KV-Auditor (sections
2.2 and 4).
"""

import math
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Self

import numpy as np

from .. import checks
from ..jit import kernel
from ..reports.base import alphabet, chosen, listed_positions, product_distribution
from ..types import Array, ArrayLike, Held, Numbers, Rng
from .base import MAX_DOMAIN, Epsilon, Mechanism, checked_frequency, support_variance
from .grr import respond

__all__ = ["KeyValues", "PCKV", "PCKVUE", "PCKVGRR"]


@dataclass(frozen=True, eq=False)
class KeyValues:
    """The key-value sets of n users in three arrays, one user after the other.

    Parameters
    ----------
    indptr : int array, shape (n + 1,)
        User i holds the pairs ``indptr[i]`` to ``indptr[i + 1] - 1``; a user may hold none.
    keys : int array, shape (m,)
        Keys in ``0..k-1``; the keys of one user differ.
    values : float array, shape (m,)
        Values in [-1, 1].
    k : int
        Number of keys, at least 1.

    Raises
    ------
    ValueError
        If one of these rules is violated; the message names the first user, key or value.
    """

    indptr: np.ndarray
    keys: np.ndarray
    values: np.ndarray
    k: int

    def __post_init__(self) -> None:
        k = checks.integer("k", self.k, 1, MAX_DOMAIN)
        keys, indptr = checks.values(self.keys, k, "keys"), checks.unmasked("indptr", self.indptr)
        values = checks.reals("values", self.values, -1, 1)
        checks.need(
            values.shape == keys.shape,
            f"values must have the shape {keys.shape} of keys, got {values.shape}",
        )
        checks.need(
            indptr.ndim == 1
            and indptr.size
            and indptr.dtype.kind in "iu"
            and (indptr[0], indptr[-1]) == (0, keys.size)
            and (indptr[1:] >= indptr[:-1]).all(),
            f"indptr must rise from 0 to the number of pairs, {keys.size}, got {self.indptr!r}",
        )
        checks.fix(self, indptr=indptr, keys=keys, values=values, k=k)
        twice = np.flatnonzero(np.diff(self._sorted[0]) == 0)
        if twice.size:
            user, key = divmod(int(self._sorted[0][twice[0]]), k)
            raise ValueError(f"keys of one user must differ, got key {key} twice for user {user}")

    @classmethod
    def of(cls, users: Iterable[Sequence[Held]], k: int) -> Self:
        """Build from a sequence with one sequence of pairs (key, value) for each user."""
        try:
            pairs = [(key, value) for user in users for key, value in user]
        except (TypeError, ValueError) as error:
            raise ValueError(f"users must be lists of pairs (key, value), got {users!r}") from error
        none = np.zeros(0, np.int64), np.zeros(0)
        keys, values = map(np.array, zip(*pairs)) if pairs else none
        return cls(np.cumsum([0, *map(len, users)]), keys, values, k)

    def __len__(self) -> int:
        return self.indptr.size - 1

    @cached_property
    def _sorted(self) -> tuple[Array, Array]:
        """The numbers ``user * k + key`` in ascending order, and the position of each pair."""
        sizes = np.diff(self.indptr).astype(np.intp)
        code = np.repeat(np.arange(len(self), dtype=np.int64), sizes) * self.k + self.keys
        order = np.argsort(code, kind="stable")
        return code[order], order

    def find(self, keys: Array) -> tuple[Array, Array]:
        """Look up one key per user; return whether each user holds the key, and the key's value (0
        if not held), both (n,)."""
        (code, order), users = self._sorted, np.arange(len(self), dtype=np.int64)
        wanted = users * self.k + keys
        at = np.searchsorted(code, wanted)
        held = np.append(code, -1)[at] == wanted  # the place after the last pair holds no key
        return held, np.where(held, np.append(self.values[order], 0.0)[at], 0.0)

    def truth(self) -> tuple[Array, Array]:
        """Return the true frequencies and means: the share of users who hold each key, and the mean
        of the key's values (NaN if no user holds it)."""
        count = np.bincount(self.keys, minlength=self.k)
        total = np.bincount(self.keys, self.values, minlength=self.k)
        return count / len(self), np.where(count > 0, total / np.maximum(count, 1), np.nan)


def fitting(mechanism: Mechanism, sets: KeyValues) -> KeyValues:
    """Return `sets` if they are `KeyValues` over the keys of a mechanism."""
    keys, given = mechanism.parameters["k"], sets.k if isinstance(sets, KeyValues) else sets
    checks.need(
        isinstance(sets, KeyValues) and given == keys,
        f"{mechanism.name} needs KeyValues over k = {keys} keys, got {given!r}",
    )
    return sets


# --- PCKV


@kernel
def _ternary(
    keys: Array, signs: Array, own: float, flipped: float, other: float, uniforms: Array
) -> Array:
    """Turn uniform numbers (n, d) into records in {-1, 0, 1}^d, int8 array (n, d).

    At the sampled key the sign is kept with probability `own`, flipped with probability `flipped`,
    and otherwise cleared. At any other key each sign has probability `other`.
    """
    n, d = uniforms.shape
    out = np.empty((n, d), np.int8)
    for i in range(n):
        for u in range(d):
            r = uniforms[i, u]
            if u == keys[i]:
                out[i, u] = signs[i] if r < own else (-signs[i] if r < own + flipped else 0)
            else:
                out[i, u] = 1 if r < other else (-1 if r < 2 * other else 0)
    return out


@dataclass(frozen=True)
class PCKV(Mechanism):
    """Base of PCKV-UE and PCKV-GRR.

    A user with set S samples one pair of S with probability ``|S| / max(|S|, padding)``. Otherwise
    the user samples one of `padding` dummy keys with value 0. The value is rounded to a sign. The
    report contains the sampled key with probability `a`, and any other key with probability `b`.
    The sampled key gets the wrong sign with probability `flip`; any other key gets a random sign.

    Parameters
    ----------
    k : int
        Number of keys, at least 1.
    epsilon : float
        Privacy budget, in [1e-6, 30].
    padding : int
        Length to which sets are padded, at least 1, which is also the number of dummy keys.
    share : float
        Part of epsilon that is spent, in (0, 1]; KV-Auditor's numbers need 1/2.
    eta : {"correct", "floor"}
        Computation of the probability of a real pair; ``floor`` divides ``|S|`` by the padding
        length in integers. Then a smaller set never sends a real pair. Two columns of KV-Auditor's
        Table 1 need ``floor``.
    """

    k: Annotated[int, checks.rule(checks.integer, 1, MAX_DOMAIN)]
    epsilon: Epsilon
    padding: Annotated[int, checks.rule(checks.integer, 1, MAX_DOMAIN)] = 1
    share: Annotated[float, checks.rule(checks.real, 0, 1, closed="(]")] = 1.0
    eta: Annotated[str, checks.rule(checks.one_of, ("correct", "floor"))] = "correct"

    @property
    @abstractmethod
    def a(self) -> float:
        """Probability that the sampled key is in the report."""

    @property
    @abstractmethod
    def b(self) -> float:
        """Probability that one given other key is in the report."""

    @property
    @abstractmethod
    def flip(self) -> float:
        """Probability that the sampled key has the wrong sign, if it is in the report."""

    @abstractmethod
    def sign_counts(self, reports: ArrayLike) -> tuple[Array, Array]:
        """Return how many reports contain each key with sign +1 and with sign -1, both (k,)."""

    @abstractmethod
    def distribution(self, pairs: Sequence[Held], positions: Iterable[int] | None = None) -> Array:
        """Return the exact distribution of one user's report, in the order of `encode`."""

    @property
    def budget(self) -> float:
        """Budget of a report, ``share * epsilon``."""
        return self.share * self.epsilon

    @property
    def d(self) -> int:
        """Number of keys and dummy keys; the dummy keys come last."""
        return self.k + self.padding

    @checks.checked
    def sample(self, sets: KeyValues, rng: checks.Generator) -> tuple[Array, Array]:
        """Sample one pair per user; return keys in ``0..d-1`` and signs, both (n,)."""
        size, n = np.diff(fitting(self, sets).indptr), len(sets)
        slot = rng.integers(0, np.maximum(size, self.padding))
        real = (slot < size) & ((size >= self.padding) | (self.eta == "correct"))
        keys, values = self.k + rng.integers(0, self.padding, n), np.zeros(n)
        at = (sets.indptr[:-1] + slot)[real]
        keys[real], values[real] = sets.keys[at], sets.values[at]
        return keys, np.where(rng.random(n) < (1 + values) / 2, 1, -1).astype(np.int8)

    def _components(self, pairs: Sequence[Held]) -> tuple[Array, Array, Array]:
        """Return the keys that one user may sample, their probabilities, and the mean signs."""
        user, dummies = KeyValues.of([pairs], self.k), np.arange(self.k, self.d)
        size = user.keys.size
        sends = self.eta == "correct" or size >= self.padding
        real = min(1.0, size / self.padding) if sends else 0.0
        sizes, weights = (size, self.padding), (real / max(size, 1), (1 - real) / self.padding)
        keys, means = np.append(user.keys, dummies), np.append(user.values, 0.0 * dummies)
        return keys, np.repeat(weights, sizes), means

    def collect(self, sets: KeyValues, rng: Rng) -> tuple[Array, Array]:
        """Sample the server's counts of positive and of negative reports of each key, both (k,);
        subclasses may do so without the reports."""
        return self.sign_counts(self.perturb(sets, rng))

    def estimate(self, reports: Array) -> tuple[Array, Array]:
        """Estimate frequencies and means; see `estimate_counts`."""
        return self.estimate_counts(*self.sign_counts(reports), len(reports))

    def estimate_counts(self, positive: Array, negative: Array, n: int) -> tuple[Array, Array]:
        """Estimate from the numbers of positive and negative reports of each key.

        Returns
        -------
        frequencies : float array, shape (k,)
            Unbiased for users with at most `padding` pairs; keys of larger sets are
            underestimated.
        means : float array, shape (k,)
            Clipped to [-1, 1], as in the paper; NaN for a frequency that is not positive.
        """
        frequency = self.padding * ((positive + negative) / n - self.b) / (self.a - self.b)
        signed = self.padding * (positive - negative) / n / (self.a * (1 - 2 * self.flip))
        with np.errstate(divide="ignore", invalid="ignore"):
            return frequency, np.where(frequency > 0, np.clip(signed / frequency, -1, 1), np.nan)

    def variance(self, n: int, frequency: Numbers = 0.0) -> Numbers:
        """Return the variance of one estimated frequency, for users with at most `padding`
        pairs."""
        held = (self.a + (self.padding - 1) * self.b) / self.padding
        frequency, n = checked_frequency(frequency), checks.integer("n", n, 1)
        return support_variance(held, self.b, frequency) / n

    @checks.checked
    def mean_variance(
        self,
        n: checks.Count,
        frequency: Annotated[Any, checks.rule(checks.reals, 0, 1, closed="(]")],
        mean: Annotated[Any, checks.rule(checks.reals, -1, 1)],
    ) -> Numbers:
        """Return the leading term (delta method, large n) of the variance of one estimated mean,
        before the mean is clipped."""
        alpha = self.padding / (self.a * (1 - 2 * self.flip))
        beta = mean * self.padding / (self.a - self.b)
        held = (self.a + (self.padding - 1) * self.b) / self.padding
        # the error of the ratio is alpha * sign - beta * [reported], averaged over users
        owner = (alpha**2 + beta**2) * held - 2 * beta * mean - (mean - beta * held) ** 2
        other = (alpha**2 + beta**2) * self.b - (beta * self.b) ** 2
        return (frequency * owner + (1 - frequency) * other) / (n * frequency**2)


@dataclass(frozen=True)
class PCKVUE(PCKV):
    """PCKV with unary encoding: one ternary symbol per key.

    Parameters are those of `PCKV`.

    Notes
    -----
    ``a = 1/2``, ``b = 2 / (e^X + 3)``, ``flip = 1 / (e^X + 1)`` at budget X. The privacy loss is
    exactly X.
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
        own, flipped = self.a * (1 - self.flip), self.a * self.flip
        keys, signs = self.sample(sets, rng)
        uniforms = rng.random((keys.size, self.d))
        return _ternary(keys, signs, own, flipped, self.b / 2, uniforms)

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
        counts = (
            rng.multinomial(plus, [own, flipped, 1 - self.a])
            + rng.multinomial(minus, [flipped, own, 1 - self.a])
            + rng.multinomial(len(sets) - plus - minus, [other, other, 1 - self.b])
        )
        return counts[:, 0], counts[:, 1]

    def distribution(self, pairs: Sequence[Held], positions: Iterable[int] | None = None) -> Array:
        """Return the exact distribution of one user's record.

        Parameters
        ----------
        pairs : sequence of (key, value)
            The user's set.
        positions : sequence of int, optional
            Positions of the record whose symbols are considered, by default all d.

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
        mixture = weights[~np.isin(keys, positions)].sum() * without
        for key, weight, mean in zip(keys, weights, means):
            if key in positions and weight > 0:
                tilt = self.a * (1 - 2 * self.flip) * mean / 2
                own = np.array([self.a / 2 - tilt, 1 - self.a, self.a / 2 + tilt])
                parts = [own if u == key else other for u in positions]
                mixture = mixture + weight * product_distribution(parts)
        return mixture

    def encode(self, reports: Array, positions: Iterable[int] | None = None) -> Array:
        """Return the number of each report in the order of `distribution`: the symbols -1, 0, 1 are
        the digits 0, 1, 2, and the last symbol moves fastest."""
        seen = reports[:, chosen(positions, self.d)]
        return (seen + 1).astype(np.int64) @ 3 ** np.arange(seen.shape[1], dtype=np.int64)[::-1]


@dataclass(frozen=True)
class PCKVGRR(PCKV):
    """PCKV with generalised randomised response over (key, sign).

    Parameters are those of `PCKV`.

    Notes
    -----
    With ``D = padding (e^X - 1)`` at budget X: ``a = (D + 2) / (D + 2d)``, ``b = 2 / (D + 2d)``,
    ``flip = 1 / (D + 2)``.
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
        reported = respond(keys, self.d, self.a, rng)
        wrong = rng.random(keys.size) < np.where(reported == keys, self.flip, 0.5)
        return np.column_stack([reported, np.where(wrong, -signs, signs)])

    def sign_counts(self, reports: ArrayLike) -> tuple[Array, Array]:
        code = np.bincount(self.encode(reports), minlength=2 * self.d).reshape(self.d, 2)[: self.k]
        return code[:, 1], code[:, 0]

    def distribution(self, pairs: Sequence[Held], positions: Iterable[int] | None = None) -> Array:
        """Return the exact distribution of one user's report, shape (2d,), in the order (0, -1),
        (0, +1), (1, -1), ...; `positions` must be ``None``."""
        checks.need(
            positions is None,
            f"positions must be left out: a report of {self.name} is one key and one sign, got"
            f" {positions!r}",
        )
        alphabet(2 * self.d, 1, "take fewer keys")
        mixture = np.full((self.d, 2), self.b / 2)
        keys, weights, means = self._components(pairs)
        tilt = self.a * (1 - 2 * self.flip) * means / 2
        shift = self.a / 2 - self.b / 2 + np.column_stack([-tilt, tilt])
        np.add.at(mixture, keys, weights[:, None] * shift)
        return mixture.ravel()

    def encode(self, reports: ArrayLike) -> Array:
        """Return the number of each report in the order of `distribution`."""
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
