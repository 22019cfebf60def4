"""Results of sequential audits: what won, and what was asked."""

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...auditors.report_html import Drawing, drawing
from ...auditors.result import PairResult, Row, finite, restarted
from ...mechanisms import FrequencyOracle, LocalRandomizer
from ...stats import down
from ..clients import Client
from ..clients.recordings import Recordings
from .bettor import EVENTS, Bettor, repeated
from .events import Event
from .sentence import one_in, unseen, weak
from .wealth import DELTAS
from .words import counted, leader, spoken

if TYPE_CHECKING:
    from .loop import Run

__all__ = ["TOGETHER", "WEIGHED", "SequentialResult", "leading", "result", "won"]

WEIGHED = ", weighed together with everything else that can be seen"
"""Follows the words of the best single event if the bets on all events together won more."""
TOGETHER = "everything that can be seen, weighed together"
"""The event in words if no single event separates the inputs."""
AGREE = "answers of two starts agree, and those of a third one with other inputs differ"
"""The event in words, if the seed of a program decides."""
REPEATED = "a repeated report: all reports of an input are the same"
ALMOST = 0.6
"""A single event is named instead of all that was weighed, if its logarithm is so large a part."""
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
    unseen : str
        Sentences about what the audit would have found, and what it did not look at.
    tried : tuple of dict
        What was removed to find the cause of a violation: ``removed``, ``reports`` per input that
        were then made, and ``ended``, whether the refutation ended (``None`` if it is undecided).
    stopped : str
        Why the audit stopped.
    restarts : int or None
        How often a program was started again; ``None`` for other clients.
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
    unseen: str = ""
    tried: tuple[Row, ...] = ()
    stopped: str = ""
    restarts: int | None = None
    trajectory: tuple[tuple[int, float, float], ...] = field(default=(), compare=False)

    @property
    def reports(self) -> int:
        """All reports that were used, divided by the number of inputs, rounded up."""
        return self.trials

    @property
    def _refuted(self) -> bool:
        """Whether the e-value has reached ``1 / alpha``, which alone is a violation."""
        return self.e_value is not None and self.e_value >= 1 / self.alpha

    @property
    def _conclusion(self) -> str:
        if self.curve is not None:
            return self._curved
        if self.status == "none found" and self.one_in and self.claim < math.inf:
            return f"{super()._conclusion} {self.unseen}"
        if not self.violated or self.e_value is None:
            return super()._conclusion
        sure = f"wrong with probability at most {self.alpha:g}"
        shown = down(self.lower, claim=self.claim)
        bound = f" Epsilon is at least {shown}." if self.lower > 0 else ""
        return (
            f"VIOLATION: epsilon = {self.claim:g} is refuted, e-value {down(self.e_value, 0)} and"
            f" {1 / self.alpha:g} needed, with {self.reports:,} reports per input ({sure}).{bound}"
            f"{self._explained}"
        )

    @property
    def _explained(self) -> str:
        """What a violation adds to the verdict: its scope, and the cause that was tested."""
        none = "No single cause was found." if self.tried else ""
        return "".join(f" {text}" for text in (self.scope, self.cause or none) if text)

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
        shown = self.mu_lower and down(self.mu_lower, claim=(self.curve or {})["mu"])
        bound = f" No mu below {shown} is kept, which is no bound of epsilon." if shown else ""
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
            f"{line or ''}{bound}{self._explained}"
        )

    def plot(self) -> Drawing:
        """Draw wealth and bound against the number of reports."""
        claim = self.claim if self.curve is None else self.curve.get("mu", math.inf)
        return drawing(
            self.trajectory, claim, self.alpha, "epsilon" if self.curve is None else "mu"
        )

    def to_dict(self) -> Row:
        """Return the dictionary of `AuditResult.to_dict` with what was tried to find the cause."""
        return {**super().to_dict(), "tried": list(self.tried)}

    def row(self) -> Row:
        """Flatten as `AuditResult.row` does; a sequential audit has no ``epsilon_emp``."""
        row = super().row()
        del row["epsilon_emp"]
        more = ["curve", "mu_lower", "tangent", "band"] * (self.curve is not None)
        more += ["restarts"] * (self.restarts is not None)
        return row | {
            **{name: getattr(self, name) for name in more},
            "event": self.event,
            "e_value": None if self.e_value is None else finite(self.e_value),
            "reports": self.reports,
            "asked": list(self.asked),
            "one_in": self.one_in,
            "stopped": self.stopped,
        }


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
        entry, words, pair, hits = None, TOGETHER, (inputs[0], inputs[-1]), []
        if found:
            entry = spoken(bettor, *found)
            hits, i = counted(bettor, *found)
            pair = inputs[i], OTHERS if len(inputs) > 2 else inputs[1 - i]
            words = late + entry.words
        out.append((None if late else entry, _row(pair, words, each[: len(EVENTS)].max(), hits)))
        weighed = words + WEIGHED if found else late + TOGETHER
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
    return found[best - (found[best][0] is None and best > 0)][0]


