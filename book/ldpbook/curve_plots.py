"""Pictures of audits whose claim is a trade-off curve."""

from collections.abc import Callable

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ldpkit.auditors import AuditResult
from ldpkit.blackbox.curve import Curve

from . import plots

__all__ = ["delta_over_epsilon", "trade_off"]

_SIZE = (4.6, 3.3)
_LEAST = 1e-4
"""Smallest delta that is drawn; smaller bounds are left out."""


def delta_over_epsilon(result: AuditResult, claimed: Callable[[np.ndarray], np.ndarray]) -> Figure:
    """Draw the delta that a claim allows over epsilon, and lower bounds of an audit's `band`.

    The function `claimed` returns the delta of the exact claim, because a curve that is stored as a few lines would show corners.
    The claim is refuted where a point lies above its line. A stem shows that a bound means "at least".
    """
    epsilons = np.linspace(0, 4, 81)
    band = pd.DataFrame(result.band, columns=["epsilon", "bound", "allowed"])
    allowed = pd.DataFrame({"epsilon": epsilons, "allowed": claimed(epsilons)})
    figure, axis = plt.subplots(figsize=_SIZE, layout="constrained")
    axis.plot(allowed["epsilon"], allowed["allowed"], "k--", label="the claim allows")
    shown = band[band["bound"] > 0]
    axis.vlines(shown["epsilon"], _LEAST, shown["bound"], colors="C0", linewidth=1)
    axis.plot(shown["epsilon"], shown["bound"], "C0o", label="delta is at least")
    axis.set(xlabel="ε", ylabel="δ", yscale="log", ylim=(_LEAST, 1), xlim=(-0.1, 4.1))
    axis.legend()
    return plots.attach(figure, pd.concat([allowed, band], ignore_index=True))


def trade_off(result: AuditResult, claim: Curve) -> Figure:
    """Draw the trade-off curve of a claim, and for each bound of a `band` the line that it implies.

    The true curve reaches or passes below each of these lines somewhere; nobody knows where.
    """
    alphas, betas = claim.drawn()
    rows = [pd.DataFrame({"line": "claim", "alpha": alphas, "beta": betas})]
    figure, axis = plt.subplots(figsize=_SIZE, layout="constrained")
    axis.plot([0, 1], [1, 0], color="0.7", linewidth=0.8)
    axis.plot(alphas, betas, "k--", label="claimed least miss rate")
    for epsilon, bound, _ in result.band:
        ends = np.array([0, (1 - bound) * np.exp(-epsilon)])
        line = pd.DataFrame({"line": f"{epsilon:g}", "alpha": ends, "beta": 1 - bound - np.exp(epsilon) * ends})
        if bound > 0:
            rows.append(line)
            axis.plot(line["alpha"], line["beta"], "C0", label="reached somewhere" if len(rows) == 2 else None)
    axis.set(xlabel="false alarm rate", ylabel="miss rate", xlim=(0, 1), ylim=(0, 1))
    axis.legend()
    return plots.attach(figure, pd.concat(rows, ignore_index=True))
