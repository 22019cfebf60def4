"""KV-Auditor: golden values, an independent table of means over seeds, and what the valid bound
keeps. `data/kv_auditor.csv` holds mean and deviation of 20 or more runs and the noise-free limit
(of 10^13 users, which moves it by up to 1.2e-5), from another program. A mean of 10 seeds is 5
joint standard errors off with probability below 1e-6 per cell (600 cells)."""

import dataclasses
import functools
import itertools
import math

import kv_pages
import numpy as np
import pandas as pd
import pytest
from chance import DATA
from scipy import stats

from ldpkit.attacks import Guess
from ldpkit.auditors import DistributionAudit, KVAudit
from ldpkit.auditors.count_ratio import ESTIMATORS, statistic
from ldpkit.auditors.kv import collapse, guess_rates, oracle_distribution
from ldpkit.mechanisms import CPPGRR, CPPUE, GRR, OUE, PCKVGRR, PCKVUE, SUE, THE, PrivKV
from ldpkit.stats import clopper_pearson

GRID = [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 4.0, 6.0]
RUNS, THEIRS = 10, 20
UE4 = {"mechanism": "PCKV-UE", "k": 4, "share": 0.5}
CPP4 = {"mechanism": "CPP-UE", "k": 1}


@functools.cache
def oracle(item):
    table = pd.read_csv(DATA / "kv_auditor.csv")
    return table[table["item"] == item]


@functools.cache
def cells(epsilon, given):
    given = {"auditor": "hkv", "users": 10**8} | dict(given)
    attack, users = given.pop("auditor"), given.pop("users")
    given["trials"] = users // 2 if attack == "skv" else users
    again = {"alpha": 0.05, "runs": RUNS, "seed": 3}
    return pd.DataFrame(KVAudit.cell(epsilon=epsilon, attack=attack, **again, **given))


def near_the_oracle(runs, row, joint=5.0):
    """Compare the mean of our runs, the valid bound and the limit with one row of the table."""
    spread = joint * math.sqrt(1 / RUNS + 1 / THEIRS)
    if not math.isnan(row["sd"]):
        sd = max(row["sd"], runs["epsilon_emp"].std())
        assert abs(runs["epsilon_emp"].mean() - row["mean"]) < spread * sd + 1e-5, dict(row)
        assert abs(runs["limit"].iloc[0] - row["limit"]) < 1.7e-5, dict(row)
    if not math.isnan(row["valid"]):
        sd = max(row["sd"] if row["sd"] > 0 else 0, runs["lower"].std(), 1e-5)
        assert abs(runs["lower"].mean() - row["valid"]) < spread * sd + 1e-5, dict(row)


def last_round(mechanism, ownership, value):
    """Law of the first and the last bit after all rounds with noise-free means."""
    means = None
    for _ in range(mechanism.rounds):
        owners = mechanism.distribution([(0, value)], means)
        others = mechanism.distribution([], means)
        cells = ownership * owners + (1 - ownership) * others
        means = mechanism.broadcast(*mechanism.tally_counts(cells), means)
    records = np.append(cells[0] + cells[1], cells[2:])  # after a no the record is empty
    return records.reshape(2, -1, 2).sum(axis=1).ravel()


