"""Attacks on randomised gradients: pairs of gradients, and two rules that tell them apart.

A rule answers *first* or *second*. Its errors are named as in the paper. A false
positive is the answer second although the first gradient was randomised. A false
negative is the answer first although the second one was. Both rates depend only
on the two norms and on the angle between the gradients, see `Pairs.shape`.

Sources: the LDP-SGD paper, Table 2 (adversaries) and Algorithm 2 (cosine rule).
The lune rule is ours. It accepts the reports with the largest likelihood ratio.
"""

import math
import zipfile
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from .. import checks
from ..mechanisms.gradient import GradientMechanism
from ..types import Array, Rates, Rng

__all__ = ["ADVERSARIES", "Pairs", "dummy", "named", "read", "Cosine", "Lune", "RULES"]

ADVERSARIES = ("dummy", "file")
"""Names of the adversaries: ``dummy`` needs no network, and ``file`` reads a file."""

# --- pairs of gradients ---------------------------------------------------------------------------


def _lengths(gradients: Array) -> Array:
    return np.sqrt(np.einsum("ij,ij->i", gradients, gradients, dtype=float))


@dataclass(frozen=True, eq=False)
class Pairs:
    """Crafted pairs of gradients; every trial draws one of the pairs.

    Parameters
    ----------
    name : str
        The adversary that crafted the pairs.
    first, second : float array, shape (M, d)
        Finite gradients. One gradient of a pair may be zero, but not both.

    Raises
    ------
    ValueError
        If the shapes differ, a gradient is not finite, or both gradients of a pair are zero.
    """

    name: str
    first: np.ndarray
    second: np.ndarray

    def __post_init__(self) -> None:
        checks.fix(
            self,
            first=checks.numeric("first", self.first),
            second=checks.numeric("second", self.second),
        )
        shapes = self.first.shape, self.second.shape
        checks.need(
            shapes[0] == shapes[1] and len(shapes[0]) == 2 and 0 not in shapes[0],
            f"first and second must have one shape (pairs, d), got {shapes[0]} and {shapes[1]}",
        )
        checks.need(
            all(np.isfinite(norms).all() for norms in self.norms),
            "gradients must be finite, got NaN or infinite entries",
        )
        checks.need(
            (np.maximum(*self.norms) > 0).all(),
            "gradients must not both be zero: no report can tell them apart",
        )

    @cached_property
    def norms(self) -> tuple[Array, Array]:
        """Lengths of the first and of the second gradients, two arrays (M,)."""
        return _lengths(self.first), _lengths(self.second)

    @cached_property
    def angles(self) -> Array:
        """Angle of each pair in radians, in [0, pi]; pi if one of the two gradients is zero."""
        (a, b), angles = self.norms, np.full(len(self.first), math.pi)
        for i in np.flatnonzero((a > 0) & (b > 0)):  # one by one, so that no array is copied
            u, v = self.first[i] / a[i], self.second[i] / b[i]
            # accurate for small angles too
            angles[i] = 2 * math.atan2(np.linalg.norm(u - v), np.linalg.norm(u + v))
        return angles

    @checks.checked
    def shape(self, clip: checks.Positive) -> tuple[Array, Array, Array]:
        """Return ``min(1, norm / clip)`` of both gradients, and their angle; three arrays (M,)."""
        one, two = (np.minimum(1, norms / clip) for norms in self.norms)
        return one, two, self.angles


@checks.checked
def dummy(d: Annotated[int, checks.rule(checks.integer, 2)], norm: checks.Positive = 1.0) -> Pairs:
    """Return the pair that needs no model: a gradient with equal entries, and its negative.

    Both have length `norm`.
    """
    first = np.full((1, d), norm / math.sqrt(d))
    return Pairs("dummy", first, -first)


def read(path: str) -> Pairs:
    """Read pairs of gradients from a file of NumPy (``.npz``).

    The file holds the arrays ``first`` and ``second``, each of shape (M, d).

    Raises
    ------
    ValueError
        If the file is invalid, if a small file would unpack to more than 128 MiB, or if its arrays
        are no `Pairs`.
    """
    try:
        checks.need(Path(path).is_file(), "no regular file is there")
        with zipfile.ZipFile(path) as archive:
            size = sum(part.file_size for part in archive.infolist())
        small = size <= max(2**27, 4 * Path(path).stat().st_size)
        checks.need(small, f"it unpacks to {size:,} bytes")
        with np.load(path, allow_pickle=False) as file:
            first, second = file["first"], file["second"]
    except Exception as error:  # because a damaged file can make NumPy raise any exception
        raise ValueError(
            "pairs must be a file of NumPy (.npz) with the arrays first and second, each of shape"
            f" (pairs, d), got {path}: {error}"
        ) from None
    return Pairs("file", first, second)


def named(
    adversary: str, dimension: int | None = None, norm: float = 1.0, pairs: str | None = None
) -> Pairs:
    """Return the pairs of an adversary, one of `ADVERSARIES`, from the options of an audit."""
    own = checks.one_of("adversary", adversary, ADVERSARIES) == "dummy"
    checks.need(
        own == (pairs is None),
        f"pairs must be given with the adversary file, and only then, got {pairs!r}",
    )
    for name, value, default in (("dimension", dimension, None), ("norm", norm, 1.0)):
        checks.need(
            own or value == default, f"{name} belongs to the adversary dummy, got {value!r}"
        )
    # by default as many entries as the parameters of a small network
    return dummy(4810 if dimension is None else dimension, norm) if pairs is None else read(pairs)


