"""Inputs at the edge of a schema, a strategy or a type, and public faults that show only there."""

import enum
import math
import random
from typing import Annotated, Literal, TypedDict

import edge_clients
import pytest
from hypothesis import strategies

from ldpkit.blackbox.edges import MOST, edges, inputs_of
from ldpkit.testing import assert_private, plugin, private

DIGIT = {"type": "integer", "minimum": 0, "maximum": 9}
PAIR = {"type": "object", "required": ["kind"],
        "properties": {"kind": {"enum": ["x", "y"]}, "old": {"type": "boolean"}}}  # fmt: skip


@pytest.fixture(autouse=True)
def clean(monkeypatch):
    """The plugin of this very run knows nothing of these tests, and no cause is looked for."""
    monkeypatch.setattr(plugin, "audits", [])
    monkeypatch.setattr(plugin, "_now", {})
    monkeypatch.setattr(private, "SECONDS", 0)


@pytest.mark.parametrize("schema, wanted", [
    (DIGIT, [0, 9, 1, 8]),
    ({"type": "integer"}, [0, 1, -1, 2**53, -(2**53)]),
    ({"type": "integer", "minimum": 3, "maximum": 3}, [3]),
    ({"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 3}, [1, 2]),
    ({"type": "number", "minimum": -1, "maximum": 1}, [-1.0, 1.0, 0.0, -0.0, math.nextafter(1, 0)]),
    ({"type": "number", "exclusiveMinimum": 0}, [5e-324, 2.0**53]),
    ({"type": "string", "minLength": 2, "maxLength": 4}, ["aa", "aaaa", "\ud800\ud800"]),
    ({"type": "string", "maxLength": 0}, [""]),
    ({"type": "array", "items": DIGIT, "maxItems": 6}, [[], [0], [0, 0], [0] * 6, [0, 9, 1, 8, 4, 0]]),
    ({"type": "array", "items": DIGIT, "minItems": 2, "uniqueItems": True}, [[0, 9], [0, 9, 1, 8, 4]]),
    (PAIR, [{"kind": "x", "old": False}, {"kind": "y", "old": False}, {"kind": "x", "old": True}, {"kind": "x"}]),
    ({"anyOf": [{"type": "null"}, {"type": "boolean"}]}, [None, False, True]),
    ({"const": 4, "examples": [5]}, [4, 5]),
    ({"type": "boolean", "default": 7}, [False, True, 7]),
])  # fmt: skip
def test_a_schema_has_an_edge(schema, wanted):
    found = edges(schema)
    assert {*map(repr, wanted)} <= {*map(repr, found)} and 1 <= len(found) <= MOST
    assert len({*map(repr, found)}) == len(found)


@pytest.mark.parametrize("schema", [DIGIT, {"type": "number", "exclusiveMaximum": -2, "minimum": -3},
                                    {"type": "string", "minLength": 3, "maxLength": 3},
                                    {"type": "array", "items": DIGIT, "minItems": 3, "maxItems": 5},
                                    {"type": "array", "items": DIGIT, "uniqueItems": True}, PAIR])  # fmt: skip
def test_every_input_keeps_its_schema(schema):
    jsonschema = pytest.importorskip("jsonschema", reason="only an environment of the book has it")
    for value in edges(schema):
        jsonschema.validate(value, schema)


@pytest.mark.parametrize("schema, message", [
    ({"type": "string", "pattern": "a"}, "schema must not have pattern"),
    ({"type": "integer", "multipleOf": 3}, "schema must not have multipleOf"),
    ({"type": "set"}, "type of a schema must be one of"), ({}, "type of a schema must be one of"),
])  # fmt: skip
def test_what_is_not_understood_is_refused(schema, message):
    with pytest.raises(ValueError, match=message):
        edges(schema)


class Size(enum.Enum):
    SMALL = 1


class Form(TypedDict):
    age: int


class Least:
    ge = 7


@pytest.mark.parametrize("kind, wanted", [
    (Annotated[int, {"minimum": 5}], [5, 6]), (Annotated[int, Least()], [7, 8]),
    (Literal["a", 3], ["a", 3]), (Size, [Size.SMALL]), (int | None, [0, None]), (float, [-0.0]),
    (list[bool], [[], [False, False]]), (Form, [{"age": 0}]), (str, [""]), (bool, [False, True]),
])  # fmt: skip
def test_annotations_tell_the_inputs(kind, wanted):
    def single(value): ...
    def many(values, rng): ...

    single.__annotations__, many.__annotations__ = {"value": kind}, {"values": list[kind]}
    for found in (inputs_of(None, single, False), inputs_of(None, many, True)):
        assert {*map(repr, wanted)} <= {*map(repr, found)}


def test_a_client_without_annotations_needs_inputs():
    for client, message in ((lambda value: value, "no annotation"), (id_of, "the client takes")):
        with pytest.raises(ValueError, match=f"inputs must be given.*{message}"):
            assert_private(client, 1)


def id_of(value: complex):
    return 1


@pytest.mark.parametrize("strategy, wanted", [
    (strategies.integers(0, 1000), [0, 1000]),
    (strategies.floats(), [math.nan, math.inf, -math.inf]),
    (strategies.lists(strategies.integers(0, 9), max_size=3), [[]]),
    (strategies.sampled_from(["a", "b"]), ["a", "b"]),
])  # fmt: skip
def test_a_strategy_tells_the_inputs_and_always_the_same(strategy, wanted):
    found = inputs_of(strategy, None, False)
    assert {*map(repr, wanted)} <= {*map(repr, found)} and len(found) <= MOST
    assert list(map(repr, found)) == list(map(repr, inputs_of(strategy, None, False)))


@pytest.mark.parametrize("name, schema, on_error, pair", [
    ("bound84", {"type": "array", "items": DIGIT, "maxItems": 12}, "stop", "[]"),
    ("exponential107", {"type": "integer", "minimum": 0, "maximum": 10}, "report", "0"),
    ("svt343", DIGIT, "stop", "0"),
])  # fmt: skip
def test_public_faults_are_found_with_no_input_named(name, schema, on_error, pair):
    """They needed 14 to 209 reports per input with six seeds; 5,000 are allowed."""
    random.seed(1)
    with pytest.raises(AssertionError, match="^VIOLATION") as failed:
        assert_private(getattr(edge_clients, name), 1, inputs=schema, on_error=on_error,
                       reports=5000, seconds=1e9)  # fmt: skip
    inputs = str(failed.value).partition("repeat: ")[2].partition("inputs=[")[2]
    assert pair in inputs and "seed=1" in inputs and "against the others" in str(failed.value)


def test_minus_zero_is_an_input_of_its_own_and_the_inputs_are_listed():
    def signed(value):
        return "minus" if math.copysign(1, value) < 0 else random.choice(["plus", "minus"])

    with pytest.raises(AssertionError, match="^VIOLATION") as failed:
        assert_private(
            signed, 0.1, inputs={"type": "number", "minimum": 0, "maximum": 0}, reports=10**5
        )
    assert "inputs=[-0.0, 0.0]" in str(failed.value) or "inputs=[0.0, -0.0]" in str(failed.value)
    result = assert_private(lambda value: random.random(), 1, inputs=DIGIT, reports=1000)
    asked = result.lines()["asked"]
    assert asked.startswith("0 ") and ", 9 " in asked and asked.endswith(" reports, by input")
