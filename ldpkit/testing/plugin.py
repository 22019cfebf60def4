"""Plugin of pytest: one rate of false alarms and one budget of time for a suite of audits.

Every test has a fixed share of ``--ldp-alpha``, which the collected tests decide. Let m be the
number of tests with the marker ``ldp``, and u that of all others. If both are positive, a test with
the marker has alpha / (m + 1), and any other test has alpha / (m + 1) / u. Otherwise every test has
an equal share. The j-th audit of a test has the part 1 / (j (j + 1)) of the test's share.

Proof that a suite of clients which keep their claims fails with probability at most alpha: each
audit refutes a true claim with probability at most its own part, at whatever time it stops (Ville's
inequality), and however its limit of time was chosen. The parts of one test sum to its share,
because the sum of 1 / (j (j + 1)) over all j is 1. The shares sum to alpha. The union bound needs
no independence. A test that ``-k`` or ``-m`` leaves out only removes its share, and processes of
pytest-xdist collect the same tests. If a failed test is run again, the suite fails only if both
runs do.

Time is no part of the proof. An audit has the seconds of ``--ldp-suite-seconds`` that are left,
divided by the number of tests that are left. Seconds that a test does not need go to later tests.

pytest imports this module when it starts. Therefore the module imports nothing else, and pytest is
no dependency of the package.
"""

from typing import Any

__all__ = ["audits", "shared"]

audits: list[dict[str, Any]] = []
"""Audits of the test that runs; `ldpkit.testing.assert_private` adds them."""

hidden = False
"""Whether neither inputs nor parts of reports are shown."""

_options: Any = None
_collected = {True: 0, False: 0}  # tests with the marker, and others
_now: dict[str, Any] = {}  # share of the test that runs, its audits, and tests that are left
_spent = 0.0  # seconds of all audits in this process


def pytest_addoption(parser: Any) -> None:
    """Add the options."""
    group = parser.getgroup("ldpkit")
    for name, kind, default, told in (
        ("seconds", float, None, "seconds that each audit of a client may take"),
        ("suite-seconds", float, None, "seconds that all audits together may take"),
        ("alpha", float, 0.01, "probability at most that any client fails which keeps its claim"),
        ("file", str, None, "write a row for each audit into this file, as JSON"),
        ("sarif", str, None, "write refuted claims into this file, in SARIF 2.1.0"),
    ):
        group.addoption(f"--ldp-{name}", type=kind, default=default, metavar="X", help=told)
    told = "show no inputs and no parts of reports"
    group.addoption("--ldp-no-values", action="store_true", help=told)


def pytest_configure(config: Any) -> None:
    """Register the marker, and read the options."""
    global _options, hidden, _spent
    config.addinivalue_line("markers", "ldp: audits the privacy of a client, see ldpkit.testing")
    _options, hidden = config.option, config.getoption("--ldp-no-values")
    _collected.update({True: 0, False: 0})
    _now.clear()
    _spent = 0.0


def pytest_itemcollected(item: Any) -> None:
    """Count the tests that share alpha, before any is left out."""
    _collected[item.get_closest_marker("ldp") is not None] += 1


def pytest_runtest_setup(item: Any) -> None:
    """Give a test its share."""
    marked, (m, u) = item.get_closest_marker("ldp") is not None, _collected.values()
    parts = max(1, m if marked else u) if not (m and u) else (m + 1) * (1 if marked else u)
    chosen = [x for x in item.session.items if (x.get_closest_marker("ldp") is not None) or not m]
    workers = getattr(item.config, "workerinput", {}).get("workercount", 1)
    done = _now.get("done", 0)
    left = max(1, -(-len(chosen) // workers) - done)
    _now.update(alpha=_options.ldp_alpha / parts, audits=0, left=left, done=done + 1)


def shared(seconds: float, alpha: float) -> tuple[float, float]:
    """Return seconds and alpha of an audit that wants so many, as the test may have."""
    if _options is None or not _now:
        return seconds, alpha
    _now["audits"] = j = _now["audits"] + 1
    alpha = min(alpha, _now["alpha"] / (j * (j + 1)))
    whole, each = _options.ldp_suite_seconds, _options.ldp_seconds
    if whole is not None:
        seconds = max(1e-9, (whole - _spent) / _now["left"])
        return seconds if each is None else min(seconds, each), alpha
    return seconds if each is None else each, alpha


def pytest_runtest_makereport(item: Any) -> None:
    """Hand the audits of a test to its report, which a process of pytest-xdist sends home."""
    global _spent
    for audit in audits:
        _spent += audit["seconds"]
        item.user_properties += [("ldp", audit["text"]), ("ldp-audit", audit)]
    audits.clear()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """List the audits of all tests; the report of a test's end has those of all its phases."""
    every = (report for several in terminalreporter.stats.values() for report in several)
    rows = [
        {"test": report.nodeid, **row}
        for report in every
        if getattr(report, "when", "") == "teardown"
        for name, row in report.user_properties
        if name == "ldp-audit"
    ]
    if rows or _options.ldp_file or _options.ldp_sarif:
        from .summary import summary

        terminalreporter.section("audits of privacy", sep="-")
        for line in summary(rows, _options):
            terminalreporter.write_line(line)
