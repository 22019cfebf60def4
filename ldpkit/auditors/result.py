"""What an audit returns, whichever auditor made it."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .. import checks, streams

__all__ = ["AuditResult", "repeat"]


@dataclass(frozen=True, kw_only=True)
class AuditResult:
    """One audit: what was counted, what the paper would report, and what may be concluded.

    Attributes
    ----------
    mechanism : str
        Name of the audited mechanism or client.
    parameters : mapping
        Its parameters (``k``, ``epsilon``, ...).
    attack : str
        Which attack or event was counted.
    trials : int
        Reports per input; for gradients all trials, half of them with each input.
    alpha : float
        Significance: `lower` exceeds the truth with probability at most alpha.
    seed : int or None
        ``None`` if the counts were made elsewhere.
    faithful : bool
        Whether real reports were made (always so for a client).
    counts, rates : mapping
        What was counted (``tp``, ``fp``, ...) and as a share of the trials.
    epsilon_emp : float
        The statistic exactly as the paper computes it; ``-inf`` if the counts say nothing.
    lower : float
        Lower bound of the true epsilon, valid at level ``1 - alpha``; at least 0,
        which always holds.
    exact, exact_sd : float or None
        Exact expectation and standard deviation of `epsilon_emp` under the
        mechanism's law, where the law is known.
    claim : float
        Claimed epsilon; ``inf`` if none is claimed.
    delta : float
        Delta of the claimed guarantee.
    limit : float or None
        What `epsilon_emp` tends to with ever more trials, where an auditor says so.
    interval : (float, float) or None
        Interval of epsilon at level ``1 - alpha`` that trusts the mechanism's law,
        where an auditor has one.
    estimates : mapping
        Further estimates by name, see the auditor.
    seconds : float
        Wall time of the counting; not part of equality.
    """

    mechanism: str
    parameters: Mapping[str, Any]
    attack: str
    trials: int
    alpha: float
    seed: int | None
    faithful: bool
    counts: Mapping[str, int]
    rates: Mapping[str, float]
    epsilon_emp: float
    lower: float
    exact: float | None
    exact_sd: float | None
    claim: float
    delta: float = 0.0
    limit: float | None = None
    interval: tuple[float, float] | None = None
    estimates: Mapping[str, float] = field(default_factory=dict)
    seconds: float = field(default=0.0, compare=False)

    @property
    def violated(self) -> bool:
        """Whether the audit proves that the claim does not hold."""
        return self.lower > self.claim

    @property
    def verdict(self) -> str:
        """One sentence saying what the audit shows."""
        sure = f"with {100 * (1 - self.alpha):g} % confidence"
        if self.violated:
            return (
                f"VIOLATION: {sure} the reports leak at least epsilon = {self.lower:.4f}, more than the claimed {self.claim:g}."
            )
        if self.claim == math.inf:
            return f"No epsilon is claimed; {sure} the reports leak at least epsilon = {self.lower:.4f}."
        return (
            f"No violation found: {sure} the reports leak at least epsilon = {self.lower:.4f}, "
            f"which the claimed {self.claim:g} allows. This does not prove the claim."
        )

    def row(self) -> dict[str, Any]:
        """Flatten into a dictionary with the keys of the command line's JSON.

        ``epsilon`` and ``delta`` are the mechanism's parameters; ``claim`` is what is
        claimed for all reports together, which differs for repeated collections.

        Infinite values become ``None`` where they mean "nothing is claimed" or
        "nothing can be said", so that the dictionary can be written as JSON.
        """

        def finite(x: float | None) -> float | None:
            return x if x is None or math.isfinite(x) else None

        more = {} if self.limit is None else {"limit": finite(self.limit)}
        if self.interval is not None:
            more |= {"interval_low": finite(self.interval[0]), "interval_high": finite(self.interval[1])}
        named = {key: value for key, value in self.parameters.items() if key not in ("epsilon", "delta")}
        return {
            "mechanism": self.mechanism,
            **named,
            "epsilon": self.parameters.get("epsilon", finite(self.claim)),
            "delta": self.parameters.get("delta", self.delta),
            "trials": self.trials,
            "alpha": self.alpha,
            "seed": self.seed,
            "attack": self.attack,
            "faithful": self.faithful,
            **self.counts,
            **self.rates,
            "epsilon_emp": finite(self.epsilon_emp),
            "lower": self.lower,
            "exact_epsilon_emp": finite(self.exact) if self.exact is not None else None,
            "exact_sd": finite(self.exact_sd) if self.exact_sd is not None else None,
            **more,
            **{key: finite(value) for key, value in self.estimates.items()},
            "claim": finite(self.claim),
            "violated": self.violated,
            "seconds": self.seconds,
        }


def repeat(audit: "Callable[[int], Iterable[AuditResult]]", runs: int, seed: int) -> list[dict[str, Any]]:
    """Audit several times: the rows of one cell of a grid.

    Parameters
    ----------
    audit : callable
        Takes a seed, returns one or more results.
    runs : int
        Independent repetitions, each on its own stream, at least 1.
    seed : int
        Of the cell.

    Returns
    -------
    list of dict
        One `AuditResult.row` per result, with the number of the `run`, without the time: a row repeats to the last digit.
    """
    found = []
    for run in range(checks.integer("runs", runs, 1)):
        for result in audit(streams.derive(seed, "run", run)):
            row = result.row() | {"run": run}
            del row["seconds"]
            found.append(row)
    return found
