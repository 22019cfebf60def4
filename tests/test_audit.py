"""The auditor: results, streams, agreement with the oracle, and foreign clients.

Statistical tests at fixed seeds. The sub-grid test demands four standard errors in 3 * 48 comparisons, as the package
promises: a correct package fails it for a new seed with probability below 144 * 6.4e-5 = 0.9 %. Audited statistics
elsewhere are compared within five standard deviations of their exact law (6e-7 each, fewer than 60 comparisons);
counts of clients by `laws.P_MIN`. An honest mechanism is flagged with probability at most alpha = 0.01 by
construction and with less than 0.05 % in fact, in each of 24 audits.
"""

import inspect
import itertools
import json
import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from laws import EVERY, P_MIN, PURE, binomial_p, build, same_rate_p, table
from scipy import stats as law

from ldpkit import attacks, stats, streams
from ldpkit.auditors import AuditResult, audit, audit_cell, expected, rows
from ldpkit.mechanisms import BLH, GRR, LHO, OUE, SHE, SS, SUE, Client, ClientError, FaultyUE, make
from ldpkit.mechanisms.client import load
from ldpkit.mechanisms.hashing import hash_cell

KEYS = (
    "mechanism k epsilon delta trials alpha seed attack faithful tp fp tpr fpr epsilon_emp lower "
    "exact_epsilon_emp exact_sd claim violated seconds"
).split()
TRIALS = 10**6
Z = law.norm.isf(0.01 / 4)  # of the published tail


# --- the same seed, the same result -----------------------------------------------------------------


@pytest.mark.parametrize("faithful", [False, True])
@pytest.mark.parametrize("attack", ["guess", "tight"])
@pytest.mark.parametrize("label", EVERY)
def test_the_same_seed_gives_the_same_result_for_any_number_of_threads(label, attack, faithful):
    trials = 200_000 if faithful else 600_000  # several chunks
    given = {"attack": attack, "trials": trials, "faithful": faithful}
    found = [audit(build(label, 5, 1.0), seed=7, threads=threads, **given) for threads in (1, 2, 1)]
    assert found[0] == found[1] == found[2]
    assert audit(build(label, 5, 1.0), seed=8, **given).counts != found[0].counts


def test_audits_in_parallel_threads_do_not_disturb_each_other():
    alone = [audit(build(label, 4, 1.0), trials=50_000, faithful=True) for label in EVERY]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda label: audit(build(label, 4, 1.0), trials=50_000, faithful=True), EVERY))
    assert alone == together


def test_no_two_purposes_share_a_stream(monkeypatch):
    used, original = [], streams.sequence

    def recorded(*name):
        sequence = original(*name)
        used.append(tuple(sequence.generate_state(4).tolist()))
        return sequence

    monkeypatch.setattr(streams, "sequence", recorded)
    audited = [OUE(5, 1.0), SUE(5, 1.0), OUE(6, 1.0), OUE(5, 1.5), FaultyUE(5, 1.0, "SUE"), FaultyUE(5, 1.0, "OUE")]
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
    assert len(seen) == 6 and len(set(seen)) == 6


def test_a_stream_belongs_to_its_name_alone():
    assert streams.derive(1, "cell", {"a": 1, "b": 2}) == streams.derive(1, "cell", {"b": 2, "a": 1})
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
        streams.generator(3, "x").random() == streams.generator(3, "x").random() != streams.generator(3, "y").random()
    )


@pytest.mark.parametrize("seed", [-1, 1.0, True, "1", None, math.nan])
def test_a_seed_that_is_no_natural_number_is_refused(seed):
    with pytest.raises(ValueError, match="seed must be an integer >= 0"):
        streams.generator(seed)
    with pytest.raises(ValueError, match="seed must be an integer >= 0"):
        audit(OUE(5, 1.0), trials=10, seed=seed)


# --- against the oracle --------------------------------------------------------------------------------


