"""Bets of experts: they are fair under the claim, they win where a client breaks it, and no report
changes what was bet before. Seeds are fixed; the false-alarm rate of each limit stands beside it."""

import itertools
import math

import numpy as np
import pytest
import scipy
from chance import P_MIN
from entry_clients import CLEAR, CORRECT, FINITE, answer, rarely, shares

from ldpkit import Client
from ldpkit.blackbox import curve
from ldpkit.blackbox.betting import joint_growth
from ldpkit.blackbox.sequential import Declared, SequentialAudit
from ldpkit.blackbox.sequential.bettor import Bettor
from ldpkit.blackbox.sequential.columns import read
from ldpkit.blackbox.sequential.experts import CAUTION, stakes
from ldpkit.blackbox.sequential.table import Table
from ldpkit.blackbox.sequential.wealth import Claims

ALPHA = 0.01


def client(function, inputs=2, seed=5, epsilon=1.0, **given):
    """A client of reports of any form; `function` is as in `entry_clients`."""
    rng, count = np.random.default_rng(seed), iter(range(10**9))
    one = lambda v: function(v, rng, next(count))  # noqa: E731
    return Client(one, report="any", values=[*range(inputs)], epsilon=epsilon, **given)


def learned(function, trials, inputs=2, seed=1, alpha=ALPHA, **given):
    asked = client(function, inputs, seed + 4, **given)
    audit = SequentialAudit(asked, "learned", trials=trials, alpha=alpha, explain=0.0)
    return audit.run(seed)[0]


# --- fairness -------------------------------------------------------------------------------------
def largest_mean(factors, epsilon, delta):
    """The largest mean of a factor (cells, inputs) over all rates that keep the claim."""
    cells, k = factors.shape
    pairs = [*itertools.permutations(range(k), 2)]
    size = k * cells + len(pairs) * cells  # rates, and positive parts of their differences
    rows, bounds = [], []
    for m, (i, j) in enumerate(pairs):
        parts = k * cells + m * cells + np.arange(cells)
        total = np.zeros(size)
        total[parts] = 1
        rows.append(total)
        bounds.append(delta)
        for b in range(cells):
            row = np.zeros(size)
            row[i * cells + b], row[j * cells + b], row[parts[b]] = 1, -math.exp(epsilon), -1
            rows.append(row)
            bounds.append(0)
    sums = np.zeros((k, size))
    for x in range(k):
        sums[x, x * cells : (x + 1) * cells] = 1
    goal = np.zeros(size)
    goal[: k * cells] = -factors.T.ravel() / k
    best = scipy.optimize.linprog(goal, np.array(rows), bounds, sums, np.ones(k), method="highs")
    assert best.status == 0
    return -best.fun


def test_the_mean_of_every_factor_is_at_most_one():
    """By linear programmes, through the compiled stakes; the divisor cannot be smaller."""
    rng, found = np.random.default_rng(1), []
    for trial in range(300):
        k, cells = int(rng.integers(2, 6)), int(rng.integers(2, 9))
        epsilon, delta = rng.choice([0, 0.1, 1, 3]), rng.choice([0, 1e-3, 0.05, 0.3])
        hist = rng.integers(0, rng.choice([3, 20, 400]), (cells, k)).astype(float)
        hist *= rng.random((cells, k)) < 0.8
        logs, line = np.zeros((cells, k, 1)), (np.exp([epsilon]), np.array([delta]))
        stakes(hist, *line, CAUTION * (trial % 3 > 0), False, logs)
        if logs.any():
            found.append(largest_mean(np.exp(logs[..., 0]), epsilon, delta))
    assert len(found) > 100 and max(found) <= 1 + 1e-9  # what the programmes resolve
    assert np.median(found) > 0.999


