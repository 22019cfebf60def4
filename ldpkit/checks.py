"""Validation of parameters: one clear error naming parameter, value and allowed range.

Every public constructor and function calls these before any work is done, so
that kernels may assume their inputs are sound.
"""

import math
import numbers
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["integer", "real", "one_of", "values", "counts"]


def integer(name: str, value: Any, low: int, high: int | None = None) -> int:
    """Return `value` as ``int``; it must be a whole number in ``[low, high]``.

    Booleans and floats are refused, even ``3.0``: a domain size that arrives as
    a float is more often a bug than a number.

    Raises
    ------
    ValueError
        Naming the parameter, its value and the allowed range.
    """
    allowed = f"an integer >= {low}" if high is None else f"an integer in [{low}, {high}]"
    ok = isinstance(value, numbers.Integral) and not isinstance(value, (bool, np.bool_))
    if not ok or value < low or (high is not None and value > high):
        raise ValueError(f"{name} must be {allowed}, got {value!r}")
    return int(value)


def real(name: str, value: Any, low: float = -math.inf, high: float = math.inf, *, closed: str = "[]") -> float:
    """Return `value` as ``float``; it must be finite and inside the interval.

    Parameters
    ----------
    name, value
        The parameter's name, used in the error, and its value.
    low, high : float
        Ends of the interval.
    closed : {"[]", "[)", "(]", "()"}
        Which ends belong to it.

    Raises
    ------
    ValueError
        Naming the parameter, its value and the allowed range.
    """
    ok = isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_)) and math.isfinite(value)
    if ok:
        ok = (value >= low if closed[0] == "[" else value > low) and (value <= high if closed[1] == "]" else value < high)
    if not ok:
        if high == math.inf:
            allowed = f"a finite number {'>=' if closed[0] == '[' else '>'} {low:g}"
        else:
            allowed = f"a number in {closed[0]}{low:g}, {high:g}{closed[1]}"
        raise ValueError(f"{name} must be {allowed}, got {value!r}")
    return float(value)


def one_of(name: str, value: Any, allowed: Iterable[str]) -> str:
    """Return `value` if it is one of `allowed`; otherwise suggest the nearest name."""
    allowed = list(allowed)
    if value not in allowed:
        import difflib

        folded = {a.lower(): a for a in allowed}
        near = difflib.get_close_matches(str(value).lower(), folded, n=1)
        hint = f"; did you mean {folded[near[0]]!r}?" if near else ""
        raise ValueError(f"{name} must be one of {', '.join(allowed)}, got {value!r}{hint}")
    return value


def values(array: ArrayLike, k: int, name: str = "values") -> NDArray[Any]:
    """Return user values as a one-dimensional int64 array with entries in ``0..k-1``.

    Raises
    ------
    ValueError
        If the array is not one-dimensional, not of integers, or leaves the domain.
    """
    array = np.asarray(array)
    if array.ndim != 1 or not np.issubdtype(array.dtype, np.integer):
        raise ValueError(f"{name} must be a one-dimensional array of integers, got shape {array.shape} of {array.dtype}")
    bad = (array < 0) | (array >= k)
    if bad.any():
        raise ValueError(f"{name} must lie in 0..{k - 1}, got {array[bad][0]} at position {int(np.argmax(bad))}")
    return array.astype(np.int64, copy=False)


def counts(array: ArrayLike, k: int, name: str = "counts") -> NDArray[Any]:
    """Return how many users hold each of k values: whole numbers >= 0, at least one of them positive."""
    array = np.asarray(array)
    if array.shape != (k,) or not np.issubdtype(array.dtype, np.integer):
        raise ValueError(f"{name} must be {k} integers, got shape {array.shape} of {array.dtype}")
    if (array < 0).any() or not array.any():
        raise ValueError(f"{name} must be >= 0 and not all 0, got {array.min()} at position {int(array.argmin())}")
    return array.astype(np.int64, copy=False)
