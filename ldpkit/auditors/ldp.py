"""LDP-Auditor: empirical epsilon from how well an attack tells two inputs apart.

Source: Arcolezi and Gambs, "Revealing the True Cost of Locally Differentially
Private Protocols: An Auditing Perspective", PoPETs 2024(4), Algorithm 1.
"""

import functools
import itertools
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from .. import attacks, checks, stats, streams
from ..attacks import Attack
from ..attacks.base import audited
from ..kinds import Subset
from ..mechanisms import LocalRandomizer
from ..mechanisms import make as make_mechanism
from ..mechanisms.base import lawful
from ..progress import Progress
from ..types import Array, Pair, Rates, Reports, Rng
from . import sanity
from .result import AuditResult, repeat, too_few

__all__ = ["audit", "audits", "audit_cell", "rows", "expected"]

_CHUNK = 2**18  # trials per stream where rounds are simulated because their counts have no law
_CHANCE = 5e-7  # of each of two bounds: an event is called turned round by chance with probability 1e-6 at most
_FEW_REPORTS = 2**8  # reports of a client that makes one at a time, and may take its time: they are counted in between
_REPORT_CELLS = 2**20  # coordinates held in memory at once when real reports are made: few enough for a core's cache


def _mapped(pool: ThreadPoolExecutor, threads: int, function: Callable[[Any], Any], jobs: Iterable[Any]) -> Iterator[Any]:
    """What ``pool.map`` gives, in the same order, but looking only a few jobs ahead: 10^12 trials are millions of them."""
    ahead: deque[Future[Any]] = deque()
    try:
        for job in jobs:
            ahead.append(pool.submit(function, job))
            if len(ahead) > 4 * threads:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()
    finally:
        for future in ahead:
            future.cancel()