def test_stakes_of_known_rates_win_as_fast_as_any_bet_can():
    """On one event, against one direction of the claim; a coarse search of a loses 4 % at most."""
    for p, q, epsilon in ((0.5, 0.119, 1.0), (0.6, 0.1, 1.0), (0.1, 0.01, 1.0), (0.35, 0.05, 1.0)):
        hist, logs = np.array([[1 - p, 1 - q], [p, q]]), np.zeros((2, 2, 1))
        stakes(hist, np.exp([epsilon]), np.zeros(1), 0.0, False, logs)
        assert (hist * logs[..., 0]).sum() >= 0.96 * joint_growth(p, q, epsilon)


def test_a_report_changes_no_earlier_bet_and_no_bet_of_its_own():
    """Reports of the other input are swapped in at the end of a block."""
    rng = np.random.default_rng(3)
    made = [CLEAR["dict_70_fields"](int(x), rng, 0) for x in rng.integers(0, 2, 40)]
    sides = rng.integers(0, 2, 40)

    def course(last):
        bettor = Bettor(Claims((1.0, 0.0), None, np.zeros(0)), math.inf, 2)
        reports, logs = [*made[:39], last], []
        for begin, end in ((0, 16), (16, 40)):
            some, own = reports[begin:end], sides[begin:end]
            for i in range(len(own)):
                part, one = [some[i]], own[i : i + 1]
                none = np.zeros((1, 0), np.int64)
                bettor.see(read(part, begin + i), part, one, none, False)
                logs.append(bettor.wealth.log)
            if end == 16:
                bettor.end_block()
        return np.array(logs)

    one, other = course(made[39]), course({"something": "else"})
    assert (one[:39] == other[:39]).all() and one[38] != 0


@pytest.mark.parametrize("name", ["gdp", "ordered"])
def test_curves_are_bet_against_by_lines_that_they_imply(name):
    claim = curve.gdp(1.0) if name == "gdp" else curve.lines([0.0, 1.0], [0.4, 0.1], both=False)
    claims = Claims(claim.implied, claim, np.array([1.0]))
    assert claims.ordered == (name == "ordered")
    own = claims.of == claims.at
    for grown, delta in zip(claims.grown[own], claims.delta[own]):
        assert claim.delta(math.log(grown)) <= delta + 1e-12


# --- false alarms ---------------------------------------------------------------------------------
def edge(values, rng):
    """Randomised response at the claim."""
    return (np.array(values) ^ (rng.random(len(values)) < 1 / (1 + math.e))).tolist()


def edge_of_delta(values, rng):
    """In the clear in one report of twenty, as delta allows, otherwise at the claim."""
    own = rng.random(len(values)) < 0.05
    return np.where(own, 2 + np.array(values), edge(values, rng)).tolist()


def mixed(values, rng):
    n = len(values)
    return [{"x": x, "t": t, "i": i} for x, t, i in
            zip(edge(values, rng), rng.random(n).tolist(), rng.integers(0, 50, n).tolist())]  # fmt: skip


def three(values, rng):
    keep = rng.random(len(values)) < math.e / (math.e + 2)
    return np.where(keep, values, (np.array(values) + rng.integers(1, 3, len(values))) % 3).tolist()


@pytest.mark.parametrize("function, k, delta", [(edge, 2, 0), (mixed, 2, 0), (three, 3, 0),
                                                (edge_of_delta, 2, 0.05)])  # fmt: skip
def test_clients_at_the_edge_of_their_claim_are_hardly_ever_refuted(function, k, delta):
    """At level .1, 40 runs: more than 11 alarms have probability 1e-3 at most."""
    asked = Client(function, values=[*range(k)], epsilon=1.0, delta=delta)
    audit = SequentialAudit(asked, "learned", trials=150, alpha=0.1, explain=0.0)
    alarms = sum(audit.run(seed)[0].violated for seed in range(40))
    assert alarms <= scipy.stats.binom.isf(1e-3, 40, 0.1) == 11


@pytest.mark.parametrize("name", CORRECT)
def test_a_correct_client_keeps_its_claim(name):
    """At level .01, three runs: two alarms have probability 3e-4."""
    assert sum(learned(CORRECT[name], 300, seed=seed).violated for seed in range(3)) < 2


