"""Define the networks that replace those of the LDP-SGD paper, and that `ldpbook.neural_networks` lacks: a small CNN and a small LSTM.

The paper's section 5 uses a simple CNN and an LSTM. The sizes here are ours, small enough for training while a page is executed.
"""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from ldpbook.neural_networks import Dense, Layer, Net, Relu, uniform


class Conv(Dense):
    """A 3 x 3 convolution of images (n, height, width, channels), computed as a dense layer on all patches."""

    def __init__(self, inputs, outputs, padding):
        super().__init__(9 * inputs, outputs)
        self.padding = padding

    def forward(self, parameters, x):
        pad = (self.padding, self.padding)
        padded = np.pad(x, ((0, 0), pad, pad, (0, 0)))
        windows = sliding_window_view(padded, (3, 3), axis=(1, 2))  # (n, height, width, channels, 3, 3)
        patches = windows.reshape(len(x), -1, len(parameters[0]))
        out = patches @ parameters[0] + parameters[1]
        return out.reshape(*windows.shape[:3], -1), (patches, padded.shape)

    def backward(self, parameters, kept, slope):
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


class Norm(Layer):
    """A layer that gives every channel of every image mean 0 and spread 1, and then a learned scale and shift."""

    def __init__(self, channels):
        self.shapes = ((channels,), (channels,))

    def start(self, rng):
        return [np.ones(self.shapes[0]), np.zeros(self.shapes[1])]

    def forward(self, parameters, x):
        spread = np.sqrt(x.var(axis=(1, 2), keepdims=True) + 1e-5)
        unit = (x - x.mean(axis=(1, 2), keepdims=True)) / spread
        return unit * parameters[0] + parameters[1], (unit, spread)

    def backward(self, parameters, kept, slope):
        unit, spread = kept
        own = [(slope * unit).sum(axis=(1, 2)), slope.sum(axis=(1, 2))]
        slope = slope * parameters[0]
        along = (slope * unit).mean(axis=(1, 2), keepdims=True)
        return (slope - slope.mean(axis=(1, 2), keepdims=True) - unit * along) / spread, own


class Pool(Relu):
    """A layer that returns the largest entry of every 2 x 2 square; an odd last row or column is dropped."""

    def forward(self, parameters, x):
        n, height, width, channels = x.shape
        squares = x[:, : height // 2 * 2, : width // 2 * 2].reshape(n, height // 2, 2, width // 2, 2, channels)
        out = squares.max(axis=(2, 4))
        return out, (squares == out[:, :, None, :, None], x.shape)

    def backward(self, parameters, kept, slope):
        largest, shape = kept
        part = largest * slope[:, :, None, :, None]
        whole = np.zeros(shape, slope.dtype)
        whole[:, : shape[1] // 2 * 2, : shape[2] // 2 * 2] = part.reshape(shape[0], shape[1] // 2 * 2, -1, shape[3])
        return whole, []


class LSTM(Layer):
    """An embedding and one LSTM layer on texts (n, length) of symbols, where the number `symbols` pads the end.

    The output is the state after the last symbol. The gates are input, forget, new and output, in this order.
    """

    def __init__(self, symbols, width, hidden):
        self.symbols, self.hidden = symbols, hidden
        self.shapes = ((symbols + 1, width), (width, 4 * hidden), (hidden, 4 * hidden), (4 * hidden,))

    def start(self, rng):
        return [rng.standard_normal(self.shapes[0]), *(uniform(rng, shape, self.hidden) for shape in self.shapes[1:])]

    def forward(self, parameters, x):
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

    def backward(self, parameters, kept, slope):
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


def cnn(shape, classes, rng):
    """Return a CNN of two convolutions (8 and 16 channels, normalised, ReLU, pooled) on images (height, width, channels)."""
    height, width, channels = shape
    flat = 16 * ((height + 2) // 4) * ((width + 2) // 4)
    layers = [Conv(channels, 8, 2), Norm(8), Relu(), Pool(), Conv(8, 16, 1), Norm(16), Relu(), Pool()]
    return Net([*layers, Dense(flat, classes)], rng, np.float32)


def lstm(symbols, classes, rng):
    """Return an LSTM of 32 units on an embedding of width 16."""
    return Net([LSTM(symbols, 16, 32), Dense(32, classes)], rng)
