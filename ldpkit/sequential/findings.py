"""The result of a sequential audit so far: what won, and which leaks it may have missed."""

import math
from typing import TYPE_CHECKING

import numpy as np

from ..auditors.result import CLEAR, LEAST, Row, too_few
from ..mechanisms import Client, FrequencyOracle, LocalRandomizer
from ..mechanisms.identity import digest
from ..mechanisms.recordings import Recordings
from .causes import why
from .counts import Counts
from .portfolio import DELTAS, Portfolio
from .result import AHEAD, COUNTS, NO_PAIRS, OTHERS, PAIRED, SequentialResult
from .scores import Scores
from .screen import Screen
from .seeds import AGREE, KNOWN, SAME, UNSEEDED
from .stakes import stake
from .wealth import Tracks

if TYPE_CHECKING:
    from .loop import Run

__all__ = ["WEIGHED", "one_in", "result"]

WEIGHED = ", weighed together with everything else that can be seen"
"""Follows the words of the best single entry if the bets on all entries together won more."""

_NAMED = 12  # inputs that a verdict names one by one
_SPENT, _SPENT_RARE = 2.5, 0.85  # nats lost before bets are on the right event, as measured


def result(run: "Run") -> SequentialResult:
    """Return the result so far."""
    audit, wealth, mechanism = run.audit, run.wealth, run.mechanism
    rows = [_track(run, run.tracks, i) for i in range(len(run.events)) if run.tracks]
    learners = wealth.players[bool(run.events) :]
    rows += [_screened(run, player, at) for at, player in enumerate(learners, len(rows))]
    leading, notes = rows[int(np.argmax(wealth.each))], [event.note for event in run.events]
    notes += [_repeated(screen.counts) for screen in run.screens[:1]]
    n = -(-run.rounds // run.cycle)
    if run.live and audit.independent:
        notes.append(NO_PAIRS)
    assumed = "" if run.live else PAIRED
    if run.ahead:
        assumed = AHEAD
    clock = cause = ""
    if isinstance(mechanism, Recordings) and wealth.refuted:
        clock = mechanism.clock(leading["event"])
    if run.repeated and wealth.refuted and not n:
        leading, clock, cause = leading | {"event": AGREE}, KNOWN, SAME
    elif wealth.refuted:
        cause = why(run, leading["event"])
    return SequentialResult(
        mechanism=mechanism.name,
        parameters=mechanism.parameters,
        attack=", ".join(dict.fromkeys(audit.called)),
        trials=n,
        asked=tuple(run.asked.tolist()),
        alpha=audit.alpha,
        seed=run.seed,
        faithful=not run.sampled,
        counts={key: leading[key] for key in COUNTS if key in leading},
        rates={key: leading[key] for key in ("tpr", "fpr") if key in leading},
        epsilon_emp=math.nan,
        exact=None,
        exact_sd=None,
        claim=audit.claim[0],
        delta=audit.delta,
        pair=leading["pair"],
        questions=len(rows),
        directions=tuple(rows),
        lower=wealth.lower if audit.curve is None else 0.0,
        inconclusive="" if wealth.refuted else _weak(run, n),
        invalid=UNSEEDED if run.repeated and not wealth.refuted else "",
        cause=cause,
        warnings=tuple(dict.fromkeys(filter(None, notes))),
        scope=audit.mechanism.scope if isinstance(audit.mechanism, LocalRandomizer) else "",
        about=" ".join(filter(None, [_asked(run, leading), assumed, clock])),
        one_in=one_in(run),
        seconds=run.seconds,
        digest=digest(audit.mechanism),
        event=leading["event"],
        **_curved(run),
        e_value=wealth.e_value,
        stopped=run.stopped or "under way",
        trajectory=(*run.trajectory, (n, wealth.log, wealth.lower)),
    )


def _curved(run: "Run") -> Row:
    """Return what is known of a claim that is a curve."""
    audit, wealth = run.audit, run.wealth
    if audit.curve is None:
        return {}
    band = [] if audit.band is None else audit.band.tolist()
    refuted = wealth.most_won >= math.log(max(len(band), 1) / audit.alpha)
    shown = refuted[wealth.grid.size - len(band) * len(DELTAS) :].reshape(-1, len(DELTAS))
    bounds = [float(np.append(0, DELTAS)[np.argmin([*row, False])]) for row in shown]
    portfolio = next(p for p in wealth.players if isinstance(p, Portfolio))
    return {
        "curve": audit.curve.described,
        "mu_lower": wealth.lower if "mu" in audit.curve.parameters else None,
        "tangent": portfolio.tangent(wealth.at or 0),
        "band": tuple(zip(band, bounds, audit.curve.delta(band).tolist())),
    }


def _asked(run: "Run", leading: Row) -> str:
    """Return a sentence that names the inputs if there are more than two, and the leading pair."""
    inputs, mechanism = run.audit.inputs, run.audit.mechanism
    if len(inputs) == 2:
        return ""
    named = ", ".join(map(str, inputs)) if len(inputs) <= _NAMED else f"{inputs[0]} to {inputs[-1]}"
    k = mechanism.k if isinstance(mechanism, FrequencyOracle | Client) else 0
    of = f" of {k:,}" if k > len(inputs) else ""
    one, other = leading["pair"]
    return f"Asked were {len(inputs)}{of} inputs ({named}); {one} against {other} leads."


def _weak(run: "Run", n: int) -> str:
    """Return why the audit could hardly have refuted the claim; an empty text if it could."""
    if not run.screens:
        return too_few(run.wealth.most, max(n, 1), run.mechanism.epsilon, of=f" of {CLEAR}")
    counts = run.screens[0].counts
    if counts.missed:
        return f"{counts.missed:,} places of the reports were not looked at"
    if n and counts.constant:
        return "all reports are the same"
    if run.audit.claim[0] == math.inf or _refutes(run, n, LEAST):
        return ""
    enough = next((m for m in 2.0 ** np.arange(60) if _refutes(run, m, LEAST)), math.inf)
    if enough == math.inf:
        return f"no number of reports per input would refute {CLEAR}: delta allows it"
    while enough / 1.05 > n and _refutes(run, enough / 1.05, LEAST):
        enough /= 1.05
    size = 10 ** max(0, len(str(math.ceil(enough))) - 2)
    about = -(-math.ceil(enough) // size) * size
    return f"{n:,} reports per input are too few to refute {CLEAR}; about {about:,} are needed"


def _refutes(run: "Run", reports: float, one_in: float) -> bool:
    """Return whether the audit refutes a client that sends its input in the clear now and then.

    The client does so in one of `one_in` reports. `reports` per input are enough if they refute it
    with probability .9.
    """
    claim, delta = run.audit.claim
    screen = run.screens[0]
    size = 1 if screen.product else run.asked.size  # of a round whose factors are averaged
    shown = (math.sqrt(reports / one_in + 1) - 1) ** 2  # with probability .9
    bet = stake(shown / max(reports, 1), 0.0, math.exp(min(claim, 700)), delta, 1.0)
    won = shown * math.log1p(bet / size) - reports * bet * delta
    dealt = float(run.wealth.dealt[run.wealth.players.index(screen)])
    spent = _SPENT - dealt + _SPENT_RARE * math.log1p(screen.counts.rare)
    return won >= spent - math.log(run.audit.alpha)


def one_in(run: "Run") -> int:
    """Return how rarely a client may send its input in the clear and still be refuted.

    A client that does so in one report of so many would have been refuted with probability .9. The
    number is 0 if even a client that always does so could be missed, and if no attack learns.
    """
    low, high, reports = 0, int(run.asked.min()) + 1, int(run.asked.min())
    if not run.screens or run.audit.claim[0] == math.inf:
        return 0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _refutes(run, reports, middle) else (low, middle)
    return low


def _track(run: "Run", tracks: Tracks, track: int) -> Row:
    """Return the wealth of one track, and how often the reports that it bet on show its event."""
    _, i, j = run.audit.tracks[track]
    row: Row = {
        "pair": (run.audit.inputs[i], run.audit.inputs[j]),
        "event": run.events[track].words,
        "e_value": math.exp(min(float(run.wealth.each[track]), 700)),
    }
    tp, fp, first, second = tracks.hits(track)
    row |= {"tp": tp, "fp": fp, "first": first, "second": second}
    row |= {"tpr": tp / first} if first else {}
    return row | ({"fpr": fp / second} if second else {})


def _repeated(counts: Counts) -> str:
    """Return a warning if all reports of an input are the same."""
    reports = counts.reports.sum(axis=0)
    most = int(reports[counts.repeated].max(initial=0))
    return f"all of the first {most:,} reports of an input are the same" if most > 1 else ""


def _screened(run: "Run", player: Screen | Scores, number: int) -> Row:
    """Return the wealth of a screen or of scores, and the single entry that won most."""
    inputs = run.audit.inputs
    row: Row = {
        "pair": (inputs[0], inputs[1] if len(inputs) == 2 else OTHERS),
        "event": player.words,
        "e_value": math.exp(min(float(run.wealth.each[number]), 700)),
    }
    screen = player if isinstance(player, Screen) else run.screens[0]
    leading = screen.leading()
    if leading is None:
        return row
    entry, one, shown, reports = leading
    rates = shown / np.maximum(reports, 1)
    rates[one] = math.inf
    other = int(np.argmin(rates))
    late, together = "one report late: " if screen.late else "", "" if screen is player else WEIGHED
    row |= {"pair": (inputs[one], inputs[other]), "event": f"{late}{entry.words}{together}"}
    row |= {"tp": int(shown[one]), "fp": int(shown[other])}
    row |= {"first": int(reports[one]), "second": int(reports[other])}
    row |= {"tpr": float(shown[one] / reports[one])} if reports[one] else {}
    return row | ({"fpr": float(rates[other])} if reports[other] else {})
