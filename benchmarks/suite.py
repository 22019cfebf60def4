"""Run a suite of honest tests by pytest, under the default rate of false alarms of all its tests.

The tests are `innocent.suite`: clients of all sorts at the very edge of their claims. pytest itself
collects and runs this file, so that the tests share the rate as those of any other project do.
"""

import contextlib
import io
import json
import os
import tempfile
import time
from pathlib import Path

import innocent
import pytest
from series import Series

from ldpkit.testing import assert_private

NAMES = [*innocent.suite()]


class Asked:
    """A plugin of pytest that tells the tests their seed, and the most reports per input."""

    def __init__(self, seed, reports):
        self.clients = innocent.suite()
        self.limits = {"seed": seed, "reports": reports, "seconds": 1e9}

    @pytest.fixture
    def asked(self):
        return self


@pytest.mark.ldp
@pytest.mark.parametrize("name", NAMES)
def test_client_keeps_its_claim(name, asked):
    client, claim = asked.clients[name]
    assert_private(client, **claim, **asked.limits, allow_inconclusive=True)


def failed(seed, reports):
    """Run the suite once, and return the names of the tests that failed.

    The run ends with an error unless every test made an audit, and the audits had at most the
    default rate of the suite.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "audits.json")
        options = ["-c", os.devnull, "-p", "no:cacheprovider", "-q", f"--ldp-file={path}"]
        with contextlib.redirect_stdout(io.StringIO()):
            status = pytest.main([*options, __file__], plugins=[Asked(seed, reports)])
        rows = json.loads(path.read_text())["audits"]
    violated = [row["test"] for row in rows if row["status"] == "violation"]
    assert len(rows) == len(NAMES) and status == bool(violated), rows
    assert sum(row["alpha"] for row in rows) <= innocent.ALPHA
    return violated


class Suite(Series):
    """Runs of the suite, whose `audit` takes the number of a run and returns what failed."""

    def one(self, run):
        """Return one run: how many tests failed, or None, and their names."""
        tick, names = time.process_time(), self.audit(run)
        spent = round(time.process_time() - tick, 4)
        said = {"reports": len(names) or None, "event": "; ".join(names)}
        return {"run": run, **said, "seconds": spent}