SERIES = [
    ("table1", "N_key=4 (as published)", {**UE4, "eta": "floor"}),
    ("table1", "N_key=3 (as published)", {**UE4, "k": 3, "padding": 2, "eta": "floor"}),
    ("table1", "N_key=2 (as published)", {**UE4, "k": 2, "padding": 3, "eta": "floor"}),
    ("table1", "N_key=3 eta=1/l", {**UE4, "k": 3, "padding": 2}),
    ("table1", "N_key=2 eta=1/l", {**UE4, "k": 2, "padding": 3}),
    *(("fig6b", f"N_key={k}", {"mechanism": "PCKV-GRR", "k": k, "share": 0.5}) for k in (2, 3, 100)),
    ("fig6a", "HKV, 3 ternary positions (best match to b=4)", {**UE4, "positions": (0, 1, 2)}),
    ("fig6a", "HKV, 4 ternary positions", {**UE4, "positions": (0, 1, 2, 3)}),
    ("fig6a", "VKV one audited key + unrelated key (best)", {**UE4, "auditor": "vkv"}),
    ("fig6a", "VKV both audited keys (text)", {**UE4, "auditor": "vkv", "positions": (0, 1)}),
    ("fig7b", "HKV b=4", {**CPP4, "last": True}),
    *(("fig7c", f"LDP-Auditor b=4 own={w}", {**CPP4, "auditor": "ldp", "ownership": w, "last": True}) for w in (0.5, 0.75)),
]  # fmt: skip
ROUNDS = [
    ("table2", "c={} (as published)", {**CPP4, "auditor": "separated"}),
    ("table2", "mean-only probe group c={}", {**CPP4, "auditor": "probe"}),
    ("table3", "c={} (as published)", {**CPP4, "auditor": "skv"}),
    ("table4/fig7d", "CPP-GRR c={}", {"mechanism": "CPP-GRR", "k": 1, "buckets": 2}),
]


def test_means_over_seeds_and_limits_are_those_of_the_table():
    for item, series, given in SERIES:
        rows = oracle(item)
        rows = rows[rows["series"] == series]
        assert len(rows) == 8
        if series != "N_key=4 (as published)":
            rows = rows[rows["epsilon"].isin([0.1, 1.6, 6.0])]
        for row in rows.to_dict("records"):
            near_the_oracle(cells(row["epsilon"], tuple(given.items())), row)


@pytest.mark.parametrize("item, series, given", ROUNDS, ids=[s[1] for s in ROUNDS])
def test_every_round_is_that_of_the_table(item, series, given):
    rows = oracle(item)
    for number in range(1, 6):
        mine = rows[rows["series"] == series.format(number)]
        assert len(mine) == 8
        for row in mine[:: 1 if "published" in series else 3].to_dict("records"):
            runs = cells(row["epsilon"], tuple(given.items()))
            near_the_oracle(runs[runs["round"] == number], row)


@pytest.mark.parametrize("buckets, ownership", [(4, 0.5), (4, 0.75), (8, 0.5), (16, 0.5)])
def test_figure_7c_limits_and_what_noisy_means_add(buckets, ownership):
    """The table fixes the broadcast means at their noise-free values."""
    rows = oracle("fig7c")
    rows = rows[rows["series"] == f"VKV b={buckets} own={ownership}"]
    assert len(rows) == 8
    for row in rows.iloc[[0, 4, 7]].to_dict("records"):
        mechanism = CPPUE(1, row["epsilon"], buckets)
        laws = [last_round(mechanism, ownership, value) for value in (-1.0, 1.0)]
        fixed = [DistributionAudit(*laws, alpha=0.05).run(s)[0].row() for s in range(RUNS)]
        fixed = pd.DataFrame(fixed)
        near_the_oracle(fixed, row)
        audit = KVAudit(mechanism, "vkv", ownership=ownership, alpha=0.05, last=True)
        assert audit.limits[-1] == pytest.approx(fixed["limit"][0], rel=1e-9)
    # at the largest budget, the last row, it is nine times as large or more
    noisy = [audit.run(s)[0].epsilon_emp for s in range(20)]
    plain = [DistributionAudit(*laws, alpha=0.05).run(s)[0].epsilon_emp for s in range(20)]
    assert stats.f.sf(np.var(noisy) / np.var(plain), 19, 19) < 1e-6


def test_frequency_protocols_under_both_auditors():
    labels = (THE, "fig8a", "THE d=4"), (OUE, "fig8b", "OUE d=4"), (OUE, "fig8b", "OUE d=8")
    for (mechanism, item, label), epsilon in itertools.product(labels, (0.1, 1.6, 6.0)):
        d, pair, rows = int(label[-1]), ((0, 1) if mechanism is THE else (1, 2)), oracle(item)
        m = mechanism(d, epsilon)
        guesser = "LDP-Auditor", None, guess_rates(d, pair[0])
        for name, positions, guess in (("HKV", None, None), ("VKV", pair, None), guesser):
            row = rows[(rows["series"] == f"{name} {label}") & (rows["epsilon"] == epsilon)].iloc[0]
            if guess is not None:  # one event: fewer bounds
                row = row.where(row.index != "valid", math.nan)
            laws = [oracle_distribution(m, v, positions) for v in pair]
            given = {"guess": guess, "alpha": 0.05}
            runs = [DistributionAudit(*laws, **given).run(s)[0].row() for s in range(RUNS)]
            near_the_oracle(pd.DataFrame(runs), row, joint=6.0)


