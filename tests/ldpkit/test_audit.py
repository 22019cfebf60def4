"""The auditor: results, streams, and agreement with the oracle.

Statistical tests at fixed seeds. The sub-grid test demands four standard errors in 3 * 48
comparisons, as the package promises: a correct package fails it for a new seed with probability
below 144 * 6.4e-5 = 0.9 %. Audited statistics elsewhere are compared within five standard
deviations of their exact law (6e-7 each, fewer than 60 comparisons), the counts of several attacks
by `laws.P_MIN` (fewer than 200). An honest mechanism is flagged with probability at most alpha =
0.01 by construction and with less than 0.05 % in fact, in each of 24 audits.
"""

import itertools
import json
import math
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace

import numpy as np
import pytest
from laws import EVERY, P_MIN, PURE, binomial_p, build, table
from scipy import stats as law

from ldpkit import attacks, stats, streams
from ldpkit.auditors import Audit, AuditResult, audit, audits, expected, rows
from ldpkit.mechanisms import GRR, LHO, OUE, PM, RAPPOR, SUE, Client, FaultyUE, make

KEYS = (
    "mechanism k epsilon delta trials alpha seed attack faithful how pair questions tp fp tpr fpr"
    " epsilon_emp lower exact_epsilon_emp exact_sd claim violated status verdict warnings"
    " directions seconds"
).split()
TRIALS = 10**6
Z = law.norm.isf(0.01 / 4)  # of the published tail


# --- the same seed, the same result ---------------------------------------------------------------


@pytest.mark.parametrize(
    "name, trials, given",
    [
        ("SHE", 3000, {"k": 1000}),
        ("SHE", 3000, {"k": 100, "tau": 10}),
        ("RSFD[OUE-r]", 3000, {"k": 100, "d": 10}),
        ("dBitFlipPM", 3000, {"k": 1000, "buckets": 1000, "bits": 1}),
        ("OUE", 2, {"k": 2**21}),
        ("GRR", 100_000, {"k": 2}),
    ],
)
def test_no_more_real_reports_are_held_at_once_than_a_few_megabytes(
    name, trials, given, monkeypatch
):
    mechanism, held = make(name, epsilon=1.0, **given), []
    real = type(mechanism).perturb

    def perturb(self, values, rng):
        reports = real(self, values, rng)
        held.append(
            (
                len(values),
                sum(map(np.size, reports)) if isinstance(reports, list) else np.size(reports),
            )
        )
        return reports

    monkeypatch.setattr(type(mechanism), "perturb", perturb)
    audit(mechanism, "tight", trials=trials, faithful=True)
    users, numbers = zip(*held)
    assert sum(users) >= 2 * trials  # sanity checks make a few more
    assert max(numbers) <= 2**20 or max(users) == 1  # eight megabytes at most, or one report
    assert max(users) in (trials, 2**16) or max(numbers) > 2**19  # and no fewer than can be


@pytest.mark.parametrize("faithful", [False, True])
@pytest.mark.parametrize("attack", ["guess", "tight"])
@pytest.mark.parametrize("label", EVERY)
def test_the_same_seed_gives_the_same_result_for_any_number_of_threads(label, attack, faithful):
    trials = 100_000 if faithful else 600_000  # several chunks
    mechanism, given = (
        build(label, 100, 1.0),
        {"attack": attack, "trials": trials, "faithful": faithful},
    )
    found = [audit(mechanism, seed=7, threads=threads, **given) for threads in (1, 2, 1)]
    # as text: from Python 3.13 on a result with a field that is nan equals no other
    told = [repr([getattr(one, f.name) for f in fields(one) if f.compare]) for one in found]
    assert told[0] == told[1] == told[2]
    assert audit(mechanism, seed=8, **given).counts != found[0].counts


def test_audits_in_parallel_threads_do_not_disturb_each_other():
    alone = [audit(build(label, 4, 1.0), trials=50_000, faithful=True) for label in EVERY]
    with ThreadPoolExecutor(4) as pool:
        together = list(
            pool.map(lambda label: audit(build(label, 4, 1.0), trials=50_000, faithful=True), EVERY)
        )
    assert alone == together


