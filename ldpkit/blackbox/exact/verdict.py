"""The exact distribution of a client's own code, and the same coins for several inputs.

`exact_client` forks every coin of a client, so that each way through it is run once and weighed.
`replay` gives the same coins to several inputs. Both work on a client in Python whose sources of
chance are Python's or NumPy's generators or those of the system.
"""

import contextlib
import ctypes
import functools
import heapq
import itertools
import json
import math
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np

from ... import checks
from ...types import Input, Row
from ..clients import Client, ClientError
from ..clients.anything import plain
from .forks import LEFT, MOVED, Call, Node, Tree
from .sources import Stop, Tape, replaced
from .states import frozen

__all__ = ["exact_client", "replay", "ExactResult", "Finding", "Way"]

TOLERANCE = 1e-9
_SURE = 13.9  # -ln of the probability that another source of chance hides, 1e-6
_RUNS = 1000  # calls of the client for one input, at least
_EARLY = 1024  # calls after which a tree that seems so many times too large is left
_LEAST, _LEFT = 128, 1e-12  # calls, after which ways of so small a mass are not run
_KNOWN = 100  # a report is well known if its mass is so many times the mass that is left
_ENDLESS = "a call of the client does not end in {:g} seconds"
_MOST = 0.01  # largest delta that ways which were not run may add to a claim that is kept


class Finding(NamedTuple):
    """One thing that the same coins show.

    Attributes
    ----------
    kind : str
        ``"unknown"``: nothing can be said. ``"violation"``: reports are a function of the input.
        ``"defect"``: all users have the same coins. ``"draws"``: the input decides how much
        randomness is used, which is no violation. ``"constant"``: all reports are alike.
        ``"suspect"``: coins are drawn, but do not change the report.
    text : str
        The finding in words.
    """

    kind: str
    text: str


class Way(NamedTuple):
    """One way through a client.

    Attributes
    ----------
    probability : float
        Probability of this way, and of those that were joined with it.
    when : tuple of str
        Conditions on the coins.
    report : str
        The report as JSON.
    """

    probability: float
    when: tuple[str, ...]
    report: str


