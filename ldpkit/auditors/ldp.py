"""LDP-Auditor: empirical epsilon from how well an attack tells two inputs apart.

Source: Arcolezi and Gambs, "Revealing the True Cost of Locally Differentially
Private Protocols: An Auditing Perspective", PoPETs 2024(4), Algorithm 1.
"""

import functools
import itertools
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from .. import attacks, checks, stats, streams
from ..attacks import Attack
from ..attacks.base import audited
from ..mechanisms import Client, FrequencyOracle
from ..mechanisms import make as make_mechanism
from ..types import Pair, Rates
from .result import AuditResult, repeat

__all__ = ["audit", "audits", "audit_cell", "rows", "expected"]

_FAST_CHUNK = 2**18  # trials per stream of the fast samplers
_REPORT_CELLS = 2**20  # coordinates held in memory at once when real reports are made: few enough for a core's cache


def _chunks(trials: int, size: int) -> list[int]:
    return [min(size, trials - start) for start in range(0, trials, size)]


def audit(
    mechanism: FrequencyOracle | Client,
    attack: str | Attack = "guess",
    *,
    trials: int = 10**6,
    alpha: float = 0.01,
    seed: int = 1,
    delta: float | None = None,
    faithful: bool = False,
    pair: Pair | None = None,
    threads: int = 1,
) -> AuditResult:
    """Audit a mechanism or client with a distinguishability attack.

    Parameters
    ----------
    mechanism : FrequencyOracle or Client
        What is audited; it carries the claimed epsilon.
    attack : str or attack
        ``"guess"`` (the paper's attack), ``"tight"`` (the optimal two-value
        event), or any object with the verbs listed in `ldpkit.attacks`.
    trials : int
        Reports per input, at least 1; the paper uses 10^6.
    alpha : float
        Significance in (0, 1). The published statistic spends ``alpha / 4`` on
        each of two bounds, `AuditResult.lower` spends ``alpha / 2``.
    seed : int
        Non-negative. Every input and chunk of trials has its own stream, so the
        result does not depend on `threads`.
    delta : float, optional
        Delta subtracted from the true-positive rate, in [0, 1). By default the
        mechanism's own for the bound, and what the paper's code subtracts for
        the statistic.
    faithful : bool
        Make every report with the real client instead of drawing only the
        coordinates that decide the attack. Clients are always audited so.
    pair : (int, int), optional
        The two audited values; ``(0, k - 1)`` by default.
    threads : int
        Chunks counted at the same time, at least 1.

    Returns
    -------
    AuditResult

    Raises
    ------
    ValueError
        Naming the parameter that is out of range, or what a client did wrong.
    """
    return audits(
        mechanism, [attack], trials=trials, alpha=alpha, seed=seed, delta=delta,
        faithful=faithful, pair=pair, threads=threads,
    )[0]  # fmt: skip


