"""Crafted pairs of gradients, the rules that tell them apart, the networks behind them, and the
auditor's statements. Fewer than 400 p-values are judged by `chance.P_MIN`, expectations at five
standard errors."""

import itertools
import math

import networks
import numpy as np
import pytest
from chance import P_MIN, rng
from pytest import approx
from scipy import stats

from ldpbook import datasets, neural_networks
from ldpbook.neural_networks import benign, collude, gradient_flip, label_flip
from ldpkit.attacks.gradient import RULES, Pairs, dummy
from ldpkit.auditors import GradientAudit, gradient
from ldpkit.auditors.gradient import epsilon_from_errors, lower_pooled, plugin_expectation
from ldpkit.mechanisms import GRADIENT, LDPSGD, PrivUnit
from ldpkit.rng import generator

COSINE, LUNE = RULES["cosine"], RULES["lune"]
GRID = (0.5, 1, 2, 4)


def crafted(d, theta, one, two):
    """A pair of gradients with given norms and angle, off the axes."""
    basis = np.linalg.qr(rng(d).normal(size=(d, 2)))[0].T
    turned = math.cos(theta) * basis[0] + math.sin(theta) * basis[1]
    return Pairs("test", one * basis[:1], two * turned[None])


def test_golden_rates_of_the_cosine_rule_and_epsilon_of_the_dummy_by_norm():
    assert COSINE.rates(LDPSGD(7, 4.0), dummy(7)) == approx((0.01798621, 0.01798621), abs=5e-9)
    assert COSINE.rates(LDPSGD(7, 0.5), dummy(7)) == approx((0.3775,) * 2, abs=5e-5)
    for epsilon, wanted in zip(GRID, (0.2462, 0.4706, 0.8020, 1.0512)):
        rates = COSINE.rates(LDPSGD(7, epsilon), crafted(7, math.pi / 2, 1, 1))
        assert epsilon_from_errors(*rates) == approx(wanted, abs=5e-5), epsilon
    rows = [(0.1, (0.0490, 0.0925, 0.1526, 0.1934)), (0.5, (0.2462, 0.4706, 0.8020, 1.0512)),
            (0.8, (0.3970, 0.7761, 1.4155, 2.0467)), (0.9, (0.4482, 0.8855, 1.6786, 2.6468)),
            (0.95, (0.4740, 0.9420, 1.8300, 3.1250)), (1.0, GRID), (1.5, GRID)]  # fmt: skip
    for norm, wanted in rows:
        found = [GradientAudit(LDPSGD(50, e), dummy(50, norm)).run()[0].limit for e in GRID]
        assert found == approx(wanted, abs=1e-4), norm
        wanted = [2 * math.atanh(min(1, norm) * math.tanh(e / 2)) for e in GRID]
        assert found == approx(wanted), norm


def test_rates_follow_norms_and_angle_and_the_lune_reaches_epsilon_at_every_angle():
    one, two, theta = 0.3, 0.8, 1.1
    for d in (2, 3, 500):
        fpr, fnr = COSINE.rates(LDPSGD(d, 2.0, 2.0), crafted(d, theta, 0.6, 1.6))
        assert fpr == approx(0.5 - one * math.tanh(1) * theta / (2 * math.pi))
        assert fnr == approx(0.5 - two * math.tanh(1) * theta / (2 * math.pi))
        fpr, fnr = LUNE.rates(LDPSGD(d, 2.0, 2.0), crafted(d, theta, 0.6, 1.6))
        assert fpr == approx(theta / math.pi * (0.5 - one * math.tanh(1) / 2))
        assert 1 - fnr == approx(theta / math.pi * (0.5 + two * math.tanh(1) / 2))
    cells = itertools.product(GRID, [0.01, 1.0, math.pi], GRADIENT.values())
    for epsilon, theta, mechanism in cells:
        m, pairs = mechanism(20, epsilon), crafted(20, theta, 1.0, 3.0)
        fpr, fnr = LUNE.rates(m, pairs)
        assert math.log((1 - fnr) / fpr) == approx(epsilon, abs=1e-6), (m, theta)
        for rule in RULES.values():
            fpr, fnr = rule.rates(m, pairs)
            assert epsilon_from_errors(fpr, fnr) <= epsilon + 1e-6, (m, theta, rule)
            assert fpr + fnr >= 2 / (1 + math.exp(epsilon)) - 1e-12, (m, theta, rule)
    m = PrivUnit(20, 2.0)
    assert COSINE.rates(m, crafted(20, 1.2, 1, 1))[0] == approx(0.3177, abs=5e-5)
    assert COSINE.rates(m, dummy(20))[0] == approx((1 - m.p) / (2 * (1 - m.q)))
    # flipped labels where the true gradient vanishes
    rates = COSINE.rates(LDPSGD(5, 4.0), crafted(5, math.pi, 1e-12, 1.0))
    assert epsilon_from_errors(*rates) == approx(math.log((1 + math.exp(4)) / 2))


