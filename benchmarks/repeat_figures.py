"""Repeat the audits of Figures 1 to 3 of LDP-Auditor with the clients that the paper audited.

Example::

    python benchmarks/repeat_figures.py TABLE --source _build/reference/ldp-audit

The pure protocols are the clients of multi-freq-ldpy, in the loops of `reference.py`. The
approximate protocols and their attacks come from the released code in the folder `--source`, and
are left out without it. Every run has streams of its own, unlike the published ones. A row is
appended to TABLE as soon as its audit has ended. An audit with a row is not repeated. The first
line of the output names the versions, as JSON. The program does not use ldpkit.
"""

import argparse
import csv
import functools
import importlib.util
import itertools
import json
import math
import sys
import time
import zlib
from pathlib import Path

import numpy as np
import reference
from numba import njit
from scipy.stats import beta

PURE = ("GRR", "SS", "SUE", "OUE", "BLH", "OLH", "SHE", "THE")
APPROXIMATE = ("AGRR", "ASUE", "ABLH", "AOLH", "GM", "AGM")
EPSILONS = (0.25, 0.5, 0.75, 1.0, 2.0, 4.0, 6.0, 10.0)
K, DELTA, ALPHA = 25, 1e-5, 0.01
"""The smallest domain of Figures 2 and 3, their delta and significance."""
KEY = ("mechanism", "k", "epsilon", "delta", "trials", "alpha", "seed")
COLUMNS = ("experiment", *KEY, "tp", "fp", "epsilon_emp", "seconds", "cores")


def grid(trials, runs, names=PURE + APPROXIMATE):
    """Yield the cells of the figures, run by run; the paper plots GM up to a budget of 1."""
    for run, epsilon, name in itertools.product(range(runs), EPSILONS, names):
        if name != "GM" or epsilon <= 1:
            delta = DELTA if name in APPROXIMATE else ""
            yield dict(zip(KEY, (name, K, epsilon, delta, trials, ALPHA, run)))


def statistic(tp, fp, trials, alpha, delta):
    """Return the estimate of the released code.

    It uses one end of each of two intervals of Clopper and Pearson. Each interval has confidence 1
    - alpha / 2, so that alpha / 4 lies beyond each end.
    """
    low = beta.ppf(alpha / 4, tp, trials - tp + 1) if tp else 0.0
    high = beta.isf(alpha / 4, fp + 1, trials - fp) if fp < trials else 1.0
    return math.log((low - delta) / high) if low > delta else -math.inf


@njit
def _seed(number):
    np.random.seed(number)


@functools.cache
def released(source):
    """Return the modules of the released code, loaded one by one.

    An import of the whole package would need its schedulers.
    """
    found = {}
    for name in ("approximate_ldp", "attacks"):
        spec = importlib.util.spec_from_file_location(
            f"released_{name}", Path(source, "ldp_audit", f"{name}.py")
        )
        found[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(found[name])
    return found["approximate_ldp"], found["attacks"]


@functools.cache
def approximate(source):
    """Return loops over the approximate clients of the released code, with their attacks."""
    clients, attacks = released(source)
    response, bits, noise = clients.AGRR_Client, clients.ASUE_Client, clients.GM_Client
    guess_bits, guess_noise = attacks.attack_ue, attacks.attack_gm

    @njit
    def grr(value, first, trials, k, epsilon, delta):
        hits = 0
        for _ in range(trials):
            hits += response(value, k, epsilon, delta) == first
        return hits

    @njit
    def unary(value, first, trials, k, epsilon, delta):
        hits = 0
        for _ in range(trials):
            hits += guess_bits(bits(value, k, epsilon, delta), k) == first
        return hits

    @njit
    def gaussian(value, first, trials, k, epsilon, sigma):
        hits = 0
        for _ in range(trials):
            hits += guess_noise(noise(value, k, sigma), k, sigma) == first
        return hits

    def hashing(value, first, trials, k, epsilon, delta, optimal, g):
        hits = 0
        for _ in range(trials):
            report = clients.ALH_Client(value, epsilon, delta, optimal)
            hits += attacks.attack_lh(report, k, g) == first
        return hits

    return grr, unary, gaussian, hashing


def hash_range(epsilon, delta):
    """Return the range of AOLH, which the released client computes but does not return."""
    e = math.exp(epsilon)
    root = math.sqrt(e - 1) * math.sqrt((1 - delta) * (e + delta - 9 * e * delta - 1))
    return max(2, int(np.round((-3 * e * delta - root + e + 3 * delta - 1) / (2 * delta))))


def loop_of(name, epsilon, delta, source):
    """Return the loop of one protocol with its further arguments."""
    if name in PURE:
        return reference.loops(epsilon)[name]
    grr, unary, gaussian, hashing = approximate(source)
    if name in ("GM", "AGM"):
        root = math.sqrt(2)
        plain = root / epsilon * math.sqrt(2 * math.log(1.25 / delta))
        find = released(source)[0].find_scale
        return gaussian, plain if name == "GM" else float(find(epsilon, delta, root))
    if name in ("ABLH", "AOLH"):
        optimal = name == "AOLH"
        return hashing, delta, optimal, hash_range(epsilon, delta) if optimal else 2
    return (grr if name == "AGRR" else unary), delta


def audit(cell, source):
    """Return the result of one audit: counts of both inputs, the estimate, and the time."""
    name, k, epsilon, delta, trials, alpha, run = (cell[key] for key in KEY)
    delta = delta or 0.0
    loop, *more = loop_of(name, epsilon, delta, source)
    loop(0, 0, 1, k, epsilon, *more)  # compiles the loop
    start, counts = time.perf_counter(), []
    for value in (0, k - 1):
        number = zlib.crc32(f"{name} {k} {epsilon:g} {run} {value}".encode())
        _seed(number)  # compiled and plain code have generators of their own
        np.random.seed(number)
        counts.append(int(loop(value, 0, trials, k, epsilon, *more)))
    seconds = round(time.perf_counter() - start, 3)
    estimate = statistic(*counts, trials, alpha, delta)
    found = {"tp": counts[0], "fp": counts[1], "epsilon_emp": estimate, "seconds": seconds}
    return {"experiment": "figures", "cores": 1} | cell | found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table", type=Path)
    parser.add_argument("--source", help="folder of the released code")
    parser.add_argument("--trials", type=int, default=100_000, help="the paper: 1,000,000")
    parser.add_argument("--runs", type=int, default=5, help="the paper: 5")
    parser.add_argument("--epsilon", type=float, action="append", help="only this budget")
    given = parser.parse_args()
    print(json.dumps(reference.versions()), flush=True)
    names = PURE + (APPROXIMATE if given.source else ())
    known = set()
    if given.table.exists():
        with given.table.open() as file:
            known = {tuple(row[key] for key in KEY) for row in csv.DictReader(file)}
    with given.table.open("a", newline="") as file:
        out = csv.DictWriter(file, COLUMNS)
        if not known:
            out.writeheader()
        for cell in grid(given.trials, given.runs, names):
            if given.epsilon and cell["epsilon"] not in given.epsilon:
                continue
            if tuple(str(cell[key]) for key in KEY) not in known:
                out.writerow(audit(cell, given.source))
                file.flush()
    print(f"wrote {given.table}", file=sys.stderr)


if __name__ == "__main__":
    main()
