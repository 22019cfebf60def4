"""Foreign clients under audit: the same results as ldpkit's own, and one clear error for everything
that is no report. Fewer than 100 p-values against `chance.P_MIN`."""

import inspect
import itertools
import json
import math
import sys

import numpy as np
import pytest
from chance import P_MIN, binomial_p, same_rate_p

from ldpkit import Client, attacks, audit, exact_client
from ldpkit.blackbox.clients import ClientError, recorded
from ldpkit.blackbox.page import page
from ldpkit.digests import load
from ldpkit.mechanisms import BLH, GRR, OUE, SHE, SS
from ldpkit.reports import hash_cell
from ldpkit.testing import assert_private


def oue_client(values, rng):
    bits = rng.random((len(values), 10)) < 1 / (math.e + 1)
    bits[np.arange(len(values)), values] = rng.random(len(values)) < 0.5
    return bits


LOOSE = np.random.default_rng(31)  # clients of one value bring their own randomness


def oue_client_of_one_value(value):
    return [int(b) for b in oue_client(np.array([value]), LOOSE)[0]]


def grr_client(values, rng):
    lie = (values + rng.integers(1, 10, len(values))) % 10
    return np.where(rng.random(len(values)) < GRR(10, 1.0).p, values, lie)


def ss_client(values, rng):
    return [set(report) for report in SS(10, 1.0).perturb(values, rng).tolist()]


def she_argmax_client(values, rng):
    return SHE(10, 1.0).perturb(values, rng).argmax(axis=1)


def blh_as_subset_client(values, rng):
    """Sends the values in the reported cell, sometimes none: subsets of different sizes."""
    reports = BLH(10, 1.0).perturb(values, rng)
    return [[u for u in range(10) if hash_cell(u, seed, 2) == cell] for seed, cell in reports]


def test_auditing_a_client_agrees_with_auditing_its_mechanism():
    rows = [(oue_client, "bits", OUE(10, 1.0), 200_000), (oue_client_of_one_value, "bits", OUE(10, 1.0), 20_000),
            (grr_client, "value", GRR(10, 1.0), 200_000), (ss_client, "subset", SS(10, 1.0), 50_000),
            (blh_as_subset_client, "subset", BLH(10, 1.0), 10_000)]  # fmt: skip
    for attack, (function, report, honest, trials) in itertools.product(["guess", "tight"], rows):
        client = audit(Client(function, 10, report, 1.0), attack, trials=trials, independent=True)
        own = audit(honest, attack, trials=trials, faithful=True)
        for side, rate in zip(("tp", "fp"), attacks.make(attack).rates(honest)):
            label, count = (function, attack, side), client.counts[side]
            assert binomial_p(count, trials, rate) > P_MIN, label
            assert same_rate_p(count, trials, own.counts[side], trials) > P_MIN, label
        said = client.faithful, client.exact, client.exact_sd, client.violated
        assert said == (True, None, None, False), (function, attack)
    # the most likely value of a noisy histogram is a client too
    found = audit(Client(she_argmax_client, 10, "value", 1.0), trials=200_000, independent=True)
    for side, rate in zip(("tp", "fp"), attacks.make("guess").rates(SHE(10, 1.0))):
        assert binomial_p(found.counts[side], 200_000, rate) > P_MIN, side
    client = Client(oue_client, 10, "bits", 1.0)  # a vectorised client repeats with its seed
    one, two = (
        audit(client, trials=100_000, independent=True, threads=threads) for threads in (1, 2)
    )
    assert one == two
    found = audit(
        Client(lambda values, rng: values, 10, "value", 1.0), trials=10_000, independent=True
    )
    assert found.violated and found.counts == {"tp": 10_000, "fp": 0}


def test_reports_may_come_in_any_sensible_form():
    rows = [("value", lambda values, rng: values.tolist()), ("value", lambda values, rng: values.astype(float)),
        ("value", lambda values, rng: tuple(values)), ("bits", lambda values, rng: np.eye(5, dtype=bool)[values]),
        ("bits", lambda values, rng: np.eye(5)[values]),
        ("bits", lambda values, rng: np.eye(5, dtype=int)[values].tolist()),
        ("subset", lambda values, rng: [{int(v)} for v in values]), ("subset", lambda values, rng: values[:, None]),
        ("subset", lambda values, rng: [frozenset((int(v), 4 - int(v))) for v in values]),
        ("subset", lambda value: [value]), ("value", lambda value: value), ("value", lambda value, *, rate=1: value),
        ("value", lambda values, rng=None: values)]  # fmt: skip
    for report, function in rows:
        found = audit(
            Client(function, 5, report, 1.0), "tight", trials=100, pair=(0, 3), independent=True
        )
        assert found.counts == {"tp": 100, "fp": 0}, (report, function)


def mutating(values, rng):
    values[:] = 0
    return values


def exiting(values, rng):
    raise SystemExit(1)


