"""Train with DP-SGD for the page of its audit; `benchmarks/stored.py` makes the runs that take too long for a page.

A trusted curator holds all records but one and adds the unknown record. Therefore the values of `DPSGD.perturb` are the
candidates for that record. Sources: Abadi et al. (2016); Guerra-Balboa et al., "Understanding Disclosure Risk in Differential
Privacy", section 7.1.
"""

import functools
import math
from dataclasses import dataclass

import numpy as np
import scipy
from numpy import vecdot as _dot
from threadpoolctl import threadpool_limits

from ldpbook import datasets, paths
from ldpbook.stored import sweep
from ldpkit.rng import generator

SIGMA = [75, 40, 27, 21, 9.5, 5]
CANDIDATES = 8
KNOWN = 999
RUNS_PER_CELL = 40
_BATCH = 20  # runs that share the matrix products


@dataclass(frozen=True, eq=False)
class DPSGD:
    """Full-batch DP-SGD of a small network, with the likelihoods of all candidates for one unknown record.

    A network with one hidden layer of rectified units is trained on the known records and the unknown one. Every gradient of the
    cross-entropy is clipped to norm `clip`. The sum gets Gaussian noise of standard deviation ``clip * sigma`` on every
    coordinate, and moves the weights by ``rate / n``.

    Parameters
    ----------
    known, candidates : (array, array)
        Records as features, float array (n, d), and labels, int array (n,).
    sigma : float
        Noise multiplier, positive.
    steps, clip, rate, hidden
        Number of steps, clipping norm, learning rate, number of hidden units (the paper: 100, 0.1, 9, 10).
    test : (array, array), optional
        Records on which the trained network is scored.
    """

    known: tuple
    candidates: tuple
    sigma: float
    steps: int = 100
    clip: float = 0.1
    rate: float = 9.0
    hidden: int = 10
    test: tuple | None = None

    @property
    def k(self):
        """Return the number of candidates."""
        return len(self.candidates[1])

    def perturb(self, values, rng):
        """Train once for each value, and return what an adversary who sees every noisy gradient needs.

        Parameters
        ----------
        values : int array, shape (n,)
            The candidate that is the unknown record of each run.
        rng : numpy.random.Generator

        Returns
        -------
        structured array, shape (n,)
            ``loglik`` (k) is the log-likelihood of every candidate up to a constant, which suffices for every attack. ``dot`` (k)
            is the sum over the steps of the inner products of the residual with the candidate's clipped gradient. ``accuracy`` is
            that on `test`, or NaN.
        """
        with threadpool_limits(1, "blas"):  # sums are formed in the same order however many cores there are
            return np.concatenate([self._train(values[i : i + _BATCH], rng) for i in range(0, max(1, values.size), _BATCH)])

    def _train(self, truth, rng):
        """Train one batch of runs, whose weights are stacked: (d, runs, hidden) and (runs, hidden, classes)."""
        x = np.concatenate([self.known[0], self.candidates[0]]).astype(np.float32)
        y = np.concatenate([self.known[1], self.candidates[1]])
        (n, d), first, runs, h = x.shape, len(self.known[1]), truth.size, self.hidden
        classes = int(max(y.max(), y.max() if self.test is None else np.max(self.test[1]))) + 1
        onehot = np.eye(classes, dtype=np.float32)[y]
        member = np.ones((runs, n, 1), np.float32)
        member[:, first:, 0] = np.eye(self.k)[truth]
        square, gram_x = (x**2).sum(1) + 1, x[first:] @ x[first:].T + 1  # + 1 for the biases
        shapes = [(d, runs, h), (runs, 1, h), (runs, h, classes), (runs, 1, classes)]
        weights = [
            _truncated(shapes[0], rng) / math.sqrt(d),
            np.zeros(shapes[1], np.float32),
            _truncated(shapes[2], rng) / math.sqrt(h),
            np.zeros(shapes[3], np.float32),
        ]
        dots, norms = np.zeros((runs, self.k)), np.zeros((runs, self.k))
        for _ in range(self.steps):
            a, out = _forward(x, weights)
            # softmax; NumPy's maximum along a short axis is slow
            d2 = np.exp(out - functools.reduce(np.maximum, np.moveaxis(out, 2, 0))[..., None])
            d2 = d2 / d2.sum(2, keepdims=True) - onehot
            d1 = (d2 @ weights[2].transpose(0, 2, 1)) * (a > 0)
            # squared norm of a gradient whose blocks are outer products, without forming it
            norm = np.sqrt(_dot(d2, d2) * (_dot(a, a) + 1) + _dot(d1, d1) * square)
            shrink = (1 / np.maximum(1, norm / self.clip))[..., None]
            d1, d2 = d1 * shrink, d2 * shrink
            noise = [self.clip * self.sigma * rng.standard_normal(s, np.float32) for s in shapes]
            a_z, c1, c2 = a[:, first:], d1[:, first:], d2[:, first:]
            gram = (c2 @ c2.transpose(0, 2, 1)) * (a_z @ a_z.transpose(0, 2, 1) + 1) + (c1 @ c1.transpose(0, 2, 1)) * gram_x
            heard = _dot(_inner(x[first:], noise[0]) + noise[1], c1) + _dot(a_z @ noise[2] + noise[3], c2)
            dots += gram[np.arange(runs), truth] + heard
            norms += gram.diagonal(axis1=1, axis2=2)
            s1, s2 = d1 * member, d2 * member
            sums = [
                (x.T @ s1.transpose(1, 0, 2).reshape(n, -1)).reshape(d, runs, h),
                s1.sum(1, keepdims=True),
                a.transpose(0, 2, 1) @ s2,
                s2.sum(1, keepdims=True),
            ]
            for w, total, extra in zip(weights, sums, noise):
                w -= np.float32(self.rate / (first + 1)) * (total + extra)
        found = np.zeros(runs, [("loglik", float, self.k), ("dot", float, self.k), ("accuracy", float)])
        found["loglik"] = (dots - norms / 2) / (self.clip * self.sigma) ** 2
        found["dot"] = dots
        found["accuracy"] = np.nan
        if self.test is not None:
            guess = _forward(np.asarray(self.test[0], np.float32), weights)[1].argmax(2)
            found["accuracy"] = (guess == np.asarray(self.test[1])).mean(1)
        return found


