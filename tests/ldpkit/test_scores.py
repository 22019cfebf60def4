"""Everything that reports show at once: columns that models get, what they foretell, and bets on
it. Seeds are fixed; rates may deviate by what has a false alarm below 1e-3."""

import itertools
import json
import math

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest
import scipy
from edges import at_the_edge, changed, mean_factor
from entry_clients import CORRECT

from ldpkit import Client, audit
from ldpkit.blackbox.clients.anything import rows
from ldpkit.blackbox.sequential import Counts, Scores, Screen, read
from ldpkit.blackbox.sequential.models import fitted, likely
from ldpkit.blackbox.sequential.result import WEIGHED
from ldpkit.mechanisms import CMS, GRR, HM, PM, RAPPOR, SHE, SS, SUE, Repeated

GRID = np.arange(0, 2.01, 0.1)
CLAIM = 10  # place of 1.0


def course(client, reports, seed=1, inputs=2, size=1, product=False, grid=GRID):
    """A screen and scores that have seen so many reports of a client, `f(input, rng)`."""
    coins, own = np.random.default_rng(seed).spawn(2)
    screen = Screen(grid, 1.0, 0.0, inputs, size, product)
    scores, asked = Scores(screen.counts, grid, 0.0, product), 0
    while asked < reports:
        rounds = min(screen.room, (reports - asked) // size)
        every = np.tile(np.arange(inputs), rounds)
        sides = coins.integers(0, inputs, rounds) if size == 1 else every
        made = [client(side, own) for side in sides.tolist()]
        found = read(made, asked, size=size)
        for one in (screen, scores):
            one.see(found, made, sides)
            one.bet(rounds)
            one.keep()
        asked += sides.size
    return screen, scores


def doubled(v, rng):
    """Many bits, none of which alone breaks the claim of 1: randomised response at 1.6, spread over two."""
    flipped = rng.random(8) < 0.5
    own = int(v) ^ int(rng.random() > math.exp(0.8) / (1 + math.exp(0.8)))
    two = int(v) ^ int(rng.random() > math.exp(0.8) / (1 + math.exp(0.8)))
    return [*map(int, flipped), own, two]


@hypothesis.settings(max_examples=60, deadline=None)
@hypothesis.given(
    st.floats(0, 3), st.sampled_from([0.0, 0.1]), st.integers(2, 4),
    st.sampled_from(["coins", "product", "mean"]), st.floats(0.05, 1.95), st.integers(0, 2**32),
)  # fmt: skip
def test_bets_are_fair_at_the_edge_of_the_claim(epsilon, delta, k, rule, mu, seed):
    """The mean factor of a round, for any scores: laws of four reports whose mixtures are at the edge of the claim."""
    rng = np.random.default_rng(seed)
    one, other = at_the_edge(rng, math.exp(epsilon), delta)
    laws = np.array([one, other, *rng.dirichlet(np.ones(2), 2) @ [one, other]])[:k]
    size = 1 if rule == "coins" else k
    scores = Scores(Counts(k, 1 << 12, size), np.array([epsilon]), delta, rule == "product")
    scores.balance[:] = mu
    c = rng.random((4, scores.balance.shape[0], 2))
    assert mean_factor(scores, c, laws, size == 1) <= 1 + 1e-9


@pytest.mark.parametrize("way", [(2, 1, False), (2, 2, True), (2, 2, False), (4, 1, False)])
def test_what_no_single_entry_shows_is_refuted(way):
    """Neither bit alone leaks 1; both together 1.6."""
    _, scores = course(lambda v, rng: doubled(v == 0, rng), 4000 * way[0], 1, *way)
    assert scores.log[CLAIM] > math.log(100)
    assert scores.log[-1] < math.log(100)  # 2 is not exceeded


RUNS = 8


@pytest.mark.parametrize("inputs", [2, 3])
def test_a_correct_client_keeps_its_claim(inputs):
    """At level .01, so few alarms with probability .999 at least."""
    alarms = 0
    for name, seed in itertools.product(("binary", "one_of_ten"), range(RUNS)):
        _, scores = course(lambda v, rng, f=CORRECT[name]: f(min(v, 1), rng, 0), 1500, seed, inputs)
        alarms += scores.log[CLAIM] >= math.log(100)
    assert alarms <= scipy.stats.binom.ppf(0.999, 2 * RUNS, 0.01)


def test_wealth_is_known_after_every_round_and_rejected_claims_are_left_alone():
    _screen, scores = course(doubled, 3000)
    made = [doubled(i % 2, np.random.default_rng(i)) for i in range(60)]
    sides = np.arange(60) % 2
    scores.see(read(made), made, sides)
    before = scores.log
    trace = scores.bet(60, CLAIM)
    assert np.ptp(trace) > 0
    scores.bet(40, low=5)
    scores.keep()
    assert scores.log[CLAIM] == pytest.approx(trace[39], abs=1e-9)
    assert (scores.log[:5] == before[:5]).all() and (scores.log[5:] != before[5:]).any()


def test_no_bet_is_made_on_reports_that_were_counted_before():
    """Whoever goes on after a stop in the middle of a part meets reports again that chose the columns."""
    screen, scores = course(doubled, 3000)
    made = [doubled(i % 2, np.random.default_rng(i)) for i in range(60)]
    sides = np.arange(60) % 2
    for one in (screen, scores):
        one.see(read(made), made, sides)
        one.bet(20)
        one.keep()
    again, before = scores.state(), scores.log
    scores.see(read(made[20:]), made[20:], sides[20:])
    assert (scores.bet(40, CLAIM) == pytest.approx(before[CLAIM])) and scores.rounds == 3020
    scores.keep()
    assert scores.log == pytest.approx(before)
    scores.restore(json.loads(json.dumps(again)))
    scores.see(read(made[20:]), made[20:], sides[20:])
    assert np.ptp(scores.bet(40, CLAIM)) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(
    "change",
    [
        {"_rows": lambda a: a * 0 + 2.0**40}, {"_rows": lambda a: a * math.nan}, {"counts.paths.cuts": lambda a: a + 99},
        {"counts._coupled.events": lambda a: a - 1}, {"stakes.raw": lambda a: a[:1]}, {"counts.table.keys": lambda a: a.astype(float)},
        {"counts._signs": lambda a: a + 0.5}, {"counts.paths.hashes": lambda a: np.arange(2**16, dtype=np.uint64)},
        {"counts.paths.used": lambda a: a - 2**40}, {"_before": lambda a: a + 2},
        {"memory.rows": lambda a: a + 2**40}, {"memory.sides": lambda a: a + 7}, {"balance": lambda a: a * 0 + 3.0},
        {"memory.keys": lambda a: a[:-1]}, {"columns.numbers": lambda a: a["path"]}, {"base": lambda a: a[:1]},
        {"learned": lambda a: a + 10**9},
    ],
)  # fmt: skip
def test_a_state_that_would_lead_outside_of_the_tables_is_refused(change):
    players = course(lambda v, rng: [v, *doubled(v, rng)], 600)
    again = Screen(GRID, 1.0, 0.0), Scores(players[0].counts, GRID, 0.0)
    states = [json.loads(json.dumps(player.state())) for player in players]
    for player, fresh, state in zip(players, again, states):
        fresh.restore(state)
        assert (fresh.log == player.log).all()
    assert len(again[0]._rows) and (again[0]._rows == players[0]._rows).all()
    of = next(iter(change)) in again[1]._KEPT + again[1]._GROWN
    with pytest.raises(ValueError, match="state must hold"):
        again[of].restore(changed(states[of], **change))


POOL = [
    [1, 0, 1], [0, 0, 1], [1], [], [2, 3.5, 1e300], ["a", 1], {"a": 1.5, "b": "x "}, {"b": "y", "a": math.nan},
    {"b": None, "a": [1, 2.0]}, 3, 2**70, -7, 2.5, math.inf, "", "abc ", True, None, [[1, 2], [3]], 10**400,
]  # fmt: skip


def test_the_score_of_a_report_depends_on_no_other_report():
    """In any company, and of forms that were never seen."""
    rng = np.random.default_rng(1)
    one, other = POOL[:14], POOL[5:19]
    _, scores = course(lambda v, r: (one if v else other)[rng.integers(0, 14)], 800)
    assert scores.models and not np.isnan(scores.balance).all()
    made = [*POOL, "never seen", {"new": [1]}]
    sides = np.zeros(len(made), int)
    scores.see(read(made), made, sides)
    together = scores._scores.copy()
    assert np.ptp(together) > 0.1 and ((together > 0) & (together < 1)).all()
    for i, report in enumerate(made):
        scores.see(read([report]), [report], sides[:1])
        assert scores._scores[0] == pytest.approx(together[i], abs=1e-12)


def test_columns_are_those_that_tell_inputs_apart():
    screen, _scores = course(
        lambda v, rng: {"x": [*map(int, rng.random(30) < 0.5)], "y": v + rng.random()}, 400
    )
    numbers, keys = screen.counts.informative(16)
    names = read([{"x": [0] * 30, "y": 0.5}], named=True).names
    assert names[int(numbers["path"][0])].endswith("field y") and len(numbers) == 16 >= len(keys)


def test_memory_is_bounded():
    """Of 40,000 reports with 3 entries; of wide ones fewer are kept."""
    _, scores = course(lambda v, rng: rng.random(3).tolist(), 40_000)
    assert sum(part.sides.size for part in scores._parts) <= 4 * 2**13
    _, wide = course(lambda v, rng: rng.random(3000).tolist(), 400)
    assert sum(part.rows.size for part in wide._parts[:1]) <= 2**20


def table(*columns):
    """Columns, and after them one that tells all rows apart."""
    return np.column_stack([*columns, np.arange(len(columns[0]))]).astype(float)


def fit(given, sides, inputs=2):
    half = np.arange(sides.size) % 2
    return fitted(given, sides, half, inputs)


@pytest.mark.parametrize("inputs", [2, 5])
def test_models_foretell_the_other_half(inputs):
    """Reports that name their input with probability .8: foretold so to .03."""
    rng = np.random.default_rng(2)
    sides = rng.integers(0, inputs, 6000)
    said = np.where(rng.random(6000) < 0.8, sides, (sides + rng.integers(1, inputs, 6000)) % inputs)
    models, held_out = fit(table(said, rng.random(6000)), sides, inputs)
    assert held_out.sum(axis=1) == pytest.approx(1)
    hit = held_out[np.arange(6000), said]
    assert hit.mean() == pytest.approx(0.8, abs=0.03)
    new = table(np.arange(inputs), np.full(inputs, 0.5))
    now = sum(weight * likely(odds(new)) for weight, odds in models)
    assert np.diag(now) == pytest.approx(0.8, abs=0.06)


def test_nothing_is_foretold_of_what_tells_nothing():
    rng = np.random.default_rng(3)
    _, held_out = fit(table(*rng.integers(0, 2, (20, 3000))), rng.integers(0, 2, 3000))
    assert abs(held_out[:, 0] - 0.5).mean() < 0.05


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf, 1e308])
def test_odd_numbers_are_numbers(odd):
    rng = np.random.default_rng(4)
    sides = rng.integers(0, 2, 400)
    x = np.where(rng.random(400) < 0.3, odd, rng.normal(size=400) + sides)
    models, held_out = fit(table(x, np.full(400, odd)), sides)
    assert np.isfinite(held_out).all() and models
    new = table([odd, 0.0, 1e300], [odd, odd, 0.0])
    assert all(np.isfinite(odds(new)).all() for _, odds in models)


