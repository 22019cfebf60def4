"""Bets on what counts promise: they are fair under the claim, and win where a client breaks it."""

import math

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest
import scipy
from edges import at_the_edge, every_round
from entry_clients import CLEAR, CORRECT, rarely, shares

from ldpkit.blackbox.sequential import Screen, read, screen
from ldpkit.blackbox.sequential.screen import PRIOR, STRATEGIES, Stakes, play

GOAL = math.log(100)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Screens with small tables, which are made fast."""
    monkeypatch.setattr(screen, "VALUES", 1 << 14)


def audit(client, most, seed=1, epsilon=1.0, delta=0.0):
    """Ask a client by coins until its claim is refuted: (reports or None, screen)."""
    coins, own = np.random.default_rng(seed).spawn(2)
    bets = Screen(np.array([epsilon]), epsilon, delta)
    while bets.rounds < most:
        sides = coins.integers(0, 2, min(bets.room, most - bets.rounds))
        reports = [client(x, own, bets.rounds + i) for i, x in enumerate(sides.tolist())]
        bets.see(read(reports), reports, sides)
        won = np.flatnonzero(bets.bet(len(reports)) >= GOAL)
        if won.size:
            bets.bet(int(won[0]) + 1)
        bets.keep()
        if won.size:
            return bets.rounds, bets
    return None, bets


def words(bets):
    """The events of the strategy that has won most."""
    found = [bets.counts.entry(event, bets.report) for event in bets.leader(0)[1]]
    return [entry.words for entry in found if entry is not None]


@hypothesis.settings(max_examples=100, deadline=None)
@hypothesis.given(
    st.floats(0, 4), st.sampled_from([0.0, 1e-5, 0.1]), st.integers(2, 4),
    st.sampled_from(["coins", "product", "mean"]), st.integers(0, 2**32), st.booleans(),
)  # fmt: skip
def test_bets_are_fair_at_the_edge_of_the_claim(epsilon, delta, k, rule, seed, adapt):
    """The mean factor of a round, and of a second one given the first, by the compiled kernel:
    reports are sets of questions, and mixtures of their laws are at the edge of the claim."""
    rng, grown = np.random.default_rng(seed), np.array([math.exp(epsilon)])
    shown = rng.random((3, k)) < 0.6  # which sets three possible reports are in
    one, other = at_the_edge(rng, grown[0], delta)
    laws = np.array([one, other, *rng.dirichlet(np.ones(2), 2) @ [one, other]])[:k]
    reports = np.vstack([shown, np.zeros(k, bool)]).astype(np.uint16)
    raw = rng.uniform(0, 2 / grown[0], (1, k, 1))
    weights = np.where(np.eye(k, dtype=bool), 0, rng.dirichlet(np.full(k, 0.5), k))
    weights = (weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-9))[None]
    hits = np.where(np.eye(k, dtype=bool), 1.0, 0.1)[None] * adapt
    active, none = np.ones((1, k), bool), np.zeros_like(hits)
    stakes = Stakes(active, raw, np.zeros_like(raw), weights, hits, np.ones(1), none)
    size = 1 if rule == "coins" else k

    def factor(*drawn):
        """Of rounds: one (report, input) after the other."""
        won, total = np.ones((1, 1)), np.empty(len(drawn) // size)
        flags, sides = reports[[r for r, _ in drawn]], np.array([x for _, x in drawn])
        rounds = flags, sides, size, rule != "mean", 0, 0
        play(*rounds, grown, delta, Stakes(*map(np.copy, stakes)), np.array([1.0, 0.0]), won, total)
        assert won[0, 0] >= 0 and total[-1] == won[0, 0]
        return won[0, 0]

    every = [*every_round(laws, size == 1)]
    once = [(drawn, chance, factor(*drawn)) for drawn, chance in every]
    assert sum(chance * now for _, chance, now in once) <= 1 + 1e-12
    for drawn, _, now in once[:: max(1, len(once) // 8)]:
        twice = sum(chance * factor(*drawn, *after) for after, chance in every)
        assert twice <= now * (1 + 1e-12)


SAID = {
    "dict_70_fields": "field f69", "bits_1024_place_1000": "entry 1,000", "text_place_7": "character 8 of the text",
    "in_base64": "entry 11 of the base64 bytes of the text", "sign_of_zero": "binary digit 63 of entry 2",
    "bit_70_of_integer": "binary digit 10 of entry 3 of the 60-bit digits of the report",
    "member_of_shuffled_objects": "field kind of an entry of field events",
}  # fmt: skip


@pytest.mark.parametrize("name", CLEAR)
def test_an_input_in_the_clear_is_refuted_soon_and_its_place_is_named(name):
    reports, bets = audit(CLEAR[name], 200)
    assert reports is not None and bets.leader(0)[0] < len(STRATEGIES) - 1
    assert any(SAID.get(name, "") in event for event in words(bets)) and CLEAR.keys() >= SAID.keys()


def test_a_rare_leak_is_refuted():
    reports, bets = audit(rarely(1e-3), 100_000)
    assert reports is not None and "rare" in STRATEGIES[bets.leader(0)[0]]
    assert any("field debug" in event for event in words(bets))


def test_shares_in_two_fields_are_refuted():
    reports, bets = audit(shares, 1_000)
    assert reports is not None and STRATEGIES[bets.leader(0)[0]] == "the best couple of columns"
    assert "field f17 and field f30" in words(bets)[0]


def test_delta_does_not_hide_what_is_in_the_clear():
    assert audit(CLEAR["depth_6"], 200, delta=1e-5)[0] is not None
    assert audit(rarely(0.01), 20_000, delta=0.05)[0] is None  # what delta allows


RUNS = 10  # of each correct client


@pytest.mark.parametrize("name", CORRECT)
def test_a_correct_client_keeps_its_claim(name):
    """At level .01, so few alarms with probability .999 at least."""
    alarms = sum(audit(CORRECT[name], 1_000, seed)[0] is not None for seed in range(RUNS))
    assert alarms <= scipy.stats.binom.ppf(1 - 1e-3 / len(CORRECT), RUNS, 0.01)


def test_all_claims_of_a_grid_are_bet_against_at_once():
    grid, rng = np.arange(0, 4, 0.1), np.random.default_rng(1)
    bets, before = Screen(grid, 1.0, 0.0), []
    while bets.rounds < 12_000:
        sides = rng.integers(0, 2, bets.room)
        bets.see(read(sides.tolist()), sides.tolist(), sides)
        before.append((bets.rounds, bets.log))
        seen = bets.bet(sides.size, 3)
        bets.keep()
        assert seen.size == sides.size and seen[-1] == pytest.approx(bets.log[3])
        assert np.exp(bets.shares).sum(axis=0) == pytest.approx(1)  # a block has ended
    assert PRIOR.sum() == pytest.approx(1) and len(STRATEGIES) == PRIOR.size
    (begin, wealth), gained = before[-1], bets.log - before[-1][1]
    # a report wins ln(1 + .98/E): far more than a floating-point number holds
    wanted = (bets.rounds - begin) * np.log1p(0.98 * np.exp(-grid))
    assert (wealth > 0).all() and gained == pytest.approx(wanted, rel=0.02)


def test_the_wealth_is_known_after_every_report():
    bets, sides = Screen(np.array([1.0]), 1.0, 0.0), np.arange(16) % 2
    bets.see(read(sides.tolist()), sides.tolist(), sides)
    bets.bet(16)
    bets.keep()
    assert bets.log[0] == 0 and len(bets._rows)
    won = np.empty(0, int)
    while not won.size:
        sides = np.zeros(bets.room, int)
        bets.see(read(sides.tolist()), sides.tolist(), sides)
        won = np.flatnonzero(bets.bet(sides.size) >= GOAL)
        if not won.size:
            bets.keep()
    before = bets.log[0]
    bets.bet(int(won[0]) + 1)
    bets.keep()
    assert before < GOAL <= bets.log[0] < GOAL + math.log1p(1 / math.e)


@pytest.mark.parametrize("k", [3, 10])
def test_one_input_of_many_is_found(k):
    """Only the last one is sent in the clear: a bet on a pair of inputs chosen in advance would miss it."""
    rng, bets = np.random.default_rng(k), Screen(np.array([1.0]), 1.0, 0.0, k)
    while bets.log[0] < GOAL and bets.rounds < 100 * k:
        sides = rng.integers(0, k, bets.room)
        noise = rng.integers(0, 5, sides.size)
        reports = [{"x": int(n), "y": int(x == k - 1)} for n, x in zip(noise, sides)]
        bets.see(read(reports), reports, sides)
        bets.bet(sides.size)
        bets.keep()
    assert bets.rounds < 60 * k and (bets.leader(0)[1][:, -2] == k - 1).any()
