"""What the counts of each question about a pair show, and what all of them show together."""

from .. import stats
from ..types import Pair
from . import sanity
from .result import Row, too_few

__all__ = ["direction", "judged"]

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
    turns: list[Row], sound: sanity.Findings, trials: int, claim: float, delta: float, tail: float
) -> Row:
    """The bound of all directions, and whether it may be relied on."""
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
    weak = [_weak(t, trials, claim, delta, tail) for t in turns]
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


def _weak(turn: Row, trials: int, claim: float, delta: float, tail: float) -> str:
    """Why an event that is seen so often could not have refuted the claim, whatever the other
    input; empty if it could."""
    tp = turn["tp"]
    if tp == 0 and turn["fp"] == 0:
        prefix = "the event was never seen under either input: "
    elif tp <= delta * trials:
        prefix = f"delta = {delta:g} is no less than the event's share of {tp / trials:g}: "
    else:
        prefix = ""
    share = tp / trials if tp else float(stats.clopper_pearson(0, trials, tail)[1])

    def bound(n: int) -> float:
        hits = tp if n == trials else min(n, round(n * share))
        return float(stats.epsilon_lower(hits, 0, n, delta, tail=tail))

    text = too_few(bound, trials, claim)
    return prefix + text if text else ""
