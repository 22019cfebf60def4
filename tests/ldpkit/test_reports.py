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
from ldpkit.beyond.numeric import Interval
from ldpkit.mechanisms import (
    CMS,
    HR,
    MECHANISMS,
    PM,
    Chained,
    FrequencyOracle,
    LocalRandomizer,
    Repeated,
    make,
)
from ldpkit.reports import ReportType

GUESS, TIGHT = Guess(), TwoValueTest()


def rng(*seed):
    return np.random.default_rng(seed)


def test_what_an_attack_cannot_read_and_an_audit_cannot_do_without_is_named():
    for attack in ATTACKS:
        for call in (
            lambda: audit(Speller(4, 1.0), attack, trials=100),
            lambda: ATTACKS[attack].accepts(Speller(4, 1.0), np.array(["value 0"]), (0, 1), rng(1)),
        ):
            with pytest.raises(ValueError, match=f"attack {attack} cannot read the word reports"):
                call()

    class Wide(ReportType):
        name, read = "wide", Word.read

    class Loose(Speller):
        report_type = property(lambda self: Wide())

    with pytest.raises(TypeError, match="Wide must state its `width`"):
        audit(Loose(4, 1.0), Spelt(), trials=10, pair=(0, 1))

    class Bare(LocalRandomizer):
        name, epsilon, report_type, pair = "Bare", 1.0, Word(3), FrequencyOracle.pair
        perturb = Speller.perturb

    with pytest.raises(ValueError, match="mechanism must be a frozen dataclass, got <.*Bare"):
        audit(Bare(), Spelt(), trials=10)


def test_what_a_report_type_leaves_out_is_unknown_or_refused_in_one_way():
    word = Word(4)
    for call in (
        lambda: word.guess(np.array(["value 0"]), rng(1)),
        lambda: word.score(np.array(["value 0"]), (0, 1)),
        lambda: word.reports,
        lambda: word.distribution(0),
        lambda: word.most(2),
        lambda: word.craft(2, 1, rng(1), 1),
    ):
        with pytest.raises(ValueError, match="must send reports that .*, got word reports"):
            call()
    unknown = [word.success(), word.guess_rates((0, 1)), word.score_rates(1, (0, 1))]
    assert [*unknown, word.loss((0, 1)), word.rounds_success(2), word.pooled(2)] == [None] * 6
    assert word.outputs == math.inf and word.thresholds() == [1] and word.rounds_exact is None
    assert not word.offers("guess") and HR(4, 1.0).report_type.offers("guess")


def test_one_round_of_a_chain_is_a_report_with_its_own_rates():
    for protocol in ("SUE", "OSUE", "OUE", "GRR"):
        m = Chained(5, 2.0, 1.0, 1, protocol)
        part = m.report_type.part
        assert GUESS.rates(m, (0, 4)) == approx(part.guess_rates((0, 4)), rel=1e-12), protocol
        assert TwoValueTest(1.0).rates(m) == approx(part.score_rates(1, (0, 4)), rel=1e-12)
        assert m.report_type.loss((0, 4)) == approx(part.loss((0, 4)), rel=1e-9) == approx(1.0)
    memoised = Repeated(HR(5, 1.0), 3, memoise=True).report_type
    assert memoised.success() is None and memoised.guess_rates((0, 1)) == GUESS.rates(
        HR(5, 1.0), (0, 1)
    )


def test_a_kind_without_a_law_is_audited_by_its_reports():
    speller, n, keep = Speller(4, 2.0), 40_000, math.exp(2) / (math.exp(2) + 3)
    found = audit(speller, Spelt(), trials=n, seed=1)
    assert found.faithful and found.exact is None and found.pair == (0, 3)
    for side, rate in (("tp", keep), ("fp", (1 - keep) / 3)):
        assert binomial_p(found.counts[side], n, rate) > P_MIN, side
    assert 1.7 < found.lower < 2 and found.status == "none found"
    assert audit(speller, Spelt(), trials=n, seed=1, delta=0.0).lower == found.lower


def test_the_tight_event_attains_the_whole_epsilon():
    for m in [HR(2, 0.5), HR(9, 3.0), CMS(9, 3.0), PM(0.01), PM(3.0)]:
        first, second = TIGHT.rates(m)
        assert math.log(first / second) == approx(m.epsilon, rel=1e-9), m
    assert make("HR", k=5, epsilon=1.0) == HR(5, 1.0) and make("PM", epsilon=1.0) == PM(1.0)
    assert make("CMS", k=5, epsilon=1.0) == CMS(5, 1.0) and {"HR", "CMS", "PM"} <= set(MECHANISMS)
    assert isinstance(PM(2.0).report_type, Interval)


