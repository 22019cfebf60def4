"""Shuffled LDP-SGD: the paper's test, the exact epsilon of its two batches, and two upper bounds.

In the first batch, n clients hold one gradient. In the second batch, one of these clients holds the
negated gradient. A report leans towards the gradient if their inner product is positive. The number
of such reports is a sufficient statistic for this pair of batches. Therefore all statements are
finite sums. Gradients are at least as long as the clipping norm. The two upper bounds hold for all
pairs of batches.

Sources: the LDP-SGD paper, section 5.4, Table 3 and Equation 1, corrected after Feldman, McMillan
and Talwar (2023). The numerical bound is a privacy blanket (Balle et al. 2019) for LDP-SGD, see
`blanket_delta`.
"""

import functools
import math
import time
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Annotated

import numpy as np
import scipy

from .. import checks, stats
from ..mechanisms.base import Epsilon
from ..mechanisms.gradient import LDPSGD
from ..progress import Progress, count_begun
from ..rng import generator
from ..types import Array, Rates, Rng
from .gradient import ErrorsAudit, Trials, lower_sides
from .result import AuditResult

# fmt: off
__all__ = [
    "ShuffleAudit", "pmfs", "pair_delta", "blanket_delta", "solve",
    "closed_bound", "least_clients", "threshold_rates"
]
# fmt: on

Clients = Annotated[
    int,
    checks.rule(checks.integer, 1, 10**6),
    "Reports that are shuffled together, from least_clients to 10^6.",
]


@checks.checked
def pmfs(clients: Clients, epsilon: Epsilon, others: Array | None = None) -> tuple[Array, Array]:
    """Return the distributions of the number of reports that lean towards the gradient.

    Parameters
    ----------
    clients : int
        Number of shuffled reports, 1 to 10^6.
    epsilon : float
        Budget of one report.
    others : float array, shape (clients,), optional
        Distribution of this number among the other clients. By default all of them hold the
        gradient, so that it is ``Binomial(clients - 1, p)``.

    Returns
    -------
    with_it, without : float array, shape (clients + 1,)
        The distributions if the last client holds the gradient, and if it holds the negative.
    """
    p, q = (float(scipy.special.expit(x)) for x in (epsilon, -epsilon))
    if others is None:
        others = scipy.stats.binom.pmf(np.arange(clients), clients - 1, p)
    elif checks.reals("others", others, 0, 1).shape != (clients,) or abs(np.sum(others) - 1) > 1e-9:
        raise ValueError(
            f"others must be {clients} probabilities that add to 1, got shape {np.shape(others)}"
        )
    up, stay = np.append(0.0, others), np.append(others, 0.0)
    return p * up + q * stay, q * up + p * stay


@checks.checked
def pair_delta(
    clients: int, epsilon: float, shuffled: checks.NonNegative, others: Array | None = None
) -> float:
    """Return the exact delta of the two batches at epsilon `shuffled`.

    It is the larger one of the two directions.

    Parameters
    ----------
    clients, epsilon, others
        As in `pmfs`.
    shuffled : float
        Epsilon of the shuffled reports, at least 0.
    """
    with_it, without = pmfs(clients, epsilon, others)
    return max(
        float(np.maximum(a - math.exp(shuffled) * b, 0).sum())
        for a, b in ((with_it, without), (without, with_it))
    )


@checks.checked
def blanket_delta(
    clients: Clients,
    epsilon: Epsilon,
    shuffled: checks.NonNegative,
    blanket: Annotated[float | None, checks.rule(checks.real, 0, 1)] = None,
) -> float:
    """Bound delta at epsilon `shuffled` for every pair of neighbouring batches of LDP-SGD.

    Parameters
    ----------
    clients, epsilon, shuffled
        As in `pair_delta`.
    blanket : float, optional
        Probability with which the report of another client is replaced by pure noise. By default it
        is the largest valid probability, ``2 / (e^eps + 1)``. The analysis of 2021 has ``e^-eps``.

    Notes
    -----
    Every density lies between ``2(1-p)`` and ``2p`` times the uniform density. Therefore each other
    client sends a uniform direction with probability ``2(1-p)``. Reveal the number C of these
    clients. Among all densities between the two limits, that of two opposite gradients has the
    largest divergence. The number of reports that lean towards the gradient is then
    ``Binomial(C, 1/2)``.
    """
    p, q = (float(scipy.special.expit(x)) for x in (epsilon, -epsilon))
    noise = 2 * q if blanket is None else blanket
    (c, mass), grown = stats.binomial_window(clients - 1, noise), math.exp(shuffled)
    gain, loss = p - grown * q, grown * p - q
    if gain <= 0:
        return 0.0
    # counts of at least this number are likelier with the gradient
    least = np.floor((c + 1) * loss / (gain + loss)) + 1
    each = gain * scipy.stats.binom.sf(least - 2, c, 0.5) - loss * scipy.stats.binom.sf(
        least - 1, c, 0.5
    )
    # without BLAS, whose order of summation depends on the number of threads
    return float((mass * each).sum())


