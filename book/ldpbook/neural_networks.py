"""Train small networks in NumPy that return one gradient for each record, and craft pairs of gradients with them.

The audit of randomised gradients needs the gradient of the loss of every single record. Deep-learning packages only return the
sum over a batch. Other layers can be added as subclasses of `Layer`. The pairs are those of
the adversaries of the LDP-SGD paper (Table 2) that need a network.
"""

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from ldpkit import checks
from ldpkit.attacks.gradient import Pairs
from ldpkit.types import Array, Rng

__all__ = ["Layer", "Dense", "Relu", "Net", "mlp", "train", "benign", "label_flip", "gradient_flip", "collude", "FLIPS"]

Shape: TypeAlias = tuple[int, ...]
Memory: TypeAlias = Any  # values that `forward` keeps for `backward`


class Layer(ABC):
    """Base class of the layers of a network; it has no parameters, unless a subclass defines some.

    A layer knows the shapes of its parameters, but does not hold the parameters. Weights multiply from the right.
    """

    shapes: tuple[Shape, ...] = ()

    def start(self, rng: Rng) -> list[Array]:
        """Return initial parameters, drawn at random."""
        return [uniform(rng, shape, self.shapes[0][0]) for shape in self.shapes]

    @abstractmethod
    def forward(self, parameters: list[Array], x: Array) -> tuple[Array, Memory]:
        """Return the output, and the values that `backward` needs."""

    @abstractmethod
    def backward(self, parameters: list[Array], kept: Memory, slope: Array) -> tuple[Array, list[Array]]:
        """Return the slope of every record's loss with respect to the input, and with respect to the parameters."""


def uniform(rng: Rng, shape: Shape, inputs: int) -> Array:
    """Return initial parameters of a layer with so many inputs, drawn at random."""
    return rng.uniform(-1, 1, shape) / math.sqrt(inputs)


class Dense(Layer):
    """A layer whose outputs are weighted sums of all inputs, each with a shift."""

    def __init__(self, inputs: int, outputs: int) -> None:
        self.shapes = (inputs, outputs), (outputs,)

    def forward(self, parameters: list[Array], x: Array) -> tuple[Array, Memory]:
        flat = x.reshape(len(x), -1)
        return flat @ parameters[0] + parameters[1], (flat, x.shape)

    def backward(self, parameters: list[Array], kept: Memory, slope: Array) -> tuple[Array, list[Array]]:
        flat, shape = kept
        return (slope @ parameters[0].T).reshape(shape), [flat[:, :, None] * slope[:, None], slope]


class Relu(Layer):
    """A layer that replaces negative numbers by zero."""

    def forward(self, parameters: list[Array], x: Array) -> tuple[Array, Memory]:
        return np.maximum(x, 0), x > 0

    def backward(self, parameters: list[Array], kept: Memory, slope: Array) -> tuple[Array, list[Array]]:
        return slope * kept, []


class Net:
    """A classifier with softmax, cross-entropy loss and one flat parameter vector.

    Parameters
    ----------
    layers : list
        From records to scores.
    rng : numpy.random.Generator
        Draws the initial parameters.
    dtype : type
        Of parameters and gradients.

    Attributes
    ----------
    theta : float array, shape (d,)
        All parameters, layer by layer.
    d, classes : int
    """

    def __init__(self, layers: Sequence[Layer], rng: Rng, dtype: type = float) -> None:
        checks.generator(rng)
        self.layers, self.dtype = layers, dtype
        self.theta: Array = np.concatenate([p.ravel() for layer in layers for p in layer.start(rng)]).astype(dtype)
        self.d, self.classes = self.theta.size, layers[-1].shapes[1][0]

    def fresh(self, rng: Rng) -> "Net":
        """Return a net of the same layers with newly drawn parameters."""
        return Net(self.layers, rng, self.dtype)

    def _forward(self, x: Array) -> tuple[Array, list[tuple[Layer, list[Array], Memory]]]:
        kept, at = [], 0
        for layer in self.layers:
            own: list[Array] = []
            for shape in layer.shapes:
                own.append(self.theta[at : at + math.prod(shape)].reshape(shape))
                at += own[-1].size
            x, memory = layer.forward(own, x)
            kept.append((layer, own, memory))
        odds = np.exp(x - x.max(axis=1, keepdims=True))
        return odds / odds.sum(axis=1, keepdims=True), kept

    def predict(self, x: Array) -> Array:
        """Return the probability of each class, shape (n, classes)."""
        return self._forward(x)[0]

    def accuracy(self, x: Array, y: Array) -> float:
        """Return the share of records whose likeliest class is their label."""
        return float((self.predict(x).argmax(axis=1) == y).mean())

    def gradients(self, x: Array, y: Array) -> Array:
        """Return the gradient of the loss of every record, shape (n, d), for labels `y`."""
        checks.need(
            len(checks.values(y, self.classes, "labels")) == len(x),
            f"labels must be one for each of the {len(x)} records, got {len(y)}",
        )
        if len(y) > 100:  # the values of a hundred records fit into the cache
            return np.concatenate([self.gradients(x[i : i + 100], y[i : i + 100]) for i in range(0, len(y), 100)])
        slope, kept = self._forward(x)
        slope[np.arange(len(y)), y] -= 1
        own: list[Array] = []
        for layer, parameters, memory in reversed(kept):
            slope, found = layer.backward(parameters, memory, slope)
            own[:0] = found
        return np.concatenate([g.reshape(len(y), -1) for g in own], axis=1)


