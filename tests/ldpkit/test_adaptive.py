"""The adaptive protocols: known values of a free parameter give the classical protocols, extreme
ones are right or refused; and estimates drawn without reports, fewer than 1,000 p-values against
`chance.P_MIN`."""

import decimal
import itertools
import math

import numpy as np
import pytest
from chance import EVERY, GAUSSIAN, P_MIN, build, chi_square_p, estimation_p, rng
from pytest import approx
from scipy import stats

from ldpkit import attacks, checks
from ldpkit.mechanisms import ALH, ASS, ATHE, AUE, BLH, GRR, OLH, OUE, SHE, SS, SUE, THE, make
from ldpkit.mechanisms.base import MAX_EPSILON, MIN_EPSILON

GUESS, TIGHT = attacks.ATTACKS["guess"], attacks.ATTACKS["tight"]


def test_the_classical_parameter_gives_the_classical_protocol():
    rows = [(AUE(6, 1.3, 0.5), OUE(6, 1.3)), (AUE(6, 1.3, SUE(6, 1.3).p), SUE(6, 1.3)),
            (ASS(9, 0.4, SS(9, 0.4).omega), SS(9, 0.4)), (ALH(6, 1.3, 2), BLH(6, 1.3)),
            (ALH(6, 1.3, OLH(6, 1.3).g), OLH(6, 1.3)), (ATHE(6, 1.3, THE(6, 1.3).theta), THE(6, 1.3))]  # fmt: skip
    values = np.arange(6).repeat(20)
    for one, two in rows:
        assert (one.p, one.q) == approx((two.p, two.q), rel=1e-14)
        assert one.report == two.report, one
        assert GUESS.success(one) == approx(GUESS.success(two), rel=1e-14)
        assert np.array_equal(one.perturb(values, rng(6)), two.perturb(values, rng(6)))
    for epsilon, k in itertools.product([MIN_EPSILON, 1, 10, MAX_EPSILON], [2, 3, 100, 2**31 - 1]):
        ass, grr = ASS(k, epsilon, 1), GRR(k, epsilon)  # a subset of one value
        assert (ass.p, ass.q) == approx((grr.p, grr.q), rel=1e-14)
    assert make("ASS", k=5, epsilon=1.0, omega=2) == ASS(5, 1.0, 2)
    assert ASS(5, 1.0, 2).parameters == {"k": 5, "epsilon": 1.0, "omega": 2}
    assert make("AUE", k=5, epsilon=1, p=0.7) == AUE(5, 1.0, 0.7)
    assert make("ALH", k=5, epsilon=1, g=np.int32(3)) == ALH(5, 1.0, 3)
    assert type(ALH(5, 1.0, np.int32(3)).g) is int
    assert make("ATHE", k=5, epsilon=1, theta=1) == ATHE(5, 1.0, 1.0)


def exact_rates(m):
    """Support probabilities in 60 digits."""
    with decimal.localcontext(prec=60):
        grown = decimal.Decimal(m.epsilon).exp()
        if m.name == "ASS":
            k, w = decimal.Decimal(m.k), decimal.Decimal(m.omega)
            whole = w * grown + k - w
            return w * grown / whole, (w * grown * (w - 1) + (k - w) * w) / ((k - 1) * whole)
        if m.name == "AUE":
            p = decimal.Decimal(m.p)
            return p, p / (p + grown * (1 - p))
        if m.name == "ALH":
            return grown / (grown + m.g - 1), 1 / decimal.Decimal(m.g)
        half, theta = decimal.Decimal(m.epsilon) / 2, decimal.Decimal(m.theta)
        return 1 - (half * (theta - 1)).exp() / 2, (-half * theta).exp() / 2


ENDS = (MIN_EPSILON, 5.0, MAX_EPSILON)
SIZES = ((3, 1), (3, 2), (1000, 998), (10**9, 5), (2**31 - 1, 2**30))
EXTREME = [ASS(k, e, w) for k, w in SIZES for e in ENDS]
EXTREME += [AUE(9, e, p) for e in (0.01, 5.0, MAX_EPSILON) for p in (1e-9, 0.5, 1 - 1e-9)]
EXTREME += [AUE(9, MAX_EPSILON, 1 - 2**-52), *(AUE(9, MIN_EPSILON, p) for p in (0.5, 1 - 2e-6))]
EXTREME += [ALH(9, e, g) for e in ENDS for g in (2, 2**32)]
EXTREME += [ATHE(9, e, theta) for e in ENDS for theta in (0.0, 0.5, 1.0)]


