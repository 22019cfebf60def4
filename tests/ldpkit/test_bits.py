"""Random bits, and the rounds of subsets that are simulated from them. Two-sided tests at 1e-6 and
fixed seeds: false alarm below 2e-4 in all tests together."""

import itertools
from fractions import Fraction

import numpy as np
from scipy import stats as law

from ldpkit.attacks import Guess
from ldpkit.mechanisms import SS, Repeated, unary
from ldpkit.reports import base, rounds
from ldpkit.rng import first_state


def generator(seed=1):
    return np.random.default_rng(seed)


def is_binomial(count, trials, rate):
    """Whether a count may be ``Binomial(trials, rate)`` at level 1e-6."""
    count = int(count)
    return min(law.binom.cdf(count, trials, rate), law.binom.sf(count - 1, trials, rate)) >= 5e-7


RATES = [0.0, 1e-13, 2.0**-20, 0.1, 1 / 3, 0.5, 0.7310585786300049, 1 - 2.0**-53]


def test_the_digits_of_a_rate_are_the_rate_and_the_bits_of_a_word_are_counted():
    for rate in RATES:
        digits = enumerate(unary._digits(rate), 1)
        assert sum(Fraction(int(digit), 2**place) for place, digit in digits) == Fraction(rate)
    words = generator().integers(0, 2**64, 100, dtype=np.uint64).tolist()
    for word in [0, 1, 2**63, 2**64 - 1, *words]:
        assert base.ones(np.uint64(word)) == word.bit_count()


def test_bits_have_their_rates_and_know_nothing_of_each_other():
    """Places that share a random word must be as independent as those that do not."""
    n, own = 40_000, 0.3
    for rate, k in itertools.product(RATES, [1, 7, 64, 130]):
        bits = unary._bits(np.where(np.arange(n) % 2, 0, -1), k, own, rate, generator())
        assert bits.shape == (n, k) and bits.max() <= 1, (rate, k)
        assert is_binomial(bits[1::2, 0].sum(), n // 2, own), (rate, k)
        assert is_binomial(bits[::2].sum(), n // 2 * k, rate), (rate, k)
        flat = bits[:, 1:].ravel() if k > 1 else bits[::2].ravel()
        for apart in (1, 8, 64):  # in pairs without a common place
            pairs = flat[: flat.size // (2 * apart) * 2 * apart].reshape(-1, 2, apart).all(axis=1)
            assert is_binomial(pairs.sum(), pairs.size, rate**2), (rate, k, apart)


def test_subsets_kept_as_bits_of_words_win_as_often_as_real_subsets():
    """Samples of one rate differ by 5.2 standard deviations once in 5 x 10^6 comparisons."""
    rows = [(3, 0.1, 7), (25, 0.25, 16), (64, 0.3, 4), (65, 0.2, 3), (66, 1.5, 5), (130, 0.25, 9), (300, 5.0, 2)]  # fmt: skip
    drawn, real = 20_000, 10_000
    for k, epsilon, tau in rows:
        inner, rng = SS(k, epsilon), generator()
        mechanism = Repeated(inner, tau)
        for truth, value in ((True, 0), (False, k - 1)):
            given = (drawn, k, inner.omega, inner.p, tau, truth, first_state(rng))
            words = rounds.rounds_won(*given)
            reports = mechanism.perturb(np.full(real, value), rng)
            whole = np.count_nonzero(Guess().accepts(mechanism, reports, (0, k - 1), rng))
            both = (words + whole) / (drawn + real)
            sd = (both * (1 - both) * (1 / drawn + 1 / real)) ** 0.5
            assert abs(words / drawn - whole / real) <= 5.2 * sd, (k, epsilon, tau, truth)


def test_a_place_is_picked_as_from_a_list_of_all_ones():
    sizes, rates = [1, 2, 3, 7, 8, 63, 64, 65, 100, 129, 1000], [0.0, 0.01, 0.3, 1.0]
    for k, rate, kind in itertools.product(sizes, rates, [bool, np.uint8, float]):
        bits = generator(3).random((200, k)) < rate
        bits[::7] = False
        rng, same = generator(), generator()
        listed = [np.flatnonzero(row) if row.any() else np.arange(k) for row in bits]
        wanted = [places[int(same.random() * places.size)] for places in listed]
        assert base.pick(bits.astype(kind), rng.random(200)).tolist() == wanted, (k, rate, kind)
