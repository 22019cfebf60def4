"""Measure the processor time per report of an audit that looks at every entry of a report."""

import math
import resource
import time

import numpy as np

from ldpkit.blackbox.sequential import read
from ldpkit.blackbox.sequential.bettor import Bettor
from ldpkit.blackbox.sequential.loop import block
from ldpkit.blackbox.sequential.wealth import Claims

LEAST = 2.0  # seconds of processor time that each row measures
ENTRIES = (1, 10, 100, 1_000, 10_000)


def forms(entries, rng):
    """Yield the name of each form of reports, and a function that makes so many of them."""
    names = [f"k{i}" for i in range(entries)]
    letters = np.array([*"abcdefghijklmnopqrstuvwxyz0123456789"])

    def mixed(n):
        reals, wholes = rng.normal(size=(n, entries)), rng.integers(0, 1000, (n, entries))
        return [
            {
                name: (a[i], b[i], b[i] % 2, ("yes", "no")[b[i] % 2])[i % 4]
                for i, name in enumerate(names)
            }
            for a, b in zip(reals.tolist(), wholes.tolist())
        ]

    def bits(n):
        return [dict(zip(names, row)) for row in rng.integers(0, 2, (n, entries)).tolist()]

    def texts(n):
        return ["".join(row) for row in letters[rng.integers(0, 36, (n, entries))]]

    if entries == 1:
        yield "value", lambda n: rng.integers(0, 10, n).tolist()
        yield "real", lambda n: rng.normal(size=n).tolist()
    yield "table of bits", lambda n: rng.integers(0, 2, (n, entries), dtype=np.uint8)
    yield "list of bits", lambda n: rng.integers(0, 2, (n, entries)).tolist()
    yield "list of reals", lambda n: rng.normal(size=(n, entries)).tolist()
    yield (
        "fields of bits",
        lambda n: [dict(zip(names, row)) for row in rng.integers(0, 2, (n, entries)).tolist()],
    )
    yield "fields of reals, integers, bits and texts", mixed
    yield "text", texts


def measure(make, entries, rng):
    """Return microseconds of processor time per report without a leak, and how many were seen."""
    bettor = Bettor(Claims((1.0, 0.0), None, np.zeros(0)), math.inf, 2)
    warm, most = 200 if entries > 1_000 else 2_000, max(8, min(1024, 200_000 // entries))
    spent, measured = 0.0, 0
    while spent < LEAST:
        end = 2 * block(bettor.rounds // 2)[1]
        n = min(end - bettor.rounds, most)
        sides, reports, counted = rng.integers(0, 2, n), make(n), bettor.rounds >= warm
        tick = time.process_time()
        bettor.see(read(reports, bettor.rounds), reports, sides, np.zeros((n, 0), int), False)
        if bettor.rounds == end:
            bettor.end_block()
        spent += counted * (time.process_time() - tick)
        measured += counted * n
    return spent / measured * 1e6, bettor.rounds


def rows():
    """Yield one row for each form and number of entries."""
    rng = np.random.default_rng(1)
    for entries in ENTRIES:
        for form, make in forms(entries, rng):
            each, seen = measure(make, entries, rng)
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            yield {
                "form": form, "entries": entries, "reports": seen,
                "microseconds a report": round(each, 2),
                "microseconds an entry": round(each / entries, 3), "peak MB so far": round(peak),
            }  # fmt: skip


if __name__ == "__main__":
    for row in rows():
        print(row, flush=True)
