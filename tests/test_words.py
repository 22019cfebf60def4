"""Random words, and the rounds of subsets that are simulated from them.

Counts are compared by two-sided tests at 1e-6; seeds are fixed, so a correct package fails with probability below
1e-5 in all tests together.
"""

import numpy as np
import pytest
from scipy import stats as law

from ldpkit import streams
from ldpkit.attacks import Guess
from ldpkit.kinds import subset
from ldpkit.mechanisms import SS, Repeated, unary


def generator(seed=1):
    return np.random.default_rng(seed)


def is_binomial(count, trials, rate):
    """Whether a count may be ``Binomial(trials, rate)`` at level 1e-6."""
    return min(law.binom.cdf(count, trials, rate), law.binom.sf(count - 1, trials, rate)) >= 5e-7


@pytest.mark.parametrize("bits", [16, 32])
def test_words_are_cut_from_the_same_stream_on_every_machine(bits):
    found, wide = streams.words(generator(), (3, 5), bits), generator().integers(0, 2**64, 8, dtype=np.uint64)
    pieces = [(int(word) >> shift) % 2**bits for word in wide for shift in range(0, 64, bits)]
    assert found.shape == (3, 5) and found.ravel().tolist() == pieces[:15]


def test_a_tie_in_the_first_digits_of_a_bit_is_decided_by_the_rest(monkeypatch):
    rate = (777 + 0.25) / 2**16
    monkeypatch.setattr(streams, "words", lambda rng, shape, bits: np.full(shape, 777, np.uint16))
    bits = unary._bits(np.zeros(4000, np.int64), 11, 1.0, rate, generator())
    assert (bits[:, 0] == 1).all() and is_binomial(bits[:, 1:].sum(), 40_000, 0.25)


@pytest.mark.parametrize(
    "k, epsilon, tau", [(3, 0.1, 7), (25, 0.25, 16), (64, 0.3, 4), (65, 0.2, 3), (66, 1.5, 5), (130, 0.25, 9), (300, 5.0, 2)]
)
def test_subsets_kept_as_bits_of_words_win_as_often_as_real_subsets(k, epsilon, tau):
    """Two samples of one rate differ by more than 5.2 standard deviations once in 5 x 10^6 comparisons."""
    mechanism, guess, rng, drawn, real = Repeated(SS(k, epsilon), tau), Guess(), generator(), 40_000, 20_000
    inner = mechanism.inner
    for truth, value in ((True, 0), (False, k - 1)):
        words = subset.rounds_won(drawn, k, inner.omega, inner.p, tau, truth, streams.state(rng)) / drawn
        reports = mechanism.perturb(np.full(real, value), rng)
        whole = np.count_nonzero(guess.accepts(mechanism, reports, (0, k - 1), rng)) / real
        both = (words * drawn + whole * real) / (drawn + real)
        assert abs(words - whole) <= 5.2 * (both * (1 - both) * (1 / drawn + 1 / real)) ** 0.5


def test_the_bits_of_a_word_are_counted():
    for word in [0, 1, 2**63, 2**64 - 1, *generator().integers(0, 2**64, 100, dtype=np.uint64).tolist()]:
        assert subset._ones(np.uint64(word)) == word.bit_count()