def test_golden_limits():
    def limits(*args, **given):
        return [r.limit for r in KVAudit(*args, trials=1000, **given).run()]

    cpp = CPPUE(1, 1.6)
    for found, wanted, tolerance in [
        (limits(cpp), [0.225396, 0.224357, 0.234187, 0.237465, 0.238559], 6e-7),
        ([limits(CPPUE(1, e, 8))[-1] for e in GRID], [0.0125, 0.0251, 0.0505, 0.1019, 0.2072, 0.4256, 0.5373, 0.8182], 5.1e-5),
        (limits(CPPUE(1, 1.6, 16), "hkv", last=True)[-1:], [0.1903], 5.1e-5),
        (limits(cpp, "skv", squads=(-0.5, -1.0)), [0, 0.0349, 0.0403, 0.0422, 0.0428], 6e-5),
        (limits(cpp, "separated", scaling="exact"), [0, 0.1297, 0.1492, 0.1557, 0.1579], 5.1e-5),
    ]:  # fmt: skip
        assert found == pytest.approx(wanted, abs=tolerance)
    assert limits(PrivKV(1, 1.6, 5)) == limits(CPPGRR(1, 1.6, 2))
    # everybody owning restores the mechanism's loss
    for m, wanted in (PCKVUE(3, 1.6, 1, 0.5), 0.8), (PCKVGRR(3, 1.6, 1, 0.5), 0.8), (cpp, 0.32):
        assert limits(m, ownership=1.0)[0] == pytest.approx(wanted, rel=1e-9), m
    assert limits(PCKVUE(3, 1.6), ownership=0.0)[0] == 0


def test_estimators_on_counts_small_enough_to_check_by_hand():
    one, two, n = np.array([[500, 9, 4, 0]]), np.array([[300, 11, 90, 7]]), 10_000
    ends = {c: clopper_pearson(c, n, 0.025) for c in (500, 300, 9, 11, 4, 90)}
    assert ends[500] == pytest.approx((0.045810, 0.054454), abs=6e-7)
    assert clopper_pearson(1, 100, 0.025) == pytest.approx((0.000253, 0.054459), abs=6e-7)

    def largest(a, b):  # the farthest pair of ends
        (low1, up1), (low2, up2) = ends[a], ends[b]
        return max(abs(math.log(low1 / up2)), abs(math.log(up1 / low2)))

    near, tail = pytest.approx, 0.05 / 16
    assert statistic(one, two, n) == (near(max(largest(500, 300), largest(9, 11))), 1)
    assert statistic(one, two, n, minimum=1) == (near(largest(4, 90)), 2)
    assert statistic(one, two, n, "printed") == (near(math.log(ends[9][1] / ends[11][0])), 1)
    low, high = clopper_pearson(90, n, tail)[0], clopper_pearson(4, n, tail)[1]
    assert statistic(one, two, n, "valid") == (near(math.log(low / high)), 2)
    assert statistic(one, one, n, "valid")[0] == 0
    assert statistic(np.array([[0, 9]]), np.array([[9, 0]]), 9, "printed") == (-np.inf, -1)


