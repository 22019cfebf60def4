"""Audit by reconstruction: from counted successes of an attack to epsilon.

The unknown record is uniform on m values and nothing else is known, as in local
DP. The optimal attack then names a value that the report supports (it is
`ldpkit.attacks.Guess`), every report succeeds with the same probability s, and
the advantage is ``s - 1/m``.

Two ways lead from s to epsilon: through the law of a known mechanism, or, for
any mechanism whatever, through the largest s that epsilon allows.

Source: Guerra-Balboa et al., "Understanding Disclosure Risk in Differential
Privacy", PVLDB 19(7), 2026, Corollary 5.4, Equation 12 and section 7.3.
"""

import dataclasses
import functools
import math
import time
from dataclasses import KW_ONLY, dataclass
from typing import Annotated

import numpy as np
import scipy

from .. import checks, stats
from ..attacks.distinguish import Guess, success_rate
from ..mechanisms import ASS, GRR, OUE, FloorSS, SupportOracle
from ..mechanisms.base import MAX_EPSILON, MIN_EPSILON, build
from ..mechanisms.subset import SubsetSelection
from ..rng import generator
from ..types import Word
from .base import Auditor
from .result import AuditResult, Row, finite, too_few

__all__ = ["PROTOCOLS", "RADAudit", "rad_uniform", "invert_blackbox", "invert_known", "estimate_sd",
           "epsilon_interval", "rad_result", "rad_audit"]  # fmt: skip

PROTOCOLS: dict[str, type[GRR | FloorSS | OUE]] = {"GRR": GRR, "SS": FloorSS, "OUE": OUE}
"""The paper's protocols; its SS rounds the subset size down."""


def rad_uniform(mechanism: SupportOracle) -> float:
    """Exact RAD of GRR, SS or OUE at a uniform prior (Examples 4.4 to 4.6), largest over all
    attacks."""
    return success_rate(_supporting(mechanism)) - 1 / mechanism.k


def _supporting(mechanism: SupportOracle) -> SupportOracle:
    return checks.instance("mechanism", mechanism, SupportOracle, "a GRR, SS or OUE")


def invert_blackbox(
    advantage: float, m: int, delta: float = 0.0, *, printed: bool = False
) -> float:
    """Smallest epsilon that allows an advantage, whatever the mechanism (Eq. 12); at least 0.

    Parameters
    ----------
    advantage : float
        RAD at a uniform prior on m records, at most ``(m - 1) / m``.
    m : int
    delta : float
        Delta of the claim; the printed equation has none and overstates epsilon then.

    Returns
    -------
    float
        Infinite if every report was reconstructed.
    """
    m = checks.integer("m", m, 2)
    advantage = checks.real("advantage", advantage, -1, (m - 1) / m + 1e-12)
    delta = 0.0 if printed else checks.real("delta", delta, 0, 1, closed="[)")
    up, down = 1 + (advantage - delta) * m, 1 - advantage * m / (m - 1)
    if down <= 1e-15:
        return math.inf
    return max(0.0, math.log(up / down)) if up > 0 else 0.0


def invert_known(protocol: str, advantage: float, m: int) -> float:
    """Smallest epsilon at which a known protocol has the advantage.

    Parameters
    ----------
    protocol : {"GRR", "SS", "OUE"}
    advantage, m
        As in `invert_blackbox`.

    Returns
    -------
    float
        0 below the protocol's range; infinite at or above its limit, which is
        ``(m - 1) / (2 m)`` for OUE. SS leaps where its subset shrinks: all
        advantages inside a leap give the same epsilon.
    """
    make = PROTOCOLS[checks.one_of("mechanism", protocol, PROTOCOLS)]
    m, advantage = checks.integer("m", m, 2), checks.real("advantage", advantage, -1, 1)

    def excess(epsilon: float) -> float:
        return rad_uniform(make(m, epsilon)) - advantage

    if excess(MIN_EPSILON) >= 0:
        return 0.0
    if excess(MAX_EPSILON) <= 0:
        return math.inf
    return scipy.optimize.bisect(excess, MIN_EPSILON, MAX_EPSILON, xtol=1e-9)


