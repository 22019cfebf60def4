"""LDP-Auditor: empirical epsilon from how well an attack tells two inputs apart.

Source: Arcolezi and Gambs, "Revealing the True Cost of Locally Differentially
Private Protocols: An Auditing Perspective", PoPETs 2024(4), Algorithm 1.
"""

import functools
import itertools
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import KW_ONLY, dataclass, field
from typing import Annotated

import numpy as np

from .. import attacks, checks, stats
from ..attacks import Attack
from ..attacks.base import audited
from ..mechanisms import LocalRandomizer
from ..mechanisms.base import distribution_known
from ..progress import Progress
from ..rng import generator
from ..types import Array, Pair, Rates, Reports, Rng, Word
from . import independence
from .pair import PairAudit, direction, judged, makeable
from .result import AuditResult, Row

__all__ = ["Audit", "audit", "audits", "expected"]

_CHUNK = 2**18  # trials per stream where rounds are simulated because their counts have no law
# reports of a client that makes one at a time, and may take its time: they are counted in between
_FEW_REPORTS = 2**8
# coordinates held in memory at once when real reports are made: few enough for a core's cache
_REPORT_CELLS = 2**20
_JOBS = 16  # that a thread is given at a time: 10^12 trials are millions of them

_expected = functools.lru_cache(maxsize=256)(stats.expected_epsilon)


