"""Protocols that released packages bring: numbers of their laws that were found by other means, and
fewer than 50 p-values of reports against `chance.P_MIN`."""

import itertools
import math

import numpy as np
import pytest
from chance import P_MIN, chi_square_p
from pytest import approx
from scipy import integrate

from ldpkit import audit
from ldpkit.attacks import Guess, TwoValueTest
from ldpkit.beyond.numeric import Ends, Mixed
from ldpkit.mechanisms import HCMS, HM, PM, RAPPOR, SW, Duchi, Hybrid, Repeated
from ldpkit.testing import check_mechanism

GUESS, TIGHT = Guess(), TwoValueTest()


def rng(*seed):
    return np.random.default_rng([20, *seed])


def test_events_have_the_rates_that_were_found_by_quadrature():
    """To the five digits that were written down."""
    rows = [(PM(1.0), (1, -1), (0.62246, 0.22899)), (Duchi(1.0), (1, -1), (0.73106, 0.26894)),
            (Hybrid(1.0), (1, -1), (0.68833, 0.25322)), (SW(1.0), (0, 1), (0.58198, 0.21410))]  # fmt: skip
    for m, pair, rates in rows:
        for order in (pair, pair[::-1]):
            assert TIGHT.rates(m, order) == approx(rates, abs=5.1e-6)
            assert m.report_type.loss(order) == approx(1, rel=1e-12)
    # the farthest inputs attain the whole epsilon
    for epsilon, (m, *_) in itertools.product([1e-6, 0.05, 0.609, 0.61, 2.0, 8.0], rows):
        first, second = TIGHT.rates(type(m)(epsilon))
        assert math.log(first / second) == approx(epsilon, rel=1e-9), m
    # half the length of a square wave, as its authors say; digits are lost where epsilon is small
    for epsilon in [0.3, 0.5, 1.0, 5.0, 20.0]:
        grown = math.exp(epsilon)
        b = (epsilon * grown - grown + 1) / (2 * grown * (grown - 1 - epsilon))
        assert SW(epsilon).b == approx(b, rel=1e-12)
    assert 0 < SW(1e-6).b < 0.5 and 0.5 - SW(1e-6).b == approx(1e-6 / 3, rel=1e-5)


def density(m, value):
    """Density of the reports that are spread, its jumps, and the atoms with their masses."""
    kind, mixed = m.report_type, isinstance(m.report_type, Mixed)
    part, ends = (kind.part, kind.ends) if mixed else (kind, kind)
    share = kind.share if mixed else float(not isinstance(kind, Ends))
    atoms = {}
    if isinstance(ends, Ends):
        atoms = {end * ends.bound: (1 - share) * ends.chance(end * value) for end in (-1, 1)}
    if not share:
        return (lambda y: 0.0), [], atoms
    left = float(part.left(value))

    def spread(y):
        inside = part.inside(np.array([y]), value)[0]
        return share * part.density / (1 if inside else part.ratio)

    return spread, sorted({part.low, left, left + part.length, part.high}), atoms


def test_one_report_is_unbiased_with_the_stated_variance_by_integration():
    rows = [PM(0.7), Duchi(0.7), Hybrid(0.5), Hybrid(2.0), SW(0.7), SW(3.0)]
    for m, where in itertools.product(rows, [0.0, 0.3, 1.0]):
        value = m.low + where * (m.high - m.low)
        spread, at, atoms = density(m, value)

        def expected(f):
            total = sum(f(y) * mass for y, mass in atoms.items())
            for ends in itertools.pairwise(at):
                total += integrate.quad(lambda y: f(y) * spread(y), *ends, epsabs=1e-13)[0]
            return total

        assert expected(lambda y: 1.0) == approx(1, abs=1e-9), (m, where)
        assert expected(lambda y: m.estimate([y])) == approx(value, abs=1e-8)
        square = expected(lambda y: (m.estimate([y]) - value) ** 2)
        assert m.variance(1, value) == approx(square, rel=1e-8)
        assert m.variance(7, np.array([value]))[0] == approx(square / 7, rel=1e-8)


def test_the_coin_of_the_hybrid_mechanism_makes_its_largest_variance_the_least():
    for epsilon in [0.4, 0.6, 0.62, 1.5, 4.0]:
        inputs = np.linspace(-1, 1, 21)
        one, two = PM(epsilon).variance(1, inputs), Duchi(epsilon).variance(1, inputs)
        worst = [(a * one + (1 - a) * two).max() for a in np.linspace(0, 1, 1001)]
        found = Hybrid(epsilon).variance(1, inputs)
        assert found.max() <= min(worst) * (1 + 1e-9), epsilon
        if Hybrid(epsilon).share:
            assert found == approx(found[0], rel=1e-12), epsilon  # that of all inputs is the same


