"""Report types: one that nobody has heard of, and what a type leaves out. At most 200 p-values,
each above `chance.P_MIN`."""

import math

import numpy as np
import pytest
from chance import P_MIN, binomial_p, rng
from speller import Speller, Spelt, Word

from ldpkit import audit
from ldpkit.attacks import ATTACKS, Guess
from ldpkit.auditors import expected
from ldpkit.mechanisms import HR, FrequencyOracle, Mechanism, Repeated
from ldpkit.reports import ReportType


def test_what_an_attack_cannot_read_and_an_audit_cannot_do_without_is_named():
    speller = Speller(4, 1.0)
    for name, attack in ATTACKS.items():
        for call in (
            lambda: audit(speller, name, trials=100),
            lambda: audit(speller, name, trials=100, faithful=True),
            lambda: attack.accepts(speller, np.array(["value 0"]), (0, 1), rng(1)),
            lambda: attack.rates(speller),
            lambda: attack.sample(speller, 5, True, rng(1)),
            lambda: expected(speller, name),
        ):
            with pytest.raises(ValueError, match=f"attack {name} cannot read the word reports"):
                call()

    class Wide(ReportType):
        name, read = "wide", Word.read

    class Loose(Speller):
        report_type = property(lambda self: Wide())

    with pytest.raises(TypeError, match="Wide must state its `width`"):
        audit(Loose(4, 1.0), Spelt(), trials=10, pair=(0, 1))

    class Bare(Mechanism):
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
    memoised = Repeated(HR(5, 1.0), 3, memoise=True).report_type
    assert memoised.success() is None
    assert memoised.guess_rates((0, 1)) == Guess().rates(HR(5, 1.0), (0, 1))


def test_a_kind_without_a_law_is_audited_by_its_reports():
    speller, n, keep = Speller(4, 2.0), 40_000, math.exp(2) / (math.exp(2) + 3)
    found = audit(speller, Spelt(), trials=n, seed=1)
    assert found.faithful and found.exact is None and found.pair == (0, 3)
    for side, rate in (("tp", keep), ("fp", (1 - keep) / 3)):
        assert binomial_p(found.counts[side], n, rate) > P_MIN, side
    assert 1.7 < found.lower < 2 and found.status == "none found"
    assert audit(speller, Spelt(), trials=n, seed=1, delta=0.0).lower == found.lower