def estimate_sd(mechanism: SupportOracle, reports: int) -> float:
    """Standard deviation of the known-mechanism estimate from `reports` reports, to first order.

    The derivative of SS is taken at its subset size, beside the leaps.
    """
    s = success_rate(_supporting(mechanism))
    ends = [max(MIN_EPSILON, mechanism.epsilon - 1e-4), min(MAX_EPSILON, mechanism.epsilon + 1e-4)]
    if isinstance(mechanism, SubsetSelection):  # subsets keep their size, which would leap
        near = [success_rate(ASS(mechanism.k, epsilon, mechanism.omega)) for epsilon in ends]
    else:
        near = [success_rate(dataclasses.replace(mechanism, epsilon=e)) for e in ends]  # type: ignore[type-var]  # it is a dataclass
    slope = (near[1] - near[0]) / (ends[1] - ends[0])
    return math.sqrt(s * (1 - s) / checks.integer("reports", reports, 1)) / slope


def epsilon_interval(
    successes: int,
    reports: int,
    m: int,
    protocol: str | None = None,
    *,
    alpha: float = 0.02,
    delta: float = 0.0,
) -> tuple[float, float]:
    """What counted successes prove about epsilon, at level ``1 - alpha``.

    Parameters
    ----------
    successes, reports : int
        Right guesses among independent reports, of which every record must have equally many.
    m : int
        Number of records, uniform prior.
    protocol : {"GRR", "SS", "OUE"}, optional
        Trust that the reports are made by this protocol; without it the lower end
        holds for every (epsilon, delta)-LDP mechanism, and there is no upper one.
    alpha : float
        In [1e-100, 1); half of it on each side of the success probability (Clopper-Pearson).
    delta : float
        Delta of the claim.

    Returns
    -------
    low, high : float
    """
    m, alpha = checks.integer("m", m, 2), stats.significance(alpha)
    reports = checks.integer("reports", reports, 1)
    successes, delta = (
        checks.integer("successes", successes, 0, reports),
        checks.real("delta", delta, 0, 1, closed="[)"),
    )
    if protocol is not None:
        checks.one_of("mechanism", protocol, PROTOCOLS)
    return _interval(successes, reports, m, protocol, alpha, delta)


@functools.lru_cache(maxsize=4096)
def _interval(
    successes: int, reports: int, m: int, protocol: str | None, alpha: float, delta: float
) -> tuple[float, float]:
    low, high = (float(s) for s in stats.clopper_pearson(successes, reports, alpha / 2))
    if protocol is None:
        return invert_blackbox(low - 1 / m, m, delta), math.inf
    return invert_known(protocol, low - 1 / m, m), invert_known(protocol, high - 1 / m, m)


@dataclass(frozen=True, kw_only=True)
class ReconstructionResult(AuditResult):
    """What an audit of reconstruction returns.

    Attributes
    ----------
    total : int
        Reports in all, which the paper counts: what `row` calls ``trials``.
    interval : (float, float) or None
        Interval of epsilon at level ``1 - alpha`` that trusts the mechanism's distribution, where
        the mechanism is known.
    """

    total: int
    interval: tuple[float, float] | None = None

    def row(self) -> Row:
        """Flatten as `AuditResult.row` does."""
        ends = zip(("interval_low", "interval_high"), self.interval or ())
        return (
            super().row()
            | {"trials": self.total, "per_input": self.trials}
            | {name: finite(end) for name, end in ends}
        )


