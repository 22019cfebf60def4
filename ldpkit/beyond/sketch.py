"""Protocols of a few signs: Hadamard response, the Hadamard mechanism, and count mean sketches.

Each value has a row of a public matrix. It is the row's signs that decide which reports are likely,
or the client sends some of the signs. In a sketch the row belongs to a cell, to which a public hash
function maps the value.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, cast

import numpy as np

from .. import checks
from ..jit import kernel
from ..mechanisms.base import Domain, Epsilon, SupportOracle
from ..mechanisms.grr import respond, response_rates
from ..reports.base import structured
from ..types import Array, ArrayLike, Rng
from .hadamard import Index, Signs, Sketch, plus, words

__all__ = ["HM", "HR", "CMS", "HCMS", "CountMeanSketch"]

MAX_ORDER = 2**20
"""Largest order of the matrix, because distributions are listed index by index."""


@kernel
def _indices(values: Array, order: int, keep: float, uniforms: Array) -> Array:
    """Turn two uniform numbers per user, (n, 2), into an index: uniform in the value's half with
    probability `keep`, otherwise uniform in the other half; int array (n,)."""
    out = np.empty(values.size, np.int64)
    for i in range(values.size):
        row, index = values[i] + 1, int(uniforms[i, 0] * order)
        if plus(row, index) != (uniforms[i, 1] < keep):
            index ^= row & -row  # flipping the row's lowest one maps each half onto the other
        out[i] = index
    return out


@dataclass(frozen=True)
class HR(SupportOracle, exact=True):
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

    @property
    def order(self) -> int:
        """Order of the matrix."""
        return 2 ** math.ceil(math.log2(self.k + 1))

    @cached_property
    def report_type(self) -> Index:
        """One index."""
        return Index(self.k, self.order, *response_rates(2, self.epsilon))

    def perturb(self, values: ArrayLike, rng: Rng) -> Array:
        """Return indices, int array (n,); see `Mechanism.perturb`."""
        values = self._users(values, rng)
        return _indices(values, self.order, self.p, rng.random((values.size, 2)))


class SignOracle(SupportOracle):
    """Base of the protocols whose reports are `Signs`."""

    def perturb(self, values: ArrayLike, rng: Rng) -> Array:
        """Return a structured array (n,) with ``indices`` and ``signs``, and with ``hash`` if there
        are hash functions; see `Mechanism.perturb`."""
        values, form = self._users(values, rng), cast(Signs, self.report_type)
        chosen = {"hash": rng.integers(0, form.hashes, values.size)} if form.hashes else {}
        rows = form.table[chosen.get("hash", 0), values]
        indices = rng.integers(0, form.order, (values.size, form.t))
        signs = respond(words(rows[:, None], indices)[:, 0], 2**form.t, form.p, rng)
        return structured(form.form, **chosen, indices=indices, signs=signs)


@dataclass(frozen=True)
class HM(SignOracle, exact=True):
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

    @property
    def order(self) -> int:
        """Order of the matrix."""
        return 2 ** math.ceil(math.log2(self.k))

    @cached_property
    def report_type(self) -> Signs:
        """Indices and signs."""
        return Signs(self.k, self.order, self.t, *response_rates(2**self.t, self.epsilon))


# --- count mean sketches


@dataclass(frozen=True)
class CountMeanSketch(SupportOracle):
    """Base of the protocols with public hash functions, whose parameters are those of `CMS`."""

    k: Domain
    epsilon: Epsilon
    m: Annotated[int, checks.rule(checks.integer, 2, 2**16)] = 64
    hashes: Annotated[int, checks.rule(checks.integer, 1, 2**16)] = 256

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.need(
            self.k * self.hashes <= 2**28,
            f"k times hashes must be at most 2^28, got {self.k} times {self.hashes}",
        )


@dataclass(frozen=True)
class CMS(CountMeanSketch, exact=True):
    """Count mean sketch: a public hash function, and a one-hot row of independently flipped signs.

    Parameters
    ----------
    k : int
        Domain size, at least 2.
    epsilon : float
        Privacy budget, in [1e-6, 30].
    m : int
        Number of cells of a hash function, in [2, 2^16].
    hashes : int
        Number of hash functions, in [1, 2^16].

    Notes
    -----
    A user samples a hash function, and sets the sign of the value's cell to plus and all other
    signs to minus. Every sign is sent unchanged with probability ``s = 1 / (1 + e^(-eps/2))``
    (Apple's differential privacy team 2017). The event "plus in the first value's cell and minus in
    the second's" attains the ratio ``e^eps``, if the two cells differ. The functions are public and
    fixed. Exact distributions are for these functions, including their collisions. Estimates are
    unbiased over the choice of the functions. Apple uses 65,536 functions of 1,024 cells.
    """

    @cached_property
    def report_type(self) -> Sketch:
        """A hash function and signs."""
        return Sketch(self.k, self.hashes, self.m, *response_rates(2, self.epsilon / 2))

    def perturb(self, values: ArrayLike, rng: Rng) -> Array:
        """Return a structured array (n,) with ``hash`` and ``signs``; see `Mechanism.perturb`."""
        values, report_type = self._users(values, rng), self.report_type
        chosen = rng.integers(0, self.hashes, values.size)
        cells = report_type.table[chosen, values, None]
        signs = np.where(np.arange(self.m) == cells, 1, -1)
        sent = np.where(rng.random(signs.shape) < self.p, signs, -signs)
        return structured(report_type.form, hash=chosen, signs=sent)


@dataclass(frozen=True)
class HCMS(CountMeanSketch, SignOracle, exact=True):
    """Hadamard count mean sketch: a public hash function, and one sign of the transformed one-hot
    row.

    Parameters
    ----------
    k : int
        Domain size, at least 2.
    epsilon : float
        Privacy budget, in [1e-6, 30].
    m : int
        Number of cells of a hash function, a power of two in [2, 2^16].
    hashes : int
        Number of hash functions, in [1, 2^16].

    Notes
    -----
    A user samples a hash function and an index. The value's cell is the number of a row of a
    Hadamard matrix; the row's sign at the index is sent unchanged with probability ``s = 1 / (1 +
    e^-eps)``. A report is one bit instead of the m bits of `CMS`, with twice the budget per bit
    (Apple's differential privacy team 2017). The event "the sign of the first value and not of the
    second" attains the ratio ``e^eps``, if the two cells differ. The functions are public and
    fixed, as in `CMS`.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.need(self.m.bit_count() == 1, f"m must be a power of two, got {self.m}")

    @cached_property
    def report_type(self) -> Signs:
        """A hash function, an index and a sign."""
        return Signs(self.k, self.m, 1, *response_rates(2, self.epsilon), self.hashes)