@pytest.mark.parametrize("label", PURE)
def test_simulated_cells_lie_within_four_standard_errors_of_the_oracle(label):
    oracle = {(r["mechanism"], int(r["k"]), float(r["eps"])): r for r in table("exact") if r["figure"] in ("1+2", "2")}
    for k in (25, 100):
        for epsilon in (0.25, 1, 4):
            row, found = oracle[label, k, epsilon], audit(build(label, k, epsilon), trials=TRIALS, seed=2024)
            for name in ("TPR", "FPR"):
                rate = float(row[name])
                z = (found.rates[name.lower()] - rate) / math.sqrt(rate * (1 - rate) / TRIALS)
                assert abs(z) <= 4, (k, epsilon, name, z)
            z = (found.epsilon_emp - float(row["eps_emp_mean"])) / float(row["eps_emp_sd"])
            assert abs(z) <= 4, (k, epsilon, z)
            assert found.exact == pytest.approx(float(row["eps_emp_mean"]), abs=1e-4)


@pytest.mark.parametrize("label", PURE)
def test_tight_audits_reach_epsilon_within_the_expected_loss(label):
    oracle = {(r["mechanism"], r["k"], r["eps"]): float(r["eps_emp_mean_T1e6"]) for r in table("tight")}
    for epsilon in (0.25, 1, 4):
        found = audit(build(label, 100, epsilon), "tight", trials=TRIALS)
        assert found.exact == pytest.approx(oracle[label, "100", str(epsilon)], abs=1e-3)
        assert abs(found.epsilon_emp - found.exact) <= 5 * found.exact_sd
        if label != "THE":  # its bits promise less than the claim
            counts = [TRIALS * rate for rate in attacks.make("tight").rates(build(label, 100, epsilon))]
            loss = Z * sum(math.sqrt((1 - count / TRIALS) / count) for count in counts)  # to first order
            assert epsilon - found.exact == pytest.approx(loss, abs=Z**2 * sum(1 / count for count in counts))


def test_repeated_audits_have_the_exact_mean_and_spread():
    runs = [row["epsilon_emp"] for row in rows(OUE(25, 1.0), trials=20_000, runs=400, seed=3)]
    mean, sd = expected(OUE(25, 1.0), trials=20_000)
    assert abs(np.mean(runs) - mean) <= 5 * sd / math.sqrt(400)
    assert abs(np.std(runs, ddof=1) / sd - 1) <= 5 / math.sqrt(2 * 399)


@pytest.mark.parametrize("epsilon", [0.25, 0.5, 1, 2])
@pytest.mark.parametrize("protocol", ["SUE", "OUE"])
def test_the_faulty_encoding_is_flagged_and_the_honest_ones_are_not(protocol, epsilon):
    faulty = audit(FaultyUE(25, epsilon, protocol), "tight", trials=TRIALS)
    assert faulty.violated and faulty.claim == epsilon < faulty.lower < FaultyUE(25, epsilon, protocol).true_epsilon
    for seed in (1, 2, 3):
        assert not audit(make(protocol, k=25, epsilon=epsilon), "tight", trials=TRIALS, seed=seed).violated


@pytest.mark.parametrize("epsilon", [1, 2, 4])
def test_the_papers_attack_does_not_see_the_fault_from_epsilon_one(epsilon):
    assert not audit(FaultyUE(25, epsilon, "SUE"), "guess", trials=TRIALS).violated


# --- the result --------------------------------------------------------------------------------------


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
    assert row["lower"] == stats.epsilon_lower(tp, fp, 10_000, 0.01, tail=0.05 / 2) > row["epsilon_emp"]
    assert (row["exact_epsilon_emp"], row["exact_sd"]) == expected(GRR(5, 1.0), trials=10_000, alpha=0.05, delta=0.01)
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
    assert audit(Client(lambda values, rng: values, 5, "value", 1.0, 0.25), trials=100).row()["report"] == "value"


def test_hashing_without_noise_claims_nothing_and_violates_nothing():
    found = audit(LHO(25, 4), "tight", trials=TRIALS)
    assert found.claim == math.inf and not found.violated and found.counts["fp"] == 0
    assert found.row()["claim"] is None and found.row()["epsilon"] is None and found.row()["g"] == 4
    assert (
        found.verdict
        == f"No epsilon is claimed; with 99 % confidence the reports leak at least epsilon = {found.lower:.4f}."
    )
    json.dumps(found.row(), allow_nan=False)


