"""The exact distribution of a client's reports, and whether it keeps a claim."""

import itertools
import json
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import checks
from ..mechanisms import Client
from ..reports.anything import plain
from ..types import Input, Row
from .forks import MOVED, Tree
from .sources import NotExact, Source, replaced
from .tapes import Finding, compared

__all__ = ["Distribution", "ExactResult", "Way", "distributions", "exact_client", "replay"]

WAYS, TOLERANCE = 100_000, 1e-9
_SURE = 13.9  # -ln of the probability that another source of chance hides, 1e-6
_RUNS = 1000  # calls of the client for one input, at least


@dataclass(frozen=True)
class Way:
    """One way through a client.

    Attributes
    ----------
    probability : float
        Probability of this way.
    when : tuple of str
        What the coins have to be.
    report : str
        The report as JSON.
    """

    probability: float
    when: tuple[str, ...]
    report: str

    def __str__(self) -> str:
        return f"when {' and '.join(self.when) or 'anything'}: {self.report}"


@dataclass(frozen=True)
class Distribution:
    """The exact distribution of the reports about one input.

    Attributes
    ----------
    input : object
        The input.
    ways : list of Way
        All ways through the client.
    probabilities : dict
        Probability of each report; a report is given as JSON.
    runs : int
        Number of calls of the client, all of which agree.
    """

    input: Input
    ways: list[Way]
    probabilities: dict[str, float]
    runs: int


@dataclass(frozen=True)
class ExactResult:
    """An exact verdict, or the reason why there is none.

    Attributes
    ----------
    epsilon, delta : float
        The claim.
    inputs : list
        The inputs that were compared, each with all others.
    distributions : list of Distribution
        One for each input; empty if there is a reason.
    loss : float
        The least epsilon that all pairs of inputs keep at this delta; NaN if there is a reason.
    pair : (int, int)
        Positions of the two inputs with the largest loss.
    report : str
        A report that shows it, as JSON.
    reason : str
        Why nothing exact can be said; empty if it can.
    findings : list of Finding
        What the same coins show, see `replay`.
    seconds : float
        Time that was needed.
    """

    epsilon: float
    delta: float
    inputs: list[Input]
    distributions: list[Distribution] = field(default_factory=list)
    loss: float = math.nan
    pair: tuple[int, int] = (0, 1)
    report: str = ""
    reason: str = ""
    findings: list[Finding] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def status(self) -> str:
        """Return ``"violation"``, ``"none found"`` or ``"not exact"``."""
        if self.reason:
            return "not exact"
        return "violation" if self.loss > self.epsilon + TOLERANCE else "none found"

    @property
    def ways(self) -> int:
        """Number of ways through the client for all inputs together."""
        return sum(len(one.ways) for one in self.distributions)

    def curve(self, pair: tuple[int, int] | None = None) -> list[tuple[str, float, float]]:
        """Return each report with its probabilities for two inputs, by falling ratio."""
        one, two = (self.distributions[at].probabilities for at in pair or self.pair)
        rows = [(key, one.get(key, 0.0), two.get(key, 0.0)) for key in one | two]
        return sorted(rows, key=lambda row: _ratio(row[1], row[2]), reverse=True)

    def leading(self, most: int = 5) -> list[tuple[Input, Way]]:
        """Return the likeliest ways to the report that shows the loss, with their inputs."""
        found = [
            (self.inputs[at], way)
            for at in self.pair
            for way in self.distributions[at].ways
            if way.report == self.report
        ]
        return sorted(found, key=lambda one: -one[1].probability)[:most]

    @property
    def verdict(self) -> str:
        """Sentences that state what was shown, and what this rests on."""
        if self.reason:
            return f"Not exact: {self.reason}. Audit its reports: ldpkit audit."
        shown = "infinite" if math.isinf(self.loss) else f"{self.loss:.9g}"
        runs = min(one.runs for one in self.distributions)
        words = "exceeds the claim" if self.status == "violation" else "keeps the claim"
        return (
            f"The exact loss is {shown}, which {words} of epsilon = {self.epsilon:g}, delta ="
            f" {self.delta:g}. This holds for these inputs, if the client draws from nothing that"
            f" {runs:,} calls for each did not show."
        )

    def row(self) -> Row:
        """Return the result as one object of JSON, in which an infinite loss is ``"inf"``."""
        return {
            "status": self.status, "epsilon": self.epsilon, "delta": self.delta,
            "loss": None if self.reason else str(self.loss) if math.isinf(self.loss) else self.loss,
            "inputs": [plain(one) for one in self.inputs], "pair": list(self.pair),
            "report": self.report, "ways": self.ways, "reason": self.reason,
            "runs": min((one.runs for one in self.distributions), default=0),
            "leading": [] if self.reason else [{"input": plain(one), "probability": way.probability,
                        "when": list(way.when)} for one, way in self.leading()],
            "findings": [{"kind": one.kind, "text": one.text} for one in self.findings],
            "seconds": self.seconds, "verdict": self.verdict,
        }  # fmt: skip


