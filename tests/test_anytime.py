"""Audits that stop when they are sure: what they conclude, when they stop, and that they may go on.

Nulls are exactly tight; false alarms are compared with exact binomial tails at `P_MIN`.
"""

import functools
import json
import math

import numpy as np
import pytest
from laws import P_MIN
from scipy import stats

from ldpkit import audit, betting
from ldpkit.auditors import AnytimeAudit, Declared
from ldpkit.auditors.purse import Purse, grid
from ldpkit.mechanisms import GRR, OUE, PCKVUE, Client, KeyValues

ALPHA = 0.01


def leaking(k=10, epsilon=2.0, claim=1.0):
    """A client with twice the epsilon that it claims."""
    return Client(functools.partial(_bits, OUE(k, epsilon)), k, "bits", claim)


def _bits(mechanism, values, rng):
    return mechanism.perturb(values, rng)


def named(k, v):
    return Declared(lambda reports: reports == v, f"the report is {v}")


@pytest.mark.parametrize("attack", ["guess", "tight", ["guess", "tight"]])
def test_a_leak_is_found_and_said(attack):
    result = audit(leaking(), attack, until="sure", trials=10**5)
    assert result.status == "violation" and result.stopped == "violation"
    assert result.e_value >= 1 / ALPHA and result.lower >= 1.0
    assert 20 < result.reports < 20_000 and "names" in result.event
    assert json.loads(json.dumps(result.row(), allow_nan=False))["reports"] == result.trials
    first = result.trajectory[0]
    assert first[0] == 8 and result.trajectory[-1][0] == result.reports


@pytest.mark.parametrize("given", [{}, {"faithful": True, "trials": 20_000}, {"pair": (3, 1)}])
def test_a_kept_claim_is_approached_and_not_refuted(given):
    result = audit(GRR(5, 1.0), "tight", until="sure", **{"trials": 200_000} | given)
    assert result.status == "none found" and result.stopped == "budget spent"
    assert 0.85 < result.lower < 1.0 and result.e_value < 1 / ALPHA
    assert result.faithful is given.get("faithful", False)


def test_the_bound_stops_the_audit_where_it_is_told_to():
    result = audit(GRR(5, 1.0), "tight", until="sure", within=0.2, trials=10**6)
    assert 0.8 <= result.lower < 1 and result.reports < 10**5
    assert result.stopped == "the bound is within 0.2 of the claim"
    slow = AnytimeAudit(GRR(5, 1.0), "tight", max_time=0.0).run()[0]
    assert slow.stopped == "time is up" and slow.reports == 8


def test_too_few_reports_are_inconclusive():
    result = audit(leaking(), "tight", until="sure", trials=4)
    assert result.status == "inconclusive" and "could show nothing" in result.verdict


@pytest.mark.parametrize("target", [GRR(5, 1.0), leaking(claim=2.0)], ids=["law", "client"])
@pytest.mark.parametrize("cuts", [[1], [9, 100], [8, 27, 2000, 2999]])
def test_an_audit_that_was_kept_goes_on_as_if_it_had_never_stopped(target, cuts):
    planned = AnytimeAudit(target, "tight", trials=3000)
    whole = planned.start(7)
    whole.go()
    state = None
    for cut in cuts:
        part = planned.start(1 if state else 7, state)
        part.go(trials=cut)
        state = json.loads(json.dumps(part.state()))
    rest = planned.start(1, state)
    rest.go()
    assert rest.result.counts == whole.result.counts and rest.pairs == whole.pairs
    assert rest.result.lower == whole.result.lower and rest.stopped == whole.stopped
    assert rest.purse.log == pytest.approx(whole.purse.log, abs=1e-9)


def test_an_audit_goes_on_after_a_violation_and_raises_the_bound():
    course = AnytimeAudit(leaking(), "tight", trials=50_000).start()
    assert course.go() == "violation"
    assert course.go() == "budget spent"
    assert 1.6 < course.result.lower <= 2.0 and course.result.status == "violation"


def test_wealth_is_that_of_the_bets():
    """One track, one direction: the mixture of `betting.STAKES`, and the stop at the very pair."""
    draw = np.random.default_rng(1)
    symbols = 2 * (draw.random(4000) < 0.5) + (draw.random(4000) < 0.1)
    purse = Purse(1.0, 0.0, ALPHA, [None])
    used = purse.bet(symbols[None].astype(np.uint8), [None])
    paths = np.cumprod(betting.linear(betting.STAKES, 1.0)[:, symbols], axis=1).mean(axis=0)
    assert used == 1 + np.argmax(paths >= 1 / ALPHA)
    assert purse.log == pytest.approx(math.log(paths[used - 1]), rel=1e-9)
    assert purse.refuted and purse.lower >= 1.0


def test_the_grid_holds_the_claim():
    for claim in (0.05, 1.0, 3.7, 30.0):
        values = grid(claim)
        assert values[0] == 0 and np.isclose(values, claim, rtol=1e-12).sum() == 1
        assert np.diff(values).max() <= 0.02 + 1e-12
    assert grid(math.inf)[-1] > 10


@pytest.mark.parametrize("delta", [0.0, 0.05])
def test_a_bound_is_wrong_as_rarely_as_promised(delta):
    """An event on the edge of the claim: 1,500 audits of 2,000 pairs with alpha = .05, watched all
    the time. The bound exceeds the truth in all of them together as often as a binomial count with
    that rate allows at `P_MIN`; and not hardly ever."""
    q, runs, wrong = 0.2, 1500, 0
    p = math.e * q * (1 - delta) + delta if not delta else math.exp(0.5) * q + delta
    claim = 1.0 if not delta else 0.5
    draw = np.random.default_rng(2)
    for _ in range(runs):
        purse = Purse(claim, delta, 0.05, [None])
        symbols = 2 * (draw.random(2000) < p) + (draw.random(2000) < q)
        purse.bet(symbols[None].astype(np.uint8), [None])
        wrong += purse.refuted
    assert stats.binom.sf(wrong - 1, runs, 0.05) > P_MIN
    assert wrong > 5