def _truncated(shape, rng):
    """Return standard normal numbers, cut at two standard deviations."""
    edge = scipy.special.ndtr(-2.0)
    return scipy.special.ndtri(rng.uniform(edge, 1 - edge, shape)).astype(np.float32)


def _inner(x, w):
    """Return the products of all rows (n, d) with the weights (d, runs, hidden) of every run, as an array (runs, n, hidden)."""
    return (x @ w.reshape(len(w), -1)).reshape(len(x), *w.shape[1:]).transpose(1, 0, 2)


def _forward(x, weights):
    """Return hidden activations and outputs of every run."""
    a = np.maximum(_inner(x, weights[0]) + weights[1], 0)
    return a, a @ weights[2] + weights[3]


@functools.cache
def records(data):
    """Return known records, candidates and test records of one data set.

    The first 999 records are known, and the eight after the 1,000th are the candidates. Those of MNIST are training images, and
    the first 1,000 test images score the network. Those of Fashion-MNIST, and their scores, are from the first 2,000 test images.
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
    """Train one batch of runs with every candidate equally often, and return one row per run."""
    known, candidates, test = records(data)
    truth = np.arange(runs) % CANDIDATES
    found = DPSGD(known, candidates, sigma, test=test).perturb(truth, generator(seed, "dpsgd"))
    return [
        {"truth": int(z), **{name: np.round(run[name], 6).tolist() for name in ("loglik", "dot", "accuracy")}}
        for z, run in zip(truth, found)
    ]


def load(data):
    """Return the stored runs of one data set, in the form of `train`."""
    with np.load(paths.ROOT / "data" / "results" / f"rad_dpsgd_{data}.npz") as file:
        return dict(file)


def train(data, runs, seed, sigma=SIGMA, workers=None):
    """Return all runs of one data set as arrays: sigma, truth, loglik, dot, accuracy, and the labels of the candidates."""
    if runs % RUNS_PER_CELL:
        raise ValueError(f"runs must be a multiple of {RUNS_PER_CELL}, got {runs}")
    grid = {"data": data, "sigma": sigma, "runs": RUNS_PER_CELL, "part": range(runs // RUNS_PER_CELL)}
    table = sweep(cell, grid, seed=seed, workers=workers, label=f"DP-SGD on {data}")
    found = {name: np.array(table[name].tolist(), np.float32) for name in ("sigma", "truth", "loglik", "dot", "accuracy")}
    return found | {"truth": found["truth"].astype(np.int8), "labels": records(data)[1][1].astype(np.int8)}