@pytest.mark.parametrize("g", [2, 4, 10])
def test_hashing_without_noise_gives_the_expected_bound(g):
    oracle = {int(r["g"]): float(r["eps_emp_mean_T1e6"]) for r in table("tight") if r["mechanism"] == "LHO"}
    found = audit(LHO(25, g), "tight", trials=TRIALS)
    assert found.exact == pytest.approx(oracle[g], abs=1e-3)
    assert abs(found.epsilon_emp - found.exact) <= 5 * found.exact_sd


def result(lower, claim):
    given = {"mechanism": "X", "parameters": {}, "attack": "guess", "trials": 10, "alpha": 0.05, "seed": 1}
    unknown = {"faithful": False, "counts": {}, "rates": {}, "exact": None, "exact_sd": None}
    return AuditResult(**given, **unknown, epsilon_emp=lower, lower=lower, claim=claim)


def test_verdicts_say_in_words_what_was_shown():
    sure = "with 95 % confidence the reports leak at least epsilon = "
    assert result(1.25, 1.0).verdict == f"VIOLATION: {sure}1.2500, more than the claimed 1."
    assert result(0.5, 1.0).verdict == (
        f"No violation found: {sure}0.5000, which the claimed 1 allows. This does not prove the claim."
    )


@pytest.mark.parametrize("lower, claim, violated", [(1.0, 1.0, False), (1.0 + 1e-12, 1.0, True), (0, math.inf, False)])
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
        assert found.exact == -math.inf and found.row()["exact_epsilon_emp"] is None and found.row()["exact_sd"] is None
        json.dumps(found.row(), allow_nan=False)
        assert found.epsilon_emp == -math.inf or found.counts["tp"] == 1


def test_runs_of_a_cell_are_numbered_independent_and_reproducible():
    found = audit_cell("OUE", k=10, epsilon=1.0, trials=1000, runs=4, seed=5)
    assert [row["run"] for row in found] == [0, 1, 2, 3]
    assert len({row["seed"] for row in found}) == 4 and len({row["tp"] for row in found}) > 1
    assert found == audit_cell("OUE", k=10, epsilon=1.0, trials=1000, runs=4, seed=5)
    assert found[:2] == audit_cell("OUE", k=10, epsilon=1.0, trials=1000, runs=2, seed=5)
    assert found[0]["exact_tpr"] == attacks.make("guess").rates(OUE(10, 1.0))[0]
    assert "seconds" not in found[0]


# --- bad input -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given, message",
    [
        ({"trials": 0}, "trials must be an integer >= 1, got 0"),
        ({"trials": -5}, "trials must be an integer >= 1, got -5"),
        ({"trials": 1e6}, "trials must be an integer >= 1, got 1000000.0"),
        ({"alpha": 0}, r"alpha must be a number in \(0, 1\), got 0"),
        ({"alpha": 1.0}, r"alpha must be a number in \(0, 1\), got 1.0"),
        ({"alpha": math.nan}, r"alpha must be a number in \(0, 1\), got nan"),
        ({"delta": -0.1}, r"delta must be a number in \[0, 1\), got -0.1"),
        ({"delta": 1}, r"delta must be a number in \[0, 1\), got 1"),
        ({"delta": math.nan}, r"delta must be a number in \[0, 1\), got nan"),
        ({"delta": "0"}, r"delta must be a number in \[0, 1\), got '0'"),
        ({"threads": 0}, "threads must be an integer >= 1, got 0"),
        ({"pair": (0, 5)}, r"pair must be an integer in \[0, 4\], got 5"),
        ({"pair": (-1, 2)}, r"pair must be an integer in \[0, 4\], got -1"),
        ({"pair": (2, 2)}, r"pair must hold two different values, got \(2, 2\)"),
        ({"attack": "guesss"}, "attack must be one of guess, tight, got 'guesss'; did you mean 'guess'"),
        ({"mechanism": "OUE"}, "mechanism must be a frequency oracle or a Client, got 'OUE'"),
    ],
)
def test_bad_parameters_of_an_audit_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        audit(**({"mechanism": OUE(5, 1.0)} | given))


