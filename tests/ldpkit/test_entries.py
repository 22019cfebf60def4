"""Audits that look at every entry of every report, of all inputs: what they find, what they say of what they could not
have found, and how they go on after a pause."""

import json

import numpy as np
import planted
import pytest
from entry_clients import CLEAR, CORRECT, buffering, failing, of_ten, one_late, rarely

from ldpkit import Client, audit
from ldpkit.blackbox.clients import ClientError
from ldpkit.blackbox.sequential import SequentialAudit

ALPHA = 0.01


def client(function, inputs=2, seed=5, epsilon=1.0, **given):
    """A client of reports of any form; `function` is as in `entry_clients`."""
    rng, count = np.random.default_rng(seed), iter(range(10**9))
    return Client(
        lambda v: function(v, rng, next(count)), report="any", values=list(range(inputs)), epsilon=epsilon, **given
    )  # fmt: skip


def learned(function, trials, inputs=2, seed=1, **given):
    asked = client(function, inputs, **given)
    return audit(asked, "learned", until="sure", trials=trials, seed=seed)


@pytest.mark.parametrize("name", ["dict_70_fields", "in_base64", "depth_6", "bit_70_of_integer"])
def test_what_is_in_the_clear_is_refuted_and_named(name):
    result = learned(CLEAR[name], 200)
    assert result.violated and result.reports <= 70
    assert result.counts["tp"] > result.counts["fp"]
    assert result.counts["first"] <= result.asked[0] + result.asked[1]


def test_an_input_that_is_sent_one_report_late_is_refuted():
    result = learned(one_late(), 1000)
    assert result.violated and result.event.startswith("one report late: ")
    assert not any(learned(buffering(), 400, seed=seed).violated for seed in range(3))


def test_all_inputs_are_asked_and_the_one_that_leaks_is_named():
    result = learned(of_ten, 500, inputs=10)
    assert result.violated and len(result.asked) == 10 and 3 in result.pair
    assert "10 inputs (0, 1, 2," in result.verdict
    assert min(result.asked) > 0 and result.reports <= 60
    few = Client(lambda v: v % 2, 100, "any", 1.0)
    assert len(SequentialAudit(few, "learned").inputs) == 32
    assert max(SequentialAudit(few, "learned").inputs) == 99


def test_none_found_is_said_only_of_an_audit_that_could_have_found_something():
    found = learned(CORRECT["binary"], 2000)
    assert found.status == "none found" and found.one_in >= 10
    assert f"one report of {found.one_in:,}" in found.verdict
    few = learned(CORRECT["binary"], 100)
    assert few.status == "inconclusive" and few.one_in < 10
    same = learned(lambda v, rng, t: {"x": 7}, 500)
    assert same.status == "inconclusive" and "same" in same.verdict
    wide = learned(lambda v, rng, t: {f"f{t}_{i}": 1 for i in range(300)}, 1000)
    assert "found no room" in wide.verdict and "Not looked at: three or more" in wide.verdict


RUNS = 12


@pytest.mark.parametrize("leak", planted.LEAKS)
def test_what_is_said_to_be_found_is_found(leak):
    """Clients that send the input in one report of `one_in` are refuted with probability .9, less than 7
    of 12 with probability 5e-4. `benchmarks/blackbox.py planted` measures more of them."""
    said = planted.said(leak, "nothing")
    assert 5 <= said < 100
    found = [
        planted.audit(leak, "nothing", said, run).run(run + 1)[0].violated for run in range(RUNS)
    ]
    assert sum(found) >= 7


@pytest.mark.parametrize("delta", [0.01, 0.2])
def test_what_delta_allows_is_not_said_to_be_found(delta):
    """With delta an input in the clear at a rate below it is no violation."""
    planned = SequentialAudit(client(CORRECT["binary"], delta=delta), "learned", trials=3000)
    said = planned.run(1)[0]
    assert said.one_in < 1 / delta
    assert said.status == ("inconclusive" if delta > 0.1 else "none found")


def test_a_client_of_many_values_is_asked_for_one_report_at_a_time():
    sizes = []

    def each(values, rng):
        sizes.append(values.shape)
        if values[0] and rng.random() < 0.5:
            raise RuntimeError("no")
        return rng.integers(0, 2, len(values)).tolist()

    asked = Client(each, 2, "any", 1.0, on_error="report")
    found = audit(asked, "learned", until="sure", trials=1000)
    assert found.violated and set(sizes) == {(1,)}


def test_a_failure_is_an_observation_if_one_wants_so():
    with pytest.raises(ClientError, match="--on-error report"):
        learned(failing(0.2), 1000)
    result = learned(failing(0.2), 2000, on_error="report")
    assert result.violated and result.event
    with pytest.raises(ValueError, match="on_error"):
        Client(lambda v: 1, 2, "value", 1.0, on_error="report")

    def wrong(v, rng, t):  # what is no report
        return object() if v and rng.random() < 0.5 else 1

    assert learned(wrong, 1000, on_error="report").violated


def each(function):
    return lambda values, rng: [function(v, rng, 0) for v in values]


@pytest.mark.parametrize("reports, cuts", [
    (each(CORRECT["one_of_ten"]), (5, 300, 301, 1100)), (each(rarely(0.01)), (5, 300, 301)),
    (lambda values, rng: [0, *values[:-1]], (3, 20)),
], ids=["correct", "rare", "late"])  # fmt: skip
def test_an_audit_goes_on_as_if_it_had_never_stopped(reports, cuts):
    """Of reports that can be repeated."""
    asked = Client(reports, report="any", values=[0, 1], epsilon=1.0)
    planned = SequentialAudit(asked, "learned", trials=1500)
    whole = planned.start(3)
    whole.go()
    state = None
    for cut in cuts:
        part = planned.start(3, state)
        part.go(trials=cut)
        state = json.loads(json.dumps(part.state()))
    rest = planned.start(3, state)
    rest.go()
    one, other = rest.result.row(), whole.result.row()
    own, others = one.pop("directions"), other.pop("directions")
    assert rest.rounds == whole.rounds
    for a, b in ((one | {"seconds": 0}, other | {"seconds": 0}), *zip(own, others, strict=True)):
        assert a | {"e_value": 0} == b | {"e_value": 0}
        assert a["e_value"] == pytest.approx(b["e_value"], rel=1e-9)  # sums of other parts
    assert rest.log == pytest.approx(whole.log, abs=1e-9)
