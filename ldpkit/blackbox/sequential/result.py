"""Results of sequential audits: what won, and what was asked."""

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...auditors.result import AuditResult, Row, against, restarted
from ...mechanisms import FrequencyOracle, Mechanism
from ...stats import down
from ..clients import Client
from ..clients.recordings import Recordings
from .bettor import EVENTS, Bettor, repeated
from .events import Entry, Event
from .sentence import one_in, unseen, weak
from .table import ABSENT, DIFFER, XOR
from .wealth import DELTAS
from .words import ALMOST, counted, leader, spoken

if TYPE_CHECKING:
    from .loop import Run

__all__ = ["TOGETHER", "WEIGHED", "leading", "result", "won"]

WEIGHED = ", weighed together with everything else that was counted"
"""Follows the words of the best single event if the bets on all events together won more."""
TOGETHER = "everything that was counted, weighed together"
"""The event in words if no single event separates the inputs."""
AGREE = "answers of two starts agree, and those of a third one with other inputs differ"
"""The event in words, if the seed of a program decides."""
_LATE = "one report late: "
_NAMED = 12  # inputs that a verdict names one by one

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

_COUNTS = ("tp", "fp", "first", "second")

NO_PAIRS = (
    "independence changes nothing here: every report got its input by a coin of its own, and the"
    " bets are valid whatever the reports remember"
)


MEANING = (
    "The audit bets against the claim with a stake of 1. While the claim holds, wealth does not"
    " grow on average, however long one waits and whenever one stops: it reaches {:g} with"
    " probability {:g} at most. The bound is found in the same way, by bets against every smaller"
    " epsilon; it held at every moment shown."
)


def _claimed(found: AuditResult) -> str:
    """Return a claim that is a curve, in words."""
    numbers = [f"{name} = {x:g}" for name, x in [*found.curve.items()][1:-1]]
    return f"{found.curve['kind']} with {' and '.join(numbers) or 'its own numbers'}"


def _words(found: AuditResult) -> dict[str, str]:
    """Return the lines of the table that only a sequential audit has."""
    pairs = {frozenset(map(repr, row["pair"])) for row in found.directions}
    several = f", the worst of {len(pairs)} pairs" if len(pairs) > 1 else ""
    leading = against(found.parameters, found.pair or ()) + several
    counts, level = found.counts, f"at level {found.level}, at all times"
    worth = "nothing is claimed" if found.e_value is None else f"{found.e_value:.4g}"
    words = {
        "pair": f"{leading}, one of {found.questions} bets",
        "counts": "no yes or no: the whole report is weighed",
        "event": found.event,
        "cause": found.cause,
        "asked": ", ".join(_by_input(found)) + " reports, by input",
        "e-value": f"{worth} (a violation from {1 / found.alpha:g} on)",
        "lower": f"{down(found.lower, claim=found.claim)} {level}",
        "stopped": found.stopped,
    }
    if counts:
        words["counts"] = (
            f"in {counts['tp']:,} of {counts['first']:,} reports of the first input, in"
            f" {counts['fp']:,} of {counts['second']:,} of the second"
        )
    if "curve" in found.evidence:
        claim = found.curve.get("mu", math.inf)
        shown = found.mu_lower and down(found.mu_lower, claim=claim)
        implied = f"epsilon = {found.claim:g}, delta = {found.delta:g}"
        words["claim"] = f"{_claimed(found)}, which implies {implied}"
        words["lower"] = f"mu = {shown} {level}" if shown else "none"
    return words


def _by_input(found: AuditResult) -> list[str]:
    """Return the number of reports of each input, which is named if the client has a list."""
    values = [f"{value:.40} " for value in found.parameters.get("values", ())]
    named = values if len(values) == len(found.asked) else [""] * len(found.asked)
    return [f"{value}{n:,}" for value, n in zip(named, found.asked)]


def _sentence(found: AuditResult, missed: str) -> str:
    """Return the conclusion in words; empty if it is that of every audit."""
    if "curve" in found.evidence:
        return _curve_sentence(found)
    if found.status == "none found" and found.one_in and found.claim < math.inf:
        return f"{found.conclusion} {missed}"
    if not found.violated:
        return ""
    shown = down(found.lower, claim=found.claim)
    bound = f" Epsilon is above {shown}." if found.lower > 0 else ""
    return (
        f"VIOLATION: epsilon = {found.claim:g} is refuted, e-value {down(found.e_value, 0)} and"
        f" {1 / found.alpha:g} needed, with {found.reports:,} reports per input (wrong with"
        f" probability at most {found.alpha:g}).{bound}{_explained(found)}"
    )


def _explained(found: AuditResult) -> str:
    """Return what a violation adds to the verdict: its scope, and the cause that was tested."""
    none = "No single cause was found." if found.tried else ""
    return "".join(f" {text}" for text in (found.scope, found.cause or none) if text)