def test_a_cell_refuses_what_its_mechanism_refuses():
    with pytest.raises(ValueError, match="did you mean 'OUE'"):
        audit_cell("OEU", k=5, epsilon=1.0)
    with pytest.raises(ValueError, match="OUE needs epsilon"):
        audit_cell("OUE", k=5)
    with pytest.raises(ValueError, match="runs must be an integer >= 1"):
        audit_cell("OUE", k=5, epsilon=1.0, runs=0)


# --- clients ----------------------------------------------------------------------------------------------


def oue_client(values, rng):
    bits = rng.random((len(values), 10)) < 1 / (math.e + 1)
    bits[np.arange(len(values)), values] = rng.random(len(values)) < 0.5
    return bits


LOOSE = np.random.default_rng(31)  # clients of one value bring their own randomness


def oue_client_of_one_value(value):
    return [int(b) for b in oue_client(np.array([value]), LOOSE)[0]]


def grr_client(values, rng):
    return np.where(rng.random(len(values)) < GRR(10, 1.0).p, values, (values + rng.integers(1, 10, len(values))) % 10)


def ss_client(values, rng):
    ss = SS(10, 1.0)
    return [set(report) for report in ss.perturb(values, rng).tolist()]


def she_argmax_client(values, rng):
    return SHE(10, 1.0).perturb(values, rng).argmax(axis=1)


def blh_as_subset_client(values, rng):
    """Sends the values in the reported cell, sometimes none: subsets of different sizes."""
    reports = BLH(10, 1.0).perturb(values, rng)
    return [[u for u in range(10) if hash_cell(u, report["seed"], 2) == report["cell"]] for report in reports]


@pytest.mark.parametrize("attack", ["guess", "tight"])
@pytest.mark.parametrize(
    "function, report, honest, trials",
    [
        (oue_client, "bits", OUE(10, 1.0), 200_000),
        (oue_client_of_one_value, "bits", OUE(10, 1.0), 20_000),
        (grr_client, "value", GRR(10, 1.0), 200_000),
        (ss_client, "subset", SS(10, 1.0), 50_000),
        (blh_as_subset_client, "subset", BLH(10, 1.0), 10_000),
    ],
)
def test_auditing_a_client_agrees_with_auditing_its_mechanism(function, report, honest, trials, attack):
    client = audit(Client(function, 10, report, 1.0), attack, trials=trials)
    own = audit(honest, attack, trials=trials, faithful=True)
    for side, rate in zip(("tp", "fp"), attacks.make(attack).rates(honest)):
        assert binomial_p(client.counts[side], trials, rate) > P_MIN
        assert same_rate_p(client.counts[side], trials, own.counts[side], trials) > P_MIN
    assert client.faithful and client.exact is None and client.exact_sd is None and not client.violated


def test_the_most_likely_value_of_a_noisy_histogram_is_a_client_too():
    trials = 200_000
    found = audit(Client(she_argmax_client, 10, "value", 1.0), trials=trials)
    for side, rate in zip(("tp", "fp"), attacks.make("guess").rates(SHE(10, 1.0))):
        assert binomial_p(found.counts[side], trials, rate) > P_MIN


def test_a_vectorised_client_repeats_with_its_seed():
    results = [audit(Client(oue_client, 10, "bits", 1.0), trials=100_000, threads=threads) for threads in (1, 2)]
    assert results[0] == results[1]


def test_a_client_that_leaks_is_flagged():
    found = audit(Client(lambda values, rng: values, 10, "value", 1.0), trials=10_000)
    assert found.violated and found.counts == {"tp": 10_000, "fp": 0}


