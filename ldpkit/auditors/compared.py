"""Two groups of users whose counts of every output are compared: from their laws to statements
about epsilon.

Every group is one multinomial draw from an exact law, so the number of users costs nothing. See
`kv` for the source.
"""

import functools
import time
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, field
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike

from .. import checks
from ..rng import generator
from ..types import Array, Rng, Word
from .base import Auditor
from .count_ratio import HALVED, check, statistic
from .result import AuditResult, Row, too_few

__all__ = ["DistributionAudit", "audit_distributions"]

Groups = list[list[Array]]  # pairs of counts to compare, one row per half of the users


class Draw:
    """Counts of a group of users, one row per half if halves are needed: random with a generator,
    expected without."""

    def __init__(self, users: int, halves: bool, rng: Rng | None) -> None:
        self.rng = rng
        self.sizes = [users // 2, users - users // 2] if halves else [users]

    def counts(self, law: Array) -> Array:
        return (
            np.outer(self.sizes, law)
            if self.rng is None
            else self.rng.multinomial(self.sizes, law / law.sum())
        )

    def thin(self, counts: Array, rates: Array) -> Array:
        """Users of whom a guess hits, if each output leads to a hit with its own probability, shape
        (rows, 1)."""
        hits = counts * rates if self.rng is None else self.rng.binomial(counts, rates)
        return hits.sum(axis=1, keepdims=True)


def _limit(first: Array, second: Array) -> float:
    """Largest absolute log ratio of the expected counts."""
    first, second = (side.sum(axis=0) for side in (first, second))
    seen = (first > 0) | (second > 0)
    with np.errstate(divide="ignore"):
        return float(np.max(np.abs(np.log(first[seen] / second[seen])), initial=0.0))


@dataclass(frozen=True)
class Compared(Auditor):
    """Groups of users whose counts of every output are compared."""

    _: KW_ONLY
    trials: int = 10**8
    estimator: str = "released"
    minimum: int = 5
    variation: float | None = None
    last: Annotated[bool, checks.flag] = False
    limits: tuple[float, ...] = field(
        init=False, repr=False, compare=False
    )  # the statistic without noise, by round

    @property
    @abstractmethod
    def said(self) -> Row:
        """What results say of mechanism, parameters, attack and claim."""

    @property
    @abstractmethod
    def stream(self) -> tuple[object, ...]:
        """Name of the random stream."""

    @abstractmethod
    def play(self, draw: Draw) -> Iterator[Groups]:
        """Give the counts of every round."""

    def about(self, number: int) -> str:
        """Of whom the verdict of a round is said, if not of one user."""
        return ""

    def __post_init__(self) -> None:
        super().__post_init__()
        check(self.estimator, self.alpha, self.minimum, self.variation)
        halves = self.estimator in HALVED
        checks.fix(self, trials=checks.integer("trials", self.trials, 1 + halves, 10**12))
        expected = self.play(Draw(self.trials, halves, None))
        checks.fix(self, limits=tuple(_limit(*groups[0]) for groups in expected))

    def run(self, seed: int = 1) -> list[AuditResult]:
        """Draw the counts of every round, and say what they show.

        Parameters
        ----------
        seed : int
            Non-negative. Estimators see the same counts, except that ``split`` and ``pooled`` draw
            two halves.

        Returns
        -------
        list of AuditResult
            One per round; `limit` is the statistic without noise. Residuals are no counts, so
            ``separated`` has no bound and `lower` is 0: audit ``probe`` instead.
        """
        start, halves = time.perf_counter(), self.estimator in HALVED
        rng = generator(seed, "kv", *self.stream, halves)
        played = list(self.play(Draw(self.trials, halves, rng)))
        seconds = (time.perf_counter() - start) / len(played)
        rounds = list(enumerate(zip(played, self.limits), 1))
        return [
            self._judged(number, groups, limit, seed, seconds)
            for number, (groups, limit) in (rounds[-1:] if self.last else rounds)
        ]

    def _judged(
        self, number: int, groups: Groups, limit: float, seed: int, seconds: float
    ) -> AuditResult:
        """What one round shows."""
        said, trials, (first, second) = self.said, self.trials, groups[0]
        outputs, share = first.shape[1], self.alpha / len(groups)
        value, output = statistic(
            first,
            second,
            trials,
            self.estimator,
            alpha=self.alpha,
            minimum=self.minimum,
            variation=self.variation,
        )
        one, two = (int(side.sum(axis=0)[output]) if output >= 0 else 0 for side in groups[0])
        sure = self.estimator if self.estimator in HALVED else "valid"
        if said["attack"] == "separated":
            bounds, weak = [0.0], "auditor separated has no bound that holds"
        else:
            bounds = [statistic(a, b, trials, sure, alpha=share)[0] for a, b in groups]
            best = functools.partial(_best, outputs, sure, share)
            weak = too_few(best, trials, said["claim"], "users per group")
        more = {"estimator": self.estimator, "round": number}
        return AuditResult(
            **said | {"parameters": said["parameters"] | more},
            trials=trials,
            alpha=self.alpha,
            seed=seed,
            faithful=False,
            counts={"outputs": outputs, "output": output, "first": one, "second": two},
            rates={"first_rate": one / trials, "second_rate": two / trials},
            epsilon_emp=value,
            lower=max(bounds),
            exact=None,
            exact_sd=None,
            limit=limit,
            inconclusive=weak,
            about=self.about(number),
            seconds=seconds,
        )


def _best(outputs: int, estimator: str, alpha: float, users: int) -> float:
    """The largest bound that so many users per group can show: two outputs, each seen in one group
    only."""
    halves = [users // 2, users - users // 2] if estimator in HALVED else [users]
    one, two = np.zeros((2, len(halves), outputs), np.int64)
    one[:, 0], two[:, 1:2] = halves, np.array(halves)[:, None]
    return statistic(one, two, users, estimator, alpha=alpha)[0]


@dataclass(frozen=True)
class DistributionAudit(Compared):
    """Compare two given laws over the same outputs.

    Parameters
    ----------
    first, second : float array, shape (outputs,)
        Probabilities of every output in the two groups.
    attack : str
        How results call what is compared.
    trials : int
        Users per group, in [1, 10^12].
    alpha, estimator, minimum, variation
        See `ldpkit.auditors.count_ratio.statistic`.
    guess : float array, shape (outputs,), optional
        Audit one event only: a guess that hits with these probabilities, by output (`guess_rates`).
    mechanism, parameters, claim
        What results are to say; mechanism, parameters and attack name the random stream, too.

    Raises
    ------
    ValueError
        Naming the parameter that is out of range.
    """

    first: ArrayLike
    second: ArrayLike
    attack: str = "hkv"
    _: KW_ONLY
    guess: Annotated[Array | None, checks.rule(checks.reals, 0, 1)] = None
    mechanism: str = "law"
    parameters: Row | None = None
    claim: float = np.inf

    def __post_init__(self) -> None:
        laws = [
            checks.numeric(name, getattr(self, name)).astype(float) for name in ("first", "second")
        ]
        sound = all((x >= 0).all() and abs(x.sum() - 1) <= 1e-9 for x in laws)
        if laws[0].ndim != 1 or laws[0].shape != laws[1].shape or not sound:
            got = " and ".join(f"shape {x.shape} adding to {x.sum():g}" for x in laws)
            raise ValueError(
                "first and second must be probabilities of the same outputs, each adding to 1, got"
                f" {got}"
            )
        if self.guess is not None and np.shape(self.guess) != laws[0].shape:
            raise ValueError(
                f"guess must hold one probability for each of the {laws[0].size} outputs, got shape"
                f" {np.shape(self.guess)}"
            )
        if self.claim != np.inf:
            checks.real("claim", self.claim, 0)
        checks.fix(self, first=laws[0], second=laws[1], parameters=dict(self.parameters or {}))
        super().__post_init__()

    @property
    def said(self) -> Row:
        return {
            "mechanism": self.mechanism,
            "parameters": self.parameters,
            "attack": self.attack,
            "claim": float(self.claim),
        }

    @property
    def stream(self) -> tuple[object, ...]:
        return self.mechanism, self.parameters, self.attack, self.trials

    def play(self, draw: Draw) -> Iterator[Groups]:
        counts = [draw.counts(np.asarray(law)) for law in (self.first, self.second)]
        yield [counts if self.guess is None else [draw.thin(c, self.guess) for c in counts]]


def audit_distributions(
    first: ArrayLike, second: ArrayLike, *, seed: int = 1, **fields: Word
) -> AuditResult:
    """Compare two distributions over the same outputs: make a `DistributionAudit` of these fields,
    and run it."""
    return DistributionAudit(first, second, **fields).run(seed)[0]
