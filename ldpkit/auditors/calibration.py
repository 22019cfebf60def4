"""Calibration of a mechanism to an accepted risk of reconstruction.

The risk is the largest reconstruction advantage (RAD) that is accepted. Calibration finds the least
noise that keeps it.

Source: Guerra-Balboa et al., "Understanding Disclosure Risk in Differential
Privacy", PVLDB 19(7), 2026, Examples 4.4 to 4.8 and 5.5, Equation 3.
"""

import math
from dataclasses import asdict, dataclass
from typing import Annotated

import numpy as np
import scipy

from .. import checks
from ..types import Row
from .rad import Records, invert_blackbox, invert_known

__all__ = ["CALIBRATED", "Calibration", "calibrate"]


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
    mechanism: Annotated[str, checks.rule(checks.one_of, CALIBRATED)],
    risk: float,
    m: Records,
    *,
    sensitivity: checks.Positive = 1.0,
    steps: checks.Count = 100,
    knowledge: Annotated[str, checks.rule(checks.one_of, ("none", "any"))] = "none",
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
