"""Crafted pairs of gradients, the rules that tell them apart, the networks behind them, and the
auditor's statements.

Real reports are compared with the exact rates. Counts are judged by fewer than 400 p-values with
`laws.P_MIN`: a correct package fails this file with probability below 1e-4. Expectations of the
statistic are judged at five standard errors (one false alarm in 1.7 million).
"""

import builtins
import json
import math

import networks
import numpy as np
import pytest
import standins
from laws import P_MIN
from scipy import stats

from ldpbook import datasets, nets
from ldpbook.crafting import benign, collude, gradient_flip, label_flip
from ldpkit import streams
from ldpkit.attacks.gradient import RULES, Pairs, dummy
from ldpkit.auditors import audit_gradient
from ldpkit.auditors.gradient import (
    epsilon_from_errors,
    lower_pooled,
    lower_sides,
    plugin_expectation,
    pooled,
)
from ldpkit.mechanisms import GRADIENT, LDPSGD, PrivUnit

COSINE, LUNE = RULES["cosine"], RULES["lune"]
GRID = (0.5, 1, 2, 4)
T = {e: math.tanh(e / 2) for e in GRID}


def rng(*seed):
    return np.random.default_rng(seed or 1)


def crafted(d, theta, one, two):
    """A pair of gradients with given norms and angle, off the axes."""
    basis = np.linalg.qr(rng(d).normal(size=(d, 2)))[0].T
    turned = math.cos(theta) * basis[0] + math.sin(theta) * basis[1]
    return Pairs("test", one * basis[:1], two * turned[None])


# --- closed forms ---------------------------------------------------------------------------------


def test_golden_rates_of_the_cosine_rule():
    assert COSINE.rates(LDPSGD(7, 4.0), dummy(7)) == pytest.approx(
        (0.01798621, 0.01798621), abs=5e-9
    )
    assert COSINE.rates(LDPSGD(7, 0.5), dummy(7)) == pytest.approx((0.3775,) * 2, abs=5e-5)
    for epsilon, wanted in zip(GRID, (0.2462, 0.4706, 0.8020, 1.0512)):
        rates = COSINE.rates(LDPSGD(7, epsilon), crafted(7, math.pi / 2, 1, 1))
        assert epsilon_from_errors(*rates) == pytest.approx(wanted, abs=5e-5)


@pytest.mark.parametrize(
    "norm, wanted",
    [
        (0.1, (0.0490, 0.0925, 0.1526, 0.1934)),
        (0.5, (0.2462, 0.4706, 0.8020, 1.0512)),
        (0.8, (0.3970, 0.7761, 1.4155, 2.0467)),
        (0.9, (0.4482, 0.8855, 1.6786, 2.6468)),
        (0.95, (0.4740, 0.9420, 1.8300, 3.1250)),
        (1.0, GRID),
        (1.5, GRID),
    ],
)
def test_epsilon_of_the_dummy_by_norm(norm, wanted):
    found = [audit_gradient(LDPSGD(50, e), dummy(50, norm)).limit for e in GRID]
    assert found == pytest.approx(wanted, abs=1e-4)
    assert found == pytest.approx([2 * math.atanh(min(1, norm) * T[e]) for e in GRID])


def test_rates_follow_norms_and_angle_and_no_dimension():
    one, two, theta = 0.3, 0.8, 1.1
    for d in (2, 3, 500):
        fpr, fnr = COSINE.rates(LDPSGD(d, 2.0, 2.0), crafted(d, theta, 0.6, 1.6))
        assert fpr == pytest.approx(0.5 - one * math.tanh(1) * theta / (2 * math.pi))
        assert fnr == pytest.approx(0.5 - two * math.tanh(1) * theta / (2 * math.pi))
        fpr, fnr = LUNE.rates(LDPSGD(d, 2.0, 2.0), crafted(d, theta, 0.6, 1.6))
        assert fpr == pytest.approx(theta / math.pi * (0.5 - one * math.tanh(1) / 2))
        assert 1 - fnr == pytest.approx(theta / math.pi * (0.5 + two * math.tanh(1) / 2))


