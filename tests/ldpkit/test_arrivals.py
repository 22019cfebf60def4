"""Arrival times and numbers of answers: what the audit finds with them, and what cannot mislead it."""

import gc
import itertools
import math
import re
import sys

import numpy as np
import pytest

from ldpkit import Client
from ldpkit.blackbox.clients import Program
from ldpkit.blackbox.clients.arrivals import ARRIVAL
from ldpkit.blackbox.sequential import SequentialAudit
from ldpkit.blackbox.sequential.sentence import hidden
from ldpkit.testing import assert_private

NOISE = 1e-5  # seconds, on average, of a call beyond the same time


class Clock:
    """A clock that stands still until something takes its time. No audit resets a class."""

    now = 0.0


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    monkeypatch.setattr(Clock, "now", 0.0)
    monkeypatch.setattr("time.perf_counter", lambda: Clock.now)


def late(delay=0.0, seed=5):
    """A client whose reports are noise, and which answers input 1 later."""
    rng = np.random.default_rng(seed)

    def send(value):
        Clock.now += NOISE * (1 + rng.exponential()) + delay * (value == 1)
        return int(rng.integers(3))

    return send


def started(function, trials, seed=1, inputs=(0, 1), **given):
    client = Client(function, values=list(inputs), epsilon=1.0, time=True)
    return SequentialAudit(client, "learned", trials=trials, **given).start(seed)


def audited(*given, **more):
    run = started(*given, **more)
    run.go()
    return run.result


def test_a_client_that_answers_one_input_later_is_refuted():
    found = audited(late(0.002), 300)
    assert found.violated and found.reports < 60 and ARRIVAL in found.event
    with pytest.raises(AssertionError, match="time=True") as failed:
        assert_private(late(0.002), inputs=[0, 1], time=True)
    assert f"Cause: field {ARRIVAL}." in str(failed.value)
    plain = Client(late(0.002), values=[0, 1], epsilon=1.0)
    assert not SequentialAudit(plain, "learned", trials=300).run()[0].violated


def several(value, rng):
    return [int(rng.integers(3)) for _ in range(1 + value[0])]


def no_answer(value, rng):
    return several([0], rng) * (value[0] == 0)


def several_by_and_by(value):
    yield 0
    if value:
        yield 0


@pytest.mark.parametrize("function", [several, no_answer, several_by_and_by])
def test_a_client_that_sends_more_answers_for_one_input_is_refuted(function):
    found = audited(function, 300)
    assert found.violated


LINES = "import sys\nfor line in sys.stdin: print('7\\n' * (1 + int(line)), end='', flush=True)"


def test_a_program_may_write_more_lines_only_if_they_are_counted():
    program = Program([sys.executable, "-ISuc", LINES])
    found = audited(program, 300)
    assert found.violated and "answer 2" in found.event
    with pytest.raises(ValueError, match="more than one line"):
        Client(program, values=[0, 1], epsilon=1.0).perturb([1], np.random.default_rng(1))


def test_lines_that_come_after_the_answer_are_told_with_the_next_one(monkeypatch):
    """Every look at the clock takes half a second."""
    monkeypatch.setattr("time.perf_counter", itertools.count(0.0, 0.5).__next__)
    program = Program(
        [sys.executable, "-ISuc", "import sys\nfor x in sys.stdin: print(x, end='', flush=True)"]
    )
    client = Client(program, values=[5, [6]], epsilon=1.0, time=True)
    first = client.perturb([0], None)[0]
    assert first.value == {"answer 1": 5, ARRIVAL: 0.5}
    with open(f"/proc/{program._running[0].pid}/fd/1", "wb", buffering=0) as output:
        output.write(b"8\n")
    later = client.perturb([1], None)[0]
    assert later.value == {"late answer 1": 8, "answer 1": [6], ARRIVAL: 0.5}
    assert later.text == "8\n[6]"


class Costly(dict):
    """An input whose copy takes time."""

    def __deepcopy__(self, memo):
        Clock.now += self["takes"]
        return Costly(self)


def test_neither_a_slow_start_nor_the_work_of_the_audit_accuses_a_client():
    """Four audits at level .01: wrong with probability .04, and always the same for the seeds."""
    inputs = [Costly(takes=0.0), Costly(takes=0.002)]
    for seed in range(1, 5):
        rng, count = np.random.default_rng(seed), itertools.count(1)

        def send(value):
            assert not gc.isenabled()
            Clock.now += NOISE * (rng.exponential() + 100 / next(count))
            return int(rng.integers(2))

        assert not audited(send, 150, seed, inputs).violated
    assert gc.isenabled()


RUNS = 12


def test_the_delay_that_the_noise_hides_follows_from_the_times():
    """A client with this delay is refuted with probability .9, fewer than 7 of 12 with probability
    5e-4. With a twentieth of it the claim e holds but for 4 % of the reports."""
    run = started(late(), 300)
    assert hidden(run) == math.inf
    run.go()
    delay = hidden(run)
    assert 0 < delay < 10 * NOISE
    for share, least, most in ((1, 7, RUNS), (0.05, 0, 5)):
        runs = [audited(late(share * delay, s), 300, s) for s in range(RUNS)]
        assert least <= sum(found.violated for found in runs) <= most


def test_the_verdict_says_whether_times_were_looked_at():
    run = started(late(), 1200)
    run.go()
    with_time = run.result.verdict
    assert "time of reports" not in with_time
    shown = float(re.search(r"more than (\S+) ms later", with_time)[1])
    assert math.isclose(shown, 1000 * hidden(run), rel_tol=0.05) and 0 < shown < 1
    plain = Client(late(), values=[0, 1], epsilon=1.0)
    without = SequentialAudit(plain, "learned", trials=1200).run()[0].verdict
    assert "time of reports" in without and "ms later" not in without
