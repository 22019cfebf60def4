"""No auditor's `lower` exceeds the truth more often than alpha: 500 seeded audits without any
leak and 500 tight ones. The truth is what the event shows in the limit, where rates are known.
More failures than a test allows have probability 1e-6, with fewer than 200 tests."""

import math

import numpy as np
import pytest
from scipy import stats as law

from ldpkit import Client, audits, stats
from ldpkit.attacks import ATTACKS
from ldpkit.attacks.gradient import Pairs, dummy
from ldpkit.auditors import DistributionAudit, GradientAudit, KVAudit, RADAudit, ShuffleAudit
from ldpkit.auditors.kv import oracle_distribution
from ldpkit.auditors.rad import PROTOCOLS
from ldpkit.auditors.shuffle import threshold_rates
from ldpkit.mechanisms import CPPGRR, CPPUE, GRADIENT, GRR, OUE, PCKVGRR, PCKVUE, SUE, make
from ldpkit.mechanisms.base import MIN_EPSILON

AUDITS, ALPHA = 500, 0.2  # a large alpha leaves no room for a bound that fails twice as often


def judge(failed, what):
    assert failed <= law.binom.isf(1e-6, AUDITS, ALPHA), (what, failed)


def shown(tpr, fpr, delta=0.0):
    """What an event with these rates proves in the limit."""
    if tpr <= delta:
        return 0.0
    return max(0.0, math.log((tpr - delta) / fpr)) if fpr else math.inf


GIVEN = [
    *((name, {"k": 4}) for name in "GRR SS FloorSS SUE OUE BLH OLH SHE THE FaultyUE".split()),
    ("ASS", {"k": 6, "omega": 3}), ("AUE", {"k": 3, "p": 0.8}), ("ALH", {"k": 3, "g": 5}), ("ATHE", {"k": 3, "theta": 0.9}),
    *((name, {"k": 4, "delta": 0.02}) for name in ("AGRR", "ASUE", "ABLH", "AGM", "GM")),
    *((name, {"k": 3, "tau": 3}) for name in ("GRR", "SS", "SUE", "BLH", "SHE")),
    ("GRR", {"k": 3, "tau": 3, "memoise": True}), ("AGM", {"k": 3, "tau": 2, "delta": 0.02}),
    ("dBitFlipPM", {"k": 6, "buckets": 3, "bits": 2}),
    *((f"L-{name}", {"k": 3, "first": None, "tau": 3}) for name in ("SUE", "OSUE", "OUE", "GRR")),
    *((f"RSFD[{base}]", {"k": 3, "d": 3}) for base in ("GRR", "SUE-z", "OUE-r")),
]  # fmt: skip


def built(name, given, epsilon):
    own = {key: 0.5 * epsilon if key == "first" else value for key, value in given.items()}
    return make(name, epsilon=epsilon, **own)


@pytest.mark.parametrize("epsilon", [2 * MIN_EPSILON, 1.0])
def test_audits_of_frequency_protocols_hold(epsilon):
    """Both attacks, few trials and many, mechanism by mechanism in turn."""
    failed = {name: 0 for name in ATTACKS}
    for seed in range(AUDITS):
        m, trials = built(*GIVEN[seed % len(GIVEN)], epsilon), (5, 40, 500)[seed % 3]
        for result in audits(m, list(ATTACKS.values()), trials=trials, alpha=ALPHA, seed=seed):
            attack = ATTACKS[result.attack].choose(m, trials, stats.tail_mass(ALPHA))
            rates = attack.rates(m)
            truth = m.epsilon if rates is None else shown(*rates, m.delta)
            failed[result.attack] += result.lower > truth + 1e-9
    for name, count in failed.items():
        judge(count, name)


@pytest.mark.parametrize("epsilon", [0.0, 1.5])
def test_audits_of_clients_hold(epsilon):
    keep = math.exp(epsilon) / (math.exp(epsilon) + 3)

    def client(values, rng):
        kept, other = rng.random(len(values)) < keep, rng.integers(1, 4, len(values))
        return np.where(kept, values, (values + other) % 4)

    m, failed = Client(client, 4, "value", max(epsilon, MIN_EPSILON)), {name: 0 for name in ATTACKS}
    for seed in range(AUDITS):
        given = {"trials": (3, 30, 300)[seed % 3], "alpha": ALPHA, "seed": seed}
        for result in audits(m, list(ATTACKS.values()), **given, independent=True):
            # one value is reported: both attacks look at its equality
            failed[result.attack] += result.lower > epsilon + 1e-9
            assert result.violated == (result.lower > m.epsilon)
    for name, count in failed.items():
        judge(count, name)


