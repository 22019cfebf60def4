"""Results of sequential audits: what won, why, and which leaks may have been missed."""

import bisect
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...auditors.report_html import Drawing, drawing
from ...auditors.result import CLEAR, LEAST, PairResult, Row, finite, restarted, too_few
from ...mechanisms import FrequencyOracle, LocalRandomizer
from ...stats import down
from ...types import Array
from ..clients import Client
from ..clients.recordings import Recordings
from .columns import read
from .events import AGREE, Entry, Event, happened
from .portfolio import DELTAS, Portfolio
from .records import REAL, Records
from .scores import Scores
from .screen import Screen
from .tallies import ZERO, stake

if TYPE_CHECKING:
    from .loop import Run

__all__ = ["WEIGHED", "SequentialResult", "bets", "clear", "one_in", "result"]

WEIGHED = ", weighed together with everything else that can be seen"
"""Follows the words of the best single entry if the bets on all entries together won more."""

FLOATS = (
    "floating-point artefact: the last bits of the number reveal the input (page Case studies,"
    " floating point)"
)
REPEATED = "a repeated report: all reports of an input are the same"
_LATE = "one report late: "
_CAUSES = {
    _LATE: "memory: a report shows the input of the report before",
    r"the (exponent of the last bit|zeros at the end of the mantissa|number of decimals)": FLOATS,
    r"this very report": "a repeated report",
    r"the (order of the keys|first key|relation|number of ascents|place)": "the order of the list",
    r"the (length|number of keys|number of zeros at the end)": "the length",
    r"is (an integer|a real number|true or false|infinite or no number)": "the type of the number",
    r"is a number that was sent": "the presence of the field",
    r"is -?\d+\.\d{12,}": "a repeated number",
}
_DRIFT = 3.0  # of Kolmogorov's statistic: exceeded by chance with probability 2 exp(-18) = 3e-8
_DIGITS = 40  # binary digits below this one are the last bits of a real number
_ALIKE = 10  # so many equal reports are named as a cause
_AT_ONCE = 4096  # reports that are read again at once
_NAMED = 12  # inputs that a verdict names one by one
_SPENT, _SPENT_RARE = 2.5, 0.85  # nats lost before bets are on the right event, as measured

UNSEEN = (
    "Not looked at: three or more entries together, what is encrypted or compressed, the time of"
    " reports, and what depends on inputs"
)

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
            return (
                f"{super()._conclusion} A client that sends its input in the clear in one report of"
                f" {self.one_in:,} would have been refuted with probability 0.9. {UNSEEN}"
                f" {'of other reports' if PAIRED in self.about else 'more than one report ago'}."
            )
        if not self.violated or self.e_value is None:
            return super()._conclusion
        sure = f"wrong with probability at most {self.alpha:g}"
        shown = down(self.lower, claim=self.claim)
        bound = f" Epsilon is at least {shown}." if self.lower > 0 else ""
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