@pytest.mark.parametrize("epsilon", GRID)
@pytest.mark.parametrize("theta", [0.01, 1.0, math.pi])
@pytest.mark.parametrize("mechanism", GRADIENT.values())
def test_the_lune_reaches_epsilon_at_every_angle_and_nothing_exceeds_it(mechanism, theta, epsilon):
    m, pairs = mechanism(20, epsilon), crafted(20, theta, 1.0, 3.0)
    fpr, fnr = LUNE.rates(m, pairs)
    assert math.log((1 - fnr) / fpr) == pytest.approx(epsilon, abs=1e-6)
    for rule in RULES.values():
        fpr, fnr = rule.rates(m, pairs)
        assert epsilon_from_errors(fpr, fnr) <= epsilon + 1e-6
        assert fpr + fnr >= 2 / (1 + math.exp(epsilon)) - 1e-12


def test_general_angles_of_privunit():
    assert COSINE.rates(PrivUnit(20, 2.0), crafted(20, 1.2, 1, 1))[0] == pytest.approx(
        0.3177, abs=5e-5
    )
    m = PrivUnit(20, 2.0)
    assert COSINE.rates(m, dummy(20))[0] == pytest.approx((1 - m.p) / (2 * (1 - m.q)))


def test_label_flip_limit_when_the_true_gradient_vanishes():
    pairs = crafted(5, math.pi, 1e-12, 1.0)
    assert epsilon_from_errors(*COSINE.rates(LDPSGD(5, 4.0), pairs)) == pytest.approx(
        math.log((1 + math.exp(4)) / 2)
    )


def test_rates_average_over_the_pool():
    rows = [
        crafted(6, theta, one, two)
        for theta, one, two in ((0.5, 0.2, 1), (2.0, 1, 0.4), (3.0, 2, 2))
    ]
    pool = Pairs("pool", np.vstack([r.first for r in rows]), np.vstack([r.second for r in rows]))
    for rule in RULES.values():
        for m in (LDPSGD(6, 2.0), PrivUnit(6, 2.0)):
            assert rule.rates(m, pool) == pytest.approx(
                np.mean([rule.rates(m, r) for r in rows], axis=0)
            )


# --- real reports and exact rates --------------------------------------------------

CASES = [
    (2, 2.5, 0.6, 1),
    (3, 0.4, 1, 1),
    (20, 2.5, 0.6, 1),
    (20, math.pi, 1, 1),
    (20, 1, 0, 0.7),
    (20, 0, 1, 1),
    (5, 1.7, 2, 0),
]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("mechanism", GRADIENT.values())
@pytest.mark.parametrize("rule", RULES.values())
def test_reports_and_law_agree(rule, mechanism, case):
    (d, theta, one, two), n = case, 20_000
    pairs, m = crafted(d, theta, one, two), mechanism(d, 4.0 if d == 20 else 2.0)
    fpr, fnr = rule.rates(m, pairs)
    first, second = np.tile(pairs.first, (n, 1)), np.tile(pairs.second, (n, 1))
    for own, share in ((True, 1 - fpr), (False, fnr)):
        reports = m.perturb(first if own else second, rng(3, own))
        real = int(np.count_nonzero(rule.accepts(m, reports, (first, second), rng(4))))
        assert stats.binomtest(real, n, share).pvalue > P_MIN


def test_a_large_full_dimensional_run_meets_the_closed_form():
    """The acceptance test of the plane: d = 20, angle 2.5, norms 0.6 and 1, epsilon 4, 200,000
    trials."""
    result = audit_gradient(
        LDPSGD(20, 4.0), crafted(20, 2.5, 0.6, 1.0), trials=200_000, faithful=True
    )
    fpr, fnr = COSINE.rates(LDPSGD(20, 4.0), crafted(20, 2.5, 0.6, 1.0))
    for found, rate in ((result.rates["fpr"], fpr), (result.rates["fnr"], fnr)):
        assert abs(found - rate) < 4 * math.sqrt(rate * (1 - rate) / 100_000)


# --- pairs ----------------------------------------------------------------------------------------


