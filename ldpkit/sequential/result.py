"""Results of sequential audits."""

import math
from dataclasses import dataclass, field
from typing import ClassVar

from ..auditors.report_html import Drawing, drawing
from ..auditors.result import PairResult, Row, finite
from ..stats import down
from ..types import Rates

__all__ = ["SequentialResult", "block", "careful"]


@dataclass(frozen=True, kw_only=True)
class SequentialResult(PairResult):
    """Result of a sequential audit when it stopped, or so far.

    Attributes
    ----------
    event : str
        The event that has won most, in words.
    curve : dict or None
        Kind, parameters and number of lines of a claim that is a trade-off curve. Then `claim` and
        `delta` are those of a claim that follows from the curve, and `lower` is 0.
    mu_lower : float or None
        If the claim is mu-GDP: the client keeps no smaller mu. It is no bound of epsilon.
    tangent : dict or None
        The line of the curve against which most was staked: ``epsilon`` and ``delta``. ``p`` and
        ``q`` are the shares of reports with its event, and ``shown`` is ``p - e^epsilon q``.
    band : tuple of (float, float, float)
        Epsilon, lower bound of delta, and delta that the curve allows. The bounds hold together.
    e_value : float or None
        Wealth against the claim, from a stake of 1; ``1 / e_value`` is a p-value. ``None`` if
        nothing is claimed.
    asked : tuple of int
        Number of reports of every input.
    one_in : int
        A client that sends its input in the clear in one report of so many would have been refuted
        with probability .9; 0 if no attack learns.
    stopped : str
        Why the audit stopped.
    trajectory : tuple of (int, float, float)
        Reports per input, logarithm of the wealth, and `lower` (or `mu_lower`), after 8, 12, 18,
        27, ... reports per input.
    """

    bets: ClassVar[bool] = True
    event: str = ""
    curve: Row | None = None
    mu_lower: float | None = None
    tangent: Row | None = None
    band: tuple[tuple[float, float, float], ...] = ()
    e_value: float | None = None
    asked: tuple[int, ...] = ()
    one_in: int = 0
    stopped: str = ""
    trajectory: tuple[tuple[int, float, float], ...] = field(default=(), compare=False)

    @property
    def reports(self) -> int:
        """All reports that were used, divided by the number of inputs, rounded up."""
        return self.trials

    @property
    def status(self) -> str:
        """As in `AuditResult`; a violation if and only if the e-value has reached ``1 / alpha``."""
        if self.invalid:
            return "not valid"
        if self.e_value is not None and self.e_value >= 1 / self.alpha:
            return "violation"
        return "inconclusive" if self.inconclusive else "none found"

    @property
    def _conclusion(self) -> str:
        if self.curve is not None:
            return self._curved
        if self.status == "none found" and self.one_in and self.claim < math.inf:
            return (
                f"{super()._conclusion} A client that sends its input in the clear in one report of"
                f" {self.one_in:,} would have been refuted with probability 0.9. {UNSEEN}"
                f" {'of other reports' if PAIRED in self.about else 'more than one report ago'}."
            )
        if not self.violated or self.e_value is None:
            return super()._conclusion
        sure = f"wrong with probability at most {self.alpha:g}"
        bound = f" Epsilon is at least {down(self.lower)}." if self.lower > 0 else ""
        return (
            f"VIOLATION: epsilon = {self.claim:g} is refuted, e-value {down(self.e_value, 0)} and"
            f" {1 / self.alpha:g} needed, with {self.reports:,} reports per input ({sure}).{bound}"
            f"{f' {self.scope}' if self.scope else ''}"
        )

    @property
    def claimed(self) -> str:
        """The claim in words."""
        if self.curve is None:
            return "none" if self.claim == math.inf else f"epsilon = {self.claim:g}"
        numbers = [f"{name} = {x:g}" for name, x in [*self.curve.items()][1:-1]]
        return f"{self.curve['kind']} with {' and '.join(numbers) or 'its own numbers'}"

    @property
    def _curved(self) -> str:
        """The conclusion about a claim that is a trade-off curve."""
        bound = (
            f" No mu below {down(self.mu_lower)} is kept, which is no bound of epsilon."
            if self.mu_lower
            else ""
        )
        used = f"with {self.reports:,} reports per input"
        if not self.violated:
            reason = self.inconclusive and f"Inconclusive: {self.inconclusive}."
            none = f"No violation of {self.claimed} found {used}. This does not prove the claim."
            return f"{reason or none}{bound}"
        line = self.tangent and (
            f" At epsilon = {self.tangent['epsilon']:.3g} the claim allows delta ="
            f" {self.tangent['delta']:.2g}, and about {self.tangent['shown']:.2g} was seen."
        )
        return (
            f"VIOLATION: {self.claimed} is refuted {used}, e-value {down(self.e_value or 0, 0)} and"
            f" {1 / self.alpha:g} needed (wrong with probability at most {self.alpha:g})."
            f"{line or ''}{bound}{f' {self.scope}' if self.scope else ''}"
        )

    def plot(self) -> Drawing:
        """Draw wealth and bound against the number of reports."""
        claim = self.claim if self.curve is None else self.curve.get("mu", math.inf)
        return drawing(
            self.trajectory, claim, self.alpha, "epsilon" if self.curve is None else "mu"
        )

    def row(self) -> Row:
        """Flatten as `AuditResult.row` does; a sequential audit has no ``epsilon_emp``."""
        row = super().row()
        del row["epsilon_emp"]
        more = ("curve", "mu_lower", "tangent", "band") if self.curve is not None else ()
        return row | {
            **{name: getattr(self, name) for name in more},
            "event": self.event,
            "e_value": None if self.e_value is None else finite(self.e_value),
            "reports": self.reports,
            "asked": list(self.asked),
            "one_in": self.one_in,
            "stopped": self.stopped,
        }


UNSEEN = (
    "Not looked at: three or more entries together, what is encrypted or compressed, the time of"
    " reports, and what depends on inputs"
)

FIRST = 8
"""Reports per input after which the audit learns for the first time."""

AHEAD = (
    "The client was given many inputs at a time: the audit assumes that no report depends on an"
    " input that was asked for later."
)
PAIRED = (
    "The reports were paired in their order: the audit assumes that reports of one input do not"
    " depend on reports of the other."
)
OTHERS = "the others"
"""Stands for the inputs with which one is compared, if there are more than two."""

COUNTS = ("tp", "fp", "first", "second")

NO_PAIRS = (
    "independence changes nothing here: every report got its input by a coin of its own, and the"
    " bets are valid whatever the reports remember"
)


def careful(tp: int, fp: int, first: int, second: int) -> Rates:
    """Return cautious rates to bet on after `tp` of `first` and `fp` of `second` reports.

    They are moved towards each other by .7 standard errors, and are never 0 or 1.
    """
    p, q = (tp + 0.5) / (first + 1), (fp + 0.5) / (second + 1)
    p -= 0.7 * math.sqrt(p * (1 - p) / (first + 1))
    q += 0.7 * math.sqrt(q * (1 - q) / (second + 1))
    least, most = 1 / (first + 2), 1 - 1 / (second + 2)
    return max(p, least), min(q, most)


def block(t: int) -> tuple[int, int]:
    """Return begin and end of the block of report number t of an input.

    The audit learns between blocks only.
    """
    begin, end = 0, FIRST
    while end <= t:
        begin, end = end, max(end + 4, end * 3 // 2)
    return begin, end
