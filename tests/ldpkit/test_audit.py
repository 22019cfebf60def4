"""The auditor: results, streams, and agreement with the oracle. Fixed seeds: fewer than 500 counts
are judged by `chance.P_MIN`, fewer than 120 statistics at five standard deviations (6e-7 each), and
24 honest audits at alpha = 0.01 (less than 0.05 % in fact)."""

import itertools
import json
import math
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields

import numpy as np
import pytest
from chance import EVERY, P_MIN, binomial_p, build

from ldpkit import Client, attacks, audit, stats
from ldpkit.auditors import Audit, audits, expected
from ldpkit.mechanisms import GRR, LHO, OUE, PM, RAPPOR, SUE, FaultyUE, make
from ldpkit.rng import derive, generator, sequence

TRIALS = 10**6


def test_no_more_real_reports_are_held_at_once_than_a_few_megabytes(monkeypatch):
    for name, trials, given in [
        ("SHE", 3000, {"k": 1000}), ("SHE", 3000, {"k": 100, "tau": 10}),
        ("RSFD[OUE-r]", 3000, {"k": 100, "d": 10}), ("OUE", 2, {"k": 2**21}),
        ("dBitFlipPM", 3000, {"k": 1000, "buckets": 1000, "bits": 1}), ("GRR", 100_000, {"k": 2}),
    ]:  # fmt: skip
        mechanism, held = make(name, epsilon=1.0, **given), []
        real = type(mechanism).perturb

        def perturb(self, values, rng):
            reports = real(self, values, rng)
            parts = reports if isinstance(reports, list) else [reports]
            held.append((len(values), sum(map(np.size, parts))))
            return reports

        with monkeypatch.context() as patch:
            patch.setattr(type(mechanism), "perturb", perturb)
            audit(mechanism, "tight", trials=trials, faithful=True)
        users, numbers = zip(*held)
        assert sum(users) >= 2 * trials, name  # sanity checks make a few more
        assert max(numbers) <= 2**20 or max(users) == 1, name  # eight megabytes, or one report
        assert max(users) in (trials, 2**16) or max(numbers) > 2**19, name  # no fewer than can be


@pytest.mark.parametrize("faithful", [False, True])
def test_the_same_seed_gives_the_same_result_for_any_number_of_threads(faithful):
    trials = 70_000 if faithful else 600_000  # several chunks
    for label, attack in itertools.product(EVERY, ("guess", "tight")):
        given = {"attack": attack, "trials": trials, "faithful": faithful}
        mechanism = build(label, 30, 1.0)
        found = [audit(mechanism, seed=7, threads=threads, **given) for threads in (1, 2, 1)]
        # as text: from Python 3.13 on a result with a field that is nan equals no other
        told = [repr([getattr(one, f.name) for f in fields(one) if f.compare]) for one in found]
        assert told[0] == told[1] == told[2], (label, attack)
        assert audit(mechanism, seed=8, **given).counts != found[0].counts, (label, attack)


def test_audits_in_parallel_threads_do_not_disturb_each_other():
    def one(label):
        return audit(build(label, 4, 1.0), trials=50_000, faithful=True)

    alone = [one(label) for label in EVERY]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(one, EVERY)) == alone


def test_no_two_purposes_share_a_stream(monkeypatch):
    used, original = [], sequence

    def recorded(*name):
        sequence = original(*name)
        used.append(tuple(sequence.generate_state(4).tolist()))
        return sequence

    monkeypatch.setattr("ldpkit.rng.sequence", recorded)
    audited = [
        OUE(5, 1.0), SUE(5, 1.0), OUE(6, 1.0), OUE(5, 1.5), FaultyUE(5, 1.0, "SUE"), FaultyUE(5, 1.0, "OUE"),
    ]  # fmt: skip
    options = ([1, 2], audited, ["guess", "tight"], [False, True], [(0, 4), (4, 0), (1, 2)])
    for seed, mechanism, attack, faithful, pair in itertools.product(*options):
        trials = 70_000 if faithful else 300_000  # two chunks
        audit(mechanism, attack, trials=trials, seed=seed, faithful=faithful, pair=pair)
    Audit.cell(mechanism=OUE(5, 1.0), trials=10, runs=5)
    Audit.cell(mechanism=OUE(5, 1.0), trials=10, runs=5, seed=2)
    assert len(used) == len(set(used)) > 500


