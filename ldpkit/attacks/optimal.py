"""The likelihood-ratio event: the strongest event for two inputs.

For a pure protocol the reports that are ``e^eps`` times likelier under one
value than under another form one simple event. The test for this event is the
Neyman-Pearson test at the extreme point of the trade-off curve. The exact value
of ``ln(tpr / fpr)`` is therefore the whole epsilon, while that of the guess is
usually much smaller. The event depends on two coordinates of the report only,
and it is fixed before any report is made.
"""

import functools
from dataclasses import dataclass

import numpy as np

from .. import checks
from ..mechanisms import LocalRandomizer
from ..mechanisms.base import distribution_known
from ..reports import ReportType
from ..reports.base import sampled_count
from ..stats import epsilon_lower, expected_epsilon
from ..types import Array, Pair, Rates, Reports, Rng
from .base import drawable, handled

__all__ = ["TwoValueTest"]


@dataclass(frozen=True)
class TwoValueTest:
    """Accept the reports that support the first value of the pair most strongly.

    The `score` of the report type defines the event (see `ldpkit.reports`). For a
    single reported value it is equality with the first value. For Laplace vectors
    it is a first coordinate of at least 1 and a second of at most 0. For bits,
    hashes and subsets the event is "first supported, second not". If the
    likelihood ratio takes many values, the event is a score of at least a
    threshold:

    - Gaussian vectors: ``(y1 - y2) / (sqrt(2) sigma)``, summed over all rounds;
    - several rounds: the number of rounds with the event, minus that with its mirror image;
    - several attributes: the likelihood ratio of the whole tuple;
    - Bloom filters: the likelihood ratio of the cohort's bits, with the loss as threshold.

    Parameters
    ----------
    threshold : float, optional
        Smallest score of the event, if it needs one; `choose` chooses it before any report is made.

    Notes
    -----
    For THE the event is about the bits that are sent. They satisfy a smaller
    epsilon than the noisy vector, so that the test stays below the claim.
    """

    threshold: float | None = None
    name = "tight"

    def __post_init__(self) -> None:
        if self.threshold is not None:
            checks.real("threshold", self.threshold)

    def choose(self, mechanism: LocalRandomizer, trials: int, tail: float) -> "TwoValueTest":
        """Return the test with the threshold that maximises the expected statistic.

        The expectation is exact, so that no report is made.

        Parameters
        ----------
        mechanism : FrequencyOracle
        trials : int
            Reports per input that will be made.
        tail : float
            Tail mass of each bound, see `ldpkit.stats.tail_mass`.
        """
        form = handled(self, mechanism, "score")
        if self.threshold is not None or len(form.thresholds()) == 1:
            return self
        delta = mechanism.published_delta
        return TwoValueTest(_best_threshold(form, mechanism.pair(), trials, delta, tail))

    def _threshold(self, form: ReportType) -> float:
        """Return the smallest score of the event; refuse a test that needs `choose` first."""
        grid = form.thresholds()
        return float(grid[0]) if len(grid) == 1 else checks.real("threshold", self.threshold)

    def accepts(
        self, mechanism: LocalRandomizer, reports: Reports, pair: Pair, rng: Rng | None = None
    ) -> Array:
        """Return whether each report lies in the event; bool array (n,)."""
        form = handled(self, mechanism, "score")
        return self._threshold(form) <= form.score(mechanism.read(reports), mechanism.pair(pair))

    def rates(self, mechanism: LocalRandomizer, pair: Pair | None = None) -> Rates | None:
        """Return the exact ``(tpr, fpr)``, or ``None`` for a client of unknown distribution."""
        form = handled(self, mechanism, "score")
        threshold, pair = self._threshold(form), mechanism.pair(pair)
        return form.score_rates(threshold, pair) if distribution_known(mechanism) else None

    def route(self, mechanism: LocalRandomizer) -> str:
        """Return how the exact rates are computed, one of `ldpkit.reports.base.ROUTES`."""
        return str(handled(self, mechanism, "score").score_route)

    def sample(
        self,
        mechanism: LocalRandomizer,
        trials: int,
        truth: bool,
        rng: Rng,
        pair: Pair | None = None,
    ) -> int:
        """Sample the number of reports in the event among `trials` from its exact distribution.

        Parameters are those of `Guess.sample`.
        """
        checks.generator(rng)
        trials, form = checks.integer("trials", trials, 0), drawable(self, mechanism, "score")
        return sampled_count(form, trials, truth, self.rates(mechanism, pair), rng)


@functools.lru_cache(maxsize=256)
def _best_threshold(form: ReportType, pair: Pair, trials: int, delta: float, tail: float) -> float:
    """Return the threshold with the largest expected statistic.

    The exact expectation is computed for the 16 thresholds with the best quick estimates.
    """
    grid = form.thresholds()
    rates = np.array([form.score_rates(t, pair) for t in grid])
    counts = np.rint(trials * rates).astype(np.int64)
    quick = epsilon_lower(counts[:, 0], counts[:, 1], trials, delta, tail=tail)
    near = np.argsort(-quick, kind="stable")[:16]
    exact = [expected_epsilon(tpr, fpr, trials, delta, tail=tail)[0] for tpr, fpr in rates[near]]
    return float(grid[near[int(np.argmax(exact))]])
