"""The training runs behind the DP-SGD page; as a command, the runs that take too long for a page.

    OPENBLAS_NUM_THREADS=1 python book/rad/dpsgd.py mnist

writes data/results/rad_dpsgd_mnist.npz. Images are fetched by `make data` before.
"""

import argparse
import functools

import numpy as np

from ldpkit import datasets, paths, streams
from ldpkit.mechanisms import DPSGD
from ldpkit.sweep import sweep

SIGMA = [75, 40, 27, 21, 9.5, 5]
CANDIDATES = 8
KNOWN = 999
SCORED = 1000  # test images that measure the accuracy
RUNS_PER_CELL = 40


@functools.cache
def records(data):
    """Known records, candidates and test records: the first 999 images, the eight after the 1,000th, 1,000 others."""
    if data == "digits":
        x, y = datasets.digits()
        test = slice(KNOWN + 1 + CANDIDATES, None)
        rest = x[test], y[test]
    else:
        (x, y), rest = datasets.images(data)
    chosen = slice(KNOWN + 1, KNOWN + 1 + CANDIDATES)
    return (x[:KNOWN], y[:KNOWN]), (x[chosen], y[chosen]), (rest[0][:SCORED], rest[1][:SCORED])


def cell(data, sigma, runs, part, seed):
    """One batch of training runs, every candidate equally often; one row per run."""
    known, candidates, test = records(data)
    truth = np.arange(runs) % CANDIDATES
    found = DPSGD(known, candidates, sigma, test=test).perturb(truth, streams.generator(seed, "dpsgd"))
    return [
        {"truth": int(z), **{name: np.round(run[name], 6).tolist() for name in ("loglik", "dot", "accuracy")}}
        for z, run in zip(truth, found)
    ]


def train(data, runs, seed, sigma=SIGMA, workers=None):
    """All runs of one data set as arrays: sigma, truth, loglik, dot, accuracy, and the labels of the candidates."""
    if runs % RUNS_PER_CELL:
        raise ValueError(f"runs must be a multiple of {RUNS_PER_CELL}, got {runs}")
    grid = {"data": data, "sigma": sigma, "runs": RUNS_PER_CELL, "part": range(runs // RUNS_PER_CELL)}
    table = sweep(cell, grid, seed=seed, workers=workers, store=paths.STORE, label=f"DP-SGD on {data}")
    found = {name: np.array(table[name].tolist(), np.float32) for name in ("sigma", "truth", "loglik", "dot", "accuracy")}
    return found | {"truth": found["truth"].astype(np.int8), "labels": records(data)[1][1].astype(np.int8)}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", choices=["mnist", "fashion_mnist", "digits"])
    parser.add_argument("--runs", type=int, default=1000, help="runs per noise multiplier (the paper: 8,000)")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    target = paths.ROOT / "data" / "results" / f"rad_dpsgd_{given.data}.npz"
    target.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(target, **train(given.data, given.runs, given.seed, workers=1))
    print(f"wrote {target}")
