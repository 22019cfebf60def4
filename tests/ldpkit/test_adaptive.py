"""The adaptive protocols: their law enumerated, their clients against it, and estimates drawn
without reports.

The general promises of a mechanism (supports, estimates, attacks, bad values) are tested for them
beside all others, under the labels of `laws.ADAPTIVE`. Here are what belongs to a free parameter:
every value of it satisfies epsilon, known values give the classical protocols back, extreme ones
are right or refused.

Statistical tests: fixed seeds and `laws.P_MIN`; the file compares fewer than 1,000 p-values, so a
correct package fails it with probability below 1e-4 (see `laws`).
"""

import decimal
import itertools
import math

import numpy as np
import pytest
from laws import EVERY, GAUSSIAN, P_MIN, binomial_p, build, chi_square_p, estimation_p, least_p
from scipy import stats

from ldpkit import attacks, checks
from ldpkit.auditors import audit
from ldpkit.mechanisms import ALH, ASS, ATHE, AUE, BLH, GRR, OLH, OUE, SHE, SS, SUE, THE, make
from ldpkit.mechanisms.base import MAX_EPSILON, MIN_EPSILON

GUESS, TIGHT = attacks.ATTACKS["guess"], attacks.ATTACKS["tight"]
N = 100_000

SMALL = [
    *(
        ASS(k, epsilon, omega)
        for k, omega in ((2, 1), (4, 1), (4, 2), (4, 3), (5, 4))
        for epsilon in (0.3, 2.0)
    ),
    *(
        AUE(k, epsilon, p)
        for k in (2, 4)
        for epsilon, p in ((0.3, 0.1), (1.0, 0.5), (2.0, 0.9), (2.0, 0.999))
    ),
    *(ALH(k, epsilon, g) for k, g in ((2, 2), (2, 5), (3, 3), (4, 2)) for epsilon in (0.3, 2.0)),
    *(
        ATHE(k, epsilon, theta)
        for k in (2, 4)
        for epsilon, theta in ((0.3, 0.5), (2.0, 0.0), (2.0, 0.7), (4.0, 1.0))
    ),
]


def rng(*seed):
    return np.random.default_rng(seed or 1)


def supports(mechanism):
    """All reports as (the public part, the supported set), and their probabilities under every
    value.

    They follow the description of the client alone: a set that holds the value with some chance and
    is uniform otherwise; independent bits; a uniform function into g cells whose cell is kept or
    replaced by any other.
    """
    m, k, grown = mechanism, mechanism.k, math.exp(mechanism.epsilon)
    values = range(k)
    if m.name == "ASS":
        reports = [((), set(s)) for s in itertools.combinations(values, m.omega)]
        weight = np.array([[grown if v in s else 1 for _, s in reports] for v in values])
        return reports, weight / weight.sum(axis=1, keepdims=True)
    if m.name == "ALH":
        hashes = itertools.product(range(m.g), repeat=k)
        reports = [
            ((h, cell), {u for u in values if h[u] == cell}) for h in hashes for cell in range(m.g)
        ]
        kept = grown / (grown + m.g - 1)
        law = [
            [(kept if v in s else (1 - kept) / (m.g - 1)) / m.g**k for _, s in reports]
            for v in values
        ]
        return reports, np.array(law)
    if m.name == "AUE":  # the odds of a one grow by e^eps at the own value
        odds = m.p / (1 - m.p) / grown
        own, other = m.p, odds / (1 + odds)
    else:  # chances that 1 + noise, and that noise alone, exceed the threshold
        own, other = (stats.laplace.sf(m.theta - at, scale=2 / m.epsilon) for at in (1, 0))
    reports = [((), {u for u in values if bits[u]}) for bits in itertools.product((0, 1), repeat=k)]
    rates = [[own if u == v else other for u in values] for v in values]
    law = [
        [math.prod(r if u in s else 1 - r for u, r in enumerate(rates[v])) for _, s in reports]
        for v in values
    ]
    return reports, np.array(law)


# --- the law, enumerated --------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", SMALL, ids=str)
def test_no_report_is_more_than_e_to_the_epsilon_times_likelier_under_another_value(mechanism):
    m = mechanism
    _, law = supports(m)
    assert law.sum(axis=1) == pytest.approx(1, abs=1e-12)
    loss = np.log(law.max(axis=0) / law.min(axis=0)).max()
    if m.name == "ATHE":  # the noisy vector satisfies epsilon; its bits satisfy less
        assert loss == pytest.approx(math.log(m.p * (1 - m.q) / (m.q * (1 - m.p))), rel=1e-10)
        assert 0 < loss < m.epsilon
    else:
        assert loss == pytest.approx(m.epsilon, rel=1e-10)


