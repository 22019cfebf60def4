"""Plugin of pytest: the option ``--ldp-seconds``, the marker ``ldp``, and a list of all audits.

pytest imports this module when it starts. Therefore the module imports nothing else, and pytest is
no dependency of the package.
"""

from typing import Any

__all__ = ["audits", "seconds"]

audits: list[str] = []
"""Audits of the test that runs, each in one line; `ldpkit.testing.assert_private` adds them."""

seconds: float | None = None
"""Seconds for every audit, if the user of pytest names them."""


def pytest_addoption(parser: Any) -> None:
    """Add the option."""
    told = "seconds that each audit of a client may take, instead of those in the tests"
    parser.getgroup("ldpkit").addoption("--ldp-seconds", type=float, metavar="SECONDS", help=told)


def pytest_configure(config: Any) -> None:
    """Register the marker, and read the option."""
    global seconds
    config.addinivalue_line("markers", "ldp: audits the privacy of a client, see ldpkit.testing")
    seconds = config.getoption("--ldp-seconds")


def pytest_runtest_makereport(item: Any) -> None:
    """Hand the audits of a test to its report, which a process of pytest-xdist sends home."""
    item.user_properties += [("ldp", audit) for audit in audits]
    audits.clear()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """List the audits of all tests; the report of a test's end has those of all its phases."""
    every = (report for several in terminalreporter.stats.values() for report in several)
    lines = [
        f"{report.nodeid}: {text}"
        for report in every
        if getattr(report, "when", "") == "teardown"
        for name, text in report.user_properties
        if name == "ldp"
    ]
    if lines:
        from ..progress import shown

        terminalreporter.section("audits of privacy", sep="-")
        for line in lines:
            terminalreporter.write_line(shown(line))
