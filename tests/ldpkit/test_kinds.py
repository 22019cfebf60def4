"""Kinds of report: one that nobody has heard of, and the protocols that were added as one file
each.

Real reports are judged by exact binomial tails, see `laws`: at most 200 p-values, each above 1e-4 /
2000, so correct code fails with probability below 1e-5. Laws are judged by enumeration in exact
arithmetic.
"""

import itertools
import math

import numpy as np
import pytest
from laws import P_MIN, binomial_p, chi_square_p, estimation_p
from pytest import approx
from speller import Speller, Spelt, Word

from ldpkit.attacks import ATTACKS, Guess, TwoValueTest
from ldpkit.auditors import audit
from ldpkit.kinds import Kind
from ldpkit.kinds.number import Interval
from ldpkit.mechanisms import CMS, HR, MECHANISMS, PM, FrequencyOracle, LocalRandomizer, make

GUESS, TIGHT = Guess(), TwoValueTest()


def rng(*seed):
    return np.random.default_rng(seed)


# --- a kind that nobody has heard of: the steps of "Adding a mechanism" ---------------------------


def test_an_attack_refuses_a_kind_it_cannot_read_and_names_both():
    for attack in ATTACKS:
        with pytest.raises(
            ValueError, match=f"attack {attack} cannot read the word reports of Speller"
        ):
            audit(Speller(4, 1.0), attack, trials=100)
        with pytest.raises(
            ValueError, match=f"attack {attack} cannot read the word reports of Speller"
        ):
            ATTACKS[attack].accepts(Speller(4, 1.0), np.array(["value 0"]), (0, 1), rng(1))


def test_what_an_audit_cannot_do_without_is_named():
    class Wide(Kind):
        name, read = "wide", Word.read

    class Loose(Speller):
        kind = property(lambda self: Wide())

    with pytest.raises(TypeError, match="Wide must say its `width`"):
        audit(Loose(4, 1.0), Spelt(), trials=10, pair=(0, 1))

    class Bare(LocalRandomizer):
        name, epsilon, kind, pair = "Bare", 1.0, Word(3), FrequencyOracle.pair
        perturb = Speller.perturb

    with pytest.raises(ValueError, match="mechanism must be a frozen dataclass, got <.*Bare"):
        audit(Bare(), Spelt(), trials=10)


def test_a_kind_without_a_law_is_audited_by_its_reports():
    speller, n = Speller(4, 2.0), 40_000
    found = audit(speller, Spelt(), trials=n, seed=1)
    keep = math.exp(2) / (math.exp(2) + 3)
    assert found.faithful and found.exact is None and found.pair == (0, 3)
    assert (
        min(
            binomial_p(found.counts["tp"], n, keep),
            binomial_p(found.counts["fp"], n, (1 - keep) / 3),
        )
        > P_MIN
    )
    assert 1.7 < found.lower < 2 and found.status == "none found"
    lying = audit(Speller(4, 2.0), Spelt(), trials=n, seed=1, delta=0.0)
    assert lying.lower == found.lower


# --- Hadamard response, count mean sketch, piecewise mechanism ------------------------------------


def test_the_tight_event_attains_the_whole_epsilon():
    for mechanism in [HR(2, 0.5), HR(9, 3.0), CMS(9, 3.0), PM(0.01), PM(3.0)]:
        first, second = TIGHT.rates(mechanism)
        assert math.log(first / second) == approx(mechanism.epsilon, rel=1e-9)


def test_the_law_of_a_hadamard_response_is_that_of_its_matrix():
    for k in [2, 3, 6, 7]:
        mechanism, matrix = HR(k, 1.3), np.ones((1, 1))
        while len(matrix) < mechanism.order:
            matrix = np.block([[matrix, matrix], [matrix, -matrix]])
        plus = matrix[1 : k + 1] > 0
        law = np.where(plus, mechanism.p, 1 - mechanism.p) / (mechanism.order / 2)
        assert np.array([mechanism.kind.law(v) for v in range(k)]) == approx(law, rel=1e-14)
        assert np.abs(np.log(law[:, None] / law)).max() == approx(1.3), k
        size = plus.sum(axis=0)
        named = np.where(size > 0, plus[0] / np.maximum(size, 1), 1 / k)
        assert GUESS.rates(mechanism, (0, 1)) == approx((law[0] @ named, law[1] @ named), rel=1e-13)
        seen = np.bincount(
            mechanism.perturb(np.full(60_000, k - 1), rng(k)), minlength=mechanism.order
        )
        assert chi_square_p(seen, law[k - 1]) > P_MIN


def test_the_guess_from_a_sketch_follows_from_all_its_signs():
    """Every hash function and every vector of signs, one by one."""
    mechanism, pair = CMS(5, 1.1, 3, 4), (1, 4)
    kind, found = mechanism.kind, np.zeros(2)
    for row, (j, value) in itertools.product(kind.table, enumerate(pair)):
        for plus in itertools.product([False, True], repeat=3):
            signs = np.array(plus)
            chance = np.prod(
                np.where(signs == (np.arange(3) == row[value]), mechanism.p, 1 - mechanism.p)
            )
            support = signs[row]
            found[j] += chance / 4 * (support[1] / support.sum() if support.any() else 1 / 5)
    assert GUESS.rates(mechanism, pair) == approx(found, rel=1e-12)


def test_a_piecewise_density_sums_to_one_and_its_ratio_is_the_budget():
    mechanism = PM(1.0)
    kind = mechanism.kind
    inside = kind.density * (kind.high - 1)
    assert inside + kind.density / kind.ratio * (kind.high + 1) == approx(1, rel=1e-14)
    assert inside == approx(mechanism.p) and kind.ratio == approx(math.e)
    edges = np.linspace(kind.low, kind.high, 41)
    seen = np.histogram(mechanism.perturb(np.full(60_000, 0.4), rng(3)), edges)[0]
    left = float(kind.left(0.4))
    overlap = np.clip(
        np.minimum(edges[1:], left + kind.length) - np.maximum(edges[:-1], left), 0, None
    )
    law = kind.density * (overlap + (np.diff(edges) - overlap) / kind.ratio)
    assert chi_square_p(seen, law) > P_MIN


def test_piecewise_reports_are_unbiased_with_the_stated_variance():
    for value in [-1.0, -0.3, 0.0, 1.0]:
        mechanism, n = PM(0.7), 2000
        estimates = [
            [mechanism.estimate(mechanism.perturb(np.full(n, value), rng(i, n)))]
            for i in range(200)
        ]
        assert estimation_p(np.array(estimates), value, mechanism.variance(n, value)) > P_MIN


def test_a_sketch_estimates_without_bias_over_the_choice_of_hash_functions():
    """With as many functions as users' draws hardly repeat, the error is that of independent
    functions: |z| < 5.5."""
    mechanism = CMS(4, 2.0, 16, 2**15)
    values = np.repeat(np.arange(4), [4000, 3000, 2000, 1000])
    z = (
        mechanism.estimate(mechanism.perturb(values, rng(5))) - [0.4, 0.3, 0.2, 0.1]
    ) / mechanism.variance(10_000) ** 0.5
    assert np.abs(z).max() < 5.5  # false alarm 1.5e-7


def test_the_new_protocols_are_made_by_name():
    assert make("HR", k=5, epsilon=1.0) == HR(5, 1.0) and make("PM", epsilon=1.0) == PM(1.0)
    assert make("CMS", k=5, epsilon=1.0) == CMS(5, 1.0) and {"HR", "CMS", "PM"} <= set(MECHANISMS)
    assert isinstance(PM(2.0).kind, Interval)