def test_rates_average_over_the_pool():
    rows = [crafted(6, *given) for given in ((0.5, 0.2, 1), (2.0, 1, 0.4), (3.0, 2, 2))]
    pool = Pairs("pool", *(np.vstack(g) for g in zip(*((r.first, r.second) for r in rows))))
    for rule, m in itertools.product(RULES.values(), (LDPSGD(6, 2.0), PrivUnit(6, 2.0))):
        assert rule.rates(m, pool) == approx(np.mean([rule.rates(m, r) for r in rows], axis=0))


CASES = [(2, 2.5, 0.6, 1), (3, 0.4, 1, 1), (20, 2.5, 0.6, 1), (20, math.pi, 1, 1)]
CASES += [(20, 1, 0, 0.7), (20, 0, 1, 1), (5, 1.7, 2, 0)]


def test_reports_and_law_agree():
    n = 20_000
    for case, mechanism, rule in itertools.product(CASES, GRADIENT.values(), RULES.values()):
        pairs, m = crafted(*case), mechanism(case[0], 4.0 if case[0] == 20 else 2.0)
        fpr, fnr = rule.rates(m, pairs)
        first, second = np.tile(pairs.first, (n, 1)), np.tile(pairs.second, (n, 1))
        for own, share in ((True, 1 - fpr), (False, fnr)):
            reports = m.perturb(first if own else second, rng(3, own))
            real = int(np.count_nonzero(rule.accepts(m, reports, (first, second), rng(4))))
            assert stats.binomtest(real, n, share).pvalue > P_MIN, (case, m, rule)
    # the acceptance test of the plane
    m, pairs = LDPSGD(20, 4.0), crafted(20, 2.5, 0.6, 1.0)
    result = GradientAudit(m, pairs, trials=100_000, faithful=True).run()[0]
    for side, rate in zip(("fpr", "fnr"), COSINE.rates(m, pairs)):
        assert abs(result.rates[side] - rate) < 4 * math.sqrt(rate * (1 - rate) / 100_000)


def test_angles_are_exact_at_both_ends_and_the_dummy_needs_no_model():
    for theta in (0.0, 1e-9, 1e-3, 1.0, math.pi - 1e-9, math.pi):
        wanted = approx(theta, abs=1e-15 if theta in (0, math.pi) else 1e-14)
        assert crafted(30, theta, 0.3, 7).angles[0] == wanted
    g = rng().normal(size=(3, 8)).astype(np.float32)
    assert np.array_equal(Pairs("x", g, -g).angles, [math.pi] * 3)
    assert Pairs("x", np.zeros((1, 3)), np.ones((1, 3))).angles[0] == math.pi
    pairs = dummy(9, 0.6)
    assert np.ptp(pairs.first) == 0 and np.linalg.norm(pairs.first) == approx(0.6)
    assert np.array_equal(pairs.first, -pairs.second) and pairs.name == "dummy"