def test_no_two_purposes_share_a_stream(monkeypatch):
    used, original = [], streams.sequence

    def recorded(*name):
        sequence = original(*name)
        used.append(tuple(sequence.generate_state(4).tolist()))
        return sequence

    monkeypatch.setattr(streams, "sequence", recorded)
    audited = [
        OUE(5, 1.0),
        SUE(5, 1.0),
        OUE(6, 1.0),
        OUE(5, 1.5),
        FaultyUE(5, 1.0, "SUE"),
        FaultyUE(5, 1.0, "OUE"),
    ]
    options = ([1, 2], audited, ["guess", "tight"], [False, True], [(0, 4), (4, 0), (1, 2)])
    for seed, mechanism, attack, faithful, pair in itertools.product(*options):
        trials = 70_000 if faithful else 300_000  # two chunks
        audit(mechanism, attack, trials=trials, seed=seed, faithful=faithful, pair=pair)
    rows(OUE(5, 1.0), trials=10, runs=5)
    rows(OUE(5, 1.0), trials=10, runs=5, seed=2)
    assert len(used) == len(set(used)) > 500


def test_both_inputs_and_all_chunks_draw_different_numbers():
    seen = []

    def recorder(values, rng):
        seen.append(rng.random())
        return values

    audit(Client(recorder, 5, "value", 1.0), trials=3 * 2**16)
    assert len(set(seen)) == len(seen) >= 6


def test_a_stream_belongs_to_its_name_alone():
    assert streams.derive(1, "cell", {"a": 1, "b": 2}) == streams.derive(
        1, "cell", {"b": 2, "a": 1}
    )
    names = [
        ("cell", {"a": 1}),
        ("cell", {"a": 2}),
        ("cell", {"a": "1"}),
        ("cell", {"a": 1.5}),
        ("run", 0),
        ("run", 1),
        (),
    ]
    found = [streams.derive(seed, *name) for seed in (0, 1, 2**70) for name in names]
    assert len(set(found)) == len(found) and all(0 <= seed < 2**63 for seed in found)
    assert (
        streams.generator(3, "x").random()
        == streams.generator(3, "x").random()
        != streams.generator(3, "y").random()
    )


@pytest.mark.parametrize("seed", [-1, 1.0, True, "1", None, math.nan])
def test_a_seed_that_is_no_natural_number_is_refused(seed):
    with pytest.raises(ValueError, match="seed must be an integer >= 0"):
        streams.generator(seed)
    with pytest.raises(ValueError, match="seed must be an integer >= 0"):
        audit(OUE(5, 1.0), trials=10, seed=seed)


# --- against the oracle ---------------------------------------------------------------------------


@pytest.mark.parametrize("label", PURE)
def test_simulated_cells_lie_within_four_standard_errors_of_the_oracle(label):
    oracle = {
        (r["mechanism"], int(r["k"]), float(r["eps"])): r
        for r in table("exact")
        if r["figure"] in ("1+2", "2")
    }
    for k in (25, 100):
        for epsilon in (0.25, 1, 4):
            row, found = (
                oracle[label, k, epsilon],
                audit(build(label, k, epsilon), trials=TRIALS, seed=2024),
            )
            for name in ("TPR", "FPR"):
                rate = float(row[name])
                z = (found.rates[name.lower()] - rate) / math.sqrt(rate * (1 - rate) / TRIALS)
                assert abs(z) <= 4, (k, epsilon, name, z)
            z = (found.epsilon_emp - float(row["eps_emp_mean"])) / float(row["eps_emp_sd"])
            assert abs(z) <= 4, (k, epsilon, z)
            assert found.exact == pytest.approx(float(row["eps_emp_mean"]), abs=1e-4)


@pytest.mark.parametrize("label", PURE)
def test_tight_audits_reach_epsilon_within_the_expected_loss(label):
    oracle = {
        (r["mechanism"], r["k"], r["eps"]): float(r["eps_emp_mean_T1e6"]) for r in table("tight")
    }
    for epsilon in (0.25, 1, 4):
        found = audit(build(label, 100, epsilon), "tight", trials=TRIALS)
        assert found.exact == pytest.approx(oracle[label, "100", str(epsilon)], abs=1e-3)
        assert abs(found.epsilon_emp - found.exact) <= 5 * found.exact_sd
        if label != "THE":  # its bits promise less than the claim
            counts = [
                TRIALS * rate for rate in attacks.make("tight").rates(build(label, 100, epsilon))
            ]
            loss = Z * sum(
                math.sqrt((1 - count / TRIALS) / count) for count in counts
            )  # to first order
            assert epsilon - found.exact == pytest.approx(
                loss, abs=Z**2 * sum(1 / count for count in counts)
            )