def test_a_stream_belongs_to_its_name_alone():
    one, other = ({"a": 1, "b": 2}, {"b": 2, "a": 1})
    assert derive(1, "cell", one) == derive(1, "cell", other)
    names = [*(("cell", {"a": a}) for a in (1, 2, "1", 1.5)), ("run", 0), ("run", 1), ()]
    found = [derive(seed, *name) for seed in (0, 1, 2**70) for name in names]
    assert len(set(found)) == len(found) and all(0 <= seed < 2**63 for seed in found)
    drawn = [generator(3, name).random() for name in ("x", "x", "y")]
    assert drawn[0] == drawn[1] != drawn[2]


def test_repeated_audits_have_the_exact_mean_and_spread():
    runs = [
        row["epsilon_emp"]
        for row in Audit.cell(mechanism=OUE(25, 1.0), trials=20_000, runs=400, seed=3)
    ]
    mean, sd = expected(OUE(25, 1.0), trials=20_000)
    assert abs(np.mean(runs) - mean) <= 5 * sd / math.sqrt(400)
    assert abs(np.std(runs, ddof=1) / sd - 1) <= 5 / math.sqrt(2 * 399)


def test_the_faulty_encoding_is_flagged_and_the_honest_ones_are_not():
    for protocol, epsilon in itertools.product(("SUE", "OUE"), (0.25, 0.5, 1, 2)):
        mechanism = FaultyUE(25, epsilon, protocol)
        faulty = audit(mechanism, "tight", trials=TRIALS)
        assert faulty.violated, mechanism
        assert faulty.claim == epsilon < faulty.lower < mechanism.true_epsilon, mechanism
        honest = make(protocol, k=25, epsilon=epsilon)
        for seed in (1, 2, 3):
            assert not audit(honest, "tight", trials=TRIALS, seed=seed).violated, (honest, seed)
    for epsilon in (1, 2, 4):  # the paper's attack does not see the fault
        assert not audit(FaultyUE(25, epsilon, "SUE"), "guess", trials=TRIALS).violated, epsilon


def test_a_row_holds_the_counts_and_what_follows_from_them():
    given = {"trials": 10_000, "alpha": 0.05, "delta": 0.01}
    found = audit(GRR(5, 1.0), seed=9, **given)
    row, tp, fp = found.row(), found.counts["tp"], found.counts["fp"]
    assert (row["tp"], row["fp"], row["tpr"], row["fpr"]) == (tp, fp, tp / 10_000, fp / 10_000)
    assert row["epsilon_emp"] == stats.epsilon_lower(tp, fp, 10_000, 0.01, tail=0.05 / 4)
    ends = [stats.epsilon_lower(one["tp"], one["fp"], 10_000, 0.01, tail=0.05 / 2 / 2)
            for one in row["directions"]]  # fmt: skip
    assert row["lower"] == max(ends) and row["questions"] == len(ends) == 2
    assert (row["exact_epsilon_emp"], row["exact_sd"]) == expected(GRR(5, 1.0), **given)
    wanted = {"k": 5, "epsilon": 1.0, "claim": 1.0, "delta": 0.01, "alpha": 0.05, "seed": 9}
    assert row | wanted == row and type(row["violated"]) is bool and row["seconds"] >= 0