def audits(
    mechanism: FrequencyOracle | Client,
    attack: Sequence[str | Attack],
    *,
    trials: int = 10**6,
    alpha: float = 0.01,
    seed: int = 1,
    delta: float | None = None,
    faithful: bool = False,
    pair: Pair | None = None,
    threads: int = 1,
) -> list[AuditResult]:
    """Audit with several attacks at once; real reports are made once and shown to all of them.

    Parameters
    ----------
    attack : sequence of str or attack
        Each result is valid by itself; `alpha` is not divided among them.
    mechanism, trials, alpha, seed, delta, faithful, pair, threads
        As in `audit`.

    Returns
    -------
    list of AuditResult
    """
    audited(mechanism)
    chosen = [attacks.make(a) for a in checks.instance("attack", attack, (list, tuple), "a list of attacks")]
    if not chosen:
        raise ValueError(f"attack must name at least one attack, got {attack!r}")
    faithful = checks.flag("faithful", faithful)
    trials, threads = checks.integer("trials", trials, 1, 10**12), checks.integer("threads", threads, 1)
    published, valid = (stats.tail_mass(alpha, name) for name in ("published", "valid"))
    chosen = [a.declare(mechanism, trials, published) for a in chosen]
    if delta is not None:
        delta = checks.real("delta", delta, 0, 1, closed="[)")
    stated, proven = (mechanism.published_delta, mechanism.delta) if delta is None else (delta, delta)
    first, second = mechanism.pair(pair)
    faithful = faithful or isinstance(mechanism, Client)
    chunks = _chunks(trials, max(1, min(2**16, _REPORT_CELLS // mechanism.width)) if faithful else _FAST_CHUNK)
    name = ("audit", mechanism.name, mechanism.parameters, [a.name for a in chosen], faithful, [first, second])

    def count(job: tuple[str, int]) -> list[int]:
        side, index = job
        rng = streams.generator(seed, *name, side, index)
        if not faithful:
            return [a.sample(mechanism, chunks[index], side == "tp", rng) for a in chosen]
        reports = mechanism.perturb(mechanism.inputs(first if side == "tp" else second, chunks[index]), rng)
        return [int(np.count_nonzero(a.accepts(mechanism, reports, (first, second), rng))) for a in chosen]

    start = time.perf_counter()
    with ThreadPoolExecutor(threads) as pool:
        found = np.array(list(pool.map(count, itertools.product(("tp", "fp"), range(len(chunks))))))
    seconds = time.perf_counter() - start
    results = []
    for a, (tp, fp) in zip(chosen, found.reshape(2, len(chunks), -1).sum(axis=1).T.tolist()):
        exact, exact_sd = expected(mechanism, a, trials=trials, alpha=alpha, delta=stated) or (None, None)
        results.append(AuditResult(
            mechanism=mechanism.name,
            parameters=mechanism.parameters,
            attack=a.name,
            trials=trials,
            alpha=float(alpha),
            seed=seed,
            faithful=faithful,
            counts={"tp": tp, "fp": fp},
            rates={"tpr": tp / trials, "fpr": fp / trials},
            epsilon_emp=float(stats.epsilon_lower(tp, fp, trials, stated, tail=published)),
            lower=max(0.0, float(stats.epsilon_lower(tp, fp, trials, proven, tail=valid))),
            exact=exact,
            exact_sd=exact_sd,
            claim=mechanism.epsilon,
            delta=proven,
            seconds=seconds,
        ))  # fmt: skip
    return results


def expected(
    mechanism: FrequencyOracle | Client,
    attack: str | Attack = "guess",
    *,
    trials: int = 10**6,
    alpha: float = 0.01,
    delta: float | None = None,
) -> Rates | None:
    """Exact mean and standard deviation of the published statistic, from the mechanism's law.

    Parameters
    ----------
    mechanism, attack, trials, alpha, delta
        As in `audit`.

    Returns
    -------
    (float, float) or None
        ``None`` where no law is known, as for a client.
    """
    audited(mechanism)
    attack, trials = attacks.make(attack), checks.integer("trials", trials, 1, 10**12)
    tail = stats.tail_mass(alpha)
    rates = attack.declare(mechanism, trials, tail).rates(mechanism)
    if rates is None:
        return None
    delta = mechanism.published_delta if delta is None else checks.real("delta", delta, 0, 1, closed="[)")
    return _expected(*rates, trials, delta, tail)


@functools.lru_cache(maxsize=256)
def _expected(tpr: float, fpr: float, trials: int, delta: float, tail: float) -> Rates:  # repeated runs of a cell share it
    return stats.expected_epsilon(tpr, fpr, trials, delta, tail=tail)


def audit_cell(
    mechanism: str,
    attack: str | list[str] = "guess",
    trials: int = 10**6,
    alpha: float = 0.01,
    seed: int = 1,
    faithful: bool = False,
    runs: int = 1,
    **parameters: Any,
) -> list[dict[str, Any]]:
    """Audit a mechanism given by name, several times: one cell of a grid, as flat dictionaries.

    Parameters
    ----------
    mechanism : str
        A name of `ldpkit.mechanisms.MECHANISMS`.
    attack, trials, alpha, seed, faithful
        As in `audit`.
    runs : int
        Independent repetitions, each on its own stream.
    **parameters
        Parameters of the mechanism.

    Returns
    -------
    list of dict
        One `AuditResult.row` per run, with the number of the `run` and the
        exact rates, without the time.
    """
    return rows(make_mechanism(mechanism, **parameters), attack, trials, alpha, seed, faithful, runs)


def rows(
    mechanism: FrequencyOracle | Client,
    attack: str | Attack | list[Any] = "guess",
    trials: int = 10**6,
    alpha: float = 0.01,
    seed: int = 1,
    faithful: bool = False,
    runs: int = 1,
) -> list[dict[str, Any]]:
    """Audit a mechanism or client `runs` times with one attack or a list of them; see `audit_cell`."""
    audited(mechanism)
    chosen = [attacks.make(a) for a in (attack if isinstance(attack, list) else [attack])]
    trials = checks.integer("trials", trials, 1, 10**12)
    chosen = [a.declare(mechanism, trials, stats.tail_mass(alpha)) for a in chosen]
    found = repeat(lambda own: audits(mechanism, chosen, trials=trials, alpha=alpha, seed=own, faithful=faithful), runs, seed)
    laws = [a.rates(mechanism) or (None, None) for a in chosen]
    return [row | {"exact_tpr": tpr, "exact_fpr": fpr} for row, (tpr, fpr) in zip(found, itertools.cycle(laws))]