class ExactResult(NamedTuple):
    """An exact verdict, or the reason why there is none.

    Attributes
    ----------
    epsilon, delta : float
        The claim.
    inputs : list
        The inputs that were compared, each with all others.
    findings : list of Finding
        Findings of `replay`.
    seconds : float
        Time that was needed.
    reason : str
        Why nothing exact can be said; empty if it can.
    ways : list of list of Way
        The ways through the client that were run, for each input.
    runs : int
        Number of calls for each input that all agree.
    lower, upper : float
        The interval of the loss, that is, of the least epsilon that all pairs of inputs keep. At
        delta the loss is at least `lower`. At delta plus `remaining` it is at most `upper`. NaN if
        nothing is known.
    remaining : float
        Mass of the ways that were not run, and of reports that these ways leave unknown; 0 if all
        ways were run.
    report : str
        A report that shows the loss, as JSON.
    pair : (int, int)
        Positions of the two inputs with the largest loss.
    """

    epsilon: float
    delta: float
    inputs: list[Input]
    findings: list[Finding]
    seconds: float
    reason: str = ""
    ways: Sequence[list[Way]] = ()
    runs: int = 0
    lower: float = math.nan
    upper: float = math.nan
    remaining: float = 0.0
    report: str = ""
    pair: tuple[int, int] = (0, 1)

    @property
    def status(self) -> str:
        """Return ``"violation"``, ``"none found"`` or ``"not exact"``."""
        found = "violation" if self.lower > self.epsilon + TOLERANCE else "none found"
        return "not exact" if self.reason else found

    @property
    def loss(self) -> float:
        """Return the exact loss, or NaN if only an interval or nothing is known."""
        return math.nan if self.reason or self.remaining else self.lower

    def curve(self, pair: tuple[int, int] | None = None) -> list[tuple[str, float, float]]:
        """Return each report with its probabilities for two inputs, by falling ratio."""
        return _curve(*(self.ways[at] for at in pair or self.pair))

    def leading(self, most: int = 4) -> list[str]:
        """Return the likeliest ways to the report that shows the loss, in words."""
        found = [
            (way.probability, self.inputs[at], way.when)
            for at in self.pair[: len(self.ways)]
            for way in self.ways[at]
            if way.report == self.report
        ]
        return [
            f"for {value!r}, with probability {mass:.6g}: "
            + (f"when {' and '.join(when)}: " if when else "always ")
            + (
                "the value is sent"
                if self.report == json.dumps(plain(value))
                else f"{self.report} is sent"
            )
            for mass, value, when in sorted(found, key=lambda one: -one[0])[:most]
        ]

    @property
    def verdict(self) -> str:
        """Sentences that state what was shown, and what this rests on."""
        if self.reason:
            return f"Not exact: {self.reason}. Audit its reports by ldpkit audit."
        low, high = ("infinite" if math.isinf(one) else f"{one:.9g}"
                     for one in (self.lower, self.upper))  # fmt: skip
        exceeds = self.status == "violation"
        words = "exceeds the claim" if exceeds else "keeps the claim"
        delta = self.delta if exceeds else self.delta + self.remaining
        shown = (
            f"The loss is at least {low}, and at most {high} if delta is {self.remaining:.3g}"
            " larger because of ways that were not run"
            if self.remaining
            else f"The exact loss is {low}"
        )
        return (
            f"{shown}, which {words} of epsilon = {self.epsilon:g}, delta ="
            f" {delta:.6g}. This holds for these inputs, if the client draws from nothing that"
            f" {self.runs:,} calls for each did not show."
        )

    def row(self) -> Row:
        """Return the result as one object of JSON, in which an infinite loss is ``"inf"``."""
        losses = {name: getattr(self, name) for name in ("loss", "lower", "upper")}
        return {
            "status": self.status,
            **self._asdict(),
            **{
                name: (None if math.isnan(one) else str(one) if math.isinf(one) else one)
                for name, one in losses.items()
            },
            "inputs": [plain(one) for one in self.inputs],
            "ways": sum(map(len, self.ways)),
            "findings": [one._asdict() for one in self.findings],
            "leading": self.leading(),
            "verdict": self.verdict,
        }


