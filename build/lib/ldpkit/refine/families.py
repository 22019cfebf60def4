"""Families of protocols: select their parameter by attacks and error, on Pareto fronts.

Three objectives are minimised. They are the attacker's success rate (ASR), the
variance of an estimated frequency per user (MSE) and the expected poisoning gain
(EPG). The paper has the first two. The weights depend on the scale. Here the variance of one
user weighs as much as a probability. The variance of an estimate from thousands
of users is much smaller, so that the same weights would neglect the error.

Source: Arcolezi and Gambs, "Revisiting Locally Differentially Private
Protocols: Towards Better Trade-offs in Privacy, Utility, and Attack Resistance".
"""

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np

from .. import checks
from ..attacks import MaximalGain
from ..attacks.base import success_rate
from ..guess_success import support_success
from ..mechanisms import (
    ALH,
    ASS,
    ATHE,
    AUE,
    BLH,
    OLH,
    OUE,
    SHE,
    SS,
    SUE,
    THE,
    FrequencyOracle,
    make,
)
from ..mechanisms.base import Domain, Epsilon, oracle, support_variance
from ..mechanisms.grr import inclusion_rates, response_rates
from ..mechanisms.hashing import LocalHashing
from ..mechanisms.unary import other_rate, threshold_rates
from ..types import Array, ArrayLike, Numbers, Word
from .pareto import ratios, select

if TYPE_CHECKING:
    import pandas as pd

# fmt: off
__all__ = [
    "Family", "FAMILIES", "Front", "front", "refine", "build", "success", "scores", "table"
]
# fmt: on

Rate = Annotated[str, checks.rule(checks.one_of, ("exact", "published"))]
"""Success rates of local hashing: exact, or with the mean number of colliding values in place of
their distribution."""

_MAX_GRID = 2**21


def _every(name: str, low: int, high: int) -> Array:
    """Return all integers of a grid, after checking that there are not too many."""
    checks.need(
        high <= _MAX_GRID,
        f"the grid of {name} must end at {_MAX_GRID} or before, got {high}: "
        "k or epsilon must be smaller, or give a grid",
    )
    return np.arange(low, high + 1)


def _subset_sizes(k: int, epsilon: float) -> Array:
    checks.need(
        k >= 3, f"k must be at least 3 for family ss (the paper's grid ends at k - 2), got {k}"
    )
    return _every("omega", 1, k - 2)


def _log_odds(k: int, epsilon: float) -> Array:
    """Return rates from 1/2 upwards, evenly spaced in log-odds.

    Large budgets need ``1 - p`` of order ``e^-eps``.
    """
    odds = np.linspace(0, min(epsilon + 12, 36), 2001)  # at 37 the rate is rounded to 1
    return 1 / (1 + np.exp(-odds))


@dataclass(frozen=True)
class Family:
    """A family of protocols that differ in one parameter.

    Attributes
    ----------
    adaptive : type
        The mechanism whose `parameter` is chosen.
    classical : tuple of types
        The mechanisms with a fixed rule for this parameter.
    parameter, symbol : str
        Name of the parameter, and its symbol in the papers.
    rates : callable
        ``(k, epsilon, parameter) -> p, q``, for an array of parameters.
    grid, published_grid : callable
        ``(k, epsilon) -> parameters`` to select from, here and in the paper if it has another one.
    """

    adaptive: type[ASS | AUE | ALH | ATHE]
    classical: tuple[type[SS | SUE | OUE | BLH | OLH | SHE | THE], ...]
    parameter: str
    symbol: str
    rates: Callable[[int, float, Array], tuple[Numbers, Numbers]]
    grid: Callable[[int, float], Array]
    published_grid: Callable[[int, float], Array] | None = None


