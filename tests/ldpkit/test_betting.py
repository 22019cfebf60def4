"""Bets against a claim: what they can never win while it holds, and how fast they win once it is
broken. Means are exact sums; simulated counts are compared with exact binomial tails at `P_MIN`,
growth with `tests/data/betting.csv`."""

import math

import numpy as np
import pytest
from chance import rng, table
from scipy import stats

from ldpkit.blackbox import betting

ROWS = table("betting")
ALPHA = 0.01


def kept(epsilon, delta, n, seed):
    """Random rates of an event that keep the claim, some of them on its edge or at its ends."""
    q = np.concatenate([rng(seed).random(n) ** 3, [0.0, 1e-9, 1.0]])
    top = np.minimum(1, math.exp(epsilon) * q + delta)
    p = top * np.where(np.arange(q.size) % 2, 1, rng(seed, 1).random(q.size))
    return p, q


def mean(factors, p, q):
    law = np.array([(1 - p) * (1 - q), (1 - p) * q, p * (1 - q), p * q])
    return factors @ law


def nearest(p, q, epsilon):
    """The null that the joint bet is made against: its factors are likelihood ratios to it."""
    _, second, first, both = betting.joint(p, q, epsilon)
    odds = p / (1 - p) * second / both, q / (1 - q) * first / both
    return odds[0] / (1 + odds[0]), odds[1] / (1 + odds[1])


@pytest.mark.parametrize("delta", [0.0, 1e-3, 0.2])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0, 5.0])
def test_no_bet_wins_on_average_while_the_claim_holds(epsilon, delta):
    p, q = kept(epsilon, delta, 2000, 1)
    assert mean(betting.linear(betting.STAKES, epsilon, delta), p, q).max() <= 1 + 1e-12
    for wanted in ((0.9, 0.01), (0.5, 1e-6), (1.0, 0.0), (0.3 + delta, 0.2 * math.exp(-epsilon))):
        if wanted[0] <= math.exp(epsilon) * wanted[1] + delta:
            continue
        factors = betting.joint(*wanted, epsilon, delta)
        assert factors.min() >= 0
        assert mean(factors, p, q).max() <= 1 + 1e-9


def test_the_greatest_stake_is_the_greatest():
    for epsilon, delta in ((0.5, 0.0), (2.0, 0.1)):
        assert 0 < betting.linear(1 - 1e-9, epsilon, delta).min() < 1e-8
    with pytest.raises(ValueError, match=r"stakes must be a number in \[0, 1\)"):
        betting.linear([0.5, 1.0], 1.0)


def test_the_soft_bet_is_valid_for_any_likelihood_and_any_balance():
    """Of the tightest random laws that keep the claim; the product of means is at most 1."""
    draw, tight = rng(2), 0.0
    for _ in range(1500):
        k, epsilon = draw.integers(2, 6), draw.uniform(0.05, 3)
        delta = draw.choice([0.0, draw.uniform(0, 0.3)])
        one, two = draw.dirichlet(np.ones(k)), draw.dirichlet(np.ones(k))

        def excess(share, one=one, two=two, epsilon=epsilon):
            mixed = share * one + (1 - share) * two
            up, down = mixed - math.exp(epsilon) * two, two - math.exp(epsilon) * mixed
            return max(np.maximum(up, 0).sum(), np.maximum(down, 0).sum()), mixed

        shares = [share for share in np.linspace(0, 1, 60) if excess(share)[0] <= delta]
        mixed = excess(shares[-1])[1]
        c = draw.choice([draw.random(k), mixed / (mixed + two)][draw.integers(2)], k, replace=False)
        first, second = betting.soft(c, draw.uniform(0.01, 1.99), epsilon, delta)
        assert first.min() >= 0 and second.min() >= 0
        value = (mixed @ first) * (two @ second)
        tight = max(tight, value)
        assert value <= 1 + 1e-12 and (mixed @ first + two @ second) / 2 <= 1 + 1e-12
    assert tight > 0.999  # the bound is met


