"""Noise on a grid: the event by which doubles give values away, that it is gone, the exact laws by
enumeration. At most 100 p-values, each above `chance.P_MIN`."""

import itertools
import math
from decimal import Decimal, localcontext
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy
from chance import P_MIN, chi_square_p, rng, same_rate_p

from ldpkit import audit
from ldpkit.attacks import TwoValueTest
from ldpkit.guess_success import gaussian_success, grid_success, laplace_success
from ldpkit.mechanisms import AGM, GM, LDPSGD, SHE, PrivUnit, PrivUnitG, Repeated
from ldpkit.mechanisms import histogram as grid
from ldpkit.reports.numbers import Gaussian
from ldpkit.stats import epsilon_lower, tail_mass

ROOT = Path(__file__).parents[2]

import doubles  # noqa: E402
from clients import lattice  # noqa: E402

FINE, COARSE = 2.0**-20, 2.0**-10
VALID = tail_mass(0.01, "valid")


def fine_digits(mechanism, n, *seed):
    """How many of n reports about 1, and about 0, have digits below 2^-53 in the number of 0."""
    made = (mechanism.perturb(np.full(n, v), rng(*seed, v))[:, 0] for v in (1, 0))
    return [int(np.count_nonzero(lattice(y))) for y in made]


def test_a_sum_of_doubles_is_convicted_by_few_reports_and_its_grid_never():
    n = 3000  # 290, 86 and 110 are expected in the event, and 8 prove a delta of 1e-5 wrong
    for m in (SHE(2, 1.0), GM(2, 1.0, 1e-5), AGM(2, 1.0, 1e-5)):
        seen, never = fine_digits(m, n, 1)
        assert never == 0, m
        assert epsilon_lower(seen, never, n, m.delta, tail=VALID) > 1.5 * m.epsilon, m
        mended = type(m)(**m.parameters, grid=FINE)
        assert fine_digits(mended, 300_000, 2) == [0, 0], m
    seen, never = fine_digits(SHE(2, 1.0), 1000, 3)  # a thousand reports convict SHE
    assert never == 0 and epsilon_lower(seen, 0, 1000, tail=VALID) > 2


def test_noise_has_the_discrete_law():
    """In cells as fine as 400,000 draws allow; where they are single steps, every step counts."""
    for epsilon, step in (30.0, COARSE), (3.0, COARSE), (1.0, FINE), (1e-6, FINE):
        mechanism = SHE(2, epsilon, step)
        y = mechanism.perturb(np.zeros(400_000, int), rng(5, int(epsilon * 1e6)))
        steps = np.rint(np.stack([y[:, 0] - 1, y[:, 1]]).ravel() / step).astype(np.int64)
        fall, wide = step / mechanism.scale, max(1, round(mechanism.scale / step / 40))
        edges = wide * np.arange(-300, 301) - wide // 2
        below = np.where(  # P(noise < edge)
            edges > 0, 1 - np.exp(-fall * edges) / (1 + math.exp(-fall)),
            np.exp(fall * (edges - 1)) / (1 + math.exp(-fall)),
        )  # fmt: skip
        counts, _ = np.histogram(steps, [-(2**62), *edges, 2**62])
        assert chi_square_p(counts, np.diff([0, *below, 1])) > P_MIN, mechanism
        if wide == 1:
            assert chi_square_p([np.sum(steps == 0), np.sum(steps != 0)],
                                [math.tanh(fall / 2), 1 - math.tanh(fall / 2)]) > P_MIN  # fmt: skip
        folded = 2 * math.tanh(fall / 2) * np.exp(-fall * np.arange(8)) / -math.expm1(-8 * fall)
        folded[0] -= math.tanh(fall / 2)  # the last digits of its size; 0 has one sign
        assert chi_square_p(np.bincount(np.abs(steps) % 8, minlength=8), folded) > P_MIN, mechanism