def exact_client(
    client: Any,
    epsilon: float | None = None,
    *,
    inputs: Sequence[Input] | None = None,
    delta: float | None = None,
    ways: Annotated[int, "Largest number of ways through the client for one input."] = 100_000,
    tapes: Annotated[int, "Number of tapes with the same coins for all inputs."] = 100,
    seconds: Annotated[float, "Largest time in seconds, above 0."] = 10.0,
) -> ExactResult:
    """Compute the exact loss of a client, and compare it with its claim.

    Every draw of the client that is compared with a number, rounded to a whole number or taken from
    a finite range is forked. The ways through the client are run once, likeliest first, and
    weighed. Ways that come to the same state of a function are joined (`states`), so that the loop
    of a rejection is solved. Then all ways are run again, with other clocks, so that other sources
    of chance are found out.

    A loop may have infinitely many ways. If the time is over before all were run, the loss is known
    as an interval at a slightly larger delta.

    A generator that was made before the call gives fair coins, even if its seed was fixed. A client
    that drew a secret when it was imported seems to draw nothing. Therefore the command
    ``ldpkit exact`` starts such a client again before it states a violation.

    Nothing is estimated: a leak of probability 1e-6 is one more way through the client. Where the
    distribution cannot be computed, the result states the reason, and an audit of reports is next.

    Parameters
    ----------
    client : Client or callable
        A client of the package, or ``f(value) -> report``, or ``f(values, rng) -> reports``.
    epsilon, delta : float, optional
        The claim, by default that of the `Client`.
    inputs : list, optional
        The inputs, at least two. A `Client` has its own.
    ways : int
        Largest number of ways through the client for one input.
    tapes : int
        Number of tapes with the same coins for all inputs, see `replay`.
    seconds : float
        Largest time in seconds. All ways that were found are run again, and each input is asked
        1,000 times, also if that takes longer.

    Returns
    -------
    ExactResult
        Its `status` is ``"violation"`` if the lower end of the loss exceeds epsilon by more than
        1e-9. It is ``"none found"`` if the upper end does not and `remaining` is at most 0.01.

    Raises
    ------
    ValueError
        If a parameter is not allowed, or the client fails.
    RuntimeError
        If a client is replayed already.
    """
    start, client = time.perf_counter(), _client(client, inputs)
    epsilon = checks.real("epsilon", client.epsilon if epsilon is None else epsilon, 0)
    delta = checks.real("delta", client.delta if delta is None else delta, 0, 1, closed="[)")
    seconds = checks.real("seconds", seconds, 0, closed="()")
    tree = Tree(checks.integer("ways", ways, 1, 10**8))
    found: Row = {"findings": replay(client, tapes=tapes, seconds=seconds)}
    # if the client draws from another source and keeps epsilon, two inputs have one report each in
    # so many calls with probability 1e-6
    needed = math.ceil(_SURE / -math.log1p(-math.exp(-min(max(epsilon, 1e-9), 30.0))))
    found["runs"] = max(_RUNS, min(needed, ways))
    try:
        if "unknown" in [one.kind for one in found["findings"]]:
            raise Stop(found["findings"][0].text)
        with replaced(tree), _watched(tree, seconds):
            until = max(start + seconds, tree.clock() + seconds / 2)  # whatever the tapes took
            laws, left = _laws(client, tree, until, found["runs"])
        if needed > ways and min(map(len, laws)) == 1:
            tree.stop(f"no coin was seen, and for so large an epsilon only {needed:,} calls exclude"
                      " another source of chance: raise the number of ways")  # fmt: skip
        drawn = [law for law, rest in zip(laws, left) if not rest and law[0].when]
        if any(len({way.report for way in law}) == 1 for law in drawn):
            tree.stop("coins are drawn and do not change the report: the client may remember it")
        found["ways"] = laws
        pairs = [*itertools.permutations(range(client.k), 2)]
        losses = [_interval(_curve(laws[a], laws[b]), left[a], left[b], epsilon, delta)
                  for a, b in pairs]  # fmt: skip
        (found["lower"], found["report"], *_), found["pair"] = max(
            zip(losses, pairs), key=lambda one: one[0][0]
        )
        found["upper"], found["remaining"] = (max(column) for column in [*zip(*losses)][2:])
        if found["lower"] <= epsilon + TOLERANCE and (
            found["upper"] > epsilon + TOLERANCE or found["remaining"] > _MOST
        ):
            tree.stop(f"ways with probability {max(left):.3g} were not run")
    except Stop as stop:
        found["reason"] = str(stop) or tree.reason
    return ExactResult(
        epsilon,
        delta,
        [*(client.values or range(client.k))],
        seconds=time.perf_counter() - start,
        **found,
    )


def replay(
    client: Any, inputs: Sequence[Input] | None = None, *, tapes: int = 100, seconds: float = 10.0
) -> list[Finding]:
    """Give a client the same coins for several inputs, and return what this shows.

    With each tape the client is called twice for each input. If the two reports differ, nothing can
    be said, and ``"unknown"`` is the only finding. Different reports for different inputs
    are no finding, because every useful client sends them.

    Parameters
    ----------
    client, inputs
        As in `exact_client`.
    tapes : int
        Number of tapes.
    seconds : float
        Largest time of the first call, which is ended afterwards.
    """
    client, tape = _client(client, inputs), Tape()
    calls: list[list[Any]] = [[] for _ in range(client.k)]
    first = threading.Thread(target=_first_call, args=(client,), daemon=True)
    first.start()
    first.join(seconds)
    if first.is_alive():
        _end(first, SystemExit)
        return [Finding("unknown", _ENDLESS.format(seconds))]
    try:
        with replaced(tape), _watched(tape, seconds):
            for tape.number in range(checks.integer("tapes", tapes, 1)):
                for at, own in enumerate(calls):
                    one, two = (
                        (_ask(client, at, tape), tape.seeds, tape.start, tape.position)
                        for _ in range(2)
                    )
                    if one != two:  # or the client remembers, and draws no more
                        tape.stop(MOVED)
                    own.append(one)
    except Stop as stop:
        return [Finding("unknown", str(stop) or tape.reason)]
    values = client.values or range(client.k)
    return _findings(values, tapes, *zip(*(zip(*own) for own in calls)))