def test_split_and_pooled_choose_on_one_half_and_judge_on_the_other():
    one = np.array([[900, 50, 50], [400, 300, 300]])
    two = np.array([[500, 100, 400], [950, 25, 25]])

    def ratio(a, b):
        return math.log(clopper_pearson(a, 1000, 0.025)[0] / clopper_pearson(b, 1000, 0.025)[1])

    # output 2, second over first: refuted by the second half
    assert ratio(25, 300) < 0 and statistic(one, two, 2000, "split") == (0.0, 2)
    assert statistic(one[:, ::-1], two[::-1, ::-1], 2000, "split")[0] > 0
    value, output = statistic(one[[0, 0]], two[[0, 0]], 2000, "split")
    assert output == 2 and value == pytest.approx(ratio(400, 50))
    weak = np.array([[30] * 20 + [5] * 40] * 2), np.array([[20] * 20 + [10] * 40] * 2)
    assert statistic(*weak, 2000, "pooled")[0] > statistic(*weak, 2000, "split")[0] == 0


def test_the_filter_of_rare_outputs_keeps_the_largest_until_they_vary_enough():
    counts = np.array([[3, 10**6] + [1000] * 60 + [5] * 40])
    other = counts.copy()
    other[0, 0], other[0, -1] = 60, 50
    given = {"minimum": 1, "variation": 6}
    assert statistic(counts, other, 10**7, minimum=1)[1] == 0
    assert statistic(counts, other, 10**7, **given)[1] not in (0, 101)
    few = counts[:, :16], other[:, :16]  # which never vary enough
    assert statistic(*few, 10**7, **given)[1] == 0


def test_the_published_estimators_overstate_and_the_valid_one_does_not():
    def values(laws, estimator, runs):
        given = {"trials": 10**6, "alpha": 0.05, "estimator": estimator}
        return [DistributionAudit(*laws, **given).run(s)[0].epsilon_emp for s in range(runs)]

    alike = [np.full(32, 1 / 32)] * 2
    found = {e: values(alike, e, 60) for e in ("printed", "released", "valid")}
    assert np.mean(found["printed"]) == pytest.approx(0.0384, abs=0.0007)
    assert np.mean(found["released"]) == pytest.approx(0.0403, abs=0.0007)
    assert max(found["valid"]) == 0
    # and exceed the truth in practically every tight audit: 98 to 100 % of runs
    tight = values([oracle_distribution(GRR(4, 1.0), v) for v in (0, 1)], "printed", 200)
    assert np.mean(np.array(tight) > 1.0) > 0.97


def test_the_draw_follows_the_law_of_the_limit():
    """With 10^12 users the statistic is its limit, up to the noise of the broadcast means."""
    for auditor in ("hkv", "vkv", "ldp", "probe", "separated", "skv"):
        for result in KVAudit(CPPUE(1, 3.2), auditor, trials=10**12).run():
            assert result.epsilon_emp == pytest.approx(result.limit, abs=3e-4), auditor
            assert result.lower <= result.limit + 3e-4, auditor


def test_collapsing_sums_over_what_is_not_seen():
    cells = np.random.default_rng(1).random((2, 81))
    for seen in (0,), (3, 1), (0, 2, 3):
        axes = [1 + p for p in seen], range(1, 1 + len(seen))
        wanted = np.moveaxis(cells.reshape(2, 3, 3, 3, 3), *axes)
        wanted = wanted.reshape(2, 3 ** len(seen), -1).sum(axis=2)
        assert collapse(cells, seen, 3, 4) == pytest.approx(wanted), seen
    whole, some = oracle_distribution(OUE(5, 1.0), 2), oracle_distribution(OUE(5, 1.0), 2, (2, 0))
    assert some == pytest.approx(collapse(whole, (2, 0), 2, 5), abs=1e-15)
    assert oracle_distribution(OUE(40, 1.0), 2, (2, 39)).size == 4


def test_the_guess_is_that_of_ldp_auditor():
    for mechanism in (OUE(5, 1.5), THE(4, 0.7), SUE(3, 2.0)):
        guess = guess_rates(mechanism.k, 1)
        found = [oracle_distribution(mechanism, value) @ guess for value in (1, 0)]
        assert found == pytest.approx(Guess().rates(mechanism), abs=1e-12), mechanism


