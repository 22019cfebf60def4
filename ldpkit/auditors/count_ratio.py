"""Estimators of epsilon from the counts of every output in two groups of users.

An event that is chosen before the counts are seen needs two bounds
(`ldpkit.stats.epsilon_lower`). The estimators of KV-Auditor report the largest of many ratios
instead. Therefore a valid bound must correct for this choice. It either applies Bonferroni's
correction, or it chooses on one half of the users and judges on the other half.
"""

import numpy as np

from .. import checks, stats
from ..types import Array

__all__ = ["ESTIMATORS", "statistic"]

ESTIMATORS = ("released", "printed", "valid", "split", "pooled")
"""Names of the estimators, see `statistic`."""

HALVED = ("split", "pooled")
"""Estimators that choose on the first half of the users and judge on the second half."""


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


def check(estimator: str, alpha: float, minimum: int, variation: float | None) -> None:
    """Refuse parameters that `statistic` cannot use.

    Audits call this function when they are made, before they draw anything.
    """
    stats.significance(alpha)
    checks.one_of("estimator", estimator, ESTIMATORS)
    checks.integer("minimum", minimum, 1)
    if variation is not None:
        checks.real("variation", variation, 0)


def statistic(
    first: Array,
    second: Array,
    users: int,
    estimator: str = "released",
    *,
    alpha: float = 0.05,
    minimum: int = 5,
    variation: float | None = None,
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
    check(estimator, alpha, minimum, variation)
    checks.integer("users", users, 1)
    first, second = checks.numeric("first", first), checks.numeric("second", second)
    if first.ndim != 2 or first.shape[1:] != second.shape[1:] or not first.size:
        raise ValueError(
            "first and second must be counts (halves, outputs) of the same outputs, got"
            f" {first.shape} and {second.shape}"
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
    (low1, up1), (low2, up2) = (
        stats.clopper_pearson(side[used], users, tail) for side in (first, second)
    )
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
    if len(first) != 2 or len(second) != 2:
        raise ValueError(
            f"split and pooled need counts of two halves of the users, got {len(first)} and"
            f" {len(second)}"
        )
    best: tuple[float, int, tuple[int, int] | None] = -np.inf, -1, None
    for up, down in ((first, second), (second, first)):
        order = np.argsort(-(up[0] + 1) / (down[0] + 1), kind="stable")
        counts = [up[0][order], down[0][order]]
        ends = np.arange(order.size)
        if pooled:  # a few hundred thresholds suffice
            ends = np.unique(np.geomspace(1, order.size, 400).astype(int)) - 1
            counts = [np.cumsum(side)[ends] for side in counts]
        tail = alpha / (4 * ends.size)  # a larger tail would let rare outputs win by chance
        bound = stats.epsilon_lower(counts[0], counts[1], users // 2, tail=tail)
        winner = int(np.argmax(bound))
        if bound[winner] > best[0]:
            chosen = order[: ends[winner] + 1] if pooled else order[winner]
            best = (
                bound[winner],
                int(order[ends[winner]]),
                (up[1][chosen].sum(), down[1][chosen].sum()),
            )
    value = stats.epsilon_lower(*best[2], users - users // 2, tail=alpha / 2) if best[2] else 0.0
    return max(0.0, float(value)), best[1]
