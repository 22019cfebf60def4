"""What audits of two inputs share; what the counts of each question about them show, and what all
of them show together."""

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
    """Refuse mechanisms of which not even one real report fits."""
    if mechanism.width > _WIDEST:
        raise ValueError(
            f"real reports must have at most {_WIDEST:,} coordinates, got {mechanism.width:,} of"
            f" {mechanism.name}: draw from its law, or take fewer values"
        )


@dataclass(frozen=True)
class PairAudit(Auditor):
    """An audit that tells two inputs apart with one or several attacks."""

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
        """Return a mechanism by its name, or a client by its ``"module:function"``, with its
        parameters."""
        if isinstance(name, str) and ":" in name:
            return client.named(name, **parameters)
        return mechanisms.make(name, **parameters)


@dataclass(frozen=True, kw_only=True)
class PairResult(AuditResult):
    """What an audit that tells inputs apart returns.

    Attributes
    ----------
    pair : (input, input)
        The two audited inputs.
    directions : tuple of dict
        The questions asked about the pair: ``pair`` in the order in which the event names it,
        counts, rates, ``epsilon_emp``, and a ``lower`` of its own. The first one's counts are the
        result's.
    questions : int
        Among how many questions alpha is divided for `lower`.
    """

    pair: Pair
    directions: tuple[Row, ...] = ()
    questions: int = 1

    def row(self) -> Row:
        """Flatten as `AuditResult.row` does."""
        return super().row() | {
            "pair": list(self.pair),
            "questions": self.questions,
            "directions": [
                {key: finite(value) for key, value in one.items()} | {"pair": list(one["pair"])}
                for one in self.directions
            ],
        }


# of each of two bounds: an event is called turned round by chance with probability 1e-6 at most
_CHANCE = 5e-7


def direction(
    pair: Pair,
    tp: int,
    fp: int,
    trials: int,
    paper: tuple[float, float],
    valid: tuple[float, float],
) -> Row:
    """What one question about the pair shows; `paper` and `valid` hold the delta and the tail of
    statistic and bound."""
    statistic, bound = (
        float(stats.epsilon_lower(tp, fp, trials, delta, tail=tail))
        for delta, tail in (paper, valid)
    )
    return {"pair": pair, "tp": tp, "fp": fp, "tpr": tp / trials, "fpr": fp / trials,
            "epsilon_emp": statistic, "lower": max(0.0, bound)}  # fmt: skip


def judged(
    turns: list[Row],
    sound: independence.Findings,
    trials: int,
    claim: float,
    delta: float,
    tail: float,
    law: Sequence[Rates | None],
) -> Row:
    """The bound of all directions, and whether it may be relied on; `law` has their exact rates,
    where they are known."""
    lower, invalid, warnings, why = (
        max(t["lower"] for t in turns),
        sound.dependent,
        list(sound.warnings),
        [],
    )
    if sound.fixed and lower <= claim and stats.epsilon_ceiling(trials, tail=tail) > claim:
        invalid = invalid or sound.fixed
    turned = [t for t in turns if not invalid and stats.clopper_pearson(t["tp"], trials, _CHANCE)[1]
              < stats.clopper_pearson(t["fp"], trials, _CHANCE)[0]]  # fmt: skip
    for t in turned:
        warnings.append(
            f"the event is likelier under the other input ({t['fp']:,} reports of value"
            f" {t['pair'][1]} show it and {t['tp']:,} of value {t['pair'][0]}): inputs swapped or"
            " numbered differently?"
        )
        why.append("the event is likelier under the other input")
    if sound.constant:
        why.append(sound.constant)
    weak = [_weak(t, trials, claim, delta, tail, exact) for t, exact in zip(turns, law)]
    why = why or (weak[:1] if all(weak) else [])
    if invalid:
        lower, turns = 0.0, [t | {"lower": 0.0} for t in turns]
    return {
        "lower": lower,
        "invalid": invalid,
        "inconclusive": why[0] if why else "",
        "warnings": tuple(warnings),
        "directions": tuple(turns),
    }


def _weak(
    turn: Row, trials: int, claim: float, delta: float, tail: float, law: Rates | None
) -> str:
    """Why an event that is seen so often could not have refuted the claim, whatever the other
    input; empty if it could."""
    tp = turn["tp"]
    if tp == 0 and turn["fp"] == 0:
        prefix = "the event was never seen under either input: "
    elif tp == 0:
        prefix = "the event was never seen under the input that it speaks for: "
    elif tp <= delta * trials:
        prefix = f"delta = {delta:g} is no less than the event's share of {tp / trials:g}: "
    else:
        prefix = ""
    seen = tp / trials if tp else float(stats.clopper_pearson(0, trials, tail)[1])
    share = seen if law is None else law[0]

    def bound(n: int) -> float:
        hits = tp if n == trials else min(n, round(n * share))
        return float(stats.epsilon_lower(hits, 0, n, delta, tail=tail))

    def clear(n: int) -> float:
        return float(stats.epsilon_lower(in_the_clear(n), 0, n, delta, tail=tail))

    text = too_few(bound, trials, claim)
    return prefix + text if text else too_few(clear, trials, claim, of=f" of {CLEAR}")
