"""Sets of key-value pairs, one set per user."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from .. import checks
from ..types import Array, Held
from .base import MAX_DOMAIN, Mechanism

__all__ = ["KeyValues"]


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
        values = checks.numeric("values", self.values).astype(float)
        checks.need(
            values.shape == keys.shape,
            f"values must have the shape {keys.shape} of keys, got {values.shape}",
        )
        if not np.all(np.abs(values) <= 1):
            bad = np.flatnonzero(~(np.abs(values) <= 1))[0]
            raise ValueError(f"values must lie in [-1, 1], got {values[bad]:g} at position {bad}")
        whole = indptr.ndim == 1 and indptr.size and np.issubdtype(indptr.dtype, np.integer)
        if not whole or indptr[0] != 0 or indptr[-1] != keys.size or (np.diff(indptr) < 0).any():
            raise ValueError(
                f"indptr must rise from 0 to the number of pairs, {keys.size}, got {self.indptr!r}"
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
        keys = np.array([key for key, _ in pairs]) if pairs else np.zeros(0, np.int64)
        values = np.array([value for _, value in pairs]) if pairs else np.zeros(0)
        return cls(np.cumsum([0, *map(len, users)]), keys, values, k)

    def __len__(self) -> int:
        return self.indptr.size - 1

    @cached_property
    def _sorted(self) -> tuple[Array, Array]:
        """The numbers ``user * k + key`` in ascending order, and the position of each pair."""
        code = np.repeat(np.arange(len(self)), np.diff(self.indptr)) * self.k + self.keys
        order = np.argsort(code, kind="stable")
        return code[order], order

    def find(self, keys: Array) -> tuple[Array, Array]:
        """Look up one key per user; return whether each user holds the key, and the key's value (0
        if not held), both (n,)."""
        code, order = self._sorted
        wanted = np.arange(len(self)) * self.k + keys
        at = np.searchsorted(code, wanted)
        held = np.zeros(len(self), bool)
        inside = at < code.size
        held[inside] = code[at[inside]] == wanted[inside]
        values = np.zeros(len(self))
        values[held] = self.values[order[at[held]]]
        return held, values

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
