"""Bets on what counts promise: they are fair under the claim, and win where a client breaks it."""

import itertools
import math

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest
import scipy
from edges import at_the_edge
from entry_clients import CLEAR, CORRECT, rarely, shares

from ldpkit.sequential import Bets, Counts, block_end, read
from ldpkit.sequential.bets import PRIOR, STRATEGIES, bounded, play
from ldpkit.sequential.counts import Ranking

GOAL = math.log(100)


def audit(client, most, seed=1, epsilon=1.0, delta=0.0):
    """Ask a client for reports, each for an input by a coin, until its claim is refuted: (reports or None, counts,
    bets, last report)."""
    coins, own = np.random.default_rng(seed).spawn(2)
    counts, bets, asked, end = (
        Counts(values=1 << 14),
        Bets(np.array([epsilon]), delta),
        0,
        block_end(0),
    )
    while asked < most:
        sides = coins.integers(0, 2, min(end, most) - asked)
        reports = [client(side, own, asked + i) for i, side in enumerate(sides.tolist())]
        flags = counts.see(read(reports), sides)
        won = np.flatnonzero(bets.trace(flags, sides, 0) >= GOAL)
        if won.size:
            bets.play(flags[: won[0] + 1], sides[: won[0] + 1])
            return asked + won[0] + 1, counts, bets, reports[won[0]]
        bets.play(flags, sides)
        asked += len(reports)
        if asked == end:
            counts.choose(bets.settle(*counts.end_block(epsilon, delta)))
            end = block_end(asked)
    return None, counts, bets, None


