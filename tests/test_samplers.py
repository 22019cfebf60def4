"""The fast sampler itself: what 32 bits decide for certain, and what is left to more digits.

Accepted counts are compared with binomial laws by two-sided tests at 1e-6 in total; seeds are fixed, so a correct
package fails with probability below 1e-5 in all tests together.
"""

import numpy as np
import pytest
from scipy import stats as law

from ldpkit import streams
from ldpkit.attacks import Guess
from ldpkit.kinds import laws, samplers
from ldpkit.mechanisms import SS, Repeated, make, unary

CHANCES = {
    "never": lambda u: 0.0 * u,
    "always": lambda u: 0.0 * u + 1,
    "rare": lambda u: 0.0 * u + 3e-5,
    "step": lambda u: (u >= 0.30001) * 1.0,
    "late": lambda u: u**300,
    "smooth": lambda u: 0.2 + 0.6 * u,
}


def generator(seed=1):
    return np.random.default_rng(seed)


def is_binomial(count, trials, rate):
    """Whether a count may be ``Binomial(trials, rate)`` at level 1e-6."""
    return min(law.binom.cdf(count, trials, rate), law.binom.sf(count - 1, trials, rate)) >= 5e-7


@pytest.mark.parametrize("name", CHANCES)
@pytest.mark.parametrize("trials", [1, 262_143])
def test_accepted_trials_are_binomial_with_the_mean_chance(name, trials):
    ranks = (np.arange(10**6) + 0.5) / 10**6
    found = samplers.Trials(CHANCES[name]).count(trials, generator())
    assert is_binomial(found, trials, CHANCES[name](ranks).mean())


@pytest.mark.parametrize("name", CHANCES)
def test_only_words_are_decided_whose_further_digits_cannot_matter(name):
    made, words = samplers.Trials(CHANCES[name]), streams.words(generator(), 50_000, 32)
    hits, left = samplers._decide(words, made.sure, made.never)
    cell, coin = (words >> 22).astype(float), (words & (2**22 - 1)).astype(float)
    surely = (coin + 1) / 2**22 <= CHANCES[name](cell / 1024)
    possibly = coin / 2**22 < CHANCES[name]((cell + 1) / 1024)
    assert hits == np.count_nonzero(surely)
    assert np.array_equal(left, words[possibly & ~surely])


def test_undecided_trials_get_more_digits(monkeypatch):
    """All words are the same undecided one: what is accepted comes from the further digits alone."""
    chance = (2**21 + 0.25) / 2**22
    monkeypatch.setattr(streams, "words", lambda rng, shape, bits: np.full(shape, 2**21, np.uint32))
    assert is_binomial(samplers.Trials(lambda u: 0 * u + chance).count(40_000, generator()), 40_000, 0.25)


def test_steps_give_every_value_its_probability():
    mass, chance = np.array([0.5, 0.2, 0.3]), np.array([0.4, 0.1, 0.9])
    assert np.array_equal(samplers.steps(mass, chance)(np.array([0, 0.19, 0.21, 0.69, 0.71, 1])), [0.1, 0.1, 0.4, 0.4, 0.9, 0.9])


@pytest.mark.parametrize("name, tau", [("laplace", 1), ("gaussian", 1), ("laplace", 2), ("laplace", 50)])
def test_quantiles_of_noise_invert_its_distribution_function(name, tau):
    quantile, log_cdf = laws.noise(name, tau)
    ranks = np.concatenate([np.geomspace(1e-12, 0.4, 30), np.linspace(0.45, 0.99, 9)])
    assert np.exp(log_cdf(quantile(ranks))) == pytest.approx(ranks, rel=1e-7)
    assert quantile(1 - ranks[30:]) == pytest.approx(-quantile(ranks[30:]), abs=1e-9)


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


def test_a_chance_just_below_zero_is_zero():
    """The law of repeated GRR gives win probabilities of 1 + 2e-16; the complement must not become a certain hit."""
    trials = samplers.Trials(samplers.steps(np.array([0.5, 0.5]), np.array([-2.3e-16, 1e-3])))
    assert (trials.sure <= trials.never).all() and trials.never.max() <= 2**22
    # 10^6 trials of chance 5e-4: 500 +- 22; false alarm below 1e-6
    assert abs(trials.count(10**6, np.random.default_rng(1)) - 500) < 110


@pytest.mark.parametrize(("name", "k", "epsilon", "tau"), [("GRR", 50, 0.5, 100), ("GRR", 2, 1.0, 250), ("SS", 2, 0.5, 100)])
@pytest.mark.parametrize("truth", [True, False])
def test_many_collections_follow_their_law(name, k, epsilon, tau, truth):
    mechanism = make(name, k=k, epsilon=epsilon, tau=tau)
    rate, n = Guess().rates(mechanism)[0 if truth else 1], 2 * 10**7
    found = Guess().sample(mechanism, n, truth, np.random.default_rng(1)) / n
    assert abs(found - rate) < 5 * np.sqrt(rate * (1 - rate) / n) + 1e-12  # false alarm 6e-7 per case


@pytest.mark.parametrize(
    "k, epsilon, tau", [(3, 0.1, 7), (25, 0.25, 16), (64, 0.3, 4), (65, 0.2, 3), (66, 1.5, 5), (130, 0.25, 9), (300, 5.0, 2)]
)
def test_subsets_kept_as_bits_of_words_win_as_often_as_real_subsets(k, epsilon, tau):
    """Two samples of one rate differ by more than 5.2 standard deviations once in 5 x 10^6 comparisons."""
    mechanism, guess, rng, drawn, real = Repeated(SS(k, epsilon), tau), Guess(), generator(), 40_000, 20_000
    inner = mechanism.inner
    for truth, value in ((True, 0), (False, k - 1)):
        words = samplers.subset_rounds(drawn, k, inner.omega, inner.p, tau, truth, streams.state(rng)) / drawn
        reports = mechanism.perturb(np.full(real, value), rng)
        whole = np.count_nonzero(guess.accepts(mechanism, reports, (0, k - 1), rng)) / real
        both = (words * drawn + whole * real) / (drawn + real)
        assert abs(words - whole) <= 5.2 * (both * (1 - both) * (1 / drawn + 1 / real)) ** 0.5


def test_the_bits_of_a_word_are_counted():
    for word in [0, 1, 2**63, 2**64 - 1, *generator().integers(0, 2**64, 100, dtype=np.uint64).tolist()]:
        assert samplers._ones(np.uint64(word)) == word.bit_count()