FAMILIES = {
    "ss": Family(ASS, (SS,), "omega", r"\omega", inclusion_rates, _subset_sizes),
    "ue": Family(
        AUE,
        (SUE, OUE),
        "p",
        "p",
        lambda k, epsilon, p: (p, other_rate(p, epsilon)),
        _log_odds,
        lambda k, epsilon: np.linspace(0.5, 0.999999, 100),
    ),
    "lh": Family(
        ALH,
        (BLH, OLH),
        "g",
        "g",
        lambda k, epsilon, g: (response_rates(g, epsilon)[0], 1 / g),
        lambda k, epsilon: _every("g", 2, max(k - 1, round(math.exp(epsilon)) + 1)),
    ),
    "he": Family(
        ATHE,
        (SHE, THE),
        "theta",
        r"\theta",
        lambda k, epsilon, theta: threshold_rates(epsilon, theta),
        lambda k, epsilon: np.linspace(0.5, 1, 100),
    ),
}
"""The families by name: subset selection, unary encoding, local hashing, histogram encoding."""


@dataclass(frozen=True, eq=False)
class Front:
    """The objectives of one family over a grid of its parameter; arrays of one length.

    Attributes
    ----------
    parameter, asr, mse, epg : array
        Parameter, attacker's success rate, variance of an estimated frequency
        for one user, and expected poisoning gain.
    """

    parameter: np.ndarray
    asr: np.ndarray
    mse: np.ndarray
    epg: np.ndarray

    def objectives(self, count: int = 2) -> Array:
        """Return the first `count` objectives as columns, float array (points, count)."""
        return np.column_stack([self.asr, self.mse, self.epg][:count])


def _poisoning(attack: MaximalGain | None, k: int) -> MaximalGain:
    """Return the poisoning attack, by default with the paper's ten targets.

    A domain of fewer values is attacked as a whole by default.
    """
    attack = MaximalGain(targets=min(10, k)) if attack is None else attack
    checks.instance("poisoning", attack, MaximalGain, "a MaximalGain")
    checks.integer("targets", attack.targets, 1, k)
    return attack


@checks.checked
def front(
    family: Annotated[str, checks.rule(checks.one_of, FAMILIES)],
    k: Domain,
    epsilon: Epsilon,
    *,
    grid: ArrayLike | None = None,
    asr: Rate = "exact",
    poisoning: MaximalGain | None = None,
) -> Front:
    """Evaluate one family on a grid of its parameter.

    Parameters
    ----------
    family : {"ss", "ue", "lh", "he"}
    k : int
        Domain size, at least 2 (3 for ``ss``).
    epsilon : float
        Privacy budget, in [1e-6, 30].
    grid : array, optional
        Parameters to evaluate, by default those of the family. ``"published"``
        means the grid of the paper, which differs for ``ue``.
    asr : {"exact", "published"}
        Success rate of local hashing.
    poisoning : attack, optional
        The `ldpkit.attacks.MaximalGain` whose gain is evaluated. By default it promotes ten
        values, or all if there are fewer.

    Returns
    -------
    Front

    Raises
    ------
    ValueError
        Naming the parameter, or the end of the grid that no mechanism accepts.
    """
    chosen = FAMILIES[family]
    if grid is None or (isinstance(grid, str) and grid == "published"):
        other = None if grid is None else chosen.published_grid
        points = (other or chosen.grid)(k, epsilon)
    else:
        points = np.asarray(grid)
        checks.need(
            points.ndim == 1 and points.size and points.dtype.kind in "iuf",
            f"grid must be a non-empty list of numbers or 'published', got {points!r}",
        )
        # short types would overflow
        points = points.astype(float if points.dtype.kind == "f" else np.int64)
        for end in (points.min(), points.max()):  # the mechanism checks its parameter
            chosen.adaptive(k, epsilon, end.item())
    (p, q), poisoning = chosen.rates(k, epsilon, points), _poisoning(poisoning, k)
    rate: Numbers = support_success(p, q, k)
    supported: Numbers = poisoning.targets
    if family == "lh" and asr == "published":
        rate = p / np.maximum(k / points, 1)  # by the mean number of values in a cell (eq. 15)
    elif family == "ss":
        rate, supported = p / points, np.minimum(points, poisoning.targets)
    return Front(points, rate, support_variance(p, q), poisoning.gain(p, q, supported))


