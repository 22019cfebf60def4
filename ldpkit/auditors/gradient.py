"""Audits of randomised gradients.

Source: the LDP-SGD paper, Algorithm 2 and Equation 3. `ldpkit.auditors.errors` has the paper's
estimate, a nearly unbiased estimate, and valid bounds.
"""

import functools
import time
import zipfile
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Annotated, Self

import numpy as np

from .. import checks, stats
from ..attacks import gradient as crafts
from ..attacks.gradient import RULES, Pairs
from ..mechanisms import GRADIENT
from ..mechanisms.gradient import GradientMechanism
from ..progress import Progress
from ..rng import generator
from ..types import Rates, Word
from .base import ALPHA, Auditor
from .errors import (
    BOUNDS,
    MAX_TRIALS,
    ErrorsResult,
    epsilon_from_errors,
    judged,
    lower_pooled,
    lower_sides,
    plugin_expectation,
    pooled,
)

# fmt: off
__all__ = [
    "GradientAudit", "audit_gradient", "read", "ADVERSARIES",
    "epsilon_from_errors", "plugin_expectation", "pooled", "lower_pooled", "lower_sides"
]
# fmt: on

ADVERSARIES = ("dummy", "file")
"""Names of the adversaries: ``dummy`` needs no network, and ``file`` reads a file."""

_DUMMY = 4810  # dimension of the dummy gradient, as many as the parameters of a small network
_UNPACKED = 2**27  # bytes to which even a small file of pairs may unpack
_CELLS = 2**21  # coordinates held in memory at once when real reports are made


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
        most = max(_UNPACKED, 4 * Path(path).stat().st_size)
        checks.need(size <= most, f"it unpacks to {size:,} bytes")
        with np.load(path, allow_pickle=False) as file:
            first, second = file["first"], file["second"]
    except Exception as error:  # because a damaged file can make NumPy raise any exception
        raise ValueError(
            "pairs must be a file of NumPy (.npz) with the arrays first and second, each of shape"
            f" (pairs, d), got {path}: {error}"
        ) from None
    return Pairs("file", first, second)


_RANDOMISER = checks.rule(checks.instance, GradientMechanism, "a randomiser of gradients")


