"""A record of a report is the same alone and in company, and has a name."""

import math

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest
from trees import tree

from ldpkit.blackbox.clients.anything import rows
from ldpkit.blackbox.sequential.columns import decoded, read


def by_report(found):
    """The records of each report, whatever their order."""
    out = [[] for _ in range(found.whole.size)]
    numbers = found.rows, found.paths, found.types, found.values.view(np.uint64), found.words
    for row, *rest in zip(*(part.tolist() for part in numbers)):
        out[row].append(tuple(rest))
    for row, key in zip(found.category_rows.tolist(), found.keys.tolist()):
        out[row].append((key,))
    return [sorted(some) for some in out]


@hypothesis.settings(max_examples=60, deadline=None)
@hypothesis.given(st.lists(tree, min_size=1, max_size=6), st.integers(0, 40))
def test_the_records_of_a_report_are_the_same_alone_and_in_company(reports, first):
    company = by_report(read(reports, first))
    for i, report in enumerate(reports):
        assert by_report(read([report], first + i)) == [company[i]]


@hypothesis.settings(max_examples=40, deadline=None)
@hypothesis.given(tree)
def test_every_record_has_a_name(report):
    found = read([report], named=True)
    assert all(found.names[path] for path in found.paths.tolist())
    assert all(found.events[key] for key in found.keys.tolist())
    assert by_report(found) == by_report(read([report]))


@pytest.mark.parametrize(
    "table",
    [
        np.arange(12).reshape(3, 4), np.random.default_rng(1).normal(size=(5, 7)), np.eye(4) > 0,
        np.array([[np.nan, np.inf, -0.0]]), np.array([[2**64 - 1, 1]], np.uint64), np.eye(3, dtype="u1"),
        np.eye(3, dtype="f4") / 3, np.eye(2, dtype=np.longdouble), np.array([["a", "bc"]]), np.ones((2, 2, 2)),
        np.array([(1, 2.5, [1, 0])], [("x", "i4"), ("y", "f8"), ("z", "u1", 2)]), np.array(["1", "[2]"]),
        np.array([1.5, 2.0]), np.zeros((2, 0)), np.empty((0, 3)),
    ],
)  # fmt: skip
def test_tables_are_lists(table):
    same = by_report(read(rows(table)))
    assert by_report(read(table)) == same and len(same) == len(table)
    assert [by_report(read(table[i : i + 1])) for i in range(len(table))] == [[one] for one in same]


def test_collections_and_no_reports_are_lists():
    parts = [np.array([1, 2]), np.array([[0, 1], [1, 0]])]
    assert by_report(read(parts)) == by_report(read([[1, [0, 1]], [2, [1, 0]]]))
    assert by_report(read([])) == []


@pytest.mark.parametrize(
    "one, other",
    [
        (1, 1.0), (1, True), (0.0, -0.0), ({"a": 1, "b": 2}, {"b": 2, "a": 1}), ([[]], [{}]), ("1", 1), (None, "null"),
        (2**70, 2**70 + 2**90), (math.nan, math.inf), ([1, 2], [2, 1]), ({"a": None}, {}),
    ],
)  # fmt: skip
def test_different_reports_have_different_categories(one, other):
    assert set(read([one]).keys.tolist()) != set(read([other]).keys.tolist())


def test_words_say_where_in_the_report_something_stands():
    report = {"a": [{"b": 2}, 7.25], "t": "xy z", "big": -(2**70), "j": '{"k": [5]}'}
    found = read([report], named=True)
    names, events = set(found.names.values()), set(found.events.values())
    assert {
        "field b of entry 1 of field a", "character 3 of field t", "the length of field t",
        "entry 1 of field k of the decoded JSON of field j", "entry 3 of the 60-bit digits of field big",
        "the number of keys of the report",
    } <= names  # fmt: skip
    assert {
        "field b of entry 1 of field a is 2", "field b of an entry of field a is 2", "field t is 'xy z'",
        "a word of field t is 'xy'", "character 1 from the right of the end of field t is 'z'",
        "the number of decimals of entry 2 of field a is 2", "the order of the keys of the report is a, t, big, j",
        "the place of field t is 2", "one of the characters with the next of field t is 'xy'",
        "the binary exponent of entry 2 of field a is 2", f"the whole of the report is {report!r:.60}",
    } <= events  # fmt: skip
    for report, said in (
        ([0] * 1000 + [1], "entry 1,001 is 1"), ([0] * 1000 + [1], "the sum of the report is 1"),
        ("abcdefgh", "character 8 of the text is 'h'"),
    ):  # fmt: skip
        assert said in read([report], named=True).events.values()


def test_texts_are_decoded():
    assert dict(decoded('["a", 1]'))["the decoded JSON"] == ["a", 1]
    assert dict(decoded("00fF10"))["the hexadecimal bytes"] == [0, 255, 16]
    assert dict(decoded("_-_-_-8"))["the base64 bytes"] == [255, 239, 254, 255, 239]
    assert dict(decoded("eyJhIjogNX0"))["the decoded text"] == '{"a": 5}'
    assert decoded("-12") == [("the decoded number", -12)] and decoded("") == []
    words = ["a", "1", "b", "-2.5"]
    assert decoded("a=1&b=-2.5") == [("the numbers", [1, -2.5]), ("a word", words)]
    assert decoded("[" * 100_000) == []


def test_wide_reports_show_last_places_in_turn():
    wide = [[0.5] * 100] * 32
    events, found = read(wide[:1], 0, named=True).events, read(wide)
    key = next(key for key, said in events.items() if "decimals of entry 1 " in said)
    assert sorted(found.category_rows[found.keys == key].tolist()) == [0, 16]


def test_what_json_cannot_write_is_refused():
    with pytest.raises(ValueError, match="report must be what JSON can write.*complex"):
        read([{"a": 1j}])
    plain = by_report(read([{"a": 3, "b": [1, 2]}]))
    assert by_report(read([{"a": np.int64(3), "b": (1, 2)}])) == plain
