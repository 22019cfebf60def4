"""Measure time and memory of long audits, each in a process of its own."""

import multiprocessing
import resource
import time

import numpy as np

from ldpkit import Client
from ldpkit.blackbox.sequential import SequentialAudit
from ldpkit.mechanisms import GRR, OUE

EPSILON = 1.0


def answers(values, rng):
    return GRR(2, EPSILON).perturb(np.array(values), rng).tolist()


def fields(values, rng):
    """Return reports of ten fields: five bits, three numbers, a word and a real."""
    bits = OUE(5, EPSILON).perturb(np.array(values), rng).astype(int).tolist()
    numbers, words = rng.integers(0, 9, (len(values), 3)).tolist(), rng.integers(0, 3, len(values))
    reals = rng.normal(size=len(values)).tolist()
    names = [f"f{i}" for i in range(8)]
    return [
        dict(zip(names, b + n), word=("yes", "no", "never")[w], real=r)
        for b, n, w, r in zip(bits, numbers, words, reals)
    ]


def reals(values, rng):
    """Return 1,000 reals for each value: noise on a grid of multiples of 2^-20, and one answer."""
    noise = np.round(rng.normal(size=(len(values), 1000)) * 2**20) / 2**20
    noise[:, 0] = GRR(2, EPSILON).perturb(np.array(values), rng)
    return noise.tolist()


CASES = {"one answer": (answers, 5_000_000), "ten mixed fields": (fields, 500_000),
         "1,000 fresh reals": (reals, 500_000)}  # fmt: skip
"""Client and reports per input; there are two inputs."""


def megabytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def one(name):
    """Return one row: memory after a tenth of the reports and after all, and processor time."""
    client, pairs = CASES[name]
    asked = Client(client, values=[0, 1], epsilon=EPSILON)
    started = SequentialAudit(asked, "learned", trials=pairs).start(1)
    tick = time.process_time()
    started.go(trials=pairs // 10)
    early = megabytes()
    started.go()
    seconds, found = time.process_time() - tick, started.result
    assert found.reports == pairs, found
    row = {"reports": name, "number": 2 * pairs, "MB after a tenth": early, "MB": megabytes()}
    return row | {"seconds": seconds, "microseconds a report": seconds / (2 * pairs) * 1e6}


def rows():
    """Yield one row per case."""
    for name in CASES:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            yield pool.apply(one, (name,))