def audit(
    mechanism: LocalRandomizer,
    attack: str | Attack = "guess",
    *,
    trials: int = 10**6,
    alpha: float = 0.01,
    seed: int = 1,
    delta: float | None = None,
    faithful: bool = False,
    pair: Pair | None = None,
    both: bool = True,
    threads: int = 1,
) -> AuditResult:
    """Audit a mechanism or client with a distinguishability attack.

    Parameters
    ----------
    mechanism : LocalRandomizer, such as a Client
        What is audited; it carries the claimed epsilon.
    attack : str or attack
        ``"guess"`` (the paper's attack), ``"tight"`` (the optimal two-value
        event), or any object with the verbs listed in `ldpkit.attacks`.
    trials : int
        Reports per input, at least 1; the paper uses 10^6.
    alpha : float
        Significance in [1e-100, 1). The published statistic spends ``alpha / 4`` on
        each of two bounds, `AuditResult.lower` spends ``alpha / 2``, after alpha
        is divided by the number of questions.
    seed : int
        Non-negative. Every input and chunk of trials has its own stream, so the
        result does not depend on `threads`.
    delta : float, optional
        Delta subtracted from the true-positive rate, in [0, 1). By default the
        mechanism's own for the bound, and what the paper's code subtracts for
        the statistic.
    faithful : bool
        Make every report with the real client instead of drawing the counts
        from the exact law of the attack. Clients are always audited so, and
        so is a mechanism whose client was replaced (`ldpkit.mechanisms.base.lawful`).
    pair : (int, int), optional
        The two audited values; ``(0, k - 1)`` by default.
    both : bool
        Ask for the event of the second value, too, with half of alpha each. The
        papers ask for the first one's only, and so do the grids (`audit_cell`).
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
        faithful=faithful, pair=pair, both=both, threads=threads,
    )[0]  # fmt: skip


def audits(
    mechanism: LocalRandomizer,
    attack: Sequence[str | Attack],
    *,
    trials: int = 10**6,
    alpha: float = 0.01,
    seed: int = 1,
    delta: float | None = None,
    faithful: bool = False,
    pair: Pair | None = None,
    both: bool = True,
    questions: int = 1,
    threads: int = 1,
) -> list[AuditResult]:
    """Audit with several attacks at once; real reports are made once and shown to all of them.

    Parameters
    ----------
    attack : sequence of str or attack
        Each result is valid by itself; `alpha` is not divided among them unless `questions` says so.
    questions : int
        Among how many audits alpha is divided, the directions of each not counted; at least 1.
    mechanism, trials, alpha, seed, delta, faithful, pair, both, threads
        As in `audit`.

    Returns
    -------
    list of AuditResult
    """
    audited(mechanism)
    chosen = [attacks.make(a) for a in checks.instance("attack", attack, (list, tuple), "a list of attacks")]
    if not chosen:
        raise ValueError(f"attack must name at least one attack, got {attack!r}")
    faithful, both = checks.flag("faithful", faithful), checks.flag("both", both)
    trials, threads = checks.integer("trials", trials, 1, 10**12), checks.integer("threads", threads, 1)
    published = stats.tail_mass(alpha)
    questions = checks.integer("questions", questions, 1) * (1 + both)
    chosen = [a.declare(mechanism, trials, published) for a in chosen]
    if delta is not None:
        delta = checks.real("delta", delta, 0, 1, closed="[)")
    stated, proven = (mechanism.published_delta, mechanism.delta) if delta is None else (delta, delta)
    first, second = mechanism.pair(pair)
    foreign = not lawful(mechanism)
    faithful = faithful or foreign
    most = 2**16 if getattr(mechanism, "batched", True) else _FEW_REPORTS
    known = not faithful and all(a.rates(mechanism, (first, second)) for a in chosen)
    size = max(1, min(most, _REPORT_CELLS // mechanism.width)) if faithful else trials if known else _CHUNK
    starts = range(0, trials, size)
    name = ("audit", mechanism.name, mechanism.parameters, [a.name for a in chosen], faithful, [first, second])
    asked = [(first, second), (second, first)][: 1 + both]
    ordered = (first, second) if isinstance(mechanism.kind, Subset) else None

    def judge(reports: Reports, rng: Rng) -> list[Array]:
        return [a.accepts(mechanism, reports, one, rng) for one in asked for a in chosen]

    def count(job: tuple[str, int]) -> tuple[list[int], sanity.Glimpse | None]:
        side, index = job
        size = min(starts.step, trials - starts[index])
        rng = streams.generator(seed, *name, side, index)
        if faithful:
            reports = mechanism.perturb(mechanism.inputs(first if side == "tp" else second, size), rng)
            events = judge(reports, rng)
            hits = [int(np.count_nonzero(e)) for e in events]
            seen = sanity.glimpse(reports, events, ordered, keep=index < 16) if foreign else None
        else:
            hits, seen = [a.sample(mechanism, size, side == "tp", rng, asked[0]) for a in chosen], None
            if both:  # this input is the other question's second one
                rng = streams.generator(seed, *name, side, index, "turned")
                hits += [a.sample(mechanism, size, side != "tp", rng, asked[1]) for a in chosen]
        progress.add(size, side, *hits[: len(chosen)])
        return hits, seen

    start, found = time.perf_counter(), np.zeros((2, len(asked) * len(chosen)), np.int64)
    seen: tuple[list[sanity.Glimpse], ...] = ([], [])
    jobs = ((side, index) for side in ("tp", "fp") for index in range(len(starts)))
    with Progress(2 * trials, "reports", mechanism.name) as progress, ThreadPoolExecutor(threads) as pool:
        for number, (hits, look) in enumerate(_mapped(pool, threads, count, jobs)):
            found[number // len(starts)] += hits
            seen[number // len(starts)].extend([look] if look else [])
    hits = found.reshape(2, len(asked), -1)
    sharp, claim = stats.tail_mass(alpha, "valid") / questions, mechanism.epsilon
    turns = [[_direction(one, int(hits[j, j, i]), int(hits[1 - j, j, i]), trials, (stated, published), (proven, sharp))
              for j, one in enumerate(asked)] for i in range(len(chosen))]  # fmt: skip
    sound = sanity.Findings()
    if foreign:
        convicted = any(one["lower"] > claim for each in turns for one in each)
        most = min(starts.step, trials)
        sound = sanity.examine(mechanism, (first, second), seen, judge, trials, most, convicted, seed, *name)
    seconds = time.perf_counter() - start
    made: dict[str, Any] = {"mechanism": mechanism.name, "parameters": mechanism.parameters, "trials": trials, "alpha": float(alpha),
                            "seed": seed, "faithful": faithful, "claim": claim, "delta": proven, "seconds": seconds,
                            "pair": (first, second), "questions": questions}  # fmt: skip
    results = []
    for a, each in zip(chosen, turns):
        exact, exact_sd = expected(mechanism, a, trials=trials, alpha=alpha, delta=stated, pair=asked[0]) or (None, None)
        results.append(AuditResult(
            attack=a.name,
            counts={key: each[0][key] for key in ("tp", "fp")},
            rates={key: each[0][key] for key in ("tpr", "fpr")},
            epsilon_emp=each[0]["epsilon_emp"],
            exact=exact,
            exact_sd=exact_sd,
            **_judged(each, sound, trials, claim, proven, sharp),
            scope=mechanism.scope,
            **made,
        ))  # fmt: skip
    return results


def _direction(
    pair: Pair, tp: int, fp: int, trials: int, paper: tuple[float, float], valid: tuple[float, float]
) -> dict[str, Any]:
    """What one question about the pair shows; `paper` and `valid` hold the delta and the tail of statistic and bound."""
    statistic, bound = (float(stats.epsilon_lower(tp, fp, trials, delta, tail=tail)) for delta, tail in (paper, valid))
    return {"pair": pair, "tp": tp, "fp": fp, "tpr": tp / trials, "fpr": fp / trials,
            "epsilon_emp": statistic, "lower": max(0.0, bound)}  # fmt: skip


def _judged(
    turns: list[dict[str, Any]], sound: sanity.Findings, trials: int, claim: float, delta: float, tail: float
) -> dict[str, Any]:
    """The bound of all directions, and whether it may be relied on."""
    lower, invalid, warnings, why = max(t["lower"] for t in turns), sound.dependent, list(sound.warnings), []
    if sound.fixed and lower <= claim and stats.epsilon_ceiling(trials, tail=tail) > claim:
        invalid = invalid or sound.fixed
    turned = [t for t in turns if not invalid and stats.clopper_pearson(t["tp"], trials, _CHANCE)[1]
              < stats.clopper_pearson(t["fp"], trials, _CHANCE)[0]]  # fmt: skip
    for t in turned:
        warnings.append(
            f"the event is likelier under the other input ({t['fp']:,} reports of value {t['pair'][1]} show it and {t['tp']:,} of "
            f"value {t['pair'][0]}): inputs swapped or numbered differently?"
        )
        why.append("the event is likelier under the other input")
    if sound.constant:
        why.append(sound.constant)
    weak = [_weak(t, trials, claim, delta, tail) for t in turns]
    why = why or (weak[:1] if all(weak) else [])
    if invalid:
        lower, turns = 0.0, [t | {"lower": 0.0} for t in turns]
    return {"lower": lower, "invalid": invalid, "inconclusive": why[0] if why else "", "warnings": tuple(warnings),
            "directions": tuple(turns)}  # fmt: skip


def _weak(turn: dict[str, Any], trials: int, claim: float, delta: float, tail: float) -> str:
    """Why an event that is seen so often could not have refuted the claim, whatever the other input; empty if it could."""
    tp = turn["tp"]
    if tp == 0 and turn["fp"] == 0:
        prefix = "the event was never seen under either input: "
    elif tp <= delta * trials:
        prefix = f"delta = {delta:g} is no less than the event's share of {tp / trials:g}: "
    else:
        prefix = ""
    share = tp / trials if tp else float(stats.clopper_pearson(0, trials, tail)[1])

    def bound(n: int) -> float:
        hits = tp if n == trials else min(n, round(n * share))
        return float(stats.epsilon_lower(hits, 0, n, delta, tail=tail))

    text = too_few(bound, trials, claim)
    return prefix + text if text else ""


def expected(
    mechanism: LocalRandomizer,
    attack: str | Attack = "guess",
    *,
    trials: int = 10**6,
    alpha: float = 0.01,
    delta: float | None = None,
    pair: Pair | None = None,
) -> Rates | None:
    """Exact mean and standard deviation of the published statistic, from the mechanism's law.

    Parameters
    ----------
    mechanism, attack, trials, alpha, delta, pair
        As in `audit`.

    Returns
    -------
    (float, float) or None
        ``None`` where no law is known, as for a client.
    """
    audited(mechanism)
    attack, trials = attacks.make(attack), checks.integer("trials", trials, 1, 10**12)
    tail = stats.tail_mass(alpha)
    rates = attack.declare(mechanism, trials, tail).rates(mechanism, pair)
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
    both: bool = False,
    **parameters: Any,
) -> list[dict[str, Any]]:
    """Audit a mechanism given by name, several times: one cell of a grid, as flat dictionaries.

    Parameters
    ----------
    mechanism : str
        A name of `ldpkit.mechanisms.MECHANISMS`.
    attack, trials, alpha, seed, faithful, both
        As in `audit`, except that one direction is asked about unless `both` is set.
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
    return rows(make_mechanism(mechanism, **parameters), attack, trials, alpha, seed, faithful, runs, both)


def rows(
    mechanism: LocalRandomizer,
    attack: str | Attack | list[Any] = "guess",
    trials: int = 10**6,
    alpha: float = 0.01,
    seed: int = 1,
    faithful: bool = False,
    runs: int = 1,
    both: bool = False,
) -> list[dict[str, Any]]:
    """Audit a mechanism or client `runs` times with one attack or a list of them; see `audit_cell`."""
    audited(mechanism)
    chosen = [attacks.make(a) for a in (attack if isinstance(attack, list) else [attack])]
    trials = checks.integer("trials", trials, 1, 10**12)
    chosen = [a.declare(mechanism, trials, stats.tail_mass(alpha)) for a in chosen]
    given: dict[str, Any] = {"trials": trials, "alpha": alpha, "faithful": faithful, "both": both}
    found = repeat(lambda own: audits(mechanism, chosen, seed=own, **given), runs, seed)
    laws = [a.rates(mechanism) or (None, None) for a in chosen]
    return [row | {"exact_tpr": tpr, "exact_fpr": fpr} for row, (tpr, fpr) in zip(found, itertools.cycle(laws))]