def result(run: "Run") -> SequentialResult:
    """Return the result so far."""
    audit, wealth, mechanism = run.audit, run.wealth, run.mechanism
    rows = bets(run)
    event, leading = rows[int(np.argmax(wealth.each))]
    n, same = -(-run.rounds // run.cycle), _repeated(run)
    notes = {
        f"all of the first {same:,} reports of an input are the same": same > 1,
        NO_PAIRS: run.live and audit.independent,
    }
    assumed = AHEAD if run.ahead else "" if run.live else PAIRED
    clock = cause = ""
    if isinstance(mechanism, Recordings) and wealth.refuted:
        clock = mechanism.clock(leading["event"])
    if run.seeded and wealth.refuted and not n:
        leading, clock, cause = leading | {"event": AGREE}, run.seeded.sentence, run.seeded.cause
    elif wealth.refuted:
        cause = why(run, event, leading["event"])
    return SequentialResult(
        mechanism=mechanism.name,
        parameters=mechanism.parameters,
        attack=", ".join(dict.fromkeys(audit.called)),
        trials=n,
        asked=tuple(run.asked.tolist()),
        alpha=audit.alpha,
        seed=run.seed,
        faithful=not run.sampled,
        counts={key: leading[key] for key in _COUNTS if key in leading},
        rates={key: leading[key] for key in ("tpr", "fpr") if key in leading},
        epsilon_emp=math.nan,
        exact=None,
        exact_sd=None,
        claim=audit.claim[0],
        delta=audit.delta,
        pair=leading["pair"],
        questions=len(rows),
        directions=tuple(row for _, row in rows),
        lower=wealth.lower if audit.curve is None else 0.0,
        inconclusive="" if wealth.refuted else _weak(run, n),
        invalid=run.seeded.invalid if run.seeded and not wealth.refuted else "",
        cause=cause,
        warnings=tuple(note for note, holds in notes.items() if holds),
        scope=audit.mechanism.scope if isinstance(audit.mechanism, LocalRandomizer) else "",
        about=" ".join(
            filter(None, [_asked(run, leading), assumed, clock, restarted(run.restarts)])
        ),
        restarts=run.restarts if run.program else None,
        one_in=one_in(run),
        seconds=run.seconds,
        digest=audit.mechanism.digest,
        event=leading["event"],
        **_curved(run),
        e_value=wealth.e_value,
        stopped=run.stopped or "under way",
        trajectory=(*run.trajectory, (n, wealth.log, wealth.lower)),
    )


def _curved(run: "Run") -> Row:
    """Return what is known of a claim that is a curve."""
    audit, wealth, curve = run.audit, run.wealth, run.audit.curve
    if curve is None:
        return {}
    band = [] if audit.band is None else audit.band.tolist()
    refuted = wealth.most_won >= math.log(max(len(band), 1) / audit.alpha)
    shown = refuted[wealth.grid.size - len(band) * len(DELTAS) :].reshape(-1, len(DELTAS))
    bounds = [float(np.append(0, DELTAS)[np.argmin([*row, False])]) for row in shown]
    portfolio = next(p for p in wealth.players if isinstance(p, Portfolio))
    return {
        "curve": {"kind": curve.kind, **curve.parameters, "lines": curve.grown.size},
        "mu_lower": wealth.lower if "mu" in curve.parameters else None,
        "tangent": portfolio.tangent(wealth.at or 0),
        "band": tuple(zip(band, bounds, curve.delta(band).tolist())),
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
    missed = int(counts.paths.missed.sum())  # at least, because some may share a mark
    if missed:  # of such a path only whole values are counted
        return f"{missed:,} places of the reports were not looked at"
    if n and counts.repeated.all() and len(set(counts.first.tolist())) == 1:
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
    (claim, delta), screen = run.audit.claim, run.screens[0]
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
    reports = int(run.asked.min())
    if not run.screens or run.audit.claim[0] == math.inf:
        return 0
    return bisect.bisect_left(
        range(1, reports + 1), True, key=lambda n: not _refutes(run, reports, n)
    )


def clear(run: "Run") -> bool:
    """Return whether the reports so far refute a client that sends its input in the clear.

    If no attack learns, the client may send it in one report of ten.
    """
    reports, (claim, _) = int(run.asked.min()), run.audit.claim
    if run.screens and claim < math.inf:
        return _refutes(run, reports, 1)
    return claim == math.inf or run.wealth.most(max(reports, 1)) > claim


def bets(run: "Run") -> list[tuple[Event | None, Row]]:
    """Return the event and the row of every track, then of every other player.

    A row holds the wealth of the bets, and how often the reports that they are on show the event.
    The event of a player is the single entry that won most, ``None`` if nothing was bet on yet.
    """
    inputs, players, out = run.audit.inputs, run.wealth.players, []
    found: list[Any] = [
        (event, (inputs[i], inputs[j]), event.words, players[0].hits(track))
        for track, (event, i, j) in enumerate(run.audit.tracks)
    ]
    for player in players[bool(found) :]:
        screen = player if isinstance(player, Screen) else run.screens[0]
        entry, (one, other), hits = screen.leading()
        pair = inputs[one], inputs[other] if entry or len(inputs) == 2 else OTHERS
        late, together = _LATE if screen.late else "", "" if screen is player else WEIGHED
        words = f"{late}{entry.words}{together}" if entry else player.words
        found.append((entry, pair, words, hits))
    for (event, pair, words, hits), log in zip(found, run.wealth.each.tolist()):
        rates = zip(("tpr", "fpr"), hits, hits[2:])
        row = {"pair": pair, "event": words, "e_value": math.exp(min(log, 700))}
        row |= dict(zip(_COUNTS, hits)) | {rate: hit / n for rate, hit, n in rates if n}
        out.append((event, row))
    return out


def _repeated(run: "Run") -> int:
    """Return how many reports an input has if all of them are the same; 0 if they differ."""
    every = (s.counts.reports.sum(axis=0)[s.counts.repeated] for s in run.screens[:1])
    return max((int(reports.max(initial=0)) for reports in every), default=0)


def why(run: "Run", event: Event | None, words: str) -> str:
    """Return what shows the input, in a few words; empty if it is the value that is sent.

    `words` are those of the leading event in the result.
    """
    found = [cause for named, cause in _CAUSES.items() if re.search(named, words)]
    if _repeated(run) >= _ALIKE:
        found.insert(0, REPEATED)
    if not found and _last_bits(run, event):
        found.append(FLOATS)
    return "; ".join(filter(None, [*found[:1], _drift(run, event, words.startswith(_LATE))]))


def _last_bits(run: "Run", event: Event | None) -> bool:
    """Return whether the event is one of the last binary digits of a real number."""
    if not (run.screens and isinstance(event, Entry) and event.kind <= ZERO):
        return False
    report = run.screens[0].report
    if report is None or event.value > _DIGITS:
        return False
    found = read([report])
    return bool((found.types[found.paths == np.uint64(event.paths[0])] == REAL).any())


def _drift(run: "Run", event: Event | None, late: bool) -> str:
    """Return after which report the rate of the event changed most, if it did.

    The statistic is the largest deviation of the number of events from a steady rate.
    """
    for first, shown in (_remembered if run.live else _read_again)(run, event, late):
        walk = np.cumsum(shown - shown.mean())
        at = int(np.argmax(abs(walk)))
        if abs(walk[at]) > _DRIFT * np.sqrt(shown.size) * shown.std():
            return f"drift: reports changed after {first + at + 1:,}"
    return ""


def _read_again(run: "Run", event: Event | None, late: bool) -> Iterator[tuple[int, Array]]:
    """Yield which recordings of each input show the event, after the number of the first, 0.

    The recordings are read again from the beginning.
    """
    source, rng = run.mechanism, np.random.default_rng(run.seed)
    if event is None or not isinstance(source, Recordings):
        return
    source.seek(0)
    parts: list[list[Any]] = [[], []]
    for start in range(0, run.rounds, _AT_ONCE):
        some = source.draw(run.audit.inputs, min(_AT_ONCE, run.rounds - start), rng)
        for part, own in zip(parts, some):
            part.append(happened(event, own, len(own), rng))
    source.seek(run.rounds)
    yield from ((0, np.concatenate(part)) for part in parts)


def _remembered(run: "Run", event: Event | None, late: bool) -> Iterator[tuple[int, Array]]:
    """Yield how much likelier the last reports of a live client make the event with one input.

    A report of this input counts 1 if it shows the event, and -1 with the input that it is compared
    with, less the mean. Coins choose the inputs, so that a change that is alike for both is no
    cause. Only reports that are remembered without a gap are known. The number of the first comes
    before.
    """
    entry, pair, _ = run.screens[late].leading() if run.screens else (None, (0, 1), [])
    if entry is not None and entry == event:
        scores = next(player for player in run.wealth.players if isinstance(player, Scores))
        # between what was learned and what came since, reports may have been forgotten
        whole = sum(part.sides.size for part in scores._parts) == run.rounds
        parts = scores._parts if whole else scores._parts[1:]
        if not parts:
            return
        memory = Records.joined(parts)
        sides, shown = np.roll(memory.sides, late), entry.among(memory)
        own = (sides == pair[0]).astype(int) - (sides == pair[1])
        yield run.rounds - sides.size, (shown - shown.mean()) * own
