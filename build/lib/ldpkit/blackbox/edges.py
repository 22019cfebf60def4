"""Inputs at the edge of what a client takes, where faults hide: bounds, zero, nothing, too many."""

import enum
import itertools
import math
import types
import typing
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .. import checks
from ..types import Row

__all__ = ["MOST", "edges", "inputs_of"]

MOST = 32
"""Most inputs that are made from a schema."""
_LARGE, _LONG = 2**53, 16  # where a schema has no bound: of a number, of a text or list
_NUMBERS = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}
_KNOWN: dict[Any, set[str]] = {
    "integer": _NUMBERS,
    "number": _NUMBERS,
    "string": {"minLength", "maxLength"},
    "array": {"items", "minItems", "maxItems", "uniqueItems"},
    "object": {"properties", "required", "additionalProperties"},
    "boolean": set(),
    "null": set(),
}
_SAID = {"type", "title", "description", "default", "examples", "$schema", "$id"}
_TYPES = {int: "integer", float: "number", str: "string", bool: "boolean", type(None): "null"}
_LIMITS = {"ge": "minimum", "le": "maximum", "gt": "exclusiveMinimum", "lt": "exclusiveMaximum"}


def edges(schema: Row) -> list[Any]:
    """Return inputs at the edge of a JSON schema.

    They are the least and the largest number and their neighbours, zero and minus zero; the
    shortest and the longest text, and text of half a character; the empty list, short and longest
    lists with different and with equal entries; and objects with each field at each of its edges,
    or missing. Default and examples of the schema are added.

    Raises
    ------
    ValueError
        If the schema has a keyword that is not understood.
    """
    one_of = [one for name in ("anyOf", "oneOf") for one in schema.get(name, ())]
    plain = [schema[name] for name in ("const", "default") if name in schema]
    found = [value for one in one_of for value in edges(one)] + schema.get("enum", []) + plain
    if not one_of and not schema.keys() & {"const", "enum"}:
        found = [*_of_type(schema), *found]
    return [*{repr(x): x for x in [*found, *schema.get("examples", ())]}.values()][:MOST]


def _of_type(schema: Row) -> Sequence[Any]:
    """Return inputs at the edge of a schema that has one type."""
    kind = checks.one_of("type of a schema", schema.get("type"), _KNOWN)
    for word in schema.keys() - _SAID - _KNOWN[kind]:
        raise ValueError(f"schema must not have {word}, which is not understood here")
    if kind in ("integer", "number"):
        return _numbers(kind == "integer", schema)
    if kind == "array":
        return _lists(schema)
    if kind == "object":
        return _objects(schema)
    if kind == "string":
        least = schema.get("minLength", 0)
        most = schema.get("maxLength", max(_LONG, least))
        sizes = {size for size in (least, 1, most) if least <= size <= most}
        texts = ["a" * size for size in sorted(sizes)]
        return texts + [x * max(1, least) for x in (" ", "\ud800", "é") if most]
    return [False, True] if kind == "boolean" else [None]


def _numbers(whole: bool, schema: Row) -> list[float]:
    step: Callable[[float, float], float] = math.nextafter
    if whole:
        step = lambda x, to: x + (1 if to > x else -1)  # noqa: E731
    low, high = schema.get("minimum", -_LARGE), schema.get("maximum", _LARGE)
    if "exclusiveMinimum" in schema:
        low = max(low, step(schema["exclusiveMinimum"], math.inf))
    if "exclusiveMaximum" in schema:
        high = min(high, step(schema["exclusiveMaximum"], -math.inf))
    zeros = [0, 1, -1] if whole else [0.0, -0.0, 1.0, -1.0]
    every = [low, high, *zeros, step(low, math.inf), step(high, -math.inf), (low + high) / 2]
    return [int(x) if whole else float(x) for x in every if low <= x <= high]


def _lists(schema: Row) -> list[list[Any]]:
    each, least = edges(schema.get("items", {"type": "integer"})), schema.get("minItems", 0)
    most = schema.get("maxItems", max(_LONG, least))
    if schema.get("uniqueItems"):
        return [each[:size] for size in (least, most) if least <= len(each)]
    found = [[x for x, _ in zip(itertools.cycle(each), range(size))] for size in (least, most)]
    return found + [[x] * size for x in each[:2] for size in (1, 2, most) if least <= size <= most]


def _objects(schema: Row) -> list[Row]:
    fields = {name: edges(one) for name, one in schema.get("properties", {}).items()}
    first = {name: values[0] for name, values in fields.items()}
    found = [first | {name: x} for name, values in fields.items() for x in values]
    needed = schema.get("required", ())
    return found + [
        {name: x for name, x in first.items() if name != gone}
        for gone in first
        if gone not in needed
    ]


def _described(kind: Any) -> Row:
    """Return the JSON schema of a type; `Annotated` may have one, or limits such as ``Ge(0)``."""
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Annotated:
        found = _described(args[0])
        for note in args[1:]:
            limits = {own: getattr(note, name, None) for name, own in _LIMITS.items()}
            own = {name: limit for name, limit in limits.items() if limit is not None}
            found |= note if isinstance(note, dict) else own
        return found
    if origin in (typing.Union, types.UnionType):
        return {"anyOf": [_described(one) for one in args]}
    if origin is typing.Literal or (isinstance(kind, type) and issubclass(kind, enum.Enum)):
        return {"enum": list(args or kind)}
    if args and isinstance(origin, type) and issubclass(origin, Iterable):
        return {"type": "array", "items": _described(args[0])}
    if typing.is_typeddict(kind):
        hints = typing.get_type_hints(kind, include_extras=True)
        fields = {name: _described(hint) for name, hint in hints.items()}
        return {"type": "object", "properties": fields, "required": [*kind.__required_keys__]}
    checks.need(kind in _TYPES, f"inputs must be given, because the client takes {kind!r}")
    return {"type": _TYPES[kind]}


def inputs_of(inputs: Any, client: Callable[..., Any], batched: bool) -> Any:
    """Return the inputs that a list, a JSON schema or a strategy of hypothesis describes.

    ``None`` stands for the type of the client's first parameter. Of a strategy, the most extreme of
    200 values that it always gives are taken.
    """
    if inputs is None:
        hints = [*typing.get_type_hints(client, include_extras=True).items()]
        checks.need(
            hints and hints[0][0] != "return",
            "inputs must be given, because the client has no annotation of its first parameter",
        )
        inputs = _described(hints[0][1])
        inputs = inputs.get("items", inputs) if batched else inputs
    if isinstance(inputs, dict):
        return edges(inputs)
    return _extremes(inputs) if hasattr(inputs, "example") else inputs


def _extremes(strategy: Any) -> list[Any]:
    import hypothesis  # which only those have who made the strategy

    given: Any = hypothesis.given(strategy)
    found: dict[str, Any] = {}

    def keep(value: Any) -> None:
        found[repr(value)] = value

    drawn: Any = hypothesis.settings(
        max_examples=200, derandomize=True, database=None, deadline=None,
        phases=[hypothesis.Phase.generate], suppress_health_check=[*hypothesis.HealthCheck],
    )  # fmt: skip
    drawn(given(keep))()

    def size(value: Any) -> tuple[bool, float, int]:
        """Numbers by their value, after NaN, and everything else by its length."""
        number = isinstance(value, (int, float))
        place = (value if value == value else -math.inf) if number else 0
        return number, place, len(repr(value))

    ordered = sorted(found.values(), key=size)
    half = MOST // 2
    return ordered if len(ordered) <= MOST else ordered[:half] + ordered[-half:]
