"""The cause of a leak in words, and the seed that a program repeats. Clients leak grossly, so that
each violation is found within its reports."""

import json
import math
import sys

import numpy as np
import pytest

from ldpkit import Client, audit
from ldpkit.blackbox.clients import Program, recorded
from ldpkit.blackbox.clients.seeds import CLOCK, SAME, gains, known_seed
from ldpkit.blackbox.sequential import SequentialAudit
from ldpkit.blackbox.sequential.loop import SEED
from ldpkit.cli import main


def coin(values, rng, lie=0.1):
    return np.where(rng.random(len(values)) < lie, 1 - np.array(values), values).tolist()


def last_bits(values, rng):
    """Multiples of 2^-30 for one input, and all digits for the other."""
    noise = rng.normal(size=len(values))
    return [float(np.round(x * 2**30) / 2**30) if v else float(x) for x, v in zip(noise, values)]


def order(values, rng):
    return [["b", "a"] if v else ["a", "b"] for v in coin(values, rng)]


def length(values, rng):
    return [rng.integers(0, 10**6, 3 + v).tolist() for v in coin(values, rng)]


def keys(values, rng):
    return [{"b": 1, "a": 1} if v else {"a": 1, "b": 1} for v in coin(values, rng)]


def repeated(values, rng):
    return [[0.123456789, 0.987654321 * v] for v in values]


def kind(values, rng):
    return [(int, bool)[v](rng.integers(0, 2)) for v in coin(values, rng)]


def field(values, rng):
    return [{"own": v, "noise": float(rng.random())} for v in coin(values, rng)]


def budget_in_every_field(values, rng):
    """No field refutes the claim by itself, and any two of them do."""
    fields = [coin(values, rng, 1 / (1 + math.e)) for _ in "abcd"]
    return [dict(zip("abcd", row)) for row in zip(*fields)]


def noisy_bits(values, rng):
    """The bits of both inputs have half of the noise that they should have."""
    own = np.array(values)[:, None] == np.arange(6)
    return (own ^ (rng.random(own.shape) < 1 / (1 + math.e))).astype(int).tolist()


def shared_noise(values, rng):
    """Each field says something about the value, and both together all of it."""
    flips = rng.random(len(values)) < 1 / (1 + math.e)
    return [{"a": int(v ^ f), "b": "kept" if f == 0 else "lie", "n": int(n)}
            for v, f, n in zip(values, flips, rng.integers(9, size=len(values)))]  # fmt: skip


def two_fields(values, rng):
    return [{"a": a, "b": b, "noise": float(rng.random())}
            for a, b in zip(coin(values, rng), coin(values, rng))]  # fmt: skip


def rare(values, rng):
    """All reports of one input are the same, and so are most of the other one."""
    return [{"app": 1, "log": "value" if v and rng.random() < 0.1 else ""} for v in values]


LEAKS = {last_bits: "last digits", order: "order of the list", length: "length",
         keys: "order of keys", repeated: "a repeated report", kind: "form of numbers",
         field: "field own", two_fields: "fields a and b, each of which alone refutes the claim",
         budget_in_every_field: "",
         noisy_bits: "", shared_noise: "fields a and b together",
         rare: "field log", coin: ""}  # fmt: skip


@pytest.mark.parametrize("leak", LEAKS)
def test_a_cause_is_what_ends_the_leak_when_it_is_taken_away(leak):
    found = audit(Client(leak, values=[0, 1], epsilon=1.0), trials=3000)
    named = found.cause.rpartition("Cause: ")[2].rstrip(".")
    assert found.violated and named == LEAKS[leak], (found.cause, found.tried)
    assert found.to_dict()["cause"] == found.cause and bool(found.cause) == bool(named)
    assert found.cause in found.verdict and bool(found.tried) == (found.reports > 0)


def test_a_client_that_keeps_its_claim_has_no_cause():
    found = audit(Client(lambda v, rng: coin(v, rng, 0.3), values=[0, 1], epsilon=1.0), trials=300)
    assert not found.violated and found.cause == ""


