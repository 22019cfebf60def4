"""Central mechanisms: gradients with noise (DP-SGD), and what Gaussian noise promises.

A trusted curator holds all records but one, ``D_-``, and adds the unknown one;
the values of `DPSGD.perturb` are therefore the candidates for that record.

Sources: Abadi et al. (2016) for DP-SGD; Dong, Roth and Su (2022) for Gaussian
differential privacy (GDP); Guerra-Balboa et al., "Understanding Disclosure Risk
in Differential Privacy", section 7.1.
"""

import math
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike
from threadpoolctl import threadpool_limits

from .. import checks
from ..types import Array, Rng
from .gaussian import SENSITIVITY, gaussian_delta

__all__ = [
    "DPSGD",
    "ADJACENCY",
    "gdp_mu",
    "gdp_epsilon",
    "rdp_epsilon",
    "gaussian_epsilon",
    "gaussian_sigma",
]

ADJACENCY = {"add_remove": 1.0, "replace": 2.0}
"""How far two neighbouring sums of clipped gradients may lie apart, in units of the clipping
norm."""

_ORDERS = np.concatenate([np.arange(11, 110) / 10, np.arange(11, 64)])
_BATCH = 20  # runs that share the matrix products


def gdp_mu(sigma: float, steps: int = 1, adjacency: str = "add_remove") -> float:
    """Parameter mu of the Gaussian differential privacy of `steps` releases with noise multiplier
    `sigma`.

    Parameters
    ----------
    sigma : float
        Standard deviation of the noise, in units of the clipping norm, positive.
    steps : int
    adjacency : {"add_remove", "replace"}
        Whether neighbours differ by one record more, or by another record in the same place.
    """
    sigma, steps = checks.real("sigma", sigma, 0, closed="()"), checks.integer("steps", steps, 1)
    return ADJACENCY[checks.one_of("adjacency", adjacency, ADJACENCY)] * math.sqrt(steps) / sigma


def gdp_epsilon(mu: float, delta: float) -> float:
    """Smallest epsilon for which mu-GDP is (epsilon, delta)-DP, exactly (Dong et al., Corollary
    2.13)."""
    mu = checks.real("mu", mu, 0, closed="()")
    delta = checks.real("delta", delta, 0, 1, closed="()")
    sigma = SENSITIVITY / mu  # in terms of a one-hot vector
    if gaussian_delta(0.0, sigma) <= delta:
        return 0.0
    high = mu * (mu / 2 + math.sqrt(2 * math.log(1 / delta)))  # the tail bound of the privacy loss
    return scipy.optimize.brentq(lambda e: gaussian_delta(e, sigma) - delta, 0, high, xtol=1e-12)


def rdp_epsilon(mu: float, delta: float) -> float:
    """Epsilon of mu-GDP by Renyi orders 1.1 to 63, as the paper's code converts it; larger than
    `gdp_epsilon`."""
    mu, delta = (
        checks.real("mu", mu, 0, closed="()"),
        checks.real("delta", delta, 0, 1, closed="()"),
    )
    order = _ORDERS
    return float(
        (order * mu**2 / 2 + np.log1p(-1 / order) - np.log(order * delta) / (order - 1)).min()
    )


def gaussian_epsilon(
    sigma: float,
    steps: int = 1,
    delta: float = 1e-5,
    *,
    accounting: str = "exact",
    adjacency: str = "add_remove",
) -> float:
    """Epsilon of `steps` Gaussian releases.

    Parameters
    ----------
    sigma, steps, adjacency
        As in `gdp_mu`.
    delta : float
        In (0, 1).
    accounting : {"exact", "rdp"}
        See `gdp_epsilon` and `rdp_epsilon`.
    """
    convert = {"exact": gdp_epsilon, "rdp": rdp_epsilon}[
        checks.one_of("accounting", accounting, ("exact", "rdp"))
    ]
    return convert(gdp_mu(sigma, steps, adjacency), delta)