# --- rules ----------------------------------------------------------------------------------------


Randomiser = Annotated[
    GradientMechanism, checks.rule(checks.instance, GradientMechanism, "a gradient mechanism")
]


class _Rule(ABC):
    """Base class of the rules, which use the components of a report along both gradients."""

    name: str
    bound: str

    @abstractmethod
    def _first(self, mechanism: GradientMechanism, one: Array, two: Array, rng: Rng) -> Array:
        """Return whether the answer is *first*, from the components along both gradients."""

    @abstractmethod
    def _rates(
        self, mechanism: GradientMechanism, one: Array, two: Array, angle: Array
    ) -> tuple[Array, Array]:
        """Return the rates of false positives and negatives of pairs of this `Pairs.shape`."""

    @checks.checked
    def accepts(
        self,
        mechanism: Randomiser,
        reports: Array,
        pair: Annotated[
            Any, checks.rule(checks.instance, (tuple, list), "two arrays of gradients")
        ],
        rng: checks.Generator,
    ) -> Array:
        """Return whether the rule answers *first* on real reports; bool array (n,).

        Parameters
        ----------
        mechanism : GradientMechanism
        reports : float array, shape (n, d)
        pair : (array, array)
            First and second gradient of every trial, each of shape (n, d).
        rng : numpy.random.Generator
            Breaks ties, which occur for parallel gradients only.

        Raises
        ------
        ValueError
            If a shape is wrong or a report or gradient is not finite.
        """
        reports = mechanism.rows("reports", reports)
        gradients = [mechanism.rows("pair", g) for g in pair]
        checks.need(
            [len(g) for g in gradients] == [len(reports)] * 2,
            f"pair must hold two gradients for each of {len(reports)} reports, got"
            f" {[len(g) for g in gradients]}",
        )
        norms = [_lengths(g) for g in gradients]
        one, two = (
            np.einsum("ij,ij->i", reports, g, dtype=float) / np.maximum(r, 1e-300)
            for g, r in zip(gradients, norms)
        )
        if not (good := np.isfinite(one + two)).all():
            raise ValueError(
                f"reports and pair must be finite, got a product of {(one + two)[~good][0]}"
            )
        # a zero gradient counts as opposite to the other one, as in the paper's comparison
        return self._first(
            mechanism, np.where(norms[0] > 0, one, -two), np.where(norms[1] > 0, two, -one), rng
        )

    @checks.checked
    def sample(
        self,
        mechanism: GradientMechanism,
        trials: Annotated[int, checks.rule(checks.integer, 0)],
        pairs: Pairs,
        first: bool,
        rng: checks.Generator,
    ) -> int:
        """Sample the number of answers *first* in `trials` trials from its exact distribution.

        All trials use the first gradients if `first` is set, and otherwise the second ones.
        """
        positive, negative = self.rates(mechanism, pairs)
        return int(rng.binomial(trials, 1 - positive if first else negative))

    @checks.checked
    def rates(self, mechanism: Randomiser, pairs: Pairs) -> Rates:
        """Return the exact false-positive and false-negative rate over the pairs."""
        one, two, angle = pairs.shape(mechanism.clip)
        positive, negative = self._rates(mechanism, one, two, angle)
        return float(np.mean(positive)), float(np.mean(negative))


class Cosine(_Rule):
    """Answer the gradient with the larger cosine similarity to the report (Algorithm 2)."""

    name, bound = "cosine", "pooled"

    def _first(self, mechanism: GradientMechanism, one: Array, two: Array, rng: Rng) -> Array:
        return (one > two) | ((one == two) & (rng.random(len(one)) < 0.5))

    def _rates(
        self, mechanism: GradientMechanism, one: Array, two: Array, angle: Array
    ) -> tuple[Array, Array]:
        inside, outside = mechanism.levels
        # the rule errs beyond the bisector of the gradients, where it meets overlap / 2 of the cap
        error = (outside + (inside - outside) * mechanism.overlap(angle)) / 2
        return 0.5 - one * (0.5 - error), 0.5 - two * (0.5 - error)


class Lune(_Rule):
    """Answer *second* if the report is in the cap of the second gradient and not of the first.

    For gradients as long as the clipping norm, the likelihood ratio of such reports is
    ``e^epsilon`` at any angle.
    """

    name, bound = "lune", "sides"

    def _first(self, mechanism: GradientMechanism, one: Array, two: Array, rng: Rng) -> Array:
        return (two < mechanism.gamma) | (one >= mechanism.gamma)

    def _rates(
        self, mechanism: GradientMechanism, one: Array, two: Array, angle: Array
    ) -> tuple[Array, Array]:
        inside, outside = mechanism.levels
        lune = np.maximum(mechanism.q - mechanism.overlap(angle), 0)
        opposite = mechanism.overlap(math.pi - angle)
        positive = np.where(
            one == 0, lune, outside * lune + (1 - one) / 2 * (inside - outside) * opposite
        )
        return positive, 1 - lune * np.where(
            two == 0, 1, (1 + two) / 2 * inside + (1 - two) / 2 * outside
        )


RULES = {rule.name: rule for rule in (Cosine(), Lune())}
"""The rules by name."""
