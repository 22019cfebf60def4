"""What an audit that bets knows by now: what won, and what it could not have found."""

import math
from typing import Any

import numpy as np

from ..sequential.ranking import stake
from .purse import IDLE, MEAN
from .result import CLEAR, LEAST, Row, too_few
from .stopped import AHEAD, COUNTS, NO_PAIRS, OTHERS, PAIRED, AnytimeResult

__all__ = ["WEIGHED", "counts", "one_in", "result"]

WEIGHED = ", weighed together with everything else that can be seen"
"""What follows the entry that has won most alone, where all entries together have won more."""

_NAMED = 12  # inputs that a verdict names one by one
_SPENT, _SPENT_RARE = 2.5, 0.85  # nats lost before bets are on the right event, as measured


def result(course: Any) -> AnytimeResult:
    """What is known by now."""
    audit, purse, made = course.audit, course.purse, course.source
    best = int(np.argmax(purse.each))
    turns = [_turn(course, track) for track in range(len(course.events))]
    others = purse.players[bool(course.events) :]
    turns += [_screened(course, one, len(turns) + at) for at, one in enumerate(others)]
    found, notes = turns[best], [getattr(event, "note", "") for event in course.events]
    notes += [_repeated(screen.counts) for screen in course.screens[:1]]
    n = -(-course.rounds // course.each)
    if course.live and audit.independent:
        notes.append(NO_PAIRS)
    weak = "" if purse.refuted else _weak(course, n)
    ahead = course.live and not course.drawn and not made.lawful and made.repeats
    assumed = AHEAD if ahead else "" if course.live else PAIRED
    return AnytimeResult(
        mechanism=made.name,
        parameters=made.parameters,
        attack=", ".join(dict.fromkeys(audit.called)),
        trials=n,
        asked=tuple(course.asked.tolist()),
        alpha=audit.alpha,
        seed=course.seed,
        faithful=not course.drawn,
        counts={key: found[key] for key in COUNTS if key in found},
        rates={key: found[key] for key in ("tpr", "fpr") if key in found},
        epsilon_emp=math.nan,
        exact=None,
        exact_sd=None,
        claim=made.epsilon,
        delta=audit.delta,
        pair=found["pair"],
        questions=len(turns),
        directions=tuple(turns),
        lower=purse.lower,
        inconclusive=weak,
        warnings=tuple(dict.fromkeys(filter(None, notes))),
        scope=getattr(audit.mechanism, "scope", ""),
        about=" ".join(filter(None, [_asked(course, found), assumed])),
        one_in=one_in(course),
        seconds=course.seconds,
        event=found["event"],
        e_value=purse.e_value,
        stopped=course.stopped or "under way",
        trajectory=(*course.trajectory, (n, purse.log, purse.lower)),
    )


def _asked(course: Any, leading: Row) -> str:
    """Which inputs were asked for, where there are more than two, and which of them lead."""
    inputs, known = course.audit.inputs, getattr(course.audit.mechanism, "k", 0)
    if len(inputs) == 2:
        return ""
    named = ", ".join(map(str, inputs)) if len(inputs) <= _NAMED else f"{inputs[0]} to {inputs[-1]}"
    of = f" of {known:,}" if known > len(inputs) else ""
    one, other = leading["pair"]
    return f"Asked were {len(inputs)}{of} inputs ({named}); {one} against {other} leads."


def _weak(course: Any, n: int) -> str:
    """Why the audit could hardly have refuted the claim; empty if it could."""
    screened = [screen.counts for screen in course.screens[:1]]
    if not screened:
        few = max(n, 1), course.source.epsilon
        return too_few(course.purse.most, *few, of=f" of {CLEAR}")
    if screened[0].missed:
        return f"{screened[0].missed:,} places of the reports were not looked at"
    if n and screened[0].constant:
        return "all reports are the same"
    if course.source.epsilon == math.inf or _refutes(course, n, LEAST):
        return ""
    enough = next((m for m in 2.0 ** np.arange(60) if _refutes(course, m, LEAST)), math.inf)
    if enough == math.inf:
        return f"no number of reports per input would refute {CLEAR}: delta allows it"
    while enough / 1.05 > n and _refutes(course, enough / 1.05, LEAST):
        enough /= 1.05
    size = 10 ** max(0, len(str(math.ceil(enough))) - 2)
    about = -(-math.ceil(enough) // size) * size
    return f"{n:,} reports per input are too few to refute {CLEAR}; about {about:,} are needed"


def _refutes(course: Any, reports: float, one_in: float) -> bool:
    """Whether so many reports per input refute, with probability .9, a client that sends its input
    in the clear in one report of so many."""
    claim, delta = course.source.epsilon, course.audit.delta
    screen, size = course.screens[0], 1
    if course.rule == MEAN:
        size = course.asked.size  # the factors of a round are averaged
    shown = (math.sqrt(reports / one_in + 1) - 1) ** 2  # with probability .9
    bet = stake(shown / max(reports, 1), 0.0, math.exp(min(claim, 700)), delta, 1.0)
    won = shown * math.log1p(bet / size) - reports * bet * delta
    dealt = float(course.purse.dealt[course.purse.players.index(screen)])
    spent = _SPENT - dealt + _SPENT_RARE * math.log1p(screen.counts.rare)
    return won >= spent - math.log(course.audit.alpha)


def one_in(course: Any) -> int:
    """A client that sends its input in the clear in one report of so many would have been refuted
    with probability .9; 0 if everything in the clear may have been missed, or where nothing was
    screened."""
    low, high, reports = 0, int(course.asked.min()) + 1, int(course.asked.min())
    if not course.screens or course.source.epsilon == math.inf:
        return 0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _refutes(course, reports, middle) else (low, middle)
    return low


def _turn(course: Any, track: int) -> Row:
    """One question: the wealth of its bets, and where the bet is on a yes or no, how often that was
    seen in the reports on which it was bet."""
    _, i, j = course.audit.tracks[track]
    row: Row = {
        "pair": (course.audit.inputs[i], course.audit.inputs[j]),
        "event": course.events[track].words,
        "e_value": math.exp(min(float(course.purse.each[track]), 700)),
    }
    tp, fp, first, second = counts(course, track)
    row |= {"tp": tp, "fp": fp, "first": first, "second": second}
    row |= {"tpr": tp / first} if first else {}
    return row | ({"fpr": fp / second} if second else {})


def _repeated(counts: Any) -> str:
    """What has to be said if all reports of an input are the same."""
    asked = counts.reports.sum(axis=0)
    most = int(asked[counts.repeated].max(initial=0))
    return f"all of the first {most:,} reports of an input are the same" if most > 1 else ""


def _screened(course: Any, screen: Any, number: int) -> Row:
    """The wealth of bets on everything that reports show, and what won most."""
    inputs, each = course.audit.inputs, course.purse.each
    row: Row = {
        "pair": (inputs[0], inputs[1] if len(inputs) == 2 else OTHERS),
        "event": screen.words,
        "e_value": math.exp(min(float(each[number]), 700)),
    }
    alone = screen in course.screens
    late = "one report late: " if alone and screen.late else ""
    found = (screen if alone else course.screens[0]).found()
    if found is None:
        return row
    entry, one, shown, asked = found
    rates = shown / np.maximum(asked, 1)
    rates[one] = math.inf
    other = int(np.argmin(rates))
    row |= {
        "pair": (inputs[one], inputs[other]),
        "event": f"{late}{entry.words}{'' if alone else WEIGHED}",
    }
    row |= {"tp": int(shown[one]), "fp": int(shown[other])}
    row |= {"first": int(asked[one]), "second": int(asked[other])}
    row |= {"tpr": float(shown[one] / asked[one])} if asked[one] else {}
    return row | ({"fpr": float(rates[other])} if asked[other] else {})


def counts(course: Any, track: int) -> tuple[int, int, int, int]:
    """How often an event was seen with the first input and with the second, and how many reports of
    each it was bet on."""
    seen = course.tracks.counts[track].tolist()
    if course.live:
        return seen[1], seen[3], seen[0] + seen[1], seen[2] + seen[3]
    pairs = sum(seen[:IDLE])
    return seen[2] + seen[3], seen[1] + seen[3], pairs, pairs
