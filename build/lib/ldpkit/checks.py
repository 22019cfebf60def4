"""Validation of parameters: one clear error that names parameter, value and allowed range.

Public constructors and functions call these checks before any work, so that kernels may assume
valid inputs. A frozen dataclass states the check of a field in the field's type, see `Checked`, and
a function that of a parameter, see `checked`.
"""

import collections
import functools
import inspect
import math
import numbers
import sys
from collections.abc import Callable, Iterable
from typing import Annotated, Any, ParamSpec, TypeVar, get_args, get_origin

import numpy as np

from .types import Array, ArrayLike

# fmt: off
__all__ = [
    "integer", "real", "reals", "numeric", "flag", "one_of", "instance", "generator", "masked",
    "unmasked", "values", "counts", "need", "every", "repeated", "fix", "rule", "bare", "fields",
    "Checked", "checked", "Generator", "Count", "Share", "Positive", "NonNegative", "Flag"
]
# fmt: on

Value = TypeVar("Value")
Given = ParamSpec("Given")


def integer(name: str, value: Any, low: int, high: int | None = None) -> int:
    """Return `value` as ``int``; it must be a whole number in ``[low, high]``.

    A float such as ``1e6`` is accepted if it is whole, as in files and on the command line.
    Booleans are refused.

    Raises
    ------
    ValueError
        If it is not; the message names the parameter, its value and the allowed range.
    """
    whole = (
        type(value) is int  # the usual case, and much faster than an abstract class
        or (isinstance(value, (float, np.floating)) and value.is_integer())
        or (isinstance(value, numbers.Integral) and not isinstance(value, bool))
    )
    if whole and low <= int(value) and (high is None or int(value) <= high):
        return int(value)
    allowed = f"an integer >= {low}" if high is None else f"an integer in [{low}, {high}]"
    raise ValueError(f"{name} must be {allowed}, got {value!r}")


def real(
    name: str, value: Any, low: float = -math.inf, high: float = math.inf, *, closed: str = "[]"
) -> float:
    """Return `value` as ``float``; it must be finite and inside the interval.

    Parameters
    ----------
    name, value
        Name of the parameter in the error, and its value.
    low, high : float
        Ends of the interval.
    closed : {"[]", "[)", "(]", "()"}
        Brackets that show which ends belong to the interval.

    Raises
    ------
    ValueError
        If it is not; the message names the parameter, its value and the allowed range.
    """
    plain = type(value) in (float, int)
    if plain or (isinstance(value, numbers.Real) and not isinstance(value, bool)):
        # an integer may be too large for a float
        number = float(value) if abs(value) <= sys.float_info.max else math.nan
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
    """Return numbers of any shape as a float array; every number must be finite and inside the
    interval, as in `real`."""
    array = numeric(name, array)
    good = np.isfinite(array) & (array >= low if closed[0] == "[" else array > low)
    good &= array <= high if closed[1] == "]" else array < high
    every(good, array, f"{name} must be {_interval(low, high, closed)} everywhere")
    return array.astype(float, copy=False)


def numeric(name: str, array: object) -> Array:
    """Return an unchanged array of integers or floats; text, objects, booleans and ragged rows are
    refused."""
    array = unmasked(name, array)
    need(
        array.dtype.kind in "iuf",
        f"{name} must be made of numbers, got {array.dtype} of shape {array.shape}",
    )
    return array


def masked(array: object) -> bool:
    """Whether an array, or one of the rows of a list or tuple, has a mask."""
    several = array if isinstance(array, (list, tuple)) else (array,)
    return any(isinstance(row, np.ma.MaskedArray) for row in several)


def unmasked(name: str, array: object) -> Array:
    """Return an object as an array; ragged rows are refused, and so are masked arrays, whose masks
    would be ignored."""
    if masked(array):
        raise ValueError(f"{name} must not be masked: choose the entries that count, got {array!r}")
    try:
        return np.asarray(array)
    except ValueError as error:
        raise ValueError(
            f"{name} must be an array with rows of one length, got {array!r}"
        ) from error


def flag(name: str, value: object) -> bool:
    """Return `value` as ``bool``; other types are refused, so that a text such as ``"no"`` does not
    count as true."""
    return bool(instance(name, value, (bool, np.bool_), "True or False"))


def instance(name: str, value: Value, types: Any, wanted: str) -> Value:
    """Return `value` if it is an instance of `types` (a type or several types), which the error
    calls `wanted`."""
    if not isinstance(value, types):
        raise ValueError(f"{name} must be {wanted}, got {value!r}")
    return value


