"""Audits by reconstruction.

The unknown record is uniform on m values and nothing else is known, as in local DP. The optimal
attack then names a value that the report supports (`ldpkit.attacks.Guess`). It succeeds on every
report with the same probability s, and its advantage is ``s - 1/m``.

The probability s implies epsilon in two ways. For a known mechanism, its exact distribution gives s
for every epsilon. For any mechanism, epsilon limits s.

Source: Guerra-Balboa et al., "Understanding Disclosure Risk in Differential
Privacy", PVLDB 19(7), 2026, Examples 4.4 to 4.6, Corollary 5.4, Equation 12 and section 7.3.
"""

import math
import time
from dataclasses import KW_ONLY, dataclass
from typing import Annotated

import numpy as np
import scipy

from .. import checks, stats
from ..attacks.base import Guess, success_rate
from ..mechanisms import GRR, OUE, FloorSS, SupportOracle
from ..mechanisms.base import MAX_EPSILON, MIN_EPSILON, build
from ..rng import generator
from ..stats import Delta
from ..types import Word
from .base import Auditor
from .result import AuditResult, Claim, Row, finite, too_few

# fmt: off
__all__ = [
    "PROTOCOLS", "RADAudit", "ReconstructionResult", "epsilon_interval", "invert_blackbox",
    "invert_known", "rad_audit", "rad_result", "rad_uniform"
]
# fmt: on

Supporting = Annotated[
    SupportOracle, checks.rule(checks.instance, SupportOracle, "a GRR, SS or OUE")
]
Records = Annotated[int, checks.rule(checks.integer, 2)]

PROTOCOLS: dict[str, type[GRR | FloorSS | OUE]] = {"GRR": GRR, "SS": FloorSS, "OUE": OUE}
"""The paper's protocols by name. Its SS rounds the subset size down."""


@checks.checked
def rad_uniform(mechanism: Supporting) -> float:
    """Return the exact RAD of GRR, SS or OUE at a uniform prior (Examples 4.4 to 4.6).

    It is the largest advantage of any attack.
    """
    return success_rate(mechanism) - 1 / mechanism.k


@checks.checked
def invert_blackbox(
    advantage: float, m: Records, delta: Delta = 0.0, *, printed: bool = False
) -> float:
    """Return the smallest epsilon that allows any mechanism an advantage (Eq. 12).

    Parameters
    ----------
    advantage : float
        RAD at a uniform prior on m records, at most ``(m - 1) / m``.
    m : int
        Number of records, at least 2.
    delta : float
        Delta of the claim, in [0, 1).
    printed : bool
        Ignore delta, as the printed equation does, which overstates epsilon.

    Returns
    -------
    float
        At least 0, and infinite if every report was reconstructed.
    """
    advantage = checks.real("advantage", advantage, -1, (m - 1) / m + 1e-12)
    up, down = 1 + (advantage - (0.0 if printed else delta)) * m, 1 - advantage * m / (m - 1)
    if down <= 1e-15:
        return math.inf
    return max(0.0, math.log(up / down)) if up > 0 else 0.0


@checks.checked
def invert_known(
    protocol: str, advantage: Annotated[float, checks.rule(checks.real, -1, 1)], m: Records
) -> float:
    """Return the smallest epsilon at which a known protocol has an advantage.

    Parameters
    ----------
    protocol : {"GRR", "SS", "OUE"}
        Name of the protocol.
    advantage, m
        As in `invert_blackbox`.

    Returns
    -------
    float
        0 below the protocol's range, and infinite from its limit on, which is ``(m - 1) / (2 m)``
        for OUE. The advantage of SS jumps where its subset shrinks. Therefore all advantages inside
        a jump give the same epsilon.
    """
    make = PROTOCOLS[checks.one_of("mechanism", protocol, PROTOCOLS)]

    def excess(epsilon: float) -> float:
        return rad_uniform(make(m, epsilon)) - advantage

    if excess(MIN_EPSILON) < 0 < excess(MAX_EPSILON):
        return scipy.optimize.bisect(excess, MIN_EPSILON, MAX_EPSILON, xtol=1e-9)
    return 0.0 if excess(MIN_EPSILON) >= 0 else math.inf


@checks.checked
def epsilon_interval(
    successes: int,
    reports: checks.Count,
    m: Records,
    protocol: str | None = None,
    *,
    alpha: Annotated[float, lambda _, alpha: stats.significance(alpha)] = 0.02,
    delta: Delta = 0.0,
) -> tuple[float, float]:
    """Return a confidence interval of epsilon from counted successes, at level ``1 - alpha``.

    Parameters
    ----------
    successes, reports : int
        Number of right guesses, and number of independent reports. Every record must have the same
        number of reports.
    m : int
        Number of records, at least 2. The prior is uniform.
    protocol : {"GRR", "SS", "OUE"}, optional
        Protocol that is trusted to make the reports. Without it, the lower end holds for every
        (epsilon, delta)-LDP mechanism, and the upper end is infinite.
    alpha : float
        Significance, in [1e-100, 1). Each end of the Clopper-Pearson interval of the success
        probability spends one half.
    delta : float
        Delta of the claim, in [0, 1).

    Returns
    -------
    low, high : float
    """
    successes = checks.integer("successes", successes, 0, reports)
    low, high = (float(s) for s in stats.clopper_pearson(successes, reports, alpha / 2))
    if protocol is None:
        return invert_blackbox(low - 1 / m, m, delta), math.inf
    return invert_known(protocol, low - 1 / m, m), invert_known(protocol, high - 1 / m, m)