def test_reports_of_numbers_follow_their_density_and_their_atoms():
    n = 60_000
    for value in [-0.8, 0.5]:
        m = Hybrid(1.0)
        (spread, _, atoms), part = density(m, value), m.report_type.part
        found = m.perturb(np.full(n, value), rng(1))
        jumps = part.left(value) + np.array([0, part.length])
        edges = np.sort([*np.linspace(part.low, part.high, 31), *jumps])
        law = [spread((a + b) / 2) * (b - a) for a, b in itertools.pairwise(edges)]
        seen, _ = np.histogram(found[np.abs(found) != m.report_type.ends.bound], edges)
        seen = [*seen, *(int((found == y).sum()) for y in atoms)]
        assert chi_square_p(np.array(seen), np.array([*law, *atoms.values()])) > P_MIN, value
    for value in [0.0, 0.37, 1.0]:
        m = SW(0.8)
        jumps = m.report_type.left(value) + np.array([0, m.report_type.length])
        edges = [*np.linspace(m.report_type.low, m.report_type.high, 31), *jumps]
        edges = np.unique(np.clip(edges, m.report_type.low, m.report_type.high))
        middle = (edges[1:] + edges[:-1]) / 2
        law = np.where(np.abs(middle - value) <= m.b, m.p, m.q) * np.diff(edges)
        seen, wide = np.histogram(m.perturb(np.full(n, value), rng(2)), edges)[0], law > 1e-6
        assert chi_square_p(seen[wide], law[wide]) > P_MIN, value  # rounded ends lie side by side


def test_only_the_two_ends_attain_the_budget_of_duchis_mechanism():
    m, hybrid = Duchi(1.0), Hybrid(1.0)
    assert m.report_type.loss((1, -1)) == approx(1) and m.report_type.loss((1, -0.5)) < 0.9
    wanted = 0.5 + 0.1 / m.bound, 0.5 - 0.2 / m.bound
    assert TIGHT.rates(m, (0.2, -0.4)) == approx(wanted, rel=1e-12)
    assert hybrid.report_type.ends_count((-1, 1)) and not hybrid.report_type.ends_count((-1, 0.5))
    first, second = TIGHT.rates(hybrid, (-1, 0.5))  # the piecewise reports alone
    assert first == approx(hybrid.share * TIGHT.rates(PM(1.0), (-1, 0.5))[0], rel=1e-12)
    assert math.log(first / second) == approx(1, rel=1e-12)
    assert isinstance(Hybrid(0.6).report_type, Ends) and isinstance(Hybrid(0.61).report_type, Mixed)
    # an end that differs in its last digits is refused, and not taken for a number between: the
    # paper's own formula for the end rounds to another number at epsilon = 2
    for epsilon in [0.7, 2.0, 5.0]:
        m = Hybrid(epsilon)
        end = m.report_type.ends.bound
        assert m.read([end, -end, np.nextafter(end, 0) - 1e-9]).size == 3
        for wrong in (np.nextafter(end, 9), -np.nextafter(end, 0), end * (1 + 2**-51)):
            with pytest.raises(ValueError, match="where they are an end"):
                m.read([end, wrong])


def test_real_reports_certify_nearly_all_of_what_is_claimed():
    """Many reports leave a bound within a tenth of the claim, as the law says of these events."""
    rows = [(m, 50_000) for m in (Duchi(2.0), Hybrid(2.0), SW(2.0))]
    for m, trials in [*rows, (HM(10, 2.0, 2), 100_000), (HCMS(10, 2.0), 100_000)]:
        found = audit(m, "tight", trials=trials, seed=1, faithful=True)
        assert 0.9 * 2 < found.lower <= 2 and found.status == "none found", m
    # the promises of a mechanism hold between the ends too
    for m in [Duchi(0.2), Duchi(5.0), Hybrid(0.5), Hybrid(4.0), SW(0.2), SW(5.0)]:
        inputs = [m.low + x * (m.high - m.low) for x in (0, 0.4, 0.65, 0.9995, 1)]
        assert check_mechanism(m, inputs=inputs).outcomes["client"] == "passed", m