@pytest.fixture(scope="module")
def trained():
    """Digits, and a net that has seen them: (x, y, net)."""
    x, y = datasets.digits()
    return (
        x,
        y,
        neural_networks.train(
            neural_networks.mlp([64, 16, 10], rng(2)), x, y, rounds=150, lr=0.2, rng=rng(3)
        ),
    )


def test_adversaries_craft_what_table_2_says(trained):
    x, y, net = trained
    at = rng(1).integers(0, len(y), 40)
    own = net.gradients(x[at], y[at])
    for craft in (label_flip, gradient_flip, benign):
        assert np.array_equal(craft(net, x, y, 40, rng(1)).first, own), craft
    assert np.array_equal(gradient_flip(net, x, y, 40, rng(1)).second, -own)
    likeliest = np.argsort(net.predict(x[at]), axis=1)
    runner_up = np.where(likeliest[:, -1] == y[at], likeliest[:, -2], likeliest[:, -1])
    for flip, wrong in (("next", (y[at] + 1) % 10), ("runner_up", runner_up)):
        second = label_flip(net, x, y, 40, rng(1), flip).second
        assert np.array_equal(second, net.gradients(x[at], wrong)), flip


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
    counts = np.bincount(4 * first + second, minlength=16)[~np.eye(4, dtype=bool).ravel()]
    assert stats.chisquare(counts).pvalue > P_MIN


def test_collusion_makes_every_gradient_long(trained):
    x, y, net = trained
    before = net.theta.copy()

    def teach(fresh, own_x, own_y):
        assert fresh is not net and set(own_y) == {0} and len(own_x) == np.count_nonzero(y == 0)
        neural_networks.train(fresh, own_x, own_y, rounds=20, lr=0.2, rng=rng(5))

    pairs = collude(net, x, y, 300, rng(4), teach)
    assert np.array_equal(net.theta, before) and pairs.name == "collusion"
    assert min(pairs.norms[0]) > 1 and (pairs.angles == math.pi).all()
    assert GradientAudit(LDPSGD(net.d, 4.0), pairs).run()[0].limit == approx(4)


def test_gradients_per_record_match_finite_differences():
    """Central differences of step 1e-6 err by about 1e-9 in double precision."""
    text = rng(1).integers(0, 100, (4, 25))
    text[0, 10:] = text[1, 24:] = text[2] = 100
    rows = [(neural_networks.mlp([64, 64, 10], rng(1)), rng(2).normal(size=(4, 8, 8, 1)), 4810),
            (networks.cnn((9, 8, 3), 10, rng(1)), rng(2).normal(size=(4, 9, 8, 3)), 2090),
            (networks.lstm(100, 2, rng(1)), text, 7954)]  # fmt: skip
    for net, x, d in rows:
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
            assert (losses[0] - losses[1]) / 2e-6 == approx(found[:, i], abs=2e-8), (d, i)


def test_stand_ins_have_their_sizes_and_start_from_the_stream():
    shapes = {(32, 32, 3, 10): 11690, (28, 28, 1, 10): 9146, (32, 32, 3, 2): 3490, (8, 8, 1, 10): 1946}  # fmt: skip
    assert {s: networks.cnn(s[:3], s[3], rng()).d for s in shapes} == shapes
    assert networks.cnn((8, 8, 1), 10, rng()).theta.dtype == np.float32
    net = networks.lstm(100, 2, rng(1))
    assert np.array_equal(net.theta, networks.lstm(100, 2, rng(1)).theta)
    other = net.fresh(rng(2))
    assert other.d == net.d and not np.array_equal(other.theta, net.theta)
    dense = abs(neural_networks.mlp([64, 8, 3], rng(1)).theta)
    assert dense[:520].max() <= 1 / 8 < dense[520:].max() <= 1 / math.sqrt(8)


