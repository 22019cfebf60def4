"""Noise drawn once: two chained rounds of noise (L-SUE, L-OSUE, L-OUE, L-GRR) and flipped bits of
buckets (dBitFlipPM).

Exact rates are compared with the specification's vectors (half a unit of the last of ten digits)
and with enumerations of all permanent states and all reports. Simulated counts and estimates give
fewer than 600 p-values, each judged by `laws.P_MIN`: a correct package fails this file with
probability below 5e-5.
"""

import itertools
import math

import numpy as np
import pytest
from laws import P_MIN, binomial_p, build, chi_square_p, estimation_p, least_p

from ldpkit import attacks
from ldpkit.attacks import TwoValueTest
from ldpkit.auditors import audit, expected
from ldpkit.mechanisms import GRR, OUE, RSFD, SUE, BucketFlip, Chained, Repeated, make

GUESS, TIGHT = attacks.ATTACKS["guess"], attacks.ATTACKS["tight"]
PROTOCOLS = ["SUE", "OSUE", "OUE", "GRR"]


def rng(*seed):
    return np.random.default_rng(seed or 1)


# --- two rounds of noise --------------------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 3, 25, 1000])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_one_report_has_exactly_its_epsilon(protocol, k):
    for epsilon, share in itertools.product((0.1, 1, 2, 5, 10), (0.01, 0.5, 0.9, 0.999)):
        most = math.log((2 * math.exp(epsilon) + 1) / 3) if protocol == "OUE" else epsilon
        m = Chained(k, epsilon, share * most, 1, protocol)
        odds = m.p / m.q if protocol == "GRR" else m.p * (1 - m.q) / ((1 - m.p) * m.q)
        assert math.log(odds) == pytest.approx(m.first, rel=1e-8, abs=1e-12), (epsilon, share)
        keep, flip = m.second
        rest = {"GRR": (k - 1) * flip, "OUE": 0.5}.get(protocol, flip)
        assert 0 < flip < keep < 1 and keep + rest == pytest.approx(1)
        assert m.permanent == {"SUE": SUE, "OSUE": OUE, "OUE": OUE, "GRR": GRR}[protocol](
            k, epsilon
        )


@pytest.mark.parametrize("k, protocol", list(itertools.product([2, 5], PROTOCOLS)))
def test_each_round_supports_every_value_as_often_as_p_and_q_say(protocol, k):
    m, n = Chained(k, 2.0, 1.0, 3, protocol), 30_000
    for reports in m.perturb(np.full(n, 1), rng(k)):
        for value, count in enumerate(m.permanent.support_counts(reports)):
            assert binomial_p(count, n, m.p if value == 1 else m.q) > P_MIN


def test_exact_rates_equal_the_vectors_of_rappor_and_their_limit():
    for tau, tpr in ((1, 0.0659485538), (10, 0.1085986770), (100, 0.1086939476)):
        assert GUESS.rates(Chained(25, 2.0, 1.0, tau))[0] == pytest.approx(tpr, abs=0.501e-10)
    assert GUESS.rates(SUE(25, 2.0))[0] == pytest.approx(0.1086939476, abs=0.501e-10)


@pytest.mark.parametrize("k", [2, 25])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_rates_run_from_those_of_the_first_report_to_those_of_the_permanent_round(protocol, k):
    single = {"SUE": SUE, "GRR": GRR}.get(protocol)
    chain = [Chained(k, 2.0, 1.0, tau, protocol) for tau in (1, 4, 16, 64, 500)]
    found = [GUESS.rates(m)[0] for m in chain]
    assert found == sorted(found)
    if single:  # with two SUE or two GRR rounds, one report is again SUE or GRR
        assert found[0] == pytest.approx(GUESS.rates(single(k, 1.0))[0], rel=1e-10)
    assert found[-1] == pytest.approx(GUESS.rates(chain[0].permanent)[0], rel=1e-8)


def enumerated(m):
    """Supports of all sequences of reports, array (sequences, tau, k), and their laws under either
    audited value."""
    k, (keep, flip) = m.k, m.second
    states = (
        np.eye(k, dtype=int)
        if m.protocol == "GRR"
        else np.array(list(itertools.product([0, 1], repeat=k)))
    )
    p, q = m.permanent.p, m.permanent.q

    def law(chances):  # of every state, given the chance of a one at every value
        if m.protocol == "GRR":
            return np.array(chances)
        return np.prod(np.where(states, chances, 1 - np.array(chances)), axis=1)

    given = np.array([law([keep if bit else flip for bit in state]) for state in states])
    sequences = np.array(list(itertools.product(range(len(states)), repeat=m.tau)))
    laws = []
    for value in (0, k - 1):
        weights = law([p if u == value else q for u in range(k)])
        laws.append(sum(w * row[sequences].prod(axis=1) for w, row in zip(weights, given)))
    return states[sequences], laws