def test_angles_are_exact_at_both_ends():
    for theta in (0.0, 1e-9, 1e-3, 1.0, math.pi - 1e-9, math.pi):
        assert crafted(30, theta, 0.3, 7).angles[0] == pytest.approx(
            theta, abs=1e-15 if theta in (0, math.pi) else 1e-14
        )
    g = rng().normal(size=(3, 8)).astype(np.float32)
    assert np.array_equal(Pairs("x", g, -g).angles, [math.pi] * 3)
    assert Pairs("x", np.zeros((1, 3)), np.ones((1, 3))).angles[0] == math.pi


@pytest.mark.parametrize(
    "first, second, message",
    [
        (np.ones((2, 3)), np.ones((2, 4)), r"one shape \(pairs, d\), got \(2, 3\) and \(2, 4\)"),
        (np.ones(3), np.ones(3), "one shape"),
        (np.ones((0, 3)), np.ones((0, 3)), "one shape"),
        (
            np.zeros((1, 3)),
            np.zeros((1, 3)),
            "gradients must not both be zero: no report can tell them apart",
        ),
        (np.full((1, 3), np.nan), np.ones((1, 3)), "gradients must be finite"),
        (np.ones((1, 3)), np.full((1, 3), -np.inf), "gradients must be finite"),
    ],
)
def test_bad_pairs_are_refused(first, second, message):
    with pytest.raises(ValueError, match=message):
        Pairs("x", first, second)


def test_the_dummy_needs_no_model():
    pairs = dummy(9, 0.6)
    assert np.ptp(pairs.first) == 0 and np.linalg.norm(pairs.first) == pytest.approx(0.6)
    assert np.array_equal(pairs.first, -pairs.second) and pairs.name == "dummy"
    for d, norm, message in (
        (1, 1.0, "d must be an integer >= 2"),
        (9, 0.0, "norm must be a finite number > 0, got 0.0"),
    ):
        with pytest.raises(ValueError, match=message):
            dummy(d, norm)


@pytest.fixture(scope="module")
def trained():
    """Digits, and a net that has seen them: (x, y, net)."""
    x, y = datasets.digits()
    return x, y, nets.train(nets.mlp([64, 16, 10], rng(2)), x, y, rounds=150, lr=0.2, rng=rng(3))


def test_adversaries_craft_what_table_2_says(trained):
    x, y, net = trained
    at = rng(1).integers(0, len(y), 40)
    own = net.gradients(x[at], y[at])
    for pairs in (
        label_flip(net, x, y, 40, rng(1)),
        gradient_flip(net, x, y, 40, rng(1)),
        benign(net, x, y, 40, rng(1)),
    ):
        assert np.array_equal(pairs.first, own)
    assert np.array_equal(gradient_flip(net, x, y, 40, rng(1)).second, -own)
    likeliest = np.argsort(net.predict(x[at]), axis=1)
    runner_up = np.where(likeliest[:, -1] == y[at], likeliest[:, -2], likeliest[:, -1])
    for flip, wrong in (("next", (y[at] + 1) % 10), ("runner_up", runner_up)):
        assert np.array_equal(
            label_flip(net, x, y, 40, rng(1), flip).second, net.gradients(x[at], wrong)
        )
    with pytest.raises(
        ValueError,
        match="flip must be one of random, next, runner_up, got 'runner-up'; did you mean",
    ):
        label_flip(net, x, y, 4, rng(1), "runner-up")


def test_too_few_records_or_pairs_are_refused(trained):
    x, y, net = trained
    for count, craft, many, message in (
        (1, benign, 5, "records must be an integer >= 2, got 1"),
        (0, gradient_flip, 5, "records must be an integer >= 1, got 0"),
        (9, label_flip, 0, "count must be an integer >= 1, got 0"),
    ):
        with pytest.raises(ValueError, match=message):
            craft(net, x[:count], y[:count], many, rng())


def test_random_wrong_labels_are_uniform_and_wrong():
    seen = []

    class Spy:
        classes = 5

        def gradients(self, x, y):
            seen.append((x.copy(), np.array(y)))
            return np.ones((len(y), 2))

    x = y = rng(1).integers(0, 5, 1000)
    label_flip(Spy(), x, y, 20_000, rng(2))
    step = (seen[1][1] - seen[0][1]) % 5
    assert np.array_equal(seen[0][0], seen[0][1]) and np.array_equal(seen[0][0], seen[1][0])
    assert stats.chisquare(np.bincount(step, minlength=5)[1:]).pvalue > P_MIN and (step > 0).all()
    benign(Spy(), np.arange(4), np.arange(4), 12_000, rng(3))
    first, second = seen[2][0], seen[3][0]
    assert (first != second).all()
    assert (
        stats.chisquare(
            np.bincount(4 * first + second, minlength=16)[~np.eye(4, dtype=bool).ravel()]
        ).pvalue
        > P_MIN
    )