def test_no_probability_of_the_sampler_falls_faster_than_the_claim_allows():
    """The table is read as the whole numbers that it holds; of the exponential an error of 2^-50 is
    granted, four times what C libraries leave."""
    for epsilon, step in itertools.product((1e-6, 0.01, 0.3, 1.0, 8.0, 30.0), (FINE, COARSE)):
        mechanism = SHE(2, epsilon, step)
        fall, exponent = math.frexp(step / mechanism.scale)
        ends, starts = grid._table(fall / 8)
        counts = np.diff([0, *(int(e) for e in ends), 2**64]).tolist()
        with localcontext(prec=50):
            c = Decimal(fall / 8)
            ideal = [(1 - (-c).exp()) * (-c * j).exp() * 2**64 for j in range(64)]
            ideal.append((-c * 64).exp() * 2**64)
            errors = [abs((Decimal(n) / one).ln()) for n, one in zip(counts, ideal)]
            blocks = math.ceil(1 / (step * 2 ** (-3 - exponent)) + 1)  # over a distance of 1
            most = 2 * max(errors[:64]) + (blocks // 64 + 1) * errors[64] + Decimal(2) ** -49
            assert most < Decimal(grid.SLACK) and min(counts) > 0, mechanism
            slope = Decimal(step / mechanism.scale) / Decimal(step)
            assert slope + most < Decimal(epsilon) / 2, mechanism
        assert -3 - exponent >= 3 and (starts[:-1] <= starts[1:]).all(), mechanism
        assert mechanism.report_type.loss((0, 1)) == pytest.approx(epsilon, rel=1e-7), mechanism
        assert mechanism.report_type.loss((0, 1)) < epsilon, mechanism


def test_the_event_of_the_optimal_test_spends_the_whole_budget_on_a_grid():
    for step in (FINE, COARSE):
        first, second = TwoValueTest().rates(SHE(5, 1.0, step))
        assert math.log(first / second) == pytest.approx(1, abs=1e-12)
        assert first > 0.25 and first == pytest.approx(0.25, rel=2 * step)


def test_the_guess_on_a_grid_is_that_of_all_grid_points():
    for scale, step in (0.1, 1 / 8), (1.0, 1 / 16), (3.0, 1 / 32):
        far, one = round(60 * scale / step), round(1 / step)  # the noise as far as it matters
        steps = np.arange(-far, far + 1)
        law = np.exp(-np.abs(steps) * step / scale)
        law /= law.sum()
        own = np.bincount(np.clip(steps + one, 0, one), law, minlength=one + 1)
        other = np.bincount(np.clip(steps, 0, one), law, minlength=one + 1)
        below = np.cumsum(other) - other
        two = own @ (below + other / 2)
        three = own @ (below**2 + below * other + other**2 / 3)
        assert grid_success(scale, 2, step) == pytest.approx(two, abs=1e-13), scale
        assert grid_success(scale, 3, step) == pytest.approx(three, abs=1e-13), scale


def test_rounded_gaussians_have_the_law_of_all_grid_points():
    for sigma, step in (0.2, 1 / 16), (1.0, 1 / 4), (2.5, 1 / 2):
        steps = np.arange(-round(12 * sigma / step), round(12 * sigma / step) + 1)
        law = np.diff(scipy.special.ndtr((np.append(steps, steps[-1] + 1) - 0.5) * step / sigma))
        below, one = np.cumsum(law) - law, round(1 / step)
        shifted = np.clip(np.searchsorted(steps, steps + one), 0, len(steps) - 1)
        inside = steps + one <= steps[-1]
        win = np.where(inside, below[shifted] + law[shifted] / 2, 1.0)
        three = np.where(inside, below[shifted] ** 2 + below[shifted] * law[shifted]
                         + law[shifted] ** 2 / 3, 1.0)  # fmt: skip
        assert gaussian_success(sigma, 2, grid=step) == pytest.approx(law @ win, abs=1e-12)
        assert gaussian_success(sigma, 3, grid=step) == pytest.approx(law @ three, abs=1e-12)
        difference = np.convolve(law, law[::-1])
        gaps = np.arange(len(difference)) - (len(law) - 1)
        for threshold in (-0.7, 0.0, 0.35, 1.9):
            found = Gaussian(2, sigma, step).score_rates(threshold, (0, 1))
            least = math.ceil(threshold * math.sqrt(2) * sigma / step)
            for rate, shift in zip(found, (one, -one)):
                assert rate == pytest.approx(difference[gaps + shift >= least].sum(), abs=1e-12)


def test_without_a_grid_the_laws_are_those_of_the_papers():
    plain = gaussian_success(2.0, 9)
    assert gaussian_success(2.0, 9, grid=0.0) == plain
    assert gaussian_success(2.0, 9, grid=1e-9) == pytest.approx(plain, abs=1e-15)
    assert grid_success(2.0, 9, FINE) == pytest.approx(laplace_success(2.0, 9), abs=1e-12)
    for mechanism in (SHE(4, 1.0), AGM(4, 1.0, 0.02)):
        assert "grid" not in mechanism.parameters
        mended = type(mechanism)(**mechanism.parameters, grid=FINE)
        assert mended.parameters == mechanism.parameters | {"grid": FINE}
        assert mended.variance(10) == pytest.approx(mechanism.variance(10), rel=1e-11)


def test_several_rounds_on_a_grid_are_audited_by_their_reports():
    for mechanism in (SHE(3, 1.0, FINE), AGM(3, 1.0, 0.02, FINE)):
        found = audit(Repeated(mechanism, 3), "tight", trials=20_000, seed=1)
        assert found.faithful and found.exact is None and found.status == "none found"


def test_what_rounding_leaves_is_stated_and_small():
    assert AGM(2, 1.0, 1e-5).residue == 1 and SHE(2, 1.0, FINE).delta == 0
    fine, coarse = (AGM(2, 1.0, 1e-5, step).residue for step in (FINE, COARSE))
    assert coarse * 2**10 == pytest.approx(fine) and 1e-9 < fine < 1e-6


def test_a_gradient_shows_in_the_digits_of_a_sum_and_not_on_the_grid():
    def digits(mechanism, seed):
        """Reports with fine digits in a number that is noise alone, and in one of a gradient."""
        gradients = np.zeros((2, n, 8))
        gradients[0, :, 1] = gradients[1, :, 0] = 1
        made = (mechanism.perturb(g, rng(seed, i))[:, 0] for i, g in enumerate(gradients))
        return [int(np.count_nonzero(lattice(y))) for y in made]

    n = 20_000
    for family in (PrivUnit, PrivUnitG):
        one, two = digits(family(8, 1.0), 1)
        assert epsilon_lower(one, two, n, tail=VALID) > 1.3, family
        assert digits(family(8, 1.0, grid=FINE), 2) == [0, 0], family
    # LDP-SGD draws the vector before it looks at the gradient, and then sends or negates it
    n = 40_000
    one, two = digits(LDPSGD(8, 1.0), 3)
    assert same_rate_p(one, n, two, n) > P_MIN and one > n / 3
    g = np.zeros((3, 8))
    g[:, 0] = 1, -1, 0.5
    reports = [np.abs(LDPSGD(8, 1.0).perturb(row[None], rng(4))) for row in g]
    assert (reports[0] == reports[1]).all() and (reports[0] == reports[2]).all()
    fine, coarse = (LDPSGD(8, 1.0, grid=step).perturb(g, rng(5)) for step in (None, COARSE))
    assert (coarse == np.rint(fine / COARSE) * COARSE).all()


def test_bad_steps_are_refused_and_the_command_line_knows_powers(call):
    for bad in (0.5, 2.0**-21, 3 * 2.0**-12, -FINE, math.nan, True, "2^-20"):
        with pytest.raises(ValueError, match=r"grid must be a (number|power)"):
            SHE(2, 1.0, bad)
    given = "rates --mechanism SHE --k 3 --epsilon 1 --grid"
    status, out, _ = call(f"{given} 2^-20 --attack tight")
    assert status == 0 and "9.5367431640625e-07" in out
    assert call(f"{given} 2**-10")[0] == 0 and "grid must be" in call(f"{given} 2^-30")[2]


def test_a_hundred_million_reports_on_the_grid_show_nothing_and_doubles_what_they_show_now():
    kept = pd.read_csv(ROOT / "data" / "results" / "float_digits.csv")
    cells = kept.set_index(["client", "sent", "input"])
    every = itertools.product(doubles.clients(), ("doubles", "grid"), (0, 1))
    assert set(cells.index) == {*every}
    assert (kept[kept["client"] != "PrivUnit"]["reports"] == 10**8).all()
    assert (kept[kept["sent"] == "grid"]["event"] == 0).all()
    n = 20_000
    for name, which in itertools.product(doubles.clients(), (0, 1)):
        now, row = doubles.counted(name, None, which, n, 8), cells.loc[name, "doubles", which]
        assert same_rate_p(now, n, int(row["event"]), int(row["reports"])) > P_MIN, (name, which)
        assert doubles.counted(name, FINE, which, n, 9) == 0
    one, two = (int(cells.loc["LDP-SGD", "doubles", which]["event"]) for which in (0, 1))
    assert abs(one - two) <= 5 * math.sqrt(2 * one * (1 - one / 10**8))  # missed once in 10^6