def test_the_soft_bet_at_a_tight_null_and_at_its_limit():
    epsilon, k = 1.0, 5
    other = 1 / (math.e + k - 1)
    one, two = (np.where(np.arange(k) == v, math.e * other, other) for v in (0, 1))
    first, second = betting.soft(one / (one + two), 1.0, epsilon)
    assert (one @ first) * (two @ second) == pytest.approx(1, abs=1e-12)
    # a bit without noise: 2 ln(1 + 1/E) a pair, more than any bet on the event "the bit is set"
    first, second = betting.soft([1.0, 0.0], 1.0, epsilon)
    assert math.log(first[0] * second[1]) == pytest.approx(2 * math.log1p(math.exp(-1)), abs=1e-12)
    found = betting.joint_growth(1.0, 0.0, epsilon)
    assert found == pytest.approx(-math.log1p(-math.exp(-1)), abs=1e-9)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['case']}-{row['epsilon']}")
def test_growth_and_the_nearest_null_equal_the_table(row):
    """Printed rates have five digits; a growth moves by less than 2e-5 with them."""
    p, q, epsilon = (float(row[name]) for name in ("p", "q", "epsilon"))
    growth, stake = betting.linear_growth(p, q, epsilon)
    joint = betting.joint_growth(p, q, epsilon)
    assert growth == pytest.approx(float(row["growth_linear"]), abs=2e-5)
    assert joint == pytest.approx(float(row["growth_joint"]), abs=2e-5)
    assert 0 <= growth <= joint
    p0, q0 = nearest(p, q, epsilon)
    assert p0 == pytest.approx(math.exp(epsilon) * q0, rel=1e-9)
    law = np.array([(1 - p) * (1 - q), (1 - p) * q, p * (1 - q), p * q])
    assert law @ np.log(betting.linear(stake, epsilon)[0]) == pytest.approx(growth, abs=1e-12)
    assert law @ np.log(betting.joint(p, q, epsilon)) == pytest.approx(joint, abs=1e-9)
    for near in (0.999, 1.001):  # no other null is nearer
        edge = math.exp(epsilon) * q0 * near, q0 * near
        away = sum(stats.entropy([a, 1 - a], [b, 1 - b]) for a, b in zip((p, q), edge))
        assert away > joint


def test_rates_that_keep_the_claim_win_nothing():
    assert betting.linear_growth(0.5, 0.4, 1.0) == (0.0, 0.0)
    assert betting.joint_growth(0.5, 0.4, 1.0) == 0.0
    with pytest.raises(ValueError, match=r"p must exceed e\^epsilon q \+ delta = 1.08731, got 0.5"):
        betting.joint(0.5, 0.4, 1.0)


@pytest.mark.parametrize("row", [row for row in ROWS if float(row["growth_joint"]) > 0.05],
                         ids=lambda row: f"{row['case']}-{row['epsilon']}")  # fmt: skip
def test_the_mean_number_of_pairs_is_near_its_bound(row):
    """2,000 runs; their mean is off by 5.5 standard errors once in 10^7 runs of this test."""
    p, q, epsilon = (float(row[name]) for name in ("p", "q", "epsilon"))
    low = -math.log(ALPHA) / betting.joint_growth(p, q, epsilon)
    gains = np.log(betting.joint(p, q, epsilon))
    draw, runs, most = rng(3), 2000, int(21 * low)
    symbols = 2 * (draw.random((runs, most)) < p) + (draw.random((runs, most)) < q)
    wealth = np.cumsum(gains[symbols], axis=1)
    needed = 1 + np.argmax(wealth >= -math.log(ALPHA), axis=1)
    error = 5.5 * needed.std() / math.sqrt(runs)
    assert low - error <= needed.mean()
    oracle = float(row["oracle_joint_mean/95"].split("/")[0])
    assert needed.mean() == pytest.approx(oracle, rel=0.15)
