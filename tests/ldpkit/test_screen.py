"""What is counted of reports, what the counts promise, and what is looked for in new reports."""

import math

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest
from trees import tree

from ldpkit.blackbox.sequential import counts as counting
from ldpkit.blackbox.sequential import read, tallies
from ldpkit.blackbox.sequential.counts import Counts
from ldpkit.blackbox.sequential.tallies import MOST, promise, stake

SMALL = 1 << 12
NO_SIDE = np.zeros(2, np.int64)


def counted(*blocks, **options):
    """Counts of blocks of reports of the first input and of the second, and the last ranking."""
    counts = Counts(values=SMALL)
    for first, second in blocks:
        sides = np.repeat([0, 1], [len(first), len(second)])
        counts.see(read([*first, *second]), sides)
        ranked = counts.end_block(1.0, 0.0)
    return counts, ranked


def words(counts, event, report):
    """An event in words; empty if the report does not show it."""
    found = counts.entry(event, report)
    return "" if found is None else found.words


def best(ranking, d, rare=0):
    return [row for row in ranking.events[rare, d] if row[0] > 0]


@hypothesis.settings(max_examples=20, deadline=None)
@hypothesis.given(st.lists(tree, min_size=2, max_size=6), st.integers(1, 5))
def test_flags_are_the_same_in_any_company(reports, cut):
    """What is bet on is found in a report whatever was seen with it."""
    screens = []
    for _ in range(2):
        counts, (past, *_) = counted((3 * reports, []), (3 * reports, []))
        counts.choose([np.append(row, [i % 2, i // 2]) for i, row in enumerate(best(past, 0)[:20])])
        screens.append(counts)
    sides = np.zeros(len(reports), np.int64)
    together = screens[0].see(read(reports), sides)
    parts = [part for part in (reports[:cut], reports[cut:]) if part]
    parts = [screens[1].see(read(part), sides[: len(part)]) for part in parts]
    assert together.any() and (together == np.concatenate(parts)).all()


def test_counts_are_those_of_the_reports():
    reports = [[3, -1], [2, 0.5], [3], [], [None, True]]
    counts, _ = counted((reports, reports[:2]))
    slot = {int(path): i for i, path in enumerate(counts.paths.hashes[: counts.paths.used[0]])}
    names = counting.read([[3, -1]], named=True).names.items()
    named = {name: slot[path] for path, name in names if path in slot}
    first = counts.paths.counts[named["entry 1"], 0]
    assert first[:, tallies.PRESENT].tolist() == [3, 2]
    assert first[:, :3].tolist() == [[2, 3, 0], [1, 2, 0]]  # digits of 3, 2, 3
    second = counts.paths.counts[named["entry 2"], 0]
    assert second[:, tallies.TYPE : tallies.PRESENT].tolist() == [[1, 1, 1, 0], [1, 1, 0, 0]]
    assert second[0, 63] == 1  # the sign
    assert counts.reports.tolist() == [[5, 2], [0, 0]]


def test_a_category_is_counted_once_a_report_from_its_second_time_on():
    counts, _ = counted(([[7, 7, 7]] * 9 + ["once"], [["7"]] * 2))
    for report, said, hits in (
        ([7, 7, 7], "an entry of the report is 7", [9, 0]), ([7, 7, 7], "entry 2 is 7", [8, 0]),
        (["7"], "entry 1 is '7'", [0, 1]), ("once", "the text is 'once'", []),
    ):  # fmt: skip
        events = counting.read([report], named=True).events.items()
        key = next(key for key, words in events if words == said)
        assert counts.table.counts[counts.table.keys == key, 0].ravel().tolist() == hits


@pytest.mark.parametrize("delta", [0.0, 0.01])
@hypothesis.settings(max_examples=50, deadline=None)
@hypothesis.given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 4))
def test_the_stake_is_the_best(delta, p, q, epsilon):
    grown = math.exp(epsilon)

    def won(bet):
        paid = math.log1p(bet * delta / 2)
        return (p * math.log1p(bet) + q * math.log1p(-grown * bet)) / 2 - paid

    tried = max(won(bet) for bet in np.linspace(0, MOST / grown, 300))
    found = stake(p, q, grown, delta, 1.0)
    assert 0 <= found <= MOST / grown
    assert won(found) >= tried - (1e-9 if delta == 0 else 2 * delta)
    assert promise(p, q, 10.0, grown, delta) == pytest.approx(10 * won(found), abs=1e-12)


def test_unequal_numbers_of_reports_promise_nothing():
    """What every report shows has equal rates, although one input was asked three times as often."""
    same = [{"x": 1, "y": "a"}]
    _, (past, *_) = counted((30 * same, 10 * same))
    assert not best(past, 0) and not best(past, 1)


def test_the_best_events_of_either_input_are_ranked_first_and_said_in_words():
    reports = [[{"a": i % 7, "b": side} for i in range(20)] for side in (0, 1)]
    counts, (past, last, _) = counted(tuple(reports))
    for d in range(2):
        top = past.events[0, d, 0]
        assert top[4 + d] == 20 and top[5 - d] == 0
        assert top[0] == pytest.approx(20 * math.log1p(MOST / math.e))
        assert "field b is" in words(counts, top, reports[d][0])
    assert (last.events == past.events).all() and past.seen[0] > 10
    assert words(counts, past.events[0, 0, 0], {}) == ""


def test_a_rare_event_is_ranked_among_the_rare():
    draw = np.random.default_rng(1).integers
    first, second = ([{"x": int(draw(50))} for _ in range(400)] for _ in range(2))
    first[:6] = [{"x": 1, "debug": "one"}] * 6
    counts, (past, *_) = counted((first, second))
    assert any("field debug" in words(counts, row, first[0]) for row in past.events[1, 0])
    assert all(row[4] + row[5] < 40 for row in best(past, 0, rare=1))


def test_a_threshold_keeps_its_value_when_lines_are_cut_anew():
    low, later = [0.1 * i for i in range(20)], ([0.5] * 20, [6.5] * 20)
    counts, (past, *_) = counted((low, [5 + x for x in low]), later, later)
    above = next(row for row in best(past, 1) if row[1] == tallies.ABOVE)
    counts.choose([np.append(above, [1, 2])])
    edges = counts.paths.edges.copy()
    counts.see(read([1e9 + i for i in range(40)]), np.zeros(40, np.int64))
    counts.end_block(1.0, 0.0), counts.end_block(1.0, 0.0)
    assert (edges != counts.paths.edges).any()
    assert counts.see(read([above[3], above[3] + 0.01]), NO_SIDE).tolist() == [[0, 0], [0, 4]]


def test_what_is_bet_on_is_never_forgotten():
    counts, _ = counted(([{"x": "mine"}] * 20, []))
    said = counting.read([{"x": "mine"}], named=True).events
    key = next(key for key, words in said.items() if words == "field x is 'mine'")
    place = np.flatnonzero(counts.table.keys == key)[0]
    counts.choose([np.array([9.0, tallies.CATEGORY, place, 0, 20, 0, 0, 0])])
    many = [f"word {i}" for i in range(4 * SMALL)]
    for _ in range(2):
        counts.see(read([{"y": many}]), NO_SIDE[:1])
    assert np.count_nonzero(counts.table.keys) > 0.9 * SMALL
    assert counts.see(read([{"x": "mine"}, {"x": "other"}]), NO_SIDE).tolist() == [[1, 0], [0, 0]]
    counts.choose([])
    assert counts.see(read([{"x": "mine"}]), NO_SIDE[:1]).tolist() == [[0, 0]]


def test_paths_that_find_no_slot_are_reported():
    counts = Counts(values=SMALL)
    counts.see(read([[1] * 20_000]), NO_SIDE[:1])
    assert not counts.paths.missed.any()
    counts.see(read([{"x": [1] * 20_000}]), NO_SIDE[:1])
    assert 6_000 < counts.paths.missed.sum() < 7_300


def test_two_columns_that_agree_are_found():
    draw = np.random.default_rng(2).integers
    first, second = ([[*draw(0, 2, 30).tolist()] for _ in range(60)] for _ in range(2))
    for report in first:
        report[20] = report[3]
    counts, (*_, couple) = counted((first[:30], second[:30]), (first[30:], second[30:]))
    agree = couple.events[0, 0, 0]
    assert agree[1] == tallies.AGREE and agree[4] == 60
    assert words(counts, agree, first[0]) == "entry 4 and entry 21 agree"
    counts.choose([np.append(agree, [0, 0]), np.append(couple.events[0, 1, 0], [1, 0])])
    flags = counts.see(read(first + second), np.zeros(120, np.int64))
    assert flags[:60].tolist() == [[1, 0]] * 60
    assert flags[60:, 0].tolist() == [report[20] == report[3] for report in second]
    assert (flags[60:].sum(axis=1) == 1).all()
