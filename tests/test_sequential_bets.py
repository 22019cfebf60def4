"""Bets on what counts promise: they are fair under the claim, and win where a client breaks it."""

import math

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest
import scipy
from entry_clients import CLEAR, CORRECT, rarely, shares

from ldpkit.sequential import Bets, Counts, block_end
from ldpkit.sequential.bets import PRIOR, STRATEGIES, play

GOAL = math.log(100)


def audit(client, most, seed=1, epsilon=1.0, delta=0.0):
    """Ask a client for reports, each for an input by a coin, until its claim is refuted: (reports or None, counts,
    bets, last report)."""
    coins, own = np.random.default_rng(seed).spawn(2)
    counts, bets, asked, end = Counts(1 << 14), Bets(np.array([epsilon]), delta), 0, block_end(0)
    while asked < most:
        sides = coins.integers(0, 2, min(end, most) - asked)
        reports = [client(side, own, asked + i) for i, side in enumerate(sides.tolist())]
        used = bets.play(counts.see(reports, sides), sides, goal=GOAL)
        if bets.log[0] >= GOAL:
            return asked + used, counts, bets, reports[used - 1]
        asked += used
        if asked == end:
            counts.choose(bets.settle(*counts.end_block(epsilon, delta)))
            end = block_end(asked)
    return None, counts, bets, None


def at_the_edge(rng, grown, delta):
    """Laws of four outcomes for either input, for which the claim is just true in both directions."""
    inside, u, w = (
        rng.random(4) < 0.5,
        rng.dirichlet(np.full(4, 0.4)),
        rng.dirichlet(np.full(4, 0.4)),
    )
    inside[rng.permutation(4)[:2]] = True, False
    u, w = u * inside, w * ~inside
    u, w = u / u.sum(), w / w.sum()
    p, q = (grown * u + w) / (1 + grown), (u + grown * w) / (1 + grown)
    return (1 - delta) * p + delta * u, (1 - delta) * q + delta * w


@hypothesis.settings(max_examples=150, deadline=None)
@hypothesis.given(
    st.floats(0, 4), st.sampled_from([0.0, 1e-5, 0.1]), st.tuples(st.floats(0, 0.98), st.floats(0, 0.98)),
    st.integers(0, 2**32), st.booleans(),
)  # fmt: skip
def test_bets_are_fair_at_the_edge_of_the_claim(epsilon, delta, lines, seed, adapt):
    """The mean factor of two reports, of the first and of the second given the first, by the compiled kernel."""
    rng, grown = np.random.default_rng(seed), np.array([math.exp(epsilon)])
    laws = at_the_edge(rng, grown[0], delta)
    placed = np.array(lines).reshape(1, 2, 1) / grown
    hits = np.tile([1.0, 0.1], (1, 2, 1)) * adapt

    def factors(flags, sides):
        won, before = np.ones((1, 1)), (placed.copy(), hits.copy(), np.ones(1))
        given = np.array(flags, np.uint64), np.array(sides), grown, delta, *before
        assert play(*given, np.array([1.0, 0.0]), won, 0, math.inf) == len(flags) + 1
        assert won[0, 0] >= 0
        return won[0, 0]

    once = 0.0
    for side in range(2):
        for flag in range(4):
            now, twice = factors([flag], [side]), 0.0
            once += laws[side][flag] / 2 * now
            for other in range(2):
                for after in range(4):
                    twice += laws[other][after] / 2 * factors([flag, after], [side, other])
            assert twice <= now * (1 + 1e-12)
    assert once <= 1 + 1e-12


@pytest.mark.parametrize("name", CLEAR)
def test_an_input_in_the_clear_is_refuted_soon(name):
    reports, counts, bets, last = audit(CLEAR[name], 200)
    assert reports is not None
    strategy, events = bets.leader(0)
    assert strategy in STRATEGIES[:-1] and any(counts.words(event, last) for event in events)


