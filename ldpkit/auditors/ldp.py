"""LDP-Auditor: empirical epsilon from how well an attack tells two inputs apart.

Source: Arcolezi and Gambs, "Revealing the True Cost of Locally Differentially
Private Protocols: An Auditing Perspective", PoPETs 2024(4), Algorithm 1.
"""

import functools
import itertools
import time
from collections.abc import Callable, Sequence
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
from .independence import Findings
from .pair import PairAudit, PairResult, direction, judged, makeable
from .result import Row

__all__ = ["Audit", "audit", "audits", "expected"]

_CHUNK = 2**18  # trials per stream where rounds are simulated because their counts have no law
# reports of a client that makes one at a time, and may take its time: they are counted in between
_FEW_REPORTS = 2**8
# coordinates held in memory at once when real reports are made: few enough for a core's cache
_REPORT_CELLS = 2**20
SIDES = ("tp", "fp")
"""What hits among the reports of the first and of the second input are, to the first question."""
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
            asked=(pair, pair[::-1]) if self.both else (pair,),
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

    def run(self, seed: int = 1) -> list[PairResult]:
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
        start = time.perf_counter()
        counts, checked = self._made(seed) if self.real else (self._sampled(seed), Findings())
        seconds, delta = time.perf_counter() - start, self.deltas[1]
        exact = [known or (None, None) for known in self.expected]
        questions = [self._questions(*each) for each in np.moveaxis(counts, 2, 0)]
        return [
            PairResult(
                mechanism=self.mechanism.name,
                parameters=self.mechanism.parameters,
                attack=attack.name,
                trials=self.trials,
                alpha=self.alpha,
                seed=seed,
                faithful=self.real,
                counts={key: asked[0][key] for key in ("tp", "fp")},
                rates={key: asked[0][key] for key in ("tpr", "fpr")},
                epsilon_emp=asked[0]["epsilon_emp"],
                exact=mean,
                exact_sd=sd,
                claim=self.mechanism.epsilon,
                delta=delta,
                pair=self.asked[0],
                questions=self.questions * len(self.asked),
                **judged(
                    asked, checked, self.trials, self.mechanism.epsilon, delta, self.tail, rates
                ),
                scope=self.mechanism.scope,
                seconds=seconds,
            )
            for attack, asked, rates, (mean, sd) in zip(self.chosen, questions, self._rates, exact)
        ]

    @property
    def tail(self) -> float:
        """What each of the two bounds of a question may miss."""
        return stats.tail_mass(self.alpha, "valid") / (self.questions * len(self.asked))

    @property
    def stream(self) -> tuple[object, ...]:
        """Name of the random stream."""
        m, names = self.mechanism, [a.name for a in self.chosen]
        return "audit", m.name, m.parameters, names, self.real, [*self.asked[0]]

    def _questions(self, first: Array, second: Array) -> list[Row]:
        """Return what the hits of one attack show, by question; each input has a row of hits."""
        paper, valid = (self.deltas[0], stats.tail_mass(self.alpha)), (self.deltas[1], self.tail)
        hits = [(first, second), (second, first)]
        return [
            direction(pair, int(own[i]), int(other[i]), self.trials, paper, valid)
            for i, (pair, (own, other)) in enumerate(zip(self.asked, hits))
        ]

    def _sampled(self, seed: int) -> Array:
        """Sample the hits from their exact distributions; see `_summed`."""

        def count(side: int, chunk: int, size: int) -> list[int]:
            name, hits = (*self.stream, SIDES[side], chunk), []
            for i, pair in enumerate(self.asked):
                rng = generator(seed, *name, *["turned"][:i])  # each question has its own stream
                hits += [a.sample(self.mechanism, size, side == i, rng, pair) for a in self.chosen]
            return hits

        return self._summed(count, self.trials if all(self.rates) else _CHUNK)

    def _made(self, seed: int) -> tuple[Array, Findings]:
        """Make all reports, and count the hits; see `_summed`. Reports of a client are checked."""
        mechanism, pair = self.mechanism, self.asked[0]
        makeable(mechanism)
        most = 2**16 if mechanism.batched else _FEW_REPORTS
        at_once = max(1, min(most, _REPORT_CELLS // mechanism.width))
        foreign = not distribution_known(mechanism)
        ordered = pair if mechanism.report_type.ordered else None
        seen: list[dict[int, independence.BatchSummary]] = [{}, {}]

        def judge(reports: Reports, rng: Rng) -> list[Array]:
            return [
                a.accepts(mechanism, reports, one, rng) for one in self.asked for a in self.chosen
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
        convicted = any(
            one["lower"] > mechanism.epsilon
            for each in np.moveaxis(counts, 2, 0)
            for one in self._questions(*each)
        )
        summaries = [[side[chunk] for chunk in sorted(side)] for side in seen]
        most = min(at_once, self.trials)
        return counts, independence.examine(
            mechanism, pair, summaries, judge, self.trials, most, convicted, seed, *self.stream
        )

    def _summed(self, count: Callable[[int, int, int], list[int]], at_once: int) -> Array:
        """Return the hits among the reports of every input, shape (2, questions, attacks).

        Parameters
        ----------
        count : callable
            ``count(side, chunk, size)`` gives those of one chunk of one input, by question and
            attack.
        at_once : int
            Reports of a chunk, at most.
        """
        starts = range(0, self.trials, at_once)
        hits = np.zeros((2, len(self.asked) * len(self.chosen)), np.int64)

        def one(job: tuple[int, int]) -> tuple[int, list[int]]:
            side, chunk = job
            size = min(at_once, self.trials - starts[chunk])
            some = count(side, chunk, size)
            progress.add(size, SIDES[side], *some[: len(self.chosen)])
            return side, some

        jobs = itertools.product(range(2), range(len(starts)))
        with (
            Progress(2 * self.trials, "reports", self.mechanism.name) as progress,
            ThreadPoolExecutor(self.threads) as pool,
        ):
            # a client may swallow an interruption: it never gets this thread
            spread = pool.map if self.real or self.threads > 1 else map
            while some := list(itertools.islice(jobs, _JOBS * self.threads)):
                for side, counted in spread(one, some):
                    hits[side] += counted
        return hits.reshape(2, len(self.asked), -1)


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
) -> PairResult:
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
) -> list[PairResult]:
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
