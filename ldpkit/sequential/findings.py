"""What an audit that bets knows by now: what won, and what it could not have found."""

import math
from typing import Any

import numpy as np

from ..auditors.result import CLEAR, LEAST, Row, too_few
from .ranking import stake
from .result import AHEAD, COUNTS, NO_PAIRS, OTHERS, PAIRED, SequentialResult
from .wealth import IDLE, MEAN

__all__ = ["WEIGHED", "counts", "one_in", "result"]

WEIGHED = ", weighed together with everything else that can be seen"
"""What follows the entry that has won most alone, where all entries together have won more."""

_NAMED = 12  # inputs that a verdict names one by one
_SPENT, _SPENT_RARE = 2.5, 0.85  # nats lost before bets are on the right event, as measured


def result(run: Any) -> SequentialResult:
    """What is known by now."""
    audit, wealth, made = run.audit, run.wealth, run.source
    best = int(np.argmax(wealth.each))
    turns = [_turn(run, track) for track in range(len(run.events))]
    others = wealth.players[bool(run.events) :]
    turns += [_screened(run, one, len(turns) + at) for at, one in enumerate(others)]
    found, notes = turns[best], [getattr(event, "note", "") for event in run.events]
    notes += [_repeated(screen.counts) for screen in run.screens[:1]]
    n = -(-run.rounds // run.each)
    if run.live and audit.independent:
        notes.append(NO_PAIRS)
    weak = "" if wealth.refuted else _weak(run, n)
    ahead = run.live and not run.drawn and not made.exact and made.repeats
    assumed = AHEAD if ahead else "" if run.live else PAIRED
    return SequentialResult(
        mechanism=made.name,
        parameters=made.parameters,
        attack=", ".join(dict.fromkeys(audit.called)),
        trials=n,
        asked=tuple(run.asked.tolist()),
        alpha=audit.alpha,
        seed=run.seed,
        faithful=not run.drawn,
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
        lower=wealth.lower,
        inconclusive=weak,
        warnings=tuple(dict.fromkeys(filter(None, notes))),
        scope=getattr(audit.mechanism, "scope", ""),
        about=" ".join(filter(None, [_asked(run, found), assumed])),
        one_in=one_in(run),
        seconds=run.seconds,
        event=found["event"],
        e_value=wealth.e_value,
        stopped=run.stopped or "under way",
        trajectory=(*run.trajectory, (n, wealth.log, wealth.lower)),
    )


def _asked(run: Any, leading: Row) -> str:
    """Which inputs were asked for, where there are more than two, and which of them lead."""
    inputs, known = run.audit.inputs, getattr(run.audit.mechanism, "k", 0)
    if len(inputs) == 2:
        return ""
    named = ", ".join(map(str, inputs)) if len(inputs) <= _NAMED else f"{inputs[0]} to {inputs[-1]}"
    of = f" of {known:,}" if known > len(inputs) else ""
    one, other = leading["pair"]
    return f"Asked were {len(inputs)}{of} inputs ({named}); {one} against {other} leads."


def _weak(run: Any, n: int) -> str:
    """Why the audit could hardly have refuted the claim; empty if it could."""
    screened = [screen.counts for screen in run.screens[:1]]
    if not screened:
        few = max(n, 1), run.source.epsilon
        return too_few(run.wealth.most, *few, of=f" of {CLEAR}")
    if screened[0].missed:
        return f"{screened[0].missed:,} places of the reports were not looked at"
    if n and screened[0].constant:
        return "all reports are the same"
    if run.source.epsilon == math.inf or _refutes(run, n, LEAST):
        return ""
    enough = next((m for m in 2.0 ** np.arange(60) if _refutes(run, m, LEAST)), math.inf)
    if enough == math.inf:
        return f"no number of reports per input would refute {CLEAR}: delta allows it"
    while enough / 1.05 > n and _refutes(run, enough / 1.05, LEAST):
        enough /= 1.05
    size = 10 ** max(0, len(str(math.ceil(enough))) - 2)
    about = -(-math.ceil(enough) // size) * size
    return f"{n:,} reports per input are too few to refute {CLEAR}; about {about:,} are needed"


def _refutes(run: Any, reports: float, one_in: float) -> bool:
    """Whether so many reports per input refute, with probability .9, a client that sends its input
    in the clear in one report of so many."""
    claim, delta = run.source.epsilon, run.audit.delta
    screen, size = run.screens[0], 1
    if run.rule == MEAN:
        size = run.asked.size  # the factors of a round are averaged
    shown = (math.sqrt(reports / one_in + 1) - 1) ** 2  # with probability .9
    bet = stake(shown / max(reports, 1), 0.0, math.exp(min(claim, 700)), delta, 1.0)
    won = shown * math.log1p(bet / size) - reports * bet * delta
    dealt = float(run.wealth.dealt[run.wealth.players.index(screen)])
    spent = _SPENT - dealt + _SPENT_RARE * math.log1p(screen.counts.rare)
    return won >= spent - math.log(run.audit.alpha)


def one_in(run: Any) -> int:
    """A client that sends its input in the clear in one report of so many would have been refuted
    with probability .9; 0 if everything in the clear may have been missed, or where nothing was
    screened."""
    low, high, reports = 0, int(run.asked.min()) + 1, int(run.asked.min())
    if not run.screens or run.source.epsilon == math.inf:
        return 0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _refutes(run, reports, middle) else (low, middle)
    return low


def _turn(run: Any, track: int) -> Row:
    """One question: the wealth of its bets, and where the bet is on a yes or no, how often that was
    seen in the reports on which it was bet."""
    _, i, j = run.audit.tracks[track]
    row: Row = {
        "pair": (run.audit.inputs[i], run.audit.inputs[j]),
        "event": run.events[track].words,
        "e_value": math.exp(min(float(run.wealth.each[track]), 700)),
    }
    tp, fp, first, second = counts(run, track)
    row |= {"tp": tp, "fp": fp, "first": first, "second": second}
    row |= {"tpr": tp / first} if first else {}
    return row | ({"fpr": fp / second} if second else {})


def _repeated(counts: Any) -> str:
    """What has to be said if all reports of an input are the same."""
    asked = counts.reports.sum(axis=0)
    most = int(asked[counts.repeated].max(initial=0))
    return f"all of the first {most:,} reports of an input are the same" if most > 1 else ""


def _screened(run: Any, screen: Any, number: int) -> Row:
    """The wealth of bets on everything that reports show, and what won most."""
    inputs, each = run.audit.inputs, run.wealth.each
    row: Row = {
        "pair": (inputs[0], inputs[1] if len(inputs) == 2 else OTHERS),
        "event": screen.words,
        "e_value": math.exp(min(float(each[number]), 700)),
    }
    alone = screen in run.screens
    late = "one report late: " if alone and screen.late else ""
    found = (screen if alone else run.screens[0]).found()
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


def counts(run: Any, track: int) -> tuple[int, int, int, int]:
    """How often an event was seen with the first input and with the second, and how many reports of
    each it was bet on."""
    seen = run.tracks.counts[track].tolist()
    if run.live:
        return seen[1], seen[3], seen[0] + seen[1], seen[2] + seen[3]
    pairs = sum(seen[:IDLE])
    return seen[2] + seen[3], seen[1] + seen[3], pairs, pairs
