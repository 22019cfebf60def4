"""Shuffled LDP-SGD: the paper's test, the exact epsilon of its two batches, and two upper bounds for all batches.

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
from typing import Any

import numpy as np
import scipy

from .. import checks, stats, streams
from ..mechanisms.base import MAX_EPSILON, MIN_EPSILON
from ..mechanisms.gradient import LDPSGD
from ..progress import Progress, made
from ..types import Array, Rates, Rng
from .gradient import epsilon_from_errors, lower_sides, plugin_expectation, pooled
from .result import AuditResult, repeat, too_few

__all__ = ["audit_shuffle", "shuffle_cell", "pmfs", "pair_delta", "blanket_delta", "solve", "closed_bound", "least_clients",
           "threshold_rates"]  # fmt: skip

MAX_CLIENTS = 10**6


def _checked(clients: int, epsilon: float) -> tuple[int, float, float]:
    epsilon = checks.real("epsilon", epsilon, MIN_EPSILON, MAX_EPSILON)
    return checks.integer("clients", clients, 1, MAX_CLIENTS), epsilon, float(scipy.special.expit(epsilon))


def pmfs(clients: int, epsilon: float, others: Array | None = None) -> tuple[Array, Array]:
    """Laws of the number of reports that lean towards the gradient, under both batches.

    Parameters
    ----------
    clients : int
        1 to 10^6.
    epsilon : float
        Budget of one report.
    others : float array, shape (clients,), optional
        Law of that number among the other clients; by default they all hold the gradient, ``Binomial(clients - 1, p)``.

    Returns
    -------
    with_it, without : float array, shape (clients + 1,)
        The last client holds the gradient, or its negative.
    """
    clients, epsilon, p = _checked(clients, epsilon)
    if others is None:
        others = scipy.stats.binom.pmf(np.arange(clients), clients - 1, p)
    elif checks.reals("others", others, 0, 1).shape != (clients,) or abs(np.sum(others) - 1) > 1e-9:
        raise ValueError(f"others must be {clients} probabilities that add to 1, got shape {np.shape(others)}")
    up, stay = np.append(0.0, others), np.append(others, 0.0)
    return p * up + (1 - p) * stay, (1 - p) * up + p * stay


def pair_delta(clients: int, epsilon: float, shuffled: float, others: Array | None = None) -> float:
    """Exact delta of the two batches at epsilon `shuffled`: the larger of the two directions; parameters as in `pmfs`."""
    one, two = pmfs(clients, epsilon, others)
    shuffled = checks.real("shuffled", shuffled, 0)
    return max(float(np.maximum(a - math.exp(shuffled) * b, 0).sum()) for a, b in ((one, two), (two, one)))


def blanket_delta(clients: int, epsilon: float, shuffled: float, blanket: float | None = None) -> float:
    """Upper bound of delta for every pair of neighbouring batches of LDP-SGD at epsilon `shuffled`.

    Parameters
    ----------
    clients, epsilon, shuffled
        As in `pair_delta`.
    blanket : float, optional
        Probability with which another client's report is replaced by pure noise; by default the largest that is
        allowed, ``2 / (e^eps + 1)``. The analysis of 2021 has ``e^-eps``.

    Notes
    -----
    Every density lies between ``2(1-p)`` and ``2p`` of the uniform one, so each other client sends a uniform
    direction with probability ``2(1-p)``. Reveal the number C of those. Among all densities with these limits
    the two-valued one of opposite gradients has the largest divergence, and its count is ``Binomial(C, 1/2)``.
    """
    clients, epsilon, p = _checked(clients, epsilon)
    noise = 2 * float(scipy.special.expit(-epsilon)) if blanket is None else checks.real("blanket", blanket, 0, 1)
    c, mass = stats.binomial_window(clients - 1, noise)
    grown = math.exp(checks.real("shuffled", shuffled, 0))
    gain, loss = p - grown * (1 - p), grown * p - (1 - p)
    if gain <= 0:
        return 0.0
    least = np.floor((c + 1) * loss / (gain + loss)) + 1  # counts from here on are likelier with the gradient
    each = gain * scipy.stats.binom.sf(least - 2, c, 0.5) - loss * scipy.stats.binom.sf(least - 1, c, 0.5)
    return float((mass * each).sum())  # no BLAS: its order of summation depends on the number of its threads


def solve(delta_at: Callable[[float], float], delta: float, epsilon: float) -> float:
    """Smallest epsilon at which ``delta_at(epsilon) <= delta``; never more than the `epsilon` of a single report."""
    checks.instance("delta_at", delta_at, Callable, "callable")
    delta, epsilon = checks.real("delta", delta, 0, 1), checks.real("epsilon", epsilon, 0)
    if delta_at(0.0) <= delta:
        return 0.0
    if not delta_at(epsilon) <= delta:
        raise ValueError(f"delta must be reached at an epsilon in [0, {epsilon:g}], got {delta:g}")
    return float(scipy.optimize.brentq(lambda e: delta_at(e) - delta, 0.0, epsilon, xtol=1e-12, rtol=1e-12))


def least_clients(epsilon: float, delta: float = 1e-6) -> int:
    """Fewest clients for which `closed_bound` holds, ``8 ln(2/delta) (e^eps + 1)`` rounded up."""
    delta = checks.real("delta", delta, 1e-12, 1, closed="[)")  # sums of probabilities are no better than that
    return math.ceil(8 * math.log(2 / delta) * (math.exp(checks.real("epsilon", epsilon, MIN_EPSILON, MAX_EPSILON)) + 1))


def closed_bound(clients: int, epsilon: float, delta: float = 1e-6) -> float:
    """Epsilon of the shuffled reports by the closed form, with n under the root (the paper's Equation 1 has it outside).

    Raises
    ------
    ValueError
        Below `least_clients`, where the bound is not proved.
    """
    least = least_clients(epsilon, delta)
    clients = checks.integer(f"clients at epsilon = {epsilon:g} and delta = {delta:g}", clients, least)
    e = math.exp(epsilon)
    return math.log1p((e - 1) * (4 * math.sqrt(2 * math.log(4 / delta) / ((e + 1) * clients)) + 4 / clients))


def threshold_rates(clients: int, epsilon: float, threshold: float | None = None) -> Rates:
    """Error rates of the paper's rule: the changed batch is suspected if fewer than `threshold` reports lean.

    Parameters
    ----------
    threshold : float, optional
        By default ``n p``, the paper's.
    """
    one, two = pmfs(clients, epsilon)
    if threshold is not None:
        checks.real("threshold", threshold)
    few = np.arange(len(one)) < (clients * float(scipy.special.expit(epsilon)) if threshold is None else threshold)
    return min(1.0, float(one[few].sum())), min(1.0, float(two[~few].sum()))  # sums may round up


@functools.lru_cache(maxsize=256)
def _exact(clients: int, epsilon: float, delta: float) -> dict[str, float]:  # repeated audits of a cell share it
    return {
        "tight": solve(lambda e: pair_delta(clients, epsilon, e), delta, epsilon),
        "upper": solve(lambda e: blanket_delta(clients, epsilon, e), delta, epsilon),
    }


def _count(mechanism: LDPSGD, clients: int, changed: bool, trials: int, rng: Rng) -> Array:
    """How many reports lean towards the gradient in each trial, from real reports in a random order."""
    batch = np.zeros((clients, mechanism.d))
    batch[:, 0] = mechanism.clip
    batch[-1, 0] *= -1 if changed else 1
    found = np.empty(trials, np.int64)
    for trial in range(trials):
        found[trial] = np.count_nonzero(rng.permutation(mechanism.perturb(batch, rng))[:, 0] > 0)
        made()
    return found


def audit_shuffle(
    epsilon: float,
    clients: int,
    delta: float = 1e-6,
    *,
    trials: int = 1000,
    alpha: float = 0.01,
    seed: int = 1,
    faithful: bool = False,
    d: int = 16,
) -> AuditResult:
    """Audit shuffled LDP-SGD with the paper's pair of batches and threshold.

    Parameters
    ----------
    epsilon : float
        Budget of one report.
    clients : int
        From `least_clients` to 10^6.
    delta : float
        In [1e-12, 1).
    trials : int
        Even, at least 2: half of them with each batch (the paper: 1000).
    alpha, seed
        As in `audit_gradient`.
    faithful : bool
        Randomise and permute real gradients of dimension `d` instead of drawing the two binomials.

    Returns
    -------
    AuditResult
        ``claim`` is the closed bound, ``epsilon_emp`` the paper's measured value, ``estimates`` the exact ``tight``
        epsilon of the pair at `delta` and the numerical ``upper`` bound for all pairs.
    """
    claim, faithful = closed_bound(clients, epsilon, delta), checks.flag("faithful", faithful)
    clients, epsilon, p = _checked(clients, epsilon)
    trials, alpha = checks.integer("trials", trials, 2, 10**9), stats.significance(alpha)
    if trials % 2:
        raise ValueError(f"trials must be even, half with each batch, got {trials}")
    half, start, errors = trials // 2, time.perf_counter(), []
    mechanism = LDPSGD(d, epsilon)
    with Progress(trials, "trials", "shuffled LDP-SGD") as progress:
        for changed in (False, True):
            rng = streams.generator(seed, "shuffle", epsilon, clients, bool(faithful), changed)
            if faithful:
                leaning = _count(mechanism, clients, changed, half, rng)
            else:
                leaning = rng.binomial(clients - 1, p, half) + rng.binomial(1, 1 - p if changed else p, half)
            errors.append(int(np.count_nonzero((leaning < clients * p) != changed)))
            progress.add(half, "fn" if changed else "fp", errors[-1])
    seconds = time.perf_counter() - start
    (fp, fn), rates = errors, threshold_rates(clients, epsilon)
    exact, exact_sd, _ = plugin_expectation(*rates, half, half)
    return AuditResult(
        mechanism="shuffled LDP-SGD",
        parameters={"epsilon": epsilon, "clients": clients, "delta": delta},
        attack="threshold",
        trials=trials,
        alpha=alpha,
        seed=seed,
        faithful=bool(faithful),
        counts={"fp": fp, "fn": fn},
        rates={"fpr": fp / half, "fnr": fn / half},
        epsilon_emp=float(epsilon_from_errors(fp / half, fn / half)),
        lower=max(0.0, float(lower_sides(fp, fn, half, alpha, delta))),
        exact=exact,
        exact_sd=exact_sd,
        claim=claim,
        delta=delta,
        limit=float(epsilon_from_errors(*rates)),
        estimates={"pooled": float(pooled(fp + fn, trials))} | _exact(clients, epsilon, delta),
        inconclusive=too_few(lambda n: float(lower_sides(0, 0, n // 2, alpha, delta)), trials, claim, "trials"),
        seconds=seconds,
    )


def shuffle_cell(
    epsilon: float, clients: int, delta: float = 1e-6, trials: int = 1000, alpha: float = 0.01, faithful: bool = False,
    d: int = 16, runs: int = 1, seed: int = 1,
) -> list[dict[str, Any]]:  # fmt: skip
    """Audit shuffled LDP-SGD, several times: one cell of a grid, as flat dictionaries.

    Parameters
    ----------
    epsilon, clients, delta, trials, alpha, seed, faithful, d
        As in `audit_shuffle`.
    runs : int
        Independent repetitions, each on its own stream.

    Returns
    -------
    list of dict
        See `ldpkit.auditors.result.repeat`.
    """
    given: dict[str, Any] = {"trials": trials, "alpha": alpha, "faithful": faithful, "d": d}
    return repeat(lambda own: [audit_shuffle(epsilon, clients, delta, seed=own, **given)], runs, seed)