def mlp(sizes: Sequence[int], rng: Rng) -> Net:
    """Return a network of dense layers with ReLU between them; `sizes` lists the widths from inputs to classes."""
    checks.need(
        len(checks.instance("sizes", sizes, (list, tuple), "a list of layer sizes")) >= 2,
        f"sizes must name inputs and classes at least, got {sizes!r}",
    )
    sizes = [checks.integer("sizes", size, 1) for size in sizes]
    layers: list[Layer] = [part for i, o in itertools.pairwise(sizes) for part in (Dense(i, o), Relu())]
    return Net(layers[:-1], rng)


def train(
    net: Net,
    x: Array,
    y: Array,
    *,
    rounds: int,
    lr: float,
    rng: Rng,
    clients: int = 100,
    mechanism: Any = None,
    clip: float | None = None,
) -> Net:
    """Train in a federation: every round some clients send a gradient and the server takes a step.

    Parameters
    ----------
    net : Net
        Changed in place, and returned.
    x, y : array
        Records and labels; every client holds one, drawn with replacement.
    rounds, clients : int
        Number of steps, and of gradients per step.
    lr : float
        Learning rate, above 0.
    rng : numpy.random.Generator
    mechanism : GradientMechanism, optional
        Randomises every gradient at the client; the server steps along its estimate of the mean. Without a mechanism the clients
        send their exact gradients.
    clip : float, optional
        Longest step direction that the server accepts; longer ones are shortened.
    """
    lr, rounds = checks.real("lr", lr, 0, closed="()"), checks.integer("rounds", rounds, 0)
    clients, _ = checks.integer("clients", clients, 1), checks.integer("records", len(y), 1)
    checks.generator(rng)
    if clip is not None:
        checks.real("clip", clip, 0, closed="()")
    for _ in range(rounds):
        at = rng.integers(0, len(y), clients)
        sent = net.gradients(x[at], y[at])
        step = sent.mean(axis=0) if mechanism is None else mechanism.estimate(mechanism.perturb(sent, rng))
        if clip is not None:
            length = float(np.linalg.norm(step))
            step = step * min(1, clip / max(length, 1e-300))
        net.theta -= (lr * step).astype(net.dtype)
    return net


FLIPS = ("random", "next", "runner_up")
"""Ways in which `label_flip` chooses the wrong label; the paper does not state which one it uses."""


def _draw(y: Array, count: int, rng: Rng, least: int = 1) -> Array:
    checks.generator(rng)
    checks.integer("records", len(y), least)
    return rng.integers(0, len(y), checks.integer("count", count, 1))


def benign(net: Net, x: Array, y: Array, count: int, rng: Rng) -> Pairs:
    """Return `count` pairs of gradients of two different records."""
    first = _draw(y, count, rng, least=2)
    second = (first + rng.integers(1, len(y), count)) % len(y)
    return Pairs("benign", net.gradients(x[first], y[first]), net.gradients(x[second], y[second]))


def label_flip(net: Net, x: Array, y: Array, count: int, rng: Rng, flip: str = "random") -> Pairs:
    """Return `count` pairs of gradients of one record with its label and with a wrong one.

    Parameters
    ----------
    flip : {"random", "next", "runner_up"}
        The wrong label: uniform among the others, the next number, or the likeliest for the net.
    """
    at = _draw(y, count, rng)
    x, y = x[at], y[at]
    if checks.one_of("flip", flip, FLIPS) == "runner_up":
        odds = net.predict(x)
        odds[np.arange(count), y] = -1
        wrong = odds.argmax(axis=1)
    else:
        wrong = (y + (rng.integers(1, net.classes, count) if flip == "random" else 1)) % net.classes
    return Pairs("label flip", net.gradients(x, y), net.gradients(x, wrong))


def gradient_flip(net: Net, x: Array, y: Array, count: int, rng: Rng, name: str = "gradient flip") -> Pairs:
    """Return `count` pairs of a record's gradient and its negative."""
    at = _draw(y, count, rng)
    first = net.gradients(x[at], y[at])
    return Pairs(name, first, -first)


def collude(net: Net, x: Array, y: Array, count: int, rng: Rng, teach: Callable[[Net, Array, Array], object]) -> Pairs:
    """Return `count` pairs as `gradient_flip` makes them, but from the model of a colluding server.

    The server sends a model that was never trained on the client's label, so that the gradient is long.

    Parameters
    ----------
    teach : callable
        ``teach(net, x, y)`` trains the fresh net on the records of one class.
    """
    checks.generator(rng)
    checks.instance("teach", teach, Callable, "callable")
    malicious = net.fresh(rng)
    teach(malicious, x[y == 0], y[y == 0])
    return gradient_flip(malicious, x[y != 0], y[y != 0], count, rng, "collusion")
