"""RAPPOR: the bits of a Bloom filter with permanent noise, and fresh noise for every report."""

import functools
import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from .. import checks
from ..mechanisms.base import MAX_ROUNDS, Domain, Epsilon, SupportOracle
from ..reports import Bloom
from ..types import Array, ArrayLike, Rng
from .rappor_weeks import BloomWeeks

__all__ = ["RAPPOR"]


@functools.lru_cache(maxsize=256)
def _hit(h: int, m: int, covered: int) -> Array:
    """Joint distribution of two numbers, (h + 1, h + 1), if h independent uniform places are chosen
    out of m: different chosen places among `covered` places, and among the others."""
    hits, (x, z) = np.zeros((h + 1, h + 1)), np.indices((h + 1, h + 1))
    hits[0, 0] = 1
    for _ in range(h):
        again, one, other = (hits * n / m for n in (x + z, covered - x, m - covered - z))
        hits = again
        hits[1:] += one[:-1]
        hits[:, 1:] += other[:, :-1]
    return hits


@dataclass(frozen=True)
class RAPPOR(SupportOracle):
    """RAPPOR with a Bloom filter: a value has several bits, which get permanent noise and then
    fresh noise.

    Parameters
    ----------
    k : int
        Domain size, at least 2.
    epsilon : float
        Privacy budget of the permanent step, in [1e-6, 30], which holds for any number of reports;
        the paper calls it epsilon_infinity.
    m : int
        Number of bits of the Bloom filter, in [2, 2^16].
    h : int
        Number of hash functions of a cohort, in [1, 16].
    cohorts : int
        Number of cohorts, in [1, 2^16].
    keep, flip : float
        Probability that a one, and that a zero, of the permanent step is sent as a one, in [0, 1];
        1 and 0 send the permanent bits unchanged.
    tau : int, optional
        Number of reports of one user over weeks, in [1, 10^6], which are audited together; without
        it, a user sends one report.

    Notes
    -----
    A user belongs to a random cohort, whose `h` public hash functions determine the value's bits.
    The permanent step keeps every bit with probability ``1 - f/2``. Here ``epsilon = 2 h ln((2 - f)
    / f)`` is the loss of two values that share no bit; values that share bits have a smaller loss,
    see `Bloom.loss`. The instantaneous step sends a bit by `keep` and `flip`, which the paper calls
    q and p (Erlingsson et al. 2014). One report alone satisfies `first`, the epsilon_1 of the
    paper.

    Every user has one cohort and, for the value, permanent bits that are sampled once. With `tau`,
    one report of this client is all that a user sends in `tau` weeks about one value, ``bits`` of
    the shape (tau, m). Their loss grows with `tau` towards `epsilon`, see `BloomWeeks.loss`.

    A frequency is estimated from the reports in which all of the value's bits are set. Over weeks a
    bit counts as set if so many ones are likelier from a one of the permanent step. The estimate is
    unbiased over the choice of the functions. The paper fits a regression instead.
    """

    k: Domain
    epsilon: Epsilon
    m: Annotated[int, checks.rule(checks.integer, 2, 2**16)] = 128
    h: Annotated[int, checks.rule(checks.integer, 1, 16)] = 2
    cohorts: Annotated[int, checks.rule(checks.integer, 1, 2**16)] = 64
    keep: Annotated[float, checks.rule(checks.real, 0, 1)] = 1.0
    flip: Annotated[float, checks.rule(checks.real, 0, 1)] = 0.0
    tau: Annotated[int | None, checks.rule(checks.integer, 1, MAX_ROUNDS)] = None
    name = "RAPPOR"
    exact = True

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.need(
            self.k * self.cohorts * self.h <= 2**28,
            f"k times cohorts times h must be at most 2^28, got {self.k} times {self.cohorts} times"
            f" {self.h}",
        )
        checks.need(
            self.keep - self.flip >= 1e-3,
            f"keep must exceed flip = {self.flip:g} by at least 0.001, got {self.keep!r}",
        )
        checks.need(
            (self.tau or 1) * self.m <= 2**24,
            f"tau times m must be at most 2^24, got {self.tau} times {self.m}",
        )

    @property
    def f(self) -> float:
        """Probability that the permanent step replaces a bit by a fair coin."""
        return 2 / (1 + math.exp(self.epsilon / (2 * self.h)))

    @property
    def report_type(self) -> Bloom | BloomWeeks:
        """A cohort and bits, of one report or of all."""
        odds = self.epsilon / (2 * self.h)
        return (
            self.single
            if self.tau is None
            else BloomWeeks(self.single, self.tau, odds, self.keep, self.flip)
        )

    @property
    def single(self) -> Bloom:
        """Report type of one report."""
        clear, kept = self.f / 2, 1 / (1 + math.exp(-self.epsilon / (2 * self.h)))
        own, other = (
            one * self.keep + none * self.flip for one, none in ((kept, clear), (clear, kept))
        )
        return Bloom(self.k, self.m, self.h, self.cohorts, own, other)

    @property
    def first(self) -> float:
        """Largest loss of one report, which is that of two values that share no bit."""
        return float(self.single.strength(self.h, 0))

    @property
    def p(self) -> float:
        """Probability that all bits of the true value are set, under random hash functions."""
        return self._all_set(self.m)

    @property
    def q(self) -> float:
        """Probability that all bits of another value are set, under random hash functions."""
        sizes = _hit(self.h, self.m, self.m)[:, 0]  # distribution of the true value's bits
        return float(sum(n * self._all_set(covered) for covered, n in enumerate(sizes) if n))

    def _all_set(self, covered: int) -> float:
        """Probability that all bits of a value are set, if the true value has `covered` bits."""
        x, z = np.indices((self.h + 1, self.h + 1))
        own, other = self.report_type.own**x, self.report_type.other**z
        return float((_hit(self.h, self.m, covered) * own * other).sum())

    def perturb(self, values: ArrayLike, rng: Rng) -> Array:
        """Return a structured array (n,) with ``cohort`` and ``bits``; see `Mechanism.perturb`."""
        values = self._users(values, rng)
        reports = np.zeros(values.size, self.report_type.form)
        reports["cohort"] = rng.integers(0, self.cohorts, values.size)
        own = np.zeros((values.size, self.m), np.uint8)
        np.put_along_axis(own, self.single.places[reports["cohort"], :, values], 1, 1)
        coins = rng.integers(0, 2, own.shape, np.uint8)
        permanent = np.where(rng.random(own.shape) < self.f, coins, own)
        rates = np.where(permanent, self.keep, self.flip)
        rates = rates if self.tau is None else rates[:, None]  # the same rates every week
        reports["bits"] = rng.random(reports["bits"].shape) < rates
        return reports