@pytest.mark.parametrize(
    "protocol, k, tau",
    [
        ("SUE", 2, 3),
        ("SUE", 3, 2),
        ("OSUE", 2, 3),
        ("OSUE", 3, 2),
        ("OUE", 2, 3),
        ("OUE", 3, 2),
        ("GRR", 2, 4),
        ("GRR", 3, 3),
        ("GRR", 4, 4),
    ],
)
def test_rates_of_both_attacks_equal_the_enumeration_of_all_reports(protocol, k, tau):
    m = Chained(k, 1.5, 0.8, tau, protocol)
    supports, laws = enumerated(m)
    assert [law.sum() for law in laws] == pytest.approx([1, 1], rel=1e-12)
    tally = supports.sum(axis=1)
    best = tally == tally.max(axis=1, keepdims=True)
    named = best[:, 0] / best.sum(axis=1)
    assert GUESS.rates(m) == pytest.approx([law @ named for law in laws], rel=1e-11)
    rounds = [r.argmax(axis=1) if protocol == "GRR" else r for r in supports.swapaxes(0, 1)]
    for threshold in range(-1, tau + 1):
        test = TwoValueTest(threshold)
        seen = test.accepts(m, rounds, (0, k - 1))
        assert test.rates(m) == pytest.approx([law[seen].sum() for law in laws], rel=1e-11), (
            threshold
        )


