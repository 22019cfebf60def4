"""Audits by reconstruction.

The unknown record is uniform on m values and nothing else is known, as in local DP. The optimal
attack then names a value that the report supports (`ldpkit.attacks.Guess`). It succeeds on every
report with the same probability s, and its advantage is ``s - 1/m``.

The probability s implies epsilon in two ways. For a known mechanism, its exact distribution gives s
for every epsilon. For any mechanism, epsilon limits s.

Calibration finds the least noise that keeps an accepted risk, which is the largest advantage.

Source: Guerra-Balboa et al., "Understanding Disclosure Risk in Differential
Privacy", PVLDB 19(7), 2026, Examples 4.4 to 4.8 and 5.5, Corollary 5.4, Equations 3 and 12, and
section 7.3.
"""

import math
import time
from dataclasses import KW_ONLY, asdict, dataclass
from typing import Annotated, ClassVar

import numpy as np
import scipy

from .. import checks, stats
from ..attacks.base import Guess, success_rate
from ..mechanisms import GRR, OUE, FloorSS, FrequencyOracle
from ..mechanisms.base import MAX_EPSILON, MIN_EPSILON
from ..rng import generator
from ..stats import Delta
from ..types import Word
from .base import Alpha, Auditor
from .result import AuditResult, Claim, Row, too_few

# fmt: off
__all__ = [
    "CALIBRATED", "PROTOCOLS", "Calibration", "RADAudit", "calibrate", "epsilon_interval",
    "invert_blackbox", "invert_known", "rad_result", "rad_uniform"
]
# fmt: on

Records = Annotated[int, checks.rule(checks.integer, 2), "Number of records, at least 2."]

PROTOCOLS: dict[str, type[GRR | FloorSS | OUE]] = {"GRR": GRR, "SS": FloorSS, "OUE": OUE}
"""The paper's protocols by name. Its SS rounds the subset size down."""


