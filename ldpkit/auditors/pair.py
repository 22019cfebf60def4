"""Base and result of audits that tell two inputs apart, and the bound from their counts.

A direction is a question about the pair: is the event likelier under the first or under the second
input? Each direction has its own counts and its own bound.
"""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any

from .. import checks, mechanisms, stats
from ..mechanisms import LocalRandomizer, client
from ..types import Pair, Rates, Word
from . import independence
from .base import Auditor
from .result import CLEAR, AuditResult, Row, finite, in_the_clear, too_few

__all__ = ["PairAudit", "PairResult", "direction", "judged", "makeable"]


_WIDEST = 2**26


def makeable(mechanism: LocalRandomizer) -> None:
    """Refuse a mechanism whose single report does not fit into memory."""
    if mechanism.width > _WIDEST:
        raise ValueError(
            f"real reports must have at most {_WIDEST:,} coordinates, got {mechanism.width:,} of"
            f" {mechanism.name}: sample from its exact distribution, or take fewer values"
        )


@dataclass(frozen=True)
class PairAudit(Auditor):
    """Base of the audits that tell two inputs apart with one or several attacks."""

    mechanism: Any
    attack: Any = "guess"
    _: KW_ONLY
    delta: Annotated[float | None, checks.rule(checks.real, 0, 1, closed="[)")] = None
    faithful: Annotated[bool, checks.flag] = False
    pair: Pair | None = None
    both: Annotated[bool, checks.flag] = True

    @property
    def named(self) -> Sequence[Any]:
        """The attacks, at least one."""
        several = self.attack if isinstance(self.attack, (list, tuple)) else [self.attack]
        if not several:
            raise ValueError(f"attack must name at least one attack, got {self.attack!r}")
        return several

    @classmethod
    def target(cls, name: str, **parameters: Word) -> LocalRandomizer:
        """Return the mechanism of a name, or the client of a ``"module:function"``.

        The parameters are those of the mechanism or client.
        """
        if isinstance(name, str) and ":" in name:
            return client.named(name, **parameters)
        return mechanisms.make(name, **parameters)


@dataclass(frozen=True, kw_only=True)
class PairResult(AuditResult):
    """Result of an audit that tells two inputs apart.

    Attributes
    ----------
    pair : (input, input)
        The two audited inputs.
    directions : tuple of dict
        One entry per direction: ``pair`` (first the input that the event names), counts, rates,
        ``epsilon_emp`` and ``lower``. The counts and rates of the result are those of the first
        direction.
    questions : int
        Number of questions among which alpha is divided for `lower`.
    """

    pair: Pair
    directions: tuple[Row, ...] = ()
    questions: int = 1

    def row(self) -> Row:
        """Flatten as `AuditResult.row` does."""
        row = super().row()
        counted = {key: row.pop(key) for key in [*row][[*row].index("how") + 1 :]}
        seconds, directions = counted.pop("seconds"), []
        for one in self.directions:
            numbers = {key: finite(value) for key, value in one.items()}
            directions.append(numbers | {"pair": list(one["pair"])})
        named = {"pair": list(self.pair), "questions": self.questions}
        return row | named | counted | {"directions": directions, "seconds": seconds}


# tail of each of two bounds: an event is called reversed by chance with probability 1e-6 at most
_CHANCE = 5e-7


def direction(
    pair: Pair,
    tp: int,
    fp: int,
    trials: int,
    paper: tuple[float, float],
    valid: tuple[float, float],
) -> Row:
    """Return counts, rates, statistic and bound of one direction.

    Parameters
    ----------
    pair : (input, input)
        The input that the event names, and the other input.
    tp, fp : int
        Hits among `trials` reports of the first and of the second input.
    trials : int
        Reports per input.
    paper, valid : (float, float)
        Delta and tail mass of the published statistic, and of the bound.
    """
    statistic, bound = (
        float(stats.epsilon_lower(tp, fp, trials, delta, tail=tail))
        for delta, tail in (paper, valid)
    )
    return {"pair": pair, "tp": tp, "fp": fp, "tpr": tp / trials, "fpr": fp / trials,
            "epsilon_emp": statistic, "lower": max(0.0, bound)}  # fmt: skip


def judged(
    directions: list[Row],
    findings: independence.Findings,
    trials: int,
    claim: float,
    delta: float,
    tail: float,
    rates: Sequence[Rates | None],
) -> Row:
    """Return the fields of a result that follow from all directions together.

    Parameters
    ----------
    directions : list of dict
        One row of `direction` each.
    findings : Findings
        Findings of the checks of independence.
    trials : int
        Reports per input.
    claim, delta : float
        The claimed guarantee.
    tail : float
        Tail mass of each bound.
    rates : sequence of (float, float) or None
        Exact rates by direction, if they are known.

    Returns
    -------
    dict
        ``lower``, ``invalid``, ``inconclusive``, ``warnings`` and ``directions``.
    """
    lower, invalid, warnings, reasons = (
        max(row["lower"] for row in directions),
        findings.dependent,
        list(findings.warnings),
        [],
    )
    if findings.fixed and lower <= claim and stats.epsilon_ceiling(trials, tail=tail) > claim:
        invalid = invalid or findings.fixed
    reverse = [
        row
        for row in directions
        if not invalid
        and stats.clopper_pearson(row["tp"], trials, _CHANCE)[1]
        < stats.clopper_pearson(row["fp"], trials, _CHANCE)[0]
    ]
    for row in reverse:
        warnings.append(
            f"the event is likelier under the other input ({row['fp']:,} reports of value"
            f" {row['pair'][1]} show it and {row['tp']:,} of value {row['pair'][0]}): inputs"
            " swapped or numbered differently?"
        )
        reasons.append("the event is likelier under the other input")
    if findings.constant:
        reasons.append(findings.constant)
    weak = [
        _too_weak(row, trials, claim, delta, tail, exact) for row, exact in zip(directions, rates)
    ]
    reasons = reasons or (weak[:1] if all(weak) else [])
    if invalid:
        lower, directions = 0.0, [row | {"lower": 0.0} for row in directions]
    return {
        "lower": lower,
        "invalid": invalid,
        "inconclusive": reasons[0] if reasons else "",
        "warnings": tuple(warnings),
        "directions": tuple(directions),
    }


def _too_weak(
    row: Row, trials: int, claim: float, delta: float, tail: float, rates: Rates | None
) -> str:
    """Return why the event of a direction is too rare to refute the claim.

    The reports of the other input do not matter. The text is empty if the event is frequent enough.
    """
    tp = row["tp"]
    if tp == 0 and row["fp"] == 0:
        prefix = "the event was never seen under either input: "
    elif tp == 0:
        prefix = "the event was never seen under the input that it names: "
    elif tp <= delta * trials:
        prefix = f"delta = {delta:g} is no less than the event's share of {tp / trials:g}: "
    else:
        prefix = ""
    seen = tp / trials if tp else float(stats.clopper_pearson(0, trials, tail)[1])
    rate = seen if rates is None else rates[0]

    def bound(n: int) -> float:
        hits = tp if n == trials else min(n, round(n * rate))
        return float(stats.epsilon_lower(hits, 0, n, delta, tail=tail))

    def clear(n: int) -> float:
        return float(stats.epsilon_lower(in_the_clear(n), 0, n, delta, tail=tail))

    text = too_few(bound, trials, claim)
    return prefix + text if text else too_few(clear, trials, claim, of=f" of {CLEAR}")
