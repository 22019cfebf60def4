"""Audits of randomised gradients: the paper's estimate, a nearly unbiased one, and bounds that
hold.

Source: the LDP-SGD paper, Algorithm 2 and Equation 3. Its estimate is a plug-in of two
observed rates: biased upwards, infinite if one error never occurs, no bound.
"""

import functools
import time
from dataclasses import KW_ONLY, MISSING, dataclass
from typing import Self

import numpy as np

from .. import checks, datasets, nets, stats, streams
from ..attacks import gradient as crafts
from ..attacks.gradient import RULES, Pairs
from ..mechanisms import GRADIENT
from ..mechanisms.gradient import GradientMechanism
from ..progress import Progress
from ..types import Array, Rates
from .base import ALPHA, Auditor, Checked, called, given
from .errors import (
    BOUNDS,
    MAX_TRIALS,
    epsilon_from_errors,
    halved,
    judged,
    lower_pooled,
    lower_sides,
    plugin_expectation,
    pooled,
)
from .result import AuditResult

# fmt: off
__all__ = [
    "GradientAudit", "Crafted", "audit_gradient", "ADVERSARIES",
    "epsilon_from_errors", "plugin_expectation", "pooled", "lower_pooled", "lower_sides"
]
# fmt: on

ADVERSARIES = ("dummy", "flip", "label", "benign", "collusion")
"""Who crafts the pairs of `Crafted`; all but the first need a network."""

_DIMENSION = 4810  # parameters of the network of the digits

_CELLS = 2**21  # coordinates held in memory at once when real reports are made


