"""Audits that compare the counts of every output in two groups of users, and their estimators.

The counts of a group are one multinomial sample from an exact distribution. Therefore the time does
not depend on the number of users. `kv` names the source.

An event that is chosen before the counts are seen needs two bounds
(`ldpkit.stats.epsilon_lower`). The estimators of KV-Auditor report the largest of many ratios
instead. Therefore a valid bound must correct for this choice. It either applies Bonferroni's
correction, or it chooses on one half of the users and judges on the other half.
"""

import time
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, field
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike

from .. import checks, stats
from ..rng import generator
from ..types import Array, Rng, Row
from .base import Auditor
from .result import AuditResult, Claim, too_few

__all__ = ["ESTIMATORS", "DistributionAudit", "statistic"]

ESTIMATORS = ("released", "printed", "valid", "split", "pooled")
"""Names of the estimators, see `statistic`."""

HALVED = ("split", "pooled")
"""Estimators that choose on the first half of the users and judge on the second half."""

Estimator = Annotated[
    str, checks.rule(checks.one_of, ESTIMATORS), f"One of {', '.join(ESTIMATORS)}."
]
Minimum = Annotated[
    checks.Count,
    "Smallest count that released uses, at least 1 (the released code uses 5 for key-value and 1"
    " for frequency protocols).",
]
Variation = Annotated[float | None, checks.rule(checks.real, 0)]


def _frequent(counts: Array, variation: float) -> Array:
    """Return which outputs the filter of the released code keeps, bool array (outputs,).

    It keeps the largest counts until their coefficient of variation reaches `variation`.
    """
    order = np.argsort(-counts, kind="stable")
    size, total = np.arange(1, counts.size + 1), np.cumsum(counts[order])
    spread = np.sqrt(
        np.maximum(
            size * np.cumsum(counts[order].astype(float) ** 2) / np.maximum(total, 1.0) ** 2 - 1, 0
        )
    )
    reached = np.flatnonzero(spread >= variation)
    return np.isin(np.arange(counts.size), order[: reached[0] + 1 if reached.size else None])


@checks.checked
def statistic(
    first: Annotated[Array, checks.numeric],
    second: Annotated[Array, checks.numeric],
    users: checks.Count,
    estimator: Estimator = "released",
    *,
    alpha: Annotated[float, lambda _, alpha: stats.significance(alpha)] = 0.05,
    minimum: Minimum = 5,
    variation: Variation = None,
) -> tuple[float, int]:
    """Estimate epsilon from the counts of all outputs in two groups.

    The estimators use Clopper-Pearson intervals of the rates of each output. L/U divides the lower
    end in one group by the upper end in the other group, and U/L divides the upper end by the lower
    end.

    Parameters
    ----------
    first, second : int array, shape (halves, outputs)
        Counts in each group, over the **whole** alphabet. ``split`` and ``pooled`` need two rows,
        one per half of the users. The other estimators add the rows.
    users : int
        Users per group.
    estimator : {"released", "printed", "valid", "split", "pooled"}
        - ``released``: the largest ``|ln(L/U)|`` or ``|ln(U/L)|`` among outputs with at least
          `minimum` reports in both groups (released code of KV-Auditor);
        - ``printed``: the largest ``ln(U/L)`` among outputs seen in both groups (Algorithm 3);
        - ``valid``: the largest ``ln(L/U)`` in either direction, where alpha is divided among four
          bounds per output;
        - ``split``: the bound ``ln(L/U)`` in the second half, for the output and direction with the
          largest bound in the first half;
        - ``pooled``: as ``split``, but for all outputs together whose ratio in the first half
          exceeds the best threshold.
    alpha : float
        Significance, in (0, 1). The last three estimators exceed the true epsilon with probability
        at most alpha.
    minimum : int
        Smallest count that ``released`` uses, at least 1 (the released code uses 5 for key-value
        and 1 for frequency protocols).
    variation : float, optional
        Threshold of the undocumented filter of rare outputs in the released code, which uses 6. By
        default nothing is filtered.

    Returns
    -------
    value : float
        ``-inf`` if no output qualifies. The last three estimators are at least 0.
    output : int
        Number of the output that decides, -1 if there is none.

    Raises
    ------
    ValueError
        If a parameter is out of range, or if the counts have other shapes.
    """
    checks.need(
        first.ndim == 2 and first.shape[1:] == second.shape[1:] and first.size,
        "first and second must be counts (halves, outputs) of the same outputs, got"
        f" {first.shape} and {second.shape}",
    )
    if estimator in HALVED:
        return _halved(first, second, users, estimator == "pooled", alpha)
    first, second = first.sum(axis=0), second.sum(axis=0)
    least = {"released": minimum, "printed": 1, "valid": 0}[estimator]
    used: Array = (first >= least) & (second >= least)
    if variation is not None:
        used &= _frequent(first, variation) & _frequent(second, variation)
    used = np.flatnonzero(used)
    if not used.size:
        return -np.inf, -1
    tail = alpha / (4 * first.size) if estimator == "valid" else alpha / 2
    (low1, low2), (up1, up2) = stats.clopper_pearson([first[used], second[used]], users, tail)
    with np.errstate(divide="ignore"):
        over, under = np.log(low1 / up2), np.log(up1 / low2)
    score = {
        "released": np.maximum(np.abs(over), np.abs(under)),
        "printed": under,  # an upper end is no lower bound, see the errata
        "valid": np.maximum(over, -under),
    }[estimator]
    best = int(np.argmax(score))
    return max(float(score[best]), 0.0 if estimator == "valid" else -np.inf), int(used[best])