@pytest.mark.parametrize(
    "name, said",
    [
        ("dict_70_fields", "field f69"), ("bits_1024_place_1000", "entry 1,000"), ("text_place_7", "character 8 of the text"),
        ("in_base64", "entry 11 of the base64 bytes of the text"), ("sign_of_zero", "binary digit 63 of entry 2"),
        ("bit_70_of_integer", "binary digit 10 of entry 3 of the 60-bit digits of the report"),
        ("member_of_shuffled_objects", "field kind of an entry of field events"),
    ],
)  # fmt: skip
def test_the_words_name_the_place(name, said):
    _, counts, bets, last = audit(CLEAR[name], 200)
    assert any(said in counts.words(event, last) for event in bets.leader(0)[1])


def test_a_rare_leak_is_refuted():
    reports, counts, bets, last = audit(rarely(1e-3), 100_000)
    assert reports is not None
    strategy, events = bets.leader(0)
    assert "rare" in strategy and any(
        "field debug" in counts.words(event, last) for event in events
    )


def test_shares_in_two_fields_are_refuted():
    reports, counts, bets, last = audit(shares, 1_000)
    assert reports is not None and bets.leader(0)[0] == "the best couple of columns"
    assert "field f17 and field f30" in counts.words(bets.leader(0)[1][0], last)


def test_delta_does_not_hide_what_is_in_the_clear():
    assert audit(CLEAR["depth_6"], 200, delta=1e-5)[0] is not None
    assert audit(rarely(0.01), 20_000, delta=0.05)[0] is None  # what delta allows


RUNS = 16  # of each correct client


@pytest.mark.parametrize("name", CORRECT)
def test_a_correct_client_keeps_its_claim(name):
    """At level .01, so few alarms with probability .999 at least."""
    alarms = sum(audit(CORRECT[name], 1_000, seed)[0] is not None for seed in range(RUNS))
    assert alarms <= scipy.stats.binom.ppf(1 - 1e-3 / len(CORRECT), RUNS, 0.01)


def test_all_claims_of_a_grid_are_bet_against_at_once():
    grid, rng = np.arange(0, 4, 0.1), np.random.default_rng(1)
    counts, bets, own = Counts(1 << 12), Bets(grid, 0.0), []
    for _ in range(12):
        sides = rng.integers(0, 2, 1024)
        flags = counts.see(sides.tolist(), sides)
        assert bets.play(flags, sides) == 1024
        own.append(bets.log)
        counts.choose(bets.settle(*counts.end_block(1.0, 0.0)))
        assert bets.log == pytest.approx(own[-1]) and np.exp(bets.shares).sum(
            axis=0
        ) == pytest.approx(1)
    gained = (
        own[-1] - own[-2]
    )  # a report wins ln(1 + .98/E): far more than a floating-point number holds
    assert gained == pytest.approx(1024 * np.log1p(0.98 * np.exp(-grid)), rel=0.02)


def test_an_audit_stops_at_the_report_that_reaches_the_goal():
    bets, row = Bets(np.array([1.0]), 0.0), np.array([9.0, 0, 0, 0, 90, 0])
    events = np.zeros((2, 2, 1, 6))
    events[0, 0, 0] = row
    from ldpkit.sequential.counts import Ranking

    ranking = Ranking(events, 2, np.array([100, 100]))
    chosen = bets.settle(ranking, ranking, ranking)
    assert [flag for _, flag in chosen] == [1, 4, 16, 64]
    flags = np.full(500, 1 | 4 | 16 | 64, np.uint64)
    used = bets.play(flags, np.zeros(500, np.int64), goal=GOAL)
    assert bets.log[0] >= GOAL > bets.log[0] - math.log1p(1 / math.e)
    assert 10 < used < 40


def test_blocks_grow_by_half_up_to_a_bound():
    ends = [0]
    while len(ends) < 30:
        ends.append(block_end(ends[-1]))
    assert ends[1:6] == [16, 24, 36, 54, 81] and ends[-1] - ends[-2] == 4096
    assert PRIOR.sum() == pytest.approx(1) and len(STRATEGIES) == PRIOR.size