def rad_result(
    successes: int,
    reports: int,
    m: int,
    protocol: str | None = None,
    *,
    claim: float = math.inf,
    delta: float = 0.0,
    alpha: float = 0.02,
    **made: Word,
) -> ReconstructionResult:
    """Turn counted successes into a `ReconstructionResult`.

    Parameters
    ----------
    successes, reports, m, protocol, alpha, delta
        As in `epsilon_interval`.
    claim : float
        Claimed epsilon.
    **made
        ``seed``, ``faithful`` and ``seconds`` of simulated reports.

    Returns
    -------
    ReconstructionResult
        ``epsilon_emp`` is the paper's estimate (through the mechanism if it is
        known), ``lower`` the bound that holds for every mechanism, and
        ``interval`` the one that trusts the protocol.
    """
    if claim != math.inf:
        checks.real("claim", claim, 0)
    low, _ = epsilon_interval(successes, reports, m, alpha=alpha, delta=delta)
    advantage = successes / reports - 1 / m
    estimate = (
        invert_known(protocol, advantage, m) if protocol else invert_blackbox(advantage, m, delta)
    )
    known: Row = {"seed": None, "faithful": True} | made
    if protocol is not None:
        known["interval"] = epsilon_interval(successes, reports, m, protocol, alpha=alpha)
    if protocol and math.isfinite(claim):
        known["limit"] = claim
    known["inconclusive"] = too_few(
        lambda n: epsilon_interval(n, n, m, alpha=alpha, delta=delta)[0], reports, claim, "reports"
    )
    parameters = {"k": m} | ({"epsilon": claim} if math.isfinite(claim) else {})
    return ReconstructionResult(
        mechanism=protocol or "unknown",
        parameters=parameters,
        attack="reconstruction",
        trials=reports // m,
        total=reports,
        alpha=float(alpha),
        counts={"successes": successes},
        rates={"success_rate": successes / reports, "advantage": advantage},
        epsilon_emp=estimate,
        lower=low,
        exact=None,
        exact_sd=None,
        claim=claim,
        delta=delta,
        **known,
    )


@dataclass(frozen=True)
class RADAudit(Auditor):
    """Reconstruct every record equally often with the optimal attack, as the paper simulates it.

    Parameters
    ----------
    mechanism : GRR, FloorSS or OUE
        One of `PROTOCOLS`; its ``k`` records are equally likely.
    attack : {"reconstruction"}
        The optimal one.
    trials : int
        Reports per record, at least 1; the paper makes 1,000,000 in all.
    alpha : float
        See `epsilon_interval`.
    faithful : bool
        Make every report in full. Otherwise the number of successes is drawn from its law, the
        binomial, which is the same.

    Raises
    ------
    ValueError
        Naming the parameter that is out of range.
    """

    mechanism: GRR | FloorSS | OUE
    attack: Annotated[str, checks.rule(checks.one_of, ("reconstruction",))] = "reconstruction"
    _: KW_ONLY
    trials: Annotated[int, checks.rule(checks.integer, 1)] = 10**4
    faithful: Annotated[bool, checks.flag] = False

    def __post_init__(self) -> None:
        if type(self.mechanism) not in PROTOCOLS.values():
            raise ValueError(f"mechanism must be a GRR, FloorSS or OUE, got {self.mechanism!r}")
        super().__post_init__()

    @classmethod
    def target(cls, name: str, **parameters: Word) -> GRR | FloorSS | OUE:
        """Return the protocol of that name, see `PROTOCOLS`."""
        make = PROTOCOLS[checks.one_of("mechanism", name, PROTOCOLS)]
        return build(name, make, **parameters)

    def run(self, seed: int = 1) -> list[ReconstructionResult]:
        """Count the reconstructed reports, and judge them; one result."""
        mechanism, m = self.mechanism, self.mechanism.k
        protocol = next(name for name, each in PROTOCOLS.items() if each is type(mechanism))
        rng = generator(seed, "reconstruct", protocol, m, mechanism.epsilon, self.faithful)
        start = time.perf_counter()
        if self.faithful:
            chunk, guess = max(1, 2**22 // m), Guess()  # coordinates held in memory at once
            values = np.tile(np.arange(m), self.trials)
            parts = [values[i : i + chunk] for i in range(0, values.size, chunk)]
            found = sum(
                int((guess.predict(mechanism, mechanism.perturb(v, rng), rng) == v).sum())
                for v in parts
            )
        else:
            found = int(rng.binomial(self.trials * m, success_rate(mechanism)))
        made = {"seed": seed, "faithful": self.faithful, "seconds": time.perf_counter() - start}
        made |= {"claim": mechanism.epsilon, "alpha": self.alpha}
        return [rad_result(found, self.trials * m, m, protocol, **made)]


def rad_audit(
    mechanism: GRR | FloorSS | OUE, *, seed: int = 1, **fields: Word
) -> ReconstructionResult:
    """Simulate the paper's audit: make a `RADAudit` of these fields, and run it."""
    return RADAudit(mechanism, **fields).run(seed)[0]