def test_collusion_makes_every_gradient_long(trained):
    x, y, net = trained
    before = net.theta.copy()

    def teach(fresh, own_x, own_y):
        assert fresh is not net and set(own_y) == {0} and len(own_x) == np.count_nonzero(y == 0)
        nets.train(fresh, own_x, own_y, rounds=20, lr=0.2, rng=rng(5))

    pairs = collude(net, x, y, 300, rng(4), teach)
    assert np.array_equal(net.theta, before) and pairs.name == "collusion"
    assert min(pairs.norms[0]) > 1 and (pairs.angles == math.pi).all()
    assert audit_gradient(LDPSGD(net.d, 4.0), pairs).limit == pytest.approx(4)


def test_with_two_classes_flipped_labels_give_opposite_gradients(trained):
    x, y, _ = trained
    for rounds in (0, 30, 200):
        net = nets.train(nets.mlp([64, 8, 2], rng(6)), x, y % 2, rounds=rounds, lr=0.2, rng=rng(7))
        pairs = label_flip(net, x, y % 2, 50, rng(8))
        cosine = np.einsum("ij,ij->i", pairs.first, pairs.second) / np.prod(pairs.norms, axis=0)
        assert cosine.max() < -1 + 1e-6


# --- networks -------------------------------------------------------------------------------------


def text(n):
    x = rng(1).integers(0, 100, (n, 25))
    x[0, 10:] = x[1, 24:] = x[2] = 100
    return x


@pytest.mark.parametrize(
    "net, x, d",
    [
        (nets.mlp([64, 64, 10], rng(1)), rng(2).normal(size=(4, 8, 8, 1)), 4810),
        (networks.cnn((9, 8, 3), 10, rng(1)), rng(2).normal(size=(4, 9, 8, 3)), 2090),
        (networks.lstm(100, 2, rng(1)), text(4), 7954),
    ],
)
def test_gradients_per_record_match_finite_differences(net, x, d):
    """Central differences of step 1e-6 err by about 1e-9 in double precision."""
    net.theta, net.dtype = net.theta.astype(float) + 0.1 * rng(3).normal(size=net.d), float
    y = rng(4).integers(0, net.classes, len(x))
    found = net.gradients(x, y)
    assert net.d == d and found.shape == (len(x), d)
    for i in rng(5).choice(d, 60, replace=False):
        losses = []
        for step in (1e-6, -1e-6):
            net.theta[i] += step
            losses.append(-np.log(net.predict(x)[np.arange(len(x)), y]))
            net.theta[i] -= step
        assert (losses[0] - losses[1]) / 2e-6 == pytest.approx(found[:, i], abs=2e-8)


def test_sizes_of_the_stand_ins():
    shapes = {
        (32, 32, 3, 10): 11690,
        (28, 28, 1, 10): 9146,
        (32, 32, 3, 2): 3490,
        (8, 8, 1, 10): 1946,
    }
    assert {s: networks.cnn(s[:3], s[3], rng()).d for s in shapes} == shapes
    assert networks.cnn((8, 8, 1), 10, rng()).theta.dtype == np.float32


def test_start_is_drawn_from_the_stream_and_fresh_draws_again():
    net = networks.lstm(100, 2, rng(1))
    assert np.array_equal(net.theta, networks.lstm(100, 2, rng(1)).theta)
    other = net.fresh(rng(2))
    assert other.d == net.d and not np.array_equal(other.theta, net.theta)
    dense = nets.mlp([64, 8, 3], rng(1)).theta
    assert (
        abs(dense[: 64 * 8 + 8]).max() <= 1 / 8 < abs(dense[64 * 8 + 8 :]).max() <= 1 / math.sqrt(8)
    )


