"""Craft the pairs of gradients of those adversaries of the LDP-SGD paper (Table 2) that need a network."""

from collections.abc import Callable

import numpy as np

from ldpkit import checks
from ldpkit.attacks.gradient import Pairs
from ldpkit.types import Array, Rng

from .nets import Net

__all__ = ["benign", "label_flip", "gradient_flip", "collude", "FLIPS"]

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
