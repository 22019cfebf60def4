"""Small networks in NumPy with one gradient per record, and the federated loop that trains them.

The audit of randomised gradients needs the gradient of the loss of every single
record; deep-learning packages hand out the sum over a batch.

Sources: the LDP-SGD paper, section 5, for the roles of the networks (a simple
CNN, an LSTM); their sizes are ours, small enough to train while a page is executed.
"""

import itertools
import math
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from . import checks
from .types import Array, Rng

__all__ = ["Net", "mlp", "cnn", "lstm", "train"]

_Shape = tuple[int, ...]


class _Layer(Protocol):
    """A layer knows the shapes of its parameters, not the parameters. Weights multiply from the
    right."""

    shapes: tuple[_Shape, ...]

    def start(self, rng: Rng) -> list[Array]:
        """Draw the parameters."""

    def forward(self, parameters: list[Array], x: Array) -> tuple[Array, Any]:
        """Return the output and what `backward` needs."""

    def backward(self, parameters: list[Array], kept: Any, slope: Array) -> tuple[Any, list[Array]]:
        """Return the slope of every record's loss at the input, and at the parameters."""


def _uniform(rng: Rng, shape: _Shape, inputs: int) -> Array:
    return rng.uniform(-1, 1, shape) / math.sqrt(inputs)


class _Dense:
    def __init__(self, inputs: int, outputs: int) -> None:
        self.shapes: tuple[_Shape, ...] = ((inputs, outputs), (outputs,))

    def start(self, rng: Rng) -> list[Array]:
        return [_uniform(rng, shape, self.shapes[0][0]) for shape in self.shapes]

    def forward(self, parameters: list[Array], x: Array) -> tuple[Array, Any]:
        flat = x.reshape(len(x), -1)
        return flat @ parameters[0] + parameters[1], (flat, x.shape)

    def backward(
        self, parameters: list[Array], kept: Any, slope: Array
    ) -> tuple[Array, list[Array]]:
        flat, shape = kept
        return (slope @ parameters[0].T).reshape(shape), [flat[:, :, None] * slope[:, None], slope]


class _Conv(_Dense):
    """3 x 3 on images (n, height, width, channels): a dense layer on all patches."""

    def __init__(self, inputs: int, outputs: int, padding: int) -> None:
        super().__init__(9 * inputs, outputs)
        self.padding = padding

    def forward(self, parameters: list[Array], x: Array) -> tuple[Array, Any]:
        pad = (self.padding, self.padding)
        padded = np.pad(x, ((0, 0), pad, pad, (0, 0)))
        windows = sliding_window_view(
            padded, (3, 3), axis=(1, 2)
        )  # (n, height, width, channels, 3, 3)
        patches = windows.reshape(len(x), -1, len(parameters[0]))
        out = patches @ parameters[0] + parameters[1]
        return out.reshape(*windows.shape[:3], -1), (patches, padded.shape)

    def backward(
        self, parameters: list[Array], kept: Any, slope: Array
    ) -> tuple[Array, list[Array]]:
        patches, shape = kept
        n, height, width, _ = slope.shape
        flat = slope.reshape(n, height * width, -1)
        parts = (flat @ parameters[0].T).reshape(n, height, width, shape[3], 3, 3)
        padded = np.zeros(shape, parts.dtype)
        for i in range(3):
            for j in range(3):  # patches overlap
                padded[:, i : i + height, j : j + width] += parts[..., i, j]
        inner = slice(self.padding, -self.padding or None)
        return padded[:, inner, inner], [patches.transpose(0, 2, 1) @ flat, flat.sum(axis=1)]


class _Norm:
    """Every channel of every image gets mean 0 and spread 1, then a learned scale and shift."""

    def __init__(self, channels: int) -> None:
        self.shapes: tuple[_Shape, ...] = ((channels,), (channels,))

    def start(self, rng: Rng) -> list[Array]:
        return [np.ones(self.shapes[0]), np.zeros(self.shapes[1])]

    def forward(self, parameters: list[Array], x: Array) -> tuple[Array, Any]:
        spread = np.sqrt(x.var(axis=(1, 2), keepdims=True) + 1e-5)
        unit = (x - x.mean(axis=(1, 2), keepdims=True)) / spread
        return unit * parameters[0] + parameters[1], (unit, spread)

    def backward(
        self, parameters: list[Array], kept: Any, slope: Array
    ) -> tuple[Array, list[Array]]:
        unit, spread = kept
        own = [(slope * unit).sum(axis=(1, 2)), slope.sum(axis=(1, 2))]
        slope = slope * parameters[0]
        along = (slope * unit).mean(axis=(1, 2), keepdims=True)
        return (slope - slope.mean(axis=(1, 2), keepdims=True) - unit * along) / spread, own


