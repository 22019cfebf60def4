"""Exact rates of a mechanism that is given by its probabilities: sums by hand, and reports of its
client, which notice a wrong rate. Seeds are fixed; a correct mechanism fails with probability 1e-4
at most."""

import pytest

from ldpkit.beyond.finite import Finite
from ldpkit.mechanisms import FiniteMechanism
from ldpkit.testing import check_mechanism

MATRIX = [[0.5, 0.3, 0.2], [0.2, 0.3, 0.5], [0.3, 0.4, 0.3]]


def test_rates_are_sums_over_the_reports_of_the_event():
    form = FiniteMechanism(MATRIX).report_type
    # the ratios of values 0 and 1 are 2.5, 1 and 0.4
    assert form.score_rates(0.5, (0, 1)) == pytest.approx((0.5, 0.2))
    assert form.score_rates(0.0, (0, 1)) == pytest.approx((0.8, 0.5))
    assert form.score_rates(0.5, (1, 0)) == pytest.approx((0.5, 0.2))
    assert form.guess_rates((2, 0)) == pytest.approx((0.4, 0.3))


@pytest.mark.parametrize("rates", ["guess_rates", "score_rates"])
@pytest.mark.parametrize("change", [(0.9, 1.0), (1.0, 0.9)])
def test_reports_of_the_client_notice_a_wrong_rate(rates, change, monkeypatch):
    right = getattr(Finite, rates)
    check_mechanism(FiniteMechanism(MATRIX))
    monkeypatch.setattr(
        Finite,
        rates,
        lambda self, *given: tuple(c * r for c, r in zip(change, right(self, *given))),
    )
    with pytest.raises(AssertionError, match="client: attack"):
        check_mechanism(FiniteMechanism(MATRIX))