def test_the_law_of_a_hadamard_response_is_that_of_its_matrix():
    for k in [2, 3, 6, 7]:
        m, matrix = HR(k, 1.3), np.ones((1, 1))
        while len(matrix) < m.order:
            matrix = np.block([[matrix, matrix], [matrix, -matrix]])
        plus = matrix[1 : k + 1] > 0
        law = np.where(plus, m.p, 1 - m.p) / (m.order / 2)
        assert np.array([m.report_type.distribution(v) for v in range(k)]) == approx(
            law, rel=1e-14
        ), k
        assert np.abs(np.log(law[:, None] / law)).max() == approx(1.3), k
        size = plus.sum(axis=0)
        named = np.where(size > 0, plus[0] / np.maximum(size, 1), 1 / k)
        assert GUESS.rates(m, (0, 1)) == approx((law[0] @ named, law[1] @ named), rel=1e-13), k
        seen = np.bincount(m.perturb(np.full(60_000, k - 1), rng(k)), minlength=m.order)
        assert chi_square_p(seen, law[k - 1]) > P_MIN, k


def test_the_guess_from_a_sketch_follows_from_all_its_signs():
    """Every hash function and every vector of signs, one by one."""
    m, pair, found = CMS(5, 1.1, 3, 4), (1, 4), np.zeros(2)
    for row, plus in itertools.product(
        m.report_type.table, itertools.product([False, True], repeat=3)
    ):
        support = np.array(plus)[row]
        named = support[1] / support.sum() if support.any() else 1 / 5
        for j, value in enumerate(pair):
            own = plus == (np.arange(3) == row[value])
            found[j] += np.where(own, m.p, 1 - m.p).prod() / 4 * named
    assert GUESS.rates(m, pair) == approx(found, rel=1e-12)


def test_a_piecewise_density_sums_to_one_and_its_ratio_is_the_budget():
    m, kind = PM(1.0), PM(1.0).report_type
    inside = kind.density * (kind.high - 1)
    assert inside + kind.density / kind.ratio * (kind.high + 1) == approx(1, rel=1e-14)
    assert inside == approx(m.p) and kind.ratio == approx(math.e)
    edges, left = np.linspace(kind.low, kind.high, 41), float(kind.left(0.4))
    seen = np.histogram(m.perturb(np.full(60_000, 0.4), rng(3)), edges)[0]
    overlap = np.diff(edges.clip(left, left + kind.length))
    law = kind.density * (overlap + (np.diff(edges) - overlap) / kind.ratio)
    assert chi_square_p(seen, law) > P_MIN
    m, n = PM(0.7), 2000
    for value in [-1.0, -0.3, 0.0, 1.0]:
        runs = (m.perturb(np.full(n, value), rng(i, n)) for i in range(200))
        estimates = np.array([[m.estimate(reports)] for reports in runs])
        assert estimation_p(estimates, value, m.variance(n, value)) > P_MIN, value


def test_a_sketch_estimates_without_bias_over_the_choice_of_hash_functions():
    """With as many functions as users' draws hardly repeat, the error is that of independent
    functions: |z| < 5.5 has a false alarm of 1.5e-7."""
    m, values = CMS(4, 2.0, 16, 2**15), np.repeat(np.arange(4), [4000, 3000, 2000, 1000])
    error = m.estimate(m.perturb(values, rng(5))) - [0.4, 0.3, 0.2, 0.1]
    assert np.abs(error / m.variance(10_000) ** 0.5).max() < 5.5
    # the cells and the signs of a sketch, and the ends of the parameters
    form = CMS(3, 1.0).report_type.form
    for bad in (lambda: CMS(10, 1.0, 4, 0), lambda: CMS(2**20, 1.0, 4, 2**10), lambda: PM(1.0).pair((1, 1)),
                lambda: PM(1.0).read([[1.0]]), lambda: PM(1.0).read([9.0]), lambda: HR(3, 1.0).read([4]),
                lambda: CMS(3, 1.0).read(np.zeros(2)), lambda: CMS(3, 1.0).read(np.zeros(2, form))):  # fmt: skip
        with pytest.raises(ValueError, match=" must "):
            bad()
