"""Audits of randomised gradients: the paper's estimate, a nearly unbiased one, and bounds that
hold.

Source: the LDP-SGD paper, Algorithm 2 and Equation 3. Its estimate is a plug-in of two
observed rates: biased upwards, infinite if one error never occurs, no bound.
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
"""Whose gradients are audited by name: those that need no network, or those of a file."""

_DUMMY = 4810  # dimension of the dummy gradient: the parameters of a small network
_UNPACKED = 2**27  # bytes that a file of pairs may hold, however small it is
_CELLS = 2**21  # coordinates held in memory at once when real reports are made


def read(path: str) -> Pairs:
    """Return the pairs of gradients of a file of NumPy (``.npz``): two arrays of shape (M, d),
    ``first`` and ``second``.

    Raises
    ------
    ValueError
        If it is no such file, if a small file would unpack to more than 128 MiB, or if its arrays
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
    except Exception as error:  # a damaged file makes NumPy raise whatever it meets
        raise ValueError(
            "pairs must be a file of NumPy (.npz) with the arrays first and second, each of shape"
            f" (pairs, d), got {path}: {error}"
        ) from None
    return Pairs("file", first, second)


_RANDOMISER = checks.rule(checks.instance, GradientMechanism, "a randomiser of gradients")


@dataclass(frozen=True)
class GradientAudit(Auditor):
    """Tell apart by a rule which of two crafted gradients was randomised.

    Parameters
    ----------
    mechanism : GradientMechanism
    pairs : Pairs
        A fresh one is drawn in every trial.
    attack : {"cosine", "lune"}
        The paper's rule, or the strongest event; see `ldpkit.attacks.gradient`.
    trials : int
        Reports of each gradient, at least 1; the paper makes 1000 in all, with a coin for each.
    alpha : float
        Significance, in [1e-100, 1/4]. The dummy audit is tight: about so often its bound exceeds
        the claim by chance.
    faithful : bool
        Make every report in full, in d dimensions, instead of drawing the counts from the exact
        error rates.

    Raises
    ------
    ValueError
        Naming the parameter that is out of range.
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
            "faithful must be True for a mechanism with a grid: its laws are those before rounding",
        )

    @classmethod
    def of(  # type: ignore[override]  # also the words of an adversary
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
            Who crafts the gradients, one of `ADVERSARIES`.
        epsilon : float
            Budget of one report.
        mechanism : str
            A name of `ldpkit.mechanisms.GRADIENT`.
        dimension : int, optional
            Of the dummy gradient; 4810 by default, the parameters of a small network.
        norm : float
            Of the dummy gradient.
        clip : float
            Clipping norm.
        pairs : str, optional
            File of the adversary ``file``; see `read`.
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
        """Exact false-positive and false-negative rate."""
        return RULES[self.attack].rates(self.mechanism, self.pairs)

    def run(self, seed: int = 1) -> list[ErrorsResult]:
        """Count the errors of the rule, and judge them.

        Returns
        -------
        list of one ErrorsResult
            ``epsilon_emp`` is Equation 3, ``exact`` its expectation (given that it is finite),
            ``limit`` Equation 3 at the exact rates, ``estimates`` the pooled one. ``lower`` is the
            pooled bound for the cosine rule and the two-sided one for the lune rule, whose errors
            differ much.
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
        """Answers *first* on real reports of one input."""
        mechanism, pairs, rule = self.mechanism, self.pairs, RULES[self.attack]
        found, size = 0, max(1, _CELLS // mechanism.d)
        for start in range(0, self.trials, size):
            rng = generator(seed, *name, start)
            at = rng.integers(0, len(pairs.first), min(size, self.trials - start))
            pair = pairs.first[at], pairs.second[at]
            reports = mechanism.perturb(pair[0] if first else pair[1], rng)
            hits = int(np.count_nonzero(rule.accepts(mechanism, reports, pair, rng)))
            progress.add(at.size, *(("fp", at.size - hits) if first else ("fn", hits)))
            found += hits
        return found


def audit_gradient(
    mechanism: GradientMechanism,
    pairs: Pairs,
    attack: str = "cosine",
    *,
    seed: int = 1,
    **fields: Word,
) -> ErrorsResult:
    """Audit a randomised gradient: make a `GradientAudit` of these fields, and run it."""
    return GradientAudit(mechanism, pairs, attack, **fields).run(seed)[0]
