"""Shuffled LDP-SGD: the paper's test, the exact epsilon of its two batches, and two upper bounds
for all batches.

The batches: n clients with one gradient, and the same with one gradient negated.
How many reports lean towards the gradient says everything that a shuffled batch
says about this pair, so all statements are finite sums. Gradients are at least as
long as the clipping norm.

Sources: the LDP-SGD paper, section 5.4, Table 3 and Equation 1, corrected after
Feldman, McMillan and Talwar (2023); the numerical bound is a privacy blanket
(Balle et al. 2019) worked out for LDP-SGD, see `blanket_delta`.
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
from ..mechanisms.base import MAX_EPSILON, MIN_EPSILON
from ..mechanisms.gradient import LDPSGD
from ..progress import Progress, count_begun
from ..rng import generator
from ..types import Array, Rates, Rng, Word
from .base import Auditor
from .errors import MAX_TRIALS, ErrorsResult, judged, lower_sides

# fmt: off
__all__ = [
    "ShuffleAudit", "audit_shuffle", "pmfs", "pair_delta", "blanket_delta", "solve",
    "closed_bound", "least_clients", "threshold_rates"
]
# fmt: on

MAX_CLIENTS = 10**6


def _checked(clients: int, epsilon: float) -> tuple[int, float, float]:
    epsilon = checks.real("epsilon", epsilon, MIN_EPSILON, MAX_EPSILON)
    return (
        checks.integer("clients", clients, 1, MAX_CLIENTS),
        epsilon,
        float(scipy.special.expit(epsilon)),
    )


def pmfs(clients: int, epsilon: float, others: Array | None = None) -> tuple[Array, Array]:
    """Laws of the number of reports that lean towards the gradient, under both batches.

    Parameters
    ----------
    clients : int
        1 to 10^6.
    epsilon : float
        Budget of one report.
    others : float array, shape (clients,), optional
        Law of that number among the other clients; by default they all hold the gradient,
        ``Binomial(clients - 1, p)``.

    Returns
    -------
    with_it, without : float array, shape (clients + 1,)
        The last client holds the gradient, or its negative.
    """
    clients, epsilon, p = _checked(clients, epsilon)
    if others is None:
        others = scipy.stats.binom.pmf(np.arange(clients), clients - 1, p)
    elif checks.reals("others", others, 0, 1).shape != (clients,) or abs(np.sum(others) - 1) > 1e-9:
        raise ValueError(
            f"others must be {clients} probabilities that add to 1, got shape {np.shape(others)}"
        )
    up, stay = np.append(0.0, others), np.append(others, 0.0)
    return p * up + (1 - p) * stay, (1 - p) * up + p * stay


def pair_delta(clients: int, epsilon: float, shuffled: float, others: Array | None = None) -> float:
    """Exact delta of the two batches at epsilon `shuffled`: the larger of the two directions;
    parameters as in `pmfs`."""
    one, two = pmfs(clients, epsilon, others)
    shuffled = checks.real("shuffled", shuffled, 0)
    return max(
        float(np.maximum(a - math.exp(shuffled) * b, 0).sum()) for a, b in ((one, two), (two, one))
    )


def blanket_delta(
    clients: int, epsilon: float, shuffled: float, blanket: float | None = None
) -> float:
    """Upper bound of delta for every pair of neighbouring batches of LDP-SGD at epsilon `shuffled`.

    Parameters
    ----------
    clients, epsilon, shuffled
        As in `pair_delta`.
    blanket : float, optional
        Probability with which another client's report is replaced by pure noise; by default the
        largest that is allowed, ``2 / (e^eps + 1)``. The analysis of 2021 has ``e^-eps``.

    Notes
    -----
    Every density lies between ``2(1-p)`` and ``2p`` of the uniform one, so each other client sends
    a uniform direction with probability ``2(1-p)``. Reveal the number C of those. Among all
    densities with these limits the two-valued one of opposite gradients has the largest divergence,
    and its count is ``Binomial(C, 1/2)``.
    """
    clients, epsilon, p = _checked(clients, epsilon)
    noise = (
        2 * float(scipy.special.expit(-epsilon))
        if blanket is None
        else checks.real("blanket", blanket, 0, 1)
    )
    c, mass = stats.binomial_window(clients - 1, noise)
    grown = math.exp(checks.real("shuffled", shuffled, 0))
    gain, loss = p - grown * (1 - p), grown * p - (1 - p)
    if gain <= 0:
        return 0.0
    # counts from here on are likelier with the gradient
    least = np.floor((c + 1) * loss / (gain + loss)) + 1
    each = gain * scipy.stats.binom.sf(least - 2, c, 0.5) - loss * scipy.stats.binom.sf(
        least - 1, c, 0.5
    )
    return float(
        (mass * each).sum()
    )  # no BLAS: its order of summation depends on the number of its threads


def solve(delta_at: Callable[[float], float], delta: float, epsilon: float) -> float:
    """Smallest epsilon at which ``delta_at(epsilon) <= delta``; never more than the `epsilon` of a
    single report."""
    checks.instance("delta_at", delta_at, Callable, "callable")
    delta, epsilon = checks.real("delta", delta, 0, 1), checks.real("epsilon", epsilon, 0)
    if delta_at(0.0) <= delta:
        return 0.0
    if not delta_at(epsilon) <= delta:
        raise ValueError(f"delta must be reached at an epsilon in [0, {epsilon:g}], got {delta:g}")
    return float(
        scipy.optimize.brentq(lambda e: delta_at(e) - delta, 0.0, epsilon, xtol=1e-12, rtol=1e-12)
    )


def least_clients(epsilon: float, delta: float = 1e-6) -> int:
    """Fewest clients for which `closed_bound` holds, ``8 ln(2/delta) (e^eps + 1)`` rounded up."""
    delta = checks.real(
        "delta", delta, 1e-12, 1, closed="[)"
    )  # sums of probabilities are no better than that
    return math.ceil(
        8
        * math.log(2 / delta)
        * (math.exp(checks.real("epsilon", epsilon, MIN_EPSILON, MAX_EPSILON)) + 1)
    )


def closed_bound(clients: int, epsilon: float, delta: float = 1e-6) -> float:
    """Epsilon of the shuffled reports by the closed form, with n under the root (the paper's
    Equation 1 has it outside).

    Raises
    ------
    ValueError
        Below `least_clients`, where the bound is not proved.
    """
    least = least_clients(epsilon, delta)
    clients = checks.integer(
        f"clients at epsilon = {epsilon:g} and delta = {delta:g}", clients, least
    )
    e = math.exp(epsilon)
    return math.log1p(
        (e - 1) * (4 * math.sqrt(2 * math.log(4 / delta) / ((e + 1) * clients)) + 4 / clients)
    )


def threshold_rates(clients: int, epsilon: float) -> Rates:
    """Error rates of the paper's rule: the changed batch is suspected if fewer than ``n p`` reports
    lean."""
    one, two = pmfs(clients, epsilon)
    few = np.arange(len(one)) < clients * float(scipy.special.expit(epsilon))
    return min(1.0, float(one[few].sum())), min(1.0, float(two[~few].sum()))  # sums may round up


@functools.lru_cache(maxsize=256)
def _exact(
    clients: int, epsilon: float, delta: float
) -> dict[str, float]:  # repeated audits share it
    return {
        "tight": solve(lambda e: pair_delta(clients, epsilon, e), delta, epsilon),
        "upper": solve(lambda e: blanket_delta(clients, epsilon, e), delta, epsilon),
    }


def _count(mechanism: LDPSGD, clients: int, changed: bool, trials: int, rng: Rng) -> Array:
    """How many reports lean towards the gradient in each trial, from real reports in a random
    order."""
    batch = np.zeros((clients, mechanism.d))
    batch[:, 0] = mechanism.clip
    batch[-1, 0] *= -1 if changed else 1
    found = np.empty(trials, np.int64)
    for trial in range(trials):
        found[trial] = np.count_nonzero(rng.permutation(mechanism.perturb(batch, rng))[:, 0] > 0)
        count_begun()
    return found


@dataclass(frozen=True)
class ShuffleAudit(Auditor):
    """Tell the paper's two batches of shuffled LDP-SGD apart by its threshold.

    Parameters
    ----------
    epsilon : float
        Budget of one report.
    clients : int
        Reports that are shuffled together, from `least_clients` to 10^6.
    delta : float
        Of the guarantee, in [1e-12, 1).
    attack : {"threshold"}
        The paper's rule; there is no other one.
    trials : int
        Batches of either kind, at least 1; the paper makes 1000 in all.
    alpha : float
        Significance, in [1e-100, 1).
    faithful : bool
        Randomise and permute real gradients instead of drawing the two binomials.
    d : int
        Dimension of the real gradients.

    Raises
    ------
    ValueError
        Naming the parameter that is out of range.
    """

    epsilon: float
    clients: int
    delta: float = 1e-6
    _: KW_ONLY
    attack: Annotated[str, checks.rule(checks.one_of, ("threshold",))] = "threshold"
    trials: Annotated[int, checks.rule(checks.integer, 1, MAX_TRIALS // 2)] = 500
    faithful: Annotated[bool, checks.flag] = False
    d: int = 16

    def __post_init__(self) -> None:
        self.claim  # noqa: B018  refuses too few clients
        super().__post_init__()
        clients, epsilon, _ = _checked(self.clients, self.epsilon)
        checks.fix(self, clients=clients, epsilon=epsilon, d=LDPSGD(self.d, epsilon).d)

    @functools.cached_property
    def claim(self) -> float:
        """The closed bound."""
        return closed_bound(self.clients, self.epsilon, self.delta)

    def run(self, seed: int = 1) -> list[ErrorsResult]:
        """Count the errors of the rule, and judge them.

        Returns
        -------
        list of one ErrorsResult
            ``claim`` is the closed bound, ``epsilon_emp`` the paper's measured value, ``estimates``
            the exact ``tight`` epsilon of the pair at `delta` and the numerical ``upper`` bound for
            all pairs.
        """
        clients, trials, delta = self.clients, self.trials, self.delta
        p, start, errors = float(scipy.special.expit(self.epsilon)), time.perf_counter(), []
        with Progress(2 * trials, "trials", "shuffled LDP-SGD") as progress:
            for changed in (False, True):
                rng = generator(seed, "shuffle", self.epsilon, clients, self.faithful, changed)
                if self.faithful:
                    leaning = _count(LDPSGD(self.d, self.epsilon), clients, changed, trials, rng)
                else:
                    leaning = rng.binomial(clients - 1, p, trials) + rng.binomial(
                        1, 1 - p if changed else p, trials
                    )
                errors.append(int(np.count_nonzero((leaning < clients * p) != changed)))
                progress.add(trials, "fn" if changed else "fp", errors[-1])
        return [
            judged(
                self,
                seed,
                errors[0],
                errors[1],
                threshold_rates(clients, self.epsilon),
                lower_sides,
                seconds=time.perf_counter() - start,
                mechanism="shuffled LDP-SGD",
                parameters={"epsilon": self.epsilon, "clients": clients, "delta": delta},
                claim=self.claim,
                delta=delta,
                estimates=_exact(clients, self.epsilon, delta),
            )
        ]


def audit_shuffle(
    epsilon: float, clients: int, delta: float = 1e-6, *, seed: int = 1, **fields: Word
) -> ErrorsResult:
    """Audit shuffled LDP-SGD: make a `ShuffleAudit` of these fields, and run it."""
    return ShuffleAudit(epsilon, clients, delta, **fields).run(seed)[0]
