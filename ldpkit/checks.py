"""Validation of parameters: one clear error naming parameter, value and allowed range.

Every public constructor and function calls these before any work is done, so
that kernels may assume their inputs are sound. A frozen dataclass states the
check of a field in its type, see `Checked`.
"""

import dataclasses
import functools
import math
import numbers
import sys
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numpy as np

from .types import Array, ArrayLike

# fmt: off
__all__ = [
    "integer", "real", "reals", "numeric", "flag", "one_of", "instance", "columns", "generator",
    "masked", "unmasked", "values", "counts", "need", "fix", "rule", "bare", "Checked"
]
# fmt: on

Value = TypeVar("Value")


def integer(name: str, value: object, low: int, high: int | None = None) -> int:
    """Return `value` as ``int``; it must be a whole number in ``[low, high]``.

    Booleans and floats are refused, even ``3.0``: a domain size that arrives as
    a float is more often a bug than a number.

    Raises
    ------
    ValueError
        Naming the parameter, its value and the allowed range.
    """
    plain = type(value) is int  # mostly, and to ask an abstract class takes much longer
    if plain or (isinstance(value, numbers.Integral) and not isinstance(value, (bool, np.bool_))):
        given: Any = value
        number = int(given)
        if low <= number and (high is None or number <= high):
            return number
    allowed = f"an integer >= {low}" if high is None else f"an integer in [{low}, {high}]"
    raise ValueError(f"{name} must be {allowed}, got {value!r}")


def real(
    name: str, value: object, low: float = -math.inf, high: float = math.inf, *, closed: str = "[]"
) -> float:
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
    plain = type(value) in (float, int)
    if plain or (isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))):
        given: Any = value  # a whole number may be too large for a float
        number = float(given) if abs(given) <= sys.float_info.max else math.nan
        above = number >= low if closed[0] == "[" else number > low
        if above and (number <= high if closed[1] == "]" else number < high):
            return number
    raise ValueError(f"{name} must be {_interval(low, high, closed)}, got {value!r}")


def _interval(low: float, high: float, closed: str) -> str:
    if high < math.inf:
        return f"a number in {closed[0]}{low:g}, {high:g}{closed[1]}"
    return "a finite number" + (
        f" {'>=' if closed[0] == '[' else '>'} {low:g}" if low > -math.inf else ""
    )


def reals(
    name: str, array: object, low: float = -math.inf, high: float = math.inf, *, closed: str = "[]"
) -> Array:
    """Return numbers of any shape as a float array; each must be finite and inside the interval, as
    in `real`."""
    array = numeric(name, array)
    good = np.isfinite(array) & (array >= low if closed[0] == "[" else array > low)
    good &= array <= high if closed[1] == "]" else array < high
    if not good.all():
        raise ValueError(
            f"{name} must be {_interval(low, high, closed)} everywhere, got {array[~good].flat[0]}"
        )
    return array.astype(float, copy=False)


def numeric(name: str, array: object) -> Array:
    """Return an array of whole or real numbers, unchanged; text, objects, booleans and ragged rows
    are refused."""
    array = unmasked(name, array)
    if array.dtype.kind not in "iuf":
        raise ValueError(
            f"{name} must be made of numbers, got {array.dtype} of shape {array.shape}"
        )
    return array


def masked(array: object) -> bool:
    """Whether an array, or one of the rows that are to become one, has a mask."""
    if type(array) is np.ndarray:
        return False
    rows = array if isinstance(array, (list, tuple)) else (array,)
    return any(isinstance(row, np.ma.MaskedArray) for row in rows)


def unmasked(name: str, array: object) -> Array:
    """Return anything as an array; masked arrays, whose masks would not be looked at, and ragged
    rows are refused."""
    if masked(array):
        raise ValueError(f"{name} must not be masked: choose the entries that count, got {array!r}")
    try:
        return np.asarray(array)
    except ValueError as error:
        raise ValueError(
            f"{name} must be an array with rows of one length, got {array!r}"
        ) from error


def flag(name: str, value: object) -> bool:
    """Return `value` as ``bool``; a text such as ``"no"`` is not taken for true."""
    need(isinstance(value, (bool, np.bool_)), f"{name} must be True or False, got {value!r}")
    return bool(value)


