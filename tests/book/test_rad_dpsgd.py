"""DP-SGD against an explicit reference, the attack on its likelihoods, and the committed results.

False alarms: Monte Carlo comparisons allow 4 standard errors unless they say otherwise, 6e-5 each.
"""

import itertools
import math

import numpy as np
import pytest
import scipy
from chance import RAD
from dpsgd import DPSGD
from gaussian_accounting import ADJACENCY, gaussian_epsilon, gaussian_sigma, gdp_mu, rdp_epsilon
from imputation import impute
from simulated import laplace_sum_runs, posterior_gain, score_runs

from ldpbook import paths
from ldpbook.datasets import adult_hours, fair
from ldpbook.paper_values import lookup
from ldpkit.attacks.reconstruct import laplace_sum_exact
from ldpkit.rng import generator

UNIFORM = np.full(4, 0.25)


def toy(sigma=3.0, steps=3, clip=0.1, **more):
    """Ten known records and four candidates in five dimensions, three classes."""
    rng = np.random.default_rng(5)
    x, y = rng.uniform(-1, 1, (14, 5)), rng.integers(0, 3, 14)
    y[:3] = 0, 1, 2
    known, candidates = (x[:10], y[:10]), (x[10:], y[10:])
    return DPSGD(known, candidates, sigma, steps=steps, clip=clip, hidden=4, **more)


def gradient(weights, x, y):
    """Gradient of the cross-entropy by complex steps, as one flat vector."""
    flat = np.concatenate([w.ravel() for w in weights]).astype(complex)
    cuts = np.cumsum([w.size for w in weights])[:-1]
    out = np.empty(flat.size)
    for i in range(flat.size):
        flat[i] += 1e-30j
        w1, b1, w2, b2 = (part.reshape(w.shape) for part, w in zip(np.split(flat, cuts), weights))
        hidden = x @ w1 + b1
        logits = np.where(hidden.real > 0, hidden, 0) @ w2 + b2
        out[i] = (np.log(np.exp(logits).sum()) - logits[y]).imag / 1e-30
        flat[i] = flat[i].real
    return out


def reference(m, truth, rng):
    """One training run written out: log-likelihoods from residuals, without low-rank products."""
    x, y = (np.concatenate([a, b]) for a, b in zip(m.known, m.candidates))
    (n, d), first = x.shape, len(m.known[1])
    edge, ppf = scipy.stats.norm.cdf(-2), scipy.stats.norm.ppf

    def start(rows, columns):
        return ppf(rng.uniform(edge, 1 - edge, (1, rows, columns)))[0] / math.sqrt(rows)

    inner = ppf(rng.uniform(edge, 1 - edge, (d, 1, m.hidden)))[:, 0] / math.sqrt(d)
    weights = [inner, np.zeros(m.hidden), start(m.hidden, 3), np.zeros(3)]
    cuts, scale = np.cumsum([w.size for w in weights])[:-1], m.clip * m.sigma
    loglik, dot = np.zeros(n - first), np.zeros(n - first)
    for _ in range(m.steps):
        g = np.array([gradient(weights, x[i], y[i]) for i in range(n)])
        g /= np.maximum(1, np.linalg.norm(g, axis=1) / m.clip)[:, None]
        noise = [scale * rng.standard_normal((1, *w.shape), np.float32).ravel() for w in weights]
        residual = g[first + truth] + np.concatenate(noise)
        loglik -= ((residual - g[first:]) ** 2).sum(1) / (2 * scale**2)
        dot += g[first:] @ residual
        step = m.rate / (first + 1) * (g[:first].sum(0) + residual)
        weights = [w - s.reshape(w.shape) for w, s in zip(weights, np.split(step, cuts))]
    return loglik, dot


def test_likelihoods_equal_those_of_a_run_written_out():
    # all gradients clipped, and only some
    for truth, clip in ((0, 0.1), (3, 0.1), (0, 1.5), (3, 1.5)):
        m = toy(clip=clip, sigma=1.0, steps=4)
        found = m.perturb(np.array([truth]), np.random.default_rng(9))[0]
        loglik, dot = reference(m, truth, np.random.default_rng(9))
        gained = found["loglik"] - found["loglik"][0]
        assert gained == pytest.approx(loglik - loglik[0], abs=2e-4)
        assert found["dot"] == pytest.approx(dot, rel=1e-3, abs=1e-4)


@pytest.fixture(scope="module")
def runs():
    truth = np.arange(1200) % 4
    return truth, toy().perturb(truth, generator(1, "toy"))


def test_counted_and_posterior_advantage_agree_and_side_knowledge_only_helps(runs):
    gain, found = posterior_gain(runs[1]["loglik"], UNIFORM), []
    for side in (None, [0, 0, 1, 2], range(4)):
        found.append(one := score_runs(gain, runs[0], UNIFORM, side))
        noise = math.hypot(one["counted_se"], one["posterior_se"])
        assert abs(one["counted"] - one["posterior"]) <= 4 * noise
        assert one["posterior_se"] < one["counted_se"]
        assert one["posterior"] > 10 * one["posterior_se"]
    assert found[0]["counted"] == pytest.approx(found[0]["rero"] - 0.25, abs=1e-12)
    none, label, full = (one["posterior"] for one in found)
    assert none < label < full
    blind = score_runs(np.tile([3.0, 2.0, 1.0, -1.0], (1200, 1)), runs[0], UNIFORM)
    assert blind["counted"] == pytest.approx(0, abs=1e-12) and blind["rero"] == 0.25
    # a prior that rules a record out never names it
    assert posterior_gain([[0.0, 5.0, 0.0]], [0.5, 0.0, 0.5]) == pytest.approx(np.zeros((1, 3)))