def _halved(
    first: Array, second: Array, users: int, pooled: bool, alpha: float
) -> tuple[float, int]:
    """Return what `statistic` returns for ``split``, or for ``pooled``.

    Outputs and direction are chosen on the first half of the users and judged on the second half.
    """
    checks.need(
        len(first) == len(second) == 2,
        f"split and pooled need counts of two halves of the users, got {len(first)} and"
        f" {len(second)}",
    )
    best = -np.inf, -1, 0.0  # bound in the first half, output, bound in the second half
    for up, down in ((first, second), (second, first)):
        order = np.argsort(-(up[0] + 1) / (down[0] + 1), kind="stable")
        counts = [up[0][order], down[0][order]]
        ends = np.arange(order.size)
        if pooled:  # a few hundred thresholds suffice
            ends = np.unique(np.geomspace(1, order.size, 400).astype(int)) - 1
            counts = [np.cumsum(side)[ends] for side in counts]
        # a larger tail would let rare outputs win by chance
        bound = stats.epsilon_lower(counts[0], counts[1], users // 2, tail=alpha / (4 * ends.size))
        winner = int(np.argmax(bound))
        if bound[winner] > best[0]:
            chosen = order[: ends[winner] + 1] if pooled else order[winner]
            hits = up[1][chosen].sum(), down[1][chosen].sum()
            value = float(stats.epsilon_lower(*hits, users - users // 2, tail=alpha / 2))
            best = bound[winner], int(order[ends[winner]]), value
    return max(0.0, best[2]), best[1]


Groups = list[list[Array]]  # pairs of counts to compare, each with one row per half of the users


class Draw:
    """Sample the counts of a group of users, or compute their expected values without a generator.

    The counts have one row, or with `halves` one row per half of the users.
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
    estimator: Estimator = "released"
    minimum: Minimum = 5
    variation: Variation = None
    last: checks.Flag = False
    limits: tuple[float, ...] = field(init=False, repr=False, compare=False)

    @abstractmethod
    def described(self, number: int) -> Row:
        """Return the fields of the result of a round that do not depend on counts.

        They are ``mechanism``, ``parameters``, ``attack``, ``claim`` and, if the users are not a
        single user, ``about``.
        """

    @property
    @abstractmethod
    def stream(self) -> tuple[object, ...]:
        """Name of the random stream."""

    @abstractmethod
    def play(self, draw: Draw) -> Iterator[Groups]:
        """Yield the counts of every round."""

    def __post_init__(self) -> None:
        super().__post_init__()
        halves = self.estimator in HALVED
        checks.fix(self, trials=checks.integer("trials", self.trials, 1 + halves, 10**12))
        rounds = self.play(Draw(self.trials, halves, None))
        checks.fix(self, limits=tuple(_limit(*groups[0]) for groups in rounds))

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
        draw = Draw(self.trials, halves, generator(seed, "kv", *self.stream, halves))
        sampled = list(self.play(draw))
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
        fields, trials, (first, second) = self.described(number), self.trials, groups[0]
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
            # one group, whose statistic is the bound already
            used = self.estimator, self.alpha, self.variation
            bounds = [
                value
                if used == (estimator, alpha, None)
                else statistic(a, b, trials, estimator, alpha=alpha)[0]
                for a, b in groups
            ]
            # the largest bound follows if the groups send one output each, and not the same
            halved, tail = estimator in HALVED, alpha / (2 if estimator in HALVED else 4 * outputs)
            weak = too_few(
                lambda n: stats.epsilon_ceiling(n - n // 2 if halved else n, tail=tail),
                trials,
                fields["claim"],
                "users per group",
            )
        fields["words"] = fields.get("words", {}) | {
            "epsilon_emp": f"{value:.4f} as the paper computes it"
        }
        fields["parameters"] |= {"estimator": self.estimator, "round": number}
        return AuditResult(
            **fields,
            trials=trials,
            alpha=self.alpha,
            seed=seed,
            faithful=False,
            counts={"outputs": outputs, "output": output, "first": counts[0], "second": counts[1]},
            rates={"first_rate": counts[0] / trials, "second_rate": counts[1] / trials},
            epsilon_emp=value,
            lower=max(bounds),
            limit=limit,
            inconclusive=weak,
            seconds=seconds,
        )


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
        See `statistic`.
    guess : float array, shape (outputs,), optional
        Probability of a hit for each output (`guess_rates`). If it is given, only the hits are
        compared.
    mechanism, parameters, claim
        Fields of the results. The random stream depends on mechanism, parameters and attack.
    """

    first: ArrayLike
    second: ArrayLike
    attack: str = "hkv"
    _: KW_ONLY
    guess: Annotated[Array | None, checks.rule(checks.reals, 0, 1)] = None
    mechanism: str = "law"
    parameters: Row | None = None
    claim: Claim = np.inf

    def __post_init__(self) -> None:
        groups = [checks.numeric(n, getattr(self, n)).astype(float) for n in ("first", "second")]
        (first, second), guess = groups, groups[0] if self.guess is None else self.guess
        got = " and ".join(f"shape {x.shape} adding to {x.sum():g}" for x in groups)
        checks.need(
            first.ndim == 1
            and first.shape == second.shape
            and all((x >= 0).all() and abs(x.sum() - 1) <= 1e-9 for x in groups),
            "first and second must be probabilities of the same outputs, each adding to 1, got"
            f" {got}",
        )
        checks.need(
            np.shape(guess) == first.shape,
            f"guess must hold one probability for each of the {first.size} outputs, got shape"
            f" {np.shape(guess)}",
        )
        checks.fix(self, first=first, second=second, parameters=dict(self.parameters or {}))
        super().__post_init__()

    def described(self, number: int) -> Row:
        return {
            "mechanism": self.mechanism,
            "parameters": dict(self.parameters or {}),
            "attack": self.attack,
            "claim": float(self.claim),
        }

    @property
    def stream(self) -> tuple[object, ...]:
        return self.mechanism, self.parameters, self.attack, self.trials

    def play(self, draw: Draw) -> Iterator[Groups]:
        counts = [draw.counts(np.asarray(group)) for group in (self.first, self.second)]
        yield [counts if self.guess is None else [draw.thin(c, self.guess) for c in counts]]
