"""Noise for an accepted risk: how much a mechanism needs so that nobody reconstructs a record too
often.

The risk is the largest reconstruction advantage (RAD) that is accepted, for m
equally likely records and perfect reconstruction.

Source: Guerra-Balboa et al., "Understanding Disclosure Risk in Differential
Privacy", PVLDB 19(7), 2026, Theorem 4.2, Examples 4.4 to 4.8 and 5.5.
"""

import dataclasses
import math

import numpy as np
import scipy

from .. import checks
from .rad import invert_blackbox, invert_known
from .rad_bounds import rero_eq3, tradeoff_laplace
from .result import Row

__all__ = ["CALIBRATED", "Calibration", "calibrate", "rero_epsilon"]


@dataclasses.dataclass(frozen=True)
class Calibration:
    """The least noise that keeps an accepted risk.

    Attributes
    ----------
    mechanism, risk, m, knowledge
        What was asked.
    epsilon : float or None
        Budget to use (Laplace, GRR, OUE, SS); infinite if the mechanism never exceeds the risk.
    noise : float or None
        Laplace: scale; Gaussian: standard deviation of the noise; DP-SGD: standard
        deviation of the noise on the summed gradients in units of the clipping norm.
    printed : float or None
        The noise that the paper's rule gives where it protects too little (DP-SGD).
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
        return {
            key: None if value == math.inf else value
            for key, value in dataclasses.asdict(self).items()
        }


CALIBRATED = ("laplace", "gaussian", "grr", "oue", "ss", "dpsgd")
"""Mechanisms that `calibrate` knows."""


def _subset_epsilon(share: float, m: int, knowledge: str) -> float:
    """SS: at one subset size the risk grows with epsilon and has a closed form; the largest epsilon
    of all sizes."""
    omega = np.arange(1, max(1, m // 2) + 1)
    keep = (
        (share * (m - 1) + omega) / m if knowledge == "any" else omega * (share * (m - 1) + 1) / m
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        wanted = np.where(keep < 1, np.log(keep * (m - omega) / (omega * (1 - keep))), np.inf)
        start, end = np.log(m / (omega + 1) - 1), np.log(m / omega - 1)
    end[0] = np.inf
    epsilon = np.minimum(
        wanted, end - 1e-12
    )  # at the very end of its range a size may already round to the next
    return float(epsilon[epsilon > np.maximum(start, 0)].max())


def _round_noise(risk: float, share: float, m: int, knowledge: str) -> tuple[float, float]:
    """DP-SGD: noise multiplier of one step that is guaranteed, and the printed one (Example
    5.5)."""
    mu = 2 * scipy.special.ndtri((1 + share) / 2)
    if knowledge == "any":
        return 2 / mu, 1 / mu
    alpha = 1 / (m - 1)
    if (1 - share) / 2 > alpha:
        mu = scipy.special.ndtri(1 - alpha) - scipy.special.ndtri(1 - share - alpha)
    # Two gradients lie up to twice the clipping norm apart, which doubles the printed noise.
    # Without side knowledge Eq. 3 needs less: its reference is the model trained without the
    # record, one clipping norm away.
    eq3 = 1 / (scipy.special.ndtri(1 - 1 / m) - scipy.special.ndtri(1 - 1 / m - risk))
    return min(2 / mu, eq3), 1 / mu


def calibrate(
    mechanism: str,
    risk: float,
    m: int,
    *,
    sensitivity: float = 1.0,
    steps: int = 100,
    knowledge: str = "none",
) -> Calibration:
    """Return the least noise with which no attack has a larger advantage than `risk`.

    Parameters
    ----------
    mechanism : {"laplace", "gaussian", "grr", "oue", "ss", "dpsgd"}
    risk : float
        Accepted RAD, in (0, (m-1)/m).
    m : int
        Number of candidates for the unknown record, at least 2.
    sensitivity : float
        Of the query (Laplace, Gaussian); the candidates' values may lie anywhere within it.
    steps : int
        Full-batch steps of DP-SGD, all seen by the adversary.
    knowledge : {"none", "any"}
        Whether the adversary knows nothing else of the record, or anything
        (membership inference included).

    Returns
    -------
    Calibration
    """
    asked = (
        checks.one_of("mechanism", mechanism, CALIBRATED),
        risk,
        m,
        checks.one_of("knowledge", knowledge, ("none", "any")),
    )
    m, steps = checks.integer("m", m, 2), checks.integer("steps", steps, 1)
    risk = checks.real("risk", risk, 0, (m - 1) / m, closed="()")
    sensitivity = checks.real("sensitivity", sensitivity, 0, closed="()")
    share = risk * m / (m - 1)  # of the largest advantage there is
    # equal spacing over the whole sensitivity is the worst case
    gaps = m - 1 if knowledge == "none" else 1
    if mechanism == "laplace":
        epsilon = -2 * gaps * math.log1p(-share)
        return Calibration(*asked, epsilon=epsilon, noise=sensitivity / epsilon)
    if mechanism == "gaussian":
        return Calibration(
            *asked, noise=sensitivity / float(2 * gaps * scipy.special.ndtri((1 + share) / 2))
        )
    if mechanism == "dpsgd":
        noise, printed = (
            float(math.sqrt(steps) * x) for x in _round_noise(risk, share, m, knowledge)
        )
        return Calibration(*asked, noise=noise, printed=printed)
    if mechanism == "grr":
        epsilon = invert_blackbox(risk, m)
    elif mechanism == "ss":
        epsilon = _subset_epsilon(share, m, knowledge)
    elif knowledge == "none":
        epsilon = invert_known("OUE", risk, m)
    else:
        epsilon = 2 * math.atanh(2 * share) if 2 * share < 1 else math.inf
    return Calibration(*asked, epsilon=epsilon)


def rero_epsilon(risk: float, m: int) -> float:
    """Budget of the Laplace mechanism by the general bound of the success, ``1 - f(1/m) = risk``
    (Eq. 3, Figure 2).

    Parameters
    ----------
    risk : float
        Accepted success probability (not advantage), in (1/m, 1).
    m : int
        Number of equally likely records.
    """
    m = checks.integer("m", m, 2)
    risk = checks.real("risk", risk, 1 / m, 1, closed="()")
    return scipy.optimize.brentq(
        lambda e: rero_eq3(tradeoff_laplace(e), 1 / m) - risk, 0, 700, xtol=1e-13
    )
