"""What several test files share."""

import gc
import signal

import pytest

from ldpkit import cli, executors

# what a shell starts in the background is deaf to interrupts, which some tests send
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish():
    """Spare collections of garbage the walk through thousands of tests and all modules: they stay
    until the end."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers():
    """Run as many workers as sweeps would: xdist sees no quota of a container."""
    return executors.count(None)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Keep tests of one group on one worker. xdist 3.8 writes the group into an attribute that
    pytest 9.2 has renamed; earlier releases keep that attribute in a slot."""
    for item in items:
        if "_nodeid" in vars(item):
            item._id = type(item.id).parse(item._nodeid)


@pytest.fixture
def call(capsys):
    """Run a command line inside this process: exit status, standard output, standard error."""

    def call(text):
        with pytest.raises(SystemExit) as caught:
            cli.main(text.split())
        captured = capsys.readouterr()
        return caught.value.code, captured.out, captured.err

    return call
