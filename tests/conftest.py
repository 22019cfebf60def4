"""What several test files share."""

import gc
import signal
import sys
from pathlib import Path

import pytest
from _pytest.nodeid import coerce_node_id

from ldpkit import cli

# what pages of one chapter share lies beside them
BOOK = Path(__file__).parents[1] / "book"
sys.path += [str(BOOK / chapter) for chapter in ("kv_auditor", "ldp_sgd", "rad", "refinement")]


# what a shell starts in the background is deaf to interrupts, which some tests send
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish():
    """Spare collections of garbage the walk through thousands of tests and all modules: they stay
    until the end."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Keep tests of one group on one worker: xdist 3.8 writes the group into an attribute that
    pytest 9.2 has renamed."""
    for item in items:
        if "_nodeid" in vars(item):
            item._id = coerce_node_id(item._nodeid)


@pytest.fixture
def call(capsys):
    """Run a command line inside this process: exit status, standard output, standard error."""

    def call(text):
        with pytest.raises(SystemExit) as caught:
            cli.main(text.split())
        captured = capsys.readouterr()
        return caught.value.code, captured.out, captured.err

    return call