@checks.checked
def rad_uniform(
    mechanism: Annotated[
        FrequencyOracle, checks.rule(checks.instance, FrequencyOracle, "a GRR, SS or OUE")
    ],
) -> float:
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
    alpha: Alpha = 0.02,
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
) -> AuditResult:
    """Turn counted successes into an `AuditResult`.

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
    AuditResult
        ``epsilon_emp`` is the paper's estimate, which uses the protocol if one is given. ``lower``
        holds for every mechanism, and ``interval`` trusts the protocol.
    """
    low, _ = epsilon_interval(successes, reports, m, alpha=alpha, delta=delta)
    level = f"at level {stats.confidence(alpha, share=False)}"
    words = {
        "counts": f"{successes:,} of {reports:,} reports reconstructed",
        "lower": f"{stats.down(low, claim=claim)} for any mechanism, {level}",
    }
    advantage, claimed = successes / reports - 1 / m, math.isfinite(claim)
    known: Row = {"epsilon_emp": invert_blackbox(advantage, m, delta)}
    if protocol is not None:
        ends = epsilon_interval(successes, reports, m, protocol, alpha=alpha)
        trusting = f"{level}, if the reports are those of {protocol}"
        words["interval"] = "[{:.4f}, {:.4f}] ".format(*ends) + trusting
        known = {
            "epsilon_emp": invert_known(protocol, advantage, m),
            "interval": ends,
            "limit": claim if claimed else None,
        }
    words["epsilon_emp"] = f"{known['epsilon_emp']:.4f} as the paper computes it"
    return AuditResult(
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
        words=words,
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
    names: ClassVar = PROTOCOLS

    def __post_init__(self) -> None:
        checks.need(
            type(self.mechanism) in PROTOCOLS.values(),
            f"mechanism must be a GRR, FloorSS or OUE, got {self.mechanism!r}",
        )
        super().__post_init__()

    def run(self, seed: int = 1) -> list[AuditResult]:
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
        return [
            rad_result(
                successes,
                self.trials * m,
                m,
                protocol,
                claim=mechanism.epsilon,
                alpha=self.alpha,
                seed=seed,
                faithful=self.faithful,
                seconds=time.perf_counter() - start,
            )
        ]


# --- calibration ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Calibration:
    """The least noise that keeps an accepted risk.

    Attributes
    ----------
    mechanism, risk, m, knowledge
        The arguments of `calibrate`.
    epsilon : float or None
        Budget (Laplace, GRR, OUE, SS). It is infinite if the mechanism never exceeds the risk.
    noise : float or None
        Scale of Laplace noise, or standard deviation of Gaussian noise. For DP-SGD it is the
        standard deviation of the noise on the summed gradients, in units of the clipping norm.
    printed : float or None
        Noise by the paper's rule for DP-SGD, which protects too little.
    """

    mechanism: str
    risk: float
    m: int
    knowledge: str
    epsilon: float | None = None
    noise: float | None = None
    printed: float | None = None

    def row(self) -> Row:
        """Return the fields as a dictionary without infinities."""
        return {key: None if value == math.inf else value for key, value in asdict(self).items()}


CALIBRATED = ("laplace", "gaussian", "grr", "oue", "ss", "dpsgd")
"""Names of the mechanisms that `calibrate` accepts."""


def _subset_epsilon(relative: float, m: int, knowledge: str) -> float:
    """Return the largest epsilon of SS that keeps the risk.

    At a fixed subset size the risk grows with epsilon and has a closed form. The result is the
    largest epsilon over all subset sizes.
    """
    omega, gain = np.arange(1, max(1, m // 2) + 1), relative * (m - 1)
    keep = (gain + omega) / m if knowledge == "any" else omega * (gain + 1) / m
    with np.errstate(divide="ignore", invalid="ignore"):
        wanted = np.where(keep < 1, np.log(keep * (m - omega) / (omega * (1 - keep))), np.inf)
        start, end = np.log(m / (omega + 1) - 1), np.log(m / omega - 1)
    end[0] = np.inf
    # at the very end of its range, a subset size may already round to the next size
    epsilon = np.minimum(wanted, end - 1e-12)
    return float(epsilon[epsilon > np.maximum(start, 0)].max())


def _round_noise(risk: float, relative: float, m: int, knowledge: str) -> tuple[float, float]:
    """Return the noise multiplier of one step of DP-SGD: valid, and as printed (Example 5.5)."""
    mu = 2 * scipy.special.ndtri((1 + relative) / 2)
    if knowledge == "any":
        return 2 / mu, 1 / mu
    alpha = 1 / (m - 1)
    if (1 - relative) / 2 > alpha:
        mu = scipy.special.ndtri(1 - alpha) - scipy.special.ndtri(1 - relative - alpha)
    # Two gradients lie up to two clipping norms apart, which doubles the printed noise. Eq. 3 (no
    # side knowledge) needs less noise, because its reference is the model trained without the
    # record, which lies one clipping norm away.
    eq3 = 1 / (scipy.special.ndtri(1 - 1 / m) - scipy.special.ndtri(1 - 1 / m - risk))
    return min(2 / mu, eq3), 1 / mu


@checks.checked
def calibrate(
    mechanism: Annotated[
        str, checks.rule(checks.one_of, CALIBRATED), f"One of {', '.join(CALIBRATED)}."
    ],
    risk: Annotated[float, "Accepted RAD, in (0, (m-1)/m)."],
    m: Annotated[Records, "Number of candidates for the unknown record, at least 2."],
    *,
    sensitivity: Annotated[
        checks.Positive, "Sensitivity of the query, above 0 (Laplace, Gaussian)."
    ] = 1.0,
    steps: Annotated[
        checks.Count,
        "Number of full-batch steps of DP-SGD, at least 1, all of which the adversary sees.",
    ] = 100,
    knowledge: Annotated[
        str,
        checks.rule(checks.one_of, ("none", "any")),
        "Whether the adversary knows nothing else about the record (none), or possibly everything"
        " else (any), as in membership inference.",
    ] = "none",
) -> Calibration:
    """Return the least noise with which no attack has a larger advantage than `risk`.

    Parameters
    ----------
    mechanism : {"laplace", "gaussian", "grr", "oue", "ss", "dpsgd"}
        One of `CALIBRATED`.
    risk : float
        Accepted RAD, in (0, (m-1)/m).
    m : int
        Number of candidates for the unknown record, at least 2.
    sensitivity : float
        Sensitivity of the query (Laplace, Gaussian). The values of the candidates may lie anywhere
        within it.
    steps : int
        Number of full-batch steps of DP-SGD, all of which the adversary sees.
    knowledge : {"none", "any"}
        Whether the adversary knows nothing else about the record, or possibly everything else,
        as in membership inference.

    Returns
    -------
    Calibration

    Raises
    ------
    ValueError
        If a parameter is out of range. The message names it.
    """
    given = mechanism, risk, m, knowledge
    risk = checks.real("risk", risk, 0, (m - 1) / m, closed="()")
    relative = risk * m / (m - 1)  # divided by the largest possible advantage
    # the worst case has equal gaps over the whole sensitivity
    gaps = m - 1 if knowledge == "none" else 1
    match mechanism:
        case "laplace":
            epsilon = -2 * gaps * math.log1p(-relative)
            return Calibration(*given, epsilon=epsilon, noise=sensitivity / epsilon)
        case "gaussian":
            mu = float(2 * gaps * scipy.special.ndtri((1 + relative) / 2))
            return Calibration(*given, noise=sensitivity / mu)
        case "dpsgd":
            noise, printed = (
                float(math.sqrt(steps) * x) for x in _round_noise(risk, relative, m, knowledge)
            )
            return Calibration(*given, noise=noise, printed=printed)
        case "grr":
            epsilon = invert_blackbox(risk, m)
        case "ss":
            epsilon = _subset_epsilon(relative, m, knowledge)
        case _ if knowledge == "none":
            epsilon = invert_known("OUE", risk, m)
        case _:
            epsilon = 2 * math.atanh(2 * relative) if 2 * relative < 1 else math.inf
    return Calibration(*given, epsilon=epsilon)
