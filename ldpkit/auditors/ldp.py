"""LDP-Auditor measures epsilon by how well an attack tells two inputs apart.

Source: Arcolezi and Gambs, "Revealing the True Cost of Locally Differentially
Private Protocols: An Auditing Perspective", PoPETs 2024(4), Algorithm 1.
"""

import functools
import itertools
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import KW_ONLY, dataclass, field
from typing import Annotated, Any

import numpy as np

from .. import attacks, checks, curve, stats
from ..attacks import Attack
from ..attacks.base import audited
from ..mechanisms import Client, LocalRandomizer
from ..mechanisms.base import distribution_known
from ..mechanisms.identity import digest
from ..progress import Progress
from ..rng import generator
from ..types import Array, Pair, Rates, Reports, Rng, Word
from . import independence
from .independence import Findings
from .pair import PairAudit, PairResult, direction, judged, makeable
from .result import Row

__all__ = ["Audit", "audit", "audits", "expected"]

_CHUNK = 2**18  # trials per stream, if rounds are simulated because their rates are unknown
# reports per chunk of a client that makes one at a time, which may be slow
_FEW_REPORTS = 2**8
# coordinates of real reports in memory at once, few enough for the cache of a core
_REPORT_CELLS = 2**20
SIDES = ("tp", "fp")
"""Names of the hits among reports of the first and of the second input, in the first direction."""
UNTIL = "counted", "sure"
"""When an audit ends: after a fixed number of reports, or as soon as the claim is refuted."""
_JOBS = 16  # jobs per thread that are listed at a time, because 10^12 trials are millions of jobs

_expected = functools.lru_cache(maxsize=256)(stats.expected_epsilon)


