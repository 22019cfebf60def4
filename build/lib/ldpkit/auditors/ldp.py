"""LDP-Auditor measures epsilon by how well an attack tells two inputs apart.

Source: Arcolezi and Gambs, "Revealing the True Cost of Locally Differentially
Private Protocols: An Auditing Perspective", PoPETs 2024(4), Algorithm 1.
"""

import functools
import itertools
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import KW_ONLY, dataclass, field
from typing import Annotated

import numpy as np

from .. import attacks, checks, stats
from ..attacks.base import Attack, FixedEvent, audited
from ..progress import Progress
from ..rng import generator
from ..types import Array, Pair, Rates, Row, Word
from .base import PairAudit, makeable
from .result import CLEAR, AuditResult, against, in_the_clear, restarted, too_few

__all__ = ["Audit"]

_CHUNK = 2**18  # trials per stream, if rounds are simulated because their rates are unknown
_FEW_REPORTS = 2**8  # per chunk of a client that makes one at a time, which may be slow
# coordinates of real reports in memory at once, few enough for the cache of a core
_REPORT_CELLS = 2**20
MEANING = (
    "The number of reports was fixed before the first one. The bound follows from the counts. It"
    " exceeds the true epsilon with probability {:g} at most, in all questions together."
)
SIDES = ("tp", "fp")
"""Names of the hits among reports of the first and of the second input, in the first direction."""
_JOBS = 16  # jobs per thread that are listed at a time, because 10^12 trials are millions of jobs

_expected = functools.lru_cache(maxsize=256)(stats.expected_epsilon)

ASSUMED = (
    "The bound assumes that the reports do not depend on each other, as the caller states; no test"
    " has shown it."
)
"""Sentence in the verdict of a counted audit of a client."""


