"""Measure the cost of an audit per report, without the making of reports."""

import time

import numpy as np

from ldpkit.blackbox.sequential import Declared, SequentialAudit
from ldpkit.mechanisms import GRR, OUE

BET, LEARNED = 2_000_000, 50_000  # pairs


class Ready:
    """A source whose reports are made in advance."""

    parameters, epsilon, delta, repeats, independent = {}, 1.0, 0.0, True, True

    def __init__(self, name, sides):
        self.name, self.sides, self.at = name, sides, 0

    def draw(self, inputs, n, rng):
        self.at += n
        return [side[self.at - n : self.at] for side in self.sides]


def one(values):
    return np.asarray(values) == 0


def entries(reports):
    """Return reports of any form as an array of objects."""
    return np.array([*reports.tolist(), None], object)[:-1]


def cases():
    """Yield name, source and attack of every measurement, and the number of pairs."""
    rng = np.random.default_rng(1)
    answers = [GRR(5, 0.9).perturb(np.full(BET, v), rng) for v in (0, 1)]
    event = Declared(one, "the report is 0")
    yield "declared event", Ready("values", answers), event, BET
    few = [entries(side[:LEARNED]) for side in answers]
    yield "learned from values", Ready("values", few), "learned", LEARNED
    reals = [entries(np.round(v + rng.laplace(0, 1.1, LEARNED), 3)) for v in (0, 1)]
    yield "learned from reals", Ready("reals", reals), "learned", LEARNED
    bits = [entries(OUE(10, 0.9).perturb(np.full(LEARNED, v), rng).astype(int)) for v in (0, 1)]
    yield "learned from ten bits", Ready("bits", bits), "learned", LEARNED


def rows():
    """Yield one row per case: processor time of the whole audit per report, the better of two."""
    for name, source, attack, pairs in cases():
        times = []
        for _ in range(2):  # the first time kernels are compiled, too
            source.at = 0
            started = SequentialAudit(source, attack, pair=(0, 1), trials=pairs).start()
            tick = time.process_time()
            started.go()
            times.append(time.process_time() - tick)
            assert started.result.reports == pairs  # a kept claim ends no audit early
        seconds = min(times)
        yield {"audit": name, "reports": 2 * pairs, "seconds": seconds,
               "microseconds a report": seconds / (2 * pairs) * 1e6}  # fmt: skip