class _Relu:
    shapes: tuple[_Shape, ...] = ()

    def start(self, rng: Rng) -> list[Array]:
        return []

    def forward(self, parameters: list[Array], x: Array) -> tuple[Array, Any]:
        return np.maximum(x, 0), x > 0

    def backward(
        self, parameters: list[Array], kept: Any, slope: Array
    ) -> tuple[Array, list[Array]]:
        return slope * kept, []


class _Pool(_Relu):
    """Largest entry of every 2 x 2 square; an odd last row or column is dropped."""

    def forward(self, parameters: list[Array], x: Array) -> tuple[Array, Any]:
        n, height, width, channels = x.shape
        squares = x[:, : height // 2 * 2, : width // 2 * 2].reshape(
            n, height // 2, 2, width // 2, 2, channels
        )
        out = squares.max(axis=(2, 4))
        return out, (squares == out[:, :, None, :, None], x.shape)

    def backward(
        self, parameters: list[Array], kept: Any, slope: Array
    ) -> tuple[Array, list[Array]]:
        largest, shape = kept
        part = largest * slope[:, :, None, :, None]
        whole = np.zeros(shape, slope.dtype)
        whole[:, : shape[1] // 2 * 2, : shape[2] // 2 * 2] = part.reshape(
            shape[0], shape[1] // 2 * 2, -1, shape[3]
        )
        return whole, []


class _LSTM:
    """Embedding and one LSTM layer on texts (n, length) of symbols; the number `symbols` pads at
    the end.

    The output is the state after the last symbol. Gates: input, forget, new, output.
    """

    def __init__(self, symbols: int, width: int, hidden: int) -> None:
        self.symbols, self.hidden = symbols, hidden
        self.shapes: tuple[_Shape, ...] = (
            (symbols + 1, width),
            (width, 4 * hidden),
            (hidden, 4 * hidden),
            (4 * hidden,),
        )

    def start(self, rng: Rng) -> list[Array]:
        return [
            rng.standard_normal(self.shapes[0]),
            *(_uniform(rng, shape, self.hidden) for shape in self.shapes[1:]),
        ]

    def forward(self, parameters: list[Array], x: Array) -> tuple[Array, Any]:
        table, into, again, bias = parameters
        n, length = x.shape
        last = np.maximum((x != self.symbols).sum(axis=1) - 1, 0)
        states, cells = np.zeros((2, length + 1, n, self.hidden))
        gates = np.empty((length, n, 4, self.hidden))
        drive = table[x] @ into + bias
        for t in range(length):
            z = (drive[:, t] + states[t] @ again).reshape(n, 4, self.hidden)
            gates[t] = 1 / (1 + np.exp(-z))
            gates[t, :, 2] = np.tanh(z[:, 2])
            cells[t + 1] = gates[t, :, 1] * cells[t] + gates[t, :, 0] * gates[t, :, 2]
            states[t + 1] = gates[t, :, 3] * np.tanh(cells[t + 1])
        return states[last + 1, np.arange(n)], (x, last, states, cells, gates)

    def backward(
        self, parameters: list[Array], kept: Any, slope: Array
    ) -> tuple[None, list[Array]]:
        table, into, again, _ = parameters
        x, last, states, cells, gates = kept
        at_state, at_cell = np.zeros_like(slope), np.zeros_like(slope)
        at_gates = np.empty((*x.shape, 4 * self.hidden))
        for t in reversed(range(x.shape[1])):
            entry, keep, new, out = gates[t].transpose(1, 0, 2)
            at_state = at_state + slope * (last == t)[:, None]
            squashed = np.tanh(cells[t + 1])
            at_cell = at_cell + at_state * out * (1 - squashed**2)
            at_gates[:, t] = np.concatenate(
                (
                    at_cell * new * entry * (1 - entry),
                    at_cell * cells[t] * keep * (1 - keep),
                    at_cell * entry * (1 - new**2),
                    at_state * squashed * out * (1 - out),
                ),
                axis=1,
            )
            at_cell, at_state = at_cell * keep, at_gates[:, t] @ again.T
        shown = np.eye(self.symbols + 1)[x].transpose(0, 2, 1)
        return None, [shown @ (at_gates @ into.T), table[x].transpose(0, 2, 1) @ at_gates,
                      states[:-1].transpose(1, 2, 0) @ at_gates, at_gates.sum(axis=1)]  # fmt: skip


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

    def __init__(self, layers: Sequence[_Layer], rng: Rng, dtype: type = float) -> None:
        checks.generator(rng)
        self.layers, self.dtype = layers, dtype
        self.theta: Array = np.concatenate(
            [p.ravel() for layer in layers for p in layer.start(rng)]
        ).astype(dtype)
        self.d, self.classes = self.theta.size, layers[-1].shapes[1][0]

    def fresh(self, rng: Rng) -> "Net":
        """Return a net of the same layers with newly drawn parameters."""
        return Net(self.layers, rng, self.dtype)

    def _forward(self, x: Array) -> tuple[Array, list[tuple[_Layer, list[Array], Any]]]:
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
        if len(checks.values(y, self.classes, "labels")) != len(x):
            raise ValueError(f"labels must be one for each of the {len(x)} records, got {len(y)}")
        if len(y) > 100:  # what a hundred records need stays in the cache
            return np.concatenate(
                [self.gradients(x[i : i + 100], y[i : i + 100]) for i in range(0, len(y), 100)]
            )
        slope, kept = self._forward(x)
        slope[np.arange(len(y)), y] -= 1
        own: list[Array] = []
        for layer, parameters, memory in reversed(kept):
            slope, found = layer.backward(parameters, memory, slope)
            own[:0] = found
        return np.concatenate([g.reshape(len(y), -1) for g in own], axis=1)


