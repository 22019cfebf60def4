"""Hadamard response and Hadamard mechanism: each value has a row of a Hadamard matrix; its signs
decide which indices are likely, or the client sends some of the signs."""

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from .. import checks
from ..jit import kernel
from ..mechanisms.base import Epsilon, SupportOracle
from ..mechanisms.grr import GRR, respond
from ..reports import Index, Signs
from ..reports.hadamard import plus, words
from ..types import Array, ArrayLike, Rng

__all__ = ["HM", "HR"]

MAX_ORDER = 2**20
"""Largest order of the matrix, because distributions are listed index by index."""


@kernel
def _indices(values: Array, order: int, keep: float, rng: Rng) -> Array:
    """Sample one index per user: uniform in the value's half with probability `keep`, otherwise
    uniform in the other half; int array (n,)."""
    out = np.empty(values.size, np.int64)
    for i in range(values.size):
        row, index = values[i] + 1, int(rng.random() * order)
        if plus(row, index) != (rng.random() < keep):
            index ^= row & -row  # flipping the row's lowest one maps each half onto the other
        out[i] = index
    return out


@dataclass(frozen=True)
class HR(SupportOracle):
    """Hadamard response: one index, which is likely if the value's row of a public matrix has a
    plus there.

    Parameters
    ----------
    k : int
        Domain size, in [2, 2^20 - 1].
    epsilon : float
        Privacy budget, in [1e-6, 30].

    Notes
    -----
    The matrix has order ``K = 2^ceil(log2(k + 1))``. Value x has row ``x + 1``, with a plus at the
    indices y that share an even number of binary ones with ``x + 1``. A report lies in this half
    with ``p = e^eps / (1 + e^eps)`` and is uniform in either half (Acharya, Sun and Zhang 2019, for
    one block). Therefore any other value is supported with ``q = 1/2``. The event "a plus for the
    first value and not for the second" attains the ratio ``e^eps``.
    """

    k: Annotated[int, checks.rule(checks.integer, 2, MAX_ORDER - 1)]
    epsilon: Epsilon
    name = "HR"
    exact = True

    @property
    def order(self) -> int:
        """Order of the matrix."""
        return 2 ** math.ceil(math.log2(self.k + 1))

    @property
    def p(self) -> float:
        """Probability of an index in the true value's half."""
        return 1 / (1 + math.exp(-self.epsilon))

    @property
    def q(self) -> float:
        """Probability of an index in the half of one given other value."""
        return 0.5

    @property
    def report_type(self) -> Index:
        """One index."""
        return Index(self.k, self.order, self.p)

    def perturb(self, values: ArrayLike, rng: Rng) -> Array:
        """Return indices, int array (n,); see `Mechanism.perturb`."""
        return _indices(self._users(values, rng), self.order, self.p, rng)


@dataclass(frozen=True)
class HM(SupportOracle):
    """Hadamard mechanism: a few random indices, and jointly perturbed signs of the value's row.

    Parameters
    ----------
    k : int
        Domain size, in [2, 2^20].
    epsilon : float
        Privacy budget, in [1e-6, 30].
    t : int
        Number of indices, in [1, 16].

    Notes
    -----
    Value x has row x of the matrix of order ``2^ceil(log2(k))``. The indices are independent and
    public. Of the ``2^t`` vectors of signs the true one is sent with probability ``p = e^eps /
    (e^eps + 2^t - 1)``, as in `GRR`. This is local hashing with ``g = 2^t`` cells, in which two
    values share a cell with probability exactly ``1/g`` (Cormode, Maddock and Maple 2021). The
    event "signs of the first value and not of the second" attains the ratio ``e^eps``.
    """

    k: Annotated[int, checks.rule(checks.integer, 2, MAX_ORDER)]
    epsilon: Epsilon
    t: Annotated[int, checks.rule(checks.integer, 1, 16)] = 1
    name = "HM"
    exact = True

    @property
    def order(self) -> int:
        """Order of the matrix."""
        return 2 ** math.ceil(math.log2(self.k))

    @property
    def p(self) -> float:
        """Probability of the true value's signs."""
        return GRR(2**self.t, self.epsilon).p

    @property
    def q(self) -> float:
        """Probability of the signs of one given other value."""
        return 0.5**self.t

    @property
    def report_type(self) -> Signs:
        """Indices and signs."""
        return Signs(self.k, self.order, self.t, self.p)

    def perturb(self, values: ArrayLike, rng: Rng) -> Array:
        """Return a structured array (n,) with ``indices`` and ``signs``; see
        `Mechanism.perturb`."""
        values = self._users(values, rng)
        reports = np.empty(values.size, self.report_type.form)
        reports["indices"] = rng.integers(0, self.order, (values.size, self.t))
        reports["signs"] = answers(values, reports["indices"], self.p, rng)
        return reports


def answers(rows: Array, indices: Array, p: float, rng: Rng) -> Array:
    """Return the signs of each user's row at the indices with probability `p`, otherwise uniform
    other signs; int array (n,)."""
    truth = words(rows[:, None], indices)[:, 0]
    return respond(truth, 2 ** indices.shape[1], p, rng)
