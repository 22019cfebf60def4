"""What is learned from reports of any form: columns, events, scores.

Statistical tests have fixed seeds. Where a rate is compared with its exact value, the deviation
allowed has a false-alarm rate below 1e-6, which is said beside it.
"""

import copy
import json
import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ldpkit import attacks, betting
from ldpkit.attacks.features import called, columns
from ldpkit.attacks.learned import Learner
from ldpkit.attacks.search import KEPT, Finding, Past
from ldpkit.auditors import audit
from ldpkit.kinds.anything import rows
from ldpkit.mechanisms import CMS, GRR, HM, PM, RAPPOR, SHE, SS, SUE, Repeated

POOL = [
    [1, 0, 1], [0, 0, 1], [1], [], [2, 3.5, 1e300], ["a", 1], {"a": 1.5, "b": "x "},
    {"b": "y", "a": math.nan}, {"b": None, "a": [1, 2.0]}, 3, 2**70, -7, 2.5, math.inf, "", "abc ",
    True, None, [5, 4, 3, 1], [[1, 2], [3]], {"z": {"y": [1, 0]}}, [0.1, 0.2, 0.3], [2**60, 1],
    [math.nan, 1.0], 10**400, [10**400, 1], [1.0, 2.0], {"#len": 1}, [[[[[[1]]]]]], b"ab".hex(),
]  # fmt: skip


def objects(reports):
    array = np.empty(len(reports), object)
    array[:] = [*reports, None][:-1]
    return array


def same(a, b):
    return a == b or (a != a and b != b)


# --- columns --------------------------------------------------------------------------------------


def test_what_is_seen_in_a_report_depends_on_no_other_report():
    full = columns(POOL)
    assert len(full) > 100
    for company in ([], POOL[:5], POOL[9:14], POOL[18:]):
        for i, report in enumerate(POOL):
            seen = columns([report, *company], full)
            for name, column in full.items():
                missing = "" if column.dtype == object else math.nan
                entry = seen[name][0] if name in seen else missing
                assert same(entry, column[i]), (name, report)


def reports():
    """Reports of any form: nested, ragged, empty, huge, not finite, of mixed types."""
    leaf = st.one_of(
        st.none(), st.booleans(), st.integers(-9, 9), st.integers(-(2**1100), 2**1100), st.floats(),
        st.sampled_from([0.0, -0.0, 10**400, 2**1000, 1e305, 2**53 + 1, "", "#len", "\ud800"]),
        st.text(max_size=4),
    )  # fmt: skip
    key = st.sampled_from(["a", "b", "a.b", "#len", "a#len", "[0]", '"', ""])
    nested = st.recursive(leaf, lambda inner: st.lists(inner, max_size=5)
                          | st.dictionaries(key, inner, max_size=3), max_leaves=12)  # fmt: skip
    numbers = st.lists(st.integers(-3, 3), max_size=6) | st.lists(st.floats(), max_size=6)
    return st.lists(nested | numbers | st.lists(st.integers(0, 1), max_size=20), min_size=1,
                    max_size=5)  # fmt: skip


@settings(max_examples=300, deadline=None, derandomize=True)
@given(reports())
@example([[-1.0], [-1.0, -1.0]])  # the largest entry of a list, beside a longer one
@example([{"a.b": 1, "a": {"b": 2}}, {"a": {"b": 2}, "a.b": 1}])
@example([10**305, 10**400])
def test_a_column_of_a_report_is_the_same_alone_and_in_company(made):
    full = columns(made)
    names = {*full, *(name for report in made for name in columns([report]))}
    together = columns(made, names)
    for i, report in enumerate(made):
        own, alone = columns([report]), columns([report], names)
        for name in names:
            for found, place in ((full, i), (together, i), (own, 0)):
                if name in found:
                    missing = "" if found[name].dtype == object else math.nan
                    entry = alone[name][0] if name in alone else missing
                    assert same(found[name][place], entry), (name, report)


@pytest.mark.parametrize(
    "report, name, value",
    [
        ([0, 1, 1], "#parity", 0),
        ([0, 1, 0], "#pad", 1),
        ([3, 1, 2], "#has 3", 1),
        ([3, 1, 2], "#sorted", 0),
        ([3, 1, 2], "#arg", 0),
        ([3, 1, 2], "#max", 3),
        ([0.5, 0.25], "#sum#low", -2),
        (2.0**-60 + 1e-30, "#mag", -59),
        (1.5, "#low", -1),
        (0.1, "#single", 0),
        (0.125, "#decimals", 3),
        (6, "#bit1", 1),
        (6, "#bit0", 0),
        ("ab ", "#chars", 3),
        ("ab ", "#blank", 1),
        ({"b": 1, "a": 2}, "#keys", "b,a"),
        ({"b": 1, "a": 2}, "#first", "b"),
        ({"b": {"c": [7]}}, ".b.c[0]", 7),
        (True, "#type", "bool"),
        (math.nan, "#type", "nan"),
        ([1, 2.0], "whole", "[1, 2.0]"),
    ],
)
def test_what_is_seen_in_a_report(report, name, value):
    assert same(columns([report], [name])[name][0], value)