def written(tmp_path, rows):
    """Recordings of two inputs, from a list of reports of each."""
    for name, own in zip("ab", rows):
        (tmp_path / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in own))
    return tmp_path / "a.jsonl", tmp_path / "b.jsonl"


def test_a_clock_that_decides_is_named_and_can_be_left_out(tmp_path):
    rng = np.random.default_rng(1)
    rows = [[{"ts": 9000 * i + t, "v": int(rng.integers(2))} for t in range(500)] for i in range(2)]
    paths = written(tmp_path, rows)
    found = SequentialAudit(recorded(*paths, "any", 1.0), "learned").run()[0]
    assert found.violated and "field ts" in found.event
    assert "Field ts only rises or only falls" in found.verdict and "--ignore ts" in found.verdict
    for kept in ({"ignore": ["ts"]}, {"fields": ["v"]}):
        less = SequentialAudit(recorded(*paths, "any", 1.0, **kept), "learned").run()[0]
        assert not less.violated and "only rises" not in less.verdict
        assert less.parameters.items() >= kept.items()
    shuffled = [[{**row, "ts": row["ts"] + int(rng.integers(400))} for row in own] for own in rows]
    found = SequentialAudit(recorded(*written(tmp_path, shuffled), "any", 1.0), "learned").run()[0]
    assert found.violated and "only rises" not in found.verdict
    for given, message in (
        ({"ignore": ["tss"]}, "field of the recordings must be one of ts, v, got 'tss'; did you mean 'ts'"),
        ({"ignore": ["ts"], "fields": ["v"]}, "give fields or ignore, not both"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            recorded(*paths, "any", 1.0, **given)


BODY = """
import json, random, sys
{begin}
for line in sys.stdin:
    v = json.loads(line)
    print(json.dumps({answer}), flush=True)
"""
NOISY = "v if random.random() < 0.7 else 1 - v"
MEMORY = "kept.setdefault(v, " + NOISY + ")"


def program(tmp_path, answer, begin="", **more):
    path = tmp_path / "client.py"
    path.write_text(BODY.format(begin=begin, answer=answer))
    given = {"values": [0, 1], "epsilon": 1.0, "name": "program"} | more
    return Client(Program([sys.executable, "-S", str(path)]), **given)


DENSE = "write = json.dumps\njson.dumps = lambda x: write(x, separators=',:' if v else None)"
NUMBER = "'n': random.randrange(9)"


@pytest.mark.parametrize(
    "answer, begin, cause",
    [
        (f"{{{NUMBER}, 'debug': 'yes' if v else 'no'}}", "", "field debug"),
        (f"{{'a': 'x', {NUMBER}}} if v else {{{NUMBER}, 'a': 'x'}}", "", "order of keys"),
        (f"{{'who': 'Ann', {NUMBER}}}", DENSE, "form of text"),
    ],
)
def test_a_line_is_written_again_when_something_is_taken_away(tmp_path, answer, begin, cause):
    """The length of a line gives away what a program writes into a field."""
    found = audit(program(tmp_path, answer, begin), trials=1000, explain=60.0)
    assert found.violated and f"Cause: {cause}." in found.cause, (found.cause, found.tried)


def test_a_missing_answer_is_a_cause():
    def silent(values, rng):
        return [[0], []][values[0] * int(rng.random() < 0.5)]

    found = audit(Client(silent, values=[0, 1], epsilon=1.0, time=True), trials=1000)
    assert found.violated and "Cause: calls without an answer." in found.cause, found.tried


def test_a_program_that_repeats_its_seed_is_refuted(tmp_path):
    found = audit(program(tmp_path, NOISY, "random.seed(1)"), trials=100)
    assert found.violated and found.cause == SAME.cause and SAME.sentence in found.verdict
    assert found.lower == 1.0
    cause = "Epsilon is above 1. Cause: the same seed at every start. The program has"
    assert cause in found.verdict
    assert sum(found.asked) == 0 and found.e_value >= 100 and found.stopped == "violation"
    found = audit(program(tmp_path, "random.random()", "random.seed(1)"), trials=100)
    assert found.status == "not valid" and "seed" in found.verdict and found.lower == 0


@pytest.mark.parametrize("answer", [NOISY, "random.random()"])
def test_a_seed_of_the_clock_is_another_fault_than_a_fixed_seed(tmp_path, answer):
    """Three starts have the same seed, and those more than a second later another one."""
    starts = (
        f"file = open({str(tmp_path / 'starts')!r}, 'a'); print(end='.', file=file, flush=True)"
    )
    begin = f"{starts}\nrandom.seed((file.tell() - 1) // 3)"
    found = audit(program(tmp_path, answer, begin), trials=100)
    assert "same seed" not in found.verdict and "the second of the clock" in found.verdict
    if found.violated:
        assert found.cause == CLOCK.cause and CLOCK.sentence in found.verdict
    else:
        assert found.status == "not valid" and answer != NOISY


def test_an_audit_with_a_known_event_notices_a_repeated_seed_too(tmp_path):
    for begin in ("random.seed(1)", ""):
        client = program(tmp_path, NOISY, begin, report="value", k=2, values=None)
        found = audit(client, "guess", trials=200)
        assert found.violated == (found.cause == SAME.cause) == bool(begin)


@pytest.mark.parametrize(
    "answer, begin",
    [(NOISY, ""), ("'hello'", ""), ("'hello'", "random.seed(1)"), (MEMORY, "kept = {}"), ("v", ""),
     ("len(line)", "random.seed(1)")],
)  # fmt: skip
def test_fresh_coins_constants_and_memory_are_no_seed(tmp_path, answer, begin):
    client = program(tmp_path, answer, begin)
    # a program draws its own coins; that 20 answers repeat has chance 1e-6
    wealth, seed = known_seed(client, [0, 1], math.log(1e4))
    assert seed is None and wealth <= 0
    found = audit(client, trials=60)
    assert found.cause != SAME.cause and found.status != "not valid"


def test_the_command_line_says_seed(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    for answer, status in ((NOISY, 1), ("random.random()", 4)):
        program(tmp_path, answer, "random.seed(1)")
        with pytest.raises(SystemExit) as ended:
            given = "--inputs [0,1] --epsilon 1".split()
            main(["audit", "--command", f"{sys.executable} client.py", *given])
        assert ended.value.code == status and "seed" in capfd.readouterr().out.splitlines()[-1]


def test_no_client_that_keeps_the_claim_wins_the_bet_on_average():
    """The bound in the docstring of `known_seed`, for distributions of every size, sharp ones included."""
    rng, tried = np.random.default_rng(1), 0
    for trial in range(20_000):
        epsilon, delta = rng.choice([0.1, 1.0, 3.0]), rng.choice([0.0, 0.05])
        k, odds = rng.integers(2, 5), math.exp(epsilon)
        p = rng.dirichlet(np.full(k, rng.choice([0.1, 1.0])))
        if trial % 2:
            q = np.minimum(p * odds, rng.dirichlet(np.full(k, rng.choice([0.1, 1.0]))))
        else:
            q = p * rng.choice([1, odds, 1 / odds], k)
        q /= q.sum()
        apart = max(np.maximum(p - odds * q, 0).sum(), np.maximum(q - odds * p, 0).sum())
        if apart > delta:
            continue
        some = rng.random(k) < 0.5 if trial % 3 else np.ones(k, bool)
        won, lost = map(math.exp, gains(epsilon, delta))
        same, differ = (p**2 * q)[some].sum(), (p**2 * (1 - q))[some].sum()
        # the wealth stays if both answers are alike but not new, and is lost if they differ
        assert won * differ + lost * same + (p**2)[~some].sum() <= 1 + 1e-12
        tried += 1
    assert tried > 5000


def test_the_bet_on_the_seed_is_paid_from_the_stake(tmp_path):
    run = SequentialAudit(program(tmp_path, NOISY), "learned").start()
    assert np.exp(run.shares).sum() == pytest.approx(1 - SEED)
    live = SequentialAudit(Client(coin, values=[0, 1], epsilon=1.0), "learned").start()
    assert np.exp(live.shares).sum() == pytest.approx(1)