def test_trees_see_what_no_column_tells_alone():
    """Whether three bits are an odd number of ones."""
    rng = np.random.default_rng(5)
    bits = rng.integers(0, 2, (3, 4000))
    noise = rng.random(4000)
    sides = bits.sum(axis=0) % 2
    _models, held_out = fit(table(*bits, noise), sides)
    assert (held_out[np.arange(4000), sides] > 0.5).mean() > 0.95


class Louder(GRR):
    def perturb(self, values, rng):
        return GRR(self.k, 4.0).perturb(values, rng)


def test_that_nothing_was_worth_a_bet_is_no_reason_to_know_nothing():
    for client, status in (GRR(5, 1.0), "none found"), (Louder(5, 1.0), "violation"):
        found = audit(client, "learned", until="sure", trials=3000, seed=1)
        assert found.status == status and (found.one_in >= 10) is (status == "none found")


def test_what_leads_is_said_with_the_entry_that_shows_most():
    client = Client(lambda v: [int(v), 0.5], report="any", values=[0, 1], epsilon=1.0)
    found = audit(client, "learned", until="sure", trials=200)
    assert found.violated and found.counts["tp"] > found.counts["fp"]
    assert found.event.endswith(WEIGHED) and "all of the first" in found.warnings[0]


def loud(base, **given):
    """A mechanism that claims 1 and uses 5."""

    def perturb(self, values, rng):
        return base(**self.parameters | {"epsilon": 5.0}).perturb(values, rng)

    return type("Loud", (base,), {"perturb": perturb})(epsilon=1.0, **given)