def test_repeated_audits_have_the_exact_mean_and_spread():
    runs = [row["epsilon_emp"] for row in rows(OUE(25, 1.0), trials=20_000, runs=400, seed=3)]
    mean, sd = expected(OUE(25, 1.0), trials=20_000)
    assert abs(np.mean(runs) - mean) <= 5 * sd / math.sqrt(400)
    assert abs(np.std(runs, ddof=1) / sd - 1) <= 5 / math.sqrt(2 * 399)


@pytest.mark.parametrize("epsilon", [0.25, 0.5, 1, 2])
@pytest.mark.parametrize("protocol", ["SUE", "OUE"])
def test_the_faulty_encoding_is_flagged_and_the_honest_ones_are_not(protocol, epsilon):
    faulty = audit(FaultyUE(25, epsilon, protocol), "tight", trials=TRIALS)
    assert (
        faulty.violated
        and faulty.claim == epsilon < faulty.lower < FaultyUE(25, epsilon, protocol).true_epsilon
    )
    for seed in (1, 2, 3):
        assert not audit(
            make(protocol, k=25, epsilon=epsilon), "tight", trials=TRIALS, seed=seed
        ).violated


@pytest.mark.parametrize("epsilon", [1, 2, 4])
def test_the_papers_attack_does_not_see_the_fault_from_epsilon_one(epsilon):
    assert not audit(FaultyUE(25, epsilon, "SUE"), "guess", trials=TRIALS).violated


# --- the result -----------------------------------------------------------------------------------


@pytest.mark.parametrize("label", PURE)
def test_a_row_of_a_frequency_oracle_has_exactly_the_keys_of_the_command_line(label):
    found = audit(build(label, 5, 1.0), trials=1000)
    assert list(found.row()) == KEYS
    assert json.loads(json.dumps(found.row(), allow_nan=False)) == found.row()


def test_a_row_holds_the_counts_and_what_follows_from_them():
    found = audit(GRR(5, 1.0), trials=10_000, alpha=0.05, seed=9, delta=0.01)
    row, tp, fp = found.row(), found.counts["tp"], found.counts["fp"]
    assert (row["tp"], row["fp"], row["tpr"], row["fpr"]) == (tp, fp, tp / 10_000, fp / 10_000)
    assert row["epsilon_emp"] == stats.epsilon_lower(tp, fp, 10_000, 0.01, tail=0.05 / 4)
    ends = [
        stats.epsilon_lower(one["tp"], one["fp"], 10_000, 0.01, tail=0.05 / 2 / 2)
        for one in row["directions"]
    ]
    assert row["lower"] == max(ends) and row["questions"] == len(ends) == 2
    assert (row["exact_epsilon_emp"], row["exact_sd"]) == expected(
        GRR(5, 1.0), trials=10_000, alpha=0.05, delta=0.01
    )
    assert (row["k"], row["epsilon"], row["claim"], row["delta"], row["alpha"], row["seed"]) == (
        5,
        1.0,
        1.0,
        0.01,
        0.05,
        9,
    )
    assert type(row["violated"]) is bool and row["seconds"] >= 0


def test_extra_parameters_of_a_mechanism_appear_in_its_row():
    assert audit(FaultyUE(5, 1.0, "OUE"), trials=100).row()["protocol"] == "OUE"
    assert (
        audit(Client(lambda values, rng: values, 5, "value", 1.0, 0.25), trials=100).row()["report"]
        == "value"
    )


def test_hashing_without_noise_claims_nothing_and_violates_nothing():
    found = audit(LHO(25, 4), "tight", trials=TRIALS)
    assert found.claim == math.inf and not found.violated and found.counts["fp"] == 0
    assert found.row()["claim"] is None and found.row()["epsilon"] is None and found.row()["g"] == 4
    assert (
        found.verdict
        == "No epsilon is claimed; with 99 % confidence the reports leak at least epsilon ="
        f" {stats.down(found.lower)}. The counts were drawn from the law of LHO: no report was made."
    )
    json.dumps(found.row(), allow_nan=False)