def test_training_learns_with_and_without_noise():
    x, y = datasets.digits()
    clear = nets.train(
        nets.mlp([64, 10], rng(1)), x[:1400], y[:1400], rounds=300, lr=0.5, rng=rng(2)
    )
    assert clear.accuracy(x[1400:], y[1400:]) > 0.85
    accuracy = []
    for epsilon in (0.5, 4.0):
        net = nets.mlp([64, 10], rng(1))
        nets.train(
            net, x[:1400], y[:1400], rounds=300, lr=0.1, rng=rng(2), mechanism=LDPSGD(650, epsilon)
        )
        accuracy.append(net.accuracy(x[1400:], y[1400:]))
    # over seeds of the noise the second has mean 0.67 and deviation 0.045, whatever draws the
    # normals: five deviations
    assert 0.15 < accuracy[0] < accuracy[1] - 0.1 and accuracy[1] > 0.67 - 5 * 0.045


def test_a_round_is_one_step_along_the_mean_and_the_server_may_shorten_it():
    x, y = datasets.digits()
    net, at = nets.mlp([64, 10], rng(1)), rng(2).integers(0, len(y), 7)
    step = net.gradients(x[at], y[at]).mean(axis=0)
    for clip, scale in ((None, 1), (1e9, 1), (0.01, 0.01 / np.linalg.norm(step))):
        moved = nets.train(
            nets.mlp([64, 10], rng(1)), x, y, rounds=1, lr=0.5, rng=rng(2), clients=7, clip=clip
        )
        assert moved.theta == pytest.approx(net.theta - 0.5 * scale * step)
    with pytest.raises(ValueError, match="records must be an integer >= 1, got 0"):
        nets.train(net, x[:0], y[:0], rounds=1, lr=0.1, rng=rng())
    for bad, message in (
        ({"lr": 0}, "lr must be"),
        ({"rounds": -1}, "rounds must be"),
        ({"clients": 0}, "clients must be"),
    ):
        with pytest.raises(ValueError, match=message):
            nets.train(net, x, y, **{"rounds": 1, "lr": 0.1, "rng": rng()} | bad)


def test_generated_text_has_the_stated_mood():
    x, y = standins.sentences(4000, rng(1))
    assert x.shape == (4000, 25) and x.min() >= 0 and x.max() == 100
    assert all((np.diff((row == 100).astype(int)) >= 0).all() for row in x[:200])
    texts = ["".join(standins.SYMBOLS[c] for c in row if c < 100) for row in x]
    for mood, cues in enumerate(standins._CUES):
        with_cue = np.array([t.startswith(tuple(cues)) for t in texts])
        # a leading cue lies about the mood in one text of ten
        assert (
            stats.binomtest(
                int(np.count_nonzero(y[with_cue] == mood)), int(with_cue.sum()), 0.9
            ).pvalue
            > P_MIN
        )
    assert stats.binomtest(int(y.sum()), 4000, 0.5).pvalue > P_MIN


def test_a_missing_package_is_named_with_its_extra(monkeypatch):
    real = builtins.__import__

    def without(name, *rest):
        if name.split(".")[0] == "sklearn":
            raise ModuleNotFoundError(f"No module named {name!r}")
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'ldpkit\[book\]'"):
        datasets.digits()


# --- the auditor ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "trials, means",
    [
        (1000, (0.5138, 1.0288, 2.0672, 4.2568, 6.03, 6.21)),
        (10_000, (0.5041, 1.0086, 2.0195, 4.0637, 6.2113, 8.22)),
        (100_000, (0.5013, 1.0027, 2.0060, 4.0189, 6.0548, 8.1739)),
    ],
)
def test_expectation_of_the_plugin_estimate(trials, means):
    for epsilon, mean in zip((0.5, 1, 2, 4, 6, 8), means):
        rate = 1 / (1 + math.exp(epsilon))
        digits = len(str(mean).split(".")[1])
        assert plugin_expectation(rate, rate, trials // 2, trials // 2)[0] == pytest.approx(
            mean, abs=0.501 * 10**-digits
        )