def _first_call(client: Client) -> None:
    """Let imports and compilation take place before anything is replaced."""
    with contextlib.suppress(BaseException):  # the next call fails too
        client.perturb(np.array([0]), np.random.default_rng())


def _end(thread: threading.Thread, error: type[BaseException]) -> None:
    """Raise an error in a thread that runs code in Python."""
    end = ctypes.pythonapi.PyThreadState_SetAsyncExc
    end(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(error))


@contextlib.contextmanager
def _watched(tape: Tape, seconds: float) -> Iterator[None]:
    """End a call of the client that draws nothing for so long."""
    over, client = threading.Event(), threading.current_thread()

    def watch() -> None:
        seen = None
        while not over.wait(seconds):
            now = tape.calling and (tape.turn, tape.drawn)
            if now and now == seen:
                tape.reason = _ENDLESS.format(seconds)
                _end(client, Stop)
            seen = now

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


def _client(client: Any, inputs: Sequence[Input] | None) -> Client:
    if isinstance(client, Client):
        checks.need(inputs is None, f"inputs must be left out, as a Client has its own: {inputs}")
        return client
    checks.need(inputs is not None, "inputs must be a list, got None")
    return Client(client, report="any", values=inputs, epsilon=1.0)


def _ask(client: Client, at: int, tape: Tape) -> str:
    """Return one report about the input at a position, as JSON."""
    return _call(lambda: json.dumps(plain(client.perturb(np.array([at]), tape.generator)[0])), tape)


def _call(call: Callable[[], Any], tape: Tape) -> Any:
    """Return what a call returns whose coins come from a tape."""
    tape.begin()
    try:
        return call()
    finally:
        tape.calling = False
        if tape.reason:  # also if the client has caught what ended its call
            raise Stop(tape.reason)


def _laws(
    client: Client, tree: Tree, until: float, least: int
) -> tuple[list[list[Way]], list[float]]:
    """Return the ways for each input, and the masses that are left.

    All ways are run twice at least, and so often that the client is called `least` times.
    """
    begin = tree.clock()
    ends = [begin + (until - begin) * (at + 1) / client.k for at in range(client.k)]
    asks = [functools.partial(_ask, client, at, tree) for at in range(client.k)]
    try:
        found = [_ways(ask, tree, end, _LEFT, _LEAST) for ask, end in zip(asks, ends)]
    except ClientError:  # a compiled function may refuse a whole number that is not drawn yet
        if not tree.lazy:
            raise
        tree.lazy, tree.calls = False, {}  # known calls have forks of lazy numbers
        return _laws(client, tree, until, least)
    for ask, (ends_of, _) in zip(asks, found):
        for _ in range(max(1, math.ceil(least / max(1, len(ends_of))) - 1)):
            _repeat(ask, tree, ends_of)
    return [[Way(end.mass, *one) for end, one in ends_of.items()] for ends_of, _ in found], [
        left for _, left in found
    ]


