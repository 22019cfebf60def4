"""Run tests in a process that has imported little.

The replay of a client looks through all objects of its process. Beside the whole suite that takes
ten times as long as in a process of its own.
"""

import functools
import pickle
import select
import subprocess
import sys

import cloudpickle

SERVE = """
import gc, os, pickle, sys, traceback
sys.path[:] = sys.argv[1:]
from ldpkit import cli
from ldpkit.blackbox.exact import verdict
verdict._RUNS = 40  # calls of each input
answers = os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)
gc.freeze()  # as the suite does
while True:
    try:
        test, given = pickle.load(sys.stdin.buffer)
    except EOFError:
        break
    try:
        test(**given)
        said = ""
    except BaseException:
        said = traceback.format_exc()
    pickle.dump(said, answers)
    answers.flush()
"""


LIMIT = 300  # seconds of a test, which a client that never ends would exceed


@functools.cache
def process():
    """The process; it ends with this one."""
    command, pipe = [sys.executable, "-c", SERVE, *sys.path], subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe)


def apart(test):
    """A test that runs in the other process."""
    cloudpickle.register_pickle_by_value(sys.modules[test.__module__])

    @functools.wraps(test)
    def run(**given):
        served = process()
        cloudpickle.dump((test, given), served.stdin)
        served.stdin.flush()
        if not select.select([served.stdout], [], [], LIMIT)[0]:
            served.kill()
            process.cache_clear()
            raise TimeoutError(f"the test has not ended after {LIMIT} seconds")
        assert (said := pickle.load(served.stdout)) == "", said

    return run
