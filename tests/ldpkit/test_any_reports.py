"""Clients with any inputs and any reports: what is read, and one clear error for what is not."""

import enum
import math

import numpy as np
import pytest

from ldpkit import Client
from ldpkit.blackbox.clients import ClientError
from ldpkit.blackbox.clients.anything import plain


class Colour(enum.IntEnum):
    RED = 3


def client(function, values=(-1.0, 1.0), **given):
    return Client(function, report="any", values=list(values), epsilon=1.0, **given)


def reports(function, values=(-1.0, 1.0)):
    return client(function, values).perturb([0, 1], np.random.default_rng(1))


@pytest.mark.parametrize("given, read", [
    (np.float32(0.5), 0.5), (np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]), (np.array(["a", "b"]), ["a", "b"]),
    (np.longdouble(2), 2.0), ((1, (True, None)), [1, [True, None]]), (b"ab", [97, 98]), ({3, 1, 2}, [1, 2, 3]),
    ({2: "x", "a": np.int8(1)}, {"2": "x", "a": 1}), (Colour.RED, 3), (2**200, 2**200), (-math.inf, -math.inf),
])  # fmt: skip
def test_reports_are_read_as_what_json_writes(given, read):
    found = plain(given)
    assert found == read and type(found) is type(read)


def test_keys_keep_their_order_and_nan_is_a_report_of_its_own():
    assert list(plain({"b": 1, "a": 2})) == ["b", "a"]
    assert math.isnan(plain([math.nan])[0])


LOOP = []
LOOP.append(LOOP)


@pytest.mark.parametrize("report, said", [
    (object(), "client must return what JSON can write, got object"),
    ({"a": [1, 1j]}, "must return what JSON can write at a[1], got complex 1j"),
    ({1: 0, "1": 0}, "must return keys that differ as text, got [1, '1']"),
    (LOOP, "must return no more than 64 levels, or what contains itself"),
    (np.ma.array([1], mask=True), "must return a report without a mask"),
    (np.array([1j]), "must return what JSON can write at [0], got complex128"),
])  # fmt: skip
def test_a_report_that_json_cannot_write_is_refused_with_its_place(report, said):
    with pytest.raises(ClientError) as error:
        reports(lambda v: report)
    assert said in str(error.value)


@pytest.mark.parametrize("made", [None, "xx", {}, 3])
def test_a_client_of_many_users_must_return_a_report_for_each(made):
    with pytest.raises(ClientError, match="must return"):
        reports(lambda values, rng: made)


@pytest.mark.parametrize("given, said", [
    ({"values": [1, 1]}, "values must differ, got 1 twice"),
    ({"values": [{"a": [1]}, {"a": [1]}]}, "values must differ, got {'a': [1]} twice"),
    ({"values": [np.zeros(2), np.zeros(2)]}, "values must differ"),
    ({"values": [1]}, "k must be an integer in [2, 2147483647], got 1"),
    ({"values": "ab"}, "values must be a list, got 'ab'"),
    ({"report": "value"}, "report must be one of any, got 'value'"),
    ({"k": 3}, "k must be left out if values are given, got 3"),
    ({"epsilon": math.nan}, "epsilon must be a finite number >= 0, got nan"),
])  # fmt: skip
def test_inputs_must_be_several_and_differ_and_say_how_many_there_are(given, said):
    with pytest.raises(ValueError) as error:
        Client(str, **{"report": "any", "values": [1, 2], "epsilon": 1.0} | given)
    assert said in str(error.value)


def test_the_client_gets_copies_of_its_inputs_and_may_reuse_its_report():
    buffer = []

    def f(value):
        value["seen"] = value.get("seen", 0) + 1
        buffer[:] = [value["x"], value["seen"]]
        return buffer

    assert [*reports(f, [{"x": 1}, {"x": 2}])] == [[1, 1], [2, 1]]