@hypothesis.settings(max_examples=100, deadline=None)
@hypothesis.given(
    st.floats(0, 4), st.sampled_from([0.0, 1e-5, 0.1]), st.integers(2, 4),
    st.sampled_from(["coins", "product", "mean"]), st.integers(0, 2**32), st.booleans(),
)  # fmt: skip
def test_bets_are_fair_at_the_edge_of_the_claim(epsilon, delta, k, rule, seed, adapt):
    """The mean factor of a round, and that of a second one given the first, by the compiled kernel: reports are
    sets of questions, of random laws whose mixtures are at the edge of the claim."""
    rng, grown = np.random.default_rng(seed), np.array([math.exp(epsilon)])
    shown = rng.random((3, k)) < 0.6  # which sets three possible reports are in
    one, other = at_the_edge(rng, grown[0], delta)
    laws = np.array([one, other, *rng.dirichlet(np.ones(2), 2) @ [one, other]])[:k]
    reports = np.vstack([shown, np.zeros(k, bool)]).astype(np.uint16)
    raw = rng.uniform(0, 2 / grown[0], (1, k, 1))
    weights = np.where(np.eye(k, dtype=bool), 0, rng.dirichlet(np.full(k, 0.5), k))
    weights = (weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-9))[None]
    hits = np.where(np.eye(k, dtype=bool), 1.0, 0.1)[None] * adapt
    placed = np.zeros_like(raw)
    bounded(raw[0], weights[0], grown, 0, placed[0])
    size = 1 if rule == "coins" else k
    rounds = np.array([size, rule != "mean", 0])

    def factor(*drawn):
        """Of rounds: one (report, input) after the other."""
        won, total = np.ones((1, 1)), np.empty(len(drawn) // size)
        state = [array.copy() for array in (raw, weights, placed, hits, np.ones(1), 0 * hits)]
        flags, sides = reports[[r for r, _ in drawn]], np.array([x for _, x in drawn])
        active = np.ones((1, k), bool)
        play(flags, sides, rounds, grown, delta, active, *state, np.array([1.0, 0.0]), won, total)
        assert won[0, 0] >= 0 and total[-1] == won[0, 0]
        return won[0, 0]

    def all_rounds():
        if size == 1:
            return [([(r, x)], laws[x, r] / k) for x in range(k) for r in range(4)]
        each = itertools.product(range(4), repeat=k)
        return [
            ([*zip(rs, range(k))], math.prod(laws[x, r] for x, r in enumerate(rs))) for rs in each
        ]

    every = all_rounds()
    once = [(drawn, chance, factor(*drawn)) for drawn, chance in every]
    assert sum(chance * now for _, chance, now in once) <= 1 + 1e-12
    for drawn, _, now in once[:: max(1, len(once) // 8)]:
        twice = sum(chance * factor(*drawn, *after) for after, chance in every)
        assert twice <= now * (1 + 1e-12)


@pytest.mark.parametrize("name", CLEAR)
def test_an_input_in_the_clear_is_refuted_soon(name):
    reports, counts, bets, last = audit(CLEAR[name], 200)
    assert reports is not None
    strategy, events = bets.leader(0)
    assert strategy < len(STRATEGIES) - 1 and any(counts.words(event, last) for event, _ in events)


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
    assert any(said in counts.words(event, last) for event, _ in bets.leader(0)[1])


def test_a_rare_leak_is_refuted():
    reports, counts, bets, last = audit(rarely(1e-3), 100_000)
    assert reports is not None
    strategy, events = bets.leader(0)
    assert "rare" in STRATEGIES[strategy] and any(
        "field debug" in counts.words(event, last) for event, _ in events
    )


def test_shares_in_two_fields_are_refuted():
    reports, counts, bets, last = audit(shares, 1_000)
    assert reports is not None and STRATEGIES[bets.leader(0)[0]] == "the best couple of columns"
    assert "field f17 and field f30" in counts.words(bets.leader(0)[1][0][0], last)


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
    counts, bets, own = Counts(values=1 << 12), Bets(grid, 0.0), []
    for _ in range(12):
        sides = rng.integers(0, 2, 1024)
        flags = counts.see(read(sides.tolist()), sides)
        seen = bets.trace(flags, sides, 3)
        bets.play(flags, sides)
        assert seen.size == 1024 and seen[-1] == pytest.approx(bets.log[3])
        own.append(bets.log)
        counts.choose(bets.settle(*counts.end_block(1.0, 0.0)))
        assert bets.log == pytest.approx(own[-1]) and np.exp(bets.shares).sum(
            axis=0
        ) == pytest.approx(1)
    gained = (
        own[-1] - own[-2]
    )  # a report wins ln(1 + .98/E): far more than a floating-point number holds
    assert gained == pytest.approx(1024 * np.log1p(0.98 * np.exp(-grid)), rel=0.02)


def test_the_wealth_is_known_after_every_report():
    bets, row = Bets(np.array([1.0]), 0.0), np.array([9.0, 0, 0, 0, 90, 0])
    events = np.zeros((2, 2, 1, 6))
    events[0, 0, 0] = row
    ranking = Ranking(events, 2, 0, np.array([100, 100]))
    chosen = bets.settle(ranking, ranking, ranking)
    assert [(d, s) for _, d, s in chosen] == [(0, 0), (0, 1), (0, 2), (0, 3)]
    flags = np.tile(np.array([15, 0], np.uint16), (500, 1))
    trace = bets.trace(flags, np.zeros(500, np.int64), 0)
    used = int(np.argmax(trace >= GOAL)) + 1
    bets.play(flags[:used], np.zeros(used, np.int64))
    assert bets.log[0] >= GOAL > bets.log[0] - math.log1p(1 / math.e) and 10 < used < 40


@pytest.mark.parametrize("k", [3, 10])
def test_one_input_of_many_is_found(k):
    """Only the last one is sent in the clear: a bet on a pair of inputs chosen in advance would miss it."""
    rng, counts, asked = np.random.default_rng(k), Counts(k, 1 << 12), 0
    bets, end = Bets(np.array([1.0]), 0.0, k), block_end(0)
    while bets.log[0] < GOAL and asked < 100 * k:
        sides = rng.integers(0, k, end - asked)
        noise = rng.integers(0, 5, sides.size)
        reports = [{"x": int(n), "y": int(x == k - 1)} for n, x in zip(noise, sides)]
        flags = counts.see(read(reports), sides)
        bets.play(flags, sides)
        counts.choose(bets.settle(*counts.end_block(1.0, 0.0)))
        asked, end = end, block_end(end)
    assert asked < 60 * k and any(d == k - 1 for _, d in bets.leader(0)[1])


def test_blocks_grow_by_half_up_to_a_bound():
    ends = [0]
    while len(ends) < 30:
        ends.append(block_end(ends[-1]))
    assert ends[1:6] == [16, 24, 36, 54, 81] and ends[-1] - ends[-2] == 4096
    assert PRIOR.sum() == pytest.approx(1) and len(STRATEGIES) == PRIOR.size