def first(found: list[tuple[Event | None, Row]]) -> int:
    """Return which event has won most; a single event also if it has won almost as much."""
    logs = [math.log(max(row["e_value"], 1e-300)) for _, row in found]
    best = int(np.argmax(logs))
    single = best > 0 and found[best][0] is None and found[best - 1][0] is not None
    return best - (single and logs[best - 1] > ALMOST * logs[best])


def result(run: "Run") -> SequentialResult:
    """Return the result so far."""
    audit, mechanism = run.audit, run.mechanism
    rows, n, most = won(run), -(-run.rounds // run.cycle), run.most()
    lead = rows[first(rows)][1]
    same = repeated(run.main)
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
    return SequentialResult(
        mechanism=mechanism.name,
        parameters=mechanism.parameters,
        attack=", ".join(dict.fromkeys(audit.called)),
        trials=n,
        asked=tuple(run.asked.tolist()),
        alpha=audit.alpha,
        seed=run.seed,
        faithful=not run.sampled,
        counts={key: lead[key] for key in _COUNTS if key in lead},
        rates={key: lead[key] for key in ("tpr", "fpr") if key in lead},
        epsilon_emp=math.nan,
        exact=None,
        exact_sd=None,
        claim=audit.claim[0],
        delta=audit.delta,
        pair=lead["pair"],
        questions=len(rows),
        directions=tuple(row for _, row in rows),
        lower=lower if audit.curve is None else 0.0,
        inconclusive="" if run.refuted else weak(run, n),
        invalid=run.seeded.invalid if run.seeded and not run.refuted else "",
        cause=cause,
        tried=tried,
        warnings=tuple(note for note, holds in notes.items() if holds),
        scope=audit.mechanism.scope if isinstance(audit.mechanism, LocalRandomizer) else "",
        about=" ".join(filter(None, [_asked(run, lead), assumed, clock, restarted(run.restarts)])),
        restarts=run.restarts if run.program else None,
        one_in=one_in(run),
        unseen=unseen(run),
        seconds=run.seconds,
        digest=getattr(audit.mechanism, "digest", ""),
        event=lead["event"],
        **_curved(run, most, lower),
        e_value=run.e_value,
        stopped=run.stopped or "under way",
        trajectory=(*run.trajectory, (n, run.log, lower)),
    )


def _curved(run: "Run", most: Any, lower: float) -> Row:
    """Return what is known of a claim that is a curve."""
    audit, curve, claims = run.audit, run.audit.curve, run.claims
    if curve is None:
        return {}
    band = [] if audit.band is None else audit.band.tolist()
    shown = most[claims.values.size :].reshape(-1, DELTAS.size)
    shown = shown >= math.log(max(len(band), 1) / audit.alpha)
    bounds = [float(DELTAS[row].max(initial=0.0)) for row in shown]
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


def _asked(run: "Run", leading: Row) -> str:
    """Return a sentence that names the inputs if there are more than two, and the leading pair."""
    inputs, mechanism = run.audit.inputs, run.audit.mechanism
    if len(inputs) == 2:
        return ""
    named = ", ".join(map(str, inputs)) if len(inputs) <= _NAMED else _spans(inputs)
    k = mechanism.k if isinstance(mechanism, FrequencyOracle | Client) else 0
    of = f" of {k:,}" if k > len(inputs) else ""
    one, other = leading["pair"]
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
