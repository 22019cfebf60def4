"""Audits that stop when they are sure: what they conclude, when they stop, and that they may go on.
False alarms of tight nulls are compared with exact binomial tails at `P_MIN`."""

import functools
import importlib
import itertools
import json
import math
import re
from dataclasses import replace
from types import SimpleNamespace

import numba
import numpy as np
import pytest
from chance import P_MIN
from scipy import stats

from ldpkit import Client, audit, jit
from ldpkit.blackbox import betting
from ldpkit.blackbox.clients import recorded
from ldpkit.blackbox.curve import gdp
from ldpkit.blackbox.sequential import Declared, SequentialAudit
from ldpkit.blackbox.sequential.wealth import grid
from ldpkit.mechanisms import GRR, OUE, PCKVUE, KeyValues
from ldpkit.stats import down

ALPHA = 0.01


def _bits(mechanism, values, rng):
    return mechanism.perturb(values, rng)


def gauss(values, rng):
    """Gaussian noise, rounded, because the last bits of a float reveal the input."""
    return np.round(np.array(values) * 1.2 + rng.normal(size=len(values)), 3).tolist()


def leaking(k=10, epsilon=2.0, claim=1.0):
    """A client with twice the epsilon that it claims."""
    return Client(functools.partial(_bits, OUE(k, epsilon)), k, "bits", claim)