@dataclass(frozen=True, kw_only=True)
class ReconstructionResult(AuditResult):
    """Result of an audit by reconstruction.

    Attributes
    ----------
    interval : (float, float) or None
        Interval of epsilon at level ``1 - alpha`` that trusts the mechanism's distribution, where
        the mechanism is known.
    """

    interval: tuple[float, float] | None = None

    def row(self) -> Row:
        """Flatten as `AuditResult.row` does, with both ends of the interval."""
        ends = zip(("interval_low", "interval_high"), self.interval or ())
        return super().row() | {name: finite(end) for name, end in ends}


@checks.checked
def rad_result(
    successes: int,
    reports: int,
    m: int,
    protocol: str | None = None,
    *,
    claim: Claim = math.inf,
    delta: float = 0.0,
    alpha: float = 0.02,
    **fields: Word,
) -> ReconstructionResult:
    """Turn counted successes into a `ReconstructionResult`.

    Parameters
    ----------
    successes, reports, m, protocol, alpha, delta
        As in `epsilon_interval`.
    claim : float
        Claimed epsilon.
    **fields
        ``seed``, ``faithful`` and ``seconds`` of simulated reports.

    Returns
    -------
    ReconstructionResult
        ``epsilon_emp`` is the paper's estimate, which uses the protocol if one is given. ``lower``
        holds for every mechanism, and ``interval`` trusts the protocol.
    """
    low, _ = epsilon_interval(successes, reports, m, alpha=alpha, delta=delta)
    advantage, claimed = successes / reports - 1 / m, math.isfinite(claim)
    known: Row = {"epsilon_emp": invert_blackbox(advantage, m, delta)}
    if protocol is not None:
        known = {
            "epsilon_emp": invert_known(protocol, advantage, m),
            "interval": epsilon_interval(successes, reports, m, protocol, alpha=alpha),
            "limit": claim if claimed else None,
        }
    return ReconstructionResult(
        mechanism=protocol or "unknown",
        parameters={"k": m} | ({"epsilon": claim} if claimed else {}),
        attack="reconstruction",
        trials=reports // m,
        total=reports,
        alpha=float(alpha),
        counts={"successes": successes},
        rates={"success_rate": successes / reports, "advantage": advantage},
        lower=low,
        claim=claim,
        delta=delta,
        inconclusive=too_few(
            lambda n: epsilon_interval(n, n, m, alpha=alpha, delta=delta)[0],
            reports,
            claim,
            "reports",
        ),
        **{"seed": None, "faithful": True, **known, **fields},
    )


@dataclass(frozen=True)
class RADAudit(Auditor):
    """Reconstruct every record equally often with the optimal attack, as the paper simulates it.

    Parameters
    ----------
    mechanism : GRR, FloorSS or OUE
        One of `PROTOCOLS`, whose ``k`` records are equally likely.
    attack : {"reconstruction"}
        The optimal attack is the only one.
    trials : int
        Reports per record, at least 1 (the paper makes 1,000,000 reports of all records together).
    alpha : float
        Significance, as in `epsilon_interval`.
    faithful : bool
        Make every report in full. Otherwise the number of successes is sampled from its exact
        distribution, which is binomial.

    Raises
    ------
    ValueError
        If a parameter is out of range. The message names it.
    """

    mechanism: GRR | FloorSS | OUE
    attack: Annotated[str, checks.rule(checks.one_of, ("reconstruction",))] = "reconstruction"
    _: KW_ONLY
    trials: checks.Count = 10**4
    faithful: checks.Flag = False

    def __post_init__(self) -> None:
        checks.need(
            type(self.mechanism) in PROTOCOLS.values(),
            f"mechanism must be a GRR, FloorSS or OUE, got {self.mechanism!r}",
        )
        super().__post_init__()

    @classmethod
    def target(cls, name: str, **parameters: Word) -> GRR | FloorSS | OUE:
        """Return the protocol of that name in `PROTOCOLS` with these parameters."""
        return build(name, PROTOCOLS[checks.one_of("mechanism", name, PROTOCOLS)], **parameters)

    def run(self, seed: int = 1) -> list[ReconstructionResult]:
        """Count the reconstructed records, and return the one result of `rad_result`.

        Parameters
        ----------
        seed : int
            Seed of all random numbers, non-negative.
        """
        mechanism, m = self.mechanism, self.mechanism.k
        protocol = next(name for name, each in PROTOCOLS.items() if each is type(mechanism))
        rng = generator(seed, "reconstruct", protocol, m, mechanism.epsilon, self.faithful)
        start = time.perf_counter()
        if self.faithful:
            chunk = max(1, 2**22 // m)  # coordinates held in memory at once
            values = np.tile(np.arange(m), self.trials)
            successes = sum(
                int((Guess().predict(mechanism, mechanism.perturb(v, rng), rng) == v).sum())
                for v in (values[i : i + chunk] for i in range(0, values.size, chunk))
            )
        else:
            successes = int(rng.binomial(self.trials * m, success_rate(mechanism)))
        fields = {"seed": seed, "faithful": self.faithful, "seconds": time.perf_counter() - start}
        fields |= {"claim": mechanism.epsilon, "alpha": self.alpha}
        return [rad_result(successes, self.trials * m, m, protocol, **fields)]


def rad_audit(
    mechanism: GRR | FloorSS | OUE, *, seed: int = 1, **fields: Word
) -> ReconstructionResult:
    """Audit a protocol by reconstruction, as the paper simulates it.

    Parameters are the fields of `RADAudit`, and the `seed` of its `run`.
    """
    return RADAudit(mechanism, **fields).run(seed)[0]
