"""The exact distribution of a client's own code, and the same coins for several inputs.

`exact_client` forks every coin of a client, so that each way through it is run once and weighed.
`replay` gives the same coins to several inputs. Both work on a client in Python whose sources of
chance are Python's or NumPy's generators or those of the system.
"""

import itertools
import json
import math
import time
from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np

from ... import checks
from ...types import Input, Row
from ..clients import Client
from ..clients.anything import plain
from .forks import MOVED, Tree
from .sources import Stop, Tape, replaced

__all__ = ["exact_client", "replay", "ExactResult", "Finding", "Way"]

TOLERANCE = 1e-9
_SURE = 13.9  # -ln of the probability that another source of chance hides, 1e-6
_RUNS = 1000  # calls of the client for one input, at least
_EARLY = 1000  # ways after which a tree that seems so many times too large is left


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
        Probability of this way.
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
        All ways through the client for each input, none if there is a reason.
    runs : int
        Number of calls for each input that all agree.
    loss : float
        The least epsilon that all pairs of inputs keep at this delta; NaN if there is a reason.
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
    loss: float = math.nan
    report: str = ""
    pair: tuple[int, int] = (0, 1)

    @property
    def status(self) -> str:
        """Return ``"violation"``, ``"none found"`` or ``"not exact"``."""
        found = "violation" if self.loss > self.epsilon + TOLERANCE else "none found"
        return "not exact" if self.reason else found

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
        shown = "infinite" if math.isinf(self.loss) else f"{self.loss:.9g}"
        words = "exceeds the claim" if self.status == "violation" else "keeps the claim"
        return (
            f"The exact loss is {shown}, which {words} of epsilon = {self.epsilon:g}, delta ="
            f" {self.delta:g}. This holds for these inputs, if the client draws from nothing that"
            f" {self.runs:,} calls for each did not show."
        )

    def row(self) -> Row:
        """Return the result as one object of JSON, in which an infinite loss is ``"inf"``."""
        loss = str(self.loss) if math.isinf(self.loss) else self.loss
        return {
            "status": self.status,
            **self._asdict(),
            "loss": None if self.reason else loss,
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
) -> ExactResult:
    """Compute the exact loss of a client, and compare it with its claim.

    Every draw of the client that is compared with a number, rounded to a whole number or taken from
    a finite range is forked. Each way through the client is run once, and weighed. Then all ways
    are run again, with other clocks, so that other sources of chance are found out.

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

    Returns
    -------
    ExactResult
        Its `status` is ``"violation"`` if the loss exceeds epsilon by more than 1e-9.

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
    tree = Tree(checks.integer("ways", ways, 1, 10**8))
    found: Row = {"findings": replay(client, tapes=tapes)}
    # if the client draws from another source and keeps epsilon, two inputs have one report each in
    # so many calls with probability 1e-6
    needed = math.ceil(_SURE / -math.log1p(-math.exp(-min(max(epsilon, 1e-9), 30.0))))
    found["runs"] = max(_RUNS, min(needed, ways))
    try:
        if "unknown" in [one.kind for one in found["findings"]]:
            raise Stop(found["findings"][0].text)
        with replaced(tree):
            laws = [_law(client, at, tree, found["runs"]) for at in range(client.k)]
        if needed > ways and min(map(len, laws)) == 1:
            tree.stop(f"no coin was seen, and for so large an epsilon only {needed:,} calls exclude"
                      " another source of chance: raise the number of ways")  # fmt: skip
        if any(len(law) > 1 and len({way.report for way in law}) == 1 for law in laws):
            tree.stop("coins are drawn and do not change the report: the client may remember it")
        found |= {"ways": laws}
        pairs = itertools.permutations(range(client.k), 2)
        losses = [(*_loss(_curve(laws[a], laws[b]), delta), (a, b)) for a, b in pairs]
        found["loss"], found["report"], found["pair"] = max(losses, key=lambda one: one[0])
    except Stop as stop:
        found["reason"] = str(stop)
    return ExactResult(
        epsilon,
        delta,
        [*(client.values or range(client.k))],
        seconds=time.perf_counter() - start,
        **found,
    )


def replay(
    client: Any, inputs: Sequence[Input] | None = None, *, tapes: int = 100
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
    """
    client, tape = _client(client, inputs), Tape()
    calls: list[list[Any]] = [[] for _ in range(client.k)]
    # imports and compilation take place before anything is replaced
    client.perturb(np.array([0]), np.random.default_rng())
    try:
        with replaced(tape):
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
        return [Finding("unknown", str(stop))]
    values = client.values or range(client.k)
    return _findings(values, tapes, *zip(*(zip(*own) for own in calls)))


def _client(client: Any, inputs: Sequence[Input] | None) -> Client:
    if isinstance(client, Client):
        checks.need(inputs is None, f"inputs must be left out, as a Client has its own: {inputs}")
        return client
    checks.need(inputs is not None, "inputs must be a list, got None")
    return Client(client, report="any", values=inputs, epsilon=1.0)


def _ask(client: Client, at: int, tape: Tape) -> str:
    """Return one report about the input at a position, as JSON."""
    tape.begin()
    try:
        return json.dumps(plain(client.perturb(np.array([at]), tape.generator)[0]))
    finally:
        if tape.reason:  # also if the client has caught what ended its call
            raise Stop(tape.reason)


def _ways(client: Client, at: int, tree: Tree) -> list[Way]:
    """Run every way through the client once, for the input at a position."""
    tree.path, seen = [], 0.0
    ways: list[Way] = []
    while not ways or tree.advance():
        report = _ask(client, at, tree)
        if tree.at < len(tree.path):
            tree.stop(MOVED)
        ways.append(Way(tree.mass, tuple(tree.words), report))
        # the share of this way if all branches of a fork have as many ways
        seen += math.prod(1 / branches for _, branches in tree.path)
        if len(ways) > tree.most or (len(ways) == _EARLY and seen * tree.most < 1):
            tree.stop(f"there are more than {tree.most:,} ways through the client")
    return ways


def _law(client: Client, at: int, tree: Tree, least: int) -> list[Way]:
    """Run all ways twice at least, and so often that the client is called `least` times."""
    ways = _ways(client, at, tree)
    for _ in range(max(1, math.ceil(least / len(ways)) - 1)):
        if _ways(client, at, tree) != ways:
            tree.stop(MOVED)
    return ways


def _curve(*laws: list[Way]) -> list[tuple[str, float, float]]:
    """Return each report with its two probabilities, by falling ratio."""
    masses: dict[str, tuple[list[float], list[float]]] = {}
    for i, law in enumerate(laws):
        for way in law:
            masses.setdefault(way.report, ([], []))[i].append(way.probability)
    rows = [(key, math.fsum(one), math.fsum(two)) for key, (one, two) in masses.items()]
    return sorted(rows, key=lambda row: row[1] / row[2] if row[2] else math.inf, reverse=True)


def _loss(curve: list[tuple[str, float, float]], delta: float) -> tuple[float, str]:
    """Return the least epsilon at delta, and the report with which its event ends.

    The event of the reports with the largest ratios is the strongest one for some number of them.
    A claim of `ldpkit.blackbox.curve` would not do: it rounds every delta up, so that no epsilon is
    left for a delta of 0.
    """
    best, p, q = (-math.inf, ""), 0.0, 0.0
    for report, one, two in curve:
        p, q = p + one, q + two
        excess = p - delta * (1 + TOLERANCE)
        if excess > 0:
            best = max(best, (math.log(excess / q) if q else math.inf, report))
    return best


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