@dataclass(frozen=True)
class GradientAudit(Auditor):
    """Tell two crafted gradients apart by a rule that reads the randomised gradient.

    Parameters
    ----------
    mechanism : GradientMechanism
        The audited randomiser.
    pairs : Pairs
        Crafted pairs of gradients, one of which is drawn at random in every trial.
    attack : {"cosine", "lune"}
        The paper's rule, or the likelihood-ratio event, see `ldpkit.attacks.gradient`.
    trials : int
        Reports of each gradient, at least 1 (the paper makes 1000 of both together, with a coin for
        each).
    alpha : float
        Significance, in [1e-100, 1/4]. The dummy audit is tight, so that its bound exceeds a true
        claim with about this probability.
    faithful : bool
        Make every report in full, in d dimensions, instead of sampling the counts at the exact
        error rates.

    Raises
    ------
    ValueError
        If a parameter is out of range. The message names it.
    """

    mechanism: Annotated[GradientMechanism, _RANDOMISER]
    pairs: Annotated[Pairs, checks.rule(checks.instance, Pairs, "Pairs of gradients")]
    attack: Annotated[str, checks.rule(checks.one_of, RULES)] = "cosine"
    _: KW_ONLY
    trials: Annotated[int, checks.rule(checks.integer, 1, MAX_TRIALS // 2)] = 500
    alpha: Annotated[float, lambda _, alpha: stats.significance(alpha, 0.25)] = ALPHA
    faithful: Annotated[bool, checks.flag] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        d = self.pairs.first.shape[1]
        checks.need(
            d == self.mechanism.d,
            f"gradients must have the mechanism's dimension {self.mechanism.d}, got {d}",
        )
        checks.need(
            self.faithful or self.mechanism.grid is None,
            "faithful must be True for a mechanism with a grid: its exact rates are those before"
            " rounding",
        )

    @classmethod
    def of(  # type: ignore[override]  # it also takes the parameters of an adversary
        cls,
        adversary: str,
        epsilon: float,
        mechanism: str = "LDP-SGD",
        attack: str = "cosine",
        dimension: int | None = None,
        norm: float = 1.0,
        clip: float = 1.0,
        pairs: str | None = None,
        trials: int = 500,
        alpha: float = ALPHA,
        faithful: bool = False,
    ) -> Self:
        """Return the audit of a randomiser given by name with an adversary given by name.

        Parameters
        ----------
        adversary : str
            Adversary who crafts the gradients, one of `ADVERSARIES`.
        epsilon : float
            Budget of one report.
        mechanism : str
            A name of `ldpkit.mechanisms.GRADIENT`.
        dimension : int, optional
            Dimension of the dummy gradient (by default 4810, the parameters of a small network).
        norm : float
            Norm of the dummy gradient.
        clip : float
            Clipping norm.
        pairs : str, optional
            File of the adversary ``file`` (.npz with the arrays first and second). See `read`.
        attack, trials, alpha, faithful
            See `GradientAudit`.
        """
        make = GRADIENT[checks.one_of("mechanism", mechanism, GRADIENT)]
        own = checks.one_of("adversary", adversary, ADVERSARIES) == "dummy"
        checks.need(
            own == (pairs is None),
            f"pairs must be given with the adversary file, and only then, got {pairs!r}",
        )
        for name, value, default in (("dimension", dimension, None), ("norm", norm, 1.0)):
            checks.need(
                own or value == default, f"{name} belongs to the adversary dummy, got {value!r}"
            )
        crafted = (
            read(pairs)
            if pairs is not None
            else crafts.dummy(_DUMMY if dimension is None else dimension, norm)
        )
        target = make(crafted.first.shape[1], epsilon, clip)
        return cls(target, crafted, attack, trials=trials, alpha=alpha, faithful=faithful)

    @functools.cached_property
    def rates(self) -> Rates:
        """Exact false-positive and false-negative rate of the rule."""
        return RULES[self.attack].rates(self.mechanism, self.pairs)

    def run(self, seed: int = 1) -> list[ErrorsResult]:
        """Count the errors of the rule, and bound epsilon by them.

        Parameters
        ----------
        seed : int
            Seed of all random numbers, non-negative.

        Returns
        -------
        list of one ErrorsResult
            ``epsilon_emp`` is Equation 3, ``exact`` is its expectation given that it is finite, and
            ``limit`` is Equation 3 at the exact rates. ``estimates`` has the `pooled` estimate.
            ``lower`` is `lower_pooled` for the cosine rule. It is `lower_sides` for the lune rule,
            because the two error rates of this rule differ much.
        """
        mechanism, rule, start = self.mechanism, RULES[self.attack], time.perf_counter()
        own, crafted = mechanism.parameters, self.pairs
        name = "gradient", mechanism.name, own, crafted.name, rule.name, self.faithful
        with Progress(2 * self.trials, "reports", mechanism.name) as progress:
            kept, missed = (
                self._count(side, seed, (*name, side), progress)
                if self.faithful
                else rule.sample(
                    mechanism, self.trials, crafted, side, generator(seed, *name, side)
                )
                for side in (True, False)
            )
        return [
            judged(
                self,
                seed,
                self.trials - kept,
                missed,
                self.rates,
                BOUNDS[rule.bound],
                seconds=time.perf_counter() - start,
                mechanism=mechanism.name,
                parameters=own | {"adversary": crafted.name},
                claim=mechanism.epsilon,
            )
        ]

    def _count(self, first: bool, seed: int, name: tuple[object, ...], progress: Progress) -> int:
        """Return how often the rule answers *first* on real reports of one input."""
        mechanism, pairs, rule = self.mechanism, self.pairs, RULES[self.attack]
        answers, size = 0, max(1, _CELLS // mechanism.d)
        for start in range(0, self.trials, size):
            rng = generator(seed, *name, start)
            at = rng.integers(0, len(pairs.first), min(size, self.trials - start))
            pair = pairs.first[at], pairs.second[at]
            reports = mechanism.perturb(pair[0] if first else pair[1], rng)
            hits = int(np.count_nonzero(rule.accepts(mechanism, reports, pair, rng)))
            progress.add(at.size, *(("fp", at.size - hits) if first else ("fn", hits)))
            answers += hits
        return answers


def audit_gradient(
    mechanism: GradientMechanism,
    pairs: Pairs,
    attack: str = "cosine",
    *,
    seed: int = 1,
    **fields: Word,
) -> ErrorsResult:
    """Audit a randomised gradient.

    Parameters are the fields of `GradientAudit`, and the `seed` of its `run`.
    """
    return GradientAudit(mechanism, pairs, attack, **fields).run(seed)[0]