@pytest.mark.parametrize("delta", [0.0, 0.05])
def test_a_claim_at_its_edge_is_refuted_as_rarely_as_promised(delta):
    """An event on the edge of the claim, of which the audit is told other rates, so that it bets
    all the time: 100 audits with alpha = .1. The claim is refuted as often as a binomial count with
    that rate allows at `P_MIN`; and not hardly ever."""
    claim, q, runs = (0.5 if delta else 1.0), 0.2, 100
    rates = math.exp(claim) * q + delta, q
    told = Declared(lambda reports: np.asarray(reports) == 1, "the report is 1", (0.65, 0.15))

    def flip(values, rng):
        return (rng.random(len(values)) < np.where(values == 0, *rates)).astype(int)

    planned = SequentialAudit(
        Client(flip, 2, "value", claim, delta), told, trials=500, alpha=0.1, explain=0.0
    )
    found = [planned.run(seed)[0] for seed in range(runs)]
    wrong = sum(result.violated for result in found)
    assert scipy.stats.binom.sf(wrong - 1, runs, 0.1) > P_MIN
    assert wrong > 1 and all(result.violated == (result.lower >= claim) for result in found)


def test_a_bound_ends_at_the_first_claim_that_is_not_refuted():
    """A larger claim may be refuted by chance; there are many of them, but one level."""
    run = SequentialAudit(client(CORRECT["binary"]), "learned").start()
    most = np.full(run.claims.values.size, run.goal)
    most[[3, run.claims.at]] = -1.0
    assert run.lower(most) == run.claims.values[2]
    run.main.wealth.best = math.inf  # the claim itself is refuted, which implies all below it
    assert run.lower(most) == run.claims.values[-1]


def test_a_bet_on_the_report_before_is_on_every_second_report():
    """It is fair given all reports before a couple."""
    run = SequentialAudit(client(CORRECT["one_of_ten"], 3), "learned").start(1)
    run.go(trials=42)
    assert run.late.rounds == run.main.rounds // 2 == 3 * 42 // 2


# --- what is found --------------------------------------------------------------------------------
@pytest.mark.parametrize("name", CLEAR)
def test_an_input_in_the_clear_is_refuted_soon(name):
    result = learned(CLEAR[name], 100 if name in FINITE else 60)
    assert result.violated and result.counts.get("tp", 1) > result.counts.get("fp", 0)


def test_rare_leaks_and_shares_in_two_fields_are_refuted():
    assert learned(rarely(1e-2), 5000).violated
    assert learned(shares, 1000).violated


def beside_a_real(v, rng, t):
    """In one report of 16, which says so itself, v is the input."""
    debug = int(rng.random() < 1 / 16)
    return {"debug": debug, "v": v if debug else int(rng.integers(2)), "t": float(rng.random())}


def test_two_values_together_are_refuted_beside_a_real_number():
    assert learned(beside_a_real, 1500).violated


class Steps:
    """A client that sends a counter which rises by a step that shows the input."""

    def __init__(self, step):
        self.last, self.step = 0, step

    def __call__(self, v, rng, t):
        self.last = (self.last + self.step[v]) % 2**31 if t else int(rng.integers(2**30))
        return self.last


def test_steps_of_a_counter_and_a_differential_code_are_refuted():
    assert learned(Steps((3, 5)), 100).violated
    last = [0]

    def code(v, rng, t):
        last[0] ^= 7 if v else 1
        return {"code": last[0] * 1024 + int(rng.integers(1024)), "x": last[0]}

    assert learned(code, 200).violated


def far(v, rng, t):
    """Inputs 0 and 2 are too far apart for the noise, which is for another norm."""
    points = np.array([[1.0, 0, 0, 0], [0, 1.0, 0, 0], [-0.5, 0.5, 0.5, -0.5]])
    return np.round(points[v] + rng.laplace(0, math.sqrt(2), 4), 6).tolist()