def mlp(sizes: Sequence[int], rng: Rng) -> Net:
    """Return dense layers with ReLU between; `sizes` from inputs to classes."""
    if len(checks.instance("sizes", sizes, (list, tuple), "a list of layer sizes")) < 2:
        raise ValueError(f"sizes must name inputs and classes at least, got {sizes!r}")
    sizes = [checks.integer("sizes", size, 1) for size in sizes]
    layers: list[_Layer] = [
        part for i, o in itertools.pairwise(sizes) for part in (_Dense(i, o), _Relu())
    ]
    return Net(layers[:-1], rng)


def _image(shape: Any) -> tuple[int, int, int]:
    if np.shape(shape) != (3,):
        raise ValueError(f"shape must be (height, width, channels), got {shape!r}")
    height, width, channels = (checks.integer("shape", size, 1) for size in shape)
    return height, width, channels


def cnn(shape: tuple[int, int, int], classes: int, rng: Rng) -> Net:
    """Return a CNN of two convolutions (8 and 16 channels, normalised, ReLU, pooled) on images
    (height, width, channels)."""
    height, width, channels = _image(shape)
    checks.integer("classes", classes, 2)
    flat = 16 * ((height + 2) // 4) * ((width + 2) // 4)
    layers: list[_Layer] = [
        _Conv(channels, 8, 2),
        _Norm(8),
        _Relu(),
        _Pool(),
        _Conv(8, 16, 1),
        _Norm(16),
        _Relu(),
        _Pool(),
    ]
    return Net([*layers, _Dense(flat, classes)], rng, np.float32)


def lstm(symbols: int, classes: int, rng: Rng) -> Net:
    """Return an LSTM of 32 units on an embedding of width 16."""
    checks.integer("symbols", symbols, 1), checks.integer("classes", classes, 2)
    return Net([_LSTM(symbols, 16, 32), _Dense(32, classes)], rng)


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
        Steps, and gradients per step.
    lr : float
        Learning rate, above 0.
    rng : numpy.random.Generator
    mechanism : GradientMechanism, optional
        Randomises every gradient at the client; the server steps along its estimate of the mean.
        Without it the clients send what they have.
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
        step = (
            sent.mean(axis=0)
            if mechanism is None
            else mechanism.estimate(mechanism.perturb(sent, rng))
        )
        if clip is not None:
            length: Any = np.linalg.norm(step)
            step = step * min(1, clip / max(length, 1e-300))
        net.theta -= (lr * step).astype(net.dtype)
    return net