def test_spread_and_infinity_of_the_plugin_estimate():
    rate = {e: 1 / (1 + math.exp(e)) for e in (0.5, 1, 2, 4, 6, 8)}
    found = {e: plugin_expectation(r, r, 500, 500) for e, r in rate.items()}
    assert [found[e][1] for e in GRID] == pytest.approx([0.068, 0.077, 0.114, 0.354], abs=6e-4)
    assert [found[e][2] for e in (0.5, 1, 2, 4, 6, 8)] == pytest.approx(
        [0, 0, 0, 2.29e-4, 0.50, 0.98], abs=5e-3
    )
    assert found[4][2] == pytest.approx(2.29e-4, abs=5e-7)
    assert plugin_expectation(0.0, 0.0, 5, 5)[2] == 1.0 and math.isnan(
        plugin_expectation(0.0, 0.0, 5, 5)[0]
    )


def test_expectation_by_brute_force():
    n, fpr, fnr = 6, 0.3, 0.45
    value = {(a, b): epsilon_from_errors(a / n, b / n) for a in range(n + 1) for b in range(n + 1)}
    mass = {(a, b): stats.binom.pmf(a, n, fpr) * stats.binom.pmf(b, n, fnr) for a, b in value}
    finite = [k for k, v in value.items() if math.isfinite(v)]
    total = sum(mass[k] for k in finite)
    mean = sum(mass[k] * value[k] for k in finite) / total
    assert plugin_expectation(fpr, fnr, n, n) == pytest.approx(
        (mean, math.sqrt(sum(mass[k] * (value[k] - mean) ** 2 for k in finite) / total), 1 - total)
    )


def test_point_estimates():
    assert epsilon_from_errors(0.1, 0.2) == pytest.approx(2.0794, abs=5e-5)
    assert epsilon_from_errors(0.2, 0.1) == epsilon_from_errors(0.1, 0.2)
    assert epsilon_from_errors(0.0, 0.2) == math.inf and epsilon_from_errors(0.5, 0.5) == 0
    assert (
        epsilon_from_errors(0.0, 1.0) == epsilon_from_errors(1.0, 0.0) == 0
    )  # always the same answer
    assert pooled(0, 1000) == pytest.approx(math.log(2001)) and math.isfinite(pooled(1000, 1000))
    errors = stats.binom(1000, 1 / (1 + math.exp(4)))
    assert sum(errors.pmf(x) * pooled(x, 1000) for x in range(1001)) == pytest.approx(
        4.0001, abs=5e-4
    )


def test_printed_bounds():
    assert lower_pooled(9, 9, 500, 0.05) == pytest.approx(3.601, abs=5e-4)
    assert lower_sides(9, 9, 500, 0.05) == pytest.approx(3.350, abs=5e-4)
    assert lower_pooled(0, 0, 500, 0.05) == pytest.approx(5.809, abs=5e-4)
    assert lower_pooled(0, 0, 500, 0.025) == pytest.approx(
        5.6006, abs=5e-5
    )  # the paper's: two-sided
    assert lower_pooled(0, 0, 500_000, 0.05) == pytest.approx(12.718, abs=5e-4)
    assert lower_pooled(0, 0, 500_000, 0.025) == pytest.approx(12.510, abs=5e-4)
    assert lower_sides(0, 0, 500, 0.05) == pytest.approx(4.906, abs=5e-4)
    assert lower_sides(0, 0, 500_000, 0.05) == pytest.approx(11.817, abs=5e-4)
    assert lower_pooled(500, 500, 500, 0.05) == -math.inf
    for delta in (1e-3, 0.1):  # ln((1 - delta - u) / u)
        upper = 1 / (1 + math.exp(lower_pooled(9, 9, 500, 0.05)))
        assert lower_pooled(9, 9, 500, 0.05, delta) == pytest.approx(
            math.log((1 - delta - upper) / upper)
        )
        assert lower_sides(9, 9, 500, 0.05, delta) < lower_sides(9, 9, 500, 0.05)


