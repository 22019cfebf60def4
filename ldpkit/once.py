"""A bound of epsilon from a single run, in which many inputs are drawn at random.

Sources: T. Steinke, M. Nasr and M. Jagielski, *Privacy auditing with one (1) training run*, NeurIPS
2023, Proposition 5.1 for delta = 0 and Theorem 5.2 for delta > 0.
"""

import math

import numpy as np
import scipy

from . import checks, stats

__all__ = ["one_run"]


def one_run(
    right: int,
    guesses: int,
    *,
    canaries: int | None = None,
    delta: float = 0.0,
    alpha: float = 0.01,
) -> float:
    """Return a lower bound of epsilon from the guesses about one run.

    Each of m canaries has one of two inputs, which a fair coin of its own chooses. The system runs
    once with all of them. An adversary sees everything that was published, guesses the coins of
    some canaries and abstains for the others. All other inputs are fixed.

    If the run is epsilon-differentially private in each input, a guess is right with probability
    ``e^epsilon / (e^epsilon + 1)`` at most, whatever is known about the earlier coins. Therefore
    the number of right guesses is at most binomial. For local reports this is exact: a guess that
    randomised response's own report makes is right with exactly this probability.

    Parameters
    ----------
    right, guesses : int
        Number of right guesses, and of all guesses. For ``delta = 0`` the adversary may choose from
        the output how many guesses it makes. For ``delta > 0`` this number must be fixed before the
        run. No guess at all proves nothing, so that the bound is 0.
    canaries : int, optional
        Number of canaries, those without a guess included; by default `guesses`. It matters for
        ``delta > 0`` only.
    delta : float
        Delta of the claim, in [0, 1).
    alpha : float
        Largest probability that the bound exceeds the true epsilon.

    Notes
    -----
    Tighter forms need more than counts:

    - S. Mahloujifar, L. Melis and K. Chaudhuri (ICML 2025) need the whole trade-off curve that is
      claimed (f-DP), and gain for mechanisms such as the Gaussian one.
    - Z. Xiang, T. Wang, H. Xiao, Y. Tian and D. Wang (*Tight privacy audit in one run*, 2025) need
      such a curve as well, and a score for each guess. The surest guesses are released.
    - *Let's ask Gauss: improved one-run privacy auditing* (2026) needs a real-valued signal for
      each canary, as in training with noisy gradients. Its bound holds asymptotically, because it
      takes the sum of the signals to be normal.

    A. Keinan, M. Shenfeld and K. Ligett (2025) show when one run can reach the true epsilon.
    The outputs of different canaries must not interfere, as is the case for local reports.
    """
    alpha, delta = stats.significance(alpha), checks.real("delta", delta, 0, 1, closed="[)")
    checks.integer("right", right, 0, checks.integer("guesses", guesses, 0))
    share = float(stats.clopper_pearson(right, guesses, alpha)[0]) if guesses else 0.0
    many = checks.integer("canaries", guesses if canaries is None else canaries, guesses)
    low, high = 0.0, max(math.log(share / (1 - share)) if share else 0.0, 0.0)
    if not delta or not high:
        return high

    def chance(epsilon: float) -> float:
        """Return the largest probability of so many right guesses (Theorem 5.2)."""
        masses = scipy.stats.binom.pmf(
            np.arange(right)[::-1], guesses, scipy.special.expit(epsilon)
        )
        near = (masses.cumsum() / np.arange(1, right + 1)).max()
        least = scipy.stats.binom.sf(right - 1, guesses, scipy.special.expit(epsilon))
        return float(least + 2 * many * delta * near)

    # each epsilon at which the chance is at most alpha is a bound, because a smaller one implies it
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if chance(middle) <= alpha else (low, middle)
    return low
