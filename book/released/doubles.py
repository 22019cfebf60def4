"""Audit clients that send doubles by the last digits of their reports; the page on floating point uses this module."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from clients import lattice

from ldpkit import Client
from ldpkit.mechanisms import AGM, GM, LDPSGD, PM, SHE, PrivUnit, PrivUnitG
from ldpkit.mechanisms.histogram import rounded

GRID, DELTA, D = 2.0**-20, 1e-5, 8


@dataclass(frozen=True)
class Doubles:
    """A client that sends doubles, audited by one number of its report.

    A call ``client(values, rng)`` takes the input of each user, which is the first (0) or the second (1). It returns 0 if that
    number lies in the event, and 1 if not. Therefore the object is a client for `ldpkit.Client` with k = 2. Under the
    first input the number is the unchanged noise. The event is likely under this input only.

    Parameters
    ----------
    name : str
    number : callable
        ``number(which, n, rng)`` returns the number in n reports of the first (0) or the second (1) input.
    epsilon, delta : float
        The claim for the two inputs.
    """

    name: str
    number: Callable[[int, int, np.random.Generator], np.ndarray]
    epsilon: float
    delta: float = 0.0

    def __call__(self, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        out = np.empty(len(values), np.int64)
        for which in (0, 1):
            asked = values == which
            out[asked] = ~lattice(self.number(which, np.count_nonzero(asked), rng))
        return out

    @property
    def client(self) -> Client:
        """Return the client in the form that an audit takes."""
        return Client(self, 2, "value", self.epsilon, self.delta, self.name)


def _noisy(noise, grid, which, n, rng):  # the number 0 or 1 with noise
    return rounded(which + noise(rng, n), grid)


def _histogram(mechanism, which, n, rng):  # the number of value 0 in reports about value 1, or about value 0
    return mechanism.perturb(np.full(n, 1 - which), rng)[:, 0]


def _gradient(mechanism, which, n, rng):  # the first number, where the gradient is zero or has its whole length
    gradients = np.zeros((n, mechanism.d))
    gradients[:, 1 - which] = mechanism.clip
    return mechanism.perturb(gradients, rng)[:, 0]


def _piecewise(mechanism, grid, which, n, rng):  # from an interval that begins at 0, or at 1
    start = (mechanism.bound - 1) / (mechanism.bound + 1)
    return rounded(mechanism.perturb(np.full(n, 1.0 if which else start), rng), grid)


def clients(epsilon: float = 1.0, grid: float | None = None) -> dict[str, Doubles]:
    """Return the clients by name, either unchanged or on a grid; reports of a client without its own grid are rounded to it."""
    sigma = AGM(2, epsilon, DELTA).scale / np.sqrt(2)  # for two numbers 1 apart
    found = [
        Doubles("NumPy, Laplace", partial(_noisy, lambda rng, n: rng.laplace(0, 1 / epsilon, n), grid), epsilon),
        Doubles("NumPy, Gaussian", partial(_noisy, lambda rng, n: rng.normal(0, sigma, n), grid), epsilon, DELTA),
    ]
    histograms = SHE(2, epsilon, grid), GM(2, epsilon, DELTA, grid), AGM(2, epsilon, DELTA, grid)
    found += [Doubles(m.name, partial(_histogram, m), epsilon, m.delta) for m in histograms]
    gradients = (family(D, epsilon, grid=grid) for family in (PrivUnitG, PrivUnit, LDPSGD))
    found += [Doubles(m.name, partial(_gradient, m), epsilon) for m in gradients]
    found.append(Doubles("PM", partial(_piecewise, PM(epsilon), grid), epsilon))
    return {one.name: one for one in found}


def counted(name: str, grid: float | None, which: int, n: int, seed: int) -> int:
    """Return in how many of n reports the number lies in the event, as one cell of the stored run."""
    one, rng, found = clients(grid=grid)[name], np.random.default_rng(seed), 0
    for start in range(0, n, 2**18):
        found += int(np.count_nonzero(lattice(one.number(which, min(2**18, n - start), rng))))
    return found