LOUD = [
    loud(GRR, k=5), loud(SS, k=9), loud(SUE, k=5), loud(SHE, k=5), loud(HM, k=5), loud(CMS, k=5, m=8, hashes=2),
    loud(RAPPOR, k=5, cohorts=2, h=1, m=8), loud(PM), Repeated(loud(GRR, k=5), 3),
]  # fmt: skip


@pytest.mark.parametrize("mechanism", LOUD, ids=lambda m: m.report_type.name)
def test_reports_in_arrays_are_learned_from_as_objects_are(mechanism):
    """What is learned is learned from plain values, and asked of plain values."""
    found = audit(mechanism, "learned", until="sure", trials=1000, seed=1)
    assert found.violated and "int64" not in found.event and "array" not in found.event


@pytest.mark.parametrize("mechanism", LOUD, ids=lambda m: m.report_type.name)
def test_what_a_report_shows_does_not_depend_on_the_reports_beside_it(mechanism):
    reports = mechanism.perturb(mechanism.inputs(mechanism.pair()[0], 20), np.random.default_rng(3))
    given = rows(reports)
    assert len(given) == 20 and rows(given) == given
    json.dumps(given)
    alone = [reports[i : i + 1] for i in range(20)]
    if isinstance(reports, list):
        alone = [[part[i : i + 1] for part in reports] for i in range(20)]
    assert [rows(one)[0] for one in alone] == given


def test_digits_of_doubles_betray_a_client_to_whoever_learns_and_those_of_a_grid_do_not():
    """Near 0 the reports of one input are finer: nobody has to be told, see the page on floating point."""
    given = {"until": "sure", "trials": 1000, "seed": 1}
    one, other = (audit(SHE(4, 1.0, grid), "learned", **given) for grid in (None, 2.0**-20))
    assert one.violated and "the exponent of the last bit of entry 1" in one.event
    assert other.status == "none found"
