"""Integer noise: its samplers way by way, its rates and its curve by sums of 60 digits, and fewer
than 50 p-values of reports against `chance.P_MIN`."""

import itertools
import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from chance import P_MIN, chi_square_p
from gaussian_accounting import gdp_epsilon
from pytest import approx

from ldpkit.attacks import Guess, TwoValueTest
from ldpkit.beyond import discrete
from ldpkit.mechanisms import DiscreteGaussian, DiscreteLaplace

GUESS, TIGHT = Guess(), TwoValueTest()
LAPLACE = [DiscreteLaplace(1.0), DiscreteLaplace(0.3, 4), DiscreteLaplace(2.5, 3)]
GAUSSIAN = [DiscreteGaussian(0.5), DiscreteGaussian(1.0, 2), DiscreteGaussian(3.3, 5, 1e-3)]


def masses(m, reach):
    """Probabilities of the noise -reach..reach, by a sum of 60 digits with a far wider range."""
    with localcontext(prec=60):
        if isinstance(m, DiscreteLaplace):
            rate = Decimal(m.rate.numerator) / Decimal(m.rate.denominator)
            weights = [(-rate * abs(j)).exp() for j in range(-reach, reach + 1)]
            total = (1 + (-rate).exp()) / (1 - (-rate).exp())
        else:
            square = 2 * (Decimal(m.ratio.numerator) / Decimal(m.ratio.denominator)) ** 2
            weights = [(-Decimal(j * j) / square).exp() for j in range(-reach, reach + 1)]
            total = sum(weights)
        return [weight / total for weight in weights]


class Ways:
    """A tape of coins: every way through a sampler, with its probability."""

    def __init__(self, least):
        self.least, self.open = least, 0.0

    def fork(self, shares):
        place = len(self.path)
        if place == len(self.tape):
            self.tape.append([0, len(shares)])
        value = self.tape[place][0]
        self.path.append(value)
        self.mass *= shares[value]
        if self.mass < self.least:
            raise OverflowError
        return value

    def below(self, n, state):
        self.signs += n == 2
        if self.signs == 2:  # a second round, which is like the first
            raise StopIteration
        return self.fork([1 / n] * int(n)), state

    def lasts(self, top, bottom, half, state):
        """The coin as a whole, once it is known to be right."""
        x = top / bottom
        stays = math.exp(-x * x / 2 if half else -x)
        return bool(self.fork([1 - stays, stays])), state

    def of(self, sampler, *given, rounds=False):
        """Mass of each outcome in a first round, if there are any; `open` is of longer ways."""
        found, self.tape, self.open = {}, [], 0.0
        while True:
            self.path, self.mass, self.signs = [], 1.0, 0 if rounds else -math.inf
            try:
                outcome = sampler(*given, None)
                outcome = outcome[0] if isinstance(outcome, tuple) else int(outcome[0])
                found[outcome] = found.get(outcome, 0.0) + self.mass
            except StopIteration:
                pass
            except OverflowError:
                self.open += self.mass
            del self.tape[len(self.path) :]
            while self.tape and self.tape[-1][0] + 1 == self.tape[-1][1]:
                self.tape.pop()
            if not self.tape:
                return found
            self.tape[-1][0] += 1


@pytest.fixture
def plain(monkeypatch):
    """The samplers as Python functions, whose coins are a tape that `Ways` turns."""
    for name in ("lasts", "laplace_noise", "gaussian_noise"):
        monkeypatch.setattr(discrete, name, getattr(discrete, name).__wrapped__)

    def ways(least, *coins):
        tape = Ways(least)
        for coin in coins:
            monkeypatch.setattr(discrete, coin, getattr(tape, coin))
        return tape

    return ways


@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize(("top", "bottom"), [(0, 1), (1, 1), (1, 2), (2, 2)])
def test_a_coin_has_exactly_its_probability(plain, top, bottom, half):
    ways, x = plain(1e-6, "below"), top / bottom
    found = ways.of(discrete.lasts, top, bottom, half)
    wanted = math.exp(-x * x / 2 if half else -x)
    assert found.get(True, 0.0) <= wanted + 1e-12 <= found.get(True, 0.0) + ways.open + 2e-12
    assert ways.open < 1e-3 and sum(found.values()) + ways.open == approx(1, abs=1e-12)