def _curve_sentence(found: AuditResult) -> str:
    """Return the conclusion about a claim that is a trade-off curve."""
    shown = found.mu_lower and down(found.mu_lower, claim=found.curve["mu"])
    bound = f" No mu below {shown} is kept, which is no bound of epsilon." if shown else ""
    used = f"with {found.reports:,} reports per input"
    if not found.violated:
        reason = found.inconclusive and f"Inconclusive: {found.inconclusive}."
        none = f"No violation of {_claimed(found)} found {used}. This does not prove the claim."
        return f"{reason or none}{bound}"
    line = found.tangent and (
        f" At epsilon = {found.tangent['epsilon']:.3g} the claim allows delta ="
        f" {found.tangent['delta']:.2g}, and about {found.tangent['shown']:.2g} was seen."
    )
    return (
        f"VIOLATION: {_claimed(found)} is refuted {used}, e-value {down(found.e_value or 0, 0)} and"
        f" {1 / found.alpha:g} needed (wrong with probability at most {found.alpha:g})."
        f"{line or ''}{bound}{_explained(found)}"
    )


def won(run: "Run") -> list[tuple[Event | None, Row]]:
    """Return the event and the row of every declared event, then those of what was learned.

    A row has the pair of inputs, the wealth of the bets, and how often reports showed the event.
    """
    inputs, main, out = run.audit.inputs, run.main, []
    for e, (event, i, j) in enumerate(run.audit.tracks):
        own = main.tally[e]
        hits = [int(x) for x in (own[1, i], own[1, j], own[:2, i].sum(), own[:2, j].sum())]
        out.append((event, _row((inputs[i], inputs[j]), event.words, main.wealth.each[e], hits)))
    for share, bettor in run.bettors if run.audit.learning else ():
        late = _LATE if bettor is run.late else ""
        each, found = bettor.wealth.each[bettor.d :] + share - run.shares[0], leader(bettor)
        other = OTHERS if len(inputs) > 2 else inputs[1]
        entry, words, pair, hits = None, late + TOGETHER, (inputs[0], other), []
        if found:
            entry = spoken(bettor, *found, [_name(run, x) for x in inputs])
            hits, i = counted(bettor, *found)
            pair = inputs[i], OTHERS if len(inputs) > 2 else inputs[1 - i]
            words = late + entry.words
        out.append((None if late else entry, _row(pair, words, each[: len(EVENTS)].max(), hits)))
        weighed = words + WEIGHED if found else words
        out.append((None, _row(pair, weighed, each[len(EVENTS) :].max(), hits)))
    return out


def _row(pair: Any, words: str, log: float, hits: list[int]) -> Row:
    row = {"pair": pair, "event": words, "e_value": math.exp(min(log, 700))}
    rates = zip(("tpr", "fpr"), hits, hits[2:])
    return row | dict(zip(_COUNTS, hits)) | {rate: hit / n for rate, hit, n in rates if n}


def leading(run: "Run") -> Event | None:
    """Return the event that has won most, or the single event among those that won together."""
    found = won(run)
    best = first(found)
    event = found[best - (found[best][0] is None and best > 0)][0]
    late = isinstance(event, Entry) and event.kind % ABSENT in (DIFFER, XOR)
    return None if late else event  # another audit sees other reports before


def first(found: list[tuple[Event | None, Row]]) -> int:
    """Return which event has won most; a single event also if it has won almost as much."""
    logs = [math.log(max(row["e_value"], 1e-300)) for _, row in found]
    best = int(np.argmax(logs))
    single = best > 0 and found[best][0] is None and found[best - 1][0] is not None
    return best - (single and logs[best - 1] > ALMOST * logs[best])