def one_of(name: str, value: object, allowed: Iterable[str]) -> str:
    """Return `value` if it is one of `allowed`; otherwise the error suggests the nearest name."""
    allowed = list(allowed)
    if not isinstance(value, str) or value not in allowed:
        import difflib

        folded = {a.lower(): a for a in allowed}
        near = difflib.get_close_matches(str(value).lower(), folded, n=1)
        hint = f"; did you mean {folded[near[0]]!r}?" if near else ""
        raise ValueError(f"{name} must be one of {', '.join(allowed)}, got {value!r}{hint}")
    return value


def generator(rng: object) -> None:
    """Raise ``ValueError`` for an object that is not a generator, for example a seed."""
    instance("rng", rng, np.random.Generator, "a numpy.random.Generator")


def values(array: ArrayLike, k: int, name: str = "values") -> Array:
    """Return user values as a one-dimensional int64 array with entries in ``0..k-1``.

    Raises
    ------
    ValueError
        If the array is not one-dimensional, not of integers, or has an entry outside the domain.
    """
    array = unmasked(name, array)
    if array.ndim != 1 or array.dtype.kind not in "iu":  # the message is slow to format
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
    """Return how many users hold each of k values, int64 array (k,), after checking that the
    numbers are >= 0 and not all 0."""
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
    """Raise `error` with the message `sentence` unless `holds` is true."""
    if not holds:
        raise error(sentence)


def every(good: Array, array: Array, sentence: str) -> None:
    """Raise ``ValueError`` with `sentence` and the first entry of an array that is not `good`."""
    if not good.all():
        raise ValueError(f"{sentence}, got {array[~good].flat[0]}")


def fix(record: object, **checked: object) -> None:
    """Set validated fields on a frozen dataclass."""
    for name, value in checked.items():
        object.__setattr__(record, name, value)


def rule(check: Callable[..., Any], *limits: object, **more: object) -> Callable[[str, Any], Any]:
    """Return a check with its limits, for the type of a field: ``Annotated[int, rule(integer, 1,
    9)]``."""
    return lambda name, value: check(name, value, *limits, **more)


@functools.cache
def _rules(called: Any) -> list[tuple[int, str, Callable[[str, Any], Any], bool]]:
    """Place, name and check of every parameter of a function or field of a dataclass, and whether
    it may be ``None``."""
    return [
        (place, name, check, parameter.default is None)
        for place, (name, parameter) in enumerate(inspect.signature(called).parameters.items())
        if get_origin(parameter.annotation) is Annotated
        for check in get_args(parameter.annotation)[1:]
        if callable(check)
    ]


def bare(annotation: Any) -> Any:
    """Return the type of a field without its check."""
    return annotation.__origin__ if get_origin(annotation) is Annotated else annotation


def fields(record: object) -> None:
    """Check the fields of a frozen dataclass, see `Checked`."""
    for _, name, check, optional in _rules(type(record)):  # type: ignore[arg-type]  # a class is hashable
        value = getattr(record, name)
        if value is not None or not optional:
            object.__setattr__(record, name, check(name, value))


class Checked:
    """Base of frozen dataclasses whose fields are checked at construction.

    A field of type ``Annotated[..., check]`` is set to the result of ``check(name, value)``, which
    raises ``ValueError`` for a value that is not allowed. ``None`` is allowed if it is the default.
    A text in the type describes the field, for example on the command line.
    """

    def __post_init__(self) -> None:
        fields(self)


def checked(function: Callable[Given, Value]) -> Callable[Given, Value]:
    """Return the function with a check of its arguments before each call.

    A parameter of type ``Annotated[..., check]`` is set to the result of ``check(name, value)``,
    which raises ``ValueError`` for a value that is not allowed. ``None`` is allowed if it is the
    default. `Checked` does the same for the fields of a dataclass.
    """
    rules = _rules(function)

    @functools.wraps(function)
    def call(*args: Given.args, **named: Given.kwargs) -> Value:
        given: Any = [*args]
        rest: Any = named
        for place, name, check, optional in rules:
            held, key = (given, place) if place < len(given) else (rest, name)
            if held is given or name in rest:
                value = held[key]
                if value is not None or not optional:
                    held[key] = check(name, value)
        return function(*given, **rest)

    return call


Generator = Annotated[
    np.random.Generator, rule(instance, np.random.Generator, "a numpy.random.Generator")
]
"""A generator of random numbers, as the type of an argument that is `checked`."""

Count = Annotated[int, rule(integer, 1)]
"""A number of things, at least 1, as the type of a field or of an argument that is `checked`."""
Share = Annotated[float, rule(real, 0, 1)]
"""A probability or a share, in [0, 1]."""
Positive = Annotated[float, rule(real, 0, closed="()")]
"""A number above 0."""
NonNegative = Annotated[float, rule(real, 0)]
"""A number of at least 0."""
Flag = Annotated[bool, flag]
"""True or False."""


def repeated(names: Iterable[str]) -> str | None:
    """Return the first name that occurs more than once, ``None`` if all names differ."""
    return next((name for name, times in collections.Counter(names).items() if times > 1), None)