@checks.checked
def solve(
    delta_at: Annotated[
        Callable[[float], float], checks.rule(checks.instance, Callable, "callable")
    ],
    delta: checks.Share,
    epsilon: checks.NonNegative,
) -> float:
    """Return the smallest epsilon at which ``delta_at(epsilon) <= delta``.

    Parameters
    ----------
    delta_at : callable
        A decreasing function of epsilon.
    delta : float
        In [0, 1].
    epsilon : float
        Epsilon of a single report, which is the largest possible result.

    Raises
    ------
    ValueError
        If ``delta_at(epsilon)`` exceeds delta.
    """
    if delta_at(0.0) <= delta:
        return 0.0
    checks.need(
        delta_at(epsilon) <= delta,
        f"delta must be reached at an epsilon in [0, {epsilon:g}], got {delta:g}",
    )
    return float(
        scipy.optimize.brentq(lambda e: delta_at(e) - delta, 0.0, epsilon, xtol=1e-12, rtol=1e-12)
    )


@checks.checked
def least_clients(
    epsilon: Epsilon,
    # sums of probabilities are not more accurate than the smallest delta
    delta: Annotated[float, checks.rule(checks.real, 1e-12, 1, closed="[)")] = 1e-6,
) -> int:
    """Return the smallest number of clients for which `closed_bound` is proved.

    It is ``8 ln(2/delta) (e^eps + 1)``, rounded up.
    """
    return math.ceil(8 * math.log(2 / delta) * (math.exp(epsilon) + 1))


def closed_bound(clients: int, epsilon: float, delta: float = 1e-6) -> float:
    """Return the epsilon of the shuffled reports by the closed form.

    The number of clients stands under the root. In the paper's Equation 1 it stands outside.

    Raises
    ------
    ValueError
        If there are fewer clients than `least_clients`, because the bound is not proved for them.
    """
    least, e = least_clients(epsilon, delta), math.exp(epsilon)
    clients = checks.integer(
        f"clients at epsilon = {epsilon:g} and delta = {delta:g}", clients, least
    )
    return math.log1p(
        (e - 1) * (4 * math.sqrt(2 * math.log(4 / delta) / ((e + 1) * clients)) + 4 / clients)
    )


def threshold_rates(clients: int, epsilon: float) -> Rates:
    """Return the exact false-positive and false-negative rate of the paper's rule.

    The rule guesses the changed batch if fewer than ``n p`` reports lean towards the gradient.
    """
    with_it, without = pmfs(clients, epsilon)
    few = np.arange(len(with_it)) < clients * float(scipy.special.expit(epsilon))
    # sums may be rounded up
    return min(1.0, float(with_it[few].sum())), min(1.0, float(without[~few].sum()))


@functools.lru_cache(maxsize=256)  # for repeated audits
def _exact(clients: int, epsilon: float, delta: float) -> dict[str, tuple[float, str]]:
    tight = solve(lambda e: pair_delta(clients, epsilon, e), delta, epsilon)
    upper = solve(lambda e: blanket_delta(clients, epsilon, e), delta, epsilon)
    return {
        "tight": (tight, "exact epsilon of the two batches"),
        "upper": (upper, "numerical bound for all batches"),
    }