def _ways(
    ask: Callable[[], Any],
    tree: Tree,
    until: float,
    enough: float,
    least: int = 1,
    most: int = 10**9,
) -> tuple[dict[Node, tuple[tuple[str, ...], Any]], float]:
    """Run ways through a call, likeliest first, until the mass left is small.

    Return conditions and the answer of these ways by their last nodes, and the mass that is left.
    """
    tree.plant(until)
    begin = tree.clock()
    ends: dict[Node, tuple[tuple[str, ...], Any]] = {}
    join, left, traced = True, 1.0, sys.gettrace()
    for calls in itertools.count(1):
        tree.follow(heapq.heappop(tree.open)[2])
        sys.settrace(tree.joints if join else traced)
        try:
            answer = ask()
        except Stop:
            if tree.reason != LEFT:
                raise
        else:
            if tree.at < len(tree.ahead):
                tree.stop(MOVED)
            ends[tree.node] = tuple(tree.words), answer
        finally:
            sys.settrace(traced)
        if tree.wanted:
            _learn(tree, *tree.wanted)
        if join and not tree.joints.pure:  # begin again, and join nothing
            tree.plant(until)
            join, ends = False, {}
        again = (tree.clock() - begin) * len(ends) / calls  # seconds for running all ways again
        over = not tree.open or len(ends) >= tree.most or tree.clock() + again > until
        over |= calls >= most
        if over or calls & (calls - 1) == 0:
            left = tree.weigh()
        # further ways are not likelier than these
        if calls == _EARLY and (1 - left) * tree.most < _EARLY * (1 - _MOST):
            tree.stop(f"there are more than {tree.most:,} ways through the client")
        if over or (left < enough and calls >= least):
            return ends, left + tree.lost
    raise AssertionError


def _repeat(
    ask: Callable[[], Any], tree: Tree, ends: dict[Node, tuple[tuple[str, ...], Any]]
) -> None:
    """Run ways again, which must give the same answers."""
    for end, (words, answer) in ends.items():
        tree.follow(end, grow=False)
        if (ask(), tuple(tree.words)) != (answer, words):
            tree.stop(MOVED)


def _learn(tree: Tree, key: Any, call: Callable[[], Any]) -> None:
    """Run the ways through a call of a function, and keep one for each value that it returns.

    Nothing is kept if too many ways are left, or if the function keeps something elsewhere. Then
    each such call is run for itself.
    """

    def ask() -> Any:
        value = frozen(_call(call, tree), [])
        return value if tree.joints.pure and not tree.seeds else tree.stop(MOVED)

    enough = min(_LEFT / tree.node.mass, _MOST)
    outer = {**vars(tree), "wanted": None}
    tree.calls[key] = tree.wanted = None
    with contextlib.suppress(Exception, Stop):
        ends, left = _ways(ask, tree, tree.until, enough, most=_EARLY)
        _repeat(ask, tree, ends)
        if left - tree.lost < enough:
            likeliest: dict[Any, Node] = {}
            masses: dict[Any, float] = {}
            for end, (_, value) in ends.items():
                likeliest[value] = max(likeliest.get(value, end), end, key=lambda one: one.mass)
                masses[value] = masses.get(value, 0.0) + end.mass
            outer["calls"][key] = Call(
                tree.nodes[0], {likeliest[value]: mass for value, mass in masses.items()}, left
            )
    vars(tree).update(outer)


def _curve(*laws: list[Way]) -> list[tuple[str, float, float]]:
    """Return each report with its two probabilities, by falling ratio."""
    masses: dict[str, tuple[list[float], list[float]]] = {}
    for i, law in enumerate(laws):
        for way in law:
            masses.setdefault(way.report, ([], []))[i].append(way.probability)
    rows = [(key, math.fsum(one), math.fsum(two)) for key, (one, two) in masses.items()]
    return sorted(rows, key=lambda row: row[1] / row[2] if row[2] else math.inf, reverse=True)


def _loss(
    curve: list[tuple[str, float, float]], delta: float, left: float = 0.0
) -> tuple[float, str]:
    """Return the least epsilon at delta, and the report with which its event ends.

    The event of the reports with the largest ratios is the strongest one for some number of them.
    A claim of `ldpkit.blackbox.curve` would not do: it rounds every delta up, so that no epsilon is
    left for a delta of 0. The mass `left` may all belong to this event under the second input.
    """
    best, p, q = (-math.inf, ""), 0.0, left
    for report, one, two in curve:
        p, q = p + one, q + two
        excess = p - delta * (1 + TOLERANCE)
        if excess > 0:
            best = max(best, (math.log(excess / q) if q else math.inf, report))
    return best