def test_training_learns_with_and_without_noise():
    (x, y), accuracy = datasets.digits(), []
    for lr, mechanism in ((0.5, None), (0.1, LDPSGD(650, 0.5)), (0.1, LDPSGD(650, 4.0))):
        net, given = (
            neural_networks.mlp([64, 10], rng(1)),
            {"mechanism": mechanism} if mechanism else {},
        )
        neural_networks.train(net, x[:1400], y[:1400], rounds=300, lr=lr, rng=rng(2), **given)
        accuracy.append(net.accuracy(x[1400:], y[1400:]))
    # over seeds of the noise the last has mean 0.67 and deviation 0.045: five deviations
    assert accuracy[0] > 0.85 and 0.15 < accuracy[1] < accuracy[2] - 0.1
    assert accuracy[2] > 0.67 - 5 * 0.045
    # a round is one step along the mean, and the server may shorten it
    net, at = neural_networks.mlp([64, 10], rng(1)), rng(2).integers(0, len(y), 7)
    step = net.gradients(x[at], y[at]).mean(axis=0)
    for clip, scale in ((None, 1), (1e9, 1), (0.01, 0.01 / np.linalg.norm(step))):
        moved = neural_networks.mlp([64, 10], rng(1))
        neural_networks.train(moved, x, y, rounds=1, lr=0.5, rng=rng(2), clients=7, clip=clip)
        assert moved.theta == approx(net.theta - 0.5 * scale * step), clip


def test_expectation_spread_and_infinity_of_the_plugin_estimate():
    rate = {e: 1 / (1 + math.exp(e)) for e in (0.5, 1, 2, 4, 6, 8)}
    rows = [(500, ("0.5138", "1.0288", "2.0672", "4.2568", "6.03", "6.21")),
            (5000, ("0.5041", "1.0086", "2.0195", "4.0637", "6.2113", "8.22")),
            (50_000, ("0.5013", "1.0027", "2.0060", "4.0189", "6.0548", "8.1739"))]  # fmt: skip
    for n, means in rows:
        for r, mean in zip(rate.values(), means):
            last = 10 ** -len(mean.rstrip("0").split(".")[1])
            found = plugin_expectation(r, r, n, n)[0]
            assert found == approx(float(mean), abs=0.501 * last), (n, mean)
    found = {e: plugin_expectation(r, r, 500, 500) for e, r in rate.items()}
    assert [found[e][1] for e in GRID] == approx([0.068, 0.077, 0.114, 0.354], abs=6e-4)
    infinite = [found[e][2] for e in rate]
    assert infinite == approx([0, 0, 0, 2.29e-4, 0.50, 0.98], abs=5e-3)
    assert found[4][2] == approx(2.29e-4, abs=5e-7)
    assert plugin_expectation(0.0, 0.0, 5, 5)[2] == 1.0
    assert math.isnan(plugin_expectation(0.0, 0.0, 5, 5)[0])
    n, fpr, fnr = 6, 0.3, 0.45  # by brute force
    value = {(a, b): epsilon_from_errors(a / n, b / n) for a in range(n + 1) for b in range(n + 1)}
    mass = {(a, b): stats.binom.pmf(a, n, fpr) * stats.binom.pmf(b, n, fnr) for a, b in value}
    finite = [k for k, v in value.items() if math.isfinite(v)]
    total = sum(mass[k] for k in finite)
    mean = sum(mass[k] * value[k] for k in finite) / total
    sd = math.sqrt(sum(mass[k] * (value[k] - mean) ** 2 for k in finite) / total)
    assert plugin_expectation(fpr, fnr, n, n) == approx((mean, sd, 1 - total))