def _count(mechanism: LDPSGD, clients: int, changed: bool, trials: int, rng: Rng) -> Array:
    """Return how many reports lean towards the gradient in each trial, int array (trials,).

    The reports are real and shuffled.
    """
    batch = np.zeros((clients, mechanism.d))
    batch[:, 0] = mechanism.clip
    batch[-1, 0] *= -1 if changed else 1
    leaning = np.empty(trials, np.int64)
    for trial in range(trials):
        leaning[trial] = np.count_nonzero(rng.permutation(mechanism.perturb(batch, rng))[:, 0] > 0)
        count_begun()
    return leaning


@dataclass(frozen=True)
class ShuffleAudit(ErrorsAudit):
    """Tell the paper's two batches of shuffled LDP-SGD apart by its threshold rule.

    Parameters
    ----------
    epsilon : float
        Budget of one report.
    clients : int
        Reports that are shuffled together, from `least_clients` to 10^6.
    delta : float
        Delta of the guarantee, in [1e-12, 1).
    attack : {"threshold"}
        The paper's rule is the only one.
    trials : int
        Number of batches of each type, at least 1 (the paper makes 1000 of both together).
    alpha : float
        Significance, in [1e-100, 1).
    faithful : bool
        Randomise and shuffle real gradients, instead of sampling two binomial counts.
    d : int
        Dimension of the real gradients.

    Raises
    ------
    ValueError
        If a parameter is out of range. The message names it.
    """

    epsilon: Annotated[Epsilon, "Budget of one report, in [1e-6, 30]."]
    clients: Clients
    delta: Annotated[float, "Delta of the guarantee, in [1e-12, 1)."] = 1e-6
    _: KW_ONLY
    trials: Annotated[
        Trials,
        "Number of batches of each type, at least 1 (the paper makes 1000 of both together).",
    ] = 500
    faithful: Annotated[
        checks.Flag,
        "Randomise and shuffle real gradients, instead of sampling two binomial counts.",
    ] = False
    attack: Annotated[str, checks.rule(checks.one_of, ("threshold",))] = "threshold"
    d: int = 16

    def __post_init__(self) -> None:
        self.claim  # noqa: B018  refuses too few clients
        super().__post_init__()
        checks.fix(self, d=LDPSGD(self.d, self.epsilon).d)

    @functools.cached_property
    def claim(self) -> float:
        """Epsilon of the shuffled reports by `closed_bound`."""
        return closed_bound(self.clients, self.epsilon, self.delta)

    def run(self, seed: int = 1) -> list[AuditResult]:
        """Count the errors of the rule, and bound epsilon by them.

        Parameters
        ----------
        seed : int
            Seed of all random numbers, non-negative.

        Returns
        -------
        list of one AuditResult
            ``claim`` is the closed bound, and ``epsilon_emp`` is the paper's measured value. The
            ``evidence`` are the exact epsilon ``tight`` of the pair at `delta`, and the numerical
            bound ``upper`` for all pairs.
        """
        clients, trials, delta = self.clients, self.trials, self.delta
        p, start, errors = float(scipy.special.expit(self.epsilon)), time.perf_counter(), []
        with Progress(2 * trials, "trials", "shuffled LDP-SGD") as progress:
            for changed in (False, True):
                rng = generator(seed, "shuffle", self.epsilon, clients, self.faithful, changed)
                leaning = (
                    _count(LDPSGD(self.d, self.epsilon), clients, changed, trials, rng)
                    if self.faithful
                    else rng.binomial(clients - 1, p, trials)
                    + rng.binomial(1, 1 - p if changed else p, trials)
                )
                errors.append(int(np.count_nonzero((leaning < clients * p) != changed)))
                progress.add(trials, "fn" if changed else "fp", errors[-1])
        return [
            self.judged(
                errors[0],
                errors[1],
                threshold_rates(clients, self.epsilon),
                lower_sides,
                seed=seed,
                attack=self.attack,
                seconds=time.perf_counter() - start,
                mechanism="shuffled LDP-SGD",
                parameters={"epsilon": self.epsilon, "clients": clients, "delta": delta},
                claim=self.claim,
                delta=delta,
                estimates=_exact(clients, self.epsilon, delta),
                words={
                    "mechanism": f"shuffled LDP-SGD ({clients:,} clients, epsilon ="
                    f" {self.epsilon:g} each)"
                },
            )
        ]