def instance(name: str, value: Value, kind: Any, wanted: str) -> Value:
    """Return `value` if it is an instance of `kind` (a type or several), which the error calls
    `wanted`."""
    if not isinstance(value, kind):
        raise ValueError(f"{name} must be {wanted}, got {value!r}")
    return value


def one_of(name: str, value: object, allowed: Iterable[str]) -> str:
    """Return `value` if it is one of `allowed`; otherwise suggest the nearest name."""
    allowed = list(allowed)
    if not isinstance(value, str) or value not in allowed:
        import difflib

        folded = {a.lower(): a for a in allowed}
        near = difflib.get_close_matches(str(value).lower(), folded, n=1)
        hint = f"; did you mean {folded[near[0]]!r}?" if near else ""
        raise ValueError(f"{name} must be one of {', '.join(allowed)}, got {value!r}{hint}")
    return value


def columns(table: object, names: Iterable[str]) -> None:
    """Refuse a table that lacks one of these columns."""
    missing = [name for name in names if name not in getattr(table, "columns", ())]
    if missing:
        got = ", ".join(map(str, table.columns)) if hasattr(table, "columns") else repr(table)
        raise ValueError(f"table must have the columns {', '.join(map(str, names))}, got {got}")


def generator(rng: object) -> None:
    """Refuse anything in the place of a generator, a seed for example."""
    instance("rng", rng, np.random.Generator, "a numpy.random.Generator")


def values(array: ArrayLike, k: int, name: str = "values") -> Array:
    """Return user values as a one-dimensional int64 array with entries in ``0..k-1``.

    Raises
    ------
    ValueError
        If the array is not one-dimensional, not of integers, or leaves the domain.
    """
    array = unmasked(name, array)
    if array.ndim != 1 or array.dtype.kind not in "iu":  # writing a type out takes longer
        raise ValueError(
            f"{name} must be a one-dimensional array of integers, got shape {array.shape} of"
            f" {array.dtype}"
        )
    if array.size and (array.min() < 0 or array.max() >= k):
        bad = (array < 0) | (array >= k)
        raise ValueError(
            f"{name} must lie in 0..{k - 1}, got {array[bad][0]} at position {int(np.argmax(bad))}"
        )
    return array.astype(np.int64, copy=False)


def counts(array: ArrayLike, k: int, name: str = "counts") -> Array:
    """Return how many users hold each of k values: whole numbers >= 0, at least one of them
    positive."""
    array = unmasked(name, array)
    need(
        array.shape == (k,) and np.issubdtype(array.dtype, np.integer),
        f"{name} must be {k} integers, got shape {array.shape} of {array.dtype}",
    )
    need(
        (array >= 0).all() and array.any(),
        f"{name} must be >= 0 and not all 0, got {array.min()} at position {int(array.argmin())}",
    )
    return array.astype(np.int64, copy=False)


def need(holds: object, sentence: str, error: type[Exception] = ValueError) -> None:
    """Refuse what was given, with one sentence about it, unless something holds."""
    if not holds:
        raise error(sentence)


def fix(record: object, **checked: object) -> None:
    """Give a frozen record its checked fields."""
    for name, value in checked.items():
        object.__setattr__(record, name, value)


def rule(check: Callable[..., Any], *limits: object, **more: object) -> Callable[[str, Any], Any]:
    """Return a check as the type of a field states it: ``Annotated[int, rule(integer, 1, 9)]``."""
    return lambda name, value: check(name, value, *limits, **more)


@functools.cache
def _rules(cls: Any) -> list[tuple[str, Callable[[str, Any], Any], bool]]:
    """Name and check of every field of a dataclass, and whether it may be ``None``."""
    return [
        (field.name, check, field.default is None)
        for field in dataclasses.fields(cls)
        for check in getattr(field.type, "__metadata__", ())
    ]


def bare(annotation: Any) -> Any:
    """Return the type of a field without its check."""
    return annotation.__origin__ if hasattr(annotation, "__metadata__") else annotation


class Checked:
    """A frozen dataclass whose fields are checked when it is made.

    A field of type ``Annotated[..., check]`` gets what ``check(name, value)`` returns, which raises
    a ``ValueError`` for what is not allowed. ``None`` is allowed where it is the default.
    """

    def __post_init__(self) -> None:
        for name, check, optional in _rules(type(self)):  # type: ignore[arg-type]  # a class is hashable
            value = getattr(self, name)
            if value is not None or not optional:
                fix(self, **{name: check(name, value)})