def test_likelihoods_are_calibrated(runs):
    """The inverse temperature that explains the true records best is 1 (Fisher information)."""
    truth, loglik = runs[0], runs[1]["loglik"]

    def slope(beta):
        q = scipy.special.softmax(beta * loglik, axis=1)
        mean = (q * loglik).sum(1)
        score = (loglik[np.arange(len(loglik)), truth] - mean).sum()
        return score, (q * (loglik - mean[:, None]) ** 2).sum()

    beta = scipy.optimize.brentq(lambda b: slope(b)[0], 0.01, 5)
    assert abs(beta - 1) <= 4 / math.sqrt(slope(1.0)[1])
    assert slope(1.0)[1] > 50  # the test has power


def test_rdp_conversion_is_the_one_of_the_script():
    for sigma in (75, 40, 27, 21, 9.5, 5):
        printed = lookup("rad", "fig3", "noise_multiplier_to_eps", str(sigma))
        assert rdp_epsilon(gdp_mu(sigma, 100), 1e-5) == pytest.approx(printed, abs=2e-8)


def test_sigma_inverts_epsilon():
    for accounting, adjacency in itertools.product(("exact", "rdp"), ADJACENCY):
        how = {"accounting": accounting, "adjacency": adjacency}
        for epsilon in (0.5, 3.0, 12.0):
            found = gaussian_epsilon(gaussian_sigma(epsilon, 100, **how), 100, **how)
            assert found == pytest.approx(epsilon, abs=1e-8), how
    assert gdp_mu(5.0, 4, "replace") == 2 * gdp_mu(5.0, 4) == pytest.approx(0.8)


def test_stored_mnist_runs_agree_with_the_oracle():
    with np.load(paths.ROOT / "data" / "results" / "rad_dpsgd_mnist.npz") as stored:
        table = dict(stored)
    assert table["labels"].tolist() == [0, 7, 1, 1, 4, 9, 4, 3]
    prior, sides = np.full(8, 1 / 8), {"none": None, "label": table["labels"], "full": np.arange(8)}
    rows, wrong = [r for r in RAD if r["item"] == "fig3_mnist"], []
    for sigma in (75, 40, 27, 21, 9.5, 5):
        here = table["sigma"] == np.float32(sigma)
        assert np.bincount(table["truth"][here]).min() >= 125
        gain = posterior_gain(table["loglik"][here], prior)
        of_sigma = [r for r in rows if r["x"] and float(r["x"]) == sigma]
        for name, side in sides.items():
            found = score_runs(gain, table["truth"][here], prior, side)
            for row in [r for r in of_sigma if r["series"].startswith(f"aux_{name}_RAD")]:
                what = "posterior" if "posterior" in row["series"] else "counted"
                noise = math.hypot(float(row["note"].split("SE=")[1]), found[f"{what}_se"])
                if not abs(found[what] - float(row["value"])) <= 4 * noise:
                    wrong.append(row)
        accuracy = next(float(r["value"]) for r in of_sigma if r["series"] == "test_accuracy")
        # scored on 1,000 test images, 1.6 % each
        assert table["accuracy"][here].mean() == pytest.approx(accuracy, abs=0.04)
    assert wrong == []


def test_simulated_sums_agree_with_the_envelope():
    hours, two = adult_hours().to_numpy(), np.r_[0.5, np.zeros(99), 0.5]
    priors = {"empirical": hours / hours.sum(), "uniform": np.full(101, 1 / 101), "two-point": two}
    for name, eta, epsilon in itertools.product(priors, (0, 40, 80, 100), (1.0, 4.6, 10.0)):
        rero, rad = laplace_sum_exact(priors[name], eta, epsilon)
        rng = generator(1, name, eta, epsilon)
        found = laplace_sum_runs(priors[name], eta, epsilon, runs=1000, rng=rng)
        assert abs(found["rad"] - rad) <= 4.5 * found["rad_se"] + 1e-12, (name, eta, epsilon)
        assert abs(found["rero"] - rero) <= 4.5 * found["rero_se"] + 1e-12, (name, eta, epsilon)


def test_imputation_ignores_the_sensitive_column_and_beats_the_majority():
    table = fair().sample(frac=1, random_state=1)
    known, targets = table.iloc[:5000], table.iloc[5000:6000]
    guess = impute(known, targets, "affair")
    assert (guess == impute(known, targets.assign(affair=~targets["affair"]), "affair")).all()
    truth = targets["affair"].to_numpy()
    assert (guess == truth).mean() > max(truth.mean(), 1 - truth.mean())