def test_audits_by_reconstruction_hold():
    """GRR reaches the bound, so its audits are tight; other intervals trust the protocol."""
    for epsilon in (MIN_EPSILON, 2.0, 9.0):
        failed = outside = 0
        for seed in range(AUDITS):
            protocol, m = ("GRR", "GRR", "SS", "OUE")[seed % 4], (2, 10, 50, 3052, 5356)[seed % 5]
            given = {"trials": (1, 20, 400)[seed % 3], "alpha": ALPHA}
            result = RADAudit(PROTOCOLS[protocol](m, epsilon), **given).run(seed)[0]
            failed += result.lower > epsilon + 1e-7
            outside += not result.interval[0] - 1e-7 <= epsilon <= result.interval[1] + 1e-7
        judge(failed, ("lower", epsilon))
        judge(outside, ("interval", epsilon))


COVERED = {
    "null, 2 outputs": (np.full(2, 0.5), np.full(2, 0.5), 0.0),
    "null, 16 outputs": (np.full(16, 1 / 16), np.full(16, 1 / 16), 0.0),
    "null, rare outputs": (*[np.append(np.full(10, 1e-4), 0.999)] * 2, 0.0),
    "GRR": (*(oracle_distribution(GRR(4, 1.0), v) for v in (0, 1)), 1.0),
    "GRR, rare": (*(oracle_distribution(GRR(100, 4.0), v) for v in (0, 1)), 4.0),
    "OUE": (*(oracle_distribution(OUE(4, 1.0), v) for v in (0, 1)), 1.0),
    "SUE": (*(oracle_distribution(SUE(3, 2.0), v) for v in (0, 1)), 2.0),
    "PCKV-UE": (*(PCKVUE(3, 1.0).distribution([p]) for p in ((0, 1.0), (1, -1.0))), 1.0),
    "PCKV-GRR": (*(PCKVGRR(3, 1.0).distribution([p]) for p in ((0, 1.0), (1, -1.0))), 1.0),
}


@pytest.mark.parametrize("estimator", ["valid", "split", "pooled"])
def test_audits_of_distributions_hold(estimator):
    failed, cases = 0, list(COVERED.values())
    for seed in range(AUDITS):
        first, second, truth = cases[seed % len(cases)]
        given = {"trials": (4, 2000, 10**8)[seed // 9 % 3], "alpha": ALPHA}
        result = DistributionAudit(first, second, estimator=estimator, **given).run(seed)[0]
        failed += result.lower > truth * (1 + 1e-12)
        assert result.lower == result.epsilon_emp
    judge(failed, estimator)


@pytest.mark.parametrize("estimator", ["valid", "split"])
def test_audits_of_key_values_hold(estimator):
    """Every auditor that has a bound, in the first round, against the log ratio of the laws."""
    ue, grr = CPPUE(1, 2.0, rounds=1), CPPGRR(1, 2.0, rounds=1)
    plays = [
        (PCKVUE(2, 2.0), "hkv"), (PCKVGRR(2, 2.0), "hkv"), (PCKVUE(2, 2.0), "vkv"), (ue, "hkv"),
        (grr, "probe"), (ue, "vkv"), (ue, "ldp"), (grr, "skv"),
    ]  # fmt: skip
    failed = 0
    for seed in range(AUDITS):
        given = {"trials": (10, 500, 10**7)[seed % 3], "ownership": (1.0, 0.5)[seed % 2]}
        given |= {"estimator": estimator, "squads": (-1.0,), "alpha": ALPHA}
        result = KVAudit(*plays[seed % len(plays)], **given).run(seed)[0]
        failed += result.lower > result.limit + 1e-9
    judge(failed, estimator)


@pytest.mark.parametrize("epsilon", [MIN_EPSILON, 3.0])
@pytest.mark.parametrize("rule", ["cosine", "lune"])
def test_audits_of_gradients_hold(rule, epsilon):
    made = [cls(6, epsilon) for cls in GRADIENT.values()]
    near, failed = Pairs("near", np.eye(6)[:1], np.eye(6)[1:2]), 0
    for seed in range(AUDITS):
        pairs, trials = (dummy(6), near)[seed % 2], (1, 20, 500)[seed % 3]
        result = GradientAudit(made[seed % 3], pairs, rule, trials=trials, alpha=ALPHA).run(seed)[0]
        failed += result.lower > epsilon + 1e-9
    judge(failed, rule)


def test_audits_of_shuffled_gradients_hold():
    for epsilon, clients, delta in (MIN_EPSILON, 240, 1e-6), (0.5, 120, 0.01), (1.0, 500, 1e-6):
        fpr, fnr = threshold_rates(clients, epsilon)
        truth = max(shown(1 - fpr, fnr, delta), shown(1 - fnr, fpr, delta))
        found = [
            ShuffleAudit(epsilon, clients, delta, trials=(1, 30, 1000)[s % 3], alpha=ALPHA).run(s)[
                0
            ]
            for s in range(AUDITS)
        ]
        tight, upper = (found[0].evidence[name] for name in ("tight", "upper"))
        assert truth <= tight + 1e-9 <= upper + 2e-9 <= epsilon + 3e-9, epsilon
        judge(sum(result.lower > truth + 1e-9 for result in found), epsilon)