@pytest.mark.parametrize(
    "report, function",
    [
        ("value", lambda values, rng: values.tolist()),
        ("value", lambda values, rng: values.astype(float)),
        ("value", lambda values, rng: tuple(values)),
        ("bits", lambda values, rng: np.eye(5, dtype=bool)[values]),
        ("bits", lambda values, rng: np.eye(5)[values]),
        ("bits", lambda values, rng: np.eye(5, dtype=int)[values].tolist()),
        ("subset", lambda values, rng: [{int(v)} for v in values]),
        ("subset", lambda values, rng: values[:, None]),
        ("subset", lambda values, rng: [frozenset((int(v), 4 - int(v))) for v in values]),
        ("subset", lambda value: [value]),
        ("value", lambda value: value),
        ("value", lambda value, *, rate=1: value),
        ("value", lambda values, rng=None: values),
    ],
)
def test_reports_may_come_in_any_sensible_form(report, function):
    found = audit(Client(function, 5, report, 1.0), "tight", trials=100, pair=(0, 3))
    assert found.counts == {"tp": 100, "fp": 0}


def raising(values, rng):
    raise KeyError("lost")


def mutating(values, rng):
    values[:] = 0
    return values


def exiting(values, rng):
    raise SystemExit(1)


@pytest.mark.parametrize(
    "report, function, message",
    [
        ("bits", raising, "client c raised KeyError: 'lost'"),
        ("bits", exiting, "client c raised SystemExit"),
        ("value", lambda value: 1 // value, "client c raised ZeroDivisionError: "),
        ("value", mutating, "client c changed its input array"),
        ("value", lambda values, rng: values[:-1], "client c must return 7 reports, got 6"),
        ("value", lambda values, rng: [], "client c must return 7 reports, got"),
        ("value", lambda values, rng: None, "client c must return 7 reports, got NoneType"),
        ("value", lambda values, rng: 3, "client c must return 7 reports, got int"),
        ("value", lambda values, rng: values * math.nan, "one integer in 0..4 per user, got nan"),
        ("value", lambda values, rng: values + 0.5, "one integer in 0..4 per user, got 0.5"),
        ("value", lambda values, rng: values + 5, "one integer in 0..4 per user, got 5"),
        ("value", lambda values, rng: values - 1, "one integer in 0..4 per user, got -1"),
        ("value", lambda values, rng: values[:, None], r"one integer in 0..4 per user, got shape \(7, 1\)"),
        ("value", lambda values, rng: ["a"] * 7, "one integer in 0..4 per user, got an array of <U1"),
        ("value", lambda values, rng: [None] * 7, "one integer in 0..4 per user, got an array of object"),
        ("value", lambda value: [0] * (value + 1) if value else 0, "one integer in 0..4 per user, got"),
        ("bits", lambda values, rng: np.zeros((7, 4)), r"5 bits per user, got shape \(7, 4\)"),
        ("bits", lambda values, rng: values, r"5 bits per user, got shape \(7,\)"),
        ("bits", lambda values, rng: np.full((7, 5), math.nan), "5 bits per user that are 0 or 1"),
        ("bits", lambda values, rng: np.full((7, 5), 2), "5 bits per user that are 0 or 1"),
        ("bits", lambda values, rng: [["0"] * 5] * 7, "5 bits per user that are 0 or 1"),
        ("bits", lambda values, rng: [[0] * 5] * 6 + [[0] * 4], "5 bits per user, got ragged reports"),
        (
            "subset",
            lambda values, rng: [[0, 1, 0]] * 7,
            "collection of distinct values in 0..4 per user, got a repeated value",
        ),
        ("subset", lambda values, rng: [[0, 5]] * 7, "collection of distinct values in 0..4 per user, got 5"),
        ("subset", lambda values, rng: [[-1, 0]] * 7, "collection of distinct values in 0..4 per user, got -1"),
        ("subset", lambda values, rng: [[math.nan]] * 7, "collection of distinct values in 0..4 per user, got nan"),
        ("subset", lambda values, rng: values, "collection of distinct values in 0..4 per user, got something else"),
        ("subset", lambda values, rng: ["01"] * 7, "collection of distinct values in 0..4 per user"),
    ],
)
@pytest.mark.parametrize("threads", [1, 2])
def test_a_bad_client_gives_one_clear_error(report, function, message, threads):
    with pytest.raises(ClientError, match=message) as caught:
        audit(Client(function, 5, report, 1.0, name="c"), trials=7, threads=threads)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("function", [lambda: 0, lambda a, b, c: a, lambda *values: values, lambda *, values: values])
def test_a_client_with_another_signature_is_refused(function):
    with pytest.raises(ClientError, match=r"client must take \(values, rng\) or \(value\), its signature is "):
        audit(Client(function, 5, "value", 1.0), trials=7)


def test_a_callable_without_a_signature_is_refused():
    with pytest.raises(ValueError):
        inspect.signature(max)
    with pytest.raises(ClientError, match="client has no readable signature"):
        audit(Client(max, 5, "value", 1.0), trials=7)


@pytest.mark.parametrize(
    "given, message",
    [
        ({"function": 3}, "client must be callable, got 3"),
        ({"function": "module:f"}, "client must be callable, got 'module:f'"),
        ({"k": 1}, "k must be an integer >= 2, got 1"),
        ({"k": 2.0}, "k must be an integer >= 2, got 2.0"),
        ({"epsilon": 0}, "epsilon must be a finite number > 0, got 0"),
        ({"epsilon": math.inf}, "epsilon must be a finite number > 0, got inf"),
        ({"epsilon": math.nan}, "epsilon must be a finite number > 0, got nan"),
        ({"epsilon": "1"}, "epsilon must be a finite number > 0, got '1'"),
        ({"delta": 1.0}, r"delta must be a number in \[0, 1\), got 1.0"),
        ({"report": "bit"}, "report must be one of value, bits, subset, got 'bit'; did you mean 'bits'"),
        ({"report": "vector"}, "report must be one of value, bits, subset, got 'vector'"),
    ],
)
def test_bad_parameters_of_a_client_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        Client(**({"function": oue_client, "k": 5, "report": "bits", "epsilon": 1.0} | given))


def test_a_client_never_sees_memory_of_an_earlier_call():
    handed = []

    def keeping(values, rng):
        assert all(not np.shares_memory(values, old) for old, _ in handed)
        assert all((old == copy).all() for old, copy in handed)
        handed.append((values, values.copy()))
        return values

    audit(Client(keeping, 5, "value", 1.0), trials=3 * 2**16)
    assert len(handed) == 6
    assert [set(copy.tolist()) for _, copy in handed] == [{0}] * 3 + [{4}] * 3


def test_a_client_that_reuses_its_own_buffer_is_counted_before_the_next_call():
    buffer = np.empty(2**16, int)

    def reusing(values, rng):
        buffer[: len(values)] = values
        return buffer[: len(values)]

    assert audit(Client(reusing, 5, "value", 1.0), trials=3 * 2**16).counts == {"tp": 3 * 2**16, "fp": 0}


def test_a_client_that_changes_an_old_input_array_does_no_harm():
    old = []

    def late(values, rng):
        for array in old:
            array[:] = 4
        old.append(values)
        return values.copy()

    assert audit(Client(late, 5, "value", 1.0), trials=3 * 2**16).counts == {"tp": 3 * 2**16, "fp": 0}


@pytest.mark.parametrize(
    "path, message",
    [
        ("nonsense", "client must be given as module:function, got 'nonsense'"),
        (":f", "client must be given as module:function, got ':f'"),
        ("math:", "client must be given as module:function, got 'math:'"),
        ("no_such_module:f", "client 'no_such_module:f' cannot be imported: ModuleNotFoundError"),
        ("math:no_such_function", "client 'math:no_such_function' cannot be imported: AttributeError"),
        ("math:pi", "client 'math:pi' is not callable but a float"),
        ("..math:pi", "client '..math:pi' cannot be imported: TypeError"),
    ],
)
def test_a_client_that_cannot_be_imported_is_refused(path, message):
    with pytest.raises(ClientError, match=message):
        load(path)


def test_a_client_is_imported_by_its_dotted_path():
    assert load("math:floor") is math.floor
    assert load("pathlib:Path.exists").__name__ == "exists"
