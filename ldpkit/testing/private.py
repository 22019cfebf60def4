"""The audit of a client as one line of a test."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from threadpoolctl import threadpool_limits

from .. import checks
from ..auditors import AuditResult
from ..auditors.base import ALPHA
from ..auditors.result import Row
from ..blackbox import curve as curves
from ..blackbox.clients import Client, Program
from ..blackbox.clients.client import SeparateClient
from ..blackbox.clients.identity import place
from ..blackbox.edges import inputs_of
from ..blackbox.findings import Finding, without_values
from ..blackbox.sequential import SequentialAudit
from ..blackbox.sequential.causes import SECONDS
from ..cli.group import brief
from ..jit import clock
from . import plugin

__all__ = ["assert_private"]


_EXPLAINED = 5.0  # seconds at least for the cause of a refutation, and for a smaller pair


def assert_private(
    client: Callable[..., Any] | None = None,
    epsilon: float = 1.0,
    *,
    inputs: Any = None,
    command: str | None = None,
    delta: float = 0.0,
    mu: float | None = None,
    curve: curves.Curve | None = None,
    alpha: float = ALPHA,
    on_error: str = "stop",
    ignore: Sequence[str] = (),
    skip_lines: int = 0,
    fresh_process: bool = False,
    time: bool = False,
    reports: int = 10**12,
    seconds: float = 10.0,
    seed: int = 1,
    allow_inconclusive: bool = False,
) -> AuditResult:
    """Fail if an audit refutes the claim that a client is (epsilon, delta)-LDP.

    The audit knows nothing about the reports, which may have any form. It compares all inputs, and
    it stops as soon as the claim is refuted. A client that keeps its claim fails with probability
    at most `alpha`, however often the audit looks. The clock stands still while kernels are
    compiled, which happens once on a machine.

    Parameters
    ----------
    client : callable
        ``f(value) -> report`` or ``f(values, rng) -> reports``, as in `ldpkit.Client`. A report is
        anything that JSON can write.
    epsilon, delta : float
        The claim.
    inputs : list, dict, strategy or None
        At least two inputs, of any type; or a JSON schema or a strategy of hypothesis, whose values
        at the edge are taken, see `ldpkit.blackbox.edges`; or nothing if the client's annotations
        tell them.
    command : str
        A program in any language instead of the client, see `ldpkit.blackbox.clients.Program`.
    mu : float
        Claim mu-GDP instead of epsilon and delta.
    curve : ldpkit.blackbox.curve.Curve
        Claim this trade-off curve instead of epsilon and delta.
    alpha : float
        Largest probability that a client which keeps its claim fails. In a run of pytest it is at
        most the share of the test, see `ldpkit.testing.plugin`.
    on_error, ignore, time
        As in `ldpkit.Client`.
    skip_lines : int
        As in `ldpkit.blackbox.clients.Program`.
    fresh_process : bool
        Call the client, which must be a function of a module, in a process of its own.
    reports : int
        Most reports per input.
    seconds : float
        Time in which a leak may be found; above 0. pytest's ``--ldp-seconds`` replaces it.
    seed : int
        Non-negative.
    allow_inconclusive : bool
        Whether an audit may pass that could hardly have found a violation.

    Returns
    -------
    AuditResult

    Raises
    ------
    AssertionError
        If the claim is refuted, or the audit is inconclusive. The first line is the reason. Then
        follow the event in words and as code that runs, two inputs that suffice, and the line that
        repeats the refutation.
    ValueError
        If a parameter is out of range, or the client fails.
    """
    __tracebackhide__ = True  # pytest shows the line of the test
    checks.flag("allow_inconclusive", allow_inconclusive)
    checks.need((client is None) != (command is None), "give either a client or a command")
    checks.need(mu is None or curve is None, "give mu or curve, not both")
    asked: Any = Program(command, 10.0, skip_lines) if command else client
    name = command or str(getattr(client, "__name__", type(client).__name__))
    curve = curves.gdp(mu) if mu is not None else curve
    if curve is not None:
        epsilon, delta = curve.implied
    claimed: Row = {"epsilon": epsilon, "delta": delta, "on_error": on_error, "ignore": ignore,
                    "time": time}  # fmt: skip
    plain = Client(asked, name=name, k=2, **claimed)
    claimed["values"] = inputs_of(inputs, asked, not command and plain.batched)
    path = f"{getattr(asked, '__module__', '')}:{getattr(asked, '__qualname__', '')}"
    separate = checks.flag("fresh_process", fresh_process) and not command
    target = SeparateClient.of(path, **claimed) if separate else Client(asked, name=name, **claimed)
    seconds, alpha = plugin.shared(seconds, alpha)
    seconds = checks.real("seconds", seconds, 0, closed="()")
    limits: Any = {"trials": reports, "max_time": seconds, "alpha": alpha}
    if curve is not None:
        limits |= {"curve": curve}
    audit = SequentialAudit(target, "learned", inputs=range(target.k), **limits)
    with threadpool_limits(
        1
    ):  # several threads of BLAS would wait for each other on a busy machine
        run = audit.start(seed)
        run.go()
        explained = clock()
        run.explain(min(SECONDS, max(_EXPLAINED, seconds - run.seconds)))
        result = without_values(run.result) if plugin.hidden else run.result
        pair = _smallest(audit, run.result, seed) if result.violated else []
        explained = clock() - explained
    found = f", one clear report of {result.one_in:,} would be found"
    text = (
        f"{name}, epsilon = {epsilon:g}: {result.status} after {result.reports:,} reports per"
        f" input in {result.seconds:.1f} s{found if result.status == 'none found' else ''}"
    )
    row = Finding.of(result, place(target))._asdict() | {"text": text, "seed": seed}
    row |= {"alpha": alpha, "reports": result.reports, "repeats": run.repeats}
    plugin.audits.append(row | {"seconds": result.seconds + explained})
    if result.violated or (result.status == "inconclusive" and not allow_inconclusive):
        lines = result.lines()
        known = [f"{x}: {lines[x]}" for x in ("event", "cause", "pair", "counts") if x in lines]
        if result.violated and not plugin.hidden:
            claim = {"epsilon": epsilon, "delta": delta} if curve is None else {"mu": mu}
            given = claim | {
                "command": command, "inputs": pair or [*claimed["values"]], "on_error": on_error,
                "ignore": ignore, "skip_lines": skip_lines, "fresh_process": fresh_process,
                "time": time, "seed": seed, "alpha": alpha,
            }  # fmt: skip
            usual = {"on_error": "stop", "alpha": ALPHA}
            told = [f"{w}={x!r}" for w, x in given.items() if x and x != usual.get(w)]
            told += ["curve=curve"] * (curve is not None and mu is None)
            known += [f"in code: {run.leading!r}"] * (run.leading is not None)
            known += [f"repeat: assert_private({', '.join([name] * (not command) + told)})"]
        raise AssertionError("\n  ".join([str(result), *map(brief, known)]))
    return result


def _smallest(audit: SequentialAudit, result: AuditResult, seed: int) -> list[Any]:
    """Return two inputs, as short as possible, that suffice for the refutation."""
    inputs, end = audit.inputs, clock() + _EXPLAINED
    values: Any = audit.mechanism.values
    one = (result.pair or inputs)[0]
    others = sorted((i for i in inputs if i != one), key=lambda i: len(repr(values[i])))
    for other in others:
        left = end - clock()
        trials = 4 * len(inputs) * max(result.reports, 100)
        less: Any = {"inputs": None, "pair": (one, other), "trials": trials, "max_time": left}
        if len(inputs) > 2 and left > 0:
            run = replace(audit, **less).start(seed)
            run.go()
        if len(inputs) == 2 or (left > 0 and run.refuted):
            return [values[one], values[other]]
    return []