@dataclass(frozen=True)
class Audit(PairAudit):
    """Tell two inputs of a mechanism or client apart with one or several attacks.

    Parameters
    ----------
    mechanism : LocalRandomizer, such as a Client
        What is audited; it carries the claimed epsilon.
    attack : str or attack, or several
        ``"guess"`` (the paper's attack), ``"tight"`` (the optimal two-value event), or any object
        with the verbs listed in `ldpkit.attacks`. Real reports are made once and shown to all of
        them. Each result is valid by itself; `alpha` is not divided among them unless `questions`
        says so.
    trials : int
        Reports per input, at least 1; the paper uses 10^6.
    alpha : float
        Significance, in [1e-100, 1). The published statistic spends ``alpha / 4`` on each of two
        bounds, `AuditResult.lower` spends ``alpha / 2``, after alpha is divided by the number of
        questions.
    delta : float, optional
        Delta subtracted from the true-positive rate, in [0, 1). By default the mechanism's own for
        the bound, and what the paper's code subtracts for the statistic.
    faithful : bool
        Make every report in full, instead of drawing the counts from the exact law of the attack.
        Clients are always audited so, and so is a mechanism whose client was replaced
        (`ldpkit.mechanisms.base.distribution_known`) or an attack of whose answers no law is known.
    pair : (input, input), optional
        The two audited inputs; those furthest apart by default.
    both : bool
        Ask for the event of the second input, too, with half of alpha each. The papers ask for the
        first one's only.
    questions : int
        Among how many audits alpha is divided, the directions of each not counted; at least 1.
    threads : int
        Chunks counted at the same time, at least 1; does not change the result.

    Raises
    ------
    ValueError
        Naming the parameter that is out of range.
    """

    _: KW_ONLY
    questions: Annotated[int, checks.rule(checks.integer, 1)] = 1
    threads: Annotated[int, checks.rule(checks.integer, 1)] = 1
    chosen: tuple[Attack, ...] = field(
        init=False, repr=False, compare=False
    )  # with what they had to choose
    asked: tuple[Pair, ...] = field(
        init=False, repr=False, compare=False
    )  # the questions about the pair

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
            asked=(pair, pair[::-1])[: 1 + self.both],
        )

    @functools.cached_property
    def rates(self) -> list[Rates | None]:
        """Exact true- and false-positive rate of every attack, where they are known."""
        return [each[0] for each in self._rates]

    @functools.cached_property
    def _rates(self) -> list[list[Rates | None]]:
        """Those of every question."""
        return [[a.rates(self.mechanism, pair) for pair in self.asked] for a in self.chosen]

    @functools.cached_property
    def real(self) -> bool:
        """Whether every report is made: asked for, or as a count has no law to be drawn from."""
        own = zip(self.chosen, self.rates)
        return (
            self.faithful
            or not distribution_known(self.mechanism)
            or any(rates is None and _unknown(a, self.mechanism) for a, rates in own)
        )

    @functools.cached_property
    def expected(self) -> list[Rates | None]:
        """Exact mean and standard deviation of the published statistic of every attack, from the
        mechanism's law."""
        tail = stats.tail_mass(self.alpha)
        return [r and _expected(*r, self.trials, self.deltas[0], tail=tail) for r in self.rates]

    @property
    def deltas(self) -> tuple[float, float]:
        """What is subtracted for the published statistic, and for the bound."""
        own = self.mechanism.published_delta, self.mechanism.delta
        return own if self.delta is None else (self.delta, self.delta)

    def rows(self, runs: int = 1, seed: int = 1) -> list[Row]:
        """Audit several times; see `Auditor.rows`.

        The exact rates, where known, are ``exact_tpr`` and ``exact_fpr``.
        """
        exact = itertools.cycle(rates or (None, None) for rates in self.rates)
        return [
            row | {"exact_tpr": tpr, "exact_fpr": fpr}
            for row, (tpr, fpr) in zip(super().rows(runs, seed), exact)
        ]

    def run(self, seed: int = 1) -> list[AuditResult]:
        """Count, and judge the counts; one result per attack.

        Parameters
        ----------
        seed : int
            Non-negative. Every input and chunk of trials has its own stream, so the result does not
            depend on `threads`.

        Raises
        ------
        ValueError
            Saying what a client did wrong.
        """
        mechanism, chosen, trials, asked = self.mechanism, self.chosen, self.trials, self.asked
        foreign, faithful = not distribution_known(mechanism), self.real
        if faithful:
            makeable(mechanism)
            most = 2**16 if getattr(mechanism, "batched", True) else _FEW_REPORTS
            at_once = max(1, min(most, _REPORT_CELLS // mechanism.width))
        else:
            at_once = trials if all(self.rates) else _CHUNK
        starts = range(0, trials, at_once)
        names = [a.name for a in chosen]
        name = "audit", mechanism.name, mechanism.parameters, names, faithful, [*asked[0]]
        ordered = asked[0] if mechanism.report_type.ordered else None

        def judge(reports: Reports, rng: Rng) -> list[Array]:
            return [a.accepts(mechanism, reports, one, rng) for one in asked for a in chosen]

        def count(job: tuple[str, int]) -> tuple[list[int], independence.BatchSummary | None]:
            side, index = job
            size = min(at_once, trials - starts[index])
            rng, seen = generator(seed, *name, side, index), None
            if faithful:
                value = asked[0][side == "fp"]
                reports = mechanism.perturb(mechanism.inputs(value, size), rng)
                events = judge(reports, rng)
                hits = [int(np.count_nonzero(e)) for e in events]
                if foreign:
                    seen = independence.summarise(reports, events, ordered, keep=index < 16)
            else:
                hits = [a.sample(mechanism, size, side == "tp", rng, asked[0]) for a in chosen]
                if self.both:  # this input is the other question's second one
                    rng = generator(seed, *name, side, index, "turned")
                    hits += [a.sample(mechanism, size, side != "tp", rng, asked[1]) for a in chosen]
            progress.add(size, side, *hits[: len(chosen)])
            return hits, seen

        start, jobs = time.perf_counter(), itertools.product(("tp", "fp"), range(len(starts)))
        found = {side: np.zeros(len(asked) * len(chosen), np.int64) for side in ("tp", "fp")}
        summaries: dict[str, list[independence.BatchSummary]] = {"tp": [], "fp": []}
        with (
            Progress(2 * trials, "reports", mechanism.name) as progress,
            ThreadPoolExecutor(self.threads) as pool,
        ):
            # a client may swallow an interruption: it never gets this thread
            spread = pool.map if foreign or self.threads > 1 else map
            while some := list(itertools.islice(jobs, _JOBS * self.threads)):
                for (side, _), (hits, seen) in zip(some, spread(count, some)):
                    found[side] += hits
                    summaries[side] += [seen] if seen else []
        tail = stats.tail_mass(self.alpha, "valid") / (self.questions * len(asked))
        paper, valid = (self.deltas[0], stats.tail_mass(self.alpha)), (self.deltas[1], tail)
        counts = np.reshape([found["tp"], found["fp"]], (2, len(asked), -1))
        turns = [
            [
                direction(one, int(counts[j, j, i]), int(counts[1 - j, j, i]), trials, paper, valid)
                for j, one in enumerate(asked)
            ]
            for i in range(len(chosen))
        ]
        sound, claim = independence.Findings(), mechanism.epsilon
        if foreign:
            convicted = any(one["lower"] > claim for each in turns for one in each)
            sides, most = [*summaries.values()], min(at_once, trials)
            sound = independence.examine(
                mechanism, asked[0], sides, judge, trials, most, convicted, seed, *name
            )
        seconds = time.perf_counter() - start
        return [
            AuditResult(
                mechanism=mechanism.name,
                parameters=mechanism.parameters,
                attack=a.name,
                trials=trials,
                alpha=self.alpha,
                seed=seed,
                faithful=faithful,
                counts={key: each[0][key] for key in ("tp", "fp")},
                rates={key: each[0][key] for key in ("tpr", "fpr")},
                epsilon_emp=each[0]["epsilon_emp"],
                exact=exact,
                exact_sd=exact_sd,
                claim=claim,
                delta=self.deltas[1],
                pair=asked[0],
                questions=self.questions * len(asked),
                **judged(each, sound, trials, claim, self.deltas[1], tail, laws),
                scope=mechanism.scope,
                seconds=seconds,
            )
            for a, each, laws, (exact, exact_sd) in zip(
                chosen, turns, self._rates, [e or (None, None) for e in self.expected]
            )
        ]


def _unknown(attack: Attack, mechanism: LocalRandomizer) -> bool:
    """Whether an attack without exact rates cannot draw its counts in another way either."""
    return (
        isinstance(attack, attacks.Guess | attacks.TwoValueTest)
        and attack.route(mechanism) != "simulate"
    )


def audit(
    mechanism: LocalRandomizer,
    attack: str | Attack = "guess",
    *,
    seed: int = 1,
    until: str = "counted",
    **given: Word,
) -> AuditResult:
    """Audit a mechanism or client with one attack; the door to `Audit` and `SequentialAudit`.

    Parameters
    ----------
    mechanism, attack, **given
        The fields of `Audit`: ``trials``, ``alpha``, ``delta``, ``faithful``, ``pair``, ``both``,
        ``questions``, ``threads``; or those of `SequentialAudit`.
    seed : int
        See `Audit.run`.
    until : {"counted", "sure"}
        Count ``trials`` reports per input, or bet with that many at most and stop when sure.
    """
    if checks.one_of("until", until, ("counted", "sure")) == "sure":
        from ..sequential import SequentialAudit

        return SequentialAudit(mechanism, attack, **given).run(seed)[0]
    return audits(mechanism, [attack], seed=seed, **given)[0]


def audits(
    mechanism: LocalRandomizer, attack: Sequence[str | Attack], *, seed: int = 1, **given: Word
) -> list[AuditResult]:
    """Audit with several attacks at once; `audit` says the rest."""
    several = checks.instance("attack", attack, (list, tuple), "a list of attacks")
    return Audit(mechanism, several, **given).run(seed)


def expected(
    mechanism: LocalRandomizer, attack: str | Attack = "guess", **given: Word
) -> Rates | None:
    """Exact mean and standard deviation of the published statistic, from the mechanism's law.

    Parameters
    ----------
    mechanism, attack, **given
        The fields of `Audit`: ``trials``, ``alpha``, ``delta``, ``pair``.

    Returns
    -------
    (float, float) or None
        ``None`` where no law is known, as for a client.
    """
    return Audit(mechanism, [attack], **given).expected[0]
