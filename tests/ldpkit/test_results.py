"""Results as text, JSON and pages; options that are guessed; names that are nearly right."""

import json
import math
from importlib import resources

import jsonschema
import numpy as np
import pytest

from ldpkit import Client, audit
from ldpkit.auditors import KVAudit, ShuffleAudit
from ldpkit.blackbox.page import page
from ldpkit.blackbox.sequential import SequentialAudit
from ldpkit.mechanisms import GRR, PCKVUE, make

SCHEMA = json.loads(resources.files("ldpkit.auditors").joinpath("result.schema.json").read_text())
ONE = audit(GRR(4, 1.0), trials=1000)


def send(values, rng):
    return np.where(rng.random(len(values)) < 0.05, 1 - np.array(values), values).tolist()


def other(values, rng):
    return send(values, rng)[:]


def client(function=send, **more):
    return Client(function, **{"values": [0, 1], "epsilon": 1.0} | more)


def results():
    yield ONE
    yield SequentialAudit(GRR(4, 1.0), "tight", trials=100).run()[0]
    yield SequentialAudit(make("LHO", k=5, g=2), "tight", trials=100).run()[0]  # claims nothing
    yield audit(client(), trials=100)
    yield from KVAudit(PCKVUE(3, 1.0), trials=1000).run()
    yield ShuffleAudit(1.0, 1000, trials=100).run()[0]


def test_every_result_has_the_form_of_the_schema():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    for result in results():
        text = result.to_json()
        assert "\n" not in text and str(result) == result.verdict
        found = json.loads(text)
        jsonschema.validate(found, SCHEMA)
        assert found == json.loads(json.dumps(result.to_dict()))
        assert result.row().items() <= result.to_dict().items()
    for wrong in ({"status": "guilty"}, {"lower": -1}, {"schema_version": 1}, {"digest": "x"}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(ONE.to_dict() | wrong, SCHEMA)
    for name in SCHEMA["required"]:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({k: v for k, v in ONE.to_dict().items() if k != name}, SCHEMA)


def test_the_digest_is_that_of_the_client():
    made = [audit(client(f), "learned", trials=20).digest for f in (send, send, other)]
    counted = audit(
        client(send, values=None, k=2, report="value"), trials=20, independent=True
    ).digest
    assert made[0] == made[1] == counted != made[2] and len(made[0]) == 16
    assert ONE.digest == "" and "a mechanism of ldpkit" in page(ONE)


def test_a_client_without_options_is_audited_until_sure():
    result = audit(client(), trials=1000)
    assert result.violated and result.attack == "learned"
    counted = audit(client(values=None, k=2), trials=1000)  # inputs are 0 and 1 in both
    assert (counted.e_value, counted.asked) == (result.e_value, result.asked)
    known = client(values=None, k=2, report="value")
    assert audit(known, "tight", trials=1000).e_value >= 100
    for other, stated in ((known, True), (GRR(2, 1.0), False)):
        counted = audit(other, trials=10, independent=stated)
        assert "e_value" not in counted.evidence
        with pytest.raises(AttributeError, match="has no e_value"):
            _ = counted.e_value
        assert ("as the caller states" in counted.verdict) == stated
    with pytest.raises(ValueError, match="independent must be True to count the reports of client"):
        audit(known, until="counted")
    with pytest.raises(ValueError, match="attack guess cannot read the any reports"):
        audit(client(), "guess")


@pytest.mark.parametrize("given", [{}, {"until": "sure"}])
def test_a_wrong_word_gets_the_nearest_right_one(given):
    with pytest.raises(ValueError, match=r"option must be one of .*; did you mean 'trials'\?"):
        audit(GRR(2, 1.0), trails=10, **given)


def test_whole_numbers_may_be_floats():
    assert audit(GRR(4.0, 1.0), trials=1e3, seed=np.float32(1)) == ONE
    assert type(GRR(4.0, 1.0).k) is int
    for wrong in (1.5, math.nan, math.inf, True, "1e3"):
        with pytest.raises(ValueError, match="trials must be an integer in"):
            audit(GRR(4, 1.0), trials=wrong)


def test_a_page_shows_both_ways_of_counting(monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    fixed, bets = page(ONE, "ldpkit audit"), page(audit(client(), trials=100))
    for text in (fixed, bets):
        assert "1970-01-01 00:00 UTC" in text and "tpr = " in text and "numpy " in text
        assert text.count("<svg") == 1 and "nan" not in text
    assert "fixed before the first one" in fixed and "wealth" not in fixed.lower()
    assert "<td>lower</td>" in fixed and "digest" not in fixed
    assert "<td>e_value</td>" in bets and "wealth" in bets and "digest " in bets