def test_more_inputs_never_weaken():
    """A client that is refuted with two inputs is refuted with m after m times the reports."""

    def leaky(v, rng, t):  # input 1 shows in one report of ten
        return {"own": answer(v == 1, rng) * 1, "debug": bool(v == 1 and rng.random() < 0.1)}

    for function, many in ((leaky, (3, 10)), (far, (3,))):
        two = [x for x in (0, 2)] if function is far else [0, 1]
        needed = []
        for seed in range(1):
            asked = client(function, 3, seed + 4)
            audit = SequentialAudit(asked, "learned", inputs=two, trials=20_000, explain=0.0)
            needed.append(sum(audit.run(seed)[0].asked))
        for m in many:
            found = learned(function, max(needed), m, 2)  # m times the reports of both inputs
            assert found.violated and len(found.asked) == m, (function, m)


# --- the table ------------------------------------------------------------------------------------
def test_counts_are_those_of_the_reports():
    table, reports = Table(2), [[3, -1], [2, 0.5], [3], [], [None, True], [3, -1]]
    sides = np.array([0, 0, 1, 1, 0, 1])
    rows, ends = table.take(read(reports), sides)
    table.commit(rows, ends, sides)
    found = read([[3, -1]], named=True)
    keys = {words: key for key, words in found.events.items()}
    names = {name: path for path, name in found.names.items()}

    def counts(key):
        at = np.flatnonzero(table.part("keys") == np.uint64(key))
        return table.part("now")[at].astype(int).ravel().tolist()

    assert counts(names["entry 1"]) == [3, 2]  # a place counts from its first time
    assert counts(keys["entry 1 is 3"]) == [1, 2]  # a value when it shows again
    assert counts(keys["entry 2 is -1"]) == [1, 1]
    table.forget_block()
    assert table.totals.tolist() == [[3, 3], [0, 0]] and not table.part("now").any()


def test_a_table_grows_without_a_change_of_its_counts():
    rng = np.random.default_rng(1)
    reports = [rng.integers(0, 2, 300).tolist() for _ in range(64)]
    small, large = Table(2), Table(2)
    large.rows = large._rows(1 << 16)
    large.columns = large._columns(1 << 12)
    sides = rng.integers(0, 2, 64)
    for table in (small, large):
        rows, ends = table.take(read(reports), sides)
        table.commit(rows, ends, sides)
    assert small.used == large.used and (small.part("keys") == large.part("keys")).all()
    assert (small.part("now") == large.part("now")).all() and small.rows.keys.size > 4096


def test_fresh_keys_end_in_a_verdict():
    def sparse(v, rng, t):
        fresh = {f"k{int(z):x}": 1 for z in rng.integers(0, 2**20, 6)}
        return fresh | {"answer": answer(v, rng)}

    found = learned(sparse, 3000)
    assert found.status == "none found" and found.lower > 0.7 and found.one_in > 10
    assert "Not looked at: three or more entries together" in found.verdict


# --- causes ---------------------------------------------------------------------------------------
def coin(values, rng, lie=0.1):
    return np.where(rng.random(len(values)) < lie, 1 - np.array(values), values).tolist()


def order(values, rng):
    return [["b", "a"] if v else ["a", "b"] for v in coin(values, rng)]


def keys(values, rng):
    return [{"b": 1, "a": 1} if v else {"a": 1, "b": 1} for v in coin(values, rng)]


def kind(values, rng):
    return [(int, bool)[v](rng.integers(0, 2)) for v in coin(values, rng)]


def field(values, rng):
    return [{"own": v, "noise": float(rng.random())} for v in coin(values, rng)]


LEAKS = {order: "order of the list", keys: "order of keys", kind: "form of numbers",
         field: "field own", coin: ""}  # fmt: skip


@pytest.mark.parametrize("leak", LEAKS)
def test_a_cause_is_what_ends_the_leak_when_it_is_taken_away(leak):
    planned = SequentialAudit(Client(leak, values=[0, 1], epsilon=1.0), "learned", trials=3000)
    found = planned.run()[0]
    named = found.cause.rpartition("Cause: ")[2].rstrip(".")
    assert found.violated and named == LEAKS[leak], (found.cause, found.tried)
    assert found.cause in found.verdict and found.tried[0]["removed"] == "nothing"