def test_hashing_without_noise_claims_nothing_and_violates_nothing():
    found = audit(LHO(25, 4), "tight", trials=TRIALS)
    assert abs(found.epsilon_emp - found.exact) <= 5 * found.exact_sd
    assert found.claim == math.inf and not found.violated and found.counts["fp"] == 0
    row = found.row()
    assert row["claim"] is None and row["epsilon"] is None and row["g"] == 4
    json.dumps(row, allow_nan=False)
    said = f"No epsilon is claimed; with 99 % confidence the reports leak at least epsilon = {stats.down(found.lower)}."
    said += " The counts were sampled from the exact distribution of LHO: no report was made."
    assert found.verdict == said


def test_how_many_reports_are_needed_is_said_from_the_law_where_there_is_one():
    """Not from the few times that a rare event was seen."""
    for trials in (10, 300, 5000, 30_000):
        asked = Audit(PM(1.0), "tight", trials=trials, pair=(0, 0.001))
        said = re.search(r"about ([\d,]+) reports", asked.run()[0].inconclusive)
        needed, (tpr, _) = int(said[1].replace(",", "")), asked.rates[0]
        tail = stats.tail_mass(asked.alpha, "valid") / 2
        few, enough = (stats.epsilon_lower(round(n * tpr), 0, n, tail=tail)
                       for n in (needed * 9 // 10, needed))  # fmt: skip
        assert few < 1 < enough, trials


@pytest.mark.filterwarnings("error")
def test_a_single_trial_says_nothing_and_breaks_nothing():
    for label, attack, faithful in itertools.product(EVERY, ("guess", "tight"), (False, True)):
        found = audit(build(label, 5, 1.0), attack, trials=1, faithful=faithful)
        case = label, attack
        assert found.lower == 0 and not found.violated and found.exact == -math.inf, case
        row = found.row()
        assert row["exact_epsilon_emp"] is None and row["exact_sd"] is None, case
        json.dumps(row, allow_nan=False)
        assert found.epsilon_emp == -math.inf or found.counts["tp"] == 1, case


def test_several_attacks_at_once_are_each_right_and_in_their_order():
    trials, names = 100_000, ["tight", "guess"]
    for label, faithful in itertools.product(EVERY, (False, True)):
        mechanism, case = build(label, 10, 1.0), (label, faithful)
        found = audits(mechanism, names, trials=trials, faithful=faithful)
        assert [result.attack for result in found] == names, case
        assert found == audits(mechanism, names, trials=trials, faithful=faithful, threads=2), case
        for result in found:
            for side, rate in zip(("tp", "fp"), attacks.make(result.attack).rates(mechanism)):
                assert binomial_p(result.counts[side], trials, rate) > P_MIN, (*case, side)
            wanted = expected(mechanism, result.attack, trials=trials)
            assert (result.exact, result.exact_sd) == wanted, case


def test_several_attacks_see_the_same_reports():
    calls = []

    def counting(values, rng):
        calls.append(len(values))
        return rng.integers(0, 5, len(values))

    guess, tight = audits(
        Client(counting, 5, "value", 1.0), ["guess", "tight"], trials=1000, independent=True
    )
    assert calls == [1000, 1000]
    assert guess.counts == tight.counts  # on single values both accept the first one


def test_rows_of_several_attacks_come_run_by_run():
    names = "guess", "tight"
    found = Audit.cell(mechanism=OUE(10, 1.0), attack=names, trials=1000, runs=3)
    order = [(row["run"], row["attack"]) for row in found]
    assert order == [*itertools.product(range(3), names)]
    law = [attacks.make(a).rates(OUE(10, 1.0))[0] for a in names]
    assert [row["exact_tpr"] for row in found[:2]] == law


def test_what_has_no_law_is_audited_by_real_reports():
    for m, made in (8, False), (128, True):  # bits of a filter, whose reports can be listed or not
        asked = Audit(RAPPOR(4, 2.0, m=m, cohorts=2), "guess", trials=500)
        (found,) = asked.run(3)
        assert (found.faithful, found.how) == (
            made,
            "real reports" if made else "exact distribution",
        ), m
        assert (asked.rates == [None]) is made and found.counts["tp"] > found.counts["fp"], m
