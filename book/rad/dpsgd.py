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
RUNS_PER_CELL = 40


@functools.cache
def records(data):
    """Known records, candidates and test records of one data set.

    The first 999 are known and the eight after the 1,000th are the candidates. MNIST's are training images, scored
    on the first 1,000 test images; Fashion-MNIST's (any will do) are the first 2,000 test images, as are their scores.
    """
    if data == "mnist":
        (x, y), (test_x, test_y) = datasets.images("mnist")
        scored = test_x[:1000], test_y[:1000]
    else:
        x, y = datasets.digits() if data == "digits" else datasets.images("fashion_mnist")[1]
        x = 2 * x.reshape(len(x), -1) - 1 if data == "digits" else x  # pixels in [-1, 1]
        scored = x[KNOWN + 1 + CANDIDATES : 2000], y[KNOWN + 1 + CANDIDATES : 2000]
    chosen = slice(KNOWN + 1, KNOWN + 1 + CANDIDATES)
    return (x[:KNOWN], y[:KNOWN]), (x[chosen], y[chosen]), scored


def cell(data, sigma, runs, part, seed):
    """One batch of training runs, every candidate equally often; one row per run."""
    known, candidates, test = records(data)
    truth = np.arange(runs) % CANDIDATES
    found = DPSGD(known, candidates, sigma, test=test).perturb(truth, streams.generator(seed, "dpsgd"))
    return [
        {"truth": int(z), **{name: np.round(run[name], 6).tolist() for name in ("loglik", "dot", "accuracy")}}
        for z, run in zip(truth, found)
    ]


def load(data):
    """The committed runs of one data set, as `train` returns them."""
    with np.load(paths.ROOT / "data" / "results" / f"rad_dpsgd_{data}.npz") as file:
        return dict(file)


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