@pytest.mark.parametrize(
    "m",
    [DiscreteLaplace(1.0), DiscreteLaplace(2.0), DiscreteLaplace(1.0, 3),
     DiscreteGaussian(0.5), DiscreteGaussian(1.0), DiscreteGaussian(2.5)], ids=str
)  # fmt: skip
def test_every_way_through_a_sampler_is_weighed_as_stated(plain, m):
    ways, gaussian = plain(1e-6, "below", "lasts"), isinstance(m, DiscreteGaussian)
    sampler = discrete.gaussian_noise if gaussian else discrete.laplace_noise
    ratio = m.ratio if gaussian else 1 / m.rate
    found = ways.of(sampler, 1, ratio.numerator, ratio.denominator, rounds=True)
    exact, total = masses(m, 40), sum(found.values())
    for j in range(-5, 6):
        low, high = (found.get(j, 0.0) + more for more in (0, ways.open))
        assert low / (total + ways.open) <= float(exact[40 + j]) + 1e-12 <= high / total + 2e-12
    assert ways.open < 0.01 and total > 0.2


def test_many_reports_follow_the_distribution():
    for i, m in enumerate([*LAPLACE, *GAUSSIAN, DiscreteGaussian(2000.3, 5)]):
        reach = math.ceil(4 * m._spread**0.5)
        noise = m.perturb(np.zeros(300_000, int), np.random.default_rng([36, i]))
        ends = [-math.inf, *range(-reach, reach, 1 + reach // 25), math.inf]
        counts = [np.count_nonzero((noise >= a) & (noise < b)) for a, b in itertools.pairwise(ends)]
        wanted = [m.report_type.between(a, b) for a, b in itertools.pairwise(ends)]
        assert sum(wanted) == approx(1, abs=1e-12)
        assert chi_square_p(counts, wanted) > P_MIN, m


def test_rates_are_sums_over_all_reports():
    for m in [*LAPLACE, *GAUSSIAN]:
        k, reach = m.sensitivity + 1, 400
        law = np.array([float(x) for x in masses(m, reach)])
        places = np.arange(-reach, reach + 1)
        for pair in itertools.permutations(range(k), 2):
            for value, rate in zip(pair, GUESS.rates(m, pair)):
                named = np.clip(places + value, 0, k - 1) == pair[0]
                assert rate == approx(law[named].sum(), rel=1e-9)
            tight = TIGHT.choose(m, 1000, 0.005)
            for value, rate in zip(pair, tight.rates(m, pair)):
                event = tight.accepts(m, places + value, pair)
                assert rate == approx(law[event].sum(), rel=1e-9)


def test_the_largest_ratio_of_laplace_is_epsilon_between_the_ends():
    for m in LAPLACE:
        tpr, fpr = TIGHT.rates(m)
        assert math.log(tpr / fpr) == approx(m.epsilon, rel=1e-9)
        assert m.report_type.loss((0, 1)) == approx(m.epsilon / m.sensitivity, rel=1e-9)
        assert float(m.rate * m.sensitivity) <= m.epsilon  # it is rounded down


def hockey(m, distance, epsilon):
    """The exact delta of two inputs by a sum of 60 digits."""
    reach = math.ceil(25 * m.sigma) + distance
    law = masses(m, reach)
    with localcontext(prec=60):
        grown = Decimal(epsilon).exp()
        ends = zip([0] * distance + law, law + [0] * distance)
        return sum(max(Decimal(0), far - grown * near) for far, near in ends)


@pytest.mark.parametrize("m", GAUSSIAN, ids=str)
def test_the_curve_is_above_the_exact_delta_but_hardly(m):
    for epsilon in (0.0, 0.01, 0.5, 1.0, 2.0, 5.0):
        exact = float(hockey(m, m.sensitivity, epsilon))
        assert exact <= m.curve(epsilon) <= exact * (1 + 2e-9) + 2e-12
        nearer = [float(hockey(m, d, epsilon)) for d in range(m.sensitivity)]
        assert max(nearer) <= exact and nearer == sorted(nearer)
    assert m.curve(m.epsilon) <= m.delta < m.curve(m.epsilon - 1e-6)
    assert m.curve(1e5) == 1e-300  # it is never 0, because every ratio occurs


def test_epsilon_of_much_noise_is_the_smallest_one():
    m = DiscreteGaussian(2.0**16)
    assert m.epsilon == 1e-6 and m.curve(0) < m.delta
    # much noise is nearly that of real numbers
    assert DiscreteGaussian(100.0).epsilon == approx(gdp_epsilon(0.01, 1e-5), rel=1e-4)
