"""The strongest test between two values: the extreme event of the likelihood ratio.

For a pure protocol the reports that are ``e^eps`` times likelier under one
value than under another form one simple event. Testing for it is the
Neyman-Pearson test at the extreme point of the trade-off curve, so the
population value of ``ln(tpr / fpr)`` is the whole epsilon, which the guess of
`distinguish` usually misses by a wide margin. The event looks at two
coordinates of the report only and is fixed before any data are seen.
"""

import functools
from dataclasses import dataclass

import numpy as np

from .. import checks
from ..mechanisms import LocalRandomizer
from ..mechanisms.base import distribution_known
from ..reports import Scored
from ..reports.base import sampled_count
from ..stats import epsilon_lower, expected_epsilon
from ..types import Array, Pair, Rates, Reports, Rng
from .base import drawable, handled

__all__ = ["TwoValueTest"]


@dataclass(frozen=True)
class TwoValueTest:
    """Accept if the report speaks as strongly as it can for the first value of the pair and against
    the second.

    What that means each kind of report says by its `score` (see `ldpkit.reports`).
    For a single reported value it is equality; for Laplace vectors, a first
    coordinate of at least 1 and a second of at most 0. For bits, hashes and
    subsets the event is "first supported, second not". Where the likelihood
    ratio takes many values, the event is "score of at least a threshold":

    - Gaussian vectors: ``(y1 - y2) / (sqrt(2) sigma)``, over all rounds together;
    - several rounds: the event counted per round, minus its mirror image;
    - several attributes: the likelihood ratio of the whole tuple;
    - Bloom filters: the likelihood ratio of the cohort's bits; "at least the loss" attains it.

    Parameters
    ----------
    threshold : float, optional
        Where one is needed; `declare` chooses it before any data are seen.

    Notes
    -----
    THE is tested on the bits that are sent. They satisfy a smaller epsilon than
    the noisy vector, so the test stays below the claim there.
    """

    threshold: float | None = None
    name = "tight"

    def __post_init__(self) -> None:
        if self.threshold is not None:
            checks.real("threshold", self.threshold)

    def declare(self, mechanism: LocalRandomizer, trials: int, tail: float) -> "TwoValueTest":
        """Return the test with its threshold fixed: the one with the best statistic to expect from
        the law.

        Parameters
        ----------
        mechanism : FrequencyOracle
        trials : int
            Reports per input that will be made.
        tail : float
            Tail mass of each bound, see `ldpkit.stats.tail_mass`.
        """
        kind = handled(self, mechanism, Scored)
        if self.threshold is not None or kind.extreme is not None:
            return self
        best = _best_threshold(kind, mechanism.pair(), trials, mechanism.published_delta, tail)
        return self if best is None else TwoValueTest(best)

    def _threshold(self, kind: Scored) -> float:
        """Score at which the event begins; one that nobody has chosen is refused."""
        return (
            kind.extreme if kind.extreme is not None else checks.real("threshold", self.threshold)
        )

    def accepts(
        self, mechanism: LocalRandomizer, reports: Reports, pair: Pair, rng: Rng | None = None
    ) -> Array:
        """Whether each report lies in the event; bool array (n,)."""
        kind = handled(self, mechanism, Scored)
        return self._threshold(kind) <= kind.score(mechanism.read(reports), mechanism.pair(pair))

    def rates(self, mechanism: LocalRandomizer, pair: Pair | None = None) -> Rates | None:
        """Exact ``(tpr, fpr)``; ``None`` for a client whose law is unknown."""
        kind = handled(self, mechanism, Scored)
        threshold, pair = self._threshold(kind), mechanism.pair(pair)
        return kind.score_rates(threshold, pair) if distribution_known(mechanism) else None

    def route(self, mechanism: LocalRandomizer) -> str:
        """How the exact rates are found, one of `ldpkit.reports.base.ROUTES`."""
        return str(handled(self, mechanism, Scored).score_route)

    def sample(
        self,
        mechanism: LocalRandomizer,
        trials: int,
        truth: bool,
        rng: Rng,
        pair: Pair | None = None,
    ) -> int:
        """Number of reports in the event among `trials`, drawn from the law of the event; see
        `Guess.sample`."""
        checks.generator(rng)
        trials, kind = checks.integer("trials", trials, 0), drawable(self, mechanism, Scored)
        return sampled_count(kind, trials, truth, self.rates(mechanism, pair), rng)


@functools.lru_cache(maxsize=256)
def _best_threshold(
    kind: Scored, pair: Pair, trials: int, delta: float, tail: float
) -> float | None:
    """Threshold with the largest expected statistic; a quick estimate picks those worth the exact
    sum."""
    grid = kind.thresholds()
    if grid is None:
        return None
    rates = np.array([kind.score_rates(t, pair) for t in grid])
    counts = np.rint(trials * rates).astype(np.int64)
    quick = epsilon_lower(counts[:, 0], counts[:, 1], trials, delta, tail=tail)
    near = np.argsort(-quick, kind="stable")[:16]
    exact = [expected_epsilon(tpr, fpr, trials, delta, tail=tail)[0] for tpr, fpr in rates[near]]
    return float(grid[near[int(np.argmax(exact))]])