@pytest.mark.parametrize("g", [2, 4, 10])
def test_hashing_without_noise_gives_the_expected_bound(g):
    oracle = {
        int(r["g"]): float(r["eps_emp_mean_T1e6"])
        for r in table("tight")
        if r["mechanism"] == "LHO"
    }
    found = audit(LHO(25, g), "tight", trials=TRIALS)
    assert found.exact == pytest.approx(oracle[g], abs=1e-3)
    assert abs(found.epsilon_emp - found.exact) <= 5 * found.exact_sd


def result(lower, claim):
    given = {
        "mechanism": "X",
        "parameters": {},
        "attack": "guess",
        "trials": 10,
        "alpha": 0.05,
        "seed": 1,
    }
    unknown = {"faithful": False, "counts": {}, "rates": {}, "exact": None, "exact_sd": None}
    return AuditResult(**given, **unknown, epsilon_emp=lower, lower=lower, claim=claim)


def test_verdicts_say_in_words_what_was_shown():
    sure = "with 95 % confidence the reports leak at least epsilon = "
    high = f"VIOLATION: {sure}1.2500, more than the claimed 1."
    low = (
        f"No violation found: {sure}0.5000, which the claimed 1 allows. This does not prove the"
        " claim."
    )
    drawn = " The counts were drawn from the law of X: no report was made."
    assert result(1.25, 1.0).verdict == high + drawn
    assert result(0.5, 1.0).verdict == low + drawn
    assert replace(result(0.5, 1.0), faithful=True).verdict == low
    for faithful in (False, True):
        found = audit(FaultyUE(5, 1.0), "tight", until="sure", faithful=faithful)
        assert found.violated and ("no report was made" in found.verdict) is not faithful