@pytest.mark.filterwarnings("error")
def test_rates_keep_their_digits_at_the_ends_of_the_range():
    for m in EXTREME:
        p, q = exact_rates(m)
        rounding = 4 * 2**-52 * math.exp(m.epsilon)  # of a p next to 1 that is given
        rounding *= m.name == "AUE"
        assert m.p == approx(float(p), rel=1e-14)
        assert m.q == approx(float(q), rel=1e-14 + rounding * (m.p > 0.999))
        lost = 4e-16 * float(p / (p - q))  # of the difference of two rounded rates
        variance = float(q * (1 - q) / (p - q) ** 2)
        assert m.variance(1) == approx(variance, rel=1e-13 + 4 * lost + rounding)
        assert 1 / m.k < GUESS.success(m) < 1
    rows = [(3, 2), (10, 9), (1000, 998), (10_000, 9000), (2**31 - 1, 2**30)]
    for epsilon, (k, omega) in itertools.product([MIN_EPSILON, 1.0, 10.0, MAX_EPSILON], rows):
        m = ASS(k, epsilon, omega)
        first, second = TIGHT.rates(m)
        assert first == approx(float(exact_rates(m)[0]) * (k - omega) / (k - 1), rel=1e-13), m
        assert second > 0 and math.log(first / second) == approx(epsilon, rel=1e-9), m
    # rounding cannot tell these rates from the others
    rows = [(1e-6, 1 - 2**-53), (1e-6, 1 - 1e-10), (30, 5e-324), (30, 1e-300), (1, 1e-13)]
    for epsilon, p in rows:
        with pytest.raises(ValueError, match="p must exceed q"):
            AUE(5, epsilon, p)


COUNTS = np.array([30, 12, 0, 8])


def test_drawn_support_counts_and_those_of_real_reports_follow_one_law():
    n, values = COUNTS.sum(), np.repeat(np.arange(4), COUNTS)
    for label in [label for label in EVERY if label != "SHE"]:
        m, draws = build(label, 4, 1.0), rng(7)
        drawn = np.array([m.sample_estimate(COUNTS, draws) for _ in range(1500)])
        real = [m.estimate(m.perturb(draws.permutation(values), draws)) for _ in range(750)]
        for estimates in (drawn, np.array(real)):
            supported = (estimates * (m.p - m.q) + m.q) * n
            assert supported == approx(np.rint(supported), abs=1e-8), label
            for held, column in zip(COUNTS, np.rint(supported).astype(int).T):
                sizes = ((held, m.p), (n - held, m.q))  # of those who hold the value, or not
                parts = [stats.binom.pmf(np.arange(size + 1), size, rate) for size, rate in sizes]
                counts = np.bincount(column, minlength=n + 1)
                assert chi_square_p(counts, np.convolve(*parts)) > P_MIN, (label, held)
        assert estimation_p(drawn, COUNTS / n, m.variance(n, COUNTS / n)) > P_MIN, label


def test_drawn_means_of_noise_and_those_of_real_reports_follow_one_law():
    n, values = COUNTS.sum(), np.repeat(np.arange(4), COUNTS)
    for label in ["SHE", *GAUSSIAN]:
        m, draws = build(label, 4, 0.8), rng(8)
        drawn = np.array([m.sample_estimate(COUNTS, draws) for _ in range(2000)])
        real = np.array([m.estimate(m.perturb(values, draws)) for _ in range(1000)])
        assert estimation_p(drawn, COUNTS / n, m.variance(n)) > P_MIN, label
        for one, two in zip(drawn.T, real.T):
            assert stats.ks_2samp(one, two).pvalue > P_MIN, label
        one = [0, 1, 0, 0]  # user: the noise itself
        noise = np.array([m.sample_estimate(one, draws) for _ in range(2000)]) - one
        law = (stats.laplace if label == "SHE" else stats.norm)(scale=m.scale)
        for column in noise.T:
            assert stats.kstest(column, law.cdf).pvalue > P_MIN, label


def test_drawn_estimates_of_two_values_depend_on_each_other_as_real_ones_do():
    counts = np.array([6, 3, 0, 0])
    values = np.repeat(np.arange(4), counts)
    for label in ["SUE", "AUE", "ALH", "ATHE", "GRR", "ASS"]:
        m, draws = build(label, 4, 1.0), rng(9)
        drawn = [m.sample_estimate(counts, draws) for _ in range(2000)]
        real = [m.estimate(m.perturb(values, draws)) for _ in range(2000)]
        high = (np.array(sets)[:, :2] > counts[:2] / 9 for sets in (drawn, real))
        joint = [np.bincount(two @ [2, 1], minlength=4) for two in high]
        assert stats.chi2_contingency(joint).pvalue > P_MIN, label


def test_large_populations_are_drawn_without_their_reports_by_the_generator_alone():
    many = np.full(100, 10**10)
    for m in (AUE(100, 1.0, 0.7), ALH(100, 1.0, 3), ATHE(100, 1.0, 0.7), SHE(100, 1.0)):
        z = (m.sample_estimate(many, rng(10)) - 0.01) / np.sqrt(m.variance(10**12, 0.01))
        assert stats.kstest(z, "norm").pvalue > P_MIN, m
    for label in ["AUE", "ASS", "SHE"]:
        m = build(label, 4, 1.0)
        one, two, other = (m.sample_estimate(COUNTS, rng(seed)) for seed in (11, 11, 12))
        assert np.array_equal(one, two) and one.shape == (4,), label
        assert not np.array_equal(one, other), label
        assert np.array_equal(one, m.sample_estimate(COUNTS.tolist(), rng(11))), label
    found = checks.counts(np.array([1, 0], np.uint8), 2)
    assert found.dtype == np.int64 and found.tolist() == [1, 0]