def test_point_estimates_and_printed_bounds():
    assert epsilon_from_errors(0.1, 0.2) == approx(2.0794, abs=5e-5)
    assert epsilon_from_errors(0.2, 0.1) == epsilon_from_errors(0.1, 0.2)
    assert epsilon_from_errors(0.0, 0.2) == math.inf and epsilon_from_errors(0.5, 0.5) == 0
    # always the same answer
    assert epsilon_from_errors(0.0, 1.0) == epsilon_from_errors(1.0, 0.0) == 0
    assert gradient.pooled(0, 1000) == approx(math.log(2001))
    assert math.isfinite(gradient.pooled(1000, 1000))
    errors = stats.binom(1000, 1 / (1 + math.exp(4)))
    mean = sum(errors.pmf(x) * gradient.pooled(x, 1000) for x in range(1001))
    assert mean == approx(4.0001, abs=5e-4)
    # the paper's bound is two-sided: at 0.025
    rows = [(lower_pooled, 9, 500, 0.05, 3.601), (gradient.lower_sides, 9, 500, 0.05, 3.350),
            (lower_pooled, 0, 500, 0.05, 5.809), (lower_pooled, 0, 500_000, 0.05, 12.718),
            (lower_pooled, 0, 500_000, 0.025, 12.510), (gradient.lower_sides, 0, 500, 0.05, 4.906),
            (gradient.lower_sides, 0, 500_000, 0.05, 11.817)]  # fmt: skip
    for bound, wrong, n, tail, printed in rows:
        assert bound(wrong, wrong, n, tail) == approx(printed, abs=5e-4), (bound, wrong, n, tail)
    assert lower_pooled(0, 0, 500, 0.025) == approx(5.6006, abs=5e-5)
    assert lower_pooled(500, 500, 500, 0.05) == -math.inf
    for delta in (1e-3, 0.1):  # ln((1 - delta - u) / u)
        upper = 1 / (1 + math.exp(lower_pooled(9, 9, 500, 0.05)))
        assert lower_pooled(9, 9, 500, 0.05, delta) == approx(math.log((1 - delta - upper) / upper))
        assert gradient.lower_sides(9, 9, 500, 0.05, delta) < gradient.lower_sides(9, 9, 500, 0.05)


@pytest.mark.parametrize("epsilon", GRID)
def test_the_statistic_has_the_expectation_and_the_spread_that_are_claimed(epsilon):
    m = LDPSGD(9, epsilon)
    for theta, rule in [(math.pi, "cosine"), (1.5, "lune")]:
        pairs = crafted(9, theta, 1, 1)
        found = [GradientAudit(m, pairs, rule).run(s)[0] for s in range(300)]
        values = np.array([r.epsilon_emp for r in found])
        values, mean, sd = values[np.isfinite(values)], found[0].exact, found[0].exact_sd
        assert abs(values.mean() - mean) < 5 * sd / math.sqrt(len(values)), rule
        assert values.std() == approx(sd, rel=0.2), rule


def test_the_stream_of_a_trial_does_not_depend_on_memory(monkeypatch):
    """Chunks have their own streams; the count over two chunks is the sum of two named ones."""
    m, pairs = LDPSGD(4, 1.0), dummy(4)
    monkeypatch.setattr(gradient, "_CELLS", 4 * 50)
    audited = gradient.GradientAudit(m, pairs, trials=100)
    progress = gradient.Progress(100, "trials")
    parts = 0
    for start in (0, 50):
        own = generator(1, "x", start)
        at = own.integers(0, 1, 50)
        first, second = pairs.first[at], pairs.second[at]
        seen = COSINE.accepts(m, m.perturb(first, own), (first, second), own)
        parts += np.count_nonzero(seen)
    assert audited._count(True, 1, ("x",), progress) == parts


def test_with_two_classes_another_label_turns_every_gradient_round_and_with_ten_training_helps():
    """Proposition 4.1, and its condition, which two classes do not need."""
    x, y = datasets.digits()
    for classes in (2, 10):
        net, labels = neural_networks.mlp([64, 16, classes], rng(5)), y % classes
        taught = neural_networks.train(net.fresh(rng(5)), x, labels, rounds=150, lr=0.2, rng=rng(6))
        first, last = (
            label_flip(n, x, labels, 50, rng(7), "runner_up").angles for n in (net, taught)
        )
        if classes == 2:
            assert np.allclose([first, last], math.pi, rtol=0, atol=1e-6)
        else:  # 0.9 and 2.9 in the mean; the margin is ten standard errors of 50 angles
            assert first.max() < 2.5 and last.mean() - first.mean() > 0.5