@pytest.mark.parametrize("trials", [10, 300, 5000, 30_000])
def test_how_many_reports_are_needed_is_said_from_the_law_where_there_is_one(trials):
    """Not from the few times that a rare event was seen: the advice would grow with whoever takes
    it."""
    asked = Audit(PM(1.0), "tight", trials=trials, pair=(0, 0.001))
    said = re.search(r"about ([\d,]+) reports", asked.run()[0].inconclusive)
    needed, (tpr, _) = int(said[1].replace(",", "")), asked.rates[0]
    tail = stats.tail_mass(asked.alpha, "valid") / 2
    few, enough = (
        stats.epsilon_lower(round(n * tpr), 0, n, tail=tail) for n in (needed * 9 // 10, needed)
    )
    assert few < 1 < enough


@pytest.mark.parametrize(
    "lower, claim, violated", [(1.0, 1.0, False), (1.0 + 1e-12, 1.0, True), (0, math.inf, False)]
)
def test_a_claim_is_violated_only_if_the_bound_exceeds_it(lower, claim, violated):
    assert result(lower, claim).violated is violated


def test_results_are_frozen_and_compare_without_their_time():
    one, two = (audit(GRR(5, 1.0), trials=100) for _ in range(2))
    assert one == two
    with pytest.raises(AttributeError):
        one.lower = 9.0


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("attack", ["guess", "tight"])
@pytest.mark.parametrize("label", EVERY)
def test_a_single_trial_says_nothing_and_breaks_nothing(label, attack):
    for faithful in (False, True):
        found = audit(build(label, 5, 1.0), attack, trials=1, faithful=faithful)
        assert found.lower == 0 and not found.violated
        assert (
            found.exact == -math.inf
            and found.row()["exact_epsilon_emp"] is None
            and found.row()["exact_sd"] is None
        )
        json.dumps(found.row(), allow_nan=False)
        assert found.epsilon_emp == -math.inf or found.counts["tp"] == 1


def test_runs_of_a_cell_are_numbered_independent_and_reproducible():
    found = Audit.cell("OUE", k=10, epsilon=1.0, trials=1000, runs=4, seed=5)
    assert [row["run"] for row in found] == [0, 1, 2, 3]
    assert len({row["seed"] for row in found}) == 4 and len({row["tp"] for row in found}) > 1
    assert found == Audit.cell("OUE", k=10, epsilon=1.0, trials=1000, runs=4, seed=5)
    assert found[:2] == Audit.cell("OUE", k=10, epsilon=1.0, trials=1000, runs=2, seed=5)
    assert found[0]["exact_tpr"] == attacks.make("guess").rates(OUE(10, 1.0))[0]
    assert "seconds" not in found[0]


@pytest.mark.parametrize("faithful", [False, True])
@pytest.mark.parametrize("label", EVERY)
def test_several_attacks_at_once_are_each_right_and_in_their_order(label, faithful):
    mechanism, trials, names = build(label, 10, 1.0), 100_000, ["tight", "guess"]
    found = audits(mechanism, names, trials=trials, faithful=faithful)
    assert [result.attack for result in found] == names
    assert found == audits(mechanism, names, trials=trials, faithful=faithful, threads=2)
    for result in found:
        for side, rate in zip(("tp", "fp"), attacks.make(result.attack).rates(mechanism)):
            assert binomial_p(result.counts[side], trials, rate) > P_MIN
        assert (result.exact, result.exact_sd) == expected(mechanism, result.attack, trials=trials)


def test_several_attacks_see_the_same_reports():
    calls = []

    def counting(values, rng):
        calls.append(len(values))
        return rng.integers(0, 5, len(values))

    guess, tight = audits(Client(counting, 5, "value", 1.0), ["guess", "tight"], trials=1000)
    assert calls[:2] == [1000, 1000]  # what follows are the checks'
    assert guess.counts == tight.counts  # on single values both accept the first one


def test_rows_of_several_attacks_come_run_by_run():
    found = rows(OUE(10, 1.0), ["guess", "tight"], trials=1000, runs=3)
    assert [(row["run"], row["attack"]) for row in found] == [
        (r, a) for r in range(3) for a in ("guess", "tight")
    ]
    assert [row["exact_tpr"] for row in found[:2]] == [
        attacks.make(a).rates(OUE(10, 1.0))[0] for a in ("guess", "tight")
    ]


# --- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given, message",
    [
        ({"trials": 0}, r"trials must be an integer in \[1, 1000000000000\], got 0"),
        ({"trials": -5}, r"trials must be an integer in \[1, 1000000000000\], got -5"),
        ({"trials": 1e6}, r"trials must be an integer in \[1, 1000000000000\], got 1000000.0"),
        ({"alpha": 0}, r"alpha must be a number in \[1e-100, 1\), got 0"),
        ({"alpha": 1.0}, r"alpha must be a number in \[1e-100, 1\), got 1.0"),
        ({"alpha": math.nan}, r"alpha must be a number in \[1e-100, 1\), got nan"),
        ({"delta": -0.1}, r"delta must be a number in \[0, 1\), got -0.1"),
        ({"delta": 1}, r"delta must be a number in \[0, 1\), got 1"),
        ({"delta": math.nan}, r"delta must be a number in \[0, 1\), got nan"),
        ({"delta": "0"}, r"delta must be a number in \[0, 1\), got '0'"),
        ({"threads": 0}, "threads must be an integer >= 1, got 0"),
        ({"pair": (0, 5)}, r"pair must be an integer in \[0, 4\], got 5"),
        ({"pair": (-1, 2)}, r"pair must be an integer in \[0, 4\], got -1"),
        ({"pair": (2, 2)}, r"pair must hold two different values, got \(2, 2\)"),
        (
            {"attack": "guesss"},
            "attack must be one of guess, tight, learned, got 'guesss'; did you mean 'guess'",
        ),
        (
            {"mechanism": "OUE"},
            "mechanism must be a mechanism whose reports can be read, or a Client, got 'OUE'",
        ),
    ],
)
def test_bad_parameters_of_an_audit_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        audit(**({"mechanism": OUE(5, 1.0)} | given))


def test_a_cell_refuses_what_its_mechanism_refuses():
    with pytest.raises(ValueError, match="did you mean 'OUE'"):
        Audit.cell("OEU", k=5, epsilon=1.0)
    with pytest.raises(ValueError, match="OUE needs epsilon"):
        Audit.cell("OUE", k=5)
    with pytest.raises(ValueError, match="runs must be an integer >= 1"):
        Audit.cell("OUE", k=5, epsilon=1.0, runs=0)


@pytest.mark.parametrize(("m", "made"), [(8, False), (128, True)])
def test_what_has_no_law_is_audited_by_real_reports(m, made):
    """Guesses from long Bloom filters have no law that can be gone through, short ones have."""
    asked = Audit(RAPPOR(4, 2.0, m=m, cohorts=2), "guess", trials=500)
    (found,) = asked.run(3)
    assert (found.faithful, found.how) == (made, "real reports" if made else "law")
    assert (asked.rates == [None]) is made and found.counts["tp"] > found.counts["fp"]
