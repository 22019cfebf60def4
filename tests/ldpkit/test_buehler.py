"""The bound from two counts together: never wrong more often than it says, and sharper than two
bounds. Coverage and power are exact sums over all counts."""

import functools
import math

import numpy as np
import pytest
from scipy import stats as laws

from ldpkit import stats
from ldpkit.stats import epsilon_buehler


@functools.cache
def bounds(n, alpha, delta):
    """Of all counts, by first and second."""
    counts = range(n + 1)
    return np.array([[epsilon_buehler(a, b, n, alpha, delta) for b in counts] for a in counts])


@pytest.mark.parametrize("n, alpha, delta", [(9, 0.1, 0.0), (7, 0.3, 0.1), (10, 0.01, 0.0)])
def test_the_bound_is_wrong_as_rarely_as_it_says(n, alpha, delta):
    """At every value that it takes, with a truth just below, and 300 rates of the second input."""
    found, counts, worst = bounds(n, alpha, delta), np.arange(n + 1), 0.0
    for value in np.unique(found[found > 0]):
        q = np.linspace(0, 1, 301)
        p = np.minimum(1, math.exp(value - 1e-9) * q + delta)
        one, two = (laws.binom.pmf(counts[:, None], n, rate) for rate in (p, q))
        wrong = np.einsum("at,bt,ab->t", one, two, (found >= value).astype(float))
        worst = max(worst, wrong.max())
    assert alpha / 2 < worst <= alpha


def test_more_of_the_first_and_fewer_of_the_second_never_lower_it():
    found = bounds(9, 0.1, 0.0)
    assert (np.diff(found, axis=0) >= -1e-3).all() and (np.diff(found, axis=1) <= 1e-3).all()
    assert found[5, 5] == found[0, 0] == 0 and found[9, 0] > 1


def test_it_needs_a_third_fewer_reports_than_two_bounds():
    """The order of subsets of 100 values, claim 1, alpha = .01: 43 reports find it with probability
    .95, where two bounds need 70."""
    p, q, claim, n = 0.50134, 0.00504, 1.0, 43

    def power(refutes):
        shown, a = 0.0, 4
        for b in range(6):
            while a <= n and not refutes(a, b):
                a += 1
            shown += laws.binom.pmf(b, n, q) * laws.binom.sf(a - 1, n, p)
        return shown

    assert power(lambda a, b: epsilon_buehler(a, b, n, 0.01) >= claim) > 0.95
    assert power(lambda a, b: stats.epsilon_lower(a, b, n, tail=0.005) >= claim) < 0.8


@pytest.mark.parametrize("n", [10**5, 2 * 10**8])
def test_large_counts_come_as_near_as_the_normal_law_allows(n):
    """An event of rates one half and a tenth less: within 15 % of the quantile that no bound of
    these counts can do without."""
    a, b = n // 2, round(n / 2 * math.exp(-0.1))
    best = math.log(a / b) - laws.norm.isf(0.1) * math.sqrt(1 / a - 1 / n + 1 / b - 1 / n)
    lower = epsilon_buehler(a, b, n, 0.1)
    assert lower <= best + 1e-4 * (math.log(a / b) - best)
    assert math.log(a / b) - lower < 1.15 * (math.log(a / b) - best)
    assert lower > stats.epsilon_lower(a, b, n, tail=0.05)


def test_an_event_that_one_input_never_shows():
    n = 10**6
    lower = epsilon_buehler(50_000, 0, n, 0.1)
    assert math.log(0.05 * n / -math.log(0.1)) - 0.05 < lower < math.log(0.05 * n)
    assert epsilon_buehler(0, 0, n, 0.1) == 0.0
    assert epsilon_buehler(n // 2, 0, n, 0.1, 0.6) == 0.0  # delta explains it