@pytest.mark.parametrize("mechanism", SMALL, ids=str)
def test_rates_and_attacks_equal_the_sum_over_all_reports(mechanism):
    m = mechanism
    reports, law = supports(m)
    member = np.array([[v in s for _, s in reports] for v in range(m.k)])
    assert (law[0] @ member[0], law[0] @ member[1]) == pytest.approx((m.p, m.q), rel=1e-12)
    guess = np.array([(0 in s) / len(s) if s else 1 / m.k for _, s in reports])
    assert GUESS.rates(m) == pytest.approx((law[0] @ guess, law[-1] @ guess), rel=1e-12)
    assert GUESS.success(m) == pytest.approx(law[0] @ guess, rel=1e-12)
    inside = member[0] & ~member[-1]
    assert TIGHT.rates(m) == pytest.approx((law[0] @ inside, law[-1] @ inside), rel=1e-12)


# --- clients --------------------------------------------------------------------------------------


@pytest.mark.parametrize("own", [0, 2])
@pytest.mark.parametrize(
    "mechanism", [ASS(4, 0.7, w) for w in (1, 2, 3)] + [ASS(5, 2.0, 3)], ids=str
)
def test_ordered_subsets_follow_their_law(mechanism, own):
    sets, law = supports(mechanism)
    orders = [order for _, s in sets for order in itertools.permutations(s)]
    wanted = np.repeat(law[own], math.factorial(mechanism.omega)) / math.factorial(mechanism.omega)
    index = {order: i for i, order in enumerate(orders)}
    found = [
        index[tuple(report)] for report in mechanism.perturb(np.full(N, own), rng(2, own)).tolist()
    ]
    assert chi_square_p(np.bincount(found, minlength=len(orders)), wanted) > P_MIN