def test_a_hadamard_sketch_attains_what_was_enumerated_for_distinct_cells():
    """(1-c) s/2 and (1-c)(1-s)/2, with the collisions of the functions that are used."""
    m = HCMS(10, 1.0)
    apart = np.mean(m.report_type.table[:, 0] != m.report_type.table[:, 9])
    assert 1 - apart == approx(1 / 64, abs=0.03)  # four deviations of 256 functions
    assert np.divide(TIGHT.rates(m), apart) == approx((0.36553, 0.13447), abs=5.1e-6)
    assert (m.p - m.q) / (m.p - 0.5) == approx(63 / 64)


def test_several_indices_are_local_hashing_without_a_hash():
    """Two values meet with 1/g, as OLH's do, so the variance is OLH's."""
    m = HM(64, math.log(3), 2)
    assert (m.p, m.q) == approx((0.5, 0.25)) and m.variance(1) == approx(3)
    assert TIGHT.rates(m) == approx((0.75 * 0.5, 0.75 / 6), rel=1e-12)
    assert HM(65, 1.0).order == 128 and HM(64, 1.0).order == 64
    assert GUESS.rates(HM(4096, 1.0, 2)) is None and HM(10**6, 1.0).report_type.loss((0, 1)) > 0.999
    assert GUESS.rates(Repeated(HM(4, 1.0), 2)) is None  # supports are no independent counts


def test_the_strongest_event_of_rappor_has_what_was_enumerated_for_disjoint_bits():
    """f = 1/2, which is 4 ln 3 for two hash functions; to the digits that were written down."""
    rows = [({}, 4.3944, (0.31641, 0.00391)), ({"keep": 0.75, "flip": 0.5}, 1.07429, (0.09047, 0.03090)),
        ({"h": 1}, 2.19722, (0.75**2, 0.25**2))]  # fmt: skip
    for given, loss, rates in rows:
        h = given.get("h", 2)
        m = RAPPOR(100, 2 * h * math.log(3), **{"m": 1024, "h": h, "cohorts": 1} | given)
        assert m.f == approx(0.5) and m.first == approx(loss, abs=5.1e-6 * 10)
        assert m.report_type.loss((0, 99)) == approx(m.first, rel=1e-11)
        assert TwoValueTest(m.report_type.loss((0, 99))).rates(m) == approx(rates, abs=5.1e-6)


def test_real_pairs_share_bits_and_lose_what_their_own_bits_say():
    """2 (h - b) ln((2 - f) / f) with b shared bits, in the cohort that shares fewest."""
    m = RAPPOR(40, 3.0, 8, 2, 1)
    bit = math.log((2 - m.f) / m.f)
    found = set()
    for pair in itertools.combinations(range(40), 2):
        one, two = ({*map(int, m.report_type.places[0, :, u])} for u in pair)
        assert m.report_type.loss(pair) == approx(len(one ^ two) * bit, abs=1e-11)
        found.add((len(one), len(two), len(one & two)))
    assert {(2, 2, 2), (2, 2, 1), (2, 2, 0), (1, 2, 1), (1, 1, 0)} <= found  # some have one bit
    assert 4 * bit == approx(m.epsilon) == approx(m.first)
    many = RAPPOR(40, 3.0, 8, 2, 64)  # the fullest cohorts decide
    losses = [len({*map(int, one)} ^ {*map(int, two)}) * bit
              for one, two in zip(many.report_type.places[:, :, 0], many.report_type.places[:, :, 5])]  # fmt: skip
    assert many.report_type.loss((0, 5)) == approx(max(losses), abs=1e-11)
    event = TwoValueTest(many.report_type.loss((0, 5)))
    share = np.mean(np.isclose(losses, max(losses)))
    kept = 1 - many.f / 2
    assert event.rates(many, (0, 5)) == approx((share * kept**4, share * (1 - kept) ** 4))


def test_the_chances_that_all_bits_are_set_are_means_over_random_hash_functions():
    """Over 2^14 cohorts: |z| < 5.5 has a false alarm of 4e-8 each."""
    for m, h in [(4, 1), (8, 3), (5, 6)]:
        one = RAPPOR(2, 2.0, m, h, 2**14, 0.9, 0.1)
        kind = one.report_type
        own, other = kind.pattern(0), kind.pattern(1)
        rates = np.where(own, kind.own, kind.other)
        for chance, bits in ((one.p, own), (one.q, other)):
            seen = np.where(bits, rates, 1).prod(axis=1)
            error = abs(seen.mean() - chance)
            assert error <= 5.5 * seen.std() / 2**7 + 1e-12, (m, h)
