"""Audits that compare the counts of every output in two groups of users.

The counts of a group are one multinomial sample from an exact distribution. Therefore the time does
not depend on the number of users. `kv` names the source.
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

Groups = list[list[Array]]  # pairs of counts to compare, each with one row per half of the users


class Draw:
    """Sample the counts of a group of users, or compute their expected values.

    Parameters
    ----------
    users : int
        Users per group.
    halves : bool
        Whether the counts have one row per half of the users, instead of one row.
    rng : numpy.random.Generator or None
        Without a generator, the counts are expected values.
    """

    def __init__(self, users: int, halves: bool, rng: Rng | None) -> None:
        self.rng = rng
        self.sizes = [users // 2, users - users // 2] if halves else [users]

    def counts(self, distribution: Array) -> Array:
        """Return the counts of all outputs, shape (rows, outputs)."""
        return (
            np.outer(self.sizes, distribution)
            if self.rng is None
            else self.rng.multinomial(self.sizes, distribution / distribution.sum())
        )

    def thin(self, counts: Array, rates: Array) -> Array:
        """Return the number of users for whom a guess hits, shape (rows, 1).

        `rates` has the probability of a hit for each output.
        """
        hits = counts * rates if self.rng is None else self.rng.binomial(counts, rates)
        return hits.sum(axis=1, keepdims=True)


def _limit(first: Array, second: Array) -> float:
    """Return the largest absolute log ratio of expected counts."""
    first, second = (side.sum(axis=0) for side in (first, second))
    seen = (first > 0) | (second > 0)
    with np.errstate(divide="ignore"):
        return float(np.max(np.abs(np.log(first[seen] / second[seen])), initial=0.0))


@dataclass(frozen=True)
class Compared(Auditor):
    """Base of the audits that compare groups of users by their counts of every output.

    Attributes
    ----------
    limits : tuple of float
        The statistic without sampling noise, by round.
    """

    _: KW_ONLY
    trials: int = 10**8
    estimator: str = "released"
    minimum: int = 5
    variation: float | None = None
    last: Annotated[bool, checks.flag] = False
    limits: tuple[float, ...] = field(init=False, repr=False, compare=False)

    @property
    @abstractmethod
    def description(self) -> Row:
        """The fields ``mechanism``, ``parameters``, ``attack`` and ``claim`` of the results."""

    @property
    @abstractmethod
    def stream(self) -> tuple[object, ...]:
        """Name of the random stream."""

    @abstractmethod
    def play(self, draw: Draw) -> Iterator[Groups]:
        """Yield the counts of every round."""

    def about(self, number: int) -> str:
        """Return a sentence that names the users of a round, if they are not a single user."""
        return ""

    def __post_init__(self) -> None:
        super().__post_init__()
        check(self.estimator, self.alpha, self.minimum, self.variation)
        halves = self.estimator in HALVED
        checks.fix(self, trials=checks.integer("trials", self.trials, 1 + halves, 10**12))
        expected = self.play(Draw(self.trials, halves, None))
        checks.fix(self, limits=tuple(_limit(*groups[0]) for groups in expected))

    def run(self, seed: int = 1) -> list[AuditResult]:
        """Sample the counts of every round, and bound epsilon by them.

        Parameters
        ----------
        seed : int
            Seed of all random numbers, non-negative. All estimators use the same counts, except
            that ``split`` and ``pooled`` use two halves.

        Returns
        -------
        list of AuditResult
            One per round. `limit` is the statistic without sampling noise. The attack ``separated``
            has no bound, because residuals are no counts. Its `lower` is 0; the attack ``probe``
            replaces it.
        """
        start, halves = time.perf_counter(), self.estimator in HALVED
        rng = generator(seed, "kv", *self.stream, halves)
        sampled = list(self.play(Draw(self.trials, halves, rng)))
        seconds = (time.perf_counter() - start) / len(sampled)
        rounds = list(enumerate(zip(sampled, self.limits), 1))
        return [
            self._judged(number, groups, limit, seed, seconds)
            for number, (groups, limit) in (rounds[-1:] if self.last else rounds)
        ]

    def _judged(
        self, number: int, groups: Groups, limit: float, seed: int, seconds: float
    ) -> AuditResult:
        """Return the result of one round."""
        fields, trials, (first, second) = self.description, self.trials, groups[0]
        outputs, alpha = first.shape[1], self.alpha / len(groups)
        value, output = statistic(
            first,
            second,
            trials,
            self.estimator,
            alpha=self.alpha,
            minimum=self.minimum,
            variation=self.variation,
        )
        counts = [int(side.sum(axis=0)[output]) if output >= 0 else 0 for side in groups[0]]
        estimator = self.estimator if self.estimator in HALVED else "valid"
        if fields["attack"] == "separated":
            bounds, weak = [0.0], "auditor separated has no valid bound"
        else:
            bounds = [statistic(a, b, trials, estimator, alpha=alpha)[0] for a, b in groups]
            best = functools.partial(_best, outputs, estimator, alpha)
            weak = too_few(best, trials, fields["claim"], "users per group")
        more = {"estimator": self.estimator, "round": number}
        return AuditResult(
            **fields | {"parameters": fields["parameters"] | more},
            trials=trials,
            alpha=self.alpha,
            seed=seed,
            faithful=False,
            counts={"outputs": outputs, "output": output, "first": counts[0], "second": counts[1]},
            rates={"first_rate": counts[0] / trials, "second_rate": counts[1] / trials},
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
    """Return the largest bound that so many users per group can show.

    Each group then sends a single output, which the other group never sends.
    """
    halves = [users // 2, users - users // 2] if estimator in HALVED else [users]
    first, second = np.zeros((2, len(halves), outputs), np.int64)
    first[:, 0], second[:, 1:2] = halves, np.array(halves)[:, None]
    return statistic(first, second, users, estimator, alpha=alpha)[0]


@dataclass(frozen=True)
class DistributionAudit(Compared):
    """Compare two given distributions over the same outputs.

    Parameters
    ----------
    first, second : float array, shape (outputs,)
        Probabilities of every output in the two groups.
    attack : str
        Name of the comparison in results.
    trials : int
        Users per group, in [1, 10^12].
    alpha, estimator, minimum, variation
        See `ldpkit.auditors.count_ratio.statistic`.
    guess : float array, shape (outputs,), optional
        Probability of a hit for each output (`guess_rates`). If it is given, only the hits are
        compared.
    mechanism, parameters, claim
        Fields of the results. The random stream depends on mechanism, parameters and attack.

    Raises
    ------
    ValueError
        If a parameter is out of range. The message names it.
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
        distributions = [
            checks.numeric(name, getattr(self, name)).astype(float) for name in ("first", "second")
        ]
        first, second = distributions
        sound = all((x >= 0).all() and abs(x.sum() - 1) <= 1e-9 for x in distributions)
        if first.ndim != 1 or first.shape != second.shape or not sound:
            got = " and ".join(f"shape {x.shape} adding to {x.sum():g}" for x in distributions)
            raise ValueError(
                "first and second must be probabilities of the same outputs, each adding to 1, got"
                f" {got}"
            )
        if self.guess is not None and np.shape(self.guess) != first.shape:
            raise ValueError(
                f"guess must hold one probability for each of the {first.size} outputs, got shape"
                f" {np.shape(self.guess)}"
            )
        if self.claim != np.inf:
            checks.real("claim", self.claim, 0)
        checks.fix(self, first=first, second=second, parameters=dict(self.parameters or {}))
        super().__post_init__()

    @property
    def description(self) -> Row:
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
        counts = [draw.counts(np.asarray(group)) for group in (self.first, self.second)]
        yield [counts if self.guess is None else [draw.thin(c, self.guess) for c in counts]]


def audit_distributions(
    first: ArrayLike, second: ArrayLike, *, seed: int = 1, **fields: Word
) -> AuditResult:
    """Compare two distributions over the same outputs.

    Parameters are the fields of `DistributionAudit`, and the `seed` of its `run`.
    """
    return DistributionAudit(first, second, **fields).run(seed)[0]