def _interval(
    curve: list[tuple[str, float, float]],
    p_left: float,
    q_left: float,
    epsilon: float,
    delta: float,
) -> tuple[float, str, float, float]:
    """Return the ends of the loss, the report of the lower one, and what the upper adds to delta.

    Let P and Q be the distributions for two inputs. Of these, p and q are the masses of the ways
    that were run, and r and s those that are left. Then p(S) <= P(S) <= p(S) + r for every event S,
    and the same holds for Q and s. Therefore the divergence H(e) = max_S P(S) - exp(e) Q(S) lies
    between max_S p(S) - exp(e) (q(S) + s) and max_S p(S) - exp(e) q(S) + r.

    Lower end: the loss at delta is the least e with H(e) <= delta. It is at least
    ln((p(S) - delta) / (q(S) + s)), for every S.

    Upper end for delta > r: H(e) is at most delta if max_S p(S) - exp(e) q(S) is at most delta - r.

    Upper end for a smaller delta: let T be the reports whose q is less than 100 s, and those that
    were not seen. Then P(T) <= p(T) + r. For an event S without reports of T, P(S) - exp(e) Q(S) is
    at most p(S) + r - exp(e) q(S). That is at most delta if e >= ln((p(S) + r - delta) / q(S)). A
    single report has the largest such ratio, because a sum in numerator and denominator is a mean
    of ratios. An event is the union of a part within T and a part without. Therefore the loss at
    delta + p(T) + r is at most this e. If that end lies below the lower one, T contains reports
    that matter, and the upper end is infinite.

    If the claim lies between the ends, the claim is the upper end, because H(epsilon) is at most
    max_S p(S) - exp(epsilon) q(S) + r. That exceeds delta by r + exp(epsilon) s at most, because
    epsilon is no less than the lower end.
    """
    lower, report = _loss(curve, delta, q_left)
    if not p_left + q_left:
        return lower, report, lower, 0.0
    added = p_left
    if p_left < delta:
        upper, _ = _loss(curve, delta - p_left)
    else:
        known = [(p, q) for _, p, q in curve if q >= _KNOWN * q_left]
        added += math.fsum(p for _, p, q in curve if q < _KNOWN * q_left)
        upper = max((math.log((p + p_left - delta) / q) if q else math.inf for p, q in known),
                    default=math.inf)  # fmt: skip
    if lower <= epsilon + TOLERANCE and epsilon < upper:
        odds = math.exp(min(epsilon, 700.0))
        excess = math.fsum(max(p - odds * q, 0.0) for _, p, q in curve) - delta
        return lower, report, epsilon, p_left + max(excess, 0.0)
    return (lower, report, math.inf, p_left) if upper < lower else (lower, report, upper, added)


def _findings(
    values: Sequence[Input], tapes: int, reports: Any, seeds: Any, starts: Any, ends: Any
) -> list[Finding]:
    """Return what the same coins show.

    For each input and tape, `reports` and `seeds` are those of a call. The tape was read from
    `starts` to `ends`.
    """
    found = []
    fixed, undrawn = all(len({*own}) == 1 for own in reports), starts == ends
    same = [own[0] if all(each == own[0] for each in own) else [] for own in seeds]
    differ = fixed and len({own[0] for own in reports}) > 1
    if differ:
        kind = "violation" if undrawn or all(same) else "suspect"
        text = f"each input has one report in {2 * tapes} calls, and the reports differ"
        found.append(Finding(kind, text + (": no coins are drawn" if undrawn else "")))
    elif fixed:
        found.append(Finding("constant", "all inputs have the same report whatever the coins"))
    kind = "violation" if differ else "defect"
    found += [
        Finding(kind, f"{value!r}: {', '.join(own)} whatever the coins")
        for value, own in zip(values, same)
        if own
    ]
    other = [value for value, own in zip(values, ends) if own != ends[0]]
    if other and not any(same):
        text = f"{values[0]!r} and {other[0]!r} use different amounts of randomness"
        found.append(Finding("draws", text))
    return found