def test_a_bad_client_gives_one_clear_error():
    one, several, sets = "one integer in 0..4", "5 bits per user", "collection of distinct values"
    rows = [("bits", exiting, "c raised SystemExit"), ("value", lambda v: 1 // v, "c raised ZeroDivisionError: "),
            ("value", mutating, "c changed its input array"), ("value", lambda v, rng: v[:-1], "c must return 7 reports, got 6"),
            ("value", lambda v, rng: [], "c must return 7 reports, got 0"),
            ("value", lambda v, rng: None, "c must return 7 reports, got NoneType"),
            ("value", lambda v, rng: 3, "c must return 7 reports, got int"),
            ("value", lambda v, rng: v * math.nan, one), ("value", lambda v, rng: v + 0.5, one),
            ("value", lambda v, rng: v + 5, one), ("value", lambda v, rng: v - 1, one),
            ("value", lambda v, rng: v[:, None], one), ("value", lambda v, rng: ["a"] * 7, one),
            ("value", lambda v, rng: [None] * 7, one), ("value", lambda v: [0] * (v + 1) if v else 0, one),
            ("bits", lambda v, rng: np.zeros((7, 4)), several), ("bits", lambda v, rng: v, several),
            ("bits", lambda v, rng: np.full((7, 5), math.nan), several), ("bits", lambda v, rng: np.full((7, 5), 2), several),
            ("bits", lambda v, rng: [["0"] * 5] * 7, several), ("bits", lambda v, rng: [[0] * 5] * 6 + [[0] * 4], several),
            ("subset", lambda v, rng: [[0, 1, 0]] * 7, sets), ("subset", lambda v, rng: [[0, 5]] * 7, sets),
            ("subset", lambda v, rng: [[-1, 0]] * 7, sets), ("subset", lambda v, rng: [[math.nan]] * 7, sets),
            ("subset", lambda v, rng: v, sets), ("subset", lambda v, rng: ["01"] * 7, sets),
            *(("value", f, "must take") for f in (lambda: 0, lambda *v: v, lambda *, v: v)),
            ("value", max, "has no readable signature")]  # fmt: skip
    with pytest.raises(ValueError):
        inspect.signature(max)
    assert issubclass(ClientError, ValueError)
    for (report, function, message), threads in itertools.product(rows, [1, 2]):
        with pytest.raises(ClientError, match=message):
            audit(
                Client(function, 5, report, 1.0, name="c"),
                trials=7,
                threads=threads,
                independent=True,
            )


def test_a_client_never_sees_memory_of_an_earlier_call_and_cannot_change_what_was_counted():
    handed, buffer, old, n = [], np.empty(2**16, int), [], 3 * 2**16

    def keeping(values, rng):
        assert all(not np.shares_memory(values, old) for old, _ in handed)
        assert all((old == copy).all() for old, copy in handed)
        handed.append((values, values.copy()))
        return values

    def reusing(values, rng):
        buffer[: len(values)] = values
        return buffer[: len(values)]

    def late(values, rng):
        for array in old:
            array[:] = 4
        old.append(values)
        return values.copy()

    for function in (keeping, reusing, late):
        found = audit(Client(function, 5, "value", 1.0), trials=n, independent=True)
        assert found.counts == {"tp": n, "fp": 0}, function
    assert [set(copy.tolist()) for _, copy in handed[:6]] == [{0}] * 3 + [{4}] * 3


def share(values, rng):
    """One of two shares of a bit, which is uniform whatever the bit."""
    return (values + rng.integers(0, 2, len(values))) % 2


def leaking(values, rng):
    return np.where(rng.random(len(values)) < 0.2, values, share(values, rng))


def test_perfect_hiding_is_a_claim_that_audits_of_clients_check(tmp_path, monkeypatch):
    """A share is accused by one of these three audits at alpha = .01 with probability .03 at most."""
    for function, status in ((share, "none found"), (leaking, "violation")):
        client = Client(function, 2, "value", epsilon=0.0)
        fixed = audit(client, "guess", trials=20_000, independent=True)
        sure = audit(client, "guess", until="sure", trials=2_000)
        learned = audit(
            Client(function, values=[0, 1], epsilon=0.0), "learned", until="sure", trials=1_000
        )
        assert [fixed.status, sure.status, learned.status] == [status] * 3
        assert fixed.claim == sure.claim == 0 and (fixed.lower > 0) == (status == "violation")
        for result in (fixed, sure, learned):
            assert json.loads(result.to_json())["claim"] == 0 and "<svg" in page(result)
    assert "more than the claimed 0" in fixed.verdict and "epsilon = 0 is refuted" in sure.verdict
    said = "no difference between the inputs is proved with 99 % confidence, and 0 allows none"
    assert (
        said
        in audit(Client(share, 2, "value", epsilon=0.0), trials=1_000, independent=True).verdict
    )
    with pytest.raises(AssertionError, match="epsilon = 0 is refuted"):
        assert_private(leaking, 0.0, inputs=[0, 1])
    for function, status in (("pads", "none found"), ("tells", "violation")):
        (tmp_path / "hiding.py").write_text(HIDING)
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, "hiding", raising=False)
        assert exact_client(load(f"hiding:{function}"), inputs=[0, 1], epsilon=0.0).status == status


HIDING = """
import random

def pads(bit):
    return bit ^ random.getrandbits(1)

def tells(bit):
    return bit if random.random() < 0.1 else random.getrandbits(1)
"""


def test_recordings_may_claim_perfect_hiding(tmp_path):
    draws, files = np.random.default_rng(1), []
    for value in (0, 1):
        for function in (share, leaking):
            files.append(tmp_path / f"{function.__name__}{value}.csv")
            files[-1].write_text(
                "\n".join(["report", *map(str, function(np.full(2_000, value), draws))])
            )
    for first, second, status in ((0, 2, "none found"), (1, 3, "violation")):
        recordings = recorded(files[first], files[second], "value", 0.0, k=2)
        assert audit(recordings, "guess", until="sure").status == status


def test_a_client_is_imported_by_its_dotted_path_or_refused():
    assert load("math:floor") is math.floor
    assert load("pathlib:Path.exists").__name__ == "exists"
    given, missing = "must be given as module:function", "cannot be imported: "
    for path, message in [("nonsense", given), (":f", given), ("math:", given),
                          ("math:no_such", missing + "AttributeError"), ("..math:pi", missing + "TypeError")]:  # fmt: skip
        with pytest.raises(ClientError, match=message):
            load(path, ClientError)