@pytest.mark.parametrize("tau", [1, 3, 6])
@pytest.mark.parametrize("k", [2, 3, 10])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_fast_samples_real_reports_and_exact_rates_agree(protocol, k, tau):
    m = Chained(k, 1.7, 0.9, tau, protocol)
    for number, attack in enumerate((GUESS, TwoValueTest(1.0 + tau // 4))):
        assert least_p(attack, m, 10 * tau + number, real=15_000) > P_MIN, attack


def test_the_strongest_test_between_two_values_is_sampled_at_every_epsilon():
    for epsilon in np.arange(0.1, 10, 0.1):  # with k = 2 there is no third value, up to rounding
        m = make("L-GRR", k=2, epsilon=epsilon, first=epsilon / 2, tau=3)
        assert 0 <= TwoValueTest(1.0).sample(m, 10, True, rng(2)) <= 10


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_estimates_of_two_rounds_are_unbiased_and_the_permanent_noise_does_not_average_out(
    protocol,
):
    n, repeats, truth = 100, 1000, np.array([0.5, 0.3, 0.2, 0.0])
    values = np.tile(np.repeat(np.arange(4), (n * truth).astype(int)), repeats)
    for tau in (1, 8):
        m = Chained(4, 2.0, 1.0, tau, protocol)
        parts = zip(*(np.split(r, repeats) for r in m.perturb(values, rng(3))))
        assert (
            estimation_p([m.estimate(list(p)) for p in parts], truth, m.variance(n, truth)) > P_MIN
        )
    for frequency in (0.0, 0.3):
        limit = m.permanent.variance(n, frequency)
        assert limit < m.variance(n, frequency)
        assert Chained(4, 2.0, 1.0, 10**6, protocol).variance(n, frequency) == pytest.approx(
            limit, rel=1e-4
        )


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_an_honest_chain_is_not_flagged_however_often_it_is_observed(protocol):
    for tau in (1, 100):
        result = audit(Chained(10, 1.0, 0.5, tau, protocol), "tight", trials=100_000)
        assert result.claim == 1.0 and not result.violated
        assert (
            tau == 1 or protocol == "GRR" or result.lower > 0.8
        )  # the permanent round shows through


@pytest.mark.parametrize(
    "given, message",
    [
        ({"first": 2.0}, r"first must be a number in \[1e-06, 2\), got 2.0"),
        ({"first": 2.5}, r"first must be a number in \[1e-06, 2\), got 2.5"),
        ({"first": 0}, r"first must be a number in \[1e-06, 2\), got 0"),
        ({"first": math.nan}, r"first must be a number in \[1e-06, 2\), got nan"),
        ({"first": "1"}, r"first must be a number in"),
        ({"tau": 0}, r"tau must be an integer in \[1, 1000000\], got 0"),
        ({"tau": 1.5}, r"tau must be an integer in \[1, 1000000\], got 1.5"),
        ({"protocol": "UE"}, "protocol must be one of SUE, OSUE, OUE, GRR, got 'UE'"),
        (
            {"protocol": "OUE", "first": 1.7},
            r"first must be a number in \[1e-06, 1.66001\), got 1.7",
        ),
        ({"k": 1}, "k must be an integer in"),
        ({"epsilon": math.inf}, "epsilon must be a number in"),
    ],
)
def test_bad_parameters_of_a_chain_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        Chained(**({"k": 5, "epsilon": 2.0, "first": 1.0} | given))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_chain_refuses_a_wrong_number_of_rounds(protocol):
    m = Chained(5, 2.0, 1.0, 3, protocol)
    with pytest.raises(ValueError, match=f"reports of L-{protocol} must have 3 rounds, got 2"):
        m.estimate(m.perturb([0, 1], rng())[:2])


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_chain_is_made_by_its_name(protocol):
    m = make(f"L-{protocol}", k=5, epsilon=2.0, first=1.0, tau=3)
    assert m == Chained(5, 2.0, 1.0, 3, protocol) and m.name == f"L-{protocol}"
    assert make(m.name, k=5, epsilon=2.0, first=1.0).tau == 1 and m.parameters["first"] == 1.0


# --- buckets --------------------------------------------------------------------------------------


def test_exact_rates_equal_the_vector_of_dbitflip():
    assert GUESS.rates(BucketFlip(24, 2.0, 12, 4)) == pytest.approx(
        (0.0903041078, 0.0372450811), abs=0.501e-10
    )


def bucket_reports(m):
    """All reports, and their laws under the first and the last value."""
    reports, laws = [], [[], []]
    for chosen in itertools.combinations(range(m.buckets), m.bits):
        for bits in itertools.product([0, 1], repeat=m.bits):
            report = np.full(m.buckets, -1)
            report[list(chosen)] = bits
            reports.append(report)
            for law, own in zip(laws, (0, m.buckets - 1)):
                rates = [m.p if bucket == own else m.q for bucket in chosen]
                law.append(
                    math.prod(r if b else 1 - r for r, b in zip(rates, bits))
                    / math.comb(m.buckets, m.bits)
                )
    return np.array(reports), np.array(laws)


TINY = [
    (2, 1.0, 2, 1),
    (2, 1.0, 2, 2),
    (6, 0.7, 3, 2),
    (4, 2.0, 4, 3),
    (12, 3.0, 4, 1),
    (9, 1.5, 3, 3),
]
TINY = [BucketFlip(*given) for given in TINY]


@pytest.mark.parametrize("m", TINY, ids=str)
def test_rates_on_buckets_equal_the_enumeration_of_all_reports(m):
    reports, laws = bucket_reports(m)
    ones = reports == 1
    chosen = np.where(ones.any(axis=1, keepdims=True), ones, True)
    named = chosen[:, 0] / chosen.sum(axis=1) / m.size
    assert GUESS.rates(m) == pytest.approx(laws @ named, rel=1e-12)
    seen = TIGHT.accepts(m, reports, (0, m.k - 1))
    assert TIGHT.rates(m) == pytest.approx(laws @ seen, rel=1e-12)
    assert np.abs(np.log(laws[0] / laws[1])).max() == pytest.approx(
        m.epsilon * (1 if m.bits > 1 else 0.5), rel=1e-12
    )


@pytest.mark.parametrize(
    "m", [*TINY, BucketFlip(24, 2.0, 12, 4), BucketFlip(100, 1.0, 100, 30)], ids=str
)
def test_fast_samples_real_reports_and_exact_rates_on_buckets_agree(m):
    for number, attack in enumerate((GUESS, TIGHT)):
        assert least_p(attack, m, 90 + number, real=30_000) > P_MIN, attack


@pytest.mark.parametrize("attack", ["guess", "tight"])
def test_two_values_of_one_bucket_are_refused_because_nothing_tells_them_apart(attack):
    m = BucketFlip(24, 2.0, 12, 4)
    for pair in ((0, 1), (23, 22)):
        with pytest.raises(
            ValueError, match="pair must lie in two different buckets of 2 values, got"
        ):
            audit(m, attack, pair=pair, trials=1000)
    near = audit(m, attack, pair=(1, 2), trials=20_000, faithful=True)
    for side, rate in zip(("tp", "fp"), attacks.make(attack).rates(m)):
        assert binomial_p(near.counts[side], 20_000, rate) > P_MIN


def test_bucket_reports_follow_their_whole_law():
    m, n = BucketFlip(6, 1.0, 3, 2), 60_000
    reports, laws = bucket_reports(m)
    found = (m.perturb(np.full(n, 1), rng(5)) + 1) @ [9, 3, 1]
    codes = (reports + 1) @ [9, 3, 1]
    counts = [np.count_nonzero(found == code) for code in codes]
    assert sum(counts) == n and chi_square_p(counts, laws[0]) > P_MIN


@pytest.mark.parametrize("bits", [1, 2, 4])
@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_bucket_estimates_are_unbiased_and_vary_as_their_formula_says(bits, epsilon):
    m, n, repeats = BucketFlip(8, epsilon, 4, bits), 400, 1000
    truth = np.array([0.5, 0.3, 0.2, 0.0])
    users = np.repeat(np.arange(8), np.rint(np.repeat(truth / 2, 2) * n).astype(int))
    values = np.tile(users, repeats)  # the same users every time
    estimates = [m.estimate(part) for part in np.split(m.perturb(values, rng(7)), repeats)]
    assert estimation_p(estimates, truth, m.variance(n, truth)) > P_MIN


def test_bucket_estimates_of_given_users_vary_as_those_of_every_other_mechanism():
    # if all buckets are sent, each is a bit of SUE on two values: same variance for the same users
    assert BucketFlip(4, 4.0, 4, 4).variance(100) == pytest.approx(
        SUE(4, 4.0).variance(100), rel=1e-12
    )
    assert BucketFlip(4, 4.0, 4, 4).variance(100, 0.5) == pytest.approx(
        SUE(4, 4.0).variance(100, 0.5), rel=1e-12
    )


@pytest.mark.parametrize(
    "given, message",
    [
        ({"buckets": 5}, "buckets must divide k = 24, got 5"),
        ({"buckets": 1}, r"buckets must be an integer in \[2, 24\], got 1"),
        ({"buckets": 25}, r"buckets must be an integer in \[2, 24\], got 25"),
        ({"buckets": 12.0}, r"buckets must be an integer in"),
        ({"bits": 0}, r"bits must be an integer in \[1, 12\], got 0"),
        ({"bits": 13}, r"bits must be an integer in \[1, 12\], got 13"),
        ({"epsilon": 0}, "epsilon must be a number in"),
    ],
)
def test_bad_parameters_of_buckets_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        BucketFlip(**({"k": 24, "epsilon": 2.0, "buckets": 12, "bits": 4} | given))


@pytest.mark.parametrize(
    "reports",
    [
        [[0, 1]],
        [0, 1, 0],
        np.zeros((0, 3), np.int8),
        [[0, 1, 7]],
        [[0, 1, -2]],
        [[0, 1, 1]],
        [[-1, -1, 1]],
    ],
)
def test_bucket_reports_of_a_wrong_shape_or_range_are_refused(reports):
    with pytest.raises(ValueError, match="reports of dBitFlipPM"):
        BucketFlip(6, 1.0, 3, 2).estimate(reports)


# --- collections of what is already a collection --------------------------------------------------


@pytest.mark.parametrize("memoise", [False, True])
@pytest.mark.parametrize(
    "inner",
    [BucketFlip(6, 1.0, 3, 2), RSFD(6, 2, 1.0), Chained(6, 2.0, 1.0, 2), Repeated(SUE(6, 1.0), 2)],
    ids=str,
)
def test_only_a_single_report_on_one_attribute_is_repeated(inner, memoise):
    with pytest.raises(
        ValueError, match="mechanism must send one report about one attribute to be repeated, got"
    ):
        Repeated(inner, 2, memoise)


@pytest.mark.parametrize("label", ["LHO", "FaultySUE", "AGRR", "ASUE", "ABLH", "AOLH"])
def test_the_other_protocols_can_be_repeated_too(label):
    m = Repeated(build(label, 5, 1.0), 3)
    assert expected(m) is not None
    for number, attack in enumerate((GUESS, TwoValueTest(1.0))):
        assert least_p(attack, m, 8 + number, real=15_000) > P_MIN