def gaussian_sigma(
    epsilon: float,
    steps: int = 1,
    delta: float = 1e-5,
    *,
    accounting: str = "exact",
    adjacency: str = "add_remove",
) -> float:
    """Noise multiplier that `gaussian_epsilon` maps to `epsilon`.

    Raises
    ------
    ValueError
        If the accounting cannot express so small an epsilon at this delta.
    """
    epsilon = checks.real("epsilon", epsilon, 0, closed="()")

    def excess(log_sigma: float) -> float:
        return (
            gaussian_epsilon(
                math.exp(log_sigma), steps, delta, accounting=accounting, adjacency=adjacency
            )
            - epsilon
        )

    low, high = -4.0, 20.0
    if not excess(high) < 0 < excess(low):
        raise ValueError(
            f"epsilon must be one that {accounting} accounting reaches at delta = {delta:g}, got"
            f" {epsilon}"
        )
    return math.exp(scipy.optimize.brentq(excess, low, high, xtol=1e-13))


@dataclass(frozen=True, eq=False)
class DPSGD:
    """Full-batch DP-SGD of a small network, all candidates for one record watched at once.

    A network with one hidden layer of rectified units is trained on the known
    records and one unknown record: every gradient of the cross-entropy is
    clipped to norm `clip`, the sum gets Gaussian noise of standard deviation
    ``clip * sigma`` on every coordinate and moves the weights by ``rate / n``.

    Parameters
    ----------
    known, candidates : (array, array)
        Records as features, float array (n, d), and labels, int array (n,).
    sigma : float
        Noise multiplier, positive.
    steps, clip, rate, hidden
        Steps, clipping norm, learning rate, hidden units (the paper: 100, 0.1, 9, 10).
    test : (array, array), optional
        Records on which the trained network is scored.
    """

    known: tuple[Array, Array]
    candidates: tuple[Array, Array]
    sigma: float
    steps: int = 100
    clip: float = 0.1
    rate: float = 9.0
    hidden: int = 10
    test: tuple[Array, Array] | None = None
    name = "DPSGD"

    def __post_init__(self) -> None:
        for name in ("sigma", "clip", "rate"):
            checks.real(name, getattr(self, name), 0, closed="()")
        for name in ("steps", "hidden"):
            checks.integer(name, getattr(self, name), 1)
        for name in ("known", "candidates", "test"):
            pair = getattr(self, name)
            if (pair is not None or name != "test") and not (
                isinstance(pair, (list, tuple)) and len(pair) == 2
            ):
                raise ValueError(f"{name} must be a pair of features and labels, got {pair!r}")
        width = np.shape(self.known[0])[-1:]
        for name in ("known", "candidates", "test"):
            x, y = getattr(self, name) or self.known
            checks.numeric(f"features of {name}", x)
            if (
                np.ndim(x) != 2
                or np.shape(x)[1:] != width
                or len(x) == 0
                or not np.isfinite(x).all()
            ):
                raise ValueError(
                    f"features of {name} must be finite and of shape (n, {width}), got shape"
                    f" {np.shape(x)}"
                )
            if checks.values(np.asarray(y), 2**31, f"labels of {name}").size != len(x):
                raise ValueError(
                    f"labels of {name} must be one for each of the {len(x)} records, got {len(y)}"
                )

    @property
    def k(self) -> int:
        """Number of candidates."""
        return len(self.candidates[1])

    def perturb(self, values: ArrayLike, rng: Rng) -> Array:
        """Train once for each value and keep what an adversary who sees every noisy gradient needs.

        Parameters
        ----------
        values : int array, shape (n,)
            Which candidate is the unknown record of each run.
        rng : numpy.random.Generator

        Returns
        -------
        structured array, shape (n,)
            ``loglik`` (k): log-likelihood of every candidate up to a constant, sufficient for every
            attack; ``dot`` (k): sum over the steps of the inner products of the residual with the
            candidate's clipped gradient; ``accuracy`` on `test`, or NaN.
        """
        checks.generator(rng)
        values = checks.values(values, self.k)
        with threadpool_limits(
            1, "blas"
        ):  # sums are formed in the same order however many cores there are
            return np.concatenate(
                [
                    self._train(values[i : i + _BATCH], rng)
                    for i in range(0, max(1, values.size), _BATCH)
                ]
            )

    def _train(self, truth: Array, rng: Rng) -> Array:
        """One batch of runs, stacked: weights (d, runs, hidden) and (runs, hidden, classes)."""
        x = np.concatenate([self.known[0], self.candidates[0]]).astype(np.float32)
        y = np.concatenate([self.known[1], self.candidates[1]])
        (n, d), first, runs, h = x.shape, len(self.known[1]), truth.size, self.hidden
        classes = int(max(y.max(), y.max() if self.test is None else np.max(self.test[1]))) + 1
        onehot = np.eye(classes, dtype=np.float32)[y]
        member = np.ones((runs, n, 1), np.float32)
        member[:, first:, 0] = np.eye(self.k)[truth]
        square, gram_x = (x**2).sum(1) + 1, x[first:] @ x[first:].T + 1  # + 1 for the biases
        shapes = [(d, runs, h), (runs, 1, h), (runs, h, classes), (runs, 1, classes)]
        weights: list[Array] = [
            _truncated(shapes[0], rng) / math.sqrt(d),
            np.zeros(shapes[1], np.float32),
            _truncated(shapes[2], rng) / math.sqrt(h),
            np.zeros(shapes[3], np.float32),
        ]
        dots, norms = np.zeros((runs, self.k)), np.zeros((runs, self.k))
        for _ in range(self.steps):
            a, out = _forward(x, weights)
            d2 = scipy.special.softmax(out, axis=2) - onehot
            d1 = (d2 @ weights[2].transpose(0, 2, 1)) * (a > 0)
            # squared norm of a gradient whose blocks are outer products, without forming it
            norm = np.sqrt((d2**2).sum(2) * ((a**2).sum(2) + 1) + (d1**2).sum(2) * square)
            shrink = (1 / np.maximum(1, norm / self.clip))[..., None]
            d1, d2 = d1 * shrink, d2 * shrink
            noise = [self.clip * self.sigma * rng.standard_normal(s, np.float32) for s in shapes]
            a_z, c1, c2 = a[:, first:], d1[:, first:], d2[:, first:]
            gram = (c2 @ c2.transpose(0, 2, 1)) * (a_z @ a_z.transpose(0, 2, 1) + 1) + (
                c1 @ c1.transpose(0, 2, 1)
            ) * gram_x
            heard = ((_inner(x[first:], noise[0]) + noise[1]) * c1).sum(2) + (
                (a_z @ noise[2] + noise[3]) * c2
            ).sum(2)
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
        found = np.zeros(
            runs, [("loglik", float, self.k), ("dot", float, self.k), ("accuracy", float)]
        )
        found["loglik"] = (dots - norms / 2) / (self.clip * self.sigma) ** 2
        found["dot"] = dots
        found["accuracy"] = np.nan
        if self.test is not None:
            guess = _forward(np.asarray(self.test[0], np.float32), weights)[1].argmax(2)
            found["accuracy"] = (guess == np.asarray(self.test[1])).mean(1)
        return found


def _truncated(shape: tuple[int, ...], rng: Rng) -> Array:
    """Standard normal draws, cut at two standard deviations."""
    edge = scipy.special.ndtr(-2.0)
    return scipy.special.ndtri(rng.uniform(edge, 1 - edge, shape)).astype(np.float32)


def _inner(x: Array, w: Array) -> Array:
    """Products of all rows (n, d) with the weights (d, runs, hidden) of every run: (runs, n,
    hidden)."""
    return (x @ w.reshape(len(w), -1)).reshape(len(x), *w.shape[1:]).transpose(1, 0, 2)


def _forward(x: Array, weights: list[Array]) -> tuple[Array, Array]:
    """Hidden activations and outputs of every run."""
    a = np.maximum(_inner(x, weights[0]) + weights[1], 0)
    return a, a @ weights[2] + weights[3]