def test_a_leak_is_found_and_said():
    for attack in ("guess", "tight", ["guess", "tight"]):
        result = audit(leaking(), attack, until="sure", trials=10**5)
        assert result.status == result.stopped == "violation", attack
        assert result.e_value >= 1 / ALPHA and -(-sum(result.asked) // 2) == result.reports
        assert 20 < result.reports < 20_000 and "names" in result.event, attack
        assert json.loads(json.dumps(result.row(), allow_nan=False))["reports"] == result.trials
        path = result.trajectory
        assert path[0][0] == 8 and path[-1][0] == result.reports, attack


def test_a_kept_claim_is_approached_and_not_refuted():
    for given in ({}, {"faithful": True, "trials": 20_000}, {"pair": (3, 1)}):
        result = audit(GRR(5, 1.0), "tight", until="sure", **{"trials": 200_000} | given)
        assert (result.status, result.stopped) == ("none found", "budget spent"), given
        assert 0.85 < result.lower < 1.0 and result.e_value < 1 / ALPHA, given
        assert result.faithful is given.get("faithful", False)


def test_an_audit_stops_where_it_is_told_to():
    result = audit(GRR(5, 1.0), "tight", until="sure", within=0.2, trials=10**6)
    assert 0.8 <= result.lower < 1 and result.reports < 10**5
    assert result.stopped == "the bound is within 0.2 of the claim"
    slow = SequentialAudit(GRR(5, 1.0), "tight", max_time=0.0).run()[0]
    assert slow.stopped == "time is up" and slow.reports == 8
    result = audit(leaking(), "tight", until="sure", trials=4)
    assert result.status == "inconclusive" and "could show nothing" in result.verdict


def test_an_audit_that_was_kept_goes_on_as_if_it_had_never_stopped():
    few, curved = [[1], [9, 100], [8, 27, 2000, 2999]], {"curve": gdp(1.0), "band": [1.0]}
    noisy = Client(gauss, report="any", values=[0, 1], epsilon=4.0, delta=1e-4)
    for planned, all_cuts in (
        (SequentialAudit(GRR(5, 1.0), "tight", trials=3000), few),
        (SequentialAudit(leaking(claim=2.0), "tight", trials=3000), few),
        (SequentialAudit(noisy, "learned", trials=500, **curved), [[217]]),
    ):
        whole = planned.start(7)
        whole.go()
        for cuts in all_cuts:
            state = None
            for cut in cuts:
                part = planned.start(1 if state else 7, state)
                part.go(trials=cut)
                state = json.loads(json.dumps(part.state()))
            rest = planned.start(1, state)
            rest.go()
            assert rest.result.counts == whole.result.counts and rest.rounds == whole.rounds, cuts
            assert rest.result.lower == whole.result.lower and rest.stopped == whole.stopped, cuts
            for (_, one), (_, other) in zip(rest.bettors, whole.bettors):
                assert (one.wealth.logs == other.wealth.logs).all(), cuts
                assert (one.table.part("counts") == other.table.part("counts")).all(), cuts
            assert str(rest.result) == str(whole.result)
            if planned.curve is not None:
                assert rest.result.band == whole.result.band
                assert rest.result.tangent == pytest.approx(whole.result.tangent, abs=1e-9)


def test_an_audit_goes_on_after_a_violation_and_raises_the_bound():
    run = SequentialAudit(leaking(), "tight", trials=50_000).start()
    assert run.go() == "violation"
    assert run.go() == "budget spent"
    assert 1.6 < run.result.lower <= 2.0 and run.result.status == "violation"


@pytest.mark.parametrize("delta", [0.0, 0.05])
def test_a_bound_is_wrong_as_rarely_as_promised(delta):
    """An event on the edge of the claim, of which the audit is told other rates, so that it bets
    all the time: 300 audits of 1,000 reports of each input with alpha = .05. The claim is refuted
    as often as a binomial count with that rate allows at `P_MIN`; and not hardly ever."""
    claim, q, runs = (0.5 if delta else 1.0), 0.2, 300
    rates = math.exp(claim) * q + delta, q
    told = Declared(lambda reports: np.asarray(reports) == 1, "the report is 1", (0.65, 0.15))

    def flip(values, rng):
        return (rng.random(len(values)) < np.where(values == 0, *rates)).astype(int)

    asked = Client(flip, 2, "value", claim, delta)
    audit = SequentialAudit(asked, told, trials=1000, alpha=0.05)
    found = [audit.run(seed)[0] for seed in range(runs)]
    wrong = sum(result.violated for result in found)
    assert stats.binom.sf(wrong - 1, runs, 0.05) > P_MIN
    assert wrong > 2 and all(result.violated == (result.lower >= claim) for result in found)


def test_a_bound_ends_at_the_first_claim_that_is_not_refuted():
    """A larger claim may be refuted by chance; there are many of them, but one level."""
    run = SequentialAudit(leaking(), "tight", trials=1000).start()
    most = np.full(run.claims.values.size, run.goal)
    most[[3, run.claims.at]] = -1.0
    assert run.lower(most) == run.claims.values[2]
    run.main.wealth.best = math.inf  # the claim itself is refuted, which implies all below it
    assert run.lower(most) == run.claims.values[-1]


def test_declared_rates_are_as_fast_as_they_can_be():
    """The mean of 150 audits is at most 15 % above the bound for any bet, up to 5 standard errors."""
    rates = (0.6, 0.1)
    event = Declared(lambda reports: reports == 1, "the report is 1", rates)

    def flip(values, rng):
        return (rng.random(len(values)) < np.where(values == 0, *rates)).astype(int)

    planned = SequentialAudit(Client(flip, 2, "value", 1.0), event, pair=(0, 1), alpha=0.05)
    low = -math.log(0.05) / betting.joint_growth(*rates, 1.0)
    used = np.array([planned.run(seed)[0].reports for seed in range(150)])
    error = 5 * used.std() / math.sqrt(used.size)
    assert low - error <= used.mean() <= 1.15 * low + error
    unknown = Declared(event.function, event.words)
    plain = SequentialAudit(Client(flip, 2, "value", 1.0), unknown, both=False, alpha=0.05)
    found = [plain.run(seed)[0].reports for seed in range(50)]
    assert np.mean(found) <= 1.9 * -math.log(0.05) / betting.linear_growth(*rates, 1.0)[0] * 1.3


def test_all_pairs_share_one_wealth_and_the_leading_one_is_named():
    def leaks(values, rng):  # of value 2 only
        return np.where(values == 2, 2, GRR(4, 0.5).perturb(np.minimum(values, 1), rng))

    client = Client(leaks, 4, "value", 1.0)
    result = SequentialAudit(client, "tight", inputs=(0, 1, 2, 3), trials=5000).run()[0]
    assert result.violated and 2 in result.pair and len(result.directions) == 12


class Records:
    """Key-value records of two users who differ in all they hold: a source of one's own."""

    name, parameters, delta, repeats, independent = "PCKV-UE", {}, 0.0, True, True

    def __init__(self, mechanism, claim):
        self.mechanism, self.epsilon = mechanism, claim

    def draw(self, inputs, n, rng):
        sets = [KeyValues.of([[held]] * n, self.mechanism.k) for held in inputs]
        return [self.mechanism.perturb(one, rng) for one in sets]


def test_any_event_of_key_value_records_can_be_bet_on():
    source = Records(PCKVUE(4, 3.0), 1.0)
    event = Declared(lambda reports: np.asarray(reports)[:, 0] == 1, "key 0 has value 1")
    given = {"pair": ((0, 1.0), (3, -1.0)), "trials": 5000}
    assert SequentialAudit(source, event, **given).run()[0].violated
    source = Records(PCKVUE(4, 3.0), 3.0)
    kept = SequentialAudit(source, event, **given).run()[0]
    assert kept.status != "violation" and kept.lower > 0.5


def clear(values, rng):
    """Send the input itself."""
    return np.array(values)


def test_a_claim_is_one_of_those_that_are_rejected_to_the_last_bit():
    for claim in [i / 100 for i in range(1, 500)] + [10.7]:
        values = grid(claim)
        assert claim in values and (np.diff(values) > 0).all() and values.max() >= 1.99 * claim
    for claim in (0.23, 0.41, 0.46, 0.94, 1.61, 3.79):
        result = audit(Client(clear, 2, "value", claim), "tight", until="sure", trials=10**5)
        assert result.violated and result.status == result.stopped == "violation", claim
        assert result.e_value >= 1 / ALPHA and result.row()["violated"], claim
        assert f"epsilon = {claim:g} is refuted" in result.verdict


def test_nothing_that_a_slow_client_made_is_thrown_away():
    made = []

    def slow(value):
        made.append(value)
        return int(value) if len(made) % 3 else 1 - int(value)

    result = audit(Client(slow, 2, "value", 5.0), "tight", until="sure", trials=3000)
    assert result.stopped == "budget spent" and len(made) == sum(result.asked) == 6000


def test_rates_are_those_of_the_event_in_reports_that_it_was_bet_on():
    """A client that tells the truth with probability .9 where .73 is allowed; an error of .15 in
    the rate of at least 40 reports has probability below 1e-3 at this seed's number of reports."""
    client = Client(functools.partial(_bits, GRR(2, math.log(9))), 2, "value", 1.0)
    result = SequentialAudit(client, "learned", trials=5000).run(3)[0]
    counts, rates = result.counts, result.rates
    assert result.violated and "epsilon_emp" not in result.row()
    assert rates["tpr"] == counts["tp"] / counts["first"] and abs(rates["tpr"] - 0.9) < 0.2
    assert rates["fpr"] == counts["fp"] / counts["second"] and abs(rates["fpr"] - 0.1) < 0.2
    assert counts["first"] + counts["second"] <= sum(result.asked)


def test_a_state_is_of_use_to_its_own_audit_only(tmp_path):
    planned = SequentialAudit(leaking(claim=0.5), "tight", trials=100)
    run = planned.start()
    run.go()
    state = json.loads(json.dumps(run.state()))
    own = leaking(claim=0.5)
    for name, target, attack, given in [
        ("epsilon", leaking(claim=1.5), "tight", {}), ("alpha", own, "tight", {"alpha": 0.05}),
        ("delta", own, "tight", {"delta": 0.1}), ("curve", own, "learned", {"curve": gdp(1.1)}),
        ("inputs", own, "tight", {"pair": (3, 4)}), ("attack", own, "guess", {}),
        ("arguments", leaking(epsilon=3.0, claim=0.5), "tight", {}),
        ("client", Client(clear, 10, "bits", 0.5), "tight", {}),
        ("object", Client(OUE(10, 2.0).perturb, 10, "bits", 0.5), "tight", {}),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match=f"same audit: .*{name} was "):
            SequentialAudit(target, attack, **given).start(1, state)
    with pytest.raises(ValueError, match="release was '0'"):
        planned.start(1, state | {"about": state["about"] | {"release": "0"}})
    assert planned.start(1, state).rounds == state["rounds"]


def test_rates_are_learned_by_coins():
    """A client of epsilon 1.2 that claims 1, and an event that its audit knows no rates of: the
    mean of 40 audits is at most 1.35 times the limit of the event, up to 4 standard errors. Linear
    stakes alone need 1.9 times that limit."""
    client = Client(functools.partial(_bits, GRR(2, 1.2)), 2, "value", 1.0)
    planned = SequentialAudit(client, "tight", trials=10**5, alpha=1e-4)
    used = np.array([planned.run(seed)[0].reports for seed in range(40)])
    rates = math.exp(1.2) / (1 + math.exp(1.2)), 1 / (1 + math.exp(1.2))
    limit = math.log(1e4) / betting.joint_growth(*rates, 1.0)
    assert used.mean() <= 1.35 * limit + 4 * used.std() / math.sqrt(used.size)


def test_bounds_are_never_rounded_up():
    found = [down(0.99996), down(0.5, 6), down(1e-9), down(101.7, 0)]
    assert found == "0.9999 0.500000 0.0000 101".split()
    shown = {(1 + 2**-15, 1.0): "1.00003", (2 / 3, 2 / 3): "0.666667", (0.1234562, 0.123456): "0.1234562",
             (0.99999, 1.0): "0.9999", (1.2, 1.0): "1.1999"}  # fmt: skip
    assert {pair: down(pair[0], claim=pair[1]) for pair in shown} == shown
    found = replace(audit(GRR(5, 1.0), "tight", trials=1000), lower=1 + 2**-15)
    assert "at least epsilon = 1.00003, more than the claimed 1." in found.verdict
    assert found.lines()["lower"].startswith("1.00003 ")


def lies(rate, values, rng):
    return np.where(rng.random(len(values)) < rate, 1 - np.array(values), values).tolist()


@pytest.mark.parametrize("claim", [0.1234567, 0.3, 2 / 3, 1.0, 2.2])
@pytest.mark.parametrize("curve", [False, True])
def test_a_refuted_claim_and_its_bound_never_contradict_each_other(claim, curve):
    """Everything that is printed is compared, as numbers."""
    refuted = 0
    for rate, seed in itertools.product((0.0, 0.02, 0.1), range(1, 4)):
        for attack in ["learned"] if curve else ["learned", "tight"]:
            form = {"k": 2, "report": "value"} if attack == "tight" else {"values": [0, 1]}
            client = Client(functools.partial(lies, rate), epsilon=claim, **form)
            given = {"curve": gdp(claim)} if curve else {}
            found = SequentialAudit(client, attack, trials=1000, **given).run(seed)[0]
            lower = found.mu_lower if curve else found.lower
            assert found.violated == (lower >= claim)
            if found.violated:
                pattern = r"No mu below (\S+) is" if curve else r"Epsilon is above (\S+)\."
                printed, table = re.search(pattern, found.verdict)[1], found.lines()["lower"]
                assert float(printed) >= float(f"{claim:g}") and printed in table, found.verdict
                refuted += 1
    assert refuted > 4


MODULES = [
    f"ldpkit.blackbox.sequential.{name}" for name in ("wealth", "records", "experts", "table")
]


class Clock:
    """A clock that stands still until something takes its time."""

    now = 0.0

    def __init__(self, monkeypatch):
        monkeypatch.setattr("time.perf_counter", lambda: self.now)

    def slow(self, seconds):
        """A client in the clear whose reports take so long."""

        def send(value):
            self.now += seconds
            return value

        return send


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


def recordings(folder):
    """Reports of two inputs in the clear."""
    paths = [folder / "0.jsonl", folder / "1.jsonl"]
    for value, path in enumerate(paths):
        path.write_text(f"{value}\n" * 90)
    return recorded(*paths, "any", 1.0)


@pytest.mark.parametrize(
    "target, given",
    [
        (lambda _: Client(lambda v, rng: v, values=[0, 1], epsilon=1.0), {}),
        (lambda _: Client(lambda v, rng: [[x, {"a": x / 3}, "b" * x] for x in v], values=[0, 1, 2], epsilon=1.0), {}),
        (lambda _: Client(lambda v, rng: v, 4, "value", 1.0), {"attack": ["tight", "learned"]}),
        (lambda _: Client(lambda v, rng: np.eye(4, dtype=int)[v], 4, "bits", 1.0), {"attack": "guess"}),
        (lambda _: Client(lambda v, rng: v, values=[0, 1], epsilon=1.0), {"curve": gdp(1.0)}),
        (recordings, {}),
        (lambda _: OUE(3, 1.0), {"attack": ["guess", "learned"], "faithful": True}),
    ],
)  # fmt: skip
def test_the_clock_stands_still_while_kernels_are_compiled(
    clock, monkeypatch, tmp_path, target, given
):
    """To compile for new types takes a minute, as if nothing was compiled before."""
    known, call = set(), jit._Lazy.__call__
    compiling = SimpleNamespace(done=True, duration=0.0)

    def first(kernel, *arguments):
        key = kernel.__qualname__, *map(numba.typeof, arguments)
        minute = 60 * (key not in known)
        clock.now += minute
        compiling.duration += minute
        known.add(key)
        return call(kernel, *arguments)

    monkeypatch.setattr(jit._Lazy, "__call__", first)
    monkeypatch.setattr(jit, "_timer", compiling)
    plan = {"attack": "learned", "trials": 60, "max_time": 8.0} | given
    result = SequentialAudit(target(tmp_path), **plan).run()[0]
    assert known and result.seconds == 0 and result.stopped in ("violation", "budget spent")


def record(values, rng):
    draw = rng.random(len(values))
    fields = zip(values.tolist(), draw, rng.integers(0, 2, (len(values), 6)).tolist())
    return [{"v": v if u < 0.6 else 0, "n": v + u, "b": bits, "s": "ab"[int(u < 0.5)]} for v, u, bits in fields]  # fmt: skip


@pytest.mark.parametrize("k, delta", [(2, 0.0), (5, 0.0), (2, 0.05)])
def test_kernels_give_the_same_bits_interpreted_and_compiled(monkeypatch, k, delta):
    """Otherwise a result would depend on what the machine has compiled before."""
    client, states = Client(record, k, epsilon=1.0, delta=delta), []
    for patience, kept in ((math.inf, False), (0.0, True)):
        monkeypatch.setattr(jit, "PATIENCE", patience)
        monkeypatch.setattr(jit._Lazy, "_ready", lambda kernel, kept=kept: kept)
        for module in (betting, *map(importlib.import_module, MODULES)):
            for kernel in vars(module).values():
                if isinstance(kernel, jit._Lazy):
                    monkeypatch.setattr(kernel, "_deferred", True)
                    monkeypatch.setattr(kernel, "_spent", 0.0)
        run = SequentialAudit(client, "learned", trials=30).start(2)
        run.go()
        states.append(run.state() | {"seconds": 0})
    assert states[0] == states[1]


def test_no_audit_ends_by_time_before_it_can_refute_a_client_in_the_clear(clock):
    """About 21 reports of each input are needed."""
    plan = {"attack": "learned", "trials": 10**6, "max_time": 8.0}
    one = SequentialAudit(Client(clock.slow(0.3), values=[0, 1], epsilon=1.0), **plan).run()[0]
    assert one.violated and 8 < one.seconds < 16
    client = Client(lambda v: clock.slow(0.1)(0), values=[0, 1], epsilon=1.0)
    two = SequentialAudit(client, **plan).run()[0]  # enough reports, and none of them a violation
    assert two.stopped == "time is up" and 8 <= two.seconds < 9
    client = Client(clock.slow(2), values=[0, 1], epsilon=1.0)
    three = SequentialAudit(client, **plan).run()[0]
    assert three.status == "inconclusive" and three.stopped == "time is up" and three.seconds >= 16