def test_long_reports_are_known_by_a_digest_that_is_the_same_everywhere():
    long = columns([["x" * 10_000], ["x" * 9_999 + "y"]], ["whole"])["whole"]
    assert long[0] != long[1] and len(long[0]) == 16


def test_a_wide_report_takes_no_more_memory_than_it_is_long():
    found = columns([[0.5] * 10**6, [1.0]])
    assert found["#len"].tolist() == [10**6, 1] and "[64]" not in found


@pytest.mark.parametrize(
    "name, words",
    [
        ("whole", "the whole report"),
        (".", "the report"),
        ("[0]", "the first entry"),
        ("[11]#low", "the exponent of the lowest bit of entry 12"),
        (".a[0]#sum", "the sum of the first entry of a"),
        ("#has 3", "the membership of 3 in the report"),
        (".x#text", "x"),
    ],
)
def test_columns_are_said_in_words(name, words):
    assert called(name) == words


# --- events ---------------------------------------------------------------------------------------


def bits(rng, rates, n):
    return objects((rng.random((n, len(rates))) < rates).astype(int).tolist())


def best(first, second, epsilon=1.0, turned=False):
    return Past(first, second).best(epsilon, 0.0, turned)[1]


def test_a_leak_is_found_and_said():
    rng = np.random.default_rng(1)
    half = np.full(6, 0.5)
    one, two = bits(rng, [*half[:5], 1.0], 60), bits(rng, [*half[:5], 0.0], 60)
    found = best(one, two)
    assert found.words == "the sixth entry is 1" and best(one, two, turned=True).words[-1] == "0"
    assert found.holds(one).all() and not found.holds(two).any()


def test_a_threshold_is_found_and_said():
    rng = np.random.default_rng(2)
    one, two = objects(rng.laplace(4, 1, 200).tolist()), objects(rng.laplace(0, 1, 200).tolist())
    found = best(one, two)
    assert found.test == ">" and 1 < found.values[0] < 4
    assert found.words.startswith("the report > ")


@pytest.mark.parametrize(
    "client, words",
    [
        (lambda b, v: [*b, (sum(b) + v) % 2], "the parity of the sum of the report is 0"),
        (lambda b, v: [*b[:2], b[1] ^ v, *b[3:]], "the second entry and the third entry agree"),
        (lambda b, v: b + [0] * v, "the length of the report is 5"),
        (lambda b, v: {"a": 1, "b": 2} if b[0] or v else {"b": 2, "a": 1}, None),
        (lambda b, v: f"{sum(b)}" + " " * v, None),
        (lambda b, v: sum(b) / 7 if v else float(np.float32(sum(b) / 7)), None),
        (lambda b, v: None if v and b[0] else 3, None),
        (lambda b, v: [3] if v and b[0] else 3, None),
        (lambda b, v: {"a": 1} if v and b[0] else {}, None),
        (lambda b, v: b"\x01\x02".hex() if v and b[0] else "0103", None),
    ],
)
def test_many_kinds_of_leak_are_found(client, words):
    rng = np.random.default_rng(3)
    sides = [objects([client(b, v) for b in bits(rng, np.full(5, 0.5), 150)]) for v in (0, 1)]
    found = [best(*sides), best(*sides, turned=True)]
    assert any(found)
    if words:
        assert words in [f.words for f in found if f]
    for one, turned in zip(found, (False, True)):
        if one is not None:
            p, q = (one.holds(side).mean() for side in (sides[::-1] if turned else sides))
            assert p > math.e * q


def test_an_event_of_a_missing_text():
    reports = objects([{"a": "x"}, {"a": "y"}, {}])
    assert Finding((".a#text",), "in", ("x", "")).holds(reports).tolist() == [True, False, True]