@dataclass(frozen=True)
class Audit(PairAudit):
    """Tell two inputs of a mechanism or client apart with one or several attacks.

    Parameters
    ----------
    mechanism : LocalRandomizer, such as a Client
        The audited mechanism, which states the claimed epsilon.
    attack : str or attack, or several
        ``"guess"`` (the paper's attack), ``"tight"`` (the likelihood-ratio event), or any object
        with the methods of `ldpkit.attacks.Attack`. Real reports are made once and shown to all
        attacks. Each result is valid by itself. Therefore `alpha` is divided among the attacks only
        if `questions` counts them.
    trials : int
        Reports per input, at least 1 (the paper uses 10^6).
    alpha : float
        Significance, in [1e-100, 1). First alpha is divided by the number of questions. Then the
        published statistic spends ``alpha / 4`` on each of two bounds, and `AuditResult.lower`
        spends ``alpha / 2``.
    delta : float, optional
        Delta subtracted from the true-positive rate, in [0, 1). By default the bound subtracts the
        mechanism's own delta, and the statistic subtracts the delta of the paper's code.
    faithful : bool
        Make every report in full, instead of sampling the counts from their exact distribution.
        Real reports are always made if no exact distribution is known. This is so for a client, for
        a mechanism whose client was replaced (`ldpkit.mechanisms.base.distribution_known`), and for
        an attack without exact rates.
    pair : (input, input), optional
        The two audited inputs, by default those furthest apart.
    both : bool
        Also audit the event of the second input, with half of alpha each. The papers audit the
        event of the first input only.
    questions : int
        Number of audits among which alpha is divided, without their directions, at least 1.
    threads : int
        Number of chunks that are counted at the same time, at least 1. It does not change the
        result.

    Attributes
    ----------
    chosen : tuple of attacks
        The attacks after they have chosen their events, before any report is made.
    directions : tuple of (input, input)
        The pair, and the reversed pair if `both`.

    Raises
    ------
    ValueError
        If a parameter is out of range. The message names it.
    """

    _: KW_ONLY
    questions: Annotated[int, checks.rule(checks.integer, 1)] = 1
    threads: Annotated[int, checks.rule(checks.integer, 1)] = 1
    chosen: tuple[Attack, ...] = field(init=False, repr=False, compare=False)
    directions: tuple[Pair, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        mechanism, chosen = audited(self.mechanism), [attacks.make(a) for a in self.named]
        if any(isinstance(a, attacks.Learned) for a in chosen):
            raise ValueError("attack learned needs until='sure': it learns while it bets")
        if self.faithful or not distribution_known(mechanism):
            makeable(mechanism)
        published, pair = stats.tail_mass(self.alpha), tuple(mechanism.pair(self.pair))
        checks.fix(
            self,
            attack=tuple(chosen),
            pair=pair,
            chosen=tuple(a.choose(mechanism, self.trials, published) for a in chosen),
            directions=(pair, pair[::-1]) if self.both else (pair,),
        )

    @functools.cached_property
    def rates(self) -> list[Rates | None]:
        """Exact true- and false-positive rate of every attack, or ``None`` if they are unknown."""
        return [each[0] for each in self._rates]

    @functools.cached_property
    def _rates(self) -> list[list[Rates | None]]:
        """Exact rates by attack and direction."""
        return [[a.rates(self.mechanism, pair) for pair in self.directions] for a in self.chosen]

    @functools.cached_property
    def real(self) -> bool:
        """Whether real reports are made: on request, or because some count cannot be sampled."""
        own = zip(self.chosen, self.rates)
        return (
            self.faithful
            or not distribution_known(self.mechanism)
            or any(rates is None and _unknown(a, self.mechanism) for a, rates in own)
        )

    @functools.cached_property
    def expected(self) -> list[Rates | None]:
        """Exact mean and standard deviation of the published statistic of every attack.

        An entry is ``None`` if the exact rates of the attack are unknown.
        """
        tail = stats.tail_mass(self.alpha)
        return [r and _expected(*r, self.trials, self.deltas[0], tail=tail) for r in self.rates]

    @property
    def deltas(self) -> tuple[float, float]:
        """The deltas that the published statistic and the bound subtract."""
        own = self.mechanism.published_delta, self.mechanism.delta
        return own if self.delta is None else (self.delta, self.delta)

    def rows(self, runs: int = 1, seed: int = 1) -> list[Row]:
        """Audit several times, as `Auditor.rows` does.

        The rows also have the exact rates ``exact_tpr`` and ``exact_fpr``, if they are known.
        """
        exact = itertools.cycle(rates or (None, None) for rates in self.rates)
        return [
            row | {"exact_tpr": tpr, "exact_fpr": fpr}
            for row, (tpr, fpr) in zip(super().rows(runs, seed), exact)
        ]

    def run(self, seed: int = 1) -> list[PairResult]:
        """Count the hits of every attack, and bound epsilon by the counts.

        Parameters
        ----------
        seed : int
            Seed of all random numbers, non-negative. Every input and chunk of trials has its own
            stream, so the result does not depend on `threads`.

        Returns
        -------
        list of PairResult
            One per attack.

        Raises
        ------
        ValueError
            If a client fails or returns invalid reports. The message states the error.
        """
        start = time.perf_counter()
        counts, checked = (
            self._real_hits(seed) if self.real else (self._sampled_hits(seed), Findings())
        )
        seconds, delta = time.perf_counter() - start, self.deltas[1]
        exact = [known or (None, None) for known in self.expected]
        by_attack = [self._directions(*hits) for hits in np.moveaxis(counts, 2, 0)]
        return [
            PairResult(
                mechanism=self.mechanism.name,
                parameters=self.mechanism.parameters,
                attack=attack.name,
                trials=self.trials,
                alpha=self.alpha,
                seed=seed,
                faithful=self.real,
                counts={key: directions[0][key] for key in ("tp", "fp")},
                rates={key: directions[0][key] for key in ("tpr", "fpr")},
                epsilon_emp=directions[0]["epsilon_emp"],
                exact=mean,
                exact_sd=sd,
                claim=self.mechanism.epsilon,
                delta=delta,
                pair=self.directions[0],
                questions=self.questions * len(self.directions),
                **judged(
                    directions,
                    checked,
                    self.trials,
                    self.mechanism.epsilon,
                    delta,
                    self.tail,
                    rates,
                ),
                scope=self.mechanism.scope,
                seconds=seconds,
                digest=digest(self.mechanism),
            )
            for attack, directions, rates, (mean, sd) in zip(
                self.chosen, by_attack, self._rates, exact
            )
        ]

    @property
    def tail(self) -> float:
        """Error probability of each of the two bounds of a direction."""
        return stats.tail_mass(self.alpha, "valid") / (self.questions * len(self.directions))

    @property
    def stream(self) -> tuple[object, ...]:
        """Name of the random stream."""
        m, names = self.mechanism, [a.name for a in self.chosen]
        return "audit", m.name, m.parameters, names, self.real, [*self.directions[0]]

    def _directions(self, first: Array, second: Array) -> list[Row]:
        """Return statistic and bound of one attack by direction.

        The hits among reports of the `first` and of the `second` input are given by direction.
        """
        paper, valid = (self.deltas[0], stats.tail_mass(self.alpha)), (self.deltas[1], self.tail)
        hits = [(first, second), (second, first)]
        return [
            direction(pair, int(own[i]), int(other[i]), self.trials, paper, valid)
            for i, (pair, (own, other)) in enumerate(zip(self.directions, hits))
        ]

    def _sampled_hits(self, seed: int) -> Array:
        """Sample the hits from their exact distributions, as an array of `_summed`."""

        def count(side: int, chunk: int, size: int) -> list[int]:
            name, hits = (*self.stream, SIDES[side], chunk), []
            for i, pair in enumerate(self.directions):
                rng = generator(seed, *name, *["turned"][:i])  # each direction has its own stream
                hits += [a.sample(self.mechanism, size, side == i, rng, pair) for a in self.chosen]
            return hits

        return self._summed(count, self.trials if all(self.rates) else _CHUNK)

    def _real_hits(self, seed: int) -> tuple[Array, Findings]:
        """Make all reports and count the hits, after checking the reports of a client.

        `_summed` describes the array.
        """
        mechanism, pair = self.mechanism, self.directions[0]
        makeable(mechanism)
        most = 2**16 if mechanism.batched else _FEW_REPORTS
        at_once = max(1, min(most, _REPORT_CELLS // mechanism.width))
        foreign = not distribution_known(mechanism)
        ordered = pair if mechanism.report_type.ordered else None
        seen: list[dict[int, independence.BatchSummary]] = [{}, {}]

        def judge(reports: Reports, rng: Rng) -> list[Array]:
            return [
                a.accepts(mechanism, reports, direction, rng)
                for direction in self.directions
                for a in self.chosen
            ]

        def count(side: int, chunk: int, size: int) -> list[int]:
            rng = generator(seed, *self.stream, SIDES[side], chunk)
            reports = mechanism.perturb(mechanism.inputs(pair[side], size), rng)
            events = judge(reports, rng)
            if foreign:
                kept = chunk < 16
                seen[side][chunk] = independence.summarise(reports, events, ordered, keep=kept)
            return [int(np.count_nonzero(event)) for event in events]

        counts = self._summed(count, at_once)
        if not foreign:
            return counts, Findings()
        refuted = any(
            direction["lower"] > mechanism.epsilon
            for hits in np.moveaxis(counts, 2, 0)
            for direction in self._directions(*hits)
        )
        summaries = [[side[chunk] for chunk in sorted(side)] for side in seen]
        most = min(at_once, self.trials)
        return counts, independence.examine(
            mechanism, pair, summaries, judge, self.trials, most, refuted, seed, *self.stream
        )

    def _summed(self, count: Callable[[int, int, int], list[int]], at_once: int) -> Array:
        """Return the hits among the reports of every input, shape (2, directions, attacks).

        Parameters
        ----------
        count : callable
            ``count(side, chunk, size)`` returns the hits of one chunk of one input, by direction
            and attack.
        at_once : int
            Largest number of reports in a chunk.
        """
        starts = range(0, self.trials, at_once)
        hits = np.zeros((2, len(self.directions) * len(self.chosen)), np.int64)

        def run_job(job: tuple[int, int]) -> tuple[int, list[int]]:
            side, chunk = job
            size = min(at_once, self.trials - starts[chunk])
            counted = count(side, chunk, size)
            progress.add(size, SIDES[side], *counted[: len(self.chosen)])
            return side, counted

        jobs = itertools.product(range(2), range(len(starts)))
        with (
            Progress(2 * self.trials, "reports", self.mechanism.name) as progress,
            ThreadPoolExecutor(self.threads) as pool,
        ):
            # a client may catch an interrupt, so it never runs in this thread
            spread = pool.map if self.real or self.threads > 1 else map
            while listed := list(itertools.islice(jobs, _JOBS * self.threads)):
                for side, counted in spread(run_job, listed):
                    hits[side] += counted
        return hits.reshape(2, len(self.directions), -1)


def _unknown(attack: Attack, mechanism: LocalRandomizer) -> bool:
    """Return whether an attack without exact rates cannot simulate its counts either."""
    return (
        isinstance(attack, attacks.Guess | attacks.TwoValueTest)
        and attack.route(mechanism) != "simulate"
    )


def audit(
    mechanism: LocalRandomizer,
    attack: str | Attack | None = None,
    *,
    seed: int = 1,
    until: str | None = None,
    claim: Any = None,
    **given: Word,
) -> PairResult:
    """Audit a mechanism or client with one attack.

    Parameters
    ----------
    mechanism, attack, **given
        The fields of `Audit` (``trials``, ``alpha``, ``delta``, ``faithful``, ``pair``, ``both``,
        ``questions``, ``threads``) or those of `SequentialAudit`. The default attack is ``guess``,
        and ``learned`` for a client whose reports may have any form.
    seed : int
        See `Audit.run`.
    until : {"counted", "sure"}
        ``counted`` runs an `Audit` of ``trials`` reports per input. ``sure`` runs a
        `SequentialAudit`, which stops earlier if the claim is refuted. By default an attack that
        learns runs until sure, and any other attack is counted.
    claim : str or Curve, optional
        A trade-off curve of `ldpkit.curve` that is audited instead of the claim that the mechanism
        states. Or its name, with its parameters: ``claim="gdp", mu=1.0``. The attack must be
        ``"learned"`` (the default then), and `until` must be ``"sure"``.

    Returns
    -------
    PairResult
        A `SequentialResult` if `until` is ``sure``.
    """
    if attack is None:
        free = isinstance(mechanism, Client) and mechanism.report == "any"
        attack = attacks.Learned.name if free or claim is not None else "guess"
    learns = getattr(attack, "name", attack) == attacks.Learned.name
    until = checks.one_of("until", until or UNTIL[learns], UNTIL)
    if claim is not None:
        checks.need(until == "sure", f"claim needs until='sure', got until={until!r}")
        given["curve"] = curve.claimed(claim, given)
    if until == "counted":
        return audits(mechanism, [attack], seed=seed, **given)[0]
    from ..sequential import SequentialAudit

    return SequentialAudit(mechanism, attack, **SequentialAudit.known(given)).run(seed)[0]


def audits(
    mechanism: LocalRandomizer, attack: Sequence[str | Attack], *, seed: int = 1, **given: Word
) -> list[PairResult]:
    """Audit a mechanism or client with several attacks on the same reports.

    Parameters are those of `audit`, and there is one result per attack.
    """
    several = checks.instance("attack", attack, (list, tuple), "a list of attacks")
    return Audit(mechanism, several, **Audit.known(given)).run(seed)


def expected(
    mechanism: LocalRandomizer, attack: str | Attack = "guess", **given: Word
) -> Rates | None:
    """Return the exact mean and standard deviation of the published statistic.

    Parameters
    ----------
    mechanism, attack, **given
        The fields of `Audit`: ``trials``, ``alpha``, ``delta``, ``pair``.

    Returns
    -------
    (float, float) or None
        ``None`` if the exact rates are unknown, as for a client.
    """
    return Audit(mechanism, [attack], **given).expected[0]