def test_estimators_see_the_same_counts_and_seeds_do_not():
    m = PCKVUE(3, 2.0)
    names = "released", "printed", "valid"
    released, printed, valid = (KVAudit(m, estimator=e).run()[0] for e in names)
    assert released.lower == printed.lower == valid.epsilon_emp
    assert printed.epsilon_emp <= released.epsilon_emp
    assert KVAudit(m, positions=(0, 1)).run()[0] == KVAudit(m, positions=[0, 1]).run()[0]
    again, other = KVAudit(m).run()[0], KVAudit(m).run(2)[0]
    assert again == released != other and again.counts != other.counts


def test_from_round_two_on_every_verdict_says_that_it_is_about_two_groups():
    """Whatever the verdict is; squads and their imitators hear the same means."""
    for auditor, users in itertools.product(("hkv", "probe", "separated", "skv"), (10, 10**9)):
        results, case = KVAudit(CPPGRR(1, 1.0, 4), auditor, trials=users).run(), (auditor, users)
        said = ["two groups, not of one user" in r.verdict for r in results]
        assert said == [False] + [auditor != "skv"] * 4, case
        assert all((r.row()["verdict"] == r.verdict) for r in results), case
        claimed = dataclasses.replace(results[1], claim=1e-9, lower=0.5)
        assert claimed.violated and claimed.verdict.startswith("VIOLATION"), case
        assert ("not of one user" in claimed.verdict) == said[1], case


def test_impossible_outputs_have_no_finite_limit():
    result = DistributionAudit(
        [0.5, 0.5, 0.0], [0.25, 0.25, 0.5], trials=1000, estimator="valid"
    ).run()[0]
    assert result.limit == math.inf and result.row()["limit"] is None and result.lower > 4


def test_vkv_of_grr_is_hkv_and_positions_matter_for_unary():
    assert KVAudit(PCKVGRR(3, 1.0), "vkv").run()[0].limit == KVAudit(PCKVGRR(3, 1.0)).run()[0].limit
    for k in (3, 7, 15):  # one audited key and an unrelated one: independent of d
        m = PCKVUE(k, 1.6, 1, 0.5)
        wanted = math.log(1 + 0.5 * (m.a * (1 - m.flip) / (m.b / 2) - 1))
        assert KVAudit(m, "vkv").run()[0].limit == pytest.approx(wanted, rel=1e-12), k


def test_subtracting_exactly_the_owners_leaves_nothing_in_the_first_round():
    for epsilon in (0.1, 6.0):
        results = KVAudit(CPPUE(1, epsilon), "separated", scaling="exact").run()
        assert results[0].limit < 1e-9 and results[1].limit > 0.005
        assert all(r.lower == 0 for r in results)


def test_any_number_of_users_is_one_draw():
    asked = (PCKVUE(4, 1.0), "hkv"), (CPPUE(1, 1.0), "skv"), (CPPGRR(1, 1.0), "hkv")
    for (m, auditor), users, e in itertools.product(asked, (4, 10**12), ESTIMATORS):
        trials = KVAudit(m, auditor, trials=users, estimator=e).run()[0].trials
        assert trials == users, (m, users, e)


def test_leaks_for_given_budgets_of_the_rounds_are_those_of_the_audit_by_squads():
    """Equal budgets are the audit's own; budgets that decay (PBAt) leak less in every later round."""
    for epsilon in (1.6, 6.0):
        mechanism = CPPUE(1, epsilon, 4, 5)
        equal = [mechanism.value_epsilon] * 5
        leaks = kv_pages.round_leaks(mechanism, equal, (-1.0, -0.5), 0.5)
        audited = [round.limit for round in KVAudit(mechanism, "skv", trials=10**6).run()]
        assert leaks == pytest.approx(audited, abs=1e-12)
        budgets = kv_pages.decayed(epsilon / 2, 5)
        assert budgets.sum() == pytest.approx(epsilon / 2) and budgets[1:] == pytest.approx(
            budgets[:-1] / 2
        )
        fewer = kv_pages.round_leaks(mechanism, budgets, (-1.0, -0.5), 0.5)
        assert np.all(np.diff(fewer) < 0) and np.all(np.diff(np.divide(fewer, budgets)) < 0)
        assert fewer[-1] < leaks[-1] / 2