@dataclass(frozen=True)
class Audit(PairAudit):
    """Tell two inputs of a mechanism or client apart with one or several attacks.

    Parameters
    ----------
    mechanism : Mechanism, such as a Client
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
        a mechanism whose client was replaced (`Mechanism.distribution_known`), and for
        an attack without exact rates.
    pair : (input, input), optional
        The two audited inputs, by default those furthest apart.
    both : bool
        Also audit the event of the second input, with half of alpha each. The papers audit the
        event of the first input only.
    questions : int
        Number of audits among which alpha is divided, without their directions, at least 1.
    independent : bool
        Whether the caller states that the reports of a client do not depend on each other. Bounds
        from counts assume this. Without the statement a client is not counted, and its
        `SequentialAudit` needs none. A mechanism of ours makes independent reports.
    threads : int
        Number of chunks that are counted at the same time, at least 1. It does not change the
        result.

    Attributes
    ----------
    chosen : tuple of attacks
        The attacks after they have chosen their events, before any report is made.
    directions : tuple of (input, input)
        The pair, and the reversed pair if `both`.
    deltas : (float, float)
        The deltas that the published statistic and the bound subtract.
    tail : float
        Error probability of each of the two bounds of a direction.

    Raises
    ------
    ValueError
        If a parameter is out of range. The message names it.
    """

    _: KW_ONLY
    questions: checks.Count = 1
    independent: checks.Flag = False
    threads: Annotated[
        checks.Count, "Number of chunks that are counted at the same time, at least 1."
    ] = 1
    chosen: tuple[Attack, ...] = field(init=False, repr=False, compare=False)
    directions: tuple[Pair, ...] = field(init=False, repr=False, compare=False)
    deltas: tuple[float, float] = field(init=False, repr=False, compare=False)
    tail: float = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        mechanism, chosen = audited(self.mechanism), [attacks.make(a) for a in self.named]
        checks.need(
            not any(isinstance(a, attacks.Learned) for a in chosen),
            "attack learned needs until='sure': it learns while it bets",
        )
        checks.need(
            self.independent or not mechanism.foreign,
            f"independent must be True to count the reports of {mechanism.name}: bounds from counts"
            " assume that they do not depend on each other; until='sure' bets and assumes nothing",
        )
        if self.faithful or not mechanism.distribution_known:
            makeable(mechanism)
        published, pair = stats.tail_mass(self.alpha), tuple(mechanism.pair(self.pair))
        own = mechanism.published_delta, mechanism.delta
        checks.fix(
            self,
            attack=tuple(chosen),
            pair=pair,
            chosen=tuple(a.choose(mechanism, self.trials, published) for a in chosen),
            directions=(pair, pair[::-1]) if self.both else (pair,),
            deltas=own if self.delta is None else (self.delta, self.delta),
            tail=stats.tail_mass(self.alpha, "valid") / (self.questions * (1 + self.both)),
        )

    @property
    def rates(self) -> list[Rates | None]:
        """Exact true- and false-positive rate of every attack, or ``None`` if they are unknown."""
        return [rates[0] for rates in self._rates]

    @functools.cached_property
    def _rates(self) -> list[list[Rates | None]]:
        """Exact rates by attack and direction."""
        return [[a.rates(self.mechanism, pair) for pair in self.directions] for a in self.chosen]

    @functools.cached_property
    def real(self) -> bool:
        """Whether real reports are made: on request, or because some count cannot be sampled."""
        return (
            self.faithful
            or not self.mechanism.distribution_known
            or any(
                rates is None
                and not (
                    isinstance(attack, FixedEvent) and attack.route(self.mechanism) == "simulate"
                )
                for attack, rates in zip(self.chosen, self.rates)
            )
        )

    @functools.cached_property
    def expected(self) -> list[Rates | None]:
        """Exact mean and standard deviation of the published statistic of every attack.

        An entry is ``None`` if the exact rates of the attack are unknown.
        """
        delta, tail = self.deltas[0], stats.tail_mass(self.alpha)
        return [r and _expected(*r, self.trials, delta, tail=tail) for r in self.rates]

    @functools.cached_property
    def stream(self) -> tuple[object, ...]:
        """Name of the random stream."""
        own, names = self.mechanism, [attack.name for attack in self.chosen]
        return "audit", own.name, own.parameters, names, self.real, [*self.directions[0]]

    def run(self, seed: int = 1) -> list[AuditResult]:
        """Count the hits of every attack, and bound epsilon by the counts.

        Parameters
        ----------
        seed : int
            Seed of all random numbers, non-negative. Every input and chunk of trials has its own
            stream, so the result does not depend on `threads`.

        Returns
        -------
        list of AuditResult
            One per attack.

        Raises
        ------
        ValueError
            If a client fails or returns invalid reports. The message states the error.
        """
        start, before = time.perf_counter(), self.mechanism.restarts
        hits = self._reported(seed) if self.real else self._sampled(seed)
        assumed = ASSUMED if self.mechanism.foreign else ""
        again = restarted(self.mechanism.restarts - before)
        known: Row = {"seed": seed, "about": " ".join(filter(None, [assumed, again]))}
        known["seconds"] = time.perf_counter() - start
        found = zip(self.chosen, self._bounded(hits), self._rates, self.expected)
        return [self._result(*each, **known) for each in found]

    def _sampled(self, seed: int) -> Array:
        """Sample the hits from their exact distributions, as an array of `_summed`."""

        def count(side: int, chunk: int, size: int) -> list[int]:
            name = *self.stream, SIDES[side], chunk
            # each direction has its own stream
            rngs = [generator(seed, *name), generator(seed, *name, "turned")]
            return [
                int(rng.binomial(size, rates[side != i]))
                if rates
                else attack.sample(self.mechanism, size, side == i, rng, pair)
                for i, (pair, rng, own) in enumerate(zip(self.directions, rngs, zip(*self._rates)))
                for attack, rates in zip(self.chosen, own)
            ]

        if not all(self.rates):
            return self._summed(count, _CHUNK)
        hits = [count(side, 0, self.trials) for side in range(2)]  # at once, whatever `trials`
        return np.reshape(hits, (2, len(self.directions), -1))

    def _reported(self, seed: int) -> Array:
        """Make all reports, and count the hits as `_summed` does."""
        mechanism, pair = self.mechanism, self.directions[0]
        makeable(mechanism)
        most = 2**16 if mechanism.batched else _FEW_REPORTS
        at_once = max(1, min(most, _REPORT_CELLS // mechanism.width))

        def count(side: int, chunk: int, size: int) -> list[int]:
            rng = generator(seed, *self.stream, SIDES[side], chunk)
            reports = mechanism.perturb(mechanism.inputs(pair[side], size), rng)
            return [
                int(np.count_nonzero(attack.accepts(mechanism, reports, direction, rng)))
                for direction in self.directions
                for attack in self.chosen
            ]

        return self._summed(count, at_once)

    def _summed(self, count: Callable[[int, int, int], list[int]], at_once: int) -> Array:
        """Return the hits of every input, shape (2, directions, attacks).

        ``count(side, chunk, size)`` returns the hits of one chunk of at most `at_once` reports of
        one input, by direction and attack.
        """
        hits = np.zeros((2, len(self.directions) * len(self.chosen)), np.int64)

        def finish(job: tuple[int, int]) -> tuple[int, list[int]]:
            (side, chunk), size = job, min(at_once, self.trials - job[1] * at_once)
            counted = count(side, chunk, size)
            progress.add(size, SIDES[side], *counted[: len(self.chosen)])
            return side, counted

        jobs = itertools.product(range(2), range(-(-self.trials // at_once)))
        with (
            Progress(2 * self.trials, "reports", self.mechanism.name) as progress,
            ThreadPoolExecutor(self.threads) as pool,
        ):
            # a client of somebody else may catch an interrupt, so it never runs in this thread
            ours = self.mechanism.distribution_known
            spread = map if ours and self.threads == 1 else pool.map
            while listed := list(itertools.islice(jobs, _JOBS * self.threads)):
                for side, counted in spread(finish, listed):
                    hits[side] += counted
        return hits.reshape(2, len(self.directions), -1)

    def _bounded(self, hits: Array) -> list[list[Row]]:
        """Return counts, rates, statistic and bound of every direction, attack by attack."""
        n, (given, delta) = self.trials, self.deltas
        # the second direction names the second input
        ways = range(len(self.directions))
        tp, fp = (np.array([hits[i ^ other, i] for i in ways]) for other in (0, 1))
        counted = {
            "tp": tp,
            "fp": fp,
            "tpr": tp / n,
            "fpr": fp / n,
            "epsilon_emp": stats.epsilon_lower(tp, fp, n, given, tail=stats.tail_mass(self.alpha)),
            "lower": np.maximum(0.0, stats.epsilon_lower(tp, fp, n, delta, tail=self.tail)),
        }
        return [
            [
                {"pair": pair} | {name: table[i, j].item() for name, table in counted.items()}
                for i, pair in enumerate(self.directions)
            ]
            for j in range(len(self.chosen))
        ]

    def _result(
        self,
        attack: Attack,
        directions: list[Row],
        rates: list[Rates | None],
        expected: Rates | None,
        **fields: Word,
    ) -> AuditResult:
        """Return the result of one attack: `directions` are its rows of `_bounded`, and `expected`
        the mean and standard deviation of its published statistic."""
        mechanism, trials, first = self.mechanism, self.trials, directions[0]
        # an event is called reversed by chance with probability 1e-6 at most
        swapped = [
            f"the event is likelier under the other input ({row['fp']:,} reports of value"
            f" {row['pair'][1]} show it and {row['tp']:,} of value {row['pair'][0]}): inputs"
            " swapped or numbered differently?"
            for row in directions
            if row["tp"] < row["fp"]
            and stats.clopper_pearson(row["tp"], trials, 5e-7)[1]
            < stats.clopper_pearson(row["fp"], trials, 5e-7)[0]
        ]
        reason = "the event is likelier under the other input" if swapped else ""
        if not reason and all(self._too_weak(*each) for each in zip(directions, rates)):
            reason = self._too_weak(first, rates[0])
        return AuditResult(
            mechanism=mechanism.name,
            parameters=mechanism.parameters,
            attack=attack.name,
            trials=trials,
            alpha=self.alpha,
            faithful=self.real,
            counts={key: first[key] for key in ("tp", "fp")},
            rates={key: first[key] for key in ("tpr", "fpr")},
            epsilon_emp=first["epsilon_emp"],
            lower=max(row["lower"] for row in directions),
            exact_rates=rates[0],
            exact=expected[0] if expected else None,
            exact_sd=expected[1] if expected else None,
            claim=mechanism.epsilon,
            delta=self.deltas[1],
            warnings=tuple(swapped),
            inconclusive=reason,
            scope=mechanism.scope,
            digest=mechanism.digest,
            pair=self.directions[0],
            directions=tuple(directions),
            questions=self.questions * len(self.directions),
            words=self._words(directions, expected),
            meaning=MEANING.format(self.alpha),
            **fields,
        )

    def _words(self, directions: list[Row], expected: Rates | None) -> dict[str, str]:
        """Return the lines of a result that only this auditor can write."""
        own = self.mechanism.parameters
        words = {
            "pair": ", and ".join(against(own, row["pair"]) for row in directions),
            "epsilon_emp": f"{directions[0]['epsilon_emp']:.4f} as the paper computes it",
            "reverse": "".join(
                f"tp = {row['tp']:,}, fp = {row['fp']:,},"
                f" lower = {stats.down(row['lower'], claim=self.mechanism.epsilon)}"
                for row in directions[1:]
            ),
        }
        unknown = {"exact": "unknown, like the exact distribution of these reports"}
        return words if expected else words | unknown

    def _too_weak(self, row: Row, rates: Rates | None) -> str:
        """Return why the event of a direction is too rare to refute the claim.

        The reports of the other input do not matter. The text is empty if the event is frequent
        enough.
        """
        tp, trials, delta, claim = row["tp"], self.trials, self.deltas[1], self.mechanism.epsilon
        prefix = ""
        if tp == 0:
            either = "under the input that it names" if row["fp"] else "under either input"
            prefix = f"the event was never seen {either}: "
        elif tp <= delta * trials:
            prefix = f"delta = {delta:g} is no less than the event's share of {tp / trials:g}: "
        seen = tp / trials if tp else float(stats.clopper_pearson(0, trials, self.tail)[1])
        rate = seen if rates is None else rates[0]

        rare = too_few(
            lambda n: _bound(tp if n == trials else min(n, round(n * rate)), n, delta, self.tail),
            trials,
            claim,
        )
        if rare:
            return prefix + rare
        return too_few(
            lambda n: _bound(in_the_clear(n), n, delta, self.tail), trials, claim, of=f" of {CLEAR}"
        )


@functools.lru_cache(maxsize=4096)
def _bound(tp: int, trials: int, delta: float, tail: float) -> float:
    """Return the bound from hits that the other input never has; it is the same in many audits."""
    return float(stats.epsilon_lower(tp, 0, trials, delta, tail=tail))