@dataclass(frozen=True)
class Crafted(Checked):
    """An adversary's pairs of gradients, crafted when they are asked for.

    All adversaries but the dummy train a small network on handwritten digits first.

    Parameters
    ----------
    adversary : str
        Who crafts them, one of `ADVERSARIES`.
    dimension : int, optional
        Of the dummy gradient; 4810 by default, the parameters of the network of the digits.
    norm : float
        Of the dummy gradient.
    iterations : int
        Training before, 100 records each; in [0, 10^6].
    flip : str
        Wrong label of the adversary ``label``, one of `ldpkit.attacks.gradient.FLIPS`.
    seed : int
        Of training and pairs, non-negative.

    Raises
    ------
    ValueError
        Naming the parameter that is out of range or does not belong to the adversary.
    """

    adversary: str = given(MISSING, checks.one_of, ADVERSARIES)
    dimension: int | None = None
    norm: float = 1.0
    iterations: int = given(100, checks.integer, 0, 10**6)
    flip: str = given("random", checks.one_of, crafts.FLIPS)
    seed: int = given(1, checks.integer, 0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.adversary == "dummy":
            crafts.dummy(self.d, self.norm)
        elif self.dimension is not None:
            raise ValueError(
                "dimension belongs to the adversary dummy; the network of the digits has"
                f" {_DIMENSION} parameters"
            )

    @property
    def d(self) -> int:
        """Length of a gradient."""
        return _DIMENSION if self.dimension is None else self.dimension

    def pairs(self) -> Pairs:
        """Craft them.

        Raises
        ------
        ModuleNotFoundError
            If the digits are not installed.
        """
        return _craft(self)


@functools.lru_cache(maxsize=2)  # the cells of a grid share it
def _craft(asked: Crafted) -> Pairs:
    if asked.adversary == "dummy":
        return crafts.dummy(asked.d, asked.norm)
    x, y = datasets.digits()
    rng = streams.generator(asked.seed, "audit-gradient", asked.adversary)

    def teach(net: nets.Net, x: Array, y: Array, rounds: int = 20) -> nets.Net:
        return nets.train(net, x, y, rounds=rounds, lr=0.2, rng=rng)

    net = teach(nets.mlp([64, 64, 10], rng), x, y, asked.iterations)
    if asked.adversary == "collusion":
        return crafts.collude(net, x, y, 1000, rng, teach)
    if asked.adversary == "label":
        return crafts.label_flip(net, x, y, 1000, rng, asked.flip)
    return {"benign": crafts.benign, "flip": crafts.gradient_flip}[asked.adversary](
        net, x, y, 1000, rng
    )


@dataclass(frozen=True)
class GradientAudit(Auditor):
    """Tell apart by a rule which of two crafted gradients was randomised.

    Parameters
    ----------
    mechanism : GradientMechanism
    pairs : Pairs or Crafted
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

    mechanism: GradientMechanism = given(
        MISSING, checks.instance, GradientMechanism, "a randomiser of gradients"
    )
    pairs: Pairs | Crafted = given(MISSING, checks.instance, (Pairs, Crafted), "Pairs of gradients")
    attack: str = given("cosine", checks.one_of, RULES)
    _: KW_ONLY
    trials: int = given(500, checks.integer, 1, MAX_TRIALS // 2)
    alpha: float = given(ALPHA, lambda _, alpha: stats.significance(alpha, 0.25))
    faithful: bool = given(False, checks.flag)

    def __post_init__(self) -> None:
        super().__post_init__()
        d = self.pairs.d if isinstance(self.pairs, Crafted) else self.pairs.first.shape[1]
        if d != self.mechanism.d:
            raise ValueError(
                f"gradients must have the mechanism's dimension {self.mechanism.d}, got {d}"
            )
        checks.need(
            self.faithful or self.mechanism.grid is None,
            "faithful must be True for a mechanism with a grid: its laws are those before rounding",
        )

    @classmethod
    def of(
        cls,
        adversary: str,
        epsilon: float,
        mechanism: str = "LDP-SGD",
        rule: str = "cosine",
        dimension: int | None = None,
        norm: float = 1.0,
        clip: float = 1.0,
        iterations: int = 100,
        flip: str = "random",
        start: int = 1,
        trials: int = 1000,
        alpha: float = ALPHA,
        faithful: bool = False,
    ) -> Self:
        """Return the audit of a randomiser given by name with an adversary given by name.

        Parameters
        ----------
        adversary, dimension, norm, iterations, flip
            See `Crafted`.
        epsilon : float
            Budget of one report.
        mechanism : str
            A name of `ldpkit.mechanisms.GRADIENT`.
        rule : str
            The test: the audit's `attack`.
        clip : float
            Clipping norm.
        start : int
            Seed of training and pairs: cells with the same one audit the same gradients.
        trials : int
            In all: even; half with each gradient.
        alpha, faithful
            See `GradientAudit`.
        """
        make = GRADIENT[checks.one_of("mechanism", mechanism, GRADIENT)]
        with called(seed="start"):
            crafted = Crafted(adversary, dimension, norm, iterations, flip, start)
        with called(attack="rule"):
            return cls(
                make(crafted.d, epsilon, clip),
                crafted,
                rule,
                trials=halved(trials, "gradient"),
                alpha=alpha,
                faithful=faithful,
            )

    @functools.cached_property
    def crafted(self) -> Pairs:
        """The pairs, as they are used."""
        return self.pairs if isinstance(self.pairs, Pairs) else self.pairs.pairs()

    @functools.cached_property
    def rates(self) -> Rates:
        """Exact false-positive and false-negative rate."""
        return RULES[self.attack].rates(self.mechanism, self.crafted)

    def run(self, seed: int = 1) -> list[AuditResult]:
        """Count the errors of the rule, and judge them.

        Returns
        -------
        list of one AuditResult
            ``epsilon_emp`` is Equation 3, ``exact`` its expectation (given that it is finite),
            ``limit`` Equation 3 at the exact rates, ``estimates`` the pooled one. ``lower`` is the
            pooled bound for the cosine rule and the two-sided one for the lune rule, whose errors
            differ much.
        """
        mechanism, rule, start = self.mechanism, RULES[self.attack], time.perf_counter()
        own, crafted = mechanism.parameters, self.crafted
        name = "gradient", mechanism.name, own, crafted.name, rule.name, self.faithful
        with Progress(2 * self.trials, "reports", mechanism.name) as progress:
            kept, missed = (
                self._count(side, seed, (*name, side), progress)
                if self.faithful
                else rule.sample(
                    mechanism, self.trials, crafted, side, streams.generator(seed, *name, side)
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
        mechanism, pairs, rule = self.mechanism, self.crafted, RULES[self.attack]
        found, size = 0, max(1, _CELLS // mechanism.d)
        for start in range(0, self.trials, size):
            rng = streams.generator(seed, *name, start)
            at = rng.integers(0, len(pairs.first), min(size, self.trials - start))
            pair = pairs.first[at], pairs.second[at]
            reports = mechanism.perturb(pair[0] if first else pair[1], rng)
            hits = int(np.count_nonzero(rule.accepts(mechanism, reports, pair, rng)))
            progress.add(at.size, *(("fp", at.size - hits) if first else ("fn", hits)))
            found += hits
        return found


def audit_gradient(
    mechanism: GradientMechanism,
    pairs: Pairs | Crafted,
    rule: str = "cosine",
    *,
    trials: int = 1000,
    alpha: float = ALPHA,
    seed: int = 1,
    faithful: bool = False,
) -> AuditResult:
    """Audit a randomised gradient; the door to `GradientAudit`.

    Parameters
    ----------
    mechanism, pairs, alpha, faithful
        See `GradientAudit`.
    rule : {"cosine", "lune"}
        The audit's `attack`.
    trials : int
        In all: even, half with each gradient (the paper: 1000).
    seed : int
    """
    with called(attack="rule"):
        audit = GradientAudit(
            mechanism,
            pairs,
            rule,
            trials=halved(trials, "gradient"),
            alpha=alpha,
            faithful=faithful,
        )
    return audit.run(seed)[0]
