"""Time the published way to audit: one multi-freq-ldpy report per trial, then the guess.

Example::

    _build/bench/venv/bin/python benchmarks/reference.py --k 25 --k 100 --seconds 2

This program runs in an environment of its own (`reference.txt`) without ldpkit. As published, loops
over compiled clients are also compiled. The client of local hashing is plain Python, and so is its
loop. The first line of the output names the versions, as JSON. The other lines are CSV: seconds for
`trials` reports of each input, after compilation. The number of trials is chosen so that a loop
takes about the wanted time.
"""

import argparse
import csv
import importlib.metadata
import json
import math
import platform
import sys
import time

import numpy as np
import xxhash
from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client
from multi_freq_ldpy.pure_frequency_oracles.HE import HE_Client, find_tresh
from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Client
from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Client
from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Client
from numba import njit
from scipy.optimize import minimize_scalar


@njit
def pick(found, k):
    """Return a uniform element of `found`, or of the domain if `found` is empty."""
    return found[np.random.randint(found.size)] if found.size else np.random.randint(k)


@njit
def grr(value, first, trials, k, epsilon):
    hits = 0
    for _ in range(trials):
        hits += GRR_Client(value, k, epsilon) == first
    return hits


@njit
def subset(value, first, trials, k, epsilon):
    hits = 0
    for _ in range(trials):
        hits += pick(SS_Client(value, k, epsilon), k) == first
    return hits


@njit
def unary(value, first, trials, k, epsilon, optimal):
    hits = 0
    for _ in range(trials):
        hits += pick(np.flatnonzero(UE_Client(value, k, epsilon, optimal)), k) == first
    return hits


def hashing(value, first, trials, k, epsilon, optimal):
    g = round(math.exp(epsilon)) + 1 if optimal else 2
    hits = 0
    for _ in range(trials):
        cell, seed = LH_Client(value, k, epsilon, optimal)
        found = [v for v in range(k) if xxhash.xxh32_intdigest(str(v), seed) % g == cell]
        hits += (found[np.random.randint(len(found))] if found else np.random.randint(k)) == first
    return hits


@njit
def summed(value, first, trials, k, epsilon):
    """Return how often the whole noisy vector is most likely under the first value.

    As published, the likelihood of each of k values has k factors.
    """
    rate = epsilon / 2
    truths, likelihood = np.eye(k), np.empty(k)
    hits = 0
    for _ in range(trials):
        report = HE_Client(value, k, epsilon)
        for v in range(k):
            likelihood[v] = np.prod(np.exp(-rate * np.abs(report - truths[v])) * (rate / 2))
        hits += pick(np.flatnonzero(likelihood == likelihood.max()), k) == first
    return hits


@njit
def thresholded(value, first, trials, k, epsilon, threshold):
    hits = 0
    for _ in range(trials):
        hits += pick(np.flatnonzero(HE_Client(value, k, epsilon) > threshold), k) == first
    return hits


def loops(epsilon):
    """Return the loop of every protocol with its further arguments."""
    best = minimize_scalar(find_tresh, bounds=[0.5, 1], method="bounded", args=(epsilon,)).x
    return {
        "GRR": (grr,),
        "SS": (subset,),
        "SUE": (unary, False),
        "OUE": (unary, True),
        "BLH": (hashing, False),
        "OLH": (hashing, True),
        "SHE": (summed,),
        "THE": (thresholded, float(best)),
    }


def timed(loop, trials, k, epsilon, *more):
    """Return the seconds of both inputs, and the shares of trials that guess the first value."""
    start = time.perf_counter()
    hits = [loop(value, 0, trials, k, epsilon, *more) for value in (0, k - 1)]
    return time.perf_counter() - start, [h / trials for h in hits]


def versions():
    """Return the versions of Python, of the clients and of the libraries below them."""
    names = ("multi-freq-ldpy", "numpy", "numba", "scipy", "xxhash")
    found = {name: importlib.metadata.version(name) for name in names}
    return {"Python": platform.python_version()} | found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--k", type=int, action="append", required=True)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument(
        "--seconds", type=float, default=2.0, help="about how long one loop may take"
    )
    arguments = parser.parse_args()
    print(json.dumps(versions()))
    out = csv.writer(sys.stdout)
    out.writerow(("protocol", "k", "trials", "seconds", "tpr", "fpr"))
    for name, (loop, *more) in loops(arguments.epsilon).items():
        timed(loop, 2, 25, arguments.epsilon, *more)  # compiles the loop
        for k in arguments.k:
            trials, seconds = 100, 0.0
            while seconds < arguments.seconds / 10:
                trials *= 4
                seconds, _ = timed(loop, trials, k, arguments.epsilon, *more)
            trials = max(1, round(trials * arguments.seconds / seconds))
            seconds, rates = timed(loop, trials, k, arguments.epsilon, *more)
            out.writerow((name, k, trials, f"{seconds:.6g}", *rates))
            sys.stdout.flush()


if __name__ == "__main__":
    main()
