"""What an audit concludes, in words and as an exit status: violation, nothing found, inconclusive,
not valid. Seeds are fixed; honest audits are warned about with probability 2e-6 each."""

import itertools
import json
import math
import sys

import numpy as np
import pytest

from ldpkit import Client, audit, stats
from ldpkit.attacks.gradient import dummy
from ldpkit.auditors import Audit, GradientAudit, KVAudit, ShuffleAudit, audits, rad_result
from ldpkit.auditors.result import STATUSES, AuditResult, too_few
from ldpkit.mechanisms import AGRR, GRR, LDPSGD, OUE, PCKVUE, FaultyUE

CLIENTS = """
import numpy as np

def swapped(values, rng):
    return np.where(rng.random(len(values)) < 0.3, 9 - values, rng.integers(0, 10, len(values)))
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    (tmp_path / "verdict_clients.py").write_text(CLIENTS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    yield tmp_path
    sys.modules.pop("verdict_clients", None)


def test_both_directions_share_alpha_and_the_first_keeps_its_counts():
    for faithful in (False, True):
        given = {"trials": 20_000, "seed": 3, "faithful": faithful, "pair": (2, 5)}
        two, one = (audit(OUE(10, 1.0), "tight", both=both, **given) for both in (True, False))
        assert two.pair == one.pair == (2, 5) and (two.questions, one.questions) == (2, 1)
        assert (two.counts, two.rates) == (one.counts, one.rates)
        assert two.epsilon_emp == one.epsilon_emp
        assert [d["pair"] for d in two.directions] == [(2, 5), (5, 2)] and len(one.directions) == 1
        for shown, tail in ((two, 0.01 / 4), (one, 0.01 / 2)):
            counts = [(d["tp"], d["fp"], 20_000) for d in shown.directions]
            ends = [max(0, stats.epsilon_lower(*count, tail=tail)) for count in counts]
            assert [d["lower"] for d in shown.directions] == ends and shown.lower == max(ends)
        # as the paper computes it, at the full alpha
        first = stats.epsilon_lower(two.counts["tp"], two.counts["fp"], 20_000, tail=0.01 / 4)
        assert two.epsilon_emp == first == two.directions[0]["epsilon_emp"]
        assert two.directions[1]["tp"] != two.counts["tp"]


def test_the_second_direction_finds_what_the_first_cannot():
    def one_sided(values, rng):  # value 9 alone ever sends 9
        shown = (values == 9) & (rng.random(len(values)) < 0.3)
        return np.where(shown, 9, rng.integers(0, 9, len(values)))

    client = Client(one_sided, 10, "value", 1.0)
    assert audit(client, trials=5000, independent=True).violated
    assert not audit(client, trials=5000, both=False, independent=True).violated
    row = audit(FaultyUE(5, 1.0, "OUE"), "tight", trials=50_000).row()
    assert row["violated"] and row["directions"][1]["pair"] == [4, 0]


def test_grids_ask_both_directions_unless_told():
    given = {"mechanism": "GRR", "k": 5, "epsilon": 1.0, "trials": 1000}
    one, two = (Audit.cell(both=both, **given)[0] for both in (False, True))
    assert two == Audit.cell(**given)[0]
    assert one["lower"] != two["lower"] and one["tp"] == two["tp"] and one["status"] in STATUSES
    left_out = {"pair", "directions", "warnings", "verdict", "questions", "seconds"}
    assert not left_out & one.keys()


def test_several_pairs_and_attacks_divide_alpha_by_their_number(call):
    text = "audit --mechanism GRR --k 5 --epsilon 1 --trials 5000 --pair 0 1 --pair 2 3 --attack guess --attack tight"
    status, out, err = call(text + " --json")
    printed = [json.loads(line) for line in out.splitlines()]
    names, pairs = ["guess", "tight"], ((0, 1), (2, 3))
    asked = [([*pair], name) for pair in pairs for name in names]
    assert (status, err) == (0, "") and [(r["pair"], r["attack"]) for r in printed] == asked
    given = {"trials": 5000, "questions": 4}
    own = [r for p in pairs for r in audits(GRR(5, 1.0), names, pair=p, **given)]
    for row, result in zip(printed, own):
        wanted = json.loads(result.to_json())
        assert row | {"seconds": 0} == wanted | {"seconds": 0} and row["questions"] == 8
        counts = [(d["tp"], d["fp"]) for d in row["directions"]]
        ends = [stats.epsilon_lower(tp, fp, 5000, tail=0.01 / 8 / 2) for tp, fp in counts]
        assert row["lower"] == max(0, *ends)
    shown = call(text)[1]
    assert shown.count("at level 0.99, shared by 8 questions") == 4
    assert "2 against 3, and 3 against 2" in shown


def test_as_many_reports_as_it_says_would_be_enough():
    cases = (10**6, 20, 0.0025), (10, 5.0, 0.005), (1, 0.001, 0.005), (1000, 29.9, 1e-6)
    for trials, claim, tail in cases:

        def ceiling(n):
            return stats.epsilon_ceiling(n, tail=tail)

        text = too_few(ceiling, trials, claim)
        needed = int(text.split("about ")[1].split(" reports")[0].replace(",", ""))
        assert ceiling(trials) <= claim < ceiling(needed), claim
        assert ceiling(int(needed * 0.88)) <= claim  # to two digits
        assert too_few(ceiling, needed, claim) == too_few(ceiling, trials, math.inf) == "", claim
        assert "no number of reports" in too_few(lambda n: 1.0, trials, 2.0)


def test_an_audit_that_could_hardly_refute_the_claim_is_inconclusive_and_says_why():
    unseen = "the event was never seen under either input"
    for mechanism, given, why in [
        (GRR(5, 20.0), {"trials": 10**6}, "and the claim is 20; about"),
        (OUE(1000, 1.0), {"trials": 5}, unseen), (OUE(1000, 1.0), {"trials": 5, "faithful": True}, unseen),
        (GRR(100, 1.0), {"trials": 100_000, "delta": 0.5}, "delta = 0.5 is no less than the event's share"),
    ]:  # fmt: skip
        found = audit(mechanism, **given)
        assert found.status == "inconclusive" and why in found.verdict, mechanism
        assert "are needed" in found.verdict or "no number of reports" in found.verdict, mechanism
    for mechanism in (GRR(5, 8.0), AGRR(5, 1.0, 0.01)):
        assert audit(mechanism, trials=10**6).status == "none found"


def test_inputs_that_are_numbered_differently_are_noticed():
    """pure-ldp maps value v to index v - 1 unless told otherwise: value 0 becomes the last."""

    def encode(values, rng):
        bits = rng.random((len(values), 10)) < 1 / (math.e + 1)
        bits[np.arange(len(values)), values - 1] = rng.random(len(values)) < 0.5
        return bits

    client = Client(encode, 10, "bits", 1.0)
    for attack, seed in itertools.product(("guess", "tight"), range(15)):
        found = audit(client, attack, trials=50_000, seed=seed, independent=True)
        assert found.status == "inconclusive", (attack, seed)
        assert "inputs swapped or numbered differently?" in found.warnings[0], (attack, seed)
        assert found.verdict.startswith(
            "Inconclusive: the event is likelier under the other input."
        )


def test_nobody_is_warned_by_chance():
    for seed in range(100):
        for mechanism in (GRR(4, 0.01), OUE(4, 0.01)):
            assert audit(mechanism, "tight", trials=2000, seed=seed).warnings == ()


def test_every_auditor_says_when_it_has_too_few_reports():
    kv = PCKVUE(2, 6.0)
    for weak, strong in [
        (
            GradientAudit(LDPSGD(16, 8.0), dummy(16)).run()[0],
            GradientAudit(LDPSGD(16, 2.0), dummy(16)).run()[0],
        ),
        (ShuffleAudit(2.0, 974, trials=1).run()[0], ShuffleAudit(2.0, 974, trials=2000).run()[0]),
        (rad_result(3, 3, 10, claim=3.0), rad_result(3000, 30_000, 10, claim=3.0)),
        (KVAudit(kv, trials=1000).run()[0], KVAudit(kv).run()[0]),
        (
            KVAudit(kv, trials=1000, estimator="split").run()[0],
            KVAudit(kv, estimator="split").run()[0],
        ),
    ]:
        assert (weak.status, strong.status) == ("inconclusive", "none found"), weak
        assert "are needed" in weak.verdict, weak
        row = weak.row()
        assert (row["status"], row["verdict"]) == ("inconclusive", weak.verdict), weak


def test_status_and_verdict_agree():
    base = {
        "mechanism": "X", "parameters": {}, "attack": "guess", "trials": 10, "alpha": 0.05, "seed": 1, "faithful": False,
        "counts": {}, "rates": {}, "epsilon_emp": 0.0, "lower": 0.0, "exact": None, "exact_sd": None, "claim": 1.0,
    }  # fmt: skip
    for given, status, words in [
        ({}, "none found", "No violation found: "),
        ({"lower": 2.0}, "violation", "VIOLATION: "),
        ({"inconclusive": "too few"}, "inconclusive", "Inconclusive: too few."),
        ({"lower": 2.0, "inconclusive": "too few"}, "violation", "VIOLATION: "),
        ({"lower": 2.0, "invalid": "shared"}, "not valid", "Not a valid audit: shared."),
        ({"claim": math.inf, "lower": 2.0}, "none found", "No epsilon is claimed; "),
    ]:
        found = AuditResult(**base | given)
        assert (found.status, found.violated) == (status, status == "violation"), given
        assert found.verdict.startswith(words), given


def test_one_table_of_statuses_holds_for_every_command(call, here):
    own = "audit --epsilon 1 --k 10 --client verdict_clients"
    wrong = []
    for text, status, strict in [
        ("audit --mechanism OUE --k 5 --epsilon 1 --trials 1000", 0, 0),
        ("audit --mechanism FaultyUE --k 5 --epsilon 1 --attack tight --trials 50000", 1, 1),
        ("audit --mechanism OUE --k 5 --epsilon 20 --trials 1000", 0, 3),
        (f"{own}:swapped --report value --trials 2000 --independent", 0, 3),
        (f"{own}:swapped --report value --trials 2000", 1, 1),  # the event of the other input, too
        (f"{own}:nobody --report value", 2, 2),
        ("audit-kv --mechanism pckv-ue --epsilon 1 --users 1e6", 0, 0),
        ("audit-kv --mechanism pckv-ue --epsilon 6 --users 1000", 0, 3),
        ("audit-gradient --adversary dummy --dimension 16 --epsilon 1", 0, 0),
        ("audit-gradient --adversary dummy --dimension 16 --epsilon 8", 0, 3),
        ("audit-shuffle --epsilon 2 --clients 974 --trials 2", 0, 3),
        ("rad --m 10 --epsilon 3 --successes 3000 --reports 30000", 0, 0),
        ("rad --m 10 --epsilon 3 --successes 3 --reports 3", 0, 3),
        ("rad --m 10 --epsilon 1 --successes 30000 --reports 30000", 1, 1),
        # of several audits the gravest status counts
        ("audit --mechanism FaultyUE --k 25 --epsilon 1 --trials 1e5 --attack guess --attack tight", 1, 1),
    ]:  # fmt: skip
        found = call(text), call(f"{text} --strict")
        if (found[0][0], found[1][0]) != (status, strict):
            wrong.append((text, found))
    assert wrong == []
    said = found[1][1]  # of the last
    assert "VIOLATION" in said and "No violation found" in said


def test_what_cannot_be_done_is_status_4_in_one_line(call, monkeypatch):
    errors = OSError(28, "No space left on device"), MemoryError(), RuntimeError("of some kind")
    for error in errors:

        def failing(*given, **named):
            raise error

        monkeypatch.setattr(Audit, "run", failing)
        status, out, err = call("audit --mechanism GRR --k 5 --epsilon 1")
        assert (status, out) == (4, "") and err.startswith("ldpkit: "), error
        assert err.count("\n") == 1 and "Traceback" not in err, error


def test_warnings_stand_in_text_and_json(call, here):
    text = "audit --client verdict_clients:swapped --report value --k 10 --epsilon 1 --trials 2000"
    text += " --independent"
    printed = json.loads(call(text + " --json")[1])
    assert len(printed["warnings"]) == 2
    assert printed["status"] == "inconclusive" and printed["pair"] == [0, 9]
    assert sum(line.startswith("warning ") for line in call(text)[1].splitlines()) == 2


def test_sentences_name_the_values_of_a_client_and_not_their_positions():
    last = {"blue": 0}

    def one(value, rng):  # a report about blue is 7 more than the one before about blue
        last["blue"] += 7 * (value == "blue")
        return last["blue"] if value == "blue" else int(rng.integers(10**9))

    values = ["red", "green", "blue"]
    client = Client(lambda given, rng: [one(v, rng) for v in given], values=values, epsilon=1.0)
    found = audit(client, trials=1000)
    leads = "('red', 'green', 'blue'); 'blue' against the others leads."
    assert f"Asked were 3 inputs {leads}" in found.verdict
    assert "that of the last report of input 'blue'" in found.event
