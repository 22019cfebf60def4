"""The bound from one run. False alarms are sums of binomial masses, not draws."""

import numpy as np
import pytest
from scipy import special
from scipy import stats as law

from ldpkit import one_run, stats

ALPHA = 0.05


def alarm(m, epsilon, delta, right, **more):
    """Probability that the bound exceeds epsilon if each guess is right with probability `right`."""
    bounds = np.array([one_run(v, m, delta=delta, alpha=ALPHA, **more) for v in range(m + 1)])
    assert (np.diff(bounds) >= -1e-9).all()
    return law.binom(m, right).pmf(np.arange(m + 1))[bounds > epsilon].sum()


@pytest.mark.parametrize("m, epsilon", [(1, 0.5), (20, 0.0), (20, 1.0), (100, 0.5), (100, 3.0)])
def test_randomised_response_at_its_epsilon_is_a_false_alarm_with_probability_alpha(m, epsilon):
    """The bound is exact: one right guess less would be a false alarm more often than alpha."""
    p = special.expit(epsilon)
    rate = alarm(m, epsilon, 0.0, p)
    assert rate <= ALPHA
    first = next((v for v in range(m + 1) if one_run(v, m, alpha=ALPHA) > epsilon), m + 1)
    assert law.binom(m, p).sf(first - 2) > ALPHA
    low = stats.clopper_pearson(m, m, ALPHA)[0]
    assert one_run(m, m, alpha=ALPHA) == pytest.approx(max(special.logit(low), 0))


@pytest.mark.parametrize("delta", [1e-4, 1e-2, 0.1])
def test_a_client_that_shows_a_value_with_probability_delta_is_no_violation(delta):
    for m, epsilon in [(20, 1.0), (60, 0.5), (60, 2.0)]:
        right = delta + (1 - delta) * special.expit(epsilon)
        assert alarm(m, epsilon, delta, right) <= ALPHA
    # all canaries are shown at once with probability delta, and the bound for delta = 0 would fail
    shown = delta + (1 - delta) * law.binom(60, special.expit(1.0)).pmf(60)
    assert one_run(60, 60, delta=delta, alpha=shown / 2) <= 1.0


def test_canaries_without_a_guess_cost_nothing_but_delta():
    most = one_run(90, 100, alpha=ALPHA)
    assert most == one_run(90, 100, canaries=500, alpha=ALPHA)
    few, many = (one_run(90, 100, canaries=m, delta=1e-4, alpha=ALPHA) for m in (100, 500))
    assert 1 < many < few < most
    assert one_run(50, 100) == one_run(0, 7) == one_run(0, 0) == one_run(60, 60, delta=0.9) == 0.0


@pytest.mark.parametrize("given, words", [
    ((5, 4), "right"), ((1, 0), "right"), ((0, -1), "guesses"), ((1, 2, {"canaries": 1}), "canaries"),
    ((1, 2, {"delta": 1.0}), "delta"), ((1, 2, {"alpha": 0.0}), "alpha"),
])  # fmt: skip
def test_what_is_no_count_is_refused(given, words):
    *counts, more = given if isinstance(given[-1], dict) else (*given, {})
    with pytest.raises(ValueError, match=words):
        one_run(*counts, **more)