def refine(
    family: str,
    k: int,
    epsilon: float,
    *,
    weights: Sequence[float] | Array = (0.5, 0.5, 0.0),
    strategy: str = "weighted",
    limit: float = 0.1,
    grid: ArrayLike | None = None,
    asr: str = "exact",
    poisoning: MaximalGain | None = None,
) -> FrequencyOracle:
    """Return the adaptive mechanism of a family with its parameter selected.

    Parameters
    ----------
    weights : (float, float, float)
        Weights of ASR, MSE and EPG, see `select`. The poisoning gain is an
        objective only if its weight is positive.
    family, k, epsilon, grid, asr, poisoning
        As in `front`.
    strategy, limit
        As in `select`.

    Returns
    -------
    ASS, AUE, ALH or ATHE
        `scores` returns its objectives.

    Examples
    --------
    >>> refine("ss", 100, 4)
    ASS(k=100, epsilon=4.0, omega=7)
    """
    whole = ratios(weights, 3)
    found = front(family, k, epsilon, grid=grid, asr=asr, poisoning=poisoning)
    count = 3 if whole[2] else 2
    chosen = found.parameter[select(found.objectives(count), strategy, whole[:count], limit)]
    return FAMILIES[family].adaptive(k, epsilon, chosen.item())


def build(name: str, k: int, epsilon: float, **options: Word) -> FrequencyOracle:
    """Return a protocol by name.

    An adaptive protocol is refined with `options`, as `refine` takes them. Any other protocol keeps
    its own rule.
    """
    families = {protocols.adaptive.__name__: family for family, protocols in FAMILIES.items()}
    if name in families:
        return refine(families[name], k, epsilon, **options)
    return make(name, k=k, epsilon=epsilon)


@checks.checked
def success(mechanism: FrequencyOracle, asr: Rate = "exact") -> float:
    """Return the attacker's success rate of a frequency oracle; `front` describes `asr`."""
    if asr == "published" and isinstance(mechanism, LocalHashing):
        p, g = mechanism.p, float(mechanism.g)
        if type(mechanism) is OLH:  # the paper's hash range is the real number e^eps + 1
            g = math.exp(mechanism.epsilon) + 1
            p = response_rates(g, mechanism.epsilon)[0]
        return float(p / max(mechanism.k / g, 1))
    return success_rate(oracle(mechanism))


def scores(
    mechanism: FrequencyOracle, asr: str = "exact", poisoning: MaximalGain | None = None
) -> dict[str, float]:
    """Return ``asr``, ``mse`` (for one user) and ``epg`` of a frequency oracle by name."""
    return {
        "asr": success(mechanism, asr),
        "mse": float(mechanism.variance(1)),
        "epg": _poisoning(poisoning, mechanism.k).expected(mechanism),
    }


def table(
    protocols: Iterable[str], k: Iterable[int], epsilon: Iterable[float], **options: Word
) -> "pd.DataFrame":
    """Return the scores of protocols over domain sizes and budgets as a tidy table.

    Parameters
    ----------
    protocols : sequence of str
    k, epsilon : sequences of numbers
    **options
        As in `refine`; ``asr`` also applies to the classical protocols.

    Returns
    -------
    pandas.DataFrame
        Columns ``mechanism``, ``k``, ``epsilon``, ``parameter`` (the selected
        one; empty for other protocols), ``asr``, ``mse`` and ``epg``.
    """
    import pandas as pd

    parameters = {family.adaptive.__name__: family.parameter for family in FAMILIES.values()}
    grid = list(itertools.product(protocols, k, epsilon))
    built = [build(*cell, **options) for cell in grid]
    return pd.DataFrame(
        {
            "mechanism": name,
            "k": size,
            "epsilon": float(budget),
            "parameter": getattr(mechanism, parameters[name]) if name in parameters else None,
            **scores(mechanism, options.get("asr", "exact"), options.get("poisoning")),
        }
        for (name, size, budget), mechanism in zip(grid, built)
    )