def test_declared_rates_are_as_fast_as_they_can_be():
    """The mean of 400 audits lies between the bounds that hold for it, up to 5 standard errors."""
    rates = (0.6, 0.1)
    event = Declared(lambda reports: reports == 1, "the report is 1", rates)

    def flip(values, rng):
        return (rng.random(len(values)) < np.where(values == 0, *rates)).astype(int)

    planned = AnytimeAudit(
        Client(flip, 2, "value", 1.0), event, pair=(0, 1), independent=True, alpha=0.05
    )
    low, high = planned.expected
    used = np.array([planned.run(seed)[0].reports for seed in range(400)])
    error = 5 * used.std() / math.sqrt(used.size)
    assert low - error <= used.mean() <= high + error
    assert used.mean() <= 1.15 * low + error
    plain = AnytimeAudit(Client(flip, 2, "value", 1.0), named(2, 1), both=False, alpha=0.05)
    found = [plain.run(seed)[0].reports for seed in range(100)]
    assert np.mean(found) <= 1.9 * -math.log(0.05) / betting.linear_growth(*rates, 1.0)[0] * 1.3


def test_nothing_is_expected_where_nothing_is_known_or_nothing_leaks():
    assert AnytimeAudit(GRR(5, 1.0), "tight").expected == (math.inf, math.inf)
    assert AnytimeAudit(leaking(), "tight").expected is None


class Learner:
    """Learns which of k values is most in favour of the first input."""

    words, rates = "nothing yet", None

    def __init__(self):
        self.calls = []

    def learn(self, first, second):
        self.calls.append(len(first))
        counts = [np.bincount(side, minlength=5) + 0.5 for side in (first, second)]
        self.value = int(np.argmax(counts[0] / counts[1]))
        p, q = ((c[self.value]) / (len(first) + 1) for c in counts)
        self.rates, self.words = (p, q), f"the report is {self.value}"

    def holds(self, reports):
        return reports == self.value


class Scorer(Learner):
    """Gives a score to every value, too."""

    both = True

    def learn(self, first, second):
        super().learn(first, second)
        counts = [np.bincount(side, minlength=5) + 0.5 for side in (first, second)]
        self.scores = counts[0] / (counts[0] + counts[1])
        return self.score(first), self.score(second)

    def score(self, reports):
        return self.scores[reports]


@pytest.mark.parametrize("learner", [Learner, Scorer])
@pytest.mark.parametrize("independent", [False, True])
def test_a_learned_event_finds_the_leak_and_goes_on_after_a_pause(learner, independent):
    client = Client(functools.partial(_bits, GRR(5, 3.0)), 5, "value", 1.0)
    planned = AnytimeAudit(client, learner(), independent=independent, trials=20_000)
    result = planned.run()[0]
    assert result.status == "violation" and result.event in ("the report is 0", "the report is 4")
    assert 8 < result.reports < 2000
    part = planned.start()
    part.go(trials=15)
    rest = planned.start(1, json.loads(json.dumps(part.state())))
    rest.go()
    assert rest.result.reports == result.reports and rest.result.event == result.event


@pytest.mark.parametrize("learner", [Learner, Scorer])
@pytest.mark.parametrize("independent", [False, True])
def test_a_learned_event_convicts_nobody_who_keeps_the_claim(learner, independent):
    """GRR at its claim, 40 audits of 300 pairs with alpha = .1."""
    client = Client(functools.partial(_bits, GRR(5, 1.0)), 5, "value", 1.0)
    planned = AnytimeAudit(client, learner(), independent=independent, trials=300, alpha=0.1)
    found = sum(planned.run(seed)[0].violated for seed in range(40))
    assert stats.binom.sf(found - 1, 40, 0.1) > P_MIN


def test_all_pairs_share_one_wealth_and_the_leading_one_is_named():
    def leaks(values, rng):  # of value 2 only
        return np.where(values == 2, 2, GRR(4, 0.5).perturb(np.minimum(values, 1), rng))

    client = Client(leaks, 4, "value", 1.0)
    result = AnytimeAudit(client, "tight", inputs=(0, 1, 2, 3), trials=5000).run()[0]
    assert result.violated and result.pair[0] == 2 and len(result.directions) == 12


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
    assert AnytimeAudit(source, event, **given).run()[0].violated
    source = Records(PCKVUE(4, 3.0), 3.0)
    kept = AnytimeAudit(source, event, **given).run()[0]
    assert kept.status != "violation" and kept.lower > 0.5


def test_shuffled_batches_are_bet_on_with_a_delta():
    """One user among 50: whose value it is shows in the number of reports of that value."""

    class Batches(Records):
        name, delta = "shuffled GRR", 1e-3

        def draw(self, inputs, n, rng):
            others = GRR(2, 3.0).perturb(rng.integers(0, 2, 4 * n), rng).reshape(n, 4)
            mine = [GRR(2, 3.0).perturb(np.full(n, v), rng) for v in inputs]
            return [others.sum(axis=1) + one for one in mine]

    event = Declared(lambda sums: sums >= 4, "at least 4 of 5 reports are 1")
    result = AnytimeAudit(Batches(None, 0.1), event, pair=(1, 0), trials=20_000).run()[0]
    assert result.violated and result.delta == 1e-3