def test_an_event_and_a_score_depend_on_one_report_alone():
    rng = np.random.default_rng(4)
    one = objects([POOL[i] for i in rng.integers(0, len(POOL), 200)])
    two = objects([POOL[i] for i in rng.integers(0, len(POOL) // 2, 200)])
    learner = Learner(0.1)
    learner.learn(one, two)
    pool = objects(POOL)
    assert learner.found is not None
    together = learner.holds(pool), learner.score(pool)
    for i in range(len(POOL)):
        alone = pool[i : i + 1]
        assert learner.holds(alone)[0] == together[0][i]
        assert learner.score(alone)[0] == pytest.approx(together[1][i], abs=1e-12)
    for name in columns(POOL):  # every column, in company and alone
        values = columns(POOL, [name])[name]
        known = (
            tuple(set(values.tolist()) - {math.nan}) if values.dtype == object else (1.0, -np.inf)
        )
        event = Finding((name,), "in", (*known[:1], "") if values.dtype == object else known)
        shown = event.holds(pool)
        assert [bool(event.holds(pool[i : i + 1])[0]) for i in range(len(POOL))] == shown.tolist()


# --- learners -------------------------------------------------------------------------------------


def test_copies_share_what_they_learn_and_speak_for_one_input_each():
    rng = np.random.default_rng(5)
    one, two = bits(rng, [0.5, 0.9], 60), bits(rng, [0.5, 0.1], 60)
    learner = attacks.make("learned").declare(Claim, 10, 0.1)
    turned = copy.deepcopy(learner)
    forward, backward = learner.learn(one, two), turned.learn(two, one)
    assert np.array_equal(forward[0], 1 - backward[1])
    assert learner.words == "the second entry is 1" and turned.words == "the second entry is 0"
    p, q = learner.rates
    assert p > math.e * q and learner.holds(one).mean() > 0.8
    assert np.allclose(learner.score(one), 1 - turned.score(one))
    assert learner.score(one).mean() > 0.7 > 0.3 > learner.score(two).mean()


class Claim:
    epsilon, delta = 1.0, 0.0


def test_the_same_reports_teach_the_same():
    rng = np.random.default_rng(6)
    one, two = bits(rng, np.full(4, 0.6), 90), bits(rng, np.full(4, 0.4), 90)
    found = []
    for _ in range(2):
        learner = Learner(0.5)
        learner.learn(one.copy(), two.copy())
        found.append((learner.words, learner.rates, learner.score(one).tolist()))
    assert found[0] == found[1]


def test_nothing_is_found_in_reports_that_tell_nothing():
    rng = np.random.default_rng(7)
    learner = Learner(1.0)
    first, second = learner.learn(*(bits(rng, np.full(8, 0.5), 400) for _ in range(2)))
    assert learner.found is None and learner.rates is None
    assert np.log(betting.soft(first, 1.0, 1.0)[0] * betting.soft(second, 1.0, 1.0)[1]).mean() <= 0


def test_a_side_that_repeats_itself_is_called_so_and_bet_on_with_linear_bets_only():
    learner = Learner(1.0)
    given = objects([[1, 0]] * 20), objects([[0, 1]] * 20)
    sides = learner.learn(*given)
    assert "all of the first 20 reports of an input are the same" in learner.words
    assert learner.rates is None and all((side == 0.5).all() for side in sides)
    assert (learner.score(given[0]) == 0.5).all()
    assert learner.holds(given[0]).all() and not learner.holds(given[1]).any()


def test_many_reports_are_thinned_and_rows_of_arrays_are_read():
    rng = np.random.default_rng(8)
    n = 3 * KEPT
    one, two = (rng.random((n, 3)) < rate for rate in (0.7, 0.3))
    past = Past(one.astype(np.uint8), two.astype(np.uint8))
    assert past.n == KEPT
    assert past.best(0.5, 0.0, False)[1].holds(one[:100].astype(np.uint8)).shape == (100,)


def test_scores_are_within_bounds_and_of_unseen_reports_say_nothing():
    one, two = objects(list("aab") * 10), objects(list("bba") * 10)
    learner = Learner(0.1)
    learner.learn(one, two)
    said = learner.score(objects(["a", "b", "never seen", 3, None, [1.5]]))
    assert said[0] > 0.5 > said[1] and np.allclose(said[2:], 0.5, atol=0.2)
    assert ((said > 0) & (said < 1)).all()


class Louder(GRR):
    def perturb(self, values, rng):
        return GRR(self.k, 4.0).perturb(values, rng)


@pytest.mark.parametrize(
    ("client", "status"), [(GRR(5, 1.0), "none found"), (Louder(5, 1.0), "violation")]
)
def test_that_nothing_was_worth_a_bet_is_no_reason_to_know_nothing(client, status):
    found = audit(client, "learned", until="sure", trials=3000, seed=1)
    assert found.status == status and (found.one_in >= 10) is (status == "none found")


def loud(base, **given):
    """A mechanism that claims 1 and uses 5."""

    def perturb(self, values, rng):
        return base(**self.parameters | {"epsilon": 5.0}).perturb(values, rng)

    return type("Loud", (base,), {"perturb": perturb})(epsilon=1.0, **given)


LOUD = [
    loud(GRR, k=5),
    loud(SS, k=9),
    loud(SUE, k=5),
    loud(SHE, k=5),
    loud(HM, k=5),
    loud(CMS, k=5, m=8, hashes=2),
    loud(RAPPOR, k=5, cohorts=2, h=1, m=8),
    loud(PM),
    Repeated(loud(GRR, k=5), 3),
]


@pytest.mark.parametrize("mechanism", LOUD, ids=lambda m: m.kind.name)
def test_reports_in_arrays_are_learned_from_as_objects_are(mechanism):
    """What is learned is learned from plain values, and asked of plain values."""
    found = audit(mechanism, "learned", until="sure", trials=1000, seed=1)
    assert found.violated and "int64" not in found.event and "array" not in found.event


@pytest.mark.parametrize("mechanism", LOUD, ids=lambda m: m.kind.name)
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
    """Near 0 the reports of one input are finer: nobody has to be told, see the page on floating
    point."""
    one, other = (
        audit(SHE(4, 1.0, grid), "learned", until="sure", trials=1000, seed=1)
        for grid in (None, 2.0**-20)
    )
    assert one.violated and one.event.startswith("the exponent of the lowest bit of the first")
    assert other.status == "none found"