@pytest.mark.parametrize("epsilon", GRID)
@pytest.mark.parametrize("adversary, rule", [("dummy", "cosine"), ("benign", "lune")])
def test_bounds_hold_in_1000_seeded_runs(adversary, rule, epsilon):
    """Misses are binomial with a probability of at most alpha: more than the tail below allows
    comes with P_MIN."""
    pairs, alpha, m = (
        crafted(9, math.pi if adversary == "dummy" else 1.5, 1, 1),
        0.05,
        LDPSGD(9, epsilon),
    )
    found = [audit_gradient(m, pairs, rule, alpha=alpha, seed=s) for s in range(1000)]
    misses = sum(r.lower > epsilon for r in found)
    assert stats.binom.sf(misses - 1, 1000, alpha) > P_MIN
    # and the statistic has the expectation and the spread that are claimed
    values = np.array([r.epsilon_emp for r in found])
    values = values[np.isfinite(values)]
    assert abs(values.mean() - found[0].exact) < 5 * found[0].exact_sd / math.sqrt(len(values))
    assert values.std() == pytest.approx(found[0].exact_sd, rel=0.2)


def test_the_lune_makes_benign_gradients_reach_epsilon():
    pairs = crafted(30, 1.5, 2.5, 3.0)
    cosine, lune = (
        audit_gradient(LDPSGD(30, 4.0), pairs, rule, trials=100_000, faithful=True)
        for rule in RULES
    )
    assert cosine.limit < 1.1 and lune.limit == pytest.approx(4)
    assert cosine.lower < 1.1 < 3.5 < lune.lower < 4
    assert abs(lune.epsilon_emp - lune.exact) < 5 * lune.exact_sd


@pytest.mark.parametrize("faithful", [False, True])
def test_results_repeat_and_carry_everything(faithful):
    a, b, c = (
        audit_gradient(LDPSGD(40, 2.0), dummy(40, 0.9), trials=400, seed=s, faithful=faithful)
        for s in (1, 1, 2)
    )
    assert a == b and a.counts != c.counts
    row = a.row()
    assert (
        row["mechanism"] == "LDP-SGD"
        and row["adversary"] == "dummy"
        and row["attack"] == "cosine"
        and row["trials"] == 400
    )
    assert (
        row["fp"] / 200 == row["fpr"]
        and row["fn"] / 200 == row["fnr"]
        and row["claim"] == row["epsilon"] == 2.0
    )
    assert (
        row["pooled"] == pytest.approx(pooled(row["fp"] + row["fn"], 400))
        and row["infinite"] < 1e-6
    )
    assert (
        row["limit"] == pytest.approx(2 * math.atanh(0.9 * math.tanh(1)))
        and row["faithful"] is faithful
    )
    json.dumps(row, allow_nan=False)
    assert a.lower <= a.epsilon_emp and not a.violated


def test_the_stream_of_a_trial_does_not_depend_on_memory(monkeypatch):
    """Chunks have their own streams; the count over two chunks is the sum of two named ones."""
    import ldpkit.auditors.gradient as module

    m, pairs = LDPSGD(4, 1.0), dummy(4)
    monkeypatch.setattr(module, "_CELLS", 4 * 50)
    whole = module.GradientAudit(m, pairs, trials=100)._count(
        True, 1, ("x",), module.Progress(100, "trials")
    )
    parts = 0
    for start in (0, 50):
        own = streams.generator(1, "x", start)
        at = own.integers(0, 1, 50)
        parts += np.count_nonzero(
            COSINE.accepts(
                m, m.perturb(pairs.first[at], own), (pairs.first[at], pairs.second[at]), own
            )
        )
    assert whole == parts


@pytest.mark.parametrize(
    "bad, message",
    [
        ({"trials": 1}, r"trials must be an integer in \[2, 1000000000\], got 1"),
        ({"trials": 0}, "trials must be an integer"),
        ({"trials": 3}, "trials must be even, half with each gradient, got 3"),
        ({"trials": 10.0}, "trials must be an integer"),
        ({"alpha": 0}, r"alpha must be a number in \[1e-100, 0.25\], got 0"),
        ({"alpha": 0.3}, "alpha must be a number in"),
        ({"rule": "cosin"}, "rule must be one of cosine, lune, got 'cosin'; did you mean 'cosine'"),
        ({"seed": -1}, "seed must be an integer >= 0, got -1"),
        ({"pairs": dummy(8)}, "gradients must have the mechanism's dimension 9, got 8"),
    ],
)
def test_bad_audits_are_refused(bad, message):
    with pytest.raises(ValueError, match=message):
        audit_gradient(**{"mechanism": LDPSGD(9, 1.0), "pairs": dummy(9)} | bad)
