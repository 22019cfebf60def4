"""What an audit returns, whichever auditor made it."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import scipy

from .. import stats
from ..stats import down
from ..types import Row

if TYPE_CHECKING:
    from .report_html import Drawing

__all__ = ["CLEAR", "LEAST", "STATUSES", "AuditResult", "Row", "finite", "in_the_clear", "too_few"]

STATUSES = ("none found", "violation", "inconclusive", "not valid")
"""What an audit may come to, see `AuditResult.status`."""


_NESTED = ("pair", "questions", "directions", "warnings", "verdict", "seconds", "how")
"""What a table has no column for."""


def finite(x: object) -> object:
    """The number, or ``None`` where it is infinite or undefined, which JSON cannot write."""
    return None if isinstance(x, float) and not math.isfinite(x) else x


@dataclass(frozen=True, kw_only=True)
class AuditResult:
    """One audit: what was counted, what the paper would report, and what may be concluded.

    An auditor that has more to say adds fields in a class of its own.

    Attributes
    ----------
    mechanism : str
        Name of the audited mechanism or client.
    parameters : mapping
        Its parameters (``k``, ``epsilon``, ...).
    attack : str
        Which attack or event was counted.
    trials : int
        Reports per input.
    alpha : float
        Significance: `lower` exceeds the truth with probability at most alpha,
        together with those of all audits that share alpha.
    seed : int or None
        ``None`` if the counts were made elsewhere.
    faithful : bool
        Whether real reports were made (always so for a client, and for counts made elsewhere).
    counts, rates : mapping
        What was counted (``tp``, ``fp``, ...) and as a share of the trials.
    epsilon_emp : float
        The statistic exactly as the paper computes it; ``-inf`` if the counts say nothing.
    lower : float
        Lower bound of the true epsilon, valid at level ``1 - alpha``; at least 0,
        which always holds, and 0 where the audit is not valid.
    exact, exact_sd : float or None
        Exact expectation and standard deviation of `epsilon_emp` under the
        mechanism's law, where the law is known.
    claim : float
        Claimed epsilon; ``inf`` if none is claimed.
    delta : float
        Delta of the claimed guarantee.
    limit : float or None
        What `epsilon_emp` tends to with ever more trials, where an auditor says so.
    estimates : mapping
        Further estimates by name, see the auditor.
    warnings : tuple of str
        What a reader has to know before relying on the result.
    inconclusive : str
        Why the audit could hardly have found a violation; empty if it could.
    invalid : str
        Why counts of these reports prove nothing; empty if they are sound.
    scope : str
        What has to be said if the claim is exceeded, see `ldpkit.mechanisms.Mechanism.scope`.
    about : str
        Of whom the verdict is said, if not of one user; part of every verdict.
    seconds : float
        Wall time of the counting; not part of equality.
    """

    mechanism: str
    parameters: Row
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
    estimates: Mapping[str, float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    inconclusive: str = ""
    invalid: str = ""
    scope: str = ""
    about: str = ""
    seconds: float = field(default=0.0, compare=False)

    @property
    def violated(self) -> bool:
        """Whether the audit proves that the claim does not hold."""
        return self.status == "violation"

    @property
    def status(self) -> str:
        """One of `STATUSES`: ``violation``, ``none found``, ``inconclusive`` or ``not valid``."""
        if self.invalid:
            return "not valid"
        if self.lower > self.claim:
            return "violation"
        return "inconclusive" if self.inconclusive else "none found"

    @property
    def how(self) -> str:
        """Where the counts come from: ``real reports``, or ``law``, from which they were drawn."""
        return "real reports" if self.faithful else "law"

    @property
    def level(self) -> str:
        """The level of `lower`, ``1 - alpha``, in words."""
        return stats.confidence(self.alpha, share=False)

    @property
    def verdict(self) -> str:
        """What the audit shows in one sentence, of whom it is said, if not of one user, and that no
        report was made, if none was."""
        drawn = f"The counts were drawn from the law of {self.mechanism}: no report was made."
        return " ".join(filter(None, [self._found, self.about, "" if self.faithful else drawn]))

    @property
    def _found(self) -> str:
        sure = f"with {stats.confidence(self.alpha)} confidence"
        if self.invalid:
            return f"Not a valid audit: {self.invalid}."
        if self.violated:
            return (
                f"VIOLATION: {sure} the reports leak at least epsilon = {down(self.lower)}, more"
                f" than the claimed {self.claim:g}.{f' {self.scope}' if self.scope else ''}"
            )
        if self.inconclusive:
            return f"Inconclusive: {self.inconclusive}."
        if self.claim == math.inf:
            return (
                f"No epsilon is claimed; {sure} the reports leak at least epsilon ="
                f" {down(self.lower)}."
            )
        return (
            f"No violation found: {sure} the reports leak at least epsilon = {down(self.lower)}, "
            f"which the claimed {self.claim:g} allows. This does not prove the claim."
        )

    def row(self) -> Row:
        """Flatten into a dictionary with the keys of the command line's JSON.

        ``epsilon`` and ``delta`` are the mechanism's parameters; ``claim`` is what is
        claimed for all reports together, which differs for repeated collections.

        Infinite values become ``None`` where they mean "nothing is claimed" or
        "nothing can be said", so that the dictionary can be written as JSON.
        """
        more = {} if self.limit is None else {"limit": finite(self.limit)}
        named = {
            key: value for key, value in self.parameters.items() if key not in ("epsilon", "delta")
        }
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
            "how": self.how,
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
            "status": self.status,
            "verdict": self.verdict,
            "warnings": list(self.warnings),
            "seconds": self.seconds,
        }

    def plot(self) -> "Drawing":
        """Draw what is claimed, counted, expected and proven on one axis of epsilon."""
        from .report_html import line  # which nobody else waits for

        spread = self.exact_sd or 0.0
        return line(
            {
                "claim": [self.claim],
                "epsilon_emp": [self.epsilon_emp],
                "exact, two deviations": [
                    math.nan if self.exact is None else self.exact + 2 * side * spread
                    for side in (-1, 1)
                ],
                "lower bound": [self.lower],
            }
        )

    def _repr_html_(self) -> str:
        """A table and the drawing, for notebooks."""
        from .report_html import table

        kept = {
            key: value
            for key, value in self.row().items()
            if key not in ("verdict", "warnings", "directions") and value is not None
        }
        notes = [("warning", text) for text in self.warnings]
        return table([("verdict", self.verdict), *notes, *kept.items()]) + self.plot().svg

    def plain(self) -> Row:
        """Return `row` without its time and what is no plain number or name: it repeats to the last
        digit."""
        return {key: value for key, value in self.row().items() if key not in _NESTED}


LEAST = 10
"""An audit that would overlook an input in the clear in one report of so many says nothing."""

CLEAR = f"a client that sends its input in the clear in one report of {LEAST}"


def in_the_clear(reports: int) -> int:
    """How many of so many reports show the input of such a client, with probability .9 at least."""
    if reports > 10**9:  # more than anybody makes: what is needed is told in two digits
        return int(reports / LEAST - 1.3 * math.sqrt(reports * (1 - 1 / LEAST) / LEAST))
    return max(0, math.ceil(scipy.special.bdtrik(0.1, reports, 1 / LEAST)))


def too_few(
    bound: Callable[[int], float], trials: int, claim: float, unit: str = "reports per input",
    of: str = "",
) -> str:  # fmt: skip
    """Say why so few trials could not have refuted a claim, and how many could; empty if these can.

    Parameters
    ----------
    bound : callable
        The largest bound of epsilon that so many trials can show.
    trials : int
        Trials that were made.
    claim : float
    unit, of : str
        What the trials are called, and whose they are.
    """
    best = bound(trials)
    if best > claim or claim == math.inf:
        return ""
    few, enough = trials, 2 * trials
    while bound(enough) <= claim:
        few, enough = enough, 2 * enough
        if few > 10**18:
            return f"no number of {unit} could show more than the claimed {claim:g}"
    while enough - few > max(1, enough // 100):
        middle = (few + enough) // 2
        few, enough = (middle, enough) if bound(middle) <= claim else (few, middle)
    size = 10 ** max(0, len(str(enough)) - 2)
    shown = f"at most epsilon = {best:.2f}" if best > 0 else "nothing"
    return (
        f"{trials:,} {unit}{of} could show {shown}, and the claim is {claim:g}; about"
        f" {-(-enough // size) * size:,} {unit} are needed"
    )