def _ratio(p: float, q: float) -> float:
    return p / q if q else math.inf


def _asker(client: Client, source: Source) -> Callable[[int], str]:
    """Return a function that asks for one report about the input at a position, as JSON."""

    def ask(at: int) -> str:
        reports = client.perturb(np.array([at]), source.generator)
        return json.dumps(plain(reports[0]))

    return ask


def _client(client: Any, inputs: Sequence[Input] | None) -> tuple[Client, list[int]]:
    """Return a client, and the positions of the inputs to ask about."""
    if not isinstance(client, Client):
        checks.need(inputs is not None, "inputs must be a list, got None")
        client = Client(client, report="any", values=inputs, epsilon=1.0)
    elif inputs is not None and client.values is None:
        return client, [*checks.values(np.array(inputs), client.k, "inputs").tolist()]
    else:
        checks.need(inputs is None, f"inputs must be left out, as the client has its own: {inputs}")
    return client, list(range(client.k))


def _enumerated(tree: Tree, ask: Callable[[], str]) -> Iterator[Way]:
    """Run every way once."""
    tree.path = []
    for _ in range(tree.most):
        tree.begin()
        report = ""
        try:
            report = ask()
        except BaseException:
            if not tree.reason:
                raise
        if tree.reason or tree.at < len(tree.path):
            raise NotExact(tree.reason or MOVED)
        yield Way(tree.mass, tuple(tree.words), report)
        if not tree.advance():
            return
    raise NotExact(f"there are more than {tree.most:,} ways through the client")


def _distribution(tree: Tree, ask: Callable[[], str], value: Input, least: int) -> Distribution:
    ways = list(_enumerated(tree, ask))
    runs = len(ways)
    while runs < max(2 * len(ways), least):
        for way, again in itertools.zip_longest(ways, _enumerated(tree, ask)):
            if way != again:
                raise NotExact(MOVED)
        runs += len(ways)
    masses: dict[str, list[float]] = {}
    for way in ways:
        masses.setdefault(way.report, []).append(way.probability)
    return Distribution(value, ways, {key: math.fsum(some) for key, some in masses.items()}, runs)


def distributions(
    client: Any, inputs: Sequence[Input] | None = None, *, ways: int = WAYS, runs: int = _RUNS
) -> list[Distribution]:
    """Return the exact distribution of a client's reports for each input.

    Every draw of the client that is compared with a number, rounded to a whole number or taken from
    a finite range is forked. Each way through the client is run once, and weighed. Then all ways
    are run again, with other clocks, until the client was called `runs` times.

    Parameters
    ----------
    client : Client or callable
        A client of the package, or ``f(value) -> report``, or ``f(values, rng) -> reports``.
    inputs : list, optional
        The inputs, at least two. A `Client` with `values` has its own.
    ways : int
        Largest number of ways through the client for one input.
    runs : int
        Least number of calls for one input. They find out other sources of chance.

    Raises
    ------
    NotExact
        If a coin enters arithmetic, if there are too many ways, or if the client draws from
        something else. The message has the reason.
    RuntimeError
        If a client is replayed already.
    """
    client, asked = _client(client, inputs)
    tree = Tree(checks.integer("ways", ways, 1, 10**8))
    least = checks.integer("runs", runs, 1)
    ask = _asker(client, tree)
    values = client.values or range(client.k)
    with replaced(tree):
        return [
            _distribution(tree, lambda at=at: ask(at), values[at], least)  # type: ignore[misc]
            for at in asked
        ]


