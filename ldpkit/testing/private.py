"""The audit of a client as one line of a test."""

from collections.abc import Callable, Sequence
from typing import Any

from threadpoolctl import threadpool_limits

from .. import checks
from ..auditors import AuditResult
from ..blackbox.clients import Client
from ..blackbox.sequential import SequentialAudit
from ..blackbox.sequential.causes import SECONDS
from ..progress import shown
from ..types import Input
from . import plugin

__all__ = ["assert_private"]


_REPORTS = 10**12  # reports per input, because the time ends the audit
_EXPLAINED = 5.0  # seconds at least for the cause of a refutation


def assert_private(
    client: Callable[..., Any],
    epsilon: float = 1.0,
    *,
    inputs: Sequence[Input],
    delta: float = 0.0,
    seconds: float = 10.0,
    seed: int = 1,
    allow_inconclusive: bool = False,
) -> AuditResult:
    """Fail if an audit refutes the claim that a client is (epsilon, delta)-LDP.

    The audit knows nothing about the reports, which may have any form. It compares all inputs, and
    it stops as soon as the claim is refuted. A client that keeps its claim fails with probability
    at most 0.01, however often the audit looks. The clock starts after the kernels are compiled,
    which takes half a minute at the first use on a machine.

    Parameters
    ----------
    client : callable
        ``f(value) -> report`` or ``f(values, rng) -> reports``, as in `ldpkit.Client`. A report is
        anything that JSON can write.
    epsilon, delta : float
        The claim.
    inputs : sequence
        At least two inputs, of any type.
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
        If the claim is refuted, or the audit is inconclusive. The first line is the reason.
    ValueError
        If a parameter is out of range, or the client fails.
    """
    __tracebackhide__ = True  # pytest shows the line of the test
    seconds = seconds if plugin.seconds is None else plugin.seconds
    limits: Any = {"trials": _REPORTS, "max_time": checks.real("seconds", seconds, 0, closed="()")}
    checks.flag("allow_inconclusive", allow_inconclusive)
    name = getattr(client, "__name__", type(client).__name__)
    target = Client(client, epsilon=epsilon, delta=delta, name=name, values=inputs)
    audit = SequentialAudit(target, "learned", inputs=range(target.k), **limits)
    with threadpool_limits(
        1
    ):  # several threads of BLAS would wait for each other on a busy machine
        run = audit.start(seed)
        run.go()
        run.explain(min(SECONDS, max(_EXPLAINED, seconds - run.seconds)))
        result = run.result
    found = f", one clear report of {result.one_in:,} would be found"
    plugin.audits.append(
        f"{name}, epsilon = {epsilon:g}: {result.status} after {result.reports:,} reports per"
        f" input in {result.seconds:.1f} s{found if result.status == 'none found' else ''}"
    )
    if result.violated or (result.status == "inconclusive" and not allow_inconclusive):
        lines = result.lines()
        known = (
            shown(f"{x}: {lines[x]}") for x in ("cause", "event", "pair", "counts") if x in lines
        )
        raise AssertionError("\n  ".join([str(result), *known]))
    return result