def result(run: "Run") -> AuditResult:
    """Return the result so far.

    The `trajectory` has its rows after 8, 12, 18, 27, ... reports per input.

    Notes
    -----
    The keys of its `AuditResult.evidence` are:

    - ``event``: the event that has won most, in words;
    - ``e_value``: wealth against the claim, from a stake of 1, or ``None`` if nothing is claimed;
    - ``asked``: number of reports of every input;
    - ``reports``: the mean of these numbers, rounded up;
    - ``one_in``: see `one_in`;
    - ``tried``: what was removed to find the cause of a violation: ``removed``, ``reports`` per
      input that were then made, and ``ended``, whether the refutation ended;
    - ``stopped``: why the audit stopped;
    - ``restarts``: how often a program was started again.

    A claim that is a trade-off curve adds more. Then `claim` and `delta` are those of a claim that
    follows from the curve, and `lower` is 0.

    - ``curve``: kind, parameters and number of lines of the curve;
    - ``mu_lower``: the client keeps no smaller mu, which is no bound of epsilon;
    - ``tangent``: the line of the curve against which most was staked. ``p`` and ``q`` are the
      shares of reports with its event, and ``shown`` is ``p - e^epsilon q``;
    - ``band``: epsilon, lower bound of delta, and delta that the curve allows. All bounds hold
      together.
    """
    audit, mechanism = run.audit, run.mechanism
    rows, n, most = won(run), -(-run.rounds // run.cycle), run.most()
    lead, same = rows[first(rows)][1], repeated(run.main)
    notes = {
        f"all of the first {same:,} reports of an input are the same": same > 1,
        NO_PAIRS: run.live and audit.independent,
    }
    assumed = AHEAD if run.ahead else "" if run.live else PAIRED
    clock, cause, tried = "", run.cause.sentence, run.cause.tried
    if isinstance(mechanism, Recordings) and run.refuted:
        clock = mechanism.clock(lead["event"])
    if run.seeded and run.refuted and not n:
        lead, clock, cause = lead | {"event": AGREE}, run.seeded.sentence, run.seeded.cause
    lower = run.lower(most)
    found = AuditResult(
        mechanism=mechanism.name,
        parameters=mechanism.parameters,
        attack=", ".join(dict.fromkeys(audit.called)),
        trials=n,
        alpha=audit.alpha,
        seed=run.seed,
        faithful=not run.sampled,
        counts={key: lead[key] for key in _COUNTS if key in lead},
        rates={key: lead[key] for key in ("tpr", "fpr") if key in lead},
        claim=audit.claim[0],
        delta=audit.delta,
        pair=lead["pair"],
        questions=len(rows),
        directions=tuple(row for _, row in rows),
        lower=lower if audit.curve is None else 0.0,
        inconclusive="" if run.refuted else weak(run, n),
        invalid=run.seeded.invalid if run.seeded and not run.refuted else "",
        cause=cause,
        warnings=tuple(note for note, holds in notes.items() if holds),
        scope=audit.mechanism.scope if isinstance(audit.mechanism, Mechanism) else "",
        about=" ".join(filter(None, [_asked(run, lead), assumed, clock, restarted(run.restarts)])),
        evidence={
            **_curved(run, most, lower),
            **({"restarts": run.restarts} if run.program else {}),
            "event": lead["event"],
            "e_value": run.e_value,
            "reports": n,
            "asked": run.asked.tolist(),
            "one_in": one_in(run),
            "tried": list(tried),
            "stopped": run.stopped or "under way",
        },
        refuted=run.refuted,
        meaning=MEANING.format(1 / audit.alpha, audit.alpha),
        seconds=run.seconds,
        digest=getattr(mechanism, "digest", ""),
        trajectory=(*run.trajectory, (n, run.log, lower)),
    )
    return replace(found, sentence=_sentence(found, unseen(run)), words=_words(found))


def _curved(run: "Run", most: Any, lower: float) -> Row:
    """Return what is known of a claim that is a curve."""
    audit, curve, claims = run.audit, run.audit.curve, run.claims
    if curve is None:
        return {}
    band = [] if audit.band is None else audit.band.tolist()
    shown = most[claims.values.size :].reshape(-1, DELTAS.size)
    shown = shown >= math.log(max(len(band), 1) / audit.alpha)
    bounds = [float(np.append(0, DELTAS)[np.argmin([*row, False])]) for row in shown]
    return {
        "curve": {"kind": curve.kind, **curve.parameters, "lines": curve.grown.size},
        "mu_lower": lower if "mu" in curve.parameters else None,
        "tangent": _tangent(run.main),
        "band": tuple(zip(band, bounds, curve.delta(band).tolist())),
    }


def _tangent(bettor: Bettor) -> Row | None:
    """Return the line against which most was won, and what its best expert has seen."""
    wealth, claims = bettor.wealth, bettor.wealth.claims
    e, c = np.unravel_index(int(np.argmax(wealth.now[:-1])), wealth.now[:-1].shape)
    hist, grown = bettor.hist[e], claims.grown[wealth.lines[c]]
    rates = hist / np.maximum(hist.sum(axis=0), 1)
    named = rates.argmax(axis=1)
    i = int(np.bincount(named, rates.max(axis=1), minlength=rates.shape[1]).argmax())
    others = np.delete(rates, i, axis=1).min(axis=1)
    some = rates[:, i] > grown * others
    if not some.any():
        return None
    p, q = float(rates[some, i].sum()), float(others[some].sum())
    line = {"epsilon": math.log(grown), "delta": float(claims.delta[wealth.lines[c]])}
    return line | {"p": p, "q": q, "shown": p - float(grown) * q}


def _name(run: "Run", x: Any) -> str:
    """Return an input, or the value that the client has for it."""
    return f"{against(run.mechanism.parameters, [x]):.40}"


def _asked(run: "Run", leading: Row) -> str:
    """Return a sentence that names the inputs if there are more than two, and the leading pair."""
    inputs, mechanism = run.audit.inputs, run.audit.mechanism
    if len(inputs) == 2:
        return ""
    few = len(inputs) <= _NAMED
    named = ", ".join(_name(run, x) for x in inputs) if few else _spans(inputs)
    k = mechanism.k if isinstance(mechanism, FrequencyOracle | Client) else 0
    of = f" of {k:,}" if k > len(inputs) else ""
    one, other = (_name(run, x) for x in leading["pair"])
    return f"Asked were {len(inputs)}{of} inputs ({named}); {one} against {other} leads."


def _spans(inputs: Any) -> str:
    """Return positions of inputs, with consecutive ones as the first and the last."""
    spans: list[list[Any]] = []
    for x in inputs:
        if spans and isinstance(x, int) and x == spans[-1][-1] + 1:
            spans[-1] = [spans[-1][0], x]
        else:
            spans.append([x])
    return ", ".join(" to ".join(map(str, span)) for span in spans)