@pytest.mark.parametrize("own", [0, 2])
@pytest.mark.parametrize(
    "mechanism",
    [
        AUE(3, 1.0, 0.8),
        AUE(3, 2.0, 0.2),
        ATHE(3, 2.0, 0.6),
        ATHE(3, 1.0, 1.0),
        ALH(3, 1.0, 2),
        ALH(3, 2.0, 5),
    ],
    ids=str,
)
def test_the_supported_sets_follow_their_joint_law(mechanism, own):
    reports, law = supports(mechanism)
    wanted, places = np.zeros(8), 2 ** np.arange(3)
    for (_, s), mass in zip(reports, law[own]):
        wanted[sum(2**u for u in s)] += mass
    drawn = mechanism.perturb(np.full(N, own), rng(3, own))
    if mechanism.report == "hash":
        drawn = np.array([mechanism.support_counts(drawn[i : i + 1]) for i in range(N // 4)])
    assert chi_square_p(np.bincount(drawn @ places, minlength=8), wanted) > P_MIN


@pytest.mark.parametrize("attack", [GUESS, TIGHT], ids=["guess", "tight"])
@pytest.mark.parametrize(
    "mechanism",
    [
        ASS(9, 1.0, 8),
        ASS(30, 4.0, 1),
        ASS(30, 4.0, 12),
        AUE(5, 0.5, 0.05),
        AUE(30, 6.0, 0.99),
        AUE(100, 10.0, 0.9999),
        ALH(30, 6.0, 2),
        ALH(30, 3.0, 40),
        ATHE(5, 1.0, 0.0),
        ATHE(30, 8.0, 1.0),
    ],
    ids=str,
)
def test_fast_samples_real_reports_and_exact_rates_agree(mechanism, attack):
    assert least_p(attack, mechanism, seed=4, real=20_000) > P_MIN


@pytest.mark.parametrize("attack", ["guess", "tight"])
@pytest.mark.parametrize(
    "mechanism", [ASS(8, 1.0, 3), AUE(8, 1.0, 0.7), ALH(8, 1.0, 6), ATHE(8, 1.0, 0.8)], ids=str
)
def test_audits_count_at_the_exact_rates_and_never_refute_the_claim(mechanism, attack):
    rates = {"guess": GUESS, "tight": TIGHT}[attack].rates(mechanism)
    for faithful, trials in ((False, 200_000), (True, 30_000)):
        result = audit(mechanism, attack, trials=trials, faithful=faithful, seed=5)
        for count, rate in zip(result.counts.values(), rates):
            assert binomial_p(count, trials, rate) > P_MIN
        assert not result.violated and result.exact is not None
        assert abs(result.epsilon_emp - result.exact) < stats.norm.isf(P_MIN / 2) * result.exact_sd


# --- known parameters -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "adaptive, classical",
    [
        (AUE(6, 1.3, 0.5), OUE(6, 1.3)),
        (AUE(6, 1.3, SUE(6, 1.3).p), SUE(6, 1.3)),
        (ASS(9, 0.4, SS(9, 0.4).omega), SS(9, 0.4)),
        (ALH(6, 1.3, 2), BLH(6, 1.3)),
        (ALH(6, 1.3, OLH(6, 1.3).g), OLH(6, 1.3)),
        (ATHE(6, 1.3, THE(6, 1.3).theta), THE(6, 1.3)),
    ],
    ids=lambda m: m.name,
)
def test_the_classical_parameter_gives_the_classical_protocol(adaptive, classical):
    assert (adaptive.p, adaptive.q) == pytest.approx((classical.p, classical.q), rel=1e-14)
    assert adaptive.report == classical.report and GUESS.success(adaptive) == pytest.approx(
        GUESS.success(classical), rel=1e-14
    )
    values = np.arange(6).repeat(20)
    assert np.array_equal(adaptive.perturb(values, rng(6)), classical.perturb(values, rng(6)))


@pytest.mark.parametrize("epsilon", [MIN_EPSILON, 1, 10, MAX_EPSILON])
@pytest.mark.parametrize("k", [2, 3, 100, 2**31 - 1])
def test_a_subset_of_one_value_is_randomised_response(k, epsilon):
    ass, grr = ASS(k, epsilon, 1), GRR(k, epsilon)
    assert (ass.p, ass.q) == pytest.approx((grr.p, grr.q), rel=1e-14)


def test_the_names_are_made_from_their_parameters():
    assert make("ASS", k=5, epsilon=1.0, omega=2) == ASS(5, 1.0, 2) and ASS(
        5, 1.0, 2
    ).parameters == {"k": 5, "epsilon": 1.0, "omega": 2}
    assert make("AUE", k=5, epsilon=1, p=0.7) == AUE(5, 1.0, 0.7)
    assert (
        make("ALH", k=5, epsilon=1, g=np.int32(3)) == ALH(5, 1.0, 3)
        and type(ALH(5, 1.0, np.int32(3)).g) is int
    )
    assert make("ATHE", k=5, epsilon=1, theta=1) == ATHE(5, 1.0, 1.0)


# --- extreme parameters: right or refused ---------------------------------------------------------


def exact_rates(mechanism):
    """Support probabilities in 60 digits."""
    with decimal.localcontext(prec=60):
        m, grown = mechanism, decimal.Decimal(mechanism.epsilon).exp()
        if m.name == "ASS":
            k, w = decimal.Decimal(m.k), decimal.Decimal(m.omega)
            return w * grown / (w * grown + k - w), (w * grown * (w - 1) + (k - w) * w) / (
                (k - 1) * (w * grown + k - w)
            )
        if m.name == "AUE":
            p = decimal.Decimal(m.p)
            return p, p / (p + grown * (1 - p))
        if m.name == "ALH":
            return grown / (grown + m.g - 1), 1 / decimal.Decimal(m.g)
        half, theta = decimal.Decimal(m.epsilon) / 2, decimal.Decimal(m.theta)
        return 1 - (half * (theta - 1)).exp() / 2, (-half * theta).exp() / 2


EXTREME = [
    *(
        ASS(k, e, w)
        for k, w in ((3, 1), (3, 2), (1000, 998), (10**9, 5), (2**31 - 1, 2**30))
        for e in (MIN_EPSILON, 5.0, MAX_EPSILON)
    ),
    *(AUE(9, e, p) for e in (0.01, 5.0, MAX_EPSILON) for p in (1e-9, 0.5, 1 - 1e-9)),
    *(
        AUE(9, e, p)
        for e, p in ((MAX_EPSILON, 1 - 2**-52), (MIN_EPSILON, 0.5), (MIN_EPSILON, 1 - 2e-6))
    ),
    *(ALH(9, e, g) for e in (MIN_EPSILON, 5.0, MAX_EPSILON) for g in (2, 2**32)),
    *(ATHE(9, e, theta) for e in (MIN_EPSILON, 5.0, MAX_EPSILON) for theta in (0.0, 0.5, 1.0)),
]


@pytest.mark.parametrize("mechanism", EXTREME, ids=str)
@pytest.mark.filterwarnings("error")
def test_rates_keep_their_digits_at_the_ends_of_the_range(mechanism):
    p, q = exact_rates(mechanism)
    rounding = 2**-52 * math.exp(mechanism.epsilon)  # of a p next to 1 that is given
    assert mechanism.p == pytest.approx(float(p), rel=1e-14)
    assert mechanism.q == pytest.approx(
        float(q),
        rel=1e-14 + (4 * rounding if mechanism.name == "AUE" and mechanism.p > 0.999 else 0),
    )
    variance = float(q * (1 - q) / (p - q) ** 2)
    lost = 4e-16 * float(p / (p - q))  # of the difference of two rounded rates
    assert mechanism.variance(1) == pytest.approx(
        variance, rel=1e-13 + 4 * lost + 4 * rounding * (mechanism.name == "AUE")
    )
    assert 1 / mechanism.k < GUESS.success(mechanism) < 1


@pytest.mark.parametrize("epsilon", [MIN_EPSILON, 1.0, 10.0, MAX_EPSILON])
@pytest.mark.parametrize(
    "k, omega", [(3, 2), (10, 9), (1000, 998), (10_000, 9000), (2**31 - 1, 2**30)]
)
def test_the_tight_event_on_subsets_of_any_size_has_the_whole_epsilon_as_log_ratio(
    k, omega, epsilon
):
    first, second = TIGHT.rates(ASS(k, epsilon, omega))
    assert first == pytest.approx(
        float(exact_rates(ASS(k, epsilon, omega))[0]) * (k - omega) / (k - 1), rel=1e-13
    )
    assert second > 0 and math.log(first / second) == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.parametrize("omega", [0, -1, 5, 2.0, "2", None, True, math.nan, 10**30])
def test_a_subset_size_outside_its_bounds_is_refused(omega):
    with pytest.raises(ValueError, match=r"omega must be an integer in \[1, 4\], got"):
        ASS(5, 1.0, omega)


@pytest.mark.parametrize("p", [0, 1, -0.1, 1.5, math.nan, math.inf, "0.5", None, True])
def test_a_rate_outside_the_open_unit_interval_is_refused(p):
    with pytest.raises(ValueError, match=r"p must be a number in \(0, 1\), got"):
        AUE(5, 1.0, p)


@pytest.mark.parametrize(
    "epsilon, p", [(1e-6, 1 - 2**-53), (1e-6, 1 - 1e-10), (30, 5e-324), (30, 1e-300), (1, 1e-13)]
)
def test_a_rate_that_rounding_cannot_tell_from_the_others_is_refused(epsilon, p):
    with pytest.raises(
        ValueError, match=r"p must exceed q = .* by at least 1e-12 at epsilon = .*, got "
    ):
        AUE(5, epsilon, p)


@pytest.mark.parametrize("g", [1, 0, 2**32 + 1, 2.0, True, "2", math.nan, None])
def test_a_hash_range_outside_its_bounds_is_refused(g):
    with pytest.raises(ValueError, match=r"g must be an integer in \[2, 4294967296\], got"):
        ALH(5, 1.0, g)


@pytest.mark.parametrize("theta", [-0.01, 1.01, math.nan, math.inf, "0.5", None, True])
def test_a_threshold_outside_the_unit_interval_is_refused(theta):
    with pytest.raises(ValueError, match=r"theta must be a number in \[0, 1\], got"):
        ATHE(5, 1.0, theta)


# --- estimates of a population without its reports ------------------------------------------------

COUNTS = np.array([30, 12, 0, 8])


def support_law(mechanism, held, n):
    """Law of how many of n reports support a value that `held` of the users hold."""
    own, other = (
        stats.binom.pmf(np.arange(size + 1), size, rate)
        for size, rate in ((held, mechanism.p), (n - held, mechanism.q))
    )
    return np.convolve(own, other)


@pytest.mark.parametrize("label", [label for label in EVERY if label != "SHE"])
def test_drawn_support_counts_and_those_of_real_reports_follow_one_law(label):
    m, n, generator = build(label, 4, 1.0), COUNTS.sum(), rng(7)
    values = np.repeat(np.arange(4), COUNTS)
    drawn = np.array([m.sample_estimate(COUNTS, generator) for _ in range(3000)])
    real = np.array(
        [m.estimate(m.perturb(generator.permutation(values), generator)) for _ in range(1500)]
    )
    for estimates in (drawn, real):
        supported = (estimates * (m.p - m.q) + m.q) * n
        assert supported == pytest.approx(np.rint(supported), abs=1e-8)
        for value, column in enumerate(np.rint(supported).astype(int).T):
            assert (
                chi_square_p(np.bincount(column, minlength=n + 1), support_law(m, COUNTS[value], n))
                > P_MIN
            )
    assert estimation_p(drawn, COUNTS / n, m.variance(n, COUNTS / n)) > P_MIN


@pytest.mark.parametrize("label", ["SHE", *GAUSSIAN])
def test_drawn_means_of_noise_and_those_of_real_reports_follow_one_law(label):
    m, n, generator = build(label, 4, 0.8), COUNTS.sum(), rng(8)
    values = np.repeat(np.arange(4), COUNTS)
    drawn = np.array([m.sample_estimate(COUNTS, generator) for _ in range(4000)])
    real = np.array([m.estimate(m.perturb(values, generator)) for _ in range(2000)])
    assert estimation_p(drawn, COUNTS / n, m.variance(n)) > P_MIN
    for one, two in zip(drawn.T, real.T):
        assert stats.ks_2samp(one, two).pvalue > P_MIN
    few = np.array(
        [m.sample_estimate([0, 1, 0, 0], generator) for _ in range(4000)]
    )  # one user: the noise itself
    law = stats.laplace(scale=m.scale) if label == "SHE" else stats.norm(scale=m.scale)
    for column in (few - [0, 1, 0, 0]).T:
        assert stats.kstest(column, law.cdf).pvalue > P_MIN


@pytest.mark.parametrize("label", ["SUE", "AUE", "ALH", "ATHE", "GRR", "ASS"])
def test_drawn_estimates_of_two_values_depend_on_each_other_as_real_ones_do(label):
    m, counts, generator = build(label, 4, 1.0), np.array([6, 3, 0, 0]), rng(9)
    joint = []
    for _ in range(2):
        sets = [m.sample_estimate(counts, generator) for _ in range(4000)]
        if joint:
            sets = [
                m.estimate(m.perturb(np.repeat(np.arange(4), counts), generator))
                for _ in range(4000)
            ]
        high = np.array(sets)[:, :2] > counts[:2] / 9
        joint.append(np.bincount(high @ [2, 1], minlength=4))
    assert stats.chi2_contingency(joint).pvalue > P_MIN


def test_large_populations_are_drawn_without_their_reports():
    counts = np.full(100, 10**10)
    for m in (AUE(100, 1.0, 0.7), ALH(100, 1.0, 3), ATHE(100, 1.0, 0.7), SHE(100, 1.0)):
        z = (m.sample_estimate(counts, rng(10)) - 0.01) / np.sqrt(m.variance(10**12, 0.01))
        assert stats.kstest(z, "norm").pvalue > P_MIN


@pytest.mark.parametrize("label", ["AUE", "ASS", "SHE"])
def test_the_generator_alone_decides_drawn_estimates(label):
    m = build(label, 4, 1.0)
    one, two, other = (m.sample_estimate(COUNTS, rng(seed)) for seed in (11, 11, 12))
    assert np.array_equal(one, two) and not np.array_equal(one, other) and one.shape == (4,)
    assert np.array_equal(one, m.sample_estimate(COUNTS.tolist(), rng(11)))


BAD_COUNTS = [
    ([1, 2, 3], r"counts must be 4 integers, got shape \(3,\) of int64"),
    ([[1, 2, 3, 4]], r"counts must be 4 integers, got shape \(1, 4\) of int64"),
    ([1.0, 2, 3, 4], r"counts must be 4 integers, got shape \(4,\) of float64"),
    ([True, False, True, True], "counts must be 4 integers, got shape .* of bool"),
    (["1", "2", "3", "4"], "counts must be 4 integers, got"),
    (5, r"counts must be 4 integers, got shape \(\) of int64"),
    ([3, 0, -2, 1], "counts must be >= 0 and not all 0, got -2 at position 2"),
    ([0, 0, 0, 0], "counts must be >= 0 and not all 0, got 0 at position 0"),
]


@pytest.mark.parametrize("counts, message", BAD_COUNTS)
@pytest.mark.parametrize("label", ["AUE", "ASS", "SHE"])
def test_bad_counts_are_refused(label, counts, message):
    with pytest.raises(ValueError, match=message):
        build(label, 4, 1.0).sample_estimate(counts, rng())


def test_counts_are_returned_as_64_bit_integers_under_their_name():
    found = checks.counts(np.array([1, 0], np.uint8), 2)
    assert found.dtype == np.int64 and found.tolist() == [1, 0]
    with pytest.raises(ValueError, match="^ages must be 2 integers"):
        checks.counts([1], 2, "ages")