def exact_client(
    client: Any,
    epsilon: float | None = None,
    *,
    inputs: Sequence[Input] | None = None,
    delta: float | None = None,
    ways: int = WAYS,
    tapes: int = 100,
) -> ExactResult:
    """Compute the exact loss of a client, and compare it with its claim.

    Nothing is estimated: a leak of probability 1e-6 is one more way through the client. Where the
    distribution cannot be computed, the result states the reason, and an audit of reports is next.

    Parameters
    ----------
    client, inputs, ways
        As in `distributions`.
    epsilon, delta : float, optional
        The claim, by default that of the `Client`.
    tapes : int
        Number of tapes with the same coins for all inputs, see `replay`.

    Returns
    -------
    ExactResult
        Its `status` is ``"violation"`` if the loss exceeds epsilon by more than 1e-9.
    """
    start = time.perf_counter()
    client, asked = _client(client, inputs)
    epsilon = checks.real("epsilon", client.epsilon if epsilon is None else epsilon, 0, closed="()")
    delta = checks.real("delta", client.delta if delta is None else delta, 0, 1, closed="[)")
    values = [(client.values or range(client.k))[at] for at in asked]
    findings = compared(lambda source: _asker(client, source), asked, values, tapes)
    # a client that keeps epsilon cannot give one report to one input and none of it to another in
    # so many calls, except with probability 1e-6
    needed = math.ceil(_SURE / -math.log1p(-math.exp(-min(epsilon, 30.0))))
    found: Row = {"epsilon": epsilon, "delta": delta, "inputs": values, "findings": findings}
    try:
        given = asked if client.values is None else None
        laws = distributions(client, given, ways=ways, runs=min(max(_RUNS, needed), ways))
        if needed > ways and min(len(one.ways) for one in laws) == 1:
            raise NotExact(f"no coin was seen, and for so large an epsilon only {needed:,} calls"
                           " exclude another source: raise --ways")  # fmt: skip
    except NotExact as error:
        return ExactResult(**found, reason=str(error), seconds=time.perf_counter() - start)
    result = ExactResult(**found, distributions=laws)
    worst = max(
        ((*_loss(result.curve(pair), delta), pair) for pair in itertools.permutations(range(len(laws)), 2)),
        key=lambda one: one[0],
    )  # fmt: skip
    return ExactResult(
        **found, distributions=laws, loss=worst[0], report=worst[1], pair=worst[2],
        seconds=time.perf_counter() - start,
    )  # fmt: skip


def replay(client: Any, inputs: Sequence[Input] | None = None, *, tapes: int = 100) -> list[Finding]:
    """Give a client the same coins for several inputs, and return what this shows.

    With each tape the client is called twice for each input. If the two reports differ, nothing can
    be said, and the only finding has the kind ``"unknown"``. Different reports for different inputs
    are no finding, because every useful client sends them.

    Parameters
    ----------
    client, inputs
        As in `distributions`.
    tapes : int
        Number of tapes.
    """
    client, asked = _client(client, inputs)
    values = [(client.values or range(client.k))[at] for at in asked]
    return compared(lambda source: _asker(client, source), asked, values, tapes)


def _loss(curve: list[tuple[str, float, float]], delta: float) -> tuple[float, str]:
    """Return the least epsilon at delta, and the report with which its event ends.

    The event of the reports with the largest ratios is the strongest one for some number of them.
    """
    best, p, q = (-math.inf, ""), 0.0, 0.0
    for report, one, two in curve:
        p, q = p + one, q + two
        excess = p - delta * (1 + TOLERANCE)
        if excess > 0:
            best = max(best, (math.log(excess / q) if q else math.inf, report))
    return best
